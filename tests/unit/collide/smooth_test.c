/* Smooth convex bodies: their support functions, and the closest points of two. The reference is the implicit
 * function of the surface, which the routines do not use. */
#include "geometry.h"
#include "shape/polyhedron.h"
#include "shape/smooth.h"

static perpi_shape smooth(perp_shape_type type)
{
    perpi_shape s = {.type = type, .radius = random_in(0.2, 1.0)};
    s.radii = v3(random_in(0.2, 1.5), random_in(0.2, 1.5), random_in(0.2, 1.5));
    s.exponent[0] = random_in(1.3, 6.0);
    s.exponent[1] = random_in(1.3, 6.0);
    if (type == PERP_SHAPE_SPHERE || type == PERP_SHAPE_CIRCLE || type == PERP_SHAPE_ELLIPSOID) {
        s.exponent[0] = s.exponent[1] = 2.0;
    }
    if (type == PERP_SHAPE_SPHERE || type == PERP_SHAPE_CIRCLE) {
        s.radii = v3(s.radius, s.radius, s.radius);
    }
    return s;
}

/* f = 1 on the surface, homogeneous of degree 1; the gradient by hand. Planar: z = 0. */
static double implicit_of(const perpi_shape* s, vec3 x, vec3* gradient)
{
    const double r = s->exponent[0], t = s->exponent[1];
    const double X = fabs(x.x) / s->radii.x, Y = fabs(x.y) / s->radii.y;
    const bool planar = dimension_of(s->type) == 2;
    const double Z = planar ? 0.0 : fabs(x.z) / s->radii.z;
    const double flat = pow(pow(X, r) + pow(Y, r), 1.0 / r);
    const double f = pow(pow(flat, t) + pow(Z, t), 1.0 / t);
    const double outer = flat > 0.0 ? pow(flat / f, t - 1.0) : 0.0;
    gradient->x = copysign(outer * pow(X / flat, r - 1.0) / s->radii.x, x.x);
    gradient->y = copysign(outer * pow(Y / flat, r - 1.0) / s->radii.y, x.y);
    gradient->z = planar ? 0.0 : copysign(pow(Z / f, t - 1.0) / s->radii.z, x.z);
    return f;
}

TEST(support_points_lie_on_the_surface_with_their_normal_there)
{
    static const perp_shape_type types[] = {PERP_SHAPE_SPHERE, PERP_SHAPE_ELLIPSOID,
                                            PERP_SHAPE_SUPERQUADRIC, PERP_SHAPE_SUPERELLIPSE};
    random_state = 1;
    for (int k = 0; k < 4000; ++k) {
        const perpi_shape s = smooth(types[k % 4]);
        vec3 d = random_vec(1.0), point, gradient, plus, minus;
        if (dimension_of(s.type) == 2) {
            d.z = 0.0;
        }
        mat3 H;
        const double h = perpi_smooth_support(&s, d, &point, &H);
        CHECK_NEAR(h, v3_dot(d, point), 1e-13);
        CHECK_NEAR(implicit_of(&s, point, &gradient), 1.0, 1e-12);
        CHECK_AT_MOST(v3_norm(v3_cross(v3_unit(gradient), v3_unit(d))), 1e-7);
        /* the Hessian against differences of the point */
        const vec3 step = random_vec(1e-6);
        const vec3 move = dimension_of(s.type) == 2 ? v3(step.x, step.y, 0.0) : step;
        (void)perpi_smooth_support(&s, v3_add(d, move), &plus, NULL);
        (void)perpi_smooth_support(&s, v3_sub(d, move), &minus, NULL);
        const vec3 off = v3_sub(v3_scale(0.5, v3_sub(plus, minus)), m3_mul(H, move));
        const double least = fmin(fmin(fabs(d.x), fabs(d.y)), d.z == 0.0 ? 1.0 : fabs(d.z));
        if (least > 0.05) { /* third derivatives have no bound at the axes */
            CHECK_AT_MOST(v3_norm(off), 1e-5 * v3_norm(m3_mul(H, move)) + 1e-12);
        }
    }
}

/* Largest s over many normals: for bodies that overlap, where the closest points are no minimum. */
static double best_of_many(const perpi_shape* a, const perpi_pose* pa, const perpi_shape* b,
                           const perpi_pose* pb, int dimension)
{
    double best = -INFINITY;
    for (int i = 0; i < 3000; ++i) {
        const double z = dimension == 2 ? 0.0 : 1.0 - (2.0 * i + 1.0) / 3000.0;
        const double phi = dimension == 2 ? 2.0 * 3.14159265358979 * i / 3000.0 : 2.399963 * i;
        const double r = sqrt(1.0 - z * z);
        const vec3 n = {r * cos(phi), r * sin(phi), z};
        vec3 x, y;
        const double s = v3_dot(n, v3_sub(pb->x, pa->x)) -
                         perpi_smooth_support(a, m3_tmul(pa->R, n), &x, NULL) -
                         perpi_smooth_support(b, m3_tmul(pb->R, v3_neg(n)), &y, NULL);
        best = s > best ? s : best;
    }
    return best;
}

/* Both points on their surfaces, both normals along the line between them: for convex bodies that
 * are apart nothing else is the closest pair. */
static void check_pairs(perp_shape_type one, perp_shape_type two, int trials)
{
    candidates t = touches_create();
    const int dimension = dimension_of(one) == 2 || dimension_of(two) == 2 ? 2 : 3;
    double surface = 0.0, line = 0.0, depth = 0.0;
    int apart = 0, overlap = 0;
    for (int k = 0; k < trials; ++k) {
        const perpi_shape a = smooth(one), b = smooth(two);
        vec3 d = random_vec(2.0);
        d.z = dimension == 2 ? 0.0 : d.z;
        const bool special = k % 4 == 3;
        const perpi_pose pa =
            pose_at(v3(0, 0, 0), special ? random_special_turn(dimension) : random_turn(dimension));
        const perpi_pose pb =
            pose_at(d, special ? random_special_turn(dimension) : random_turn(dimension));
        REQUIRE(meet(&t, &a, &pa, &b, &pb, 100.0) == 1);
        check_rows(&t, 100.0, 3.0);
        const perpi_candidate* c = &t.list.item[0];
        if (c->gap < 0.0) {
            ++overlap;
            const double best = best_of_many(&a, &pa, &b, &pb, dimension);
            depth = best - c->gap > depth ? best - c->gap : depth;
            continue;
        }
        ++apart;
        const perpi_shape* shape[2] = {&a, &b};
        const perpi_pose* pose[2] = {&pa, &pb};
        const vec3 point[2] = {c->point_a, c->point_b};
        for (int side = 0; side < 2; ++side) {
            if (shape[side]->type == PERP_SHAPE_PARTICLE) {
                surface = fmax(surface, v3_norm(v3_sub(point[side], pose[side]->x)));
                continue;
            }
            vec3 g;
            const vec3 local = m3_tmul(pose[side]->R, v3_sub(point[side], pose[side]->x));
            const double f = implicit_of(shape[side], local, &g);
            surface = fmax(surface, fabs(f - 1.0));
            const vec3 n = m3_mul(pose[side]->R, v3_unit(g));
            line = fmax(line, v3_norm(v3_sub(n, side == 0 ? c->normal : v3_neg(c->normal))));
        }
    }
    TEST_PRINT("%-12s %-12s %4d apart: surface %.1e, normal %.1e; %4d overlap: depth %.1e",
               perp_shape_name(one), perp_shape_name(two), apart, surface, line, overlap, depth);
    CHECK_AT_MOST(surface, 1e-11);
    CHECK_AT_MOST(line, 1e-6); /* gradients at flat places amplify rounding */
    CHECK_AT_MOST(depth, 1e-9);
    CHECK_AT_LEAST(apart, trials / 4);
    touches_destroy(&t);
}

TEST(closest_points_have_a_common_normal)
{
    random_state = 2;
    check_pairs(PERP_SHAPE_PARTICLE, PERP_SHAPE_ELLIPSOID, 500);
    check_pairs(PERP_SHAPE_SPHERE, PERP_SHAPE_ELLIPSOID, 500);
    check_pairs(PERP_SHAPE_ELLIPSOID, PERP_SHAPE_ELLIPSOID, 500);
    check_pairs(PERP_SHAPE_PARTICLE, PERP_SHAPE_SUPERQUADRIC, 500);
    check_pairs(PERP_SHAPE_SUPERQUADRIC, PERP_SHAPE_SPHERE, 500);
    check_pairs(PERP_SHAPE_ELLIPSOID, PERP_SHAPE_SUPERQUADRIC, 500);
    check_pairs(PERP_SHAPE_SUPERQUADRIC, PERP_SHAPE_SUPERQUADRIC, 500);
    check_pairs(PERP_SHAPE_PARTICLE, PERP_SHAPE_SUPERELLIPSE, 500);
    check_pairs(PERP_SHAPE_CIRCLE, PERP_SHAPE_SUPERELLIPSE, 500);
    check_pairs(PERP_SHAPE_SUPERELLIPSE, PERP_SHAPE_SUPERELLIPSE, 1000);
}

TEST(round_bodies_written_as_ellipsoids_meet_like_spheres)
{
    candidates t = touches_create();
    random_state = 3;
    for (int k = 0; k < 300; ++k) {
        const perpi_shape ball = make_round(PERP_SHAPE_SPHERE, random_in(0.1, 1), 0);
        perpi_shape egg = smooth(PERP_SHAPE_ELLIPSOID), super = smooth(PERP_SHAPE_SUPERQUADRIC);
        const double r = random_in(0.1, 1);
        egg.radii = super.radii = v3(r, r, r);
        super.exponent[0] = super.exponent[1] = 2.0;
        const perpi_pose pa = pose_at(random_vec(1), random_turn(3));
        const perpi_pose pb = pose_at(random_vec(1), random_turn(3));
        const vec3 d = v3_sub(pb.x, pa.x);
        for (int which = 0; which < 2; ++which) {
            REQUIRE(meet(&t, &ball, &pa, which == 0 ? &egg : &super, &pb, 10.0) == 1);
            CHECK_NEAR(t.list.item[0].gap, v3_norm(d) - r - ball.radius, 1e-13);
            CHECK_AT_MOST(v3_norm(v3_sub(t.list.item[0].normal, v3_unit(d))), 1e-12);
        }
    }
    touches_destroy(&t);
}

/* Against a polygon of 4 or 5 corners: the gap is the largest s over all normals, the polygon's support
 * by its corners; between the best of many it is refined by thirds. */
static double polygon_gap(const vec3* corner, int count, const perpi_shape* b, const perpi_pose* pb)
{
    double best = -INFINITY, at = 0.0, width = 2.0 * 3.14159265358979323846 / 20000.0;
    for (int pass = 0; pass < 60; ++pass) {
        const double middle = at;
        for (int i = 0; i < (pass == 0 ? 20000 : 5); ++i) {
            const double angle = pass == 0 ? i * width : middle + (i - 2) * 0.5 * width;
            const vec3 n = {cos(angle), sin(angle), 0.0};
            double h = -INFINITY;
            for (int k = 0; k < count; ++k) {
                h = fmax(h, v3_dot(n, corner[k]));
            }
            vec3 x;
            const double s =
                v3_dot(n, pb->x) - h - perpi_smooth_support(b, m3_tmul(pb->R, v3_neg(n)), &x, NULL);
            if (s > best) {
                best = s;
                at = angle;
            }
        }
        width *= 0.5;
    }
    return best;
}

TEST(a_superellipse_meets_boxes_and_polygons)
{
    candidates t = touches_create();
    random_state = 4;
    double worst = 0.0;
    for (int k = 0; k < 60; ++k) {
        double vertex[10], edge[10], turn[5];
        perpi_shape a = make_box2(random_in(0.2, 1), random_in(0.2, 1));
        const perpi_pose pa = pose_at(v3(0, 0, 0), random_turn(2));
        vec3 corner[5];
        int count = 4;
        for (int i = 0; i < 4; ++i) {
            corner[i] = perpi_pose_point(
                &pa, v3(i == 0 || i == 3 ? a.half.x : -a.half.x, i < 2 ? a.half.y : -a.half.y, 0));
        }
        if (k % 2 == 1) {
            count = 5;
            a = (perpi_shape){.type = PERP_SHAPE_POLYGON,
                              .count = 5,
                              .vertex = vertex,
                              .edge = edge,
                              .turn = turn};
            for (int i = 0; i < 5; ++i) {
                const double angle = 1.2566370614359172 * i;
                vertex[2 * i] = (0.4 + 0.1 * (k % 3)) * cos(angle);
                vertex[2 * i + 1] = 0.8 * sin(angle);
                corner[i] = perpi_pose_point(&pa, v3(vertex[2 * i], vertex[2 * i + 1], 0));
            }
            perpi_polygon_normals(&a);
        }
        const perpi_shape b = smooth(PERP_SHAPE_SUPERELLIPSE);
        const perpi_pose pb = pose_at(v3(random_in(-2, 2), random_in(-2, 2), 0), random_turn(2));
        REQUIRE(meet(&t, &a, &pa, &b, &pb, 100.0) == 1);
        check_rows(&t, 100.0, 3.0);
        const double gap = polygon_gap(corner, count, &b, &pb);
        if (gap > -0.1) { /* a deep overlap has several directions of separation */
            worst = fmax(worst, fabs(gap - t.list.item[0].gap));
        }
    }
    TEST_PRINT("60 poses: gaps within %.1e", worst);
    CHECK_AT_MOST(worst, 1e-9);
    touches_destroy(&t);
}

/* Over a sharp corner the normals span nearly half a circle, and s has a maximum on the far side of
 * the superellipse, too; used for the closest points, it would separate the bodies violently. */
TEST(a_superellipse_meets_sharp_corners)
{
    candidates t = touches_create();
    random_state = 11;
    double worst = 0.0;
    int apart = 0;
    for (int k = 0; k < 2000; ++k) {
        double vertex[6] = {0, 0, 1, 0, random_in(0.2, 0.8), pow(10.0, random_in(-3, 0))};
        double edge[6], turn[3];
        perpi_shape a = {
            .type = PERP_SHAPE_POLYGON, .count = 3, .vertex = vertex, .edge = edge, .turn = turn};
        perpi_polygon_normals(&a);
        const perpi_pose pa = pose_at(v3(0, 0, 0), random_turn(2));
        const perpi_shape b = smooth(PERP_SHAPE_SUPERELLIPSE);
        const perpi_pose pb = pose_at(v3(random_in(-1, 1), random_in(-1, 1), 0), random_turn(2));
        REQUIRE(meet(&t, &a, &pa, &b, &pb, 100.0) == 1);
        const perpi_candidate* c = &t.list.item[0];
        /* no normal of many has more */
        double best = -INFINITY;
        for (int i = 0; i < 720; ++i) {
            const vec3 n = {cos(i * 0.008726646259971648), sin(i * 0.008726646259971648), 0.0};
            vec3 x;
            double h = -INFINITY;
            for (int j = 0; j < 3; ++j) {
                h = fmax(h, v3_dot(n, m3_mul(pa.R, v3(vertex[2 * j], vertex[2 * j + 1], 0.0))));
            }
            best = fmax(best, v3_dot(n, pb.x) - h -
                                  perpi_smooth_support(&b, m3_tmul(pb.R, v3_neg(n)), &x, NULL));
        }
        apart += best > 0.0;
        worst = best > 0.0 ? fmax(worst, best - c->gap) : worst;
    }
    TEST_PRINT("%d of 2000 apart: gaps short by %.1e", apart, worst);
    CHECK(apart > 500);
    CHECK_AT_MOST(worst, 1e-9);
    touches_destroy(&t);
}

/* Apart, the closest pair is known by its points: on the box, on the surface, and moving either along
 * its body does not bring it nearer. The reference of the gap is alternating projection's fixed point:
 * the point of the box nearest to p_b is p_a, and the surface's normal at p_b points at p_a. */
TEST(smooth_bodies_meet_boxes)
{
    candidates t = touches_create();
    random_state = 7;
    double on_box = 0.0, on_surface = 0.0, line = 0.0, depth = 0.0;
    int apart = 0, overlap = 0, feature[4] = {0};
    for (int k = 0; k < 1500; ++k) {
        perpi_shape box = make_box(random_in(0.2, 1), random_in(0.2, 1), random_in(0.2, 1));
        CHECK_OK(perpi_polyhedron_box(t.context, box.half, &box.polyhedron));
        const perpi_shape b = smooth(k % 2 ? PERP_SHAPE_ELLIPSOID : PERP_SHAPE_SUPERQUADRIC);
        const bool special = k % 5 == 4;
        const perpi_pose pa =
            pose_at(v3(0, 0, 0), special ? random_special_turn(3) : random_turn(3));
        const perpi_pose pb =
            pose_at(random_vec(2.0), special ? random_special_turn(3) : random_turn(3));
        REQUIRE(meet(&t, &box, &pa, &b, &pb, 100.0) >= 1);
        perpi_polyhedron_free(t.context, box.polyhedron);
        check_rows(&t, 100.0, 3.0);
        const perpi_candidate* c = &t.list.item[0];
        if (c->gap < 0.0) {
            ++overlap;
            double best = -INFINITY;
            for (int i = 0; i < 3000; ++i) {
                const double z = 1.0 - (2.0 * i + 1.0) / 3000.0, phi = 2.399963 * i;
                const vec3 n = {sqrt(1 - z * z) * cos(phi), sqrt(1 - z * z) * sin(phi), z};
                const vec3 m = m3_tmul(pa.R, n);
                vec3 y;
                const double s = v3_dot(n, v3_sub(pb.x, pa.x)) - fabs(m.x) * box.half.x -
                                 fabs(m.y) * box.half.y - fabs(m.z) * box.half.z -
                                 perpi_smooth_support(&b, m3_tmul(pb.R, v3_neg(n)), &y, NULL);
                best = s > best ? s : best;
            }
            depth = best > -0.1 ? fmax(depth, best - c->gap) : depth;
            continue;
        }
        ++apart;
        const vec3 q = m3_tmul(pa.R, v3_sub(c->point_b, pa.x)), h = box.half;
        const vec3 clamped = {fmin(fmax(q.x, -h.x), h.x), fmin(fmax(q.y, -h.y), h.y),
                              fmin(fmax(q.z, -h.z), h.z)};
        on_box = fmax(on_box, v3_norm(v3_sub(perpi_pose_point(&pa, clamped), c->point_a)));
        feature[(fabs(q.x) > h.x) + (fabs(q.y) > h.y) + (fabs(q.z) > h.z)] += 1;
        vec3 g;
        const vec3 local = m3_tmul(pb.R, v3_sub(c->point_b, pb.x));
        on_surface = fmax(on_surface, fabs(implicit_of(&b, local, &g) - 1.0));
        line = fmax(line, v3_norm(v3_add(m3_mul(pb.R, v3_unit(g)), c->normal)));
    }
    TEST_PRINT("%d apart (%d faces, %d edges, %d corners): box %.1e, surface %.1e, normal %.1e; "
               "%d overlap: depth %.1e",
               apart, feature[1], feature[2], feature[3], on_box, on_surface, line, overlap, depth);
    CHECK_AT_MOST(on_box, 1e-7);
    CHECK_AT_MOST(on_surface, 1e-11);
    CHECK_AT_MOST(line, 1e-5); /* gradients at sharp and flat places amplify rounding */
    CHECK_AT_MOST(depth, 1e-9);
    CHECK(feature[1] > 50 && feature[2] > 50 && feature[3] > 50);
    touches_destroy(&t);
}

TEST(on_a_plane_the_lowest_point_tells)
{
    candidates t = touches_create();
    random_state = 5;
    for (int k = 0; k < 400; ++k) {
        const perpi_shape b = smooth(k % 2 ? PERP_SHAPE_ELLIPSOID : PERP_SHAPE_SUPERQUADRIC);
        const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, random_vec(1), random_in(-1, 1));
        const perpi_pose pb = pose_at(random_vec(1), random_turn(3));
        const perpi_pose origin = pose_at(v3(0, 0, 0), q4_identity());
        REQUIRE(meet(&t, &plane, &origin, &b, &pb, 100.0) == 1);
        check_rows(&t, 100.0, 3.0);
        const perpi_candidate* c = &t.list.item[0];
        vec3 g;
        const vec3 local = m3_tmul(pb.R, v3_sub(c->point_b, pb.x));
        CHECK_NEAR(implicit_of(&b, local, &g), 1.0, 1e-12);
        CHECK_AT_MOST(v3_norm(v3_add(m3_mul(pb.R, v3_unit(g)), c->normal)), 1e-6);
        CHECK_NEAR(v3_dot(plane.normal, c->point_a), plane.offset, 1e-12);
    }
    touches_destroy(&t);
}

/* Volume, area and second moments by sums over a grid of sections. */
TEST(masses_are_those_of_a_sum_over_sections)
{
    random_state = 6;
    for (int k = 0; k < 12; ++k) {
        perpi_shape s = smooth(k % 3 == 0   ? PERP_SHAPE_ELLIPSOID
                               : k % 3 == 1 ? PERP_SHAPE_SUPERQUADRIC
                                            : PERP_SHAPE_SUPERELLIPSE);
        const bool planar = s.type == PERP_SHAPE_SUPERELLIPSE;
        const perpi_mass m = perpi_shape_ops_of(s.type)->mass(&s);
        const int n = planar ? 40000 : 400;
        const double r = s.exponent[0], tz = s.exponent[1];
        double sum[4] = {0}, reach = 0.0;
        for (int i = 0; i < (planar ? 1 : n); ++i) {
            const double zeta = planar ? 0.0 : (i + 0.5) / n;
            const double k_z = pow(1.0 - pow(zeta, tz), 1.0 / tz);
            const double dz = planar ? 1.0 : 2.0 * s.radii.z / n, z = zeta * s.radii.z;
            for (int j = 0; j < n; ++j) {
                /* substitution xi = sin^2 softens the ends of the chord */
                const double u = (j + 0.5) / n, xi = u * u * (3.0 - 2.0 * u);
                const double x = k_z * s.radii.x * xi;
                const double half = k_z * s.radii.y * pow(1.0 - pow(xi, r), 1.0 / r);
                const double dA = 4.0 * half * k_z * s.radii.x * 6.0 * u * (1.0 - u) / n * dz;
                sum[0] += dA;
                sum[1] += dA * x * x;
                sum[2] += dA * half * half / 3.0;
                sum[3] += dA * z * z;
                reach = fmax(reach, sqrt(x * x + half * half + z * z));
            }
        }
        const double tol = planar ? 1e-6 : 2e-3;
        CHECK_NEAR(m.mass / sum[0], 1.0, tol);
        CHECK_NEAR(m.inertia.m[2][2] / (sum[1] + sum[2]), 1.0, tol);
        if (!planar) {
            CHECK_NEAR(m.inertia.m[0][0] / (sum[2] + sum[3]), 1.0, tol);
            CHECK_NEAR(m.inertia.m[1][1] / (sum[1] + sum[3]), 1.0, tol);
        }
        CHECK_NEAR(perpi_shape_ops_of(s.type)->reach(&s), reach, 5e-3 * reach);
        CHECK_AT_LEAST(perpi_shape_ops_of(s.type)->reach(&s), reach * (1.0 - 1e-12));
    }
    /* a superquadric of exponents 2 is the ellipsoid */
    perpi_shape e = {.type = PERP_SHAPE_ELLIPSOID, .radii = {0.5, 1.2, 0.7}, .exponent = {2, 2}};
    const perpi_mass one = perpi_shape_ops_of(e.type)->mass(&e);
    e.type = PERP_SHAPE_SUPERQUADRIC;
    const perpi_mass two = perpi_shape_ops_of(e.type)->mass(&e);
    CHECK_NEAR(one.mass / two.mass, 1.0, 1e-14);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(one.inertia.m[i][i] / two.inertia.m[i][i], 1.0, 1e-13);
    }
}
