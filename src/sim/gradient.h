/* src/sim/gradient.h - derivatives of a measure along a run, for the module scene, which knows parameters. */
#ifndef PERPI_SIM_GRADIENT_H
#define PERPI_SIM_GRADIENT_H

#include "base/expr.h"
#include "perp/gradient.h"
#include "perp/sim.h"
#include "step/linear_step.h"

enum { PERPI_GRADIENT_MODELS = 5 };

/* One parameter: models of the same structure at values near theta, and what it changes of the start. */
typedef struct perpi_gradient_parameter {
    const perp_model* model[PERPI_GRADIENT_MODELS];
    double weight[PERPI_GRADIENT_MODELS]; /* d f / d theta = sum of weight f(model); 0: not read */
    bool steps;                           /* it changes steps, not the start alone */
    bool geometry;                        /* sizes or places of shapes */
    const double* start; /* d start state / d theta, laid out as linear_step.h says */
    perpi_expr*
        expr[PERPI_GRADIENT_MODELS]; /* the measure with its values; NULL: it has none of them */
} perpi_gradient_parameter;

/* A number of the model by a parameter, of those that cost little. */
typedef enum perpi_light_kind {
    PERPI_LIGHT_MASS,
    PERPI_LIGHT_INERTIA,
    PERPI_LIGHT_GRAVITY, /* part 0..2 */
    PERPI_LIGHT_DRAG,    /* part 0, 1 */
    PERPI_LIGHT_FRICTION_BODY,
    PERPI_LIGHT_FRICTION_SHAPE,
    PERPI_LIGHT_FRICTION_PAIR,
} perpi_light_kind;
typedef struct perpi_light_number {
    int32_t parameter;
    perpi_light_kind kind;
    int32_t index, part;
    double value; /* d number / d parameter */
} perpi_light_number;

typedef struct perpi_gradient_input {
    int32_t measure;
    const perpi_gradient_parameter* parameter;
    int32_t parameter_count;
    perp_gradient_mode mode;
    bool checkpoints;
    double threshold;
    const perpi_light_number* light; /* adjoint of fixed steps only */
    int32_t light_count;
    const double*
        direction; /* forward: of the parameters; gradient[0] is the one-sided derivative along it; NULL: none */
} perpi_gradient_input;

/* Refuses simulations that have no derivatives, by the name of what is not supported. */
PERP_NODISCARD perp_status perpi_gradient_check(perp_sim* sim, int32_t measure);

/* And such parameters; perpi_gradient_run does so by itself. */
PERP_NODISCARD perp_status perpi_gradient_check_parameters(perp_sim* sim,
                                                           const perpi_gradient_input* in);

/* Runs the simulation from its present state to its end. gradient: parameter_count; start: derivatives by the start
 * state (perpi_gradient_start_size), only of the adjoint; NULL: not asked for. */
int32_t perpi_gradient_start_size(const perp_model* model);
PERP_NODISCARD perp_status perpi_gradient_run(perp_sim* sim, const perpi_gradient_input* in,
                                              double* value, double* gradient, double* start,
                                              perp_gradient_flags* flags);

#endif
