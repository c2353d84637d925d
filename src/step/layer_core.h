/* src/step/layer_core.h - the depth of the rigid core below a soft layer.
 *
 * A body with max_deflection has its core there, and the row of the core is in every step [B09
 * (3.88)]. A layer without one is soft throughout, but not deeper than its body: when it is
 * compressed by half of the thickness of its shape, no soft material is left, and further on the
 * two bodies would pass through each other. Shortly before, they meet as rigid bodies do,
 *     0 <= r  perp  delta^o - delta_n' >= 0,   delta^o = 0.45 times the thickness
 * (two soft bodies: the depths add). A particle has no thickness; its layer can be compressed at
 * least as far as that of the other body. Planes have no middle. Few layers are compressed that
 * far, so the row is added when a solution exceeds it.
 */
#ifndef PERPI_STEP_LAYER_CORE_H
#define PERPI_STEP_LAYER_CORE_H

#include "model/model.h"
#include "perp/contact.h"
#include "step/formulate.h"

/* The deflection at which the contact's core is reached, INFINITY: never. A layer that starts a
 * step deeper than half of its thickness (possible in the initial state) is not pushed out, but
 * goes no deeper. */
double perpi_layer_core_depth(const perp_model* model, const perp_contact* c);

/* Whether the row of the core is part of the contact's step. */
bool perpi_layer_has_core(const perp_model* model, const perp_contact* c);

/* Adds a core to the layers that the solution compresses beyond it; true: there are such, solve
 * again. */
bool perpi_layers_press(const perpi_formulation* f, const perp_model* model,
                        perp_contact* contacts);

#endif
