/* src/study/results_sql.h - what writing and reading the database share. */
#ifndef PERPI_RESULTS_SQL_H
#define PERPI_RESULTS_SQL_H

#include <sqlite3.h>

#include "study/results.h"
#include "study/study.h"

/* Text of an SQL statement that grows. */
typedef struct perpi_sql {
    perp_context* context;
    char* text;
    size_t length, room;
    perp_status status; /* of the first failure */
} perpi_sql;

/* The writer of results.h. */
struct perpi_writer {
    perp_context* context;
    const perp_study* study;
    char* path;
    sqlite3* db;
    sqlite3_stmt *insert, *remove;
    sqlite3_stmt *find, *evaluation; /* of a design, prepared when they are needed */
    double* number;                  /* of a row that was found: unknowns, measures */
    bool in_transaction;
    double begun;
    bool created; /* by this call: removed again if it fails */
};
/* Begins a transaction unless there is one. */
PERP_NODISCARD perp_status perpi_writer_begin(perpi_writer* w);

/* The reader of perp/study.h. */
struct perp_results {
    perp_context* context;
    char* path;
    sqlite3* db;
    perp_study* study;
    char* user_code;
    sqlite3_stmt *all, *one;
    double* measure;
    char *identity, *scene_built;
};

/* A number or NULL; NULL is NaN. */
void perpi_sql_bind(sqlite3_stmt* s, int index, double x);
double perpi_sql_number(sqlite3_stmt* s, int column);
const char* perpi_sql_text(sqlite3_stmt* s, int column);
perp_run_status perpi_sql_status(const char* word);

/* Of a design: its further columns of `runs` (with types, or none), its table `evaluations`, and
 * its candidates. */
void perpi_design_columns(perpi_sql* sql, const perp_study* study, bool types);
int32_t perpi_design_column_count(const perp_study* study);
int perpi_design_bind_columns(const perp_study* study, const perp_run_row* row, sqlite3_stmt* s,
                              int at);
void perpi_design_table(perpi_sql* sql, const perp_study* study);
PERP_NODISCARD perp_status perpi_design_load(perp_results* r);

void perpi_sql_add(perpi_sql* sql, const char* text);
/* A name in double quotes. */
void perpi_sql_name(perpi_sql* sql, const char* name);

/* Message with the file's name; SQLITE_FULL and the like are PERP_ERROR_IO. */
perp_status perpi_sql_fail(perp_context* context, sqlite3* db, const char* path);
PERP_NODISCARD perp_status perpi_sql_run(perp_context* context, sqlite3* db, const char* path,
                                         const char* text);
PERP_NODISCARD perp_status perpi_sql_prepare(perp_context* context, sqlite3* db, const char* path,
                                             const char* text, sqlite3_stmt** statement);
/* The value of a key of table `study`, to be freed; *value is NULL if there is none. */
PERP_NODISCARD perp_status perpi_sql_key(perp_context* context, sqlite3* db, const char* path,
                                         const char* key, char** value);

#endif
