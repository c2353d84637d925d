/* tests/unit/collide/polygon_test.c - feature pairs of two polygons, and the constraints of their groups. */
#include "geometry.h"
#include "contact/rules.h"
#include "perp_test.h"

static unsigned long long state = 1;
static double uniform_in(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

static perpi_shape make_polygon(perp_context* context, const double* v, int32_t n)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYGON);
    perpi_shape s = {0};
    d.vertices = v;
    d.vertex_count = n;
    CHECK_OK(perpi_shape_make(context, &d, 2, &s));
    return s;
}

/* n points on an ellipse, unevenly; n = 0: 3 to 9 of them. */
static perpi_shape random_polygon(perp_context* context, int n)
{
    double v[2 * PERP_POLYGON_LIMIT];
    const double rx = uniform_in(0.3, 1.0), ry = uniform_in(0.3, 1.0);
    const double jitter = n == 0 ? 0.8 : 0.3;
    n = n > 0 ? n : 3 + (int)uniform_in(0, 7);
    for (int i = 0; i < n; ++i) {
        const double a = 2 * M_PI * (i + uniform_in(0, jitter)) / n;
        v[2 * i] = rx * cos(a);
        v[2 * i + 1] = ry * sin(a);
    }
    return make_polygon(context, v, n);
}

static perpi_pose planar_pose(double x, double y, double angle)
{
    const quat q = q4_exp(v3(0, 0, angle));
    return (perpi_pose){v3(x, y, 0), q, q4_matrix(q)};
}

static void world(const perpi_shape* s, const perpi_pose* pose, double* out)
{
    for (int32_t i = 0; i < s->count; ++i) {
        const vec3 p = perpi_pose_point(pose, v3(s->vertex[2 * i], s->vertex[2 * i + 1], 0));
        out[2 * i] = p.x;
        out[2 * i + 1] = p.y;
    }
}

static size_t meet_by(candidates* t, const perpi_candidate_rule* rule, const perpi_shape* a,
                      const perpi_pose* pa, const perpi_shape* b, const perpi_pose* pb,
                      double margin)
{
    t->list.rule = rule;
    t->list.count = 0;
    t->list.flipped = false;
    bool flipped;
    CHECK_OK(
        perpi_pair_find(rule != NULL, a->type, b->type, &flipped)(a, pa, b, pb, margin, &t->list));
    return t->list.count;
}

static bool is_vertex(const double* v, int32_t n, vec3 p)
{
    for (int32_t i = 0; i < n; ++i) {
        if (hypot(v[2 * i] - p.x, v[2 * i + 1] - p.y) < 1e-12) {
            return true;
        }
    }
    return false;
}

/* Gaps at another pose of b, moved by x and turned by phi about c. */
typedef struct motion {
    vec3 c, x;
    double phi;
    bool line[64]; /* candidates that are lines through two vertices, which their numbers do not
                   * show */
} motion;

/* The gap of a candidate's features at other poses, from its number; of a line to first order. */
static double gap_at(const perpi_candidate* t, const motion* m, bool line, const double* a,
                     int32_t na, const double* b, int32_t nb)
{
    if (line) {
        const vec3 r = v3_sub(t->point_b, m->c);
        const vec3 v = v3_add(m->x, v3(-m->phi * r.y, m->phi * r.x, 0));
        return t->gap + v3_dot(t->normal, v);
    }
    const uint32_t side = t->feature >> 23 & 1, v = t->feature >> 13 & 1023,
                   e = t->feature >> 3 & 1023;
    const double* owner = side == 0 ? a : b;
    const double* other = side == 0 ? b : a;
    const int32_t n = side == 0 ? na : nb;
    (void)nb;
    const double *p = owner + 2 * e, *q = owner + 2 * ((int32_t)(e + 1) % n), *x = other + 2 * v;
    const double dx = q[0] - p[0], dy = q[1] - p[1];
    return ((x[0] - p[0]) * dy - (x[1] - p[1]) * dx) / hypot(dx, dy);
}

/* Whether all groups and all single candidates hold at the poses: the worst gap. */
static double all_hold(const candidates* t, const motion* m, const double* a, int32_t na,
                       const double* b, int32_t nb)
{
    double worst = INFINITY;
    for (size_t i = 0; i < t->list.count; ++i) {
        const int32_t g = t->list.item[i].group;
        double most = -INFINITY;
        for (size_t k = 0; k < t->list.count; ++k) {
            if (k == i || (g != 0 && t->list.item[k].group == g)) {
                most = fmax(most, gap_at(&t->list.item[k], m, m->line[k], a, na, b, nb));
            }
        }
        worst = fmin(worst, most);
    }
    return worst;
}

static bool passes_through(const perpi_shape* A, const double* va, const perpi_shape* B,
                           const perpi_pose* pb, double angle, const motion* m)
{
    double vb[2 * PERP_POLYGON_LIMIT];
    for (int i = 1; i < 64; ++i) {
        const double s = i / 64.0;
        const perpi_pose pose =
            planar_pose(pb->x.x + s * m->x.x, pb->x.y + s * m->x.y, angle + s * m->phi);
        world(B, &pose, vb);
        if (perp_polygon_compare(va, A->count, vb, B->count).separation < -1e-9) {
            return true;
        }
    }
    return false;
}

static bool lies_flat(const candidates* t)
{
    const perpi_candidate* item = t->list.item;
    return t->list.count == 2 && item[0].group == 0 && item[1].group == 0 &&
           v3_dot(item[0].normal, item[1].normal) > 1.0 - 1e-15;
}

/* The defining property of PEG: after any motion within the margin the groups hold exactly if the
 * polygons are apart; poses behind a polygon, reached through it, may be forbidden. The reference,
 * perp_polygon_compare, uses no features. */
TEST(groups_hold_exactly_if_the_polygons_are_apart)
{
    candidates t = touches_create();
    int apart = 0, overlapping = 0, wrong = 0, groups = 0, alone = 0, through = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        state = 1000003ULL * (unsigned long long)(trial + 1);
        for (int i = 0; i < 10; ++i) {
            (void)uniform_in(0, 1);
        }
        const perpi_shape A = random_polygon(t.context, trial % 7 == 0 ? 40 : 0);
        const perpi_shape B = trial % 3 == 0 ? make_polygon(t.context, A.vertex, A.count)
                                             : random_polygon(t.context, 0);
        const double margin = uniform_in(0.01, 0.1);
        const perpi_pose pa = planar_pose(uniform_in(-5, 5), uniform_in(-5, 5), uniform_in(-3, 3));
        /* parallel edges often: turned by half a turn, or not at all */
        const double turn = trial % 2 == 0 ? M_PI : uniform_in(-3, 3);
        const double way = uniform_in(-3.2, 3.2), angle = atan2(pa.R.m[1][0], pa.R.m[0][0]) + turn;
        double va[2 * PERP_POLYGON_LIMIT], vb[2 * PERP_POLYGON_LIMIT];
        world(&A, &pa, va);
        /* from outside until they nearly touch */
        double far = 2.5, d = far;
        perpi_pose pb = pa;
        for (int i = 0; i < 60; ++i) {
            pb = planar_pose(pa.x.x + d * cos(way), pa.x.y + d * sin(way), angle);
            world(&B, &pb, vb);
            const double s = perp_polygon_compare(va, A.count, vb, B.count).separation;
            if (s < uniform_in(-1e-3, 0.5 * margin)) {
                break;
            }
            d -= s > 1e-3 ? s * 0.9 : 1e-3;
        }
        meet_by(&t, &perpi_rule_peg, &A, &pa, &B, &pb, margin);
        for (size_t i = 0; i < t.list.count; ++i) {
            groups += t.list.item[i].group != 0;
            alone += t.list.item[i].group == 0;
        }
        const double size =
            fmin(perpi_shape_ops_of(A.type)->reach(&A), perpi_shape_ops_of(B.type)->reach(&B));
        motion go = {.c = pb.x};
        world(&B, &pb, vb);
        REQUIRE(t.list.count <= 64);
        for (size_t i = 0; i < t.list.count; ++i) {
            go.line[i] = is_vertex(va, A.count, t.list.item[i].point_a) &&
                         is_vertex(vb, B.count, t.list.item[i].point_b);
        }
        for (int move = 0; move < 20; ++move) {
            /* B moves, every point of it by less than the margin */
            const double m = 0.45 * margin, phi = uniform_in(-m, m) / fmax(size, 1.0);
            const perpi_pose moved =
                planar_pose(pb.x.x + uniform_in(-m, m), pb.x.y + uniform_in(-m, m), angle + phi);
            world(&B, &moved, vb);
            const double s = perp_polygon_compare(va, A.count, vb, B.count).separation;
            go.x = v3_sub(moved.x, pb.x);
            go.phi = phi;
            const double worst = all_hold(&t, &go, va, A.count, vb, B.count);
            /* of edges in flat contact two vertices are kept; where they slide past a corner and
             * rotate that is exact to first order */
            const double slack = 1e-9 + (lies_flat(&t) ? fabs(phi) * v3_norm(go.x) : 0.0);
            if (s < -slack) {
                overlapping += 1;
                wrong += !(worst < 0.0); /* missed: an overlap that no group forbids */
            } else if (s > slack) {
                apart += 1;
                if (!(worst >= 0.0)) { /* trapped, unless the path there leads through A */
                    const bool passes = passes_through(&A, va, &B, &pb, angle, &go);
                    through += passes;
                    wrong += !passes;
                }
            }
        }
        perpi_shape a = A, b = B;
        perpi_shape_free(t.context, &a);
        perpi_shape_free(t.context, &b);
    }
    TEST_PRINT("%d poses apart, %d forbidden because reached through the other, %d overlapping, %d "
               "wrong; %d candidates in groups, %d alone",
               apart, through, overlapping, wrong, groups, alone);
    CHECK(apart > 5000 && overlapping > 5000 && groups > 1000 && alone > 1000);
    CHECK_EQ_INT(wrong, 0);
    touches_destroy(&t);
}

TEST(a_vertex_over_an_edge_stands_alone_and_two_corners_form_a_group)
{
    candidates t = touches_create();
    const double square[] = {0.5, -0.5, 0.5, 0.5, -0.5, 0.5, -0.5, -0.5};
    perpi_shape a = make_polygon(t.context, square, 4);
    const perpi_pose origin = planar_pose(0, 0, 0);
    /* standing on a corner over the middle of the top edge: one U-constraint (4.16) */
    perpi_pose above = planar_pose(0, 0.5 + sqrt(0.5) + 0.01, M_PI / 4);
    CHECK_EQ_INT((int)meet_by(&t, &perpi_rule_peg, &a, &origin, &a, &above, 0.05), 1);
    CHECK_EQ_INT(t.list.item[0].group, 0);
    CHECK_NEAR(t.list.item[0].gap, 0.01, 1e-15);
    /* flat contact far from any corner: both ends */
    above = planar_pose(0.3, 1.001, 0);
    CHECK_EQ_INT((int)meet_by(&t, &perpi_rule_peg, &a, &origin, &a, &above, 0.05), 2);
    CHECK_EQ_INT(t.list.item[0].group, 0);
    CHECK_EQ_INT(t.list.item[1].group, 0);
    /* corner to corner, parallel: X(C1, C4) and X(C2, C3) of (4.17) */
    above = planar_pose(1.01, 1.01, 0);
    CHECK_EQ_INT((int)meet_by(&t, &perpi_rule_peg, &a, &origin, &a, &above, 0.05), 4);
    for (size_t i = 0; i < 4; ++i) {
        CHECK(t.list.item[i].group != 0 && !t.list.item[i].secondary);
    }
    /* turned enough for the order to be certain: one group of two */
    above = planar_pose(0.8399, 1.1454, 0.3); /* its corner at (0.51, 0.52) */
    CHECK_EQ_INT((int)meet_by(&t, &perpi_rule_peg, &a, &origin, &a, &above, 0.05), 2);
    CHECK_EQ_INT(t.list.item[0].group, t.list.item[1].group);
    perpi_shape_free(t.context, &a);
    touches_destroy(&t);
}

/* A square on a square, shifted by d: the corners at the left give two rows, and so do those at the
 * right. The groups {left, left} and {right, right} of (4.17) are equivalent to the two candidates
 * for every linear motion. */
TEST(squares_that_lie_flat_form_no_groups_and_say_the_same)
{
    const double shift[] = {-0.7, -0.04, -1e-3, -1e-6, -1e-14, 0.0, 1e-14, 1e-6, 1e-3, 0.04, 0.7};
    candidates t = touches_create();
    perpi_shape box = {.type = PERP_SHAPE_BOX2, .half = {0.5, 0.5, 0}};
    int open = 0, closed = 0;
    for (size_t k = 0; k < sizeof shift / sizeof shift[0]; ++k) {
        const double d = shift[k], gap = 1e-3 * (double)(k % 2), tilt = 0.7 * (double)k;
        const double c = cos(tilt), s = sin(tilt);
        const perpi_pose lower = planar_pose(2, -3, tilt);
        const perpi_pose upper =
            planar_pose(2 + c * d - s * (1 + gap), -3 + s * d + c * (1 + gap), tilt);
        REQUIRE(meet_by(&t, &perpi_rule_peg, &box, &lower, &box, &upper, 0.05) == 2);
        CHECK_EQ_INT(t.list.item[0].group, 0);
        CHECK_EQ_INT(t.list.item[1].group, 0);
        for (int trial = 0; trial < 200; ++trial) {
            /* the upper square moves by y along the normal and turns by phi about its centre */
            const double y = uniform_in(-0.01, 0.01), phi = uniform_in(-0.02, 0.02);
            const double left = gap + y + phi * fmin(-0.5, -0.5 - d), /* all arms from its centre */
                left_too = gap + y + phi * fmax(-0.5, -0.5 - d);
            const double right = gap + y + phi * fmin(0.5, 0.5 - d),
                         right_too = gap + y + phi * fmax(0.5, 0.5 - d);
            const double told = fmin(fmax(left, left_too), fmax(right, right_too));
            double said = INFINITY;
            for (size_t i = 0; i < 2; ++i) {
                const perpi_candidate* candidate = &t.list.item[i];
                const vec3 arm = v3_sub(candidate->point_b, upper.x);
                const vec3 move = v3(-s * y - phi * arm.y, c * y + phi * arm.x, 0);
                said = fmin(said, candidate->gap + v3_dot(candidate->normal, move));
            }
            open += told > 1e-12;
            closed += told < -1e-12;
            CHECK(fabs(told) <= 1e-12 || (told > 0.0) == (said > 0.0));
        }
    }
    CHECK(open > 300 && closed > 300);
    touches_destroy(&t);
}

TEST(a_box_meets_as_the_polygon_that_it_is)
{
    candidates t = touches_create(), u = touches_create();
    const double square[] = {-0.5, -0.4, 0.5, -0.4, 0.5, 0.4, -0.5, 0.4};
    perpi_shape a = make_polygon(t.context, square, 4);
    perpi_shape box = {.type = PERP_SHAPE_BOX2, .half = {0.5, 0.4, 0}};
    for (int trial = 0; trial < 300; ++trial) {
        const perpi_pose one = planar_pose(0.3, -2, uniform_in(-3, 3));
        const perpi_pose two =
            planar_pose(0.3 + uniform_in(-1, 1), -2 + uniform_in(-1, 1), uniform_in(-3, 3));
        const size_t n = meet_by(&t, &perpi_rule_peg, &a, &one, &a, &two, 0.1);
        CHECK_EQ_INT((int)n, (int)meet_by(&u, &perpi_rule_peg, &box, &one, &box, &two, 0.1));
        for (size_t i = 0; i < n; ++i) {
            CHECK_EQ_INT((int)t.list.item[i].feature, (int)u.list.item[i].feature);
            CHECK_NEAR(t.list.item[i].gap, u.list.item[i].gap, 1e-13);
        }
    }
    perpi_shape_free(t.context, &a);
    touches_destroy(&t);
    touches_destroy(&u);
}

TEST(depth_is_found_however_deep)
{
    candidates t = touches_create();
    double va[32], vb[32];
    for (int trial = 0; trial < 400; ++trial) {
        perpi_shape a = random_polygon(t.context, 0), b = random_polygon(t.context, 0);
        const perpi_pose pa = planar_pose(1, 2, uniform_in(-3, 3));
        const perpi_pose pb =
            planar_pose(1 + uniform_in(-0.5, 0.5), 2 + uniform_in(-0.5, 0.5), uniform_in(-3, 3));
        world(&a, &pa, va);
        world(&b, &pb, vb);
        const double s = perp_polygon_compare(va, a.count, vb, b.count).separation;
        meet_by(&t, NULL, &a, &pa, &b, &pb, 0.0);
        if (s < 0.0) {
            CHECK(t.list.count >= 1);
            CHECK_NEAR(least_gap(&t), s, 1e-12);
        } else {
            CHECK_EQ_INT((int)t.list.count, 0);
        }
        perpi_shape_free(t.context, &a);
        perpi_shape_free(t.context, &b);
    }
    touches_destroy(&t);
}

TEST(names_of_features_are_unique_and_fit)
{
    candidates t = touches_create();
    for (int trial = 0; trial < 60; ++trial) {
        const int n = trial < 30 ? 0 : 1000;
        perpi_shape a = random_polygon(t.context, n), b = random_polygon(t.context, n);
        const perpi_pose pa = planar_pose(0, 0, uniform_in(-3, 3));
        const perpi_candidate_rule* const rules[] = {NULL, &perpi_rule_lnc, &perpi_rule_peg};
        for (int r = 0; r < 3; ++r) {
            const perpi_candidate_rule* rule = rules[r];
            for (double d = 0.4; d < 2.0; d += 0.11) {
                const perpi_pose pb = planar_pose(d, 0.1, 1.0);
                meet_by(&t, rule, &a, &pa, &b, &pb, 0.02);
                for (size_t i = 0; i < t.list.count; ++i) {
                    CHECK(t.list.item[i].feature < 1u << 24);
                    for (size_t k = 0; k < i && n == 0; ++k) {
                        CHECK(t.list.item[i].feature != t.list.item[k].feature);
                    }
                }
                CHECK(t.list.count <= 64 * 8 || rule != &perpi_rule_peg);
            }
        }
        perpi_shape_free(t.context, &a);
        perpi_shape_free(t.context, &b);
    }
    touches_destroy(&t);
}
