/* src/solve/no_motion.c - contact problems that no velocities satisfy.
 *
 * A body in a chain that is deep in another one, or more bodies in a gap than fit into it: contacts and joints ask for
 * velocities that exclude each other, and every method ends at its limit of iterations. That there are none is proved as in
 * the lemma of Farkas. With M = L L' and m the first entry of each block of M (the mass of a body), y = L' v / sqrt(m) has the
 * unit of speed. Rows of J v + b >= 0 and = 0 in y, divided by the norms of their coefficients, are
 *     a_r . y + c_r  = 0  joints,   a_r . y + c_r >= 0  contacts and limits
 * For any w, w_r >= 0 in the second kind, with d = sum w_r a_r and s = -sum w_r c_r, they give d . y >= s, so that
 *     |y| >= s / |d|
 * of all velocities that satisfy them. Such w come from the least squares problem
 *     minimise  SMALL |y|^2 + sum (a_r . y + c_r)^2 + sum min(0, a_r . y + c_r)^2
 * by w_r = -(a_r . y + c_r), where d = SMALL y and s = sum w_r^2 + SMALL |y|^2. It is convex and quadratic in pieces: Newton's
 * method with a line search ends at its minimum after a few changes of the active rows. The bound holds for any w, so that
 * rounding there does no harm.
 *
 * Friction limits impulses and no velocities; a group asks for one of several contacts; compliant rows yield: they are
 * not among the rows. The masses only weigh the velocities of one body against each other.
 */
#include "solve/no_motion.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "problem/operators.h"

/* Beside the squares of the rows, which are of size 1. */
static const double SMALL = 1e-12;
/* |y| of all solutions, relative to the free motion and to what the rows ask for, beyond which they count as none. */
static const double TOO_FAST = 1e4;
/* Gradient of the minimum, relative to its terms. */
static const double MINIMAL = 1e-9;
enum {
    MAX_VELOCITIES = 150, /* a factorisation of 2 n^3/3 then takes 2 ms */
    MAX_NEWTON = 40,
    MAX_HALVINGS = 12,
};

/* One row in the coordinates y. */
typedef struct motion_row {
    int32_t d[2], n[2]; /* velocities d .. d + n - 1 of each side */
    double a[2][PERPI_BLOCK_MAX];
    double c;
    bool equality;
} motion_row;

typedef struct motion_rows {
    int32_t n, count;
    motion_row* row;
    double *y, *g, *H, *step;
    int32_t* pivot;
} motion_rows;

/* Whether row r of a constraint asks for a velocity: 0 no, 1 at least 0, 2 equal to 0, -1 at most 0. */
static int demand_of(const perp_contact_problem* P, const perp_constraint* c, int32_t r)
{
    if (perpi_row_compliance(P, c, r) > 0.0) {
        return 0;
    }
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        return r == 0 ? 1 : 0;
    }
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        return 2;
    }
    const bool pushes = P->upper[c->row + r] == INFINITY, pulls = P->lower[c->row + r] == -INFINITY;
    return pushes && pulls ? 2 : pushes ? 1 : pulls ? -1 : 0;
}

/* Adds a row; one between prescribed bodies asks nothing of the velocities. */
static void add_row(motion_rows* m, const perp_contact_problem* P, const perp_constraint* c,
                    int32_t r, int demand)
{
    motion_row* row = &m->row[m->count];
    double square = 0.0;
    for (int side = 0; side < 2; ++side) {
        const perpi_side s = perpi_side_of(P, c, side);
        row->d[side] = s.d;
        row->n[side] = s.nv;
        memcpy(row->a[side], s.J + (size_t)r * (size_t)s.nv, (size_t)s.nv * sizeof(double));
        if (s.nv > 0) {
            const double* L = P->M_factor + 6 * (size_t)s.d;
            perpi_chol_forward(s.nv, L, row->a[side]);
            for (int32_t i = 0; i < s.nv; ++i) {
                row->a[side][i] *= L[0];
            }
        }
        square += perpi_dot(s.nv, row->a[side], row->a[side]);
    }
    if (!(square > 0.0)) {
        return;
    }
    const double scale = (demand < 0 ? -1.0 : 1.0) / sqrt(square);
    for (int side = 0; side < 2; ++side) {
        for (int32_t i = 0; i < row->n[side]; ++i) {
            row->a[side][i] *= scale;
        }
    }
    row->c = scale * P->b[c->row + r];
    row->equality = demand == 2;
    m->count += 1;
}

static void collect_rows(motion_rows* m, const perp_contact_problem* P, const bool* grouped)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t r = 0; r < c->rows && !grouped[i]; ++r) {
            const int demand = demand_of(P, c, r);
            if (demand != 0) {
                add_row(m, P, c, r, demand);
            }
        }
    }
}

/* a . y + c of a row, 0 if it is satisfied. */
static double lack_of(const motion_row* row, const double* y)
{
    const double u = row->c + perpi_dot(row->n[0], row->a[0], y + row->d[0]) +
                     perpi_dot(row->n[1], row->a[1], y + row->d[1]);
    return row->equality || u < 0.0 ? u : 0.0;
}

static double objective(const motion_rows* m, const double* y)
{
    double sum = SMALL * perpi_dot(m->n, y, y);
    for (int32_t i = 0; i < m->count; ++i) {
        const double u = lack_of(&m->row[i], y);
        sum += u * u;
    }
    return sum;
}

/* H += a a' of a row. */
static void add_square(const motion_row* row, int32_t n, double* H)
{
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            for (int32_t i = 0; i < row->n[s]; ++i) {
                double* to = H + (size_t)(row->d[s] + i) * (size_t)n + row->d[t];
                for (int32_t k = 0; k < row->n[t]; ++k) {
                    to[k] += row->a[s][i] * row->a[t][k];
                }
            }
        }
    }
}

/* g = half of the gradient, H that of the second derivative. Returns the size of the terms of g. */
static double differentiate(const motion_rows* m)
{
    const size_t n = (size_t)m->n;
    double size = 0.0;
    memset(m->H, 0, n * n * sizeof *m->H);
    for (size_t i = 0; i < n; ++i) {
        m->g[i] = SMALL * m->y[i];
        m->H[i * n + i] = SMALL;
    }
    for (int32_t i = 0; i < m->count; ++i) {
        const motion_row* row = &m->row[i];
        const double u = lack_of(row, m->y);
        if (u == 0.0 && !row->equality) {
            continue;
        }
        for (int side = 0; side < 2; ++side) {
            for (int32_t k = 0; k < row->n[side]; ++k) {
                m->g[row->d[side] + k] += u * row->a[side][k];
            }
        }
        size += fabs(u);
        add_square(row, m->n, m->H);
    }
    return size;
}

/* One Newton step with a line search; false: at the minimum, or as near as rounding allows. */
static bool descend(const motion_rows* m, double* f)
{
    const double size = differentiate(m);
    if (!(sqrt(perpi_dot(m->n, m->g, m->g)) > MINIMAL * SMALL * size) ||
        !perpi_lu_factor(m->n, m->H, m->pivot, NULL)) {
        return false;
    }
    memcpy(m->step, m->g, (size_t)m->n * sizeof *m->step);
    perpi_lu_solve(m->n, m->H, m->pivot, m->step);
    double part = 1.0;
    for (int k = 0; k < MAX_HALVINGS; ++k, part *= 0.5) {
        for (int32_t i = 0; i < m->n; ++i) {
            m->g[i] = m->y[i] - part * m->step[i];
        }
        const double now = objective(m, m->g);
        if (now < *f) {
            *f = now;
            memcpy(m->y, m->g, (size_t)m->n * sizeof *m->y);
            return true;
        }
    }
    return false;
}

/* Whether s / |d| at y exceeds TOO_FAST times the speeds. free: |y| of the free motion. */
static bool is_excluded(const motion_rows* m, double free)
{
    double *d = m->g, s = 0.0, speed = free;
    memset(d, 0, (size_t)m->n * sizeof *d);
    for (int32_t i = 0; i < m->count; ++i) {
        const motion_row* row = &m->row[i];
        const double w = -lack_of(row, m->y);
        s -= w * row->c;
        speed = fabs(row->c) > speed ? fabs(row->c) : speed;
        for (int side = 0; side < 2; ++side) {
            for (int32_t k = 0; k < row->n[side]; ++k) {
                d[row->d[side] + k] += w * row->a[side][k];
            }
        }
    }
    return s > TOO_FAST * speed * sqrt(perpi_dot(m->n, d, d));
}

/* |y| without impulses. */
static double free_size(const perp_contact_problem* P, double* y)
{
    memcpy(y, P->k, (size_t)P->dof_count * sizeof *y);
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i];
        const int32_t n = P->dof[i + 1] - d;
        const double* L = P->M_factor + 6 * (size_t)d;
        perpi_chol_forward(n, L, y + d);
        for (int32_t k = 0; k < n; ++k) {
            y[d + k] /= L[0];
        }
    }
    return sqrt(perpi_dot(P->dof_count, y, y));
}

static perp_status take_room(perpi_arena* arena, const perp_contact_problem* P, motion_rows* m,
                             bool** grouped)
{
    const size_t n = (size_t)P->dof_count;
    m->n = P->dof_count;
    m->count = 0;
    perp_status status = perpi_arena_take(arena, (size_t)P->row_count + 1, sizeof *m->row, &m->row);
    if (status == PERP_OK) {
        status = perpi_arena_take(arena, n * n + 3 * n, sizeof *m->H, &m->H);
    }
    if (status == PERP_OK) {
        m->y = m->H + n * n;
        m->g = m->y + n;
        m->step = m->g + n;
        status = perpi_arena_take(arena, n, sizeof *m->pivot, &m->pivot);
    }
    return status != PERP_OK ? status
                             : perpi_arena_take(arena, (size_t)P->constraint_count + 1,
                                                sizeof **grouped, grouped);
}

perp_status perpi_has_no_motion(perpi_arena* arena, const perp_contact_problem* P, bool* none)
{
    *none = false;
    if (P->dof_count == 0 || P->dof_count > MAX_VELOCITIES || P->constraint_count == 0) {
        return PERP_OK;
    }
    motion_rows m;
    bool* grouped = NULL;
    const perpi_arena_mark mark = perpi_arena_get_mark(arena);
    const perp_status status = take_room(arena, P, &m, &grouped);
    if (status == PERP_OK) {
        memset(grouped, 0, (size_t)P->constraint_count * sizeof *grouped);
        for (int32_t g = 0; g < P->group_count; ++g) {
            for (int32_t k = 0; k < P->group[g].count; ++k) {
                grouped[P->group[g].member[k]] = true;
            }
        }
        collect_rows(&m, P, grouped);
        const double free = free_size(P, m.y);
        double f = objective(&m, m.y);
        for (int i = 0; i < MAX_NEWTON && descend(&m, &f); ++i) {
        }
        *none = is_excluded(&m, free);
    }
    perpi_arena_rewind(arena, mark);
    return status;
}
