/* How fast the particle filter on perp's own steps approaches the posterior mean: reference with
 * 1e6 particles, 20 seeds. */
#include "perp/perp.h"
#include "perp_test.h"
#include "study/estimate.h"
#include "support/estimate_case.h"

#include <stdio.h>
#include <string.h>

enum { REFERENCE = 1000000, SEEDS = 20, SIZES = 4, FIRST_SIZE = 100 };

/* A particle that a force of 5 N drags over a floor; friction 0.45 of at most 0.5, so that the
 * bound cuts the posterior off. */
static const char scene[] =
    "{\"dimension\": 2, \"gravity\": [0, -9.81], \"step\": 0.1, \"duration\": 1,"
    " \"parameters\": {\"mu\": 0.2},"
    " \"bodies\": [{\"name\": \"floor\", \"type\": \"static\","
    "   \"shapes\": [{\"type\": \"halfplane\", \"normal\": [0, 1]}]},"
    "  {\"name\": \"p\", \"mass\": 1, \"shapes\": [{\"type\": \"particle\"}]}],"
    " \"friction\": {\"default\": \"mu\"},"
    " \"forces\": [{\"type\": \"wrench\", \"body\": \"p\", \"force\": [5, 0]}]}";

static const char data[] =
    "t,x\n0,0\n0.1,-0.12\n0.2,0.31\n0.3,0.05\n0.4,-0.22\n0.5,0.17\n0.6,0.36\n0.7,-0.08\n"
    "0.8,0.43\n0.9,0.02\n1,0.29\n";

/* threshold: of resampling, part of the particles. */
static double posterior_mean(int64_t particles, uint64_t seed, double threshold, double* deviation)
{
    perp_context* context = NULL;
    perp_study* study = NULL;
    perpi_answer* answer = NULL;
    char text[600];
    (void)snprintf(
        text, sizeof text,
        "{\"scene\": \"slow-scene.json\", \"data\": \"slow-data.csv\", \"time\": \"t\", "
        "\"observe\": {\"x\": \"p.position.x\"}, \"noise\": 0.3, \"start\": \"scene\", "
        "\"method\": \"particle-filter\", \"particles\": %lld, \"seed\": %llu, "
        "\"options\": {\"threshold\": %g}, \"unknown\": {\"mu\": {\"bounds\": [0, 0.5]}}}",
        (long long)particles, (unsigned long long)seed, threshold);
    double mean = NAN;
    perpi_estimate_run run = {.jobs = particles > 100000 ? 0 : 1};
    if (perp_context_create(NULL, &context) == PERP_OK &&
        perp_study_parse(context, text, strlen(text), "study.json", &study) == PERP_OK &&
        perpi_answer_create(context, study->estimate, &answer) == PERP_OK) {
        run.context = context;
        run.study = study;
        run.e = study->estimate;
        if (perpi_predictor_create(context, study, &run.predictor) == PERP_OK &&
            perpi_estimate_filter(&run, answer) == PERP_OK) {
            mean = answer->value[0];
            *deviation = sqrt(answer->covariance[0]);
        }
    }
    perpi_answer_destroy(context, answer);
    perpi_predictor_destroy(run.predictor);
    perp_study_destroy(study);
    perp_context_destroy(context);
    return mean;
}

/* The posterior by quadrature: x = (5 - mu g) t (t + h) / 2 while the particle slides, and 0 where it sticks. */
static double quadrature(void)
{
    static const double x[11] = {0, -0.12, 0.31, 0.05, -0.22, 0.17, 0.36, -0.08, 0.43, 0.02, 0.29};
    enum { POINTS = 20000 };
    double top = 0.0, bottom = 0.0;
    for (int i = 0; i < POINTS; ++i) {
        const double mu = 0.5 * (i + 0.5) / POINTS;
        const double a = 5.0 - 9.81 * mu > 0.0 ? 5.0 - 9.81 * mu : 0.0;
        double sum = 0.0;
        for (int k = 0; k < 11; ++k) {
            const double t = 0.1 * k, e = (x[k] - 0.5 * a * t * (t + 0.1)) / 0.3;
            sum -= 0.5 * e * e;
        }
        top += mu * exp(sum);
        bottom += exp(sum);
    }
    return top / bottom;
}

TEST(the_distance_from_a_reference_of_a_million_particles_shrinks_with_the_root_of_their_number)
{
    write_file("slow-scene.json", scene);
    write_file("slow-data.csv", data);
    double deviation = NAN;
    const double reference = posterior_mean(REFERENCE, 1000, 0.02, &deviation);
    const double exact = quadrature();
    printf("  reference %.9f, by quadrature %.9f, standard deviation %.6f\n", reference, exact,
           deviation);
    /* so many particles need no resampling; their effective number is a tenth or more */
    CHECK_AT_MOST(fabs(reference - exact), 5.0 * deviation / sqrt(0.1 * REFERENCE));
    double slope = 0.0;
    for (int i = 0; i < SIZES; ++i) {
        const int64_t particles = (int64_t)FIRST_SIZE << (2 * i);
        double sum = 0.0, unused;
        for (int seed = 1; seed <= SEEDS; ++seed) {
            const double off = posterior_mean(particles, (uint64_t)seed, 0.5, &unused) - reference;
            sum += off * off;
        }
        const double distance = sqrt(sum / SEEDS);
        printf("  %6lld particles: distance %.3e\n", (long long)particles, distance);
        slope += (i - 0.5 * (SIZES - 1)) * log(distance);
    }
    slope /= 5.0 * log(4.0); /* sum of (i - 3/2)^2 over four sizes */
    printf("  exponent %.3f\n", slope);
    CHECK(slope > -0.6 && slope < -0.4);
}
