/* src/solve/pivoting/pivot_enumerate.c - every complementary piece of a small problem.
 *
 * The solution set of an MLCP is a union of polyhedra, one for each choice "at the lower bound, at
 * the upper bound, or between" of every bounded unknown. Whether a polyhedron has a point is a
 * linear program in phase 1: minimise the sum of artificial variables of A x = b, x >= 0. A vertex
 * of it need not belong to a regular complementary basis, so this also finds solutions at which no
 * path ends. If every minimum is clearly above zero there is no solution.
 */
#include <math.h>
#include <string.h>

#include "solve/monitor.h"
#include "solve/pivoting/pivot.h"

#define LARGEST 40         /* most unknowns in all */
#define MOST_PIECES 200000 /* pieces tried */
#define MOST_WORK 5e8      /* multiplications in all: some tenths of a second */
#define FEASIBLE 1e-9      /* on the sum of artificial variables, relative to the largest b */
#define INFEASIBLE 1e-7    /* above this there is certainly no point */
#define ZERO 1e-11         /* entries of the tableau */

typedef struct tableau {
    int32_t rows, cols;
    double* T; /* (rows + 1) x (cols + 1); the last row holds reduced costs, the last column b */
    int32_t* basic; /* rows: the column that is basic there, -1: artificial */
    double work;    /* multiplications of all exchanges, at most */
} tableau;

static double* tableau_entry(const tableau* t, int32_t i, int32_t j)
{
    return t->T + (size_t)i * (size_t)(t->cols + 1) + j;
}

static void tableau_exchange(tableau* t, int32_t r, int32_t c)
{
    const int32_t width = t->cols + 1;
    double* row = tableau_entry(t, r, 0);
    const double pivot = row[c];
    for (int32_t j = 0; j < width; ++j) {
        row[j] /= pivot;
    }
    for (int32_t i = 0; i <= t->rows; ++i) {
        double* other = tableau_entry(t, i, 0);
        const double f = other[c];
        if (i == r || f == 0.0) {
            continue;
        }
        for (int32_t j = 0; j < width; ++j) {
            other[j] -= f * row[j];
        }
        other[c] = 0.0;
    }
    t->basic[r] = c;
    t->work += (double)(t->rows + 1) * (double)width;
}

/* Phase 1; returns the least sum of the artificial variables, NaN if it does not end. */
static double phase_one(tableau* t)
{
    const int32_t rows = t->rows, cols = t->cols;
    for (int32_t i = 0; i < rows; ++i) {
        double* row = tableau_entry(t, i, 0);
        const double sign = row[cols] < 0.0 ? -1.0 : 1.0;
        for (int32_t j = 0; j <= cols; ++j) {
            row[j] *= sign;
        }
        t->basic[i] = -1;
    }
    double* cost = tableau_entry(t, rows, 0);
    memset(cost, 0, (size_t)(cols + 1) * sizeof *cost);
    for (int32_t i = 0; i < rows; ++i) {
        for (int32_t j = 0; j <= cols; ++j) {
            cost[j] += *tableau_entry(t, i, j);
        }
    }
    for (int32_t step = 0; step < 20 * (rows + cols); ++step) {
        const bool bland = step > 5 * rows; /* slower, but does not cycle */
        int32_t c = -1;
        double best = ZERO;
        for (int32_t j = 0; j < cols && !(bland && c >= 0); ++j) {
            if (cost[j] > best) {
                best = cost[j];
                c = j;
            }
        }
        if (c < 0) {
            return cost[cols];
        }
        int32_t r = -1;
        for (int32_t i = 0; i < rows; ++i) {
            const double d = *tableau_entry(t, i, c);
            if (d > ZERO && (r < 0 || *tableau_entry(t, i, cols) * *tableau_entry(t, r, c) <
                                          *tableau_entry(t, r, cols) * d)) {
                r = i;
            }
        }
        if (r < 0) {
            return NAN; /* the sum is bounded below: reached through rounding only */
        }
        tableau_exchange(t, r, c);
    }
    return NAN;
}

typedef enum choice { AT_LOWER, BETWEEN, AT_UPPER } choice;

/* The linear program of one piece. column[i]: where the variable of unknown i stands. */
static void tableau_set_up(const perpi_mlcp_scaled* P, const choice* state, tableau* t,
                           int32_t* column)
{
    const int32_t n = P->n;
    int32_t rows = n, cols = 0;
    for (int32_t i = 0; i < n; ++i) {
        column[i] = cols;
        const bool split =
            P->kind[i] != PERPI_UNKNOWN_BOUNDED; /* free z, or the w of a fixed one */
        const bool capped = !split && state[i] == BETWEEN && P->U[i] < INFINITY;
        cols += split || capped ? 2 : 1; /* a slack below the upper bound */
        rows += capped;
    }
    t->rows = rows;
    t->cols = cols;
    memset(t->T, 0, (size_t)(rows + 1) * (size_t)(cols + 1) * sizeof *t->T);
    int32_t cap = n;
    for (int32_t i = 0; i < n; ++i) {
        *tableau_entry(t, i, cols) += P->q[i];
        const int32_t c = column[i];
        if (P->kind[i] == PERPI_UNKNOWN_FIXED) {
            *tableau_entry(t, i, c) = 1.0;
            *tableau_entry(t, i, c + 1) = -1.0;
            continue;
        }
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED && state[i] != BETWEEN) {
            *tableau_entry(t, i, c) = state[i] == AT_LOWER ? 1.0 : -1.0;
            for (int32_t e = P->M_start[i]; state[i] == AT_UPPER && e < P->M_start[i + 1]; ++e) {
                *tableau_entry(t, P->M_row[e], cols) += P->M_value[e] * P->U[i];
            }
            continue;
        }
        for (int32_t e = P->M_start[i]; e < P->M_start[i + 1]; ++e) {
            *tableau_entry(t, P->M_row[e], c) = -P->M_value[e];
            if (P->kind[i] == PERPI_UNKNOWN_FREE) {
                *tableau_entry(t, P->M_row[e], c + 1) = P->M_value[e];
            }
        }
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED && P->U[i] < INFINITY) {
            *tableau_entry(t, cap, c) = 1.0;
            *tableau_entry(t, cap, c + 1) = 1.0;
            *tableau_entry(t, cap++, cols) = P->U[i];
        }
    }
}

/* z in the original units from the final tableau. */
static void read_point(perpi_pivot* s, const choice* state, const tableau* t, const int32_t* column)
{
    const perpi_mlcp_scaled* P = &s->problem;
    double* x = s->x; /* by unknown */
    memset(x, 0, (size_t)P->n * sizeof *x);
    for (int32_t i = 0; i < t->rows; ++i) {
        for (int32_t k = 0; k < P->n && t->basic[i] >= 0; ++k) {
            if (t->basic[i] == column[k]) {
                x[k] += *tableau_entry(t, i, t->cols);
            } else if (P->kind[k] == PERPI_UNKNOWN_FREE && t->basic[i] == column[k] + 1) {
                x[k] -= *tableau_entry(t, i, t->cols);
            }
        }
    }
    for (int32_t k = 0; k < P->n; ++k) {
        if (P->kind[k] == PERPI_UNKNOWN_FIXED ||
            (P->kind[k] == PERPI_UNKNOWN_BOUNDED && state[k] != BETWEEN)) {
            x[k] = P->kind[k] == PERPI_UNKNOWN_BOUNDED && state[k] == AT_UPPER ? P->U[k] : 0.0;
        }
        s->z[k] = perpi_mlcp_scaled_from(P, s->mlcp, k, x[k]);
    }
}

/* The next combination of choices; false after the last. */
static bool next_piece(const perpi_mlcp_scaled* P, choice* state)
{
    for (int32_t i = 0; i < P->n; ++i) {
        if (P->kind[i] != PERPI_UNKNOWN_BOUNDED) {
            continue;
        }
        if (state[i] == AT_LOWER || (state[i] == BETWEEN && P->U[i] < INFINITY)) {
            state[i] = state[i] == AT_LOWER ? BETWEEN : AT_UPPER;
            return true;
        }
        state[i] = AT_LOWER;
    }
    return false;
}

perpi_path_end perpi_pivot_enumerate(perpi_pivot* s)
{
    const perpi_mlcp_scaled* P = &s->problem;
    const int32_t n = P->n;
    double pieces = 1.0;
    int32_t bounded = 0;
    for (int32_t i = 0; i < n; ++i) {
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            ++bounded;
            pieces *= P->U[i] < INFINITY ? 3.0 : 2.0;
        }
    }
    if (n > LARGEST || bounded > s->set.enumerate_limit || pieces > MOST_PIECES || s->regularised ||
        s->no_enumeration) {
        return PERPI_PATH_LIMIT;
    }
    enum { TABLEAU = (2 * LARGEST + 1) * (2 * LARGEST + 1) };
    s->status =
        perpi_grow(s->context, &s->enumeration, &s->capacity[3], TABLEAU, sizeof *s->enumeration);
    if (s->status != PERP_OK) {
        return PERPI_PATH_BREAKDOWN;
    }
    choice state[LARGEST] = {AT_LOWER};
    int32_t column[LARGEST], basic[2 * LARGEST];
    tableau t = {.T = s->enumeration, .basic = basic};
    bool certain = true;
    int32_t count = 0;
    do {
        const perp_outcome interrupt =
            ++count % 64 == 0 ? perpi_monitor_interrupt(s->options, &s->clock) : PERP_OUTCOME_UNSET;
        if (interrupt != PERP_OUTCOME_UNSET) {
            return interrupt == PERP_OUTCOME_TIME_LIMIT ? PERPI_PATH_TIME : PERPI_PATH_CANCELLED;
        }
        tableau_set_up(P, state, &t, column);
        const double least = phase_one(&t);
        if (least <= FEASIBLE) {
            read_point(s, state, &t, column);
            if (perp_mlcp_check_residual(s->mlcp, s->z, s->work) <= s->options->tolerance) {
                return PERPI_PATH_SOLVED;
            }
        }
        certain = certain && least > INFEASIBLE;
        if (t.work > MOST_WORK) {
            return PERPI_PATH_LIMIT;
        }
    } while (next_piece(P, state));
    return certain ? PERPI_PATH_RAY : PERPI_PATH_LIMIT;
}

void perpi_pivot_enumerates(void* self, bool enumerates)
{
    ((perpi_pivot*)self)->no_enumeration = !enumerates;
}
