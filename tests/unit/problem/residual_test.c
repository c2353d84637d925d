/* The residual check: hand-solved problems pass at (nearly) 0, and each law, broken by hand, gives the number
 * that its definition in src/problem/residual.c says. */
#include "perp_test.h"

#include "builder.h"
#include "problem/operators.h"
#include "support/generate.h"

static double work[4096];

static perp_contact_residual check_residual(const builder* B, const double* v, const double* p)
{
    if (perp_contact_residual_work(&B->P) > sizeof work / sizeof work[0]) {
        abort();
    }
    return perp_contact_check_residual(&B->P, v, p, work);
}

static void check_all_zero(perp_contact_residual r, double tolerance)
{
    CHECK_AT_MOST(r.dynamics, tolerance);
    CHECK_AT_MOST(r.normal, tolerance);
    CHECK_AT_MOST(r.friction, tolerance);
    CHECK_AT_MOST(r.joints, tolerance);
    CHECK_AT_MOST(r.worst, tolerance);
}

/* A particle of mass 2 that hits the ground at (3, -1) and slides on with mu = 0.5:
 * p_n = 2 stops it, p_t = -1, v = (2.5, 0). W = 0.5 in both rows; the sliding row's size is
 * |J M^-1 k| = 3, so S_c = 3. Everything is exact in binary. */
static builder planar_case;
static const double planar_v[] = {2.5, 0.0}, planar_p[] = {2.0, -1.0};

static builder* planar(void)
{
    builder* B = builder_new(&planar_case);
    builder_block(B, 2, NULL, (const double[]){2, 2}, (const double[]){6, -2});
    builder_contact(B, -1, 0, 2, (const double[]){0, 1, 1, 0}, NULL, PERP_CONE_POLYGON, 2, 0.5);
    return B;
}

TEST(a_hand_solved_planar_slide_is_judged_zero)
{
    const perp_contact_residual r = check_residual(planar(), planar_v, planar_p);
    check_all_zero(r, 0.0);
    CHECK_EQ_INT(r.worst_constraint, -1);
    planar()->c[0].cone = PERP_CONE_QUADRATIC; /* one tangential row: the same interval */
    check_all_zero(check_residual(&planar_case, planar_v, planar_p), 0.0);
}

TEST(a_velocity_that_the_impulses_do_not_explain_is_a_dynamics_error)
{
    /* 2 * 2.6 - 6 + 1 = 0.2 against 5.2 + 6: the impulse does not count */
    const perp_contact_residual r = check_residual(planar(), (const double[]){2.6, 0.0}, planar_p);
    CHECK_NEAR(r.dynamics, 0.2 / 11.2, 1e-14);
    CHECK_AT_MOST(r.normal, 0.0);
    CHECK_AT_MOST(r.friction, 0.0);
    CHECK_NEAR(r.worst, 0.2 / 11.2, 1e-14);
    CHECK_EQ_INT(r.worst_constraint, -1);
}

TEST(an_impulse_that_pulls_is_a_normal_error)
{
    builder* B = planar();
    B->b[0] = 5.0; /* open: u_n = 5 - 1.5 */
    const perp_contact_residual r =
        check_residual(B, (const double[]){3.0, -1.5}, (const double[]){-1.0, 0.0});
    CHECK_NEAR(r.normal, 0.5 / 5.0, 1e-15);
    CHECK_AT_MOST(r.dynamics, 0.0);
    CHECK_AT_MOST(r.friction, 0.0); /* F(max(p_n, 0)) = {0} */
    CHECK_EQ_INT(r.worst_constraint, 0);
}

TEST(a_penetrating_velocity_is_a_normal_error)
{
    const perp_contact_residual r =
        check_residual(planar(), (const double[]){3, -1}, (const double[]){0, 0});
    CHECK_NEAR(r.normal, 1.0 / 3.0, 1e-15);
    CHECK_AT_MOST(r.dynamics, 0.0);
    CHECK_AT_MOST(r.friction, 0.0);
}

TEST(an_impulse_across_an_open_gap_is_a_normal_error)
{
    /* p_n = 4 sends it up at 1: min(0.5 * 4, 1) = 1 */
    const perp_contact_residual r =
        check_residual(planar(), (const double[]){2, 1}, (const double[]){4, -2});
    CHECK_NEAR(r.normal, 1.0 / 3.0, 1e-15);
    CHECK_AT_MOST(r.dynamics, 0.0);
    CHECK_AT_MOST(r.friction, 0.0);
}

TEST(friction_outside_the_set_inside_while_sliding_and_along_the_motion_are_errors)
{
    perp_contact_residual r =
        check_residual(planar(), (const double[]){2.25, 0}, (const double[]){2, -1.5});
    CHECK_NEAR(r.friction, 0.5 * 0.5 / 3.0, 1e-15);
    CHECK_AT_MOST(r.normal, 0.0);
    CHECK_AT_MOST(r.dynamics, 0.0);
    r = check_residual(planar(), (const double[]){2.75, 0}, (const double[]){2, -0.5});
    CHECK_NEAR(r.friction, 0.5 * 0.5 / 3.0, 1e-15);
    r = check_residual(planar(), (const double[]){3.5, 0},
                       (const double[]){2, 1}); /* S_c = |J v| = 3.5 */
    CHECK_NEAR(r.friction, 0.5 * 2.0 / 3.5, 1e-15);
    CHECK_EQ_INT(r.worst_constraint, 0);
}

TEST(sticking_needs_no_more_than_an_inner_impulse_and_rest)
{
    builder* B = planar();
    B->k[0] = 0.5; /* p_t = -0.5 stops it, inside [-1, 1] */
    check_all_zero(check_residual(B, (const double[]){0, 0}, (const double[]){2, -0.5}), 0.0);
    /* a creep of 0.1 while sticking: moves the natural map by 0.1 */
    B->k[0] = 0.7;
    const perp_contact_residual r =
        check_residual(B, (const double[]){0.1, 0}, (const double[]){2, -0.5});
    CHECK_NEAR(r.friction, 0.1 / 1.0, 1e-15); /* S_c = W p_n = 1 */
}

/* The same in space: v_old = (3, 4, -1), mass 2. */
static builder spatial_case;
static builder* spatial(perp_cone cone, int32_t directions)
{
    builder* B = builder_new(&spatial_case);
    builder_block(B, 3, NULL, (const double[]){2, 2, 2}, (const double[]){6, 8, -2});
    builder_contact(B, -1, 0, 3, (const double[]){0, 0, 1, 1, 0, 0, 0, 1, 0}, NULL, cone,
                    directions, 0.5);
    return B;
}

TEST(every_law_holds_for_the_round_cone_and_each_can_be_broken)
{
    builder* B = spatial(PERP_CONE_QUADRATIC, 0);
    check_all_zero(
        check_residual(B, (const double[]){2.7, 3.6, 0}, (const double[]){2, -0.6, -0.8}), 3e-16);
    /* no friction: the projection is one unit away; S_c is the larger sliding row's 4 */
    perp_contact_residual r =
        check_residual(B, (const double[]){3, 4, 0}, (const double[]){2, 0, 0});
    CHECK_NEAR(r.friction, 0.5 * 1.0 / 4.0, 1e-15);
    CHECK_AT_MOST(r.normal, 0.0);
    r = check_residual(B, (const double[]){2.4, 3.2, 0},
                       (const double[]){2, -1.2, -1.6}); /* twice too much */
    CHECK_NEAR(r.friction, 0.5 * 1.0 / 4.0, 1e-15);
    r = check_residual(B, (const double[]){3.3, 4.4, 0}, (const double[]){2, 0.6, 0.8}); /* along */
    CHECK_NEAR(r.friction, 0.5 * 2.0 / 4.4, 1e-15);
    r = check_residual(B, (const double[]){3, 4, -1}, (const double[]){0, 0, 0});
    CHECK_NEAR(r.normal, 1.0 / 4.0, 1e-15);
    r = check_residual(B, (const double[]){2.7, 3.6, 0.5}, (const double[]){2, -0.6, -0.8});
    CHECK_NEAR(r.dynamics, 1.0 / 3.0, 1e-14); /* |1 + 2 - 2| against 1 + 2 */
}

TEST(every_law_holds_for_the_polygon_and_the_round_answer_is_not_its_answer)
{
    builder* B = spatial(PERP_CONE_POLYGON, 4);
    /* the corner that dissipates most against (3, 4) is (0, -1) */
    check_all_zero(check_residual(B, (const double[]){3, 3.5, 0}, (const double[]){2, 0, -1}), 0.0);
    perp_contact_residual r =
        check_residual(B, (const double[]){2.7, 3.6, 0}, (const double[]){2, -0.6, -0.8});
    /* natural map: the corner (0, -1), at distance sqrt(0.36 + 0.04) */
    CHECK_NEAR(r.friction, 0.5 * sqrt(0.4) / 4.0, 1e-15);
    r = check_residual(B, (const double[]){2.5, 4, 0},
                       (const double[]){2, -1, 0}); /* the wrong corner */
    CHECK_NEAR(r.friction, 0.5 * sqrt(2.0) / 4.0, 1e-15);
    r = check_residual(B, (const double[]){3, 4, 0}, (const double[]){2, 0, 0});
    CHECK_NEAR(r.friction, 0.5 / 4.0, 1e-15);
    B->k[0] = 0.5, B->k[1] = 0.25; /* sticks */
    check_all_zero(check_residual(B, (const double[]){0, 0, 0}, (const double[]){2, -0.5, -0.25}),
                   0.0);
}

/* With torsion: p' = (-0.6, 0, -0.8) in the unit ball of p / e, so u' = e u is along (0.6, 0, 0.8). */
static builder torsion_case;
static builder* torsion(void)
{
    builder* B = builder_new(&torsion_case);
    builder_block(B, 4, NULL, (const double[]){2, 2, 2, 0.5}, (const double[]){6, 0, -2, 9.16});
    perp_constraint* c = builder_contact(
        B, -1, 0, 4, (const double[]){0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}, NULL,
        PERP_CONE_ELLIPSOID, 0, 0.5);
    c->e[2] = 0.2;
    return B;
}

TEST(every_law_holds_for_the_ellipsoid_and_each_can_be_broken)
{
    builder* B = torsion();
    const double v[] = {2.7, 0, 0, 18}, p[] = {2, -0.6, 0, -0.16};
    check_all_zero(check_residual(B, v, p), 1e-15);
    /* no friction at all: one unit of the ball; S_c = e_r * 18.32 */
    perp_contact_residual r =
        check_residual(B, (const double[]){3, 0, 0, 18.32}, (const double[]){2, 0, 0, 0});
    CHECK_NEAR(r.friction, 0.5 * 1.0 / 3.664, 1e-15);
    /* sliding friction alone takes all of the cone: p' = (-1, 0, 0) is not along -u' = (2.5, 0, 3.664) */
    r = check_residual(B, (const double[]){2.5, 0, 0, 18.32}, (const double[]){2, -1, 0, 0});
    const double x[] = {-1 - 2.5 / 0.5, -3.664 / 0.5}, length = hypot(x[0], x[1]);
    CHECK_NEAR(r.friction, 0.5 * hypot(-1 - x[0] / length, -x[1] / length) / 3.664, 1e-15);
    r = check_residual(B, (const double[]){3, 0, -1, 18.32}, (const double[]){0, 0, 0, 0});
    CHECK_NEAR(r.normal, 1.0 / 3.664, 1e-15);
    r = check_residual(B, (const double[]){2.7, 0, 0, 19}, p);
    CHECK_NEAR(r.dynamics, 0.5 / (9.5 + 9.16), 1e-14);
}

TEST(equality_rows_must_stand_still)
{
    builder* B = builder_new(&planar_case);
    builder_block(B, 2, NULL, (const double[]){2, 2}, (const double[]){6, -2});
    builder_constraint(B, PERP_CONSTRAINT_EQUALITY, 0, -1, 2, (const double[]){1, 0, 0, 1}, NULL);
    check_all_zero(check_residual(B, (const double[]){0, 0}, (const double[]){-6, 2}), 0.0);
    const perp_contact_residual r =
        check_residual(B, (const double[]){0.25, 0}, (const double[]){-5.5, 2});
    CHECK_NEAR(r.joints, 0.25 / 3.0, 1e-15);
    CHECK_AT_MOST(r.dynamics, 0.0);
    CHECK_EQ_INT(r.worst_constraint, 0);
}

TEST(laws_that_contradict_each_other_are_not_solved_by_huge_impulses)
{
    /* a particle of mass 2 is to stand still by one row and to move at 1 by another; impulses of 1e13
     * against each other leave v = 0.5, which each row finds half wrong */
    builder* B = builder_new(&planar_case);
    builder_block(B, 2, NULL, (const double[]){2, 2}, (const double[]){0, 0});
    builder_constraint(B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0}, NULL);
    builder_constraint(B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0},
                       (const double[]){-1});
    const double v[] = {0.5, 0}, p[] = {-1e13, 1e13 + 1};
    /* e = |M v| / sqrt(M) + |b| / sqrt(W) = 1 / sqrt 2 + sqrt 2; sqrt(W) p = 1e13 / sqrt 2 */
    const double ratio = 1e13 / sqrt(2.0) / (1.0 / sqrt(2.0) + sqrt(2.0));
    perp_contact_residual r = check_residual(B, v, p);
    CHECK_NEAR(r.joints, 1e-8 * ratio, 1e-8 * ratio * 1e-12);
    CHECK_NEAR(r.runaway, ratio, 1e-12 * ratio);
    CHECK_AT_MOST(r.dynamics, 1e-12);
    /* impulses of 1e7 are no runaway, but what is violated beside the motion counts: u = m = 0.5 in row 0 */
    r = check_residual(B, v, (const double[]){-1e7, 1e7 + 1});
    CHECK_NEAR(r.joints, 1.0 / 1e4, 1e-15);
    CHECK_AT_MOST(r.runaway, 0.0);

    /* the same by a wall in the way of a motor */
    B = builder_new(&planar_case);
    builder_block(B, 2, NULL, (const double[]){2, 2}, (const double[]){0, 0});
    builder_contact(B, -1, 0, 1, (const double[]){-1, 0}, NULL, PERP_CONE_NONE, 0, 0.0);
    builder_constraint(B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0},
                       (const double[]){-1});
    const double push[] = {1e13, 1e13 + 1};
    r = check_residual(B, v, push);
    CHECK_NEAR(r.normal, 1e-8 * ratio, 1e-8 * ratio * 1e-12);
    CHECK_AT_MOST(1e12, r.runaway);
}

/* A particle of mass 2 between two walls that moves on at (3, 0) while the walls press by p. */
static builder* between_walls(int32_t rows, double mu)
{
    builder* B = builder_new(&planar_case);
    builder_block(B, 2, NULL, (const double[]){2, 2}, (const double[]){6, 0});
    builder_contact(B, -1, 0, rows, (const double[]){0, 1, 1, 0}, NULL, PERP_CONE_POLYGON, 2, mu);
    builder_contact(B, -1, 0, rows, (const double[]){0, -1, 1, 0}, NULL, PERP_CONE_POLYGON, 2, mu);
    return B;
}

TEST(runaway_impulses_of_a_group_are_refused)
{
    for (double size = 1e10; size <= 1e20; size *= 10.0) {
        builder* B = between_walls(1, 0.0);
        builder_contact(B, -1, 0, 1, (const double[]){1, 1}, NULL, PERP_CONE_NONE, 0, 0.0);
        builder_group(B, 2, 2, (const int32_t[]){0, 2});
        const perp_contact_residual r =
            check_residual(B, (const double[]){3, 0}, (const double[]){size, size, 0});
        CHECK(r.worst > 1.0 && r.runaway > 1e8);
        CHECK(r.worst_constraint == 0 || r.worst_constraint == 1);
        /* the same without squeezing is right: contact 0 is closed, contact 2 open, nobody pushes */
        check_all_zero(check_residual(B, (const double[]){3, 0}, (const double[]){0, 0, 0}), 0.0);
        /* the group violated by 30 % of the motion, and the violation hidden by a smaller squeeze */
        const perp_contact_residual hidden =
            check_residual(B, (const double[]){-1, -1}, (const double[]){1e7, 1e7, 0});
        CHECK_AT_MOST(1e-6, hidden.normal);
    }
}

TEST(runaway_impulses_of_friction_are_refused)
{
    for (double size = 1e10; size <= 1e20; size *= 10.0) {
        builder* B = between_walls(2, 1.0);
        /* sticks at both walls, the friction of one against that of the other: u = 0, all laws hold */
        B->k[0] = 0.0, B->k[1] = 1.0;
        builder_bounded(B, 0, -1, (const double[]){0, 1}, 0.0, -2.0, 2.0);
        const perp_contact_residual r = check_residual(
            B, (const double[]){0, 0}, (const double[]){size, -size, size, size, -1.0});
        CHECK(r.friction > 1.0 && r.runaway > 1e8);
        check_all_zero(
            check_residual(B, (const double[]){0, 0}, (const double[]){10, -10, 10, 10, -1.0}),
            1e-15);
        /* slips by 1 % of the motion under a smaller squeeze */
        B->k[0] = 2.0;
        const perp_contact_residual slips = check_residual(
            B, (const double[]){0.01, 0}, (const double[]){1e7, -1e6, 1e7, 1e6 - 1.98, -1.0});
        CHECK_AT_MOST(1e-7, slips.friction);
    }
}

TEST(an_error_of_momentum_is_not_hidden_by_impulses_that_cancel)
{
    for (double size = 1e3; size <= 1e7; size *= 10.0) { /* below 1e8 times the motion */
        builder* B = between_walls(1, 0.0);
        const double p[] = {size, size};
        CHECK_AT_MOST(check_residual(B, (const double[]){3, 0}, p).worst, 1e-15);
        CHECK_NEAR(check_residual(B, (const double[]){3.003, 0}, p).dynamics, 0.006 / 12.006,
                   1e-12);
    }
}

TEST(a_given_impulse_is_no_runaway)
{
    /* a motor at its bound of 1e12 presses a particle of momentum 1 against a wall */
    builder* B = builder_new(&planar_case);
    builder_block(B, 2, NULL, (const double[]){2, 2}, (const double[]){1, 0});
    builder_contact(B, -1, 0, 1, (const double[]){1, 0}, NULL, PERP_CONE_NONE, 0, 0.0);
    builder_bounded(B, 0, -1, (const double[]){1, 0}, 5.0, -1e12, 1e12);
    CHECK_AT_MOST(
        check_residual(B, (const double[]){0, 0}, (const double[]){1e12 - 1, -1e12}).worst, 1e-15);
    B->lower[1] = -INFINITY; /* without a bound the motor and the wall contradict each other */
    CHECK_AT_MOST(
        1.0, check_residual(B, (const double[]){0, 0}, (const double[]){1e12 - 1, -1e12}).worst);
}

TEST(what_is_uncertain_of_k_and_b_is_no_error)
{
    builder* B = planar();
    const double k_error[] = {0.25, 0.0}, b_error[] = {0.125, 0.0};
    B->P.k_error = k_error;
    CHECK_AT_MOST(check_residual(B, (const double[]){2.6, 0.0}, planar_p).dynamics, 0.0);
    CHECK_NEAR(check_residual(B, (const double[]){2.75, 0.0}, planar_p).dynamics, 0.25 / 11.5,
               1e-14);
    B->P.k_error = NULL;
    B->P.b_error = b_error;
    CHECK_AT_MOST(check_residual(B, (const double[]){2.5, -0.125}, planar_p).normal, 0.0);
    CHECK_NEAR(check_residual(B, (const double[]){2.5, -0.25}, planar_p).normal, 0.125 / 3.0,
               1e-14);
    B->P.b_error = NULL;
}

/* Chains of particles squeezed in a line between two walls: all impulses equal is the null space of J'. */
TEST(a_null_space_impulse_added_to_a_solution_is_refused_at_any_mass)
{
    static builder chain;
    uint64_t random = 7;
    for (int seed = 0; seed < 200; ++seed) {
        const int32_t n = 1 + (int32_t)(generate_bits(&random) % 10);
        const double ratio = pow(10.0, generate_uniform(&random, 0.0, 6.0));
        builder* B = builder_new(&chain);
        double v[10], p[11], least = INFINITY, e = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            const double m = pow(ratio, generate_uniform(&random, -0.5, 0.5));
            v[i] = 0.0;
            p[i] = generate_uniform(&random, 0.0, 1.0);
            least = p[i] < least ? p[i] : least;
            builder_block(B, 1, NULL, &m, &(double){0.0});
        }
        p[n] = generate_uniform(&random, 0.0, 1.0);
        for (int32_t i = 0; i <= n; ++i) { /* contact i presses body i - 1 back and body i on */
            const double J[] = {-1.0, 1.0};
            builder_contact(B, i - 1, i < n ? i : -1, 1, i == 0 ? J + 1 : J, NULL, PERP_CONE_NONE,
                            0, 0.0);
        }
        for (int32_t i = 0; i < n; ++i) { /* at rest: k = -J' p */
            B->k[i] = p[i + 1] - p[i];
            e += fabs(B->k[i]) / sqrt(B->M[i]);
        }
        CHECK_AT_MOST(check_residual(B, v, p).worst, 1e-14);
        const double size = pow(10.0, generate_uniform(&random, 9.0, 20.0));
        double heavy = 0.0; /* sqrt(W) of the row that shows it most */
        for (int32_t i = 0; i < n; ++i) {
            heavy = fmax(heavy, 1.0 / sqrt(B->M[i]));
        }
        for (int32_t i = 0; i <= n; ++i) {
            p[i] += 10.0 * size * e / heavy;
        }
        const perp_contact_residual r = check_residual(B, v, p);
        CHECK(r.worst > 1.0);
        CHECK(r.runaway > 1e8);
    }
}

TEST(bounded_rows_rest_at_a_bound_only_with_the_right_velocity)
{
    builder* B = builder_new(&planar_case);
    builder_block(B, 1, NULL, (const double[]){1}, (const double[]){4});
    builder_bounded(B, 0, -1, (const double[]){1}, 0.0, -3.0, 1.0);
    /* at the lower bound, still moving up: right */
    check_all_zero(check_residual(B, (const double[]){1}, (const double[]){-3}), 0.0);
    /* at the upper bound while moving up: the natural map goes to clip(1 - 5) = -3 */
    perp_contact_residual r = check_residual(B, (const double[]){5}, (const double[]){1});
    CHECK_NEAR(r.joints, 4.0 / 5.0, 1e-15);
    /* below the lower bound, at rest */
    r = check_residual(B, (const double[]){0}, (const double[]){-4});
    CHECK_NEAR(r.joints, 1.0 / 4.0, 1e-15);
    /* between, and moving: clip(-2 - 2) = -3 */
    r = check_residual(B, (const double[]){2}, (const double[]){-2});
    CHECK_NEAR(r.joints, 1.0 / 4.0, 1e-15);
    /* at the lower bound, moving down */
    B->k[0] = 2.0;
    r = check_residual(B, (const double[]){-1}, (const double[]){-3});
    CHECK_NEAR(r.joints, 1.0 / 3.0, 1e-15); /* clip(-3 + 1) = -2; S = W |p| = 3 */
    /* no bounds at all: an equality */
    B->lower[0] = -INFINITY, B->upper[0] = INFINITY;
    check_all_zero(check_residual(B, (const double[]){0}, (const double[]){-2}), 0.0);
    r = check_residual(B, (const double[]){1}, (const double[]){-1});
    CHECK_NEAR(r.joints, 1.0 / 2.0, 1e-15);
}

/* A particle of mass 1 near a corner: contact 0 has normal y, contact 1 normal x. */
static builder corner_case;
static builder* corner(int32_t primary, double kx, double ky)
{
    builder* B = builder_new(&corner_case);
    builder_block(B, 2, NULL, (const double[]){1, 1}, (const double[]){kx, ky});
    builder_contact(B, -1, 0, 1, (const double[]){0, 1}, NULL, PERP_CONE_NONE, 0, 0);
    builder_contact(B, -1, 0, 1, (const double[]){1, 0}, NULL, PERP_CONE_NONE, 0, 0);
    builder_group(B, primary, 2, (const int32_t[]){0, 1});
    return B;
}

TEST(a_group_needs_one_open_member_and_no_more)
{
    for (int32_t primary = 1; primary <= 2; ++primary) {
        /* moving right and down: contact 1 opens, contact 0 may be violated */
        check_all_zero(
            check_residual(corner(primary, 2, -3), (const double[]){2, -3}, (const double[]){0, 0}),
            0.0);
        /* moving left and down: none open is an error of the smaller one, 2 of 3 */
        perp_contact_residual r = check_residual(corner(primary, -2, -3), (const double[]){-2, -3},
                                                 (const double[]){0, 0});
        CHECK_NEAR(r.normal, 2.0 / 3.0, 1e-15);
        CHECK_EQ_INT(r.worst_constraint, 0);
        /* the primary stops it: y at rest, x still negative */
        check_all_zero(check_residual(corner(primary, -2, -3), (const double[]){-2, 0},
                                      (const double[]){3, 0}),
                       0.0);
        /* an impulse though the other member is open: min(W p, m) = min(3, 2) */
        r = check_residual(corner(primary, 2, -3), (const double[]){2, 0}, (const double[]){3, 0});
        CHECK_NEAR(r.normal, 2.0 / 3.0, 1e-15);
    }
}

TEST(a_member_that_is_not_primary_must_not_push)
{
    /* contact 1 stops x: right with two primaries, wrong with one */
    const double v[] = {0, -3}, p[] = {0, 2};
    check_all_zero(check_residual(corner(2, -2, -3), v, p), 0.0);
    const perp_contact_residual r = check_residual(corner(1, -2, -3), v, p);
    CHECK_NEAR(r.normal, 2.0 / 2.0, 1e-15); /* |W p| over its own scale, 2 */
    CHECK_EQ_INT(r.worst_constraint, 1);
}

TEST(a_primary_pushes_at_its_own_contact_unless_it_is_the_only_one)
{
    /* m = u_1 = 0, but contact 0, which pushes, is still closing at 1 */
    const double v[] = {0, -1}, p[] = {2, 0};
    check_all_zero(check_residual(corner(1, 0, -3), v, p), 0.0); /* [W14 (4.14)] */
    const perp_contact_residual r = check_residual(corner(2, 0, -3), v, p);
    CHECK_NEAR(r.normal, 1.0 / 3.0, 1e-15); /* min(2, 0 + 1) */
}

TEST(a_primary_of_two_groups_answers_to_the_sum_of_both)
{
    builder* B = corner(1, -2, -3);
    builder_contact(B, -1, 0, 1, (const double[]){-1, 0}, NULL, PERP_CONE_NONE, 0, 0);
    builder_group(B, 1, 2, (const int32_t[]){0, 2});
    /* u = (0, -2, 2): group 1 has m = 2, so contact 0 must not push: min(3, 0 + 2) */
    perp_contact_residual r = check_residual(B, (const double[]){-2, 0}, (const double[]){3, 0, 0});
    CHECK_NEAR(r.normal, 2.0 / 3.0, 1e-15);
    /* at rest sideways both are 0 */
    B->k[0] = 0.0;
    check_all_zero(check_residual(B, (const double[]){0, 0}, (const double[]){3, 0, 0}), 0.0);
}

TEST(nan_or_infinity_anywhere_makes_every_entry_infinite)
{
    for (int i = 0; i < 4; ++i) {
        for (int kind = 0; kind < 3; ++kind) {
            double x[] = {2.5, 0.0, 2.0, -1.0};
            x[i] = kind == 0 ? NAN : (kind == 1 ? INFINITY : -INFINITY);
            const perp_contact_residual r = check_residual(planar(), x, x + 2);
            CHECK(isinf(r.dynamics) && isinf(r.normal) && isinf(r.friction) && isinf(r.joints));
            CHECK(isinf(r.worst) && r.worst > 0.0);
            CHECK_EQ_INT(r.worst_constraint, -1);
        }
    }
    /* finite, but overflowing on the way */
    const perp_contact_residual r =
        check_residual(planar(), (const double[]){1e308, 1e308}, planar_p);
    CHECK(isinf(r.worst) && isinf(r.friction));
}

TEST(an_empty_problem_and_a_still_one_are_judged_zero)
{
    builder* B = builder_new(&planar_case);
    check_all_zero(check_residual(B, work, work), 0.0);
    planar();
    B->k[0] = B->k[1] = 0.0;
    check_all_zero(check_residual(B, (const double[]){0, 0}, (const double[]){0, 0}), 0.0);
}

/* Masses and lengths times 1000: v of a length per time, angular velocity as before. */
TEST(the_units_of_mass_and_length_do_not_matter)
{
    static builder A, Z;
    const double mass = 1000.0, len = 1000.0;
    for (int which = 0; which < 3; ++which) {
        builder* pair[2] = {builder_new(&A), builder_new(&Z)};
        double v[2][6], p[2][6];
        for (int s = 0; s < 2; ++s) {
            const double m = s == 0 ? 1.0 : mass, l = s == 0 ? 1.0 : len, i = m * l * l;
            const double M[] = {2 * m, 2 * m, 2 * m, 0.3 * i, 0.4 * i, 0.5 * i};
            const double k[] = {6 * m * l, 1 * m * l, -2 * m * l, 0.1 * i, 0.2 * i, 1.3 * i};
            builder_block(pair[s], 6, NULL, M, k);
            const double J[] = {0, 0, 1, 0.1 * l,  -0.2 * l, 0,       /* n */
                                1, 0, 0, 0,        0.7 * l,  0.2 * l, /* t */
                                0, 1, 0, -0.7 * l, 0,        0.1 * l, /* o */
                                0, 0, 0, 0,        0,        1};      /* torsion: no length in it */
            const double b[] = {0.1 * l, 0, 0.2 * l, 0.3};
            const int32_t rows = which == 2 ? 4 : 3;
            perp_constraint* c = builder_contact(
                pair[s], -1, 0, rows, J, b,
                which == 0 ? PERP_CONE_POLYGON
                           : (which == 1 ? PERP_CONE_QUADRATIC : PERP_CONE_ELLIPSOID),
                which == 0 ? 7 : 0, 0.4);
            c->e[2] = 0.2 * l;
            const double Jb[] = {0.3, 0, 1, 0.2 * l, 0, 0};
            builder_bounded(pair[s], 0, -1, Jb, 0.1 * l, -0.2 * m * l, 0.5 * m * l);
            const double Je[] = {0, 1, 0.5, 0, 0.1 * l, 0};
            builder_constraint(pair[s], PERP_CONSTRAINT_EQUALITY, 0, -1, 1, Je, NULL);
            const double vs[] = {2.4 * l, 0.3 * l, 0.2 * l, 0.1, 0.2, 0.5};
            memcpy(v[s], vs, sizeof vs);
            int32_t r = 0;
            p[s][r++] = 1.7 * m * l;
            p[s][r++] = -0.3 * m * l;
            p[s][r++] = 0.2 * m * l;
            if (which == 2) {
                p[s][r++] = 0.05 * m * l * l;
            }
            p[s][r++] = 0.6 * m * l;
            p[s][r++] = 0.2 * m * l;
        }
        const perp_contact_residual a = check_residual(&A, v[0], p[0]),
                                    z = check_residual(&Z, v[1], p[1]);
        CHECK(a.dynamics > 1e-3 && a.normal > 1e-3 && a.friction > 1e-3 && a.joints > 1e-3);
        CHECK_NEAR(a.dynamics, z.dynamics, 1e-12);
        CHECK_NEAR(a.normal, z.normal, 1e-12);
        CHECK_NEAR(a.friction, z.friction, 1e-12);
        CHECK_NEAR(a.joints, z.joints, 1e-12);
        CHECK_EQ_INT(a.worst_constraint, z.worst_constraint);
    }
}

/* ---- LCP, MLCP, NCP ------------------------------------------------------------------------------*/

/* What does not depend on the answer is computed once for several answers: bodies in the plane and in space,
 * contacts between them and joints. */
TEST(a_further_answer_to_the_same_problem_has_the_residual_of_a_fresh_check_to_the_bit)
{
    static builder A;
    builder* B = builder_new(&A);
    uint64_t random = 1;
    double J[24], v[12], p[9], W[9], pushed[9];
    for (int32_t i = 0; i < 3; ++i) {
        builder_block(B, i < 2 ? 3 : 6, NULL, (const double[]){2, 3, 0.5, 0.25, 0.75, 1.5},
                      (const double[]){6, -2, 0.3, 0.1, -1, 0.7});
    }
    for (int i = 0; i < 24; ++i) {
        J[i] = generate_uniform(&random, -1, 1);
    }
    builder_contact(B, -1, 0, 2, J, NULL, PERP_CONE_QUADRATIC, 0, 0.5);
    builder_contact(B, 0, 1, 2, J + 3, (const double[]){0.1, 0.2}, PERP_CONE_QUADRATIC, 0, 0.3);
    builder_contact(B, -1, 2, 3, J + 5, NULL, PERP_CONE_QUADRATIC, 0, 0.4);
    builder_bounded(B, 1, -1, J + 7, 0.3, -0.2, 0.5);
    builder_constraint(B, PERP_CONSTRAINT_EQUALITY, 0, 1, 1, J + 9, NULL);
    perpi_row_terms terms = {.W = W, .pushed = pushed, .known = false};
    REQUIRE(B->P.row_count == 9);
    for (int answer = 0; answer < 5; ++answer) {
        for (int i = 0; i < 12; ++i) {
            v[i] = generate_uniform(&random, -3, 3);
            p[i % 9] = generate_uniform(&random, -1, 2);
        }
        const perp_contact_residual fresh = check_residual(B, v, p);
        const perp_contact_residual again = perpi_contact_residual_again(&B->P, v, p, work, &terms);
        const double a[] = {fresh.dynamics, fresh.normal, fresh.friction, fresh.joints};
        const double b[] = {again.dynamics, again.normal, again.friction, again.joints};
        CHECK(terms.known);
        CHECK(memcmp(a, b, sizeof a) == 0);
        CHECK_AT_MOST(fabs(fresh.worst - again.worst), 0.0);
        CHECK_EQ_INT(fresh.worst_constraint, again.worst_constraint);
    }
}

TEST(an_lcp_is_judged_row_by_row_in_its_own_units)
{
    const double M[] = {2, 1, 1, 2}, q[] = {-4, 1};
    const perp_lcp lcp = {2, M, q}; /* z = (2, 0), w = (0, 3) */
    CHECK_AT_MOST(perp_lcp_check_residual(&lcp, (const double[]){2, 0}), 0.0);
    CHECK_NEAR(perp_lcp_check_residual(&lcp, (const double[]){0, 0}), 1.0, 1e-15); /* w_0 / |q_0| */
    CHECK_NEAR(perp_lcp_check_residual(&lcp, (const double[]){3, 0}), 2.0 / 10.003, 1e-15);
    CHECK_NEAR(perp_lcp_check_residual(&lcp, (const double[]){2, -1}), 0.5, 1e-15);
    CHECK(isinf(perp_lcp_check_residual(&lcp, (const double[]){NAN, 0})));
    /* a row of rounding alone is not a violation; a row of the same size as the rest is */
    const double M3[] = {1, 0, 0.5, -1}, q3[] = {-1, 0};
    CHECK_AT_MOST(perp_lcp_check_residual(&(perp_lcp){2, M3, q3}, (const double[]){1, 0.5 + 1e-14}),
                  2e-14);
    const double M4[] = {1, 0, 0, 1}, q4[] = {-1, 0};
    CHECK_AT_MOST(perp_lcp_check_residual(&(perp_lcp){2, M4, q4}, (const double[]){1, -1e-15}),
                  2e-12);
    const double M2[] = {2e6, 1e3, 1e3, 2}, q2[] = {-4e3, 1}; /* rescaled by (1e3, 1) */
    CHECK_NEAR(perp_lcp_check_residual(&(perp_lcp){2, M2, q2}, (const double[]){3e-3, 0}),
               2e3 / 10e3, 1e-7);
    CHECK_AT_MOST(perp_lcp_check_residual(&(perp_lcp){0, NULL, NULL}, NULL), 0.0);
}

static perp_status cube(void* user, const double* z, double* F)
{
    F[0] = z[0] * z[0] * z[0] - 8.0;
    F[1] = z[1] + 1.0;
    return user == NULL ? PERP_OK : PERP_ERROR_NUMERIC;
}
static perp_status cube_slope(void* user, const double* z, double* value)
{
    (void)user;
    value[0] = 3.0 * z[0] * z[0];
    value[1] = 1.0;
    return PERP_OK;
}

TEST(an_mlcp_and_an_ncp_are_judged_by_their_box)
{
    const int32_t start[] = {0, 2, 4}, row[] = {0, 1, 0, 1};
    const double value[] = {2, 1, 1, 2}, q[] = {-4, 1};
    double lower[] = {-INFINITY, 0}, upper[] = {INFINITY, INFINITY}, scratch[6];
    const perp_mlcp mlcp = {{2, 2, start, row, value}, q, lower, upper};
    CHECK_AT_MOST(perp_mlcp_check_residual(&mlcp, (const double[]){2, 0}, scratch), 0.0);
    CHECK_NEAR(perp_mlcp_check_residual(&mlcp, (const double[]){3, 0}, scratch), 0.2,
               1e-15);          /* Z = 0 */
    lower[0] = 0, upper[0] = 1; /* now z_0 = 1 at its upper bound, w_0 = -2 <= 0 */
    CHECK_AT_MOST(perp_mlcp_check_residual(&mlcp, (const double[]){1, 0}, scratch), 0.0);
    CHECK_NEAR(perp_mlcp_check_residual(&mlcp, (const double[]){2, 0}, scratch), 0.5,
               1e-15); /* (2 - 1)/2 */
    CHECK(isinf(perp_mlcp_check_residual(&mlcp, (const double[]){1, INFINITY}, scratch)));

    const int32_t diagonal_start[] = {0, 1, 2}, diagonal_row[] = {0, 1};
    const double zero[] = {0, 0}, infinite[] = {INFINITY, INFINITY};
    perp_ncp ncp = {
        2, zero, infinite, NULL, cube, {2, 2, diagonal_start, diagonal_row, NULL}, cube_slope};
    CHECK_AT_MOST(perp_ncp_check_residual(&ncp, (const double[]){2, 0}, scratch), 0.0);
    /* F = 19 against 19 + 27 * 3 */
    CHECK_NEAR(perp_ncp_check_residual(&ncp, (const double[]){3, 0}, scratch), 19.0 / 100.0, 1e-15);
    ncp.user = scratch; /* fails */
    CHECK(isinf(perp_ncp_check_residual(&ncp, (const double[]){2, 0}, scratch)));
}

/* A body (x, y, angle) on a hinge whose rows are two lengths and an angle, and beside it a particle on
 * the ground; the answer is off in every row. Lengths times L: masses stay, inertia times L^2. */
static perp_contact_residual judge_hinge(double L)
{
    static builder hinge;
    builder* B = builder_new(&hinge);
    builder_block(B, 3, NULL, (const double[]){2, 2, 0.5 * L * L},
                  (const double[]){3 * L, -1 * L, 0.25 * L * L});
    builder_block(B, 2, NULL, (const double[]){1, 1}, (const double[]){1 * L, -2 * L});
    builder_constraint(B, PERP_CONSTRAINT_EQUALITY, -1, 0, 3,
                       (const double[]){1, 0, 0.5 * L, 0, 1, -0.25 * L, 0, 0, 1},
                       (const double[]){0.125 * L, 0, 0.0625});
    builder_contact(B, -1, 1, 2, (const double[]){0, 1, 1, 0}, NULL, PERP_CONE_QUADRATIC, 0, 0.5);
    return check_residual(B, (const double[]){1e-4 * L, 2e-4 * L, 3e-3, 0.5 * L, 1e-3 * L},
                          (const double[]){-3 * L, 1 * L, -0.25 * L * L, 2 * L, -0.5 * L});
}

TEST(a_joint_of_lengths_and_angles_is_judged_alike_in_any_unit_of_length)
{
    const perp_contact_residual metres = judge_hinge(1.0);
    CHECK(metres.joints > 1e-3 && metres.joints < 10.0);
    for (int i = 0; i < 2; ++i) { /* powers of two: to the bit */
        const perp_contact_residual other = judge_hinge(i == 0 ? 1024.0 : 1.0 / 1024.0);
        CHECK_AT_MOST(fabs(other.joints - metres.joints), 0.0);
        CHECK_AT_MOST(fabs(other.normal - metres.normal), 0.0);
        CHECK_AT_MOST(fabs(other.friction - metres.friction), 0.0);
        CHECK_AT_MOST(fabs(other.dynamics - metres.dynamics), 0.0);
        CHECK_EQ_INT(other.worst_constraint, metres.worst_constraint);
    }
}
