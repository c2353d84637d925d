/* tests/unit/shape/outline_test.c - decomposition of polygons with inward corners. The reference is
 * crossing numbers and half-planes written here. */
#include "perp_test.h"
#include "shape/outline.h"
#include "shape/shape.h"

static unsigned long long state = 88172645463325252ULL;
static double uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

static double area_of(const double* v, int n)
{
    double twice = 0.0;
    for (int i = 0; i < n; ++i) {
        const int j = (i + 1) % n;
        twice += v[2 * i] * v[2 * j + 1] - v[2 * i + 1] * v[2 * j];
    }
    return 0.5 * twice;
}

/* Distance from the border, > 0 inside (crossing number). */
static double depth_in(const double* v, int n, double x, double y)
{
    bool inside = false;
    double near = INFINITY;
    for (int i = 0; i < n; ++i) {
        const double *a = v + 2 * i, *b = v + 2 * ((i + 1) % n);
        if ((a[1] > y) != (b[1] > y) && x < a[0] + (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1])) {
            inside = !inside;
        }
        const double dx = b[0] - a[0], dy = b[1] - a[1];
        double t = ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy);
        t = fmin(1.0, fmax(0.0, t));
        near = fmin(near, hypot(x - a[0] - t * dx, y - a[1] - t * dy));
    }
    return inside ? near : -near;
}

/* Depth in the deepest of the pieces. */
static double depth_in_pieces(const perpi_pieces* p, double x, double y)
{
    double most = -INFINITY;
    for (int k = 0; k < p->count; ++k) {
        const double* v = p->xy + 2 * p->start[k];
        const int n = p->start[k + 1] - p->start[k];
        double least = INFINITY;
        for (int i = 0; i < n; ++i) {
            const double *a = v + 2 * i, *b = v + 2 * ((i + 1) % n);
            const double d = hypot(b[0] - a[0], b[1] - a[1]);
            const double left = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / d;
            least = fmin(least, left);
        }
        most = fmax(most, least);
    }
    return most;
}

static int inward_corners(const double* v, int n)
{
    int count = 0;
    for (int i = 0; i < n; ++i) {
        const double *a = v + 2 * i, *b = v + 2 * ((i + 1) % n), *c = v + 2 * ((i + 2) % n);
        count += (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]) < 0.0;
    }
    return count;
}

static double total_area(const perpi_pieces* p)
{
    double area = 0.0;
    for (int k = 0; k < p->count; ++k) {
        const double part = area_of(p->xy + 2 * p->start[k], p->start[k + 1] - p->start[k]);
        CHECK(part > 0.0);
        area += part;
    }
    return area;
}

/* All guarantees on the pieces of v. size: about that of v. */
static void check_outline(perp_context* c, const double* v, int n, double size)
{
    perpi_pieces apart, over;
    REQUIRE_OK(perpi_outline_split(c, v, n, false, &apart));
    REQUIRE_OK(perpi_outline_split(c, v, n, true, &over));
    CHECK(apart.count <= inward_corners(v, n) + 1);
    CHECK(over.count <= inward_corners(v, n) + 1);
    CHECK_NEAR(total_area(&apart) / area_of(v, n), 1.0, 1e-9);
    CHECK(total_area(&over) > area_of(v, n));
    for (int k = 0; k < over.count; ++k) {
        /* convex, by the polygon's own rules, and never beyond the outline */
        const double* p = over.xy + 2 * over.start[k];
        const int m = over.start[k + 1] - over.start[k];
        perp_shape_def def = perp_shape_def_default(PERP_SHAPE_POLYGON);
        def.vertices = p;
        def.vertex_count = m;
        perpi_shape shape;
        REQUIRE_OK(perpi_shape_make(c, &def, 2, &shape));
        CHECK(!shape.outline);
        perpi_shape_free(c, &shape);
        for (int i = 0; i < m; ++i) {
            for (int step = 0; step < 8; ++step) {
                const double t = step / 8.0;
                const double x = (1 - t) * p[2 * i] + t * p[2 * ((i + 1) % m)];
                const double y = (1 - t) * p[2 * i + 1] + t * p[2 * ((i + 1) % m) + 1];
                CHECK(depth_in(v, n, x, y) > -1e-8 * size);
            }
        }
    }
    for (int k = 0; k < apart.count; ++k) {
        /* the seams of the pieces that only touch are inside one of those that overlap */
        const double* p = apart.xy + 2 * apart.start[k];
        const int m = apart.start[k + 1] - apart.start[k];
        for (int i = 0; i < m; ++i) {
            const double t = uniform(0.02, 0.98);
            const double x = (1 - t) * p[2 * i] + t * p[2 * ((i + 1) % m)];
            const double y = (1 - t) * p[2 * i + 1] + t * p[2 * ((i + 1) % m) + 1];
            if (depth_in(v, n, x, y) > 1e-6 * size) {
                CHECK(depth_in_pieces(&over, x, y) > 1e-9 * size);
            }
        }
    }
    for (int i = 0; i < 200; ++i) {
        const double x = uniform(-size, size), y = uniform(-size, size);
        const double depth = depth_in(v, n, x, y);
        if (depth > 1e-6 * size) {
            CHECK(depth_in_pieces(&over, x, y) > 0.0);
        } else if (depth < -1e-6 * size) {
            CHECK(depth_in_pieces(&over, x, y) < 1e-8 * size);
        }
    }
    perpi_pieces_free(c, &apart);
    perpi_pieces_free(c, &over);
}

TEST(an_l_a_star_and_a_comb_are_covered_without_a_seam)
{
    perp_context* c = NULL;
    REQUIRE_OK(perp_context_create(NULL, &c));
    const double l[] = {0, 0, 2, 0, 2, 1, 1, 1, 1, 2, 0, 2};
    check_outline(c, l, 6, 2.0);
    double star[20];
    for (int i = 0; i < 10; ++i) {
        const double r = i % 2 == 0 ? 1.0 : 0.4;
        star[2 * i] = r * cos(M_PI * i / 5);
        star[2 * i + 1] = r * sin(M_PI * i / 5);
    }
    check_outline(c, star, 10, 1.0);
    /* teeth whose bottoms lie on one line: chords run from corner to corner and along edges */
    double comb[2 * 64];
    int n = 0;
    comb[n++] = 0, comb[n++] = -1, comb[n++] = 15, comb[n++] = -1;
    for (int i = 7; i >= 0; --i) {
        const double x = 2.0 * i;
        const double tooth[] = {x + 1, 1, x, 1, x, 0, x - 1, 0};
        for (int k = 0; k < (i > 0 ? 8 : 4); ++k) {
            comb[n++] = tooth[k];
        }
    }
    check_outline(c, comb, n / 2, 15.0);
    perp_context_destroy(c);
}

TEST(random_outlines_keep_their_area_and_have_no_seam)
{
    perp_context* c = NULL;
    REQUIRE_OK(perp_context_create(NULL, &c));
    for (int trial = 0; trial < 400; ++trial) {
        /* seen from the origin every direction meets the border once: simple whatever the radii */
        double v[2 * 40];
        const int n = 4 + (int)uniform(0, 36);
        const double size = pow(10.0, uniform(-4, 4));
        for (int i = 0; i < n; ++i) {
            const double r = size * uniform(0.2, 1.0), a = 2 * M_PI * (i + uniform(0, 0.8)) / n;
            v[2 * i] = r * cos(a);
            v[2 * i + 1] = r * sin(a);
        }
        if (inward_corners(v, n) > 0) {
            check_outline(c, v, n, size);
        }
    }
    perp_context_destroy(c);
}

TEST(a_spiral_of_a_thousand_corners_is_taken_apart)
{
    perp_context* c = NULL;
    REQUIRE_OK(perp_context_create(NULL, &c));
    enum { HALF = 512 };
    static double v[4 * HALF];
    for (int i = 0; i < HALF; ++i) {
        const double a = 6 * M_PI * i / (HALF - 1), r = 1.0 + 0.3 * a;
        double* out = v + 2 * i;
        double* in = v + 2 * (2 * HALF - 1 - i);
        out[0] = (r + 0.6) * cos(a), out[1] = (r + 0.6) * sin(a);
        in[0] = r * cos(a), in[1] = r * sin(a);
    }
    check_outline(c, v, 2 * HALF, 8.0);
    perp_context_destroy(c);
}
