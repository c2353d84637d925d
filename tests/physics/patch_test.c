/* Patches: beds of springs against volume and area laws, and an ODE integrated here. */
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static double total(const scene_sim* s, int axis)
{
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s->sim, &count);
    double sum = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        sum += c[i].impulse[axis];
    }
    return sum;
}

/* The force on a body held for an instant at a given depth: h so short that it does not move. */
static double force_of(bool planar, const char* body, double spacing, double stiffness)
{
    const double h = 1e-7;
    scene_sim s = scene_sim_open(
        "{'dimension':%d,'gravity':%s,'step':%g,'duration':%g,'stepper':'compliant',"
        "'friction':{'cone':'none'},'bodies':[{'name':'ground','type':'static',"
        "'compliance':{'stiffness':%.17g,'patch':{'spacing':%.17g}},'shapes':[%s]},%s]}",
        planar ? 2 : 3, planar ? "[0,0]" : "[0,0,0]", h, h, stiffness, spacing,
        planar ? "{'type':'halfplane','normal':[0,1]}" : "{'type':'plane','normal':[0,0,1]}", body);
    double force = NAN;
    if (s.sim != NULL && scene_sim_run(&s) <= 1e-8) {
        force = total(&s, 0) / h;
    } else {
        TEST_PRINT("%s", s.error);
    }
    scene_sim_close(&s);
    return force;
}

/* Pressure is stiffness times depth: the force is stiffness times the volume of the overlap. */
TEST(the_force_of_a_patch_is_the_stiffness_times_the_overlap)
{
    const double k = 2e6, r = 0.1, d = 0.004;
    const double cap = M_PI * d * d * (3.0 * r - d) / 3.0;
    const double segment = r * r * acos((r - d) / r) - (r - d) * sqrt(r * r - (r - d) * (r - d));
    const struct {
        const char* name;
        bool planar;
        const char* body;
        double overlap, spacing;
    } cases[] = {
        {"sphere", false,
         "{'name':'b','mass':1,'inertia':[1,1,1],'position':[0.0137,-0.0071,0.096],"
         "'shapes':[{'type':'sphere','radius':0.1}]}",
         cap, 0.004},
        {"box", false,
         "{'name':'b','mass':1,'inertia':[1,1,1],'position':[0,0,0.046],'shapes':["
         "{'type':'box','size':[0.2,0.12,0.1]}]}",
         0.2 * 0.12 * d, 0.01},
        {"upright cylinder", false,
         "{'name':'b','mass':1,'inertia':[1,1,1],'position':[0,0,0.046],'shapes':["
         "{'type':'cylinder','radius':0.1,'length':0.1}]}",
         M_PI * r * r * d, 0.01},
        {"lying cylinder", false,
         "{'name':'b','mass':1,'inertia':[1,1,1],'position':[0,0,0.096],'axis_angle':"
         "[1,0,0,1.5707963267948966],'shapes':[{'type':'cylinder','radius':0.1,'length':"
         "0.2}]}",
         0.2 * segment, 0.005},
        {"circle", true,
         "{'name':'b','mass':1,'inertia':1,'position':[0.0123,0.096],'shapes':[{"
         "'type':"
         "'circle','radius':0.1}]}",
         segment, 0.001},
        {"tilted box", true,
         "{'name':'b','mass':1,'inertia':1,'position':[0,0.137421356],'angle':"
         "0.78539816339744831,'shapes':[{'type':'box','size':[0.2,0.2]}]}",
         0.004 * 0.004, 0.0002},
        {"polygon", true,
         "{'name':'b','mass':1,'inertia':1,'position':[0,-0.004],'shapes':[{'type':"
         "'polygon','vertices':[[0,0],[0.2,0.1],[-0.2,0.1]]}]}",
         0.5 * 0.004 * 0.016, 0.0005},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const double exact = k * cases[i].overlap;
        const double coarse =
            fabs(force_of(cases[i].planar, cases[i].body, cases[i].spacing, k) / exact - 1.0);
        const double fine =
            fabs(force_of(cases[i].planar, cases[i].body, cases[i].spacing / 2.0, k) / exact - 1.0);
        TEST_PRINT("%-16s %.2e off the law; at half the spacing %.2e", cases[i].name, coarse, fine);
        CHECK_AT_MOST(coarse, 0.01);
        CHECK_AT_MOST(fine, 0.01);
    }
}

enum { SPRINGS = 400 };

typedef struct bed {
    double x[SPRINGS]; /* places of the springs */
    double k, c, r, m, g;
} bed;

/* Springs push, never pull: the paper's law with the cut of each spring for itself. */
static double acceleration(const bed* b, double y, double v)
{
    double force = -b->m * b->g;
    for (int i = 0; i < SPRINGS; ++i) {
        const double inside = b->r * b->r - b->x[i] * b->x[i];
        const double depth = inside > 0.0 ? sqrt(inside) - y : -1.0;
        const double push = depth > 0.0 ? b->k * depth - b->c * v : 0.0;
        force += push > 0.0 ? push : 0.0;
    }
    return force / b->m;
}

static void integrate(const bed* b, double* y, double* v, double time, int steps)
{
    const double h = time / steps;
    for (int i = 0; i < steps; ++i) { /* Runge and Kutta, fourth order */
        const double a1 = acceleration(b, *y, *v);
        const double v2 = *v + 0.5 * h * a1, a2 = acceleration(b, *y + 0.5 * h * *v, v2);
        const double v3 = *v + 0.5 * h * a2, a3 = acceleration(b, *y + 0.5 * h * v2, v3);
        const double v4 = *v + h * a3, a4 = acceleration(b, *y + h * v3, v4);
        *y += h / 6.0 * (*v + 2.0 * v2 + 2.0 * v3 + v4);
        *v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
}

static scene_sim dropped_disc(const char* stepper, double h, double duration)
{
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':%.17g,'stepper':%s,"
        "'friction':{'cone':'none'},'tolerance':1e-11,"
        "'bodies':[{'name':'ground','type':'static','compliance':{'stiffness':5e4,"
        "'damping':100,'patch':{'spacing':0.005}},'shapes':[{'type':'halfplane',"
        "'normal':"
        "[0,1]}]},{'name':'disc','mass':2,'inertia':1,'position':[0,0.31],'shapes':["
        "{'type':'circle','radius':0.3}]}]}",
        h, duration, stepper);
}

TEST(a_damped_bounce_converges_to_the_motion_of_the_bed_of_springs)
{
    bed b = {.k = 5e4 * 0.005, .c = 100.0 * 0.005, .r = 0.3, .m = 2.0, .g = 9.81};
    for (int i = 0; i < SPRINGS; ++i) {
        b.x[i] = (i - SPRINGS / 2 + 0.5) * 0.005;
    }
    const double t = 0.25;
    double y = 0.31, v = 0.0, lowest = y;
    for (int i = 0; i < 250; ++i) {
        integrate(&b, &y, &v, t / 250, 40);
        lowest = y < lowest ? y : lowest;
    }
    CHECK(0.3 - lowest > 0.01 && y > lowest + 0.005); /* it has been down and is on its way */
    static const char* const stepper[] = {"'compliant'", "{'type':'compliant','midpoint':true}"};
    for (int j = 0; j < 2; ++j) {
        double error[3];
        for (int i = 0; i < 3; ++i) {
            scene_sim s = dropped_disc(stepper[j], 5e-4 / (1 << i), t);
            REQUIRE(s.sim != NULL);
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            error[i] = fabs(scene_sim_body(&s, "disc").position[1] - y);
            scene_sim_close(&s);
        }
        TEST_PRINT("%s: pressed in by %.4f, now %.4f: errors %.1e %.1e %.1e, order %.2f",
                   j == 0 ? "Euler" : "midpoint", 0.3 - lowest, y, error[0], error[1], error[2],
                   log2(error[1] / error[2]));
        CHECK_AT_MOST(error[2], j == 0 ? 5e-4 : 5e-6);
        if (j == 0) {
            CHECK_NEAR(log2(error[1] / error[2]), 1.0, 0.15);
        }
    }
}

TEST(a_body_comes_to_rest_where_the_overlap_carries_its_weight)
{
    scene_sim s = dropped_disc("'compliant'", 2e-3, 4.0);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const double d = 0.3 - scene_sim_body(&s, "disc").position[1], r = 0.3;
    const double segment = r * r * acos((r - d) / r) - (r - d) * sqrt(r * r - (r - d) * (r - d));
    TEST_PRINT("depth %.5f: %.5f N for a weight of %.5f N", d, 5e4 * segment, 2.0 * 9.81);
    CHECK_NEAR(5e4 * segment / (2.0 * 9.81), 1.0, 0.01);
    CHECK_NEAR(total(&s, 0) / 2e-3, 2.0 * 9.81, 1e-6);
    CHECK_AT_MOST(fabs(scene_sim_body(&s, "disc").velocity[1]), 1e-6);
    scene_sim_close(&s);
}

/* A block pulled by less than the cone holds: all bristles bend alike. */
TEST(bristles_hold_a_block_that_is_pulled)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':0.002,'duration':2,'stepper':"
        "'compliant',"
        "'friction':{'default':0.5},'tolerance':1e-11,'bodies':[{'name':"
        "'ground','type':'static','compliance':{'stiffness':[[40000,0],[0,10000]],"
        "'damping':"
        "400,'patch':{'spacing':0.02}},'shapes':[{'type':'halfplane','normal':[0,1]}]},"
        "{'name':'block','mass':2,'inertia':0.03,'position':[0,0.05],'shapes':[{"
        "'type':'box',"
        "'size':[0.4,0.1]}]}],'forces':[{'type':'wrench','body':'block','force':[2,0]"
        "}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "block");
    /* bending forces act 0.05 under the centre: the block leans a little, which the springs carry */
    CHECK_NEAR(0.05 - b.position[1], 2.0 * 9.81 / (40000.0 * 0.4), 1e-6);
    CHECK_NEAR(b.position[0] + 0.05 * b.angle, 2.0 / (10000.0 * 0.4), 2e-5);
    CHECK_NEAR(total(&s, 1) / 0.002, -2.0, 1e-6);
    CHECK_AT_MOST(fabs(b.velocity[0]), 1e-7);
    scene_sim_close(&s);
}

TEST(a_patch_that_bodies_fall_through_is_refused)
{
    scene_sim s =
        scene_sim_open("{'stepper':'compliant','bodies':[{'name':'ground','type':'static',"
                       "'compliance':"
                       "{'stiffness':1,'patch':{'spacing':0.2}},'shapes':[{'type':'plane','normal':"
                       "[0,0,1]}]},{'name':'b','mass':1,'position':[0,0,0.3],'shapes':["
                       "{'type':'box','size':[0.5,0.3,0.5]}]}]}");
    CHECK(s.sim == NULL);
    CHECK_CONTAINS(s.error, "/bodies/0/compliance/patch/spacing: must be at most 0.15, half of the "
                            "least width of 'b'");
    scene_sim_close(&s);
}

TEST(a_patch_of_too_many_springs_is_refused)
{
    scene_sim s = scene_sim_open(
        "{'stepper':'compliant','bodies':[{'name':'ground','type':'static',"
        "'compliance':"
        "{'stiffness':1,'patch':{'spacing':1e-6}},'shapes':[{'type':'plane','normal':"
        "[0,0,1]}]},{'name':'b','mass':1,'inertia':[1,1,1],'position':[0,0,0.05],"
        "'shapes':["
        "{'type':'box','size':[0.1,0.1,0.1]}]}]}");
    CHECK(s.sim == NULL);
    CHECK_CONTAINS(s.error,
                   "/bodies/0/compliance/patch/spacing: 1e-06 makes 1e+05 springs along one side");
    scene_sim_close(&s);
}
