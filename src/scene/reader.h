/* src/scene/reader.h - typed access to a JSON tree, with errors that name the place.
 *
 * A reader keeps the current place (a JSON pointer) and puts it before every message:
 *     FILE: /bodies/1/mass: must be > 0, got -1
 * A getter leaves its outputs unchanged when the key is absent. A failure ends the whole reading, so the
 * place is not restored.
 */
#ifndef PERPI_READER_H
#define PERPI_READER_H

#include <jansson.h>

#include "base/arena.h"
#include "perp/scene.h"

/* The contact model of a scene that names none. */
#define PERPI_SCENE_CONTACT "auto"
#define PERPI_SCENE_DIRECTION "auto" /* of joints and contacts */

#define PERPI_TRY(call)                                                                            \
    do {                                                                                           \
        const perp_status try_status = (call);                                                     \
        if (try_status != PERP_OK) {                                                               \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

typedef struct perpi_parameters perpi_parameters;

typedef struct perpi_reader {
    perp_context* context;
    const char* origin;
    int32_t dimension;
    perp_model* model;
    perpi_parameters* parameters; /* of the scene, that numbers may be expressions of */
    perpi_arena arena; /* the data that a def points to, until the model has copied them */
    struct perpi_notices* notices; /* of what is changed while reading; NULL: not said */
    json_t*
        places; /* of the items of lists of an expanded scene in its files (expand.h); NULL: as they are */
    char path[512];
    size_t path_length;
} perpi_reader;

/* ---- the current place ------------------------------------------------------------------------ */

size_t perpi_reader_enter(perpi_reader* r, const char* key);
size_t perpi_reader_enter_item(perpi_reader* r, size_t index);
void perpi_reader_leave(perpi_reader* r, size_t mark);

/* "ORIGIN: /current/place: message". */
perp_status perpi_reader_fail(perpi_reader* r, perp_status status, const char* format, ...)
    PERP_PRINTF(3, 4);
/* The same for a key of the current object. */
perp_status perpi_reader_fail_key(perpi_reader* r, const char* key, perp_status status,
                                  const char* format, ...) PERP_PRINTF(4, 5);
/* Turns the model's "mass: must be > 0" into "ORIGIN: /bodies/1/mass: must be > 0". */
perp_status perpi_reader_fail_member(perpi_reader* r, perp_status status);

/* ---- getters -----------------------------------------------------------------------------------
 *
 * A number of a scene may be a string: an expression of the scene's parameters. */

/* "a number", "an object", ... */
const char* perpi_json_kind(const json_t* value);
/* An object, none of whose keys is missing from the NULL-terminated list. */
PERP_NODISCARD perp_status perpi_read_object(perpi_reader* r, const json_t* value,
                                             const char* const* known);
PERP_NODISCARD perp_status perpi_read_array(perpi_reader* r, const json_t* value);
PERP_NODISCARD perp_status perpi_require(perpi_reader* r, const json_t* object, const char* key);

/* The number as JSON, exactly, not terminated; its length. 0: out of memory. */
size_t perpi_number_write(double x, char* text, size_t size);
/* At a number. what: "must be a number", what a message begins with. */
PERP_NODISCARD perp_status perpi_read_item(perpi_reader* r, const json_t* value, const char* what,
                                           double* number);
PERP_NODISCARD perp_status perpi_read_number(perpi_reader* r, const json_t* object, const char* key,
                                             double* number);
PERP_NODISCARD perp_status perpi_read_integer(perpi_reader* r, const json_t* object,
                                              const char* key, int32_t minimum, int32_t maximum,
                                              int32_t* number);
PERP_NODISCARD perp_status perpi_read_bool(perpi_reader* r, const json_t* object, const char* key,
                                           bool* value);
/* Not empty; belongs to the tree. */
PERP_NODISCARD perp_status perpi_read_string(perpi_reader* r, const json_t* object, const char* key,
                                             const char** text);
/* Exactly count numbers. given may be NULL. */
PERP_NODISCARD perp_status perpi_read_vector(perpi_reader* r, const json_t* object, const char* key,
                                             int32_t count, double* vector, bool* given);
/* A vector in space: three numbers, in a planar scene two. */
PERP_NODISCARD perp_status perpi_read_space(perpi_reader* r, const json_t* object, const char* key,
                                            double vector[3], bool* given);
/* Likewise of numbers or expressions in t. An expression goes to text[i] (checked), a number to
 * number[i]; with number NULL a number too becomes text, exactly. */
PERP_NODISCARD perp_status perpi_read_values(perpi_reader* r, const json_t* object, const char* key,
                                             int32_t count, double* number, const char** text,
                                             bool* given);
PERP_NODISCARD perp_status perpi_read_value(perpi_reader* r, const json_t* object, const char* key,
                                            double* number, const char** text, bool* given);
/* angular_velocity, torque: three in space, a single number about z in the plane. */
PERP_NODISCARD perp_status perpi_read_axial(perpi_reader* r, const json_t* object, const char* key,
                                            double* number, const char** text, bool* given);

/* At most one of orientation, axis_angle (space) and angle (plane). */
PERP_NODISCARD perp_status perpi_read_rotation(perpi_reader* r, const json_t* object,
                                               double orientation[4], double* angle);
/* Checks that no two of these keys are given together, and none that is for the other dimension. */
PERP_NODISCARD perp_status perpi_check_rotation_keys(perpi_reader* r, const json_t* object);

/* "restitution" of a scene, a body, a pair. Only the scene may set the law (r->model is NULL then);
 * others must agree with it. */
PERP_NODISCARD perp_status perpi_read_restitution(perpi_reader* r, const json_t* object, double* e,
                                                  perp_impact_law* law, bool* given);
/* at_a, at_b of an item between two bodies: given in the frames of the shapes, shifted to the
 * centres of mass. name: of the body. */
PERP_NODISCARD perp_status perpi_read_point(perpi_reader* r, const json_t* object, const char* key,
                                            const char* name, double point[3]);
/* Fails if the key is there. what: "joints do not exist yet". */
PERP_NODISCARD perp_status perpi_refuse(perpi_reader* r, const json_t* object, const char* key,
                                        const char* what);

/* ---- the parts of a scene ----------------------------------------------------------------------*/

PERP_NODISCARD perp_status perpi_read_shape(perpi_reader* r, const json_t* value,
                                            perp_shape_def* shape);
/* Replaces "file" and "scale" of every mesh by "vertices" and "faces". */
PERP_NODISCARD perp_status perpi_embed_meshes(perpi_reader* r, json_t* root);
PERP_NODISCARD perp_status perpi_read_mesh(perpi_reader* r, const json_t* shape,
                                           perp_shape_def* def);
/* Its "vertices", three numbers each; its "faces", cut into triangles. */
PERP_NODISCARD perp_status perpi_read_points(perpi_reader* r, const json_t* shape,
                                             perp_shape_def* def);
PERP_NODISCARD perp_status perpi_read_faces(perpi_reader* r, const json_t* shape,
                                            perp_shape_def* def);
PERP_NODISCARD perp_status perpi_read_polyhedron(perpi_reader* r, const json_t* shape,
                                                 perp_shape_def* def);
PERP_NODISCARD perp_status perpi_read_motion(perpi_reader* r, const json_t* body,
                                             perp_motion_def* motion);
PERP_NODISCARD perp_status perpi_read_bodies(perpi_reader* r, const json_t* root);
PERP_NODISCARD perp_status perpi_read_pairs(perpi_reader* r, const json_t* root);
PERP_NODISCARD perp_status perpi_read_forces(perpi_reader* r, const json_t* root);
PERP_NODISCARD perp_status perpi_read_joints(perpi_reader* r, const json_t* root);
PERP_NODISCARD perp_status perpi_read_controllers(perpi_reader* r, const json_t* root);
/* Rows of equally many numbers under "table". */
PERP_NODISCARD perp_status perpi_read_rows(perpi_reader* r, const json_t* object,
                                           const double** table, int32_t* rows, int32_t* columns);
/* Arrays with room for one more, allocated with the context; the caller frees them, also on failure. Texts
 * belong to the tree. */
PERP_NODISCARD perp_status perpi_read_measures(perpi_reader* r, const json_t* root,
                                               perp_measure_def** measures, int32_t* count);
PERP_NODISCARD perp_status perpi_read_stops(perpi_reader* r, const json_t* root,
                                            const perp_measure_def* measures, int32_t measure_count,
                                            perp_stop_def** stops, int32_t* count);
/* Replaces the names of table files in a scene by their contents, so that the scene's text is
 * complete. A name is relative to the folder of origin. */
PERP_NODISCARD perp_status perpi_inline_tables(perp_context* context, const char* origin,
                                               json_t* root);
/* The same for the trajectories of controllers: scene/trajectory.c. */
bool perpi_has_trajectories(const json_t* root);
PERP_NODISCARD perp_status perpi_inline_trajectories(perp_context* context, const char* origin,
                                                     json_t* root);
/* run: out. options (of the solver), stepper_options: allocated with the context; the caller frees
 * them, also on failure. */
PERP_NODISCARD perp_status perpi_read_run(perpi_reader* r, const json_t* root, perp_sim_def* run,
                                          perp_option** options, perp_option** stepper_options);

enum { PERPI_DIRECTIONS_LIMIT = 1000 };

#endif
