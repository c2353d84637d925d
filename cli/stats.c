/* cli/stats.c - figures of a run. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The part of kinetic energy and weight times size that is added to the magnitude of a step's ledger,
 * for the rounding of energies that hardly change. */
#define LEDGER_REST 1e-4

bool cli_stats_begin(cli_stats* stats, const perp_sim* sim)
{
    memset(stats, 0, sizeof *stats);
    stats->sample = malloc(CLI_SAMPLES * sizeof *stats->sample);
    stats->sample_every = 1;
    stats->initial_total = perp_sim_energy(sim).total;
    return stats->sample != NULL;
}

void cli_stats_free(cli_stats* stats)
{
    free(stats->sample);
    stats->sample = NULL;
}

/* When the sample is full, every second value is dropped, and from then on only every second is
 * added. */
static void take_sample(cli_stats* stats, double seconds)
{
    if (stats->steps % stats->sample_every != 0) {
        return;
    }
    if (stats->sample_count == CLI_SAMPLES) {
        for (int32_t i = 0; i < CLI_SAMPLES / 2; ++i) {
            stats->sample[i] = stats->sample[2 * i];
        }
        stats->sample_count = CLI_SAMPLES / 2;
        stats->sample_every *= 2;
    }
    stats->sample[stats->sample_count++] = seconds;
}

static void take_worst(double* worst, double now)
{
    if (!(now <= *worst)) { /* a NaN stays visible */
        *worst = now;
    }
}

/* The scale only lowers the ratio: compute it only where the ratio without it would be a new
 * maximum. */
static void take_ledger(cli_stats* stats, const perp_sim* sim, const perp_ledger* ledger)
{
    const double size = fabs(ledger->unexplained);
    if (size <= stats->ledger_worst * ledger->magnitude) {
        return;
    }
    const double ratio = size / (ledger->magnitude + LEDGER_REST * perp_sim_energy_scale(sim));
    if (!(ratio <= stats->ledger_worst)) { /* a NaN stays visible */
        stats->ledger_worst = ratio;
        stats->ledger_step = perp_sim_step_count(sim);
    }
}

void cli_stats_cpu(cli_stats* stats, double seconds)
{
    take_worst(&stats->step_max_cpu, seconds);
}

void cli_stats_step(cli_stats* stats, const perp_sim* sim, double seconds)
{
    const perp_step_info info = perp_sim_step_info(sim);
    take_sample(stats, seconds);
    stats->steps += 1;
    stats->fallbacks += info.fallbacks;
    stats->impacts_reduced += info.kind != PERP_STEP_TIME && info.restitution_kept < 1.0;
    stats->impacts_unsolved += info.unsolved_impact;
    stats->undetermined += info.freedom > 0;
    stats->freedom = info.freedom > stats->freedom ? info.freedom : stats->freedom;
    stats->step_sum += seconds;
    take_worst(&stats->step_max, seconds);

    perp_contact_residual* worst = &stats->certificate;
    if (stats->worst_step == 0 || !(info.certificate.worst <= worst->worst)) {
        worst->worst = info.certificate.worst;
        stats->worst_step = perp_sim_step_count(sim);
    }
    take_worst(&worst->dynamics, info.certificate.dynamics);
    take_worst(&worst->normal, info.certificate.normal);
    take_worst(&worst->friction, info.certificate.friction);
    take_worst(&worst->joints, info.certificate.joints);

    take_ledger(stats, sim, &info.ledger);
    take_worst(&stats->momentum_error[0], info.momentum_error[0]);
    take_worst(&stats->momentum_error[1], info.momentum_error[1]);
    stats->crossings += info.crossings;
    stats->semi_implicit += info.semi_implicit;
    stats->joints_kept += info.joints_kept;

    take_worst(&stats->penetration_max, info.penetration);
    take_worst(&stats->joint_error[0], info.joint_error[0]);
    take_worst(&stats->joint_error[1], info.joint_error[1]);
    stats->contacts_final = info.contacts;
    if (info.contacts > stats->contacts_max) {
        stats->contacts_max = info.contacts;
    }
    stats->iterations_sum += (double)info.report.iterations;
    if (info.report.iterations > stats->iterations_max) {
        stats->iterations_max = info.report.iterations;
    }
    stats->failures += info.accepted_unsolved;
}

void cli_stats_end(cli_stats* stats, perp_sim* sim)
{
    if (perp_sim_penetration(sim, &stats->penetration_final) == PERP_OK) {
        take_worst(&stats->penetration_max, stats->penetration_final);
    }
}

static int by_size(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double cli_stats_percentile(cli_stats* stats, double part)
{
    if (stats->sample_count == 0) {
        return 0.0;
    }
    qsort(stats->sample, (size_t)stats->sample_count, sizeof *stats->sample, by_size);
    const int32_t at = (int32_t)(part * (double)stats->sample_count);
    return stats->sample[at < stats->sample_count ? at : stats->sample_count - 1];
}
