/* src/sim/crossing_warning.c - warns where a body can cross an obstacle within a step.
 *
 * `corrective` has contacts only where bodies overlap at the start of a step, `anitescu-potra` only
 * where they touch. A body that moves further in a step than the thickness of itself and the
 * obstacle can be in front of it at one step and behind it at the next. The speed is that at the
 * start of the run; bodies that accelerate later are not detected.
 */
#include "shape/polyhedron.h"
#include "sim/internal.h"

/* Smallest width of a shape; over a polytope's faces, which is an upper bound. INFINITY for planes. */
static double thickness_of(const perpi_shape* s)
{
    const perpi_shape_ops* ops = perpi_shape_ops_of(s->type);
    double least = INFINITY;
    if (!ops->bounded) {
        return INFINITY;
    }
    if (s->polyhedron != NULL) {
        const perpi_polyhedron* p = s->polyhedron;
        for (int32_t f = 0; f < p->face_count; ++f) {
            const int32_t v = perpi_polyhedron_support(p, v3_neg(p->normal[f]), 0);
            least = fmin(least, p->offset[f] - v3_dot(p->normal[f], p->vertex[v]));
        }
        return least;
    }
    if (s->type == PERP_SHAPE_POLYGON) {
        for (int32_t i = 0; i < s->count; ++i) {
            const double x = s->edge[2 * i], y = s->edge[2 * i + 1];
            const int32_t v = perpi_polygon_support(s, -x, -y);
            const double* p = s->vertex + 2 * i;
            const double* q = s->vertex + 2 * v;
            least = fmin(least, x * (p[0] - q[0]) + y * (p[1] - q[1]));
        }
        return least;
    }
    const perpi_pose home = {v3(0, 0, 0), q4_identity(), q4_matrix(q4_identity())};
    const perpi_bounds b = ops->bounds(s, &home);
    const vec3 d = v3_sub(b.hi, b.lo);
    least = fmin(d.x, d.y);
    const bool planar = ops->dimension == 2 || s->type == PERP_SHAPE_PARTICLE;
    return planar ? least : fmin(least, d.z);
}

/* The thinnest tangible shape of a body. */
static double body_thickness(const perp_model* model, const perpi_body* body)
{
    double least = INFINITY;
    for (int32_t i = 0; i < body->shape_count; ++i) {
        const perpi_shape* s = &model->shape[body->shape + i];
        least = s->intangible ? least : fmin(least, thickness_of(s));
    }
    return least;
}

void perpi_sim_warn_of_crossing(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    const double h = perpi_sim_tick_length(sim, 0);
    const bool late = sim->work.contact_model->overlap_only || sim->stepper->touching;
    if (!late || sim->adaptive || !(h > 0.0)) {
        return;
    }
    int32_t fast = -1, thin = -1;
    double worst = 1.0, travel = 0.0, width = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const double way = h * v3_norm(perpi_state_velocity(model, sim->state.v, i));
        const double own = way > 0.0 ? body_thickness(model, body) : INFINITY;
        for (int32_t k = 0; k < (int32_t)model->body_count && own < way; ++k) {
            if (k == i || !perp_model_pair_collides(model, i, k)) {
                continue;
            }
            const double other = body_thickness(model, &model->body[k]);
            if (way > worst * (own + other) && own + other > 0.0) {
                worst = way / (own + other);
                fast = i;
                thin = k;
                travel = way;
                width = other;
            }
        }
    }
    if (fast >= 0) {
        perpi_log(sim->context, PERP_LOG_WARNING,
                  "body '%s' moves %.3g in the first step and can cross '%s', %.3g thick, "
                  "unnoticed: %s has "
                  "contacts only where bodies %s; take a smaller step, or %s",
                  model->body[fast].name, travel, model->body[thin].name, width,
                  sim->work.contact_model->overlap_only ? "contact 'corrective'" : "this stepper",
                  sim->work.contact_model->overlap_only ? "overlap" : "touch",
                  sim->work.contact_model->overlap_only
                      ? "contact 'peg' or 'standard'"
                      : "stepper 'stewart-trinkle' with contact 'peg' or 'standard'");
    }
}
