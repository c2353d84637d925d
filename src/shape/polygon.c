/* src/shape/polygon.c - a polygon in the plane.
 *
 * Given in either orientation, stored counter-clockwise. A redundant vertex is refused: removing it
 * would simulate another body than the one that was given. A polygon with inward corners is an
 * outline: it defines mass and appearance, and the model adds convex pieces that collide
 * (outline.h).
 */
#include <string.h>

#include "shape/builtin.h"
#include "shape/outline.h"

/* Relative to the polygon's size: an edge shorter than this, or a vertex nearer to the line of its
 * neighbours, has no accurate direction. */
static const double SHORT = 1e-9;

static double size_of(const double* v, int32_t n)
{
    double lo[2] = {v[0], v[1]}, hi[2] = {v[0], v[1]};
    for (int32_t i = 1; i < n; ++i) {
        for (int k = 0; k < 2; ++k) {
            lo[k] = v[2 * i + k] < lo[k] ? v[2 * i + k] : lo[k];
            hi[k] = v[2 * i + k] > hi[k] ? v[2 * i + k] : hi[k];
        }
    }
    return hypot(hi[0] - lo[0], hi[1] - lo[1]);
}

/* Twice the area of the triangle of vertices i, j, k. */
static double corner(const double* v, int32_t i, int32_t j, int32_t k)
{
    return (v[2 * j] - v[2 * i]) * (v[2 * k + 1] - v[2 * i + 1]) -
           (v[2 * j + 1] - v[2 * i + 1]) * (v[2 * k] - v[2 * i]);
}

static double signed_area(const double* v, int32_t n)
{
    double twice = 0.0;
    for (int32_t i = 1; i + 1 < n; ++i) {
        twice += corner(v, 0, i, i + 1);
    }
    return 0.5 * twice;
}

static perp_status check_numbers(perp_context* context, const perp_shape_def* def)
{
    if (def->vertices == NULL || def->vertex_count < 3 || def->vertex_count > PERP_POLYGON_LIMIT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: must be 3 to %d points, got %d",
                          PERP_POLYGON_LIMIT, def->vertices == NULL ? 0 : (int)def->vertex_count);
    }
    for (int32_t i = 0; i < 2 * def->vertex_count; ++i) {
        if (!isfinite(def->vertices[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "vertices/%d/%d: must be finite, got %g",
                              (int)(i / 2), (int)(i % 2), def->vertices[i]);
        }
    }
    return PERP_OK;
}

static perp_status polygon_check(perp_context* context, const perp_shape_def* def)
{
    const perp_status status = check_numbers(context, def);
    if (status != PERP_OK) {
        return status;
    }
    const double* v = def->vertices;
    const int32_t n = def->vertex_count;
    const double size = size_of(v, n), area = signed_area(v, n);
    const double sign = area < 0.0 ? -1.0 : 1.0;
    if (!isfinite(size * size) || !(size * size > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: a size of %g is out of range",
                          size);
    }
    if (!(fabs(area) > SHORT * size * size)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "vertices: all lie on a line, or the outline crosses itself; a polygon "
                          "needs an area");
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t j = (i + 1) % n;
        const double d = hypot(v[2 * j] - v[2 * i], v[2 * j + 1] - v[2 * i + 1]);
        if (!(d > SHORT * size)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "vertices/%d: is the same point as vertices/%d (%g apart); leave one "
                              "of them out",
                              (int)j, (int)i, d);
        }
    }
    double turned = 0.0;
    bool inward = false;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t j = (i + 1) % n, k = (i + 2) % n;
        const double dx = v[2 * j] - v[2 * i], dy = v[2 * j + 1] - v[2 * i + 1];
        const double ex = v[2 * k] - v[2 * j], ey = v[2 * k + 1] - v[2 * j + 1];
        const double d = hypot(dx, dy), e = hypot(ex, ey);
        const double cross = sign * (dx * ey - dy * ex);
        inward = inward || cross < 0.0;
        if (!(fabs(cross) > SHORT * size * (d < e ? d : e))) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "vertices/%d: lies on the line through its neighbours; leave it out",
                              (int)j);
        }
        turned += atan2(cross, dx * ex + dy * ey);
    }
    int32_t edge[2];
    if (inward && perpi_outline_crosses(v, n, SHORT * size, edge)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "vertices: the edge that begins at vertices/%d meets the one that begins "
                          "at vertices/%d; an outline must not cross or touch itself",
                          (int)edge[0], (int)edge[1]);
    }
    if (turned > 3.0 * PERPI_PI) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "vertices: the polygon winds around itself %d "
                          "times",
                          (int)(turned / (2.0 * PERPI_PI) + 0.5));
    }
    return PERP_OK;
}

static perp_status polygon_make(perp_context* context, const perp_shape_def* def,
                                perpi_shape* shape)
{
    const int32_t n = def->vertex_count;
    double* block = NULL;
    const perp_status status = perpi_alloc(context, 6 * (size_t)n, sizeof *block, &block);
    if (status != PERP_OK) {
        return status;
    }
    shape->count = n;
    shape->vertex = block;
    shape->edge = block + 2 * n;
    shape->turn = block + 4 * n;
    shape->inner = block + 5 * n; /* zero: all edges are the body's */
    const bool backwards = signed_area(def->vertices, n) < 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t from = backwards ? n - 1 - i : i;
        shape->vertex[2 * i] = def->vertices[2 * from];
        shape->vertex[2 * i + 1] = def->vertices[2 * from + 1];
    }
    perpi_polygon_normals(shape);
    for (int32_t i = 0; i < n; ++i) {
        shape->outline = shape->outline || corner(shape->vertex, i, (i + 1) % n, (i + 2) % n) < 0.0;
    }
    shape->intangible = shape->intangible || shape->outline;
    return PERP_OK;
}

void perpi_polygon_normals(perpi_shape* shape)
{
    const int32_t n = shape->count;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t j = (i + 1) % n;
        const double dx = shape->vertex[2 * j] - shape->vertex[2 * i];
        const double dy = shape->vertex[2 * j + 1] - shape->vertex[2 * i + 1];
        const double d = hypot(dx, dy);
        shape->edge[2 * i] = dy / d;
        shape->edge[2 * i + 1] = -dx / d;
        double angle = atan2(-dx, dy);
        if (i > 0 && angle < shape->turn[0]) {
            angle += 2.0 * PERPI_PI;
        }
        shape->turn[i] = angle;
    }
}

/* A fan of triangles around the first vertex; finally about their common centre. */
static perpi_mass polygon_mass(const perpi_shape* shape)
{
    const double *v = shape->vertex, x0 = v[0], y0 = v[1];
    double area = 0.0, mx = 0.0, my = 0.0, second = 0.0;
    for (int32_t i = 1; i + 1 < shape->count; ++i) {
        const double ax = v[2 * i] - x0, ay = v[2 * i + 1] - y0;
        const double bx = v[2 * i + 2] - x0, by = v[2 * i + 3] - y0;
        const double a = 0.5 * (ax * by - ay * bx);
        area += a;
        mx += a * (ax + bx) / 3.0;
        my += a * (ay + by) / 3.0;
        second += a / 6.0 * (ax * ax + ay * ay + ax * bx + ay * by + bx * bx + by * by);
    }
    const double cx = mx / area, cy = my / area;
    return (perpi_mass){.mass = area,
                        .center = v3(x0 + cx, y0 + cy, 0.0),
                        .inertia.m[2][2] = second - area * (cx * cx + cy * cy)};
}

static double polygon_reach(const perpi_shape* shape)
{
    double most = 0.0;
    for (int32_t i = 0; i < shape->count; ++i) {
        const double r = hypot(shape->vertex[2 * i], shape->vertex[2 * i + 1]);
        most = r > most ? r : most;
    }
    return most;
}

/* The vertex farthest along (x, y): the first whose edge turns away from it. */
int32_t perpi_polygon_support(const perpi_shape* shape, double x, double y)
{
    double angle = atan2(y, x);
    if (angle < shape->turn[0]) {
        angle += 2.0 * PERPI_PI;
    }
    /* vertex i is farthest for directions between the normals of edges i - 1 and i */
    int32_t lo = 0, hi = shape->count; /* turn[lo] <= angle < turn[hi] */
    while (hi - lo > 1) {
        const int32_t middle = (lo + hi) / 2;
        if (shape->turn[middle] <= angle) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    return (lo + 1) % shape->count;
}

static perpi_bounds polygon_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    double range[2][2]; /* per axis: lowest, highest */
    for (int axis = 0; axis < 2; ++axis) {
        const double x = pose->R.m[axis][0], y = pose->R.m[axis][1];
        const double center = axis == 0 ? pose->x.x : pose->x.y;
        for (int end = 0; end < 2; ++end) {
            const double way = end == 0 ? -1.0 : 1.0;
            const double* v = shape->vertex + 2 * perpi_polygon_support(shape, way * x, way * y);
            range[axis][end] = center + x * v[0] + y * v[1];
        }
    }
    return (perpi_bounds){v3(range[0][0], range[1][0], 0.0), v3(range[0][1], range[1][1], 0.0)};
}

const perpi_shape_ops perpi_shape_polygon = {
    .type = PERP_SHAPE_POLYGON,
    .name = "polygon",
    .dimension = 2,
    .summary = "vertices (at least 3 points, in order; inward corners allowed)",
    .bounded = true,
    .check = polygon_check,
    .make = polygon_make,
    .mass = polygon_mass,
    .reach = polygon_reach,
    .bounds = polygon_bounds,
};

/* ---- two polygons ------------------------------------------------------------------------------ */

/* Separation along the outward normals of a's edges. */
static double separation(const double* a, int32_t na, const double* b, int32_t nb)
{
    double best = -INFINITY;
    for (int32_t i = 0; i < na; ++i) {
        const int32_t j = (i + 1) % na;
        const double dx = a[2 * j] - a[2 * i], dy = a[2 * j + 1] - a[2 * i + 1];
        const double d = hypot(dx, dy);
        double least = INFINITY;
        for (int32_t k = 0; k < nb; ++k) {
            const double s = ((b[2 * k] - a[2 * i]) * dy - (b[2 * k + 1] - a[2 * i + 1]) * dx) / d;
            least = s < least ? s : least;
        }
        best = least > best ? least : best;
    }
    return best;
}

/* The contribution of one edge to the area of the overlap: of the part of p -> q inside the other
 * polygon, seen from the origin o. Parametric clipping against each edge. Where an edge coincides
 * with the other polygon's boundary it counts once: for the first polygon only. */
static double boundary_share(const double* p, const double* q, const double* o, const double* clip,
                             int32_t n, bool keep_border)
{
    double lo = 0.0, hi = 1.0;
    for (int32_t i = 0; i < n; ++i) {
        const double* c = clip + 2 * i;
        const double* d = clip + 2 * ((i + 1) % n);
        const double ex = d[0] - c[0], ey = d[1] - c[1];
        const double at_p = (p[0] - c[0]) * ey - (p[1] - c[1]) * ex; /* > 0: outside */
        const double at_q = (q[0] - c[0]) * ey - (q[1] - c[1]) * ex;
        if (at_p == 0.0 && at_q == 0.0) {
            if (!keep_border || (q[0] - p[0]) * ex + (q[1] - p[1]) * ey < 0.0) {
                return 0.0;
            }
            continue;
        }
        if (at_p >= 0.0 && at_q >= 0.0) {
            return 0.0;
        }
        if (at_p > 0.0 || at_q > 0.0) {
            const double t = at_p / (at_p - at_q);
            if (at_p > 0.0) {
                lo = t > lo ? t : lo;
            } else {
                hi = t < hi ? t : hi;
            }
        }
    }
    if (!(lo < hi)) {
        return 0.0;
    }
    const double dx = q[0] - p[0], dy = q[1] - p[1];
    const double x = p[0] + lo * dx - o[0], y = p[1] + lo * dy - o[1];
    return 0.5 * (hi - lo) * (x * dy - y * dx);
}

/* A point near the overlap, the first end of a clipped edge: as origin it keeps the accuracy of
 * slivers at large coordinates. */
static bool find_origin(const double* a, int32_t na, const double* b, int32_t nb, double* o)
{
    for (int32_t i = 0; i < na; ++i) {
        const double *p = a + 2 * i, *q = a + 2 * ((i + 1) % na);
        double lo = 0.0, hi = 1.0;
        for (int32_t k = 0; k < nb; ++k) {
            const double* c = b + 2 * k;
            const double* d = b + 2 * ((k + 1) % nb);
            const double ex = d[0] - c[0], ey = d[1] - c[1];
            const double at_p = (p[0] - c[0]) * ey - (p[1] - c[1]) * ex;
            const double at_q = (q[0] - c[0]) * ey - (q[1] - c[1]) * ex;
            if (at_p >= 0.0 && at_q >= 0.0) {
                lo = 2.0;
                break;
            }
            if (at_p > 0.0) {
                const double t = at_p / (at_p - at_q);
                lo = t > lo ? t : lo;
            } else if (at_q > 0.0) {
                const double t = at_p / (at_p - at_q);
                hi = t < hi ? t : hi;
            }
        }
        if (lo < hi) {
            o[0] = p[0] + lo * (q[0] - p[0]);
            o[1] = p[1] + lo * (q[1] - p[1]);
            return true;
        }
    }
    return false;
}

perp_polygon_measure perp_polygon_compare(const double* a, int32_t a_count, const double* b,
                                          int32_t b_count)
{
    const double s_a = separation(a, a_count, b, b_count);
    const double s_b = separation(b, b_count, a, a_count);
    perp_polygon_measure m = {.separation = s_a > s_b ? s_a : s_b};
    double o[2] = {a[0], a[1]};
    if (!(m.separation < 0.0)) {
        return m;
    }
    if (!find_origin(a, a_count, b, b_count, o)) {
        (void)find_origin(b, b_count, a, a_count, o);
    }
    double area = 0.0;
    for (int32_t i = 0; i < a_count; ++i) {
        area += boundary_share(a + 2 * i, a + 2 * ((i + 1) % a_count), o, b, b_count, true);
    }
    for (int32_t i = 0; i < b_count; ++i) {
        area += boundary_share(b + 2 * i, b + 2 * ((i + 1) % b_count), o, a, a_count, false);
    }
    m.area = area > 0.0 ? area : 0.0;
    return m;
}
