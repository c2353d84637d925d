/* src/collide/polytope/polyhedron_boxes.h - boxes of the features of two polyhedra in the frame of the first,
 * and the test of two edges, for the searches of polyhedron_search.c and polyhedron_trees.c. */
#ifndef PERPI_COLLIDE_POLYHEDRON_BOXES_H
#define PERPI_COLLIDE_POLYHEDRON_BOXES_H

#include "collide/polytope/polyhedron.h"

static inline vec3 into_a(const perpi_meeting* m, vec3 y)
{
    return v3_add(m->x, m3_mul(m->R, y));
}

typedef struct box {
    vec3 lo, hi;
} box;

static inline void cover(box* b, vec3 p)
{
    b->lo.x = p.x < b->lo.x ? p.x : b->lo.x;
    b->lo.y = p.y < b->lo.y ? p.y : b->lo.y;
    b->lo.z = p.z < b->lo.z ? p.z : b->lo.z;
    b->hi.x = p.x > b->hi.x ? p.x : b->hi.x;
    b->hi.y = p.y > b->hi.y ? p.y : b->hi.y;
    b->hi.z = p.z > b->hi.z ? p.z : b->hi.z;
}

static inline box box_around(vec3 p)
{
    return (box){p, p};
}

static inline bool boxes_meet(const box* a, const box* b)
{
    return a->lo.x <= b->hi.x && a->hi.x >= b->lo.x && a->lo.y <= b->hi.y && a->hi.y >= b->lo.y &&
           a->lo.z <= b->hi.z && a->hi.z >= b->lo.z;
}

static inline box widened(box b, double by)
{
    const vec3 d = v3(by, by, by);
    return (box){v3_sub(b.lo, d), v3_add(b.hi, d)};
}

static inline vec3 vertex_at(const perpi_meeting* m, int side, int32_t i)
{
    return side == 0          ? m->p[0]->vertex[i]
           : i < PERPI_PLACED ? m->vertex_b[i]
                              : into_a(m, m->p[1]->vertex[i]);
}

/* Whether four products can have the signs that make the edges a facet, with either sign of the
 * normal: see polyhedron_near.c. */
static inline bool can_cross(const vec3 a_n[2], vec3 a_u, double a_limit, const vec3 b_n[2],
                             vec3 b_u, double b_limit)
{
    const double p = v3_dot(a_n[0], b_u), q = v3_dot(a_n[1], b_u);
    if ((p > b_limit && q > b_limit) || (p < -b_limit && q < -b_limit)) {
        return false;
    }
    const double r = v3_dot(b_n[0], a_u), s = v3_dot(b_n[1], a_u);
    return (p >= -b_limit && q <= b_limit && r >= -a_limit && s <= a_limit) ||
           (p <= b_limit && q >= -b_limit && r <= a_limit && s >= -a_limit);
}

#endif
