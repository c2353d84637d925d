/* src/model/body.c - one body: checks its def, makes it, removes it again on failure. */
#include <stdio.h>
#include <string.h>

#include "model/mass.h"
#include "model/model.h"
#include "shape/outline.h"
#include "shape/polyhedron.h"

static bool finite3(const double* a)
{
    return isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
}

perp_body_def perp_body_def_default(void)
{
    return (perp_body_def){.struct_size = sizeof(perp_body_def),
                           .type = PERP_BODY_STATIC,
                           .mass = NAN,
                           .density = NAN,
                           .orientation = {1, 0, 0, 0},
                           .friction = NAN,
                           .restitution = NAN,
                           .color = {NAN, NAN, NAN},
                           .support = {.gravity = NAN, .load = NAN}};
}

void perpi_body_free(perp_context* context, perpi_body* body)
{
    perpi_free(context, body->name);
    perpi_values_free(context, body->motion.position, 3);
    perpi_values_free(context, body->motion.orientation, 4);
    perpi_values_free(context, body->motion.axis_angle, 4);
    perpi_values_free(context, &body->motion.angle, 1);
    perpi_values_free(context, body->motion.velocity, 3);
    perpi_values_free(context, body->motion.angular_velocity, 3);
    perpi_oscillation_destroy(context, body->motion.oscillation);
    for (int32_t i = 0; i < body->allowed_count; ++i) {
        perpi_free(context, body->allowed[i]);
    }
    perpi_free(context, body->allowed);
    for (int32_t i = 0; i < body->ignored_count; ++i) {
        perpi_free(context, body->ignored[i]);
    }
    perpi_free(context, body->ignored);
}

/* ---- motion ----------------------------------------------------------------------------------------*/

static bool any_text(const char* const* text, int count)
{
    for (int i = 0; i < count; ++i) {
        if (text[i] != NULL) {
            return true;
        }
    }
    return false;
}

static perp_status check_speeds(perp_context* context, const perp_motion_def* def,
                                perpi_motion* motion)
{
    static const char* const member[2] = {"motion/max_speed", "motion/max_angular_speed"};
    const double given[2] = {def->max_speed, def->max_angular_speed};
    double limit[2];
    for (int i = 0; i < 2; ++i) {
        if (!(given[i] >= 0.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be > 0, got %g", member[i],
                              given[i]);
        }
        if (given[i] > 0.0 && def->type != PERP_MOTION_POSE) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: is for a motion given by a pose",
                              member[i]);
        }
        limit[i] = given[i] > 0.0 ? given[i] : INFINITY;
    }
    motion->max_speed = limit[0];
    motion->max_rate = limit[1];
    motion->follows = isfinite(limit[0]) || isfinite(limit[1]);
    return PERP_OK;
}

/* q and -q are the same rotation: each row's quaternion takes the sign nearest to the row before,
 * so that interpolation follows the short arc. */
static perp_status make_turns(perp_context* context, const perp_motion_def* def,
                              perpi_curve_kind kind, perpi_motion* motion)
{
    const size_t rows = (size_t)def->table_rows, columns = (size_t)def->table_columns;
    double* turn = NULL;
    perp_status status = perpi_alloc(context, 5 * rows, sizeof *turn, &turn);
    for (size_t i = 0; status == PERP_OK && i < rows; ++i) {
        const double* from = def->table + i * columns;
        double* to = turn + 5 * i;
        double size = 0.0, along = 0.0;
        to[0] = from[0];
        for (int k = 1; k < 5; ++k) {
            size = hypot(size, from[3 + k]);
        }
        if (!(size > 0.0) || !isfinite(size)) {
            status = perpi_fail(context, PERP_ERROR_INPUT,
                                "motion/table/%d: must be a quaternion of length > 0", (int)i);
            break;
        }
        for (int k = 1; k < 5; ++k) {
            to[k] = from[3 + k] / size;
            along += i > 0 ? to[k] * to[k - 5] : 0.0;
        }
        for (int k = 1; k < 5 && along < 0.0; ++k) {
            to[k] = -to[k];
        }
    }
    for (int k = 0; status == PERP_OK && k < 4; ++k) {
        status = perpi_curve_create(context, kind, def->table_rows, turn, 5, 1 + k,
                                    &motion->orientation[k].curve);
        status = status == PERP_ERROR_INPUT ? perpi_fail_prefix(context, status, "motion/table")
                                            : status;
    }
    perpi_free(context, turn);
    motion->has_orientation = true;
    return status;
}

static perp_status make_table(perp_context* context, int32_t dimension, const perp_motion_def* def,
                              perpi_motion* motion)
{
    const int32_t columns = def->table_columns;
    const bool turns = columns == (dimension == 2 ? 4 : 8);
    if (columns != 1 + dimension && !turns) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion/table: a row must have %s, got %d numbers",
                          dimension == 2 ? "3 numbers (t, x, y) or 4 (t, x, y, angle)"
                                         : "4 numbers (t, x, y, z) or 8 (t, x, y, z, quaternion "
                                           "w, x, y, z)",
                          (int)columns);
    }
    const char* name = def->interpolation != NULL ? def->interpolation : "linear";
    perpi_curve_kind kind = PERPI_CURVE_LINEAR;
    while (perpi_curve_names[kind] != NULL && strcmp(name, perpi_curve_names[kind]) != 0) {
        ++kind;
    }
    if (perpi_curve_names[kind] == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion/interpolation: must be linear, cubic or quintic, got '%.80s'",
                          name);
    }
    perp_status status = PERP_OK;
    const int32_t plain = dimension == 2 ? columns - 1 : 3;
    for (int32_t k = 0; status == PERP_OK && k < plain; ++k) {
        perpi_value* value = k < dimension ? &motion->position[k] : &motion->angle;
        status = perpi_curve_create(context, kind, def->table_rows, def->table, columns, 1 + k,
                                    &value->curve);
        status = status == PERP_ERROR_INPUT ? perpi_fail_prefix(context, status, "motion/table")
                                            : status;
    }
    return status == PERP_OK && turns && dimension == 3 ? make_turns(context, def, kind, motion)
                                                        : status;
}

static perp_status make_motion(perp_context* context, int32_t dimension, const perp_motion_def* def,
                               perpi_motion* motion)
{
    static const char* const position[] = {"motion/position/0", "motion/position/1",
                                           "motion/position/2"};
    static const char* const orientation[] = {"motion/orientation/0", "motion/orientation/1",
                                              "motion/orientation/2", "motion/orientation/3"};
    static const char* const axis_angle[] = {"motion/axis_angle/0", "motion/axis_angle/1",
                                             "motion/axis_angle/2", "motion/axis_angle/3"};
    static const char* const velocity[] = {"motion/velocity/0", "motion/velocity/1",
                                           "motion/velocity/2"};
    static const char* const rate3[] = {"motion/angular_velocity/0", "motion/angular_velocity/1",
                                        "motion/angular_velocity/2"};
    static const char* const rate2[] = {"motion/angular_velocity", "motion/angular_velocity",
                                        "motion/angular_velocity"};
    motion->type = def->type;
    motion->has_orientation = any_text(def->orientation, 4);
    motion->has_axis_angle = any_text(def->axis_angle, 4);
    perp_status status = check_speeds(context, def, motion);
    if (status == PERP_OK && def->table != NULL) {
        return make_table(context, dimension, def, motion);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (motion->has_orientation && motion->has_axis_angle) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion: give orientation or axis_angle, not both");
    }
    status = perpi_values_make(context, NULL, def->position, 3, position, motion->position);
    if (status == PERP_OK) {
        status =
            perpi_values_make(context, NULL, def->orientation, 4, orientation, motion->orientation);
    }
    if (status == PERP_OK) {
        status =
            perpi_values_make(context, NULL, def->axis_angle, 4, axis_angle, motion->axis_angle);
    }
    if (status == PERP_OK) {
        status = perpi_value_make(context, 0.0, def->angle, "motion/angle", &motion->angle);
    }
    if (status == PERP_OK) {
        status = perpi_values_make(context, NULL, def->velocity, 3, velocity, motion->velocity);
    }
    if (status == PERP_OK) {
        status = perpi_values_make(context, NULL, def->angular_velocity, 3,
                                   dimension == 2 ? rate2 : rate3, motion->angular_velocity);
    }
    return status;
}

/* ---- the body itself -------------------------------------------------------------------------------*/

static perp_status check_names(const perp_model* model, const perp_body_def* def)
{
    perp_context* context = model->context;
    if (def->name == NULL || def->name[0] == '\0') {
        return perpi_fail(context, PERP_ERROR_INPUT, "name: must not be empty");
    }
    if (strcmp(def->name, "world") == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "name: 'world' is reserved");
    }
    const int32_t twin = perp_model_body_find(model, def->name);
    if (twin >= 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "name: '%s' is already the name of body %d; names must differ", def->name,
                          (int)twin);
    }
    return PERP_OK;
}

static perp_status check_numbers(const perp_model* model, const perp_body_def* def)
{
    perp_context* context = model->context;
    const struct {
        const char* member;
        const double* value;
    } vectors[] = {{"position", def->position},
                   {"velocity", def->velocity},
                   {"angular_velocity", def->angular_velocity}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
        if (!finite3(vectors[i].value)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite", vectors[i].member);
        }
    }
    const double* e = def->orientation;
    const double length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
    if (!(length > 0.0) || !isfinite(length)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "orientation: must be a finite quaternion of length > 0");
    }
    if (!isfinite(def->angle)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "angle: must be finite, got %g", def->angle);
    }
    if (!isnan(def->restitution) && !(def->restitution >= 0.0 && def->restitution <= 1.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "restitution: must be from 0 to 1, got %g",
                          def->restitution);
    }
    if (!isnan(def->friction) && (!(def->friction >= 0.0) || !isfinite(def->friction))) {
        return perpi_fail(context, PERP_ERROR_INPUT, "friction: must be >= 0, got %g",
                          def->friction);
    }
    if (def->massless && def->type != PERP_BODY_DYNAMIC) {
        return perpi_fail(context, PERP_ERROR_INPUT, "massless: only a dynamic body can be");
    }
    if (def->has_gravity && !finite3(def->gravity)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "gravity: must be finite");
    }
    return PERP_OK;
}

/* Only point masses have no rotation: bodies of particles that are all at the centre. */
static bool is_particle(const perp_body_def* def)
{
    if (def->has_inertia || def->shape_count == 0) {
        return !def->has_inertia;
    }
    for (int32_t i = 0; i < def->shape_count; ++i) {
        const perp_shape_def* s = &def->shapes[i];
        const bool centred =
            s->position[0] == 0.0 && s->position[1] == 0.0 && s->position[2] == 0.0;
        if (!s->visual && (s->type != PERP_SHAPE_PARTICLE || !centred)) {
            return false;
        }
    }
    return true;
}

/* Copies the def without the data it points to, which the caller may free. */
static void keep_def(perp_model* model, size_t index, const perp_shape_def* def)
{
    perp_shape_def* kept = &model->shape_def[index];
    const perpi_mesh* mesh = model->shape[index].mesh;
    *kept = *def;
    perpi_shape_orientation(def, kept->orientation);
    kept->vertices = mesh != NULL ? mesh->vertex : NULL;
    kept->triangles = mesh != NULL ? mesh->triangle : NULL;
    kept->vertex_count = mesh != NULL ? mesh->vertex_count : 0;
    kept->triangle_count = mesh != NULL ? mesh->triangle_count : 0;
    kept->source = NULL;
    if (def->type == PERP_SHAPE_POLYGON) {
        kept->vertices = model->shape[index].vertex;
        kept->vertex_count = model->shape[index].count;
    } else if (def->type == PERP_SHAPE_POLYHEDRON) {
        const perpi_polyhedron* p = model->shape[index].polyhedron;
        kept->vertices = &p->vertex[0].x;
        kept->vertex_count = p->vertex_count;
        kept->triangles = p->triangle;
        kept->triangle_count = p->triangle_count;
    }
}

/* Warns of repairs made to a shape. */
static void warn_repairs(perp_context* context, const perp_body_def* def, int32_t index,
                         const perpi_shape* shape)
{
    const perpi_polyhedron* p = shape->polyhedron;
    const char* name = def->name != NULL ? def->name : "";
    if (p != NULL && p->merged > 0) {
        perpi_log(context, PERP_LOG_WARNING,
                  "body '%s', shapes/%d/vertices: %d left out, nearer to another one than 1e-9 of "
                  "the size",
                  name, (int)index, (int)p->merged);
    }
    if (p != NULL && p->turned) {
        perpi_log(context, PERP_LOG_WARNING,
                  "body '%s', shapes/%d/faces: inside out; turned (counter-clockwise as seen from "
                  "outside is right)",
                  name, (int)index);
    }
}

/* Reserves more shapes of the current body, zeroed so that a body refused half-way can be
 * removed. */
static perp_status reserve_shapes(perp_model* model, size_t first, size_t count)
{
    perp_context* context = model->context;
    const size_t total = first + count;
    perp_status status =
        perpi_grow(context, &model->shape, &model->shape_capacity, total, sizeof *model->shape);
    if (status == PERP_OK) {
        status = perpi_grow(context, &model->surface, &model->surface_capacity, total,
                            sizeof *model->surface);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &model->shape_def, &model->shape_def_capacity, total,
                            sizeof *model->shape_def);
    }
    if (status == PERP_OK && count > 0) {
        memset(&model->shape[first], 0, count * sizeof *model->shape);
        memset(&model->surface[first], 0, count * sizeof *model->surface);
        memset(&model->shape_def[first], 0, count * sizeof *model->shape_def);
    }
    return status;
}

/* The pieces of a mesh that is not convex become shapes of the body after the given ones: the
 * pieces collide, the mesh defines mass and appearance. */
static perp_status add_mesh_pieces(perp_model* model, perpi_body* body, int32_t index)
{
    perpi_mesh* mesh = model->shape[body->shape + index].mesh;
    if (mesh == NULL || mesh->piece_count == 0) {
        return PERP_OK;
    }
    const size_t first = (size_t)(body->shape + body->shape_count);
    perp_context* context = model->context;
    const perp_status status = reserve_shapes(model, first, (size_t)mesh->piece_count);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t k = 0; k < mesh->piece_count; ++k) {
        const size_t at = first + (size_t)k, parent = (size_t)(body->shape + index);
        model->shape[at] = (perpi_shape){.type = PERP_SHAPE_POLYHEDRON,
                                         .local = model->shape[parent].local,
                                         .massless = true,
                                         .polyhedron = mesh->piece[k]};
        model->surface[at] = (perpi_surface){.body = model->surface[parent].body,
                                             .from = index,
                                             .friction = model->surface[parent].friction};
        model->shape_def[at] = model->shape_def[parent];
        mesh->piece[k] = NULL;
        ++body->shape_count;
    }
    perpi_free(context, mesh->piece);
    mesh->piece = NULL;
    mesh->piece_count = 0;
    return PERP_OK;
}

/* The convex pieces of an outline: those that collide, or those that measure overlap. */
static perp_status add_pieces(perp_model* model, const perp_shape_def* def, int32_t from,
                              bool measure, perpi_body* body)
{
    perp_context* context = model->context;
    const perpi_shape* outline = &model->shape[body->shape + from];
    perpi_pieces pieces;
    perp_status status =
        perpi_outline_split(context, outline->vertex, outline->count, !measure, &pieces);
    if (status != PERP_OK) {
        return status;
    }
    const size_t first = (size_t)(body->shape + body->shape_count);
    status = reserve_shapes(model, first, (size_t)pieces.count);
    for (int32_t k = 0; status == PERP_OK && k < pieces.count; ++k) {
        perp_shape_def piece = *def;
        piece.vertices = pieces.xy + 2 * pieces.start[k];
        piece.vertex_count = pieces.start[k + 1] - pieces.start[k];
        perpi_shape* shape = &model->shape[first + (size_t)k];
        status = perpi_shape_make(context, &piece, model->dimension, shape);
        if (status == PERP_OK) {
            for (int32_t i = 0; i < piece.vertex_count;
                 ++i) { /* counter-clockwise, so the order is kept */
                shape->inner[i] = pieces.inner[pieces.start[k] + i] ? 1.0 : 0.0;
            }
            shape->massless = true;
            shape->piece = !measure;
            shape->measure = measure;
            shape->intangible = measure;
            model->surface[first + (size_t)k] = (perpi_surface){
                .body = (int32_t)model->body_count, .from = from, .friction = def->friction};
            body->shape_count += 1;
        }
    }
    perpi_pieces_free(context, &pieces);
    return status;
}

static perp_status add_shapes(perp_model* model, const perp_body_def* def, perpi_body* body)
{
    perp_context* context = model->context;
    const size_t first = model->shape_count;
    perp_status status = reserve_shapes(model, first, (size_t)def->shape_count);
    if (status != PERP_OK) {
        return status;
    }
    body->shape = (int32_t)first;
    for (int32_t i = 0; i < def->shape_count; ++i) {
        const perp_shape_def* s = &def->shapes[i];
        char place[48];
        snprintf(place, sizeof place, "shapes/%d", (int)i);
        perpi_shape* shape = &model->shape[first + (size_t)i];
        status = perpi_shape_make(context, s, model->dimension, shape);
        if (status != PERP_OK) {
            return perpi_fail_prefix(context, status, place);
        }
        model->surface[first + (size_t)i] =
            (perpi_surface){.body = (int32_t)model->body_count, .from = i, .friction = s->friction};
        body->shape_count = body->given = i + 1; /* made: released with the body */
        if (!isnan(s->friction) && (!(s->friction >= 0.0) || !isfinite(s->friction))) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s/friction: must be >= 0, got %g", place,
                              s->friction);
        }
        keep_def(model, first + (size_t)i, s);
        warn_repairs(context, def, i, shape);
    }
    for (int32_t i = 0; i < def->shape_count; ++i) {
        const perp_shape_def* s = &def->shapes[i];
        if (!model->shape[first + (size_t)i].outline || s->visual || s->contactless) {
            continue;
        }
        for (int pass = 0; status == PERP_OK && pass < 2; ++pass) {
            status = add_pieces(model, s, i, pass == 1, body);
        }
        if (status != PERP_OK) {
            char place[48];
            snprintf(place, sizeof place, "shapes/%d", (int)i);
            return perpi_fail_prefix(context, status, place);
        }
    }
    for (int32_t i = 0; i < def->shape_count && status == PERP_OK; ++i) {
        status = add_mesh_pieces(model, body, i);
    }
    return status;
}

static perp_status add_surfaces(perp_model* model, const perp_body_def* def, const perpi_body* body)
{
    static const char* const member[] = {"surface_velocity/0", "surface_velocity/1",
                                         "surface_velocity/2"};
    for (int32_t i = 0; i < body->shape_count; ++i) {
        perpi_surface* surface = &model->surface[body->shape + i];
        const perp_shape_def* s = &def->shapes[surface->from];
        if (!s->has_surface_velocity && !def->has_surface_velocity) {
            continue;
        }
        surface->moving = true;
        const double* number =
            s->has_surface_velocity ? s->surface_velocity : def->surface_velocity;
        const char* const* text =
            s->has_surface_velocity ? s->surface_velocity_text : def->surface_velocity_text;
        const perp_status status =
            perpi_values_make(model->context, number, text, 3, member, surface->velocity);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

static perp_status copy_names(perp_context* context, const char* const* list, int32_t count,
                              char*** copy, int32_t* copied)
{
    perp_status status = perpi_alloc(context, (size_t)count, sizeof **copy, copy);
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = perpi_strndup(context, list[i], strlen(list[i]), &(*copy)[i]);
        *copied = status == PERP_OK ? i + 1 : i;
    }
    return status;
}

static perp_status add_allowed(perp_context* context, const perp_body_def* def, perpi_body* body)
{
    body->selective = def->collides_restricted;
    body->restricted = def->collides_restricted || def->ignores_count > 0;
    perp_status status = PERP_OK;
    if (def->collides_restricted && def->collides_with_count > 0) {
        status = copy_names(context, def->collides_with, def->collides_with_count, &body->allowed,
                            &body->allowed_count);
    }
    if (status == PERP_OK && def->ignores_count > 0) {
        status = copy_names(context, def->ignores, def->ignores_count, &body->ignored,
                            &body->ignored_count);
    }
    return status;
}

/* All data of the body except its place in the model's array. */
/* Distance of the farthest point from the centre of mass. */
static double reach_of(const perp_model* model, const perpi_body* body)
{
    double farthest = 0.0;
    for (int32_t i = 0; i < body->shape_count; ++i) {
        const perpi_shape* shape = &model->shape[body->shape + i];
        if (shape->intangible) {
            continue; /* shapes that do not collide must not affect tolerances */
        }
        const double reach =
            v3_norm(shape->local.x) + perpi_shape_ops_of(shape->type)->reach(shape);
        farthest = reach > farthest ? reach : farthest;
    }
    return farthest;
}

static bool is_round(const mat3* I)
{
    return I->m[0][0] == I->m[1][1] && I->m[1][1] == I->m[2][2] && I->m[0][1] == 0.0 &&
           I->m[0][2] == 0.0 && I->m[1][2] == 0.0;
}

static perp_status fill_body(perp_model* model, const perp_body_def* def, perpi_body* body)
{
    perp_context* context = model->context;
    perp_status status =
        perpi_check_struct(context, "perp_body_def", def->struct_size, sizeof *def);
    if (status == PERP_OK) {
        status = check_names(model, def);
    }
    if (status == PERP_OK) {
        status = check_numbers(model, def);
    }
    if (status == PERP_OK) {
        status = perpi_strndup(context, def->name, strlen(def->name), &body->name);
    }
    if (status == PERP_OK) {
        status = add_shapes(model, def, body);
    }
    if (status != PERP_OK) {
        return status;
    }
    body->type = def->type;
    body->wrench = -1;
    body->friction = isnan(def->friction) ? model->friction_default : def->friction;
    body->restitution = isnan(def->restitution) ? model->restitution_default : def->restitution;
    model->bounces = model->bounces || body->restitution > 0.0;
    body->gravity = def->has_gravity ? v3_from(def->gravity) : model->gravity;
    memcpy(body->color, def->color, sizeof body->color);
    body->v = v3_from(def->velocity);
    body->w = v3_from(def->angular_velocity);
    body->angle = def->angle;
    const quat q = {def->orientation[0], def->orientation[1], def->orientation[2],
                    def->orientation[3]};
    body->pose.q = model->dimension == 2 ? q4_exp(v3(0, 0, def->angle)) : q4_unit(q);
    body->pose.R = q4_matrix(body->pose.q);
    body->pose.x = v3_from(def->position);

    if (def->type == PERP_BODY_DYNAMIC) {
        body->massless = def->massless;
        body->particle = !def->massless && is_particle(def);
        status = perpi_body_mass(model, def, body);
        if (status != PERP_OK) {
            return status;
        }
        const int32_t linear = model->dimension;
        body->dofs = body->particle ? linear : (linear == 2 ? 3 : 6);
        if (body->particle) {
            body->w = v3(0, 0, 0);
        }
    }
    body->round_inertia = is_round(&body->inertia);
    if (def->type == PERP_BODY_STATIC && (v3_norm(body->v) != 0.0 || v3_norm(body->w) != 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "velocity: a static body does not move; make it kinematic or dynamic");
    }
    if (def->motion.type != PERP_MOTION_NONE && def->type != PERP_BODY_KINEMATIC) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion: only a kinematic body has one; set type to \"kinematic\"");
    }
    status = make_motion(context, model->dimension, &def->motion, &body->motion);
    if (status == PERP_OK && def->motion.type == PERP_MOTION_ACCELERATION) {
        status = perpi_oscillation_create(context, model->dimension, &def->motion, body->pose.x,
                                          body->pose.q, body->angle, body->v, body->w,
                                          &body->motion.oscillation);
    }
    if (status == PERP_OK) {
        status = perpi_body_support(model, def, body);
    }
    if (status == PERP_OK && def->has_compliance) {
        status = perpi_layer_make(context, model->dimension, &def->compliance, &body->layer);
    }
    if (status == PERP_OK) {
        status = add_surfaces(model, def, body);
    }
    if (status == PERP_OK) {
        status = add_allowed(context, def, body);
    }
    body->reach = status == PERP_OK ? reach_of(model, body) : 0.0;
    return status;
}

/* A kinematic body whose pose is a function of time starts at its value at t = 0. */
static perp_status start_pose(perp_model* model, int32_t index)
{
    perpi_body* body = &model->body[index];
    if (perpi_motion_has_pose(&body->motion)) {
        return perpi_motion_pose(model, index, 0.0, &body->pose, &body->angle, &body->v, &body->w);
    }
    if (body->motion.type == PERP_MOTION_VELOCITY) {
        return perpi_motion_velocity(model, index, 0.0, &body->v, &body->w);
    }
    return PERP_OK;
}

perp_status perp_model_add_body(perp_model* model, const perp_body_def* def, int32_t* index)
{
    perp_context* context = model->context;
    perp_status status = perpi_grow(context, &model->body, &model->body_capacity,
                                    model->body_count + 1, sizeof *model->body);
    if (status != PERP_OK) {
        return status;
    }
    perpi_body* body = &model->body[model->body_count];
    memset(body, 0, sizeof *body);
    body->frame_joint[0] = body->frame_joint[1] = -1;
    const size_t shapes = model->shape_count;
    status = fill_body(model, def, body);
    model->shape_count = shapes + (size_t)body->shape_count;
    model->body_count += 1;
    if (status == PERP_OK) {
        status = start_pose(model, (int32_t)model->body_count - 1);
        if (status == PERP_ERROR_NUMERIC) {
            status = PERP_ERROR_INPUT; /* a failure at t = 0 is an input error */
        }
    }
    if (status == PERP_OK) {
        status = perpi_keep_body(model, def, model->body_count - 1);
    }
    if (status != PERP_OK) {
        /* restores the model as it was before the call */
        model->body_count -= 1;
        for (size_t i = shapes; i < model->shape_count; ++i) {
            perpi_values_free(context, model->surface[i].velocity, 3);
            perpi_shape_free(context, &model->shape[i]);
        }
        model->shape_count = shapes;
        perpi_body_free(context, body);
        return status;
    }
    if (isfinite(body->reach) && body->reach > 0.0 && body->reach > model->length) {
        model->length = body->reach;
        perpi_joint_resize(model);
    }
    model->support_points += body->support.points;
    model->massless_count += body->massless ? 1 : 0;
    if (index != NULL) {
        *index = (int32_t)model->body_count - 1;
    }
    return PERP_OK;
}
