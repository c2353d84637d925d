/* tests/unit/collide/choice_test.c - groups of cylinders and smooth bodies: after a small motion they hold
 * if the bodies are apart, and do not if they overlap, up to a part of the motion. The reference is the
 * separation of the plain rows. */
#include "geometry.h"
#include "shape/polyhedron.h"
#include "contact/rules.h"

/* The separation by the plain rows, which have tests of their own. */
static double separation(candidates* plain, const perpi_shape* a, const perpi_pose* pa,
                         const perpi_shape* b, const perpi_pose* pb, vec3* way)
{
    plain->list.rule = NULL;
    CHECK(meet(plain, a, pa, b, pb, 100.0) > 0);
    const perpi_candidate* least = plain->list.item;
    for (size_t i = 1; i < plain->list.count; ++i) {
        least = plain->list.item[i].gap < least->gap ? &plain->list.item[i] : least;
    }
    *way = least->normal;
    return least->gap;
}

/* The worst group's most open member after b has moved by x and turned by d. */
static double all_hold(const candidates* t, vec3 c, vec3 x, vec3 d)
{
    double worst = INFINITY;
    for (size_t i = 0; i < t->list.count; ++i) {
        const int32_t g = t->list.item[i].group;
        double most = -INFINITY;
        for (size_t k = 0; k < t->list.count; ++k) {
            const perpi_candidate* u = &t->list.item[k];
            if (k == i || (g != 0 && u->group == g)) {
                const vec3 v = v3_add(x, v3_cross(d, v3_sub(u->point_b, c)));
                most = fmax(most, u->gap + v3_dot(u->normal, v));
            }
        }
        worst = fmin(worst, most);
    }
    return worst;
}

static perpi_shape random_body(perp_context* context, perp_shape_type type)
{
    perpi_shape s = {.type = type, .radius = random_in(0.3, 1), .length = random_in(0.3, 2)};
    s.half = v3(random_in(0.3, 1), random_in(0.3, 1), random_in(0.3, 1));
    s.radii = v3(random_in(0.3, 1), random_in(0.3, 1), random_in(0.3, 1));
    s.exponent[0] = s.exponent[1] = type == PERP_SHAPE_SUPERQUADRIC ? 3.0 : 2.0;
    if (type == PERP_SHAPE_BOX) {
        CHECK_OK(perpi_polyhedron_box(context, s.half, &s.polyhedron));
    }
    return s;
}

typedef struct tally {
    int apart, overlap, grouped;
    double missed, trapped; /* over the motion */
    double missed_mean, trapped_mean;
} tally;

static tally try_pair(perp_shape_type one, perp_shape_type two, int poses, bool turns, bool told,
                      const perpi_candidate_rule* rule)
{
    candidates t = touches_create(), plain = touches_create();
    t.list.rule = rule;
    tally sum = {0};
    for (int k = 0; k < poses; ++k) {
        perpi_shape a = random_body(t.context, one), b = random_body(t.context, two);
        const perpi_pose pa = pose_at(v3(0, 0, 0), q4_identity());
        /* along an axis or a diagonal, or anywhere: corners, edges and rims meet */
        vec3 way = v3(random_below(3) - 1, random_below(3) - 1, random_below(3) - 1);
        way = k % 3 == 0 || !(v3_dot(way, way) > 0) ? random_vec(1) : way;
        perpi_pose pb = pose_at(v3_scale(6.0, v3_unit(way)),
                                k % 4 == 3 ? random_turn(3) : random_special_turn(3));
        const double margin = pow(10.0, random_in(-3, -1.3));
        const vec3 from = v3_unit(pb.x);
        const double gap = random_in(-0.05, 0.3) * margin;
        vec3 n;
        for (int i = 0; i < 12; ++i) { /* to a small gap */
            const double s = separation(&plain, &a, &pa, &b, &pb, &n) - gap;
            pb.x = v3_madd(pb.x, -s / fmax(v3_dot(n, from), 0.2), from);
        }
        bool flipped;
        const perpi_pair_fn find = perpi_pair_find(rule != NULL, one, two, &flipped);
        t.list.count = 0;
        t.list.flipped = flipped;
        CHECK_OK(flipped ? find(&b, &pb, &a, &pa, margin, &t.list)
                         : find(&a, &pa, &b, &pb, margin, &t.list));
        for (size_t i = 0; i < t.list.count; ++i) {
            sum.grouped += t.list.item[i].group != 0;
        }
        for (int i = 0; i < 8; ++i) {
            const double reach = 2.0;
            const vec3 x = v3_scale(0.6 * margin * random_unit(), v3_unit(random_vec(1)));
            const vec3 d = v3_scale(turns ? 0.35 * margin / reach * random_unit() : 0.0,
                                    v3_unit(random_vec(1)));
            if (told) {
                t.list.count = 0;
                t.list.spins = 1;
                t.list.spin[0] = flipped ? v3_neg(d) : d;
                t.list.turn = 0.0;
                CHECK_OK(flipped ? find(&b, &pb, &a, &pa, margin, &t.list)
                                 : find(&a, &pa, &b, &pb, margin, &t.list));
            }
            const perpi_pose moved = pose_at(v3_add(pb.x, x), q4_mul(q4_exp(d), pb.q));
            const double s = separation(&plain, &a, &pa, &b, &moved, &n);
            const double hold = all_hold(&t, pb.x, x, d), motion = v3_norm(x) + reach * v3_norm(d);
            if (s < 0.0) {
                sum.overlap += 1;
                sum.missed = hold >= 0.0 ? fmax(sum.missed, -s / motion) : sum.missed;
                sum.missed_mean += hold >= 0.0 ? -s / motion : 0.0;
            } else {
                sum.apart += 1;
                sum.trapped = hold < 0.0 ? fmax(sum.trapped, -hold / motion) : sum.trapped;
                sum.trapped_mean += hold < 0.0 ? -hold / motion : 0.0;
            }
        }
        perpi_polyhedron_free(t.context, a.polyhedron);
        perpi_polyhedron_free(t.context, b.polyhedron);
    }
    TEST_PRINT("%-9s %-12s %s %4d apart, %4d overlap, %4d rows in groups: missed %.2g (mean %.2g), "
               "trapped %.2g (mean %.2g) of the motion",
               perp_shape_name(one), perp_shape_name(two), turns ? "turning" : "sliding", sum.apart,
               sum.overlap, sum.grouped, sum.missed, sum.missed_mean / fmax(sum.overlap, 1),
               sum.trapped, sum.trapped_mean / fmax(sum.apart, 1));
    touches_destroy(&t);
    touches_destroy(&plain);
    return sum;
}

static const perp_shape_type pairs[][2] = {
    {PERP_SHAPE_BOX, PERP_SHAPE_CYLINDER},       {PERP_SHAPE_CYLINDER, PERP_SHAPE_CYLINDER},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_SPHERE},    {PERP_SHAPE_CYLINDER, PERP_SHAPE_CAPSULE},
    {PERP_SHAPE_BOX, PERP_SHAPE_ELLIPSOID},      {PERP_SHAPE_BOX, PERP_SHAPE_SUPERQUADRIC},
    {PERP_SHAPE_CYLINDER, PERP_SHAPE_ELLIPSOID}, {PERP_SHAPE_CAPSULE, PERP_SHAPE_ELLIPSOID},
};

/* Without rotation no overlap is missed. A rotation may lower another point of a flat face than the
 * one that has a row; and a body that overlaps another may be separated along a direction that is
 * not quite the best. */
TEST(groups_of_round_bodies_agree_with_the_separation)
{
    random_state = 5;
    int groups = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        const perp_shape_type a = pairs[i][0], b = pairs[i][1];
        const tally slide = try_pair(a, b, 150, false, false, &perpi_rule_peg);
        const tally turn = try_pair(a, b, 150, true, true, &perpi_rule_peg);
        CHECK_AT_MOST(slide.missed, 1e-9);
        CHECK_AT_MOST(slide.trapped_mean, 1e-3 * slide.apart);
        CHECK_AT_MOST(turn.missed, 0.25);
        CHECK_AT_MOST(turn.missed_mean, 1e-3 * turn.overlap);
        CHECK_AT_MOST(turn.trapped_mean, 1e-3 * turn.apart);
        CHECK(slide.apart > 300 && slide.overlap > 100);
        groups += slide.grouped;
    }
    CHECK(groups > 300);
}
