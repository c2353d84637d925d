/* tests/unit/collide/geometry.h - what the tests of the narrow phase share: random poses, one call
 * of a pair routine, and an independent way to the true distance of two shapes. */
#ifndef TEST_GEOMETRY_H
#define TEST_GEOMETRY_H

#include "collide/collide.h"
#include "perp_test.h"

/* ---- random numbers: splitmix64, seeded by each test -------------------------------------------- */

static uint64_t random_state;

static inline double random_unit(void) /* [0, 1) */
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double random_in(double lo, double hi)
{
    return lo + (hi - lo) * random_unit();
}

static inline int random_below(int n)
{
    return (int)(random_unit() * n);
}

static inline vec3 random_vec(double most)
{
    const double x = random_in(-most, most), y = random_in(-most, most);
    return v3(x, y, random_in(-most, most));
}

/* A rotation; planar: about z. */
static inline quat random_turn(int dimension)
{
    if (dimension == 2) {
        return q4_exp(v3(0, 0, random_in(-3.0, 3.0)));
    }
    quat q;
    double n;
    do {
        q = (quat){random_in(-1, 1), random_in(-1, 1), random_in(-1, 1), random_in(-1, 1)};
        n = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    } while (!(n <= 1.0) || !(n > 0.01));
    return q4_unit(q);
}

/* Multiples of 45 degrees about the axes, then perhaps a tilt of 1e-12 .. 1e-2: degenerate poses,
 * which are common in a simulation and have probability 0 among random ones. */
static inline quat random_special_turn(int dimension)
{
    const double eighth = 0.78539816339744830962;
    quat q = q4_exp(v3(0, 0, eighth * random_below(8)));
    if (dimension == 3) {
        q = q4_mul(q4_exp(v3(2 * eighth * random_below(4), 0, 0)), q);
        q = q4_mul(q4_exp(v3(0, eighth * random_below(8), 0)), q);
    }
    if (random_below(2) == 0) {
        const double size = pow(10.0, -random_in(2, 12));
        q = q4_mul(q4_exp(v3_scale(size, dimension == 3 ? random_vec(1) : v3(0, 0, 1))), q);
    }
    return q4_unit(q);
}

static inline perpi_pose pose_at(vec3 x, quat q)
{
    return (perpi_pose){x, q, q4_matrix(q)};
}

/* ---- shapes -------------------------------------------------------------------------------------- */

static inline perpi_shape make_round(perp_shape_type type, double radius, double length)
{
    return (perpi_shape){.type = type, .radius = radius, .length = length};
}

static inline perpi_shape make_box(double x, double y, double z)
{
    return (perpi_shape){.type = PERP_SHAPE_BOX, .half = {x, y, z}};
}

static inline perpi_shape make_box2(double x, double y)
{
    return (perpi_shape){.type = PERP_SHAPE_BOX2, .half = {x, y, 0}};
}

static inline perpi_shape make_plane(perp_shape_type type, vec3 n, double offset)
{
    return (perpi_shape){.type = type, .normal = v3_unit(n), .offset = offset};
}

static inline int dimension_of(perp_shape_type type)
{
    return perp_shape_dimension(type) == 2 ? 2 : 3;
}

static inline perpi_shape random_shape(perp_shape_type type)
{
    perpi_shape s = {.type = type};
    s.radius = random_in(0.1, 0.7);
    s.length = random_in(0.2, 2.0);
    s.half = v3(random_in(0.1, 1.0), random_in(0.1, 1.0), random_in(0.1, 1.0));
    s.normal = v3_unit(v3_add(random_vec(1.0), v3(0, 1.5, 0)));
    s.offset = random_in(-1, 1);
    if (dimension_of(type) == 2) {
        s.half.z = 0;
        s.normal = v3_unit(v3(s.normal.x, s.normal.y, 0));
    }
    return s;
}

/* ---- one call ------------------------------------------------------------------------------------ */

typedef struct candidates {
    perp_context* context;
    perpi_candidate_list list;
} candidates;

static inline candidates touches_create(void)
{
    candidates t = {NULL, {0}};
    CHECK_OK(perp_context_create(NULL, &t.context));
    t.list.context = t.context;
    t.list.turn = t.list.turn_most = INFINITY;
    return t;
}

static inline void touches_destroy(candidates* t)
{
    perpi_free(t->context, t->list.item);
    perp_context_destroy(t->context);
}

/* The contacts of a with b, in this order, sorted by feature. */
static inline size_t meet(candidates* t, const perpi_shape* a, const perpi_pose* pose_a,
                          const perpi_shape* b, const perpi_pose* pose_b, double margin)
{
    bool flipped = false;
    const perpi_pair_fn find = perpi_pair_find(false, a->type, b->type, &flipped);
    t->list.count = 0;
    if (find == NULL) {
        return 0;
    }
    t->list.flipped = flipped;
    CHECK_OK(flipped ? find(b, pose_b, a, pose_a, margin, &t->list)
                     : find(a, pose_a, b, pose_b, margin, &t->list));
    for (size_t i = 1; i < t->list.count; ++i) {
        for (size_t k = i; k > 0 && t->list.item[k - 1].feature > t->list.item[k].feature; --k) {
            const perpi_candidate s = t->list.item[k];
            t->list.item[k] = t->list.item[k - 1];
            t->list.item[k - 1] = s;
        }
    }
    return t->list.count;
}

static inline double least_gap(const candidates* t)
{
    double least = INFINITY;
    for (size_t i = 0; i < t->list.count; ++i) {
        least = t->list.item[i].gap < least ? t->list.item[i].gap : least;
    }
    return least;
}

/* Properties of every contact, for all pairs. */
static inline void check_rows(const candidates* t, double margin, double size)
{
    for (size_t i = 0; i < t->list.count; ++i) {
        const perpi_candidate* c = &t->list.item[i];
        CHECK_NEAR(v3_norm(c->normal), 1.0, 1e-12);
        CHECK_NEAR(c->gap, v3_dot(c->normal, v3_sub(c->point_b, c->point_a)), 1e-12 * size);
        CHECK_AT_MOST(c->gap, margin + 1e-12 * size);
        /* the points lie along the normal from each other */
        const vec3 d = v3_sub(v3_sub(c->point_b, c->point_a), v3_scale(c->gap, c->normal));
        CHECK_AT_MOST(v3_norm(d), 1e-8 * size);
        for (size_t k = 0; k < i; ++k) {
            CHECK(t->list.item[k].feature != c->feature);
        }
    }
}

static inline void check_vec(vec3 a, double x, double y, double z, double tol)
{
    CHECK_NEAR(a.x, x, tol);
    CHECK_NEAR(a.y, y, tol);
    CHECK_NEAR(a.z, z, tol);
}

/* ---- the true distance ---------------------------------------------------------------------------- */

/* A bounded shape as c + sum alpha_i g_i, |alpha_i| <= 1, swept by a ball. */
typedef struct zonotope {
    vec3 c, g[3];
    int n;
    double r;
} zonotope;

static inline zonotope zonotope_of(const perpi_shape* s, const perpi_pose* pose)
{
    zonotope z = {.c = pose->x};
    switch (s->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: z.r = s->radius; break;
    case PERP_SHAPE_CAPSULE:
        z.r = s->radius;
        z.n = 1;
        z.g[0] = v3_scale(0.5 * s->length, m3_column(pose->R, 2));
        break;
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_BOX2:
        z.n = s->type == PERP_SHAPE_BOX ? 3 : 2;
        for (int i = 0; i < z.n; ++i) {
            z.g[i] = v3_scale(v3_get(s->half, i), m3_column(pose->R, i));
        }
        break;
    default: break;
    }
    return z;
}

/* min |d + sum x_i g_i| over |x_i| <= 1, exactly, by trying every choice of which x_i are free and
 * at which bound the others are. A least point exists whose free directions are independent. */
static inline double box_least_squares(vec3 d, const vec3* g, int n)
{
    double best = INFINITY;
    int ways = 1;
    for (int i = 0; i < n; ++i) {
        ways *= 3;
    }
    for (int way = 0; way < ways; ++way) {
        vec3 x = d, f[3];
        int free = 0, code = way;
        for (int i = 0; i < n; ++i, code /= 3) {
            if (code % 3 == 2) {
                if (free < 3) {
                    f[free] = g[i];
                }
                ++free;
            } else {
                x = v3_madd(x, code % 3 == 0 ? -1.0 : 1.0, g[i]);
            }
        }
        if (free > 3) {
            continue;
        }
        /* Gram-Schmidt: the rest of x, and the coefficients by back substitution */
        vec3 e[3];
        double R[3][3] = {{0}}, y[3];
        bool independent = true;
        for (int i = 0; i < free; ++i) {
            vec3 v = f[i];
            for (int pass = 0; pass < 2; ++pass) {
                for (int k = 0; k < i; ++k) {
                    const double c = v3_dot(e[k], v);
                    R[k][i] += c;
                    v = v3_madd(v, -c, e[k]);
                }
            }
            R[i][i] = v3_norm(v);
            if (!(R[i][i] > 1e-13 * v3_norm(f[i]))) {
                independent = false;
                break;
            }
            e[i] = v3_scale(1.0 / R[i][i], v);
            y[i] = -v3_dot(e[i], d);
        }
        if (!independent) {
            continue;
        }
        vec3 rest = x;
        for (int i = 0; i < free; ++i) {
            y[i] = -v3_dot(e[i], rest);
            rest = v3_madd(rest, y[i], e[i]);
        }
        bool inside = true;
        for (int i = free - 1; i >= 0; --i) {
            for (int k = i + 1; k < free; ++k) {
                y[i] -= R[i][k] * y[k];
            }
            y[i] /= R[i][i];
            inside = inside && fabs(y[i]) <= 1.0 + 1e-12;
        }
        if (inside && v3_norm(rest) < best) {
            best = v3_norm(rest);
        }
    }
    return best;
}

/* Distance of the segments or boxes inside two shapes; 0 if these overlap. */
static inline double core_distance(const zonotope* a, const zonotope* b)
{
    vec3 g[6];
    int n = 0;
    for (int i = 0; i < a->n; ++i) {
        g[n++] = a->g[i];
    }
    for (int i = 0; i < b->n; ++i) {
        g[n++] = b->g[i];
    }
    return box_least_squares(v3_sub(b->c, a->c), g, n);
}

/* How far p is from the shape. */
static inline double point_distance(const zonotope* a, vec3 p)
{
    const zonotope point = {.c = p};
    const double d = core_distance(a, &point) - a->r;
    return d > 0.0 ? d : 0.0;
}

#endif
