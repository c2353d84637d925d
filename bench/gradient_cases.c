/* bench/gradient_cases.c - gradients of random scenes against central differences of whole runs.
 *
 *     gradient_cases [--robots N] [--seed FIRST] [--json FILE]
 *
 * --robots: instead N scenes with what robots have (gears, rotors, controllers, joint_correction, impacts), from seed FIRST on.
 *
 * Scenes are drawn until 200 have no flagged step: spheres, boxes, chains of joints with motors and
 * limits, shaken plates, carts; every tenth has 20 to 50 bodies and up to 500 steps. Disagreement:
 * the largest over the parameters, relative to the largest derivative. A change is one of the state
 * (open, sticks, slides) of a contact.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "perp/perp.h"
#include "support/gradient_cases.h"

enum { CASES = 200, DRAWN = 800, LARGE_EVERY = 10 };

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* Scenes of robots: those that disagree are printed. Differences that are no better than 1e-7
 * themselves tell nothing. */
static void compare_robots(perp_context* context, uint32_t first, int count, table* t)
{
    static gradient_case c;
    static const char* const outcome[] = {"failed", "flagged", "of noisy differences",
                                          "within 1e-6", "beyond 1e-6"};
    int by_kind[GRADIENT_ROBOT_KINDS][5] = {{0}}, changing = 0;
    double worst = 0.0;
    for (uint32_t seed = first; seed < first + (uint32_t)count; ++seed) {
        gradient_case_write_robot(seed, &c);
        const gradient_case_result r = gradient_case_compare(context, &c);
        const bool beyond = !(r.off <= 1e-6);
        const int which = r.status != PERP_OK        ? 0
                          : r.flags.flagged > 0      ? 1
                          : beyond && r.noise > 1e-7 ? 2
                          : !beyond                  ? 3
                                                     : 4;
        by_kind[c.kind][which] += 1;
        changing += which == 3 && r.changes > 0;
        worst = which == 3 && r.off > worst ? r.off : worst;
        if (which == 0 || which == 4) {
            fprintf(stderr, "gradient_cases: seed %u (%s): %s %.2e (differences %.0e)\n", seed,
                    c.name, which == 0 ? perp_context_error(context) : "off by", r.off, r.noise);
        }
    }
    for (int k = 0; k < GRADIENT_ROBOT_KINDS; ++k) {
        gradient_case_write_robot((uint32_t)k, &c);
        for (int i = 0; i < 5; ++i) {
            char label[80];
            (void)snprintf(label, sizeof label, "%s, %s", c.name, outcome[i]);
            table_add(t, label, by_kind[k][i], "scenes");
        }
    }
    table_add(t, "within 1e-6, whose contacts change", changing, "scenes");
    table_add(t, "largest disagreement of these", worst, "");
}

/* The number after an option; both are removed from the arguments. 0: it is not there. */
static int take_number(int* argc, char** argv, const char* option)
{
    for (int i = 1; i + 1 < *argc; ++i) {
        if (strcmp(argv[i], option) == 0) {
            const int value = atoi(argv[i + 1]);
            for (int k = i; k + 2 <= *argc; ++k) {
                argv[k] = argv[k + 2];
            }
            *argc -= 2;
            return value;
        }
    }
    return 0;
}

int main(int argc, char** argv)
{
    static gradient_case c;
    static double off[CASES];
    const int robots = take_number(&argc, argv, "--robots"),
              first = take_number(&argc, argv, "--seed");
    table t = table_begin("gradient_cases", argc, argv);
    perp_context* context = NULL;
    int compared = 0, flagged = 0, failed = 0, changing = 0, within = 0, changing_within = 0;
    int by_kind[GRADIENT_KINDS] = {0}, large_compared = 0;
    const char* name[GRADIENT_KINDS] = {0};
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    if (robots > 0) {
        compare_robots(context, first > 0 ? (uint32_t)first : 1, robots, &t);
        perp_context_destroy(context);
        return table_end(&t);
    }
    for (uint32_t seed = 1; seed <= DRAWN && compared < CASES; ++seed) {
        const bool large = seed % LARGE_EVERY == 0;
        gradient_case_write(large ? seed / LARGE_EVERY : seed, large, &c);
        const gradient_case_result r = gradient_case_compare(context, &c);
        name[c.kind] = c.name;
        if (r.status != PERP_OK) {
            fprintf(stderr, "gradient_cases: seed %u (%s): %s\n", seed, c.name,
                    perp_context_error(context));
            ++failed;
        } else if (r.flags.flagged > 0) {
            ++flagged;
        } else {
            const bool good = r.off <= 1e-6;
            off[compared++] = isnan(r.off) ? INFINITY : r.off;
            within += good;
            changing += r.changes > 0;
            changing_within += good && r.changes > 0;
            by_kind[c.kind] += 1;
            large_compared += large;
            if (!good) {
                fprintf(stderr,
                        "gradient_cases: seed %u (%s%s, %d bodies, %lld changes): off by %.2e\n",
                        seed, large ? "large, " : "", c.name, c.bodies, (long long)r.changes,
                        r.off);
            }
        }
    }
    qsort(off, (size_t)compared, sizeof *off, ascending);
    table_add(&t, "scenes without flagged steps", compared, "");
    for (int k = 0; k < GRADIENT_KINDS; ++k) {
        table_add(&t, name[k] != NULL ? name[k] : "none", by_kind[k], "scenes");
    }
    table_add(&t, "of 20 to 50 bodies", large_compared, "scenes");
    table_add(&t, "flagged, not compared", flagged, "scenes");
    table_add(&t, "failed", failed, "scenes");
    table_add(&t, "whose contacts change their states", changing, "scenes");
    table_add(&t, "within 1e-6 of differences", within, "scenes");
    table_add(&t, "of those that change", changing_within, "scenes");
    for (int q = 50; compared > 0 && q <= 100; q += q < 90 ? 40 : 5) {
        char label[40];
        (void)snprintf(label, sizeof label, "disagreement, %d %% are below", q);
        table_add(&t, label, off[(compared - 1) * q / 100], "");
    }
    perp_context_destroy(context);
    return table_end(&t);
}
