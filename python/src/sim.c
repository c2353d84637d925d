/* python/src/sim.c - a simulation: made, stepped without the GIL, called back, copied. */
#include <math.h>
#include <string.h>

#include "core.h"

#define POLL_SECONDS 0.05 /* between two looks at signals: Ctrl-C */
#define POLL_EVERY 64     /* calls of the solver's poll between two looks at the clock */

PyTypeObject* core_sim_type;

core_sim* core_sim_ready(PyObject* object)
{
    core_sim* s = (core_sim*)object;
    if (s->sim == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the simulation was not initialised");
        return NULL;
    }
    if (s->running && !(s->in_callback && s->thread == PyThread_get_thread_ident())) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is stepping this simulation: wait for "
                                            "it, or give each thread a clone");
        return NULL;
    }
    return s;
}

/* ---- calls without the GIL ------------------------------------------------------------------------*/

/* Back in Python code of the same thread, and out of it again. */
static void enter_python(core_sim* s)
{
    PyEval_RestoreThread(s->state);
    s->in_callback = true;
}

static void leave_python(core_sim* s)
{
    s->in_callback = false;
    s->state = PyEval_SaveThread();
}

static void keep_error(core_sim* s)
{
    PyErr_Fetch(&s->error[0], &s->error[1], &s->error[2]);
}

/* Called before each step. */
static perp_status call_back(void* user, perp_sim* sim)
{
    core_sim* s = user;
    perp_status status = PERP_OK;
    (void)sim;
    enter_python(s);
    for (Py_ssize_t i = 0; status == PERP_OK && i < PyList_Size(s->callbacks); ++i) {
        PyObject* function = Py_NewRef(PyList_GetItem(s->callbacks, i)); /* it may remove itself */
        PyObject* result = PyObject_CallFunctionObjArgs(function, (PyObject*)s, NULL);
        Py_DECREF(function);
        Py_XDECREF(result);
        if (result == NULL) {
            keep_error(s);
            status = PERP_ERROR_CANCELLED;
        }
    }
    leave_python(s);
    return status;
}

/* Ctrl-C inside a long solve: signal handlers run in the main thread only, with the GIL. */
static bool poll_signals(void* user)
{
    core_sim* s = user;
    if (!s->running || s->in_callback) {
        return false; /* called with the GIL, as by a query */
    }
    if (s->error[0] != NULL) {
        return true;
    }
    if (++s->polls < POLL_EVERY) {
        return false;
    }
    s->polls = 0;
    const double now = core_clock();
    if (now - s->polled < POLL_SECONDS) {
        return false;
    }
    s->polled = now;
    enter_python(s);
    if (PyErr_CheckSignals() != 0) {
        keep_error(s);
    }
    leave_python(s);
    return s->error[0] != NULL;
}

bool core_sim_begin(core_sim* s)
{
    if (s->running) {
        PyErr_SetString(PyExc_RuntimeError, "a step cannot be taken inside a step");
        return false;
    }
    s->running = true;
    s->thread = PyThread_get_thread_ident();
    s->state = PyEval_SaveThread();
    return true;
}

bool core_sim_end(core_sim* s, perp_status status)
{
    PyEval_RestoreThread(s->state);
    s->state = NULL;
    s->running = false;
    if (s->error[0] != NULL) {
        PyErr_Restore(s->error[0], s->error[1], s->error[2]);
        s->error[0] = s->error[1] = s->error[2] = NULL;
        core_log_free(&s->log);
        return false;
    }
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(s->context), core_scene_file(s->scene));
        core_log_free(&s->log);
        return false;
    }
    return s->log.size == 0 || core_log_warn(&s->log) == 0;
}

/* Between two steps of a long call. */
static bool is_interrupted(core_sim* s)
{
    s->polls = POLL_EVERY;
    return poll_signals(s);
}

/* ---- making one -----------------------------------------------------------------------------------*/

static bool open_context(core_sim* s, int threads)
{
    perp_context_def def = perp_context_def_default();
    core_memory_open(&s->memory);
    s->memory_open = true;
    def.allocator = (perp_allocator){core_memory_resize, &s->memory};
    def.log = core_log_add;
    def.log_user = &s->log;
    if (perp_context_create(&def, &s->context) != PERP_OK) {
        (void)PyErr_NoMemory();
        return false;
    }
    if (perp_context_set_threads(s->context, threads) != PERP_OK) {
        (void)core_raise(PERP_ERROR_INPUT, perp_context_error(s->context), NULL);
        return false;
    }
    return true;
}

/* Sim(scene, keep_going, threads) */
static int sim_init(PyObject* self, PyObject* args, PyObject* keywords)
{
    static char* names[] = {"scene", "keep_going", "threads", NULL};
    core_sim* s = (core_sim*)self;
    PyObject* object;
    int keep_going = 0, threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|pi", names, &object, &keep_going,
                                     &threads)) {
        return -1;
    }
    core_scene* scene = core_scene_of(object);
    if (scene == NULL || s->context != NULL) {
        if (scene != NULL) {
            PyErr_SetString(PyExc_RuntimeError, "the simulation is initialised already");
        }
        return -1;
    }
    if (!open_context(s, threads)) {
        return -1;
    }
    s->scene = (core_scene*)Py_NewRef((PyObject*)scene);
    scene->users += 1;
    perp_sim_def def = perp_sim_def_from_scene(scene->scene);
    def.keep_going = keep_going != 0;
    perp_status status;
    perp_sim* sim = NULL; /* not the member: nobody may use it before it is whole */
    PyThreadState* released = PyEval_SaveThread();
    status = perp_sim_create_from_scene_def(s->context, scene->scene, &def, &sim);
    PyEval_RestoreThread(released);
    s->sim = sim;
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(s->context), core_scene_file(scene));
        return -1;
    }
    perp_sim_on_cancel(s->sim, poll_signals, s);
    return core_log_warn(&s->log);
}

/* clone(into): `into` is a new object of the same type. */
static PyObject* sim_clone_into(PyObject* self, PyObject* other)
{
    core_sim* s = core_sim_ready(self);
    if (s == NULL) {
        return NULL;
    }
    if (!PyObject_TypeCheck(other, core_sim_type) || ((core_sim*)other)->context != NULL) {
        PyErr_SetString(PyExc_TypeError, "expected a simulation that is not initialised");
        return NULL;
    }
    core_sim* clone = (core_sim*)other;
    if (!open_context(clone, perp_context_threads(s->context))) {
        return NULL;
    }
    clone->scene = (core_scene*)Py_NewRef((PyObject*)s->scene);
    clone->scene->users += 1;
    const perp_status status = perp_sim_clone(s->sim, clone->context, &clone->sim);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(clone->context), NULL);
    }
    /* the library copies callbacks with their pointers, which are those of the original */
    perp_sim_on_step(clone->sim, NULL, NULL);
    perp_sim_on_cancel(clone->sim, poll_signals, clone);
    if (s->callbacks != NULL && PyList_Size(s->callbacks) > 0) {
        clone->callbacks = PyList_GetSlice(s->callbacks, 0, PyList_Size(s->callbacks));
        if (clone->callbacks == NULL) {
            return NULL;
        }
        perp_sim_on_step(clone->sim, call_back, clone);
    }
    Py_RETURN_NONE;
}

static int sim_traverse(PyObject* self, visitproc visit, void* arg)
{
    core_sim* s = (core_sim*)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(s->callbacks);
    return 0;
}

static int sim_clear(PyObject* self)
{
    core_sim* s = (core_sim*)self;
    if (s->sim != NULL) {
        perp_sim_on_step(s->sim, NULL, NULL);
    }
    Py_CLEAR(s->callbacks);
    return 0;
}

static void sim_dealloc(PyObject* self)
{
    core_sim* s = (core_sim*)self;
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    (void)sim_clear(self);
    perp_sim_destroy(s->sim);
    perp_context_destroy(s->context);
    if (s->memory_open) {
        core_memory_close(&s->memory);
    }
    core_log_free(&s->log);
    if (s->scene != NULL) {
        s->scene->users -= 1;
        Py_DECREF((PyObject*)s->scene);
    }
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- stepping -------------------------------------------------------------------------------------*/

static PyObject* sim_step(PyObject* self, PyObject* const* args, Py_ssize_t count)
{
    long long steps = 1;
    core_sim* s = core_sim_ready(self);
    if (s == NULL) {
        return NULL;
    }
    if (count > 1) {
        return PyErr_Format(PyExc_TypeError, "step: one number of steps at most, got %zd values",
                            count);
    }
    if (count == 1) {
        steps = PyLong_AsLongLong(args[0]);
        if (steps < 0) {
            return PyErr_Occurred() ? NULL
                                    : PyErr_Format(PyExc_ValueError, "step: %lld steps", steps);
        }
    }
    if (!core_sim_begin(s)) {
        return NULL;
    }
    perp_status status = PERP_OK;
    for (long long i = 0; status == PERP_OK && i < steps; ++i) {
        status = perp_sim_step(s->sim);
        if (steps > 1 && status == PERP_OK && is_interrupted(s)) {
            break;
        }
    }
    if (!core_sim_end(s, status)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Steps to the end, or until a time; with a recorder if there is one. */
static perp_status run_steps(core_sim* s, double until, perp_recorder* recorder)
{
    perp_status status = PERP_OK;
    while (status == PERP_OK && !perp_sim_finished(s->sim) &&
           !(perp_sim_time(s->sim) >= until * (1.0 - 1e-12)) && !is_interrupted(s)) {
        const double begin = recorder != NULL ? core_clock() : 0.0;
        status = perp_sim_step(s->sim);
        if (status == PERP_OK && recorder != NULL) {
            status = perp_recorder_step(recorder, s->sim, core_clock() - begin);
        }
    }
    return status;
}

/* A run that failed leaves a recording with its frames and a note. */
static perp_status run_recorded(core_sim* s, double until, const char* path)
{
    perp_recorder* recorder = NULL;
    perp_status status = perp_recorder_create(s->context, path, s->scene->scene, s->sim, &recorder);
    if (status != PERP_OK) {
        return status;
    }
    status = run_steps(s, until, recorder);
    if (status != PERP_OK || s->error[0] != NULL) {
        char text[400];
        (void)snprintf(text, sizeof text, "%s",
                       s->error[0] != NULL ? "stopped by an exception in Python"
                                           : perp_context_error(s->context));
        perp_recorder_note(recorder, text);
        const perp_status finished = perp_recorder_finish(recorder, s->sim);
        perp_recorder_destroy(recorder);
        (void)finished; /* the failure of the run is the one to report */
        return status;
    }
    status = perp_recorder_finish(recorder, s->sim);
    perp_recorder_destroy(recorder);
    return status;
}

/* run(until, path): None: to the end; no recording. */
static PyObject* sim_run(PyObject* self, PyObject* args)
{
    PyObject *limit = Py_None, *path = Py_None, *encoded = NULL;
    core_sim* s = core_sim_ready(self);
    if (s == NULL || !PyArg_ParseTuple(args, "|OO", &limit, &path)) {
        return NULL;
    }
    const double until = limit != Py_None ? PyFloat_AsDouble(limit) : INFINITY;
    if (PyErr_Occurred() || (path != Py_None && !PyUnicode_FSConverter(path, &encoded))) {
        return NULL;
    }
    if (!core_sim_begin(s)) {
        Py_XDECREF(encoded);
        return NULL;
    }
    const char* name = encoded != NULL ? PyBytes_AsString(encoded) : NULL;
    const perp_status status =
        name != NULL ? run_recorded(s, until, name) : run_steps(s, until, NULL);
    const bool good = core_sim_end(s, status);
    Py_XDECREF(encoded);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- callbacks ------------------------------------------------------------------------------------*/

/* set_callbacks(list, names): called in order before each step; the names go into recordings. */
static PyObject* sim_set_callbacks(PyObject* self, PyObject* args)
{
    core_sim* s = core_sim_ready(self);
    PyObject* list;
    const char* names;
    if (s == NULL || !PyArg_ParseTuple(args, "O!s", &PyList_Type, &list, &names)) {
        return NULL;
    }
    PyObject* copy = PyList_GetSlice(list, 0, PyList_Size(list));
    if (copy == NULL) {
        return NULL;
    }
    PyObject* old = s->callbacks;
    s->callbacks = copy;
    Py_XDECREF(old);
    perp_sim_on_step(s->sim, PyList_Size(copy) > 0 ? call_back : NULL, s);
    const perp_status status = perp_sim_set_user_code(s->sim, names);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(s->context), NULL);
    }
    Py_RETURN_NONE;
}

static PyObject* sim_get_callbacks(PyObject* self, PyObject* unused)
{
    core_sim* s = (core_sim*)self;
    (void)unused;
    return s->callbacks != NULL ? PyList_GetSlice(s->callbacks, 0, PyList_Size(s->callbacks))
                                : PyList_New(0);
}

/* ---- snapshots ------------------------------------------------------------------------------------*/

static PyObject* sim_save(PyObject* self, PyObject* unused)
{
    core_sim* s = core_sim_ready(self);
    size_t size = 0;
    (void)unused;
    if (s == NULL) {
        return NULL;
    }
    perp_status status = perp_sim_save(s->sim, NULL, &size);
    PyObject* bytes = status == PERP_OK ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size) : NULL;
    if (bytes != NULL) {
        status = perp_sim_save(s->sim, PyBytes_AsString(bytes), &size);
    }
    if (status != PERP_OK) {
        Py_XDECREF(bytes);
        return core_raise(status, perp_context_error(s->context), NULL);
    }
    return bytes;
}

static PyObject* sim_restore(PyObject* self, PyObject* object)
{
    core_sim* s = core_sim_ready(self);
    Py_buffer buffer;
    if (s == NULL || PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    if (s->in_callback) {
        PyBuffer_Release(&buffer);
        PyErr_SetString(PyExc_RuntimeError, "a state cannot be restored inside a step");
        return NULL;
    }
    const perp_status status = perp_sim_restore(s->sim, buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(s->context), NULL);
    }
    Py_RETURN_NONE;
}

static PyObject* sim_reset(PyObject* self, PyObject* unused)
{
    core_sim* s = core_sim_ready(self);
    (void)unused;
    if (s == NULL) {
        return NULL;
    }
    if (s->in_callback) {
        PyErr_SetString(PyExc_RuntimeError, "a simulation cannot be reset inside a step");
        return NULL;
    }
    const perp_status status = perp_sim_reset(s->sim);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(s->context), NULL);
    }
    Py_RETURN_NONE;
}

/* restore_frame(path, index): the state of a recorded frame; -1: the last. */
static PyObject* sim_restore_frame(PyObject* self, PyObject* args)
{
    core_sim* s = core_sim_ready(self);
    PyObject* encoded = NULL;
    long long index;
    if (s == NULL || !PyArg_ParseTuple(args, "O&L", PyUnicode_FSConverter, &encoded, &index)) {
        return NULL;
    }
    perp_recording* recording = NULL;
    const char* path = PyBytes_AsString(encoded);
    perp_status status = perp_recording_open(s->context, path, &recording);
    if (status == PERP_OK) {
        status = perp_recording_restore(recording, index, s->sim);
    }
    perp_recording_close(recording);
    PyObject* result = status == PERP_OK ? Py_NewRef(Py_None)
                                         : core_raise(status, perp_context_error(s->context), path);
    Py_DECREF(encoded);
    return result;
}

static PyObject* sim_scene(PyObject* self, void* unused)
{
    core_sim* s = (core_sim*)self;
    (void)unused;
    return Py_NewRef(s->scene != NULL ? (PyObject*)s->scene : Py_None);
}

static PyMethodDef sim_methods[] = {
    {"step", (PyCFunction)(void (*)(void))sim_step, METH_FASTCALL,
     "step($self, n=1, /)\n--\n\nTake n steps. The GIL is released meanwhile."},
    {"_run", sim_run, METH_VARARGS, "Step to the end, or until a time; record."},
    {"_clone_into", sim_clone_into, METH_O, "Make another object a clone."},
    {"_set_callbacks", sim_set_callbacks, METH_VARARGS, "Functions called before each step."},
    {"_get_callbacks", sim_get_callbacks, METH_NOARGS, "Functions called before each step."},
    {"save", sim_save, METH_NOARGS,
     "save($self, /)\n--\n\nThe state as bytes: a restored simulation goes on with the same bits."},
    {"restore", sim_restore, METH_O,
     "restore($self, snapshot, /)\n--\n\nGo back to a state of save()."},
    {"reset", sim_reset, METH_NOARGS, "reset($self, /)\n--\n\nBack to the start."},
    {"_restore_frame", sim_restore_frame, METH_VARARGS, "The state of a recorded frame."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef sim_getset[] = {
    {"_scene", sim_scene, NULL, "The handle of the scene.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot sim_slots[] = {
    {Py_tp_new, (void*)PyType_GenericNew},
    {Py_tp_init, (void*)sim_init},
    {Py_tp_dealloc, (void*)sim_dealloc},
    {Py_tp_traverse, (void*)sim_traverse},
    {Py_tp_clear, (void*)sim_clear},
    {Py_tp_methods, sim_methods},
    {Py_tp_getset, sim_getset},
    {Py_tp_doc, "A simulation of the library."},
    {0, NULL},
};

PyType_Spec core_sim_spec = {
    .name = "perp._core.Sim",
    .basicsize = sizeof(core_sim),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = sim_slots,
};
