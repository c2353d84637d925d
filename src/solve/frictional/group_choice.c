/* src/solve/frictional/group_choice.c - which member of a group acts, and with which share of the
 * impulse where two act. See switching.c. */
#include <math.h>

#include "solve/frictional/switching.h"

#define INSIDE_RATIO                                                                               \
    10.0 /* of openings: one that counts to that of the choice, which should be 0 */

enum { INSIDE_REPLACEMENTS = 6 }; /* of one group while it is solved */
enum { INSIDE_PAIR = 3 };         /* of these, before two members are closed together */
enum { DIRECT_REPLACEMENTS = 3 }; /* as PERPI_REPLACEMENTS, from predicted choices */

perpi_opening perpi_group_opening(const perpi_switching* s, const perp_contact_problem* P,
                                  int32_t i, const double* v)
{
    const perp_constraint* c = &P->constraint[i];
    const double* J = P->J + c->jac;
    perpi_opening o = {P->b[c->row], fabs(P->b[c->row]), 0.0};
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const int32_t n = P->dof[block + 1] - P->dof[block];
        const double* M = P->M + s->M_at[block];
        for (int32_t k = 0; k < n; ++k) {
            const double term = J[k] * v[P->dof[block] + k];
            o.u += term;
            /* include the free motion: at rest the velocities alone are rounding */
            const double pull = fabs(J[k] * P->k[P->dof[block] + k] / M[k * n + k]);
            o.size = fabs(term) > o.size ? fabs(term) : o.size;
            o.size = pull > o.size ? pull : o.size;
            o.w += J[k] * J[k] / M[k * n + k];
        }
        J += (size_t)c->rows * (size_t)n;
    }
    return o;
}

perpi_outlook perpi_group_outlook(const perpi_switching* s, const perp_contact_problem* P,
                                  int32_t g, const double* v)
{
    const perp_group* group = &P->group[g];
    perpi_outlook l = {-1, -1, -INFINITY, false};
    double widest = -INFINITY, cost = INFINITY;
    for (int32_t k = 0; k < group->count; ++k) {
        const int32_t i = group->member[k];
        const perpi_opening o = perpi_group_opening(s, P, i, v);
        const double relative = o.size > 0.0 ? o.u / o.size : 0.0;
        l.most = relative > l.most ? relative : l.most;
        l.open = l.open || (i != s->choice[g] && relative > s->slack);
        if (k >= group->primary) {
            continue; /* not a primary: its impulse is zero */
        }
        if (relative > widest) {
            widest = relative;
            l.widest = i;
        }
        const double energy = o.u < 0.0 ? o.u * o.u / (o.w > 0.0 ? o.w : 1e-300) : 0.0;
        if (energy < cost) {
            cost = energy;
            l.cheapest = i;
        }
    }
    return l;
}

/* Whether the choice of a group has an impulse; an interior point method leaves a little of it on every
 * contact. */
static bool pushes(const perpi_switching* s, const perp_contact_problem* P, int32_t g,
                   const double* v, const double* p)
{
    if (s->choice[g] < 0) {
        return false;
    }
    const double p_n = p[P->constraint[s->choice[g]].row];
    if (!s->direct) {
        return p_n > 0.0;
    }
    const perpi_opening o = perpi_group_opening(s, P, s->choice[g], v);
    return o.w * p_n > s->slack * o.size;
}

double perpi_partner_off(const perpi_switching* s, const perp_contact_problem* P, int32_t g,
                         const double* v)
{
    if (s->share[g].lone) {
        return -perpi_group_outlook(s, P, g, v).most;
    }
    const perpi_opening o = perpi_group_opening(s, P, s->partner[g], v);
    return o.size > 0.0 ? o.u / o.size : 0.0;
}

void perpi_share_move(perpi_share* x, double f)
{
    /* regula falsi; the value at an end that stays twice is halved (Illinois) */
    const int32_t side = f > 0.0 ? 1 : -1;
    if (side > 0) {
        x->low = x->s;
        x->f_low = f;
        x->f_high *= x->side == side ? 0.5 : 1.0;
    } else {
        x->high = x->s;
        x->f_high = f;
        x->f_low *= x->side == side ? 0.5 : 1.0;
    }
    x->side = side;
    double next = x->f_high < 0.0 ? x->low + (x->high - x->low) * x->f_low / (x->f_low - x->f_high)
                                  : 0.5 * (x->low + x->high);
    if (!(next > x->low && next < x->high)) {
        next = 0.5 * (x->low + x->high);
    }
    x->s = next;
}

bool perpi_partners_are_closed(perpi_switching* s, const perp_contact_problem* P, const double* v)
{
    bool done = true;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] < 0 || (s->one_by_one && s->last != g)) {
            continue;
        }
        perpi_share* x = &s->share[g];
        const double f = perpi_partner_off(s, P, g, v);
        if (fabs(f) <= s->closed || x->high - x->low <= 1e-15 * x->first) {
            continue;
        }
        perpi_share_move(x, f);
        done = false;
    }
    return done;
}

/* Closes the choice and `other` together: `other` becomes the partner. high: an impulse at which it
 * penetrates, f_low: its opening without an impulse. */
static void begin_share(perpi_switching* s, int32_t g, int32_t other, double high, double f_low)
{
    perpi_share* x = &s->share[g];
    x->lone = false;
    s->partner[g] = other;
    x->high = x->first = high;
    x->low = x->f_high = 0.0;
    x->f_low = f_low;
    x->s = 0.5 * high;
    x->side = 0;
}

/* Seeks the impulse of the only primary at which the most open member is just closed: with `high`
 * that member is open. */
static void begin_lone_share(perpi_switching* s, int32_t g, double high, double f_high)
{
    begin_share(s, g, s->choice[g], high, 0.0);
    s->choice[g] = -1;
    s->share[g].f_low = s->share[g].f_high = f_high;
    s->share[g].lone = true;
}

/* The impulse of one member as the guess of the one that takes its place: the two mostly differ little. */
static void hand_impulse(const perp_contact_problem* P, int32_t from, int32_t to, double* p)
{
    const perp_constraint *a = &P->constraint[from], *b = &P->constraint[to];
    for (int32_t r = 0; r < b->rows; ++r) {
        p[b->row + r] = r < a->rows ? p[a->row + r] : 0.0;
    }
}

/* Two members that replace each other: both are closed from here on, each with half of the impulse that it
 * had alone. f_low: how far `other` was open without an impulse. */
static void begin_pair(perpi_switching* s, const perp_contact_problem* P, int32_t g, int32_t other,
                       double f_low, double* p)
{
    s->second[g] = other;
    s->share[g].f_low = f_low;
    p[P->constraint[s->choice[g]].row] *= 0.5;
    p[P->constraint[other].row] = 0.5 * s->share[g].impulse;
}

bool perpi_seek_shares(perpi_switching* s, const perp_contact_problem* P)
{
    bool any = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->second[g] >= 0) {
            begin_share(s, g, s->second[g], s->share[g].impulse, s->share[g].f_low);
            s->second[g] = -1;
            any = true;
        }
    }
    return any;
}

/* Whether the two do not act together: one would have to pull, or a third member is open. */
static bool revise_pair(perpi_switching* s, const perp_contact_problem* P, int32_t g,
                        const perpi_outlook* l, const double* p)
{
    const double p_a = p[P->constraint[s->choice[g]].row];
    const double p_b = p[P->constraint[s->second[g]].row];
    if (p_a > 0.0 && p_b > 0.0 && !(l->most > s->slack)) {
        return false;
    }
    s->handed[g] += 1;
    s->share[g].before = -1;
    s->choice[g] = l->most > s->slack ? l->widest : p_a > p_b ? s->choice[g] : s->second[g];
    s->second[g] = -1;
    return true;
}

bool perpi_choose_again(perpi_switching* s, const perp_contact_problem* P, const double* v,
                        double* p)
{
    bool changed = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            continue;
        }
        const perpi_outlook l = perpi_group_outlook(s, P, g, v);
        if (s->second[g] >= 0) {
            changed = revise_pair(s, P, g, &l, p) || changed;
        } else if (s->choice[g] < 0 && l.most < -s->slack) {
            s->choice[g] = l.cheapest;
            changed = true;
        } else if (s->direct && l.open && l.widest != s->choice[g] &&
                   s->share[g].before == l.widest && pushes(s, P, g, v, p)) {
            begin_pair(s, P, g, l.widest, l.most, p);
            changed = true;
        } else if (l.open && pushes(s, P, g, v, p)) {
            const bool other = l.widest != s->choice[g];
            const double p_n = p[P->constraint[s->choice[g]].row];
            perpi_share* x = &s->share[g];
            const int32_t most = s->direct ? DIRECT_REPLACEMENTS : PERPI_REPLACEMENTS;
            s->handed[g] += 1;
            if (s->handed[g] > most && other) {
                begin_share(s, g, l.widest, x->before == l.widest ? x->impulse : p_n, l.most);
                changed = true;
            } else if (s->handed[g] <= most) {
                x->before = s->choice[g];
                x->impulse = p_n;
                /* try the group without an impulse first, unless the choice was predicted */
                s->choice[g] = (s->handed[g] == 1 && !s->direct) || !other ? -1 : l.widest;
                if (s->direct && other) {
                    hand_impulse(P, x->before, l.widest, p);
                }
                changed = true;
            } else if (P->group[g].primary == 1) {
                begin_lone_share(s, g, p_n, -l.most);
                changed = true;
            } /* else the choice stays, and the residual shows the violation */
        }
    }
    return changed;
}

/* The members of a group at a point that is not an answer yet. Openings are compared with the
 * largest term of the group, impulses included, as the residual check does. */
typedef struct group_view {
    int32_t widest, cheapest; /* primaries, as in perpi_outlook */
    double size;              /* the largest term */
    double most, own;         /* the largest opening; that of the choice */
    double push;              /* W p_n of the choice */
} group_view;

static group_view view_group(const perpi_switching* s, const perp_contact_problem* P, int32_t g,
                             const double* v, const double* p)
{
    const perp_group* group = &P->group[g];
    group_view w = {-1, -1, 0.0, -INFINITY, 0.0, 0.0};
    double widest = -INFINITY, cost = INFINITY;
    for (int32_t k = 0; k < group->count; ++k) {
        const int32_t i = group->member[k];
        const perpi_opening o = perpi_group_opening(s, P, i, v);
        const double push = p != NULL ? o.w * p[P->constraint[i].row] : 0.0;
        w.size = o.size > w.size ? o.size : w.size;
        w.size = push > w.size ? push : w.size;
        w.most = o.u > w.most ? o.u : w.most;
        if (i == s->choice[g]) {
            w.own = o.u;
            w.push = push;
        }
        if (k < group->primary && o.u > widest) {
            widest = o.u;
            w.widest = i;
        }
        const double energy = o.u < 0.0 ? o.u * o.u / (o.w > 0.0 ? o.w : 1e-300) : 0.0;
        if (k < group->primary && energy < cost) {
            cost = energy;
            w.cheapest = i;
        }
    }
    return w;
}

/* Changes the choice of a group whose view is w, if another member is open while it pushes. */
static bool revise_choice(perpi_switching* s, const perp_contact_problem* P, int32_t g,
                          const group_view* w, double ratio, const double* v, double* p)
{
    perpi_share* x = &s->share[g];
    const double own = ratio * fabs(w->own), least = s->fine * w->size;
    const double slack = own > least ? own : least;
    const int32_t now = s->choice[g];
    if (!(w->push > slack) || !(w->most > slack) || s->handed[g] > INSIDE_REPLACEMENTS) {
        return false;
    }
    s->handed[g] += 1;
    if (w->widest == now) { /* a member that is no primary is open */
        s->choice[g] = -1;
    } else if (x->before == w->widest && !x->refused && s->handed[g] >= INSIDE_PAIR) {
        const double size = perpi_group_opening(s, P, w->widest, v).size;
        const double part = w->most + x->gap > 0.0 ? w->most / (w->most + x->gap) : 0.5;
        begin_share(s, g, w->widest, x->impulse, size > 0.0 ? w->most / size : 0.0);
        x->s = x->high * (part < 0.02 ? 0.02 : part > 0.98 ? 0.98 : part);
        x->slope = -x->f_low / x->s;
        x->last = (double)NAN;
        p[P->constraint[w->widest].row] = x->s;
        p[P->constraint[now].row] *= 1.0 - part;
    } else {
        x->gap = w->most;
        x->before = now;
        x->impulse = p[P->constraint[now].row];
        s->choice[g] = w->widest;
        hand_impulse(P, now, w->widest, p);
    }
    return true;
}

bool perpi_choose_inside(perpi_switching* s, const perp_contact_problem* P, bool solved,
                         const double* v, double* p)
{
    const double ratio = solved ? 1.0 : INSIDE_RATIO;
    bool changed = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        const group_view w = view_group(s, P, g, v, p);
        if (s->partner[g] >= 0) {
            continue;
        }
        if (s->choice[g] < 0) {
            if (w.most < -s->fine * w.size) {
                s->choice[g] = w.cheapest;
                changed = true;
            }
        } else {
            changed = revise_choice(s, P, g, &w, ratio, v, p) || changed;
        }
    }
    return perpi_shares_revise(s, P, changed, v, p) || changed;
}

bool perpi_refuse_inside(perpi_switching* s, const perp_contact_problem* P, const double* p)
{
    bool any = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            const int32_t a = s->choice[g], b = s->partner[g];
            s->choice[g] = p[P->constraint[a].row] > p[P->constraint[b].row] ? a : b;
            s->partner[g] = -1;
            s->share[g].before = -1;
            s->share[g].refused = any = true;
        }
    }
    return any;
}

bool perpi_choose_one(perpi_switching* s, const perp_contact_problem* P, const double* v,
                      const double* p)
{
    for (int32_t k = 0; k < P->group_count; ++k) {
        const int32_t g = (s->last + k) % P->group_count;
        const perpi_outlook l = perpi_group_outlook(s, P, g, v);
        perpi_share* x = &s->share[g];
        const double p_n = s->choice[g] >= 0 ? p[P->constraint[s->choice[g]].row] : 0.0;
        if (s->partner[g] >= 0) {
            if (!(l.most > s->slack) && fabs(perpi_partner_off(s, P, g, v)) <= s->slack) {
                continue;
            }
            x->before = -1;
            s->choice[g] = l.widest;
            s->partner[g] = -1;
        } else if (s->choice[g] < 0 && l.most < -s->slack) {
            x->before = -1;
            s->choice[g] = l.cheapest;
        } else if (s->choice[g] >= 0 && l.open && p_n > 0.0) {
            const bool other = l.widest != s->choice[g];
            if (P->group[g].primary == 1) {
                begin_lone_share(s, g, p_n, -l.most);
            } else if (other && s->last == g && x->before == l.widest) {
                begin_share(s, g, l.widest, x->impulse, l.most);
            } else {
                x->before = s->choice[g];
                x->impulse = p_n;
                s->choice[g] = other ? l.widest : -1;
            }
        } else {
            continue;
        }
        s->last = g;
        return true;
    }
    return false;
}

void perpi_start_one_by_one(perpi_switching* s, const perp_contact_problem* P)
{
    s->one_by_one = true;
    s->last = 0;
    for (int32_t g = 0; g < P->group_count; ++g) {
        s->choice[g] = s->partner[g] >= 0 ? s->partner[g] : s->choice[g];
        s->partner[g] = -1;
        s->share[g] = (perpi_share){.before = -1};
    }
}

void perpi_choose_first(perpi_switching* s, const perp_contact_problem* P, bool warm, double* v,
                        double* p)
{
    for (int32_t i = 0; !warm && i < P->block_count; ++i) {
        const int32_t n = P->dof[i + 1] - P->dof[i];
        const double* M = P->M + s->M_at[i];
        for (int32_t k = 0; k < n; ++k) { /* approximate: the off-diagonal terms are neglected */
            v[P->dof[i] + k] = P->k[P->dof[i] + k] / M[k * n + k];
        }
    }
    if (!s->direct) {
        (void)perpi_choose_again(s, P, v, p);
    }
    for (int32_t g = 0; s->direct && g < P->group_count; ++g) {
        if (s->choice[g] < 0) {
            const perpi_outlook l = perpi_group_outlook(s, P, g, v);
            s->choice[g] = l.most < 0.0 ? l.cheapest : l.widest;
        }
    }
}

bool perpi_groups_hold(const perpi_switching* s, const perp_contact_problem* P, const double* v,
                       const double* p)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perpi_outlook l = perpi_group_outlook(s, P, g, v);
        const bool acts = pushes(s, P, g, v, p) || s->partner[g] >= 0 || s->second[g] >= 0;
        if (l.most < -s->slack || (acts && l.most > s->slack) ||
            (s->partner[g] >= 0 && !(fabs(perpi_partner_off(s, P, g, v)) <= s->slack))) {
            return false;
        }
    }
    return true;
}
