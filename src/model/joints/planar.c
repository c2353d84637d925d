/* src/model/joints/planar.c - b slides in the plane of x and y of a, and turns about its normal. */
#include "model/joints/joint_type.h"

static void planar_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    perpi_joint_hold(view, perpi_position_row(at, at->z, true, v3_dot(at->z, at->d)));
    perpi_joint_hold_axis(at, view);
    perpi_joint_coordinate(
        view, perpi_position_row(at, at->x, true, v3_dot(at->x, at->d) - at->joint->rest[0]));
    perpi_joint_coordinate(
        view, perpi_position_row(at, at->y, true, v3_dot(at->y, at->d) - at->joint->rest[1]));
    perpi_joint_coordinate(view, perpi_angle_row(at->z, perpi_joint_twist(at) + at->turn[0]));
}

static void planar_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                                 perpi_joint_change* change)
{
    perpi_joint_hold_change(change, perpi_carried_change(at, by, at->z));
    perpi_joint_hold_axis_change(at, by, change);
    perpi_joint_coordinate_change(change, perpi_carried_change(at, by, at->x));
    perpi_joint_coordinate_change(change, perpi_carried_change(at, by, at->y));
    perpi_joint_coordinate_change(change,
                                  perpi_axis_change(at, by, perpi_joint_twist_change(at, by)));
}

const perpi_joint_ops perpi_joint_planar = {
    .name = "planar",
    .summary = "slides in a plane and turns about its normal",
    .rows = {-1, 3},
    .coordinates = 3,
    .has_axis = {true, true},
    .free = PERPI_FREE_PLANE,
    .evaluate = planar_evaluate,
    .differentiate = planar_differentiate,
};
