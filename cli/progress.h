/* cli/progress.h - one line on the terminal during a run; nothing if stderr is not a terminal. */
#ifndef PERP_CLI_PROGRESS_H
#define PERP_CLI_PROGRESS_H

#include "stats.h"

typedef struct cli_progress {
    bool on;
    bool drawn;
    double begin, last; /* wall clock */
    double time_begin;  /* simulated */
} cli_progress;

void cli_progress_begin(cli_progress* progress, const perp_sim* sim, bool quiet);
/* Redraws at most ten times a second. */
void cli_progress_step(cli_progress* progress, const perp_sim* sim, const cli_stats* stats,
                       double now);
void cli_progress_end(cli_progress* progress);

#endif
