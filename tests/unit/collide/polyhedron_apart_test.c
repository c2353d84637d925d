/* tests/unit/collide/polyhedron_apart_test.c - polyhedra that are apart are skipped by a direction
 * that is remembered: the candidates are those of a search without it, to the last bit. */
#include <stdlib.h>
#include <string.h>

#include "collide/narrow/gjk.h"
#include "collide/polytope/polyhedron.h"
#include "contact/rules.h"
#include "geometry.h"
#include "perp_test.h"

enum { POINTS = 90 };

/* Rough or fine, round or flat, away from its origin. */
static perpi_shape stone(perp_context* context, int points)
{
    double x[3 * POINTS];
    const vec3 r = v3(random_in(0.3, 1), random_in(0.2, 1), random_in(0.1, 1)),
               at = random_vec(0.2);
    for (int i = 0; i < points; ++i) {
        const vec3 u = v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)));
        v3_to(v3(at.x + r.x * u.x, at.y + r.y * u.y, at.z + r.z * u.z), x + 3 * (ptrdiff_t)i);
    }
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    perpi_shape s = {0};
    d.vertices = x;
    d.vertex_count = points;
    CHECK_OK(perpi_shape_make(context, &d, 3, &s));
    return s;
}

/* As perpi_polyhedron_polyhedron, without the test of bodies that are apart. */
static void search_all(const perpi_shape* a, const perpi_pose* at_a, const perpi_shape* b,
                       const perpi_pose* at_b, double margin, perpi_candidate_list* list)
{
    static perpi_meeting m;
    perpi_polyhedron_answer answer;
    bool done = false;
    list->count = 0;
    CHECK_OK(perpi_polyhedron_still(a, at_a, b, at_b, margin, list, &done));
    if (!done) {
        answer.m = &m;
        CHECK_OK(perpi_polyhedron_search(a->polyhedron, at_a, b->polyhedron, at_b, margin, list,
                                         &answer));
    }
}

static void check_same_lists(const perpi_candidate_list* one, const perpi_candidate_list* other)
{
    CHECK_EQ_INT((int)one->count, (int)other->count);
    for (size_t i = 0; i < one->count && i < other->count; ++i) {
        const perpi_candidate *c = &one->item[i], *d = &other->item[i];
        CHECK(c->feature == d->feature && c->group == d->group && c->secondary == d->secondary);
        CHECK(memcmp(&c->gap, &d->gap, sizeof c->gap) == 0);
        CHECK(memcmp(&c->normal, &d->normal, sizeof c->normal) == 0);
        CHECK(memcmp(&c->point_a, &d->point_a, sizeof c->point_a) == 0);
    }
}

typedef struct placed {
    const perpi_polyhedron* p;
    const perpi_pose* pose;
} placed;

static vec3 farthest(const void* body, vec3 direction)
{
    const placed* s = body;
    vec3 best = perpi_pose_point(s->pose, s->p->vertex[0]);
    for (int32_t i = 1; i < s->p->vertex_count; ++i) {
        const vec3 x = perpi_pose_point(s->pose, s->p->vertex[i]);
        best = v3_dot(direction, x) > v3_dot(direction, best) ? x : best;
    }
    return best;
}

/* Bodies that approach, turn, touch and part again, in steps of which some are small and some are not. */
TEST(polyhedra_that_are_apart_are_skipped_and_no_others)
{
    static const perpi_candidate_rule* const rules[3] = {NULL, &perpi_rule_lnc, &perpi_rule_peg};
    candidates with = touches_create(), without = touches_create();
    int skipped = 0, found = 0, border = 0;
    random_state = 11;
    for (int trial = 0; trial < 36; ++trial) {
        perpi_shape a = stone(with.context, trial % 3 == 0 ? 8 : POINTS);
        perpi_shape b = stone(with.context, trial % 4 == 0 ? 12 : POINTS);
        const double margin = pow(10.0, random_in(-4, -0.7));
        perpi_separation memory = {.known = false};
        perpi_pose at_a = pose_at(random_vec(3), random_turn(3));
        perpi_pose at_b =
            pose_at(v3_add(at_a.x, v3_scale(2.0, v3_unit(random_vec(1)))), random_turn(3));
        for (int step = 0; step < 31; ++step) {
            const double scale = step % 10 == 9 ? 0.3 : pow(10.0, random_in(-5, -1));
            const vec3 away = v3_unit(v3_add(v3_sub(at_b.x, at_a.x), random_vec(0.1 * scale)));
            at_b.x = v3_madd(at_a.x, 1.1 + 0.9 * cos(2 * M_PI * step / 30), away);
            at_b = pose_at(at_b.x, q4_unit(q4_mul(q4_exp(random_vec(scale)), at_b.q)));
            at_a = pose_at(at_a.x, q4_unit(q4_mul(q4_exp(random_vec(scale)), at_a.q)));
            for (int k = 0; k < 2; ++k) {
                perpi_candidate_list* list = k == 0 ? &with.list : &without.list;
                list->rule = rules[trial % 3];
                list->turn = list->rule != NULL ? 0.02 : INFINITY;
                list->turn_most = trial % 2 == 0 ? INFINITY : 0.1;
                list->spins = list->rule != NULL ? step % 3 : 0;
                list->spin[0] = v3(0.02, 0.01, -0.03);
                list->spin[1] = v3(-0.03, 0.02, 0.01);
                list->separation = k == 0 ? &memory : NULL;
            }
            with.list.count = 0;
            skipped +=
                perpi_polyhedron_apart(a.polyhedron, &at_a, b.polyhedron, &at_b, margin, &memory);
            CHECK_OK(perpi_polyhedron_polyhedron(&a, &at_a, &b, &at_b, margin, &with.list));
            search_all(&a, &at_a, &b, &at_b, margin, &without.list);
            check_same_lists(&with.list, &without.list);
            found += with.list.count > 0;
        }
        /* at the border: a body whose distance is the margin, a little more, or less */
        const placed one = {a.polyhedron, &at_a}, other = {b.polyhedron, &at_b};
        const perpi_gjk closest =
            perpi_gjk_closest(&one, farthest, &other, farthest, v3_sub(at_b.x, at_a.x), 1e-9);
        const double distance = closest.distance;
        for (int k = 0; k < 3 && distance > 0.0;
             ++k) { /* the same up to a limit, above it a bound */
            const double limit = distance * (k == 0 ? 0.5 : k == 1 ? 1.0 : 2.0);
            const perpi_gjk near = perpi_gjk_within(&one, farthest, &other, farthest,
                                                    v3_sub(at_b.x, at_a.x), 1e-9, limit);
            CHECK(k == 0 ? near.distance > limit : near.distance == distance);
            CHECK(k == 0 || (v3_norm(v3_sub(near.a, closest.a)) == 0.0 &&
                             v3_norm(v3_sub(near.b, closest.b)) == 0.0));
            CHECK_AT_MOST(near.distance, distance * (1.0 + 1e-12));
        }
        const vec3 n = v3_unit(v3_sub(closest.b, closest.a));
        for (int step = -12; step <= 12 && distance > 0.0; ++step) {
            const double off = step == 0 ? 0.0 : (step < 0 ? -1.0 : 1.0) * pow(10.0, -abs(step));
            perpi_pose near = at_b;
            near.x = v3_madd(at_b.x, margin * (1.0 + off) - distance, n);
            with.list.count = 0;
            CHECK_OK(perpi_polyhedron_polyhedron(&a, &at_a, &b, &near, margin, &with.list));
            search_all(&a, &at_a, &b, &near, margin, &without.list);
            check_same_lists(&with.list, &without.list);
            border += with.list.count > 0;
        }
        perpi_shape_free(with.context, &a);
        perpi_shape_free(with.context, &b);
    }
    printf("skipped %d, with candidates %d, at the border %d\n", skipped, found, border);
    CHECK(skipped > 200 && found > 300 && border > 100);
    touches_destroy(&with);
    touches_destroy(&without);
}

/* The motion bound skips without a look at the bodies, but never one that has come near. */
TEST(a_remembered_direction_is_given_up_when_the_body_has_moved_too_far)
{
    candidates t = touches_create();
    random_state = 3;
    perpi_shape a = stone(t.context, POINTS), b = stone(t.context, POINTS);
    const perpi_pose still = pose_at(v3(0, 0, 0), q4_identity());
    perpi_separation memory = {.known = false};
    perpi_pose far = pose_at(v3(4, 0, 0), q4_identity());
    CHECK(perpi_polyhedron_apart(a.polyhedron, &still, b.polyhedron, &far, 0.01, &memory));
    CHECK(memory.known && memory.gap > 1.0);
    far.x.x = 0.1;
    CHECK(!perpi_polyhedron_apart(a.polyhedron, &still, b.polyhedron, &far, 0.01, &memory));
    /* a direction that was right elsewhere does not hide an overlap after half a turn */
    far = pose_at(v3(4, 0, 0), q4_identity());
    CHECK(perpi_polyhedron_apart(a.polyhedron, &still, b.polyhedron, &far, 0.01, &memory));
    far = pose_at(v3(-4, 0, 0), q4_exp(v3(0, 0, 3)));
    CHECK(perpi_polyhedron_apart(a.polyhedron, &still, b.polyhedron, &far, 0.01, &memory));
    CHECK(memory.axis.x < 0.0);
    perpi_shape_free(t.context, &a);
    perpi_shape_free(t.context, &b);
    touches_destroy(&t);
}
