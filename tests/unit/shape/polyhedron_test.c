/* tests/unit/shape/polyhedron_test.c - hulls: features, adjacency, tree, support, mass. */
#include "shape/polyhedron.h"
#include "perp_test.h"

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

static void on_sphere(uint64_t* state, double* x)
{
    double r;
    do {
        for (int k = 0; k < 3; ++k) {
            x[k] = 2.0 * uniform(state) - 1.0;
        }
        r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    } while (r > 1.0 || r < 0.1);
    for (int k = 0; k < 3; ++k) {
        x[k] /= r;
    }
}

/* The guarantees of the header, checked from the lists alone. */
static void check_structure(const perpi_polyhedron* p)
{
    CHECK_EQ_INT(p->vertex_count - p->edge_count + p->face_count, 2);
    for (int32_t f = 0; f < p->face_count; ++f) {
        CHECK_NEAR(v3_norm(p->normal[f]), 1.0, 1e-14);
        const int32_t n = p->face_start[f + 1] - p->face_start[f];
        CHECK(n >= 3);
        for (int32_t i = 0; i < n; ++i) {
            const int32_t c = p->face_start[f] + i, d = p->face_start[f] + (i + 1) % n;
            const perpi_edge* e = &p->edge[p->side[c]];
            const int way = e->vertex[0] == p->corner[c] ? 0 : 1;
            CHECK_EQ_INT(e->vertex[way], p->corner[c]);
            CHECK_EQ_INT(e->vertex[1 - way], p->corner[d]);
            CHECK_EQ_INT(e->face[way], f);
            CHECK_NEAR(v3_dot(p->normal[f], p->vertex[p->corner[c]]), p->offset[f],
                       1e-12 * p->size);
        }
        for (int32_t v = 0; v < p->vertex_count; ++v) {
            CHECK_AT_MOST(v3_dot(p->normal[f], p->vertex[v]), p->offset[f] + 1e-12 * p->size);
        }
    }
    for (int32_t e = 0; e < p->edge_count; ++e) {
        CHECK(p->edge[e].face[0] != p->edge[e].face[1]);
        CHECK(v3_dot(p->normal[p->edge[e].face[0]], p->normal[p->edge[e].face[1]]) < 1.0 - 1e-18);
        /* left of the edge is towards face 0: n0 x direction points into it, and n1 leans that way */
        const vec3 d = v3_sub(p->vertex[p->edge[e].vertex[1]], p->vertex[p->edge[e].vertex[0]]);
        const vec3 n0 = p->normal[p->edge[e].face[0]], n1 = p->normal[p->edge[e].face[1]];
        CHECK(v3_dot(v3_cross(n0, d), n1) < 0.0);
    }
    for (int32_t v = 0; v < p->vertex_count; ++v) {
        const int32_t first = p->around_start[v], n = p->around_start[v + 1] - first;
        CHECK(n >= 3);
        for (int32_t i = 0; i < n; ++i) {
            /* from one edge to the next: through the face to the left of the one that leaves */
            const perpi_edge* e = &p->edge[p->around[first + i]];
            const perpi_edge* g = &p->edge[p->around[first + (i + 1) % n]];
            CHECK(e->vertex[0] == v || e->vertex[1] == v);
            CHECK_EQ_INT(e->face[e->vertex[0] == v ? 0 : 1], g->face[g->vertex[0] == v ? 1 : 0]);
        }
    }
    CHECK_EQ_INT(p->around_start[p->vertex_count], 2 * p->edge_count);
}

/* Every face in one leaf, every box holds what is below it. Returns the next node. */
static int32_t check_node(const perpi_polyhedron* p, int32_t at, bool* seen)
{
    const perpi_face_node* node = &p->node[at];
    if (node->count > 0) {
        for (int32_t i = 0; i < node->count; ++i) {
            const int32_t f = p->order[node->first + i];
            CHECK(!seen[f]);
            seen[f] = true;
            for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
                const vec3 x = p->vertex[p->corner[c]];
                CHECK(x.x >= node->lo.x && x.y >= node->lo.y && x.z >= node->lo.z);
                CHECK(x.x <= node->hi.x && x.y <= node->hi.y && x.z <= node->hi.z);
            }
        }
        return at + 1;
    }
    CHECK_EQ_INT(check_node(p, at + 1, seen), node->first);
    for (int32_t child = 0; child < 2; ++child) {
        const perpi_face_node* below = &p->node[child == 0 ? at + 1 : node->first];
        CHECK(below->lo.x >= node->lo.x && below->hi.z <= node->hi.z);
    }
    return check_node(p, node->first, seen);
}

static void check_tree(const perpi_polyhedron* p)
{
    static bool seen[10000];
    memset(seen, 0, sizeof seen);
    CHECK_EQ_INT(check_node(p, 0, seen), p->node_count);
    for (int32_t f = 0; f < p->face_count; ++f) {
        CHECK(seen[f]);
    }
}

static void check_support(const perpi_polyhedron* p)
{
    uint64_t seed = 5;
    for (int i = 0; i < 200; ++i) {
        double d[3];
        on_sphere(&seed, d);
        double most = -INFINITY;
        for (int32_t v = 0; v < p->vertex_count; ++v) {
            most = fmax(most, v3_dot(v3_from(d), p->vertex[v]));
        }
        const int32_t start = (int32_t)(uniform(&seed) * p->vertex_count);
        const int32_t found = perpi_polyhedron_support(p, v3_from(d), start);
        CHECK_NEAR(v3_dot(v3_from(d), p->vertex[found]), most, 1e-14 * p->size);
    }
}

TEST(a_box_has_its_features_and_exact_planes)
{
    setup();
    perpi_polyhedron* p = NULL;
    REQUIRE_OK(perpi_polyhedron_box(context, v3(0.5, 1.0, 1.5), &p));
    CHECK_EQ_INT(p->vertex_count, 8);
    CHECK_EQ_INT(p->edge_count, 12);
    CHECK_EQ_INT(p->face_count, 6);
    CHECK_EQ_INT(p->triangle_count, 12);
    check_structure(p);
    check_tree(p);
    check_support(p);
    CHECK_NEAR(p->mass.mass, 6.0, 1e-14);
    CHECK_NEAR(p->mass.inertia.m[0][0], 6.0 / 12.0 * (4.0 + 9.0), 1e-13);
    for (int f = 0; f < 6; ++f) {
        CHECK(fabs(p->normal[f].x) + fabs(p->normal[f].y) + fabs(p->normal[f].z) == 1.0);
    }
    perpi_polyhedron_free(context, p);
}

/* Points on the faces, on the edges and inside; the hull is the cube, with six square faces. */
TEST(points_on_faces_on_edges_and_inside_are_left_out)
{
    setup();
    double x[3 * 125];
    int32_t n = 0;
    for (int i = 0; i < 125; ++i) {
        x[3 * n] = i % 5 - 2;
        x[3 * n + 1] = i / 5 % 5 - 2;
        x[3 * n + 2] = i / 25 - 2;
        ++n;
    }
    perpi_polyhedron* p = NULL;
    int32_t merged = -1;
    REQUIRE_OK(perpi_polyhedron_hull(context, x, n, &p, &merged));
    CHECK_EQ_INT(merged, 0);
    CHECK_EQ_INT(p->vertex_count, 8);
    CHECK_EQ_INT(p->face_count, 6);
    check_structure(p);
    CHECK_NEAR(p->mass.mass, 64.0, 1e-12);
    perpi_polyhedron_free(context, p);
}

TEST(hulls_of_random_points_are_sound_at_any_place_scale_and_turn)
{
    setup();
    const double scales[] = {1.0, 1e-6, 1e5};
    for (int kase = 0; kase < 60; ++kase) {
        uint64_t seed = (uint64_t)kase + 1;
        const int32_t n = 4 + (int32_t)(uniform(&seed) * (kase % 6 == 5 ? 800 : 60));
        static double x[3 * 1000];
        const bool ball = kase % 2 == 0;
        const bool grid =
            kase % 5 == 1; /* coordinates on a lattice, turned: many coplanar points */
        const quat q = q4_exp(v3(uniform(&seed), uniform(&seed), uniform(&seed)));
        const double s = scales[kase % 3];
        for (int32_t i = 0; i < n; ++i) {
            double u[3];
            on_sphere(&seed, u);
            vec3 a = ball ? v3_from(u)
                          : v3(uniform(&seed) - 0.5, uniform(&seed) - 0.5, uniform(&seed) - 0.5);
            if (grid) {
                a = v3(rint(4 * a.x), rint(4 * a.y), rint(4 * a.z));
            }
            v3_to(v3_scale(s, v3_add(v3(0.3, -1, 2), q4_rotate(q, a))), x + 3 * i);
        }
        perpi_polyhedron* p = NULL;
        const perp_status status = perpi_polyhedron_hull(context, x, n, &p, NULL);
        if (grid && status == PERP_ERROR_INPUT) {
            CHECK_CONTAINS(perp_context_error(context), "all lie");
            continue; /* few points on a lattice may well be flat */
        }
        REQUIRE_OK(status);
        check_structure(p);
        check_tree(p);
        check_support(p);
        if (ball && !grid) {
            CHECK_EQ_INT(p->vertex_count, n);
            CHECK_EQ_INT(p->face_count, 2 * n - 4);
        }
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t f = 0; f < p->face_count; ++f) {
                CHECK_AT_MOST(v3_dot(p->normal[f], v3_from(x + 3 * i)) - p->offset[f],
                              1e-9 * p->size);
            }
        }
        perpi_polyhedron_free(context, p);
    }
}

TEST(vertices_keep_their_bits_and_their_order)
{
    setup();
    const double x[] = {0.1,  0.2, 0.3, 1.1, 0.25, 0.1, 0.4, 0.5,
                        0.35, 0.4, 1.7, 0.2, 0.3,  0.6, 1.9};
    perpi_polyhedron* p = NULL;
    REQUIRE_OK(perpi_polyhedron_hull(context, x, 5, &p, NULL)); /* the third lies inside */
    CHECK_EQ_INT(p->vertex_count, 4);
    const int kept[] = {0, 1, 3, 4};
    for (int i = 0; i < 4; ++i) {
        CHECK(memcmp(&p->vertex[i], x + 3 * kept[i], sizeof(vec3)) == 0);
    }
    perpi_polyhedron_free(context, p);
}

TEST(doubled_vertices_and_tiny_edges_are_merged_and_counted)
{
    setup();
    double x[3 * 24];
    for (int i = 0; i < 24; ++i) {
        const double off = 1e-12 * (i / 8);
        x[3 * i] = (i & 1) + off;
        x[3 * i + 1] = (i >> 1 & 1) - off;
        x[3 * i + 2] = (i >> 2 & 1) + off;
    }
    perpi_polyhedron* p = NULL;
    int32_t merged = 0;
    REQUIRE_OK(perpi_polyhedron_hull(context, x, 24, &p, &merged));
    CHECK_EQ_INT(merged, 16);
    CHECK_EQ_INT(p->vertex_count, 8);
    CHECK_EQ_INT(p->face_count, 6);
    CHECK_NEAR(p->mass.mass, 1.0, 1e-14);
    perpi_polyhedron_free(context, p);
}

static void refused(const double* x, int32_t n, const char* message)
{
    perpi_polyhedron* p = (perpi_polyhedron*)(void*)&context;
    CHECK_EQ_INT(perpi_polyhedron_hull(context, x, n, &p, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), message);
    CHECK(p == (perpi_polyhedron*)(void*)&context); /* untouched */
}

TEST(what_has_no_volume_is_refused_and_named)
{
    setup();
    const double few[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    refused(few, 3, "at least 4 points, got 3");
    const double line[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 5};
    refused(line, 5, "all lie on one line");
    const double flat[] = {0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0.2, 0.3, 0.2};
    refused(flat, 5, "all lie in one plane");
    const double same[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
    refused(same, 4, "all are the same point");
    const double nan[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, NAN, 1};
    refused(nan, 4, "vertices/3/1: must be finite");
    const double thin[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1e-12, 0.5, 0.5, -1e-12};
    refused(thin, 5, "all lie in one plane");
}

TEST(a_tetrahedron_weighs_what_the_formula_says)
{
    setup();
    const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    perpi_polyhedron* p = NULL;
    REQUIRE_OK(perpi_polyhedron_hull(context, x, 4, &p, NULL));
    CHECK_NEAR(p->mass.mass, 1.0 / 6.0, 1e-16);
    CHECK_NEAR(p->mass.center.x, 0.25, 1e-15);
    /* about the centre: 2 (1/60 - 1/96), products -(1/120 - 1/96) */
    CHECK_NEAR(p->mass.inertia.m[0][0], 2.0 * (1.0 / 60.0 - 1.0 / 96.0), 1e-16);
    CHECK_NEAR(p->mass.inertia.m[0][1], -(1.0 / 120.0 - 1.0 / 96.0), 1e-16);
    perpi_polyhedron_free(context, p);
}

TEST(a_thousand_vertices_climb_in_few_steps)
{
    setup();
    static double x[3 * 1000];
    uint64_t seed = 77;
    for (int i = 0; i < 1000; ++i) {
        on_sphere(&seed, x + 3 * i);
    }
    perpi_polyhedron* p = NULL;
    REQUIRE_OK(perpi_polyhedron_hull(context, x, 1000, &p, NULL));
    CHECK_EQ_INT(p->vertex_count, 1000);
    check_structure(p);
    check_tree(p);
    check_support(p);
    perpi_polyhedron_free(context, p);
}

/* ---- solids by name -------------------------------------------------------------------------------- */

TEST(solids_have_their_faces_and_the_volumes_of_the_formulas)
{
    setup();
    const double r = 0.7, s3 = sqrt(3), s5 = sqrt(5), s15 = sqrt(15);
    const double ad = 4 * r / (s15 + s3), ai = 4 * r / sqrt(10 + 2 * s5);
    const struct {
        const char* name;
        int32_t vertices, faces, corners;
        double volume;
    } known[] = {
        {"tetrahedron", 4, 4, 3, 8 * s3 / 27 * r * r * r},
        {"cube", 8, 6, 4, 8 / (3 * s3) * r * r * r},
        {"octahedron", 6, 8, 3, 4.0 / 3.0 * r * r * r},
        {"dodecahedron", 20, 12, 5, (15 + 7 * s5) / 4 * ad * ad * ad},
        {"icosahedron", 12, 20, 3, 5 * (3 + s5) / 12 * ai * ai * ai},
    };
    static double x[3 * PERP_SOLID_VERTICES];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const perp_solid_def def = {.name = known[i].name, .radius = r};
        int32_t n = 0;
        perpi_polyhedron* p = NULL;
        REQUIRE_OK(perp_solid_vertices(context, &def, x, &n));
        REQUIRE_OK(perpi_polyhedron_hull(context, x, n, &p, NULL));
        CHECK_EQ_INT(p->vertex_count, known[i].vertices);
        CHECK_EQ_INT(p->face_count, known[i].faces);
        CHECK_EQ_INT(p->face_start[1], known[i].corners);
        CHECK_NEAR(p->mass.mass, known[i].volume, 1e-14);
        CHECK_NEAR(p->size, r, 1e-15);
        check_structure(p);
        perpi_polyhedron_free(context, p);
    }
    const perp_solid_def prism = {.name = "prism", .radius = 2, .sides = 1000, .length = 3};
    int32_t n = 0;
    perpi_polyhedron* p = NULL;
    REQUIRE_OK(perp_solid_vertices(context, &prism, x, &n));
    REQUIRE_OK(perpi_polyhedron_hull(context, x, n, &p, NULL));
    CHECK_EQ_INT(p->face_count, 1002);
    CHECK_NEAR(p->mass.mass, 3 * 0.5 * 1000 * 4 * sin(2 * 3.141592653589793 / 1000), 1e-11);
    check_tree(p);
    check_support(p);
    perpi_polyhedron_free(context, p);
    const perp_solid_def block = {.name = "block", .size = {1, 2, 3}};
    REQUIRE_OK(perp_solid_vertices(context, &block, x, &n));
    REQUIRE_OK(perpi_polyhedron_hull(context, x, n, &p, NULL));
    CHECK_NEAR(p->mass.mass, 6, 1e-14);
    perpi_polyhedron_free(context, p);
    const perp_solid_def wrong = {.name = "prism", .radius = 1, .sides = 2, .length = 1};
    CHECK_EQ_INT(perp_solid_vertices(context, &wrong, x, &n), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context), "sides: must be 3 to 1000, got 2");
    const perp_solid_def nan = {.name = "cube", .radius = NAN};
    CHECK_EQ_INT(perp_solid_vertices(context, &nan, x, &n), PERP_ERROR_INPUT);
}

/* ---- as a shape -------------------------------------------------------------------------------------- */

static const double corner_points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int32_t corner_faces[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

TEST(faces_inside_out_are_turned_and_doubled_vertices_welded)
{
    setup();
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    d.vertices = corner_points;
    d.vertex_count = 4;
    d.triangles = corner_faces;
    d.triangle_count = 4;
    perpi_shape s;
    REQUIRE_OK(perpi_shape_make(context, &d, 3, &s));
    CHECK(!s.polyhedron->turned);
    CHECK_EQ_INT(s.polyhedron->merged, 0);
    perpi_shape_free(context, &s);

    int32_t inside_out[12];
    for (int i = 0; i < 12; ++i) {
        inside_out[i] = corner_faces[11 - i];
    }
    d.triangles = inside_out;
    REQUIRE_OK(perpi_shape_make(context, &d, 3, &s));
    CHECK(s.polyhedron->turned);
    CHECK_NEAR(s.polyhedron->mass.mass, 1.0 / 6.0, 1e-16);
    check_structure(s.polyhedron);
    perpi_shape_free(context, &s);

    /* every face has corners of its own, a little apart: as from a file of triangles */
    double loose[36];
    int32_t own[12];
    for (int i = 0; i < 12; ++i) {
        for (int k = 0; k < 3; ++k) {
            loose[3 * i + k] = corner_points[3 * corner_faces[i] + k] + 1e-13 * (i % 3);
        }
        own[i] = i;
    }
    d.vertices = loose;
    d.vertex_count = 12;
    d.triangles = own;
    REQUIRE_OK(perpi_shape_make(context, &d, 3, &s));
    CHECK_EQ_INT(s.polyhedron->merged, 8);
    CHECK_EQ_INT(s.polyhedron->vertex_count, 4);
    perpi_shape_free(context, &s);
}

TEST(two_covers_of_one_surface_are_not_one_polyhedron)
{
    setup();
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    int32_t twice[24];
    for (int i = 0; i < 24; ++i) {
        twice[i] = corner_faces[i % 12];
    }
    d.vertices = corner_points;
    d.vertex_count = 4;
    d.triangles = twice;
    d.triangle_count = 8;
    perpi_shape s;
    CHECK_EQ_INT(perpi_shape_make(context, &d, 3, &s), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "is not one convex surface");
    const double nan[] = {0, 0, 0, 1, 0, 0, 0, NAN, 0, 0, 0, 1};
    d.vertices = nan;
    d.triangle_count = 0;
    CHECK_EQ_INT(perpi_shape_make(context, &d, 3, &s), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "vertices/2/1: must be finite");
}
