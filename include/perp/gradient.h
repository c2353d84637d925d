/* perp/gradient.h - derivatives of a measure of a run by parameters and by the start state.
 *
 *     perp_gradient_def def = perp_gradient_def_default();
 *     def.measure = "distance"; def.parameter = names; def.parameter_count = 2;
 *     perp_gradient* g;
 *     perp_gradient_create(context, scene, &def, &g);  // runs the scene
 *     perp_gradient_of(g, 0) ... perp_gradient_flags_of(g).flagged ...
 *     perp_gradient_destroy(g);
 *
 * The derivative is that of the computed run, exact up to rounding: every step is differentiated at
 * its solution, with its active set (which contacts are open, stick or slide, which bounds hold,
 * which member of a group acts) and its features (vertex and face, edge and edge) as they are.
 * Where a contact is at the border between two states the run has no derivative, only one-sided
 * ones: such steps are flagged. Never read a gradient without its flags. docs/gradients.md says
 * what is valid when.
 *
 * A second kind is the smoothed gradient (def.smooth): every step of another run solves its laws on
 * the central path at a given barrier parameter, so that the run is a smooth function, whose
 * derivative is exact. What this changes of the measure and of the gradient is reported:
 * perp_gradient_smoothed_of.
 *
 * Stepper stewart-trinkle, fixed steps. What is not supported is refused with PERP_ERROR_UNSUPPORTED, by name.
 */
#ifndef PERP_GRADIENT_H
#define PERP_GRADIENT_H

#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_scene perp_scene;

typedef enum perp_gradient_mode {
    PERP_GRADIENT_ADJOINT = 0, /* backwards: the cost hardly depends on the number of parameters */
    PERP_GRADIENT_FORWARD, /* along with the run: one linear solve for each step and parameter */
} perp_gradient_mode;

typedef struct perp_gradient_def {
    size_t struct_size;  /* set by ..._default(); 0: not known */
    const char* measure; /* name of a measure of the scene */
    const char* const*
        parameter; /* names of parameters, or JSON pointers of numbers of the scene */
    int32_t parameter_count;
    perp_gradient_mode mode;
    bool
        checkpoints; /* adjoint: keep every sqrt(steps)-th state and repeat the steps between, instead of all */
    double threshold; /* margins below this flag a step; default 1e-6 */
    /* Barrier parameter of a smoothed gradient, from 1e-8 to 1; 0 (the default): the gradient of
     * the run itself. Products of complementarity conditions are smooth times m (g h)^2: m the
     * reduced mass of the two bodies, g h the speed that gravity gives in a step. Without gravity a
     * hundredth of the largest body's radius over the duration takes its place. */
    double smooth;
} perp_gradient_def;
PERP_API perp_gradient_def perp_gradient_def_default(void);

/* Steps at which the derivative is not, or may not be, that of the run. */
typedef struct perp_gradient_flags {
    int64_t steps;   /* of the run */
    int64_t flagged; /* of these, for one or more of the reasons below */
    int64_t
        weak; /* a contact, limit or bound is at the border of its state: derivatives are one-sided */
    int64_t
        undetermined; /* impulses are not unique (a box that slides on four corners), and derivatives depend on
                           * the ones that the solver found */
    int64_t
        immaterial; /* of these two, not flagged: another state or other impulses give the same derivative */
    int64_t choice;   /* a rule of the scheme changes its case there */
    int64_t fallback; /* the step was solved with other laws than the scene's */
    double
        margin; /* the smallest distance from a change of state, relative; INFINITY: none can change */
    double margin_time; /* the time at the start of that step */
    double first_time;  /* of the first flagged step; NaN: none */
    int64_t
        one_sided; /* along a direction: of the weak ones, not flagged: their state beyond it was found */
} perp_gradient_flags;

typedef struct perp_gradient perp_gradient;

/* Runs the scene and differentiates its measure. The scene is built anew several times, and is as
 * before at the end; simulations of it must have been destroyed, as before perp_scene_rebuild. */
PERP_API PERP_NODISCARD perp_status perp_gradient_create(perp_context* context, perp_scene* scene,
                                                         const perp_gradient_def* def,
                                                         perp_gradient** gradient);
PERP_API void perp_gradient_destroy(perp_gradient* gradient);

/* The measure, and its derivative by a parameter. */
PERP_API double perp_gradient_value(const perp_gradient* gradient);
PERP_API double perp_gradient_of(const perp_gradient* gradient, int32_t parameter);
PERP_API perp_gradient_flags perp_gradient_flags_of(const perp_gradient* gradient);
/* What smoothing changed. All of it is 0, NaN or false of a gradient that is not smoothed. */
typedef struct perp_gradient_smoothed {
    double kappa; /* the barrier parameter */
    double
        exact; /* the measure of the run itself; perp_gradient_value is that of the smoothed run */
    double bias;   /* of the measure: smoothed - exact */
    bool compared; /* the run itself has no flagged step: its gradient is its derivative */
    perp_gradient_flags flags; /* of the run itself; perp_gradient_flags_of: of the smoothed run */
} perp_gradient_smoothed;
PERP_API perp_gradient_smoothed perp_gradient_smoothed_of(const perp_gradient* gradient);
/* The derivative of the run itself, with its own flags above; NaN of a gradient that is not
 * smoothed. The bias of a derivative is perp_gradient_of - this, where `compared`. */
PERP_API double perp_gradient_exact_of(const perp_gradient* gradient, int32_t parameter);
/* Adjoint: derivatives by the start state of a body: displacement of the centre of mass (x, y, z),
 * rotation vector in the world frame, velocity, angular velocity. Planar: x, y and rotations about
 * z. NULL: computed forward. */
PERP_API const double* perp_gradient_start(const perp_gradient* gradient, int32_t body);

/* The one-sided derivative along a direction of the parameters: of f(theta + s direction) by s at s
 * = 0, s > 0. Where a contact is at the border of two states, the one to which the direction leads
 * is found by a small complementarity problem, so that steps at such borders are not flagged.
 * Elsewhere it is the gradient times the direction. It is not linear in the direction: the
 * derivative to the other side is minus that along -direction. direction: parameter_count numbers,
 * one or more. mode and checkpoints of def are not read; smooth must be 0: a smoothed run has no
 * kinks. flags may be NULL: but see above. */
PERP_API PERP_NODISCARD perp_status perp_gradient_direction(
    perp_context* context, perp_scene* scene, const perp_gradient_def* def, const double* direction,
    double* value, double* derivative, perp_gradient_flags* flags);

/* Central differences of whole runs (smoothed ones if def says so), to check a gradient: for each
 * parameter the step size, of a geometric sequence, at which the differences of two neighbouring
 * sizes agree best. difference: parameter_count; spread: how far these two agree, relative; either
 * may be NULL. */
PERP_API PERP_NODISCARD perp_status perp_gradient_difference(perp_context* context,
                                                             perp_scene* scene,
                                                             const perp_gradient_def* def,
                                                             double* difference, double* spread);

#ifdef __cplusplus
}
#endif
#endif
