/* src/solve/frictional/share_search.c - the impulses of partners (switching.c), found while the problem is solved.
 *
 * Method     a partner has a given impulse s; its opening f(s) is to be 0. f is read from the point at hand once it
 *            has settled, and s changes: by regula falsi for one partner, by Broyden's method for several, whose
 *            openings depend on each other. The solve goes on from the same impulses, so that a value of f
 *            takes a few factorisations.
 * Source     C. G. Broyden, Math. Comp. 19 (1965) 577
 */
#include <math.h>
#include <string.h>

#include "solve/frictional/switching.h"

#define SETTLED 0.1 /* change of an opening from one point to the next, relative */
#define LEAST 1e-9  /* of the first interval of an impulse */
#define SMALL 1e-3  /* the same: an impulse that counts as none */
#define NEAR_END 0.9
#define LONGER 1.5  /* factor on an interval without a change of sign */
#define LONGEST 0.3 /* step of an impulse, of that interval */

enum { MOVES = 30 };

/* Partners; at most PERPI_JOINT in `group`. */
static int32_t list_shares(const perpi_switching* s, const perp_contact_problem* P, int32_t* group)
{
    int32_t count = 0;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            if (count < PERPI_JOINT) {
                group[count] = g;
            }
            ++count;
        }
    }
    return count;
}

/* One member of a group with a partner acts. */
static void dissolve(perpi_switching* s, int32_t g, int32_t choice, bool refused)
{
    s->choice[g] = choice;
    s->partner[g] = -1;
    s->handed[g] += 1;
    s->share[g].before = -1;
    s->share[g].refused = refused;
    s->joint.count = 0;
    s->moves = 0;
}

/* H of a first step: f falls from its first value to 0 at the first guess. */
static void begin_joint(perpi_switching* s, int32_t count, const int32_t* group)
{
    perpi_joint* j = &s->joint;
    memset(j->H, 0, sizeof j->H);
    for (int32_t i = 0; i < count; ++i) {
        const perpi_share* x = &s->share[group[i]];
        j->H[i * count + i] = x->slope < 0.0 ? 1.0 / x->slope : 0.0;
    }
    memcpy(j->group, group, (size_t)count * sizeof *group);
    j->count = count;
}

/* Broyden's update of H for the step ds and the change df. */
static void update_joint(perpi_joint* j, const double* ds, const double* df)
{
    const int32_t n = j->count;
    double Hf[PERPI_JOINT], sH[PERPI_JOINT], scale = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        Hf[i] = sH[i] = 0.0;
        for (int32_t k = 0; k < n; ++k) {
            Hf[i] += j->H[i * n + k] * df[k];
            sH[i] += ds[k] * j->H[k * n + i];
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        scale += ds[i] * Hf[i];
    }
    if (!(fabs(scale) > 0.0)) {
        return;
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t k = 0; k < n; ++k) {
            j->H[i * n + k] += (ds[i] - Hf[i]) * sH[k] / scale;
        }
    }
}

static void step_jointly(perpi_switching* s, int32_t count, const int32_t* group, const double* f)
{
    perpi_joint* j = &s->joint;
    if (j->count == count && memcmp(j->group, group, (size_t)count * sizeof *group) == 0) {
        double ds[PERPI_JOINT], df[PERPI_JOINT];
        for (int32_t i = 0; i < count; ++i) {
            ds[i] = s->share[group[i]].s - j->s[i];
            df[i] = f[i] - j->f[i];
        }
        update_joint(j, ds, df);
    } else {
        begin_joint(s, count, group);
    }
    for (int32_t i = 0; i < count; ++i) {
        perpi_share* x = &s->share[group[i]];
        double step = 0.0;
        for (int32_t k = 0; k < count; ++k) {
            step -= j->H[i * count + k] * f[k];
        }
        const double most = LONGEST * x->first;
        step = step > most ? most : step < -most ? -most : step;
        j->s[i] = x->s;
        j->f[i] = f[i];
        const double to = x->s + step;
        x->s = to > 0.1 * x->s ? to : 0.1 * x->s;
    }
}

/* One partner: regula falsi between impulses at which it is open and penetrates; beyond the interval while
 * the second is not known. */
static void step_alone(perpi_share* x, double f)
{
    if (f > 0.0 && !(x->f_high < 0.0) && x->s > NEAR_END * x->high) {
        x->high *= LONGER;
    }
    perpi_share_move(x, f);
}

/* An impulse that vanishes: the other member acts alone. */
static bool release_small(perpi_switching* s, const perp_contact_problem* P, int32_t count,
                          const int32_t* group, const double* f, const double* p)
{
    bool changed = false;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t g = group[i], choice = s->choice[g], partner = s->partner[g];
        const perpi_share* x = &s->share[g];
        const double p_n = choice >= 0 ? p[P->constraint[choice].row] : 1.0;
        if (f[i] < 0.0 && x->s < SMALL * x->first) {
            dissolve(s, g, choice, false);
            changed = true;
        } else if (f[i] > 0.0 && !(p_n > 0.0)) {
            dissolve(s, g, partner, false);
            changed = true;
        }
    }
    return changed;
}

/* Whether all openings have settled; f: the openings. */
static bool read_openings(perpi_switching* s, const perp_contact_problem* P, int32_t count,
                          const int32_t* group, const double* v, double* f)
{
    bool settled = true;
    for (int32_t i = 0; i < count; ++i) {
        perpi_share* x = &s->share[group[i]];
        f[i] = perpi_partner_off(s, P, group[i], v);
        const double change = fabs(f[i] - x->last);
        settled = settled && (change <= SETTLED * fabs(f[i]) || change <= 0.1 * s->fine);
        x->last = f[i];
    }
    return settled;
}

static void forget_openings(perpi_switching* s, int32_t count, const int32_t* group)
{
    for (int32_t i = 0; i < count; ++i) {
        s->share[group[i]].last = (double)NAN;
    }
}

/* Of all openings zero: a third member may be open. */
static bool revise_found(perpi_switching* s, const perp_contact_problem* P, int32_t count,
                         const int32_t* group, const double* v)
{
    bool changed = false;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t g = group[i];
        const perpi_outlook l = perpi_group_outlook(s, P, g, v);
        if (l.most > s->slack && l.widest != s->choice[g] && l.widest != s->partner[g]) {
            dissolve(s, g, l.widest, false);
            changed = true;
        }
    }
    return changed;
}

bool perpi_shares_revise(perpi_switching* s, const perp_contact_problem* P, bool changed,
                         const double* v, double* p)
{
    int32_t group[PERPI_JOINT];
    double f[PERPI_JOINT];
    const int32_t all = list_shares(s, P, group);
    const int32_t count = all < PERPI_JOINT ? all : PERPI_JOINT;
    if (count == 0) {
        return false;
    }
    if (changed) {
        forget_openings(s, count, group);
        s->moves = 0;
        return false;
    }
    if (!read_openings(s, P, count, group, v, f)) {
        return false;
    }
    double worst = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        worst = !(fabs(f[i]) <= worst) ? fabs(f[i]) : worst;
    }
    if (worst <= s->fine) {
        return revise_found(s, P, count, group, v);
    }
    if (release_small(s, P, count, group, f, p)) {
        return true;
    }
    perpi_share* x = &s->share[group[0]];
    const bool ended = count == 1 && all == 1 && x->high - x->low <= LEAST * x->first;
    if (ended || ++s->moves > MOVES) {
        for (int32_t i = 0; i < count; ++i) {
            dissolve(s, group[i], perpi_group_outlook(s, P, group[i], v).widest, true);
        }
        return true;
    }
    if (all == 1) {
        step_alone(x, f[0]);
        s->joint.count = 0;
    } else {
        step_jointly(s, count, group, f);
    }
    for (int32_t i = 0; i < count; ++i) {
        p[P->constraint[s->partner[group[i]]].row] = s->share[group[i]].s;
    }
    forget_openings(s, count, group);
    return true;
}
