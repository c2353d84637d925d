/* src/study/design_read.c - the keys of a design, and what they say of its runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "study/design.h"

#define DEFAULT_TOLERANCE 1e-6
#define DEFAULT_EVALUATIONS 1000
/* The first step of an unknown, as a part of the distance of its bounds. */
#define DEFAULT_SCALE 0.1
#define DEFAULT_SCALE_CMA 0.25

static const char* const methods[] = {"auto",   "nelder-mead", "bobyqa", "sbplx",
                                      "cma-es", "gradient",    NULL};
/* Unknowns that a method takes, at least and at most. */
static const struct {
    int32_t least, most;
} range[] = {{1, 200}, {1, 20}, {2, 100}, {1, 100}, {1, 200}, {1, 200}};

const char* perp_design_method_name(perp_design_method method)
{
    return (unsigned)method < sizeof methods / sizeof methods[0] - 1 ? methods[method] : "unknown";
}

/* ---- unknowns ---------------------------------------------------------------------------------*/

static perp_status read_unknown(perpi_reader* r, const json_t* value, perp_unknown* u)
{
    static const char* const keys[] = {"start", "bounds", "scale", NULL};
    double bound[2];
    PERPI_TRY(perpi_read_object(r, value, keys));
    PERPI_TRY(perpi_require(r, value, "start"));
    PERPI_TRY(perpi_require(r, value, "bounds"));
    const json_t* start = json_object_get(value, "start");
    if (!json_is_number(start)) {
        return perpi_reader_fail_key(r, "start", PERP_ERROR_INPUT, "must be a number, got %s",
                                     perpi_json_kind(start));
    }
    u->start = json_number_value(start);
    const size_t mark = perpi_reader_enter(r, "bounds");
    PERPI_TRY(perpi_study_numbers(r, json_object_get(value, "bounds"), 2, bound));
    u->low = bound[0];
    u->high = bound[1];
    if (u->low < u->high && !isfinite(u->high - u->low)) {
        return perpi_reader_fail(
            r, PERP_ERROR_INPUT,
            "the bounds are too far apart: their distance must be a finite number, got %.12g and "
            "%.12g",
            u->low, u->high);
    }
    if (!(u->low < u->high)) {
        return perpi_reader_fail(
            r, PERP_ERROR_INPUT,
            "the lower bound must be less than the upper one, got %.12g and %.12g", u->low,
            u->high);
    }
    perpi_reader_leave(r, mark);
    if (!(u->start >= u->low && u->start <= u->high)) {
        return perpi_reader_fail_key(r, "start", PERP_ERROR_INPUT,
                                     "must be within the bounds, %.12g to %.12g, got %.12g", u->low,
                                     u->high, u->start);
    }
    const json_t* scale = json_object_get(value, "scale");
    u->scale = json_number_value(scale);
    if (scale != NULL && (!json_is_number(scale) || !(u->scale > 0.0))) {
        return perpi_reader_fail_key(r, "scale", PERP_ERROR_INPUT,
                                     "the first step of the search: must be a number > 0");
    }
    return PERP_OK;
}

static perp_status read_unknowns(perpi_reader* r, perp_study* s)
{
    perpi_design* d = s->design;
    json_t* unknown = json_object_get(s->root, "unknown");
    const size_t mark = perpi_reader_enter(r, "unknown");
    if (!json_is_object(unknown) || json_object_size(unknown) == 0 ||
        json_object_size(unknown) > PERPI_DESIGN_UNKNOWNS) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be an object with 1 to %d unknowns, such as "
                                 "{\"A\": {\"start\": 8, \"bounds\": [0, 40]}}",
                                 PERPI_DESIGN_UNKNOWNS);
    }
    PERPI_TRY(perpi_alloc(r->context, json_object_size(unknown), sizeof *d->unknown, &d->unknown));
    for (void* i = json_object_iter(unknown); i != NULL; i = json_object_iter_next(unknown, i)) {
        perp_unknown* u = &d->unknown[d->unknown_count];
        perpi_vary* v = NULL;
        u->name = json_object_iter_key(i);
        const size_t inner = perpi_reader_enter(r, u->name);
        PERPI_TRY(perpi_study_add_name(r, s, u->name, &v));
        if (perpi_study_is_reserved_unknown(u->name)) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "is a column of the evaluations: give the parameter another "
                                     "name, or use its pointer, /parameters/%s",
                                     u->name);
        }
        PERPI_TRY(read_unknown(r, json_object_iter_value(i), u));
        v->info.kind = PERP_VARY_UNKNOWN;
        v->info.low = u->low;
        v->info.high = u->high;
        d->unknown_count += 1;
        perpi_reader_leave(r, inner);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* ---- cases ------------------------------------------------------------------------------------*/

static perp_status check_case_value(perpi_reader* r, const char* name, const json_t* value)
{
    if (!json_is_number(value) && !(name[0] == '/' && json_is_string(value))) {
        return perpi_reader_fail_key(r, name, PERP_ERROR_INPUT, "must be a number%s, got %s",
                                     name[0] == '/' ? " or a string" : "", perpi_json_kind(value));
    }
    return PERP_OK;
}

/* Every case sets the same names: what one leaves out would keep the value of another. */
static perp_status read_case(perpi_reader* r, perp_study* s, size_t index)
{
    const json_t* first = json_array_get(s->design->cases, 0);
    const json_t* item = json_array_get(s->design->cases, index);
    if (!json_is_object(item) || json_object_size(item) == 0) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be an object of names and values, such as {\"r0\": 0.04}");
    }
    for (void* i = json_object_iter((json_t*)item); i != NULL;
         i = json_object_iter_next((json_t*)item, i)) {
        const char* name = json_object_iter_key(i);
        PERPI_TRY(check_case_value(r, name, json_object_iter_value(i)));
        if (index == 0) {
            perpi_vary* v = NULL;
            const size_t mark = perpi_reader_enter(r, name);
            PERPI_TRY(perpi_study_add_name(r, s, name, &v));
            v->info.kind = PERP_VARY_CASE;
            perpi_reader_leave(r, mark);
        } else if (json_object_get(first, name) == NULL) {
            return perpi_reader_fail_key(r, name, PERP_ERROR_INPUT,
                                         "is not set by /cases/0: every case sets the same names");
        }
    }
    if (json_object_size(item) != json_object_size(first)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "sets %zu names, /cases/0 sets %zu: every case sets the same "
                                 "names",
                                 json_object_size(item), json_object_size(first));
    }
    return PERP_OK;
}

static perp_status read_cases(perpi_reader* r, perp_study* s)
{
    perpi_design* d = s->design;
    d->case_count = 1;
    const json_t* cases = json_object_get(s->root, "cases");
    if (cases == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "cases");
    PERPI_TRY(perpi_read_array(r, cases));
    if (json_array_size(cases) == 0 || json_array_size(cases) > 100000) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have 1 to 100000 cases, got %zu",
                                 json_array_size(cases));
    }
    d->cases = cases;
    d->case_count = (int32_t)json_array_size(cases);
    for (size_t i = 0; i < json_array_size(cases); ++i) {
        const size_t inner = perpi_reader_enter_item(r, i);
        PERPI_TRY(read_case(r, s, i));
        perpi_reader_leave(r, inner);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------*/

static perp_status read_texts(perpi_reader* r, perp_study* s)
{
    perpi_design* d = s->design;
    PERPI_TRY(perpi_require(r, s->root, "minimise"));
    PERPI_TRY(perpi_read_string(r, s->root, "minimise", &d->minimise_text));
    const json_t* list = json_object_get(s->root, "subject_to");
    if (list == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "subject_to");
    PERPI_TRY(perpi_read_array(r, list));
    if (json_array_size(list) > PERPI_DESIGN_CONSTRAINTS) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have at most %d constraints, got %zu",
                                 PERPI_DESIGN_CONSTRAINTS, json_array_size(list));
    }
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const char* text = json_string_value(json_array_get(list, i));
        if (text == NULL || text[0] == '\0') {
            (void)perpi_reader_enter_item(r, i);
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "must be a comparison as a string, such as \"x - 2 <= 0\"");
        }
        d->constraint_text[d->constraint_count++] = text;
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_stop(perpi_reader* r, perp_study* s)
{
    perpi_design* d = s->design;
    d->evaluations = DEFAULT_EVALUATIONS;
    d->tolerance = DEFAULT_TOLERANCE;
    return perpi_study_stop(r, s, "evaluations", 10000000, &d->evaluations, &d->tolerance);
}

static perp_status read_choices(perpi_reader* r, perp_study* s)
{
    static const char* const combines[] = {"sum", "max", "mean", NULL};
    static const char* const robusts[] = {"mean", "worst", NULL};
    perpi_design* d = s->design;
    int combine = PERPI_COMBINE_SUM, robust = 0, method = PERP_DESIGN_AUTO;
    int64_t starts = 1, population = 0;
    PERPI_TRY(perpi_study_word(r, s->root, "combine", combines, &combine));
    PERPI_TRY(perpi_study_word(r, s->root, "robust", robusts, &robust));
    PERPI_TRY(perpi_study_word(r, s->root, "method", methods, &method));
    PERPI_TRY(perpi_study_whole(r, s->root, "starts", 1, 1000, &starts));
    PERPI_TRY(perpi_study_whole(r, s->root, "population", 4, 10000, &population));
    d->combine = (perpi_combine)combine;
    d->worst = robust == 1;
    d->asked = (perp_design_method)method;
    d->starts = (int32_t)starts;
    d->population = (int32_t)population;
    return PERP_OK;
}

perp_status perpi_design_read(perpi_reader* r, perp_study* s)
{
    static const char* const ours[] = {"cases",  "minimise", "combine", "robust",     "subject_to",
                                       "method", "starts",   "stop",    "population", NULL};
    if (json_object_get(s->root, "unknown") == NULL) {
        for (int i = 0; ours[i] != NULL; ++i) {
            if (json_object_get(s->root, ours[i]) != NULL) {
                return perpi_reader_fail_key(r, ours[i], PERP_ERROR_INPUT,
                                             "is a key of a design, which has /unknown too");
            }
        }
        return PERP_OK;
    }
    PERPI_TRY(perpi_alloc(r->context, 1, sizeof *s->design, &s->design));
    PERPI_TRY(read_unknowns(r, s));
    PERPI_TRY(read_cases(r, s));
    PERPI_TRY(read_texts(r, s));
    PERPI_TRY(read_stop(r, s));
    return read_choices(r, s);
}

/* ---- objective and constraints with the scene -------------------------------------------------*/

typedef struct design_names {
    perp_study* study;
    json_t* parameters; /* of the scene as it was built; may be NULL */
} design_names;

static perp_status no_such_name(const design_names* x, const char* name)
{
    const perp_study* s = x->study;
    const char* best = NULL;
    const int32_t measures = perp_study_measure_count(s);
    const int32_t parameters = perp_scene_parameter_count(s->scene);
    for (int32_t i = 0; i < measures + s->vary_count + parameters; ++i) {
        const char* other = i < measures ? perp_study_measure_name(s, i)
                            : i < measures + s->vary_count
                                ? s->vary[i - measures].info.name
                                : perp_scene_parameter(s->scene, i - measures - s->vary_count).name;
        const char* const both[] = {best != NULL ? best : other, other, NULL};
        best = perpi_nearest(name, both);
    }
    return best != NULL
               ? perpi_fail(s->context, PERP_ERROR_INPUT,
                            "no measure, parameter or unknown '%.200s' (did you mean "
                            "'%.200s'?)",
                            name, best)
               : perpi_fail(s->context, PERP_ERROR_INPUT,
                            "no measure of the scene, parameter or unknown '%.200s'", name);
}

/* A column holds a number in every run. */
static bool is_numeric(const perp_study* s, int32_t vary)
{
    const perpi_vary* v = &s->vary[vary];
    const json_t* list = v->info.kind == PERP_VARY_CASE ? s->design->cases : v->item;
    for (size_t i = 0; list != NULL && i < json_array_size(list); ++i) {
        const json_t* item = json_array_get(list, i);
        item = v->info.kind == PERP_VARY_CASE ? json_object_get(item, v->info.name) : item;
        if (json_is_string(item)) {
            return false;
        }
    }
    return true;
}

static perp_status find_name(void* user, const perpi_expr_name* given, perpi_symbol* symbol)
{
    const design_names* x = user;
    perp_study* s = x->study;
    char name[512];
    (void)snprintf(name, sizeof name, "%s", given->text);
    for (char* c = name; *c != '\0'; ++c) {
        *c = *c == PERPI_NAME_DOT ? '.' : *c;
    }
    const int32_t measures = perp_study_measure_count(s);
    for (int32_t i = 0; i < measures; ++i) {
        if (strcmp(perp_study_measure_name(s, i), name) == 0) {
            *symbol = (perpi_symbol){.varies = true, .slot = i};
            return PERP_OK;
        }
    }
    for (int32_t i = 0; i < s->vary_count; ++i) {
        if (strcmp(s->vary[i].info.name, name) == 0) {
            if (!is_numeric(s, i)) {
                return perpi_fail(s->context, PERP_ERROR_INPUT, "'%.200s' is not a number", name);
            }
            *symbol = (perpi_symbol){.varies = true, .slot = measures + i};
            return PERP_OK;
        }
    }
    const json_t* value = json_object_get(x->parameters, name);
    if (json_is_string(value)) {
        return perpi_fail(
            s->context, PERP_ERROR_INPUT,
            "parameter '%.200s' is an expression: add a measure to the scene that has "
            "its value",
            name);
    }
    if (json_is_number(value)) {
        *symbol = (perpi_symbol){.value = json_number_value(value)};
        return PERP_OK;
    }
    return no_such_name(x, name);
}

static perp_status compile_all(perpi_reader* r, perp_study* s, design_names* x)
{
    perpi_design* d = s->design;
    const perpi_expr_names names = {
        .find = find_name,
        .user = x,
        .no_time = "there is no time here (a measure of the scene knows it), but t stands"};
    char message[1024];
    perp_status status =
        perpi_expr_compile_names(r->context, d->minimise_text, &names, &d->minimise);
    if (status != PERP_OK) {
        (void)snprintf(message, sizeof message, "%s", perp_context_error(r->context));
        return perpi_reader_fail_key(r, "minimise", status, "%s", message);
    }
    (void)perpi_reader_enter(r, "subject_to");
    for (int32_t i = 0; i < d->constraint_count; ++i) {
        const size_t mark = perpi_reader_enter_item(r, (size_t)i);
        double margin;
        status =
            perpi_expr_compile_names(r->context, d->constraint_text[i], &names, &d->constraint[i]);
        if (status != PERP_OK) {
            (void)snprintf(message, sizeof message, "%s", perp_context_error(r->context));
            return perpi_reader_fail(r, status, "%s", message);
        }
        if (!perpi_expr_margin(d->constraint[i], 0.0, d->slot, &margin)) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "must be one comparison by <= or >=, such as \"a - 2 <= 0\"; "
                                     "for a == b write \"abs(a - b) <= TOLERANCE\"");
        }
        perpi_reader_leave(r, mark);
    }
    return PERP_OK;
}

/* The stated rule of `auto` (docs/studies.md). */
static perp_design_method choose_method(const perp_study* s)
{
    const perpi_design* d = s->design;
    if (d->asked != PERP_DESIGN_AUTO) {
        return d->asked;
    }
    if (!perpi_nlopt_available() || s->run_count > 1 || d->unknown_count > 20) {
        return PERP_DESIGN_CMA_ES;
    }
    return d->unknown_count <= 10 ? PERP_DESIGN_NELDER_MEAD : PERP_DESIGN_SBPLX;
}

static perp_status check_method(perpi_reader* r, const perpi_design* d)
{
    const int32_t least = range[d->method].least, most = range[d->method].most;
    const bool own = d->method == PERP_DESIGN_CMA_ES || d->method == PERP_DESIGN_GRADIENT;
    if (!own && !perpi_nlopt_available()) {
        return perpi_reader_fail_key(
            r, "method", PERP_ERROR_UNSUPPORTED,
            "%s is a method of NLopt, which this perp was built without: install libnlopt-dev and "
            "build again (-DPERP_DESIGN=ON), or use cma-es",
            methods[d->method]);
    }
    if (d->unknown_count < least || d->unknown_count > most) {
        return perpi_reader_fail_key(
            r, "method", PERP_ERROR_INPUT, "%s takes %d to %d unknowns, got %d: use %s",
            methods[d->method], (int)least, (int)most, (int)d->unknown_count,
            d->unknown_count < least  ? "nelder-mead, sbplx or cma-es"
            : d->unknown_count <= 100 ? "sbplx or cma-es"
                                      : "cma-es");
    }
    if (d->population > 0 && !own) {
        return perpi_reader_fail_key(r, "population", PERP_ERROR_INPUT,
                                     "is a setting of cma-es, but the method is %s",
                                     methods[d->method]);
    }
    return PERP_OK;
}

/* Each search has its start and, by cma-es, a generation: else a design would end without a search
 * and say nothing. */
static perp_status check_evaluations(perpi_reader* r, const perpi_design* d)
{
    const int64_t share = d->evaluations / d->starts;
    if (share < 1) {
        return perpi_reader_fail_key(
            r, "starts", PERP_ERROR_INPUT,
            "%d searches share the %lld evaluations of /stop: must be at most that many",
            (int)d->starts, (long long)d->evaluations);
    }
    const int32_t population =
        d->population > 0 ? d->population : perpi_cma_population(d->unknown_count);
    if (d->method == PERP_DESIGN_CMA_ES && share > 1 && share < 1 + population) {
        const size_t mark = perpi_reader_enter(r, "stop");
        const perp_status status = perpi_reader_fail_key(
            r, "evaluations", PERP_ERROR_INPUT,
            "cma-es needs the start and a generation of %d for each search: at least %lld "
            "(or 1: the start alone), got %lld",
            (int)population, (long long)d->starts * (1 + population), (long long)d->evaluations);
        perpi_reader_leave(r, mark);
        return status;
    }
    return PERP_OK;
}

/* The step of the scene, to be set anew after a run with another one. */
static perp_status note_step(perp_study* s, const json_t* root)
{
    perpi_design* d = s->design;
    const json_t* step = json_object_get(root, "step");
    const bool adaptive = perp_sim_def_from_scene(s->scene).error > 0.0;
    d->step_place = adaptive ? "/step/error" : "/step";
    step = json_is_object(step) ? json_object_get(step, "error") : step;
    d->step_number = json_is_number(step) ? json_number_value(step)
                     : step == NULL       ? perp_sim_def_from_scene(s->scene).step
                                          : NAN;
    for (int32_t i = 0; i < s->vary_count; ++i) {
        if (strcmp(s->vary[i].info.name, d->step_place) == 0) {
            d->step_number = NAN; /* each run sets it */
            return PERP_OK;
        }
    }
    const char* text = json_string_value(step);
    return text != NULL ? perpi_strndup(s->context, text, strlen(text), &d->step_text) : PERP_OK;
}

perp_status perpi_design_bind(perpi_reader* r, perp_study* s)
{
    perpi_design* d = s->design;
    r->path_length = 0; /* at the top again */
    d->method = choose_method(s);
    PERPI_TRY(check_method(r, d));
    PERPI_TRY(check_evaluations(r, d));
    for (int32_t i = 0; i < d->unknown_count; ++i) {
        perp_unknown* u = &d->unknown[i];
        if (!(u->scale > 0.0)) {
            u->scale = (u->high - u->low) *
                       (d->method == PERP_DESIGN_CMA_ES ? DEFAULT_SCALE_CMA : DEFAULT_SCALE);
        }
    }
    PERPI_TRY(perpi_alloc(r->context, (size_t)(perp_study_measure_count(s) + s->vary_count) + 1,
                          sizeof *d->slot, &d->slot));
    json_t* root = json_loads(s->scene_built, 0, NULL);
    if (note_step(s, root) != PERP_OK) {
        json_decref(root);
        return PERP_ERROR_MEMORY;
    }
    design_names x = {.study = s, .parameters = json_object_get(root, "parameters")};
    const perp_status status = compile_all(r, s, &x);
    json_decref(root);
    return status;
}

void perpi_design_destroy(perp_context* context, perpi_design* design)
{
    if (design == NULL) {
        return;
    }
    perpi_expr_destroy(context, design->minimise);
    for (int32_t i = 0; i < design->constraint_count; ++i) {
        perpi_expr_destroy(context, design->constraint[i]);
    }
    perpi_free(context, design->unknown);
    perpi_free(context, design->slot);
    perpi_free(context, design->step_text);
    perpi_free(context, design->candidate);
    perpi_free(context, design);
}

void perpi_design_identity(const perp_study* study, json_t* object)
{
    static const char* const keys[] = {"unknown", "cases",      "minimise", "combine",
                                       "robust",  "subject_to", "starts",   "population"};
    const perpi_design* d = study->design;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        json_t* value = json_object_get(study->root, keys[i]);
        if (value != NULL) {
            json_object_set(object, keys[i], value);
        }
    }
    json_object_set_new(object, "search", json_string(methods[d->method]));
    json_object_set_new(object, "tolerance", json_real(d->tolerance));
    if (d->starts >
        1) { /* which share the evaluations; one search goes on where a smaller number ended it */
        json_object_set_new(object, "evaluations", json_integer(d->evaluations));
    }
}
