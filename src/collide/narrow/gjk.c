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
#define FARTHER (1.0 + 1e-12) /* times a limit: not by rounding alone */

typedef struct corner {
    vec3 a, b, w; /* points of the two bodies, and b - a */
} corner;

typedef struct simplex {
    corner corner[4];
    double weight[4];
    int count;
    vec3 nearest; /* its point nearest to the origin, all weights positive */
    double d2;    /* the square of its distance; INFINITY: no corner yet */
} simplex;

/* Weights of the point nearest to the origin in the affine hull of m + 1 points; false if they are
 * dependent or a weight is negative. Inline for each m. */
static inline bool weights_of(const corner* const* c, int m, double* weight)
{
    /* normal equations of min |w0 + sum x_i (w_i - w0)| */
    vec3 e[3];
    double G[3][3], g[3], x[3] = {0, 0, 0};
    for (int i = 0; i < m; ++i) {
        e[i] = v3_sub(c[i + 1]->w, c[0]->w);
    }
    for (int i = 0; i < m; ++i) {
        for (int k = 0; k <= i; ++k) {
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

/* Adds a corner and shrinks the simplex to the face that holds its point nearest to the origin; returns
 * that point. Of the faces without the new corner the old simplex is the best. */
static vec3 add_corner(simplex* s, const corner* added)
{
    const int last = s->count;
    int keep = (1 << last) - 1;
    double weight[4] = {s->weight[0], s->weight[1], s->weight[2], s->weight[3]};
    s->corner[last] = *added;
    for (int rest = 0; rest < 1 << last; ++rest) {
        const corner* c[4];
        double x[4] = {1.0};
        int n = 0;
        for (int i = 0; i < last; ++i) {
            if ((rest >> i & 1) != 0) {
                c[n++] = &s->corner[i];
            }
        }
        c[n++] = &s->corner[last];
        if ((n == 2 && !weights_of(c, 1, x)) || (n == 3 && !weights_of(c, 2, x)) ||
            (n == 4 && !weights_of(c, 3, x))) {
            continue;
        }
        vec3 v = {0, 0, 0};
        for (int i = 0; i < n; ++i) {
            v = v3_madd(v, x[i], c[i]->w);
        }
        const double d2 = v3_dot(v, v);
        if (d2 < s->d2) {
            s->d2 = d2;
            s->nearest = v;
            keep = rest | 1 << last;
            for (int i = 0; i < n; ++i) {
                weight[i] = x[i];
            }
        }
    }
    int n = 0;
    for (int i = 0; i <= last; ++i) {
        if ((keep >> i & 1) != 0) {
            s->corner[n] = s->corner[i];
            s->weight[n] = weight[n];
            ++n;
        }
    }
    s->count = n;
    return s->nearest;
}

perpi_gjk perpi_gjk_closest(const void* a, perpi_support_fn support_a, const void* b,
                            perpi_support_fn support_b, vec3 start, double tiny)
{
    return perpi_gjk_within(a, support_a, b, support_b, start, tiny, INFINITY);
}

perpi_gjk perpi_gjk_within(const void* a, perpi_support_fn support_a, const void* b,
                           perpi_support_fn support_b, vec3 start, double tiny, double limit)
{
    simplex s = {.d2 = INFINITY};
    vec3 v = v3_dot(start, start) > 0.0 ? start : v3(1, 0, 0);
    double last = INFINITY;
    for (int step = 0; step < STEPS; ++step) {
        corner c = {.a = support_a(a, v), .b = support_b(b, v3_neg(v))};
        c.w = v3_sub(c.b, c.a);
        const double d = v3_norm(v), along = v3_dot(v, c.w);
        if (along > FARTHER * limit * d && limit >= 0.0) {
            return (perpi_gjk){.distance = along / d};
        }
        /* no point of the difference is nearer along v: v is the answer */
        if (step > 0 && !(d * d - along > 1e-14 * d * d)) {
            break;
        }
        if (s.count == 4) {
            return (perpi_gjk){0};
        }
        v = add_corner(&s, &c);
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
    simplex s = {.d2 = INFINITY};
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
        v = add_corner(&s, &c);
        /* v is a point of the difference, so the distance is at most its length */
        const double now = v3_norm(v);
        if (!(now > limit) || s.count == 4 || !(now < last)) {
            return false;
        }
        last = now;
    }
    return false;
}
