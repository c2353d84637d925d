/* src/sim/query.c - rays, distances and sums of contact forces at the present state. */
#include "perp/query.h"

#include <string.h>

#include "collide/crossing.h"
#include "collide/narrow/gjk.h"
#include "collide/ray.h"
#include "sim/internal.h"

/* Whether a shape collides: not visual ones, and of decomposed shapes the pieces. */
static bool is_seen(const perpi_shape* shape)
{
    return !shape->intangible && !shape->outline && !shape->measure &&
           shape->type != PERP_SHAPE_MESH;
}

static bool is_bounded(const perpi_shape* shape)
{
    return perpi_shape_ops_of(shape->type)->bounded;
}

/* ---- rays ------------------------------------------------------------------------------------------*/

/* Whether the ray comes closer than `reach` to the centre before `most`. */
static bool may_meet(vec3 o, vec3 d, vec3 center, double reach, double most)
{
    const vec3 to = v3_sub(center, o);
    const double along = v3_dot(to, d);
    const double s = along < 0.0 ? 0.0 : along > most ? most : along;
    const double slack = 1e-12 * (reach + v3_norm(to));
    return v3_norm(v3_sub(to, v3_scale(s, d))) <= reach + slack;
}

perp_status perp_sim_ray(const perp_sim* sim, const double origin[3], const double direction[3],
                         double max_distance, int32_t ignore, perp_ray_hit* hit)
{
    const perp_model* model = sim->model;
    const bool planar = model->dimension == 2;
    const vec3 o = v3(origin[0], origin[1], planar ? 0.0 : origin[2]);
    vec3 d = v3(direction[0], direction[1], planar ? 0.0 : direction[2]);
    const double most = fmax(fabs(d.x), fmax(fabs(d.y), fabs(d.z)));
    if (!isfinite(o.x + o.y + o.z) || !isfinite(d.x + d.y + d.z) || !(most > 0.0) ||
        !(max_distance >= 0.0)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "ray: needs a finite origin, a direction of length > 0 and a distance >= "
                          "0");
    }
    d = v3_unit(v3_scale(1.0 / most, d));
    *hit = (perp_ray_hit){.body = -1, .shape = -1, .distance = INFINITY};
    double best = max_distance;
    for (int32_t b = 0; b < (int32_t)model->body_count; ++b) {
        const perpi_body* body = &model->body[b];
        const perpi_pose pose = perpi_state_pose(model, sim->state.q, b);
        if (b == ignore || (isfinite(body->reach) && isfinite(best) &&
                            !may_meet(o, d, pose.x, body->reach, best))) {
            continue;
        }
        for (int32_t i = 0; i < body->shape_count; ++i) {
            const perpi_shape* shape = &model->shape[body->shape + i];
            if (!is_seen(shape)) {
                continue;
            }
            const perpi_pose at = perpi_pose_mul(&pose, &shape->local);
            vec3 n = {0, 0, 0};
            const double s =
                perpi_ray_enter(shape, m3_tmul(at.R, v3_sub(o, at.x)), m3_tmul(at.R, d), &n);
            if (isfinite(s) && s <= best && (s < best || hit->body < 0)) {
                best = s;
                *hit = (perp_ray_hit){
                    .body = b, .shape = model->surface[body->shape + i].from, .distance = s};
                v3_to(v3_madd(o, s, d), hit->point);
                v3_to(m3_mul(at.R, n), hit->normal);
            }
        }
    }
    return PERP_OK;
}

/* ---- distances -------------------------------------------------------------------------------------*/

typedef struct placed {
    const perpi_shape* shape;
    perpi_pose pose; /* relative to the first shape's origin */
} placed;

typedef struct closest {
    double distance;
    vec3 a, b, normal; /* relative to the first shape's origin */
} closest;

static vec3 core(const void* body, vec3 direction)
{
    const placed* p = body;
    return perpi_pose_point(&p->pose, perpi_shape_core(p->shape, m3_tmul(p->pose.R, direction)));
}

static vec3 support(const placed* p, vec3 n)
{
    return v3_madd(core(p, n), perpi_shape_rounding(p->shape), n);
}

/* plane: the unbounded one of the two. */
static closest from_plane(const placed* plane, const placed* other, bool plane_is_a)
{
    const vec3 n = m3_mul(plane->pose.R, plane->shape->normal);
    const vec3 low = support(other, v3_neg(n));
    const double gap = v3_dot(n, v3_sub(low, plane->pose.x)) - plane->shape->offset;
    const vec3 foot = v3_madd(low, -gap, n);
    return plane_is_a ? (closest){gap, foot, low, n} : (closest){gap, low, foot, v3_neg(n)};
}

/* Overlapping or touching shapes: the collision routine of the pair gives the depth. */
static perp_status overlap(perp_sim* sim, const placed* a, const placed* b, double size,
                           closest* found)
{
    bool flipped = false;
    const perpi_pair_fn find = perpi_pair_find(false, a->shape->type, b->shape->type, &flipped);
    perpi_candidate_list list = {
        .context = sim->context, .rule = NULL, .turn_most = INFINITY, .flipped = flipped};
    *found = (closest){.distance = 0.0, .a = a->pose.x, .b = a->pose.x};
    if (find == NULL) {
        return PERP_OK;
    }
    const placed* one = flipped ? b : a;
    const placed* two = flipped ? a : b;
    const perp_status status =
        find(one->shape, &one->pose, two->shape, &two->pose, 1e-9 * size, &list);
    for (size_t i = 0; status == PERP_OK && i < list.count; ++i) {
        const perpi_candidate* t = &list.item[i];
        if (i == 0 || t->gap < found->distance) {
            *found = (closest){t->gap, t->point_a, t->point_b, t->normal};
        }
    }
    perpi_free(sim->context, list.item);
    return status;
}

static perp_status between(perp_sim* sim, const placed* a, const placed* b, closest* found)
{
    const bool endless_a = !is_bounded(a->shape), endless_b = !is_bounded(b->shape);
    *found = (closest){.distance = INFINITY};
    if (endless_a && endless_b) {
        return PERP_OK;
    }
    if (endless_a || endless_b) {
        *found = endless_a ? from_plane(a, b, true) : from_plane(b, a, false);
        return PERP_OK;
    }
    const double r_a = perpi_shape_rounding(a->shape), r_b = perpi_shape_rounding(b->shape);
    const double size = perpi_shape_ops_of(a->shape->type)->reach(a->shape) +
                        perpi_shape_ops_of(b->shape->type)->reach(b->shape);
    const perpi_gjk g =
        perpi_gjk_closest(a, core, b, core, v3_sub(b->pose.x, a->pose.x), 1e-12 * size);
    if (!(g.distance > 0.0)) {
        return overlap(sim, a, b, size, found);
    }
    vec3 n = v3_sub(g.b, g.a);
    n.z = sim->model->dimension == 2 ? 0.0 : n.z;
    n = v3_unit(n);
    *found = (closest){g.distance - r_a - r_b, v3_madd(g.a, r_a, n), v3_madd(g.b, -r_b, n), n};
    return PERP_OK;
}

/* All pairs of shapes of the two bodies. */
static perp_status nearest_shapes(perp_sim* sim, const double* q, int32_t a, int32_t b,
                                  perp_distance* best)
{
    const perp_model* model = sim->model;
    const perpi_body *A = &model->body[a], *B = &model->body[b];
    const perpi_pose pose_a = perpi_state_pose(model, q, a);
    const perpi_pose pose_b = perpi_state_pose(model, q, b);
    for (int32_t i = 0; i < A->shape_count; ++i) {
        const perpi_shape* one = &model->shape[A->shape + i];
        for (int32_t k = 0; k < B->shape_count; ++k) {
            const perpi_shape* two = &model->shape[B->shape + k];
            if (!is_seen(one) || !is_seen(two)) {
                continue;
            }
            placed x = {one, perpi_pose_mul(&pose_a, &one->local)};
            placed y = {two, perpi_pose_mul(&pose_b, &two->local)};
            const vec3 origin = x.pose.x; /* avoids cancellation far from the origin */
            y.pose.x = v3_sub(y.pose.x, origin);
            x.pose.x = v3(0, 0, 0);
            closest found;
            const perp_status status = between(sim, &x, &y, &found);
            if (status != PERP_OK) {
                return status;
            }
            if (found.distance < best->distance) {
                best->distance = found.distance;
                best->shape_a = model->surface[A->shape + i].from;
                best->shape_b = model->surface[B->shape + k].from;
                v3_to(v3_add(origin, found.a), best->point_a);
                v3_to(v3_add(origin, found.b), best->point_b);
                v3_to(found.normal, best->normal);
            }
        }
    }
    return PERP_OK;
}

perp_status perp_sim_distance(perp_sim* sim, int32_t a, int32_t b, perp_distance* distance)
{
    return perpi_sim_distance(sim, sim->state.q, a, b, distance);
}

perp_status perpi_sim_distance(perp_sim* sim, const double* q, int32_t a, int32_t b,
                               perp_distance* distance)
{
    perp_status status = perpi_sim_check_body(sim, "distance", a);
    if (status == PERP_OK) {
        status = perpi_sim_check_body(sim, "distance", b);
    }
    if (status == PERP_OK && a == b) {
        status = perpi_fail(sim->context, PERP_ERROR_INPUT, "distance: '%s' from itself",
                            sim->model->body[a].name);
    }
    perp_distance best = {.distance = INFINITY, .shape_a = -1, .shape_b = -1};
    if (status == PERP_OK) {
        status = nearest_shapes(sim, q, a, b, &best);
    }
    if (status == PERP_OK) {
        *distance = best;
    }
    return status;
}

/* ---- contact forces --------------------------------------------------------------------------------*/

double perpi_sim_impulse_time(const perp_sim* sim)
{
    if (sim->state.tick == 0 || sim->info->kind != PERP_STEP_TIME) {
        return 0.0;
    }
    return sim->adaptive ? 0.5 * sim->state.h_last : perpi_sim_last_length(sim);
}

/* The point in the gap at which the impulse acts, as in step/formulate.c. */
static double part_of_gap(const perp_model* model, const perp_contact* c, bool on_b)
{
    const perpi_body *a = &model->body[c->body_a], *b = &model->body[c->body_b];
    if (a->dofs == 0 || b->dofs == 0) {
        return on_b ? 1.0 : 0.0;
    }
    return a->particle ? 0.0 : b->particle ? 1.0 : 0.5;
}

perp_status perp_sim_contact_sum(const perp_sim* sim, int32_t body, int32_t other,
                                 const double about[3], perp_contact_sum* sum)
{
    perp_status status = perpi_sim_check_body(sim, "contact_sum", body);
    if (status == PERP_OK && other != -1) {
        status = perpi_sim_check_body(sim, "contact_sum", other);
    }
    if (status == PERP_OK && other == body) {
        status = perpi_fail(sim->context, PERP_ERROR_INPUT,
                            "contact_sum: body %d has no contacts with itself; give two bodies",
                            (int)body);
    }
    if (status != PERP_OK) {
        return status;
    }
    const vec3 pivot =
        about != NULL ? v3_from(about) : perpi_state_pose(sim->model, sim->state.q, body).x;
    vec3 P = {0, 0, 0}, L = {0, 0, 0};
    perp_contact_sum out = {.time = perpi_sim_impulse_time(sim)};
    for (size_t i = 0; i < sim->state.contacts.count; ++i) {
        const perp_contact* c = &sim->state.contacts.item[i];
        const bool is_a = c->body_a == body, is_b = c->body_b == body;
        const int32_t partner = is_a ? c->body_b : c->body_a;
        const double* p = c->impulse;
        const bool acts = p[0] != 0.0 || p[1] != 0.0 || p[2] != 0.0 || p[3] != 0.0;
        if ((!is_a && !is_b) || (other >= 0 && partner != other) || !acts) {
            continue;
        }
        const vec3 n = v3_from(c->normal), t = v3_from(c->tangent);
        vec3 f = v3_madd(v3_madd(v3_scale(p[0], n), p[1], t), p[2], v3_cross(n, t));
        vec3 m = v3_scale(p[3], n);
        if (is_a) {
            f = v3_neg(f);
            m = v3_neg(m);
        }
        const vec3 at = v3_madd(v3_from(c->point), part_of_gap(sim->model, c, is_b) * c->gap, n);
        P = v3_add(P, f);
        L = v3_add(L, v3_add(m, v3_cross(v3_sub(at, pivot), f)));
        out.contacts += 1;
    }
    v3_to(P, out.impulse);
    v3_to(L, out.angular_impulse);
    const double rate = out.time > 0.0 ? 1.0 / out.time : 0.0;
    v3_to(v3_scale(rate, P), out.force);
    v3_to(v3_scale(rate, L), out.moment);
    *sum = out;
    return PERP_OK;
}
