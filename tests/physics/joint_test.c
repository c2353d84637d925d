/* Joints: what they hold and how well, loops and repetition, friction, motors, limits, ropes. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define PI 3.14159265358979323846

static perp_joint_state joint(const scene_sim* s, const char* name)
{
    return perp_sim_joint(s->sim, perp_model_joint_find(perp_sim_model(s->sim), name));
}

/* Largest position error over the whole run. */
static double run_for_error(scene_sim* s)
{
    double worst = 0.0;
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            fprintf(stderr, "  step: %s\n", perp_context_error(s->context));
            return INFINITY;
        }
        const double now = perp_sim_step_info(s->sim).joint_error[0];
        worst = !(now <= worst) ? now : worst;
    }
    return worst;
}

/* ---- accuracy --------------------------------------------------------------------------------------*/

/* A uniform rod of 1 m and 1 kg on a hinge at its end, released `angle` from hanging. */
static scene_sim hanging_rod(double h, double angle, bool correction)
{
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':%.17g,'duration':5,'joint_correction':%s,"
        "'joint_direction':'start','bodies':[{'name':'rod','type':'dynamic','mass':1,"
        "'inertia':[0.08333333333333333,0.08333333333333333,0.001],"
        "'position':[%.17g,0,%.17g],'axis_angle':[0,1,0,%.17g]}],"
        "'joints':[{'name':'pin','type':'revolute','a':'world','b':'rod',"
        "'at':[0,0,0],'axis':[0,1,0]}]}",
        h, correction ? "true" : "false", 0.5 * sin(angle), -0.5 * cos(angle), -angle);
}

TEST(the_error_of_a_hanging_rod_is_what_the_gap_term_leaves_in_one_step)
{
    /* released at 35 degrees: r w^2 is at most 2.7 m/s^2 */
    static const double steps[2] = {0.01, 0.005}, printed[2] = {1.4e-4, 7e-5};
    for (int i = 0; i < 2; ++i) {
        const double h = steps[i];
        scene_sim s = hanging_rod(h, 35.0 * PI / 180.0, false);
        REQUIRE(s.sim != NULL);
        double worst = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double w = scene_sim_body(&s, "rod").angular_velocity[1];
            const double error = perp_sim_step_info(s.sim).joint_error[0];
            CHECK_AT_MOST(error, 0.5 * w * w * h * h / 2.0 * (1.0 + 1e-3) + 1e-15);
            worst = error > worst ? error : worst;
        }
        CHECK_AT_MOST(worst, printed[i]);
        CHECK(worst > 0.1 * printed[i] * h / 0.01); /* it did swing */
        scene_sim_close(&s);
    }
}

TEST(with_correction_the_error_of_a_hanging_rod_is_rounding)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s = hanging_rod(i == 0 ? 0.01 : 0.005, 0.5 * PI, true);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_AT_MOST(perp_sim_step_info(s.sim).joint_error[0], 1e-12);
            /* and the velocity of the rod's point at the pin: v - omega x centre */
            const perp_body_state rod = scene_sim_body(&s, "rod");
            const double* x = rod.position;
            const double w = rod.angular_velocity[1];
            CHECK_NEAR(rod.velocity[0] - w * x[2], 0.0, 1e-11);
            CHECK_NEAR(rod.velocity[2] + w * x[0], 0.0, 1e-11);
        }
        scene_sim_close(&s);
    }
}

TEST(with_correction_a_swinging_rod_does_not_lose_energy_over_many_swings)
{
    /* per swing the energy of the scheme goes up and down with h; its mean must stay */
    double mean[2] = {0, 0};
    scene_sim s = hanging_rod(0.01, 0.5 * PI, true);
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 500; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        mean[i < 250 ? 0 : 1] += perp_sim_energy(s.sim).total / 250.0;
    }
    CHECK_NEAR(mean[1], mean[0], 0.01 * 9.81 * 0.5);
    scene_sim_close(&s);
}

/* n links of the given length, released horizontally. */
static scene_sim chain(int n, double length, double duration, const char* type, bool correction)
{
    char* text = malloc(512 * (size_t)n + 256);
    int at = sprintf(text,
                     "{'gravity':[0,0,-9.81],'step':0.005,'duration':%g,"
                     "'joint_correction':%s,'bodies':[",
                     duration, correction ? "true" : "false");
    for (int i = 0; i < n; ++i) {
        at += sprintf(text + at,
                      "%s{'name':'l%d','type':'dynamic','mass':0.1,"
                      "'inertia':[%g,%g,%g],'position':[%.17g,0,0]}",
                      i > 0 ? "," : "", i, length * length / 1e3, length * length / 120,
                      length * length / 120, length * (i + 0.5));
    }
    at += sprintf(text + at, "],'joints':[");
    for (int i = 0; i < n; ++i) {
        char a[16] = "world";
        if (i > 0) {
            sprintf(a, "l%d", i - 1);
        }
        at += sprintf(text + at,
                      "%s{'name':'j%d','type':'%s','a':'%s','b':'l%d',"
                      "'at':[%.17g,0,0],'axis':[0,1,0]}",
                      i > 0 ? "," : "", i, type, a, i, length * i);
    }
    sprintf(text + at, "]}");
    scene_sim s = scene_sim_open("%s", text);
    free(text);
    return s;
}

TEST(a_corrected_chain_of_a_hundred_links_stays_together_and_gains_no_energy)
{
    /* 1 m links, and 0.1 m links whose tip whips by a radian a step */
    for (int i = 0; i < 2; ++i) {
        scene_sim s = chain(100, i == 0 ? 1.0 : 0.1, 2.0, i == 0 ? "revolute" : "spherical", true);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(run_for_error(&s), 1e-10);
        CHECK_AT_MOST(perp_sim_energy(s.sim).total,
                      1.0); /* began at 0, with some hundred J moving */
        CHECK(perp_sim_energy(s.sim).kinetic > 100.0);
        scene_sim_close(&s);
    }
}

/* Two uniform rods of 1 m and 1 kg; angles from hanging. [B09 2.7.1] */
static void pendulum_rates(const double x[4], double dx[4])
{
    const double g = 9.81, a = x[0], b = x[1], wa = x[2], wb = x[3], c = cos(a - b), s = sin(a - b);
    /* (4/3) a'' + c/2 b'' = -s/2 wb^2 - 3/2 g sin a;  c/2 a'' + 1/3 b'' = s/2 wa^2 - g/2 sin b */
    const double p = -0.5 * s * wb * wb - 1.5 * g * sin(a),
                 q = 0.5 * s * wa * wa - 0.5 * g * sin(b);
    const double det = 4.0 / 9.0 - 0.25 * c * c;
    dx[0] = wa;
    dx[1] = wb;
    dx[2] = (p / 3.0 - 0.5 * c * q) / det;
    dx[3] = (4.0 / 3.0 * q - 0.5 * c * p) / det;
}

static void exact_pendulum(double t, double x[4])
{
    const int n = 20000;
    const double h = t / n;
    for (int i = 0; i < n; ++i) {
        double k[4][4], y[4];
        pendulum_rates(x, k[0]);
        for (int stage = 1; stage < 4; ++stage) {
            for (int j = 0; j < 4; ++j) {
                y[j] = x[j] + (stage == 3 ? h : 0.5 * h) * k[stage - 1][j];
            }
            pendulum_rates(y, k[stage]);
        }
        for (int j = 0; j < 4; ++j) {
            x[j] += h / 6.0 * (k[0][j] + 2.0 * k[1][j] + 2.0 * k[2][j] + k[3][j]);
        }
    }
}

static scene_sim double_pendulum(double h, bool correction)
{
    /* a = 1.2, b = 0.4 from hanging */
    const double a = 1.2, b = 0.4;
    return scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':1,"
                          "'joint_correction':%s,'joint_direction':'start','bodies':["
                          "{'name':'a','type':'dynamic','mass':1,'inertia':0.08333333333333333,"
                          "'position':[%.17g,%.17g],'angle':%.17g},"
                          "{'name':'b','type':'dynamic','mass':1,'inertia':0.08333333333333333,"
                          "'position':[%.17g,%.17g],'angle':%.17g}],'joints':["
                          "{'name':'p','type':'revolute','a':'world','b':'a','at':[0,0]},"
                          "{'name':'q','type':'revolute','a':'a','b':'b','at':[%.17g,%.17g]}]}",
                          h, correction ? "true" : "false", 0.5 * sin(a), -0.5 * cos(a), a,
                          sin(a) + 0.5 * sin(b), -cos(a) - 0.5 * cos(b), b, sin(a), -cos(a));
}

TEST(a_double_pendulum_converges_to_the_exact_trajectory_at_first_order)
{
    double exact[4] = {1.2, 0.4, 0.0, 0.0};
    exact_pendulum(1.0, exact);
    for (int correction = 0; correction < 2; ++correction) {
        double before = 0.0, drift_before = 0.0;
        for (int i = 0; i < 4; ++i) {
            const double h = 0.002 / (double)(1 << i);
            scene_sim s = double_pendulum(h, correction == 1);
            REQUIRE(s.sim != NULL);
            const double energy = perp_sim_energy(s.sim).total;
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            const double error = hypot(scene_sim_body(&s, "a").angle - exact[0],
                                       scene_sim_body(&s, "b").angle - exact[1]);
            const double drift = fabs(perp_sim_energy(s.sim).total - energy);
            if (i > 0) {
                const double order = log(before / error) / log(2.0);
                const double drift_order = log(drift_before / drift) / log(2.0);
                TEST_PRINT("h %.6g: error %.3e, order %.3f; energy drift %.3e J, order %.3f", h,
                           error, order, drift, drift_order);
                CHECK(order > 0.9 && order < 1.1);
                CHECK(drift_order > 0.9); /* at least first order, too */
            }
            before = error;
            drift_before = drift;
            scene_sim_close(&s);
        }
    }
}

/* ---- every type --------------------------------------------------------------------------------------*/

TEST(every_spatial_type_holds_and_its_coordinates_follow_its_rates)
{
    for (int type = 0; type < PERP_JOINT_ROPE; ++type) {
        for (int correction = 0; correction < 2; ++correction) {
            const double h = 0.001;
            scene_sim s = scene_sim_open(
                "{'step':%g,'duration':1,'joint_correction':%s,'bodies':["
                "{'name':'a','type':'dynamic','mass':2,'inertia':[0.1,0.2,0.25],"
                "'position':[0.3,0.1,0],'axis_angle':[1,2,3,0.7],"
                "'velocity':[0.1,0.2,0.3],'angular_velocity':[0.3,-0.2,0.5]},"
                "{'name':'b','type':'dynamic','mass':1,'inertia':[0.05,0.04,0.03],"
                "'position':[1,0.4,0.2],'axis_angle':[0,1,1,1.1],"
                "'angular_velocity':[1,2,-1.5]}],'joints':["
                "{'name':'j','type':'%s','a':'a','b':'b','at':[0.7,0.2,0.1],"
                "'axis':[1,0.5,-0.3]}]}",
                h, correction == 1 ? "true" : "false", perp_joint_type_name((perp_joint_type)type));
            REQUIRE(s.sim != NULL);
            double P0[3], L0[3], P[3], L[3], sum[3] = {0, 0, 0};
            perp_sim_momentum(s.sim, P0, L0);
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
                const perp_joint_state j = joint(&s, "j");
                CHECK_AT_MOST(j.error[0], correction == 1 ? 1e-12 : 2e-5);
                CHECK_AT_MOST(j.error[1], correction == 1 ? 1e-12 : 2e-5);
                for (int k = 0; k < 3; ++k) {
                    sum[k] += h * j.rate[k];
                    CHECK_NEAR(j.coordinate[k], sum[k], 0.03);
                }
            }
            perp_sim_momentum(s.sim, P, L);
            for (int k = 0; k < 3; ++k) { /* the joint acts on both alike */
                CHECK_NEAR(P[k], P0[k], 1e-12);
                CHECK_NEAR(L[k], L0[k], 5e-3);
            }
            scene_sim_close(&s);
        }
    }
}

TEST(angles_are_unwrapped_also_when_a_wheel_turns_by_more_than_half_a_turn_a_step)
{
    for (int fast = 0; fast < 2; ++fast) {
        const double w = fast == 1 ? -450.0 : 40.0; /* rad/s; h = 0.01 */
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':1,'bodies':[{'name':'wheel','type':'dynamic',"
            "'mass':1,'inertia':[0.1,0.1,0.2],'position':[1,2,3],"
            "'angular_velocity':[0,0,%g]}],'joints':[{'name':'axle','type':'revolute',"
            "'a':'world','b':'wheel','at':[1,2,3],'axis':[0,0,2]}]}",
            w);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        CHECK_NEAR(joint(&s, "axle").coordinate[0], w, 1e-9 * fabs(w));
        CHECK_NEAR(joint(&s, "axle").rate[0], w, 1e-12 * fabs(w));
        scene_sim_close(&s);
    }
}

/* ---- repetition and loops ------------------------------------------------------------------------------*/

TEST(a_door_on_three_hinges_moves_as_on_one_and_the_hinges_share_its_weight)
{
    double position[2][3], force[2][3] = {{0, 0, 0}, {0, 0, 0}};
    for (int three = 0; three < 2; ++three) {
        char joints[1024];
        int at = 0;
        for (int i = three == 1 ? 0 : 1; i < (three == 1 ? 3 : 2); ++i) {
            at += sprintf(joints + at,
                          "%s{'name':'h%d','type':'revolute','a':'world',"
                          "'b':'door','at':[0,%g,%g],'axis':[0,0.6,0.8]}",
                          at > 0 ? "," : "", i, 0.6 * (i - 1), 0.8 * (i - 1));
        }
        scene_sim s = scene_sim_open(
            "{'gravity':[1,0,-9.81],'step':0.01,'duration':3,'joint_direction':'start',"
            "'bodies':[{'name':'door',"
            "'type':'dynamic','mass':20,'inertia':[6,6.5,1.2],'position':[0.4,0,0]}],"
            "'joints':[%s]}",
            joints);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        memcpy(position[three], scene_sim_body(&s, "door").position, sizeof position[0]);
        for (int i = 0; i < perp_model_joint_count(perp_sim_model(s.sim)); ++i) {
            for (int k = 0; k < 3; ++k) {
                const double p = perp_sim_joint(s.sim, i).impulse[k];
                CHECK(fabs(p) < 100.0);
                force[three][k] += p;
            }
        }
        scene_sim_close(&s);
    }
    for (int k = 0; k < 3; ++k) {
        CHECK_NEAR(position[1][k], position[0][k], 1e-10);
        CHECK_NEAR(force[1][k], force[0][k], 1e-9);
    }
}

/* Crank 0.2, coupler 0.5, rocker 0.4 over a base of 0.5, turned out of the plane by the matrix R. */
static scene_sim four_bar(bool spatial, const double q[4], double R[3][3], bool correction)
{
    const double A[2] = {0, 0}, B[2] = {0, 0.2}, D[2] = {0.5, 0};
    const double d = hypot(0.5, 0.2), a = (0.25 - 0.16 + d * d) / (2 * d), e = sqrt(0.25 - a * a);
    const double u[2] = {0.5 / d, -0.2 / d};
    const double C[2] = {B[0] + a * u[0] - e * u[1], B[1] + a * u[1] + e * u[0]};
    const double* const end[3][2] = {{A, B}, {B, C}, {D, C}};
    const char* const name[3] = {"crank", "coupler", "rocker"};
    char text[4096];
    int at = sprintf(text,
                     "{'dimension':%d,'gravity':[0,0%s],'step':0.005,'duration':2,"
                     "'joint_correction':%s,'bodies':[",
                     spatial ? 3 : 2, spatial ? ",0" : "", correction ? "true" : "false");
    for (int i = 0; i < 3; ++i) {
        const double x = 0.5 * (end[i][0][0] + end[i][1][0]),
                     y = 0.5 * (end[i][0][1] + end[i][1][1]);
        at += sprintf(text + at, "%s{'name':'%s','type':'dynamic','mass':%g,", i > 0 ? "," : "",
                      name[i], 1.0 + i);
        if (spatial) {
            at += sprintf(text + at,
                          "'inertia':[0.02,0.03,0.04],'position':[%.17g,%.17g,%.17g],"
                          "'orientation':[%.17g,%.17g,%.17g,%.17g]}",
                          R[0][0] * x + R[0][1] * y, R[1][0] * x + R[1][1] * y,
                          R[2][0] * x + R[2][1] * y, q[0], q[1], q[2], q[3]);
        } else {
            at += sprintf(text + at, "'inertia':0.04,'position':[%.17g,%.17g]}", x, y);
        }
    }
    at += sprintf(text + at, "],'joints':[");
    const double* const pin[4] = {A, B, C, D};
    const char* const sides[4][2] = {
        {"world", "crank"}, {"crank", "coupler"}, {"coupler", "rocker"}, {"world", "rocker"}};
    for (int i = 0; i < 4; ++i) {
        const double x = pin[i][0], y = pin[i][1];
        at += sprintf(text + at, "%s{'name':'%c','type':'revolute','a':'%s','b':'%s',",
                      i > 0 ? "," : "", 'A' + i, sides[i][0], sides[i][1]);
        if (spatial) {
            at += sprintf(text + at, "'at':[%.17g,%.17g,%.17g],'axis':[%.17g,%.17g,%.17g]",
                          R[0][0] * x + R[0][1] * y, R[1][0] * x + R[1][1] * y,
                          R[2][0] * x + R[2][1] * y, R[0][2], R[1][2], R[2][2]);
        } else {
            at += sprintf(text + at, "'at':[%.17g,%.17g]", x, y);
        }
        at += sprintf(text + at, i == 0 ? ",'motor':{'type':'velocity','target':6,"
                                          "'max_effort':3}}"
                                        : "}");
    }
    sprintf(text + at, "]}");
    return scene_sim_open("%s", text);
}

TEST(a_four_bar_linkage_in_space_moves_as_its_planar_twin)
{
    /* 4 x 5 rows on 3 x 6 velocities, one motion left: three rows say nothing new */
    const double n = sqrt(1 + 4 + 0.09), half = 0.35;
    const double q[4] = {cos(half), sin(half) / n, 2 * sin(half) / n, 0.3 * sin(half) / n};
    double R[3][3] = {{1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] - q[0] * q[3]),
                       2 * (q[1] * q[3] + q[0] * q[2])},
                      {2 * (q[1] * q[2] + q[0] * q[3]), 1 - 2 * (q[1] * q[1] + q[3] * q[3]),
                       2 * (q[2] * q[3] - q[0] * q[1])},
                      {2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]),
                       1 - 2 * (q[1] * q[1] + q[2] * q[2])}};
    for (int correction = 0; correction < 2; ++correction) {
        scene_sim flat = four_bar(false, q, R, correction == 1);
        scene_sim space = four_bar(true, q, R, correction == 1);
        REQUIRE(flat.sim != NULL && space.sim != NULL);
        while (!perp_sim_finished(flat.sim)) {
            REQUIRE_OK(perp_sim_step(flat.sim));
            REQUIRE_OK(perp_sim_step(space.sim));
            CHECK_AT_MOST(perp_sim_step_info(space.sim).certificate.worst, 1e-8);
            for (int32_t i = 0; i < 4; ++i) {
                const perp_joint_state a = perp_sim_joint(flat.sim, i);
                const perp_joint_state b = perp_sim_joint(space.sim, i);
                CHECK_NEAR(a.coordinate[0], b.coordinate[0], 1e-7);
                for (int k = 0; k < 6; ++k) {
                    CHECK(fabs(b.impulse[k]) < 10.0);
                }
            }
        }
        CHECK(perp_sim_joint(flat.sim, 0).coordinate[0] > 2.0 * PI); /* it went round */
        scene_sim_close(&flat);
        scene_sim_close(&space);
    }
}

TEST(a_millionfold_heavier_load_hangs_from_a_light_chain)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':1,'bodies':["
        "{'name':'a','type':'dynamic','mass':0.001,'inertia':1e-5,'position':[0,-0.5]"
        "},"
        "{'name':'b','type':'dynamic','mass':1000,'inertia':10,'position':[0,-1.5]}],"
        "'joints':[{'name':'p','type':'revolute','a':'world','b':'a','at':[0,0]"
        "},"
        "{'name':'q','type':'revolute','a':'a','b':'b','at':[0,-1]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "b").position[1], -1.5, 1e-12);
    CHECK_NEAR(joint(&s, "p").impulse[1] / 0.01, 9.81 * 1000.001, 1e-6);
    scene_sim_close(&s);
}

/* ---- friction, limits, motors ------------------------------------------------------------------------*/

/* An arm of 2 kg whose weight acts 0.5 m from the hinge: 9.81 Nm. */
static scene_sim arm(const char* extra, double duration, int dimension)
{
    return dimension == 3
               ? scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':%g,'bodies':["
                                "{'name':'arm','type':'dynamic','mass':2,'inertia':[0.1,0.2,0.2],"
                                "'position':[0.5,0,0]}],'joints':[{'name':'j','type':'revolute',"
                                "'a':'world','b':'arm','at':[0,0,0],'axis':[0,1,0]%s}]}",
                                duration, extra)
               : scene_sim_open("{'dimension':2,'gravity':[0,9.81],'step':0.01,'duration':%g,"
                                "'bodies':[{'name':'arm','type':'dynamic','mass':2,"
                                "'inertia':0.2,'position':[0.5,0]}],'joints':[{'name':'j',"
                                "'type':'revolute','a':'world','b':'arm','at':[0,0]%s}]}",
                                duration, extra);
}

TEST(dry_friction_holds_exactly_below_its_torque_and_slips_above_with_it)
{
    for (int dimension = 2; dimension <= 3; ++dimension) {
        scene_sim holds = arm(",'friction':9.82", 10.0, dimension);
        REQUIRE(holds.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&holds), 1e-8);
        CHECK_NEAR(joint(&holds, "j").coordinate[0], 0.0, 1e-12);
        CHECK_NEAR(joint(&holds, "j").effort, -9.81, 1e-9);
        scene_sim_close(&holds);

        scene_sim slips = arm(",'friction':9.0", 0.1, dimension);
        REQUIRE(slips.sim != NULL);
        REQUIRE_OK(perp_sim_step(slips.sim));
        /* about the hinge the inertia is 0.2 + 2 * 0.25 */
        CHECK_NEAR(joint(&slips, "j").rate[0], 0.01 * (9.81 - 9.0) / 0.7, 1e-12);
        for (int i = 1; i < 10; ++i) {
            REQUIRE_OK(perp_sim_step(slips.sim));
            CHECK_NEAR(joint(&slips, "j").effort, -9.0, 1e-9);
        }
        scene_sim_close(&slips);
    }
}

TEST(damping_is_implicit_and_stops_an_arm_at_its_terminal_rate_however_strong)
{
    scene_sim s = arm(",'damping':1e6", 1.0, 3);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(joint(&s, "j").rate[0], 9.81 / 1e6, 1e-10);
    scene_sim_close(&s);
}

TEST(limits_stop_a_joint_and_carry_what_it_presses_with)
{
    for (int dimension = 2; dimension <= 3; ++dimension) {
        scene_sim s = arm(",'limits':[-0.2,0.3]", 3.0, dimension);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_AT_MOST(joint(&s, "j").coordinate[0], 0.3 + 1e-12);
        }
        CHECK_NEAR(joint(&s, "j").coordinate[0], 0.3, 1e-12);
        CHECK_NEAR(joint(&s, "j").effort, -9.81 * cos(0.3), 1e-8);
        scene_sim_close(&s);
    }
}

TEST(a_joint_whose_limits_coincide_does_not_move)
{
    scene_sim s = arm(",'limits':[0,0]", 1.0, 3);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(joint(&s, "j").coordinate[0], 0.0, 1e-12);
    scene_sim_close(&s);
}

TEST(motors_reach_what_they_are_told_unless_it_takes_more_than_they_have)
{
    scene_sim place = arm(",'motor':{'type':'position','target':'-0.5*sin(t)'}", 1.0, 3);
    REQUIRE(place.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&place), 1e-8);
    CHECK_NEAR(joint(&place, "j").coordinate[0], -0.5 * sin(1.0), 1e-9);
    scene_sim_close(&place);

    scene_sim speed = arm(",'motor':{'type':'velocity','target':-7,'max_effort':100}", 2.0, 3);
    REQUIRE(speed.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&speed), 1e-8);
    CHECK_NEAR(joint(&speed, "j").rate[0], -7.0, 1e-9);
    CHECK_NEAR(joint(&speed, "j").coordinate[0], -14.0 + 0.07 * 7, 0.5);
    scene_sim_close(&speed);

    /* too weak to lift the arm: it falls with what is left */
    scene_sim weak = arm(",'motor':{'type':'position','target':-1,'max_effort':5}", 1.0, 3);
    REQUIRE(weak.sim != NULL);
    REQUIRE_OK(perp_sim_step(weak.sim));
    CHECK_NEAR(joint(&weak, "j").rate[0], 0.01 * (9.81 - 5.0) / 0.7, 1e-12);
    CHECK_NEAR(joint(&weak, "j").effort, -5.0, 1e-9);
    scene_sim_close(&weak);

    scene_sim effort = arm(",'motor':{'type':'effort','target':-30,'max_effort':12}", 1.0, 2);
    REQUIRE(effort.sim != NULL);
    REQUIRE_OK(perp_sim_step(effort.sim));
    CHECK_NEAR(joint(&effort, "j").rate[0], 0.01 * (9.81 - 12.0) / 0.7, 1e-12);
    CHECK_NEAR(joint(&effort, "j").effort, -12.0, 1e-12);
    scene_sim_close(&effort);
}

TEST(user_code_drives_joints_by_effort_and_target)
{
    scene_sim s = arm(",'motor':{'type':'velocity','target':1,'max_effort':0}", 1.0, 3);
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_apply_joint_effort(s.sim, 0, -9.81));
    REQUIRE_OK(perp_sim_apply_joint_effort(s.sim, 0, 0.7));
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_NEAR(joint(&s, "j").rate[0], 0.01 * 1.0, 1e-12);
    CHECK_NEAR(joint(&s, "j").effort, 0.7 - 9.81, 1e-12);
    CHECK_EQ_INT(perp_sim_apply_joint_effort(s.sim, 1, 1.0), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_apply_joint_effort(s.sim, 0, NAN), PERP_ERROR_NUMERIC);
    scene_sim_close(&s);

    scene_sim t = arm(",'motor':{'type':'position','target':0}", 1.0, 3);
    REQUIRE(t.sim != NULL);
    REQUIRE_OK(perp_sim_step(t.sim));
    REQUIRE_OK(perp_sim_set_joint_target(t.sim, 0, 0.25));
    for (int i = 0; i < 5; ++i) {
        REQUIRE_OK(perp_sim_step(t.sim));
    }
    CHECK_NEAR(joint(&t, "j").coordinate[0], 0.25, 1e-9);
    REQUIRE_OK(perp_sim_set_joint_target(t.sim, 0, NAN));
    REQUIRE_OK(perp_sim_step(t.sim));
    CHECK_NEAR(joint(&t, "j").coordinate[0], 0.0, 1e-9);
    scene_sim_close(&t);
}

TEST(a_motor_at_its_maximum_effort_stalls_against_a_contact_without_jitter)
{
    for (int dimension = 2; dimension <= 3; ++dimension) {
        /* a slider pushes a box on the floor against a wall */
        scene_sim s =
            dimension == 3
                ? scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':3,"
                                 "'friction':{'default':0.4},'bodies':["
                                 "{'name':'floor','type':'static','shapes':[{'type':'plane',"
                                 "'normal':[0,0,1]}]},{'name':'wall','type':'static','shapes':["
                                 "{'type':'plane','normal':[-1,0,0],'offset':-1}]},"
                                 "{'name':'slider','density':100,'position':[0,0,0.2],'shapes':["
                                 "{'type':'box','size':[0.2,0.2,0.2]}]},"
                                 "{'name':'box','density':100,'position':[0.4,0,0.15],'shapes':["
                                 "{'type':'box','size':[0.3,0.3,0.3]}]}],"
                                 "'joints':[{'name':'j','type':'prismatic','a':'world',"
                                 "'b':'slider','at':[0,0,0.2],'axis':[1,0,0],'motor':{'type':"
                                 "'position','target':2,'max_effort':60}}]}")
                : scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':3,"
                                 "'friction':{'default':0.4},'bodies':["
                                 "{'name':'wall','type':'static','shapes':[{'type':'halfplane',"
                                 "'normal':[-1,0],'offset':-0.82}]},"
                                 "{'name':'arm','density':10,'position':[0.3,0],'shapes':["
                                 "{'type':'box','size':[0.6,0.1]},"
                                 "{'type':'circle','radius':0.1,'position':[0.4,-0.3]}]}],"
                                 "'joints':[{'name':'j','type':'revolute','a':'world',"
                                 "'b':'arm','at':[0,0],'motor':{'type':'position','target':2,"
                                 "'max_effort':60}}]}");
        REQUIRE(s.sim != NULL);
        double at[2] = {0, 0};
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
            const double c = joint(&s, "j").coordinate[0];
            if (perp_sim_step_count(s.sim) == 200) {
                at[0] = at[1] = c;
            } else if (perp_sim_step_count(s.sim) > 200) {
                at[0] = c < at[0] ? c : at[0];
                at[1] = c > at[1] ? c : at[1];
            }
        }
        CHECK_AT_MOST(at[1] - at[0], 1e-9);
        CHECK_NEAR(joint(&s, "j").effort, 60.0, 1e-6);
        CHECK(perp_sim_step_info(s.sim).contacts > 0);
        scene_sim_close(&s);
    }
}

/* A slider with a motor that nothing bounds, and perhaps limits or a wall at 0.9. */
static scene_sim slider(const char* motor, const char* extra, bool wall, bool correction)
{
    return scene_sim_open("{'step':0.01,'duration':3,'joint_correction':%s,'bodies':[%s"
                          "{'name':'s','mass':1,'inertia':[1,1,1],'shapes':[{'type':'sphere',"
                          "'radius':0.1}]}],'joints':[{'name':'j','type':'prismatic','a':'world',"
                          "'b':'s','at':[0,0,0],'axis':[1,0,0],'motor':{%s}%s}]}",
                          correction ? "true" : "false",
                          wall ? "{'name':'wall','type':'static','shapes':[{'type':'plane',"
                                 "'normal':[-1,0,0],'offset':-1}]},"
                               : "",
                          motor, extra);
}

static const char* const unbounded[] = {"'type':'position','target':2",
                                        "'type':'position','target':'2*t'",
                                        "'type':'velocity','target':1"};

TEST(a_motor_without_a_bound_obeys_the_limits_of_its_joint)
{
    for (int i = 0; i < 6; ++i) {
        scene_sim s = slider(unbounded[i / 2], ",'limits':[-1,1]", false, i % 2 == 1);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
            CHECK_AT_MOST(joint(&s, "j").coordinate[0], 1.0 + 1e-12);
        }
        CHECK_NEAR(joint(&s, "j").coordinate[0], 1.0, 1e-12);
        scene_sim_close(&s);
    }
}

TEST(a_motor_without_a_bound_does_not_push_through_a_wall)
{
    for (int i = 0; i < 6; ++i) {
        scene_sim s = slider(unbounded[i / 2], "", true, i % 2 == 1);
        REQUIRE(s.sim != NULL);
        perp_status status = PERP_OK;
        while (status == PERP_OK && !perp_sim_finished(s.sim)) {
            status = perp_sim_step(s.sim);
            CHECK_AT_MOST(scene_sim_body(&s, "s").position[0], 0.9 + 1e-9);
        }
        CHECK(status != PERP_OK); /* contradictory laws: a failure, not a result */
        scene_sim_close(&s);
    }
}

TEST(a_body_that_is_pulled_apart_is_a_failed_step)
{
    for (int correction = 0; correction < 2; ++correction) {
        scene_sim s =
            scene_sim_open("{'step':0.005,'joint_correction':%s,'bodies':["
                           "{'name':'k','type':'kinematic','velocity':[-1,0,0]},"
                           "{'name':'l','type':'kinematic','velocity':[1,0,0]},"
                           "{'name':'b','mass':1,'inertia':[1,1,1]}],'joints':["
                           "{'name':'i','type':'spherical','a':'k','b':'b','at':[-1,0,0]},"
                           "{'name':'j','type':'spherical','a':'l','b':'b','at':[1,0,0]}]}",
                           correction == 1 ? "true" : "false");
        REQUIRE(s.sim != NULL);
        CHECK(perp_sim_step(s.sim) != PERP_OK);
        scene_sim_close(&s);
    }
}

TEST(an_axis_of_any_length_above_zero_is_an_axis)
{
    static const double length[] = {1e-320, 1e-160, 1e308};
    for (int i = 0; i < 3; ++i) {
        scene_sim s =
            scene_sim_open("{'gravity':[0,0,-9.81],'duration':0.1,'bodies':[{'name':'b','mass':1,"
                           "'inertia':[1,1,1],'position':[1,0,0]}],'joints':[{'name':'j',"
                           "'type':'revolute','a':'world','b':'b','at':[0,0,0],"
                           "'axis':[0,%.17g,0]}]}",
                           length[i]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        CHECK(joint(&s, "j").coordinate[0] > 0.01);
        scene_sim_close(&s);
    }
}

TEST(a_rope_may_name_one_end_and_take_the_centre_for_the_other)
{
    scene_sim s =
        scene_sim_open("{'bodies':[{'name':'b','density':1,'shapes':[{'type':'sphere','radius':1,"
                       "'position':[0,0,-3]}]}],'joints':[{'name':'r','type':'rope',"
                       "'a':'world','b':'b','at_a':[0,0,1]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_NEAR(joint(&s, "r").coordinate[0], 4.0, 1e-12);
    scene_sim_close(&s);
}

/* ---- ropes, particles, kinematic sides -------------------------------------------------------------------*/

TEST(a_rope_is_slack_until_it_is_straight_and_then_holds)
{
    for (int dimension = 2; dimension <= 3; ++dimension) {
        for (int correction = 0; correction < 2; ++correction) {
            scene_sim s = scene_sim_open(
                dimension == 3
                    ? "{'gravity':[0,0,-10],'step':0.01,'duration':1,'joint_correction':%s,"
                      "'bodies':[{'name':'p','type':'dynamic','mass':2,"
                      "'position':[0.3,0,0],'shapes':[{'type':'particle'}]}],"
                      "'joints':[{'name':'r','type':'rope','a':'world','b':'p',"
                      "'at_a':[0,0,0],'at_b':[0,0,0],'length':0.5}]}"
                    : "{'dimension':2,'gravity':[0,-10],'step':0.01,'duration':1,"
                      "'joint_correction':%s,'bodies':[{'name':'p','type':'dynamic',"
                      "'mass':2,'position':[0.3,0],'shapes':[{'type':'particle'}]}],"
                      "'joints':[{'name':'r','type':'rope','a':'world','b':'p',"
                      "'at_a':[0,0],'at_b':[0,0],'length':0.5}]}",
                correction == 1 ? "true" : "false");
            REQUIRE(s.sim != NULL);
            bool taut = false;
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                const perp_joint_state r = joint(&s, "r");
                if (!taut && r.impulse[0] == 0.0) { /* free fall of the scheme */
                    const double n = (double)perp_sim_step_count(s.sim);
                    const double z = scene_sim_body(&s, "p").position[dimension - 1];
                    CHECK_NEAR(z, -10.0 * 1e-4 * n * (n + 1) / 2, 1e-12);
                }
                taut = taut || r.impulse[0] > 0.0;
                CHECK(r.impulse[0] >= 0.0);
                CHECK_AT_MOST(r.coordinate[0], 0.5 + (correction == 1 ? 1e-12 : 2e-3));
            }
            CHECK(taut);
            scene_sim_close(&s);
        }
    }
}

TEST(particles_hang_on_points_of_bodies)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'joint_correction':true,"
                       "'bodies':[{'name':'bar','type':'dynamic','mass':1,'inertia':[0.1,0.1,0.1],"
                       "'position':[0.5,0,0]},{'name':'p','type':'dynamic','mass':1,"
                       "'position':[1,0,0],'shapes':[{'type':'particle'}]}],'joints':["
                       "{'name':'a','type':'spherical','a':'world','b':'bar','at':[0,0,0]},"
                       "{'name':'b','type':'spherical','a':'bar','b':'p','at':[1,0,0]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(run_for_error(&s), 1e-12);
    const perp_body_state p = scene_sim_body(&s, "p");
    const double r = sqrt(p.position[0] * p.position[0] + p.position[1] * p.position[1] +
                          p.position[2] * p.position[2]);
    CHECK_NEAR(r, 1.0, 1e-11);
    scene_sim_close(&s);
}

TEST(a_kinematic_crank_drives_a_slider_through_a_rod)
{
    for (int correction = 0; correction < 2; ++correction) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.001,'duration':1.5,'joint_correction':%s,'bodies':["
            "{'name':'crank','type':'kinematic','motion':{'angle':'5*t'}},"
            "{'name':'rod','type':'dynamic','mass':1,'inertia':0.01,"
            "'position':[0.35,0]},{'name':'slider','type':'dynamic','mass':1,"
            "'inertia':0.01,'position':[0.6,0]}],'joints':["
            "{'name':'a','type':'revolute','a':'crank','b':'rod','at':[0.1,0]},"
            "{'name':'b','type':'revolute','a':'rod','b':'slider','at':[0.6,0]},"
            "{'name':'c','type':'prismatic','a':'world','b':'slider','at':[0,0],"
            "'axis':[1,0]}]}",
            correction == 1 ? "true" : "false");
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double phi = 5.0 * perp_sim_time(s.sim);
            const double x = 0.1 * cos(phi) + sqrt(0.25 - 0.01 * sin(phi) * sin(phi));
            CHECK_NEAR(scene_sim_body(&s, "slider").position[0], x, correction == 1 ? 1e-11 : 1e-5);
        }
        CHECK_NEAR(joint(&s, "a").rate[0], scene_sim_body(&s, "rod").angular_velocity[2] - 5.0,
                   1e-9);
        scene_sim_close(&s);
    }
}

/* ---- with contacts -----------------------------------------------------------------------------------------*/

TEST(joined_bodies_do_not_collide_unless_asked)
{
    for (int collide = 0; collide < 2; ++collide) {
        scene_sim s =
            scene_sim_open("{'step':0.01,'duration':0.1,'allow_overlap':true,'bodies':["
                           "{'name':'a','density':1,'shapes':[{'type':'box','size':[1,1,1]}]},"
                           "{'name':'b','density':1,'position':[1,0,0],'shapes':[{'type':'box',"
                           "'size':[1,1,1]}]}],'joints':[{'name':'j','type':'revolute','a':'a',"
                           "'b':'b','at':[0.5,0,0],'axis':[0,0,1],'collide':%s}]}",
                           collide == 1 ? "true" : "false");
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK((perp_sim_step_info(s.sim).candidates > 0) == (collide == 1));
        scene_sim_close(&s);
    }
}

TEST(the_correction_does_not_push_a_linkage_into_the_floor)
{
    /* a jointed arm falls over and comes to rest on the floor; corrected or not, as deep */
    double deepest[2] = {0, 0};
    for (int correction = 0; correction < 2; ++correction) {
        scene_sim s =
            scene_sim_open("{'gravity':[0,0,-9.81],'step':0.005,'duration':3,'joint_correction':%s,"
                           "'friction':{'default':0.5},'bodies':["
                           "{'name':'floor','type':'static','shapes':[{'type':'plane',"
                           "'normal':[0,0,1]}]},"
                           "{'name':'a','density':100,'position':[0.3,0,0.5],'shapes':["
                           "{'type':'box','size':[0.6,0.1,0.1]}]},"
                           "{'name':'b','density':100,'position':[0.9,0,0.5],'shapes':["
                           "{'type':'box','size':[0.6,0.1,0.1]}]},"
                           "{'name':'c','density':100,'position':[1.5,0,0.5],'shapes':["
                           "{'type':'box','size':[0.6,0.1,0.1]}]}],'joints':["
                           "{'name':'p','type':'revolute','a':'world','b':'a','at':[0,0,0.5],"
                           "'axis':[0,1,0]},{'name':'q','type':'revolute','a':'a','b':'b',"
                           "'at':[0.6,0,0.5],'axis':[0,1,0]},{'name':'r','type':'revolute',"
                           "'a':'b','b':'c','at':[1.2,0,0.5],'axis':[0,1,0.1]}]}",
                           correction == 1 ? "true" : "false");
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            CHECK_AT_MOST(info.certificate.worst, 1e-8);
            if (correction == 1) {
                CHECK_AT_MOST(info.joint_error[0], 1e-10);
            }
            deepest[correction] = fmax(deepest[correction], info.penetration);
        }
        CHECK(perp_sim_step_info(s.sim).contacts > 0);
        CHECK_AT_MOST(fabs(scene_sim_body(&s, "c").velocity[2]), 1e-6);
        scene_sim_close(&s);
    }
    CHECK_AT_MOST(deepest[1], deepest[0] + 1e-3);
}

/* ---- state ---------------------------------------------------------------------------------------------------*/

static const char machine[] =
    "{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'joint_correction':true,"
    "'friction':{'default':0.5},'bodies':["
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
    "{'name':'wheel','density':100,'position':[0,0,1],'angular_velocity':[0,90,0],"
    "'shapes':[{'type':'sphere','radius':0.2}]},"
    "{'name':'arm','density':100,'position':[0.5,0.3,1],'shapes':[{'type':'box',"
    "'size':[1,0.1,0.1]}]},"
    "{'name':'ball','density':100,'position':[1.2,0.3,1],'shapes':[{'type':"
    "'sphere','radius':0.1}]}],'joints':["
    "{'name':'axle','type':'revolute','a':'world','b':'wheel','at':[0,0,1],"
    "'axis':[0,1,0],'friction':0.1},"
    "{'name':'crank','type':'universal','a':'wheel','b':'arm','at':[0,0.3,1],"
    "'axis':[0,1,0]},"
    "{'name':'rope','type':'rope','a':'arm','b':'ball','at_a':[0.5,0,0],"
    "'at_b':[0,0,0],'length':0.4},"
    "{'name':'motor','type':'prismatic','a':'world','b':'ball',"
    "'at':[1.2,0.3,1],'axis':[0,0,1],'limits':[-0.8,0.1],'damping':2,"
    "'motor':{'type':'velocity','target':'sin(9*t)','max_effort':20}}]}";

static bool same_state(const perp_sim* a, const perp_sim* b)
{
    int32_t n = 0;
    const perp_joint_record* x = perp_sim_joint_records(a, &n);
    const perp_joint_record* y = perp_sim_joint_records(b, &n);
    return memcmp(perp_sim_q(a), perp_sim_q(b), (size_t)perp_sim_q_size(a) * sizeof(double)) == 0 &&
           memcmp(perp_sim_v(a), perp_sim_v(b), (size_t)perp_sim_v_size(a) * sizeof(double)) == 0 &&
           memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

TEST(a_machine_continues_from_a_snapshot_with_the_same_bits_turns_included)
{
    scene_sim a = scene_sim_open("%s", machine), b = scene_sim_open("%s", machine);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    void* buffer = NULL;
    while (!perp_sim_finished(a.sim)) {
        REQUIRE_OK(perp_sim_step(a.sim));
        if (perp_sim_step_count(a.sim) == 60) {
            REQUIRE_OK(perp_sim_set_joint_target(a.sim, 3, 0.3)); /* kept by the snapshot */
        }
        if (perp_sim_step_count(a.sim) % 67 == 0) {
            size_t size = 0;
            REQUIRE_OK(perp_sim_save(a.sim, NULL, &size));
            buffer = realloc(buffer, size);
            REQUIRE_OK(perp_sim_save(a.sim, buffer, &size));
            REQUIRE_OK(perp_sim_restore(b.sim, buffer, size));
        } else if (perp_sim_step_count(a.sim) > 67) {
            REQUIRE_OK(perp_sim_step(b.sim));
            CHECK(same_state(a.sim, b.sim));
        }
    }
    CHECK(fabs(joint(&a, "axle").coordinate[0]) > 4.0 * PI);
    CHECK_NEAR(joint(&b, "axle").coordinate[0], joint(&a, "axle").coordinate[0], 0.0);
    free(buffer);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(a_warm_step_of_a_machine_asks_for_no_memory)
{
    scene_sim s = scene_sim_open("%s", machine);
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 150; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}

/* A speck between two taut ropes: each step throws it aside, and moving poses towards the joints
 * linearly throws it further. Poses that fit worse than those of the step are not taken. */
TEST(joint_correction_does_not_open_ropes_further)
{
    double worst = 0.0;
    for (int k = 0; k < 8; ++k) {
        scene_sim s = scene_sim_quoted(
            "{'step':0.006,'duration':1,'contact':'standard','joint_correction':true,'bodies':["
            "{'name':'speck','mass':6e-6,'position':[0,%.9g,0],'shapes':[{'type':'particle'}]},"
            "{'name':'a','mass':0.6,'position':[-0.2,0,0],'velocity':[0,%.9g,0.2],"
            "'shapes':[{'type':'sphere','radius':0.03}]},"
            "{'name':'b','mass':0.43,'position':[0.2,0,0],'velocity':[1,0.3,%.9g],"
            "'shapes':[{'type':'sphere','radius':0.03}]}],'joints':["
            "{'name':'j','type':'rope','a':'speck','b':'a','length':0.25},"
            "{'name':'k','type':'rope','a':'speck','b':'b','length':0.25}],'forces':["
            "{'type':'wrench','body':'b','force':[1,'0.8*sin(31*t)',0]},"
            "{'type':'wrench','body':'a','force':[-1,0,0]}]}",
            0.02 + 0.01 * k, 0.1 * k, -0.1 * k);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double error = perp_sim_step_info(s.sim).joint_error[0];
            worst = error <= worst ? worst : error;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("ropes of 0.25 m and a speck of 1e-5 of the mass: longer by %.2f m at most", worst);
    CHECK_AT_MOST(worst, 4.0); /* 9.8 where every move is taken; 1.2 to 2.8 else, by rounding */
}
