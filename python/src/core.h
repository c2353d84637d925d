/* python/src/core.h - the extension module perp._core: what its files share.
 *
 * Types here are thin: a handle of the library, a check that nobody else uses it at the moment, and
 * numbers as tuples and buffers. Names, defaults and shapes of arrays are in the Python layer
 * (python/perp). Compiled against the limited API of CPython 3.11, so that one binary serves 3.11
 * and all later versions.
 *
 * Threads: a call that steps or solves releases the GIL. While a thread is in such a call, its
 * object refuses calls of other threads, except for buffers that exist already.
 */
#ifndef PERP_PYTHON_CORE_H
#define PERP_PYTHON_CORE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdio.h>

#include "perp/perp.h"

/* ---- errors (errors.c) --------------------------------------------------------------------------*/

/* Sets the exception that belongs to a status; file: what the message is about, or NULL. Returns
 * NULL. */
PyObject* core_raise(perp_status status, const char* message, const char* file);
/* The function of the Python layer that makes the exception: (status, message, file). */
PyObject* core_set_error_factory(PyObject* module, PyObject* factory);

/* Lines that a context logs while the GIL may not be held. Zero-initialised is empty. */
typedef struct core_log {
    char* text; /* lines, each ended by 0 */
    size_t size;
} core_log;
void core_log_add(void* log, perp_log_level level, const char* message);
/* Issues the lines as warnings and empties the log. -1: a warning became an exception. */
int core_log_warn(core_log* log);
void core_log_free(core_log* log);

/* ---- values (values.c) --------------------------------------------------------------------------*/

PyObject* core_tuple(const double* x, int32_t count);
/* A sequence of exactly `count` numbers. False: an exception is set; name says whose. */
bool core_numbers(PyObject* sequence, double* x, int32_t count, const char* name);
/* A buffer of doubles or int32 (kind 'd', 'i', 'q') without gaps, of any shape. False: exception. */
bool core_buffer(PyObject* object, char kind, const char* name, Py_buffer* buffer,
                 Py_ssize_t* count);
/* A new list of strings. */
PyObject* core_names(int32_t count, const char* (*name)(const void* of, int32_t index),
                     const void* of);
/* The UTF-8 text of a str, valid as long as it lives; NULL: exception. */
const char* core_text(PyObject* text);
/* Adds a value to a dict and releases it; false: exception. A NULL value is an exception already. */
bool core_put(PyObject* dict, const char* key, PyObject* value);
bool core_put_number(PyObject* dict, const char* key, double value);
bool core_put_integer(PyObject* dict, const char* key, long long value);
bool core_put_text(PyObject* dict, const char* key, const char* value);

/* ---- memory of a simulation (memory.c) ----------------------------------------------------------*/

/* Allocator that keeps a block while a buffer shows it, even after the library has released it. */
typedef struct core_memory {
    pthread_mutex_t lock;
    struct core_pin* pins;
} core_memory;
void core_memory_open(core_memory* memory);
void core_memory_close(core_memory* memory);
void* core_memory_resize(void* memory, void* block, size_t size);
/* False: no memory. */
bool core_memory_pin(core_memory* memory, void* block);
void core_memory_unpin(core_memory* memory, void* block);

/* ---- scenes (scene.c) ---------------------------------------------------------------------------*/

typedef struct core_scene {
    PyObject_HEAD perp_context* context;
    perp_scene* scene;
    char* origin;
    bool from_file;   /* origin is a file, for exceptions */
    Py_ssize_t users; /* simulations of its model */
    core_log log;
} core_scene;
extern PyTypeObject* core_scene_type;
extern PyType_Spec core_scene_spec;
PyObject* core_load(PyObject* module, PyObject* args);
PyObject* core_parse(PyObject* module, PyObject* args);
/* The file of its errors, or NULL. */
const char* core_scene_file(const core_scene* scene);
/* NULL: not a scene; exception. */
core_scene* core_scene_of(PyObject* object);

/* ---- buffers (view.c) -----------------------------------------------------------------------------*/

extern PyTypeObject* core_view_type;
extern PyType_Spec core_view_spec;
/* A read-only buffer over memory of `owner`, which it keeps alive. rows < 0: one dimension.
 * pinned: the block to unpin in the end, or NULL. */
PyObject* core_view(PyObject* owner, const void* data, char format, Py_ssize_t rows,
                    Py_ssize_t columns, core_memory* memory, void* pinned);

/* ---- simulations (sim.c, sim_state.c) -------------------------------------------------------------*/

typedef struct core_sim {
    PyObject_HEAD core_scene* scene;
    perp_context* context;
    perp_sim* sim;
    core_memory memory;
    bool memory_open;
    core_log log;
    PyObject* callbacks;  /* a list, or NULL */
    PyThreadState* state; /* of the thread that is in a call without the GIL */
    unsigned long thread; /* which one */
    bool running;         /* a thread is in such a call */
    bool in_callback;     /* and that thread is in Python code at the moment */
    double polled;        /* when signals were last looked at */
    int32_t polls;
    PyObject* error[3]; /* raised in a callback: type, value, traceback */
} core_sim;
extern PyTypeObject* core_sim_type;
extern PyType_Spec core_sim_spec;
extern PyMethodDef core_sim_state_methods[];
/* The simulation, if it is there and free for this thread; else NULL and an exception. */
core_sim* core_sim_ready(PyObject* object);
/* Begins and ends a call without the GIL; begin is false with an exception. */
bool core_sim_begin(core_sim* s);
/* Raises what the call ended with: a callback's exception as it was, or that of the status.
 * False: an exception is set. */
bool core_sim_end(core_sim* s, perp_status status);
PyObject* core_contact_layout(PyObject* module, PyObject* unused);

/* ---- the rest -------------------------------------------------------------------------------------*/

extern PyTypeObject* core_recording_type;
extern PyType_Spec core_recording_spec;
PyObject* core_open_recording(PyObject* module, PyObject* args);
PyObject* core_verify(PyObject* module, PyObject* args);
PyObject* core_page(PyObject* module, PyObject* args);
PyObject* core_solve(PyObject* module, PyObject* args);
PyObject* core_solve_file(PyObject* module, PyObject* args);
PyObject* core_rollout(PyObject* module, PyObject* args);
PyObject* core_sweep(PyObject* module, PyObject* args);
PyObject* core_design(PyObject* module, PyObject* args);
PyObject* core_estimate(PyObject* module, PyObject* args);
PyObject* core_gradient(PyObject* module, PyObject* args);
PyObject* core_serve(PyObject* module, PyObject* args);
PyObject* core_methods(PyObject* module, PyObject* unused);
double core_clock(void); /* seconds, monotonic */

#endif
