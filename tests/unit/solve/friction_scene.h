/* tests/unit/solve/friction_scene.h - friction problems of rigid bodies, built from first principles
 * and without the library's lowering: W_ij = sum over shared bodies of J_i M^-1 J_j'.
 *
 *     scene s = {0};
 *     int32_t box = scene_body(&s, mass, (double[3]){ix, iy, iz}, centre, velocity);
 *     scene_contact(&s, -1, box, point, normal, mu);
 *     scene_build(&s);   // s.P
 *     scene_free(&s);
 */
#ifndef PERP_FRICTION_SCENE_H
#define PERP_FRICTION_SCENE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perp/problem.h"

enum { SCENE_ROWS_MAX = 6 };

typedef struct scene_row {
    double J[2][6]; /* on its constraint's two bodies */
} scene_row;

typedef struct scene {
    int32_t bodies, constraints, rows, body_capacity, constraint_capacity, row_capacity;
    double* inverse_mass; /* 6 per body */
    double* centre;       /* 3 per body */
    double* velocity;     /* 6 per body */
    perp_constraint* constraint;
    scene_row* row;
    double *b, *lower, *upper;
    /* built */
    int32_t *start, *column;
    size_t* at;
    double *value, *q;
    perp_friction_problem P;
} scene;

static void* scene_more(void* p, int32_t* capacity, int32_t need, size_t size)
{
    if (need > *capacity) {
        *capacity = 2 * need + 16;
    }
    p = realloc(p, (size_t)*capacity * size);
    if (p == NULL) {
        abort();
    }
    return p;
}

static int32_t scene_body(scene* s, double mass, const double inertia[3], const double centre[3],
                          const double velocity[6])
{
    const int32_t i = s->bodies++;
    s->inverse_mass = scene_more(s->inverse_mass, &s->body_capacity, s->bodies, 6 * sizeof(double));
    s->centre = scene_more(s->centre, &s->body_capacity, s->bodies, 3 * sizeof(double));
    s->velocity = scene_more(s->velocity, &s->body_capacity, s->bodies, 6 * sizeof(double));
    for (int k = 0; k < 3; ++k) {
        s->inverse_mass[6 * i + k] = 1.0 / mass;
        s->inverse_mass[6 * i + 3 + k] = 1.0 / inertia[k];
        s->centre[3 * i + k] = centre[k];
    }
    memcpy(s->velocity + 6 * i, velocity, 6 * sizeof(double));
    return i;
}

static perp_constraint* scene_constraint(scene* s, perp_constraint_kind kind, int32_t a, int32_t b,
                                         int32_t rows)
{
    const int32_t i = s->constraints++, row = s->rows;
    s->rows += rows;
    s->constraint =
        scene_more(s->constraint, &s->constraint_capacity, s->constraints, sizeof *s->constraint);
    s->row = scene_more(s->row, &s->row_capacity, s->rows, sizeof *s->row);
    s->b = scene_more(s->b, &s->row_capacity, s->rows, sizeof(double));
    s->lower = scene_more(s->lower, &s->row_capacity, s->rows, sizeof(double));
    s->upper = scene_more(s->upper, &s->row_capacity, s->rows, sizeof(double));
    memset(s->row + row, 0, (size_t)rows * sizeof *s->row);
    for (int32_t r = row; r < s->rows; ++r) {
        s->b[r] = s->lower[r] = s->upper[r] = 0.0;
    }
    s->constraint[i] = (perp_constraint){
        .kind = kind, .block = {a, b}, .row = row, .rows = rows, .cone = PERP_CONE_NONE};
    return &s->constraint[i];
}

/* One row: the velocity of b relative to a along d at a point. */
static void scene_linear(scene* s, int32_t row, int32_t a, int32_t b, const double at[3],
                         const double d[3])
{
    const int32_t body[2] = {a, b};
    for (int side = 0; side < 2; ++side) {
        if (body[side] < 0) {
            continue;
        }
        const double sign = side == 0 ? -1.0 : 1.0;
        double x[3];
        for (int k = 0; k < 3; ++k) {
            x[k] = at[k] - s->centre[3 * body[side] + k];
        }
        double* J = s->row[row].J[side];
        for (int k = 0; k < 3; ++k) {
            J[k] = sign * d[k];
            J[3 + k] = sign * (x[(k + 1) % 3] * d[(k + 2) % 3] - x[(k + 2) % 3] * d[(k + 1) % 3]);
        }
    }
}

/* normal n, tangents t and n x t; turn: angle of t in the tangent plane. */
static void scene_frame(const double n[3], double turn, double t[3], double o[3])
{
    const int axis = fabs(n[0]) < 0.9 ? 0 : 1;
    double x[3] = {0, 0, 0}, y[3];
    x[axis] = 1.0;
    const double along = x[0] * n[0] + x[1] * n[1] + x[2] * n[2];
    double length = 0.0;
    for (int k = 0; k < 3; ++k) {
        x[k] -= along * n[k];
        length += x[k] * x[k];
    }
    for (int k = 0; k < 3; ++k) {
        x[k] /= sqrt(length);
    }
    for (int k = 0; k < 3; ++k) {
        y[k] = n[(k + 1) % 3] * x[(k + 2) % 3] - n[(k + 2) % 3] * x[(k + 1) % 3];
    }
    for (int k = 0; k < 3; ++k) {
        t[k] = cos(turn) * x[k] + sin(turn) * y[k];
        o[k] = cos(turn) * y[k] - sin(turn) * x[k];
    }
}

static perp_constraint* scene_contact_turned(scene* s, int32_t a, int32_t b, const double at[3],
                                             const double n[3], double mu, double turn)
{
    perp_constraint* c = scene_constraint(s, PERP_CONSTRAINT_CONTACT, a, b, 3);
    double t[3], o[3];
    scene_frame(n, turn, t, o);
    c->cone = PERP_CONE_QUADRATIC;
    c->mu = mu;
    scene_linear(s, c->row, a, b, at, n);
    scene_linear(s, c->row + 1, a, b, at, t);
    scene_linear(s, c->row + 2, a, b, at, o);
    return c;
}

static perp_constraint* scene_contact(scene* s, int32_t a, int32_t b, const double at[3],
                                      const double n[3], double mu)
{
    return scene_contact_turned(s, a, b, at, n, mu, 0.0);
}

/* Four contacts at the corners of a face at height z, half width h, centred at x, y. */
static void scene_face(scene* s, int32_t a, int32_t b, double x, double y, double z, double h,
                       double mu)
{
    const double up[3] = {0, 0, 1};
    for (int k = 0; k < 4; ++k) {
        const double at[3] = {x + (k % 2 ? h : -h), y + (k / 2 ? h : -h), z};
        scene_contact(s, a, b, at, up, mu);
    }
}

/* A cube of side 1 and given mass, centre at x, y, z, falling for a step h of 10 ms. */
static int32_t scene_cube(scene* s, double mass, double x, double y, double z, double vx, double vy)
{
    const double I = mass / 6.0, velocity[6] = {vx, vy, -0.0981, 0, 0, 0};
    return scene_body(s, mass, (const double[3]){I, I, I}, (const double[3]){x, y, z}, velocity);
}

static void scene_build(scene* s)
{
    const int32_t n = s->constraints;
    int32_t blocks = 0;
    size_t values = 0;
    s->start = malloc(((size_t)n + 1) * sizeof *s->start);
    for (int pass = 0; pass < 2; ++pass) {
        blocks = 0;
        values = 0;
        for (int32_t i = 0; i < n; ++i) {
            const perp_constraint* c = &s->constraint[i];
            s->start[i] = blocks;
            for (int32_t j = 0; j < n; ++j) {
                const perp_constraint* d = &s->constraint[j];
                bool share = i == j;
                for (int k = 0; k < 4; ++k) {
                    share = share || (c->block[k / 2] >= 0 && c->block[k / 2] == d->block[k % 2]);
                }
                if (!share) {
                    continue;
                }
                if (pass == 1) {
                    s->column[blocks] = j;
                    s->at[blocks] = values;
                    double* W = s->value + values;
                    for (int32_t e = 0; e < c->rows * d->rows; ++e) {
                        double sum = 0.0;
                        for (int k = 0; k < 4; ++k) {
                            const int32_t body = c->block[k / 2];
                            if (body < 0 || body != d->block[k % 2]) {
                                continue;
                            }
                            const double* J = s->row[c->row + e / d->rows].J[k / 2];
                            const double* K = s->row[d->row + e % d->rows].J[k % 2];
                            for (int l = 0; l < 6; ++l) {
                                sum += J[l] * s->inverse_mass[6 * body + l] * K[l];
                            }
                        }
                        W[e] = sum;
                    }
                }
                ++blocks;
                values += (size_t)(c->rows * d->rows);
            }
        }
        s->start[n] = blocks;
        if (pass == 0) {
            s->column = malloc((size_t)blocks * sizeof *s->column);
            s->at = malloc((size_t)blocks * sizeof *s->at);
            s->value = malloc(values * sizeof *s->value);
        }
    }
    s->q = malloc((size_t)s->rows * sizeof *s->q);
    for (int32_t i = 0; i < n; ++i) {
        const perp_constraint* c = &s->constraint[i];
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            s->q[r] = s->b[r];
            for (int side = 0; side < 2; ++side) {
                for (int l = 0; l < 6 && c->block[side] >= 0; ++l) {
                    s->q[r] += s->row[r].J[side][l] * s->velocity[6 * c->block[side] + l];
                }
            }
        }
    }
    s->P = (perp_friction_problem){.constraint_count = n,
                                   .row_count = s->rows,
                                   .W = {s->start, s->column, s->at, s->value},
                                   .q = s->q,
                                   .lower = s->lower,
                                   .upper = s->upper,
                                   .constraint = s->constraint};
}

/* v: 6 per body, M^-1 (k + J' r) */
static void scene_velocities(const scene* s, const double* r, double* v)
{
    memcpy(v, s->velocity, 6 * (size_t)s->bodies * sizeof *v);
    for (int32_t i = 0; i < s->constraints; ++i) {
        const perp_constraint* c = &s->constraint[i];
        for (int32_t k = c->row; k < c->row + c->rows; ++k) {
            for (int side = 0; side < 2; ++side) {
                const int32_t body = c->block[side];
                for (int l = 0; l < 6 && body >= 0; ++l) {
                    v[6 * body + l] += s->inverse_mass[6 * body + l] * s->row[k].J[side][l] * r[k];
                }
            }
        }
    }
}

static void scene_free(scene* s)
{
    free(s->inverse_mass);
    free(s->centre);
    free(s->velocity);
    free(s->constraint);
    free(s->row);
    free(s->b);
    free(s->lower);
    free(s->upper);
    free(s->start);
    free(s->column);
    free(s->at);
    free(s->value);
    free(s->q);
    memset(s, 0, sizeof *s);
}

#endif
