/* src/study/read.c - a study file and its scene. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "scene/json_text.h"
#include "scene/reader.h"
#include "study/design.h"
#include "study/estimate.h"
#include "study/read.h"
#include "study/sobol_table.h"
#include "study/study.h"

enum { VARY_LIMIT = 900 }; /* columns of a database are limited */
#define RUN_LIMIT 1e9

/* Columns of the results beside those of varied names and measures. */
static const char* const reserved[] = {
    "id",        "outcome", "status", "certificate", "energy_error", "steps", "seconds",
    "recording", "message", "rowid",  "oid",         "_rowid_",      NULL};

const char* perp_vary_kind_name(perp_vary_kind kind)
{
    static const char* const name[] = {"grid",   "values",  "uniform", "normal",
                                       "choice", "unknown", "case"};
    return (unsigned)kind < sizeof name / sizeof name[0] ? name[kind] : "unknown";
}

/* ---- vary -------------------------------------------------------------------------------------*/

perp_status perpi_study_numbers(perpi_reader* r, const json_t* list, size_t count, double* number)
{
    PERPI_TRY(perpi_read_array(r, list));
    if (json_array_size(list) != count) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have %zu numbers, got %zu", count,
                                 json_array_size(list));
    }
    for (size_t i = 0; i < count; ++i) {
        const json_t* item = json_array_get(list, i);
        if (!json_is_number(item)) {
            const size_t mark = perpi_reader_enter_item(r, i);
            const perp_status status = perpi_reader_fail(
                r, PERP_ERROR_INPUT, "must be a number, got %s", perpi_json_kind(item));
            perpi_reader_leave(r, mark);
            return status;
        }
        number[i] = json_number_value(item);
    }
    return PERP_OK;
}

static perp_status read_grid(perpi_reader* r, const json_t* list, perp_vary* v)
{
    double number[3];
    PERPI_TRY(perpi_study_numbers(r, list, 3, number));
    if (!(number[2] >= 1.0 && number[2] <= 1e9) || number[2] != floor(number[2])) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "the third number is how many points: an integer >= 1, got %.12g",
                                 number[2]);
    }
    v->low = number[0];
    v->high = number[1];
    v->count = (int64_t)number[2];
    if (v->count == 1 && v->low != v->high) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "one point cannot have two ends, %.12g and %.12g: give at least 2 "
                                 "points, or the same number twice",
                                 v->low, v->high);
    }
    if (v->count > 1 && !(v->low < v->high)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "the first end must be less than the second, got %.12g and %.12g",
                                 v->low, v->high);
    }
    return PERP_OK;
}

static perp_status read_bounds(perpi_reader* r, const json_t* list, perp_vary* v)
{
    double number[2];
    PERPI_TRY(perpi_study_numbers(r, list, 2, number));
    v->low = number[0];
    v->high = number[1];
    if (v->kind == PERP_VARY_UNIFORM && !(v->low < v->high)) {
        return perpi_reader_fail(
            r, PERP_ERROR_INPUT,
            "the lower bound must be less than the upper one, got %.12g and %.12g", v->low,
            v->high);
    }
    if (v->kind == PERP_VARY_NORMAL && !(v->high > 0.0)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "[mean, standard deviation]: the second must be > 0, got %.12g",
                                 v->high);
    }
    return PERP_OK;
}

/* Numbers and strings; a parameter takes numbers only. */
static perp_status read_items(perpi_reader* r, const json_t* list, perpi_vary* v)
{
    PERPI_TRY(perpi_read_array(r, list));
    if (json_array_size(list) == 0) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must not be empty");
    }
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t* item = json_array_get(list, i);
        const bool pointer = v->info.name[0] == '/';
        if (!json_is_number(item) && !(pointer && json_is_string(item))) {
            const size_t mark = perpi_reader_enter_item(r, i);
            const perp_status status =
                perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a number%s, got %s",
                                  pointer ? " or a string" : "", perpi_json_kind(item));
            perpi_reader_leave(r, mark);
            return status;
        }
    }
    v->info.count = (int64_t)json_array_size(list);
    v->item = list;
    return PERP_OK;
}

/* {"grid": [...]}: one key, which names the distribution. */
static perp_status read_distribution(perpi_reader* r, const json_t* value, perpi_vary* v)
{
    static const char* const keys[] = {"grid", "values", "uniform", "normal", "choice", NULL};
    PERPI_TRY(perpi_read_object(r, value, keys));
    if (json_object_size(value) != 1) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must have one of grid, values, uniform, normal, choice, got %zu",
                                 json_object_size(value));
    }
    const char* key = json_object_iter_key(json_object_iter((json_t*)value));
    const json_t* list = json_object_get(value, key);
    int kind = 0;
    while (strcmp(keys[kind], key) != 0) {
        ++kind;
    }
    v->info.kind = (perp_vary_kind)kind;
    const size_t mark = perpi_reader_enter(r, key);
    switch (v->info.kind) {
    case PERP_VARY_GRID: PERPI_TRY(read_grid(r, list, &v->info)); break;
    case PERP_VARY_UNIFORM:
    case PERP_VARY_NORMAL: PERPI_TRY(read_bounds(r, list, &v->info)); break;
    case PERP_VARY_VALUES:
    case PERP_VARY_CHOICE: PERPI_TRY(read_items(r, list, v)); break;
    case PERP_VARY_UNKNOWN:
    case PERP_VARY_CASE: break; /* of a design, read elsewhere */
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* Further ones of a design, in one or both of its tables. */
static const char* const reserved_of_design[] = {"evaluation",  "case_number",   "draw",
                                                 "step_factor", "gradient_json", NULL};
static const char* const reserved_of_unknowns[] = {
    "objective", "violation", "merit",       "best",          "feasible", "kind",
    "start",     "failed",    "searched_by", "flagged_steps", NULL};

static bool is_in(const char* const* list, const char* name)
{
    for (int i = 0; list[i] != NULL; ++i) {
        if (strcasecmp(list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* SQLite does not distinguish upper and lower case in names of columns. */
static bool is_reserved(const perp_study* s, const char* name)
{
    return is_in(reserved, name) || (s->design != NULL && is_in(reserved_of_design, name));
}

bool perpi_study_is_reserved_unknown(const char* name)
{
    return is_in(reserved_of_unknowns, name) || strncasecmp(name, "constraint_", 11) == 0;
}

/* What a name sets, such that equal texts are equal places: a parameter has a pointer too. */
static const char* place_of(const char* name)
{
    static const char prefix[] = "/parameters/";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

perp_status perpi_study_stop(perpi_reader* r, const perp_study* s, const char* key, int64_t most,
                             int64_t* count, double* tolerance)
{
    const char* const keys[] = {key, "tolerance", NULL};
    const json_t* stop = json_object_get(s->root, "stop");
    if (stop == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "stop");
    PERPI_TRY(perpi_read_object(r, stop, keys));
    PERPI_TRY(perpi_study_whole(r, stop, key, 1, most, count));
    PERPI_TRY(perpi_read_number(r, stop, "tolerance", tolerance));
    if (!(*tolerance > 0.0 && *tolerance < 1.0)) {
        return perpi_reader_fail_key(r, "tolerance", PERP_ERROR_INPUT,
                                     "must be > 0 and < 1, got %.12g", *tolerance);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

perp_status perpi_study_add_name(perpi_reader* r, perp_study* s, const char* name,
                                 perpi_vary** added)
{
    if (is_reserved(s, name)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "is a column of every result: give the parameter another name");
    }
    for (int32_t k = 0; k < s->vary_count; ++k) {
        const char* other = s->vary[k].info.name;
        if (strcmp(place_of(other), place_of(name)) == 0) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "is the same number as '%s', which varies already", other);
        }
        if (strcasecmp(other, name) == 0) {
            return perpi_reader_fail(
                r, PERP_ERROR_INPUT,
                "differs from '%s' in upper and lower case only, which columns of "
                "a database do not distinguish",
                other);
        }
    }
    PERPI_TRY(perpi_grow(r->context, &s->vary, &s->vary_room, (size_t)s->vary_count + 1,
                         sizeof *s->vary));
    *added = &s->vary[s->vary_count++];
    (*added)->info.name = name;
    (*added)->random = PERPI_VARY_SET;
    return PERP_OK;
}

static perp_status read_vary(perpi_reader* r, perp_study* s)
{
    json_t* vary = json_object_get(s->root, "vary");
    if (vary == NULL && (s->design != NULL || s->estimate != NULL)) {
        return PERP_OK; /* a design without uncertainty */
    }
    PERPI_TRY(perpi_require(r, s->root, "vary"));
    const size_t mark = perpi_reader_enter(r, "vary");
    if (!json_is_object(vary) || json_object_size(vary) == 0 ||
        json_object_size(vary) > VARY_LIMIT) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be an object with 1 to %d names of what varies", VARY_LIMIT);
    }
    for (void* i = json_object_iter(vary); i != NULL; i = json_object_iter_next(vary, i)) {
        perpi_vary* v = NULL;
        const size_t inner = perpi_reader_enter(r, json_object_iter_key(i));
        PERPI_TRY(perpi_study_add_name(r, s, json_object_iter_key(i), &v));
        PERPI_TRY(read_distribution(r, json_object_iter_value(i), v));
        perpi_reader_leave(r, inner);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------*/

perp_status perpi_study_word(perpi_reader* r, const json_t* object, const char* key,
                             const char* const* words, int* found)
{
    const char* text = NULL;
    PERPI_TRY(perpi_read_string(r, object, key, &text));
    for (int i = 0; text != NULL && words[i] != NULL; ++i) {
        if (strcmp(words[i], text) == 0) {
            *found = i;
            return PERP_OK;
        }
    }
    if (text == NULL) {
        return PERP_OK;
    }
    (void)perpi_fail_unknown(r->context, key, text, words);
    char message[1024];
    (void)strncpy(message, perp_context_error(r->context), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "%s", message);
}

perp_status perpi_study_whole(perpi_reader* r, const json_t* object, const char* key,
                              int64_t minimum, int64_t maximum, int64_t* number)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    if (!json_is_integer(value) || json_integer_value(value) < minimum ||
        json_integer_value(value) > maximum) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT,
                                     "must be an integer from %lld to %lld", (long long)minimum,
                                     (long long)maximum);
    }
    *number = json_integer_value(value);
    return PERP_OK;
}

static perp_status read_sample(perpi_reader* r, perp_study* s)
{
    static const char* const keys[] = {"method", "trials", "seed", NULL};
    static const char* const methods[] = {"random", "sobol", "latin-hypercube", NULL};
    s->trials = 1;
    const json_t* sample = json_object_get(s->root, "sample");
    int32_t random = 0;
    for (int32_t i = 0; i < s->vary_count; ++i) {
        const perp_vary_kind kind = s->vary[i].info.kind;
        const bool axis = kind == PERP_VARY_GRID || kind == PERP_VARY_VALUES;
        const bool set = kind == PERP_VARY_UNKNOWN || kind == PERP_VARY_CASE;
        s->vary[i].random = set ? PERPI_VARY_SET : axis ? PERPI_VARY_AXIS : random++;
    }
    if (sample == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "sample");
    PERPI_TRY(perpi_read_object(r, sample, keys));
    int method = 0;
    int64_t seed = 0;
    PERPI_TRY(perpi_study_word(r, sample, "method", methods, &method));
    PERPI_TRY(perpi_study_whole(r, sample, "trials", 1, UINT32_MAX, &s->trials));
    PERPI_TRY(perpi_study_whole(r, sample, "seed", 0, INT64_MAX, &seed));
    s->method = (perpi_sampling)method;
    s->seed = (uint64_t)seed;
    if (s->trials > 1 && random == 0) {
        return perpi_reader_fail_key(r, "trials", PERP_ERROR_INPUT,
                                     "all trials would be the same: nothing in /vary is drawn "
                                     "(uniform, normal, choice)");
    }
    if (s->method == PERPI_SAMPLING_SOBOL && random > PERPI_SOBOL_DIMENSIONS) {
        return perpi_reader_fail_key(
            r, "method", PERP_ERROR_INPUT,
            "sobol takes at most %d drawn names, got %d: use latin-hypercube",
            PERPI_SOBOL_DIMENSIONS, random);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_limit(perpi_reader* r, perp_study* s)
{
    static const char* const keys[] = {"seconds", "steps", NULL};
    const json_t* limit = json_object_get(s->root, "limit");
    if (limit == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "limit");
    PERPI_TRY(perpi_read_object(r, limit, keys));
    PERPI_TRY(perpi_read_number(r, limit, "seconds", &s->limit_seconds));
    if (json_object_get(limit, "seconds") != NULL && !(s->limit_seconds > 0.0)) {
        return perpi_reader_fail_key(r, "seconds", PERP_ERROR_INPUT, "must be > 0, got %.12g",
                                     s->limit_seconds);
    }
    PERPI_TRY(perpi_study_whole(r, limit, "steps", 1, INT64_MAX, &s->limit_steps));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* Axes of the grid multiply, the last varies fastest; then the trials. */
static perp_status count_runs(perpi_reader* r, perp_study* s)
{
    double count = (double)s->trials;
    int64_t stride = 1;
    for (int32_t i = s->vary_count - 1; i >= 0; --i) {
        if (s->vary[i].random != PERPI_VARY_AXIS) {
            continue;
        }
        count *= (double)s->vary[i].info.count;
        if (!(count <= RUN_LIMIT)) {
            return perpi_reader_fail_key(r, "vary", PERP_ERROR_INPUT,
                                         "more than %.0e runs: %.3g so far", RUN_LIMIT, count);
        }
        s->vary[i].stride = stride;
        stride *= s->vary[i].info.count;
    }
    s->run_count = stride * s->trials;
    return PERP_OK;
}

static perp_status read_study(perpi_reader* r, perp_study* s)
{
    static const char* const keys[] = {
        "$schema", "name", "description", "scene", "vary", "sample", "keep", "limit", "unknown",
        "cases", "minimise", "combine", "robust", "subject_to", "method", "starts", "stop",
        "population",
        /* of an estimate */
        "data", "time", "rate", "trajectory", "observe", "noise", "loss", "hold_out", "horizon",
        "segments", "window", "process_noise", "particles", "options", "candidates", "after",
        "start", "seed", NULL};
    static const char* const keeps[] = {"none", "failed", "all", NULL};
    const char *ignored = NULL, *name = NULL;
    PERPI_TRY(perpi_read_object(r, s->root, keys));
    PERPI_TRY(perpi_read_string(r, s->root, "$schema", &ignored));
    PERPI_TRY(perpi_read_string(r, s->root, "description", &ignored));
    PERPI_TRY(perpi_read_string(r, s->root, "name", &name));
    if (perpi_estimate_is(s->root)) {
        PERPI_TRY(perpi_estimate_read(r, s));
    } else {
        PERPI_TRY(perpi_estimate_refuse(r, s->root));
        PERPI_TRY(perpi_design_read(r, s));
    }
    PERPI_TRY(read_vary(r, s));
    PERPI_TRY(read_sample(r, s));
    PERPI_TRY(read_limit(r, s));
    int keep = PERP_KEEP_FAILED;
    PERPI_TRY(perpi_study_word(r, s->root, "keep", keeps, &keep));
    s->keep = (perp_study_keep)keep;
    if (name == NULL) { /* that of the file */
        const char* slash = strrchr(s->origin, '/');
        name = slash != NULL ? slash + 1 : s->origin;
        const char* dot = strrchr(name, '.');
        PERPI_TRY(perpi_strndup(r->context, name,
                                dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name),
                                &s->name));
    } else {
        PERPI_TRY(perpi_strndup(r->context, name, strlen(name), &s->name));
    }
    return count_runs(r, s);
}

/* ---- with the scene ---------------------------------------------------------------------------*/

/* Estimates that write the equations of the steps themselves have the contacts of the start in them: so have their
 * runs, unless the scene asks for others. */
static perp_status name_direction(const perp_study* s, perp_scene* scene)
{
    if (s->estimate == NULL ||
        (s->estimate->method != PERPI_ESTIMATE_MPEC &&
         s->estimate->method != PERPI_ESTIMATE_LAWS) ||
        !perp_sim_def_from_scene(scene).rolling_choice ||
        strstr(perp_scene_text(scene), "\"contact_direction\"") == NULL) {
        return PERP_OK;
    }
    PERPI_TRY(perp_scene_set_string(scene, "/contact_direction", "start"));
    return perp_scene_rebuild(scene);
}

static perp_status parse_scene(const perp_study* s, perp_scene** scene)
{
    const size_t length = strlen(s->scene_text);
    /* unless it was replaced by a scene */
    if (perp_scene_is_robot(s->scene_path) &&
        s->scene_text[strspn(s->scene_text, " \t\r\n")] != '{') {
        const perp_urdf_options options = perp_urdf_options_default();
        return perp_scene_parse_urdf(s->context, s->scene_text, length, s->scene_path, &options,
                                     NULL, 0, scene);
    }
    return perp_scene_parse(s->context, s->scene_text, length, s->scene_path, NULL, 0, scene);
}

perp_status perpi_study_scene(const perp_study* s, perp_scene** scene)
{
    perp_status status = parse_scene(s, scene);
    if (status == PERP_OK) {
        status = name_direction(s, *scene);
        if (status != PERP_OK) {
            perp_scene_destroy(*scene);
            *scene = NULL;
        }
    }
    return status;
}

static perp_status read_scene(perp_study* s)
{
    perp_context* context = s->context;
    PERPI_TRY(perpi_study_scene(s, &s->scene));
    const char* built = perp_scene_text(s->scene);
    PERPI_TRY(perpi_strndup(context, built, strlen(built), &s->scene_built));
    /* Its expressions are compiled here, so that a measure with an error is found before the first run. */
    perp_sim* sim = NULL;
    const perp_status status = perp_sim_create_from_scene(context, s->scene, &sim);
    perp_sim_destroy(sim);
    return status == PERP_OK ? PERP_OK : perpi_fail_prefix(context, status, s->scene_path);
}

/* The key of the study under which a name stands. */
static void enter_group(perpi_reader* r, const perpi_vary* v)
{
    (void)perpi_reader_enter(r, v->info.kind == PERP_VARY_UNKNOWN ? "unknown"
                                : v->info.kind == PERP_VARY_CASE  ? "cases"
                                                                  : "vary");
    if (v->info.kind == PERP_VARY_CASE) {
        (void)perpi_reader_enter_item(r, 0);
    }
}

/* Columns of varied names and measures must differ. */
static perp_status check_measures(perpi_reader* r, perp_study* s)
{
    const perp_sim_def def = perp_sim_def_from_scene(s->scene);
    for (int32_t m = 0; m < def.measure_count; ++m) {
        const char* name = def.measure[m].name;
        if (is_reserved(s, name)) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: /measures/%s: is a column of every result: give it another name",
                              s->scene_path, name);
        }
        for (int32_t k = 0; k < m; ++k) {
            if (strcasecmp(def.measure[k].name, name) == 0) {
                return perpi_fail(
                    r->context, PERP_ERROR_INPUT,
                    "%s: /measures/%s: differs from '%s' in upper and lower case only, which "
                    "columns of a database do not distinguish",
                    s->scene_path, name, def.measure[k].name);
            }
        }
        for (int32_t i = 0; i < s->vary_count; ++i) {
            if (strcasecmp(s->vary[i].info.name, name) == 0) {
                enter_group(r, &s->vary[i]);
                return perpi_reader_fail_key(r, s->vary[i].info.name, PERP_ERROR_INPUT,
                                             "is also a measure of the scene: rename one of them");
            }
        }
    }
    return PERP_OK;
}

/* Every name must be a parameter or a place of the scene. */
static perp_status check_names(perpi_reader* r, perp_study* s)
{
    char message[1024];
    for (int32_t i = 0; i < s->vary_count; ++i) {
        const perp_vary_value value = perp_study_value(s, 1, i);
        const char* name = s->vary[i].info.name;
        const perp_status status = value.text != NULL
                                       ? perp_scene_set_string(s->scene, name, value.text)
                                       : perp_scene_set_number(s->scene, name, value.number);
        if (status != PERP_OK) {
            (void)snprintf(message, sizeof message, "%s", perp_context_error(r->context));
            enter_group(r, &s->vary[i]);
            return perpi_reader_fail_key(r, name, status, "%s", message);
        }
    }
    /* A place that the scene does not know appears as an unknown key; other errors may be those of this run. */
    const perp_status status = perp_scene_rebuild(s->scene);
    if (status == PERP_ERROR_MEMORY) {
        return status;
    }
    if (status != PERP_OK && strstr(perp_context_error(r->context), "unknown key") != NULL) {
        (void)snprintf(message, sizeof message, "%s", perp_context_error(r->context));
        return perpi_reader_fail_key(r, s->design != NULL ? "unknown" : "vary", status, "%s",
                                     message);
    }
    return PERP_OK;
}

/* A file, or of an estimate the scene itself: a fitted one that stands alone. */
static perp_status find_scene(perpi_reader* r, perp_study* s)
{
    perp_context* context = s->context;
    const json_t* inside = json_object_get(s->root, "scene");
    const char* name = NULL;
    size_t length = 0;
    if (s->estimate != NULL && json_is_object(inside)) {
        char* text = json_dumps(inside, JSON_REAL_PRECISION(17));
        PERPI_TRY(perpi_strndup(context, s->origin, strlen(s->origin), &s->scene_path));
        const perp_status status = text != NULL
                                       ? perpi_strndup(context, text, strlen(text), &s->scene_text)
                                       : PERP_ERROR_MEMORY;
        free(text);
        return status;
    }
    PERPI_TRY(perpi_require(r, s->root, "scene"));
    PERPI_TRY(perpi_read_string(r, s->root, "scene", &name));
    PERPI_TRY(perpi_file_beside(context, s->origin, name, &s->scene_path));
    const perp_status status =
        perpi_json_read_file(context, s->scene_path, &s->scene_text, &length);
    if (status != PERP_OK) {
        (void)perpi_fail_prefix(context, status, "/scene");
        return perpi_fail_prefix(context, status, s->origin);
    }
    return PERP_OK;
}

static perp_status build_study(perp_study* s, const char* scene_text, const char* scene_path)
{
    perp_context* context = s->context;
    perpi_reader r = {.context = context, .origin = s->origin, .dimension = 3};
    PERPI_TRY(perpi_json_parse(context, s->text, strlen(s->text), s->origin, &s->root));
    PERPI_TRY(read_study(&r, s));
    if (scene_text == NULL) {
        PERPI_TRY(find_scene(&r, s));
    } else {
        PERPI_TRY(perpi_strndup(context, scene_text, strlen(scene_text), &s->scene_text));
        PERPI_TRY(perpi_strndup(context, scene_path, strlen(scene_path), &s->scene_path));
    }
    PERPI_TRY(read_scene(s));
    PERPI_TRY(check_measures(&r, s));
    PERPI_TRY(check_names(&r, s));
    if (s->estimate != NULL) {
        return perpi_estimate_bind(&r, s);
    }
    return s->design != NULL ? perpi_design_bind(&r, s) : PERP_OK;
}

perp_status perpi_study_create(perp_context* context, const char* text, size_t length,
                               const char* origin, const char* scene_text, const char* scene_path,
                               perp_study** study)
{
    perp_study* s = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *s, &s));
    s->context = context;
    perp_status status = perpi_strndup(context, text, length, &s->text);
    if (status == PERP_OK) {
        status = perpi_strndup(context, origin, strlen(origin), &s->origin);
    }
    if (status == PERP_OK) {
        status = build_study(s, scene_text, scene_path);
    }
    if (status != PERP_OK) {
        perp_study_destroy(s);
        return status;
    }
    *study = s;
    return PERP_OK;
}

perp_status perp_study_parse(perp_context* context, const char* text, size_t length,
                             const char* origin, perp_study** study)
{
    return perpi_study_create(context, text, length, origin != NULL ? origin : "study", NULL, NULL,
                              study);
}

perp_status perp_study_load(perp_context* context, const char* path, perp_study** study)
{
    char* text = NULL;
    size_t length = 0;
    PERPI_TRY(perpi_json_read_file(context, path, &text, &length));
    const perp_status status = perp_study_parse(context, text, length, path, study);
    perpi_free(context, text);
    return status;
}

void perp_study_destroy(perp_study* study)
{
    if (study == NULL) {
        return;
    }
    perp_context* context = study->context;
    perp_scene_destroy(study->scene);
    perpi_design_destroy(context, study->design);
    perpi_estimate_destroy(context, study->estimate);
    perpi_free(context, study->vary);
    perpi_free(context, study->name);
    perpi_free(context, study->scene_built);
    perpi_free(context, study->scene_path);
    perpi_free(context, study->scene_text);
    perpi_free(context, study->origin);
    perpi_free(context, study->text);
    json_decref(study->root);
    perpi_free(context, study);
}
