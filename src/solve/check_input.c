/* src/solve/check_input.c - options, first guess, and whether a method takes a problem. See solve.h. */
#include <math.h>

#include "problem/operators.h"
#include "solve/solve.h"

perp_solve_options perp_solve_options_default(void)
{
    return (perp_solve_options){.tolerance = 1e-10};
}

/* *chosen: the options or the defaults, checked; empties the list of attempts. */
perp_status perpi_check_options(perp_context* context, const perp_solve_options* options,
                                perp_solve_options* chosen)
{
    *chosen = options != NULL ? *options : perp_solve_options_default();
    if (!(chosen->tolerance > 0.0 && chosen->tolerance < INFINITY)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "solve options: tolerance must be a finite number > 0, got %.15g",
                          chosen->tolerance);
    }
    if (chosen->max_iter < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "solve options: max_iter must be >= 0, got %d",
                          (int)chosen->max_iter);
    }
    if (!(chosen->time_limit >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "solve options: time_limit must be >= 0 seconds, got %.15g",
                          chosen->time_limit);
    }
    if (chosen->attempts != NULL) {
        chosen->attempts->count = 0;
    }
    return PERP_OK;
}

perp_status perpi_check_guess(perp_context* context, const char* name, const double* x, int32_t n)
{
    const bool finite = perpi_all_finite((size_t)n, x);
    for (int32_t i = 0; !finite && i < n; ++i) {
        if (!isfinite(x[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "first guess: %s[%d] is not finite", name,
                              (int)i);
        }
    }
    return PERP_OK;
}

/* Refuses the first constraint whose cone is not in takes, and groups. */
perp_status perpi_check_takes(perp_context* context, const char* solver, uint32_t takes,
                              const perpi_problem* P)
{
    static const char* const cone_name[] = {"none", "polygon", "quadratic", "ellipsoid"};
    const bool contact = P->form == PERPI_FORM_CONTACT;
    if (!contact && P->form != PERPI_FORM_FRICTION) {
        return PERP_OK;
    }
    if (contact && P->contact->group_count > 0 && (takes & PERP_TAKES_GROUPS) == 0) {
        return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                          "solver '%s' does not take groups of contacts", solver);
    }
    const int32_t count = contact ? P->contact->constraint_count : P->friction->constraint_count;
    const perp_constraint* c = contact ? P->contact->constraint : P->friction->constraint;
    for (int32_t i = 0; i < count; ++i, ++c) {
        if (c->kind == PERP_CONSTRAINT_CONTACT && (takes & (1u << (unsigned)c->cone)) == 0) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                              "solver '%s' does not take the friction cone '%s' (constraint %d)",
                              solver, cone_name[c->cone], (int)i);
        }
    }
    return PERP_OK;
}
