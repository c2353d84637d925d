/* src/model/model.h - the immutable model, for the modules that depend on it. */
#ifndef PERPI_MODEL_H
#define PERPI_MODEL_H

#include "model/keep.h"
#include "model/oscillation.h"
#include "model/value.h"
#include "perp/model.h"
#include "shape/shape.h"

typedef struct perpi_motion {
    perp_motion_type type;
    perpi_value position[3];
    bool has_orientation, has_axis_angle;
    perpi_value orientation[4], axis_angle[4], angle;
    perpi_value velocity[3], angular_velocity[3];
    double max_speed, max_rate;     /* POSE: how fast the body follows it; INFINITY: at once */
    bool follows;                   /* one of them is finite */
    perpi_oscillation* oscillation; /* ACCELERATION */
} perpi_motion;

/* The support of a planar body by the plane of the scene: 2.5-D. */
typedef struct perpi_support {
    int32_t points; /* 0: nothing; 1: a particle; 3 */
    vec3 at[3];     /* body frame, from the centre of mass */
    double mu[3];
    double load[3]; /* normal forces [B09 (3.24)] */
} perpi_support;

/* The pose is a function of time alone: perpi_motion_pose gives it. */
static inline bool perpi_motion_has_pose(const perpi_motion* motion)
{
    return (motion->type == PERP_MOTION_POSE && !motion->follows) ||
           motion->type == PERP_MOTION_ACCELERATION;
}

/* The compliant layer between two bodies, along (n, t, o). */
typedef struct perpi_layer {
    bool soft;
    mat3 K, C;
    double limit; /* INFINITY: no core */
    bool smooth;  /* carries no friction: all tangential entries are 0 */
    double patch; /* spacing of the springs of a patch; 0: one spring per contact */
} perpi_layer;

typedef struct perpi_body {
    char* name;
    perp_body_type type;
    double mass;
    bool massless;          /* a frame between two joints: mass and inertia 0 (chain.h) */
    int32_t frame_joint[2]; /* massless: its joints; -1: none yet */
    int32_t chains;         /* chains of frames that end at it */
    mat3 inertia;           /* body frame; planar: m[2][2] */
    bool round_inertia;     /* the same about every axis */
    bool particle; /* dynamic with no rotation: its only shapes are particles at its centre */
    int32_t dofs;  /* planar 3, spatial 6, particles 2 and 3; 0 unless dynamic */
    double friction, restitution;
    perpi_layer layer;
    vec3 gravity;
    double color[3];
    vec3 offset; /* centre of mass in the frame the scene's shapes refer to */
    int32_t shape,
        shape_count; /* model->shape[shape ..]: those given, then pieces of outlines and meshes */
    int32_t given;   /* how many of them were given */
    double reach;    /* largest distance of a surface point from the centre; INFINITY for planes */
    perpi_pose pose; /* at the start */
    double angle;    /* planar */
    vec3 v, w;       /* at the start */
    perpi_motion motion;
    perpi_support support;
    double drag_linear, drag_angular;
    int32_t joints;   /* number of joints of the body */
    int32_t hinge[2]; /* 1 + the first two that keep a point of it; 0: none */
    int32_t gears;    /* number of sides of gears' joints that it is */
    int32_t wrench;   /* first of its forces, -1: none; chained by perpi_wrench.next */
    bool restricted;  /* one of the two lists was given */
    bool selective;   /* collides only with those allowed */
    char** allowed;   /* names */
    int32_t allowed_count;
    char** ignored; /* names */
    int32_t ignored_count;
} perpi_body;

/* Material of a shape, beside its geometry. */
typedef struct perpi_surface {
    int32_t body;
    int32_t from;    /* number of the given shape: its own, or the one it is a piece of */
    double friction; /* NaN: the body's */
    bool moving;
    perpi_value velocity[3]; /* relative to the body, body frame */
} perpi_surface;

typedef struct perpi_pair {
    int32_t a, b;       /* a < b */
    double mu;          /* NaN: not set */
    double restitution; /* NaN: not set */
    int32_t directions;
} perpi_pair;

typedef struct perpi_wrench {
    int32_t body;
    perpi_value force[3], torque[3];
    vec3 at;
    bool body_frame;
    int32_t next; /* next force on the same body, -1: none */
} perpi_wrench;

/* Side 0 is a, side 1 is b. */
typedef struct perpi_spring {
    int32_t body[2]; /* -1: the world */
    vec3 at[2];      /* body frame, from the centre of mass; the world: world */
    double stiffness, damping, rest;
    bool isotropic; /* acts on the whole vector: rest 0, or a damper across the line */
    bool implicit;
    int32_t rows,
        row; /* rows of the problem: their number (explicit: 0), and the first among those of
              * springs */
} perpi_spring;

typedef struct perpi_controller {
    char* name;
    int32_t joint; /* -1: a body's */
    int32_t body;
    vec3 axis; /* unit, world */
    double kp, ki, kd;
    perpi_value target;
    double max_effort;
    bool gravity;   /* feed-forward */
    int32_t* moved; /* the bodies that it holds: with gravity */
    int32_t moved_count;
    double moved_sign; /* of a joint: +1 if they are on the side of b */
    int32_t row;       /* the first of its rows among those of controllers */
    int32_t rows;      /* 1, or 2 where the joint has a velocity limit (force_rows.c) */
} perpi_controller;

/* A joint: a frame on each body, columns x, y, z = axis, that coincide at the start. Side 0 is a,
 * side 1 is b. Planar prismatic: z is the axis in the plane, x its normal in the plane. */
typedef struct perpi_joint {
    char* name;
    perp_joint_type type;
    int32_t body[2]; /* -1: the world */
    vec3 at[2];      /* body frame, from the centre of mass; the world: world */
    quat frame[2];   /* joint frame -> body frame */
    double angle;    /* planar: angle of b minus angle of a at the start */
    double start;    /* coordinate at the start */
    double rest[2];  /* lines and planes: travel along z, or x and y, at the start */
    double length;   /* rope */
    double own_size; /* of its arms and bodies; 0: points only */
    double size;     /* a length to compare position errors with, > 0 */
    bool has_limits;
    double limits[2];
    double friction, damping, armature;
    double stiffness; /* of a gear */
    perp_motor_type motor;
    perpi_value target;
    double max_effort;
    double velocity_limit; /* of its motor and its controllers; INFINITY: none */
    bool collide;
    int32_t rows;        /* equality rows */
    int32_t coordinates; /* 0..3 */
    int32_t geared[2];   /* gear: joints */
    double ratio, offset;
} perpi_joint;

/* Two bodies that must not collide because a joint connects them; a < b. */
typedef struct perpi_joined {
    int32_t a, b;
} perpi_joined;

/* Joints in series whose bodies between them have no mass: body[0], joint[0], body[1], ...,
 * body[joints]. The inner bodies are the frames; the ends may be -1, the world. */
enum { PERPI_CHAIN_JOINTS = 6 };
typedef struct perpi_chain {
    int32_t joints;
    int32_t joint[PERPI_CHAIN_JOINTS], body[PERPI_CHAIN_JOINTS + 1];
} perpi_chain;

struct perp_model {
    perp_context* context;
    char* name;
    int32_t dimension;
    vec3 gravity;
    double friction_default, restitution_default;
    perp_impact_law impact_law;
    bool bounces; /* some coefficient of restitution is above 0 */

    perpi_body* body;
    size_t body_count, body_capacity;
    perpi_shape* shape;        /* of all bodies, in order */
    perpi_surface* surface;    /* one per shape */
    perp_shape_def* shape_def; /* as given, relative to the centre of mass */
    size_t shape_count, shape_capacity, surface_capacity, shape_def_capacity;
    perpi_pair* pair; /* sorted by (a, b) */
    size_t pair_count, pair_capacity;
    perpi_wrench* wrench;
    size_t wrench_count, wrench_capacity;
    perpi_spring* spring;
    size_t spring_count, spring_capacity;
    int32_t spring_rows;
    int32_t support_points; /* of all bodies */
    perpi_controller* controller;
    size_t controller_count, controller_capacity;
    int32_t controller_rows; /* of all controllers */
    perpi_joint* joint;
    size_t joint_count, joint_capacity;
    perpi_chain* chain; /* of frames without mass */
    size_t chain_count, chain_capacity;
    int32_t massless_count;
    perpi_joined* joined; /* sorted, each pair once */
    size_t joined_count, joined_capacity;
    double length;   /* characteristic length: largest finite reach, 0 if nothing has a size */
    perpi_kept kept; /* the defs it was built from */
};

/* Support points and normal forces of the body; mass and offset must be known. */
PERP_NODISCARD perp_status perpi_body_support(perp_model* model, const perp_body_def* def,
                                              perpi_body* body);
/* Releases what a body owns. */
void perpi_body_free(perp_context* context, perpi_body* body);
/* Updates the sizes of the joints when the model's length has grown: they must not depend on the
 * order of adding. */
void perpi_joint_resize(perp_model* model);
void perpi_joint_free(perp_context* context, perpi_joint* joint);
void perpi_controller_free(perp_context* context, perpi_controller* controller);
/* The component of a body in a forest of parents (a root is its own); model/held.c. */
int32_t perpi_component(const int32_t* up, int32_t i);
/* The bodies that controllers with feed-forward of gravity hold: model/held.c. */
PERP_NODISCARD perp_status perpi_controller_find_moved(const struct perp_model* model,
                                                       perpi_controller* controller);
PERP_NODISCARD perp_status perpi_controllers_find_moved(struct perp_model* model);
/* Notes that the last joint has been added: finds the chains that it completes. model/chain.c. */
PERP_NODISCARD perp_status perpi_chains_grow(struct perp_model* model);
/* Whether every frame without mass is part of a chain; "body 'NAME': ..." otherwise. */
PERP_NODISCARD perp_status perpi_chains_check(const struct perp_model* model);
/* Whether a joint that excludes collision connects the two. */
bool perpi_model_joined(const perp_model* model, int32_t a, int32_t b);
/* Revolute or prismatic: has limits, friction, motor, effort. */
bool perpi_joint_one_degree(perp_joint_type type);
/* The body with the name most similar to one that no body has, or NULL. */
const char* perpi_model_nearest_body(const perp_model* model, const char* name);
/* The pair entry of two bodies, or NULL. */
const perpi_pair* perpi_model_pair(const perp_model* model, int32_t a, int32_t b);
/* Friction coefficient between two shapes: pair entry, else the geometric mean of the two. */
double perpi_model_friction(const perp_model* model, int32_t shape_a, int32_t shape_b);

/* layer.c: checks a def and makes its layer. Messages start with the member. */
PERP_NODISCARD perp_status perpi_layer_make(perp_context* context, int32_t dimension,
                                            const perp_compliance_def* def, perpi_layer* layer);
/* The layer between two bodies, of one spring (of a patch: with its share of the area). Not soft: the
 * pair is rigid. */
perpi_layer perpi_model_layer(const perp_model* model, int32_t a, int32_t b);

/* The pose and velocity of a kinematic body with a POSE or ACCELERATION motion at time t.
 * PERP_ERROR_NUMERIC names body, entry and time if a value is not finite. v, w may be NULL. */
PERP_NODISCARD perp_status perpi_motion_pose(const perp_model* model, int32_t body, double t,
                                             perpi_pose* pose, double* angle, vec3* v, vec3* w);
/* The mean velocity over (t, t + h) with which a kinematic body follows its POSE motion from its
 * current pose, within its speed limits. angle: planar. */
PERP_NODISCARD perp_status perpi_motion_follow(const perp_model* model, int32_t body, double t,
                                               double h, const perpi_pose* pose, double angle,
                                               vec3* v, vec3* w);
/* Likewise the velocity of one with a VELOCITY motion. */
PERP_NODISCARD perp_status perpi_motion_velocity(const perp_model* model, int32_t body, double t,
                                                 vec3* v, vec3* w);

#endif
