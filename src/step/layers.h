/* src/step/layers.h - soft layers of contacts: their blocks and rows in a step, and their memory.
 *
 * A layer is a block of its own, without mass, whose velocities w are the rates of its deflection
 * along (n, t, o). With p the impulse on B over the step and delta' = delta + h w,
 *     p - core n = h K delta' + h C w       [B09 (3.92)]   =>   (h^2 K + h C) w = -h K delta + p -
 *     core n
 * is its equation of motion: M v = k + J' p with M = h^2 K + h C. The contact between A and B
 * becomes one between compliant surfaces: J v + w takes the place of J v in its rows, and
 *     0 <= p_n    perp  psi + delta_n' >= 0                [B09 (3.91)]
 *     0 <= core   perp  delta^o - delta_n' >= 0
 * are a contact row and a row on the block alone. Friction is that of the touching surfaces. So the
 * laws are exact, and every method solves the problem without changes.
 *
 * A constraint connects at most two blocks. Between two dynamic bodies the layer takes the place of
 * A, and contains the velocity y of A's point: y = J_A v_A, an equality row (a tie). Its mass m is
 * subtracted from A, M_A - J_A' m J_A, so that the total is unchanged and the equations are
 * equivalent.
 *
 * Midpoint (theta = 1/2): the problem's velocities are those of the middle, its impulses theta p,
 * and the layer's law reads h K (delta + theta h w) + h C w.
 */
#ifndef PERPI_LAYERS_H
#define PERPI_LAYERS_H

#include "step/formulate.h"

/* 1, or 1/2 if the step is a midpoint step: as in the settings, unless a contact has already
 * reached its core in this step. */
double perpi_step_theta(const perpi_step_input* in);

/* Layers of the contacts of the coming step, from those of the last: deflections by key. A new
 * contact that overlaps is compressed by its overlap. */
void perpi_layers_recall(const perp_model* model, bool midpoint, const perp_contact* last,
                         int32_t last_count, perp_contact* contact, int32_t count);

/* Whether a contact has a layer, or the impulse of one that separated within the step. */
static inline bool perpi_have_layers(const perpi_step_input* in)
{
    bool any = false;
    for (int32_t i = 0; i < in->contact_count && !any; ++i) {
        any = in->contact[i].layer.theta > 0.0 || in->contact[i].layer.push != 0.0;
    }
    return any;
}

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

/* Midpoint: updates the contacts by the solution (v, p) if layers are touched, left or
 * compressed to the core within the step. round counts the calls for one list of contacts from
 * 0. *off: difference between the parts of the step that were used and those that resulted, 0
 * where they agree; else the contacts have changed, solve again. */
PERP_NODISCARD perp_status perpi_layers_revise(perpi_formulation* f, const perp_model* model,
                                               int32_t round, const double* v, const double* p,
                                               perp_contact* contacts, double* off);

/* Makes the step an Euler step. */
void perpi_layers_to_euler(perp_contact* contacts, int32_t count);

/* Energy stored in the layers. */
double perpi_layer_energy(const perp_model* model, const perp_contact* contacts, int32_t count);

#endif
