/* src/model/keep.h - the defs that a model was built from.
 *
 * A model keeps the defs beside its own data, so that it can be written as a scene file (scene/write.c)
 * that builds the same model to the last bit: the given numbers cannot be recovered from poses of centres
 * of mass, unit axes and frames of joints.
 */
#ifndef PERPI_MODEL_KEEP_H
#define PERPI_MODEL_KEEP_H

#include "base/arena.h"
#include "perp/force.h"

typedef struct perpi_kept {
    perpi_arena arena;   /* strings and arrays of the defs */
    char* description;   /* "": none */
    perp_body_def* body; /* one per body of the model, and so on */
    perp_joint_def* joint;
    perp_wrench_def* wrench;
    perp_spring_def* spring;
    perp_controller_def* controller;
    perp_pair_def* pair; /* in the order given */
    perp_drag_def* drag;
    size_t pair_count, drag_count;
    size_t body_capacity, joint_capacity, wrench_capacity, spring_capacity, controller_capacity,
        pair_capacity, drag_capacity;
} perpi_kept;

struct perp_model;
void perpi_kept_free(perp_context* context, perpi_kept* kept);

/* Copy a checked def, as that of item `index` of the model. The copy takes effect when the model's
 * count includes the item. */
PERP_NODISCARD perp_status perpi_keep_body(struct perp_model* model, const perp_body_def* def,
                                           size_t index);
PERP_NODISCARD perp_status perpi_keep_joint(struct perp_model* model, const perp_joint_def* def);
PERP_NODISCARD perp_status perpi_keep_wrench(struct perp_model* model, const perp_wrench_def* def);
PERP_NODISCARD perp_status perpi_keep_spring(struct perp_model* model, const perp_spring_def* def);
PERP_NODISCARD perp_status perpi_keep_controller(struct perp_model* model,
                                                 const perp_controller_def* def);
/* These two take effect at once: no failure can follow. */
PERP_NODISCARD perp_status perpi_keep_pair(struct perp_model* model, const perp_pair_def* def);
PERP_NODISCARD perp_status perpi_keep_drag(struct perp_model* model, const perp_drag_def* def);

#endif
