/* experiments/w14-polyhedra - [W14 5.2.4]: polyhedra dropped into a box, PEG against corrective.
 *
 * A polyhedron is dropped every 0.5 s for 5 s with a horizontal velocity in the negative x direction, as
 * printed. Sizes, box, places and the absence of friction are ours: hulls of ten random points within
 * +-0.25, which sink slowly, without gravity, towards a box 1.2 m wide and are let go at 1.2 m. Ten seeds,
 * h from 0.001 to 0.01; the error is the volume of overlap of all pairs, averaged over steps 0.01 s
 * apart. A trap is a contact that the standard model would hold, violated while the bodies are
 * apart.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

enum { POLYHEDRA = 10, SEEDS = 10, WALLS = 5 };

static const double INTERVAL = 0.5, SINK = 0.5, SIDEWAYS = 0.5; /* s, m/s, m/s */

static unsigned long long state;
static double uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

/* Holds the polyhedra that are not released yet, and sets the horizontal velocity at release. */
static perp_status hold(void* user, perp_sim* sim)
{
    const double h = *(const double*)user, t = perp_sim_time(sim);
    for (int i = 0; i < POLYHEDRA; ++i) {
        const double mass = perp_model_body_info(perp_sim_model(sim), WALLS + i).mass;
        const bool held = t < INTERVAL * i - 0.5 * h, now = !held && t < INTERVAL * i + 0.5 * h;
        const double force[3] = {now ? -mass * SIDEWAYS / h : 0.0, 0.0, held ? 9.81 * mass : 0.0};
        if (held || now) {
            const perp_status status = perp_sim_apply_wrench(sim, WALLS + i, force, NULL);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

typedef struct result {
    double volume;            /* mean over the steps */
    double contacts, crossed; /* per step: contacts in the problem; groups with a violated member */
    double microseconds;      /* per solve */
    int fallbacks;
    bool finished;
} result;

static size_t add_wall(char* text, size_t size, const char* name, const double* at,
                       const double* wide)
{
    return (size_t)snprintf(text, size,
                            "{\"name\":\"%s\",\"type\":\"static\",\"position\":[%g,%g,%g],"
                            "\"shapes\":[{\"type\":\"box\",\"size\":[%g,%g,%g]}]}",
                            name, at[0], at[1], at[2], wide[0], wide[1], wide[2]);
}

static result pour(const char* contact, unsigned seed, double h, FILE* table)
{
    static const char* const wall[WALLS] = {"floor", "right", "left", "back", "front"};
    static const double at[WALLS][3] = {
        {0, 0, -0.5}, {1.1, 0, 4}, {-1.1, 0, 4}, {0, 1.1, 4}, {0, -1.1, 4}};
    static const double wide[WALLS][3] = {
        {3, 3, 1}, {1, 3, 10}, {1, 3, 10}, {3, 1, 10}, {3, 1, 10}};
    char bodies[32768];
    size_t used = 0;
    state = 0x9E3779B97F4A7C15ULL * (seed + 1);
    for (int i = 0; i < WALLS; ++i) {
        used += (size_t)snprintf(bodies + used, sizeof bodies - used, "%s", i > 0 ? "," : "");
        used += add_wall(bodies + used, sizeof bodies - used, wall[i], at[i], wide[i]);
    }
    for (int i = 0; i < POLYHEDRA; ++i) {
        used += (size_t)snprintf(
            bodies + used, sizeof bodies - used,
            ",{\"name\":\"p%d\",\"density\":1,\"position\":[%.17g,%.17g,%.17g],"
            "\"velocity\":[0,0,%g],\"shapes\":[{\"type\":\"polyhedron\",\"vertices\":[",
            i, i % 2 == 0 ? 0.29 : -0.29, i % 4 < 2 ? 0.29 : -0.29, 1.2 + SINK * INTERVAL * i,
            -SINK);
        for (int k = 0; k < 10; ++k) {
            const double x = uniform(-0.25, 0.25), y = uniform(-0.25, 0.25);
            used += (size_t)snprintf(bodies + used, sizeof bodies - used, "%s[%.17g,%.17g,%.17g]",
                                     k > 0 ? "," : "", x, y, uniform(-0.25, 0.25));
        }
        used += (size_t)snprintf(bodies + used, sizeof bodies - used, "]}]}");
    }
    scene_run run = scene_run_open(
        "{\"dimension\":3,\"gravity\":[0,0,-9.81],\"step\":%.17g,\"duration\":5,\"contact\":\"%s\","
        "\"friction\":{\"cone\":\"none\"},\"bodies\":[%s]}",
        h, contact, bodies);
    perp_sim_on_step(run.sim, hold, &h);
    result r = {.finished = true};
    double steps = 0.0, measured = 0.0;
    const int every = (int)lround(0.01 / h);
    while (!perp_sim_finished(run.sim)) {
        const char* error = NULL;
        if (!scene_run_step(&run, &error)) {
            r.finished = false;
            break;
        }
        const perp_step_info info = perp_sim_step_info(run.sim);
        double volume = 0.0;
        if (perp_sim_step_count(run.sim) % every == 0) {
            if (perp_sim_overlap_volume(run.sim, &volume) != PERP_OK) {
                r.finished = false;
                break;
            }
            measured += 1.0;
        }
        int32_t count, crossed = 0;
        const perp_contact* c = perp_sim_contacts(run.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            /* what the standard model would have forbidden; the same features in another group are the
             * next in the list */
            const bool again = i > 0 && c[i - 1].key >> 5 == c[i].key >> 5;
            crossed += !again && c[i].group != 0 && c[i].gap < -1e-9 && c[i].impulse[0] == 0.0;
        }
        if (table != NULL) {
            fprintf(table, "%.9g %.9g %d %d\n", perp_sim_time(run.sim), volume, count, crossed);
        }
        steps += 1.0;
        r.volume += volume;
        r.contacts += count;
        r.crossed += crossed;
        r.microseconds += 1e6 * info.report.seconds;
        r.fallbacks += info.fallbacks;
    }
    r.volume /= measured;
    r.contacts /= steps;
    r.crossed /= steps;
    r.microseconds /= steps;
    scene_run_close(&run);
    return r;
}

int main(int argc, char** argv)
{
    static const char* const model[] = {"peg", "corrective"};
    const double h[] = {0.001, 0.002, 0.005, 0.01};
    report r;
    report_begin(&r, "w14-polyhedra", argc, argv);
    FILE* table = report_file(&r, "volume.dat");
    fprintf(table,
            "# h, then for peg and corrective: median, first and third quartile of the volume\n");
    double previous = NAN;
    int fallbacks = 0;
    for (int i = 0; i < 4; ++i) {
        double median[2], solve[2];
        fprintf(table, "%g", h[i]);
        for (int k = 0; k < 2; ++k) {
            double volume[SEEDS], time[SEEDS];
            int n = 0;
            for (unsigned seed = 0; seed < SEEDS; ++seed) {
                FILE* steps =
                    seed == 0 && h[i] == 0.01
                        ? report_file(&r, k == 0 ? "steps-peg.dat" : "steps-corrective.dat")
                        : NULL;
                const result one = pour(model[k], seed, h[i], steps);
                if (steps != NULL) {
                    fclose(steps);
                    char name[96];
                    snprintf(name, sizeof name, "%s at h = 0.01: contacts per step", model[k]);
                    report_note(&r, name, one.contacts);
                    if (k == 0) {
                        report_note(&r, "peg at h = 0.01: traps passed per step", one.crossed);
                    }
                }
                fallbacks += one.fallbacks;
                if (one.finished) {
                    volume[n] = one.volume;
                    time[n++] = one.microseconds;
                }
            }
            char name[96];
            snprintf(name, sizeof name, "%s at h = %g: runs that came to the end, of 10", model[k],
                     h[i]);
            if (k == 0) {
                report_add(&r, name, 10, 10, n, 0.0);
            } else {
                report_note(&r, name, n);
            }
            median[k] = quantile(volume, n, 0.5);
            solve[k] = quantile(time, n, 0.5);
            fprintf(table, " %.9g %.9g %.9g", median[k], quantile(volume, n, 0.25),
                    quantile(volume, n, 0.75));
            snprintf(name, sizeof name, "%s at h = %g: median overlap (m^3)", model[k], h[i]);
            report_note(&r, name, median[k]);
        }
        fprintf(table, "\n");
        char name[96];
        snprintf(name, sizeof name, "h = %g: PEG's overlap, of corrective's", h[i]);
        report_add(&r, name, NAN, 0.0, median[0] / median[1], 0.01);
        snprintf(name, sizeof name, "h = %g: time of a solve, PEG over corrective", h[i]);
        report_note(&r, name, solve[0] / solve[1]);
        if (i > 0) {
            snprintf(name, sizeof name, "order of PEG's overlap up to h = %g (rotation error: 2)",
                     h[i]);
            report_note(&r, name, log(median[0] / previous) / log(h[i] / h[i - 1]));
        }
        previous = median[0];
    }
    fclose(table);
    report_note(&r, "fallbacks", fallbacks);
    return report_end(&r);
}
