/* src/study/results_sql.c - see results_sql.h. */
#include "study/results_sql.h"

#include <math.h>
#include <string.h>

void perpi_sql_add(perpi_sql* sql, const char* text)
{
    const size_t length = strlen(text);
    if (sql->status == PERP_OK) {
        sql->status = perpi_grow(sql->context, &sql->text, &sql->room, sql->length + length + 1, 1);
    }
    if (sql->status == PERP_OK) {
        memcpy(sql->text + sql->length, text, length + 1);
        sql->length += length;
    }
}

void perpi_sql_name(perpi_sql* sql, const char* name)
{
    perpi_sql_add(sql, "\"");
    for (; *name != '\0'; ++name) {
        const char one[3] = {*name, *name == '"' ? '"' : '\0', '\0'};
        perpi_sql_add(sql, one);
    }
    perpi_sql_add(sql, "\"");
}

perp_status perpi_sql_fail(perp_context* context, sqlite3* db, const char* path)
{
    const int code = sqlite3_errcode(db);
    if (code == SQLITE_NOMEM) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory");
    }
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: is not a database of results: %s", path,
                          sqlite3_errmsg(db));
    }
    const bool input = code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM ||
                       code == SQLITE_AUTH;
    return perpi_fail(context, input ? PERP_ERROR_INPUT : PERP_ERROR_IO, "%s: %s", path,
                      sqlite3_errmsg(db));
}

perp_status perpi_sql_run(perp_context* context, sqlite3* db, const char* path, const char* text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK
               ? PERP_OK
               : perpi_sql_fail(context, db, path);
}

perp_status perpi_sql_prepare(perp_context* context, sqlite3* db, const char* path,
                              const char* text, sqlite3_stmt** statement)
{
    return sqlite3_prepare_v2(db, text, -1, statement, NULL) == SQLITE_OK
               ? PERP_OK
               : perpi_sql_fail(context, db, path);
}

perp_status perpi_sql_key(perp_context* context, sqlite3* db, const char* path, const char* key,
                          char** value)
{
    sqlite3_stmt* statement = NULL;
    *value = NULL;
    perp_status status =
        perpi_sql_prepare(context, db, path, "SELECT value FROM study WHERE key = ?", &statement);
    if (status != PERP_OK) {
        return status;
    }
    (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char* text = (const char*)sqlite3_column_text(statement, 0);
        status = perpi_strndup(context, text != NULL ? text : "", text != NULL ? strlen(text) : 0,
                               value);
    } else if (code != SQLITE_DONE) {
        status = perpi_sql_fail(context, db, path);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

void perpi_sql_bind(sqlite3_stmt* s, int index, double x)
{
    if (isfinite(x)) {
        (void)sqlite3_bind_double(s, index, x);
    } else {
        (void)sqlite3_bind_null(s, index);
    }
}

double perpi_sql_number(sqlite3_stmt* s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

const char* perpi_sql_text(sqlite3_stmt* s, int column)
{
    const char* text = (const char*)sqlite3_column_text(s, column);
    return text != NULL ? text : "";
}

perp_run_status perpi_sql_status(const char* word)
{
    for (int i = 0; word != NULL && i <= PERP_RUN_CRASHED; ++i) {
        if (strcmp(word, perp_run_status_name((perp_run_status)i)) == 0) {
            return (perp_run_status)i;
        }
    }
    return PERP_RUN_CRASHED;
}
