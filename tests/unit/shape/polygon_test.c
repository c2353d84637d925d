/* tests/unit/shape/polygon_test.c - checks of a polygon, and the comparison of two. */
#include "perp_test.h"
#include "shape/shape.h"

static perp_status try_polygon(perp_context* context, const double* v, int32_t n,
                               perpi_shape* shape)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYGON);
    d.vertices = v;
    d.vertex_count = n;
    return perpi_shape_make(context, &d, 2, shape);
}

static void check_refused(perp_context* context, const double* v, int32_t n, perp_status status,
                          const char* message)
{
    perpi_shape s;
    CHECK_EQ_INT(try_polygon(context, v, n, &s), status);
    CHECK(strstr(perp_context_error(context), message) != NULL);
}

TEST(what_is_no_polygon_is_refused_with_the_vertex_at_fault)
{
    perp_context* c = NULL;
    REQUIRE_OK(perp_context_create(NULL, &c));
    const double flat[] = {0, 0, 1, 1, 2, 2}, twice[] = {0, 0, 1, 0, 1, 0, 0, 1};
    const double straight[] = {0, 0, 1, 0, 2, 0, 0, 1}, crossed[] = {0, 0, 3, 0, 1, 2, 2, -1, 0, 2};
    const double bow[] = {0, 0, 1, 1, 1, 0, 0, 1}, touch[] = {0, 0, 2, 0, 2, 2, 1, 0, 0, 2};
    const double tiny[] = {0, 0, 1e6, 0, 1e6, 1e-6, 0, 1e6}, wrong[] = {0, 0, 1, NAN, 1, 1};
    const double line[] = {0, 0, 1, 0, 0, 1};
    check_refused(c, flat, 3, PERP_ERROR_INPUT, "vertices: all lie on a line");
    check_refused(c, twice, 4, PERP_ERROR_INPUT, "vertices/2: is the same point as vertices/1");
    check_refused(c, straight, 4, PERP_ERROR_INPUT, "vertices/1: lies on the line");
    check_refused(c, crossed, 5, PERP_ERROR_INPUT,
                  "vertices: the edge that begins at vertices/0 meets the one that begins at "
                  "vertices/2");
    check_refused(c, touch, 5, PERP_ERROR_INPUT, "meets the one that begins at vertices/2");
    check_refused(c, bow, 4, PERP_ERROR_INPUT, "or the outline crosses itself");
    check_refused(c, tiny, 4, PERP_ERROR_INPUT, "vertices/2: is the same point as vertices/1");
    check_refused(c, wrong, 3, PERP_ERROR_INPUT, "vertices/1/1: must be finite");
    check_refused(c, line, 2, PERP_ERROR_INPUT, "vertices: must be 3 to 1024 points, got 2");
    check_refused(c, NULL, 5, PERP_ERROR_INPUT, "vertices: must be 3 to 1024 points, got 0");
    double star[10];
    for (int i = 0; i < 5; ++i) {
        star[2 * i] = cos(0.8 * M_PI * i);
        star[2 * i + 1] = sin(0.8 * M_PI * i);
    }
    check_refused(c, star, 5, PERP_ERROR_INPUT, "winds around itself 2 times");
    perp_context_destroy(c);
}

TEST(a_polygon_is_the_same_in_either_direction)
{
    perp_context* c = NULL;
    REQUIRE_OK(perp_context_create(NULL, &c));
    const double there[] = {0, 0, 2, 0, 2, 1, 0.5, 2}, back[] = {0.5, 2, 2, 1, 2, 0, 0, 0};
    perpi_shape a, b;
    REQUIRE_OK(try_polygon(c, there, 4, &a));
    REQUIRE_OK(try_polygon(c, back, 4, &b));
    for (int i = 0; i < 8; ++i) {
        CHECK_AT_MOST(fabs(a.vertex[i] - b.vertex[i]), 0.0);
        CHECK_AT_MOST(fabs(a.edge[i] - b.edge[i]), 0.0);
    }
    for (int i = 1; i < 4; ++i) {
        CHECK(a.turn[i] > a.turn[i - 1] && a.turn[i] < a.turn[0] + 2 * M_PI);
    }
    /* a triangle of [W14 5.2.1]: m s^2 / 12 about its centre */
    const double s = 2.45, triangle[] = {-s / 2, 0, s / 2, 0, 0, s * sqrt(0.75)};
    perpi_shape t;
    REQUIRE_OK(try_polygon(c, triangle, 3, &t));
    const perpi_mass m = perpi_shape_ops_of(PERP_SHAPE_POLYGON)->mass(&t);
    CHECK_NEAR(m.mass, s * s * sqrt(3.0) / 4, 1e-14);
    CHECK_NEAR(m.inertia.m[2][2] / m.mass, s * s / 12, 1e-15);
    CHECK_NEAR(m.center.y, s * sqrt(0.75) / 3, 1e-15);
    perpi_shape_free(c, &a);
    perpi_shape_free(c, &b);
    perpi_shape_free(c, &t);
    perp_context_destroy(c);
}

TEST(the_farthest_vertex_is_found_among_a_thousand)
{
    perp_context* c = NULL;
    REQUIRE_OK(perp_context_create(NULL, &c));
    double v[2000];
    for (int i = 0; i < 1000; ++i) {
        v[2 * i] = 2 * cos(0.3 + 2 * M_PI * i / 1000);
        v[2 * i + 1] = sin(0.3 + 2 * M_PI * i / 1000);
    }
    perpi_shape s;
    REQUIRE_OK(try_polygon(c, v, 1000, &s));
    for (int k = 0; k < 500; ++k) {
        const double x = cos(0.0127 * k + 1e-3), y = sin(0.0127 * k + 1e-3);
        double most = -INFINITY;
        for (int i = 0; i < 1000; ++i) {
            most = fmax(most, x * v[2 * i] + y * v[2 * i + 1]);
        }
        const double* f = s.vertex + 2 * perpi_polygon_support(&s, x, y);
        CHECK_NEAR(x * f[0] + y * f[1], most, 1e-15);
    }
    perpi_shape_free(c, &s);
    perp_context_destroy(c);
}

TEST(overlaps_that_can_be_worked_out_by_hand)
{
    const double square[] = {0, 0, 2, 0, 2, 2, 0, 2}, corner[] = {1, 1, 3, 1, 3, 3, 1, 3};
    const double inside[] = {0.5, 0.5, 1, 0.5, 1, 1}, apart[] = {3, 0, 4, 0, 4, 1};
    const double thin[] = {-1, 0.9, 3, 0.9, 3, 1.1, -1, 1.1}, beside[] = {2, 0, 3, 0, 3, 2, 2, 2};
    perp_polygon_measure m = perp_polygon_compare(square, 4, corner, 4);
    CHECK_NEAR(m.area, 1.0, 1e-15);
    CHECK_NEAR(m.separation, -1.0, 1e-15);
    m = perp_polygon_compare(square, 4, square, 4);
    CHECK_NEAR(m.area, 4.0, 1e-15);
    CHECK_NEAR(m.separation, -2.0, 1e-15);
    m = perp_polygon_compare(square, 4, inside, 3);
    CHECK_NEAR(m.area, 0.125, 1e-16);
    m = perp_polygon_compare(inside, 3, square, 4);
    CHECK_NEAR(m.area, 0.125, 1e-16);
    m = perp_polygon_compare(square, 4, apart, 3);
    CHECK_AT_MOST(m.area, 0.0);
    CHECK_NEAR(m.separation, 1.0, 1e-15);
    m = perp_polygon_compare(square, 4, thin, 4); /* a cross: no vertex of one in the other */
    CHECK_NEAR(m.area, 0.4, 1e-15);
    CHECK_NEAR(m.separation, -1.1, 1e-15);
    m = perp_polygon_compare(square, 4, beside, 4);
    CHECK_AT_MOST(m.area, 0.0);
    CHECK_AT_MOST(fabs(m.separation), 0.0);
    /* relative accuracy of a sliver far from the origin: 2 x 1e-9 at 1e3 */
    double far_square[8], far_lid[] = {0, 2 - 1e-9, 2, 2 - 1e-9, 2, 3, 0, 3};
    for (int i = 0; i < 8; ++i) {
        far_square[i] = square[i] + 1000;
        far_lid[i] += 1000;
    }
    const double depth = far_square[5] - far_lid[1]; /* what rounding has left of 1e-9 */
    CHECK_NEAR(perp_polygon_compare(far_square, 4, far_lid, 4).area, 2 * depth, 1e-9 * depth);
}

/* An independent area: a fine grid of points. */
TEST(random_overlaps_agree_with_counting_points)
{
    unsigned long long state = 7;
    for (int trial = 0; trial < 20; ++trial) {
        double p[2][16];
        int n[2];
        for (int k = 0; k < 2; ++k) {
            n[k] = 3 + trial % 5;
            double angle = 0.1 * trial;
            for (int i = 0; i < n[k]; ++i) {
                state = state * 6364136223846793005ULL + 1442695040888963407ULL;
                angle += 2 * M_PI / n[k] * (0.7 + 0.6 * (double)(state >> 40) / (1 << 24)) * 0.9;
                p[k][2 * i] = 0.5 * k * cos(1.0 * trial) + cos(angle); /* on a circle: convex */
                p[k][2 * i + 1] = 0.5 * k * sin(1.0 * trial) + sin(angle);
            }
        }
        const int grid = 800;
        int count = 0;
        for (int i = 0; i < grid * grid; ++i) {
            const double x = -2 + 4.0 * (i % grid + 0.5) / grid,
                         y = -2 + 4.0 * (i / grid + 0.5) / grid;
            bool in = true;
            for (int k = 0; k < 2 && in; ++k) {
                for (int e = 0; e < n[k] && in; ++e) {
                    const double *a = &p[k][2 * e], *b = &p[k][2 * ((e + 1) % n[k])];
                    in = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) >= 0.0;
                }
            }
            count += in;
        }
        const perp_polygon_measure m = perp_polygon_compare(p[0], n[0], p[1], n[1]);
        CHECK_NEAR(m.area, 16.0 * count / (grid * grid), 0.01);
        CHECK((m.area > 0.0) == (m.separation < 0.0));
    }
}
