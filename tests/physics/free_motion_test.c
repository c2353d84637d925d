/* Free flight: what must be conserved, and at which order the scheme gets there. */
#include "perp_test.h"
#include "support/scene_sim.h"

typedef struct drift {
    double energy, momentum; /* relative */
} drift;

static drift tumble(double h, double spin)
{
    scene_sim s = scene_sim_open("{'step':%.17g,'duration':10,'bodies':[{'name':'b','mass':2,"
                                 "'inertia':[1,2,2.5],'velocity':[0.3,-0.2,0.1],"
                                 "'angular_velocity':[%.17g,%.17g,%.17g],"
                                 "'shapes':[{'type':'box','size':[1,0.6,0.3]}]}]}",
                                 h, 1e-3 * spin, spin, 1e-3 * spin);
    drift d = {NAN, NAN};
    if (s.sim == NULL) {
        return d;
    }
    const double E0 = perp_sim_energy(s.sim).total;
    double P[3], L0[3], L1[3];
    perp_sim_momentum(s.sim, P, L0);
    if (!isfinite(scene_sim_run(&s))) {
        scene_sim_close(&s);
        return d;
    }
    perp_sim_momentum(s.sim, P, L1);
    const double scale = sqrt(L0[0] * L0[0] + L0[1] * L0[1] + L0[2] * L0[2]);
    d.energy = fabs(perp_sim_energy(s.sim).total - E0) / E0;
    d.momentum = sqrt(pow(L1[0] - L0[0], 2) + pow(L1[1] - L0[1], 2) + pow(L1[2] - L0[2], 2)) /
                 (scale > 0.0 ? scale : 1.0);
    scene_sim_close(&s);
    return d;
}

TEST(a_body_tumbling_about_its_middle_axis_keeps_its_momentum_and_loses_energy_at_first_order)
{
    /* The scheme is first order: over a fixed time, halving h halves the error of the energy. The
     * angular momentum is kept by construction: what is left is rounding. */
    const double steps[] = {0.002, 0.001, 0.0005, 0.00025};
    drift d[4];
    for (int i = 0; i < 4; ++i) {
        d[i] = tumble(steps[i], 1.0);
        TEST_PRINT("h = %-8g energy error %.3e, angular momentum error %.3e", steps[i], d[i].energy,
                   d[i].momentum);
    }
    for (int i = 1; i < 4; ++i) {
        const double energy = log2(d[i - 1].energy / d[i].energy);
        TEST_PRINT("observed order: energy %.3f", energy);
        CHECK_NEAR(energy, 1.0, 0.05);
        CHECK_AT_MOST(d[i].momentum, 1e-11);
    }
}

TEST(a_fast_tumbling_body_never_gains_energy)
{
    /* up to ten radians a step: no step size may let a free body explode */
    const double spins[] = {10.0, 30.0, 100.0, 1000.0};
    for (int i = 0; i < 4; ++i) {
        scene_sim s =
            scene_sim_open("{'step':0.01,'duration':10,'bodies':[{'name':'b','density':1000,"
                           "'angular_velocity':[%.17g,%.17g,%.17g],"
                           "'shapes':[{'type':'box','size':[0.1,0.2,0.4]}]}]}",
                           1e-3 * spins[i], spins[i], 1e-3 * spins[i]);
        REQUIRE(s.sim != NULL);
        double P[3], L0[3], L1[3];
        const double E0 = perp_sim_energy(s.sim).total;
        perp_sim_momentum(s.sim, P, L0);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        perp_sim_momentum(s.sim, P, L1);
        const double E = perp_sim_energy(s.sim).total / E0;
        TEST_PRINT("%4g rad/s: E/E0 = %.6f", spins[i], E);
        CHECK_AT_MOST(E, 1.0 + 1e-9);
        CHECK_AT_LEAST(E, 0.85 - 1e-9); /* turning about the axis of largest inertia */
        CHECK_NEAR(L1[1] / L0[1], 1.0, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(without_rotation_nothing_is_lost)
{
    const drift d = tumble(0.01, 0.0);
    CHECK_AT_MOST(d.energy, 1e-14);
    CHECK_AT_MOST(d.momentum, 1e-13);
}

TEST(a_thrown_particle_follows_the_exact_recursion_of_the_scheme)
{
    scene_sim s = scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':1,"
                                 "'bodies':[{'name':'p','mass':3,'velocity':[1,2,3],"
                                 "'shapes':[{'type':'particle'}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
    const perp_body_state b = scene_sim_body(&s, "p");
    /* v_k = v_0 - g k h; z = sum h v_k = v_0 T - g h^2 n (n + 1) / 2 */
    CHECK_NEAR(b.velocity[2], 3 - 9.81, 1e-12);
    CHECK_NEAR(b.position[0], 1.0, 1e-12);
    CHECK_NEAR(b.position[1], 2.0, 1e-12);
    CHECK_NEAR(b.position[2], 3.0 - 9.81 * 1e-4 * 100 * 101 / 2, 1e-12);
    scene_sim_close(&s);
}

TEST(a_constant_spin_about_a_principal_axis_is_exact)
{
    scene_sim s = scene_sim_open("{'step':0.05,'duration':2,'bodies':[{'name':'b',"
                                 "'mass':1,'inertia':[1,2,2.5],'angular_velocity':[0,0,3]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
    const perp_body_state b = scene_sim_body(&s, "b");
    CHECK_NEAR(fabs(b.orientation[0]), fabs(cos(3.0)), 1e-12);
    CHECK_NEAR(fabs(b.orientation[3]), fabs(sin(3.0)), 1e-12);
    scene_sim_close(&s);
}

TEST(a_constant_wrench_in_the_body_frame_turns_with_the_body)
{
    /* planar: torque 2 on inertia 0.5 gives 4 rad/s^2; the body-frame force then turns along */
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.001,'duration':1,'bodies':[{'name':'b','mass':1,"
                       "'inertia':0.5}],'forces':[{'type':'wrench','body':'b','force':[1,0],"
                       "'torque':2,'frame':'body'},{'type':'wrench','body':'b',"
                       "'force':['sin(t)',0]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
    const perp_body_state b = scene_sim_body(&s, "b");
    CHECK_NEAR(b.angular_velocity[2], 4.0, 1e-9);
    /* x' = integral cos(2 t^2) + sin(t), y' = integral sin(2 t^2): Simpson in the test */
    double x = 0.0, y = 0.0;
    const int n = 2000;
    for (int i = 0; i <= n; ++i) {
        const double t = (double)i / n, w = i == 0 || i == n ? 1 : i % 2 ? 4 : 2;
        x += w * (cos(2 * t * t) + sin(t)) / (3.0 * n);
        y += w * sin(2 * t * t) / (3.0 * n);
    }
    CHECK_NEAR(b.velocity[0], x, 2e-3); /* first order in h */
    CHECK_NEAR(b.velocity[1], y, 2e-3);
    scene_sim_close(&s);
}

TEST(a_body_that_its_support_leaves_behind_gains_no_energy_of_rotation)
{
    /* The support rises at 0.5 m/s at the start of the step, and by 0.4 m/s over it; the body's point
     * above it rises at 0.45 m/s, and its spin changes that. The spin of a body that a contact acts on
     * is not damped, and of one that turns out to be free it must be. */
    double most = 0.0;
    int free = 0;
    for (int i = 0; i < 200; ++i) {
        const double z = 2.0 * (i + 0.5) / 200.0 - 1.0, angle = 2.399963 * i; /* a spiral */
        const double r = 40.0 * sqrt(1.0 - z * z);
        const double wx = r * cos(angle), wy = r * sin(angle);
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.01,'duration':0.01,'bodies':[{'name':'b','mass':1,"
            "'inertia':[0.02,0.03,0.045],'position':[0,0,0.1],'velocity':[0,0,%.17g],"
            "'angular_velocity':[%.17g,%.17g,%.17g],"
            "'shapes':[{'type':'sphere','radius':0.1,'position':[0.1,0.05,0]}]},"
            "{'name':'support','type':'kinematic','shapes':[{'type':'plane','normal':[0,0,1]}],"
            "'motion':{'position':[0,0,'0.5*t-10*t*t']}}]}",
            0.55 - (0.05 * wx - 0.1 * wy), wx, wy, 40.0 * z);
        REQUIRE(s.sim != NULL);
        const double v0 = scene_sim_body(&s, "b").velocity[2];
        const double E0 = perp_sim_energy(s.sim).kinetic - 0.5 * v0 * v0;
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const double v1 = scene_sim_body(&s, "b").velocity[2];
        const double gain = (perp_sim_energy(s.sim).kinetic - 0.5 * v1 * v1) / E0 - 1.0;
        if (fabs(v1 - v0 + 0.0981) <= 1e-12) { /* no contact acted */
            free += 1;
            most = !(gain <= most) ? gain : most;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d of 200 bodies were free, the largest gain is %.2g of their energy", free, most);
    CHECK_AT_LEAST(free, 50);
    CHECK_AT_MOST(most, 1e-6);
}
