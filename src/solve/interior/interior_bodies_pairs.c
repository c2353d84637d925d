/* src/solve/interior/interior_bodies_pairs.c - steps along the curve of the central path, in one number of each pair.
 *
 * Notation   On the curve every product is tau, so that of two numbers one follows from the other. The free
 *            one is the larger:
 *                p_n, w             w = tau / p_n, or p_n = tau / w
 *                stick, p_n - |p_t| > s + |z_t|:  p free,  z = tau p^-1 in the algebra of the cone
 *                slip:  p_n and z_t free,
 *                                   s (s - tau / p_n) = |z_t|^2,  p_t = -(p_n / s) z_t
 *                bounded row        p free, or a_low or a_up beside its bound
 * Why        The smaller number of a pair falls with tau, and near a contact that opens, closes, sticks or slips
 *            its relative change is large where the larger one hardly changes. Measured and predicted in the
 *            free numbers alone, the curve is nearly straight over a decade of tau and more: half as many
 *            steps. What the linear equations then lack is small, since the numbers that follow are.
 */
#include <math.h>

#include "base/threads.h"
#include "solve/interior/interior_bodies.h"

enum {
    GRAIN = 600, /* constraints for a thread to gain */
    ROOT_STEPS = 60
};

#define TURN_WEIGHT 2.0 /* of a turn (rad) beside relative changes */

PERPI_INLINE double tail(int32_t n, const double* a)
{
    return perpi_soc_norm(n, a + 1);
}

/* Which bound a row of a bounded constraint is beside: -1, 1; 0: neither. */
static int beside(const perpi_interior_bodies* s, int32_t row)
{
    if (s->low[row] > 0.0 && s->low[row] > s->p[row] - perpi_interior_lower(s, row)) {
        return -1;
    }
    return s->up[row] > 0.0 && s->up[row] > perpi_interior_upper(s, row) - s->p[row] ? 1 : 0;
}

/* Whether cone contact i, of m rows, sticks. */
PERPI_INLINE bool is_sticking(int32_t m, const perpi_interior_bodies* s, int32_t i)
{
    const int32_t row = s->P->constraint[i].row, n = m - 1;
    const double *p = s->p + row, *z = s->z + row;
    return perpi_interior_polar(s, i, m) ? s->g2[i] > z[0] + s->ru[i]
                                         : p[0] - tail(n, p) > z[0] + tail(n, z);
}

void perpi_interior_choose_free(perpi_interior_bodies* s)
{
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const int32_t rows = s->P->constraint[i].rows;
        s->sticks[i] = s->law_of[i] == LAW_CONE && PERPI_BY_ROWS(is_sticking, rows, s, i);
    }
}

/* ---- relative changes -------------------------------------------------------------------------------------*/

/* Of p inside its cone: its two eigenvalues, and across. */
PERPI_INLINE int32_t stick_changes(int32_t m, const perpi_interior_bodies* s, int32_t i,
                                   const perpi_interior_direction* d, double* v)
{
    const perp_constraint* c = &s->P->constraint[i];
    const double *p = s->p + c->row, *dp = d->p + c->row;
    const int32_t n = m - 1;
    if (perpi_interior_polar(s, i, m)) {
        v[0] = d->g2[i] / s->g2[i];
        v[1] = (dp[0] + d->rp[i]) / (p[0] + s->rp[i]);
        v[2] = TURN_WEIGHT * d->phi[i];
        return 3;
    }
    const double t = tail(n, p);
    const double along = t > 0.0 ? perpi_interior_dot(n, p + 1, dp + 1) / t : 0.0;
    const double across = perpi_interior_dot(n, dp + 1, dp + 1) - along * along;
    v[0] = (dp[0] - along) / (p[0] - t);
    v[1] = (dp[0] + along) / (p[0] + t);
    v[2] = across > 0.0 ? sqrt(across / ((p[0] - t) * (p[0] + t))) : 0.0;
    return 3;
}

PERPI_INLINE int32_t changes_of(int32_t m, const perpi_interior_bodies* s, int32_t i,
                                const perpi_interior_direction* d, double* v)
{
    const perp_constraint* c = &s->P->constraint[i];
    int32_t n = 0;
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        v[n++] = s->p[c->row] >= s->w[i] ? d->p[c->row] / s->p[c->row] : d->w[i] / s->w[i];
    }
    if (s->sticks[i]) {
        n += stick_changes(m, s, i, d, v + n);
    } else if (s->law_of[i] == LAW_CONE && perpi_interior_polar(s, i, m)) {
        v[n++] = d->ru[i] / s->ru[i];
        v[n++] = TURN_WEIGHT * d->phi[i];
    } else if (s->law_of[i] == LAW_CONE) {
        for (int32_t r = 1; r < m; ++r) {
            v[n++] = d->z[c->row + r] / s->z[c->row];
        }
    } else if (s->law_of[i] == LAW_BOUNDED) {
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            const int side = beside(s, r);
            if (side != 0) {
                v[n++] = side < 0 ? d->low[r] / s->low[r] : d->up[r] / s->up[r];
                continue;
            }
            if (s->low[r] > 0.0) {
                v[n++] = d->p[r] / (s->p[r] - perpi_interior_lower(s, r));
            }
            if (s->up[r] > 0.0) {
                v[n++] = -d->p[r] / (perpi_interior_upper(s, r) - s->p[r]);
            }
        }
    }
    return n;
}

int32_t perpi_interior_changes(const perpi_interior_bodies* s, int32_t i,
                               const perpi_interior_direction* d, double* v)
{
    return PERPI_BY_ROWS(changes_of, s->P->constraint[i].rows, s, i, d, v);
}

/* ---- step length ------------------------------------------------------------------------------------------*/

/* The lesser of t and how far a positive number can go. */
static double until_zero(double t, double value, double change)
{
    return change < 0.0 && value < -t * change ? -value / change : t;
}

static double until_turned(double t, double phi)
{
    return fabs(phi) * t > PERPI_INTERIOR_TURN ? PERPI_INTERIOR_TURN / fabs(phi) : t;
}

/* The lesser of t and how far p of a contact that sticks stays in its cone. */
PERPI_INLINE double until_cone(int32_t m, const perpi_interior_bodies* s, int32_t i,
                               const perpi_interior_direction* d, double t)
{
    const perp_constraint* c = &s->P->constraint[i];
    const double *p = s->p + c->row, *dp = d->p + c->row;
    const int32_t n = m - 1;
    if (perpi_interior_polar(s, i, m)) {
        return until_turned(until_zero(t, s->g2[i], d->g2[i]), d->phi[i]);
    }
    const double size = tail(n, p), C = (p[0] - size) * (p[0] + size);
    const double A = dp[0] * dp[0] - perpi_interior_dot(n, dp + 1, dp + 1);
    const double B = p[0] * dp[0] - perpi_interior_dot(n, p + 1, dp + 1);
    const double square = B * B - A * C;
    if (A < 0.0 || (B < 0.0 && square >= 0.0)) {
        const double at = C / (sqrt(square > 0.0 ? square : 0.0) - B);
        return at > 0.0 && at < t ? at : t;
    }
    return t;
}

static double constraint_reach(const perpi_interior_bodies* s, int32_t i,
                               const perpi_interior_direction* d, double t)
{
    const perp_constraint* c = &s->P->constraint[i];
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        t = s->p[c->row] >= s->w[i] ? until_zero(t, s->p[c->row], d->p[c->row])
                                    : until_zero(t, s->w[i], d->w[i]);
    }
    if (s->sticks[i]) {
        return PERPI_BY_ROWS(until_cone, c->rows, s, i, d, t);
    }
    if (s->law_of[i] == LAW_CONE && s->polar[i]) {
        return until_turned(until_zero(t, s->ru[i], d->ru[i]), d->phi[i]);
    }
    for (int32_t r = c->row; s->law_of[i] == LAW_BOUNDED && r < c->row + c->rows; ++r) {
        const int side = beside(s, r);
        if (side != 0) {
            t = side < 0 ? until_zero(t, s->low[r], d->low[r]) : until_zero(t, s->up[r], d->up[r]);
        }
        if (side == 0 && s->low[r] > 0.0) {
            t = until_zero(t, s->p[r] - perpi_interior_lower(s, r), d->p[r]);
        }
        if (side == 0 && s->up[r] > 0.0) {
            t = until_zero(t, perpi_interior_upper(s, r) - s->p[r], -d->p[r]);
        }
    }
    return t;
}

double perpi_interior_reach_free(const perpi_interior_bodies* s, const perpi_interior_direction* d)
{
    return perpi_interior_least(s, d, constraint_reach);
}

/* ---- a step -----------------------------------------------------------------------------------------------*/

typedef struct step_job {
    perpi_interior_bodies* s;
    const perpi_interior_direction* d;
    double t, tau;
} step_job;

static void turn(const double* e, double angle, double size, double* out)
{
    const double co = cos(angle), si = sin(angle);
    out[0] = size * (co * e[0] - si * e[1]);
    out[1] = size * (co * e[1] + si * e[0]);
}

PERPI_INLINE void move_stick(int32_t m, const step_job* job, int32_t i)
{
    perpi_interior_bodies* s = job->s;
    const perp_constraint* c = &s->P->constraint[i];
    double *p = s->p + c->row, *z = s->z + c->row, size;
    const int32_t n = m - 1;
    if (perpi_interior_polar(s, i, m)) {
        s->g2[i] += job->t * job->d->g2[i];
        size = p[0] - s->g2[i];
        turn(s->e + 2 * (size_t)i, job->t * job->d->phi[i], size, p + 1);
    } else {
        for (int32_t r = 1; r <= n; ++r) {
            p[r] += job->t * job->d->p[c->row + r];
        }
        size = tail(n, p);
        s->g2[i] = p[0] - size;
    }
    s->g1[i] = job->tau / (p[0] + size);
    z[0] = s->g1[i] * p[0] / s->g2[i];
    for (int32_t r = 1; r <= n; ++r) {
        z[r] = -s->g1[i] * p[r] / s->g2[i];
    }
}

PERPI_INLINE void move_slip(int32_t m, const step_job* job, int32_t i)
{
    perpi_interior_bodies* s = job->s;
    const perp_constraint* c = &s->P->constraint[i];
    double *p = s->p + c->row, *z = s->z + c->row;
    const int32_t n = m - 1;
    if (perpi_interior_polar(s, i, m)) {
        const double ru = s->ru[i] + job->t * job->d->ru[i];
        turn(s->e + 2 * (size_t)i, job->t * job->d->phi[i], -ru, z + 1);
    } else {
        for (int32_t r = 1; r <= n; ++r) {
            z[r] += job->t * job->d->z[c->row + r];
        }
    }
    const double a = job->tau / p[0], slip = tail(n, z), root = sqrt(a * a + 4.0 * slip * slip);
    z[0] = 0.5 * (a + root);
    s->g1[i] = 0.5 * a + 0.5 * a * a / (root + 2.0 * slip); /* s - |z_t| without cancellation */
    s->g2[i] = p[0] * s->g1[i] / z[0];
    for (int32_t r = 1; r <= n; ++r) {
        p[r] = -p[0] / z[0] * z[r];
    }
}

static void move_bounded(const step_job* job, int32_t row)
{
    perpi_interior_bodies* s = job->s;
    const double low = perpi_interior_lower(s, row), high = perpi_interior_upper(s, row);
    const int side = beside(s, row);
    if (side < 0) {
        s->low[row] += job->t * job->d->low[row];
        s->p[row] = low + job->tau / s->low[row];
    } else if (side > 0) {
        s->up[row] += job->t * job->d->up[row];
        s->p[row] = high - job->tau / s->up[row];
    } else {
        s->p[row] += job->t * job->d->p[row];
    }
    if (side >= 0 && s->low[row] > 0.0) {
        s->low[row] = job->tau / (s->p[row] - low);
    }
    if (side <= 0 && s->up[row] > 0.0) {
        s->up[row] = job->tau / (high - s->p[row]);
    }
}

static void move_part(int32_t begin, int32_t end, void* data)
{
    const step_job* job = data;
    perpi_interior_bodies* s = job->s;
    for (int32_t i = begin; i < end; ++i) {
        const perp_constraint* c = &s->P->constraint[i];
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            for (int32_t r = c->row; r < c->row + c->rows; ++r) {
                if (s->law_of[i] == LAW_BOUNDED && !perpi_interior_fixed(s, r)) {
                    move_bounded(job, r);
                } else {
                    s->p[r] += job->t * job->d->p[r];
                }
            }
            continue;
        }
        if (s->p[c->row] >= s->w[i]) {
            s->p[c->row] += job->t * job->d->p[c->row];
            s->w[i] = job->tau / s->p[c->row];
        } else {
            s->w[i] += job->t * job->d->w[i];
            s->p[c->row] = job->tau / s->w[i];
        }
        if (s->sticks[i]) {
            PERPI_BY_ROWS(move_stick, c->rows, job, i);
        } else if (s->law_of[i] == LAW_CONE) {
            PERPI_BY_ROWS(move_slip, c->rows, job, i);
        } else {
            for (int32_t r = c->row + 1; r < c->row + c->rows; ++r) {
                s->p[r] += job->t * job->d->p[r];
            }
        }
    }
}

void perpi_interior_move_free(perpi_interior_bodies* s, const perpi_interior_direction* d, double t,
                              double tau)
{
    step_job job = {.s = s, .d = d, .t = t, .tau = tau};
    for (int32_t i = 0; i < s->P->dof_count; ++i) {
        s->x[i] += t * d->x[i];
    }
    perpi_for_parts(s->context, s->P->constraint_count, GRAIN, move_part, &job);
}

/* ---- the point near given impulses ------------------------------------------------------------------------*/

/* The a > 0 with a - tau / a = x. */
static double positive_root(double x, double tau)
{
    const double root = sqrt(x * x + 4.0 * tau);
    return x > 0.0 ? 0.5 * (x + root) : 2.0 * tau / (root - x);
}

/* The x in (0, p_n] with (p_n - x) (1 + tau / (x (2 p_n - x))) = size: Newton's method between bounds, on the
 * equation without its denominator, which falls. */
static double cone_gap(double p_n, double size, double tau)
{
    double low = 0.0, high = p_n;
    double x = size >= p_n ? 0.5 * tau / (size - p_n + sqrt(tau))
                           : p_n - size * p_n * p_n / (p_n * p_n + tau);
    for (int i = 0; i < ROOT_STEPS; ++i) {
        x = x > low && x < high ? x : low > 0.0 ? sqrt(low * high) : 0.5 * high;
        const double q = x * (2.0 * p_n - x), rest = p_n - x;
        const double value = rest * (q + tau) - size * q;
        if (value > 0.0) {
            low = x;
        } else {
            high = x;
        }
        const double change = value / (2.0 * rest * (rest - size) - (q + tau));
        x -= change;
        if (fabs(change) <= 1e-15 * x) {
            break;
        }
    }
    return x < p_n ? x : p_n;
}

/* p_t and z with p_t - z_t as before, p_t in the cone of p_n, and the product tau. */
static void start_cone(perpi_interior_bodies* s, int32_t i, double tau)
{
    const perp_constraint* c = &s->P->constraint[i];
    double *p = s->p + c->row, *z = s->z + c->row, y[PERPI_BODY_ROWS_MAX];
    const int32_t n = c->rows - 1;
    for (int32_t r = 1; r <= n; ++r) {
        y[r] = p[r] - s->u[c->row + r];
    }
    const double size = tail(n, y), gap = cone_gap(p[0], size, tau), slip = p[0] - gap;
    s->g2[i] = gap;
    s->g1[i] = tau / (p[0] + slip);
    z[0] = s->g1[i] * p[0] / gap;
    for (int32_t r = 1; r <= n; ++r) {
        p[r] = size > 0.0 ? slip / size * y[r] : 0.0;
        z[r] = -s->g1[i] / gap * p[r];
    }
}

/* The p with p - tau / (p - low) + tau / (high - p) = y. */
static double between_bounds(double low, double high, double y, double tau)
{
    double from = isfinite(high) ? high - positive_root(high - y, tau) : -INFINITY;
    double to = isfinite(low) ? low + positive_root(y - low, tau) : INFINITY;
    if (!isfinite(from) || !isfinite(to)) {
        return isfinite(from) ? from : isfinite(to) ? to : y;
    }
    from = from > low ? from : low;
    to = to < high ? to : high;
    for (int i = 0; i < ROOT_STEPS; ++i) {
        const double p = 0.5 * (from + to);
        if (p - tau / (p - low) + tau / (high - p) < y) {
            from = p;
        } else {
            to = p;
        }
    }
    return 0.5 * (from + to);
}

static void start_bounded(perpi_interior_bodies* s, int32_t row, double tau)
{
    const double low = perpi_interior_lower(s, row), high = perpi_interior_upper(s, row);
    if (perpi_interior_fixed(s, row)) {
        s->p[row] = low;
        return;
    }
    double p = between_bounds(low, high, s->p[row] - s->u[row], tau);
    if (!(p > low && p < high)) { /* by rounding */
        p = isfinite(low) && isfinite(high) ? 0.5 * (low + high)
            : isfinite(low)                 ? low + sqrt(tau)
                                            : high - sqrt(tau);
    }
    s->p[row] = p;
    s->low[row] = isfinite(low) ? tau / (p - low) : 0.0;
    s->up[row] = isfinite(high) ? tau / (high - p) : 0.0;
}

static void start_part(int32_t begin, int32_t end, void* data)
{
    const step_job* job = data;
    perpi_interior_bodies* s = job->s;
    for (int32_t i = begin; i < end; ++i) {
        const perp_constraint* c = &s->P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            const double y = s->p[c->row] - s->u[c->row];
            s->p[c->row] = positive_root(y, job->tau);
            s->w[i] = positive_root(-y, job->tau);
        }
        for (int32_t r = c->row + 1; s->law_of[i] == LAW_NORMAL && r < c->row + c->rows; ++r) {
            s->p[r] = 0.0;
        }
        for (int32_t r = c->row; s->law_of[i] == LAW_BOUNDED && r < c->row + c->rows; ++r) {
            start_bounded(s, r, job->tau);
        }
        if (s->law_of[i] == LAW_CONE) {
            start_cone(s, i, job->tau);
        }
    }
}

/* In place of p - u, whose part in the cone is p and the rest -u where the law holds, a pair with product tau that
 * has the same difference: the smoothing of Chen, Harker, Kanzow and Smale. */
void perpi_interior_start_near(perpi_interior_bodies* s, double tau)
{
    const perp_contact_problem* P = s->P;
    step_job job = {.s = s, .tau = tau};
    perpi_body_add_impulses(s->matrix, P, s->H, s->y, 1.0, s->p, s->x);
    perpi_body_velocities(s->matrix, P, s->H, s->b, s->x, s->u);
    perpi_for_parts(s->context, P->constraint_count, GRAIN, start_part, &job);
    perpi_body_add_impulses(s->matrix, P, s->H, s->y, 1.0, s->p, s->x);
}
