/* src/solve/splitting/splitting.c - see splitting.h: the loop of all splitting methods. */
#include "solve/splitting/splitting.h"

#include <math.h>
#include <stdio.h>

#include "solve/monitor.h"

enum { CHECK_EVERY = 16 };

void perpi_splitting_run(const perpi_sweeper* sweeper, const perpi_splitting_settings* set,
                         const perp_solve_options* options, perp_report* report)
{
    const int32_t limit = options->max_iter > 0 ? options->max_iter
                          : set->simultaneous   ? 100000
                                                : 10000;
    const perpi_clock clock = perpi_clock_start(options->time_limit);
    const bool by_change = set->check_every == 0;
    report->outcome = PERP_OUTCOME_MAX_ITER;
    report->iterations = 0;
    report->detail[0] = '\0';
    for (int32_t sweep = 1; sweep <= limit; ++sweep) {
        double moved = 0.0, largest = 0.0;
        sweeper->sweep(sweeper->self, &moved, &largest);
        report->iterations = sweep;
        if (!isfinite(moved)) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail, "the sweeps diverge");
            return;
        }
        const bool look = by_change ? moved <= set->change * largest
                                    : sweep % set->check_every == 0 || sweep == limit;
        if (look || (by_change && options->log != NULL)) {
            const double residual = sweeper->check_residual(sweeper->self);
            perpi_monitor_log(options, sweep, residual);
            if (look && residual <= options->tolerance) {
                report->outcome = PERP_OUTCOME_SOLVED;
                return;
            }
            if (!isfinite(residual)) {
                report->outcome = PERP_OUTCOME_BREAKDOWN;
                snprintf(report->detail, sizeof report->detail, "the sweeps diverge");
                return;
            }
        }
        if (moved == 0.0) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail,
                     "the sweeps stalled above the tolerance");
            return;
        }
        if (by_change ? sweep % CHECK_EVERY != 0 : !look) {
            continue;
        }
        const perp_outcome interrupt = perpi_monitor_interrupt(options, &clock);
        if (interrupt != PERP_OUTCOME_UNSET) {
            report->outcome = interrupt;
            return;
        }
    }
}

perp_status perpi_splitting_create(perp_context* context, const void* settings, void** self)
{
    perpi_splitting* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->rows.context = s->contact.context = context;
        s->rows.set = s->contact.set = *(const perpi_splitting_settings*)settings;
        s->rows.set.check_every = 0; /* there the change of a sweep is measured */
        *self = s;
    }
    return status;
}

void perpi_splitting_destroy(void* self)
{
    perpi_splitting* s = self;
    if (s == NULL) {
        return;
    }
    void* const owned[] = {s->rows.vector,  s->rows.start,      s->rows.column, s->rows.value,
                           s->contact.room, s->contact.Y,       s->contact.W,   s->contact.next,
                           s->contact.work, s->contact.touching};
    perp_context* context = s->rows.context;
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_free(context, s);
}
