/* src/collide/polytope/polygon_pair.h - feature pairs of two convex polygons, for contact models. */
#ifndef PERPI_COLLIDE_POLYGON_PAIR_H
#define PERPI_COLLIDE_POLYGON_PAIR_H

#include "collide/polytope/polygon.h"

/* Rounding in angles: closer angles of change are one. */
#define PERPI_POLYGON_SAME_ANGLE 1e-12
#define PERPI_POLYGON_DEPTH 1.01 /* times the least depth: plain features up to this depth count */
#define PERPI_POLYGON_FACING                                                                       \
    1e-9 /* cosine: normals at a right angle do not face away from each other */

enum {
    PERPI_POLYGON_PAIRS = 64,  /* capacity: feature pairs; the nearest are kept */
    PERPI_POLYGON_PATH = 7,    /* number of path groups in the feature numbers of their members */
    PERPI_POLYGON_MEMBERS = 6, /* capacity: members of a group; the most open are kept */
    PERPI_POLYGON_VERTEX_BITS = 10,
};

static inline uint32_t perpi_polygon_feature(uint32_t side, uint32_t vertex, uint32_t edge,
                                             uint32_t group)
{
    return ((side << PERPI_POLYGON_VERTEX_BITS | vertex) << PERPI_POLYGON_VERTEX_BITS | edge) << 3 |
           group;
}
_Static_assert(PERP_POLYGON_LIMIT <= 1 << PERPI_POLYGON_VERTEX_BITS &&
                   2 * PERPI_POLYGON_VERTEX_BITS + 4 <= 24,
               "a feature's number has 24 bits");

typedef struct perpi_feature_pair {
    uint32_t side; /* 0: vertex of b, edge of a; 1: vertex of a, edge of b */
    int32_t vertex, edge;
    vec3 p, n;       /* the vertex; the edge's outward normal */
    double psi;      /* gap */
    double distance; /* of the vertex from the edge itself */
    double from, to; /* applicable for rotations of a against b in this interval */
} perpi_feature_pair;

typedef struct perpi_polygon_meeting {
    const perpi_outline* o[2];
    vec3 origin;
    double margin, near, theta, size;
    perpi_feature_pair pair[PERPI_POLYGON_PAIRS];
    int32_t count;
    perpi_candidate_list* list;
} perpi_polygon_meeting;

typedef struct perpi_outline_range {
    double lo[2], hi[2];
} perpi_outline_range;

/* A member of a polygon alone, seen from a point. */
typedef struct perpi_corner_line {
    vec3 n; /* outward */
    int32_t corner;
    double distance;
} perpi_corner_line;

/* The pair's normal from a to b. */
static inline vec3 perpi_feature_normal(const perpi_feature_pair* f)
{
    return f->side == 0 ? f->n : v3_neg(f->n);
}

static inline bool perpi_feature_present(const perpi_feature_pair* f)
{
    return f->from <= PERPI_POLYGON_SAME_ANGLE && f->to >= -PERPI_POLYGON_SAME_ANGLE;
}

/* The gap below which a pair is not open at the current pose: 0, or about the least depth of an
 * overlap. */
double perpi_polygon_least_gap(const perpi_polygon_meeting* m, const perpi_feature_pair* best);
PERP_NODISCARD perp_status perpi_polygon_add(perpi_polygon_meeting* m, const perpi_feature_pair* f,
                                             uint32_t group, bool secondary);
/* The vertex that is farthest in a direction, given by its angle. */
int32_t perpi_outline_farthest(const perpi_outline* o, double angle);
/* Whether an edge is tested: not where it faces away from the known side of the pair. */
bool perpi_polygon_edge_exists(const perpi_polygon_meeting* m, uint32_t side, int32_t edge);
/* The pair of an edge, from p to q, and a vertex of the other polygon. */
perpi_feature_pair perpi_polygon_make_pair(const perpi_polygon_meeting* m, uint32_t side,
                                           int32_t edge, vec3 p, vec3 q, int32_t vertex);
perpi_outline_range perpi_outline_range_of(const perpi_outline* o, double by);
bool perpi_outline_edge_in_range(const perpi_outline_range* r, vec3 p, vec3 q);
/* The tangent lines from a point to the polygon, moved out by r, on its left and right; those whose
 * corner is within the margin. apart: from the polygon to the point. Returns their number. */
int32_t perpi_outline_touching_lines(const perpi_outline* o, vec3 c, double r, vec3 apart,
                                     double reach, perpi_corner_line* out);

#endif
