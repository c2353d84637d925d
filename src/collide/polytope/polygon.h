/* src/collide/polytope/polygon.h - pairs with a convex polygon (a planar box is one too). */
#ifndef PERPI_COLLIDE_POLYGON_H
#define PERPI_COLLIDE_POLYGON_H

#include "collide/collide.h"

perp_status perpi_plane_polygon(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_candidate_list* list);
perp_status perpi_polygon_ball(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                               const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_polygon_polygon(const perpi_shape* a, const perpi_pose* pose_a,
                                  const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                  perpi_candidate_list* list);

/* A polygon at its world pose, relative to an origin near it. */
typedef struct perpi_outline {
    int32_t count;
    const double* vertex; /* in the shape's frame; see perpi_shape */
    const double* edge;
    const double* turn;
    const double* inner; /* of a piece: edges inside the body; NULL: none */
    double x, y, c, s;   /* the frame: its place, cosine and sine */
    double angle;
    double size;    /* largest distance of a vertex from the frame's origin, or a little more */
    double box[20]; /* the arrays of a box */
} perpi_outline;

/* shape: BOX2 or POLYGON. The outline points into itself: it must not be copied. */
void perpi_outline_make(const perpi_shape* shape, const perpi_pose* pose, vec3 origin,
                        perpi_outline* outline);
/* Vertex i, any i >= 0, relative to the origin. */
static inline vec3 perpi_outline_vertex(const perpi_outline* o, int32_t i)
{
    const double* v = o->vertex + 2 * (i < o->count ? i : i % o->count);
    return v3(o->x + o->c * v[0] - o->s * v[1], o->y + o->s * v[0] + o->c * v[1], 0.0);
}
static inline vec3 perpi_outline_normal(const perpi_outline* o, int32_t i)
{
    const double* e = o->edge + 2 * i;
    return v3(o->c * e[0] - o->s * e[1], o->s * e[0] + o->c * e[1], 0.0);
}

#endif
