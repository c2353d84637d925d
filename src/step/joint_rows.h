/* src/step/joint_rows.h - coordinates of joints, and their rows in a step. */
#ifndef PERPI_JOINT_ROWS_H
#define PERPI_JOINT_ROWS_H

#include "step/formulate.h"

/* The laws of a one-degree joint beside its equality rows, in the order of their slots. */
typedef enum perpi_joint_law {
    PERPI_LAW_LOWER, /* limits */
    PERPI_LAW_UPPER,
    PERPI_LAW_FRICTION,
    PERPI_LAW_MOTOR,
    PERPI_LAW_DAMPING,
    PERPI_LAW_COUNT
} perpi_joint_law;

/* q: the flat state. turns: of its angles; NULL: 0. */
perpi_joint_view perpi_joint_evaluate(const perp_model* model, int32_t joint, const double* q,
                                      const int32_t turns[2]);
/* What the rows of a joint change by small displacements of its bodies: change[i] by displacement
 * column[i] of twelve, those of body a (translation of the centre of mass, rotation vector in the
 * world), then b's. */
void perpi_joint_differentiate(const perp_model* model, int32_t joint, const double* q,
                               const int32_t* column, int32_t columns, perpi_joint_change* change);
/* dir . (velocity of b - velocity of a) of a row, from flat velocities. */
double perpi_joint_speed(const perp_model* model, int32_t joint, const perpi_row* row,
                         const double* v);

/* Rate of a one-degree joint: of its coordinate at the poses q and flat velocities v. */
double perpi_joint_rate(const perp_model* model, int32_t joint, const double* q, const double* v);

/* The joint in a middle step from q to q_end: directions and arms are the means of those at the two
 * ends, so that equal and opposite impulses act at the mean of the two places of the joint and keep the
 * angular momentum; errors and coordinates are those of q. */
perpi_joint_view perpi_joint_evaluate_middle(const perp_model* model, int32_t index,
                                             const double* q, const double* q_end,
                                             const int32_t turns[2]);
/* Appends the rows of all joints. q_end: of a middle step, else NULL. [W14 2.4], [T03 (16), (38)] */
PERP_NODISCARD perp_status perpi_formulate_joints(perpi_formulation* f, const perp_model* model,
                                                  perpi_purpose purpose, double t, double h,
                                                  const double* q, const double* q_end,
                                                  const perpi_joint_input* input);

/* Impulses of the joints <-> the rows of the problem. Scattering leaves the rest of a record. */
void perpi_formulation_gather_joints(const perpi_formulation* f, const perp_joint_record* record,
                                     double* p);
void perpi_formulation_scatter_joints(const perpi_formulation* f, const perp_model* model,
                                      const double* p, perp_joint_record* record);
/* The effort of a motor of type EFFORT in the step from t, where it is known before the step: the joint has no
 * velocity limit. Others: 0. */
PERP_NODISCARD perp_status perpi_joint_motor_effort(const perp_model* model, int32_t joint,
                                                    double t, const perpi_joint_input* input,
                                                    double* effort);

/* Puts the error that the joints have at q_end, the end of the step with velocities v_problem, into
 * the b of their equality rows and ropes: at v_problem these rows read u = error(q_end) / h. */
void perpi_formulation_correct_b(perpi_formulation* f, const perp_model* model, double h,
                                 const double* q_end, const double* v_problem,
                                 const perpi_joint_input* input);
/* The same in two parts. The joints at q_end: in r the errors / h of these rows, in R (laid out as
 * f->J) their Jacobian; returns perpi_formulation_error. Then b of them from r. q_end NULL: that of the
 * middle step that f has, whose joints are not evaluated once more. */
double perpi_formulation_end_rows(const perpi_formulation* f, const perp_model* model, double h,
                                  const double* q_end, const perpi_joint_input* input,
                                  const double* p, double* r, double* R);
void perpi_formulation_set_b(perpi_formulation* f, const perp_model* model, const double* v_problem,
                             const double* r);
/* b_error of these rows: errors at the end of the step are differences of rounded poses, and so is
 * their b (both functions above call this). at_end false: of the start again, none. */
void perpi_formulation_round_joints(perpi_formulation* f, const perp_model* model, bool at_end);
/* The largest error at q_end, relative to the joint's size (angles: to 1). p: the impulses of the answer that
 * leads there, or NULL; a rope that pulls is off by its slack, too. */
double perpi_formulation_error(const perpi_formulation* f, const perp_model* model,
                               const double* q_end, const perpi_joint_input* input,
                               const double* p);

/* The whole turns after a step: those for which the angle is closest to the one predicted by the
 * rate over the step. */
void perpi_joint_count_turns(const perpi_formulation* f, const perp_model* model, int32_t joint,
                             double h, const double* q, const double* q_end, const double* v_end,
                             int32_t turns[2]);

/* Point and axis of a joint in the world, as its a has them. */
void perpi_joint_line(const perp_model* model, const double* q, const perpi_joint* joint, vec3* at,
                      vec3* axis);

#endif
