/* src/step/ledger.h - the energy ledger of one step: the work of every law, from its own quantities.
 *
 * docs/notation.md, "The energy ledger", derives the identity for each stepper.
 */
#ifndef PERPI_LEDGER_H
#define PERPI_LEDGER_H

#include "perp/ledger.h"
#include "step/formulate.h"

/* A step as it was solved: the formulation of its last solve with the answer, and the states around it. */
typedef struct perpi_ledger_input {
    const perpi_formulation* f;
    const perp_model* model;
    perpi_evaluation evaluation;
    bool impact; /* no time passes: f is the problem of an impact */
    double t, h;
    const double *q, *v;     /* flat state at the start */
    const double* extra;     /* wrenches of user code, 6 a body, or NULL */
    const double* v_problem; /* the answer */
    const double* p_problem;
    const perp_contact* contact;          /* of the problem, with the answer's impulses */
    const perp_joint_record* joint;       /* likewise, one for each joint */
    const perpi_joint_input* joint_input; /* likewise */
    const double* q_end;                  /* end of the step, before poses are corrected */
    const double* v_state;                /* the state's velocities there: momentum.h */
    const double*
        offset; /* that the step adds to the motion after an impact (formulate.h), or NULL */
    /* in a decompression the contacts of the compression before it: both phases are one impact */
    const perp_contact* compression;
    int32_t compression_count;
    const double *q_final, *v_final; /* after poses were moved and velocities projected, or NULL */
    const int32_t* pushed; /* pairs of bodies that pushed each other while poses were moved */
    size_t pushed_count;
} perpi_ledger_input;

/* Computes all terms but change, projection and extrapolation, which the caller computes;
 * spring_error lacks the change of the stored energy, which the caller adds. */
void perpi_ledger_terms(const perpi_ledger_input* in, perp_ledger* ledger);

/* Change of kinetic energy (0 if the step has no inertia) and of potential energy in gravity
 * between two states, body by body, so that large constant energies cause no loss of digits. */
double perpi_energy_change(const perp_model* model, bool kinetic, const double* q, const double* v,
                           const double* q_end, const double* v_end);

/* unexplained and magnitude, from the other members. */
void perpi_ledger_close(perp_ledger* ledger);

#endif
