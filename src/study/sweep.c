/* src/study/sweep.c - a sweep: which runs are missing, the pool that does them, the database that keeps them. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "study/results.h"
#include "study/study.h"

#define COMMIT_SECONDS 1.0
#define PROGRESS_SECONDS 0.1

struct perp_sweep {
    perp_context* context;
    const perp_study* study;
    perpi_writer* writer;
    int32_t shard, shard_count;
    uint8_t* found; /* a bit for each run that was there; NULL: none was */
    int64_t next;   /* the first id not given out yet */
    int64_t* returned;
    size_t returned_count, returned_room;
    perp_sweep_report report;
    double begun;
};

static double wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

perp_sweep_def perp_sweep_def_default(void)
{
    return (perp_sweep_def){.struct_size = sizeof(perp_sweep_def), .shard = 1, .shard_count = 1};
}

/* ---- which runs -------------------------------------------------------------------------------*/

static bool is_found(const perp_sweep* s, int64_t id)
{
    return s->found != NULL && ((s->found[id / 8] >> (id % 8)) & 1) != 0;
}

static bool is_ours(const perp_sweep* s, int64_t id)
{
    return (id - 1) % s->shard_count == s->shard - 1;
}

static void count_row(perp_sweep_report* report, perp_run_status status, const char* outcome)
{
    report->done += 1;
    report->status[status] += 1;
    if (status != PERP_RUN_OK || outcome == NULL) {
        return;
    }
    int i = 0;
    while (i < PERP_SWEEP_OUTCOMES - 1 && report->outcome[i].count > 0 &&
           strncmp(report->outcome[i].name, outcome, sizeof report->outcome[i].name - 1) != 0) {
        ++i;
    }
    if (report->outcome[i].count == 0) {
        (void)snprintf(report->outcome[i].name, sizeof report->outcome[i].name, "%s",
                       i < PERP_SWEEP_OUTCOMES - 1 ? outcome : "...");
    }
    report->outcome[i].count += 1;
}

static void note_found(void* user, int64_t id, perp_run_status status, const char* outcome)
{
    perp_sweep* s = user;
    if (id >= 1 && id <= s->study->run_count && !is_found(s, id)) {
        s->found[id / 8] = (uint8_t)(s->found[id / 8] | (1u << (id % 8)));
        if (is_ours(s, id)) {
            s->report.found += 1;
            count_row(&s->report, status, outcome);
        }
    }
}

static perp_status check_def(perp_context* context, const perp_sweep_def* def)
{
    const perp_status status =
        perpi_check_struct(context, "perp_sweep_def", def->struct_size, sizeof(perp_sweep_def));
    if (status != PERP_OK) {
        return status;
    }
    if (def->out == NULL || def->out[0] == '\0') {
        return perpi_fail(context, PERP_ERROR_INPUT, "out: the database needs a name");
    }
    if (def->shard_count < 1 || def->shard < 1 || def->shard > def->shard_count) {
        return perpi_fail(context, PERP_ERROR_INPUT, "shard: must be one of 1 to N, got %d of %d",
                          (int)def->shard, (int)def->shard_count);
    }
    return PERP_OK;
}

perp_status perp_sweep_create(perp_context* context, perp_study* study, const perp_sweep_def* def,
                              perp_sweep** sweep)
{
    perp_sweep* s = NULL;
    perp_status status = check_def(context, def);
    if (status == PERP_OK && study->estimate != NULL) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "%s: /observe: an estimate: 'perp estimate' runs it", study->origin);
    }
    if (status == PERP_OK && study->design != NULL) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "%s: /unknown: a design: 'perp design' runs it, a sweep has none",
                            study->origin);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *s, &s);
    }
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->study = study;
    s->shard = def->shard;
    s->shard_count = def->shard_count;
    s->next = def->shard;
    s->begun = wall_seconds();
    s->report.total = (study->run_count - def->shard + def->shard_count) / def->shard_count;
    status = perpi_writer_open(context, study, def->out, def->user_code, def->resume, &s->writer);
    if (status == PERP_OK && def->resume) {
        status = perpi_alloc(context, (size_t)(study->run_count / 8 + 1), 1, &s->found);
    }
    if (status == PERP_OK && def->resume) {
        status = perpi_writer_each(s->writer, note_found, s);
    }
    if (status != PERP_OK) {
        perp_sweep_destroy(s);
        return status;
    }
    *sweep = s;
    return PERP_OK;
}

void perp_sweep_destroy(perp_sweep* sweep)
{
    if (sweep != NULL) {
        perpi_writer_close(sweep->writer);
        perpi_free(sweep->context, sweep->found);
        perpi_free(sweep->context, sweep->returned);
        perpi_free(sweep->context, sweep);
    }
}

int32_t perp_sweep_next(perp_sweep* sweep, int32_t room, int32_t workers, int64_t* id)
{
    const int64_t left = sweep->report.total - sweep->report.done;
    const int64_t share = left / (2 * (int64_t)(workers > 0 ? workers : 1));
    const int64_t limit = share < 1 ? 1 : share;
    int32_t count = 0;
    room = room < limit ? room : (int32_t)limit;
    while (count < room && sweep->returned_count > 0) {
        id[count++] = sweep->returned[--sweep->returned_count];
    }
    while (count < room && sweep->next <= sweep->study->run_count) {
        if (!is_found(sweep, sweep->next)) {
            id[count++] = sweep->next;
        }
        sweep->next += sweep->shard_count;
    }
    return count;
}

perp_status perp_sweep_return(perp_sweep* sweep, const int64_t* id, int32_t count)
{
    const perp_status status =
        perpi_grow(sweep->context, &sweep->returned, &sweep->returned_room,
                   sweep->returned_count + (size_t)count, sizeof *sweep->returned);
    if (status == PERP_OK && count > 0) {
        memcpy(sweep->returned + sweep->returned_count, id, (size_t)count * sizeof *id);
        sweep->returned_count += (size_t)count;
    }
    return status;
}

perp_status perp_sweep_add(perp_sweep* sweep, const perp_run_row* row)
{
    const perp_status status = perpi_writer_add(sweep->writer, row);
    if (status != PERP_OK) {
        return status;
    }
    count_row(&sweep->report, row->status, row->outcome);
    return perpi_writer_commit(sweep->writer, COMMIT_SECONDS);
}

perp_status perp_sweep_flush(perp_sweep* sweep)
{
    return perpi_writer_commit(sweep->writer, COMMIT_SECONDS);
}

bool perp_sweep_complete(const perp_sweep* sweep)
{
    return sweep->report.done >= sweep->report.total;
}

perp_sweep_report perp_sweep_state(const perp_sweep* sweep)
{
    perp_sweep_report report = sweep->report;
    report.seconds = wall_seconds() - sweep->begun;
    return report;
}

perp_status perp_sweep_finish(perp_sweep* sweep)
{
    return perpi_writer_commit(sweep->writer, 0.0);
}

/* ---- on this machine --------------------------------------------------------------------------*/

static perp_status add_row(void* user, const perp_run_row* row)
{
    return perp_sweep_add(user, row);
}

/* The folder of the database, "" for the present one. */
static void folder_of(const char* path, char* folder, size_t size)
{
    const char* slash = strrchr(path, '/');
    (void)snprintf(folder, size, "%.*s",
                   slash == NULL  ? 0
                   : slash > path ? (int)(slash - path)
                                  : 1,
                   path);
}

static perp_status give_runs(perp_sweep* sweep, perp_pool* pool, int32_t jobs)
{
    enum { AT_ONCE = 256 };
    int64_t id[AT_ONCE];
    int32_t room = perp_pool_room(pool);
    while (room > 0) {
        const int32_t n = perp_sweep_next(sweep, room < AT_ONCE ? room : AT_ONCE, jobs, id);
        if (n == 0) {
            return PERP_OK;
        }
        const perp_status status = perp_pool_give(pool, id, n);
        if (status != PERP_OK) {
            return status;
        }
        room -= n;
    }
    return PERP_OK;
}

static perp_status run_pool(perp_sweep* sweep, perp_pool* pool, const perp_sweep_def* def)
{
    const int32_t jobs = sweep->report.jobs;
    double shown = 0.0;
    perp_status status = PERP_OK;
    while (status == PERP_OK && !perp_sweep_complete(sweep)) {
        status = give_runs(sweep, pool, jobs);
        if (status == PERP_OK) {
            status = perp_pool_wait(pool, (int32_t)(1000.0 * PROGRESS_SECONDS), add_row, sweep);
        }
        if (status == PERP_OK) {
            status = perp_sweep_flush(sweep);
        }
        const perp_sweep_report report = perp_sweep_state(sweep);
        if (def->progress != NULL && report.seconds - shown >= PROGRESS_SECONDS) {
            shown = report.seconds;
            if (!def->progress(def->user, &report)) {
                sweep->report.interrupted = true;
                break;
            }
        }
    }
    return status;
}

perp_status perp_sweep_run(perp_context* context, perp_study* study, const perp_sweep_def* def,
                           perp_sweep_report* report)
{
    char folder[4096];
    perp_sweep* sweep = NULL;
    perp_pool* pool = NULL;
    perp_status status = perp_sweep_create(context, study, def, &sweep);
    if (status != PERP_OK) {
        return status;
    }
    const int64_t left = sweep->report.total - sweep->report.done;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t jobs = def->jobs > 0 ? def->jobs : processors > 0 ? processors : 1;
    jobs = jobs < left ? jobs : left; /* no more workers than runs */
    sweep->report.jobs = (int32_t)jobs;
    if (left > 0) {
        folder_of(def->out, folder, sizeof folder);
        const perp_pool_def pool_def = {.study = study,
                                        .jobs = (int32_t)jobs,
                                        .options = def->options,
                                        .argument = def->argument,
                                        .folder = folder};
        status = perp_pool_create(context, &pool_def, &pool);
        if (status == PERP_OK) {
            status = run_pool(sweep, pool, def);
        }
        perp_pool_destroy(pool);
    }
    const perp_status finished = perp_sweep_finish(sweep); /* also what was done before a failure */
    status = status == PERP_OK ? finished : status;
    *report = perp_sweep_state(sweep);
    if (def->progress != NULL) {
        (void)def->progress(def->user, report);
    }
    perp_sweep_destroy(sweep);
    return status;
}
