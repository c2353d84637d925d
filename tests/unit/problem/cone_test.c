/* Friction sets: exact directions, and projections against brute force and the optimality test. */
#include "perp_test.h"

#include "problem/cone.h"

static uint64_t seed = 7;
static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0;
}

TEST(directions_are_unit_vectors_at_equal_angles)
{
    for (int32_t nd = 2; nd <= 65; ++nd) {
        for (int32_t j = 0; j < nd; ++j) {
            double d[2];
            perpi_polygon_direction(nd, j, d);
            const double angle = 2.0 * acos(-1.0) * j / nd;
            CHECK_NEAR(d[0], cos(angle), 4e-15);
            CHECK_NEAR(d[1], sin(angle), 4e-15);
            CHECK_NEAR(hypot(d[0], d[1]), 1.0, 3e-16);
        }
    }
}

TEST(directions_are_exact_where_mathematics_is_and_opposite_in_pairs)
{
    double d[2], o[2];
    perpi_polygon_direction(4, 1, d);
    CHECK(d[0] == 0.0 && !signbit(d[0]) && d[1] == 1.0);
    perpi_polygon_direction(4, 2, d);
    CHECK(d[0] == -1.0 && d[1] == 0.0 && !signbit(d[1]));
    perpi_polygon_direction(2, 1, d);
    CHECK(d[0] == -1.0 && d[1] == 0.0);
    perpi_polygon_direction(12, 1, d);
    CHECK(d[1] == 0.5);
    perpi_polygon_direction(6, 1, d);
    CHECK(d[0] == 0.5);
    perpi_polygon_direction(8, 3, d);
    CHECK(d[0] == -d[1]);
    for (int32_t nd = 2; nd <= 64; nd += 2) {
        for (int32_t j = 0; j < nd / 2; ++j) {
            perpi_polygon_direction(nd, j, d);
            perpi_polygon_direction(nd, j + nd / 2, o);
            CHECK(d[0] == -o[0] && d[1] == -o[1]);
        }
    }
}

/* y is the projection of x onto the polygon iff y is inside and (x - y).(corner - y) <= 0 for every
 * corner: the optimality condition of a convex projection. */
TEST(the_projection_onto_a_polygon_meets_the_optimality_condition)
{
    const int32_t sides[] = {3, 4, 5, 6, 7, 8, 16, 33};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        const int32_t nd = sides[s];
        for (int trial = 0; trial < 3000; ++trial) {
            const double r = 0.7, x[2] = {2.0 * uniform(), 2.0 * uniform()};
            double y[2];
            perpi_project_polygon(nd, r, x, y);
            for (int32_t j = 0; j < nd; ++j) {
                double d[2], e[2];
                perpi_polygon_direction(nd, j, d);
                perpi_polygon_direction(nd, (j + 1) % nd, e);
                const double product =
                    (x[0] - y[0]) * (r * d[0] - y[0]) + (x[1] - y[1]) * (r * d[1] - y[1]);
                CHECK_AT_MOST(product, 1e-14);
                /* inside: left of every edge */
                const double side =
                    (e[0] - d[0]) * (y[1] - r * d[1]) - (e[1] - d[1]) * (y[0] - r * d[0]);
                CHECK_AT_MOST(-side, 1e-15);
            }
        }
    }
}

TEST(no_sampled_point_of_the_polygon_is_nearer_than_the_projection)
{
    const int32_t nd = 5;
    for (int trial = 0; trial < 200; ++trial) {
        const double x[2] = {2.0 * uniform(), 2.0 * uniform()};
        double y[2], best = INFINITY;
        perpi_project_polygon(nd, 1.0, x, y);
        for (int32_t j = 0; j < nd; ++j) {
            double a[2], b[2];
            perpi_polygon_direction(nd, j, a);
            perpi_polygon_direction(nd, (j + 1) % nd, b);
            for (int i = 0; i <= 400; ++i) { /* fans from the centre cover the inside too */
                for (int k = 0; k <= 10; ++k) {
                    const double t = i / 400.0, f = k / 10.0;
                    const double q[2] = {f * (a[0] + t * (b[0] - a[0])),
                                         f * (a[1] + t * (b[1] - a[1]))};
                    const double distance = hypot(x[0] - q[0], x[1] - q[1]);
                    best = distance < best ? distance : best;
                }
            }
        }
        CHECK_AT_MOST(hypot(x[0] - y[0], x[1] - y[1]), best + 1e-15);
    }
}

TEST(points_of_the_set_and_pushed_corners_project_exactly)
{
    for (int32_t nd = 3; nd <= 16; ++nd) {
        for (int32_t j = 0; j < nd; ++j) {
            double d[2], y[2];
            perpi_polygon_direction(nd, j, d);
            const double out[2] = {2.5 * d[0], 2.5 * d[1]}, in[2] = {0.1 * d[0], 0.1 * d[1]};
            perpi_project_polygon(nd, 0.75, out, y);
            CHECK(y[0] == 0.75 * d[0] && y[1] == 0.75 * d[1]);
            perpi_project_polygon(nd, 0.75, in, y);
            CHECK(y[0] == in[0] && y[1] == in[1]);
        }
    }
}

TEST(a_ball_an_interval_and_an_empty_radius_project_as_they_should)
{
    const double x[3] = {3.0, 4.0, 12.0};
    double y[3];
    perpi_project_ball(3, 6.5, x, y);
    CHECK_NEAR(y[0], 1.5, 1e-15);
    CHECK_NEAR(y[1], 2.0, 1e-15);
    CHECK_NEAR(y[2], 6.0, 1e-15);
    perpi_project_ball(2, 5.0, x, y);
    CHECK(y[0] == 3.0 && y[1] == 4.0);
    perpi_project_ball(1, 0.3, x, y);
    CHECK(y[0] == 0.3);
    perpi_project_ball(1, 0.3, (const double[]){-7.0}, y);
    CHECK(y[0] == -0.3);
    perpi_project_ball(2, 0.0, x, y);
    CHECK(y[0] == 0.0 && y[1] == 0.0);
    perpi_project_polygon(4, -1.0, x, y);
    CHECK(y[0] == 0.0 && y[1] == 0.0);
}

TEST(weights_rebuild_the_vector_from_at_most_two_neighbours)
{
    for (int32_t nd = 3; nd <= 17; ++nd) {
        for (int trial = 0; trial < 200; ++trial) {
            const double x[2] = {uniform(), uniform()};
            double beta[17], y[2] = {0, 0}, total = 0.0;
            const double sum = perpi_polygon_weights(2, nd, x, beta);
            int positive = 0;
            for (int32_t j = 0; j < nd; ++j) {
                double d[2];
                perpi_polygon_direction(nd, j, d);
                CHECK(beta[j] >= 0.0);
                positive += beta[j] > 0.0;
                total += beta[j];
                y[0] += beta[j] * d[0];
                y[1] += beta[j] * d[1];
            }
            CHECK(positive == 2);
            CHECK_NEAR(total, sum, 1e-15);
            CHECK_NEAR(y[0], x[0], 1e-14);
            CHECK_NEAR(y[1], x[1], 1e-14);
        }
        for (int32_t j = 0; j < nd; ++j) {
            double d[2], beta[17];
            perpi_polygon_direction(nd, j, d);
            perpi_polygon_weights(2, nd, (const double[]){0.3 * d[0], 0.3 * d[1]}, beta);
            for (int32_t i = 0; i < nd; ++i) {
                CHECK(i == j ? fabs(beta[i] - 0.3) < 1e-15 : beta[i] == 0.0);
            }
        }
    }
    double beta[2];
    CHECK(perpi_polygon_weights(1, 2, (const double[]){-0.5}, beta) == 0.5);
    CHECK(beta[0] == 0.0 && beta[1] == 0.5);
}
