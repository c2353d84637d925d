/* tests/unit/shape/mesh_test.c - mesh files: accepted and refused input with its line; mass of a mesh. */
#include "perp_test.h"
#include "shape/mesh_repair.h"
#include "shape/polyhedron.h"

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

static perp_status parse(const char* text, perpi_mesh_format format, perpi_mesh_data* mesh)
{
    return perpi_mesh_parse(context, text, strlen(text), "m", format, mesh);
}

/* The cuboid [0,1] x [0,2] x [0,3], faces by their corners. */
static const double corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {1, 2, 0},
                                    {0, 0, 3}, {1, 0, 3}, {0, 2, 3}, {1, 2, 3}};
static const int face[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                               {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};

static void write_poly(char* text, bool numbered)
{
    text += sprintf(text, "# a cuboid\n\n8 %% vertices\n");
    for (int i = 0; i < 8; ++i) {
        text += numbered ? sprintf(text, "%d ", i + 1) : 0;
        text += sprintf(text, "%g %g %g // corner\n", corner[i][0], corner[i][1], corner[i][2]);
    }
    text += sprintf(text, "6\n");
    for (int i = 0; i < 6; ++i) {
        text += sprintf(text, "[%d %d %d %d];\n", face[i][0] + 1, face[i][1] + 1, face[i][2] + 1,
                        face[i][3] + 1);
    }
}

static void write_obj(char* text)
{
    text += sprintf(text, "# cuboid\nmtllib x.mtl\no box\n");
    for (int i = 0; i < 8; ++i) {
        text += sprintf(text, "v %g %g %g\nvn 0 0 1\n", corner[i][0], corner[i][1], corner[i][2]);
    }
    for (int i = 0; i < 6; ++i) {
        const int* f = face[i];
        text += i % 2 == 0
                    ? sprintf(text, "f %d//1 %d//1 %d//1 %d//1 # quad\r\n", f[0] + 1, f[1] + 1,
                              f[2] + 1, f[3] + 1)
                    : sprintf(text, "f %d/1 %d %d %d\n", f[0] - 8, f[1] - 8, f[2] - 8, f[3] - 8);
    }
}

static void write_stl(char* text)
{
    text += sprintf(text, "solid  a name\n");
    for (int i = 0; i < 12; ++i) {
        const int* f = face[i / 2];
        const int v[3] = {f[0], f[i % 2 + 1], f[i % 2 + 2]};
        text += sprintf(text, "facet normal 0 0 nan\n outer loop\n");
        for (int k = 0; k < 3; ++k) {
            const double* x = corner[v[k]];
            text += sprintf(text, "  vertex %g %g %g\n", x[0], x[1], x[2]);
        }
        text += sprintf(text, " endloop\nendfacet\n");
    }
    sprintf(text, "endsolid a name\n");
}

static size_t write_binary(unsigned char* bytes)
{
    memset(bytes, 0, 84 + 12 * 50);
    memcpy(bytes, "solid but binary", 16);
    bytes[80] = 12;
    for (int i = 0; i < 12; ++i) {
        const int* f = face[i / 2];
        const int v[3] = {f[0], f[i % 2 + 1], f[i % 2 + 2]};
        for (int k = 0; k < 3; ++k) {
            for (int c = 0; c < 3; ++c) {
                const float x = (float)corner[v[k]][c];
                memcpy(bytes + 84 + 50 * i + 12 + 12 * k + 4 * c, &x, 4); /* little-endian hosts */
            }
        }
    }
    return 84 + 12 * 50;
}

static perp_shape_def def_of(const perpi_mesh_data* m)
{
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.contactless = true;
    def.vertices = m->vertex;
    def.vertex_count = (int32_t)m->vertex_count;
    def.triangles = m->triangle;
    def.triangle_count = (int32_t)m->triangle_count;
    return def;
}

static void check_cuboid(perpi_mesh_data* m)
{
    CHECK_EQ_INT(m->vertex_count, 8);
    CHECK_EQ_INT(m->triangle_count, 12);
    const perp_shape_def def = def_of(m);
    perpi_shape s;
    REQUIRE_OK(perpi_shape_make(context, &def, 3, &s));
    const perpi_mass mass = perpi_shape_ops_of(PERP_SHAPE_MESH)->mass(&s);
    CHECK_NEAR(mass.mass, 6, 1e-14);
    CHECK_NEAR(mass.center.x, 0.5, 1e-15);
    CHECK_NEAR(mass.center.y, 1, 1e-15);
    CHECK_NEAR(mass.center.z, 1.5, 1e-15);
    CHECK_NEAR(mass.inertia.m[0][0], 6.0 / 12 * (4 + 9), 1e-14);
    CHECK_NEAR(mass.inertia.m[1][1], 6.0 / 12 * (1 + 9), 1e-14);
    CHECK_NEAR(mass.inertia.m[2][2], 6.0 / 12 * (1 + 4), 1e-14);
    CHECK_NEAR(mass.inertia.m[0][1], 0, 1e-14);
    CHECK_NEAR(mass.inertia.m[1][2], 0, 1e-14);
    perpi_shape_free(context, &s);
    perpi_mesh_free(context, m);
}

TEST(every_format_gives_the_same_cuboid)
{
    setup();
    char text[8192];
    perpi_mesh_data m;
    write_poly(text, false);
    REQUIRE_OK(parse(text, PERPI_MESH_POLY, &m));
    check_cuboid(&m);
    write_poly(text, true);
    REQUIRE_OK(parse(text, PERPI_MESH_POLY, &m));
    check_cuboid(&m);
    write_obj(text);
    REQUIRE_OK(parse(text, PERPI_MESH_OBJ, &m));
    check_cuboid(&m);
    write_stl(text);
    REQUIRE_OK(parse(text, PERPI_MESH_STL, &m));
    check_cuboid(&m);
    unsigned char bytes[84 + 12 * 50];
    const size_t length = write_binary(bytes);
    REQUIRE_OK(perpi_mesh_parse(context, (const char*)bytes, length, "m", PERPI_MESH_STL, &m));
    check_cuboid(&m);
}

TEST(numbers_are_read_to_the_nearest_double)
{
    setup();
    perpi_mesh_data m;
    REQUIRE_OK(parse("v 0.1 1e-300 .5\nv -0.30000000000000004 1E2 +3.\nv 0 0 1\nf 1 2 3",
                     PERPI_MESH_OBJ, &m));
    CHECK(m.vertex[0] == 0.1 && m.vertex[1] == 1e-300 && m.vertex[2] == 0.5);
    CHECK(m.vertex[3] == -0.30000000000000004 && m.vertex[4] == 100 && m.vertex[5] == 3);
    perpi_mesh_free(context, &m);
}

TEST(a_mirrored_mesh_keeps_its_outside)
{
    setup();
    char text[8192];
    perpi_mesh_data m;
    write_obj(text);
    REQUIRE_OK(parse(text, PERPI_MESH_OBJ, &m));
    perpi_mesh_scale(&m, (const double[]){-1, 2, 0.5});
    const perp_shape_def def = def_of(&m);
    perpi_shape s;
    REQUIRE_OK(perpi_shape_make(context, &def, 3, &s));
    CHECK_NEAR(s.mesh->mass.mass, 6, 1e-14);
    CHECK_NEAR(s.mesh->mass.center.x, -0.5, 1e-15);
    CHECK_NEAR(s.mesh->mass.center.y, 2, 1e-15);
    perpi_shape_free(context, &s);
    perpi_mesh_free(context, &m);
}

/* A torus from rings of quads: not convex, and with volume and inertia in closed form, which the
 * polyhedron approaches with the square of the number of quads. */
TEST(a_torus_weighs_what_it_should)
{
    setup();
    enum { N = 200 };
    static double v[3 * N * N];
    static int32_t t[6 * N * N];
    const double R = 2, r = 0.5, pi = 3.141592653589793;
    for (int i = 0; i < N; ++i) {
        for (int k = 0; k < N; ++k) {
            const double a = 2 * pi * i / N, b = 2 * pi * k / N, d = R + r * cos(b);
            double* x = v + 3 * (N * i + k);
            x[0] = d * cos(a) + 7;
            x[1] = d * sin(a);
            x[2] = r * sin(b);
            const int32_t i2 = (i + 1) % N, k2 = (k + 1) % N;
            const int32_t q[] = {N * i + k, N * i2 + k,  N * i2 + k2,
                                 N * i + k, N * i2 + k2, N * i + k2};
            memcpy(t + 6 * (N * i + k), q, sizeof q);
        }
    }
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.contactless = true;
    def.vertices = v;
    def.vertex_count = N * N;
    def.triangles = t;
    def.triangle_count = 2 * N * N;
    perpi_shape s;
    REQUIRE_OK(perpi_shape_make(context, &def, 3, &s));
    const perpi_mass m = s.mesh->mass;
    const double volume = 2 * pi * pi * R * r * r;
    CHECK_NEAR(m.mass, volume, 1e-3 * volume);
    CHECK_NEAR(m.center.x, 7, 1e-12);
    CHECK_NEAR(m.inertia.m[2][2], volume * (R * R + 0.75 * r * r), 1e-3 * 4 * volume);
    CHECK_NEAR(m.inertia.m[0][0], volume * (0.5 * R * R + 0.625 * r * r), 1e-3 * 4 * volume);
    perpi_shape_free(context, &s);
}

static void check_refused(const char* text, perpi_mesh_format format, const char* message)
{
    perpi_mesh_data m;
    CHECK_EQ_INT(parse(text, format, &m), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), message);
    CHECK(m.vertex == NULL && m.triangle == NULL);
}

TEST(a_bad_file_is_refused_with_its_line)
{
    setup();
    const perpi_mesh_format poly = PERPI_MESH_POLY, stl = PERPI_MESH_STL, obj = PERPI_MESH_OBJ;
    check_refused("", poly, "m: line 1: expected the number of vertices");
    check_refused("3\n0 0 0\n1 0 0\n", poly, "m: line 4: expected vertex 3 of 3");
    check_refused("3\n0 0 0\n1 0 x0\n0 1 0\n", poly, "m: line 3: expected vertex 2 of 3");
    check_refused("3\n0 0 0\n1 0 1e999\n", poly,
                  "m: line 3: expected a finite number, got '1e999'");
    check_refused("3\n0 0 0\n1 0 0\n0 1 0\n3\n1 2 4\n", poly,
                  "m: line 6: expected the number of a "
                  "vertex, 1 to 3, got '4'");
    check_refused("3\n0 0 0\n1 0 0\n0 1 0\n3\n0 1 2\n", poly, "1 to 3, got '0'");
    check_refused("3\n0 0 0\n1 0 0\n0 1 0\n3\n1 2 3\n1 2\n", poly, "line 7: face 2 of 3 has 2");
    check_refused("3\n0 0 0\n1 0 0\n0 1 0\n3\n1 2 3\n1 2 3\n1 2 3\n1 2 3\n", poly,
                  "line 9: more lines");
    check_refused("999999999\n0 0 0\n", poly, "m: line 3: expected vertex 2");
    check_refused("v 0 0\n", obj, "m: line 1: expected three finite numbers x y z, got ''");
    check_refused("v 0 0 0\nv 0 0 nan\n", obj, "m: line 2: expected three finite numbers");
    check_refused("v 0 0 0x1\n", obj, "got '0x1'");
    check_refused("v 0 0 0\nf 1 2 3\n", obj, "m: line 2: there is no vertex 2: 1 were read so far");
    check_refused("v 0 0 0\nf 1 1\n", obj, "m: line 2: a face has at least 3 vertices");
    check_refused("v 0 0 0\nf 1 -2 1\n", obj, "there is no vertex -2");
    check_refused("v 0 0 0\n\n", obj, "m: line 3: ends without a single face");
    check_refused("hello", stl, "m: line 1: no STL");
    check_refused("solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\nvertex", stl,
                  "m: line 5: expected a finite number, got 'vertex'");
    check_refused("solid\nfacet normal 0 0 1\n", stl, "m: line 3: expected 'outer', got ''");
    check_refused("solid x\nendsolid\n", stl, "ends without a single face");
    perpi_mesh_format format;
    CHECK_EQ_INT(perpi_mesh_format_of(context, "a/b.ply", &format), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context),
                 "a/b.ply: this kind of mesh cannot be read: .poly, .stl, .obj and .dae can");
    CHECK_OK(perpi_mesh_format_of(context, "A.STL", &format));
    CHECK_EQ_INT(format, PERPI_MESH_STL);
    perpi_mesh_data m;
    CHECK_EQ_INT(perpi_mesh_read(context, "nowhere.obj", &m), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "nowhere.obj: cannot open");
}

TEST(a_surface_that_is_no_solid_is_refused_with_the_edge)
{
    setup();
    double v[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int32_t t[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.contactless = true;
    def.source = "gear.stl";
    def.vertices = v;
    def.vertex_count = 4;
    def.triangles = t;
    def.triangle_count = 3;
    perpi_shape s;
    CHECK_EQ_INT(perpi_shape_make(context, &def, 3, &s), PERP_ERROR_INPUT);
    CHECK_EQ_STR(
        perp_context_error(context),
        "faces: gear.stl: the edge from vertex 1 (1, 0, 0) to vertex 2 (0, 1, 0) belongs to "
        "one face only: the surface is not closed; \"convex\": true takes the convex hull");
    def.triangle_count = 4;
    t[10] = 3, t[11] = 2; /* the last face turned round */
    CHECK_EQ_INT(perpi_shape_make(context, &def, 3, &s), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context),
                   "is traversed in the same direction by both its faces");
    const int32_t inside_out[] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
    def.triangles = inside_out;
    CHECK_EQ_INT(perpi_shape_make(context, &def, 3, &s), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context),
                   "faces: gear.stl is inside out: its volume is -0.1");
    def.visual = true; /* a visual mesh may be open */
    CHECK_OK(perpi_shape_make(context, &def, 3, &s));
    perpi_shape_free(context, &s);
    def.visual = def.contactless = false;
    CHECK_EQ_INT(perpi_shape_make(context, &def, 3, &s), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "is inside out");
}

TEST(a_mesh_that_collides_is_a_polyhedron_or_pieces_or_refused)
{
    setup();
    const double v[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.2, 0.2, 0.2};
    const int32_t convex[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    const int32_t dent[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 4, 2, 3, 4, 3, 1, 4};
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.vertices = v;
    def.vertex_count = 4;
    def.triangles = convex;
    def.triangle_count = 4;
    perpi_shape s;
    REQUIRE_OK(perpi_shape_make(context, &def, 3, &s));
    CHECK(s.type == PERP_SHAPE_POLYHEDRON && !s.intangible && s.mesh->piece_count == 0);
    CHECK(memcmp(s.polyhedron->vertex, v, 12 * sizeof *v) == 0); /* kept bit by bit */
    perpi_shape_free(context, &s);
    def.vertex_count = 5;
    def.triangles = dent;
    def.triangle_count = 6;
    CHECK_EQ_INT(perpi_shape_make(context, &def, 3, &s), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "is not convex: say \"decompose\": true");
    def.decompose = true;
    REQUIRE_OK(perpi_shape_make(context, &def, 3, &s));
    CHECK(s.type == PERP_SHAPE_MESH && s.intangible && !s.massless);
    CHECK(s.mesh->piece_count >= 3);
    perpi_shape_free(context, &s);
}

/* Every truncated text, and every text with one byte changed, is read or refused without a
 * crash. */
TEST(cut_and_damaged_files_do_no_harm)
{
    setup();
    char text[8192];
    int read = 0, refused = 0;
    for (int kind = 0; kind < 4; ++kind) {
        size_t length = 0;
        if (kind == 0) {
            write_poly(text, true);
        } else if (kind == 1) {
            write_obj(text);
        } else if (kind == 2) {
            write_stl(text);
        } else {
            length = write_binary((unsigned char*)text);
        }
        length = kind == 3 ? length : strlen(text);
        const perpi_mesh_format format =
            kind < 2 ? (kind == 0 ? PERPI_MESH_POLY : PERPI_MESH_OBJ) : PERPI_MESH_STL;
        for (size_t i = 0; i < length; ++i) {
            static const char replacements[] = {'\0', '9', '-', ' ', '\n', (char)0xff};
            char* copy = malloc(length); /* of exact length, so that a sanitizer detects a read
                                          * beyond the end */
            for (size_t k = 0; k <= sizeof replacements; ++k) {
                memcpy(copy, text, length);
                const bool cut = k == sizeof replacements;
                if (!cut) {
                    copy[i] = replacements[k];
                }
                perpi_mesh_data m;
                if (perpi_mesh_parse(context, copy, cut ? i : length, "m", format, &m) == PERP_OK) {
                    ++read;
                    perpi_mesh_report report;
                    CHECK_OK(perpi_mesh_repair(context, &m, &report));
                    perpi_mesh_free(context, &m);
                } else {
                    ++refused;
                }
            }
            free(copy);
        }
    }
    TEST_PRINT("%d read, %d refused", read, refused);
    CHECK(read > 0 && refused > 0);
}
