/* src/step/rolling.h - the rule for the slip of rolling contacts (src/sim/rolling.c), and its derivative. */
#ifndef PERPI_ROLLING_H
#define PERPI_ROLLING_H

#include "contact/derivative.h"
#include "step/formulate.h"

/* Below this part of u- the contact slides, where friction always dissipates, or it is at rest
 * and c is rounding. */
#define PERPI_ROLLING_LEAST_PART 0.45
/* For bodies that rotate further in a step the motion of the contact point cannot be
 * extrapolated. */
#define PERPI_ROLLING_LARGEST_TURN 0.5
/* Part of the bound of friction up to which the rule is blended. */
#define PERPI_ROLLING_BLEND 0.1

/* Slips below this part of the speeds at the contact are rounding. */
#define PERPI_ROLLING_NOISE 1e-10

/* Which case of the rule gave the drift: part of the slip is f raw, or 1. */
typedef enum perpi_rolling_case {
    PERPI_ROLLING_NONE = 0, /* the rule does not apply */
    PERPI_ROLLING_FULL,
    PERPI_ROLLING_TWICE, /* f = 2 */
    PERPI_ROLLING_ONCE,  /* f = 1 */
    PERPI_ROLLING_BETWEEN,
} perpi_rolling_case;

typedef struct perpi_rolling_input {
    const perp_model* model;
    const perpi_pose* pose;               /* at the start of the step */
    const double* v;                      /* flat, likewise */
    double h, h_before;                   /* of the step, and of the one before it */
    const perp_contact *contact, *before; /* of these two steps */
    const perpi_contact_derivative *change,
        *change_before; /* of their geometry, each at its poses */
    double threshold;
} perpi_rolling_input;

/* d drift of (t, o) by displacements, by velocities, and by displacements of the step before. */
typedef struct perpi_rolling_derivative {
    perpi_rolling_case rolling;
    bool border; /* it is at the border of its cases */
    bool full;   /* at that of PERPI_ROLLING_FULL alone: a contact that rolls exactly */
    double pose[2][12], rate[2][12], before[2][12];
    double impulse[2][3]; /* by the impulse of the step before */
    double mu[2];         /* by its coefficient of friction */
} perpi_rolling_derivative;

/* The drift along (t, o) in a given case; change, change_before and threshold are not read. */
void perpi_rolling_drift(const perpi_rolling_input* in, perpi_rolling_case rolling,
                         double drift[2]);
/* Whether the rule gives a drift; change and change_before are not read. *border: it is about to,
 * or about not to. */
bool perpi_rolling_applies(const perpi_rolling_input* in, bool* border);
/* other: of a contact that rolls exactly (full), in the other of the two cases that meet there;
 * else it is left as it is. */
perpi_rolling_derivative perpi_rolling_differentiate(const perpi_rolling_input* in,
                                                     perpi_rolling_derivative* other);

#endif
