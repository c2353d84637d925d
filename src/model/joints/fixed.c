/* src/model/joints/fixed.c - nothing moves. */
#include "model/joints/joint_type.h"

static void fixed_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    perpi_joint_hold_point(at, view);
    perpi_joint_hold_orientation(at, view);
}

static void fixed_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                                perpi_joint_change* change)
{
    perpi_joint_hold_point_change(at, by, change);
    perpi_joint_hold_orientation_change(at, by, change);
}

const perpi_joint_ops perpi_joint_fixed = {
    .name = "fixed",
    .summary = "nothing moves",
    .rows = {3, 6},
    .coordinates = 0,
    .has_axis = {false, false},
    .evaluate = fixed_evaluate,
    .differentiate = fixed_differentiate,
};
