/* The contact model `disjunctive` [B09 3.2]: the law of (3.6)-(3.15), and the block that slides over a
 * hole (figure 3.1). */
#include "perp_test.h"
#include "support/generate.h"
#include "support/scene_sim.h"

/* ---- a particle before a corner ------------------------------------------------------------------------
 * psi_i at the end of the step: g_i + h n_i . v, m v = k + n_1 p_1 + n_2 p_2; psi_i = a_i + C p. */
typedef struct corner {
    double n[2][2], gap[2], k[2], mass, h;
    double a[2], C[2][2];
} corner;

static void draw(uint64_t* seed, corner* c)
{
    const double first = generate_uniform(seed, 0.0, 6.3),
                 second = first + generate_uniform(seed, 0.4, 2.6);
    c->mass = generate_uniform(seed, 0.5, 2.0);
    c->h = 0.1;
    for (int i = 0; i < 2; ++i) {
        c->n[i][0] = cos(i == 0 ? first : second);
        c->n[i][1] = sin(i == 0 ? first : second);
        c->gap[i] =
            generate_uniform(seed, -0.05, 0.2); /* one may be crossed: the other must hold */
        c->k[i] = c->mass * generate_uniform(seed, -3.0, 3.0);
    }
    if (c->gap[0] < 0.0 && c->gap[1] < 0.0) {
        c->gap[0] = -c->gap[0];
    }
    for (int i = 0; i < 2; ++i) {
        c->a[i] = c->gap[i] + c->h * (c->n[i][0] * c->k[0] + c->n[i][1] * c->k[1]) / c->mass;
        for (int j = 0; j < 2; ++j) {
            c->C[i][j] = c->h * (c->n[i][0] * c->n[j][0] + c->n[i][1] * c->n[j][1]) / c->mass;
        }
    }
}

typedef struct answers {
    double p[64][2];
    int count;
} answers;

static void remember(answers* s, double p1, double p2)
{
    for (int i = 0; i < s->count; ++i) {
        if (fabs(s->p[i][0] - p1) + fabs(s->p[i][1] - p2) < 1e-7) {
            return;
        }
    }
    if (s->count < 64) {
        s->p[s->count][0] = p1;
        s->p[s->count++][1] = p2;
    }
}

/* A x = b in place, n <= 9; false: singular. */
static bool solve(int n, double A[9][10])
{
    for (int p = 0; p < n; ++p) {
        int best = p;
        for (int i = p + 1; i < n; ++i) {
            best = fabs(A[i][p]) > fabs(A[best][p]) ? i : best;
        }
        if (fabs(A[best][p]) < 1e-11) {
            return false;
        }
        for (int j = 0; j <= n; ++j) {
            const double t = A[p][j];
            A[p][j] = A[best][j];
            A[best][j] = t;
        }
        for (int i = 0; i < n; ++i) {
            const double f = i == p ? 0.0 : A[i][p] / A[p][p];
            for (int j = p; j <= n; ++j) {
                A[i][j] -= f * A[p][j];
            }
        }
    }
    for (int p = 0; p < n; ++p) {
        A[p][n] /= A[p][p];
    }
    return true;
}

/* (3.6)-(3.12), (3.14), (3.15) as w = A z + q over z = (c1 c2 d g1 g2 h1 h2 p1 p2); (3.13) is d - gamma +
 * 1 >= 0, its p appears nowhere else. All 512 complementary bases are tried. */
static void enumerate_thesis(const corner* c, double gamma, answers* out)
{
    enum { C1, C2, D, G1, G2, H1, H2, P1, P2, N };
    double A[N][N] = {{0}}, q[N] = {0};
    for (int i = 0; i < 2; ++i) {
        A[C1 + i][C1 + i] = 1.0; /* (3.6), (3.7) */
        q[C1 + i] = c->a[i] - 1.0;
        A[H1 + i][H1 + i] = 1.0; /* (3.11), (3.12) */
        q[H1 + i] = c->a[i];
        for (int j = 0; j < 2; ++j) {
            A[C1 + i][P1 + j] = c->C[i][j];
            A[H1 + i][P1 + j] = c->C[i][j];
        }
        A[D][G1 + i] = 1.0;      /* (3.8) */
        A[G1 + i][C1 + i] = 1.0; /* (3.9), (3.10) */
        A[G1 + i][D] = 1.0;
        q[G1 + i] = -gamma;
        A[P1 + i][H1 + i] = 1.0; /* (3.14), (3.15) */
        A[P1 + i][D] = 1.0;
        q[P1 + i] = 1.0 - gamma;
    }
    q[D] = -1.0;
    for (int mask = 0; mask < 1 << N; ++mask) {
        int basic[N], n = 0;
        for (int i = 0; i < N; ++i) {
            if (mask >> i & 1) {
                basic[n++] = i;
            }
        }
        double S[9][10], z[N] = {0};
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                S[i][j] = A[basic[i]][basic[j]];
            }
            S[i][n] = -q[basic[i]];
        }
        if (!solve(n, S)) {
            continue;
        }
        bool holds = true;
        for (int i = 0; i < n; ++i) {
            z[basic[i]] = S[i][n];
            holds = holds && S[i][n] >= -1e-9;
        }
        for (int i = 0; holds && i < N; ++i) {
            double w = q[i];
            for (int j = 0; j < N; ++j) {
                w += A[i][j] * z[j];
            }
            holds = w >= -1e-9;
        }
        if (holds && z[D] - gamma + 1.0 >= -1e-9) { /* (3.13) */
            remember(out, z[P1], z[P2]);
        }
    }
}

/* (3.3)-(3.5), case by case: nobody pushes, the one, the other, both. */
static void enumerate_law(const corner* c, answers* out)
{
    for (int who = 0; who < 4; ++who) {
        double p[2] = {0.0, 0.0};
        const double det = c->C[0][0] * c->C[1][1] - c->C[0][1] * c->C[1][0];
        if (who == 1) {
            p[0] = -c->a[0] / c->C[0][0];
        } else if (who == 2) {
            p[1] = -c->a[1] / c->C[1][1];
        } else if (who == 3) {
            p[0] = (-c->a[0] * c->C[1][1] + c->a[1] * c->C[0][1]) / det;
            p[1] = (-c->a[1] * c->C[0][0] + c->a[0] * c->C[1][0]) / det;
        }
        double psi[2];
        for (int i = 0; i < 2; ++i) {
            psi[i] = c->a[i] + c->C[i][0] * p[0] + c->C[i][1] * p[1];
        }
        const double most = fmax(psi[0], psi[1]);
        if (most >= -1e-9 && p[0] >= -1e-9 && p[1] >= -1e-9 && (who == 0 || most <= 1e-9)) {
            remember(out, p[0], p[1]);
        }
    }
}

static bool among(const answers* s, double p1, double p2)
{
    for (int i = 0; i < s->count; ++i) {
        if (fabs(s->p[i][0] - p1) + fabs(s->p[i][1] - p2) < 1e-6) {
            return true;
        }
    }
    return false;
}

/* The corner as a contact problem with a group, by the library. */
static bool solve_group(perp_context* context, const corner* c, double p[2])
{
    const int32_t dof[2] = {0, 2}, member[2] = {0, 1};
    const double M[4] = {c->mass, 0, 0, c->mass};
    const double J[4] = {c->n[0][0], c->n[0][1], c->n[1][0], c->n[1][1]};
    const double b[2] = {c->gap[0] / c->h, c->gap[1] / c->h};
    const perp_constraint constraint[2] = {
        {.kind = PERP_CONSTRAINT_CONTACT, .block = {-1, 0}, .row = 0, .rows = 1, .jac = 0},
        {.kind = PERP_CONSTRAINT_CONTACT, .block = {-1, 0}, .row = 1, .rows = 1, .jac = 2}};
    const perp_group group = {member, 2, 2};
    const perp_contact_problem problem = {.block_count = 1,
                                          .constraint_count = 2,
                                          .group_count = 1,
                                          .dof_count = 2,
                                          .row_count = 2,
                                          .dof = dof,
                                          .M = M,
                                          .k = c->k,
                                          .J = J,
                                          .b = b,
                                          .constraint = constraint,
                                          .group = &group};
    perp_contact_solver* solver = NULL;
    double v[2] = {0.0, 0.0};
    perp_report report = {0};
    const perp_solve_options options = perp_solve_options_default();
    p[0] = p[1] = 0.0;
    perp_status status = perp_contact_solver_create(context, "auto", NULL, 0, &solver);
    if (status == PERP_OK) {
        status = perp_contact_solve(solver, &problem, &options, false, v, p, NULL, &report);
    }
    perp_contact_solver_destroy(solver);
    return status == PERP_OK && report.outcome == PERP_OUTCOME_SOLVED;
}

TEST(the_variables_of_the_thesis_have_the_solutions_of_the_group)
{
    perp_context* context = NULL;
    uint64_t seed = 7;
    int none = 0, one = 0, both = 0, several = 0;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (int trial = 0; trial < 300; ++trial) {
        corner c;
        answers thesis = {.count = 0}, law = {.count = 0};
        draw(&seed, &c);
        enumerate_thesis(&c, 10.0, &thesis);
        enumerate_law(&c, &law);
        REQUIRE(law.count > 0);
        CHECK_EQ_INT(thesis.count, law.count);
        for (int i = 0; i < law.count; ++i) {
            CHECK(among(&thesis, law.p[i][0], law.p[i][1]));
            const int pushing = (law.p[i][0] > 1e-9) + (law.p[i][1] > 1e-9);
            none += pushing == 0;
            one += pushing == 1;
            both += pushing == 2;
        }
        several += law.count > 1;
        double p[2];
        REQUIRE(solve_group(context, &c, p));
        CHECK(among(&thesis, p[0], p[1]));
    }
    TEST_PRINT("solutions without a push %d, with one %d, with both %d; %d of 300 have several",
               none, one, both, several);
    CHECK(none > 20 && one > 20 && several > 10);
    perp_context_destroy(context);
}

/* gamma too small, below |min psi|: the thesis' condition is needed, and a group has no such thing. */
TEST(a_gamma_that_is_too_small_loses_the_law_of_the_thesis)
{
    corner c = {.n = {{0, 1}, {-1, 0}}, .gap = {0.02, -3.0}, .k = {0.0, -1.0}, .mass = 1, .h = 0.1};
    for (int i = 0; i < 2; ++i) {
        c.a[i] = c.gap[i] + c.h * (c.n[i][0] * c.k[0] + c.n[i][1] * c.k[1]);
        for (int j = 0; j < 2; ++j) {
            c.C[i][j] = i == j ? c.h : 0.0;
        }
    }
    answers good = {.count = 0}, bad = {.count = 0}, law = {.count = 0};
    enumerate_law(&c, &law);
    enumerate_thesis(&c, 10.0, &good);
    enumerate_thesis(&c, 0.5, &bad);
    CHECK_EQ_INT(good.count, law.count);
    CHECK(law.count >= 1 && among(&law, 0.8, 0.0)); /* 0.02 - 0.1 + 0.1 p = 0 */
    CHECK(!among(&bad, 0.8, 0.0) || bad.count != law.count);
}

/* ---- figure 3.1 ------------------------------------------------------------------------------------------
 * A block of length 1 slides over a hole of 0.3 whose right side is a diagonal edge. */
static scene_sim hole(const char* contact, double mu, double h)
{
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':1,'contact':'%s',"
        "'friction':{'default':%.17g},'bodies':[{'name':'left','type':'static',"
        "'shapes':[{'type':'polygon','vertices':[[-3,-0.3],[-0.2,-0.3],[0,0],[-3,0]]}]},{"
        "'name':'right','type':'static','shapes':[{'type':'polygon','vertices':[["
        "0.1,-0.3],[4,-0.3],[4,0],[0.3,0]]}]},{'name':'block','mass':1,'position':[-0.6,"
        "0.15],'velocity':[2,0],'shapes':[{'type':'box','size':[1,0.3]}]}]}",
        h, contact, mu);
}

TEST(a_block_slides_over_a_hole_and_is_caught_by_the_conjunction)
{
    for (int i = 0; i < 3; ++i) {
        const double mu = 0.1 * i, slowed = 2.0 - mu * 9.81;
        scene_sim s = hole("disjunctive", mu, 0.01);
        REQUIRE(s.sim != NULL);
        double highest = 0.0, lowest = 1.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            CHECK_AT_MOST(info.certificate.worst, 1e-8);
            CHECK_EQ_INT(info.fallbacks, 0);
            const double y = scene_sim_body(&s, "block").position[1];
            highest = fmax(highest, y);
            lowest = fmin(lowest, y);
        }
        CHECK_NEAR(scene_sim_body(&s, "block").velocity[0], slowed, 1e-9);
        CHECK_NEAR(highest, 0.15, 1e-9);
        CHECK_NEAR(lowest, 0.15, 1e-9);
        const double came = scene_sim_body(&s, "block").position[0];
        scene_sim_close(&s);

        s = hole("standard", mu, 0.01);
        REQUIRE(s.sim != NULL);
        (void)scene_sim_run(&s);
        const perp_body_state b = scene_sim_body(&s, "block");
        TEST_PRINT("mu %g: reaches x = %.3f, with standard %.3f", mu, came, b.position[0]);
        CHECK(b.position[0] < came - 0.3);
        scene_sim_close(&s);
    }
}

TEST(friction_at_a_corner_is_that_of_the_edge_that_holds)
{
    /* a box on a plate, its corner over the plate's: exact stick, then exact sliding */
    for (int slides = 0; slides < 2; ++slides) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[%.17g,-10],'step':0.01,'duration':0.5,'contact':"
            "'disjunctive','friction':{'default':0.3},'bodies':[{'name':'plate',"
            "'type':"
            "'static','shapes':[{'type':'box','size':[4,1],'position':[0,-0.5]}]},{"
            "'name':'box','mass':2,'position':[1.5,0.5],'shapes':[{'type':'box',"
            "'size':"
            "[1,1]}]}]}",
            slides ? -4.0 : -2.0);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "box");
        CHECK_NEAR(b.velocity[0], slides ? -0.5 : 0.0, 1e-9); /* (4 - 3) 0.5 */
        CHECK_NEAR(b.position[1], 0.5, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(a_particle_goes_round_a_corner)
{
    /* along the top, over the edge, and down the side: no trap on the way */
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-10],'step':0.005,'duration':1,'contact':"
                       "'disjunctive','bodies':[{'name':'block','type':'static','shapes':[{'type':"
                       "'box','size':[2,2],'position':[0,-1]}]},{'name':'p','mass':1,'position':[0."
                       "5,"
                       "0],'velocity':[1,0],'shapes':[{'type':'particle'}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
    const perp_body_state b = scene_sim_body(&s, "p");
    CHECK_NEAR(b.velocity[0], 1.0, 1e-12);
    CHECK_NEAR(b.velocity[1], -5.0, 0.06); /* half a second in free fall */
    scene_sim_close(&s);
}
