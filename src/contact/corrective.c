/* src/contact/corrective.c - contacts exist once they are violated.
 *
 * Source     [W14 5.2], the method that PEG is compared with: bodies penetrate, and the
 *            term gap/h of the stepper separates them in one step, at depth/h
 * Departure  the thesis takes one contact for each overlap; here every feature pair that is violated
 *            along the direction of least depth counts, so that a flat box is pushed out flat
 */
#include "contact/models.h"

static const perpi_candidate_rule overlap_only = {.overlap_only = true};

const perpi_contact_model_ops perpi_contact_model_corrective = {
    .name = "corrective",
    .summary = "only feature pairs that are violated already",
    .rule = &overlap_only,
    .overlap_only = true,
    .build = perpi_contact_build,
};
