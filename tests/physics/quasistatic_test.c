/* Quasistatic motion [B09 3.4]: pushes, slides and springs against closed forms. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const double pi = 3.14159265358979323846;

/* ---- a particle, a fence and a wall [B09 3.4.6] ------------------------------------------------------*/

static scene_sim fence(const char* cone, double mu, double slope)
{
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'stepper':'quasistatic',"
        "'friction':{'cone':'%s','directions':4,'default':%.17g},'bodies':[{'name':"
        "'ground','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},{"
        "'name':'wall','type':'static','shapes':[{'type':'plane','normal':[-1,0,0],"
        "'offset':-1}]},{'name':'fence','type':'kinematic','motion':{'position':["
        "'0.5+0.2*t','%.17g*t',0]},'shapes':[{'type':'plane','normal':[1,0,0]}]},{"
        "'name':'particle','mass':1,'position':[0.6,0,0],'shapes':[{'type':"
        "'particle'}]}]}",
        cone, mu, 0.2 * slope);
}

/* The fence comes at t = 0.5 and moves by (0.3, 0.3 slope) from then on. It drags the particle along
 * (slope <= mu), or slips: then the friction of the ground, opposite to the motion, has the slope mu. */
TEST(a_fence_drags_a_particle_or_slips_along_it)
{
    static const double slope[] = {0.0, 0.1, 0.25, 0.4, 1.0, 5.0, -2.0};
    const double mu = 0.3;
    for (int i = 0; i < 7; ++i) {
        scene_sim s = fence("quadratic", mu, slope[i]);
        REQUIRE(s.sim != NULL);
        double worst = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            worst = fmax(worst, info.certificate.worst);
            CHECK_EQ_INT(info.freedom, 0);
        }
        const double limit = slope[i] < 0.0 ? -mu : mu;
        const double way = fabs(slope[i]) <= mu ? slope[i] : limit;
        const perp_body_state b = scene_sim_body(&s, "particle");
        CHECK_AT_MOST(worst, 1e-10);
        CHECK_NEAR(b.position[0], 0.9, 1e-12);
        CHECK_NEAR(b.position[1], 0.3 * way, 1e-9);
        CHECK_AT_MOST(fabs(b.position[2]), 1e-14);
        scene_sim_close(&s);
    }
}

/* A diamond is flat between its corners: forces of slopes in (0, 1) all go with motion along 45
 * degrees. */
TEST(with_a_cone_of_four_sides_it_leaves_along_the_diagonal)
{
    scene_sim s = fence("polygon", 0.3, 5.0);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    CHECK_NEAR(scene_sim_body(&s, "particle").position[0], 0.9, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "particle").position[1], 0.3, 1e-9);
    scene_sim_close(&s);
}

TEST(without_friction_there_are_many_motions_and_the_least_one_is_taken)
{
    scene_sim s = fence("none", 0.0, 5.0);
    REQUIRE(s.sim != NULL);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_EQ_INT(perp_sim_step_info(s.sim).freedom, 2); /* x and y; the weight holds z */
        const double reached = 0.5 + 0.2 * perp_sim_time(s.sim);
        const perp_body_state b = scene_sim_body(&s, "particle");
        CHECK_NEAR(b.position[0], fmax(0.6, reached), 1e-12); /* no further than it is pushed */
        CHECK_AT_MOST(fabs(b.position[1]), 1e-14);
    }
    scene_sim_close(&s);
}

/* Without anything that resists, the forces of the answer are zero, and those of rounding are all that
 * is left to balance. */
TEST(a_free_body_is_pushed_without_force)
{
    static const char* const shape[] = {"'sphere','radius':0.2", "'box','size':[0.4,0.3,0.5]",
                                        "'capsule','radius':0.1,'length':0.4"};
    static const char* const cone[] = {"none", "quadratic", "polygon", "ellipsoid"};
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 4; ++k) {
            scene_sim s = scene_sim_open(
                "{'stepper':'quasistatic','gravity':[0,0,0],'step':0.01,'duration':1,"
                "'friction':{'cone':'%s','default':0.5%s},'bodies':[{'name':'part',"
                "'mass':3,'position':[0.5,0.03,-0.02],'shapes':[{'type':%s}]},{'name':"
                "'mover','type':'kinematic','velocity':[0.7,0,0],'shapes':[{'type':"
                "'sphere','radius':0.1}]}]}",
                cone[k], k == 3 ? ",'e_r':0.01" : "", shape[i]);
            REQUIRE(s.sim != NULL);
            double worst = 0.0;
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                worst = fmax(worst, perp_sim_step_info(s.sim).certificate.worst);
            }
            CHECK_AT_MOST(worst, 1e-8);
            const perp_body_state b = scene_sim_body(&s, "part");
            CHECK(b.position[0] > 0.6); /* the mover was there */
            scene_sim_close(&s);
        }
    }
}

/* Likewise where a spring has reached its length: it is at rest, and pulls at nothing. */
TEST(a_free_body_on_a_spring_goes_to_where_the_spring_is_at_rest)
{
    scene_sim s =
        scene_sim_open("{'stepper':'quasistatic','gravity':[0,0,0],'step':0.01,'duration':0.2,"
                       "'bodies':"
                       "[{'name':'part','mass':3,'position':[0.5,0.3,0],'shapes':[{'type':'box',"
                       "'size':[0.4,0.3,0.5]}]}],'forces':[{'type':'spring','a':'world','b':"
                       "'part',"
                       "'at_a':[0,0,0],'at_b':[0.1,0.1,0.1],'rest':0.25,'stiffness':100}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_AT_MOST(perp_sim_energy(s.sim).potential, 1e-12);
    scene_sim_close(&s);
}

/* Steep: gravity tilted by more than friction holds. Tall: pushed near its top, it tips over. Wedged:
 * a mover above the centre presses the ball on the floor, and neither contact lets it slip. */
TEST(where_there_is_no_equilibrium_the_step_fails_and_says_so)
{
    static const char* const text =
        "{'stepper':'quasistatic','gravity':[%s,0,-9.81],'step':0.01,'duration':1,"
        "'friction':{'default':%s},'bodies':[{'name':'floor','type':'static',"
        "'shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':'part','mass':2,"
        "'position':[0.5,0,%s],'shapes':[{'type':%s}]},{'name':'mover','type':"
        "'kinematic','position':[0,0,%s],'velocity':[%s,0,0],'shapes':[{'type':"
        "'sphere','radius':0.1}]}]}";
    static const char* const scene[][7] = {
        {"5", "0.3", "0.1", "'box','size':[0.4,0.4,0.2]", "0.5", "0", "nothing holds 'part'"},
        {"0.1", "0.3", "0.2", "'sphere','radius':0.2", "0.8", "0", "nothing holds 'part'"},
        {"0", "0.8", "0.4", "'box','size':[0.2,0.4,0.8]", "0.7", "0.5", "nothing holds 'part'"},
        {"0", "1.5", "0.2", "'sphere','radius':0.2", "0.4", "0.8", "jammed"},
    };
    for (int i = 0; i < 4; ++i) {
        const char* const* c = scene[i];
        scene_sim s = scene_sim_open(text, c[0], c[1], c[2], c[3], c[4], c[5]);
        REQUIRE(s.sim != NULL);
        perp_status status = PERP_OK;
        while (status == PERP_OK && !perp_sim_finished(s.sim)) {
            status = perp_sim_step(s.sim);
        }
        CHECK_EQ_INT(status, PERP_ERROR_SOLVE);
        const char* const message = perp_context_error(s.context);
        TEST_PRINT("%s", message);
        CHECK(strstr(message, c[6]) != NULL);
        CHECK(strstr(message, "contradict") == NULL);
        scene_sim_close(&s);
    }
}

/* Parts that slide on many points share their load in many ways. */
TEST(rows_of_parts_on_a_floor_are_pushed_without_a_failed_step)
{
    static const char* const shape[] = {"'cylinder','radius':0.2,'length':0.2",
                                        "'box','size':[0.4,0.3,0.2]"};
    static const char* const contact[] = {"standard", "peg"};
    static const int chosen[] = {0, 3, 5, 6}; /* each shape first, each model, each friction */
    for (int n = 0; n < 4; ++n) {
        const int i = chosen[n];
        const double mu = i & 4 ? 0.1 : 0.3;
        scene_sim s = scene_sim_open(
            "{'stepper':'quasistatic','gravity':[0,0,-9.81],'step':0.02,'duration':1,"
            "'contact':'%s','friction':{'default':%.17g},'bodies':[{'name':'floor',"
            "'type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':"
            "'p','mass':2,'position':[0.5,0.03,0.1],'shapes':[{'type':%s}]},{'name':"
            "'ball','mass':1,'position':[0.95,-0.02,0.1],'shapes':[{'type':'sphere',"
            "'radius':0.1}]},{'name':'q','mass':5,'position':[1.35,0.04,0.1],'shapes':["
            "{"
            "'type':%s}]},{'name':'mover','type':'kinematic','position':[0,0,0.3],"
            "'velocity':[1,0,0],'shapes':[{'type':'box','size':[0.2,0.5,0.5]}]}]}",
            contact[i & 1], mu, shape[i >> 1 & 1], shape[1 - (i >> 1 & 1)]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        CHECK(scene_sim_body(&s, "q").position[0] > 1.4); /* reached */
        scene_sim_close(&s);
    }
}

TEST(a_body_that_nothing_holds_stays_or_fails_by_name)
{
    static const char* const text =
        "{'stepper':'quasistatic','gravity':[0,0,%s],'bodies':[{'name':'ball',"
        "'mass':1,'velocity':[1,2,3],'shapes':[{'type':'sphere','radius':1}]}]}";
    scene_sim s = scene_sim_open(text, "0");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 0.0);
    CHECK_EQ_INT(perp_sim_step_info(s.sim).freedom, 6);
    CHECK_AT_MOST(fabs(scene_sim_body(&s, "ball").position[0]),
                  0.0); /* nothing pushes: no motion */
    scene_sim_close(&s);
    s = scene_sim_open(text, "-9.81");
    REQUIRE(s.sim != NULL);
    CHECK(perp_sim_step(s.sim) == PERP_ERROR_SOLVE);
    CHECK_CONTAINS(perp_context_error(s.context), "nothing holds 'ball'");
    CHECK_AT_MOST(fabs(scene_sim_body(&s, "ball").position[2]), 0.0);
    scene_sim_close(&s);
}

/* ---- pushing a block on its tripod -------------------------------------------------------------------*/

static const double at[3][2] = {{0.2, 0.0}, {-0.1, 0.17}, {-0.1, -0.17}};
static const double reach = 0.3; /* from the pusher's centre to the block's */

/* A round pusher without friction moves along x at height y = off; the block is 0.4 wide, of 1 kg. */
static scene_sim push(double h, double duration, double speed, double off, const char* cone,
                      double mu)
{
    return scene_sim_open(
        "{'dimension':2,'step':%.17g,'duration':%.17g,'stepper':'quasistatic',"
        "'friction':{'cone':'%s','directions':8,'default':%.17g},'bodies':[{'name':"
        "'pusher','type':'kinematic','motion':{'position':['-0.3+%.17g*t',%.17g]},"
        "'shapes':[{'type':'circle','radius':0.1}]},{'name':'block','mass':1,"
        "'support':{'tripod':[[0.2,0],[-0.1,0.17],[-0.1,-0.17]],'mu':0.3,'gravity':10},"
        "'shapes':[{'type':'box','size':[0.4,0.4]}]}]}",
        h, duration, cone, mu, speed, off);
}

TEST(a_push_through_the_centre_moves_the_block_with_the_pusher_at_the_force_of_friction)
{
    static const char* const cone[] = {"quadratic", "polygon"};
    for (int i = 0; i < 2; ++i) {
        scene_sim s = push(0.01, 1.0, 0.1, 0.0, cone[i], 0.0);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-10);
            CHECK_NEAR(scene_sim_body(&s, "block").position[0], 0.1 * perp_sim_time(s.sim), 1e-12);
            int32_t count;
            const perp_contact* contact = perp_sim_contacts(s.sim, &count);
            CHECK_EQ_INT(count, 1);
            CHECK_NEAR(contact[0].impulse[0], 0.01 * 0.3 * 10.0, 1e-12);
        }
        CHECK_AT_MOST(fabs(scene_sim_body(&s, "block").angle), 1e-11);
        scene_sim_close(&s);
    }
}

/* The twist (v, w) of the block that dissipates least, mu sum load_i |v_i|, among those with
 * n . (v + w x r) = rate: the normal to the limit surface. Newton's method over the plane. */
static void least_dissipation(double angle, const double r[2], const double n[2], double rate,
                              double twist[3])
{
    const double moment = r[0] * n[1] - r[1] * n[0];
    const double c[3] = {n[0], n[1], moment};
    double point[3][2];
    for (int i = 0; i < 3; ++i) {
        point[i][0] = cos(angle) * at[i][0] - sin(angle) * at[i][1];
        point[i][1] = sin(angle) * at[i][0] + cos(angle) * at[i][1];
    }
    double x[4] = {rate * n[0], rate * n[1], 0.0, 0.0}; /* twist and multiplier */
    x[2] = 0.3 * rate; /* any start off the constraint: the first step is back on it */
    for (int round = 0; round < 300; ++round) {
        double K[4][5] = {{0}};
        for (int i = 0; i < 3; ++i) {
            const double ux = x[0] - x[2] * point[i][1], uy = x[1] + x[2] * point[i][0];
            const double u = hypot(ux, uy), w = 1.0 / (3.0 * u); /* loads are a third each */
            const double P[2][2] = {{w * (1 - ux * ux / (u * u)), -w * ux * uy / (u * u)},
                                    {-w * ux * uy / (u * u), w * (1 - uy * uy / (u * u))}};
            const double J[2][3] = {{1, 0, -point[i][1]}, {0, 1, point[i][0]}};
            for (int a = 0; a < 3; ++a) {
                for (int b = 0; b < 3; ++b) {
                    for (int k = 0; k < 4; ++k) {
                        K[a][b] += J[k / 2][a] * P[k / 2][k % 2] * J[k % 2][b];
                    }
                }
                K[a][4] -= w * (J[0][a] * ux + J[1][a] * uy);
            }
        }
        K[3][4] = rate;
        for (int a = 0; a < 3; ++a) {
            K[a][3] = -c[a];
            K[3][a] = c[a];
            K[a][4] += c[a] * x[3];
            K[3][4] -= c[a] * x[a];
        }
        for (int p = 0; p < 4; ++p) { /* Gauss with pivoting */
            int best = p;
            for (int i = p + 1; i < 4; ++i) {
                best = fabs(K[i][p]) > fabs(K[best][p]) ? i : best;
            }
            for (int j = 0; j < 5; ++j) {
                const double t = K[p][j];
                K[p][j] = K[best][j];
                K[best][j] = t;
            }
            for (int i = 0; i < 4; ++i) {
                const double factor = i == p ? 0.0 : K[i][p] / K[p][p];
                for (int j = 0; j < 5; ++j) {
                    K[i][j] -= factor * K[p][j];
                }
            }
        }
        for (int p = 0; p < 4; ++p) {
            x[p] += (round < 280 ? 0.1 : 1.0) * K[p][4] / K[p][p];
        }
    }
    for (int i = 0; i < 3; ++i) {
        twist[i] = x[i];
    }
}

/* The rate of (x, y, angle) when the pusher, without friction, is at (px, off). */
static void pushed(const double q[3], double px, double off, double speed, double rate[3])
{
    const double n[2] = {cos(q[2]), sin(q[2])}; /* of the face that is pushed, inwards */
    /* the point on the face nearest to the pusher's centre: along the face from the block's centre */
    const double along = -(px - q[0]) * sin(q[2]) + (off - q[1]) * cos(q[2]);
    const double r[2] = {-0.2 * n[0] - along * n[1], -0.2 * n[1] + along * n[0]};
    least_dissipation(q[2], r, n, speed * n[0], rate);
}

TEST(a_push_beside_the_centre_turns_the_block_as_the_limit_surface_says)
{
    const double h = 1e-4;
    for (int i = 0; i < 5; ++i) {
        const double off = -0.15 + 0.07 * i, at_rest[3] = {0.0, 0.0, 0.0};
        double rate[3];
        scene_sim s = push(h, h, 0.1, off, "quadratic", 0.0);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
        pushed(at_rest, -reach, off, 0.1, rate);
        const perp_body_state b = scene_sim_body(&s, "block");
        CHECK_NEAR(b.velocity[0], rate[0], 1e-9);
        CHECK_NEAR(b.velocity[1], rate[1], 1e-9);
        CHECK_NEAR(b.angular_velocity[2], rate[2], 1e-8);
        CHECK(fabs(rate[2]) > 1e-3 || off == 0.0);
        CHECK_EQ_INT(perp_sim_step_info(s.sim).freedom, 0);
        scene_sim_close(&s);
    }
}

static double off_after(double h, const double q[3])
{
    scene_sim s = push(h, 1.0, 0.1, 0.05, "quadratic", 0.0);
    double off = INFINITY;
    if (s.sim != NULL && scene_sim_run(&s) <= 1e-9) {
        const perp_body_state b = scene_sim_body(&s, "block");
        off = fmax(fabs(b.position[0] - q[0]), fabs(b.position[1] - q[1]));
        off = fmax(off, fabs(b.angle - q[2]));
    }
    scene_sim_close(&s);
    return off;
}

TEST(a_long_push_is_of_first_order)
{
    enum { N = 400 };
    double q[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < N; ++i) { /* Runge and Kutta through the limit surface */
        const double dt = 1.0 / N, t = i * dt;
        double k[4][3], z[3];
        for (int stage = 0; stage < 4; ++stage) {
            const double part = stage == 0 ? 0.0 : stage == 3 ? dt : 0.5 * dt;
            for (int j = 0; j < 3; ++j) {
                z[j] = q[j] + (stage > 0 ? part * k[stage - 1][j] : 0.0);
            }
            pushed(z, -reach + 0.1 * (t + part), 0.05, 0.1, k[stage]);
        }
        for (int j = 0; j < 3; ++j) {
            q[j] += dt / 6.0 * (k[0][j] + 2.0 * k[1][j] + 2.0 * k[2][j] + k[3][j]);
        }
    }
    const double coarse = off_after(0.02, q), fine = off_after(0.01, q);
    TEST_PRINT("turned by %.4f; off by %.2e at h = 0.01, order %.3f", q[2], fine,
               log2(coarse / fine));
    CHECK_AT_MOST(fine, 1e-3);
    CHECK(log2(coarse / fine) > 0.9 && log2(coarse / fine) < 1.1);
}

/* Without inertia only the path of the pusher counts, not how fast it goes. */
TEST(the_path_does_not_depend_on_the_speed)
{
    perp_body_state end[3];
    static const double speed[] = {0.1, 1e-3, 10.0};
    for (int i = 0; i < 3; ++i) {
        scene_sim s = push(0.001 / speed[i], 0.1 / speed[i], speed[i], 0.05, "quadratic", 0.3);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        end[i] = scene_sim_body(&s, "block");
        scene_sim_close(&s);
        CHECK_NEAR(end[i].position[0], end[0].position[0], 1e-8);
        CHECK_NEAR(end[i].position[1], end[0].position[1], 1e-8);
        CHECK_NEAR(end[i].angle, end[0].angle, 1e-7);
    }
    CHECK(fabs(end[0].angle) > 0.05);
}

/* At the limit exactly, the block may slide at any speed: it stays, and says so. */
TEST(a_force_at_the_limit_of_friction_leaves_its_direction_open)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'stepper':'quasistatic','duration':0.1,'bodies':[{'name':"
            "'p','mass':1,'support':{'mu':0.2,'gravity':10},'shapes':[{'type':"
            "'particle'}]}],'forces':[{'type':'wrench','body':'p','force':[0,%g]}]}",
            i == 0 ? 1.9 : 2.0);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
        CHECK_AT_MOST(fabs(scene_sim_body(&s, "p").position[1]), 1e-12);
        CHECK_EQ_INT(perp_sim_step_info(s.sim).freedom, i);
        scene_sim_close(&s);
    }
}

/* ---- a drawer ------------------------------------------------------------------------------------------
 * A block, 0.4 by 0.4, in a slot that is wider by 2e-5, pushed e off its axis. It tilts until two corners
 * across from each other touch; their couple N 0.4 (to the clearance) carries F e, and their friction
 * adds to the support's: F = mu_s m g / (1 - 2 mu e / 0.4), until it jams at e = 0.2 / mu. */
TEST(a_peg_in_a_slot_needs_the_force_of_the_drawer)
{
    static const double e[] = {0.02, 0.05, 0.1, 0.15};
    const double mu = 0.5;
    for (int i = 0; i < 4; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.01,'duration':1,'stepper':'quasistatic',"
            "'friction':"
            "{'default':0.5,'pairs':[{'a':'pusher','b':'peg','mu':0}]},'bodies':[{"
            "'name':'pusher','type':'kinematic','motion':{'position':['-0.3+0.1*t',%"
            "g]}"
            ",'shapes':[{'type':'circle','radius':0.1}]},{'name':'peg','mass':1,"
            "'support':{'tripod':[[0.2,0],[-0.1,0.17],[-0.1,-0.17]],'mu':0.3,'gravity':10},"
            "'shapes':[{'type':'box','size':[0.4,0.4]}]},{'name':'slot','type':"
            "'static','shapes':[{'type':'halfplane','normal':[0,1],'offset':-0.20001},{"
            "'type':'halfplane','normal':[0,-1],'offset':-0.20001}]}]}",
            e[i]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
        int32_t count;
        const perp_contact* contact = perp_sim_contacts(s.sim, &count);
        double force = 0.0, wall = 0.0;
        for (int32_t k = 0; k < count; ++k) {
            const double p = contact[k].impulse[0] / 0.01;
            *(fabs(contact[k].normal[0]) > 0.9 ? &force : &wall) += p;
        }
        const double expected = 0.3 * 10.0 / (1.0 - mu * e[i] / 0.2);
        CHECK_NEAR(force, expected, 2e-3 * expected);
        CHECK_NEAR(wall, expected * e[i] / 0.2, 2e-3 * expected);
        CHECK_NEAR(scene_sim_body(&s, "peg").velocity[0], 0.1, 1e-9);
        CHECK_AT_MOST(fabs(scene_sim_body(&s, "peg").angle), 1.1e-4);
        scene_sim_close(&s);
    }
}

/* ---- springs, joints, space ----------------------------------------------------------------------------*/

TEST(a_block_on_a_spring_waits_for_its_friction_and_then_follows)
{
    const double k = 10.0, limit = 0.2 * 10.0; /* mu m g */
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.01,'duration':2,'stepper':'quasistatic','bodies':[{"
        "'name':'hand','type':'kinematic','motion':{'position':['0.4*sin(%.17g*t)',0]"
        "}},{'name':'block','mass':1,'position':[1,0],'shapes':[{'type':'particle'}],"
        "'support':{'mu':0.2,'gravity':10}}],'forces':[{'type':'spring','a':'hand',"
        "'b':'block','stiffness':10,'rest':1}]}",
        pi);
    REQUIRE(s.sim != NULL);
    double x = 0.0; /* of the block, less the rest length: a play operator */
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double hand = 0.4 * sin(pi * perp_sim_time(s.sim));
        x = fmin(fmax(x, hand - limit / k), hand + limit / k);
        CHECK_NEAR(scene_sim_body(&s, "block").position[0], 1.0 + x, 1e-10);
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-10);
        CHECK_EQ_INT(perp_sim_step_info(s.sim).freedom, 0);
    }
    scene_sim_close(&s);
}

TEST(two_bodies_in_series_share_what_one_pusher_gives)
{
    /* the force of the first contact is that of both, of the second that of the last */
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.01,'duration':0.5,'stepper':'quasistatic','bodies':[{"
        "'name':'pusher','type':'kinematic','motion':{'position':['-1+0.2*t',0]},"
        "'shapes':[{'type':'box','size':[1,1]}]},{'name':'a','mass':2,'position':["
        "0,0],'support':{'tripod':[[0.2,0],[-0.1,0.17],[-0.1,-0.17]],'mu':0.5,'gravity':10}"
        ","
        "'shapes':[{'type':'box','size':[1,0.6]}]},{'name':'b','mass':3,'position':"
        "[1.05,0],'support':{'tripod':[[0.2,0],[-0.1,0.17],[-0.1,-0.17]],'mu':0.5,"
        "'gravity':10},'shapes':[{'type':'box','size':[1,0.4]}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
    int32_t count;
    const perp_contact* contact = perp_sim_contacts(s.sim, &count);
    double first = 0.0, second = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        *(contact[i].body_a == 0 ? &first : &second) += contact[i].impulse[0] / 0.01;
    }
    CHECK_NEAR(first, 25.0, 1e-8);
    CHECK_NEAR(second, 15.0, 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "a").position[0], 0.1, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "b").position[0], 1.1, 1e-12);
    scene_sim_close(&s);
}

TEST(an_arm_on_a_hinge_turns_to_where_its_spring_pulls)
{
    /* the spring, of rest length 0, pulls the tip, 1 from the hinge, outwards to the hand at 1.2 */
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.01,'duration':1.5,'stepper':'quasistatic','bodies':[{"
        "'name':'hand','type':'kinematic','motion':{'position':['1.2*cos(min(t,0.5))"
        "',"
        "'1.2*sin(min(t,0.5))']}},{"
        "'name':'arm','mass':1,'inertia':0.1,'position':[0.5,0]}],'joints':[{'name':"
        "'hinge','type':'revolute','a':'world','b':'arm','at':[0,0]}],'forces':[{"
        "'type':'spring','a':'hand','b':'arm','at_b':[0.5,0],"
        "'stiffness':50,'rest':0}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    CHECK_NEAR(scene_sim_body(&s, "arm").angle, 0.5, 1e-9);
    const perp_joint_state hinge = perp_sim_joint(s.sim, 0);
    CHECK_NEAR(hypot(hinge.impulse[0], hinge.impulse[1]) / 0.01, 50.0 * 0.2, 1e-6);
    CHECK_AT_MOST(hinge.error[0], 1e-9);
    scene_sim_close(&s);
}

TEST(a_box_in_space_is_pushed_over_the_floor)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-10],'step':0.01,'duration':0.5,'stepper':'quasistatic',"
            "'friction':{'cone':'%s','default':0.5,'pairs':[{'a':'pusher','b':"
            "'box'"
            ",'mu':0}]},'bodies':[{'name':'floor','type':'static','shapes':[{"
            "'type':"
            "'plane','normal':[0,0,1]}]},{'name':'pusher','type':'kinematic',"
            "'collides_with':['box'],'motion':{'position':['-0.6+0.2*t',0,0.2]},"
            "'shapes':"
            "[{'type':'sphere','radius':0.1}]},{'name':'box','mass':4,'position':[0,"
            "0,"
            "0.5],'shapes':[{'type':'box','size':[1,1,1]}]}]}",
            i == 0 ? "quadratic" : "polygon");
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
        int32_t count;
        const perp_contact* contact = perp_sim_contacts(s.sim, &count);
        double force = 0.0, weight = 0.0;
        for (int32_t k = 0; k < count; ++k) {
            *(fabs(contact[k].normal[0]) > 0.9 ? &force : &weight) += contact[k].impulse[0] / 0.01;
        }
        CHECK_NEAR(force, 0.5 * 4.0 * 10.0, 1e-7);
        CHECK_NEAR(weight, 40.0, 1e-7);
        CHECK_NEAR(scene_sim_body(&s, "box").position[0], 0.1, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(a_quasistatic_run_continues_from_a_snapshot_with_the_same_bits)
{
    scene_sim s = push(0.01, 1.0, 0.1, 0.05, "quadratic", 0.3);
    REQUIRE(s.sim != NULL);
    unsigned char buffer[8192];
    size_t size = sizeof buffer;
    for (int i = 0; i < 40; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    REQUIRE_OK(perp_sim_save(s.sim, buffer, &size));
    REQUIRE_OK(perp_sim_run(s.sim));
    const perp_body_state end = scene_sim_body(&s, "block");
    REQUIRE_OK(perp_sim_restore(s.sim, buffer, size));
    REQUIRE_OK(perp_sim_run(s.sim));
    const perp_body_state again = scene_sim_body(&s, "block");
    CHECK(memcmp(&end, &again, sizeof end) == 0);
    scene_sim_close(&s);
}

TEST(joint_correction_is_refused)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'stepper':'quasistatic','joint_correction':true,'bodies':[{"
                       "'name':'arm','mass':1,'inertia':0.1,'position':[0.5,0]}],'joints':[{'name':"
                       "'hinge','type':'revolute','a':'world','b':'arm','at':[0,0]}]}");
    CHECK(s.sim == NULL);
    CHECK_CONTAINS(s.error, "joint_correction: is for steppers with inertia");
    scene_sim_close(&s);
}

/* On four corners the loads are not unique, and the friction of each, so the motion, hangs on them. */
TEST(a_box_that_turns_on_four_corners_balances_in_every_step)
{
    const perp_override set[] = {{"/stepper", "quasistatic"}, {"/friction/cone", "quadratic"}};
    scene_sim s = {0};
    REQUIRE_OK(perp_context_create(NULL, &s.context));
    REQUIRE_OK(perp_scene_load(s.context, PERP_SOURCE_DIR "/scenes/n04-pusher-box.json", set, 2,
                               &s.scene));
    REQUIRE_OK(perp_sim_create_from_scene(s.context, s.scene, &s.sim));
    for (int i = 0; i < 120; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
    }
    CHECK(scene_sim_body(&s, "box").velocity[0] > 0.1);
    CHECK(fabs(scene_sim_body(&s, "box").angular_velocity[2]) > 0.01);
    scene_sim_close(&s);
}

/* ---- with supports and contacts that are no conjunction ----------------------------------------------------*/

TEST(a_part_is_pushed_along_a_fence_and_over_its_corner_with_every_model_of_corners)
{
    static const char* const model[] = {"peg", "disjunctive", "lnc"};
    double path[3][350][3];
    for (int k = 0; k < 3; ++k) {
        scene_sim s = {0};
        const perp_override set = {"/contact", model[k]};
        REQUIRE_OK(perp_context_create(NULL, &s.context));
        REQUIRE_OK(perp_scene_load(s.context, PERP_SOURCE_DIR "/scenes/b09-quasistatic-push.json",
                                   &set, 1, &s.scene));
        REQUIRE_OK(perp_sim_create_from_scene(s.context, s.scene, &s.sim));
        for (int i = 0; i < 350; ++i) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            CHECK_AT_MOST(info.certificate.worst, 1e-9);
            CHECK_AT_MOST(info.penetration, 1e-6); /* a turn within a step is a little more than its
                                                      linear part */
            CHECK_EQ_INT(info.fallbacks, 0);
            const perp_body_state b = scene_sim_body(&s, "part");
            path[k][i][0] = b.position[0];
            path[k][i][1] = b.position[1];
            path[k][i][2] = b.angle;
            for (int j = 0; j < 3; ++j) {
                CHECK_NEAR(path[k][i][j], path[0][i][j], 1e-6);
            }
        }
        /* flat against the pusher, and on the level behind the corner */
        CHECK_NEAR(path[k][349][0], 0.69, 1e-6);
        CHECK_NEAR(path[k][349][1], -0.1, 1e-5);
        CHECK_AT_MOST(fabs(path[k][349][2]), 1e-9);
        /* on the slope it rises by two thirds of what it is pushed */
        CHECK_NEAR((path[k][249][1] - path[k][199][1]) / (path[k][249][0] - path[k][199][0]),
                   0.4 / 0.6, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(a_recording_of_a_quasistatic_scene_with_supports_and_groups_verifies)
{
    const perp_override set = {"/duration", "4"};
    scene_sim s = {0};
    REQUIRE_OK(perp_context_create(NULL, &s.context));
    REQUIRE_OK(perp_scene_load(s.context, PERP_SOURCE_DIR "/scenes/b09-quasistatic-push.json", &set,
                               1, &s.scene));
    REQUIRE_OK(perp_sim_create_from_scene(s.context, s.scene, &s.sim));
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(s.context, "push.h5", s.scene, s.sim, &recorder));
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, "push.h5", &verification));
    TEST_PRINT("%s", verification.message);
    CHECK(verification.intact && verification.same_bits);
    CHECK_EQ_INT(verification.laws_checked, 200);
    CHECK_AT_MOST(verification.worst.worst, 1e-9);
    scene_sim_close(&s);
}

TEST(a_warm_quasistatic_step_asks_for_no_memory)
{
    scene_sim s = push(0.01, 2.0, 0.1, 0.05, "quadratic", 0.3);
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 100; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}
