/* perp/solve.h - methods, and the dispatcher that runs them and asks the judge.
 *
 * One const ops table per method and problem form. The built-in ones stand in one visible array
 * per form (src/solve/methods.c); a user adds their own to a context with perp_register_*. A
 * method is named in kebab-case and may exist for several forms under the same name.
 *
 * The dispatcher validates the problem, calls the method, then lets the judge recompute the
 * residual: a method never grades itself. report.outcome is SOLVED only if the judge agrees.
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
    const char* text;        /* what it is, its unit */
} perp_setting;

/* Sets one member by name, checking type and range. value: the number, or 0/1 for a bool. */
PERP_API PERP_NODISCARD perp_status perp_setting_assign(perp_context* context,
                                                        const perp_setting* table, int32_t count,
                                                        const char* owner, const char* name,
                                                        double value, void* settings);

/* ---- what a method is given, and what it gives back ---------------------------------------------*/

/* One method that a solve ran, in the order in which they ran. */
typedef struct perp_attempt {
    const char* solver; /* a literal */
    perp_outcome outcome;
    int32_t iterations;
    int32_t island;  /* of a contact problem in independent parts: which, from 0 */
    double residual; /* the judge's, of the point it ended at */
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
    double tolerance;           /* on the judge's residual, unit-free; default 1e-10 */
    double enough;              /* > tolerance: once here a method need not insist; 0: none */
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
    double residual;    /* the judge's, of the point returned */
    double seconds;
    const char* solver; /* the method that produced the point; a literal */
    char detail[160];   /* one sentence for a person, "" if there is nothing to say */
} perp_report;

/* ---- ops tables: what an implementer owes --------------------------------------------------------
 * create   settings: a struct of settings_size bytes, already checked. self: the method's state and
 *          scratch, allocated from the context; grown in solve when a larger problem comes, so that
 *          a second solve of the same size allocates nothing.
 * solve    z (or v, p): in: the first guess (0 if there is none); out: the best point found.
 *          Must not change the problem. Fills report->outcome, iterations, detail; the rest is the
 *          dispatcher's. Returns non-OK only if the call itself failed (memory, callback).
 *          `warm` tells whether the guess comes from a neighbouring problem.
 */
#define PERP_NEEDS_POSITIVE_DIAGONAL 1u /* diag(M) > 0 */
#define PERP_NEEDS_SYMMETRIC 2u

typedef struct perp_lcp_solver_ops {
    const char* name;
    const char* summary; /* one line for `perp list solvers` */
    uint32_t needs;
    size_t settings_size;
    const perp_setting* settings;
    int32_t settings_count;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
    perp_status (*solve)(void* self, const perp_lcp* problem, const perp_solve_options* options,
                         bool warm, double* z, perp_report* report);
} perp_lcp_solver_ops;

typedef struct perp_mlcp_solver_ops {
    const char* name;
    const char* summary;
    uint32_t needs;
    size_t settings_size;
    const perp_setting* settings;
    int32_t settings_count;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
    perp_status (*solve)(void* self, const perp_mlcp* problem, const perp_solve_options* options,
                         bool warm, double* z, perp_report* report);
} perp_mlcp_solver_ops;

typedef struct perp_ncp_solver_ops {
    const char* name;
    const char* summary;
    uint32_t needs;
    size_t settings_size;
    const perp_setting* settings;
    int32_t settings_count;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
    perp_status (*solve)(void* self, const perp_ncp* problem, const perp_solve_options* options,
                         bool warm, double* z, perp_report* report);
} perp_ncp_solver_ops;

#define PERP_TAKES_NONE 1u /* bit (1 << perp_cone) */
#define PERP_TAKES_POLYGON 2u
#define PERP_TAKES_QUADRATIC 4u
#define PERP_TAKES_ELLIPSOID 8u
#define PERP_TAKES_GROUPS 16u

typedef struct perp_contact_solver_ops {
    const char* name;
    const char* summary;
    uint32_t takes; /* which cones, and whether groups */
    size_t settings_size;
    const perp_setting* settings;
    int32_t settings_count;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
    perp_status (*solve)(void* self, const perp_contact_problem* problem,
                         const perp_solve_options* options, bool warm, double* v, double* p,
                         perp_report* report);
} perp_contact_solver_ops;

/* Methods on the friction problem; r: row_count. takes as above (no groups). */
typedef struct perp_friction_solver_ops {
    const char* name;
    const char* summary;
    uint32_t takes;
    size_t settings_size;
    const perp_setting* settings;
    int32_t settings_count;
    void (*settings_default)(void* settings);
    perp_status (*create)(perp_context* context, const void* settings, void** self);
    void (*destroy)(void* self);
    perp_status (*solve)(void* self, const perp_friction_problem* problem,
                         const perp_solve_options* options, bool warm, double* r,
                         perp_report* report);
} perp_friction_solver_ops;

/* The table is borrowed and must outlive the context. A name that is taken for that form gives
 * PERP_ERROR_INPUT. */
PERP_API PERP_NODISCARD perp_status perp_register_lcp_solver(perp_context* context,
                                                             const perp_lcp_solver_ops* ops);
PERP_API PERP_NODISCARD perp_status perp_register_mlcp_solver(perp_context* context,
                                                              const perp_mlcp_solver_ops* ops);
PERP_API PERP_NODISCARD perp_status perp_register_ncp_solver(perp_context* context,
                                                             const perp_ncp_solver_ops* ops);
PERP_API PERP_NODISCARD perp_status
perp_register_contact_solver(perp_context* context, const perp_contact_solver_ops* ops);

PERP_API PERP_NODISCARD perp_status
perp_register_friction_solver(perp_context* context, const perp_friction_solver_ops* ops);

/* ---- solver objects ------------------------------------------------------------------------------
 * Made by name; "auto" is the portfolio. An unknown name gives PERP_ERROR_INPUT with
 * the nearest known one; a name of DESIGN's list that is not built yet PERP_ERROR_UNSUPPORTED.
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

/* Takes a method of any form that the problem can be lowered to: contact first, then friction,
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
/* v: dof_count, p: row_count; in: first guess if warm; out: the answer. residual: the judge's
 * verdict, may be NULL. The point is written even when the outcome is not SOLVED (the best the
 * judge saw), so that a caller may choose to go on. */
PERP_API PERP_NODISCARD perp_status perp_contact_solve(perp_contact_solver* solver,
                                                       const perp_contact_problem* problem,
                                                       const perp_solve_options* options, bool warm,
                                                       double* v, double* p,
                                                       perp_contact_residual* residual,
                                                       perp_report* report);

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
