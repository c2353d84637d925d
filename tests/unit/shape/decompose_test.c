/* tests/unit/shape/decompose_test.c - convex decomposition of bodies that are not convex. */
#include "perp_test.h"
#include "shape/cell.h"
#include "shape/decompose.h"

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

typedef struct body {
    double vertex[3 * 2000];
    int32_t vertex_count;
    int32_t triangle[3 * 4000];
    int32_t triangle_count;
} body;

static int32_t point(body* b, double x, double y, double z)
{
    for (int32_t i = 0; i < b->vertex_count; ++i) {
        const double* v = b->vertex + 3 * i;
        if (v[0] == x && v[1] == y && v[2] == z) {
            return i;
        }
    }
    double* v = b->vertex + 3 * b->vertex_count;
    v[0] = x;
    v[1] = y;
    v[2] = z;
    return b->vertex_count++;
}

static void triangle(body* b, int32_t i, int32_t j, int32_t k)
{
    int32_t* t = b->triangle + 3 * b->triangle_count++;
    t[0] = i;
    t[1] = j;
    t[2] = k;
}

static void quad(body* b, int32_t i, int32_t j, int32_t k, int32_t l)
{
    triangle(b, i, j, k);
    triangle(b, i, k, l);
}

/* Unit cubes at the places where the pattern has an 'x'; layers along z, rows along y. Their common
 * faces are left out. */
static void cubes(body* b, const char* pattern, int nx, int ny, int nz)
{
    memset(b, 0, sizeof *b);
#define FULL(x, y, z)                                                                              \
    ((x) >= 0 && (y) >= 0 && (z) >= 0 && (x) < nx && (y) < ny && (z) < nz &&                       \
     pattern[((z)*ny + (y)) * nx + (x)] == 'x')
    for (int z = 0; z < nz; ++z) {
        for (int y = 0; y < ny; ++y) {
            for (int x = 0; x < nx; ++x) {
                if (!FULL(x, y, z)) {
                    continue;
                }
                int32_t p[8];
                for (int i = 0; i < 8; ++i) {
                    p[i] = point(b, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2 & 1));
                }
                if (!FULL(x - 1, y, z)) {
                    quad(b, p[0], p[4], p[6], p[2]);
                }
                if (!FULL(x + 1, y, z)) {
                    quad(b, p[1], p[3], p[7], p[5]);
                }
                if (!FULL(x, y - 1, z)) {
                    quad(b, p[0], p[1], p[5], p[4]);
                }
                if (!FULL(x, y + 1, z)) {
                    quad(b, p[2], p[6], p[7], p[3]);
                }
                if (!FULL(x, y, z - 1)) {
                    quad(b, p[0], p[2], p[3], p[1]);
                }
                if (!FULL(x, y, z + 1)) {
                    quad(b, p[4], p[5], p[7], p[6]);
                }
            }
        }
    }
}

/* A ring of `around` segments whose section is a polygon of `across` corners. */
static void torus(body* b, int around, int across, double R, double r)
{
    memset(b, 0, sizeof *b);
    const double two_pi = 6.283185307179586;
    for (int i = 0; i < around; ++i) {
        for (int k = 0; k < across; ++k) {
            const double u = two_pi * i / around, v = two_pi * k / across;
            const double d = R + r * cos(v);
            double* x = b->vertex + 3 * b->vertex_count++;
            x[0] = d * cos(u);
            x[1] = d * sin(u);
            x[2] = r * sin(v);
        }
    }
    for (int i = 0; i < around; ++i) {
        for (int k = 0; k < across; ++k) {
            const int j = (i + 1) % around, l = (k + 1) % across;
            quad(b, i * across + k, j * across + k, j * across + l, i * across + l);
        }
    }
}

static void turn(body* b, vec3 rotation, vec3 move, double scale)
{
    const quat q = q4_exp(rotation);
    for (int32_t i = 0; i < b->vertex_count; ++i) {
        v3_to(v3_add(move, v3_scale(scale, q4_rotate(q, v3_from(b->vertex + 3 * i)))),
              b->vertex + 3 * i);
    }
}

static perp_shape_def def_of(const body* b)
{
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.vertices = b->vertex;
    def.vertex_count = b->vertex_count;
    def.triangles = b->triangle;
    def.triangle_count = b->triangle_count;
    def.decompose = true;
    return def;
}

/* How often the surface winds around a point: the sum of solid angles. */
static double winding(const body* b, vec3 x)
{
    double sum = 0.0;
    for (int32_t k = 0; k < b->triangle_count; ++k) {
        const int32_t* t = b->triangle + 3 * k;
        const vec3 p = v3_sub(v3_from(b->vertex + 3 * t[0]), x);
        const vec3 q = v3_sub(v3_from(b->vertex + 3 * t[1]), x);
        const vec3 r = v3_sub(v3_from(b->vertex + 3 * t[2]), x);
        const double lp = v3_norm(p), lq = v3_norm(q), lr = v3_norm(r);
        sum += 2.0 * atan2(v3_dot(p, v3_cross(q, r)), lp * lq * lr + v3_dot(p, q) * lr +
                                                          v3_dot(q, r) * lp + v3_dot(r, p) * lq);
    }
    return sum / 12.566370614359172;
}

static bool in_piece(const perpi_polyhedron* p, vec3 x, double slack)
{
    for (int32_t f = 0; f < p->face_count; ++f) {
        if (v3_dot(p->normal[f], x) - p->offset[f] > slack) {
            return false;
        }
    }
    return true;
}

/* The volume of the union of convex pieces: each one less its overlap with the earlier ones. A cell
 * minus a piece is again a set of convex cells. */
static double without(const perpi_cell* cell, perpi_polyhedron* const* piece, int32_t count,
                      perpi_arena* arena)
{
    if (count == 0) {
        return perpi_cell_volume(cell);
    }
    const perpi_polyhedron* p = piece[count - 1];
    const perpi_arena_mark mark = perpi_arena_get_mark(arena);
    perpi_knife inside, part;
    double volume = 0.0;
    CHECK_OK(perpi_knife_take(arena, cell->face_count + p->face_count + 1, &inside));
    CHECK_OK(perpi_knife_take(arena, cell->face_count + p->face_count + 1, &part));
    perpi_cell_copy(&inside, cell);
    bool apart = false;
    for (int32_t f = 0; f < p->face_count && !apart; ++f) {
        const vec3 on = p->vertex[p->corner[p->face_start[f]]];
        perpi_cell_copy(&part, &inside.cell);
        const perpi_cut outer = perpi_cell_cut(&part, v3_neg(p->normal[f]), on, 1e-11, -1);
        if (outer == PERPI_CUT_PART) {
            volume += without(&part.cell, piece, count - 1, arena);
        } else if (outer == PERPI_CUT_NOTHING) {
            volume += without(&inside.cell, piece, count - 1, arena);
            apart = true;
        }
        apart = apart || perpi_cell_cut(&inside, p->normal[f], on, 1e-11, -1) == PERPI_CUT_ALL;
    }
    perpi_arena_rewind(arena, mark);
    return volume;
}

static double union_volume(perpi_polyhedron* const* piece, int32_t count)
{
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    double volume = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        perpi_knife knife;
        const perpi_pose world = {v3(0, 0, 0), q4_identity(), m3_identity()};
        CHECK_OK(perpi_knife_take(&arena, piece[i]->face_count + 1, &knife));
        perpi_cell_set_polyhedron(&knife, piece[i], &world);
        volume += without(&knife.cell, piece, i, &arena);
    }
    perpi_arena_free(&arena);
    return volume;
}

/* A point on a piece's face that is well inside the solid is inside another piece: no seam is open. */
static int check_seams(const body* b, perpi_polyhedron* const* piece, int32_t count, double size)
{
    uint64_t seed = 8;
    int seams = 0;
    for (int32_t i = 0; i < count; ++i) {
        for (int k = 0; k < 40; ++k) {
            const int32_t* t =
                piece[i]->triangle + 3 * (int32_t)(uniform(&seed) * piece[i]->triangle_count);
            double u = uniform(&seed), v = uniform(&seed);
            if (u + v > 1.0) {
                u = 1.0 - u;
                v = 1.0 - v;
            }
            const vec3 o = piece[i]->vertex[t[0]];
            const vec3 x = v3_madd(v3_madd(o, u, v3_sub(piece[i]->vertex[t[1]], o)), v,
                                   v3_sub(piece[i]->vertex[t[2]], o));
            bool deep = true;
            for (int d = 0; d < 14 && deep; ++d) {
                static const int way[14][3] = {{1, 0, 0},   {-1, 0, 0},  {0, 1, 0},  {0, -1, 0},
                                               {0, 0, 1},   {0, 0, -1},  {1, 1, 1},  {-1, 1, 1},
                                               {1, -1, 1},  {-1, -1, 1}, {1, 1, -1}, {-1, 1, -1},
                                               {1, -1, -1}, {-1, -1, -1}};
                deep =
                    winding(b, v3_madd(x, 0.01 * size, v3(way[d][0], way[d][1], way[d][2]))) > 0.5;
            }
            if (!deep) {
                continue;
            }
            ++seams;
            bool covered = false;
            for (int32_t j = 0; j < count && !covered; ++j) {
                covered = j != i && in_piece(piece[j], x, -1e-6 * size);
            }
            CHECK(covered);
        }
    }
    return seams;
}

/* The union of the pieces is the solid, and they overlap. */
static int32_t check_body(const body* b, double volume, int32_t most)
{
    const perp_shape_def def = def_of(b);
    perpi_polyhedron** piece = NULL;
    int32_t count = 0;
    CHECK_OK(perpi_decompose(context, &def, &piece, &count));
    if (piece == NULL) {
        return 0;
    }
    CHECK(count >= 2);
    CHECK_AT_MOST(count, most);
    CHECK_NEAR(union_volume(piece, count), volume, 1e-9 * volume);
    vec3 lo = v3_from(b->vertex), hi = lo;
    for (int32_t i = 0; i < b->vertex_count; ++i) {
        const vec3 x = v3_from(b->vertex + 3 * i);
        lo = v3(fmin(lo.x, x.x), fmin(lo.y, x.y), fmin(lo.z, x.z));
        hi = v3(fmax(hi.x, x.x), fmax(hi.y, x.y), fmax(hi.z, x.z));
    }
    const double size = v3_norm(v3_sub(hi, lo));
    uint64_t seed = 1;
    int inside = 0;
    for (int i = 0; i < 1500; ++i) {
        const vec3 x =
            v3(lo.x + uniform(&seed) * (hi.x - lo.x), lo.y + uniform(&seed) * (hi.y - lo.y),
               lo.z + uniform(&seed) * (hi.z - lo.z));
        const bool in = winding(b, x) > 0.5;
        bool held = false, touched = false;
        for (int32_t k = 0; k < count; ++k) {
            held = held || in_piece(piece[k], x, 1e-9 * size);
            touched = touched || in_piece(piece[k], x, -1e-9 * size);
        }
        CHECK(!in || held);    /* nothing missing */
        CHECK(in || !touched); /* nothing beyond the surface */
        inside += in;
    }
    CHECK(inside > 100);
    CHECK(check_seams(b, piece, count, size) > 0);
    perpi_decompose_free(context, piece, count);
    return count;
}

static void check_everywhere(body* b, double volume, int32_t most)
{
    const int32_t straight = check_body(b, volume, most);
    turn(b, v3(0.3, -0.7, 0.5), v3(0.2, 5, -3), 0.37);
    CHECK_EQ_INT(check_body(b, volume * 0.37 * 0.37 * 0.37, most), straight);
}

TEST(an_angle_is_two_bars_that_overlap)
{
    setup();
    static body b;
    cubes(&b,
          "xxx"
          "x..",
          3, 2, 1);
    const perp_shape_def def = def_of(&b);
    perpi_polyhedron** piece = NULL;
    int32_t count = 0;
    REQUIRE_OK(perpi_decompose(context, &def, &piece, &count));
    CHECK_EQ_INT(count, 2);
    CHECK_NEAR(piece[0]->mass.mass + piece[1]->mass.mass, 5.0, 1e-12); /* 3 + 2: the corner twice */
    perpi_decompose_free(context, piece, count);
    check_everywhere(&b, 4.0, 2);
}

TEST(a_cross_is_two_bars_in_the_plane_and_three_in_space)
{
    setup();
    static body b;
    cubes(&b,
          ".x."
          "xxx"
          ".x.",
          3, 3, 1);
    check_everywhere(&b, 5.0, 2);
    cubes(&b,
          "...."
          ".x.."
          "...."
          ".x.."
          "xxxx"
          ".x.."
          "...."
          ".x.."
          "....",
          4, 3, 3);
    check_everywhere(&b, 8.0, 3);
}

/* Two heights, crosswise: the vertex in the middle has convex and reflex edges. */
TEST(saddles_are_cut_exactly)
{
    setup();
    static body b;
    memset(&b, 0, sizeof b);
    /* a square whose two opposite corners are raised and two lowered, on a base */
    const double z[3][3] = {{1.5, 1.0, 0.5}, {1.0, 1.0, 1.0}, {0.5, 1.0, 1.5}};
    int32_t top[3][3], low[3][3];
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            top[i][k] = point(&b, i, k, z[i][k]);
            low[i][k] = point(&b, i, k, 0);
        }
    }
    double volume = 0.0;
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 2; ++k) {
            quad(&b, low[i][k], low[i][k + 1], low[i + 1][k + 1], low[i + 1][k]);
            triangle(&b, top[i][k], top[i + 1][k], top[i + 1][k + 1]);
            triangle(&b, top[i][k], top[i + 1][k + 1], top[i][k + 1]);
            volume += (z[i][k] + z[i + 1][k] + z[i + 1][k + 1]) / 6.0;
            volume += (z[i][k] + z[i + 1][k + 1] + z[i][k + 1]) / 6.0;
        }
    }
    for (int k = 0; k < 2; ++k) {
        quad(&b, low[0][k], top[0][k], top[0][k + 1], low[0][k + 1]);
        quad(&b, low[2][k], low[2][k + 1], top[2][k + 1], top[2][k]);
        quad(&b, low[k][0], low[k + 1][0], top[k + 1][0], top[k][0]);
        quad(&b, low[k][2], top[k][2], top[k + 1][2], low[k + 1][2]);
    }
    check_everywhere(&b, volume, 10);
}

TEST(stairs_in_two_directions)
{
    setup();
    static body b;
    cubes(&b,
          "xxx"
          "xxx"
          "xxx"
          "xx."
          "xx."
          "..."
          "x.."
          "..."
          "...",
          3, 3, 3);
    check_everywhere(&b, 14.0, 6);
}

TEST(a_ring_has_a_hole)
{
    setup();
    static body b;
    cubes(&b,
          "xxx"
          "x.x"
          "xxx",
          3, 3, 1);
    check_everywhere(&b, 8.0, 4);
    torus(&b, 8, 4, 1.0, 0.3);
    perp_shape_def def = def_of(&b);
    perpi_mass mass = {0};
    perpi_shape s;
    def.contactless = true;
    REQUIRE_OK(perpi_shape_make(context, &def, 3, &s));
    mass = perpi_shape_ops_of(PERP_SHAPE_MESH)->mass(&s);
    perpi_shape_free(context, &s);
    check_everywhere(&b, mass.mass, 60);
}

/* A solid with a cavity: the inner surface is oriented inward. */
TEST(a_cavity_stays_empty)
{
    setup();
    static body b;
    cubes(&b,
          "xxx"
          "xxx"
          "xxx"
          "xxx"
          "x.x"
          "xxx"
          "xxx"
          "xxx"
          "xxx",
          3, 3, 3);
    check_everywhere(&b, 26.0, 8);
}

TEST(what_is_too_large_or_crosses_itself_is_refused)
{
    setup();
    static body b;
    torus(&b, 40, 30, 1.0, 0.3);
    perp_shape_def def = def_of(&b);
    perpi_polyhedron** piece = NULL;
    int32_t count = 0;
    CHECK_EQ_INT(perpi_decompose(context, &def, &piece, &count), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "has 2400 triangles, more than 2000");
    /* two cubes that overlap, as one surface */
    cubes(&b, "x", 1, 1, 1);
    const int32_t n = b.vertex_count, t = b.triangle_count;
    for (int32_t i = 0; i < n; ++i) {
        for (int k = 0; k < 3; ++k) {
            b.vertex[3 * (n + i) + k] = b.vertex[3 * i + k] + 0.3;
        }
    }
    for (int32_t i = 0; i < 3 * t; ++i) {
        b.triangle[3 * t + i] = b.triangle[i] + n;
    }
    b.vertex_count = 2 * n;
    b.triangle_count = 2 * t;
    def = def_of(&b);
    CHECK_EQ_INT(perpi_decompose(context, &def, &piece, &count), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "seems to intersect itself");
    CHECK(piece == NULL);
}
