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

const perpi_joint_ops perpi_joint_rope = {
    .name = "rope",
    .summary = "two points stay within a length of each other",
    .rows = {0, 0},
    .coordinates = 1,
    .has_axis = {false, false},
    .evaluate = rope_evaluate,
};
