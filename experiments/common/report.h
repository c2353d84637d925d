/* experiments/common/report.h - what an experiment prints, and how it ends.
 *
 * One JSON object on stdout and in DIR/NAME.json: for each quantity what the paper says, what was
 * expected (a closed form where the paper gives no number), what came out, the tolerance, and
 * whether it holds. The exit status is 1 if one does not.
 */
#ifndef EXPERIMENT_REPORT_H
#define EXPERIMENT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct report {
    const char* name;
    const char* out; /* directory for data, plots and the JSON; "." without --out */
    FILE* text;      /* the JSON is built here */
    char* buffer;
    size_t size;
    int count, failed;
} report;

/* Reads --out DIR (made if missing). Exits with 2 on bad usage. *r must stay where it is. */
void report_begin(report* r, const char* name, int argc, char** argv);
/* paper: NAN if the paper prints no number. ok: |ours - expected| <= tolerance. */
void report_add(report* r, const char* quantity, double paper, double expected, double ours,
                double tolerance);
/* A figure for the record, without a result. */
void report_note(report* r, const char* quantity, double ours);
/* A data file in the output directory; stops the program if it cannot be written. */
FILE* report_file(const report* r, const char* name);
/* Prints, writes, frees; returns the exit status. */
int report_end(report* r);

#endif
