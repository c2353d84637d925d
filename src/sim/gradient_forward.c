/* src/sim/gradient_forward.c - displacements of the state by each parameter, carried from step to step. */
#include <string.h>

#include "sim/gradient_jets.h"
#include "sim/gradient_run.h"

/* Relative: derivatives of both states of a weak step that differ by less are the same. */
static const double SAME = 1e-8;

bool perpi_gradient_same(const double* a, const double* b, int32_t n)
{
    double size = 0.0, off = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        size = perpi_larger(size, fabs(a[i]));
        off = perpi_larger(off, fabs(a[i] - b[i]));
    }
    return off <= SAME * size;
}

double perpi_gradient_dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* ---- one step ------------------------------------------------------------------------------------*/

/* What a parameter changes of the step, into g->parameter; NULL: nothing. */
static perp_status change_by(perpi_gradient_work* g, const perpi_gradient_parameter* p,
                             const double** change)
{
    *change = perpi_gradient_enters(g, p) ? g->parameter : NULL;
    if (*change == NULL) {
        return PERP_OK;
    }
    if (p->light_count > 0 && !perpi_linear_step_is_impact(g->linear)) {
        const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
        memset(g->parameter, 0, size * sizeof *g->parameter);
        for (int32_t i = 0; i < p->light_count; ++i) {
            const perpi_light_number* x = &g->in->light[p->light_first + i];
            perpi_linear_step_light_change(g->linear, x->kind, x->index, x->part, x->value,
                                           g->parameter);
        }
        return PERP_OK;
    }
    return perpi_gradient_vary(g, p);
}

/* All displacements after the step of g->linear. */
static perp_status carry(perpi_gradient_work* g, const double* x, double* next)
{
    const size_t n = (size_t)g->size.total;
    perp_status status = perpi_gradient_room(g);
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        const double* change = NULL;
        status = change_by(g, &g->in->parameter[i], &change);
        if (status == PERP_OK) {
            status = perpi_linear_step_forward(g->linear, x + (size_t)i * n, change,
                                               next + (size_t)i * n);
        }
    }
    return status;
}

/* Whether g->linear, with another choice, carries all displacements to the same. */
static bool carry_same(perpi_gradient_work* g, const double* x, const double* next)
{
    const size_t n = (size_t)g->size.total;
    bool same = perpi_gradient_room(g) == PERP_OK;
    for (int32_t i = 0; same && i < g->in->parameter_count; ++i) {
        const double* change = NULL;
        same =
            change_by(g, &g->in->parameter[i], &change) == PERP_OK &&
            perpi_linear_step_forward(g->linear, x + (size_t)i * n, change, g->other) == PERP_OK &&
            perpi_gradient_same(next + (size_t)i * n, g->other, g->size.total);
    }
    return same;
}

perp_status perpi_gradient_step_forward(perpi_gradient_work* g, size_t frame)
{
    const perpi_taken_step step = perpi_gradient_step(g, frame - 1, frame);
    const size_t n = (size_t)g->size.total, all = n * (size_t)g->in->parameter_count;
    const perpi_linear_options options = {.threshold = g->in->threshold};
    double *x = g->forward, *next = g->forward + all;
    bool immaterial = false;
    perp_status status = perpi_linear_step_make(g->linear, &step, &options);
    if (status == PERP_OK) {
        status = carry(g, x, next);
    }
    const unsigned doubts = perpi_linear_step_report(g->linear)->flags & PERPI_GRADIENT_DOUBTS;
    if (status == PERP_OK && doubts != 0) {
        /* do the displacements depend on the choice? */
        const perpi_linear_report report = *perpi_linear_step_report(g->linear);
        perpi_linear_options other = options;
        other.other = (doubts & PERPI_LINEAR_WEAK) != 0;
        other.shifted = (doubts & PERPI_LINEAR_UNDETERMINED) != 0;
        immaterial =
            perpi_linear_step_make(g->linear, &step, &other) == PERP_OK && carry_same(g, x, next);
        perpi_linear_step_set_report(g->linear, &report);
    }
    if (status == PERP_OK) {
        memcpy(x, next, all * sizeof *x);
        perpi_gradient_count(g, &g->tape.frame[frame], immaterial);
    }
    return status;
}

void perpi_gradient_begin_forward(perpi_gradient_work* g)
{
    const size_t n = (size_t)g->size.total;
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        memcpy(g->forward + (size_t)i * n, g->in->parameter[i].start, n * sizeof(double));
    }
}

/* ---- of a measure --------------------------------------------------------------------------------*/

perp_status perpi_gradient_run_forward(perpi_gradient_work* g)
{
    const perpi_gradient_input* in = g->in;
    perpi_jets* jets = NULL;
    perp_status status = in->jets != NULL ? perpi_jets_create(g, in->measures, in->measure_count,
                                                              in->curvature, &jets)
                                          : perpi_jets_create(g, &in->measure, 1, false, &jets);
    if (status != PERP_OK) {
        return status;
    }
    perpi_gradient_begin_forward(g);
    perpi_jets_begin(jets);
    for (int64_t k = 0; status == PERP_OK && k < g->count; ++k) {
        if (k > 0) {
            status = perpi_gradient_step_forward(g, (size_t)k);
        }
        if (status == PERP_OK) {
            perpi_jets_sample(jets, k, (size_t)k);
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < in->parameter_count; ++i) {
        g->gradient[i] = perpi_jets_of(jets, in->measure)[1 + i];
    }
    const size_t width = (size_t)perpi_jet_width(in->parameter_count, in->curvature);
    for (int32_t i = 0; status == PERP_OK && in->jets != NULL && i < in->measure_count; ++i) {
        memcpy(in->jets + (size_t)i * width, perpi_jets_of(jets, in->measures[i]),
               width * sizeof *in->jets);
    }
    perpi_jets_destroy(jets);
    return status;
}
