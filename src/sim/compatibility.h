/* src/sim/compatibility.h - which steppers, contact models, cones and settings are compatible. */
#ifndef PERPI_COMPATIBILITY_H
#define PERPI_COMPATIBILITY_H

#include "contact/contact.h"
#include "perp/sim.h"
#include "step/step.h"

/* The combination that a simulation is created with. */
typedef struct perpi_combination {
    const perp_model* model;
    const perp_sim_def* def;
    const perpi_stepper_ops* stepper;
    const perpi_contact_model_ops* contact;
} perpi_combination;

/* Refuses an incompatible combination with the reason; the message starts with the member at
 * fault ("contact: ..."). */
PERP_NODISCARD perp_status perpi_check_combination(perp_context* context,
                                                   const perpi_combination* asked);

#endif
