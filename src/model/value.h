/* src/model/value.h - numbers that may be given by an expression in t. */
#ifndef PERPI_VALUE_H
#define PERPI_VALUE_H

#include "base/curve.h"
#include "base/expr.h"

typedef struct perpi_value {
    double number;
    perpi_expr* expr;   /* NULL: constant, or a curve */
    perpi_curve* curve; /* of a table; NULL: none */
} perpi_value;

double perpi_value_at(const perpi_value* value, double t);
/* With its derivative. */
double perpi_value_eval(const perpi_value* value, double t, double* rate);
/* The source of the value, for messages: the text of an expression, or "a table". */
const char* perpi_value_text(const perpi_value* value);
static inline bool perpi_value_varies(const perpi_value* value)
{
    return value->expr != NULL || value->curve != NULL;
}

/* Number, or the expression that replaces it. member names it in a message. */
PERP_NODISCARD perp_status perpi_value_make(perp_context* context, double number, const char* text,
                                            const char* member, perpi_value* value);
/* count of them; number NULL: all 0. */
PERP_NODISCARD perp_status perpi_values_make(perp_context* context, const double* number,
                                             const char* const* text, int count,
                                             const char* const* member, perpi_value* value);
void perpi_values_free(perp_context* context, perpi_value* value, int count);

#endif
