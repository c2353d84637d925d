/* src/solve/frictional/newton.c - proximal semismooth Newton on the natural map of the friction problem,
 * with Gauss-Seidel sweeps where it makes no progress.
 *
 * Source     [Alart, Curnier 1991] for Newton on such a map; the friction radius mu max(r_n, 0) is the
 *            variant of Jean and Moreau; the proximal outer loop as in [Acary, Bremond, Huber 2018]
 * Notation   F(r) = 0 the natural map of friction_local.h, dF = A dr + B du,
 *            du = (W + lambda D) dr, D the diagonal of W
 * Method     W is singular as a rule. Each proximal step solves, by Newton, the problem whose u is
 *            W r + q + lambda D (r - centre), then moves the centre there; lambda falls while that is
 *            easy (few Newton steps) and rises when it fails. At the answer r = centre, so the answer
 *            is the original problem's for any lambda. The linear systems go to block_lu, whose
 *            order of elimination is kept while the pattern stays.
 */
#include <math.h>
#include <string.h>

#include "linalg/block_lu.h"
#include "solve/builtin.h"
#include "solve/frictional/friction_local.h"
#include "solve/monitor.h"

#define LAMBDA_MAX 0.1      /* relative to the diagonal of W */
#define LAMBDA_SHRINK 0.1   /* after an easy proximal step */
#define LAMBDA_GROW 10.0    /* after a failed one */
#define INNER_RATIO 0.1     /* |F| of a proximal step to |F| where it began */
#define WEIGHT_RATIO 100.0  /* of the map's weights to lambda D; at most those of residual.c */
#define SWEEPS_MAX 1000     /* in a row */
#define LINEAR_LAMBDA 1e-11 /* where there are equality rows only */
#define LINEAR_ROUNDS 30
#define FEW_ROWS 24 /* up to here a Newton step costs less than a few sweeps */
/* Sweeps at most, for each step of the limit of steps: where steps fail at once (rows that contradict each
 * other), a phase of three is followed by SWEEPS_MAX sweeps, and these take all the time. */
#define SWEEPS_PER_STEP 10

typedef struct newton_settings {
    double regularisation;
    double regularisation_min;
    int32_t sweeps;
    int32_t steps;
    int32_t halvings;
    int32_t plain_steps;
} newton_settings;

static const perp_setting newton_setting[] = {
    {"regularisation", PERP_SETTING_DOUBLE, offsetof(newton_settings, regularisation), 0.0, 1.0,
     "largest first lambda, relative to the diagonal of W"},
    {"regularisation-min", PERP_SETTING_DOUBLE, offsetof(newton_settings, regularisation_min), 0.0,
     1.0, "lambda falls no further, relative to the diagonal of W"},
    {"sweeps", PERP_SETTING_INT, offsetof(newton_settings, sweeps), 0, 100000,
     "Gauss-Seidel sweeps before the first step of a cold start (half as many where there are few "
     "rows), and after a failed phase"},
    {"steps", PERP_SETTING_INT, offsetof(newton_settings, steps), 1, 100000,
     "Newton steps that may fail to halve |F| before a proximal step is given up"},
    {"halvings", PERP_SETTING_INT, offsetof(newton_settings, halvings), 0, 60,
     "times the line search halves a step"},
    {"plain-steps", PERP_SETTING_INT, offsetof(newton_settings, plain_steps), 0, 1000000,
     "Newton steps in which the map weighs impulses as the residual check does; then by lambda"},
};

static void newton_settings_default(void* settings)
{
    *(newton_settings*)settings = (newton_settings){.regularisation = 1e-3,
                                                    .regularisation_min = 1e-12,
                                                    .sweeps = 10,
                                                    .steps = 12,
                                                    .halvings = 4,
                                                    .plain_steps = 12};
}

typedef struct newton {
    perp_context* context;
    newton_settings set;
    perpi_friction_sweeper sweeper;
    perpi_block_lu* lu;
    double* vector; /* 9 row_count: the nine below */
    size_t vector_capacity;
    double* block; /* A, B of the widest constraint */
    size_t block_capacity;
    int32_t* size; /* constraint_count */
    size_t size_capacity;
    double* work;
    size_t work_capacity;
    /* views */
    double *w0, *w, *D; /* weights of residual.c, of the map, and the diagonal D */
    double *u, *F, *step, *trial, *best, *centre;
    double *A, *B;
} newton;

static perp_status newton_create(perp_context* context, const void* settings, void** self)
{
    newton* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->set = *(const newton_settings*)settings;
    perpi_friction_sweeper_init(&s->sweeper, context);
    status = perpi_block_lu_create(context, &s->lu);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *self = s;
    return PERP_OK;
}

static void newton_destroy(void* self)
{
    newton* s = self;
    if (s == NULL) {
        return;
    }
    perpi_friction_sweeper_free(&s->sweeper);
    perpi_block_lu_destroy(s->lu);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->block);
    perpi_free(s->context, s->size);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s);
}

static perp_status newton_reserve(newton* s, const perp_friction_problem* P)
{
    const size_t n = (size_t)P->row_count, nc = (size_t)P->constraint_count;
    size_t widest = 1;
    for (size_t i = 0; i < nc; ++i) {
        const size_t rows = (size_t)P->constraint[i].rows;
        widest = rows > widest ? rows : widest;
    }
    perp_status status =
        perpi_grow(s->context, &s->vector, &s->vector_capacity, 9 * n, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->block, &s->block_capacity, 2 * widest * widest,
                            sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->size, &s->size_capacity, nc, sizeof *s->size);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, perp_friction_residual_work(P),
                            sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    double** const view[] = {&s->w0,   &s->w,     &s->D,    &s->u,     &s->F,
                             &s->step, &s->trial, &s->best, &s->centre};
    for (size_t i = 0; i < 9; ++i) {
        *view[i] = s->vector + i * n;
    }
    s->A = s->block;
    s->B = s->block + widest * widest;
    for (size_t i = 0; i < nc; ++i) {
        s->size[i] = P->constraint[i].rows;
    }
    return perpi_block_lu_analyse(s->lu, P->constraint_count, s->size, P->W.start, P->W.column);
}

static void newton_set_weights(newton* s, const perp_friction_problem* P)
{
    perpi_friction_weights(P, s->w0);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t k = 0; k < c->rows; ++k) {
            const bool scaled =
                c->kind == PERP_CONSTRAINT_CONTACT && c->cone == PERP_CONE_ELLIPSOID && k > 0;
            const double e = scaled ? c->e[k - 1] : 1.0;
            s->D[c->row + k] = s->w0[c->row + k] / (e * e);
        }
    }
}

/* Along the null space of W an impulse moves the velocities by lambda D only. The map weighs
 * impulses accordingly: with the weights of residual.c, an impulse that must vanish there would
 * count as a large violation as soon as it turns negative, and the line search would reject the
 * step. */
static void weigh_impulses(newton* s, int32_t rows, double kappa)
{
    kappa = kappa < 1.0 ? kappa : 1.0;
    for (int32_t i = 0; i < rows; ++i) {
        s->w[i] = kappa * s->w0[i];
    }
}

/* u and F at r of the problem with lambda D (r - centre) added to u; returns |F|. */
static double newton_evaluate(newton* s, const perp_friction_problem* P, double lambda,
                              const double* r)
{
    perpi_friction_velocities(P, r, s->u);
    for (int32_t k = 0; k < P->row_count && lambda > 0.0; ++k) {
        s->u[k] += lambda * s->D[k] * (r[k] - s->centre[k]);
    }
    double sum = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t row = P->constraint[i].row;
        perpi_friction_map(P, i, s->w + row, r + row, s->u + row, s->F + row);
    }
    for (int32_t k = 0; k < P->row_count; ++k) {
        sum += s->F[k] * s->F[k];
    }
    return sqrt(sum);
}

/* Adds lambda B D + A to a diagonal block B W of the matrix. */
typedef struct diagonal_part {
    const double* A; /* NULL: not on the diagonal */
    const double* D;
    double lambda;
} diagonal_part;

/* out <- out + B W; B: m x m, W: m x n, out with rows of ld. On the diagonal also its other part. */
static inline void add_product(int32_t m, int32_t n, const double* B, const double* W,
                               diagonal_part part, double* out, int32_t ld)
{
    const double *A = part.A, *D = part.D, lambda = part.lambda;
    for (int32_t a = 0; a < m; ++a) {
        double* restrict y = out + (size_t)a * (size_t)ld;
        for (int32_t b = 0; b < m; ++b) {
            const double t = B[a * m + b];
            if (t == 0.0) {
                continue;
            }
            for (int32_t l = 0; l < n; ++l) {
                y[l] += t * W[b * n + l];
            }
            if (A != NULL) {
                y[b] += t * lambda * D[b];
            }
        }
        for (int32_t b = 0; b < m && A != NULL; ++b) {
            y[b] += A[a * m + b];
        }
    }
}

/* step <- -(the matrix last factored)^-1 F; false: not finite. */
static bool linear_step(newton* s, const perp_friction_problem* P)
{
    for (int32_t k = 0; k < P->row_count; ++k) {
        s->step[k] = -s->F[k];
    }
    perpi_block_lu_solve(s->lu, s->step);
    for (int32_t k = 0; k < P->row_count; ++k) {
        if (!isfinite(s->step[k])) {
            return false;
        }
    }
    return true;
}

/* step <- -(A + B (W + lambda D))^-1 F; false: singular. */
static bool newton_step(newton* s, const perp_friction_problem* P, const double* r, double lambda)
{
    perpi_block_lu_clear(s->lu);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t n = c->rows, row = c->row;
        perpi_friction_map_jacobian(P, i, s->w + row, r + row, s->u + row, s->A, s->B);
        for (int32_t k = P->W.start[i]; k < P->W.start[i + 1]; ++k) {
            const int32_t j = P->W.column[k], nj = P->constraint[j].rows;
            const double* W = P->W.value + P->W.at[k];
            int32_t ld;
            double* out = perpi_block_lu_block(s->lu, k, &ld);
            const diagonal_part part = {j == i ? s->A : NULL, s->D + row, lambda};
            if (n == 3 && nj == 3) { /* known sizes: unrolled */
                add_product(3, 3, s->B, W, part, out, ld);
            } else if (n == 2 && nj == 2) {
                add_product(2, 2, s->B, W, part, out, ld);
            } else {
                add_product(n, nj, s->B, W, part, out, ld);
            }
        }
    }
    return perpi_block_lu_factor(s->lu) && linear_step(s, P);
}

/* The data of one solve. */
typedef struct solve_data {
    const perp_friction_problem* P;
    perpi_monitor out;
    double lambda; /* 0: not chosen yet */
    int32_t sweeps;
    bool soft; /* impulses weighed by lambda */
} solve_data;

/* Computes the residual of r; true if the solve is over. */
static bool check_point(newton* s, solve_data* k, const double* r)
{
    return perpi_monitor_check(&k->out, perp_friction_check_residual(k->P, r, s->work).worst, r);
}

/* r <- r + t step with t = 1, 1/2, ... for which |F| falls, or the best of those tried: |F| may
 * have to increase where the active set changes. Returns the new |F|; u and F are those of the new
 * r. */
static double newton_line_search(newton* s, solve_data* k, double merit, double* r)
{
    const int32_t n = k->P->row_count;
    double t = 1.0, best_t = 1.0, best = INFINITY, now = INFINITY;
    for (int32_t h = 0; h <= s->set.halvings; ++h, t *= 0.5) {
        for (int32_t i = 0; i < n; ++i) {
            s->trial[i] = r[i] + t * s->step[i];
        }
        now = newton_evaluate(s, k->P, k->lambda, s->trial);
        if (now < best) {
            best = now;
            best_t = t;
        }
        if (now <= (1.0 - 1e-4 * t) * merit) {
            memcpy(r, s->trial, (size_t)n * sizeof *r);
            return now;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        r[i] += best_t * s->step[i];
    }
    return newton_evaluate(s, k->P, k->lambda, r);
}

/* Newton on the problem around the centre, from r = centre, where u and F are known and |F| is merit,
 * until |F| <= target; false: it did not get there. */
static bool solve_around_centre(newton* s, solve_data* k, double merit, double target, double* r)
{
    double least = merit;
    for (int32_t idle = 0; idle < s->set.steps;) {
        ++k->out.report->iterations;
        if (!newton_step(s, k->P, r, k->lambda)) {
            return false;
        }
        merit = newton_line_search(s, k, merit, r);
        if (merit <= target) {
            return true;
        }
        if (perpi_monitor_spent(&k->out)) {
            return false; /* the next check reports which limit */
        }
        idle = merit <= 0.5 * least ? 0 : idle + 1;
        least = merit < least ? merit : least;
    }
    return false;
}

/* Proximal steps from r until three in a row fail. |F| may increase meanwhile: impulses in the null
 * space of W that violate a law decrease over several steps before a contact opens or slips. */
static void proximal_phase(newton* s, solve_data* k, double* r)
{
    const perp_friction_problem* P = k->P;
    const size_t bytes = (size_t)P->row_count * sizeof *r;
    int32_t failed = 0;
    double shrink = LAMBDA_SHRINK;      /* reduce lambda less for some steps after a failure */
    double merit = -1.0, weight = -1.0; /* |F| at r = centre, u and F being those; < 0: not known */
    memcpy(s->centre, r, bytes);
    while (failed < 3) {
        const int32_t from = k->out.report->iterations;
        k->soft = k->soft || k->out.report->iterations >= s->set.plain_steps;
        const double kappa = k->soft ? WEIGHT_RATIO * k->lambda : 1.0;
        if (merit < 0.0 || kappa != weight) {
            weight = kappa;
            weigh_impulses(s, P->row_count, weight);
            merit = newton_evaluate(s, P, 0.0, r);
        }
        const bool done = solve_around_centre(s, k, merit, INNER_RATIO * merit, r);
        const int32_t took = k->out.report->iterations - from;
        if (check_point(s, k, r)) {
            return;
        }
        const double next = newton_evaluate(s, P, 0.0, r);
        if (done && next < 100.0 * merit) {
            failed = 0;
            memcpy(s->centre, r, bytes);
            merit = next;
            k->lambda *= took <= 2 ? shrink : took <= 5 ? sqrt(shrink) : took <= 10 ? 1.0 : 2.0;
            shrink = shrink * shrink > LAMBDA_SHRINK ? shrink * shrink : LAMBDA_SHRINK;
        } else {
            ++failed;
            memcpy(r, s->centre, bytes);
            merit = -1.0;
            k->lambda *= LAMBDA_GROW;
            k->soft = true;
            shrink = 0.5;
        }
        k->lambda = k->lambda < s->set.regularisation_min ? s->set.regularisation_min : k->lambda;
        k->lambda = k->lambda > LAMBDA_MAX ? LAMBDA_MAX : k->lambda;
    }
}

/* Sweeps; the residual is computed when the change of a sweep is small: change in units of
 * velocity, relative to the largest impulse. */
static void sweep_until_still(newton* s, solve_data* k, int32_t sweeps, double* r)
{
    const int32_t n = k->P->row_count;
    double bar = k->out.options->tolerance;
    for (int32_t i = 0; i < sweeps && !k->out.over; ++i) {
        memcpy(s->trial, r, (size_t)n * sizeof *r);
        perpi_friction_sweep(&s->sweeper, k->P, 1.0, false, r);
        k->sweeps += 1;
        double moved = 0.0, size = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            const double d = s->w0[j] * fabs(r[j] - s->trial[j]), m = s->w0[j] * fabs(r[j]);
            moved = d > moved ? d : moved;
            size = m > size ? m : size;
        }
        if (i + 1 < sweeps && (moved <= bar * size || k->P->constraint_count == 1)) {
            (void)check_point(s, k, r);
            bar = 0.1 * (size > 0.0 ? moved / size : 0.0);
        }
    }
}

/* Whether r = 0 may be the solution. */
static bool nothing_pushes(const perp_friction_problem* P)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && P->q[c->row] < 0.0) {
            return false;
        }
    }
    return true;
}

/* "3 Newton steps, 20 sweeps", without the time that printf takes */
static void newton_describe(const solve_data* k)
{
    static const char* const unit[] = {" Newton steps, ", " sweeps"};
    const int32_t count[] = {k->out.report->iterations, k->sweeps};
    char* text = k->out.report->detail;
    for (int i = 0; i < 2; ++i) {
        char digit[12];
        int32_t rest = count[i], digits = 0;
        do {
            digit[digits++] = (char)('0' + rest % 10);
            rest /= 10;
        } while (rest > 0);
        while (digits > 0) {
            *text++ = digit[--digits];
        }
        const size_t length = strlen(unit[i]);
        memcpy(text, unit[i], length + 1);
        text += length;
    }
}

static bool only_equalities(const perp_friction_problem* P)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (P->constraint[i].kind != PERP_CONSTRAINT_EQUALITY) {
            return false;
        }
    }
    return true;
}

/* Equality rows alone are a linear system, singular where joints repeat each other. The proximal
 * iteration with one factorisation, from r = 0: impulses stay in the range of W (least norm,
 * weighed by D), independent of the warm start. True if the solve is over. */
static bool solve_linear(newton* s, solve_data* k, double* r)
{
    const perp_friction_problem* P = k->P;
    memset(r, 0, (size_t)P->row_count * sizeof *r);
    weigh_impulses(s, P->row_count, 1.0);
    (void)newton_evaluate(s, P, 0.0, r);
    if (check_point(s, k, r)) {
        return true;
    }
    for (int32_t round = 0; round < LINEAR_ROUNDS; ++round) {
        ++k->out.report->iterations;
        if (round == 0 ? !newton_step(s, P, r, LINEAR_LAMBDA) : !linear_step(s, P)) {
            return false;
        }
        for (int32_t i = 0; i < P->row_count; ++i) {
            r[i] += s->step[i];
        }
        (void)newton_evaluate(s, P, 0.0, r);
        const double before = k->out.least;
        if (check_point(s, k, r)) {
            return true;
        }
        if (!(k->out.least <= 0.5 * before)) {
            return false;
        }
    }
    return false;
}

static perp_status newton_solve(void* self, const perp_friction_problem* P,
                                const perp_solve_options* options, bool warm, double* r,
                                perp_report* report)
{
    newton* s = self;
    const perp_status status = newton_reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    const size_t bytes = (size_t)P->row_count * sizeof *r;
    if (!warm) {
        memset(r, 0, bytes);
    }
    newton_set_weights(s, P);
    solve_data k = {
        .P = P,
        .out = perpi_monitor_start(options, report, 5000, r, s->best, (size_t)P->row_count)};
    const int64_t sweeps_most = SWEEPS_PER_STEP * (int64_t)k.out.limit;
    int32_t sweeps = warm ? 0 : P->row_count <= FEW_ROWS ? (s->set.sweeps + 1) / 2 : s->set.sweeps;
    if (only_equalities(P)) {
        k.out.over = solve_linear(s, &k, r);
        memcpy(r, s->best, bytes);
        sweeps = 0;
    } else if (!warm && nothing_pushes(P)) {
        (void)check_point(s, &k, r);
    }
    if (!k.out.over) {
        const perp_status prepared = perpi_friction_sweeper_prepare(&s->sweeper, P);
        if (prepared != PERP_OK) {
            return prepared;
        }
    }
    while (!k.out.over) {
        perpi_friction_project_guess(P, r);
        sweep_until_still(s, &k, sweeps, r);
        if (k.out.over || check_point(s, &k, r)) {
            break;
        }
        if (k.lambda == 0.0) { /* less regularisation is needed near the solution */
            const double near = 0.1 * k.out.least;
            k.lambda = near < s->set.regularisation ? near : s->set.regularisation;
        }
        proximal_phase(s, &k, r);
        memcpy(r, s->best, bytes);
        if (!k.out.over && k.sweeps >= sweeps_most) {
            break; /* as at the limit of steps: MAX_ITER */
        }
        sweeps = sweeps < s->set.sweeps ? s->set.sweeps : 2 * sweeps;
        sweeps = sweeps > SWEEPS_MAX ? SWEEPS_MAX : sweeps;
    }
    memcpy(r, s->best, bytes);
    newton_describe(&k);
    return PERP_OK;
}

const perp_method perpi_method_newton = {
    .name = "newton",
    .summary = "semismooth Newton on the natural map, sweeps in between; iterations: Newton steps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(newton_settings),
    .settings = newton_setting,
    .settings_count = sizeof newton_setting / sizeof newton_setting[0],
    .settings_default = newton_settings_default,
    .create = newton_create,
    .destroy = newton_destroy,
    .friction = newton_solve,
};
