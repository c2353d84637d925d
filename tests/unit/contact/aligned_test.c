/* The corners of two faces that are nearly parallel have one normal in a heap: as rows they would
 * contradict each other (src/contact/build.c).
 *
 * A box on a box, turned by 0.8 about the vertical and tilted: its face meets the other one in
 * eight corners, some of vertices and some of edges. Small balls far apart make the scene a
 * heap. */
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

enum { TEXT = 16384 };

static scene_sim open_tilted(double tilt, int bodies, const char* model)
{
    static char balls[TEXT];
    size_t used = 0;
    balls[0] = '\0';
    for (int i = 1; i < bodies; ++i) {
        used += (size_t)snprintf(balls + used, sizeof balls - used,
                                 ",{'name':'ball%d','mass':1,'position':[%d,0,0],'inertia':[1,1,1],"
                                 "'shapes':[{'type':'sphere','radius':0.1}]}",
                                 i, 10 + i);
    }
    /* to first order in the tilt: about x after the turn about z */
    const double c = cos(0.4), s = sin(0.4), half = 0.5 * tilt;
    return scene_sim_open(
        "{'step':0.01,'duration':1,'margin':0.05,'contact':'%s','friction':{'default':0.5},'"
        "gravity':[0,0,-10],"
        "'bodies':[{'name':'below','type':'static','shapes':[{'type':'box','size':[2,2,2]}]},"
        "{'name':'above','mass':1,'inertia':[1,1,1],'position':[0,0,2.01],"
        "'orientation':[%.17g,%.17g,%.17g,%.17g],'shapes':[{'type':'box','size':[2,2,2]}]}%s]}",
        model, c, half * c, -half * s, s, balls);
}

/* Contacts of the two boxes, and how many of them have the normal of the first. */
static void count_normals(scene_sim* s, int* all, int* same)
{
    int32_t count = 0;
    const perp_contact* c =
        perp_sim_step(s->sim) == PERP_OK ? perp_sim_contacts(s->sim, &count) : NULL;
    *all = *same = 0;
    for (int32_t i = 0; c != NULL && i < count && c[i].body_b == 1; ++i) {
        *all += 1;
        *same += memcmp(c[i].normal, c[0].normal, sizeof c[i].normal) == 0 &&
                 memcmp(c[i].tangent, c[0].tangent, sizeof c[i].tangent) == 0;
    }
}

TEST(corners_of_nearly_parallel_faces_have_one_normal_in_a_heap)
{
    static const struct {
        double tilt;
        int bodies;
        bool one;
    } scene[] = {{3e-5, 50, true}, {1e-7, 50, true}, {1.5e-4, 50, false}, {3e-5, 49, false}};
    static const char* const model[] = {"peg", "auto"};
    for (int m = 0; m < 2; ++m) {
        for (int i = 0; i < 4; ++i) {
            scene_sim s = open_tilted(scene[i].tilt, scene[i].bodies, model[m]);
            REQUIRE(s.sim != NULL);
            int all, same;
            count_normals(&s, &all, &same);
            CHECK(all >= 4);
            CHECK((same == all) == scene[i].one);
            scene_sim_close(&s);
        }
    }
}
