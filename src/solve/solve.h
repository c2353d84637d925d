/* src/solve/solve.h - what the dispatchers of the five forms share.
 *
 * Each of them validates the problem, carries it to a form that the method takes, calls the method,
 * carries the answer back, and asks the judge. A method never grades itself: whatever it says, the
 * outcome is SOLVED exactly if the judge's residual is within the tolerance.
 */
#ifndef PERPI_DISPATCH_H
#define PERPI_DISPATCH_H

#include "base/context.h"
#include "perp/solve.h"

/* ---- checks and the verdict ----------------------------------------------------------------------*/

/* *chosen: the options or the defaults, checked; empties the list of attempts. */
PERP_NODISCARD perp_status perpi_check_options(perp_context* context,
                                               const perp_solve_options* options,
                                               perp_solve_options* chosen);
PERP_NODISCARD perp_status perpi_check_guess(perp_context* context, const char* name,
                                             const double* x, int32_t n);
/* Refuses a constraint whose cone is not in takes, naming the first. */
PERP_NODISCARD perp_status perpi_check_cones(perp_context* context, const char* solver,
                                             uint32_t takes, const perp_constraint* constraint,
                                             int32_t count);
/* Puts the judge's word over the method's. where: the law and constraint that are furthest off. */
void perpi_settle(perp_report* report, double residual, double tolerance, const char* where);
/* " (friction, constraint 4)" */
void perpi_name_worst(const perp_contact_residual* residual, char* text, size_t size);

/* Appends to options.attempts, if there is a list. */
void perpi_attempt_add(const perp_solve_options* options, const perp_report* made, double seconds);
/* Those from number `first` on belong to that island. */
void perpi_attempt_mark(const perp_solve_options* options, int32_t first, int32_t island);

/* ---- a method of any form --------------------------------------------------------------------------*/

typedef enum perpi_form {
    PERPI_FORM_NONE = 0, /* ends a list */
    PERPI_FORM_LCP,
    PERPI_FORM_MLCP,
    PERPI_FORM_NCP,
    PERPI_FORM_FRICTION,
    PERPI_FORM_CONTACT,
} perpi_form;

typedef struct perpi_method {
    perp_context* context;
    perpi_form form;
    union {
        const perp_lcp_solver_ops* lcp;
        const perp_mlcp_solver_ops* mlcp;
        const perp_ncp_solver_ops* ncp;
        const perp_friction_solver_ops* friction;
        const perp_contact_solver_ops* contact;
    } ops;
    const char* name;
    void* self;
    void* settings;
    bool judged; /* the portfolio: what it reports is the judge's word on the point it returns */
} perpi_method;

/* The method of that name in the first form of the list that has one. text: "an LCP", for the
 * message if none has. On failure nothing is left to destroy. */
PERP_NODISCARD perp_status perpi_method_create(perp_context* context, const char* name,
                                               const perpi_form* forms, const char* text,
                                               const perp_option* option, int32_t count,
                                               perpi_method* method);
/* A method that was never created (all zero) is fine. */
void perpi_method_destroy(perpi_method* method);

/* ---- between LCP, MLCP and NCP -----------------------------------------------------------------------*/

/* The arrays of a problem carried to another form; all zero to begin with, grown, never shrunk. */
typedef struct perpi_carrier {
    perp_lowering* lowering;
    int32_t *start, *row;
    double *value, *bound, *z;
    size_t start_capacity, row_capacity, value_capacity, bound_capacity, z_capacity;
} perpi_carrier;

void perpi_carrier_free(perp_context* context, perpi_carrier* carrier);

/* Runs a method of the forms LCP, MLCP or NCP; z as for the ops: in: first guess, out: the point. A
 * problem without unknowns is solved. */
PERP_NODISCARD perp_status perpi_run_lcp(perpi_method* method, perpi_carrier* carrier,
                                         const perp_lcp* problem, const perp_solve_options* options,
                                         bool warm, double* z, perp_report* report);
PERP_NODISCARD perp_status perpi_run_mlcp(perpi_method* method, perpi_carrier* carrier,
                                          const perp_mlcp* problem,
                                          const perp_solve_options* options, bool warm, double* z,
                                          perp_report* report);

/* ---- a solver with one vector of unknowns: LCP, MLCP, NCP, friction -----------------------------------*/

typedef struct perpi_vector_solver {
    perp_context* context;
    perpi_method method;
    perpi_carrier carrier;
    double* z; /* worked on, so that the caller's stays untouched if the call fails */
    size_t z_capacity;
    double* work; /* the judge's scratch */
    size_t work_capacity;
} perpi_vector_solver;

/* As perpi_method_create; on failure nothing is left to free. */
PERP_NODISCARD perp_status perpi_vector_create(perp_context* context, const char* name,
                                               const perpi_form* forms, const char* text,
                                               const perp_option* option, int32_t count,
                                               perpi_vector_solver* solver);
void perpi_vector_free(perpi_vector_solver* solver);
/* solver->z <- the guess, n finite numbers called `name` in messages, or zeros. */
PERP_NODISCARD perp_status perpi_vector_take(perpi_vector_solver* solver, bool warm,
                                             const char* name, const double* guess, int32_t n);
/* Hands out the point and the report (NULL: not wanted) of a call that began at `begin`. */
void perpi_vector_give(const perpi_vector_solver* solver, double begin,
                       const perp_solve_options* options, perp_report* made, int32_t n, double* z,
                       perp_report* report);
/* Whether made.residual is the judge's already. */
bool perpi_vector_judged(const perpi_vector_solver* solver, const perp_report* made);

/* ---- for the portfolio ------------------------------------------------------------------------------
 * The solve of a problem and options that have been checked: call the method, ask the judge. The point
 * in place, no clock. */

PERP_NODISCARD perp_status perpi_lcp_solve_checked(perp_lcp_solver* solver, const perp_lcp* problem,
                                                   const perp_solve_options* options, bool warm,
                                                   double* z, perp_report* report);
PERP_NODISCARD perp_status perpi_mlcp_solve_checked(perp_mlcp_solver* solver,
                                                    const perp_mlcp* problem,
                                                    const perp_solve_options* options, bool warm,
                                                    double* z, perp_report* report);
PERP_NODISCARD perp_status perpi_ncp_solve_checked(perp_ncp_solver* solver, const perp_ncp* problem,
                                                   const perp_solve_options* options, bool warm,
                                                   double* z, perp_report* report);
/* verdict: NULL: not wanted. */
PERP_NODISCARD perp_status perpi_friction_solve_checked(perp_friction_solver* solver,
                                                        const perp_friction_problem* problem,
                                                        const perp_solve_options* options,
                                                        bool warm, double* r,
                                                        perp_contact_residual* verdict,
                                                        perp_report* report);
/* One island: lower, call, lift, judge. */
PERP_NODISCARD perp_status perpi_contact_solve_island(perp_contact_solver* solver,
                                                      const perp_contact_problem* problem,
                                                      const perp_solve_options* options, bool warm,
                                                      double* v, double* p, perp_report* report);

#endif
