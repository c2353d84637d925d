/* tests/unit/solve/friction_local_test.c - one contact at a time: exact solves, the natural map and
 * its Jacobian. */
#include "perp_test.h"

#include "solve/frictional/friction_local.h"

static uint64_t seed_state;
static double symmetric(void)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return 2.0 * ((double)(seed_state >> 11) / 9007199254740992.0) - 1.0;
}

typedef struct local {
    perp_constraint c;
    int32_t start[2], column[1];
    size_t at[1];
    double W[16], q[4];
    perp_friction_problem P;
} local;

/* shape 0: planar, 1: round, 2: polygon, 3: ellipsoid. rank: of W; skew: unsymmetric part. */
static void make(local* p, int shape, double mu, int32_t rank, double skew)
{
    static const int32_t rows[] = {2, 3, 3, 4};
    static const perp_cone cone[] = {PERP_CONE_QUADRATIC, PERP_CONE_QUADRATIC, PERP_CONE_POLYGON,
                                     PERP_CONE_ELLIPSOID};
    memset(p, 0, sizeof *p);
    const int32_t n = rows[shape];
    p->c = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                             .block = {-1, -1},
                             .rows = n,
                             .cone = cone[shape],
                             .directions = shape == 2 ? 3 + (int32_t)(4.0 + 4.0 * symmetric()) : 0,
                             .mu = mu,
                             .e = {1.0, 0.7, 0.2}};
    double A[16];
    for (int i = 0; i < 16; ++i) {
        A[i] = symmetric();
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            for (int32_t k = 0; k < rank && k < n; ++k) {
                p->W[i * n + j] += A[4 * i + k] * A[4 * j + k];
            }
            p->W[i * n + j] += i != j ? skew * symmetric() : 0.0;
        }
        p->q[i] = symmetric();
    }
    p->start[1] = 1;
    p->P = (perp_friction_problem){.constraint_count = 1,
                                   .row_count = n,
                                   .W = {p->start, p->column, p->at, p->W},
                                   .q = p->q,
                                   .constraint = &p->c};
}

TEST(a_regular_contact_is_solved_to_rounding_in_every_cone)
{
    double worst[4] = {0, 0, 0, 0}, work[32];
    int32_t failed = 0;
    for (int k = 0; k < 40000; ++k) {
        local p;
        seed_state = (uint64_t)k;
        make(&p, k % 4, 1.0 + symmetric(), 4, 0.0);
        for (int32_t i = 0; i < p.c.rows; ++i) {
            p.W[i * p.c.rows + i] += 0.01;
        }
        double r[4] = {0, 0, 0, 0};
        failed += !perpi_friction_solve_contact(&p.c, p.W, p.q, r);
        worst[k % 4] = fmax(worst[k % 4], perp_friction_check_residual(&p.P, r, work).worst);
    }
    TEST_PRINT("worst residual: planar %.1e, round %.1e, polygon %.1e, ellipsoid %.1e", worst[0],
               worst[1], worst[2], worst[3]);
    CHECK_EQ_INT(failed, 0);
    for (int s = 0; s < 4; ++s) {
        CHECK_AT_MOST(worst[s], 1e-12);
    }
}

/* Singular blocks may have no answer; whatever comes back must be finite and inside the cone. */
TEST(singular_and_unsymmetric_contacts_give_a_finite_point_in_the_cone)
{
    int32_t found = 0, solved = 0, count = 0;
    double work[32];
    for (int k = 0; k < 20000; ++k) {
        local p;
        seed_state = 77u + (uint64_t)k;
        make(&p, k % 4, 1.0 + symmetric(), 1 + k % 3, k % 2 == 0 ? 0.0 : 0.05);
        double r[4] = {0, 0, 0, 0};
        const bool ok = perpi_friction_solve_contact(&p.c, p.W, p.q, r);
        double inside[4];
        memcpy(inside, r, sizeof r);
        perpi_friction_project_guess(&p.P, inside);
        for (int32_t i = 0; i < p.c.rows; ++i) {
            CHECK(isfinite(r[i]));
            CHECK_NEAR(r[i], inside[i], 1e-9 * (1.0 + fabs(r[0])));
        }
        ++count;
        found += ok;
        solved += ok && perp_friction_check_residual(&p.P, r, work).worst <= 1e-6;
    }
    TEST_PRINT("%d singular contacts: %d answers, %d of them at 1e-6", count, found, solved);
    CHECK_AT_LEAST(solved, 0.9 * count);
}

TEST(the_jacobian_of_the_map_is_its_derivative)
{
    double worst = 0.0;
    int32_t checked = 0;
    for (int k = 0; k < 4000; ++k) {
        local p;
        seed_state = 31u + (uint64_t)k;
        make(&p, k % 4, 0.6, 4, 0.0);
        const int32_t n = p.c.rows;
        double w[4], r[4], u[4], dr[4], du[4], A[16], B[16], F0[4], F1[4], r1[4], u1[4];
        perpi_friction_weights(&p.P, w);
        for (int32_t i = 0; i < n; ++i) {
            r[i] = i == 0 ? 0.5 * (symmetric() + 1.0) : symmetric();
            u[i] = symmetric();
            dr[i] = symmetric();
            du[i] = symmetric();
        }
        perpi_friction_map_jacobian(&p.P, 0, w, r, u, A, B);
        double off[2];
        for (int side = 0; side < 2; ++side) { /* a kink in between shows on one side only */
            const double h = side == 0 ? 1e-6 : -1e-6;
            for (int32_t i = 0; i < n; ++i) {
                r1[i] = r[i] + h * dr[i];
                u1[i] = u[i] + h * du[i];
            }
            perpi_friction_map(&p.P, 0, w, r, u, F0);
            perpi_friction_map(&p.P, 0, w, r1, u1, F1);
            off[side] = 0.0;
            for (int32_t i = 0; i < n; ++i) {
                double t = 0.0;
                for (int32_t j = 0; j < n; ++j) {
                    t += A[i * n + j] * dr[j] + B[i * n + j] * du[j];
                }
                off[side] = fmax(off[side], fabs((F1[i] - F0[i]) / h - t));
            }
        }
        worst = fmax(worst, fmin(off[0], off[1]));
        ++checked;
    }
    TEST_PRINT("%d points, largest difference %.1e", checked, worst);
    CHECK_AT_MOST(worst, 1e-3);
}

/* Moreau: x = P_K(x) - P_K*(-x); so <x - P x, y> <= 0 for all y in K and <x - P x, P x> = 0. */
TEST(the_projection_onto_a_cone_leaves_a_normal_behind)
{
    double worst = 0.0;
    for (int k = 0; k < 20000; ++k) {
        local p;
        seed_state = 11u + (uint64_t)k;
        make(&p, k % 4, 0.8, 4, 0.0);
        p.c.e[0] = p.c.e[1] = p.c.e[2] = 1.0;
        double x[4], y[4], z[4];
        for (int i = 0; i < 4; ++i) {
            x[i] = y[i] = symmetric();
            z[i] = symmetric();
        }
        perpi_friction_project(&p.P, y);
        perpi_friction_project(&p.P, z);
        double along = 0.0, out = 0.0;
        for (int32_t i = 0; i < p.c.rows; ++i) {
            along += (x[i] - y[i]) * y[i];
            out += (x[i] - y[i]) * z[i];
        }
        worst = fmax(worst, fmax(fabs(along), out));
    }
    TEST_PRINT("largest violation %.1e", worst);
    CHECK_AT_MOST(worst, 1e-14);
}
