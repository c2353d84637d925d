/* src/scene/mjcf_mass.c - mass and inertia of the bodies of an MJCF model. See mjcf.h.
 *
 * A body has the inertia that <inertial> gives, else that of its geoms. Bodies without joints are parts
 * of the body that they are fixed to (the host), which has the mass of all its parts.
 */
#include <stdio.h>
#include <string.h>

#include "model/mass.h"
#include "scene/mjcf.h"
#include "scene/reader.h"

/* ---- masses ------------------------------------------------------------------------------------- */

static mat3 plus(mat3 A, mat3 B)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] += B.m[i][j];
        }
    }
    return A;
}

/* mass (|d|^2 E - d d'): of a point at d. */
static mat3 point_inertia(double mass, vec3 d)
{
    const double c[3] = {d.x, d.y, d.z}, dd = v3_dot(d, d);
    mat3 A;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] = mass * ((i == j ? dd : 0.0) - c[i] * c[j]);
        }
    }
    return A;
}

static mat3 symmetric(mat3 A)
{
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < i; ++k) {
            A.m[i][k] = A.m[k][i] = 0.5 * (A.m[i][k] + A.m[k][i]);
        }
    }
    return A;
}

perpi_mass perpi_mjcf_add_mass(const perpi_mass* a, const perpi_mass* b)
{
    const double mass = a->mass + b->mass;
    if (!(mass > 0.0)) {
        return *a;
    }
    const vec3 center =
        v3_scale(1.0 / mass, v3_add(v3_scale(a->mass, a->center), v3_scale(b->mass, b->center)));
    const mat3 A = plus(a->inertia, point_inertia(a->mass, v3_sub(a->center, center)));
    const mat3 B = plus(b->inertia, point_inertia(b->mass, v3_sub(b->center, center)));
    return (perpi_mass){mass, center, symmetric(plus(A, B))};
}

perpi_mass perpi_mjcf_move_mass(const perpi_mass* mass, const perpi_pose* pose)
{
    return (perpi_mass){mass->mass, perpi_pose_point(pose, mass->center),
                        symmetric(m3_mm(pose->R, m3_mm(mass->inertia, m3_transpose(pose->R))))};
}

double perpi_mjcf_about(const perpi_mass* mass, vec3 at, vec3 axis)
{
    const mat3 I = plus(mass->inertia, point_inertia(mass->mass, v3_sub(mass->center, at)));
    return v3_dot(axis, m3_mul(I, axis));
}

/* ---- bodies ------------------------------------------------------------------------------------- */

perp_shape_def perpi_mjcf_shape_def(const perpi_mjcf_geom* geom)
{
    static const perp_shape_type type[] = {
        PERP_SHAPE_PLANE,    PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE, PERP_SHAPE_ELLIPSOID,
        PERP_SHAPE_CYLINDER, PERP_SHAPE_BOX,    PERP_SHAPE_MESH};
    perp_shape_def def = perp_shape_def_default(type[geom->type]);
    def.radius = geom->size[0];
    def.length = 2.0 * geom->size[1];
    def.normal[2] = 1.0;
    for (int i = 0; i < 3; ++i) {
        def.size[i] = 2.0 * geom->size[i];
        def.radii[i] = geom->size[i];
    }
    return def;
}

/* The surface of a geom with unit density of area, from second moments xx, yy, zz about its centre. */
static perpi_mass shell_mass(const perpi_mjcf_geom* geom)
{
    const double pi = 3.14159265358979323846, r = geom->size[0], h = 2.0 * geom->size[1];
    const double* s = geom->size;
    double area = 0.0, S[3] = {0};
    if (geom->type == PERPI_MJCF_BOX) {
        for (int i = 0; i < 3; ++i) { /* the two faces across axis i */
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            const double faces = 8.0 * s[j] * s[k];
            area += faces;
            S[i] += faces * s[i] * s[i];
            S[j] += faces * s[j] * s[j] / 3.0;
            S[k] += faces * s[k] * s[k] / 3.0;
        }
    } else { /* a tube (none for a sphere), and two discs or two half spheres on it */
        const bool discs = geom->type == PERPI_MJCF_CYLINDER;
        const double l = geom->type == PERPI_MJCF_SPHERE ? 0.0 : h;
        const double tube = 2.0 * pi * r * l, ends = (discs ? 2.0 : 4.0) * pi * r * r;
        area = tube + ends;
        S[0] = S[1] = tube * r * r / 2.0 + ends * r * r / (discs ? 4.0 : 3.0);
        S[2] = tube * l * l / 12.0 + ends * l * l / 4.0;
        S[2] += discs ? 0.0 : ends * (l * r / 2.0 + r * r / 3.0);
    }
    perpi_mass mass = {.mass = area};
    for (int i = 0; i < 3; ++i) {
        mass.inertia.m[i][i] = S[(i + 1) % 3] + S[(i + 2) % 3];
    }
    return mass;
}

static perp_status geom_mass(perpi_mjcf* m, const perpi_mjcf_geom* geom, perpi_mass* mass)
{
    *mass = (perpi_mass){0};
    const bool none = geom->mass == 0.0 || (isnan(geom->mass) && geom->density == 0.0);
    if (geom->type == PERPI_MJCF_PLANE || none) {
        return PERP_OK;
    }
    if (geom->type == PERPI_MJCF_MESH) {
        perpi_mjcf_mesh* mesh = &m->mesh[geom->mesh];
        PERPI_TRY(perpi_mjcf_load_mesh(m, mesh));
        *mass = mesh->mass;
    } else if (geom->shell) {
        *mass = shell_mass(geom);
    } else {
        const perp_shape_def def = perpi_mjcf_shape_def(geom);
        perpi_shape shape = {0};
        const perp_status status = perpi_shape_make(m->context, &def, 3, &shape);
        if (status != PERP_OK) {
            char message[400];
            snprintf(message, sizeof message, "%s", perp_context_error(m->context));
            return status == PERP_ERROR_INPUT ? perpi_mjcf_fail(m, geom->node, "<geom> %s", message)
                                              : status;
        }
        *mass = perpi_shape_ops_of(shape.type)->mass(&shape);
        perpi_shape_free(m->context, &shape);
    }
    const double factor = isnan(geom->mass)  ? geom->density
                          : mass->mass > 0.0 ? geom->mass / mass->mass
                                             : 0.0;
    mass->mass *= factor;
    for (int i = 0; i < 9; ++i) {
        mass->inertia.m[i / 3][i % 3] *= factor;
    }
    *mass = perpi_mjcf_move_mass(mass, &geom->pose);
    return PERP_OK;
}

/* An inertia that no body has: balanced as the file asks, else enlarged evenly by what is missing. */
static perp_status repair_inertia(perpi_mjcf* m, perpi_mjcf_body* b)
{
    mat3* I = &b->own.inertia;
    const double mean = (I->m[0][0] + I->m[1][1] + I->m[2][2]) / 3.0;
    *I = symmetric(*I);
    if (perpi_check_inertia(m->context, 3, *I) == PERP_OK) {
        return PERP_OK;
    }
    if (!(mean > 0.0) || !isfinite(mean)) {
        return perpi_mjcf_fail(m, b->node, "<body> '%s': %s", b->name,
                               perp_context_error(m->context));
    }
    m->balanced++;
    if (m->balance) {
        *I = m3_identity();
        for (int i = 0; i < 3; ++i) {
            I->m[i][i] = mean;
        }
        return PERP_OK;
    }
    double none = 0.0, enough = 3.0 * mean;
    for (int k = 0; k < 60; ++k) { /* the least that suffices, by bisection */
        const double part = 0.5 * (none + enough);
        mat3 J = *I;
        for (int i = 0; i < 3; ++i) {
            J.m[i][i] += part;
        }
        const bool good = perpi_check_inertia(m->context, 3, J) == PERP_OK;
        none = good ? none : part;
        enough = good ? part : enough;
    }
    for (int i = 0; i < 3; ++i) {
        I->m[i][i] += enough;
    }
    return PERP_OK;
}

static void bound_mass(const perpi_mjcf* m, perpi_mjcf_body* b)
{
    if (b->own.mass < m->boundmass) {
        b->own.mass = m->boundmass;
    }
    for (int i = 0; i < 3; ++i) {
        if (b->own.inertia.m[i][i] < m->boundinertia) {
            b->own.inertia.m[i][i] = m->boundinertia;
        }
    }
}

static perp_status masses_from_geoms(perpi_mjcf* m)
{
    for (size_t i = 0; i < m->geoms.count; ++i) {
        const perpi_mjcf_geom* geom = &m->geom[i];
        perpi_mjcf_body* b = &m->body[geom->body];
        const bool counts =
            geom->group >= m->inertia_groups[0] && geom->group <= m->inertia_groups[1];
        if (geom->body == 0 || b->inertial || m->from_geoms == PERPI_MJCF_INERTIA_NO || !counts) {
            continue;
        }
        perpi_mass mass;
        PERPI_TRY(geom_mass(m, geom, &mass));
        b->own = perpi_mjcf_add_mass(&b->own, &mass);
    }
    return PERP_OK;
}

perp_status perpi_mjcf_masses(perpi_mjcf* m)
{
    double total = 0.0;
    PERPI_TRY(masses_from_geoms(m));
    for (size_t i = 1; i < m->bodies.count; ++i) {
        bound_mass(m, &m->body[i]);
        if (m->body[i].own.mass > 0.0) {
            PERPI_TRY(repair_inertia(m, &m->body[i]));
        }
        total += m->body[i].own.mass;
    }
    const double factor = m->totalmass > 0.0 && total > 0.0 ? m->totalmass / total : 1.0;
    for (size_t i = 1; i < m->bodies.count && factor != 1.0; ++i) {
        m->body[i].own.mass *= factor;
        for (int k = 0; k < 9; ++k) {
            m->body[i].own.inertia.m[k / 3][k % 3] *= factor;
        }
    }
    return PERP_OK;
}

perp_status perpi_mjcf_merge(perpi_mjcf* m)
{
    const perpi_pose none = {v3(0, 0, 0), q4_identity(), m3_identity()};
    m->body[0].in_host = none;
    for (size_t i = 1; i < m->bodies.count; ++i) { /* parents come before their children */
        perpi_mjcf_body* b = &m->body[i];
        const perpi_mjcf_body* parent = &m->body[b->parent];
        if (b->mocap && (b->joint_count > 0 || b->parent != 0)) {
            return perpi_mjcf_fail(m, b->node,
                                   "<body> '%s': mocap is for bodies of the world "
                                   "without joints",
                                   b->name);
        }
        if (b->joint_count > 0) {
            b->host = (int32_t)i;
            b->in_host = none;
        } else {
            b->host = parent->host;
            b->in_host = perpi_pose_mul(&parent->in_host, &b->pose);
        }
        perpi_mjcf_body* host = &m->body[b->host];
        const perpi_mass part = perpi_mjcf_move_mass(&b->own, &b->in_host);
        host->mass = b->host == (int32_t)i ? b->own : perpi_mjcf_add_mass(&host->mass, &part);
        if (b->host != (int32_t)i && b->host != 0 && b->own.mass > 0.0 &&
            b->gravcomp != host->gravcomp) {
            perpi_mjcf_note(m->approximate, sizeof m->approximate,
                            "gravcomp of parts of a body: that of the body counts");
        }
    }
    for (size_t i = 1; i < m->bodies.count; ++i) {
        perpi_mjcf_body* b = &m->body[i];
        b->gravity = v3_scale(1.0 - b->gravcomp, m->gravity);
        if (b->host == (int32_t)i && !(b->mass.mass > 0.0)) {
            return perpi_mjcf_fail(m, b->node, "<body> '%s' moves and has no mass", b->name);
        }
    }
    return PERP_OK;
}
