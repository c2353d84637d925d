/* bench/throws.c - bodies thrown at plates: how many end on the wrong side of the plate, and how many fail.
 *
 * One line per dimension, shape, contact model and stepper: runs, runs that ended on the wrong side, runs
 * that failed with a message, the deepest overlap (in sizes of the body or thicknesses of the plate, the
 * smaller) and the largest growth of the energy (over the kinetic energy of the throw).
 *
 * usage: throws [--json FILE] [--runs N] [--first N] [--show] --show: print every throw that fails
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "support/throws.h"

typedef struct tally {
    int runs, wrong, failed;
    double deepest, growth;
} tally;

static tally all[2][THROW_SHAPES][THROW_MODELS][THROW_STEPPERS];

static void count(tally* t, const throw_result* r)
{
    t->runs += 1;
    t->wrong += r->end == THROW_WRONG_SIDE;
    t->failed += r->end == THROW_FAILED;
    t->deepest = fmax(t->deepest, r->deepest);
    t->growth = fmax(t->growth, r->growth);
}

static void print(const char* what, const tally* t)
{
    printf("%-52s %6d %6d %6d  %9.2g %9.2g\n", what, t->runs, t->wrong, t->failed, t->deepest,
           t->growth);
}

int main(int argc, char** argv)
{
    long runs = 20000, first = 0;
    int show = 0, kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            runs = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc) {
            first = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--show") == 0) {
            show = 1;
        } else {
            argv[kept++] = argv[i];
        }
    }
    table t = table_begin("throws", kept, argv);
    tally sum = {0}, fixed = {0};
    for (long i = first; i < first + runs; ++i) {
        const throw_case c = throw_make((uint64_t)i);
        const throw_result r = throw_run(&c);
        count(&all[c.dimension - 2][c.shape][c.model][c.stepper], &r);
        count(&sum, &r);
        if (c.stepper != THROW_ADAPTIVE) {
            count(&fixed, &r);
        }
        if (show && (r.end != THROW_FINE || r.growth > 0.1)) {
            printf("throw %ld: %s, height %.3g, growth %.2g, %s\n  %s\n", i,
                   r.end == THROW_FINE         ? "gains energy"
                   : r.end == THROW_WRONG_SIDE ? "wrong side"
                                               : "failed",
                   r.height, r.growth, r.message, c.scene);
        }
    }
    printf("%-52s %6s %6s %6s  %9s %9s\n", "", "runs", "wrong", "failed", "deepest", "energy");
    for (int i = 0; i < 2 * THROW_SHAPES * THROW_MODELS * THROW_STEPPERS; ++i) {
        const int stepper = i % THROW_STEPPERS, model = i / THROW_STEPPERS % THROW_MODELS;
        const int shape = i / (THROW_STEPPERS * THROW_MODELS) % THROW_SHAPES;
        const int d = i / (THROW_STEPPERS * THROW_MODELS * THROW_SHAPES);
        char name[128];
        snprintf(name, sizeof name, "%d %s %s %s", 2 + d, throw_shape_name[shape],
                 throw_model_name[model], throw_stepper_name[stepper]);
        if (all[d][shape][model][stepper].runs > 0) {
            print(name, &all[d][shape][model][stepper]);
        }
    }
    print("all but adaptive steps", &fixed);
    print("all", &sum);
    table_add(&t, "runs", sum.runs, "");
    table_add(&t, "wrong side, fixed steps", fixed.wrong, "");
    table_add(&t, "failed, fixed steps", fixed.failed, "");
    table_add(&t, "wrong side, adaptive steps", sum.wrong - fixed.wrong, "");
    table_add(&t, "failed, adaptive steps", sum.failed - fixed.failed, "");
    return table_end(&t);
}
