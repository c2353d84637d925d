/* bench/common/toss.h - tosses of two bodies at each other with `peg`: what they meet, and what it costs. */
#ifndef BENCH_TOSS_H
#define BENCH_TOSS_H

#include "common/table.h"
#include "perp/perp.h"

/* Of all tosses so far. deep: those with an overlap above 0.05 m, which went through. */
typedef struct toss_sum {
    double deepest, seconds;
    long steps, contacts, met, fallbacks, failed, deep;
} toss_sum;

/* Runs the model and adds what happened. A step that fails ends the toss and is counted. */
PERP_NODISCARD perp_status toss_run(perp_context* context, perp_model* model, double duration,
                                    toss_sum* sum);
/* step: the name of the time of a step. */
void toss_report(table* t, const toss_sum* sum, const char* step);

#endif
