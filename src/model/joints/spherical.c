/* src/model/joints/spherical.c - b turns about a point of a. */
#include "model/joints/joint_type.h"

static void spherical_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    perpi_joint_hold_point(at, view);
}

static void spherical_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                                    perpi_joint_change* change)
{
    perpi_joint_hold_point_change(at, by, change);
}

const perpi_joint_ops perpi_joint_spherical = {
    .name = "spherical",
    .summary = "turns about a point",
    .rows = {-1, 3},
    .coordinates = 0,
    .has_axis = {false, false},
    .points = true,
    .evaluate = spherical_evaluate,
    .differentiate = spherical_differentiate,
};
