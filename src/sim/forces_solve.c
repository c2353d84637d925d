/* src/sim/forces_solve.c - see forces_solve.h.
 *
 * Source     [T03 CP1]; the cases are those of [B09 2.5.2]: separate, roll, slide
 * Departure  a small problem is solved by enumerating all of its cases, each a linear system: that
 *            finds every solution, and proves that there is none. It requires the friction of
 *            rolling contacts to be an interval (planar scenes). With discs, and for many contacts,
 *            the iterative methods for friction problems are used, which may find no solution.
 */
#include "sim/forces_solve.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "problem/cone.h"

static const double TOLERANCE = 1e-9; /* relative to the largest acceleration, or force */
static const double MOST_CASES = 300000.0;

typedef struct scales {
    double a, z;
} scales;

static scales scales_of(const perpi_force_problem* p)
{
    scales s = {0.0, 0.0};
    for (int32_t i = 0; i < p->n; ++i) {
        const double w = fabs(p->W[i * p->n + i]);
        s.a = fmax(s.a, fabs(p->q[i]));
        s.z = fmax(s.z, w > 0.0 ? fabs(p->q[i]) / w : 0.0);
    }
    return s;
}

static void accelerations(const perpi_force_problem* p, const double* z, double* a)
{
    perpi_matvec(p->n, p->n, p->W, z, a);
    for (int32_t i = 0; i < p->n; ++i) {
        a[i] += p->q[i];
    }
}

/* The largest violation, relative to the accelerations; a: scratch, n. */
static double violation(const perpi_force_problem* p, const double* z, double* a)
{
    const scales s = scales_of(p);
    double worst = 0.0, biggest = s.a;
    accelerations(p, z, a);
    for (int32_t i = 0; i < p->n; ++i) {
        biggest = fmax(biggest, fabs(p->W[i * p->n + i] * z[i]));
        if (!isfinite(z[i]) || !isfinite(a[i])) {
            return INFINITY;
        }
    }
    for (int32_t u = 0; u < p->units; ++u) {
        const perpi_unit* unit = &p->unit[u];
        const int32_t r = unit->row;
        if (unit->kind == PERPI_UNIT_HELD) {
            for (int32_t k = 0; k < unit->rows; ++k) {
                worst = fmax(worst, fabs(a[r + k]));
            }
            continue;
        }
        const double w = fabs(p->W[r * p->n + r]);
        worst = fmax(worst, fabs(fmin(w * z[r], a[r])));
        if (unit->kind == PERPI_UNIT_ROLLING) {
            const perp_constraint c = {.rows = unit->rows,
                                       .cone = unit->cone,
                                       .directions = unit->directions,
                                       .mu = unit->mu};
            double w_t = 0.0, x[2] = {0.0, 0.0};
            for (int32_t k = 1; k < unit->rows; ++k) {
                w_t = fmax(w_t, p->W[(r + k) * p->n + r + k]);
            }
            for (int32_t k = 1; k < unit->rows; ++k) {
                x[k - 1] = z[r + k] - a[r + k] / w_t;
            }
            perpi_project_friction(&c, unit->mu * fmax(z[r], 0.0), x, x);
            for (int32_t k = 1; k < unit->rows; ++k) {
                worst = fmax(worst, w_t * fabs(z[r + k] - x[k - 1]));
            }
        }
    }
    return biggest > 0.0 ? worst / biggest : 0.0;
}

/* ---- all cases -------------------------------------------------------------------------------------*/

typedef struct search {
    const perpi_force_problem* p;
    int32_t* state; /* of each unit */
    double *A, *x, *z, *a, *work;
    double* found; /* accelerations of the bodies by forces, of the solutions so far */
    int32_t count;
    perpi_luc lu;
} search;

enum { FOUND_MOST = 16 };

static int32_t cases_of(const perpi_unit* unit)
{
    return unit->kind == PERPI_UNIT_HELD ? 1 : unit->kind == PERPI_UNIT_NORMAL ? 2 : 4;
}

/* Fills s->z for the current case; false: the linear system has no solution. */
static bool solve_case(search* s)
{
    const perpi_force_problem* p = s->p;
    const int32_t n = p->n;
    /* unknowns that act, with the friction that follows them: row, tangential row, factor */
    int32_t act[512], with[512], m = 0;
    double factor[512];
    for (int32_t u = 0; u < p->units; ++u) {
        const perpi_unit* unit = &p->unit[u];
        const int32_t state = s->state[u];
        const bool whole = unit->kind == PERPI_UNIT_HELD || state == 1;
        for (int32_t k = 0; k < unit->rows; ++k) {
            if (whole || (state >= 2 && k == 0)) {
                act[m] = unit->row + k;
                with[m] = !whole ? unit->row + 1 : -1;
                factor[m++] = state == 2 ? -unit->mu : unit->mu;
            }
        }
    }
    for (int32_t i = 0; i < m; ++i) {
        for (int32_t j = 0; j < m; ++j) {
            s->A[i * m + j] = p->W[act[i] * n + act[j]] +
                              (with[j] >= 0 ? factor[j] * p->W[act[i] * n + with[j]] : 0.0);
        }
        s->x[i] = -p->q[act[i]];
    }
    memset(s->z, 0, (size_t)n * sizeof *s->z);
    if (m == 0) {
        return true;
    }
    s->lu.n = m;
    if (!perpi_luc_factor(m, s->A, 1e-12, &s->lu)) {
        return false;
    }
    (void)perpi_luc_solve_basic(&s->lu, s->x, s->work);
    for (int32_t i = 0; i < m; ++i) {
        s->z[act[i]] = s->x[i];
        if (with[i] >= 0) {
            s->z[with[i]] = factor[i] * s->x[i];
        }
    }
    return true; /* the equations are checked with the inequalities */
}

/* Whether the accelerations differ from those of all solutions so far; then it is another
 * solution. */
static bool is_new(search* s)
{
    const perpi_force_problem* p = s->p;
    double* now = s->found + (size_t)s->count * (size_t)p->dofs;
    double size = 0.0;
    perpi_matvec(p->dofs, p->n, p->B, s->z, now);
    for (int32_t i = 0; i < p->dofs; ++i) {
        size = fmax(size, fabs(now[i]));
    }
    for (int32_t k = 0; k < s->count; ++k) {
        const double* old = s->found + (size_t)k * (size_t)p->dofs;
        double off = 0.0, largest = size;
        for (int32_t i = 0; i < p->dofs; ++i) {
            off = fmax(off, fabs(now[i] - old[i]));
            largest = fmax(largest, fabs(old[i]));
        }
        if (off <= 1e-6 * largest) {
            return false;
        }
    }
    return true;
}

static void search_all(search* s, double* z)
{
    const perpi_force_problem* p = s->p;
    memset(s->state, 0, (size_t)p->units * sizeof *s->state);
    for (;;) {
        if (s->count < FOUND_MOST && solve_case(s) && violation(p, s->z, s->a) <= TOLERANCE &&
            is_new(s)) {
            if (s->count == 0) {
                memcpy(z, s->z, (size_t)p->n * sizeof *z);
            }
            s->count += 1;
        }
        int32_t u = 0;
        while (u < p->units && ++s->state[u] == cases_of(&p->unit[u])) {
            s->state[u++] = 0;
        }
        if (u == p->units) {
            return;
        }
    }
}

static bool can_enumerate(const perpi_force_problem* p)
{
    double cases = 1.0;
    for (int32_t u = 0; u < p->units; ++u) {
        if (p->unit[u].kind == PERPI_UNIT_ROLLING && p->unit[u].rows > 2) {
            return false;
        }
        cases *= (double)cases_of(&p->unit[u]);
    }
    return cases <= MOST_CASES && p->n <= 512 && cases * (double)p->n * p->n * p->n < 3e9;
}

static perp_status enumerate(const perpi_force_problem* p, double* z, int32_t* solutions)
{
    const size_t n = (size_t)p->n, dofs = (size_t)p->dofs;
    double* room = NULL;
    int32_t* whole = NULL;
    perp_status status = perpi_alloc(p->context, 2 * n * n + 6 * n + (FOUND_MOST + 1) * dofs + 8,
                                     sizeof *room, &room);
    if (status == PERP_OK) {
        status = perpi_alloc(p->context, 2 * n + (size_t)p->units + 1, sizeof *whole, &whole);
    }
    if (status == PERP_OK) {
        search s = {.p = p, .A = room, .lu = {.LU = room + n * n}};
        double* at = room + 2 * n * n;
        double** const part[] = {&s.x, &s.z, &s.a, &s.work, &s.lu.dr, &s.lu.dc};
        for (size_t i = 0; i < sizeof part / sizeof part[0]; ++i, at += n) {
            *part[i] = at;
        }
        s.found = at;
        s.lu.row = whole;
        s.lu.col = whole + n;
        s.state = whole + 2 * n;
        search_all(&s, z);
        *solutions = s.count;
    }
    perpi_free(p->context, room);
    perpi_free(p->context, whole);
    return status;
}

/* ---- iterative solution ---------------------------------------------------------------------- */

static perp_status iterate(const perpi_force_problem* p, double* z, bool* solved)
{
    const size_t units = (size_t)p->units, n = (size_t)p->n;
    perp_constraint* constraint = NULL;
    int32_t* index = NULL;
    size_t* where = NULL;
    double *value = NULL, *a = NULL;
    perp_friction_solver* solver = NULL;
    *solved = false;
    perp_status status = perpi_alloc(p->context, units, sizeof *constraint, &constraint);
    if (status == PERP_OK) {
        status = perpi_alloc(p->context, units + 1 + units * units, sizeof *index, &index);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(p->context, units * units, sizeof *where, &where);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(p->context, n * n, sizeof *value, &value);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(p->context, n, sizeof *a, &a);
    }
    if (status == PERP_OK) {
        status = perp_friction_solver_create(p->context, "auto", NULL, 0, &solver);
    }
    if (status == PERP_OK) {
        size_t at = 0;
        int32_t *start = index, *column = index + units + 1;
        for (size_t i = 0; i < units; ++i) {
            const perpi_unit* u = &p->unit[i];
            constraint[i] =
                (perp_constraint){.kind = u->kind == PERPI_UNIT_HELD ? PERP_CONSTRAINT_EQUALITY
                                                                     : PERP_CONSTRAINT_CONTACT,
                                  .block = {0, -1},
                                  .row = u->row,
                                  .rows = u->rows,
                                  .cone = u->kind == PERPI_UNIT_ROLLING ? u->cone : PERP_CONE_NONE,
                                  .directions = u->kind == PERPI_UNIT_ROLLING ? u->directions : 0,
                                  .mu = u->kind == PERPI_UNIT_ROLLING ? u->mu : 0.0};
            start[i] = (int32_t)(i * units);
            for (size_t j = 0; j < units; ++j) {
                const perpi_unit* w = &p->unit[j];
                column[i * units + j] = (int32_t)j;
                where[i * units + j] = at;
                for (int32_t k = 0; k < u->rows; ++k) {
                    for (int32_t l = 0; l < w->rows; ++l) {
                        value[at++] = p->W[(u->row + k) * p->n + w->row + l];
                    }
                }
            }
        }
        start[units] = (int32_t)(units * units);
        const perp_friction_problem problem = {
            .constraint_count = p->units,
            .row_count = p->n,
            .W = {.start = start, .column = column, .at = where, .value = value},
            .q = p->q,
            .constraint = constraint};
        perp_solve_options options = perp_solve_options_default();
        options.tolerance = 1e-12;
        options.enough = TOLERANCE;
        perp_contact_residual residual;
        perp_report report;
        memset(z, 0, n * sizeof *z);
        status = perp_friction_solve(solver, &problem, &options, false, z, &residual, &report);
        *solved = status == PERP_OK && violation(p, z, a) <= TOLERANCE;
    }
    perp_friction_solver_destroy(solver);
    perpi_free(p->context, constraint);
    perpi_free(p->context, index);
    perpi_free(p->context, where);
    perpi_free(p->context, value);
    perpi_free(p->context, a);
    return status;
}

perp_status perpi_forces_solve(const perpi_force_problem* p, double* z, perp_existence* existence,
                               int32_t* solutions, double* residual)
{
    bool solved = p->n == 0;
    *solutions = solved ? 1 : 0;
    *existence = PERP_EXISTENCE_ONE;
    *residual = 0.0;
    if (solved) {
        return PERP_OK;
    }
    double* a = NULL;
    perp_status status = perpi_alloc(p->context, (size_t)p->n, sizeof *a, &a);
    const bool decided = can_enumerate(p);
    if (status == PERP_OK && decided) {
        status = enumerate(p, z, solutions);
        *existence = *solutions == 0   ? PERP_EXISTENCE_NONE
                     : *solutions == 1 ? PERP_EXISTENCE_ONE
                                       : PERP_EXISTENCE_SEVERAL;
    } else if (status == PERP_OK) {
        status = iterate(p, z, &solved);
        *solutions = solved ? 1 : 0;
        *existence = solved ? PERP_EXISTENCE_FOUND : PERP_EXISTENCE_NOT_FOUND;
    }
    if (status == PERP_OK) {
        *residual = *solutions > 0 ? violation(p, z, a) : INFINITY;
    }
    perpi_free(p->context, a);
    return status;
}
