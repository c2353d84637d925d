/* src/contact/models.c - the contact models that exist, and the names kept for those to come. */
#include <string.h>

#include "contact/models.h"

static const perpi_contact_model_ops* const built[] = {
    &perpi_contact_standard, &perpi_contact_corrective, &perpi_contact_lnc, &perpi_contact_peg};

static const char* const reserved[] = {"disjunctive"};

enum { BUILT = sizeof built / sizeof built[0], RESERVED = sizeof reserved / sizeof reserved[0] };

bool perpi_contact_model_at(int32_t index, const char** name, const perpi_contact_model_ops** ops)
{
    if (index < 0 || index >= BUILT + RESERVED) {
        return false;
    }
    *ops = index < BUILT ? built[index] : NULL;
    *name = index < BUILT ? built[index]->name : reserved[index - BUILT];
    return true;
}

perp_status perpi_contact_model_find(perp_context* context, const char* name,
                                     const perpi_contact_model_ops** ops)
{
    const char* names[BUILT + RESERVED + 1] = {NULL};
    const char* known;
    const perpi_contact_model_ops* found;
    for (int32_t i = 0; perpi_contact_model_at(i, &known, &found); ++i) {
        if (found != NULL) {
            names[i] = known; /* the built ones come first: only these are offered */
        }
        if (strcmp(known, name) != 0) {
            continue;
        }
        if (found == NULL) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                              "contact model '%s' does not exist yet", name);
        }
        *ops = found;
        return PERP_OK;
    }
    return perpi_fail_unknown(context, "contact model", name, names);
}
