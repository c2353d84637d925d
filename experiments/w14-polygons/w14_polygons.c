/* experiments/w14-polygons - [W14 5.2.3]: polygons poured into a box, PEG against corrective.
 *
 * Each polygon is the hull of ten random points within +-0.25, as printed; one is let go every 0.25 s
 * for 5 s. Box, places and the absence of friction are ours: five columns that sink slowly, without
 * gravity, towards a box 3 m wide; a polygon is let go when it comes to the height of 1.7 m. Ten seeds,
 * h from 0.001 to 0.01; the error is the area of overlap of all pairs, averaged over the steps.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/polygons.h"
#include "common/report.h"
#include "common/scene.h"

enum { POLYGONS = 20, SEEDS = 10, WALLS = 3 };

/* Holds the polygons whose time has not come. */
static perp_status hold(void* user, perp_sim* sim)
{
    (void)user;
    for (int i = 0; i < POLYGONS; ++i) {
        if (perp_sim_time(sim) < 0.25 * i - 1e-9) {
            const double force[3] = {
                0.0, 9.81 * perp_model_body_info(perp_sim_model(sim), WALLS + i).mass, 0.0};
            const perp_status status = perp_sim_apply_wrench(sim, WALLS + i, force, NULL);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

typedef struct result {
    double area;              /* mean over the steps */
    double contacts, crossed; /* per step: contacts in the problem; groups with a violated member */
    double microseconds;      /* per solve */
    int fallbacks;
    bool finished;
} result;

static result pour(const char* contact, unsigned seed, double h, FILE* table)
{
    char bodies[32768];
    random_begin(seed);
    size_t used = (size_t)snprintf(bodies, sizeof bodies,
                                   "{\"name\":\"floor\",\"type\":\"static\",\"position\":[0,-0.5],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[5,1]}]},"
                                   "{\"name\":\"left\",\"type\":\"static\",\"position\":[-2,4],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[1,10]}]},"
                                   "{\"name\":\"right\",\"type\":\"static\",\"position\":[2,4],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[1,10]}]}");
    for (int i = 0; i < POLYGONS; ++i) {
        const polygon p = random_polygon(0.25);
        used += (size_t)snprintf(
            bodies + used, sizeof bodies - used,
            ",{\"name\":\"p%d\",\"density\":1,\"position\":[%.17g,%.17g],"
            "\"velocity\":[0,-0.48],\"shapes\":[{\"type\":\"polygon\",\"vertices\":",
            i, -1.16 + 0.58 * (i % 5), 1.7 + 0.48 * 0.25 * i);
        used += polygon_text(&p, bodies + used, sizeof bodies - used);
        used += (size_t)snprintf(bodies + used, sizeof bodies - used, "}]}");
    }
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":%.17g,\"duration\":5,\"contact\":\"%s\","
        "\"friction\":{\"cone\":\"none\"},\"bodies\":[%s]}",
        h, contact, bodies);
    perp_sim_on_step(run.sim, hold, NULL);
    result r = {.finished = true};
    double steps = 0.0;
    while (!perp_sim_finished(run.sim)) {
        const char* error = NULL;
        if (!scene_run_step(&run, &error)) {
            r.finished = false;
            break;
        }
        const perp_step_info info = perp_sim_step_info(run.sim);
        const double area = perp_sim_overlap_area(run.sim);
        int32_t count, crossed = 0;
        const perp_contact* c = perp_sim_contacts(run.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            /* what the standard model would have forbidden */
            crossed += c[i].group != 0 && c[i].gap < -1e-9 && c[i].impulse[0] == 0.0;
        }
        if (table != NULL) {
            fprintf(table, "%.9g %.9g %d %d\n", perp_sim_time(run.sim), area, count, crossed);
        }
        steps += 1.0;
        r.area += area;
        r.contacts += count;
        r.crossed += crossed;
        r.microseconds += 1e6 * info.report.seconds;
        r.fallbacks += info.fallbacks;
    }
    r.area /= steps;
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
    report_begin(&r, "w14-polygons", argc, argv);
    FILE* table = report_file(&r, "area.dat");
    fprintf(table,
            "# h, then for peg and corrective: median, first and third quartile of the area\n");
    double previous = NAN;
    int fallbacks = 0;
    for (int i = 0; i < 4; ++i) {
        double median[2], solve[2];
        fprintf(table, "%g", h[i]);
        for (int k = 0; k < 2; ++k) {
            double area[SEEDS], time[SEEDS];
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
                    area[n] = one.area;
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
            median[k] = quantile(area, n, 0.5);
            solve[k] = quantile(time, n, 0.5);
            fprintf(table, " %.9g %.9g %.9g", median[k], quantile(area, n, 0.25),
                    quantile(area, n, 0.75));
            snprintf(name, sizeof name, "%s at h = %g: median overlap (m^2)", model[k], h[i]);
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
