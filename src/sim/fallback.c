/* src/sim/fallback.c - fallbacks for steps whose problem has no solution: simpler contacts.
 *
 * In this order: disjunctive groups get simpler models pair by pair; overlap, or joint errors, that
 * contradict other constraints are kept for the step. The fallback of the whole step to another
 * stepper is in perpi_try_step.
 */
#include <math.h>

#include "sim/internal.h"
#include "step/kinetic.h"

/* Energy that a choice among features may add, in kinetic energies of the step without impulses. */
static const double LARGEST_GAIN = 2.0;
/* Overlap of a feature, of the largest body, that is more than rounding. */
static const double LEAST_OVERLAP = 1e-6;
/* Gap of a contact that counts as closed in a step without a solution, relative to the smaller body: first, and at most. */
static const double CLOSE_FIRST = 1e-7, CLOSE_MOST = 1e-5;
/* Turn of a body in a step, in radians, from which its overlap may be pushed out slowly. Of 480 random towers of ball, box and
 * ball at h = 0.05, 147 gain more than 2 % of energy with 0.5, and 1 with this. */
static const double LARGEST_TURN = 0.15;
/* Turns like the last one, one after another, whose overlap has been left: a step parts bodies in part. */
static const double TURNS = 4.0;
/* Gain of kinetic energy in a step, relative, from which a pair with such overlap loses its groups. */
static const double GROUP_GAIN = 0.15;
/* Part of an overlap that a slow push takes back in a step: of the energy of the push it has the part 0.01. */
static const double SLOW_PART = 0.1;

enum {
    MANY_FALLBACKS = 4,  /* fallbacks of single pairs in a step */
    HEAP = 500,          /* contacts: not one pair after another */
    MANY_CONTACTS = 200, /* in a step: a solve takes long */
};

perp_status perpi_make_exception(perpi_step* step, uint64_t key, const perpi_candidate_rule* rule)
{
    const size_t at = perpi_exception_of(step, key);
    perpi_exceptions* list = &step->exception;
    const perp_status status =
        perpi_grow(step->context, &list->item, &list->capacity, at + 1, sizeof *list->item);
    if (status == PERP_OK) {
        list->item[at] =
            (perpi_candidate_exception){perpi_key_shape_a(key), perpi_key_shape_b(key), rule};
        list->count = at == list->count ? at + 1 : list->count;
    }
    return status;
}

/* The contact model of a pair of shapes in this step: that of the simulation, or a simpler one. */
static const perpi_contact_model_ops* model_of(const perpi_step* step, uint64_t key)
{
    const perpi_contact_model_ops* model = step->contact_model;
    const size_t at = perpi_exception_of(step, key);
    while (at < step->exception.count && model->simpler != NULL &&
           model->rule != step->exception.item[at].rule) {
        model = model->simpler;
    }
    return model;
}

/* The pair of shapes whose groups cause the failure: that of the contact with the largest
 * residual, or else of the grouped contact that is violated most. -1 if nothing is grouped. */
static int32_t find_failing_pair(const perpi_step* step)
{
    const int32_t worst = step->residual.worst_constraint;
    const perpi_formulation* f = step->formulation;
    if (worst >= 0 && (size_t)worst < step->to->contacts.count &&
        step->to->contacts.item[worst].group != 0) {
        return worst;
    }
    int32_t found = -1;
    double least = INFINITY;
    for (int32_t i = 0; i < (int32_t)step->to->contacts.count; ++i) {
        const double u =
            perpi_formulation_speed(f, i, 0, step->v_problem) + f->b[f->constraint[i].row];
        if (step->to->contacts.item[i].group != 0 && (found < 0 || u < least)) {
            found = i;
            least = u;
        }
    }
    return found;
}

/* Whether a large problem does not converge at a contact in no group: the groups of one pair are
 * then not the cause, and without them the same solve would be repeated, pair by pair. */
static bool fails_without_groups(const perpi_step* step)
{
    const int32_t worst = step->residual.worst_constraint;
    const perpi_contact_list* list = &step->to->contacts;
    return list->count >= MANY_CONTACTS && worst >= 0 && (size_t)worst < list->count &&
           list->item[worst].group == 0;
}

/* With geometry at the end of the step, features can alternate from iteration to iteration, and
 * the last ones need not be in a group: every pair gets the contacts of `standard`. False: all
 * pairs have them already. */
static perp_status fall_back_to_plain(perpi_step* step, bool* done)
{
    for (size_t k = 0; k < step->to->contacts.count; ++k) {
        const perp_contact* c = &step->to->contacts.item[k];
        const size_t at = perpi_exception_of(step, c->key);
        if (!perpi_may_have_groups(step, c->key) ||
            (at < step->exception.count && step->exception.item[at].rule == NULL)) {
            continue;
        }
        const perp_status status = perpi_make_exception(step, c->key, NULL);
        if (status != PERP_OK) {
            return status;
        }
        if (step->on_fallback != NULL && !*done) {
            step->on_fallback(step->on_fallback_user, &step->formulation->problem, c->body_a,
                              c->body_b, "standard");
        }
        *done = true;
    }
    perpi_collider_set_rule(step->collider, step->contact_model->rule, step->exception.item,
                            step->exception.count);
    return PERP_OK;
}

/* Gives the pair of contact i the next simpler model for this step, with all grouped pieces of the same
 * two bodies, because these would otherwise fail one by one. False: there is none. */
static perp_status simplify_pair(perpi_step* step, int32_t i, bool* done)
{
    const perp_contact* contact = &step->to->contacts.item[i];
    const perpi_contact_model_ops* simpler = model_of(step, contact->key)->simpler;
    if (simpler == NULL) {
        return PERP_OK;
    }
    if (step->on_fallback != NULL) {
        step->on_fallback(step->on_fallback_user, &step->formulation->problem, contact->body_a,
                          contact->body_b, simpler->name);
    }
    for (size_t k = 0; k < step->to->contacts.count; ++k) {
        const perp_contact* c = &step->to->contacts.item[k];
        if (c->group == 0 || c->body_a != contact->body_a || c->body_b != contact->body_b) {
            continue;
        }
        const perp_status status = perpi_make_exception(step, c->key, simpler->rule);
        if (status != PERP_OK) {
            return status;
        }
    }
    perpi_collider_set_rule(step->collider, step->contact_model->rule, step->exception.item,
                            step->exception.count);
    *done = true;
    return PERP_OK;
}

/* False: no pair was found. */
static perp_status fall_back_pair(perpi_step* step, bool* done)
{
    *done = false;
    const int32_t i = find_failing_pair(step);
    if (i >= 0) {
        return simplify_pair(step, i, done);
    }
    return step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY ? fall_back_to_plain(step, done)
                                                                : PERP_OK;
}

/* A group holds at the start of the step if one of its members does. Where another one acts in the answer, which
 * overlaps there, the step closes an overlap that the bodies do not have: it does the work p d/h, d the
 * overlap beyond that of the group. This is a solution of the group's law, but none that a motion leads to.
 * The contact with the largest such work, if the sum is more than the motion can explain; else -1. */
static int32_t find_switch_that_gains(const perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    const perp_contact* contact = step->to->contacts.item;
    const double least = LEAST_OVERLAP * step->model->length;
    double sum = 0.0, largest = 0.0;
    int32_t found = -1;
    for (int32_t g = 0; g < P->group_count; ++g) {
        double most = -INFINITY;
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            const double gap = contact[P->group[g].member[k]].gap;
            most = gap > most ? gap : most;
        }
        most = most < 0.0 ? most : 0.0;
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            const perp_contact* c = &contact[P->group[g].member[k]];
            const double closed = most - c->gap;
            const double work = closed > least ? c->impulse[0] * closed / step->h : 0.0;
            sum += work;
            found = work > largest ? P->group[g].member[k] : found;
            largest = work > largest ? work : largest;
        }
    }
    return sum > 0.0 && sum > LARGEST_GAIN * perpi_kinetic_energy_free(step->formulation) ? found
                                                                                          : -1;
}

/* ---- overlap that is pushed out slowly -------------------------------------------------------------
 *
 * A linear gap leaves an overlap of r (1 - cos a) where a body turns by a, and the next step parts the bodies at that over
 * h. Of a body that turns by radians in a step this is its own speed, whatever the mass of what lies on it: a light box
 * that wobbles between two heavy balls throws the upper one. Impulses of contacts that ask for no velocity do not raise the
 * kinetic energy: the answer is the nearest to the free motion in a cone, or loses more by friction. So where the answer has
 * more and such overlap pushes, the step is solved again with a tenth of the speed for it; and so are the next ones, until the
 * answer has no more energy with all of it. A pair with groups has the next simpler model then. The recording says so: a gap
 * of 0, and a drift that asks for the speed. Not with contacts that exist once bodies overlap, which push in no other way. */

/* Whether the last step pushed a pair out slowly; body_a < 0: any pair. */
static bool was_slow(const perpi_step* step, int32_t body_a, int32_t body_b)
{
    const perpi_contact_list* list = &step->from->contacts;
    bool found = false;
    for (size_t i = 0; i < list->count && !found; ++i) {
        const perp_contact* c = &list->item[i];
        found = c->gap == 0.0 && c->drift[0] < 0.0 &&
                (body_a < 0 || (c->body_a == body_a && c->body_b == body_b));
    }
    return found;
}

/* Overlap that the turn of a body can leave, if it turned too far in the last step for a linear gap to tell where it would
 * be; else 0. */
static double overlap_of_turn(const perpi_step* step, int32_t body)
{
    const double turn = step->h * v3_norm(perpi_state_rate(step->model, step->from->v, body));
    const double part = turn * turn < 4.0 ? 0.5 * turn * turn : 2.0; /* of its radius */
    return turn > LARGEST_TURN ? part * step->model->body[body].reach : 0.0;
}

/* The part of the overlap of a contact that the turns of its bodies, or of the smaller one in earlier steps, can have left. A
 * body that flies into another one is deeper in it. */
static double overlap_of_turns(const perpi_step* step, const perp_contact* c, bool again)
{
    if (!(c->gap < 0.0)) {
        return 0.0;
    }
    const perpi_body *a = &step->model->body[c->body_a], *b = &step->model->body[c->body_b];
    double most = TURNS * (overlap_of_turn(step, c->body_a) + overlap_of_turn(step, c->body_b));
    if (again && was_slow(step, c->body_a, c->body_b)) {
        most = fmax(most, 2.0 * fmin(a->reach, b->reach));
    }
    return fmin(most, -c->gap);
}

/* The part that is pushed out slowly. */
static double slow_overlap(const perpi_step* step, const perp_contact* c, bool again)
{
    return perpi_overlap_counts(step, c) ? overlap_of_turns(step, c, again) : 0.0;
}

void perpi_push_slowly(perpi_step* step)
{
    const bool again = step->kept.slow && was_slow(step, -1, -1);
    for (size_t i = 0; step->kept.slow && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const double part = slow_overlap(step, c, again);
        if (part > 0.0) {
            step->kept.deepest = -c->gap > step->kept.deepest ? -c->gap : step->kept.deepest;
            c->drift[0] += (c->gap + (1.0 - SLOW_PART) * part) / step->h;
            c->gap = 0.0;
        }
    }
}

/* Whether overlap may be pushed out slowly in this step. */
static bool may_push_slowly(const perpi_step* step)
{
    return !step->kept.any && !step->stepper->touching && !(step->error > 0.0) &&
           step->stepper->evaluation != PERPI_EVALUATE_GEOMETRY &&
           !step->contact_model->overlap_only && step->equilibrium.v_end == NULL;
}

static bool gains_energy(const perpi_step* step, double least)
{
    return perpi_kinetic_energy(step->formulation, step->v_problem) >
           (1.0 + least) * perpi_kinetic_energy_free(step->formulation);
}

bool perpi_slow_push(perpi_step* step)
{
    const double least = LEAST_OVERLAP * step->model->length;
    const perpi_contact_list* list = &step->to->contacts;
    size_t first = 0; /* most steps have no such overlap */
    while (first < list->count &&
           !(list->item[first].impulse[0] > 0.0 && -list->item[first].gap > least)) {
        ++first;
    }
    if (first == list->count || step->kept.slow || !may_push_slowly(step)) {
        return false;
    }
    const bool again = was_slow(step, -1, -1);
    bool pushes = false;
    for (size_t i = first; i < list->count && !pushes; ++i) {
        const perp_contact* c = &list->item[i];
        pushes = c->impulse[0] > 0.0 && slow_overlap(step, c, again) > least;
    }
    step->kept.slow = pushes && gains_energy(step, 0.0);
    step->attempts.fallbacks += step->kept.slow ? 1 : 0;
    return step->kept.slow;
}

/* A group has no gap of its own that could be taken back slowly. The contact of a group with the largest such overlap that
 * pushes, where the step gains energy; else -1. */
static int32_t find_turn_that_gains(const perpi_step* step)
{
    if (!may_push_slowly(step) || !gains_energy(step, GROUP_GAIN)) {
        return -1;
    }
    const bool again = was_slow(step, -1, -1);
    double largest = LEAST_OVERLAP * step->model->length;
    int32_t found = -1;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        const double part =
            c->group != 0 && c->impulse[0] > 0.0 ? overlap_of_turns(step, c, again) : 0.0;
        found = part > largest ? (int32_t)i : found;
        largest = part > largest ? part : largest;
    }
    return found;
}

perp_status perpi_leave_switch(perpi_step* step, bool* again)
{
    *again = false;
    if (step->formulation->problem.group_count == 0 ||
        step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY) {
        return PERP_OK; /* none to leave, or gaps are those of the end of the step */
    }
    int32_t i = find_switch_that_gains(step);
    i = i >= 0 ? i : find_turn_that_gains(step);
    const perp_status status = i >= 0 ? simplify_pair(step, i, again) : PERP_OK;
    step->attempts.fallbacks += *again ? 1 : 0;
    return status;
}

bool perpi_overlap_counts(const perpi_step* step, const perp_contact* c)
{
    return c->group == 0 && !(c->layer.theta > 0.0) && !perpi_pushes_back(step, c);
}

bool perpi_is_close(const perpi_step* step, const perp_contact* c, double close)
{
    const double size =
        fmin(step->model->body[c->body_a].reach, step->model->body[c->body_b].reach);
    return c->gap > 0.0 && isfinite(size) && c->gap < close * size && !step->stepper->touching &&
           perpi_overlap_counts(step, c);
}

/* Contacts of a heap that count as closed are not enough: with the largest gap. Each try may take thousands of
 * factorisations, of which a step has a limit. False: there are none. */
static bool close_more(perpi_step* step)
{
    const bool more = step->to->contacts.count >= HEAP && step->kept.close < CLOSE_MOST;
    bool any = false;
    for (size_t i = 0; more && i < step->to->contacts.count && !any; ++i) {
        any = perpi_is_close(step, &step->to->contacts.item[i], CLOSE_MOST);
    }
    step->kept.close = more ? CLOSE_MOST : step->kept.close;
    return any;
}

/* Last resort: overlap that cannot be corrected at once, because contacts push bodies out in
 * directions that exclude each other, is kept for this step. First between the two bodies with
 * the largest residual, then everywhere; then a step in which all bodies are at rest is a
 * solution, unless prescribed bodies exclude it. Contacts that are nearly closed then count as closed: in a
 * jammed heap a gap of 1e-8 of the size of a body at a contact that carries a load asks for slip at many others, on the way to
 * which their impulses change by their own size. In heaps all at once. Not where the geometry is that of the end of
 * the step. False: nothing overlaps or is close. */
static bool keep_overlap(perpi_step* step)
{
    const int32_t worst = step->residual.worst_constraint;
    bool any = false, here = false;
    if (step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY || step->error > 0.0) {
        return false;
    }
    if (step->kept.all) {
        return close_more(step);
    }
    const bool known = !step->kept.any && step->to->contacts.count < HEAP && worst >= 0 &&
                       (size_t)worst < step->to->contacts.count;
    const perp_contact* furthest = known ? &step->to->contacts.item[worst] : NULL;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        const double gap = c->gap < 0.0 ? c->gap : c->gap + step->h * c->drift[0];
        const double pushed = step->stepper->touching ? c->drift[0] : gap;
        const bool overlaps = pushed < 0.0 && perpi_overlap_counts(step, c);
        any = any || overlaps || perpi_is_close(step, c, CLOSE_FIRST);
        here = here || (overlaps && known && c->body_a == furthest->body_a &&
                        c->body_b == furthest->body_b);
    }
    step->kept.any = any;
    step->kept.all = any && !here;
    step->kept.close = step->kept.all ? CLOSE_FIRST : 0.0;
    step->kept.body_a = here ? furthest->body_a : -1;
    step->kept.body_b = here ? furthest->body_b : -1;
    return any;
}

/* Contacts that exist once bodies overlap push them out at depth/h. A body of several pieces deep in
 * another one has them in directions that friction wedges: no impulses satisfy them. Overlap is an
 * error of the step, and friction there has no meaning: without it the pair is pushed out, unless the
 * directions exclude each other. False: nothing overlaps, or that was tried. */
static bool push_out_smoothly(perpi_step* step)
{
    const int32_t worst = step->residual.worst_constraint;
    if (!step->contact_model->overlap_only || step->kept.smooth || step->kept.any ||
        step->error > 0.0 || worst < 0 || (size_t)worst >= step->to->contacts.count) {
        step->kept.smooth = false;
        return false;
    }
    const perp_contact* c = &step->to->contacts.item[worst];
    if (!(c->gap < 0.0) || !(c->mu > 0.0)) {
        return false;
    }
    step->kept.smooth = true;
    step->kept.body_a = c->body_a;
    step->kept.body_b = c->body_b;
    return true;
}

/* Before the last resort: the joint errors are kept in this step, where closing them contradicts
 * other constraints. False: there are none, or they are kept already.
 *
 * A joint with an error, from a contact in an earlier step or from the start, closes it within the
 * step, and a body between the two may prevent that. With errors kept, a step in which all bodies
 * are at rest is a solution, unless motors (whose laws remain) or prescribed bodies exclude it. The
 * next step tries to close them again. */
bool perpi_keep_joint_errors(perpi_step* step)
{
    if (step->kept.joints || step->model->joint_count == 0 || step->error > 0.0 ||
        step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY) {
        return false;
    }
    step->kept.joints = true;
    for (size_t i = 0; i < step->model->joint_count; ++i) {
        step->input[i].ease = INFINITY;
    }
    return true;
}

perp_status perpi_fall_back(perpi_step* step, bool* again)
{
    *again = false;
    if (step->formulation->problem.group_count > 0 ||
        (step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY && step->contact_model->groups)) {
        /* one pair at a time would need as many solves as there are pairs; then all at once */
        const bool many = step->attempts.fallbacks >= MANY_FALLBACKS || fails_without_groups(step);
        const perp_status status =
            many ? fall_back_to_plain(step, again) : fall_back_pair(step, again);
        if (status != PERP_OK) {
            return status;
        }
    }
    *again =
        *again || push_out_smoothly(step) || keep_overlap(step) || perpi_keep_joint_errors(step);
    step->attempts.fallbacks += *again ? 1 : 0;
    return PERP_OK;
}
