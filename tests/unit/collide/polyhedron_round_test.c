/* tests/unit/collide/polyhedron_round_test.c - a polyhedron with planes, balls and capsules, against
 * distances found another way. */
#include "geometry.h"
#include "shape/polyhedron.h"
#include "contact/rules.h"

static perpi_polyhedron* random_hull(candidates* t)
{
    static const char* const names[] = {"tetrahedron", "cube",        "octahedron",
                                        "prism",       "icosahedron", "dodecahedron"};
    static double x[3 * PERP_SOLID_VERTICES];
    const perp_solid_def def = {.name = names[random_below(6)],
                                .radius = random_in(0.3, 1.2),
                                .sides = 3 + random_below(9),
                                .length = random_in(0.2, 2.0)};
    int32_t n = 0;
    CHECK_OK(perp_solid_vertices(t->context, &def, x, &n));
    if (random_below(3) == 0) {
        n = 4 + random_below(40);
        for (int32_t i = 0; i < n; ++i) {
            v3_to(random_vec(1.0), x + 3 * i);
        }
    }
    perpi_polyhedron* p = NULL;
    CHECK_OK(perpi_polyhedron_hull(t->context, x, n, &p, NULL));
    return p;
}

/* ---- the reference ---------------------------------------------------------------------------------- */

static double point_segment(vec3 x, vec3 a, vec3 b)
{
    const vec3 d = v3_sub(b, a);
    const double t = fmin(1.0, fmax(0.0, v3_dot(d, v3_sub(x, a)) / v3_dot(d, d)));
    return v3_norm(v3_sub(x, v3_madd(a, t, d)));
}

static double point_triangle(vec3 x, vec3 a, vec3 b, vec3 c)
{
    const vec3 n = v3_cross(v3_sub(b, a), v3_sub(c, a));
    const double area2 = v3_dot(n, n);
    const double u = v3_dot(n, v3_cross(v3_sub(b, x), v3_sub(c, x))) / area2;
    const double v = v3_dot(n, v3_cross(v3_sub(c, x), v3_sub(a, x))) / area2;
    if (u >= 0.0 && v >= 0.0 && u + v <= 1.0) {
        return fabs(v3_dot(n, v3_sub(x, a))) / sqrt(area2);
    }
    return fmin(point_segment(x, a, b), fmin(point_segment(x, b, c), point_segment(x, c, a)));
}

/* Distance of a point from the body; 0 inside. */
static double point_body(const perpi_polyhedron* p, vec3 x)
{
    bool inside = true;
    for (int32_t f = 0; f < p->face_count; ++f) {
        inside = inside && v3_dot(p->normal[f], x) <= p->offset[f];
    }
    double best = inside ? 0.0 : INFINITY;
    for (int32_t k = 0; k < p->triangle_count && !inside; ++k) {
        const int32_t* t = p->triangle + 3 * k;
        best = fmin(best, point_triangle(x, p->vertex[t[0]], p->vertex[t[1]], p->vertex[t[2]]));
    }
    return best;
}

/* Of a segment: the distance is convex along it. */
static double segment_body(const perpi_polyhedron* p, vec3 a, vec3 b)
{
    double lo = 0.0, hi = 1.0;
    for (int i = 0; i < 90; ++i) {
        const double u = lo + (hi - lo) / 3.0, v = hi - (hi - lo) / 3.0;
        const double du = point_body(p, v3_madd(a, u, v3_sub(b, a)));
        const double dv = point_body(p, v3_madd(a, v, v3_sub(b, a)));
        if (du < dv) {
            hi = v;
        } else {
            lo = u;
        }
    }
    return point_body(p, v3_madd(a, 0.5 * (lo + hi), v3_sub(b, a)));
}

static double extent_along(const perpi_polyhedron* p, vec3 n)
{
    double most = -INFINITY;
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        most = fmax(most, v3_dot(n, p->vertex[i]));
    }
    return most;
}

/* Minus the depth of a segment that overlaps the body: along normals and across edges. */
static double segment_separation(const perpi_polyhedron* p, vec3 a, vec3 b)
{
    double best = -INFINITY;
    for (int32_t f = 0; f < p->face_count; ++f) {
        const vec3 n = p->normal[f];
        best = fmax(best, fmin(v3_dot(n, a), v3_dot(n, b)) - extent_along(p, n));
    }
    for (int32_t e = 0; e < p->edge_count; ++e) {
        const vec3 d = v3_sub(p->vertex[p->edge[e].vertex[1]], p->vertex[p->edge[e].vertex[0]]);
        const vec3 w = v3_cross(v3_sub(b, a), d);
        if (v3_norm(w) > 1e-2 * v3_norm(d) * v3_norm(v3_sub(b, a))) {
            for (int way = -1; way <= 1; way += 2) {
                const vec3 n = v3_scale(way, v3_unit(w));
                best = fmax(best, fmin(v3_dot(n, a), v3_dot(n, b)) - extent_along(p, n));
            }
        }
    }
    return best;
}

/* ---- balls and capsules ------------------------------------------------------------------------------- */

static void check_round(candidates* t, perp_shape_type type, int count, bool special)
{
    int apart = 0, deep = 0;
    for (int i = 0; i < count; ++i) {
        perpi_shape body = {.type = PERP_SHAPE_POLYHEDRON, .polyhedron = random_hull(t)};
        perpi_shape round = random_shape(type);
        round.radius = type == PERP_SHAPE_PARTICLE ? 0.0 : round.radius;
        round.length = type == PERP_SHAPE_CAPSULE ? round.length : 0.0;
        const perpi_pose pose =
            pose_at(random_vec(2.0), special ? random_special_turn(3) : random_turn(3));
        perpi_pose other = pose_at(v3_add(pose.x, random_vec(1.6)),
                                   special ? random_special_turn(3) : random_turn(3));
        if (special) { /* along an edge or a face, over a vertex */
            const perpi_polyhedron* p = body.polyhedron;
            const perpi_edge* e = &p->edge[random_below(p->edge_count)];
            const vec3 n = v3_unit(
                v3_madd(p->normal[e->face[0]], random_below(3) * 0.5, p->normal[e->face[1]]));
            const vec3 at = v3_madd(p->vertex[e->vertex[0]], 0.5 * random_below(3),
                                    v3_sub(p->vertex[e->vertex[1]], p->vertex[e->vertex[0]]));
            other.x = perpi_pose_point(&pose, v3_madd(at, round.radius + 0.02, n));
        }
        const double margin = random_in(0.05, 0.4);
        const vec3 half = v3_scale(0.5 * round.length, m3_column(other.R, 2));
        const vec3 a = m3_tmul(pose.R, v3_sub(v3_sub(other.x, half), pose.x));
        const vec3 b = m3_tmul(pose.R, v3_sub(v3_add(other.x, half), pose.x));
        const double core = round.length > 0.0 ? segment_body(body.polyhedron, a, b)
                                               : point_body(body.polyhedron, a);
        const double gap = core - round.radius;
        t->list.rule = NULL;
        const size_t n = meet(t, &body, &pose, &round, &other, margin);
        check_rows(t, margin, 1.0);
        if (gap > margin + 1e-8) {
            CHECK_EQ_INT(n, 0);
        } else if (gap < margin - 1e-8 && core > 1e-6) {
            ++apart;
            CHECK(n >= 1);
            CHECK_NEAR(least_gap(t), gap, 1e-7);
            for (size_t k = 0; k < n; ++k) {
                const perpi_candidate* c = &t->list.item[k];
                CHECK_AT_MOST(
                    point_body(body.polyhedron, m3_tmul(pose.R, v3_sub(c->point_a, pose.x))), 1e-8);
                CHECK_AT_MOST(point_segment(m3_tmul(pose.R, v3_sub(c->point_b, pose.x)), a,
                                            v3_madd(b, 1e-12, v3(1, 1, 1))),
                              round.radius + 1e-8);
            }
        } else if (core == 0.0 && gap < margin - 1e-8) {
            ++deep;
            CHECK(n >= 1);
            const double s =
                round.length > 0.0
                    ? segment_separation(body.polyhedron, a, b)
                    : segment_separation(body.polyhedron, a, v3_madd(a, 1e-13, v3(1, 0, 0)));
            CHECK_NEAR(least_gap(t), s - round.radius, 1e-5);
        }
        perpi_polyhedron_free(t->context, body.polyhedron);
    }
    CHECK(apart > count / 20);
    CHECK(deep > 0 || special);
}

TEST(balls_and_capsules_are_as_far_as_they_are)
{
    candidates t = touches_create();
    random_state = 1;
    check_round(&t, PERP_SHAPE_PARTICLE, 400, false);
    check_round(&t, PERP_SHAPE_SPHERE, 400, false);
    check_round(&t, PERP_SHAPE_CAPSULE, 600, false);
    check_round(&t, PERP_SHAPE_SPHERE, 400, true);
    check_round(&t, PERP_SHAPE_CAPSULE, 600, true);
    touches_destroy(&t);
}

/* The most open member of a ball's group is the ball's true distance, or minus its depth. */
TEST(in_a_group_the_most_open_member_is_the_truth)
{
    candidates t = touches_create();
    random_state = 2;
    int grouped = 0;
    for (int i = 0; i < 600; ++i) {
        perpi_shape body = {.type = PERP_SHAPE_POLYHEDRON, .polyhedron = random_hull(&t)};
        perpi_shape ball = make_round(PERP_SHAPE_SPHERE, random_in(0.0, 0.3), 0.0);
        const perpi_pose pose = pose_at(random_vec(2.0), random_turn(3));
        const perpi_pose other = pose_at(v3_add(pose.x, random_vec(1.2)), q4_identity());
        const double margin = 0.2;
        t.list.rule = NULL;
        const size_t plain = meet(&t, &body, &pose, &ball, &other, margin);
        const double gap = plain > 0 ? t.list.item[0].gap : INFINITY;
        t.list.rule = &perpi_rule_peg;
        const size_t n = meet(&t, &body, &pose, &ball, &other, margin);
        CHECK_EQ_INT(n > 0, plain > 0);
        for (size_t k = 0; k < n; ++k) { /* of each group */
            double most = t.list.item[k].gap;
            CHECK((n == 1) == (t.list.item[k].group == 0));
            for (size_t l = 0; l < n; ++l) {
                const bool same = t.list.item[l].group == t.list.item[k].group;
                most = same ? fmax(most, t.list.item[l].gap) : most;
            }
            CHECK_NEAR(most, gap, 1e-12);
        }
        grouped += n > 1;
        perpi_polyhedron_free(t.context, body.polyhedron);
    }
    CHECK(grouped > 50);
    touches_destroy(&t);
}

TEST(a_capsule_that_lies_on_a_face_rests_on_both_ends)
{
    candidates t = touches_create();
    perpi_shape body = {.type = PERP_SHAPE_POLYHEDRON};
    REQUIRE_OK(perpi_polyhedron_box(t.context, v3(1, 1, 0.5), &body.polyhedron));
    const perpi_shape rod = make_round(PERP_SHAPE_CAPSULE, 0.1, 1.0);
    const perpi_pose o = pose_at(v3(0, 0, 0), q4_identity());
    const perpi_pose lying = pose_at(v3(0.2, 0, 0.6), q4_exp(v3(0, 1.5707963267948966, 0)));
    CHECK_EQ_INT(meet(&t, &body, &o, &rod, &lying, 0.05), 2);
    for (size_t i = 0; i < t.list.count; ++i) {
        CHECK_NEAR(t.list.item[i].gap, 0.0, 1e-15);
        check_vec(t.list.item[i].normal, 0, 0, 1, 1e-15);
        CHECK_NEAR(fabs(t.list.item[i].point_b.x - 0.2), 0.5, 1e-12);
    }
    /* over the border: the end, and where the face ends */
    const perpi_pose over = pose_at(v3(0.9, 0, 0.6), q4_exp(v3(0, 1.5707963267948966, 0)));
    CHECK_EQ_INT(meet(&t, &body, &o, &rod, &over, 0.05), 2);
    double most = -INFINITY;
    for (size_t i = 0; i < t.list.count; ++i) {
        most = fmax(most, t.list.item[i].point_b.x);
    }
    CHECK_NEAR(most, 1.0, 1e-12);
    /* beside an edge, along it */
    const perpi_pose beside = pose_at(v3(1.1, 0, 0.6), q4_exp(v3(1.5707963267948966, 0, 0)));
    CHECK_EQ_INT(meet(&t, &body, &o, &rod, &beside, 0.1), 2);
    perpi_polyhedron_free(t.context, body.polyhedron);
    touches_destroy(&t);
}

TEST(a_plane_sees_the_vertices_within_the_margin)
{
    candidates t = touches_create();
    random_state = 3;
    for (int i = 0; i < 200; ++i) {
        perpi_shape body = {.type = PERP_SHAPE_POLYHEDRON, .polyhedron = random_hull(&t)};
        const perpi_shape plane = random_shape(PERP_SHAPE_PLANE);
        const perpi_pose pose = pose_at(random_vec(1.0), random_turn(3));
        const perpi_pose other = pose_at(random_vec(1.0), random_turn(3));
        const double margin = random_in(0.0, 0.5);
        const size_t n = meet(&t, &plane, &pose, &body, &other, margin);
        check_rows(&t, margin, 1.0);
        size_t expected = 0;
        for (int32_t k = 0; k < body.polyhedron->vertex_count; ++k) {
            const vec3 x = perpi_pose_point(&other, body.polyhedron->vertex[k]);
            const vec3 local = m3_tmul(pose.R, v3_sub(x, pose.x));
            expected += v3_dot(plane.normal, local) - plane.offset <= margin;
        }
        CHECK_EQ_INT(n, expected);
        perpi_polyhedron_free(t.context, body.polyhedron);
    }
    touches_destroy(&t);
}
