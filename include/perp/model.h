/* perp/model.h - bodies, materials, forces and joints. Immutable once a simulation uses it.
 *
 * Fill a def with its ..._default(), change members as needed, add it. Everything is copied. In a
 * planar model vectors use x and y, angular quantities their z entry, and density is per area.
 *
 * A message from these functions starts with the member at fault ("mass: must be > 0, got -1"), so
 * that a reader of files can prefix its location.
 */
#ifndef PERP_MODEL_H
#define PERP_MODEL_H

#include "perp/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_model perp_model;

/* Law of restitution, [docs/steppers.md]: Newton relates velocities, u_n+ = -e u_n-; Poisson
 * relates impulses, that of decompression is e times that of compression. */
typedef enum perp_impact_law {
    PERP_IMPACT_NEWTON = 0,
    PERP_IMPACT_POISSON,
} perp_impact_law;

typedef struct perp_model_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    const char* name;
    const char* description; /* for people; may be NULL */
    int32_t dimension;       /* 2 or 3 */
    double gravity[3];
    double friction_default;    /* >= 0; for bodies without their own */
    double restitution_default; /* 0 .. 1; likewise */
    perp_impact_law impact_law; /* of all pairs */
} perp_model_def;

PERP_API perp_model_def perp_model_def_default(void); /* 3-D, no gravity, friction 0 */
PERP_API PERP_NODISCARD perp_status perp_model_create(perp_context* context,
                                                      const perp_model_def* def,
                                                      perp_model** model);
PERP_API void perp_model_destroy(perp_model* model);

typedef enum perp_body_type {
    PERP_BODY_STATIC = 0,
    PERP_BODY_KINEMATIC = 1,
    PERP_BODY_DYNAMIC = 2,
} perp_body_type;

/* How a kinematic body moves. Each entry is an expression in t, or NULL for 0. */
typedef enum perp_motion_type {
    PERP_MOTION_NONE = 0,
    PERP_MOTION_POSE,         /* position[], and angle (planar), orientation[4] or axis_angle[4] */
    PERP_MOTION_VELOCITY,     /* velocity[], angular_velocity[], integrated from the initial pose */
    PERP_MOTION_ACCELERATION, /* acceleration[], sums of sinusoids, integrated exactly */
} perp_motion_type;

/* amplitude sin(2 pi frequency t + phase): frequency in cycles per unit of time, phase in radians. */
typedef struct perp_sinusoid {
    double amplitude, frequency, phase;
} perp_sinusoid;

typedef struct perp_motion_def {
    perp_motion_type type;
    const char* position[3];
    const char* orientation[4]; /* w, x, y, z; normalised when evaluated; all NULL: not given */
    const char* axis_angle[4];  /* axis (any length > 0), angle; all NULL: not given */
    const char* angle;          /* planar */
    const char* velocity[3];
    const char* angular_velocity[3]; /* planar: [2] */
    /* POSE from a table instead of expressions: rows of t and x, y[, angle] (planar) or x, y, z[, w,
     * x, y, z] (spatial); times ascend. NULL: none. */
    const double* table;
    int32_t table_rows, table_columns;
    const char* interpolation; /* "linear", "cubic" or "quintic" (base/curve.h); NULL: linear */
    /* POSE: the body starts at its def's pose and follows no faster than this; 0: follows
     * exactly */
    double max_speed, max_angular_speed;
    /* ACCELERATION along x, y, z and about the world's x, y, z (planar: 0, 1 and 5), each the
     * sum of so many terms. The body oscillates about its def's pose: displacements have mean 0,
     * angles about several axes are symmetric about 0 over the first period; its def's
     * velocities are the means. */
    const perp_sinusoid* acceleration[6];
    int32_t acceleration_count[6];
    /* The mean angular velocity is chosen so that the orientation is periodic too (rotations
     * about several axes are not in general). Refused where the motion is not periodic. */
    bool periodic;
    bool from_pose; /* it starts in its def's pose instead of oscillating about it */
} perp_motion_def;

/* 2.5-D: a planar body that lies on the plane of the scene, on three points (a particle: on one,
 * at its centre) with known normal forces [B09 3.3]. At each there is friction with the plane,
 * with a disc as friction set. */
typedef struct perp_support_def {
    bool given;          /* false: nothing under the body */
    bool has_tripod;     /* not used for a particle */
    double tripod[3][2]; /* in the frame that the shapes refer to; contains the centre of mass */
    double mu[3];        /* of each point, >= 0; a particle: [0] */
    double gravity;      /* across the plane, > 0; NaN: 9.81 */
    double load;         /* the normal force on the plane, > 0, instead of mass * gravity; NaN:
                            not given */
} perp_support_def;

/* A soft layer around a rigid core [B09 (2.73), 3.5.2]: force = K delta + C d(delta)/dt, along
 * the normal (positive when compressed) and the two tangents of a contact. Read by the stepper
 * `compliant`. K and C symmetric and positive semidefinite, K + C positive definite, or with
 * zeros in all tangential entries: then the layer transmits no friction. Planar: entries 0, 1,
 * 3, 4 only. */
typedef struct perp_compliance_def {
    double stiffness[9]; /* row-major, normal first; with a patch: per area (planar: per length) */
    double damping[9];
    double max_deflection; /* > 0: depth of the core; INFINITY: there is none */
    double patch; /* > 0: springs spread over the patch, this far apart; 0: one a contact */
} perp_compliance_def;

typedef struct perp_body_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    const char* name;   /* unique, not empty */
    perp_body_type type;
    double mass; /* dynamic; > 0; NaN: from density */
    bool has_inertia;
    double inertia[9];     /* about the centre of mass, body axes, row-major; planar: [8] only */
    double density;        /* NaN: mass and inertia are given */
    double position[3];    /* the centre of mass; with density: the origin of the shapes */
    double orientation[4]; /* w, x, y, z; any length > 0 */
    double angle;          /* planar: may exceed 2 pi, kept unwrapped */
    double velocity[3];    /* of the centre of mass */
    double angular_velocity[3]; /* world frame; planar: [2] */
    double friction;            /* NaN: the model's default */
    double restitution;         /* 0 .. 1; NaN: the model's default */
    bool has_compliance;
    perp_compliance_def compliance;
    bool has_gravity; /* false: the model's */
    double gravity[3];
    double color[3]; /* 0..1 each; NaN: unset */
    bool has_surface_velocity;
    double surface_velocity[3];           /* of the surface relative to the body, body frame */
    const char* surface_velocity_text[3]; /* expression in t that replaces the number, or NULL */
    const perp_shape_def* shapes;
    int32_t shape_count;
    const char* const* collides_with; /* names; read only if restricted */
    int32_t collides_with_count;
    bool collides_restricted;   /* true: only with the names listed; both sides must allow it */
    const char* const* ignores; /* names it never collides with; one side naming it is enough */
    int32_t ignores_count;
    perp_motion_def motion;   /* kinematic only */
    perp_support_def support; /* dynamic, planar only */
    bool
        massless; /* dynamic, spatial: a frame between two joints, without mass, inertia and shapes */
} perp_body_def;

PERP_API perp_body_def perp_body_def_default(void); /* static, at the origin, collides with all */
PERP_API PERP_NODISCARD perp_status perp_model_add_body(perp_model* model, const perp_body_def* def,
                                                        int32_t* index);

/* Friction and restitution of a pair: this entry, else the geometric mean of the two. */
typedef struct perp_pair_def {
    const char* a;
    const char* b;
    double mu;          /* NaN: not set here */
    int32_t directions; /* polygon cone of this pair; 0: the scene's */
    bool has_restitution;
    double restitution; /* 0 .. 1; read only if has_restitution */
} perp_pair_def;
PERP_API PERP_NODISCARD perp_status perp_model_add_pair(perp_model* model,
                                                        const perp_pair_def* def);

typedef struct perp_wrench_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    const char* body;
    double force[3];
    double torque[3];          /* planar: [2] */
    const char* force_text[3]; /* expression in t that replaces the number, or NULL */
    const char* torque_text[3];
    double at[3];    /* point of application in the body frame, from the centre of mass */
    bool body_frame; /* force and torque turn with the body */
} perp_wrench_def;
PERP_API perp_wrench_def perp_wrench_def_default(void);
PERP_API PERP_NODISCARD perp_status perp_model_add_wrench(perp_model* model,
                                                          const perp_wrench_def* def);

/* ---- joints --------------------------------------------------------------------------------------
 *
 * A joint has a frame on each of its bodies; at the start the two coincide (a rope has two points).
 * Its coordinate is that of b relative to a, positive along or about the axis, 0 at the start
 * (or `start`). Angles
 * are unwrapped: two turns read 4 pi. [W14 tables 2.1-2.3]
 *
 *     type         holds                                  coordinates
 *     fixed        point and orientation                  -
 *     revolute     point and axis                         angle
 *     prismatic    line and orientation                   travel
 *     cylindrical  line and axis                          travel, angle
 *     spherical    point                                  -
 *     universal    point; axis (on a) normal to axis2 (on b)  angle about axis, about axis2
 *     planar       plane and its normal (the axis)        travel along x and y of the frame, angle
 *     rope         |at_b - at_a| <= length                distance (not 0 at the start)
 *     gear         coordinate of joints[1] = ratio * coordinate of joints[0] + offset    -
 *
 * Planar models know fixed, revolute, prismatic, rope and gear. A gear connects two one-degree joints, which
 * may be on any bodies; it has no bodies, points or axis of its own. A particle has no orientation: it takes
 * spherical (planar: revolute) and rope, at its centre. */

/* One line for each type: PERP_JOINT_FIXED, ... New ones come last. */
#define PERP_JOINT_TYPES(X)                                                                        \
    X(FIXED, fixed)                                                                                \
    X(REVOLUTE, revolute)                                                                          \
    X(PRISMATIC, prismatic)                                                                        \
    X(CYLINDRICAL, cylindrical)                                                                    \
    X(SPHERICAL, spherical)                                                                        \
    X(UNIVERSAL, universal)                                                                        \
    X(PLANAR, planar)                                                                              \
    X(ROPE, rope)                                                                                  \
    X(GEAR, gear)
#define PERP_JOINT_ENUMERATOR(NAME, name) PERP_JOINT_##NAME,
typedef enum perp_joint_type {
    PERP_JOINT_TYPES(PERP_JOINT_ENUMERATOR) PERP_JOINT_TYPE_COUNT,
} perp_joint_type;

typedef enum perp_motor_type {
    PERP_MOTOR_NONE = 0,
    PERP_MOTOR_POSITION, /* the coordinate is target at the end of every step */
    PERP_MOTOR_VELOCITY, /* its rate is target */
    PERP_MOTOR_EFFORT,   /* the effort is target, cut at +-max_effort */
} perp_motor_type;

/* All three with |effort| <= max_effort: a position or velocity that requires more is not
 * reached. */
typedef struct perp_motor_def {
    perp_motor_type type;
    double target;
    const char* target_text; /* expression in t that replaces the number, or NULL */
    double max_effort;       /* >= 0; INFINITY: none */
} perp_motor_def;

/* "One-degree" below: revolute and prismatic. */
typedef struct perp_joint_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    const char* name;   /* unique among joints, not empty */
    perp_joint_type type;
    const char *a, *b;       /* body names, or "world"; at least one is dynamic */
    bool has_at;             /* true: at; false: at_a and at_b */
    double at[3];            /* world, at the start */
    double at_a[3], at_b[3]; /* body frames, from the centre of mass; for "world": world */
    double axis[3];          /* world, at the start; any length > 0; ignored by types without an
                                axis */
    bool has_axis2;          /* false: chosen */
    double axis2[3];         /* universal: on b, perpendicular to axis at the start */
    double length;           /* rope: > 0; NaN: the distance at the start */
    bool has_limits;         /* one-degree */
    double limits[2];        /* of the coordinate, lower <= start <= upper; may be infinite */
    double start;            /* one-degree: the coordinate at the start; default 0 */
    double friction;       /* one-degree: constant dry friction, |effort| <= friction [T03 (38)] */
    double damping;        /* one-degree, gear: effort -damping * rate, implicit */
    perp_motor_def motor;  /* one-degree */
    bool collide;          /* true: a and b may touch each other */
    const char* joints[2]; /* gear: names of one-degree joints that were added before */
    double ratio;          /* gear: of the second coordinate to the first; default 1 */
    double offset;         /* gear: NaN: what it is at the start */
    double
        armature; /* one-degree: inertia of a rotor that turns (moves) at the joint's rate alone, without
                              mass and without reaction on other coordinates */
    double
        stiffness; /* gear: with it or damping the gear is a spring and damper between the coordinates,
                              with an effort of at most motor.max_effort on the second */
    double
        velocity_limit; /* one-degree: the rate past which motors and controllers of the joint do not
                              drive it; > 0, INFINITY: none */
} perp_joint_def;

PERP_API perp_joint_def perp_joint_def_default(void); /* fixed, no limits, motor or friction */
/* The bodies must have been added. Bodies that a joint connects do not collide unless every joint
 * between them says so. */
PERP_API PERP_NODISCARD perp_status perp_model_add_joint(perp_model* model,
                                                         const perp_joint_def* def, int32_t* index);

PERP_API int32_t perp_model_joint_count(const perp_model* model);
PERP_API const char* perp_model_joint_name(const perp_model* model, int32_t joint);
PERP_API int32_t perp_model_joint_find(const perp_model* model, const char* name); /* -1: none */

typedef struct perp_joint_info {
    perp_joint_type type;
    int32_t a, b;                /* bodies; -1: the world */
    double at_a[3], at_b[3];     /* in the body frames, from the centre of mass */
    double axis_a[3], axis_b[3]; /* likewise; 0 where the type has none */
    double axis2_b[3];           /* universal */
    double length;               /* rope */
    bool has_limits;
    double limits[2];
    double start;
    double friction, damping;
    perp_motor_type motor;
    double max_effort;
    bool collide;
    int32_t rows;        /* equality rows; a rope has 0 */
    int32_t coordinates; /* 0..3, see above */
    int32_t joints[2];   /* gear: its joints; else -1 */
    double ratio, offset;
    double armature, stiffness;
    double velocity_limit; /* INFINITY: none */
} perp_joint_info;
PERP_API perp_joint_info perp_model_joint_info(const perp_model* model, int32_t joint);

/* A joint after a step, as a simulation and a recording keep it. */
typedef struct perp_joint_record {
    double impulse[6];    /* of the step: the equality rows in order, the rest 0; a rope: [0] */
    double law[5];        /* of the step: lower limit, upper limit, friction, motor, damping with
                             armature; along
                             the axis on b, but the upper limit's along -axis */
    double coordinate[3]; /* at the end of the step */
    double error[2];      /* likewise: length, angle */
    double applied;       /* effort that user code and controllers had added */
    double target;        /* of the motor, set by user code; NaN: the scene's */
    int32_t turns[2];     /* whole turns in the angles of coordinate */
} perp_joint_record;

/* "revolute"; NULL if there is no such type. */
PERP_API const char* perp_joint_type_name(perp_joint_type type);
/* One line about the type, for lists. */
PERP_API const char* perp_joint_type_summary(perp_joint_type type);

/* Information about a model, for reports. */
PERP_API const char* perp_model_name(const perp_model* model);
PERP_API int32_t perp_model_dimension(const perp_model* model);
PERP_API void perp_model_gravity(const perp_model* model, double gravity[3]);
PERP_API int32_t perp_model_body_count(const perp_model* model);
PERP_API const char* perp_model_body_name(const perp_model* model, int32_t body);
PERP_API int32_t perp_model_body_find(const perp_model* model, const char* name); /* -1: none */

typedef struct perp_body_info {
    perp_body_type type;
    double mass;                               /* 0 unless dynamic */
    double inertia[9];                         /* body frame, about the centre of mass */
    double position[3], orientation[4], angle; /* at the start, of the centre of mass */
    double friction, restitution;
    double color[3];
    int32_t shape_count;
    int32_t dofs;     /* 0 unless dynamic */
    double offset[3]; /* centre of mass in the frame the scene's shapes refer to (density only) */
} perp_body_info;
PERP_API perp_body_info perp_model_body_info(const perp_model* model, int32_t body);
/* The supports of a body; points 0: none. */
typedef struct perp_support_info {
    int32_t points;  /* 0, 1 or 3 */
    double at[3][2]; /* body frame, from the centre of mass */
    double mu[3];
    double load[3]; /* normal forces [B09 (3.24)] */
} perp_support_info;
PERP_API perp_support_info perp_model_body_support(const perp_model* model, int32_t body);
/* shape: 0 .. shape_count-1; its pose is relative to the centre of mass. */
PERP_API perp_shape_def perp_model_body_shape(const perp_model* model, int32_t body, int32_t shape);
/* The friction coefficient of this pair of bodies (shapes with their own excepted). */
PERP_API double perp_model_pair_friction(const perp_model* model, int32_t a, int32_t b);
/* Likewise its coefficient of restitution. */
PERP_API double perp_model_pair_restitution(const perp_model* model, int32_t a, int32_t b);
/* Whether any pair may bounce, and by which law. */
PERP_API bool perp_model_bounces(const perp_model* model);
PERP_API perp_impact_law perp_model_impact_law(const perp_model* model);
/* The layer between two bodies: of two soft ones both in series (docs/steppers.md). False: rigid. */
PERP_API bool perp_model_pair_compliance(const perp_model* model, int32_t a, int32_t b,
                                         perp_compliance_def* compliance);
/* Whether the pair may collide at all. */
PERP_API bool perp_model_pair_collides(const perp_model* model, int32_t a, int32_t b);

#ifdef __cplusplus
}
#endif
#endif
