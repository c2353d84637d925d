/* src/sim/quantity.h - quantities by name, of a simulation or of a recorded frame. */
#ifndef PERPI_SIM_QUANTITY_H
#define PERPI_SIM_QUANTITY_H

#include "perp/measure.h"
#include "perp/sim.h"

/* A state and the step that led to it. A simulation and a recorded frame give the same view. */
typedef struct perpi_view {
    const perp_model* model;
    perp_sim* sim; /* for distances, of any state; NULL: they are NaN */
    const double *q, *v;
    const double* memory; /* of springs and controllers */
    const perp_contact* contact;
    int32_t contact_count;
    const perp_joint_record* joint;
    const perp_step_info* info;
    const perp_ledger* ledger; /* summed since the start of the run */
    const perp_energy* energy; /* NULL: to be computed from sim */
    double contact_time; /* over which the impulses of contacts acted; 0: none, or an impact */
    double joint_time;   /* likewise those of joints and controllers */
} perpi_view;

/* The present state of a simulation. ledger: as above. */
perpi_view perpi_view_of_sim(perp_sim* sim, const perp_ledger* ledger);
double perpi_quantity_value(const perpi_view* view, const perp_quantity* quantity);

/* As perp_quantity_find for a name in the form of perpi_expr_name. Nothing found: *count is 0. */
void perpi_quantity_match(const perp_model* model, const char* name, perp_quantity* found,
                          int32_t room, int32_t* count);
/* The name nearest to one that does not exist; "": none is near. */
void perpi_quantity_nearest(const perp_model* model, const char* name, char* text, size_t size);

#endif
