#include "common/design.h"

#include <math.h>
#include <stdlib.h>

typedef struct history {
    FILE* file;
    design_found found;
    double target;
} history;

perp_study* design_load(perp_context* context, const char* folder, const char* name)
{
    char path[512];
    perp_study* study = NULL;
    (void)snprintf(path, sizeof path, "%s/%s.json", folder, name);
    study_require(context, perp_study_load(context, path, &study));
    return study;
}

perp_scene* design_scene(perp_context* context, const char* folder, const char* name)
{
    char path[512];
    perp_scene* scene = NULL;
    (void)snprintf(path, sizeof path, "%s/%s.json", folder, name);
    study_require(context, perp_scene_load(context, path, NULL, 0, &scene));
    return scene;
}

void design_set(perp_context* context, perp_scene* scene, const char* name, double value)
{
    study_require(context, perp_scene_set_number(scene, name, value));
}

static bool add_evaluation(void* user, const perp_evaluation* row)
{
    history* h = user;
    h->found.seconds += row->seconds;
    if (row->half_step) {
        return true;
    }
    fprintf(h->file, "%lld %.9g %.9g", (long long)row->id, row->objective, row->best);
    for (int32_t i = 0; i < h->found.unknowns; ++i) {
        fprintf(h->file, " %.9g", row->unknown[i]);
    }
    fprintf(h->file, "\n");
    if (row->id == h->found.report.best) {
        for (int32_t i = 0; i < h->found.unknowns; ++i) {
            h->found.best[i] = row->unknown[i];
        }
    }
    if (h->found.reached == 0 && row->objective <= h->target) {
        h->found.reached = row->id;
    }
    return true;
}

static bool below_target(void* user, const perp_design_report* now)
{
    const double target = *(const double*)user;
    return !(now->best > 0 && now->feasible && now->best_value <= target);
}

design_found design_search(perp_context* context, const report* r, const char* folder,
                           const char* study_name, double target)
{
    static const char* const left[] = {".db", ".db-wal", ".db-shm"};
    char file[128];
    for (int i = 0; i < 3; ++i) {
        (void)snprintf(file, sizeof file, "%s%s", study_name, left[i]);
        char* old = study_path(r, file);
        (void)remove(old);
        free(old);
    }
    perp_study* study = design_load(context, folder, study_name);
    const perp_design_info info = perp_study_design(study);
    history h = {.target = target,
                 .found = {.unknowns = info.unknown_count, .runs = info.case_count * info.draws}};
    if (info.unknown_count > DESIGN_UNKNOWNS) {
        fprintf(stderr, "experiment: too many unknowns\n");
        exit(3);
    }
    (void)snprintf(file, sizeof file, "%s.db", study_name);
    char* database = study_path(r, file);
    perp_design_def def = perp_design_def_default();
    def.out = database;
    if (!isnan(target)) {
        def.progress = below_target;
        def.user = &target;
    }
    study_require(context, perp_design_run(context, study, &def, &h.found.report));
    perp_study_destroy(study);
    perp_results* results = NULL;
    study_require(context, perp_results_open(context, database, &results));
    (void)snprintf(file, sizeof file, "%s-history.dat", study_name);
    h.file = report_file(r, file);
    fprintf(h.file, "# evaluation, objective, best so far, unknowns\n");
    study_require(context, perp_results_evaluations(results, add_evaluation, &h));
    fclose(h.file);
    perp_results_close(results);
    free(database);
    return h.found;
}

void design_report(report* r, const char* what, perp_study* study, const design_found* found)
{
    char text[200];
    const perp_design_report* d = &found->report;
    const struct {
        const char* name;
        double value;
    } figure[] = {{"evaluations", (double)d->evaluations},
                  {"simulations", (double)(d->evaluations * found->runs)},
                  {"simulations without a value", (double)d->failed},
                  {"seconds of CPU", found->seconds},
                  {"objective at the start", d->start_value},
                  {"objective at the optimum", d->best_value},
                  {"objective at the optimum with half the step", d->half_value}};
    for (size_t i = 0; i < sizeof figure / sizeof figure[0]; ++i) {
        (void)snprintf(text, sizeof text, "%s: %s", what, figure[i].name);
        report_note(r, text, figure[i].value);
    }
    for (int32_t i = 0; i < found->unknowns; ++i) {
        (void)snprintf(text, sizeof text, "%s: %s at the optimum", what,
                       perp_study_unknown(study, i).name);
        report_note(r, text, found->best[i]);
    }
}
