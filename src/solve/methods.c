/* src/solve/methods.c - which methods there are. To add one: write its file, declare its table in
 * builtin.h, and put it into the array of its form below. */
#include "solve/methods.h"

#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"

/* ---- the built-in methods, in the order of `perp list solvers` -----------------------------------*/

static const perp_lcp_solver_ops* const builtin_lcp[] = {&perpi_lcp_auto,
                                                         &perpi_lcp_lemke,
                                                         &perpi_lcp_pgs,
                                                         &perpi_lcp_psor,
                                                         &perpi_lcp_jacobi,
                                                         &perpi_lcp_interior_point,
                                                         &perpi_lcp_fischer_newton,
                                                         &perpi_lcp_minmap_newton,
                                                         &perpi_lcp_fixed_point,
                                                         NULL};
static const perp_mlcp_solver_ops* const builtin_mlcp[] = {
    &perpi_mlcp_auto,          &perpi_mlcp_fischer_newton,
    &perpi_mlcp_minmap_newton, &perpi_mlcp_pivot,
    &perpi_mlcp_pgs,           &perpi_mlcp_psor,
    &perpi_mlcp_jacobi,        &perpi_mlcp_interior_point,
    &perpi_mlcp_path,          NULL};
static const perp_ncp_solver_ops* const builtin_ncp[] = {
    &perpi_ncp_auto, &perpi_ncp_fischer_newton, &perpi_ncp_minmap_newton,
    &perpi_ncp_path, &perpi_ncp_fixed_point,    NULL};
static const perp_friction_solver_ops* const builtin_friction[] = {&perpi_friction_auto,
                                                                   &perpi_friction_nsgs,
                                                                   &perpi_friction_newton,
                                                                   &perpi_friction_admm,
                                                                   &perpi_friction_fixed_point,
                                                                   &perpi_friction_interior_point,
                                                                   NULL};
static const perp_contact_solver_ops* const builtin_contact[] = {&perpi_contact_auto,
                                                                 &perpi_contact_newton_bodies,
                                                                 &perpi_contact_switching,
                                                                 &perpi_contact_pgs,
                                                                 &perpi_contact_psor,
                                                                 &perpi_contact_jacobi,
                                                                 NULL};

/* Listed first; nobody else may take the name. */
static const char AUTO_NAME[] = "auto";

/* Names that belong to a method, written or not: one that no form has does not exist yet. */
static const char* const reserved[] = {
    "lemke",         "pgs",   "psor", "jacobi", "fixed-point", "interior-point", "fischer-newton",
    "minmap-newton", "pivot", "path", "nsgs",   "newton",      "admm",           NULL};

/* ---- lookup ----------------------------------------------------------------------------------------*/

/* For each form: FORM_at, the item-th method, built-in ones first, then registered ones, NULL after
 * the last; perpi_find_FORM_solver, by name; FORM_is_builtin. */
#define DEFINE_LOOKUP(form, piece)                                                                 \
    static const perp_##form##_solver_ops* form##_at(const perp_context* context, int32_t item)    \
    {                                                                                              \
        const int32_t count = (int32_t)(sizeof builtin_##form / sizeof builtin_##form[0]) - 1;     \
        return item < count ? builtin_##form[item]                                                 \
                            : perpi_registered(context, piece, item - count);                      \
    }                                                                                              \
    const perp_##form##_solver_ops* perpi_find_##form##_solver(const perp_context* context,        \
                                                               const char* name)                   \
    {                                                                                              \
        const perp_##form##_solver_ops* ops;                                                       \
        for (int32_t i = 0; (ops = form##_at(context, i)) != NULL; ++i) {                          \
            if (strcmp(ops->name, name) == 0) {                                                    \
                return ops;                                                                        \
            }                                                                                      \
        }                                                                                          \
        return NULL;                                                                               \
    }                                                                                              \
    static bool form##_is_builtin(const char* name)                                                \
    {                                                                                              \
        for (int32_t i = 0; builtin_##form[i] != NULL; ++i) {                                      \
            if (strcmp(builtin_##form[i]->name, name) == 0) {                                      \
                return true;                                                                       \
            }                                                                                      \
        }                                                                                          \
        return false;                                                                              \
    }

DEFINE_LOOKUP(lcp, PERPI_PIECE_LCP_SOLVER)
DEFINE_LOOKUP(mlcp, PERPI_PIECE_MLCP_SOLVER)
DEFINE_LOOKUP(ncp, PERPI_PIECE_NCP_SOLVER)
DEFINE_LOOKUP(friction, PERPI_PIECE_FRICTION_SOLVER)
DEFINE_LOOKUP(contact, PERPI_PIECE_CONTACT_SOLVER)
#undef DEFINE_LOOKUP

/* ---- listing ---------------------------------------------------------------------------------------*/

static void no_settings(void* settings)
{
    (void)settings;
}

/* Everything known under one name; the settings are those of the first form in the order in which
 * the dispatcher looks: contact, friction, MLCP, LCP, NCP. */
static perp_solver_info describe(const perp_context* context, const char* name)
{
    const perp_contact_solver_ops* contact = perpi_find_contact_solver(context, name);
    const perp_friction_solver_ops* friction = perpi_find_friction_solver(context, name);
    const perp_mlcp_solver_ops* mlcp = perpi_find_mlcp_solver(context, name);
    const perp_lcp_solver_ops* lcp = perpi_find_lcp_solver(context, name);
    const perp_ncp_solver_ops* ncp = perpi_find_ncp_solver(context, name);
    perp_solver_info info = {.name = name,
                             .takes_lcp = lcp != NULL,
                             .takes_mlcp = mlcp != NULL,
                             .takes_ncp = ncp != NULL,
                             .takes_friction = friction != NULL,
                             .takes_contact = contact != NULL};
#define FILL_FROM(ops)                                                                             \
    do {                                                                                           \
        info.summary = (ops)->summary;                                                             \
        info.settings = (ops)->settings;                                                           \
        info.settings_count = (ops)->settings_count;                                               \
        info.settings_size = (ops)->settings_size;                                                 \
        info.settings_default = (ops)->settings_default;                                           \
    } while (0)
    if (contact != NULL) {
        FILL_FROM(contact);
    } else if (friction != NULL) {
        FILL_FROM(friction);
    } else if (mlcp != NULL) {
        FILL_FROM(mlcp);
    } else if (lcp != NULL) {
        FILL_FROM(lcp);
    } else if (ncp != NULL) {
        FILL_FROM(ncp);
    }
#undef FILL_FROM
    if (info.settings_default == NULL) {
        info.settings_default = no_settings;
    }
    return info;
}

/* The names of all forms one after another, with repetitions; NULL after the last. */
static const char* name_at(const perp_context* context, int32_t item)
{
    int32_t i = 0;
#define LOOK_AMONG(form)                                                                           \
    do {                                                                                           \
        for (i = 0; form##_at(context, i) != NULL; ++i) {                                          \
            if (i == item) {                                                                       \
                return form##_at(context, i)->name;                                                \
            }                                                                                      \
        }                                                                                          \
        item -= i;                                                                                 \
    } while (0)
    LOOK_AMONG(lcp);
    LOOK_AMONG(mlcp);
    LOOK_AMONG(contact);
    LOOK_AMONG(friction);
    LOOK_AMONG(ncp);
#undef LOOK_AMONG
    return NULL;
}

static bool is_builtin(const char* name)
{
    return lcp_is_builtin(name) || mlcp_is_builtin(name) || ncp_is_builtin(name) ||
           friction_is_builtin(name) || contact_is_builtin(name);
}

/* The index-th distinct name but "auto": built-in ones first. */
static const char* distinct_name(const perp_context* context, int32_t index)
{
    for (int32_t pass = 0; pass < 2; ++pass) {
        const char* name;
        for (int32_t i = 0; (name = name_at(context, i)) != NULL; ++i) {
            bool fresh = is_builtin(name) == (pass == 0) && strcmp(name, AUTO_NAME) != 0;
            for (int32_t j = 0; j < i && fresh; ++j) {
                fresh = strcmp(name_at(context, j), name) != 0;
            }
            if (fresh && index-- == 0) {
                return name;
            }
        }
    }
    return NULL;
}

bool perp_solver_list(const perp_context* context, int32_t index, perp_solver_info* info)
{
    if (index < 0) {
        return false;
    }
    if (index == 0) {
        *info = describe(context, AUTO_NAME);
        return true;
    }
    const char* name = distinct_name(context, index - 1);
    if (name == NULL) {
        return false;
    }
    *info = describe(context, name);
    return true;
}

perp_status perpi_fail_solver_name(perp_context* context, const char* name, const char* form)
{
    enum { MOST = 63 };
    const char* known[MOST + 1] = {AUTO_NAME};
    int32_t count = 1;
    const char* next;
    while (count < MOST && (next = distinct_name(context, count - 1)) != NULL) {
        known[count++] = next;
    }
    known[count] = NULL;
    for (int32_t i = 0; i < count; ++i) {
        if (strcmp(known[i], name) == 0) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED, "solver '%s' does not take %s", name,
                              form);
        }
    }
    for (int32_t i = 0; reserved[i] != NULL; ++i) {
        if (strcmp(reserved[i], name) == 0) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED, "solver '%s' does not exist yet",
                              name);
        }
    }
    const char* near = perpi_nearest(name, known);
    if (near != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "unknown solver '%s': did you mean '%s'?",
                          name, near);
    }
    char list[512] = "";
    size_t used = 0;
    for (int32_t i = 0; i < count && used < sizeof list; ++i) {
        const int n =
            snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", known[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return perpi_fail(context, PERP_ERROR_INPUT, "unknown solver '%s': known are %s", name, list);
}

/* ---- registration ----------------------------------------------------------------------------------*/

static perp_status check_entry(perp_context* context, const char* name, bool complete, bool taken)
{
    if (name == NULL || name[0] == '\0') {
        return perpi_fail(context, PERP_ERROR_INPUT, "a solver needs a name");
    }
    if (!complete) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "solver '%s': create, destroy, solve and, with settings, settings_default "
            "must not be NULL",
            name);
    }
    if (taken || strcmp(name, AUTO_NAME) == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "solver '%s': the name is taken", name);
    }
    return PERP_OK;
}

#define COMPLETE(ops)                                                                              \
    ((ops)->create != NULL && (ops)->destroy != NULL && (ops)->solve != NULL &&                    \
     (ops)->settings_count >= 0 && ((ops)->settings_count == 0 || (ops)->settings != NULL) &&      \
     ((ops)->settings_size == 0 || (ops)->settings_default != NULL))

perp_status perp_register_lcp_solver(perp_context* context, const perp_lcp_solver_ops* ops)
{
    const bool taken = ops->name != NULL && perpi_find_lcp_solver(context, ops->name) != NULL;
    const perp_status status = check_entry(context, ops->name, COMPLETE(ops), taken);
    return status == PERP_OK ? perpi_register(context, PERPI_PIECE_LCP_SOLVER, ops) : status;
}

perp_status perp_register_mlcp_solver(perp_context* context, const perp_mlcp_solver_ops* ops)
{
    const bool taken = ops->name != NULL && perpi_find_mlcp_solver(context, ops->name) != NULL;
    const perp_status status = check_entry(context, ops->name, COMPLETE(ops), taken);
    return status == PERP_OK ? perpi_register(context, PERPI_PIECE_MLCP_SOLVER, ops) : status;
}

perp_status perp_register_ncp_solver(perp_context* context, const perp_ncp_solver_ops* ops)
{
    const bool taken = ops->name != NULL && perpi_find_ncp_solver(context, ops->name) != NULL;
    const perp_status status = check_entry(context, ops->name, COMPLETE(ops), taken);
    return status == PERP_OK ? perpi_register(context, PERPI_PIECE_NCP_SOLVER, ops) : status;
}

perp_status perp_register_contact_solver(perp_context* context, const perp_contact_solver_ops* ops)
{
    const bool taken = ops->name != NULL && perpi_find_contact_solver(context, ops->name) != NULL;
    const perp_status status = check_entry(context, ops->name, COMPLETE(ops), taken);
    return status == PERP_OK ? perpi_register(context, PERPI_PIECE_CONTACT_SOLVER, ops) : status;
}

perp_status perp_register_friction_solver(perp_context* context,
                                          const perp_friction_solver_ops* ops)
{
    const bool taken = ops->name != NULL && perpi_find_friction_solver(context, ops->name) != NULL;
    const perp_status status = check_entry(context, ops->name, COMPLETE(ops), taken);
    return status == PERP_OK ? perpi_register(context, PERPI_PIECE_FRICTION_SOLVER, ops) : status;
}
