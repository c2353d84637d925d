/* cli/sweep.h - the parts of `perp sweep`. */
#ifndef PERP_CLI_SWEEP_H
#define PERP_CLI_SWEEP_H

#include "cli.h"
#include "plugin.h"

/* A context that is silent in forked workers: 100,000 runs must not print 100,000 warnings. */
perp_context* sweep_context(bool json);
/* The user code of runs: plugins that were loaded. */
perp_run_options sweep_run_options(cli_plugins* plugins);
/* "name.db", "name.csv", ... are written by one process; what a shell needs to repeat a run. */
void sweep_quote(const char* path, char* text, size_t size);

/* Can --csv and --page be written, and are they other files than the study and the database? Asked
 * before the runs. */
int sweep_check_files(const cli_args* args, const char* input, const char* database);
/* Whether two paths name one file, also of files that are not there yet. */
bool sweep_same_file(const char* a, const char* b);
/* Rows as a table of text with commas. CLI_DONE, or after saying why. */
int sweep_write_csv(const cli_args* args, perp_context* context, perp_results* results,
                    const char* path);
/* Counts, success with intervals, slowest, failures by message. */
int sweep_show(const cli_args* args);
/* Bounds of the Wilson interval of 95 % for `count` of `total`. */
void sweep_wilson(int64_t count, int64_t total, double interval[2]);
json_t* sweep_report_json(const perp_study* study, const perp_sweep_report* report);
/* A JSON string in ASCII that cannot end the script element in which it stands. */
void sweep_put_string(FILE* file, const char* text);
/* The page of a database. */
int sweep_write_page(const cli_args* args, perp_context* context, perp_results* results,
                     const char* database, const char* path);

/* --jobs; left if it is not given. */
int sweep_read_jobs(const cli_args* args, int32_t* number);
/* The database is called as the study, if no name is given. To be freed. */
char* sweep_default_out(const char* study);

/* What a run of a study works with. */
typedef struct sweep_opening {
    char* out; /* the database */
    perp_context* context;
    cli_plugins plugins;
} sweep_opening;

/* From --out, --plugin and the study's name. The caller closes it, also after a failure. */
int sweep_open(const cli_args* args, sweep_opening* made);
void sweep_close(sweep_opening* made);

/* The progress line. */
typedef struct sweep_line {
    bool on, drawn;
    double begin;
} sweep_line;
void sweep_line_begin(sweep_line* line, bool quiet);
void sweep_line_draw(sweep_line* line, const perp_sweep_report* report);
void sweep_line_end(sweep_line* line);

/* Whether Ctrl-C was pressed (or SIGTERM sent) since sweep_watch_signals. */
void sweep_watch_signals(void);
bool sweep_stop_asked(void);

/* Number of processes that mpirun has started, 1 without it; rank of this one. */
int sweep_mpi_size(int* rank);
/* The sweep on all of them. */
int sweep_run_mpi(const cli_args* args, const perp_sweep_def* def, const char* study_path,
                  cli_plugins* plugins);
/* After a sweep: report, --csv, --page. */
int sweep_after(const cli_args* args, perp_context* context, const perp_study* study,
                const perp_sweep_report* report, const char* out);

#endif
