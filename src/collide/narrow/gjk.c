/* src/collide/narrow/gjk.c - the distance of two convex bodies.
 *
 * Source     Gilbert, Johnson, Keerthi: A fast procedure for computing the distance between complex
 *            objects in three-dimensional space, IEEE J. Robotics and Automation 4 (1988)
 * Departure  the closest point of the simplex is found by testing all its faces (at most fifteen) and taking the
 *            best with positive weights, which does not depend on signs of small determinants
 */
#include "collide/narrow/gjk.h"

#include <math.h>

enum { STEPS = 100 };

typedef struct corner {
    vec3 a, b, w; /* points of the two bodies, and b - a */
} corner;

typedef struct simplex {
    corner corner[4];
    double weight[4];
    int count;
} simplex;

/* Weights of the point nearest to the origin in the affine hull of up to four points; false if they
 * are dependent or a weight is negative. */
static bool weights_of(const corner* const* c, int n, double* weight)
{
    if (n == 1) {
        weight[0] = 1.0;
        return true;
    }
    /* normal equations of min |w0 + sum x_i (w_i - w0)| */
    vec3 e[3];
    double G[3][3], g[3], x[3] = {0, 0, 0};
    const int m = n - 1;
    for (int i = 0; i < m; ++i) {
        e[i] = v3_sub(c[i + 1]->w, c[0]->w);
    }
    for (int i = 0; i < m; ++i) {
        for (int k = 0; k < m; ++k) {
            G[i][k] = v3_dot(e[i], e[k]);
        }
        g[i] = -v3_dot(e[i], c[0]->w);
    }
    for (int i = 0; i < m; ++i) { /* Cholesky in place */
        for (int k = 0; k <= i; ++k) {
            double s = G[i][k];
            for (int j = 0; j < k; ++j) {
                s -= G[i][j] * G[k][j];
            }
            if (i == k) {
                if (!(s > 1e-13 * v3_dot(e[i], e[i]))) {
                    return false;
                }
                G[i][i] = sqrt(s);
            } else {
                G[i][k] = s / G[k][k];
            }
        }
    }
    for (int i = 0; i < m; ++i) {
        double s = g[i];
        for (int j = 0; j < i; ++j) {
            s -= G[i][j] * x[j];
        }
        x[i] = s / G[i][i];
    }
    for (int i = m - 1; i >= 0; --i) {
        double s = x[i];
        for (int j = i + 1; j < m; ++j) {
            s -= G[j][i] * x[j];
        }
        x[i] = s / G[i][i];
    }
    weight[0] = 1.0;
    for (int i = 0; i < m; ++i) {
        if (!(x[i] >= 0.0)) {
            return false;
        }
        weight[i + 1] = x[i];
        weight[0] -= x[i];
    }
    return weight[0] >= 0.0;
}

/* Shrinks the simplex to the face that holds its point nearest to the origin; returns that point. */
static vec3 reduce_simplex(simplex* s)
{
    vec3 best = {0, 0, 0};
    double least = INFINITY;
    int keep = 0;
    double weight[4] = {0};
    for (int mask = 1; mask < 1 << s->count; ++mask) {
        const corner* c[4];
        double x[4];
        int n = 0;
        for (int i = 0; i < s->count; ++i) {
            if ((mask >> i & 1) != 0) {
                c[n++] = &s->corner[i];
            }
        }
        if (!weights_of(c, n, x)) {
            continue;
        }
        vec3 v = {0, 0, 0};
        for (int i = 0; i < n; ++i) {
            v = v3_madd(v, x[i], c[i]->w);
        }
        const double d2 = v3_dot(v, v);
        if (d2 < least) {
            least = d2;
            best = v;
            keep = mask;
            for (int i = 0; i < n; ++i) {
                weight[i] = x[i];
            }
        }
    }
    int n = 0;
    for (int i = 0; i < s->count; ++i) {
        if ((keep >> i & 1) != 0) {
            s->corner[n] = s->corner[i];
            s->weight[n] = weight[n];
            ++n;
        }
    }
    s->count = n;
    return best;
}

perpi_gjk perpi_gjk_closest(const void* a, perpi_support_fn support_a, const void* b,
                            perpi_support_fn support_b, vec3 start, double tiny)
{
    simplex s = {.count = 0};
    vec3 v = v3_dot(start, start) > 0.0 ? start : v3(1, 0, 0);
    double last = INFINITY;
    for (int step = 0; step < STEPS; ++step) {
        corner c = {.a = support_a(a, v), .b = support_b(b, v3_neg(v))};
        c.w = v3_sub(c.b, c.a);
        const double d = v3_norm(v);
        /* no point of the difference is nearer along v: v is the answer */
        if (step > 0 && !(d * d - v3_dot(v, c.w) > 1e-14 * d * d)) {
            break;
        }
        if (s.count == 4) {
            return (perpi_gjk){0};
        }
        s.corner[s.count++] = c;
        v = reduce_simplex(&s);
        const double now = v3_norm(v);
        if (!(now > tiny) || s.count == 4) {
            return (perpi_gjk){0};
        }
        if (!(now < last)) {
            break; /* rounding: no progress any more */
        }
        last = now;
    }
    perpi_gjk out = {.distance = v3_norm(v)};
    for (int i = 0; i < s.count; ++i) {
        out.a = v3_madd(out.a, s.weight[i], s.corner[i].a);
        out.b = v3_madd(out.b, s.weight[i], s.corner[i].b);
    }
    return out;
}

bool perpi_gjk_farther(const void* a, perpi_support_fn support_a, const void* b,
                       perpi_support_fn support_b, double limit, vec3* axis, double* gap)
{
    simplex s = {.count = 0};
    vec3 v = v3_dot(*axis, *axis) > 0.0 ? *axis : v3(1, 0, 0);
    double last = INFINITY;
    for (int step = 0; step < STEPS; ++step) {
        corner c = {.a = support_a(a, v), .b = support_b(b, v3_neg(v))};
        c.w = v3_sub(c.b, c.a);
        const double d = v3_norm(v), below = v3_dot(v, c.w) / d;
        if (below > limit) {
            *axis = v3_scale(1.0 / d, v);
            *gap = below;
            return true;
        }
        if (s.count == 4) {
            return false;
        }
        s.corner[s.count++] = c;
        v = reduce_simplex(&s);
        /* v is a point of the difference, so the distance is at most its length */
        const double now = v3_norm(v);
        if (!(now > limit) || s.count == 4 || !(now < last)) {
            return false;
        }
        last = now;
    }
    return false;
}
