/* src/step/layer_core.h - where the rigid core below a soft layer lies.
 *
 * A body with max_deflection has its core there, and the row of the core is in every step [B09 (3.88)].
 * A layer without one is soft all the way, but not deeper than the body that it belongs to: when it
 * is pressed in by half of the thickness of its shape, nothing is left that could yield, and further
 * on the two bodies would pass through each other. Shortly before, they meet as rigid bodies do,
 *     0 <= r  perp  delta^o - delta_n' >= 0,   delta^o = 0.45 times the thickness
 * (two soft bodies: the depths add). A particle has no thickness; it is pressed in at least as far as
 * what it meets can be. Planes have no middle. Few layers ever come that far, so the row is added
 * when an answer would go beyond it.
 */
#ifndef PERPI_STEP_LAYER_CORE_H
#define PERPI_STEP_LAYER_CORE_H

#include "model/model.h"
#include "perp/contact.h"
#include "step/formulate.h"

/* The deflection at which the contact's core is met, INFINITY: never. A layer that starts a step deeper
 * than half of its thickness (a scene may begin so) is not pushed out, but goes no deeper. */
double perpi_layer_core_depth(const perp_model* model, const perp_contact* c);

/* Whether the row of the core is part of the contact's step. */
bool perpi_layer_has_core(const perp_model* model, const perp_contact* c);

/* Gives a core to the layers that the answer in the contacts presses in beyond it; true: there are such,
 * solve again. */
bool perpi_layers_press(const perpi_formulation* f, const perp_model* model,
                        perp_contact* contacts);

#endif
