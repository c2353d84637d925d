/* src/solve/pivoting/lemke.c - Lemke's method for LCP(M, q), revised and lexicographic.
 *
 * Source     C. E. Lemke 1965; R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity
 *            Problem", 4.4 (scheme I, lexicographic rule 4.9); used for contact in [T03], [B09]
 * Notation   w = M z + q + h z0; h covering vector, B basis, d = B^-1 (entering column),
 *            x = B^-1 q the values of the basic variables
 * Departure  - symmetric equilibration first: M' = D M D, q' = D q / |D q|. In a contact problem
 *              z' and w' then both are square roots of energies, so that one tolerance fits all
 *              rows and the path is the same in metres and millimetres.
 *            - no tableau: B^-1 is kept explicitly (lemke_basis.h), every entering column comes
 *              from the data, the inverse is recomputed after a number of pivots.
 *            - rows are tied if their value after the step would be below
 *              tie_tolerance. Among tied rows z0 leaves if it can; else the lexicographic rule
 *              picks, else the largest pivot.
 *            - the final point is recomputed from the original data (basic_point.h). If that point
 *              is not accepted, the path is continued from there, then begun again with a slightly
 *              perturbed q or another covering vector; after a ray also from other bases.
 *            - a small problem first takes the same pivots on a plain tableau (lemke_small.h), as
 *              long as no ratio test is nearly tied.
 *            - a warm start tries the support of the guess first, without and with its entries of
 *              the size of rounding: 0 pivots if that basis still solves the problem to rounding,
 *              otherwise Lemke from that basis with h = B e.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/monitor.h"
#include "solve/pivoting/lemke_basis.h"
#include "solve/pivoting/lemke_small.h"
#include "solve/pivoting/basic_point.h"

#define LEXICO_NOISE 1e-10     /* on entries of B^-1, relative to the largest of the tied rows */
#define REPAIR 3e-14           /* violation beyond rounding: the basis is repaired */
#define HOLDS 1e-12            /* violation of a guess; at rest, gaps are rounding */
#define SPECK 1e-10            /* unknowns of the guess that are rounding, of the largest */
#define FINE_TIE 1e-14         /* tie tolerance while a basis is repaired */
#define OTHER_CORNERS 8        /* starts from other bases after a ray, on problems up to ... */
#define OTHER_CORNERS_SIZE 128 /* ... this many unknowns */
#define SMALL_PIVOT 1e-5 /* relative to its column: only from a fresh inverse, and renew it after */

typedef struct lemke_settings {
    double pivot_tolerance;
    double tie_tolerance;
    double accept_tolerance;
    int32_t refactor_every;
    int32_t attempts;
} lemke_settings;

static const perp_setting lemke_setting[] = {
    {"pivot-tolerance", PERP_SETTING_DOUBLE, offsetof(lemke_settings, pivot_tolerance), 0.0, 1e-3,
     "smallest pivot relative to the largest entry of its scaled column"},
    {"tie-tolerance", PERP_SETTING_DOUBLE, offsetof(lemke_settings, tie_tolerance), 0.0, 1e-3,
     "values below this, relative to the largest basic value, tie at zero"},
    {"accept-tolerance", PERP_SETTING_DOUBLE, offsetof(lemke_settings, accept_tolerance), 0.0, 1e-3,
     "largest violation of a row relative to its largest term at which a basis is accepted"},
    {"refactor-every", PERP_SETTING_INT, offsetof(lemke_settings, refactor_every), 1, 1000000,
     "pivots between recomputations of the inverse"},
    {"attempts", PERP_SETTING_INT, offsetof(lemke_settings, attempts), 1, 100,
     "cold starts, all but the first with a perturbed q or another covering vector"},
};

static void lemke_settings_default(void* settings)
{
    *(lemke_settings*)settings = (lemke_settings){
        .pivot_tolerance = 1e-8,
        .tie_tolerance = 1e-10,
        .accept_tolerance = 1e-13,
        .refactor_every = 60,
        .attempts = 6,
    };
}

typedef struct lemke {
    perp_context* context;
    lemke_settings set;
    perpi_lemke_basis basis;
    perpi_support support;
    double* M; /* n x n, scaled, column-major */
    size_t M_capacity;
    double* vector; /* D, q, q perturbed, h, d, z, best: 7 n */
    size_t vector_capacity;
    int32_t* index; /* a, tied rows: 2 n */
    size_t index_capacity;
    int32_t reserved; /* unknowns that there is room for */
} lemke;

static perp_status lemke_create(perp_context* context, const void* settings, void** self)
{
    lemke* l = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *l, &l);
    if (status != PERP_OK) {
        return status;
    }
    l->context = context;
    l->set = *(const lemke_settings*)settings;
    perpi_support_init(&l->support, context);
    *self = l;
    return PERP_OK;
}

static void lemke_destroy(void* self)
{
    lemke* l = self;
    if (l == NULL) {
        return;
    }
    perpi_lemke_basis_free(l->context, &l->basis);
    perpi_support_free(&l->support);
    perpi_free(l->context, l->M);
    perpi_free(l->context, l->vector);
    perpi_free(l->context, l->index);
    perpi_free(l->context, l);
}

/* ---- one solve -----------------------------------------------------------------------------------*/

typedef enum path_end {
    PATH_SOLVED, /* z0 left: the basis is complementary */
    PATH_RAY,
    PATH_LIMIT,
    PATH_TIME,
    PATH_CANCELLED,
    PATH_BREAKDOWN,
} path_end;

typedef struct run {
    lemke* l;
    const perp_lcp* lcp;
    const perp_solve_options* options;
    perpi_clock clock;
    double *D, *q, *q_perturbed, *h, *d, *z, *best;
    int32_t *a, *tied;
    int32_t pivots, limit; /* over all attempts */
    double tie;            /* tie_tolerance, or FINE_TIE while repairing */
    double best_violation;
} run;

/* Everything a solve of this size can need, so that the next one allocates nothing. */
static perp_status lemke_reserve(lemke* l, int32_t n)
{
    const size_t m = (size_t)n;
    if (n <= l->reserved) {
        l->basis.n = n;
        l->basis.ld = m;
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(l->context, &l->vector, &l->vector_capacity, 7 * m, sizeof *l->vector);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->index, &l->index_capacity, 2 * m, sizeof *l->index);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->M, &l->M_capacity, m * m, sizeof *l->M);
    }
    if (status == PERP_OK) {
        status = perpi_lemke_basis_reserve(l->context, &l->basis, n);
    }
    if (status == PERP_OK) {
        status = perpi_support_reserve(&l->support, n, n);
    }
    l->reserved = status == PERP_OK ? n : l->reserved;
    return status;
}

/* D, and D q scaled to a largest entry of 1. */
static void scale_vector(run* r)
{
    const int32_t n = r->lcp->n;
    perpi_lcp_equilibrate(r->lcp, r->D);
    double largest = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        r->q[i] = r->lcp->q[i] * r->D[i];
        const double m = fabs(r->q[i]);
        largest = m > largest ? m : largest;
    }
    for (int32_t i = 0; i < n; ++i) {
        r->q[i] /= largest;
    }
}

/* D M D, by columns. */
static void scale_matrix(run* r)
{
    const int32_t n = r->lcp->n;
    enum { TILE = 16 };
    for (int32_t ib = 0; ib < n; ib += TILE) {
        const int32_t ie = ib + TILE < n ? ib + TILE : n;
        for (int32_t j = 0; j < n; ++j) {
            double* column = r->l->M + (size_t)j * (size_t)n;
            const double D_j = r->D[j];
            for (int32_t i = ib; i < ie; ++i) {
                column[i] = r->D[i] * r->lcp->M[(size_t)i * (size_t)n + (size_t)j] * D_j;
            }
        }
    }
    r->l->basis.M = r->l->M;
    r->l->basis.h = r->h;
}

/* Keeps the tied rows whose entries in the lexicographic column c, divided by the pivot, are
 * smallest; differences within rounding are ignored. */
static int32_t keep_smallest(const run* r, const perpi_lemke_basis* b, int32_t c, int32_t count,
                             double noise)
{
    double smallest = INFINITY;
    for (int32_t t = 0; t < count; ++t) {
        const double e = perpi_lemke_basis_entry(b, r->tied[t], c) / r->d[r->tied[t]];
        smallest = e < smallest ? e : smallest;
    }
    int32_t kept = 0;
    for (int32_t t = 0; t < count; ++t) {
        const double e = perpi_lemke_basis_entry(b, r->tied[t], c) / r->d[r->tied[t]];
        if (e <= smallest + noise) {
            r->tied[kept++] = r->tied[t];
        }
    }
    return kept;
}

/* The lexicographic rule: the smallest of the rows (B^-1)_p / d_p decides among tied rows. */
static int32_t lemke_break_ties(const run* r, const perpi_lemke_basis* b, int32_t count)
{
    double size = 0.0;
    for (int32_t t = 0; t < count; ++t) {
        const int32_t p = r->tied[t];
        const double* row = b->inverse + (size_t)p * b->ld;
        double largest = b->var[p] < b->n ? 1.0 : 0.0;
        for (int32_t s = 0; s < b->k; ++s) {
            const double m = fabs(row[s]);
            largest = m > largest ? m : largest;
        }
        size = largest / r->d[p] > size ? largest / r->d[p] : size;
    }
    for (int32_t c = 0; c < b->n && count > 1; ++c) {
        bool differs = b->slot[c] >= 0;
        for (int32_t t = 0; t < count && !differs; ++t) {
            differs = b->var[r->tied[t]] == c;
        }
        if (differs) {
            count = keep_smallest(r, b, c, count, LEXICO_NOISE * size);
        }
    }
    return count;
}

/* The position that leaves, -1 for none (a ray). */
static int32_t lemke_ratio_test(run* r)
{
    const perpi_lemke_basis* b = &r->l->basis;
    const int32_t n = b->n;
    const double *d = r->d, *x = b->x;
    double d_max = 0.0, x_max = 1.0;
    for (int32_t p = 0; p < n; ++p) {
        const double m = fabs(d[p]);
        d_max = m > d_max ? m : d_max;
        x_max = x[p] > x_max ? x[p] : x_max;
    }
    const double smallest_pivot = r->l->set.pivot_tolerance * d_max;
    const double tie = r->tie * x_max;
    /* How far the path may go if every row may be violated by a tie's width (Harris): a row with a
     * tiny pivot, whose ratio is mostly rounding, then does not hide one that is well determined. */
    double step = INFINITY;
    for (int32_t p = 0; p < n; ++p) {
        if (d[p] > smallest_pivot) {
            const double t = ((x[p] < 0.0 ? 0.0 : x[p]) + tie) / d[p];
            step = t < step ? t : step;
        }
    }
    if (!(step < INFINITY)) {
        return -1;
    }
    int32_t count = 0;
    for (int32_t p = 0; p < n; ++p) {
        if (d[p] > smallest_pivot && x[p] <= step * d[p]) {
            if (b->var[p] == 2 * n) {
                return p; /* z0 can leave: the end */
            }
            r->tied[count++] = p;
        }
    }
    if (count > 1) {
        count = lemke_break_ties(r, b, count);
    }
    int32_t best = r->tied[0];
    for (int32_t t = 1; t < count; ++t) {
        if (d[r->tied[t]] > d[best]) {
            best = r->tied[t];
        }
    }
    return best;
}

/* d of the entering variable, from an inverse that is accurate enough. */
static bool entering_column(run* r, int32_t entering, int32_t* age)
{
    perpi_lemke_basis* b = &r->l->basis;
    const bool check = *age > 0 && *age % 16 == 0;
    if (*age >= r->l->set.refactor_every ||
        (check && !(perpi_lemke_basis_residual(b, true) <= 1e-12))) {
        if (!perpi_lemke_basis_refactor(b)) {
            return false;
        }
        *age = 0;
    }
    perpi_lemke_basis_column(b, entering, r->d);
    return true;
}

static bool is_small(const run* r, int32_t p)
{
    double d_max = 0.0;
    for (int32_t i = 0; i < r->lcp->n; ++i) {
        const double m = fabs(r->d[i]);
        d_max = m > d_max ? m : d_max;
    }
    return r->d[p] < SMALL_PIVOT * d_max;
}

/* Follows the path until z0 leaves. The basis is almost complementary, `entering` comes next. */
static path_end lemke_follow_path(run* r, int32_t entering, int32_t limit)
{
    perpi_lemke_basis* b = &r->l->basis;
    const int32_t n = b->n;
    int32_t age = 1;
    for (int32_t count = 0;; ++count) {
        if (count >= limit || r->pivots >= r->limit) {
            return PATH_LIMIT;
        }
        if (r->pivots % 16 == 15) {
            const perp_outcome interrupt = perpi_monitor_interrupt(r->options, &r->clock);
            if (interrupt != PERP_OUTCOME_UNSET) {
                return interrupt == PERP_OUTCOME_TIME_LIMIT ? PATH_TIME : PATH_CANCELLED;
            }
        }
        if (!entering_column(r, entering, &age)) {
            return PATH_BREAKDOWN;
        }
        int32_t p = lemke_ratio_test(r);
        if (age > 0 && (p < 0 || is_small(r, p))) { /* needs a recomputed inverse */
            if (!perpi_lemke_basis_refactor(b)) {
                return PATH_BREAKDOWN;
            }
            age = 0;
            perpi_lemke_basis_column(b, entering, r->d);
            p = lemke_ratio_test(r);
        }
        if (p < 0) {
            return PATH_RAY;
        }
        const bool small = is_small(r, p);
        const int32_t leaving = perpi_lemke_basis_pivot(b, p, entering, r->d);
        ++r->pivots;
        age = small ? r->l->set.refactor_every : age + 1;
        if (r->options->log != NULL) { /* z0 bounds the remaining violation */
            const int32_t p0 = b->where[2 * n];
            r->options->log(r->options->user, r->pivots, p0 < 0 ? 0.0 : b->x[p0]);
        }
        if (leaving == 2 * n) {
            return PATH_SOLVED;
        }
        entering = leaving < n ? leaving + n : leaving - n;
    }
}

/* From w basic, h given. */
static path_end path_cold(run* r, const double* q, int32_t limit)
{
    perpi_lemke_basis* b = &r->l->basis;
    const int32_t n = b->n;
    b->q = q;
    perpi_lemke_basis_cold(b);
    /* Lexicographic for the first pivot: the last of the tied rows. */
    double lowest = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        lowest = q[i] < lowest * r->h[i] ? q[i] / r->h[i] : lowest;
    }
    if (!(lowest < 0.0)) {
        return PATH_SOLVED;
    }
    int32_t p = 0;
    for (int32_t i = 0; i < n; ++i) {
        if (q[i] / r->h[i] - lowest <= r->tie) {
            p = i;
        }
        r->d[i] = -r->h[i];
    }
    if (r->pivots >= r->limit) {
        return PATH_LIMIT;
    }
    const int32_t leaving = perpi_lemke_basis_pivot(b, p, 2 * n, r->d);
    ++r->pivots;
    return lemke_follow_path(r, leaving + n, limit);
}

/* From the basis of support a, h = B e. */
static path_end path_from(run* r, const double* q, int32_t k, int32_t limit)
{
    perpi_lemke_basis* b = &r->l->basis;
    const int32_t n = b->n;
    b->q = q;
    if (!perpi_lemke_basis_warm(b, r->a, k)) {
        return PATH_BREAKDOWN;
    }
    for (int32_t i = 0; i < n; ++i) {
        r->h[i] = b->where[i] >= 0 ? 1.0 : 0.0;
        for (int32_t s = 0; s < k; ++s) {
            r->h[i] -= b->M[(size_t)r->a[s] * (size_t)n + (size_t)i];
        }
    }
    double lowest = 0.0, size = 1.0;
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(b->x[i]);
        lowest = b->x[i] < lowest ? b->x[i] : lowest;
        size = m > size ? m : size;
        r->d[i] = -1.0;
    }
    if (!(lowest < 0.0)) {
        return PATH_SOLVED;
    }
    int32_t p = 0;
    for (int32_t i = 0; i < n; ++i) { /* as from a cold start: the last of the tied rows */
        p = b->x[i] - lowest <= r->tie * size && b->x[i] < 0.0 ? i : p;
    }
    if (r->pivots >= r->limit) {
        return PATH_LIMIT;
    }
    const int32_t leaving = perpi_lemke_basis_pivot(b, p, 2 * n, r->d);
    ++r->pivots;
    return lemke_follow_path(r, leaving < n ? leaving + n : leaving - n, limit);
}

/* The support of the current basis into a. */
static int32_t read_support(run* r)
{
    const perpi_lemke_basis* b = &r->l->basis;
    int32_t k = 0;
    for (int32_t i = 0; i < b->n; ++i) {
        if (b->where[b->n + i] >= 0) {
            r->a[k++] = i;
        }
    }
    return k;
}

/* Solves on the support and remembers the best point. */
static void try_support(run* r, int32_t k, double* violation)
{
    *violation = perpi_support_solve(&r->l->support, r->lcp, r->a, k, r->z);
    if (*violation < r->best_violation) {
        r->best_violation = *violation;
        memcpy(r->best, r->z, (size_t)r->lcp->n * sizeof *r->best);
    }
}

/* A fixed stream: the same problem takes the same path every time. */
static double next_uniform(uint64_t* state)
{
    uint64_t t = (*state += 0x9e3779b97f4a7c15u);
    t = (t ^ (t >> 30)) * 0xbf58476d1ce4e5b9u;
    t = (t ^ (t >> 27)) * 0x94d049bb133111ebu;
    return (double)((t ^ (t >> 31)) >> 11) * 0x1.0p-53;
}

/* What an attempt changes: the first nothing; later ones the covering vector, because with h = e
 * some problems take exponentially many pivots; every second one also perturbs q, against ties. */
static const double* lemke_vary(run* r, int32_t attempt)
{
    static const double size[] = {1e-7, 1e-9, 1e-5, 1e-8, 1e-6};
    uint64_t state = (uint64_t)attempt;
    const double eps = size[attempt / 2 % 5];
    for (int32_t i = 0; i < r->lcp->n; ++i) {
        r->h[i] = attempt < 2 ? 1.0 : exp2(8.0 * next_uniform(&state) - 4.0);
        r->q_perturbed[i] = r->q[i] + eps * (0.5 + next_uniform(&state));
    }
    return attempt % 2 == 0 ? r->q : r->q_perturbed;
}

static bool lemke_is_final(path_end end)
{
    return end == PATH_TIME || end == PATH_CANCELLED;
}

/* The basis just reached: solved from the original data. A false tie leaves a small violation: the
 * path is then continued from there with a smaller tie tolerance, and the better point is kept. */
static void lemke_finish(run* r, path_end* end)
{
    double violation = INFINITY;
    int32_t k = read_support(r);
    try_support(r, k, &violation);
    if (violation > REPAIR && violation < INFINITY) {
        r->tie = FINE_TIE;
        const path_end repaired = path_from(r, r->q, k, r->lcp->n + 20);
        r->tie = r->l->set.tie_tolerance;
        if (repaired == PATH_SOLVED) {
            k = read_support(r);
            try_support(r, k, &violation);
        }
        *end = lemke_is_final(repaired) ? repaired : *end;
    }
}

/* The first cold start of a small problem, on a tableau; true if that solved it. */
static bool small_attempt(run* r)
{
    const perpi_lemke_rules rules = {.pivot_tolerance = r->l->set.pivot_tolerance,
                                     .small_pivot = SMALL_PIVOT,
                                     .tie_tolerance = r->tie,
                                     .limit = r->limit};
    int32_t pivots = 0;
    const int32_t k = perpi_lemke_small(r->lcp->n, r->lcp->M, r->D, r->q, &rules, r->a, &pivots);
    if (k < 0) {
        return false; /* its pivots are not counted: the revised method repeats them */
    }
    double violation = INFINITY;
    try_support(r, k, &violation);
    r->pivots += violation <= REPAIR ? pivots : 0;
    return violation <= REPAIR;
}

/* Cold starts until one is accepted; the limit of pivots is for all of them together. */
static void lemke_cold_starts(run* r, path_end* end)
{
    for (int32_t attempt = 0; attempt < r->l->set.attempts; ++attempt) {
        const double* q = lemke_vary(r, attempt);
        *end = path_cold(r, q, 10 * r->lcp->n + 100);
        if (*end == PATH_SOLVED) {
            lemke_finish(r, end);
        }
        if (r->best_violation <= r->l->set.accept_tolerance || lemke_is_final(*end) ||
            r->pivots >= r->limit) {
            break;
        }
    }
}

/* After a ray: for some classes of M every path from the basis w ends in a ray (bimatrix games: M
 * >= 0 with a zero diagonal). Starts from other bases: all z, then random halves. */
static void lemke_other_bases(run* r, path_end* end)
{
    uint64_t state = 1;
    const int32_t n = r->lcp->n;
    for (int32_t start = 0; start < OTHER_CORNERS && n <= OTHER_CORNERS_SIZE; ++start) {
        int32_t k = 0;
        for (int32_t i = 0; i < n; ++i) {
            if (start == 0 || next_uniform(&state) < 0.5) {
                r->a[k++] = i;
            }
        }
        path_end here = path_from(r, r->q, k, 4 * n + 20);
        if (here == PATH_SOLVED) {
            lemke_finish(r, &here);
        }
        *end = lemke_is_final(here) ? here : *end;
        if (lemke_is_final(here) || r->best_violation <= r->l->set.accept_tolerance ||
            r->pivots >= r->limit) {
            break;
        }
    }
}

/* Lemke from the support of the guess; if that is singular, from its independent part. */
static void lemke_warm_start(run* r, int32_t k, path_end* end)
{
    *end = path_from(r, r->q, k, r->lcp->n + 20);
    if (*end == PATH_BREAKDOWN) {
        const int32_t fewer = perpi_support_independent(&r->l->support, r->lcp, r->a, k);
        if (fewer < k) {
            *end = path_from(r, r->q, fewer, r->lcp->n + 20);
        }
    }
    if (*end == PATH_SOLVED) {
        lemke_finish(r, end);
    }
}

static void lemke_describe(run* r, path_end end, perp_report* report)
{
    static const perp_outcome outcome[] = {
        [PATH_SOLVED] = PERP_OUTCOME_BREAKDOWN,    [PATH_RAY] = PERP_OUTCOME_RAY,
        [PATH_LIMIT] = PERP_OUTCOME_MAX_ITER,      [PATH_TIME] = PERP_OUTCOME_TIME_LIMIT,
        [PATH_CANCELLED] = PERP_OUTCOME_CANCELLED, [PATH_BREAKDOWN] = PERP_OUTCOME_BREAKDOWN,
    };
    report->iterations = r->pivots;
    report->detail[0] = '\0';
    if (r->best_violation <= 1e-9) {
        report->outcome = PERP_OUTCOME_SOLVED;
        return;
    }
    report->outcome = outcome[end];
    const char* text = "";
    switch (end) {
    case PATH_SOLVED:
        snprintf(report->detail, sizeof report->detail,
                 "the final basis violates a row by %.1e of its largest term", r->best_violation);
        return;
    case PATH_RAY:
        text = "the path ends in a ray: M is not of a kind Lemke's method always solves, or there "
               "is no solution";
        break;
    case PATH_LIMIT: text = "pivot limit reached"; break;
    case PATH_TIME: text = "time limit reached"; break;
    case PATH_CANCELLED: text = "cancelled"; break;
    case PATH_BREAKDOWN: text = "a basis became singular to rounding"; break;
    }
    snprintf(report->detail, sizeof report->detail, "%s", text);
}

/* The same without unknowns of the size of rounding, in units of energy. The friction of bodies at
 * rest is of this size: which of its directions carry 1e-13 of the weight depends on the rounding
 * of the gaps, and each change costs two pivots. */
static bool try_without_specks(run* r, int32_t k, const double* guess)
{
    const size_t n = (size_t)r->lcp->n;
    double largest = 0.0, violation = INFINITY;
    for (int32_t s = 0; s < k; ++s) {
        const int32_t i = r->a[s];
        r->d[s] = sqrt(fabs(r->lcp->M[(size_t)i * n + (size_t)i])) * guess[i];
        largest = r->d[s] > largest ? r->d[s] : largest;
    }
    int32_t kept = 0;
    for (int32_t s = 0; s < k; ++s) {
        const bool speck = r->d[s] > 0.0 && r->d[s] <= SPECK * largest;
        r->tied[kept] = r->a[s];
        kept += !speck;
    }
    if (kept == k || kept == 0) {
        return false;
    }
    violation = perpi_support_solve(&r->l->support, r->lcp, r->tied, kept, r->z);
    if (!(violation <= HOLDS)) {
        return false;
    }
    r->best_violation = violation;
    memcpy(r->best, r->z, n * sizeof *r->best);
    return true;
}

/* The support of the guess as it is. True if that is the answer: no pivot needed. A cold start
 * tries the empty support, which is the answer for q >= 0. */
static bool try_guess(run* r, int32_t k, const double* guess)
{
    double violation = INFINITY;
    for (int32_t i = 0; k == 0 && i < r->lcp->n; ++i) {
        if (r->lcp->q[i] < 0.0) { /* violated by the whole of q_i */
            memset(r->best, 0, (size_t)r->lcp->n * sizeof *r->best);
            r->best_violation = 1.0;
            return false;
        }
    }
    try_support(r, k, &violation);
    if (k > 0 && violation > r->l->set.accept_tolerance) {
        /* A degenerate solution need not be basic on its own support: check the guess itself. */
        violation = perpi_support_measure(&r->l->support, r->lcp, r->a, k, guess);
        if (violation < r->best_violation) {
            r->best_violation = violation;
            for (int32_t i = 0; i < r->lcp->n; ++i) {
                r->best[i] = guess[i] > 0.0 ? guess[i] : 0.0;
            }
        }
    }
    return r->best_violation <= HOLDS;
}

static perp_status lemke_solve(void* self, const perp_lcp* problem,
                               const perp_solve_options* options, bool warm, double* z,
                               perp_report* report)
{
    lemke* l = self;
    const int32_t n = problem->n;
    const size_t m = (size_t)n;
    const perp_status status = lemke_reserve(l, n);
    if (status != PERP_OK) {
        return status;
    }
    run r = {.l = l, .lcp = problem, .options = options, .best_violation = INFINITY};
    r.D = l->vector;
    r.q = r.D + m;
    r.q_perturbed = r.q + m;
    r.h = r.q_perturbed + m;
    r.d = r.h + m;
    r.z = r.d + m;
    r.best = r.z + m;
    r.a = l->index;
    r.tied = r.a + m;
    r.tie = l->set.tie_tolerance;
    r.limit = options->max_iter > 0 ? options->max_iter : (50 * n > 1000 ? 50 * n : 1000);
    r.clock = perpi_clock_start(options->time_limit);
    path_end end = PATH_SOLVED;

    int32_t k = 0;
    for (int32_t i = 0; warm && i < n; ++i) {
        if (z[i] > 0.0) {
            r.a[k++] = i;
        }
    }
    k = perpi_support_complete(problem, z, r.a, k);
    if (!try_without_specks(&r, k, z) && !try_guess(&r, k, z)) {
        scale_vector(&r);
        if (k > 0 || n > PERPI_LEMKE_SMALL || options->log != NULL || !small_attempt(&r)) {
            scale_matrix(&r);
            if (k > 0) {
                lemke_warm_start(&r, k, &end);
            }
            if (r.best_violation > l->set.accept_tolerance && !lemke_is_final(end)) {
                lemke_cold_starts(&r, &end);
            }
        }
        if (r.best_violation > l->set.accept_tolerance && end == PATH_RAY) {
            lemke_other_bases(&r, &end);
        }
    }
    if (r.best_violation < INFINITY) {
        memcpy(z, r.best, m * sizeof *z);
    }
    lemke_describe(&r, end, report);
    return PERP_OK;
}

const perp_method perpi_method_lemke = {
    .name = "lemke",
    .summary = "Lemke's pivoting method, lexicographic, from the original data; iterations: pivots",
    .settings_size = sizeof(lemke_settings),
    .settings = lemke_setting,
    .settings_count = sizeof lemke_setting / sizeof lemke_setting[0],
    .settings_default = lemke_settings_default,
    .create = lemke_create,
    .destroy = lemke_destroy,
    .lcp = lemke_solve,
};
