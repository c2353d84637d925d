/* src/study/results_sql.h - what writing and reading the database share. */
#ifndef PERPI_RESULTS_SQL_H
#define PERPI_RESULTS_SQL_H

#include <sqlite3.h>

#include "study/study.h"

/* Text of an SQL statement that grows. */
typedef struct perpi_sql {
    perp_context* context;
    char* text;
    size_t length, room;
    perp_status status; /* of the first failure */
} perpi_sql;

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
