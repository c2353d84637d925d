/* src/problem/reformulate/reduced_units.c - see reduced_units.h. */
#include "problem/reformulate/reduced_units.h"

#include <math.h>

const double* perpi_friction_diagonal(const perp_friction_problem* P, int32_t i)
{
    int32_t low = P->W.start[i], high = P->W.start[i + 1] - 1; /* columns ascend */
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        if (P->W.column[mid] < i) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    PERP_ASSERT(P->W.column[low] == i);
    return P->W.value + P->W.at[low];
}

/* g of every row. */
static void choose(const perp_friction_problem* P, double* g)
{
    double sum = 0.0;
    int32_t contacts = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (P->constraint[i].kind == PERP_CONSTRAINT_CONTACT) {
            const double W = fabs(perpi_friction_diagonal(P, i)[0]);
            sum += W > 0.0 ? W : 1.0;
            ++contacts;
        }
    }
    const double w = contacts > 0 ? sum / contacts : 1.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* D = perpi_friction_diagonal(P, i);
        for (int32_t k = 0; k < c->rows; ++k) {
            const double W = fabs(D[(size_t)k * (size_t)(c->rows + 1)]);
            const double t = sqrt(w / (W > 0.0 ? W : 1.0));
            const bool usable = c->kind != PERP_CONSTRAINT_CONTACT && t > 0.0 && isfinite(t);
            g[c->row + k] = usable ? t : 1.0;
        }
    }
}

static bool any_joint(const perp_friction_problem* P)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (P->constraint[i].kind != PERP_CONSTRAINT_CONTACT) {
            return true;
        }
    }
    return false;
}

perp_status perpi_reduced_units_scale(perp_context* context, perpi_reduced_units* units,
                                      const perp_friction_problem* P, perp_friction_problem* scaled)
{
    *scaled = *P;
    units->rows = 0;
    if (!any_joint(P)) {
        return PERP_OK;
    }
    size_t values = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        for (int32_t e = P->W.start[i]; e < P->W.start[i + 1]; ++e) {
            const size_t end = P->W.at[e] + (size_t)P->constraint[i].rows *
                                                (size_t)P->constraint[P->W.column[e]].rows;
            values = end > values ? end : values;
        }
    }
    const size_t n = (size_t)P->row_count;
    perp_status status =
        perpi_grow(context, &units->value, &units->value_capacity, values, sizeof *units->value);
    if (status == PERP_OK) {
        status = perpi_grow(context, &units->vector, &units->vector_capacity, 4 * n,
                            sizeof *units->vector);
    }
    if (status != PERP_OK) {
        return status;
    }
    double *g = units->vector, *q = g + n, *lower = q + n, *upper = lower + n;
    choose(P, g);
    for (size_t i = 0; i < n; ++i) {
        q[i] = g[i] * P->q[i];
        lower[i] = P->lower != NULL ? P->lower[i] / g[i] : 0.0;
        upper[i] = P->upper != NULL ? P->upper[i] / g[i] : 0.0;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t rows = P->constraint[i].rows;
        const double* g_i = g + P->constraint[i].row;
        for (int32_t e = P->W.start[i]; e < P->W.start[i + 1]; ++e) {
            const perp_constraint* other = &P->constraint[P->W.column[e]];
            const double *g_j = g + other->row, *W = P->W.value + P->W.at[e];
            double* out = units->value + P->W.at[e];
            for (int32_t a = 0; a < rows; ++a) {
                for (int32_t b = 0; b < other->rows;
                     ++b) { /* g g first: symmetric stays symmetric */
                    *out++ = (g_i[a] * g_j[b]) * *W++;
                }
            }
        }
    }
    units->rows = P->row_count;
    scaled->W.value = units->value;
    scaled->q = q;
    scaled->lower = P->lower != NULL ? lower : NULL;
    scaled->upper = P->upper != NULL ? upper : NULL;
    return PERP_OK;
}

void perpi_reduced_units_enter(const perpi_reduced_units* units, double* r)
{
    for (int32_t i = 0; i < units->rows; ++i) {
        r[i] /= units->vector[i];
    }
}

void perpi_reduced_units_leave(const perpi_reduced_units* units, double* r)
{
    for (int32_t i = 0; i < units->rows; ++i) {
        r[i] *= units->vector[i];
    }
}

void perpi_reduced_units_free(perp_context* context, perpi_reduced_units* units)
{
    perpi_free(context, units->value);
    perpi_free(context, units->vector);
    *units = (perpi_reduced_units){0};
}
