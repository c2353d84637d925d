/* src/solve/frictional/friction_local.c - see friction_local.h.
 *
 * Source     one contact: for a round cone the slide u_t = -alpha r_t turns the law into a secular
 *            equation in the scalar alpha, as in trust-region methods; cf. Bonnefon, Daviet, "Quartic
 *            formulation of Coulomb 3D frictional contact" (2011), who solve a quartic in alpha
 * Departure  the root is found by a bracketed Newton iteration on mu r_n / |r_t| - 1, nearly linear in
 *            alpha, for any number of tangential rows; polygons by their vertices and edges
 */
#include "solve/frictional/friction_local.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "problem/cone.h"

enum { ROWS_MAX = 4 };

/* ---- velocities ------------------------------------------------------------------------------------*/

static void add_block(int32_t m, int32_t n, const double* B, const double* x, double* y)
{
    if (m == 3 && n == 3) {
        const double x0 = x[0], x1 = x[1], x2 = x[2];
        y[0] += B[0] * x0 + B[1] * x1 + B[2] * x2;
        y[1] += B[3] * x0 + B[4] * x1 + B[5] * x2;
        y[2] += B[6] * x0 + B[7] * x1 + B[8] * x2;
        return;
    }
    if (m == 2 && n == 2) {
        const double x0 = x[0], x1 = x[1];
        y[0] += B[0] * x0 + B[1] * x1;
        y[1] += B[2] * x0 + B[3] * x1;
        return;
    }
    for (int32_t i = 0; i < m; ++i, B += n) {
        double t = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            t += B[j] * x[j];
        }
        y[i] += t;
    }
}

/* Most contacts of bodies that meet at many points have no impulse: reading it takes less time than reading
 * their block of W. */
static bool has_no_impulse(const double* r, int32_t rows)
{
    bool none = true;
    for (int32_t k = 0; k < rows && none; ++k) {
        none = r[k] == 0.0;
    }
    return none;
}

void perpi_friction_velocity(const perp_friction_problem* P, int32_t i, bool own, const double* r,
                             double* u_i)
{
    const perp_constraint* c = &P->constraint[i];
    for (int32_t k = 0; k < c->rows; ++k) {
        u_i[k] = P->q[c->row + k];
    }
    for (int32_t k = P->W.start[i]; k < P->W.start[i + 1]; ++k) {
        const int32_t j = P->W.column[k];
        const perp_constraint* o = &P->constraint[j];
        if ((j != i || own) && !has_no_impulse(r + o->row, o->rows)) {
            add_block(c->rows, o->rows, P->W.value + P->W.at[k], r + o->row, u_i);
        }
    }
}

void perpi_friction_velocities(const perp_friction_problem* P, const double* r, double* u)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        perpi_friction_velocity(P, i, true, r, u + P->constraint[i].row);
    }
}

/* ---- one contact -----------------------------------------------------------------------------------*/

static bool is_ellipsoid(const perp_constraint* c)
{
    return c->kind == PERP_CONSTRAINT_CONTACT && c->cone == PERP_CONE_ELLIPSOID;
}

static bool is_polygon(const perp_constraint* c)
{
    return c->cone == PERP_CONE_POLYGON && c->rows == 3;
}

static bool has_friction(const perp_constraint* c)
{
    return c->rows > 1 && c->cone != PERP_CONE_NONE && c->mu > 0.0;
}

/* y <- -(S + alpha I)^-1 b by cofactors, n <= 3; false: singular. */
static bool solve_shifted(int32_t n, const double* S, double alpha, const double* b, double* y)
{
    if (n == 1) {
        const double d = S[0] + alpha;
        y[0] = -b[0] / d;
        return d != 0.0;
    }
    if (n == 2) {
        const double a00 = S[0] + alpha, a11 = S[3] + alpha;
        const double det = a00 * a11 - S[1] * S[2];
        y[0] = -(a11 * b[0] - S[1] * b[1]) / det;
        y[1] = -(a00 * b[1] - S[2] * b[0]) / det;
        return det != 0.0;
    }
    const double a = S[0] + alpha, e = S[4] + alpha, i = S[8] + alpha;
    const double c00 = e * i - S[5] * S[7], c01 = S[5] * S[6] - S[3] * i,
                 c02 = S[3] * S[7] - e * S[6];
    const double det = a * c00 + S[1] * c01 + S[2] * c02;
    y[0] = -(c00 * b[0] + (S[2] * S[7] - S[1] * i) * b[1] + (S[1] * S[5] - S[2] * e) * b[2]) / det;
    y[1] = -(c01 * b[0] + (a * i - S[2] * S[6]) * b[1] + (S[2] * S[3] - a * S[5]) * b[2]) / det;
    y[2] = -(c02 * b[0] + (S[1] * S[6] - a * S[7]) * b[1] + (a * e - S[1] * S[3]) * b[2]) / det;
    return det != 0.0;
}

static inline double norm(int32_t n, const double* x)
{
    if (n == 2) {
        return sqrt(x[0] * x[0] + x[1] * x[1]);
    }
    double t = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        t += x[i] * x[i];
    }
    return sqrt(t);
}

static inline double dot(int32_t n, const double* x, const double* y)
{
    if (n == 2) {
        return 0.0 + x[0] * y[0] + x[1] * y[1]; /* as the loop: 0, not -0 */
    }
    double t = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        t += x[i] * y[i];
    }
    return t;
}

typedef perpi_friction_closed closed;

/* The part that depends on W alone. */
static void close_matrix(int32_t rows, double mu, const double* W, closed* k)
{
    k->n = rows - 1;
    k->mu = mu;
    k->trace = 0.0;
    for (int32_t i = 0; i < k->n; ++i) {
        const double w_in = W[(i + 1) * rows];
        k->a[i] = W[1 + i] / W[0];
        for (int32_t j = 0; j < k->n; ++j) {
            k->S[i * k->n + j] = W[(i + 1) * rows + 1 + j] - w_in * (W[1 + j] / W[0]);
        }
        k->trace += fabs(W[(i + 1) * rows + 1 + i]);
    }
}

static void close_vector(const double* W, const double* q, closed* k)
{
    const double t = q[0] / W[0];
    k->r0 = -t;
    for (int32_t i = 0; i < k->n; ++i) {
        k->b[i] = q[1 + i] - W[(i + 1) * (k->n + 1)] * t;
    }
}

/* The sticking impulse r_t and its r_n; a singular S is shifted by rounding, which gives the least
 * r_t where there are many. */
static bool solve_sticking(const closed* k, double* r_n, double* r_t)
{
    bool regular = solve_shifted(k->n, k->S, 0.0, k->b, r_t);
    const double length = norm(k->n, r_t);
    double size = 0.0;
    for (int32_t i = 0; i < k->n && regular; ++i) { /* does u_t vanish to rounding? */
        double u = k->b[i];
        for (int32_t j = 0; j < k->n; ++j) {
            u += k->S[i * k->n + j] * r_t[j];
        }
        size = fabs(k->b[i]) > size ? fabs(k->b[i]) : size;
        regular = fabs(u) <= 1e-10 * (size + k->trace * length);
    }
    if (!regular || !(k->trace * length <= 1e12 * (norm(k->n, k->b)))) {
        regular = solve_shifted(k->n, k->S, 4.0 * DBL_EPSILON * k->trace, k->b, r_t);
    }
    *r_n = k->r0 - dot(k->n, k->a, r_t);
    return regular && isfinite(*r_n);
}

/* Root of g(alpha) = mu r_n / |r_t| - 1, (S + alpha I) r_t = -b, between g(0) < 0 and g(inf) > 0. */
static bool solve_sliding(const closed* k, double alpha, double* r_n, double* r_t)
{
    const int32_t n = k->n;
    double low = 0.0, high = INFINITY;
    if (!(alpha > 0.0) || !(alpha < INFINITY)) {
        alpha = norm(n, k->b) / (k->mu * k->r0); /* exact as alpha grows */
    }
    for (int32_t it = 0; it < 100; ++it) {
        double z[3];
        if (!(alpha > 0.0) || !solve_shifted(n, k->S, alpha, k->b, r_t)) {
            return false;
        }
        *r_n = k->r0 - dot(n, k->a, r_t);
        const double length = norm(n, r_t);
        const double g = k->mu * *r_n / length - 1.0;
        if (!isfinite(g)) {
            return false;
        }
        if (fabs(g) <= 2.0 * DBL_EPSILON) {
            break;
        }
        if (g < 0.0) {
            low = alpha;
        } else {
            high = alpha;
        }
        /* z = d r_t / d alpha = -(S + alpha I)^-1 r_t */
        solve_shifted(n, k->S, alpha, r_t, z);
        const double dg = -k->mu * dot(n, k->a, z) / length -
                          k->mu * *r_n * dot(n, r_t, z) / (length * length * length);
        double next = alpha - g / dg;
        if (!(next > low && next < high)) {
            next = high == INFINITY ? 8.0 * alpha
                   : low == 0.0     ? 0.0625 * high
                                    : sqrt(low) * sqrt(high);
        }
        if (!(fabs(next - alpha) > DBL_EPSILON * alpha) ||
            (high < INFINITY && high - low <= 2.0 * DBL_EPSILON * high)) {
            break;
        }
        alpha = next;
    }
    return *r_n > 0.0;
}

/* Round cone: r in scaled coordinates. */
static bool solve_round(const double* W, const closed* k, const double* q, double* r)
{
    const int32_t n = k->n;
    double r_n, r_t[3];
    if (solve_sticking(k, &r_n, r_t) && r_n >= 0.0 && norm(n, r_t) <= k->mu * r_n) {
        r[0] = r_n;
        memcpy(r + 1, r_t, (size_t)n * sizeof *r);
        return true;
    }
    /* alpha from the slip of the guess: accurate near convergence */
    double u_t[3];
    for (int32_t i = 0; i < n; ++i) {
        u_t[i] = q[1 + i];
        for (int32_t j = 0; j <= n; ++j) {
            u_t[i] += W[(i + 1) * (n + 1) + j] * r[j];
        }
    }
    if (!solve_sliding(k, norm(n, u_t) / norm(n, r + 1), &r_n, r_t)) {
        return false;
    }
    /* r_t onto the cone and u_n = 0, both exactly, in the direction found */
    const double length = norm(n, r_t);
    double along = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        r_t[i] /= length;
        along += k->a[i] * r_t[i];
    }
    const double slope = 1.0 + k->mu * along;
    if (slope > 0.0) {
        r_n = k->r0 / slope;
    }
    r[0] = r_n;
    for (int32_t i = 0; i < n; ++i) {
        r[1 + i] = k->mu * r_n * r_t[i];
    }
    return isfinite(r_n);
}

/* Polygon: tries the interior, then each corner and edge; takes the first without a violation, else
 * the one with the least. */
static bool solve_polygon(int32_t nd, const closed* k, double* r)
{
    double r_n, r_t[2];
    if (solve_sticking(k, &r_n, r_t) && r_n >= 0.0) {
        double on[2];
        perpi_project_polygon(nd, k->mu * r_n, r_t, on);
        if (hypot(r_t[0] - on[0], r_t[1] - on[1]) <= 4.0 * DBL_EPSILON * k->mu * r_n) {
            r[0] = r_n;
            r[1] = on[0];
            r[2] = on[1];
            return true;
        }
    }
    double least = INFINITY, best[3] = {0.0, 0.0, 0.0};
    const double size = norm(2, k->b) + k->trace * fabs(k->r0);
    for (int32_t j = 0; j < nd && least > 0.0; ++j) {
        double d0[2], d1[2], d2[2];
        perpi_polygon_direction(nd, j == 0 ? nd - 1 : j - 1, d0);
        perpi_polygon_direction(nd, j, d1);
        perpi_polygon_direction(nd, j + 1 == nd ? 0 : j + 1, d2);
        /* corner: r_t = mu r_n d1, -u_t in the corner's normal cone */
        const double slope = 1.0 + k->mu * dot(2, k->a, d1);
        double x[2], u[2], off;
        r_n = k->r0 / slope;
        if (slope > 0.0) {
            x[0] = k->mu * r_n * d1[0];
            x[1] = k->mu * r_n * d1[1];
            u[0] = k->S[0] * x[0] + k->S[1] * x[1] + k->b[0];
            u[1] = k->S[2] * x[0] + k->S[3] * x[1] + k->b[1];
            const double e0 = -u[0] * (d0[0] - d1[0]) - u[1] * (d0[1] - d1[1]);
            const double e2 = -u[0] * (d2[0] - d1[0]) - u[1] * (d2[1] - d1[1]);
            off = e0 > e2 ? e0 : e2;
            off = off <= 4.0 * DBL_EPSILON * size ? 0.0 : off / size;
            if (off < least) {
                least = off;
                best[0] = r_n;
                best[1] = x[0];
                best[2] = x[1];
            }
        }
        /* edge d1 d2: r_t = x0 d1 + x1 d2, x0 + x1 = mu r_n, u_t . (d2 - d1) = 0 */
        const double t[2] = {d2[0] - d1[0], d2[1] - d1[1]};
        const double tS[2] = {t[0] * k->S[0] + t[1] * k->S[2], t[0] * k->S[1] + t[1] * k->S[3]};
        const double m00 = 1.0 + k->mu * dot(2, k->a, d1), m01 = 1.0 + k->mu * dot(2, k->a, d2);
        const double m10 = dot(2, tS, d1), m11 = dot(2, tS, d2);
        const double det = m00 * m11 - m01 * m10, f0 = k->mu * k->r0, f1 = -dot(2, t, k->b);
        const double x0 = (f0 * m11 - m01 * f1) / det, x1 = (m00 * f1 - m10 * f0) / det;
        if (!isfinite(x0) || !isfinite(x1)) {
            continue;
        }
        const double short_by = (x0 < x1 ? -x0 : -x1) / (k->mu * k->r0);
        x[0] = x0 * d1[0] + x1 * d2[0];
        x[1] = x0 * d1[1] + x1 * d2[1];
        u[0] = k->S[0] * x[0] + k->S[1] * x[1] + k->b[0];
        u[1] = k->S[2] * x[0] + k->S[3] * x[1] + k->b[1];
        off =
            (u[0] * (d1[0] + d2[0]) + u[1] * (d1[1] + d2[1])) / size; /* must not point outwards */
        off = off > short_by ? off : short_by;
        off = off <= 4.0 * DBL_EPSILON ? 0.0 : off;
        if (off < least) {
            least = off;
            best[0] = (x0 + x1) / k->mu;
            best[1] = x[0];
            best[2] = x[1];
        }
    }
    if (!(least <= 1e-9) || !(best[0] >= 0.0)) {
        return false;
    }
    memcpy(r, best, sizeof best);
    return true;
}

/* r <- one projected step from r; for a local problem without an answer. */
static void step_projected(const perp_constraint* c, const double* W, const double* q, double* r)
{
    const int32_t n = c->rows;
    double u[ROWS_MAX], x[3], W_t = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        u[i] = q[i] + dot(n, W + i * n, r);
        if (i > 0) {
            W_t = W[i * n + i] > W_t ? W[i * n + i] : W_t;
        }
    }
    if (W[0] > 0.0) {
        r[0] -= u[0] / W[0];
    }
    r[0] = r[0] > 0.0 ? r[0] : 0.0;
    for (int32_t i = 1; i < n; ++i) {
        x[i - 1] = r[i] - (W_t > 0.0 ? u[i] / W_t : 0.0);
    }
    if (n > 1) {
        perpi_project_friction(c, c->mu * r[0], x, r + 1);
    }
}

/* k: the part that depends on W, precomputed, or NULL. */
static bool solve_contact(const perp_constraint* c, const double* W, closed* k, const double* q,
                          double* r)
{
    const int32_t n = c->rows;
    if (q[0] >= 0.0) {
        memset(r, 0, (size_t)n * sizeof *r);
        return true;
    }
    if (!has_friction(c)) {
        memset(r, 0, (size_t)n * sizeof *r);
        r[0] = W[0] > 0.0 ? -q[0] / W[0] : 0.0;
        return W[0] > 0.0;
    }
    double Ws[ROWS_MAX * ROWS_MAX], qs[ROWS_MAX], rs[ROWS_MAX], e[ROWS_MAX];
    const bool scaled = is_ellipsoid(c);
    if (scaled) {
        for (int32_t i = 0; i < n; ++i) {
            e[i] = i == 0 ? 1.0 : c->e[i - 1];
        }
        for (int32_t i = 0; i < n; ++i) {
            qs[i] = e[i] * q[i];
            rs[i] = r[i] / e[i];
            for (int32_t j = 0; j < n; ++j) {
                Ws[i * n + j] = e[i] * W[i * n + j] * e[j];
            }
        }
        W = Ws;
        q = qs;
    } else {
        memcpy(rs, r, (size_t)n * sizeof *r);
    }
    bool found = false;
    if (W[0] > 0.0) {
        closed own;
        if (k == NULL) {
            close_matrix(n, c->mu, W, &own);
            k = &own;
        }
        close_vector(W, q, k);
        found = is_polygon(c) ? solve_polygon(c->directions, k, rs) : solve_round(W, k, q, rs);
    }
    if (!found) {
        step_projected(c, W, q, rs);
    }
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(rs[i])) {
            return false;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        r[i] = scaled ? rs[i] * e[i] : rs[i];
    }
    return found;
}

bool perpi_friction_solve_contact(const perp_constraint* c, const double* W, const double* q,
                                  double* r)
{
    return solve_contact(c, W, NULL, q, r);
}

/* ---- the natural map ---------------------------------------------------------------------------------*/

void perpi_friction_weights(const perp_friction_problem* P, double* w)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* D = perpi_friction_diagonal(P, i);
        double* w_i = w + c->row;
        double W_t = 0.0;
        for (int32_t k = 0; k < c->rows; ++k) {
            w_i[k] = D[k * c->rows + k] > 0.0 ? D[k * c->rows + k] : 1.0;
            if (k > 0) {
                const double e = is_ellipsoid(c) ? c->e[k - 1] : 1.0;
                W_t = e * e * w_i[k] > W_t ? e * e * w_i[k] : W_t;
            }
        }
        for (int32_t k = 1; k < c->rows && c->kind == PERP_CONSTRAINT_CONTACT; ++k) {
            w_i[k] = W_t; /* for scaled coordinates */
        }
    }
}

/* The tangential piece: w_t r_t - u_t in scaled coordinates, and the radius. */
typedef struct tangent {
    int32_t n;
    double w, radius;
    double e[3], rt[3], ut[3], x[3];
} tangent;

static tangent cut_tangent(const perp_constraint* c, const double* w, const double* r,
                           const double* u)
{
    tangent t = {.n = c->rows - 1, .w = w[1], .radius = 0.0};
    if (has_friction(c) && r[0] > 0.0) {
        t.radius = c->mu * w[1] * r[0];
    }
    for (int32_t i = 0; i < t.n; ++i) {
        t.e[i] = is_ellipsoid(c) ? c->e[i] : 1.0;
        t.rt[i] = r[1 + i] / t.e[i];
        t.ut[i] = t.e[i] * u[1 + i];
        t.x[i] = t.w * t.rt[i] - t.ut[i];
    }
    return t;
}

void perpi_friction_map(const perp_friction_problem* P, int32_t i, const double* w, const double* r,
                        const double* u, double* F)
{
    const perp_constraint* c = &P->constraint[i];
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        memcpy(F, u, (size_t)c->rows * sizeof *F);
        return;
    }
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        for (int32_t k = 0; k < c->rows; ++k) {
            const double low = w[k] * P->lower[c->row + k], high = w[k] * P->upper[c->row + k];
            const double t = w[k] * r[k] - u[k];
            F[k] = t < low ? w[k] * r[k] - low : (t > high ? w[k] * r[k] - high : u[k]);
        }
        return;
    }
    F[0] = w[0] * r[0] < u[0] ? w[0] * r[0] : u[0];
    if (c->rows > 1) {
        const tangent t = cut_tangent(c, w, r, u);
        double y[3];
        perpi_project_friction(c, t.radius, t.x, y);
        for (int32_t k = 0; k < t.n; ++k) {
            F[1 + k] = t.x[k] == y[k] ? t.ut[k] : t.w * t.rt[k] - y[k];
        }
    }
}

void perpi_friction_project_jacobian(const perp_constraint* c, double radius, const double* x,
                                     double* G, double* h)
{
    const int32_t n = c->rows - 1;
    if (n == 2 && has_friction(c) && !is_polygon(c)) {
        perpi_disc_jacobian(radius, x, G, h);
        return;
    }
    const double length = norm(n, x);
    memset(G, 0, (size_t)(n * n) * sizeof *G);
    memset(h, 0, (size_t)n * sizeof *h);
    if (!has_friction(c) || (length == 0.0 && !(radius > 0.0))) {
        return; /* {0}, or no direction to follow */
    }
    if (is_polygon(c)) {
        double y[2], a[2], b[2];
        perpi_project_polygon(c->directions, radius, x, y);
        if (radius > 0.0 && y[0] == x[0] && y[1] == x[1]) {
            G[0] = G[3] = 1.0;
            return;
        }
        const int32_t s = perpi_polygon_sector(c->directions, x);
        perpi_polygon_direction(c->directions, s, a);
        perpi_polygon_direction(c->directions, s + 1 == c->directions ? 0 : s + 1, b);
        const double e[2] = {b[0] - a[0], b[1] - a[1]}, ee = dot(2, e, e);
        const double z[2] = {x[0] - radius * a[0], x[1] - radius * a[1]};
        const double along = dot(2, z, e) / ee;
        if (along <= 0.0 || along >= radius) {
            memcpy(h, along <= 0.0 ? a : b, 2 * sizeof *h);
            return;
        }
        const double ae = dot(2, a, e) / ee;
        for (int32_t i = 0; i < 2; ++i) {
            h[i] = a[i] - ae * e[i];
            for (int32_t j = 0; j < 2; ++j) {
                G[i * 2 + j] = e[i] * e[j] / ee;
            }
        }
        return;
    }
    if (radius > 0.0 && length <= radius) {
        for (int32_t i = 0; i < n; ++i) {
            G[i * n + i] = 1.0;
        }
        return;
    }
    const double ratio = radius / length;
    for (int32_t i = 0; i < n; ++i) {
        h[i] = x[i] / length;
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            G[i * n + j] = ratio * ((i == j ? 1.0 : 0.0) - h[i] * h[j]);
        }
    }
}

void perpi_friction_map_jacobian(const perp_friction_problem* P, int32_t i, const double* w,
                                 const double* r, const double* u, double* A, double* B)
{
    const perp_constraint* c = &P->constraint[i];
    const int32_t m = c->rows;
    memset(A, 0, (size_t)(m * m) * sizeof *A);
    memset(B, 0, (size_t)(m * m) * sizeof *B);
    if (c->kind != PERP_CONSTRAINT_CONTACT) {
        for (int32_t k = 0; k < m; ++k) {
            bool held = false;
            if (c->kind == PERP_CONSTRAINT_BOUNDED) {
                const double t = w[k] * r[k] - u[k];
                held = t < w[k] * P->lower[c->row + k] || t > w[k] * P->upper[c->row + k];
            }
            (held ? A : B)[k * m + k] = held ? w[k] : 1.0;
        }
        return;
    }
    const bool open = w[0] * r[0] < u[0];
    (open ? A : B)[0] = open ? w[0] : 1.0;
    if (m == 1) {
        return;
    }
    const tangent t = cut_tangent(c, w, r, u);
    const int32_t n = t.n;
    double G[9], h[3];
    if (open && !(r[0] > 0.0)) { /* r_n = 0 and stays: the set is {0} */
        for (int32_t k = 0; k < n; ++k) {
            A[(1 + k) * m + 1 + k] = t.w / t.e[k];
        }
        return;
    }
    perpi_friction_project_jacobian(c, t.radius, t.x, G, h);
    for (int32_t k = 0; k < n; ++k) {
        A[(1 + k) * m] = -c->mu * t.w * h[k];
        for (int32_t j = 0; j < n; ++j) {
            const double g = G[k * n + j];
            A[(1 + k) * m + 1 + j] = t.w * ((k == j ? 1.0 : 0.0) - g) / t.e[j];
            B[(1 + k) * m + 1 + j] = g * t.e[j];
        }
    }
}

/* ---- cones as sets -------------------------------------------------------------------------------------*/

/* Euclidean projection onto K, scaled coordinates for an ELLIPSOID. out may be x. */
static void project_cone(const perp_constraint* c, const double* x, double* out)
{
    const int32_t n = c->rows - 1;
    const double mu = has_friction(c) ? c->mu : 0.0;
    if (mu == 0.0) {
        out[0] = x[0] > 0.0 ? x[0] : 0.0;
        for (int32_t i = 0; i < n; ++i) {
            out[1 + i] = 0.0;
        }
        return;
    }
    if (is_polygon(c)) {
        /* By reflection in the planes through the corners the answer lies in x_t's own sector: the
         * span of two corner rays, its face, or a ray. */
        const int32_t s = perpi_polygon_sector(c->directions, x + 1);
        double a[2], b[2];
        perpi_polygon_direction(c->directions, s, a);
        perpi_polygon_direction(c->directions, s + 1 == c->directions ? 0 : s + 1, b);
        const double A[3] = {1.0, mu * a[0], mu * a[1]}, B[3] = {1.0, mu * b[0], mu * b[1]};
        /* outward normal of the face: m = (-mu cos, (a + b)/2 / cos) up to length */
        const double half[2] = {0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])};
        const double cc = dot(2, half, half), N[3] = {-mu * cc, half[0], half[1]};
        const double over = dot(3, N, x);
        if (over <= 0.0) {
            memmove(out, x, 3 * sizeof *out);
            return;
        }
        /* least squares on span(A, B), then on its rays */
        const double aa = dot(3, A, A), ab = dot(3, A, B), fa = dot(3, A, x), fb = dot(3, B, x);
        const double det = aa * aa - ab * ab;
        double p = (aa * fa - ab * fb) / det, q = (aa * fb - ab * fa) / det;
        if (p < 0.0 || q < 0.0) {
            p = fa > fb ? (fa > 0.0 ? fa / aa : 0.0) : 0.0;
            q = fa > fb ? 0.0 : (fb > 0.0 ? fb / aa : 0.0);
        }
        for (int32_t i = 0; i < 3; ++i) {
            out[i] = p * A[i] + q * B[i];
        }
        return;
    }
    const double length = norm(n, x + 1);
    if (length <= mu * x[0]) {
        memmove(out, x, (size_t)(n + 1) * sizeof *out);
        return;
    }
    const double t = (x[0] + mu * length) / (1.0 + mu * mu);
    if (!(t > 0.0)) {
        memset(out, 0, (size_t)(n + 1) * sizeof *out);
        return;
    }
    for (int32_t i = 0; i < n; ++i) {
        out[1 + i] = mu * t * (x[1 + i] / length);
    }
    out[0] = t;
}

double perpi_friction_support(const perp_constraint* c, const double* u_t)
{
    const int32_t n = c->rows - 1;
    if (!has_friction(c)) {
        return 0.0;
    }
    if (is_polygon(c)) {
        const double x[2] = {-u_t[0], -u_t[1]};
        const int32_t s = perpi_polygon_sector(c->directions, x);
        double a[2], b[2];
        perpi_polygon_direction(c->directions, s, a);
        perpi_polygon_direction(c->directions, s + 1 == c->directions ? 0 : s + 1, b);
        const double ax = dot(2, a, x), bx = dot(2, b, x);
        return c->mu * (ax > bx ? ax : bx);
    }
    double y[3];
    for (int32_t i = 0; i < n; ++i) {
        y[i] = u_t[i] * (is_ellipsoid(c) ? c->e[i] : 1.0);
    }
    return c->mu * norm(n, y);
}

void perpi_friction_metric(const perp_friction_problem* P, double* w)
{
    perpi_friction_weights(P, w);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double* w_i = w + c->row;
        if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            continue; /* row by row */
        }
        double largest = 0.0;
        for (int32_t k = 0; k < c->rows; ++k) {
            largest = w_i[k] > largest ? w_i[k] : largest;
        }
        for (int32_t k = 0; k < c->rows; ++k) {
            const double e = k > 0 && is_ellipsoid(c) ? c->e[k - 1] : 1.0;
            w_i[k] = largest / (e * e);
        }
    }
}

void perpi_friction_project(const perp_friction_problem* P, double* r)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double* r_i = r + c->row;
        if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            for (int32_t k = 0; k < c->rows; ++k) {
                const double low = P->lower[c->row + k], high = P->upper[c->row + k];
                r_i[k] = r_i[k] < low ? low : (r_i[k] > high ? high : r_i[k]);
            }
        } else if (c->kind == PERP_CONSTRAINT_CONTACT) {
            for (int32_t k = 1; k < c->rows && is_ellipsoid(c); ++k) {
                r_i[k] /= c->e[k - 1];
            }
            project_cone(c, r_i, r_i);
            for (int32_t k = 1; k < c->rows && is_ellipsoid(c); ++k) {
                r_i[k] *= c->e[k - 1];
            }
        }
    }
}

void perpi_friction_project_guess(const perp_friction_problem* P, double* r)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double* r_i = r + c->row;
        if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            for (int32_t k = 0; k < c->rows; ++k) {
                const double low = P->lower[c->row + k], high = P->upper[c->row + k];
                r_i[k] = r_i[k] < low ? low : (r_i[k] > high ? high : r_i[k]);
            }
        } else if (c->kind == PERP_CONSTRAINT_CONTACT) {
            r_i[0] = r_i[0] > 0.0 ? r_i[0] : 0.0;
            double x[3];
            for (int32_t k = 1; k < c->rows; ++k) {
                x[k - 1] = r_i[k] / (is_ellipsoid(c) ? c->e[k - 1] : 1.0);
            }
            if (c->rows > 1) {
                perpi_project_friction(c, (has_friction(c) ? c->mu : 0.0) * r_i[0], x, x);
            }
            for (int32_t k = 1; k < c->rows; ++k) {
                r_i[k] = x[k - 1] * (is_ellipsoid(c) ? c->e[k - 1] : 1.0);
            }
        }
    }
}

/* ---- the sweep -----------------------------------------------------------------------------------------*/

void perpi_friction_sweeper_init(perpi_friction_sweeper* s, perp_context* context)
{
    *s = (perpi_friction_sweeper){.context = context};
}

void perpi_friction_sweeper_free(perpi_friction_sweeper* s)
{
    perpi_free(s->context, s->local);
    perpi_free(s->context, s->inverse);
    perpi_free(s->context, s->at);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s->index);
    *s = (perpi_friction_sweeper){.context = s->context};
}

/* X <- an inverse of A (n x n) on its range: columns of the identity solved by LU with complete
 * pivoting, the rest 0. A is first divided by a power of two, so that scaling a matrix by one
 * changes no bit of the result. work: n n + 4 n, index: 2 n. */
static void pseudo_invert(int32_t n, const double* A, double* X, double* work, int32_t* index)
{
    double* x = work + (size_t)n * (size_t)n;
    perpi_luc f = {.LU = work, .row = index, .col = index + n, .dr = x + 2 * n, .dc = x + 3 * n};
    int exponent = 0;
    for (int32_t i = 0; i < n; ++i) {
        int e = 0;
        (void)frexp(A[i * n + i], &e);
        exponent = i == 0 || e > exponent ? e : exponent;
    }
    for (int32_t i = 0; i < n * n; ++i) {
        X[i] = ldexp(A[i], -exponent);
    }
    if (!perpi_luc_factor(n, X, 1e-12, &f)) {
        memset(X, 0, (size_t)n * (size_t)n * sizeof *X);
        return;
    }
    for (int32_t j = 0; j < n; ++j) {
        memset(x, 0, (size_t)n * sizeof *x);
        x[j] = 1.0;
        (void)perpi_luc_solve_basic(&f, x, x + n);
        for (int32_t i = 0; i < n; ++i) {
            X[i * n + j] = ldexp(x[i], -exponent);
        }
    }
}

perp_status perpi_friction_sweeper_prepare(perpi_friction_sweeper* s,
                                           const perp_friction_problem* P)
{
    size_t total = 0, widest = ROWS_MAX;
    bool joints = false;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        widest = (size_t)c->rows > widest ? (size_t)c->rows : widest;
        if (c->kind == PERP_CONSTRAINT_EQUALITY) {
            total += (size_t)c->rows * (size_t)c->rows;
            joints = true;
        }
    }
    perp_status status =
        perpi_grow(s->context, &s->inverse, &s->inverse_capacity, total, sizeof *s->inverse);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->at, &s->at_capacity,
                            joints ? (size_t)P->constraint_count : 0, sizeof *s->at);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, widest * widest + 4 * widest,
                            sizeof *s->work);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(s->context, &s->index, &s->index_capacity, 2 * widest, sizeof *s->index);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->local, &s->local_capacity, (size_t)P->constraint_count,
                            sizeof *s->local);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        perpi_friction_local* local = &s->local[i];
        local->W = perpi_friction_diagonal(P, i);
        local->closed = c->kind == PERP_CONSTRAINT_CONTACT && has_friction(c) && !is_ellipsoid(c) &&
                        local->W[0] > 0.0;
        if (local->closed) {
            close_matrix(c->rows, c->mu, local->W, &local->k);
        }
    }
    if (!joints) {
        return PERP_OK;
    }
    total = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_EQUALITY) {
            s->at[i] = total;
            pseudo_invert(c->rows, perpi_friction_diagonal(P, i), s->inverse + total, s->work,
                          s->index);
            total += (size_t)c->rows * (size_t)c->rows;
        }
    }
    return PERP_OK;
}

/* Box-constrained rows of one block, Gauss-Seidel until they no longer change. q: without the
 * block's own r. */
static void solve_bounded(const perp_friction_problem* P, const perp_constraint* c, const double* W,
                          const double* q, double* r)
{
    const int32_t n = c->rows;
    const int32_t passes = n == 1 ? 1 : 50;
    for (int32_t pass = 0; pass < passes; ++pass) {
        bool moved = false;
        for (int32_t k = 0; k < n; ++k) {
            const double d = W[k * n + k];
            if (!(d > 0.0)) {
                continue;
            }
            double t = q[k];
            for (int32_t j = 0; j < n; ++j) {
                t += j != k ? W[k * n + j] * r[j] : 0.0;
            }
            const double low = P->lower[c->row + k], high = P->upper[c->row + k];
            double next = -t / d;
            next = next < low ? low : (next > high ? high : next);
            moved = moved || fabs(next - r[k]) > 1e-15 * fabs(next);
            r[k] = next;
        }
        if (!moved) {
            break;
        }
    }
}

static void relax_one(perpi_friction_sweeper* s, const perp_friction_problem* P, double relax,
                      int32_t i, double* r)
{
    const perp_constraint* c = &P->constraint[i];
    double* r_i = r + c->row;
    const int32_t n = c->rows;
    double small[2 * ROWS_MAX];
    double* u = n <= ROWS_MAX ? small : s->work;
    double* old = u + n;
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        perpi_friction_velocity(P, i, true, r, u);
        const double* X = s->inverse + s->at[i];
        for (int32_t k = 0; k < n; ++k) {
            r_i[k] -= relax * dot(n, X + k * n, u);
        }
        return;
    }
    perpi_friction_velocity(P, i, false, r, u);
    if (relax != 1.0) {
        memcpy(old, r_i, (size_t)n * sizeof *old);
    }
    perpi_friction_local* local = &s->local[i];
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        solve_bounded(P, c, local->W, u, r_i);
    } else {
        (void)solve_contact(c, local->W, local->closed ? &local->k : NULL, u, r_i);
    }
    for (int32_t k = 0; k < n && relax != 1.0; ++k) {
        r_i[k] = old[k] + relax * (r_i[k] - old[k]);
    }
}

void perpi_friction_sweep(perpi_friction_sweeper* s, const perp_friction_problem* P, double relax,
                          bool backward, double* r)
{
    const int32_t n = P->constraint_count;
    for (int32_t k = 0; k < n; ++k) {
        relax_one(s, P, relax, backward ? n - 1 - k : k, r);
    }
}
