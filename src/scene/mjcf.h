/* src/scene/mjcf.h - a model in MJCF, the XML format of MuJoCo.
 *
 * Source     the published XML reference of the format
 * Departure  contacts, limits and loops are hard: settings of softness (solref, solimp, margin, ...) are
 *            named once and not used; what has no counterpart is refused with file and line
 *
 * mjcf_file.c reads files, classes of defaults and attributes; mjcf_read.c the tree of bodies;
 * mjcf_mass.c and mjcf_mesh.c inertia; mjcf_start.c the start; mjcf_scene.c writes the scene with mjcf_laws.c
 * (actuators, tendons, equalities) and mjcf_pairs.c (which bodies collide, and their friction).
 */
#ifndef PERPI_MJCF_H
#define PERPI_MJCF_H

#include <jansson.h>

#include "perp/scene.h"
#include "scene/notice.h"
#include "scene/xml.h"
#include "shape/mesh_file.h"
#include "shape/shape.h"

enum {
    PERPI_MJCF_BODY_LIMIT = 4000,
    PERPI_MJCF_FILE_LIMIT = 100,
    PERPI_MJCF_NUMBERS = 4096, /* of one attribute */
};

/* An element with the class that gives what it leaves out. */
typedef struct perpi_mjcf_element {
    const perpi_xml_node* node;
    const char* kind; /* its name in defaults */
    int32_t level;    /* class; 0: main */
} perpi_mjcf_element;

typedef struct perpi_mjcf_class {
    const char* name;
    const perpi_xml_node* node; /* the <default>; NULL: main without one */
    int32_t parent;             /* -1: none */
} perpi_mjcf_class;

/* What of a mesh has mass; mjcf_mesh.c. */
typedef enum perpi_mjcf_mesh_rule {
    PERPI_MJCF_MESH_LEGACY,
    PERPI_MJCF_MESH_EXACT,
    PERPI_MJCF_MESH_CONVEX,
    PERPI_MJCF_MESH_SHELL,
} perpi_mjcf_mesh_rule;

typedef struct perpi_mjcf_mesh {
    const char* name;
    const perpi_xml_node* node;
    const char* file; /* NULL: vertices in the attribute */
    double scale[3];
    vec3 refpos;
    quat refquat;
    perpi_mjcf_mesh_rule rule;
    bool read;
    perpi_mesh_data data; /* as the shape has it; owned */
    perpi_mass mass;      /* at unit density */
    json_t* hull;         /* points; owned; NULL: none */
} perpi_mjcf_mesh;

typedef enum perpi_mjcf_shape {
    PERPI_MJCF_PLANE,
    PERPI_MJCF_SPHERE,
    PERPI_MJCF_CAPSULE,
    PERPI_MJCF_ELLIPSOID,
    PERPI_MJCF_CYLINDER,
    PERPI_MJCF_BOX,
    PERPI_MJCF_MESH,
} perpi_mjcf_shape;

typedef struct perpi_mjcf_geom {
    const char* name; /* NULL: none */
    const perpi_xml_node* node;
    int32_t body;
    perpi_mjcf_shape type;
    perpi_pose pose; /* in the body's frame */
    double size[3];  /* half sizes, as the format has them */
    int32_t mesh;
    int32_t contype, conaffinity, condim, group, priority;
    double friction;
    double density, mass; /* mass: NaN: from density */
    bool shell;           /* the surface has the mass; density is one of area */
    bool has_color;
    double color[3];
    bool tangible; /* it may meet another one */
} perpi_mjcf_geom;

typedef enum perpi_mjcf_joint_type {
    PERPI_MJCF_FREE,
    PERPI_MJCF_BALL,
    PERPI_MJCF_SLIDE,
    PERPI_MJCF_HINGE,
} perpi_mjcf_joint_type;

typedef struct perpi_mjcf_joint {
    const char* name;
    const perpi_xml_node* node;
    int32_t body;
    perpi_mjcf_joint_type type;
    vec3 pos, axis; /* in the body's frame */
    bool limited;
    double range[2];
    double stiffness, springref, damping, armature, frictionloss, ref;
    double effort;     /* most of all actuators together; INFINITY: none */
    int32_t qpos, dof; /* first entry in the lists of keyframes */
    double start;      /* coordinate at the start: slide and hinge */
    vec3 at, along;    /* anchor and axis in the world at the start */
    double inertia;    /* that moves with the joint at the pose of the file, with armature */
    json_t* json;      /* borrowed; NULL: none in the scene */
} perpi_mjcf_joint;

typedef struct perpi_mjcf_site {
    const char* name;
    int32_t body;
    perpi_pose pose; /* in the body's frame */
} perpi_mjcf_site;

typedef struct perpi_mjcf_body {
    const char* name;
    const perpi_xml_node* node;
    int32_t parent;
    perpi_pose pose; /* in the parent's frame */
    int32_t joint, joint_count;
    bool mocap;
    double gravcomp;
    bool inertial; /* given; else from its geoms */
    perpi_mass own;
    /* after merging: */
    int32_t host;          /* the body that it is part of; 0: the world */
    perpi_pose in_host;    /* its frame in that of the host */
    perpi_pose filed;      /* in the world at the pose of the file */
    perpi_pose world;      /* at the start */
    perpi_mass mass;       /* of a host with all its parts, in its frame */
    vec3 gravity;          /* of a host */
    vec3 spin, drift;      /* at the start: a point x of it moves with drift + spin x */
    json_t *json, *shapes; /* of a host, or of a static body; borrowed; NULL: none */
} perpi_mjcf_body;

typedef struct perpi_mjcf_list { /* grown by mjcf_append */
    size_t count, capacity;
} perpi_mjcf_list;

typedef struct perpi_mjcf {
    perp_context* context;
    perpi_arena* arena;
    const char* origin;
    const perp_urdf_options* options;
    const perpi_xml_node* root;
    struct {
        const perpi_xml_node* root;
        const char* origin;
    } file[PERPI_MJCF_FILE_LIMIT];
    int32_t file_count;
    perpi_mjcf_class* level;
    perpi_mjcf_list levels;
    /* compiler */
    bool degrees, autolimits, balance, exact_meshes;
    char sequence[4]; /* of Euler angles */
    const char *meshdir, *assetdir;
    bool strippath;
    enum { PERPI_MJCF_INERTIA_AUTO, PERPI_MJCF_INERTIA_YES, PERPI_MJCF_INERTIA_NO } from_geoms;
    double boundmass, boundinertia, totalmass;
    int32_t inertia_groups[2];
    /* option */
    double step;
    vec3 gravity;
    bool no_contact;
    /* the model */
    perpi_mjcf_mesh* mesh;
    perpi_mjcf_list meshes;
    perpi_mjcf_body* body;
    perpi_mjcf_list bodies;
    perpi_mjcf_joint* joint;
    perpi_mjcf_list joints;
    perpi_mjcf_geom* geom;
    perpi_mjcf_list geoms;
    perpi_mjcf_site* site;
    perpi_mjcf_list sites;
    int32_t nq, nv;
    double *qpos, *qvel; /* of the start: nq, nv */
    const char* key;     /* keyframe of the start; NULL: none */
    double* ctrl;        /* of the keyframe; NULL: none */
    int32_t ctrl_count;
    /* the scene */
    json_t *scene, *body_list, *joint_list, *controller_list, *force_list;
    /* notices */
    char soft[400], ignored[400], approximate[800];
    int32_t balanced, clamped, satisfied, hulls, pictures;
    int32_t copied; /* elements that <replicate> has added */
} perpi_mjcf;

/* ---- mjcf_replicate.c -------------------------------------------------------------------------*/

/* Calls `read` for each copy that a <replicate> stands for, with its frame. */
PERP_NODISCARD perp_status perpi_mjcf_replicate(perpi_mjcf* m, const perpi_xml_node* node,
                                                perp_status (*read)(void* user,
                                                                    const perpi_xml_node* copy,
                                                                    const perpi_pose* pose),
                                                void* user);

/* ---- mjcf_file.c ------------------------------------------------------------------------------*/

perp_status perpi_mjcf_fail(const perpi_mjcf* m, const perpi_xml_node* node, const char* format,
                            ...) PERP_PRINTF(3, 4);
perp_status perpi_mjcf_memory(const perpi_mjcf* m);
/* The file of a node. */
const char* perpi_mjcf_origin(const perpi_mjcf* m, const perpi_xml_node* node);
/* Appends one zeroed item to an array of the arena: *array, its list, and its size. */
PERP_NODISCARD perp_status perpi_mjcf_append(perpi_mjcf* m, void* array, perpi_mjcf_list* list,
                                             size_t size);
/* A text in the arena. */
PERP_NODISCARD perp_status perpi_mjcf_text(perpi_mjcf* m, const char** text, const char* format,
                                           ...) PERP_PRINTF(3, 4);
/* Adds a word to a list of words for a notice, once. */
void perpi_mjcf_note(char* list, size_t size, const char* word);

PERP_NODISCARD perp_status perpi_mjcf_open(perpi_mjcf* m, const char* text, size_t length);
/* The element with its class: its own, else childclass (a level). */
PERP_NODISCARD perp_status perpi_mjcf_element_of(perpi_mjcf* m, const perpi_xml_node* node,
                                                 const char* kind, int32_t childclass,
                                                 perpi_mjcf_element* element);
PERP_NODISCARD perp_status perpi_mjcf_find_class(const perpi_mjcf* m, const perpi_xml_node* node,
                                                 const char* name, int32_t* level);
/* Of the element itself or its classes; NULL: not given. */
const char* perpi_mjcf_get(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* name);
/* Between least and most numbers; *count (may be NULL) stays 0 and out unchanged if not given. */
PERP_NODISCARD perp_status perpi_mjcf_numbers(const perpi_mjcf* m, const perpi_mjcf_element* e,
                                              const char* name, int least, int most, double* out,
                                              int* count);
PERP_NODISCARD perp_status perpi_mjcf_integer(const perpi_mjcf* m, const perpi_mjcf_element* e,
                                              const char* name, int32_t* out);
/* value: 0 false, 1 true, 2 auto (if allowed). */
PERP_NODISCARD perp_status perpi_mjcf_flag(const perpi_mjcf* m, const perpi_mjcf_element* e,
                                           const char* name, bool has_auto, int* value);
PERP_NODISCARD perp_status perpi_mjcf_need(const perpi_mjcf* m, const perpi_mjcf_element* e,
                                           const char* name, const char** value);
PERP_NODISCARD perp_status perpi_mjcf_pose(const perpi_mjcf* m, const perpi_mjcf_element* e,
                                           perpi_pose* pose);
/* The rotation that takes z to a direction by the shortest way. */
quat perpi_mjcf_from_z(vec3 direction);
/* Which attributes an element may have: read, of softness (noted), or without effect. NULL-terminated;
 * others are refused. */
PERP_NODISCARD perp_status perpi_mjcf_check(perpi_mjcf* m, const perpi_xml_node* node,
                                            const char* const* read, const char* const* soft,
                                            const char* const* ignored);

/* ---- the other files --------------------------------------------------------------------------*/

PERP_NODISCARD perp_status perpi_mjcf_read(perpi_mjcf* m);
PERP_NODISCARD perp_status perpi_mjcf_load_mesh(perpi_mjcf* m, perpi_mjcf_mesh* mesh);
/* The def of a geom's shape without its pose; a mesh without vertices. */
perp_shape_def perpi_mjcf_shape_def(const perpi_mjcf_geom* geom);
PERP_NODISCARD perp_status perpi_mjcf_masses(perpi_mjcf* m);
PERP_NODISCARD perp_status perpi_mjcf_merge(perpi_mjcf* m);
PERP_NODISCARD perp_status perpi_mjcf_start(perpi_mjcf* m);
PERP_NODISCARD perp_status perpi_mjcf_laws(perpi_mjcf* m);
/* Which geoms may meet, then the bodies' friction and what they ignore. */
PERP_NODISCARD perp_status perpi_mjcf_tangible(perpi_mjcf* m);
PERP_NODISCARD perp_status perpi_mjcf_pairs(perpi_mjcf* m);
int32_t perpi_mjcf_find_body(const perpi_mjcf* m, const char* name);
int32_t perpi_mjcf_find_joint(const perpi_mjcf* m, const char* name);
int32_t perpi_mjcf_find_site(const perpi_mjcf* m, const char* name);
/* The name of a body's host in the scene, "world" if it has none. */
const char* perpi_mjcf_scene_body(const perpi_mjcf* m, int32_t body);
/* The next element at the top of the model of one of the sections of that name, or NULL. */
const perpi_xml_node* perpi_mjcf_section(const perpi_mjcf* m, const char* section,
                                         const perpi_xml_node* after);
/* The moment that a joint's motion gives: the inertia of a mass about an axis. */
double perpi_mjcf_about(const perpi_mass* mass, vec3 at, vec3 axis);
perpi_mass perpi_mjcf_add_mass(const perpi_mass* a, const perpi_mass* b);
/* A mass in the frame that the pose is given in. */
perpi_mass perpi_mjcf_move_mass(const perpi_mass* mass, const perpi_pose* pose);

/* The model of a text as the tree of a scene. */
PERP_NODISCARD perp_status perpi_mjcf_scene(perp_context* context, const char* text, size_t length,
                                            const char* origin, const perp_urdf_options* options,
                                            perpi_notices* notices, json_t** root);
/* Whether the root element of a text is <mujoco>. */
bool perpi_is_mjcf(const char* text, size_t length);

#endif
