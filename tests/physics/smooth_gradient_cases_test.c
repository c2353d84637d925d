/* Smoothed gradients agree with differences of smoothed runs, in each kind of scene with a large
 * or a small barrier parameter (all: with both). */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/gradient_cases.h"

TEST(smoothed_gradients_agree_with_differences_of_smoothed_runs)
{
    static const double kappa[] = {1e-1, 1e-5};
    static gradient_case c;
    perp_context* context = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    for (uint32_t seed = 0; seed < 2 * GRADIENT_KINDS; ++seed) {
        if (!perp_test_full() && (seed + seed / GRADIENT_KINDS) % 2 != 0) {
            continue;
        }
        gradient_case_write(seed, false, &c);
        c.smooth = kappa[seed / GRADIENT_KINDS];
        const gradient_case_result r = gradient_case_compare(context, &c);
        CHECK_OK(r.status);
        CHECK_EQ_INT(r.flags.flagged, 0);
        CHECK_AT_MOST(r.off, 1e-6);
    }
    perp_context_destroy(context);
}
