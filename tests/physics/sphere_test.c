/* [T03] section 4: the sphere that slides, then rolls. */
#include "perp_test.h"
#include "support/scene_sim.h"

TEST(the_sphere_of_t03_follows_the_exact_discrete_solution)
{
    scene_sim s = scene_sim_load("scenes/t03-sphere.json");
    REQUIRE(s.sim != NULL);
    const double mu = 0.2, g = 9.81, h = 0.12;
    double v = 2.0, w = 0.0; /* exact recursion: slide while v - w > 0, else roll */
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double need = (v - w) / 3.5; /* impulse that would stop the slip: W = 1 + 1/0.4 */
        const double p = need < mu * g * h ? need : mu * g * h;
        v -= p;
        w += p / 0.4;
        const perp_body_state b = scene_sim_body(&s, "ball");
        CHECK_NEAR(b.velocity[0], v, 1e-12);
        CHECK_NEAR(b.velocity[1], 0.0, 1e-12);
        CHECK_NEAR(b.velocity[2], 0.0, 1e-12);
        CHECK_NEAR(b.angular_velocity[1], w, 1e-12);
        CHECK_NEAR(b.position[2], 1.0, 1e-12);
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-12);
    }
    CHECK_NEAR(scene_sim_body(&s, "ball").velocity[0], 10.0 / 7.0, 1e-12);
    scene_sim_close(&s);
}
