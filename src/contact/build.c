/* src/contact/build.c - from contact candidates to contacts: common to all models. */
#include <string.h>

#include "contact/contact.h"

static perp_status surface_velocity(const perp_model* model, int32_t shape, double t,
                                    const perpi_pose* pose, vec3* velocity)
{
    const perpi_surface* surface = &model->surface[shape];
    double local[3];
    for (int i = 0; i < 3; ++i) {
        local[i] = perpi_value_at(&surface->velocity[i], t);
        if (!isfinite(local[i])) {
            return perpi_fail(model->context, PERP_ERROR_NUMERIC,
                              "body '%s': surface_velocity/%d: the expression '%s' gives %g at "
                              "t = %.9g",
                              model->body[surface->body].name, i,
                              perpi_expr_text(surface->velocity[i].expr), local[i], t);
        }
    }
    *velocity = m3_mul(pose->R, v3_from(local));
    return PERP_OK;
}

/* Tangential velocity of B's surface relative to A's by conveyor belts and driven wheels. */
static perp_status surface_drift(const perp_model* model, double t, const perpi_pose* pose,
                                 const perpi_candidate* candidate, vec3 normal, vec3 tangent,
                                 double out[3])
{
    out[0] = out[1] = out[2] = 0.0;
    const int32_t shape[2] = {candidate->shape_a, candidate->shape_b};
    const int32_t body[2] = {candidate->body_a, candidate->body_b};
    vec3 relative = v3(0, 0, 0);
    for (int side = 0; side < 2; ++side) {
        if (!model->surface[shape[side]].moving) {
            continue;
        }
        vec3 velocity = v3(0, 0, 0);
        const perp_status status =
            surface_velocity(model, shape[side], t, &pose[body[side]], &velocity);
        if (status != PERP_OK) {
            return status;
        }
        relative = v3_madd(relative, side == 0 ? -1.0 : 1.0, velocity);
    }
    out[1] = v3_dot(tangent, relative);
    out[2] = v3_dot(v3_cross(normal, tangent), relative);
    return PERP_OK;
}

/* A planar cone is an interval whatever its name: a polygon of two directions, exactly. */
static void choose_cone(const perp_model* model, const perpi_contact_rules* rules,
                        const perpi_candidate* candidate, perp_contact* contact)
{
    if (rules->cone == PERP_CONE_NONE) {
        return;
    }
    contact->mu = perpi_model_friction(model, candidate->shape_a, candidate->shape_b);
    if (!(contact->mu > 0.0)) {
        return;
    }
    contact->cone = model->dimension == 2 ? PERP_CONE_POLYGON : rules->cone;
    if (contact->cone == PERP_CONE_POLYGON) {
        const perpi_pair* pair = perpi_model_pair(model, candidate->body_a, candidate->body_b);
        const bool own = pair != NULL && pair->directions != 0;
        contact->directions = model->dimension == 2 ? 2
                              : own                 ? pair->directions
                                                    : rules->directions;
    }
    for (int i = 0; contact->cone == PERP_CONE_ELLIPSOID && i < 3; ++i) {
        contact->e[i] = rules->e[i];
    }
}

/* The number of the candidate's group in the list: candidates of one pair of shapes are adjacent,
 * so only groups since its first are searched. */
static int32_t group_of(const perpi_candidate* first, const perpi_candidate* candidate,
                        const perpi_contact_list* list, size_t first_item)
{
    for (const perpi_candidate* t = first; t < candidate; ++t) {
        if (t->group == candidate->group) {
            const int32_t g = list->item[first_item + (size_t)(t - first)].group;
            return g < 0 ? -g : g;
        }
    }
    return list->groups + 1;
}

/* [W14 (4.14)]: of each group from the given number on, the member with the largest gap stays
 * primary; of equal ones the first. */
static void reduce_groups(perpi_contact_list* list, size_t first_item, int32_t first_group)
{
    for (int32_t g = first_group; g <= list->groups; ++g) {
        size_t best = SIZE_MAX;
        for (size_t i = first_item; i < list->count; ++i) {
            if (list->item[i].group == g &&
                (best == SIZE_MAX || list->item[i].gap > list->item[best].gap)) {
                best = i;
            }
        }
        for (size_t i = first_item; i < list->count; ++i) {
            if (list->item[i].group == g && i != best) {
                list->item[i].group = -g;
            }
        }
    }
}

/* Faces that are parallel but for `angle` touch at up to eight corners, whose normals are those of
 * one face, of the other, or of two edges. As rows they contradict each other by the angle times
 * the velocity of sliding, and which three of them push would depend on that. With one normal for
 * all, gaps are linear in the place of a corner up to the square of the angle: however many there
 * are, none contradicts the others. */
static vec3 align_normal(const perpi_contact_list* list, size_t first_item, vec3 n, double angle)
{
    for (size_t i = first_item; i < list->count; ++i) {
        const vec3 other = v3_from(list->item[i].normal);
        if (v3_norm(v3_sub(n, other)) <= angle) {
            return other;
        }
    }
    return n;
}

perp_status perpi_contact_build(const perp_model* model, const perpi_contact_rules* rules, double t,
                                const perpi_pose* pose, const perpi_candidate* candidate,
                                size_t count, perpi_contact_list* list)
{
    perp_status status = perpi_grow(list->context, &list->item, &list->capacity,
                                    list->count + count, sizeof *list->item);
    const perpi_candidate* first = candidate;
    const size_t begin = list->count;
    const int32_t groups = list->groups;
    size_t first_item = begin;
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        const perpi_candidate* c = &candidate[i];
        PERP_ASSERT(c->feature < (1u << 24));
        if (c->shape_a != first->shape_a || c->shape_b != first->shape_b) {
            first = c;
            first_item = list->count;
        }
        const vec3 normal = rules->align > 0.0
                                ? align_normal(list, first_item, c->normal, rules->align)
                                : c->normal;
        const vec3 tangent =
            model->dimension == 2 ? v3(normal.y, -normal.x, 0) : v3_tangent(normal);
        perp_contact* contact = &list->item[list->count];
        memset(contact, 0, sizeof *contact); /* padding too: snapshots are compared as bytes */
        contact->body_a = c->body_a;
        contact->body_b = c->body_b;
        contact->key = perpi_candidate_key(c);
        contact->gap = c->gap;
        v3_to(c->point_a, contact->point);
        v3_to(normal, contact->normal);
        v3_to(tangent, contact->tangent);
        if (c->group != 0) {
            const int32_t group = group_of(first, c, list, first_item);
            list->groups = group > list->groups ? group : list->groups;
            contact->group = c->secondary ? -group : group;
        }
        choose_cone(model, rules, c, contact);
        status = surface_drift(model, t, pose, c, normal, tangent, contact->drift);
        list->count += 1;
    }
    if (status == PERP_OK && rules->single_primary) {
        reduce_groups(list, begin, groups + 1);
    }
    return status;
}
