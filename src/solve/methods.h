/* src/solve/methods.h - methods by name and form. */
#ifndef PERPI_SOLVE_METHODS_H
#define PERPI_SOLVE_METHODS_H

#include "base/context.h"
#include "perp/solve.h"

typedef enum perpi_form {
    PERPI_FORM_NONE = 0, /* ends a list */
    PERPI_FORM_LCP,
    PERPI_FORM_MLCP,
    PERPI_FORM_NCP,
    PERPI_FORM_FRICTION,
    PERPI_FORM_CONTACT, /* with or without groups */
    PERPI_FORM_COUNT
} perpi_form;

/* The name that selects the plan; no method has it. */
#define PERPI_AUTO "auto"

/* "an LCP", for messages. */
const char* perpi_form_text(perpi_form form);
bool perpi_method_has(const perp_method* method, perpi_form form);
/* NULL if there is no such method for that form. */
const perp_method* perpi_find_method(const perp_context* context, const char* name,
                                     perpi_form form);
/* The error for a name without a method for that form: known for other forms, or unknown. */
perp_status perpi_fail_solver_name(perp_context* context, const char* name, perpi_form form);

#endif
