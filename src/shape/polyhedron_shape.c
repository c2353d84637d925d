/* src/shape/polyhedron_shape.c - the convex polyhedron as a shape.
 *
 * Given by its vertices alone it is their hull, and points inside are left out. Given with faces it
 * must be closed, consistently oriented and convex. If all faces are inside out they are reversed,
 * with a warning: for a convex body the outside is unambiguous.
 */
#include "shape/builtin.h"
#include "shape/polyhedron.h"

/* Relative to the size: how far a vertex may lie outside the plane of a face. Relative to the
 * volume: how much the hull may have more than the faces enclose. */
static const double FLAT = 1e-9;

static perp_status polyhedron_check(perp_context* context, const perp_shape_def* def)
{
    if (def->vertices == NULL || def->vertex_count < 4) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: must be at least 4 points, got %d",
                          def->vertices == NULL ? 0 : (int)def->vertex_count);
    }
    return def->triangle_count > 0 ? perpi_mesh_check_lists(context, def) : PERP_OK;
}

static const char* name_of(const perp_shape_def* def)
{
    return def->source != NULL ? def->source : "the polyhedron";
}

/* The vertex that is farthest outside the plane of a face, if that is farther than rounding. */
static bool find_notch(const perp_shape_def* def, const int32_t* t, double way, double size,
                       int32_t* vertex, double* far)
{
    const vec3 a = v3_from(def->vertices + 3 * (size_t)t[0]);
    const vec3 b = v3_from(def->vertices + 3 * (size_t)t[1]);
    const vec3 c = v3_from(def->vertices + 3 * (size_t)t[2]);
    const vec3 ab = v3_sub(b, a), ac = v3_sub(c, a), n = v3_cross(ab, ac);
    const double length = v3_norm(n);
    *far = 0.0;
    /* a degenerate triangle has no plane and is skipped */
    if (!(length > FLAT * v3_norm(ab) * v3_norm(ac)) || !(length > 0.0)) {
        return false;
    }
    for (int32_t i = 0; i < def->vertex_count; ++i) {
        const vec3 d = v3_sub(v3_from(def->vertices + 3 * (size_t)i), a);
        const double out = way * v3_dot(n, d) / length;
        if (out > *far) {
            *far = out;
            *vertex = i;
        }
    }
    return *far > FLAT * size;
}

static perp_status check_convex(perp_context* context, const perp_shape_def* def,
                                perpi_polyhedron* hull)
{
    const double volume = perpi_mesh_integrate(def).mass;
    const double way = volume < 0.0 ? -1.0 : 1.0;
    for (int32_t k = 0; k < def->triangle_count; ++k) {
        const int32_t* t = def->triangles + 3 * (size_t)k;
        int32_t vertex = 0;
        double far = 0.0;
        if (find_notch(def, t, way, 2.0 * hull->size, &vertex, &far)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "faces: %s is not convex: vertex %d lies %g outside of the face with "
                              "vertices %d, %d and %d",
                              name_of(def), (int)vertex, far, (int)t[0], (int)t[1], (int)t[2]);
        }
    }
    if (!(fabs(fabs(volume) - hull->mass.mass) <= FLAT * hull->mass.mass)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "faces: %s is not one convex surface: it encloses %g, its hull %g",
                          name_of(def), fabs(volume), hull->mass.mass);
    }
    hull->turned = volume < 0.0;
    return PERP_OK;
}

/* The same triangles with equal vertices merged; degenerate ones are removed. */
static perp_status merge_face_vertices(perp_context* context, const perp_shape_def* def,
                                       int32_t** triangles, int32_t* count)
{
    int32_t* same = NULL;
    int32_t* t = NULL;
    perp_status status = perpi_alloc(context, (size_t)def->vertex_count, sizeof *same, &same);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 3 * (size_t)def->triangle_count, sizeof *t, &t);
    }
    if (status == PERP_OK) {
        status = perpi_weld(context, def->vertices, def->vertex_count, same);
    }
    if (status != PERP_OK) {
        perpi_free(context, same);
        perpi_free(context, t);
        return status;
    }
    *count = 0;
    for (int32_t k = 0; k < def->triangle_count; ++k) {
        int32_t* to = t + 3 * (size_t)*count;
        for (int i = 0; i < 3; ++i) {
            to[i] = same[def->triangles[3 * (size_t)k + (size_t)i]];
        }
        *count += to[0] != to[1] && to[1] != to[2] && to[2] != to[0];
    }
    perpi_free(context, same);
    *triangles = t;
    return PERP_OK;
}

static perp_status polyhedron_make(perp_context* context, const perp_shape_def* def,
                                   perpi_shape* shape)
{
    perp_shape_def solid = *def;
    int32_t* triangles = NULL;
    perp_status status = PERP_OK;
    if (def->triangle_count > 0) {
        status = merge_face_vertices(context, def, &triangles, &solid.triangle_count);
        solid.triangles = triangles;
        if (status == PERP_OK) {
            status = perpi_mesh_check_closed(context, &solid);
        }
    }
    perpi_polyhedron* hull = NULL;
    if (status == PERP_OK) {
        status = perpi_polyhedron_hull(context, def->vertices, def->vertex_count, &hull, NULL);
    }
    if (status == PERP_OK && def->triangle_count > 0) {
        status = check_convex(context, &solid, hull);
    }
    perpi_free(context, triangles);
    if (status != PERP_OK) {
        perpi_polyhedron_free(context, hull);
        return status;
    }
    shape->polyhedron = hull;
    return PERP_OK;
}

static perpi_mass polyhedron_mass(const perpi_shape* shape)
{
    return shape->polyhedron->mass;
}

static double polyhedron_reach(const perpi_shape* shape)
{
    return shape->polyhedron->size;
}

static perpi_bounds polyhedron_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    const perpi_polyhedron* p = shape->polyhedron;
    double range[2][3];
    for (int axis = 0; axis < 3; ++axis) {
        const vec3 along = v3_from(pose->R.m[axis]);
        const double center = v3_get(pose->x, axis);
        const int32_t high = perpi_polyhedron_support(p, along, 0);
        const int32_t low = perpi_polyhedron_support(p, v3_neg(along), 0);
        range[0][axis] = center + v3_dot(along, p->vertex[low]);
        range[1][axis] = center + v3_dot(along, p->vertex[high]);
    }
    return (perpi_bounds){v3_from(range[0]), v3_from(range[1])};
}

const perpi_shape_ops perpi_shape_polyhedron = {
    .type = PERP_SHAPE_POLYHEDRON,
    .name = "polyhedron",
    .dimension = 3,
    .summary =
        "vertices (convex hull), vertices and faces (convex), or solid (icosahedron, prism, ...)",
    .bounded = true,
    .check = polyhedron_check,
    .make = polyhedron_make,
    .mass = polyhedron_mass,
    .reach = polyhedron_reach,
    .bounds = polyhedron_bounds,
};
