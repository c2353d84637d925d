/* src/solve/frictional/fixed_push.h - contacts whose normal impulse is given.
 *
 * The contact problem has no such law, and with two tangential rows bounded rows cannot express it.
 * It is expressed as an ordinary contact of a larger problem: docs/notation.md, "Which member
 * acts". */
#ifndef PERPI_FIXED_PUSH_H
#define PERPI_FIXED_PUSH_H

#include "base/context.h"
#include "perp/problem.h"

enum {
    PERPI_PUSH_DOFS = 4, /* velocities and rows that one such contact adds at most */
    PERPI_PUSH_ROWS = 3
};

/* Arrays of the larger problem; zero-initialised but for the context. */
typedef struct perpi_fixed_push {
    perp_context* context;
    int32_t* dof;
    double *M, *J, *k, *v;
    size_t dof_capacity, M_capacity, J_capacity, k_capacity, v_capacity;
} perpi_fixed_push;

void perpi_fixed_push_free(perpi_fixed_push* f);

/* Copies of dof, M, J and k of P, and of the velocities v, with room for `pushes` more contacts; P then
 * points to them. J_size: values in P->J that its constraints use. */
perp_status perpi_fixed_push_begin(perpi_fixed_push* f, perp_contact_problem* P, int32_t pushes,
                                   const double* v);

/* P's own arrays, with room for one more constraint of PERPI_PUSH_ROWS rows. compliance may be NULL. */
typedef struct perpi_push_arrays {
    perp_constraint* constraint;
    double *b, *compliance, *p;
} perpi_push_arrays;

/* Gives contact i (2 or 3 tangential rows) of P the normal impulse s > 0; w_n: approximately the
 * normal velocity per unit impulse, for scaling. The impulse is added to k; p gets a first guess.
 * False: the mass matrix of a block is not positive. */
bool perpi_fixed_push_add(perpi_fixed_push* f, perp_contact_problem* P, int32_t i, double s,
                          double w_n, const perpi_push_arrays* arrays);

#endif
