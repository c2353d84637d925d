/* src/shape/polyhedron_shape.c - the convex polyhedron as a shape.
 *
 * Given by its vertices alone it is their hull, and points inside are left out. Given with faces it
 * must be what the faces say: closed, of one orientation, convex. Faces that all run the wrong way
 * are turned, with a warning: of a convex body there is no doubt which side is out.
 */
#include "shape/builtin.h"
#include "shape/polyhedron.h"

/* Relative to the size: how far a vertex may lie outside the plane of a face. Relative to the
 * volume: how much the hull may have more than the faces enclose. */
static const double FLAT = 1e-9;

static perp_status check(perp_context* context, const perp_shape_def* def)
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
    /* a triangle that is a line has no plane, and no say */
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

static perp_status make(perp_context* context, const perp_shape_def* def, perpi_shape* shape)
{
    const bool faces = def->triangle_count > 0;
    perp_status status = faces ? perpi_mesh_check_closed(context, def) : PERP_OK;
    perpi_polyhedron* hull = NULL;
    if (status == PERP_OK) {
        status = perpi_polyhedron_hull(context, def->vertices, def->vertex_count, &hull, NULL);
    }
    if (status == PERP_OK && faces) {
        status = check_convex(context, def, hull);
    }
    if (status != PERP_OK) {
        perpi_polyhedron_free(context, hull);
        return status;
    }
    shape->polyhedron = hull;
    return PERP_OK;
}

static perpi_mass mass(const perpi_shape* shape)
{
    return shape->polyhedron->mass;
}

static double reach(const perpi_shape* shape)
{
    return shape->polyhedron->size;
}

static perpi_bounds bounds(const perpi_shape* shape, const perpi_pose* pose)
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
    .summary = "vertices (their hull is taken), or vertices and faces (closed, convex)",
    .bounded = true,
    .check = check,
    .make = make,
    .mass = mass,
    .reach = reach,
    .bounds = bounds,
};
