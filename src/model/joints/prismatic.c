/* src/model/joints/prismatic.c - b slides along z of a [N04]. */
#include "model/joints/joint_type.h"

static void prismatic_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    const double travel = at->joint->start + v3_dot(at->z, at->d) - at->joint->rest[0];
    perpi_joint_hold(view, perpi_position_row(at, at->x, true, v3_dot(at->x, at->d)));
    if (!at->planar) {
        perpi_joint_hold(view, perpi_position_row(at, at->y, true, v3_dot(at->y, at->d)));
    }
    perpi_joint_hold_orientation(at, view);
    perpi_joint_coordinate(view, perpi_position_row(at, at->z, true, travel));
}

static void prismatic_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                                    perpi_joint_change* change)
{
    perpi_joint_hold_change(change, perpi_carried_change(at, by, at->x));
    if (!at->planar) {
        perpi_joint_hold_change(change, perpi_carried_change(at, by, at->y));
    }
    perpi_joint_hold_orientation_change(at, by, change);
    perpi_joint_coordinate_change(change, perpi_carried_change(at, by, at->z));
}

const perpi_joint_ops perpi_joint_prismatic = {
    .name = "prismatic",
    .summary = "slides along an axis",
    .rows = {2, 5},
    .coordinates = 1,
    .has_axis = {true, true},
    .free = PERPI_FREE_LINE,
    .driven = true,
    .evaluate = prismatic_evaluate,
    .differentiate = prismatic_differentiate,
};
