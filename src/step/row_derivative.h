/* src/step/row_derivative.h - derivatives of the rows of a step's problem by the poses of its bodies.
 *
 * At the solution (v', p) of a step, with its features frozen, a constraint between bodies a and b
 * has row velocities u = J v' + b and generalised impulses J' p on the two bodies. Both are
 * differentiated by the twelve displacements of the bodies at the start of the step: a's centre of
 * mass, a's rotation vector in the world, then b's. Rows of a middle step depend on the poses at
 * its two ends, by which they are differentiated one after the other (at_end).
 */
#ifndef PERPI_ROW_DERIVATIVE_H
#define PERPI_ROW_DERIVATIVE_H

#include "step/rolling.h"

enum { PERPI_PAIR_DOFS = 12, PERPI_CONSTRAINT_ROWS = 6 };

typedef struct perpi_constraint_derivative {
    int32_t body[2]; /* -1: the world */
    double u[PERPI_CONSTRAINT_ROWS][PERPI_PAIR_DOFS];
    double impulse[PERPI_PAIR_DOFS][PERPI_PAIR_DOFS]; /* force and torque on a, then on b */
    double integral;                                  /* of a controller: d b by its integral */
    /* of a contact that rolls: d u of its tangential rows by velocities at the start, and by
     * displacements of the step before */
    perpi_rolling_case rolling;
    bool border, full;
    double rate[2][PERPI_PAIR_DOFS], before[2][PERPI_PAIR_DOFS];
    int32_t contact_before;        /* of PERPI_ROLLING_BETWEEN: the contact of the step before */
    double push[2][3], push_mu[2]; /* and d u by its impulse and its coefficient of friction */
    perpi_rolling_derivative
        other; /* full: in the other case; pose: its difference from this one */
    bool
        shifted; /* of a contact: an offset of the poses shifts its gap; d u of the normal row by it */
    double shift[PERPI_PAIR_DOFS];
} perpi_constraint_derivative;

/* The displacements that exist: all twelve, or of planar bodies x, y and the rotation about z of each. */
typedef struct perpi_columns {
    int32_t item[PERPI_PAIR_DOFS], count;
} perpi_columns;
perpi_columns perpi_pair_columns(const perp_model* model);

/* The solution that a step's problem is differentiated at. in: the input that f was formulated from. */
typedef struct perpi_solved {
    const perpi_step_input* in;
    const perpi_formulation* f;
    const double *v, *p; /* of the problem */
    /* the step before, for rolling contacts; contact_before NULL: there was none */
    const perpi_pose* pose_before;
    const perp_contact* contact_before;
    int32_t contact_before_count;
    double h_before, threshold;
    bool at_end; /* of a middle step (in->middle): by the poses at its end, not at its start */
} perpi_solved;

/* Of constraint `index` of the problem. PERP_ERROR_UNSUPPORTED: a contact whose geometry has no derivative; the
 * message names it. */
PERP_NODISCARD perp_status perpi_constraint_differentiate(const perpi_solved* at, int32_t index,
                                                          perpi_constraint_derivative* d);

/* What a constraint has beyond its derivative by one pair of bodies: a gear acts through two
 * joints, and a rotor (armature) has b by the velocities at the start; so have rows of impacts with
 * prescribed bodies. d->body: the pair. */
typedef struct perpi_row_term {
    int32_t row;                  /* of the problem; u[0] of d is its own */
    bool placed, pushes, started; /* u[0] of d, its impulses, and rate are set */
    bool before;                  /* d is by the poses of the step before */
    double rate[PERPI_PAIR_DOFS]; /* d u by velocities at the start */
    perpi_constraint_derivative d;
} perpi_row_term;
/* Of constraint `index`. False: it has none. */
bool perpi_term_differentiate(const perpi_solved* at, int32_t index, perpi_row_term* term);
/* Feed-forward of gravity in the row of a controller: part 0 by the line of its joint, then by the
 * bodies that it moves. False: no such part. */
bool perpi_feed_forward_differentiate(const perpi_solved* at, int32_t controller, int32_t part,
                                      perpi_row_term* term);
/* Row r of constraint `index`, of a joint, by the velocities of prescribed bodies, as in->v has
 * them. False: it has none. */
bool perpi_given_differentiate(const perpi_solved* at, int32_t index, int32_t r,
                               perpi_row_term* term);
/* A contact without friction and gap, whose normal and point are those of an earlier pose (change:
 * there), by the present poses and by the earlier ones. */
void perpi_held_differentiate(const perpi_solved* at, const perp_contact* contact,
                              const perpi_contact_derivative* change, int32_t row,
                              perpi_constraint_derivative* d, perpi_constraint_derivative* earlier);

/* The geometry of a contact by displacements, with its point where it acts on particles. */
PERP_NODISCARD perp_status perpi_contact_change(const perp_model* model, const perpi_pose* pose,
                                                const perp_contact* contact,
                                                perpi_contact_derivative* g);
/* The part of the way from A's point to B's at which the impulse acts on a side. */
double perpi_acting_part(const perp_model* model, const perp_contact* contact, int side);

/* The contact of the step before with the same features, if the slip of this one may depend on it; NULL: none. */
const perp_contact* perpi_rolling_before(const perpi_solved* at, const perp_contact* contact);

/* Known impulses of joints (motors of type effort, efforts of user code): of joint `index`, into
 * d->impulse. False: it has none. */
PERP_NODISCARD perp_status perpi_effort_differentiate(const perpi_solved* at, int32_t joint,
                                                      perpi_constraint_derivative* d, bool* any);

/* The force of explicit spring `index`: d->impulse by the poses, and by[12][12] by the velocities
 * at the start, both times h. */
void perpi_spring_differentiate(const perpi_solved* at, int32_t index,
                                perpi_constraint_derivative* d,
                                double by[PERPI_PAIR_DOFS][PERPI_PAIR_DOFS]);

/* Which part of the problem a constraint belongs to, and the index there. */
typedef enum perpi_constraint_part {
    PERPI_PART_CONTACT,
    PERPI_PART_JOINT, /* of f->place */
    PERPI_PART_SUPPORT,
    PERPI_PART_SPRING, /* of the implicit springs, in order */
    PERPI_PART_CONTROLLER,
} perpi_constraint_part;
perpi_constraint_part perpi_part_of(const perpi_formulation* f, const perp_model* model,
                                    int32_t constraint, int32_t* index);

#endif
