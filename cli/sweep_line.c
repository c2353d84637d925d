/* cli/sweep_line.c - the progress line of `perp sweep`: runs per second, time left, outcomes, failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweep.h"

void sweep_line_begin(sweep_line* line, bool quiet)
{
    const char* term = getenv("TERM");
    const bool dumb = term != NULL && strcmp(term, "dumb") == 0; /* it cannot erase a line */
    *line = (sweep_line){.on = !quiet && !dumb && isatty(STDERR_FILENO) == 1, .begin = cli_clock()};
}

static void format_left(double seconds, char* text, size_t size)
{
    if (!(seconds < 360000.0)) {
        (void)snprintf(text, size, "long to go");
    } else if (seconds < 100.0) {
        (void)snprintf(text, size, "%.0f s left", seconds);
    } else if (seconds < 6000.0) {
        (void)snprintf(text, size, "%.0f min left", seconds / 60.0);
    } else {
        (void)snprintf(text, size, "%.1f h left", seconds / 3600.0);
    }
}

/* Parts are added as long as they fit: a line that wraps cannot be erased. */
static void add_part(char* text, size_t size, int columns, const char* part)
{
    const size_t used = strlen(text);
    if (used + strlen(part) + 3 < (size_t)columns) {
        (void)snprintf(text + used, size - used, "%s%s", used > 0 ? "  " : "", part);
    }
}

void sweep_line_draw(sweep_line* line, const perp_sweep_report* r)
{
    if (!line->on) {
        return;
    }
    const int columns = cli_columns(STDERR_FILENO);
    const double rate = r->seconds > 0.0 ? (double)(r->done - r->found) / r->seconds : 0.0;
    const int64_t bad = r->done - r->status[PERP_RUN_OK];
    char text[512] = "", part[128];
    (void)snprintf(part, sizeof part, "%3.0f%%  %lld of %lld",
                   r->total > 0 ? 100.0 * (double)r->done / (double)r->total : 100.0,
                   (long long)r->done, (long long)r->total);
    add_part(text, sizeof text, columns, part);
    format_left(rate > 0.0 ? (double)(r->total - r->done) / rate : 1e9, part, sizeof part);
    add_part(text, sizeof text, columns, part);
    (void)snprintf(part, sizeof part, "%.*f runs/s", rate < 9.95 ? 1 : 0, rate);
    add_part(text, sizeof text, columns, part);
    if (bad > 0) {
        (void)snprintf(part, sizeof part, "%lld failed, %lld timeout, %lld crashed",
                       (long long)r->status[PERP_RUN_FAILED],
                       (long long)r->status[PERP_RUN_TIMEOUT],
                       (long long)r->status[PERP_RUN_CRASHED]);
        add_part(text, sizeof text, columns, part);
    }
    for (int i = 0; i < PERP_SWEEP_OUTCOMES && r->outcome[i].count > 0; ++i) {
        (void)snprintf(part, sizeof part, "%.20s %lld", r->outcome[i].name,
                       (long long)r->outcome[i].count);
        add_part(text, sizeof text, columns, part);
    }
    for (char* c = text; *c != '\0'; ++c) { /* names of outcomes may hold anything */
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    }
    fprintf(stderr, "\r\033[K%s", text);
    (void)fflush(stderr);
    line->drawn = true;
    cli_line_shown(true);
}

void sweep_line_end(sweep_line* line)
{
    if (line->drawn) {
        fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
        line->drawn = false;
        cli_line_shown(false);
    }
}
