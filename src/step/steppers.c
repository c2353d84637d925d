/* src/step/steppers.c - the table of steppers, and reserved names. */
#include <stdio.h>
#include <string.h>

#include "step/step.h"

/* One line for each: perpi_stepper_NAME is defined in NAME.c. They are listed in this order. */
#define STEPPERS(X)                                                                                \
    X(stewart_trinkle)                                                                             \
    X(anitescu_potra)                                                                              \
    X(implicit)                                                                                    \
    X(geometric_implicit)                                                                          \
    X(compliant)                                                                                   \
    X(quasistatic)

#define DECLARE(name) extern const perpi_stepper_ops perpi_stepper_##name;
#define ENTRY(name) &perpi_stepper_##name,
STEPPERS(DECLARE)
static const perpi_stepper_ops* const built[] = {STEPPERS(ENTRY)};

static const char* const reserved[] = {"instantaneous"};

enum { BUILT = sizeof built / sizeof built[0], RESERVED = sizeof reserved / sizeof reserved[0] };

perp_status perpi_stepper_settings(perp_context* context, const perpi_stepper_ops* ops,
                                   const perp_option* option, int32_t count,
                                   perpi_step_settings* settings)
{
    char owner[64];
    (void)snprintf(owner, sizeof owner, "stepper '%s'", ops->name);
    *settings = (perpi_step_settings){.inertia = 1.0, .closed_gap = 1e-6};
    for (int32_t i = 0; i < count; ++i) {
        const perp_status status =
            perp_setting_assign(context, ops->setting, ops->setting_count, owner, option[i].name,
                                option[i].value, settings);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

bool perpi_stepper_at(int32_t index, const char** name, const perpi_stepper_ops** ops)
{
    if (index < 0 || index >= BUILT + RESERVED) {
        return false;
    }
    *ops = index < BUILT ? built[index] : NULL;
    *name = index < BUILT ? built[index]->name : reserved[index - BUILT];
    return true;
}

const perpi_stepper_ops* perpi_stepper_named(const char* name)
{
    for (int32_t i = 0; i < BUILT; ++i) {
        if (strcmp(built[i]->name, name) == 0) {
            return built[i];
        }
    }
    return NULL;
}

perp_status perpi_stepper_find(perp_context* context, const char* name,
                               const perpi_stepper_ops** ops)
{
    const char* names[BUILT + RESERVED + 1] = {NULL};
    const char* known;
    const perpi_stepper_ops* found;
    for (int32_t i = 0; perpi_stepper_at(i, &known, &found); ++i) {
        if (found != NULL) {
            names[i] = known; /* implemented steppers come first: only these are suggested */
        }
        if (strcmp(known, name) != 0) {
            continue;
        }
        if (found == NULL && strcmp(name, "instantaneous") == 0) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "'instantaneous' gives forces and accelerations at one state, not a "
                              "motion: use 'perp forces SCENE', or another stepper");
        }
        if (found == NULL) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED, "stepper '%s' does not exist yet",
                              name);
        }
        *ops = found;
        return PERP_OK;
    }
    return perpi_fail_unknown(context, "stepper", name, names);
}
