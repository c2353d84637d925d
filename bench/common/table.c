#include "common/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

table table_begin(const char* name, int argc, char** argv)
{
    table t = {0};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            t.json = fopen(argv[++i], "w");
            if (t.json == NULL) {
                fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
                exit(3);
            }
        } else {
            fprintf(stderr, "usage: %s [--json FILE]\n", name);
            exit(2);
        }
    }
    if (t.json != NULL) {
        fprintf(t.json, "{\n  \"bench\": \"%s\",\n  \"figures\": [", name);
    }
    return t;
}

void table_add(table* t, const char* name, double value, const char* unit)
{
    printf("%-58s %12.6g %s\n", name, value, unit);
    if (t->json != NULL) {
        fprintf(t->json, "%s\n    {\"name\": \"%s\", \"value\": ", t->count > 0 ? "," : "", name);
        if (isfinite(value)) {
            fprintf(t->json, "%.9g", value);
        } else {
            fputs("null", t->json);
        }
        fprintf(t->json, ", \"unit\": \"%s\"}", unit);
    }
    t->count += 1;
}

int table_end(table* t)
{
    if (t->json != NULL) {
        fputs("\n  ]\n}\n", t->json);
        if (fclose(t->json) != 0) {
            perror("bench");
            return 3;
        }
    }
    return 0;
}

double table_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool table_read_counts(const char* text, long least, long most, int room, int* counts)
{
    int count = 0;
    for (char* end; *text != '\0' && count < room - 1; text = *end == ',' ? end + 1 : end) {
        const long n = strtol(text, &end, 10);
        if (end == text || n < least || n > most || (*end != ',' && *end != '\0')) {
            return false;
        }
        counts[count++] = (int)n;
    }
    counts[count] = 0;
    return *text == '\0';
}
