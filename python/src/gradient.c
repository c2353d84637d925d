/* python/src/gradient.c - derivatives of a measure by parameters. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

static PyObject* flags_dict(const perp_gradient_flags* f)
{
    PyObject* dict = PyDict_New();
    const bool good = dict != NULL && core_put_integer(dict, "steps", f->flagged) &&
                      core_put_integer(dict, "of", f->steps) &&
                      core_put_integer(dict, "weak", f->weak) &&
                      core_put_integer(dict, "undetermined", f->undetermined) &&
                      core_put_integer(dict, "immaterial", f->immaterial) &&
                      core_put_integer(dict, "choice", f->choice) &&
                      core_put_integer(dict, "fallback", f->fallback) &&
                      core_put_number(dict, "margin", f->margin) &&
                      core_put_number(dict, "margin_time", f->margin_time) &&
                      core_put_number(dict, "first_time", f->first_time);
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* Value, derivatives, flags, derivatives by the start state of each body (None: computed forward),
 * differences and their spread (None: not asked for). */
/* What smoothing changed: kappa, the measure of the run itself, its derivatives, its flags; None: not smoothed. */
static PyObject* smoothed_tuple(const perp_gradient* g, const perp_gradient_def* def)
{
    const perp_gradient_smoothed s = perp_gradient_smoothed_of(g);
    if (!(s.kappa > 0.0)) {
        return Py_NewRef(Py_None);
    }
    PyObject* exact = PyTuple_New(def->parameter_count);
    for (int32_t i = 0; exact != NULL && i < def->parameter_count; ++i) {
        (void)PyTuple_SetItem(exact, i, PyFloat_FromDouble(perp_gradient_exact_of(g, i)));
    }
    return exact != NULL
               ? Py_BuildValue("dddNN", s.kappa, s.exact, s.bias, exact, flags_dict(&s.flags))
               : NULL;
}

static PyObject* gradient_tuple(const perp_gradient* g, const perp_gradient_def* def,
                                const perp_model* model, const double* check)
{
    const perp_gradient_flags flags = perp_gradient_flags_of(g);
    const int32_t bodies = perp_model_body_count(model);
    PyObject* derivatives = PyTuple_New(def->parameter_count);
    for (int32_t i = 0; derivatives != NULL && i < def->parameter_count; ++i) {
        (void)PyTuple_SetItem(derivatives, i, PyFloat_FromDouble(perp_gradient_of(g, i)));
    }
    PyObject* start = def->mode == PERP_GRADIENT_ADJOINT ? PyList_New(0) : Py_NewRef(Py_None);
    for (int32_t i = 0; start != NULL && start != Py_None && i < bodies; ++i) {
        const double* by = perp_gradient_start(g, i);
        PyObject* row = by != NULL ? core_tuple(by, 12) : Py_NewRef(Py_None);
        if (row == NULL || PyList_Append(start, row) != 0) {
            Py_CLEAR(start);
        }
        Py_XDECREF(row);
    }
    PyObject* differences =
        check != NULL
            ? Py_BuildValue("NN", core_tuple(check, def->parameter_count),
                            core_tuple(check + def->parameter_count, def->parameter_count))
            : Py_NewRef(Py_None);
    PyObject* smoothed = smoothed_tuple(g, def);
    if (derivatives == NULL || start == NULL || differences == NULL || smoothed == NULL) {
        Py_XDECREF(smoothed);
        Py_XDECREF(derivatives);
        Py_XDECREF(start);
        Py_XDECREF(differences);
        return NULL;
    }
    return Py_BuildValue("dNNNNN", perp_gradient_value(g), derivatives, flags_dict(&flags), start,
                         differences, smoothed);
}

static PyObject* differentiate(core_scene* s, const perp_gradient_def* def, bool check)
{
    perp_gradient* g = NULL;
    double* differences =
        check ? calloc(2 * (size_t)def->parameter_count + 1, sizeof *differences) : NULL;
    if (check && differences == NULL) {
        return PyErr_NoMemory();
    }
    s->users += 1; /* nobody may change it meanwhile */
    PyThreadState* released = PyEval_SaveThread();
    perp_status status = perp_gradient_create(s->context, s->scene, def, &g);
    if (status == PERP_OK && check) {
        status = perp_gradient_difference(s->context, s->scene, def, differences,
                                          differences + def->parameter_count);
    }
    PyEval_RestoreThread(released);
    s->users -= 1;
    PyObject* result = status == PERP_OK
                           ? gradient_tuple(g, def, perp_scene_model(s->scene), differences)
                           : core_raise(status, perp_context_error(s->context), core_scene_file(s));
    perp_gradient_destroy(g);
    free(differences);
    return result;
}

/* gradient(scene, measure, names, forward, checkpoints, threshold, smooth, check); the scene must not be in
 * use */
PyObject* core_gradient(PyObject* module, PyObject* args)
{
    PyObject *object, *names;
    int forward, checkpoints, check;
    perp_gradient_def def = perp_gradient_def_default();
    (void)module;
    if (!PyArg_ParseTuple(args, "OsO!ppddp", &object, &def.measure, &PyList_Type, &names, &forward,
                          &checkpoints, &def.threshold, &def.smooth, &check)) {
        return NULL;
    }
    core_scene* s = core_scene_of(object);
    if (s == NULL || s->users > 0) {
        if (s != NULL) {
            PyErr_SetString(PyExc_RuntimeError, "the scene is in use");
        }
        return NULL;
    }
    const Py_ssize_t count = PyList_Size(names);
    const char** name = calloc((size_t)count + 1, sizeof *name);
    if (name == NULL) {
        return PyErr_NoMemory();
    }
    bool good = true;
    for (Py_ssize_t i = 0; good && i < count; ++i) {
        name[i] = core_text(PyList_GetItem(names, i));
        good = name[i] != NULL;
    }
    def.parameter = name;
    def.parameter_count = (int32_t)count;
    def.mode = forward ? PERP_GRADIENT_FORWARD : PERP_GRADIENT_ADJOINT;
    def.checkpoints = checkpoints != 0;
    PyObject* result = good ? differentiate(s, &def, check != 0) : NULL;
    free(name);
    return result;
}
