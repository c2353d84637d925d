/* src/linalg/fronts_factor.c - factors and solutions on the elimination tree. See fronts.h.
 *
 * Threads take whole subtrees first; the fronts above them are taken one after the other, each divided by
 * rows and columns among all threads. Every entry is computed by one of them, from its terms in one
 * order.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "linalg/dense.h"
#include "linalg/front_kernels.h"
#include "linalg/fronts.h"

#define GRAIN_FACTOR 1000000 /* multiplications for a thread to gain */
#define GRAIN_SOLVE 200000   /* entries of the factors */
#define GRAIN_FRONT 150000.0 /* multiplications of a front that is divided */

/* ---- one front -----------------------------------------------------------------------------------------*/

/* Where row `to` of a front begins, of n + m rows: the columns of its n rows, and of its m rows. */
PERPI_INLINE double* row_of_front(const perpi_fronts* t, double* value, const perpi_front* f,
                                  int32_t to, bool later)
{
    const size_t n = (size_t)f->n, m = (size_t)f->m, row = (size_t)to;
    if (to < f->n) {
        return later ? value + f->U + row * m : value + f->D + row * n;
    }
    return later ? t->contribution + f->C + (row - n) * m : value + f->L + (row - n) * n;
}

/* A child's contribution, into the rows begin..end-1 of the parent's n + m. */
PERPI_WIDE static void add_child(const perpi_fronts* t, double* value, const perpi_front* f,
                                 const perpi_front* child, int32_t begin, int32_t end)
{
    const size_t ld = (size_t)child->m;
    for (int32_t a = child->run; a < child->run_end; ++a) {
        const perpi_row_run* rows = &t->run[a];
        const int32_t skip = rows->to < begin ? begin - rows->to : 0;
        const int32_t most = end - rows->to < rows->length ? end - rows->to : rows->length;
        if (skip >= most) {
            continue;
        }
        const double* from = t->contribution + child->C + (size_t)(rows->from + skip) * ld;
        for (int32_t b = child->run; b < child->run_end; ++b) {
            const perpi_row_run* columns = &t->run[b];
            const bool later = columns->to >= f->n;
            const size_t stride = (size_t)(later ? f->m : f->n);
            double* out = row_of_front(t, value, f, rows->to + skip, later) +
                          (columns->to - (later ? f->n : 0));
            perpi_add_rows(most - skip, columns->length, from + columns->from, ld, out, stride);
        }
    }
}

/* Rows begin..end-1 of the front, of n + m: the entries of the matrix are there already. */
static void assemble_rows(perpi_fronts* t, double* value, const perpi_front* f, int32_t begin,
                          int32_t end)
{
    const int32_t from = begin > f->n ? begin - f->n : 0, to = end > f->n ? end - f->n : 0;
    if (to > from) {
        memset(t->contribution + f->C + (size_t)from * (size_t)f->m, 0,
               (size_t)(to - from) * (size_t)f->m * sizeof(double));
    }
    for (int32_t c = f->child; c >= 0; c = t->front[c].next) {
        add_child(t, value, f, &t->front[c], begin, end);
    }
}

static bool factor_front(perpi_fronts* t, double* value, const perpi_front* f)
{
    int32_t* pivot = t->pivot + f->first;
    assemble_rows(t, value, f, 0, f->n + f->m);
    if (!perpi_lu_front(f->n, value + f->D, pivot)) {
        return false;
    }
    if (f->m > 0) {
        perpi_solve_columns(f->n, value + f->D, pivot, f->m, value + f->U, 0, f->m);
        perpi_subtract_front(f->m, f->n, f->m, value + f->L, value + f->U, t->contribution + f->C);
    }
    return true;
}

/* ---- all fronts ----------------------------------------------------------------------------------------*/

typedef struct front_job {
    perpi_fronts* t;
    double* value;
    double* x;       /* of a solve */
    atomic_bool bad; /* a pivot is zero or not finite */
} front_job;

/* The lane of each part: the one with the least work so far. Calls visit() for those of `lane`. */
static void visit_parts(const perpi_lane* lane, front_job* job,
                        void (*visit)(front_job* job, const perpi_front_part* part))
{
    const perpi_fronts* t = job->t;
    double load[PERPI_LANES_MOST] = {0};
    for (int32_t p = 0; p < t->parts; ++p) {
        int32_t least = 0;
        for (int32_t k = 1; k < lane->count; ++k) {
            least = load[k] < load[least] ? k : least;
        }
        load[least] += t->part[p].work;
        if (least == lane->index) {
            visit(job, &t->part[p]);
        }
    }
}

static void factor_part(front_job* job, const perpi_front_part* part)
{
    for (int32_t j = part->begin; j < part->end; ++j) {
        if (atomic_load_explicit(&job->bad, memory_order_relaxed) ||
            !factor_front(job->t, job->value, &job->t->front[j])) {
            atomic_store(&job->bad, true);
            return;
        }
    }
}

/* The part of `count` rows or columns of a lane, in multiples of a tile. */
static void lane_rows(const perpi_lane* lane, int32_t count, int32_t* begin, int32_t* end)
{
    const int32_t tiles = (count + PERPI_TILE - 1) / PERPI_TILE;
    *begin = PERPI_TILE * (int32_t)((int64_t)tiles * lane->index / lane->count);
    *end = PERPI_TILE * (int32_t)((int64_t)tiles * (lane->index + 1) / lane->count);
    *end = *end < count ? *end : count;
    *begin = *begin < count ? *begin : count;
}

/* A front of the top, by all lanes. */
static void factor_together(const perpi_lane* lane, front_job* job, const perpi_front* f)
{
    perpi_fronts* t = job->t;
    double* value = job->value;
    const double n = f->n, m = f->m;
    int32_t begin, end;
    if (lane->count == 1 || n * (n + m) * m < GRAIN_FRONT) {
        if (lane->index == 0 && !factor_front(t, value, f)) {
            atomic_store(&job->bad, true);
        }
        perpi_lane_wait(lane);
        return;
    }
    lane_rows(lane, f->n + f->m, &begin, &end);
    assemble_rows(t, value, f, begin, end);
    perpi_lane_wait(lane);
    if (lane->index == 0 && !perpi_lu_front(f->n, value + f->D, t->pivot + f->first)) {
        atomic_store(&job->bad, true);
    }
    perpi_lane_wait(lane);
    if (atomic_load(&job->bad)) {
        return; /* all lanes do */
    }
    lane_rows(lane, f->m, &begin, &end);
    perpi_solve_columns(f->n, value + f->D, t->pivot + f->first, f->m, value + f->U, begin, end);
    perpi_lane_wait(lane);
    perpi_subtract_front(end - begin, f->n, f->m, value + f->L + (size_t)begin * (size_t)f->n,
                         value + f->U, t->contribution + f->C + (size_t)begin * (size_t)f->m);
    perpi_lane_wait(lane);
}

static perp_status factor_lane(perpi_lane* lane, void* data)
{
    front_job* job = data;
    visit_parts(lane, job, factor_part);
    perpi_lane_wait(lane);
    for (int32_t j = 0; j < job->t->count && !atomic_load(&job->bad); ++j) {
        if (job->t->front[j].top) {
            factor_together(lane, job, &job->t->front[j]);
        }
    }
    return PERP_OK;
}

bool perpi_fronts_factor(perpi_fronts* t, double* value)
{
    front_job job = {.t = t, .value = value};
    atomic_init(&job.bad, false);
    const int32_t lanes = perpi_lanes_for(t->context, (int64_t)t->work, GRAIN_FACTOR);
    const perp_status status = perpi_run_lanes(t->context, lanes, factor_lane, &job);
    return status == PERP_OK && !atomic_load(&job.bad);
}

/* ---- solution ------------------------------------------------------------------------------------------*/

/* A = (L_k below D_k) (I beside U_k): x_k <- D_k^-1 x_k, then out of the later rows, by way of w. */
PERPI_INLINE void forward_front(front_job* job, const perpi_front* f, int32_t n)
{
    const perpi_fronts* t = job->t;
    double *x = job->x + f->first, *w = t->vector + f->w;
    perpi_clear_row(f->m, w);
    for (int32_t c = f->child; c >= 0; c = t->front[c].next) {
        const perpi_front* child = &t->front[c];
        for (int32_t a = child->run; a < child->run_end; ++a) {
            const perpi_row_run* r = &t->run[a];
            perpi_add_row(r->length, t->vector + child->w + r->from,
                          r->to < n ? x + r->to : w + (r->to - n));
        }
    }
    if (n <= PERPI_LU_MOST) {
        perpi_lu_solve_front(n, job->value + f->D, t->pivot + f->first, x);
    } else {
        perpi_lu_solve(n, job->value + f->D, t->pivot + f->first, x);
    }
    perpi_subtract_product(f->m, n, job->value + f->L, x, w);
}

PERPI_INLINE void backward_front(front_job* job, const perpi_front* f, int32_t n)
{
    const perpi_fronts* t = job->t;
    double *x = job->x + f->first, *w = t->vector + f->w;
    for (int32_t a = f->row; a < f->row_end; ++a) {
        const perpi_row_run* r = &t->run[a];
        perpi_copy_row(r->length, job->x + r->to, w + r->from);
    }
    perpi_subtract_product(n, f->m, job->value + f->U, w, x);
}

PERPI_WIDE static void forward_part(front_job* job, const perpi_front_part* part)
{
    for (int32_t j = part->begin; j < part->end; ++j) {
        const perpi_front* f = &job->t->front[j];
        if (f->n == PERPI_QUARTER) {
            forward_front(job, f, PERPI_QUARTER);
        } else {
            forward_front(job, f, f->n);
        }
    }
}

PERPI_WIDE static void backward_part(front_job* job, const perpi_front_part* part)
{
    for (int32_t j = part->end - 1; j >= part->begin; --j) {
        const perpi_front* f = &job->t->front[j];
        if (f->n == PERPI_QUARTER) {
            backward_front(job, f, PERPI_QUARTER);
        } else {
            backward_front(job, f, f->n);
        }
    }
}

static perp_status solve_lane(perpi_lane* lane, void* data)
{
    front_job* job = data;
    const perpi_fronts* t = job->t;
    visit_parts(lane, job, forward_part);
    perpi_lane_wait(lane);
    for (int32_t j = 0; lane->index == 0 && j < t->count; ++j) {
        if (t->front[j].top) {
            const perpi_front_part top = {j, j + 1, 0.0};
            forward_part(job, &top);
        }
    }
    for (int32_t j = t->count - 1; lane->index == 0 && j >= 0; --j) {
        if (t->front[j].top) {
            const perpi_front_part top = {j, j + 1, 0.0};
            backward_part(job, &top);
        }
    }
    perpi_lane_wait(lane);
    visit_parts(lane, job, backward_part);
    return PERP_OK;
}

void perpi_fronts_solve(perpi_fronts* t, const double* value, double* x)
{
    front_job job = {.t = t, .value = (double*)value, .x = x};
    const int32_t lanes = perpi_lanes_for(t->context, (int64_t)t->value_count, GRAIN_SOLVE);
    if (perpi_run_lanes(t->context, lanes, solve_lane, &job) != PERP_OK) {
        x[0] = NAN; /* does not happen: no lane fails */
    }
}

int perpi_fronts_sign(const perpi_fronts* t, const double* value)
{
    int sign = 1;
    for (int32_t k = 0; k < t->count; ++k) {
        const perpi_front* f = &t->front[k];
        sign *= perpi_lu_sign(f->n, value + f->D, t->pivot + f->first);
    }
    return sign;
}
