/* experiments/design-feeder - the feeder of b09-feeder [B09 4.3.1] designed by CMA-ES instead of by
 * random sampling.
 *
 * A design has to be right for 32 draws of what is uncertain: orientation, place and tilt of the
 * cup, and friction. Sampling draws designs until one is right for all of them; the search (`perp
 * design`, mean cost over the same 32 draws) starts at random designs, and ends with the first that
 * is. Simulations needed by each; the found designs under 200 other draws, and with half the step.
 * `wide`: an uncertainty of three times the tilt, twice the place and twice the friction.
 *
 * --full: 10 starts instead of 3, 600 sampled designs (those of b09-feeder) instead of 60, and the wide uncertainty.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/design.h"

enum { DESIGN = 12, DRAWS = 32, CHECKS = 200, EVALUATIONS = 120 };

static const char folder[] = "experiments/design-feeder";
static const struct {
    const char* name;
    double low, high;
} parameter[DESIGN] = {
    {"chute_w", 28, 33}, {"post_x", -6, 6},  {"post_y", -40, -10}, {"post_w", 2, 10},
    {"post_h", 10, 60},  {"tip", 1, 8},      {"left_x", 20, 45},   {"right_x", 20, 45},
    {"roof", 2, 15},     {"out_x", -15, 15}, {"out_w", 19, 30},    {"funnel_h", 10, 60},
};
typedef struct uncertainty {
    const char *name, *vary;
} uncertainty;
static const uncertainty uncertainties[] = {
    {"b09", "\"closed\":{\"choice\":[-1,1]},\"tilt\":{\"uniform\":[-0.05,0.05]},"
            "\"dx\":{\"uniform\":[-0.5,0.5]},\"mu\":{\"uniform\":[0.1,0.3]}"},
    {"wide", "\"closed\":{\"choice\":[-1,1]},\"tilt\":{\"uniform\":[-0.15,0.15]},"
             "\"dx\":{\"uniform\":[-1,1]},\"mu\":{\"uniform\":[0.05,0.45]}"},
};

/* Scene, draws and designs, in the output directory. */
static void write_inputs(const report* r, const uncertainty* u, int designs)
{
    char path[256], text[8192], file[96];
    (void)snprintf(path, sizeof path, "%s/feeder.json", folder);
    FILE* f = fopen(path, "r");
    const size_t length = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f == NULL || length == 0 || length == sizeof text - 1) {
        fprintf(stderr, "experiment: cannot read %s (run it in the folder of the sources)\n", path);
        exit(3);
    }
    fclose(f);
    text[length] = '\0';
    study_write(r, "feeder.json", "%s", text);
    for (int i = 0; i < 2; ++i) {
        (void)snprintf(file, sizeof file, "%s-%s.json", u->name, i == 0 ? "draws" : "checks");
        study_write(r, file,
                    "{\"scene\":\"feeder.json\",\"vary\":{%s},\"sample\":{\"method\":\"sobol\","
                    "\"trials\":%d,\"seed\":%d}}\n",
                    u->vary, i == 0 ? DRAWS : CHECKS, i == 0 ? 1 : 3);
    }
    f = report_file(r, "designs.json");
    fprintf(f, "{\"scene\":\"feeder.json\",\"vary\":{");
    for (int i = 0; i < DESIGN; ++i) {
        fprintf(f, "%s\"%s\":{\"uniform\":[%g,%g]}", i > 0 ? "," : "", parameter[i].name,
                parameter[i].low, parameter[i].high);
    }
    fprintf(f, "},\"sample\":{\"method\":\"sobol\",\"trials\":%d,\"seed\":2}}\n", designs);
    fclose(f);
}

static void write_design(const report* r, const char* name, const uncertainty* u,
                         const double start[DESIGN], int seed)
{
    char file[96];
    (void)snprintf(file, sizeof file, "%s.json", name);
    FILE* f = report_file(r, file);
    fprintf(f, "{\"name\":\"%s\",\"scene\":\"feeder.json\",\"unknown\":{", name);
    for (int i = 0; i < DESIGN; ++i) {
        fprintf(f, "%s\"%s\":{\"start\":%.9g,\"bounds\":[%g,%g]}", i > 0 ? "," : "",
                parameter[i].name, start[i], parameter[i].low, parameter[i].high);
    }
    fprintf(
        f,
        "},\"vary\":{%s},\"sample\":{\"method\":\"sobol\",\"trials\":%d,\"seed\":%d},"
        "\"minimise\":\"cost\",\"robust\":\"mean\",\"method\":\"cma-es\",\"limit\":{\"seconds\":"
        "5},\"keep\":\"none\",\"stop\":{\"evaluations\":%d}}\n",
        u->vary, DRAWS, seed, EVALUATIONS);
    fclose(f);
}

/* How many of the draws end right. *until_failure: simulations up to the first that does not. */
static int count_right(perp_context* context, const report* r, const char* draws,
                       const double design[DESIGN], double step, int64_t* until_failure)
{
    perp_runner* runner = NULL;
    perp_study* study = design_load(context, r->out, draws);
    perp_scene* scene = perp_study_scene(study);
    perp_run_options options = perp_run_options_default();
    int right = 0;
    int64_t first = 0;
    study_require(context, perp_runner_create(context, &runner));
    for (int i = 0; i < DESIGN; ++i) {
        design_set(context, scene, parameter[i].name, design[i]);
    }
    design_set(context, scene, "/step", step);
    for (int64_t run = 1; run <= perp_study_run_count(study); ++run) {
        perp_run_row row;
        for (int i = 0; i < perp_study_vary_count(study); ++i) {
            design_set(context, scene, perp_study_vary(study, i).name,
                       perp_study_value(study, run, i).number);
        }
        study_require(context, perp_runner_run(runner, scene, &options, &row));
        const bool ok = row.status == PERP_RUN_OK && strcmp(row.outcome, "right") == 0;
        right += ok;
        first = first == 0 && !ok ? run : first;
    }
    if (until_failure != NULL) {
        *until_failure = first > 0 ? first : perp_study_run_count(study);
    }
    perp_runner_destroy(runner);
    perp_study_destroy(study);
    return right;
}

static void design_of(perp_study* designs, int64_t k, double value[DESIGN])
{
    for (int i = 0; i < DESIGN; ++i) {
        value[i] = perp_study_value(designs, k, i).number;
    }
}

static void note(report* r, const uncertainty* u, const char* what, double value)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s: %s", u->name, what);
    report_note(r, text, value);
}

/* Sampling: simulations for a design that is right for all draws, on average. */
static double sample_designs(perp_context* context, report* r, const uncertainty* u,
                             perp_study* designs)
{
    char draws[64], file[96];
    const int64_t count = perp_study_run_count(designs);
    int passed = 0;
    double stopped = 0.0;
    (void)snprintf(draws, sizeof draws, "%s-draws", u->name);
    (void)snprintf(file, sizeof file, "%s-sampled.dat", u->name);
    FILE* f = report_file(r, file);
    for (int64_t k = 1; k <= count; ++k) {
        double value[DESIGN];
        int64_t until = 0;
        design_of(designs, k, value);
        const int right = count_right(context, r, draws, value, 1e-3, &until);
        passed += right == DRAWS;
        stopped += (double)until;
        fprintf(f, "%lld %d\n", (long long)k, right);
    }
    fclose(f);
    note(r, u, "sampled designs", (double)count);
    note(r, u, "sampled designs that are right for all draws", passed);
    const double mean = passed > 0 ? DRAWS * (double)count / passed : NAN;
    note(r, u, "sampling: simulations for a right design, on average", mean);
    note(r, u, "sampling, each design until its first failure: simulations",
         passed > 0 ? stopped / passed : NAN);
    return mean;
}

static void search_designs(perp_context* context, report* r, const uncertainty* u,
                           perp_study* designs, int starts, double sampling)
{
    char name[64], checks[64];
    int found = 0;
    double simulations = 0.0, worst_share = 1.0, worst_half = 1.0, failed = 0.0;
    (void)snprintf(checks, sizeof checks, "%s-checks", u->name);
    for (int s = 0; s < starts; ++s) {
        double start[DESIGN];
        /* the last of the sampled designs, so that these and the starts are drawn alike */
        design_of(designs, perp_study_run_count(designs) - s, start);
        (void)snprintf(name, sizeof name, "%s-search-%d", u->name, s + 1);
        write_design(r, name, u, start, 1);
        const design_found d = design_search(context, r, r->out, name, 0.999 / DRAWS);
        simulations += (double)((d.reached > 0 ? d.reached : d.report.evaluations) * DRAWS);
        failed += (double)d.report.failed;
        if (d.reached > 0) {
            found += 1;
            const double share =
                count_right(context, r, checks, d.best, 1e-3, NULL) / (double)CHECKS;
            const double half =
                count_right(context, r, checks, d.best, 5e-4, NULL) / (double)CHECKS;
            worst_share = fmin(worst_share, share);
            worst_half = fmin(worst_half, half);
        }
    }
    note(r, u, "searches", starts);
    note(r, u, "searches that found a design that is right for all draws", found);
    const double mean = found > 0 ? simulations / found : NAN;
    note(r, u, "search: simulations for a right design, on average", mean);
    note(r, u, "search: simulations without a value", failed);
    note(r, u, "search over sampling, simulations", mean / sampling);
    note(r, u, "found designs, 200 other draws: least share right", worst_share);
    note(r, u, "the same with half the step", worst_half);
    report_add(r,
               u == uncertainties ? "b09: searches that found a right design, share"
                                  : "wide: searches that found a right design, share",
               NAN, 1.0, found / (double)starts, 0.35);
}

int main(int argc, char** argv)
{
    report r;
    perp_context* context = NULL;
    const bool full = study_option(&argc, argv, "--full");
    report_begin(&r, "design-feeder", argc, argv);
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    for (int i = 0; i < (full ? 2 : 1); ++i) {
        const uncertainty* u = &uncertainties[i];
        write_inputs(&r, u, full ? 600 : 60);
        perp_study* designs = design_load(context, r.out, "designs");
        const double sampling = sample_designs(context, &r, u, designs);
        search_designs(context, &r, u, designs, full ? 10 : 3, sampling);
        perp_study_destroy(designs);
    }
    perp_context_destroy(context);
    return report_end(&r);
}
