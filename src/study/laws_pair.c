/* src/study/laws_pair.c - the residual of the laws of contact of a pair of states; see laws_pair.h.
 *
 * Source     ContactNets [PHP20] for the idea: forces unknown, the laws as a loss
 * Departure  its loss has products (impulse times gap, impulse times slip), which are as large as the noise where a contact
 *            sticks, and smaller for less friction: the estimate of mu is then too small. The natural map has the
 *            smaller one of the two errors instead (slip, or missing friction), and mu does not enter where a contact sticks.
 *            Units are those of energy, so that no weights have to be chosen.
 */
#include "study/laws_pair.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"

enum { MAX_ITERATIONS = 50, MAX_HALVINGS = 12, CONTACT_ROWS = 3 };
/* Of the largest diagonal entry: contacts of a face share their impulses, and any share is as good. */
static const double REDUNDANCY = 1e-12;
static const double DECREASE = 1e-14; /* of the loss, relative: smaller ones end the iteration */

perp_status perpi_law_pair_room(perp_context* context, perpi_law_pair* pair, int32_t n, int32_t r,
                                int32_t contacts)
{
    const size_t N = (size_t)n, R = (size_t)r;
    perp_status status = perpi_grow(context, &pair->c, &pair->c_room, N + 1, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(context, &pair->A, &pair->A_room, N * R + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &pair->U, &pair->U_room, N * N + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &pair->contact, &pair->contact_room, (size_t)contacts + 1,
                            sizeof *pair->contact);
    }
    if (status == PERP_OK) {
        pair->n = n;
        pair->r = r;
        pair->contacts = contacts;
    }
    return status;
}

void perpi_law_pair_free(perp_context* context, perpi_law_pair* pair)
{
    perpi_free(context, pair->c);
    perpi_free(context, pair->A);
    perpi_free(context, pair->U);
    perpi_free(context, pair->contact);
    *pair = (perpi_law_pair){0};
}

void perpi_law_work_free(perpi_law_work* work)
{
    perpi_free(work->context, work->R);
    perpi_free(work->context, work->J);
    perpi_free(work->context, work->H);
    perpi_free(work->context, work->g);
    perpi_free(work->context, work->p);
    perpi_free(work->context, work->best);
    perpi_free(work->context, work->column);
    perpi_free(work->context, work->order);
    perpi_free(work->context, work->pushes);
}

int32_t perpi_law_rows(const perpi_law_pair* pair)
{
    int32_t rows = pair->n;
    for (int32_t i = 0; i < pair->contacts; ++i) {
        rows += CONTACT_ROWS + pair->contact[i].tangents;
    }
    return rows;
}

/* ---- the residual ------------------------------------------------------------------------------------*/

/* U (c - A p). */
static void dynamics_rows(const perpi_law_pair* pair, const double* p, double* R)
{
    const int32_t n = pair->n, r = pair->r;
    for (int32_t i = 0; i < n; ++i) {
        R[i] = 0.0;
        for (int32_t j = i; j < n; ++j) {
            const double u = pair->U[(size_t)i * (size_t)n + (size_t)j];
            if (u != 0.0) {
                R[i] += u * (pair->c[j] - perpi_dot(r, pair->A + (size_t)j * (size_t)r, p));
            }
        }
    }
}

/* Error of the law of restitution as a speed, where the contact pushes. */
static double rebound_error(const perpi_law_contact* c, const double* p)
{
    if (!isnan(c->compression)) {
        return (p[c->row] - (1.0 + c->e) * c->compression) / c->m_n;
    }
    return c->after[0] + (c->before[0] < 0.0 ? c->e * c->before[0] : 0.0);
}

static double open_speed(const perpi_law_pair* pair, const perpi_law_contact* c)
{
    return pair->time > 0.0 && c->gap > 0.0 ? c->gap / pair->time : 0.0;
}

static void normal_rows(const perpi_law_pair* pair, const perpi_law_contact* c, const double* p,
                        double* R)
{
    const double scale = sqrt(pair->w_n);
    R[0] = c->pushes ? scale * open_speed(pair, c) : 0.0;
    R[1] = c->pushes ? scale * rebound_error(c, p) : 0.0;
    R[2] = pair->time > 0.0 && c->gap < 0.0 ? scale * c->gap / pair->time : 0.0;
}

/* The disc of friction and the point that is projected onto it, as speeds. */
typedef struct slip_point {
    double s[2], z[2], length, radius;
} slip_point;

static slip_point slip_of(const perpi_law_contact* c, const double* p)
{
    slip_point x = {.radius = p[c->row] > 0.0 ? c->mu * p[c->row] / c->m_t : 0.0};
    double square = 0.0;
    for (int32_t i = 0; i < c->tangents; ++i) {
        x.s[i] = p[c->row + 1 + i] / c->m_t;
        x.z[i] = x.s[i] - c->after[1 + i];
        square += x.z[i] * x.z[i];
    }
    x.length = sqrt(square);
    return x;
}

static void friction_rows(const perpi_law_pair* pair, perpi_law_contact* c, const double* p,
                          bool frozen, double* R)
{
    const double scale = sqrt(pair->w_t);
    const slip_point x = slip_of(c, p);
    if (!frozen) {
        c->sticks = x.length <= x.radius;
    }
    for (int32_t i = 0; i < c->tangents; ++i) {
        const double along = x.length > 0.0 ? x.z[i] / x.length : 0.0;
        const double F = c->sticks ? c->after[1 + i] : x.s[i] - x.radius * along;
        R[i] = c->pushes ? scale * F : 0.0;
    }
}

void perpi_law_residual(perpi_law_pair* pair, const double* p, bool frozen, double* R)
{
    dynamics_rows(pair, p, R);
    R += pair->n;
    for (int32_t i = 0; i < pair->contacts; ++i) {
        perpi_law_contact* c = &pair->contact[i];
        normal_rows(pair, c, p, R);
        friction_rows(pair, c, p, frozen, R + CONTACT_ROWS);
        R += CONTACT_ROWS + c->tangents;
    }
}

/* ---- its derivative ----------------------------------------------------------------------------------*/

/* Rows of a contact by one of its own impulses, k: 0 normal, 1 and 2 tangential. stride: of J. */
static void contact_derivative(const perpi_law_pair* pair, const perpi_law_contact* c,
                               const double* p, int32_t k, size_t stride, double* J)
{
    const double n = sqrt(pair->w_n), t = sqrt(pair->w_t);
    J[stride] = k == 0 && !isnan(c->compression) ? n / c->m_n : 0.0;
    if (c->sticks) {
        return;
    }
    const slip_point x = slip_of(c, p);
    for (int32_t i = 0; i < c->tangents; ++i) {
        double* to = J + (size_t)(CONTACT_ROWS + i) * stride;
        const double along = x.length > 0.0 ? x.z[i] / x.length : 0.0;
        if (k == 0) {
            *to = p[c->row] > 0.0 ? -t * c->mu * along / c->m_t : 0.0;
            continue;
        }
        const double same = i == k - 1 ? 1.0 : 0.0;
        const double across = x.length > 0.0 ? same - along * x.z[k - 1] / x.length : 0.0;
        const double bend = x.length > 0.0 ? x.radius / x.length : 0.0;
        *to = t * (same - bend * across) / c->m_t;
    }
}

void perpi_law_jacobian(const perpi_law_pair* pair, const double* p, const int32_t* column,
                        int32_t columns, double* J)
{
    const size_t r = (size_t)pair->r, m = (size_t)columns, n = (size_t)pair->n;
    size_t row = n;
    memset(J, 0, (size_t)perpi_law_rows(pair) * m * sizeof *J);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = i; j < n; ++j) {
            const double u = pair->U[i * n + j];
            for (size_t k = 0; u != 0.0 && k < m; ++k) {
                J[i * m + k] -= u * pair->A[j * r + (size_t)column[k]];
            }
        }
    }
    for (int32_t i = 0; i < pair->contacts; ++i) {
        const perpi_law_contact* c = &pair->contact[i];
        for (size_t k = 0; c->pushes && k < m; ++k) {
            const int32_t own = column[k] - c->row;
            if (own >= 0 && own <= c->tangents) {
                contact_derivative(pair, c, p, own, m, J + row * m + k);
            }
        }
        row += CONTACT_ROWS + (size_t)c->tangents;
    }
}

/* ---- the least residual ------------------------------------------------------------------------------*/

static double half_square(int32_t n, const double* R)
{
    return 0.5 * perpi_dot(n, R, R);
}

/* H = J' J (with the damping of redundant contacts), factored. */
static bool factor_normal(int32_t rows, int32_t r, const double* J, double* H)
{
    const size_t n = (size_t)r;
    double most = 0.0;
    memset(H, 0, n * n * sizeof *H);
    for (int32_t i = 0; i < rows; ++i) {
        const double* J_i = J + (size_t)i * n;
        for (size_t a = 0; a < n; ++a) {
            for (size_t b = 0; J_i[a] != 0.0 && b <= a; ++b) {
                H[a * n + b] += J_i[a] * J_i[b];
            }
        }
    }
    for (size_t a = 0; a < n; ++a) {
        most = H[a * n + a] > most ? H[a * n + a] : most;
    }
    for (size_t a = 0; a < n; ++a) {
        H[a * n + a] += REDUNDANCY * most;
    }
    return most > 0.0 && perpi_chol_factor_any(r, H);
}

/* The impulses of contacts that push, and of joints. */
static void list_columns(perpi_law_work* w, const perpi_law_pair* pair)
{
    int32_t next = 0;
    w->columns = 0;
    for (int32_t i = 0; i < pair->contacts; ++i) {
        const perpi_law_contact* c = &pair->contact[i];
        next = c->row + 1 + c->tangents;
        for (int32_t k = 0; c->pushes && k <= c->tangents; ++k) {
            w->column[w->columns++] = c->row + k;
        }
    }
    for (; next < pair->r; ++next) {
        w->column[w->columns++] = next;
    }
}

/* Gauss-Newton from w->best over the columns; returns the loss. */
static double descend(perpi_law_work* w, perpi_law_pair* pair)
{
    const int32_t rows = perpi_law_rows(pair), m = w->columns;
    double* p = w->best;
    perpi_law_residual(pair, p, false, w->R);
    double loss = half_square(rows, w->R);
    for (int iteration = 0; m > 0 && iteration < MAX_ITERATIONS; ++iteration) {
        perpi_law_jacobian(pair, p, w->column, m, w->J);
        if (!factor_normal(rows, m, w->J, w->H)) {
            break;
        }
        memset(w->g, 0, (size_t)m * sizeof *w->g);
        perpi_matvec_transposed_add(rows, m, w->J, w->R, w->g);
        perpi_chol_solve_any(m, w->H, w->g);
        double step = 1.0, next = loss;
        memcpy(w->p, p, (size_t)pair->r * sizeof *p);
        for (int k = 0; k < MAX_HALVINGS; ++k, step *= 0.5) {
            for (int32_t i = 0; i < m; ++i) {
                w->p[w->column[i]] = p[w->column[i]] - step * w->g[i];
            }
            perpi_law_residual(pair, w->p, false, w->R);
            next = half_square(rows, w->R);
            if (next < loss) {
                break;
            }
        }
        if (!(next < loss * (1.0 - DECREASE))) {
            break;
        }
        memcpy(p, w->p, (size_t)pair->r * sizeof *p);
        loss = next;
    }
    perpi_law_residual(pair, p, false, w->R);
    return half_square(rows, w->R);
}

/* The contact that pulls most; -1: none. */
static int32_t pulling(const perpi_law_pair* pair, const double* p)
{
    int32_t worst = -1;
    for (int32_t i = 0; i < pair->contacts; ++i) {
        const perpi_law_contact* c = &pair->contact[i];
        if (c->pushes && p[c->row] < 0.0 &&
            (worst < 0 || p[c->row] < p[pair->contact[worst].row])) {
            worst = i;
        }
    }
    return worst;
}

/* The least loss with the contacts that push, of which those that would pull are left out one after
 * the other. The start explains the change of momentum by impulses without laws. */
static double least_of_choice(perpi_law_work* w, perpi_law_pair* pair)
{
    const int32_t rows = perpi_law_rows(pair);
    for (;;) {
        list_columns(w, pair);
        memset(w->best, 0, (size_t)pair->r * sizeof *w->best);
        perpi_law_residual(pair, w->best, false, w->R);
        perpi_law_jacobian(pair, w->best, w->column, w->columns, w->J);
        memset(w->J + (size_t)pair->n * (size_t)w->columns, 0,
               (size_t)(rows - pair->n) * (size_t)w->columns * sizeof *w->J);
        if (w->columns > 0 && factor_normal(rows, w->columns, w->J, w->H)) {
            memset(w->g, 0, (size_t)w->columns * sizeof *w->g);
            perpi_matvec_transposed_add(pair->n, w->columns, w->J, w->R, w->g);
            perpi_chol_solve_any(w->columns, w->H, w->g);
            for (int32_t i = 0; i < w->columns; ++i) {
                w->best[w->column[i]] = -w->g[i];
            }
        }
        const double loss = descend(w, pair);
        const int32_t out = pulling(pair, w->best);
        if (out < 0) {
            return loss;
        }
        pair->contact[out].pushes = false;
    }
}

static void sort_by_gap(perpi_law_work* w, const perpi_law_pair* pair)
{
    for (int32_t i = 0; i < pair->contacts; ++i) {
        int32_t at = i;
        for (; at > 0 && pair->contact[w->order[at - 1]].gap > pair->contact[i].gap; --at) {
            w->order[at] = w->order[at - 1];
        }
        w->order[at] = i;
    }
}

static perp_status reserve(perpi_law_work* w, const perpi_law_pair* pair)
{
    const size_t rows = (size_t)perpi_law_rows(pair), r = (size_t)pair->r;
    const size_t contacts = (size_t)pair->contacts;
    struct {
        void* array;
        size_t* room;
        size_t count, size;
    } need[] = {{&w->R, &w->R_room, rows, sizeof *w->R},
                {&w->J, &w->J_room, rows * r, sizeof *w->J},
                {&w->H, &w->H_room, r * r, sizeof *w->H},
                {&w->g, &w->g_room, r, sizeof *w->g},
                {&w->p, &w->p_room, r, sizeof *w->p},
                {&w->best, &w->best_room, r, sizeof *w->best},
                {&w->column, &w->column_room, r, sizeof *w->column},
                {&w->order, &w->order_room, contacts, sizeof *w->order},
                {&w->pushes, &w->pushes_room, contacts, sizeof *w->pushes}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof need / sizeof need[0]; ++i) {
        status =
            perpi_grow(w->context, need[i].array, need[i].room, need[i].count + 1, need[i].size);
    }
    return status;
}

perp_status perpi_law_minimise(perpi_law_work* w, perpi_law_pair* pair, double* p, double* loss)
{
    double least = INFINITY, cost = 0.0;
    const perp_status status = reserve(w, pair);
    if (status != PERP_OK) {
        return status;
    }
    sort_by_gap(w, pair);
    for (int32_t count = 0; count <= pair->contacts; ++count) {
        /* what the gaps of so many contacts cost alone */
        if (count > 0) {
            const double open = open_speed(pair, &pair->contact[w->order[count - 1]]);
            cost += 0.5 * pair->w_n * open * open;
        }
        if (cost >= least) {
            break;
        }
        for (int32_t i = 0; i < pair->contacts; ++i) {
            pair->contact[w->order[i]].pushes = i < count;
        }
        const double found = least_of_choice(w, pair);
        if (found < least) {
            least = found;
            memcpy(p, w->best, (size_t)pair->r * sizeof *p);
            for (int32_t i = 0; i < pair->contacts; ++i) {
                w->pushes[i] = pair->contact[i].pushes;
            }
        }
    }
    for (int32_t i = 0; i < pair->contacts; ++i) {
        pair->contact[i].pushes = w->pushes[i];
    }
    perpi_law_residual(pair, p, false, w->R);
    *loss = half_square(perpi_law_rows(pair), w->R);
    return PERP_OK;
}

perp_status perpi_law_project(perpi_law_work* w, perpi_law_pair* pair, const double* p,
                              int32_t columns, double* D)
{
    const int32_t rows = perpi_law_rows(pair);
    const size_t stride = (size_t)columns;
    const perp_status status = reserve(w, pair);
    if (status != PERP_OK) {
        return status;
    }
    list_columns(w, pair);
    const int32_t m = w->columns;
    perpi_law_jacobian(pair, p, w->column, m, w->J);
    if (m == 0 || !factor_normal(rows, m, w->J, w->H)) {
        return PERP_OK;
    }
    for (size_t c = 0; c < stride; ++c) {
        memset(w->g, 0, (size_t)m * sizeof *w->g);
        for (int32_t i = 0; i < rows; ++i) {
            const double d = D[(size_t)i * stride + c];
            for (int32_t k = 0; d != 0.0 && k < m; ++k) {
                w->g[k] += w->J[(size_t)i * (size_t)m + (size_t)k] * d;
            }
        }
        perpi_chol_solve_any(m, w->H, w->g);
        for (int32_t i = 0; i < rows; ++i) {
            D[(size_t)i * stride + c] -= perpi_dot(m, w->J + (size_t)i * (size_t)m, w->g);
        }
    }
    return PERP_OK;
}
