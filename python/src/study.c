/* python/src/study.c - sweeps: worker processes that are Python programs, and their database. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core.h"

typedef struct sweep_call {
    PyThreadState* state;
    PyObject* progress; /* None: no function */
    PyObject* error[3];
} sweep_call;

/* Several times a second, without the GIL: Ctrl-C, and the caller's function. */
static bool report_progress(void* user, const perp_sweep_report* report)
{
    sweep_call* c = user;
    PyEval_RestoreThread(c->state);
    if (c->error[0] == NULL) {
        PyObject* result = NULL;
        if (PyErr_CheckSignals() == 0) {
            result = c->progress != Py_None
                         ? PyObject_CallFunction(c->progress, "LL", (long long)report->done,
                                                 (long long)report->total)
                         : Py_NewRef(Py_None);
        }
        Py_XDECREF(result);
        if (result == NULL) {
            PyErr_Fetch(&c->error[0], &c->error[1], &c->error[2]);
        }
    }
    const bool go_on = c->error[0] == NULL;
    c->state = PyEval_SaveThread();
    return go_on;
}

static PyObject* report_dict(const perp_sweep_report* report)
{
    PyObject* dict = PyDict_New();
    const bool good = dict != NULL && core_put_integer(dict, "total", report->total) &&
                      core_put_integer(dict, "found", report->found) &&
                      core_put_integer(dict, "done", report->done) &&
                      core_put_integer(dict, "ok", report->status[PERP_RUN_OK]) &&
                      core_put_integer(dict, "failed", report->status[PERP_RUN_FAILED]) &&
                      core_put_integer(dict, "timeout", report->status[PERP_RUN_TIMEOUT]) &&
                      core_put_integer(dict, "crashed", report->status[PERP_RUN_CRASHED]) &&
                      core_put_integer(dict, "jobs", report->jobs) &&
                      core_put_number(dict, "seconds", report->seconds);
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* The arguments that start a worker, ended by NULL. NULL: exception. */
static const char** read_arguments(PyObject* list)
{
    const Py_ssize_t count = PyList_Size(list);
    const char** text = calloc((size_t)count + 1, sizeof *text);
    if (text == NULL) {
        return (const char**)PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        text[i] = core_text(PyList_GetItem(list, i));
        if (text[i] == NULL) {
            free(text);
            return NULL;
        }
    }
    return text;
}

static PyObject* run_sweep(perp_context* context, perp_study* study, const perp_sweep_def* def,
                           sweep_call* call)
{
    perp_sweep_report report = {0};
    call->state = PyEval_SaveThread();
    const perp_status status = perp_sweep_run(context, study, def, &report);
    PyEval_RestoreThread(call->state);
    if (call->error[0] != NULL) {
        PyErr_Restore(call->error[0], call->error[1], call->error[2]);
        return NULL;
    }
    return status == PERP_OK ? report_dict(&report)
                             : core_raise(status, perp_context_error(context), def->out);
}

/* sweep(text, origin, out, jobs, resume, shard, shard_count, worker, progress): counts */
PyObject* core_sweep(PyObject* module, PyObject* args)
{
    const char *text, *origin;
    Py_ssize_t length;
    PyObject *out = NULL, *list, *result = NULL;
    int jobs, resume, shard, shard_count;
    sweep_call call = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "s#sO&ipiiO!O", &text, &length, &origin, PyUnicode_FSConverter,
                          &out, &jobs, &resume, &shard, &shard_count, &PyList_Type, &list,
                          &call.progress)) {
        return NULL;
    }
    const char** argument = read_arguments(list);
    perp_context* context = NULL;
    perp_study* study = NULL;
    if (argument != NULL && perp_context_create(NULL, &context) != PERP_OK) {
        (void)PyErr_NoMemory();
    } else if (argument != NULL) {
        const perp_status status = perp_study_parse(context, text, (size_t)length, origin, &study);
        if (status != PERP_OK) {
            (void)core_raise(status, perp_context_error(context), origin);
        } else {
            perp_sweep_def def = perp_sweep_def_default();
            def.out = PyBytes_AsString(out);
            def.jobs = jobs;
            def.resume = resume != 0;
            def.shard = shard;
            def.shard_count = shard_count;
            def.argument = argument;
            def.progress = report_progress;
            def.user = &call;
            result = run_sweep(context, study, &def, &call);
        }
    }
    perp_study_destroy(study);
    perp_context_destroy(context);
    free(argument);
    Py_DECREF(out);
    return result;
}

/* ---- designs --------------------------------------------------------------------------------------*/

static bool report_design(void* user, const perp_design_report* report)
{
    sweep_call* c = user;
    PyEval_RestoreThread(c->state);
    if (c->error[0] == NULL && PyErr_CheckSignals() == 0) {
        PyObject* result = PyObject_CallFunction(c->progress, "LLd", (long long)report->evaluations,
                                                 (long long)report->limit, report->best_value);
        Py_XDECREF(result);
    }
    if (PyErr_Occurred()) {
        PyErr_Fetch(&c->error[0], &c->error[1], &c->error[2]);
    }
    const bool go_on = c->error[0] == NULL;
    c->state = PyEval_SaveThread();
    return go_on;
}

/* Values of the unknowns in the best evaluation. */
static PyObject* best_values(const perp_study* study, int64_t best)
{
    const double* value = best > 0 ? perp_design_candidate(study, best) : NULL;
    PyObject* dict = PyDict_New();
    for (int32_t i = 0; dict != NULL && value != NULL && i < perp_study_design(study).unknown_count;
         ++i) {
        if (!core_put_number(dict, perp_study_unknown(study, i).name, value[i])) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject* design_dict(const perp_study* study, const perp_design_report* r)
{
    PyObject* dict = PyDict_New();
    const bool good =
        dict != NULL && core_put_text(dict, "end", perp_design_end_name(r->end)) &&
        core_put_text(dict, "method", perp_design_method_name(perp_study_design(study).method)) &&
        core_put_integer(dict, "evaluations", r->evaluations) &&
        core_put_integer(dict, "found", r->found) &&
        core_put_integer(dict, "simulations", r->simulations) &&
        core_put_integer(dict, "failed", r->failed) && core_put_integer(dict, "best", r->best) &&
        core_put_number(dict, "start_value", r->start_value) &&
        core_put_number(dict, "best_value", r->best_value) &&
        core_put_number(dict, "best_violation", r->best_violation) &&
        core_put_number(dict, "half_value", r->half_value) &&
        core_put(dict, "feasible", PyBool_FromLong(r->feasible)) &&
        core_put_number(dict, "seconds", r->seconds) &&
        core_put_text(dict, "message", r->message) &&
        core_put(dict, "values", best_values(study, r->best));
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject* run_design(perp_context* context, perp_study* study, const perp_design_def* def,
                            sweep_call* call)
{
    perp_design_report report = {0};
    call->state = PyEval_SaveThread();
    const perp_status status = perp_design_run(context, study, def, &report);
    PyEval_RestoreThread(call->state);
    if (call->error[0] != NULL) {
        PyErr_Restore(call->error[0], call->error[1], call->error[2]);
        return NULL;
    }
    return status == PERP_OK ? design_dict(study, &report)
                             : core_raise(status, perp_context_error(context), NULL);
}

/* design(text, origin, out, jobs, resume, progress): what was found. Forks: the process must have one
 * thread. */
PyObject* core_design(PyObject* module, PyObject* args)
{
    const char *text, *origin;
    Py_ssize_t length;
    PyObject *out = NULL, *result = NULL;
    int jobs, resume;
    sweep_call call = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "s#sO&ipO", &text, &length, &origin, PyUnicode_FSConverter, &out,
                          &jobs, &resume, &call.progress)) {
        return NULL;
    }
    perp_context* context = NULL;
    perp_study* study = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    const perp_status status = perp_study_parse(context, text, (size_t)length, origin, &study);
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(context), origin);
    } else if (!perp_study_is_design(study)) {
        (void)core_raise(PERP_ERROR_INPUT,
                         "/unknown: is missing: a design has unknowns and minimise", NULL);
    } else {
        perp_design_def def = perp_design_def_default();
        def.out = PyBytes_AsString(out);
        def.jobs = jobs;
        def.resume = resume != 0;
        def.progress = report_design;
        def.user = &call;
        result = run_design(context, study, &def, &call);
    }
    perp_study_destroy(study);
    perp_context_destroy(context);
    Py_DECREF(out);
    return result;
}

/* serve(text, origin, folder): the loop of a worker process, on its standard input and output */
PyObject* core_serve(PyObject* module, PyObject* args)
{
    const char *text, *origin, *folder;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "s#ss", &text, &length, &origin, &folder)) {
        return NULL;
    }
    perp_context* context = NULL;
    perp_study* study = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return PyErr_NoMemory();
    }
    perp_status status = perp_study_parse(context, text, (size_t)length, origin, &study);
    if (status == PERP_OK) {
        const int rows = dup(STDOUT_FILENO); /* what anything prints must not meet the rows */
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGINT, SIG_IGN);
        PyThreadState* released = PyEval_SaveThread();
        status = perp_study_serve(study, STDIN_FILENO, rows, folder, NULL);
        PyEval_RestoreThread(released);
        (void)close(rows);
    }
    PyObject* result = status == PERP_OK ? Py_NewRef(Py_None)
                                         : core_raise(status, perp_context_error(context), origin);
    perp_study_destroy(study);
    perp_context_destroy(context);
    return result;
}
