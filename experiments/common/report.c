#include "common/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void make_directory(const char* path)
{
    char part[4096];
    const size_t length = strlen(path);
    if (length >= sizeof part) {
        fprintf(stderr, "--out: path too long\n");
        exit(2);
    }
    for (size_t i = 1; i <= length; ++i) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            fprintf(stderr, "--out %s: %s\n", part, strerror(errno));
            exit(2);
        }
    }
}

void report_begin(report* r, const char* name, int argc, char** argv)
{
    *r = (report){.name = name, .out = "."};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
            r->out = argv[++i];
            make_directory(r->out);
        } else {
            fprintf(stderr, "usage: %s [--out DIR]\n", name);
            exit(2);
        }
    }
    r->text = open_memstream(&r->buffer, &r->size);
    if (r->text == NULL) {
        perror(name);
        exit(3);
    }
    fprintf(r->text, "{\n  \"experiment\": \"%s\",\n  \"quantities\": [", name);
}

static void number(FILE* f, const char* key, double value)
{
    if (isfinite(value)) {
        fprintf(f, "\"%s\": %.17g", key, value);
    } else {
        fprintf(f, "\"%s\": null", key); /* JSON has no NaN */
    }
}

void report_add(report* r, const char* quantity, double paper, double expected, double ours,
                double tolerance)
{
    const bool ok = fabs(ours - expected) <= tolerance; /* false for NaN */
    fprintf(r->text, "%s\n    {\"name\": \"%s\", ", r->count++ > 0 ? "," : "", quantity);
    number(r->text, "paper", paper);
    fputs(", ", r->text);
    number(r->text, "expected", expected);
    fputs(", ", r->text);
    number(r->text, "ours", ours);
    fputs(", ", r->text);
    number(r->text, "tolerance", tolerance);
    fprintf(r->text, ", \"ok\": %s}", ok ? "true" : "false");
    r->failed += !ok;
}

void report_note(report* r, const char* quantity, double ours)
{
    fprintf(r->text, "%s\n    {\"name\": \"%s\", \"paper\": null, ", r->count++ > 0 ? "," : "",
            quantity);
    number(r->text, "ours", ours);
    fputs(", \"note\": \"for the record, not checked\"}", r->text);
}

FILE* report_file(const report* r, const char* name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", r->out, name);
    FILE* f = fopen(path, "w");
    if (f == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(3);
    }
    return f;
}

int report_end(report* r)
{
    fprintf(r->text, "\n  ],\n  \"ok\": %s\n}\n", r->failed == 0 ? "true" : "false");
    fclose(r->text);
    fputs(r->buffer, stdout);
    char name[256];
    snprintf(name, sizeof name, "%s.json", r->name);
    FILE* f = report_file(r, name);
    fputs(r->buffer, f);
    fclose(f);
    free(r->buffer);
    return r->failed == 0 ? 0 : 1;
}
