/* src/sim/overlap_volume.c - volume of overlap of the polyhedra of a spatial scene. */
#include "shape/polyhedron.h"
#include "sim/internal.h"

static bool boxes_meet(const perpi_bounds* a, const perpi_bounds* b)
{
    return a->lo.x <= b->hi.x && b->lo.x <= a->hi.x && a->lo.y <= b->hi.y && b->lo.y <= a->hi.y &&
           a->lo.z <= b->hi.z && b->lo.z <= a->hi.z;
}

static bool counts(const perpi_shape* shape)
{
    return !shape->intangible && (shape->polyhedron != NULL || shape->type == PERP_SHAPE_PLANE);
}

static perp_status shape_overlap(perpi_arena* arena, const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double* volume)
{
    *volume = 0.0;
    if (a->type == PERP_SHAPE_PLANE || b->type == PERP_SHAPE_PLANE) {
        const bool first = a->type == PERP_SHAPE_PLANE;
        const perpi_shape *plane = first ? a : b, *solid = first ? b : a;
        const perpi_pose *at = first ? pose_a : pose_b, *pose = first ? pose_b : pose_a;
        if (solid->polyhedron == NULL) {
            return PERP_OK; /* two planes */
        }
        const vec3 n = m3_mul(at->R, plane->normal);
        return perpi_polyhedron_below(arena, solid->polyhedron, pose, n,
                                      plane->offset + v3_dot(n, at->x), volume);
    }
    const perpi_bounds box_a = perpi_shape_ops_of(a->type)->bounds(a, pose_a);
    const perpi_bounds box_b = perpi_shape_ops_of(b->type)->bounds(b, pose_b);
    if (!boxes_meet(&box_a, &box_b)) {
        return PERP_OK;
    }
    perp_polyhedron_measure m;
    const perp_status status =
        perpi_polyhedron_compare(arena, a->polyhedron, pose_a, b->polyhedron, pose_b, &m);
    if (status == PERP_OK) {
        *volume = m.volume;
    }
    return status;
}

static perp_status body_overlap(perp_sim* sim, int32_t a, int32_t b, double* volume)
{
    const perp_model* model = sim->model;
    const perpi_body *one = &model->body[a], *two = &model->body[b];
    for (int32_t i = 0; i < one->shape_count; ++i) {
        const perpi_shape* s = &model->shape[one->shape + i];
        if (!counts(s)) {
            continue;
        }
        const perpi_pose pose_s = perpi_pose_mul(&sim->work.pose[a], &s->local);
        for (int32_t j = 0; j < two->shape_count; ++j) {
            const perpi_shape* t = &model->shape[two->shape + j];
            if (!counts(t)) {
                continue;
            }
            const perpi_pose pose_t = perpi_pose_mul(&sim->work.pose[b], &t->local);
            double part = 0.0;
            const perp_status status = shape_overlap(&sim->scratch, s, &pose_s, t, &pose_t, &part);
            if (status != PERP_OK) {
                return status;
            }
            *volume += part;
        }
    }
    return PERP_OK;
}

perp_status perp_sim_overlap_volume(perp_sim* sim, double* volume)
{
    const perp_model* model = sim->model;
    double total = 0.0;
    perp_status status = perpi_arena_reset(&sim->scratch);
    if (status == PERP_OK && model->dimension == 3) {
        perpi_step_poses(&sim->work, sim->state.q);
        for (int32_t a = 0; a < (int32_t)model->body_count && status == PERP_OK; ++a) {
            for (int32_t b = a + 1; b < (int32_t)model->body_count && status == PERP_OK; ++b) {
                const bool moves = model->body[a].dofs > 0 || model->body[b].dofs > 0;
                const double reach = model->body[a].reach + model->body[b].reach;
                const vec3 d = v3_sub(sim->work.pose[a].x, sim->work.pose[b].x);
                if (moves && v3_norm(d) <= reach && perp_model_pair_collides(model, a, b)) {
                    status = body_overlap(sim, a, b, &total);
                }
            }
        }
    }
    if (status == PERP_OK) {
        *volume = total;
    }
    return status;
}
