/* src/scene/gradient.h - gradients by parameters, for modules above: whether there are any; many
 * outputs of one run. */
#ifndef PERPI_SCENE_GRADIENT_H
#define PERPI_SCENE_GRADIENT_H

#include "perp/gradient.h"
#include "sim/gradient.h"

/* Refuses what perp_gradient_create refuses before its run, without the run. */
PERP_NODISCARD perp_status perpi_gradient_try(perp_context* context, perp_scene* scene,
                                              const perp_gradient_def* def);

/* Several measures of one run at once, forward: of each its value, its gradient by the parameters
 * of def (whose measure is not read), and with `curvature` the lower half of its curvature of Gauss
 * and Newton, row by row (sim/gradient_jets.h): perpi_jet_width numbers. */
typedef struct perpi_gradient_jets {
    const char* const* measure;
    int32_t measure_count;
    bool curvature;
    double* jets; /* measure_count x perpi_jet_width(parameter_count, curvature), the caller's */
} perpi_gradient_jets;
PERP_NODISCARD perp_status perpi_gradient_measures(perp_context* context, perp_scene* scene,
                                                   const perp_gradient_def* def,
                                                   perpi_gradient_jets* jets,
                                                   perp_gradient_flags* flags);

/* ---- many outputs of one run ------------------------------------------------------------------------
 *
 * Forward derivatives of the state along runs of a scene, by parameters and by the start state. The
 * models of the parameters are built once, at the present values of the scene; then runs from any
 * start cost one run, and for each step one linear form and one solve for each unknown:
 *
 *     perpi_scene_along_create(context, scene, &def, &along);
 *     for each trajectory: perpi_scene_along_run(along, q, v, until, true, fn, user, &flags);
 *     perpi_scene_along_destroy(along);
 *
 * Unknowns in order: the parameters, then for each of the bodies its start coordinates
 * (displacement of the centre of mass 3, rotation vector in the world 3, velocity 3, angular
 * velocity 3; planar 2, 1, 2, 1). Fixed steps of stewart-trinkle, restitution (Newton) included;
 * refused, PERP_ERROR_UNSUPPORTED, is what perp_gradient_create refuses. */
typedef struct perpi_scene_along_def {
    const char* const* parameter; /* names of parameters, or JSON pointers of numbers */
    int32_t parameter_count;
    const int32_t* body; /* dynamic bodies whose start coordinates are unknowns */
    int32_t body_count;
    double threshold;        /* of flags; 0: 1e-6 */
    const perp_sim_def* sim; /* from perp_sim_def_from_scene, changed; NULL: the scene's */
} perpi_scene_along_def;

typedef struct perpi_scene_along perpi_scene_along;
/* The scene is built anew several times, and is as before at the end; it must outlive the object, without
 * perp_scene_rebuild in between. */
PERP_NODISCARD perp_status perpi_scene_along_create(perp_context* context, perp_scene* scene,
                                                    const perpi_scene_along_def* def,
                                                    perpi_scene_along** along);
void perpi_scene_along_destroy(perpi_scene_along* along);
int32_t perpi_scene_along_unknowns(const perpi_scene_along* along);
/* The simulation, for names of bodies and quantities; at the start of the scene before the first run. */
perp_sim* perpi_scene_along_sim(perpi_scene_along* along);
/* Sets the time at which runs begin, a multiple of the step; 0 if it was never set. */
void perpi_scene_along_begin(perpi_scene_along* along, double time);
/* Runs from the start (q, v: flat, of all bodies, as perp_sim_q and perp_sim_v; NULL: the scene's)
 * until the first state at `until` or later, then calls fn for each state, the start included. See
 * perpi_along_run (sim/gradient.h) for what a state has, and perpi_along_quantity for
 * quantities. */
PERP_NODISCARD perp_status perpi_scene_along_run(perpi_scene_along* along, const double* q,
                                                 const double* v, double until, bool derivatives,
                                                 perpi_along_fn fn, void* user,
                                                 perp_gradient_flags* flags);

#endif
