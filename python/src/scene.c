/* python/src/scene.c - a scene: read, looked into, changed and built again. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

PyTypeObject* core_scene_type;

core_scene* core_scene_of(PyObject* object)
{
    if (!PyObject_TypeCheck(object, core_scene_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a scene");
        return NULL;
    }
    return (core_scene*)object;
}

const char* core_scene_file(const core_scene* scene)
{
    return scene->from_file ? scene->origin : NULL;
}

/* ---- overrides ------------------------------------------------------------------------------------*/

/* A list of (pointer, JSON text); the strings belong to the list's items. NULL: exception. */
static perp_override* read_overrides(PyObject* list, int32_t* count)
{
    const Py_ssize_t size = PyList_Size(list);
    perp_override* items = size >= 0 ? calloc((size_t)size + 1, sizeof *items) : NULL;
    if (items == NULL) {
        return size >= 0 ? (perp_override*)PyErr_NoMemory() : NULL;
    }
    for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject* pair = PyList_GetItem(list, i);
        PyObject* name =
            PyTuple_Check(pair) && PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, 0) : NULL;
        const char* pointer = name != NULL ? core_text(name) : NULL;
        const char* value = pointer != NULL ? core_text(PyTuple_GetItem(pair, 1)) : NULL;
        if (value == NULL) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_TypeError, "expected pairs of a pointer and a JSON text");
            }
            free(items);
            return NULL;
        }
        items[i] = (perp_override){pointer, value};
    }
    *count = (int32_t)size;
    return items;
}

/* ---- making one -----------------------------------------------------------------------------------*/

static core_scene* new_scene(const char* origin, bool from_file)
{
    core_scene* s = (core_scene*)PyType_GenericAlloc(core_scene_type, 0);
    if (s == NULL) {
        return NULL;
    }
    perp_context_def def = perp_context_def_default();
    def.log = core_log_add;
    def.log_user = &s->log;
    s->from_file = from_file;
    s->origin = strdup(origin);
    if (s->origin == NULL || perp_context_create(&def, &s->context) != PERP_OK) {
        Py_DECREF(s);
        (void)PyErr_NoMemory();
        return NULL;
    }
    return s;
}

static PyObject* finish_scene(core_scene* s, perp_status status)
{
    if (status != PERP_OK) {
        (void)core_raise(status, perp_context_error(s->context), core_scene_file(s));
    }
    if (status != PERP_OK || core_log_warn(&s->log) != 0) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject*)s;
}

/* load(path, overrides, package, floating, self_collision): the last three are of robots; package
 * None, not floating and with self-collision is the same as perp_scene_load for every file. */
PyObject* core_load(PyObject* module, PyObject* args)
{
    PyObject *encoded = NULL, *list;
    const char* package;
    int floating, self_collision;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&O!zpp", PyUnicode_FSConverter, &encoded, &PyList_Type, &list,
                          &package, &floating, &self_collision)) {
        return NULL;
    }
    const char* path = PyBytes_AsString(encoded);
    int32_t count = 0;
    perp_override* items = read_overrides(list, &count);
    core_scene* s = items != NULL ? new_scene(path, true) : NULL;
    PyObject* result = NULL;
    if (s != NULL) {
        perp_urdf_options options = perp_urdf_options_default();
        options.package = package;
        options.floating = floating != 0;
        options.no_self_collision = self_collision == 0;
        const bool plain = package == NULL && !floating && self_collision;
        perp_status status;
        PyThreadState* released = PyEval_SaveThread();
        status = plain ? perp_scene_load(s->context, path, items, count, &s->scene)
                       : perp_scene_load_urdf(s->context, path, &options, items, count, &s->scene);
        PyEval_RestoreThread(released);
        result = finish_scene(s, status);
    }
    free(items);
    Py_DECREF(encoded);
    return result;
}

/* parse(text, origin, overrides) */
PyObject* core_parse(PyObject* module, PyObject* args)
{
    PyObject* list;
    const char *text, *origin;
    Py_ssize_t length;
    int is_file;
    (void)module;
    if (!PyArg_ParseTuple(args, "s#sO!p", &text, &length, &origin, &PyList_Type, &list, &is_file)) {
        return NULL;
    }
    int32_t count = 0;
    perp_override* items = read_overrides(list, &count);
    core_scene* s = items != NULL ? new_scene(origin, is_file != 0) : NULL;
    PyObject* result = NULL;
    if (s != NULL) {
        perp_status status;
        PyThreadState* released = PyEval_SaveThread();
        status =
            perp_scene_parse(s->context, text, (size_t)length, origin, items, count, &s->scene);
        PyEval_RestoreThread(released);
        result = finish_scene(s, status);
    }
    free(items);
    return result;
}

static void scene_dealloc(PyObject* self)
{
    core_scene* s = (core_scene*)self;
    PyTypeObject* type = Py_TYPE(self);
    perp_scene_destroy(s->scene);
    perp_context_destroy(s->context);
    core_log_free(&s->log);
    free(s->origin);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- changing it ----------------------------------------------------------------------------------*/

static perp_status set_one(core_scene* s, PyObject* pair)
{
    const char* name = core_text(PyTuple_GetItem(pair, 0));
    PyObject* value = PyTuple_GetItem(pair, 1);
    if (name == NULL) {
        return PERP_ERROR_INPUT;
    }
    if (PyUnicode_Check(value)) {
        const char* text = core_text(value);
        return text != NULL ? perp_scene_set_string(s->scene, name, text) : PERP_ERROR_INPUT;
    }
    const double number = PyFloat_AsDouble(value);
    return number == -1.0 && PyErr_Occurred() ? PERP_ERROR_INPUT
                                              : perp_scene_set_number(s->scene, name, number);
}

/* set(pairs): numbers and strings, then a rebuild. The scene must have no simulations. After a
 * failure it may have some of the values: the caller drops it. */
static PyObject* scene_set(PyObject* self, PyObject* list)
{
    core_scene* s = (core_scene*)self;
    if (s->users > 0) {
        PyErr_SetString(PyExc_RuntimeError, "simulations of the scene exist");
        return NULL;
    }
    perp_status status = PERP_OK;
    for (Py_ssize_t i = 0; status == PERP_OK && i < PyList_Size(list); ++i) {
        PyObject* pair = PyList_GetItem(list, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "expected pairs");
            return NULL;
        }
        status = set_one(s, pair);
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (status == PERP_OK) {
        status = perp_scene_rebuild(s->scene);
    }
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(s->context), core_scene_file(s));
    }
    Py_RETURN_NONE;
}

static PyObject* scene_save(PyObject* self, PyObject* path)
{
    core_scene* s = (core_scene*)self;
    PyObject* encoded = NULL;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return NULL;
    }
    const perp_status status = perp_scene_save(s->scene, PyBytes_AsString(encoded));
    PyObject* result = status == PERP_OK ? Py_NewRef(Py_None)
                                         : core_raise(status, perp_context_error(s->context),
                                                      PyBytes_AsString(encoded));
    Py_DECREF(encoded);
    return result;
}

/* ---- looking into it ------------------------------------------------------------------------------*/

static const perp_model* model_of(PyObject* self)
{
    return perp_scene_model(((core_scene*)self)->scene);
}

static const char* body_name(const void* model, int32_t i)
{
    return perp_model_body_name(model, i);
}

static const char* joint_name(const void* model, int32_t i)
{
    return perp_model_joint_name(model, i);
}

static const char* controller_name(const void* model, int32_t i)
{
    return perp_model_controller_name(model, i);
}

static const char* measure_name(const void* def, int32_t i)
{
    return ((const perp_sim_def*)def)->measure[i].name;
}

static PyObject* get_bodies(PyObject* self, void* unused)
{
    (void)unused;
    return core_names(perp_model_body_count(model_of(self)), body_name, model_of(self));
}

static PyObject* get_joints(PyObject* self, void* unused)
{
    (void)unused;
    return core_names(perp_model_joint_count(model_of(self)), joint_name, model_of(self));
}

static PyObject* get_controllers(PyObject* self, void* unused)
{
    (void)unused;
    return core_names(perp_model_controller_count(model_of(self)), controller_name, model_of(self));
}

static PyObject* get_measures(PyObject* self, void* unused)
{
    (void)unused;
    const perp_sim_def def = perp_sim_def_from_scene(((core_scene*)self)->scene);
    return core_names(def.measure_count, measure_name, &def);
}

static PyObject* get_parameters(PyObject* self, void* unused)
{
    (void)unused;
    const perp_scene* scene = ((core_scene*)self)->scene;
    PyObject* dict = PyDict_New();
    for (int32_t i = 0; dict != NULL && i < perp_scene_parameter_count(scene); ++i) {
        const perp_parameter p = perp_scene_parameter(scene, i);
        if (!core_put_number(dict, p.name, p.value)) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject* get_settings(PyObject* self, void* unused)
{
    (void)unused;
    const perp_scene* scene = ((core_scene*)self)->scene;
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    PyObject* dict = PyDict_New();
    const bool good =
        dict != NULL && core_put_number(dict, "step", def.step) &&
        core_put_number(dict, "error", def.error) &&
        core_put_number(dict, "duration", def.duration) &&
        core_put_text(dict, "stepper", def.stepper) &&
        core_put_text(dict, "contact", perp_contact_choose(perp_scene_model(scene), &def).name) &&
        core_put_text(dict, "solver", def.solver) && core_put_text(dict, "cone", def.cone) &&
        core_put_number(dict, "tolerance", def.tolerance) &&
        core_put_integer(dict, "record_every", perp_scene_record_every(scene)) &&
        core_put_integer(dict, "dimension", perp_model_dimension(perp_scene_model(scene)));
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject* get_name(PyObject* self, void* unused)
{
    (void)unused;
    return PyUnicode_FromString(perp_scene_name(((core_scene*)self)->scene));
}

static PyObject* get_text(PyObject* self, void* unused)
{
    (void)unused;
    return PyUnicode_FromString(perp_scene_text(((core_scene*)self)->scene));
}

static PyObject* get_source(PyObject* self, void* unused)
{
    (void)unused;
    return PyUnicode_FromString(perp_scene_source(((core_scene*)self)->scene));
}

static PyObject* get_origin(PyObject* self, void* unused)
{
    (void)unused;
    return PyUnicode_DecodeFSDefault(((core_scene*)self)->origin);
}

static PyObject* get_in_use(PyObject* self, void* unused)
{
    (void)unused;
    return PyBool_FromLong(((core_scene*)self)->users > 0);
}

/* body(index): what the model knows of it. */
static PyObject* scene_body(PyObject* self, PyObject* argument)
{
    static const char* const types[] = {"static", "kinematic", "dynamic"};
    const perp_model* model = model_of(self);
    const long index = PyLong_AsLong(argument);
    if (index < 0 || index >= perp_model_body_count(model)) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_IndexError, "no body %ld", index);
    }
    const perp_body_info info = perp_model_body_info(model, (int32_t)index);
    PyObject* dict = PyDict_New();
    const bool good = dict != NULL && core_put_text(dict, "type", types[info.type]) &&
                      core_put_number(dict, "mass", info.mass) &&
                      core_put(dict, "inertia", core_tuple(info.inertia, 9)) &&
                      core_put_number(dict, "friction", info.friction) &&
                      core_put_number(dict, "restitution", info.restitution);
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject* scene_joint(PyObject* self, PyObject* argument)
{
    const perp_model* model = model_of(self);
    const long index = PyLong_AsLong(argument);
    if (index < 0 || index >= perp_model_joint_count(model)) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_IndexError, "no joint %ld", index);
    }
    const perp_joint_info info = perp_model_joint_info(model, (int32_t)index);
    PyObject* dict = PyDict_New();
    const bool good =
        dict != NULL && core_put_text(dict, "type", perp_joint_type_name(info.type)) &&
        core_put_integer(dict, "a", info.a) && core_put_integer(dict, "b", info.b) &&
        core_put_integer(dict, "coordinates", info.coordinates) &&
        core_put_number(dict, "friction", info.friction) &&
        core_put_number(dict, "damping", info.damping) &&
        core_put(dict, "limits", info.has_limits ? core_tuple(info.limits, 2) : Py_NewRef(Py_None));
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* quantities(): names of all of them, pairs of bodies excepted. */
static PyObject* scene_quantities(PyObject* self, PyObject* unused)
{
    (void)unused;
    const perp_model* model = model_of(self);
    PyObject* list = PyList_New(0);
    perp_quantity quantity;
    for (int32_t i = 0; list != NULL && perp_quantity_list(model, i, &quantity); ++i) {
        char name[512];
        (void)perp_quantity_name(model, &quantity, name, sizeof name);
        PyObject* item = PyUnicode_FromString(name);
        if (item == NULL || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}

static PyMethodDef scene_methods[] = {
    {"set", scene_set, METH_O, "Set numbers and strings by name or JSON pointer, and rebuild."},
    {"save", scene_save, METH_O, "Write the scene's text to a file."},
    {"body", scene_body, METH_O, "What the model knows of a body."},
    {"joint", scene_joint, METH_O, "What the model knows of a joint."},
    {"quantities", scene_quantities, METH_NOARGS, "Names of the quantities of the model."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef scene_getset[] = {
    {"bodies", get_bodies, NULL, "Names of the bodies.", NULL},
    {"joints", get_joints, NULL, "Names of the joints.", NULL},
    {"controllers", get_controllers, NULL, "Names of the controllers.", NULL},
    {"measures", get_measures, NULL, "Names of the measures.", NULL},
    {"parameters", get_parameters, NULL, "Values of the parameters.", NULL},
    {"settings", get_settings, NULL, "How the scene is simulated.", NULL},
    {"name", get_name, NULL, "The name of the scene.", NULL},
    {"text", get_text, NULL, "The scene as it will be simulated, as JSON.", NULL},
    {"source", get_source, NULL, "The scene to be changed and read again, as JSON.", NULL},
    {"origin", get_origin, NULL, "What messages call the scene.", NULL},
    {"in_use", get_in_use, NULL, "Whether simulations of the scene exist.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot scene_slots[] = {
    {Py_tp_dealloc, (void*)scene_dealloc},
    {Py_tp_methods, scene_methods},
    {Py_tp_getset, scene_getset},
    {Py_tp_doc, "A scene of the library."},
    {0, NULL},
};

PyType_Spec core_scene_spec = {
    .name = "perp._core.Scene",
    .basicsize = sizeof(core_scene),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = scene_slots,
};
