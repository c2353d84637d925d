/* perp/solve.h - solver objects, the methods behind them, and how to add one.
 *
 * One const table per method, with a function for each problem form that it solves. The built-in
 * ones are listed in src/solve/builtin.h; a user adds their own to a context with
 * perp_register_method. A method is named in kebab-case.
 *
 * A solve checks the problem, runs the method (reformulating the problem if the method takes another
 * form), then recomputes the residual from the problem alone. report.outcome is SOLVED exactly if
 * that residual is within the tolerance. "auto" is not a method but a plan: methods that fit the
 * problem, in order, until one solves it (src/solve/plan.c).
 */
#ifndef PERP_SOLVE_H
#define PERP_SOLVE_H

#include "perp/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ----------------------------------------------------------------------------------*/

typedef enum perp_setting_type {
    PERP_SETTING_DOUBLE,
    PERP_SETTING_INT,
    PERP_SETTING_BOOL
} perp_setting_type;

/* One member of a method's settings struct; `perp list --json` and the scene reader use it. */
typedef struct perp_setting {
    const char* name;
    perp_setting_type type; /* double, int32_t or bool at offset */
    size_t offset;
    double minimum, maximum; /* inclusive; ignored for bool */
    const char* text;        /* description and unit */
} perp_setting;

/* Sets one member by name, checking type and range. value: the number, or 0/1 for a bool. */
PERP_API PERP_NODISCARD perp_status perp_setting_assign(perp_context* context,
                                                        const perp_setting* table, int32_t count,
                                                        const char* owner, const char* name,
                                                        double value, void* settings);

/* ---- options and reports --------------------------------------------------------------------- */

/* One method that a solve ran, in the order in which they ran. */
typedef struct perp_attempt {
    const char* solver; /* a literal */
    perp_outcome outcome;
    int32_t iterations;
    int32_t island;  /* of a contact problem in independent parts: which, from 0 */
    double residual; /* of the point it ended at */
    double seconds;
} perp_attempt;

/* Filled by a solve that is given one. count: how many there were; of those beyond capacity nothing
 * is kept. */
typedef struct perp_attempt_list {
    perp_attempt* attempt; /* the caller's */
    int32_t capacity;
    int32_t count;
} perp_attempt_list;

typedef struct perp_solve_options {
    double tolerance;           /* on the residual, unit-free; default 1e-10 */
    double enough;              /* > tolerance: a method may stop here if it stalls; 0: none */
    int32_t max_iter;           /* 0: the method's own default */
    double time_limit;          /* seconds; 0: none */
    bool (*cancel)(void* user); /* NULL: never */
    void (*log)(void* user, int32_t iteration, double residual); /* NULL: none */
    void* user;
    perp_attempt_list* attempts; /* NULL: not kept */
} perp_solve_options;

PERP_API perp_solve_options perp_solve_options_default(void);

typedef struct perp_report {
    perp_outcome outcome;
    int32_t iterations; /* pivots, sweeps or Newton steps: the method says which */
    double residual;    /* of the point returned */
    double seconds;
    const char* solver; /* the method that produced the point; a literal */
    char detail[160];   /* one sentence for a person, "" if there is nothing to say */
} perp_report;

/* ---- methods: requirements on an implementation ------------------------------------------------------
 * One table per method, with a function for every problem form that it solves.
 *
 * create   settings: a struct of settings_size bytes, already checked. self: the method's state and
 *          scratch, allocated from the context; grown in a solve for a larger problem, so that
 *          a second solve of the same size allocates nothing. One self per form that is used.
 * lcp, mlcp, ncp, friction, contact, grouped   NULL: the method does not take that form.
 *          z (r; v and p): in: the first guess (0 if there is none); out: the best point found.
 *          Must not change the problem. Fills report->outcome, iterations, detail; the rest is
 *          filled by the caller. Returns non-OK only if the call itself failed (memory, callback).
 *          `warm`: the guess is the solution of a similar problem.
 * grouped  a contact problem with groups, solved through problems without groups: `inner` solves
 *          those, as "auto" would.
 */
#define PERP_NEEDS_POSITIVE_DIAGONAL 1u /* diag(M) > 0 */
#define PERP_NEEDS_SYMMETRIC 2u

#define PERP_TAKES_NONE 1u /* bit (1 << perp_cone) */
#define PERP_TAKES_POLYGON 2u
#define PERP_TAKES_QUADRATIC 4u
#define PERP_TAKES_ELLIPSOID 8u
#define PERP_TAKES_GROUPS 16u

/* Solves a contact problem without groups; v and p as for perp_contact_solve. */
typedef struct perp_inner_solve {
    void* user;
    perp_status (*solve)(void* user, const perp_contact_problem* problem,
                         const perp_solve_options* options, bool warm, double* v, double* p,
                         perp_report* report);
} perp_inner_solve;

typedef struct perp_method {
    const char* name;
    const char* summary; /* one line for `perp list solvers` */
    uint32_t needs;      /* of M: LCP and MLCP */
    uint32_t takes;      /* friction, contact, grouped: which cones, and whether groups */
    size_t settings_size;
    const perp_setting* settings;
    int32_t settings_count;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
    perp_status (*lcp)(void* self, const perp_lcp* problem, const perp_solve_options* options,
                       bool warm, double* z, perp_report* report);
    perp_status (*mlcp)(void* self, const perp_mlcp* problem, const perp_solve_options* options,
                        bool warm, double* z, perp_report* report);
    perp_status (*ncp)(void* self, const perp_ncp* problem, const perp_solve_options* options,
                       bool warm, double* z, perp_report* report);
    perp_status (*friction)(void* self, const perp_friction_problem* problem,
                            const perp_solve_options* options, bool warm, double* r,
                            perp_report* report);
    perp_status (*contact)(void* self, const perp_contact_problem* problem,
                           const perp_solve_options* options, bool warm, double* v, double* p,
                           perp_report* report);
    perp_status (*grouped)(void* self, const perp_contact_problem* problem,
                           const perp_inner_solve* inner, const perp_solve_options* options,
                           bool warm, double* v, double* p, perp_report* report);
} perp_method;

/* The table is borrowed and must outlive the context. A name that is taken for one of its forms, or
 * no form at all, gives PERP_ERROR_INPUT. */
PERP_API PERP_NODISCARD perp_status perp_register_method(perp_context* context,
                                                         const perp_method* method);

/* ---- solver objects ------------------------------------------------------------------------------
 * Made by name; "auto" is the plan. An unknown name gives PERP_ERROR_INPUT with the nearest
 * known one, a method that does not take the form PERP_ERROR_UNSUPPORTED.
 * option: settings as name/value pairs, NULL/0 for the defaults. */

typedef struct perp_option {
    const char* name;
    double value;
} perp_option;

typedef struct perp_lcp_solver perp_lcp_solver;
PERP_API PERP_NODISCARD perp_status perp_lcp_solver_create(perp_context* context, const char* name,
                                                           const perp_option* option, int32_t count,
                                                           perp_lcp_solver** solver);
PERP_API void perp_lcp_solver_destroy(perp_lcp_solver* solver);
/* z: n values, in: first guess if warm, out: solution; untouched unless PERP_OK. */
PERP_API PERP_NODISCARD perp_status perp_lcp_solve(perp_lcp_solver* solver, const perp_lcp* problem,
                                                   const perp_solve_options* options, bool warm,
                                                   double* z, perp_report* report);

typedef struct perp_mlcp_solver perp_mlcp_solver;
PERP_API PERP_NODISCARD perp_status perp_mlcp_solver_create(perp_context* context, const char* name,
                                                            const perp_option* option,
                                                            int32_t count,
                                                            perp_mlcp_solver** solver);
PERP_API void perp_mlcp_solver_destroy(perp_mlcp_solver* solver);
PERP_API PERP_NODISCARD perp_status perp_mlcp_solve(perp_mlcp_solver* solver,
                                                    const perp_mlcp* problem,
                                                    const perp_solve_options* options, bool warm,
                                                    double* z, perp_report* report);

typedef struct perp_ncp_solver perp_ncp_solver;
PERP_API PERP_NODISCARD perp_status perp_ncp_solver_create(perp_context* context, const char* name,
                                                           const perp_option* option, int32_t count,
                                                           perp_ncp_solver** solver);
PERP_API void perp_ncp_solver_destroy(perp_ncp_solver* solver);
PERP_API PERP_NODISCARD perp_status perp_ncp_solve(perp_ncp_solver* solver, const perp_ncp* problem,
                                                   const perp_solve_options* options, bool warm,
                                                   double* z, perp_report* report);

typedef struct perp_friction_solver perp_friction_solver;
PERP_API PERP_NODISCARD perp_status perp_friction_solver_create(perp_context* context,
                                                                const char* name,
                                                                const perp_option* option,
                                                                int32_t count,
                                                                perp_friction_solver** solver);
PERP_API void perp_friction_solver_destroy(perp_friction_solver* solver);
PERP_API PERP_NODISCARD perp_status perp_friction_solve(perp_friction_solver* solver,
                                                        const perp_friction_problem* problem,
                                                        const perp_solve_options* options,
                                                        bool warm, double* r,
                                                        perp_contact_residual* residual,
                                                        perp_report* report);

/* Takes a method of any form that the problem can be reformulated in: contact first, then friction,
 * MLCP, LCP. */
typedef struct perp_contact_solver perp_contact_solver;
PERP_API PERP_NODISCARD perp_status perp_contact_solver_create(perp_context* context,
                                                               const char* name,
                                                               const perp_option* option,
                                                               int32_t count,
                                                               perp_contact_solver** solver);
PERP_API void perp_contact_solver_destroy(perp_contact_solver* solver);
/* Whether it takes contacts with that cone. */
PERP_API bool perp_contact_solver_takes(const perp_contact_solver* solver, perp_cone cone);
/* v: dof_count, p: row_count; in: first guess if warm; out: the answer. residual: of
 * the point, may be NULL. The point is written even when the outcome is not SOLVED (the best that was
 * found), so that a caller may choose to go on. */
PERP_API PERP_NODISCARD perp_status perp_contact_solve(perp_contact_solver* solver,
                                                       const perp_contact_problem* problem,
                                                       const perp_solve_options* options, bool warm,
                                                       double* v, double* p,
                                                       perp_contact_residual* residual,
                                                       perp_report* report);

/* ---- deprecated since 0.2: one table per method and form; use perp_method ---------------------------*/

#define PERPI_SOLVER_OPS(form, problem_type, limits, ...)                                          \
    typedef struct perp_##form##_solver_ops {                                                      \
        const char* name;                                                                          \
        const char* summary;                                                                       \
        uint32_t limits;                                                                           \
        size_t settings_size;                                                                      \
        const perp_setting* settings;                                                              \
        int32_t settings_count;                                                                    \
        void (*settings_default)(void* settings);                                                  \
        perp_status (*create)(perp_context * context, const void* settings, void** self);          \
        void (*destroy)(void* self);                                                               \
        perp_status (*solve)(void* self, const problem_type* problem,                              \
                             const perp_solve_options* options, bool warm, __VA_ARGS__,            \
                             perp_report* report);                                                 \
    } perp_##form##_solver_ops;                                                                    \
    PERP_API PERP_NODISCARD perp_status perp_register_##form##_solver(                             \
        perp_context* context, const perp_##form##_solver_ops* ops);

PERPI_SOLVER_OPS(lcp, perp_lcp, needs, double* z)
PERPI_SOLVER_OPS(mlcp, perp_mlcp, needs, double* z)
PERPI_SOLVER_OPS(ncp, perp_ncp, needs, double* z)
PERPI_SOLVER_OPS(friction, perp_friction_problem, takes, double* r)
PERPI_SOLVER_OPS(contact, perp_contact_problem, takes, double* v, double* p)
#undef PERPI_SOLVER_OPS

/* ---- listing -------------------------------------------------------------------------------------*/

typedef struct perp_solver_info {
    const char* name;
    const char* summary;
    bool takes_lcp, takes_mlcp, takes_ncp, takes_friction, takes_contact;
    const perp_setting* settings; /* of the first form it has */
    int32_t settings_count;
    size_t settings_size;
    void (*settings_default)(void* settings);
} perp_solver_info;

/* index 0, 1, ... until it returns false. Built-in methods first, then registered ones. */
PERP_API bool perp_solver_list(const perp_context* context, int32_t index, perp_solver_info* info);

#ifdef __cplusplus
}
#endif
#endif
