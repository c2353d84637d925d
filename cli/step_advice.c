/* cli/step_advice.c - a warning where a fixed step is far too long for the bodies of a scene. */
#include <math.h>

#include "page.h"

/* |gravity| of a scene. */
static double gravity_of(const perp_scene* scene)
{
    double g[3];
    perp_model_gravity(perp_scene_model(scene), g);
    return hypot(hypot(g[0], g[1]), g[2]);
}

/* The dynamic body of the least extent; -1: none has one. */
static int32_t smallest_body(const perp_model* model, double* reach)
{
    int32_t smallest = -1;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const double own = page_reach(model, i);
        if (perp_model_body_info(model, i).type == PERP_BODY_DYNAMIC && own > 0.0 &&
            (smallest < 0 || own < *reach)) {
            smallest = i;
            *reach = own;
        }
    }
    return smallest;
}

void cli_advise_step(const perp_scene* scene)
{
    const perp_scene_run run = perp_scene_run_settings(scene);
    const perp_model* model = perp_scene_model(scene);
    double reach = 0.0;
    const int32_t body = smallest_body(model, &reach);
    if (run.error > 0.0 || body < 0) {
        return;
    }
    const double g = gravity_of(scene), fall = g * run.step * run.step;
    if (!(fall > 2.0 * reach)) {
        return;
    }
    /* a step in which a body at rest falls by 1 % of the smallest one, as a round number */
    const double wanted = sqrt(0.02 * reach / g), unit = pow(10.0, floor(log10(wanted)));
    cli_complain(
        "warning: the step of %g is long: a body falls by %.3g within one, and '%.60s' is %.3g "
        "across; try --step %g",
        run.step, fall, perp_model_body_name(model, body), 2.0 * reach,
        unit * (wanted >= 5.0 * unit   ? 5.0
                : wanted >= 2.0 * unit ? 2.0
                                       : 1.0));
}
