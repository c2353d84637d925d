/* tests/unit/solve/friction_methods_test.c - nsgs, newton, admm and fixed-point on friction problems
 * whose answers are known by hand or checked by residual.c. */
#include "friction_scene.h"
#include "perp/solve.h"
#include "perp_test.h"

#include "solve/clock.h"

static const char* const method[] = {"nsgs", "newton", "admm", "fixed-point"};
enum { METHODS = 4, NSGS = 0, NEWTON = 1 };

/* A seeded stream of our own. */
static uint64_t seed_state;
static double uniform(void)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed_state >> 11) / 9007199254740992.0;
}
static double symmetric(void)
{
    return 2.0 * uniform() - 1.0;
}

typedef struct answer {
    perp_report report;
    perp_contact_residual residual;
} answer;

static answer solve_with(const perp_option* option, int32_t count, const char* name,
                         const perp_friction_problem* P, double tolerance, int32_t max_iter,
                         bool warm, double* r)
{
    answer a = {.report = {.outcome = PERP_OUTCOME_UNSET}, .residual = {.worst = INFINITY}};
    perp_context* context = NULL;
    perp_friction_solver* solver = NULL;
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    options.max_iter = max_iter;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return a;
    }
    if (perp_friction_solver_create(context, name, option, count, &solver) != PERP_OK ||
        perp_friction_solve(solver, P, &options, warm, r, &a.residual, &a.report) != PERP_OK) {
        printf("  %s: %s\n", name, perp_context_error(context));
        a.residual.worst = INFINITY;
    }
    perp_friction_solver_destroy(solver);
    perp_context_destroy(context);
    return a;
}

static answer solve(const char* name, const perp_friction_problem* P, double tolerance, double* r)
{
    return solve_with(NULL, 0, name, P, tolerance, 0, false, r);
}

/* ---- one contact by hand -------------------------------------------------------------------------- */

typedef struct one {
    perp_constraint c;
    int32_t start[2], column[1];
    size_t at[1];
    double W[16], q[4];
    perp_friction_problem P;
} one;

static void one_contact(one* p, perp_cone cone, int32_t rows, double mu, const double* diagonal,
                        const double* q)
{
    memset(p, 0, sizeof *p);
    p->c = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                             .block = {-1, -1},
                             .rows = rows,
                             .cone = cone,
                             .directions = cone == PERP_CONE_POLYGON ? (rows == 3 ? 4 : 2) : 0,
                             .mu = mu,
                             .e = {1.0, 0.5, 0.25}};
    p->start[1] = 1;
    for (int32_t i = 0; i < rows; ++i) {
        p->W[i * rows + i] = diagonal[i];
        p->q[i] = q[i];
    }
    p->P = (perp_friction_problem){.constraint_count = 1,
                                   .row_count = rows,
                                   .W = {p->start, p->column, p->at, p->W},
                                   .q = p->q,
                                   .constraint = &p->c};
}

typedef struct hand_case {
    const char* text;
    perp_cone cone;
    int32_t rows;
    double mu, W[4], q[4], r[4];
} hand_case;

/* W diagonal. Normal impulse 4 throughout the closed cases: -q_n / W_nn. */
static const hand_case hand[] = {
    {"open", PERP_CONE_QUADRATIC, 3, 0.5, {2, 1, 1}, {1, 5, 5}, {0, 0, 0}},
    {"touching", PERP_CONE_QUADRATIC, 3, 0.5, {2, 1, 1}, {0, 5, 5}, {0, 0, 0}},
    {"frictionless", PERP_CONE_NONE, 1, 0.0, {2}, {-8}, {4}},
    {"mu 0", PERP_CONE_QUADRATIC, 3, 0.0, {2, 1, 1}, {-8, 1, 1}, {4, 0, 0}},
    {"stick", PERP_CONE_QUADRATIC, 3, 0.5, {2, 1, 1}, {-8, 1, -1}, {4, -1, 1}},
    {"slide", PERP_CONE_QUADRATIC, 3, 0.5, {2, 1, 1}, {-8, 6, -8}, {4, -1.2, 1.6}},
    {"planar stick", PERP_CONE_QUADRATIC, 2, 0.5, {2, 1}, {-8, 1}, {4, -1}},
    {"planar slide", PERP_CONE_QUADRATIC, 2, 0.5, {2, 1}, {-8, -6}, {4, 2}},
    {"interval stick", PERP_CONE_POLYGON, 2, 0.5, {2, 1}, {-8, 1}, {4, -1}},
    {"interval slide", PERP_CONE_POLYGON, 2, 0.5, {2, 1}, {-8, 6}, {4, -2}},
    {"square stick", PERP_CONE_POLYGON, 3, 0.5, {2, 1, 1}, {-8, 0.5, -1}, {4, -0.5, 1}},
    {"square corner", PERP_CONE_POLYGON, 3, 0.5, {2, 1, 1}, {-8, 9, 1}, {4, -2, 0}},
    /* edge from (-2, 0) to (0, -2): r_t + q_t along (1, 1), so r_t = (-1.5, -0.5) */
    {"square edge", PERP_CONE_POLYGON, 3, 0.5, {2, 1, 1}, {-8, 4, 3}, {4, -1.5, -0.5}},
    {"torsion stick",
     PERP_CONE_ELLIPSOID,
     4,
     0.5,
     {2, 1, 1, 1},
     {-8, 1, 0, 0.25},
     {4, -1, 0, -0.25}},
    {"torsion open", PERP_CONE_ELLIPSOID, 4, 0.5, {2, 1, 1, 1}, {1, 1, 0, 0.25}, {0, 0, 0, 0}},
    /* slides along one axis of the ellipsoid: |r_i| = e_i mu r_n */
    {"torsion slide t", PERP_CONE_ELLIPSOID, 4, 0.5, {2, 1, 1, 1}, {-8, 9, 0, 0}, {4, -2, 0, 0}},
    {"torsion slide o", PERP_CONE_ELLIPSOID, 4, 0.5, {2, 1, 1, 1}, {-8, 0, 9, 0}, {4, 0, -1, 0}},
    {"torsion slide r", PERP_CONE_ELLIPSOID, 4, 0.5, {2, 1, 1, 1}, {-8, 0, 0, 9}, {4, 0, 0, -0.5}},
};

TEST(one_contact_opens_sticks_and_slides_as_by_hand_in_every_cone)
{
    for (size_t k = 0; k < sizeof hand / sizeof hand[0]; ++k) {
        one p;
        one_contact(&p, hand[k].cone, hand[k].rows, hand[k].mu, hand[k].W, hand[k].q);
        for (int m = 0; m < METHODS; ++m) {
            double r[4] = {0, 0, 0, 0};
            const answer a = solve(method[m], &p.P, 1e-12, r);
            double off = 0.0;
            for (int32_t i = 0; i < hand[k].rows; ++i) {
                off = fmax(off, fabs(r[i] - hand[k].r[i]));
            }
            if (!(a.residual.worst <= 1e-12) || !(off <= 1e-10)) {
                TEST_PRINT("%s, %s: residual %.1e, off by %.1e", hand[k].text, method[m],
                           a.residual.worst, off);
            }
            CHECK_EQ_INT(a.report.outcome, PERP_OUTCOME_SOLVED);
            CHECK_AT_MOST(off, 1e-10);
        }
    }
}

/* ---- random strictly convex problems ---------------------------------------------------------------- */

/* A dense problem of n constraints of random kinds; W = A A' / m + 0.05 I. */
typedef struct dense {
    perp_constraint c[16];
    int32_t start[17], column[256];
    size_t at[256];
    double W[64 * 64], q[64], lower[64], upper[64], full[64 * 64];
    perp_friction_problem P;
} dense;

static void random_problem(dense* p, int32_t n, double mu_max, bool joints)
{
    memset(p, 0, sizeof *p);
    int32_t rows = 0;
    for (int32_t i = 0; i < n; ++i) {
        perp_constraint* c = &p->c[i];
        const int32_t pick = (int32_t)(uniform() * (joints ? 7.0 : 5.0));
        *c = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT, .block = {-1, -1}, .row = rows};
        c->mu = mu_max * uniform();
        c->rows = 3;
        c->cone = PERP_CONE_QUADRATIC;
        if (pick == 1) {
            c->cone = PERP_CONE_POLYGON;
            c->directions = 3 + (int32_t)(uniform() * 10.0);
        } else if (pick == 2) {
            c->cone = PERP_CONE_ELLIPSOID;
            c->rows = 4;
            c->e[0] = 1.0;
            c->e[1] = 0.5 + uniform();
            c->e[2] = 0.1 + 0.2 * uniform();
        } else if (pick == 3) {
            c->cone = PERP_CONE_NONE;
            c->rows = 1;
        } else if (pick == 4) {
            c->rows = 2;
        } else if (pick == 5) {
            c->kind = PERP_CONSTRAINT_EQUALITY;
            c->rows = 2;
        } else if (pick == 6) {
            c->kind = PERP_CONSTRAINT_BOUNDED;
            c->rows = 2;
        }
        rows += c->rows;
    }
    double A[64 * 64];
    for (int32_t i = 0; i < rows * rows; ++i) {
        A[i] = symmetric();
    }
    for (int32_t i = 0; i < rows; ++i) {
        for (int32_t j = 0; j < rows; ++j) {
            double t = i == j ? 0.05 : 0.0;
            for (int32_t k = 0; k < rows; ++k) {
                t += A[i * rows + k] * A[j * rows + k] / rows;
            }
            p->full[i * rows + j] = t;
        }
        p->q[i] = symmetric();
        p->lower[i] = -uniform();
        p->upper[i] = uniform();
    }
    size_t at = 0;
    for (int32_t i = 0, k = 0; i < n; ++i) {
        p->start[i] = k;
        for (int32_t j = 0; j < n; ++j, ++k) {
            p->column[k] = j;
            p->at[k] = at;
            for (int32_t a = 0; a < p->c[i].rows; ++a) {
                for (int32_t b = 0; b < p->c[j].rows; ++b) {
                    p->W[at++] = p->full[(p->c[i].row + a) * rows + p->c[j].row + b];
                }
            }
        }
        p->start[i + 1] = k;
    }
    p->P = (perp_friction_problem){.constraint_count = n,
                                   .row_count = rows,
                                   .W = {p->start, p->column, p->at, p->W},
                                   .q = p->q,
                                   .lower = p->lower,
                                   .upper = p->upper,
                                   .constraint = p->c};
}

TEST(random_strictly_convex_problems_with_every_cone_and_joints_satisfy_the_judge)
{
    static const double tolerance[METHODS] = {1e-11, 1e-12, 1e-9, 1e-9};
    static dense p;
    int32_t solved[METHODS] = {0, 0, 0, 0};
    const int32_t problems = 200;
    for (int32_t k = 0; k < problems; ++k) {
        seed_state = 1000u + (uint64_t)k;
        random_problem(&p, 1 + k % 12, 0.8, k % 2 == 1);
        for (int m = 0; m < METHODS; ++m) {
            double r[64] = {0};
            const answer a = solve(method[m], &p.P, tolerance[m], r);
            solved[m] += a.residual.worst <= tolerance[m];
        }
    }
    for (int m = 0; m < METHODS; ++m) {
        TEST_PRINT("%-11s %d of %d random problems at %.0e", method[m], solved[m], problems,
                   tolerance[m]);
    }
    CHECK_EQ_INT(solved[NSGS], problems);
    CHECK_EQ_INT(solved[NEWTON], problems);
    CHECK_EQ_INT(solved[2], problems);
    CHECK_EQ_INT(solved[3], problems);
}

TEST(friction_up_to_two_is_solved_by_newton)
{
    static dense p;
    int32_t solved = 0, problems = 300;
    for (int32_t k = 0; k < problems; ++k) {
        seed_state = 5000u + (uint64_t)k;
        random_problem(&p, 1 + k % 10, 2.0, false);
        double r[64] = {0};
        solved += solve("newton", &p.P, 1e-10, r).residual.worst <= 1e-10;
    }
    TEST_PRINT("newton, mu up to 2: %d of %d at 1e-10", solved, problems);
    CHECK_EQ_INT(solved, problems);
}

/* ---- bodies ------------------------------------------------------------------------------------------ */

static void stack(scene* s, int32_t boxes, double mu, double top_mass)
{
    for (int32_t i = 0; i < boxes; ++i) {
        const int32_t b =
            scene_cube(s, i == boxes - 1 ? top_mass : 1.0, 0, 0, 0.5 + i, 0.05 * (i % 2), 0.02);
        scene_face(s, b - 1, b, 0, 0, i, 0.5, mu);
    }
    scene_build(s);
}

TEST(stacks_of_ten_at_any_friction_are_solved_to_1e_12_by_newton)
{
    for (int k = 0; k <= 10; ++k) {
        scene s = {0};
        stack(&s, 10, 0.2 * k, 1.0);
        double r[120] = {0};
        const answer a = solve("newton", &s.P, 1e-12, r);
        CHECK_AT_MOST(a.residual.worst, 1e-12);
        TEST_PRINT("mu %.1f: residual %.1e, %d steps", 0.2 * k, a.residual.worst,
                   a.report.iterations);
        scene_free(&s);
    }
}

TEST(mass_ratios_up_to_a_million_are_solved_by_newton)
{
    for (double ratio = 1e-6; ratio <= 1.1e6; ratio *= 10.0) {
        scene s = {0};
        stack(&s, 2, 0.5, ratio);
        double r[24] = {0};
        const answer a = solve("newton", &s.P, 1e-11, r);
        CHECK_AT_MOST(a.residual.worst, 1e-11);
        scene_free(&s);
    }
}

/* Bodies' velocities are perturbed from problem to problem as in a simulation. */
static double warm_time(scene* s, double tolerance, int32_t* solved)
{
    perp_context* context = NULL;
    perp_friction_solver* solver = NULL;
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    perp_report report;
    double first[120] = {0}, r[120], best = INFINITY;
    *solved = 0;
    if (perp_context_create(NULL, &context) != PERP_OK ||
        perp_friction_solver_create(context, "newton", NULL, 0, &solver) != PERP_OK ||
        perp_friction_solve(solver, &s->P, &options, false, first, NULL, &report) != PERP_OK) {
        return best;
    }
    seed_state = 7;
    for (int k = 0; k < 50; ++k) {
        for (int32_t i = 0; i < s->rows; ++i) {
            s->q[i] = 0.0;
        }
        double v[60];
        for (int32_t i = 0; i < 6 * s->bodies; ++i) {
            v[i] = s->velocity[i] + 1e-5 * symmetric();
        }
        for (int32_t i = 0; i < s->constraints; ++i) {
            const perp_constraint* c = &s->constraint[i];
            for (int32_t row = c->row; row < c->row + c->rows; ++row) {
                for (int side = 0; side < 2; ++side) {
                    for (int l = 0; l < 6 && c->block[side] >= 0; ++l) {
                        s->q[row] += s->row[row].J[side][l] * v[6 * c->block[side] + l];
                    }
                }
            }
        }
        memcpy(r, first, sizeof r);
        const double begin = perpi_clock_now();
        if (perp_friction_solve(solver, &s->P, &options, true, r, NULL, &report) != PERP_OK) {
            break;
        }
        const double seconds = perpi_clock_now() - begin;
        best = seconds < best ? seconds : best;
        *solved += report.residual <= tolerance;
    }
    perp_friction_solver_destroy(solver);
    perp_context_destroy(context);
    return best;
}

TEST(warm_started_stacks_are_solved_to_1e_10_every_time)
{
    scene s = {0};
    int32_t solved;
    for (int32_t i = 0; i < 10; ++i) {
        const int32_t b = scene_cube(&s, 1.0, 0, 0, 0.5 + i, 0, 0);
        scene_face(&s, b - 1, b, 0, 0, i, 0.5, 0.5);
    }
    scene_build(&s);
    double seconds = warm_time(&s, 1e-10, &solved);
    TEST_PRINT("ten cubes, 40 contacts, warm: %.0f microseconds at best", 1e6 * seconds);
    CHECK_EQ_INT(solved, 50);
    scene_free(&s);
    for (int32_t i = 0; i < 2; ++i) {
        const int32_t b = scene_cube(&s, i == 0 ? 1.0 : 1000.0, 0, 0, 0.5 + i, 0, 0);
        scene_face(&s, b - 1, b, 0, 0, i, 0.5, 0.5);
    }
    scene_build(&s);
    seconds = warm_time(&s, 1e-10, &solved);
    TEST_PRINT("1000 kg on 1 kg, 8 contacts, warm: %.1f microseconds at best", 1e6 * seconds);
    CHECK_EQ_INT(solved, 50);
    scene_free(&s);
}

/* 25 contacts under one cube: 75 rows of rank 6. */
TEST(many_contacts_under_one_box_do_not_stop_a_method)
{
    static const double tolerance[METHODS] = {1e-9, 1e-12, 1e-9, 1e-9};
    const double up[3] = {0, 0, 1};
    scene s = {0};
    const int32_t b = scene_cube(&s, 1.0, 0, 0, 0.5, 0.3, 0.1);
    for (int k = 0; k < 25; ++k) {
        const double at[3] = {-0.5 + 0.25 * (k % 5), -0.5 + 0.25 * (k / 5), 0};
        scene_contact(&s, -1, b, at, up, 0.4);
    }
    scene_build(&s);
    double v[METHODS][6];
    for (int m = 0; m < METHODS; ++m) {
        double r[75] = {0};
        const answer a = solve(method[m], &s.P, tolerance[m], r);
        CHECK_AT_MOST(a.residual.worst, tolerance[m]);
        scene_velocities(&s, r, v[m]);
        TEST_PRINT("%-11s %.1e after %d", method[m], a.residual.worst, a.report.iterations);
        for (int l = 0; l < 6; ++l) { /* the velocity is unique though the impulses are not */
            CHECK_NEAR(v[m][l], v[0][l], 1e-7);
        }
    }
    scene_free(&s);
}

/* A cube that slides without tipping: v_x falls by mu g h, nothing else moves. */
TEST(a_sliding_cube_slows_by_mu_g_h_in_every_method)
{
    scene s = {0};
    const int32_t b = scene_cube(&s, 2.0, 0, 0, 0.5, 3.0, 4.0);
    scene_face(&s, -1, b, 0, 0, 0, 0.5, 0.5);
    scene_build(&s);
    const double speed = 5.0 - 0.5 * 0.0981;
    for (int m = 0; m < METHODS; ++m) {
        double r[12] = {0}, v[6];
        const answer a = solve(method[m], &s.P, 1e-11, r);
        CHECK_AT_MOST(a.residual.worst, 1e-11);
        scene_velocities(&s, r, v);
        CHECK_NEAR(v[0], 0.6 * speed, 1e-9);
        CHECK_NEAR(v[1], 0.8 * speed, 1e-9);
        CHECK_NEAR(v[2], 0.0, 1e-9);
    }
    scene_free(&s);
}

TEST(a_ball_at_any_angle_slides_without_turning)
{
    double worst = 0.0;
    for (int k = 0; k < 360; ++k) {
        const double angle = 3.14159265358979323846 * k / 180.0;
        const double velocity[6] = {2.0 * cos(angle), 2.0 * sin(angle), -0.0981, 0, 0, 0};
        scene s = {0};
        const int32_t b = scene_body(&s, 1.0, (const double[3]){0.4, 0.4, 0.4},
                                     (const double[3]){0, 0, 1}, velocity);
        scene_contact_turned(&s, -1, b, (const double[3]){0, 0, 0}, (const double[3]){0, 0, 1}, 0.3,
                             0.017 * k);
        scene_build(&s);
        for (int m = 0; m <= NEWTON; ++m) {
            double r[3] = {0}, v[6];
            const answer a = solve(method[m], &s.P, 1e-14, r);
            CHECK_AT_MOST(a.residual.worst, 1e-14);
            scene_velocities(&s, r, v);
            worst = fmax(worst, fabs(v[0] * sin(angle) - v[1] * cos(angle)));
        }
        scene_free(&s);
    }
    TEST_PRINT("largest sideways velocity %.1e of 2", worst);
    CHECK_AT_MOST(worst, 1e-15);
}

/* Two cubes on the ground, held together at a point (3 equality rows), one pushed away. */
TEST(an_equality_block_holds_two_bodies_on_the_ground_together)
{
    scene s = {0};
    const int32_t a = scene_cube(&s, 1.0, 0, 0, 0.5, 0, 0);
    const int32_t b = scene_cube(&s, 5.0, 1, 0, 0.5, 2.0, 0.5);
    scene_face(&s, -1, a, 0, 0, 0, 0.5, 0.3);
    scene_face(&s, -1, b, 1, 0, 0, 0.5, 0.3);
    const int32_t row = s.rows;
    scene_constraint(&s, PERP_CONSTRAINT_EQUALITY, a, b, 3);
    for (int k = 0; k < 3; ++k) {
        double d[3] = {0, 0, 0};
        d[k] = 1.0;
        scene_linear(&s, row + k, a, b, (const double[3]){0.5, 0, 0.5}, d);
    }
    scene_build(&s);
    static const double tolerance[METHODS] = {1e-10, 1e-12, 1e-9, 1e-9};
    for (int m = 0; m < METHODS; ++m) {
        double r[27] = {0}, v[12];
        const answer got = solve(method[m], &s.P, tolerance[m], r);
        TEST_PRINT("%-11s %.1e after %d", method[m], got.residual.worst, got.report.iterations);
        CHECK_AT_MOST(got.residual.worst, tolerance[m]);
        scene_velocities(&s, r, v);
        CHECK_NEAR(v[0] + 0.0, v[6], 1e-8); /* no rotation about y or z at the joint's height */
    }
    scene_free(&s);
}

/* A motor along x that may give at most 0.1: the cube on ice keeps what is left. */
TEST(a_bounded_row_gives_no_more_than_its_bound)
{
    for (int k = 0; k < 2; ++k) {
        scene s = {0};
        const int32_t b = scene_cube(&s, 1.0, 0, 0, 0.5, 1.0, 0);
        scene_face(&s, -1, b, 0, 0, 0, 0.5, 0.0);
        const int32_t row = s.rows;
        scene_constraint(&s, PERP_CONSTRAINT_BOUNDED, -1, b, 1);
        scene_linear(&s, row, -1, b, (const double[3]){0, 0, 0.5}, (const double[3]){1, 0, 0});
        s.lower[row] = k == 0 ? -0.1 : -10.0;
        s.upper[row] = -s.lower[row];
        scene_build(&s);
        for (int m = 0; m < METHODS; ++m) {
            double r[13] = {0}, v[6];
            const answer a = solve(method[m], &s.P, 1e-11, r);
            CHECK_AT_MOST(a.residual.worst, 1e-11);
            scene_velocities(&s, r, v);
            CHECK_NEAR(r[row], k == 0 ? -0.1 : -1.0, 1e-9);
            CHECK_NEAR(v[0], k == 0 ? 0.9 : 0.0, 1e-9);
        }
        scene_free(&s);
    }
}

/* Gaps that differ by a millionth: which corners carry is decided by noise, as in a real run. */
TEST(stacks_with_noise_in_their_gaps_are_solved_by_newton)
{
    int32_t solved = 0, problems = 0;
    double worst = 0.0;
    for (int k = 0; k < 30; ++k) {
        scene s = {0};
        seed_state = 90u + (uint64_t)k;
        for (int32_t i = 0; i < 4; ++i) {
            const int32_t b = scene_cube(&s, 1.0, 0, 0, 0.5 + i, 0, 0);
            scene_face(&s, b - 1, b, 0, 0, i, 0.5, 0.5);
        }
        for (int32_t i = 0; i < s.rows; i += 3) {
            s.b[i] = 0.1 * (k % 2 == 0 ? 1e-6 : 1e-3) * uniform();
        }
        scene_build(&s);
        double r[48] = {0};
        const answer a = solve("newton", &s.P, 1e-10, r);
        solved += a.residual.worst <= 1e-10;
        worst = fmax(worst, a.residual.worst);
        ++problems;
        scene_free(&s);
    }
    TEST_PRINT("%d of %d at 1e-10, worst %.1e", solved, problems, worst);
    CHECK_EQ_INT(solved, problems);
}

/* ---- manners ------------------------------------------------------------------------------------------ */

static bool stop_at_once(void* user)
{
    ++*(int*)user;
    return true;
}

static void count_lines(void* user, int32_t iteration, double residual)
{
    (void)iteration;
    ((int*)user)[1] += residual >= 0.0;
}

TEST(a_second_solve_allocates_nothing_and_the_problem_stays_as_it_was)
{
    scene s = {0};
    stack(&s, 4, 0.4, 10.0);
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    double* q = malloc((size_t)s.rows * sizeof *q);
    memcpy(q, s.q, (size_t)s.rows * sizeof *q);
    double sum = 0.0, after = 0.0;
    const size_t values = s.at[s.start[s.constraints] - 1] + 9;
    for (size_t i = 0; i < values; ++i) {
        sum += s.value[i];
    }
    for (int m = 0; m < METHODS; ++m) {
        perp_friction_solver* solver = NULL;
        perp_solve_options options = perp_solve_options_default();
        options.max_iter = 50;
        double first[48] = {0}, second[48] = {0};
        perp_report report;
        REQUIRE_OK(perp_friction_solver_create(context, method[m], NULL, 0, &solver));
        REQUIRE_OK(perp_friction_solve(solver, &s.P, &options, false, first, NULL, &report));
        const uint64_t before = perp_context_allocations(context);
        REQUIRE_OK(perp_friction_solve(solver, &s.P, &options, false, second, NULL, &report));
        CHECK_EQ_U64(perp_context_allocations(context), before);
        CHECK(memcmp(first, second, sizeof first) == 0); /* to the bit */
        perp_friction_solver_destroy(solver);
    }
    for (size_t i = 0; i < values; ++i) {
        after += s.value[i];
    }
    CHECK(sum == after);
    CHECK(memcmp(q, s.q, (size_t)s.rows * sizeof *q) == 0);
    free(q);
    perp_context_destroy(context);
    scene_free(&s);
}

TEST(limits_log_and_cancellation_are_honoured)
{
    scene s = {0};
    stack(&s, 10, 0.4, 1.0);
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (int m = 0; m < METHODS; ++m) {
        perp_friction_solver* solver = NULL;
        REQUIRE_OK(perp_friction_solver_create(context, method[m], NULL, 0, &solver));
        int counts[2] = {0, 0};
        double r[120] = {0};
        perp_report report;
        perp_solve_options options = perp_solve_options_default();
        options.tolerance = 1e-300;
        options.max_iter = 5;
        options.log = count_lines;
        options.user = counts;
        REQUIRE_OK(perp_friction_solve(solver, &s.P, &options, false, r, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
        CHECK_EQ_INT(report.iterations, 5);
        CHECK(counts[1] >= 1);
        options.cancel = stop_at_once;
        REQUIRE_OK(perp_friction_solve(solver, &s.P, &options, false, r, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_CANCELLED);
        options.cancel = NULL;
        options.max_iter = 1000000000;
        options.time_limit = 0.01;
        REQUIRE_OK(perp_friction_solve(solver, &s.P, &options, false, r, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_TIME_LIMIT);
        CHECK_AT_MOST(report.seconds, 1.0);
        perp_friction_solver_destroy(solver);
    }
    perp_context_destroy(context);
    scene_free(&s);
}

TEST(a_warm_start_at_the_answer_takes_no_step)
{
    scene s = {0};
    stack(&s, 3, 0.4, 1.0);
    double r[36] = {0};
    CHECK_AT_MOST(solve("newton", &s.P, 1e-13, r).residual.worst, 1e-13);
    for (int m = 0; m < METHODS; ++m) {
        double warm[36];
        memcpy(warm, r, sizeof warm);
        const answer a = solve_with(NULL, 0, method[m], &s.P, 1e-10, 0, true, warm);
        CHECK_EQ_INT(a.report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_EQ_INT(a.report.iterations, 0);
    }
    scene_free(&s);
}
