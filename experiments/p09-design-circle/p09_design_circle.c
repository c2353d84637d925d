/* experiments/p09-design-circle - [P09 5.1], [B09 6.1.1]: a plate that carries a particle around a circle.
 *
 * Unknown are the amplitude A6 of the turn about z and amplitude A3 and phase C3 of the motion along z, from
 * (100, 8, 3 pi/2); a particle at 4 to 8 cm is to go around with 0.15 rad/s.
 *
 * The objective. [P09] records position and asymptotic velocity every 0.25 s and adds up the
 * errors: the distance from the original radius, and the difference from (-0.15 y, 0.15 x). Which
 * norm and which units it does not say. 0.25 s are 8.25 periods of the plate, so that velocities at
 * these instants alias with the shaking: at the printed optima their errors alone would give more
 * than 200, whatever the design. With means over a period, sums of absolute errors are 25 or more
 * in cm, below 0.4 in m; sums of squares in cm and cm/s are 0.8 and 1.2 for the two printed optima:
 * 1.036 must have been such a sum. That of the optimum with a penalty, 29.14, is not: ours is 8.6
 * there, and the particle does not leave the plate; our search with a penalty ends beside the
 * paper's motion. The table `definitions` has all of them.
 *
 * Without --full: the objective at the paper's start and optima and at ours (found with --full), at
 * half the step too, and a design of a quarter of the circle at three radii. --full: also the
 * designs of the whole circle with and without a penalty (20 minutes of CPU), and the quarter by
 * other methods.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/design.h"

enum { RADII = 5, UNKNOWNS = 3, SAMPLES = 167, HERTZ = 33 };

static const char folder[] = "experiments/p09-design-circle";
static const double STEP = 5e-4, EVERY = 0.25;

typedef struct motion {
    const char* name;
    double value[UNKNOWNS]; /* A6, A3, C3 */
    double printed;         /* the paper's objective; NAN: none */
} motion;

enum { START, CONTACT, EQUATIONS, TEXT, OURS, OURS_CONTACT, MOTIONS };
static const motion motions[MOTIONS] = {
    {"start", {100, 8, 1.5 * 3.14159265358979323846}, NAN},
    {"paper-contact", {62.913, 9.81585, 6.33218}, 29.14},     /* (25), (26) */
    {"paper-equations", {40.8332, 15.3654, 6.5374}, 1.03644}, /* (27), (28) */
    {"paper-text", {40.7791, 16.3305, 6.91229}, 1.03644},
    {"ours", {44.940761107001293, 13.977088274714394, 6.2889155405820478}, NAN},
    {"ours-contact", {63.5393270288121, 9.88358122457316, 6.19746430951161}, NAN},
};

/* Sums over radii and samples; lengths in cm. */
typedef struct errors {
    double squares, radial_squares, velocity_squares; /* means over a period */
    double absolute;                                  /* the same, absolute values */
    double instant_squares, instant_absolute; /* velocities of the instant instead of means */
    double separation;                        /* mean of the gap */
    double measured;                          /* squares by the measures of the scene */
    double rate[RADII], drift[RADII];         /* mean angular velocity; change of the radius */
    double certificate;
} errors;

static void set_motion(perp_context* context, perp_scene* scene, const double value[UNKNOWNS])
{
    design_set(context, scene, "A6", value[0]);
    design_set(context, scene, "A3", value[1]);
    design_set(context, scene, "C3", value[2]);
}

/* One radius. Sums are made here, from the states, and by the scene's measures. */
static void follow(perp_context* context, perp_scene* scene, int radius, FILE* path, errors* e)
{
    perp_sim* sim = NULL;
    const double r0 = 4.0 + radius;
    design_set(context, scene, "r0", 0.01 * r0);
    study_require(context, perp_scene_rebuild(scene));
    study_require(context, perp_sim_create_from_scene(context, scene, &sim));
    const int32_t part = perp_model_body_find(perp_scene_model(scene), "part");
    const double step = perp_sim_def_from_scene(scene).step;
    double angle = 0.0, turned = 0.0, mean[2] = {0, 0};
    long sample = 1;
    while (!perp_sim_finished(sim)) {
        study_require(context, perp_sim_step(sim));
        const perp_step_info info = perp_sim_step_info(sim);
        e->certificate = fmax(e->certificate, info.certificate.worst);
        const perp_body_state b = perp_sim_body(sim, part);
        const double t = perp_sim_time(sim), end = EVERY * (double)sample;
        /* displacement over the period that ends with the sample, by parts of steps */
        const double begin = end - 1.0 / HERTZ, from = fmax(t - step, begin), to = fmin(t, end);
        for (int k = 0; k < 2 && to > from; ++k) {
            mean[k] += 100 * b.velocity[k] * (to - from) * HERTZ;
        }
        if (t < end - 1e-9) {
            continue;
        }
        const double x = 100 * b.position[0], y = 100 * b.position[1];
        const double now = atan2(y, x), dr = hypot(x, y) - r0;
        const double dv = hypot(mean[0] + 0.15 * y, mean[1] - 0.15 * x);
        const double di = hypot(100 * b.velocity[0] + 0.15 * y, 100 * b.velocity[1] - 0.15 * x);
        turned += remainder(now - angle, 2 * 3.14159265358979323846);
        angle = now;
        e->radial_squares += dr * dr;
        e->velocity_squares += dv * dv;
        e->absolute += fabs(dr) + dv;
        e->instant_squares += dr * dr + di * di;
        e->instant_absolute += fabs(dr) + di;
        e->rate[radius] = turned / t;
        e->drift[radius] = dr;
        if (path != NULL) {
            fprintf(path, "%.5g %.5g\n", x, y);
        }
        mean[0] = mean[1] = 0.0;
        sample += 1;
    }
    e->measured += perp_sim_measure(sim, perp_sim_measure_find(sim, "radial")) +
                   perp_sim_measure(sim, perp_sim_measure_find(sim, "velocity"));
    e->separation += perp_sim_measure(sim, perp_sim_measure_find(sim, "separation")) / RADII;
    perp_sim_destroy(sim);
}

static errors evaluate(perp_context* context, const report* r, const motion* m, double step)
{
    errors e = {0};
    perp_scene* scene = design_scene(context, folder, "circle");
    FILE* path = NULL;
    set_motion(context, scene, m->value);
    design_set(context, scene, "/step", step);
    if (r != NULL) {
        char file[64];
        (void)snprintf(file, sizeof file, "path-%s.dat", m->name);
        path = report_file(r, file);
    }
    for (int i = 0; i < RADII; ++i) {
        follow(context, scene, i, path, &e);
        if (path != NULL) {
            fprintf(path, "\n\n");
        }
    }
    if (path != NULL) {
        fclose(path);
    }
    e.squares = e.radial_squares + e.velocity_squares;
    perp_scene_destroy(scene);
    return e;
}

/* Two periods of the particle at 4 cm after a second, with h = 1e-4: gap and slip. */
static void write_periods(perp_context* context, const report* r, const motion* m)
{
    char file[64];
    perp_sim* sim = NULL;
    perp_scene* scene = design_scene(context, folder, "circle");
    set_motion(context, scene, m->value);
    design_set(context, scene, "T", 1.1);
    design_set(context, scene, "/step", 1e-4);
    study_require(context, perp_scene_rebuild(scene));
    study_require(context, perp_sim_create_from_scene(context, scene, &sim));
    (void)snprintf(file, sizeof file, "periods-%s.dat", m->name);
    FILE* f = report_file(r, file);
    fprintf(f, "# t (periods), gap (mm), slip (cm/s)\n");
    while (!perp_sim_finished(sim)) {
        study_require(context, perp_sim_step(sim));
        const double t = HERTZ * (perp_sim_time(sim) - 1.0);
        const perp_body_state a = perp_sim_body(sim, 0), b = perp_sim_body(sim, 1);
        if (t >= 0.0 && t <= 2.0) {
            const double x = b.position[0] - a.position[0], y = b.position[1] - a.position[1];
            const double w = a.angular_velocity[2];
            fprintf(f, "%.6g %.6g %.6g\n", t, 1000 * (b.position[2] - a.position[2]),
                    100 * hypot(b.velocity[0] + w * y, b.velocity[1] - w * x));
        }
    }
    fclose(f);
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
}

static void add(report* r, const motion* m, const char* what, double value)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s: %s", m->name, what);
    report_note(r, text, value);
}

static void definitions(perp_context* context, report* r, bool full, errors all[MOTIONS])
{
    double certificate = 0.0, difference = 0.0;
    FILE* table = report_file(r, "definitions.dat");
    fprintf(table, "# motion, squares, radial, velocity, absolute, instant squares, absolute; half "
                   "step: squares\n");
    for (int i = 0; i < MOTIONS; ++i) {
        const motion* m = &motions[i];
        const errors e = evaluate(context, r, m, STEP);
        const bool both = full || i >= OURS; /* half the step is most of the work */
        errors half = {.squares = NAN};
        if (both) {
            half = evaluate(context, NULL, m, STEP / 2);
        }
        all[i] = e;
        write_periods(context, r, m);
        fprintf(table, "%s %.6g %.6g %.6g %.6g %.6g %.6g %.6g\n", m->name, e.squares,
                e.radial_squares, e.velocity_squares, e.absolute, e.instant_squares,
                e.instant_absolute, half.squares);
        add(r, m, "objective (squares, cm)", e.squares);
        if (both) {
            add(r, m, "objective with half the step", half.squares);
        }
        add(r, m, "sum of absolute errors (cm)", e.absolute);
        add(r, m, "squares with velocities of the instant", e.instant_squares);
        add(r, m, "mean separation (cm)", e.separation);
        add(r, m, "angular velocity at 4 cm (1/s)", e.rate[0]);
        add(r, m, "angular velocity at 8 cm (1/s)", e.rate[RADII - 1]);
        certificate = fmax(certificate, fmax(e.certificate, half.certificate));
        difference = fmax(difference, fabs(e.measured / e.squares - 1.0));
    }
    fclose(table);
    report_add(r, "certificate, all motions", NAN, 0.0, certificate, 1e-9);
    /* the measures use the trapezoidal rule, the sums here the displacement */
    report_add(r, "objective by the measures of the scene, relative difference", NAN, 0.0,
               difference, 0.02);
}

/* The objective of the optimum over that of the start. */
static double search(perp_context* context, report* r, const char* name)
{
    const design_found found = design_search(context, r, folder, name, NAN);
    perp_study* study = design_load(context, folder, name);
    design_report(r, name, study, &found);
    perp_study_destroy(study);
    return found.report.best_value / found.report.start_value;
}

int main(int argc, char** argv)
{
    report r;
    errors all[MOTIONS];
    perp_context* context = NULL;
    const bool full = study_option(&argc, argv, "--full");
    report_begin(&r, "p09-design-circle", argc, argv);
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    definitions(context, &r, full, all);
    report_add(&r, "the paper's 1.036 lies between the two printed optima (1: yes)", 1.0, 1.0,
               all[EQUATIONS].squares < 1.03644 && all[TEXT].squares > 1.03644, 0.0);
    report_add(&r, "ours, at most the paper's 1.036", 1.03644, 0.5 * 1.03644, all[OURS].squares,
               0.5 * 1.03644);
    report_add(&r, "ours with contact over the paper's optimum in the same sum, below 1", NAN, 0.5,
               all[OURS_CONTACT].squares / all[CONTACT].squares, 0.5);
    report_add(&r, "ours with contact: mean separation (cm)", NAN, 0.0,
               all[OURS_CONTACT].separation, 1e-4);

    const double quick = search(context, &r, "quick");
    report_add(&r, "quick, cut short: optimum over start, below 0.3", NAN, 0.15, quick, 0.15);
    static const char* const designs[] = {"quick-bobyqa", "quick-sbplx", "quick-cma-es", "free",
                                          "contact"};
    for (size_t i = 0; full && i < sizeof designs / sizeof designs[0]; ++i) {
        (void)search(context, &r, designs[i]);
    }
    perp_context_destroy(context);
    return report_end(&r);
}
