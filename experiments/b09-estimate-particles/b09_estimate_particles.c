/* experiments/b09-estimate-particles - [B09 table 7.2]: friction of several particles, each with
 * its own coefficient.
 *
 * Heights in [0, 5], places in [-10, 10], mu in (0, 0.5], noise 0.005; the start is known. 2, 3, 5
 * and 10 particles as in the paper, whose unknowns include the noise of each measurement (1003 n;
 * ours are 805 n), and 100 beyond it. `--quick`: without the 100.
 */
#include <math.h>
#include <stdlib.h>

#include "common/particles.h"

enum { MOST = 100 };

static const struct {
    int count;
    double error, objective; /* NAN: not in the paper */
    int iterations;
} printed[] = {{2, 0.0, 4.09e-3, 334},
               {3, 0.0, 4.95e-3, 185},
               {5, 6e-6, 1.05e-2, 364},
               {10, 7.2e-6, 1.66e-2, 281},
               {MOST, NAN, NAN, 0}};

/* A fixed sequence in [0, 1). */
static double random_at(unsigned i)
{
    unsigned x = i * 2654435761u + 97u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)(x >> 8) / 16777216.0;
}

static void run_size(perp_context* context, report* r, FILE* table, size_t row)
{
    double mu[MOST], height[MOST], place[MOST];
    char name[64];
    const int n = printed[row].count;
    for (int i = 0; i < n; ++i) {
        mu[i] = 0.5 * (1.0 - random_at(3u * (unsigned)i));
        height[i] = 5.0 * random_at(3u * (unsigned)i + 1u);
        place[i] = -10.0 + 20.0 * random_at(3u * (unsigned)i + 2u);
    }
    (void)snprintf(name, sizeof name, "particles-%d", n);
    const particles_def def = {.name = name,
                               .count = n,
                               .mu = mu,
                               .height = height,
                               .place = place,
                               .noise = 0.005,
                               .seed = (unsigned)n};
    particles_write(context, r, &def);
    const particles_found a = particles_estimate(context, r, &def, "mpec", false);
    const particles_found b = particles_estimate(context, r, &def, "shooting", false);
    char what[96];
    (void)snprintf(what, sizeof what, "rms-error-%d-mpec", n);
    report_add(r, what, printed[row].error, 0.0, a.rms, 1e-5);
    (void)snprintf(what, sizeof what, "rms-error-%d-shooting", n); /* it can end beside the best */
    report_note(r, what, b.rms);
    (void)snprintf(what, sizeof what, "solved-%d", n);
    report_add(r, what, 1.0, 1.0, a.solved, 0.0);
    (void)snprintf(what, sizeof what, "iterations-%d", n);
    report_add(r, what, printed[row].iterations, 0.0, (double)a.iterations, 443.0);
    (void)snprintf(what, sizeof what, "cpu-seconds-%d-mpec", n);
    report_note(r, what, a.seconds);
    fprintf(
        table,
        "%4d particles  paper: rms %-8g objective %-8g iterations %-4d  mpec: rms %.3g objective "
        "%.4g iterations %lld, %.2f s  shooting: rms %.3g objective %.4g iterations %lld, "
        "%.2f s\n",
        n, printed[row].error, printed[row].objective, printed[row].iterations, a.rms, a.squares,
        a.iterations, a.seconds, b.rms, b.squares, b.iterations, b.seconds);
    fflush(table);
}

int main(int argc, char** argv)
{
    report r;
    perp_context* context = NULL;
    const bool quick = study_option(&argc, argv, "--quick");
    report_begin(&r, "b09-estimate-particles", argc, argv);
    study_require(NULL, perp_context_create(NULL, &context));
    FILE* table = report_file(&r, "table-7.2.txt");
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; ++i) {
        if (!quick || printed[i].count < MOST) {
            run_size(context, &r, table, i);
        }
    }
    fclose(table);
    perp_context_destroy(context);
    return report_end(&r);
}
