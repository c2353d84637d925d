/* src/contact/models.h - the contact models, one file each. */
#ifndef PERPI_CONTACT_MODELS_H
#define PERPI_CONTACT_MODELS_H

#include "contact/contact.h"

/* One line for each: perpi_contact_model_NAME is defined in NAME.c. They are listed in this order. */
#define PERPI_CONTACT_MODELS(X)                                                                    \
    X(auto)                                                                                        \
    X(standard)                                                                                    \
    X(corrective)                                                                                  \
    X(lnc)                                                                                         \
    X(disjunctive)                                                                                 \
    X(peg)

#define PERPI_CONTACT_DECLARE(name) extern const perpi_contact_model_ops perpi_contact_model_##name;
PERPI_CONTACT_MODELS(PERPI_CONTACT_DECLARE)

#endif
