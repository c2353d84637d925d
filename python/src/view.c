/* python/src/view.c - a read-only buffer over memory of another object, which it keeps alive. */
#include "core.h"

PyTypeObject* core_view_type;

typedef struct core_view_object {
    PyObject_HEAD PyObject* owner;
    const void* data;
    core_memory* memory;
    void* pinned;
    Py_ssize_t shape[2], strides[2], itemsize;
    int dimensions;
    char format[2];
} core_view_object;

PyObject* core_view(PyObject* owner, const void* data, char format, Py_ssize_t rows,
                    Py_ssize_t columns, core_memory* memory, void* pinned)
{
    static const double nothing;
    core_view_object* view = (core_view_object*)PyType_GenericAlloc(core_view_type, 0);
    if (view == NULL) {
        return NULL;
    }
    const Py_ssize_t itemsize = format == 'd' ? (Py_ssize_t)sizeof(double) : 1;
    view->owner = Py_NewRef(owner);
    view->data = data != NULL ? data : &nothing;
    view->memory = memory;
    view->pinned = pinned;
    view->itemsize = itemsize;
    view->dimensions = rows < 0 ? 1 : 2;
    view->shape[0] = rows < 0 ? columns : rows;
    view->shape[1] = columns;
    view->strides[0] = rows < 0 ? itemsize : columns * itemsize;
    view->strides[1] = itemsize;
    view->format[0] = format;
    return (PyObject*)view;
}

static int view_getbuffer(PyObject* self, Py_buffer* buffer, int flags)
{
    core_view_object* view = (core_view_object*)self;
    if ((flags & PyBUF_WRITABLE) != 0) {
        PyErr_SetString(PyExc_BufferError, "the state is read-only: set it with the simulation's "
                                           "methods");
        buffer->obj = NULL;
        return -1;
    }
    *buffer = (Py_buffer){
        .buf = (void*)(uintptr_t)view->data,
        .obj = Py_NewRef(self),
        .len = view->itemsize * view->shape[0] * (view->dimensions == 2 ? view->shape[1] : 1),
        .itemsize = view->itemsize,
        .readonly = 1,
        .ndim = view->dimensions,
        .format = (flags & PyBUF_FORMAT) != 0 ? view->format : NULL,
        .shape = (flags & PyBUF_ND) != 0 ? view->shape : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? view->strides : NULL,
    };
    return 0;
}

static void view_dealloc(PyObject* self)
{
    core_view_object* view = (core_view_object*)self;
    PyTypeObject* type = Py_TYPE(self);
    if (view->pinned != NULL) {
        core_memory_unpin(view->memory, view->pinned);
    }
    Py_XDECREF(view->owner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot view_slots[] = {
    {Py_tp_dealloc, (void*)view_dealloc},
    {Py_bf_getbuffer, (void*)view_getbuffer},
    {Py_tp_doc, "A read-only buffer over memory of a simulation, which it keeps alive."},
    {0, NULL},
};

PyType_Spec core_view_spec = {
    .name = "perp._core.View",
    .basicsize = sizeof(core_view_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = view_slots,
};
