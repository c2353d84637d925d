/* tests/conform/problems.h - contact problems to solve, built by hand from boxes and particles.
 *
 * z is up; a contact's block[0] is below, block[1] above, its normal +z, its tangents x and y. The
 * time step is 0.01 s, k = M v + h f.
 */
#ifndef PERP_TEST_CONFORM_PROBLEMS_H
#define PERP_TEST_CONFORM_PROBLEMS_H

#include "conform/stewart_trinkle.h"
#include "perp/problem.h"

enum { TEST_BLOCKS = 8, TEST_CONSTRAINTS = 48, TEST_ROWS = 160, TEST_JAC = 4096 };

typedef struct test_contact {
    perp_contact_problem problem;
    const char* name;
    bool hard; /* for methods that iterate: slow convergence is no fault */
    int32_t dof[TEST_BLOCKS + 1];
    double M[TEST_BLOCKS * 36];
    size_t M_used;
    double k[TEST_BLOCKS * 6];
    double J[TEST_JAC];
    size_t J_used;
    double b[TEST_ROWS], lower[TEST_ROWS], upper[TEST_ROWS], compliance[TEST_ROWS];
    bool compliant; /* compliance counts */
    perp_constraint constraint[TEST_CONSTRAINTS];
} test_contact;

/* After every change, for the struct may have been copied. */
static inline const perp_contact_problem* test_contact_view(test_contact* t)
{
    perp_contact_problem* p = &t->problem;
    p->dof = t->dof;
    p->M = t->M;
    p->k = t->k;
    p->J = t->J;
    p->b = t->b;
    p->lower = t->lower;
    p->upper = t->upper;
    p->compliance = t->compliant ? t->compliance : NULL;
    p->constraint = t->constraint;
    return p;
}

/* diagonal: nv masses and moments; v: velocities; f: forces over the step. */
static inline int32_t test_add_block(test_contact* t, int32_t nv, const double* diagonal,
                                     const double* v, const double* f)
{
    perp_contact_problem* p = &t->problem;
    const int32_t d = p->dof_count;
    for (int32_t i = 0; i < nv; ++i) {
        for (int32_t j = 0; j < nv; ++j) {
            t->M[t->M_used++] = i == j ? diagonal[i] : 0.0;
        }
        t->k[d + i] = diagonal[i] * v[i] + 0.01 * f[i];
    }
    p->dof_count += nv;
    t->dof[++p->block_count] = p->dof_count;
    return p->block_count - 1;
}

static inline double* test_add_constraint(test_contact* t, perp_constraint_kind kind, int32_t below,
                                          int32_t above, int32_t rows)
{
    perp_contact_problem* p = &t->problem;
    perp_constraint* c = &t->constraint[p->constraint_count++];
    *c = (perp_constraint){.kind = kind,
                           .block = {below, above},
                           .row = p->row_count,
                           .rows = rows,
                           .jac = t->J_used,
                           .e = {1, 1, 1}};
    p->row_count += rows;
    for (int32_t side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block >= 0) {
            t->J_used += (size_t)rows * (size_t)(t->dof[block + 1] - t->dof[block]);
        }
    }
    return t->J + c->jac;
}

/* Rows of a spatial contact at r from the centre of a body with 6 (3 for a particle) dofs. */
static inline double* test_fill_rows(double* J, int32_t rows, int32_t nv, const double* r,
                                     double sign)
{
    const double axis[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
    for (int32_t i = 0; i < rows; ++i) {
        const double* d = axis[i];
        const double full[6] = {d[0],
                                d[1],
                                d[2],
                                r[1] * d[2] - r[2] * d[1],
                                r[2] * d[0] - r[0] * d[2],
                                r[0] * d[1] - r[1] * d[0]};
        for (int32_t j = 0; j < nv; ++j) {
            J[i * nv + j] = sign * full[j];
        }
    }
    return J + rows * nv;
}

static inline void test_add_contact(test_contact* t, int32_t below, const double* r_below,
                                    int32_t above, const double* r_above, int32_t directions,
                                    double mu, double gap)
{
    const int32_t rows = directions > 0 ? 3 : 1;
    double* J = test_add_constraint(t, PERP_CONSTRAINT_CONTACT, below, above, rows);
    perp_constraint* c = &t->constraint[t->problem.constraint_count - 1];
    c->cone = directions > 0 ? PERP_CONE_POLYGON : PERP_CONE_NONE;
    c->directions = directions;
    c->mu = directions > 0 ? mu : 0.0;
    if (below >= 0) {
        J = test_fill_rows(J, rows, t->dof[below + 1] - t->dof[below], r_below, -1.0);
    }
    test_fill_rows(J, rows, t->dof[above + 1] - t->dof[above], r_above, 1.0);
    t->b[c->row] = gap / 0.01;
}

/* boxes of 1 x 1 x 0.5 on each other; mass[i]; motion 0: at rest, 1: sliding, 2: falling and
 * tumbling; directions[i] for the contacts below box i, 0: no friction. */
static inline test_contact test_boxes(const char* name, int32_t boxes, const double* mass,
                                      const int32_t* directions, int32_t motion, uint64_t seed)
{
    test_contact t = {.name = name};
    uint64_t random = seed;
    for (int32_t b = 0; b < boxes; ++b) {
        const double m = mass[b], a = m / 12.0 * (1.0 + 0.25), z = m / 6.0;
        const double diagonal[6] = {m, m, m, a, a, z}, f[6] = {0, 0, -9.81 * m, 0, 0, 0};
        double v[6] = {0};
        if (motion >= 1) {
            v[0] = test_uniform(&random, -1, 1);
            v[1] = test_uniform(&random, -1, 1);
            v[5] = test_uniform(&random, -1, 1);
        }
        if (motion == 2) {
            v[2] = test_uniform(&random, -1, 0);
            v[3] = test_uniform(&random, -0.5, 0.5);
            v[4] = test_uniform(&random, -0.5, 0.5);
        }
        test_add_block(&t, 6, diagonal, v, f);
        for (int32_t corner = 0; corner < 4; ++corner) {
            const double x = corner & 1 ? 0.5 : -0.5, y = corner & 2 ? 0.5 : -0.5;
            const double top[3] = {x, y, 0.25}, bottom[3] = {x, y, -0.25};
            test_add_contact(&t, b - 1, top, b, bottom,
                             directions[b] < 0 ? 3 + (corner + b) % 6 : directions[b], 0.5,
                             motion == 2 ? test_uniform(&random, -1e-4, 1e-3) : 0.0);
        }
    }
    t.hard = boxes > 2;
    return t;
}

/* A planar box (x, z, angle) with two contacts of two rows. */
static inline test_contact test_planar(const char* name, double push)
{
    test_contact t = {.name = name};
    const double diagonal[3] = {2, 2, 0.3}, v[3] = {0, 0, 0}, f[3] = {push, -19.62, 0};
    test_add_block(&t, 3, diagonal, v, f);
    for (int32_t i = 0; i < 2; ++i) {
        const double x = i ? 0.5 : -0.5, z = -0.25;
        double* J = test_add_constraint(&t, PERP_CONSTRAINT_CONTACT, -1, 0, 2);
        perp_constraint* c = &t.constraint[t.problem.constraint_count - 1];
        c->cone = PERP_CONE_POLYGON;
        c->directions = 2;
        c->mu = 0.5;
        const double rows[6] = {0, 1, x, 1, 0, -z}; /* the angle turns x towards z */
        memcpy(J, rows, sizeof rows);
    }
    return t;
}

static inline test_contact test_particle(const char* name, int32_t directions, double speed)
{
    test_contact t = {.name = name};
    const double diagonal[3] = {0.1, 0.1, 0.1}, v[3] = {speed, 0.3 * speed, -1};
    const double f[3] = {0, 0, -0.981}, r[3] = {0};
    test_add_block(&t, 3, diagonal, v, f);
    test_add_contact(&t, -1, r, 0, r, directions, 0.3, 0.0);
    return t;
}

/* A box on the ground, driven along x by a motor of limited impulse, kept from turning about z by
 * an equality row. */
static inline test_contact test_driven(const char* name, double strength)
{
    const double mass[1] = {3};
    const int32_t directions[1] = {8};
    test_contact t = test_boxes(name, 1, mass, directions, 1, 5);
    double* J = test_add_constraint(&t, PERP_CONSTRAINT_BOUNDED, -1, 0, 1);
    const int32_t row = t.constraint[t.problem.constraint_count - 1].row;
    J[0] = 1.0;
    t.b[row] = -2.0; /* asks for 2 m/s */
    t.lower[row] = -strength;
    t.upper[row] = strength;
    J = test_add_constraint(&t, PERP_CONSTRAINT_EQUALITY, -1, 0, 1);
    J[5] = 1.0;
    return t;
}

/* The same with a servo instead of the motor and a spring instead of the hard row. */
static inline test_contact test_soft(const char* name, double strength, double compliance)
{
    test_contact t = test_driven(name, strength);
    for (int32_t i = t.problem.constraint_count - 2; i < t.problem.constraint_count; ++i) {
        t.compliance[t.constraint[i].row] = compliance;
    }
    t.compliant = true;
    return t;
}

/* Problem number index into *t; false after the last. */
static inline bool test_contact_make(int32_t index, test_contact* t)
{
    static const double one[] = {2, 2, 2, 2, 2}, grow[] = {1, 3, 2, 5, 4};
    static const double light_below[] = {1e-3, 1e3}, heavy_below[] = {1e3, 1e-3};
    static const int32_t none[] = {0, 0, 0, 0, 0}, mixed[] = {-1, -1, -1, -1, -1};
    static const int32_t d3[] = {3, 3, 3, 3, 3}, d4[] = {4, 4, 4, 4, 4}, d8[] = {8, 8, 8, 8, 8};
    static const int32_t d13[] = {13, 13, 13, 13, 13};
    static const int32_t* const counts[] = {d3, d4, d8, d13};
    static const char* const block_name[] = {"block, 3 directions", "block, 4 directions",
                                             "block, 8 directions", "block, 13 directions"};
    static const char* const stack_name[] = {"stack of 2", "stack of 3", "stack of 4",
                                             "stack of 5"};
    if (index < 12) {
        *t = test_boxes(block_name[index / 3], 1, one, counts[index / 3], index % 3, 1);
        return true;
    }
    if (index < 24) {
        const int32_t i = index - 12;
        *t = test_boxes(stack_name[i / 3], 2 + i / 3, grow, d8, i % 3, 2);
        return true;
    }
    switch (index - 24) {
    case 0: *t = test_planar("planar, stuck", 0.5); return true;
    case 1: *t = test_planar("planar, sliding", 30.0); return true;
    case 2: *t = test_particle("particle, 4 directions", 4, 1.0); return true;
    case 3: *t = test_particle("particle, 8 directions", 8, 0.01); return true;
    case 4: *t = test_particle("particle without friction", 0, 1.0); return true;
    case 5: *t = test_boxes("light below heavy", 2, light_below, d4, 1, 3); break;
    case 6: *t = test_boxes("heavy below light", 2, heavy_below, d4, 1, 3); break;
    case 7: *t = test_boxes("stack without friction", 3, one, none, 2, 4); return true;
    case 8: *t = test_boxes("mixed directions", 3, grow, mixed, 1, 5); return true;
    case 9: *t = test_driven("driven, weak motor", 0.01); return true;
    case 10: *t = test_driven("driven, strong motor", 100.0); return true;
    case 11: *t = test_soft("stiff servo", 100.0, 1e-8); return true;
    case 12: *t = test_soft("soft servo", 100.0, 3.0); return true;
    case 13: *t = test_soft("weak servo", 0.01, 1e-3); return true;
    /* bounds far beyond the impulse cost an LCP its digits: its unknown is counted from a bound */
    case 14: *t = test_soft("very soft servo", 1e-5, 1e6); return true;
    default: return false;
    }
    t->hard = true;
    return true;
}

#endif
