/* src/solve/dispatch.h - what the dispatchers of the five forms share.
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

/* *chosen: the options or the defaults, checked. */
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
} perpi_method;

/* The method of that name in the first form of the list that has one. text: "an LCP", for the
 * message if none has. On failure nothing is left to destroy. */
PERP_NODISCARD perp_status perpi_method_create(perp_context* context, const char* name,
                                               const perpi_form* forms, const char* text,
                                               const perp_option* option, int32_t count,
                                               perpi_method* method);
/* A method that was never created (all zero) is fine. */
void perpi_method_destroy(perpi_method* method);

/* ---- for the portfolio ------------------------------------------------------------------------------*/

/* perp_contact_solve for one island of a problem that has been checked: lower, call, lift, judge. v
 * and p in place. */
PERP_NODISCARD perp_status perpi_contact_solve_island(perp_contact_solver* solver,
                                                      const perp_contact_problem* problem,
                                                      const perp_solve_options* options, bool warm,
                                                      double* v, double* p, perp_report* report);

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

#endif
