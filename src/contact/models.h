/* src/contact/models.h - the contact models, one file each, listed in models.c. */
#ifndef PERPI_CONTACT_MODELS_H
#define PERPI_CONTACT_MODELS_H

#include "contact/contact.h"

extern const perpi_contact_model_ops perpi_contact_model_auto;
extern const perpi_contact_model_ops perpi_contact_standard;
extern const perpi_contact_model_ops perpi_contact_corrective;
extern const perpi_contact_model_ops perpi_contact_lnc;
extern const perpi_contact_model_ops perpi_contact_disjunctive;
extern const perpi_contact_model_ops perpi_contact_peg;

#endif
