/* src/scene/sensitivity.h - how the numbers of a model depend on the parameters of its scene.
 *
 * For a list of parameters (names, or JSON pointers as of a study's `vary`), the model is built at
 * four values near theta, and the numbers of these models are compared: differences of fourth
 * order, central (-2, -1, 1, 2 delta), or, where the scene cannot be built on one side (a
 * coefficient at 0), one-sided (1, 2, 3, 4 delta or the negatives, and theta itself). delta is 1e-3
 * of the parameter's size: truncation (delta^4) and rounding (1e-16 / delta) are near 1e-13 of it;
 * numbers that are linear in theta are exact to rounding. Where derivatives of second and of fourth
 * order differ by more than such a delta explains, it is made smaller. Two offers, for two uses:
 *
 * 1. Fields. Each number that depends on some parameter is a field with a number of its own ("mass of body 3"); each
 *    parameter has a sparse list of (field, d field / d theta). An adjoint accumulates lambda . d residual / d field for
 *    the fields, whatever the number of parameters, and multiplies with the lists once, at the end
 *    (perpi_sensitivity_contract). So 100 parameters of one mass cost what one does.
 * 2. Models. The four models of each parameter are kept (unless told not to), for differences of whatever is a
 *    function of a model, at a fixed state: d f / d theta = weight_here f(model) + sum over k of weight[k] f(model[k]).
 *    Simple, and right for everything; costs four evaluations per parameter. For functions that are not smooth in the
 *    sizes (a collider) use perpi_frozen_at with these models. Restrict it to the items that perpi_sensitivity_touches
 *    names: a parameter of one body then costs what that body costs, whatever the size of the scene.
 *
 * Why differences and not exact derivatives through the readers: a model's numbers are made by some
 * thirty routines (mass of every shape, principal axes, frames of joints, supports) that would all
 * need a second version. With fourth order and models built anew nothing has to be kept in step
 * with them.
 *
 * Values that vary in time (expressions of t, tables) are fields of a kind of their own:
 * perpi_sensitivity_value gives d value / d theta and d rate / d theta at t, without allocation.
 *
 * Refused, PERP_ERROR_UNSUPPORTED, with the parameter's name: the structure depends on it (numbers
 * of bodies, vertices, joints, names, types, whether a value varies in time, whether a coefficient
 * is given); the run does (step, duration, margin, tolerance, cone). A parameter that changes
 * nothing has an empty list. Not fields: lengths that tolerances refer to (perp_model.length,
 * perpi_joint.size); measures and stops, which use parameters by name.
 */
#ifndef PERPI_SCENE_SENSITIVITY_H
#define PERPI_SCENE_SENSITIVITY_H

#include "model/model.h"
#include "perp/scene.h"

/* What a field is a number of; index: of the body, shape, ...; part: which number of it. Vectors in
 * their frames as in model.h; a quantity of the start state is of a body. */
typedef enum perpi_field_kind {
    PERPI_FIELD_BODY_MASS,    /* part 0 */
    PERPI_FIELD_BODY_INERTIA, /* 0..8, rows; planar: 8 */
    PERPI_FIELD_BODY_GRAVITY, /* 0..2 */
    PERPI_FIELD_BODY_FRICTION, /* coefficient of its material; contacts: PERPI_FIELD_PAIR_FRICTION is used first */
    PERPI_FIELD_BODY_RESTITUTION,
    PERPI_FIELD_BODY_OFFSET,      /* 0..2: centre of mass in the frame of the scene's shapes */
    PERPI_FIELD_BODY_DRAG,        /* 0: linear, 1: angular */
    PERPI_FIELD_BODY_LAYER,       /* 0..8: K, 9..17: C, 18: limit, 19: patch */
    PERPI_FIELD_BODY_SPEEDS,      /* 0: max_speed, 1: max_rate of a motion that is followed */
    PERPI_FIELD_START_POSITION,   /* 0..2: centre of mass at the start, world */
    PERPI_FIELD_START_ROTATION,   /* 0..2: rotation vector, world frame: d R = [d r] R; planar: 2 */
    PERPI_FIELD_START_VELOCITY,   /* 0..2: of the centre of mass, 3..5: angular, world */
    PERPI_FIELD_SUPPORT_PLACE,    /* of a body; part 3 i + k: point i, entry k */
    PERPI_FIELD_SUPPORT_FRICTION, /* part i */
    PERPI_FIELD_SUPPORT_LOAD,     /* part i */
    PERPI_FIELD_SHAPE_SIZE, /* 0: radius, 1: length, 2: offset, 3..5: half, 6..8: radii, 9, 10: exponents */
    PERPI_FIELD_SHAPE_NORMAL,   /* 0..2: of a plane */
    PERPI_FIELD_SHAPE_PLACE,    /* 0..2: local.x */
    PERPI_FIELD_SHAPE_ROTATION, /* 0..2: of local: d R = [d r] R, body frame */
    PERPI_FIELD_SHAPE_VERTEX,   /* polygon: 2 i + k; polyhedron (also of a box): 3 i + k */
    PERPI_FIELD_SHAPE_FRICTION,
    PERPI_FIELD_PAIR_FRICTION, /* of model->pair */
    PERPI_FIELD_PAIR_RESTITUTION,
    PERPI_FIELD_WRENCH_PLACE, /* 0..2: at */
    PERPI_FIELD_SPRING,       /* 0..2: at[0], 3..5: at[1], 6: stiffness, 7: damping, 8: rest */
    PERPI_FIELD_CONTROLLER,   /* 0: kp, 1: ki, 2: kd, 3: max_effort, 4..6: axis */
    PERPI_FIELD_JOINT_PLACE,  /* 0..2: at[0], 3..5: at[1] */
    PERPI_FIELD_JOINT_FRAME, /* 0..2: rotation vector of frame[0], 3..5: of frame[1]: d R = [d r] R, body frame */
    PERPI_FIELD_JOINT_NUMBER, /* 0: angle, 1: start, 2, 3: rest, 4: length, 5, 6: limits, 7: friction,
                                  * 8: damping, 9: max_effort, 10: ratio and 11: offset of a gear,
                                  * 12: velocity_limit, 13: armature, 14: stiffness */
    PERPI_FIELD_GRAVITY,      /* 0..2: of the model */
    /* Values that may vary in time; perpi_sensitivity_value gives their derivatives at t. The
     * derivative in the list is that of the number where no t stands in it. */
    PERPI_FIELD_VALUE_FORCE,  /* of a wrench: 0..2: force, 3..5: torque */
    PERPI_FIELD_VALUE_MOTOR,  /* target of a joint */
    PERPI_FIELD_VALUE_TARGET, /* of a controller */
    PERPI_FIELD_VALUE_MOTION, /* of a body: 0..2: position, 3..6: orientation, 7..10: axis_angle, 11: angle,
                                  * 12..14: velocity, 15..17: angular_velocity */
    PERPI_FIELD_VALUE_SURFACE, /* of a shape: 0..2: velocity of its surface */
    PERPI_FIELD_OSCILLATION, /* of a body: motion by accelerations; the pose at t by perpi_motion_pose of the models */
    PERPI_FIELD_KIND_COUNT,
} perpi_field_kind;

typedef struct perpi_field {
    perpi_field_kind kind;
    int32_t index, part;
} perpi_field;

typedef struct perpi_field_derivative {
    int32_t field; /* number of the field, < field_count */
    double value;  /* d field / d theta; 0 of a value that varies in time */
} perpi_field_derivative;

enum { PERPI_SENSITIVITY_MODELS = 4 };

/* One parameter. */
typedef struct perpi_parameter_sensitivity {
    const char* name; /* as given */
    double value, delta;
    /* of f at the models, divided by delta already; weight_here: at the scene's own, 0 of central differences */
    double weight[PERPI_SENSITIVITY_MODELS], weight_here;
    const perp_model* model[PERPI_SENSITIVITY_MODELS]; /* NULL if not kept */
    bool
        shared; /* they have other values of other parameters, too: its own fields alone may be read */
    /* the largest difference of a field's derivatives of fourth and of second order (to either
     * side), relative; above 1e-2 the scene is not smooth in the parameter there (abs, min, floor,
     * if) */
    double roughness;
    const perpi_field_derivative* item; /* ascending by field */
    int32_t count;
    const int32_t*
        body; /* bodies it touches: by their own fields, shapes, joints, forces; ascending */
    int32_t body_count;
} perpi_parameter_sensitivity;

typedef struct perpi_sensitivity_def {
    const char* const* name; /* parameters, or JSON pointers of numbers (begin with '/') */
    int32_t count;
    const double* scale; /* size of each, for delta; NULL, or 0: its value, of 0: 1 */
    bool drop_models;    /* keep the fields only; values that vary in time need the models */
    bool share;          /* parameters that stand in different bodies may have models together */
} perpi_sensitivity_def;

typedef struct perpi_sensitivity perpi_sensitivity;

/* The scene stays as it is, with the same model. It must outlive the sensitivity, and so must its model: no
 * perp_scene_rebuild in between. */
PERP_NODISCARD perp_status perpi_sensitivity_create(perp_context* context, perp_scene* scene,
                                                    const perpi_sensitivity_def* def,
                                                    perpi_sensitivity** sensitivity);
void perpi_sensitivity_destroy(perpi_sensitivity* sensitivity);

int32_t perpi_sensitivity_count(const perpi_sensitivity* s);
const perpi_parameter_sensitivity* perpi_sensitivity_of(const perpi_sensitivity* s,
                                                        int32_t parameter);
/* All fields that some parameter changes, sorted by kind, index, part. */
int32_t perpi_sensitivity_field_count(const perpi_sensitivity* s);
const perpi_field* perpi_sensitivity_fields(const perpi_sensitivity* s);
/* The number of a field; -1: no parameter changes it. O(log fields). */
int32_t perpi_sensitivity_find(const perpi_sensitivity* s, perpi_field_kind kind, int32_t index,
                               int32_t part);
/* The first field of this kind and index, and how many follow with the same; 0: none. */
int32_t perpi_sensitivity_range(const perpi_sensitivity* s, perpi_field_kind kind, int32_t index,
                                int32_t* first);
/* Whether the parameter touches the body, or a contact, joint or force of two bodies (b: -1 for one). */
bool perpi_sensitivity_touches(const perpi_sensitivity* s, int32_t parameter, int32_t a, int32_t b);
/* gradient[i] += sum over the fields of d field / d theta_i times weight[field]; not for values that vary. */
void perpi_sensitivity_contract(const perpi_sensitivity* s, const double* weight, double* gradient);

/* d value / d theta and d rate / d theta at t of a field of a kind PERPI_FIELD_VALUE_...; 0 if the
 * parameter does not change it. No allocation. The models must have been kept. */
void perpi_sensitivity_value(const perpi_sensitivity* s, int32_t parameter,
                             const perpi_field* field, double t, double* value, double* rate);
/* The value itself in a model; NULL: the field is no value. */
const perpi_value* perpi_field_value(const perp_model* model, const perpi_field* field);
/* A number of a model; values that vary: NaN; rotations, which are relative: 0. */
double perpi_field_number(const perp_model* model, const perpi_field* field);

#endif
