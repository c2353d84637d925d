/* src/step/state.h - the complete state of a simulation. */
#ifndef PERPI_STATE_H
#define PERPI_STATE_H

#include "contact/contact.h"
#include "perp/model.h"

typedef struct perpi_state {
    int64_t step; /* steps and impacts so far */
    int64_t tick; /* of these, steps in time */
    double time;
    double h_last;            /* length of the last step in time; 1 before the first */
    bool after_impact;        /* the last step was one of an impact */
    int32_t impacts_in_a_row; /* since the last step in time */
    double *q, *v;            /* flat: formulate.h */
    double* memory; /* of springs and controllers (force_rows.h), then the offset after an impact */
    perp_joint_record* joint;    /* per joint: impulses are the warm start */
    perpi_contact_list contacts; /* of the last step: impulses are the warm start */
} perpi_state;

#endif
