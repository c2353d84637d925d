/* src/shape/smooth.c - support functions of smooth bodies, and functions common to their shapes. */
#include "shape/smooth.h"

#include "shape/builtin.h"

/* Of a norm: a smaller entry is replaced by this in second derivatives, which are unbounded where a
 * surface is flat (exponent above 2). */
static const double LEAST = 1e-9;

bool perpi_shape_is_smooth(perp_shape_type type)
{
    return type == PERP_SHAPE_PARTICLE || type == PERP_SHAPE_SPHERE || type == PERP_SHAPE_CIRCLE ||
           type == PERP_SHAPE_ELLIPSOID || type == PERP_SHAPE_SUPERQUADRIC ||
           type == PERP_SHAPE_SUPERELLIPSE;
}

/* N = (|x|^p + |y|^p)^(1/p) with its derivatives; 0 at the origin, with all of them. */
typedef struct norm2 {
    double N, N_x, N_y, N_xx, N_xy, N_yy;
} norm2;

static norm2 norm_of(double x, double y, double p)
{
    const double ax = fabs(x), ay = fabs(y), most = ax > ay ? ax : ay;
    norm2 n = {0};
    if (!(most > 0.0)) {
        return n;
    }
    const double sum = pow(ax / most, p) + pow(ay / most, p);
    n.N = most * pow(sum, 1.0 / p);
    const double u = ax / n.N, v = ay / n.N;
    n.N_x = copysign(pow(u, p - 1.0), x);
    n.N_y = copysign(pow(v, p - 1.0), y);
    const double lu = u > LEAST ? u : LEAST, lv = v > LEAST ? v : LEAST;
    const double factor = (p - 1.0) / n.N;
    n.N_xx = factor * pow(lu, p - 2.0) * pow(v, p);
    n.N_yy = factor * pow(lv, p - 2.0) * pow(u, p);
    n.N_xy = -factor * n.N_x * n.N_y;
    return n;
}

static double dual(double exponent)
{
    return exponent / (exponent - 1.0);
}

static double support_ball(double r, vec3 d, vec3* point, mat3* H)
{
    const double length = v3_norm(d);
    const vec3 n = v3_scale(1.0 / length, d);
    *point = v3_scale(r, n);
    if (H != NULL) {
        const double e[3] = {n.x, n.y, n.z};
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                H->m[i][j] = r / length * ((i == j ? 1.0 : 0.0) - e[i] * e[j]);
            }
        }
    }
    return r * length;
}

static double support_ellipsoid(const perpi_shape* s, vec3 d, vec3* point, mat3* H)
{
    const vec3 e = {s->radii.x * d.x, s->radii.y * d.y, s->radii.z * d.z};
    const double h = v3_norm(e);
    const vec3 x = {s->radii.x * e.x / h, s->radii.y * e.y / h, s->radii.z * e.z / h};
    *point = x;
    if (H != NULL) {
        const double p[3] = {x.x, x.y, x.z}, a[3] = {s->radii.x, s->radii.y, s->radii.z};
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                H->m[i][j] = ((i == j ? a[i] * a[i] : 0.0) - p[i] * p[j]) / h;
            }
        }
    }
    return h;
}

/* h = T(N(X, Y), Z), X = a d_x, ...: two norms of two numbers. */
static double support_power(const perpi_shape* s, vec3 d, vec3* point, mat3* H)
{
    const bool planar = s->type == PERP_SHAPE_SUPERELLIPSE;
    const vec3 a = s->radii;
    const norm2 n = norm_of(a.x * d.x, a.y * d.y, dual(s->exponent[0]));
    const norm2 t =
        planar ? (norm2){.N = n.N, .N_x = 1.0} : norm_of(n.N, a.z * d.z, dual(s->exponent[1]));
    const double gx = a.x * n.N_x, gy = a.y * n.N_y, cz = planar ? 0.0 : a.z;
    *point = v3(t.N_x * gx, t.N_x * gy, t.N_y * cz);
    if (H != NULL) {
        H->m[0][0] = t.N_xx * gx * gx + t.N_x * a.x * a.x * n.N_xx;
        H->m[1][1] = t.N_xx * gy * gy + t.N_x * a.y * a.y * n.N_yy;
        H->m[0][1] = H->m[1][0] = t.N_xx * gx * gy + t.N_x * a.x * a.y * n.N_xy;
        H->m[0][2] = H->m[2][0] = t.N_xy * gx * cz;
        H->m[1][2] = H->m[2][1] = t.N_xy * gy * cz;
        H->m[2][2] = t.N_yy * cz * cz;
    }
    return t.N;
}

/* A cylinder: its rim. Along the axis every point of the end is farthest; the middle is returned,
 * with zero curvature. */
static double support_cylinder(const perpi_shape* s, vec3 d, vec3* point, mat3* H)
{
    const double side = hypot(d.x, d.y), z = d.z < 0.0 ? -0.5 * s->length : 0.5 * s->length;
    const bool rim = side > 1e-15 * fabs(d.z);
    const double x = rim ? d.x / side : 0.0, y = rim ? d.y / side : 0.0;
    *point = v3(s->radius * x, s->radius * y, z);
    if (H != NULL) {
        *H = (mat3){0};
        const double k = rim ? s->radius / side : 0.0;
        H->m[0][0] = k * y * y;
        H->m[1][1] = k * x * x;
        H->m[0][1] = H->m[1][0] = -k * x * y;
    }
    return s->radius * side + fabs(d.z) * 0.5 * s->length;
}

static double support_capsule(const perpi_shape* s, vec3 d, vec3* point, mat3* H)
{
    const double h = support_ball(s->radius, d, point, H);
    point->z += d.z < 0.0 ? -0.5 * s->length : 0.5 * s->length;
    return h + fabs(d.z) * 0.5 * s->length;
}

double perpi_smooth_support(const perpi_shape* shape, vec3 d, vec3* point, mat3* H)
{
    switch (shape->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: return support_ball(shape->radius, d, point, H);
    case PERP_SHAPE_ELLIPSOID: return support_ellipsoid(shape, d, point, H);
    case PERP_SHAPE_SUPERQUADRIC:
    case PERP_SHAPE_SUPERELLIPSE: return support_power(shape, d, point, H);
    case PERP_SHAPE_CYLINDER: return support_cylinder(shape, d, point, H);
    case PERP_SHAPE_CAPSULE: return support_capsule(shape, d, point, H);
    default: return support_ball(0.0, d, point, H); /* a particle */
    }
}

perpi_bounds perpi_smooth_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    double half[3] = {0};
    for (int i = 0; i < (shape->type == PERP_SHAPE_SUPERELLIPSE ? 2 : 3); ++i) {
        const vec3 axis = {i == 0, i == 1, i == 2};
        vec3 point;
        half[i] = perpi_smooth_support(shape, m3_tmul(pose->R, axis), &point, NULL);
    }
    return perpi_bounds_around(pose->x, v3_from(half));
}

/* Dirichlet's integral: of x^(p-1) y^(q-1) over the quarter of |x|^n + |y|^n <= 1, times 4. */
double perpi_superellipse_moment(double n, double p, double q)
{
    return 4.0 / (n * n) * exp(lgamma(p / n) + lgamma(q / n) - lgamma(1.0 + (p + q) / n));
}

/* The farthest point of |x/a|^n + |y/b|^n <= 1 from the origin, by Hoelder's inequality. */
double perpi_power_reach(double n, double a, double b)
{
    const double most = a > b ? a : b;
    if (n <= 2.0) {
        return most;
    }
    const double s = 2.0 * n / (n - 2.0);
    return most * pow(pow(a / most, s) + pow(b / most, s), 1.0 / s);
}

perp_status perpi_check_radii(perp_context* context, const double* radii, int n)
{
    for (int i = 0; i < n; ++i) {
        if (!(radii[i] > 0.0) || !isfinite(radii[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "radii: entries must be > 0 and finite, got %g in entry %d", radii[i],
                              i);
        }
    }
    return PERP_OK;
}

perp_status perpi_check_exponent(perp_context* context, const char* member, double exponent)
{
    if (!(exponent >= PERPI_EXPONENT_LEAST && exponent <= PERPI_EXPONENT_MOST)) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "%s: must be from %g to %g (2: round; 1 would have edges, a very large one "
            "is a box: use polygons), got %g",
            member, PERPI_EXPONENT_LEAST, PERPI_EXPONENT_MOST, exponent);
    }
    return PERP_OK;
}
