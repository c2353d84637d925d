/* perp/shape.h - shapes: the geometry of bodies for collision detection.
 *
 * A shape is a small plain record. In a planar model ("dimension": 2) z is 0, sizes and positions
 * use x and y, and a rotation is about z.
 */
#ifndef PERP_SHAPE_H
#define PERP_SHAPE_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perp_shape_type {
    PERP_SHAPE_PARTICLE = 0, /* a point, in either dimension */
    PERP_SHAPE_SPHERE,       /* radius */
    PERP_SHAPE_PLANE,        /* half-space n.x <= offset is solid; normal points out of it */
    PERP_SHAPE_BOX,          /* size: full edge lengths */
    PERP_SHAPE_CAPSULE,      /* axis z, length without the caps, radius */
    PERP_SHAPE_CIRCLE,       /* planar: radius */
    PERP_SHAPE_HALFPLANE,    /* planar: as PLANE */
    PERP_SHAPE_BOX2,         /* planar box, written "box" in a planar scene */
    PERP_SHAPE_CYLINDER,     /* axis z, length, radius; flat ends */
    PERP_SHAPE_MESH,         /* vertices, triangles: a closed surface; convex, or decompose */
    PERP_SHAPE_POLYGON,      /* planar: vertices */
    PERP_SHAPE_POLYHEDRON,   /* convex: vertices, of which the hull is taken, or with triangles */
    PERP_SHAPE_ELLIPSOID,    /* radii: half axes */
    PERP_SHAPE_SUPERQUADRIC, /* radii, exponents r, t: (|x/a|^r + |y/b|^r)^(t/r) + |z/c|^t <= 1 */
    PERP_SHAPE_SUPERELLIPSE, /* planar: radii, exponents[0] = n: |x/a|^n + |y/b|^n <= 1 */
    PERP_SHAPE_TYPE_COUNT
} perp_shape_type;

/* Most vertices that a polygon can have: a pair of features has to fit into a contact's key. */
#define PERP_POLYGON_LIMIT 1024
/* Most vertices that the hull of a polyhedron can have, for the same reason. */
#define PERP_POLYHEDRON_LIMIT 4096

typedef struct perp_shape_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    perp_shape_type type;
    double radius;
    double length;
    double size[3];
    double radii[3];
    double exponents[2];
    double normal[3];
    double offset;
    double position[3];                   /* of the shape's frame in the body's */
    double orientation[4];                /* w, x, y, z; planar: about z, or */
    double angle;                         /* planar: replaces orientation unless it is 0 */
    double friction;                      /* NaN: the body's */
    bool has_surface_velocity;            /* false: the body's */
    double surface_velocity[3];           /* of the surface relative to the body, body frame */
    const char* surface_velocity_text[3]; /* expression in t that replaces the number, or NULL */
    bool visual;                          /* visual only: no contact, no mass */
    bool contactless;                     /* has mass, no contacts */
    /* mesh, polyhedron: vertex_count points, x y z each, in the shape's frame; polygon: 3 to
       PERP_POLYGON_LIMIT points, x y each, in order, either way round */
    const double* vertices;
    int32_t vertex_count;
    /* mesh: triangle_count times three vertices, counter-clockwise as seen from outside; polyhedron:
       the same, or none */
    const int32_t* triangles;
    int32_t triangle_count;
    bool convex;        /* mesh: its convex hull collides and has the mass; it may be open */
    bool decompose;     /* mesh that is not convex: cut it into convex pieces, which overlap */
    const char* source; /* mesh: where it came from, for messages; may be NULL */
} perp_shape_def;

/* A unit-less default: identity pose, everything else 0, friction NaN, collides. */
PERP_API perp_shape_def perp_shape_def_default(perp_shape_type type);

/* The name in a scene file ("sphere", "box", ...), and the dimension it lives in (2, 3, or 0 for
 * both). */
PERP_API const char* perp_shape_name(perp_shape_type type);
PERP_API int32_t perp_shape_dimension(perp_shape_type type);
/* One line for `perp list shapes`: the parameters. */
PERP_API const char* perp_shape_summary(perp_shape_type type);
/* By scene name and dimension. Unknown: PERP_ERROR_INPUT. */
PERP_API PERP_NODISCARD perp_status perp_shape_find(perp_context* context, const char* name,
                                                    int32_t dimension, perp_shape_type* type);

/* ---- meshes from files -----------------------------------------------------------------------------*/

/* A .poly, .stl or .obj file, as docs/scene.md describes them. */
typedef struct perp_mesh_file perp_mesh_file;
/* scale: along the axes, none of them 0; NULL: 1. PERP_ERROR_INPUT names file and line. */
PERP_API PERP_NODISCARD perp_status perp_mesh_load(perp_context* context, const char* path,
                                                   const double scale[3], perp_mesh_file** mesh);
PERP_API void perp_mesh_destroy(perp_mesh_file* mesh);
/* Lets a mesh or polyhedron def point to the vertices and triangles: until the def has been added to a
 * model, which copies them, the mesh must stay. */
PERP_API void perp_mesh_fill(const perp_mesh_file* mesh, perp_shape_def* def);

/* ---- solids by name ------------------------------------------------------------------------------*/

/* tetrahedron, cube, octahedron, dodecahedron, icosahedron: all vertices at `radius` from the origin.
 * prism: regular with `sides` corners at `radius` from the z axis, `length` along it. block: `size`. */
typedef struct perp_solid_def {
    const char* name;
    double radius;
    int32_t sides; /* 3 to PERP_SOLID_SIDES */
    double length;
    double size[3];
} perp_solid_def;

#define PERP_SOLID_SIDES 1000
#define PERP_SOLID_VERTICES (2 * PERP_SOLID_SIDES) /* the most that any solid has */

/* The name of solid i, NULL when there are no more. */
PERP_API const char* perp_solid_name(int32_t i);
/* vertices: x y z each, room for PERP_SOLID_VERTICES of them; their hull is the solid. */
PERP_API PERP_NODISCARD perp_status perp_solid_vertices(perp_context* context,
                                                        const perp_solid_def* def, double* vertices,
                                                        int32_t* count);

/* ---- two convex polygons -------------------------------------------------------------------------*/

typedef struct perp_polygon_measure {
    double area; /* of the overlap, >= 0 */
    double
        separation; /* > 0: largest gap between parallel lines that separate the two, which is the
                          distance unless vertices face each other; < 0: minus the depth, the least
                          translation that parts them */
} perp_polygon_measure;

/* Both exact up to rounding. a, b: x, y of each vertex, convex, counter-clockwise, at least 3. The
 * overlap is clipped edge by edge, so that a sliver keeps its relative precision. No allocation. */
PERP_API perp_polygon_measure perp_polygon_compare(const double* a, int32_t a_count,
                                                   const double* b, int32_t b_count);

/* ---- two convex polyhedra ------------------------------------------------------------------------*/

typedef struct perp_polyhedron_measure {
    double volume;     /* of the overlap, >= 0 */
    double separation; /* > 0: largest gap between parallel planes that separate the two and touch a
                          face or an edge of both, which is the distance unless vertices are closest;
                          < 0: minus the depth, the least translation that parts them */
} perp_polyhedron_measure;

/* Both exact up to rounding. a, b: x, y, z of points; their convex hulls are compared. The overlap is
 * cut down half-space by half-space, so that a sliver keeps its relative precision. Takes memory:
 * the hulls. perp_sim_overlap_volume has them. */
PERP_API PERP_NODISCARD perp_status perp_polyhedron_compare(perp_context* context, const double* a,
                                                            int32_t a_count, const double* b,
                                                            int32_t b_count,
                                                            perp_polyhedron_measure* measure);

#ifdef __cplusplus
}
#endif
#endif
