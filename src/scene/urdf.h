/* src/scene/urdf.h - a robot in the Unified Robot Description Format.
 *
 * Source     the specification at wiki.ros.org/urdf/XML
 * Departure  tags without meaning for perp (gazebo, transmission, ...) are skipped with one notice; a tag
 *            or attribute similar to a known one is an error
 *
 * Read by urdf_read.c into these records, written as a scene by urdf.c.
 */
#ifndef PERPI_URDF_H
#define PERPI_URDF_H

#include <jansson.h>

#include "perp/scene.h"
#include "scene/notice.h"
#include "scene/xml.h"
#include "shape/shape.h"

enum { PERPI_URDF_LINK_LIMIT = 2000 };

/* One <visual> or <collision>. */
typedef struct perpi_urdf_part {
    bool visual;
    int32_t line;
    perpi_pose pose; /* in the link's frame */
    perp_shape_type type;
    double size[3], radius, length;
    const char* file; /* mesh, as written */
    double scale[3];
    struct perpi_urdf_part* next;
} perpi_urdf_part;

typedef struct perpi_urdf_link {
    const char* name;
    int32_t line;
    double mass; /* 0: none given */
    int32_t mass_line;
    vec3 center;  /* of mass, in the link's frame */
    mat3 inertia; /* about it, in the link's axes */
    bool has_color;
    double color[3];
    perpi_urdf_part* part;
    int32_t joint; /* to its parent; -1: the root */
} perpi_urdf_link;

typedef enum perpi_urdf_type {
    PERPI_URDF_REVOLUTE,
    PERPI_URDF_CONTINUOUS,
    PERPI_URDF_PRISMATIC,
    PERPI_URDF_FIXED,
    PERPI_URDF_FLOATING,
    PERPI_URDF_PLANAR,
} perpi_urdf_type;

typedef struct perpi_urdf_joint {
    const char* name;
    int32_t line;
    perpi_urdf_type type;
    int32_t parent, child; /* links */
    perpi_pose origin;     /* of the child's frame in the parent's, at coordinate 0 */
    vec3 axis;             /* in the child's frame, unit */
    bool has_limits;
    double lower, upper;
    double effort, velocity; /* 0: none given */
    double damping, friction;
    const char* mimic; /* name of a joint that it follows, or NULL */
    int32_t mimic_line;
    int32_t master; /* its number; -1: it follows none */
    double multiplier, offset;
} perpi_urdf_joint;

typedef struct perpi_urdf {
    const char* name;
    int32_t line;
    perpi_urdf_link* link;
    int32_t link_count;
    perpi_urdf_joint* joint;
    int32_t joint_count;
    int32_t root;      /* link */
    int32_t* order;    /* links, parents before their children */
    char skipped[400]; /* tags that were not read, "" or "<gazebo>, <transmission>" */
} perpi_urdf;

/* The robot, in the arena. PERP_ERROR_INPUT: "ORIGIN: line N: ...". */
PERP_NODISCARD perp_status perpi_urdf_read(perp_context* context, const char* text, size_t length,
                                           const char* origin, perpi_arena* arena,
                                           perpi_urdf* robot);

/* The robot of a text as the tree of a scene. */
PERP_NODISCARD perp_status perpi_urdf_scene(perp_context* context, const char* text, size_t length,
                                            const char* origin, const perp_urdf_options* options,
                                            perpi_notices* notices, json_t** root);

/* The collision geometry of a mesh. */
typedef enum perpi_urdf_mesh {
    PERPI_URDF_MESH_NONE,   /* does not collide */
    PERPI_URDF_MESH_CONVEX, /* the mesh */
    PERPI_URDF_MESH_PIECES, /* decomposed into convex pieces */
    PERPI_URDF_MESH_HULL,   /* its convex hull */
} perpi_urdf_mesh;
typedef struct perpi_urdf_probe {
    perpi_urdf_mesh how;
    json_t* hull; /* the points for PERPI_URDF_MESH_HULL */
    double reach; /* largest of down . x over the vertices */
} perpi_urdf_probe;
/* urdf_mesh.c. down: a direction in the mesh's frame. PERP_ERROR_INPUT: the file cannot be read. */
PERP_NODISCARD perp_status perpi_urdf_probe_mesh(perp_context* context, const char* path,
                                                 const double scale[3], bool decompose, vec3 down,
                                                 perpi_urdf_probe* probe);

#endif
