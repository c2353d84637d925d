/* src/sim/gradient.h - derivatives of a measure along a run, for the module scene, which knows parameters. */
#ifndef PERPI_SIM_GRADIENT_H
#define PERPI_SIM_GRADIENT_H

#include "base/expr.h"
#include "perp/gradient.h"
#include "perp/sim.h"

enum { PERPI_GRADIENT_MODELS = 4 };

/* One parameter: models of the same structure at theta + k delta, and what it changes of the start. */
typedef struct perpi_gradient_parameter {
    const perp_model* model[PERPI_GRADIENT_MODELS];
    double
        weight[PERPI_GRADIENT_MODELS]; /* of the models: d f / d theta = sum of weight f(model) */
    bool steps;                        /* it changes steps, not the start alone */
    bool geometry;                     /* sizes or places of shapes */
    const double* start;               /* d start state / d theta, laid out as linear_step.h says */
    perpi_expr*
        expr[PERPI_GRADIENT_MODELS]; /* the measure with its values; NULL: it has none of them */
} perpi_gradient_parameter;

typedef struct perpi_gradient_input {
    int32_t measure;
    const perpi_gradient_parameter* parameter;
    int32_t parameter_count;
    perp_gradient_mode mode;
    bool checkpoints;
    double threshold;
} perpi_gradient_input;

/* Refuses simulations that have no derivatives, by the name of what is not supported. */
PERP_NODISCARD perp_status perpi_gradient_check(perp_sim* sim, int32_t measure);

/* Runs the simulation from its present state to its end. gradient: parameter_count; start: derivatives by the start
 * state (perpi_gradient_start_size), only of the adjoint; NULL: not asked for. */
int32_t perpi_gradient_start_size(const perp_model* model);
PERP_NODISCARD perp_status perpi_gradient_run(perp_sim* sim, const perpi_gradient_input* in,
                                              double* value, double* gradient, double* start,
                                              perp_gradient_flags* flags);

#endif
