/* src/study/study.h - a study as the files of this module see it. */
#ifndef PERPI_STUDY_H
#define PERPI_STUDY_H

#include <jansson.h>

#include "base/context.h"
#include "perp/study.h"
#include "study/sample.h"

typedef struct perpi_vary {
    perp_vary info;
    const json_t* item; /* of values and choice: an array of numbers and strings */
    int32_t random;     /* index among the drawn ones, or one of the two below */
    int64_t stride;     /* of an axis: grid points between two of its values */
} perpi_vary;

enum {
    PERPI_VARY_AXIS = -1, /* of the grid */
    PERPI_VARY_SET = -2,  /* by the candidate or the case of a design */
};

typedef struct perpi_design perpi_design;
typedef struct perpi_estimate perpi_estimate;

struct perp_study {
    perp_context* context;
    json_t* root;
    char *text, *origin;
    char *scene_text, *scene_path; /* the scene as it was read */
    char* scene_built;             /* and as its nominal values make it, with its meshes */
    perp_scene* scene;
    char* name;
    perpi_vary* vary;
    int32_t vary_count;
    size_t vary_room;
    perpi_design* design;     /* NULL: a sweep, or an estimate */
    perpi_estimate* estimate; /* NULL: no estimate */
    perpi_sampling method;
    uint64_t seed;
    int64_t trials, run_count; /* of a design: of one case, for one candidate */
    perp_study_keep keep;
    double limit_seconds; /* 0: none */
    int64_t limit_steps;
};

/* A study of a scene whose text is at hand; both texts are copied. */
PERP_NODISCARD perp_status perpi_study_create(perp_context* context, const char* text,
                                              size_t length, const char* origin,
                                              const char* scene_text, const char* scene_path,
                                              perp_study** study);

/* The scene once more, with its own values. */
PERP_NODISCARD perp_status perpi_study_scene(const perp_study* study, perp_scene** scene);

/* What makes two studies the same: vary, sample and limit as compact JSON. To be freed with free(). */
char* perpi_study_identity(const perp_study* study);

/* Sets the values of a run in the study's scene. */
PERP_NODISCARD perp_status perpi_study_set(perp_study* study, int64_t run);

/* Name of a file of run `id` in the folder of the study's files: "NAME.runs/17.h5". */
void perpi_study_file(const perp_study* study, int64_t id, const char* suffix, char* text,
                      size_t size);

#endif
