/* tests/unit/collide/crossing_test.c - which motions pass through, against closed forms and brute force. */
#include "collide/crossing.h"

#include "geometry.h"

#ifdef PERP_TEST_SANITIZED
enum { MOTIONS_IN_SPACE = 4000 };
#else
enum { MOTIONS_IN_SPACE = 24000 };
#endif

static perpi_shape made(perp_context* context, const perp_shape_def* def, int dimension)
{
    perpi_shape s = {0};
    CHECK_OK(perpi_shape_make(context, def, dimension, &s));
    return s;
}

/* A body of any kind, of about unit size or smaller. */
static perpi_shape random_piece(perp_context* context, int dimension)
{
    static const perp_shape_type plane[] = {PERP_SHAPE_PARTICLE, PERP_SHAPE_CIRCLE, PERP_SHAPE_BOX2,
                                            PERP_SHAPE_POLYGON, PERP_SHAPE_SUPERELLIPSE};
    static const perp_shape_type space[] = {
        PERP_SHAPE_PARTICLE, PERP_SHAPE_SPHERE,     PERP_SHAPE_BOX,      PERP_SHAPE_CAPSULE,
        PERP_SHAPE_CYLINDER, PERP_SHAPE_POLYHEDRON, PERP_SHAPE_ELLIPSOID};
    perp_shape_def d =
        perp_shape_def_default(dimension == 2 ? plane[random_below(5)] : space[random_below(7)]);
    double vertex[3 * 12];
    d.radius = random_in(0.05, 0.5);
    d.length = random_in(0.1, 1.0);
    for (int i = 0; i < 3; ++i) {
        d.size[i] = random_in(0.05, 1.0);
        d.radii[i] = random_in(0.05, 0.5);
    }
    d.exponents[0] = d.exponents[1] = random_in(1.5, 6.0);
    if (d.type == PERP_SHAPE_POLYGON) {
        const int n = 3 + random_below(5);
        const double phase = random_in(0, 6);
        for (int i = 0; i < n; ++i) {
            const double a = phase + 6.283185307179586 * i / n;
            vertex[2 * i] = 0.5 * cos(a);
            vertex[2 * i + 1] = 0.2 * sin(a);
        }
        d.vertices = vertex;
        d.vertex_count = n;
    } else if (d.type == PERP_SHAPE_POLYHEDRON) {
        for (int i = 0; i < 12; ++i) {
            v3_to(random_vec(0.4), vertex + 3 * i);
        }
        d.vertices = vertex;
        d.vertex_count = 12;
    }
    return made(context, &d, dimension);
}

/* A turn of the size given, about any axis. */
static vec3 random_rotation(int dimension, double most)
{
    return dimension == 2 ? v3(0, 0, random_in(-most, most))
                          : v3_scale(random_in(0, most), v3_unit(random_vec(1)));
}

/* The plate lies about the origin with its thin side along z (in the plane: y), and the body stays between
 * its rims: it is above if its ball is above, and so on. The whole is then turned and moved. */
TEST(a_body_that_ends_beyond_a_plate_has_crossed_and_one_that_does_not_has_not)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    random_state = 12;
    int count[3] = {0, 0, 0};
    for (int k = 0; k < MOTIONS_IN_SPACE; ++k) {
        const int dimension = 2 + k % 2;
        const vec3 up = dimension == 2 ? v3(0, 1, 0) : v3(0, 0, 1);
        const double t = pow(10.0, -random_in(0.3, 3.0)), wide = 4.0;
        perp_shape_def d =
            perp_shape_def_default(dimension == 2 ? PERP_SHAPE_BOX2 : PERP_SHAPE_BOX);
        d.size[0] = d.size[1] = d.size[2] = 2.0 * wide;
        d.size[dimension - 1] = t;
        perpi_shape plate = made(context, &d, dimension), body = random_piece(context, dimension);
        const double r = perpi_shape_radius(&body), off = 0.5 * t + r;
        /* starts above; ends above (0), below (1); or passes beside (2) */
        const int kind = random_below(3);
        vec3 from = v3_scale(off + random_in(0.01, 3.0), up), to = from;
        to = v3_scale(off + random_in(0.01, 3.0), kind == 0 ? up : v3_neg(up));
        const double reach = wide - r - 0.1, x0 = random_in(-reach, reach),
                     x1 = random_in(-reach, reach);
        from.x = kind == 2 ? wide + r + random_in(0.01, 2.0) : x0;
        to.x = kind == 2 ? wide + r + random_in(0.01, 2.0) : x1;
        /* the whole turns together by Q as a rigid frame at the start, and slowly on the way */
        const quat Q = random_turn(dimension);
        const double most = random_below(3) == 0 ? 20.0 : random_below(2) == 0 ? 1.0 : 0.0;
        const vec3 place = dimension == 2 ? v3(3, -2, 0) : v3(3, -2, 5);
        const vec3 drift =
            dimension == 2 ? v3(random_in(-2, 2), random_in(-2, 2), 0) : random_vec(2);
        const perpi_path a = {.start = pose_at(place, Q), .dx = drift};
        const perpi_path b = {
            .start = pose_at(v3_add(place, q4_rotate(Q, from)), q4_mul(Q, random_turn(dimension))),
            .dx = v3_add(drift, q4_rotate(Q, v3_sub(to, from))),
            .turn = random_rotation(dimension, most)};
        const bool flip = random_below(2) == 0;
        const perpi_passage p = flip ? perpi_passage_find(dimension, &body, &b, &plate, &a)
                                     : perpi_passage_find(dimension, &plate, &a, &body, &b);
        count[kind] += 1;
        if (p.crossed != (kind == 1)) {
            TEST_PRINT("motion %d of kind %d: shape %d, thickness %g, turn up to %g", k, kind,
                       (int)body.type, t, most);
        }
        REQUIRE(p.crossed == (kind == 1));
        if (kind == 1) {
            const vec3 n = q4_rotate(q4_conj(Q), flip ? v3_neg(p.normal) : p.normal);
            CHECK_AT_LEAST(v3_dot(n, up), 0.99);
        } else {
            CHECK(!p.met);
        }
        perpi_shape_free(context, &plate);
        perpi_shape_free(context, &body);
    }
    TEST_PRINT("%d stay above, %d pass through, %d pass beside", count[0], count[1], count[2]);
    perp_context_destroy(context);
}

/* ---- brute force in the plane: separating axes over the edges, at many instants ---------------------*/

typedef struct flat {
    double x[8], y[8];
    int n;
} flat;

static flat flat_at(const perpi_shape* s, const perpi_path* path, double t)
{
    const double angle = t * path->turn.z, c = cos(angle), d = sin(angle);
    flat f = {.n = s->count};
    for (int i = 0; i < f.n; ++i) {
        const vec3 v = m3_mul(path->start.R, v3(s->vertex[2 * i], s->vertex[2 * i + 1], 0));
        f.x[i] = path->start.x.x + t * path->dx.x + c * v.x - d * v.y;
        f.y[i] = path->start.x.y + t * path->dx.y + d * v.x + c * v.y;
    }
    return f;
}

/* The largest separation over all edge normals of both; if it is negative its normal is that of
 * least depth. */
static double separate(const flat* a, const flat* b, double n[2])
{
    double best = -INFINITY;
    for (int side = 0; side < 2; ++side) {
        const flat *f = side == 0 ? a : b, *g = side == 0 ? b : a;
        for (int i = 0; i < f->n; ++i) {
            const int k = (i + 1) % f->n;
            const double ex = f->x[k] - f->x[i], ey = f->y[k] - f->y[i], l = hypot(ex, ey);
            const double nx = ey / l, ny = -ex / l;
            double least = INFINITY;
            for (int j = 0; j < g->n; ++j) {
                least = fmin(least, nx * (g->x[j] - f->x[i]) + ny * (g->y[j] - f->y[i]));
            }
            if (least > best) {
                best = least;
                n[0] = side == 0 ? nx : -nx;
                n[1] = side == 0 ? ny : -ny;
            }
        }
    }
    return best;
}

TEST(planar_motions_agree_with_brute_force)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    random_state = 34;
    enum { SAMPLES = 600, MOTIONS = MOTIONS_IN_SPACE / 4 };
    int crossed = 0, met = 0, apart = 0, unclear = 0;
    const int motions = perp_test_full() || MOTIONS < 2000 ? MOTIONS : MOTIONS / 3;
    for (int k = 0; k < motions; ++k) {
        perpi_shape s[2];
        perpi_path path[2];
        for (int i = 0; i < 2; ++i) {
            perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYGON);
            double vertex[16];
            const int n = 3 + random_below(4);
            const double thin = random_in(0.1, 0.9);
            for (int j = 0; j < n; ++j) {
                const double a = 6.283185307179586 * j / n;
                vertex[2 * j] = cos(a);
                vertex[2 * j + 1] = thin * sin(a);
            }
            d.vertices = vertex;
            d.vertex_count = n;
            s[i] = made(context, &d, 2);
            path[i] = (perpi_path){.start = pose_at(v3(0, 0, 0), random_turn(2)),
                                   .dx = v3(random_in(-4, 4), random_in(-4, 4), 0),
                                   .turn = v3(0, 0, random_below(2) * random_in(-0.4, 0.4))};
            path[i].start.x = v3_sub(v3(i == 0 ? 0.0 : random_in(-2, 2), random_in(-1, 1), 0),
                                     v3_scale(0.5, path[i].dx));
        }
        /* normals before the first and after the last overlap; largest depth between */
        double first[2] = {0, 0}, last[2] = {0, 0}, now[2] = {0, 0}, depth = 0.0,
               nearest = INFINITY;
        bool in = false, start_in = false, end_in = false;
        for (int i = 0; i <= SAMPLES; ++i) {
            const double t = (double)i / SAMPLES;
            const flat a = flat_at(&s[0], &path[0], t), b = flat_at(&s[1], &path[1], t);
            const double sep = separate(&a, &b, now);
            nearest = fmin(nearest, sep);
            if (sep < 0.0 && i == 0) {
                start_in = true;
            }
            if (sep >= 0.0 && !in) {
                memcpy(first, now, sizeof first);
            } else if (sep < 0.0) {
                in = true;
                depth = fmax(depth, -sep);
                end_in = i == SAMPLES;
            }
        }
        if (in) { /* after the last overlap: back from the end */
            for (int i = SAMPLES; i >= 0; --i) {
                const double t = (double)i / SAMPLES;
                const flat a = flat_at(&s[0], &path[0], t), b = flat_at(&s[1], &path[1], t);
                if (separate(&a, &b, now) < 0.0) {
                    if (end_in && i == SAMPLES) {
                        memcpy(last, now, sizeof last);
                    }
                    break;
                }
                memcpy(last, now, sizeof last);
            }
        }
        const perpi_passage p = perpi_passage_find(2, &s[0], &path[0], &s[1], &path[1]);
        /* overlap at the start or the end has a direction of least depth, which ties can change */
        const double dot = first[0] * last[0] + first[1] * last[1];
        if (start_in || end_in || (!in && nearest < 0.02) ||
            (in && (depth < 0.02 || fabs(dot) < 0.5))) {
            unclear += 1;
        } else if (!in) {
            apart += 1;
            CHECK(!p.met);
        } else {
            met += 1;
            crossed += p.crossed;
            if (p.crossed != (dot < 0.0)) {
                TEST_PRINT("motion %d: dot %g, depth %g", k, dot, depth);
            }
            CHECK(p.crossed == (dot < 0.0));
        }
        perpi_shape_free(context, &s[0]);
        perpi_shape_free(context, &s[1]);
    }
    TEST_PRINT("%d met, of these %d crossed, %d apart, %d unclear", met, crossed, apart, unclear);
    CHECK_AT_LEAST(crossed, 200);
    CHECK_AT_LEAST(met - crossed, motions / 120);
    CHECK_AT_LEAST(apart, 200);
    perp_context_destroy(context);
}

/* ---- what is not a crossing ---------------------------------------------------------------------------*/

TEST(a_wheel_that_rolls_and_two_bodies_that_turn_together_do_not_cross)
{
    perpi_shape wheel = make_round(PERP_SHAPE_CIRCLE, 0.5, 0.0), road = make_box2(50.0, 0.05);
    wheel.local = road.local = pose_at(v3(0, 0, 0), q4_identity());
    random_state = 56;
    for (int k = 0; k < 500; ++k) {
        const double angle = random_in(-30.0, 30.0), sunk = 1e-9 * random_below(2);
        const perpi_path a = {.start = pose_at(v3(0, -0.05, 0), q4_identity())};
        const perpi_path b = {.start = pose_at(v3(0, 0.5 - sunk, 0), q4_identity()),
                              .dx = v3(-0.5 * angle, 0, 0),
                              .turn = v3(0, 0, angle)};
        CHECK(!perpi_passage_find(2, &road, &a, &wheel, &b).crossed);
        /* both turn about the origin by the same angle, as a wheel on its axle: on a chord */
        const double together = random_in(-3.0, 3.0);
        const vec3 end = q4_rotate(q4_exp(v3(0, 0, together)), v3(0, 0.5, 0));
        const perpi_path c = {
            .start = pose_at(v3(0, -0.05, 0), q4_identity()),
            .dx = v3_sub(q4_rotate(q4_exp(v3(0, 0, together)), v3(0, -0.05, 0)), v3(0, -0.05, 0)),
            .turn = v3(0, 0, together)};
        const perpi_path d = {.start = pose_at(v3(0, 0.5, 0), q4_identity()),
                              .dx = v3_sub(end, v3(0, 0.5, 0)),
                              .turn = v3(0, 0, together)};
        CHECK(!perpi_passage_find(2, &road, &c, &wheel, &d).crossed);
    }
}

/* The caller asks whether something covers the face where they touch: at a corner of it anything may. */
TEST(a_pair_that_overlaps_at_the_start_touches_where_it_does)
{
    perpi_shape wheel = make_round(PERP_SHAPE_CIRCLE, 0.5, 0.0), road = make_box2(50.0, 0.05);
    wheel.local = road.local = pose_at(v3(0, 0, 0), q4_identity());
    random_state = 57;
    for (int k = 0; k < 100; ++k) {
        const double x = random_in(-20.0, 20.0);
        const perpi_path a = {.start = pose_at(v3(0, -0.05, 0), q4_identity())};
        const perpi_path b = {.start = pose_at(v3(x, 0.499, 0), q4_identity()), .dx = v3(0, -2, 0)};
        const perpi_passage p = perpi_passage_find(2, &road, &a, &wheel, &b);
        CHECK(p.crossed);
        CHECK_AT_MOST(fabs(p.point[0].x - x) + fabs(p.point[1].x - x), 1e-6);
        CHECK_AT_MOST(fabs(p.point[0].y) + fabs(p.point[1].y + 0.001), 1e-6);
        const perpi_passage q = perpi_passage_find(2, &wheel, &b, &road, &a);
        CHECK(q.crossed);
        CHECK_AT_MOST(fabs(q.point[0].x - x) + fabs(q.point[1].x - x), 1e-6);
    }
}

TEST(the_spin_of_balls_does_not_change_their_sides)
{
    perpi_shape ball = make_round(PERP_SHAPE_SPHERE, 0.5, 0.0);
    ball.local = pose_at(v3(0, 0, 0), q4_identity());
    random_state = 5;
    for (int k = 0; k < 500; ++k) {
        const vec3 n = v3_unit(random_vec(1)), spin = random_rotation(3, 6.0);
        const vec3 along = v3_scale(0.1, v3_unit(v3_cross(n, random_vec(1))));
        const perpi_path a = {.start = pose_at(v3(0, 0, 0), q4_identity()), .turn = spin};
        const perpi_path b = {.start = pose_at(v3_scale(0.95, n), q4_identity()),
                              .dx = along,
                              .turn = v3_scale(0.8, spin)};
        CHECK(!perpi_passage_find(3, &ball, &a, &ball, &b).crossed);
    }
}

TEST(sliding_over_the_seam_of_two_tiles_does_not_cross_them)
{
    perpi_shape tile = make_box(0.5, 0.5, 0.1), box = make_box(0.2, 0.2, 0.2);
    tile.local = box.local = pose_at(v3(0, 0, 0), q4_identity());
    random_state = 78;
    for (int k = 0; k < 2000; ++k) {
        const double sunk = pow(10.0, -random_in(5.0, 14.0));
        const perpi_path a = {.start = pose_at(v3(0, 0, -0.1), q4_identity())};
        const vec3 from = v3(random_in(-3.0, -0.71), random_in(-0.5, 0.5), 0.2 - sunk);
        const perpi_path b = {.start = pose_at(from, q4_identity()),
                              .dx = v3(random_in(1.5, 6.0), random_in(-0.2, 0.2), 0)};
        CHECK(!perpi_passage_find(3, &tile, &a, &box, &b).met);
    }
}

TEST(a_body_that_stops_in_a_plate_has_crossed_from_the_middle_on)
{
    perpi_shape plate = make_box(5.0, 5.0, 0.1), ball = make_round(PERP_SHAPE_SPHERE, 0.3, 0.0);
    plate.local = ball.local = pose_at(v3(0, 0, 0), q4_identity());
    const perpi_path a = {.start = pose_at(v3(0, 0, 0), q4_identity())};
    for (double z = 0.38; z > -0.39; z -= 0.02) {
        const perpi_path b = {.start = pose_at(v3(0, 0, 1), q4_identity()), .dx = v3(0, 0, z - 1)};
        const perpi_passage p = perpi_passage_find(3, &plate, &a, &ball, &b);
        CHECK(p.met && p.inside);
        CHECK_NEAR(p.beyond, z - 0.4, 1e-12);
        CHECK(p.crossed == (z < 0.0095)); /* one twentieth of the depth before the middle */
    }
}

TEST(a_ball_of_the_thickness_fits_into_every_shape)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    random_state = 90;
    for (int k = 0; k < 2000; ++k) {
        const int dimension = 2 + k % 2;
        perpi_shape s = random_piece(context, dimension);
        const double t = perpi_shape_thickness(&s);
        const perpi_pose at = pose_at(v3(0, 0, 0), q4_identity());
        CHECK(s.type == PERP_SHAPE_PARTICLE ? t == 0.0 : t > 0.0);
        const perpi_bounds box = perpi_shape_ops_of(s.type)->bounds(&s, &at);
        CHECK_AT_MOST(t, box.hi.x - box.lo.x + 1e-12);
        CHECK_AT_MOST(t, box.hi.y - box.lo.y + 1e-12);
        CHECK_AT_MOST(dimension == 2 ? 0.0 : t, box.hi.z - box.lo.z + 1e-12);
        perpi_shape_free(context, &s);
    }
    perp_context_destroy(context);
}
