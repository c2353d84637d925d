/* src/solve/settings.c - settings by name, with type and range. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "perp/solve.h"

static perp_status fail_unknown(perp_context* context, const perp_setting* table, int32_t count,
                                const char* owner, const char* name)
{
    enum { MOST = 63 };
    if (count == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s has no settings, got '%s'", owner, name);
    }
    const char* known[MOST + 1];
    char list[512] = "";
    size_t used = 0;
    int32_t n = 0;
    for (; n < count && n < MOST; ++n) {
        known[n] = table[n].name;
        if (used < sizeof list) {
            const int wrote =
                snprintf(list + used, sizeof list - used, "%s%s", n > 0 ? ", " : "", table[n].name);
            used += wrote > 0 ? (size_t)wrote : 0;
        }
    }
    known[n] = NULL;
    const char* near = perpi_nearest(name, known);
    if (near != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: unknown setting '%s': did you mean '%s'?",
                          owner, name, near);
    }
    return perpi_fail(context, PERP_ERROR_INPUT, "%s: unknown setting '%s': known are %s", owner,
                      name, list);
}

perp_status perp_setting_assign(perp_context* context, const perp_setting* table, int32_t count,
                                const char* owner, const char* name, double value, void* settings)
{
    const perp_setting* found = NULL;
    for (int32_t i = 0; i < count && found == NULL; ++i) {
        found = strcmp(table[i].name, name) == 0 ? &table[i] : NULL;
    }
    if (found == NULL) {
        return fail_unknown(context, table, count, owner, name);
    }
    char* member = (char*)settings + found->offset;
    if (found->type == PERP_SETTING_BOOL) {
        if (value != 0.0 && value != 1.0) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: %s must be true or false, got %.15g",
                              owner, name, value);
        }
        const bool flag = value != 0.0;
        memcpy(member, &flag, sizeof flag);
        return PERP_OK;
    }
    if (!(value >= found->minimum && value <= found->maximum)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: %s must be in [%.15g, %.15g], got %.15g",
                          owner, name, found->minimum, found->maximum, value);
    }
    if (found->type == PERP_SETTING_INT) {
        if (value != floor(value) || !(fabs(value) <= 2147483647.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: %s must be a whole number, got %.15g",
                              owner, name, value);
        }
        const int32_t whole = (int32_t)value;
        memcpy(member, &whole, sizeof whole);
        return PERP_OK;
    }
    memcpy(member, &value, sizeof value);
    return PERP_OK;
}
