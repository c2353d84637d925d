/* experiments/p09-step-size - the error of a trajectory over the step size: [P09] 3.2.
 *
 * A particle on the centrifuge plate for 6 s with the quadratic cone. The error of h is the distance
 * at time t from the trajectory of h = 5e-5, taken for the truth, as in figures 10 and 11; here the
 * largest over the 6 s.
 *
 * The paper's slopes, 1.19 from h = 1e-3 to 5e-4 and 1.41 from 5e-4 to 1e-4, read as "between O(h)
 * and O(h^2)". A method of first order has the error C (h - h0) against a truth of step h0: slopes
 *     log((1e-3 - 5e-5) / (5e-4 - 5e-5)) / log 2 = 1.08,  log((5e-4 - 5e-5) / (1e-4 - 5e-5)) / log 5 = 1.37
 * which is what `expected` says. Against a truth four times finer the slopes fall towards 1.
 *
 * The particle starts moving with the plate, 2 cm from its centre; it leaves the plate now and then
 * as it gets further out.
 */
#include <math.h>
#include <stdlib.h>

#include "common/plate.h"
#include "common/report.h"

enum { SAMPLES = 600 }; /* every 0.01 s */

/* The place on the plate at the samples; returns the worst certificate. */
static double trajectory(double h, double (*place)[3])
{
    static const double at[1][2] = {{0.02, 0.0}};
    const plate_def def = {.motion = &plate_centrifuge,
                           .h = h,
                           .duration = SAMPLES * 0.01,
                           .mu = 0.3,
                           .parts = 1,
                           .at = at};
    plate_run run;
    plate_open(&run, &def);
    double certificate = 0.0, slip[3];
    const int per = (int)round(0.01 / h);
    for (int k = 0; k < SAMPLES; ++k) {
        for (int i = 0; i < per; ++i) {
            certificate = fmax(certificate, plate_step(&run).certificate.worst);
        }
        plate_part(&run, 0, place[k], slip);
    }
    plate_close(&run);
    return certificate;
}

static double distance(const double* a, const double* b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

int main(int argc, char** argv)
{
    enum { COUNT = 7 };
    static const double h[COUNT] = {1e-3, 5e-4, 2.5e-4, 2e-4, 1e-4, 5e-5, 1.25e-5};
    enum { TRUTH = 5, FINE = 6 };
    static double place[COUNT][SAMPLES][3];
    report r;
    report_begin(&r, "p09-step-size", argc, argv);
    double certificate = 0.0, error[COUNT], fine[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        certificate = fmax(certificate, trajectory(h[i], place[i]));
    }
    FILE* f = report_file(&r, "trajectories.dat");
    fprintf(f, "# t, then x y (cm) and distance from h = 5e-5 (cm) for each h\n");
    for (int k = 0; k < SAMPLES; ++k) {
        fprintf(f, "%g", 0.01 * (k + 1));
        for (int i = 0; i < COUNT; ++i) {
            fprintf(f, " %.6g %.6g %.6g", 100 * place[i][k][0], 100 * place[i][k][1],
                    100 * distance(place[i][k], place[TRUTH][k]));
        }
        fprintf(f, "\n");
    }
    fclose(f);
    f = report_file(&r, "errors.dat");
    fprintf(f, "# h, error against 5e-5, against 1.25e-5 (m)\n");
    for (int i = 0; i < TRUTH; ++i) {
        error[i] = fine[i] = 0.0;
        for (int k = 0; k < SAMPLES; ++k) {
            error[i] = fmax(error[i], distance(place[i][k], place[TRUTH][k]));
            fine[i] = fmax(fine[i], distance(place[i][k], place[FINE][k]));
        }
        fprintf(f, "%g %.9g %.9g\n", h[i], error[i], fine[i]);
        char name[80];
        snprintf(name, sizeof name, "largest distance from h = 5e-5 in 6 s (m), h = %g", h[i]);
        report_note(&r, name, error[i]);
    }
    fclose(f);
    const double long_slope = log(error[0] / error[1]) / log(2.0);
    const double short_slope = log(error[1] / error[4]) / log(5.0);
    report_add(&r, "slope from h = 1e-3 to 5e-4", 1.19, log(950.0 / 450.0) / log(2.0), long_slope,
               0.1);
    report_add(&r, "slope from h = 5e-4 to 1e-4", 1.41, log(450.0 / 50.0) / log(5.0), short_slope,
               0.1);
    report_add(&r, "slope from h = 5e-4 to 1e-4 against h = 1.25e-5", NAN,
               log((5e-4 - 1.25e-5) / (1e-4 - 1.25e-5)) / log(5.0),
               log(fine[1] / fine[4]) / log(5.0), 0.1);
    report_add(&r, "certificate", NAN, 0.0, certificate, 1e-9);
    return report_end(&r);
}
