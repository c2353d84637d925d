/* experiments/w14-stack - [W14 5.2.2]: ten staggered boxes fall onto each other.
 *
 * h = 0.005, margin 0.07, offsets within 0.1 m, 0.25 m apart, the lowest fixed; 5,000 steps. The
 * thesis: the corrective method topples, the standard model is pushed aside by quadruple traps,
 * with PEG the stack stands, with gaps at machine precision.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

enum { BOXES = 10, STEPS = 5000 };

typedef struct result {
    double gap, drift, speed, turned; /* at the end, largest */
    int fallbacks;
} result;

static result stack(const char* contact, unsigned seed, int steps, FILE* table)
{
    char bodies[4096] = "";
    double x[BOXES];
    unsigned long long state = 0x9E3779B97F4A7C15ULL * (seed + 1);
    for (int i = 0; i < BOXES; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        x[i] = -0.1 + 0.2 * (double)(state >> 11) / 9007199254740992.0;
        const size_t used = strlen(bodies);
        snprintf(bodies + used, sizeof bodies - used,
                 "%s{\"name\":\"b%d\",%s\"position\":[%.17g,%.17g],\"shapes\":[{\"type\":"
                 "\"polygon\",\"vertices\":[[-0.5,-0.5],[0.5,-0.5],[0.5,0.5],[-0.5,0.5]]}]}",
                 i > 0 ? "," : "", i, i == 0 ? "\"type\":\"static\"," : "\"density\":1,", x[i],
                 1.25 * i);
    }
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":0.005,\"duration\":%.17g,\"margin\":0.07,"
        "\"contact\":\"%s\",\"friction\":{\"cone\":\"none\"},\"bodies\":[%s]}",
        0.005 * steps, contact, bodies);
    result r = {0};
    const char* error = NULL;
    while (!perp_sim_finished(run.sim) && scene_run_step(&run, &error)) {
        r = (result){.fallbacks = r.fallbacks + perp_sim_step_info(run.sim).fallbacks};
        for (int i = 0; i < BOXES; ++i) {
            const perp_body_state b = perp_sim_body(run.sim, i);
            r.gap = fmax(r.gap, fabs(b.position[1] - i));
            r.drift = fmax(r.drift, fabs(b.position[0] - x[i]));
            r.turned = fmax(r.turned, fabs(b.angle));
            r.speed = fmax(r.speed, hypot(b.velocity[0], b.velocity[1]));
        }
        if (table != NULL && perp_sim_step_count(run.sim) <= 600) {
            fprintf(table, "%.9g %.9g %.9g %.9g\n", perp_sim_time(run.sim), r.gap, r.drift,
                    r.turned);
        }
    }
    if (error != NULL) {
        r.gap = INFINITY;
    }
    scene_run_close(&run);
    return r;
}

int main(int argc, char** argv)
{
    report r;
    report_begin(&r, "w14-stack", argc, argv);
    FILE* table = report_file(&r, "peg.dat");
    const result peg = stack("peg", 0, STEPS, table);
    fclose(table);
    report_add(&r, "PEG after 5,000 steps: largest gap error (m; the thesis: machine precision)",
               0.0, 0.0, peg.gap, 1e-12);
    report_add(&r, "PEG after 5,000 steps: largest drift (m)", 0.0, 0.0, peg.drift, 1e-9);
    report_add(&r, "PEG after 5,000 steps: largest speed (m/s)", 0.0, 0.0, peg.speed, 1e-12);
    report_add(&r, "PEG: fallbacks", NAN, 0.0, peg.fallbacks, 0.0);
    double gap = 0.0, drift = 0.0;
    for (unsigned seed = 1; seed < 6; ++seed) {
        const result more = stack("peg", seed, 1000, NULL);
        gap = fmax(gap, more.gap);
        drift = fmax(drift, more.drift);
    }
    report_add(&r, "PEG, five more stacks, 1,000 steps: largest gap error (m)", 0.0, 0.0, gap,
               1e-12);
    report_add(&r, "PEG, five more stacks, 1,000 steps: largest drift (m)", 0.0, 0.0, drift, 1e-9);
    table = report_file(&r, "corrective.dat");
    const result corrective = stack("corrective", 0, 600, table);
    fclose(table);
    report_note(&r, "corrective after 600 steps: largest height error (m; the thesis: topples)",
                corrective.gap);
    table = report_file(&r, "standard.dat");
    const result standard = stack("standard", 0, 600, table);
    fclose(table);
    report_note(&r, "standard after 600 steps: largest height error (m)", standard.gap);
    report_note(&r, "standard after 600 steps: largest drift (m)", standard.drift);
    return report_end(&r);
}
