/* src/solve/methods.c - which methods there are: the built-in ones (builtin.h), then those that were
 * registered in the context. */
#include "solve/methods.h"

#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"

#define PERPI_METHOD_ADDRESS(name) &perpi_method_##name,
static const perp_method* const builtin[] = {PERPI_METHODS(PERPI_METHOD_ADDRESS)};
#undef PERPI_METHOD_ADDRESS

enum { BUILTIN_COUNT = (int)(sizeof builtin / sizeof builtin[0]) };

/* ---- lookup ----------------------------------------------------------------------------------------*/

const char* perpi_form_text(perpi_form form)
{
    static const char* const text[PERPI_FORM_COUNT] = {[PERPI_FORM_NONE] = "",
                                                       [PERPI_FORM_LCP] = "an LCP",
                                                       [PERPI_FORM_MLCP] = "an MLCP",
                                                       [PERPI_FORM_NCP] = "an NCP",
                                                       [PERPI_FORM_FRICTION] = "a friction problem",
                                                       [PERPI_FORM_CONTACT] = "a contact problem"};
    return text[form];
}

bool perpi_method_has(const perp_method* method, perpi_form form)
{
    switch (form) {
    case PERPI_FORM_LCP: return method->lcp != NULL;
    case PERPI_FORM_MLCP: return method->mlcp != NULL;
    case PERPI_FORM_NCP: return method->ncp != NULL;
    case PERPI_FORM_FRICTION: return method->friction != NULL;
    case PERPI_FORM_CONTACT: return method->contact != NULL || method->grouped != NULL;
    case PERPI_FORM_NONE:
    case PERPI_FORM_COUNT: break;
    }
    return false;
}

/* The item-th method; NULL after the last. */
static const perp_method* method_at(const perp_context* context, int32_t item)
{
    return item < BUILTIN_COUNT
               ? builtin[item]
               : perpi_registered(context, PERPI_PIECE_METHOD, item - BUILTIN_COUNT);
}

const perp_method* perpi_find_method(const perp_context* context, const char* name, perpi_form form)
{
    const perp_method* method;
    for (int32_t i = 0; (method = method_at(context, i)) != NULL; ++i) {
        if (perpi_method_has(method, form) && strcmp(method->name, name) == 0) {
            return method;
        }
    }
    return NULL;
}

/* ---- listing ---------------------------------------------------------------------------------------*/

static void no_settings(void* settings)
{
    (void)settings;
}

/* Everything known under one name; the settings are those of the first form in the order in which a
 * contact problem looks for it. */
static perp_solver_info describe_method(const perp_context* context, const char* name)
{
    static const perpi_form order[] = {PERPI_FORM_CONTACT, PERPI_FORM_FRICTION, PERPI_FORM_MLCP,
                                       PERPI_FORM_LCP, PERPI_FORM_NCP};
    const bool is_auto = strcmp(name, PERPI_AUTO) == 0;
    perp_solver_info info = {
        .name = name,
        .summary = "a plan: the methods that fit, in order, until one solves the problem",
        .takes_lcp = is_auto || perpi_find_method(context, name, PERPI_FORM_LCP) != NULL,
        .takes_mlcp = is_auto || perpi_find_method(context, name, PERPI_FORM_MLCP) != NULL,
        .takes_ncp = is_auto || perpi_find_method(context, name, PERPI_FORM_NCP) != NULL,
        .takes_friction = is_auto || perpi_find_method(context, name, PERPI_FORM_FRICTION) != NULL,
        .takes_contact = is_auto || perpi_find_method(context, name, PERPI_FORM_CONTACT) != NULL,
        .settings_default = no_settings};
    const perp_method* first = NULL;
    for (size_t i = 0; first == NULL && i < sizeof order / sizeof order[0]; ++i) {
        first = perpi_find_method(context, name, order[i]);
    }
    if (first != NULL) {
        info.summary = first->summary;
        info.settings = first->settings;
        info.settings_count = first->settings_count;
        info.settings_size = first->settings_size;
        info.settings_default =
            first->settings_default != NULL ? first->settings_default : no_settings;
    }
    return info;
}

/* The index-th distinct name: "auto", then the methods in order; NULL after the last. */
static const char* distinct_name(const perp_context* context, int32_t index)
{
    const perp_method* method;
    if (index == 0) {
        return PERPI_AUTO;
    }
    for (int32_t i = 0; (method = method_at(context, i)) != NULL; ++i) {
        bool fresh = true;
        for (int32_t j = 0; j < i && fresh; ++j) {
            fresh = strcmp(method_at(context, j)->name, method->name) != 0;
        }
        if (fresh && --index == 0) {
            return method->name;
        }
    }
    return NULL;
}

bool perp_solver_list(const perp_context* context, int32_t index, perp_solver_info* info)
{
    const char* name = index < 0 ? NULL : distinct_name(context, index);
    if (name == NULL) {
        return false;
    }
    *info = describe_method(context, name);
    return true;
}

perp_status perpi_fail_solver_name(perp_context* context, const char* name, perpi_form form)
{
    enum { MOST = 63 };
    const char* known[MOST + 1] = {NULL};
    for (int32_t count = 0; count < MOST; ++count) {
        known[count] = distinct_name(context, count);
        if (known[count] == NULL) {
            break;
        }
        if (strcmp(known[count], name) == 0) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED, "solver '%s' does not take %s", name,
                              perpi_form_text(form));
        }
    }
    return perpi_fail_unknown(context, "solver", name, known);
}

/* ---- registration ----------------------------------------------------------------------------------*/

static bool is_complete(const perp_method* m)
{
    return m->create != NULL && m->destroy != NULL && m->settings_count >= 0 &&
           (m->settings_count == 0 || m->settings != NULL) &&
           (m->settings_size == 0 || m->settings_default != NULL);
}

perp_status perp_register_method(perp_context* context, const perp_method* method)
{
    const char* name = method->name;
    if (name == NULL || name[0] == '\0') {
        return perpi_fail(context, PERP_ERROR_INPUT, "a solver needs a name");
    }
    bool any = false, taken = strcmp(name, PERPI_AUTO) == 0;
    for (perpi_form form = PERPI_FORM_LCP; form < PERPI_FORM_COUNT; ++form) {
        const bool has = perpi_method_has(method, form);
        any = any || has;
        taken = taken || (has && perpi_find_method(context, name, form) != NULL);
    }
    if (!any || !is_complete(method)) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "solver '%s': create, destroy, solve and, with settings, settings_default "
            "must not be NULL",
            name);
    }
    if (taken) {
        return perpi_fail(context, PERP_ERROR_INPUT, "solver '%s': the name is taken", name);
    }
    return perpi_register(context, PERPI_PIECE_METHOD, method);
}
