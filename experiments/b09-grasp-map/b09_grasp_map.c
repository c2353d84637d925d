/* experiments/b09-grasp-map - [B09 3.5.3.4, 4.3.3]: the probability that a parallel-jaw gripper grasps a gear.
 *
 * As printed: disc and six teeth of (3.111), (3.112) at the printed angles (20.75 in (3.111) is the
 * radius, not its square); force-controlled fingers; a gear on a fixed tripod, with inertia; 20 x
 * 20 starting positions, 1 mm apart; coefficients of friction drawn from (0.33, 0.66] (medium) and
 * (0.66, 0.99] (high) on the table and at the fingers. Ours, since the thesis does not say: gear of
 * 50 g; tripod symmetric about the y axis, 12 mm from the centre; fingers of 200 g, 62 mm apart at
 * the start, each pushed by 5 N and damped by 50 N s/m; 252 draws at each position (100,800 grasps
 * a map). A grasp counts if both fingers have come to rest with their inner sides at the outermost
 * points of the outermost teeth (within 0.2 mm): the tips then lie in the corners between disc and
 * tooth.
 *
 * The scenes and studies beside this file are for `perp sweep` as they are. Without --full a part
 * of the runs is done (those of one shard, so that they are rows of the full study too).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/report.h"
#include "perp/perp.h"

enum { SIDE = 20, CELLS = SIDE * SIDE };

typedef struct grasp_map {
    int64_t runs; /* of the study */
    int64_t done; /* of these, now */
    int64_t status[4];
    int64_t unsettled;           /* ended by the duration, not by a stop */
    double seconds, wall, steps; /* CPU and wall time, and steps, of all runs */
    int64_t trials[CELLS], grasped[CELLS];
    signed char* result; /* by id: 1 grasped, 0 not, -1 not done or not ok */
    int32_t grasped_measure;
} grasp_map;

static void stop_at(bool failed, const perp_context* context)
{
    if (failed) {
        fprintf(stderr, "b09-grasp-map: %s\n", perp_context_error(context));
        exit(3);
    }
}

static bool add_row(void* user, const perp_run_row* row)
{
    grasp_map* map = user;
    const int64_t cell = (row->id - 1) * CELLS / map->runs;
    map->done += 1;
    map->status[row->status] += 1;
    map->seconds += row->seconds;
    map->steps += (double)row->steps;
    if (row->status == PERP_RUN_OK) {
        const bool grasped = row->measure[map->grasped_measure] > 0.5;
        map->unsettled += strcmp(row->outcome, "end") == 0;
        map->trials[cell] += 1;
        map->grasped[cell] += grasped;
        map->result[row->id] = grasped;
    }
    return true;
}

/* Sweeps shard 1 of `shards` of the study into OUT/NAME.db. */
static grasp_map sweep(const report* r, const char* folder, const char* name, int32_t shards)
{
    char path[1024], database[4200];
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    snprintf(database, sizeof database, "%s/%s.db", r->out, name);
    unlink(database);

    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        exit(3);
    }
    perp_study* study = NULL;
    stop_at(perp_study_load(context, path, &study) != PERP_OK, context);
    perp_sweep_def def = perp_sweep_def_default();
    def.out = database;
    def.shard = 1;
    def.shard_count = shards;
    perp_sweep_report done;
    stop_at(perp_sweep_run(context, study, &def, &done) != PERP_OK, context);

    grasp_map map = {.runs = perp_study_run_count(study), .wall = done.seconds};
    map.result = malloc((size_t)map.runs + 1);
    if (map.result == NULL) {
        exit(3);
    }
    memset(map.result, -1, (size_t)map.runs + 1);
    for (int32_t i = 0; i < perp_study_measure_count(study); ++i) {
        if (strcmp(perp_study_measure_name(study, i), "grasped") == 0) {
            map.grasped_measure = i;
        }
    }
    perp_results* results = NULL;
    stop_at(perp_results_open(context, database, &results) != PERP_OK, context);
    stop_at(perp_results_each(results, add_row, &map) != PERP_OK, context);
    perp_results_close(results);
    perp_study_destroy(study);
    perp_context_destroy(context);
    return map;
}

/* x in mm, y in mm, share; rows of x apart by an empty line. */
static void write_map(const report* r, const char* name, const grasp_map* map)
{
    char file[128];
    snprintf(file, sizeof file, "map-%s.dat", name);
    FILE* f = report_file(r, file);
    fprintf(f, "# x (mm), y (mm), share grasped, draws\n");
    for (int i = 0; i < CELLS; ++i) {
        fprintf(f, "%s%g %g %.9g %" PRId64 "\n", i > 0 && i % SIDE == 0 ? "\n" : "",
                -9.5 + i / SIDE, -19.5 + i % SIDE,
                map->trials[i] > 0 ? (double)map->grasped[i] / (double)map->trials[i] : NAN,
                map->trials[i]);
    }
    fclose(f);
}

/* Scene and ranges are symmetric about the y axis: the difference between grasps left and right, in
 * standard deviations. */
static double mirror_difference(const grasp_map* map)
{
    double difference = 0.0, variance = 0.0;
    for (int i = 0; i < CELLS / 2; ++i) {
        const int j = (SIDE - 1 - i / SIDE) * SIDE + i % SIDE;
        const double trials = (double)(map->trials[i] + map->trials[j]);
        const double p = (double)(map->grasped[i] + map->grasped[j]) / trials;
        difference += (double)(map->grasped[i] - map->grasped[j]);
        variance += trials * p * (1.0 - p);
    }
    return variance > 0.0 ? fabs(difference) / sqrt(variance) : 0.0;
}

static double share(const grasp_map* map)
{
    int64_t grasped = 0, trials = 0;
    for (int i = 0; i < CELLS; ++i) {
        grasped += map->grasped[i];
        trials += map->trials[i];
    }
    return (double)grasped / (double)trials;
}

/* Share of the runs done in both whose results differ; *gained of these with a grasp in b only. */
static double changed(const grasp_map* a, const grasp_map* b, double* gained)
{
    int64_t both = 0, differ = 0, more = 0;
    for (int64_t id = 1; id <= a->runs; ++id) {
        if (a->result[id] >= 0 && b->result[id] >= 0) {
            both += 1;
            differ += a->result[id] != b->result[id];
            more += a->result[id] < b->result[id];
        }
    }
    if (gained != NULL) {
        *gained = (double)more / (double)both;
    }
    return (double)differ / (double)both;
}

/* What every sweep must fulfil, and what it costs. */
static void report_runs(report* r, const char* name, const grasp_map* map)
{
    char text[160];
    snprintf(text, sizeof text, "%s: grasps", name);
    report_note(r, text, (double)map->done);
    snprintf(text, sizeof text, "%s: crashed", name);
    report_add(r, text, NAN, 0.0, (double)map->status[PERP_RUN_CRASHED], 0.0);
    snprintf(text, sizeof text, "%s: failed or timed out, of 1000", name);
    const int64_t bad = map->status[PERP_RUN_FAILED] + map->status[PERP_RUN_TIMEOUT];
    report_add(r, text, NAN, 0.0, 1000.0 * (double)bad / (double)map->done, 1.0);
    snprintf(text, sizeof text, "%s: share grasped", name);
    report_note(r, text, share(map));
    snprintf(text, sizeof text, "%s: share not at rest at the end", name);
    report_add(r, text, NAN, 0.0, (double)map->unsettled / (double)map->done, 0.02);
    snprintf(text, sizeof text, "%s: CPU time of a grasp (ms)", name);
    report_note(r, text, 1e3 * map->seconds / (double)map->done);
    snprintf(text, sizeof text, "%s: steps of a grasp", name);
    report_note(r, text, map->steps / (double)map->done);
    snprintf(text, sizeof text, "%s: grasps per second of wall time, all jobs", name);
    report_note(r, text, (double)map->done / map->wall);
    write_map(r, name, map);
}

/* Figure 4.9. */
static void figure(report* r, const char* folder, bool full)
{
    static const char* const name[2] = {"medium-medium", "medium-high"};
    double grasped[2];
    for (int i = 0; i < 2; ++i) {
        grasp_map map = sweep(r, folder, name[i], full ? 1 : 126);
        report_runs(r, name[i], &map);
        char text[160];
        snprintf(text, sizeof text, "%s: grasps left against right (standard deviations)", name[i]);
        report_add(r, text, NAN, 0.0, mirror_difference(&map), 4.0);
        int64_t positions = 0;
        for (int k = 0; k < CELLS; ++k) {
            positions += map.trials[k] > 0;
        }
        snprintf(text, sizeof text, "%s: starting positions", name[i]);
        report_add(r, text, CELLS, CELLS, (double)positions, 0.0);
        if (full) {
            snprintf(text, sizeof text, "%s: wall time of the map (s)", name[i]);
            report_note(r, text, map.wall);
        }
        grasped[i] = share(&map);
        free(map.result);
    }
    report_add(r, "grasps with high friction at the fingers, of those with medium", NAN, 0.0,
               grasped[1] / grasped[0], 1.0);
}

/* The same draws with polygons, half the step, curved shapes, and the contact model standard. */
static void models(report* r, const char* folder, bool full)
{
    static const char* const name[4] = {"polygons", "half-step", "curved", "standard"};
    grasp_map map[4];
    for (int i = 0; i < 4; ++i) {
        map[i] = sweep(r, folder, name[i], full ? 1 : 30);
        report_runs(r, name[i], &map[i]);
    }
    double lost, gained;
    report_add(r, "outcomes that half the step changes", NAN, 0.0, changed(&map[0], &map[1], NULL),
               0.01);
    const double peg = changed(&map[2], &map[0], &gained);
    report_add(r, "polygons under peg: outcomes other than those of curved shapes", NAN, 0.0, peg,
               0.03);
    report_note(r, "of these, grasps that curved shapes do not have", gained);
    const double standard = changed(&map[2], &map[3], &gained);
    lost = standard - gained;
    report_note(r, "polygons under standard: outcomes other than those of curved shapes", standard);
    report_note(r, "of these, grasps that curved shapes do not have", gained);
    report_note(r, "of these, grasps of curved shapes that are lost", lost);
    report_add(r, "wrong outcomes of peg, of those of standard", NAN, 0.0, peg / standard, 0.25);
    for (int i = 0; i < 4; ++i) {
        free(map[i].result);
    }
}

int main(int argc, char** argv)
{
    /* --full and --studies DIR are ours, the rest is the report's. */
    const char* folder = "experiments/b09-grasp-map";
    bool full = false;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--full") == 0) {
            full = true;
        } else if (strcmp(argv[i], "--studies") == 0 && i + 1 < argc) {
            folder = argv[++i];
        } else {
            argv[kept++] = argv[i];
        }
    }
    report r;
    report_begin(&r, "b09-grasp-map", kept, argv);
    figure(&r, folder, full);
    models(&r, folder, full);
    return report_end(&r);
}
