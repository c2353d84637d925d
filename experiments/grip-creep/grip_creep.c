/* experiments/grip-creep - a hand holds a capsule of 45 g without creep.
 *
 * Two fingers (pads on slides) and three fingers (spheres on slides, 120 degrees apart) press on a
 * capsule of 45 g and radius 4 mm with 12 to 60 N, mu = 0.7; its weight is 0.44 N. With dry
 * friction it does not move. A public report, github.com/google-deepmind/mujoco/issues/3328,
 * measured 50 to 155 micrometres per second for this grasp with two pads in a simulator with
 * regularised friction (elliptic cone, impratio 10).
 *
 * A capsule that lies on its side between two pads touches each along a line, and two of three tips can hold it
 * without the third: how the forces share the weight does not follow from the laws. Impulses that drift from
 * step to step until a contact has none would let it swing; a solver that changes those of the step before as
 * little as possible keeps them. The last rows have fingers that gears couple.
 */
#include <math.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

static const double BEFORE = 0.1, LAST = 10.1, H = 0.005;

/* The hand: fingers on slides towards the z axis, each pushed by the force. Of two
 * fingers the first is a fixed jaw, as otherwise nothing would hold both in the middle, unless gears do. */
static void write_hand(char* text, size_t size, int fingers, bool geared, double force)
{
    char bodies[2048] = "", joints[3500] = "";
    for (int i = 0; i < fingers; ++i) {
        const double angle = 6.283185307179586 * i / fingers, c = cos(angle), s = sin(angle);
        const double far = 0.009; /* pad: half of 10 mm; tip: radius 5 mm */
        char one[700];
        snprintf(one, sizeof one,
                 ",{\"name\":\"finger%d\",\"mass\":0.05,\"inertia\":[1e-5,1e-5,1e-5],\"position\":["
                 "%.17g,"
                 "%.17g,0],\"gravity\":[0,0,0],\"shapes\":[{\"type\":%s}]}",
                 i, far * c, far * s,
                 fingers == 2 ? "\"box\",\"size\":[0.01,0.03,0.02]"
                              : "\"sphere\",\"radius\":0.005");
        strncat(bodies, one, sizeof bodies - strlen(bodies) - 1);
        if (fingers == 2 && i == 0 && !geared) {
            snprintf(one, sizeof one,
                     "{\"name\":\"jaw\",\"type\":\"fixed\",\"a\":\"world\",\"b\":\"finger0\"}");
        } else {
            snprintf(
                one, sizeof one,
                "%s{\"name\":\"slide%d\",\"type\":\"prismatic\",\"a\":\"world\",\"b\":\"finger%d\","
                "\"at\":[%.17g,%.17g,0],\"axis\":[%.17g,%.17g,0],\"damping\":5,\"motor\":{\"type\":"
                "\"effort\",\"target\":%.17g}}",
                i > 0 ? "," : "", i, i, far * c, far * s, -c, -s, force);
        }
        strncat(joints, one, sizeof joints - strlen(joints) - 1);
        if (geared && i > 0) {
            snprintf(one, sizeof one,
                     ",{\"name\":\"gear%d\",\"type\":\"gear\",\"joints\":[\"slide0\",\"slide%d\"],"
                     "\"ratio\":1}",
                     i, i);
            strncat(joints, one, sizeof joints - strlen(joints) - 1);
        }
    }
    const char* lie = fingers == 2 ? ",\"axis_angle\":[1,0,0,1.5707963267948966]" : "";
    snprintf(text, size,
             "\"bodies\":[{\"name\":\"capsule\",\"mass\":0.045,\"shapes\":[{\"type\":\"capsule\","
             "\"radius\":0.004,\"length\":0.02}]%s}%s],\"joints\":[%s]",
             lie, bodies, joints);
}

/* How far the capsule moves in 10 s, and the rate of its height by a fit of the two ends. */
static double creep(int fingers, bool geared, double force, const char* tolerance, FILE* data)
{
    char hand[6500];
    write_hand(hand, sizeof hand, fingers, geared, force);
    scene_run run = scene_run_open("{\"gravity\":[0,0,-9.81],\"step\":0.005,\"duration\":%g,"
                                   "\"tolerance\":%s,"
                                   "\"friction\":{\"default\":0.7},%s}",
                                   LAST + 1.0, tolerance, hand);
    double first[3] = {0}, moved = 0.0;
    const char* error = NULL;
    for (int k = 1; k <= (int)(LAST / H + 0.5); ++k) {
        if (!scene_run_step(&run, &error)) {
            fprintf(stderr, "%d fingers, %g N: %s\n", fingers, force, error);
            moved = NAN;
            break;
        }
        const perp_body_state body = perp_sim_body(run.sim, 0);
        if (k == (int)(BEFORE / H + 0.5)) {
            memcpy(first, body.position, sizeof first);
        }
        if (k % 100 == 0 && data != NULL) {
            fprintf(data, "%g %.9e\n", k * H - BEFORE, fabs(body.position[2] - first[2]));
        }
        moved = sqrt((body.position[0] - first[0]) * (body.position[0] - first[0]) +
                     (body.position[1] - first[1]) * (body.position[1] - first[1]) +
                     (body.position[2] - first[2]) * (body.position[2] - first[2]));
    }
    scene_run_close(&run);
    return moved;
}

int main(int argc, char** argv)
{
    static const double force[] = {12.0, 30.0, 60.0};
    report r;
    report_begin(&r, "grip-creep", argc, argv);
    FILE* data = report_file(&r, "creep.dat");
    for (int hand = 0; hand < 4; ++hand) {
        const int fingers = 2 + hand % 2;
        const bool geared = hand >= 2;
        for (size_t i = 0; i < sizeof force / sizeof force[0]; ++i) {
            static const char* const tolerance[] = {"1e-8", "1e-12"};
            static const double most[] = {1e-6, 1e-9};
            for (int k = 0; k < 2; ++k) {
                char name[120];
                snprintf(name, sizeof name, "creep in 10 s (m), %d %sfingers, %g N, tolerance %s",
                         fingers, geared ? "geared " : "", force[i], tolerance[k]);
                FILE* curve = geared ? NULL : data;
                if (curve != NULL) {
                    fprintf(curve, "# %d fingers, %g N, tolerance %s\n", fingers, force[i],
                            tolerance[k]);
                }
                report_add(&r, name, NAN, 0.0,
                           creep(fingers, geared, force[i], tolerance[k], curve), most[k]);
                if (curve != NULL) {
                    fprintf(curve, "\n\n");
                }
            }
        }
    }
    fclose(data);
    report_note(&r, "public report for regularised friction: least creep in 10 s (m)", 10 * 50e-6);
    report_note(&r, "public report for regularised friction: most creep in 10 s (m)", 10 * 155e-6);
    return report_end(&r);
}
