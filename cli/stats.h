/* cli/stats.h - what `perp run` gathers while a simulation runs. */
#ifndef PERP_CLI_STATS_H
#define PERP_CLI_STATS_H

#include "cli.h"

/* Wall times of steps: mean and maximum are exact; percentiles come from an even sample of at most
 * CLI_SAMPLES steps (every step of a run up to that length). */
#define CLI_SAMPLES (1 << 18)

typedef struct cli_stats {
    int64_t steps; /* taken in this run */
    double wall_seconds;
    double step_sum, step_max; /* wall time */
    double step_max_cpu;
    double* sample;
    int32_t sample_count;
    int64_t sample_every;

    perp_contact_residual certificate; /* the worst of each law */
    int64_t worst_step;                /* number of the step that was furthest off; 0: none */
    double joint_error[2];             /* largest: length, angle */
    double penetration_max, penetration_final;
    int32_t contacts_max, contacts_final;
    double iterations_sum;
    int32_t iterations_max;
    int64_t failures;
    int64_t fallbacks;        /* pairs of shapes given to a simpler contact model */
    int64_t undetermined;     /* steps whose motion the laws leave open (quasistatic) */
    int32_t freedom;          /* of these, in how many directions at most */
    int64_t impacts_reduced;  /* impacts whose restitution was cut, for energy not to grow */
    int64_t impacts_unsolved; /* steps without restitution, where the impact had no solution */
    double initial_total;     /* energy */
    double ledger_worst;      /* largest |unexplained| of a step, relative to the terms' sizes */
    int64_t ledger_step;      /* and its number; 0: none */
    double momentum_error[2]; /* largest: linear, angular */
    int64_t crossings;
    int64_t joints_kept;   /* steps that left the errors of joints as they were */
    int64_t semi_implicit; /* steps of stewart-trinkle where the stepper found no answer */
} cli_stats;

bool cli_stats_begin(cli_stats* stats, const perp_sim* sim); /* false: no memory */
void cli_stats_step(cli_stats* stats, const perp_sim* sim, double seconds);
/* A step has used the CPU for so long, whether it succeeded or not. */
void cli_stats_cpu(cli_stats* stats, double seconds);
void cli_stats_end(cli_stats* stats, perp_sim* sim);
void cli_stats_free(cli_stats* stats);
/* Seconds of the step of which the fraction `part` of all steps is not slower. Sorts the sample. */
double cli_stats_percentile(cli_stats* stats, double part);

#endif
