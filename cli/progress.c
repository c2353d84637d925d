/* cli/progress.c - the progress line of `perp run`.
 *
 * A line that wraps cannot be erased and would fill the screen. So the line is composed of parts,
 * and on a narrow terminal the least important are left out.
 */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_SECONDS 0.1
#define BAR 20
#define PIECE 32

/* In the order of the line. */
enum { PERCENT, DRAWING, RATE, RATIO, CONTACTS, WORST, LEFT, PIECES };
/* In the order in which they go when room is short. */
static const int dispensable[] = {DRAWING, CONTACTS, WORST, RATIO, RATE, LEFT};

void cli_progress_begin(cli_progress* progress, const perp_sim* sim, bool quiet)
{
    const double now = cli_clock();
    const char* term = getenv("TERM");
    const bool dumb = term != NULL && strcmp(term, "dumb") == 0; /* it cannot erase a line */
    *progress = (cli_progress){.on = !quiet && !dumb && isatty(STDERR_FILENO) == 1,
                               .begin = now,
                               .last = now,
                               .time_begin = perp_sim_time(sim)};
}

static void format_left(double seconds, char text[PIECE])
{
    if (!(seconds < 360000.0)) {
        (void)snprintf(text, PIECE, "long to go");
    } else if (seconds < 100.0) {
        (void)snprintf(text, PIECE, "%.0f s left", seconds);
    } else if (seconds < 6000.0) {
        (void)snprintf(text, PIECE, "%.0f min left", seconds / 60.0);
    } else {
        (void)snprintf(text, PIECE, "%.1f h left", seconds / 3600.0);
    }
}

static void format_rate(double rate, char text[PIECE])
{
    if (rate < 9999.5) {
        (void)snprintf(text, PIECE, "%.*f steps/s", rate < 9.95 ? 1 : 0, rate);
    } else {
        (void)snprintf(text, PIECE, "%.0fk steps/s", rate / 1000.0);
    }
}

static size_t width_of(char piece[PIECES][PIECE])
{
    size_t width = 0;
    for (int i = 0; i < PIECES; ++i) {
        const size_t length = strlen(piece[i]);
        width += length > 0 && i > PERCENT ? length + 2 : length; /* "  " between them */
    }
    return width;
}

/* One line of at most `columns` - 1 letters: a terminal may wrap after the last one. */
static void draw(char piece[PIECES][PIECE], int columns)
{
    char line[PIECES * (PIECE + 2)] = "";
    for (size_t i = 0; i < sizeof dispensable / sizeof dispensable[0]; ++i) {
        if (width_of(piece) >= (size_t)columns) {
            piece[dispensable[i]][0] = '\0';
        }
    }
    if (width_of(piece) >= (size_t)columns) {
        return;
    }
    for (int i = 0; i < PIECES; ++i) {
        if (piece[i][0] != '\0') {
            (void)strcat(line, i > PERCENT ? "  " : "");
            (void)strcat(line, piece[i]);
        }
    }
    fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
}

void cli_progress_step(cli_progress* progress, const perp_sim* sim, const cli_stats* stats,
                       double now)
{
    if (!progress->on || now - progress->last < REDRAW_SECONDS) {
        return;
    }
    progress->last = now;
    progress->drawn = true;
    cli_line_shown(true);
    const double total = perp_sim_duration(sim), done = perp_sim_time(sim);
    const double wall = now - progress->begin;
    const double rate = (double)stats->steps / wall;
    const double part = total > 0.0 ? done / total : 1.0;
    char piece[PIECES][PIECE];
    (void)snprintf(piece[PERCENT], PIECE, "%3.0f%%", 100.0 * part);
    piece[DRAWING][0] = '[';
    for (int i = 0; i < BAR; ++i) {
        piece[DRAWING][1 + i] = (double)i < part * BAR ? '=' : ' ';
    }
    (void)memcpy(piece[DRAWING] + 1 + BAR, "]", 2);
    format_rate(rate, piece[RATE]);
    (void)snprintf(piece[RATIO], PIECE, "%.3gx real time",
                   (perp_sim_time(sim) - progress->time_begin) / wall);
    (void)snprintf(piece[CONTACTS], PIECE, "%d contacts", (int)stats->contacts_final);
    (void)snprintf(piece[WORST], PIECE, "worst %.1e", stats->certificate.worst);
    const double pace = (done - progress->time_begin) / wall;
    format_left(pace > 0.0 ? (total - done) / pace : INFINITY, piece[LEFT]);
    draw(piece, cli_columns(STDERR_FILENO));
}

void cli_progress_end(cli_progress* progress)
{
    if (progress->drawn) {
        fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
        progress->drawn = false;
        cli_line_shown(false);
    }
}
