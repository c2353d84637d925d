/* src/solve/solver.c - the solver object, and its slots: methods by name, created for problems of
 * one form. See solve.h. */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "solve/solve.h"
#include "solve/work.h"

/* ---- slots -------------------------------------------------------------------------------------------*/

/* In which forms a problem of each form can be solved, best first. */
static const perpi_form forms_for[PERPI_FORM_COUNT][PERPI_FORM_COUNT] = {
    [PERPI_FORM_LCP] = {PERPI_FORM_LCP, PERPI_FORM_MLCP, PERPI_FORM_NCP},
    [PERPI_FORM_MLCP] = {PERPI_FORM_MLCP, PERPI_FORM_LCP, PERPI_FORM_NCP},
    [PERPI_FORM_NCP] = {PERPI_FORM_NCP},
    [PERPI_FORM_FRICTION] = {PERPI_FORM_FRICTION},
    [PERPI_FORM_CONTACT] = {PERPI_FORM_CONTACT, PERPI_FORM_FRICTION, PERPI_FORM_MLCP,
                            PERPI_FORM_LCP, PERPI_FORM_NCP},
};

/* A settings struct with the defaults and the given options. */
static perp_status make_settings(perp_context* context, const perp_method* m,
                                 const perp_option* option, int32_t count, void** settings)
{
    char owner[128];
    snprintf(owner, sizeof owner, "solver '%s'", m->name);
    void* made = NULL;
    perp_status status =
        perpi_alloc(context, m->settings_size > 0 ? 1 : 0, m->settings_size, &made);
    if (status == PERP_OK && made != NULL) {
        m->settings_default(made);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = perp_setting_assign(context, m->settings, m->settings_count, owner, option[i].name,
                                     option[i].value, made);
    }
    if (status != PERP_OK) {
        perpi_free(context, made);
        return status;
    }
    *settings = made;
    return PERP_OK;
}

/* self and settings stay as they were if it fails. */
static perp_status create_state(perp_context* context, const perp_method* m,
                                const perp_option* option, int32_t count, void** settings,
                                void** self)
{
    void* made = NULL;
    perp_status status = make_settings(context, m, option, count, &made);
    if (status == PERP_OK) {
        status = m->create(context, made, self);
    }
    if (status != PERP_OK) {
        perpi_free(context, made);
        return status;
    }
    *settings = made;
    return PERP_OK;
}

static uint32_t takes_of(const perp_method* method, perpi_form form)
{
    switch (form) {
    case PERPI_FORM_CONTACT: return method->takes;
    case PERPI_FORM_FRICTION: return method->takes & ~PERP_TAKES_GROUPS;
    default: return PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_GROUPS;
    }
}

static bool is_linear(perpi_form form)
{
    return form == PERPI_FORM_LCP || form == PERPI_FORM_MLCP || form == PERPI_FORM_NCP;
}

perp_status perpi_slot_create(perp_context* context, perpi_form form, const char* name,
                              const perp_option* option, int32_t count, perpi_slot* slot)
{
    perpi_slot made = {0};
    const perpi_form* forms = forms_for[form];
    for (; made.method == NULL && *forms != PERPI_FORM_NONE; ++forms) {
        made.method = perpi_find_method(context, name, *forms);
        made.form = *forms;
    }
    if (made.method == NULL) {
        return perpi_fail_solver_name(context, name, form);
    }
    made.name = made.method->name;
    made.takes = takes_of(made.method, made.form);
    perp_status status =
        create_state(context, made.method, option, count, &made.settings, &made.self);
    if (status != PERP_OK) {
        return status;
    }
    if (form == PERPI_FORM_CONTACT && is_linear(made.form)) {
        made.round = perpi_find_method(context, name, PERPI_FORM_NCP);
    }
    if (made.round != NULL) {
        made.takes |= PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID;
        status = create_state(context, made.round, option, count, &made.round_settings,
                              &made.round_self);
        if (status != PERP_OK) {
            made.round = NULL;
            perpi_slot_destroy(context, &made);
            return status;
        }
    }
    *slot = made;
    return PERP_OK;
}

void perpi_slot_destroy(perp_context* context, perpi_slot* slot)
{
    if (slot->method != NULL) {
        slot->method->destroy(slot->self);
        perpi_free(context, slot->settings);
    }
    if (slot->round != NULL) {
        slot->round->destroy(slot->round_self);
        perpi_free(context, slot->round_settings);
    }
}

/* ---- the solver object -------------------------------------------------------------------------------*/

static void destroy_one(perpi_solver* s)
{
    if (s == NULL) {
        return;
    }
    for (int32_t i = 0; s->lane != NULL && i < PERPI_LANES_MOST; ++i) {
        destroy_one(s->lane[i]);
    }
    destroy_one(s->inner);
    destroy_one(s->acting);
    perpi_free(s->context, s->lane);
    for (int32_t i = 0; i < s->slot_count; ++i) {
        perpi_slot_destroy(s->context, &s->slot[i]);
    }
    perpi_slot_destroy(s->context, &s->start);
    perp_reformulation_destroy(s->reformulation);
    perp_reformulation_destroy(s->linear);
    perp_reformulation_destroy(s->reduced.reformulation);
    perp_reformulation_destroy(s->start_reduced.reformulation);
    perpi_reduced_units_free(s->context, &s->reduced.units);
    perpi_reduced_units_free(s->context, &s->start_reduced.units);
    perpi_lcp_columns_free(s->context, &s->columns);
    perpi_islands_destroy(s->islands);
    perpi_arena_free(&s->arena);
    perpi_free(s->context, s);
}

perp_status perpi_solver_create(perp_context* context, perpi_form form, const char* name,
                                const perp_option* option, int32_t count, perpi_solver** solver)
{
    perpi_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->form = form;
    perpi_arena_init(&s->arena, context);
    s->planned = strcmp(name, PERPI_AUTO) == 0;
    if (s->planned) {
        s->name = PERPI_AUTO;
        s->takes = ~0u;
        for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
            status = perp_setting_assign(context, NULL, 0, "solver 'auto'", option[i].name,
                                         option[i].value, NULL);
        }
    } else {
        status = perpi_slot_create(context, form, name, option, count, &s->slot[0]);
        s->slot_count = status == PERP_OK;
        s->name = s->single[0].name = s->slot[0].name;
        s->takes = s->slot[0].takes;
    }
    if (status == PERP_OK && form == PERPI_FORM_CONTACT) {
        status = perpi_islands_create(context, &s->islands);
    }
    if (status != PERP_OK) {
        destroy_one(s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

/* All public solver types are this object. */
#define DEFINE_SOLVER(form, FORM)                                                                  \
    perp_status perp_##form##_solver_create(perp_context* context, const char* name,               \
                                            const perp_option* option, int32_t count,              \
                                            perp_##form##_solver** solver)                         \
    {                                                                                              \
        perpi_solver* made = NULL;                                                                 \
        const perp_status status =                                                                 \
            perpi_solver_create(context, PERPI_FORM_##FORM, name, option, count, &made);           \
        if (status == PERP_OK) {                                                                   \
            *solver = (perp_##form##_solver*)made;                                                 \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
    void perp_##form##_solver_destroy(perp_##form##_solver* solver)                                \
    {                                                                                              \
        if (solver != NULL) {                                                                      \
            destroy_one(&solver->base);                                                            \
        }                                                                                          \
    }

DEFINE_SOLVER(lcp, LCP)
DEFINE_SOLVER(mlcp, MLCP)
DEFINE_SOLVER(ncp, NCP)
DEFINE_SOLVER(friction, FRICTION)
DEFINE_SOLVER(contact, CONTACT)
#undef DEFINE_SOLVER

bool perp_contact_solver_takes(const perp_contact_solver* solver, perp_cone cone)
{
    return (solver->base.takes & (1u << (unsigned)cone)) != 0;
}

/* The method of an entry; created when first needed. */
perp_status perpi_find_slot(perpi_solver* s, const char* name, perpi_slot** slot)
{
    int32_t i = 0;
    while (i < s->slot_count && s->slot[i].name != name && strcmp(s->slot[i].name, name) != 0) {
        ++i;
    }
    *slot = &s->slot[i];
    if (i < s->slot_count) {
        return PERP_OK;
    }
    const perp_status status = perpi_slot_create(s->context, s->form, name, NULL, 0, *slot);
    s->slot_count += status == PERP_OK;
    return status;
}

/* ---- work (work.h) -----------------------------------------------------------------------------------------*/

/* Of a solver and of all that it has made. */
static double solver_work(const perpi_solver* s)
{
    double sum = s->work;
    sum += s->inner != NULL ? solver_work(s->inner) : 0.0;
    sum += s->acting != NULL ? solver_work(s->acting) : 0.0;
    for (int k = 1; s->lane != NULL && k < PERPI_LANES_MOST; ++k) {
        sum += s->lane[k] != NULL ? solver_work(s->lane[k]) : 0.0;
    }
    return sum;
}

static void clear_work(perpi_solver* s)
{
    s->work = 0.0;
    if (s->inner != NULL) {
        clear_work(s->inner);
    }
    if (s->acting != NULL) {
        clear_work(s->acting);
    }
    for (int k = 1; s->lane != NULL && k < PERPI_LANES_MOST; ++k) {
        if (s->lane[k] != NULL) {
            clear_work(s->lane[k]);
        }
    }
}

void perpi_contact_solver_begin_work(perp_contact_solver* solver, double most)
{
    clear_work(&solver->base);
    solver->base.work_most = most;
}

double perpi_contact_solver_work(const perp_contact_solver* solver)
{
    return solver_work(&solver->base);
}

bool perpi_contact_solver_spent(const perp_contact_solver* solver, double part)
{
    const double most = solver->base.work_most;
    return most > 0.0 && solver_work(&solver->base) > part * most;
}
