/* perp/force.h - springs, drag and controllers of a model. Wrenches: perp/model.h.
 *
 * As for all parts of a model: fill a def and add it; everything is copied. They are added after
 * the bodies and joints that they name.
 */
#ifndef PERP_FORCE_H
#define PERP_FORCE_H

#include "perp/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A spring and damper between a point of a and a point of b [B09 (2.125)-(2.133)].
 *
 * Along the line from a to b the force on b is -stiffness (length - rest) - damping (rate of
 * length). With rest 0 it is -stiffness d - damping d', d the vector from a to b, which is defined
 * also where the points coincide.
 *
 * implicit: the force is that of the end of the step, one compliant row per direction
 * (docs/notation.md), so that any stiffness and damping is stable; the rotation of the line within
 * the step is ignored. Otherwise the force at the start of the step, as in the paper: accurate to
 * the same order, unstable above a stiffness of about 4 m / h^2. */
typedef struct perp_spring_def {
    size_t struct_size;      /* set by ..._default(): docs/api.md; 0: not known */
    const char *a, *b;       /* body names, or "world"; at least one is dynamic */
    double at_a[3], at_b[3]; /* body frames, from the centre of mass; for "world": world */
    double stiffness;        /* >= 0 */
    double damping;          /* >= 0; not both 0 */
    double rest;             /* >= 0; NaN: the distance at the start */
    bool isotropic;          /* the damper acts on the whole relative velocity [B09 (2.131)] */
    bool implicit;           /* default true */
} perp_spring_def;
PERP_API perp_spring_def perp_spring_def_default(void);
PERP_API PERP_NODISCARD perp_status perp_model_add_spring(perp_model* model,
                                                          const perp_spring_def* def);

/* Force -linear v and torque -angular omega at the end of the step: stable for any coefficient.
 * Several on one body add up. */
typedef struct perp_drag_def {
    const char* body;
    double linear, angular; /* >= 0 */
} perp_drag_def;
PERP_API PERP_NODISCARD perp_status perp_model_add_drag(perp_model* model,
                                                        const perp_drag_def* def);

/* A PID controller. With x the coordinate and r the target at the end of the step, e = r - x,
 *     effort = kp e + ki (integral of e) + kd e' [+ gravity],  |effort| <= max_effort
 * one compliant bounded row, so that any gains are stable. The integral is part of the state; it
 * does not grow while the effort is at its limit (anti-windup).
 * x is a joint's coordinate (revolute or prismatic), or the position of a dynamic body's centre of
 * mass along a world axis. */
typedef struct perp_controller_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    const char* name;   /* unique among controllers, not empty */
    const char* joint;  /* or NULL */
    const char* body;   /* or NULL; one of the two */
    double axis[3];     /* body: any length > 0, made unit */
    double kp, ki, kd;  /* >= 0, not all 0 */
    double target;
    const char* target_text; /* expression in t that replaces the number, or NULL */
    double max_effort;       /* > 0; INFINITY: none */
    /* Feed-forward of gravity: to the effort is added what holds the bodies beyond the joint (the
     * side away from the ground, else from the first body) at rest against gravity, at the start of
     * the step. Exact for trees; a joint that closes a loop has none. */
    bool gravity;
    /* The target as a curve instead: rows of t and x, or t, x and its rate; NULL: none. */
    const double* trajectory;
    int32_t trajectory_rows, trajectory_columns;
    const char*
        interpolation; /* of two columns: "cubic" (NULL), "linear", "quintic"; of three cubic */
} perp_controller_def;
PERP_API perp_controller_def perp_controller_def_default(void);
PERP_API PERP_NODISCARD perp_status perp_model_add_controller(perp_model* model,
                                                              const perp_controller_def* def);

/* For reports. */
typedef struct perp_spring_info {
    int32_t a, b;            /* bodies; -1: the world */
    double at_a[3], at_b[3]; /* body frames, from the centre of mass */
    double stiffness, damping, rest;
    bool isotropic, implicit;
} perp_spring_info;
PERP_API int32_t perp_model_spring_count(const perp_model* model);
PERP_API perp_spring_info perp_model_spring_info(const perp_model* model, int32_t spring);
/* The sum of the drags on a body. */
PERP_API perp_drag_def perp_model_drag(const perp_model* model, int32_t body);

typedef struct perp_controller_info {
    int32_t joint; /* -1: a body's */
    int32_t body;  /* -1: a joint's */
    double axis[3];
    double kp, ki, kd, max_effort;
    bool gravity;
} perp_controller_info;
PERP_API perp_controller_info perp_model_controller_info(const perp_model* model,
                                                         int32_t controller);
PERP_API int32_t perp_model_controller_count(const perp_model* model);
PERP_API const char* perp_model_controller_name(const perp_model* model, int32_t controller);
PERP_API int32_t perp_model_controller_find(const perp_model* model, const char* name); /* -1 */

#ifdef __cplusplus
}
#endif
#endif
