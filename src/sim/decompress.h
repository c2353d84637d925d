/* src/sim/decompress.h - Poisson's decompression: given impulses, unknown velocities. */
#ifndef PERPI_DECOMPRESS_H
#define PERPI_DECOMPRESS_H

#include "base/arena.h"
#include "perp/solve.h"
#include "step/formulate.h"

/* Velocities v and impulses p, in the layout of the problem of f, of
 *     M v = k + J' p,   0 <= p_n - asked_i  perp  u_n >= 0,   p_t in F(mu p_n), most dissipative
 * with the laws of joints. asked: one for each contact, 0 for none. report: of the one solve that this
 * takes; where its outcome is not PERP_OUTCOME_SOLVED, the point is the best that was found. */
PERP_NODISCARD perp_status perpi_decompress(perpi_arena* scratch, perp_contact_solver* solver,
                                            const perp_solve_options* options,
                                            const perpi_formulation* f, const double* asked,
                                            double* v, double* p, perp_report* report);

#endif
