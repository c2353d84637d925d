/* experiments/p09-solve-time - what a tripod on the circle plate costs: [P09] 3.4.
 *
 * A tripod (three contacts) 8 cm from the centre of the circle plate, 5 s at h = 1e-4: 50000 steps.
 * With d directions the step is an LCP of 12 + 3 d unknowns, solved by Lemke's method; with the
 * quadratic cone it is the round problem, solved by Newton's method (and by the plan of `auto`,
 * which goes on to 1e-12). [P09]: 2 minutes with 32 directions and 20 seconds with the quadratic cone
 * on a laptop of its time (Pentium M, 1.6 GHz), and the LCP slower than the NCP from about 8
 * directions on.
 *
 * Times are of the machine. So that a busy one hits all alike, the simulations take turns, 500 steps
 * each (1.65 periods of the plate), and a time is the 10 % quantile over these blocks of the
 * median in a block; a total is that of whole steps (collide, formulate, solve, check, advance) times
 * 50000. The paper's crossing is that of single calls, without a guess from the step before: "cold"
 * are the problems of every 25th step, solved once more from zero.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common/plate.h"
#include "common/report.h"
#include "common/scene.h"

enum { BLOCKS = 100, BLOCK = 500, EVERY = 25, COUNT = 8, RUNS = COUNT + 2 };

typedef struct cost {
    int directions;
    const char* solver;
    plate_run run;
    perp_contact_solver* single;
    double step[BLOCKS], solve[BLOCKS], cold[BLOCKS]; /* medians, s */
    double sum, iterations, certificate;
    double total; /* s */
    double warm_us, cold_us;
} cost;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin_cost(cost* c, int directions, const char* solver)
{
    static const double at[1][2] = {{0.08, 0.0}};
    *c = (cost){.directions = directions, .solver = solver};
    const plate_def def = {.motion = &plate_circle,
                           .h = 1e-4,
                           .duration = 1e-4 * BLOCKS * BLOCK,
                           .mu = 0.3,
                           .directions = directions,
                           .solver = solver,
                           .parts = 1,
                           .at = at,
                           .tripod = true};
    plate_open(&c->run, &def);
    if (perp_contact_solver_create(c->run.context, solver, NULL, 0, &c->single) != PERP_OK) {
        exit(3);
    }
}

static double solve_cold(cost* c)
{
    const perp_contact_problem* problem = perp_sim_problem(c->run.sim);
    const perp_solve_options options = perp_solve_options_default();
    double v[6] = {0}, p[9] = {0};
    perp_report how;
    if (problem->dof_count > 6 || problem->row_count > 9 ||
        perp_contact_solve(c->single, problem, &options, false, v, p, NULL, &how) != PERP_OK ||
        how.outcome != PERP_OUTCOME_SOLVED) {
        fprintf(stderr, "p09-solve-time: not solved from zero: %d directions, %s\n", c->directions,
                c->solver);
        exit(3);
    }
    return how.seconds;
}

static void go_on(cost* c, int block)
{
    double step[BLOCK], solve[BLOCK], cold[BLOCK / EVERY];
    for (int k = 0; k < BLOCK; ++k) {
        const double from = now();
        const perp_step_info info = plate_step(&c->run);
        step[k] = now() - from;
        solve[k] = info.report.seconds;
        c->sum += step[k];
        c->iterations += (double)info.report.iterations / (BLOCKS * BLOCK);
        c->certificate = fmax(c->certificate, info.certificate.worst);
        if (k % EVERY == 0) {
            cold[k / EVERY] = solve_cold(c);
        }
    }
    c->step[block] = quantile(step, BLOCK, 0.5);
    c->solve[block] = quantile(solve, BLOCK, 0.5);
    c->cold[block] = quantile(cold, BLOCK / EVERY, 0.5);
}

static void finish_cost(cost* c)
{
    c->total = BLOCKS * BLOCK * quantile(c->step, BLOCKS, 0.1);
    c->warm_us = 1e6 * quantile(c->solve, BLOCKS, 0.1);
    c->cold_us = 1e6 * quantile(c->cold, BLOCKS, 0.1);
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
    static cost all[RUNS];
    report r;
    report_begin(&r, "p09-solve-time", argc, argv);
    for (int i = 0; i < COUNT; ++i) {
        begin_cost(&all[i], n[i], "lemke");
    }
    begin_cost(&all[COUNT], 0, "newton");
    begin_cost(&all[COUNT + 1], 0, "auto");
    for (int block = 0; block < BLOCKS; ++block) {
        for (int i = 0; i < RUNS; ++i) {
            go_on(&all[i], block);
        }
    }
    double cold[COUNT], warm[COUNT], certificate = 0.0, end[3], truth[3], slip[3];
    for (int i = 0; i < RUNS; ++i) {
        finish_cost(&all[i]);
    }
    const cost *round = &all[COUNT], *both = &all[COUNT + 1], *eight = &all[2],
               *most = &all[COUNT - 1];
    plate_part(&both->run, 0, truth, slip);
    FILE* f = report_file(&r, "times.dat");
    fprintf(f, "# n, microseconds: warm, cold solve of the LCP; the same of newton and auto\n");
    char name[100];
    for (int i = 0; i < COUNT; ++i) {
        const cost* c = &all[i];
        cold[i] = c->cold_us;
        warm[i] = c->warm_us;
        certificate = fmax(certificate, c->certificate);
        fprintf(f, "%d %g %g %g %g %g %g\n", n[i], c->warm_us, c->cold_us, round->warm_us,
                round->cold_us, both->warm_us, both->cold_us);
        snprintf(name, sizeof name, "%d directions: 5 s simulated (s)", n[i]);
        report_note(&r, name, c->total);
        plate_part(&c->run, 0, end, slip);
        snprintf(name, sizeof name, "%d directions: distance from the quadratic cone at 5 s (m)",
                 n[i]);
        report_note(&r, name, hypot(end[0] - truth[0], end[1] - truth[1]));
    }
    fclose(f);
    report_note(&r, "quadratic cone, newton: 5 s simulated (s)", round->total);
    report_note(&r, "quadratic cone, newton: 5 s simulated, sum of the steps (s)", round->sum);
    report_note(&r, "quadratic cone, auto: 5 s simulated (s)", both->total);
    report_note(&r, "quadratic cone, newton: iterations a step", round->iterations);
    report_note(&r, "quadratic cone, auto: iterations a step", both->iterations);
    report_note(&r, "32 directions: how many times faster than the paper's 2 minutes",
                120 / most->total);
    report_note(&r, "quadratic cone, newton: how many times faster than the paper's 20 s",
                20 / round->total);
    report_note(&r, "quadratic cone, auto: how many times faster than the paper's 20 s",
                20 / both->total);
    report_add(&r, "32 directions, 5 s simulated: at least 50 times faster (s)", 120.0, 0.0,
               most->total, 2.4);
    report_note(&r, "cold: microseconds of a solve, 8 directions", eight->cold_us);
    report_note(&r, "cold: microseconds of a solve, quadratic cone, newton", round->cold_us);
    report_note(&r, "cold: directions from which the LCP is slower than newton (paper: about 8)",
                crossing(n, cold, round->cold_us));
    report_note(&r, "warm: directions from which the LCP is slower than newton",
                crossing(n, warm, round->warm_us));
    /* wide results: the machine may be busy with other things */
    report_add(&r, "cold: quadratic cone, newton, over 8 directions: time of a solve", 1.0, 1.0,
               round->cold_us / eight->cold_us, 0.5);
    report_add(&r, "warm: quadratic cone, newton, over 8 directions: time of 5 s", NAN, 1.0,
               round->total / eight->total, 0.5);
    report_add(&r, "warm: quadratic cone, auto, over 8 directions: time of 5 s", NAN, 1.0,
               both->total / eight->total, 0.5);
    report_add(&r, "certificate, lemke", NAN, 0.0, certificate, 1e-9);
    report_add(&r, "certificate, quadratic cone, auto", NAN, 0.0, both->certificate, 1e-9);
    for (int i = 0; i < RUNS; ++i) {
        perp_contact_solver_destroy(all[i].single);
        plate_close(&all[i].run);
    }
    return report_end(&r);
}
