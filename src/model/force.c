/* src/model/force.c - springs and drag: checking their defs, keeping them. */
#include <string.h>

#include "model/model.h"
#include "perp/force.h"

static bool finite3(const double* a)
{
    return isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
}

static perp_status check_amount(perp_context* context, const char* member, double x)
{
    if (!(x >= 0.0) || !isfinite(x)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be >= 0, got %g", member, x);
    }
    return PERP_OK;
}

/* ---- springs -------------------------------------------------------------------------------------*/

perp_spring_def perp_spring_def_default(void)
{
    return (perp_spring_def){.struct_size = sizeof(perp_spring_def), .rest = NAN, .implicit = true};
}

static perp_status find_ends(const perp_model* model, const perp_spring_def* def, int32_t body[2])
{
    const char* const name[2] = {def->a, def->b};
    static const char* const member[2] = {"a", "b"};
    bool dynamic = false;
    for (int side = 0; side < 2; ++side) {
        body[side] = -1;
        if (name[side] != NULL && strcmp(name[side], "world") == 0) {
            continue;
        }
        body[side] = name[side] != NULL ? perp_model_body_find(model, name[side]) : -1;
        if (body[side] < 0) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "%s: there is no body named '%s'; use the name of a body or "
                              "\"world\"",
                              member[side], name[side] != NULL ? name[side] : "");
        }
        dynamic = dynamic || model->body[body[side]].type == PERP_BODY_DYNAMIC;
    }
    if (body[0] == body[1]) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "b: a spring connects two different bodies, both are '%s'", def->b);
    }
    if (!dynamic) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "b: neither '%s' nor '%s' is dynamic: the spring could move nothing",
                          def->a, def->b);
    }
    return PERP_OK;
}

static perp_status check_spring(const perp_model* model, const perp_spring_def* def,
                                const int32_t body[2])
{
    perp_context* context = model->context;
    static const char* const member[2] = {"at_a", "at_b"};
    const double* const at[2] = {def->at_a, def->at_b};
    for (int side = 0; side < 2; ++side) {
        if (!finite3(at[side])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite", member[side]);
        }
        const bool particle = body[side] >= 0 && model->body[body[side]].particle;
        if (particle && (at[side][0] != 0.0 || at[side][1] != 0.0 || at[side][2] != 0.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "%s: '%s' is a particle: the spring ends at its centre; leave it out",
                              member[side], model->body[body[side]].name);
        }
    }
    perp_status status = check_amount(context, "stiffness", def->stiffness);
    if (status == PERP_OK) {
        status = check_amount(context, "damping", def->damping);
    }
    if (status == PERP_OK && !isnan(def->rest)) {
        status = check_amount(context, "rest", def->rest);
    }
    if (status == PERP_OK && def->stiffness == 0.0 && def->damping == 0.0) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "stiffness: a spring needs a stiffness or a damping > 0");
    }
    return status;
}

static vec3 end_at_start(const perp_model* model, int32_t body, vec3 at)
{
    if (body < 0) {
        return at;
    }
    const perpi_pose* pose = &model->body[body].pose;
    return v3_add(pose->x, m3_mul(pose->R, at));
}

perp_status perp_model_add_spring(perp_model* model, const perp_spring_def* def)
{
    perpi_spring s = {.at = {v3_from(def->at_a), v3_from(def->at_b)},
                      .stiffness = def->stiffness,
                      .damping = def->damping,
                      .rest = def->rest,
                      .implicit = def->implicit};
    perp_status status =
        perpi_check_struct(model->context, "perp_spring_def", def->struct_size, sizeof *def);
    if (status == PERP_OK) {
        status = find_ends(model, def, s.body);
    }
    if (status == PERP_OK) {
        status = check_spring(model, def, s.body);
    }
    if (status == PERP_OK) {
        status = perpi_grow(model->context, &model->spring, &model->spring_capacity,
                            model->spring_count + 1, sizeof *model->spring);
    }
    if (status == PERP_OK) {
        status = perpi_keep_spring(model, def);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (isnan(s.rest)) {
        s.rest = v3_norm(v3_sub(end_at_start(model, s.body[1], s.at[1]),
                                end_at_start(model, s.body[0], s.at[0])));
    }
    s.isotropic = s.rest == 0.0 || (def->isotropic && s.damping > 0.0);
    s.rows = !s.implicit ? 0 : s.isotropic ? model->dimension : 1;
    s.row = model->spring_rows;
    model->spring_rows += s.rows;
    model->spring[model->spring_count++] = s;
    return PERP_OK;
}

int32_t perp_model_spring_count(const perp_model* model)
{
    return (int32_t)model->spring_count;
}

perp_spring_info perp_model_spring_info(const perp_model* model, int32_t spring)
{
    const perpi_spring* s = &model->spring[spring];
    perp_spring_info info = {.a = s->body[0],
                             .b = s->body[1],
                             .stiffness = s->stiffness,
                             .damping = s->damping,
                             .rest = s->rest,
                             .isotropic = s->isotropic,
                             .implicit = s->implicit};
    v3_to(s->at[0], info.at_a);
    v3_to(s->at[1], info.at_b);
    return info;
}

/* ---- drag ----------------------------------------------------------------------------------------*/

perp_status perp_model_add_drag(perp_model* model, const perp_drag_def* def)
{
    const int32_t index = def->body != NULL ? perp_model_body_find(model, def->body) : -1;
    if (index < 0) {
        return perpi_fail(model->context, PERP_ERROR_INPUT, "body: there is no body named '%s'",
                          def->body != NULL ? def->body : "");
    }
    perpi_body* body = &model->body[index];
    if (body->type != PERP_BODY_DYNAMIC) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "body: '%s' is not dynamic: no force moves it", def->body);
    }
    perp_status status = check_amount(model->context, "linear", def->linear);
    if (status == PERP_OK) {
        status = check_amount(model->context, "angular", def->angular);
    }
    if (status == PERP_OK && body->particle && def->angular > 0.0) {
        status =
            perpi_fail(model->context, PERP_ERROR_INPUT,
                       "angular: '%s' is a particle and does not turn; leave it out", def->body);
    }
    if (status == PERP_OK) {
        status = perpi_keep_drag(model, def);
    }
    if (status == PERP_OK) {
        body->drag_linear += def->linear;
        body->drag_angular += def->angular;
    }
    return status;
}

perp_drag_def perp_model_drag(const perp_model* model, int32_t body)
{
    const perpi_body* b = &model->body[body];
    return (perp_drag_def){b->name, b->drag_linear, b->drag_angular};
}
