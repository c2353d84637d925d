/* python/src/values.c - numbers and names between C and Python. */
#include <string.h>
#include <time.h>

#include "core.h"

double core_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

PyObject* core_tuple(const double* x, int32_t count)
{
    PyObject* tuple = PyTuple_New(count);
    for (int32_t i = 0; tuple != NULL && i < count; ++i) {
        PyObject* value = PyFloat_FromDouble(x[i]);
        if (value == NULL || PyTuple_SetItem(tuple, i, value) != 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

bool core_numbers(PyObject* sequence, double* x, int32_t count, const char* name)
{
    const Py_ssize_t length = PySequence_Size(sequence);
    if (length < 0) {
        return false;
    }
    if (length != count) {
        PyErr_Format(PyExc_ValueError, "%s: expected %d numbers, got %zd", name, (int)count,
                     length);
        return false;
    }
    for (int32_t i = 0; i < count; ++i) {
        PyObject* item = PySequence_GetItem(sequence, i);
        x[i] = item != NULL ? PyFloat_AsDouble(item) : -1.0;
        Py_XDECREF(item);
        if (x[i] == -1.0 && PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

/* The letters of struct that mean a kind; those of numbers of the machine's own size and order. */
static bool is_kind(const char* format, char kind, Py_ssize_t size)
{
    if (format == NULL || format[0] == '\0' || format[1] != '\0') {
        return false;
    }
    return kind == 'd'   ? format[0] == 'd'
           : kind == 'i' ? strchr("il", format[0]) != NULL && size == 4
                         : strchr("qlin", format[0]) != NULL && size == 8;
}

bool core_buffer(PyObject* object, char kind, const char* name, Py_buffer* buffer,
                 Py_ssize_t* count)
{
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
        return false;
    }
    if (!is_kind(buffer->format, kind, buffer->itemsize)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a buffer of %s, got format '%s'", name,
                     kind == 'd'   ? "float64"
                     : kind == 'i' ? "int32"
                                   : "int64",
                     buffer->format != NULL ? buffer->format : "B");
        PyBuffer_Release(buffer);
        return false;
    }
    *count = buffer->len / buffer->itemsize;
    return true;
}

PyObject* core_names(int32_t count, const char* (*name)(const void* of, int32_t index),
                     const void* of)
{
    PyObject* list = PyList_New(count);
    for (int32_t i = 0; list != NULL && i < count; ++i) {
        const char* text = name(of, i);
        PyObject* item = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        if (item == NULL || PyList_SetItem(list, i, item) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

const char* core_text(PyObject* text)
{
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "expected a str, got %R", (PyObject*)Py_TYPE(text));
        return NULL;
    }
    Py_ssize_t length;
    const char* utf8 = PyUnicode_AsUTF8AndSize(text, &length);
    if (utf8 != NULL && strlen(utf8) != (size_t)length) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        return NULL;
    }
    return utf8;
}

bool core_put(PyObject* dict, const char* key, PyObject* value)
{
    const bool good = value != NULL && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return good;
}

bool core_put_number(PyObject* dict, const char* key, double value)
{
    return core_put(dict, key, PyFloat_FromDouble(value));
}

bool core_put_integer(PyObject* dict, const char* key, long long value)
{
    return core_put(dict, key, PyLong_FromLongLong(value));
}

bool core_put_text(PyObject* dict, const char* key, const char* value)
{
    return core_put(dict, key, PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace"));
}
