/* experiments/w14-instances - [W14 5.1] and the video list: single situations in which contact models differ.
 *
 * Aligned tetrahedra (figure 5.4): one stands on an inverted one and slides sideways at 0.4 m/s. Tip to tip:
 * an octahedron comes down on the tip of another. Vertex-edge: a tip on the edge of a roof, sliding along
 * it. Icosahedra fall onto each other. Sizes, masses and velocities are ours; no friction but for the
 * icosahedra. What each model does is printed; the results are on PEG, and on the standard model's traps.
 */
#include <math.h>
#include <stdio.h>

#include "common/report.h"
#include "common/scene.h"

#define HEAD                                                                                       \
    "{\"dimension\":3,\"gravity\":[0,0,-9.81],\"step\":0.005,\"duration\":%g,\"contact\":\"%s\","  \
    "\"friction\":{\"default\":%g},\"bodies\":["

static const char tetrahedra[] = HEAD
    "{\"name\":\"lower\",\"type\":\"static\",\"shapes\":[{\"type\":\"polyhedron\",\"vertices\":"
    "[[%.17g,0,%.17g],[%.17g,%.17g,%.17g],[%.17g,%.17g,%.17g],[0,0,%.17g]]}]},"
    "{\"name\":\"body\",\"density\":1,\"position\":[0,0,%.17g],\"velocity\":[0.4,0,0],\"shapes\":[{"
    "\"type\":\"polyhedron\",\"vertices\":[[%.17g,0,%.17g],[%.17g,%.17g,%.17g],[%.17g,%.17g,"
    "%.17g],[0,0,%.17g]]}]}]}";
static const char tips[] = HEAD
    "{\"name\":\"lower\",\"type\":\"static\",\"shapes\":[{\"type\":\"polyhedron\",\"solid\":"
    "\"octahedron\",\"radius\":0.5}]},{\"name\":\"body\",\"density\":1,\"position\":[0,0,1.05],"
    "\"velocity\":[0.02,0.01,0],\"shapes\":[{\"type\":\"polyhedron\",\"solid\":\"octahedron\","
    "\"radius\":0.5}]}]}";
static const char edge[] =
    HEAD "{\"name\":\"roof\",\"type\":\"static\",\"shapes\":[{\"type\":\"polyhedron\",\"vertices\":"
         "[[-1,2,-0.5],[1,2,-0.5],[0,2,0],[-1,-2,-0.5],[1,-2,-0.5],[0,-2,0]]}]},{\"name\":\"body\","
         "\"density\":1,\"position\":[0,-1,0.51],\"velocity\":[0.05,1.5,0],\"shapes\":[{\"type\":"
         "\"polyhedron\",\"solid\":\"octahedron\",\"radius\":0.5}]}]}";
static const char icosahedra[] = HEAD
    "{\"name\":\"floor\",\"type\":\"static\",\"position\":[0,0,-0.25],\"shapes\":[{\"type\":"
    "\"box\",\"size\":[6,6,0.5]}]},{\"name\":\"body\",\"density\":1,\"position\":[0,0,0.5],"
    "\"shapes\":[{\"type\":\"polyhedron\",\"solid\":\"icosahedron\",\"radius\":0.4}]},{\"name\":"
    "\"second\",\"density\":1,\"position\":[0,0,1.5],\"shapes\":[{\"type\":\"polyhedron\","
    "\"solid\":\"icosahedron\",\"radius\":0.4}]},{\"name\":\"third\",\"density\":1,\"position\":"
    "[0.1,0,2.5],\"shapes\":[{\"type\":\"polyhedron\",\"solid\":\"icosahedron\",\"radius\":0.4}]}"
    "]}";

typedef struct outcome {
    perp_body_state end;
    double volume; /* largest overlap */
    int fallbacks;
} outcome;

static scene_run open_case(int which, const char* contact)
{
    /* a regular tetrahedron over a triangle of circumradius r, its centre at the origin */
    const double r = 0.5, height = r * sqrt(2.0), s = 0.5 * r * sqrt(3.0), low = 0.25 * height;
    switch (which) {
    case 0:
        return scene_run_open(tetrahedra, 0.6, contact, 0.0, r, low, -0.5 * r, s, low, -0.5 * r, -s,
                              low, -0.75 * height, 0.5 * height, r, -low, -0.5 * r, s, -low,
                              -0.5 * r, -s, -low, 0.75 * height);
    case 1: return scene_run_open(tips, 1.0, contact, 0.0);
    case 2: return scene_run_open(edge, 0.8, contact, 0.0);
    default: return scene_run_open(icosahedra, 2.0, contact, 0.4);
    }
}

static outcome play(int which, const char* contact)
{
    scene_run run = open_case(which, contact);
    outcome o = {0};
    while (!perp_sim_finished(run.sim)) {
        double volume = 0.0;
        (void)scene_run_step(&run, NULL);
        if (perp_sim_overlap_volume(run.sim, &volume) == PERP_OK) {
            o.volume = fmax(o.volume, volume);
        }
        o.fallbacks += perp_sim_step_info(run.sim).fallbacks;
    }
    o.end = perp_sim_body(run.sim, perp_model_body_find(perp_sim_model(run.sim), "body"));
    scene_run_close(&run);
    return o;
}

int main(int argc, char** argv)
{
    static const char* const name[] = {"tetrahedra", "tip to tip", "tip on an edge", "icosahedra"};
    static const char* const model[] = {"peg", "lnc", "corrective", "standard"};
    report r;
    report_begin(&r, "w14-instances", argc, argv);
    outcome o[4][4];
    int fallbacks = 0;
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 4; ++k) {
            char line[96];
            o[i][k] = play(i, model[k]);
            for (int axis = 0; axis < 3; ++axis) {
                snprintf(line, sizeof line, "%s, %s: %c at the end (m)", name[i], model[k],
                         "xyz"[axis]);
                report_note(&r, line, o[i][k].end.position[axis]);
            }
            snprintf(line, sizeof line, "%s, %s: largest overlap (m^3)", name[i], model[k]);
            report_note(&r, line, o[i][k].volume);
        }
        fallbacks += o[i][0].fallbacks;
    }
    report_add(&r, "tetrahedra, peg: slides 0.4 m/s for 0.6 s (m)", NAN, 0.24,
               o[0][0].end.position[0], 1e-9);
    report_add(&r, "tetrahedra, standard: fused (m)", NAN, 0.0, o[0][3].end.position[0], 0.01);
    report_add(&r, "tip to tip, peg: fallen past the tip (1: yes)", NAN, 1.0,
               o[1][0].end.position[2] < 0.0, 0.0);
    report_add(&r, "tip to tip, standard: held above it (1: yes)", NAN, 1.0,
               o[1][3].end.position[2] > 0.9, 0.0);
    report_add(&r, "tip on an edge, peg: velocity along it (m/s)", NAN, 1.5,
               o[2][0].end.velocity[1], 1e-9);
    report_add(&r, "tip on an edge, peg: has left it sideways (1: yes)", NAN, 1.0,
               o[2][0].end.position[0] > 0.1, 0.0);
    report_add(&r, "icosahedra, peg: the first lies on a face, at (m)", NAN,
               0.4 * sqrt((5.0 + 2.0 * sqrt(5.0)) / 15.0), o[3][0].end.position[2], 1e-6);
    report_add(&r, "fallbacks of peg", NAN, 0.0, fallbacks, 0.0);
    return report_end(&r);
}
