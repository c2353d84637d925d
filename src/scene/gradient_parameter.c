/* src/scene/gradient_parameter.c - see gradient_parameter.h. */
#include "scene/gradient_parameter.h"

#include "base/context.h"
#include "step/formulate.h"

enum { MODELS = PERPI_GRADIENT_MODELS, VARIED = PERPI_SENSITIVITY_MODELS };

/* Where a number of the start stands in the state; -1: it is none. */
static int32_t start_place(const perp_model* model, const perpi_field* f)
{
    const perpi_linear_size at = perpi_linear_size_of(model);
    const bool planar = model->dimension == 2;
    const int32_t n = perpi_v_stride(model), first = n * f->index;
    switch (f->kind) {
    case PERPI_FIELD_START_POSITION: return planar && f->part == 2 ? -1 : at.q + first + f->part;
    case PERPI_FIELD_START_ROTATION:
        return planar ? (f->part == 2 ? at.q + first + 2 : -1) : at.q + first + 3 + f->part;
    case PERPI_FIELD_START_VELOCITY:
        if (planar) {
            return f->part < 2 ? at.v + first + f->part : f->part == 5 ? at.v + first + 2 : -1;
        }
        return at.v + first + f->part;
    default: return -1;
    }
}

static bool is_start(const perpi_field* f)
{
    return f->kind == PERPI_FIELD_START_POSITION || f->kind == PERPI_FIELD_START_ROTATION ||
           f->kind == PERPI_FIELD_START_VELOCITY;
}

static bool is_geometry(const perpi_field* f)
{
    return f->kind == PERPI_FIELD_BODY_OFFSET ||
           (f->kind >= PERPI_FIELD_SHAPE_SIZE && f->kind <= PERPI_FIELD_SHAPE_VERTEX);
}

/* Whether a number needs no variation of the whole step: linear_step.h. */
static bool is_light(const perp_model* model, const perpi_parameter_sensitivity* p,
                     const perpi_field* f, perpi_light_number* out)
{
    *out = (perpi_light_number){.index = f->index, .part = f->part};
    switch (f->kind) {
    case PERPI_FIELD_BODY_MASS: out->kind = PERPI_LIGHT_MASS; return true;
    case PERPI_FIELD_BODY_GRAVITY: out->kind = PERPI_LIGHT_GRAVITY; return true;
    case PERPI_FIELD_BODY_DRAG: out->kind = PERPI_LIGHT_DRAG; return true;
    case PERPI_FIELD_BODY_FRICTION: out->kind = PERPI_LIGHT_FRICTION_BODY; return true;
    case PERPI_FIELD_SHAPE_FRICTION: out->kind = PERPI_LIGHT_FRICTION_SHAPE; return true;
    case PERPI_FIELD_PAIR_FRICTION: out->kind = PERPI_LIGHT_FRICTION_PAIR; return true;
    case PERPI_FIELD_BODY_INERTIA: {
        bool round = true;
        for (int k = 0; k < VARIED; ++k) {
            round = round && (model->dimension == 2 || model->body[f->index].particle ||
                              perpi_inertia_round(&p->model[k]->body[f->index]));
        }
        out->kind = PERPI_LIGHT_INERTIA;
        return round && (model->dimension == 2 || perpi_inertia_round(&model->body[f->index]));
    }
    default: return false;
    }
}

typedef struct light_list {
    perpi_light_number* item;
    int32_t count;
    size_t capacity;
} light_list;

/* Sorts the numbers that a parameter changes: of the start, light ones, others. */
static perp_status sort_fields(perp_context* context, const perp_model* model,
                               const perpi_sensitivity* s, int32_t index, perpi_light_use use,
                               light_list* light, perpi_gradient_parameter* out)
{
    const perpi_parameter_sensitivity* p = perpi_sensitivity_of(s, index);
    const perpi_field* field = perpi_sensitivity_fields(s);
    bool all_light = use != PERPI_LIGHT_NONE;
    out->impacts_only = true;
    perpi_light_number number;
    for (int32_t i = 0; i < p->count; ++i) {
        const perpi_field* f = &field[p->item[i].field];
        out->geometry = out->geometry || is_geometry(f);
        if (!is_start(f) && f->kind != PERPI_FIELD_GRAVITY) {
            out->steps = true;
            out->impacts_only = out->impacts_only && (f->kind == PERPI_FIELD_BODY_RESTITUTION ||
                                                      f->kind == PERPI_FIELD_PAIR_RESTITUTION);
            all_light = all_light && is_light(model, p, f, &number);
        }
    }
    if (!out->steps || !all_light) {
        return PERP_OK;
    }
    out->steps = use == PERPI_LIGHT_FORWARD; /* backwards they have multipliers of their own */
    out->light_first = light->count;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < p->count; ++i) {
        const perpi_field* f = &field[p->item[i].field];
        if (is_start(f) || !is_light(model, p, f, &number)) {
            continue;
        }
        /* of the nine entries of a round inertia one counts */
        if (number.kind == PERPI_LIGHT_INERTIA && f->part != (model->dimension == 2 ? 8 : 0)) {
            continue;
        }
        status = perpi_grow(context, &light->item, &light->capacity, (size_t)light->count + 1,
                            sizeof *light->item);
        if (status == PERP_OK) {
            number.parameter = index;
            number.value = p->item[i].value;
            light->item[light->count++] = number;
        }
    }
    out->light_count = light->count - out->light_first;
    return status;
}

static perp_status make_parameter(perp_context* context, const perp_model* model,
                                  const perpi_sensitivity* s, int32_t index, perpi_light_use use,
                                  light_list* light, double* start, perpi_gradient_parameter* out)
{
    const perpi_parameter_sensitivity* p = perpi_sensitivity_of(s, index);
    const perpi_field* field = perpi_sensitivity_fields(s);
    *out = (perpi_gradient_parameter){.start = start};
    for (int32_t i = 0; i < p->count; ++i) {
        const int32_t place = start_place(model, &field[p->item[i].field]);
        if (place >= 0) {
            start[place] += p->item[i].value;
        }
    }
    for (int k = 0; k < MODELS; ++k) {
        out->model[k] = k < VARIED ? p->model[k] : model;
        out->weight[k] = k < VARIED ? p->weight[k] : p->weight_here;
    }
    return sort_fields(context, model, s, index, use, light, out);
}

perp_status perpi_gradient_parameters_fill(perp_context* context, const perp_model* model,
                                           perpi_light_use use, perpi_gradient_parameters* x)
{
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t n = perpi_v_stride(model), own = perpi_sensitivity_count(x->sensitivity);
    const size_t count = (size_t)own + 2 * (size_t)n * (size_t)x->start_body_count;
    light_list light = {0};
    perp_status status = perpi_alloc(context, count + 1, sizeof *x->parameter, &x->parameter);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (count + 1) * (size_t)at.total, sizeof *x->start, &x->start);
    }
    for (int32_t i = 0; status == PERP_OK && i < own; ++i) {
        status = make_parameter(context, model, x->sensitivity, i, use, &light,
                                x->start + (size_t)i * (size_t)at.total, &x->parameter[i]);
    }
    x->light = light.item;
    x->light_count = light.count;
    x->count = own;
    for (int32_t i = 0; status == PERP_OK && i < 2 * n * x->start_body_count; ++i) {
        const int32_t body = x->start_body[i / (2 * n)], k = i % (2 * n);
        double* start = x->start + (size_t)x->count * (size_t)at.total;
        start[(k < n ? at.q : at.v) + n * body + k % n] = 1.0;
        x->parameter[x->count++] = (perpi_gradient_parameter){.start = start};
    }
    return status;
}

void perpi_gradient_parameters_free(perp_context* context, perpi_gradient_parameters* x)
{
    perpi_free(context, x->parameter);
    perpi_free(context, x->start);
    perpi_free(context, x->light);
    perpi_sensitivity_destroy(x->sensitivity);
}
