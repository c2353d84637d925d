/* perp/scene.h - a scene file: a model, how to simulate it, and the text it came from. */
#ifndef PERP_SCENE_H
#define PERP_SCENE_H

#include "perp/model.h"
#include "perp/solve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_scene perp_scene;

/* One `--set POINTER=VALUE`: value is JSON text, or a bare word taken as a string. */
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
/* A robot (URDF) as a scene: links are bodies, the root belongs to the world. What is read of the
 * format, and how, is in docs/urdf.md. What cannot be simulated is said in the log, once per kind.
 * perp_scene_load does the same, with the default options, for a path that ends in .urdf. */
typedef struct perp_urdf_options {
    const char* package;    /* folder of package://..., or of several packages; NULL: not given */
    bool floating;          /* the root is not attached to the world */
    bool no_self_collision; /* links never meet each other */
} perp_urdf_options;
PERP_API perp_urdf_options perp_urdf_options_default(void);
PERP_API PERP_NODISCARD perp_status perp_scene_load_urdf(perp_context* context, const char* path,
                                                         const perp_urdf_options* options,
                                                         const perp_override* override,
                                                         int32_t count, perp_scene** scene);
/* The same from memory; meshes are looked for beside origin. */
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
PERP_API int32_t perp_scene_record_every(const perp_scene* scene);
/* Writes that text to a file, replacing it. */
PERP_API PERP_NODISCARD perp_status perp_scene_save(const perp_scene* scene, const char* path);

/* How it asks to be simulated. Strings and arrays belong to the scene. */
typedef struct perp_scene_run {
    double step, duration;
    double error, step_min, step_max; /* of an adaptive step; error 0: fixed */
    const char* stepper;
    const perp_option* stepper_option;
    int32_t stepper_option_count;
    const char* contact;
    bool single_primary; /* of the contact model */
    const char* solver;
    const perp_option* solver_option;
    int32_t solver_option_count;
    const char* cone;
    int32_t directions;
    double e[3];   /* of an ellipsoid cone: e_t, e_o, e_r */
    double margin; /* NaN: automatic */
    double tolerance;
    bool allow_overlap;
    bool joint_correction;
    bool linear_rotation;
} perp_scene_run;
PERP_API perp_scene_run perp_scene_run_settings(const perp_scene* scene);

#ifdef __cplusplus
}
#endif
#endif
