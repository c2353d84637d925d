/* perp/scene.h - a scene file: a model, how to simulate it, and the text it came from. */
#ifndef PERP_SCENE_H
#define PERP_SCENE_H

#include "perp/model.h"
#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_scene perp_scene;

/* One `--set POINTER=VALUE`: value is JSON text, or a bare word taken as a string. A pointer that does not
 * begin with '/' is the name of a parameter of the scene (`--param NAME=VALUE`). */
typedef struct perp_override {
    const char* pointer;
    const char* value;
} perp_override;

/* PERP_ERROR_INPUT: "FILE: /bodies/1/mass: must be > 0, got -1", or with line and column when the
 * text is not JSON at all. `//` comments are allowed. At most 64 MB, nesting at most 100. */
PERP_API PERP_NODISCARD perp_status perp_scene_load(perp_context* context, const char* path,
                                                    const perp_override* override, int32_t count,
                                                    perp_scene** scene);
/* The same from memory; origin names it in messages. */
PERP_API PERP_NODISCARD perp_status perp_scene_parse(perp_context* context, const char* text,
                                                     size_t length, const char* origin,
                                                     const perp_override* override, int32_t count,
                                                     perp_scene** scene);
/* A robot (URDF, or MJCF: the root element decides) as a scene: links are bodies, the root of a URDF is
 * fixed to the world. docs/urdf.md and docs/mjcf.md
 * describe the supported elements. Unsupported ones are reported in the log, once per kind.
 * perp_scene_load does the same, with the default options, for a path that ends in .urdf or .xml. */
typedef struct perp_urdf_options {
    const char* package;    /* folder of package://..., or of several packages; NULL: not given */
    bool floating;          /* the root is not attached to the world */
    bool no_self_collision; /* links do not collide with each other */
    const char* keyframe;   /* MJCF: where it starts; NULL: "home" if there is one; "none" */
    bool strict;            /* what would be a notice is an error */
    bool floor;             /* a static plane below the lowest point of the robot */
    bool decompose; /* collision meshes that are not convex are cut into convex pieces; otherwise
                               those of more than a few faces collide as their convex hulls */
} perp_urdf_options;
PERP_API perp_urdf_options perp_urdf_options_default(void);
/* Whether the name of a file is that of a robot: it ends in .urdf or .xml. */
PERP_API bool perp_scene_is_robot(const char* path);
PERP_API PERP_NODISCARD perp_status perp_scene_load_urdf(perp_context* context, const char* path,
                                                         const perp_urdf_options* options,
                                                         const perp_override* override,
                                                         int32_t count, perp_scene** scene);
/* The same from memory; mesh paths are relative to origin. */
PERP_API PERP_NODISCARD perp_status perp_scene_parse_urdf(perp_context* context, const char* text,
                                                          size_t length, const char* origin,
                                                          const perp_urdf_options* options,
                                                          const perp_override* override,
                                                          int32_t count, perp_scene** scene);
PERP_API void perp_scene_destroy(perp_scene* scene);

PERP_API const perp_model* perp_scene_model(const perp_scene* scene);
PERP_API const char* perp_scene_name(const perp_scene* scene);
/* The scene as it will be simulated, overrides applied: parsing it again gives the same scene. */
PERP_API const char* perp_scene_text(const perp_scene* scene);
/* The scene to be changed and read again: the same text, but with `include`, `copies` and
 * `configuration`, which that one has carried out, and with files whose contents depend on
 * parameters by their names (relative to the scene's file). */
PERP_API const char* perp_scene_source(const perp_scene* scene);
PERP_API int32_t perp_scene_record_every(const perp_scene* scene);
/* Writes that text to a file, replacing it. */
PERP_API PERP_NODISCARD perp_status perp_scene_save(const perp_scene* scene, const char* path);

/* ---- parameters -----------------------------------------------------------------------------------
 *
 * A scene can be changed and built again without being read again, for many runs:
 *
 *     perp_scene_set_number(scene, "mu", 0.2);
 *     perp_scene_set_number(scene, "/bodies/1/mass", 3.0);
 *     perp_scene_rebuild(scene);
 *     perp_sim_create_from_scene(context, scene, &sim); ... perp_sim_measure(sim, 0) ...
 *     perp_sim_destroy(sim);
 *
 * The model, its name and settings (perp_scene_model, perp_sim_def_from_scene, perp_scene_text) stay those of
 * the last successful rebuild until then, and are replaced by the next one: simulations of the
 * scene must have been destroyed before it. */

PERP_API int32_t perp_scene_parameter_count(const perp_scene* scene);
/* With its present value, of an expression too. The name belongs to the scene. */
PERP_API perp_parameter perp_scene_parameter(const perp_scene* scene, int32_t parameter);
PERP_API int32_t perp_scene_parameter_find(const perp_scene* scene, const char* name); /* -1 */
/* Whether a number, a measure, a stop or another parameter that is used depends on it. */
PERP_API bool perp_scene_parameter_used(const perp_scene* scene, int32_t parameter);

/* Sets a parameter (name), or any place of the scene (JSON pointer, as in perp_override) to a
 * number. Takes effect with perp_scene_rebuild. PERP_ERROR_INPUT: there is no such parameter (the
 * nearest is suggested) or place. */
PERP_API PERP_NODISCARD perp_status perp_scene_set_number(perp_scene* scene, const char* name,
                                                          double value);
/* The same to a string, as an expression or the name of a file (relative to the scene's folder). */
PERP_API PERP_NODISCARD perp_status perp_scene_set_string(perp_scene* scene, const char* name,
                                                          const char* value);
/* Builds the model and the settings anew from the scene with what was set. PERP_ERROR_INPUT: the message has
 * the JSON pointer; model and settings are the old ones, and numbers can be set again. */
PERP_API PERP_NODISCARD perp_status perp_scene_rebuild(perp_scene* scene);

/* ---- definition of the simulation ------------------------------------------------------------ */

/* The definition of the simulation. Strings and arrays belong to the scene. */
PERP_API perp_sim_def perp_sim_def_from_scene(const perp_scene* scene);
/* Creates the simulation that a scene defines. An error is located by its JSON pointer:
 * "/solver: unknown solver 'lemk': did you mean 'lemke'?". */
PERP_API PERP_NODISCARD perp_status perp_sim_create_from_scene(perp_context* context,
                                                               const perp_scene* scene,
                                                               perp_sim** sim);
/* The same with a definition that came from perp_sim_def_from_scene and was changed. */
PERP_API PERP_NODISCARD perp_status perp_sim_create_from_scene_def(perp_context* context,
                                                                   const perp_scene* scene,
                                                                   const perp_sim_def* def,
                                                                   perp_sim** sim);
/* The scene of a model that was built in C, and of how it is to be simulated (NULL: as
 * perp_sim_def_default), with its text: perp_scene_text, perp_scene_save. record_every: as in a scene file,
 * >= 1. The scene has a model of its own. Simulating it gives the same bits (docs/api.md names the
 * exceptions); names, colours and expressions are kept, a mesh file has become its vertices and faces.
 * PERP_ERROR_INPUT: a scene file cannot say it, as a model without bodies or a name that is not UTF-8. */
PERP_API PERP_NODISCARD perp_status perp_scene_from_model(perp_context* context,
                                                          const perp_model* model,
                                                          const perp_sim_def* def,
                                                          int32_t record_every, perp_scene** scene);
/* The same of the model and the definition that a simulation was created with. */
PERP_API PERP_NODISCARD perp_status perp_scene_from_sim(perp_context* context, const perp_sim* sim,
                                                        int32_t record_every, perp_scene** scene);

/* The same definition by the names of version 0.1. */
typedef perp_sim_def perp_scene_run;
PERP_API perp_scene_run perp_scene_run_settings(const perp_scene* scene);

#ifdef __cplusplus
}
#endif
#endif
