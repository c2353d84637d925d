/* src/model/joints/revolute.c - b turns about z of a. */
#include "model/joints/joint_type.h"

static void revolute_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    const perpi_joint_side* s = at->side;
    const double start = at->joint->start;
    perpi_joint_hold_point(at, view);
    if (at->planar) {
        perpi_joint_coordinate(
            view, perpi_angle_row(v3(0, 0, 1), start + s[1].angle - s[0].angle - at->joint->angle));
    } else {
        perpi_joint_hold_axis(at, view);
        perpi_joint_coordinate(view,
                               perpi_angle_row(at->z, start + perpi_joint_twist(at) + at->turn[0]));
    }
}

static void revolute_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                                   perpi_joint_change* change)
{
    perpi_joint_hold_point_change(at, by, change);
    if (at->planar) {
        perpi_joint_coordinate_change(change,
                                      (perpi_row_change){.b = by->turn[1].z - by->turn[0].z});
    } else {
        perpi_joint_hold_axis_change(at, by, change);
        perpi_joint_coordinate_change(change,
                                      perpi_axis_change(at, by, perpi_joint_twist_change(at, by)));
    }
}

const perpi_joint_ops perpi_joint_revolute = {
    .name = "revolute",
    .summary = "turns about an axis",
    .rows = {2, 5},
    .coordinates = 1,
    .has_axis = {false, true},
    .driven = true,
    .evaluate = revolute_evaluate,
    .differentiate = revolute_differentiate,
};
