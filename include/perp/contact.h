/* perp/contact.h - one contact of one step, as steppers, recordings and viewers use it. */
#ifndef PERP_CONTACT_H
#define PERP_CONTACT_H

#include "perp/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The soft layer of a contact in a step (stepper `compliant`); all 0 where the contact is rigid. */
typedef struct perp_contact_layer {
    double theta;    /* 1: an implicit Euler step, 1/2: a midpoint step; 0: no layer */
    double start[3]; /* deflection along (n, t, o) at the start of the step; n: compressed > 0 */
    double end[3];   /* at its end, the start of the next step */
    double core;     /* part of impulse[0] by the rigid core */
    double share;    /* midpoint: part of the step in which the layer acts; 0: see push */
    double push;     /* impulse of a layer whose contact was lost during the step; in impulse[0] */
    double
        part; /* of the stiffness and damping of its bodies' layers; below 1 after points of contact
                        have appeared under the surface */
} perp_contact_layer;

/* Time of an impact before a fixed step; all 0 elsewhere. */
typedef struct perp_contact_impact {
    double time; /* time within the step that follows at which its bodies meet */
    double gain; /* normal velocity gained until then by other forces */
} perp_contact_impact;

typedef struct perp_contact {
    int32_t body_a, body_b;
    uint64_t key;      /* identifies the feature pair; the same from step to step */
    double point[3];   /* on A, world, where the step found it */
    double normal[3];  /* from A onto B */
    double tangent[3]; /* t; o = n x t */
    double gap;        /* at the start of the step; point on B = point + gap normal */
    double mu;
    perp_cone cone;
    int32_t directions; /* of a polygon cone, else 0 */
    int32_t group;      /* 0: mandatory; g > 0: member of disjunctive group g of this step, in
                           which at least one contact must hold; -g: likewise, but it never
                           pushes */
    double e[3];        /* of an ellipsoid: e_t, e_o, e_r; else 0 */
    double impulse[4];  /* p_n, p_t, p_o, p_r (torsion): on B, the negative on A */
    double drift[3];    /* prescribed part of the relative velocity in (n, t, o): belts; n: the law
                        of an impact, or in the step after it the offset of the poses / h */
    perp_contact_layer layer;
    perp_contact_impact impact;
    int32_t middle; /* 1: of a middle step of its body (contact_direction) beside bodies with steps
                       of the start: point, normal and gap are those of the middle of the step */
} perp_contact;

#ifdef __cplusplus
}
#endif
#endif
