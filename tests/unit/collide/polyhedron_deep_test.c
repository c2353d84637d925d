/* tests/unit/collide/polyhedron_deep_test.c - polyhedra that overlap deeply are found with their
 * least depth, whatever the margin: against the depth of the two solids, which is measured by other
 * means. */
#include "base/arena.h"
#include "collide/polytope/polyhedron.h"
#include "contact/rules.h"
#include "geometry.h"
#include "perp_test.h"

enum { POINTS = 120 };

static perpi_shape stone(perp_context* context, int points)
{
    double x[3 * POINTS];
    const vec3 r = v3(random_in(0.5, 1), random_in(0.3, 1), random_in(0.3, 1));
    for (int i = 0; i < points; ++i) {
        const vec3 u = v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)));
        v3_to(v3(r.x * u.x, r.y * u.y, r.z * u.z), x + 3 * (ptrdiff_t)i);
    }
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    perpi_shape s = {0};
    d.vertices = x;
    d.vertex_count = points;
    CHECK_OK(perpi_shape_make(context, &d, 3, &s));
    return s;
}

TEST(deep_overlaps_have_a_row_of_the_least_depth_at_any_margin)
{
    static const perpi_candidate_rule* const rules[2] = {NULL, &perpi_rule_peg};
    candidates t = touches_create();
    perpi_arena arena;
    int overlaps = 0;
    perpi_arena_init(&arena, t.context);
    random_state = 7;
    const int trials = perp_test_full() ? 150 : 48;
    for (int trial = 0; trial < trials; ++trial) {
        static const int points[4] = {6, 14, 40, POINTS};
        perpi_shape a = stone(t.context, points[trial % 4]),
                    b = stone(t.context, points[trial / 4 % 4]);
        const perpi_pose at_a = pose_at(v3(0, 0, 0), random_turn(3));
        const perpi_pose at_b = pose_at(random_vec(0.7), random_turn(3));
        perp_polyhedron_measure measure = {0};
        CHECK_OK(
            perpi_polyhedron_compare(&arena, a.polyhedron, &at_a, b.polyhedron, &at_b, &measure));
        const double depth = -measure.separation;
        for (int k = 0; k < 8 && depth > 1e-6; ++k) {
            const double margin = depth * pow(10.0, random_in(-2, 1));
            double least = INFINITY;
            t.list.count = 0;
            t.list.deepest = 0.0;
            t.list.rule = rules[k % 2];
            t.list.turn_most = INFINITY;
            t.list.turn = k % 2 == 0 ? INFINITY : 0.05;
            CHECK_OK(perpi_polyhedron_polyhedron(&a, &at_a, &b, &at_b, margin, &t.list));
            for (size_t i = 0; i < t.list.count; ++i) {
                least = t.list.item[i].gap < least ? t.list.item[i].gap : least;
            }
            overlaps += 1;
            CHECK(t.list.count > 0);
            CHECK_AT_MOST(fabs(t.list.deepest - depth), 1e-9);
            if (t.list.rule == NULL) { /* rows up to 1.01 times the least depth count */
                CHECK_AT_MOST(least, -depth + 1e-9);
                CHECK_AT_MOST(-1.01 * depth - 1e-6, least);
            }
        }
        perpi_shape_free(t.context, &a);
        perpi_shape_free(t.context, &b);
    }
    CHECK(overlaps > 3 * trials);
    perpi_arena_free(&arena);
    touches_destroy(&t);
}
