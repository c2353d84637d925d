/* perp/contact.h - one contact of one step, as the stepper, the recording and the page see it. */
#ifndef PERP_CONTACT_H
#define PERP_CONTACT_H

#include "perp/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_contact {
    int32_t body_a, body_b;
    uint64_t key;      /* the pair of features, the same from step to step */
    double point[3];   /* on A, world, where the step found it */
    double normal[3];  /* from A onto B */
    double tangent[3]; /* t; o = n x t */
    double gap;        /* at the start of the step; point on B = point + gap normal */
    double mu;
    perp_cone cone;
    int32_t directions; /* of a polygon cone, else 0 */
    int32_t group;      /* 0: holds by itself; g > 0: member of group g of this step, in which at
                           least one contact must hold; -g: likewise, but it never pushes */
    double e[3];        /* of an ellipsoid: e_t, e_o, e_r; else 0 */
    double impulse[4];  /* p_n, p_t, p_o, p_r (torsion): on B, the negative on A */
    double drift[3];    /* prescribed part of the relative velocity in (n, t, o): belts */
} perp_contact;

#ifdef __cplusplus
}
#endif
#endif
