/* 2.5-D: bodies that lie on three points with known normal forces [B09 3.3]. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define TRIPOD "[[0.3,0.05],[-0.15,0.26],[-0.2,-0.3]]"
static const double at[3][2] = {{0.3, 0.05}, {-0.15, 0.26}, {-0.2, -0.3}};
static const double mass = 2.0, inertia = 0.25, mu = 0.3, g = 9.81;

/* A disc on its tripod; more: further keys of the scene, with their commas. */
static scene_sim disc(double h, double duration, const char* motion, const char* more)
{
    return scene_sim_open("{'dimension':2,'step':%.17g,'duration':%.17g%s,'bodies':[{"
                          "'name':'disc','mass':2,'inertia':0.25,%s,'support':{'tripod':" TRIPOD
                          ",'mu':0.3},'shapes':[{'type':'circle','radius':0.5}]}]}",
                          h, duration, more, motion);
}

/* [B09 (3.24)] by Cramer's rule. */
static void loads(double load[3])
{
    const double* x[3] = {at[0], at[1], at[2]};
    const double d =
        (x[1][0] - x[0][0]) * (x[2][1] - x[0][1]) - (x[2][0] - x[0][0]) * (x[1][1] - x[0][1]);
    load[0] = mass * g * (x[1][0] * x[2][1] - x[2][0] * x[1][1]) / d;
    load[1] = mass * g * (x[2][0] * x[0][1] - x[0][0] * x[2][1]) / d;
    load[2] = mass * g - load[0] - load[1];
}

TEST(the_normal_forces_carry_the_weight_and_balance_about_the_centre)
{
    scene_sim s = disc(0.01, 0.01, "'velocity':[1,0]", "");
    REQUIRE(s.sim != NULL);
    const perp_support_info info = perp_model_body_support(perp_scene_model(s.scene), 0);
    double load[3], sum = 0.0, about_x = 0.0, about_y = 0.0;
    loads(load);
    CHECK(info.points == 3);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(info.load[i], load[i], 1e-13 * mass * g);
        sum += info.load[i];
        about_x += info.load[i] * info.at[i][1];
        about_y += info.load[i] * info.at[i][0];
    }
    CHECK_NEAR(sum, mass * g, 1e-13 * mass * g);
    CHECK_AT_MOST(fabs(about_x), 1e-13 * mass * g);
    CHECK_AT_MOST(fabs(about_y), 1e-13 * mass * g);
    scene_sim_close(&s);
}

/* With density the tripod is in the frame of the shapes, not about the centre of mass. */
TEST(the_tripod_is_given_in_the_frame_of_the_shapes)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'bodies':[{'name':'b','density':1,'support':{'tripod':[[0,0],"
        "[2,0],[1,1.5]],'mu':0.1,'load':6},'shapes':[{'type':'polygon','vertices':[[0,"
        "0]"
        ",[2,0],[2,1],[0,1]]}]}]}");
    REQUIRE(s.sim != NULL);
    const perp_support_info info = perp_model_body_support(perp_scene_model(s.scene), 0);
    for (int i = 0; i < 3; ++i) { /* the centre (1, 1/2) is that of the triangle */
        CHECK_NEAR(info.load[i], 2.0, 1e-14);
    }
    CHECK_NEAR(info.at[2][1], 1.0, 1e-14);
    scene_sim_close(&s);
}

static void acceleration(const double y[6], double a[3])
{
    double load[3];
    loads(load);
    const double c = cos(y[2]), s = sin(y[2]);
    a[0] = a[1] = a[2] = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double rx = c * at[i][0] - s * at[i][1], ry = s * at[i][0] + c * at[i][1];
        const double ux = y[3] - y[5] * ry, uy = y[4] + y[5] * rx, u = hypot(ux, uy);
        const double fx = -mu * load[i] * ux / u, fy = -mu * load[i] * uy / u;
        a[0] += fx / mass;
        a[1] += fy / mass;
        a[2] += (rx * fy - ry * fx) / inertia;
    }
}

/* The classical Runge-Kutta method; 1e-12 at n = 20000 while every point slides. */
static void integrate(double y[6], double T, int n)
{
    const double h = T / n, weight[4] = {0.0, 0.5, 0.5, 1.0};
    for (int step = 0; step < n; ++step) {
        double k[4][6], z[6];
        for (int stage = 0; stage < 4; ++stage) {
            for (int i = 0; i < 6; ++i) {
                z[i] = y[i] + (stage > 0 ? weight[stage] * h * k[stage - 1][i] : 0.0);
            }
            for (int i = 0; i < 3; ++i) {
                k[stage][i] = z[3 + i];
            }
            acceleration(z, k[stage] + 3);
        }
        for (int i = 0; i < 6; ++i) {
            y[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
        }
    }
}

static double off_at(double h, const double y[6])
{
    scene_sim s = disc(h, 0.5, "'velocity':[1.5,0.5],'angular_velocity':6", "");
    double off = INFINITY;
    if (s.sim != NULL && scene_sim_run(&s) <= 1e-10) {
        const perp_body_state b = scene_sim_body(&s, "disc");
        off = fabs(b.position[0] - y[0]);
        off = fmax(off, fabs(b.position[1] - y[1]));
        off = fmax(off, fabs(b.angle - y[2]));
        off = fmax(off, fabs(b.velocity[0] - y[3]));
        off = fmax(off, fabs(b.velocity[1] - y[4]));
        off = fmax(off, fabs(b.angular_velocity[2] - y[5]));
    }
    scene_sim_close(&s);
    return off;
}

TEST(a_disc_that_slides_and_spins_follows_the_differential_equation)
{
    double y[6] = {0, 0, 0, 1.5, 0.5, 6.0};
    integrate(y, 0.5, 20000);
    CHECK(fabs(y[5]) > 0.1); /* still turning: smooth all the way */
    const double coarse = off_at(0.0005, y), fine = off_at(0.00025, y);
    TEST_PRINT("off by %.2e at h = 0.00025, order %.3f", fine, log2(coarse / fine));
    CHECK_AT_MOST(fine, 3e-3);
    CHECK(log2(coarse / fine) > 0.9 && log2(coarse / fine) < 1.1);
}

TEST(a_body_pushed_below_the_limit_does_not_move_in_any_direction)
{
    for (int k = 0; k < 16; ++k) {
        const double angle = 2.0 * acos(-1.0) * k / 16.0, limit = mu * mass * g;
        scene_sim s =
            scene_sim_open("{'dimension':2,'step':0.01,'duration':5,'friction':{'cone':'%s',"
                           "'directions':8},'bodies':[{'name':'disc','mass':2,'inertia':0.25,"
                           "'support':{'tripod':" TRIPOD ",'mu':0.3}}],'forces':[{'type':'wrench',"
                           "'body':'disc','force':[%.17g,%.17g],'torque':%.17g}]}",
                           k % 2 == 0 ? "quadratic" : "polygon", 0.9 * limit * cos(angle),
                           0.9 * limit * sin(angle), k % 3 == 0 ? 0.05 * limit : 0.0);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
        const perp_body_state b = scene_sim_body(&s, "disc");
        CHECK_AT_MOST(hypot(b.position[0], b.position[1]), 1e-12);
        CHECK_AT_MOST(fabs(b.angle), 1e-12);
        scene_sim_close(&s);
    }
}

TEST(above_the_limit_it_slides_with_what_is_left_and_turns_nowhere)
{
    const double pushed = 10.0, a = pushed / mass - mu * g;
    for (int k = 0; k < 9; ++k) {
        const double angle = 0.7 * k;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.01,'duration':1,'bodies':[{'name':'disc','mass':"
            "2"
            ",'inertia':0.25,'support':{'tripod':" TRIPOD ",'mu':0.3}}],'forces':[{"
            "'type':'wrench','body':'disc','force':[%.17g,%.17g]}]}",
            pushed * cos(angle), pushed * sin(angle));
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
        const perp_body_state b = scene_sim_body(&s, "disc");
        CHECK_NEAR(b.velocity[0], a * cos(angle), 1e-10);
        CHECK_NEAR(b.velocity[1], a * sin(angle), 1e-10);
        CHECK_AT_MOST(fabs(b.angle), 1e-10); /* the friction's resultant is at the centre */
        scene_sim_close(&s);
    }
}

/* Impulses against the momentum they made, each point against its own law. */
TEST(every_point_rubs_against_its_slip_and_the_sum_is_the_change_of_momentum)
{
    const double h = 0.01;
    double load[3], before[3] = {1.5, 0.5, 6.0};
    loads(load);
    scene_sim s = disc(h, 0.3, "'velocity':[1.5,0.5],'angular_velocity':6", "");
    REQUIRE(s.sim != NULL);
    while (!perp_sim_finished(s.sim)) {
        const double angle = scene_sim_body(&s, "disc").angle;
        const perp_support_state old = perp_sim_support(s.sim, 0);
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_body_state b = scene_sim_body(&s, "disc");
        const perp_support_state now = perp_sim_support(s.sim, 0);
        double sum[3] = {0, 0, 0};
        CHECK(old.points == 3 && now.points == 3);
        for (int i = 0; i < 3; ++i) {
            const double rx = cos(angle) * at[i][0] - sin(angle) * at[i][1];
            const double ry = sin(angle) * at[i][0] + cos(angle) * at[i][1];
            const double ux = b.velocity[0] - b.angular_velocity[2] * ry;
            const double uy = b.velocity[1] + b.angular_velocity[2] * rx;
            const double *p = now.impulse[i], u = hypot(ux, uy), most = mu * h * load[i];
            CHECK_NEAR(p[0], h * load[i], 1e-12 * h * mass * g); /* known, and found */
            CHECK_NEAR(p[1], -most * ux / u, 1e-9 * most);
            CHECK_NEAR(p[2], -most * uy / u, 1e-9 * most);
            sum[0] += p[1];
            sum[1] += p[2];
            sum[2] += rx * p[2] - ry * p[1];
        }
        CHECK_NEAR(mass * (b.velocity[0] - before[0]), sum[0], 1e-12);
        CHECK_NEAR(mass * (b.velocity[1] - before[1]), sum[1], 1e-12);
        CHECK_NEAR(inertia * (b.angular_velocity[2] - before[2]), sum[2], 1e-12);
        before[0] = b.velocity[0];
        before[1] = b.velocity[1];
        before[2] = b.angular_velocity[2];
    }
    scene_sim_close(&s);
}

TEST(a_polygon_stops_along_its_directions_as_the_disc_and_earlier_nowhere)
{
    /* eight directions: exact along multiples of 45 degrees */
    for (int k = 0; k < 8; ++k) {
        const double angle = acos(-1.0) / 4.0 * k;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.01,'duration':0.5,'friction':{'cone':'polygon',"
            "'directions':8},'bodies':[{'name':'p','mass':3,'velocity':[%.17g,%.17g],"
            "'support':{'mu':0.4,'gravity':10},'shapes':[{'type':'particle'}]}]}",
            5.0 * cos(angle), 5.0 * sin(angle));
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
        const perp_body_state b = scene_sim_body(&s, "p");
        CHECK_NEAR(b.velocity[0], 3.0 * cos(angle), 1e-9);
        CHECK_NEAR(b.velocity[1], 3.0 * sin(angle), 1e-9);
        scene_sim_close(&s);
    }
}

/* x = v^2 / (2 mu g) + v h / 2 in whole steps: 100 steps from 1 m/s at mu g = 1. */
TEST(a_particle_on_one_point_stops_where_it_must_and_stays)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.01,'duration':3,'bodies':[{'name':'p','mass':7,"
                       "'velocity':[0.6,0.8],'support':{'mu':0.1,'gravity':10},'shapes':[{'type':"
                       "'particle'}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
    const perp_body_state b = scene_sim_body(&s, "p");
    CHECK_NEAR(b.position[0], 0.6 * 0.495, 1e-12);
    CHECK_NEAR(b.position[1], 0.8 * 0.495, 1e-12);
    CHECK_AT_MOST(hypot(b.velocity[0], b.velocity[1]), 1e-12);
    scene_sim_close(&s);
}

TEST(without_friction_the_support_does_nothing)
{
    scene_sim s =
        disc(0.01, 1, "'velocity':[1.5,0.5],'angular_velocity':6", ",'friction':{'cone':'none'}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "disc").velocity[0], 1.5, 1e-14);
    CHECK_NEAR(scene_sim_body(&s, "disc").angular_velocity[2], 6.0, 1e-13);
    scene_sim_close(&s);
}

TEST(a_snapshot_holds_the_impulses_under_the_body)
{
    scene_sim s = disc(0.01, 0.4, "'velocity':[1.5,0.5],'angular_velocity':6", "");
    REQUIRE(s.sim != NULL);
    unsigned char buffer[2][4096];
    size_t size = sizeof buffer[0];
    for (int i = 0; i < 10; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    REQUIRE_OK(perp_sim_save(s.sim, buffer[0], &size));
    REQUIRE_OK(perp_sim_run(s.sim));
    const perp_body_state end = scene_sim_body(&s, "disc");
    REQUIRE_OK(perp_sim_restore(s.sim, buffer[0], size));
    size_t again = sizeof buffer[1];
    REQUIRE_OK(perp_sim_save(s.sim, buffer[1], &again));
    CHECK(size == again && memcmp(buffer[0], buffer[1], size) == 0);
    REQUIRE_OK(perp_sim_run(s.sim));
    const perp_body_state back = scene_sim_body(&s, "disc");
    CHECK(memcmp(&end, &back, sizeof end) == 0);
    scene_sim_close(&s);
}

TEST(springs_and_controllers_find_their_memory_behind_the_supports)
{
    /* an integral controller holds the body at 1 against friction, as it does without */
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.01,'duration':20,'bodies':[{'name':'p','mass':1,"
                       "'support':{'mu':0.1},'shapes':[{'type':'particle'}]}],'controllers':[{"
                       "'type':'pid','name':'c','body':'p','axis':[1,0],'kp':20,'ki':10,'kd':"
                       "10,'target':1}],"
                       "'forces':[{'type':'spring','a':'world','b':'p','stiffness':4,'rest':0}]"
                       "}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const double x = scene_sim_body(&s, "p").position[0];
    const perp_controller_state c = perp_sim_controller(s.sim, 0);
    const perp_support_state support = perp_sim_support(s.sim, 0);
    CHECK_NEAR(x, 1.0, 0.06); /* it sticks within mu m g / k of the target */
    CHECK_NEAR(c.effort + support.impulse[0][1] / 0.01, 4.0 * x, 1e-6);
    CHECK_NEAR(support.impulse[0][0], 0.0981, 1e-12);
    scene_sim_close(&s);
}

static void refused(const char* dimension, const char* body, const char* why)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    char text[1024];
    REQUIRE_OK(perp_context_create(NULL, &context));
    snprintf(text, sizeof text, "{'dimension':%s,'bodies':[{'name':'b',%s}]}", dimension, body);
    perp_status status = scene_parse(context, text, "test", &scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    CHECK(status == PERP_ERROR_INPUT);
    CHECK(strstr(perp_context_error(context), why) != NULL);
    if (strstr(perp_context_error(context), why) == NULL) {
        TEST_PRINT("%s", perp_context_error(context));
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

TEST(supports_that_make_no_sense_are_refused)
{
    refused("2", "'mass':1,'inertia':1,'support':{'tripod':[[1,0],[2,0],[1,1]],'mu':1}",
            "/bodies/0/support/tripod: must contain the centre of mass");
    refused("2", "'mass':1,'inertia':1,'support':{'tripod':[[-1,0],[0,0],[1,0]],'mu':1}",
            "/bodies/0/support/tripod: the three points must not lie on a line");
    refused("2", "'mass':1,'inertia':1,'support':{'tripod':[[-1,-1],[1,-1],[0,1]],'mu':-1}",
            "/bodies/0/support/mu: must be >= 0, got -1");
    refused("2", "'mass':1,'inertia':1,'support':{'mu':1}", "missing key 'tripod'");
    refused("2", "'mass':1,'inertia':1,'support':{'tripod':[[-1,-1],[1,-1],[0,1]]}",
            "/bodies/0/support: missing key 'mu'");
    refused("2", "'mass':1,'inertia':1,'support':{'tripod':[[-1,-1],[1,-1]],'mu':1}",
            "/bodies/0/support/tripod: must hold three points, got 2");
    refused("2", "'mass':1,'inertia':1,'support':{'tripod':[[-1,-1],[1,-1],[0,1,2]],'mu':1}",
            "/bodies/0/support/tripod/2: must be a point [x, y]");
    refused("2", "'mass':1,'support':{'mu':1,'gravity':0},'shapes':[{'type':'particle'}]",
            "/bodies/0/support/gravity: must be > 0, got 0");
    refused("2",
            "'mass':1,'support':{'mu':1,'gravity':1,'load':2},'shapes':[{'type':"
            "'particle'}]",
            "/bodies/0/support/load: takes the place of gravity");
    refused("2", "'type':'static','support':{'tripod':[[-1,-1],[1,-1],[0,1]],'mu':1}",
            "/bodies/0/support: only a dynamic body");
    refused("3", "'mass':1,'inertia':[1,1,1],'support':{'tripod':[[-1,-1],[1,-1],[0,1]],'mu':1}",
            "/bodies/0/support: is for planar scenes");
}
