/* bench/siconos.c - `auto` against Siconos: the time of each to e <= 1e-6 on the same problems.
 *
 *     siconos [--json FILE] [--corpus DIR] [--time-limit SECONDS] [--problem TEXT]
 *
 * Built only where Siconos's numerics library is found. Takes the corpus problems of kinds lcp, mlcp,
 * blcp, fc2d and fc3d (of gfc2d and gfc3d, perp eliminates the velocities while it reads the file, so
 * that there is no fair time to compare); --problem keeps those whose name contains TEXT. Common
 * measure: the plain residual e of the problem collections. Both are given the tolerances 1e-6,
 * 1e-8 and 1e-10 in their own measure; the first answer with e <= 1e-6 counts. Rounds alternate
 * between all methods, the best wall time counts. Not timed: reading, building the matrix in the
 * form that is fastest for the method, its options. Every run is a child process of its own, with a
 * time limit: a crash costs one run only.
 *
 * ratio = time of auto / time of the fastest Siconos method that succeeds; below 1, auto is faster.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/table.h"
#include "perp/solve.h"

#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <LinearComplementarityProblem.h>
#include <MLCP_Solvers.h>
#include <MixedLinearComplementarityProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <RelayProblem.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>
#include <lcp_cst.h>
#include <mlcp_cst.h>
#include <relay_cst.h>

enum {
    KINDS = 5,
    ROUNDS = 3,
    REPEATS = 40,
    METHODS_MAX = 32,
    PROBLEMS_MAX = 1024,
    DENSE_MAX = 5000
};
#define REPEAT_SECONDS 0.02 /* short solves are repeated for this long within a round */
#define ENOUGH 1e-6         /* e of an answer that counts */
#define HOPELESS 4.0 /* later rounds leave out methods this many times slower than the best */

static const double asked[] = {1e-6, 1e-8, 1e-10};

typedef enum storage { DENSE, BLOCKS, TRIPLETS } storage;

typedef struct method {
    const char* name;
    perp_problem_kind kind;
    int id; /* Siconos's; 0: auto */
    int local;
    storage store;
    int32_t largest; /* rows; 0: any, dense ones up to DENSE_MAX */
} method;

/* The likely ones first: once one has succeeded the others get less time. Those of
 * corpus/baseline/siconos-4.4.0.csv that are the fastest on some problem, and the next best. */
static const method methods[] = {
    {"LEMKE", PERP_PROBLEM_LCP, SICONOS_LCP_LEMKE, 0, DENSE, 0},
    {"PIVOT", PERP_PROBLEM_LCP, SICONOS_LCP_PIVOT, 0, DENSE, 0},
    {"NEWTON_FB_FBLSA", PERP_PROBLEM_LCP, SICONOS_LCP_NEWTON_FB_FBLSA, 0, DENSE, 0},
    {"NEWTON_MIN_FBLSA", PERP_PROBLEM_LCP, SICONOS_LCP_NEWTON_MIN_FBLSA, 0, DENSE, 0},
    {"AVI_CAOFERRIS", PERP_PROBLEM_LCP, SICONOS_LCP_AVI_CAOFERRIS, 0, DENSE, 0},
    {"PGS", PERP_PROBLEM_LCP, SICONOS_LCP_PGS, 0, DENSE, 0},
    {"RPGS", PERP_PROBLEM_LCP, SICONOS_LCP_RPGS, 0, DENSE, 0},
    {"CPG", PERP_PROBLEM_LCP, SICONOS_LCP_CPG, 0, DENSE, 0},
    {"NEWTON_MIN", PERP_PROBLEM_LCP, SICONOS_LCP_NEWTONMIN, 0, DENSE, 0},
    {"ENUM", PERP_PROBLEM_LCP, SICONOS_LCP_ENUM, 0, DENSE, 12},
    {"LCP_LEMKE", PERP_PROBLEM_MLCP, SICONOS_MLCP_LCP_LEMKE, 0, DENSE, 0},
    {"PGS", PERP_PROBLEM_MLCP, SICONOS_MLCP_PGS, 0, DENSE, 0},
    {"ENUM", PERP_PROBLEM_MLCP, SICONOS_MLCP_ENUM, 0, DENSE, 32},
    {"PATH_ENUM", PERP_PROBLEM_MLCP, SICONOS_MLCP_PATH_ENUM, 0, DENSE, 32},
    {"DIRECT_ENUM", PERP_PROBLEM_MLCP, SICONOS_MLCP_DIRECT_ENUM, 0, DENSE, 32},
    {"FB", PERP_PROBLEM_MLCP, SICONOS_MLCP_FB, 0, DENSE, 0},
    {"DIRECT_FB", PERP_PROBLEM_MLCP, SICONOS_MLCP_DIRECT_FB, 0, DENSE, 0},
    {"AVI_CAOFERRIS", PERP_PROBLEM_BLCP, SICONOS_RELAY_AVI_CAOFERRIS, 0, DENSE, 0},
    {"LEMKE", PERP_PROBLEM_BLCP, SICONOS_RELAY_LEMKE, 0, DENSE, 0},
    {"PGS", PERP_PROBLEM_BLCP, SICONOS_RELAY_PGS, 0, DENSE, 0},
    {"ENUM", PERP_PROBLEM_BLCP, SICONOS_RELAY_ENUM, 0, DENSE, 12},
    {"NSGS", PERP_PROBLEM_FC2D, SICONOS_FRICTION_2D_NSGS, 0, DENSE, 0},
    {"NSGS-blocks", PERP_PROBLEM_FC2D, SICONOS_FRICTION_2D_NSGS, 0, BLOCKS, 0},
    {"CPG", PERP_PROBLEM_FC2D, SICONOS_FRICTION_2D_CPG, 0, DENSE, 0},
    {"LEMKE", PERP_PROBLEM_FC2D, SICONOS_FRICTION_2D_LEMKE, 0, DENSE, 0},
    {"ENUM", PERP_PROBLEM_FC2D, SICONOS_FRICTION_2D_ENUM, 0, DENSE, 8},
    {"EG", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_EG, 0, BLOCKS, 0},
    {"NSN_AC", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_NSN_AC, 0, TRIPLETS, 0},
    {"NSN_AC-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_NSN_AC, 0, DENSE, 0},
    {"NSGS", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_NSGS, 0, BLOCKS, 0},
    {"NSGS-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_NSGS, 0, DENSE, 0},
    {"NSGS_quartic", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_NSGS,
     SICONOS_FRICTION_3D_ONECONTACT_QUARTIC, BLOCKS, 0},
    {"NSN_FB-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_NSN_FB, 0, DENSE, 0},
    {"EG-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_EG, 0, DENSE, 0},
    {"FPP-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_FPP, 0, DENSE, 0},
    {"VI_EG-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_VI_EG, 0, DENSE, 0},
    {"DSFP-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_DSFP, 0, DENSE, 0},
    {"ADMM", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_ADMM, 0, TRIPLETS, 0},
    {"PROX-dense", PERP_PROBLEM_FC3D, SICONOS_FRICTION_3D_PROX, 0, DENSE, 0},
};

typedef struct problem {
    perp_context* context;
    perp_problem_file* file;
    const char* name;
    perp_problem_kind kind;
    int32_t n;
    const perp_lcp* lcp;
    const perp_mlcp* mlcp; /* kinds mlcp and blcp */
    const perp_friction_problem* friction;
} problem;

/* The result of a child process; also the best of several. */
typedef struct result {
    double seconds, e, scaled, tolerance;
    bool solved;
} result;

typedef struct candidate {
    const method* method; /* NULL: auto */
    result best;
} candidate;

typedef struct settings {
    const char *json, *corpus, *only;
    double time_limit;
} settings;

static void* get_memory(size_t count, size_t size)
{
    void* p = calloc(count > 0 ? count : 1, size);
    if (p == NULL) {
        fprintf(stderr, "siconos: out of memory\n");
        exit(3);
    }
    return p;
}

static void* get_copy(const void* from, size_t count, size_t size)
{
    void* p = get_memory(count, size);
    if (count > 0) {
        memcpy(p, from, count * size);
    }
    return p;
}

/* ---- Siconos -----------------------------------------------------------------------------------------*/

static NumericsMatrix* lcp_matrix(const perp_lcp* P)
{
    NumericsMatrix* A = NM_create(NM_DENSE, P->n, P->n);
    for (size_t i = 0, n = (size_t)P->n; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
            A->matrix0[j * n + i] = P->M[i * n + j];
        }
    }
    return A;
}

static NumericsMatrix* mlcp_matrix(const perp_mlcp* P)
{
    const size_t n = (size_t)P->M.cols;
    NumericsMatrix* A = NM_create(NM_DENSE, P->M.rows, P->M.cols);
    for (size_t j = 0; j < n; ++j) {
        for (int32_t e = P->M.start[j]; e < P->M.start[j + 1]; ++e) {
            A->matrix0[j * n + (size_t)P->M.row[e]] = P->M.value[e];
        }
    }
    return A;
}

static NumericsMatrix* block_matrix(const perp_friction_problem* P, int32_t dim)
{
    const size_t n = (size_t)P->constraint_count, blocks = (size_t)P->W.start[n];
    SparseBlockStructuredMatrix* S = SBM_new();
    S->nbblocks = (unsigned)blocks;
    S->blocknumber0 = S->blocknumber1 = (unsigned)n;
    S->filled1 = n + 1;
    S->filled2 = blocks;
    S->block = get_memory(blocks, sizeof *S->block);
    S->blocksize0 = get_memory(n, sizeof *S->blocksize0);
    S->blocksize1 = get_memory(n, sizeof *S->blocksize1);
    S->index1_data = get_memory(n + 1, sizeof *S->index1_data);
    S->index2_data = get_memory(blocks, sizeof *S->index2_data);
    for (size_t i = 0; i < n; ++i) {
        S->blocksize0[i] = S->blocksize1[i] = (unsigned)dim * (unsigned)(i + 1);
        S->index1_data[i + 1] = (size_t)P->W.start[i + 1];
    }
    for (size_t b = 0; b < blocks; ++b) {
        S->index2_data[b] = (size_t)P->W.column[b];
        S->block[b] = get_memory((size_t)(dim * dim), sizeof **S->block);
        for (int32_t k = 0; k < dim; ++k) {
            for (int32_t l = 0; l < dim; ++l) {
                S->block[b][l * dim + k] = P->W.value[P->W.at[b] + (size_t)(k * dim + l)];
            }
        }
    }
    return NM_new_SBM(P->row_count, P->row_count, S);
}

static NumericsMatrix* friction_matrix(const perp_friction_problem* P, int32_t dim, storage store)
{
    if (store == BLOCKS) {
        return block_matrix(P, dim);
    }
    NumericsMatrix* A =
        NM_create(store == DENSE ? NM_DENSE : NM_SPARSE, P->row_count, P->row_count);
    if (store == TRIPLETS) {
        NM_triplet_alloc(A, (CS_INT)P->W.start[P->constraint_count] * dim * dim);
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        for (int32_t b = P->W.start[i]; b < P->W.start[i + 1]; ++b) {
            const double* W = P->W.value + P->W.at[b];
            for (int32_t k = 0; k < dim * dim; ++k) {
                NM_entry(A, dim * i + k / dim, dim * P->W.column[b] + k % dim, W[k]);
            }
        }
    }
    return A;
}

static SolverOptions* siconos_options(const method* m, double tolerance)
{
    SolverOptions* options = solver_options_create(m->id);
    if (m->local != 0) {
        solver_options_update_internal(options, 0, m->local);
    }
    if (m->kind == PERP_PROBLEM_LCP && m->id == SICONOS_LCP_PIVOT) {
        options->iparam[SICONOS_LCP_IPARAM_PIVOTING_METHOD_TYPE] = SICONOS_LCP_PIVOT_LEMKE;
    }
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 1000000;
    options->dparam[SICONOS_DPARAM_TOL] = tolerance;
    return options;
}

static double time_lcp(const problem* p, NumericsMatrix* A, double* q, SolverOptions* options,
                       double* z, double* w)
{
    LinearComplementarityProblem lcp = {.size = p->n, .M = A, .q = q};
    const double start = table_seconds();
    (void)linearComplementarity_driver(&lcp, z, w, options);
    return table_seconds() - start;
}

/* Rows from..to, columns first..last of the dense A, by columns. */
static double* cut_matrix(const NumericsMatrix* A, int from, int to, int first, int last)
{
    const size_t height = (size_t)(to - from);
    double* part = get_memory(height * (size_t)(last - first), sizeof *part);
    for (int j = first; j < last; ++j) {
        for (int i = from; i < to; ++i) {
            part[(size_t)(j - first) * height + (size_t)(i - from)] =
                A->matrix0[(size_t)j * (size_t)A->size0 + (size_t)i];
        }
    }
    return part;
}

static double time_mlcp(const problem* p, NumericsMatrix* A, double* q, SolverOptions* options,
                        double* z, double* w)
{
    int equal = 0; /* the free unknowns come first */
    while (equal < p->n && isinf(p->mlcp->lower[equal])) {
        ++equal;
    }
    int rows[3] = {0, equal, p->n}, comp[2] = {0, 1};
    int none = equal == 0 ? 1 : 0; /* a block without rows is left out */
    /* Both storages: the conversion from the first to the second writes beyond its arrays. */
    MixedLinearComplementarityProblem mlcp = {.isStorageType1 = 1,
                                              .isStorageType2 = 1,
                                              .A = cut_matrix(A, 0, equal, 0, equal),
                                              .B = cut_matrix(A, equal, p->n, equal, p->n),
                                              .C = cut_matrix(A, 0, equal, equal, p->n),
                                              .D = cut_matrix(A, equal, p->n, 0, equal),
                                              .a = q,
                                              .b = q + equal,
                                              .n = equal,
                                              .m = p->n - equal,
                                              .blocksRows = rows + none,
                                              .blocksIsComp = comp + none,
                                              .M = A,
                                              .q = q};
    mlcp_driver_init(&mlcp, options);
    const double start = table_seconds();
    (void)mlcp_driver(&mlcp, z, w, options);
    const double stop = table_seconds();
    mlcp_driver_reset(&mlcp, options);
    free(mlcp.A);
    free(mlcp.B);
    free(mlcp.C);
    free(mlcp.D);
    return stop - start;
}

static double time_relay(const problem* p, NumericsMatrix* A, double* q, SolverOptions* options,
                         double* z, double* w)
{
    double* lower = get_copy(p->mlcp->lower, (size_t)p->n, sizeof *lower);
    double* upper = get_copy(p->mlcp->upper, (size_t)p->n, sizeof *upper);
    RelayProblem relay = {.size = p->n, .M = A, .q = q, .lb = lower, .ub = upper};
    const double start = table_seconds();
    (void)relay_driver(&relay, z, w, options);
    const double stop = table_seconds();
    free(lower);
    free(upper);
    return stop - start;
}

static double time_friction(const problem* p, NumericsMatrix* A, double* q, SolverOptions* options,
                            double* z, double* w)
{
    const int32_t dim = p->kind == PERP_PROBLEM_FC2D ? 2 : 3;
    double* mu = get_memory((size_t)p->friction->constraint_count, sizeof *mu);
    for (int32_t i = 0; i < p->friction->constraint_count; ++i) {
        mu[i] = p->friction->constraint[i].mu;
    }
    FrictionContactProblem fc = {.dimension = dim,
                                 .numberOfContacts = p->friction->constraint_count,
                                 .M = A,
                                 .q = q,
                                 .mu = mu};
    const double start = table_seconds();
    (void)(dim == 2 ? fc2d_driver(&fc, z, w, options) : fc3d_driver(&fc, z, w, options));
    const double stop = table_seconds();
    free(mu);
    return stop - start;
}

/* One solve from zero, everything built anew; returns the seconds of the driver alone. */
static double siconos_once(const method* m, const problem* p, double tolerance, double* z)
{
    SolverOptions* options = siconos_options(m, tolerance);
    double* w = get_memory((size_t)p->n, sizeof *w);
    const int32_t dim = m->kind == PERP_PROBLEM_FC2D ? 2 : 3;
    NumericsMatrix* A = p->lcp != NULL    ? lcp_matrix(p->lcp)
                        : p->mlcp != NULL ? mlcp_matrix(p->mlcp)
                                          : friction_matrix(p->friction, dim, m->store);
    const double* from = p->lcp != NULL ? p->lcp->q : p->mlcp != NULL ? p->mlcp->q : p->friction->q;
    double* q = get_copy(from, (size_t)p->n, sizeof *q);
    memset(z, 0, (size_t)p->n * sizeof *z);
    const double took = (m->kind == PERP_PROBLEM_LCP    ? time_lcp
                         : m->kind == PERP_PROBLEM_MLCP ? time_mlcp
                         : m->kind == PERP_PROBLEM_BLCP ? time_relay
                                                        : time_friction)(p, A, q, options, z, w);
    NM_clear(A);
    free(A);
    free(q);
    free(w);
    solver_options_delete(options);
    free(options);
    return took;
}

/* ---- perp --------------------------------------------------------------------------------------------*/

typedef struct auto_solver {
    perp_lcp_solver* lcp;
    perp_mlcp_solver* mlcp;
    perp_friction_solver* friction;
} auto_solver;

static bool auto_create(const problem* p, auto_solver* s)
{
    perp_context* c = p->context;
    return (p->lcp != NULL ? perp_lcp_solver_create(c, "auto", NULL, 0, &s->lcp)
            : p->mlcp != NULL
                ? perp_mlcp_solver_create(c, "auto", NULL, 0, &s->mlcp)
                : perp_friction_solver_create(c, "auto", NULL, 0, &s->friction)) == PERP_OK;
}

static double auto_once(auto_solver* s, const problem* p, double tolerance, double* z)
{
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    perp_report report;
    memset(z, 0, (size_t)p->n * sizeof *z);
    const double start = table_seconds();
    const perp_status status =
        s->lcp != NULL ? perp_lcp_solve(s->lcp, p->lcp, &options, false, z, &report)
        : s->mlcp != NULL
            ? perp_mlcp_solve(s->mlcp, p->mlcp, &options, false, z, &report)
            : perp_friction_solve(s->friction, p->friction, &options, false, z, NULL, &report);
    return status == PERP_OK ? table_seconds() - start : INFINITY;
}

/* ---- one run in a child ------------------------------------------------------------------------------*/

static double run_once(const method* m, auto_solver* s, const problem* p, double tolerance,
                       double* z)
{
    return m != NULL ? siconos_once(m, p, tolerance, z) : auto_once(s, p, tolerance, z);
}

static result measure(const method* m, const problem* p)
{
    result r = {.seconds = INFINITY, .e = INFINITY, .scaled = INFINITY};
    double* z = get_memory((size_t)p->n, sizeof *z);
    auto_solver s = {0};
    if (m == NULL && !auto_create(p, &s)) {
        return r;
    }
    for (size_t k = 0; k < sizeof asked / sizeof *asked && !r.solved; ++k) {
        perp_plain_residual plain;
        r.tolerance = asked[k];
        r.seconds = run_once(m, &s, p, r.tolerance, z);
        if (isfinite(r.seconds) &&
            perp_problem_file_residual(p->file, z, NULL, &plain) == PERP_OK) {
            r.e = plain.e;
            r.scaled = plain.scaled;
            r.solved = plain.e <= ENOUGH;
        }
    }
    const double begin = table_seconds();
    for (int k = 1; r.solved && k < REPEATS && table_seconds() - begin < REPEAT_SECONDS; ++k) {
        const double took = run_once(m, &s, p, r.tolerance, z);
        r.seconds = took < r.seconds ? took : r.seconds;
    }
    return r; /* the process ends here: no memory is freed */
}

static result measure_in_child(const method* m, const problem* p, double limit)
{
    result r = {.seconds = INFINITY, .e = INFINITY, .scaled = INFINITY};
    int ends[2];
    if (pipe(ends) != 0) {
        return r;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (freopen("/dev/null", "w", stdout) == NULL ||
            freopen("/dev/null", "w", stderr) == NULL) {
            _exit(1);
        }
        const result made = measure(m, p);
        _exit(write(ends[1], &made, sizeof made) == (ssize_t)sizeof made ? 0 : 1);
    }
    close(ends[1]);
    if (child > 0) {
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        result made;
        if (poll(&wait, 1, (int)(1e3 * limit)) > 0 &&
            read(ends[0], &made, sizeof made) == (ssize_t)sizeof made) {
            r = made;
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
    return r;
}

/* ---- the table ---------------------------------------------------------------------------------------*/

static void put_number(FILE* f, const char* key, double x)
{
    fprintf(f, isfinite(x) ? ", \"%s\": %.9g" : ", \"%s\": null", key, x);
}

static const candidate* fastest(const candidate* c, int count)
{
    const candidate* best = NULL;
    for (int i = 1; i < count; ++i) {
        if (c[i].best.solved && (best == NULL || c[i].best.seconds < best->best.seconds)) {
            best = &c[i];
        }
    }
    return best;
}

/* NaN unless both sides solved it. */
static double run_problem(const settings* set, const problem* p, FILE* json, bool first)
{
    candidate c[METHODS_MAX] = {0};
    int count = 1; /* c[0]: auto */
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        const int32_t largest = methods[i].largest > 0      ? methods[i].largest
                                : methods[i].store == DENSE ? DENSE_MAX
                                                            : INT32_MAX;
        if (methods[i].kind == p->kind && p->n <= largest) {
            c[count++].method = &methods[i];
        }
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < count; ++i) {
            const candidate* best = fastest(c, count);
            const double known = best != NULL ? best->best.seconds : INFINITY;
            if (round > 0 &&
                (!c[i].best.solved || (i > 0 && c[i].best.seconds > HOPELESS * known))) {
                continue;
            }
            /* Thirty times the best time cannot win; a second more for tries and repeats. */
            const double limit =
                i == 0 ? set->time_limit : fmin(set->time_limit, 1.0 + 30.0 * known);
            const result r = measure_in_child(c[i].method, p, limit);
            if (round == 0 || (r.solved && r.seconds < c[i].best.seconds)) {
                c[i].best = r;
            }
        }
    }
    const candidate* best = fastest(c, count);
    const double ratio =
        best != NULL && c[0].best.solved ? c[0].best.seconds / best->best.seconds : NAN;
    char own[32] = "-", theirs[32] = "-";
    if (c[0].best.solved) {
        snprintf(own, sizeof own, "%.4f", 1e3 * c[0].best.seconds);
    }
    if (best != NULL) {
        snprintf(theirs, sizeof theirs, "%.4f", 1e3 * best->best.seconds);
    }
    printf("%-44s %-5s %6d %11s %9.1e  %-17s %11s %9.1e %9.3g\n", p->name,
           perp_problem_kind_name(p->kind), (int)p->n, own, c[0].best.e,
           best != NULL ? best->method->name : "none", theirs, best != NULL ? best->best.e : NAN,
           ratio);
    fflush(stdout);
    if (json != NULL) {
        fprintf(json, "%s\n    {\"problem\": \"%s\", \"kind\": \"%s\", \"n\": %d", first ? "" : ",",
                p->name, perp_problem_kind_name(p->kind), (int)p->n);
        put_number(json, "ratio", ratio);
        fprintf(json, ", \"fastest\": \"%s\", \"runs\": [",
                best != NULL ? best->method->name : "none");
        for (int i = 0; i < count; ++i) {
            const result* r = &c[i].best;
            fprintf(json, "%s\n      {\"solver\": \"%s\", \"solved\": %s", i > 0 ? "," : "",
                    i > 0 ? c[i].method->name : "auto", r->solved ? "true" : "false");
            put_number(json, "milliseconds", r->solved ? 1e3 * r->seconds : NAN);
            put_number(json, "e", r->e);
            put_number(json, "scaled", r->scaled);
            put_number(json, "asked", r->tolerance > 0.0 ? r->tolerance : NAN);
            fputs("}", json);
        }
        fputs("]}", json);
    }
    return ratio;
}

/* ---- the program -------------------------------------------------------------------------------------*/

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n == 0 ? NAN : 0.5 * (x[(n - 1) / 2] + x[n / 2]);
}

static settings read_arguments(int argc, char** argv)
{
    settings s = {.corpus = "../shared/corpus", .time_limit = 10.0};
    for (int i = 1; i < argc; i += 2) {
        const char* value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value != NULL && strcmp(argv[i], "--json") == 0) {
            s.json = value;
        } else if (value != NULL && strcmp(argv[i], "--corpus") == 0) {
            s.corpus = value;
        } else if (value != NULL && strcmp(argv[i], "--problem") == 0) {
            s.only = value;
        } else if (value != NULL && strcmp(argv[i], "--time-limit") == 0) {
            s.time_limit = strtod(value, NULL);
        } else {
            fprintf(stderr, "usage: siconos [--json FILE] [--corpus DIR] [--time-limit SECONDS] "
                            "[--problem TEXT]\n");
            exit(2);
        }
    }
    return s;
}

int main(int argc, char** argv)
{
    /* Neither side gets more than one thread; the BLAS reads this before main. */
    if (getenv("OPENBLAS_NUM_THREADS") == NULL) {
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        setenv("OMP_NUM_THREADS", "1", 1);
        execv("/proc/self/exe", argv);
    }
    const settings set = read_arguments(argc, argv);
    char path[1024], line[4096];
    perp_context* context = NULL;
    FILE* json = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    if (set.json != NULL && (json = fopen(set.json, "w")) == NULL) {
        fprintf(stderr, "%s: %s\n", set.json, strerror(errno));
        perp_context_destroy(context);
        return 3;
    }
    static double ratios[PROBLEMS_MAX];
    int count = 0, rows = 0, faster = 0, per_kind[KINDS] = {0};
    static double kind_ratios[KINDS][PROBLEMS_MAX];
    static const perp_problem_kind kinds[KINDS] = {PERP_PROBLEM_LCP, PERP_PROBLEM_MLCP,
                                                   PERP_PROBLEM_BLCP, PERP_PROBLEM_FC2D,
                                                   PERP_PROBLEM_FC3D};
    if (json != NULL) {
        fputs("{\n  \"bench\": \"siconos\",\n  \"rows\": [", json);
    }
    snprintf(path, sizeof path, "%s/manifest.csv", set.corpus);
    FILE* manifest = fopen(path, "r");
    if (manifest == NULL) {
        printf("no problems in %s: nothing to compare\n", set.corpus);
    } else {
        printf("%-44s %-5s %6s %11s %9s  %-17s %11s %9s %9s\n", "problem", "kind", "n", "auto ms",
               "e", "fastest Siconos", "ms", "e", "ratio");
    }
    for (bool header = true; manifest != NULL && fgets(line, sizeof line, manifest) != NULL;
         header = false) {
        const char* comma = strchr(line, ',');
        if (header || comma == NULL || rows == PROBLEMS_MAX) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%.*s", set.corpus, (int)strcspn(comma + 1, ","), comma + 1);
        problem p = {.context = context};
        if (perp_problem_read(context, path, &p.file) != PERP_OK) {
            fprintf(stderr, "siconos: %s\n", perp_context_error(context));
            continue;
        }
        p.name = perp_problem_file_name(p.file);
        p.kind = perp_problem_file_kind(p.file);
        p.lcp = perp_problem_file_lcp(p.file);
        p.mlcp = p.lcp == NULL ? perp_problem_file_mlcp(p.file) : NULL;
        p.friction = perp_problem_file_friction(p.file);
        p.n = p.lcp != NULL        ? p.lcp->n
              : p.mlcp != NULL     ? p.mlcp->M.cols
              : p.friction != NULL ? p.friction->row_count
                                   : 0;
        for (int k = 0; k < KINDS; ++k) {
            if (p.n > 0 && p.kind == kinds[k] &&
                (set.only == NULL || strstr(p.name, set.only) != NULL)) {
                const double ratio = run_problem(&set, &p, json, rows++ == 0);
                if (isfinite(ratio)) {
                    faster += ratio < 1.0 ? 1 : 0;
                    ratios[count++] = ratio;
                    kind_ratios[k][per_kind[k]++] = ratio;
                }
            }
        }
        perp_problem_file_destroy(p.file);
    }
    if (manifest != NULL) {
        fclose(manifest);
    }
    printf("\n%d problems, %d solved by both; auto is faster on %d\n", rows, count, faster);
    const double middle = median(ratios, count);
    printf("%-24s %9.3g\n", "median ratio", middle);
    if (json != NULL) {
        fprintf(json, "\n  ],\n  \"problems\": %d, \"both\": %d, \"faster\": %d", rows, count,
                faster);
        put_number(json, "median", middle);
    }
    for (int k = 0; k < KINDS; ++k) {
        const double of_kind = median(kind_ratios[k], per_kind[k]);
        char key[32];
        printf("%-24s %9.3g  of %d\n", perp_problem_kind_name(kinds[k]), of_kind, per_kind[k]);
        snprintf(key, sizeof key, "median-%s", perp_problem_kind_name(kinds[k]));
        if (json != NULL) {
            put_number(json, key, of_kind);
        }
    }
    bool good = true;
    if (json != NULL) {
        fputs("\n}\n", json);
        good = fclose(json) == 0;
    }
    perp_context_destroy(context);
    return good ? 0 : 3;
}
