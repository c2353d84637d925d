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

/* The body whose motion a number is of: prescribed, and met by contacts alone (linear_step.h); -1: none. */
static int32_t motion_body(const perp_model* model, const perpi_field* f)
{
    const bool of_motion =
        f->kind == PERPI_FIELD_VALUE_MOTION || f->kind == PERPI_FIELD_OSCILLATION;
    if ((!of_motion && !is_start(f)) || model->body[f->index].type != PERP_BODY_KINEMATIC) {
        return -1;
    }
    return perpi_linear_meets_contacts_only(model, f->index) ? f->index : -1;
}

/* A number of the start of a prescribed body is one of its motion, too. */
static bool enters_steps(const perp_model* model, const perpi_field* f)
{
    return is_start(f) ? model->body[f->index].type == PERP_BODY_KINEMATIC
                       : f->kind != PERPI_FIELD_GRAVITY;
}

/* Light numbers and bodies of all parameters, one after the other. */
typedef struct number_lists {
    perpi_light_number* light;
    int32_t light_count;
    size_t light_capacity;
    int32_t* motion;
    int32_t motion_count;
    size_t motion_capacity;
} number_lists;

static perp_status add_motion(perp_context* context, number_lists* x, int32_t first, int32_t body)
{
    for (int32_t i = first; i < x->motion_count; ++i) {
        if (x->motion[i] == body) {
            return PERP_OK;
        }
    }
    const perp_status status = perpi_grow(context, &x->motion, &x->motion_capacity,
                                          (size_t)x->motion_count + 1, sizeof *x->motion);
    if (status == PERP_OK) {
        x->motion[x->motion_count++] = body;
    }
    return status;
}

/* Adds a number that a chained parameter changes to the lists. */
static perp_status add_number(perp_context* context, const perp_model* model,
                              const perpi_parameter_sensitivity* p, int32_t index,
                              const perpi_field* f, double value, number_lists* x)
{
    perpi_light_number number;
    if (!is_light(model, p, f, &number) ||
        /* of the nine entries of a round inertia one counts */
        (number.kind == PERPI_LIGHT_INERTIA && f->part != (model->dimension == 2 ? 8 : 0))) {
        return PERP_OK;
    }
    const perp_status status = perpi_grow(context, &x->light, &x->light_capacity,
                                          (size_t)x->light_count + 1, sizeof *x->light);
    if (status == PERP_OK) {
        number.parameter = index;
        number.value = value;
        x->light[x->light_count++] = number;
    }
    return status;
}

/* Sorts the numbers that a parameter changes: of the start, light ones, of motions, others. */
static perp_status sort_fields(perp_context* context, const perp_model* model,
                               const perpi_sensitivity* s, int32_t index, perpi_light_use use,
                               number_lists* lists, perpi_gradient_parameter* out)
{
    const perpi_parameter_sensitivity* p = perpi_sensitivity_of(s, index);
    const perpi_field* field = perpi_sensitivity_fields(s);
    static const double ROUGH = 1e-2; /* sensitivity.h */
    bool chained = true, moves = false;
    out->rough = p->roughness > ROUGH;
    out->impacts_only = true;
    perpi_light_number number;
    for (int32_t i = 0; i < p->count; ++i) {
        const perpi_field* f = &field[p->item[i].field];
        out->geometry = out->geometry || is_geometry(f);
        if (!enters_steps(model, f)) {
            continue;
        }
        const bool motion = motion_body(model, f) >= 0;
        out->steps = true;
        moves = moves || motion;
        out->impacts_only = out->impacts_only && (f->kind == PERPI_FIELD_BODY_RESTITUTION ||
                                                  f->kind == PERPI_FIELD_PAIR_RESTITUTION);
        chained =
            chained && (motion || (use != PERPI_LIGHT_NONE && is_light(model, p, f, &number)));
    }
    if (!out->steps || !chained) {
        return PERP_OK;
    }
    out->chained = true;
    /* backwards light numbers have multipliers of their own */
    out->steps = use != PERPI_LIGHT_BACKWARDS || moves;
    out->light_first = lists->light_count;
    const int32_t first = lists->motion_count;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < p->count; ++i) {
        const perpi_field* f = &field[p->item[i].field];
        const int32_t body = motion_body(model, f);
        status = body >= 0 ? add_motion(context, lists, first, body)
                 : enters_steps(model, f)
                     ? add_number(context, model, p, index, f, p->item[i].value, lists)
                     : PERP_OK;
    }
    out->light_count = lists->light_count - out->light_first;
    out->motion_count = lists->motion_count - first;
    return status;
}

static perp_status make_parameter(perp_context* context, const perp_model* model,
                                  const perpi_sensitivity* s, int32_t index, perpi_light_use use,
                                  number_lists* lists, double* start, perpi_gradient_parameter* out)
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
    return sort_fields(context, model, s, index, use, lists, out);
}

perp_status perpi_gradient_parameters_fill(perp_context* context, const perp_model* model,
                                           perpi_light_use use, perpi_gradient_parameters* x)
{
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t n = perpi_v_stride(model), own = perpi_sensitivity_count(x->sensitivity);
    const size_t count = (size_t)own + 2 * (size_t)n * (size_t)x->start_body_count;
    number_lists lists = {0};
    perp_status status = perpi_alloc(context, count + 1, sizeof *x->parameter, &x->parameter);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (count + 1) * (size_t)at.total, sizeof *x->start, &x->start);
    }
    for (int32_t i = 0; status == PERP_OK && i < own; ++i) {
        status = make_parameter(context, model, x->sensitivity, i, use, &lists,
                                x->start + (size_t)i * (size_t)at.total, &x->parameter[i]);
    }
    x->light = lists.light;
    x->light_count = lists.light_count;
    x->motion = lists.motion;
    x->count = own;
    const int32_t* motion = lists.motion; /* has its final place now */
    for (int32_t i = 0; status == PERP_OK && i < own; ++i) {
        x->parameter[i].motion = motion;
        motion += x->parameter[i].motion_count;
    }
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
    perpi_free(context, x->motion);
    perpi_sensitivity_destroy(x->sensitivity);
}
