/* src/collide/pairs.c - which routine finds the contacts of which two shapes. */
#include "collide/collide.h"

/* What a routine provides beyond feature pairs within the margin. */
enum {
    PLAIN = 0,
    GROUPS = 1, /* groups of features */
    SIDED = 3,  /* groups, and features of one side only (perpi_candidate_list.sided) */
};

/* Every pair of types that can collide, once. Missing on purpose: planes with planes, particles
 * with particles, and planar shapes with spatial ones. */
#define PAIRS(X)                                                                                   \
    X(PLANE, PARTICLE, perpi_plane_round, PLAIN)                                                   \
    X(PLANE, SPHERE, perpi_plane_round, PLAIN)                                                     \
    X(PLANE, CAPSULE, perpi_plane_round, PLAIN)                                                    \
    X(PLANE, BOX, perpi_plane_box, PLAIN)                                                          \
    X(PARTICLE, SPHERE, perpi_round_round, PLAIN)                                                  \
    X(PARTICLE, CAPSULE, perpi_round_round, PLAIN)                                                 \
    X(SPHERE, SPHERE, perpi_round_round, PLAIN)                                                    \
    X(SPHERE, CAPSULE, perpi_round_round, PLAIN)                                                   \
    X(CAPSULE, CAPSULE, perpi_round_round, PLAIN)                                                  \
    X(BOX, PARTICLE, perpi_box_ball, PLAIN)                                                        \
    X(BOX, SPHERE, perpi_box_ball, PLAIN)                                                          \
    X(BOX, CAPSULE, perpi_box_capsule, PLAIN)                                                      \
    X(BOX, BOX, perpi_box_box, PLAIN)                                                              \
    X(PLANE, CYLINDER, perpi_plane_cylinder, PLAIN)                                                \
    X(CYLINDER, PARTICLE, perpi_cylinder_ball, GROUPS)                                             \
    X(CYLINDER, SPHERE, perpi_cylinder_ball, GROUPS)                                               \
    X(CYLINDER, CAPSULE, perpi_cylinder_capsule, GROUPS)                                           \
    X(PLANE, POLYHEDRON, perpi_plane_polyhedron, PLAIN)                                            \
    X(BOX, CYLINDER, perpi_polyhedron_cylinder, GROUPS)                                            \
    X(CYLINDER, CYLINDER, perpi_cylinder_cylinder, GROUPS)                                         \
    X(POLYHEDRON, CYLINDER, perpi_polyhedron_cylinder, GROUPS)                                     \
    X(POLYHEDRON, PARTICLE, perpi_polyhedron_ball, SIDED)                                          \
    X(POLYHEDRON, SPHERE, perpi_polyhedron_ball, SIDED)                                            \
    X(POLYHEDRON, CAPSULE, perpi_polyhedron_capsule, SIDED)                                        \
    X(POLYHEDRON, POLYHEDRON, perpi_polyhedron_polyhedron, SIDED)                                  \
    X(BOX, POLYHEDRON, perpi_polyhedron_polyhedron, SIDED)                                         \
    X(HALFPLANE, PARTICLE, perpi_plane_round, PLAIN)                                               \
    X(HALFPLANE, CIRCLE, perpi_plane_round, PLAIN)                                                 \
    X(HALFPLANE, BOX2, perpi_plane_box, PLAIN)                                                     \
    X(PARTICLE, CIRCLE, perpi_round_round, PLAIN)                                                  \
    X(CIRCLE, CIRCLE, perpi_round_round, PLAIN)                                                    \
    X(BOX2, PARTICLE, perpi_box_ball, PLAIN)                                                       \
    X(BOX2, CIRCLE, perpi_box_ball, PLAIN)                                                         \
    X(BOX2, BOX2, perpi_box_box, PLAIN)                                                            \
    X(HALFPLANE, POLYGON, perpi_plane_polygon, PLAIN)                                              \
    X(POLYGON, PARTICLE, perpi_polygon_ball, SIDED)                                                \
    X(POLYGON, CIRCLE, perpi_polygon_ball, SIDED)                                                  \
    X(POLYGON, POLYGON, perpi_polygon_polygon, SIDED)                                              \
    X(BOX2, POLYGON, perpi_polygon_polygon, SIDED)                                                 \
    X(PLANE, ELLIPSOID, perpi_plane_smooth, PLAIN)                                                 \
    X(PLANE, SUPERQUADRIC, perpi_plane_smooth, PLAIN)                                              \
    X(PARTICLE, ELLIPSOID, perpi_smooth_smooth, PLAIN)                                             \
    X(PARTICLE, SUPERQUADRIC, perpi_smooth_smooth, PLAIN)                                          \
    X(SPHERE, ELLIPSOID, perpi_smooth_smooth, PLAIN)                                               \
    X(SPHERE, SUPERQUADRIC, perpi_smooth_smooth, PLAIN)                                            \
    X(ELLIPSOID, ELLIPSOID, perpi_smooth_smooth, PLAIN)                                            \
    X(ELLIPSOID, SUPERQUADRIC, perpi_smooth_smooth, PLAIN)                                         \
    X(SUPERQUADRIC, SUPERQUADRIC, perpi_smooth_smooth, PLAIN)                                      \
    X(BOX, ELLIPSOID, perpi_polyhedron_smooth, SIDED)                                              \
    X(BOX, SUPERQUADRIC, perpi_polyhedron_smooth, SIDED)                                           \
    X(POLYHEDRON, ELLIPSOID, perpi_polyhedron_smooth, SIDED)                                       \
    X(POLYHEDRON, SUPERQUADRIC, perpi_polyhedron_smooth, SIDED)                                    \
    X(CAPSULE, ELLIPSOID, perpi_capsule_smooth, PLAIN)                                             \
    X(CAPSULE, SUPERQUADRIC, perpi_capsule_smooth, PLAIN)                                          \
    X(CYLINDER, ELLIPSOID, perpi_cylinder_smooth, GROUPS)                                          \
    X(CYLINDER, SUPERQUADRIC, perpi_cylinder_smooth, GROUPS)                                       \
    X(HALFPLANE, SUPERELLIPSE, perpi_plane_smooth, PLAIN)                                          \
    X(PARTICLE, SUPERELLIPSE, perpi_smooth_smooth_planar, PLAIN)                                   \
    X(CIRCLE, SUPERELLIPSE, perpi_smooth_smooth_planar, PLAIN)                                     \
    X(SUPERELLIPSE, SUPERELLIPSE, perpi_smooth_smooth_planar, PLAIN)                               \
    X(BOX2, SUPERELLIPSE, perpi_polygon_smooth, GROUPS)                                            \
    X(POLYGON, SUPERELLIPSE, perpi_polygon_smooth, GROUPS)

/* Routines that take precedence where groups are needed: a box is then a polygon or a
 * polyhedron. */
#define GROUPED_PAIRS(X)                                                                           \
    X(BOX2, PARTICLE, perpi_polygon_ball, SIDED)                                                   \
    X(BOX2, CIRCLE, perpi_polygon_ball, SIDED)                                                     \
    X(BOX2, BOX2, perpi_polygon_polygon, SIDED)                                                    \
    X(BOX, BOX, perpi_polyhedron_polyhedron, SIDED)                                                \
    X(BOX, PARTICLE, perpi_polyhedron_ball, SIDED)                                                 \
    X(BOX, SPHERE, perpi_polyhedron_ball, SIDED)                                                   \
    X(BOX, CAPSULE, perpi_polyhedron_capsule, SIDED)

typedef struct pair {
    perp_shape_type a, b;
    perpi_pair_fn find;
    int tells;
} pair;

#define DECLARE(a, b, find, tells)                                                                 \
    perp_status find(const perpi_shape*, const perpi_pose*, const perpi_shape*, const perpi_pose*, \
                     double, perpi_candidate_list*);
#define ENTRY(a, b, find, tells) {PERP_SHAPE_##a, PERP_SHAPE_##b, find, tells},
PAIRS(DECLARE)
GROUPED_PAIRS(DECLARE)
static const pair pairs[] = {PAIRS(ENTRY)};
static const pair grouped[] = {GROUPED_PAIRS(ENTRY)};

static const pair* find_routine(const pair* table, size_t count, perp_shape_type a,
                                perp_shape_type b, bool* flipped)
{
    for (size_t i = 0; i < count; ++i) {
        if (table[i].a == a && table[i].b == b) {
            *flipped = false;
            return &table[i];
        }
        if (table[i].a == b && table[i].b == a) {
            *flipped = true;
            return &table[i];
        }
    }
    return NULL;
}

static const pair* find_pair_entry(bool groups, perp_shape_type a, perp_shape_type b, bool* flipped)
{
    const pair* found =
        groups ? find_routine(grouped, sizeof grouped / sizeof grouped[0], a, b, flipped) : NULL;
    return found != NULL ? found
                         : find_routine(pairs, sizeof pairs / sizeof pairs[0], a, b, flipped);
}

perpi_pair_fn perpi_pair_find(bool groups, perp_shape_type a, perp_shape_type b, bool* flipped)
{
    const pair* found = find_pair_entry(groups, a, b, flipped);
    return found != NULL ? found->find : NULL;
}

bool perpi_pair_groups(perp_shape_type a, perp_shape_type b)
{
    bool flipped;
    const pair* found = find_pair_entry(true, a, b, &flipped);
    return found != NULL && found->tells != PLAIN;
}

perpi_pair_fn perpi_pair_sided(perp_shape_type a, perp_shape_type b, bool* flipped)
{
    const pair* found = find_pair_entry(true, a, b, flipped);
    return found != NULL && found->tells == SIDED ? found->find : NULL;
}

uint32_t perpi_candidate_unused(const perpi_candidate_list* list, uint32_t feature)
{
    size_t i = list->count;
    while (i > 0 && list->item[i - 1].shape_a == list->shape_a &&
           list->item[i - 1].shape_b == list->shape_b) {
        if (list->item[i - 1].feature == feature) {
            feature = (feature + 1) & 0xFFFFFF;
            i = list->count;
        } else {
            i -= 1;
        }
    }
    return feature;
}

perp_status perpi_candidate_add(perpi_candidate_list* list, uint32_t feature, vec3 point_a,
                                vec3 point_b, vec3 normal, double gap)
{
    const perp_status status = perpi_grow(list->context, &list->item, &list->capacity,
                                          list->count + 1, sizeof *list->item);
    if (status != PERP_OK) {
        return status;
    }
    list->item[list->count++] = (perpi_candidate){
        .body_a = list->body_a,
        .body_b = list->body_b,
        .shape_a = list->shape_a,
        .shape_b = list->shape_b,
        .feature = feature,
        .point_a = list->flipped ? point_b : point_a,
        .point_b = list->flipped ? point_a : point_b,
        .normal = list->flipped ? v3_neg(normal) : normal,
        .gap = gap,
        .group = list->group,
        .secondary = list->secondary,
    };
    return PERP_OK;
}
