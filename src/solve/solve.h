/* src/solve/solve.h - one solve: check, islands, for each entry of the plan reformulate, run, check the
 * residual, keep the best.
 *
 * The order of calls, from the public function to the method:
 *     perp_contact_solve, perp_lcp_solve, ...   solve.c: check the input; islands
 *       perpi_run_plan                          solve.c: for each entry of the plan
 *         a perpi_runner                        run_contact.c, run_vector.c: reformulate, run, reconstruct
 *           the method's function for its form
 * A method never evaluates its own result: the outcome is SOLVED exactly if the residual that is
 * recomputed from the problem is within the tolerance.
 */
#ifndef PERPI_SOLVE_H
#define PERPI_SOLVE_H

#include "base/arena.h"
#include "perp/solve.h"
#include "problem/island.h"
#include "problem/reformulate/affine.h"
#include "problem/reformulate/reduced_units.h"
#include "solve/methods.h"
#include "solve/plan.h"

/* ---- data ------------------------------------------------------------------------------------------*/

/* A problem of any form. */
typedef struct perpi_problem {
    perpi_form form;
    union {
        const perp_lcp* lcp;
        const perp_mlcp* mlcp;
        const perp_ncp* ncp;
        const perp_friction_problem* friction;
        const perp_contact_problem* contact; /* its point: v, then p */
    };
} perpi_problem;

/* A reduced problem, made once per island. */
typedef struct perpi_reduced {
    perp_reformulation* reformulation;
    perpi_reduced_units units;
    perp_friction_problem scaled;
} perpi_reduced;

/* A method of the plan with its state, and how it takes the solver's form. */
typedef struct perpi_slot {
    const char* name;
    const perp_method* method;
    perpi_form form; /* in which the method is run */
    void *self, *settings;
    uint32_t takes;
    /* The same method for NCPs, used for round cones; NULL: there is none. */
    const perp_method* round;
    void *round_self, *round_settings;
    const perpi_reduced* reduced; /* run on this reduced problem; NULL: on that of the island */
} perpi_slot;

/* How one run of a method ended. */
typedef struct perpi_made {
    perp_report report;
    perp_contact_residual residual; /* of the forms with one vector: worst alone */
    bool checked;                   /* the residual is that of the point */
    bool overruled; /* reported solved, but the residual is too large; detail: where */
} perpi_made;

typedef enum perpi_ready { /* which reformulations of the current problem exist */
                           PERPI_READY_REDUCED = 1,
                           PERPI_READY_LCP = 2,
                           PERPI_READY_MLCP = 4,
                           PERPI_READY_NCP = 8,
} perpi_ready;

typedef struct perpi_solver perpi_solver;
struct perpi_solver {
    perp_context* context;
    perpi_form form; /* of the problems that it is given */
    const char* name;
    bool planned;          /* "auto"; else `single` is the plan */
    perpi_entry single[2]; /* the method that was asked for */
    uint32_t takes;        /* cones and groups */
    perpi_slot slot[PERPI_PLAN_MOST];
    int32_t slot_count;
    perpi_slot start;  /* of an NCP: the method that computes starting points */
    perpi_arena arena; /* points and scratch of the running solve */
    /* the current problem in other forms */
    unsigned ready;
    perp_reformulation* reformulation; /* contact to LCP, MLCP, NCP */
    perpi_reduced reduced;
    perpi_reduced start_reduced; /* of a problem whose groups are decided */
    perp_lcp lcp;
    perp_mlcp mlcp;
    perp_ncp ncp;
    perpi_lcp_columns columns;
    perp_reformulation* linear; /* between MLCP and LCP */
    /* contact problems */
    perpi_islands* islands;
    perpi_solver**
        lane; /* of other threads, for their islands; made when needed (island_lanes.c) */
    perpi_solver* inner;  /* for problems without groups, of a grouped method; made when needed */
    perpi_solver* acting; /* for the islands of constraints that act (acting.h); made when needed */
    bool part;            /* it is such a solver */
    double work;          /* of its attempts, and the limit for all of them (work.h) */
    double work_most;
};

/* Reformulates if the method takes another form, runs it from x, and reconstructs x. */
typedef perp_status (*perpi_runner)(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                                    const perp_solve_options* options, bool warm, double* x,
                                    perpi_made* made);

/* All public solver types are this object. */
struct perp_lcp_solver {
    perpi_solver base;
};
struct perp_mlcp_solver {
    perpi_solver base;
};
struct perp_ncp_solver {
    perpi_solver base;
};
struct perp_friction_solver {
    perpi_solver base;
};
struct perp_contact_solver {
    perpi_solver base;
};

/* ---- the solver object and its slots (solver.c) ------------------------------------------------------*/

PERP_NODISCARD perp_status perpi_solver_create(perp_context* context, perpi_form form,
                                               const char* name, const perp_option* option,
                                               int32_t count, perpi_solver** solver);
/* The slot of an entry of the plan; its method is created when first needed. */
PERP_NODISCARD perp_status perpi_find_slot(perpi_solver* s, const char* name, perpi_slot** slot);
/* Finds the method of that name for a form of problems and creates its state. option: count settings. */
PERP_NODISCARD perp_status perpi_slot_create(perp_context* context, perpi_form form,
                                             const char* name, const perp_option* option,
                                             int32_t count, perpi_slot* slot);
void perpi_slot_destroy(perp_context* context, perpi_slot* slot);

/* ---- input (check_input.c) ---------------------------------------------------------------------------*/

/* *chosen: the options or the defaults, checked; empties the list of attempts. */
PERP_NODISCARD perp_status perpi_check_options(perp_context* context,
                                               const perp_solve_options* options,
                                               perp_solve_options* chosen);
PERP_NODISCARD perp_status perpi_check_guess(perp_context* context, const char* name,
                                             const double* x, int32_t n);
/* Refuses the first constraint whose cone is not in takes, and groups. */
PERP_NODISCARD perp_status perpi_check_takes(perp_context* context, const char* solver,
                                             uint32_t takes, const perpi_problem* problem);

/* ---- runners -----------------------------------------------------------------------------------------*/

/* run_vector.c: what a method needs of M. */
PERP_NODISCARD perp_status perpi_check_lcp_needs(perp_context* context, const perp_method* method,
                                                 const perp_lcp* lcp);
PERP_NODISCARD perp_status perpi_check_mlcp_needs(perp_context* context, const perp_method* method,
                                                  const perp_mlcp* mlcp);
PERP_NODISCARD perp_status perpi_run_lcp(perpi_solver* s, perpi_slot* slot,
                                         const perpi_problem* problem,
                                         const perp_solve_options* options, bool warm, double* x,
                                         perpi_made* made);
PERP_NODISCARD perp_status perpi_run_mlcp(perpi_solver* s, perpi_slot* slot,
                                          const perpi_problem* problem,
                                          const perp_solve_options* options, bool warm, double* x,
                                          perpi_made* made);
PERP_NODISCARD perp_status perpi_run_ncp(perpi_solver* s, perpi_slot* slot,
                                         const perpi_problem* problem,
                                         const perp_solve_options* options, bool warm, double* x,
                                         perpi_made* made);
PERP_NODISCARD perp_status perpi_run_friction(perpi_solver* s, perpi_slot* slot,
                                              const perpi_problem* problem,
                                              const perp_solve_options* options, bool warm,
                                              double* x, perpi_made* made);
/* run_contact.c: the runner for a contact problem. */
perpi_runner perpi_contact_runner(const perpi_slot* slot, const perp_contact_problem* problem);

/* ---- the residual check (check_point.c) ----------------------------------------------------------------
 * The one place where a solve evaluates a point. */

/* Fills made->residual, unless that is done, and sets the outcome. */
PERP_NODISCARD perp_status perpi_check_point(perpi_solver* s, const perpi_problem* problem,
                                             double tolerance, double* x, perpi_made* made);
/* The residual of a contact problem's point v, p. */
PERP_NODISCARD perp_status perpi_contact_residual_at(perpi_solver* s,
                                                     const perp_contact_problem* problem,
                                                     const double* v, const double* p,
                                                     perp_contact_residual* residual);

/* ---- the warm start (warm_start.c) ---------------------------------------------------------------------*/

#define PERPI_REFINE 1e-2 /* on the goal, for methods that improve a warm start near the answer */

/* The impulses of x = (v, p), with the motion v that they give, as the answer; if they are near it, after a
 * correction. guess: the velocities before; goal: on the residual. made->checked: x is accepted; else
 * *near: the residual of x is within the goal, but an error of that size would persist. */
PERP_NODISCARD perp_status perpi_check_warm_start(perpi_solver* s, const perp_contact_problem* P,
                                                  double goal, const double* guess, double* x,
                                                  perpi_made* made, bool* near);

/* The residual up to which an island at rest passes that is too large for a correction; 0: it is not. goal: as
 * above. */
double perpi_rest_limit(const perp_contact_problem* P, double goal);

/* b: that of the problem, with 0 for the gaps of contacts that push and whose residual at x is within the limit
 * by its gap alone. The answer of the problem with this b stops the bodies. That of the problem itself has the
 * velocities that close the gaps, the next step the impulses that stop these, and the step after that must
 * be solved again. */
PERP_NODISCARD perp_status perpi_hold_gaps(perpi_solver* s, const perp_contact_problem* P,
                                           double limit, const double* x, double* b);

/* Friction may leave open whether bodies stay at rest: a bar between two fingers, whose force may
 * be spread along it, or be at one end, about which the bar turns. x: an answer. If a closed
 * contact moves in it, or is at the limit of friction, and the smallest impulses with which all
 * closed contacts stand still satisfy the laws, too, x is replaced by these and made->checked is
 * true. guess: the velocities before; known: with impulses of a step before, and then only what is
 * at rest stays at rest. */
PERP_NODISCARD perp_status perpi_prefer_rest(perpi_solver* s, const perp_contact_problem* P,
                                             double goal, const double* guess, bool known,
                                             double* x, perpi_made* made);

/* The rest of a time limit, if there is one; > 0, since a limit of 0 means none. */
void perpi_take_time(const perp_solve_options* options, double begin, perp_solve_options* left);

/* ---- islands in several threads (island_lanes.c) -------------------------------------------------------
 * Islands are independent, so each is solved by one thread with a solver of its own, and the answer does
 * not depend on which. An island that is larger than a thread's share is solved by itself, before the
 * others: its method divides its own work. */

/* How many threads the islands of the solver's last split should have; 1: one after the other. */
int32_t perpi_island_lanes(perpi_solver* s, int32_t islands, const perp_solve_options* options);

/* The solver of a lane, ready for islands of the last split of s; lane 0: s itself. */
PERP_NODISCARD perp_status perpi_lane_solver(perpi_solver* s, int32_t lane, perpi_solver** own);

/* Solves island i with the call of a lane. */
typedef perp_status (*perpi_island_fn)(void* call, int32_t i);

/* Each island by one of the calls, call[lane]; those of a lane in ascending order, after the large ones,
 * which call[0] takes alone. On failure the status and message of the first island that failed. */
PERP_NODISCARD perp_status perpi_solve_in_lanes(perpi_solver* s, int32_t islands, int32_t lanes,
                                                perpi_island_fn solve, void* const* call);

#endif
