/* src/contact/standard.c - every feature pair within the margin is one unilateral contact.
 *
 * Source     [T03 (8)], [W14 (2.14)]
 * Departure  none; the model of Stewart and Trinkle. Near a corner it restricts a polygon to one side of the
 *            extension of an edge ("trap" in [W14 4.1]); PEG does not.
 */
#include "contact/models.h"

const perpi_contact_model_ops perpi_contact_model_standard = {
    .name = "standard",
    .summary = "every feature pair within reach is a unilateral contact",
    .rule = NULL,
    .build = perpi_contact_build,
};
