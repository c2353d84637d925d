/* src/model/value.c - see value.h. */
#include "model/value.h"

#include <math.h>

perp_status perpi_value_make(perp_context* context, double number, const char* text,
                             const char* member, perpi_value* value)
{
    *value = (perpi_value){.number = number};
    if (text == NULL) {
        if (!isfinite(number)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite, got %g", member,
                              number);
        }
        return PERP_OK;
    }
    const perp_status status = perpi_expr_compile(context, text, &value->expr);
    return status == PERP_OK ? status : perpi_fail_prefix(context, status, member);
}

perp_status perpi_values_make(perp_context* context, const double* number, const char* const* text,
                              int count, const char* const* member, perpi_value* value)
{
    for (int i = 0; i < count; ++i) {
        const perp_status status = perpi_value_make(context, number != NULL ? number[i] : 0.0,
                                                    text[i], member[i], &value[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

double perpi_value_eval(const perpi_value* value, double t, double* rate)
{
    if (value->curve != NULL) {
        return perpi_curve_at(value->curve, t, rate);
    }
    *rate = 0.0;
    return value->expr != NULL ? perpi_expr_eval(value->expr, t, rate) : value->number;
}

double perpi_value_at(const perpi_value* value, double t)
{
    double rate;
    return perpi_value_eval(value, t, &rate);
}

const char* perpi_value_text(const perpi_value* value)
{
    return value->expr != NULL ? perpi_expr_text(value->expr)
                               : (value->curve != NULL ? "a table" : "");
}

void perpi_values_free(perp_context* context, perpi_value* value, int count)
{
    for (int i = 0; i < count; ++i) {
        perpi_expr_destroy(context, value[i].expr);
        perpi_curve_destroy(context, value[i].curve);
        value[i].expr = NULL;
        value[i].curve = NULL;
    }
}
