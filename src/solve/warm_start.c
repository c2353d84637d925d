/* src/solve/warm_start.c - the warm start of a contact problem as its answer, or after a correction that
 * needs no reformulation.
 *
 * What rests is solved by the impulses of the last step, and the cost of a step should then be that of
 * checking it. Which residual is small enough depends on whether the answer is stationary: whether the
 * impulses balance the applied forces, so that the velocities of the guess stay. Then an error of the
 * impulses adds up over many steps before it reaches the goal of the plan, and is removed there. Where they
 * do not balance, an accepted error persists: the next step corrects the gap that it leaves, the step
 * after that the velocity of the correction, and the impulses of that step are off by the same error
 * again. So such an answer is accepted only if it is better by REFINE. Where bodies slide or roll
 * and gain or lose speed, the rounding of poses alone (gap / h) may exceed that, and a correction
 * of it is followed by the same in the next step: up to LEAST_GOAL it is accepted.
 *
 * Islands too large for the correction below: a stationary answer passes up to GOAL_LARGE of the goal, a hundredth
 * of the tolerance, because velocities and gaps grow with the steps and their square, and a method costs several
 * checks. One that is not stationary is given to the methods of the plan without its small gaps
 * (perpi_hold_gaps): their answer stops the bodies where they are, and passes in the next steps.
 *
 * Correction: while no contact slips and the same ones push, the laws are equations, J v + b = 0 in the
 * active rows. The method of multipliers solves them in the space of velocities,
 *     (M + J' R J) dv = -J' R u,   p <- p - R (u + J dv),   u = J v + b at v = M^-1 (k + J' p),
 * R = SIGMA / W_rr: the change of p is the smallest in the norm of R^-1, also where the contacts are more
 * than the equations determine. An error of p falls by the factor 1 / (1 + SIGMA w), w the smallest
 * eigenvalue of W that is not 0, relative to its diagonal. u is small, so that the large R costs no digits.
 * [Alart, Curnier 1991] with a fixed active set; the answer is checked like that of any other method. Compliant
 * rows have R = 1 / c, bounded ones count as equations between their bounds. The smallest change matters where
 * the laws leave impulses open (a grasp by three tips of which two are enough): those of other
 * methods drift from step to step, until a contact has none and the body turns about the others.
 *
 * A contact that is alone in its island is solved directly, also where it begins or ceases to slip, if its
 * answer is the only one: mu |W_nt| < W_nn.
 */
#include <math.h>
#include <string.h>

#include "problem/cone.h"
#include "problem/operators.h"
#include "solve/frictional/friction_local.h"
#include "solve/solve.h"

#define GOAL_STILL 0.1 /* of the goal: impulses that are left over, relative to their terms */
#define GOAL_REST                                                                                  \
    0.4 /* of the goal: residual of a stationary answer; less would be rounding of poses */
#define GOAL_LARGE 100.0 /* as GOAL_REST, of islands too large for a correction */
#define LEAST_OF_LARGE                                                                             \
    1e-12 /* of such islands: sharper tolerances than 1e-10 have this, or a tenth of themselves */
#define STILL_LARGE 0.1  /* as GOAL_STILL, of these, relative to the sums of the terms */
#define MOVING 1e-3      /* impulses that are left over, relative to their terms: it accelerates */
#define REFINE 1e-2      /* on the goal, where the answer is not stationary */
#define LEFT 1e-3        /* on the goal: velocities that a correction leaves */
#define NEAR 1e-2        /* residual up to which a correction is tried */
#define NEAR_SLIP 0.3    /* the same where contacts slip */
#define LEAST_GOAL 1e-13 /* of a tolerance below 1e-9: rounding, which a correction cannot reach, */
#define MORE 1e3         /* unless the tolerance asks for more: a tenth of it */
#define SIGMA 1e6
#define MOVES 1e-6 /* of the speeds that impulses make: less is rest */
enum {
    LARGEST =
        96, /* velocities of an island that is corrected: the matrix is dense below its envelope */
    CORRECTIONS = 3,     /* solves with one factor */
    FEW_VELOCITIES = 18, /* where contacts may slip: the matrix is dense */
    SLIP_STEPS = 8,
};

/* A contact that may slip: dp = g - D (J dv), rows x rows. */
typedef struct contact_law {
    double g[3], D[9];
} contact_law;

typedef struct warm {
    perpi_solver* s;
    const perp_contact_problem* P;
    double *v, *p;
    double* f;        /* dof_count */
    double* size;     /* per block: energy of the impulses */
    size_t* M_at;     /* per block: where its mass block starts */
    double *u, *W;    /* of the residual check, row_count */
    const double* t;  /* of the residual check, dof_count: sizes of the terms of the dynamics */
    double* R;        /* row_count; 0: the row is not active */
    double* A;        /* dof_count x dof_count: lower triangle, then its factor */
    int32_t* first;   /* per velocity: first column of its row of A */
    contact_law* law; /* per constraint, where contacts may slip */
} warm;

/* ---- the motion that the impulses give ---------------------------------------------------------------*/

/* f <- f + J' p of one side; returns the sum of squared terms over the diagonal of the mass block. */
static inline double add_impulses(int32_t rows, int32_t nv, const double* J, const double* p,
                                  const double* M, double* f)
{
    double size[PERPI_BLOCK_MAX] = {0.0}, sum = 0.0;
    for (int32_t r = 0; r < rows; ++r, J += nv) {
        for (int32_t i = 0; i < nv; ++i) {
            const double t = J[i] * p[r];
            f[i] += t;
            size[i] += t * t;
        }
    }
    for (int32_t i = 0; i < nv; ++i) {
        sum += size[i] / M[i * (nv + 1)];
    }
    return sum;
}

/* How much M v of the guess differs from k + J' p, and the size of the impulses, both as energies;
 * still: of every body it is at most the part `still` of the impulses on that body. */
typedef struct left_over {
    double off, size;
    bool still;
} left_over;

static left_over find_left_over(const warm* w, const double* guess, double still)
{
    const perp_contact_problem* P = w->P;
    memcpy(w->f, P->k, (size_t)P->dof_count * sizeof *w->f);
    memset(w->size, 0, (size_t)P->block_count * sizeof *w->size);
    left_over left = {.still = true};
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const double* J = P->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            if (block < 0) {
                continue;
            }
            const int32_t d = P->dof[block], nv = P->dof[block + 1] - d;
            const double* M = P->M + w->M_at[block];
            w->size[block] += nv == 6 ? add_impulses(c->rows, 6, J, w->p + c->row, M, w->f + d)
                                      : add_impulses(c->rows, nv, J, w->p + c->row, M, w->f + d);
            J += c->rows * nv;
        }
    }
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
        const double* M = P->M + w->M_at[b];
        double off = 0.0;
        for (int32_t i = 0; i < nv; ++i, M += nv) {
            double momentum = 0.0;
            for (int32_t j = 0; j < nv; ++j) {
                momentum += M[j] * guess[d + j];
            }
            const double over = w->f[d + i] - momentum;
            off += over * over / M[i];
        }
        left.off += off;
        left.size += w->size[b];
        left.still = left.still && off <= still * still * w->size[b];
    }
    return left;
}

static bool is_large(const perp_contact_problem* P)
{
    return P->dof_count > LARGEST;
}

/* The same of a large island, without another pass over its rows: k + J' p = M v, and the size of the terms on a
 * body is that of the residual check. */
static left_over find_left_over_large(const warm* w, const double* guess, double still)
{
    const perp_contact_problem* P = w->P;
    left_over left = {.still = true};
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
        const double* M = P->M + w->M_at[b];
        double off = 0.0, size = 0.0;
        for (int32_t i = 0; i < nv; ++i, M += nv) {
            double over = 0.0;
            for (int32_t j = 0; j < nv; ++j) {
                over += M[j] * (w->v[d + j] - guess[d + j]);
            }
            off += over * over / M[i];
            size += w->t[d + i] * w->t[d + i] / M[i];
        }
        left.off += off;
        left.size += size;
        left.still = left.still && off <= still * still * size;
    }
    return left;
}

/* Whether that passes without a correction, as an answer that is stationary or moves. limit: of the residual of a
 * stationary one. */
static bool passes(const warm* w, double worst, double goal, double limit, const double* guess)
{
    if (!(worst <= limit)) {
        return false;
    }
    const left_over left = is_large(w->P) ? find_left_over_large(w, guess, STILL_LARGE * goal)
                                          : find_left_over(w, guess, GOAL_STILL * goal);
    return left.still || (left.off > MOVING * MOVING * left.size && worst <= LEAST_GOAL);
}

/* ---- the active set ----------------------------------------------------------------------------------*/

/* Whether the tangential impulse stays inside the friction cone, strictly. */
static bool sticks(const perp_constraint* c, const double* p, const double* u, const double* W)
{
    const int32_t n = c->rows - 1;
    double sum = 0.0, radius = c->mu * p[0], W_t = 0.0;
    if (n == 0) {
        return true;
    }
    const bool ellipsoid = c->cone == PERP_CONE_ELLIPSOID;
    for (int32_t i = 1; i <= n; ++i) {
        const double e = ellipsoid ? c->e[i - 1] : 1.0;
        W_t = e * e * W[i] > W_t ? e * e * W[i] : W_t;
    }
    for (int32_t i = 1; i <= n; ++i) {
        const double e = ellipsoid ? c->e[i - 1] : 1.0;
        const double x = p[i] / e - e * u[i] / W_t;
        sum += x * x;
    }
    if (c->cone == PERP_CONE_POLYGON && n == 2) {
        radius *= cos(3.14159265358979323846 / c->directions);
    }
    return sum < radius * radius;
}

static double compliance_of(const perp_contact_problem* P, const perp_constraint* c, int32_t r)
{
    return P->compliance != NULL && c->kind != PERP_CONSTRAINT_CONTACT ? P->compliance[c->row + r]
                                                                       : 0.0;
}

/* Whether the impulse of a bounded row stays between its bounds (*active), or at the one where it is; false: it
 * does neither, or the constraint has several rows. */
static bool keeps_bounds(const perp_contact_problem* P, const perp_constraint* c, const double* p,
                         const double* u, const double* W, bool* active)
{
    const double lower = P->lower[c->row], upper = P->upper[c->row], x = p[0] - u[0] / W[0];
    *active = lower < x && x < upper;
    return c->rows == 1 &&
           (*active || (x <= lower && p[0] == lower) || (x >= upper && p[0] == upper));
}

/* R of row r: SIGMA times its stiffness, with its own compliance. */
static double multiplier_weight(const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                                double W)
{
    const double soft = compliance_of(P, c, r);
    return soft > 0.0 ? 1.0 / (soft + (W - soft) / SIGMA) : SIGMA / W;
}

/* R of the rows; false: a contact slips, or a law is none that the correction knows. A compliant row,
 * u + c p = 0, has dp = -(u + c p + J dv) / c. */
static bool find_active(const warm* w)
{
    const perp_contact_problem* P = w->P;
    bool any = false;
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const double *u = w->u + c->row, *W = w->W + c->row;
        double *p = w->p + c->row, *R = w->R + c->row;
        bool active = true;
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            active = p[0] > 0.0 && p[0] * W[0] > u[0];
            if (!active && p[0] > 0.0) {
                return false; /* it opens */
            }
            if (active && !sticks(c, p, u, W)) {
                return false;
            }
        } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            if (!keeps_bounds(P, c, p, u, W, &active)) {
                return false;
            }
        } else if (c->kind != PERP_CONSTRAINT_EQUALITY) {
            return false;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            R[r] = active ? multiplier_weight(P, c, r, W[r]) : 0.0;
        }
        any = any || (active && c->kind == PERP_CONSTRAINT_CONTACT);
    }
    return any; /* joints alone are left to methods whose answer does not depend on the guess */
}

/* ---- M + J' R J --------------------------------------------------------------------------------------*/

/* The first column of each row, then M. */
static void lay_out_matrix(const warm* w)
{
    const perp_contact_problem* P = w->P;
    const size_t n = (size_t)P->dof_count;
    for (int32_t b = 0; b < P->block_count; ++b) {
        for (int32_t i = P->dof[b]; i < P->dof[b + 1]; ++i) {
            w->first[i] = P->dof[b];
        }
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        if (w->R[c->row] == 0.0 || c->block[0] < 0 || c->block[1] < 0) {
            continue;
        }
        const int32_t low = c->block[0] < c->block[1] ? c->block[0] : c->block[1];
        const int32_t high = c->block[0] < c->block[1] ? c->block[1] : c->block[0];
        for (int32_t i = P->dof[high]; i < P->dof[high + 1]; ++i) {
            w->first[i] = w->first[i] < P->dof[low] ? w->first[i] : P->dof[low];
        }
    }
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
        const double* M = P->M + w->M_at[b];
        for (int32_t i = 0; i < nv; ++i, M += nv) {
            double* A_i = w->A + (size_t)(d + i) * n;
            for (int32_t j = w->first[d + i]; j < d; ++j) {
                A_i[j] = 0.0;
            }
            for (int32_t j = 0; j < nv; ++j) { /* above the diagonal too: add_three writes pairs */
                A_i[d + j] = M[j];
            }
        }
    }
}

/* A += J_a' R J_b for one row; `below`: the lower triangle alone, where a and b are the same. */
static inline void add_outer(int32_t na, const double* a, int32_t nb, const double* b, double R,
                             bool below, double* A, size_t n)
{
    for (int32_t i = 0; i < na; ++i, A += n) {
        const double t = R * a[i];
        const int32_t to = below ? i + 1 : nb;
        for (int32_t j = 0; j < to; ++j) {
            A[j] += t * b[j];
        }
    }
}

/* The same for the three rows of a contact between bodies of six velocities: the same sums in the same
 * order, by pairs. */
static void add_three(const double* a, const double* b, const double* R, bool below, double* A,
                      size_t n)
{
    for (int32_t i = 0; i < 6; ++i, A += n) {
        const perpi_pair2 x = perpi_pair2_both(R[0] * a[i]), y = perpi_pair2_both(R[1] * a[6 + i]),
                          z = perpi_pair2_both(R[2] * a[12 + i]);
        const int32_t to = below ? i + 1 : 6;
        for (int32_t j = 0; j < to; j += 2) {
            perpi_pair2_put(perpi_pair2_at(A + j) + x * perpi_pair2_at(b + j) +
                                y * perpi_pair2_at(b + 6 + j) + z * perpi_pair2_at(b + 12 + j),
                            A + j);
        }
    }
}

static void fill_matrix(const warm* w)
{
    const perp_contact_problem* P = w->P;
    const size_t n = (size_t)P->dof_count;
    lay_out_matrix(w);
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        if (w->R[c->row] == 0.0) {
            continue;
        }
        const perpi_side side[2] = {perpi_side_of(P, c, 0), perpi_side_of(P, c, 1)};
        const perpi_side* low = side[0].d < side[1].d ? &side[0] : &side[1];
        const perpi_side* high = low == &side[0] ? &side[1] : &side[0];
        if (c->rows == 3 && side[0].nv % 6 == 0 && side[1].nv % 6 == 0) {
            const double* R = w->R + c->row;
            for (int k = 0; k < 2; ++k) {
                const size_t d = (size_t)side[k].d;
                if (side[k].nv == 6) {
                    add_three(side[k].J, side[k].J, R, true, w->A + d * n + d, n);
                }
            }
            if (low->nv > 0 && high->nv > 0) {
                add_three(high->J, low->J, R, false, w->A + (size_t)high->d * n + (size_t)low->d,
                          n);
            }
            continue;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            const double R = w->R[c->row + r];
            for (int k = 0; k < 2; ++k) {
                const perpi_side* s = &side[k];
                double* A = w->A + (size_t)s->d * n + (size_t)s->d;
                if (s->nv > 0) {
                    add_outer(s->nv, s->J + r * s->nv, s->nv, s->J + r * s->nv, R, true, A, n);
                }
            }
            if (low->nv > 0 && high->nv > 0) {
                double* A = w->A + (size_t)high->d * n + (size_t)low->d;
                add_outer(high->nv, high->J + r * high->nv, low->nv, low->J + r * low->nv, R, false,
                          A, n);
            }
        }
    }
}

/* A = L L' within the envelope, in place. */
static bool factor_matrix(const warm* w)
{
    const int32_t n = w->P->dof_count;
    for (int32_t i = 0; i < n; ++i) {
        double* A_i = w->A + (size_t)i * (size_t)n;
        for (int32_t j = w->first[i]; j <= i; ++j) {
            const double* A_j = w->A + (size_t)j * (size_t)n;
            const int32_t from = w->first[i] > w->first[j] ? w->first[i] : w->first[j];
            double s = A_i[j];
            for (int32_t k = from; k < j; ++k) {
                s -= A_i[k] * A_j[k];
            }
            if (j < i) {
                A_i[j] = s / A_j[j];
            } else if (!(s > 0.0) || !isfinite(s)) {
                return false;
            } else {
                A_i[i] = sqrt(s);
            }
        }
    }
    return true;
}

static void solve_matrix(const warm* w, double* x)
{
    const int32_t n = w->P->dof_count;
    for (int32_t i = 0; i < n; ++i) {
        const double* L_i = w->A + (size_t)i * (size_t)n;
        for (int32_t k = w->first[i]; k < i; ++k) {
            x[i] -= L_i[k] * x[k];
        }
        x[i] /= L_i[i];
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* L_i = w->A + (size_t)i * (size_t)n;
        x[i] /= L_i[i];
        for (int32_t k = w->first[i]; k < i; ++k) {
            x[k] -= L_i[k] * x[i];
        }
    }
}

/* ---- the correction ----------------------------------------------------------------------------------*/

/* u of the active rows, and f = -J' R u. */
static void find_violation(const warm* w)
{
    const perp_contact_problem* P = w->P;
    memset(w->f, 0, (size_t)P->dof_count * sizeof *w->f);
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        if (w->R[c->row] == 0.0) {
            continue;
        }
        const perpi_side a = perpi_side_of(P, c, 0), b = perpi_side_of(P, c, 1);
        for (int32_t r = 0; r < c->rows; ++r) {
            double u = perpi_add_row(P->b[c->row + r], a.nv, a.J + r * a.nv, w->v + a.d);
            u = perpi_add_row(u, b.nv, b.J + r * b.nv, w->v + b.d);
            u += compliance_of(P, c, r) * w->p[c->row + r];
            w->u[c->row + r] = u;
            const double t = w->R[c->row + r] * u;
            perpi_subtract_rows(a.nv, 1, a.J + r * a.nv, &t, w->f + a.d);
            perpi_subtract_rows(b.nv, 1, b.J + r * b.nv, &t, w->f + b.d);
        }
    }
}

/* p <- p - R (u + J dv), dv in f. */
static void change_impulses(const warm* w)
{
    const perp_contact_problem* P = w->P;
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        if (w->R[c->row] == 0.0) {
            continue;
        }
        const perpi_side side[2] = {perpi_side_of(P, c, 0), perpi_side_of(P, c, 1)};
        for (int32_t r = 0; r < c->rows; ++r) {
            double u = w->u[c->row + r];
            for (int k = 0; k < 2; ++k) {
                const perpi_side* s = &side[k];
                u = perpi_add_row(u, s->nv, s->J + r * s->nv, w->f + s->d);
            }
            w->p[c->row + r] -= w->R[c->row + r] * u;
        }
    }
}

/* The largest velocity that is left in an active row, in terms of what impulses make; both as
 * energies, because rows of joints are in metres or in radians a second. */
static double largest_violation(const warm* w)
{
    const perp_contact_problem* P = w->P;
    double largest = 0.0, size = 0.0;
    for (int32_t r = 0; r < P->row_count; ++r) {
        if (w->R[r] > 0.0) {
            const double u = w->u[r] * w->u[r] / w->W[r], t = w->W[r] * w->p[r] * w->p[r];
            largest = u > largest ? u : largest;
            size = t > size ? t : size;
        }
    }
    return size > 0.0 ? sqrt(largest / size) : INFINITY;
}

/* The impulses of compliant rows from the velocities, which have the rounding of all other
 * impulses: of a damper at rest it is far more than the impulse, which is all that its residual is
 * compared with. */
static void recompute_soft_rows(const warm* w)
{
    const perp_contact_problem* P = w->P;
    for (int32_t ci = 0; P->compliance != NULL && ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        for (int32_t r = 0; r < c->rows; ++r) {
            const double soft = compliance_of(P, c, r);
            if (soft > 0.0 && w->R[c->row + r] > 0.0) {
                w->p[c->row + r] = -perpi_row_velocity(P, c, r, w->v) / soft;
            }
        }
    }
}

/* The smallest change of p with which the active rows stand still. */
static perp_status hold_active(warm* w, double goal, perpi_made* made)
{
    fill_matrix(w);
    if (!factor_matrix(w)) {
        return PERP_OK;
    }
    for (int32_t i = 0; i < CORRECTIONS; ++i) {
        find_violation(w);
        if (i > 0 && largest_violation(w) <= LEFT * goal) {
            break;
        }
        solve_matrix(w, w->f);
        change_impulses(w);
        perpi_motion_of(w->P, w->P->M_factor, w->p, w->v);
        made->report.iterations += 1;
    }
    recompute_soft_rows(w);
    const perp_status status = perpi_contact_residual_at(w->s, w->P, w->v, w->p, &made->residual);
    made->checked = made->residual.worst <= goal; /* what is left is rounding */
    return status;
}

static perp_status correct(warm* w, double goal, perpi_made* made)
{
    return find_active(w) ? hold_active(w, goal, made) : PERP_OK;
}

/* ---- contacts that slip --------------------------------------------------------------------------------
 *
 * Newton's method on the same equations with the law of a slipping contact, u_n = 0 and
 * p_t = mu p_n x / |x|, x = p_t - u_t / W_t. With d = x / |x| and B = mu p_n / |x| < 1,
 *     dp_n = -R (u_n + J_n dv)
 *     dp_t = mu d dp_n - B / ((1 - B) W_t) (1 - d d') J_t dv + (d d' + (1 - d d') / (1 - B)) (mu p_n d - p_t)
 * and dp = -p of a contact that opens. M dv = J' dp is not symmetric: LU, for few bodies. */

typedef enum status { STATUS_OPEN, STATUS_STICKS, STATUS_SLIPS } status_of_contact;

/* What a contact does at u, by the natural map; if it slips x, d and |x|. */
typedef struct slip_of {
    double d[2], length, W_t;
} slip_of;

static status_of_contact classify(const perp_constraint* c, const double* p, const double* u,
                                  const double* W, slip_of* slip)
{
    if (!(p[0] * W[0] - u[0] > 0.0)) {
        return STATUS_OPEN;
    }
    if (c->rows == 1 || sticks(c, p, u, W)) {
        return STATUS_STICKS;
    }
    const int32_t n = c->rows - 1;
    const double W_t = n == 2 && W[2] > W[1] ? W[2] : W[1];
    const double x = p[1] - u[1] / W_t, y = n == 2 ? p[2] - u[2] / W_t : 0.0;
    const double length = perpi_length(x, y);
    *slip = (slip_of){{x / length, y / length}, length, W_t}; /* not 0: it is beyond the cone */
    return STATUS_SLIPS;
}

static contact_law law_of(const perp_constraint* c, const double* p, const double* u,
                          const double* W)
{
    contact_law l = {{0.0}, {0.0}};
    const int32_t n = c->rows;
    slip_of slip;
    const status_of_contact is = classify(c, p, u, W, &slip);
    for (int32_t r = 0; r < n; ++r) {
        const double R = SIGMA / W[r];
        l.g[r] = is == STATUS_OPEN ? -p[r] : -R * u[r];
        l.D[r * n + r] = is == STATUS_OPEN ? 0.0 : R;
    }
    if (is != STATUS_SLIPS) {
        return l;
    }
    const double push = c->mu * (p[0] > 0.0 ? p[0] : 0.0), B = push / slip.length;
    const double rest = 1.0 - B > 1.0 / SIGMA ? 1.0 - B : 1.0 / SIGMA, G = B / (rest * slip.W_t);
    const double along = p[1] * slip.d[0] + (n == 3 ? p[2] * slip.d[1] : 0.0);
    for (int32_t r = 1; r < n; ++r) {
        const double d = slip.d[r - 1];
        l.g[r] = c->mu * d * l.g[0] + (push - along) * d - (p[r] - along * d) / rest;
        l.D[r * n] = c->mu * d * l.D[0];
        for (int32_t k = 1; k < n; ++k) {
            l.D[r * n + k] = G * ((r == k ? 1.0 : 0.0) - d * slip.d[k - 1]);
        }
    }
    return l;
}

/* A += J' D J, f += J' g of one contact; M + ... is a whole matrix here. */
static void add_law(const warm* w, const perp_constraint* c, const contact_law* l)
{
    const int32_t rows = c->rows;
    const size_t n = (size_t)w->P->dof_count;
    const perpi_side side[2] = {perpi_side_of(w->P, c, 0), perpi_side_of(w->P, c, 1)};
    for (int a = 0; a < 2; ++a) {
        const perpi_side* s = &side[a];
        for (int32_t i = 0; i < s->nv; ++i) {
            double DJ[3] = {0.0, 0.0, 0.0}; /* column i of J, times D from the left */
            for (int32_t r = 0; r < rows; ++r) {
                const double J = s->J[r * s->nv + i];
                w->f[s->d + i] += J * l->g[r];
                for (int32_t k = 0; k < rows; ++k) {
                    DJ[k] += J * l->D[r * rows + k];
                }
            }
            double* A = w->A + (size_t)(s->d + i) * n;
            for (int b = 0; b < 2; ++b) {
                const perpi_side* t = &side[b];
                for (int32_t j = 0; j < t->nv; ++j) {
                    double sum = 0.0;
                    for (int32_t k = 0; k < rows; ++k) {
                        sum += DJ[k] * t->J[k * t->nv + j];
                    }
                    A[t->d + j] += sum;
                }
            }
        }
    }
}

/* p <- p + g - D J dv, dv in f. */
static void apply_law(const warm* w, const perp_constraint* c, const contact_law* l)
{
    const int32_t rows = c->rows;
    const perpi_side side[2] = {perpi_side_of(w->P, c, 0), perpi_side_of(w->P, c, 1)};
    double u[3] = {0.0, 0.0, 0.0};
    for (int32_t r = 0; r < rows; ++r) {
        for (int k = 0; k < 2; ++k) {
            for (int32_t i = 0; i < side[k].nv; ++i) {
                u[r] += side[k].J[r * side[k].nv + i] * w->f[side[k].d + i];
            }
        }
    }
    for (int32_t r = 0; r < rows; ++r) {
        double change = l->g[r];
        for (int32_t k = 0; k < rows; ++k) {
            change -= l->D[r * rows + k] * u[k];
        }
        w->p[c->row + r] += change;
    }
}

static bool can_slip(const perp_contact_problem* P)
{
    bool can = P->group_count == 0 && P->dof_count <= FEW_VELOCITIES;
    for (int32_t i = 0; can && i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        can = c->kind == PERP_CONSTRAINT_CONTACT && c->cone != PERP_CONE_ELLIPSOID &&
              (c->cone != PERP_CONE_POLYGON || c->rows == 2);
    }
    return can;
}

/* f <- A^-1 f, in the velocities sqrt(M_ii) v_i: the pivots must not compare metres with radians. */
static bool solve_scaled(const warm* w)
{
    const perp_contact_problem* P = w->P;
    const int32_t n = P->dof_count;
    double scale[FEW_VELOCITIES];
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
        for (int32_t i = 0; i < nv; ++i) {
            scale[d + i] = sqrt(P->M[w->M_at[b] + i * nv + i]);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            w->A[(size_t)i * (size_t)n + (size_t)j] /= scale[i] * scale[j];
        }
        w->f[i] /= scale[i];
    }
    if (!perpi_lu_factor(n, w->A, w->first, NULL)) {
        return false;
    }
    perpi_lu_solve(n, w->A, w->first, w->f);
    for (int32_t i = 0; i < n; ++i) {
        w->f[i] /= scale[i];
    }
    return true;
}

/* One step; false: the matrix is singular. */
static bool slip_step(const warm* w)
{
    const perp_contact_problem* P = w->P;
    const size_t n = (size_t)P->dof_count;
    memset(w->A, 0, n * n * sizeof *w->A);
    memset(w->f, 0, n * sizeof *w->f);
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
        for (int32_t i = 0; i < nv; ++i) {
            memcpy(w->A + (size_t)(d + i) * n + (size_t)d, P->M + w->M_at[b] + i * nv,
                   (size_t)nv * sizeof *w->A);
        }
    }
    contact_law* law = w->law;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        law[i] = law_of(c, w->p + c->row, w->u + c->row, w->W + c->row);
        add_law(w, c, &law[i]);
    }
    if (!solve_scaled(w)) {
        return false;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        apply_law(w, &P->constraint[i], &law[i]);
    }
    perpi_motion_of(P, P->M_factor, w->p, w->v);
    perpi_jacobian_apply(P, w->v, w->u);
    return true;
}

/* How far p and u are from the laws, as residual.c measures it but with one scale for all. */
static double law_violation(const warm* w)
{
    const perp_contact_problem* P = w->P;
    double worst = 0.0, size = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double *p = w->p + c->row, *u = w->u + c->row, *W = w->W + c->row;
        slip_of slip;
        double off = 0.0;
        const status_of_contact is = classify(c, p, u, W, &slip);
        for (int32_t r = 0; r < c->rows; ++r) {
            const double t = is == STATUS_OPEN ? W[r] * p[r]
                             : r == 0 || is == STATUS_STICKS
                                 ? u[r]
                                 : W[r] * (p[r] - c->mu * p[0] * slip.d[r - 1]);
            const double part = W[r] * fabs(p[r]);
            off = fabs(t) > off ? fabs(t) : off;
            size = part > size ? part : size;
        }
        worst = off <= worst ? worst : off; /* keeps a NaN */
    }
    return worst / size;
}

static perp_status correct_slipping(warm* w, double goal, perpi_made* made)
{
    double least = INFINITY;
    for (int32_t i = 0; i < SLIP_STEPS; ++i) {
        if (!slip_step(w)) {
            return PERP_OK;
        }
        made->report.iterations += 1;
        const double off = law_violation(w);
        if (off <= GOAL_STILL * goal || (i > 2 && !(off < 0.5 * least))) {
            break;
        }
        least = off < least ? off : least;
    }
    const perp_status status = perpi_contact_residual_at(w->s, w->P, w->v, w->p, &made->residual);
    made->checked = made->residual.worst <= goal;
    return status;
}

/* ---- one contact -------------------------------------------------------------------------------------*/

/* W and q of a contact with r rows; Y = L^-1 J' side by side. */
static void reduce_contact(const warm* w, const perp_constraint* c, double* W, double* q)
{
    const perp_contact_problem* P = w->P;
    double Y[4][PERPI_BLOCK_MAX], y[PERPI_BLOCK_MAX];
    for (int32_t r = 0; r < c->rows; ++r) {
        q[r] = P->b[c->row + r];
        for (int32_t k = 0; k < c->rows; ++k) {
            W[r * c->rows + k] = 0.0;
        }
    }
    for (int k = 0; k < 2; ++k) {
        const perpi_side s = perpi_side_of(P, c, k);
        if (s.nv == 0) {
            continue;
        }
        const double* L = P->M_factor + 6 * (size_t)s.d;
        memcpy(y, P->k + s.d, (size_t)s.nv * sizeof *y);
        perpi_chol_forward(s.nv, L, y);
        for (int32_t r = 0; r < c->rows; ++r) {
            memcpy(Y[r], s.J + r * s.nv, (size_t)s.nv * sizeof *y);
            perpi_chol_forward(s.nv, L, Y[r]);
            q[r] += perpi_dot(s.nv, Y[r], y);
            for (int32_t l = 0; l <= r; ++l) {
                W[r * c->rows + l] += perpi_dot(s.nv, Y[r], Y[l]);
            }
        }
    }
    for (int32_t r = 0; r < c->rows; ++r) {
        for (int32_t l = 0; l < r; ++l) {
            W[l * c->rows + r] = W[r * c->rows + l];
        }
    }
}

static bool is_unique(const perp_constraint* c, const double* W)
{
    double sum = 0.0;
    for (int32_t i = 1; i < c->rows; ++i) {
        const double e = c->cone == PERP_CONE_ELLIPSOID ? c->e[i - 1] : 1.0;
        sum += e * e * W[i] * W[i];
    }
    return c->mu * c->mu * sum < W[0] * W[0];
}

static perp_status solve_alone(warm* w, double goal, perpi_made* made)
{
    const perp_constraint* c = w->P->constraint;
    double W[16], q[4];
    if (c->kind != PERP_CONSTRAINT_CONTACT || c->rows > 4 || w->P->group_count > 0) {
        return PERP_OK;
    }
    reduce_contact(w, c, W, q);
    if (!is_unique(c, W) || !perpi_friction_solve_contact(c, W, q, w->p)) {
        return PERP_OK;
    }
    perpi_motion_of(w->P, w->P->M_factor, w->p, w->v);
    made->report.iterations = 1;
    const perp_status status = perpi_contact_residual_at(w->s, w->P, w->v, w->p, &made->residual);
    made->checked = made->residual.worst <= goal;
    return status;
}

/* ---- the whole ---------------------------------------------------------------------------------------*/

/* All arrays at once, also those of a correction, so that a later step needs no more memory. */
static perp_status reserve_warm(warm* w, double** work)
{
    const perp_contact_problem* P = w->P;
    const size_t n = (size_t)P->dof_count, rows = (size_t)P->row_count;
    const size_t room = perp_contact_residual_work(P), square = n <= LARGEST ? n * n : 0;
    /* numbers first, then what is smaller */
    const size_t blocks = (size_t)P->block_count;
    const size_t numbers = room + n + rows + square + blocks;
    const size_t laws = n <= FEW_VELOCITIES ? (size_t)P->constraint_count : 0;
    char* at = NULL;
    const perp_status status = perpi_arena_take(&w->s->arena,
                                                numbers * sizeof **work + laws * sizeof *w->law +
                                                    blocks * sizeof *w->M_at + n * sizeof *w->first,
                                                1, &at);
    if (status == PERP_OK) {
        *work = (double*)(void*)at;
        w->law = (contact_law*)(void*)(at + numbers * sizeof **work);
        w->M_at = (size_t*)(void*)(w->law + laws);
        w->first = (int32_t*)(void*)(w->M_at + blocks);
        w->f = *work + room;
        w->R = w->f + n;
        w->A = w->R + rows;
        w->size = w->A + square;
    }
    return status;
}

static void find_blocks(const warm* w)
{
    size_t at = 0;
    for (int32_t i = 0; i < w->P->block_count; ++i) {
        const size_t nv = (size_t)(w->P->dof[i + 1] - w->P->dof[i]);
        w->M_at[i] = at;
        at += nv * nv;
    }
}

/* A point that does not pass at once: w->v, w->p with its residual; guess: the velocities before. */
static perp_status improve(warm* w, double goal, double limit, const double* guess,
                           perpi_made* made, bool* near)
{
    const double worst = made->residual.worst;
    perp_status status = PERP_OK;
    find_blocks(w);
    made->checked = passes(w, worst, goal, limit, guess);
    *near = !made->checked && (worst <= goal || worst <= limit);
    if (!made->checked && w->P->constraint_count == 1) {
        status = solve_alone(w, goal, made);
    } else if (!made->checked && worst <= NEAR && w->P->dof_count <= LARGEST) {
        status = correct(w, goal, made);
    }
    if (status == PERP_OK && !made->checked && made->report.iterations == 0 && worst <= NEAR_SLIP &&
        can_slip(w->P)) {
        status = correct_slipping(w, goal, made);
    }
    return status;
}

perp_status perpi_check_warm_start(perpi_solver* s, const perp_contact_problem* P, double goal,
                                   const double* guess, double* x, perpi_made* made, bool* near)
{
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    warm w = {.s = s, .P = P, .v = x, .p = x + P->dof_count};
    double* work = NULL;
    const double largest = perpi_rest_limit(P, goal);
    /* a smaller goal is rounding, which no correction reaches: then methods would change the impulses in every
     * step, and those that the laws do not determine would drift until a contact has none */
    goal = goal >= LEAST_GOAL ? goal : MORE * goal < LEAST_GOAL ? MORE * goal : LEAST_GOAL;
    const double limit = largest >= goal ? largest : is_large(P) ? goal : GOAL_REST * goal;
    perp_status status = reserve_warm(&w, &work);
    if (status == PERP_OK) {
        perpi_motion_of(P, P->M_factor, w.p, w.v);
        perpi_contact_residual_rows(P, w.v, w.p, work, &w.u, &w.W, &made->residual);
        made->checked = made->residual.worst <= REFINE * goal;
        if (!made->checked) {
            w.t = perpi_contact_residual_terms(P, work);
            status = improve(&w, goal, limit, guess, made, near);
        }
    }
    *near = *near && !made->checked && /* also of a correction */
            (made->residual.worst <= goal || made->residual.worst <= limit);
    if (made->checked || *near) {
        static const char text[2][32] = {"the warm start", "the warm start, corrected"};
        const int which = made->report.iterations > 0;
        made->report.outcome = PERP_OUTCOME_SOLVED;
        made->report.residual = made->residual.worst;
        memcpy(made->report.detail, text[which], sizeof text[which]);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

/* ---- gaps of large islands at rest -----------------------------------------------------------------------*/

double perpi_rest_limit(const perp_contact_problem* P, double goal)
{
    const double limit = GOAL_LARGE * goal, tenth = MORE * goal;
    return !is_large(P)              ? 0.0
           : limit >= LEAST_OF_LARGE ? limit
           : tenth < LEAST_OF_LARGE  ? tenth
                                     : LEAST_OF_LARGE;
}

perp_status perpi_hold_gaps(perpi_solver* s, const perp_contact_problem* P, double limit,
                            const double* x, double* b)
{
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    const double* p = x + P->dof_count;
    double *work = NULL, *u = NULL, *W = NULL;
    const perp_status status =
        perpi_arena_take(&s->arena, perp_contact_residual_work(P), sizeof *work, &work);
    if (status == PERP_OK) {
        memcpy(b, P->b, (size_t)P->row_count * sizeof *b);
        perp_contact_residual unused;
        perpi_contact_residual_rows(P, x, p, work, &u, &W, &unused);
        for (int32_t i = 0; i < P->constraint_count; ++i) {
            const int32_t r = P->constraint[i].row;
            if (P->constraint[i].kind == PERP_CONSTRAINT_CONTACT && p[r] > 0.0 &&
                fabs(b[r]) <= limit * W[r] * p[r]) {
                b[r] = 0.0;
            }
        }
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

/* ---- rest ----------------------------------------------------------------------------------------------*/

/* R of the rows of contacts that are closed and do not open at the velocities `guess`; of the
 * others as in the answer at hand. Contacts begin without impulse. Returns whether such a contact
 * moves in that answer, or its friction is at the limit although it does not: the next step would
 * have to be solved anew, and its impulses drift. known: impulses of a step before are known; then
 * everything must have been at rest. */
static bool find_resting(const warm* w, const double* guess, bool known)
{
    const perp_contact_problem* P = w->P;
    double speed = 0.0;
    bool needed = false;
    for (int32_t r = 0; r < P->row_count; ++r) {
        const double t = w->W[r] * fabs(w->p[r]);
        speed = t > speed ? t : speed;
    }
    const double rest = MOVES * speed;
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const bool contact = c->kind == PERP_CONSTRAINT_CONTACT;
        const double *u = w->u + c->row, *W = w->W + c->row;
        double *p = w->p + c->row, *R = w->R + c->row;
        bool active = true;
        if (contact) {
            active = perpi_row_velocity(P, c, 0, guess) <= rest;
            needed = needed || (active && p[0] > 0.0 && !sticks(c, p, u, W));
        } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            if (!keeps_bounds(P, c, p, u, W, &active)) {
                return false;
            }
        } else if (c->kind != PERP_CONSTRAINT_EQUALITY) {
            return false;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            R[r] = active ? multiplier_weight(P, c, r, W[r]) : 0.0;
            if (contact && known && active && !(fabs(perpi_row_velocity(P, c, r, guess)) <= rest)) {
                return false;
            }
            needed = needed || (contact && active && fabs(u[r]) > rest);
            p[r] = contact ? 0.0 : p[r];
        }
    }
    return needed;
}

perp_status perpi_prefer_rest(perpi_solver* s, const perp_contact_problem* P, double goal,
                              const double* guess, bool known, double* x, perpi_made* made)
{
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    warm w = {.s = s, .P = P, .v = x, .p = x + P->dof_count};
    double* work = NULL;
    if (P->group_count > 0 || P->dof_count > LARGEST) {
        return PERP_OK;
    }
    perp_status status = reserve_warm(&w, &work);
    if (status == PERP_OK) {
        find_blocks(&w);
        perp_contact_residual unused;
        perpi_contact_residual_rows(P, w.v, w.p, work, &w.u, &w.W, &unused);
        if (find_resting(&w, guess, known)) {
            perpi_motion_of(P, P->M_factor, w.p, w.v);
            status = hold_active(&w, goal, made);
        }
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}
