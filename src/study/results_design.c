/* src/study/results_design.c - what the database of a design has beside that of a sweep: the table
 * of evaluations, and which evaluation, case and draw a run belongs to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/design.h"
#include "study/results_sql.h"

static const char search_kind[] = "search", half_kind[] = "half step";

/* A search by gradients keeps them, and what chose each candidate. */
static bool has_gradients(const perp_study* study)
{
    return study->design->method == PERP_DESIGN_GRADIENT;
}

int32_t perpi_design_column_count(const perp_study* study)
{
    return has_gradients(study) ? 5 : 4;
}

void perpi_design_columns(perpi_sql* sql, const perp_study* study, bool types)
{
    perpi_sql_add(sql, types ? ", evaluation INTEGER, case_number INTEGER, draw INTEGER, "
                               "step_factor REAL"
                             : ", evaluation, case_number, draw, step_factor");
    if (has_gradients(study)) {
        perpi_sql_add(sql, types ? ", gradient_json TEXT" : ", gradient_json");
    }
}

int perpi_design_bind_columns(const perp_study* study, const perp_run_row* row, sqlite3_stmt* s,
                              int at)
{
    const int64_t run = row->id;
    const int64_t runs = perpi_design_runs(study), rest = (run - 1) % runs;
    (void)sqlite3_bind_int64(s, at++, (run - 1) / runs + 1);
    (void)sqlite3_bind_int64(s, at++, rest / study->run_count + 1);
    (void)sqlite3_bind_int64(s, at++, rest % study->run_count + 1);
    perpi_sql_bind(s, at++, perpi_design_step_factor(study, run));
    if (has_gradients(study)) { /* NULL: none */
        (void)sqlite3_bind_text(s, at++, row->gradient, -1, SQLITE_STATIC);
    }
    return at;
}

static void add_unknowns(perpi_sql* sql, const perp_study* study, const char* type)
{
    for (int32_t i = 0; i < study->design->unknown_count; ++i) {
        perpi_sql_add(sql, ", ");
        perpi_sql_name(sql, study->design->unknown[i].name);
        perpi_sql_add(sql, type);
    }
}

static void add_constraints(perpi_sql* sql, const perp_study* study, const char* type)
{
    char name[64];
    for (int32_t i = 0; i < study->design->constraint_count; ++i) {
        (void)snprintf(name, sizeof name, ", constraint_%d%s", (int)i + 1, type);
        perpi_sql_add(sql, name);
    }
}

void perpi_design_table(perpi_sql* sql, const perp_study* study)
{
    perpi_sql_add(sql, "CREATE TABLE evaluations (id INTEGER PRIMARY KEY");
    add_unknowns(sql, study, " REAL");
    perpi_sql_add(sql, ", objective REAL");
    add_constraints(sql, study, " REAL");
    perpi_sql_add(sql, ", violation REAL, merit REAL, best REAL, feasible INTEGER, start INTEGER, "
                       "kind TEXT, status TEXT, failed INTEGER, seconds REAL, message TEXT");
    perpi_sql_add(sql, has_gradients(study) ? ", searched_by TEXT, flagged_steps INTEGER);" : ");");
}

/* ---- writing ----------------------------------------------------------------------------------*/

static perp_status prepare_find(perpi_writer* w)
{
    const int32_t numbers = w->study->design->unknown_count + 1;
    perpi_sql sql = {.context = w->context};
    perpi_sql_add(&sql, "SELECT id, status, steps, seconds, message");
    add_unknowns(&sql, w->study, "");
    perpi_sql_add(&sql, ", step_factor");
    for (int32_t i = 0; i < perp_study_measure_count(w->study); ++i) {
        perpi_sql_add(&sql, ", ");
        perpi_sql_name(&sql, perp_study_measure_name(w->study, i));
    }
    perpi_sql_add(&sql, has_gradients(w->study) ? ", gradient_json" : "");
    perpi_sql_add(&sql, " FROM runs WHERE id BETWEEN ? AND ? ORDER BY id");
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_prepare(w->context, w->db, w->path, sql.text, &w->find);
    }
    perpi_free(w->context, sql.text);
    return status != PERP_OK
               ? status
               : perpi_alloc(w->context, (size_t)(numbers + perp_study_measure_count(w->study)),
                             sizeof *w->number, &w->number);
}

perp_status perpi_writer_find(perpi_writer* w, int64_t first, int64_t last,
                              perp_status (*fn)(void* user, const perp_run_row* row,
                                                const double* unknown),
                              void* user)
{
    enum { ID, STATUS, STEPS, SECONDS, MESSAGE, NUMBERS };
    perp_status status = w->find == NULL ? prepare_find(w) : PERP_OK;
    if (status != PERP_OK) {
        return status;
    }
    const int32_t unknowns = w->study->design->unknown_count + 1;
    const int32_t measures = perp_study_measure_count(w->study);
    sqlite3_stmt* s = w->find;
    (void)sqlite3_bind_int64(s, 1, first);
    (void)sqlite3_bind_int64(s, 2, last);
    int code = SQLITE_DONE;
    while (status == PERP_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
        for (int32_t i = 0; i < unknowns + measures; ++i) {
            w->number[i] = perpi_sql_number(s, NUMBERS + i);
        }
        const perp_run_row row = {
            .id = sqlite3_column_int64(s, ID),
            .status = perpi_sql_status(perpi_sql_text(s, STATUS)),
            .outcome = "",
            .measure = w->number + unknowns,
            .measure_count = measures,
            .steps = sqlite3_column_int64(s, STEPS),
            .seconds = perpi_sql_number(s, SECONDS),
            .recording = "",
            .message = perpi_sql_text(s, MESSAGE),
            .gradient =
                has_gradients(w->study) ? perpi_sql_text(s, NUMBERS + unknowns + measures) : NULL,
        };
        status = fn(user, &row, w->number);
    }
    if (status == PERP_OK && code != SQLITE_DONE) {
        status = perpi_sql_fail(w->context, w->db, w->path);
    }
    (void)sqlite3_reset(s);
    return status;
}

static perp_status prepare_evaluation(perpi_writer* w)
{
    const perpi_design* d = w->study->design;
    perpi_sql sql = {.context = w->context};
    perpi_sql_add(&sql, "INSERT OR REPLACE INTO evaluations (id");
    add_unknowns(&sql, w->study, "");
    perpi_sql_add(&sql, ", objective");
    add_constraints(&sql, w->study, "");
    perpi_sql_add(&sql, ", violation, merit, best, feasible, start, kind, status, failed, seconds, "
                        "message");
    perpi_sql_add(&sql, has_gradients(w->study) ? ", searched_by, flagged_steps) VALUES (?, ?, ?"
                                                : ") VALUES (?");
    for (int32_t i = 0; i < d->unknown_count + d->constraint_count + 11; ++i) {
        perpi_sql_add(&sql, ", ?");
    }
    perpi_sql_add(&sql, ")");
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_prepare(w->context, w->db, w->path, sql.text, &w->evaluation);
    }
    perpi_free(w->context, sql.text);
    return status;
}

perp_status perpi_writer_evaluation(perpi_writer* w, const perp_evaluation* row)
{
    const perpi_design* d = w->study->design;
    perp_status status = w->evaluation == NULL ? prepare_evaluation(w) : PERP_OK;
    if (status == PERP_OK) {
        status = perpi_writer_begin(w);
    }
    if (status != PERP_OK) {
        return status;
    }
    sqlite3_stmt* s = w->evaluation;
    int at = 1;
    (void)sqlite3_bind_int64(s, at++, row->id);
    for (int32_t i = 0; i < d->unknown_count; ++i) {
        perpi_sql_bind(s, at++, row->unknown[i]);
    }
    perpi_sql_bind(s, at++, row->objective);
    for (int32_t i = 0; i < d->constraint_count; ++i) {
        perpi_sql_bind(s, at++, row->constraint[i]);
    }
    perpi_sql_bind(s, at++, row->violation);
    perpi_sql_bind(s, at++, row->merit);
    perpi_sql_bind(s, at++, row->best);
    (void)sqlite3_bind_int(s, at++, row->feasible ? 1 : 0);
    (void)sqlite3_bind_int(s, at++, row->start);
    (void)sqlite3_bind_text(s, at++, row->half_step ? half_kind : search_kind, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, at++, isnan(row->objective) ? "penalised" : "ok", -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, at++, row->failed);
    perpi_sql_bind(s, at++, row->seconds);
    (void)sqlite3_bind_text(s, at++, row->message, -1, SQLITE_STATIC);
    if (has_gradients(w->study)) {
        (void)sqlite3_bind_text(s, at++, row->searched_by, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(s, at++, row->flagged);
    }
    if (sqlite3_step(s) != SQLITE_DONE) {
        status = perpi_sql_fail(w->context, w->db, w->path);
    }
    (void)sqlite3_reset(s);
    return status;
}

perp_status perpi_writer_evaluations(perpi_writer* w, int64_t* count)
{
    sqlite3_stmt* s = NULL;
    perp_status status = perpi_sql_prepare(
        w->context, w->db, w->path, "SELECT max(evaluation) FROM runs WHERE step_factor = 1", &s);
    if (status == PERP_OK && sqlite3_step(s) != SQLITE_ROW) {
        status = perpi_sql_fail(w->context, w->db, w->path);
    }
    if (status == PERP_OK) {
        *count = sqlite3_column_int64(s, 0);
    }
    (void)sqlite3_finalize(s);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------*/

perp_status perpi_design_load(perp_results* r)
{
    double candidate[PERPI_DESIGN_UNKNOWNS + 1];
    const int32_t n = r->study->design->unknown_count;
    perpi_sql sql = {.context = r->context};
    perpi_sql_add(&sql, "SELECT evaluation");
    add_unknowns(&sql, r->study, "");
    perpi_sql_add(&sql, ", step_factor FROM runs GROUP BY evaluation ORDER BY evaluation");
    sqlite3_stmt* s = NULL;
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_prepare(r->context, r->db, r->path, sql.text, &s);
    }
    int code = SQLITE_DONE;
    while (status == PERP_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
        for (int32_t i = 0; i <= n; ++i) {
            candidate[i] = perpi_sql_number(s, 1 + i);
        }
        const int64_t evaluation = sqlite3_column_int64(s, 0);
        if (evaluation < 1 || evaluation > 100000000) {
            status = perpi_fail(r->context, PERP_ERROR_INPUT, "%s: has an evaluation %lld", r->path,
                                (long long)evaluation);
        } else {
            status = perpi_design_put(r->study, evaluation, candidate);
        }
    }
    if (status == PERP_OK && code != SQLITE_DONE) {
        status = perpi_sql_fail(r->context, r->db, r->path);
    }
    (void)sqlite3_finalize(s);
    perpi_free(r->context, sql.text);
    return status;
}

static perp_evaluation evaluation_at(sqlite3_stmt* s, const perp_study* study, double* number)
{
    const perpi_design* d = study->design;
    const int32_t n = d->unknown_count, m = d->constraint_count;
    for (int32_t i = 0; i < n + 1 + m; ++i) {
        number[i] = perpi_sql_number(s, 1 + i);
    }
    const int at = n + m + 2;
    return (perp_evaluation){
        .id = sqlite3_column_int64(s, 0),
        .unknown = number,
        .objective = number[n],
        .constraint = number + n + 1,
        .violation = perpi_sql_number(s, at),
        .merit = perpi_sql_number(s, at + 1),
        .best = perpi_sql_number(s, at + 2),
        .feasible = sqlite3_column_int(s, at + 3) != 0,
        .start = sqlite3_column_int(s, at + 4),
        .half_step = strcmp(perpi_sql_text(s, at + 5), half_kind) == 0,
        .failed = sqlite3_column_int64(s, at + 6),
        .seconds = perpi_sql_number(s, at + 7),
        .message = perpi_sql_text(s, at + 8),
        .searched_by = has_gradients(study) ? perpi_sql_text(s, at + 9) : "",
        .flagged = has_gradients(study) ? sqlite3_column_int64(s, at + 10) : 0,
    };
}

perp_status perp_results_evaluations(perp_results* results,
                                     bool (*fn)(void* user, const perp_evaluation* row), void* user)
{
    double number[PERPI_DESIGN_UNKNOWNS + 1 + PERPI_DESIGN_CONSTRAINTS];
    const perpi_design* d = results->study->design;
    if (d == NULL) {
        return perpi_fail(results->context, PERP_ERROR_INPUT, "%s: is a sweep, not a design",
                          results->path);
    }
    perpi_sql sql = {.context = results->context};
    perpi_sql_add(&sql, "SELECT id");
    add_unknowns(&sql, results->study, "");
    perpi_sql_add(&sql, ", objective");
    add_constraints(&sql, results->study, "");
    perpi_sql_add(&sql,
                  ", violation, merit, best, feasible, start, kind, failed, seconds, message");
    perpi_sql_add(&sql, has_gradients(results->study) ? ", searched_by, flagged_steps" : "");
    perpi_sql_add(&sql, " FROM evaluations ORDER BY id");
    sqlite3_stmt* s = NULL;
    perp_status status = sql.status;
    if (status == PERP_OK) {
        status = perpi_sql_prepare(results->context, results->db, results->path, sql.text, &s);
    }
    int code = SQLITE_DONE;
    bool more = true;
    while (status == PERP_OK && more && (code = sqlite3_step(s)) == SQLITE_ROW) {
        const perp_evaluation row = evaluation_at(s, results->study, number);
        more = fn(user, &row);
    }
    if (status == PERP_OK && more && code != SQLITE_DONE) {
        status = perpi_sql_fail(results->context, results->db, results->path);
    }
    (void)sqlite3_finalize(s);
    perpi_free(results->context, sql.text);
    return status;
}
