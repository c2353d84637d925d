/* cli/progress.c - the progress line of `perp run`. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define REDRAW_SECONDS 0.1
#define BAR 20

void cli_progress_begin(cli_progress* progress, const perp_sim* sim, bool quiet)
{
    const double now = cli_clock();
    *progress = (cli_progress){.on = !quiet && isatty(STDERR_FILENO) == 1,
                               .begin = now,
                               .last = now,
                               .time_begin = perp_sim_time(sim)};
}

static void format_left(double seconds, char* text, size_t size)
{
    if (!(seconds < 360000.0)) {
        (void)snprintf(text, size, "long");
    } else if (seconds < 100.0) {
        (void)snprintf(text, size, "%.0f s", seconds);
    } else if (seconds < 6000.0) {
        (void)snprintf(text, size, "%.0f min", seconds / 60.0);
    } else {
        (void)snprintf(text, size, "%.1f h", seconds / 3600.0);
    }
}

void cli_progress_step(cli_progress* progress, const perp_sim* sim, const cli_stats* stats,
                       double now)
{
    if (!progress->on || now - progress->last < REDRAW_SECONDS) {
        return;
    }
    progress->last = now;
    progress->drawn = true;
    const double total = (double)perp_sim_step_total(sim), done = (double)perp_sim_step_count(sim);
    const double wall = now - progress->begin;
    const double rate = (double)stats->steps / wall;
    const double part = total > 0.0 ? done / total : 1.0;
    char bar[BAR + 1], left[32];
    for (int i = 0; i < BAR; ++i) {
        bar[i] = (double)i < part * BAR ? '=' : ' ';
    }
    bar[BAR] = '\0';
    format_left((total - done) / rate, left, sizeof left);
    fprintf(stderr,
            "\r\033[K%3.0f%% [%s] %.4g steps/s, %.3gx real time, %d contacts, worst %.1e, %s left",
            100.0 * part, bar, rate, (perp_sim_time(sim) - progress->time_begin) / wall,
            (int)stats->contacts_final, stats->certificate.worst, left);
    (void)fflush(stderr);
}

void cli_progress_end(cli_progress* progress)
{
    if (progress->drawn) {
        fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
        progress->drawn = false;
    }
}
