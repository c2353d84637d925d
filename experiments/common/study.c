#include "common/study.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void study_require(const perp_context* context, perp_status status)
{
    if (status != PERP_OK) {
        fprintf(stderr, "experiment: %s\n", perp_context_error(context));
        exit(3);
    }
}

bool study_option(int* argc, char** argv, const char* option)
{
    for (int i = 1; i < *argc; ++i) {
        if (strcmp(argv[i], option) == 0) {
            memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
            *argc -= 1;
            return true;
        }
    }
    return false;
}

char* study_path(const report* r, const char* name)
{
    const size_t size = strlen(r->out) + strlen(name) + 2;
    char* path = malloc(size);
    if (path == NULL) {
        exit(3);
    }
    (void)snprintf(path, size, "%s/%s", r->out, name);
    return path;
}

void study_write(const report* r, const char* name, const char* format, ...)
{
    FILE* f = report_file(r, name);
    va_list args;
    va_start(args, format);
    (void)vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

typedef struct collector {
    study_result result;
    perp_study* study;
    const char* wanted;
    study_row_fn* each;
    void* user;
} collector;

static bool collect(void* user, const perp_run_row* row)
{
    collector* c = user;
    c->result.runs += 1;
    c->result.seconds += row->seconds;
    if (row->status == PERP_RUN_OK) {
        c->result.ok += 1;
        c->result.hits += strcmp(row->outcome, c->wanted) == 0;
    } else if (c->result.message[0] == '\0') {
        (void)snprintf(c->result.message, sizeof c->result.message, "run %lld, %s: %s",
                       (long long)row->id, perp_run_status_name(row->status), row->message);
        fprintf(stderr, "%s\n", c->result.message);
    }
    if (!(row->certificate <= c->result.certificate)) {
        c->result.certificate = row->certificate;
    }
    if (c->each != NULL) {
        c->each(c->user, c->study, row);
    }
    return true;
}

study_result study_sweep(perp_context* context, const report* r, const char* name,
                         const char* wanted, study_row_fn* each, void* user)
{
    static const char* const left[] = {".db", ".db-wal", ".db-shm"};
    char file[64];
    perp_study* study = NULL;
    perp_results* results = NULL;
    perp_sweep_report done;
    for (int i = 0; i < 3; ++i) {
        (void)snprintf(file, sizeof file, "%s%s", name, left[i]);
        char* old = study_path(r, file);
        (void)remove(old);
        free(old);
    }
    (void)snprintf(file, sizeof file, "%s.json", name);
    char* path = study_path(r, file);
    study_require(context, perp_study_load(context, path, &study));
    (void)snprintf(file, sizeof file, "%s.db", name);
    char* database = study_path(r, file);
    perp_sweep_def def = perp_sweep_def_default();
    def.out = database;
    study_require(context, perp_sweep_run(context, study, &def, &done));
    perp_study_destroy(study);
    study_require(context, perp_results_open(context, database, &results));
    collector c = {
        .study = perp_results_study(results), .wanted = wanted, .each = each, .user = user};
    study_require(context, perp_results_each(results, collect, &c));
    perp_results_close(results);
    free(path);
    free(database);
    return c.result;
}
