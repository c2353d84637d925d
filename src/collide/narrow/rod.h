/* src/collide/narrow/rod.h - the representation of a cylinder in its contact routines. */
#ifndef PERPI_COLLIDE_ROD_H
#define PERPI_COLLIDE_ROD_H

#include "base/vec.h"

/* Number of points that represent a rim in flat contact. */
enum { PERPI_RIM = 8 };

typedef struct perpi_rod {
    vec3 c, a;   /* middle and unit axis */
    vec3 u, w;   /* unit, perpendicular to the axis; they turn with it */
    double l, r; /* half length, radius */
} perpi_rod;

/* The farthest point along a direction (a perpi_support_fn). */
static inline vec3 perpi_rod_support(const void* body, vec3 direction)
{
    const perpi_rod* x = body;
    const double along = v3_dot(direction, x->a);
    const vec3 side = v3_madd(direction, -along, x->a);
    const double d = v3_norm(side);
    const vec3 end = v3_madd(x->c, along < 0.0 ? -x->l : x->l, x->a);
    /* a direction along the axis: its transverse part is rounding */
    return d > 1e-10 * fabs(along) ? v3_madd(end, x->r / d, side) : end;
}

/* The lowest and the highest value of n.x on it; n of unit length. */
static inline double perpi_rod_low(const perpi_rod* x, vec3 n)
{
    const double t = v3_dot(n, x->a), s2 = 1.0 - t * t;
    return v3_dot(n, x->c) - x->l * fabs(t) - x->r * sqrt(s2 > 0.0 ? s2 : 0.0);
}

static inline double perpi_rod_high(const perpi_rod* x, vec3 n)
{
    return -perpi_rod_low(x, v3_neg(n));
}

/* Cosine and sine of k 45 degrees, k = 0 .. 8, as the mathematical library rounds them for a rounded angle. */
static const double perpi_rim_cosine[PERPI_RIM + 1] = {
    1.0,  0.7071067811865476,  6.123233995736766e-17,   -0.7071067811865475,
    -1.0, -0.7071067811865477, -1.8369701987210297e-16, 0.7071067811865474,
    1.0};
static const double perpi_rim_sine[PERPI_RIM + 1] = {0.0,
                                                     0.7071067811865475,
                                                     1.0,
                                                     0.7071067811865476,
                                                     1.2246467991473532e-16,
                                                     -0.7071067811865475,
                                                     -1.0,
                                                     -0.7071067811865477,
                                                     -2.4492935982947064e-16};

/* Point k of the rim at one end (-1, +1). */
static inline vec3 perpi_rod_rim(const perpi_rod* x, double end, int k)
{
    const vec3 side = v3_madd(v3_scale(perpi_rim_cosine[k], x->u), perpi_rim_sine[k], x->w);
    return v3_madd(v3_madd(x->c, end * x->l, x->a), x->r, side);
}

/* Of the points farthest along a direction, the one nearest to x: of an end's disc, of a line of
 * the side, or of a rim. */
static inline vec3 perpi_rod_nearest(const perpi_rod* r, vec3 direction, vec3 x)
{
    const double along = v3_dot(direction, r->a);
    const vec3 side = v3_madd(direction, -along, r->a), d = v3_sub(x, r->c);
    const double length = v3_norm(side), t = v3_dot(d, r->a);
    if (length <= 1e-9 * fabs(along)) { /* an end */
        const vec3 off = v3_madd(d, -t, r->a);
        const double rho = v3_norm(off);
        const vec3 end = v3_madd(r->c, along < 0.0 ? -r->l : r->l, r->a);
        return v3_madd(end, rho > r->r ? r->r / rho : 1.0, off);
    }
    const double z = fabs(along) <= 1e-9 * length ? (t < -r->l  ? -r->l
                                                     : t > r->l ? r->l
                                                                : t)
                     : along < 0.0                ? -r->l
                                                  : r->l;
    return v3_madd(v3_madd(r->c, z, r->a), r->r / length, side);
}

/* The same after a rotation of the cylinder by `spin`, where that tilts an end or the side over a
 * flat; a rotation about its own axis has no effect, and round surfaces roll. */
static inline vec3 perpi_rod_nearest_at_end(const perpi_rod* r, vec3 direction, vec3 spin, vec3 x)
{
    const vec3 tilt = v3_madd(spin, -v3_dot(spin, r->a), r->a);
    const double most = 2.0 * v3_norm(tilt);
    const bool flat = v3_norm(v3_cross(direction, r->a)) < most;
    const bool lying = fabs(v3_dot(direction, r->a)) < most;
    return perpi_rod_nearest(
        r, flat || lying ? q4_rotate(q4_exp(v3_neg(tilt)), direction) : direction, x);
}

/* How far a point is from the axis's line. */
static inline double perpi_rod_off_axis(const perpi_rod* x, vec3 p)
{
    const vec3 d = v3_sub(p, x->c);
    return v3_norm(v3_madd(d, -v3_dot(d, x->a), x->a));
}

#endif
