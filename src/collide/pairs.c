/* src/collide/pairs.c - which routine finds the contacts of which two shapes. */
#include "collide/polytope/polygon.h"
#include "collide/polytope/polyhedron.h"
#include "collide/narrow/round.h"

/* Every pair that can meet, once. Missing on purpose: planes with planes, particles with
 * particles, and planar shapes with spatial ones. */
static const perpi_pair_ops pairs[] = {
    {PERP_SHAPE_PLANE, PERP_SHAPE_PARTICLE, perpi_plane_round},
    {PERP_SHAPE_PLANE, PERP_SHAPE_SPHERE, perpi_plane_round},
    {PERP_SHAPE_PLANE, PERP_SHAPE_CAPSULE, perpi_plane_round},
    {PERP_SHAPE_PLANE, PERP_SHAPE_BOX, perpi_plane_box},
    {PERP_SHAPE_PARTICLE, PERP_SHAPE_SPHERE, perpi_round_round},
    {PERP_SHAPE_PARTICLE, PERP_SHAPE_CAPSULE, perpi_round_round},
    {PERP_SHAPE_SPHERE, PERP_SHAPE_SPHERE, perpi_round_round},
    {PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE, perpi_round_round},
    {PERP_SHAPE_CAPSULE, PERP_SHAPE_CAPSULE, perpi_round_round},
    {PERP_SHAPE_BOX, PERP_SHAPE_PARTICLE, perpi_box_ball},
    {PERP_SHAPE_BOX, PERP_SHAPE_SPHERE, perpi_box_ball},
    {PERP_SHAPE_BOX, PERP_SHAPE_CAPSULE, perpi_box_capsule},
    {PERP_SHAPE_BOX, PERP_SHAPE_BOX, perpi_box_box},
    {PERP_SHAPE_PLANE, PERP_SHAPE_CYLINDER, perpi_plane_cylinder},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_PARTICLE, perpi_cylinder_ball},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_SPHERE, perpi_cylinder_ball},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_CAPSULE, perpi_cylinder_capsule},
    {PERP_SHAPE_PLANE, PERP_SHAPE_POLYHEDRON, perpi_plane_polyhedron},
    {PERP_SHAPE_BOX, PERP_SHAPE_CYLINDER, perpi_polyhedron_cylinder},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_CYLINDER, perpi_cylinder_cylinder},
    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_CYLINDER, perpi_polyhedron_cylinder},
    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_PARTICLE, perpi_polyhedron_ball},
    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_SPHERE, perpi_polyhedron_ball},
    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_CAPSULE, perpi_polyhedron_capsule},

    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_POLYHEDRON, perpi_polyhedron_polyhedron},
    {PERP_SHAPE_BOX, PERP_SHAPE_POLYHEDRON, perpi_polyhedron_polyhedron},

    {PERP_SHAPE_HALFPLANE, PERP_SHAPE_PARTICLE, perpi_plane_round},
    {PERP_SHAPE_HALFPLANE, PERP_SHAPE_CIRCLE, perpi_plane_round},
    {PERP_SHAPE_HALFPLANE, PERP_SHAPE_BOX2, perpi_plane_box},
    {PERP_SHAPE_PARTICLE, PERP_SHAPE_CIRCLE, perpi_round_round},
    {PERP_SHAPE_CIRCLE, PERP_SHAPE_CIRCLE, perpi_round_round},
    {PERP_SHAPE_BOX2, PERP_SHAPE_PARTICLE, perpi_box_ball},
    {PERP_SHAPE_BOX2, PERP_SHAPE_CIRCLE, perpi_box_ball},
    {PERP_SHAPE_BOX2, PERP_SHAPE_BOX2, perpi_box_box},
    {PERP_SHAPE_HALFPLANE, PERP_SHAPE_POLYGON, perpi_plane_polygon},
    {PERP_SHAPE_POLYGON, PERP_SHAPE_PARTICLE, perpi_polygon_ball},
    {PERP_SHAPE_POLYGON, PERP_SHAPE_CIRCLE, perpi_polygon_ball},
    {PERP_SHAPE_POLYGON, PERP_SHAPE_POLYGON, perpi_polygon_polygon},
    {PERP_SHAPE_BOX2, PERP_SHAPE_POLYGON, perpi_polygon_polygon},

    {PERP_SHAPE_PLANE, PERP_SHAPE_ELLIPSOID, perpi_plane_smooth},
    {PERP_SHAPE_PLANE, PERP_SHAPE_SUPERQUADRIC, perpi_plane_smooth},
    {PERP_SHAPE_PARTICLE, PERP_SHAPE_ELLIPSOID, perpi_smooth_smooth},
    {PERP_SHAPE_PARTICLE, PERP_SHAPE_SUPERQUADRIC, perpi_smooth_smooth},
    {PERP_SHAPE_SPHERE, PERP_SHAPE_ELLIPSOID, perpi_smooth_smooth},
    {PERP_SHAPE_SPHERE, PERP_SHAPE_SUPERQUADRIC, perpi_smooth_smooth},
    {PERP_SHAPE_ELLIPSOID, PERP_SHAPE_ELLIPSOID, perpi_smooth_smooth},
    {PERP_SHAPE_ELLIPSOID, PERP_SHAPE_SUPERQUADRIC, perpi_smooth_smooth},
    {PERP_SHAPE_SUPERQUADRIC, PERP_SHAPE_SUPERQUADRIC, perpi_smooth_smooth},
    {PERP_SHAPE_BOX, PERP_SHAPE_ELLIPSOID, perpi_polyhedron_smooth},
    {PERP_SHAPE_BOX, PERP_SHAPE_SUPERQUADRIC, perpi_polyhedron_smooth},
    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_ELLIPSOID, perpi_polyhedron_smooth},
    {PERP_SHAPE_POLYHEDRON, PERP_SHAPE_SUPERQUADRIC, perpi_polyhedron_smooth},
    {PERP_SHAPE_CAPSULE, PERP_SHAPE_ELLIPSOID, perpi_capsule_smooth},
    {PERP_SHAPE_CAPSULE, PERP_SHAPE_SUPERQUADRIC, perpi_capsule_smooth},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_ELLIPSOID, perpi_cylinder_smooth},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_SUPERQUADRIC, perpi_cylinder_smooth},
    {PERP_SHAPE_HALFPLANE, PERP_SHAPE_SUPERELLIPSE, perpi_plane_smooth},
    {PERP_SHAPE_PARTICLE, PERP_SHAPE_SUPERELLIPSE, perpi_smooth_smooth_planar},
    {PERP_SHAPE_CIRCLE, PERP_SHAPE_SUPERELLIPSE, perpi_smooth_smooth_planar},
    {PERP_SHAPE_SUPERELLIPSE, PERP_SHAPE_SUPERELLIPSE, perpi_smooth_smooth_planar},
    {PERP_SHAPE_BOX2, PERP_SHAPE_SUPERELLIPSE, perpi_polygon_smooth},
    {PERP_SHAPE_POLYGON, PERP_SHAPE_SUPERELLIPSE, perpi_polygon_smooth},
};
enum { PAIR_COUNT = sizeof pairs / sizeof pairs[0] };

/* What comes first where features belong together: a box is a polygon or a polyhedron then. */
static const perpi_pair_ops grouped[] = {
    {PERP_SHAPE_BOX2, PERP_SHAPE_PARTICLE, perpi_polygon_ball},
    {PERP_SHAPE_BOX2, PERP_SHAPE_CIRCLE, perpi_polygon_ball},
    {PERP_SHAPE_BOX2, PERP_SHAPE_BOX2, perpi_polygon_polygon},
    {PERP_SHAPE_BOX, PERP_SHAPE_BOX, perpi_polyhedron_polyhedron},
    {PERP_SHAPE_BOX, PERP_SHAPE_PARTICLE, perpi_polyhedron_ball},
    {PERP_SHAPE_BOX, PERP_SHAPE_SPHERE, perpi_polyhedron_ball},
    {PERP_SHAPE_BOX, PERP_SHAPE_CAPSULE, perpi_polyhedron_capsule},
};
enum { GROUPED_COUNT = sizeof grouped / sizeof grouped[0] };

static perpi_pair_fn look_up(const perpi_pair_ops* table, int count, perp_shape_type a,
                             perp_shape_type b, bool* flipped)
{
    for (int i = 0; i < count; ++i) {
        if (table[i].a == a && table[i].b == b) {
            *flipped = false;
            return table[i].find;
        }
        if (table[i].a == b && table[i].b == a) {
            *flipped = true;
            return table[i].find;
        }
    }
    return NULL;
}

perpi_pair_fn perpi_pair_find(bool groups, perp_shape_type a, perp_shape_type b, bool* flipped)
{
    perpi_pair_fn find = NULL;
    if (groups) {
        find = look_up(grouped, GROUPED_COUNT, a, b, flipped);
    }
    return find != NULL ? find : look_up(pairs, PAIR_COUNT, a, b, flipped);
}

bool perpi_pair_groups(perp_shape_type a, perp_shape_type b)
{
    static const perpi_pair_fn with_groups[] = {
        perpi_polygon_polygon,       perpi_polygon_ball,        perpi_polygon_smooth,
        perpi_polyhedron_polyhedron, perpi_polyhedron_ball,     perpi_polyhedron_capsule,
        perpi_polyhedron_smooth,     perpi_polyhedron_cylinder, perpi_cylinder_cylinder,
        perpi_cylinder_ball,         perpi_cylinder_capsule,    perpi_cylinder_smooth};
    bool flipped, found = false;
    const perpi_pair_fn find = perpi_pair_find(true, a, b, &flipped);
    for (size_t i = 0; i < sizeof with_groups / sizeof with_groups[0]; ++i) {
        found = found || find == with_groups[i];
    }
    return found;
}

/* Polygons and polyhedra, and round shapes with them. */
perpi_pair_fn perpi_pair_sided(perp_shape_type a, perp_shape_type b, bool* flipped)
{
    const perpi_pair_fn find = perpi_pair_find(true, a, b, flipped);
    const bool known = find == perpi_polygon_polygon || find == perpi_polygon_ball ||
                       find == perpi_polyhedron_polyhedron || find == perpi_polyhedron_ball ||
                       find == perpi_polyhedron_capsule || find == perpi_polyhedron_smooth;
    return known ? find : NULL;
}

uint32_t perpi_touch_unused(const perpi_touch_list* list, uint32_t feature)
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

perp_status perpi_touch_add(perpi_touch_list* list, uint32_t feature, vec3 point_a, vec3 point_b,
                            vec3 normal, double gap)
{
    const perp_status status = perpi_grow(list->context, &list->item, &list->capacity,
                                          list->count + 1, sizeof *list->item);
    if (status != PERP_OK) {
        return status;
    }
    list->item[list->count++] = (perpi_touch){
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
