/* experiments/design-push - a flat part on three points, pushed to a goal pose in one go.
 *
 * A round pusher moves along a bent path from rest to rest. Three numbers of the final pose are
 * wanted, five of the push are unknown (push.json), so that there are many pushes that reach the
 * goal; design-robust chooses among them. Each method of `perp design` from the same start, the
 * optimum again with half the step.
 *
 * --full: all methods; else Nelder-Mead alone.
 */
#include <math.h>

#include "common/push.h"

int main(int argc, char** argv)
{
    static const char folder[] = "experiments/design-push";
    static const char* const study[] = {"push-nelder-mead", "push-sbplx", "push-bobyqa",
                                        "push-cma-es"};
    report r;
    perp_context* context = NULL;
    const bool full = study_option(&argc, argv, "--full");
    report_begin(&r, "design-push", argc, argv);
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    push_draw_goal(&r);
    perp_scene* scene = design_scene(context, folder, "push");
    push_draw(context, scene, &r, "start");
    for (size_t i = 0; i < (full ? sizeof study / sizeof study[0] : 1); ++i) {
        const design_found found = design_search(context, &r, folder, study[i], NAN);
        perp_study* s = design_load(context, folder, study[i]);
        design_report(&r, study[i], s, &found);
        perp_study_destroy(s);
        if (i == 0) {
            report_add(&r, "Nelder-Mead: the goal is missed by (mm)", NAN, 0.0,
                       found.report.best_value, 0.1);
            report_add(&r, "Nelder-Mead: with half the step (mm)", NAN, 0.0,
                       found.report.half_value, 1.0);
        }
        push_set(context, scene, found.best);
        push_draw(context, scene, &r, study[i]);
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return report_end(&r);
}
