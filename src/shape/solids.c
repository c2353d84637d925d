/* src/shape/solids.c - the vertices of named solids.
 *
 * The regular solids are oriented by a cube with faces along the axes: the tetrahedron has four of its
 * corners, the dodecahedron all eight and twelve more.
 */
#include <string.h>

#include "shape/builtin.h"

/* (1 + sqrt 5) / 2 and its inverse. */
#define GOLDEN 1.6180339887498948482
#define GOLDEN_INVERSE 0.6180339887498948482

static const double tetrahedron[] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
static const double cube[] = {-1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 1, -1,
                              -1, -1, 1,  1, -1, 1,  -1, 1, 1,  1, 1, 1};
static const double octahedron[] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};

static const struct {
    const char* name;
    const double* vertex; /* of any common length; NULL: made below */
    int32_t count;
} solids[] = {
    {"tetrahedron", tetrahedron, 4},
    {"cube", cube, 8},
    {"octahedron", octahedron, 6},
    {"dodecahedron", NULL, 20},
    {"icosahedron", NULL, 12},
    {"prism", NULL, 0},
    {"block", NULL, 8},
};
enum { SOLID_COUNT = sizeof solids / sizeof solids[0] };

const char* perp_solid_name(int32_t i)
{
    return i >= 0 && i < SOLID_COUNT ? solids[i].name : NULL;
}

static int32_t put_vertex(double* vertex, int32_t at, double x, double y, double z)
{
    vertex[3 * at] = x;
    vertex[3 * at + 1] = y;
    vertex[3 * at + 2] = z;
    return at + 1;
}

/* (0, +-a, +-b) and its cyclic permutations. */
static int32_t put_cyclic(double* vertex, int32_t at, double a, double b)
{
    for (int i = 0; i < 4; ++i) {
        const double u = (i & 1) != 0 ? a : -a, w = (i & 2) != 0 ? b : -b;
        at = put_vertex(vertex, at, 0, u, w);
        at = put_vertex(vertex, at, u, w, 0);
        at = put_vertex(vertex, at, w, 0, u);
    }
    return at;
}

static void scale_to(double* vertex, int32_t count, double radius)
{
    for (int32_t i = 0; i < count; ++i) {
        double* x = vertex + 3 * i;
        const double s = radius / sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        for (int k = 0; k < 3; ++k) {
            x[k] *= s;
        }
    }
}

static int32_t put_prism(double* vertex, const perp_solid_def* def)
{
    int32_t at = 0;
    for (int end = 0; end < 2; ++end) {
        for (int32_t i = 0; i < def->sides; ++i) {
            const double angle = 2.0 * PERPI_PI * i / def->sides;
            at = put_vertex(vertex, at, def->radius * cos(angle), def->radius * sin(angle),
                            (end == 0 ? -0.5 : 0.5) * def->length);
        }
    }
    return at;
}

static perp_status check_solid(perp_context* context, const perp_solid_def* def, int32_t index)
{
    const bool block = strcmp(solids[index].name, "block") == 0;
    const bool prism = strcmp(solids[index].name, "prism") == 0;
    if (block) {
        return perpi_check_size(context, def->size, 3);
    }
    perp_status status = perpi_check_positive(context, "radius", def->radius);
    if (status == PERP_OK && prism) {
        status = perpi_check_positive(context, "length", def->length);
    }
    if (status == PERP_OK && prism && (def->sides < 3 || def->sides > PERP_SOLID_SIDES)) {
        status = perpi_fail(context, PERP_ERROR_INPUT, "sides: must be 3 to %d, got %d",
                            PERP_SOLID_SIDES, (int)def->sides);
    }
    return status;
}

perp_status perp_solid_vertices(perp_context* context, const perp_solid_def* def, double* vertices,
                                int32_t* count)
{
    const char* names[SOLID_COUNT + 1] = {NULL};
    int32_t index = -1;
    for (int32_t i = 0; i < SOLID_COUNT; ++i) {
        names[i] = solids[i].name;
        index = def->name != NULL && strcmp(def->name, names[i]) == 0 ? i : index;
    }
    if (index < 0) {
        const perp_status status =
            perpi_fail_unknown(context, "solid", def->name != NULL ? def->name : "", names);
        return perpi_fail_prefix(context, status, "solid");
    }
    const perp_status status = check_solid(context, def, index);
    if (status != PERP_OK) {
        return status;
    }
    int32_t n = solids[index].count;
    if (solids[index].vertex != NULL) {
        memcpy(vertices, solids[index].vertex, 3 * (size_t)n * sizeof *vertices);
        scale_to(vertices, n, def->radius);
    } else if (strcmp(names[index], "dodecahedron") == 0) {
        memcpy(vertices, cube, sizeof cube);
        n = put_cyclic(vertices, 8, GOLDEN_INVERSE, GOLDEN);
        scale_to(vertices, n, def->radius);
    } else if (strcmp(names[index], "icosahedron") == 0) {
        n = put_cyclic(vertices, 0, 1.0, GOLDEN);
        scale_to(vertices, n, def->radius);
    } else if (strcmp(names[index], "prism") == 0) {
        n = put_prism(vertices, def);
    } else {
        for (int i = 0; i < 24; ++i) {
            vertices[i] = 0.5 * def->size[i % 3] * cube[i];
        }
    }
    *count = n;
    return PERP_OK;
}
