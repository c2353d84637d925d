/* Smoothed gradients: differences of smoothed runs, the way to the exact gradient, kinks, units, refusals. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/gradient_cases.h"
#include "support/scene_sim.h"

enum { MOST = 8 };

TEST(smoothed_gradients_agree_with_differences_of_smoothed_runs)
{
    static const double kappa[] = {1e-1, 1e-3, 1e-5};
    static gradient_case c;
    perp_context* context = NULL;
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    const char* more = getenv("PERP_CASES");
    const uint32_t cases = more != NULL ? (uint32_t)atoi(more) : 18;
    int compared = 0;
    for (uint32_t seed = 0; seed < cases; ++seed) {
        gradient_case_write(seed, false, &c);
        c.smooth = kappa[seed / GRADIENT_KINDS % 3];
        const gradient_case_result r = gradient_case_compare(context, &c);
        if (more != NULL) {
            printf("%u %s kappa %g status %d flagged %lld off %.1e %s\n", seed, c.name, c.smooth,
                   (int)r.status, (long long)r.flags.flagged, r.off,
                   r.status != PERP_OK ? perp_context_error(context) : "");
        }
        CHECK(r.status == PERP_OK);
        if (r.flags.flagged == 0) {
            compared += 1;
            CHECK_AT_MOST(r.off, 1e-6);
        }
    }
    CHECK(compared >= (int)cases * 2 / 3);
    perp_context_destroy(context);
}

