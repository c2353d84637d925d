/* python/src/errors.c - from a status of the library to an exception, from its log to warnings. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

static PyObject* error_factory;

PyObject* core_set_error_factory(PyObject* module, PyObject* factory)
{
    (void)module;
    Py_INCREF(factory);
    Py_XDECREF(error_factory);
    error_factory = factory;
    Py_RETURN_NONE;
}

PyObject* core_raise(perp_status status, const char* message, const char* file)
{
    if (status == PERP_ERROR_MEMORY) {
        return PyErr_NoMemory();
    }
    if (error_factory == NULL) {
        PyErr_SetString(PyExc_RuntimeError, message);
        return NULL;
    }
    PyObject* text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject* name = file != NULL ? PyUnicode_DecodeFSDefault(file) : Py_NewRef(Py_None);
    PyObject* exception = NULL;
    if (text != NULL && name != NULL) {
        exception = PyObject_CallFunction(error_factory, "iOO", (int)status, text, name);
    }
    if (exception != NULL) {
        PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
    }
    Py_XDECREF(exception);
    Py_XDECREF(text);
    Py_XDECREF(name);
    return NULL;
}

void core_log_add(void* user, perp_log_level level, const char* message)
{
    core_log* log = user;
    const size_t length = strlen(message) + 1;
    if (level != PERP_LOG_WARNING || length > (1u << 16) || log->size > (1u << 20)) {
        return;
    }
    char* text = realloc(log->text, log->size + length);
    if (text != NULL) {
        memcpy(text + log->size, message, length);
        log->text = text;
        log->size += length;
    }
}

int core_log_warn(core_log* log)
{
    int result = 0;
    for (size_t at = 0; result == 0 && at < log->size; at += strlen(log->text + at) + 1) {
        result = PyErr_WarnEx(PyExc_UserWarning, log->text + at, 2);
    }
    core_log_free(log);
    return result;
}

void core_log_free(core_log* log)
{
    free(log->text);
    *log = (core_log){0};
}
