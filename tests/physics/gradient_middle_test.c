/* Derivatives of middle steps (joint_direction middle, and auto where it chooses them), against
 * differences of whole runs. */
#include <stdlib.h>
#include <string.h>

#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

enum { MOST = 8, TEXT = 1 << 15 };

typedef struct compared {
    perp_status status;
    int64_t flagged;
    double
        off; /* largest difference from central differences, relative to the largest derivative */
    double part; /* of forward from adjoint, and from adjoint with checkpoints */
    double noise;
    char error[1024];
} compared;

static double larger(double a, double b)
{
    return a >= b ? a : b; /* keeps a NaN in b */
}

/* The gradient by one way. */
static perp_status slopes_of(perp_context* context, perp_scene* scene, perp_gradient_def def,
                             perp_gradient_mode mode, bool checkpoints, double* by,
                             int64_t* flagged)
{
    perp_gradient* g = NULL;
    def.mode = mode;
    def.checkpoints = checkpoints;
    const perp_status status = perp_gradient_create(context, scene, &def, &g);
    for (int32_t i = 0; status == PERP_OK && i < def.parameter_count; ++i) {
        by[i] = perp_gradient_of(g, i);
    }
    *flagged = status == PERP_OK ? perp_gradient_flags_of(g).flagged : -1;
    perp_gradient_destroy(g);
    return status;
}

static compared compare(const char* text, const char* const* by)
{
    compared c = {.status = PERP_ERROR_MEMORY};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    double adjoint[MOST], other[2][MOST], difference[MOST], spread[MOST], size = 0.0;
    int64_t flagged;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return c;
    }
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "q";
    def.parameter = by;
    while (by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    c.status = scene_parse(context, text, "middle", &scene);
    if (c.status == PERP_OK) {
        c.status =
            slopes_of(context, scene, def, PERP_GRADIENT_ADJOINT, false, adjoint, &c.flagged);
    }
    if (c.status == PERP_OK) {
        c.status = slopes_of(context, scene, def, PERP_GRADIENT_FORWARD, false, other[0], &flagged);
    }
    if (c.status == PERP_OK) {
        c.status = slopes_of(context, scene, def, PERP_GRADIENT_ADJOINT, true, other[1], &flagged);
    }
    if (c.status == PERP_OK) {
        c.status = perp_gradient_difference(context, scene, &def, difference, spread);
    }
    for (int32_t i = 0; c.status == PERP_OK && i < def.parameter_count; ++i) {
        size = larger(size, fabs(adjoint[i]));
    }
    for (int32_t i = 0; c.status == PERP_OK && i < def.parameter_count; ++i) {
        c.off = larger(c.off, fabs(adjoint[i] - difference[i]) / size);
        c.noise = larger(c.noise, spread[i] * fabs(difference[i]) / size);
        c.part = larger(c.part, fabs(adjoint[i] - other[0][i]) / size);
        c.part = larger(c.part, fabs(adjoint[i] - other[1][i]) / size);
    }
    (void)snprintf(c.error, sizeof c.error, "%s", perp_context_error(context));
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return c;
}

/* Whether all steps but `most` are middle steps. */
static bool has_middle_steps(const char* text, int most)
{
    scene_sim s = scene_sim_open("%s", text);
    bool good = s.sim != NULL;
    int others = 0;
    while (good && !perp_sim_finished(s.sim)) {
        good = perp_sim_step(s.sim) == PERP_OK;
        others += perp_sim_step_info(s.sim).corrections != -2;
    }
    if (!good) {
        TEST_PRINT("%s", s.sim != NULL ? perp_context_error(s.context) : s.error);
    }
    scene_sim_close(&s);
    return good && others <= most;
}

#define RUN "'step':0.01,'duration':0.2,'joint_direction':'%s',"

static const struct {
    const char *name, *direction, *text, *by[MOST];
} mechanism[] = {
    {"pendulum",
     "auto",
     "'dimension':2,'gravity':[0,-9.81],'parameters':{'m':1,'l':0.8,'w':1.5,'I':0.1},"
     "'bodies':[{'name':'b','mass':'m','inertia':'I','position':['l',0],'velocity':[0,'l*w'],"
     "'angular_velocity':'w'}],"
     "'joints':[{'name':'i','type':'revolute','a':'world','b':'b','at':[0,0]}],"
     "'measures':{'q':'b.position.x+2*b.position.y+0.1*b.velocity.x+0.3*b.angular_velocity'}",
     {"m", "l", "w", "I"}},
    {"double pendulum in space",
     "auto",
     "'gravity':[0,0,-9.81],'parameters':{'m':1,'l':0.5,'I':0.04,'w':1},'bodies':["
     "{'name':'a','mass':'m','inertia':['I',0.09,0.07],'position':[0.5,0,0],'velocity':[0,1,0],"
     "'angular_velocity':[0,0,2]},"
     "{'name':'b','mass':0.7,'inertia':[0.03,0.05,0.06],'position':['1+l',0,0],"
     "'velocity':[0,'2+0.8*l',0],'angular_velocity':['w',0,0.8]}],"
     "'joints':[{'name':'i','type':'spherical','a':'world','b':'a','at':[0,0,0]},"
     "{'name':'j','type':'spherical','a':'a','b':'b','at':[1,0,0]}],'measures':{'q':"
     "'b.position.x+2*b.position.y-b.position.z+0.1*b.velocity.x+0.2*b.angular_velocity.x'}",
     {"m", "l", "I", "w"}},
    {"corrected double pendulum",
     "auto",
     "'joint_correction':true,'gravity':[0,0,-9.81],'parameters':{'m':1,'l':0.5,'I':0.04,'w':1},'"
     "bodies':["
     "{'name':'a','mass':'m','inertia':['I',0.09,0.07],'position':[0.5,0,0],'velocity':[0,1,0],"
     "'angular_velocity':[0,0,2]},"
     "{'name':'b','mass':0.7,'inertia':[0.03,0.05,0.06],'position':['1+l',0,0],"
     "'velocity':[0,'2+0.8*l',0],'angular_velocity':['w',0,0.8]}],"
     "'joints':[{'name':'i','type':'spherical','a':'world','b':'a','at':[0,0,0]},"
     "{'name':'j','type':'spherical','a':'a','b':'b','at':[1,0,0]}],'measures':{'q':"
     "'b.position.x+2*b.position.y-b.position.z+0.1*b.velocity.x+0.2*b.angular_velocity.x'}",
     {"m", "l", "I", "w"}},
    {"slider on an arm",
     "auto",
     "'gravity':[0,0,-9.81],'parameters':{'m':1,'l':0.6,'I':0.04,'v':0.4},'bodies':["
     "{'name':'a','mass':'m','inertia':['I',0.09,0.07],'position':[0.2,0,0],"
     "'velocity':[0,0.3,0],'angular_velocity':[0,0,1.5]},"
     "{'name':'b','mass':0.5,'inertia':[0.01,0.02,0.025],'position':['l',0,0],"
     "'velocity':['v','1.5*l',0],'angular_velocity':[0,0,1.5]}],"
     "'joints':[{'name':'i','type':'universal','a':'world','b':'a','at':[0,0,0],'axis':[0,0,1]},"
     "{'name':'j','type':'prismatic','a':'a','b':'b','at':['l',0,0],'axis':[1,0,0]}],"
     "'measures':{'q':'b.position.x+2*b.position.y-b.position.z+0.2*a.angular_velocity.x'}",
     {"m", "l", "I", "v"}},
    /* the effort of a motor, one at its bound, damping, a rotor, drag */
    {"driven arm",
     "middle",
     "'gravity':[0,0,-9.81],'parameters':{'m':1,'l':0.5,'E':3,'d':0.4,'T':1.5,'r':0.01,'c':0.1},"
     "'forces':[{'type':'drag','body':'a','linear':'c','angular':0.02}],'bodies':["
     "{'name':'a','mass':'m','inertia':[0.02,0.09,0.08],'position':[0.5,0,0]},"
     "{'name':'b','mass':0.7,'inertia':[0.04,0.05,0.08],'position':['1+l',0,0]}],"
     "'joints':[{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0,0],'axis':[0,1,0],"
     "'damping':'d','armature':'r','motor':{'type':'effort','target':'E*cos(2*t)'}},"
     "{'name':'j','type':'revolute','a':'a','b':'b','at':[1,0,0],'axis':[0,1,0],'damping':0.2,"
     "'motor':{'type':'velocity','target':20,'max_effort':'T'}}],'measures':{'q':"
     "'b.position.x-2*b.position.z+0.1*b.velocity.x+0.2*b.angular_velocity.y'}",
     {"m", "l", "E", "d", "T", "r", "c"}},
    /* a motor that is not at its bound, dry friction, a force that turns with its body */
    {"turning arm",
     "middle",
     "'gravity':[0,0,-9.81],'parameters':{'m':1,'l':0.5,'I':0.06,'v':2,'f':0.02,'F':2},"
     "'bodies':[{'name':'a','mass':'m','inertia':[0.02,0.09,0.08],'position':[0.5,0,0],"
     "'velocity':[0,0,'-0.5*v'],'angular_velocity':[0,'v',0]},"
     "{'name':'b','mass':0.7,'inertia':['I',0.05,0.08],'position':['1+l',0,0],"
     "'velocity':[0,0.3,'-(1+l)*v'],'angular_velocity':[0,'v','0.3/l']}],"
     "'forces':[{'type':'wrench','body':'b','force':['F*cos(3*t)',0.3,0],'torque':[0.1,0,0.2],"
     "'frame':'body','at':[0.1,0.02,0]}],"
     "'joints':[{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0,0],'axis':[0,1,0],"
     "'motor':{'type':'velocity','target':'v*cos(3*t)','max_effort':100}},"
     "{'name':'j','type':'revolute','a':'a','b':'b','at':[1,0,0],'axis':[0,0,1],"
     "'friction':'f'}],'measures':{'q':"
     "'b.position.x-2*b.position.z+b.position.y+0.1*b.velocity.x+0.2*b.angular_velocity.y'}",
     {"m", "l", "I", "v", "f", "F"}},
};

TEST(middle_steps_have_the_derivative_of_their_runs)
{
    for (size_t i = 0; i < sizeof mechanism / sizeof mechanism[0]; ++i) {
        char text[4096];
        (void)snprintf(text, sizeof text, "{" RUN "%s}", mechanism[i].direction, mechanism[i].text);
        CHECK(has_middle_steps(text, 0));
        const compared c = compare(text, mechanism[i].by);
        TEST_PRINT("%s: off %.1e, noise %.1e, forward %.1e %s", mechanism[i].name, c.off, c.noise,
                   c.part, c.error);
        CHECK_EQ_INT(c.status, PERP_OK);
        CHECK_EQ_INT(c.flagged, 0);
        CHECK_AT_MOST(c.off, 1e-7);
        CHECK_AT_MOST(c.part, 1e-10);
    }
}

/* ---- random open mechanisms ----------------------------------------------------------------------*/

static double draw(uint32_t* seed, double least, double most)
{
    *seed = *seed * 1664525u + 1013904223u;
    return least + (most - least) * (double)(*seed >> 8) / 16777216.0;
}

/* A tree of bodies, on a fixed point or floating, with joints of all types. Bodies turn about their
 * joints as they please: the velocities contradict the joints, so the first step is a corrected one
 * with the directions of the start. */
static void write_tree(uint32_t seed, bool planar, char* text)
{
    static const char* const space[] = {"revolute", "spherical",   "universal", "prismatic",
                                        "fixed",    "cylindrical", "planar"};
    static const char* const flat[] = {"revolute", "prismatic", "fixed"};
    const int bodies = 2 + (int)draw(&seed, 0.0, 4.99);
    const bool floats = draw(&seed, 0.0, 1.0) < 0.3;
    int at = sprintf(text,
                     "{" RUN "'dimension':%d,'gravity':%s,'parameters':{'m':0.8,'l':0.4,'w':1.1,"
                     "'I':0.5},'bodies':[",
                     "auto", planar ? 2 : 3, planar ? "[0.3,-9.81]" : "[0.3,0,-9.81]");
    double place[6][3];
    int parent[6];
    for (int i = 0; i < bodies; ++i) {
        parent[i] = i == 0 ? -1 : (int)draw(&seed, 0.0, i - 0.01);
        for (int k = 0; k < 3; ++k) {
            const double from = parent[i] >= 0 ? place[parent[i]][k] : 0.0;
            place[i][k] =
                from + draw(&seed, 0.2, 0.6) * (draw(&seed, -1.0, 1.0) > 0.0 ? 1.0 : -1.0);
        }
        const char* mass = i == bodies - 1 ? "'m'" : "0.6";
        const char* rate = i == bodies / 2 ? "'w'" : "0.2";
        const double I = draw(&seed, 0.01, 0.05);
        at += planar ? sprintf(text + at,
                               "%s{'name':'b%d','mass':%s,'inertia':'%.3f*I','position':['%.3f*l',"
                               "%.3f],'velocity':[%.3f,%.3f],'angular_velocity':%s}",
                               i > 0 ? "," : "", i, mass, I, place[i][0], place[i][1],
                               draw(&seed, -1, 1), draw(&seed, -1, 1), rate)
                     : sprintf(text + at,
                               "%s{'name':'b%d','mass':%s,'inertia':['%.3f*I',%.3f,%.3f],"
                               "'position':['%.3f*l',%.3f,%.3f],'velocity':[%.3f,%.3f,%.3f],"
                               "'angular_velocity':[%.3f,%s,%.3f]}",
                               i > 0 ? "," : "", i, mass, 2.2 * I, I, 0.8 * I, place[i][0],
                               place[i][1], place[i][2], draw(&seed, -1, 1), draw(&seed, -1, 1),
                               draw(&seed, -1, 1), draw(&seed, -1, 1), rate, draw(&seed, -1, 1));
    }
    at += sprintf(text + at, "],'joints':[");
    for (int i = floats ? 1 : 0; i < bodies; ++i) {
        const char* type =
            planar ? flat[(int)draw(&seed, 0.0, 2.99)] : space[(int)draw(&seed, 0.0, 6.99)];
        const bool axis = strcmp(type, "spherical") != 0 && strcmp(type, "fixed") != 0 &&
                          !(planar && strcmp(type, "revolute") == 0);
        char a[16] = "world";
        if (parent[i] >= 0) {
            (void)snprintf(a, sizeof a, "b%d", parent[i]);
        }
        at += sprintf(text + at, "%s{'name':'j%d','type':'%s','a':'%s','b':'b%d','at':[",
                      i > (floats ? 1 : 0) ? "," : "", i, type, a, i);
        for (int k = 0; k < (planar ? 2 : 3); ++k) {
            const double from = parent[i] >= 0 ? place[parent[i]][k] : 0.0;
            at += sprintf(text + at, "%s%.3f", k > 0 ? "," : "", 0.5 * (from + place[i][k]));
        }
        at += sprintf(text + at, "]");
        if (axis) {
            at += planar ? sprintf(text + at, ",'axis':[%.3f,0.5]", draw(&seed, -1, 1))
                         : sprintf(text + at, ",'axis':[%.3f,%.3f,0.5]", draw(&seed, -1, 1),
                                   draw(&seed, -1, 1));
        }
        at += sprintf(text + at, "}");
    }
    const int last = bodies - 1;
    (void)sprintf(text + at,
                  "],'measures':{'q':'b%d.position.x+2*b%d.position.y+0.1*b%d.velocity.x+"
                  "0.2*b%d.angular_velocity%s'}}",
                  last, last, last, last, planar ? "" : ".z");
}

TEST(random_open_mechanisms_have_the_derivative_of_their_runs)
{
    static const char* const by[] = {"m", "l", "w", "I", NULL};
    enum { CASES = 12 };
    char* text = malloc(TEXT);
    double worst = 0.0, part = 0.0;
    int compared_count = 0;
    const uint32_t cases = perp_test_full() ? CASES : CASES / 2;
    for (uint32_t i = 0; i < cases; ++i) {
        write_tree(1000 + i, i % 3 == 0, text);
        CHECK(has_middle_steps(text, 1));
        const compared c = compare(text, by);
        if (c.status != PERP_OK || !(c.off <= 1e-6)) {
            TEST_PRINT("case %u: off %.1e, noise %.1e: %s", i, c.off, c.noise, c.error);
        }
        CHECK_EQ_INT(c.status, PERP_OK);
        if (c.flagged == 0 && c.noise <= 1e-7) {
            compared_count += 1;
            CHECK_AT_MOST(c.off, 1e-6);
            worst = larger(worst, c.off);
        }
        CHECK_AT_MOST(c.part, 1e-9);
        part = larger(part, c.part);
    }
    TEST_PRINT("%d of %u compared, off %.1e, forward and adjoint %.1e", compared_count, cases,
               worst, part);
    CHECK(2 * compared_count >= (int)cases);
    free(text);
}

/* Nothing of such a mechanism is smoothed, but a smoothed step is one of the start. */
TEST(middle_steps_have_no_smoothed_gradient)
{
    char text[4096];
    const char* const by[] = {"m"};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    (void)snprintf(text, sizeof text, "{" RUN "%s}", "auto", mechanism[0].text);
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(scene_parse(context, text, "middle", &scene));
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "q";
    def.parameter = by;
    def.parameter_count = 1;
    def.smooth = 1e-3;
    CHECK_EQ_INT(perp_gradient_create(context, scene, &def, &g), PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(perp_context_error(context), "middle steps have no smoothed gradient");
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

/* ---- what is refused -----------------------------------------------------------------------------*/

TEST(gears_and_restitution_have_no_derivative_with_middle_steps)
{
    static const char* const by[] = {"m", NULL};
    compared c = compare(
        "{'dimension':2,'joint_direction':'middle','duration':0.1,'parameters':{'m':1},'bodies':["
        "{'name':'a','mass':'m','inertia':1},{'name':'b','mass':1,'inertia':1,'position':[2,0]}],"
        "'joints':[{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0]},"
        "{'name':'j','type':'revolute','a':'world','b':'b','at':[2,0]},"
        "{'name':'g','type':'gear','joints':['i','j'],'ratio':2}],"
        "'measures':{'q':'a.angle'}}",
        by);
    CHECK_EQ_INT(c.status, PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(c.error, "gears have no derivative with joint_direction 'middle'");
    c = compare(
        "{'dimension':2,'joint_direction':'middle','duration':0.1,'restitution':0.5,"
        "'parameters':{'m':1},'bodies':[{'name':'a','mass':'m','inertia':1,'position':[1,0]},"
        "{'name':'f','type':'static','shapes':[{'type':'halfplane','normal':[0,1],"
        "'offset':-3}]}],"
        "'joints':[{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0]}],"
        "'measures':{'q':'a.angle'}}",
        by);
    CHECK_EQ_INT(c.status, PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(c.error, "restitution has no derivative with joint_direction 'middle'");
}
