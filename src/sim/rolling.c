/* src/sim/rolling.c - the slip of rolling contacts at the middle of the step.
 *
 * Method     docs/notation.md, "Rolling and spinning"
 *
 * Static friction does the work p_t . (u- + u+)/2 in a step, u- and u+ being J_t times the
 * velocities before and after it. With u+ = 0 and J_t at the start of the step, this is not 0 where
 * the contact point moves over the body: J_t v changes by 2 c in a step, and rolling bodies gain or
 * lose energy in proportion to h. The slip at the middle of the step is u+ + c, and u+ = -c makes
 * the work vanish, as the gap does in the normal row.
 *
 * c is estimated from the last step, whose contact point is in step->from->contacts: half of the
 * velocity change that the current velocities and the motion of the point over the bodies give.
 * Only its part k u- along u- is used: then the work is (1 - k)/2 p_t . u-, smaller than without
 * for any motion of the contact points. A sliding contact has a small k and is not changed.
 */
#include "sim/internal.h"
#include "step/rolling.h"
#include "step/smooth_step.h"

typedef struct slip {
    vec3 now;  /* relative velocity at the contact's point, without the change by the spin */
    vec3 gain; /* its gain since the last step by the motion of the point */
} slip;

/* The velocity that corresponds to the body's momentum at the start of the step with the
 * orientation at its end: w - I^-1 g, g the velocity-product term. */
static vec3 spin_before(const perpi_step* step, const perp_contact* c, int32_t index, double h,
                        vec3 w)
{
    const perpi_body* body = &step->model->body[index];
    if (step->model->dimension == 2 || body->dofs == 0 || body->particle ||
        perpi_inertia_round(body)) {
        return w;
    }
    const perpi_pose* pose = &step->pose[index];
    const double part = perpi_spin_part(body, perpi_hold_at(body, pose, w, c->point), h, w);
    const vec3 W = m3_tmul(pose->R, w);
    const vec3 turn = v3_cross(W, m3_mul(body->inertia, W));
    return v3_madd(w, part * h, m3_mul(pose->R, m3_mul(m3_inverse(body->inertia), turn)));
}

static vec3 gap_middle(const perp_contact* c)
{
    return v3_madd(v3_from(c->point), 0.5 * c->gap, v3_from(c->normal));
}

static bool is_zero(vec3 a)
{
    return a.x == 0.0 && a.y == 0.0 && a.z == 0.0;
}

/* The side of a contact that is sign times body; c now, old in the last step, h_old ago. */
static void add_side(const perpi_step* step, const perp_contact* c, const perp_contact* old,
                     int32_t body, double sign, double h, double h_old, slip* sum)
{
    const vec3 v = perpi_state_velocity(step->model, step->from->v, body);
    const vec3 w = perpi_state_rate(step->model, step->from->v, body);
    if (step->model->body[body].dofs == 0 && is_zero(v) && is_zero(w)) {
        return; /* all that follows is 0 */
    }
    const vec3 x = step->pose[body].x;
    const vec3 arm = v3_sub(gap_middle(c), x);
    const vec3 way = v3_sub(arm, v3_sub(gap_middle(old), v3_madd(x, -h_old, v)));
    const vec3 u = v3_add(v, v3_cross(spin_before(step, c, body, h, w), arm));
    sum->now = v3_madd(sum->now, sign, u);
    sum->gain = v3_madd(sum->gain, sign, v3_cross(w, way));
}

static void roll(const perpi_step* step, perp_contact* c, const perp_contact* old, double h,
                 double h_old)
{
    slip s = {v3(0, 0, 0), v3(0, 0, 0)};
    add_side(step, c, old, c->body_a, -1.0, h, h_old, &s);
    add_side(step, c, old, c->body_b, 1.0, h, h_old, &s);
    const vec3 t = v3_from(c->tangent), o = v3_cross(v3_from(c->normal), t);
    const double u[2] = {v3_dot(t, s.now), v3_dot(o, s.now)};
    const double gain[2] = {v3_dot(t, s.gain), v3_dot(o, s.gain)};
    const double size = u[0] * u[0] + u[1] * u[1];
    double part = 0.5 * (gain[0] * u[0] + gain[1] * u[1]) / size;
    if (!(size > 0.0) || !(part > PERPI_ROLLING_LEAST_PART)) {
        return;
    }
    /* Only where friction would add energy, and at most all of it; |2 c| bounds the motion that
     * is not rolling. Blended from the rounding of friction up to a tenth of its bound. */
    const double pushes = old->impulse[1] * u[0] + old->impulse[2] * u[1];
    const double whole = PERPI_ROLLING_BLEND * old->mu * old->impulse[0] * sqrt(size);
    part *= pushes > whole ? 2.0 : pushes > 0.0 ? 1.0 + pushes / whole : 1.0;
    part = part < 1.0 ? part : 1.0;
    c->drift[1] = part * u[0];
    c->drift[2] = part * u[1];
}

/* A body on a joint may have no degree of freedom left to roll: the required slip can have no
 * solution. */
static bool may_roll(const perpi_step* step, const perp_contact* c, double h)
{
    const perpi_body* body = step->model->body;
    const double a = v3_norm(perpi_state_rate(step->model, step->from->v, c->body_a));
    const double b = v3_norm(perpi_state_rate(step->model, step->from->v, c->body_b));
    return body[c->body_a].joints == 0 && body[c->body_b].joints == 0 &&
           h * (a > b ? a : b) <= PERPI_ROLLING_LARGEST_TURN && c->cone != PERP_CONE_NONE &&
           !perpi_contact_driven(step->model, c);
}

static bool pushes(const perpi_step* step, const perp_contact* c)
{
    return perpi_contact_pushes(step->model, &step->settings, step->from->h_last, c);
}

static bool pushes_beside(const perpi_step* step, const perp_contact* c, const perp_contact* other)
{
    return other->body_a == c->body_a && other->body_b == c->body_b && pushes(step, other);
}

/* Whether the contact is the only active one of its pair: bodies in contact at several points do
 * not roll. Contacts of a pair are consecutive. */
static bool is_single_contact(const perpi_step* step, const perpi_contact_list* list, size_t at)
{
    const perp_contact* c = &list->item[at];
    return !(at > 0 && pushes_beside(step, c, c - 1)) &&
           !(at + 1 < list->count && pushes_beside(step, c, c + 1));
}

void perpi_set_rolling(perpi_step* step, double h)
{
    if (!step->settings.midway || step->from->tick == 0 || step->from->after_impact) {
        return;
    }
    const double h_old = step->from->h_last;
    size_t old = 0;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        while (old < step->from->contacts.count &&
               perpi_contact_before(&step->from->contacts.item[old], c)) {
            old += 1;
        }
        if (old < step->from->contacts.count && step->from->contacts.item[old].key == c->key &&
            pushes(step, &step->from->contacts.item[old]) &&
            is_single_contact(step, &step->from->contacts, old) && may_roll(step, c, h)) {
            roll(step, c, &step->from->contacts.item[old], h, h_old);
        }
    }
}

void perpi_clear_rolling(perpi_step* step)
{
    for (size_t i = 0; step->settings.midway && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        if (!perpi_contact_driven(step->model, c)) {
            c->drift[1] = c->drift[2] = 0.0;
        }
    }
}
