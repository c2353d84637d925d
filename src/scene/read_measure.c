/* src/scene/read_measure.c - "measures" and "stop": expressions of quantities, parameters, t and
 * the measures before. */
#include <string.h>

#include "scene/parameter.h"
#include "scene/reader.h"
#include "sim/measure.h"

/* The measures that an expression may have. */
typedef struct measures_before {
    const perp_measure_def* measure;
    int32_t count;
} measures_before;

/* At an expression: that it compiles, and which parameters it uses. */
static perp_status check_expression(perpi_reader* r, measures_before before, const char* text)
{
    perpi_parameters* p = r->parameters;
    perpi_measure_names names = {.context = r->context,
                                 .model = r->model,
                                 .parameter = p->item,
                                 .parameter_count = p->count,
                                 .used = p->used,
                                 .measure = before.measure,
                                 .measure_count = before.count,
                                 .slot_base = before.count};
    perpi_expr* expr = NULL;
    bool of_step;
    const perp_status status = perpi_measure_compile(&names, text, &expr, &of_step);
    perpi_expr_destroy(r->context, expr);
    perpi_free(r->context, names.quantity);
    perpi_free(r->context, names.use);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

/* "expression", {"max": "expression"}, or with times: {"mean": "expression", "over": 0.1, "every": 1}. */
static perp_status read_measure(perpi_reader* r, json_t* value, measures_before before,
                                perp_measure_def* def)
{
    static const char* const keys[] = {"max", "min",   "mean", "integral", "first_time",
                                       "sum", "every", "over", NULL};
    if (json_is_string(value)) {
        def->kind = PERP_MEASURE_END;
        def->expression = json_string_value(value);
        return check_expression(r, before, def->expression);
    }
    if (!json_is_object(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be an expression (its value at the end) or one of "
                                 "{\"max\"|\"min\"|\"mean\"|\"integral\"|\"first_time\"|\"sum\": "
                                 "expression}, got %s",
                                 perpi_json_kind(value));
    }
    PERPI_TRY(perpi_read_object(r, value, keys));
    const char* kind = NULL;
    int kinds = 0;
    for (int k = 0; k < PERP_MEASURE_KIND_COUNT; ++k) {
        const char* name = perp_measure_kind_name((perp_measure_kind)k);
        if (json_object_get(value, name) != NULL) {
            def->kind = (perp_measure_kind)k;
            kind = name;
            kinds += 1;
        }
    }
    if (kinds != 1) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must have one of \"max\", \"min\", \"mean\", \"integral\", "
                                 "\"first_time\", \"sum\", got %d of them",
                                 kinds);
    }
    PERPI_TRY(perpi_read_number(r, value, "every", &def->every));
    PERPI_TRY(perpi_read_number(r, value, "over", &def->over));
    PERPI_TRY(perpi_read_string(r, value, kind, &def->expression));
    const size_t mark = perpi_reader_enter(r, kind);
    PERPI_TRY(check_expression(r, before, def->expression));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

perp_status perpi_read_measures(perpi_reader* r, const json_t* root, perp_measure_def** measures,
                                int32_t* count)
{
    json_t* object = json_object_get(root, "measures");
    if (object == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "measures");
    if (!json_is_object(object)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be an object of names and expressions, got %s",
                                 perpi_json_kind(object));
    }
    PERPI_TRY(perpi_alloc(r->context, json_object_size(object) + 1, sizeof **measures, measures));
    for (void* i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        perp_measure_def* def = &(*measures)[*count];
        def->name = json_object_iter_key(i);
        const size_t item = perpi_reader_enter(r, def->name);
        if (def->name[0] == '\0') {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "the name must not be empty");
        }
        const measures_before before = {*measures, *count};
        PERPI_TRY(read_measure(r, json_object_iter_value(i), before, def));
        perpi_reader_leave(r, item);
        *count += 1;
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

perp_status perpi_read_stops(perpi_reader* r, const json_t* root, const perp_measure_def* measures,
                             int32_t measure_count, perp_stop_def** stops, int32_t* count)
{
    const measures_before before = {measures, measure_count};
    static const char* const keys[] = {"name", "when", NULL};
    const json_t* list = json_object_get(root, "stop");
    if (list == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "stop");
    PERPI_TRY(perpi_read_array(r, list));
    PERPI_TRY(perpi_alloc(r->context, json_array_size(list) + 1, sizeof **stops, stops));
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t* value = json_array_get(list, i);
        perp_stop_def* def = &(*stops)[i];
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(perpi_read_object(r, value, keys));
        PERPI_TRY(perpi_require(r, value, "name"));
        PERPI_TRY(perpi_require(r, value, "when"));
        PERPI_TRY(perpi_read_string(r, value, "name", &def->name));
        PERPI_TRY(perpi_read_string(r, value, "when", &def->when));
        const size_t when = perpi_reader_enter(r, "when");
        PERPI_TRY(check_expression(r, before, def->when));
        perpi_reader_leave(r, when);
        perpi_reader_leave(r, item);
        *count += 1;
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}
