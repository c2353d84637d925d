/* experiments/gradient-truth - derivatives of runs against closed forms of the motion, and against differences.
 *
 * Of each scene the derivative at four steps: its error against the derivative of the exact motion
 * falls with the step (the scheme is of first order; a bounce lies on its exact parabolas), its
 * disagreement with central differences of the same runs does not depend on it. The bounce has a
 * sign that is easily wrong: a ball dropped from higher up rises higher.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report.h"
#include "perp/perp.h"

enum { STEPS = 4, MOST = 3 };
static const double STEP[STEPS] = {0.02, 0.01, 0.005, 0.0025};

typedef struct truth {
    const char *name, *text; /* with %.17g for the step */
    const char* by[MOST];
    double exact[MOST]; /* derivatives of the exact motion */
    double
        order; /* of the error against them; 0: they are exact; -1: of first order, but not smooth in h */
} truth;

typedef struct slopes {
    double by[MOST], difference[MOST];
    int64_t flagged;
} slopes;

static slopes differentiate(const truth* t, double h)
{
    char text[4096];
    slopes s = {.flagged = -1};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "m";
    def.parameter = t->by;
    while (def.parameter_count < MOST && t->by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    (void)snprintf(text, sizeof text, t->text, h);
    if (perp_context_create(NULL, &context) != PERP_OK) {
        exit(3);
    }
    perp_status status = perp_scene_parse(context, text, strlen(text), NULL, NULL, 0, &scene);
    if (status == PERP_OK) {
        status = perp_gradient_create(context, scene, &def, &g);
    }
    if (status == PERP_OK) {
        status = perp_gradient_difference(context, scene, &def, s.difference, NULL);
    }
    if (status != PERP_OK) {
        fprintf(stderr, "gradient-truth: %s: %s\n", t->name, perp_context_error(context));
        exit(3);
    }
    s.flagged = perp_gradient_flags_of(g).flagged;
    for (int32_t i = 0; i < def.parameter_count; ++i) {
        s.by[i] = perp_gradient_of(g, i);
    }
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return s;
}

static double relative(double a, double b)
{
    const double size = fmax(fabs(a), fabs(b));
    return size > 0.0 ? fabs(a - b) / size : 0.0;
}

static void compare(report* r, FILE* table, const truth* t)
{
    double error[STEPS] = {0}, off = 0.0;
    int64_t flagged = 0;
    char label[160];
    for (int k = 0; k < STEPS; ++k) {
        const slopes s = differentiate(t, STEP[k]);
        flagged += s.flagged;
        for (int i = 0; i < MOST && t->by[i] != NULL; ++i) {
            error[k] = fmax(error[k], relative(s.by[i], t->exact[i]));
            off = fmax(off, relative(s.by[i], s.difference[i]));
        }
        fprintf(table, "\"%s\" %.9g %.9g %.9g\n", t->name, STEP[k], error[k], off);
    }
    fprintf(table, "\n\n");
    (void)snprintf(label, sizeof label, "%s: flagged steps", t->name);
    report_add(r, label, NAN, 0.0, (double)flagged, 0.0);
    (void)snprintf(label, sizeof label, "%s: disagreement with central differences", t->name);
    report_add(r, label, NAN, 0.0, off, 1e-6);
    if (t->order > 0.0) {
        (void)snprintf(label, sizeof label, "%s: error against the exact motion, h = 0.0025",
                       t->name);
        report_note(r, label, error[STEPS - 1]);
        (void)snprintf(label, sizeof label, "%s: its order in h", t->name);
        report_add(r, label, NAN, t->order, log2(error[STEPS - 2] / error[STEPS - 1]), 0.3);
    } else {
        (void)snprintf(label, sizeof label, "%s: error against the exact motion, %s", t->name,
                       t->order < 0.0 ? "h = 0.0025" : "any h");
        report_add(r, label, NAN, 0.0, error[STEPS - 1], t->order < 0.0 ? 2.0 * STEP[3] : 1e-9);
    }
}

#define HEAD "\"gravity\": [0, 0, -10], \"step\": %.17g, \"tolerance\": 1e-12"
#define FLOOR                                                                                      \
    "{\"name\": \"floor\", \"type\": \"static\", \"shapes\": [{\"type\": \"plane\", \"normal\": "  \
    "[0, 0, 1]}]}"

int main(int argc, char** argv)
{
    /* A block of speed v comes to rest after v^2 / (2 mu g). A ball that slides rolls with 5/7 v +
     * 2/7 r w. A spring: x0 cos(w T), w = sqrt(k / m). A pendulum that swings little: a0 cos(T
     * sqrt(g / l)). */
    const double v = 2.003, mu = 0.3, T = 0.8, w = sqrt(40.0 / 1.3), root = sqrt(10.0 / 0.7);
    /* A ball falls from 0.73 for t1 = sqrt(2 z / g), rises with e sqrt(2 g z), and is at e u s - g
     * s^2 / 2 after T. */
    const double z = 0.73, e = 0.6, u = sqrt(20.0 * z), s = T - u / 10.0;
    const truth truths[] = {
        {.name = "sliding block",
         .text = "{" HEAD ", \"duration\": 1.2, \"parameters\": {\"v\": 2.003, \"mu\": 0.3},"
                 " \"friction\": {\"default\": \"mu\"}, \"bodies\": [" FLOOR ", {\"name\": \"b\","
                 " \"mass\": 1, \"position\": [0, 0, 0], \"velocity\": [\"v\", 0, 0], \"shapes\":"
                 " [{\"type\": \"particle\"}]}], \"measures\": {\"m\": \"b.position.x\"}}",
         .by = {"v", "mu"},
         .exact = {v / (10.0 * mu), -v * v / (20.0 * mu * mu)},
         .order = -1.0},
        {.name = "slide, then roll",
         .text = "{" HEAD ", \"duration\": 1.2, \"parameters\": {\"v\": 2, \"w\": 1.5},"
                 " \"friction\": {\"default\": 0.2}, \"bodies\": [" FLOOR ", {\"name\": \"b\","
                 " \"mass\": 3, \"position\": [0, 0, 0.25], \"velocity\": [\"v\", 0, 0],"
                 " \"angular_velocity\": [0, \"w\", 0], \"shapes\": [{\"type\": \"sphere\","
                 " \"radius\": 0.25}]}], \"measures\": {\"m\": \"b.velocity.x\"}}",
         .by = {"v", "w"},
         .exact = {5.0 / 7.0, 2.0 * 0.25 / 7.0}},
        {.name = "spring",
         .text = "{\"gravity\": [0, 0, 0], \"step\": %.17g, \"tolerance\": 1e-12, \"duration\":"
                 " 0.8, \"parameters\": {\"k\": 40, \"x\": 0.4}, \"bodies\": [{\"name\": \"b\","
                 " \"mass\": 1.3, \"inertia\": [1, 1, 1], \"position\": [\"x\", 0, 0]}],"
                 " \"forces\": [{\"type\": \"spring\", \"a\": \"world\", \"b\": \"b\","
                 " \"stiffness\": \"k\", \"rest\": 0}], \"measures\": {\"m\": \"b.position.x\"}}",
         .by = {"k", "x"},
         .exact = {-0.4 * sin(w * T) * T * 0.5 / (w * 1.3), cos(w * T)},
         .order = 1.0},
        {.name = "pendulum",
         .text =
             "{" HEAD ", \"duration\": 0.8, \"parameters\": {\"a\": 1e-4}, \"bodies\": ["
             "{\"name\": \"b\", \"mass\": 1, \"inertia\": [1e-9, 1e-9, 1e-9], \"position\":"
             " [\"0.7*sin(a)\", 0, \"-0.7*cos(a)\"]}], \"joints\": [{\"name\": \"j\", \"type\": "
             "\"spherical\","
             " \"a\": \"world\", \"b\": \"b\", \"at\": [0, 0, 0]}], \"joint_correction\": false,"
             " \"measures\": {\"m\": \"b.position.x\"}}",
         .by = {"a"},
         .exact = {0.7 * cos(root * T)},
         .order = 1.0},
        {.name = "bounce, adaptive steps",
         .text = "{\"gravity\": [0, 0, -10], \"step\": {\"error\": 1e-6, \"initial\": %.17g},"
                 " \"tolerance\": 1e-12, \"duration\": 0.8, \"restitution\": \"e1\","
                 " \"parameters\": {\"z\": 0.73, \"e1\": 0.6}, \"bodies\": [" FLOOR
                 ", {\"name\": \"b\", \"mass\": 2, \"position\": [0, 0, \"z + 0.1\"], \"shapes\":"
                 " [{\"type\": \"sphere\", \"radius\": 0.1}]}], \"measures\": {\"m\":"
                 " \"b.position.z\"}}",
         .by = {"z", "e1"},
         .exact = {e * 10.0 / u * s - (e * u - 10.0 * s) / u, u * s}},
        {.name = "bounce, fixed steps",
         .text = "{" HEAD ", \"duration\": 0.8, \"restitution\": \"e1\", \"parameters\": {\"z\":"
                 " 0.73, \"e1\": 0.6}, \"bodies\": [" FLOOR ", {\"name\": \"b\", \"mass\": 2,"
                 " \"position\": [0, 0, \"z + 0.1\"], \"shapes\": [{\"type\": \"sphere\","
                 " \"radius\": 0.1}]}], \"measures\": {\"m\": \"b.position.z\"}}",
         .by = {"z", "e1"},
         .exact = {e * 10.0 / u * s - (e * u - 10.0 * s) / u, u * s},
         .order = 1.0},
        {.name = "height of a bounce",
         .text = "{" HEAD ", \"duration\": 0.9, \"restitution\": 0.6, \"parameters\": {\"z\":"
                 " 0.73}, \"bodies\": [" FLOOR ", {\"name\": \"b\", \"mass\": 2, \"position\":"
                 " [0, 0, \"z + 0.1\"], \"shapes\": [{\"type\": \"sphere\", \"radius\": 0.1}]}],"
                 " \"measures\": {\"m\": {\"max\": \"if(t > 0.5, b.position.z, 0)\"}}}",
         .by = {"z"},
         .exact = {0.36},
         .order = -1.0},
    };
    report r;
    report_begin(&r, "gradient-truth", argc, argv);
    FILE* table = report_file(&r, "truth.dat");
    for (size_t i = 0; i < sizeof truths / sizeof truths[0]; ++i) {
        compare(&r, table, &truths[i]);
    }
    fclose(table);
    return report_end(&r);
}
