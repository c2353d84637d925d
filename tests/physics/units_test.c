/* The same scene in metres and kilograms, and in millimetres and grams. */
#include "perp_test.h"
#include "support/scene_sim.h"

/* L: length units per metre, M: mass units per kilogram. Box and ball do not wedge each other: such
 * a step has several solutions, and rounding may choose. */
static scene_sim scene(double L, double M)
{
    return scene_sim_open(
        "{'gravity':[0,0,%.17g],'step':0.005,'duration':1,'friction':{'default':0.4},"
        "'bodies':[{'name':'floor','type':'static','shapes':[{'type':'plane',"
        "'normal':[0,0,1]}]},"
        "{'name':'wall','type':'static','position':[%.17g,0,0],'shapes':["
        "{'type':'box','size':[%.17g,%.17g,%.17g]}]},"
        "{'name':'box','mass':%.17g,'position':[0,0,%.17g],'velocity':[%.17g,%.17g,0],"
        "'angular_velocity':[0,0,1],'shapes':[{'type':'box',"
        "'size':[%.17g,%.17g,%.17g]}]},"
        "{'name':'ball','mass':%.17g,'position':[%.17g,%.17g,%.17g],'velocity':[0,0,%."
        "17g],"
        "'shapes':[{'type':'sphere','radius':%.17g}]}]}",
        -9.81 * L, 0.9 * L, 0.1 * L, 2 * L, 1 * L, 0.5 * M, 0.06 * L, 1.5 * L, 0.3 * L, 0.3 * L,
        0.2 * L, 0.1 * L, 0.2 * M, 0.5 * L, 0.6 * L, 0.3 * L, -1.0 * L, 0.1 * L);
}

TEST(millimetres_and_grams_move_like_metres_and_kilograms)
{
    scene_sim a = scene(1.0, 1.0), b = scene(1000.0, 1000.0), c = scene(1e-3, 1e3);
    REQUIRE(a.sim != NULL && b.sim != NULL && c.sim != NULL);
    double worst = 0.0;
    while (!perp_sim_finished(a.sim)) {
        REQUIRE_OK(perp_sim_step(a.sim));
        REQUIRE_OK(perp_sim_step(b.sim));
        REQUIRE_OK(perp_sim_step(c.sim));
        const char* const names[] = {"box", "ball"};
        for (int k = 0; k < 2; ++k) {
            const perp_body_state x = scene_sim_body(&a, names[k]),
                                  y = scene_sim_body(&b, names[k]),
                                  z = scene_sim_body(&c, names[k]);
            for (int i = 0; i < 3; ++i) {
                const double d[] = {
                    y.position[i] / 1000 - x.position[i], y.velocity[i] / 1000 - x.velocity[i],
                    y.angular_velocity[i] - x.angular_velocity[i],
                    z.position[i] * 1000 - x.position[i], z.velocity[i] * 1000 - x.velocity[i]};
                for (int j = 0; j < 5; ++j) {
                    worst = !(fabs(d[j]) <= worst) ? fabs(d[j]) : worst;
                }
            }
        }
    }
    TEST_PRINT("largest difference: %.3g", worst);
    CHECK_AT_MOST(worst, 1e-9);
    scene_sim_close(&a);
    scene_sim_close(&b);
    scene_sim_close(&c);
}
