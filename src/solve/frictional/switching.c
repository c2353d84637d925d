/* src/solve/frictional/switching.c - groups of contacts, by choosing the member of each that acts.
 *
 * Source     the laws of a group [W14 (4.10)-(4.13)] say: one member carries the impulse, its gap is
 *            closed and no other is open; or none does and one is open. Once the acting members are
 *            chosen, a problem without groups remains, for which there are robust methods.
 * Method     groups that carried an impulse in the last step begin with that member, all others
 *            with none: they are left out of the problem until the solution violates them. Then the
 *            member is added that can be closed at the least change of kinetic energy, u^2 / 2 W.
 *            Where a member has an impulse while another one is open, the other one replaces it.
 *            Where several choices differ only by rounding, a group that is satisfied without an
 *            impulse gets none.
 * Why it ends  without friction the replacing member already satisfies its law, so that a
 *              replacement can only lower the kinetic energy: no choice occurs twice. With friction
 *              two members can replace each other for ever. In the solution both are then closed
 *              and both have an impulse. One, the partner, is given a fixed impulse s, with
 *              friction up to mu s; the other acts as usual. With s = 0 the partner is open, with
 *              the s that it needs alone it penetrates: the s at which it is just closed is found
 *              by regula falsi. Where a group has one primary, and another member closes [W14
 *              (4.14)], the primary is given the impulse at which that member is just closed.
 *                Where the choices still cycle, groups change one at a time: a group that changes
 *                back while all others stay needs both members, and the impulses of several such
 *                groups, whose partners depend on each other, are found together by Newton's
 *                method.
 * Limits     no contact in two groups: else UNSUPPORTED. Three members of a group are not closed together.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/builtin.h"
#include "solve/frictional/augmented_newton.h"
#include "solve/frictional/fixed_push.h"
#include "solve/monitor.h"

#define CLOSED                                                                                     \
    1e-13                /* relative opening of a partner that counts as zero; more where the solves
                         * are less accurate */
#define CLOSED_GOAL 1e-4 /* of the tolerance, where members are closed together */
#define DIFFERENCE 1e-6  /* of a share, for derivatives */
#define SLACK 1e-10      /* of the largest term of a row: smaller violations are rounding */
#define SLACK_SMALL 1e-2 /* the same, of the tolerance */
#define SLACK_LARGE                                                                                \
    0.1 /* in problems of more than COARSE_ROWS rows, which are not solved further */

/* A large problem is solved to COARSE only until no choice changes; violations below COARSE_SLACK are then
 * left to the accurate solves that follow. */
#define COARSE 1e-4
#define COARSE_SLACK 1e-2

enum {
    COARSE_ROWS = 600, /* from here on choices are made by coarse solves first */
    COARSE_ROUNDS = 6, /* at most REPLACEMENTS */
    REPLACEMENTS = 6,  /* changes of one group; then its last two members stay closed together */
    SHARE_ROUNDS = 80, /* rounds for the impulse of a partner */
    ROUNDS = 60,       /* changes one at a time */
    SEARCHES = 4,      /* impulses of partners to be found meanwhile */
    BUDGET = 1500,     /* iterations of all solves together, up to ROWS rows */
    ROWS = 150,
    JOINT = 8,               /* partners whose impulses are found together */
    NEWTONS = 12,            /* steps of that */
    CUTS = 5,                /* halvings of a step */
    PLANAR = 2,              /* rows of a contact with one tangential row, or none */
    INNER = 500,             /* iterations for one choice of members */
    DIRECT_ROWS = 300,       /* beyond so many the first choices are predicted */
    CLOSED_STEPS = 60,       /* Newton steps where members are closed together */
    SECOND_ROWS = 1200,      /* up to here without prediction, too, if that fails */
    DIRECT_ROUNDS = 8,       /* solves from predicted choices */
    DIRECT_SHARES = 25,      /* as SHARE_ROUNDS, from predicted choices */
    DIRECT_REPLACEMENTS = 3, /* as REPLACEMENTS, from predicted choices */
};

/* The search for the impulse s of a group's partner; f: its opening, > 0 at low, < 0 at high. */
typedef struct share {
    double s, low, high, f_low, f_high;
    double first;   /* high at the start: shares are known to rounding of this */
    int32_t side;   /* which end moved last: 1 low, -1 high, 0 none */
    bool lone;      /* the only primary: f is minus the opening of the most open member */
    int32_t before; /* the choice before the present one, -1: none */
    double impulse; /* that it had */
} share;

typedef struct switching_settings {
    int32_t predicted;
} switching_settings;

static const perp_setting switching_setting[] = {
    {"predicted", PERP_SETTING_INT, offsetof(switching_settings, predicted), 0, 1e9,
     "rows beyond which the first choices are predicted, in space"},
};

static void switching_settings_default(void* settings)
{
    *(switching_settings*)settings = (switching_settings){.predicted = DIRECT_ROWS};
}

typedef struct switching {
    perp_context* context;
    switching_settings set;
    const perp_inner_solve* inner; /* of the running solve */
    int32_t* group_of;             /* per constraint, -1: in none */
    int32_t* choice;               /* per group: constraint, -1: none */
    int32_t* partner; /* per group: the member that is closed beside the choice, -1: none */
    int32_t* second;  /* per group: the member that acts beside the choice, both closed, -1: none */
    int32_t* handed;  /* per group: how often */
    bool* closed_row; /* per constraint of the smaller problem: chosen beside another member */
    void* newton;     /* for these: newton-bodies */
    share* share;     /* per group */
    double fine, slack; /* of the accurate solves; of those at hand, COARSE_SLACK of coarse ones */
    double closed;      /* CLOSED, or the residual of the last solve */
    bool direct;        /* the first choices are predicted, and replaced by the most open member */
    bool one_by_one;    /* groups change one at a time */
    int32_t last;       /* then: the group that changed last */
    int32_t* from;      /* per constraint of the smaller problem */
    size_t* M_at;       /* per block: where its mass block starts */
    double *guess, *work; /* the caller's v and p; of the residual check */
    perp_constraint* constraint;
    double *b, *lower, *upper, *compliance, *b_error, *p;
    perpi_fixed_push push; /* partners in space */
    size_t group_of_capacity, choice_capacity, partner_capacity, handed_capacity, from_capacity;
    size_t constraint_capacity, share_capacity, M_at_capacity, guess_capacity, second_capacity,
        closed_capacity;
    size_t b_capacity, lower_capacity, upper_capacity, compliance_capacity, b_error_capacity,
        p_capacity;
} switching;

static void switching_destroy(void* self)
{
    switching* s = self;
    void* const owned[] = {s->group_of,   s->choice,    s->partner, s->handed, s->from,
                           s->constraint, s->b,         s->lower,   s->upper,  s->compliance,
                           s->p,          s->share,     s->b_error, s->M_at,   s->guess,
                           s->second,     s->closed_row};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(s->context, owned[i]);
    }
    if (s->newton != NULL) {
        perpi_method_newton_bodies.destroy(s->newton);
    }
    perpi_fixed_push_free(&s->push);
    perpi_free(s->context, s);
}

static perp_status switching_create(perp_context* context, const void* settings, void** self)
{
    switching* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = s->push.context = context;
        s->set = *(const switching_settings*)settings;
        *self = s;
    }
    return status;
}

static perp_status switching_reserve(switching* s, const perp_contact_problem* P)
{
    const size_t n = (size_t)P->constraint_count, g = (size_t)P->group_count;
    const size_t rows = (size_t)P->row_count + PERPI_PUSH_ROWS * g;
    perp_context* c = s->context;
    perp_status status = perpi_grow(c, &s->group_of, &s->group_of_capacity, n, sizeof *s->group_of);
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->from, &s->from_capacity, n, sizeof *s->from);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &s->constraint, &s->constraint_capacity, n + g, sizeof *s->constraint);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->choice, &s->choice_capacity, g, sizeof *s->choice);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->partner, &s->partner_capacity, g, sizeof *s->partner);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->second, &s->second_capacity, g, sizeof *s->second);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->closed_row, &s->closed_capacity, n + g, sizeof *s->closed_row);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->share, &s->share_capacity, g, sizeof *s->share);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->handed, &s->handed_capacity, g, sizeof *s->handed);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &s->M_at, &s->M_at_capacity, (size_t)P->block_count + 1, sizeof *s->M_at);
    }
    if (status == PERP_OK) {
        const size_t guess = (size_t)P->dof_count + (size_t)P->row_count;
        perp_contact_problem largest = *P; /* with a fixed push in every group */
        largest.dof_count += PERPI_PUSH_DOFS * P->group_count;
        largest.row_count += PERPI_PUSH_ROWS * P->group_count;
        largest.constraint_count += P->group_count;
        status = perpi_grow(c, &s->guess, &s->guess_capacity,
                            guess + perp_contact_residual_work(&largest), sizeof *s->guess);
        s->work = s->guess + guess;
    }
    struct {
        double** array;
        size_t* capacity;
    } per_row[] = {{&s->b, &s->b_capacity},
                   {&s->lower, &s->lower_capacity},
                   {&s->upper, &s->upper_capacity},
                   {&s->compliance, &s->compliance_capacity},
                   {&s->b_error, &s->b_error_capacity},
                   {&s->p, &s->p_capacity}};
    for (size_t i = 0; status == PERP_OK && i < sizeof per_row / sizeof per_row[0]; ++i) {
        status = perpi_grow(c, per_row[i].array, per_row[i].capacity, rows, sizeof(double));
    }
    return status;
}

static void find_mass_blocks(switching* s, const perp_contact_problem* P)
{
    size_t at = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const size_t n = (size_t)(P->dof[i + 1] - P->dof[i]);
        s->M_at[i] = at;
        at += n * n;
    }
}

static perp_status find_groups(switching* s, const perp_contact_problem* P, bool warm,
                               const double* p)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        s->group_of[i] = -1;
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        double most = 0.0;
        s->choice[g] = s->partner[g] = s->second[g] = -1;
        s->handed[g] = 0;
        s->share[g] = (share){.before = -1};
        for (int32_t k = 0; k < group->count; ++k) {
            const int32_t i = group->member[k];
            if (s->group_of[i] >= 0) {
                return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                                  "switching: takes contacts that are in one group only");
            }
            s->group_of[i] = g;
            if (warm && k < group->primary && p[P->constraint[i].row] > most) {
                most = p[P->constraint[i].row];
                s->choice[g] = i;
            }
        }
    }
    return PERP_OK;
}

/* A partner has the given normal impulse s and friction up to mu s (planar). */
static void give_share(switching* s, perp_constraint* c, double p_n)
{
    c->kind = PERP_CONSTRAINT_BOUNDED;
    s->p[c->row] = s->lower[c->row] = s->upper[c->row] = p_n;
    if (c->rows > 1) {
        s->upper[c->row + 1] = c->mu * p_n;
        s->lower[c->row + 1] = -s->upper[c->row + 1];
    }
}

/* The problem without groups; impulses of those that take part go to s->p. */
static perp_contact_problem make_smaller_problem(switching* s, const perp_contact_problem* P,
                                                 const double* p)
{
    perp_contact_problem R = *P;
    int32_t rows = 0, count = 0;
    bool bounds = P->lower != NULL;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t g = s->group_of[i];
        if (g >= 0 && s->choice[g] != i && s->partner[g] != i && s->second[g] != i) {
            continue;
        }
        for (int32_t k = 0; k < c->rows; ++k) {
            s->b[rows + k] = P->b[c->row + k];
            s->lower[rows + k] = P->lower != NULL ? P->lower[c->row + k] : 0.0;
            s->upper[rows + k] = P->upper != NULL ? P->upper[c->row + k] : 0.0;
            s->compliance[rows + k] = P->compliance != NULL ? P->compliance[c->row + k] : 0.0;
            s->b_error[rows + k] = P->b_error != NULL ? P->b_error[c->row + k] : 0.0;
            s->p[rows + k] = p[c->row + k];
        }
        s->from[count] = i;
        s->closed_row[count] = g >= 0 && s->second[g] >= 0;
        s->constraint[count] = *c;
        s->constraint[count].row = rows;
        if (g >= 0 && s->partner[g] == i && c->rows <= PLANAR) {
            give_share(s, &s->constraint[count], s->share[g].s);
            bounds = true;
        }
        rows += c->rows;
        count += 1;
    }
    R.constraint_count = count;
    R.row_count = rows;
    R.constraint = s->constraint;
    R.b = s->b;
    R.lower = bounds ? s->lower : NULL;
    R.upper = bounds ? s->upper : NULL;
    R.compliance = P->compliance != NULL ? s->compliance : NULL;
    R.b_error = P->b_error != NULL ? s->b_error : NULL;
    R.group_count = 0;
    R.group = NULL;
    return R;
}

static void give_back(const switching* s, const perp_contact_problem* P,
                      const perp_contact_problem* R, int32_t count, double* p)
{
    memset(p, 0, (size_t)P->row_count * sizeof *p);
    for (int32_t i = 0; i < count; ++i) {
        const perp_constraint* c = &R->constraint[i];
        memcpy(p + P->constraint[s->from[i]].row, s->p + c->row, (size_t)c->rows * sizeof *p);
    }
}

/* Normal velocity of a contact, its largest term, and about the diagonal of W. */
typedef struct opening {
    double u, size, w;
} opening;

static opening open_by(const switching* s, const perp_contact_problem* P, int32_t i,
                       const double* v)
{
    const perp_constraint* c = &P->constraint[i];
    const double* J = P->J + c->jac;
    opening o = {P->b[c->row], fabs(P->b[c->row]), 0.0};
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

/* Partners in space: see fixed_push.h. *v: the velocities of the larger problem, if there are any. */
static perp_status push_in_space(switching* s, const perp_contact_problem* P,
                                 perp_contact_problem* R, double** v)
{
    int32_t pushes = 0;
    const int32_t count = R->constraint_count;
    for (int32_t g = 0; g < P->group_count; ++g) {
        pushes += s->partner[g] >= 0 && P->constraint[s->partner[g]].rows > PLANAR;
    }
    if (pushes == 0) {
        return PERP_OK;
    }
    const double* v_old = *v;
    const perpi_push_arrays arrays = {s->constraint, s->b, s->compliance, s->p};
    const perp_status status = perpi_fixed_push_begin(&s->push, R, pushes, v_old);
    for (int32_t j = 0; status == PERP_OK && j < count; ++j) {
        const int32_t i = s->from[j], g = s->group_of[i];
        if (g >= 0 && s->partner[g] == i && s->constraint[j].rows > PLANAR &&
            !perpi_fixed_push_add(&s->push, R, j, s->share[g].s, open_by(s, P, i, v_old).w,
                                  &arrays)) {
            return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                              "switching: a mass matrix is not positive");
        }
    }
    for (int32_t j = count; j < R->constraint_count; ++j) {
        s->closed_row[j] = false; /* of the fixed pushes */
    }
    *v = s->push.v;
    return status;
}

/* The state of the members of a group at a solution. */
typedef struct outlook {
    int32_t widest, cheapest; /* primaries: most open; closed at the least energy */
    double most;              /* opening of the most open member, relative */
    bool open;                /* a member other than the choice is the most open */
} outlook;

static outlook check_point(const switching* s, const perp_contact_problem* P, int32_t g,
                           const double* v)
{
    const perp_group* group = &P->group[g];
    outlook l = {-1, -1, -INFINITY, false};
    double widest = -INFINITY, cost = INFINITY;
    for (int32_t k = 0; k < group->count; ++k) {
        const int32_t i = group->member[k];
        const opening o = open_by(s, P, i, v);
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
static bool pushes(const switching* s, const perp_contact_problem* P, int32_t g, const double* v,
                   const double* p)
{
    if (s->choice[g] < 0) {
        return false;
    }
    const double p_n = p[P->constraint[s->choice[g]].row];
    if (!s->direct) {
        return p_n > 0.0;
    }
    const opening o = open_by(s, P, s->choice[g], v);
    return o.w * p_n > s->slack * o.size;
}

/* The relative opening that the share of a group's partner must make zero. */
static double partner_off(const switching* s, const perp_contact_problem* P, int32_t g,
                          const double* v)
{
    if (s->share[g].lone) {
        return -check_point(s, P, g, v).most;
    }
    const opening o = open_by(s, P, s->partner[g], v);
    return o.size > 0.0 ? o.u / o.size : 0.0;
}

/* Whether the partners are just closed; if not, their shares are changed. */
static bool partners_are_closed(switching* s, const perp_contact_problem* P, const double* v)
{
    bool done = true;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] < 0 || (s->one_by_one && s->last != g)) {
            continue;
        }
        share* x = &s->share[g];
        const double f = partner_off(s, P, g, v);
        if (fabs(f) <= s->closed || x->high - x->low <= 1e-15 * x->first) {
            continue;
        }
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
        double next = x->f_high < 0.0
                          ? x->low + (x->high - x->low) * x->f_low / (x->f_low - x->f_high)
                          : 0.5 * (x->low + x->high);
        if (!(next > x->low && next < x->high)) {
            next = 0.5 * (x->low + x->high);
        }
        x->s = next;
        done = false;
    }
    return done;
}

/* Closes the choice and `other` together: `other` becomes the partner. high: an impulse at which it
 * penetrates, f_low: its opening without an impulse. */
static void begin_share(switching* s, int32_t g, int32_t other, double high, double f_low)
{
    share* x = &s->share[g];
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
static void begin_lone_share(switching* s, int32_t g, double high, double f_high)
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
static void begin_pair(switching* s, const perp_contact_problem* P, int32_t g, int32_t other,
                       double f_low, double* p)
{
    s->second[g] = other;
    s->share[g].f_low = f_low;
    p[P->constraint[s->choice[g]].row] *= 0.5;
    p[P->constraint[other].row] = 0.5 * s->share[g].impulse;
}

/* Where Newton's method does not close them: the impulse of one is sought by solves. */
static bool seek_shares(switching* s, const perp_contact_problem* P)
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
static bool revise_pair(switching* s, const perp_contact_problem* P, int32_t g, const outlook* l,
                        const double* p)
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

/* Whether the answer obeys every group; if not, other choices are made. */
static bool choose_again(switching* s, const perp_contact_problem* P, const double* v, double* p)
{
    bool changed = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            continue;
        }
        const outlook l = check_point(s, P, g, v);
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
            share* x = &s->share[g];
            const int32_t most = s->direct ? DIRECT_REPLACEMENTS : REPLACEMENTS;
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

/* The same with one group at a time. A group that changes back to its previous member while all
 * others stay needs both. A pair that is no longer closed, because another group has changed, is
 * dissolved. */
static bool choose_one(switching* s, const perp_contact_problem* P, const double* v,
                       const double* p)
{
    for (int32_t k = 0; k < P->group_count; ++k) {
        const int32_t g = (s->last + k) % P->group_count;
        const outlook l = check_point(s, P, g, v);
        share* x = &s->share[g];
        const double p_n = s->choice[g] >= 0 ? p[P->constraint[s->choice[g]].row] : 0.0;
        if (s->partner[g] >= 0) {
            if (!(l.most > s->slack) && fabs(partner_off(s, P, g, v)) <= s->slack) {
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

/* Choices of several groups that change at once can cycle: from here on one group at a time. */
static void start_one_by_one(switching* s, const perp_contact_problem* P)
{
    s->one_by_one = true;
    s->last = 0;
    for (int32_t g = 0; g < P->group_count; ++g) {
        s->choice[g] = s->partner[g] >= 0 ? s->partner[g] : s->choice[g];
        s->partner[g] = -1;
        s->share[g] = (share){.before = -1};
    }
}

/* Whether there is no warm start. */
static bool is_new(const perp_contact_problem* P, bool warm, const double* p)
{
    for (int32_t i = 0; warm && i < P->row_count; ++i) {
        if (p[i] != 0.0) {
            return false;
        }
    }
    return true;
}

/* The first choices. s->direct: a group without one takes the member that is the most open at the
 * velocities of the guess, or of the free motion if there is none; it has no impulse unless it closes. Else
 * only groups that the free motion violates. v is overwritten if it is no guess. */
static void choose_first(switching* s, const perp_contact_problem* P, bool warm, double* v,
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
        (void)choose_again(s, P, v, p);
    }
    for (int32_t g = 0; s->direct && g < P->group_count; ++g) {
        if (s->choice[g] < 0) {
            const outlook l = check_point(s, P, g, v);
            s->choice[g] = l.most < 0.0 ? l.cheapest : l.widest;
        }
    }
}

/* Whether two members of a group are to be closed together. */
static bool pairs_act(const switching* s, const perp_contact_problem* P)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->second[g] >= 0) {
            return true;
        }
    }
    return false;
}

/* The same for the members of a group that are to be closed together, from a point near the answer. */
static perp_status solve_closed(switching* s, const perp_contact_problem* R,
                                const perp_solve_options* options, double* v, perp_report* made)
{
    perp_status status = PERP_OK;
    if (s->newton == NULL) {
        double settings[8]; /* of newton-bodies: fewer bytes */
        perpi_method_newton_bodies.settings_default(settings);
        status = perpi_method_newton_bodies.create(s->context, settings, &s->newton);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_solve_options near = *options;
    near.enough = options->tolerance;
    near.tolerance = CLOSED_GOAL * options->tolerance;
    near.max_iter = CLOSED_STEPS;
    status = perpi_newton_closed(s->newton, R, s->closed_row, &near, v, s->p, made);
    if (status == PERP_OK) {
        made->residual = perp_contact_check_residual(R, v, s->p, s->work).worst;
        made->outcome = made->residual <= options->tolerance ? PERP_OUTCOME_SOLVED : made->outcome;
    }
    return status;
}

/* Solves the problem that the choices leave; v and p are those of the whole. */
static perp_status solve_chosen(switching* s, const perp_contact_problem* problem,
                                const perp_solve_options* options, bool warm, double* v, double* p,
                                perp_report* report, perp_outcome* outcome)
{
    perp_contact_problem R = make_smaller_problem(s, problem, p);
    const int32_t count = R.constraint_count;
    double* v_R = v;
    perp_report made = {0};
    perp_status status = push_in_space(s, problem, &R, &v_R);
    if (status == PERP_OK && pairs_act(s, problem)) {
        status = solve_closed(s, &R, options, v_R, &made);
    } else if (status == PERP_OK) {
        status = s->inner->solve(s->inner->user, &R, options, warm, v_R, s->p, &made);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (v_R != v) {
        memcpy(v, v_R, (size_t)problem->dof_count * sizeof *v);
    }
    give_back(s, problem, &R, count, p);
    report->iterations += made.iterations + 1;
    if (s->direct && s->slack < COARSE_SLACK) { /* openings are as uncertain as the solve */
        s->slack = made.residual > s->fine ? made.residual : s->fine;
    }
    s->closed = made.residual < s->slack ? made.residual : s->slack;
    s->closed = s->direct && s->closed > CLOSED ? s->closed : CLOSED;
    *outcome = made.outcome;
    return status;
}

/* The first choices, by solves to COARSE; *warm: v and p are a guess. */
static perp_status choose_coarsely(switching* s, const perp_contact_problem* problem,
                                   const perp_solve_options* options, bool* warm, double* v,
                                   double* p, perp_report* report)
{
    perp_solve_options coarse = *options;
    coarse.tolerance = COARSE;
    coarse.enough = 0.0;
    s->slack = COARSE_SLACK;
    perp_status status = PERP_OK;
    for (int32_t i = 0; i < COARSE_ROUNDS; ++i) {
        perp_outcome made = PERP_OUTCOME_UNSET;
        status = solve_chosen(s, problem, &coarse, *warm, v, p, report, &made);
        *warm = true;
        if (status != PERP_OK || made != PERP_OUTCOME_SOLVED || !choose_again(s, problem, v, p)) {
            break;
        }
    }
    s->slack = s->fine;
    memset(s->handed, 0, (size_t)problem->group_count * sizeof *s->handed);
    return status;
}

/* ---- several partners that depend on each other ----------------------------------------------------*/

/* The partners, at most JOINT; 0: there are fewer than two, or more, or all are settled. */
static int32_t list_partners(const switching* s, const perp_contact_problem* P, const double* v,
                             int32_t* group)
{
    int32_t count = 0;
    bool off = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            if (count == JOINT) {
                return 0;
            }
            group[count++] = g;
            off = off || !(fabs(partner_off(s, P, g, v)) <= s->slack);
        }
    }
    return off && count >= 2 ? count : 0;
}

/* Data shared by the solves of one joint search. */
typedef struct joint {
    switching* s;
    const perp_contact_problem* P;
    const perp_solve_options* options;
    perp_report* report;
    double *v, *p;
    int32_t budget; /* iterations */
    int32_t count;
    int32_t group[JOINT];
} joint;

/* f, count values, at the present shares; *worst: the largest, infinite if there is no answer. */
static perp_status joint_off(joint* j, double* f, double* worst)
{
    perp_outcome made = PERP_OUTCOME_UNSET;
    *worst = INFINITY;
    const perp_status status =
        solve_chosen(j->s, j->P, j->options, true, j->v, j->p, j->report, &made);
    if (status != PERP_OK || made != PERP_OUTCOME_SOLVED) {
        return status;
    }
    *worst = 0.0;
    for (int32_t k = 0; k < j->count; ++k) {
        f[k] = partner_off(j->s, j->P, j->group[k], j->v);
        *worst = !(fabs(f[k]) <= *worst) ? fabs(f[k]) : *worst;
    }
    return status;
}

/* Newton's method for the shares of all partners at once, derivatives by differences. The inner solves are
 * right to rounding, and the openings nearly linear in the shares, so that few steps do. */
static perp_status solve_jointly(joint* j)
{
    double f[JOINT], next[JOINT], D[JOINT * JOINT], shares[JOINT], worst;
    int32_t pivot[JOINT];
    const int32_t n = j->count;
    share* x = j->s->share;
    perp_status status = joint_off(j, f, &worst);
    for (int32_t i = 0; status == PERP_OK && i < NEWTONS && worst > j->s->closed &&
                        worst < INFINITY && j->report->iterations < j->budget;
         ++i) {
        for (int32_t k = 0; k < n; ++k) {
            shares[k] = x[j->group[k]].s;
        }
        double made = 0.0;
        for (int32_t c = 0; status == PERP_OK && c < n && made < INFINITY; ++c) {
            const double delta = DIFFERENCE * shares[c];
            x[j->group[c]].s = shares[c] + delta;
            status = joint_off(j, next, &made);
            x[j->group[c]].s = shares[c];
            for (int32_t r = 0; r < n; ++r) {
                D[r * n + c] = (next[r] - f[r]) / delta;
            }
        }
        perpi_lu_info info;
        if (status != PERP_OK || !(made < INFINITY) || !perpi_lu_factor(n, D, pivot, &info)) {
            break;
        }
        perpi_lu_solve(n, D, pivot, f); /* f: the step */
        double part = 1.0, before = worst;
        for (int32_t cut = 0; status == PERP_OK && cut < CUTS; ++cut, part *= 0.5) {
            for (int32_t k = 0; k < n; ++k) {
                const double to = shares[k] - part * f[k];
                x[j->group[k]].s = to > 0.1 * shares[k] ? to : 0.1 * shares[k];
            }
            status = joint_off(j, next, &worst);
            if (worst < before) {
                break;
            }
        }
        memcpy(f, next, sizeof f);
        if (!(worst < before)) {
            break;
        }
    }
    return status;
}

/* Whether every group obeys its law. */
static bool groups_hold(const switching* s, const perp_contact_problem* P, const double* v,
                        const double* p)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        const outlook l = check_point(s, P, g, v);
        const bool acts = pushes(s, P, g, v, p) || s->partner[g] >= 0 || s->second[g] >= 0;
        if (l.most < -s->slack || (acts && l.most > s->slack) ||
            (s->partner[g] >= 0 && !(fabs(partner_off(s, P, g, v)) <= s->slack))) {
            return false;
        }
    }
    return true;
}

/* Keeps the caller's guess: zero if there is none, for v and p may then hold anything. */
static void keep_guess(switching* s, const perp_contact_problem* P, bool warm, const double* v,
                       const double* p)
{
    if (!warm) {
        memset(s->guess, 0, (size_t)(P->dof_count + P->row_count) * sizeof *s->guess);
        return;
    }
    memcpy(s->guess, v, (size_t)P->dof_count * sizeof *v);
    memcpy(s->guess + P->dof_count, p, (size_t)P->row_count * sizeof *p);
}

static void return_to_guess(const switching* s, const perp_contact_problem* P, double* v, double* p)
{
    memcpy(v, s->guess, (size_t)P->dof_count * sizeof *v);
    memcpy(p, s->guess + P->dof_count, (size_t)P->row_count * sizeof *p);
}

/* Choices until the groups obey their laws. s->direct: from predicted choices. */
static perp_status search_choices(switching* s, const perp_contact_problem* problem,
                                  const perp_solve_options* options, bool warm, double* v,
                                  double* p, perp_report* report)
{
    perp_status status = find_groups(s, problem, warm, p);
    if (status == PERP_OK && (s->direct || is_new(problem, warm, p))) {
        choose_first(s, problem, s->direct && warm, v, p);
    }
    int32_t limit = s->direct ? DIRECT_ROUNDS : 20 + (2 + REPLACEMENTS) * problem->group_count;
    int32_t settling = s->direct ? DIRECT_SHARES : SHARE_ROUNDS, budget = INT32_MAX;
    report->outcome = PERP_OUTCOME_MAX_ITER;
    s->one_by_one = false;
    const perpi_clock clock = {0}; /* the inner solves check the time limit */
    perp_solve_options inner = *options;
    inner.max_iter = inner.max_iter > 0 && inner.max_iter < INNER ? inner.max_iter : INNER;
    if (status == PERP_OK && problem->row_count > COARSE_ROWS && inner.tolerance < COARSE) {
        status = choose_coarsely(s, problem, &inner, &warm, v, p, report);
    }
    for (int32_t i = 0; status == PERP_OK && i < limit && report->iterations < budget; ++i) {
        const perp_outcome interrupt =
            i > 0 ? perpi_monitor_interrupt(options, &clock) : PERP_OUTCOME_UNSET;
        if (interrupt != PERP_OUTCOME_UNSET) {
            report->outcome = interrupt;
            break;
        }
        perp_outcome made = PERP_OUTCOME_UNSET;
        status = solve_chosen(s, problem, &inner, warm || i > 0, v, p, report, &made);
        if (status != PERP_OK) {
            break;
        }
        if (made != PERP_OUTCOME_SOLVED && s->direct && seek_shares(s, problem)) {
            return_to_guess(s, problem, v, p);
            continue;
        }
        if (made != PERP_OUTCOME_SOLVED) {
            report->outcome = made;
            break;
        }
        if (s->direct &&
            perp_contact_check_residual(problem, v, p, s->work).worst <= options->tolerance) {
            report->outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        const bool searching = !partners_are_closed(s, problem, v);
        if (searching && settling-- > 0) {
            limit += 1;
            continue;
        }
        if (s->one_by_one) {
            joint j = {s, problem, &inner, report, v, p, budget, 0, {0}};
            j.count = list_partners(s, problem, v, j.group);
            status = j.count > 0 ? solve_jointly(&j) : PERP_OK;
            if (status != PERP_OK) {
                break;
            }
        }
        const bool changed =
            (searching && !s->one_by_one) ||
            (s->one_by_one ? choose_one(s, problem, v, p) : choose_again(s, problem, v, p));
        const bool wrong = !changed && !s->one_by_one && !groups_hold(s, problem, v, p);
        if (!changed && !wrong) {
            report->outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        if (s->direct && (searching || wrong)) {
            break;
        }
        if (!s->direct && !s->one_by_one && (searching || wrong || i + 1 == limit)) {
            start_one_by_one(s, problem);
            limit = i + 1 + ROUNDS;
            settling = SEARCHES * SHARE_ROUNDS;
            const double size = problem->row_count > ROWS ? ROWS / (double)problem->row_count : 1.0;
            budget = report->iterations + (int32_t)(BUDGET * size * size);
        }
    }
    return status;
}

/* Violations that count: those beyond what the solves leave. */
static void set_slack(switching* s, const perp_contact_problem* P,
                      const perp_solve_options* options)
{
    const double part = s->direct && P->row_count > COARSE_ROWS ? SLACK_LARGE : SLACK_SMALL;
    s->fine = part * options->tolerance > SLACK ? part * options->tolerance : SLACK;
    s->slack = s->fine;
}

/* Polygons that spin and sink into each other have more solutions than heaps in space, and predicted choices
 * mostly lead to none of them. */
static bool is_planar(const perp_contact_problem* P)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (P->constraint[P->group[g].member[0]].rows > PLANAR) {
            return false;
        }
    }
    return true;
}

static perp_status switching_solve(void* self, const perp_contact_problem* problem,
                                   const perp_inner_solve* inner_solve,
                                   const perp_solve_options* options, bool warm, double* v,
                                   double* p, perp_report* report)
{
    switching* s = self;
    s->inner = inner_solve;
    perp_status status = switching_reserve(s, problem);
    if (status != PERP_OK) {
        return status;
    }
    find_mass_blocks(s, problem);
    keep_guess(s, problem, warm, v, p);
    s->direct = problem->row_count > s->set.predicted && !is_planar(problem);
    set_slack(s, problem, options);
    status = search_choices(s, problem, options, warm, v, p, report);
    if (status == PERP_OK && s->direct && problem->row_count <= SECOND_ROWS &&
        report->outcome != PERP_OUTCOME_SOLVED && report->outcome != PERP_OUTCOME_TIME_LIMIT &&
        report->outcome != PERP_OUTCOME_CANCELLED) {
        s->direct = false;
        set_slack(s, problem, options);
        return_to_guess(s, problem, v, p);
        status = search_choices(s, problem, options, warm, v, p, report);
    }
    return status;
}

const perp_method perpi_method_switching = {
    .name = "switching",
    .summary = "groups of contacts: chooses the member that acts, solves the rest with auto, "
               "revises the choice",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID |
             PERP_TAKES_GROUPS,
    .settings_size = sizeof(switching_settings),
    .settings = switching_setting,
    .settings_count = sizeof switching_setting / sizeof switching_setting[0],
    .settings_default = switching_settings_default,
    .create = switching_create,
    .destroy = switching_destroy,
    .grouped = switching_solve,
};
