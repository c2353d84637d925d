/* src/solve/acting.h - which constraints of a contact problem act.
 *
 * Contacts within the margin of a step connect nearly all bodies of a heap that falls, while few of them act.
 * Their islands are small, and so is the fill of their matrices. So a large island is solved with
 * those contacts alone that push in the guess, or do in some sweeps of Gauss and Seidel without
 * friction. Contacts that the answer violates are added, and the islands that they change are
 * solved again, until there are none. That answer satisfies the whole problem: what is left out has
 * no impulse and an admissible velocity. The residual check decides; where most contacts act, or
 * the rounds do not end, the plan takes the whole island.
 */
#ifndef PERPI_ACTING_H
#define PERPI_ACTING_H

#include "perp/problem.h"

typedef struct perpi_acting {
    const perp_contact_problem* P;
    /* per constraint: */
    bool* acts;
    bool* fresh;   /* since the last call */
    bool* grouped; /* a member of a group */
} perpi_acting;

/* From the impulses p and the motion v that they give: what pushes or will, and every joint. Both change. */
void perpi_acting_begin(const perpi_acting* a, double* v, double* p);
/* How many constraints act, and their rows. */
int32_t perpi_acting_count(const perpi_acting* a);
int32_t perpi_acting_rows(const perpi_acting* a);

/* Adds what is violated at v. Returns how many constraints. */
int32_t perpi_acting_add(const perpi_acting* a, const double* v, double tolerance);

#endif
