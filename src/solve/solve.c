/* src/solve/solve.c - what the dispatchers of the five forms share; see dispatch.h. */
#include "solve/solve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/clock.h"
#include "solve/methods.h"

perp_solve_options perp_solve_options_default(void)
{
    return (perp_solve_options){.tolerance = 1e-10};
}

/* ---- checks and the verdict ----------------------------------------------------------------------*/

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
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(x[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "first guess: %s[%d] is not finite", name,
                              (int)i);
        }
    }
    return PERP_OK;
}

perp_status perpi_check_cones(perp_context* context, const char* solver, uint32_t takes,
                              const perp_constraint* constraint, int32_t count)
{
    static const char* const cone_name[] = {"none", "polygon", "quadratic", "ellipsoid"};
    for (int32_t i = 0; i < count; ++i) {
        const perp_constraint* c = &constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && (takes & (1u << (unsigned)c->cone)) == 0) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                              "solver '%s' does not take the friction cone '%s' (constraint %d)",
                              solver, cone_name[c->cone], (int)i);
        }
    }
    return PERP_OK;
}

void perpi_settle(perp_report* report, double residual, double tolerance, const char* where)
{
    report->residual = residual;
    report->detail[sizeof report->detail - 1] = '\0';
    if (residual <= tolerance) {
        if (report->outcome != PERP_OUTCOME_SOLVED) {
            report->detail[0] = '\0';
        }
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (report->outcome == PERP_OUTCOME_SOLVED || report->outcome == PERP_OUTCOME_UNSET) {
        report->outcome = PERP_OUTCOME_BREAKDOWN;
        snprintf(report->detail, sizeof report->detail, "method says solved, judge finds %.1e%s",
                 residual, where);
    }
}

void perpi_attempt_add(const perp_solve_options* options, const perp_report* made, double seconds)
{
    perp_attempt_list* list = options->attempts;
    if (list == NULL) {
        return;
    }
    if (list->count < list->capacity) {
        list->attempt[list->count] = (perp_attempt){.solver = made->solver,
                                                    .outcome = made->outcome,
                                                    .iterations = made->iterations,
                                                    .residual = made->residual,
                                                    .seconds = seconds};
    }
    list->count += 1;
}

void perpi_attempt_mark(const perp_solve_options* options, int32_t first, int32_t island)
{
    const perp_attempt_list* list = options->attempts;
    for (int32_t i = first; list != NULL && i < list->count && i < list->capacity; ++i) {
        list->attempt[i].island = island;
    }
}

void perpi_name_worst(const perp_contact_residual* r, char* text, size_t size)
{
    const char* law = r->dynamics >= r->worst   ? "dynamics"
                      : r->normal >= r->worst   ? "normal"
                      : r->friction >= r->worst ? "friction"
                                                : "joints";
    if (!isfinite(r->worst)) {
        snprintf(text, size, " (not finite)");
    } else if (r->worst_constraint >= 0) {
        snprintf(text, size, " (%s, constraint %d)", law, (int)r->worst_constraint);
    } else {
        snprintf(text, size, " (%s)", law);
    }
}

/* ---- a method of any form --------------------------------------------------------------------------*/

/* What every ops table has, whatever its form. */
typedef struct method_table {
    const char* name;
    const perp_setting* settings;
    int32_t settings_count;
    size_t settings_size;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
} method_table;

#define TABLE_OF(ops)                                                                              \
    ((method_table){(ops)->name, (ops)->settings, (ops)->settings_count, (ops)->settings_size,     \
                    (ops)->settings_default, (ops)->create, (ops)->destroy})

static method_table table_of(const perpi_method* m)
{
    switch (m->form) {
    case PERPI_FORM_LCP: return TABLE_OF(m->ops.lcp);
    case PERPI_FORM_MLCP: return TABLE_OF(m->ops.mlcp);
    case PERPI_FORM_NCP: return TABLE_OF(m->ops.ncp);
    case PERPI_FORM_FRICTION: return TABLE_OF(m->ops.friction);
    case PERPI_FORM_CONTACT: return TABLE_OF(m->ops.contact);
    case PERPI_FORM_NONE: break;
    }
    return (method_table){0};
}
#undef TABLE_OF

/* Sets form and ops; false if that form has no such method. */
static bool look_up(perpi_method* m, perpi_form form, const char* name)
{
    const void* found = NULL;
    switch (form) {
    case PERPI_FORM_LCP: found = m->ops.lcp = perpi_find_lcp_solver(m->context, name); break;
    case PERPI_FORM_MLCP: found = m->ops.mlcp = perpi_find_mlcp_solver(m->context, name); break;
    case PERPI_FORM_NCP: found = m->ops.ncp = perpi_find_ncp_solver(m->context, name); break;
    case PERPI_FORM_FRICTION:
        found = m->ops.friction = perpi_find_friction_solver(m->context, name);
        break;
    case PERPI_FORM_CONTACT:
        found = m->ops.contact = perpi_find_contact_solver(m->context, name);
        break;
    case PERPI_FORM_NONE: break;
    }
    m->form = found != NULL ? form : PERPI_FORM_NONE;
    return found != NULL;
}

/* A settings struct with the defaults and the given options; name: as the user wrote it. */
static perp_status make_settings(perp_context* context, const char* name, const method_table* t,
                                 const perp_option* option, int32_t count, void** settings)
{
    /* a method that stands in for another name has no settings under that name */
    const int32_t known = strcmp(name, t->name) == 0 ? t->settings_count : 0;
    char owner[128];
    snprintf(owner, sizeof owner, "solver '%s'", name);
    void* made = NULL;
    perp_status status =
        perpi_alloc(context, t->settings_size > 0 ? 1 : 0, t->settings_size, &made);
    if (status == PERP_OK && made != NULL) {
        t->settings_default(made);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = perp_setting_assign(context, t->settings, known, owner, option[i].name,
                                     option[i].value, made);
    }
    if (status != PERP_OK) {
        perpi_free(context, made);
        return status;
    }
    *settings = made;
    return PERP_OK;
}

perp_status perpi_method_create(perp_context* context, const char* name, const perpi_form* forms,
                                const char* text, const perp_option* option, int32_t count,
                                perpi_method* method)
{
    perpi_method m = {.context = context};
    /* A form with a method of that very name goes before one where another stands in. */
    for (const perpi_form* form = forms; *form != PERPI_FORM_NONE; ++form) {
        if (look_up(&m, *form, name) && strcmp(table_of(&m).name, name) == 0) {
            break;
        }
        m.form = PERPI_FORM_NONE;
    }
    for (; m.form == PERPI_FORM_NONE && *forms != PERPI_FORM_NONE; ++forms) {
        look_up(&m, *forms, name);
    }
    if (m.form == PERPI_FORM_NONE) {
        return perpi_fail_solver_name(context, name, text);
    }
    const method_table t = table_of(&m);
    m.name = t.name;
    m.judged = strcmp(t.name, "auto") == 0; /* a name that nobody else can take */
    perp_status status = make_settings(context, name, &t, option, count, &m.settings);
    if (status == PERP_OK) {
        status = t.create(context, m.settings, &m.self);
    }
    if (status != PERP_OK) {
        perpi_free(context, m.settings);
        return status;
    }
    *method = m;
    return PERP_OK;
}

void perpi_method_destroy(perpi_method* method)
{
    if (method->form != PERPI_FORM_NONE) {
        table_of(method).destroy(method->self);
        perpi_free(method->context, method->settings);
    }
}

/* ---- a solver with one vector of unknowns --------------------------------------------------------*/

perp_status perpi_vector_create(perp_context* context, const char* name, const perpi_form* forms,
                                const char* text, const perp_option* option, int32_t count,
                                perpi_vector_solver* solver)
{
    *solver = (perpi_vector_solver){.context = context};
    return perpi_method_create(context, name, forms, text, option, count, &solver->method);
}

void perpi_vector_free(perpi_vector_solver* solver)
{
    perpi_method_destroy(&solver->method);
    perpi_carrier_free(solver->context, &solver->carrier);
    perpi_free(solver->context, solver->z);
    perpi_free(solver->context, solver->work);
}

perp_status perpi_vector_take(perpi_vector_solver* solver, bool warm, const char* name,
                              const double* guess, int32_t n)
{
    perp_status status = warm ? perpi_check_guess(solver->context, name, guess, n) : PERP_OK;
    if (status == PERP_OK) {
        status = perpi_grow(solver->context, &solver->z, &solver->z_capacity, (size_t)n,
                            sizeof *solver->z);
    }
    for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
        solver->z[i] = warm ? guess[i] : 0.0;
    }
    return status;
}

void perpi_vector_give(const perpi_vector_solver* solver, double begin,
                       const perp_solve_options* options, perp_report* made, int32_t n, double* z,
                       perp_report* report)
{
    if (n > 0) {
        memcpy(z, solver->z, (size_t)n * sizeof *z);
    }
    made->solver = made->solver != NULL ? made->solver : solver->method.name;
    made->seconds = perpi_clock_now() - begin;
    if (options->attempts != NULL && options->attempts->count == 0) {
        perpi_attempt_add(options, made, made->seconds); /* no portfolio: the method itself */
    }
    if (report != NULL) {
        *report = *made;
    }
}

bool perpi_vector_judged(const perpi_vector_solver* solver, const perp_report* made)
{
    return solver->method.judged && made->solver != NULL;
}
