/* experiments/p09-solve-time - what a tripod on the circle plate costs: [P09] 3.4.
 *
 * A tripod (three contacts) 8 cm from the centre of the circle plate, 5 s at h = 1e-4: 50000 steps.
 * With d directions the step is an LCP of 12 + 3 d unknowns, solved by Lemke's method; with the
 * quadratic cone it is the round problem, solved by Newton's method (and by the portfolio `auto`,
 * which goes on to 1e-12). [P09]: 2 minutes with 32 directions and 20 seconds with the quadratic cone
 * on a laptop of its time (Pentium M, 1.6 GHz), and the LCP slower than the NCP from about 8
 * directions on.
 *
 * Times are of the machine: a total is 50000 times the median time of a step (whole steps: collide,
 * formulate, solve, judge, advance), which a busy machine disturbs least; the sum is noted too.
 * The paper's crossing is that of single calls, without a guess from the step before: "cold" are each
 * 25th step's problem solved once more from zero.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/plate.h"
#include "common/report.h"
#include "common/scene.h"

enum { STEPS = 50000, EVERY = 25, COUNT = 8 };

typedef struct cost {
    double total, sum; /* s */
    double step;       /* median, microseconds */
    double solve;      /* median of the solves within the steps */
    double cold;       /* median, from zero */
    double iterations, certificate;
    double end[3];
} cost;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cost measure(int directions, const char* solver)
{
    static const double at[1][2] = {{0.08, 0.0}};
    static double step[STEPS], solve[STEPS], cold[STEPS / EVERY];
    const plate_def def = {.motion = &plate_circle,
                           .h = 1e-4,
                           .duration = 5.0,
                           .mu = 0.3,
                           .directions = directions,
                           .solver = solver,
                           .parts = 1,
                           .at = at,
                           .tripod = true};
    plate_run run;
    plate_open(&run, &def);
    perp_contact_solver* single;
    if (perp_contact_solver_create(run.context, solver, NULL, 0, &single) != PERP_OK) {
        exit(3);
    }
    cost c = {0};
    int colds = 0;
    for (int k = 0; k < STEPS; ++k) {
        const double begin = now();
        const perp_step_info info = plate_step(&run);
        step[k] = now() - begin;
        solve[k] = info.report.seconds;
        c.sum += step[k];
        c.iterations += (double)info.report.iterations / STEPS;
        c.certificate = fmax(c.certificate, info.certificate.worst);
        if (k % EVERY == 0) {
            const perp_contact_problem* problem = perp_sim_problem(run.sim);
            double v[6] = {0}, p[9] = {0};
            perp_report how;
            if (problem->dof_count > 6 || problem->row_count > 9) {
                exit(3);
            }
            const perp_solve_options options = perp_solve_options_default();
            if (perp_contact_solve(single, problem, &options, false, v, p, NULL, &how) != PERP_OK ||
                how.outcome != PERP_OUTCOME_SOLVED) {
                fprintf(stderr, "p09-solve-time: not solved from zero: %d directions, %s\n",
                        directions, solver);
                exit(3);
            }
            cold[colds++] = how.seconds;
        }
    }
    double slip[3];
    plate_part(&run, 0, c.end, slip);
    c.step = 1e6 * quantile(step, STEPS, 0.5);
    c.solve = 1e6 * quantile(solve, STEPS, 0.5);
    c.cold = 1e6 * quantile(cold, colds, 0.5);
    c.total = 1e-6 * STEPS * c.step;
    perp_contact_solver_destroy(single);
    plate_close(&run);
    return c;
}

/* Where the line through (n[i], y[i]) first exceeds the level; n[0] if it starts above. */
static double crossing(const int* n, const double* y, double level)
{
    for (int i = 0; i < COUNT; ++i) {
        if (y[i] > level) {
            return i == 0 ? n[0]
                          : n[i - 1] + (n[i] - n[i - 1]) * (level - y[i - 1]) / (y[i] - y[i - 1]);
        }
    }
    return NAN;
}

int main(int argc, char** argv)
{
    static const int n[COUNT] = {4, 6, 8, 12, 16, 20, 24, 32};
    double cold[COUNT], warm[COUNT], certificate = 0.0, eight = 0.0, thirty = 0.0, cold8 = 0.0;
    report r;
    report_begin(&r, "p09-solve-time", argc, argv);
    const cost round = measure(0, "newton"), both = measure(0, "auto");
    FILE* f = report_file(&r, "times.dat");
    fprintf(f,
            "# n, microseconds: step, solve, cold solve of the LCP; the same of newton and auto\n");
    char name[100];
    for (int i = 0; i < COUNT; ++i) {
        const cost c = measure(n[i], "lemke");
        cold[i] = c.cold;
        warm[i] = c.solve;
        certificate = fmax(certificate, c.certificate);
        eight = n[i] == 8 ? c.total : eight;
        cold8 = n[i] == 8 ? c.cold : cold8;
        thirty = n[i] == 32 ? c.total : thirty;
        fprintf(f, "%d %g %g %g %g %g %g %g %g %g\n", n[i], c.step, c.solve, c.cold, round.step,
                round.solve, round.cold, both.step, both.solve, both.cold);
        snprintf(name, sizeof name, "%d directions: 5 s simulated (s)", n[i]);
        report_note(&r, name, c.total);
        snprintf(name, sizeof name, "%d directions: distance from the quadratic cone at 5 s (m)",
                 n[i]);
        report_note(&r, name, hypot(c.end[0] - both.end[0], c.end[1] - both.end[1]));
    }
    fclose(f);
    report_note(&r, "quadratic cone, newton: 5 s simulated (s)", round.total);
    report_note(&r, "quadratic cone, newton: 5 s simulated, sum of the steps (s)", round.sum);
    report_note(&r, "quadratic cone, auto: 5 s simulated (s)", both.total);
    report_note(&r, "quadratic cone, newton: iterations a step", round.iterations);
    report_note(&r, "32 directions: how many times faster than the paper's 2 minutes",
                120 / thirty);
    report_note(&r, "quadratic cone, newton: how many times faster than the paper's 20 s",
                20 / round.total);
    report_note(&r, "quadratic cone, auto: how many times faster than the paper's 20 s",
                20 / both.total);
    report_add(&r, "32 directions, 5 s simulated: at least 50 times faster (s)", 120.0, 0.0, thirty,
               2.4);
    report_note(&r, "cold: microseconds of a solve, 8 directions", cold8);
    report_note(&r, "cold: microseconds of a solve, quadratic cone, newton", round.cold);
    report_note(&r, "cold: directions from which the LCP is slower than newton (paper: about 8)",
                crossing(n, cold, round.cold));
    report_note(&r, "warm: directions from which the LCP is slower than newton",
                crossing(n, warm, round.solve));
    report_note(&r, "warm: quadratic cone, newton, over 8 directions: time of 5 s",
                round.total / eight);
    report_add(&r, "certificate, lemke", NAN, 0.0, certificate, 1e-9);
    report_add(&r, "certificate, quadratic cone, auto", NAN, 0.0, both.certificate, 1e-9);
    return report_end(&r);
}
