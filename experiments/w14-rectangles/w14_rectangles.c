/* experiments/w14-rectangles - [W14 5.3]: what one step of rotation leaves of the geometry.
 *
 * Two rectangles in contact turn together at 1 rad/s for one step. The contact frames stay, so the
 * centres keep their distance c along the old normal and the faces overlap by c (1 - cos h) along the
 * new one. The areas printed are 0.5 (1 - cos h): quadratic in h, not proportional as the text says.
 */
#include <math.h>
#include <stdio.h>

#include "common/report.h"
#include "common/scene.h"

static double area_after(double h)
{
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,0],\"step\":%.17g,\"duration\":%.17g,\"contact\":\"peg\","
        "\"friction\":{\"cone\":\"none\"},\"bodies\":[{\"name\":\"lower\",\"density\":1,"
        "\"position\":[0,-0.25],\"angular_velocity\":1,\"shapes\":[{\"type\":\"box\",\"size\":[2,0."
        "5]}]},"
        "{\"name\":\"upper\",\"density\":1,\"position\":[0,0.25],\"angular_velocity\":1,\"shapes\":"
        "[{"
        "\"type\":\"box\",\"size\":[1,0.5]}]}]}",
        h, h);
    scene_run_step(&run, NULL);
    const double area = perp_sim_overlap_area(run.sim);
    scene_run_close(&run);
    return area;
}

int main(int argc, char** argv)
{
    const double h[] = {0.01, 0.1, 0.2, 0.3, 0.4, 0.5};
    const double paper[] = {0.000025, 0.0025, 0.01, 0.0223, 0.0395, 0.0612};
    report r;
    report_begin(&r, "w14-rectangles", argc, argv);
    FILE* table = report_file(&r, "area.dat");
    for (int i = 0; i < 6; ++i) {
        char name[64];
        snprintf(name, sizeof name, "area error at h = %g", h[i]);
        const double area = area_after(h[i]);
        report_add(&r, name, paper[i], 0.5 * (1.0 - cos(h[i])), area, 1e-14);
        fprintf(table, "%.17g %.17g %.17g\n", h[i], paper[i], area);
    }
    fclose(table);
    return report_end(&r);
}
