/* src/collide/ray.c - see ray.h.
 *
 * The intersection of a ray with a convex shape is one interval. Half-spaces clip it one after the
 * other (planes, boxes, polygons, polyhedra, the ends of cylinders); a quadric gives both its ends
 * (spheres, ellipsoids, the sides of capsules and cylinders); for superquadrics the gauge of the
 * shape, which is a norm and so convex along the ray, is 1 at its ends.
 */
#include "collide/ray.h"

#include "shape/polyhedron.h"

/* The interval of the ray that is inside all half-spaces so far, and the normal at its start. */
typedef struct interval {
    double from, to;
    vec3 normal;
} interval;

/* n . x <= offset */
static void cut_half_space(interval* x, vec3 o, vec3 d, vec3 n, double offset)
{
    const double speed = v3_dot(n, d), gap = v3_dot(n, o) - offset;
    if (speed == 0.0) {
        x->to = gap > 0.0 ? -INFINITY : x->to;
    } else if (speed < 0.0) {
        const double s = gap / -speed;
        if (s > x->from) {
            x->from = s;
            x->normal = n;
        }
    } else {
        x->to = -gap / speed < x->to ? -gap / speed : x->to;
    }
}

static void cut_slab(interval* x, vec3 o, vec3 d, vec3 n, double half)
{
    cut_half_space(x, o, d, n, half);
    cut_half_space(x, o, d, v3_neg(n), half);
}

/* |A (x - center)|^2 <= 1 with A = diag(scale); an entry of 0 leaves that direction free. */
static void cut_quadric(interval* x, vec3 o, vec3 d, vec3 center, vec3 scale)
{
    const vec3 m = v3_sub(o, center);
    const vec3 p = v3(scale.x * m.x, scale.y * m.y, scale.z * m.z);
    const vec3 e = v3(scale.x * d.x, scale.y * d.y, scale.z * d.z);
    const double a = v3_dot(e, e);
    if (!(a > 0.0)) {
        x->to = v3_dot(p, p) > 1.0 ? -INFINITY : x->to;
        return;
    }
    /* from the point nearest to the centre: no difference of large squares */
    const double middle = -v3_dot(p, e) / a;
    const vec3 nearest = v3_madd(p, middle, e);
    const double left = 1.0 - v3_dot(nearest, nearest);
    if (!(left >= 0.0)) {
        x->to = -INFINITY;
        return;
    }
    const double half = sqrt(left / a);
    if (middle - half > x->from) {
        const vec3 at = v3_madd(p, middle - half, e);
        x->from = middle - half;
        x->normal = v3_unit(v3(scale.x * at.x, scale.y * at.y, scale.z * at.z));
    }
    x->to = middle + half < x->to ? middle + half : x->to;
}

static interval ray_ball(vec3 o, vec3 d, vec3 center, double radius)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    const double s = 1.0 / radius;
    cut_quadric(&x, o, d, center, v3(s, s, s));
    return x;
}

static bool is_empty(const interval* x)
{
    return !(x->from <= x->to) || x->to < 0.0;
}

/* Joins the intervals of two parts of a convex shape that overlap or touch. */
static interval join_spans(interval a, interval b)
{
    if (is_empty(&a) || is_empty(&b)) {
        return is_empty(&a) ? b : a;
    }
    interval x = a.from <= b.from ? a : b;
    x.to = a.to > b.to ? a.to : b.to;
    return x;
}

/* ---- superquadrics ---------------------------------------------------------------------------------*/

/* The gauge: 1 on the surface, a norm of x. */
static double gauge(const perpi_shape* shape, vec3 x)
{
    const bool planar = shape->type == PERP_SHAPE_SUPERELLIPSE;
    const double r = shape->exponent[0], t = planar ? r : shape->exponent[1];
    const double a = fabs(x.x / shape->radii.x), b = fabs(x.y / shape->radii.y);
    const double c = planar ? 0.0 : fabs(x.z / shape->radii.z);
    const double flat = a > b ? a : b;
    const double side = flat > 0.0 ? flat * pow(pow(a / flat, r) + pow(b / flat, r), 1.0 / r) : 0.0;
    const double most = side > c ? side : c;
    return most > 0.0 ? most * pow(pow(side / most, t) + pow(c / most, t), 1.0 / t) : 0.0;
}

static double gauge_slope(double x, double radius, double exponent)
{
    const double y = fabs(x / radius);
    return (x < 0.0 ? -1.0 : 1.0) * pow(y, exponent - 1.0) / radius;
}

/* The direction of the gauge's gradient. */
static vec3 gauge_normal(const perpi_shape* shape, vec3 x)
{
    const bool planar = shape->type == PERP_SHAPE_SUPERELLIPSE;
    const double r = shape->exponent[0], t = planar ? r : shape->exponent[1];
    const double a = fabs(x.x / shape->radii.x), b = fabs(x.y / shape->radii.y);
    const double side = pow(pow(a, r) + pow(b, r), 1.0 / r);
    const double share = side > 0.0 ? pow(side, t - r) : 0.0;
    const vec3 n =
        v3(share * gauge_slope(x.x, shape->radii.x, r), share * gauge_slope(x.y, shape->radii.y, r),
           planar ? 0.0 : gauge_slope(x.z, shape->radii.z, t));
    return v3_norm(n) > 0.0 ? v3_unit(n) : v3(0, 0, 0);
}

static interval ray_superquadric(const perpi_shape* shape, vec3 o, vec3 d)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    cut_slab(&x, o, d, v3(1, 0, 0), shape->radii.x);
    cut_slab(&x, o, d, v3(0, 1, 0), shape->radii.y);
    if (shape->type == PERP_SHAPE_SUPERQUADRIC) {
        cut_slab(&x, o, d, v3(0, 0, 1), shape->radii.z);
    }
    if (is_empty(&x)) {
        return x;
    }
    /* minimum of a convex function by golden section; the ends are on or outside the surface */
    const double part = 0.3819660112501051;
    double lo = x.from, hi = x.to, in = lo + part * (hi - lo), out = hi - part * (hi - lo);
    double f_in = gauge(shape, v3_madd(o, in, d)), f_out = gauge(shape, v3_madd(o, out, d));
    for (int i = 0; i < 90 && f_in > 1.0 && f_out > 1.0; ++i) {
        if (f_in < f_out) {
            hi = out;
            out = in;
            f_out = f_in;
            in = lo + part * (hi - lo);
            f_in = gauge(shape, v3_madd(o, in, d));
        } else {
            lo = in;
            in = out;
            f_in = f_out;
            out = hi - part * (hi - lo);
            f_out = gauge(shape, v3_madd(o, out, d));
        }
    }
    const double inside = f_in <= f_out ? in : out;
    if (!((f_in <= f_out ? f_in : f_out) <= 1.0)) {
        x.to = -INFINITY;
        return x;
    }
    for (int side = 0; side < 2; ++side) { /* bisection down to neighbouring numbers */
        double good = inside, bad = side == 0 ? x.from : x.to;
        for (int i = 0; i < 200; ++i) {
            const double middle = 0.5 * (good + bad);
            if (middle == good || middle == bad) {
                break;
            }
            if (gauge(shape, v3_madd(o, middle, d)) <= 1.0) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        if (side == 0) {
            x.from = good;
        } else {
            x.to = good;
        }
    }
    x.normal = gauge_normal(shape, v3_madd(o, x.from, d));
    return x;
}

/* ---- the others ------------------------------------------------------------------------------------*/

static interval ray_polygon(const perpi_shape* shape, vec3 o, vec3 d)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    for (int32_t i = 0; i < shape->count; ++i) {
        const vec3 n = v3(shape->edge[2 * i], shape->edge[2 * i + 1], 0.0);
        const vec3 at = v3(shape->vertex[2 * i], shape->vertex[2 * i + 1], 0.0);
        cut_half_space(&x, o, d, n, v3_dot(n, at));
    }
    return x;
}

static interval ray_polyhedron(const perpi_polyhedron* p, vec3 o, vec3 d)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    for (int32_t i = 0; i < p->face_count && x.from <= x.to; ++i) {
        cut_half_space(&x, o, d, p->normal[i], p->offset[i]);
    }
    return x;
}

static interval ray_cylinder(const perpi_shape* shape, vec3 o, vec3 d)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    const double s = 1.0 / shape->radius;
    cut_quadric(&x, o, d, v3(0, 0, 0), v3(s, s, 0.0));
    cut_slab(&x, o, d, v3(0, 0, 1), 0.5 * shape->length);
    if (shape->type == PERP_SHAPE_CYLINDER) {
        return x;
    }
    const vec3 end = v3(0, 0, 0.5 * shape->length);
    return join_spans(x, join_spans(ray_ball(o, d, end, shape->radius),
                                    ray_ball(o, d, v3_neg(end), shape->radius)));
}

static interval ray_box(const perpi_shape* shape, vec3 o, vec3 d)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    cut_slab(&x, o, d, v3(1, 0, 0), shape->half.x);
    cut_slab(&x, o, d, v3(0, 1, 0), shape->half.y);
    if (shape->type == PERP_SHAPE_BOX) {
        cut_slab(&x, o, d, v3(0, 0, 1), shape->half.z);
    }
    return x;
}

static interval inside_of(const perpi_shape* shape, vec3 o, vec3 d)
{
    interval x = {-INFINITY, INFINITY, {0, 0, 0}};
    const vec3 r = shape->radii;
    switch (shape->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: return ray_ball(o, d, v3(0, 0, 0), shape->radius);
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_HALFPLANE: cut_half_space(&x, o, d, shape->normal, shape->offset); return x;
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_BOX2: return ray_box(shape, o, d);
    case PERP_SHAPE_CAPSULE:
    case PERP_SHAPE_CYLINDER: return ray_cylinder(shape, o, d);
    case PERP_SHAPE_POLYGON: return ray_polygon(shape, o, d);
    case PERP_SHAPE_POLYHEDRON: return ray_polyhedron(shape->polyhedron, o, d);
    case PERP_SHAPE_ELLIPSOID:
        cut_quadric(&x, o, d, v3(0, 0, 0), v3(1.0 / r.x, 1.0 / r.y, 1.0 / r.z));
        return x;
    case PERP_SHAPE_SUPERQUADRIC:
    case PERP_SHAPE_SUPERELLIPSE: return ray_superquadric(shape, o, d);
    case PERP_SHAPE_PARTICLE:
    case PERP_SHAPE_MESH: /* not convex: its convex pieces are shapes of the body */
    case PERP_SHAPE_TYPE_COUNT: break;
    }
    return (interval){INFINITY, -INFINITY, {0, 0, 0}};
}

double perpi_ray_enter(const perpi_shape* shape, vec3 origin, vec3 direction, vec3* normal)
{
    const interval x = inside_of(shape, origin, direction);
    if (is_empty(&x)) {
        return INFINITY;
    }
    *normal = x.from > 0.0 ? x.normal : v3(0, 0, 0);
    return x.from > 0.0 ? x.from : 0.0;
}
