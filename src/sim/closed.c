/* src/sim/closed.c - closed contacts, and closing accelerations of the others.
 *
 * A contact is closed if its gap is at most `error` and its normal velocity so small that a flight
 * would be no higher than that (adaptive.c). The height depends on the closing acceleration, which
 * comes from the forces on the two bodies, or from friction, springs, torques, motors and
 * neighbouring contacts. The second kind is found by a step without the contact.
 */
#include "sim/closed.h"

static const double THIN_PART = 0.1;    /* relative to the thickness of a pair */
static const double SPEED_NOISE = 1e-9; /* relative to the speeds of the two surfaces */
/* Relative to `error`: a gap that changes less within the longest step is at rest. Without weight the
 * speeds of bodies at rest are rounding, and each would be an impact. */
static const double REST_PART = 1e-3;

double perpi_scene_size(const perp_model* model)
{
    double size = model->length;
    for (size_t i = 0; !(model->length > 0.0) && i < model->body_count; ++i) {
        size = fmax(size, v3_norm(model->body[i].pose.x)); /* points have no size */
    }
    return size > 0.0 ? size : 1.0;
}

/* Lengths below this count as zero for a contact: `error`, bounded by a part of the thickness of
 * the two bodies. Otherwise a gap that counts as closed could lie on the other side of a thin
 * plate. */
double perpi_closed_tolerance(const perpi_step* step, uint64_t key)
{
    const double thick = perpi_pair_thickness(step, key);
    return fmin(step->error * perpi_scene_size(step->model), THIN_PART * thick);
}

/* Normal velocity of a contact's points, by velocities v at the current pose. */
static double normal_speed(const perpi_step* step, const double* v, const int32_t body[2],
                           const vec3 point[2], vec3 n, double* speeds)
{
    double u = 0.0;
    for (int side = 0; side < 2; ++side) {
        const vec3 x = perpi_state_pose(step->model, step->from->q, body[side]).x;
        const vec3 at =
            v3_add(perpi_state_velocity(step->model, v, body[side]),
                   v3_cross(perpi_state_rate(step->model, v, body[side]), v3_sub(point[side], x)));
        u += (side == 0 ? -1.0 : 1.0) * v3_dot(n, at);
        *speeds += v3_norm(at);
    }
    return u;
}

double perpi_found_closing(const perpi_step* step, uint64_t key)
{
    const perpi_closing_list* list = step->filter->closing;
    for (size_t i = 0; list != NULL && i < list->count; ++i) {
        if (list->item[i].key == key) {
            return list->item[i].closing;
        }
    }
    return 0.0;
}

/* Closing acceleration of a gap by the rotation of its bodies. With the normal fixed to A and the point to B,
 * seen from A,  psi'' = n . (w_b x (w_b x r_b) - w_a x (w_a x r_a) - 2 w_a x u),  u the velocity of the points
 * relative to each other; with the normal fixed to B the last w is w_b. Points of round surfaces do
 * not move with the body, so terms that open the gap are left out. */
static double closing_by_rotation(const perpi_step* step, const int32_t body[2],
                                  const vec3 point[2], vec3 n)
{
    vec3 w[2], u = v3(0, 0, 0);
    double sum = 0.0;
    for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? -1.0 : 1.0;
        const vec3 x = perpi_state_pose(step->model, step->from->q, body[side]).x;
        const vec3 r = v3_sub(point[side], x);
        w[side] = perpi_state_rate(step->model, step->from->v, body[side]);
        const vec3 turning = v3_cross(w[side], r);
        u = v3_madd(u, sign,
                    v3_add(perpi_state_velocity(step->model, step->from->v, body[side]), turning));
        const double inwards = sign * v3_dot(n, v3_cross(w[side], turning));
        sum += inwards < 0.0 ? -inwards : 0.0;
    }
    const double across[2] = {2.0 * v3_dot(n, v3_cross(w[0], u)),
                              2.0 * v3_dot(n, v3_cross(w[1], u))};
    const double most = across[0] > across[1] ? across[0] : across[1];
    return sum + (most > 0.0 ? most : 0.0);
}

/* Closing acceleration of a contact that pushed in the first half of the step: the one that its
 * impulse prevented, with the bound of find_closing (adaptive.c). It is asked for in the second
 * half only, because the contact was at rest at the start: nothing else was known to press it, as
 * where a spring does. */
static double prevented_closing(const perpi_step* step, uint64_t key, const int32_t body[2],
                                double tolerance)
{
    const perpi_state* before = step->filter->before;
    double gain = 0.0;
    for (size_t i = 0; before != NULL && i < before->contacts.count; ++i) {
        const perp_contact* c = &before->contacts.item[i];
        for (int side = 0; side < 2 && c->key == key; ++side) {
            const perpi_body* b = &step->model->body[body[side]];
            gain += b->dofs > 0 ? c->impulse[0] / b->mass : 0.0;
        }
    }
    return fmin(gain / step->h, 0.5 * gain * gain / tolerance);
}

perp_status perpi_approach_of(const perpi_step* step, const perp_contact* c, perpi_approach* out)
{
    const perp_model* model = step->model;
    const int32_t body[2] = {c->body_a, c->body_b};
    const vec3 n = v3_from(c->normal), on_a = v3_from(c->point);
    const vec3 point[2] = {on_a, v3_madd(on_a, c->gap, n)};
    const double tolerance = perpi_closed_tolerance(step, c->key);
    double closing = 0.0, speeds = 0.0;
    out->u = normal_speed(step, step->from->v, body, point, n, &speeds);
    for (int side = 0; side < 2; ++side) {
        const int32_t b = body[side];
        const perpi_pose pose = perpi_state_pose(model, step->from->q, b);
        if (model->body[b].dofs > 0) {
            vec3 force, torque;
            const perp_status status =
                perpi_external_wrench(model, step->from->time, &pose,
                                      step->has_extra ? step->extra : NULL, b, &force, &torque);
            if (status != PERP_OK) {
                return status;
            }
            closing += fabs(v3_dot(n, force)) / model->body[b].mass;
        }
    }
    closing = fmax(closing, perpi_found_closing(step, c->key));
    closing += closing_by_rotation(step, body, point, n);
    const double prevented = prevented_closing(step, c->key, body, tolerance);
    out->slow = sqrt(2.0 * fmax(closing, prevented) * tolerance) + SPEED_NOISE * speeds +
                REST_PART * tolerance / step->longest;
    out->stays = closing > 0.0 ? sqrt(2.0 * tolerance / closing) : INFINITY;
    return PERP_OK;
}

static bool is_closed(const perpi_step* step, const perp_contact* c, const perpi_approach* a)
{
    return c->gap <= perpi_closed_tolerance(step, c->key) && fabs(a->u) <= a->slow;
}

static perp_status classify_closed(const perpi_step* step, const perp_contact* c,
                                   perpi_standing* out)
{
    perp_status status = perpi_approach_of(step, c, &out->by);
    out->gap = c->gap;
    out->closed = status == PERP_OK && is_closed(step, c, &out->by);
    out->member = true;
    if (c->group == 0 || status != PERP_OK) {
        return status;
    }
    const int32_t group = c->group < 0 ? -c->group : c->group;
    const double tolerance = perpi_closed_tolerance(step, c->key);
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* other = &step->to->contacts.item[i];
        if ((other->group == group || other->group == -group) && other->gap > out->gap) {
            out->gap = other->gap;
        }
    }
    const double least = out->gap < -tolerance ? out->gap : -tolerance;
    bool any = false;
    for (size_t i = 0; status == PERP_OK && i < step->to->contacts.count; ++i) {
        const perp_contact* other = &step->to->contacts.item[i];
        perpi_approach by;
        if ((other->group != group && other->group != -group) || other->gap < least) {
            continue;
        }
        status = perpi_approach_of(step, other, &by);
        if (!any || by.u > out->by.u) {
            out->by = by;
            any = true;
        }
    }
    out->closed = out->gap <= tolerance && fabs(out->by.u) <= out->by.slow;
    out->member = c->gap >= least;
    return status;
}

perp_status perpi_stand_all(perpi_step* step, perpi_standing_list* list)
{
    const perpi_contact_list* contacts = &step->to->contacts;
    perp_status status = perpi_grow(step->context, &list->item, &list->capacity, contacts->count,
                                    sizeof *list->item);
    for (size_t i = 0; status == PERP_OK && i < contacts->count; ++i) {
        status = classify_closed(step, &contacts->item[i], &list->item[i]);
    }
    return status;
}

perp_status perpi_keep_closed(perpi_step* step)
{
    size_t kept = 0;
    const double h = step->h;
    perpi_standing_list* list = step->filter->standing;
    const perp_status status = perpi_stand_all(step, list);
    for (size_t i = 0; status == PERP_OK && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const perpi_standing* s = &list->item[i];
        const double stays = s->by.stays;
        if (s->closed) {
            c->gap =
                s->member && h < stays ? (isfinite(stays) ? c->gap * (h / stays) : 0.0) : c->gap;
            step->to->contacts.item[kept++] = *c;
        }
    }
    step->to->contacts.count = kept;
    return status;
}

perp_status perpi_remember_closing(perp_context* context, perpi_closing_list* list,
                                   const perp_contact* c, double u)
{
    const perp_status status =
        perpi_grow(context, &list->item, &list->capacity, list->count + 1, sizeof *list->item);
    if (status == PERP_OK) {
        const vec3 n = v3_from(c->normal), on_a = v3_from(c->point);
        list->item[list->count++] = (perpi_closing){.key = c->key,
                                                    .normal = n,
                                                    .point = {on_a, v3_madd(on_a, c->gap, n)},
                                                    .body = {c->body_a, c->body_b},
                                                    .u = u};
    }
    return status;
}

void perpi_measure_closing(const perpi_step* step, perpi_closing_list* list)
{
    for (size_t i = 0; i < list->count; ++i) {
        perpi_closing* p = &list->item[i];
        double speeds = 0.0;
        const double before =
            normal_speed(step, step->from->v, p->body, p->point, p->normal, &speeds);
        const double after = normal_speed(step, step->to->v, p->body, p->point, p->normal, &speeds);
        p->closing = fmax(before - after, 0.0);
        p->gain = after - before;
        p->found = true; /* unless other contacts stop its bodies */
        for (size_t k = 0; k < step->to->contacts.count; ++k) {
            const perp_contact* c = &step->to->contacts.item[k];
            for (int side = 0; side < 2 && c->impulse[0] > 0.0; ++side) {
                p->found = p->found && (step->model->body[p->body[side]].dofs == 0 ||
                                        (c->body_a != p->body[side] && c->body_b != p->body[side]));
            }
        }
    }
}
