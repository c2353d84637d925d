/* src/solve/newton/newton_box.c - see newton_box.h.
 *
 * Source     D. Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in matrices",
 *            RAL-TR-2001-034 (largest-entry norm)
 * Departure  factors rounded to powers of two at the end
 */
#include "solve/newton/newton_box.h"

#include <math.h>
#include <string.h>

#define RUIZ_ROUNDS 12
#define EXPONENT_MOST 300.0

/* The residual is relative to the size of the point. A point that diverges, because the problem has
 * no solution, therefore passes the check in the end, and so does a point whose small unknowns have
 * other units than its large ones. Hence the scaled natural map must also be small relative to the
 * problem. */
#define CHECK_AGAIN 1e-6
#define NATURAL 1e-7
#define NATURAL_MOST 1e-3
#define ROUNDING 1e-14 /* of the largest unknown */

/* ---- the forms -----------------------------------------------------------------------------------*/

void perpi_box_store_init(perpi_box_store* store, perp_context* context)
{
    *store = (perpi_box_store){.context = context};
}

void perpi_box_store_free(perpi_box_store* store)
{
    perpi_lcp_columns_free(store->context, &store->columns);
}

static double residual_of_lcp(const void* problem, const double* z, double* work)
{
    (void)work;
    return perp_lcp_check_residual(problem, z);
}

static double residual_of_mlcp(const void* problem, const double* z, double* work)
{
    return perp_mlcp_check_residual(problem, z, work);
}

static double residual_of_ncp(const void* problem, const double* z, double* work)
{
    return perp_ncp_check_residual(problem, z, work);
}

void perpi_box_from_mlcp(const perp_mlcp* problem, perpi_box_form* form)
{
    *form = (perpi_box_form){.affine = true,
                             .room = (size_t)problem->M.start[problem->M.cols],
                             .problem = problem,
                             .check_residual = residual_of_mlcp};
    perpi_mlcp_to_ncp(problem, &form->ncp);
}

perp_status perpi_box_from_lcp(perpi_box_store* store, const perp_lcp* problem,
                               perpi_box_form* form)
{
    const size_t n = (size_t)problem->n;
    const perp_status status =
        perpi_lcp_to_mlcp(store->context, &store->columns, problem, n * n, &store->mlcp);
    if (status != PERP_OK) {
        return status;
    }
    perpi_box_from_mlcp(&store->mlcp, form);
    form->room = n * n;
    form->problem = problem;
    form->check_residual = residual_of_lcp;
    return PERP_OK;
}

void perpi_box_from_ncp(const perp_ncp* problem, perpi_box_form* form)
{
    *form = (perpi_box_form){.ncp = *problem,
                             .room = (size_t)problem->pattern.start[problem->n],
                             .problem = problem,
                             .check_residual = residual_of_ncp};
}

/* ---- the scaled view -----------------------------------------------------------------------------*/

void perpi_box_init(perpi_box* box, perp_context* context)
{
    *box = (perpi_box){.context = context};
}

void perpi_box_free(perpi_box* box)
{
    perpi_free(box->context, box->memory);
}

/* The power of two nearest to x, limited so that products of three neither overflow nor
 * underflow. */
static double power_of_two(double x)
{
    if (!(x > 0.0) || !(x < INFINITY)) {
        return 1.0;
    }
    const double e = round(log2(x));
    return exp2(e < -EXPONENT_MOST ? -EXPONENT_MOST : e > EXPONENT_MOST ? EXPONENT_MOST : e);
}

/* R, C for the raw Jacobian in value. row, col: n each, scratch. */
static void equilibrate_box(perpi_box* box, double* row, double* col)
{
    const int32_t n = box->n;
    for (int32_t i = 0; i < n; ++i) {
        box->R[i] = box->C[i] = 1.0;
    }
    for (int32_t round = 0; round < RUIZ_ROUNDS; ++round) {
        memset(row, 0, (size_t)n * sizeof *row);
        memset(col, 0, (size_t)n * sizeof *col);
        for (int32_t j = 0; j < n; ++j) {
            for (int32_t e = box->start[j]; e < box->start[j + 1]; ++e) {
                const int32_t i = box->row[e];
                const double m = fabs(box->value[e]) * box->R[i] * box->C[j];
                row[i] = m > row[i] ? m : row[i];
                col[j] = m > col[j] ? m : col[j];
            }
        }
        for (int32_t i = 0; i < n; ++i) {
            box->R[i] /= row[i] > 0.0 && row[i] < INFINITY ? sqrt(row[i]) : 1.0;
            box->C[i] /= col[i] > 0.0 && col[i] < INFINITY ? sqrt(col[i]) : 1.0;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        box->R[i] = power_of_two(box->R[i]);
        box->C[i] = power_of_two(box->C[i]);
    }
}

static void scale_values(perpi_box* box)
{
    for (int32_t j = 0; j < box->n; ++j) {
        for (int32_t e = box->start[j]; e < box->start[j + 1]; ++e) {
            box->value[e] *= box->R[box->row[e]] * box->C[j];
        }
    }
}

/* The size of the problem in scaled units: the largest of R F at the feasible point nearest to
 * zero, of the bounds and of the guess. */
static double problem_size(const perpi_box* box, const double* z, const double* F)
{
    double size = 0.0;
    for (int32_t i = 0; i < box->n; ++i) {
        const double f = fabs(box->R[i] * F[i]);
        size = f > size && f < INFINITY ? f : size;
        const double c = fabs(z[i]) / box->C[i];
        size = c > size ? c : size;
        const double l = box->form->ncp.lower[i], u = box->form->ncp.upper[i];
        const double least = l > 0.0 ? l / box->C[i] : u < 0.0 ? -u / box->C[i] : 0.0;
        size = least > size ? least : size;
    }
    return size;
}

perp_status perpi_box_setup(perpi_box* box, const perpi_box_form* form, const double* z)
{
    const perp_ncp* p = &form->ncp;
    const size_t n = (size_t)p->n, nnz = (size_t)p->pattern.start[n];
    perp_status status = perpi_grow(box->context, &box->memory, &box->memory_capacity,
                                    7 * n + 2 * form->room, sizeof *box->memory);
    if (status != PERP_OK) {
        return status;
    }
    box->form = form;
    box->n = p->n;
    box->nnz = (int32_t)nnz;
    box->start = p->pattern.start;
    box->row = p->pattern.row;
    box->R = box->memory;
    box->C = box->R + n;
    box->l = box->C + n;
    box->u = box->l + n;
    box->z = box->u + n;
    box->work = box->z + n;
    box->value = box->work + 2 * n + nnz;
    for (size_t i = 0; i < n; ++i) {
        box->z[i] = z[i] < p->lower[i] ? p->lower[i] : z[i] > p->upper[i] ? p->upper[i] : z[i];
    }
    status = p->jacobian(p->user, box->z, box->value);
    if (status == PERP_OK) {
        equilibrate_box(box, box->work, box->work + n);
        scale_values(box);
        status = p->function(p->user, box->z, box->work);
    }
    if (status != PERP_OK) {
        return status;
    }
    box->s = power_of_two(problem_size(box, box->z, box->work));
    for (size_t i = 0; i < n; ++i) {
        box->l[i] = p->lower[i] / (box->s * box->C[i]);
        box->u[i] = p->upper[i] / (box->s * box->C[i]);
    }
    return PERP_OK;
}

void perpi_box_to_y(const perpi_box* box, const double* z, double* y)
{
    for (int32_t i = 0; i < box->n; ++i) {
        y[i] = z[i] / (box->s * box->C[i]);
    }
}

void perpi_box_project(const perpi_box* box, const double* y, double* p)
{
    for (int32_t i = 0; i < box->n; ++i) { /* keeps a NaN visible */
        p[i] = y[i] < box->l[i] ? box->l[i] : y[i] > box->u[i] ? box->u[i] : y[i];
    }
}

void perpi_box_to_z(const perpi_box* box, const double* y, double* z)
{
    perpi_box_project(box, y, z);
    for (int32_t i = 0; i < box->n; ++i) {
        z[i] *= box->s * box->C[i];
    }
}

void perpi_box_give(perpi_box* box, const double* y, double* z)
{
    const perp_ncp* p = &box->form->ncp;
    bool finite = true;
    perpi_box_to_z(box, y, box->z);
    for (int32_t i = 0; i < box->n; ++i) {
        finite = finite && isfinite(box->z[i]);
    }
    for (int32_t i = 0; i < box->n; ++i) {
        const double t = finite ? box->z[i] : z[i];
        z[i] = t < p->lower[i] ? p->lower[i] : t > p->upper[i] ? p->upper[i] : t;
    }
}

perp_status perpi_box_function(perpi_box* box, const double* y, double* G)
{
    const perp_ncp* p = &box->form->ncp;
    for (int32_t i = 0; i < box->n; ++i) {
        box->z[i] = y[i] * (box->s * box->C[i]);
    }
    const perp_status status = p->function(p->user, box->z, G);
    for (int32_t i = 0; i < box->n && status == PERP_OK; ++i) {
        G[i] *= box->R[i] / box->s;
    }
    return status;
}

perp_status perpi_box_jacobian(perpi_box* box, const double* y)
{
    if (box->form->affine) {
        return PERP_OK;
    }
    const perp_ncp* p = &box->form->ncp;
    for (int32_t i = 0; i < box->n; ++i) {
        box->z[i] = y[i] * (box->s * box->C[i]);
    }
    const perp_status status = p->jacobian(p->user, box->z, box->value);
    if (status == PERP_OK) {
        scale_values(box);
    }
    return status;
}

/* The largest entry of y - mid(l, y - G, u) at box->z, and how much of it may be rounding. */
static double natural_map(perpi_box* box, double* rounding)
{
    const perp_ncp* p = &box->form->ncp;
    double *F = box->work, worst = 0.0, largest = 0.0;
    if (p->function(p->user, box->z, F) != PERP_OK) {
        return INFINITY;
    }
    for (int32_t i = 0; i < box->n; ++i) {
        const double y = box->z[i] / (box->s * box->C[i]), G = F[i] * (box->R[i] / box->s);
        const double t = y - G;
        const double e = fabs(y - (t < box->l[i] ? box->l[i] : t > box->u[i] ? box->u[i] : t));
        worst = !(e <= worst) ? e : worst;
        largest = fabs(y) > largest ? fabs(y) : largest;
    }
    *rounding = ROUNDING * largest;
    return worst;
}

double perpi_box_residual(perpi_box* box, const double* y)
{
    perpi_box_to_z(box, y, box->z);
    double residual = box->form->check_residual(box->form->problem, box->z, box->work);
    if (residual <= CHECK_AGAIN) {
        double rounding = 0.0;
        const double natural = natural_map(box, &rounding);
        const double limit = NATURAL + rounding;
        if (!(natural <= (limit < NATURAL_MOST ? limit : NATURAL_MOST))) {
            residual = natural < 1.0 ? natural : 1.0;
        }
    }
    return residual;
}

static double next_uniform(uint64_t* state)
{
    uint64_t t = (*state += 0x9e3779b97f4a7c15u);
    t = (t ^ (t >> 30)) * 0xbf58476d1ce4e5b9u;
    t = (t ^ (t >> 27)) * 0x94d049bb133111ebu;
    return (double)((t ^ (t >> 31)) >> 11) * 0x1.0p-53;
}

void perpi_box_random(const perpi_box* box, uint64_t seed, double* y)
{
    const double size = exp2(4.0 * next_uniform(&seed) - 3.0);
    for (int32_t i = 0; i < box->n; ++i) {
        const double t = size * next_uniform(&seed), l = box->l[i], u = box->u[i];
        const double zero = l > 0.0 ? l : u < 0.0 ? u : 0.0;
        y[i] = zero + (l == zero ? t : u == zero ? -t : t - 0.5 * size);
    }
    perpi_box_project(box, y, y);
}

void perpi_box_pattern(const perpi_box* box, int32_t* start, int32_t* row)
{
    int32_t count = 0;
    for (int32_t j = 0; j < box->n; ++j) {
        bool diagonal = false;
        start[j] = count;
        for (int32_t e = box->start[j]; e < box->start[j + 1]; ++e) {
            if (!diagonal && box->row[e] >= j) {
                diagonal = true;
                if (box->row[e] > j) {
                    row[count++] = j;
                }
            }
            row[count++] = box->row[e];
        }
        if (!diagonal) {
            row[count++] = j;
        }
    }
    start[box->n] = count;
}

void perpi_box_multiply_add(const perpi_box* box, const double* x, double* r)
{
    for (int32_t j = 0; j < box->n; ++j) {
        for (int32_t e = box->start[j]; e < box->start[j + 1]; ++e) {
            r[box->row[e]] += box->value[e] * x[j];
        }
    }
}

void perpi_box_multiply_transposed_add(const perpi_box* box, const double* x, double* r)
{
    for (int32_t j = 0; j < box->n; ++j) {
        double t = 0.0;
        for (int32_t e = box->start[j]; e < box->start[j + 1]; ++e) {
            t += box->value[e] * x[box->row[e]];
        }
        r[j] += t;
    }
}
