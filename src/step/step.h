/* src/step/step.h - steppers: formulate a step's problem, and advance with its answer.
 *
 * An implementer owes two functions. formulate builds f->problem from the state and the contacts
 * (perpi_formulate is there to be used); advance turns velocities at the end of the step into the
 * next state. Neither keeps anything between steps.
 */
#ifndef PERPI_STEP_H
#define PERPI_STEP_H

#include "step/formulate.h"

typedef struct perpi_stepper_ops {
    const char* name;
    const char* summary;
    perp_status (*formulate)(perpi_formulation* f, const perp_model* model, double t, double h,
                             const double* q, const double* v, const double* extra,
                             const perp_contact* contacts, int32_t count,
                             const perpi_joint_input* joints, const double* s);
    /* q: in: at t, out: at t + h. v: in: the dynamic bodies' at t + h; out: the prescribed ones'
     * too. linear_rotation: q + h G nu as in the papers. */
    perp_status (*advance)(const perp_model* model, double t, double h, bool linear_rotation,
                           double* q, double* v);
} perpi_stepper_ops;

PERP_NODISCARD perp_status perpi_stepper_find(perp_context* context, const char* name,
                                              const perpi_stepper_ops** ops);
bool perpi_stepper_at(int32_t index, const char** name, const perpi_stepper_ops** built);

#endif
