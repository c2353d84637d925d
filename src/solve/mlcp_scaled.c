/* src/solve/mlcp_scaled.c - see mlcp_scaled.h.
 *
 * The scales: D_i = 1/sqrt(|M_ii|), for a zero diagonal from what couples the row or the column to
 * scaled ones, as perpi_lcp_equilibrate does for an LCP. All unknowns of a mechanical problem are
 * then square roots of energies, whatever its units. Then two rounds in which every row and every
 * column is divided by the root of its largest entry, for problems (circuits) whose matrix is not
 * nearly symmetric.
 */
#include "solve/mlcp_scaled.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUNDS 2
#define SNAP (64.0 * DBL_EPSILON) /* relative to the largest scaled unknown */

static perp_status scaled_reserve(perp_context* context, perpi_mlcp_scaled* s, int32_t n,
                                  int32_t nnz)
{
    const size_t m = (size_t)n, entries = (size_t)nnz + m;
    struct {
        void* array;
        size_t need, size;
    } item[] = {
        {&s->vector, 8 * m, sizeof(double)},   {&s->M_start, m + 1, sizeof(int32_t)},
        {&s->M_row, entries, sizeof(int32_t)}, {&s->M_value, entries, sizeof(double)},
        {&s->kind, m, sizeof *s->kind},        {&s->diagonal, m, sizeof(int32_t)},
    };
    for (size_t i = 0; i < sizeof item / sizeof item[0]; ++i) {
        const perp_status status =
            perpi_grow(context, item[i].array, &s->capacity[i], item[i].need, item[i].size);
        if (status != PERP_OK) {
            return status;
        }
    }
    s->n = n;
    s->q = s->vector;
    s->U = s->q + m;
    s->row = s->U + m;
    s->column = s->row + m;
    s->sign = s->column + m;
    s->base = s->sign + m;
    return PERP_OK;
}

void perpi_mlcp_scaled_free(perp_context* context, perpi_mlcp_scaled* s)
{
    perpi_free(context, s->vector);
    perpi_free(context, s->M_start);
    perpi_free(context, s->M_row);
    perpi_free(context, s->M_value);
    perpi_free(context, s->kind);
    perpi_free(context, s->diagonal);
    *s = (perpi_mlcp_scaled){0};
}

/* M with every diagonal entry present. */
static void copy_matrix(perpi_mlcp_scaled* s, const perp_sparse* M)
{
    int32_t at = 0;
    for (int32_t j = 0; j < s->n; ++j) {
        s->M_start[j] = at;
        bool diagonal = false;
        for (int32_t e = M->start[j]; e < M->start[j + 1]; ++e) {
            if (!diagonal && M->row[e] >= j) {
                diagonal = true;
                s->diagonal[j] = at;
                if (M->row[e] > j) {
                    s->M_row[at] = j;
                    s->M_value[at++] = 0.0;
                }
            }
            s->M_row[at] = M->row[e];
            s->M_value[at++] = M->value[e];
        }
        if (!diagonal) {
            s->diagonal[j] = at;
            s->M_row[at] = j;
            s->M_value[at++] = 0.0;
        }
    }
    s->M_start[s->n] = at;
    s->M = (perp_sparse){s->n, s->n, s->M_start, s->M_row, s->M_value};
}

/* D: n, found: n scratch. */
static void symmetric_scales(const perpi_mlcp_scaled* s, double* D, double* found)
{
    const int32_t n = s->n;
    int32_t open = 0;
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(s->M_value[s->diagonal[i]]);
        D[i] = m > 0.0 ? 1.0 / sqrt(m) : 0.0;
        open += D[i] == 0.0;
    }
    while (open > 0) {
        memset(found, 0, (size_t)n * sizeof *found);
        for (int32_t j = 0; j < n; ++j) {
            for (int32_t e = s->M_start[j]; e < s->M_start[j + 1]; ++e) {
                const int32_t i = s->M_row[e];
                const double m = fabs(s->M_value[e]);
                if (D[i] > 0.0 && D[j] == 0.0) {
                    found[j] = m * D[i] > found[j] ? m * D[i] : found[j];
                } else if (D[j] > 0.0 && D[i] == 0.0) {
                    found[i] = m * D[j] > found[i] ? m * D[j] : found[i];
                }
            }
        }
        int32_t set = 0, first = -1;
        for (int32_t i = 0; i < n; ++i) {
            if (D[i] == 0.0 && found[i] > 0.0) {
                D[i] = 1.0 / found[i];
                ++set;
            } else if (D[i] == 0.0 && first < 0) {
                first = i;
            }
        }
        if (set == 0) { /* a component without a diagonal: scale one row by 1, the others from it */
            double largest = 0.0;
            for (int32_t e = s->M_start[first]; e < s->M_start[first + 1]; ++e) {
                const double m = fabs(s->M_value[e]);
                largest = m > largest ? m : largest;
            }
            D[first] = largest > 0.0 ? 1.0 / sqrt(largest) : 1.0;
            set = 1;
        }
        open -= set;
    }
}

/* Divides rows and columns by the roots of their largest entries; r, c: n scratch. */
static void equilibrate_mlcp(perpi_mlcp_scaled* s, double* r, double* c)
{
    const int32_t n = s->n;
    for (int32_t round = 0; round < ROUNDS; ++round) {
        memset(r, 0, (size_t)n * sizeof *r);
        for (int32_t j = 0; j < n; ++j) {
            c[j] = 0.0;
            for (int32_t e = s->M_start[j]; e < s->M_start[j + 1]; ++e) {
                const int32_t i = s->M_row[e];
                const double m = fabs(s->M_value[e]);
                r[i] = m > r[i] ? m : r[i];
                c[j] = m > c[j] ? m : c[j];
            }
        }
        for (int32_t i = 0; i < n; ++i) {
            r[i] = r[i] > 0.0 ? 1.0 / sqrt(r[i]) : 1.0;
            c[i] = c[i] > 0.0 ? 1.0 / sqrt(c[i]) : 1.0;
            s->row[i] *= r[i];
            s->column[i] *= c[i];
        }
        for (int32_t j = 0; j < n; ++j) {
            for (int32_t e = s->M_start[j]; e < s->M_start[j + 1]; ++e) {
                s->M_value[e] *= r[s->M_row[e]] * c[j];
            }
        }
    }
}

perp_status perpi_mlcp_scaled_make(perp_context* context, perpi_mlcp_scaled* s,
                                   const perp_mlcp* mlcp)
{
    const int32_t n = mlcp->M.cols;
    const perp_status status = scaled_reserve(context, s, n, mlcp->M.start[n]);
    if (status != PERP_OK) {
        return status;
    }
    copy_matrix(s, &mlcp->M);
    double* scratch = s->base + n; /* 2 n */
    symmetric_scales(s, s->row, scratch);
    memcpy(s->column, s->row, (size_t)n * sizeof *s->column);
    memcpy(s->q, mlcp->q, (size_t)n * sizeof *s->q);
    for (int32_t j = 0; j < n; ++j) {
        const bool below = mlcp->lower[j] > -INFINITY, above = mlcp->upper[j] < INFINITY;
        s->kind[j] = !below && !above                   ? PERPI_UNKNOWN_FREE
                     : mlcp->lower[j] == mlcp->upper[j] ? PERPI_UNKNOWN_FIXED
                                                        : PERPI_UNKNOWN_BOUNDED;
        s->base[j] = below ? mlcp->lower[j] : above ? mlcp->upper[j] : 0.0;
        s->sign[j] = above && !below ? -1.0 : 1.0;
        if (s->base[j] != 0.0) {
            for (int32_t e = mlcp->M.start[j]; e < mlcp->M.start[j + 1]; ++e) {
                s->q[mlcp->M.row[e]] += mlcp->M.value[e] * s->base[j];
            }
        }
    }
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t e = s->M_start[j]; e < s->M_start[j + 1]; ++e) {
            const int32_t i = s->M_row[e];
            s->M_value[e] *= s->sign[i] * s->row[i] * s->column[j] * s->sign[j];
        }
    }
    equilibrate_mlcp(s, scratch, scratch + n);
    double size = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        s->q[i] *= s->sign[i] * s->row[i];
        const double m = fabs(s->q[i]);
        size = m > size ? m : size;
    }
    s->size = size > 0.0 ? size : 1.0;
    for (int32_t i = 0; i < n; ++i) {
        s->q[i] /= s->size;
        s->U[i] = s->kind[i] == PERPI_UNKNOWN_BOUNDED && mlcp->lower[i] > -INFINITY
                      ? (mlcp->upper[i] - mlcp->lower[i]) / (s->column[i] * s->size)
                      : INFINITY;
    }
    return PERP_OK;
}

double perpi_mlcp_scaled_from(const perpi_mlcp_scaled* s, const perp_mlcp* mlcp, int32_t i,
                              double z_scaled)
{
    if (z_scaled >= s->U[i]) {
        return mlcp->upper[i];
    }
    const double z = s->base[i] + s->sign[i] * s->size * s->column[i] * z_scaled;
    const double raised = z < mlcp->lower[i] ? mlcp->lower[i] : z;
    return raised > mlcp->upper[i] ? mlcp->upper[i] : raised;
}

double perpi_mlcp_scaled_to(const perpi_mlcp_scaled* s, int32_t i, double z)
{
    return s->sign[i] * (z - s->base[i]) / (s->size * s->column[i]);
}

void perpi_mlcp_scaled_snap(const perpi_mlcp_scaled* s, double* z)
{
    double largest = 0.0;
    for (int32_t j = 0; j < s->n; ++j) {
        const double m = fabs(perpi_mlcp_scaled_to(s, j, z[j]));
        largest = m > largest ? m : largest;
    }
    for (int32_t j = 0; j < s->n; ++j) {
        if (fabs(perpi_mlcp_scaled_to(s, j, z[j])) <= SNAP * largest) {
            z[j] = s->base[j];
        }
    }
}
