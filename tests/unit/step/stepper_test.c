/* The problem that each stepper makes for one ball on a plane, against the formula.
 *
 * Ball of mass m = 2, radius r = 1/2, moment of inertia I = 2/5 m r^2 = 1/5 about every axis, its
 * centre at height r + g. Plane z = 0, body A of the contact: normal n = (0, 0, 1), tangents t, o.
 * The velocity of the ball's point at the contact is v + omega x (0, 0, -r), so that
 *     J = [ n'  0 ]       W_nn = 1/m,  W_tt = W_oo = 1/m + r^2/I = (1 + 5/2) / m
 *         [ t'  (-r n x t)' ]
 *         [ o'  (-r n x o)' ]
 *     k = M v + h f,      b = (g/h, 0, 0) with a gap term, else 0.
 */
#include "perp_test.h"
#include "support/scene_sim.h"

static const double MASS = 2.0, RADIUS = 0.5, INERTIA = 0.2, GRAVITY = -10.0;

static scene_sim ball(const char* stepper, double gap, double h, const double v[3],
                      const char* extra)
{
    return scene_sim_open(
        "{'gravity':[0,0,%g],'step':%.17g,'duration':%.17g,'stepper':'%s','contact':'standard',"
        "'friction':{'default':0.5},%s'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,%.17g],"
        "'velocity':[%.17g,%.17g,%.17g],'shapes':[{'type':'sphere','radius':0.5}]}]}",
        GRAVITY, h, h, stepper, extra, RADIUS + gap, v[0], v[1], v[2]);
}

static double dot3(const double* a, const double* b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void check_vector(const double* a, const double* b, int n, double tolerance)
{
    for (int i = 0; i < n; ++i) {
        CHECK_NEAR(a[i], b[i], tolerance);
    }
}

/* The rows of the contact: J against the formula, and W = J M^-1 J' from the problem's own M. */
static void check_rows(const perp_contact_problem* p, const perp_contact* c)
{
    REQUIRE(p->block_count == 1 && p->constraint_count == 1 && p->row_count == 3);
    REQUIRE(p->dof[1] == 6 && p->constraint[0].rows == 3);
    const double* J = p->J + p->constraint[0].jac;
    const double n[3] = {0, 0, 1};
    const double t[3] = {c->tangent[0], c->tangent[1], c->tangent[2]};
    const double o[3] = {-t[1], t[0], 0}; /* n x t */
    CHECK_NEAR(dot3(t, t), 1.0, 1e-15);
    CHECK_NEAR(dot3(t, n), 0.0, 1e-15);
    check_vector(c->normal, n, 3, 0.0);
    const double rows[3][6] = {
        {0, 0, 1, 0, 0, 0},
        {t[0], t[1], 0, -RADIUS * o[0], -RADIUS * o[1], 0}, /* -r n x t = -r o */
        {o[0], o[1], 0, RADIUS * t[0], RADIUS * t[1], 0}};  /* -r n x o = r t */
    for (int i = 0; i < 3; ++i) {
        check_vector(J + 6 * i, rows[i], 6, 1e-14);
        double W = 0.0;
        for (int j = 0; j < 6; ++j) {
            W += J[6 * i + j] * J[6 * i + j] / p->M[7 * j];
        }
        CHECK_NEAR(W, i == 0 ? 1.0 / MASS : 3.5 / MASS, 1e-14);
    }
}

static void check_mass(const perp_contact_problem* p)
{
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 6; ++j) {
            CHECK_NEAR(p->M[6 * i + j], i != j ? 0.0 : i < 3 ? MASS : INERTIA, 1e-15);
        }
    }
}

/* Steppers with inertia: at the start of a step the ball has velocity v. */
static void check_inertial(const char* stepper, bool gap_term)
{
    const double v[3] = {0.3, -0.2, -1.0}, h = 0.01, gap = gap_term ? 0.004 : 0.0;
    scene_sim s = ball(stepper, gap, h, v, "");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_contact_problem* p = perp_sim_problem(s.sim);
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    REQUIRE(p != NULL && count == 1);
    check_rows(p, c);
    check_mass(p);
    const double k[6] = {MASS * v[0], MASS * v[1], MASS * (v[2] + h * GRAVITY), 0, 0, 0};
    check_vector(p->k, k, 6, 1e-14);
    CHECK_NEAR(p->b[0], gap / h, 1e-12);
    CHECK_NEAR(c->mu, 0.5, 0.0);
    /* The contact stops: v_n = -gap/h, and sliding friction has p_t = mu p_n against the slip. */
    const double* end = perp_sim_v(s.sim) + 6;
    CHECK_NEAR(end[2], -gap / h, 1e-8);
    const double p_n = MASS * (-gap / h - (v[2] + h * GRAVITY));
    CHECK_NEAR(c->impulse[0], p_n, 1e-8);
    CHECK_AT_MOST(hypot(c->impulse[1], c->impulse[2]), 0.5 * p_n * (1.0 + 1e-8));
    scene_sim_close(&s);
}

TEST(stewart_trinkle_has_the_gap_over_h_in_b)
{
    check_inertial("stewart-trinkle", true);
}

TEST(implicit_has_the_problem_of_stewart_trinkle_where_nothing_changes_within_the_step)
{
    check_inertial("implicit", true);
}

TEST(compliant_without_compliance_has_the_problem_of_stewart_trinkle)
{
    check_inertial("compliant", true);
}

TEST(anitescu_potra_has_no_gap_term)
{
    check_inertial("anitescu-potra", false);
}

/* A contact within reach that does not touch is no row of anitescu-potra. */
TEST(anitescu_potra_has_no_contact_before_it_touches)
{
    const double v[3] = {0, 0, -1};
    scene_sim s = ball("anitescu-potra", 0.004, 0.01, v, "");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).candidates, 0);
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], -1.0 + 0.01 * GRAVITY, 1e-15);
    scene_sim_close(&s);
}

/* The gap that the laws read is that of the end: b + J v = gap_end / h at the answer. */
TEST(geometric_implicit_reads_the_gap_at_the_end_of_the_step)
{
    const double v[3] = {0.3, -0.2, -1.0}, h = 0.01;
    scene_sim s = ball("geometric-implicit", 0.004, h, v, "");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_contact_problem* p = perp_sim_problem(s.sim);
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    REQUIRE(count == 1);
    check_rows(p, c);
    check_mass(p);
    const double end = perp_sim_q(s.sim)[7 + 2] - RADIUS;
    CHECK_NEAR(end, 0.0, 1e-9);
    CHECK_NEAR(p->b[0] + perp_sim_v(s.sim)[6 + 2], end / h, 1e-7);
    scene_sim_close(&s);
}

/* A quasistatic ball has no inertia: h (f - D v) + J' p = 0 whatever its velocity was. */
TEST(quasistatic_balances_gravity_and_forgets_the_velocity)
{
    const double v[3] = {0, 0, 0}, h = 0.01;
    scene_sim s = ball("quasistatic", 0.0, h, v, "");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    REQUIRE(count == 1);
    check_rows(perp_sim_problem(s.sim), c);
    CHECK_NEAR(c->impulse[0], -h * MASS * GRAVITY, 1e-8);
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], 0.0, 1e-8);
    scene_sim_close(&s);
}

/* The normal velocity of a ball that rests on its layer of stiffness K and damping C, implicit Euler:
 * m (v' - v) = h f + p, p = -h (K (d + h v') + C v'), d the deflection at the start. */
TEST(compliant_has_the_implicit_spring_of_its_layer)
{
    const double h = 0.01, K = 1000.0, C = 5.0, v0 = -0.4, v[3] = {0, 0, v0};
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':%.17g,'duration':1,'stepper':'compliant',"
        "'contact':'standard','bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,0.5],"
        "'velocity':[0,0,%.17g],'compliance':{'stiffness':%g,'damping':%g},"
        "'shapes':[{'type':'sphere','radius':0.5}]}]}",
        h, v[2], K, C);
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const double expected = (MASS * v0 + h * MASS * GRAVITY) / (MASS + h * h * K + h * C);
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], expected, 1e-9);
    scene_sim_close(&s);
}

/* ---- what the steppers do with an answer -------------------------------------------------------*/

/* x + h v; the exponential map turns by |omega| h exactly, the linear update by 2 atan(|omega| h / 2). */
TEST(poses_advance_with_the_velocities_of_the_end)
{
    const char* const steppers[] = {"stewart-trinkle", "anitescu-potra", "implicit",
                                    "geometric-implicit"};
    for (int i = 0; i < 8; ++i) {
        const bool linear = i >= 4;
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-10],'step':0.1,'duration':1,'stepper':'%s','rotation':'%s',"
            "'bodies':[{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[1,2,3],"
            "'velocity':[0.5,0,1],'angular_velocity':[0,0,4],"
            "'shapes':[{'type':'sphere','radius':0.5}]}]}",
            steppers[i % 4], linear ? "linear" : "exponential");
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_sim_step(s.sim));
        const double* q = perp_sim_q(s.sim);
        CHECK_NEAR(q[0], 1.05, 1e-14);
        CHECK_NEAR(q[1], 2.0, 1e-14);
        CHECK_NEAR(q[2], 3.0 + 0.1 * (1.0 - 0.1 * 10.0), 1e-14);
        CHECK_NEAR(2.0 * atan2(q[6], q[3]), linear ? 2.0 * atan(0.2) : 0.4, 1e-13);
        CHECK_NEAR(q[4], 0.0, 1e-15);
        scene_sim_close(&s);
    }
}

/* ---- one contact with arms, planar, by hand ------------------------------------------------------
 * Two discs (mass 1 and 2, radius 1, I = 1/2 and 1), centres (0, 0) and (0, 2.1): n = (0, 1), gap 0.1,
 * t = (n_y, -n_x) = (1, 0). Both impulses act in the middle of the gap, so that the pair keeps its
 * angular momentum: arms (0, 1.05) of A and (0, -1.05) of B. With u = v + omega (-arm_y, arm_x):
 *     rows on A: -(0, 1, 0), -(1, 0, -1.05);  on B: (0, 1, 0), (1, 0, 1.05). */
TEST(two_discs_have_the_rows_derived_by_hand)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.1,'duration':1,'friction':{'default':0.3},'contact':'standard',"
        "'bodies':[{'name':'a','mass':1,'inertia':0.5,'velocity':[0,2],"
        "'shapes':[{'type':'circle','radius':1}]},"
        "{'name':'b','mass':2,'inertia':1,'position':[0,2.1],'velocity':[0.2,0],"
        "'shapes':[{'type':'circle','radius':1}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_contact_problem* p = perp_sim_problem(s.sim);
    REQUIRE(p->constraint_count == 1 && p->row_count == 2 && p->block_count == 2);
    const double* J = p->J + p->constraint[0].jac;
    const double by_hand[12] = {0, -1, 0, -1, 0, 1.05, 0, 1, 0, 1, 0, 1.05};
    check_vector(J, by_hand, 12, 1e-14);
    CHECK_NEAR(p->b[0], 1.0, 1e-12);
    CHECK_NEAR(p->b[1], 0.0, 1e-15);
    CHECK_EQ_INT(p->constraint[0].directions, 2);
    /* W_nn = 1 + 1/2: p_n = -(u_n + gap/h) / W_nn = (2 - 1) / 1.5; momentum is kept */
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    CHECK_NEAR(c->impulse[0], 1.0 / 1.5, 1e-8);
    const double* v = perp_sim_v(s.sim);
    CHECK_NEAR(v[1] + 2.0 * v[4], 2.0, 1e-8);
    CHECK_NEAR(v[4] - v[1], -1.0, 1e-8);
    scene_sim_close(&s);
}

/* A belt moves A's surface by (1, 0): its drift is in the tangential b, with B's velocity relative. */
TEST(a_belt_enters_the_tangential_b)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,-10],'step':0.01,'duration':1,'friction':{'default':0.5},"
        "'contact':'standard','bodies':[{'name':'belt','type':'static','surface_velocity':[3,0],"
        "'shapes':[{'type':'halfplane','normal':[0,1]}]},{'name':'disc','mass':1,'inertia':1,"
        "'position':[0,1],'shapes':[{'type':'circle','radius':1}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_contact_problem* p = perp_sim_problem(s.sim);
    REQUIRE(p->row_count == 2);
    CHECK_NEAR(p->b[0], 0.0, 1e-15);
    CHECK_NEAR(p->b[1], -3.0, 1e-14); /* t = (1, 0): u_t = v_x + omega - 3 */
    CHECK_NEAR(perp_sim_v(s.sim)[3], 0.5 * 0.1, 1e-8);
    scene_sim_close(&s);
}
