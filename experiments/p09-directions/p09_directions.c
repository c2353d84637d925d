/* experiments/p09-directions - accuracy and cost of the number of friction directions: [P09] 3.3
 * and 3.4.
 *
 * The part of the paper, a tripod (three contacts: with d directions an LCP of 12 + 3 d), sliding
 * and spinning on a fixed plane, so that the slip of each foot turns through many directions.
 *
 * 1. The final pose of polygons of n = 3 .. 64 directions against that of the quadratic cone. The
 *    paper sees the error fall for one plate motion (figure 15) and stall for another (figure 13).
 *    A polygon's force is the vertex nearest to the slip: off by up to pi/n in direction, in turns
 *    to either side, so that what remains after many turns is of the size of 1 - cos(pi/n), that
 *    is n^-2 - as long as there are many steps to a turn of 2 pi/n. At h = 0.005 the steps sample
 *    the sectors too coarsely from about n = 32 on and the rate falls off; at h = 0.0005 it does
 *    not. (The paper's rate falls off too, at h = 0.0001, but with a plate shaken at 33 Hz.)
 *    Result: the error falls with every n, and the exponent fitted from n = 8 is -2 within 0.5
 *    (within 0.25 at the fine step).
 *    One launch may be lucky: the error is the root mean square over LAUNCHES headings.
 * 2. Figure 16: the time of one solve over n, with Lemke's method and with `auto`, beside that of
 *    the quadratic cone; as the simulation solves (from the last step's answer) and as a single
 *    call from zero, which is closest to the paper's "single LCP function call". Times are notes:
 *    they belong to the machine.
 * 3. Figures 12 to 15: a particle on the centrifuge plate and on the circle plate with five times the
 *    angular acceleration, 6 s at h = 0.0001; the largest distance from the trajectory of the
 *    quadratic cone. In the paper the error of the centrifuge does not fall beyond 16 directions,
 *    and that of the scaled circle falls ever more slowly. Here both fall: the polygon is inscribed
 *    in the same circle, in the same contact, solved by the same code, so nothing is left over as n
 *    grows. (The paper compares two programs, one for the LCP and one for the NCP.) On the scaled
 *    circle the slip goes to and fro along a line that turns slowly with the particle, so that an
 *    error in its direction lasts, and the rate is nearer 1 than 2.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plate.h"
#include "common/report.h"
#include "perp/perp.h"

enum { LAUNCHES = 16, ROUNDS = 9, STEPS = 200, FINE = 2000, COUNT = 10 };
static const int N[COUNT] = {3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
static const double MU = 0.2, G = 9.81, V0 = 3.0, W0 = 14.0;
static const double RADIUS = 0.2, HEIGHT = 0.08; /* of the feet; of the centre of mass */

typedef struct run {
    double foot[3][3]; /* at the end */
    double turned;     /* of the slip of the first foot, in all, rad */
    double slowest;    /* smallest slip of a foot */
    double certificate;
    double seconds[FINE]; /* of each solve */
    double iterations;    /* mean */
    const char* solver;   /* the method of the last step */
} run;

static void require_ok(perp_context* context, perp_status status)
{
    if (status != PERP_OK) {
        fprintf(stderr, "p09-directions: %s\n", perp_context_error(context));
        exit(3);
    }
}

static void rotate(const double q[4], const double a[3], double out[3])
{
    const double t[3] = {2 * (q[2] * a[2] - q[3] * a[1]), 2 * (q[3] * a[0] - q[1] * a[2]),
                         2 * (q[1] * a[1] - q[2] * a[0])};
    out[0] = a[0] + q[0] * t[0] + q[2] * t[2] - q[3] * t[1];
    out[1] = a[1] + q[0] * t[1] + q[3] * t[0] - q[1] * t[2];
    out[2] = a[2] + q[0] * t[2] + q[1] * t[1] - q[2] * t[0];
}

/* directions 0: the quadratic cone. cold: the times are those of solving each step's problem once
 * more from zero; else those of the simulation, which starts from the last step's answer. */
static void simulate(int directions, const char* solver, int steps, int launch, bool cold, run* r)
{
    perp_context* context = NULL;
    perp_model* model = NULL;
    perp_sim* sim = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        exit(3);
    }
    perp_model_def def = perp_model_def_default();
    def.gravity[2] = -G;
    def.friction_default = MU;
    require_ok(context, perp_model_create(context, &def, &model));

    perp_shape_def plane = perp_shape_def_default(PERP_SHAPE_PLANE);
    plane.normal[2] = 1.0;
    perp_body_def ground = perp_body_def_default();
    ground.name = "ground";
    ground.shapes = &plane;
    ground.shape_count = 1;
    require_ok(context, perp_model_add_body(model, &ground, NULL));

    perp_shape_def feet[3];
    for (int i = 0; i < 3; ++i) {
        feet[i] = perp_shape_def_default(PERP_SHAPE_PARTICLE);
        feet[i].position[0] = RADIUS * cos(2 * M_PI * i / 3);
        feet[i].position[1] = RADIUS * sin(2 * M_PI * i / 3);
        feet[i].position[2] = -HEIGHT;
    }
    const double heading = 2.399963229728653 * launch + 0.1; /* the golden angle: all around */
    perp_body_def part = perp_body_def_default();
    part.name = "tripod";
    part.type = PERP_BODY_DYNAMIC;
    part.mass = 1.0;
    part.has_inertia = true;
    part.inertia[0] = part.inertia[4] = 0.02;
    part.inertia[8] = 0.04;
    part.position[2] = HEIGHT;
    part.velocity[0] = V0 * cos(heading);
    part.velocity[1] = V0 * sin(heading);
    part.angular_velocity[2] = W0;
    part.shapes = feet;
    part.shape_count = 3;
    int32_t body;
    require_ok(context, perp_model_add_body(model, &part, &body));

    perp_sim_def how = perp_sim_def_default();
    how.step = 1.0 / steps;
    how.duration = 1.0;
    how.solver = solver;
    how.cone = directions > 0 ? "polygon" : "quadratic";
    if (directions > 0) {
        how.directions = directions;
    }
    require_ok(context, perp_sim_create(context, model, &how, &sim));
    perp_contact_solver* single = NULL;
    if (cold) {
        require_ok(context, perp_contact_solver_create(context, solver, NULL, 0, &single));
    }

    *r = (run){.slowest = INFINITY};
    double last = NAN;
    for (int k = 0; k < steps; ++k) {
        require_ok(context, perp_sim_step(sim));
        const perp_step_info info = perp_sim_step_info(sim);
        perp_report solve = info.report;
        if (cold) {
            const perp_contact_problem* problem = perp_sim_problem(sim);
            double v[6] = {0}, p[9] = {0};
            if (problem->dof_count > 6 || problem->row_count > 9) {
                fprintf(stderr, "p09-directions: not three contacts\n");
                exit(3);
            }
            perp_solve_options options = perp_solve_options_default();
            options.tolerance = how.tolerance;
            require_ok(context,
                       perp_contact_solve(single, problem, &options, false, v, p, NULL, &solve));
        }
        if (solve.outcome != PERP_OUTCOME_SOLVED) {
            fprintf(stderr, "p09-directions: %d directions, %s: not solved\n", directions, solver);
            exit(3);
        }
        r->seconds[k] = solve.seconds;
        r->iterations += (double)solve.iterations / steps;
        r->solver = solve.solver;
        const double c = info.certificate.worst;
        r->certificate = !(c <= r->certificate) ? c : r->certificate;
        const perp_body_state b = perp_sim_body(sim, body);
        for (int i = 0; i < 3; ++i) {
            double arm[3];
            rotate(b.orientation, feet[i].position, arm);
            for (int j = 0; j < 3; ++j) {
                r->foot[i][j] = b.position[j] + arm[j];
            }
            const double* w = b.angular_velocity;
            const double x = b.velocity[0] + w[1] * arm[2] - w[2] * arm[1];
            const double y = b.velocity[1] + w[2] * arm[0] - w[0] * arm[2];
            r->slowest = fmin(r->slowest, hypot(x, y));
            if (i == 0) {
                const double angle = atan2(y, x);
                if (k > 0) {
                    r->turned += fabs(remainder(angle - last, 2 * M_PI));
                }
                last = angle;
            }
        }
    }
    perp_contact_solver_destroy(single);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    perp_context_destroy(context);
}

/* The largest distance between the places of a foot. */
static double distance(const run* a, const run* b)
{
    double worst = 0.0;
    for (int i = 0; i < 3; ++i) {
        double s = 0.0;
        for (int j = 0; j < 3; ++j) {
            s += (a->foot[i][j] - b->foot[i][j]) * (a->foot[i][j] - b->foot[i][j]);
        }
        worst = !(sqrt(s) <= worst) ? sqrt(s) : worst;
    }
    return worst;
}

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(const run* r)
{
    static double all[STEPS];
    memcpy(all, r->seconds, sizeof all);
    qsort(all, STEPS, sizeof all[0], ascending);
    return 0.5 * (all[STEPS / 2 - 1] + all[STEPS / 2]);
}

/* Returns the fitted exponent from n = 8. */
static double errors(report* r, int steps, const char* file)
{
    static run exact[LAUNCHES];
    static run a;
    double certificate = 0.0, turned = INFINITY, slowest = INFINITY;
    char name[120];
    for (int k = 0; k < LAUNCHES; ++k) {
        simulate(0, "auto", steps, k, false, &exact[k]);
        certificate = fmax(certificate, exact[k].certificate);
        turned = fmin(turned, exact[k].turned);
        slowest = fmin(slowest, exact[k].slowest);
    }
    snprintf(name, sizeof name, "h = 1/%d: least turn of the slip of the first foot (rad)", steps);
    report_note(r, name, turned);
    snprintf(name, sizeof name, "h = 1/%d: smallest slip of a foot (m/s)", steps);
    report_note(r, name, slowest);

    FILE* f = report_file(r, file);
    fprintf(f, "# n rms_error largest_error smallest_error (m, over %d launches, h = 1/%d)\n",
            LAUNCHES, steps);
    double sx = 0, sy = 0, sxx = 0, sxy = 0, last = INFINITY, bound = 0.0;
    int points = 0, rises = 0;
    for (int i = 0; i < COUNT; ++i) {
        double square = 0.0, most = 0.0, least = INFINITY;
        for (int k = 0; k < LAUNCHES; ++k) {
            simulate(N[i], "auto", steps, k, false, &a);
            const double d = distance(&a, &exact[k]);
            square += d * d;
            most = !(d <= most) ? d : most;
            least = fmin(least, d);
            certificate = fmax(certificate, a.certificate);
        }
        const double rms = sqrt(square / LAUNCHES);
        fprintf(f, "%d %.17g %.17g %.17g\n", N[i], rms, most, least);
        snprintf(name, sizeof name,
                 "h = 1/%d: final pose against the quadratic cone (m), %d directions", steps, N[i]);
        report_note(r, name, rms);
        bound = fmax(bound, most / (1 - cos(M_PI / N[i])));
        rises += !(rms < last);
        last = rms;
        if (N[i] >= 8) {
            const double x = log(N[i]), y = log(rms);
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
            ++points;
        }
    }
    fclose(f);
    snprintf(name, sizeof name, "h = 1/%d: largest error of any launch / (1 - cos(pi/n))", steps);
    report_note(r, name, bound);
    snprintf(name, sizeof name, "h = 1/%d: number of n at which the error does not fall", steps);
    report_add(r, name, NAN, 0.0, rises, 0.0);
    snprintf(name, sizeof name, "h = 1/%d: certificate", steps);
    report_add(r, name, NAN, 0.0, certificate, 1e-8);
    return (points * sxy - sx * sy) / (points * sxx - sx * sx);
}

enum { SAMPLES = 600 };

static double follow(const plate* motion, double x, int directions, double (*place)[3])
{
    const double at[1][2] = {{x, 0.0}};
    const plate_def def = {.motion = motion,
                           .h = 1e-4,
                           .duration = SAMPLES * 0.01,
                           .mu = 0.3,
                           .directions = directions,
                           .parts = 1,
                           .at = at};
    plate_run on;
    plate_open(&on, &def);
    double certificate = 0.0, slip[3];
    for (int k = 0; k < SAMPLES; ++k) {
        for (int i = 0; i < 100; ++i) {
            certificate = fmax(certificate, plate_step(&on).certificate.worst);
        }
        plate_part(&on, 0, place[k], slip);
    }
    plate_close(&on);
    return certificate;
}

static void plates(report* r)
{
    static const plate* const motion[2] = {&plate_centrifuge, &plate_scaled_circle};
    static const double start[2] = {0.02, 0.04};
    static double exact[SAMPLES][3], place[SAMPLES][3];
    double certificate = 0.0;
    for (int m = 0; m < 2; ++m) {
        char name[120];
        snprintf(name, sizeof name, "errors-%s.dat", motion[m]->name);
        FILE* f = report_file(r, name);
        fprintf(f, "# n, largest distance from the quadratic cone in 6 s (m)\n");
        certificate = fmax(certificate, follow(motion[m], start[m], 0, exact));
        double eight = NAN, last = NAN;
        for (int i = 1; i < COUNT; ++i) { /* from 4 */
            certificate = fmax(certificate, follow(motion[m], start[m], N[i], place));
            last = 0.0;
            for (int k = 0; k < SAMPLES; ++k) {
                last = fmax(last, hypot(place[k][0] - exact[k][0], place[k][1] - exact[k][1]));
            }
            eight = N[i] == 8 ? last : eight;
            fprintf(f, "%d %.9g\n", N[i], last);
            snprintf(name, sizeof name, "%s: largest distance in 6 s (m), %d directions",
                     motion[m]->name, N[i]);
            report_note(r, name, last);
        }
        fclose(f);
        snprintf(name, sizeof name, "%s: error of 64 directions over that of 8%s", motion[m]->name,
                 m == 0 ? " (paper: does not vanish)" : " (paper: shrinks)");
        report_add(r, name, m == 0 ? 1.0 : NAN, m == 0 ? 1.0 / 64 : 1.0 / 8, last / eight, 0.1);
    }
    report_add(r, "plates: certificate", NAN, 0.0, certificate, 1e-9);
}

typedef struct timing {
    double time;       /* microseconds: the median over the steps, the best of the rounds */
    double iterations; /* mean over the steps */
    const char* method;
} timing;

static void measure(int directions, const char* solver, bool cold, timing* t)
{
    static run a;
    simulate(directions, solver, STEPS, 0, cold, &a);
    t->time = fmin(t->time, 1e6 * median(&a));
    t->iterations = a.iterations;
    t->method = a.solver;
}

/* Where the line through (N[i], t[i].time) first exceeds the level; N[0] if it starts above. */
static double crossing(const timing* t, double level)
{
    for (int i = 0; i < COUNT; ++i) {
        if (t[i].time > level) {
            return i == 0 ? N[0]
                          : N[i - 1] + (N[i] - N[i - 1]) * (level - t[i - 1].time) /
                                           (t[i].time - t[i - 1].time);
        }
    }
    return NAN;
}

static void times(report* r)
{
    /* [cold]; the rounds go through all of them in turn, so that a busy machine hits all alike */
    timing lemke[2][COUNT], automatic[2][COUNT], quadratic[2];
    for (int round = 0; round < ROUNDS; ++round) {
        for (int cold = 0; cold < 2; ++cold) {
            if (round == 0) {
                quadratic[cold].time = INFINITY;
            }
            measure(0, "auto", cold, &quadratic[cold]);
            for (int i = 0; i < COUNT; ++i) {
                if (round == 0) {
                    lemke[cold][i].time = automatic[cold][i].time = INFINITY;
                }
                measure(N[i], "lemke", cold, &lemke[cold][i]);
                measure(N[i], "auto", cold, &automatic[cold][i]);
            }
        }
    }
    for (int cold = 0; cold < 2; ++cold) {
        const char* start = cold ? "cold" : "warm";
        char name[128];
        snprintf(name, sizeof name, "times-%s.dat", start);
        FILE* f = report_file(r, name);
        fprintf(f, "# n lemke auto quadratic (microseconds a solve), pivots of lemke, auto is\n");
        snprintf(name, sizeof name, "%s start: microseconds a solve, quadratic (%s)", start,
                 quadratic[cold].method);
        report_note(r, name, quadratic[cold].time);
        for (int i = 0; i < COUNT; ++i) {
            const timing *a = &lemke[cold][i], *b = &automatic[cold][i];
            fprintf(f, "%d %.6g %.6g %.6g %.3g \"%s\"\n", N[i], a->time, b->time,
                    quadratic[cold].time, a->iterations, b->method);
            snprintf(name, sizeof name, "%s start: microseconds a solve, %d directions, lemke",
                     start, N[i]);
            report_note(r, name, a->time);
            snprintf(name, sizeof name, "%s start: microseconds a solve, %d directions, auto (%s)",
                     start, N[i], b->method);
            report_note(r, name, b->time);
        }
        fclose(f);
        snprintf(name, sizeof name,
                 "%s start: directions from which lemke is slower than quadratic (paper: about 8)",
                 start);
        report_note(r, name, crossing(lemke[cold], quadratic[cold].time));
    }
}

int main(int argc, char** argv)
{
    report r;
    report_begin(&r, "p09-directions", argc, argv);
    report_add(&r, "h = 1/200: exponent of the error in n, fitted from n = 8", NAN, -2.0,
               errors(&r, STEPS, "errors.dat"), 0.5);
    report_add(&r, "h = 1/2000: exponent of the error in n, fitted from n = 8", NAN, -2.0,
               errors(&r, FINE, "errors-fine.dat"), 0.25);
    plates(&r);
    times(&r);
    return report_end(&r);
}
