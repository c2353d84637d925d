/* bench/gradient.c - cost and truth of gradients.
 *
 *     gradient [--json FILE]
 *
 * Cost: processor time of a run, and of the run with its adjoint, over scenes of balls that fall
 * and collide; states kept and with checkpoints; by 1 and by 100 start velocities and masses.
 * Measured in turns, the least of some repeats. The time to build the models of the parameters is
 * given apart: a gradient of a run of 0 steps.
 * Truth: seeded scenes of balls (round and polygon cones) with a spring, against central
 * differences of whole runs: the largest disagreement relative to the largest derivative, over
 * scenes without flagged steps.
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

enum { REPEATS = 5, CASES = 60, TEXT = 1 << 16, MOST = 100 };

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static uint32_t seed;
static double draw(double low, double high)
{
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * ((double)(seed >> 8) / 16777216.0);
}

static void put(char* text, const char* format, ...) PERP_PRINTF(2, 3);
static void put(char* text, const char* format, ...)
{
    const size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text + used, TEXT - used, format, list);
    va_end(list);
}

/* Balls over a slope; parameters v0, m0, v1, m1, ... */
static void write_balls(char* text, int bodies, int dimension, double duration)
{
    const bool planar = dimension == 2;
    text[0] = '\0';
    put(text, "{\"dimension\": %d, \"gravity\": %s, \"step\": 0.01, \"duration\": %g,", dimension,
        planar ? "[0, -9.81]" : "[0, 0, -9.81]", duration);
    put(text, "\"tolerance\": 1e-10, \"friction\": {\"default\": 0.4}, \"parameters\": {");
    for (int i = 0; i < bodies; ++i) {
        put(text, "%s\"v%d\": %.3f, \"m%d\": %.3f", i > 0 ? ", " : "", i, draw(-1, 1), i,
            draw(0.5, 2));
    }
    put(text, "}, \"bodies\": [{\"name\": \"floor\", \"type\": \"static\", \"shapes\": [%s]}",
        planar ? "{\"type\": \"halfplane\", \"normal\": [0.05, 1]}"
               : "{\"type\": \"plane\", \"normal\": [0.05, 0, 1]}");
    for (int i = 0; i < bodies; ++i) {
        put(text,
            ", {\"name\": \"b%d\", \"mass\": \"m%d\", \"shapes\": [{\"type\": \"%s\", \"radius\": "
            "0.18}],",
            i, i, planar ? "circle" : "sphere");
        if (planar) {
            put(text, "\"position\": [%.4f, %.4f], \"velocity\": [\"v%d\", 0]}",
                0.5 * (i % 6) + draw(0, 0.1), 0.4 + 0.5 * (i / 6), i);
        } else {
            put(text, "\"position\": [%.4f, %.4f, %.4f], \"velocity\": [\"v%d\", 0.1, 0]}",
                0.5 * (i % 3) + draw(0, 0.1), 0.5 * (i / 3 % 3) + draw(0, 0.1), 0.4 + 0.5 * (i / 9),
                i);
        }
    }
    put(text, "], \"measures\": {\"x\": \"b0.position.x\"}}");
}

/* The least processor time of some repeats; parameters 0: of the run alone. */
static double time_of(perp_context* context, const char* text, int parameters, bool checkpoints)
{
    static char name[MOST][16];
    const char* names[MOST];
    double best = INFINITY;
    for (int i = 0; i < parameters; ++i) {
        (void)snprintf(name[i], sizeof name[i], "%c%d", i % 2 == 0 ? 'v' : 'm', i / 2);
        names[i] = name[i];
    }
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "x";
    def.parameter = names;
    def.parameter_count = parameters;
    def.checkpoints = checkpoints;
    for (int r = 0; r < REPEATS; ++r) {
        perp_scene* scene = NULL;
        perp_sim* sim = NULL;
        perp_gradient* g = NULL;
        perp_status status =
            perp_scene_parse(context, text, strlen(text), "bench", NULL, 0, &scene);
        const double begin = cpu_seconds();
        if (status == PERP_OK && parameters > 0) {
            status = perp_gradient_create(context, scene, &def, &g);
        } else if (status == PERP_OK) {
            status = perp_sim_create_from_scene(context, scene, &sim);
            status = status == PERP_OK ? perp_sim_run(sim) : status;
        }
        const double took = cpu_seconds() - begin;
        if (status != PERP_OK) {
            fprintf(stderr, "gradient: %s\n", perp_context_error(context));
            exit(3);
        }
        best = took < best ? took : best;
        perp_gradient_destroy(g);
        perp_sim_destroy(sim);
        perp_scene_destroy(scene);
    }
    return best;
}

static void measure_cost(perp_context* context, table* t, int bodies, int dimension)
{
    static char text[TEXT], empty[TEXT];
    char label[80];
    seed = 7;
    write_balls(text, bodies, dimension, 3.0);
    seed = 7;
    write_balls(empty, bodies, dimension, 0.01);
    const double run = time_of(context, text, 0, false);
    const struct {
        const char* name;
        int parameters;
        bool checkpoints;
    } rows[] = {{"kept, 1 parameter", 1, false},
                {"kept, 100 parameters", 100, false},
                {"checkpoints, 1 parameter", 1, true}};
    (void)snprintf(label, sizeof label, "%d balls, %dD: run", bodies, dimension);
    table_add(t, label, 1e3 * run, "ms");
    for (int i = 0; i < 3; ++i) {
        const double all = time_of(context, text, rows[i].parameters, rows[i].checkpoints);
        const double build = time_of(context, empty, rows[i].parameters, false);
        (void)snprintf(label, sizeof label, "%d balls, %dD: %s, with the run", bodies, dimension,
                       rows[i].name);
        table_add(t, label, (all - build) / run, "runs");
        (void)snprintf(label, sizeof label, "%d balls, %dD: %s, models", bodies, dimension,
                       rows[i].name);
        table_add(t, label, build / run, "runs");
    }
}

/* ---- truth ---------------------------------------------------------------------------------------*/

static void write_case(char* text)
{
    const int bodies = 2 + (int)draw(0, 4);
    text[0] = '\0';
    put(text, "{\"dimension\": 3, \"gravity\": [0, 0, -9.81], \"step\": 0.01, \"duration\": %.2f,",
        draw(0.3, 0.8));
    put(text,
        "\"tolerance\": 1e-12, \"parameters\": {\"mu\": %.3f, \"m\": %.3f, \"v\": %.3f, \"r\": "
        "%.3f, \"k\": %.2f},",
        draw(0.15, 0.6), draw(0.5, 2), draw(0.5, 2.5), draw(0.15, 0.3), draw(5, 40));
    put(text,
        "\"friction\": {\"default\": \"mu\"%s}, \"bodies\": [{\"name\": \"floor\", \"type\": "
        "\"static\","
        " \"shapes\": [{\"type\": \"plane\", \"normal\": [%.3f, 0, 1]}]}",
        draw(0, 1) < 0.5 ? ", \"cone\": \"polygon\", \"directions\": 6" : "", draw(-0.1, 0.1));
    for (int i = 0; i < bodies; ++i) {
        put(text,
            ", {\"name\": \"b%d\", \"mass\": %s, \"shapes\": [{\"type\": \"sphere\", \"radius\": "
            "%s}],",
            i, i == 0 ? "\"m\"" : "1.1", i == 0 ? "\"r\"" : "0.2");
        put(text,
            "\"position\": [%.4f, %.4f, %.4f], \"velocity\": [%s, %.3f, %.3f], "
            "\"angular_velocity\": [%.3f, %.3f, %.3f]}",
            draw(-0.5, 0.5), draw(-0.5, 0.5), 0.4 + 0.5 * i, i == 0 ? "\"v\"" : "0.3", draw(-1, 1),
            draw(-1, 1), draw(-4, 4), draw(-4, 4), draw(-4, 4));
    }
    put(text,
        "], \"forces\": [{\"type\": \"spring\", \"a\": \"b0\", \"b\": \"b1\", \"stiffness\": \"k\","
        " \"damping\": 0.3, \"rest\": 0.6}], \"measures\": {\"x\": \"b0.position.x +"
        " 0.2*b0.velocity.z + 0.1*b0.angular_velocity.y\"}}");
}

static void measure_truth(perp_context* context, table* t)
{
    static char text[TEXT];
    static const char* const names[] = {"mu", "m", "v", "r", "k"};
    double worst = 0.0;
    int compared = 0, within = 0, flagged = 0;
    for (int i = 0; i < CASES; ++i) {
        perp_scene* scene = NULL;
        perp_gradient* g = NULL;
        double difference[5], off = 0.0, size = 0.0;
        seed = 1000u + (uint32_t)i;
        write_case(text);
        perp_gradient_def def = perp_gradient_def_default();
        def.measure = "x";
        def.parameter = names;
        def.parameter_count = 5;
        perp_status status = perp_scene_parse(context, text, strlen(text), "case", NULL, 0, &scene);
        status = status == PERP_OK ? perp_gradient_create(context, scene, &def, &g) : status;
        const bool clean = status == PERP_OK && perp_gradient_flags_of(g).flagged == 0;
        flagged += status == PERP_OK && !clean;
        if (clean && perp_gradient_difference(context, scene, &def, difference, NULL) == PERP_OK) {
            for (int k = 0; k < 5; ++k) {
                off = fmax(off, fabs(difference[k] - perp_gradient_of(g, k)));
                size = fmax(size, fabs(difference[k]));
            }
            compared += 1;
            within += off <= 1e-6 * size;
            worst = fmax(worst, off / size);
        }
        perp_gradient_destroy(g);
        perp_scene_destroy(scene);
    }
    table_add(t, "scenes without flagged steps", compared, "");
    table_add(t, "flagged", flagged, "");
    table_add(t, "of the first, within 1e-6 of differences", within, "");
    table_add(t, "largest disagreement", worst, "");
}

int main(int argc, char** argv)
{
    table t = table_begin("gradient", argc, argv);
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    measure_cost(context, &t, 50, 2);
    measure_cost(context, &t, 50, 3);
    measure_truth(context, &t);
    perp_context_destroy(context);
    return table_end(&t);
}
