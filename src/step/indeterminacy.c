/* src/step/indeterminacy.c - whether the motion of a step without inertia is unique.
 *
 * Source     [B09 (3.48)], proposition 1: the motion is unique if no dq other than 0 keeps the
 *            pressed
 *            contacts closed and their tangential displacements
 * Departure  counted instead of proved: the directions that no strictly active row resists. Rows
 *            that resist: pressed normals, friction of contacts that stick inside their cone,
 *            equality rows (springs too), bounded rows between their bounds, drag. Of a sliding
 *            contact, the friction potential mu p_n |u| is flat along u: only the direction across
 *            it resists (the proposition counts both, which is wrong for a body that slides by
 *            its weight alone, at any speed). A polygon's potential is flat around a slip whose
 *            friction force is a corner. A contact without an impulse resists nothing.
 */
#include <string.h>

#include "problem/cone.h"
#include "step/step.h"

enum { MOST = 240 }; /* velocities; the cost grows with the cube */
static const double TINY = 1e-9;

typedef struct space {
    int32_t n, rank;
    double* basis; /* rank rows of n: orthonormal, in velocities scaled by sqrt(M) */
    double* root;  /* n: sqrt(M_ii) */
    double* row;   /* n: the row being added */
} space;

/* Adds s->row to the span of the resisted directions. */
static void add_row(space* s)
{
    double size = 0.0, left = 0.0;
    for (int32_t i = 0; i < s->n; ++i) {
        s->row[i] /= s->root[i];
        size += s->row[i] * s->row[i];
    }
    if (!(size > 0.0) || s->rank == s->n) {
        return;
    }
    for (int pass = 0; pass < 2; ++pass) { /* orthogonalising twice is enough */
        for (int32_t b = 0; b < s->rank; ++b) {
            const double* base = s->basis + (size_t)b * (size_t)s->n;
            double dot = 0.0;
            for (int32_t i = 0; i < s->n; ++i) {
                dot += base[i] * s->row[i];
            }
            for (int32_t i = 0; i < s->n; ++i) {
                s->row[i] -= dot * base[i];
            }
        }
    }
    for (int32_t i = 0; i < s->n; ++i) {
        left += s->row[i] * s->row[i];
    }
    if (left > TINY * TINY * size) {
        double* base = s->basis + (size_t)s->rank++ * (size_t)s->n;
        for (int32_t i = 0; i < s->n; ++i) {
            base[i] = s->row[i] / sqrt(left);
        }
    }
}

/* s->row += factor times row r of constraint c, restricted to the velocities of bodies. */
static void add_scaled_row(space* s, const perp_contact_problem* P, const perp_constraint* c,
                           int32_t r, double factor)
{
    const double* J = P->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const int32_t d = P->dof[c->block[side]], n = P->dof[c->block[side] + 1] - d;
        for (int32_t i = 0; i < n && d + i < s->n; ++i) {
            s->row[d + i] += factor * J[r * n + i];
        }
        J += (size_t)c->rows * (size_t)n;
    }
}

static void add_one(space* s, const perp_contact_problem* P, const perp_constraint* c, int32_t r)
{
    memset(s->row, 0, (size_t)s->n * sizeof *s->row);
    add_scaled_row(s, P, c, r, 1.0);
    add_row(s);
}

/* The directions across u among the tangential rows: all of them if u is 0. */
static void add_across(space* s, const perp_contact_problem* P, const perp_constraint* c,
                       const double* u)
{
    const int32_t n = c->rows - 1;
    double size = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        size += u[i] * u[i];
    }
    for (int32_t k = 0; k < n; ++k) { /* row k of 1 - u u' / u' u */
        memset(s->row, 0, (size_t)s->n * sizeof *s->row);
        for (int32_t i = 0; i < n; ++i) {
            const double e = c->cone == PERP_CONE_ELLIPSOID ? c->e[i] : 1.0;
            const double part = (i == k ? 1.0 : 0.0) - (size > 0.0 ? u[k] * u[i] / size : 0.0);
            add_scaled_row(s, P, c, 1 + i, e * part);
        }
        add_row(s);
    }
}

/* Whether p_t is a corner of the polygon, and the slip not along an edge's normal. */
static bool at_corner(const perp_constraint* c, const double* p_t, double radius)
{
    if (c->cone != PERP_CONE_POLYGON || c->rows != 3) {
        return false;
    }
    return hypot(p_t[0], p_t[1]) > (1.0 - TINY) * radius;
}

/* Adds the friction of a pressed contact. u, speed: its tangential velocities, and the speed
 * that counts as zero. */
static void add_friction(space* s, const perp_contact_problem* P, const perp_constraint* c,
                         const double* p, const double* u, double speed)
{
    const int32_t n = c->rows - 1;
    const double radius = c->mu * p[0];
    double slip = 0.0, inside[3], reach[3];
    double scaled[3];
    for (int32_t i = 0; i < n; ++i) {
        const double e = c->cone == PERP_CONE_ELLIPSOID ? c->e[i] : 1.0;
        scaled[i] = e * u[i];
        inside[i] = p[1 + i] / e;
        slip = hypot(slip, scaled[i]);
    }
    if (slip > TINY * speed) {
        if (n > 1 && !at_corner(c, p + 1, radius)) {
            add_across(s, P, c, scaled);
        }
        return;
    }
    /* sticks strictly if a slightly larger force in the same direction is still in the cone */
    double excess = 0.0, size = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        reach[i] = (1.0 + 2.0 * TINY) * inside[i];
        size = hypot(size, inside[i]);
    }
    double nearest[3];
    perpi_project_friction(c, radius, reach, nearest);
    for (int32_t i = 0; i < n; ++i) {
        excess = hypot(excess, nearest[i] - reach[i]);
    }
    const double none[3] = {0.0, 0.0, 0.0};
    if (radius > 0.0 && excess <= TINY * size) {
        add_across(s, P, c, none);
    } else if (radius > 0.0 && n > 1) {
        add_across(s, P, c, inside);
    }
}

static void add_constraint(space* s, const perp_contact_problem* P, const perp_constraint* c,
                           const double* v, const double* p, const perpi_formulation* f,
                           double pressure, double speed)
{
    const int32_t index = (int32_t)(c - P->constraint);
    if (c->kind != PERP_CONSTRAINT_CONTACT) {
        for (int32_t r = 0; r < c->rows; ++r) {
            const double lower = c->kind == PERP_CONSTRAINT_BOUNDED ? P->lower[c->row + r] : 0.0;
            const double upper = c->kind == PERP_CONSTRAINT_BOUNDED ? P->upper[c->row + r] : 0.0;
            const double margin = TINY * (fabs(p[c->row + r]) + pressure);
            if (c->kind == PERP_CONSTRAINT_EQUALITY ||
                (p[c->row + r] > lower + margin && p[c->row + r] < upper - margin)) {
                add_one(s, P, c, r);
            }
        }
        return;
    }
    if (!(p[c->row] > TINY * pressure)) {
        return;
    }
    add_one(s, P, c, 0);
    double u[3] = {0.0, 0.0, 0.0};
    for (int32_t r = 1; r < c->rows; ++r) {
        u[r - 1] = perpi_formulation_speed(f, index, r, v) + P->b[c->row + r];
    }
    if (c->rows > 1) {
        add_friction(s, P, c, p + c->row, u, speed);
    }
}

perp_status perpi_indeterminacy(perpi_step* step, int32_t* directions)
{
    const perpi_formulation* f = step->formulation;
    const perp_contact_problem* P = &f->problem;
    const size_t n = (size_t)f->body_dofs;
    *directions = n > MOST ? -1 : 0;
    if (n == 0 || n > MOST) {
        return PERP_OK;
    }
    const perp_status status =
        perpi_grow(step->context, &step->equilibrium.basis, &step->equilibrium.basis_capacity,
                   n * n + 2 * n, sizeof *step->equilibrium.basis);
    if (status != PERP_OK) {
        return status;
    }
    space s = {.n = (int32_t)n,
               .basis = step->equilibrium.basis,
               .root = step->equilibrium.basis + n * n,
               .row = step->equilibrium.basis + n * n + n};
    size_t at = 0;
    for (size_t i = 0; i < step->model->body_count; ++i) {
        const perpi_body* body = &step->model->body[i];
        for (int32_t k = 0; k < body->dofs; ++k) {
            const size_t d = (size_t)(f->dof[f->block_of[i]] + k);
            s.root[d] = sqrt(P->M[at + (size_t)(k * body->dofs + k)]);
        }
        at += (size_t)(body->dofs * body->dofs);
    }
    for (size_t i = 0; i < step->model->body_count; ++i) {
        const perpi_body* body = &step->model->body[i];
        for (int32_t k = 0; k < body->dofs; ++k) {
            if ((k < step->model->dimension ? body->drag_linear : body->drag_angular) > 0.0) {
                memset(s.row, 0, n * sizeof *s.row);
                s.row[f->dof[f->block_of[i]] + k] = 1.0;
                add_row(&s);
            }
        }
    }
    double pressure = 0.0, speed = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            continue;
        }
        const double p = step->p_problem[c->row];
        pressure = p > pressure ? p : pressure;
        for (int32_t r = 1; r < c->rows; ++r) {
            const double given = fabs(P->b[c->row + r]);
            const double own = fabs(perpi_formulation_speed(f, i, r, step->v_problem));
            speed = given > speed ? given : speed;
            speed = own > speed ? own : speed;
        }
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        add_constraint(&s, P, &P->constraint[i], step->v_problem, step->p_problem, f, pressure,
                       speed);
    }
    *directions = s.n - s.rank;
    return PERP_OK;
}
