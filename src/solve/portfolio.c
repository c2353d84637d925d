/* src/solve/portfolio.c - "auto": methods that fit the problem, in order, until the judge accepts.
 *
 * One table per form. Each attempt is a whole solver of its own, judged as any other; the first one
 * gets the caller's guess, later ones go on from the best point so far. The report names the method
 * that succeeded, adds up the iterations, and says what was tried if it was more than one.
 *
 * Order: the method that is right to rounding and cheap when warm first; robust ones after it; those
 * that only approach the answer last. A dense pivoting method is not tried first where its cube
 * would hurt (LARGE unknowns). A Newton method is first asked for GOAL of the tolerance within a few
 * steps: near the answer a step more squares the error, and a guess from the last step that just
 * passes would otherwise be handed on unimproved, step after step.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/clock.h"
#include "solve/dispatch.h"
#include "solve/registry.h"

#define GOAL 1e-4
#define TIME_SHARE 0.7 /* of the time that is left, for a method that others may follow */

enum {
    LARGE = 2000,
    LARGE_ISLAND = 150,
    SMALL_GROUPS = 16,
    FEW = 200,
    VERY_FEW = 20,
    PROBES = 8,
    FEW_DOFS = 120,
    LARGE_NEWTON = 600, /* rows */
    LARGE_PILE = 1000,  /* rows */
    PILE = 90,
    LEAN = 3, /* rows per velocity */
    LAYERS =
        300, /* rows: below it newton takes milliseconds, and its answers are right to rounding */
    CROWD = 4,
    RAYS = 2
};

typedef struct entry {
    const char* name; /* NULL ends a list */
    int how; /* true: aim at GOAL of the tolerance, in FEW iterations; COLD: forget the guess; SHORT,
                BRIEF: in FEW, VERY_FEW iterations; COLD_SHORT: both; PROBE: as true, in PROBES
                iterations, and forgotten if it falls short of that */
} entry;

/* cold: a guess from the last step can stall a method */
enum { COLD = 2, SHORT = 3, BRIEF = 4, COLD_SHORT = 5, PROBE = 6 };

static const entry lcp_order[] = {{"lemke", false},          {"pivot", false},
                                  {"path", false},           {"interior-point", false},
                                  {"fischer-newton", false}, {NULL, false}};
static const entry lcp_large[] = {{"path", false},           {"pivot", false},
                                  {"lemke", false},          {"interior-point", false},
                                  {"fischer-newton", false}, {NULL, false}};
static const entry mlcp_order[] = {{"pivot", false},          {"path", false},
                                   {"lemke", false},          {"interior-point", false},
                                   {"fischer-newton", false}, {NULL, false}};
static const entry ncp_order[] = {
    {"path", false}, {"fischer-newton", false}, {"minmap-newton", false}, {NULL, false}};
static const entry friction_order[] = {{"newton", true}, {"newton", false},      {"nsgs", false},
                                       {"admm", false},  {"fixed-point", false}, {NULL, false}};
static const entry contact_polygon[] = {{"lemke", false},  {"newton", true}, {"pivot", false},
                                        {"newton", false}, {"nsgs", false},  {NULL, false}};
static const entry contact_round[] = {{"newton", true}, {"newton", false}, {"newton", COLD},
                                      {"nsgs", false},  {"admm", false},   {"fixed-point", false},
                                      {NULL, false}};
/* Where newton-bodies stalls after its first FEW iterations (soft layers whose ties are equality rows: 4000
 * more iterations, 4 s on 792 rows), newton mostly needs fewer than ten from there. Not in large piles, where one
 * iteration of it can take a second. */
static const entry contact_pile[] = {
    {"newton-bodies", true}, {"newton", BRIEF}, {"newton-bodies", false}, {"newton-bodies", COLD},
    {"newton", false},       {"nsgs", false},   {"admm", false},          {NULL, false}};
static const entry contact_pile_large[] = {{"newton-bodies", true},
                                           {"newton-bodies", false},
                                           {"newton-bodies", COLD},
                                           {"newton", false},
                                           {"nsgs", false},
                                           {"admm", false},
                                           {NULL, false}};
/* Warm starts with few contacts per body, of moderate number (a row of dominoes that fall). newton-bodies is the
 * fastest where little changes. Where it does not end soon newton from the same guess takes a tenth of the steps,
 * and ends more exactly. */
static const entry contact_lean[] = {
    {"newton-bodies", PROBE}, {"newton", true},        {"newton-bodies", true},
    {"newton-bodies", false}, {"newton-bodies", COLD}, {"newton", false},
    {"nsgs", false},          {"admm", false},         {NULL, false}};
/* Very many contacts: W is dense and has the rank of the velocities. Its basis is small, so pivoting takes
 * milliseconds where newton-bodies stalls (planar and polygon cones); newton and nsgs search for seconds. */
static const entry contact_crowd[] = {{"newton-bodies", true},
                                      {"pivot", SHORT},
                                      {"newton-bodies", false},
                                      {"newton-bodies", COLD},
                                      {NULL, false}};
/* Few bodies with very many contacts: what these do not solve mostly has no answer (of 122 such problems of
 * random planar scenes a search of 2000 iterations of newton-bodies solved 7), and a step may ask for several. */
static const entry contact_few[] = {{"newton-bodies", true},  {"pivot", SHORT},
                                    {"newton", BRIEF},        {"newton-bodies", COLD_SHORT},
                                    {"newton-bodies", SHORT}, {NULL, false}};
static const entry contact_few_large[] = {{"newton-bodies", true},
                                          {"pivot", SHORT},
                                          {"newton-bodies", COLD_SHORT},
                                          {"newton-bodies", SHORT},
                                          {NULL, false}};
static const entry contact_large[] = {
    {"newton", true}, {"newton", false}, {"nsgs", false}, {"lemke", false}, {NULL, false}};
/* Joints with limits or motors and no contact: piecewise linear, a few Newton steps, where pivoting has
 * a dense LCP to carry along. Equality rows alone stay with lemke: one direct solve. */
static const entry contact_joints[] = {
    {"newton", true}, {"newton", false}, {"lemke", false}, {"nsgs", false}, {NULL, false}};
/* Groups: where switching finds no answer there may be none, and the general methods then search for
 * long: path 0.3 to 4 s on 40 rows. So each gets its turn only where its search stays a matter of
 * milliseconds, by size and not by the clock, which would make runs differ; the simulation has simpler
 * models to fall back to, and `perp solve --solver path` is there for a saved problem. */
static const entry contact_groups_small[] = {
    {"switching", false}, {"lemke", false}, {"pivot", false}, {"path", false}, {NULL, false}};
static const entry contact_groups[] = {
    {"switching", false}, {"lemke", false}, {"pivot", false}, {NULL, false}};
static const entry contact_groups_large[] = {{"switching", false}, {NULL, false}};

/* ---- what all forms share --------------------------------------------------------------------------*/

enum { SLOTS = 12 }; /* more than any list is long */

typedef struct attempts {
    const perp_solve_options* options;
    perpi_clock clock;
    bool timed;       /* somebody wants to know how long each took */
    double try_began; /* if timed */
    perp_report best;
    int32_t iterations;
    int32_t count;
    bool no_solution; /* an attempt proved that there is none */
    int32_t rays;     /* pivoting methods that found no way to an answer */
    const char* solver[SLOTS];
    perp_outcome outcome[SLOTS];
} attempts;

static attempts attempts_begin(const perp_solve_options* options)
{
    return (attempts){.options = options,
                      .clock = perpi_clock_start(options->time_limit),
                      .timed = options->attempts != NULL,
                      .best = {.residual = INFINITY}};
}

/* What is left of the limits; false if nothing is. */
static bool attempts_left(attempts* a, const entry* e, perp_solve_options* left)
{
    *left = *a->options;
    left->attempts = NULL; /* this list is ours */
    a->try_began = a->timed ? perpi_clock_now() : 0.0;
    if (left->time_limit > 0.0) {
        left->time_limit -= perpi_clock_elapsed(&a->clock);
        if (!(left->time_limit > 0.0)) {
            return false;
        }
        left->time_limit *= e[1].name != NULL ? TIME_SHARE : 1.0;
    }
    if (left->max_iter > 0) {
        left->max_iter -= a->iterations;
        if (left->max_iter <= 0) {
            return false;
        }
    }
    if (e->how == true || e->how == PROBE) {
        const int32_t most = e->how == true ? FEW : PROBES;
        left->enough = left->tolerance;
        left->tolerance *= GOAL;
        left->max_iter = left->max_iter > 0 && left->max_iter < most ? left->max_iter : most;
    }
    if (e->how == BRIEF && (left->max_iter == 0 || left->max_iter > VERY_FEW)) {
        left->max_iter = VERY_FEW;
    }
    if ((a->rays >= RAYS || e->how == SHORT || e->how == COLD_SHORT) &&
        (left->max_iter == 0 || left->max_iter > FEW)) {
        left->max_iter =
            FEW; /* with rays there is most likely no answer: a short search is enough */
    }
    return left->cancel == NULL || a->count == 0 || !left->cancel(left->user);
}

static bool attempts_done(const attempts* a)
{
    return a->count > 0 && a->best.residual <= a->options->tolerance;
}

/* A tolerance near rounding may be out of reach. Once two attempts have met what is enough, further ones
 * would search for long and gain little. */
static bool attempts_suffice(const attempts* a)
{
    return attempts_done(a) || (a->count >= 2 && a->best.residual <= a->options->enough);
}

/* Notes how an attempt ended; true if its point is the best so far. */
static bool attempts_note(attempts* a, const perp_report* made)
{
    perpi_attempt_add(a->options, made, a->timed ? perpi_clock_now() - a->try_began : 0.0);
    a->solver[a->count] = made->solver;
    a->outcome[a->count] = made->outcome;
    a->count += 1;
    a->no_solution = a->no_solution || made->outcome == PERP_OUTCOME_NO_SOLUTION;
    a->rays += made->outcome == PERP_OUTCOME_NO_SOLUTION || made->outcome == PERP_OUTCOME_RAY;
    a->iterations += made->iterations;
    const bool better = a->count == 1 || made->residual < a->best.residual;
    if (better) {
        a->best = *made;
    }
    return better;
}

/* "tried newton (iteration limit), nsgs (solved)" */
static void attempts_describe(const attempts* a, char* text, size_t size)
{
    snprintf(text, size, "tried");
    for (int32_t i = 0; i < a->count; ++i) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s %s (%s)", i > 0 ? "," : "", a->solver[i],
                 perp_outcome_name(a->outcome[i]));
    }
}

static void attempts_end(const attempts* a, perp_report* report)
{
    report->outcome = attempts_done(a) ? PERP_OUTCOME_SOLVED
                      : a->no_solution ? PERP_OUTCOME_NO_SOLUTION
                                       : a->best.outcome;
    report->iterations = a->iterations;
    report->residual = a->best.residual;
    report->solver = a->best.solver;
    if (a->count > 1) {
        attempts_describe(a, report->detail, sizeof report->detail);
    } else {
        memcpy(report->detail, a->best.detail, sizeof report->detail);
    }
}

/* A place for the solver of each name; made when first needed. */
static int32_t slot_of(const char** names, int32_t* count, const char* name)
{
    int32_t i = 0;
    while (i < *count && names[i] != name && strcmp(names[i], name) != 0) {
        ++i;
    }
    if (i == *count) {
        names[(*count)++] = name;
    }
    return i;
}

/* Room for the point of an attempt. */
typedef struct scratch {
    perp_context* context;
    double* x;
    size_t capacity;
} scratch;

static perp_status scratch_copy(scratch* s, const double* x, size_t n)
{
    const perp_status status = perpi_grow(s->context, &s->x, &s->capacity, n, sizeof *s->x);
    if (status == PERP_OK && n > 0) {
        memcpy(s->x, x, n * sizeof *x);
    }
    return status;
}

/* ---- the forms with one vector of unknowns -----------------------------------------------------------
 * The five tables differ in types only; the body of an attempt is the same. */

#define PERPI_PORTFOLIO(form, problem_type, solver_type, size_of, create_fn, destroy_fn, solve_fn, \
                        find_fn)                                                                   \
    typedef struct form##_auto {                                                                   \
        scratch point;                                                                             \
        solver_type* solver[SLOTS];                                                                \
        const char* name[SLOTS];                                                                   \
        int32_t count;                                                                             \
    } form##_auto;                                                                                 \
                                                                                                   \
    static perp_status form##_create(perp_context* context, const void* settings, void** self)     \
    {                                                                                              \
        (void)settings;                                                                            \
        form##_auto* a = NULL;                                                                     \
        const perp_status status = perpi_alloc(context, 1, sizeof *a, &a);                         \
        if (status == PERP_OK) {                                                                   \
            a->point.context = context;                                                            \
            *self = a;                                                                             \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
                                                                                                   \
    static void form##_destroy(void* self)                                                         \
    {                                                                                              \
        form##_auto* a = self;                                                                     \
        for (int32_t i = 0; i < a->count; ++i) {                                                   \
            destroy_fn(a->solver[i]);                                                              \
        }                                                                                          \
        perpi_free(a->point.context, a->point.x);                                                  \
        perpi_free(a->point.context, a);                                                           \
    }                                                                                              \
                                                                                                   \
    static perp_status form##_try(form##_auto* a, const entry* e, const problem_type* problem,     \
                                  attempts* log, bool warm, double* z)                             \
    {                                                                                              \
        perp_solve_options left;                                                                   \
        const char* name = e->name;                                                                \
        const int32_t slot = slot_of(a->name, &a->count, name);                                    \
        if ((a->solver[slot] == NULL && !find_fn(a->point.context, name)) ||                       \
            !attempts_left(log, e, &left)) {                                                       \
            return PERP_OK;                                                                        \
        }                                                                                          \
        perp_status status = PERP_OK;                                                              \
        if (a->solver[slot] == NULL) {                                                             \
            status = create_fn(a->point.context, name, NULL, 0, &a->solver[slot]);                 \
        }                                                                                          \
        const size_t n = (size_t)(size_of);                                                        \
        if (status == PERP_OK) {                                                                   \
            status = scratch_copy(&a->point, z, n);                                                \
        }                                                                                          \
        if (status != PERP_OK) {                                                                   \
            return status;                                                                         \
        }                                                                                          \
        perp_report made = {.solver = name};                                                       \
        const bool guess = e->how != COLD && e->how != COLD_SHORT && (warm || log->count > 0);     \
        for (size_t i = 0; i < n && !guess; ++i) {                                                 \
            a->point.x[i] = 0.0;                                                                   \
        }                                                                                          \
        status = solve_fn(a->solver[slot], problem, &left, guess, a->point.x, &made);              \
        if (status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED) {                      \
            return PERP_OK; /* this method does not fit this problem */                            \
        }                                                                                          \
        if (e->how == PROBE && !(made.residual <= left.tolerance)) {                               \
            log->iterations += made.iterations;                                                    \
            return status;                                                                         \
        }                                                                                          \
        if (status == PERP_OK && attempts_note(log, &made) && n > 0) {                             \
            memcpy(z, a->point.x, n * sizeof *z);                                                  \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
                                                                                                   \
    static perp_status form##_run(form##_auto* a, const entry* order, const problem_type* problem, \
                                  const perp_solve_options* options, bool warm, double* z,         \
                                  perp_report* report)                                             \
    {                                                                                              \
        attempts log = attempts_begin(options);                                                    \
        for (; order->name != NULL && !attempts_suffice(&log); ++order) {                          \
            const perp_status status = form##_try(a, order, problem, &log, warm, z);               \
            if (status != PERP_OK) {                                                               \
                return status;                                                                     \
            }                                                                                      \
        }                                                                                          \
        attempts_end(&log, report);                                                                \
        return PERP_OK;                                                                            \
    }

static perp_status friction_solve(perp_friction_solver* solver,
                                  const perp_friction_problem* problem,
                                  const perp_solve_options* options, bool warm, double* r,
                                  perp_report* report)
{
    return perpi_friction_solve_checked(solver, problem, options, warm, r, NULL, report);
}

/* A method of any form that the dispatcher can carry the problem to will do. */
static bool find_any(const perp_context* context, const char* name)
{
    return perpi_find_lcp_solver(context, name) != NULL ||
           perpi_find_mlcp_solver(context, name) != NULL ||
           perpi_find_ncp_solver(context, name) != NULL;
}

static bool find_ncp(const perp_context* context, const char* name)
{
    return perpi_find_ncp_solver(context, name) != NULL;
}

static bool find_friction(const perp_context* context, const char* name)
{
    return perpi_find_friction_solver(context, name) != NULL;
}

PERPI_PORTFOLIO(lcp, perp_lcp, perp_lcp_solver, problem->n, perp_lcp_solver_create,
                perp_lcp_solver_destroy, perpi_lcp_solve_checked, find_any)
PERPI_PORTFOLIO(mlcp, perp_mlcp, perp_mlcp_solver, problem->M.cols, perp_mlcp_solver_create,
                perp_mlcp_solver_destroy, perpi_mlcp_solve_checked, find_any)
PERPI_PORTFOLIO(ncp, perp_ncp, perp_ncp_solver, problem->n, perp_ncp_solver_create,
                perp_ncp_solver_destroy, perpi_ncp_solve_checked, find_ncp)
PERPI_PORTFOLIO(friction, perp_friction_problem, perp_friction_solver, problem->row_count,
                perp_friction_solver_create, perp_friction_solver_destroy, friction_solve,
                find_friction)

static perp_status lcp_auto_solve(void* self, const perp_lcp* problem,
                                  const perp_solve_options* options, bool warm, double* z,
                                  perp_report* report)
{
    const entry* order = problem->n <= LARGE ? lcp_order : lcp_large;
    return lcp_run(self, order, problem, options, warm, z, report);
}

static perp_status mlcp_auto_solve(void* self, const perp_mlcp* problem,
                                   const perp_solve_options* options, bool warm, double* z,
                                   perp_report* report)
{
    return mlcp_run(self, mlcp_order, problem, options, warm, z, report);
}

static perp_status ncp_auto_solve(void* self, const perp_ncp* problem,
                                  const perp_solve_options* options, bool warm, double* z,
                                  perp_report* report)
{
    return ncp_run(self, ncp_order, problem, options, warm, z, report);
}

static perp_status friction_auto_solve(void* self, const perp_friction_problem* problem,
                                       const perp_solve_options* options, bool warm, double* r,
                                       perp_report* report)
{
    return friction_run(self, friction_order, problem, options, warm, r, report);
}

/* ---- the contact problem: velocities and impulses ----------------------------------------------------*/

static bool find_contact(const perp_context* context, const char* name)
{
    return perpi_find_contact_solver(context, name) != NULL || find_friction(context, name) ||
           find_any(context, name);
}

/* v and p travel as one vector through the machinery above. */
typedef struct contact_point {
    const perp_contact_problem* problem;
} contact_point;

static perp_status contact_solve(perp_contact_solver* solver, const contact_point* problem,
                                 const perp_solve_options* options, bool warm, double* x,
                                 perp_report* report)
{
    return perpi_contact_solve_island(solver, problem->problem, options, warm, x,
                                      x + problem->problem->dof_count, report);
}

PERPI_PORTFOLIO(contact, contact_point, perp_contact_solver,
                problem->problem->dof_count + problem->problem->row_count,
                perp_contact_solver_create, perp_contact_solver_destroy, contact_solve,
                find_contact)

typedef struct contact_auto_state {
    void* inner;
    scratch x;
    int32_t* met; /* 2 a block: its contacts, its other constraints */
    size_t met_capacity;
} contact_auto_state;

static perp_status contact_auto_create(perp_context* context, const void* settings, void** self)
{
    contact_auto_state* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->x.context = context;
    status = contact_create(context, settings, &s->inner);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *self = s;
    return PERP_OK;
}

static void contact_auto_destroy(void* self)
{
    contact_auto_state* s = self;
    contact_destroy(s->inner);
    perpi_free(s->x.context, s->x.x);
    perpi_free(s->x.context, s->met);
    perpi_free(s->x.context, s);
}

/* One block takes part in more than half of all constraints (a body on a bed of springs): then nearly
 * every pair of them shares a block, and W is dense. A block like that is met by looking at a few. */
static bool crowded(const perp_contact_problem* P)
{
    enum { LOOKS = 4 };
    for (int32_t k = 0; k < 2 * LOOKS; ++k) {
        const int64_t at = (int64_t)P->constraint_count * (k / 2) / LOOKS;
        const int32_t block = P->constraint[at].block[k % 2];
        int32_t met = 0;
        for (int32_t i = 0; block >= 0 && i < P->constraint_count; ++i) {
            const int32_t* b = P->constraint[i].block;
            met += b[0] == block || b[1] == block;
        }
        if (2 * met > P->constraint_count) {
            return true;
        }
    }
    return false;
}

static bool is_pair_contact(const perp_constraint* c)
{
    return c->kind == PERP_CONSTRAINT_CONTACT && c->block[0] >= 0 && c->block[1] >= 0;
}

/* Velocities without those of soft layers, which are blocks of one contact each, with the rows that tie
 * it to its other body and that of its core. Newton in the space of velocities eliminates them one by
 * one at no cost; W has a dense block for all contacts of a body. */
static int32_t count_shared_dofs(const contact_auto_state* s, const perp_contact_problem* P)
{
    enum { TIE_AND_CORE = 2 };
    int32_t shared = P->dof_count;
    memset(s->met, 0, 2 * (size_t)P->block_count * sizeof *s->met);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int k = 0; k < 2; ++k) {
            if (c->block[k] >= 0) {
                s->met[2 * c->block[k] + !is_pair_contact(c)] += 1;
            }
        }
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int k = 0; k < 2 && is_pair_contact(c); ++k) {
            const int32_t b = c->block[k];
            const int32_t dofs = b >= 0 ? P->dof[b + 1] - P->dof[b] : 0;
            const bool layer = b >= 0 && s->met[2 * b] == 1 && s->met[2 * b + 1] <= TIE_AND_CORE &&
                               (s->met[2 * b + 1] > 0 ? dofs <= 2 * c->rows : dofs <= c->rows);
            shared -= layer ? dofs : 0;
        }
    }
    return shared;
}

/* Which list: by the cones, and by the size that a dense LCP would have. */
static const entry* contact_order(const contact_auto_state* s, const perp_contact_problem* P,
                                  bool warm)
{
    int64_t unknowns = 0;
    bool contacts = false, bounds = false;
    if (P->group_count > 0) {
        return P->row_count <= SMALL_GROUPS   ? contact_groups_small
               : P->row_count <= LARGE_ISLAND ? contact_groups
                                              : contact_groups_large;
    }
    if (P->row_count >= PILE &&
        (P->row_count > P->dof_count || crowded(P) ||
         (P->row_count > LAYERS && P->row_count > count_shared_dofs(s, P)))) {
        const bool lean =
            warm && P->row_count <= LARGE_NEWTON && P->row_count <= LEAN * P->dof_count;
        const entry* pile = P->row_count <= LARGE_PILE ? contact_pile : contact_pile_large;
        return lean                                   ? contact_lean
               : P->row_count <= CROWD * P->dof_count ? pile
               : P->dof_count > FEW_DOFS              ? contact_crowd
               : P->row_count > LARGE_NEWTON          ? contact_few_large
                                                      : contact_few;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        contacts = contacts || c->kind == PERP_CONSTRAINT_CONTACT;
        bounds = bounds || c->kind == PERP_CONSTRAINT_BOUNDED;
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            unknowns += c->rows;
        } else if (c->cone == PERP_CONE_QUADRATIC || c->cone == PERP_CONE_ELLIPSOID) {
            return contact_round;
        } else {
            unknowns += c->cone == PERP_CONE_NONE ? 1 : 2 + c->directions;
        }
    }
    if (bounds && !contacts) {
        return contact_joints;
    }
    return unknowns <= LARGE_ISLAND ? contact_polygon : contact_large;
}

static perp_status contact_auto_solve(void* self, const perp_contact_problem* problem,
                                      const perp_solve_options* options, bool warm, double* v,
                                      double* p, perp_report* report)
{
    contact_auto_state* s = self;
    const size_t nv = (size_t)problem->dof_count, nr = (size_t)problem->row_count;
    perp_status status = perpi_grow(s->x.context, &s->x.x, &s->x.capacity, nv + nr, sizeof *s->x.x);
    if (status != PERP_OK) {
        return status;
    }
    status = perpi_grow(s->x.context, &s->met, &s->met_capacity, 2 * (size_t)problem->block_count,
                        sizeof *s->met);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(s->x.x, v, nv * sizeof *v);
    memcpy(s->x.x + nv, p, nr * sizeof *p);
    const contact_point point = {problem};
    status = contact_run(s->inner, contact_order(s, problem, warm), &point, options, warm, s->x.x,
                         report);
    if (status == PERP_OK) {
        memcpy(v, s->x.x, nv * sizeof *v);
        memcpy(p, s->x.x + nv, nr * sizeof *p);
    }
    return status;
}

/* ---- the tables --------------------------------------------------------------------------------------*/

#define SUMMARY "a portfolio: the methods that fit, in order, until the judge accepts"

const perp_lcp_solver_ops perpi_lcp_auto = {.name = "auto",
                                            .summary = SUMMARY,
                                            .create = lcp_create,
                                            .destroy = lcp_destroy,
                                            .solve = lcp_auto_solve};
const perp_mlcp_solver_ops perpi_mlcp_auto = {.name = "auto",
                                              .summary = SUMMARY,
                                              .create = mlcp_create,
                                              .destroy = mlcp_destroy,
                                              .solve = mlcp_auto_solve};
const perp_ncp_solver_ops perpi_ncp_auto = {.name = "auto",
                                            .summary = SUMMARY,
                                            .create = ncp_create,
                                            .destroy = ncp_destroy,
                                            .solve = ncp_auto_solve};
const perp_friction_solver_ops perpi_friction_auto = {
    .name = "auto",
    .summary = SUMMARY,
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .create = friction_create,
    .destroy = friction_destroy,
    .solve = friction_auto_solve};
const perp_contact_solver_ops perpi_contact_auto = {
    .name = "auto",
    .summary = SUMMARY,
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID |
             PERP_TAKES_GROUPS,
    .create = contact_auto_create,
    .destroy = contact_auto_destroy,
    .solve = contact_auto_solve};
