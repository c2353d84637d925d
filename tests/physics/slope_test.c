/* A block on a slope: exact stick below the friction angle, Coulomb's acceleration above it. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const double g = 9.81;

/* A flat block on a plane inclined by `tilt`, steepest descent towards azimuth phi. The block's
 * own heading is turned as well, so that nothing lines up by chance. */
static scene_sim slope(double tilt, double phi, double heading, double mu, int n, double duration)
{
    const double ax = -sin(phi), ay = cos(phi); /* turning z towards the descent */
    const double half = 0.05;
    const double nx = sin(tilt) * cos(phi), ny = sin(tilt) * sin(phi), nz = cos(tilt);
    /* orientation: tilt * heading */
    const double c = cos(tilt / 2), s = sin(tilt / 2);
    const double ch = cos(heading / 2), sh = sin(heading / 2);
    const double w = c * ch, x = s * ax * ch + s * ay * sh, y = s * ay * ch - s * ax * sh,
                 z = c * sh;
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':%.17g,"
        "'friction':{'cone':'polygon','directions':%d,'default':%.17g},"
        "'bodies':[{'name':'slope','type':'static','shapes':[{'type':'plane',"
        "'normal':[%.17g,%.17g,%.17g],'offset':0}]},"
        "{'name':'block','type':'dynamic','density':500,'position':[%.17g,%.17g,%.17g],"
        "'orientation':[%.17g,%.17g,%.17g,%.17g],"
        "'shapes':[{'type':'box','size':[0.4,0.3,0.1]}]}]}",
        duration, n, mu, nx, ny, nz, half * nx, half * ny, half * nz, w, x, y, z);
}

TEST(a_block_below_the_friction_angle_never_moves)
{
    const int directions[] = {4, 8, 13, 32};
    const double mu = 0.5;
    double worst = 0.0;
    for (size_t d = 0; d < sizeof directions / sizeof directions[0]; ++d) {
        const int n = directions[d];
        for (int k = 0; k < 7; ++k) {
            const double phi = 0.1 + 0.9 * k;
            const double tilt = atan(mu * cos(M_PI / n) * 0.9999);
            scene_sim s = slope(tilt, phi, 0.4 * k, mu, n, 10.0);
            REQUIRE(s.sim != NULL);
            const perp_body_state a = scene_sim_body(&s, "block");
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            const perp_body_state b = scene_sim_body(&s, "block");
            for (int i = 0; i < 3; ++i) {
                const double moved = fabs(b.position[i] - a.position[i]);
                worst = !(moved <= worst) ? moved : worst;
            }
            scene_sim_close(&s);
        }
    }
    TEST_PRINT("largest displacement after 10 s: %.3g m", worst);
    CHECK_AT_MOST(worst, 1e-9);
}

/* Mean acceleration down the slope over one second. */
static double slide(double tilt, double phi, double heading, double mu, int n, double* certificate)
{
    scene_sim s = slope(tilt, phi, heading, mu, n, 1.0);
    if (s.sim == NULL) {
        return NAN;
    }
    *certificate = scene_sim_run(&s);
    const perp_body_state b = scene_sim_body(&s, "block");
    scene_sim_close(&s);
    return b.velocity[0] * cos(tilt) * cos(phi) + b.velocity[1] * cos(tilt) * sin(phi) -
           b.velocity[2] * sin(tilt);
}

TEST(a_block_slides_at_coulombs_rate_when_a_direction_points_down_the_slope)
{
    const double mu = 0.3, tilt = 0.5;
    const double exact = g * (sin(tilt) - mu * cos(tilt));
    double certificate;
    /* the first direction is the world x axis projected into the slope: azimuth 0 lines up */
    for (int n = 4; n <= 16; n *= 2) {
        const double a = slide(tilt, 0.0, 0.3, mu, n, &certificate);
        TEST_PRINT("n = %d: a - exact = %.3g", n, a - exact);
        CHECK_NEAR(a, exact, 1e-9);
        CHECK_AT_MOST(certificate, 1e-8);
    }
}

TEST(a_block_slides_within_the_polygons_error_at_any_azimuth)
{
    const double mu = 0.3, tilt = 0.5;
    const double exact = g * (sin(tilt) - mu * cos(tilt));
    const int directions[] = {4, 8, 16, 32};
    double certificate;
    for (size_t d = 0; d < sizeof directions / sizeof directions[0]; ++d) {
        const int n = directions[d];
        const double bound = mu * g * cos(tilt) * (1.0 - cos(M_PI / n));
        double worst = 0.0;
        for (int k = 0; k < 9; ++k) {
            const double phi = 0.05 + 0.7 * k;
            const double a = slide(tilt, phi, 0.2 * k, mu, n, &certificate);
            const double error = fabs(a - exact);
            worst = !(error <= worst) ? error : worst;
        }
        TEST_PRINT("n = %2d: largest error %.3g, bound %.3g", n, worst, bound);
        CHECK_AT_MOST(worst, bound * (1.0 + 1e-9) + 1e-9);
    }
}
