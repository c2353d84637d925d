/* src/problem/residual.c - the residual check: how far an answer is from each law, recomputed from the
 * problem alone, independently of the method that found it. residual_vector.c: of LCP, MLCP, NCP.
 *
 * Every number is a violation divided by the size of the terms that entered it, so that units drop
 * out and rounding alone gives about 1e-16.
 *
 * Contact problem. Rows r, u = J v + b + c p, c the compliance of the row.
 *     W_rr = J_r M^-1 J_r' + c_r  (1 if that is 0): turns an impulse into the velocity it makes
 *     a_r  = max(|b_r|, sum_j |J_rj v_j|, W_rr |p_r|, sum_i |Y_ri y_i|)   size of row r
 *            with M = L L', Y_r = L^-1 J_r', y = L^-1 k: the terms of J_r M^-1 k one by one
 *     g_r  puts a row's velocity into one unit, so that sizes of metres and of radians can be compared:
 *            contacts                 1; tangential ELLIPSOID rows e_i (torsion is an angular velocity)
 *            equality, bounded        sqrt(w / W_rr), w the mean W_rr of the contacts' normal rows
 *                                     (1 if there are none): g_r u_r is then the speed that the same
 *                                     energy gives at a contact
 *     U    = max_r g_r a_r
 *     S_c  = max(max of g_r a_r over the rows of constraint c, 1e-6 U), 1 if that is 0
 *   normal    contact in no group      |min(W p_n, u_n)| / S_c
 *             group g, m = max of u_n over its members, S_g = max of S_c over them:
 *               bracket of primary i   m if it is the only primary, else m + max(0, -u_i)
 *               m < 0                  -m / S_g, assigned to the first member
 *             primary i                |min(W p_n, sum of its brackets)| / max of its S_g
 *             member, primary nowhere  |W p_n| / S_c
 *   friction  W_t |p_t - Proj_F(p_t - u_t / W_t)| / S_c, W_t the largest tangential W_rr,
 *             F = F(mu max(p_n, 0)); ELLIPSOID in scaled rows p' = p / e, u' = e u, W' = e^2 W
 *   joints    equality                 g_r |u_r| / S_c
 *             bounded                  g_r W |p - clip(p - u / W, lower, upper)| / S_c
 *   dynamics  |M v - k - J' p|_i / s_i with t_i = sum_j |M_ij v_j| + |k_i| + sum_r |J_ri p_r| and
 *             s_i = max(t_i, 1e-6 sqrt(M_ii) max_j t_j / sqrt(M_jj)), 1 if that is 0
 *
 *   Impulses that are huge and cancel must not hide an error: laws that contradict each other (a motor
 *   without a bound against a wall) would look solved at impulses of 1e12, and a sum of 1e20 that cancels
 *   leaves a rounding error larger than the momentum of the bodies. So both scales are limited by the
 *   motion, in which no unknown impulse counts:
 *     m_r  = max(|b_r|, sum_j |J_rj v_j|, sum_i |Y_ri y_i|, W_rr |p_r| if p_r is given)   size of the
 *            motion of row r; an impulse is given if its row is bounded and it is at a finite bound
 *     m_c  = max(max of g_r m_r over the rows of c, 1e-3 max_r g_r m_r)
 *     S_c  = min(S_c above, 1e4 m_c) where that is not 0
 *     n_i  = sum_j |M_ij v_j| + |k_i| + sum of |J_ri p_r| over given impulses
 *     N_i  = max(n_i, 1e-3 sqrt(M_ii) max_j n_j / sqrt(M_jj))
 *   dynamics  also (|M v - k - J' p|_i - 16 eps t_i) / N_i: the rounding of the terms is not an
 *             error of the answer (a light body under a heavy one, a spring of 1e15 N/m)
 *   joints of which no row's g_r a_r reaches S_c (1e-6 U: at rest beside bodies that move or are pressed): u_r less
 *             what rounding of the t_i makes of it, 16 eps sum_i |Y_ri| (|L^-1| t)_i
 *   k_error and b_error of the problem are subtracted from |M v - k - J' p|_i and from |u_n|, of joints |u_r|, before:
 *   poses at the end of a step are rounded, and so are the forces of stiff springs and gaps / h.
 *   Impulses are limited by the motion of their island. With the island of a row as in island.h,
 *     sqrt(W_rr) |p_r| <= 1e8 e,   e = sum_i n_i / sqrt(M_ii) + sum_r m_r' / sqrt(W_rr) over the island,
 *     m_r' = max(|b_r|, W_rr |p_r| if given); of a compliant row, W_rr |b_r| / c_r for |b_r|:
 *            b_r / c_r is the impulse of the spring at the start of the step
 *   (all terms are roots of energies: sum(|M v| + |k|) + sum |b_r| / W_rr without a unit). A row beyond
 *   that has the residual 1e-8 sqrt(W_rr) |p_r| / e > 1, and `runaway` says how many times e it is.
 *
 * Friction problem. The same laws with u = W r + q, W_rr from W's own diagonal (its absolute value,
 *             1 if that is 0) and a_r = max(|q_r|, sum_j |W_rj r_j|). It has no velocities. The
 *             motion is measured by q, which is 0 in the rows of a body that only other bodies
 *             press on, so that S_c = min(S_c, 1e6 max_r g_r |q_r|), and all rows are one island:
 *             sqrt(W_rr) |r_r| <= 1e8 sum_r m_r' / sqrt(W_rr) with q for b
 *
 * A scale below 1e-280 counts as 1: products of smaller numbers underflow gradually, and a body
 * with a velocity of 1e-300 (which a stiff damper reaches in a few dozen steps) is at rest.
 *
 * A value that is not finite, in the answer or on the way, gives +INFINITY everywhere. fmax and fmin
 * are not used: they swallow a NaN.
 */
#include <float.h>
#include <math.h>

#include "linalg/pair.h"
#include "linalg/wide.h"
#include "problem/cone.h"
#include "problem/operators.h"
#include "problem/residual.h"

#define FLOOR_RATIO 1e-6  /* a row much smaller than the largest is compared with that instead */
#define MOTION_LIMIT 1e4  /* a scale exceeds that of the motion by no more than this */
#define MOTION_FLOOR 1e-3 /* a row that hardly moves is compared with the largest motion */
#define FRICTION_LIMIT                                                                             \
    1e6             /* friction problem: a scale exceeds the largest q by no more than this */
#define RUNAWAY 1e8 /* impulses exceed the motion of their island by no more than this */
#define ROUNDING (16.0 * DBL_EPSILON) /* of a sum, beside the sizes of its terms */
#define AT_BOUND 1e-9                 /* of a bound: an impulse this near is at it */
#define VANISHED 1e-280               /* no scale: see above */

/* The part of |value| that exceeds its error; error may be NULL. */
static double excess_over_error(double value, const double* error, int32_t i)
{
    const double size = fabs(value);
    if (error == NULL) {
        return size;
    }
    return size <= error[i] ? 0.0 : size - error[i];
}

/* ---- contact problem ---------------------------------------------------------------------------------*/

/* The scratch, cut into its arrays. */
typedef struct scratch {
    double* room;    /* 6 dof_count, for L */
    const double* L; /* 6 dof_count: Cholesky factor of block i at 6 dof[i] */
    double* y;       /* dof_count: L^-1 k */
    double* force;   /* dof_count: M v - k - J' p */
    double* size;    /* dof_count: t_i */
    double* u;       /* row_count */
    double* W;       /* row_count */
    double* a;       /* row_count */
    double* m;       /* row_count */
    double* n;       /* dof_count: n_i */
    double* apart;   /* dof_count: at the first velocity of a block of six, 1 if it is apart */
    double* S;       /* constraint_count: S_c */
    double* bracket; /* constraint_count: sum of a primary's brackets */
    double* S_n;     /* constraint_count: scale of the normal law; 0: no group, -1: not primary */
    double w;        /* a contact's W_rr, 1 without contacts */
    const double* b_error;  /* the problem's; NULL: none */
    bool large;             /* an impulse exceeds the motion of its own row 1e8 times */
    perpi_row_terms* terms; /* NULL: computed anew */
} scratch;

static const perp_contact_residual not_finite = {INFINITY, INFINITY, INFINITY, INFINITY,
                                                 INFINITY, -1,       0.0};

size_t perp_contact_residual_work(const perp_contact_problem* problem)
{
    return 11 * (size_t)problem->dof_count + 4 * (size_t)problem->row_count +
           3 * (size_t)problem->constraint_count;
}

static scratch cut_scratch(const perp_contact_problem* P, double* work)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    const size_t nc = (size_t)P->constraint_count;
    scratch s;
    s.room = work;
    s.L = NULL;
    s.y = work + 6 * nv;
    s.force = s.y + nv;
    s.size = s.force + nv;
    s.n = s.size + nv;
    s.apart = s.n + nv;
    s.u = s.apart + nv;
    s.W = s.u + nr;
    s.a = s.W + nr;
    s.m = s.a + nr;
    s.S = s.m + nr;
    s.bracket = s.S + nc;
    s.S_n = s.bracket + nc;
    s.w = 1.0;
    s.b_error = P->b_error;
    s.large = false;
    s.terms = NULL;
    return s;
}

/* M v - k and the sizes of its terms: one entry of the dynamics. M_r: its row of M. */
static inline void start_entry(const double* M_r, const double* v, int32_t nv, double k,
                               double* force, double* size)
{
    double sum = -k, abs_sum = fabs(k);
    for (int32_t c = 0; c < nv; ++c) {
        const double t = M_r[c] * v[c];
        sum += t;
        abs_sum += fabs(t);
    }
    *force = sum;
    *size = abs_sum;
}

/* The same for the six entries of a body whose translation is not coupled with its rotation, nor its
 * directions with each other: the entries of M that are left out are 0. */
static inline void start_apart(const double* M, const double* v, const double* k, double* force,
                               double* size)
{
    for (int r = 0; r < 3; ++r) {
        const double t = M[7 * r] * v[r];
        force[r] = t - k[r];
        size[r] = fabs(k[r]) + fabs(t);
    }
    for (int r = 3; r < 6; ++r) {
        const double a = M[6 * r + 3] * v[3], b = M[6 * r + 4] * v[4], c = M[6 * r + 5] * v[5];
        force[r] = a - k[r] + b + c;
        size[r] = fabs(k[r]) + fabs(a) + fabs(b) + fabs(c);
    }
}

static inline void copy_six(const double* from, double* to)
{
    for (int i = 0; i < 6; i += 2) {
        perpi_pair2_put(perpi_pair2_at(from + i), to + i);
    }
}

/* Whether the sums that do not depend on the answer are kept in s->terms. */
static inline bool are_terms_known(const scratch* s)
{
    return s->terms != NULL && s->terms->known;
}

/* The factors of the mass blocks; starts the dynamics with M v - k. */
static bool visit_blocks(const perp_contact_problem* P, const double* v, scratch* s)
{
    if (!perpi_mass_factor_of(P, s->room, &s->L)) {
        return false;
    }
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        const double* L = s->L + 6 * (size_t)d;
        const bool apart = nv == 6 && perpi_is_apart(L);
        s->apart[d] = apart ? 1.0 : 0.0;
        if (apart) {
            start_apart(M, v + d, P->k + d, s->force + d, s->size + d);
            copy_six(s->size + d, s->n + d);
            copy_six(P->k + d, s->y + d);
            perpi_chol_forward_apart(L, s->y + d);
            M += 36;
            continue;
        }
        for (int32_t r = 0; r < nv; ++r, M += nv) {
            start_entry(M, v + d, nv, P->k[d + r], &s->force[d + r], &s->size[d + r]);
            s->n[d + r] = s->size[d + r];
            s->y[d + r] = P->k[d + r];
        }
        if (!are_terms_known(s)) { /* y enters nothing else */
            perpi_chol_forward(nv, L, s->y + d);
        }
    }
    return true;
}

/* g_r of row r of constraint c: what puts its velocity into the unit of the others. */
static double unit_of(const perp_constraint* c, int32_t r, const scratch* s)
{
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        return c->cone == PERP_CONE_ELLIPSOID && r > 0 ? c->e[r - 1] : 1.0;
    }
    return sqrt(s->w / s->W[c->row + r]);
}

static bool is_at(double p, double bound)
{
    return fabs(p - bound) < AT_BOUND * fabs(bound); /* false for infinite bounds */
}

/* Whether the impulse of a row is given: bounded, and at a bound. */
static bool is_given(const perp_constraint* c, int32_t row, const double* lower,
                     const double* upper, const double* p)
{
    return c->kind == PERP_CONSTRAINT_BOUNDED &&
           (is_at(p[row], lower[row]) || is_at(p[row], upper[row]));
}

/* Sums over the entries of one row. */
typedef struct row_sums {
    double u, moving, W, pushed;
} row_sums;

/* One side of a constraint: rows of J, and what belongs to its block. */
typedef struct side_view {
    int32_t nv; /* 0: the world */
    bool apart; /* of six velocities: translation and rotation are not coupled */
    const double *J, *v, *L, *y;
    double *force, *size, *n;
} side_view;

static side_view view_side(const perp_contact_problem* P, const perp_constraint* c, int side,
                           const double* v, const scratch* s)
{
    const perpi_side of = perpi_side_of(P, c, side);
    return (side_view){.nv = of.nv,
                       .apart = of.nv == 6 && s->apart[of.d] != 0.0,
                       .J = of.J,
                       .v = v + of.d,
                       .L = s->L + 6 * (size_t)of.d,
                       .y = s->y + of.d,
                       .force = s->force + of.d,
                       .size = s->size + of.d,
                       .n = s->n + of.d};
}

/* Adds one side of row r, of nv velocities; inertia: also W and pushed. */
PERPI_INLINE void visit_side(int32_t nv, const side_view* side, int32_t r, double p_r, bool given,
                             bool inertia, row_sums* sum)
{
    const double *J_r = side->J + r * nv, *v = side->v, *y = side->y;
    double Y[PERPI_BLOCK_MAX];
    row_sums t = *sum;
    for (int32_t i = 0; i < nv; ++i) {
        const double w = J_r[i] * v[i], f = J_r[i] * p_r;
        t.u += w;
        t.moving += fabs(w);
        side->force[i] -= f;
        side->size[i] += fabs(f);
        Y[i] = J_r[i];
    }
    for (int32_t i = 0; given && i < nv; ++i) {
        side->n[i] += fabs(J_r[i] * p_r);
    }
    if (inertia && nv == 3) {
        perpi_chol_forward3(side->L, Y);
    } else if (inertia) {
        perpi_chol_forward(nv, side->L, Y);
    }
    for (int32_t i = 0; inertia && i < nv; ++i) {
        t.W += Y[i] * Y[i];
        t.pushed += fabs(Y[i] * y[i]);
    }
    *sum = t;
}

/* Y = L^-1 J_r' of a row with six velocities: |Y|^2 and the sum of |Y_i y_i|. */
static inline void add_inertia(const side_view* side, const double* J_r, row_sums* sum)
{
    const double *L = side->L, *y = side->y;
    double Y[6] = {J_r[0], J_r[1], J_r[2], J_r[3], J_r[4], J_r[5]};
    if (side->apart) {
        perpi_chol_forward_apart(L, Y);
    } else {
        perpi_chol_forward6(L, Y);
    }
    perpi_pair2 W = {sum->W, 0.0}, pushed = {sum->pushed, 0.0};
    for (int i = 0; i < 6; i += 2) {
        const perpi_pair2 of = perpi_pair2_at(Y + i);
        W += of * of;
        pushed += perpi_pair2_abs(of * perpi_pair2_at(y + i));
    }
    sum->W = perpi_pair2_sum(W);
    sum->pushed = perpi_pair2_sum(pushed);
}

/* The same as visit_side for the three rows of a contact with a body of six velocities, by pairs of
 * entries. */
static void visit_three_rows(const side_view* side, const double* p, bool inertia, row_sums sum[3])
{
    const double* J = side->J;
    perpi_pair2 p_r[3], u[3], moving[3];
    for (int r = 0; r < 3; ++r) {
        p_r[r] = perpi_pair2_both(p[r]);
        u[r] = (perpi_pair2){sum[r].u, 0.0};
        moving[r] = (perpi_pair2){sum[r].moving, 0.0};
    }
    for (int i = 0; i < 6; i += 2) {
        const perpi_pair2 v = perpi_pair2_at(side->v + i);
        perpi_pair2 force = perpi_pair2_at(side->force + i), size = perpi_pair2_at(side->size + i);
        for (int r = 0; r < 3; ++r) {
            const perpi_pair2 J_r = perpi_pair2_at(J + 6 * r + i), w = J_r * v, f = J_r * p_r[r];
            u[r] += w;
            moving[r] += perpi_pair2_abs(w);
            force -= f;
            size += perpi_pair2_abs(f);
        }
        perpi_pair2_put(force, side->force + i);
        perpi_pair2_put(size, side->size + i);
    }
    for (int r = 0; r < 3; ++r) {
        sum[r].u = perpi_pair2_sum(u[r]);
        sum[r].moving = perpi_pair2_sum(moving[r]);
        if (inertia) {
            add_inertia(side, J + 6 * r, &sum[r]);
        }
    }
}

/* The sums that do not depend on the answer: taken from s->terms if they are known, else kept there. */
static void keep_terms(const scratch* s, int32_t row, int32_t rows, row_sums* sum)
{
    perpi_row_terms* terms = s->terms;
    for (int32_t r = 0; terms != NULL && r < rows; ++r) {
        if (terms->known) {
            sum[r].W = terms->W[row + r];
            sum[r].pushed = terms->pushed[row + r];
        } else {
            terms->W[row + r] = sum[r].W;
            terms->pushed[row + r] = sum[r].pushed;
        }
    }
}

/* What the sums give for row r of a constraint. */
static void finish_row(const perp_contact_problem* P, const double* p, int32_t row, bool given,
                       row_sums sum, scratch* s)
{
    const double W = sum.W == 0.0 ? 1.0 : sum.W;
    const double push = W * fabs(p[row]);
    const double m = perpi_larger(
        perpi_larger(perpi_larger(fabs(P->b[row]), sum.moving), sum.pushed), given ? push : 0.0);
    s->large = s->large || push > RUNAWAY * m;
    s->m[row] = m;
    s->u[row] = sum.u;
    s->W[row] = W;
    s->a[row] = perpi_larger(m, push);
}

/* A contact of three rows with bodies of six velocities; false: it is not one. */
static bool visit_spatial_contact(const perp_contact_problem* P, const perp_constraint* c,
                                  const side_view side[2], const double* p, scratch* s)
{
    if (c->kind != PERP_CONSTRAINT_CONTACT || c->rows != 3 ||
        (side[0].nv != 6 && side[0].nv != 0) || (side[1].nv != 6 && side[1].nv != 0)) {
        return false;
    }
    row_sums sum[3] = {{.u = P->b[c->row]}, {.u = P->b[c->row + 1]}, {.u = P->b[c->row + 2]}};
    const bool inertia = !are_terms_known(s);
    for (int k = 0; k < 2; ++k) {
        if (side[k].nv > 0) {
            visit_three_rows(&side[k], p + c->row, inertia, sum);
        }
    }
    keep_terms(s, c->row, 3, sum);
    for (int32_t r = 0; r < 3; ++r) {
        finish_row(P, p, c->row + r, false, sum[r], s);
    }
    return true;
}

/* u, W, a, m of every row, and the terms of the impulses in the dynamics. */
static void visit_rows(const perp_contact_problem* P, const double* v, const double* p, scratch* s)
{
    const bool inertia = !are_terms_known(s);
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const side_view side[2] = {view_side(P, c, 0, v, s), view_side(P, c, 1, v, s)};
        if (visit_spatial_contact(P, c, side, p, s)) {
            continue;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t row = c->row + r;
            const bool given = is_given(c, row, P->lower, P->upper, p);
            row_sums sum = {P->b[row], 0.0, 0.0, 0.0};
            for (int k = 0; k < 2; ++k) {
                if (side[k].nv == 3) {
                    visit_side(3, &side[k], r, p[row], given, inertia, &sum);
                } else {
                    visit_side(side[k].nv, &side[k], r, p[row], given, inertia, &sum);
                }
            }
            keep_terms(s, row, 1, &sum);
            if (P->compliance != NULL && c->kind != PERP_CONSTRAINT_CONTACT) {
                sum.u += P->compliance[row] * p[row];
                sum.W += P->compliance[row];
            }
            finish_row(P, p, row, given, sum, s);
        }
    }
}

static double contact_weight(int32_t count, const perp_constraint* constraint, const double* W)
{
    double sum = 0.0;
    int32_t contacts = 0;
    for (int32_t ci = 0; ci < count; ++ci) {
        if (constraint[ci].kind == PERP_CONSTRAINT_CONTACT) {
            sum += W[constraint[ci].row];
            ++contacts;
        }
    }
    return contacts > 0 ? sum / contacts : 1.0;
}

/* S_c of every constraint, at most `limit` times the motion; false if U is not finite. */
static bool scale_constraints(int32_t count, const perp_constraint* constraint, double limit,
                              double floor_ratio, scratch* s)
{
    double U = 0.0, most = 0.0;
    s->w = contact_weight(count, constraint, s->W);
    for (int32_t ci = 0; ci < count; ++ci) {
        const perp_constraint* c = &constraint[ci];
        const double *a_c = s->a + c->row, *m_c = s->m + c->row;
        const bool plain = c->kind == PERP_CONSTRAINT_CONTACT && c->cone != PERP_CONE_ELLIPSOID;
        double S = 0.0, m = 0.0;
        for (int32_t r = 0; r < c->rows && plain; ++r) { /* g_r = 1 */
            S = perpi_larger(S, a_c[r]);
            m = perpi_larger(m, m_c[r]);
        }
        for (int32_t r = 0; r < c->rows && !plain; ++r) {
            const double unit = unit_of(c, r, s);
            S = perpi_larger(S, a_c[r] * unit);
            m = perpi_larger(m, m_c[r] * unit);
        }
        s->S[ci] = S;
        s->bracket[ci] = m;
        perpi_raise_to(&U, S);
        perpi_raise_to(&most, m);
    }
    for (int32_t ci = 0; ci < count; ++ci) {
        const double S = perpi_larger(s->S[ci], FLOOR_RATIO * U);
        const double m = limit * perpi_larger(s->bracket[ci], floor_ratio * most);
        const double limited = S > m && m >= VANISHED ? m : S;
        s->S[ci] = limited < VANISHED ? 1.0 : limited;
        s->bracket[ci] = 0.0;
        s->S_n[ci] = 0.0;
    }
    return isfinite(U);
}

/* Brackets and scales of the grouped contacts; off[] of the first member takes an unmet m >= 0. */
static void visit_groups(const perp_contact_problem* P, const scratch* s, double* normal,
                         double* worst, int32_t* where)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        for (int32_t i = 0; i < group->count; ++i) {
            const int32_t ci = group->member[i];
            s->S_n[ci] = s->S_n[ci] == 0.0 ? -1.0 : s->S_n[ci];
        }
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        double m = s->u[P->constraint[group->member[0]].row], S_g = s->S[group->member[0]];
        for (int32_t i = 1; i < group->count; ++i) {
            const double u_i = s->u[P->constraint[group->member[i]].row];
            m = !(u_i <= m) ? u_i : m;
            S_g = perpi_larger(S_g, s->S[group->member[i]]);
        }
        for (int32_t i = 0; i < group->primary; ++i) {
            const int32_t ci = group->member[i];
            const double u_i = s->u[P->constraint[ci].row];
            s->bracket[ci] += m + (group->primary > 1 && u_i < 0.0 ? -u_i : 0.0);
            s->S_n[ci] = perpi_larger(s->S_n[ci], S_g);
        }
        const int32_t first = P->constraint[group->member[0]].row;
        const double off = m < 0.0 ? excess_over_error(m, P->b_error, first) / S_g : 0.0;
        perpi_raise_to(normal, off);
        if (off > *worst) {
            *worst = off;
            *where = group->member[0];
        }
    }
}

static double normal_off(const perp_constraint* c, int32_t ci, const double* p, const scratch* s)
{
    const double push = s->W[c->row] * p[c->row];
    if (s->S_n[ci] < 0.0) {
        return fabs(push) / s->S[ci];
    }
    const double open = s->S_n[ci] > 0.0 ? s->bracket[ci] : s->u[c->row];
    const double off = push < open ? fabs(push) : excess_over_error(open, s->b_error, c->row);
    return off / (s->S_n[ci] > 0.0 ? s->S_n[ci] : s->S[ci]);
}

/* The round cone with two tangential rows: the same as below without loops. */
static double round_friction_off(const perp_constraint* c, int32_t ci, const double* p,
                                 const scratch* s)
{
    const double *p_t = p + c->row + 1, *u = s->u + c->row + 1, *W = s->W + c->row + 1;
    const double W_t = perpi_larger(perpi_larger(0.0, W[0]), W[1]),
                 radius = c->mu * perpi_larger(p[c->row], 0.0);
    const double x = p_t[0] - u[0] / W_t, y = p_t[1] - u[1] / W_t;
    if (!isfinite(x) || !isfinite(y)) {
        return INFINITY;
    }
    double t = 0.0;
    if (radius > 0.0) {
        const double length = x * x + y * y < radius * radius ? 0.0 : perpi_length(x, y);
        t = length > radius ? radius / length : 1.0;
    }
    const double a = p_t[0] - x * t, b = p_t[1] - y * t;
    return a == 0.0 && b == 0.0 ? 0.0 : W_t * perpi_length(a, b) / s->S[ci];
}

static double friction_off(const perp_constraint* c, int32_t ci, const double* p, const scratch* s)
{
    const int32_t n = c->rows - 1;
    if (n == 0) {
        return 0.0;
    }
    if (n == 2 && c->cone == PERP_CONE_QUADRATIC) {
        return round_friction_off(c, ci, p, s);
    }
    const bool ellipsoid = c->cone == PERP_CONE_ELLIPSOID;
    double x[3], target[3], p_t[3], W_t = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double e = ellipsoid ? c->e[i] : 1.0;
        W_t = perpi_larger(W_t, e * e * s->W[c->row + 1 + i]);
    }
    for (int32_t i = 0; i < n; ++i) {
        const double e = ellipsoid ? c->e[i] : 1.0;
        p_t[i] = p[c->row + 1 + i] / e;
        x[i] = p_t[i] - e * s->u[c->row + 1 + i] / W_t;
    }
    if (!perpi_all_finite((size_t)n, x)) {
        return INFINITY;
    }
    const double p_n = p[c->row] > 0.0 ? p[c->row] : 0.0;
    perpi_project_friction(c, c->mu * p_n, x, target);
    double off = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        off = hypot(off, p_t[i] - target[i]);
    }
    return W_t * off / s->S[ci];
}

static double joint_off(const perp_constraint* c, int32_t ci, const double* lower,
                        const double* upper, const double* p, const scratch* s)
{
    double worst = 0.0;
    for (int32_t r = c->row; r < c->row + c->rows; ++r) {
        double off = fabs(s->u[r]);
        if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            double t = p[r] - s->u[r] / s->W[r];
            t = t < lower[r] ? lower[r] : (t > upper[r] ? upper[r] : t);
            off = s->W[r] * fabs(p[r] - t);
        }
        perpi_raise_to(&worst, unit_of(c, r - c->row, s) * off);
    }
    return worst / s->S[ci];
}

/* sqrt(M_ii) of a block, and the largest t_i and n_i over it; sizes are finite, and M_ii > 0. */
static inline void measure_block(int32_t nv, const double* M, const double* size, const double* n,
                                 double* root, double* ratio, double* motion)
{
    double a = *ratio, b = *motion;
    for (int32_t r = 0; r < nv; ++r) {
        const double m = sqrt(M[r * nv + r]);
        root[r] = m;
        a = perpi_larger(a, size[r] / m);
        b = perpi_larger(b, n[r] / m);
    }
    *ratio = a;
    *motion = b;
}

static double dynamics_off(const perp_contact_problem* P, const scratch* s)
{
    /* sqrt(M_ii) from M: diag(L L') is not stored; y is no longer needed */
    double ratio = 0.0, motion = 0.0, worst = 0.0;
    double* root = s->y;
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        if (nv == 6) {
            measure_block(6, M, s->size + d, s->n + d, root + d, &ratio, &motion);
        } else {
            measure_block(nv, M, s->size + d, s->n + d, root + d, &ratio, &motion);
        }
        M += (size_t)nv * (size_t)nv;
    }
    for (int32_t i = 0; i < P->dof_count; ++i) {
        const double t = s->size[i];
        const double off = excess_over_error(s->force[i], P->k_error, i);
        const double scale = perpi_larger(t, FLOOR_RATIO * root[i] * ratio);
        perpi_raise_to(&worst, off / (scale < VANISHED ? 1.0 : scale));
        if (off > ROUNDING * t) {
            const double N = perpi_larger(s->n[i], MOTION_FLOOR * root[i] * motion);
            perpi_raise_to(&worst, N >= VANISHED ? (off - ROUNDING * t) / N : 0.0);
        }
    }
    return worst;
}

/* ---- joints that are at rest beside large terms -------------------------------------------------*/

/* What rounding of the terms t of the dynamics leaves uncertain of J_r v: 16 eps |Y_r| . (L^-1 t). */
static double row_rounding(const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                           const scratch* s)
{
    const double* J = P->J + c->jac;
    double sum = 0.0;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side], d = block >= 0 ? P->dof[block] : 0;
        const int32_t n = block >= 0 ? P->dof[block + 1] - d : 0;
        const double* L = s->L + 6 * (size_t)d;
        double x[6], e[6];
        for (int32_t i = 0; i < n; ++i) {
            x[i] = J[r * n + i];
            e[i] = s->size[d + i];
            for (int32_t k = 0; k < i; ++k) {
                e[i] += fabs(L[i * n + k]) * e[k];
            }
            e[i] /= L[i * n + i];
        }
        if (n > 0) {
            perpi_chol_forward(n, L, x);
        }
        for (int32_t i = 0; i < n; ++i) {
            sum += fabs(x[i]) * e[i];
        }
        J += (size_t)c->rows * (size_t)n;
    }
    return ROUNDING * sum;
}

static double less_than(double u, double least)
{
    return fabs(u) <= least ? 0.0 : u > 0.0 ? u - least : u + least;
}

/* Velocities of joints without the rounding of their b; and of a joint whose own terms are below the
 * floor of S_c, without the rounding that they have from the terms of the bodies. */
static void subtract_rounding(const perp_contact_problem* P, scratch* s)
{
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        double own = 0.0;
        for (int32_t r = 0; r < c->rows && c->kind != PERP_CONSTRAINT_CONTACT; ++r) {
            own = perpi_larger(own, s->a[c->row + r] * unit_of(c, r, s));
        }
        for (int32_t r = 0; c->kind != PERP_CONSTRAINT_CONTACT && own < s->S[ci] && r < c->rows;
             ++r) {
            double* u = &s->u[c->row + r];
            *u = less_than(*u, row_rounding(P, c, r, s));
        }
        for (int32_t r = 0; P->b_error != NULL && c->kind != PERP_CONSTRAINT_CONTACT && r < c->rows;
             ++r) {
            s->u[c->row + r] = less_than(s->u[c->row + r], P->b_error[c->row + r]);
        }
    }
}

/* ---- impulses beyond the motion of their island -------------------------------------------------*/

/* The island of a block, as the number of its first block; halving keeps the paths short. */
static int32_t island_root(double* parent, int32_t i)
{
    while ((int32_t)parent[i] != i) {
        parent[i] = parent[(int32_t)parent[i]];
        i = (int32_t)parent[i];
    }
    return i;
}

static void join_blocks(double* parent, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) {
        return;
    }
    const int32_t i = island_root(parent, a), j = island_root(parent, b);
    parent[i < j ? j : i] = i < j ? i : j;
}

static int32_t first_block(const perp_constraint* c)
{
    return c->block[0] >= 0 ? c->block[0] : c->block[1];
}

static void find_islands(const perp_contact_problem* P, double* parent)
{
    for (int32_t i = 0; i < P->block_count; ++i) {
        parent[i] = i;
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        join_blocks(parent, P->constraint[ci].block[0], P->constraint[ci].block[1]);
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        for (int32_t k = 1; k < group->count; ++k) {
            join_blocks(parent, first_block(&P->constraint[group->member[0]]),
                        first_block(&P->constraint[group->member[k]]));
        }
    }
}

/* e of every island, at its root. */
static void measure_islands(const perp_contact_problem* P, const double* p, const scratch* s,
                            double* parent, double* e)
{
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        e[i] = 0.0;
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        double* sum = &e[island_root(parent, i)];
        for (int32_t r = 0; r < nv; ++r) {
            *sum += s->n[d + r] / sqrt(M[r * nv + r]);
        }
        M += (size_t)nv * (size_t)nv;
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        if (first_block(c) < 0) {
            continue;
        }
        double* sum = &e[island_root(parent, first_block(c))];
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            const double push = is_given(c, r, P->lower, P->upper, p) ? s->W[r] * fabs(p[r]) : 0.0;
            const double c_r = P->compliance != NULL && c->kind != PERP_CONSTRAINT_CONTACT
                                   ? P->compliance[r]
                                   : 0.0;
            const double given = c_r > 0.0 ? s->W[r] * fabs(P->b[r]) / c_r : fabs(P->b[r]);
            *sum += perpi_larger(given, push) / sqrt(s->W[r]);
        }
    }
}

/* Raises the residual of a law by an impulse that is `ratio` times the motion that it acts on. */
static void charge_runaway(const perp_constraint* c, int32_t ci, int32_t row, double ratio,
                           perp_contact_residual* r)
{
    double* law = c->kind != PERP_CONSTRAINT_CONTACT ? &r->joints
                  : row == c->row                    ? &r->normal
                                                     : &r->friction;
    const double off = ratio / RUNAWAY;
    perpi_raise_to(law, off);
    if (off > r->worst) {
        r->worst = off;
        r->worst_constraint = ci;
        r->runaway = ratio;
    }
}

/* Whether an impulse exceeds the motion of its own bodies, which is part of that of their island: mostly
 * not, also where friction rows do not move at all. */
static bool may_run_away(const perp_contact_problem* P, const double* p, const scratch* s)
{
    const double* M = P->M;
    double* e = s->room;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        double sum = 0.0; /* of squares, so <= e^2 of its island */
        for (int32_t r = 0; r < nv; ++r) {
            sum += s->n[d + r] * s->n[d + r] / M[r * (nv + 1)];
        }
        e[i] = RUNAWAY * RUNAWAY * sum;
        M += (size_t)nv * (size_t)nv;
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const double a = c->block[0] >= 0 ? e[c->block[0]] : 0.0;
        const double b = c->block[1] >= 0 ? e[c->block[1]] : 0.0, most = a > b ? a : b;
        for (int32_t k = c->row; k < c->row + c->rows; ++k) {
            if (!(s->W[k] * p[k] * p[k] <= most)) {
                return true;
            }
        }
    }
    return false;
}

static void find_runaway(const perp_contact_problem* P, const double* p, const scratch* s,
                         perp_contact_residual* r)
{
    double *parent = s->y, *e = s->room; /* no longer needed, and block_count <= dof_count */
    find_islands(P, parent);
    measure_islands(P, p, s, parent, e);
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const double size = first_block(c) < 0 ? 0.0 : e[island_root(parent, first_block(c))];
        for (int32_t k = c->row; k < c->row + c->rows; ++k) {
            const double push = sqrt(s->W[k]) * fabs(p[k]);
            if (size >= VANISHED && push > RUNAWAY * size) {
                charge_runaway(c, ci, k, push / size, r);
            }
        }
    }
}

/* Adds the laws of the rows to a result that holds those of the groups and the dynamics. */
static inline void visit_laws(int32_t count, const perp_constraint* constraint, const double* lower,
                              const double* upper, const double* p, const scratch* s,
                              perp_contact_residual* r)
{
    double worst = r->worst;
    for (int32_t ci = 0; ci < count; ++ci) {
        const perp_constraint* c = &constraint[ci];
        double off = 0.0;
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            const double normal = normal_off(c, ci, p, s);
            const double friction = friction_off(c, ci, p, s);
            perpi_raise_to(&r->normal, normal);
            perpi_raise_to(&r->friction, friction);
            off = perpi_larger(normal, friction);
        } else {
            off = joint_off(c, ci, lower, upper, p, s);
            perpi_raise_to(&r->joints, off);
        }
        if (off > worst) {
            worst = off;
            r->worst_constraint = ci;
            r->runaway = 0.0;
        }
    }
    if (!isfinite(r->dynamics) || !isfinite(r->normal) || !isfinite(r->friction) ||
        !isfinite(r->joints)) {
        *r = not_finite;
        return;
    }
    r->worst =
        perpi_larger(perpi_larger(r->dynamics, r->normal), perpi_larger(r->friction, r->joints));
    if (r->dynamics > worst) {
        r->worst_constraint = -1;
        r->runaway = 0.0;
    }
}

static void residual_of(const perp_contact_problem* problem, const double* v, const double* p,
                        scratch* s, perp_contact_residual* r)
{
    *r = not_finite;
    if (!visit_blocks(problem, v, s)) {
        return;
    }
    /* a velocity that is not finite makes t_i so, because M_ii > 0, and an impulse a_r */
    visit_rows(problem, v, p, s);
    if (!perpi_all_finite(3 * (size_t)problem->row_count, s->u) || /* u, W, a */
        !perpi_all_finite((size_t)problem->dof_count, s->size) ||
        !scale_constraints(problem->constraint_count, problem->constraint, MOTION_LIMIT,
                           MOTION_FLOOR, s)) {
        return;
    }
    subtract_rounding(problem, s);
    *r = (perp_contact_residual){.worst_constraint = -1};
    visit_groups(problem, s, &r->normal, &r->worst, &r->worst_constraint);
    r->dynamics = dynamics_off(problem, s);
    if (s->large && may_run_away(problem, p, s)) {
        find_runaway(problem, p, s, r);
    }
    visit_laws(problem->constraint_count, problem->constraint, problem->lower, problem->upper, p, s,
               r);
}

perp_contact_residual perp_contact_check_residual(const perp_contact_problem* problem,
                                                  const double* v, const double* p, double* work)
{
    scratch s = cut_scratch(problem, work);
    perp_contact_residual r;
    residual_of(problem, v, p, &s, &r);
    return r;
}

const double* perpi_contact_residual_terms(const perp_contact_problem* problem, double* work)
{
    return cut_scratch(problem, work).size;
}

void perpi_contact_residual_rows(const perp_contact_problem* problem, const double* v,
                                 const double* p, double* work, double** u, double** W,
                                 perp_contact_residual* residual)
{
    scratch s = cut_scratch(problem, work);
    *u = s.u;
    *W = s.W;
    residual_of(problem, v, p, &s, residual);
}

perp_contact_residual perpi_contact_residual_again(const perp_contact_problem* problem,
                                                   const double* v, const double* p, double* work,
                                                   perpi_row_terms* terms)
{
    scratch s = cut_scratch(problem, work);
    s.terms = terms;
    perp_contact_residual r;
    residual_of(problem, v, p, &s, &r);
    terms->known = terms->known || isfinite(r.worst);
    return r;
}

/* ---- friction problem --------------------------------------------------------------------------------*/

size_t perp_friction_residual_work(const perp_friction_problem* problem)
{
    return 4 * (size_t)problem->row_count + 3 * (size_t)problem->constraint_count;
}

/* u <- u + B p, moved <- moved + |B| |p|, entry by entry; B: m x n. */
static inline void add_terms(int32_t m, int32_t n, const double* B, const double* p, double* u,
                             double* moved)
{
    for (int32_t r = 0; r < m; ++r, B += n) {
        double sum = u[r], size = moved[r];
        for (int32_t i = 0; i < n; ++i) {
            const double t = B[i] * p[i];
            sum += t;
            size += fabs(t);
        }
        u[r] = sum;
        moved[r] = size;
    }
}

static bool all_zero(int32_t n, const double* x)
{
    for (int32_t i = 0; i < n; ++i) {
        if (x[i] != 0.0) {
            return false;
        }
    }
    return true;
}

/* u and the sizes of its terms for a constraint of three rows, and whether all that it meets have three: the
 * same sums in the same order, in registers. */
static bool sum_three_rows(const perp_friction_problem* P, int32_t ci, const double* p, double* u,
                           double* moved)
{
    const double* q = P->q + P->constraint[ci].row;
    double u0 = q[0], u1 = q[1], u2 = q[2], m0 = 0.0, m1 = 0.0, m2 = 0.0;
    for (int32_t e = P->W.start[ci]; e < P->W.start[ci + 1]; ++e) {
        const perp_constraint* b = &P->constraint[P->W.column[e]];
        const double *B = P->W.value + P->W.at[e], *x = p + b->row;
        if (b->rows != 3) {
            return false;
        }
        if (x[0] == 0.0 && x[1] == 0.0 && x[2] == 0.0) { /* many contacts of a pile are open */
            continue;
        }
        const double a0 = B[0] * x[0], b0 = B[1] * x[1], c0 = B[2] * x[2];
        const double a1 = B[3] * x[0], b1 = B[4] * x[1], c1 = B[5] * x[2];
        const double a2 = B[6] * x[0], b2 = B[7] * x[1], c2 = B[8] * x[2];
        u0 = u0 + a0 + b0 + c0;
        u1 = u1 + a1 + b1 + c1;
        u2 = u2 + a2 + b2 + c2;
        m0 = m0 + fabs(a0) + fabs(b0) + fabs(c0);
        m1 = m1 + fabs(a1) + fabs(b1) + fabs(c1);
        m2 = m2 + fabs(a2) + fabs(b2) + fabs(c2);
    }
    u[0] = u0, u[1] = u1, u[2] = u2;
    moved[0] = m0, moved[1] = m1, moved[2] = m2;
    return true;
}

/* u, W, a, m of every row. */
static void visit_friction_rows(const perp_friction_problem* P, const double* p, const scratch* s)
{
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        double *u = s->u + c->row, *W = s->W + c->row, *a = s->a + c->row;
        const bool summed = c->rows == 3 && sum_three_rows(P, ci, p, u, a);
        for (int32_t r = 0; r < c->rows; ++r) {
            W[r] = 0.0;
            if (!summed) {
                u[r] = P->q[c->row + r];
                a[r] = 0.0;
            }
        }
        for (int32_t e = P->W.start[ci]; e < P->W.start[ci + 1]; ++e) {
            const perp_constraint* b = &P->constraint[P->W.column[e]];
            const double *B = P->W.value + P->W.at[e], *p_b = p + b->row;
            for (int32_t r = 0; b == c && r < c->rows; ++r) {
                W[r] = fabs(B[(size_t)r * (size_t)(c->rows + 1)]);
            }
            if (summed || all_zero(b->rows, p_b)) {
                continue;
            }
            if (c->rows == 2 && b->rows == 2) { /* known sizes: unrolled */
                add_terms(2, 2, B, p_b, u, a);
            } else {
                add_terms(c->rows, b->rows, B, p_b, u, a);
            }
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            W[r] = W[r] == 0.0 ? 1.0 : W[r];
            a[r] = perpi_larger(fabs(P->q[c->row + r]), a[r]);
            s->m[c->row + r] = perpi_larger(
                fabs(P->q[c->row + r]),
                is_given(c, c->row + r, P->lower, P->upper, p) ? W[r] * fabs(p[c->row + r]) : 0.0);
        }
    }
}

static void find_friction_runaway(const perp_friction_problem* P, const double* p, const scratch* s,
                                  perp_contact_residual* r)
{
    double e = 0.0, most = 0.0;
    for (int32_t k = 0; k < P->row_count; ++k) {
        const double root = sqrt(s->W[k]);
        e += s->m[k] / root;
        most = perpi_larger(most, root * fabs(p[k]));
    }
    if (e < VANISHED || !(most > RUNAWAY * e)) {
        return;
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        for (int32_t k = c->row; k < c->row + c->rows; ++k) {
            const double push = sqrt(s->W[k]) * fabs(p[k]);
            if (push > RUNAWAY * e) {
                charge_runaway(c, ci, k, push / e, r);
            }
        }
    }
}

perp_contact_residual perp_friction_check_residual(const perp_friction_problem* problem,
                                                   const double* r, double* work)
{
    const size_t nr = (size_t)problem->row_count, nc = (size_t)problem->constraint_count;
    scratch s = {.u = work,
                 .W = work + nr,
                 .a = work + 2 * nr,
                 .m = work + 3 * nr,
                 .S = work + 4 * nr,
                 .bracket = work + 4 * nr + nc,
                 .S_n = work + 4 * nr + 2 * nc};
    if (!perpi_all_finite((size_t)problem->row_count, r)) {
        return not_finite;
    }
    visit_friction_rows(problem, r, &s);
    if (!perpi_all_finite((size_t)problem->row_count, s.u) ||
        !perpi_all_finite((size_t)problem->row_count, s.a) ||
        !perpi_all_finite((size_t)problem->row_count, s.W) ||
        !scale_constraints(problem->constraint_count, problem->constraint, FRICTION_LIMIT, 1.0,
                           &s)) {
        return not_finite;
    }
    perp_contact_residual found = {.worst_constraint = -1};
    find_friction_runaway(problem, r, &s, &found);
    visit_laws(problem->constraint_count, problem->constraint, problem->lower, problem->upper, r,
               &s, &found);
    return found;
}
