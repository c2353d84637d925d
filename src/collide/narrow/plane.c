/* src/collide/narrow/plane.c - a plane (half-plane) with a round shape, and with a box. */
#include "collide/narrow/round.h"

/* The plane in world coordinates: n.x = offset. */
static double world_plane(const perpi_shape* plane, const perpi_pose* pose, vec3* n)
{
    *n = m3_mul(pose->R, plane->normal);
    return v3_dot(*n, pose->x) + plane->offset;
}

/* The gap of one point, and its foot on the plane. */
static perp_status add_point(perpi_candidate_list* list, uint32_t feature, vec3 n, double offset,
                             vec3 p, double margin)
{
    const double gap = v3_dot(n, p) - offset;
    if (!(gap <= margin)) {
        return PERP_OK;
    }
    return perpi_candidate_add(list, feature, v3_madd(p, -gap, n), p, n, gap);
}

/* A ball: its lowest point. A capsule: both end balls, which is exact, the gap being linear along
 * the axis. Features: 0 the ball or the end at -z, 1 the end at +z. */
perp_status perpi_plane_round(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                              const perpi_pose* pose_b, double margin, perpi_candidate_list* list)
{
    vec3 n;
    const double offset = world_plane(a, pose_a, &n);
    const perpi_round round = perpi_round_of(b, pose_b);
    const int ends = round.l > 0.0 ? 2 : 1;
    for (int e = 0; e < ends; ++e) {
        const vec3 center = v3_madd(round.c, e == 0 ? -round.l : round.l, round.u);
        const perp_status status =
            add_point(list, (uint32_t)e, n, offset, v3_madd(center, -round.r, n), margin);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* Every vertex within the margin. Feature: the vertex, bit i set where its i-th entry is positive. */
perp_status perpi_plane_box(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                            const perpi_pose* pose_b, double margin, perpi_candidate_list* list)
{
    vec3 n;
    const double offset = world_plane(a, pose_a, &n);
    const uint32_t count = b->type == PERP_SHAPE_BOX ? 8 : 4;
    const vec3 h = b->half;
    for (uint32_t v = 0; v < count; ++v) {
        const vec3 local = v3(v & 1 ? h.x : -h.x, v & 2 ? h.y : -h.y, v & 4 ? h.z : -h.z);
        const perp_status status =
            add_point(list, v, n, offset, perpi_pose_point(pose_b, local), margin);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}
