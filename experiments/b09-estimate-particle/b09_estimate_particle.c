/* experiments/b09-estimate-particle - [B09 table 7.1]: friction of one particle from its noisy trajectory.
 *
 * Five levels of noise, the start known and estimated, by `mpec` and by `shooting`, from mu = 1.
 * The paper's solver (KNITRO) did not solve the level 0.5. Its objectives equal the energy of the
 * noise: they do not go to 0 as its text says.
 *
 * --repeats N: so many draws of the noise at every level, and how many were solved by mpec and agree with shooting. Where the
 * best trajectory is at a kink (the particle lands just at the end of a step) mpec finds it,
 * shooting may stop beside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/particles.h"

enum { LEVELS = 5 };

static const struct {
    double noise, mu, objective;
    int iterations;
    const char* name;
} printed[LEVELS] = {
    {5e-5, 0.2, 2.03e-7, 301, "level-1"},
    {5e-4, 0.2, 1.61e-5, 443, "level-2"},
    {5e-3, 0.2, 1.467e-3, 19, "level-3"},
    {5e-2, 0.200022, 1.61e-1, 149, "level-4"},
    {5e-1, 0.199873, 14.8, 96 /* infeasible */, "level-5"},
};
/* Standard deviations of mu at a noise of 1: start known, estimated (rounded up). */
static const double SD[2] = {5.35e-6 / 5e-3, 2.96e-5 / 5e-3};

static const double TRUE_MU = 0.2, HEIGHT = 3.0, PLACE = 0.0;

static particles_def level_def(int level, unsigned seed)
{
    return (particles_def){.name = printed[level].name,
                           .count = 1,
                           .mu = &TRUE_MU,
                           .height = &HEIGHT,
                           .place = &PLACE,
                           .noise = printed[level].noise,
                           .seed = seed};
}

static void run_level(perp_context* context, report* r, FILE* table, int level)
{
    const particles_def def = level_def(level, (unsigned)level + 1);
    particles_write(context, r, &def);
    for (int estimated = 0; estimated < 2; ++estimated) {
        const char* start = estimated != 0 ? "estimated" : "known";
        const particles_found mpec = particles_estimate(context, r, &def, "mpec", estimated != 0);
        const particles_found shoot =
            particles_estimate(context, r, &def, "shooting", estimated != 0);
        const double bound = 4.0 * SD[estimated] * def.noise;
        char what[96];
        (void)snprintf(what, sizeof what, "mu-%g-start-%s-mpec", def.noise, start);
        report_add(r, what, printed[level].mu, TRUE_MU, mpec.mu, bound);
        (void)snprintf(what, sizeof what, "mu-%g-start-%s-shooting", def.noise, start);
        report_add(r, what, printed[level].mu, TRUE_MU, shoot.mu, bound);
        (void)snprintf(what, sizeof what, "difference-%g-start-%s", def.noise, start);
        report_add(r, what, NAN, 0.0, mpec.mu - shoot.mu, 1e-6);
        (void)snprintf(what, sizeof what, "solved-%g-start-%s", def.noise, start);
        report_add(r, what, level < 4 ? 1.0 : 0.0, 1.0, mpec.solved && shoot.solved, 0.0);
        (void)snprintf(what, sizeof what, "iterations-%g-start-%s", def.noise, start);
        report_add(r, what, printed[level].iterations, 0.0, (double)mpec.iterations, 443.0);
        fprintf(table,
                "%-8g %-10s  paper: mu %-9g objective %-9g iterations %-4d%s  mpec: %.9f %.4g %lld "
                " shooting: %.9f %.4g %lld  sd %.3g\n",
                def.noise, start, printed[level].mu, printed[level].objective,
                printed[level].iterations, level == 4 ? " (not solved)" : "", mpec.mu, mpec.squares,
                mpec.iterations, shoot.mu, shoot.squares, shoot.iterations, mpec.deviation);
    }
}

static void repeat_level(perp_context* context, report* r, FILE* table, int level, int repeats)
{
    for (int estimated = 0; estimated < 2; ++estimated) {
        int solved = 0, agree = 0, better = 0, within = 0;
        long long most = 0;
        for (int i = 0; i < repeats; ++i) {
            const particles_def def = level_def(level, (unsigned)i + 100);
            particles_write(context, r, &def);
            const particles_found a = particles_estimate(context, r, &def, "mpec", estimated != 0);
            const particles_found b =
                particles_estimate(context, r, &def, "shooting", estimated != 0);
            solved += a.solved;
            agree += fabs(a.mu - b.mu) <= 1e-6;
            better += a.squares < b.squares * (1.0 - 1e-9);
            within += fabs(a.mu - TRUE_MU) <= 4.0 * SD[estimated] * def.noise;
            most = a.iterations > most ? a.iterations : most;
        }
        fprintf(table,
                "%-8g %-10s %d repeats: mpec solved %d, within four deviations %d, at most %lld "
                "iterations; within 1e-6 of shooting %d, smaller objective than shooting %d\n",
                printed[level].noise, estimated != 0 ? "estimated" : "known", repeats, solved,
                within, most, agree, better);
    }
}

int main(int argc, char** argv)
{
    report r;
    perp_context* context = NULL;
    int repeats = 0;
    for (int i = 1; i + 1 < argc; ++i) {
        if (strcmp(argv[i], "--repeats") == 0) {
            repeats = atoi(argv[i + 1]);
            memmove(argv + i, argv + i + 2, (size_t)(argc - i - 2) * sizeof *argv);
            argc -= 2;
            break;
        }
    }
    report_begin(&r, "b09-estimate-particle", argc, argv);
    study_require(NULL, perp_context_create(NULL, &context));
    FILE* table = report_file(&r, "table-7.1.txt");
    for (int level = 0; level < LEVELS; ++level) {
        run_level(context, &r, table, level);
    }
    for (int level = 0; repeats > 0 && level < LEVELS; ++level) {
        repeat_level(context, &r, table, level, repeats);
    }
    fclose(table);
    perp_context_destroy(context);
    return report_end(&r);
}
