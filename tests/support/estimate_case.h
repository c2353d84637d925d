/* tests/support/estimate_case.h - what tests of estimates share: files, and the particle of [B09
 * 7.6.1]. Include perp_test.h first. */
#ifndef PERP_TEST_ESTIMATE_CASE_H
#define PERP_TEST_ESTIMATE_CASE_H

#include <stdio.h>

static inline void write_file(const char* path, const char* text)
{
    FILE* f = fopen(path, "w");
    REQUIRE(f != NULL);
    REQUIRE(fputs(text, f) >= 0);
    REQUIRE(fclose(f) == 0);
}

/* It falls, lands at t = 0.75 and slides. */
#define PARTICLE_SCENE                                                                             \
    "{\"dimension\": 2, \"gravity\": [0, \"-g\"], \"step\": 0.05, \"duration\": 5,"                \
    " \"parameters\": {\"mu\": 0.2, \"g\": 9.81},"                                                 \
    " \"bodies\": [{\"name\": \"floor\", \"type\": \"static\","                                    \
    "   \"shapes\": [{\"type\": \"halfplane\", \"normal\": [0, 1]}]},"                             \
    "  {\"name\": \"p\", \"mass\": 1, \"position\": [0, 3], \"shapes\": [{\"type\": "              \
    "\"particle\"}]}],"                                                                            \
    " \"friction\": {\"default\": \"mu\"},"                                                        \
    " \"forces\": [{\"type\": \"wrench\", \"body\": \"p\", \"force\": [5, 0]}]}"
#define PARTICLE_STEP 0.05

/* What the scheme gives after so many steps: free flight, a step that stops the fall, sliding. */
static inline void particle_path(int steps, double mu, double g, double* x, double* y)
{
    double v = 0.0, w = 0.0;
    const double h = PARTICLE_STEP;
    *x = 0.0;
    *y = 3.0;
    for (int i = 0; i < steps; ++i) {
        double push = 0.0; /* impulse of the floor */
        w -= h * g;
        if (*y + h * w < 0.0) {
            push = -*y / h - w;
            w = -*y / h;
        }
        v += 5.0 * h;
        const double slow = mu * push;
        v = v > slow ? v - slow : 0.0;
        *x += h * v;
        *y += h * w;
    }
}

#endif
