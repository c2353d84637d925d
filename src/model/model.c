/* src/model/model.c - building a model: bodies, pairs, forces, and questions about them. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#include "model/mass.h"

perp_model_def perp_model_def_default(void)
{
    return (perp_model_def){.name = "", .dimension = 3};
}

static bool finite3(const double* a)
{
    return isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
}

perp_status perp_model_create(perp_context* context, const perp_model_def* def, perp_model** model)
{
    if (def->dimension != 2 && def->dimension != 3) {
        return perpi_fail(context, PERP_ERROR_INPUT, "dimension: must be 2 or 3, got %d",
                          (int)def->dimension);
    }
    if (!finite3(def->gravity)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "gravity: must be finite");
    }
    if (!(def->friction_default >= 0.0) || !isfinite(def->friction_default)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "friction/default: must be >= 0, got %g",
                          def->friction_default);
    }
    perp_model* m = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *m, &m);
    if (status != PERP_OK) {
        return status;
    }
    m->context = context;
    m->dimension = def->dimension;
    m->gravity = v3_from(def->gravity);
    m->friction_default = def->friction_default;
    m->length = 1.0;
    const char* name = def->name != NULL ? def->name : "";
    status = perpi_strndup(context, name, strlen(name), &m->name);
    if (status != PERP_OK) {
        perpi_free(context, m);
        return status;
    }
    *model = m;
    return PERP_OK;
}

static void free_values(perp_context* context, perpi_value* value, int count)
{
    for (int i = 0; i < count; ++i) {
        perpi_expr_destroy(context, value[i].expr);
        value[i].expr = NULL;
    }
}

static void free_body(perp_context* context, perpi_body* body)
{
    perpi_free(context, body->name);
    free_values(context, body->motion.position, 3);
    free_values(context, body->motion.orientation, 4);
    free_values(context, body->motion.axis_angle, 4);
    free_values(context, &body->motion.angle, 1);
    free_values(context, body->motion.velocity, 3);
    free_values(context, body->motion.angular_velocity, 3);
    for (int32_t i = 0; i < body->allowed_count; ++i) {
        perpi_free(context, body->allowed[i]);
    }
    perpi_free(context, body->allowed);
}

void perp_model_destroy(perp_model* model)
{
    if (model == NULL) {
        return;
    }
    perp_context* context = model->context;
    for (size_t i = 0; i < model->body_count; ++i) {
        free_body(context, &model->body[i]);
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        free_values(context, model->surface[i].velocity, 3);
    }
    for (size_t i = 0; i < model->wrench_count; ++i) {
        free_values(context, model->wrench[i].force, 3);
        free_values(context, model->wrench[i].torque, 3);
    }
    perpi_free(context, model->body);
    perpi_free(context, model->shape);
    perpi_free(context, model->surface);
    perpi_free(context, model->shape_def);
    perpi_free(context, model->pair);
    perpi_free(context, model->wrench);
    perpi_free(context, model->name);
    perpi_free(context, model);
}

perp_body_def perp_body_def_default(void)
{
    return (perp_body_def){.type = PERP_BODY_STATIC,
                           .mass = NAN,
                           .density = NAN,
                           .orientation = {1, 0, 0, 0},
                           .friction = NAN,
                           .color = {NAN, NAN, NAN}};
}

/* ---- expressions ---------------------------------------------------------------------------------*/

/* Number, or the expression that replaces it. member names it in a message. */
static perp_status make_value(perp_context* context, double number, const char* text,
                              const char* member, perpi_value* value)
{
    *value = (perpi_value){.number = number};
    if (text == NULL) {
        if (!isfinite(number)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite, got %g", member,
                              number);
        }
        return PERP_OK;
    }
    const perp_status status = perpi_expr_compile(context, text, &value->expr);
    return status == PERP_OK ? status : perpi_fail_prefix(context, status, member);
}

static perp_status make_values(perp_context* context, const double* number, const char* const* text,
                               int count, const char* const* member, perpi_value* value)
{
    for (int i = 0; i < count; ++i) {
        const perp_status status =
            make_value(context, number != NULL ? number[i] : 0.0, text[i], member[i], &value[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

double perpi_value_at(const perpi_value* value, double t)
{
    return value->expr != NULL ? perpi_expr_eval(value->expr, t, NULL) : value->number;
}

static bool any_text(const char* const* text, int count)
{
    for (int i = 0; i < count; ++i) {
        if (text[i] != NULL) {
            return true;
        }
    }
    return false;
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
    if (motion->has_orientation && motion->has_axis_angle) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion: give orientation or axis_angle, not both");
    }
    perp_status status = make_values(context, NULL, def->position, 3, position, motion->position);
    if (status == PERP_OK) {
        status = make_values(context, NULL, def->orientation, 4, orientation, motion->orientation);
    }
    if (status == PERP_OK) {
        status = make_values(context, NULL, def->axis_angle, 4, axis_angle, motion->axis_angle);
    }
    if (status == PERP_OK) {
        status = make_value(context, 0.0, def->angle, "motion/angle", &motion->angle);
    }
    if (status == PERP_OK) {
        status = make_values(context, NULL, def->velocity, 3, velocity, motion->velocity);
    }
    if (status == PERP_OK) {
        status = make_values(context, NULL, def->angular_velocity, 3,
                             dimension == 2 ? rate2 : rate3, motion->angular_velocity);
    }
    return status;
}

/* ---- bodies --------------------------------------------------------------------------------------*/

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
    if (!isnan(def->friction) && (!(def->friction >= 0.0) || !isfinite(def->friction))) {
        return perpi_fail(context, PERP_ERROR_INPUT, "friction: must be >= 0, got %g",
                          def->friction);
    }
    if (def->has_gravity && !finite3(def->gravity)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "gravity: must be finite");
    }
    return PERP_OK;
}

/* Only point masses have no rotation: nothing but particles, all at the centre. */
static bool is_particle(const perp_body_def* def)
{
    if (def->has_inertia || def->shape_count == 0) {
        return !def->has_inertia;
    }
    for (int32_t i = 0; i < def->shape_count; ++i) {
        const perp_shape_def* s = &def->shapes[i];
        const bool centred =
            s->position[0] == 0.0 && s->position[1] == 0.0 && s->position[2] == 0.0;
        if (s->type != PERP_SHAPE_PARTICLE || !centred) {
            return false;
        }
    }
    return true;
}

static perp_status add_shapes(perp_model* model, const perp_body_def* def, perpi_body* body)
{
    perp_context* context = model->context;
    const size_t first = model->shape_count;
    const size_t total = first + (size_t)def->shape_count;
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
    if (status != PERP_OK) {
        return status;
    }
    body->shape = (int32_t)first;
    body->shape_count = def->shape_count;
    for (int32_t i = 0; i < def->shape_count; ++i) {
        const perp_shape_def* s = &def->shapes[i];
        char place[48];
        snprintf(place, sizeof place, "shapes/%d", (int)i);
        status = perpi_shape_make(context, s, model->dimension, &model->shape[first + (size_t)i]);
        if (status != PERP_OK) {
            return perpi_fail_prefix(context, status, place);
        }
        if (!isnan(s->friction) && (!(s->friction >= 0.0) || !isfinite(s->friction))) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s/friction: must be >= 0, got %g", place,
                              s->friction);
        }
        model->shape_def[first + (size_t)i] = *s;
        model->surface[first + (size_t)i] =
            (perpi_surface){.body = (int32_t)model->body_count, .friction = s->friction};
    }
    return PERP_OK;
}

static perp_status add_surfaces(perp_model* model, const perp_body_def* def, const perpi_body* body)
{
    static const char* const member[] = {"surface_velocity/0", "surface_velocity/1",
                                         "surface_velocity/2"};
    for (int32_t i = 0; i < body->shape_count; ++i) {
        const perp_shape_def* s = &def->shapes[i];
        perpi_surface* surface = &model->surface[body->shape + i];
        if (!s->has_surface_velocity && !def->has_surface_velocity) {
            continue;
        }
        surface->moving = true;
        const double* number =
            s->has_surface_velocity ? s->surface_velocity : def->surface_velocity;
        const char* const* text =
            s->has_surface_velocity ? s->surface_velocity_text : def->surface_velocity_text;
        const perp_status status =
            make_values(model->context, number, text, 3, member, surface->velocity);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

static perp_status add_allowed(perp_context* context, const perp_body_def* def, perpi_body* body)
{
    body->restricted = def->collides_restricted;
    if (!def->collides_restricted || def->collides_with_count == 0) {
        return PERP_OK;
    }
    perp_status status = perpi_alloc(context, (size_t)def->collides_with_count,
                                     sizeof *body->allowed, &body->allowed);
    for (int32_t i = 0; status == PERP_OK && i < def->collides_with_count; ++i) {
        status = perpi_strndup(context, def->collides_with[i], strlen(def->collides_with[i]),
                               &body->allowed[i]);
        body->allowed_count = status == PERP_OK ? i + 1 : i;
    }
    return status;
}

/* Everything of the body but the place in the model's array. */
static perp_status fill_body(perp_model* model, const perp_body_def* def, perpi_body* body)
{
    perp_context* context = model->context;
    perp_status status = check_names(model, def);
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
        body->particle = is_particle(def);
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
    if (def->type == PERP_BODY_STATIC && (v3_norm(body->v) != 0.0 || v3_norm(body->w) != 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "velocity: a static body does not move; make it kinematic or dynamic");
    }
    if (def->motion.type != PERP_MOTION_NONE && def->type != PERP_BODY_KINEMATIC) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion: only a kinematic body has one; set type to \"kinematic\"");
    }
    status = make_motion(context, model->dimension, &def->motion, &body->motion);
    if (status == PERP_OK) {
        status = add_surfaces(model, def, body);
    }
    if (status == PERP_OK) {
        status = add_allowed(context, def, body);
    }
    if (status != PERP_OK) {
        return status;
    }
    body->reach = 0.0;
    for (int32_t i = 0; i < body->shape_count; ++i) {
        const perpi_shape* shape = &model->shape[body->shape + i];
        const double reach =
            v3_norm(shape->local.x) + perpi_shape_ops_of(shape->type)->reach(shape);
        body->reach = reach > body->reach ? reach : body->reach;
    }
    return PERP_OK;
}

/* The start of a kinematic body with a POSE motion is where its expressions say at t = 0. */
static perp_status start_pose(perp_model* model, int32_t index)
{
    perpi_body* body = &model->body[index];
    if (body->motion.type == PERP_MOTION_POSE) {
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
    const size_t shapes = model->shape_count;
    status = fill_body(model, def, body);
    model->shape_count = shapes + (size_t)body->shape_count;
    model->body_count += 1;
    if (status == PERP_OK) {
        status = start_pose(model, (int32_t)model->body_count - 1);
        if (status == PERP_ERROR_NUMERIC) {
            status = PERP_ERROR_INPUT; /* bad at t = 0 is bad input */
        }
    }
    if (status != PERP_OK) {
        /* as if the body had never been offered */
        model->body_count -= 1;
        for (size_t i = shapes; i < model->shape_count; ++i) {
            free_values(context, model->surface[i].velocity, 3);
        }
        model->shape_count = shapes;
        free_body(context, body);
        return status;
    }
    if (isfinite(body->reach) && body->reach > 0.0 &&
        (model->length == 1.0 || body->reach > model->length)) {
        model->length = body->reach;
    }
    if (index != NULL) {
        *index = (int32_t)model->body_count - 1;
    }
    return PERP_OK;
}

/* ---- pairs and forces ----------------------------------------------------------------------------*/

static perp_status find_body(const perp_model* model, const char* member, const char* name,
                             int32_t* index)
{
    *index = name != NULL ? perp_model_body_find(model, name) : -1;
    if (*index >= 0) {
        return PERP_OK;
    }
    return perpi_fail(model->context, PERP_ERROR_INPUT, "%s: there is no body named '%s'", member,
                      name != NULL ? name : "");
}

static bool pair_before(const perpi_pair* pair, int32_t a, int32_t b)
{
    return pair->a != a ? pair->a < a : pair->b < b;
}

perp_status perp_model_add_pair(perp_model* model, const perp_pair_def* def)
{
    perp_context* context = model->context;
    int32_t a, b;
    perp_status status = find_body(model, "a", def->a, &a);
    if (status == PERP_OK) {
        status = find_body(model, "b", def->b, &b);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (a == b) {
        return perpi_fail(context, PERP_ERROR_INPUT, "b: a body does not touch itself ('%s')",
                          def->b);
    }
    if (!isnan(def->mu) && (!(def->mu >= 0.0) || !isfinite(def->mu))) {
        return perpi_fail(context, PERP_ERROR_INPUT, "mu: must be >= 0, got %g", def->mu);
    }
    if (def->directions != 0 && def->directions < 3 && model->dimension == 3) {
        return perpi_fail(context, PERP_ERROR_INPUT, "directions: must be >= 3, got %d",
                          (int)def->directions);
    }
    if (perpi_model_pair(model, a, b) != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "a: the pair '%s', '%s' is given twice",
                          def->a, def->b);
    }
    status = perpi_grow(context, &model->pair, &model->pair_capacity, model->pair_count + 1,
                        sizeof *model->pair);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_pair pair = {a < b ? a : b, a < b ? b : a, def->mu, def->directions};
    size_t at = model->pair_count++;
    for (; at > 0 && pair_before(&pair, model->pair[at - 1].a, model->pair[at - 1].b); --at) {
        model->pair[at] = model->pair[at - 1];
    }
    model->pair[at] = pair;
    return PERP_OK;
}

perp_wrench_def perp_wrench_def_default(void)
{
    return (perp_wrench_def){.body = NULL};
}

perp_status perp_model_add_wrench(perp_model* model, const perp_wrench_def* def)
{
    static const char* const force[] = {"force/0", "force/1", "force/2"};
    static const char* const torque3[] = {"torque/0", "torque/1", "torque/2"};
    static const char* const torque2[] = {"torque", "torque", "torque"};
    perp_context* context = model->context;
    int32_t body;
    perp_status status = find_body(model, "body", def->body, &body);
    if (status != PERP_OK) {
        return status;
    }
    if (model->body[body].type != PERP_BODY_DYNAMIC) {
        return perpi_fail(context, PERP_ERROR_INPUT, "body: '%s' is not dynamic: no force moves it",
                          def->body);
    }
    if (!finite3(def->at)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "at: must be finite");
    }
    status = perpi_grow(context, &model->wrench, &model->wrench_capacity, model->wrench_count + 1,
                        sizeof *model->wrench);
    if (status != PERP_OK) {
        return status;
    }
    perpi_wrench w = {.body = body, .at = v3_from(def->at), .body_frame = def->body_frame};
    status = make_values(context, def->force, def->force_text, 3, force, w.force);
    if (status == PERP_OK) {
        status = make_values(context, def->torque, def->torque_text, 3,
                             model->dimension == 2 ? torque2 : torque3, w.torque);
    }
    if (status != PERP_OK) {
        free_values(context, w.force, 3);
        free_values(context, w.torque, 3);
        return status;
    }
    /* Appended at the end of the body's chain, so that forces add up in the order given. */
    w.next = -1;
    int32_t* link = &model->body[body].wrench;
    while (*link >= 0) {
        link = &model->wrench[*link].next;
    }
    *link = (int32_t)model->wrench_count;
    model->wrench[model->wrench_count++] = w;
    return PERP_OK;
}

/* ---- questions -----------------------------------------------------------------------------------*/

const perpi_pair* perpi_model_pair(const perp_model* model, int32_t a, int32_t b)
{
    const int32_t lo = a < b ? a : b, hi = a < b ? b : a;
    size_t from = 0, to = model->pair_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (pair_before(&model->pair[middle], lo, hi)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    const bool found =
        from < model->pair_count && model->pair[from].a == lo && model->pair[from].b == hi;
    return found ? &model->pair[from] : NULL;
}

static double combine(const perpi_pair* pair, double a, double b)
{
    return pair != NULL && !isnan(pair->mu) ? pair->mu : sqrt(a * b);
}

double perpi_model_friction(const perp_model* model, int32_t shape_a, int32_t shape_b)
{
    const perpi_surface* a = &model->surface[shape_a];
    const perpi_surface* b = &model->surface[shape_b];
    /* A shape with its own coefficient is more specific than an entry for the pair of bodies. */
    const bool own = !isnan(a->friction) || !isnan(b->friction);
    const perpi_pair* pair = own ? NULL : perpi_model_pair(model, a->body, b->body);
    return combine(pair, isnan(a->friction) ? model->body[a->body].friction : a->friction,
                   isnan(b->friction) ? model->body[b->body].friction : b->friction);
}

double perp_model_pair_friction(const perp_model* model, int32_t a, int32_t b)
{
    return combine(perpi_model_pair(model, a, b), model->body[a].friction, model->body[b].friction);
}

static bool allows(const perp_model* model, int32_t a, int32_t b)
{
    const perpi_body* body = &model->body[a];
    if (!body->restricted) {
        return true;
    }
    for (int32_t i = 0; i < body->allowed_count; ++i) {
        if (strcmp(body->allowed[i], model->body[b].name) == 0) {
            return true;
        }
    }
    return false;
}

bool perp_model_pair_collides(const perp_model* model, int32_t a, int32_t b)
{
    const bool moves =
        model->body[a].type == PERP_BODY_DYNAMIC || model->body[b].type == PERP_BODY_DYNAMIC;
    return a != b && moves && allows(model, a, b) && allows(model, b, a);
}

const char* perp_model_name(const perp_model* model)
{
    return model->name;
}

int32_t perp_model_dimension(const perp_model* model)
{
    return model->dimension;
}

int32_t perp_model_body_count(const perp_model* model)
{
    return (int32_t)model->body_count;
}

const char* perp_model_body_name(const perp_model* model, int32_t body)
{
    return model->body[body].name;
}

int32_t perp_model_body_find(const perp_model* model, const char* name)
{
    for (size_t i = 0; i < model->body_count; ++i) {
        if (strcmp(model->body[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

perp_body_info perp_model_body_info(const perp_model* model, int32_t index)
{
    const perpi_body* body = &model->body[index];
    perp_body_info info = {.type = body->type,
                           .mass = body->mass,
                           .angle = body->angle,
                           .friction = body->friction,
                           .shape_count = body->shape_count,
                           .dofs = body->dofs};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            info.inertia[3 * i + j] = body->inertia.m[i][j];
        }
        info.color[i] = body->color[i];
    }
    v3_to(body->pose.x, info.position);
    v3_to(body->offset, info.offset);
    info.orientation[0] = body->pose.q.w;
    info.orientation[1] = body->pose.q.x;
    info.orientation[2] = body->pose.q.y;
    info.orientation[3] = body->pose.q.z;
    return info;
}

perp_shape_def perp_model_body_shape(const perp_model* model, int32_t body, int32_t shape)
{
    const int32_t index = model->body[body].shape + shape;
    perp_shape_def def = model->shape_def[index];
    const perpi_shape* s = &model->shape[index];
    v3_to(s->local.x, def.position); /* relative to the centre of mass */
    for (int i = 0; i < 3; ++i) {
        def.surface_velocity_text[i] = NULL;
        def.surface_velocity[i] = perpi_value_at(&model->surface[index].velocity[i], 0.0);
    }
    return def;
}
