/* tests/unit/solve/second_order_cone_test.c - the algebra of the second-order cone against its
 * definitions. */
#include "perp_test.h"

#include "conform/stewart_trinkle.h"

#include <string.h>

#include "solve/interior/second_order_cone.h"

static double depth(int32_t n, const double* x)
{
    double t = 0.0;
    for (int32_t i = 1; i < n; ++i) {
        t += x[i] * x[i];
    }
    return x[0] - sqrt(t);
}

/* Inside; depth down to 1e-8 of the size, size from 1e-6 to 1e6. */
static void random_inside(uint64_t* random, int32_t n, double* x)
{
    const double size = pow(10.0, test_uniform(random, -6, 6));
    double t = 0.0;
    for (int32_t i = 1; i < n; ++i) {
        x[i] = size * test_uniform(random, -1, 1);
        t += x[i] * x[i];
    }
    x[0] = sqrt(t) + size * pow(10.0, test_uniform(random, -8, 1));
}

TEST(the_scaling_maps_x_and_z_to_the_same_point)
{
    uint64_t random = 1;
    for (int k = 0; k < 3000; ++k) {
        const int32_t n = 2 + k % 3;
        double x[4], z[4], a[4], b[4], back[4];
        perpi_soc_scaling s;
        random_inside(&random, n, x);
        random_inside(&random, n, z);
        REQUIRE(perpi_soc_scale(n, x, z, &s));
        perpi_soc_apply(n, &s, x, a);
        perpi_soc_apply_inverse(n, &s, z, b);
        perpi_soc_apply_inverse(n, &s, a, back);
        const double loss = 1e-14 * s.w[0] * s.w[0]; /* P's condition is about w_0^4 */
        for (int32_t i = 0; i < n; ++i) {
            CHECK_NEAR(a[i], b[i], 1e-12 * a[0] + loss * a[0]);
            CHECK_NEAR(back[i], x[i], 1e-12 * x[0] + loss * x[0]);
            CHECK_AT_MOST(fabs(a[i] - s.lambda[i]), 0.0);
        }
    }
    double on[3] = {1, 0.6, 0.8}, in[3] = {1, 0, 0};
    perpi_soc_scaling s;
    CHECK(!perpi_soc_scale(3, on, in, &s));
    CHECK(!perpi_soc_scale(3, in, on, &s));
    on[0] = NAN;
    CHECK(!perpi_soc_scale(3, on, in, &s));
}

TEST(division_undoes_the_product)
{
    uint64_t random = 2;
    for (int k = 0; k < 1000; ++k) {
        const int32_t n = 2 + k % 3;
        double lambda[4], d[4], c[4], back[4], t = 0.0;
        for (int32_t i = 1; i < n; ++i) {
            lambda[i] = test_uniform(&random, -1, 1);
            t += lambda[i] * lambda[i];
        }
        lambda[0] = sqrt(t) + test_uniform(&random, 0.1, 1);
        for (int32_t i = 0; i < n; ++i) {
            d[i] = test_uniform(&random, -1, 1);
        }
        perpi_soc_product(n, lambda, d, c);
        perpi_soc_divide(n, lambda, c, back);
        for (int32_t i = 0; i < n; ++i) {
            CHECK_NEAR(back[i], d[i], 1e-12);
        }
    }
}

TEST(the_longest_step_ends_on_the_boundary)
{
    uint64_t random = 3;
    int bounded = 0;
    for (int k = 0; k < 1000; ++k) {
        const int32_t n = 2 + k % 3;
        double x[4], d[4], end[4];
        random_inside(&random, n, x);
        for (int32_t i = 0; i < n; ++i) {
            d[i] = x[0] * test_uniform(&random, -1, 1);
        }
        const double t = perpi_soc_step(n, x, d);
        CHECK(t > 0.0);
        if (t == INFINITY) {
            CHECK(depth(n, d) >= -1e-12 * x[0]);
            continue;
        }
        ++bounded;
        double size = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            end[i] = x[i] + t * d[i];
            size = fmax(size, fabs(x[i]) + t * fabs(d[i]));
        }
        CHECK_NEAR(depth(n, end), 0.0, 1e-7 * size);
        for (int32_t i = 0; i < n; ++i) {
            end[i] = x[i] + 0.999 * t * d[i];
        }
        CHECK(depth(n, end) > 0.0);
    }
    CHECK(bounded > 500);
}

TEST(the_central_pair_has_the_difference_and_the_product_asked_for)
{
    uint64_t random = 4;
    for (int k = 0; k < 1000; ++k) {
        const int32_t n = 2 + k % 3;
        const double tau = pow(10.0, test_uniform(&random, -8, 2));
        double v[4] = {0}, x[4], z[4], product[4];
        for (int32_t i = 0; i < n && k > 3; ++i) {
            v[i] = test_uniform(&random, -2, 2);
        }
        perpi_soc_centre(n, v, tau, x, z);
        perpi_soc_product(n, x, z, product);
        CHECK(depth(n, x) > 0.0 && depth(n, z) > 0.0);
        for (int32_t i = 0; i < n; ++i) {
            CHECK_NEAR(x[i] - z[i], v[i], 1e-12 * (1.0 + tau));
            CHECK_NEAR(product[i], i == 0 ? tau : 0.0, 1e-13 + 1e-12 * tau);
        }
    }
}

/* Of every exponent, and numbers whose squares are subnormal, zero or infinite. */
static double any_size(uint64_t* random)
{
    return test_uniform(random, -1, 1) * pow(2.0, floor(test_uniform(random, -1074, 1023)));
}

/* The root that is not taken of a single number is the number, to the bit. */
TEST(the_length_of_one_number_is_the_root_of_its_square_to_the_bit)
{
    static const double ends[] = {0.0, -0.0, INFINITY, 1e150, 1e-150, 1e154, 1e-154, 5e-324};
    uint64_t random = 5;
    for (int32_t k = 0; k < 200000; ++k) {
        const double a = k < 8        ? ends[k]
                         : k % 2 == 0 ? any_size(&random)
                                      : test_uniform(&random, -2, 2);
        const double root = sqrt(0.0 + a * a), length = perpi_soc_norm(1, &a);
        CHECK(memcmp(&root, &length, sizeof root) == 0);
    }
    const double bad = NAN;
    CHECK(isnan(perpi_soc_norm(1, &bad)));
}

/* n as a number that the compiler does not know. */
static volatile int32_t unknown;

static void check_same(int32_t n, const double* a, const double* b)
{
    CHECK(memcmp(a, b, (size_t)n * sizeof *a) == 0);
}

/* Two rows and three are compiled with a known number of rows, others with any. */
TEST(functions_of_a_known_number_of_rows_have_the_bits_of_the_general_ones)
{
    uint64_t random = 6;
    for (int32_t k = 0; k < 3000; ++k) {
        unknown = 2 + k % 2;
        const int32_t n = unknown;
        double x[4], z[4], d[4], a[4], b[4];
        perpi_soc_scaling s = {0}, t = {0};
        random_inside(&random, n, x);
        random_inside(&random, n, z);
        for (int32_t i = 0; i < n; ++i) {
            d[i] = x[0] * test_uniform(&random, -1, 1);
        }
        REQUIRE(PERPI_BY_ROWS(perpi_soc_scale_n, n, x, z, &s));
        REQUIRE(perpi_soc_scale(unknown, x, z, &t));
        CHECK(memcmp(&s, &t, sizeof s) == 0);
        PERPI_BY_ROWS(perpi_soc_apply_n, n, &s, d, a);
        perpi_soc_apply(unknown, &s, d, b);
        check_same(n, a, b);
        PERPI_BY_ROWS(perpi_soc_apply_inverse_n, n, &s, d, a);
        perpi_soc_apply_inverse(unknown, &s, d, b);
        check_same(n, a, b);
        PERPI_BY_ROWS(perpi_soc_divide_by, n, s.lambda, s.root, s.unit[0], d, a);
        perpi_soc_divide(unknown, s.lambda, d, b);
        check_same(n, a, b);
        const double step = perpi_soc_step(unknown, s.lambda, d);
        const double most[] = {INFINITY, 1e30, step, 0.5 * step, 1.0000001 * step, 1.0};
        for (int32_t i = 0; i < 6; ++i) {
            const double least = step < most[i] ? step : most[i];
            const double within = PERPI_BY_ROWS(perpi_soc_step_within, n, &s, d, most[i]);
            CHECK(memcmp(&least, &within, sizeof least) == 0);
        }
    }
}
