/* python/src/estimate.c - estimates: parameters from measured motion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

typedef struct estimate_call {
    PyObject* progress;
    PyThreadState* state;
    PyObject* error[3];
} estimate_call;

static bool report_estimate(void* user, int64_t iteration, double objective)
{
    estimate_call* c = user;
    PyEval_RestoreThread(c->state);
    if (c->error[0] == NULL && PyErr_CheckSignals() == 0) {
        PyObject* result =
            PyObject_CallFunction(c->progress, "Ld", (long long)iteration, objective);
        Py_XDECREF(result);
    }
    if (PyErr_Occurred()) {
        PyErr_Fetch(&c->error[0], &c->error[1], &c->error[2]);
    }
    const bool go_on = c->error[0] == NULL;
    c->state = PyEval_SaveThread();
    return go_on;
}

/* Runs, or predicts the trajectories of one file, or plans. */
static perp_status find(perp_context* context, perp_study* study, const perp_estimate_def* def,
                        const char* action, const char* data, perp_estimate** estimate)
{
    if (strcmp(action, "predict") == 0) {
        return perp_estimate_predict(context, study, &data, 1, def, estimate);
    }
    return strcmp(action, "plan") == 0 ? perp_estimate_plan(context, study, def, estimate)
                                       : perp_estimate_run(context, study, def, estimate);
}

/* Fitted study and scene into the folder. */
static perp_status save(perp_estimate* estimate, const char* folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/fitted.json", folder);
    const perp_status status = perp_estimate_save(estimate, path);
    (void)snprintf(path, sizeof path, "%s/fitted-scene.json", folder);
    return status == PERP_OK ? perp_estimate_save_scene(estimate, path) : status;
}

/* The report, and the curves of all trajectories (None: of a plan), both as JSON. */
static PyObject* answer(perp_context* context, perp_study* study, const perp_estimate_def* def,
                        const char* action, const char* data, const char* folder,
                        estimate_call* call)
{
    perp_estimate* estimate = NULL;
    const char* curves = NULL;
    call->state = PyEval_SaveThread();
    perp_status status = find(context, study, def, action, data, &estimate);
    if (status == PERP_OK && strcmp(action, "plan") != 0) {
        status = perp_estimate_curves(estimate, INT32_MAX, INT32_MAX, &curves);
    }
    if (status == PERP_OK && strcmp(action, "run") == 0) {
        status = save(estimate, folder);
    }
    PyEval_RestoreThread(call->state);
    PyObject* result = NULL;
    if (call->error[0] != NULL) {
        PyErr_Restore(call->error[0], call->error[1], call->error[2]);
    } else if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(context), NULL);
    } else {
        result = Py_BuildValue("sz", perp_estimate_json(estimate), curves);
    }
    perp_estimate_destroy(estimate);
    return result;
}

/* estimate(text, origin, jobs, action, data, folder, progress). Forks: the process must have one thread. */
PyObject* core_estimate(PyObject* module, PyObject* args)
{
    const char *text, *origin, *action, *data, *folder;
    Py_ssize_t length;
    int jobs;
    estimate_call call = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "s#sisssO", &text, &length, &origin, &jobs, &action, &data, &folder,
                          &call.progress)) {
        return NULL;
    }
    perp_context* context = NULL;
    perp_study* study = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return PyErr_NoMemory();
    }
    PyObject* result = NULL;
    const perp_status status = perp_study_parse(context, text, (size_t)length, origin, &study);
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(context), origin);
    } else if (!perp_study_is_estimate(study)) {
        (void)core_raise(PERP_ERROR_INPUT,
                         "/observe: is missing: an estimate has data, observe and unknown", NULL);
    } else {
        perp_estimate_def def = perp_estimate_def_default();
        def.jobs = jobs;
        def.progress = report_estimate;
        def.user = &call;
        result = answer(context, study, &def, action, data, folder, &call);
    }
    perp_study_destroy(study);
    perp_context_destroy(context);
    return result;
}
