/* src/study/design_direction.c - one-sided derivatives of a candidate's objective and constraints
 * along a direction.
 *
 * Method     docs/notation.md, "One-sided derivatives": each measure of each run by perp_gradient_direction, which takes the
 *            states to which the direction leads. Objective, constraints and what combines the runs are expressions: their
 *            derivative along the changes of the measures is a forward difference of second order, so that kinks of their own
 *            (abs, max, the worst case) are taken to the side to which the direction leads, too.
 *
 * The runs are made here, not in the workers: they are few, and a design that is resumed makes them
 * again with the same answer.
 */
#include <math.h>
#include <string.h>

#include "perp/gradient.h"
#include "study/design_run.h"

/* Part of the direction by which measures are moved in the expressions. */
static const double PART = 1e-6;

/* Values of the measures of a run and their derivatives along the direction. False: one has none. */
static bool differentiate_run(perpi_design_state* e, int64_t run, const double* direction,
                              double* value, double* slope)
{
    perp_study* s = e->study;
    const char* name[PERPI_DESIGN_UNKNOWNS];
    bool good = perpi_study_set(s, run) == PERP_OK && perp_scene_rebuild(s->scene) == PERP_OK;
    for (int32_t i = 0; good && i < perp_study_measure_count(s); ++i) {
        perp_gradient_flags flags;
        value[i] = NAN;
        slope[i] = 0.0;
        if (perpi_design_uses(e->d, i)) {
            const perp_gradient_def def = perpi_design_gradient_def(s, i, name);
            good = perp_gradient_direction(e->context, s->scene, &def, direction, &value[i],
                                           &slope[i], &flags) == PERP_OK &&
                   flags.flagged == 0 && isfinite(value[i]) && isfinite(slope[i]);
        }
    }
    return good;
}

/* Cost and constraints of a run with the measures and the unknowns moved by a part of the direction. */
static double cost_along(const perpi_design_state* e, int64_t run, const double* direction,
                         double part, const double* value, const double* slope, double* moved,
                         double* violation)
{
    perpi_design* d = e->d;
    const int32_t measures = perp_study_measure_count(e->study);
    for (int32_t i = 0; i < measures; ++i) {
        moved[i] = value[i] + part * slope[i];
    }
    (void)perpi_design_cost(e->study, run, moved, violation); /* fills the slots */
    for (int32_t i = 0; i < d->unknown_count; ++i) {          /* unknowns are the first columns */
        d->slot[measures + i] += part * direction[i];
    }
    for (int32_t i = 0; i < d->constraint_count; ++i) {
        double margin = NAN;
        (void)perpi_expr_margin(d->constraint[i], 0.0, d->slot, &margin);
        violation[i] = -margin;
    }
    return perpi_expr_eval_names(d->minimise, 0.0, d->slot);
}

/* From values at 0, 1 and 2 parts. */
static double forward_difference(const double f[3])
{
    return (4.0 * (f[1] - f[0]) - (f[2] - f[0])) / (2.0 * PART);
}

bool perpi_design_direction(perpi_design_state* e, int64_t index, const double* direction,
                            double* objective, double* constraint)
{
    const size_t runs = (size_t)perpi_design_runs(e->study), m = (size_t)e->d->constraint_count;
    const size_t measures = (size_t)perp_study_measure_count(e->study);
    double *room = NULL, total[3], worst[3];
    const perp_status status =
        perpi_alloc(e->context, 3 * runs * (1 + m) + 3 * measures + m + 1, sizeof *room, &room);
    if (status != PERP_OK) {
        return false;
    }
    double *cost = room, *margin = cost + 3 * runs, *value = margin + 3 * runs * m;
    double *slope = value + measures, *moved = slope + measures, *violation = moved + measures;
    bool good = true;
    for (size_t r = 0; good && r < runs; ++r) {
        const int64_t run = index * (int64_t)runs + (int64_t)r + 1;
        good = differentiate_run(e, run, direction, value, slope);
        for (size_t k = 0; good && k < 3; ++k) {
            cost[k * runs + r] =
                cost_along(e, run, direction, (double)k * PART, value, slope, moved, violation);
            for (size_t j = 0; j < m; ++j) {
                margin[(k * m + j) * runs + r] = violation[j];
            }
        }
    }
    for (size_t k = 0; good && k < 3; ++k) {
        total[k] = perpi_design_combine(e, cost + k * runs);
    }
    *objective = good ? forward_difference(total) : NAN;
    for (size_t j = 0; good && j < m; ++j) { /* the largest of all runs */
        for (size_t k = 0; k < 3; ++k) {
            const double* of = margin + (k * m + j) * runs;
            worst[k] = of[0];
            for (size_t r = 1; r < runs; ++r) {
                worst[k] = of[r] <= worst[k] ? worst[k] : of[r];
            }
        }
        constraint[j] = forward_difference(worst);
        good = isfinite(constraint[j]);
    }
    perpi_free(e->context, room);
    return good && isfinite(*objective);
}
