/* src/step/smooth_step.h - steps with smoothed laws (smooth_law.h): their solution, and their derivative.
 *
 * Method     docs/notation.md, "Smoothed steps"
 *
 * perpi_step_settings.smooth > 0 is the barrier parameter of a run, and makes
 * perpi_linear_step_make take these laws. The solution depends smoothly on the data of the step:
 * kappa > 0 makes its linear system regular.
 */
#ifndef PERPI_SMOOTH_STEP_H
#define PERPI_SMOOTH_STEP_H

#include "perp/solve.h"
#include "step/linear_step.h"

typedef struct perpi_smooth_solver perpi_smooth_solver;
PERP_NODISCARD perp_status perpi_smooth_solver_create(perp_context* context,
                                                      perpi_smooth_solver** solver);
void perpi_smooth_solver_destroy(perpi_smooth_solver* solver);
/* v, p: of the problem that perpi_formulate makes of `in`; v in: first guess. PERP_ERROR_SOLVE: the
 * iteration did not converge. No allocation once it has been as large. */
PERP_NODISCARD perp_status perpi_smooth_solve(perpi_smooth_solver* solver,
                                              const perpi_step_input* in, double* v, double* p,
                                              perp_report* report);

/* How far from each other a pair acts: what its bodies' margins are larger by. */
double perpi_smooth_distance(const perp_model* model, const perpi_step_settings* settings,
                             double h);
/* Whether a contact pushes; of a smoothed run, where all do: whether more than it stands off. */
bool perpi_contact_pushes(const perp_model* model, const perpi_step_settings* settings, double h,
                          const perp_contact* contact);

/* ---- for linear_step.c and linear_vary.c ---------------------------------------------------------*/

typedef struct perpi_smooth_laws perpi_smooth_laws;
void perpi_smooth_laws_destroy(perp_context* context, perpi_smooth_laws* laws);
/* The laws of all constraints at the solution, into l->law: D du + dp = g. */
PERP_NODISCARD perp_status perpi_smooth_laws_choose(perpi_linear_step* l);
/* out += weight g, with kappa, mu and bounds of the problem of l->varied. */
void perpi_smooth_laws_vary(const perpi_linear_step* l, const perp_model* model, double weight,
                            double* out);

#endif
