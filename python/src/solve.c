/* python/src/solve.c - complementarity problems from buffers of numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* ---- the problem ----------------------------------------------------------------------------------*/

typedef struct problem {
    int32_t n;
    perp_sparse M;       /* by columns */
    const double* dense; /* by rows instead, or NULL */
    const double *q, *lower, *upper, *mu;
    int32_t rows; /* of a contact */
} problem;

typedef struct answer {
    double *z, *u;
    perp_report report;
    perp_contact_residual residual; /* friction problems */
} answer;

typedef struct request {
    const char* method;
    perp_option* option;
    int32_t option_count;
    perp_solve_options options;
    bool warm;
} request;

static perp_status solve_lcp(perp_context* context, const problem* p, const request* r, answer* a)
{
    perp_lcp_solver* solver = NULL;
    const perp_lcp lcp = {p->n, p->dense, p->q};
    perp_status status =
        perp_lcp_solver_create(context, r->method, r->option, r->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_lcp_solve(solver, &lcp, &r->options, r->warm, a->z, &a->report);
    }
    perp_lcp_solver_destroy(solver);
    return status;
}

static perp_status solve_mlcp(perp_context* context, const problem* p, const request* r, answer* a)
{
    perp_mlcp_solver* solver = NULL;
    const perp_mlcp mlcp = {p->M, p->q, p->lower, p->upper};
    perp_status status =
        perp_mlcp_solver_create(context, r->method, r->option, r->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_mlcp_solve(solver, &mlcp, &r->options, r->warm, a->z, &a->report);
    }
    perp_mlcp_solver_destroy(solver);
    return status;
}

/* ---- friction: the blocks of W --------------------------------------------------------------------*/

typedef struct blocks {
    perp_constraint* constraint;
    int32_t* start;  /* count + 1 */
    int32_t* column; /* of each block */
    size_t* at;
    double* value;
    int32_t* stamp; /* scratch: the last column in which a row of blocks was met */
    int32_t* place; /* scratch: the block of a row in the present column */
} blocks;

static void free_blocks(blocks* b)
{
    free(b->constraint);
    free(b->start);
    free(b->column);
    free(b->at);
    free(b->value);
    free(b->stamp);
    free(b->place);
}

/* Calls with every entry that is not 0, columns in order; the diagonal blocks count as filled. */
static void count_blocks(const problem* p, int32_t count, blocks* b)
{
    const int32_t d = p->rows;
    for (int32_t i = 0; i < count; ++i) {
        b->stamp[i] = -1;
    }
    for (int32_t column = 0; column < p->n; ++column) {
        const int32_t j = column / d;
        if (b->stamp[j] != j) {
            b->stamp[j] = j;
            b->start[j + 1] += 1;
        }
        for (int32_t k = p->M.start[column]; k < p->M.start[column + 1]; ++k) {
            const int32_t i = p->M.row[k] / d;
            if (b->stamp[i] != j) {
                b->stamp[i] = j;
                b->start[i + 1] += 1;
            }
        }
    }
    for (int32_t i = 0; i < count; ++i) {
        b->start[i + 1] += b->start[i];
    }
}

static void open_block(blocks* b, int32_t i, int32_t j, int32_t* filled)
{
    if (b->stamp[i] != j) {
        b->stamp[i] = j;
        b->place[i] = b->start[i] + filled[i]++;
        b->column[b->place[i]] = j;
    }
}

static void fill_blocks(const problem* p, int32_t count, blocks* b, int32_t* filled)
{
    const int32_t d = p->rows;
    for (int32_t i = 0; i < count; ++i) {
        b->stamp[i] = -1;
        filled[i] = 0;
    }
    for (int32_t i = 0; i < b->start[count]; ++i) {
        b->at[i] = (size_t)i * (size_t)(d * d);
    }
    for (int32_t column = 0; column < p->n; ++column) {
        const int32_t j = column / d;
        open_block(b, j, j, filled);
        for (int32_t k = p->M.start[column]; k < p->M.start[column + 1]; ++k) {
            const int32_t i = p->M.row[k] / d;
            open_block(b, i, j, filled);
            b->value[b->at[b->place[i]] + (size_t)((p->M.row[k] % d) * d + column % d)] =
                p->M.value[k];
        }
    }
}

static bool make_blocks(const problem* p, int32_t count, blocks* b)
{
    const size_t n = (size_t)count + 1;
    b->constraint = calloc(n, sizeof *b->constraint);
    b->start = calloc(n + 1, sizeof *b->start);
    b->stamp = calloc(n, sizeof *b->stamp);
    b->place = calloc(n, sizeof *b->place);
    int32_t* filled = calloc(n, sizeof *filled);
    bool good = b->constraint != NULL && b->start != NULL && b->stamp != NULL && b->place != NULL &&
                filled != NULL;
    if (good) {
        count_blocks(p, count, b);
        const size_t total = (size_t)b->start[count] + 1;
        b->column = calloc(total, sizeof *b->column);
        b->at = calloc(total, sizeof *b->at);
        b->value = calloc(total * (size_t)(p->rows * p->rows), sizeof *b->value);
        good = b->column != NULL && b->at != NULL && b->value != NULL;
    }
    if (good) {
        fill_blocks(p, count, b, filled);
    }
    for (int32_t i = 0; good && i < count; ++i) {
        b->constraint[i] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                             .block = {-1, -1},
                                             .row = i * p->rows,
                                             .rows = p->rows,
                                             .cone = PERP_CONE_QUADRATIC,
                                             .mu = p->mu[i]};
    }
    free(filled);
    return good;
}

static perp_status solve_friction(perp_context* context, const problem* p, const request* r,
                                  answer* a)
{
    blocks b = {0};
    const int32_t count = p->n / p->rows;
    perp_friction_solver* solver = NULL;
    if (!make_blocks(p, count, &b)) {
        free_blocks(&b);
        return PERP_ERROR_MEMORY;
    }
    const perp_friction_problem friction = {.constraint_count = count,
                                            .row_count = p->n,
                                            .W = {b.start, b.column, b.at, b.value},
                                            .q = p->q,
                                            .constraint = b.constraint};
    perp_status status =
        perp_friction_solver_create(context, r->method, r->option, r->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_friction_solve(solver, &friction, &r->options, r->warm, a->z, &a->residual,
                                     &a->report);
    }
    perp_friction_solver_destroy(solver);
    free_blocks(&b);
    return status;
}

/* ---- arguments ------------------------------------------------------------------------------------*/

/* A dict of names and numbers; the names belong to the dict. False: exception. */
static bool read_options(PyObject* dict, request* r)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    r->option = calloc((size_t)PyDict_Size(dict) + 1, sizeof *r->option);
    if (r->option == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char* name = core_text(key);
        const double number = PyFloat_AsDouble(value);
        if (name == NULL || PyErr_Occurred()) {
            return false;
        }
        r->option[r->option_count++] = (perp_option){name, number};
    }
    return true;
}

enum { START, ROW, VALUE, Q, LOWER, UPPER, MU, GUESS, BUFFERS };

typedef struct inputs {
    Py_buffer buffer[BUFFERS];
    bool held[BUFFERS];
    Py_ssize_t count[BUFFERS];
} inputs;

static bool take_inputs(PyObject* const* object, inputs* in)
{
    static const char* const name[] = {"M", "M", "M", "q", "lower", "upper", "mu", "start"};
    for (int i = 0; i < BUFFERS; ++i) {
        if (object[i] == Py_None) {
            continue;
        }
        in->held[i] = core_buffer(object[i], i == START || i == ROW ? 'i' : 'd', name[i],
                                  &in->buffer[i], &in->count[i]);
        if (!in->held[i]) {
            return false;
        }
    }
    return true;
}

static bool has(const inputs* in, int i, Py_ssize_t count)
{
    return in->held[i] && in->count[i] == count;
}

/* Sizes; what the numbers must satisfy is checked by the library. */
static bool check_sizes(const char* kind, const inputs* in, Py_ssize_t n, int rows)
{
    const bool dense = !in->held[START];
    bool good = n > 0 && n <= INT32_MAX && has(in, Q, n) && (!in->held[GUESS] || has(in, GUESS, n));
    if (dense) {
        good = good && has(in, VALUE, n * n) && strcmp(kind, "lcp") == 0;
    } else {
        good = good && has(in, START, n + 1) && in->held[ROW] && in->held[VALUE] &&
               in->count[ROW] == in->count[VALUE];
        const int32_t* start = good ? in->buffer[START].buf : NULL;
        good = good && start[0] == 0 && start[n] == in->count[ROW];
        for (Py_ssize_t i = 0; good && i < n; ++i) {
            good = start[i] <= start[i + 1];
        }
        const int32_t* row = good ? in->buffer[ROW].buf : NULL;
        for (Py_ssize_t i = 0; good && i < in->count[ROW]; ++i) {
            good = row[i] >= 0 && row[i] < n;
        }
    }
    if (strcmp(kind, "mlcp") == 0) {
        good = good && has(in, LOWER, n) && has(in, UPPER, n);
    }
    if (strcmp(kind, "friction") == 0) {
        good = good && (rows == 2 || rows == 3) && n % rows == 0 && has(in, MU, n / rows);
    }
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "the sizes of the arrays do not fit each other");
    }
    return good;
}

/* u = M z + q */
static void multiply(const problem* p, const double* z, double* u)
{
    memcpy(u, p->q, (size_t)p->n * sizeof *u);
    for (int32_t j = 0; j < p->n; ++j) {
        if (p->dense != NULL) {
            for (int32_t i = 0; i < p->n; ++i) {
                u[i] += p->dense[(size_t)i * (size_t)p->n + (size_t)j] * z[j];
            }
            continue;
        }
        for (int32_t k = p->M.start[j]; k < p->M.start[j + 1]; ++k) {
            u[p->M.row[k]] += p->M.value[k] * z[j];
        }
    }
}

static PyObject* report_dict(const answer* a)
{
    PyObject* dict = PyDict_New();
    const char* solver = a->report.solver != NULL ? a->report.solver : "";
    const bool good =
        dict != NULL && core_put_text(dict, "outcome", perp_outcome_name(a->report.outcome)) &&
        core_put_integer(dict, "iterations", a->report.iterations) &&
        core_put_number(dict, "residual", a->report.residual) &&
        core_put_number(dict, "seconds", a->report.seconds) &&
        core_put_text(dict, "solver", solver) && core_put_text(dict, "detail", a->report.detail);
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

/* Ctrl-C: signal handlers run in the main thread only, with the GIL. */
typedef struct watch {
    PyThreadState* released;
    double polled;
    bool raised;
} watch;

#define POLL_SECONDS 0.05

static bool poll_signals(void* user)
{
    watch* w = user;
    const double now = core_clock();
    if (w->raised || now - w->polled < POLL_SECONDS) {
        return w->raised;
    }
    w->polled = now;
    PyEval_RestoreThread(w->released);
    w->raised = PyErr_CheckSignals() != 0; /* the exception stays with this thread */
    w->released = PyEval_SaveThread();
    return w->raised;
}

static PyObject* run_solve(const char* kind, const problem* p, request* r, answer* a)
{
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return PyErr_NoMemory();
    }
    perp_status status;
    watch w = {.polled = core_clock()};
    r->options.cancel = poll_signals;
    r->options.user = &w;
    w.released = PyEval_SaveThread();
    status = strcmp(kind, "lcp") == 0    ? solve_lcp(context, p, r, a)
             : strcmp(kind, "mlcp") == 0 ? solve_mlcp(context, p, r, a)
                                         : solve_friction(context, p, r, a);
    if (status == PERP_OK) {
        multiply(p, a->z, a->u);
    }
    PyEval_RestoreThread(w.released);
    PyObject* report =
        w.raised ? NULL
        : status == PERP_OK ? report_dict(a) : core_raise(status, perp_context_error(context), NULL);
    perp_context_destroy(context);
    return report;
}

/* solve(kind, n, start, row, value, q, lower, upper, mu, guess, rows, method, options, tolerance,
 *       max_iter, time_limit): z, M z + q, report */
PyObject* core_solve(PyObject* module, PyObject* args)
{
    PyObject *object[BUFFERS], *options;
    const char* kind;
    Py_ssize_t n;
    int rows;
    inputs in = {0};
    request r = {.options = perp_solve_options_default()};
    (void)module;
    if (!PyArg_ParseTuple(args, "snOOOOOOOOisO!did", &kind, &n, &object[START], &object[ROW],
                          &object[VALUE], &object[Q], &object[LOWER], &object[UPPER], &object[MU],
                          &object[GUESS], &rows, &r.method, &PyDict_Type, &options,
                          &r.options.tolerance, &r.options.max_iter, &r.options.time_limit)) {
        return NULL;
    }
    PyObject *z = NULL, *u = NULL, *report = NULL;
    if (take_inputs(object, &in) && check_sizes(kind, &in, n, rows) && read_options(options, &r)) {
        const size_t bytes = (size_t)n * sizeof(double);
        z = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
        u = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
        if (z != NULL && u != NULL) {
            answer a = {.z = (double*)(void*)PyByteArray_AsString(z),
                        .u = (double*)(void*)PyByteArray_AsString(u)};
            const problem p = {.n = (int32_t)n,
                               .M = {(int32_t)n, (int32_t)n, in.buffer[START].buf,
                                     in.buffer[ROW].buf, in.buffer[VALUE].buf},
                               .dense = in.held[START] ? NULL : in.buffer[VALUE].buf,
                               .q = in.buffer[Q].buf,
                               .lower = in.buffer[LOWER].buf,
                               .upper = in.buffer[UPPER].buf,
                               .mu = in.buffer[MU].buf,
                               .rows = rows};
            r.warm = in.held[GUESS];
            memset(a.z, 0, bytes);
            if (r.warm) {
                memcpy(a.z, in.buffer[GUESS].buf, bytes);
            }
            report = run_solve(kind, &p, &r, &a);
        }
    }
    for (int i = 0; i < BUFFERS; ++i) {
        if (in.held[i]) {
            PyBuffer_Release(&in.buffer[i]);
        }
    }
    free(r.option);
    if (report == NULL) {
        Py_XDECREF(z);
        Py_XDECREF(u);
        return NULL;
    }
    return Py_BuildValue("NNN", z, u, report);
}

/* ---- problem files --------------------------------------------------------------------------------*/

/* The numbers that a file's problem has: unknowns z, of a contact problem v and then p. */
static size_t unknowns(const perp_problem_file* file)
{
    const perp_contact_problem* contact = perp_problem_file_contact(file);
    const perp_mlcp* mlcp = perp_problem_file_mlcp(file);
    const perp_friction_problem* friction = perp_problem_file_friction(file);
    return contact != NULL    ? (size_t)(contact->dof_count + contact->row_count)
           : friction != NULL ? (size_t)friction->row_count
           : mlcp != NULL     ? (size_t)mlcp->M.cols
                              : 0;
}

static perp_status solve_contact(perp_context* context, const perp_contact_problem* contact,
                                 const request* r, answer* a)
{
    perp_contact_solver* solver = NULL;
    perp_status status =
        perp_contact_solver_create(context, r->method, r->option, r->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_contact_solve(solver, contact, &r->options, false, a->z,
                                    a->z + contact->dof_count, &a->residual, &a->report);
    }
    perp_contact_solver_destroy(solver);
    return status;
}

static perp_status solve_read(perp_context* context, const perp_problem_file* file,
                              const request* r, answer* a)
{
    const perp_lcp* lcp = perp_problem_file_lcp(file);
    const perp_mlcp* mlcp = perp_problem_file_mlcp(file);
    const perp_friction_problem* friction = perp_problem_file_friction(file);
    if (perp_problem_file_contact(file) != NULL) {
        return solve_contact(context, perp_problem_file_contact(file), r, a);
    }
    if (friction != NULL) {
        perp_friction_solver* solver = NULL;
        perp_status status =
            perp_friction_solver_create(context, r->method, r->option, r->option_count, &solver);
        if (status == PERP_OK) {
            status = perp_friction_solve(solver, friction, &r->options, false, a->z, &a->residual,
                                         &a->report);
        }
        perp_friction_solver_destroy(solver);
        return status;
    }
    if (lcp != NULL) {
        const problem p = {.n = lcp->n, .dense = lcp->M, .q = lcp->q};
        return solve_lcp(context, &p, r, a);
    }
    const problem p = {
        .n = mlcp->M.cols, .M = mlcp->M, .q = mlcp->q, .lower = mlcp->lower, .upper = mlcp->upper};
    return solve_mlcp(context, &p, r, a);
}

/* solve_file(path, method, options, tolerance, max_iter, time_limit): kind, title, z, report */
PyObject* core_solve_file(PyObject* module, PyObject* args)
{
    PyObject *encoded = NULL, *options, *result = NULL;
    request r = {.options = perp_solve_options_default()};
    perp_context* context = NULL;
    perp_problem_file* file = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&sO!did", PyUnicode_FSConverter, &encoded, &r.method,
                          &PyDict_Type, &options, &r.options.tolerance, &r.options.max_iter,
                          &r.options.time_limit)) {
        return NULL;
    }
    if (!read_options(options, &r) || perp_context_create(NULL, &context) != PERP_OK) {
        free(r.option);
        Py_DECREF(encoded);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    const char* path = PyBytes_AsString(encoded);
    perp_status status;
    answer a = {0};
    watch w = {.polled = core_clock()};
    r.options.cancel = poll_signals;
    r.options.user = &w;
    w.released = PyEval_SaveThread();
    status = perp_problem_read(context, path, &file);
    if (status == PERP_OK) {
        a.z = calloc(unknowns(file) + 1, sizeof *a.z);
        status = a.z != NULL ? solve_read(context, file, &r, &a) : PERP_ERROR_MEMORY;
    }
    PyEval_RestoreThread(w.released);
    if (status == PERP_OK && !w.raised) {
        PyObject* report = report_dict(&a);
        PyObject* z = PyByteArray_FromStringAndSize((const char*)a.z,
                                                    (Py_ssize_t)(unknowns(file) * sizeof *a.z));
        result = report != NULL && z != NULL
                     ? Py_BuildValue("ssNN", perp_problem_kind_name(perp_problem_file_kind(file)),
                                     perp_problem_file_name(file), z, report)
                     : NULL;
    } else if (!w.raised) {
        (void)core_raise(status, perp_context_error(context), path);
    }
    free(a.z);
    free(r.option);
    perp_problem_file_destroy(file);
    perp_context_destroy(context);
    Py_DECREF(encoded);
    return result;
}

/* methods(): {name: (summary, forms)} */
PyObject* core_methods(PyObject* module, PyObject* unused)
{
    perp_context* context = NULL;
    perp_solver_info info;
    (void)module;
    (void)unused;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return PyErr_NoMemory();
    }
    PyObject* dict = PyDict_New();
    for (int32_t i = 0; dict != NULL && perp_solver_list(context, i, &info); ++i) {
        char forms[64];
        (void)snprintf(forms, sizeof forms, "%s%s%s%s%s", info.takes_lcp ? "lcp " : "",
                       info.takes_mlcp ? "mlcp " : "", info.takes_ncp ? "ncp " : "",
                       info.takes_friction ? "friction " : "", info.takes_contact ? "contact" : "");
        if (!core_put(dict, info.name, Py_BuildValue("ss", info.summary, forms))) {
            Py_CLEAR(dict);
        }
    }
    perp_context_destroy(context);
    return dict;
}
