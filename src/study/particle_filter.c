/* src/study/particle_filter.c - what both filters share: summaries after a row. */
#include "study/particle_filter.h"

/* Of a two-sided interval of 95 %. */
#define TAIL 0.025

perp_status perpi_filter_work_create(const perpi_filter_def* def, perpi_filter_work* work)
{
    const size_t n = (size_t)def->n, p = (size_t)def->predictions;
    *work = (perpi_filter_work){0};
    double* number = NULL;
    perp_status status =
        perpi_alloc(def->context, n * (n + 3) + 3 * p + 1, sizeof *number, &number);
    if (status == PERP_OK) {
        work->mean = number;
        work->low = work->mean + n;
        work->high = work->low + n;
        work->covariance = work->high + n;
        work->predicted = work->covariance + n * n;
        work->predicted_low = work->predicted + p;
        work->predicted_high = work->predicted_low + p;
        status =
            perpi_alloc(def->context, (size_t)def->particles, sizeof *work->ranked, &work->ranked);
    }
    if (status != PERP_OK) {
        perpi_filter_work_destroy(def, work);
    }
    return status;
}

void perpi_filter_work_destroy(const perpi_filter_def* def, perpi_filter_work* work)
{
    perpi_free(def->context, work->mean);
    perpi_free(def->context, work->ranked);
    *work = (perpi_filter_work){0};
}

perp_status perpi_filter_summarise(const perpi_filter_def* def, perpi_filter_work* work,
                                   int32_t row, const perpi_filter_view* view, const double* weight,
                                   double effective)
{
    const perpi_particles particles = {def->particles, view->z_stride, def->n, view->z};
    perpi_particle_moments(&particles, weight, work->mean, work->covariance);
    for (int32_t i = 0; i < def->n; ++i) {
        perpi_particle_interval(def->particles, view->z + i, view->z_stride, weight, TAIL,
                                work->ranked, &work->low[i], &work->high[i]);
    }
    for (int32_t i = 0; i < def->predictions; ++i) {
        double sum = 0.0;
        for (int64_t k = 0; k < def->particles; ++k) {
            sum += weight[k] > 0.0 ? weight[k] * view->p[k * view->p_stride + i] : 0.0;
        }
        work->predicted[i] = sum;
        perpi_particle_interval(def->particles, view->p + i, view->p_stride, weight, TAIL,
                                work->ranked, &work->predicted_low[i], &work->predicted_high[i]);
    }
    if (def->summary == NULL) {
        return PERP_OK;
    }
    const perpi_filter_row summary = {.row = row,
                                      .mean = work->mean,
                                      .low = work->low,
                                      .high = work->high,
                                      .covariance = work->covariance,
                                      .predicted = work->predicted,
                                      .predicted_low = work->predicted_low,
                                      .predicted_high = work->predicted_high,
                                      .effective = effective};
    return def->summary(def->user, &summary);
}
