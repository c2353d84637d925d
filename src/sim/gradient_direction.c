/* src/sim/gradient_direction.c - the one-sided derivative of a measure along a direction of the parameters.
 *
 * One displacement is carried along with the run. At steps with constraints at the border of two
 * states it follows the state that the direction leads to (src/step/linear_direction.c).
 */
#include <string.h>

#include "sim/gradient_motion.h"

/* What the direction changes of the step, into the second half of g->parameter. */
static perp_status vary_along(perpi_gradient_work* g, bool* any)
{
    const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
    double* sum = g->parameter + size;
    perp_status status = PERP_OK;
    memset(sum, 0, size * sizeof *sum);
    *any = false;
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        const double by = g->in->direction[i];
        if (by == 0.0 || !perpi_gradient_enters(g, &g->in->parameter[i])) {
            continue;
        }
        status = perpi_gradient_change(g, i);
        for (size_t k = 0; k < size; ++k) {
            sum[k] += by * g->parameter[k];
        }
        *any = true;
    }
    return status;
}

static perp_status step_along(perpi_gradient_work* g, size_t frame)
{
    const perpi_taken_step step = perpi_gradient_step(g, frame - 1, frame);
    const perpi_linear_options options = {.threshold = g->in->threshold, .one_sided = true};
    bool any = false, resolved = false;
    perp_status status = perpi_linear_step_make(g->linear, &step, &options);
    if (status == PERP_OK) {
        status = perpi_gradient_room(g);
    }
    if (status == PERP_OK) {
        status = perpi_motions_step(g->motions, step.in.t, step.in.h);
    }
    if (status == PERP_OK) {
        status = vary_along(g, &any);
    }
    if (status == PERP_OK) {
        const int32_t size = perpi_linear_step_parameter_size(g->linear);
        status = perpi_linear_step_direction(g->linear, g->forward,
                                             any ? g->parameter + size : NULL, g->other, &resolved);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(g->forward, g->other, (size_t)g->size.total * sizeof *g->forward);
    const unsigned flags = perpi_linear_step_report(g->linear)->flags;
    const bool one_sided =
        resolved && (flags & PERPI_LINEAR_WEAK) != 0 && (flags & PERPI_LINEAR_UNDETERMINED) == 0;
    perpi_gradient_count(g, &g->tape.frame[frame], one_sided);
    if (one_sided) { /* not flagged, for another reason */
        g->flags->immaterial -= 1;
        g->flags->one_sided += 1;
    }
    return PERP_OK;
}

perp_status perpi_gradient_run_direction(perpi_gradient_work* g)
{
    const int32_t n = g->size.total;
    double sum = 0.0;
    perp_status status = PERP_OK;
    memset(g->forward, 0, (size_t)n * sizeof *g->forward);
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        for (int32_t k = 0; k < n; ++k) {
            g->forward[k] += g->in->direction[i] * g->in->parameter[i].start[k];
        }
    }
    for (int64_t k = 0; status == PERP_OK && k < g->count; ++k) {
        const size_t crossing[2] = {(size_t)g->crossing - 1, (size_t)g->crossing};
        status = k > 0 ? step_along(g, (size_t)k) : PERP_OK;
        memset(g->y, 0, (size_t)n * sizeof *g->y);
        if (status == PERP_OK) {
            perpi_gradient_sample(g, k, (size_t)k, crossing, g->y);
        }
        for (int32_t i = 0; i < n; ++i) {
            sum += g->y[i] * g->forward[i];
        }
    }
    /* the samples have added what the expression itself has of each parameter */
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        sum += g->in->direction[i] * g->gradient[i];
        g->gradient[i] = 0.0;
    }
    g->gradient[0] = sum;
    return status;
}
