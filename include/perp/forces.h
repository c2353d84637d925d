/* perp/forces.h - contact forces and accelerations at a state: the instantaneous problem.
 *
 * [T03 2.1-2.2], [B09 2.4.3]: closed contacts are sliding or rolling. The friction force of a
 * sliding contact opposes the slip; that of a rolling one is any in its cone that prevents slip,
 * or, if there is none, the one that opposes the beginning slip most. Such a problem may have one
 * solution, several, or none (Painleve); the result says which.
 */
#ifndef PERP_FORCES_H
#define PERP_FORCES_H

#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perp_existence {
    PERP_EXISTENCE_ONE = 0,   /* all cases were enumerated: one set of accelerations */
    PERP_EXISTENCE_SEVERAL,   /* likewise: more than one; the first is given */
    PERP_EXISTENCE_NONE,      /* likewise: no finite forces satisfy the laws */
    PERP_EXISTENCE_FOUND,     /* one was found; there may be others */
    PERP_EXISTENCE_NOT_FOUND, /* none was found; there may be one */
    PERP_EXISTENCE_IMPACT,    /* bodies in contact approach each other: only an impulse can stop
                                 them */
} perp_existence;
PERP_API const char* perp_existence_name(perp_existence existence); /* "one", "not-found" */

typedef enum perp_contact_mode {
    PERP_MODE_SEPARATING = 0,
    PERP_MODE_ROLLING, /* no slip, none sets in */
    PERP_MODE_SLIDING, /* slips, or begins to */
} perp_contact_mode;
PERP_API const char* perp_contact_mode_name(perp_contact_mode mode);

typedef struct perp_contact_force {
    int32_t body_a, body_b;
    double point[3], normal[3], tangent[3]; /* as in perp_contact */
    double gap, mu;
    double speed[3];        /* of B relative to A along n, t, o */
    double force[3];        /* on B along n, t, o */
    double acceleration[3]; /* of the gap, and of the slip along t, o */
    perp_contact_mode mode;
} perp_contact_force;

typedef struct perp_body_acceleration {
    double linear[3], angular[3]; /* planar: angular[2] */
} perp_body_acceleration;

/* Forces and accelerations are valid if existence says that there are some. Forces need not be
 * unique where accelerations are (a table on four legs): those that the solver finds. */
typedef struct perp_forces {
    perp_existence existence;
    int32_t solutions; /* different accelerations that were found */
    double residual;   /* the largest violation of a law, relative to the largest acceleration */
    int32_t contact_count;
    const perp_contact_force* contact; /* closed contacts */
    int32_t body_count;
    const perp_body_acceleration* body; /* all, 0 for those that are not dynamic */
    int32_t joint_count;
    const double (
        *joint)[6];    /* force and torque of the joints' rows, as perp_joint_state.impulse */
    char message[256]; /* one sentence for a person */
} perp_forces;

/* At the present state; the simulation is not changed. PERP_ERROR_UNSUPPORTED: the scene has
 * laws that are not implemented for accelerations (motors, limits, joint friction and damping,
 * ropes, controllers, supports, the ellipsoid cone, groups of contacts). */
PERP_API PERP_NODISCARD perp_status perp_forces_find(perp_sim* sim, perp_forces** forces);
PERP_API void perp_forces_destroy(perp_forces* forces);

#ifdef __cplusplus
}
#endif
#endif
