/* Derivatives of middle steps of bodies that roll, spin or slide (contact_direction auto), against differences of
 * whole runs: gradients differentiate the very steps that a run takes. */
#include <stdlib.h>
#include <string.h>

#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

enum { MOST = 8, ROLLING = -4 };

typedef struct compared {
    perp_status status;
    int64_t flagged;
    double
        off; /* from central differences, relative to the largest derivative per relative change */
    double noise;   /* of those */
    double part;    /* of forward from adjoint, and from adjoint with checkpoints */
    double differs; /* value of the gradient from that of a run */
    char error[512];
} compared;

static double larger(double a, double b)
{
    return a >= b ? a : b; /* keeps a NaN in b */
}

static perp_status slopes_of(perp_context* context, perp_scene* scene, perp_gradient_def def,
                             perp_gradient_mode mode, bool checkpoints, double* by, compared* c)
{
    perp_gradient* g = NULL;
    def.mode = mode;
    def.checkpoints = checkpoints;
    const perp_status status = perp_gradient_create(context, scene, &def, &g);
    for (int32_t i = 0; status == PERP_OK && i < def.parameter_count; ++i) {
        by[i] = perp_gradient_of(g, i);
    }
    if (status == PERP_OK) {
        c->flagged = perp_gradient_flags_of(g).flagged;
        c->differs = perp_gradient_value(g);
    }
    perp_gradient_destroy(g);
    return status;
}

/* Runs a scene: the value of a measure, and steps of the kinds. */
static double run_scene(const char* text, const char* measure, int* rolling, int* others,
                        int* changes)
{
    scene_sim s = scene_sim_open("%s", text);
    double value = NAN;
    bool good = s.sim != NULL, before = false;
    *rolling = *others = *changes = 0;
    while (good && !perp_sim_finished(s.sim)) {
        good = perp_sim_step(s.sim) == PERP_OK;
        const bool rolls = good && perp_sim_step_info(s.sim).corrections == ROLLING;
        *rolling += rolls;
        *others += !rolls;
        *changes += before && !rolls; /* back to a step of the start */
        before = rolls;
    }
    if (good) {
        value = perp_sim_measure(s.sim, perp_sim_measure_find(s.sim, measure));
    } else {
        TEST_PRINT("%s", s.sim != NULL ? perp_context_error(s.context) : s.error);
    }
    scene_sim_close(&s);
    return value;
}

static compared compare(const char* text, const char* measure, const char* const* by,
                        const double* size)
{
    compared c = {.status = PERP_ERROR_MEMORY}, unused;
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    double adjoint[MOST], other[2][MOST], difference[MOST], spread[MOST], most = 0.0;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return c;
    }
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = measure;
    def.parameter = by;
    while (by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    c.status = scene_parse(context, text, "roll", &scene);
    if (c.status == PERP_OK) {
        c.status = slopes_of(context, scene, def, PERP_GRADIENT_ADJOINT, false, adjoint, &c);
    }
    if (c.status == PERP_OK) {
        c.status = slopes_of(context, scene, def, PERP_GRADIENT_FORWARD, false, other[0], &unused);
    }
    if (c.status == PERP_OK) {
        c.status = slopes_of(context, scene, def, PERP_GRADIENT_ADJOINT, true, other[1], &unused);
    }
    if (c.status == PERP_OK) {
        c.status = perp_gradient_difference(context, scene, &def, difference, spread);
    }
    for (int32_t i = 0; c.status == PERP_OK && i < def.parameter_count; ++i) {
        most = larger(most, fabs(adjoint[i] * size[i]));
    }
    for (int32_t i = 0; c.status == PERP_OK && i < def.parameter_count; ++i) {
        const double scale = size[i] / most;
        c.off = larger(c.off, fabs(adjoint[i] - difference[i]) * scale);
        c.noise = larger(c.noise, spread[i] * fabs(difference[i]) * scale);
        c.part = larger(c.part, fabs(adjoint[i] - other[0][i]) * scale);
        c.part = larger(c.part, fabs(adjoint[i] - other[1][i]) * scale);
    }
    (void)snprintf(c.error, sizeof c.error, "%s", perp_context_error(context));
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return c;
}

#define PARAMETERS "'parameters':{'m':0.8,'x':0.1,'u':%s,'f':%s,'r':0.12,'s':0.03,'z':0.18},"
#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','orientation':['cos(s/2)','sin(s/2)',0,0],"                   \
    "'shapes':[{'type':'plane','normal':[0,0,1]}]},"
#define SPACE                                                                                      \
    "{'step':0.01,'duration':%g,'gravity':[0,0,-9.81],'friction':{'default':'f'},'measures':{'q':" \
    "'b.position.x+2*b.position.y-b.position.z+0.1*b.velocity.x+0.02*b.angular_velocity.y',"       \
    "'E':'energy.total'}," PARAMETERS "'bodies':[" FLOOR "{'name':'b','mass':'m',%s}]}"
#define PLANE                                                                                      \
    "{'step':0.01,'duration':%g,'dimension':2,'gravity':[0,-9.81],'friction':{'default':'f'},"     \
    "'measures':{'q':'b.position.x+2*b.position.y+0.1*b.velocity.x+0.02*b.angular_velocity',"      \
    "'E':'energy.total'}," PARAMETERS "'bodies':[{'name':'floor','type':'static','angle':'s',"     \
    "'shapes':[{'type':'halfplane','normal':[0,1]}]},{'name':'b','mass':'m',%s}]}"

static const struct {
    const char *name, *form;
    double duration;
    const char *u, *f, *body;
    int rolling, changes; /* at least */
} scene[] = {
    {"an ellipsoid rolls", SPACE, 0.4, "0.4", "0.8",
     "'position':['x',0,'z+0.0005'],'velocity':['u',0.02,0],'angular_velocity':[0.1,'u/z',0.3],"
     "'shapes':[{'type':'ellipsoid','radii':['r',0.15,'z']}]",
     35, 0},
    {"an ellipsoid slides", SPACE, 0.4, "3", "0.2",
     "'position':['x',0,'z+0.0005'],'velocity':['u',0.2,0],'angular_velocity':[0.5,-2,0.3],"
     "'shapes':[{'type':'ellipsoid','radii':['r',0.15,'z']}]",
     30, 0},
    {"an ellipsoid slides without friction", SPACE, 0.3, "1", "0",
     "'position':['x',0,'z+0.0005'],'velocity':['u',0.2,0],'angular_velocity':[0.5,-2,0.3],"
     "'shapes':[{'type':'ellipsoid','radii':['r',0.15,'z']}]",
     25, 0},
    {"a coin", SPACE, 0.4, "0.5", "0.8",
     "'position':['x',0,'r*cos(0.3)+0.005*sin(0.3)'],'orientation':['cos(pi/4-0.15)',"
     "'sin(pi/4-0.15)',0,0],'velocity':['u',0,0],'angular_velocity':[0.1,'u/r',0.4],"
     "'shapes':[{'type':'cylinder','radius':'r','length':0.01}]",
     30, 0},
    {"a capsule lands and rolls", SPACE, 0.29, "0.5", "0.5",
     "'position':['x',0,'z+0.12'],'orientation':['cos(0.3)',0,'sin(0.3)',0],'velocity':['u',0.2,0],"
     "'angular_velocity':[0.5,1,0.3],'shapes':[{'type':'capsule','radius':'r/2','length':0.3}]",
     1, 1},
    {"two balls in one body, one after the other on the floor", SPACE, 0.6, "-1.5", "0.45",
     "'position':['x',0,'2.5*z'],'velocity':['u',0.3,0],'angular_velocity':[2,5,-2],'shapes':["
     "{'type':'sphere','radius':'r','position':[0,0,0.05]},"
     "{'type':'sphere','radius':0.1,'position':[0.08,0,-0.03]}]",
     20, 1},
    {"a planar ellipse", PLANE, 0.4, "0.5", "0.6",
     "'position':['x',0.105],'velocity':['u',0],'angular_velocity':-3,"
     "'shapes':[{'type':'superellipse','radii':['z',0.1],'exponent':2}]",
     20, 0},
};
static const char* const BY[] = {"m", "x", "u", "f", "r", "s", "z", NULL};

TEST(gradients_differentiate_the_steps_of_rolling_bodies)
{
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        char text[4096];
        int rolling, others, changes;
        const double size[] = {0.8,  0.1, fabs(atof(scene[i].u)), atof(scene[i].f), 0.12,
                               0.03, 0.18};
        const bool free = size[3] == 0.0; /* no friction: not at the border mu = 0 */
        const char* const rest[] = {"m", "x", "u", "s", "z", NULL};
        const double rest_size[] = {0.8, 0.1, size[2], 0.03, 0.18};
        for (size_t k = 0; k < 2; ++k) {
            if (!perp_test_full() && k != i % 2) {
                continue; /* one of the measures of each scene */
            }
            const char* measure = k == 0 ? "q" : "E";
            (void)snprintf(text, sizeof text, scene[i].form, scene[i].duration, scene[i].u,
                           scene[i].f, scene[i].body);
            const double value = run_scene(text, measure, &rolling, &others, &changes);
            const compared c = compare(text, measure, free ? rest : BY, free ? rest_size : size);
            TEST_PRINT("%s, %s: off %.1e, noise %.1e, forward %.1e; %d of %d roll, %d back %s",
                       scene[i].name, measure, c.off, c.noise, c.part, rolling, rolling + others,
                       changes, c.error);
            CHECK_EQ_INT(c.status, PERP_OK);
            CHECK_EQ_INT(c.flagged, 0);
            CHECK(c.differs == value);
            CHECK(rolling >= scene[i].rolling && changes >= scene[i].changes);
            CHECK_AT_MOST(c.off, 1e-7);
            CHECK_AT_MOST(c.part, 1e-9);
        }
    }
}

/* Two ends of a capsule near the floor: which of them is nearest differs between the models of a variation of its
 * radius, and with it the term of the spin; also without middle steps. */
TEST(sizes_do_not_change_which_contact_holds_the_spin)
{
    static const char* const by[] = {"r", NULL};
    const double size[] = {1.0};
    compared c = compare(
        "{'step':0.01,'duration':0.2,'gravity':[0,0,-9.81],'friction':{'default':0."
        "6844458417813079},"
        "'contact_direction':'start','parameters':{'r':0.06127753611695559},"
        "'measures':{'q':'b.position.x+2*b.position.y+b.position.z+0.1*b.velocity.x+"
        "0.02*b.angular_velocity.y'},'bodies':[{'name':'floor','type':'static','orientation':["
        "'cos(-0.025254546742767715)','sin(-0.025254546742767715)',0,0],'shapes':[{'type':'plane',"
        "'normal':[0,0,1]}]},{'name':'b','mass':0.733542696661514,'position':[0,0,0."
        "1960881155742579],"
        "'orientation':[-0.17206816045330467,0.48545132368773103,0.7082285989808719,"
        "-0.48284760750534617],'velocity':[0.6956557262261405,-0.11537133577514225,"
        "-0.27522392813037055],'angular_velocity':[-1.5616064942303094,2.691789505498388,"
        "-0.8047780192276752],'shapes':[{'type':'capsule','radius':'r',"
        "'length':0.20339093545349773}]}]}",
        "q", by, size);
    TEST_PRINT("off %.1e, noise %.1e %s", c.off, c.noise, c.error);
    CHECK_EQ_INT(c.status, PERP_OK);
    CHECK_AT_MOST(c.off, 1e-7);
}
