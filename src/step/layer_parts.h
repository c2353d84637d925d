/* src/step/layer_parts.h - the stiffness of soft layers where contact points appear or vanish.
 *
 * Each contact point between two shapes is a spring of its own. Where the points of a pair change from one
 * step to the next (an edge that comes to lie flat has more of them), a point that appears below the surface
 * would bring the energy K d^2 / 2 with it, which no motion has supplied: a rocking cylinder gains
 * energy each time. The springs of the pair then act with the part s of their stiffness and
 * damping,
 *     s sum_i delta_i' K delta_i / 2 = E,   E the energy that the pair had stored,  1/n <= s <= 1,
 * n the points that are compressed: force and energy are continuous where their depths are equal,
 * and the pair is never softer than one point. s remains until the points change again or the pair
 * separates.
 */
#ifndef PERPI_LAYER_PARTS_H
#define PERPI_LAYER_PARTS_H

#include "model/model.h"
#include "perp/contact.h"

/* The layer of a contact: that of its bodies, with the part of the stiffness that its point has. */
perpi_layer perpi_layer_of(const perp_model* model, const perp_contact* c);

/* Energy stored in a contact's layer at this deflection. */
double perpi_layer_stored(const perp_model* model, const perp_contact* c,
                          const double deflection[3]);

/* Sets the parts of the coming step's contacts, whose deflections at the start are known. Both lists are
 * sorted by key. */
void perpi_layers_set_parts(const perp_model* model, const perp_contact* last, int32_t last_count,
                            perp_contact* contact, int32_t count);

#endif
