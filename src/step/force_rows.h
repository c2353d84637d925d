/* src/step/force_rows.h - springs and controllers: their forces and rows in a step, and their
 * memory.
 *
 * Memory s: the impulses of all rows (supports, springs, then controllers, with one row each or two where
 * the joint has a velocity limit), the warm start of the next step; then the integral of each controller.
 * Part of the state.
 */
#ifndef PERPI_FORCE_ROWS_H
#define PERPI_FORCE_ROWS_H

#include "step/support_rows.h"

static inline int32_t perpi_force_row_count(const perp_model* model)
{
    return model->spring_rows + model->controller_rows;
}

/* Where the impulses of springs and controllers start in s. */
static inline int32_t perpi_s_forces(const perp_model* model)
{
    return perpi_support_row_count(model);
}

static inline int32_t perpi_s_size(const perp_model* model)
{
    return perpi_s_forces(model) + perpi_force_row_count(model) + (int32_t)model->controller_count;
}

/* Impulse of a controller in the last step, and its integral, from s. */
static inline double perpi_controller_impulse(const perp_model* model, const double* s,
                                              int32_t controller)
{
    const perpi_controller* c = &model->controller[controller];
    const double* p = s + perpi_s_forces(model) + model->spring_rows + c->row;
    return c->rows == 2 ? p[0] + p[1] : p[0];
}

static inline double perpi_controller_integral(const perp_model* model, const double* s,
                                               int32_t controller)
{
    return s[perpi_s_forces(model) + perpi_force_row_count(model) + controller];
}

/* Adds the explicit springs' forces (or those of all springs) at the poses and velocities to out: 6
 * numbers a body. */
void perpi_add_spring_forces(const perp_model* model, const perpi_pose* pose, bool all,
                             const double* v, double* out);

/* Adds to out, 6 numbers a body, how far the explicit springs' forces are uncertain at poses that are
 * rounded. */
void perpi_add_spring_errors(const perp_model* model, const perpi_pose* pose, double* out);
/* The same of one spring, in the state q: an error of its force. */
double perpi_spring_force_rounding(const perp_model* model, const double* q, const perpi_spring* s);

/* Appends the rows of implicit springs and of controllers; f->force_row becomes the first. */
PERP_NODISCARD perp_status perpi_formulate_forces(perpi_formulation* f, const perp_model* model,
                                                  double t, double h, const double* q,
                                                  const perpi_joint_input* joints, const double* s);

/* The impulses remembered <-> the rows of the problem. */
void perpi_forces_gather(const perpi_formulation* f, const perp_model* model, const double* s,
                         double* p_problem);
/* Updates the memory after the step with the solution (v_problem, p_problem). s, s_next may be
 * the same. */
void perpi_forces_remember(const perpi_formulation* f, const perp_model* model, double h,
                           const double* v_problem, const double* p_problem, const double* s,
                           double* s_next);

/* Work of the dampers of the explicit springs over the step: their force at the start of the step (or at
 * its end) by the flat velocities v_used, times h and the rate that the answer gives. */
double perpi_spring_damping(const perpi_formulation* f, const perp_model* model, bool at_end,
                            double h, const double* v_used, const double* v_problem);

/* The first constraint of the implicit springs, one each; the controllers' follow. */
int32_t perpi_force_constraint(const perpi_formulation* f, const perp_model* model);

/* Energy stored in the springs. */
double perpi_spring_energy(const perp_model* model, const double* q);

#endif
