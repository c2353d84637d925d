/* src/sim/measured.h - the contact problem at a measured state: contacts, rows, masses and forces
 * there, without a step.
 *
 * A simulation lends its model, its collider and its solver; its own state is not read (except the
 * clocks and targets of joints) and not changed.
 */
#ifndef PERPI_MEASURED_H
#define PERPI_MEASURED_H

#include "base/arena.h"
#include "sim/sim.h"

typedef struct perpi_measured {
    perp_context* context;
    perpi_formulation* f; /* constraints: contacts in the order of the list, then joints */
    perpi_contact_list contacts;
    double *margin, *v, *p; /* per body; per velocity and row of the problem */
    size_t margin_capacity, v_capacity, p_capacity;
    perpi_arena scratch;
} perpi_measured;

PERP_NODISCARD perp_status perpi_measured_create(perp_context* context, perpi_measured** measured);
void perpi_measured_destroy(perpi_measured* measured);

/* The contacts of bodies at poses q (flat, of the simulation's model) whose gaps are below `reach`,
 * found with the contact model `standard`: m->contacts. */
PERP_NODISCARD perp_status perpi_measured_contacts(perpi_measured* m, perp_sim* sim, double t,
                                                   const double* q, double reach);
/* Their rows, the masses at q and k = M v + h (forces at q and v): m->f. h = 0: k = M v, an impact. */
PERP_NODISCARD perp_status perpi_measured_formulate(perpi_measured* m, perp_sim* sim, double t,
                                                    double h, const double* q, const double* v);
/* Velocities (flat) that follow from v by the laws of an impact at the contacts, all of which are
 * taken as closed: Newton's or Poisson's, as the scene says, with the coefficients of the pairs.
 * solved: false where the solver found no solution. */
PERP_NODISCARD perp_status perpi_measured_impact(perpi_measured* m, perp_sim* sim, const double* q,
                                                 const double* v, double* v_after, bool* solved);
/* The normal impulses of the compression of Poisson's law at the contacts, one for each. */
PERP_NODISCARD perp_status perpi_measured_compression(perpi_measured* m, perp_sim* sim,
                                                      const double* q, const double* v, double* p,
                                                      bool* solved);
/* Whether the scene's law of impacts is Poisson's. */
bool perpi_measured_poisson(const perp_sim* sim);

#endif
