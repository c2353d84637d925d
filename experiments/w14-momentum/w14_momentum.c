/* experiments/w14-momentum - [W14 5.4]: a body runs into a row of four others, inelastically.
 *
 * Masses 1.5, 1, 0.25, 0.12, 0.8 and 2 m/s as printed; sizes and gaps are ours. After the k-th impact
 * the first k + 1 bodies move together at 3 / (sum of their masses).
 */
#include <math.h>
#include <stdio.h>

#include "common/report.h"
#include "common/scene.h"

int main(int argc, char** argv)
{
    const double mass[] = {1.5, 1.0, 0.25, 0.12, 0.8};
    report r;
    report_begin(&r, "w14-momentum", argc, argv);
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,0],\"step\":0.01,\"duration\":3,\"contact\":\"peg\","
        "\"friction\":{\"cone\":\"none\"},\"bodies\":["
        "{\"name\":\"a\",\"mass\":1.5,\"position\":[0,0],\"velocity\":[2,0],\"shapes\":[{\"type\":"
        "\"box\",\"size\":[1,1]}]},"
        "{\"name\":\"b\",\"mass\":1,\"position\":[1.4,0],\"shapes\":[{\"type\":\"box\",\"size\":[0."
        "8,0.8]}]},"
        "{\"name\":\"c\",\"mass\":0.25,\"position\":[2.55,0],\"shapes\":[{\"type\":\"box\","
        "\"size\":[0.5,0.5]}]},"
        "{\"name\":\"d\",\"mass\":0.12,\"position\":[3.5,0],\"shapes\":[{\"type\":\"box\",\"size\":"
        "[0.4,0.4]}]},"
        "{\"name\":\"e\",\"mass\":0.8,\"position\":[4.55,0],\"shapes\":[{\"type\":\"box\",\"size\":"
        "[0.7,0.7]}]}]}");
    FILE* table = report_file(&r, "momentum.dat");
    double off = 0.0, plateau = 0.0, side = 0.0;
    while (!perp_sim_finished(run.sim)) {
        scene_run_step(&run, NULL);
        double linear[3], angular[3], moving = 0.0;
        perp_sim_momentum(run.sim, linear, angular);
        off = fmax(off, fabs(linear[0] - 3.0));
        side = fmax(side, fabs(linear[1]) + fabs(angular[2]));
        fprintf(table, "%.9g", perp_sim_time(run.sim));
        for (int i = 0; i < 5; ++i) {
            const double v = perp_sim_body(run.sim, i).velocity[0];
            moving += v > 1e-9 ? mass[i] : 0.0;
            fprintf(table, " %.9g", mass[i] * v);
        }
        fprintf(table, " %.9g\n", linear[0]);
        /* who moves, moves together; but for the step in which the gap to the next one is closed */
        const double v = perp_sim_body(run.sim, 0).velocity[0];
        int32_t count;
        (void)perp_sim_contacts(run.sim, &count);
        if (perp_sim_step_info(run.sim).contacts == 0) {
            plateau = fmax(plateau, fabs(v - 3.0 / moving));
        }
    }
    fclose(table);
    report_add(&r, "largest deviation of the total momentum (kg m/s; the thesis: constant)", 0.0,
               0.0, off, 1e-12);
    report_add(&r, "momentum across and about the row", 0.0, 0.0, side, 1e-12);
    report_add(&r, "between impacts: deviation from 3 / (mass that moves)", 0.0, 0.0, plateau,
               1e-12);
    report_add(&r, "velocity at the end", 3.0 / 3.67, 3.0 / 3.67,
               perp_sim_body(run.sim, 4).velocity[0], 1e-12);
    scene_run_close(&run);
    return report_end(&r);
}
