/* python/src/module.c - the module perp._core. */
#include <string.h>

#include "core.h"

/* Types and the function that makes exceptions are global: one interpreter may use the module. */
static bool refuse_interpreter(void)
{
    const int64_t id = PyInterpreterState_GetID(PyInterpreterState_Get());
    if (id != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "perp does not work in a subinterpreter: its module keeps state that "
                        "interpreters would share. Import it in the main interpreter, or start "
                        "another process");
        return true;
    }
    /* absent before 3.13; true there unless Python runs without the GIL */
    PyObject* enabled = PySys_GetObject("_is_gil_enabled");
    PyObject* answer = enabled != NULL ? PyObject_CallFunctionObjArgs(enabled, NULL) : NULL;
    const int gil = answer != NULL ? PyObject_IsTrue(answer) : 1;
    Py_XDECREF(answer);
    PyErr_Clear();
    if (gil == 0) {
        PyErr_SetString(PyExc_ImportError, "perp does not work in a Python that runs without the "
                                           "GIL (free threading): use the ordinary build");
        return true;
    }
    return false;
}

static PyMethodDef functions[] = {
    {"set_error_factory", core_set_error_factory, METH_O, "What makes exceptions."},
    {"load", core_load, METH_VARARGS, "Read a scene from a file."},
    {"parse", core_parse, METH_VARARGS, "Read a scene from a text."},
    {"open_recording", core_open_recording, METH_VARARGS, "Open a recording."},
    {"verify", core_verify, METH_VARARGS, "Verify a recording."},
    {"page", core_page, METH_VARARGS, "The parts of a replay page."},
    {"solve", core_solve, METH_VARARGS, "Solve a complementarity problem."},
    {"solve_file", core_solve_file, METH_VARARGS, "Solve the problem in a file."},
    {"methods", core_methods, METH_NOARGS, "Solvers, their summaries and forms."},
    {"rollout", core_rollout, METH_VARARGS, "Many runs of a scene on threads."},
    {"sweep", core_sweep, METH_VARARGS, "The runs of a study in processes."},
    {"design", core_design, METH_VARARGS, "Search for the best values of unknowns."},
    {"estimate", core_estimate, METH_VARARGS, "Parameters from measured motion."},
    {"gradient", core_gradient, METH_VARARGS, "Derivatives of a measure."},
    {"serve", core_serve, METH_VARARGS, "The loop of a worker process."},
    {NULL, NULL, 0, NULL},
};

static bool add_type(PyObject* module, PyType_Spec* spec, PyTypeObject** type)
{
    PyObject* made = PyType_FromModuleAndSpec(module, spec, NULL);
    if (made == NULL) {
        return false;
    }
    *type = (PyTypeObject*)made; /* kept for the life of the process */
    return PyModule_AddType(module, *type) == 0;
}

static int execute(PyObject* module)
{
    if (refuse_interpreter()) {
        return -1;
    }
    const bool good = add_type(module, &core_scene_spec, &core_scene_type) &&
                      add_type(module, &core_sim_spec, &core_sim_type) &&
                      add_type(module, &core_view_spec, &core_view_type) &&
                      add_type(module, &core_recording_spec, &core_recording_type) &&
                      PyModule_AddFunctions(module, core_sim_state_methods) == 0 &&
                      PyModule_AddStringConstant(module, "version", perp_version_string()) == 0;
    return good ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void*)execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "perp._core",
    .m_doc = "The library perp, for the package perp.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
