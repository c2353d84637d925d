/* src/sim/gradient_forward.c - displacements of the state by each parameter, carried from step to step. */
#include <string.h>

#include "sim/gradient_jets.h"
#include "sim/gradient_motion.h"

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

/* What parameter i changes of the step, into g->parameter; NULL: nothing. */
static perp_status change_by(perpi_gradient_work* g, int32_t i, const double** change)
{
    *change = perpi_gradient_enters(g, &g->in->parameter[i]) ? g->parameter : NULL;
    return *change != NULL ? perpi_gradient_change(g, i) : PERP_OK;
}

perp_status perpi_gradient_memory_room(perpi_gradient_work* g, int32_t before, int32_t after,
                                       size_t sets)
{
    const size_t most = (size_t)(before > after ? before : after) + 1;
    perp_status status = PERP_OK;
    for (int i = 0; status == PERP_OK && i < 2; ++i) {
        status = perpi_grow(g->context, &g->memory[i], &g->memory_capacity[i], 3 * most * sets,
                            sizeof *g->memory[i]);
    }
    if (status == PERP_OK) {
        status = perpi_grow(g->context, &g->memory_other, &g->memory_other_capacity,
                            3 * most * sets, sizeof *g->memory_other);
    }
    return status == PERP_OK
               ? perpi_grow(g->context, &g->loose, &g->loose_capacity, most, sizeof *g->loose)
               : status;
}

void perpi_gradient_memory_next(perpi_gradient_work* g)
{
    double* after = g->memory[1];
    const size_t capacity = g->memory_capacity[1];
    g->memory[1] = g->memory[0];
    g->memory_capacity[1] = g->memory_capacity[0];
    g->memory[0] = after;
    g->memory_capacity[0] = capacity;
    perpi_linear_step_memory(g->linear, NULL, NULL);
}

/* The impulses of the contacts before and after the step, of displacement i. */
static void use_memory(perpi_gradient_work* g, const perpi_taken_step* step, int32_t i,
                       double* after)
{
    const size_t old = 3 * (size_t)step->contact_before_count,
                 now = 3 * (size_t)step->in.contact_count;
    perpi_linear_step_memory(g->linear, old > 0 ? g->memory[0] + (size_t)i * old : NULL,
                             after + (size_t)i * now);
}

/* All displacements after the step of g->linear. */
static perp_status carry(perpi_gradient_work* g, const perpi_taken_step* step, const double* x,
                         double* next)
{
    const size_t n = (size_t)g->size.total;
    perp_status status = perpi_gradient_room(g);
    if (status == PERP_OK) {
        status = perpi_motions_step(g->motions, step->in.t, step->in.h);
    }
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        const double* change = NULL;
        status = change_by(g, i, &change);
        use_memory(g, step, i, g->memory[1]);
        if (status == PERP_OK) {
            status = perpi_linear_step_forward(g->linear, x + (size_t)i * n, change,
                                               next + (size_t)i * n);
        }
    }
    return status;
}

/* Whether g->linear, with another choice, carries all displacements to the same. */
static bool carry_same(perpi_gradient_work* g, const perpi_taken_step* step, const double* x,
                       const double* next)
{
    const size_t n = (size_t)g->size.total;
    bool same = perpi_gradient_room(g) == PERP_OK &&
                perpi_motions_step(g->motions, step->in.t, step->in.h) == PERP_OK;
    for (int32_t i = 0; same && i < g->in->parameter_count; ++i) {
        const double* change = NULL;
        use_memory(g, step, i, g->memory_other);
        same =
            change_by(g, i, &change) == PERP_OK &&
            perpi_linear_step_forward(g->linear, x + (size_t)i * n, change, g->other) == PERP_OK &&
            perpi_gradient_same(next + (size_t)i * n, g->other, g->size.total);
    }
    return same;
}

perp_status perpi_gradient_step_forward(perpi_gradient_work* g, size_t frame)
{
    perpi_taken_step step = perpi_gradient_step(g, frame - 1, frame);
    const size_t n = (size_t)g->size.total, all = n * (size_t)g->in->parameter_count;
    const perpi_linear_options options = {.threshold = g->in->threshold, .memory = true};
    double *x = g->forward, *next = g->forward + all;
    bool immaterial = false;
    perp_status status = perpi_gradient_memory_room(
        g, step.contact_before_count, step.in.contact_count, (size_t)g->in->parameter_count);
    step.loose_before = g->loose;
    if (status == PERP_OK) {
        status = perpi_linear_step_make(g->linear, &step, &options);
    }
    if (status == PERP_OK) {
        status = carry(g, &step, x, next);
    }
    for (int32_t i = 0; status == PERP_OK && i < step.in.contact_count; ++i) {
        g->loose[i] = perpi_linear_step_loose(g->linear, i);
    }
    const unsigned doubts =
        perpi_linear_step_report(g->linear)->flags & (PERPI_GRADIENT_DOUBTS | PERPI_LINEAR_ROLLS);
    if (status == PERP_OK && doubts != 0) {
        /* do the displacements depend on the choice? */
        const perpi_linear_report report = *perpi_linear_step_report(g->linear);
        perpi_linear_options other = options;
        other.other = (doubts & PERPI_LINEAR_WEAK) != 0;
        other.shifted = (doubts & PERPI_LINEAR_UNDETERMINED) != 0;
        other.other_rolling = (doubts & PERPI_LINEAR_ROLLS) != 0;
        immaterial = perpi_linear_step_make(g->linear, &step, &other) == PERP_OK &&
                     carry_same(g, &step, x, next);
        perpi_linear_step_set_report(g->linear, &report);
    }
    if (status == PERP_OK) {
        memcpy(x, next, all * sizeof *x);
        perpi_gradient_memory_next(g);
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
