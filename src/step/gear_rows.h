/* src/step/gear_rows.h - the row of a gear between two joints.
 *
 * The law is q_2 - ratio q_1 - offset = 0. Its Jacobian has entries on up to four bodies, sum_i J_i v_i; a
 * constraint connects at most two blocks. Of three or four moving bodies all but one are represented in a
 * block of the gear's own: x_i = J_i v_i, an equality row (a tie), and the law reads J_0 v_0 + sum x_i + b = 0.
 * The block has masses m_i that are subtracted from the bodies, M_i - J_i' m_i J_i, so that the equations
 * are equivalent, as for soft layers (layers.h). m_i is a small part of 1 / (J_i M_i^-1 J_i'): the rest stays
 * positive definite.
 */
#ifndef PERPI_GEAR_ROWS_H
#define PERPI_GEAR_ROWS_H

#include "step/joint_rows.h"

/* The slot of the first tie of a gear in perpi_joint_place; impulses of ties follow that of the law. */
enum { PERPI_GEAR_TIE = 8 };

/* A gear's error as its only row. turns: of its two joints. */
perpi_joint_view perpi_gear_evaluate(const perp_model* model, int32_t gear, const double* q,
                                     const int32_t turns[2]);
/* A gear with stiffness or damping: a force between the coordinates, not a constraint. */
static inline bool perpi_gear_soft(const perpi_joint* gear)
{
    return gear->type == PERP_JOINT_GEAR && (gear->stiffness > 0.0 || gear->damping > 0.0);
}
/* The rows of the gear. b: its error, divided by the time in which it is closed; of a soft gear the error. impact: its
 * block starts with the momentum of the bodies' velocities, so that impulses are changes of velocities alone. */
PERP_NODISCARD perp_status perpi_formulate_gear(perpi_formulation* f, const perp_model* model,
                                                int32_t gear, bool impact, double b,
                                                const double* q, const double* q_end,
                                                const int32_t turns[2]);
/* The Jacobian at q of constraint k of the joints, which is a gear's, laid out as f->J. */
void perpi_gear_jacobian(const perpi_formulation* f, const perp_model* model, int32_t k,
                         const double* q, const int32_t turns[2], double* R);
/* The velocities of the gears' blocks from those of the bodies. */
void perpi_gears_gather(const perpi_formulation* f, double* v_problem);

#endif
