/* src/solve/registry.c - which methods there are. To add one: write its file, declare its table in
 * builtin.h, and put it into the array of its form below. */
#include "solve/registry.h"

#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"

/* ---- the built-in methods, in the order of `perp list solvers` -----------------------------------*/

static const perp_lcp_solver_ops* const builtin_lcp[] = {&perpi_lcp_lemke, &perpi_lcp_pgs, NULL};
static const perp_mlcp_solver_ops* const builtin_mlcp[] = {NULL};
static const perp_ncp_solver_ops* const builtin_ncp[] = {NULL};
static const perp_contact_solver_ops* const builtin_contact[] = {&perpi_contact_pgs, NULL};

static const char AUTO_NAME[] = "auto";
static const char AUTO_METHOD[] = "lemke";
static const char AUTO_SUMMARY[] = "chooses the method; today always lemke";

/* Names of DESIGN's list whose method is not written yet. */
static const char* const not_built[] = {
    "psor",  "jacobi", "fixed-point", "interior-point", "fischer-newton", "minmap-newton",
    "pivot", "path",   "nsgs",        "newton",         "admm",           NULL};

/* ---- lookup ----------------------------------------------------------------------------------------*/

/* The item-th method of a form: built-in ones first, then registered ones; NULL after the last. */
static const perp_lcp_solver_ops* lcp_at(const perp_context* context, int32_t item)
{
    const int32_t count = (int32_t)(sizeof builtin_lcp / sizeof builtin_lcp[0]) - 1;
    return item < count ? builtin_lcp[item]
                        : perpi_registered(context, PERPI_PIECE_LCP_SOLVER, item - count);
}

static const perp_mlcp_solver_ops* mlcp_at(const perp_context* context, int32_t item)
{
    const int32_t count = (int32_t)(sizeof builtin_mlcp / sizeof builtin_mlcp[0]) - 1;
    return item < count ? builtin_mlcp[item]
                        : perpi_registered(context, PERPI_PIECE_MLCP_SOLVER, item - count);
}

static const perp_ncp_solver_ops* ncp_at(const perp_context* context, int32_t item)
{
    const int32_t count = (int32_t)(sizeof builtin_ncp / sizeof builtin_ncp[0]) - 1;
    return item < count ? builtin_ncp[item]
                        : perpi_registered(context, PERPI_PIECE_NCP_SOLVER, item - count);
}

static const perp_contact_solver_ops* contact_at(const perp_context* context, int32_t item)
{
    const int32_t count = (int32_t)(sizeof builtin_contact / sizeof builtin_contact[0]) - 1;
    return item < count ? builtin_contact[item]
                        : perpi_registered(context, PERPI_PIECE_CONTACT_SOLVER, item - count);
}

const perp_lcp_solver_ops* perpi_find_lcp_solver(const perp_context* context, const char* name)
{
    const perp_lcp_solver_ops* ops;
    for (int32_t i = 0; (ops = lcp_at(context, i)) != NULL; ++i) {
        if (strcmp(ops->name, name) == 0) {
            return ops;
        }
    }
    return NULL;
}

const perp_mlcp_solver_ops* perpi_find_mlcp_solver(const perp_context* context, const char* name)
{
    const perp_mlcp_solver_ops* ops;
    for (int32_t i = 0; (ops = mlcp_at(context, i)) != NULL; ++i) {
        if (strcmp(ops->name, name) == 0) {
            return ops;
        }
    }
    return NULL;
}

const perp_ncp_solver_ops* perpi_find_ncp_solver(const perp_context* context, const char* name)
{
    const perp_ncp_solver_ops* ops;
    for (int32_t i = 0; (ops = ncp_at(context, i)) != NULL; ++i) {
        if (strcmp(ops->name, name) == 0) {
            return ops;
        }
    }
    return NULL;
}

const perp_contact_solver_ops* perpi_find_contact_solver(const perp_context* context,
                                                         const char* name)
{
    const perp_contact_solver_ops* ops;
    for (int32_t i = 0; (ops = contact_at(context, i)) != NULL; ++i) {
        if (strcmp(ops->name, name) == 0) {
            return ops;
        }
    }
    return NULL;
}

const char* perpi_resolve_solver(const char* name)
{
    return strcmp(name, AUTO_NAME) == 0 ? AUTO_METHOD : name;
}

/* ---- listing ---------------------------------------------------------------------------------------*/

static void no_settings(void* settings)
{
    (void)settings;
}

/* Everything known under one name; the settings are those of the first form in the order in which
 * the dispatcher looks: contact, MLCP, LCP, NCP. */
static perp_solver_info describe(const perp_context* context, const char* name)
{
    const perp_contact_solver_ops* contact = perpi_find_contact_solver(context, name);
    const perp_mlcp_solver_ops* mlcp = perpi_find_mlcp_solver(context, name);
    const perp_lcp_solver_ops* lcp = perpi_find_lcp_solver(context, name);
    const perp_ncp_solver_ops* ncp = perpi_find_ncp_solver(context, name);
    perp_solver_info info = {.name = name,
                             .takes_lcp = lcp != NULL,
                             .takes_mlcp = mlcp != NULL,
                             .takes_ncp = ncp != NULL,
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
    const perp_lcp_solver_ops* lcp;
    const perp_mlcp_solver_ops* mlcp;
    const perp_ncp_solver_ops* ncp;
    const perp_contact_solver_ops* contact;
    int32_t i = 0;
    for (; (lcp = lcp_at(context, i)) != NULL; ++i) {
        if (i == item) {
            return lcp->name;
        }
    }
    item -= i;
    for (i = 0; (mlcp = mlcp_at(context, i)) != NULL; ++i) {
        if (i == item) {
            return mlcp->name;
        }
    }
    item -= i;
    for (i = 0; (contact = contact_at(context, i)) != NULL; ++i) {
        if (i == item) {
            return contact->name;
        }
    }
    item -= i;
    for (i = 0; (ncp = ncp_at(context, i)) != NULL; ++i) {
        if (i == item) {
            return ncp->name;
        }
    }
    return NULL;
}

static bool is_builtin(const char* name)
{
    for (int32_t i = 0; builtin_lcp[i] != NULL; ++i) {
        if (strcmp(builtin_lcp[i]->name, name) == 0) {
            return true;
        }
    }
    for (int32_t i = 0; builtin_mlcp[i] != NULL; ++i) {
        if (strcmp(builtin_mlcp[i]->name, name) == 0) {
            return true;
        }
    }
    for (int32_t i = 0; builtin_ncp[i] != NULL; ++i) {
        if (strcmp(builtin_ncp[i]->name, name) == 0) {
            return true;
        }
    }
    for (int32_t i = 0; builtin_contact[i] != NULL; ++i) {
        if (strcmp(builtin_contact[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The index-th distinct name: built-in ones first. */
static const char* distinct_name(const perp_context* context, int32_t index)
{
    for (int32_t pass = 0; pass < 2; ++pass) {
        const char* name;
        for (int32_t i = 0; (name = name_at(context, i)) != NULL; ++i) {
            bool fresh = is_builtin(name) == (pass == 0);
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
        *info = describe(context, AUTO_METHOD);
        info->name = AUTO_NAME;
        info->summary = AUTO_SUMMARY;
        info->settings = NULL; /* a portfolio has none of a single method's */
        info->settings_count = 0;
        info->settings_size = 0;
        info->settings_default = no_settings;
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
    for (int32_t i = 0; not_built[i] != NULL; ++i) {
        if (strcmp(not_built[i], name) == 0) {
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
