/* src/contact/derivative.c - the system of a frozen contact: its solution at any pose, and its derivatives.
 *
 * Notation   docs/notation.md, "Derivatives of a contact": q base points, d directions of the free parameters,
 *            p = q + sigma r n surface points (sigma = 1 on A, -1 on B), unknowns y = (a, b, tau, gap) with
 *            dn = tau_1 e_1 + tau_2 e_2
 *
 *     p_A + gap n - p_B = 0
 *     n . d = 0,  or  m . (p - c) = 0   for each parameter
 *
 * Lengths are divided by a size of the shapes, so that all numbers have no unit.
 */
#include <string.h>

#include "contact/frozen.h"

enum { MOST = 8, COLUMNS = 12 };

/* Relative to the largest entry of its row: a smaller pivot is rounding. */
#define SINGULAR 1e-13
#define CONVERGED 1e-14
/* Of the size, and radians: a longer step of Newton's method leaves the neighbourhood of the features. */
#define LONGEST 0.5
enum { STEPS = 40 };

typedef struct contact_system {
    perpi_placed_feature side[2];
    vec3 n, e[2], p[2]; /* e: unit, across n */
    double gap, size;
    int dimension, turns; /* turns: number of e */
    int count, columns;
    double K[MOST][MOST];
    double rhs[MOST][COLUMNS]; /* out: the solution */
} contact_system;

static double sigma(int side)
{
    return side == 0 ? 1.0 : -1.0;
}

/* Change of a surface point with the normal. */
static vec3 point_by_normal(const contact_system* x, int side, vec3 dn)
{
    const perpi_placed_feature* f = &x->side[side];
    const vec3 d = f->surface ? m3_mul(f->H, dn) : v3_scale(f->radius, dn);
    return v3_scale(sigma(side), d);
}

static void begin_system(const perp_model* model, const perpi_pose* pose,
                         const perpi_frozen_contact* frozen, perpi_contact_point* at,
                         contact_system* x)
{
    memset(x, 0, sizeof *x);
    x->n = at->n;
    x->gap = at->gap;
    x->size = perpi_frozen_size(model, frozen);
    x->dimension = model->dimension;
    x->turns = model->dimension == 2 ? 1 : 2;
    x->e[0] = model->dimension == 2 ? v3(-at->n.y, at->n.x, 0) : v3_tangent(at->n);
    x->e[1] = v3_cross(at->n, x->e[0]);
    for (int s = 0; s < 2; ++s) {
        perpi_placed_feature* f = &x->side[s];
        perpi_feature_place(model, pose, frozen, s, at->n, &at->place[s], f);
        x->p[s] = v3_madd(f->q, sigma(s) * f->radius, at->n);
    }
    x->count = x->dimension + x->side[0].free + x->side[1].free;
}

/* The columns of the unknowns: parameters of A, of B, turns of the normal, gap. */
static int column_of(const contact_system* x, int side)
{
    return side == 0 ? 0 : x->side[0].free;
}

static void assemble(contact_system* x)
{
    const int turn = column_of(x, 1) + x->side[1].free, gap = turn + x->turns;
    const double unit = 1.0 / x->size;
    /* the points: in units of the size; parameters and gap as well */
    for (int i = 0; i < x->dimension; ++i) {
        for (int s = 0; s < 2; ++s) {
            for (int k = 0; k < x->side[s].free; ++k) {
                x->K[i][column_of(x, s) + k] = sigma(s) * v3_get(x->side[s].dir[k], i);
            }
        }
        for (int k = 0; k < x->turns; ++k) {
            const vec3 d = v3_sub(point_by_normal(x, 0, x->e[k]), point_by_normal(x, 1, x->e[k]));
            x->K[i][turn + k] = unit * (v3_get(d, i) + x->gap * v3_get(x->e[k], i));
        }
        x->K[i][gap] = v3_get(x->n, i);
    }
    /* the parameters */
    int row = x->dimension;
    for (int s = 0; s < 2; ++s) {
        const perpi_placed_feature* f = &x->side[s];
        for (int k = 0; k < f->free; ++k, ++row) {
            if (k < f->cuts) {
                for (int j = 0; j < f->free; ++j) {
                    x->K[row][column_of(x, s) + j] = v3_dot(f->m[k], f->dir[j]);
                }
                for (int j = 0; j < x->turns; ++j) {
                    x->K[row][turn + j] = unit * v3_dot(f->m[k], point_by_normal(x, s, x->e[j]));
                }
            } else {
                x->K[row][column_of(x, s) + k] = x->size * v3_dot(x->n, f->bend[k]);
                for (int j = 0; j < x->turns; ++j) {
                    x->K[row][turn + j] = v3_dot(f->dir[k], x->e[j]);
                }
            }
        }
    }
}

/* Gauss elimination with row pivots, relative to the rows' largest entries. False: singular. */
static bool solve_system(contact_system* x)
{
    const int n = x->count;
    double scale[MOST];
    for (int i = 0; i < n; ++i) {
        scale[i] = 0.0;
        for (int j = 0; j < n; ++j) {
            scale[i] = perpi_larger(scale[i], fabs(x->K[i][j]));
        }
        if (!(scale[i] > 0.0) || !isfinite(scale[i])) {
            return false;
        }
    }
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i) {
            best = fabs(x->K[i][k]) * scale[best] > fabs(x->K[best][k]) * scale[i] ? i : best;
        }
        if (!(fabs(x->K[best][k]) > SINGULAR * scale[best])) {
            return false;
        }
        for (int j = 0; j < n; ++j) {
            const double t = x->K[k][j];
            x->K[k][j] = x->K[best][j];
            x->K[best][j] = t;
        }
        for (int j = 0; j < x->columns; ++j) {
            const double t = x->rhs[k][j];
            x->rhs[k][j] = x->rhs[best][j];
            x->rhs[best][j] = t;
        }
        const double t = scale[k];
        scale[k] = scale[best];
        scale[best] = t;
        for (int i = k + 1; i < n; ++i) {
            const double f = x->K[i][k] / x->K[k][k];
            for (int j = k + 1; j < n && f != 0.0; ++j) {
                x->K[i][j] -= f * x->K[k][j];
            }
            for (int j = 0; j < x->columns && f != 0.0; ++j) {
                x->rhs[i][j] -= f * x->rhs[k][j];
            }
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int c = 0; c < x->columns; ++c) {
            double sum = x->rhs[k][c];
            for (int j = k + 1; j < n; ++j) {
                sum -= x->K[k][j] * x->rhs[j][c];
            }
            x->rhs[k][c] = sum / x->K[k][k];
        }
    }
    return true;
}

/* ---- the contact at a pose ---------------------------------------------------------------------------- */

/* Minus the residual, as the one right-hand side. Returns its largest entry. */
static double residual_of(contact_system* x)
{
    const vec3 off = v3_sub(v3_madd(x->p[0], x->gap, x->n), x->p[1]);
    double most = 0.0;
    x->columns = 1;
    for (int i = 0; i < x->dimension; ++i) {
        x->rhs[i][0] = -v3_get(off, i) / x->size;
    }
    int row = x->dimension;
    for (int s = 0; s < 2; ++s) {
        const perpi_placed_feature* f = &x->side[s];
        for (int k = 0; k < f->free; ++k, ++row) {
            x->rhs[row][0] = k < f->cuts ? -v3_dot(f->m[k], v3_sub(x->p[s], f->c[k])) / x->size
                                         : -v3_dot(x->n, f->dir[k]);
        }
    }
    for (int i = 0; i < x->count; ++i) {
        most = perpi_larger(most, fabs(x->rhs[i][0]));
    }
    return most;
}

double perpi_frozen_error(const perp_model* model, const perpi_pose* pose,
                          const perpi_frozen_contact* frozen, perpi_contact_point* at)
{
    contact_system x;
    begin_system(model, pose, frozen, at, &x);
    return residual_of(&x);
}

/* Moves the point by the solution. Returns the length of the step. */
static double take_step(const perp_model* model, const perpi_pose* pose,
                        const perpi_frozen_contact* frozen, const contact_system* x,
                        perpi_contact_point* at)
{
    double longest = 0.0;
    for (int i = 0; i < x->count; ++i) {
        longest = perpi_larger(longest, fabs(x->rhs[i][0]));
    }
    for (int s = 0; s < 2; ++s) {
        const perpi_pose world = perpi_frozen_pose(model, pose, frozen, s);
        for (int k = 0; k < x->side[s].free; ++k) {
            const double by = x->size * x->rhs[column_of(x, s) + k][0];
            at->place[s] = v3_madd(at->place[s], by, m3_tmul(world.R, x->side[s].dir[k]));
        }
    }
    const int turn = column_of(x, 1) + x->side[1].free;
    vec3 n = at->n;
    for (int k = 0; k < x->turns; ++k) {
        n = v3_madd(n, x->rhs[turn + k][0], x->e[k]);
    }
    at->n = v3_unit(n);
    at->gap += x->size * x->rhs[turn + x->turns][0];
    return longest;
}

perpi_contact_point perpi_frozen_start(const perpi_pose* pose, const perpi_frozen_contact* frozen)
{
    return (perpi_contact_point){
        {frozen->feature[0].place, frozen->feature[1].place},
        v3_unit(m3_mul(pose[frozen->body[0]].R, frozen->normal)),
        frozen->gap,
    };
}

vec3 perpi_frozen_tangent(const perp_model* model, bool tangent_y, vec3 n)
{
    if (model->dimension == 2) {
        return v3(n.y, -n.x, 0);
    }
    const vec3 x = tangent_y ? v3(0, 1, 0) : v3(1, 0, 0);
    return v3_unit(v3_madd(x, -v3_dot(x, n), n));
}

vec3 perpi_frozen_tangent_change(const perp_model* model, bool tangent_y, vec3 n, vec3 dn)
{
    if (model->dimension == 2) {
        return v3(dn.y, -dn.x, 0);
    }
    const vec3 axis = tangent_y ? v3(0, 1, 0) : v3(1, 0, 0);
    const vec3 u = v3_madd(axis, -v3_dot(axis, n), n), t = v3_unit(u);
    const vec3 du = v3_sub(v3_scale(-v3_dot(axis, dn), n), v3_scale(v3_dot(axis, n), dn));
    return v3_scale(1.0 / v3_norm(u), v3_madd(du, -v3_dot(t, du), t));
}

bool perpi_frozen_solve(const perp_model* model, const perpi_pose* pose,
                        const perpi_frozen_contact* frozen, perpi_contact_point* at,
                        perpi_contact_geometry* geometry)
{
    if (perpi_closed_solve(model, pose, frozen, at, geometry)) {
        return true;
    }
    contact_system x;
    double before = INFINITY;
    perpi_contact_point best = *at;
    double least = INFINITY;
    /* until a step is rounding: below the tolerance, or no shorter than the one before */
    for (int i = 0; i < STEPS; ++i) {
        begin_system(model, pose, frozen, at, &x);
        const double error = residual_of(&x);
        if (error < least) {
            least = error;
            best = *at;
        }
        assemble(&x);
        if (!isfinite(error) || !solve_system(&x)) {
            return false;
        }
        const double step = take_step(model, pose, frozen, &x, at);
        if (!(step <= LONGEST * (i == 0 ? 1.0 : 2.0))) {
            return false;
        }
        if (step <= CONVERGED || (i > 2 && step < 1e-9 && step >= 0.5 * before)) {
            break;
        }
        before = step;
    }
    begin_system(model, pose, frozen, at, &x);
    if (!(residual_of(&x) <= least)) {
        *at = best;
        begin_system(model, pose, frozen, at, &x);
        (void)residual_of(&x);
    }
    /* far from the origin positions have fewer digits */
    const double far = v3_norm(x.p[0]) / x.size;
    if (!(perpi_frozen_error(model, pose, frozen, at) <= 1e-11 + 1e-14 * far)) {
        return false;
    }
    *geometry = (perpi_contact_geometry){
        x.p[0], x.p[1], at->n, perpi_frozen_tangent(model, frozen->tangent_y, at->n), at->gap};
    return true;
}

/* ---- derivatives --------------------------------------------------------------------------------------- */

/* A small displacement of a body: translation, rotation. */
typedef struct displacement {
    vec3 x, turn;
} displacement;

static displacement unit_displacement(int k)
{
    const vec3 e = v3(k % 3 == 0, k % 3 == 1, k % 3 == 2), zero = v3(0, 0, 0);
    return k < 3 ? (displacement){e, zero} : (displacement){zero, e};
}

static vec3 moved(displacement d, vec3 origin, vec3 point)
{
    return v3_add(d.x, v3_cross(d.turn, v3_sub(point, origin)));
}

/* Of the surface point of a side, parameters and normal fixed, by a displacement of its own body. */
static vec3 point_by_displacement(const contact_system* x, int side, displacement d)
{
    const perpi_placed_feature* f = &x->side[side];
    const vec3 by = moved(d, f->origin, f->q);
    return f->surface ? v3_madd(by, -sigma(side), m3_mul(f->H, v3_cross(d.turn, x->n))) : by;
}

/* Minus the derivative of the residual by displacement `column % 6` of body `column / 6`. */
static void displace(contact_system* x, int column)
{
    const int body = column / 6;
    const displacement d = unit_displacement(column % 6);
    const vec3 by = point_by_displacement(x, body, d);
    for (int i = 0; i < x->dimension; ++i) {
        x->rhs[i][column] = -sigma(body) * v3_get(by, i) / x->size;
    }
    int row = x->dimension;
    for (int s = 0; s < 2; ++s) {
        const perpi_placed_feature* f = &x->side[s];
        for (int k = 0; k < f->free; ++k, ++row) {
            double r;
            if (k >= f->cuts) {
                r = s == body ? v3_dot(x->n, v3_cross(d.turn, f->dir[k])) : 0.0;
            } else if (s == body) {
                r = v3_dot(f->m[k], by) / x->size;
            } else { /* the plane is the other body's */
                const vec3 dm = v3_cross(d.turn, f->m[k]), dc = moved(d, f->other, f->c[k]);
                r = (v3_dot(dm, v3_sub(x->p[s], f->c[k])) - v3_dot(f->m[k], dc)) / x->size;
            }
            x->rhs[row][column] = -r;
        }
    }
}

static void put(double out[3][COLUMNS], int column, vec3 a)
{
    out[0][column] = a.x;
    out[1][column] = a.y;
    out[2][column] = a.z;
}

/* From the solution of a column: gap, normal, tangent, points. */
static void write_column(const perp_model* model, const perpi_frozen_contact* frozen,
                         const contact_system* x, int column, perpi_contact_derivative* d)
{
    const int turn = column_of(x, 1) + x->side[1].free;
    vec3 dn = v3(0, 0, 0);
    for (int k = 0; k < x->turns; ++k) {
        dn = v3_madd(dn, x->rhs[turn + k][column], x->e[k]);
    }
    vec3 dp[2];
    for (int s = 0; s < 2; ++s) {
        dp[s] = point_by_normal(x, s, dn);
        for (int k = 0; k < x->side[s].free; ++k) {
            dp[s] =
                v3_madd(dp[s], x->size * x->rhs[column_of(x, s) + k][column], x->side[s].dir[k]);
        }
        if (column / 6 == s) {
            dp[s] = v3_add(dp[s], point_by_displacement(x, s, unit_displacement(column % 6)));
        }
    }
    const vec3 dt = perpi_frozen_tangent_change(model, frozen->tangent_y, x->n, dn);
    d->gap[column] = x->size * x->rhs[turn + x->turns][column];
    put(d->normal, column, dn);
    put(d->tangent, column, dt);
    put(d->point_a, column, dp[0]);
    put(d->point_b, column, dp[1]);
}

/* In the plane: x, y and the rotation about z. */
static bool moves_along(const perp_model* model, int column)
{
    const int k = column % 6;
    return model->dimension == 3 || k < 2 || k == 5;
}

static perp_status no_solution(const perp_model* model, const perpi_frozen_contact* frozen,
                               perp_status status, const char* why)
{
    return perpi_fail(model->context, status, "contact of '%s' (%s) with '%s' (%s): %s",
                      model->body[frozen->body[0]].name,
                      perp_shape_name(model->shape[frozen->feature[0].shape].type),
                      model->body[frozen->body[1]].name,
                      perp_shape_name(model->shape[frozen->feature[1].shape].type), why);
}

bool perpi_frozen_flat(const perp_model* model, const perpi_pose* pose,
                       const perpi_frozen_contact* frozen, perpi_contact_geometry* geometry)
{
    const int face = frozen->feature[0].kind == PERPI_FEATURE_FACE ? 0 : 1;
    if (frozen->feature[face].kind != PERPI_FEATURE_FACE ||
        frozen->feature[1 - face].kind != PERPI_FEATURE_POINT ||
        !perpi_feature_exists(model, frozen, 0) || !perpi_feature_exists(model, frozen, 1)) {
        return false;
    }
    const perpi_contact_point at = perpi_frozen_start(pose, frozen);
    perpi_placed_feature side[2];
    for (int i = 0; i < 2; ++i) {
        vec3 place = at.place[i];
        perpi_feature_place(model, pose, frozen, i, at.n, &place, &side[i]);
    }
    const vec3* dir = side[face].dir;
    const vec3 across =
        model->dimension == 2 ? v3(dir[0].y, -dir[0].x, 0) : v3_unit(v3_cross(dir[0], dir[1]));
    const vec3 n = v3_dot(across, at.n) < 0.0 ? v3_neg(across) : across; /* from A to B */
    const double distance = v3_dot(n, v3_sub(side[1].q, side[0].q));
    const double gap = distance - side[0].radius - side[1].radius;
    const vec3 on_a = face == 0 ? v3_madd(side[1].q, -distance + side[0].radius, n)
                                : v3_madd(side[0].q, side[0].radius, n);
    *geometry =
        (perpi_contact_geometry){.point_a = on_a,
                                 .point_b = v3_madd(on_a, gap, n),
                                 .normal = n,
                                 .tangent = perpi_frozen_tangent(model, frozen->tangent_y, n),
                                 .gap = gap};
    return true;
}

perp_status perpi_frozen_at(const perp_model* model, const perpi_pose* pose,
                            const perpi_frozen_contact* frozen, perpi_contact_geometry* geometry)
{
    perpi_contact_point at = perpi_frozen_start(pose, frozen);
    if (!perpi_feature_exists(model, frozen, 0) || !perpi_feature_exists(model, frozen, 1)) {
        return no_solution(model, frozen, PERP_ERROR_NUMERIC,
                           "a shape of this model does not have its features");
    }
    return perpi_frozen_solve(model, pose, frozen, &at, geometry)
               ? PERP_OK
               : no_solution(model, frozen, PERP_ERROR_NUMERIC,
                             "its features have no contact near that of the step");
}

perp_status perpi_frozen_derivative(const perp_model* model, const perpi_pose* pose,
                                    const perpi_frozen_contact* frozen, perpi_contact_derivative* d)
{
    if (perpi_closed_derivative(model, pose, frozen, d)) {
        return PERP_OK;
    }
    contact_system x;
    perpi_contact_point at = perpi_frozen_start(pose, frozen);
    begin_system(model, pose, frozen, &at, &x);
    assemble(&x);
    x.columns = COLUMNS;
    for (int k = 0; k < COLUMNS; ++k) {
        if (moves_along(model, k)) {
            displace(&x, k);
        }
    }
    if (!solve_system(&x)) {
        return no_solution(model, frozen, PERP_ERROR_UNSUPPORTED,
                           "its normal has no derivative there");
    }
    memset(d, 0, sizeof *d);
    for (int k = 0; k < COLUMNS; ++k) {
        if (moves_along(model, k)) {
            write_column(model, frozen, &x, k, d);
        }
    }
    return PERP_OK;
}

perp_status perpi_contact_derivative_at(const perp_model* model, const perpi_pose* pose,
                                        const perp_contact* contact, perpi_contact_derivative* d)
{
    perpi_frozen_contact frozen;
    const perp_status status = perpi_contact_freeze(model, pose, contact, &frozen);
    return status == PERP_OK ? perpi_frozen_derivative(model, pose, &frozen, d) : status;
}
