/* src/step/step.h - steppers: formulate a step's problem, and advance with its answer.
 *
 * An implementer owes two functions. formulate builds f->problem from the state and the contacts
 * (perpi_formulate is there to be used); advance turns velocities at the end of the step into the
 * next state. Neither keeps anything between steps.
 */
#ifndef PERPI_STEP_H
#define PERPI_STEP_H

#include "perp/solve.h"
#include "step/formulate.h"

typedef struct perpi_stepper_ops {
    const char* name;
    const char* summary;
    /* Members of perpi_step_settings that a scene may set: {"type": name, ...}. */
    const perp_setting* setting;
    int32_t setting_count;
    /* Refuses models that it cannot step, with the reason; the message starts with the member at fault
     * ("friction/cone: ..."). NULL: takes everything. What steppers, contact models and settings
     * exclude is in one table: src/sim/compatibility.c. */
    perp_status (*check)(perp_context* context, const perp_model* model,
                         const perpi_step_settings* settings);
    /* What formulate takes from q_end and v_end. If anything, the loop formulates and solves until
     * the answer of one round satisfies the laws of the next; with GEOMETRY, in->contact are the
     * contacts at q_end, found there anew each round. */
    perpi_look look;
    /* The problem has no inertia but that of the way there: it is solved again and again, until the
     * velocities it ends with (v_end) are those it started from (src/sim/settle.c). */
    bool settles;
    bool layered; /* contacts of soft bodies have layers (layers.h); else soft bodies are refused */
    /* Contacts enter the problem when they touch (settings->touch), not before. */
    bool touching;
    /* Steps of a fixed length take spin and rolling as at the middle of the step (sim/rolling.c). */
    bool midway;
    /* Restitution: the loop may put impacts between its steps (sim/impact.c). */
    bool bounces;
    bool step_control; /* steps may be adaptive: the error of one is of second order in h */
    perp_status (*formulate)(perpi_formulation* f, const perpi_step_input* in);
    /* q: in: at t, out: at t + h. v: in: the dynamic bodies' at t + h; out: the prescribed ones'
     * too. Of `in` only model, t, h and settings count. */
    perp_status (*advance)(const perpi_step_input* in, double* q, double* v);
} perpi_stepper_ops;

/* The default settings with a scene's options; unknown ones are refused by name. */
PERP_NODISCARD perp_status perpi_stepper_settings(perp_context* context,
                                                  const perpi_stepper_ops* ops,
                                                  const perp_option* option, int32_t count,
                                                  perpi_step_settings* settings);

PERP_NODISCARD perp_status perpi_stepper_find(perp_context* context, const char* name,
                                              const perpi_stepper_ops** ops);
/* NULL: there is none of that name. */
const perpi_stepper_ops* perpi_stepper_named(const char* name);
bool perpi_stepper_at(int32_t index, const char** name, const perpi_stepper_ops** built);

#endif
