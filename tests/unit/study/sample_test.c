/* Draws of a study: published answers, closed-form moments, stratification. */
#include "perp_test.h"
#include "study/philox.h"
#include "study/sample.h"
#include "study/sobol_table.h"

/* The vectors that Random123 1.14 distributes in tests/kat_vectors. */
TEST(philox_gives_the_published_answers)
{
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const perpi_philox r = perpi_philox4x32(known[i].counter, known[i].key);
        for (int k = 0; k < 4; ++k) {
            CHECK_EQ_U64(r.v[k], known[i].answer[k]);
        }
    }
}

/* The first eight points in three dimensions as Joe and Kuo print them, in the order of the index (they list
 * them in Gray-code order, which exchanges points within each power of two). */
TEST(sobol_points_are_the_published_ones)
{
    static const double point[8][3] = {
        {0, 0, 0},
        {0.5, 0.5, 0.5},
        {0.25, 0.75, 0.75},
        {0.75, 0.25, 0.25},
        {0.125, 0.625, 0.375},
        {0.625, 0.125, 0.875},
        {0.375, 0.375, 0.625},
        {0.875, 0.875, 0.125},
    };
    for (uint32_t i = 0; i < 8; ++i) {
        for (int32_t d = 0; d < 3; ++d) {
            CHECK_NEAR(perpi_sobol(i, d) * 0x1p-32, point[i][d], 0.0);
        }
    }
}

/* In every dimension, each aligned block of 2^k points has one point in every interval of length 2^-k. */
TEST(sobol_points_are_stratified_in_every_dimension)
{
    enum { N = 256 };
    for (int32_t d = 0; d < PERPI_SOBOL_DIMENSIONS; ++d) {
        bool seen[N] = {false};
        int distinct = 0;
        for (uint32_t i = 0; i < N; ++i) {
            const uint32_t cell = perpi_sobol(N + i, d) >> 24;
            distinct += !seen[cell];
            seen[cell] = true;
        }
        CHECK_EQ_INT(distinct, N);
    }
}

static const perpi_sampling methods[] = {PERPI_SAMPLING_RANDOM, PERPI_SAMPLING_SOBOL,
                                         PERPI_SAMPLING_LATIN_HYPERCUBE};

TEST(draws_are_uniform_by_mean_variance_and_kolmogorov_smirnov)
{
    enum { N = 4096, CELLS = 64 };
    for (size_t m = 0; m < 3; ++m) {
        for (int32_t variable = 0; variable < 5; ++variable) {
            double sum = 0.0, square = 0.0;
            int count[CELLS] = {0};
            for (int64_t k = 0; k < N; ++k) {
                const perpi_draw draw = {.seed = 7, .block = 3, .trial = k, .trials = N};
                const double u = perpi_sample(methods[m], &draw, variable);
                CHECK(u > 0.0 && u < 1.0);
                sum += u;
                square += (u - 0.5) * (u - 0.5);
                count[(int)(u * CELLS)] += 1;
            }
            /* five standard deviations of independent draws; the other methods are nearer */
            CHECK_NEAR(sum / N, 0.5, 5.0 / sqrt(12.0 * N));
            CHECK_NEAR(square / N, 1.0 / 12.0, 5.0 * sqrt(1.0 / 180.0 / N));
            /* the distribution function at 64 points; 1.95 / sqrt(n) is exceeded once in a thousand */
            int below = 0;
            for (int i = 0; i < CELLS; ++i) {
                below += count[i];
                CHECK_NEAR(below / (double)N, (i + 1) / (double)CELLS, 1.95 / sqrt(N));
            }
        }
    }
}

TEST(variables_blocks_and_seeds_are_independent)
{
    enum { N = 4096 };
    for (size_t m = 0; m < 3; ++m) {
        double by_variable = 0.0, by_block = 0.0, by_seed = 0.0;
        for (int64_t k = 0; k < N; ++k) {
            const perpi_draw draw = {.seed = 7, .block = 3, .trial = k, .trials = N};
            perpi_draw block = draw, seed = draw;
            block.block = 4;
            seed.seed = 8;
            const double u = perpi_sample(methods[m], &draw, 0) - 0.5;
            by_variable += u * (perpi_sample(methods[m], &draw, 1) - 0.5);
            by_block += u * (perpi_sample(methods[m], &block, 0) - 0.5);
            by_seed += u * (perpi_sample(methods[m], &seed, 0) - 0.5);
        }
        CHECK_NEAR(12.0 * by_variable / N, 0.0, 5.0 / sqrt(N));
        if (methods[m] != PERPI_SAMPLING_SOBOL) { /* shifts of one sequence are correlated */
            CHECK_NEAR(12.0 * by_block / N, 0.0, 5.0 / sqrt(N));
            CHECK_NEAR(12.0 * by_seed / N, 0.0, 5.0 / sqrt(N));
        }
    }
}

TEST(a_latin_hypercube_has_one_draw_in_every_stratum)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 17, 100, 252, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const int64_t n = sizes[s];
        for (int32_t variable = 0; variable < 4; ++variable) {
            bool seen[1000] = {false};
            int64_t distinct = 0;
            for (int64_t k = 0; k < n; ++k) {
                const perpi_draw draw = {.seed = 1, .block = 11, .trial = k, .trials = n};
                const double u = perpi_sample(PERPI_SAMPLING_LATIN_HYPERCUBE, &draw, variable);
                const int64_t stratum = (int64_t)(u * (double)n);
                REQUIRE(stratum >= 0 && stratum < n);
                distinct += !seen[stratum];
                seen[stratum] = true;
            }
            CHECK_EQ_INT(distinct, n);
        }
    }
}

/* Values of the quantile in 20 digits (Wichura's own, and erf by series), and the round trip. */
TEST(the_normal_quantile_inverts_the_distribution_function)
{
    CHECK_NEAR(perpi_normal_quantile(0.25), -0.6744897501960817, 1e-15);
    CHECK_NEAR(perpi_normal_quantile(0.001), -3.090232306167814, 4e-15);
    CHECK_NEAR(perpi_normal_quantile(1e-20), -9.262340089798408, 1e-14);
    CHECK_NEAR(perpi_normal_quantile(0.5), 0.0, 0.0);
    for (double p = 1e-12; p < 1.0; p = p < 0.01 ? 3.0 * p : p + 0.01) {
        CHECK_NEAR(0.5 * erfc(-perpi_normal_quantile(p) / sqrt(2.0)) / p, 1.0, 1e-13);
    }
}
