/* tests/unit/shape/mesh_repair_test.c - what is repaired in a surface, and what is left to be refused. */
#include "perp_test.h"
#include "shape/mesh_repair.h"
#include "shape/shape.h"

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

/* A sphere of N meridians and N/2 parallels: 2 poles, triangles counter-clockwise from outside. */
enum { N = 60, RINGS = N / 2 - 1, VERTICES = N * RINGS + 2, TRIANGLES = 2 * N * RINGS };
static const double pi = 3.141592653589793;

static void add(perpi_mesh_data* m, int32_t a, int32_t b, int32_t c)
{
    int32_t* t = m->triangle + 3 * m->triangle_count++;
    t[0] = a, t[1] = b, t[2] = c;
}

static void sphere(perpi_mesh_data* m, double radius, const double at[3])
{
    if (m->vertex == NULL) {
        m->vertex_capacity = 3 * 10 * VERTICES;
        m->triangle_capacity = 3 * 10 * TRIANGLES;
        REQUIRE_OK(perpi_alloc(context, m->vertex_capacity, sizeof *m->vertex, &m->vertex));
        REQUIRE_OK(perpi_alloc(context, m->triangle_capacity, sizeof *m->triangle, &m->triangle));
    }
    const int32_t o = (int32_t)m->vertex_count, south = o + N * RINGS, north = south + 1;
    double* x = m->vertex + 3 * m->vertex_count;
    for (int i = 0; i < RINGS; ++i) {
        for (int k = 0; k < N; ++k, x += 3) {
            const double a = pi * (i + 1) / (RINGS + 1) - pi / 2, b = 2 * pi * k / N;
            x[0] = at[0] + radius * cos(a) * cos(b);
            x[1] = at[1] + radius * cos(a) * sin(b);
            x[2] = at[2] + radius * sin(a);
        }
    }
    for (int i = 0; i < 2; ++i, x += 3) {
        x[0] = at[0], x[1] = at[1], x[2] = at[2] + (i == 0 ? -radius : radius);
    }
    m->vertex_count += VERTICES;
    for (int k = 0; k < N; ++k) {
        const int l = (k + 1) % N;
        add(m, south, o + l, o + k);
        for (int i = 0; i + 1 < RINGS; ++i) {
            add(m, o + N * i + k, o + N * i + l, o + N * i + N + l);
            add(m, o + N * i + k, o + N * i + N + l, o + N * i + N + k);
        }
        add(m, north, o + N * (RINGS - 1) + k, o + N * (RINGS - 1) + l);
    }
}

static void flip(perpi_mesh_data* m, size_t from, size_t count, size_t stride)
{
    for (size_t i = from; i < from + count; i += stride) {
        int32_t* t = m->triangle + 3 * i;
        const int32_t b = t[1];
        t[1] = t[2], t[2] = b;
    }
}

static void cut(perpi_mesh_data* m, size_t from, size_t count)
{
    memmove(m->triangle + 3 * from, m->triangle + 3 * (from + count),
            3 * (m->triangle_count - from - count) * sizeof *m->triangle);
    m->triangle_count -= count;
}

/* Every triangle has vertices of its own, as an STL file has. The vertices of a corner are moved by at most
 * `error`, each by a different distance. */
static void explode(perpi_mesh_data* m, double error)
{
    double* x = NULL;
    REQUIRE_OK(perpi_alloc(context, 9 * m->triangle_count, sizeof *x, &x));
    for (size_t i = 0; i < 3 * m->triangle_count; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            const double s = (double)((7 * i + 3 * k) % 11) / 11.0 - 0.5;
            x[3 * i + k] = m->vertex[3 * (size_t)m->triangle[i] + k] + s * error;
        }
        m->triangle[i] = (int32_t)i;
    }
    perpi_free(context, m->vertex);
    m->vertex = x;
    m->vertex_count = 3 * m->triangle_count;
    m->vertex_capacity = 9 * m->triangle_count;
}

/* The volume that a shape of the mesh has; 0 if it is refused. */
static double volume(const perpi_mesh_data* m)
{
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.contactless = true;
    def.vertices = m->vertex;
    def.vertex_count = (int32_t)m->vertex_count;
    def.triangles = m->triangle;
    def.triangle_count = (int32_t)m->triangle_count;
    perpi_shape s;
    if (perpi_shape_make(context, &def, 3, &s) != PERP_OK) {
        return 0.0;
    }
    const double v = s.mesh->mass.mass;
    perpi_shape_free(context, &s);
    return v;
}

static const double origin[3] = {0.3, -0.2, 5.0};
static const double sizes[] = {1.0, 1e-3, 1e6};

/* The mesh that every test damages, and its volume. */
static double start(perpi_mesh_data* m, double radius)
{
    setup();
    *m = (perpi_mesh_data){0};
    const double at[3] = {origin[0] * radius, origin[1] * radius, origin[2] * radius};
    sphere(m, radius, at);
    return volume(m);
}

static perpi_mesh_report repaired(perpi_mesh_data* m)
{
    perpi_mesh_report r;
    CHECK_OK(perpi_mesh_repair(context, m, &r));
    return r;
}

TEST(a_good_surface_keeps_its_bits)
{
    perpi_mesh_data m, copy;
    const double v = start(&m, 1.0);
    start(&copy, 1.0);
    CHECK(v > 4.1 && v < 4.19);
    const perpi_mesh_report r = repaired(&m);
    char text[512];
    CHECK(!perpi_mesh_report_text(&r, text, sizeof text));
    CHECK_OK(perpi_mesh_check_holes(context, "m", &r));
    CHECK_EQ_INT(m.vertex_count, VERTICES);
    CHECK_EQ_INT(m.triangle_count, TRIANGLES);
    CHECK(memcmp(m.vertex, copy.vertex, 3 * VERTICES * sizeof *m.vertex) == 0);
    CHECK(memcmp(m.triangle, copy.triangle, 3 * TRIANGLES * sizeof *m.triangle) == 0);
    perpi_mesh_free(context, &m);
    perpi_mesh_free(context, &copy);
}

TEST(nearly_equal_vertices_are_welded)
{
    for (int i = 0; i < 3; ++i) {
        for (int single = 0; single < 2; ++single) {
            perpi_mesh_data m;
            const double v = start(&m, sizes[i]);
            explode(&m, (single ? 3e-7 : 3e-10) * sizes[i]);
            const perpi_mesh_report r = repaired(&m);
            CHECK_EQ_INT(m.vertex_count, VERTICES);
            CHECK_EQ_INT(r.welded, 3 * TRIANGLES - VERTICES);
            CHECK(r.tolerance == (single ? 1e-6 : 1e-9));
            CHECK_EQ_INT(r.open_edges + r.flipped + r.holes + r.dropped, 0);
            CHECK_NEAR(volume(&m), v, 1e-5 * v);
            char text[512];
            CHECK(perpi_mesh_report_text(&r, text, sizeof text));
            CHECK_CONTAINS(text, "8698 vertices within");
            perpi_mesh_free(context, &m);
        }
    }
}

TEST(degenerate_and_repeated_triangles_are_dropped)
{
    perpi_mesh_data m;
    const double v = start(&m, 1.0);
    add(&m, 3, 3, 4);
    add(&m, 5, 6, 5);
    for (int i = 0; i < 3; ++i) {
        add(&m, m.triangle[30 + (i + 1) % 3], m.triangle[30 + (i + 2) % 3], m.triangle[30 + i]);
    }
    const perpi_mesh_report r = repaired(&m);
    CHECK_EQ_INT(r.dropped, 5);
    CHECK_EQ_INT(m.triangle_count, TRIANGLES);
    CHECK_NEAR(volume(&m), v, 1e-14 * v);
    perpi_mesh_free(context, &m);
}

TEST(flipped_faces_are_turned)
{
    for (int i = 0; i < 3; ++i) {
        static const size_t from[] = {7, 0, 0, 100}, count[] = {1, TRIANGLES, TRIANGLES, 900},
                            stride[] = {1, 1, 3, 1};
        for (int k = 0; k < 4; ++k) {
            perpi_mesh_data m;
            const double v = start(&m, sizes[i]);
            flip(&m, from[k], count[k], stride[k]);
            const perpi_mesh_report r = repaired(&m);
            CHECK_EQ_INT(r.flipped, (count[k] + stride[k] - 1) / stride[k]);
            CHECK_EQ_INT(r.welded + r.dropped + r.holes + r.open_edges, 0);
            CHECK_NEAR(volume(&m), v, 1e-13 * v);
            perpi_mesh_free(context, &m);
        }
    }
}

/* A ball beside, a cavity inside, and a ball inside the cavity: each part by where it lies. */
TEST(a_cavity_stays_and_a_part_beside_is_turned)
{
    perpi_mesh_data m;
    const double v = start(&m, 1.0), beside[3] = {4, 0, 0};
    sphere(&m, 0.5, origin);
    flip(&m, TRIANGLES, TRIANGLES, 1); /* the cavity */
    sphere(&m, 0.25, origin);
    flip(&m, 2 * TRIANGLES, TRIANGLES, 1); /* wrong */
    sphere(&m, 1.0, beside);
    flip(&m, 3 * TRIANGLES, TRIANGLES, 1); /* wrong */
    flip(&m, TRIANGLES + 5, 1, 1);         /* wrong, in the cavity */
    const perpi_mesh_report r = repaired(&m);
    CHECK_EQ_INT(r.flipped, 2 * TRIANGLES + 1);
    CHECK_NEAR(volume(&m), v * (1.0 - 0.125 + 0.125 * 0.125 + 1.0), 1e-12);
    perpi_mesh_free(context, &m);
}

TEST(small_holes_are_filled)
{
    for (int i = 0; i < 3; ++i) {
        perpi_mesh_data m;
        const double v = start(&m, sizes[i]);
        cut(&m, 501, 2);
        cut(&m, 1, 1);
        flip(&m, 30, 5, 1);
        const perpi_mesh_report r = repaired(&m);
        CHECK_EQ_INT(r.holes, 2);
        CHECK_EQ_INT(r.filled, 3);
        CHECK_EQ_INT(r.flipped, 5);
        CHECK_EQ_INT(r.open_edges, 0);
        CHECK_EQ_INT(m.triangle_count, TRIANGLES);
        CHECK_NEAR(volume(&m), v, 1e-3 * v);
        perpi_mesh_free(context, &m);
    }
}

/* Two holes that share a vertex are two loops. */
TEST(holes_that_touch_are_filled)
{
    perpi_mesh_data m;
    const double v = start(&m, 1.0);
    const size_t row = (size_t)2 * RINGS;
    cut(&m, row * 5 + 12, 1);
    cut(&m, row * 4 + 9, 1);
    const perpi_mesh_report r = repaired(&m);
    CHECK_EQ_INT(r.open_edges, 0);
    CHECK_EQ_INT(r.filled, 2);
    CHECK_NEAR(volume(&m), v, 1e-3 * v);
    perpi_mesh_free(context, &m);
}

TEST(a_large_hole_is_refused_with_its_place)
{
    perpi_mesh_data m;
    start(&m, 1.0);
    cut(&m, 0, 2 * RINGS); /* between two meridians: many edges */
    const perpi_mesh_report r = repaired(&m);
    CHECK(r.open_edges > 8 && r.holes == 0 && r.loop_edges == r.open_edges);
    CHECK_NEAR(r.loop_size, 2.0 / sqrt(12.0), 0.1);
    CHECK_EQ_INT(perpi_mesh_check_holes(context, "part.stl", &r), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "part.stl: the surface is not closed: a hole of");
    CHECK_CONTAINS(perp_context_error(context), "at the edge from (");
    CHECK_CONTAINS(perp_context_error(context), "\"convex\": true");
    perpi_mesh_free(context, &m);
    /* a triangle of a tetrahedron: few edges, but not small */
    static const char text[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n";
    REQUIRE_OK(perpi_mesh_parse(context, text, strlen(text), "t", PERPI_MESH_OBJ, &m));
    const perpi_mesh_report t = repaired(&m);
    CHECK_EQ_INT(t.open_edges, 3);
    CHECK_EQ_INT(t.holes, 0);
    perpi_mesh_free(context, &m);
}

/* A Moebius band has no orientation; three faces at one edge enclose nothing. Both are left as they are. */
TEST(what_is_no_surface_of_a_solid_is_left)
{
    setup();
    static const char band[] = "v 0 0 0\nv 1 0 0\nv 2 0 1\nv 1 2 0\nv 0 1 3\n"
                               "f 1 2 3\nf 2 3 4\nf 3 4 5\nf 4 5 1\nf 5 1 2\n";
    static const char fin[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 1 1\n"
                              "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nf 1 2 5\n";
    const char* const text[] = {band, fin};
    for (int i = 0; i < 2; ++i) {
        perpi_mesh_data m;
        REQUIRE_OK(perpi_mesh_parse(context, text[i], strlen(text[i]), "t", PERPI_MESH_OBJ, &m));
        const perpi_mesh_report r = repaired(&m);
        CHECK(r.open_edges > 0);
        CHECK_EQ_INT(m.triangle_count, 5);
        CHECK(volume(&m) == 0.0);
        perpi_mesh_free(context, &m);
    }
}
