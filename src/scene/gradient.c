/* src/scene/gradient.c - gradients by the parameters of a scene (perp/gradient.h).
 *
 * A parameter can enter any number of the scene: sensitivity.h says which, and keeps the models at
 * theta + k delta. What a step has of these models is compared at a fixed state: central
 * differences of fourth order, with errors near 1e-12. The numbers of the start, and light ones,
 * enter by their derivatives. The steps themselves, which is where errors would grow, are
 * differentiated exactly (src/step/linear_step.c).
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "scene/gradient.h"
#include "scene/gradient_parameter.h"
#include "scene/pointer.h"
#include "scene/sensitivity.h"
#include "scene/variant.h"
#include "sim/gradient.h"
#include "sim/measure.h"
#include "sim/sim.h"
#include "step/formulate.h"
#include "step/linear_step.h"

enum { MODELS = PERPI_GRADIENT_MODELS, VARIED = PERPI_SENSITIVITY_MODELS };

struct perp_gradient {
    perp_context* context;
    double value;
    double* of;    /* parameter_count */
    double* start; /* NULL: forward */
    double* body;  /* 12 a body, in the form of perp_gradient_start */
    perp_gradient_flags flags;
    double smooth;        /* 0: not smoothed */
    perp_gradient* exact; /* of the run itself, if it is smoothed; else NULL */
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
    json_t* root = json_loads(perp_scene_source(scene), 0, NULL);
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
    const char* own = perp_scene_source(scene);
    const perp_override override = {.pointer = name, .value = text};
    (void)snprintf(text, sizeof text, "%.17g", value);
    return perp_scene_parse(context, own, strlen(own), perpi_scene_origin(scene), &override, 1,
                            out);
}

/* The measures with a parameter at its other values, if they have any. */
typedef struct varied {
    perpi_expr** expr; /* MODELS for each measure */
} varied;

static void free_varied(perp_context* context, int32_t measures, varied* x)
{
    for (int32_t k = 0; x->expr != NULL && k < MODELS * measures; ++k) {
        perpi_expr_destroy(context, x->expr[k]);
    }
    perpi_free(context, x->expr);
}

/* The expressions of the measures up to one with other values of the parameters. The quantities of
 * their slots must be those of the simulation: they are found in the same order. out: for each
 * measure that `wanted` has, every MODELS-th place. used: measures that have parameters; NULL: not
 * asked for. */
static perp_status compile_with(perp_context* context, const perp_sim* sim, const perp_scene* scene,
                                int32_t last, const bool* wanted, bool* used, perpi_expr** out)
{
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    const perp_sim_def* own = perpi_sim_asked(sim);
    perpi_measure_names names = {.context = context,
                                 .model = perp_sim_model(sim),
                                 .parameter = def.parameter,
                                 .parameter_count = def.parameter_count,
                                 .measure = own->measure,
                                 .slot_base = own->measure_count};
    bool* has = NULL;
    perp_status status = perpi_alloc(context, (size_t)def.parameter_count + 1, sizeof *has, &has);
    for (int32_t i = 0; status == PERP_OK && i <= last; ++i) {
        bool of_step;
        perpi_expr* expr = NULL;
        names.measure_count = i;
        names.used = has;
        memset(has, 0, (size_t)def.parameter_count * sizeof *has);
        status = perpi_measure_compile(&names, own->measure[i].expression, &expr, &of_step);
        for (int32_t k = 0; status == PERP_OK && used != NULL && k < def.parameter_count; ++k) {
            used[i] = used[i] || has[k];
        }
        if (out != NULL && wanted[i]) {
            out[MODELS * i] = expr;
        } else {
            perpi_expr_destroy(context, expr);
        }
    }
    perpi_free(context, has);
    perpi_free(context, names.quantity);
    perpi_free(context, names.use);
    return status;
}

/* Measures up to one whose expressions have parameters. */
static perp_status find_explicit(perp_context* context, const perp_sim* sim,
                                 const perp_scene* scene, int32_t last, bool* used, bool* any)
{
    const perp_status status = compile_with(context, sim, scene, last, NULL, used, NULL);
    *any = false;
    for (int32_t i = 0; status == PERP_OK && i <= last; ++i) {
        *any = *any || used[i];
    }
    return status;
}

static perp_status compile_varied(perp_context* context, const perp_sim* sim,
                                  const perp_scene* scene, int32_t last, const bool* used,
                                  const perpi_parameter_sensitivity* p, varied* x)
{
    /* where the models are: sensitivity.h */
    static const double central[VARIED] = {-2.0, -1.0, 1.0, 2.0},
                        aside[VARIED] = {1.0, 2.0, 3.0, 4.0};
    const double* place = p->weight_here == 0.0 ? central : aside;
    const double delta = p->weight_here > 0.0 ? -p->delta : p->delta;
    perp_status status =
        perpi_alloc(context, (size_t)(MODELS * (last + 1)), sizeof *x->expr, &x->expr);
    for (int k = 0; status == PERP_OK && k < MODELS; ++k) {
        perp_scene* other = NULL;
        const double by = k < VARIED ? place[k] * delta : 0.0;
        status = scene_at(context, scene, p->name, p->value + by, &other);
        if (status == PERP_OK) {
            status = compile_with(context, sim, other, last, used, NULL, x->expr + k);
        }
        perp_scene_destroy(other);
    }
    return status;
}

/* ---- the gradient --------------------------------------------------------------------------------*/

void perp_gradient_destroy(perp_gradient* g)
{
    if (g == NULL) {
        return;
    }
    perp_gradient_destroy(g->exact);
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

/* Whether quantities of the measures depend on the model itself (sim/gradient_sample.c): each
 * parameter needs models of its own. */
static bool measures_read_models(const perp_sim* sim)
{
    int32_t count;
    bool any = false;
    const perp_quantity* quantity = perpi_measures_quantities(sim, &count);
    for (int32_t i = 0; i < count; ++i) {
        any = any || perpi_gradient_reads_model(&quantity[i]);
    }
    return any;
}

/* Whether steps need models of a parameter that it shares with others. */
static bool lacks_models(const perpi_gradient_parameters* of)
{
    bool any = false;
    for (int32_t i = 0; i < perpi_sensitivity_count(of->sensitivity); ++i) {
        any = any || (perpi_sensitivity_of(of->sensitivity, i)->shared && of->parameter[i].steps &&
                      !of->parameter[i].chained);
    }
    return any;
}

/* The parameters again, each with models of its own. */
static perp_status separate_models(perp_context* context, perp_scene* scene,
                                   const perp_gradient_def* def, perpi_light_use use,
                                   perpi_gradient_parameters* of)
{
    perpi_gradient_parameters_free(context, of);
    *of = (perpi_gradient_parameters){0};
    const perp_status status = perpi_sensitivity_create(
        context, scene,
        &(perpi_sensitivity_def){.name = def->parameter, .count = def->parameter_count},
        &of->sensitivity);
    return status == PERP_OK
               ? perpi_gradient_parameters_fill(context, perp_scene_model(scene), use, of)
               : status;
}

/* What a run needs of the parameters. */
typedef struct prepared {
    varied* varied;
    perpi_gradient_parameters of;
} prepared;

static perp_status prepare_parameters(perp_context* context, perp_scene* scene, perp_sim* sim,
                                      const perp_gradient_def* def, int32_t measure, prepared* x)
{
    const size_t count = (size_t)def->parameter_count;
    /* of the adjoint of impacts they have no multipliers, nor of feed-forward and corrections; and the barrier
     * parameter depends on masses and gravity */
    const bool none = perpi_sim_adaptive(sim) || !perpi_sim_plain_numbers(sim) || def->smooth > 0.0;
    const perpi_light_use use = none                                 ? PERPI_LIGHT_NONE
                                : def->mode == PERP_GRADIENT_FORWARD ? PERPI_LIGHT_FORWARD
                                : perpi_sim_bounces(sim)             ? PERPI_LIGHT_NONE
                                                                     : PERPI_LIGHT_BACKWARDS;
    bool explicit = false, *used = NULL;
    perp_status status = perpi_alloc(context, count + 1, sizeof *x->varied, &x->varied);
    if (status == PERP_OK) {
        status = perpi_gradient_parameters_fill(context, perp_scene_model(scene), use, &x->of);
    }
    if (status == PERP_OK && (lacks_models(&x->of) || measures_read_models(sim))) {
        status = separate_models(context, scene, def, use, &x->of);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)measure + 1, sizeof *used, &used);
    }
    if (status == PERP_OK) {
        status = find_explicit(context, sim, scene, measure, used, &explicit);
    }
    for (int32_t i = 0; status == PERP_OK && i < def->parameter_count; ++i) {
        if (explicit) {
            status = compile_varied(context, sim, scene, measure, used,
                                    perpi_sensitivity_of(x->of.sensitivity, i), &x->varied[i]);
            x->of.parameter[i].expr = x->varied[i].expr;
        }
    }
    perpi_free(context, used);
    return status;
}

/* What is asked for beside the definition. */
typedef struct asked_for {
    bool only_try;
    const double* direction;   /* NULL: none */
    perpi_gradient_jets* jets; /* several measures; NULL: that of the definition */
} asked_for;

/* The measures of jets, and the last of them. */
static perp_status find_measures(perp_context* context, perp_sim* sim,
                                 const perpi_gradient_jets* jets, int32_t* list, int32_t* last)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < jets->measure_count; ++i) {
        status = find_measure(context, sim, jets->measure[i], &list[i]);
        if (status == PERP_OK) {
            status = perpi_gradient_check(sim, list[i]);
        }
        *last = status == PERP_OK && list[i] > *last ? list[i] : *last;
    }
    return status;
}

static perp_status run_gradient(perp_context* context, perp_scene* scene, perp_sim* sim,
                                const perp_gradient_def* def, const asked_for* ask, prepared* x,
                                perp_gradient* g)
{
    int32_t measure = -1, *list = NULL;
    const bool only_try = ask->only_try;
    const size_t several = ask->jets != NULL ? (size_t)ask->jets->measure_count : 0;
    perp_status status = perpi_alloc(context, several + 1, sizeof *list, &list);
    if (status == PERP_OK && ask->jets != NULL) {
        status = find_measures(context, sim, ask->jets, list, &measure);
    } else if (status == PERP_OK) {
        status = find_measure(context, sim, def->measure, &measure);
    }
    if (status == PERP_OK) {
        status = perpi_gradient_check(sim, measure);
    }
    if (status == PERP_OK) {
        status = prepare_parameters(context, scene, sim, def, measure, x);
    }
    if (status == PERP_OK) {
        const perpi_gradient_input in = {.measure = measure,
                                         .parameter = x->of.parameter,
                                         .parameter_count = def->parameter_count,
                                         .mode = def->mode,
                                         .checkpoints =
                                             def->checkpoints && def->mode == PERP_GRADIENT_ADJOINT,
                                         .threshold = def->threshold,
                                         .light = x->of.light,
                                         .light_count = x->of.light_count,
                                         .direction = ask->direction,
                                         .measures = list,
                                         .measure_count = (int32_t)several,
                                         .curvature = ask->jets != NULL && ask->jets->curvature,
                                         .jets = ask->jets != NULL ? ask->jets->jets : NULL};
        status = only_try ? perpi_gradient_check_parameters(sim, &in)
                          : perpi_gradient_run(sim, &in, &g->value, g->of, g->start, &g->flags);
    }
    if (status == PERP_OK && g->start != NULL) {
        spread_start(perp_scene_model(scene), g);
    }
    for (int32_t i = 0; x->varied != NULL && i < def->parameter_count; ++i) {
        free_varied(context, measure + 1, &x->varied[i]);
    }
    perpi_free(context, x->varied);
    perpi_free(context, list);
    return status;
}

static perp_status create_gradient(perp_context* context, perp_scene* scene,
                                   const perp_gradient_def* def, const asked_for* ask,
                                   perp_gradient** gradient)
{
    perp_gradient* g = NULL;
    perp_sim* sim = NULL;
    prepared x = {0};
    if (def->parameter_count < 0 || !(def->threshold >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "gradient: threshold must be >= 0, got %g",
                          def->threshold);
    }
    if (!(def->smooth >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "gradient: smooth: expected a barrier parameter from 1e-8 to 1, got %g",
                          def->smooth);
    }
    perp_status status =
        perpi_check_struct(context, "perp_gradient_def", def->struct_size, sizeof *def);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *g, &g);
    }
    if (status != PERP_OK) {
        return status;
    }
    g->context = context;
    g->smooth = def->smooth;
    /* builds the scene anew: before the simulation */
    status = perpi_sensitivity_create(
        context, scene,
        &(perpi_sensitivity_def){.name = def->parameter,
                                 .count = def->parameter_count,
                                 .share = !perp_scene_model(scene)->bounces},
        &x.of.sensitivity);
    const perp_model* model = perp_scene_model(scene);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)def->parameter_count + 1, sizeof *g->of, &g->of);
    }
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
    if (status == PERP_OK && def->smooth > 0.0) {
        status = perpi_sim_smooth(sim, def->smooth);
    }
    if (status == PERP_OK) {
        status = run_gradient(context, scene, sim, def, ask, &x, g);
    }
    perp_sim_destroy(sim);
    perpi_gradient_parameters_free(context, &x.of);
    if (status != PERP_OK) {
        perp_gradient_destroy(g);
        return status;
    }
    *gradient = g;
    return PERP_OK;
}

perp_status perp_gradient_create(perp_context* context, perp_scene* scene,
                                 const perp_gradient_def* def, perp_gradient** gradient)
{
    perp_gradient *g = NULL, *exact = NULL;
    perp_status status = create_gradient(context, scene, def, &(asked_for){0}, &g);
    if (status == PERP_OK && def->smooth > 0.0) {
        perp_gradient_def own = *def;
        own.smooth = 0.0;
        status = create_gradient(context, scene, &own, &(asked_for){0}, &exact);
        g->exact = exact;
    }
    if (status != PERP_OK) {
        perp_gradient_destroy(g);
        return status;
    }
    *gradient = g;
    return PERP_OK;
}

perp_status perp_gradient_direction(perp_context* context, perp_scene* scene,
                                    const perp_gradient_def* def, const double* direction,
                                    double* value, double* derivative, perp_gradient_flags* flags)
{
    perp_gradient_def forward = *def;
    perp_gradient* g = NULL;
    bool finite = def->parameter_count > 0;
    for (int32_t i = 0; i < def->parameter_count; ++i) {
        finite = finite && isfinite(direction[i]);
    }
    if (!finite) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "gradient: a direction needs finite parts of one or more parameters");
    }
    if (def->smooth != 0.0) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "gradient: a smoothed run has no one-sided derivatives: leave out smooth, "
            "or the direction");
    }
    forward.mode = PERP_GRADIENT_FORWARD;
    const perp_status status =
        create_gradient(context, scene, &forward, &(asked_for){.direction = direction}, &g);
    if (status == PERP_OK) {
        *value = g->value;
        *derivative = g->of[0];
        if (flags != NULL) {
            *flags = g->flags;
        }
    }
    perp_gradient_destroy(g);
    return status;
}

perp_status perpi_gradient_try(perp_context* context, perp_scene* scene,
                               const perp_gradient_def* def)
{
    perp_gradient* g = NULL;
    const perp_status status =
        create_gradient(context, scene, def, &(asked_for){.only_try = true}, &g);
    perp_gradient_destroy(status == PERP_OK ? g : NULL);
    return status;
}

perp_status perpi_gradient_measures(perp_context* context, perp_scene* scene,
                                    const perp_gradient_def* def, perpi_gradient_jets* jets,
                                    perp_gradient_flags* flags)
{
    perp_gradient_def forward = *def;
    perp_gradient* g = NULL;
    forward.mode = PERP_GRADIENT_FORWARD;
    const perp_status status =
        create_gradient(context, scene, &forward, &(asked_for){.jets = jets}, &g);
    if (status == PERP_OK) {
        *flags = g->flags;
    }
    perp_gradient_destroy(g);
    return status;
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

perp_gradient_smoothed perp_gradient_smoothed_of(const perp_gradient* g)
{
    const perp_gradient* exact = g->exact;
    return exact == NULL ? (perp_gradient_smoothed){.exact = NAN, .bias = NAN}
                         : (perp_gradient_smoothed){.kappa = g->smooth,
                                                    .exact = exact->value,
                                                    .bias = g->value - exact->value,
                                                    .compared = exact->flags.flagged == 0,
                                                    .flags = exact->flags};
}

double perp_gradient_exact_of(const perp_gradient* g, int32_t parameter)
{
    return g->exact != NULL ? g->exact->of[parameter] : NAN;
}

const double* perp_gradient_start(const perp_gradient* g, int32_t body)
{
    return g->start != NULL ? g->body + 12 * (size_t)body : NULL;
}

/* ---- differences ---------------------------------------------------------------------------------*/

static perp_status measure_at(perp_context* context, const perp_scene* scene, const char* name,
                              double value, const perp_gradient_def* def, double* out)
{
    perp_scene* other = NULL;
    perp_sim* sim = NULL;
    int32_t index;
    perp_status status = scene_at(context, scene, name, value, &other);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, other, &sim);
    }
    if (status == PERP_OK) { /* with the same kind of steps */
        status = perpi_gradient_check_sim(sim);
    }
    if (status == PERP_OK) {
        status = find_measure(context, sim, def->measure, &index);
    }
    if (status == PERP_OK && def->smooth > 0.0) {
        status = perpi_sim_smooth(sim, def->smooth);
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
                                 const perp_gradient_def* def, double* best, double* spread)
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
            status = measure_at(context, scene, name, value + at[k] * delta, def, &f[k]);
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
        status = difference_by(context, scene, def->parameter[i], def, &best, &off);
        if (status == PERP_OK && difference != NULL) {
            difference[i] = best;
        }
        if (status == PERP_OK && spread != NULL) {
            spread[i] = off;
        }
    }
    return status;
}
