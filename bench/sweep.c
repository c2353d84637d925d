/* bench/sweep.c - what a run of a study costs beside its steps, and what workers cost.
 *
 *   overhead    of one run of a scene of ten boxes: set the values, rebuild, create, measure and destroy, store; the
 *               median of each part over many runs, by the monotonic clock
 *   two jobs    CPU time of two processes that run half of the study each without pool and database, over that of
 *               perp_sweep_run with two jobs (all processes); and the same of the wall clock. Interleaved, the best of
 *               several; wall times mean something only on a machine that has nothing else to do
 *   memory      largest resident size of a worker after a tenth of the runs and after all
 *
 * usage: sweep [--json FILE]
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/table.h"
#include "perp/perp.h"

enum { BOXES = 10, OVERHEAD_RUNS = 200, JOB_RUNS = 200, ROUNDS = 3, MEMORY_RUNS = 5000 };

static char folder[BENCH_FOLDER];

static void must(perp_status status, perp_context* context)
{
    if (status != PERP_OK) {
        fprintf(stderr, "sweep: %s\n", perp_context_error(context));
        exit(1);
    }
}

static const char* path_of(const char* name)
{
    static char path[4][BENCH_FOLDER + 100];
    static int next;
    char* p = path[next++ % 4];
    (void)snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

/* A row of ten boxes on the ground, pushed at the first. */
static void write_files(const char* study, int runs, double duration)
{
    FILE* f = fopen(path_of("scene.json"), "w");
    fprintf(
        f,
        "{\"name\": \"ten\", \"gravity\": [0, 0, -9.81], \"step\": 0.005, \"duration\": %g,\n"
        "\"parameters\": {\"mu\": 0.3, \"v\": 1, \"m\": 1}, \"friction\": {\"default\": \"mu\"},\n"
        "\"measures\": {\"x\": \"b9.position.x\", \"speed\": {\"max\": \"b0.velocity.x\"}},\n"
        "\"stop\": [{\"name\": \"far\", \"when\": \"b9.position.x > 5\"}],\n\"bodies\": [\n"
        "{\"name\": \"ground\", \"type\": \"static\", \"shapes\": [{\"type\": \"plane\", "
        "\"normal\": [0, 0, 1]}]}",
        duration);
    for (int i = 0; i < BOXES; ++i) {
        fprintf(f,
                ",\n{\"name\": \"b%d\", \"mass\": %s, \"position\": [%g, 0, 0.1], \"velocity\": "
                "[%s, 0, 0], "
                "\"shapes\": [{\"type\": \"box\", \"size\": [0.2, 0.2, 0.2]}]}",
                i, i == 0 ? "\"m\"" : "1", 0.3 * i, i == 0 ? "\"v\"" : "0");
    }
    fprintf(f, "]}\n");
    fclose(f);
    f = fopen(study, "w");
    fprintf(f,
            "{\"scene\": \"scene.json\", \"vary\": {\"mu\": {\"uniform\": [0.2, 0.6]}, \"v\": "
            "{\"uniform\": [0, 3]}, "
            "\"m\": {\"normal\": [1, 0.05]}}, \"sample\": {\"trials\": %d, \"seed\": 1}, \"keep\": "
            "\"none\"}\n",
            runs);
    fclose(f);
}

static int by_size(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* ---- the parts of a run -----------------------------------------------------------------------*/

enum { SET, REBUILD, CREATE, STEPS, MEASURE, STORE, PARTS };

static void measure_overhead(table* t)
{
    static const char* const name[PARTS] = {
        "set values", "rebuild the scene",   "create the simulation",
        "100 steps",  "measure and destroy", "pack, unpack and store"};
    static double part[PARTS][OVERHEAD_RUNS];
    static double packed[1024];
    perp_context* context = NULL;
    perp_study* study = NULL;
    perp_sweep* sweep = NULL;
    write_files(path_of("study.json"), OVERHEAD_RUNS, 0.5);
    must(perp_context_create(NULL, &context), context);
    must(perp_study_load(context, path_of("study.json"), &study), context);
    perp_sweep_def def = perp_sweep_def_default();
    def.out = path_of("overhead.db");
    must(perp_sweep_create(context, study, &def, &sweep), context);
    perp_scene* scene = perp_study_scene(study);
    for (int i = 0; i < OVERHEAD_RUNS; ++i) {
        double clock[PARTS + 1], measure[2] = {0.0, 0.0};
        perp_sim* sim = NULL;
        clock[SET] = table_seconds();
        for (int32_t k = 0; k < perp_study_vary_count(study); ++k) {
            must(perp_scene_set_number(scene, perp_study_vary(study, k).name,
                                       perp_study_value(study, i + 1, k).number),
                 context);
        }
        clock[REBUILD] = table_seconds();
        must(perp_scene_rebuild(scene), context);
        clock[CREATE] = table_seconds();
        must(perp_sim_create_from_scene(context, scene, &sim), context);
        clock[STEPS] = table_seconds();
        must(perp_sim_run(sim), context);
        clock[MEASURE] = table_seconds();
        for (int32_t m = 0; m < 2; ++m) {
            measure[m] = perp_sim_measure(sim, m);
        }
        const perp_run_row row = {.id = i + 1,
                                  .outcome = "end",
                                  .recording = "",
                                  .message = "",
                                  .measure = measure,
                                  .measure_count = 2,
                                  .steps = perp_sim_step_count(sim)};
        perp_sim_destroy(sim);
        clock[STORE] = table_seconds();
        perp_run_row again;
        (void)perp_run_row_pack(&row, packed, sizeof packed);
        (void)perp_run_row_unpack(packed, sizeof packed, &again);
        must(perp_sweep_add(sweep, &again), context);
        clock[PARTS] = table_seconds();
        for (int k = 0; k < PARTS; ++k) {
            part[k][i] = 1e6 * (clock[k + 1] - clock[k]);
        }
    }
    must(perp_sweep_finish(sweep), context);
    double sum = 0.0;
    for (int k = 0; k < PARTS; ++k) {
        const double m = median(part[k], OVERHEAD_RUNS);
        table_add(t, name[k], m, "us");
        sum += k != STEPS ? m : 0.0;
    }
    table_add(t, "overhead of a run beside its steps (asked: <= 150)", sum, "us");
    perp_sweep_destroy(sweep);
    perp_study_destroy(study);
    perp_context_destroy(context);
}

/* ---- jobs -------------------------------------------------------------------------------------*/

static double children_cpu(void)
{
    struct rusage own, theirs;
    (void)getrusage(RUSAGE_SELF, &own);
    (void)getrusage(RUSAGE_CHILDREN, &theirs);
    const struct timeval* t[4] = {&own.ru_utime, &own.ru_stime, &theirs.ru_utime, &theirs.ru_stime};
    double sum = 0.0;
    for (int i = 0; i < 4; ++i) {
        sum += (double)t[i]->tv_sec + 1e-6 * (double)t[i]->tv_usec;
    }
    return sum;
}

/* Every second run of the study in this process, and nothing else. */
static void run_half(perp_context* context, perp_study* study, int half)
{
    perp_runner* runner = NULL;
    must(perp_runner_create(context, &runner), context);
    for (int64_t id = 1 + half; id <= perp_study_run_count(study); id += 2) {
        perp_run_row row;
        must(perp_study_run(study, runner, id, NULL, &row), context);
    }
    _exit(0);
}

static void run_apart(perp_context* context, perp_study* study)
{
    pid_t pid[2];
    for (int i = 0; i < 2; ++i) {
        pid[i] = fork();
        if (pid[i] == 0) {
            run_half(context, study, i);
        }
    }
    for (int i = 0; i < 2; ++i) {
        (void)waitpid(pid[i], NULL, 0);
    }
}

static void run_jobs(perp_context* context, perp_study* study)
{
    perp_sweep_def def = perp_sweep_def_default();
    perp_sweep_report report;
    def.out = path_of("jobs.db");
    def.jobs = 2;
    (void)unlink(def.out);
    must(perp_sweep_run(context, study, &def, &report), context);
}

static void measure_jobs(table* t)
{
    perp_context* context = NULL;
    perp_study* study = NULL;
    double best[2][2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}}; /* apart, jobs: wall, CPU */
    write_files(path_of("study.json"), JOB_RUNS, 0.5);
    must(perp_context_create(NULL, &context), context);
    must(perp_study_load(context, path_of("study.json"), &study), context);
    for (int round = 0; round < 2 * ROUNDS; ++round) {
        const double wall = table_seconds(), cpu = children_cpu();
        (round % 2 == 0 ? run_apart : run_jobs)(context, study);
        best[round % 2][0] = fmin(best[round % 2][0], table_seconds() - wall);
        best[round % 2][1] = fmin(best[round % 2][1], children_cpu() - cpu);
    }
    table_add(t, "runs per second, two jobs", JOB_RUNS / best[1][0], "");
    table_add(t, "runs per second, two processes apart", JOB_RUNS / best[0][0], "");
    table_add(t, "two jobs over two processes, wall clock (asked: >= 0.95)",
              best[0][0] / best[1][0], "");
    table_add(t, "two jobs over two processes, CPU time", best[0][1] / best[1][1], "");
    perp_study_destroy(study);
    perp_context_destroy(context);
}

/* ---- memory -----------------------------------------------------------------------------------*/

/* Largest resident size, in kB, of a process that does so many runs in one worker, and of the worker. */
static void resident(int runs, double size[2])
{
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) {
        exit(1);
    }
    const pid_t pid = fork();
    if (pid == 0) {
        perp_context* context = NULL;
        perp_study* study = NULL;
        perp_sweep_report report;
        perp_sweep_def def = perp_sweep_def_default();
        struct rusage own, worker;
        write_files(path_of("memory.json"), runs, 0.02);
        must(perp_context_create(NULL, &context), context);
        must(perp_study_load(context, path_of("memory.json"), &study), context);
        def.out = path_of("memory.db");
        def.jobs = 1;
        (void)unlink(def.out);
        must(perp_sweep_run(context, study, &def, &report), context);
        (void)getrusage(RUSAGE_SELF, &own);
        (void)getrusage(RUSAGE_CHILDREN, &worker);
        const double found[2] = {(double)own.ru_maxrss, (double)worker.ru_maxrss};
        if (write(pipe_ends[1], found, sizeof found) != (ssize_t)sizeof found) {
            _exit(1);
        }
        _exit(0);
    }
    if (read(pipe_ends[0], size, 2 * sizeof *size) != (ssize_t)(2 * sizeof *size)) {
        exit(1);
    }
    (void)waitpid(pid, NULL, 0);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
}

int main(int argc, char** argv)
{
    table t = table_begin("sweep", argc, argv);
    if (!bench_folder_make(folder, "perp-bench-sweep")) {
        return 1;
    }
    double few[2], many[2];
    resident(MEMORY_RUNS / 10, few);
    resident(MEMORY_RUNS, many);
    measure_overhead(&t);
    measure_jobs(&t);
    table_add(&t, "parent after 500 runs", few[0], "kB");
    table_add(&t, "parent after 5,000 runs", many[0], "kB");
    table_add(&t, "worker after 500 runs", few[1], "kB");
    table_add(&t, "worker after 5,000 runs", many[1], "kB");
    char command[BENCH_FOLDER + 20];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) {
        return 1;
    }
    return table_end(&t);
}
