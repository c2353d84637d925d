/* experiments/real-impacts - measured impacts of an ellipse on a floor: one friction and one
 * restitution for all of them.
 *
 * Source     Fazeli, Donlon, Drumwright, Rodriguez: Empirical evaluation of common contact models on an experimental impact
 *            dataset, ICRA 2017; their states, as kept with DAIRLab/ImpactModeling. Half of them is here:
 *            ../shared/data/planar-impacts/training.csv, or --data FILE.
 * Notation   errors are those of the velocities after an impact in the norm of the kinetic energy, relative to that of the
 *            velocities before: sqrt(|v+ - v+ predicted|_M^2 / |v|_M^2)
 *
 * First, always: impacts made with known coefficients and noise, found again by `perp estimate`,
 * method laws. Then, where the data are present: the fit of all and of each half, judged on the
 * other half; and what no pair of numbers explains: the nearest impulse that any mu and e give, and
 * the nearest that pushes and does not increase the energy at all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/study.h"
#include "impacts.h"

static const double START[3] = {0.1, 0.6, GYRATION}; /* the starts of the source's own search */
static const char* const NAMES[3] = {"mu", "rebound", "gyration"};

/* ---- fits -----------------------------------------------------------------------------------------*/

typedef struct fitted {
    double value[3], deviation[3];
    bool converged;
    double error[2]; /* rms, and mean, as perp reports it: in the norm of the fitted masses */
} fitted;

/* The errors that a report of perp has of impacts. */
static void read_errors(const perp_estimate* estimate, double error[2])
{
    const char* at = strstr(perp_estimate_json(estimate), "\"kinetic_energy_error\": {");
    const char* rms = at != NULL ? strstr(at, "\"rms\": ") : NULL;
    const char* mean = at != NULL ? strstr(at, "\"mean\": ") : NULL;
    error[0] = rms != NULL ? strtod(rms + 7, NULL) : NAN;
    error[1] = mean != NULL ? strtod(mean + 8, NULL) : NAN;
}

/* Writes the study NAME.json beside the data and runs it. unknowns: 2, or 3 with the radius of gyration. */
static fitted fit_scene(perp_context* context, const report* r, const char* scene, const char* name,
                        const char* data, const char* residual, int unknowns)
{
    perp_study* study = NULL;
    perp_estimate* estimate = NULL;
    char file[100];
    (void)snprintf(file, sizeof file, "%s.json", name);
    study_write(
        r, file,
        "{\"name\": \"%s\", \"scene\": \"%s\", \"data\": \"%s\", \"trajectory\": "
        "\"impact\", \"method\": \"laws\",\n"
        " \"observe\": {\"position\": {\"position\": \"ellipse\", \"columns\": [\"x0\", \"y0\"]},\n"
        "  \"angle\": {\"orientation\": \"ellipse\", \"columns\": [\"angle0\"]},\n"
        "  \"velocity\": {\"velocity\": \"ellipse\", \"columns\": [\"vx0\", \"vy0\"]},\n"
        "  \"spin\": {\"angular_velocity\": \"ellipse\", \"columns\": [\"w0\"]}},\n"
        " \"after\": {\"velocity\": [\"vx1\", \"vy1\"], \"spin\": \"w1\"},\n"
        " \"unknown\": {\"mu\": {\"start\": 0.1, \"bounds\": [0, 2]}, \"rebound\": {\"start\": "
        "0.6, "
        "\"bounds\": [0, 1]}%s},\n \"options\": {\"residual\": \"%s\"}}\n",
        name, scene, data, unknowns == 3 ? ", \"gyration\": {\"bounds\": [1e-4, 1e-3]}" : "",
        residual);
    char* path = study_path(r, file);
    study_require(context, perp_study_load(context, path, &study));
    free(path);
    perp_estimate_def def = perp_estimate_def_default();
    def.jobs = 1;
    study_require(context, perp_estimate_run(context, study, &def, &estimate));
    fitted f = {.value = {START[0], START[1], START[2]},
                .converged = perp_estimate_converged(estimate)};
    for (int i = 0; i < unknowns; ++i) {
        const perp_estimated found = perp_estimate_value(estimate, i);
        f.value[i] = found.value;
        f.deviation[i] = found.deviation;
    }
    read_errors(estimate, f.error);
    (void)snprintf(file, sizeof file, "%s-fitted.json", name);
    path = study_path(r, file);
    study_require(context, perp_estimate_save(estimate, path));
    free(path);
    perp_estimate_destroy(estimate);
    perp_study_destroy(study);
    return f;
}

static fitted fit(perp_context* context, const report* r, const char* name, const char* data,
                  const char* residual, int unknowns)
{
    return fit_scene(context, r, "ellipse.json", name, data, residual, unknowns);
}

/* rms error of DATA by the fitted study NAME. */
static double predict(perp_context* context, const report* r, const char* name, const char* data)
{
    char file[100];
    double error[2];
    perp_study* study = NULL;
    perp_estimate* estimate = NULL;
    perp_estimate_def def = perp_estimate_def_default();
    def.jobs = 1;
    (void)snprintf(file, sizeof file, "%s-fitted.json", name);
    char *path = study_path(r, file), *csv = study_path(r, data);
    const char* const list[] = {csv};
    study_require(context, perp_study_load(context, path, &study));
    study_require(context, perp_estimate_predict(context, study, list, 1, &def, &estimate));
    read_errors(estimate, error);
    perp_estimate_destroy(estimate);
    perp_study_destroy(study);
    free(path);
    free(csv);
    return error[0];
}

/* ---- errors ---------------------------------------------------------------------------------------*/

typedef struct summary {
    double rms, mean, median, p95;
} summary;

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static summary summarise(const double* error, size_t count)
{
    summary s = {0};
    double* sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        exit(3);
    }
    for (size_t n = 0; n < count; ++n) {
        s.rms += error[n] * error[n] / (double)count;
        s.mean += error[n] / (double)count;
        sorted[n] = error[n];
    }
    s.rms = sqrt(s.rms);
    qsort(sorted, count, sizeof *sorted, ascending);
    s.median = sorted[count / 2];
    s.p95 = sorted[count * 95 / 100];
    free(sorted);
    return s;
}

/* Which impulse a model gives an impact. */
typedef enum model {
    LAW,         /* Newton, mu and e of all */
    ROUTH,       /* friction that turns with the slip, mu and e of all */
    OWN_E,       /* mu of all, the nearest e */
    OWN_MU,      /* e of all, the nearest mu */
    OWN_BOTH,    /* the nearest mu and e */
    ANY_IMPULSE, /* that pushes and does not increase the energy */
} model;

static void impulse_of(const contact_frame* f, model m, const double value[3], double p[2])
{
    enum { STEPS = 200 };
    double part, least = INFINITY, best = 0.0;
    switch (m) {
    case OWN_E:
        for (int k = 0; k <= STEPS; ++k) {
            newton_impulse(f, value[0], (double)k / STEPS, p);
            const double n = p[0] - f->p[0], t = p[1] - f->p[1];
            const double off = f->nn * n * n + 2.0 * f->nt * n * t + f->tt * t * t;
            best = off < least ? (double)k / STEPS : best;
            least = off < least ? off : least;
        }
        newton_impulse(f, value[0], best, p);
        return;
    case OWN_MU: nearest_by_law(f, value[1], value[1], p, &part); return;
    case OWN_BOTH: nearest_by_law(f, 0.0, 1.0, p, &part); return;
    case ANY_IMPULSE: best_impulse(f, p); return;
    case ROUTH: routh_impulse(f, value[0], value[1], p); return;
    case LAW:
    default: newton_impulse(f, value[0], value[1], p);
    }
}

/* Errors of all impacts. The norm is that of the source's inertia in every row of the table. */
static void errors_of(const impact_set* set, model m, const double value[3], double* error)
{
    for (size_t n = 0; n < set->count; ++n) {
        const impact* i = &set->item[n];
        const contact_frame f = frame_of(i, value[2]);
        double p[2];
        impulse_of(&f, m, value, p);
        const double x = i->after[0] - i->before[0] - p[1];
        const double y = i->after[1] - i->before[1] - p[0];
        const double w = i->after[2] - i->before[2] - (f.r[0] * p[0] - f.r[1] * p[1]) / f.k;
        const double size = i->before[0] * i->before[0] + i->before[1] * i->before[1] +
                            GYRATION * i->before[2] * i->before[2];
        error[n] = sqrt((x * x + y * y + GYRATION * w * w) / size);
    }
}

static double mean_square(const impact_set* set, model m, const double value[3], double* error)
{
    errors_of(set, m, value, error);
    double sum = 0.0;
    for (size_t n = 0; n < set->count; ++n) {
        sum += error[n] * error[n];
    }
    return sum;
}

/* Coefficients of least rms error of a model that perp does not have: steps along the axes, halved. */
static void search(const impact_set* set, model m, int unknowns, double value[3])
{
    double* error = malloc((set->count + 1) * sizeof *error);
    if (error == NULL) {
        exit(3);
    }
    double best = mean_square(set, m, value, error);
    for (double size = 0.1; size > 1e-5;) {
        bool better = false;
        for (int k = 0; k < 2 * unknowns; ++k) {
            double next[3] = {value[0], value[1], value[2]};
            next[k / 2] *= k % 2 == 0 ? 1.0 + size : 1.0 - size;
            const double found = mean_square(set, m, next, error);
            if (found < best) {
                best = found;
                better = true;
                memcpy(value, next, sizeof next);
            }
        }
        size *= better ? 1.0 : 0.5;
    }
    free(error);
}

typedef struct table {
    report* r;
    FILE* text;
} table;

static summary table_row(const table* t, const char* name, const impact_set* set, model m,
                         const double value[3])
{
    double* error = malloc((set->count + 1) * sizeof *error);
    if (error == NULL) {
        exit(3);
    }
    errors_of(set, m, value, error);
    const summary s = summarise(error, set->count);
    fprintf(t->text, "%-58s %6.4f %6.4f %9.3e | %6.2f %6.2f %6.2f %6.2f\n", name, value[0],
            value[1], value[2], 100.0 * s.rms, 100.0 * s.mean, 100.0 * s.median, 100.0 * s.p95);
    char quantity[200];
    (void)snprintf(quantity, sizeof quantity, "%s: rms error (percent)", name);
    report_note(t->r, quantity, 100.0 * s.rms);
    free(error);
    return s;
}

/* ---- made impacts ---------------------------------------------------------------------------------*/

static void check_found(report* r, const char* what, const fitted* f, const double truth[3],
                        int unknowns)
{
    for (int i = 0; i < unknowns; ++i) {
        char name[200];
        (void)snprintf(name, sizeof name, "made impacts, %s: %s, within four deviations", what,
                       NAMES[i]);
        report_add(r, name, NAN, truth[i], f->value[i], 4.0 * f->deviation[i]);
    }
}

static void known_impacts(perp_context* context, report* r)
{
    enum { COUNT = 600 };
    const double truth[3] = {0.18, 0.53, GYRATION};
    impact_set set;
    impacts_make(COUNT, truth[0], truth[1], 0.0, &set);
    impacts_write(r, "made-exact.csv", &set);
    impacts_free(&set);
    const fitted exact = fit(context, r, "made-exact", "made-exact.csv", "laws", 3);
    for (int i = 0; i < 3; ++i) {
        char name[200];
        (void)snprintf(name, sizeof name, "made impacts without noise: %s", NAMES[i]);
        report_add(r, name, NAN, truth[i], exact.value[i], 1e-6 * truth[i]);
    }
    impacts_make(COUNT, truth[0], truth[1], 0.05, &set);
    impacts_write(r, "made.csv", &set);
    impacts_free(&set);
    const fitted laws = fit(context, r, "made-laws", "made.csv", "laws", 3);
    const fitted prediction = fit(context, r, "made-prediction", "made.csv", "prediction", 3);
    check_found(r, "residual of the laws", &laws, truth, 3);
    check_found(r, "errors of predictions", &prediction, truth, 3);
}

/* ---- the frame of the data ------------------------------------------------------------------------*/

static void check_frame(report* r, const impact_set* set, FILE* text)
{
    double off = 0.0, mirrored = 0.0, heights = 0.0, moment = 0.0, moment_mirrored = 0.0,
           size = 0.0;
    int far = 0, gained = 0;
    for (size_t n = 0; n < set->count; ++n) {
        const impact* i = &set->item[n];
        double p[2];
        lowest_point(i->pose[2], p);
        const double d = hypot(i->r[0] - p[0], i->r[1] - p[1]);
        const double e = hypot(i->r[0] + p[0], i->r[1] - p[1]);
        off += d * d / (double)set->count;
        mirrored += e * e / (double)set->count;
        heights += pow(i->pose[1] + i->r[1], 2.0) / (double)set->count;
        const double dx = i->after[0] - i->before[0], dy = i->after[1] - i->before[1];
        const double dw = GYRATION * (i->after[2] - i->before[2]);
        moment += pow(i->r[0] * dy - i->r[1] * dx - dw, 2.0);
        moment_mirrored += pow(i->r[0] * dy - i->r[1] * dx + dw, 2.0);
        size += dw * dw;
        const contact_frame f = frame_of(i, GYRATION);
        const double energy = (i->after[0] * i->after[0] + i->after[1] * i->after[1] +
                               GYRATION * i->after[2] * i->after[2]) /
                              (f.speed * f.speed);
        if (d > 0.002 || energy > 1.0) {
            fprintf(text,
                    "outlier: impact %d: contact point off by %.2f mm, energy after %.2f of that "
                    "before, "
                    "omega after %.1f rad/s\n",
                    i->number, 1000.0 * d, energy, i->after[2]);
        }
        far += d > 0.002;
        gained += energy > 1.0;
    }
    report_note(r, "contact points: rms distance from the ellipse's lowest point (mm)",
                1000.0 * sqrt(off));
    report_note(r, "the same with x mirrored (mm)", 1000.0 * sqrt(mirrored));
    report_note(r, "change of spin against the moment of the impulse: rms residual, relative",
                sqrt(moment / size));
    report_note(r, "the same with x mirrored", sqrt(moment_mirrored / size));
    report_note(r, "height of the contact point above the floor: rms (mm)", 1000.0 * sqrt(heights));
    report_note(r, "contact points off by more than 2 mm", far);
    report_note(r, "impacts after which there is more energy than before", gained);
    report_add(r,
               "x and angle form a right-handed frame here: ratio of the two distances, 0 to 0.2",
               NAN, 0.1, sqrt(off / mirrored), 0.1);
}

/* ---- what no pair of numbers explains -------------------------------------------------------------*/

/* Impacts by class: count, and rms errors of the fit and of the bound. */
typedef struct bin {
    const char* name;
    double low, high;
} bin;

static void bins(report* r, FILE* text, const char* what, const impact_set* set, const double* key,
                 const double* error, const double* bound, const bin* list, size_t count)
{
    for (size_t b = 0; b < count; ++b) {
        double sum = 0.0, least = 0.0, n = 0.0;
        for (size_t i = 0; i < set->count; ++i) {
            if (key[i] >= list[b].low && key[i] < list[b].high) {
                sum += error[i] * error[i];
                least += bound[i] * bound[i];
                n += 1.0;
            }
        }
        fprintf(text, "%-34s %-26s %5.0f impacts: fit %6.2f, any impulse %6.2f\n", what,
                list[b].name, n, 100.0 * sqrt(sum / n), 100.0 * sqrt(least / n));
        char name[200];
        (void)snprintf(name, sizeof name, "%s, %s: rms error of the fit (percent)", what,
                       list[b].name);
        report_note(r, name, n > 0.0 ? 100.0 * sqrt(sum / n) : NAN);
    }
}

static void unexplained(report* r, FILE* text, const impact_set* set, const double value[3])
{
    const size_t n = set->count;
    double* memory = malloc(7 * (n + 1) * sizeof *memory);
    if (memory == NULL) {
        exit(3);
    }
    double *error = memory, *bound = memory + n, *law = memory + 2 * n, *part = memory + 3 * n,
           *incidence = memory + 4 * n, *mode = memory + 5 * n, *turns = memory + 6 * n;
    errors_of(set, LAW, value, error);
    errors_of(set, ANY_IMPULSE, value, bound);
    errors_of(set, OWN_BOTH, value, law);
    const double noise = summarise(bound, n).rms;
    double outside = 0.0, beyond = 0.0, against = 0.0, clear = 0.0, reversed = 0.0,
           clear_beyond = 0.0;
    FILE* f = report_file(r, "impacts.dat");
    fprintf(f, "# e  p_t/p_n  part-of-sticking  slip-before  slip-after  incidence  angle  error  "
               "bound  law  p_t/p_n-that-sticks  turns\n");
    for (size_t i = 0; i < n; ++i) {
        const contact_frame c = frame_of(&set->item[i], value[2]);
        double p[2], stick[2];
        const double e = own_restitution(&c);
        nearest_by_law(&c,
                       e < 0.0   ? 0.0
                       : e > 1.0 ? 1.0
                                 : e,
                       e < 0.0   ? 0.0
                       : e > 1.0 ? 1.0
                                 : e,
                       p, &part[i]);
        newton_impulse(&c, 1e9, e, stick);
        newton_impulse(&c, value[0], value[1], p);
        mode[i] = fabs(p[1]) < value[0] * p[0] * (1.0 - 1e-9) ? 0.0 : 1.0;
        turns[i] = stick[1] * c.u[1] > 0.0
                       ? 1.0
                       : 0.0; /* friction would have to act along the first slip */
        incidence[i] = 57.29577951308232 * atan2(fabs(c.u[1]), -c.u[0]);
        const double extra =
            sqrt(law[i] * law[i] - bound[i] * bound[i] > 0.0 ? law[i] * law[i] - bound[i] * bound[i]
                                                             : 0.0);
        outside += part[i] < 0.0 || part[i] > 1.0 || e < 0.0 || e > 1.0;
        clear += extra > 2.0 * noise;
        beyond += part[i] > 1.0;
        against += part[i] < 0.0;
        clear_beyond += part[i] > 1.0 && extra > 2.0 * noise;
        reversed += c.u[1] * c.u_after[1] < 0.0;
        fprintf(f, "%g %g %g %g %g %g %g %g %g %g %g %g\n", e, c.p[1] / c.p[0], part[i], c.u[1],
                c.u_after[1], incidence[i],
                fmod(fmod(set->item[i].pose[2], 3.141592653589793) + 3.141592653589793,
                     3.141592653589793),
                error[i], bound[i], law[i], stick[1] / stick[0], turns[i]);
    }
    fclose(f);
    const double all = (double)n;
    report_note(r, "no mu and e reach the impulse of least error (percent of impacts)",
                100.0 * outside / all);
    report_note(r, "of these, by more than twice the rms of the bound (percent of impacts)",
                100.0 * clear / all);
    report_note(r,
                "friction beyond sticking: the slip is reversed more than it is stopped (percent)",
                100.0 * beyond / all);
    report_note(r, "of these, clearly (percent of impacts)", 100.0 * clear_beyond / all);
    report_note(r, "friction along the slip (percent)", 100.0 * against / all);
    report_note(r, "slip of another sign after than before (percent)", 100.0 * reversed / all);
    fprintf(text,
            "\noutside of what any mu and e give: %.1f %% of the impacts, %.1f %% by more than "
            "twice the rms of the bound; "
            "beyond sticking %.1f %%, along the slip %.1f %%\n\n",
            100.0 * outside / all, 100.0 * clear / all, 100.0 * beyond / all,
            100.0 * against / all);
    static const bin angles[] = {{"0 to 5 degrees", 0, 5},
                                 {"5 to 10", 5, 10},
                                 {"10 to 15", 10, 15},
                                 {"15 to 20", 15, 20},
                                 {"20 to 40", 20, 40}};
    static const bin modes[] = {{"sticks by the fit", -0.5, 0.5}, {"slides by the fit", 0.5, 1.5}};
    static const bin parts[] = {{"friction along the slip", -1e9, 0},
                                {"slides", 0, 0.8},
                                {"sticks, within 20 percent", 0.8, 1.2},
                                {"beyond sticking", 1.2, 1e9}};
    bins(r, text, "incidence at the contact", set, incidence, error, bound, angles, 5);
    bins(r, text, "mode", set, mode, error, bound, modes, 2);
    static const bin sides[] = {{"friction against it sticks", -0.5, 0.5},
                                {"the normal impulse turns it", 0.5, 1.5}};
    bins(r, text, "slip before the impact", set, turns, error, bound, sides, 2);
    bins(r, text, "measured part of sticking", set, part, error, bound, parts, 4);
    free(memory);
}

/* The mean square error of the law over mu and e, for the figure. */
static void write_map(const report* r, const impact_set* set)
{
    FILE* f = report_file(r, "map.dat");
    double* error = malloc((set->count + 1) * sizeof *error);
    if (error == NULL) {
        exit(3);
    }
    for (int a = 0; a <= 40; ++a) {
        for (int b = 0; b <= 40; ++b) {
            const double value[3] = {0.01 * a, 0.3 + 0.0125 * b, GYRATION};
            errors_of(set, LAW, value, error);
            fprintf(f, "%g %g %g\n", value[0], value[1], 100.0 * summarise(error, set->count).rms);
        }
        fprintf(f, "\n");
    }
    free(error);
    fclose(f);
}

static void write_errors(const report* r, const impact_set* set, const double two[3],
                         const double three[3])
{
    static const struct {
        const char* name;
        model m;
    } list[] = {{"errors-law.dat", LAW},
                {"errors-e.dat", OWN_E},
                {"errors-mu.dat", OWN_MU},
                {"errors-both.dat", OWN_BOTH},
                {"errors-any.dat", ANY_IMPULSE}};
    double* error = malloc((set->count + 1) * sizeof *error);
    if (error == NULL) {
        exit(3);
    }
    for (size_t k = 0; k < sizeof list / sizeof list[0]; ++k) {
        FILE* f = report_file(r, list[k].name);
        for (int third = 0; third < 2; ++third) {
            errors_of(set, list[k].m, third ? three : two, error);
            qsort(error, set->count, sizeof *error, ascending);
            for (size_t n = 0; n < set->count; ++n) {
                fprintf(f, "%g %g\n", 100.0 * error[n], ((double)n + 0.5) / (double)set->count);
            }
            fprintf(f, "\n\n");
        }
        fclose(f);
    }
    free(error);
}

/* ---- measured impacts -----------------------------------------------------------------------------*/

static void measured_impacts(perp_context* context, report* r, const impact_set* set)
{
    const table t = {r, report_file(r, "table.txt")};
    impact_set half[2] = {impacts_half(set, 0), impacts_half(set, 1)};
    fitted own[2], own3[2];
    check_frame(r, set, t.text);
    impacts_write(r, "all.csv", set);
    impacts_write(r, "half-0.csv", &half[0]);
    impacts_write(r, "half-1.csv", &half[1]);
    const fitted laws = fit(context, r, "laws", "all.csv", "laws", 2);
    const fitted best = fit(context, r, "prediction", "all.csv", "prediction", 2);
    const fitted laws3 = fit(context, r, "laws-inertia", "all.csv", "laws", 3);
    const fitted best3 = fit(context, r, "prediction-inertia", "all.csv", "prediction", 3);
    for (int h = 0; h < 2; ++h) {
        char name[40], data[40];
        (void)snprintf(name, sizeof name, "half-%d", h);
        (void)snprintf(data, sizeof data, "half-%d.csv", h);
        own[h] = fit(context, r, name, data, "prediction", 2);
        (void)snprintf(name, sizeof name, "half-%d-inertia", h);
        own3[h] = fit(context, r, name, data, "prediction", 3);
    }
    fprintf(t.text, "\n%-58s %6s %6s %9s | %6s %6s %6s %6s  (error, percent)\n", "", "mu", "e",
            "I/m", "rms", "mean", "median", "95 %");
    table_row(&t, "before the fit", set, LAW, START);
    table_row(&t, "fit: residual of the laws", set, LAW, laws.value);
    const summary in = table_row(&t, "fit: errors of predictions", set, LAW, best.value);
    double out = 0.0, out3 = 0.0;
    for (int h = 0; h < 2; ++h) {
        const summary s = table_row(&t,
                                    h == 0 ? "  fitted to the first half, errors of the second"
                                           : "  fitted to the second half, errors of the first",
                                    &half[1 - h], LAW, own[h].value);
        const summary s3 = table_row(&t,
                                     h == 0 ? "  the same with the inertia, first to second"
                                            : "  the same with the inertia, second to first",
                                     &half[1 - h], LAW, own3[h].value);
        out += s.rms * s.rms / 2.0;
        out3 += s3.rms * s3.rms / 2.0;
    }
    table_row(&t, "fit with the inertia: residual of the laws", set, LAW, laws3.value);
    const summary in3 =
        table_row(&t, "fit with the inertia: errors of predictions", set, LAW, best3.value);
    const fitted poisson =
        fit_scene(context, r, "ellipse-poisson.json", "poisson", "all.csv", "prediction", 2);
    (void)fit_scene(context, r, "ellipse-poisson.json", "poisson-0", "half-0.csv", "prediction", 2);
    (void)fit_scene(context, r, "ellipse-poisson.json", "poisson-1", "half-1.csv", "prediction", 2);
    const double first = predict(context, r, "poisson-0", "half-1.csv");
    const double second = predict(context, r, "poisson-1", "half-0.csv");
    fprintf(t.text, "%-58s %6.4f %6.4f %9.3e | %6.2f %6.2f   (held out %.2f, %.2f)\n",
            "Poisson's law, friction in each phase", poisson.value[0], poisson.value[1], GYRATION,
            100.0 * poisson.error[0], 100.0 * poisson.error[1], 100.0 * first, 100.0 * second);
    report_note(r, "Poisson's law: rms error (percent)", 100.0 * poisson.error[0]);
    report_note(r, "Poisson's law, held out: rms error (percent)",
                100.0 * sqrt((first * first + second * second) / 2.0));
    report_add(r, "Newton's law in closed form and by perp: rms errors (percent)", NAN,
               100.0 * in.rms, 100.0 * best.error[0], 1e-6);
    double routh[3] = {0.18, 0.53, GYRATION}, routh3[3] = {0.18, 0.53, GYRATION};
    search(set, ROUTH, 2, routh);
    search(set, ROUTH, 3, routh3);
    table_row(&t, "friction that turns with the slip (Routh), Poisson", set, ROUTH, routh);
    table_row(&t, "the same, fitted with the inertia", set, ROUTH, routh3);
    for (int h = 0; h < 2; ++h) {
        double own_routh[3] = {0.18, 0.53, GYRATION};
        search(&half[h], ROUTH, 3, own_routh);
        table_row(&t,
                  h == 0 ? "  Routh, fitted to the first half, errors of the second"
                         : "  Routh, fitted to the second half, errors of the first",
                  &half[1 - h], ROUTH, own_routh);
    }
    table_row(&t, "mu of all, e of each impact", set, OWN_E, best.value);
    table_row(&t, "e of all, mu of each impact", set, OWN_MU, best.value);
    table_row(&t, "mu and e of each impact", set, OWN_BOTH, best.value);
    const summary bound =
        table_row(&t, "any impulse that does not increase the energy", set, ANY_IMPULSE, START);
    table_row(&t, "with the inertia: mu of all, e of each impact", set, OWN_E, best3.value);
    table_row(&t, "with the inertia: e of all, mu of each impact", set, OWN_MU, best3.value);
    table_row(&t, "with the inertia: mu and e of each impact", set, OWN_BOTH, best3.value);
    table_row(&t, "with the inertia: any impulse", set, ANY_IMPULSE, best3.value);
    for (int i = 0; i < 3; ++i) {
        char name[100];
        (void)snprintf(name, sizeof name, "%s, errors of predictions", NAMES[i]);
        report_note(r, name, i < 2 ? best.value[i] : best3.value[i]);
        (void)snprintf(name, sizeof name, "%s, residual of the laws", NAMES[i]);
        report_note(r, name, i < 2 ? laws.value[i] : laws3.value[i]);
        (void)snprintf(name, sizeof name, "%s, standard deviation", NAMES[i]);
        report_note(r, name, i < 2 ? best.deviation[i] : best3.deviation[i]);
    }
    report_note(r, "held out: rms error (percent)", 100.0 * sqrt(out));
    report_note(r, "held out, with the inertia: rms error (percent)", 100.0 * sqrt(out3));
    report_add(r, "held out over in sample, rms", NAN, 1.0, sqrt(out) / in.rms, 0.05);
    report_add(r, "the same with the inertia", NAN, 1.0, sqrt(out3) / in3.rms, 0.05);
    report_add(r, "the bound is below the fit: ratio", NAN, 0.5, bound.rms / in.rms, 0.5);
    unexplained(r, t.text, set, best.value);
    write_map(r, set);
    write_errors(r, set, best.value, best3.value);
    fclose(t.text);
    impacts_free(&half[0]);
    impacts_free(&half[1]);
}

/* Takes `--data FILE` out of the arguments. */
static const char* data_file(int* argc, char** argv)
{
    for (int i = 1; i + 1 < *argc; ++i) {
        if (strcmp(argv[i], "--data") == 0) {
            const char* path = argv[i + 1];
            memmove(argv + i, argv + i + 2, (size_t)(*argc - i - 1) * sizeof *argv);
            *argc -= 2;
            return path;
        }
    }
    return "../shared/data/planar-impacts/training.csv";
}

/* The scene, with Newton's and with Poisson's law. */
static void copy_scene(const report* r)
{
    char text[4096];
    FILE* f = fopen("experiments/real-impacts/ellipse.json", "r");
    const size_t length = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    if (length == 0) {
        fprintf(stderr, "experiments/real-impacts/ellipse.json: not found; run from the root of "
                        "the repository\n");
        exit(2);
    }
    text[length] = '\0';
    fclose(f);
    study_write(r, "ellipse.json", "%s", text);
    study_write(r, "ellipse-poisson.json",
                "{ \"restitution\": {\"law\": \"poisson\", \"e\": 0.5},%s", strchr(text, '{') + 1);
}

int main(int argc, char** argv)
{
    report r;
    impact_set set;
    perp_context* context = NULL;
    const char* path = data_file(&argc, argv);
    report_begin(&r, "real-impacts", argc, argv);
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    copy_scene(&r);
    known_impacts(context, &r);
    if (impacts_read(path, &set)) {
        measured_impacts(context, &r, &set);
        impacts_free(&set);
    }
    perp_context_destroy(context);
    return report_end(&r);
}
