/* perp/contact.h - one contact of one step, as the stepper, the recording and the page see it. */
#ifndef PERP_CONTACT_H
#define PERP_CONTACT_H

#include "perp/base.h"

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
    int32_t directions; /* of the polygon cone; 0: no friction */
    double impulse[3];  /* p_n, p_t, p_o: on B, the negative on A */
    double drift[3];    /* prescribed part of the relative velocity in (n, t, o): belts */
} perp_contact;

#ifdef __cplusplus
}
#endif
#endif
