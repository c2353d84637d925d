/* src/study/results_read.c - reading the database of a study, and joining several. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "study/results.h"
#include "study/results_sql.h"

/* Position of the first measure among the selected columns. */
enum {
    ID,
    OUTCOME,
    STATUS,
    CERTIFICATE,
    ENERGY_ERROR,
    STEPS,
    SECONDS,
    RECORDING,
    MESSAGE,
    MEASURE
};

static perp_status prepare_select(perp_results* r)
{
    perpi_sql sql = {.context = r->context};
    perpi_sql_add(&sql, "SELECT id, outcome, status, certificate, energy_error, steps, seconds, "
                        "recording, message");
    for (int32_t i = 0; i < perp_study_measure_count(r->study); ++i) {
        perpi_sql_add(&sql, ", ");
        perpi_sql_name(&sql, perp_study_measure_name(r->study, i));
    }
    perpi_sql_add(&sql, " FROM runs");
    const size_t length = sql.length;
    perpi_sql_add(&sql, " ORDER BY id");
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_prepare(r->context, r->db, r->path, sql.text, &r->all);
    }
    sql.length = length;
    perpi_sql_add(&sql, " WHERE id = ?");
    if (status == PERP_OK) {
        status = perpi_sql_prepare(r->context, r->db, r->path, sql.text, &r->one);
    }
    perpi_free(r->context, sql.text);
    return status;
}

/* The study that the database holds, with its scene. */
static perp_status read_study(perp_results* r)
{
    static const char* const key[] = {"study",     "scene",    "scene_path",
                                      "user_code", "identity", "scene_built"};
    char* value[6] = {NULL};
    perp_status status = PERP_OK;
    for (int i = 0; status == PERP_OK && i < 6; ++i) {
        status = perpi_sql_key(r->context, r->db, r->path, key[i], &value[i]);
        if (status == PERP_OK && value[i] == NULL) {
            status = perpi_fail(r->context, PERP_ERROR_INPUT,
                                "%s: has no '%s': the sweep was ended while it "
                                "began",
                                r->path, key[i]);
        }
    }
    if (status == PERP_OK) {
        status = perpi_study_create(r->context, value[0], strlen(value[0]), r->path, value[1],
                                    value[2], &r->study);
    }
    if (status == PERP_ERROR_INPUT && value[5] != NULL && value[0] != NULL) {
        /* Its meshes or tables are not on this machine: the scene as it was built has them inside. */
        status = perpi_study_create(r->context, value[0], strlen(value[0]), r->path, value[5],
                                    "scene.json", &r->study);
    }
    r->user_code = value[3];
    r->identity = value[4];
    r->scene_built = value[5];
    perpi_free(r->context, value[0]);
    perpi_free(r->context, value[1]);
    perpi_free(r->context, value[2]);
    return status;
}

static perp_status open_results(perp_results* r)
{
    if (access(r->path, R_OK) != 0) {
        return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: cannot be opened", r->path);
    }
    /* Not read-only: the journal of a process that was killed is rolled back on opening, if that is allowed. */
    const bool writable = access(r->path, W_OK) == 0;
    if (sqlite3_open_v2(r->path, &r->db, writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
                        NULL) != SQLITE_OK) {
        return perpi_sql_fail(r->context, r->db, r->path);
    }
    (void)sqlite3_busy_timeout(r->db, 60000);
    sqlite3_stmt* probe = NULL;
    if (sqlite3_prepare_v2(r->db, "SELECT count(*) FROM study, (SELECT 1 FROM runs LIMIT 1)", -1,
                           &probe, NULL) != SQLITE_OK) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: is not a database of results (of 'perp sweep'): %s", r->path,
                          sqlite3_errmsg(r->db));
    }
    (void)sqlite3_finalize(probe);
    perp_status status = read_study(r);
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, (size_t)perp_study_measure_count(r->study),
                             sizeof *r->measure, &r->measure);
    }
    if (status == PERP_OK && r->study->design != NULL) {
        status = perpi_design_load(r);
    }
    return status == PERP_OK ? prepare_select(r) : status;
}

perp_status perp_results_open(perp_context* context, const char* path, perp_results** results)
{
    perp_results* r = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *r, &r);
    if (status != PERP_OK) {
        return status;
    }
    r->context = context;
    status = perpi_strndup(context, path, strlen(path), &r->path);
    if (status == PERP_OK) {
        status = open_results(r);
    }
    if (status != PERP_OK) {
        perp_results_close(r);
        return status;
    }
    *results = r;
    return PERP_OK;
}

void perp_results_close(perp_results* results)
{
    if (results == NULL) {
        return;
    }
    (void)sqlite3_finalize(results->all);
    (void)sqlite3_finalize(results->one);
    (void)sqlite3_close(results->db);
    perp_study_destroy(results->study);
    perpi_free(results->context, results->measure);
    perpi_free(results->context, results->user_code);
    perpi_free(results->context, results->identity);
    perpi_free(results->context, results->scene_built);
    perpi_free(results->context, results->path);
    perpi_free(results->context, results);
}

perp_study* perp_results_study(perp_results* results)
{
    return results->study;
}

const char* perp_results_user_code(const perp_results* results)
{
    return results->user_code;
}

/* ---- rows -------------------------------------------------------------------------------------*/

static perp_run_row row_at(perp_results* r, sqlite3_stmt* s)
{
    perp_run_row row = {
        .id = sqlite3_column_int64(s, ID),
        .status = perpi_sql_status(perpi_sql_text(s, STATUS)),
        .outcome = perpi_sql_text(s, OUTCOME),
        .measure = r->measure,
        .measure_count = perp_study_measure_count(r->study),
        .certificate = perpi_sql_number(s, CERTIFICATE),
        .energy_error = perpi_sql_number(s, ENERGY_ERROR),
        .steps = sqlite3_column_int64(s, STEPS),
        .seconds = perpi_sql_number(s, SECONDS),
        .recording = perpi_sql_text(s, RECORDING),
        .message = perpi_sql_text(s, MESSAGE),
    };
    for (int32_t i = 0; i < row.measure_count; ++i) {
        r->measure[i] = perpi_sql_number(s, MEASURE + i);
    }
    return row;
}

perp_status perp_results_each(perp_results* results,
                              bool (*fn)(void* user, const perp_run_row* row), void* user)
{
    int code;
    bool more = true;
    while (more && (code = sqlite3_step(results->all)) == SQLITE_ROW) {
        const perp_run_row row = row_at(results, results->all);
        more = fn(user, &row);
    }
    const perp_status status = !more || code == SQLITE_DONE
                                   ? PERP_OK
                                   : perpi_sql_fail(results->context, results->db, results->path);
    (void)sqlite3_reset(results->all);
    return status;
}

perp_status perp_results_row(perp_results* results, int64_t id, perp_run_row* row)
{
    (void)sqlite3_reset(results->one);
    (void)sqlite3_bind_int64(results->one, 1, id);
    const int code = sqlite3_step(results->one);
    if (code == SQLITE_ROW) {
        *row = row_at(results, results->one);
        return PERP_OK;
    }
    if (code == SQLITE_DONE) {
        return perpi_fail(results->context, PERP_ERROR_INPUT,
                          "%s: has no run %lld; ids go from 1 to %lld", results->path,
                          (long long)id, (long long)perp_study_run_count(results->study));
    }
    return perpi_sql_fail(results->context, sqlite3_db_handle(results->one), results->path);
}

/* ---- joining ----------------------------------------------------------------------------------*/

typedef struct merge_state {
    perp_context* context;
    perpi_writer* writer;
    perp_results* out; /* to look at the rows that are there; reads by the writer's connection */
    const char* from;
    int64_t rows;
    perp_status status;
} merge_state;

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_rows(const perp_run_row* a, const perp_run_row* b)
{
    bool same = a->status == b->status && strcmp(a->outcome, b->outcome) == 0 &&
                strcmp(a->message, b->message) == 0 && a->steps == b->steps &&
                same_number(a->certificate, b->certificate) &&
                same_number(a->energy_error, b->energy_error);
    for (int32_t i = 0; same && i < a->measure_count; ++i) {
        same = same_number(a->measure[i], b->measure[i]);
    }
    return same;
}

static bool depends_on_machine(perp_run_status status)
{
    return status == PERP_RUN_TIMEOUT || status == PERP_RUN_CRASHED;
}

static bool merge_row(void* user, const perp_run_row* row)
{
    merge_state* m = user;
    perp_run_row old;
    const perp_status found = perp_results_row(m->out, row->id, &old);
    if (found != PERP_OK && found != PERP_ERROR_INPUT) {
        m->status = found;
    } else if (found == PERP_ERROR_INPUT) { /* it is not there */
        m->rows += 1;
        m->status = perpi_writer_add(m->writer, row);
    } else if (depends_on_machine(old.status) && !depends_on_machine(row->status)) {
        m->status = perpi_writer_remove(m->writer, row->id);
        if (m->status == PERP_OK) {
            m->status = perpi_writer_add(m->writer, row);
        }
    } else if (!depends_on_machine(row->status) && !same_rows(&old, row)) {
        m->status = perpi_fail(m->context, PERP_ERROR_INPUT,
                               "%s: run %lld differs from the same run of another file", m->from,
                               (long long)row->id);
    }
    (void)sqlite3_reset(m->out->one);
    return m->status == PERP_OK;
}

/* Rows that are there are looked up by the writer's own connection: a long transaction locks all
 * others out as soon as its pages do not fit into SQLite's cache. */
static perp_status open_merged(merge_state* m, const char* path)
{
    perp_status status = perp_results_open(m->context, path, &m->out);
    if (status != PERP_OK) {
        return status;
    }
    sqlite3_stmt* one = NULL;
    status = perpi_sql_prepare(m->context, perpi_writer_db(m->writer), path,
                               sqlite3_sql(m->out->one), &one);
    (void)sqlite3_finalize(m->out->one);
    m->out->one = one;
    return status;
}

static perp_status merge_one(merge_state* m, perp_results* first, const char* path)
{
    perp_results* part = NULL;
    m->from = path;
    perp_status status = perp_results_open(m->context, path, &part);
    if (status == PERP_OK && (strcmp(part->identity, first->identity) != 0 ||
                              strcmp(part->scene_built, first->scene_built) != 0 ||
                              strcmp(part->user_code, first->user_code) != 0)) {
        status = perpi_fail(m->context, PERP_ERROR_INPUT, "%s: belongs to another study than %s",
                            path, first->path);
    }
    if (status == PERP_OK) {
        status = perp_results_each(part, merge_row, m);
        status = status == PERP_OK ? m->status : status;
    }
    perp_results_close(part);
    return status;
}

perp_status perp_results_merge(perp_context* context, const char* const* path, int32_t count,
                               const char* out, int64_t* rows)
{
    perp_results* first = NULL;
    merge_state m = {.context = context};
    perp_status status = perp_results_open(context, path[0], &first);
    bool created = false;
    if (status == PERP_OK && first->study->design != NULL) {
        status = perpi_fail(
            context, PERP_ERROR_INPUT,
            "%s: is a design, whose evaluations follow each other: only sweeps are merged",
            path[0]);
    }
    if (status == PERP_OK && access(out, F_OK) == 0) {
        status = perpi_fail(context, PERP_ERROR_INPUT, "%s: exists: give another name", out);
    }
    if (status == PERP_OK) {
        status = perpi_writer_open(context, first->study, out, first->user_code, false, &m.writer);
        created = status == PERP_OK;
    }
    if (status == PERP_OK) {
        status = open_merged(&m, out);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = merge_one(&m, first, path[i]);
        if (status == PERP_OK) {
            status = perpi_writer_commit(m.writer, 0.0);
        }
    }
    perp_results_close(m.out);
    perpi_writer_close(m.writer);
    perp_results_close(first);
    if (status != PERP_OK && created) {
        (void)unlink(out);
    }
    if (status == PERP_OK) {
        *rows = m.rows;
    }
    return status;
}
