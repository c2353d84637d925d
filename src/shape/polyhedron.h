/* src/shape/polyhedron.h - a convex polyhedron: vertices, edges with their two faces, faces with any
 * number of corners, and a tree over the faces.
 *
 * Everything is in the shape's frame. Faces that lie in one plane are one face; every vertex has at
 * least three edges.
 */
#ifndef PERPI_POLYHEDRON_H
#define PERPI_POLYHEDRON_H

#include "base/arena.h"
#include "shape/shape.h"

typedef struct perpi_edge {
    int32_t vertex[2];
    int32_t face[2]; /* face[0] is to the left of vertex[0] -> vertex[1], seen from outside: there
                        the edge runs counter-clockwise, in face[1] clockwise */
} perpi_edge;

/* A node of the tree over the faces: an axis-parallel box; children follow, or faces. */
typedef struct perpi_face_node {
    vec3 lo, hi;
    vec3 axis;   /* the normals of its faces, and of those that share a vertex with one, are ... */
    double cone; /* ... within this angle of it */
    int32_t first; /* inner node: its left child is the next node, this is the right one;
                      leaf: the first face, in `order` */
    int32_t count; /* leaf: number of faces; inner node: 0 */
} perpi_face_node;

typedef struct perpi_polyhedron {
    int32_t vertex_count, edge_count, face_count, node_count;
    vec3* vertex;
    perpi_edge* edge;
    vec3* normal;          /* per face: outward, unit */
    double* offset;        /* per face: normal . x on it */
    int32_t* face_start;   /* face_count + 1: where a face's corners begin */
    int32_t* corner;       /* vertices, counter-clockwise seen from outside */
    int32_t* side;         /* per corner: the edge from it to the next one of its face */
    int32_t* around_start; /* vertex_count + 1: where a vertex's edges begin */
    int32_t* around;       /* edges, counter-clockwise seen from outside */
    perpi_face_node* node; /* node[0] is the root */
    int32_t* order;        /* faces in the order of the leaves */
    int32_t triangle_count;
    int32_t* triangle; /* the faces cut into fans: three vertices each, for drawing */
    double size;       /* largest distance of a vertex from the frame's origin */
    perpi_mass mass;   /* at unit density */
    int32_t merged;    /* given points that were closer to another than 1e-9 of the size */
    bool turned;       /* the faces were given inside out */
} perpi_polyhedron;

/* The hull of the points (x y z each). Points inside or on it are left out. Refused with
 * PERP_ERROR_INPUT: fewer than four points, points in one plane, a number that is not finite. Edges
 * shorter than 1e-9 of the size are repaired by merging their ends; *merged counts those (may be
 * NULL). */
PERP_NODISCARD perp_status perpi_polyhedron_hull(perp_context* context, const double* point,
                                                 int32_t count, perpi_polyhedron** made,
                                                 int32_t* merged);
/* The number of bytes of a polyhedron, these (without its pointers), and a polyhedron of such
 * bytes; false: they are none, or there is no memory. What they hold is not checked. */
size_t perpi_polyhedron_bytes(const perpi_polyhedron* polyhedron);
void perpi_polyhedron_to_bytes(const perpi_polyhedron* polyhedron, void* bytes);
bool perpi_polyhedron_from_bytes(perp_context* context, const void* bytes, size_t size,
                                 perpi_polyhedron** made);
/* same[i]: the first point that is within 1e-9 of the size of point i, i itself if there is none. */
PERP_NODISCARD perp_status perpi_weld(perp_context* context, const double* point, int32_t count,
                                      int32_t* same);
PERP_NODISCARD perp_status perpi_polyhedron_box(perp_context* context, vec3 half,
                                                perpi_polyhedron** made);
/* From faces already in order: face f has the corners corner[face_start[f]] up to, not including,
 * face_start[f + 1], counter-clockwise seen from outside. PERP_ERROR_INPUT unless every edge has two
 * faces and every vertex one fan of at least three. Convexity is not checked. */
PERP_NODISCARD perp_status perpi_polyhedron_assemble(perp_context* context, const vec3* vertex,
                                                     int32_t vertex_count,
                                                     const int32_t* face_start,
                                                     const int32_t* corner, int32_t face_count,
                                                     perpi_polyhedron** made);
void perpi_polyhedron_free(perp_context* context, perpi_polyhedron* polyhedron);

/* The vertex farthest along a direction of the shape's frame, by hill climbing from `start` (any
 * vertex). Of several that are equally far up to rounding it may be any. */
int32_t perpi_polyhedron_support(const perpi_polyhedron* p, vec3 direction, int32_t start);

/* See perp_polyhedron_measure; at world poses. Scratch from the arena, which is rewound. */
PERP_NODISCARD perp_status perpi_polyhedron_compare(perpi_arena* arena, const perpi_polyhedron* a,
                                                    const perpi_pose* pose_a,
                                                    const perpi_polyhedron* b,
                                                    const perpi_pose* pose_b,
                                                    perp_polyhedron_measure* measure);
/* The volume of the part with n.x <= offset. */
PERP_NODISCARD perp_status perpi_polyhedron_below(perpi_arena* arena, const perpi_polyhedron* p,
                                                  const perpi_pose* pose, vec3 n, double offset,
                                                  double* volume);

#endif
