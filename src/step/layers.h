/* src/step/layers.h - soft layers of contacts: the blocks and rows they give a step, and what they
 * remember from one step to the next.
 *
 * A layer is a block of its own, without mass, whose velocities w are the rates of its deflection
 * along (n, t, o). With p the impulse on B over the step and delta' = delta + h w,
 *     p - core n = h K delta' + h C w       [B09 (3.92)]   =>   (h^2 K + h C) w = -h K delta + p - core n
 * is its equation of motion: M v = k + J' p with M = h^2 K + h C. The contact between A and B becomes
 * one between surfaces that yield: J v + w takes the place of J v in its rows, and
 *     0 <= p_n    perp  psi + delta_n' >= 0                [B09 (3.91)]
 *     0 <= core   perp  delta^o - delta_n' >= 0
 * are a contact row and a row on the block alone. Friction is that of the touching surfaces. So the
 * laws are exact, and no method needs to know.
 *
 * A constraint touches two blocks. Between two dynamic bodies the layer takes the place of A, and
 * brings the velocity y of A's point with it: y = J_A v_A, an equality row (a tie). Its mass m is
 * lent by A, M_A - J_A' m J_A, so that nothing is added: the equations are the same.
 *
 * Midpoint (theta = 1/2): the problem's velocities are those of the middle, its impulses theta p,
 * and the layer's law reads h K (delta + theta h w) + h C w.
 */
#ifndef PERPI_LAYERS_H
#define PERPI_LAYERS_H

#include "step/formulate.h"

/* 1, or 1/2 if the step is a midpoint step: what the settings say, unless a contact has already met
 * its core in this step. */
double perpi_step_theta(const perpi_step_input* in);

/* Layers of the contacts of the coming step, from those of the last: deflections by key. A contact
 * that is new and overlaps is pressed in by as much. */
void perpi_layers_recall(const perp_model* model, bool midpoint, const perp_contact* last,
                         int32_t last_count, perp_contact* contact, int32_t count);

/* While formulating: the blocks (after the bodies'), the rows of a contact on such a block, then ties
 * and cores (after the joints'). */
PERP_NODISCARD perp_status perpi_layers_place(perpi_formulation* f, const perpi_step_input* in);
double* perpi_layer_rows(const perpi_layer_place* place, int32_t rows, double* J);
PERP_NODISCARD perp_status perpi_formulate_layers(perpi_formulation* f, const perpi_step_input* in);

/* From the contacts to the layers' part of (v, p), and theta in that of bodies and contacts; after
 * the other gathers. And back: impulses, deflections. */
void perpi_layers_gather(const perpi_formulation* f, const perp_model* model, const double* v_old,
                         const perp_contact* contacts, double* v, double* p);
void perpi_layers_scatter(const perpi_formulation* f, const double* v, const double* p,
                          perp_contact* contacts);

/* Midpoint: what the answer (v, p) says of touching, leaving and meeting the core within the step. round
 * counts the calls for one list of contacts from 0. *off: how far the parts of the way that were used
 * are from those that they led to, 0 where they agree; else the contacts have changed, solve again. */
PERP_NODISCARD perp_status perpi_layers_revise(perpi_formulation* f, const perp_model* model,
                                               int32_t round, const double* v, const double* p,
                                               perp_contact* contacts, double* off);

/* The step is to be an Euler step. */
void perpi_layers_to_euler(perp_contact* contacts, int32_t count);

/* Energy stored in the layers. */
double perpi_layer_energy(const perp_model* model, const perp_contact* contacts, int32_t count);

#endif
