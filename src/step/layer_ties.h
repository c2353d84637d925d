/* src/step/layer_ties.h - ties between a body and the points at which soft layers touch it.
 *
 * Between two dynamic bodies the block of a layer has the velocity y of A's point, with a mass m that is
 * subtracted from A (layers.h). In exact arithmetic the equations are those of A alone,
 *     M_A v_A = k_A + J_A' p + the other rows of A.
 * A solver satisfies the tie y = J_A v_A to its tolerance relative to the impulses of the tie, which are
 * m (y - y_0) - p and may be far larger than the momentum that A exchanges. The recording has the
 * velocities of bodies and the impulses of contacts only, so what the tie is off appears in A's equation
 * of motion. Therefore the answer is replaced by the point that is recorded: v_A by the equation of
 * motion without ties, y and the ties' impulses by v_A. The residual is that of this point.
 */
#ifndef PERPI_LAYER_TIES_H
#define PERPI_LAYER_TIES_H

#include "step/formulate.h"

/* Appends y - J_A v_A = 0 for a layer of a contact. */
PERP_NODISCARD perp_status perpi_tie_append(perpi_formulation* f, const perp_model* model,
                                            const perp_contact* c, perpi_layer_place* place);

/* Transfers the mass of the ties from their bodies; after everything else has entered M and k. */
PERP_NODISCARD perp_status perpi_ties_transfer(perpi_formulation* f, const perp_model* model,
                                               const perp_contact* contacts);

/* The point (v, p) without the ties' errors; false: there are no ties. */
bool perpi_ties_close(perpi_formulation* f, double* v, double* p);

/* y and the impulse of a tie, from the velocities of bodies and the impulse of the contact. */
void perpi_tie_gather(const perpi_formulation* f, const perpi_layer_place* place, double* v,
                      double* p);

#endif
