/* src/study/estimate_fit.c - see estimate_fit.h.
 *
 * Source     Marquardt (1963), with the scaling by the diagonal; bounds by projection, unknowns at a bound that the gradient
 *            presses against are kept there; losses by reweighting
 */
#include "study/estimate_fit.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"

#define FIRST_DAMPING 1e-3
#define LEAST_DAMPING 1e-12
#define LARGEST_DAMPING 1e12
#define EXCESS 5.0 /* standard deviations of a sum of squares */
#define RANK 1e-12 /* pivots of the scaled information of start coordinates below it count as 0 */

double perpi_fit_loss(const perpi_estimate* e, double residual)
{
    const double r = fabs(residual), k = e->loss_scale;
    switch (e->loss) {
    case PERPI_LOSS_SQUARES: break;
    case PERPI_LOSS_HUBER: return r <= k ? 0.5 * r * r : k * (r - 0.5 * k);
    case PERPI_LOSS_CAUCHY: return 0.5 * k * k * log1p(r / k * (r / k));
    }
    return 0.5 * r * r;
}

double perpi_fit_weight(const perpi_estimate* e, double residual)
{
    const double r = fabs(residual), k = e->loss_scale;
    switch (e->loss) {
    case PERPI_LOSS_SQUARES: break;
    case PERPI_LOSS_HUBER: return r <= k ? 1.0 : k / r;
    case PERPI_LOSS_CAUCHY: return 1.0 / (1.0 + r / k * (r / k));
    }
    return 1.0;
}

double perpi_fit_excess(const perpi_estimate* e, double squares, double degrees)
{
    const double excess = degrees > 0.0 ? squares / degrees : 1.0;
    const bool large = excess > 1.0 + EXCESS * sqrt(2.0 / degrees);
    return e->loss == PERPI_LOSS_SQUARES && degrees > 0.0 && large ? excess : 1.0;
}

perp_status perpi_fit_create(const perpi_estimate_run* run, perpi_fit** fit)
{
    perpi_fit* f = NULL;
    PERPI_TRY(perpi_alloc(run->context, 1, sizeof *f, &f));
    f->context = run->context;
    f->e = run->e;
    f->predictor = run->predictor;
    f->parameters = run->e->parameter_count;
    f->n = f->parameters + run->e->start_count;
    const size_t n = (size_t)f->n;
    const perp_status status = perpi_alloc(f->context, n * (2 * n + 5) + 1, sizeof *f->z, &f->z);
    if (status != PERP_OK) {
        perpi_fit_destroy(f);
        return status;
    }
    f->g = f->z + n;
    f->try_z = f->g + n;
    f->step = f->try_z + n;
    f->diagonal = f->step + n;
    f->H = f->diagonal + n;
    f->A = f->H + n * n;
    *fit = f;
    return PERP_OK;
}

void perpi_fit_destroy(perpi_fit* fit)
{
    if (fit != NULL) {
        perpi_free(fit->context, fit->z);
        perpi_free(fit->context, fit->residual);
        perpi_free(fit->context, fit->jacobian);
        perpi_free(fit->context, fit);
    }
}

/* ---- the cost -----------------------------------------------------------------------------------*/

static double add_prior(perpi_fit* f, const perpi_fit_def* def, const double* z, bool derivatives)
{
    const int32_t n = f->n;
    double cost = 0.0;
    for (int32_t i = 0; def->information != NULL && i < n; ++i) {
        double sum = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            const double a = def->information[i * n + j];
            sum += a != 0.0 ? a * (z[j] - def->mean[j]) : 0.0;
            f->H[i * n + j] += derivatives ? a : 0.0;
        }
        f->g[i] += derivatives ? sum : 0.0;
        cost += 0.5 * sum * (z[i] - def->mean[i]);
    }
    return cost;
}

static void add_rows(perpi_fit* f, int64_t count)
{
    const int32_t n = f->n;
    for (int64_t r = 0; r < count; ++r) {
        const double e = f->residual[r];
        if (isnan(e)) {
            continue;
        }
        const double w = perpi_fit_weight(f->e, e);
        const double* J = f->jacobian + r * n;
        for (int32_t i = 0; i < n; ++i) {
            f->g[i] += w * e * J[i];
            for (int32_t j = 0; j <= i; ++j) {
                f->H[i * n + j] += w * J[i] * J[j];
            }
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            f->H[j * n + i] = f->H[i * n + j];
        }
    }
}

/* *cost is infinite where z cannot be simulated, and *reason that status. */
static perp_status evaluate(perpi_fit* f, const perpi_fit_def* def, const double* z,
                            bool derivatives, double* cost, perp_status* reason)
{
    const int64_t count = (int64_t)def->rows * f->e->width;
    perpi_prediction p = {.trajectory = def->trajectory,
                          .first = def->first,
                          .rows = def->rows,
                          .parameter = z,
                          .start = z + f->parameters,
                          .state = def->state,
                          .residual = f->residual,
                          .jacobian = derivatives ? f->jacobian : NULL};
    const perp_status status = perpi_predictor_predict(f->predictor, &p);
    f->evaluations += 1;
    f->runs += p.info.runs;
    f->flagged += p.info.flagged;
    *cost = INFINITY;
    *reason = status;
    if (status != PERP_OK) {
        return p.info.failed ? PERP_OK : status;
    }
    double sum = 0.0, squares = 0.0;
    int64_t values = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!isnan(f->residual[i])) {
            sum += perpi_fit_loss(f->e, f->residual[i]);
            squares += perpi_fit_weight(f->e, f->residual[i]) * f->residual[i] * f->residual[i];
            values += 1;
        }
    }
    if (derivatives) {
        f->derivative = p.info.derivative;
        memset(f->g, 0, (size_t)f->n * sizeof *f->g);
        memset(f->H, 0, (size_t)f->n * (size_t)f->n * sizeof *f->H);
        add_rows(f, count);
        f->squares = squares;
        f->values = values;
    }
    sum += add_prior(f, def, z, derivatives);
    *cost = sum;
    return PERP_OK;
}

/* ---- the search ---------------------------------------------------------------------------------*/

static bool is_held(const perpi_fit* f, int32_t i)
{
    if (i >= f->parameters) {
        return f->hold_start;
    }
    const perp_unknown* u = &f->e->parameter[i].info;
    return (f->z[i] <= u->low && f->g[i] > 0.0) || (f->z[i] >= u->high && f->g[i] < 0.0);
}

/* A step with this damping: try_z, and its length in standard deviations. False: no step. */
static bool damped_step(perpi_fit* f, double damping, double* length)
{
    const int32_t n = f->n;
    memcpy(f->A, f->H, (size_t)n * (size_t)n * sizeof *f->A);
    for (int32_t i = 0; i < n; ++i) {
        const double d = f->H[i * n + i];
        f->diagonal[i] = d > 0.0 ? d : 1.0;
        f->A[i * n + i] += damping * f->diagonal[i];
        f->step[i] = -f->g[i];
        if (is_held(f, i)) {
            for (int32_t j = 0; j < n; ++j) {
                f->A[i * n + j] = f->A[j * n + i] = 0.0;
            }
            f->A[i * n + i] = f->diagonal[i];
            f->step[i] = 0.0;
        }
    }
    if (!perpi_chol_factor_any(n, f->A)) {
        return false;
    }
    perpi_chol_solve_any(n, f->A, f->step);
    *length = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        double to = f->z[i] + f->step[i];
        if (i < f->parameters) {
            const perp_unknown* u = &f->e->parameter[i].info;
            to = to < u->low ? u->low : to > u->high ? u->high : to;
        }
        const double by = fabs(to - f->z[i]) * sqrt(f->H[i * n + i]);
        *length = by > *length ? by : *length;
        f->try_z[i] = to;
    }
    return isfinite(*length);
}

static perp_status search(perpi_fit* f, const perpi_fit_def* def)
{
    double damping = FIRST_DAMPING;
    perp_status reason;
    while (f->iterations < f->e->iterations) {
        double length = 0.0, cost = INFINITY;
        const bool stepped = damped_step(f, damping, &length);
        if (stepped && length <= f->e->tolerance) {
            f->converged = true;
            return PERP_OK;
        }
        if (stepped) {
            PERPI_TRY(evaluate(f, def, f->try_z, false, &cost, &reason));
        }
        if (!(cost < f->cost)) {
            damping *= 10.0;
            if (damping > LARGEST_DAMPING) {
                return PERP_OK;
            }
            continue;
        }
        f->iterations += 1;
        memcpy(f->z, f->try_z, (size_t)f->n * sizeof *f->z);
        damping = damping > 10.0 * LEAST_DAMPING ? damping / 10.0 : LEAST_DAMPING;
        PERPI_TRY(evaluate(f, def, f->z, true, &cost, &reason));
        if (!(cost < INFINITY)) {
            return reason; /* simulated a moment ago, but its neighbours cannot be */
        }
        f->cost = cost;
    }
    return PERP_OK;
}

perp_status perpi_fit_run(perpi_fit* f, const perpi_fit_def* def)
{
    const size_t count = (size_t)def->rows * (size_t)f->e->width;
    PERPI_TRY(perpi_grow(f->context, &f->residual, &f->residual_room, count, sizeof *f->residual));
    PERPI_TRY(perpi_grow(f->context, &f->jacobian, &f->jacobian_room, count * (size_t)f->n,
                         sizeof *f->jacobian));
    perp_status reason;
    f->iterations = 0;
    f->converged = false;
    f->hold_start = def->hold_start;
    PERPI_TRY(evaluate(f, def, f->z, true, &f->cost, &reason));
    return f->cost < INFINITY ? search(f, def) : reason;
}

/* ---- information --------------------------------------------------------------------------------*/

perp_status perpi_fit_parameters(perpi_fit* f, double* information)
{
    const size_t n = (size_t)f->n, p = (size_t)f->parameters, s = n - p;
    double* number = NULL;
    int32_t* order = NULL;
    PERPI_TRY(perpi_alloc(f->context, s * (2 * s + 3) + 1, sizeof *number, &number));
    perp_status status = perpi_alloc(f->context, s + 1, sizeof *order, &order);
    if (status == PERP_OK) {
        perpi_psd psd = {.R = number, .order = order, .scale = number + s * s};
        double *x = psd.scale + s, *work = x + s, *H_ss = work + s;
        for (size_t i = 0; i < s; ++i) {
            memcpy(H_ss + i * s, f->H + (p + i) * n + p, s * sizeof *H_ss);
        }
        bool known = perpi_psd_factor((int32_t)s, H_ss, RANK, &psd);
        for (size_t j = 0; j < p; ++j) {
            for (size_t i = 0; i < s; ++i) {
                x[i] = f->H[(p + i) * n + j];
            }
            if (known && s > 0) {
                (void)perpi_psd_solve_basic(&psd, x, work);
            }
            for (size_t i = 0; i < p; ++i) {
                double sum = f->H[i * n + j];
                for (size_t k = 0; k < s; ++k) {
                    sum -= f->H[i * n + p + k] * x[k];
                }
                information[i * p + j] = known ? sum : NAN;
            }
        }
    }
    perpi_free(f->context, number);
    perpi_free(f->context, order);
    return status;
}
