/* src/model/joints/rope.c - two points stay within a length of each other. */
#include "model/joints/joint_type.h"

static void rope_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    const double distance = v3_norm(at->d);
    /* at distance 0 any direction is valid; the rope is slack */
    const vec3 n =
        distance > 1e-12 * at->joint->length ? v3_scale(1.0 / distance, at->d) : v3(1, 0, 0);
    view->row[view->rows++] =
        perpi_position_row(at, v3_neg(n), false, at->joint->length - distance);
    view->error[0] = distance > at->joint->length ? distance - at->joint->length : 0.0;
    perpi_joint_coordinate(view, perpi_position_row(at, n, false, distance));
}

static void rope_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                               perpi_joint_change* change)
{
    const double distance = v3_norm(at->d);
    const bool apart = distance > 1e-12 * at->joint->length;
    const vec3 n = apart ? v3_scale(1.0 / distance, at->d) : v3(1, 0, 0);
    const double along = v3_dot(n, by->d);
    const vec3 dn = apart ? v3_scale(1.0 / distance, v3_madd(by->d, -along, n)) : v3(0, 0, 0);
    perpi_joint_hold_change(change, perpi_position_change(by, v3_neg(dn), false, -along));
    perpi_joint_coordinate_change(change, perpi_position_change(by, dn, false, along));
}

const perpi_joint_ops perpi_joint_rope = {
    .name = "rope",
    .summary = "two points stay within a length of each other",
    .rows = {0, 0},
    .coordinates = 1,
    .has_axis = {false, false},
    .evaluate = rope_evaluate,
    .differentiate = rope_differentiate,
};
