/* src/step/pack.h - states and records <-> the velocities and impulses of a formulated problem. */
#ifndef PERPI_PACK_H
#define PERPI_PACK_H

#include "step/formulate.h"

/* A point of a step's problem, as states and recordings keep it. */
typedef struct perpi_point {
    const double* v;                /* flat velocities */
    const perp_contact* contact;    /* those that were formulated */
    const perp_joint_record* joint; /* one for each joint */
    const double* memory;           /* of springs and controllers */
    const double*
        v_start; /* flat velocities at the start of the step; NULL: an impact, in which springs,
                              controllers and soft layers have no part */
} perpi_point;

void perpi_pack(const perpi_formulation* f, const perp_model* model, const perpi_point* point,
                double* v_problem, double* p_problem);
/* Impulses, and deflections of soft layers, into the records. Velocities: perpi_formulation_scatter_v. */
void perpi_unpack(const perpi_formulation* f, const perp_model* model, const double* v_problem,
                  const double* p_problem, perp_contact* contact, perp_joint_record* joint);

#endif
