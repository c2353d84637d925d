/* tests/unit/collide/polyhedron_test.c - feature pairs of two polyhedra, and the constraints of their
 * groups. The reference uses no features: separating axes over all faces and all pairs of edges. */
#include "geometry.h"
#include "perp_test.h"
#include "shape/polyhedron.h"
#include "contact/rules.h"

/* ---- bodies ----------------------------------------------------------------------------------------- */

static perpi_shape hull_of(perp_context* context, const double* x, int32_t n)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    perpi_shape s = {0};
    d.vertices = x;
    d.vertex_count = n;
    CHECK_OK(perpi_shape_make(context, &d, 3, &s));
    return s;
}

static perpi_shape box_of(perp_context* context, double x, double y, double z)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_BOX);
    perpi_shape s = {0};
    d.size[0] = 2 * x;
    d.size[1] = 2 * y;
    d.size[2] = 2 * z;
    CHECK_OK(perpi_shape_make(context, &d, 3, &s));
    return s;
}

/* n points on an ellipsoid. */
static perpi_shape random_hull(perp_context* context, int n)
{
    double x[3 * 1200];
    const vec3 r = v3(random_in(0.4, 1), random_in(0.4, 1), random_in(0.4, 1));
    for (int i = 0; i < n; ++i) {
        const vec3 u = v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)));
        x[3 * i] = r.x * u.x;
        x[3 * i + 1] = r.y * u.y;
        x[3 * i + 2] = r.z * u.z;
    }
    return hull_of(context, x, n);
}

enum { CUBE, TETRAHEDRON, OCTAHEDRON, ICOSAHEDRON, PRISM, SLAB, KINDS };

static perpi_shape regular(perp_context* context, int kind)
{
    static const double tetrahedron[] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1};
    static const double octahedron[] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};
    double x[36];
    int n = 0;
    switch (kind) {
    case CUBE: return box_of(context, 0.5, 0.5, 0.5);
    case SLAB: return box_of(context, 1.5, 1.5, 0.25);
    case TETRAHEDRON: return hull_of(context, tetrahedron, 4);
    case OCTAHEDRON: return hull_of(context, octahedron, 6);
    case PRISM:
        for (; n < 10; ++n) {
            x[3 * n] = 0.7 * cos(2 * M_PI * (n % 5) / 5);
            x[3 * n + 1] = 0.7 * sin(2 * M_PI * (n % 5) / 5);
            x[3 * n + 2] = n < 5 ? 0.4 : -0.4;
        }
        return hull_of(context, x, n);
    default:
        for (; n < 12; ++n) {
            const double g = 0.5 * (1 + sqrt(5)), s = n & 1 ? 1 : -1, t = n & 2 ? g : -g;
            const int k = n / 4;
            x[3 * n + k] = 0;
            x[3 * n + (k + 1) % 3] = 0.5 * s;
            x[3 * n + (k + 2) % 3] = 0.5 * t;
        }
        return hull_of(context, x, n);
    }
}

/* ---- the reference ---------------------------------------------------------------------------------------------- */

enum { MOST = 64 };

typedef struct cloud {
    vec3 v[MOST];
    vec3 n[2 * MOST], e[3 * MOST];
    int vertices, normals, edges;
} cloud;

static cloud cloud_of(const perpi_shape* s, const perpi_pose* pose)
{
    const perpi_polyhedron* p = s->polyhedron;
    cloud c = {.vertices = p->vertex_count, .normals = p->face_count, .edges = p->edge_count};
    CHECK(p->vertex_count <= MOST);
    for (int i = 0; i < c.vertices; ++i) {
        c.v[i] = perpi_pose_point(pose, p->vertex[i]);
    }
    for (int i = 0; i < c.normals; ++i) {
        c.n[i] = m3_mul(pose->R, p->normal[i]);
    }
    for (int i = 0; i < c.edges; ++i) {
        c.e[i] = v3_unit(v3_sub(c.v[p->edge[i].vertex[1]], c.v[p->edge[i].vertex[0]]));
    }
    return c;
}

static double gap_along(const cloud* a, const cloud* b, vec3 n)
{
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < b->vertices; ++i) {
        lo = fmin(lo, v3_dot(n, b->v[i]));
    }
    for (int i = 0; i < a->vertices; ++i) {
        hi = fmax(hi, v3_dot(n, a->v[i]));
    }
    return lo - hi;
}

/* > 0: apart; < 0: minus the depth. *along: the direction. */
static double separation(const cloud* a, const cloud* b, vec3* along)
{
    double best = -INFINITY;
    vec3 way = v3(0, 0, 1);
    for (int i = 0; i < a->normals + b->normals + a->edges * b->edges; ++i) {
        const int k = i - a->normals, l = k - b->normals;
        const vec3 w = i < a->normals   ? a->n[i]
                       : k < b->normals ? v3_neg(b->n[k])
                                        : v3_cross(a->e[l / b->edges], b->e[l % b->edges]);
        const double length = v3_norm(w);
        for (double sign = -1; sign <= 1 && length > 1e-9; sign += 2) {
            const vec3 n = v3_scale(sign / length, w);
            const double s = gap_along(a, b, n);
            if (s > best) {
                best = s;
                way = n;
            }
        }
    }
    if (along != NULL) {
        *along = way;
    }
    return best;
}

/* ---- the constraints of the candidates ------------------------------------------------------------------- */

static size_t meet_by(candidates* t, const perpi_candidate_rule* rule, const perpi_shape* a,
                      const perpi_pose* pa, const perpi_shape* b, const perpi_pose* pb,
                      double margin)
{
    t->list.rule = rule;
    t->list.count = 0;
    bool flipped;
    const perpi_pair_fn find = perpi_pair_find(rule != NULL, a->type, b->type, &flipped);
    t->list.flipped = flipped;
    CHECK_OK(flipped ? find(b, pb, a, pa, margin, &t->list) : find(a, pa, b, pb, margin, &t->list));
    return t->list.count;
}

/* The worst group's most open member after b has moved by x and turned by d about c, to first order. */
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

/* Moves b from outside along `way` until the separation has the given value: it is convex and
 * piecewise linear along the way, so Newton's method is finite. */
static perpi_pose bring_near(const perpi_shape* A, const perpi_pose* pa, const perpi_shape* B,
                             quat turn, vec3 way, double gap)
{
    const cloud a = cloud_of(A, pa);
    double far = 8;
    perpi_pose pb = pose_at(v3_madd(pa->x, far, way), turn);
    for (int i = 0; i < 20; ++i) {
        const cloud b = cloud_of(B, &pb);
        vec3 n;
        const double s = separation(&a, &b, &n) - gap;
        if (fabs(s) < 1e-15 || !(v3_dot(n, way) > 1e-6)) {
            break;
        }
        far -= s / v3_dot(n, way);
        pb.x = v3_madd(pa->x, far, way);
    }
    return pb;
}

/* Whether the bodies overlap anywhere on the straight way to a pose by more than `allowed`. */
static bool passes_through(const cloud* a, const perpi_shape* B, const perpi_pose* pb, vec3 x,
                           vec3 d, double allowed)
{
    for (int i = 1; i < 32; ++i) {
        const double s = i / 32.0;
        const perpi_pose pose =
            pose_at(v3_madd(pb->x, s, x), q4_mul(q4_exp(v3_scale(s, d)), pb->q));
        const cloud b = cloud_of(B, &pose);
        if (separation(a, &b, NULL) < -allowed) {
            return true;
        }
    }
    return false;
}

typedef struct tally {
    int through; /* poses that are reached only through the other body */
    int apart, overlapping, singles, grouped, groups, most_groups;
    int wrong;                          /* by more than motion^2 / size */
    double missed, trapped;             /* worst, over motion^2 / size */
    double missed_first, trapped_first; /* worst, over motion */
} tally;

/* How well the rotation is known before the motion: not at all, or up to a relative error, as from
 * the free motion. */
static double told = INFINITY;

static void try_motions(candidates* t, const perpi_shape* A, const perpi_pose* pa,
                        const perpi_shape* B, const perpi_pose* pb, double margin, int moves,
                        tally* sum)
{
    meet_by(t, &perpi_rule_peg, A, pa, B, pb, margin);
    int32_t groups = 0;
    for (size_t i = 0; i < t->list.count; ++i) {
        sum->singles += t->list.item[i].group == 0;
        sum->grouped += t->list.item[i].group != 0;
        groups = t->list.item[i].group > groups ? t->list.item[i].group : groups;
    }
    sum->groups += groups;
    sum->most_groups = groups > sum->most_groups ? groups : sum->most_groups;
    const cloud a = cloud_of(A, pa);
    const double size = fmin(A->polyhedron->size, B->polyhedron->size);
    for (int i = 0; i < moves; ++i) {
        const vec3 x = v3_scale(0.45 * margin * random_unit(), v3_unit(random_vec(1)));
        const vec3 d =
            v3_scale(0.45 * margin / B->polyhedron->size * random_unit(), v3_unit(random_vec(1)));
        if (told < INFINITY) {
            const vec3 off = v3_scale(told * v3_norm(d), v3_unit(random_vec(1)));
            t->list.spin[0] = v3_add(d, off);
            t->list.spins = 1;
            t->list.turn = told * v3_norm(d);
            meet_by(t, &perpi_rule_peg, A, pa, B, pb, margin);
        }
        const quat q = q4_mul(q4_exp(d), pb->q);
        const perpi_pose moved = pose_at(v3_add(pb->x, x), q);
        const cloud b = cloud_of(B, &moved);
        const double s = separation(&a, &b, NULL), worst = all_hold(t, pb->x, x, d);
        const double motion = v3_norm(x) + v3_norm(d) * B->polyhedron->size;
        const double second = motion * motion / size;
        if (s < 0) {
            sum->overlapping += 1;
            if (worst >= 0) {
                sum->missed = fmax(sum->missed, -s / second);
                sum->missed_first = fmax(sum->missed_first, -s / motion);
                sum->wrong += -s > second;
            }
        } else {
            sum->apart += 1;
            if (worst < 0 && passes_through(&a, B, pb, x, d, 1e-3 * motion)) {
                sum->through += 1;
            } else if (worst < 0) {
                sum->trapped = fmax(sum->trapped, -worst / second);
                sum->trapped_first = fmax(sum->trapped_first, -worst / motion);
                sum->wrong += -worst > second;
            }
        }
    }
}

static void print_tally(const char* what, const tally* s, int poses)
{
    TEST_PRINT("%-26s %5d apart (%d through), %5d overlapping; a pose has %.1f alone, %.1f in %.1f "
               "groups (most "
               "%d); off by more than motion^2/size: %d; missed %.2g, trapped %.2g times that, "
               "%.2g, %.2g times the motion",
               what, s->apart, s->through, s->overlapping, (double)s->singles / poses,
               (double)s->grouped / poses, (double)s->groups / poses, s->most_groups, s->wrong,
               s->missed, s->trapped, s->missed_first, s->trapped_first);
}

/* The defining property of PEG: after any motion within the margin all groups hold exactly if the
 * bodies are apart, to first order in the motion; poses behind a body, reached through it, may be
 * forbidden. */
TEST(groups_hold_exactly_if_the_bodies_are_apart)
{
    candidates t = touches_create();
    tally sum = {0};
    const int poses = 500;
    random_state = 1;
    for (int trial = 0; trial < poses; ++trial) {
        perpi_shape A = random_hull(t.context, 4 + random_below(14));
        perpi_shape B = random_hull(t.context, 4 + random_below(14));
        const double margin = pow(10, random_in(-4, -1.3));
        const perpi_pose pa = pose_at(random_vec(3), random_turn(3));
        const perpi_pose pb = bring_near(&A, &pa, &B, random_turn(3), v3_unit(random_vec(1)),
                                         random_in(-0.1, 0.4) * margin);
        try_motions(&t, &A, &pa, &B, &pb, margin, 20, &sum);
        perpi_shape_free(t.context, &A);
        perpi_shape_free(t.context, &B);
    }
    print_tally("generic", &sum, poses);
    CHECK(sum.apart > 3000 && sum.overlapping > 1500 && sum.grouped > 100);
    CHECK_AT_MOST(sum.missed, 0.5);
    CHECK_AT_MOST(sum.trapped, 0.5);
    touches_destroy(&t);
}

/* Faces on faces, edges along edges, corner to corner. Parallel edges are not pairs: where the
 * motion makes them cross, the vertices at their ends may restrict the bodies by a part of the
 * motion. */
TEST(groups_hold_also_where_everything_is_aligned)
{
    static const char* name[KINDS] = {"cube",        "tetrahedron", "octahedron",
                                      "icosahedron", "prism",       "slab"};
    candidates t = touches_create();
    tally all = {0};
    random_state = 2;
    for (int k = 0; k < KINDS * KINDS; ++k) {
        tally sum = {0};
        perpi_shape A = regular(t.context, k / KINDS), B = regular(t.context, k % KINDS);
        const int poses = 16;
        for (int trial = 0; trial < poses; ++trial) {
            const double margin = pow(10, random_in(-4, -1.3));
            const perpi_pose pa = pose_at(random_vec(3), q4_identity());
            /* along an axis, a diagonal of two or of three, or anywhere; a little aside */
            vec3 way = random_vec(1);
            if (trial % 4 != 0) {
                way = v3(random_below(3) - 1, random_below(3) - 1, random_below(3) - 1);
                way = v3_dot(way, way) > 0 ? way : v3(0, 0, 1);
            }
            if (trial % 3 == 0) {
                way = v3_madd(way, pow(10, random_in(-9, 0)), random_vec(1));
            }
            const perpi_pose pb = bring_near(&A, &pa, &B, random_special_turn(3), v3_unit(way),
                                             trial % 2 == 0 ? 0 : random_in(-0.1, 0.4) * margin);
            try_motions(&t, &A, &pa, &B, &pb, margin, 20, &sum);
        }
        char what[64];
        snprintf(what, sizeof what, "%s, %s", name[k / KINDS], name[k % KINDS]);
        print_tally(what, &sum, poses);
        all.apart += sum.apart;
        all.overlapping += sum.overlapping;
        all.wrong += sum.wrong;
        all.missed = fmax(all.missed, sum.missed);
        all.trapped_first = fmax(all.trapped_first, sum.trapped_first);
        perpi_shape_free(t.context, &A);
        perpi_shape_free(t.context, &B);
    }
    CHECK(all.apart > 4000 && all.overlapping > 4000);
    CHECK_AT_MOST(all.missed, 1.0);
    CHECK_AT_MOST(all.trapped_first, 0.5);
    CHECK_AT_MOST(all.wrong, 5);
    touches_destroy(&t);
}

TEST(edges_that_run_along_each_other_cross_at_most_a_part_of_the_motion_off)
{
    candidates t = touches_create();
    random_state = 3;
    for (int k = 0; k < 4; ++k) {
        tally sum = {0};
        perpi_shape A = regular(t.context, CUBE), B = regular(t.context, k & 1 ? PRISM : CUBE);
        const int poses = 80;
        for (int trial = 0; trial < poses; ++trial) {
            const double margin = pow(10, random_in(-3, -1.3));
            const perpi_pose pa = pose_at(random_vec(3), q4_identity());
            const vec3 way = v3(1, k & 2 ? 1 : random_in(0, 1), random_in(-1, 1));
            const quat q = q4_exp(v3_scale(k == 0 ? 0 : pow(10, random_in(-6, -1)), random_vec(1)));
            const perpi_pose pb =
                bring_near(&A, &pa, &B, q, v3_unit(way), random_in(-0.1, 0.4) * margin);
            try_motions(&t, &A, &pa, &B, &pb, margin, 20, &sum);
        }
        print_tally("edge along edge", &sum, poses);
        CHECK_AT_MOST(sum.missed_first, 0.1);
        CHECK_AT_MOST(sum.trapped_first, 0.5);
        CHECK_AT_MOST(sum.wrong, 20);
        perpi_shape_free(t.context, &A);
        perpi_shape_free(t.context, &B);
    }
    touches_destroy(&t);
}

static tally edges_told(candidates* t, double part, int poses)
{
    tally all = {0};
    told = part;
    for (int k = 0; k < 6; ++k) {
        tally sum = {0};
        perpi_shape A = regular(t->context, k == 4 ? TETRAHEDRON : CUBE);
        perpi_shape B = regular(t->context, k == 4 ? TETRAHEDRON : k & 1 ? PRISM : CUBE);
        for (int trial = 0; trial < poses; ++trial) {
            const double margin = pow(10, random_in(-3, -1.3));
            const perpi_pose pa = pose_at(random_vec(3), q4_identity());
            const vec3 way = v3(1, k & 2 ? 1 : random_in(0, 1), random_in(-1, 1));
            const quat q = q4_exp(
                v3_scale(k % 4 == 0 || trial % 2 ? 0 : pow(10, random_in(-6, -1)), random_vec(1)));
            const perpi_pose pb =
                bring_near(&A, &pa, &B, q, v3_unit(way), random_in(-0.1, 0.4) * margin);
            try_motions(t, &A, &pa, &B, &pb, margin, 20, &sum);
        }
        print_tally("edge along edge, told", &sum, poses);
        all.missed = fmax(all.missed, sum.missed);
        all.trapped = fmax(all.trapped, sum.trapped);
        all.trapped_first = fmax(all.trapped_first, sum.trapped_first);
        all.wrong += sum.wrong;
        perpi_shape_free(t->context, &A);
        perpi_shape_free(t->context, &B);
    }
    told = INFINITY;
    t->list.spins = 0;
    t->list.turn = INFINITY;
    return all;
}

/* Where the rotation that makes them cross is expected, the groups are as exact as elsewhere. An
 * error in the rotation may restrict the bodies by a part of it, and lets no overlap through. */
TEST(edges_that_run_along_each_other_cross_as_the_turn_says)
{
    candidates t = touches_create();
    random_state = 4;
    const tally well = edges_told(&t, 1e-3, 80), badly = edges_told(&t, 0.1, 80);
    CHECK_AT_MOST(well.missed, 0.5);
    CHECK_AT_MOST(well.trapped_first, 0.02);
    CHECK_AT_MOST(well.wrong, 1); /* 4 of 1,600 where the rotation is not known, by 0.11 of the
                                   * motion */
    CHECK_AT_MOST(badly.missed, 0.5);
    CHECK_AT_MOST(badly.trapped_first, 0.5 * 0.1);
    touches_destroy(&t);
}

/* Boxes and prisms that lie on each other, shifted and turned about the normal: one row for each corner of the
 * overlap of the two faces, no groups, and after any small motion all rows hold exactly if the
 * bodies are apart. */
TEST(faces_that_lie_flat_on_each_other_need_rows_only)
{
    candidates t = touches_create();
    tally sum = {0};
    const int poses = 400;
    random_state = 5;
    for (int trial = 0; trial < poses; ++trial) {
        perpi_shape A = regular(t.context, trial % 3 == 0 ? SLAB : CUBE);
        perpi_shape B = regular(t.context, trial % 5 == 0 ? PRISM : CUBE);
        const double margin = pow(10, random_in(-5, -3)), top = trial % 3 == 0 ? 0.25 : 0.5;
        const double half = trial % 5 == 0 ? 0.4 : 0.5;
        const double shift = trial % 2 == 0 ? pow(10, random_in(-6, -1)) : random_in(0, 0.3);
        const double angle = trial % 4 == 0 ? 0.0 : pow(10, random_in(-3, 0));
        const vec3 way = v3_scale(shift, v3_unit(v3(random_in(-1, 1), random_in(-1, 1), 0)));
        const perpi_pose pa = pose_at(v3(0, 0, 0), (quat){1, 0, 0, 0});
        const perpi_pose pb =
            pose_at(v3_add(way, v3(0, 0, top + half + 0.2 * margin)), q4_exp(v3(0, 0, angle)));
        try_motions(&t, &A, &pa, &B, &pb, margin, 20, &sum);
        perpi_shape_free(t.context, &A);
        perpi_shape_free(t.context, &B);
    }
    print_tally("flat", &sum, poses);
    CHECK_EQ_INT(sum.grouped, 0);
    CHECK(sum.apart > 2000 && sum.overlapping > 2000);
    CHECK_AT_MOST(sum.missed, 1.0);
    CHECK_AT_MOST(sum.trapped, 1.0);
    touches_destroy(&t);
}

TEST(an_overlap_is_found_at_any_depth)
{
    candidates t = touches_create();
    perpi_shape A = regular(t.context, SLAB), B = regular(t.context, CUBE);
    const double margin = 0.01;
    for (int i = 0; i < 60; ++i) {
        const double depth = 0.005 * (i % 30) * margin / 0.01;
        const quat turn = i < 30 ? (quat){1, 0, 0, 0} : q4_exp(v3(0.02, 0.03, 0.1));
        const perpi_pose pa = pose_at(v3(0, 0, 0), (quat){1, 0, 0, 0});
        const perpi_pose pb = bring_near(&A, &pa, &B, turn, v3(0, 0, 1), -depth);
        CHECK(meet_by(&t, &perpi_rule_peg, &A, &pa, &B, &pb, margin) > 0);
    }
    perpi_shape_free(t.context, &A);
    perpi_shape_free(t.context, &B);
    touches_destroy(&t);
}
