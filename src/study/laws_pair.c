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

enum { MAX_ITERATIONS = 50, MAX_HALVINGS = 12, CONTACT_ROWS = 3, STARTS = 3 };
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
static void dynamics_rows(const perpi_law_pair* pair, const double* p, double* R, double* J)
{
    const int32_t n = pair->n, r = pair->r;
    for (int32_t i = 0; i < n; ++i) {
        R[i] = 0.0;
        for (int32_t k = 0; J != NULL && k < r; ++k) {
            J[(size_t)i * (size_t)r + (size_t)k] = 0.0;
        }
        for (int32_t j = i; j < n; ++j) {
            const double u = pair->U[(size_t)i * (size_t)n + (size_t)j];
            const double* A_j = pair->A + (size_t)j * (size_t)r;
            if (u == 0.0) {
                continue;
            }
            R[i] += u * (pair->c[j] - perpi_dot(r, A_j, p));
            for (int32_t k = 0; J != NULL && k < r; ++k) {
                J[(size_t)i * (size_t)r + (size_t)k] -= u * A_j[k];
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

static void normal_rows(const perpi_law_pair* pair, perpi_law_contact* c, const double* p,
                        bool frozen, double* R, double* J)
{
    const double scale = sqrt(pair->w_n), push = p[c->row] / c->m_n;
    const double open = pair->time > 0.0 && c->gap > 0.0 ? c->gap / pair->time : 0.0;
    const double overlap = pair->time > 0.0 && c->gap < 0.0 ? c->gap / pair->time : 0.0;
    const double rebound = rebound_error(c, p);
    if (!frozen) {
        c->pushes = push > sqrt(open * open + rebound * rebound);
    }
    R[0] = scale * (c->pushes ? open : push);
    R[1] = c->pushes ? scale * rebound : 0.0;
    R[2] = scale * overlap;
    if (J != NULL) {
        J[c->row] = c->pushes ? 0.0 : scale / c->m_n;
        J[(size_t)pair->r + (size_t)c->row] =
            c->pushes && !isnan(c->compression) ? scale / c->m_n : 0.0;
    }
}

static void friction_rows(const perpi_law_pair* pair, perpi_law_contact* c, const double* p,
                          bool frozen, double* R, double* J)
{
    const double scale = sqrt(pair->w_t);
    const bool pressed = p[c->row] > 0.0;
    const double radius = pressed ? c->mu * p[c->row] / c->m_t : 0.0;
    double z[2] = {0.0, 0.0}, s[2] = {0.0, 0.0}, length = 0.0;
    for (int32_t i = 0; i < c->tangents; ++i) {
        s[i] = p[c->row + 1 + i] / c->m_t;
        z[i] = s[i] - c->after[1 + i];
        length += z[i] * z[i];
    }
    length = sqrt(length);
    if (!frozen) {
        c->sticks = length <= radius;
    }
    for (int32_t i = 0; i < c->tangents; ++i) {
        const double along = length > 0.0 ? z[i] / length : 0.0;
        R[i] = scale * (c->sticks ? c->after[1 + i] : s[i] - radius * along);
        if (J == NULL || c->sticks) {
            continue;
        }
        double* J_i = J + (size_t)i * (size_t)pair->r + (size_t)c->row;
        const double bend = length > 0.0 ? radius / length : 0.0;
        J_i[0] = pressed ? -scale * c->mu * along / c->m_t : 0.0;
        for (int32_t k = 0; k < c->tangents; ++k) {
            const double across = length > 0.0 ? (i == k) - along * z[k] / length : 0.0;
            J_i[1 + k] = scale * ((i == k) - bend * across) / c->m_t;
        }
    }
}

void perpi_law_residual(perpi_law_pair* pair, const double* p, bool frozen, double* R, double* J)
{
    const size_t r = (size_t)pair->r;
    dynamics_rows(pair, p, R, J);
    size_t row = (size_t)pair->n;
    if (J != NULL) {
        memset(J + row * r, 0, ((size_t)perpi_law_rows(pair) - row) * r * sizeof *J);
    }
    for (int32_t i = 0; i < pair->contacts; ++i) {
        perpi_law_contact* c = &pair->contact[i];
        normal_rows(pair, c, p, frozen, R + row, J != NULL ? J + row * r : NULL);
        row += CONTACT_ROWS;
        friction_rows(pair, c, p, frozen, R + row, J != NULL ? J + row * r : NULL);
        row += (size_t)c->tangents;
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

/* g = J' x. */
static void transposed(int32_t rows, int32_t r, const double* J, const double* x, double* g)
{
    memset(g, 0, (size_t)r * sizeof *g);
    perpi_matvec_transposed_add(rows, r, J, x, g);
}

/* Gauss-Newton from p; returns the loss. */
static double descend(perpi_law_work* w, perpi_law_pair* pair, double* p)
{
    const int32_t rows = perpi_law_rows(pair), r = pair->r;
    perpi_law_residual(pair, p, false, w->R, w->J);
    double loss = half_square(rows, w->R);
    for (int iteration = 0; r > 0 && iteration < MAX_ITERATIONS; ++iteration) {
        if (!factor_normal(rows, r, w->J, w->H)) {
            break;
        }
        transposed(rows, r, w->J, w->R, w->g);
        perpi_chol_solve_any(r, w->H, w->g);
        double step = 1.0, next = loss;
        for (int k = 0; k < MAX_HALVINGS; ++k, step *= 0.5) {
            for (int32_t i = 0; i < r; ++i) {
                w->p[i] = p[i] - step * w->g[i];
            }
            perpi_law_residual(pair, w->p, false, w->R, w->J);
            next = half_square(rows, w->R);
            if (next < loss) {
                break;
            }
        }
        if (!(next < loss * (1.0 - DECREASE))) {
            break;
        }
        memcpy(p, w->p, (size_t)r * sizeof *p);
        loss = next;
    }
    perpi_law_residual(pair, p, false, w->R, w->J);
    return half_square(rows, w->R);
}

static int32_t nearest(const perpi_law_pair* pair)
{
    int32_t best = -1;
    for (int32_t i = 0; i < pair->contacts; ++i) {
        best = best < 0 || pair->contact[i].gap < pair->contact[best].gap ? i : best;
    }
    return best;
}

/* Impulses that explain the change of momentum best, without laws: of the nearest contact (start 1), or of all whose
 * gap the change of velocity could cross (start 2). Others are kept small. */
static bool first_impulses(perpi_law_work* w, perpi_law_pair* pair, int start, double* p)
{
    const int32_t r = pair->r, only = nearest(pair);
    const size_t n = (size_t)r;
    double speed = 0.0;
    memset(p, 0, n * sizeof *p);
    perpi_law_residual(pair, p, false, w->R, w->J);
    if (start == 0 || r == 0 || pair->contacts == 0) {
        return start == 0;
    }
    for (int32_t i = 0; i < pair->contacts; ++i) {
        const double change = fabs(pair->contact[i].after[0] - pair->contact[i].before[0]);
        speed = change > speed ? change : speed;
    }
    /* the rows of dynamics alone; the columns of contacts that are left out become those of p / m */
    for (int32_t i = 0; i < pair->contacts; ++i) {
        const perpi_law_contact* c = &pair->contact[i];
        const bool near = start == 1 ? i == only : !(c->gap > pair->time * speed);
        for (int32_t k = 0; !near && k <= c->tangents; ++k) {
            for (int32_t row = 0; row < pair->n; ++row) {
                w->J[(size_t)row * n + (size_t)(c->row + k)] = 0.0;
            }
        }
    }
    if (!factor_normal(pair->n, r, w->J, w->H)) {
        return false;
    }
    transposed(pair->n, r, w->J, w->R, w->g);
    perpi_chol_solve_any(r, w->H, w->g);
    for (int32_t i = 0; i < r; ++i) {
        p[i] = -w->g[i];
    }
    return true;
}

perp_status perpi_law_minimise(perpi_law_work* w, perpi_law_pair* pair, double* p, double* loss)
{
    const size_t rows = (size_t)perpi_law_rows(pair), r = (size_t)pair->r;
    double least = INFINITY;
    perp_status status = perpi_grow(w->context, &w->R, &w->R_room, rows, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(w->context, &w->J, &w->J_room, rows * r + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(w->context, &w->H, &w->H_room, r * r + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(w->context, &w->g, &w->g_room, r + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(w->context, &w->p, &w->p_room, r + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(w->context, &w->best, &w->best_room, r + 1, sizeof(double));
    }
    for (int start = 0; status == PERP_OK && start < STARTS; ++start) {
        if ((start == 2 && pair->contacts < 2) || !first_impulses(w, pair, start, w->best)) {
            continue;
        }
        const double found = descend(w, pair, w->best);
        if (found < least) {
            least = found;
            memcpy(p, w->best, r * sizeof *p);
        }
    }
    if (status == PERP_OK) {
        perpi_law_residual(pair, p, false, w->R, w->J);
        *loss = half_square((int32_t)rows, w->R);
    }
    return status;
}

perp_status perpi_law_project(perpi_law_work* w, perpi_law_pair* pair, const double* p,
                              int32_t columns, double* D)
{
    const int32_t rows = perpi_law_rows(pair), r = pair->r;
    const size_t stride = (size_t)columns;
    perpi_law_residual(pair, p, true, w->R, w->J);
    if (r == 0 || !factor_normal(rows, r, w->J, w->H)) {
        return PERP_OK;
    }
    for (size_t c = 0; c < stride; ++c) {
        memset(w->g, 0, (size_t)r * sizeof *w->g);
        for (int32_t i = 0; i < rows; ++i) {
            const double d = D[(size_t)i * stride + c];
            for (int32_t k = 0; d != 0.0 && k < r; ++k) {
                w->g[k] += w->J[(size_t)i * (size_t)r + (size_t)k] * d;
            }
        }
        perpi_chol_solve_any(r, w->H, w->g);
        for (int32_t i = 0; i < rows; ++i) {
            D[(size_t)i * stride + c] -= perpi_dot(r, w->J + (size_t)i * (size_t)r, w->g);
        }
    }
    return PERP_OK;
}
