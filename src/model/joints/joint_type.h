/* src/model/joints/joint_type.h - the constrained and free directions of a type of joint.
 *
 * A type is one file: its properties, and a function that writes its rows at given poses. Notation and sources:
 * src/step/joint_rows.c, which puts the rows into the problem of a step.
 */
#ifndef PERPI_JOINT_TYPE_H
#define PERPI_JOINT_TYPE_H

#include "model/model.h"

/* One row: u = dir . (velocity of the point at arm[1] of b - that at arm[0] of a) + b, or of the
 * angular velocities. */
typedef struct perpi_row {
    bool angular;
    vec3 dir, arm[2];
    double b;
    double lower, upper; /* bounded rows */
    double compliance;
} perpi_row;

/* A joint at given poses. Of the rows, b is the error (a rope's: length - distance) or the
 * coordinate; bounds and compliance are not set. */
typedef struct perpi_joint_view {
    int32_t rows; /* equality rows, or 1 of a rope */
    perpi_row row[6];
    int32_t coordinates;
    perpi_row coordinate[3];
    double error[2]; /* length, angle */
} perpi_joint_view;

/* A side of a joint in the world. */
typedef struct perpi_joint_side {
    vec3 centre, point;
    quat q;       /* of the joint frame */
    mat3 F;       /* likewise */
    double angle; /* planar */
} perpi_joint_side;

/* A joint at the poses of a state. */
typedef struct perpi_joint_at {
    const perp_model* model;
    const perpi_joint* joint;
    perpi_joint_side side[2];
    vec3 d;       /* from the point of a to that of b */
    vec3 x, y, z; /* columns of the frame of a */
    bool planar;
    double turn[2]; /* whole turns of its angles, in radians */
} perpi_joint_at;

/* A small displacement of the two sides: of the centres of mass and of the joint's points, and
 * rotation vectors. */
typedef struct perpi_joint_shift {
    vec3 centre[2], point[2], turn[2];
    vec3 d; /* of the point of b against that of a */
} perpi_joint_shift;

/* What it changes of a row, and of a joint's rows and coordinates. */
typedef struct perpi_row_change {
    vec3 dir, arm[2];
    double b;
} perpi_row_change;

typedef struct perpi_joint_change {
    int32_t rows, coordinates;
    perpi_row_change row[6], coordinate[3];
} perpi_joint_change;

/* In which directions the point of b may move against the frame of a. */
typedef enum perpi_joint_freedom {
    PERPI_FREE_NONE,
    PERPI_FREE_LINE,  /* along z */
    PERPI_FREE_PLANE, /* along x and y */
} perpi_joint_freedom;

typedef struct perpi_joint_ops {
    const char* name;
    const char* summary;
    int32_t rows[2]; /* equality rows: planar (-1: not there), spatial */
    int32_t coordinates;
    bool has_axis[2];         /* planar, spatial: the scene gives a direction */
    perpi_joint_freedom free; /* of the point */
    bool points;              /* its rows read the points of the joint alone, not its frames */
    bool driven; /* one coordinate, which may have limits, friction, a motor, an effort */
    void (*evaluate)(const perpi_joint_at* at, perpi_joint_view* view);
    /* The derivative of evaluate: rows and coordinates in the same order. */
    void (*differentiate)(const perpi_joint_at* at, const perpi_joint_shift* by,
                          perpi_joint_change* change);
} perpi_joint_ops;

const perpi_joint_ops* perpi_joint_ops_of(perp_joint_type type);

/* ---- parts of types ---------------------------------------------------------------------------------*/

/* dir . d with both points at their poses; on_b: dir rotates with a, and the row acts at the point
 * of b. */
perpi_row perpi_position_row(const perpi_joint_at* at, vec3 dir, bool on_b, double b);
perpi_row perpi_angle_row(vec3 dir, double b);
void perpi_joint_hold(perpi_joint_view* view, perpi_row row);
void perpi_joint_coordinate(perpi_joint_view* view, perpi_row row);
/* The points coincide. */
void perpi_joint_hold_point(const perpi_joint_at* at, perpi_joint_view* view);
/* No rotation of b against a. */
void perpi_joint_hold_orientation(const perpi_joint_at* at, perpi_joint_view* view);
/* z of both frames parallel. */
void perpi_joint_hold_axis(const perpi_joint_at* at, perpi_joint_view* view);
/* Angle of b about z of a, in (-pi, pi]. */
double perpi_joint_twist(const perpi_joint_at* at);

/* ---- their derivatives ------------------------------------------------------------------------------*/

/* A row that perpi_position_row made, with the change of its direction. */
perpi_row_change perpi_position_change(const perpi_joint_shift* by, vec3 dir, bool on_b, double b);
/* dir turns with a: the change of dir . d, and of such a row that acts at the point of b. */
perpi_row_change perpi_carried_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                      vec3 dir);
void perpi_joint_hold_change(perpi_joint_change* change, perpi_row_change row);
void perpi_joint_coordinate_change(perpi_joint_change* change, perpi_row_change row);
void perpi_joint_hold_point_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                   perpi_joint_change* change);
void perpi_joint_hold_orientation_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                         perpi_joint_change* change);
void perpi_joint_hold_axis_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                  perpi_joint_change* change);
/* The axis z of a as the direction of an angle, whose change is b. */
perpi_row_change perpi_axis_change(const perpi_joint_at* at, const perpi_joint_shift* by, double b);
double perpi_joint_twist_change(const perpi_joint_at* at, const perpi_joint_shift* by);

#endif
