/* src/shape/shape.h - the ops table of a shape, and poses.
 *
 * To add a shape: a perp_shape_type, an ops table in its own file, a line in the array in
 * shape.c, and the pairs it can collide with in src/collide/pairs.c.
 */
#ifndef PERPI_SHAPE_H
#define PERPI_SHAPE_H

#include "base/context.h"
#include "base/vec.h"
#include "perp/shape.h"

/* A frame: x the origin, R (= q as a matrix) its axes, in world coordinates. */
typedef struct perpi_pose {
    vec3 x;
    quat q;
    mat3 R;
} perpi_pose;

static inline vec3 perpi_pose_point(const perpi_pose* pose, vec3 local)
{
    return v3_add(pose->x, m3_mul(pose->R, local));
}

/* outer * inner: a frame given in the outer one, in world coordinates. */
static inline perpi_pose perpi_pose_mul(const perpi_pose* outer, const perpi_pose* inner)
{
    return (perpi_pose){perpi_pose_point(outer, inner->x), q4_mul(outer->q, inner->q),
                        m3_mm(outer->R, inner->R)};
}

typedef struct perpi_mass {
    double mass;
    vec3 center;  /* in the shape's frame */
    mat3 inertia; /* about the centre, axes of the shape's frame; planar: only m[2][2] */
} perpi_mass;

/* A mesh: the shape's own copy of the data of the def. */
typedef struct perpi_mesh {
    double* vertex; /* 3 vertex_count */
    int32_t vertex_count;
    int32_t* triangle; /* 3 triangle_count */
    int32_t triangle_count;
    perpi_mass mass; /* at unit density; 0 of a visual mesh, which may be open */
    double reach;
    struct perpi_polyhedron** piece; /* convex pieces of a mesh that collides and is not convex;
                                      * the model makes them shapes of the body */
    int32_t piece_count;
    double
        missing; /* of a mesh that is only nearly convex: volume of its hull that it lacks, relative; 0:
                     * convex up to rounding, or cut into pieces */
} perpi_mesh;

/* A checked shape, as the model keeps it. normal is unit; planes have it in the shape's frame. */
typedef struct perpi_shape {
    perp_shape_type type;
    double radius, length, offset;
    vec3 half; /* half of size */
    vec3 radii;
    double exponent[2];
    vec3 normal;
    /* polygon, counter-clockwise; one block of memory that begins at vertex */
    int32_t count;
    double* vertex;   /* 2 count: x, y */
    double* edge;     /* 2 count: outward unit normal of the edge from vertex i to vertex i + 1 */
    double* turn;     /* count: the angle of that normal, ascending from turn[0] within 2 pi */
    double* inner;    /* count: 1 where the edge of a piece is inside the body, else 0 */
    perpi_pose local; /* in the body frame (origin: centre of mass) */
    bool intangible;  /* does not collide */
    bool massless;    /* visual only: no mass either */
    /* A polygon with inward corners is an outline: it defines mass and appearance; the convex
     * pieces that collide are added by the model (massless). Pieces that do not overlap measure the
     * overlap of bodies. */
    bool outline, piece, measure;
    perpi_mesh* mesh; /* owned; NULL unless a mesh */
    /* owned; boxes and polyhedra, and convex meshes, whose type here is polyhedron */
    struct perpi_polyhedron* polyhedron;
} perpi_shape;

typedef struct perpi_bounds {
    vec3 lo, hi;
} perpi_bounds;

typedef struct perpi_shape_ops {
    perp_shape_type type;
    const char* name;
    int32_t dimension; /* 2, 3, or 0 for both */
    const char* summary;
    bool bounded; /* false: planes; no mass, no bounds */
    /* Checks the parameters. The message starts with the member's name ("radius: must be > 0, got
     * -1"). */
    perp_status (*check)(perp_context* context, const perp_shape_def* def);
    /* Allocates and fills derived data; NULL if there are none. perpi_shape_free releases them. */
    perp_status (*make)(perp_context* context, const perp_shape_def* def, perpi_shape* shape);
    /* Mass properties at unit density (volume, or area in the plane). NULL if it has none. */
    perpi_mass (*mass)(const perpi_shape* shape);
    /* Largest distance of a point of the shape from its own origin. INFINITY if unbounded. */
    double (*reach)(const perpi_shape* shape);
    /* Tight axis-parallel box at a world pose (of the shape's frame). NULL if unbounded. */
    perpi_bounds (*bounds)(const perpi_shape* shape, const perpi_pose* pose);
} perpi_shape_ops;

const perpi_shape_ops* perpi_shape_ops_of(perp_shape_type type);

/* Checks def (finite, in range, right dimension) and makes the internal record: unit normal, unit
 * quaternion, half sizes. A mesh is copied: release it with perpi_shape_free. */
PERP_NODISCARD perp_status perpi_shape_make(perp_context* context, const perp_shape_def* def,
                                            int32_t dimension, perpi_shape* shape);
/* The quaternion of a def: its own, or that of its planar angle. */
void perpi_shape_orientation(const perp_shape_def* def, double orientation[4]);
/* Normals and their angles from the vertices; room for them is there. */
void perpi_polygon_normals(perpi_shape* shape);
/* The vertex farthest along a direction of the shape's frame; O(log count). */
int32_t perpi_polygon_support(const perpi_shape* shape, double x, double y);
/* Releases what a made shape owns; valid for a shape of zeros. */
void perpi_shape_free(perp_context* context, perpi_shape* shape);

#endif
