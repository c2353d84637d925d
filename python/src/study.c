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
