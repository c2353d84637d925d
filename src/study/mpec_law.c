/* src/study/mpec_law.c - smoothed laws of contacts, bounds and joints, with first and second derivatives.
 *
 * Method     docs/notation.md, "All steps as unknowns"
 * Notation   speeds a = w p of impulses, w = J M^-1 J' at the first guess; u the row's velocity; tau > 0, a speed
 *
 *     min_tau(a, b) = (a + b - sqrt((a - b)^2 + 4 tau^2)) / 2            = 0 <=> a, b > 0, a b = tau^2
 *     normal       min_tau(w p_n, u_n) = 0
 *     planar       w p_t = clip_tau(w p_t - u_t, c),  c = w mu p_n
 *                  clip_tau(z, c) = (sqrt((z + c)^2 + 4 tau^2) - sqrt((z - c)^2 + 4 tau^2)) / 2
 *     round        w p_t = c z / max_tau(c, |z|),  z = w p_t - u_t
 *     polygon      w p_t = the nearest point of the polygon to z, by min_tau and clip_tau in the sector of each side
 *     bounded      w p = the nearest point of [w lower, w upper] to w p - u, smoothed likewise
 *     equality     u = 0
 *
 * With tau -> 0 these are the laws of perp/problem.h. The projections are regular in all states of
 * a contact (open, sticking, sliding) and need no further unknowns: [B09 (7.10)] with components
 * lambda_f and slip speed sigma is singular, since sigma is not determined without an impulse, nor
 * are the components while sticking.
 */
#include <math.h>
#include <string.h>

#include "shape/builtin.h"
#include "study/mpec.h"

/* Sharpness of the weights of the sectors of a polygon, times the square of their number. */
static const double SHARPNESS = 1.6;

/* ---- numbers with first and second derivatives by the inputs of a law ------------------------------*/

enum { K = 7 }; /* p_n, p_t, p_o, u_n, u_t, u_o, mu */
enum { P_N, P_T, P_O, U_N, U_T, U_O, MU };

typedef struct jet {
    double v, g[K], h[K][K]; /* h: lower triangle */
} jet;

static jet jet_input(int i, double v)
{
    jet x = {.v = v};
    x.g[i] = 1.0;
    return x;
}

/* a x + b y */
static jet jet_sum(double a, const jet* x, double b, const jet* y)
{
    jet z;
    z.v = a * x->v + b * y->v;
    for (int i = 0; i < K; ++i) {
        z.g[i] = a * x->g[i] + b * y->g[i];
        for (int j = 0; j <= i; ++j) {
            z.h[i][j] = a * x->h[i][j] + b * y->h[i][j];
        }
    }
    return z;
}

static jet jet_product(const jet* x, const jet* y)
{
    jet z;
    z.v = x->v * y->v;
    for (int i = 0; i < K; ++i) {
        z.g[i] = x->v * y->g[i] + y->v * x->g[i];
        for (int j = 0; j <= i; ++j) {
            z.h[i][j] =
                x->v * y->h[i][j] + y->v * x->h[i][j] + x->g[i] * y->g[j] + x->g[j] * y->g[i];
        }
    }
    return z;
}

/* f(x), with its first and second derivative at x. */
static jet jet_apply(const jet* x, double f, double f1, double f2)
{
    jet z;
    z.v = f;
    for (int i = 0; i < K; ++i) {
        z.g[i] = f1 * x->g[i];
        for (int j = 0; j <= i; ++j) {
            z.h[i][j] = f1 * x->h[i][j] + f2 * x->g[i] * x->g[j];
        }
    }
    return z;
}

static jet jet_root(const jet* x)
{
    const double r = sqrt(x->v);
    return jet_apply(x, r, 0.5 / r, -0.25 / (r * x->v));
}

static jet jet_inverse(const jet* x)
{
    const double r = 1.0 / x->v;
    return jet_apply(x, r, -r * r, 2.0 * r * r * r);
}

/* sqrt(x^2 + e^2) */
static jet jet_length(const jet* x, double e)
{
    jet s = jet_product(x, x);
    s.v += e * e;
    return jet_root(&s);
}

/* (a + b + sign sqrt((a - b)^2 + 4 tau^2)) / 2 */
static jet jet_extreme(const jet* a, const jet* b, double sign, double tau)
{
    const jet difference = jet_sum(1.0, a, -1.0, b);
    const jet root = jet_length(&difference, 2.0 * tau);
    const jet sum = jet_sum(0.5, a, 0.5, b);
    return jet_sum(1.0, &sum, 0.5 * sign, &root);
}

/* ---- laws ------------------------------------------------------------------------------------------*/

/* The derivatives of a law by the local unknowns of its constraint, and the sum of second ones. */
typedef struct sink {
    const perpi_mpec* m;
    const perpi_mpec_constraint* c;
    const double* lambda;
    double *value, *jacobian, *hessian;
    int32_t laws;                     /* written so far */
    double form[K][PERPI_MPEC_LOCAL]; /* d input by the local unknowns */
} sink;

static void add_outer(sink* s, double weight, const double* a, const double* b)
{
    const int32_t n = s->c->local_count;
    size_t at = 0;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j <= i; ++j, ++at) {
            s->hessian[at] += 0.5 * weight * (a[i] * b[j] + a[j] * b[i]);
        }
    }
}

static void emit(sink* s, const jet* x)
{
    const int32_t n = s->c->local_count, law = s->laws++;
    s->value[law] = x->v;
    if (s->jacobian != NULL) {
        double* row = s->jacobian + (size_t)law * (size_t)n;
        for (int i = 0; i < K; ++i) {
            for (int32_t k = 0; x->g[i] != 0.0 && k < n; ++k) {
                row[k] += x->g[i] * s->form[i][k];
            }
        }
    }
    if (s->hessian != NULL && s->lambda[law] != 0.0) {
        for (int i = 0; i < K; ++i) {
            for (int j = 0; j <= i; ++j) {
                if (x->h[i][j] != 0.0) {
                    add_outer(s, s->lambda[law] * (i == j ? 1.0 : 2.0) * x->h[i][j], s->form[i],
                              s->form[j]);
                }
            }
        }
    }
}

static void emit_normal(sink* s, const jet* input)
{
    const jet a = jet_sum(s->c->w_n, &input[P_N], 0.0, &input[P_N]);
    const jet law = jet_extreme(&a, &input[U_N], -1.0, s->m->tau);
    emit(s, &law);
}

static void emit_planar(sink* s, const jet* input)
{
    const double w = s->c->w_t[1], tau = s->m->tau;
    const jet z = jet_sum(w, &input[P_T], -1.0, &input[U_T]);
    jet c = jet_product(&input[MU], &input[P_N]);
    c = jet_sum(w, &c, 0.0, &c);
    const jet over = jet_sum(1.0, &z, 1.0, &c), under = jet_sum(1.0, &z, -1.0, &c);
    const jet a = jet_length(&over, 2.0 * tau), b = jet_length(&under, 2.0 * tau);
    const jet clip = jet_sum(0.5, &a, -0.5, &b);
    const jet law = jet_sum(w, &input[P_T], -1.0, &clip);
    emit(s, &law);
}

static void emit_round(sink* s, const jet* input)
{
    const double w = s->c->w_t[1], tau = s->m->tau;
    const jet z[2] = {jet_sum(w, &input[P_T], -1.0, &input[U_T]),
                      jet_sum(w, &input[P_O], -1.0, &input[U_O])};
    jet c = jet_product(&input[MU], &input[P_N]);
    c = jet_sum(w, &c, 0.0, &c);
    jet square[2] = {jet_product(&z[0], &z[0]), jet_product(&z[1], &z[1])};
    jet length = jet_sum(1.0, &square[0], 1.0, &square[1]);
    length.v += tau * tau;
    length = jet_root(&length);
    const jet most = jet_extreme(&c, &length, 1.0, tau);
    const jet inverse = jet_inverse(&most);
    const jet part = jet_product(&c, &inverse);
    for (int i = 0; i < 2; ++i) {
        const jet on = jet_product(&part, &z[i]);
        const jet law = jet_sum(w, &input[P_T + i], -1.0, &on);
        emit(s, &law);
    }
}

/* The nearest point of a polygon with vertices c d_j: in the sector of a side with the outward
 * normal a, the part along a is at most c cos(pi / d) and that along the side within c sin(pi / d).
 * On the borders of sectors both are the same vertex, or z itself, so that weights of neighbouring
 * sectors only join what is equal there as tau -> 0. */
static void emit_polygon(sink* s, const jet* input)
{
    const int32_t d = s->c->directions;
    const double w = s->c->w_t[1], tau = s->m->tau, half = PERPI_PI / d;
    const jet z[2] = {jet_sum(w, &input[P_T], -1.0, &input[U_T]),
                      jet_sum(w, &input[P_O], -1.0, &input[U_O])};
    const jet product = jet_product(&input[MU], &input[P_N]);
    const jet reach = jet_sum(w * cos(half), &product, 0.0, &product);
    const jet width = jet_sum(w * sin(half), &product, 0.0, &product);
    const jet square[2] = {jet_product(&z[0], &z[0]), jet_product(&z[1], &z[1])};
    jet length = jet_sum(1.0, &square[0], 1.0, &square[1]);
    length.v += tau * tau;
    length = jet_root(&length);
    const jet inverse = jet_inverse(&length);
    jet sum = {.v = 0.0}, on[2] = {{.v = 0.0}, {.v = 0.0}};
    const double largest = atan2(z[1].v, z[0].v), sharp = SHARPNESS * d * d;
    const int32_t nearest = (int32_t)floor(largest / (2.0 * half));
    for (int32_t k = nearest - 1; k <= nearest + 1; ++k) { /* others weigh nothing */
        const double angle = (2.0 * k + 1.0) * half, x = cos(angle), y = sin(angle);
        const jet along = jet_sum(x, &z[0], y, &z[1]), across = jet_sum(-y, &z[0], x, &z[1]);
        const jet a = jet_extreme(&along, &reach, -1.0, tau);
        const jet over = jet_sum(1.0, &across, 1.0, &width);
        const jet under = jet_sum(1.0, &across, -1.0, &width);
        const jet up = jet_length(&over, 2.0 * tau), down = jet_length(&under, 2.0 * tau);
        const jet b = jet_sum(0.5, &up, -0.5, &down);
        const jet cosine = jet_product(&along, &inverse);
        const double e = exp(sharp * (cosine.v - 1.0));
        const jet weight = jet_apply(&cosine, e, sharp * e, sharp * sharp * e);
        const jet part[2] = {jet_sum(x, &a, -y, &b), jet_sum(y, &a, x, &b)};
        sum = jet_sum(1.0, &sum, 1.0, &weight);
        for (int i = 0; i < 2; ++i) {
            const jet share = jet_product(&weight, &part[i]);
            on[i] = jet_sum(1.0, &on[i], 1.0, &share);
        }
    }
    const jet whole = jet_inverse(&sum);
    for (int i = 0; i < 2; ++i) {
        const jet point = jet_product(&on[i], &whole);
        const jet law = jet_sum(w, &input[P_T + i], -1.0, &point);
        emit(s, &law);
    }
}

/* The nearest point of [low, high] to z, smoothed; its first and second derivative. */
static double nearest(double z, double low, double high, double tau, double slope[2])
{
    double value = isfinite(low) && isfinite(high) ? 0.5 * (low + high)
                   : isfinite(low)                 ? 0.5 * (z + low)
                   : isfinite(high)                ? 0.5 * (z + high)
                                                   : z;
    slope[0] = isfinite(low) && isfinite(high) ? 0.0 : isfinite(low) || isfinite(high) ? 0.5 : 1.0;
    slope[1] = 0.0;
    for (int side = 0; side < 2; ++side) {
        const double bound = side == 0 ? low : high, sign = side == 0 ? 0.5 : -0.5;
        if (isfinite(bound)) {
            const double d = z - bound, root = sqrt(d * d + 4.0 * tau * tau);
            value += sign * root;
            slope[0] += sign * d / root;
            slope[1] += sign * 4.0 * tau * tau / (root * root * root);
        }
    }
    return value;
}

static void emit_bounded(sink* s, int32_t r, double p, const double* form_u)
{
    const perpi_mpec_constraint* c = s->c;
    const int32_t n = c->local_count, law = s->laws++;
    const double w = c->w_t[r], z = w * p - c->u[r];
    double slope[2], dz[PERPI_MPEC_LOCAL];
    s->value[law] = w * p - nearest(z, w * c->lower[r], w * c->upper[r], s->m->tau, slope);
    for (int32_t k = 0; k < n; ++k) {
        dz[k] = (k == r ? w : 0.0) - form_u[k];
    }
    if (s->jacobian != NULL) {
        double* row = s->jacobian + (size_t)law * (size_t)n;
        for (int32_t k = 0; k < n; ++k) {
            row[k] += (k == r ? w : 0.0) - slope[0] * dz[k];
        }
    }
    if (s->hessian != NULL && s->lambda[law] != 0.0) {
        add_outer(s, -s->lambda[law] * slope[1], dz, dz);
    }
}

/* d u of a row by the local unknowns. */
static void row_form(const perpi_mpec* m, const perpi_mpec_constraint* c, int32_t r, double* form)
{
    const int32_t columns = c->dofs[0] + c->dofs[1] + c->turns[0] + c->turns[1];
    const double* slope = m->slope + c->slope + (size_t)r * (size_t)columns;
    memset(form, 0, (size_t)c->local_count * sizeof *form);
    memcpy(form + c->rows, slope, (size_t)columns * sizeof *form);
    form[r] = c->compliance[r];
}

void perpi_mpec_law(const perpi_mpec* m, const perpi_mpec_constraint* c, const double* p,
                    const double* lambda, double* value, double* jacobian, double* hessian)
{
    const size_t n = (size_t)c->local_count;
    sink s = {
        .m = m, .c = c, .lambda = lambda, .value = value, .jacobian = jacobian, .hessian = hessian};
    if (jacobian != NULL) {
        memset(jacobian, 0, (size_t)c->law_count * n * sizeof *jacobian);
    }
    if (hessian != NULL) {
        memset(hessian, 0, n * (n + 1) / 2 * sizeof *hessian);
    }
    if (c->kind == PERPI_MPEC_EQUALITY || c->kind == PERPI_MPEC_BOUNDED) {
        for (int32_t r = 0; r < c->rows; ++r) {
            double form[PERPI_MPEC_LOCAL];
            row_form(m, c, r, form);
            if (c->kind == PERPI_MPEC_BOUNDED) {
                emit_bounded(&s, r, p[r], form);
                continue;
            }
            s.value[s.laws] = c->u[r];
            if (jacobian != NULL) {
                memcpy(jacobian + (size_t)s.laws * n, form, n * sizeof *form);
            }
            s.laws += 1;
        }
        return;
    }
    jet input[K] = {0};
    for (int32_t r = 0; r < c->rows; ++r) {
        input[P_N + r] = jet_input(P_N + r, p[r]);
        input[U_N + r] = jet_input(U_N + r, c->u[r]);
        memset(s.form[P_N + r], 0, n * sizeof **s.form);
        s.form[P_N + r][r] = 1.0;
        row_form(m, c, r, s.form[U_N + r]);
    }
    input[MU] = jet_input(MU, c->mu);
    memset(s.form[MU], 0, n * sizeof **s.form);
    for (int32_t i = 0; i < c->mu_count; ++i) {
        s.form[MU][c->local_count - c->mu_count + i] = c->mu_slope[i];
    }
    emit_normal(&s, input);
    switch (c->kind) {
    case PERPI_MPEC_PLANAR: emit_planar(&s, input); break;
    case PERPI_MPEC_ROUND: emit_round(&s, input); break;
    case PERPI_MPEC_POLYGON: emit_polygon(&s, input); break;
    default: break;
    }
}
