/* experiments/common/study.h - studies of an experiment: files in its folder, and their results. A failure of
 * the study (not of a run) ends the experiment. */
#ifndef EXPERIMENT_STUDY_H
#define EXPERIMENT_STUDY_H

#include "common/report.h"
#include "perp/perp.h"
#include "perp/study.h"

/* Ends the experiment with the context's message. */
void study_require(const perp_context* context, perp_status status);
/* Takes `option` out of the arguments; whether it was there. */
bool study_option(int* argc, char** argv, const char* option);
/* DIR/NAME; to be freed. */
char* study_path(const report* r, const char* name);
/* Writes DIR/NAME, printf-style. */
void study_write(const report* r, const char* name, const char* format, ...) PERP_PRINTF(3, 4);

typedef struct study_result {
    int64_t runs, ok;   /* rows; of these, with status ok */
    int64_t hits;       /* of these, with the wanted outcome */
    double seconds;     /* of CPU, all runs */
    double certificate; /* the worst */
    char message[256];  /* of the first run that was not ok */
} study_result;

typedef void study_row_fn(void* user, perp_study* study, const perp_run_row* row);

/* Runs DIR/NAME.json into DIR/NAME.db (made anew), with one job for each processor. each: NULL, or
 * called with every row. */
study_result study_sweep(perp_context* context, const report* r, const char* name,
                         const char* wanted, study_row_fn* each, void* user);

#endif
