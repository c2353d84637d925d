/* src/solve/frictional/augmented_newton.h - newton-bodies with contacts that are to be closed. */
#ifndef PERPI_SOLVE_AUGMENTED_NEWTON_H
#define PERPI_SOLVE_AUGMENTED_NEWTON_H

#include "perp/solve.h"

/* Newton's method on the laws, from p near the answer; `closed` contacts have the normal law u_n = 0 with an
 * impulse of either sign. An answer in which these impulses are not negative satisfies the laws of contacts,
 * and there may be others that do: Newton's method finds the one in which the contacts are closed. self: of
 * perpi_method_newton_bodies; report: as of a method. */
PERP_NODISCARD perp_status perpi_newton_closed(void* self, const perp_contact_problem* P,
                                               const bool* closed,
                                               const perp_solve_options* options, double* v,
                                               double* p, perp_report* report);

/* Choices that depend on the answer, such as the acting members of groups of contacts, and are made while
 * it is sought: far fewer factorisations than one solve for each set of choices. */
typedef struct perpi_newton_choice {
    void* user;
    /* At the velocities v and impulses p, with the given residual: chooses again, and changes the problem that
     * the method was given. NULL: nothing changes; else the impulses from which to go on, of the
     * changed problem. *answer: whether this is an answer also of the problem before choices were made, whose
     * tolerance may be another. */
    const double* (*revise)(void* user, double residual, const double* v, const double* p,
                            bool* answer);
    /* Where contacts that are closed or given do not converge: as revise, with fewer of them. NULL: the solve
     * ends. */
    const double* (*refuse)(void* user, const double* v, const double* p);
    const bool* closed;  /* as of perpi_newton_closed, for the problem at hand */
    const double* given; /* per constraint: its normal impulse, if that is given, else NaN */
    const bool* pairs;   /* whether any contact is closed or given */
} perpi_newton_choice;

/* newton-bodies with choices; P is changed by `revise`. SOLVED: within the tolerance, and nothing
 * changes there. p: the impulses of the last problem. */
PERP_NODISCARD perp_status perpi_newton_choosing(void* self, const perp_contact_problem* P,
                                                 const perpi_newton_choice* choice,
                                                 const perp_solve_options* options, bool warm,
                                                 double* v, double* p, perp_report* report);

#endif
