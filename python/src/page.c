/* python/src/page.c - the replay page of a recording, by the code that `perp replay` uses. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "page.h"

/* page(path): head of the page, header of the run (JSON), its data, end of the page; None: this
 * build has no page */
PyObject* core_page(PyObject* module, PyObject* args)
{
    PyObject *encoded = NULL, *result = NULL;
    perp_context* context = NULL;
    page_run run = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &encoded)) {
        return NULL;
    }
    if (!page_available()) {
        Py_DECREF(encoded);
        Py_RETURN_NONE;
    }
    if (perp_context_create(NULL, &context) != PERP_OK) {
        Py_DECREF(encoded);
        return PyErr_NoMemory();
    }
    const char* path = PyBytes_AsString(encoded);
    perp_status status = PERP_OK;
    page_status packed;
    PyThreadState* released = PyEval_SaveThread();
    packed = page_pack(context, path, &run, &status);
    PyEval_RestoreThread(released);
    char* header = packed == PAGE_OK ? page_dump(run.header) : NULL;
    if (packed == PAGE_FAILED) {
        (void)core_raise(status, perp_context_error(context), path);
    } else if (header == NULL) {
        (void)PyErr_NoMemory();
    } else {
        const char *head, *tail;
        size_t head_size, tail_size;
        page_template(&head, &head_size, &tail, &tail_size);
        result = Py_BuildValue("y#sy#y#", head, (Py_ssize_t)head_size, header, run.blob.data,
                               (Py_ssize_t)run.blob.size, tail, (Py_ssize_t)tail_size);
    }
    free(header);
    page_run_free(&run);
    perp_context_destroy(context);
    Py_DECREF(encoded);
    return result;
}
