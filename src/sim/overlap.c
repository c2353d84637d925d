/* src/sim/overlap.c - area of overlap of the polygons of a planar scene. */
#include "collide/polytope/polygon.h"
#include "sim/internal.h"

typedef struct placed {
    double v[2 * PERP_POLYGON_LIMIT];
    int32_t count;
    double lo[2], hi[2];
} placed;

/* Disjoint pieces of an outline, so that overlap with another body is counted once. */
static bool is_polygon(const perpi_shape* shape)
{
    return (shape->type == PERP_SHAPE_BOX2 || shape->type == PERP_SHAPE_POLYGON) &&
           (shape->measure || (!shape->intangible && !shape->piece));
}

static void place(const perpi_shape* shape, const perpi_pose* body, placed* out)
{
    const perpi_pose pose = perpi_pose_mul(body, &shape->local);
    perpi_outline o;
    perpi_outline_make(shape, &pose, v3(0, 0, 0), &o);
    out->count = o.count;
    out->lo[0] = out->lo[1] = INFINITY;
    out->hi[0] = out->hi[1] = -INFINITY;
    for (int32_t i = 0; i < o.count; ++i) {
        const vec3 p = perpi_outline_vertex(&o, i);
        const double xy[2] = {p.x, p.y};
        for (int k = 0; k < 2; ++k) {
            out->v[2 * i + k] = xy[k];
            out->lo[k] = xy[k] < out->lo[k] ? xy[k] : out->lo[k];
            out->hi[k] = xy[k] > out->hi[k] ? xy[k] : out->hi[k];
        }
    }
}

static double overlap_of(const perp_sim* sim, int32_t a, int32_t b)
{
    const perp_model* model = sim->model;
    const perpi_body* body[2] = {&model->body[a], &model->body[b]};
    placed one, two;
    double area = 0.0;
    for (int32_t i = 0; i < body[0]->shape_count; ++i) {
        const perpi_shape* s = &model->shape[body[0]->shape + i];
        if (!is_polygon(s)) {
            continue;
        }
        place(s, &sim->work.pose[a], &one);
        for (int32_t j = 0; j < body[1]->shape_count; ++j) {
            const perpi_shape* t = &model->shape[body[1]->shape + j];
            if (!is_polygon(t)) {
                continue;
            }
            place(t, &sim->work.pose[b], &two);
            if (one.lo[0] <= two.hi[0] && two.lo[0] <= one.hi[0] && one.lo[1] <= two.hi[1] &&
                two.lo[1] <= one.hi[1]) {
                area += perp_polygon_compare(one.v, one.count, two.v, two.count).area;
            }
        }
    }
    return area;
}

double perp_sim_overlap_area(perp_sim* sim)
{
    const perp_model* model = sim->model;
    double area = 0.0;
    if (model->dimension != 2) {
        return 0.0;
    }
    perpi_step_poses(&sim->work, sim->state.q);
    for (int32_t a = 0; a < (int32_t)model->body_count; ++a) {
        for (int32_t b = a + 1; b < (int32_t)model->body_count; ++b) {
            const bool moves = model->body[a].dofs > 0 || model->body[b].dofs > 0;
            const double reach = model->body[a].reach + model->body[b].reach;
            const vec3 d = v3_sub(sim->work.pose[a].x, sim->work.pose[b].x);
            if (moves && v3_norm(d) <= reach && perp_model_pair_collides(model, a, b)) {
                area += overlap_of(sim, a, b);
            }
        }
    }
    return area;
}
