/* src/sim/find_contacts.c - the contacts that take part in a step.
 *
 * The contact model turns feature pairs within the margin into contacts. Then contacts that the
 * step requires are added, those that it excludes are removed, and impulses of the last step are
 * copied.
 */
#include <string.h>

#include "sim/internal.h"
#include "step/layers.h"

/* Relative to the size of a body: points of contacts closer than this to a particle are moved to
 * its centre. */
static const double ROUNDING_OF_POINTS = 1e-9;

/* Whether the candidates and groups equal those of the round before, so that a larger margin has
 * found nothing new. */
static bool same_candidates(const perpi_contact_list* list, const perpi_candidate* candidate,
                            size_t count)
{
    if (list->count != count) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        if (list->item[i].key != perpi_candidate_key(&candidate[i]) ||
            (list->item[i].group != 0) != (candidate[i].group != 0)) {
            return false;
        }
    }
    return true;
}

/* Length that a gap is compared with: the size of the smaller body. */
static double pair_size(const perp_model* model, const perp_contact* c)
{
    const double a = model->body[c->body_a].reach, b = model->body[c->body_b].reach;
    const double smaller = a < b ? a : b;
    return smaller > 0.0 && isfinite(smaller) ? smaller : model->length;
}

/* Steppers without a gap term: removes open contacts. */
static void drop_open(perpi_step* step)
{
    size_t kept = 0;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        if (c->gap <= step->settings.closed_gap * pair_size(step->model, c) ||
            perpi_keeps_open(step, c)) {
            step->to->contacts.item[kept++] = *c;
        }
    }
    step->to->contacts.count = kept;
}

/* Removes the contacts that the filter excludes. */
static void drop_filtered(perpi_step* step)
{
    const perpi_closing_list* list = step->filter->closing;
    perpi_contact_list* contacts = &step->to->contacts;
    size_t kept = 0;
    for (size_t i = 0; i < contacts->count; ++i) {
        bool out = false;
        const perp_contact* c = &contacts->item[i];
        for (size_t k = 0; k < list->count; ++k) {
            const perpi_closing* closing = &list->item[k];
            /* remove all members of the groups of a pair: the remaining ones would become
             * mandatory */
            out = out || closing->key == c->key ||
                  (c->group != 0 && c->body_a == closing->body[0] && c->body_b == closing->body[1]);
        }
        if (!out) {
            contacts->item[kept++] = contacts->item[i];
        }
    }
    contacts->count = kept;
}

static void apply_kept_overlap(perpi_step* step)
{
    step->kept.deepest = 0.0;
    for (size_t i = 0; step->kept.any && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const bool meant =
            step->kept.all || (c->body_a == step->kept.body_a && c->body_b == step->kept.body_b);
        if (meant && c->gap < 0.0 && perpi_overlap_counts(step, c)) {
            step->kept.deepest = -c->gap > step->kept.deepest ? -c->gap : step->kept.deepest;
            c->gap = 0.0;
        } else if (step->kept.all && perpi_is_close(step, c, step->kept.close)) {
            c->gap = 0.0;
        }
    }
}

/* Contacts that exist once bodies overlap (corrective): see push_out_smoothly. */
static void apply_smooth_overlap(perpi_step* step)
{
    const perpi_kept_overlap* kept = &step->kept;
    for (size_t i = 0; kept->smooth && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        if (c->body_a == kept->body_a && c->body_b == kept->body_b && c->gap < 0.0) {
            c->mu = 0.0;
        }
    }
}

/* What a contact would still push out with is kept too: the offset that an impact left
 * (perpi_offset_gaps), and, without a gap term, the speed that parts deep overlap
 * (perpi_part_deep). So no kept contact asks for a velocity. */
static void apply_kept_speed(perpi_step* step, double h)
{
    for (size_t i = 0; step->kept.any && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const bool meant =
            step->kept.all || (c->body_a == step->kept.body_a && c->body_b == step->kept.body_b);
        const double held = step->stepper->touching ? 0.0 : -c->gap / h;
        if (meant && perpi_overlap_counts(step, c) && c->drift[0] < held &&
            !perpi_keeps_side(step, c)) {
            const double depth = h * (held - c->drift[0]);
            step->kept.deepest = depth > step->kept.deepest ? depth : step->kept.deepest;
            c->drift[0] = held;
        }
    }
}

/* A particle has no arm: impulses act at its centre, not at the point of a feature that was
 * found ahead of the step or of an overlap that is kept. Elsewhere equal and opposite impulses
 * would turn the pair. */
static void act_on_particles(perpi_step* step)
{
    const perp_model* model = step->model;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const perpi_body *a = &model->body[c->body_a], *b = &model->body[c->body_b];
        if (a->dofs == 0 || b->dofs == 0 || !(a->particle || b->particle)) {
            continue;
        }
        const vec3 n = v3_from(c->normal), at = v3_from(c->point);
        const vec3 own =
            a->particle ? step->pose[c->body_a].x : v3_madd(step->pose[c->body_b].x, -c->gap, n);
        const double reach = a->particle ? b->reach : a->reach;
        const double size = reach > 0.0 && isfinite(reach) ? reach : model->length;
        if (v3_norm(v3_sub(own, at)) > ROUNDING_OF_POINTS * size) { /* the others keep their bits */
            v3_to(own, c->point);
        }
    }
}

enum { MANY = 200 }; /* contacts of a step */

/* Members of groups are chosen from those that acted in the last step: the answer of a round with fewer
 * contacts has led to choices that replace each other for ever (tests/physics/peg_space_test.c).
 * Where there are many contacts, most of them have no part in such a choice, and the next round
 * would repeat a long search. */
static bool start_from_round(const perpi_contact_list* list)
{
    bool groups = false;
    for (size_t i = 0; i < list->count && list->count < MANY && !groups; ++i) {
        groups = list->item[i].group != 0;
    }
    return !groups;
}

perp_status perpi_find_contacts(perpi_step* step, bool* same)
{
    const perpi_candidate* candidate;
    size_t count;
    const perpi_attempts* a = &step->attempts;
    const double t = step->from->time, h = step->h;
    perpi_contact_list* contacts = &step->to->contacts;
    /* overlap left by the last step is corrected toward the side where the bodies were */
    perp_status status = perpi_remember_sides(step, &step->from->contacts);
    if (status == PERP_OK) {
        status = perpi_find_features(step, false, &candidate, &count);
    }
    if (status != PERP_OK) {
        return status;
    }
    *same =
        a->rounds > a->first_round && !a->simpler && same_candidates(contacts, candidate, count);
    if (*same) {
        return PERP_OK;
    }
    /* The answer of the last round is nearer than that of the last step; of an attempt that failed, where there
     * are many contacts, most islands have been solved. */
    const bool solved = a->simpler ? contacts->count >= MANY : a->rounds > a->first_round;
    if (solved) {
        const perpi_contact_list round = *contacts;
        *contacts = step->outer.contacts;
        step->outer.contacts = round;
    }
    status = perpi_build_contacts(step, t, candidate, count, contacts);
    if (status == PERP_OK && step->stepper->touching) {
        drop_open(step);
    }
    if (status == PERP_OK && step->sides->missing_count > 0) {
        status = perpi_add_missing(step, t, h, false, contacts);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (step->stepper->touching) {
        perpi_part_deep(step, h);
    }
    if (step->filter->without) {
        drop_filtered(step);
    }
    apply_smooth_overlap(step);
    apply_kept_overlap(step);
    act_on_particles(step);
    if (step->offset_at >= 0) {
        perpi_offset_gaps(step, h);
    }
    apply_kept_speed(step, h);
    perpi_push_slowly(step);
    if (step->filter->closed) {
        status = perpi_keep_closed(step);
    }
    perpi_carry_impulses(&step->from->contacts, contacts); /* the warm start */
    if (solved && start_from_round(contacts)) {
        perpi_carry_impulses(&step->outer.contacts, contacts);
    }
    perpi_set_rolling(step, h);
    if (step->stepper->layered) {
        perpi_layers_recall(step->model, step->settings.midpoint, step->from->contacts.item,
                            (int32_t)step->from->contacts.count, contacts->item,
                            (int32_t)contacts->count);
    }
    return status;
}
