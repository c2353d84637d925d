/* src/step/ledger_entries.c - the entries of a ledger by number and name, and sums of ledgers. */
#include <stddef.h>
#include <string.h>

#include "perp/ledger.h"

#define ENTRY(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(perp_ledger, member)                                                        \
    }
static const struct {
    const char* name;
    size_t offset;
} entries[] = {
    ENTRY("change", change),
    ENTRY("forces", forces),
    ENTRY("drag", drag),
    ENTRY("springs", springs),
    ENTRY("motors", motors),
    ENTRY("prescribed", prescribed),
    ENTRY("friction", friction),
    ENTRY("impacts", impacts),
    ENTRY("joints", joints),
    ENTRY("scheme.gap", gap),
    ENTRY("scheme.joints", joint_error),
    ENTRY("scheme.gyroscopic", gyroscopic),
    ENTRY("scheme.springs", spring_error),
    ENTRY("scheme.step_loss", step_loss),
    ENTRY("scheme.projection", projection),
    ENTRY("scheme.extrapolation", extrapolation),
    ENTRY("unexplained", unexplained),
    ENTRY("magnitude", magnitude),
};
_Static_assert(sizeof entries / sizeof entries[0] == PERP_LEDGER_COUNT, "every entry has a name");
_Static_assert(sizeof(perp_ledger) == PERP_LEDGER_COUNT * sizeof(double), "doubles only");

const char* perp_ledger_name(int32_t entry)
{
    return entry >= 0 && entry < PERP_LEDGER_COUNT ? entries[entry].name : NULL;
}

double perp_ledger_entry(const perp_ledger* ledger, int32_t entry)
{
    double value = 0.0;
    if (entry >= 0 && entry < PERP_LEDGER_COUNT) {
        memcpy(&value, (const char*)ledger + entries[entry].offset, sizeof value);
    }
    return value;
}

void perp_ledger_add(perp_ledger* sum, const perp_ledger* step)
{
    double to[PERP_LEDGER_COUNT], from[PERP_LEDGER_COUNT];
    memcpy(to, sum, sizeof to);
    memcpy(from, step, sizeof from);
    for (int i = 0; i < PERP_LEDGER_COUNT; ++i) {
        to[i] += from[i];
    }
    memcpy(sum, to, sizeof to);
}
