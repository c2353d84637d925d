/* src/sim/candidates.h - contacts that could act near a given state, for estimates with all steps as unknowns. */
#ifndef PERPI_SIM_CANDIDATES_H
#define PERPI_SIM_CANDIDATES_H

#include "sim/sim.h"

/* Contacts at the poses q (flat) at time t: those between bounded bodies within `within` of each
 * other, and all with a body that is not bounded (planes, half-planes) within `far`. Without
 * impulses; sorted as in a step. PERP_ERROR_UNSUPPORTED: contacts in groups, of which only one must
 * hold; the message names the bodies. */
PERP_NODISCARD perp_status perpi_sim_candidates(perp_sim* sim, double t, const double* q,
                                                double within, double far,
                                                perpi_contact_list* list);

/* Refuses, by name, simulations whose steps are not one problem each with laws of contacts, joints,
 * springs and bounds at the start of the step: other steppers, adaptive steps, restitution,
 * corrected joints, soft layers, user code. */
PERP_NODISCARD perp_status perpi_sim_check_equations(const perp_sim* sim, const char* what);

#endif
