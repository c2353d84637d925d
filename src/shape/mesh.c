/* src/shape/mesh.c - a closed surface of triangles: bounds, volume, centre, inertia.
 *
 * The integrals over the solid are sums over the tetrahedra that the triangles form with a point
 * near them; counter-clockwise triangles, seen from outside, count positive.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "shape/builtin.h"
#include "shape/decompose.h"

static vec3 vertex_at(const perp_shape_def* def, int32_t i)
{
    return v3_from(def->vertices + 3 * (size_t)i);
}

static const char* name_of(const perp_shape_def* def)
{
    return def->source != NULL ? def->source : "the mesh";
}

/* ---- is the surface closed? ------------------------------------------------------------------- */

/* One side of a triangle, with its ends in order, and the direction in which the triangle traverses
 * it. */
typedef struct side {
    int32_t low, high;
    int32_t way; /* +1: from low to high */
} side;

static int compare_sides(const void* a, const void* b)
{
    const side *x = a, *y = b;
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    if (x->high != y->high) {
        return x->high < y->high ? -1 : 1;
    }
    return x->way - y->way;
}

static perp_status fail_edge(perp_context* context, const perp_shape_def* def, const side* s,
                             const char* what)
{
    const vec3 a = vertex_at(def, s->low), b = vertex_at(def, s->high);
    return perpi_fail(
        context, PERP_ERROR_INPUT,
        "faces: %s: the edge from vertex %d (%g, %g, %g) to vertex %d (%g, %g, %g) %s; "
        "\"convex\": true takes the convex hull",
        name_of(def), (int)s->low, a.x, a.y, a.z, (int)s->high, b.x, b.y, b.z, what);
}

/* Every edge is traversed as often in one direction as in the other: then the surface has no
 * border, and its faces are consistently oriented. */
perp_status perpi_mesh_check_closed(perp_context* context, const perp_shape_def* def)
{
    const size_t count = 3 * (size_t)def->triangle_count;
    side* sides = NULL;
    perp_status status = perpi_alloc(context, count, sizeof *sides, &sides);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < count; ++i) {
        const int32_t from = def->triangles[i];
        const int32_t to = def->triangles[i % 3 == 2 ? i - 2 : i + 1];
        sides[i] = (side){from < to ? from : to, from < to ? to : from, from < to ? 1 : -1};
    }
    qsort(sides, count, sizeof *sides, compare_sides);
    for (size_t i = 0; i < count && status == PERP_OK;) {
        size_t next = i;
        int32_t balance = 0;
        for (; next < count && sides[next].low == sides[i].low && sides[next].high == sides[i].high;
             ++next) {
            balance += sides[next].way;
        }
        if (balance != 0 && (next - i) % 2 == 1) {
            status = fail_edge(context, def, &sides[i],
                               next - i == 1 ? "belongs to one face only: the surface is not closed"
                                             : "belongs to an odd number of faces: the surface is "
                                               "not closed");
        } else if (balance != 0) {
            status =
                fail_edge(context, def, &sides[i],
                          "is traversed in the same direction by both its faces: the faces do not "
                          "agree which side is out");
        }
        i = next;
    }
    perpi_free(context, sides);
    return status;
}

/* ---- integrals -------------------------------------------------------------------------------- */

static void add_outer(double m[3][3], double s, vec3 a)
{
    const double c[3] = {a.x, a.y, a.z};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            m[i][j] += s * c[i] * c[j];
        }
    }
}

/* With d = a.(b x c): volume d/6, first moment d/24 (a+b+c), second moment
 * d/120 (a a' + b b' + c c' + s s'), s = a+b+c. */
void perpi_moments_add(perpi_moments* sum, vec3 a, vec3 b, vec3 c)
{
    const vec3 s = v3_add(a, v3_add(b, c));
    const double d = v3_dot(a, v3_cross(b, c));
    sum->volume += d / 6.0;
    sum->first = v3_madd(sum->first, d / 24.0, s);
    add_outer(sum->second, d / 120.0, a);
    add_outer(sum->second, d / 120.0, b);
    add_outer(sum->second, d / 120.0, c);
    add_outer(sum->second, d / 120.0, s);
}

perpi_mass perpi_moments_mass(const perpi_moments* sum, vec3 o)
{
    perpi_mass mass = {.mass = sum->volume};
    const vec3 center = v3_scale(1.0 / sum->volume, sum->first);
    double second[3][3];
    memcpy(second, sum->second, sizeof second);
    add_outer(second, -sum->volume, center);
    const double trace = second[0][0] + second[1][1] + second[2][2];
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            mass.inertia.m[i][j] = (i == j ? trace : 0.0) - second[i][j];
        }
    }
    mass.center = v3_add(o, center);
    return mass;
}

perpi_mass perpi_mesh_integrate(const perp_shape_def* def)
{
    vec3 o = {0, 0, 0};
    for (int32_t i = 0; i < def->vertex_count; ++i) {
        o = v3_madd(o, 1.0 / def->vertex_count, vertex_at(def, i));
    }
    perpi_moments sum = {0};
    for (int32_t k = 0; k < def->triangle_count; ++k) {
        const int32_t* t = def->triangles + 3 * (size_t)k;
        perpi_moments_add(&sum, v3_sub(vertex_at(def, t[0]), o), v3_sub(vertex_at(def, t[1]), o),
                          v3_sub(vertex_at(def, t[2]), o));
    }
    return perpi_moments_mass(&sum, o);
}

/* ---- the shape -------------------------------------------------------------------------------- */

perp_status perpi_mesh_check_lists(perp_context* context, const perp_shape_def* def)
{
    if (def->vertex_count < 3 || def->vertices == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: must be at least 3 points, got %d",
                          (int)def->vertex_count);
    }
    if (def->triangle_count < 1 || def->triangles == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "faces: must be at least one");
    }
    for (size_t i = 0; i < 3 * (size_t)def->vertex_count; ++i) {
        if (!(fabs(def->vertices[i]) <= 1e100)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "vertices/%zu: must be finite and not beyond 1e100, got %g", i / 3,
                              def->vertices[i]);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)def->triangle_count; ++i) {
        if (def->triangles[i] < 0 || def->triangles[i] >= def->vertex_count) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "faces: there is no vertex %d; they are numbered 0 to %d",
                              (int)def->triangles[i], (int)def->vertex_count - 1);
        }
    }
    return PERP_OK;
}

static perp_status weigh(perp_context* context, const perp_shape_def* def, perpi_mass* mass)
{
    const perp_status status = perpi_mesh_check_closed(context, def);
    if (status != PERP_OK) {
        return status;
    }
    *mass = perpi_mesh_integrate(def);
    if (mass->mass < 0.0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "faces: %s is inside out: its volume is %g; list the vertices of a face "
                          "counter-clockwise as seen from outside",
                          name_of(def), mass->mass);
    }
    if (!(mass->mass > 0.0) || !isfinite(mass->mass)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "faces: %s has no volume (%g)", name_of(def),
                          mass->mass);
    }
    return PERP_OK;
}

static perp_status copy_mesh(perp_context* context, const perp_shape_def* def, perpi_mesh* mesh)
{
    const size_t v = 3 * (size_t)def->vertex_count, t = 3 * (size_t)def->triangle_count;
    perp_status status = perpi_alloc(context, v, sizeof *mesh->vertex, &mesh->vertex);
    if (status == PERP_OK) {
        status = perpi_alloc(context, t, sizeof *mesh->triangle, &mesh->triangle);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(mesh->vertex, def->vertices, v * sizeof *mesh->vertex);
    memcpy(mesh->triangle, def->triangles, t * sizeof *mesh->triangle);
    mesh->vertex_count = def->vertex_count;
    mesh->triangle_count = def->triangle_count;
    for (int32_t i = 0; i < def->vertex_count; ++i) {
        const double d = v3_norm(vertex_at(def, i));
        mesh->reach = d > mesh->reach ? d : mesh->reach;
    }
    return PERP_OK;
}

/* How far a mesh may be from its hull and still be convex: files have single precision, so their vertices
 * are beside the planes of neighbouring faces. Relative to the size, and to the volume. */
static const double EXACTLY_CONVEX = 1e-9;
static const double NEARLY_CONVEX = 1e-5;
static const double NEARLY_FULL = 1e-3;

/* Whether the surface is that of its convex hull: no vertex lies inside, and no volume is missing. */
static bool is_convex(const perpi_mesh* mesh, const perpi_polyhedron* hull, double tolerance)
{
    /* a layer of that thickness below the surface is missing */
    const double layer = tolerance == EXACTLY_CONVEX ? tolerance : 10.0 * tolerance;
    if (!(fabs(hull->mass.mass - mesh->mass.mass) <= layer * mesh->mass.mass)) {
        return false;
    }
    for (int32_t i = 0; i < mesh->vertex_count; ++i) {
        const vec3 x = v3_from(mesh->vertex + 3 * (size_t)i);
        bool on = false;
        for (int32_t f = 0; f < hull->face_count && !on; ++f) {
            on = v3_dot(hull->normal[f], x) - hull->offset[f] >= -tolerance * 2.0 * hull->size;
        }
        if (!on) {
            return false;
        }
    }
    return true;
}

/* The collision geometry of a mesh: its polyhedron if it is convex, else its convex pieces. */
static perp_status make_contact(perp_context* context, const perp_shape_def* def,
                                perpi_shape* shape)
{
    perpi_mesh* mesh = shape->mesh;
    perpi_polyhedron* hull = NULL;
    perp_status status =
        perpi_polyhedron_hull(context, mesh->vertex, mesh->vertex_count, &hull, NULL);
    if (status != PERP_OK && !(status == PERP_ERROR_INPUT && def->decompose)) {
        return status; /* overflow of the hull is no error for a mesh that will be decomposed */
    }
    /* pieces that are asked for are exact up to the precision of files */
    const double missing = hull != NULL ? hull->mass.mass / mesh->mass.mass - 1.0 : INFINITY;
    const bool exact = hull != NULL && is_convex(mesh, hull, EXACTLY_CONVEX);
    const bool near =
        hull != NULL && !exact &&
        (is_convex(mesh, hull, NEARLY_CONVEX) || (!def->decompose && fabs(missing) <= NEARLY_FULL));
    if (near) {
        mesh->missing = fabs(missing) > DBL_MIN ? fabs(missing) : DBL_MIN;
    }
    if (exact || near) {
        shape->type = PERP_SHAPE_POLYHEDRON;
        shape->polyhedron = hull;
        return PERP_OK;
    }
    perpi_polyhedron_free(context, hull);
    if (!def->decompose) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "type: %s is not convex: say \"decompose\": true to have it cut into convex "
            "pieces, \"collides\": false (it has mass and does not collide), or take a "
            "polyhedron of its vertices (its convex hull)",
            name_of(def));
    }
    shape->intangible = true; /* its pieces collide instead */
    return perpi_decompose(context, def, &mesh->piece, &mesh->piece_count);
}

/* "convex": the hull is the body's, the mesh its picture. */
static perp_status take_hull(perp_context* context, const perp_shape_def* def, perpi_shape* shape)
{
    perpi_polyhedron* hull = NULL;
    const perp_status status =
        perpi_polyhedron_hull(context, def->vertices, def->vertex_count, &hull, NULL);
    if (status == PERP_OK) {
        shape->mesh->mass = hull->mass;
        shape->type = PERP_SHAPE_POLYHEDRON;
        shape->polyhedron = hull;
    }
    return status;
}

static perp_status mesh_make(perp_context* context, const perp_shape_def* def, perpi_shape* shape)
{
    perp_status status = PERP_OK;
    if (def->convex && def->decompose) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "convex: give convex (the hull) or decompose (pieces), not both");
    }
    status = perpi_alloc(context, 1, sizeof *shape->mesh, &shape->mesh);
    if (status == PERP_OK && def->convex && !def->visual) {
        status = copy_mesh(context, def, shape->mesh);
        if (status == PERP_OK) {
            status = take_hull(context, def, shape);
        }
        if (status != PERP_OK) {
            perpi_shape_free(context, shape);
        }
        return status;
    }
    if (status == PERP_OK && !def->visual) {
        status = weigh(context, def, &shape->mesh->mass);
    }
    if (status == PERP_OK) {
        status = copy_mesh(context, def, shape->mesh);
    }
    if (status == PERP_OK && !def->visual && !def->contactless) {
        status = make_contact(context, def, shape);
    }
    if (status != PERP_OK) {
        perpi_shape_free(context, shape);
    }
    return status;
}

static perpi_mass mesh_mass(const perpi_shape* shape)
{
    return shape->mesh->mass;
}

static double mesh_reach(const perpi_shape* shape)
{
    return shape->mesh->reach;
}

static perpi_bounds mesh_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    perpi_bounds b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int32_t i = 0; i < shape->mesh->vertex_count; ++i) {
        const vec3 p = perpi_pose_point(pose, v3_from(shape->mesh->vertex + 3 * (size_t)i));
        b.lo = v3(p.x < b.lo.x ? p.x : b.lo.x, p.y < b.lo.y ? p.y : b.lo.y,
                  p.z < b.lo.z ? p.z : b.lo.z);
        b.hi = v3(p.x > b.hi.x ? p.x : b.hi.x, p.y > b.hi.y ? p.y : b.hi.y,
                  p.z > b.hi.z ? p.z : b.hi.z);
    }
    return b;
}

const perpi_shape_ops perpi_shape_mesh = {
    .type = PERP_SHAPE_MESH,
    .name = "mesh",
    .dimension = 3,
    .summary = "file (.poly, .stl, .obj) and scale, or vertices and faces; decompose if not convex",
    .bounded = true,
    .check = perpi_mesh_check_lists,
    .make = mesh_make,
    .mass = mesh_mass,
    .reach = mesh_reach,
    .bounds = mesh_bounds,
};
