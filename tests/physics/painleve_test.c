/* Painleve's paradox: a thin rod that slides tip first over a rough floor. At acceleration level the
 * contact force has no solution (or several); at impulse level every step has one. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const double length = 1.0, radius = 0.01;

/* Rod at `angle` to the floor, its lower tip ahead, touching; pushed along -x and, by its spin, into the
 * floor. */
static scene_sim rod(const char* friction, const char* shape, double angle, double mu, double speed,
                     double spin)
{
    /* the capsule's axis is z: turning by pi/2 - angle about +y lays its lower end towards -x */
    const double turn = M_PI / 2 - angle;
    double height = 0.5 * length * sin(angle) + radius;
    char body[256];
    if (strcmp(shape, "capsule") == 0) {
        snprintf(body, sizeof body, "{'type':'capsule','radius':%.17g,'length':%.17g}", radius,
                 length);
    } else {
        height = 0.5 * length * sin(angle) + radius * cos(angle);
        snprintf(body, sizeof body, "{'type':'box','size':[%.17g,%.17g,%.17g]}", 2 * radius,
                 2 * radius, length);
    }
    return scene_sim_open("{'gravity':[0,0,-9.81],'step':0.002,'duration':1,'friction':{%s,"
                          "'default':%.17g},'bodies':[{'name':'floor','type':'static','shapes':[{"
                          "'type':'plane','normal':[0,0,1]}]},{'name':'rod','mass':1,'position':"
                          "[0,0,%.17g],'axis_angle':[0,1,0,%.17g],'velocity':[%.17g,0,0],"
                          "'angular_velocity':[0,%.17g,0],'shapes':[%s]}]}",
                          friction, mu, height, turn, -speed, spin, body);
}

typedef struct outcome {
    double certificate, gain; /* the largest of any step; gain relative to the first energy */
    int touching;             /* steps with an impulse */
    double sideways;
} outcome;

static outcome run(scene_sim* s)
{
    outcome o = {0};
    double last = perp_sim_energy(s->sim).total;
    const double scale = fabs(last);
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            TEST_PRINT("t = %.4g: %s", perp_sim_time(s->sim), perp_context_error(s->context));
            return (outcome){INFINITY, INFINITY, 0, INFINITY};
        }
        const perp_step_info info = perp_sim_step_info(s->sim);
        const double energy = perp_sim_energy(s->sim).total;
        const double gain = (energy - last) / scale;
        o.certificate =
            !(info.certificate.worst <= o.certificate) ? info.certificate.worst : o.certificate;
        o.gain = !(gain <= o.gain) ? gain : o.gain;
        o.touching += info.contacts > 0 ? 1 : 0;
        last = energy;
    }
    o.sideways = fabs(scene_sim_body(s, "rod").position[1]);
    return o;
}

static void check_rods(const char* friction, const char* shape)
{
    const double angle[] = {30, 40, 50, 60}, mus[] = {1.5, 2.0, 3.0}, spin[] = {0.0, -2.0};
    outcome worst = {0};
    int runs = 0, paradoxes = 0;
    for (int i = 0; i < 4 * 3 * 2; ++i) {
        const double a = angle[i % 4] * M_PI / 180, mu = mus[i / 4 % 3];
        /* the sign of the rate at which a sliding rod's contact opens under its own force */
        const bool paradox = 1.0 + 3.0 * cos(a) * (cos(a) - mu * sin(a)) < 0.0;
        scene_sim s = rod(friction, shape, a, mu, 3.0, spin[i / 12]);
        REQUIRE(s.sim != NULL);
        const outcome o = run(&s);
        if (!(o.certificate <= 1e-8 && o.gain <= 1e-4)) {
            TEST_PRINT("%s %s, %g degrees, mu %g, spin %g: certificate %.1e, gain %.1e", friction,
                       shape, angle[i % 4], mu, spin[i / 12], o.certificate, o.gain);
        }
        worst.certificate = fmax(worst.certificate, o.certificate);
        worst.gain = fmax(worst.gain, o.gain);
        worst.sideways = fmax(worst.sideways, o.sideways);
        worst.touching += o.touching;
        paradoxes += paradox ? 1 : 0;
        ++runs;
        CHECK(o.touching > 0);
        scene_sim_close(&s);
    }
    TEST_PRINT(
        "%s: %d runs, %d begin in the paradox, %d steps in contact: certificate %.1e, energy "
        "gain %.1e, sideways %.1e m",
        shape, runs, paradoxes, worst.touching, worst.certificate, worst.gain, worst.sideways);
    CHECK(paradoxes >= 6);
    CHECK_AT_MOST(worst.certificate, 1e-8);
    CHECK_AT_MOST(worst.gain,
                  1e-4); /* of one step: what stops sliding begins to roll (notation.md) */
}

TEST(a_capsule_under_the_round_cone_is_solved_and_gains_no_energy)
{
    check_rods("'cone':'quadratic'", "capsule");
}

TEST(a_capsule_under_the_polygon_is_solved_and_gains_no_energy)
{
    check_rods("'cone':'polygon','directions':8", "capsule");
}

TEST(a_box_under_the_round_cone_is_solved_and_gains_no_energy)
{
    check_rods("'cone':'quadratic'", "box");
}

TEST(a_box_under_the_polygon_is_solved_and_gains_no_energy)
{
    check_rods("'cone':'polygon','directions':8", "box");
}
