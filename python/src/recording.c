/* python/src/recording.c - reading recordings: frames as arrays, quantities, verification. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

PyTypeObject* core_recording_type;

typedef struct core_recording {
    PyObject_HEAD perp_context* context;
    perp_recording* recording;
    perp_scene* scene; /* of its text, for names */
    char* path;
    bool busy;
} core_recording;

static core_recording* ready(PyObject* self)
{
    core_recording* r = (core_recording*)self;
    if (r->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading this recording");
        return NULL;
    }
    return r;
}

/* open_recording(path) */
PyObject* core_open_recording(PyObject* module, PyObject* args)
{
    PyObject* encoded = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &encoded)) {
        return NULL;
    }
    core_recording* r = (core_recording*)PyType_GenericAlloc(core_recording_type, 0);
    if (r == NULL) {
        Py_DECREF(encoded);
        return NULL;
    }
    r->path = strdup(PyBytes_AsString(encoded));
    Py_DECREF(encoded);
    if (r->path == NULL || perp_context_create(NULL, &r->context) != PERP_OK) {
        Py_DECREF(r);
        return PyErr_NoMemory();
    }
    perp_status status = perp_recording_open(r->context, r->path, &r->recording);
    if (status == PERP_OK) {
        const char* text = perp_recording_scene_text(r->recording);
        status = perp_scene_parse(r->context, text, strlen(text), r->path, NULL, 0, &r->scene);
    }
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(r->context), r->path);
        Py_DECREF(r);
        return NULL;
    }
    return (PyObject*)r;
}

static void recording_dealloc(PyObject* self)
{
    core_recording* r = (core_recording*)self;
    PyTypeObject* type = Py_TYPE(self);
    perp_recording_close(r->recording);
    perp_scene_destroy(r->scene);
    perp_context_destroy(r->context);
    free(r->path);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- arrays ---------------------------------------------------------------------------------------*/

enum { SCALARS = 13 };

/* One row of scalars of a frame, in the order of recording.scalar_names. */
static void frame_scalars(const perp_frame* f, double* x)
{
    const double row[SCALARS] = {f->time,
                                 (double)f->step,
                                 f->energy.kinetic,
                                 f->energy.potential,
                                 f->energy.total,
                                 f->info.certificate.dynamics,
                                 f->info.certificate.normal,
                                 f->info.certificate.friction,
                                 f->info.certificate.joints,
                                 f->info.certificate.worst,
                                 (double)f->info.contacts,
                                 f->info.penetration,
                                 (double)f->info.report.iterations};
    memcpy(x, row, sizeof row);
}

static PyObject* scalar_names(PyObject* self, void* unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(sssssssssssss)", "time", "step", "kinetic", "potential", "total",
                         "dynamics", "normal", "friction", "joints", "worst", "contacts",
                         "penetration", "iterations");
}

typedef perp_status (*frame_fn)(core_recording* r, int64_t frame, double* row, const void* user);

/* All frames, `columns` numbers each, as a bytearray; the GIL is released. */
static PyObject* read_rows(core_recording* r, Py_ssize_t columns, frame_fn fn, const void* user)
{
    const int64_t frames = perp_recording_frame_count(r->recording);
    PyObject* bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)frames * columns *
                                                              (Py_ssize_t)sizeof(double));
    if (bytes == NULL) {
        return NULL;
    }
    double* rows = (double*)(void*)PyByteArray_AsString(bytes);
    perp_status status = PERP_OK;
    r->busy = true;
    PyThreadState* released = PyEval_SaveThread();
    for (int64_t i = 0; status == PERP_OK && i < frames; ++i) {
        status = fn(r, i, rows + i * columns, user);
    }
    PyEval_RestoreThread(released);
    r->busy = false;
    if (status != PERP_OK) {
        Py_DECREF(bytes);
        return core_raise(status, perp_context_error(r->context), r->path);
    }
    return bytes;
}

static perp_status row_of_scalars(core_recording* r, int64_t i, double* row, const void* user)
{
    perp_frame frame;
    const perp_status status = perp_recording_frame(r->recording, i, &frame);
    (void)user;
    if (status == PERP_OK) {
        frame_scalars(&frame, row);
    }
    return status;
}

typedef struct state_choice {
    bool velocity;
    size_t count;
} state_choice;

static perp_status row_of_state(core_recording* r, int64_t i, double* row, const void* user)
{
    const state_choice* choice = user;
    perp_frame frame;
    const perp_status status = perp_recording_frame(r->recording, i, &frame);
    if (status == PERP_OK && choice->count > 0) {
        memcpy(row, choice->velocity ? frame.v : frame.q, choice->count * sizeof *row);
    }
    return status;
}

static PyObject* recording_scalars(PyObject* self, PyObject* unused)
{
    core_recording* r = ready(self);
    (void)unused;
    return r != NULL ? read_rows(r, SCALARS, row_of_scalars, NULL) : NULL;
}

/* state(velocity): rows of q or v */
static PyObject* recording_state(PyObject* self, PyObject* velocity)
{
    core_recording* r = ready(self);
    const int wanted = r != NULL ? PyObject_IsTrue(velocity) : -1;
    if (wanted < 0) {
        return NULL;
    }
    const perp_model* model = perp_scene_model(r->scene);
    const int32_t width = perp_model_dimension(model) == 2 ? 3 : wanted ? 6 : 7;
    const state_choice choice = {wanted != 0, (size_t)(width * perp_model_body_count(model))};
    return read_rows(r, (Py_ssize_t)choice.count, row_of_state, &choice);
}

/* ---- quantities -----------------------------------------------------------------------------------*/

typedef struct quantity_choice {
    const perp_quantity* quantity;
    int32_t count;
} quantity_choice;

static perp_status row_of_quantities(core_recording* r, int64_t i, double* row, const void* user)
{
    const quantity_choice* choice = user;
    return perp_recording_quantities(r->recording, i, choice->quantity, choice->count, row);
}

/* Names of single quantities. */
static PyObject* quantity_names(const perp_model* model, const perp_quantity* quantity,
                                int32_t count)
{
    PyObject* list = PyList_New(count);
    for (int32_t i = 0; list != NULL && i < count; ++i) {
        char name[512];
        (void)perp_quantity_name(model, &quantity[i], name, sizeof name);
        PyObject* item = PyUnicode_FromString(name);
        if (item == NULL || PyList_SetItem(list, i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* quantities(name): names of those that it stands for, and rows of their values */
static PyObject* recording_quantities(PyObject* self, PyObject* argument)
{
    core_recording* r = ready(self);
    const char* name = r != NULL ? core_text(argument) : NULL;
    if (name == NULL) {
        return NULL;
    }
    const perp_model* model = perp_scene_model(r->scene);
    int32_t count = 0;
    perp_status status = perp_quantity_find(r->context, model, name, NULL, 0, &count);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(r->context), NULL);
    }
    perp_quantity* found = calloc((size_t)count + 1, sizeof *found);
    if (found == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *names = NULL, *rows = NULL;
    status = perp_quantity_find(r->context, model, name, found, count, &count);
    if (status == PERP_OK) {
        const quantity_choice choice = {found, count};
        names = quantity_names(model, found, count);
        rows = names != NULL ? read_rows(r, count, row_of_quantities, &choice) : NULL;
    } else {
        (void)core_raise(status, perp_context_error(r->context), NULL);
    }
    free(found);
    if (rows == NULL) {
        Py_XDECREF(names);
        return NULL;
    }
    return Py_BuildValue("NN", names, rows);
}

/* contacts(frame): bytes of the contacts of the step that led there */
static PyObject* recording_contacts(PyObject* self, PyObject* argument)
{
    core_recording* r = ready(self);
    const long long index = r != NULL ? PyLong_AsLongLong(argument) : -1;
    if (r == NULL || (index == -1 && PyErr_Occurred())) {
        return NULL;
    }
    perp_frame frame;
    const perp_status status = perp_recording_frame(r->recording, index, &frame);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(r->context), r->path);
    }
    return PyByteArray_FromStringAndSize((const char*)frame.contacts,
                                         (Py_ssize_t)frame.contact_count *
                                             (Py_ssize_t)sizeof *frame.contacts);
}

/* ---- the rest -------------------------------------------------------------------------------------*/

static PyObject* get_about(PyObject* self, void* unused)
{
    const core_recording* r = (core_recording*)self;
    PyObject* dict = PyDict_New();
    (void)unused;
    const bool good =
        dict != NULL &&
        core_put_integer(dict, "frames", perp_recording_frame_count(r->recording)) &&
        core_put(dict, "complete", PyBool_FromLong(perp_recording_complete(r->recording))) &&
        core_put(dict, "finished", PyBool_FromLong(perp_recording_finished(r->recording))) &&
        core_put_text(dict, "note", perp_recording_note(r->recording)) &&
        core_put_text(dict, "version", perp_recording_version(r->recording)) &&
        core_put_text(dict, "user_code", perp_recording_user_code(r->recording)) &&
        core_put_text(dict, "scene", perp_recording_scene_text(r->recording));
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject* get_path(PyObject* self, void* unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(((core_recording*)self)->path);
}

static PyMethodDef recording_methods[] = {
    {"scalars", recording_scalars, METH_NOARGS, "Rows of scalars of all frames."},
    {"state", recording_state, METH_O, "Rows of q or v of all frames."},
    {"quantities", recording_quantities, METH_O, "Names and rows of quantities."},
    {"contacts", recording_contacts, METH_O, "Contacts of a frame, as bytes."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef recording_getset[] = {
    {"about", get_about, NULL, "Frames, version, note, scene.", NULL},
    {"path", get_path, NULL, "The file.", NULL},
    {"scalar_names", scalar_names, NULL, "Columns of scalars().", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot recording_slots[] = {
    {Py_tp_dealloc, (void*)recording_dealloc},
    {Py_tp_methods, recording_methods},
    {Py_tp_getset, recording_getset},
    {Py_tp_doc, "A recording that is read."},
    {0, NULL},
};

PyType_Spec core_recording_spec = {
    .name = "perp._core.Recording",
    .basicsize = sizeof(core_recording),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = recording_slots,
};

/* verify(path): what perp_recording_verify found */
PyObject* core_verify(PyObject* module, PyObject* args)
{
    PyObject* encoded = NULL;
    perp_context* context = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &encoded)) {
        return NULL;
    }
    if (perp_context_create(NULL, &context) != PERP_OK) {
        Py_DECREF(encoded);
        return PyErr_NoMemory();
    }
    const char* path = PyBytes_AsString(encoded);
    perp_verification v;
    perp_status status;
    PyThreadState* released = PyEval_SaveThread();
    status = perp_recording_verify(context, path, &v);
    PyEval_RestoreThread(released);
    PyObject* dict = NULL;
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(context), path);
    } else {
        dict = PyDict_New();
        const bool good = dict != NULL && core_put(dict, "intact", PyBool_FromLong(v.intact)) &&
                          core_put(dict, "complete", PyBool_FromLong(v.complete)) &&
                          core_put(dict, "finished", PyBool_FromLong(v.finished)) &&
                          core_put(dict, "same_bits", PyBool_FromLong(v.same_bits)) &&
                          core_put_integer(dict, "frames", v.frames) &&
                          core_put_integer(dict, "steps", v.steps) &&
                          core_put_integer(dict, "laws_checked", v.laws_checked) &&
                          core_put_number(dict, "worst", v.worst.worst) &&
                          core_put_text(dict, "message", v.message);
        if (!good) {
            Py_CLEAR(dict);
        }
    }
    perp_context_destroy(context);
    Py_DECREF(encoded);
    return dict;
}
