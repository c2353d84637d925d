/* Polygons at the edge of what a step can follow: fast, deep, many. */
#include <time.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static unsigned long long state;
static double uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

/* Of this process: other programs do not count. */
static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* A bin, 3 m wide, with polygons of half a metre that spin so fast that a step turns them by 0.4 to
 * 1 rad. */
static scene_sim spin(unsigned seed, int count, double duration)
{
    char bodies[32768];
    state = 0x9E3779B97F4A7C15ULL * (seed + 1);
    size_t used = (size_t)snprintf(bodies, sizeof bodies,
                                   "{\"name\":\"floor\",\"type\":\"static\",\"position\":[0,-0.5],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[5,1]}]},"
                                   "{\"name\":\"left\",\"type\":\"static\",\"position\":[-2,4],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[1,10]}]},"
                                   "{\"name\":\"right\",\"type\":\"static\",\"position\":[2,4],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[1,10]}]}");
    for (int i = 0; i < count; ++i) {
        const int n = 3 + (int)uniform(0, 6);
        const double rx = uniform(0.15, 0.3), ry = uniform(0.15, 0.3);
        const double spin = (uniform(0, 1) < 0.5 ? -1.0 : 1.0) * uniform(40, 100);
        used += (size_t)snprintf(bodies + used, sizeof bodies - used,
                                 ",{\"name\":\"p%d\",\"density\":1,\"position\":[%.17g,%.17g],"
                                 "\"velocity\":[%.17g,%.17g],\"angular_velocity\":%.17g,"
                                 "\"shapes\":[{\"type\":\"polygon\",\"vertices\":[",
                                 i, -1.14 + 0.76 * (i % 4), 0.4 + 0.76 * (i / 4), uniform(-3, 3),
                                 uniform(-3, 3), spin);
        for (int k = 0; k < n; ++k) {
            const double angle = 2 * M_PI * (k + uniform(0, 0.7)) / n;
            used += (size_t)snprintf(bodies + used, sizeof bodies - used, "%s[%.17g,%.17g]",
                                     k > 0 ? "," : "", rx * cos(angle), ry * sin(angle));
        }
        used += (size_t)snprintf(bodies + used, sizeof bodies - used, "]}]}");
    }
    return scene_sim_open("{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":0.01,\"duration\":%g,"
                          "\"contact\":\"peg\",\"friction\":{\"default\":0.3},\"bodies\":[%s]}",
                          duration, bodies);
}

/* One step took 20 to 50 s when the methods for general complementarity problems had their turn with
 * no end in sight; switching refused the groups of a pair that had fallen back. */
TEST(no_step_of_polygons_that_spin_takes_long)
{
    double slowest = 0.0, worst = 0.0;
    int fallbacks = 0;
    for (unsigned seed = 0; seed < 4; ++seed) {
        scene_sim s = spin(seed, 20, 2.0);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            const double begin = cpu_seconds();
            REQUIRE_OK(perp_sim_step(s.sim));
            slowest = fmax(slowest, cpu_seconds() - begin);
            const perp_step_info info = perp_sim_step_info(s.sim);
            worst = fmax(worst, info.certificate.worst);
            fallbacks += info.fallbacks;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("800 steps: slowest %.3g s, certificate %.1e, %d fallbacks", slowest, worst,
               fallbacks);
    CHECK_AT_MOST(worst, 1e-8);
    CHECK_AT_MOST(slowest, 1.0);
    CHECK_AT_MOST(fallbacks, 12);
}
