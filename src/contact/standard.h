#ifndef PERPI_CONTACT_STANDARD_H
#define PERPI_CONTACT_STANDARD_H

#include "contact/contact.h"

extern const perpi_contact_model_ops perpi_contact_standard;

#endif
