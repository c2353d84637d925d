/* experiments/w14-grasp - [W14 5.2.5, 5.2.6]: a two-finger gripper closes on a polygon.
 *
 * As printed: five links, four joints under PD control with the same gains at every h; ten random convex
 * polygons that sit on a surface; standard, corrective and PEG at h = 0.001 .. 0.01 against PEG at
 * h = 0.0001; without friction, and with mu = 0.25.
 * Ours, since the thesis does not say: the polygons are those of 5.2.3 (hulls of ten points within +-0.25 m),
 * at rest on the edge on which they are hardest to tip over, density 10. The palm stands still 0.95 m above
 * the surface, the shoulders 0.5 m apart; links of 0.45 and 0.5 m, 0.07 m wide, the outer ones pointed,
 * density 20. The fingers close within 1 s (quintic targets) from 0.6 rad outward at the shoulder and upright
 * tips to an upright link and tips turned in by 0.8 rad, which the polygon does not let them reach;
 * kp = 60 and 30 N m/rad, kd = 4 and 2 N m s/rad. 2 s, g = 9.81, margin 10 h as in 5.2.1.
 * The error of a trial is the distance from the ground truth, averaged over the steps; the rotation is
 * left out, as in the thesis.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/polygons.h"
#include "common/report.h"
#include "common/scene.h"

enum { TRIALS = 10, STEPS = 10, MODELS = 3, TRUTH = 20000, OBJECT = 1 };

static const double DURATION = 2.0, FINE = 0.0001;

typedef struct place {
    double x, y;
} place;

/* A finger: side is -1 or 1. */
static size_t put_finger(char* text, size_t size, double side)
{
    const double out = 0.6, x0 = 0.25 * side, y0 = 0.95, dx = sin(out) * side, dy = -cos(out);
    const char* name = side < 0 ? "left" : "right";
    const char* other = side < 0 ? "right" : "left";
    return (size_t)snprintf(
        text, size,
        ",{\"name\":\"%s-link\",\"density\":20,\"position\":[%.17g,%.17g],\"angle\":%.17g,"
        "\"ignores\":[\"palm\",\"%s-link\",\"%s-tip\"],"
        "\"shapes\":[{\"type\":\"box\",\"size\":[0.07,0.52]}]},"
        "{\"name\":\"%s-tip\",\"density\":20,\"position\":[%.17g,%.17g],"
        "\"ignores\":[\"palm\",\"%s-link\",\"%s-tip\"],\"shapes\":[{\"type\":\"polygon\","
        "\"vertices\":[[-0.035,0.03],[-0.015,-0.5],[0.015,-0.5],[0.035,0.03]]}]}",
        name, x0 + 0.225 * dx, y0 + 0.225 * dy, out * side, other, other, name, x0 + 0.45 * dx,
        y0 + 0.45 * dy, other, other);
}

static size_t put_joints(char* text, size_t size, double side)
{
    const double out = 0.6, x0 = 0.25 * side, y0 = 0.95;
    const char* name = side < 0 ? "left" : "right";
    return (size_t)snprintf(
        text, size,
        "%s{\"name\":\"%s-shoulder\",\"type\":\"revolute\",\"a\":\"palm\",\"b\":\"%s-link\","
        "\"at\":[%.17g,%.17g],\"start\":%.17g},{\"name\":\"%s-knuckle\",\"type\":\"revolute\","
        "\"a\":\"%s-link\",\"b\":\"%s-tip\",\"at\":[%.17g,%.17g],\"start\":%.17g}",
        side < 0 ? "" : ",", name, name, x0, y0, out * side, name, name, name,
        x0 + 0.45 * sin(out) * side, y0 - 0.45 * cos(out), -out * side);
}

static size_t put_controllers(char* text, size_t size, double side)
{
    const char* name = side < 0 ? "left" : "right";
    return (size_t)snprintf(
        text, size,
        "%s{\"type\":\"pd\",\"joint\":\"%s-shoulder\",\"kp\":60,\"kd\":4,"
        "\"target\":\"quintic(t, 0,%.17g, 1,0)\"},{\"type\":\"pd\",\"joint\":\"%s-knuckle\","
        "\"kp\":30,\"kd\":2,\"target\":\"quintic(t, 0,%.17g, 1,%.17g)\"}",
        side < 0 ? "" : ",", name, 0.6 * side, name, -0.6 * side, -0.8 * side);
}

static scene_run make_scene(unsigned seed, double mu, const char* contact, double h)
{
    char object[2048], fingers[4096], joints[2048], controllers[2048], friction[64];
    random_begin(seed);
    polygon p = random_polygon(0.25);
    const double height = polygon_sit(&p);
    polygon_text(&p, object, sizeof object);
    size_t a = put_finger(fingers, sizeof fingers, -1.0);
    put_finger(fingers + a, sizeof fingers - a, 1.0);
    a = put_joints(joints, sizeof joints, -1.0);
    put_joints(joints + a, sizeof joints - a, 1.0);
    a = put_controllers(controllers, sizeof controllers, -1.0);
    put_controllers(controllers + a, sizeof controllers - a, 1.0);
    if (mu > 0.0) {
        snprintf(friction, sizeof friction, "{\"default\":%g}", mu);
    } else {
        snprintf(friction, sizeof friction, "{\"cone\":\"none\"}");
    }
    return scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":%.17g,\"duration\":%g,\"margin\":%.17g,"
        "\"contact\":\"%s\",\"friction\":%s,\"bodies\":[{\"name\":\"ground\",\"type\":\"static\","
        "\"shapes\":[{\"type\":\"box\",\"size\":[3,0.2],\"position\":[0,-0.1]}]},"
        "{\"name\":\"object\",\"density\":10,\"position\":[0,%.17g],\"shapes\":[{\"type\":"
        "\"polygon\",\"vertices\":%s}]},{\"name\":\"palm\",\"type\":\"static\",\"position\":"
        "[0,0.95],\"shapes\":[{\"type\":\"polygon\",\"vertices\":[[-0.3,-0.05],[0.3,-0.05],"
        "[0.2,0.1],[-0.2,0.1]]}]}%s],\"joints\":[%s],\"controllers\":[%s]}",
        h, DURATION, 10 * h, contact, friction, height, object, fingers, joints, controllers);
}

typedef struct trial {
    double error; /* mean distance from the truth */
    double end;   /* distance at the end */
    int fallbacks;
    bool finished;
} trial;

/* truth: where the object is at multiples of FINE; written if contact is NULL. */
static trial grasp(unsigned seed, double mu, const char* contact, double h, place* truth,
                   FILE* table)
{
    scene_run run = make_scene(seed, mu, contact != NULL ? contact : "peg", h);
    trial t = {.finished = true};
    int steps = 0;
    while (!perp_sim_finished(run.sim)) {
        const char* error = NULL;
        if (!scene_run_step(&run, &error)) {
            t.finished = false;
            break;
        }
        const perp_body_state s = perp_sim_body(run.sim, OBJECT);
        const int at = (int)lround(perp_sim_time(run.sim) / FINE);
        if (contact == NULL) {
            truth[at] = (place){s.position[0], s.position[1]};
        } else {
            t.end = hypot(s.position[0] - truth[at].x, s.position[1] - truth[at].y);
            t.error += t.end;
        }
        t.fallbacks += perp_sim_step_info(run.sim).fallbacks;
        steps += 1;
        if (table != NULL) {
            fprintf(table, "%.9g %.9g %.9g %.9g %.9g\n", perp_sim_time(run.sim), s.position[0],
                    s.position[1], s.angle, t.end);
        }
    }
    if (table != NULL) {
        fprintf(table, "\n\n");
    }
    t.error /= steps > 0 ? steps : 1;
    scene_run_close(&run);
    return t;
}

static void one_friction(report* r, double mu, place (*truth)[TRUTH + 1])
{
    static const char* const model[MODELS] = {"peg", "standard", "corrective"};
    const char* figure = mu > 0.0 ? "5.22" : "5.20";
    char name[128];
    double median[MODELS][STEPS];
    int fallbacks = 0, unfinished[MODELS] = {0};
    const char* which = mu > 0.0 ? "mu = 0.25" : "no friction";
    int truths = 0;
    for (unsigned seed = 0; seed < TRIALS; ++seed) {
        const trial t = grasp(seed, mu, NULL, FINE, truth[seed], NULL);
        fallbacks += t.fallbacks;
        truths += t.finished;
    }
    snprintf(name, sizeof name, "%s: ground truths that came to the end, of 10", which);
    report_add(r, name, TRIALS, TRIALS, truths, 0.0);
    snprintf(name, sizeof name, "error-%s.dat", figure);
    FILE* table = report_file(r, name);
    fprintf(table, "# h, then for peg, standard, corrective: median, first and third quartile of "
                   "the position error, trials that ended early\n");
    for (int i = 0; i < STEPS; ++i) {
        const double h = 0.001 * (i + 1);
        fprintf(table, "%g", h);
        for (int k = 0; k < MODELS; ++k) {
            double error[TRIALS];
            int n = 0;
            for (unsigned seed = 0; seed < TRIALS; ++seed) {
                FILE* path = NULL;
                if (seed == 0) {
                    snprintf(name, sizeof name, "first-%s-%s.dat", figure, model[k]);
                    char full[512];
                    snprintf(full, sizeof full, "%s/%s", r->out, name);
                    path = i == 0 ? report_file(r, name) : fopen(full, "a");
                }
                const trial t = grasp(seed, mu, model[k], h, truth[seed], path);
                if (path != NULL) {
                    fclose(path);
                }
                fallbacks += t.fallbacks;
                if (t.finished) {
                    error[n++] = t.error;
                }
            }
            unfinished[k] += TRIALS - n;
            median[k][i] = n > 0 ? quantile(error, n, 0.5) : NAN;
            fprintf(table, " %.9g %.9g %.9g %d", median[k][i],
                    n > 0 ? quantile(error, n, 0.25) : NAN, n > 0 ? quantile(error, n, 0.75) : NAN,
                    TRIALS - n);
        }
        fprintf(table, "\n");
    }
    fclose(table);
    double against[MODELS] = {0}, sum[4] = {0};
    for (int i = 0; i < STEPS; ++i) {
        for (int k = 1; k < MODELS; ++k) {
            against[k] = fmax(against[k], median[0][i] / median[k][i]);
        }
        const double x = log(0.001 * (i + 1)), y = log(median[0][i]);
        sum[0] += x, sum[1] += y, sum[2] += x * x, sum[3] += x * y;
        for (int k = 0; k < MODELS; ++k) {
            if (i == 0 || i == 4 || i == STEPS - 1) {
                snprintf(name, sizeof name, "%s, %s at h = %g: median position error (m)", which,
                         model[k], 0.001 * (i + 1));
                report_note(r, name, median[k][i]);
            }
        }
    }
    for (int k = 0; k < MODELS; ++k) {
        snprintf(name, sizeof name, "%s, %s: trials that ended early, of 100", which, model[k]);
        if (k == 0) {
            report_add(r, name, 0.0, 0.0, unfinished[k], 0.0);
        } else {
            report_note(r, name, unfinished[k]);
        }
    }
    snprintf(name, sizeof name, "%s: PEG's median error, of corrective's, at the worst h", which);
    report_add(r, name, NAN, 0.0, against[2], 0.75);
    snprintf(name, sizeof name, "%s: PEG's median error, of the standard model's, at the worst h",
             which);
    report_add(r, name, NAN, 0.0, against[1], 1.05);
    snprintf(name, sizeof name, "%s: order of PEG's median error in h", which);
    report_note(r, name, (STEPS * sum[3] - sum[0] * sum[1]) / (STEPS * sum[2] - sum[0] * sum[0]));
    snprintf(name, sizeof name, "%s: fallbacks", which);
    report_add(r, name, NAN, 0.0, fallbacks, 0.0);
}

int main(int argc, char** argv)
{
    report r;
    report_begin(&r, "w14-grasp", argc, argv);
    place(*truth)[TRUTH + 1] = calloc(TRIALS, sizeof *truth);
    if (truth == NULL) {
        return 3;
    }
    one_friction(&r, 0.0, truth);
    one_friction(&r, 0.25, truth);
    free(truth);
    return report_end(&r);
}
