/* src/shape/shape.c - the list of shapes, and what is common to all of them. */
#include "shape/builtin.h"
#include "shape/decompose.h"

#include <stdio.h>
#include <string.h>

#include "shape/smooth.h"

/* All shapes that exist. Order: perp_shape_type. */
static const perpi_shape_ops* const shapes[PERP_SHAPE_TYPE_COUNT] = {
    &perpi_shape_particle,  &perpi_shape_sphere,       &perpi_shape_plane,
    &perpi_shape_box,       &perpi_shape_capsule,      &perpi_shape_circle,
    &perpi_shape_halfplane, &perpi_shape_box2,         &perpi_shape_cylinder,
    &perpi_shape_mesh,      &perpi_shape_polygon,      &perpi_shape_polyhedron,
    &perpi_shape_ellipsoid, &perpi_shape_superquadric, &perpi_shape_superellipse,
};

const perpi_shape_ops* perpi_shape_ops_of(perp_shape_type type)
{
    PERP_ASSERT((int)type >= 0 && type < PERP_SHAPE_TYPE_COUNT);
    PERP_ASSERT(shapes[type]->type == type);
    return shapes[type];
}

perp_shape_def perp_shape_def_default(perp_shape_type type)
{
    return (perp_shape_def){.struct_size = sizeof(perp_shape_def),
                            .type = type,
                            .orientation = {1, 0, 0, 0},
                            .friction = NAN};
}

static bool type_in_range(perp_shape_type type)
{
    return (int)type >= 0 && type < PERP_SHAPE_TYPE_COUNT;
}

const char* perp_shape_name(perp_shape_type type)
{
    return type_in_range(type) ? shapes[type]->name : "unknown shape";
}

int32_t perp_shape_dimension(perp_shape_type type)
{
    return type_in_range(type) ? shapes[type]->dimension : 0;
}

const char* perp_shape_summary(perp_shape_type type)
{
    return type_in_range(type) ? shapes[type]->summary : "";
}

/* ---- by name -------------------------------------------------------------------------------- */

static bool lives_in(int32_t shape_dimension, int32_t dimension)
{
    return shape_dimension == 0 || shape_dimension == dimension;
}

/* "circle, halfplane, box, particle": those of the dimension, then those of both. */
static void list_names(int32_t dimension, char* text, size_t size)
{
    const int32_t wanted[2] = {dimension, 0};
    text[0] = '\0';
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
            if (shapes[i]->dimension == wanted[pass]) {
                const size_t used = strlen(text);
                snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", shapes[i]->name);
            }
        }
    }
}

static perp_status fail_dimension(perp_context* context, const char* member, const char* name,
                                  int32_t dimension)
{
    char names[256];
    list_names(dimension, names, sizeof names);
    return perpi_fail(context, PERP_ERROR_INPUT, "%sshape '%s' is %s; a %s scene has %s", member,
                      name, dimension == 2 ? "spatial" : "planar",
                      dimension == 2 ? "planar" : "spatial", names);
}

static perp_status fail_unknown(perp_context* context, const char* name, int32_t dimension)
{
    const char* candidates[PERP_SHAPE_TYPE_COUNT + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
        if (lives_in(shapes[i]->dimension, dimension)) {
            candidates[count++] = shapes[i]->name;
        }
    }
    const char* near = perpi_nearest(name, candidates);
    if (near != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "unknown shape '%s': did you mean '%s'?", name,
                          near);
    }
    char names[256];
    list_names(dimension, names, sizeof names);
    return perpi_fail(context, PERP_ERROR_INPUT, "unknown shape '%s'; a %s scene has %s", name,
                      dimension == 2 ? "planar" : "spatial", names);
}

perp_status perp_shape_find(perp_context* context, const char* name, int32_t dimension,
                            perp_shape_type* type)
{
    if (dimension != 2 && dimension != 3) {
        return perpi_fail(context, PERP_ERROR_INPUT, "dimension: must be 2 or 3, got %d",
                          (int)dimension);
    }
    bool elsewhere = false;
    for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
        if (strcmp(shapes[i]->name, name) != 0) {
            continue;
        }
        if (lives_in(shapes[i]->dimension, dimension)) {
            *type = shapes[i]->type;
            return PERP_OK;
        }
        elsewhere = true;
    }
    return elsewhere ? fail_dimension(context, "", name, dimension)
                     : fail_unknown(context, name, dimension);
}

/* ---- checks --------------------------------------------------------------------------------- */

perp_status perpi_check_positive(perp_context* context, const char* member, double x)
{
    if (!(x > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be > 0, got %g", member, x);
    }
    if (!isfinite(x)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite, got %g", member, x);
    }
    return PERP_OK;
}

perp_status perpi_check_not_negative(perp_context* context, const char* member, double x)
{
    if (!(x >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be >= 0, got %g", member, x);
    }
    if (!isfinite(x)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite, got %g", member, x);
    }
    return PERP_OK;
}

perp_status perpi_check_size(perp_context* context, const double* size, int n)
{
    for (int i = 0; i < n; ++i) {
        if (!(size[i] > 0.0) || !isfinite(size[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "size: entries must be > 0 and finite, got %g in entry %d", size[i],
                              i);
        }
    }
    return PERP_OK;
}

static perp_status check_finite(perp_context* context, const char* member, const double* x, int n)
{
    for (int i = 0; i < n; ++i) {
        if (!isfinite(x[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite, got %g in entry %d",
                              member, x[i], i);
        }
    }
    return PERP_OK;
}

static double largest(const double* x, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; ++i) {
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    }
    return most;
}

perp_status perpi_check_plane(perp_context* context, const perp_shape_def* def, int n)
{
    const perp_status status = check_finite(context, "normal", def->normal, n);
    if (status != PERP_OK) {
        return status;
    }
    if (!(largest(def->normal, n) > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "normal: must not be the zero vector");
    }
    if (!isfinite(def->offset)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "offset: must be finite, got %g", def->offset);
    }
    return PERP_OK;
}

static perp_status check_pose(perp_context* context, const perp_shape_def* def, int32_t dimension)
{
    perp_status status = check_finite(context, "position", def->position, 3);
    if (status == PERP_OK) {
        status = check_finite(context, "orientation", def->orientation, 4);
    }
    if (status == PERP_OK) {
        status = check_finite(context, "angle", &def->angle, 1);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (!(largest(def->orientation, 4) > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "orientation: must not be zero");
    }
    if (dimension == 3 && def->angle != 0.0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "angle: is for planar models; in space use orientation");
    }
    if (dimension == 2 && def->position[2] != 0.0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "position: its z entry must be 0 in a planar scene, got %g",
                          def->position[2]);
    }
    if (dimension == 2 && (def->orientation[1] != 0.0 || def->orientation[2] != 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "orientation: must be about z in a planar scene");
    }
    return PERP_OK;
}

void perpi_shape_orientation(const perp_shape_def* def, double orientation[4])
{
    const double turned[4] = {cos(0.5 * def->angle), 0.0, 0.0, sin(0.5 * def->angle)};
    for (int i = 0; i < 4; ++i) {
        orientation[i] = def->angle != 0.0 ? turned[i] : def->orientation[i];
    }
}

/* ---- the internal record ---------------------------------------------------------------------- */

perp_status perpi_shape_make(perp_context* context, const perp_shape_def* def, int32_t dimension,
                             perpi_shape* shape)
{
    PERP_ASSERT(dimension == 2 || dimension == 3);
    const perp_status known =
        perpi_check_struct(context, "perp_shape_def", def->struct_size, sizeof *def);
    if (known != PERP_OK) {
        return known;
    }
    if (!type_in_range(def->type)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "type: no shape has number %d",
                          (int)def->type);
    }
    const perpi_shape_ops* ops = shapes[def->type];
    if (!lives_in(ops->dimension, dimension)) {
        return fail_dimension(context, "type: ", ops->name, dimension);
    }
    perp_status status = ops->check(context, def);
    if (status == PERP_OK) {
        status = check_pose(context, def, dimension);
    }
    if (status == PERP_OK && !isnan(def->friction)) {
        status = perpi_check_not_negative(context, "friction", def->friction);
    }
    if (status != PERP_OK) {
        return status;
    }

    /* Members that do not belong to the type are copied and never read. */
    perpi_shape made = {
        .type = def->type,
        .radius = def->radius,
        .length = def->length,
        .offset = def->offset,
        .half = v3_scale(0.5, v3(def->size[0], def->size[1], dimension == 3 ? def->size[2] : 0.0)),
        .radii = v3_from(def->radii),
        .exponent = {def->exponents[0], def->exponents[1]},
        .local.x = v3_from(def->position),
        .intangible = def->visual || def->contactless,
        .massless = def->visual,
    };
    /* scaled first: squares of very large or small entries would overflow or underflow */
    const double most = largest(def->normal, dimension);
    if (most > 0.0) {
        const double nz = dimension == 3 ? def->normal[2] : 0.0;
        made.normal = v3_unit(v3(def->normal[0] / most, def->normal[1] / most, nz / most));
    }

    double e[4];
    perpi_shape_orientation(def, e);
    const double s = largest(e, 4);
    made.local.q = q4_unit((quat){e[0] / s, e[1] / s, e[2] / s, e[3] / s});
    made.local.R = q4_matrix(made.local.q);
    if (ops->make != NULL) {
        status = ops->make(context, def, &made);
        if (status != PERP_OK) {
            return status;
        }
    }
    *shape = made;
    return PERP_OK;
}

void perpi_shape_free(perp_context* context, perpi_shape* shape)
{
    perpi_free(context, shape->vertex);
    shape->vertex = NULL;
    perpi_polyhedron_free(context, shape->polyhedron);
    shape->polyhedron = NULL;
    if (shape->mesh != NULL) {
        perpi_decompose_free(context, shape->mesh->piece, shape->mesh->piece_count);
        perpi_free(context, shape->mesh->vertex);
        perpi_free(context, shape->mesh->triangle);
        perpi_free(context, shape->mesh);
        shape->mesh = NULL;
    }
}
