/* The matrix I + Y D Y' of bodies and its products, beside loops over single numbers: constraints
 * of any number of rows, bodies of fewer than six velocities, the world at either side, pairs whose
 * constraints do not follow each other, constraints that do not act. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "solve/frictional/body_kernels.h"
#include "solve/frictional/body_matrix.h"

enum { BODIES = 90, CONSTRAINTS = 400, DOFS = 6 * BODIES, ROWS = 6 * CONSTRAINTS };

typedef struct system {
    int32_t dof[BODIES + 1], start[BODIES + 2], item[2 * CONSTRAINTS];
    perp_constraint constraint[CONSTRAINTS];
    double Y[12 * ROWS], D[6 * ROWS], A[DOFS * DOFS];
    perp_contact_problem P;
    perpi_delassus delassus;
} system_of_bodies;

static uint64_t seed_state;
static double uniform(void)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed_state >> 11) / 9007199254740992.0;
}

static double either(void)
{
    return 2.0 * uniform() - 1.0;
}

static int32_t below(int32_t n)
{
    return (int32_t)(uniform() * n);
}

static const double* side_of(const system_of_bodies* a, const perp_constraint* c, int side)
{
    return a->Y + 12 * (size_t)c->row + 6 * (size_t)(side * c->rows);
}

static int32_t velocities_of(const system_of_bodies* a, int32_t block)
{
    return a->dof[block + 1] - a->dof[block];
}

/* What a system is made of. */
typedef enum mix { ALL, SPATIAL, PLANAR } mix;

static void add_constraint(system_of_bodies* a, mix of)
{
    static const int32_t rows_of[] = {1, 2, 3, 4, 5, 6};
    perp_constraint* c = &a->constraint[a->P.constraint_count++];
    const int32_t first = below(BODIES), other = first + 1 + below(4);
    *c = (perp_constraint){.block = {first, other < BODIES ? other : -1},
                           .row = a->P.row_count,
                           .rows = of == SPATIAL     ? 3
                                   : of == PLANAR    ? 2
                                   : uniform() < 0.6 ? 2 + below(2)
                                                     : rows_of[below(6)]};
    if (uniform() < 0.5) {
        const int32_t t = c->block[0];
        c->block[0] = c->block[1];
        c->block[1] = t;
    }
    a->P.row_count += c->rows;
    for (int side = 0; side < 2; ++side) {
        const int32_t n = c->block[side] >= 0 ? velocities_of(a, c->block[side]) : 0;
        double* Y = a->Y + 12 * (size_t)c->row + 6 * (size_t)(side * c->rows);
        for (int32_t k = 0; k < 6 * c->rows; ++k) {
            Y[k] = k % 6 < n ? either() : 0.0;
        }
    }
    double* D = a->D + 6 * (size_t)c->row;
    const bool acts = uniform() < 0.8;
    for (int32_t k = 0; k < c->rows * c->rows; ++k) { /* unsymmetric, its symmetric part positive */
        D[k] = acts ? 0.3 * either() + (k % (c->rows + 1) == 0 ? 2.0 : 0.0) : 0.0;
    }
}

static void make(system_of_bodies* a, mix of)
{
    memset(a, 0, sizeof *a);
    for (int32_t i = 0; i < BODIES; ++i) {
        const int32_t some = uniform() < 0.8 ? 3 + 3 * below(2) : 1 + below(5);
        a->dof[i + 1] = a->dof[i] + (of == SPATIAL ? 6 : of == PLANAR ? 3 : some);
    }
    for (int32_t i = 0; i < CONSTRAINTS; ++i) {
        add_constraint(a, of);
    }
    a->P.block_count = BODIES;
    a->P.dof_count = a->dof[BODIES];
    a->P.dof = a->dof;
    a->P.constraint = a->constraint;
    int32_t used = 0;
    for (int32_t i = 0; i < BODIES; ++i) {
        a->start[i] = used;
        for (int32_t item = 0; item < 2 * CONSTRAINTS; ++item) {
            if (a->constraint[item / 2].block[item % 2] == i) {
                a->item[used++] = item;
            }
        }
    }
    a->start[BODIES] = used;
    a->delassus.block_start.at = a->start;
    a->delassus.block_item.at = a->item;
}

/* I + Y D Y' */
static void make_dense(system_of_bodies* a)
{
    const size_t n = (size_t)a->P.dof_count;
    for (size_t i = 0; i < n; ++i) {
        a->A[i * n + i] = 1.0;
    }
    for (int32_t i = 0; i < CONSTRAINTS; ++i) {
        const perp_constraint* c = &a->constraint[i];
        for (int s = 0; s < 4; ++s) {
            const int32_t left = c->block[s / 2], right = c->block[s % 2];
            if (left < 0 || right < 0) {
                continue;
            }
            for (int32_t k = 0; k < 36 * c->rows * c->rows; ++k) {
                const int32_t x = k / 6 % 6, y = k % 6, r = k / 36 / c->rows, q = k / 36 % c->rows;
                if (x < velocities_of(a, left) && y < velocities_of(a, right)) {
                    a->A[(size_t)(a->dof[left] + x) * n + (size_t)(a->dof[right] + y)] +=
                        side_of(a, c, s / 2)[6 * r + x] * a->D[6 * c->row + r * c->rows + q] *
                        side_of(a, c, s % 2)[6 * q + y];
                }
            }
        }
    }
}

/* The largest entry of A x - b. */
static double residual(const system_of_bodies* a, const double* x, const double* b)
{
    const int32_t n = a->P.dof_count;
    double worst = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        double t = -b[i];
        for (int32_t j = 0; j < n; ++j) {
            t += a->A[(size_t)i * (size_t)n + (size_t)j] * x[j];
        }
        worst = !(fabs(t) <= worst) ? fabs(t) : worst;
    }
    return worst;
}

static void check_products(const system_of_bodies* a, const perpi_body_matrix* m)
{
    static double x[DOFS], f[DOFS], f_loop[DOFS], p[ROWS], base[ROWS], u[ROWS], u_loop[ROWS];
    static double v[ROWS], zeros[ROWS];
    for (int32_t i = 0; i < a->P.dof_count; ++i) {
        x[i] = f_loop[i] = either();
    }
    for (int32_t i = 0; i < a->P.row_count; ++i) {
        p[i] = uniform() < 0.3 ? 0.0 : either();
        base[i] = u_loop[i] = either();
    }
    for (int32_t i = 0; i < 2 * CONSTRAINTS;
         ++i) { /* each body takes its constraints in their order */
        const perp_constraint* c = &a->constraint[i / 2];
        const int32_t block = c->block[i % 2];
        for (int32_t r = 0; block >= 0 && r < c->rows; ++r) {
            const double* Y = side_of(a, c, i % 2) + 6 * r;
            double t = 0.0;
            for (int32_t k = 0; k < velocities_of(a, block); ++k) {
                t += Y[k] * x[a->dof[block] + k];
                f_loop[a->dof[block] + k] += Y[k] * -p[c->row + r];
            }
            u_loop[c->row + r] += t;
        }
    }
    perpi_body_velocities(m, &a->P, a->Y, NULL, x, v);
    perpi_body_velocities(m, &a->P, a->Y, zeros, x, u);
    CHECK(memcmp(u, v, (size_t)a->P.row_count * sizeof *u) == 0);
    perpi_body_velocities(m, &a->P, a->Y, base, x, u);
    perpi_body_add_impulses(m, &a->P, a->Y, x, -1.0, p, f);
    CHECK(memcmp(u, u_loop, (size_t)a->P.row_count * sizeof *u) == 0);
    CHECK(memcmp(f, f_loop, (size_t)a->P.dof_count * sizeof *f) == 0);
}

TEST(products_have_the_bits_of_plain_loops_and_systems_are_solved)
{
    static double b[DOFS], x[DOFS];
    system_of_bodies* a = malloc(sizeof *a);
    double worst = 0.0;
    for (int trial = 0; trial < 9; ++trial) {
        seed_state = (uint64_t)trial + 1;
        make(a, trial == 0 ? SPATIAL : trial == 1 ? PLANAR : ALL);
        make_dense(a);
        perp_context* context = NULL;
        perpi_body_matrix m;
        REQUIRE_OK(perp_context_create(NULL, &context));
        REQUIRE_OK(perp_context_set_threads(context, 1 + trial % 2));
        REQUIRE_OK(perpi_body_matrix_create(context, &m));
        REQUIRE_OK(perpi_body_matrix_analyse(&m, &a->P, &a->delassus));
        check_products(a, &m);
        for (int32_t i = 0; i < a->P.dof_count; ++i) {
            b[i] = x[i] = either();
        }
        REQUIRE(perpi_body_matrix_factor(&m, &a->P, a->Y, a->D));
        perpi_body_matrix_solve(&m, x);
        const double off = residual(a, x, b);
        worst = !(off <= worst) ? off : worst;
        perpi_body_matrix_free(&m);
        perp_context_destroy(context);
    }
    free(a);
    printf("  largest residual %.1e\n", worst);
    CHECK_AT_MOST(worst, 1e-12);
}

/* A block += Y D X' by single numbers, in the order of the general loop. */
static void add_by_loops(int32_t rows, int32_t n, const double* D, const double* Y, const double* X,
                         double* sum)
{
    double T[36];
    for (int32_t r = 0; r < rows; ++r) {
        for (int32_t k = 0; k < n; ++k) {
            T[6 * r + k] = D[r * rows] * X[k];
            for (int32_t q = 1; q < rows; ++q) {
                T[6 * r + k] += D[r * rows + q] * X[6 * q + k];
            }
        }
    }
    for (int32_t r = 0; r < rows; ++r) {
        for (int32_t e = 0; e < n * n; ++e) {
            sum[PERPI_SUM_ROW * (e / n) + e % n] += Y[6 * r + e / n] * T[6 * r + e % n];
        }
    }
}

/* Rows of Y and X of n numbers, the rest zeros; the sums on both sides begin with the same numbers. */
static void check_blocks(int32_t rows, int32_t n)
{
    double Y[18], X[18], D[9];
    perpi_row_sum made, loops;
    for (int32_t k = 0; k < 6 * rows; ++k) {
        Y[k] = k % 6 < n ? either() : 0.0;
        X[k] = k % 6 < n ? either() : 0.0;
    }
    for (int32_t k = 0; k < rows * rows; ++k) {
        D[k] = uniform() < 0.2 ? 0.0 : either();
    }
    for (int32_t k = 0; k < PERPI_SUM_ROWS * PERPI_SUM_ROW; ++k) {
        made.at[k] = loops.at[k] = either();
    }
    add_by_loops(rows, n, D, Y, Y, loops.at);
    add_by_loops(rows, n, D, Y, X, loops.at + 6);
    if (rows == 3) {
        perpi_fill_pair(D, Y, X, &made);
    } else {
        perpi_four T[2];
        perpi_weigh_two(D, Y, T);
        perpi_add_two(Y, T, made.at, PERPI_SUM_ROW);
        perpi_weigh_two(D, X, T);
        perpi_add_two(Y, T, made.at + 6, PERPI_SUM_ROW);
    }
    for (int32_t a = 0; a < n; ++a) {
        const double *m = made.at + PERPI_SUM_ROW * a, *l = loops.at + PERPI_SUM_ROW * a;
        CHECK(memcmp(m, l, (size_t)n * sizeof *m) == 0);
        CHECK(memcmp(m + 6, l + 6, (size_t)n * sizeof *m) == 0);
    }
}

TEST(blocks_of_contacts_in_the_plane_and_in_space_have_the_bits_of_plain_loops)
{
    seed_state = 5;
    for (int trial = 0; trial < 300; ++trial) {
        check_blocks(2, 3);
        check_blocks(3, 6);
    }
}
