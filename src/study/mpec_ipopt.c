/* src/study/mpec_ipopt.c - solving a program with Ipopt: see mpec.h.
 *
 * Method     a filter line-search Newton method on the equations smoothed by tau, with exact sparse derivatives; tau is reduced
 *            in rounds, each started from the point and the multipliers of the one before
 *
 * Alternatives that were considered: products of complementary pairs below epsilon, and an exact
 * penalty of them. Both leave inequalities, whose barrier is lost between rounds, and the feasible
 * set of the first gives the optimiser freedom that a simulation has not. The smoothed equations
 * have one solution for given parameters and start, so that only these are degrees of freedom, and
 * a round after the first takes a few Newton steps.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <IpStdCInterface.h>

#include "study/mpec.h"

/* tau relative to the speed of the problem: of the first round, of the last, and from where on an
 * answer is accepted if a smaller tau is not solved. The laws differ from the exact ones by tau^2
 * over the distance from another state, and by tau at the border of two. */
#define TAU_FIRST 1e-1
#define TAU_LAST 1e-8
#define TAU_ENOUGH 1e-6
/* Above this the start is held near its first guess, weakly: a start without a prior can run away
 * while the laws are smooth. */
#define TAU_HELD 1e-3
/* Iterations of the first round and of later ones; a round that needs more is repeated with a larger tau. */
enum { FIRST_ITERATIONS = 120, ROUND_ITERATIONS = 30, QUICK_ITERATIONS = 8, MOST_ROUNDS = 40 };

/* Ipopt's functions. The library is loaded here, and its symbols stay local: the MUMPS that it is
 * linked with has an MPI of its own for one process, whose names would take the place of those of
 * the real one (perp-mpi.so). */
typedef struct ipopt {
    void* library;
    __typeof__(&CreateIpoptProblem) create;
    __typeof__(&FreeIpoptProblem) free;
    __typeof__(&AddIpoptStrOption) set_word;
    __typeof__(&AddIpoptNumOption) set_number;
    __typeof__(&AddIpoptIntOption) set_count;
    __typeof__(&SetIpoptProblemScaling) set_scaling;
    __typeof__(&SetIntermediateCallback) set_callback;
    __typeof__(&IpoptSolve) solve;
} ipopt;

static bool load_function(const ipopt* a, const char* name, void* function)
{
    void* found = dlsym(a->library, name);
    memcpy(function, &found, sizeof found); /* ISO C converts no object pointer to a function's */
    return found != NULL;
}

/* False: it is not installed, or is another one. */
static bool load(ipopt* a)
{
    *a = (ipopt){.library = dlopen(PERPI_IPOPT_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    return a->library != NULL && load_function(a, "CreateIpoptProblem", &a->create) &&
           load_function(a, "FreeIpoptProblem", &a->free) &&
           load_function(a, "AddIpoptStrOption", &a->set_word) &&
           load_function(a, "AddIpoptNumOption", &a->set_number) &&
           load_function(a, "AddIpoptIntOption", &a->set_count) &&
           load_function(a, "SetIpoptProblemScaling", &a->set_scaling) &&
           load_function(a, "SetIntermediateCallback", &a->set_callback) &&
           load_function(a, "IpoptSolve", &a->solve);
}

static void unload(const ipopt* a)
{
    if (a->library != NULL) {
        (void)dlclose(a->library);
    }
}

bool perpi_mpec_available(void)
{
    ipopt a;
    const bool loaded = load(&a);
    unload(&a);
    return loaded;
}

typedef struct solving {
    ipopt ipopt;
    perpi_mpec* m;
    const perpi_mpec_options* options;
    int64_t before; /* iterations of earlier rounds */
    int64_t iterations;
    bool cancelled;
} solving;

static Bool eval_objective(Index n, Number* z, Bool fresh, Number* value, UserDataPtr user)
{
    (void)n;
    (void)fresh;
    *value = perpi_mpec_objective(((solving*)user)->m, z);
    return isfinite(*value);
}

static Bool eval_gradient(Index n, Number* z, Bool fresh, Number* gradient, UserDataPtr user)
{
    (void)n;
    (void)fresh;
    perpi_mpec_gradient(((solving*)user)->m, z, gradient);
    return TRUE;
}

static Bool eval_equations(Index n, Number* z, Bool fresh, Index rows, Number* value,
                           UserDataPtr user)
{
    perpi_mpec* m = ((solving*)user)->m;
    (void)n;
    (void)fresh;
    m->status = perpi_mpec_values(m, z);
    if (m->status != PERP_OK) {
        return FALSE; /* Ipopt shortens its step */
    }
    memcpy(value, m->value, (size_t)rows * sizeof *value);
    return TRUE;
}

static Bool eval_jacobian(Index n, Number* z, Bool fresh, Index rows, Index entries, Index* row,
                          Index* column, Number* value, UserDataPtr user)
{
    perpi_mpec* m = ((solving*)user)->m;
    (void)n;
    (void)fresh;
    (void)rows;
    if (value == NULL) {
        memcpy(row, m->jacobian_row, (size_t)entries * sizeof *row);
        memcpy(column, m->jacobian_column, (size_t)entries * sizeof *column);
        return TRUE;
    }
    m->status = perpi_mpec_jacobian(m, z);
    if (m->status != PERP_OK) {
        return FALSE;
    }
    memcpy(value, m->jacobian, (size_t)entries * sizeof *value);
    return TRUE;
}

static Bool eval_hessian(Index n, Number* z, Bool fresh, Number factor, Index rows, Number* lambda,
                         Bool fresh_lambda, Index entries, Index* row, Index* column, Number* value,
                         UserDataPtr user)
{
    perpi_mpec* m = ((solving*)user)->m;
    (void)n;
    (void)fresh;
    (void)rows;
    (void)fresh_lambda;
    if (value == NULL) {
        memcpy(row, m->hessian_row, (size_t)entries * sizeof *row);
        memcpy(column, m->hessian_column, (size_t)entries * sizeof *column);
        return TRUE;
    }
    m->status = perpi_mpec_hessian(m, z, factor, lambda, value);
    return m->status == PERP_OK;
}

static Bool after_iteration(Index mode, Index iteration, Number objective, Number infeasibility,
                            Number dual, Number mu, Number norm, Number regularisation,
                            Number alpha_dual, Number alpha, Index trials, UserDataPtr user)
{
    solving* s = user;
    (void)mode;
    (void)infeasibility;
    (void)dual;
    (void)mu;
    (void)norm;
    (void)regularisation;
    (void)alpha_dual;
    (void)alpha;
    (void)trials;
    s->iterations = s->before + iteration;
    s->cancelled = s->options->progress != NULL &&
                   s->options->progress(s->options->user, s->iterations, objective);
    return !s->cancelled;
}

static bool set_word(const ipopt* a, IpoptProblem p, const char* name, const char* value)
{
    char key[64], word[64];
    (void)snprintf(key, sizeof key, "%s", name);
    (void)snprintf(word, sizeof word, "%s", value);
    return a->set_word(p, key, word);
}

static bool set_number(const ipopt* a, IpoptProblem p, const char* name, double value)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s", name);
    return a->set_number(p, key, value);
}

static bool set_count(const ipopt* a, IpoptProblem p, const char* name, int value)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s", name);
    return a->set_count(p, key, value);
}

static bool set_options(const ipopt* a, IpoptProblem p, bool warm, int iterations)
{
    bool ok = set_count(a, p, "print_level", 0) && set_word(a, p, "sb", "yes") &&
              set_word(a, p, "option_file_name", "") && /* not one of the working directory */
              set_number(a, p, "bound_relax_factor", 0.0) &&
              set_word(a, p, "nlp_scaling_method", "user-scaling") &&
              set_count(a, p, "max_iter", iterations) && set_number(a, p, "tol", 1e-10) &&
              set_number(a, p, "acceptable_tol", 1e-8) &&
              set_number(a, p, "constr_viol_tol", 1e300) &&
              set_number(a, p, "dual_inf_tol", 1e300) && set_number(a, p, "compl_inf_tol", 1e300) &&
              set_word(a, p, "mu_strategy", "monotone");
    if (ok && warm) {
        ok = set_word(a, p, "warm_start_init_point", "yes") && set_number(a, p, "mu_init", 1e-9) &&
             set_number(a, p, "warm_start_bound_push", 1e-9) &&
             set_number(a, p, "warm_start_bound_frac", 1e-9) &&
             set_number(a, p, "warm_start_slack_bound_push", 1e-9) &&
             set_number(a, p, "warm_start_slack_bound_frac", 1e-9) &&
             set_number(a, p, "warm_start_mult_bound_push", 1e-9);
    } else if (ok) {
        ok = set_number(a, p, "mu_init", 1e-4);
    }
    return ok;
}

/* Brings the second derivatives of the objective by coordinates to 1 on average. */
static double objective_unit(const perpi_mpec* m)
{
    double sum = 0.0;
    size_t count = 0;
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < t->observation_count; ++i) {
            const perpi_mpec_observation* o = &m->observation[t->observation + (size_t)i];
            const double unit = m->unit[t->x + o->place] / o->noise;
            sum += unit * unit;
            count += 1;
        }
    }
    return count > 0 && sum > 0.0 ? (double)count / sum : 1.0;
}

typedef struct multipliers {
    double *g, *low, *high, *x_scale, *g_scale;
} multipliers;

static perp_status allocate_multipliers(perpi_mpec* m, multipliers* x)
{
    const size_t n = (size_t)m->n + 1, rows = (size_t)m->m + 1;
    perp_status status = perpi_alloc(m->context, rows, sizeof(double), &x->g);
    status = status == PERP_OK ? perpi_alloc(m->context, n, sizeof(double), &x->low) : status;
    status = status == PERP_OK ? perpi_alloc(m->context, n, sizeof(double), &x->high) : status;
    status = status == PERP_OK ? perpi_alloc(m->context, n, sizeof(double), &x->x_scale) : status;
    status =
        status == PERP_OK ? perpi_alloc(m->context, rows, sizeof(double), &x->g_scale) : status;
    return status;
}

/* One round at m->tau from m->z. */
static enum ApplicationReturnStatus solve_round(solving* s, multipliers* x, bool warm, int most)
{
    perpi_mpec* m = s->m;
    double* zero = m->other; /* both bounds of the equations */
    memset(zero, 0, (size_t)m->m * sizeof *zero);
    m->has_value = m->has_jacobian = false;
    s->before = s->iterations;
    const int64_t left = s->options->iterations - s->iterations;
    IpoptProblem p = s->ipopt.create(
        m->n, m->low, m->high, m->m, zero, zero, (Index)m->jacobian_count, (Index)m->hessian_count,
        0, eval_objective, eval_equations, eval_gradient, eval_jacobian, eval_hessian);
    if (p == NULL) {
        return Insufficient_Memory;
    }
    enum ApplicationReturnStatus outcome = Invalid_Option;
    if (set_options(&s->ipopt, p, warm,
                    left > most ? most
                    : left > 0  ? (int)left
                                : 0) &&
        s->ipopt.set_callback(p, after_iteration) &&
        s->ipopt.set_scaling(p, objective_unit(m), x->x_scale, x->g_scale)) {
        outcome = s->ipopt.solve(p, m->z, NULL, NULL, x->g, x->low, x->high, s);
    }
    s->ipopt.free(p);
    return outcome;
}

static const char* word_of(enum ApplicationReturnStatus outcome)
{
    switch (outcome) {
    case Solve_Succeeded: return "solved";
    case Solved_To_Acceptable_Level: return "solved to a larger tolerance";
    case Infeasible_Problem_Detected: return "found no trajectory that satisfies the laws";
    case Search_Direction_Becomes_Too_Small: return "steps became too small";
    case Diverging_Iterates: return "diverged";
    case User_Requested_Stop: return "was ended by the user";
    case Maximum_Iterations_Exceeded: return "reached the limit of iterations";
    case Restoration_Failed: return "could not restore the laws";
    case Invalid_Number_Detected: return "met a number that is not finite";
    case Insufficient_Memory: return "ran out of memory";
    case Not_Enough_Degrees_Of_Freedom: return "has fewer unknowns than equations";
    default: return "failed";
    }
}

static void measure_point(perpi_mpec* m, perpi_mpec_report* report)
{
    report->objective = perpi_mpec_objective(m, m->z);
    report->infeasibility = report->complementarity = INFINITY;
    if (perpi_mpec_values(m, m->z) != PERP_OK) {
        return;
    }
    double worst = 0.0, least = 0.0;
    for (int32_t i = 0; i < m->m; ++i) {
        const double e = fabs(m->value[i]) / m->row_unit[i];
        worst = !(e <= worst) ? e : worst;
    }
    for (size_t k = 0; k < m->step_count; ++k) {
        const perpi_mpec_step* s = &m->step[k];
        for (int32_t i = 0; i < s->constraint_count; ++i) {
            const perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
            const double a = c->w_n * m->z[s->p + c->row], b = c->u[0];
            const double e = fabs(a < b ? a : b) / m->speed;
            least = c->kind >= PERPI_MPEC_FRICTIONLESS && !(e <= least) ? e : least;
        }
    }
    report->infeasibility = worst;
    report->complementarity = least;
}

static bool is_solved(enum ApplicationReturnStatus outcome)
{
    return outcome == Solve_Succeeded || outcome == Solved_To_Acceptable_Level;
}

/* The point and the multipliers of the last round that was solved. */
static void copy_point(const perpi_mpec* m, const multipliers* x, double* kept, bool back)
{
    const size_t n = (size_t)m->n, rows = (size_t)m->m;
    double* const part[] = {m->z, x->low, x->high, x->g};
    for (int i = 0; i < 4; ++i) {
        const size_t size = i < 3 ? n : rows;
        memcpy(back ? part[i] : kept, back ? kept : part[i], size * sizeof *kept);
        kept += size;
    }
}

/* A way to the answer: tau of the first round, and how the start is held there. */
typedef struct way {
    double tau;
    perpi_mpec_hold hold;
} way;

static perpi_mpec_hold hold_of(const way* w, double tau)
{
    return tau >= 0.99 * w->tau ? w->hold : tau > TAU_HELD ? PERPI_MPEC_LOOSE : PERPI_MPEC_FREE;
}

/* Rounds with decreasing tau; one that is not solved is repeated nearer to the one before. Returns
 * the smallest tau that was solved, whose point is in m->z. */
static double run_rounds(solving* s, multipliers* x, const way* w, double* kept,
                         perpi_mpec_report* report, enum ApplicationReturnStatus* outcome)
{
    perpi_mpec* m = s->m;
    double factor = 0.1, tau = w->tau, solved = INFINITY;
    bool failed = false;
    copy_point(m, x, kept, false);
    for (int round = 0; round < MOST_ROUNDS && !s->cancelled; ++round) {
        const int64_t before = s->iterations;
        const bool first = !isfinite(solved);
        if (before >= s->options->iterations) {
            break;
        }
        m->tau = tau * m->speed;
        m->hold = hold_of(w, tau);
        *outcome = solve_round(s, x, !first, first ? FIRST_ITERATIONS : ROUND_ITERATIONS);
        report->rounds += 1;
        if (is_solved(*outcome)) {
            copy_point(m, x, kept, false);
            solved = tau;
            if (tau <= 1.001 * TAU_LAST) {
                break;
            }
            factor =
                !failed && s->iterations - before <= QUICK_ITERATIONS ? factor * factor : factor;
            factor = factor < 1e-2 ? 1e-2 : factor;
            tau = factor * tau > TAU_LAST ? factor * tau : TAU_LAST;
            continue;
        }
        copy_point(m, x, kept, true);
        if (first || factor > 0.7) {
            break;
        }
        failed = true;
        factor = sqrt(factor);
        tau = factor * solved;
    }
    m->hold = PERPI_MPEC_FREE;
    return solved;
}

/* Whether the residuals are not larger than noise explains: half their squares against half their number. */
static bool is_plausible(const perpi_mpec* m, double objective)
{
    return objective <= 2.0 * (double)m->observation_count;
}

/* The ways one after the other, until an answer is plausible or found twice; the best is kept. */
static enum ApplicationReturnStatus run_ways(solving* s, multipliers* x, double* room,
                                             perpi_mpec_report* report)
{
    static const way WAY[] = {{TAU_FIRST, PERPI_MPEC_TIGHT},
                              {TAU_FIRST, PERPI_MPEC_LOOSE},
                              {10.0 * TAU_FIRST, PERPI_MPEC_TIGHT},
                              {0.1 * TAU_FIRST, PERPI_MPEC_TIGHT}};
    static const way AGAIN = {TAU_LAST, PERPI_MPEC_FREE};
    perpi_mpec* m = s->m;
    const size_t size = 3 * (size_t)m->n + (size_t)m->m;
    double *kept = room, *guess = room + size, *best = guess + size, least = INFINITY;
    enum ApplicationReturnStatus outcome = Internal_Error, ended = Internal_Error;
    report->tau = INFINITY;
    copy_point(m, x, guess, false);
    for (size_t i = 0; i < sizeof WAY / sizeof WAY[0] && !s->cancelled; ++i) {
        if (i > 0 && s->iterations >= s->options->iterations) {
            break;
        }
        copy_point(m, x, guess, true);
        const double tau =
            run_rounds(s, x, s->options->again ? &AGAIN : &WAY[i], kept, report, &outcome);
        const double objective = perpi_mpec_objective(m, m->z);
        const bool twice = tau <= TAU_ENOUGH && fabs(objective - least) <= 1e-6 * least;
        if (i == 0 || (tau <= TAU_ENOUGH && objective < least)) {
            copy_point(m, x, best, false);
            least = tau <= TAU_ENOUGH ? objective : INFINITY;
            report->tau = tau;
            ended = outcome;
        }
        if (s->options->again || twice || (tau <= TAU_ENOUGH && is_plausible(m, objective))) {
            break;
        }
    }
    copy_point(m, x, best, true);
    report->solved = report->tau <= TAU_ENOUGH && !s->cancelled;
    return ended;
}

perp_status perpi_mpec_solve(perpi_mpec* m, const perpi_mpec_options* options,
                             perpi_mpec_report* report)
{
    multipliers x = {0};
    double* kept = NULL;
    solving s = {.m = m, .options = options};
    *report = (perpi_mpec_report){.rounds = 0};
    if (!load(&s.ipopt)) {
        unload(&s.ipopt);
        return perpi_fail(m->context, PERP_ERROR_UNSUPPORTED,
                          "the method 'mpec' needs Ipopt, and " PERPI_IPOPT_LIBRARY
                          " cannot be loaded (Debian: coinor-libipopt-dev)");
    }
    perp_status status = allocate_multipliers(m, &x);
    if (status == PERP_OK) {
        status =
            perpi_alloc(m->context, 3 * (3 * (size_t)m->n + (size_t)m->m) + 1, sizeof *kept, &kept);
    }
    for (int32_t i = 0; status == PERP_OK && i < m->n; ++i) {
        x.x_scale[i] = 1.0 / m->unit[i];
    }
    for (int32_t i = 0; status == PERP_OK && i < m->m; ++i) {
        x.g_scale[i] = 1.0 / m->row_unit[i];
    }
    if (status == PERP_OK) {
        const enum ApplicationReturnStatus outcome = run_ways(&s, &x, kept, report);
        report->iterations = s.iterations;
        report->cancelled = s.cancelled;
        measure_point(m, report);
        (void)snprintf(report->message, sizeof report->message, "Ipopt %s in round %d",
                       word_of(outcome), (int)report->rounds);
    }
    void* const owned[] = {x.g, x.low, x.high, x.x_scale, x.g_scale, kept};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(m->context, owned[i]);
    }
    unload(&s.ipopt);
    return status;
}
