/* src/model/model.c - a model: pairs, forces and queries. Bodies: body.c. */
#include "model/model.h"

#include <string.h>

perp_model_def perp_model_def_default(void)
{
    return (perp_model_def){.struct_size = sizeof(perp_model_def), .name = "", .dimension = 3};
}

static bool finite3(const double* a)
{
    return isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
}

perp_status perp_model_create(perp_context* context, const perp_model_def* def, perp_model** model)
{
    const perp_status known =
        perpi_check_struct(context, "perp_model_def", def->struct_size, sizeof *def);
    if (known != PERP_OK) {
        return known;
    }
    if (def->dimension != 2 && def->dimension != 3) {
        return perpi_fail(context, PERP_ERROR_INPUT, "dimension: must be 2 or 3, got %d",
                          (int)def->dimension);
    }
    if (!finite3(def->gravity)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "gravity: must be finite");
    }
    if (!(def->restitution_default >= 0.0 && def->restitution_default <= 1.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "restitution: must be from 0 to 1, got %g",
                          def->restitution_default);
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
    m->restitution_default = def->restitution_default;
    m->impact_law = def->impact_law;
    perpi_arena_init(&m->kept.arena, context);
    const char* name = def->name != NULL ? def->name : "";
    const char* description = def->description != NULL ? def->description : "";
    status = perpi_strndup(context, name, strlen(name), &m->name);
    if (status == PERP_OK) {
        status = perpi_strndup(context, description, strlen(description), &m->kept.description);
    }
    if (status != PERP_OK) {
        perp_model_destroy(m);
        return status;
    }
    *model = m;
    return PERP_OK;
}

void perp_model_destroy(perp_model* model)
{
    if (model == NULL) {
        return;
    }
    perp_context* context = model->context;
    for (size_t i = 0; i < model->body_count; ++i) {
        perpi_body_free(context, &model->body[i]);
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        perpi_values_free(context, model->surface[i].velocity, 3);
        perpi_shape_free(context, &model->shape[i]);
    }
    for (size_t i = 0; i < model->wrench_count; ++i) {
        perpi_values_free(context, model->wrench[i].force, 3);
        perpi_values_free(context, model->wrench[i].torque, 3);
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        perpi_joint_free(context, &model->joint[i]);
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        perpi_controller_free(context, &model->controller[i]);
    }
    perpi_kept_free(context, &model->kept);
    perpi_free(context, model->spring);
    perpi_free(context, model->controller);
    perpi_free(context, model->joint);
    perpi_free(context, model->joined);
    perpi_free(context, model->chain);
    perpi_free(context, model->body);
    perpi_free(context, model->shape);
    perpi_free(context, model->surface);
    perpi_free(context, model->shape_def);
    perpi_free(context, model->pair);
    perpi_free(context, model->wrench);
    perpi_free(context, model->name);
    perpi_free(context, model);
}

/* ---- pairs and forces ----------------------------------------------------------------------------*/

const char* perpi_model_nearest_body(const perp_model* model, const char* name)
{
    const char* nearest = NULL;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const char* body = perp_model_body_name(model, i);
        /* the best name so far is first, and stays unless the next is nearer */
        const char* const two[] = {nearest != NULL ? nearest : body, body, NULL};
        nearest = perpi_nearest(name, two);
    }
    return nearest;
}

static perp_status find_body(const perp_model* model, const char* member, const char* name,
                             int32_t* index)
{
    *index = name != NULL ? perp_model_body_find(model, name) : -1;
    if (*index >= 0) {
        return PERP_OK;
    }
    const char* nearest = name != NULL ? perpi_model_nearest_body(model, name) : NULL;
    return perpi_fail(model->context, PERP_ERROR_INPUT, "%s: there is no body named '%s'%s%s%s",
                      member, name != NULL ? name : "", nearest != NULL ? ": did you mean '" : "",
                      nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
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
    if (def->has_restitution && !(def->restitution >= 0.0 && def->restitution <= 1.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "restitution: must be from 0 to 1, got %g",
                          def->restitution);
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
    if (status == PERP_OK) {
        status = perpi_keep_pair(model, def);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_pair pair = {.a = a < b ? a : b,
                             .b = a < b ? b : a,
                             .mu = def->mu,
                             .restitution = def->has_restitution ? def->restitution : NAN,
                             .directions = def->directions};
    model->bounces = model->bounces || pair.restitution > 0.0; /* false for NaN */
    size_t at = model->pair_count++;
    for (; at > 0 && pair_before(&pair, model->pair[at - 1].a, model->pair[at - 1].b); --at) {
        model->pair[at] = model->pair[at - 1];
    }
    model->pair[at] = pair;
    return PERP_OK;
}

perp_wrench_def perp_wrench_def_default(void)
{
    return (perp_wrench_def){.struct_size = sizeof(perp_wrench_def)};
}

perp_status perp_model_add_wrench(perp_model* model, const perp_wrench_def* def)
{
    static const char* const force[] = {"force/0", "force/1", "force/2"};
    static const char* const torque3[] = {"torque/0", "torque/1", "torque/2"};
    static const char* const torque2[] = {"torque", "torque", "torque"};
    perp_context* context = model->context;
    int32_t body;
    perp_status status =
        perpi_check_struct(context, "perp_wrench_def", def->struct_size, sizeof *def);
    if (status == PERP_OK) {
        status = find_body(model, "body", def->body, &body);
    }
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
    status = perpi_values_make(context, def->force, def->force_text, 3, force, w.force);
    if (status == PERP_OK) {
        status = perpi_values_make(context, def->torque, def->torque_text, 3,
                                   model->dimension == 2 ? torque2 : torque3, w.torque);
    }
    if (status == PERP_OK) {
        status = perpi_keep_wrench(model, def);
    }
    if (status != PERP_OK) {
        perpi_values_free(context, w.force, 3);
        perpi_values_free(context, w.torque, 3);
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

/* ---- queries ------------------------------------------------------------------------------------ */

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
    if (pair != NULL && !isnan(pair->mu)) {
        return pair->mu;
    }
    return a == b ? a : sqrt(a) * sqrt(b); /* equal ones exactly; no overflow */
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

double perp_model_pair_restitution(const perp_model* model, int32_t a, int32_t b)
{
    const perpi_pair* pair = perpi_model_pair(model, a, b);
    const double e_a = model->body[a].restitution, e_b = model->body[b].restitution;
    if (pair != NULL && !isnan(pair->restitution)) {
        return pair->restitution;
    }
    return e_a == e_b ? e_a : sqrt(e_a * e_b);
}

bool perp_model_bounces(const perp_model* model)
{
    return model->bounces;
}

perp_impact_law perp_model_impact_law(const perp_model* model)
{
    return model->impact_law;
}

static bool names(char* const* list, int32_t count, const char* name)
{
    for (int32_t i = 0; i < count; ++i) {
        if (strcmp(list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool allows(const perp_model* model, int32_t a, int32_t b)
{
    const perpi_body* body = &model->body[a];
    const char* other = model->body[b].name;
    return !body->restricted ||
           ((!body->selective || names(body->allowed, body->allowed_count, other)) &&
            !names(body->ignored, body->ignored_count, other));
}

bool perp_model_pair_collides(const perp_model* model, int32_t a, int32_t b)
{
    const bool moves =
        model->body[a].type == PERP_BODY_DYNAMIC || model->body[b].type == PERP_BODY_DYNAMIC;
    return a != b && moves && !perpi_model_joined(model, a, b) && allows(model, a, b) &&
           allows(model, b, a);
}

const char* perp_model_name(const perp_model* model)
{
    return model->name;
}

void perp_model_gravity(const perp_model* model, double gravity[3])
{
    v3_to(model->gravity, gravity);
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
                           .restitution = body->restitution,
                           .shape_count = body->given,
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

perp_support_info perp_model_body_support(const perp_model* model, int32_t index)
{
    const perpi_support* support = &model->body[index].support;
    perp_support_info info = {.points = support->points};
    for (int32_t i = 0; i < support->points; ++i) {
        info.at[i][0] = support->at[i].x;
        info.at[i][1] = support->at[i].y;
        info.mu[i] = support->mu[i];
        info.load[i] = support->load[i];
    }
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
