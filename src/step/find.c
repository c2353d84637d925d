/* src/step/find.c - feature pairs, and the contacts that the contact model makes of them. */
#include <stdlib.h>
#include <string.h>

#include "step/step.h"

/* Copies impulses of the same features from another list. */
void perpi_carry_impulses(const perpi_contact_list* from, perpi_contact_list* to)
{
    size_t old = 0;
    for (size_t i = 0; i < to->count; ++i) {
        perp_contact* contact = &to->item[i];
        while (old < from->count && perpi_contact_before(&from->item[old], contact)) {
            old += 1;
        }
        if (old < from->count && from->item[old].key == contact->key) {
            memcpy(contact->impulse, from->item[old].impulse, sizeof contact->impulse);
        }
    }
}

/* How reliably a contact shows on which side of each other its bodies are: most if it has an
 * impulse. A group member without one may be useless: a corner can be behind another face while
 * the bodies meet at this one. */
static int side_rank(const perp_contact* c)
{
    return c->impulse[0] > 0.0 ? 2 : c->group == 0 ? 1 : 0;
}

/* Of two contacts of equal rank: if both are open and inactive, the bodies meet at the closer
 * one. */
static bool is_better_side(const perp_contact* c, int rank, double gap)
{
    return rank == 1 && c->gap >= 0.0 && gap >= 0.0 ? c->gap < gap : c->gap > gap;
}

static bool same_pair(const perp_contact* a, const perp_contact* b)
{
    return a->body_a == b->body_a && a->body_b == b->body_b &&
           perpi_key_shape_a(a->key) == perpi_key_shape_a(b->key) &&
           perpi_key_shape_b(a->key) == perpi_key_shape_b(b->key);
}

/* Of contacts in groups without impulses: the most open member of the least open group, where the bodies meet first. The
 * most open of all may lie at a face that is far from there. */
static const perp_contact* find_first_to_meet(const perp_contact* contact, size_t count)
{
    const perp_contact* found = NULL;
    for (size_t i = 0; i < count; ++i) {
        const perp_contact* most = &contact[i];
        bool less = found == NULL || most->gap < found->gap; /* else the group is no less open */
        for (size_t k = 0; k < count && less; ++k) {
            const bool same = abs(contact[k].group) == abs(contact[i].group);
            most = same && contact[k].gap > most->gap ? &contact[k] : most;
            less = found == NULL || most->gap < found->gap;
        }
        found = less ? most : found;
    }
    return found;
}

/* The contact of a pair that shows its side: of the highest rank. */
static const perp_contact* find_side(const perp_contact* contact, size_t count)
{
    const perp_contact* best = &contact[0];
    for (size_t i = 1; i < count; ++i) {
        const int rank = side_rank(&contact[i]), most = side_rank(best);
        best = rank > most || (rank == most && is_better_side(&contact[i], rank, best->gap))
                   ? &contact[i]
                   : best;
    }
    return side_rank(best) > 0 ? best : find_first_to_meet(contact, count);
}

/* On which side of each other the pairs of a list are. */
perp_status perpi_remember_sides(perpi_step* step, const perpi_contact_list* list)
{
    step->side.count = 0;
    const perp_status status = perpi_grow(step->context, &step->side.item, &step->side.capacity,
                                          list->count, sizeof *step->side.item);
    for (size_t i = 0, end = 0; i < list->count && status == PERP_OK; i = end) {
        const perp_contact* first = &list->item[i];
        for (end = i + 1; end < list->count && same_pair(first, &list->item[end]);) {
            ++end;
        }
        const perp_contact* c = find_side(first, end - i);
        step->side.item[step->side.count++] =
            (perpi_candidate_side){c->body_a, c->body_b, perpi_key_shape_a(c->key),
                                   perpi_key_shape_b(c->key), v3_from(c->normal)};
    }
    return status;
}

size_t perpi_exception_of(const perpi_step* step, uint64_t key)
{
    const int32_t a = perpi_key_shape_a(key), b = perpi_key_shape_b(key);
    size_t at = 0;
    while (at < step->exception.count &&
           (step->exception.item[at].shape_a != a || step->exception.item[at].shape_b != b)) {
        ++at;
    }
    return at;
}

bool perpi_may_have_groups(const perpi_step* step, uint64_t key)
{
    const perpi_shape* shape = step->model->shape;
    return perpi_pair_groups(shape[perpi_key_shape_a(key)].type,
                             shape[perpi_key_shape_b(key)].type);
}

void perpi_step_poses(perpi_step* step, const double* q)
{
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) {
        step->pose[i] = perpi_state_pose(step->model, q, i);
    }
    step->posed = q;
}

perp_status perpi_find_features(perpi_step* step, bool at_end, const perpi_candidate** candidate,
                                size_t* count)
{
    perpi_collider_set_sides(step->collider, step->side.item, step->side.count, at_end);
    const bool turns = step->model->dimension == 3 && step->contact_model->groups;
    if (at_end && turns) { /* the bodies have turned already */
        perpi_collider_set_turn(step->collider, NULL, 0);
    }
    const bool lean = step->lean && !at_end, relative = step->relative && !at_end;
    if (lean) {
        perpi_collider_set_turn_most(step->collider, step->turn_most);
    }
    if (relative) {
        perpi_collider_set_motion(step->collider, step->motion, step->attempts.rounds > 0);
    }
    const perp_status status =
        perpi_collide(step->collider, step->pose, step->margin, candidate, count);
    if (lean) {
        perpi_collider_set_turn_most(step->collider, NULL);
    }
    if (relative) {
        perpi_collider_set_motion(step->collider, NULL, false);
    }
    if (at_end && turns) {
        perpi_collider_set_turn(step->collider, step->turn, step->spins);
    }
    perpi_collider_set_sides(step->collider, NULL, 0, false);
    return status;
}

perp_status perpi_build_contacts(perpi_step* step, double t, const perpi_candidate* candidate,
                                 size_t count, perpi_contact_list* list)
{
    list->count = 0;
    list->groups = 0;
    return step->contact_model->build(step->model, &step->rules, t, step->pose, candidate, count,
                                      list);
}
