/* bench/common/toss.c - see toss.h. */
#include "common/toss.h"

#include <math.h>

perp_status toss_run(perp_context* context, perp_model* model, double duration, toss_sum* sum)
{
    perp_sim_def def = perp_sim_def_default();
    def.contact = "peg";
    def.duration = duration;
    perp_sim* sim = NULL;
    perp_status status = perp_sim_create(context, model, &def, &sim);
    bool met = false;
    double deepest = 0.0;
    while (status == PERP_OK && !perp_sim_finished(sim)) {
        const double begin = table_seconds();
        if (perp_sim_step(sim) != PERP_OK) {
            sum->failed += 1;
            break;
        }
        sum->seconds += table_seconds() - begin;
        const perp_step_info info = perp_sim_step_info(sim);
        double depth = 0.0;
        status = perp_sim_penetration(sim, &depth);
        deepest = fmax(deepest, depth);
        met = met || info.contacts > 0;
        sum->steps += 1;
        sum->contacts += info.candidates;
        sum->fallbacks += info.fallbacks;
    }
    sum->met += met;
    sum->deepest = fmax(sum->deepest, deepest);
    sum->deep += deepest > 0.05;
    perp_sim_destroy(sim);
    return status;
}

void toss_report(table* t, const toss_sum* sum, const char* step)
{
    table_add(t, "tosses that met, of 10,000", (double)sum->met, "");
    table_add(t, "tosses that went through (deeper than 0.05)", (double)sum->deep, "");
    table_add(t, "deepest overlap", sum->deepest, "m");
    table_add(t, "fallbacks", (double)sum->fallbacks, "");
    table_add(t, "steps that failed", (double)sum->failed, "");
    table_add(t, step, 1e6 * sum->seconds / (double)sum->steps, "us");
    table_add(t, "contacts found", (double)sum->contacts / sum->seconds, "1/s");
}
