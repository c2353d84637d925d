/* src/solve/interior/lcp_interior_point.c - the interior-point method for LCPs: as an MLCP whose bounds are 0
 * and infinity (interior_point.h). */
#include <math.h>

#include "solve/builtin.h"
#include "solve/interior/interior_point.h"

typedef struct lcp_interior {
    perp_context* context;
    void* core;
    int32_t* index; /* start (n + 1), rows (n n) */
    size_t index_capacity;
    double* value; /* entries (n n), lower, upper */
    size_t value_capacity;
} lcp_interior;

static perp_status lcp_create(perp_context* context, const void* settings, void** self)
{
    lcp_interior* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    status = perpi_interior_create(context, settings, &s->core);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *self = s;
    return PERP_OK;
}

static void lcp_destroy(void* self)
{
    lcp_interior* s = self;
    if (s == NULL) {
        return;
    }
    perpi_interior_destroy(s->core);
    perpi_free(s->context, s->index);
    perpi_free(s->context, s->value);
    perpi_free(s->context, s);
}

static perp_status lcp_solve(void* self, const perp_lcp* problem, const perp_solve_options* options,
                             bool warm, double* z, perp_report* report)
{
    lcp_interior* s = self;
    const int32_t n = problem->n;
    const size_t m = (size_t)n;
    perp_status status =
        perpi_grow(s->context, &s->index, &s->index_capacity, m + 1 + m * m, sizeof *s->index);
    if (status == PERP_OK) {
        status =
            perpi_grow(s->context, &s->value, &s->value_capacity, m * m + 2 * m, sizeof *s->value);
    }
    if (status != PERP_OK) {
        return status;
    }
    int32_t *start = s->index, *row = s->index + m + 1, at = 0;
    double *lower = s->value + m * m, *upper = lower + m;
    for (int32_t j = 0; j < n; ++j) {
        start[j] = at;
        lower[j] = 0.0;
        upper[j] = INFINITY;
        for (int32_t i = 0; i < n; ++i) {
            const double M_ij = problem->M[(size_t)i * m + (size_t)j];
            if (M_ij != 0.0) {
                row[at] = i;
                s->value[at++] = M_ij;
            }
        }
    }
    start[n] = at;
    const perp_mlcp mlcp = {{n, n, start, row, s->value}, problem->q, lower, upper};
    return perpi_interior_solve(s->core, &mlcp, options, warm, z, report);
}

const perp_lcp_solver_ops perpi_lcp_interior_point = {
    .name = "interior-point",
    .summary = "predictor-corrector for monotone problems; iterations: Newton steps",
    .settings_size = sizeof(perpi_interior_settings),
    .settings = perpi_interior_setting,
    .settings_count = PERPI_INTERIOR_SETTINGS,
    .settings_default = perpi_interior_settings_default,
    .create = lcp_create,
    .destroy = lcp_destroy,
    .solve = lcp_solve,
};
