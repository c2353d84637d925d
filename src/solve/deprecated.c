/* src/solve/deprecated.c - tables per method and form, as before 0.2: each becomes a perp_method that
 * the context owns. */
#include "base/context.h"
#include "perp/solve.h"

static perp_status register_owned(perp_context* context, const perp_method* method)
{
    perp_method* copy = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *copy, &copy);
    if (status != PERP_OK) {
        return status;
    }
    *copy = *method;
    status = perpi_register(context, PERPI_PIECE_OWNED, copy);
    if (status != PERP_OK) {
        perpi_free(context, copy);
        return status;
    }
    return perp_register_method(context, copy);
}

#define DEFINE_REGISTER(form, limits)                                                              \
    perp_status perp_register_##form##_solver(perp_context* context,                               \
                                              const perp_##form##_solver_ops* ops)                 \
    {                                                                                              \
        const perp_method method = {.name = ops->name,                                             \
                                    .summary = ops->summary,                                       \
                                    .limits = ops->limits,                                         \
                                    .settings_size = ops->settings_size,                           \
                                    .settings = ops->settings,                                     \
                                    .settings_count = ops->settings_count,                         \
                                    .settings_default = ops->settings_default,                     \
                                    .create = ops->create,                                         \
                                    .destroy = ops->destroy,                                       \
                                    .form = ops->solve};                                           \
        return register_owned(context, &method);                                                   \
    }

DEFINE_REGISTER(lcp, needs)
DEFINE_REGISTER(mlcp, needs)
DEFINE_REGISTER(ncp, needs)
DEFINE_REGISTER(friction, takes)
DEFINE_REGISTER(contact, takes)
