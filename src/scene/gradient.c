/* src/scene/gradient.c - gradients by the parameters of a scene (perp/gradient.h).
 *
 * A parameter can enter any number of the scene. The scene is built at theta + k delta, k = -2, -1, 1, 2, and what a step
 * or the start has of these models is compared at a fixed state: central differences of fourth order, with errors near
 * 1e-12. The steps themselves, which is where errors would grow, are differentiated exactly (src/step/linear_step.c).
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "perp/gradient.h"
#include "scene/pointer.h"
#include "sim/gradient.h"
#include "sim/measure.h"
#include "sim/sim.h"
#include "step/formulate.h"
#include "step/linear_step.h"

enum { MODELS = PERPI_GRADIENT_MODELS };
static const double PLACE[MODELS] = {-2.0, -1.0, 1.0, 2.0};
static const double WEIGHT[MODELS] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
static const double DELTA = 1e-3; /* relative to the parameter; of 0, to 1 */

struct perp_gradient {
    perp_context* context;
    int32_t parameter_count, dimension;
    double value;
    double* of;    /* parameter_count */
    double* start; /* NULL: forward */
    double* body;  /* 12 a body, in the form of perp_gradient_start */
    perp_gradient_flags flags;
};

perp_gradient_def perp_gradient_def_default(void)
{
    return (perp_gradient_def){.struct_size = sizeof(perp_gradient_def), .threshold = 1e-6};
}

/* ---- scenes at other values ------------------------------------------------------------------------*/

/* The number at a JSON pointer, or of a parameter. */
static perp_status number_of(perp_context* context, const perp_scene* scene, const char* name,
                             double* value)
{
    if (name[0] != '/') {
        const int32_t i = perp_scene_parameter_find(scene, name);
        if (i < 0) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "gradient: the scene has no parameter '%.100s'", name);
        }
        *value = perp_scene_parameter(scene, i).value;
        return PERP_OK;
    }
    json_t* root = json_loads(perp_scene_text(scene), 0, NULL);
    json_t *null = json_null(), *old = NULL;
    bool of_file;
    perp_status status = root != NULL ? perpi_json_place(context, perp_scene_name(scene), root,
                                                         name, null, &old, &of_file)
                                      : PERP_ERROR_MEMORY;
    if (status == PERP_OK && !json_is_number(old)) {
        status = perpi_fail(context, PERP_ERROR_INPUT, "gradient: '%.100s' is not a number", name);
    } else if (status == PERP_OK) {
        *value = json_number_value(old);
    }
    json_decref(old);
    json_decref(root);
    return status;
}

static perp_status scene_at(perp_context* context, const perp_scene* scene, const char* name,
                            double value, perp_scene** out)
{
    char text[40];
    const char* own = perp_scene_text(scene);
    const perp_override override = {.pointer = name, .value = text};
    (void)snprintf(text, sizeof text, "%.17g", value);
    return perp_scene_parse(context, own, strlen(own), perp_scene_name(scene), &override, 1, out);
}

/* A parameter at its four values. */
typedef struct varied {
    perp_scene* scene[MODELS];
    double delta;
    double* start;
    perpi_expr* expr[MODELS];
} varied;

static void free_varied(perp_context* context, varied* x)
{
    for (int k = 0; k < MODELS; ++k) {
        perp_scene_destroy(x->scene[k]);
        perpi_expr_destroy(context, x->expr[k]);
        x->scene[k] = NULL;
        x->expr[k] = NULL;
    }
    perpi_free(context, x->start);
}

/* Where the scene cannot be built (a mass of 0, an angle beyond its range) a smaller delta is tried. */
static perp_status build_varied(perp_context* context, const perp_scene* scene, const char* name,
                                varied* x)
{
    double value = 0.0;
    perp_status status = number_of(context, scene, name, &value);
    if (status != PERP_OK) {
        return status;
    }
    x->delta = DELTA * (value != 0.0 ? fabs(value) : 1.0);
    for (int attempt = 0;; ++attempt) {
        status = PERP_OK;
        for (int k = 0; status == PERP_OK && k < MODELS; ++k) {
            status = scene_at(context, scene, name, value + PLACE[k] * x->delta, &x->scene[k]);
        }
        if (status != PERP_ERROR_INPUT || attempt == 4) {
            return status;
        }
        for (int k = 0; k < MODELS; ++k) {
            perp_scene_destroy(x->scene[k]);
            x->scene[k] = NULL;
        }
        x->delta *= 0.1;
    }
}

static bool same_structure(const perp_model* a, const perp_model* b)
{
    return a->body_count == b->body_count && a->joint_count == b->joint_count &&
           a->shape_count == b->shape_count && a->spring_count == b->spring_count &&
           a->spring_rows == b->spring_rows && a->controller_count == b->controller_count &&
           a->support_points == b->support_points && a->wrench_count == b->wrench_count &&
           a->pair_count == b->pair_count;
}

/* d start state / d theta. */
static perp_status differentiate_start(perp_context* context, const perp_model* model, varied* x)
{
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t n = perpi_v_stride(model);
    const perp_status status = perpi_alloc(context, (size_t)at.total, sizeof *x->start, &x->start);
    for (int k = 0; status == PERP_OK && k < MODELS; ++k) {
        const perp_model* other = perp_scene_model(x->scene[k]);
        const double w = WEIGHT[k] / x->delta;
        for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
            const perpi_body *a = &model->body[i], *b = &other->body[i];
            const vec3 moved = v3_sub(b->pose.x, a->pose.x);
            const vec3 turn = n == 3 ? v3(0, 0, b->angle - a->angle)
                                     : q4_log(q4_mul(b->pose.q, q4_conj(a->pose.q)));
            const vec3 v = v3_sub(b->v, a->v), rate = v3_sub(b->w, a->w);
            for (int32_t j = 0; j < n; ++j) {
                const int32_t angular = n == 3 ? 2 : j - 3;
                const bool linear = j < model->dimension;
                x->start[at.q + n * i + j] +=
                    w * (linear ? v3_get(moved, j) : v3_get(turn, angular));
                x->start[at.v + n * i + j] += w * (linear ? v3_get(v, j) : v3_get(rate, angular));
            }
        }
    }
    return status;
}

/* The measure's expression with the parameters at the other values, if it has any. The quantities of its slots must be
 * those of the simulation: they are found in the same order. */
static perp_status compile_measure(perp_context* context, const perp_sim* sim,
                                   const perp_model* model, int32_t measure, varied* x)
{
    const perp_sim_def* own = perpi_sim_asked(sim);
    perp_status status = PERP_OK;
    for (int k = 0; status == PERP_OK && k < MODELS; ++k) {
        const perp_sim_def def = perp_sim_def_from_scene(x->scene[k]);
        perpi_measure_names names = {.context = context,
                                     .model = model,
                                     .parameter = def.parameter,
                                     .parameter_count = def.parameter_count};
        /* those before it number the quantities */
        for (int32_t i = 0; status == PERP_OK && i <= measure; ++i) {
            perpi_expr* expr = NULL;
            bool of_step;
            status = perpi_measure_compile(&names, own->measure[i].expression, &expr, &of_step);
            if (status == PERP_OK && i == measure) {
                x->expr[k] = expr;
            } else if (status == PERP_OK) {
                perpi_expr_destroy(context, expr);
            }
        }
        perpi_free(context, names.quantity);
    }
    return status;
}

static perp_status make_parameter(perp_context* context, const perp_scene* scene,
                                  const perp_sim* sim, const char* name, int32_t measure, varied* x,
                                  perpi_gradient_parameter* out)
{
    const perp_model* model = perp_scene_model(scene);
    perp_status status = build_varied(context, scene, name, x);
    for (int k = 0; status == PERP_OK && k < MODELS; ++k) {
        if (!same_structure(model, perp_scene_model(x->scene[k]))) {
            status = perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                                "gradient: the structure of the scene depends on '%.100s'", name);
        }
    }
    if (status == PERP_OK) {
        status = differentiate_start(context, model, x);
    }
    if (status == PERP_OK) {
        status = compile_measure(context, sim, model, measure, x);
    }
    *out = (perpi_gradient_parameter){.steps = true, .geometry = true, .start = x->start};
    for (int k = 0; status == PERP_OK && k < MODELS; ++k) {
        out->model[k] = perp_scene_model(x->scene[k]);
        out->weight[k] = WEIGHT[k] / x->delta;
        out->expr[k] = x->expr[k];
    }
    return status;
}

/* ---- the gradient --------------------------------------------------------------------------------*/

void perp_gradient_destroy(perp_gradient* g)
{
    if (g == NULL) {
        return;
    }
    perpi_free(g->context, g->of);
    perpi_free(g->context, g->start);
    perpi_free(g->context, g->body);
    perpi_free(g->context, g);
}

static perp_status find_measure(perp_context* context, const perp_sim* sim, const char* name,
                                int32_t* measure)
{
    *measure = name != NULL ? perp_sim_measure_find(sim, name) : -1;
    return *measure >= 0 ? PERP_OK
                         : perpi_fail(context, PERP_ERROR_INPUT,
                                      "gradient: the scene has no measure '%.100s'",
                                      name != NULL ? name : "");
}

/* From the layout of linear_step.h to 12 numbers a body. */
static void spread_start(const perp_model* model, perp_gradient* g)
{
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t n = perpi_v_stride(model);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        for (int part = 0; part < 2; ++part) {
            const double* from = g->start + (part == 0 ? at.q : at.v) + n * i;
            double* to = g->body + 12 * (size_t)i + 6 * (size_t)part;
            for (int32_t j = 0; j < n; ++j) {
                to[n == 3 && j == 2 ? 5 : j] = from[j];
            }
        }
    }
}

static perp_status run_gradient(perp_context* context, const perp_scene* scene, perp_sim* sim,
                                const perp_gradient_def* def, perp_gradient* g)
{
    const size_t count = (size_t)def->parameter_count;
    const perp_model* model = perp_scene_model(scene);
    int32_t measure;
    varied* x = NULL;
    perpi_gradient_parameter* parameter = NULL;
    perp_status status = find_measure(context, sim, def->measure, &measure);
    if (status == PERP_OK) {
        status = perpi_gradient_check(sim, measure);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, count + 1, sizeof *x, &x);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, count + 1, sizeof *parameter, &parameter);
    }
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        status =
            make_parameter(context, scene, sim, def->parameter[i], measure, &x[i], &parameter[i]);
    }
    if (status == PERP_OK) {
        const perpi_gradient_input in = {.measure = measure,
                                         .parameter = parameter,
                                         .parameter_count = def->parameter_count,
                                         .mode = def->mode,
                                         .checkpoints =
                                             def->checkpoints && def->mode == PERP_GRADIENT_ADJOINT,
                                         .threshold = def->threshold};
        status = perpi_gradient_run(sim, &in, &g->value, g->of, g->start, &g->flags);
    }
    if (status == PERP_OK && g->start != NULL) {
        spread_start(model, g);
    }
    for (size_t i = 0; x != NULL && i < count; ++i) {
        free_varied(context, &x[i]);
    }
    perpi_free(context, x);
    perpi_free(context, parameter);
    return status;
}

perp_status perp_gradient_create(perp_context* context, perp_scene* scene,
                                 const perp_gradient_def* def, perp_gradient** gradient)
{
    const perp_model* model = perp_scene_model(scene);
    perp_gradient* g = NULL;
    perp_sim* sim = NULL;
    if (def->parameter_count < 0 || !(def->threshold >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "gradient: threshold must be >= 0, got %g",
                          def->threshold);
    }
    perp_status status = perpi_alloc(context, 1, sizeof *g, &g);
    if (status != PERP_OK) {
        return status;
    }
    g->context = context;
    g->parameter_count = def->parameter_count;
    g->dimension = model->dimension;
    status = perpi_alloc(context, (size_t)def->parameter_count + 1, sizeof *g->of, &g->of);
    if (status == PERP_OK && def->mode == PERP_GRADIENT_ADJOINT) {
        status = perpi_alloc(context, (size_t)perpi_gradient_start_size(model), sizeof *g->start,
                             &g->start);
        if (status == PERP_OK) {
            status = perpi_alloc(context, 12 * model->body_count, sizeof *g->body, &g->body);
        }
    }
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    if (status == PERP_OK) {
        status = run_gradient(context, scene, sim, def, g);
    }
    perp_sim_destroy(sim);
    if (status != PERP_OK) {
        perp_gradient_destroy(g);
        return status;
    }
    *gradient = g;
    return PERP_OK;
}

double perp_gradient_value(const perp_gradient* g)
{
    return g->value;
}

double perp_gradient_of(const perp_gradient* g, int32_t parameter)
{
    return g->of[parameter];
}

perp_gradient_flags perp_gradient_flags_of(const perp_gradient* g)
{
    return g->flags;
}

const double* perp_gradient_start(const perp_gradient* g, int32_t body)
{
    return g->start != NULL ? g->body + 12 * (size_t)body : NULL;
}

/* ---- differences ---------------------------------------------------------------------------------*/

static perp_status measure_at(perp_context* context, const perp_scene* scene, const char* name,
                              double value, const char* measure, double* out)
{
    perp_scene* other = NULL;
    perp_sim* sim = NULL;
    int32_t index;
    perp_status status = scene_at(context, scene, name, value, &other);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, other, &sim);
    }
    if (status == PERP_OK) {
        status = find_measure(context, sim, measure, &index);
    }
    if (status == PERP_OK) {
        status = perp_sim_run(sim);
    }
    if (status == PERP_OK) {
        *out = perp_sim_measure(sim, index);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(other);
    return status;
}

static perp_status difference_by(perp_context* context, const perp_scene* scene, const char* name,
                                 const char* measure, double* best, double* spread)
{
    enum { SIZES = 10 };
    static const double FIRST = 1e-3, RATIO = 0.25;
    double value = 0.0, last = NAN, found = INFINITY;
    perp_status status = number_of(context, scene, name, &value);
    double delta = FIRST * (value != 0.0 ? fabs(value) : 1.0);
    *best = NAN;
    for (int i = 0; status == PERP_OK && i < SIZES; ++i, delta *= RATIO) {
        double f[4] = {0};
        static const double at[4] = {-2.0, -1.0, 1.0, 2.0};
        for (int k = 0; status == PERP_OK && k < 4; ++k) {
            status = measure_at(context, scene, name, value + at[k] * delta, measure, &f[k]);
        }
        const double now = (8.0 * (f[2] - f[1]) - (f[3] - f[0])) / (12.0 * delta);
        if (fabs(now - last) < found) {
            found = fabs(now - last);
            *best = now;
        }
        last = now;
    }
    *spread = *best != 0.0 ? found / fabs(*best) : found;
    return status;
}

perp_status perp_gradient_difference(perp_context* context, perp_scene* scene,
                                     const perp_gradient_def* def, double* difference,
                                     double* spread)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < def->parameter_count; ++i) {
        double best, off;
        status = difference_by(context, scene, def->parameter[i], def->measure, &best, &off);
        if (status == PERP_OK && difference != NULL) {
            difference[i] = best;
        }
        if (status == PERP_OK && spread != NULL) {
            spread[i] = off;
        }
    }
    return status;
}
