/* src/solve/frictional/augmented_newton.h - newton-bodies with contacts that are to be closed. */
#ifndef PERPI_SOLVE_AUGMENTED_NEWTON_H
#define PERPI_SOLVE_AUGMENTED_NEWTON_H

#include "perp/solve.h"

/* Newton's method on the laws, from p near the answer; `closed` contacts have the normal law u_n = 0 with an
 * impulse of either sign. An answer in which these impulses are not negative satisfies the laws of contacts,
 * and there may be others that do: Newton's method finds the one in which the contacts are closed. self: of
 * perpi_method_newton_bodies; report: as of a method. */
PERP_NODISCARD perp_status perpi_newton_closed(void* self, const perp_contact_problem* P,
                                               const bool* closed,
                                               const perp_solve_options* options, double* v,
                                               double* p, perp_report* report);

#endif
