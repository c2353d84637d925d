/* experiments/w14-triangle-drop - [W14 5.2.1]: a triangle falls onto the corner of a larger one.
 *
 * Sides, mass and inertia as printed; pose, velocity and g are not, and are those of
 * scenes/w14-triangle-drop.json. h = 0.001 .. 0.016, margin 10 h, four contact models; the ground
 * truth is PEG at h = 0.0001. The thesis shows: PEG's 16 runs cover the ground truth, the standard
 * model is trapped by the corner, the corrective one bounces differently for every h.
 */
#include <math.h>
#include <stdio.h>

#include "common/report.h"
#include "common/scene.h"

static const double SIDE = 2.45;

typedef struct path {
    double x, y, angle; /* at the end */
    double depth;       /* largest overlap of all */
} path;

static path drop(const char* contact, double h, FILE* table)
{
    const double a = SIDE / sqrt(3.0), b = 0.5 * a;
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":%.17g,\"duration\":1.5,\"margin\":%.17g,"
        "\"contact\":\"%s\",\"friction\":{\"cone\":\"none\"},\"bodies\":["
        "{\"name\":\"large\",\"type\":\"static\",\"shapes\":[{\"type\":\"polygon\",\"vertices\":"
        "[[-2.45,%.17g],[2.45,%.17g],[0,%.17g]]}]},"
        "{\"name\":\"small\",\"mass\":1,\"inertia\":0.6495,\"position\":[1.245,%.17g],\"shapes\":"
        "[{\"type\":\"polygon\",\"vertices\":[[-1.225,%.17g],[1.225,%.17g],[0,%.17g]]}]}]}",
        h, 10 * h, contact, -2 * b, -2 * b, 2 * a, 2 * a + 3 + b, -b, -b, a);
    path p = {0};
    while (!perp_sim_finished(run.sim)) {
        double depth = NAN;
        scene_run_step(&run, NULL);
        (void)!perp_sim_penetration(run.sim, &depth);
        p.depth = !(depth <= p.depth) ? depth : p.depth;
        const perp_body_state s = perp_sim_body(run.sim, 1);
        p.x = s.position[0];
        p.y = s.position[1];
        p.angle = s.angle;
        if (table != NULL) {
            fprintf(table, "%.9g %.9g %.9g %.9g\n", perp_sim_time(run.sim), p.x, p.y, p.angle);
        }
    }
    if (table != NULL) {
        fprintf(table, "\n\n");
    }
    scene_run_close(&run);
    return p;
}

int main(int argc, char** argv)
{
    static const char* const model[] = {"peg", "standard", "corrective", "lnc"};
    report r;
    report_begin(&r, "w14-triangle-drop", argc, argv);
    const path truth = drop("peg", 0.0001, NULL);
    FILE* table = report_file(&r, "distance.dat");
    fprintf(table, "# h, distance of the end from the ground truth: peg standard corrective lnc\n");
    double worst[4] = {0}, least[4] = {INFINITY, INFINITY, INFINITY, INFINITY}, at[17];
    double deepest = 0.0, turned = INFINITY;
    FILE* file[4];
    for (int k = 0; k < 4; ++k) {
        char name[64];
        snprintf(name, sizeof name, "%s.dat", model[k]);
        file[k] = report_file(&r, name);
    }
    for (int i = 1; i <= 16; ++i) {
        fprintf(table, "%.3f", 0.001 * i);
        for (int k = 0; k < 4; ++k) {
            const path p = drop(model[k], 0.001 * i, file[k]);
            const double d = hypot(p.x - truth.x, p.y - truth.y);
            fprintf(table, " %.9g", d);
            if (k == 0) {
                at[i] = d;
                deepest = fmax(deepest, p.depth);
                worst[0] = fmax(worst[0], d / (0.1 * SIDE * i / 16.0));
            } else {
                worst[k] = fmax(worst[k], d);
            }
            turned = k == 1 ? fmin(turned, fabs(p.angle)) : turned;
            least[k] = fmin(least[k], d);
        }
        fprintf(table, "\n");
    }
    for (int k = 0; k < 4; ++k) {
        fclose(file[k]);
    }
    fclose(table);
    report_add(&r, "PEG: largest distance to the ground truth, of 10 % of the side times h/0.016",
               NAN, 0.0, worst[0], 1.0);
    report_add(&r, "PEG: order of that distance between h = 0.008 and 0.016", NAN, 1.0,
               log2(at[16] / at[8]), 0.2);
    report_add(&r, "PEG: deepest overlap", 0.0, 0.0, deepest, 1e-14);
    /* sliding off it would not turn at all: the force points through the centre of mass */
    report_add(&r, "standard model: least turn, trapped at the corner (radian)", NAN, 1.5, turned,
               1.0);
    report_note(&r, "standard model: least distance to the ground truth (m)", least[1]);
    report_note(&r, "corrective: largest distance to the ground truth (m)", worst[2]);
    report_note(&r, "corrective: least distance to the ground truth (m)", least[2]);
    report_note(&r, "lnc: largest distance to the ground truth (m)", worst[3]);
    return report_end(&r);
}
