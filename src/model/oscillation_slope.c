/* src/model/oscillation_slope.c - see oscillation_slope.h.
 *
 * The rotation Phi' = omega x Phi changes by exp(e) Phi, and a product B A by e_B + B e_A. From
 * node to node, and from the nearest node to t, e is that of the Magnus series: d exp(X) = exp(J
 * dX) exp(X).
 */
#include "model/oscillation_slope.h"

#include "base/turn.h"
#include "model/oscillation_parts.h"

/* The numbers of a wave by a parameter. */
typedef struct wave_slope {
    double A, b, c;
} wave_slope;

/* The other numbers. */
typedef struct mean_slope {
    vec3 x0, v, w, turn0; /* turn0: of q0, a rotation vector */
    double angle0;
    vec3 cycle; /* several axes: of a_cycle */
} mean_slope;

struct perpi_oscillation_slope {
    const perpi_oscillation* o;
    int32_t count;
    wave_slope* wave; /* wave_count for each parameter */
    mean_slope* mean;
    vec3* node;            /* several axes: nodes + 1 for each parameter: e of Phi */
    double *sine, *cosine; /* of the waves, at one time, or at three */
};

void perpi_oscillation_slope_destroy(perp_context* context, perpi_oscillation_slope* s)
{
    if (s != NULL) {
        perpi_free(context, s->wave);
        perpi_free(context, s->mean);
        perpi_free(context, s->node);
        perpi_free(context, s->sine);
        perpi_free(context, s);
    }
}

/* ---- one integral, two integrals -------------------------------------------------------------------*/

static void evaluate_waves(const perpi_oscillation_slope* s, double t, int32_t least_axis, int at)
{
    const perpi_oscillation* o = s->o;
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        if (a->axis >= least_axis) {
            s->sine[at * o->wave_count + i] = sin(a->b * t + a->c);
            s->cosine[at * o->wave_count + i] = cos(a->b * t + a->c);
        }
    }
}

static void set_axis(vec3* linear, vec3* angular, int32_t axis, double add)
{
    vec3* to = axis < 3 ? linear : angular;
    double x[3] = {to->x, to->y, to->z};
    x[axis % 3] += add;
    *to = v3_from(x);
}

/* The velocities by parameter p, of the waves at t; least_axis 3: those about axes alone. */
static void rate_slope(const perpi_oscillation_slope* s, int32_t p, double t, int32_t least_axis,
                       int at, vec3* v, vec3* w)
{
    const perpi_oscillation* o = s->o;
    *v = s->mean[p].v;
    *w = s->mean[p].w;
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        const wave_slope* d = &s->wave[p * o->wave_count + i];
        if (a->axis < least_axis || (d->A == 0.0 && d->b == 0.0 && d->c == 0.0)) {
            continue;
        }
        const double sine = s->sine[at * o->wave_count + i],
                     cosine = s->cosine[at * o->wave_count + i];
        set_axis(v, w, a->axis,
                 a->A / a->b * sine * (d->b * t + d->c) -
                     (d->A - a->A * d->b / a->b) / a->b * cosine);
    }
}

/* The ways by parameter p, likewise. */
static void travel_slope(const perpi_oscillation_slope* s, int32_t p, double t, vec3* x, vec3* turn)
{
    const perpi_oscillation* o = s->o;
    *x = v3_scale(t, s->mean[p].v);
    *turn = v3_scale(t, s->mean[p].w);
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        const wave_slope* d = &s->wave[p * o->wave_count + i];
        const double b2 = a->b * a->b;
        if (d->A != 0.0 || d->b != 0.0 || d->c != 0.0) {
            set_axis(x, turn, a->axis,
                     -(d->A - 2.0 * a->A * d->b / a->b) / b2 * s->sine[i] -
                         a->A / b2 * s->cosine[i] * (d->b * t + d->c));
        }
    }
}

/* ---- rotation about several axes -------------------------------------------------------------------*/

/* The terms of the Magnus series of oscillation.c. */
typedef struct magnus_terms {
    vec3 a1, a2, a3, C1, C2, left, X;
} magnus_terms;

static const double ROOT15 = 3.8729833462074170;

static magnus_terms linear_terms(double h, vec3 A1, vec3 A2, vec3 A3)
{
    return (magnus_terms){.a1 = v3_scale(h, A2),
                          .a2 = v3_scale(ROOT15 * h / 3.0, v3_sub(A3, A1)),
                          .a3 = v3_scale(10.0 * h / 3.0, v3_add(v3_madd(A3, -2.0, A2), A1))};
}

static void omega_at(const perpi_oscillation_slope* s, double t, int at, vec3* w)
{
    const perpi_oscillation* o = s->o;
    vec3 v = {0, 0, 0};
    *w = o->w;
    evaluate_waves(s, t, 3, at);
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        if (a->axis >= 3) {
            set_axis(&v, w, a->axis, -a->A / a->b * s->cosine[at * o->wave_count + i]);
        }
    }
}

/* The terms of the rotation from t to t + h; the waves at its three points stay evaluated. */
static magnus_terms magnus_at(const perpi_oscillation_slope* s, double t, double h)
{
    vec3 A[3];
    for (int k = 0; k < 3; ++k) {
        omega_at(s, t + h * (0.5 + 0.1 * ROOT15 * (k - 1)), k, &A[k]);
    }
    magnus_terms m = linear_terms(h, A[0], A[1], A[2]);
    m.C1 = v3_cross(m.a1, m.a2);
    m.C2 = v3_scale(-1.0 / 60.0, v3_cross(m.a1, v3_madd(m.C1, 2.0, m.a3)));
    m.left = v3_sub(v3_madd(m.C1, -20.0, m.a1), m.a3);
    m.X =
        v3_madd(v3_madd(m.a1, 1.0 / 12.0, m.a3), 1.0 / 240.0, v3_cross(m.left, v3_add(m.a2, m.C2)));
    return m;
}

/* d X by parameter p. */
static vec3 magnus_slope(const perpi_oscillation_slope* s, int32_t p, double t, double h,
                         const magnus_terms* m)
{
    vec3 A[3], none;
    for (int k = 0; k < 3; ++k) {
        rate_slope(s, p, t + h * (0.5 + 0.1 * ROOT15 * (k - 1)), 3, k, &none, &A[k]);
    }
    magnus_terms d = linear_terms(h, A[0], A[1], A[2]);
    d.C1 = v3_add(v3_cross(d.a1, m->a2), v3_cross(m->a1, d.a2));
    d.C2 = v3_scale(-1.0 / 60.0, v3_add(v3_cross(d.a1, v3_madd(m->C1, 2.0, m->a3)),
                                        v3_cross(m->a1, v3_madd(d.C1, 2.0, d.a3))));
    d.left = v3_sub(v3_madd(d.C1, -20.0, d.a1), d.a3);
    return v3_madd(
        v3_madd(d.a1, 1.0 / 12.0, d.a3), 1.0 / 240.0,
        v3_add(v3_cross(d.left, v3_add(m->a2, m->C2)), v3_cross(m->left, v3_add(d.a2, d.C2))));
}

static void fill_nodes(perpi_oscillation_slope* s)
{
    const perpi_oscillation* o = s->o;
    const double h = o->period / o->nodes;
    const int32_t stride = o->nodes + 1;
    for (int32_t k = 0; k < o->nodes; ++k) {
        const double t = o->period * k / o->nodes;
        const magnus_terms m = magnus_at(s, t, h);
        const mat3 R = q4_matrix(q4_exp(m.X)), J = perpi_turn_derivative(m.X);
        for (int32_t p = 0; p < s->count; ++p) {
            vec3* e = s->node + p * stride + k;
            e[1] = v3_add(m3_mul(J, magnus_slope(s, p, t, h, &m)), m3_mul(R, e[0]));
        }
    }
    for (int32_t p = 0; p < s->count && !o->periodic; ++p) {
        s->mean[p].cycle = perpi_turn_back(o->a_cycle, s->node[p * stride + o->nodes]);
    }
}

/* e of the orientation, and the orientation. */
static void turn_slope(const perpi_oscillation_slope* s, double t, quat* q, double* pose)
{
    const perpi_oscillation* o = s->o;
    const double n = floor(t / o->period), rest = t - n * o->period;
    const double step = o->period / o->nodes;
    double k = floor(rest / step + 0.5);
    k = k < 0.0 ? 0.0 : k > o->nodes ? o->nodes : k;
    const double from = o->period * k / o->nodes;
    const magnus_terms m = magnus_at(s, from, rest - from);
    const quat within = q4_exp(m.X), node = o->node[(int32_t)k];
    const quat cycles = q4_exp(v3_scale(n, o->a_cycle));
    const quat to_node = q4_mul(node, cycles);
    *q = q4_unit(q4_mul(q4_mul(within, to_node), o->q0));
    const mat3 J = perpi_turn_derivative(m.X), R_within = q4_matrix(within),
               R_node = q4_matrix(q4_unit(node)), R_cycles = q4_matrix(cycles);
    const mat3 J_cycles = perpi_turn_derivative(v3_scale(n, o->a_cycle));
    for (int32_t p = 0; p < s->count; ++p) {
        const mean_slope* d = &s->mean[p];
        vec3 e = m3_mul(R_cycles, d->turn0);
        e = v3_madd(e, n, m3_mul(J_cycles, d->cycle));
        e = v3_add(s->node[p * (o->nodes + 1) + (int32_t)k], m3_mul(R_node, e));
        e = v3_add(m3_mul(J, magnus_slope(s, p, from, rest - from, &m)), m3_mul(R_within, e));
        v3_to(e, pose + 6 * p + 3);
    }
}

/* ---- all -------------------------------------------------------------------------------------------*/

void perpi_oscillation_slope_at(const perpi_oscillation_slope* s, double t, quat* q, double* pose,
                                double* velocity)
{
    const perpi_oscillation* o = s->o;
    evaluate_waves(s, t, 0, 0);
    for (int32_t p = 0; p < s->count; ++p) {
        vec3 x, turn, v, w;
        travel_slope(s, p, t, &x, &turn);
        rate_slope(s, p, t, 0, 0, &v, &w);
        v3_to(v3_add(s->mean[p].x0, x), pose + 6 * p);
        v3_to(turn, pose + 6 * p + 3);
        v3_to(v, velocity + 6 * p);
        v3_to(w, velocity + 6 * p + 3);
    }
    if (o->turning == 3) {
        turn_slope(s, t, q, pose);
        return;
    }
    const quat turn = perpi_oscillation_turn(o, t);
    const mat3 R = q4_matrix(turn);
    *q = q4_unit(q4_mul(turn, o->q0));
    evaluate_waves(s, 0.0, 0, 0);
    for (int32_t p = 0; p < s->count; ++p) {
        double* to = pose + 6 * p;
        vec3 x, first;
        travel_slope(s, p, 0.0, &x, &first);
        const vec3 way = v3_sub(v3_from(to + 3), first);
        if (o->dimension == 2) {
            to[3] = to[4] = 0.0;
            to[5] = s->mean[p].angle0 + (o->turning == 2 ? way.z : 0.0);
            continue;
        }
        vec3 e = m3_mul(R, s->mean[p].turn0);
        for (int axis = 0; axis < 3; ++axis) {
            to[3 + axis] = v3_get(e, axis) + (o->turning == axis ? v3_get(way, axis) : 0.0);
        }
    }
}

/* Adds weight times the numbers of another oscillation; false: it has not the same form. */
static bool add_other(perpi_oscillation_slope* s, int32_t p, const perpi_oscillation* x,
                      double weight)
{
    const perpi_oscillation* o = s->o;
    mean_slope* m = &s->mean[p];
    if (weight == 0.0 || x == o) {
        return true; /* numbers are taken relative to those of o */
    }
    if (x == NULL || x->wave_count != o->wave_count || x->turning != o->turning) {
        return false;
    }
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave *a = &o->wave[i], *b = &x->wave[i];
        wave_slope* d = &s->wave[p * o->wave_count + i];
        if (a->axis != b->axis || (o->turning == 3 && a->axis >= 3 && a->b != b->b)) {
            return false;
        }
        d->A += weight * (b->A - a->A);
        d->b += weight * (b->b - a->b);
        d->c += weight * (b->c - a->c);
    }
    m->x0 = v3_madd(m->x0, weight, v3_sub(x->x0, o->x0));
    m->v = v3_madd(m->v, weight, v3_sub(x->v, o->v));
    m->w = v3_madd(m->w, weight, v3_sub(x->w, o->w));
    m->turn0 = v3_madd(m->turn0, weight, q4_log(q4_mul(x->q0, q4_conj(o->q0))));
    m->angle0 += weight * (x->angle0 - o->angle0);
    return true;
}

static perp_status allocate(perp_context* context, perpi_oscillation_slope* s)
{
    const size_t n = (size_t)s->count, waves = (size_t)s->o->wave_count;
    const size_t nodes = s->o->turning == 3 ? (size_t)s->o->nodes + 1 : 0;
    perp_status status = perpi_alloc(context, n * waves + 1, sizeof *s->wave, &s->wave);
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *s->mean, &s->mean);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n * nodes + 1, sizeof *s->node, &s->node);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, 6 * waves + 1, sizeof *s->sine, &s->sine);
        s->cosine = s->sine + 3 * waves;
    }
    return status;
}

perp_status perpi_oscillation_slope_create(perp_context* context, const perpi_oscillation* o,
                                           int32_t count, int32_t others,
                                           const perpi_oscillation* const* other,
                                           const double* weight, perpi_oscillation_slope** slope)
{
    perpi_oscillation_slope* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->o = o;
    s->count = count;
    status = allocate(context, s);
    bool same = status == PERP_OK;
    for (int32_t i = 0; same && i < count * others; ++i) {
        same = add_other(s, i / others, other[i], weight[i]);
    }
    if (!same) {
        perpi_oscillation_slope_destroy(context, s);
        return status;
    }
    if (o->turning == 3) {
        fill_nodes(s);
    }
    *slope = s;
    return PERP_OK;
}
