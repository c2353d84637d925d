/* experiments/p09-fields - the velocity fields that shaken plates make: [P09] 3.1.2, 5.1, 5.2.
 *
 * Each plate twice, at h = 1e-4 with mu = 0.3: a grid of particles for 20 periods, whose mean
 * velocities over the last 10 are the field, and some particles for 6 s (figures 7, 17 to 20).
 *
 * The learned circle is to give the angular velocity 0.15 at any radius from 4 to 8 cm, and does,
 * with the coefficients of (27), (28) in m/s^2: that settles the units. The learned saddle is to
 * give (-0.2 x, 0.2 y). The translation of the centrifuge is not printed; p''_x = 8 sin(66 pi t),
 * p''_y = 8 sin(66 pi t + pi/2) m/s^2 (ours) carries particles outwards and around.
 * The circle: below a radius the particle sticks in part of each period. [P09] says 6 cm, which fits
 * mu = 0.16; with the 0.3 that the learned circle needs it is 10 cm, because the plate's vertical
 * shaking nearly doubles the normal force just when the particle is slow relative to the plate.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/plate.h"
#include "common/report.h"

enum { GRID = 7, SETTLE = 10, PERIODS = 20, PATHS = 8 };
static const double H = 1e-4, MU = 0.3, SPACING = 0.02;

typedef struct field {
    double J[2][2]; /* v = J x, fitted within `reach` */
    double certificate;
} field;

/* Mean velocities on the grid; times that are no multiple of h lie within h of the period's end. */
static field measure(const report* r, const plate* motion, double reach)
{
    static double at[GRID * GRID][2], from[GRID * GRID][3];
    for (int k = 0; k < GRID * GRID; ++k) {
        at[k][0] = SPACING * (k % GRID - GRID / 2);
        at[k][1] = SPACING * (k / GRID - GRID / 2);
    }
    const plate_def def = {.motion = motion,
                           .h = H,
                           .duration = (double)PERIODS / PLATE_HERTZ + H,
                           .mu = MU,
                           .parts = GRID * GRID,
                           .at = (const double(*)[2])at};
    plate_run run;
    plate_open(&run, &def);
    field out = {0};
    double slip[3], begin = 0.0;
    const int first = (int)round(SETTLE / (PLATE_HERTZ * H));
    const int last = (int)round(PERIODS / (PLATE_HERTZ * H));
    for (int i = 0; i < last; ++i) {
        out.certificate = fmax(out.certificate, plate_step(&run).certificate.worst);
        for (int k = 0; i + 1 == first && k < GRID * GRID; ++k) {
            plate_part(&run, k, from[k], slip);
            begin = perp_sim_time(run.sim);
        }
    }
    char name[64];
    snprintf(name, sizeof name, "field-%s.dat", motion->name);
    FILE* f = report_file(r, name);
    fprintf(f, "# x y vx vy (cm, cm/s)\n");
    double xx = 0, xy = 0, yy = 0, b[2][2] = {{0}};
    for (int k = 0; k < GRID * GRID; ++k) {
        double to[3], v[2], x[2];
        plate_part(&run, k, to, slip);
        for (int i = 0; i < 2; ++i) {
            v[i] = (to[i] - from[k][i]) / (perp_sim_time(run.sim) - begin);
            x[i] = 0.5 * (to[i] + from[k][i]);
        }
        fprintf(f, "%.6g %.6g %.6g %.6g\n", 100 * x[0], 100 * x[1], 100 * v[0], 100 * v[1]);
        if (hypot(at[k][0], at[k][1]) <= reach) {
            xx += x[0] * x[0];
            xy += x[0] * x[1];
            yy += x[1] * x[1];
            for (int i = 0; i < 2; ++i) {
                b[i][0] += v[i] * x[0];
                b[i][1] += v[i] * x[1];
            }
        }
    }
    fclose(f);
    plate_close(&run);
    const double det = xx * yy - xy * xy;
    for (int i = 0; i < 2; ++i) {
        out.J[i][0] = (yy * b[i][0] - xy * b[i][1]) / det;
        out.J[i][1] = (xx * b[i][1] - xy * b[i][0]) / det;
    }
    return out;
}

typedef struct path {
    double rate, drift; /* mean angular velocity about the centre; change of the radius */
    double stuck;       /* share of the steps with contact inside the cone, after 10 periods */
} path;

/* count particles from at[] for some seconds, recorded once a period. */
static double follow(const report* r, const plate* motion, double mu, double seconds, int count,
                     const double (*at)[2], path* out)
{
    const plate_def def = {
        .motion = motion, .h = H, .duration = seconds, .mu = mu, .parts = count, .at = at};
    plate_run run;
    plate_open(&run, &def);
    char name[64];
    snprintf(name, sizeof name, "paths-%s.dat", motion->name);
    FILE* f = r != NULL ? report_file(r, name) : NULL;
    double certificate = 0.0, place[3], slip[3], touched[64] = {0}, angle[64], turned[64] = {0};
    double began = 0.0;
    for (int k = 0; k < count; ++k) {
        out[k] = (path){0};
        angle[k] = atan2(at[k][1], at[k][0]);
    }
    for (int i = 0; !perp_sim_finished(run.sim); ++i) {
        const double t = perp_sim_time(run.sim);
        const bool whole = floor(t * PLATE_HERTZ + 1e-9) != floor((t - H) * PLATE_HERTZ + 1e-9);
        if (whole && f != NULL) {
            for (int k = 0; k < count; ++k) {
                plate_part(&run, k, place, slip);
                fprintf(f, "%.5g %.5g%s", 100 * place[0], 100 * place[1],
                        k + 1 < count ? "\t" : "\n");
            }
        }
        certificate = fmax(certificate, plate_step(&run).certificate.worst);
        int32_t contacts;
        const perp_contact* c = perp_sim_contacts(run.sim, &contacts);
        for (int32_t j = 0; j < contacts && t * PLATE_HERTZ > SETTLE; ++j) {
            const int k = (c[j].body_a > 0 ? c[j].body_a : c[j].body_b) - 1;
            touched[k] += c[j].impulse[0] > 0.0;
            out[k].stuck += c[j].impulse[0] > 0.0 && hypot(c[j].impulse[1], c[j].impulse[2]) <
                                                         (1 - 1e-6) * mu * c[j].impulse[0];
        }
        if (whole) {
            for (int k = 0; k < count; ++k) {
                plate_part(&run, k, place, slip);
                const double now = atan2(place[1], place[0]);
                if (t * PLATE_HERTZ > SETTLE) {
                    turned[k] += remainder(now - angle[k], 2 * 3.14159265358979323846);
                } else {
                    began = perp_sim_time(run.sim);
                }
                angle[k] = now;
                out[k].drift = hypot(place[0], place[1]) - hypot(at[k][0], at[k][1]);
                out[k].rate = turned[k] / (perp_sim_time(run.sim) - began);
            }
        }
    }
    for (int k = 0; k < count; ++k) {
        out[k].stuck /= touched[k] > 0.0 ? touched[k] : 1.0;
    }
    if (f != NULL) {
        fclose(f);
    }
    plate_close(&run);
    return certificate;
}

/* The smallest radius at which the circle does not stick, of those tried. */
static double sticking_radius(double mu, double low, double step, int count)
{
    double at[64][2];
    path p[64];
    for (int k = 0; k < count; ++k) {
        at[k][0] = low + step * k;
        at[k][1] = 0.0;
    }
    (void)follow(NULL, &plate_circle, mu, 0.6, count, (const double(*)[2])at, p);
    int k = count;
    while (k > 0 && p[k - 1].stuck < 0.02) { /* each turn of the slip may take a step */
        --k;
    }
    return k < count ? at[k][0] : NAN;
}

int main(int argc, char** argv)
{
    static const double out[PATHS][2] = {{0.04, 0},  {0.06, 0},  {0.08, 0},  {0, 0.05},
                                         {-0.07, 0}, {-0.03, 0}, {0, -0.04}, {0, -0.08}};
    static const double near[PATHS][2] = {{0.01, 0},  {0.02, 0},  {0, 0.01},  {0, 0.02},
                                          {-0.01, 0}, {-0.02, 0}, {0, -0.01}, {0, -0.02}};
    static const double apart[PATHS][2] = {{0.08, 0.01},  {0.08, -0.01}, {0.06, 0.02},
                                           {0.06, -0.02}, {-0.08, 0.01}, {-0.08, -0.01},
                                           {-0.06, 0.02}, {-0.06, -0.02}};
    report r;
    path p[PATHS];
    report_begin(&r, "p09-fields", argc, argv);
    double worst = 0.0;

    worst = fmax(worst, measure(&r, &plate_circle, 0.1).certificate);
    worst = fmax(worst, follow(&r, &plate_circle, MU, 6.0, PATHS, out, p));
    report_note(&r, "circle: angular velocity at 4 cm (1/s)", p[0].rate);
    report_note(&r, "circle: angular velocity at 6 cm (1/s)", p[1].rate);
    report_note(&r, "circle: angular velocity at 8 cm (1/s)", p[2].rate);
    report_add(&r, "circle: change of the radius in 6 s, from 8 cm (m)", 0.0, 0.0, p[2].drift,
               2e-3);
    report_note(&r, "circle: sticks in each period below the radius (m), mu = 0.3",
                sticking_radius(MU, 0.085, 0.002, 16));
    report_add(&r, "circle: sticks in each period below the radius (m), mu = 0.16", 0.06, 0.06,
               sticking_radius(0.16, 0.04, 0.002, 16), 0.006);

    worst = fmax(worst, measure(&r, &plate_learned_contact, 0.1).certificate);
    worst = fmax(worst, follow(&r, &plate_learned_contact, MU, 6.0, PATHS, out, p));
    report_add(&r, "learned circle, contact kept: angular velocity at 8 cm (1/s)", 0.15, 0.15,
               p[2].rate, 0.015);
    report_add(&r, "learned circle, contact kept: overshoots a full circle from 8 cm (1: yes)", 1.0,
               1.0, p[2].rate > 0.15, 0.0);
    report_note(&r, "learned circle, contact kept: angular velocity at 4 cm (1/s)", p[0].rate);

    worst = fmax(worst, measure(&r, &plate_learned, 0.1).certificate);
    worst = fmax(worst, follow(&r, &plate_learned, MU, 6.0, PATHS, out, p));
    report_add(&r, "learned circle: angular velocity at 4 cm (1/s)", 0.15, 0.15, p[0].rate, 0.02);
    report_add(&r, "learned circle: angular velocity at 6 cm (1/s)", 0.15, 0.15, p[1].rate, 0.01);
    report_add(&r, "learned circle: angular velocity at 8 cm (1/s)", 0.15, 0.15, p[2].rate, 0.01);
    report_add(&r, "learned circle: change of the radius in 6 s, from 8 cm (m)", 0.0, 0.0,
               p[2].drift, 2e-3);

    field f = measure(&r, &plate_saddle, 0.07);
    worst = fmax(worst, fmax(f.certificate, follow(&r, &plate_saddle, MU, 6.0, PATHS, apart, p)));
    report_add(&r, "saddle: dvx/dx (1/s)", -0.2, -0.2, f.J[0][0], 0.06);
    report_add(&r, "saddle: dvy/dy (1/s)", 0.2, 0.2, f.J[1][1], 0.06);
    report_note(&r, "saddle: dvx/dy (1/s)", f.J[0][1]);
    report_note(&r, "saddle: dvy/dx (1/s)", f.J[1][0]);

    f = measure(&r, &plate_centrifuge, 0.07);
    worst =
        fmax(worst, fmax(f.certificate, follow(&r, &plate_centrifuge, MU, 6.0, PATHS, near, p)));
    report_note(&r, "centrifuge: outward rate (1/s)", 0.5 * (f.J[0][0] + f.J[1][1]));
    report_note(&r, "centrifuge: turning rate (1/s)", 0.5 * (f.J[1][0] - f.J[0][1]));
    report_add(&r, "centrifuge: outwards and around (1: yes)", 1.0, 1.0,
               f.J[0][0] > 0.05 && f.J[1][1] > 0.05 && f.J[1][0] > 0.05 && f.J[0][1] < -0.05, 0.0);
    report_add(&r, "certificate, all plates", NAN, 0.0, worst, 1e-9);
    return report_end(&r);
}
