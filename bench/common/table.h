/* bench/common/table.h - figures on the terminal, and the same as JSON with --json FILE. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct table {
    FILE* json;
    int count;
} table;

/* Reads --json FILE; exits with 2 on bad usage. */
table table_begin(const char* name, int argc, char** argv);
/* One figure: prints "name  value unit". */
void table_add(table* t, const char* name, double value, const char* unit);
int table_end(table* t);
/* Monotonic wall clock in seconds. */
double table_seconds(void);

/* Numbers from least to most, separated by commas; at most room - 1, and a 0 after them. */
bool table_read_counts(const char* text, long least, long most, int room, int* counts);

#endif
