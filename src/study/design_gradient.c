/* src/study/design_gradient.c - gradients of the runs of a design.
 *
 * A worker differentiates the measures that the objective and the constraints have, and its row
 * keeps these derivatives as a text, {"flagged": 0, "measures": {"miss": [0.1, -2.5]}, "curvature":
 * {"miss": [0.2, 0, 1]}}, so that a design that is resumed is given the same numbers. Forward one
 * run gives all of them, and the curvatures of Gauss and Newton (lower half, by rows); with
 * adaptive steps or many unknowns there is one adjoint for each measure, without curvatures. The
 * expressions themselves are differentiated exactly (base/expr.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/gradient.h"
#include "scene/gradient.h"
#include "study/design.h"

enum { CHECKED_CASES = 20 };

bool perpi_design_uses(const perpi_design* d, int32_t measure)
{
    bool used = perpi_expr_has_slot(d->minimise, measure);
    for (int32_t i = 0; !used && i < d->constraint_count; ++i) {
        used = perpi_expr_has_slot(d->constraint[i], measure);
    }
    return used;
}

perp_gradient_def perpi_design_gradient_def(const perp_study* s, int32_t measure, const char** name)
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
            const perp_gradient_def def = perpi_design_gradient_def(s, i, name);
            if (perpi_design_uses(s->design, i) &&
                perpi_gradient_try(s->context, s->scene, &def) == PERP_ERROR_UNSUPPORTED) {
                static const char prefix[] = "gradient: ";
                const char* text = perp_context_error(s->context);
                text += strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
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
    const perp_gradient_def def = perpi_design_gradient_def(s, measure, name);
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

/* More unknowns than this are cheaper backwards. */
enum { MOST_FORWARD = 16 };

static json_t* list_of(const double* number, int32_t count)
{
    json_t* list = json_array();
    for (int32_t i = 0; i < count; ++i) {
        json_array_append_new(list, json_real(number[i]));
    }
    return list;
}

/* All measures from one run. PERP_ERROR_UNSUPPORTED: there is no forward derivative. */
static perp_status differentiate_forward(perp_study* s, json_t* measures, json_t* curvature,
                                         int64_t* flagged)
{
    const int32_t n = s->design->unknown_count, all = perp_study_measure_count(s);
    const int32_t width = perpi_jet_width(n, true);
    const char *name[PERPI_DESIGN_UNKNOWNS], **measure = NULL;
    const perp_gradient_def def = perpi_design_gradient_def(s, 0, name);
    perpi_gradient_jets jets = {.curvature = true};
    perp_gradient_flags flags;
    perp_status status = perpi_alloc(s->context, (size_t)all + 1, sizeof *measure, &measure);
    for (int32_t i = 0; status == PERP_OK && i < all; ++i) {
        if (perpi_design_uses(s->design, i)) {
            measure[jets.measure_count++] = perp_study_measure_name(s, i);
        }
    }
    jets.measure = measure;
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)(jets.measure_count * width) + 1,
                             sizeof *jets.jets, &jets.jets);
    }
    if (status == PERP_OK && jets.measure_count > 0) {
        status = perpi_gradient_measures(s->context, s->scene, &def, &jets, &flags);
        *flagged = flags.flagged;
    }
    for (int32_t i = 0; status == PERP_OK && i < jets.measure_count; ++i) {
        const double* jet = jets.jets + (size_t)i * (size_t)width;
        for (int32_t k = 1; status == PERP_OK && k < width; ++k) {
            status = isfinite(jet[k])
                         ? PERP_OK
                         : perpi_fail(s->context, PERP_ERROR_NUMERIC,
                                      "gradient: that of '%.100s' is not finite", measure[i]);
        }
        json_object_set_new(measures, measure[i], list_of(jet + 1, n));
        json_object_set_new(curvature, measure[i], list_of(jet + 1 + n, width - 1 - n));
    }
    perpi_free(s->context, measure);
    perpi_free(s->context, jets.jets);
    return status;
}

char* perpi_design_differentiate(perp_study* s)
{
    json_t *object = json_object(), *measures = json_object(), *curvature = json_object();
    int64_t flagged = 0;
    perp_status status = s->design->unknown_count <= MOST_FORWARD
                             ? differentiate_forward(s, measures, curvature, &flagged)
                             : PERP_ERROR_UNSUPPORTED;
    if (status == PERP_ERROR_UNSUPPORTED) {
        status = PERP_OK;
        for (int32_t i = 0; status == PERP_OK && i < perp_study_measure_count(s); ++i) {
            if (perpi_design_uses(s->design, i)) {
                status = differentiate_measure(s, i, measures, &flagged);
            }
        }
    }
    json_object_set_new(object, "flagged", json_integer(flagged));
    json_object_set_new(object, "measures", measures);
    json_object_set_new(object, "curvature", curvature);
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

/* Adds weight times a symmetric matrix of which the lower half is given. */
static void add_lower(int32_t n, double weight, const json_t* lower, double* to)
{
    size_t at = 0;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t k = 0; k <= i; ++k, ++at) {
            const double x = weight * json_number_value(json_array_get(lower, at));
            to[i * n + k] += x;
            to[k * n + i] += k < i ? x : 0.0;
        }
    }
}

/* Terms of the curvature of the objective. */
typedef struct objective_curvature {
    perp_study* study;
    const json_t* measures;
    const int32_t* slot;
    int32_t count;
    double* to;
} objective_curvature;

static void add_square(void* user, double weight, const double* x)
{
    const objective_curvature* c = user;
    const int32_t n = c->study->design->unknown_count;
    const int32_t measures = perp_study_measure_count(c->study);
    double row[PERPI_DESIGN_UNKNOWNS] = {0};
    for (int32_t k = 0; k < c->count; ++k) {
        if (c->slot[k] >= measures) { /* an unknown itself */
            row[c->slot[k] - measures] += x[k];
            continue;
        }
        const json_t* slope =
            json_object_get(c->measures, perp_study_measure_name(c->study, c->slot[k]));
        for (int32_t i = 0; i < n; ++i) {
            row[i] += x[k] * json_number_value(json_array_get(slope, (size_t)i));
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            c->to[i * n + j] += weight * row[i] * row[j];
        }
    }
}

/* The curvature of the objective: of Gauss and Newton, of the measures with their positive weights,
 * and that of the expression by the measures and unknowns. 0: not known. */
static void curvature_of(perp_study* s, const json_t* object, double* to)
{
    const perpi_design* d = s->design;
    const json_t *measures = json_object_get(object, "measures"),
                 *curvature = json_object_get(object, "curvature");
    const int32_t n = d->unknown_count, count = perp_study_measure_count(s);
    int32_t slot[PERPI_EXPR_SQUARE_SLOTS], slots = 0;
    bool all = true;
    memset(to, 0, (size_t)n * (size_t)n * sizeof *to);
    for (int32_t k = 0; k < count + n; ++k) {
        if (!has_slot(d, 0, k)) {
            continue;
        }
        all = all && slots < PERPI_EXPR_SQUARE_SLOTS;
        slot[all ? slots++ : 0] = k;
        if (k >= count) {
            continue;
        }
        const json_t* own = json_object_get(curvature, perp_study_measure_name(s, k));
        if (json_array_size(own) != (size_t)(n * (n + 1) / 2)) {
            memset(to, 0, (size_t)n * (size_t)n * sizeof *to);
            return; /* not known: one without the others would mislead */
        }
        const double by = by_slot(d, 0, k);
        add_lower(n, by > 0.0 ? by : 0.0, own, to);
    }
    if (all) {
        perpi_expr_squares(d->minimise, 0.0, d->slot, slot, slots, add_square,
                           &(objective_curvature){s, measures, slot, slots, to});
    }
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
    if (good) {
        const int32_t rows = 1 + s->design->constraint_count;
        curvature_of(s, object, slope + rows * s->design->unknown_count);
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
