/* python/src/rollout.c - many runs of a scene on threads.
 *
 * Each thread has a context, a scene and a runner of its own, and takes the next run that nobody
 * has begun. A run depends on its values alone, so that results have the same bits for any number of
 * threads. The GIL is released for the whole call; the caller's thread waits and looks at signals.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core.h"

enum { OUTCOME = 64, OBSERVED_MOST = 256 };

/* Samples of a run: rows of the observed quantities, at the start and after every step. */
typedef struct samples {
    double* value;
    size_t count, room;
} samples;

typedef struct rollout {
    /* in */
    const char *text, *origin;
    size_t length;
    const char** name; /* of the values */
    Py_ssize_t names;
    const double* value; /* runs x names */
    const char** string; /* likewise; NULL: a number */
    Py_ssize_t runs;
    const char** observe;
    Py_ssize_t observed;
    int64_t steps; /* limit; 0: none */
    /* out: of each run */
    int32_t measures, q_size, v_size;
    int32_t* status;
    char (*outcome)[OUTCOME];
    double *measure, *q, *v, *certificate, *energy_error, *seconds;
    int64_t* step_count;
    char** message; /* NULL: none */
    samples* sample;
    /* between threads */
    _Atomic Py_ssize_t next;
    atomic_bool cancelled;
    pthread_mutex_t lock;
    pthread_cond_t done;
    int active;
    char failure[512]; /* of a thread that could not begin */
} rollout;

typedef struct worker {
    rollout* all;
    perp_context* context;
    perp_scene* scene;
    perp_runner* runner;
    Py_ssize_t run;
    perp_quantity quantity[OBSERVED_MOST];
    int32_t quantities;
} worker;

/* ---- one run --------------------------------------------------------------------------------------*/

static bool is_cancelled(void* user)
{
    return atomic_load_explicit(&((worker*)user)->all->cancelled, memory_order_relaxed);
}

static perp_status take_sample(worker* w, perp_sim* sim)
{
    samples* s = &w->all->sample[w->run];
    const size_t width = (size_t)w->quantities;
    if (s->count + width > s->room) {
        const size_t room = 2 * s->room + 64 * width;
        double* value = realloc(s->value, room * sizeof *value);
        if (value == NULL) {
            return PERP_ERROR_MEMORY;
        }
        s->value = value;
        s->room = room;
    }
    for (int32_t i = 0; i < w->quantities; ++i) {
        s->value[s->count++] = perp_sim_quantity(sim, &w->quantity[i]);
    }
    return PERP_OK;
}

/* Before each step, so that the first sample is the start; the last one comes from finish_run. */
static perp_status sample_step(void* user, perp_sim* sim)
{
    return is_cancelled(user) ? PERP_ERROR_CANCELLED : take_sample((worker*)user, sim);
}

static perp_status find_quantities(worker* w, const perp_model* model)
{
    w->quantities = 0;
    for (Py_ssize_t i = 0; i < w->all->observed; ++i) {
        int32_t count = 0;
        const int32_t room = OBSERVED_MOST - w->quantities;
        const perp_status status = perp_quantity_find(w->context, model, w->all->observe[i],
                                                      w->quantity + w->quantities, room, &count);
        if (status != PERP_OK) {
            return status;
        }
        w->quantities += count < room ? count : room;
    }
    return PERP_OK;
}

static perp_status prepare_run(void* user, perp_sim* sim)
{
    worker* w = user;
    perp_sim_on_cancel(sim, is_cancelled, w);
    const perp_status status = find_quantities(w, perp_sim_model(sim));
    if (status == PERP_OK && w->quantities > 0) {
        perp_sim_on_step(sim, sample_step, w);
    }
    return status;
}

/* The last state, while the simulation is there. */
static const char* finish_run(void* user, perp_sim* sim)
{
    worker* w = user;
    rollout* all = w->all;
    if (w->quantities > 0) {
        (void)take_sample(w, sim);
    }
    if (perp_sim_q_size(sim) == all->q_size && perp_sim_v_size(sim) == all->v_size) {
        memcpy(all->q + w->run * all->q_size, perp_sim_q(sim),
               (size_t)all->q_size * sizeof(double));
        memcpy(all->v + w->run * all->v_size, perp_sim_v(sim),
               (size_t)all->v_size * sizeof(double));
    }
    return NULL;
}

static perp_status set_values(worker* w, Py_ssize_t run)
{
    const rollout* all = w->all;
    perp_status status = PERP_OK;
    for (Py_ssize_t i = 0; status == PERP_OK && i < all->names; ++i) {
        const Py_ssize_t at = run * all->names + i;
        status = all->string != NULL && all->string[at] != NULL
                     ? perp_scene_set_string(w->scene, all->name[i], all->string[at])
                     : perp_scene_set_number(w->scene, all->name[i], all->value[at]);
    }
    return status;
}

static void keep_row(rollout* all, Py_ssize_t run, const perp_run_row* row)
{
    all->status[run] = (int32_t)row->status;
    (void)snprintf(all->outcome[run], OUTCOME, "%s", row->outcome);
    for (int32_t i = 0; i < all->measures; ++i) {
        all->measure[run * all->measures + i] = i < row->measure_count ? row->measure[i] : NAN;
    }
    all->certificate[run] = row->certificate;
    all->energy_error[run] = row->energy_error;
    all->step_count[run] = row->steps;
    all->seconds[run] = row->seconds;
    all->message[run] = row->message[0] != '\0' ? strdup(row->message) : NULL;
}

static void do_run(worker* w, Py_ssize_t run)
{
    perp_run_options options = perp_run_options_default();
    options.steps = w->all->steps;
    options.prepare = prepare_run;
    options.finish = finish_run;
    options.user = w;
    perp_run_row row = {.id = run + 1, .recording = ""};
    w->run = run;
    w->quantities = 0;
    if (set_values(w, run) != PERP_OK) {
        row = (perp_run_row){.status = PERP_RUN_FAILED,
                             .outcome = "",
                             .message = perp_context_error(w->context),
                             .certificate = NAN,
                             .energy_error = NAN};
    } else if (perp_runner_run(w->runner, w->scene, &options, &row) != PERP_OK) {
        row.status = PERP_RUN_FAILED;
        row.outcome = "";
        row.message = perp_context_error(w->context);
    }
    keep_row(w->all, run, &row);
}

/* ---- threads --------------------------------------------------------------------------------------*/

static perp_status open_worker(worker* w)
{
    rollout* all = w->all;
    perp_status status = perp_context_create(NULL, &w->context);
    if (status == PERP_OK) {
        status = perp_context_set_threads(w->context, 1); /* the runs use the processors */
    }
    if (status == PERP_OK) {
        status =
            perp_scene_parse(w->context, all->text, all->length, all->origin, NULL, 0, &w->scene);
    }
    return status == PERP_OK ? perp_runner_create(w->context, &w->runner) : status;
}

static void close_worker(worker* w)
{
    perp_runner_destroy(w->runner);
    perp_scene_destroy(w->scene);
    perp_context_destroy(w->context);
    free(w);
}

static void* work(void* user)
{
    worker* w = user;
    rollout* all = w->all;
    const perp_status status = open_worker(w);
    while (status == PERP_OK && !is_cancelled(w)) {
        const Py_ssize_t run = atomic_fetch_add(&all->next, 1);
        if (run >= all->runs) {
            break;
        }
        do_run(w, run);
    }
    (void)pthread_mutex_lock(&all->lock);
    if (status != PERP_OK) {
        (void)snprintf(all->failure, sizeof all->failure, "%s",
                       w->context != NULL ? perp_context_error(w->context) : "out of memory");
        atomic_store(&all->cancelled, true);
    }
    all->active -= 1;
    (void)pthread_cond_signal(&all->done);
    (void)pthread_mutex_unlock(&all->lock);
    close_worker(w);
    return NULL;
}

/* Waits until no thread is active, with a look at signals now and then. */
static void wait_for_all(rollout* all)
{
    (void)pthread_mutex_lock(&all->lock);
    while (all->active > 0) {
        struct timespec limit;
        (void)clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_nsec += 50000000;
        limit.tv_sec += limit.tv_nsec / 1000000000;
        limit.tv_nsec %= 1000000000;
        PyThreadState* state = PyEval_SaveThread();
        const int error = pthread_cond_timedwait(&all->done, &all->lock, &limit);
        (void)pthread_mutex_unlock(&all->lock); /* never wait for the GIL with the lock */
        PyEval_RestoreThread(state);
        if (error == ETIMEDOUT && !atomic_load(&all->cancelled) && PyErr_CheckSignals() != 0) {
            atomic_store(&all->cancelled, true);
        }
        (void)pthread_mutex_lock(&all->lock);
    }
    (void)pthread_mutex_unlock(&all->lock);
}

/* False: an exception is set. */
static bool run_threads(rollout* all, int jobs)
{
    pthread_t* thread = calloc((size_t)jobs, sizeof *thread);
    int started = 0;
    if (thread == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    (void)pthread_mutex_init(&all->lock, NULL);
    (void)pthread_cond_init(&all->done, NULL);
    all->active = jobs;
    for (; started < jobs; ++started) {
        worker* w = calloc(1, sizeof *w);
        if (w != NULL) {
            w->all = all;
        }
        if (w == NULL || pthread_create(&thread[started], NULL, work, w) != 0) {
            free(w);
            break;
        }
    }
    (void)pthread_mutex_lock(&all->lock);
    all->active -= jobs - started;
    (void)pthread_mutex_unlock(&all->lock);
    wait_for_all(all);
    for (int i = 0; i < started; ++i) {
        (void)pthread_join(thread[i], NULL);
    }
    (void)pthread_cond_destroy(&all->done);
    (void)pthread_mutex_destroy(&all->lock);
    free(thread);
    if (!PyErr_Occurred() && started == 0) {
        PyErr_SetString(PyExc_RuntimeError, "no thread could be started");
    } else if (!PyErr_Occurred() && all->failure[0] != '\0') {
        (void)core_raise(PERP_ERROR_INPUT, all->failure, NULL);
    }
    return !PyErr_Occurred();
}

/* ---- arguments and results ------------------------------------------------------------------------*/

/* Strings of a list (None: NULL), which they belong to. NULL: exception. */
static const char** read_texts(PyObject* list, Py_ssize_t* count)
{
    *count = PyList_Size(list);
    const char** text = *count >= 0 ? calloc((size_t)*count + 1, sizeof *text) : NULL;
    if (text == NULL) {
        return PyErr_Occurred() ? NULL : (const char**)PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < *count; ++i) {
        PyObject* item = PyList_GetItem(list, i);
        text[i] = item != Py_None ? core_text(item) : NULL;
        if (PyErr_Occurred()) {
            free(text);
            return NULL;
        }
    }
    return text;
}

/* Room for results; the arrays belong to `results`. False: exception. */
static bool open_results(rollout* all, PyObject* results)
{
    const struct {
        const char* name;
        void** at;
        size_t size;
    } array[] = {
        {"status", (void**)&all->status, sizeof *all->status},
        {"outcome", (void**)&all->outcome, sizeof *all->outcome},
        {"measures", (void**)&all->measure, (size_t)all->measures * sizeof(double)},
        {"q", (void**)&all->q, (size_t)all->q_size * sizeof(double)},
        {"v", (void**)&all->v, (size_t)all->v_size * sizeof(double)},
        {"certificate", (void**)&all->certificate, sizeof(double)},
        {"energy_error", (void**)&all->energy_error, sizeof(double)},
        {"seconds", (void**)&all->seconds, sizeof(double)},
        {"steps", (void**)&all->step_count, sizeof *all->step_count},
    };
    for (size_t i = 0; i < sizeof array / sizeof array[0]; ++i) {
        const Py_ssize_t size = (Py_ssize_t)array[i].size * all->runs;
        PyObject* bytes = PyByteArray_FromStringAndSize(NULL, size);
        if (bytes == NULL || PyDict_SetItemString(results, array[i].name, bytes) != 0) {
            Py_XDECREF(bytes);
            return false;
        }
        Py_DECREF(bytes); /* the dict has it */
        *array[i].at = PyByteArray_AsString(bytes);
        memset(*array[i].at, 0, (size_t)size);
    }
    for (Py_ssize_t i = 0; i < all->runs * all->q_size; ++i) {
        all->q[i] = NAN;
    }
    for (Py_ssize_t i = 0; i < all->runs * all->v_size; ++i) {
        all->v[i] = NAN;
    }
    all->message = calloc((size_t)all->runs + 1, sizeof *all->message);
    all->sample = calloc((size_t)all->runs + 1, sizeof *all->sample);
    if (all->message == NULL || all->sample == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    return true;
}

static bool add_lists(const rollout* all, PyObject* results)
{
    PyObject *messages = PyList_New(0), *observed = PyList_New(0);
    bool good = messages != NULL && observed != NULL;
    for (Py_ssize_t i = 0; good && i < all->runs; ++i) {
        const char* text = all->message[i] != NULL ? all->message[i] : "";
        const samples* s = &all->sample[i];
        PyObject* message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        PyObject* bytes = PyByteArray_FromStringAndSize((const char*)s->value,
                                                        (Py_ssize_t)(s->count * sizeof(double)));
        good = message != NULL && bytes != NULL && PyList_Append(messages, message) == 0 &&
               PyList_Append(observed, bytes) == 0;
        Py_XDECREF(message);
        Py_XDECREF(bytes);
    }
    good = good && PyDict_SetItemString(results, "message", messages) == 0 &&
           PyDict_SetItemString(results, "observed", observed) == 0;
    Py_XDECREF(messages);
    Py_XDECREF(observed);
    return good;
}

static void free_results(rollout* all)
{
    for (Py_ssize_t i = 0; all->message != NULL && i < all->runs; ++i) {
        free(all->message[i]);
    }
    for (Py_ssize_t i = 0; all->sample != NULL && i < all->runs; ++i) {
        free(all->sample[i].value);
    }
    free(all->message);
    free(all->sample);
}

static PyObject* do_rollout(rollout* all, int jobs)
{
    PyObject* results = PyDict_New();
    if (results != NULL &&
        !(open_results(all, results) && run_threads(all, jobs) && add_lists(all, results))) {
        Py_CLEAR(results);
    }
    free_results(all);
    return results;
}

/* rollout(scene, names, values, strings or None, runs, observe, steps, jobs): a dict of buffers */
PyObject* core_rollout(PyObject* module, PyObject* args)
{
    PyObject *object, *names, *values, *strings, *observe, *result = NULL;
    Py_ssize_t runs, count = 0, texts = 0;
    long long steps;
    int jobs;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!OOnO!Li", &object, &PyList_Type, &names, &values, &strings,
                          &runs, &PyList_Type, &observe, &steps, &jobs)) {
        return NULL;
    }
    core_scene* scene = core_scene_of(object);
    Py_buffer buffer;
    if (scene == NULL || !core_buffer(values, 'd', "values", &buffer, &count)) {
        return NULL;
    }
    const perp_model* model = perp_scene_model(scene->scene);
    const int32_t bodies = perp_model_body_count(model);
    const bool planar = perp_model_dimension(model) == 2;
    rollout all = {.text = strdup(perp_scene_source(scene->scene)),
                   .origin = scene->origin,
                   .value = buffer.buf,
                   .runs = runs,
                   .steps = steps,
                   .measures = perp_sim_def_from_scene(scene->scene).measure_count,
                   .q_size = (planar ? 3 : 7) * bodies,
                   .v_size = (planar ? 3 : 6) * bodies};
    all.length = all.text != NULL ? strlen(all.text) : 0;
    all.name = read_texts(names, &all.names);
    all.observe = all.name != NULL ? read_texts(observe, &all.observed) : NULL;
    if (all.observe != NULL && strings != Py_None) {
        all.string = read_texts(strings, &texts);
    }
    if (all.text == NULL && !PyErr_Occurred()) {
        (void)PyErr_NoMemory();
    }
    if (!PyErr_Occurred()) {
        if (runs < 0 || jobs < 1 || count != runs * all.names ||
            (all.string != NULL && texts != count)) {
            PyErr_SetString(PyExc_ValueError, "sizes do not fit each other");
        } else {
            result = do_rollout(&all, jobs < runs ? jobs : runs > 0 ? (int)runs : 1);
        }
    }
    free((void*)(uintptr_t)all.text);
    free(all.name);
    free(all.observe);
    free(all.string);
    PyBuffer_Release(&buffer);
    return result;
}
