/* src/scene/mjcf_mesh.c - meshes of an MJCF model: vertices, hull, and mass at unit density. See mjcf.h.
 *
 * Source     the published XML reference of the format, attribute `inertia` of <mesh>
 *
 * legacy     The tetrahedra from a centre to the triangles, all of them positive, so that what is not
 *            convex weighs too much. The centre of mass is that of the tetrahedra from the centre of the
 *            surface; volume and inertia are those of the tetrahedra from this centre of mass. Versions
 *            before 3 took the volume of the box with this inertia for the volume.
 * exact      The solid inside: the tetrahedra with their signs.
 * convex     The convex hull.
 * shell      The surface; the density is one of area.
 */
#include <stdio.h>
#include <string.h>

#include "model/mass.h"
#include "scene/mjcf.h"
#include "scene/reader.h"
#include "shape/polyhedron.h"

/* Second moments S about a point, as an inertia about it. */
static mat3 inertia_of_moments(double S[3][3])
{
    const double trace = S[0][0] + S[1][1] + S[2][2];
    mat3 I;
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            I.m[a][b] = (a == b ? trace : 0.0) - S[a][b];
        }
    }
    return I;
}

/* Corners of a triangle relative to o. */
static void corners(const perpi_mesh_data* mesh, size_t i, vec3 o, vec3 p[3])
{
    for (int k = 0; k < 3; ++k) {
        p[k] = v3_sub(v3_from(mesh->vertex + 3 * (size_t)mesh->triangle[3 * i + (size_t)k]), o);
    }
}

/* Adds weight (sum sum' + the p p'), with sum = p0 + p1 + p2: 24 and 120 times the moments of a triangle of
 * area 2 weight and of a tetrahedron to the origin of volume 6 weight. */
static void add_moments(double weight, const vec3 p[3], double S[3][3])
{
    double x[4][3];
    for (int k = 0; k < 3; ++k) {
        v3_to(p[k], x[k]);
    }
    v3_to(v3_add(v3_add(p[0], p[1]), p[2]), x[3]);
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            S[a][b] += weight * (x[3][a] * x[3][b] + x[0][a] * x[0][b] + x[1][a] * x[1][b] +
                                 x[2][a] * x[2][b]);
        }
    }
}

/* The surface with unit density of area: about its own centre. */
static perpi_mass surface_mass(const perpi_mesh_data* mesh)
{
    vec3 sum = v3(0, 0, 0), p[3];
    double twice = 0.0, S[3][3] = {{0}};
    for (size_t i = 0; i < mesh->triangle_count; ++i) {
        corners(mesh, i, v3(0, 0, 0), p);
        const double d = v3_norm(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0])));
        twice += d;
        sum = v3_madd(sum, d / 3.0, v3_add(p[0], v3_add(p[1], p[2])));
    }
    perpi_mass mass = {.mass = 0.5 * twice, .center = v3_from(mesh->vertex)};
    if (twice > 0.0) {
        mass.center = v3_scale(1.0 / twice, sum);
    }
    for (size_t i = 0; i < mesh->triangle_count; ++i) {
        corners(mesh, i, mass.center, p);
        add_moments(v3_norm(v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]))) / 24.0, p, S);
    }
    mass.inertia = inertia_of_moments(S);
    return mass;
}

/* The tetrahedra from a point to the triangles, with their signs (exact) or without: volume and centre;
 * the inertia is about the point. */
static perpi_mass tetrahedra_mass(const perpi_mesh_data* mesh, vec3 o, bool exact)
{
    double volume = 0.0, S[3][3] = {{0}};
    vec3 first = v3(0, 0, 0), p[3];
    for (size_t i = 0; i < mesh->triangle_count; ++i) {
        corners(mesh, i, o, p);
        double d = v3_dot(p[0], v3_cross(p[1], p[2]));
        d = exact ? d : fabs(d);
        volume += d / 6.0;
        first = v3_madd(first, d / 24.0, v3_add(v3_add(p[0], p[1]), p[2]));
        add_moments(d / 120.0, p, S);
    }
    perpi_mass mass = {.mass = volume, .center = o, .inertia = inertia_of_moments(S)};
    if (volume > 0.0) {
        mass.center = v3_madd(o, 1.0 / volume, first);
    }
    return mass;
}

/* As the mesh's rule says; convex: none yet. */
static perpi_mass mass_by_rule(const perpi_mjcf_mesh* mesh)
{
    const perpi_mass surface = surface_mass(&mesh->data);
    if (mesh->rule == PERPI_MJCF_MESH_SHELL) {
        return surface;
    }
    if (mesh->rule == PERPI_MJCF_MESH_CONVEX) {
        return (perpi_mass){0};
    }
    const bool exact = mesh->rule == PERPI_MJCF_MESH_EXACT;
    const vec3 center = tetrahedra_mass(&mesh->data, surface.center, exact).center;
    perpi_mass mass = tetrahedra_mass(&mesh->data, center, exact);
    mass.center = center;
    return mass;
}

static perp_status make_hull(perpi_mjcf* m, perpi_mjcf_mesh* mesh)
{
    perpi_polyhedron* p = NULL;
    const perp_status status = perpi_polyhedron_hull(m->context, mesh->data.vertex,
                                                     (int32_t)mesh->data.vertex_count, &p, NULL);
    if (status != PERP_OK) {
        return status == PERP_ERROR_INPUT ? PERP_OK : status; /* flat, or too many vertices */
    }
    mesh->hull = json_array();
    int failed = mesh->hull == NULL;
    for (int32_t i = 0; i < p->vertex_count && failed == 0; ++i) {
        const vec3 v = p->vertex[i];
        failed = json_array_append_new(mesh->hull, json_pack("[f, f, f]", v.x, v.y, v.z));
    }
    if (!(mesh->mass.mass > 0.0)) { /* convex, without faces, or inside out */
        mesh->mass = p->mass;
    }
    perpi_polyhedron_free(m->context, p);
    return failed == 0 ? PERP_OK : perpi_mjcf_memory(m);
}

/* Vertices and faces in attributes; without faces the hull. */
static perp_status read_inline(perpi_mjcf* m, perpi_mjcf_mesh* mesh)
{
    const perpi_mjcf_element e = {.node = mesh->node, .kind = "mesh", .level = -1};
    double *x = NULL, *f = NULL;
    const size_t most = 3 * 20000;
    int points = 0, corners = 0;
    PERPI_TRY(perpi_arena_take(m->arena, most, sizeof *x, &x));
    PERPI_TRY(perpi_arena_take(m->arena, most, sizeof *f, &f));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "vertex", 12, (int)most, x, &points));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "face", 3, (int)most, f, &corners));
    if (points % 3 != 0 || corners % 3 != 0) {
        return perpi_mjcf_fail(m, mesh->node, "<mesh> %s: must be triples",
                               points % 3 != 0 ? "vertex" : "face");
    }
    PERPI_TRY(perpi_alloc(m->context, (size_t)points, sizeof(double), &mesh->data.vertex));
    memcpy(mesh->data.vertex, x, (size_t)points * sizeof *x);
    mesh->data.vertex_count = (size_t)points / 3;
    if (corners == 0) {
        return PERP_OK;
    }
    PERPI_TRY(perpi_alloc(m->context, (size_t)corners, sizeof(int32_t), &mesh->data.triangle));
    for (int i = 0; i < corners; ++i) {
        if (!(f[i] >= 0.0 && f[i] < points / 3) || f[i] != floor(f[i])) {
            return perpi_mjcf_fail(m, mesh->node, "<mesh> face: there is no vertex %g", f[i]);
        }
        mesh->data.triangle[i] = (int32_t)f[i];
    }
    mesh->data.triangle_count = (size_t)corners / 3;
    return PERP_OK;
}

perp_status perpi_mjcf_load_mesh(perpi_mjcf* m, perpi_mjcf_mesh* mesh)
{
    if (mesh->read) {
        return PERP_OK;
    }
    if (mesh->file == NULL) {
        PERPI_TRY(read_inline(m, mesh));
    } else {
        const perp_status status = perpi_mesh_read(m->context, mesh->file, &mesh->data);
        if (status != PERP_OK) {
            char message[900];
            snprintf(message, sizeof message, "%s", perp_context_error(m->context));
            return status == PERP_ERROR_INPUT
                       ? perpi_mjcf_fail(m, mesh->node, "<mesh> file: %s", message)
                       : status;
        }
    }
    mesh->read = true;
    const quat back = q4_conj(mesh->refquat);
    const bool moved = v3_norm(mesh->refpos) > 0.0 || fabs(mesh->refquat.w) < 1.0;
    for (size_t i = 0; moved && i < mesh->data.vertex_count; ++i) {
        double* x = mesh->data.vertex + 3 * i;
        v3_to(q4_rotate(back, v3_sub(v3_from(x), mesh->refpos)), x);
    }
    perpi_mesh_scale(&mesh->data, mesh->scale);
    if (mesh->data.triangle_count > 0) {
        mesh->mass = mass_by_rule(mesh);
    }
    return make_hull(m, mesh);
}
