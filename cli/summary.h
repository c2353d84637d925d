/* cli/summary.h - the result of a run, for people and for programs. */
#ifndef PERP_CLI_SUMMARY_H
#define PERP_CLI_SUMMARY_H

#include "stats.h"

/* status: "ok", "failed", "interrupted". message: NULL when all is well. problem: the problem file
 * of a failed solve, or NULL. */
json_t* cli_summary_json(const perp_scene* scene, const perp_sim* sim, cli_stats* stats,
                         const char* status, const char* message, const char* problem);
void cli_summary_print(const perp_scene* scene, const perp_sim* sim, cli_stats* stats,
                       const char* status, const char* out);

#endif
