/* src/contact/auto.c - the contact model that is chosen by the scene: peg or standard.
 *
 * The simulation replaces it when it is created (src/sim/contact_choice.c): no step is made with it.
 */
#include "contact/models.h"

const perpi_contact_model_ops perpi_contact_model_auto = {
    .name = "auto",
    .summary = "peg where stepper, step and shapes take it, else standard",
    .build = perpi_contact_build,
};
