/* tests/unit/shape/polyhedron_compare_test.c - depth and volume of overlap of convex polyhedra. */
#include "perp_test.h"
#include "shape/cell.h"

static perp_context* context;

static void setup(void)
{
    if (context == NULL) {
        CHECK_OK(perp_context_create(NULL, &context));
    }
}

__attribute__((destructor)) static void teardown(void)
{
    perp_context_destroy(context);
}

static double uniform(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static perpi_pose at(vec3 x, vec3 turn)
{
    const quat q = q4_exp(turn);
    return (perpi_pose){x, q, q4_matrix(q)};
}

static perpi_polyhedron* hull(const double* x, int32_t n)
{
    perpi_polyhedron* p = NULL;
    CHECK_OK(perpi_polyhedron_hull(context, x, n, &p, NULL));
    return p;
}

static perpi_polyhedron* solid(const char* name, double radius)
{
    static double x[3 * PERP_SOLID_VERTICES];
    const perp_solid_def def = {
        .name = name, .radius = radius, .sides = 9, .length = radius, .size = {1, 1, 1}};
    int32_t n = 0;
    CHECK_OK(perp_solid_vertices(context, &def, x, &n));
    return hull(x, n);
}

static perp_polyhedron_measure compare(const perpi_polyhedron* a, perpi_pose pose_a,
                                       const perpi_polyhedron* b, perpi_pose pose_b)
{
    perp_polyhedron_measure m = {NAN, NAN};
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    CHECK_OK(perpi_polyhedron_compare(&arena, a, &pose_a, b, &pose_b, &m));
    perpi_arena_free(&arena);
    return m;
}

TEST(boxes_along_the_axes_share_what_the_products_say)
{
    setup();
    perpi_polyhedron *a, *b;
    REQUIRE_OK(perpi_polyhedron_box(context, v3(1, 1, 1), &a));
    REQUIRE_OK(perpi_polyhedron_box(context, v3(0.5, 2, 0.75), &b));
    const vec3 none = {0, 0, 0};
    perp_polyhedron_measure m = compare(a, at(none, none), b, at(v3(1.25, 0.5, -1), none));
    CHECK_NEAR(m.volume, 0.25 * 2 * 0.75, 1e-15);
    CHECK_NEAR(m.separation, -0.25, 1e-15);
    m = compare(a, at(none, none), b, at(v3(1.75, 0.5, -1), none));
    CHECK_NEAR(m.separation, 0.25, 1e-15);
    CHECK(m.volume == 0.0);
    /* one inside the other; the same twice; touching */
    CHECK_NEAR(compare(a, at(none, none), a, at(none, none)).volume, 8.0, 1e-14);
    CHECK_NEAR(compare(a, at(none, none), a, at(none, none)).separation, -2.0, 1e-15);
    m = compare(a, at(none, none), a, at(v3(2, 0, 0), none));
    CHECK(m.volume == 0.0 && m.separation == 0.0);
    perpi_polyhedron_free(context, a);
    perpi_polyhedron_free(context, b);
}

/* A sliver of thickness d and area 4, from 1e-3 down to 1e-14: relative accuracy is kept as far as
 * the coordinates represent it. */
TEST(a_sliver_keeps_its_relative_precision)
{
    setup();
    perpi_polyhedron* a;
    REQUIRE_OK(perpi_polyhedron_box(context, v3(1, 1, 1), &a));
    const vec3 none = {0, 0, 0};
    for (int k = 3; k <= 14; ++k) {
        const double z = 2.0 - pow(10.0, -k), d = 2.0 - z;
        const perp_polyhedron_measure m = compare(a, at(none, none), a, at(v3(0, 0, z), none));
        CHECK_NEAR(m.volume, 4.0 * d, 1e-12 * d);
        CHECK_NEAR(m.separation, -d, 1e-15 * d);
    }
    /* a corner that pokes through a face: the tetrahedron of height d under a cube's vertex */
    const vec3 tip = v3_scale(1.0 / sqrt(3.0), v3(1, 1, 1));
    const vec3 axis = v3_unit(v3_cross(tip, v3(0, 0, -1)));
    const perpi_pose standing = at(none, v3_scale(acos(v3_dot(tip, v3(0, 0, -1))), axis));
    for (int k = 1; k <= 6; ++k) {
        const double d = pow(10.0, -k);
        perpi_pose pose = standing;
        pose.x = v3(0.1, -0.05, 1.0 + sqrt(3.0) - d);
        const perp_polyhedron_measure m = compare(a, at(none, none), a, pose);
        /* three mutually orthogonal edges, equally steep: volume sqrt(3)/2 d^3 */
        CHECK_NEAR(m.volume, 0.5 * sqrt(3.0) * d * d * d, 1e-9 * d * d * d + 1e-15 * d * d);
        CHECK_NEAR(m.separation, -d, 1e-14);
    }
    perpi_polyhedron_free(context, a);
}

/* Two cubes, one turned by 45 degrees about x and one about y, crossing with an edge each. */
TEST(crossed_edges_have_the_depth_of_the_edges)
{
    setup();
    perpi_polyhedron* a;
    REQUIRE_OK(perpi_polyhedron_box(context, v3(1, 1, 1), &a));
    const double eighth = 0.7853981633974483, s = sqrt(2.0);
    const double d = 0.01;
    const perp_polyhedron_measure m = compare(a, at(v3(0, 0, 0), v3(eighth, 0, 0)), a,
                                              at(v3(0.2, -0.1, 2 * s - d), v3(0, eighth, 0)));
    CHECK_NEAR(m.separation, -d, 1e-14);
    /* at height z the slices are 2z by 2(d - z) */
    CHECK_NEAR(m.volume, 4.0 * d * d * d / 6.0, 1e-13 * d);
    perpi_polyhedron_free(context, a);
}

static double gap_along(const perpi_polyhedron* a, const perpi_pose* pose_a,
                        const perpi_polyhedron* b, const perpi_pose* pose_b, vec3 n)
{
    double high = -INFINITY, low = INFINITY;
    for (int32_t k = 0; k < a->vertex_count; ++k) {
        high = fmax(high, v3_dot(n, perpi_pose_point(pose_a, a->vertex[k])));
    }
    for (int32_t k = 0; k < b->vertex_count; ++k) {
        low = fmin(low, v3_dot(n, perpi_pose_point(pose_b, b->vertex[k])));
    }
    return low - high;
}

/* The least translation that parts two bodies: along every normal and across every pair of edges,
 * both ways, with the extent of all vertices. */
static double searched(const perpi_polyhedron* a, const perpi_pose* pose_a,
                       const perpi_polyhedron* b, const perpi_pose* pose_b)
{
    double best = -INFINITY;
    for (int32_t f = 0; f < a->face_count; ++f) {
        best = fmax(best, gap_along(a, pose_a, b, pose_b, m3_mul(pose_a->R, a->normal[f])));
    }
    for (int32_t f = 0; f < b->face_count; ++f) {
        const vec3 n = v3_neg(m3_mul(pose_b->R, b->normal[f]));
        best = fmax(best, gap_along(a, pose_a, b, pose_b, n));
    }
    for (int32_t i = 0; i < a->edge_count; ++i) {
        const vec3 u = m3_mul(
            pose_a->R, v3_sub(a->vertex[a->edge[i].vertex[1]], a->vertex[a->edge[i].vertex[0]]));
        for (int32_t k = 0; k < b->edge_count; ++k) {
            const vec3 w = m3_mul(pose_b->R, v3_sub(b->vertex[b->edge[k].vertex[1]],
                                                    b->vertex[b->edge[k].vertex[0]]));
            const vec3 n = v3_cross(u, w);
            if (v3_norm(n) > 1e-6) {
                best = fmax(best, gap_along(a, pose_a, b, pose_b, v3_unit(n)));
                best = fmax(best, gap_along(a, pose_a, b, pose_b, v3_neg(v3_unit(n))));
            }
        }
    }
    return best;
}

/* An independent volume of the overlap: its vertices are the triple points of all planes that lie
 * in both; their hull is taken. */
static double by_triple_points(const perpi_polyhedron* a, const perpi_pose* pose_a,
                               const perpi_polyhedron* b, const perpi_pose* pose_b)
{
    static vec3 n[64];
    static double d[64];
    int32_t count = 0;
    for (int side = 0; side < 2; ++side) {
        const perpi_polyhedron* p = side == 0 ? a : b;
        const perpi_pose* pose = side == 0 ? pose_a : pose_b;
        for (int32_t f = 0; f < p->face_count; ++f) {
            n[count] = m3_mul(pose->R, p->normal[f]);
            d[count] = p->offset[f] + v3_dot(n[count], pose->x);
            ++count;
        }
    }
    static double x[3 * 4000];
    int32_t found = 0;
    for (int32_t i = 0; i < count; ++i) {
        for (int32_t j = i + 1; j < count; ++j) {
            for (int32_t k = j + 1; k < count; ++k) {
                const double det = v3_dot(n[i], v3_cross(n[j], n[k]));
                if (fabs(det) < 1e-9) {
                    continue;
                }
                const vec3 q =
                    v3_scale(1.0 / det, v3_add(v3_scale(d[i], v3_cross(n[j], n[k])),
                                               v3_add(v3_scale(d[j], v3_cross(n[k], n[i])),
                                                      v3_scale(d[k], v3_cross(n[i], n[j])))));
                bool inside = true;
                for (int32_t l = 0; l < count && inside; ++l) {
                    inside = v3_dot(n[l], q) <= d[l] + 1e-11;
                }
                if (inside && found < 4000) {
                    v3_to(q, x + 3 * found++);
                }
            }
        }
    }
    perpi_polyhedron* p = NULL;
    if (found < 4 || perpi_polyhedron_hull(context, x, found, &p, NULL) != PERP_OK) {
        return 0.0;
    }
    const double volume = p->mass.mass;
    perpi_polyhedron_free(context, p);
    return volume;
}

TEST(random_pairs_agree_with_a_search_and_with_the_triple_points_of_their_planes)
{
    setup();
    const char* const names[] = {"tetrahedron", "cube",        "octahedron",
                                 "prism",       "icosahedron", "dodecahedron"};
    uint64_t seed = 11;
    int overlapping = 0;
    for (int i = 0; i < 60; ++i) {
        perpi_polyhedron* a = solid(names[i % 6], 1.0);
        perpi_polyhedron* b = solid(names[i / 6 % 6], 0.5 + uniform(&seed));
        const perpi_pose pose_a =
            at(v3(5, -3, 2), v3(uniform(&seed), 2 * uniform(&seed), uniform(&seed)));
        const perpi_pose pose_b =
            at(v3(5 + 2 * uniform(&seed) - 1, -3 + uniform(&seed), 2 - uniform(&seed)),
               v3(3 * uniform(&seed), uniform(&seed), -uniform(&seed)));
        const perp_polyhedron_measure m = compare(a, pose_a, b, pose_b);
        const perp_polyhedron_measure w = compare(b, pose_b, a, pose_a);
        CHECK_NEAR(m.volume, w.volume, 1e-13);
        CHECK_NEAR(m.separation, w.separation, 1e-13);
        const double s = searched(a, &pose_a, b, &pose_b);
        if (m.separation < 0.0) {
            ++overlapping;
            CHECK_NEAR(m.separation, s, 1e-13);
            CHECK_NEAR(m.volume, by_triple_points(a, &pose_a, b, &pose_b), 1e-10);
            CHECK(m.volume > 0.0);
        } else {
            CHECK(m.volume == 0.0 && s > 0.0);
            CHECK_AT_MOST(m.separation, s + 1e-13);
        }
        perpi_polyhedron_free(context, a);
        perpi_polyhedron_free(context, b);
    }
    CHECK(overlapping >= 20);
}

TEST(the_share_of_random_points_inside_both_is_the_volume)
{
    setup();
    perpi_polyhedron *a = solid("dodecahedron", 1.0), *b = solid("icosahedron", 1.0);
    const perpi_pose pose_a = at(v3(0, 0, 0), v3(0.2, 0.1, 0.4));
    const perpi_pose pose_b = at(v3(0.5, 0.4, -0.3), v3(-0.6, 0.2, 0));
    uint64_t seed = 9;
    const int n = 200000;
    int hits = 0;
    for (int i = 0; i < n; ++i) {
        const vec3 x = v3(2 * uniform(&seed) - 1, 2 * uniform(&seed) - 1, 2 * uniform(&seed) - 1);
        const vec3 p = m3_tmul(pose_a.R, v3_sub(x, pose_a.x));
        const vec3 q = m3_tmul(pose_b.R, v3_sub(x, pose_b.x));
        bool inside = true;
        for (int32_t f = 0; f < a->face_count; ++f) {
            inside = inside && v3_dot(a->normal[f], p) <= a->offset[f];
        }
        for (int32_t f = 0; f < b->face_count; ++f) {
            inside = inside && v3_dot(b->normal[f], q) <= b->offset[f];
        }
        hits += inside;
    }
    const double share = (double)hits / n;
    CHECK_NEAR(compare(a, pose_a, b, pose_b).volume, 8.0 * share,
               4.0 * 8.0 * sqrt(share * (1 - share) / n));
    perpi_polyhedron_free(context, a);
    perpi_polyhedron_free(context, b);
}

/* Faces in one plane, edges on edges, vertices on vertices: rounding decides every comparison, and
 * the surface must still be closed. */
TEST(coincident_features_at_odd_angles_do_not_break_the_cell)
{
    setup();
    uint64_t seed = 21;
    perpi_polyhedron* a;
    REQUIRE_OK(perpi_polyhedron_box(context, v3(0.5, 0.5, 0.5), &a));
    for (int i = 0; i < 500; ++i) {
        const perpi_pose pose_a = at(v3(uniform(&seed), uniform(&seed), uniform(&seed)),
                                     v3(uniform(&seed), uniform(&seed), uniform(&seed)));
        perpi_pose pose_b = pose_a;
        const double dx = i % 3 * 0.5, dy = i / 3 % 3 * 0.5, dz = i / 9 % 2 * 0.25;
        pose_b.x = perpi_pose_point(&pose_a, v3(dx, dy, dz));
        const perp_polyhedron_measure m = compare(a, pose_a, a, pose_b);
        CHECK_NEAR(m.volume, (1 - dx) * (1 - dy) * (1 - dz), 1e-14);
        const double deep = fmin(1 - dx, fmin(1 - dy, 1 - dz));
        CHECK_NEAR(m.separation, -deep, 1e-14);
    }
    perpi_polyhedron_free(context, a);
}

TEST(many_faces_against_many_faces)
{
    setup();
    static double x[3 * 400];
    uint64_t seed = 4;
    for (int i = 0; i < 400; ++i) {
        const vec3 u =
            v3_unit(v3(uniform(&seed) - 0.5, uniform(&seed) - 0.5, uniform(&seed) - 0.5));
        v3_to(u, x + 3 * i);
    }
    perpi_polyhedron* a = hull(x, 400);
    const perp_polyhedron_measure m =
        compare(a, at(v3(0, 0, 0), v3(0, 0, 0)), a, at(v3(0, 0, 1), v3(1, 0, 0)));
    /* two unit balls at distance 1 share 5 pi / 12; the hulls a little less */
    CHECK(m.volume < 5 * 3.14159265 / 12 && m.volume > 0.9 * 5 * 3.14159265 / 12);
    CHECK(m.separation > -1.0 && m.separation < -0.95);
    perpi_polyhedron_free(context, a);
}

TEST(points_can_be_compared_directly_and_a_plane_cuts_off_its_part)
{
    setup();
    const double a[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const double b[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.2, 0.2, 0.2};
    perp_polyhedron_measure m;
    REQUIRE_OK(perp_polyhedron_compare(context, a, 4, b, 5, &m));
    CHECK_NEAR(m.volume, 1.0 / 6.0, 1e-15);
    CHECK_EQ_INT(perp_polyhedron_compare(context, a, 3, b, 5, &m), PERP_ERROR_INPUT);
    perpi_polyhedron* p = hull(a, 4);
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    const perpi_pose pose = at(v3(1, 2, 3), v3(0, 0, 0));
    double volume = 0.0;
    REQUIRE_OK(perpi_polyhedron_below(&arena, p, &pose, v3(0, 0, 1), 3.5, &volume));
    CHECK_NEAR(volume, 1.0 / 6.0 - 1.0 / 48.0, 1e-15);
    REQUIRE_OK(perpi_polyhedron_below(&arena, p, &pose, v3(0, 0, 1), 2.5, &volume));
    CHECK(volume == 0.0);
    perpi_arena_free(&arena);
    perpi_polyhedron_free(context, p);
}
