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
    bool impacts_only;                    /* of steps it changes impacts alone: restitution */
    /* Steps in time have of it its light numbers and the motions of some bodies alone. Backwards
     * the light numbers of such parameters have derivatives of their own, which are multiplied at
     * the end. */
    bool chained;
    int32_t light_first, light_count; /* of perpi_gradient_input.light */
    const int32_t* motion;            /* bodies whose motion it changes */
    int32_t motion_count;
    bool rough;          /* a number of the scene has a kink at its value */
    const double* start; /* d start state / d theta, laid out as linear_step.h says */
    /* expressions with its values: measure i has those from PERPI_GRADIENT_MODELS * i on; NULL: it
     * has none of them. NULL: nor has any measure */
    perpi_expr* const* expr;
} perpi_gradient_parameter;

/* A number of the model by a parameter, of those that cost little. */
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
    const perpi_light_number* light; /* of fixed steps only */
    int32_t light_count;
    const double*
        direction; /* forward: of the parameters; gradient[0] is the one-sided derivative along it; NULL: none */
    /* forward: several measures at once; jets: of each its value, gradient, and with `curvature`
     * the lower half of its curvature (gradient_jets.h). NULL: of `measure` alone */
    const int32_t* measures;
    int32_t measure_count;
    bool curvature;
    double* jets;
} perpi_gradient_input;

static inline int32_t perpi_jet_width(int32_t parameters, bool curvature)
{
    return 1 + parameters + (curvature ? parameters * (parameters + 1) / 2 : 0);
}

/* Refuses simulations that have no derivatives, by the name of what is not supported. Middle steps with contacts
 * (step/roll.c) have none: where perp chose them, the simulation takes the steps of the start from here on. */
PERP_NODISCARD perp_status perpi_gradient_check(perp_sim* sim, int32_t measure);

/* Likewise, for quantities of the state along the run instead of a measure. */
PERP_NODISCARD perp_status perpi_gradient_check_sim(perp_sim* sim);

/* smooth.c: from here on the simulation has smoothed laws. Refuses what has none, and barrier parameters out of
 * [PERPI_SMOOTH_LEAST, PERPI_SMOOTH_MOST]: below, redundant contacts leave impulses to rounding. */
#define PERPI_SMOOTH_MOST 1.0
#define PERPI_SMOOTH_LEAST 1e-8
PERP_NODISCARD perp_status perpi_sim_smooth(perp_sim* sim, double barrier);

/* And such parameters; perpi_gradient_run does so by itself. */
PERP_NODISCARD perp_status perpi_gradient_check_parameters(perp_sim* sim,
                                                           const perpi_gradient_input* in);

/* Whether a quantity of the state depends on numbers of the model, too. */
bool perpi_gradient_reads_model(const perp_quantity* quantity);

/* Runs the simulation from its present state to its end. gradient: parameter_count; start:
 * derivatives by the start state (perpi_gradient_start_size), only of the adjoint; NULL: not asked
 * for. */
int32_t perpi_gradient_start_size(const perp_model* model);
PERP_NODISCARD perp_status perpi_gradient_run(perp_sim* sim, const perpi_gradient_input* in,
                                              double* value, double* gradient, double* start,
                                              perp_gradient_flags* flags);

/* ---- many outputs of one run ------------------------------------------------------------------------
 *
 * The displacements of the state by each parameter, along runs of one simulation from any start. A
 * step costs its linear form once, and one solve for each parameter. */

/* A state of such a run. */
typedef struct perpi_along_state {
    double time;
    const double *q, *v; /* flat */
    /* d state / d parameter i: tangent + i * stride; its parts begin at `at` (displacements of the
     * centre of mass and rotation vectors in the world, velocities), each laid out as v is. NULL:
     * no derivatives were asked for. */
    const double* tangent;
    int32_t stride;
    perpi_linear_size at;
    int32_t parameter_count;
    bool flagged;            /* the step that led there is */
    perp_step_info info;     /* of that step; of the first state: 0 */
    struct perpi_along* run; /* for perpi_along_quantity */
    size_t frame;
} perpi_along_state;

typedef struct perpi_along perpi_along;
/* The parameters stay the caller's; of each parameter the model, its weights, start and kind are read. */
PERP_NODISCARD perp_status perpi_along_create(perp_sim* sim, const perpi_gradient_input* in,
                                              perpi_along** along);
void perpi_along_destroy(perpi_along* along);
/* Runs from the present state of the simulation until a state at `until` or later (or its end),
 * then calls fn for each state in order; it returns false to end. flags: NULL if not derivatives.
 * No allocation once runs have been as long. */
typedef bool (*perpi_along_fn)(void* user, const perpi_along_state* state);
PERP_NODISCARD perp_status perpi_along_run(perpi_along* along, double until, bool derivatives,
                                           perpi_along_fn fn, void* user,
                                           perp_gradient_flags* flags);
/* Within fn: a quantity of the state, and its derivatives (NULL: not asked for). Those that
 * perpi_quantity_differentiable names. */
void perpi_along_quantity(const perpi_along_state* state, const perp_quantity* quantity,
                          double* value, double* derivative);

#endif
