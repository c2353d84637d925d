/* tests/unit/problem/friction_test.c - the friction problem: lowering, check, check. */
#include "perp_test.h"

#include "perp/problem.h"
#include "unit/problem/builder.h"

static perp_context* context;
static perp_reformulation* lowering;

static void set_up(void)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_reformulation_create(context, &lowering));
}

static void tear_down(void)
{
    perp_reformulation_destroy(lowering);
    perp_context_destroy(context);
}

/* Repeatable numbers in (-1, 1). */
static double noise(uint32_t* state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(int32_t)*state / 2147483648.0;
}

/* Four blocks of 6, 3, 1 and 2 velocities in a ring; contacts of 1 to 4 rows, a joint, a motor; two
 * constraints that share both blocks in opposite order. */
static void build_ring(builder* B)
{
    const int32_t sizes[] = {6, 3, 1, 2};
    uint32_t state = 7;
    builder_new(B);
    for (int i = 0; i < 4; ++i) {
        const int32_t n = sizes[i];
        double A[36], M[36], k[6];
        for (int j = 0; j < n * n; ++j) {
            A[j] = noise(&state);
        }
        for (int r = 0; r < n; ++r) {
            k[r] = noise(&state);
            for (int c = 0; c < n; ++c) {
                double sum = r == c ? 1.0 : 0.0;
                for (int j = 0; j < n; ++j) {
                    sum += A[r * n + j] * A[c * n + j];
                }
                M[r * n + c] = sum;
            }
        }
        builder_block(B, n, M, NULL, k);
    }
    double J[64], b[6];
    const struct {
        int32_t a, b, rows;
        perp_constraint_kind kind;
        perp_cone cone;
    } list[] = {{0, 1, 3, PERP_CONSTRAINT_CONTACT, PERP_CONE_QUADRATIC},
                {1, 0, 4, PERP_CONSTRAINT_CONTACT, PERP_CONE_ELLIPSOID},
                {-1, 2, 1, PERP_CONSTRAINT_CONTACT, PERP_CONE_NONE},
                {2, 3, 2, PERP_CONSTRAINT_CONTACT, PERP_CONE_POLYGON},
                {3, -1, 2, PERP_CONSTRAINT_EQUALITY, PERP_CONE_NONE},
                {1, 3, 1, PERP_CONSTRAINT_BOUNDED, PERP_CONE_NONE}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; ++i) {
        for (int j = 0; j < 64; ++j) {
            J[j] = noise(&state);
        }
        for (int j = 0; j < 6; ++j) {
            b[j] = noise(&state);
        }
        perp_constraint* c =
            builder_constraint(B, list[i].kind, list[i].a, list[i].b, list[i].rows, J, b);
        c->cone = list[i].cone;
        c->directions = list[i].cone == PERP_CONE_POLYGON ? 2 : 0;
        c->mu = 0.5;
        c->e[0] = c->e[1] = 1.0;
        c->e[2] = 0.2;
        B->lower[c->row] = -1.0;
        B->upper[c->row] = 1.0;
    }
}

static void velocity(const perp_friction_problem* F, const double* r, double* u)
{
    for (int32_t i = 0; i < F->constraint_count; ++i) {
        const perp_constraint* a = &F->constraint[i];
        for (int32_t k = 0; k < a->rows; ++k) {
            u[a->row + k] = F->q[a->row + k];
            for (int32_t e = F->W.start[i]; e < F->W.start[i + 1]; ++e) {
                const perp_constraint* b = &F->constraint[F->W.column[e]];
                for (int32_t l = 0; l < b->rows; ++l) {
                    u[a->row + k] +=
                        F->W.value[F->W.at[e] + (size_t)(k * b->rows + l)] * r[b->row + l];
                }
            }
        }
    }
}

TEST(the_lowered_problem_has_the_row_velocities_of_the_contact_problem)
{
    static builder B;
    set_up();
    build_ring(&B);
    perp_friction_problem F;
    REQUIRE_OK(perp_contact_check(context, &B.P));
    REQUIRE_OK(perp_contact_to_friction(lowering, &B.P, &F));
    CHECK_OK(perp_friction_check(context, &F));
    double r[B_ROWS], v[6 * B_BLOCKS], u[B_ROWS];
    uint32_t state = 3;
    for (int32_t i = 0; i < B.P.row_count; ++i) {
        r[i] = noise(&state);
    }
    perp_reformulation_friction_reconstruct(lowering, &B.P, r, v);
    velocity(&F, r, u);
    for (int32_t ci = 0; ci < B.P.constraint_count; ++ci) {
        const perp_constraint* c = &B.c[ci];
        for (int32_t k = 0; k < c->rows; ++k) {
            double sum = B.b[c->row + k];
            const double* J = B.J + c->jac;
            for (int side = 0; side < 2; ++side) {
                if (c->block[side] >= 0) {
                    const int32_t d = B.dof[c->block[side]], n = B.dof[c->block[side] + 1] - d;
                    for (int32_t i = 0; i < n; ++i) {
                        sum += J[k * n + i] * v[d + i];
                    }
                    J += c->rows * n;
                }
            }
            CHECK_NEAR(u[c->row + k], sum, 1e-13);
        }
    }
    double work[1000];
    REQUIRE(perp_contact_residual_work(&B.P) <= 1000);
    CHECK_AT_MOST(perp_contact_check_residual(&B.P, v, r, work).dynamics, 1e-15);
    tear_down();
}

TEST(w_is_symmetric_to_the_bit_and_holds_neighbours_only)
{
    static builder B;
    set_up();
    build_ring(&B);
    perp_friction_problem F;
    REQUIRE_OK(perp_contact_to_friction(lowering, &B.P, &F));
    int blocks = 0;
    for (int32_t i = 0; i < F.constraint_count; ++i) {
        for (int32_t e = F.W.start[i]; e < F.W.start[i + 1]; ++e, ++blocks) {
            const int32_t j = F.W.column[e], m = B.c[i].rows, n = B.c[j].rows;
            int32_t t = F.W.start[j];
            while (t < F.W.start[j + 1] && F.W.column[t] != i) {
                ++t;
            }
            REQUIRE(t < F.W.start[j + 1]);
            for (int32_t k = 0; k < m * n; ++k) {
                CHECK(F.W.value[F.W.at[e] + (size_t)k] ==
                      F.W.value[F.W.at[t] + (size_t)((k % n) * m + k / n)]);
            }
        }
    }
    /* 0,1: {0,1,5}; 2: {2,3}; 3: {2,3,4,5}; 4: {3,4,5}; 5: {0,1,3,4,5} */
    CHECK_EQ_INT(blocks, 3 + 3 + 2 + 4 + 3 + 5);
    tear_down();
}

TEST(a_second_lowering_allocates_nothing)
{
    static builder B;
    set_up();
    build_ring(&B);
    perp_friction_problem F;
    REQUIRE_OK(perp_contact_to_friction(lowering, &B.P, &F));
    const uint64_t before = perp_context_allocations(context);
    REQUIRE_OK(perp_contact_to_friction(lowering, &B.P, &F));
    CHECK_EQ_U64(perp_context_allocations(context), before);
    tear_down();
}

TEST(groups_have_no_form_without_velocities)
{
    static builder B;
    set_up();
    build_ring(&B);
    builder_group(&B, 1, 2, (const int32_t[]){0, 2});
    perp_friction_problem F;
    CHECK_EQ_INT(perp_contact_to_friction(lowering, &B.P, &F), PERP_ERROR_UNSUPPORTED);
    tear_down();
}

/* One contact, W = diag(2, 1, 1), q = (-2, 3, 0), mu = 1: r_n = 1, slips along -x with r_t = -1,
 * u = (0, 2, 0). By hand. */
static const double one_W[] = {2, 0, 0, 0, 1, 0, 0, 0, 1}, one_q[] = {-2, 3, 0};
static const int32_t one_start[] = {0, 1}, one_column[] = {0};
static const size_t one_at[] = {0};

static perp_friction_problem one_contact(perp_constraint* c)
{
    *c = (perp_constraint){.rows = 3, .cone = PERP_CONE_QUADRATIC, .mu = 1.0};
    return (perp_friction_problem){.constraint_count = 1,
                                   .row_count = 3,
                                   .W = {one_start, one_column, one_at, one_W},
                                   .q = one_q,
                                   .constraint = c};
}

TEST(the_judge_knows_a_slipping_contact_from_one_pushed_askew)
{
    perp_constraint c;
    const perp_friction_problem F = one_contact(&c);
    double work[16];
    REQUIRE(perp_friction_residual_work(&F) <= 16);
    perp_contact_residual r = perp_friction_check_residual(&F, (const double[]){1, -1, 0}, work);
    CHECK_AT_MOST(r.worst, 0.0);
    CHECK_AT_MOST(r.dynamics, 0.0);
    r = perp_friction_check_residual(&F, (const double[]){1, 0, 0},
                                     work); /* u_t = 3, target -1, S = 3 */
    CHECK_NEAR(r.friction, 1.0 / 3.0, 1e-15);
    CHECK_AT_MOST(r.normal, 0.0);
    CHECK_EQ_INT(r.worst_constraint, 0);
    r = perp_friction_check_residual(&F, (const double[]){2, -2, 0},
                                     work); /* lifts off and pushes: u_n = 2 */
    CHECK_NEAR(r.normal, 2.0 / 4.0, 1e-15);
    r = perp_friction_check_residual(&F, (const double[]){NAN, 0, 0}, work);
    CHECK(r.worst == INFINITY && r.normal == INFINITY);
}

TEST(the_judge_is_free_of_units)
{
    perp_constraint c;
    perp_friction_problem F = one_contact(&c);
    double W[9], q[3], r[3] = {0.7, -0.9, 0.1}, work[16];
    const double plain = perp_friction_check_residual(&F, r, work).worst;
    for (int i = 0; i < 9; ++i) {
        W[i] = one_W[i] * 0x1p-30; /* velocities per impulse */
    }
    for (int i = 0; i < 3; ++i) {
        q[i] = one_q[i] * 0x1p20;
        r[i] *= 0x1p50;
    }
    F.W.value = W;
    F.q = q;
    CHECK(perp_friction_check_residual(&F, r, work).worst == plain);
}

TEST(a_broken_friction_problem_is_refused_with_its_place)
{
    set_up();
    perp_constraint c;
    perp_friction_problem F = one_contact(&c);
    CHECK_OK(perp_friction_check(context, &F));
    c.mu = -1.0;
    CHECK_EQ_INT(perp_friction_check(context, &F), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "mu");
    c.mu = 1.0;
    F.W.column = (const int32_t[]){1};
    CHECK_EQ_INT(perp_friction_check(context, &F), PERP_ERROR_INPUT);
    F.W.column = one_column;
    F.W.start = (const int32_t[]){0, 0};
    CHECK_EQ_INT(perp_friction_check(context, &F), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "diagonal");
    F.W.start = one_start;
    F.q = (const double[]){0, NAN, 0};
    CHECK_EQ_INT(perp_friction_check(context, &F), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "q[1]");
    F.q = one_q;
    F.row_count = 4;
    CHECK_EQ_INT(perp_friction_check(context, &F), PERP_ERROR_INPUT);
    F.row_count = 3;
    F.W.value = (const double[]){2, 0, 0, 0, INFINITY, 0, 0, 0, 1};
    CHECK_EQ_INT(perp_friction_check(context, &F), PERP_ERROR_INPUT);
    tear_down();
}
