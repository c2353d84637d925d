/* src/study/design_gradient.c - gradients of the runs of a design.
 *
 * A worker differentiates each measure that the objective and the constraints have, and its row keeps these derivatives as a
 * text, {"flagged": 0, "measures": {"miss": [0.1, -2.5]}}, so that a design that is resumed is given the same
 * numbers. The expressions themselves are differentiated exactly (base/expr.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/gradient.h"
#include "scene/gradient.h"
#include "study/design.h"

enum { CHECKED_CASES = 20 };

static bool is_used(const perpi_design* d, int32_t measure)
{
    bool used = perpi_expr_has_slot(d->minimise, measure);
    for (int32_t i = 0; !used && i < d->constraint_count; ++i) {
        used = perpi_expr_has_slot(d->constraint[i], measure);
    }
    return used;
}

static perp_gradient_def def_of(const perp_study* s, int32_t measure, const char** name)
{
    perp_gradient_def def = perp_gradient_def_default();
    for (int32_t i = 0; i < s->design->unknown_count; ++i) {
        name[i] = s->design->unknown[i].name;
    }
    def.measure = perp_study_measure_name(s, measure);
    def.parameter = name;
    def.parameter_count = s->design->unknown_count;
    return def;
}

/* ---- before the first run ---------------------------------------------------------------------*/

static perp_status refuse(perp_study* s, const char* reason)
{
    return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                      "%s: /method: gradient cannot be used here: %.600s; use auto or another "
                      "method",
                      s->origin, reason);
}

perp_status perpi_design_check_gradient(perp_study* s, const char* user_code)
{
    const char* name[PERPI_DESIGN_UNKNOWNS];
    char reason[800];
    if (user_code != NULL && user_code[0] != '\0') {
        return refuse(s, "steps that plugins may take part in have no derivative");
    }
    for (int32_t c = 0; c < s->design->case_count && c < CHECKED_CASES; ++c) {
        if (perpi_study_set(s, c * s->run_count + 1) != PERP_OK ||
            perp_scene_rebuild(s->scene) != PERP_OK) {
            continue; /* that is a run without a value */
        }
        for (int32_t i = 0; i < perp_study_measure_count(s); ++i) {
            const perp_gradient_def def = def_of(s, i, name);
            if (is_used(s->design, i) &&
                perpi_gradient_try(s->context, s->scene, &def) == PERP_ERROR_UNSUPPORTED) {
                const char* text = perp_context_error(s->context);
                (void)snprintf(reason, sizeof reason, "%s", text);
                return refuse(s, reason);
            }
        }
    }
    return PERP_OK;
}

/* ---- in a worker ------------------------------------------------------------------------------*/

static perp_status differentiate_measure(perp_study* s, int32_t measure, json_t* measures,
                                         int64_t* flagged)
{
    const char* name[PERPI_DESIGN_UNKNOWNS];
    const perp_gradient_def def = def_of(s, measure, name);
    perp_gradient* g = NULL;
    perp_status status = perp_gradient_create(s->context, s->scene, &def, &g);
    if (status != PERP_OK) {
        return status;
    }
    json_t* list = json_array();
    for (int32_t i = 0; status == PERP_OK && i < def.parameter_count; ++i) {
        const double x = perp_gradient_of(g, i);
        status = isfinite(x) ? PERP_OK
                             : perpi_fail(s->context, PERP_ERROR_NUMERIC,
                                          "gradient: '%.100s' by '%.100s' is not finite",
                                          def.measure, name[i]);
        json_array_append_new(list, json_real(x));
    }
    json_object_set_new(measures, def.measure, list);
    const perp_gradient_flags flags = perp_gradient_flags_of(g);
    *flagged = flags.flagged > *flagged ? flags.flagged : *flagged;
    perp_gradient_destroy(g);
    return status;
}

char* perpi_design_differentiate(perp_study* s)
{
    json_t *object = json_object(), *measures = json_object();
    int64_t flagged = 0;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < perp_study_measure_count(s); ++i) {
        if (is_used(s->design, i)) {
            status = differentiate_measure(s, i, measures, &flagged);
        }
    }
    json_object_set_new(object, "flagged", json_integer(flagged));
    json_object_set_new(object, "measures", measures);
    if (status != PERP_OK) { /* the run itself has its values */
        json_object_clear(object);
        json_object_set_new(object, "error", json_string(perp_context_error(s->context)));
    }
    char* text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

/* ---- from a row -------------------------------------------------------------------------------*/

/* d expression / d slot; of a constraint, of its violation. */
static double by_slot(const perpi_design* d, int32_t row, int32_t slot)
{
    if (row == 0) {
        return perpi_expr_slot_derivative(d->minimise, 0.0, d->slot, slot);
    }
    double margin = NAN, derivative = NAN;
    (void)perpi_expr_margin_derivative(d->constraint[row - 1], 0.0, d->slot, slot, &margin,
                                       &derivative);
    return -derivative;
}

static bool has_slot(const perpi_design* d, int32_t row, int32_t slot)
{
    return perpi_expr_has_slot(row == 0 ? d->minimise : d->constraint[row - 1], slot);
}

static bool slope_of(perp_study* s, const json_t* measures, int32_t row, double* slope)
{
    const perpi_design* d = s->design;
    const int32_t count = perp_study_measure_count(s), n = d->unknown_count;
    bool good = true;
    for (int32_t i = 0; i < n; ++i) { /* unknowns are the first columns */
        slope[i] = has_slot(d, row, count + i) ? by_slot(d, row, count + i) : 0.0;
    }
    for (int32_t k = 0; k < count; ++k) {
        if (!has_slot(d, row, k)) {
            continue;
        }
        const json_t* list = json_object_get(measures, perp_study_measure_name(s, k));
        const double by = by_slot(d, row, k);
        good = good && json_array_size(list) == (size_t)n;
        for (int32_t i = 0; good && i < n; ++i) {
            slope[i] += by * json_number_value(json_array_get(list, (size_t)i));
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        good = good && isfinite(slope[i]);
    }
    return good;
}

bool perpi_design_slope(perp_study* s, const char* text, double* slope, int64_t* flagged,
                        char* reason)
{
    json_t* object = text != NULL && text[0] != '\0' ? json_loads(text, 0, NULL) : NULL;
    const json_t* measures = json_object_get(object, "measures");
    bool good = measures != NULL;
    for (int32_t row = 0; good && row <= s->design->constraint_count; ++row) {
        good = slope_of(s, measures, row, slope + row * s->design->unknown_count);
    }
    *flagged = good ? json_integer_value(json_object_get(object, "flagged")) : 0;
    const char* error = json_string_value(json_object_get(object, "error"));
    (void)snprintf(reason, PERPI_DESIGN_REASON, "%s",
                   good ? ""
                   : error != NULL
                       ? error
                       : "the derivative of the objective or a constraint is not finite");
    json_decref(object);
    return good;
}
