/* src/scene/object.h - the scene as an object: its trees and what was read from them. */
#ifndef PERPI_SCENE_OBJECT_H
#define PERPI_SCENE_OBJECT_H

#include "perp/scene.h"
#include "scene/notice.h"
#include "scene/parameter.h"
#include "scene/reader.h"

/* What is read from a tree, to whose strings it points. */
typedef struct perpi_scene_parts {
    perp_model* model;
    perp_sim_def run;
    perp_option* options; /* of the solver */
    perp_option* stepper_options;
    perp_measure_def* measures;
    perp_stop_def* stops;
    perpi_parameters parameters;
    int32_t record_every;
} perpi_scene_parts;

struct perp_scene {
    perp_context* context;
    char* origin;    /* names the scene in messages; files are relative to its folder */
    json_t* source;  /* as given and set: meshes and tables by the names of their files */
    json_t* root;    /* with their contents; the same tree if there are none */
    json_t* retired; /* values that were replaced since the parts were read, which point to them */
    perpi_scene_parts parts;
    perpi_arena arena; /* of the reader, kept for the next rebuild */
    char* text;        /* of root */
    char* source_text; /* of source */
    bool text_old;     /* it was built again since */
    bool embeds;       /* source has names of files */
    bool embed_next;   /* they must be read again, */
    bool embed_always; /* in every case, as the scale of one depends on parameters */
    bool expanded;     /* root has other bodies than source (expand.h) */
    json_t* places;    /* where these come from; NULL: they are the same */
    int32_t depth;     /* of includes */
    bool* embed_used;  /* which parameters these are, of embed_count */
    int32_t embed_count;
};

/* Reads parts from root. */
PERP_NODISCARD perp_status perpi_scene_read(perp_scene* scene, perpi_scene_parts* out);
void perpi_scene_parts_free(perp_context* context, perpi_scene_parts* parts);
/* Reads the parts from root; those before them are replaced only then. */
PERP_NODISCARD perp_status perpi_scene_build(perp_scene* scene);
/* Keeps a value that parts may point to until they are built again. */
PERP_NODISCARD perp_status perpi_scene_retire(perp_scene* scene, json_t* value);
/* Whether the scene names files of meshes or tables. */
bool perpi_scene_has_files(const json_t* root);
/* Replaces root by a copy of source with the contents of its files. */
PERP_NODISCARD perp_status perpi_scene_embed(perp_scene* scene, perpi_notices* notices);

#endif
