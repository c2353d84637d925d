/* src/study/estimate_shooting_step.c - one step of Levenberg and Marquardt's method on simulations.
 *
 * The matrix of a step has the form of an arrow: start coordinates of one trajectory meet only
 * themselves and the parameters, so they are eliminated trajectory by trajectory (Schur
 * complement), and the cost is linear in the trajectories. A parameter at a bound that the gradient
 * presses against it is kept there for the step.
 */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "study/estimate_shooting.h"

/* The longest step of a parameter, in its sizes. */
#define LONGEST 3.0
/* Pivots below this part of their diagonal are 0: the data say nothing of that direction. */
#define PIVOT 1e-13

/* L L' of a symmetric positive semidefinite matrix, in its lower part; columns without a pivot are 0. */
static void factor_semidefinite(int32_t n, double* A)
{
    for (int32_t k = 0; k < n; ++k) {
        const double before = A[k * n + k];
        double pivot = before;
        for (int32_t j = 0; j < k; ++j) {
            pivot -= A[k * n + j] * A[k * n + j];
        }
        const bool usable = pivot > PIVOT * before && pivot > 0.0;
        const double root = usable ? sqrt(pivot) : 0.0;
        A[k * n + k] = root;
        for (int32_t i = k + 1; i < n; ++i) {
            double x = A[i * n + k];
            for (int32_t j = 0; j < k; ++j) {
                x -= A[i * n + j] * A[k * n + j];
            }
            A[i * n + k] = usable ? x / root : 0.0;
        }
    }
}

static void solve_lower(int32_t n, const double* L, double* x, int32_t stride)
{
    for (int32_t i = 0; i < n; ++i) {
        double y = x[i * stride];
        for (int32_t j = 0; j < i; ++j) {
            y -= L[i * n + j] * x[j * stride];
        }
        x[i * stride] = L[i * n + i] > 0.0 ? y / L[i * n + i] : 0.0;
    }
}

static void solve_upper(int32_t n, const double* L, double* x, int32_t stride)
{
    for (int32_t i = n - 1; i >= 0; --i) {
        double y = x[i * stride];
        for (int32_t j = i + 1; j < n; ++j) {
            y -= L[j * n + i] * x[j * stride];
        }
        x[i * stride] = L[i * n + i] > 0.0 ? y / L[i * n + i] : 0.0;
    }
}

static double precision(double prior)
{
    return isnan(prior) ? 0.0 : 1.0 / (prior * prior);
}

/* Of an own unknown of a trajectory: nodes have none. */
static double own_precision(const perpi_shooting* s, int32_t i)
{
    return i < s->e->start_count ? precision(s->e->start[i].prior) : 0.0;
}

static double prior_cost(const perpi_shooting* s)
{
    const perpi_evaluator* ev = s->ev;
    double cost = 0.0;
    for (int32_t i = 0; i < s->n; ++i) {
        const double off = ev->parameter[i] - s->e->parameter[i].info.start;
        cost += 0.5 * precision(s->e->parameter[i].prior) * off * off;
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        for (int32_t i = 0; i < s->m; ++i) {
            const double off = ev->start[(size_t)k * (size_t)s->m + (size_t)i];
            cost += 0.5 * own_precision(s, i) * off * off;
        }
    }
    return cost;
}

/* Sets cost and merit of the point; infinite if a trajectory cannot be simulated there. */
perp_status perpi_shooting_evaluate(perpi_shooting* s, bool derivatives, double* cost,
                                    double* merit)
{
    PERPI_TRY(perpi_evaluator_run(s->ev, derivatives));
    *cost = prior_cost(s);
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_part* part = &s->ev->part[k];
        *cost += part->status == PERP_OK && isfinite(part->cost) ? part->cost : INFINITY;
    }
    *merit = isnan(*cost) ? INFINITY : *cost;
    return PERP_OK;
}

const perpi_part* perpi_shooting_first_failure(const perpi_shooting* s, int32_t* trajectory)
{
    for (int32_t k = 0; k < s->ev->count; ++k) {
        if (s->ev->part[k].status != PERP_OK) {
            *trajectory = s->ev->used[k];
            return &s->ev->part[k];
        }
    }
    return NULL;
}

/* The start block of a trajectory, damped and factored; solved = L^-1 [H_sp, g_s]. */
static void eliminate_start(perpi_shooting* s, int32_t k, double damping)
{
    const perpi_part* part = &s->ev->part[k];
    const int32_t n = s->n, m = s->m, N = s->N;
    for (int32_t i = 0; i < m; ++i) {
        const double prior = own_precision(s, i);
        for (int32_t j = 0; j < m; ++j) {
            s->factor[i * m + j] = part->H[(n + i) * N + n + j];
        }
        s->factor[i * m + i] += prior;
        s->factor[i * m + i] *= 1.0 + damping;
        for (int32_t j = 0; j < n; ++j) {
            s->solved[i * (n + 1) + j] = part->H[(n + i) * N + j];
        }
        s->solved[i * (n + 1) + n] =
            part->g[n + i] + prior * s->ev->start[(size_t)k * (size_t)m + (size_t)i];
    }
    factor_semidefinite(m, s->factor);
    for (int32_t j = 0; j <= n; ++j) {
        solve_lower(m, s->factor, s->solved + j, n + 1);
    }
}

/* The reduced matrix A and right-hand side b = -(reduced gradient). diagonal: without elimination; may be NULL. */
void perpi_shooting_reduce(perpi_shooting* s, double damping, double* diagonal)
{
    const int32_t n = s->n, N = s->N;
    memset(s->A, 0, (size_t)n * (size_t)n * sizeof *s->A);
    for (int32_t i = 0; i < n; ++i) {
        const perpi_parameter* p = &s->e->parameter[i];
        s->A[i * n + i] = precision(p->prior);
        s->b[i] = -precision(p->prior) * (s->ev->parameter[i] - p->info.start);
    }
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_part* part = &s->ev->part[k];
        for (int32_t i = 0; i < n; ++i) {
            s->b[i] -= part->g[i];
            for (int32_t j = 0; j < n; ++j) {
                s->A[i * n + j] += part->H[i * N + j];
            }
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        if (diagonal != NULL) {
            diagonal[i] = s->A[i * n + i];
        }
        s->A[i * n + i] *= 1.0 + damping;
    }
    for (int32_t k = 0; k < s->ev->count && s->m > 0 && !s->hold; ++k) {
        eliminate_start(s, k, damping);
        for (int32_t r = 0; r < s->m; ++r) {
            const double* x = s->solved + (size_t)r * ((size_t)n + 1);
            for (int32_t i = 0; i < n; ++i) {
                s->b[i] += x[i] * x[n];
                for (int32_t j = 0; x[i] != 0.0 && j < n; ++j) {
                    s->A[i * n + j] -= x[i] * x[j];
                }
            }
        }
    }
}

/* Parameters of which the data say nothing here stay: rounding would carry them away, and others
 * with them. Those of inertias are not as they are reported, and have their own size, 1. */
static void fix_negligible(perpi_shooting* s)
{
    const int32_t n = s->n;
    double largest = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < n; ++i) {
            const perpi_parameter* p = &s->e->parameter[i];
            const double size = p->kind == PERPI_PARAMETER_INERTIA
                                    ? p->info.scale
                                    : perpi_parameter_size(s->e, i, s->ev->parameter[i]);
            double of = precision(p->prior);
            for (int32_t k = 0; k < s->ev->count; ++k) {
                of += s->ev->part[k].H[i * s->N + i];
            }
            of *= size * size;
            largest = of > largest ? of : largest;
            s->fixed[i] =
                !(of > PERPI_INFORMATION_ABSOLUTE && of > PERPI_INFORMATION_RELATIVE * largest);
        }
    }
}

/* The step of the parameters: one that would lead out of its bounds ends on the bound, and the
 * others are found again with that, so that the step reduces the model. */
void perpi_shooting_step_parameters(perpi_shooting* s)
{
    const int32_t n = s->n;
    double* M = s->moved; /* scratch of n x n + n, see allocate */
    double* x = M + (size_t)n * (size_t)n;
    fix_negligible(s);
    for (int32_t i = 0; i < n; ++i) {
        s->step[i] = 0.0;
    }
    for (bool again = true; again;) {
        again = false;
        for (int32_t i = 0; i < n; ++i) {
            x[i] = s->fixed[i] ? 0.0 : s->b[i];
            for (int32_t j = 0; j < n; ++j) {
                M[i * n + j] = s->fixed[i] || s->fixed[j] ? 0.0 : s->A[i * n + j];
                x[i] -= !s->fixed[i] && s->fixed[j] ? s->A[i * n + j] * s->step[j] : 0.0;
            }
        }
        factor_semidefinite(n, M);
        solve_lower(n, M, x, 1);
        solve_upper(n, M, x, 1);
        for (int32_t i = 0; i < n; ++i) {
            const perp_unknown* u = &s->e->parameter[i].info;
            const double at = s->ev->parameter[i];
            if (!s->fixed[i] && (at + x[i] < u->low || at + x[i] > u->high)) {
                s->step[i] = (x[i] < 0.0 ? u->low : u->high) - at;
                s->fixed[i] = again = true;
            }
        }
    }
    double longest = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double at = fabs(s->ev->parameter[i]), scale = s->e->parameter[i].info.scale;
        s->step[i] = s->fixed[i] ? s->step[i] : x[i];
        const double by = fabs(s->step[i]) / (at > scale ? at : scale);
        longest = by > longest ? by : longest;
    }
    for (int32_t i = 0; longest > LONGEST && i < n; ++i) {
        s->step[i] *= LONGEST / longest;
    }
}

/* The steps of the starts that belong to it, and the reduction that the model predicts. */
double perpi_shooting_step_starts(perpi_shooting* s)
{
    const int32_t n = s->n, m = s->m, N = s->N;
    double predicted = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const perpi_parameter* p = &s->e->parameter[i];
        const double w = precision(p->prior), off = s->ev->parameter[i] - p->info.start;
        predicted -= w * (off * s->step[i] + 0.5 * s->step[i] * s->step[i]);
    }
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_part* part = &s->ev->part[k];
        double* start = s->step + n + (size_t)k * (size_t)m;
        if (s->hold) {
            memset(start, 0, (size_t)m * sizeof *start);
        } else if (m > 0) {
            eliminate_start(s, k, s->damping);
            for (int32_t r = 0; r < m; ++r) {
                const double* x = s->solved + (size_t)r * ((size_t)n + 1);
                start[r] = -x[n];
                for (int32_t i = 0; i < n; ++i) {
                    start[r] -= x[i] * s->step[i];
                }
            }
            solve_upper(m, s->factor, start, 1);
        }
        memcpy(s->row, s->step, (size_t)n * sizeof *s->row);
        if (m > 0) {
            memcpy(s->row + n, start, (size_t)m * sizeof *s->row);
        }
        for (int32_t i = 0; i < N; ++i) {
            double sum = part->g[i];
            for (int32_t j = 0; j < N; ++j) {
                sum += 0.5 * part->H[i * N + j] * s->row[j];
            }
            predicted -= sum * s->row[i];
        }
        for (int32_t i = 0; i < m; ++i) {
            const double w = own_precision(s, i);
            predicted -=
                w * start[i] * (s->ev->start[(size_t)k * (size_t)m + (size_t)i] + 0.5 * start[i]);
        }
    }
    return predicted;
}

perp_status perpi_shooting_allocate_point(perpi_shooting* s)
{
    const perpi_evaluator* ev = s->ev;
    const size_t count = (size_t)ev->count;
    PERPI_TRY(perpi_alloc(s->context, (size_t)s->n + 1, sizeof(double), &s->kept_parameter));
    PERPI_TRY(perpi_alloc(s->context, count * (size_t)s->m + 1, sizeof(double), &s->kept_start));
    return perpi_alloc(s->context, count * (size_t)ev->nodes * ev->bodies + 1, sizeof *s->kept_node,
                       &s->kept_node);
}

void perpi_shooting_free_point(perpi_shooting* s)
{
    perpi_free(s->context, s->kept_parameter);
    perpi_free(s->context, s->kept_start);
    perpi_free(s->context, s->kept_node);
}

void perpi_shooting_keep_point(perpi_shooting* s)
{
    const perpi_evaluator* ev = s->ev;
    const size_t nodes = (size_t)ev->count * (size_t)ev->nodes * ev->bodies;
    memcpy(s->kept_parameter, ev->parameter, (size_t)s->n * sizeof *ev->parameter);
    if (s->m > 0) {
        memcpy(s->kept_start, ev->start, (size_t)ev->count * (size_t)s->m * sizeof *ev->start);
    }
    if (nodes > 0) {
        memcpy(s->kept_node, ev->node, nodes * sizeof *ev->node);
    }
}

void perpi_shooting_restore_point(perpi_shooting* s)
{
    perpi_evaluator* ev = s->ev;
    const size_t nodes = (size_t)ev->count * (size_t)ev->nodes * ev->bodies;
    memcpy(ev->parameter, s->kept_parameter, (size_t)s->n * sizeof *ev->parameter);
    if (s->m > 0) {
        memcpy(ev->start, s->kept_start, (size_t)ev->count * (size_t)s->m * sizeof *ev->start);
    }
    if (nodes > 0) {
        memcpy(ev->node, s->kept_node, nodes * sizeof *ev->node);
    }
}

/* Nodes move by their coordinates of the step. */
static void move_nodes(perpi_shooting* s, int32_t k, const double* step)
{
    perpi_evaluator* ev = s->ev;
    for (int32_t j = 0; j < ev->nodes; ++j) {
        perp_body_state* state =
            ev->node + ((size_t)k * (size_t)ev->nodes + (size_t)j) * ev->bodies;
        const double* own = step + ev->m + j * ev->M;
        for (size_t b = 0; b < ev->bodies; ++b) {
            double by[PERPI_START_COORDINATES] = {0};
            for (int32_t i = 0; i < ev->M; ++i) {
                if (ev->coordinate[i].body == (int32_t)b) {
                    by[ev->coordinate[i].coordinate] = own[i];
                }
            }
            perpi_state_displace(&state[b], ev->planar, by);
        }
    }
}

void perpi_shooting_move_point(perpi_shooting* s)
{
    perpi_evaluator* ev = s->ev;
    for (int32_t i = 0; i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        const double was = ev->parameter[i], by = s->step[i], at = was + by;
        /* a step to a bound ends on it, not a rounding beside it */
        ev->parameter[i] = at < u->low || by == u->low - was     ? u->low
                           : at > u->high || by == u->high - was ? u->high
                                                                 : at;
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        const double* start = s->step + s->n + (size_t)k * (size_t)s->m;
        for (int32_t i = 0; i < ev->m; ++i) {
            ev->start[(size_t)k * (size_t)s->m + (size_t)i] += start[i];
        }
        move_nodes(s, k, start);
    }
}

double perpi_shooting_count_values(const perpi_shooting* s)
{
    double count = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const int32_t rows = s->e->data.trajectory[s->ev->used[k]].rows;
        for (int32_t i = 0; i < rows * s->e->width; ++i) {
            count += !isnan(s->ev->part[k].residual[i]);
        }
    }
    return count;
}
