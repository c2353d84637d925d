/* src/step/smooth_law.c - see smooth_law.h. */
#include "step/smooth_law.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/vec.h"
#include "problem/cone.h"

/* Contacts act up to this many times the speed at which an impulse and a velocity are alike. */
static const double REACH = 100.0;
/* Without gravity: part of the speed that takes the largest body by its radius in the run. */
static const double SIZE_PART = 1e-2;

/* ---- scales ------------------------------------------------------------------------------------*/

static double acceleration_of(const perpi_body* body)
{
    double load = 0.0;
    for (int32_t k = 0; k < body->support.points; ++k) {
        load += body->support.load[k];
    }
    const double g = v3_norm(body->gravity), supported = load / body->mass;
    return g > supported ? g : supported;
}

double perpi_smooth_speed(const perp_model* model, const perpi_step_settings* settings, double h)
{
    double most = 0.0, size = 0.0;
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs > 0) {
            const double g = acceleration_of(body);
            most = g > most ? g : most;
            size = isfinite(body->reach) && body->reach > size ? body->reach : size;
        }
    }
    return most > 0.0 ? most * h : SIZE_PART * size / settings->smooth_time;
}

double perpi_smooth_reach(double barrier, double speed)
{
    return REACH * sqrt(barrier) * speed;
}

void perpi_smooth_kappa(const perp_contact_problem* P, double barrier, double speed, double* mass,
                        double* kappa)
{
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t n = P->dof[b + 1] - P->dof[b];
        mass[b] = M[0];
        M += n * n;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t a = P->constraint[i].block[0], b = P->constraint[i].block[1];
        const double inverse = (a >= 0 ? 1.0 / mass[a] : 0.0) + (b >= 0 ? 1.0 / mass[b] : 0.0);
        kappa[i] = barrier * speed * speed / inverse;
    }
}

double perpi_smooth_fade(double y, double reach, double* slope)
{
    const double x = y / reach, left = 1.0 - x * x;
    *slope = 0.0;
    if (x <= 0.0) {
        return 1.0;
    }
    if (!(left > 0.0)) {
        return 0.0;
    }
    *slope = -6.0 * left * left * x / reach;
    return left * left * left;
}

/* ---- friction sets -----------------------------------------------------------------------------*/

static bool is_round(const perp_constraint* c)
{
    return c->cone != PERP_CONE_POLYGON;
}

static bool slides_freely(const perp_constraint* c)
{
    return c->rows == 1 || !(c->mu > 0.0);
}

static int32_t sides_of(const perp_constraint* c)
{
    return c->rows == 2 ? 2 : c->directions;
}

static double scale_of(const perp_constraint* c, int32_t i)
{
    return c->cone == PERP_CONE_ELLIPSOID ? c->e[i] : 1.0;
}

/* The outward normal of a side of the polygon of radius 1, and the distance of xi from it. */
static double side_distance(const perp_constraint* c, int32_t j, const double* xi, double n[2])
{
    double apothem = 1.0;
    n[0] = j == 0 ? 1.0 : -1.0;
    n[1] = 0.0;
    if (c->rows > 2) {
        double d[2][2];
        perpi_polygon_direction(c->directions, j, d[0]);
        perpi_polygon_direction(c->directions, (j + 1) % c->directions, d[1]);
        n[0] = d[0][0] + d[1][0];
        n[1] = d[0][1] + d[1][1];
        const double length = perpi_length(n[0], n[1]);
        n[0] /= length;
        n[1] /= length;
        apothem = 0.5 * length;
    }
    return apothem - n[0] * xi[0] - (c->rows > 2 ? n[1] * xi[1] : 0.0);
}

/* 1 - |xi|^2 */
static double round_distance(const perp_constraint* c, const double* xi)
{
    double square = 0.0;
    for (int32_t i = 0; i < c->rows - 1; ++i) {
        square += xi[i] * xi[i];
    }
    const double length = sqrt(square);
    return (1.0 - length) * (1.0 + length);
}

int32_t perpi_smooth_dual_count(const perp_constraint* c)
{
    switch (c->kind) {
    case PERP_CONSTRAINT_CONTACT:
        return slides_freely(c) ? 1 : c->rows + (is_round(c) ? 1 : sides_of(c));
    case PERP_CONSTRAINT_BOUNDED: return 2 * c->rows;
    default: return 0;
    }
}

/* ---- bounded rows ------------------------------------------------------------------------------*/

/* kappa of each of its two bounds; 0: it is infinite. fixed: they are the same. */
typedef struct bounds {
    double at[2], kappa[2];
    bool fixed;
} bounds;

static bounds bounds_of(const perpi_smooth_point* at, int32_t r)
{
    const int32_t row = at->problem->constraint[at->constraint].row + r;
    bounds b = {.at = {at->problem->lower[row], at->problem->upper[row]}};
    const bool low = isfinite(b.at[0]), high = isfinite(b.at[1]);
    const double each = low && high ? 0.5 * at->kappa : at->kappa;
    b.kappa[0] = low ? each : 0.0;
    b.kappa[1] = high ? each : 0.0;
    b.fixed = low && high && !(b.at[1] > b.at[0]);
    return b;
}

static double bound_room(const bounds* b, int side, double q)
{
    return side == 0 ? q - b->at[0] : b->at[1] - q;
}

/* ---- points ------------------------------------------------------------------------------------*/

void perpi_smooth_begin(const perpi_smooth_point* at, double mass, double speed, double* q)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    for (int32_t r = 0; r < c->rows; ++r) {
        q[r] = 0.0;
    }
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        q[0] = mass * speed;
    } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        for (int32_t r = 0; r < c->rows; ++r) {
            const bounds b = bounds_of(at, r);
            q[r] = b.fixed                                ? b.at[0]
                   : b.kappa[0] > 0.0 && b.kappa[1] > 0.0 ? 0.5 * (b.at[0] + b.at[1])
                   : b.kappa[0] > 0.0                     ? b.at[0] + mass * speed
                   : b.kappa[1] > 0.0                     ? b.at[1] - mass * speed
                                                          : 0.0;
        }
    }
    perpi_smooth_duals(
        &(perpi_smooth_point){at->problem, at->constraint, at->kappa, q, at->u, at->dual});
}

/* The numbers of a friction set that belong to xi = dual + 1; they follow it. */
static void friction_duals(const perp_constraint* c, double* dual)
{
    const double* xi = dual + 1;
    double* own = dual + c->rows;
    if (is_round(c)) {
        own[0] = 1.0 / round_distance(c, xi);
        return;
    }
    for (int32_t j = 0; j < sides_of(c); ++j) {
        double n[2];
        own[j] = 0.5 / side_distance(c, j, xi, n);
    }
}

void perpi_smooth_duals(const perpi_smooth_point* at)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    const double* q = at->q;
    double* dual = at->dual;
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        for (int32_t r = 0; r < c->rows; ++r) {
            const bounds b = bounds_of(at, r);
            for (int side = 0; side < 2; ++side) {
                dual[2 * r + side] = b.kappa[side] > 0.0 && !b.fixed
                                         ? b.kappa[side] / bound_room(&b, side, q[r])
                                         : 0.0;
            }
        }
    } else if (c->kind == PERP_CONSTRAINT_CONTACT) {
        dual[0] = at->kappa / q[0];
        if (!slides_freely(c)) {
            for (int32_t i = 0; i < c->rows - 1; ++i) {
                dual[1 + i] = q[1 + i] / (scale_of(c, i) * c->mu * q[0]);
            }
            friction_duals(c, dual);
        }
    }
}

void perpi_smooth_place(const perpi_smooth_point* at, double* q)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    for (int32_t i = 0; c->kind == PERP_CONSTRAINT_CONTACT && !slides_freely(c) && i < c->rows - 1;
         ++i) {
        q[1 + i] = scale_of(c, i) * c->mu * q[0] * at->dual[1 + i];
    }
}

/* Parts of the law of friction, mu g + y R(xi) = 0: R, m = d/dy, C = d/dxi, with the numbers beside
 * xi in place of what they are on the path. */
typedef struct friction_form {
    double R[3], m[3], C[3][3];
} friction_form;

static friction_form form_friction(const perp_constraint* c, const double* dual)
{
    const int32_t n = c->rows - 1;
    const double y = dual[0], *xi = dual + 1, *own = dual + c->rows;
    friction_form f = {{0}, {0}, {{0}}};
    if (is_round(c)) {
        const double s = round_distance(c, xi);
        for (int32_t i = 0; i < n; ++i) {
            f.R[i] = xi[i] / s;
            f.m[i] = own[0] * xi[i];
            for (int32_t j = 0; j < n; ++j) {
                f.C[i][j] = y * own[0] * ((i == j ? 1.0 : 0.0) + 2.0 * xi[i] * xi[j] / s);
            }
        }
        return f;
    }
    for (int32_t k = 0; k < sides_of(c); ++k) {
        double d[2];
        const double s = side_distance(c, k, xi, d);
        for (int32_t i = 0; i < n; ++i) {
            f.R[i] += 0.5 * d[i] / s;
            f.m[i] += own[k] * d[i];
            for (int32_t j = 0; j < n; ++j) {
                f.C[i][j] += y * own[k] / s * d[i] * d[j];
            }
        }
    }
    return f;
}

/* dxi = (dq_t / e - mu xi dq_n) / (mu q_n); y + dy = u_n + du_n. */
static void linearise_friction(const perpi_smooth_point* at, const perp_constraint* c,
                               perpi_smooth_form* f)
{
    const int32_t m = c->rows, n = m - 1;
    const double y = at->dual[0], *xi = at->dual + 1, off = at->u[0] - y;
    const friction_form x = form_friction(c, at->dual);
    for (int32_t i = 0; i < n; ++i) {
        const double e = scale_of(c, i);
        double along = 0.0;
        f->A[(1 + i) * m] = x.m[i];
        f->A[(1 + i) * m + 1 + i] = c->mu * e;
        f->F[1 + i] = c->mu * e * at->u[1 + i] + y * x.R[i] + x.m[i] * off;
        for (int32_t j = 0; j < n; ++j) {
            along += x.C[i][j] * xi[j];
            f->B[(1 + i) * m + 1 + j] = x.C[i][j] / (c->mu * at->q[0] * scale_of(c, j));
        }
        f->B[(1 + i) * m] = -along / at->q[0];
    }
}

static void linearise_bounded(const perpi_smooth_point* at, const perp_constraint* c,
                              perpi_smooth_form* f)
{
    for (int32_t r = 0; r < c->rows; ++r) {
        const bounds b = bounds_of(at, r);
        const int32_t diagonal = r * c->rows + r;
        if (b.fixed) {
            f->B[diagonal] = 1.0;
            f->F[r] = at->q[r] - b.at[0];
            continue;
        }
        f->A[diagonal] = 1.0;
        f->F[r] = at->u[r];
        for (int side = 0; side < 2; ++side) {
            if (b.kappa[side] > 0.0) {
                const double s = bound_room(&b, side, at->q[r]);
                f->F[r] += (side == 0 ? -1.0 : 1.0) * b.kappa[side] / s;
                f->B[diagonal] += at->dual[2 * r + side] / s;
            }
        }
    }
}

void perpi_smooth_linearise(const perpi_smooth_point* at, perpi_smooth_form* f)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    memset(f, 0, sizeof *f);
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        linearise_bounded(at, c, f);
        return;
    }
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        for (int32_t r = 0; r < c->rows; ++r) {
            f->A[r * c->rows + r] = 1.0;
            f->F[r] = at->u[r];
        }
        return;
    }
    const double y = at->dual[0];
    f->A[0] = at->q[0];
    f->B[0] = y;
    f->F[0] = at->q[0] * at->u[0] - at->kappa;
    if (!slides_freely(c)) {
        linearise_friction(at, c, f);
        return;
    }
    for (int32_t r = 1; r < c->rows; ++r) {
        f->B[r * c->rows + r] = 1.0;
        f->F[r] = at->q[r];
    }
}

void perpi_smooth_vary(const perpi_smooth_point* at, const perpi_smooth_form* form,
                       const perpi_smooth_change* by, double* dF)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        dF[0] = -by->kappa;
        for (int32_t r = 1; r < c->rows; ++r) { /* mu g, and xi = q_t / (e mu q_n) */
            dF[r] =
                slides_freely(c)
                    ? 0.0
                    : (scale_of(c, r - 1) * at->u[r] + form->B[r * c->rows] * at->q[0] / c->mu) *
                          by->mu;
        }
        return;
    }
    for (int32_t r = 0; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->rows; ++r) {
        const bounds b = bounds_of(at, r);
        if (b.fixed) {
            dF[r] = -by->lower[r];
            continue;
        }
        dF[r] = 0.0;
        for (int side = 0; side < 2; ++side) {
            if (b.kappa[side] > 0.0) {
                const double s = bound_room(&b, side, at->q[r]), sign = side == 0 ? -1.0 : 1.0;
                dF[r] += sign * b.kappa[side] / at->kappa * by->kappa / s;
                dF[r] -= b.kappa[side] / (s * s) * (side == 0 ? by->lower[r] : by->upper[r]);
            }
        }
    }
}

/* ---- steps -------------------------------------------------------------------------------------*/

/* The largest part of dx, at most `most`, with which x stays positive. */
static double part_inside(double x, double dx, double most)
{
    return dx < 0.0 && x < -most * dx ? -x / dx : most;
}

/* |xi + t dxi| = 1: the positive t, at most `most`; s = 1 - |xi|^2 > 0. */
static double ball_part(double s, const double* xi, const double* dxi, int32_t n, double most)
{
    double a = 0.0, b = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        a += dxi[i] * dxi[i];
        b += xi[i] * dxi[i];
    }
    const double root = sqrt(b * b + a * s); /* a t^2 + 2 b t - s = 0, without cancellation */
    const double t = b > 0.0 ? s / (b + root) : a > 0.0 ? (root - b) / a : INFINITY;
    return t < most ? t : most;
}

static double direct_bounded(const perpi_smooth_point* at, const perp_constraint* c,
                             const double* dq, double* ddual, double most)
{
    for (int32_t r = 0; r < c->rows; ++r) {
        const bounds b = bounds_of(at, r);
        for (int side = 0; side < 2; ++side) {
            double* d = &ddual[2 * r + side];
            *d = 0.0;
            if (b.kappa[side] > 0.0 && !b.fixed) {
                const double s = bound_room(&b, side, at->q[r]), l = at->dual[2 * r + side];
                const double ds = side == 0 ? dq[r] : -dq[r];
                *d = (b.kappa[side] - s * l - l * ds) / s;
                most = part_inside(s, ds, most);
                most = part_inside(l, *d, most);
            }
        }
    }
    return most;
}

static double direct_friction(const perpi_smooth_point* at, const perp_constraint* c,
                              const double* dq, double* ddual, double most)
{
    const int32_t n = c->rows - 1;
    const double *xi = at->dual + 1, *own = at->dual + c->rows;
    double *dxi = ddual + 1, *down = ddual + c->rows;
    for (int32_t i = 0; i < n; ++i) {
        dxi[i] = (dq[1 + i] / scale_of(c, i) - c->mu * xi[i] * dq[0]) / (c->mu * at->q[0]);
    }
    if (is_round(c)) {
        const double s = round_distance(c, xi);
        double along = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            along += xi[i] * dxi[i];
        }
        down[0] = (1.0 - own[0] * s + 2.0 * own[0] * along) / s;
        return part_inside(own[0], down[0], ball_part(s, xi, dxi, n, most));
    }
    for (int32_t j = 0; j < sides_of(c); ++j) {
        double d[2];
        const double s = side_distance(c, j, xi, d);
        const double ds = -d[0] * dxi[0] - (n > 1 ? d[1] * dxi[1] : 0.0);
        down[j] = (0.5 - own[j] * s - own[j] * ds) / s;
        most = part_inside(s, ds, most);
        most = part_inside(own[j], down[j], most);
    }
    return most;
}

double perpi_smooth_direction(const perpi_smooth_point* at, const double* dq, const double* du,
                              double* ddual, double most)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        return direct_bounded(at, c, dq, ddual, most);
    }
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        return most;
    }
    ddual[0] = at->u[0] + du[0] - at->dual[0];
    most = part_inside(at->dual[0], ddual[0], most);
    most = part_inside(at->q[0], dq[0], most);
    return slides_freely(c) ? most : direct_friction(at, c, dq, ddual, most);
}

static void add_product(perpi_smooth_products* to, double product, double kappa)
{
    const double ratio = product / kappa;
    to->sum += ratio;
    to->count += 1;
    to->least = ratio >= to->least ? to->least : ratio;
}

static void add_friction(perpi_smooth_products* to, double ratio)
{
    to->least_friction = ratio >= to->least_friction ? to->least_friction : ratio;
}

void perpi_smooth_add_products(const perpi_smooth_point* at, perpi_smooth_products* to)
{
    const perp_constraint* c = &at->problem->constraint[at->constraint];
    const double* dual = at->dual;
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        for (int32_t r = 0; r < c->rows; ++r) {
            const bounds b = bounds_of(at, r);
            for (int side = 0; side < 2; ++side) {
                if (b.kappa[side] > 0.0 && !b.fixed) {
                    add_product(to, bound_room(&b, side, at->q[r]) * dual[2 * r + side],
                                b.kappa[side]);
                }
            }
        }
        return;
    }
    if (c->kind != PERP_CONSTRAINT_CONTACT) {
        return;
    }
    add_product(to, at->q[0] * dual[0], at->kappa);
    if (slides_freely(c)) {
        return;
    }
    const double *xi = dual + 1, *own = dual + c->rows;
    if (is_round(c)) {
        add_friction(to, own[0] * round_distance(c, xi));
        return;
    }
    for (int32_t j = 0; j < sides_of(c); ++j) {
        double n[2];
        add_friction(to, 2.0 * own[j] * side_distance(c, j, xi, n));
    }
}
