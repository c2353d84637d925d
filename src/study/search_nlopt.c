/* src/study/search_nlopt.c - methods of NLopt: nelder-mead, bobyqa, sbplx.
 *
 * Source     S. G. Johnson, The NLopt nonlinear-optimization package; Nelder, Mead (1965) with the bounds of Box
 *            (1965); Powell, BOBYQA (2009); Rowan's Subplex (1990)
 * Departure  none. They are deterministic, so that a search is continued by giving it the values it was given before.
 */
#include <math.h>
#include <nlopt.h>

#include "study/design.h"

bool perpi_nlopt_available(void)
{
    return true;
}

typedef struct nlopt_call {
    const perpi_search* search;
    nlopt_opt opt;
    bool stopped;
} nlopt_call;

static double nlopt_value(unsigned n, const double* z, double* gradient, void* user)
{
    (void)n, (void)gradient;
    nlopt_call* c = user;
    double value = HUGE_VAL;
    if (!c->search->evaluate(c->search->user, 1, z, &value)) {
        c->stopped = true;
        (void)nlopt_force_stop(c->opt);
    }
    return value;
}

static nlopt_algorithm algorithm_of(perp_design_method method)
{
    return method == PERP_DESIGN_BOBYQA  ? NLOPT_LN_BOBYQA
           : method == PERP_DESIGN_SBPLX ? NLOPT_LN_SBPLX
                                         : NLOPT_LN_NELDERMEAD;
}

perpi_search_end perpi_search_nlopt(perp_design_method method, const perpi_search* s,
                                    const char** text)
{
    double z[PERPI_DESIGN_UNKNOWNS] = {0.0}, value = 0.0;
    nlopt_call call = {.search = s, .opt = nlopt_create(algorithm_of(method), (unsigned)s->n)};
    *text = "";
    if (call.opt == NULL) {
        return PERPI_SEARCH_MEMORY;
    }
    nlopt_result result = nlopt_set_min_objective(call.opt, nlopt_value, &call);
    result = result < 0 ? result : nlopt_set_lower_bounds(call.opt, s->low);
    result = result < 0 ? result : nlopt_set_upper_bounds(call.opt, s->high);
    result = result < 0 ? result : nlopt_set_initial_step(call.opt, s->step);
    result = result < 0 ? result : nlopt_set_xtol_abs1(call.opt, s->tolerance);
    result = result < 0 ? result
                        : nlopt_set_maxeval(call.opt,
                                            s->budget < 2000000000 ? (int)s->budget : 2000000000);
    result = result < 0 ? result : nlopt_optimize(call.opt, z, &value);
    perpi_search_end end = PERPI_SEARCH_CONVERGED;
    if (call.stopped) {
        end = PERPI_SEARCH_STOPPED;
    } else if (result == NLOPT_MAXEVAL_REACHED) {
        end = PERPI_SEARCH_BUDGET;
    } else if (result == NLOPT_OUT_OF_MEMORY) {
        end = PERPI_SEARCH_MEMORY;
    } else if (result < 0 && result != NLOPT_ROUNDOFF_LIMITED) {
        *text = nlopt_result_to_string(result);
        end = PERPI_SEARCH_FAILED;
    }
    nlopt_destroy(call.opt);
    return end;
}
