/* Random scenes whose gradients are compared with central differences of whole runs. */
#ifndef GRADIENT_CASES_H
#define GRADIENT_CASES_H

#include <stdint.h>

#include "perp/perp.h"

enum {
    GRADIENT_KINDS = 6,
    GRADIENT_ROBOT_KINDS = 5,
    GRADIENT_CASE_TEXT = 1 << 15,
    GRADIENT_CASE_MOST = 3
};

typedef struct gradient_case {
    int kind;
    const char* name; /* of the kind */
    int bodies;
    const char* parameter[GRADIENT_CASE_MOST];
    int32_t parameter_count;
    double
        smooth; /* of a smoothed gradient, with the contact model 'standard'; 0: as it is written */
    char text[GRADIENT_CASE_TEXT]; /* of the scene; its measure is "m" */
} gradient_case;

/* The case of a seed; large: up to 50 bodies and 500 steps, with one parameter. */
void gradient_case_write(uint32_t seed, bool large, gradient_case* c);
/* The same with what robots have: gears, armature, motors, controllers with feed-forward,
 * joint_correction, springs; and impacts of bodies in flight and on moving plates. */
void gradient_case_write_robot(uint32_t seed, gradient_case* c);

typedef struct gradient_case_result {
    perp_status status; /* not OK: perp_context_error says why */
    perp_gradient_flags flags;
    int64_t changes; /* of the state (open, sticks, slides) of a contact from a step to the next */
    double off;   /* the largest disagreement, relative to the largest derivative; NaN: flagged */
    double noise; /* of the differences, likewise */
} gradient_case_result;

gradient_case_result gradient_case_compare(perp_context* context, const gradient_case* c);

#endif
