/* src/study/results_write.c - see results.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "study/results.h"
#include "study/results_sql.h"

enum { FIXED = 8 }; /* columns behind the measures */

static double wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the schema -------------------------------------------------------------------------------*/

static void add_names(perpi_sql* sql, const perp_study* study, const char* type)
{
    for (int32_t i = 0; i < study->vary_count; ++i) {
        perpi_sql_add(sql, ", ");
        perpi_sql_name(sql, study->vary[i].info.name);
    }
    for (int32_t i = 0; i < perp_study_measure_count(study); ++i) {
        perpi_sql_add(sql, ", ");
        perpi_sql_name(sql, perp_study_measure_name(study, i));
        perpi_sql_add(sql, type);
    }
}

static perp_status set_key(perpi_writer* w, const char* key, const char* value)
{
    sqlite3_stmt* statement = NULL;
    perp_status status = perpi_sql_prepare(w->context, w->db, w->path,
                                           "INSERT INTO study VALUES (?, ?)", &statement);
    if (status == PERP_OK) {
        (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE) {
            status = perpi_sql_fail(w->context, w->db, w->path);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static perp_status set_keys(perpi_writer* w, const char* identity, const char* user_code)
{
    const perp_study* s = w->study;
    char seed[32], runs[32];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    (void)snprintf(runs, sizeof runs, "%lld", (long long)s->run_count);
    char* scene_path = realpath(s->scene_path, NULL);
    const struct {
        const char *key, *value;
    } entry[] = {
        {"study", s->text},
        {"scene", s->scene_text},
        {"version", perp_version_string()},
        {"seed", seed},
        {"name", s->name},
        {"runs", runs},
        {"scene_path", scene_path != NULL ? scene_path : s->scene_path},
        {"scene_built", s->scene_built},
        {"identity", identity},
        {"user_code", user_code},
    };
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof entry / sizeof entry[0]; ++i) {
        status = set_key(w, entry[i].key, entry[i].value);
    }
    free(scene_path);
    return status;
}

static perp_status create_tables(perpi_writer* w, const char* identity, const char* user_code)
{
    perpi_sql sql = {.context = w->context};
    perpi_sql_add(&sql, "BEGIN IMMEDIATE; CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT);"
                        "CREATE TABLE runs (id INTEGER PRIMARY KEY");
    if (w->study->design != NULL) {
        perpi_design_columns(&sql, w->study, true);
    }
    add_names(&sql, w->study, " REAL");
    perpi_sql_add(&sql,
                  ", outcome TEXT, status TEXT NOT NULL, certificate REAL, energy_error REAL, "
                  "steps INTEGER, seconds REAL, recording TEXT, message TEXT);");
    if (w->study->design != NULL) {
        perpi_design_table(&sql, w->study);
    }
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_run(w->context, w->db, w->path, sql.text);
    }
    perpi_free(w->context, sql.text);
    if (status == PERP_OK) {
        status = set_keys(w, identity, user_code);
    }
    return status == PERP_OK ? perpi_sql_run(w->context, w->db, w->path, "COMMIT") : status;
}

/* ---- is it the same study? --------------------------------------------------------------------*/

static perp_status check_key(perpi_writer* w, const char* key, const char* expected,
                             const char* what)
{
    char* value = NULL;
    perp_status status = perpi_sql_key(w->context, w->db, w->path, key, &value);
    if (status == PERP_OK && (value == NULL || strcmp(value, expected) != 0)) {
        status = perpi_fail(w->context, PERP_ERROR_INPUT,
                            "%s: belongs to another study (%s): give another file, or that study",
                            w->path, what);
    }
    perpi_free(w->context, value);
    return status;
}

static perp_status check_study(perpi_writer* w, const char* identity, const char* user_code)
{
    char* name = NULL;
    char what[300];
    perp_status status = perpi_sql_key(w->context, w->db, w->path, "name", &name);
    if (status != PERP_OK) {
        return status;
    }
    (void)snprintf(what, sizeof what, "'%.100s'; its %s differ from those of %.100s",
                   name != NULL ? name : "",
                   w->study->design != NULL ? "unknowns, objective or method" : "vary or sample",
                   w->study->origin);
    status = check_key(w, "identity", identity, what);
    if (status == PERP_OK) {
        status = check_key(w, "scene_built", w->study->scene_built, "its scene differs");
    }
    if (status == PERP_OK) {
        status = check_key(w, "user_code", user_code, "its plugins differ");
    }
    if (status == PERP_OK) {
        status = check_key(w, "version", perp_version_string(),
                           "it was begun by another version of perp, whose bits may differ");
    }
    perpi_free(w->context, name);
    return status;
}

static perp_status count_tables(perpi_writer* w, int* count)
{
    sqlite3_stmt* statement = NULL;
    perp_status status = perpi_sql_prepare(
        w->context, w->db, w->path,
        "SELECT count(*), sum(name IN ('runs', 'study')) FROM sqlite_master", &statement);
    if (status == PERP_OK && sqlite3_step(statement) != SQLITE_ROW) {
        status = perpi_sql_fail(w->context, w->db, w->path);
    }
    if (status == PERP_OK) {
        const int all = sqlite3_column_int(statement, 0), ours = sqlite3_column_int(statement, 1);
        *count = ours;
        if (all > 0 && ours != 2) {
            status = perpi_fail(w->context, PERP_ERROR_INPUT, "%s: is a database of something else",
                                w->path);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static perp_status prepare_insert(perpi_writer* w)
{
    perpi_sql sql = {.context = w->context};
    perpi_sql_add(&sql, "INSERT OR IGNORE INTO runs (id");
    if (w->study->design != NULL) {
        perpi_design_columns(&sql, w->study, false);
    }
    add_names(&sql, w->study, "");
    perpi_sql_add(&sql, ", outcome, status, certificate, energy_error, steps, seconds, recording, "
                        "message) VALUES (?");
    const int32_t count = w->study->vary_count + perp_study_measure_count(w->study) + FIXED +
                          (w->study->design != NULL ? perpi_design_column_count(w->study) : 0);
    for (int32_t i = 0; i < count; ++i) {
        perpi_sql_add(&sql, ", ?");
    }
    perpi_sql_add(&sql, ")");
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_prepare(w->context, w->db, w->path, sql.text, &w->insert);
    }
    perpi_free(w->context, sql.text);
    return status == PERP_OK ? perpi_sql_prepare(w->context, w->db, w->path,
                                                 "DELETE FROM runs WHERE id = ?", &w->remove)
                             : status;
}

static perp_status open_file(perpi_writer* w, const char* user_code, bool resume)
{
    struct stat st;
    const bool there = stat(w->path, &st) == 0;
    if (there && !resume) {
        return perpi_fail(w->context, PERP_ERROR_INPUT,
                          "%s: exists: --resume goes on with it, another name begins anew",
                          w->path);
    }
    if (sqlite3_open_v2(w->path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK) {
        return perpi_sql_fail(w->context, w->db, w->path);
    }
    w->created = !there;
    (void)sqlite3_busy_timeout(w->db, 60000);
    perp_status status = perpi_sql_run(w->context, w->db, w->path,
                                       "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;");
    int tables = 0;
    if (status == PERP_OK) {
        status = count_tables(w, &tables);
    }
    char* identity = perpi_study_identity(w->study);
    if (status == PERP_OK && identity == NULL) {
        status = perpi_fail(w->context, PERP_ERROR_MEMORY, "out of memory");
    }
    if (status == PERP_OK) {
        status = tables == 0 ? create_tables(w, identity, user_code)
                             : check_study(w, identity, user_code);
    }
    free(identity);
    return status == PERP_OK ? prepare_insert(w) : status;
}

perp_status perpi_writer_open(perp_context* context, const perp_study* study, const char* path,
                              const char* user_code, bool resume, perpi_writer** writer)
{
    perpi_writer* w = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *w, &w);
    if (status != PERP_OK) {
        return status;
    }
    w->context = context;
    w->study = study;
    status = perpi_strndup(context, path, strlen(path), &w->path);
    if (status == PERP_OK) {
        status = open_file(w, user_code != NULL ? user_code : "", resume);
    }
    if (status != PERP_OK) {
        const bool created = w->created;
        perpi_writer_close(w);
        if (created) {
            (void)unlink(path);
        }
        return status;
    }
    *writer = w;
    return PERP_OK;
}

void perpi_writer_close(perpi_writer* writer)
{
    if (writer == NULL) {
        return;
    }
    (void)sqlite3_finalize(writer->insert);
    (void)sqlite3_finalize(writer->remove);
    (void)sqlite3_finalize(writer->find);
    (void)sqlite3_finalize(writer->evaluation);
    perpi_free(writer->context, writer->number);
    (void)sqlite3_close(writer->db);
    perpi_free(writer->context, writer->path);
    perpi_free(writer->context, writer);
}

sqlite3* perpi_writer_db(perpi_writer* writer)
{
    return writer->db;
}

/* ---- rows -------------------------------------------------------------------------------------*/

perp_status perpi_writer_each(perpi_writer* w,
                              void (*fn)(void* user, int64_t id, perp_run_status status,
                                         const char* outcome),
                              void* user)
{
    sqlite3_stmt* statement = NULL;
    perp_status status = perpi_sql_prepare(w->context, w->db, w->path,
                                           "SELECT id, status, outcome FROM runs", &statement);
    int code = SQLITE_DONE;
    while (status == PERP_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        fn(user, sqlite3_column_int64(statement, 0),
           perpi_sql_status((const char*)sqlite3_column_text(statement, 1)),
           (const char*)sqlite3_column_text(statement, 2));
    }
    if (status == PERP_OK && code != SQLITE_DONE) {
        status = perpi_sql_fail(w->context, w->db, w->path);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static void bind_text(sqlite3_stmt* s, int index, const char* text)
{
    (void)sqlite3_bind_text(s, index, text, -1, SQLITE_STATIC);
}

perp_status perpi_writer_begin(perpi_writer* w)
{
    if (w->in_transaction) {
        return PERP_OK;
    }
    w->in_transaction = true;
    w->begun = wall_seconds();
    return perpi_sql_run(w->context, w->db, w->path, "BEGIN IMMEDIATE");
}

static perp_status run_statement(perpi_writer* w, sqlite3_stmt* s)
{
    const bool good = sqlite3_step(s) == SQLITE_DONE;
    const perp_status status = good ? PERP_OK : perpi_sql_fail(w->context, w->db, w->path);
    (void)sqlite3_reset(s);
    return status;
}

perp_status perpi_writer_add(perpi_writer* w, const perp_run_row* row)
{
    const perp_status status = perpi_writer_begin(w);
    if (status != PERP_OK) {
        return status;
    }
    sqlite3_stmt* s = w->insert;
    int at = 1;
    (void)sqlite3_bind_int64(s, at++, row->id);
    if (w->study->design != NULL) {
        at = perpi_design_bind_columns(w->study, row, s, at);
    }
    for (int32_t i = 0; i < w->study->vary_count; ++i) {
        const perp_vary_value value = perp_study_value(w->study, row->id, i);
        if (value.text != NULL) {
            bind_text(s, at++, value.text);
        } else {
            perpi_sql_bind(s, at++, value.number);
        }
    }
    const int32_t measures = perp_study_measure_count(w->study);
    for (int32_t i = 0; i < measures; ++i) {
        perpi_sql_bind(s, at++, i < row->measure_count ? row->measure[i] : NAN);
    }
    bind_text(s, at++, row->outcome);
    bind_text(s, at++, perp_run_status_name(row->status));
    perpi_sql_bind(s, at++, row->certificate);
    perpi_sql_bind(s, at++, row->energy_error);
    (void)sqlite3_bind_int64(s, at++, row->steps);
    perpi_sql_bind(s, at++, row->seconds);
    bind_text(s, at++, row->recording);
    bind_text(s, at++, row->message);
    return run_statement(w, s);
}

perp_status perpi_writer_remove(perpi_writer* w, int64_t id)
{
    const perp_status status = perpi_writer_begin(w);
    if (status != PERP_OK) {
        return status;
    }
    (void)sqlite3_bind_int64(w->remove, 1, id);
    return run_statement(w, w->remove);
}

perp_status perpi_writer_commit(perpi_writer* w, double seconds)
{
    if (!w->in_transaction || wall_seconds() - w->begun < seconds) {
        return PERP_OK;
    }
    const perp_status status = perpi_sql_run(w->context, w->db, w->path, "COMMIT");
    if (status == PERP_OK) {
        w->in_transaction = false;
    }
    return status;
}
