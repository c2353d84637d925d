/* src/model/keep.c - see keep.h. */
#include "model/keep.h"

#include <string.h>

#include "model/model.h"

void perpi_kept_free(perp_context* context, perpi_kept* kept)
{
    perpi_free(context, kept->description);
    perpi_free(context, kept->body);
    perpi_free(context, kept->joint);
    perpi_free(context, kept->wrench);
    perpi_free(context, kept->spring);
    perpi_free(context, kept->controller);
    perpi_free(context, kept->pair);
    perpi_free(context, kept->drag);
    perpi_arena_free(&kept->arena);
}

/* Copies `count` items of `size` bytes that *p points to, and sets *p to the copy. The first
 * failure is kept in *status. */
static void copy_items(perpi_arena* arena, const void* p, size_t count, size_t size,
                       perp_status* status)
{
    const void* from = NULL;
    memcpy(&from, p, sizeof from);
    if (*status != PERP_OK || from == NULL) {
        return;
    }
    void* to = NULL;
    *status = perpi_arena_take(arena, count > 0 ? count : 1, size, &to);
    if (*status == PERP_OK) {
        if (count > 0) {
            memcpy(to, from, count * size);
        }
        memcpy((void*)(uintptr_t)p, &to, sizeof to);
    }
}

static void copy_text(perpi_arena* arena, const char** text, perp_status* status)
{
    copy_items(arena, text, *text != NULL ? strlen(*text) + 1 : 0, 1, status);
}

static void copy_texts(perpi_arena* arena, const char** text, int count, perp_status* status)
{
    for (int i = 0; i < count; ++i) {
        copy_text(arena, &text[i], status);
    }
}

/* A list of names, and the names. */
static void copy_names(perpi_arena* arena, const char* const** list, int32_t count,
                       perp_status* status)
{
    copy_items(arena, list, (size_t)count, sizeof **list, status);
    for (int32_t i = 0; *status == PERP_OK && i < count; ++i) {
        copy_text(arena, (const char**)(uintptr_t) & (*list)[i], status);
    }
}

static void copy_motion(perpi_arena* arena, perp_motion_def* motion, perp_status* status)
{
    copy_texts(arena, motion->position, 3, status);
    copy_texts(arena, motion->orientation, 4, status);
    copy_texts(arena, motion->axis_angle, 4, status);
    copy_text(arena, &motion->angle, status);
    copy_texts(arena, motion->velocity, 3, status);
    copy_texts(arena, motion->angular_velocity, 3, status);
    if (motion->table != NULL) {
        copy_items(arena, &motion->table,
                   (size_t)motion->table_rows * (size_t)motion->table_columns,
                   sizeof *motion->table, status);
    }
    copy_text(arena, &motion->interpolation, status);
    for (int i = 0; i < 6; ++i) {
        copy_items(arena, &motion->acceleration[i], (size_t)motion->acceleration_count[i],
                   sizeof **motion->acceleration, status);
    }
}

static void copy_shape(perpi_arena* arena, int32_t dimension, perp_shape_def* shape,
                       perp_status* status)
{
    copy_texts(arena, shape->surface_velocity_text, 3, status);
    copy_text(arena, &shape->source, status);
    if (shape->type == PERP_SHAPE_POLYGON || shape->type == PERP_SHAPE_POLYHEDRON ||
        shape->type == PERP_SHAPE_MESH) {
        copy_items(arena, &shape->vertices, (size_t)shape->vertex_count * (size_t)dimension,
                   sizeof *shape->vertices, status);
        copy_items(arena, &shape->triangles, 3 * (size_t)shape->triangle_count,
                   sizeof *shape->triangles, status);
    } else {
        shape->vertices = NULL;
        shape->triangles = NULL;
    }
}

perp_status perpi_keep_body(perp_model* model, const perp_body_def* def, size_t index)
{
    perpi_kept* kept = &model->kept;
    perpi_arena* arena = &kept->arena;
    perp_body_def body = *def;
    perp_status status = perpi_grow(model->context, &kept->body, &kept->body_capacity, index + 1,
                                    sizeof *kept->body);
    copy_text(arena, &body.name, &status);
    copy_texts(arena, body.surface_velocity_text, 3, &status);
    copy_names(arena, &body.collides_with, body.collides_with_count, &status);
    copy_names(arena, &body.ignores, body.ignores_count, &status);
    copy_motion(arena, &body.motion, &status);
    copy_items(arena, &body.shapes, (size_t)body.shape_count, sizeof *body.shapes, &status);
    for (int32_t i = 0; status == PERP_OK && i < body.shape_count; ++i) {
        perp_shape_def* shape =
            (perp_shape_def*)(uintptr_t)&body.shapes[i]; /* the copy, which the model owns */
        copy_shape(arena, model->dimension, shape, &status);
    }
    if (status == PERP_OK) {
        kept->body[index] = body;
    }
    return status;
}

perp_status perpi_keep_joint(perp_model* model, const perp_joint_def* def)
{
    perpi_kept* kept = &model->kept;
    perp_joint_def joint = *def;
    perp_status status = perpi_grow(model->context, &kept->joint, &kept->joint_capacity,
                                    model->joint_count + 1, sizeof *kept->joint);
    copy_text(&kept->arena, &joint.name, &status);
    copy_text(&kept->arena, &joint.a, &status);
    copy_text(&kept->arena, &joint.b, &status);
    copy_text(&kept->arena, &joint.motor.target_text, &status);
    copy_text(&kept->arena, &joint.joints[0], &status);
    copy_text(&kept->arena, &joint.joints[1], &status);
    if (status == PERP_OK) {
        kept->joint[model->joint_count] = joint;
    }
    return status;
}

perp_status perpi_keep_wrench(perp_model* model, const perp_wrench_def* def)
{
    perpi_kept* kept = &model->kept;
    perp_wrench_def wrench = *def;
    perp_status status = perpi_grow(model->context, &kept->wrench, &kept->wrench_capacity,
                                    model->wrench_count + 1, sizeof *kept->wrench);
    copy_text(&kept->arena, &wrench.body, &status);
    copy_texts(&kept->arena, wrench.force_text, 3, &status);
    copy_texts(&kept->arena, wrench.torque_text, 3, &status);
    if (status == PERP_OK) {
        kept->wrench[model->wrench_count] = wrench;
    }
    return status;
}

perp_status perpi_keep_spring(perp_model* model, const perp_spring_def* def)
{
    perpi_kept* kept = &model->kept;
    perp_spring_def spring = *def;
    perp_status status = perpi_grow(model->context, &kept->spring, &kept->spring_capacity,
                                    model->spring_count + 1, sizeof *kept->spring);
    copy_text(&kept->arena, &spring.a, &status);
    copy_text(&kept->arena, &spring.b, &status);
    if (status == PERP_OK) {
        kept->spring[model->spring_count] = spring;
    }
    return status;
}

perp_status perpi_keep_controller(perp_model* model, const perp_controller_def* def)
{
    perpi_kept* kept = &model->kept;
    perp_controller_def controller = *def;
    perp_status status = perpi_grow(model->context, &kept->controller, &kept->controller_capacity,
                                    model->controller_count + 1, sizeof *kept->controller);
    copy_text(&kept->arena, &controller.name, &status);
    copy_text(&kept->arena, &controller.joint, &status);
    copy_text(&kept->arena, &controller.body, &status);
    copy_text(&kept->arena, &controller.target_text, &status);
    copy_text(&kept->arena, &controller.interpolation, &status);
    if (controller.trajectory != NULL) {
        copy_items(&kept->arena, &controller.trajectory,
                   (size_t)controller.trajectory_rows * (size_t)controller.trajectory_columns,
                   sizeof *controller.trajectory, &status);
    }
    if (status == PERP_OK) {
        kept->controller[model->controller_count] = controller;
    }
    return status;
}

perp_status perpi_keep_pair(perp_model* model, const perp_pair_def* def)
{
    perpi_kept* kept = &model->kept;
    perp_pair_def pair = *def;
    perp_status status = perpi_grow(model->context, &kept->pair, &kept->pair_capacity,
                                    kept->pair_count + 1, sizeof *kept->pair);
    copy_text(&kept->arena, &pair.a, &status);
    copy_text(&kept->arena, &pair.b, &status);
    if (status == PERP_OK) {
        kept->pair[kept->pair_count++] = pair;
    }
    return status;
}

perp_status perpi_keep_drag(perp_model* model, const perp_drag_def* def)
{
    perpi_kept* kept = &model->kept;
    perp_drag_def drag = *def;
    perp_status status = perpi_grow(model->context, &kept->drag, &kept->drag_capacity,
                                    kept->drag_count + 1, sizeof *kept->drag);
    copy_text(&kept->arena, &drag.body, &status);
    if (status == PERP_OK) {
        kept->drag[kept->drag_count++] = drag;
    }
    return status;
}
