/* src/solve/interior/interior_bodies.h - an interior point method in the space of the bodies' velocities, which
 * finds a starting point for Newton's method. See interior_bodies.c. */
#ifndef PERPI_INTERIOR_BODIES_H
#define PERPI_INTERIOR_BODIES_H

#include "solve/frictional/body_matrix.h"

typedef struct perpi_interior_bodies perpi_interior_bodies;

PERP_NODISCARD perp_status perpi_interior_bodies_create(perp_context* context,
                                                        perpi_interior_bodies** s);
void perpi_interior_bodies_destroy(perpi_interior_bodies* s);

/* Called with the impulses of each iterate; returns their residual. */
typedef double (*perpi_interior_residual)(void* user, const double* p, bool* stop);

typedef struct perpi_interior_task {
    const perp_contact_problem* P;
    const perpi_delassus* delassus;
    perpi_body_matrix* matrix; /* analysed */
    double regularisation;     /* of u by the change of p, in scaled rows */
    double target;             /* residual at which to stop */
    int32_t limit;             /* factorisations */
    perpi_interior_residual residual;
    void* user;
} perpi_interior_task;

/* Starts cold; every iterate is passed to `residual`, which keeps the best. factorisations: how many were
 * made. PERP_OK also where no iterate is good. */
PERP_NODISCARD perp_status perpi_interior_bodies_run(perpi_interior_bodies* s,
                                                     const perpi_interior_task* task,
                                                     int32_t* factorisations);

#endif
