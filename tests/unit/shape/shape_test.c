/* tests/unit/shape/shape_test.c - names, checks, bounds and mass properties of the shapes. */
#include "perp_test.h"
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

/* The corner of a cuboid: x/1.5 + y + z/2 <= 1 in the positive octant, moved to have its centre of
 * mass at the origin. */
static const double tetrahedron[] = {-0.375, -0.25, -0.5, 1.125,  -0.25, -0.5,
                                     -0.375, 0.75,  -0.5, -0.375, -0.25, 1.5};
static const int32_t tetrahedron_faces[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

static perp_shape_def valid(perp_shape_type type)
{
    perp_shape_def def = perp_shape_def_default(type);
    def.radius = 0.5;
    def.length = 2.0;
    def.size[0] = 1.0;
    def.size[1] = 2.0;
    def.size[2] = 3.0;
    def.normal[1] = 2.0;
    def.radii[0] = 0.6;
    def.radii[1] = 1.1;
    def.radii[2] = 0.9;
    def.exponents[0] = 3.0;
    def.exponents[1] = 1.5;
    static const double quadrilateral[] = {-0.4, -0.6, 0.9, -0.2, 0.7, 0.5, -0.1, 0.8};
    def.vertices = quadrilateral;
    def.vertex_count = 4;
    if (type == PERP_SHAPE_POLYHEDRON) {
        def.vertices = tetrahedron;
    }
    if (type == PERP_SHAPE_MESH) {
        def.contactless = true;
        def.vertices = tetrahedron;
        def.vertex_count = 4;
        def.triangles = tetrahedron_faces;
        def.triangle_count = 4;
    }
    return def;
}

static int dimension_of(perp_shape_type type)
{
    const int32_t d = perp_shape_dimension(type);
    return d == 0 ? 3 : d;
}

/* ---- names --------------------------------------------------------------------------------------- */

TEST(every_shape_is_found_by_its_name_and_dimension)
{
    setup();
    for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
        const perp_shape_type type = (perp_shape_type)i;
        perp_shape_type found = PERP_SHAPE_TYPE_COUNT;
        CHECK_OK(perp_shape_find(context, perp_shape_name(type), dimension_of(type), &found));
        CHECK_EQ_INT(found, type);
        CHECK(strlen(perp_shape_summary(type)) > 0);
        CHECK_EQ_INT(perpi_shape_ops_of(type)->type, type);
    }
    perp_shape_type found;
    CHECK_OK(perp_shape_find(context, "box", 2, &found));
    CHECK_EQ_INT(found, PERP_SHAPE_BOX2);
    CHECK_OK(perp_shape_find(context, "particle", 2, &found));
    CHECK_EQ_INT(found, PERP_SHAPE_PARTICLE);
}

static void check_not_found(const char* name, int32_t dimension, perp_status status,
                            const char* message)
{
    perp_shape_type found = PERP_SHAPE_TYPE_COUNT;
    CHECK_EQ_INT(perp_shape_find(context, name, dimension, &found), status);
    CHECK_EQ_STR(perp_context_error(context), message);
    CHECK_EQ_INT(found, PERP_SHAPE_TYPE_COUNT);
}

TEST(a_name_that_cannot_be_had_says_why)
{
    setup();
    const char* planar = "is spatial; a planar scene has circle, halfplane, box, polygon, "
                         "superellipse, particle";
    char text[200];
    snprintf(text, sizeof text, "shape 'sphere' %s", planar);
    check_not_found("sphere", 2, PERP_ERROR_INPUT, text);
    snprintf(text, sizeof text, "shape 'mesh' %s", planar);
    check_not_found("mesh", 2, PERP_ERROR_INPUT, text);
    check_not_found("circle", 3, PERP_ERROR_INPUT,
                    "shape 'circle' is planar; a spatial scene has sphere, plane, box, capsule, "
                    "cylinder, mesh, polyhedron, ellipsoid, superquadric, particle");
    check_not_found("spere", 3, PERP_ERROR_INPUT, "unknown shape 'spere': did you mean 'sphere'?");
    perp_shape_type found;
    CHECK_EQ_INT(perp_shape_find(context, "teapot-of-utah", 3, &found), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "unknown shape 'teapot-of-utah'; a spatial scene");
}

/* ---- checks -------------------------------------------------------------------------------------- */

static void check_rejected(perp_shape_def def, const char* message)
{
    perpi_shape shape = {.radius = 77};
    CHECK_EQ_INT(perpi_shape_make(context, &def, dimension_of(def.type), &shape), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context), message);
    CHECK(shape.radius == 77); /* untouched */
}

TEST(a_number_out_of_range_is_rejected_and_named)
{
    setup();
    perp_shape_def d = valid(PERP_SHAPE_SPHERE);
    d.radius = -1;
    check_rejected(d, "radius: must be > 0, got -1");
    d.radius = 0;
    check_rejected(d, "radius: must be > 0, got 0");
    d.radius = NAN;
    check_rejected(d, "radius: must be > 0, got nan");
    d.radius = INFINITY;
    check_rejected(d, "radius: must be finite, got inf");
    d = valid(PERP_SHAPE_CIRCLE);
    d.radius = -2;
    check_rejected(d, "radius: must be > 0, got -2");
    d = valid(PERP_SHAPE_CAPSULE);
    d.length = -1;
    check_rejected(d, "length: must be >= 0, got -1");
    d.length = NAN;
    check_rejected(d, "length: must be >= 0, got nan");
    d = valid(PERP_SHAPE_BOX);
    d.size[2] = 0;
    check_rejected(d, "size: entries must be > 0 and finite, got 0 in entry 2");
    d = valid(PERP_SHAPE_BOX2);
    d.size[1] = NAN;
    check_rejected(d, "size: entries must be > 0 and finite, got nan in entry 1");
    d = valid(PERP_SHAPE_PLANE);
    d.normal[1] = 0;
    check_rejected(d, "normal: must not be the zero vector");
    d.normal[1] = NAN;
    check_rejected(d, "normal: must be finite, got nan in entry 1");
    d = valid(PERP_SHAPE_PLANE);
    d.offset = INFINITY;
    check_rejected(d, "offset: must be finite, got inf");
    d = valid(PERP_SHAPE_HALFPLANE);
    d.normal[1] = 0;
    d.normal[2] = 1; /* not in the plane of the scene */
    check_rejected(d, "normal: must not be the zero vector");
    d = valid(PERP_SHAPE_PARTICLE);
    d.orientation[0] = 0;
    check_rejected(d, "orientation: must not be zero");
    d.orientation[0] = NAN;
    check_rejected(d, "orientation: must be finite, got nan in entry 0");
    d = valid(PERP_SHAPE_BOX);
    d.position[1] = INFINITY;
    check_rejected(d, "position: must be finite, got inf in entry 1");
    d = valid(PERP_SHAPE_BOX2);
    d.position[2] = 1;
    check_rejected(d, "position: its z entry must be 0 in a planar scene, got 1");
    d = valid(PERP_SHAPE_BOX2);
    d.orientation[1] = 1;
    check_rejected(d, "orientation: must be about z in a planar scene");
    d = valid(PERP_SHAPE_ELLIPSOID);
    d.radii[2] = 0.0;
    check_rejected(d, "radii: entries must be > 0 and finite, got 0 in entry 2");
    d = valid(PERP_SHAPE_SUPERQUADRIC);
    d.exponents[1] = 1.0;
    check_rejected(d, "exponents/1: must be from 1.05 to 100 (2: round; 1 would have edges, a very "
                      "large one is a box: use polygons), got 1");
    d = valid(PERP_SHAPE_BOX);
    d.friction = -0.5;
    check_rejected(d, "friction: must be >= 0, got -0.5");
}

TEST(a_spatial_shape_in_a_planar_model_is_rejected)
{
    setup();
    const perp_shape_def d = valid(PERP_SHAPE_BOX);
    perpi_shape shape;
    CHECK_EQ_INT(perpi_shape_make(context, &d, 2, &shape), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context),
                 "type: shape 'box' is spatial; a planar scene has "
                 "circle, halfplane, box, polygon, superellipse, particle");
}

TEST(making_a_shape_normalises_its_normal_and_its_quaternion_at_any_scale)
{
    setup();
    const double scales[] = {1e-200, 1, 1e200};
    for (int i = 0; i < 3; ++i) {
        perp_shape_def d = valid(PERP_SHAPE_PLANE);
        d.normal[0] = 3 * scales[i];
        d.normal[1] = 0;
        d.normal[2] = 4 * scales[i];
        d.orientation[0] = scales[i];
        d.orientation[3] = scales[i];
        d.offset = 5;
        perpi_shape s;
        REQUIRE_OK(perpi_shape_make(context, &d, 3, &s));
        CHECK_NEAR(s.normal.x, 0.6, 1e-15);
        CHECK_NEAR(s.normal.z, 0.8, 1e-15);
        CHECK_NEAR(s.offset, 5, 0);
        CHECK_NEAR(s.local.q.w, sqrt(0.5), 1e-15);
        CHECK_NEAR(s.local.R.m[1][0], 1.0, 1e-15);
    }
}

/* ---- bounds -------------------------------------------------------------------------------------- */

/* The support of a shape along a world direction, from its definition. */
static double support(const perpi_shape* s, const perpi_pose* pose, vec3 n)
{
    const vec3 d = m3_tmul(pose->R, n);
    double local = 0.0;
    switch (s->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: local = s->radius; break;
    case PERP_SHAPE_CAPSULE: local = s->radius + 0.5 * s->length * fabs(d.z); break;
    case PERP_SHAPE_CYLINDER:
        local = s->radius * hypot(d.x, d.y) + 0.5 * s->length * fabs(d.z);
        break;
    case PERP_SHAPE_POLYHEDRON:
    case PERP_SHAPE_MESH:
        local = -INFINITY;
        for (size_t i = 0; i < 4; ++i) {
            local = fmax(local, v3_dot(d, v3_from(tetrahedron + 3 * i)));
        }
        break;
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_BOX2:
        local = fabs(d.x) * s->half.x + fabs(d.y) * s->half.y + fabs(d.z) * s->half.z;
        break;
    case PERP_SHAPE_POLYGON:
        local = -INFINITY;
        for (int32_t i = 0; i < s->count; ++i) {
            local = fmax(local, d.x * s->vertex[2 * i] + d.y * s->vertex[2 * i + 1]);
        }
        break;
    case PERP_SHAPE_ELLIPSOID:
        local = sqrt(pow(0.6 * d.x, 2) + pow(1.1 * d.y, 2) + pow(0.9 * d.z, 2));
        break;
    case PERP_SHAPE_SUPERELLIPSE: /* Hoelder: exponent 3 against 1.5 */
        local = pow(pow(fabs(0.6 * d.x), 1.5) + pow(fabs(1.1 * d.y), 1.5), 2.0 / 3.0);
        break;
    case PERP_SHAPE_SUPERQUADRIC:
        local = pow(pow(fabs(0.6 * d.x), 1.5) + pow(fabs(1.1 * d.y), 1.5), 2.0 / 3.0);
        local = pow(pow(local, 3.0) + pow(fabs(0.9 * d.z), 3.0), 1.0 / 3.0);
        break;
    default: break;
    }
    return v3_dot(n, pose->x) + local;
}

TEST(bounds_are_tight_and_reach_is_the_farthest_point)
{
    setup();
    for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
        const perpi_shape_ops* ops = perpi_shape_ops_of((perp_shape_type)i);
        const perp_shape_def d = valid(ops->type);
        perpi_shape s;
        REQUIRE_OK(perpi_shape_make(context, &d, dimension_of(ops->type), &s));
        if (!ops->bounded) {
            CHECK(isinf(ops->reach(&s)));
            CHECK(ops->bounds == NULL && ops->mass == NULL);
            continue;
        }
        const bool planar = ops->dimension == 2;
        const quat q = q4_exp(planar ? v3(0, 0, 0.7) : v3(0.3, -0.8, 0.5));
        const perpi_pose pose = {v3(1, 2, planar ? 0 : 3), q, q4_matrix(q)};
        const perpi_bounds b = ops->bounds(&s, &pose);
        const vec3 axes[] = {v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)};
        for (int k = 0; k < (planar ? 2 : 3); ++k) {
            CHECK_NEAR(v3_get(b.hi, k), support(&s, &pose, axes[k]), 1e-14);
            CHECK_NEAR(v3_get(b.lo, k), -support(&s, &pose, v3_neg(axes[k])), 1e-14);
        }
        if (planar) {
            CHECK(b.lo.z == 0.0 && b.hi.z == 0.0);
        }
        /* the farthest point: the largest support over many directions */
        const perpi_pose origin = {v3(0, 0, 0), q4_identity(), m3_identity()};
        double most = 0.0;
        for (int u = 0; u <= 200; ++u) {
            for (int w = 0; w < 400; ++w) {
                const double z = planar ? 0.0 : -1.0 + 0.01 * u, r = sqrt(1 - z * z);
                const double phi = 6.283185307179586 * w / 400;
                most = fmax(most, support(&s, &origin, v3(r * cos(phi), r * sin(phi), z)));
            }
        }
        CHECK_NEAR(ops->reach(&s), most, 1e-3);
        CHECK_AT_MOST(most, ops->reach(&s) + 1e-14);
        perpi_shape_free(context, &s);
    }
}

/* ---- mass ---------------------------------------------------------------------------------------- */

/* Is the point in the shape? From its definition. */
static bool contains(const perpi_shape* s, vec3 p)
{
    switch (s->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: return v3_dot(p, p) <= s->radius * s->radius;
    case PERP_SHAPE_CAPSULE: {
        const double z = fabs(p.z) - 0.5 * s->length, over = z > 0.0 ? z : 0.0;
        return p.x * p.x + p.y * p.y + over * over <= s->radius * s->radius;
    }
    case PERP_SHAPE_POLYGON:
        for (int32_t i = 0; i < s->count; ++i) {
            const double *a = s->vertex + 2 * i, *b = s->vertex + 2 * ((i + 1) % s->count);
            if ((b[0] - a[0]) * (p.y - a[1]) - (b[1] - a[1]) * (p.x - a[0]) < 0.0) {
                return false;
            }
        }
        return true;
    case PERP_SHAPE_CYLINDER: return hypot(p.x, p.y) <= s->radius && fabs(p.z) <= 0.5 * s->length;
    case PERP_SHAPE_ELLIPSOID:
        return pow(p.x / 0.6, 2) + pow(p.y / 1.1, 2) + pow(p.z / 0.9, 2) <= 1.0;
    case PERP_SHAPE_SUPERELLIPSE: return pow(fabs(p.x) / 0.6, 3) + pow(fabs(p.y) / 1.1, 3) <= 1.0;
    case PERP_SHAPE_SUPERQUADRIC:
        return pow(pow(fabs(p.x) / 0.6, 3) + pow(fabs(p.y) / 1.1, 3), 0.5) +
                   pow(fabs(p.z) / 0.9, 1.5) <=
               1.0;
    case PERP_SHAPE_POLYHEDRON:
    case PERP_SHAPE_MESH: return (p.x + 0.375) / 1.5 + (p.y + 0.25) + (p.z + 0.5) / 2 <= 1;
    default: return fabs(p.x) <= s->half.x && fabs(p.y) <= s->half.y && fabs(p.z) <= s->half.z;
    }
}

/* Midpoint rule on a grid over the bounding box. */
static perpi_mass quadrature(const perpi_shape* s, int n, bool planar)
{
    const perpi_pose origin = {v3(0, 0, 0), q4_identity(), m3_identity()};
    const perpi_bounds b = perpi_shape_ops_of(s->type)->bounds(s, &origin);
    const vec3 e = v3_sub(b.hi, b.lo);
    const int nz = planar ? 1 : n;
    const double dV = e.x / n * e.y / n * (planar ? 1.0 : e.z / n);
    perpi_mass m = {0};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < nz; ++k) {
                const vec3 p = v3(b.lo.x + (i + 0.5) * e.x / n, b.lo.y + (j + 0.5) * e.y / n,
                                  planar ? 0.0 : b.lo.z + (k + 0.5) * e.z / n);
                if (!contains(s, p)) {
                    continue;
                }
                m.mass += dV;
                m.center = v3_madd(m.center, dV, p);
                m.inertia.m[0][0] += dV * (p.y * p.y + p.z * p.z);
                m.inertia.m[1][1] += dV * (p.x * p.x + p.z * p.z);
                m.inertia.m[2][2] += dV * (p.x * p.x + p.y * p.y);
                m.inertia.m[0][1] -= dV * p.x * p.y;
            }
        }
    }
    const vec3 c =
        v3_scale(1.0 / m.mass, m.center); /* about the centre; it is off only in the plane */
    m.inertia.m[2][2] -= planar ? m.mass * v3_dot(c, c) : 0.0;
    return m;
}

TEST(mass_properties_agree_with_numerical_integration)
{
    setup();
    for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
        const perpi_shape_ops* ops = perpi_shape_ops_of((perp_shape_type)i);
        if (ops->mass == NULL) {
            continue;
        }
        const bool planar = ops->dimension == 2;
        const perp_shape_def d = valid(ops->type);
        perpi_shape s;
        REQUIRE_OK(perpi_shape_make(context, &d, dimension_of(ops->type), &s));
        const perpi_mass m = ops->mass(&s);
        /* the grid has no symmetry with these */
        const bool skew = ops->type == PERP_SHAPE_MESH || ops->type == PERP_SHAPE_POLYHEDRON;
        const perpi_mass q = quadrature(&s, planar ? 2000 : 160, planar);
        CHECK_NEAR(m.mass, q.mass, (skew ? 5e-3 : 1e-3) * m.mass);
        CHECK_AT_MOST(v3_norm(v3_sub(m.center, v3_scale(1.0 / q.mass, q.center))),
                      skew                              ? 2e-3
                      : ops->type == PERP_SHAPE_POLYGON ? 1e-3
                                                        : 1e-9);
        for (int k = planar ? 2 : 0; k < 3; ++k) {
            CHECK_NEAR(m.inertia.m[k][k], q.inertia.m[k][k],
                       (skew ? 1e-2 : 1e-3) * m.inertia.m[2][2]);
        }
        if (planar) {
            CHECK(m.inertia.m[0][0] == 0.0 && m.inertia.m[1][1] == 0.0);
        }
        CHECK(planar || fabs(m.inertia.m[0][1] - q.inertia.m[0][1]) <= 1e-3);
        perpi_shape_free(context, &s);
    }
}

TEST(mass_properties_of_known_bodies)
{
    setup();
    const double pi = 3.141592653589793;
    const perpi_shape ball = {.type = PERP_SHAPE_SPHERE, .radius = 2};
    const perpi_mass m = perpi_shape_ops_of(ball.type)->mass(&ball);
    CHECK_NEAR(m.mass, 32.0 / 3.0 * pi, 1e-13);
    CHECK_NEAR(m.inertia.m[0][0], 1.6 * m.mass, 1e-12);
    /* a box of two halves: each about its own centre, moved by the parallel axis theorem */
    const perpi_shape whole = {.type = PERP_SHAPE_BOX, .half = {1, 2, 3}};
    const perpi_shape half = {.type = PERP_SHAPE_BOX, .half = {1, 2, 1.5}};
    const perpi_mass w = perpi_shape_ops_of(PERP_SHAPE_BOX)->mass(&whole);
    const perpi_mass h = perpi_shape_ops_of(PERP_SHAPE_BOX)->mass(&half);
    CHECK_NEAR(w.mass, 2 * h.mass, 1e-13);
    CHECK_NEAR(w.inertia.m[0][0], 2 * (h.inertia.m[0][0] + h.mass * 1.5 * 1.5), 1e-11);
    CHECK_NEAR(w.inertia.m[2][2], 2 * h.inertia.m[2][2], 1e-11);
    const perpi_shape square = {.type = PERP_SHAPE_BOX2, .half = {0.5, 0.5, 0}};
    CHECK_NEAR(perpi_shape_ops_of(PERP_SHAPE_BOX2)->mass(&square).inertia.m[2][2], 1. / 6., 1e-15);
}

/* Half spheres by their own centre (3/8 r out) and inertia (83/320 m r^2), then the theorem. */
TEST(a_capsule_is_a_cylinder_and_two_half_spheres)
{
    setup();
    const double r = 0.7, L = 1.9, pi = 3.141592653589793;
    const perpi_shape rod = {.type = PERP_SHAPE_CAPSULE, .radius = r, .length = L};
    const perpi_mass m = perpi_shape_ops_of(rod.type)->mass(&rod);
    const double cylinder = pi * r * r * L, cap = 2.0 / 3.0 * pi * r * r * r;
    const double out = 0.5 * L + 0.375 * r;
    CHECK_NEAR(m.mass, cylinder + 2 * cap, 1e-14);
    CHECK_NEAR(m.inertia.m[0][0],
               cylinder * (r * r / 4 + L * L / 12) + 2 * cap * (83.0 / 320.0 * r * r + out * out),
               1e-13);
    /* without its cylinder it is a sphere */
    const perpi_shape stub = {.type = PERP_SHAPE_CAPSULE, .radius = r, .length = 0};
    const perpi_shape ball = {.type = PERP_SHAPE_SPHERE, .radius = r};
    const perpi_mass a = perpi_shape_ops_of(PERP_SHAPE_CAPSULE)->mass(&stub);
    const perpi_mass b = perpi_shape_ops_of(PERP_SHAPE_SPHERE)->mass(&ball);
    CHECK_NEAR(a.mass, b.mass, 1e-15);
    CHECK_NEAR(a.inertia.m[0][0], b.inertia.m[0][0], 1e-15);
    CHECK_NEAR(a.inertia.m[2][2], b.inertia.m[2][2], 1e-15);
}
