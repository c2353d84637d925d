/* src/solve/pivoting/pivot_start.c - complementary bases to start from.
 *
 * Free unknowns are basic, so the block of their rows and columns must be regular. Where it is not
 * (a node of a circuit that only diodes connect, a redundant joint), a bounded unknown j joins
 * them: w_j leaves for the free unknown that is left over, then z_j enters for the equation that is
 * left over, and (w_j, z_j) is complementary again. An equation that nothing can be paired with
 * keeps its w as an artificial variable with both bounds equal to 0.
 */
#include <math.h>
#include <string.h>

#include "solve/pivoting/pivot.h"

#define REGULAR 1e-9 /* a pivot of the equilibrated tableau, relative to its column */

static void basis_exchange(perpi_pivot* s, int32_t p, int32_t variable)
{
    perpi_pivot_basis_exchange(&s->basis, p, variable, s->d);
}

/* d of z_j; its largest entry. */
static double entering_column(perpi_pivot* s, int32_t j)
{
    double largest = 0.0;
    perpi_pivot_basis_column(&s->basis, s->basis.n + j, s->d);
    for (int32_t p = 0; p < s->basis.n; ++p) {
        const double m = fabs(s->d[p]);
        largest = m > largest ? m : largest;
    }
    return largest;
}

/* The position with the largest |d| among those that hold the w of a free row, -1: none is above
 * the threshold. */
static int32_t free_row(const perpi_pivot* s, double least)
{
    const perpi_pivot_basis* b = &s->basis;
    int32_t best = -1;
    for (int32_t p = 0; p < b->n; ++p) {
        const int32_t v = b->var[p];
        if (v < b->n && s->problem.kind[v] == PERPI_UNKNOWN_FREE && fabs(s->d[p]) > least) {
            best = p;
            least = fabs(s->d[p]);
        }
    }
    return best;
}

/* Free unknown c could not enter for an equation: through a bounded one. */
static void pair_up(perpi_pivot* s, int32_t c)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    double below = INFINITY; /* candidates by falling |d| */
    for (int32_t tries = 0; tries < 8; ++tries) {
        const double least = REGULAR * entering_column(s, c);
        int32_t p = -1;
        double largest = least;
        for (int32_t k = 0; k < n; ++k) {
            const int32_t v = b->var[k];
            const double m = fabs(s->d[k]);
            if (v < n && s->problem.kind[v] == PERPI_UNKNOWN_BOUNDED && m > largest && m < below) {
                p = k;
                largest = m;
            }
        }
        if (p < 0) {
            return;
        }
        below = largest;
        const int32_t j = b->var[p];
        basis_exchange(s, p, n + c);
        const int32_t row = free_row(s, REGULAR * entering_column(s, j));
        if (row >= 0) {
            basis_exchange(s, row, n + j);
            return;
        }
        perpi_pivot_basis_column(b, j, s->d); /* undo */
        basis_exchange(s, p, j);
    }
}

/* An equation left over whose row of the tableau has no entry in a column of a variable that can
 * change holds or fails independently of all variables. (If it fails there is no solution, and the
 * residual shows it.) */
static void find_redundant(perpi_pivot* s)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    double* largest = s->cover; /* by row */
    int32_t open = 0;
    for (int32_t i = 0; i < n; ++i) {
        largest[i] = 0.0;
        open += s->partner[i] >= 0;
    }
    for (int32_t v = 0; v < 2 * n && open > 0; ++v) {
        const perpi_unknown kind = s->problem.kind[v < n ? v : v - n];
        if (b->where[v] >= 0 || kind == PERPI_UNKNOWN_FIXED ||
            (v < n && kind == PERPI_UNKNOWN_FREE)) {
            continue;
        }
        perpi_pivot_basis_column(b, v, s->d);
        for (int32_t i = 0; i < n; ++i) {
            if (s->partner[i] >= 0 && fabs(s->d[b->where[i]]) > largest[i]) {
                largest[i] = fabs(s->d[b->where[i]]);
            }
        }
    }
    for (int32_t i = 0; i < n && open > 0; ++i) {
        if (s->partner[i] >= 0 && largest[i] <= REGULAR) {
            s->partner[i] = PERPI_PIVOT_REDUNDANT;
        }
    }
}

/* All free unknowns that can be made basic; the rest get an artificial partner. */
static void enter_free(perpi_pivot* s)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    for (int32_t pass = 0; pass < 2; ++pass) { /* first those with a good pivot */
        for (int32_t c = 0; c < n; ++c) {
            if (s->problem.kind[c] != PERPI_UNKNOWN_FREE || b->where[n + c] >= 0) {
                continue;
            }
            const int32_t p = free_row(s, (pass == 0 ? 0.01 : REGULAR) * entering_column(s, c));
            if (p >= 0) {
                basis_exchange(s, p, n + c);
            }
        }
    }
    for (int32_t c = 0; c < n; ++c) {
        if (s->problem.kind[c] == PERPI_UNKNOWN_FREE && b->where[n + c] < 0) {
            pair_up(s, c);
        }
    }
    int32_t c = 0;
    for (int32_t i = 0; i < n; ++i) {
        s->partner[i] = PERPI_PIVOT_NO_PARTNER;
        if (s->problem.kind[i] != PERPI_UNKNOWN_FREE || b->where[i] < 0) {
            continue;
        }
        while (s->problem.kind[c] != PERPI_UNKNOWN_FREE || b->where[n + c] >= 0) {
            ++c;
        }
        s->partner[i] = c++;
    }
    find_redundant(s);
}

/* Wanted bounded unknowns by principal pivots of order 1, then 2; what is left stays at a bound. */
static void enter_wanted(perpi_pivot* s)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    bool again = true;
    while (again) {
        again = false;
        for (int32_t j = 0; j < n; ++j) {
            if (!s->wanted[j] || b->where[j] < 0) {
                continue;
            }
            const double least = 1e-6 * entering_column(s, j);
            const int32_t p = b->where[j];
            if (fabs(s->d[p]) > least) {
                basis_exchange(s, p, n + j);
                again = true;
                continue;
            }
            for (int32_t i = j + 1; i < n; ++i) {
                const int32_t p_i = b->where[i];
                if (!s->wanted[i] || p_i < 0 || !(fabs(s->d[p_i]) > least)) {
                    continue;
                }
                basis_exchange(s, p_i, n + j);
                const double largest = entering_column(s, i);
                const int32_t p_j = b->where[j];
                if (fabs(s->d[p_j]) > 1e-6 * largest) {
                    basis_exchange(s, p_j, n + i);
                    again = true;
                    break;
                }
                perpi_pivot_basis_column(b, i, s->d);
                basis_exchange(s, p_i, i);
                (void)entering_column(s, j);
            }
        }
    }
}

bool perpi_pivot_start(perpi_pivot* s, bool repair)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    for (int32_t i = 0; i < n; ++i) {
        s->wanted[i] = s->problem.kind[i] == PERPI_UNKNOWN_FREE ||
                       (s->wanted[i] && s->problem.kind[i] == PERPI_UNKNOWN_BOUNDED);
        s->partner[i] = PERPI_PIVOT_NO_PARTNER;
    }
    bool good = false;
    perpi_pivot_basis_assign(b, s->wanted);
    s->status = perpi_pivot_basis_factor(b, &good);
    if (s->status != PERP_OK || good || !repair || !b->dense) {
        return s->status == PERP_OK && good;
    }
    perpi_pivot_basis_unit(b);
    for (int32_t i = 0; i < n; ++i) {
        s->wanted[i] = s->wanted[i] && s->problem.kind[i] == PERPI_UNKNOWN_BOUNDED;
    }
    enter_free(s);
    enter_wanted(s);
    s->status = perpi_pivot_basis_factor(b, &good);
    return s->status == PERP_OK && good;
}
