/* src/contact/models.c - the contact models. */
#include "contact/models.h"

#include <string.h>

#define ENTRY(name) &perpi_contact_model_##name,
static const perpi_contact_model_ops* const built[] = {PERPI_CONTACT_MODELS(ENTRY)};

enum { BUILT = sizeof built / sizeof built[0] };

bool perpi_contact_model_at(int32_t index, const char** name, const perpi_contact_model_ops** ops)
{
    if (index < 0 || index >= BUILT) {
        return false;
    }
    *ops = built[index];
    *name = built[index]->name;
    return true;
}

const perpi_contact_model_ops* perpi_contact_model_named(const char* name)
{
    for (int32_t i = 0; i < BUILT; ++i) {
        if (strcmp(built[i]->name, name) == 0) {
            return built[i];
        }
    }
    return NULL;
}

perp_status perpi_contact_model_find(perp_context* context, const char* name,
                                     const perpi_contact_model_ops** ops)
{
    const char* names[BUILT + 1] = {NULL};
    for (int32_t i = 0; i < BUILT; ++i) {
        names[i] = built[i]->name;
    }
    *ops = perpi_contact_model_named(name);
    return *ops != NULL ? PERP_OK : perpi_fail_unknown(context, "contact model", name, names);
}
