/* tests/unit/collide/collider_test.c - the broad phase against comparing everything with
 * everything, and the guarantees of perpi_collide: order, skipped pairs, no allocation once warm. */
#include "collide/broad.h"
#include "contact/rules.h"
#include "geometry.h"

typedef struct world {
    perp_context* context;
    perp_model* model;
    perpi_pose pose[4096];
    double margin[4096];
    int32_t count;
} world;

static world w; /* too large for the stack */

static void world_begin(int32_t dimension)
{
    memset(&w, 0, sizeof w);
    perp_model_def def = perp_model_def_default();
    def.dimension = dimension;
    CHECK_OK(perp_context_create(NULL, &w.context));
    CHECK_OK(perp_model_create(w.context, &def, &w.model));
}

static void world_end(void)
{
    perp_model_destroy(w.model);
    perp_context_destroy(w.context);
}

static perp_shape_def ball_def(double radius)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_SPHERE);
    d.radius = radius;
    return d;
}

static perp_shape_def box_def(double x, double y, double z)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_BOX);
    d.size[0] = x;
    d.size[1] = y;
    d.size[2] = z;
    return d;
}

static perp_shape_def ground_def(void)
{
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_PLANE);
    d.normal[2] = 1;
    return d;
}

/* allowed: a name, or NULL for no restriction. */
static void add_body(perp_body_type type, const perp_shape_def* shapes, int32_t shape_count,
                     perpi_pose pose, double margin, const char* allowed)
{
    char name[32];
    snprintf(name, sizeof name, "b%d", (int)w.count);
    perp_body_def def = perp_body_def_default();
    def.name = name;
    def.type = type;
    def.shapes = shapes;
    def.shape_count = shape_count;
    if (type == PERP_BODY_DYNAMIC) {
        def.mass = 1;
        def.has_inertia = true;
        def.inertia[0] = def.inertia[4] = def.inertia[8] = 1;
    }
    if (allowed != NULL) {
        def.collides_restricted = true;
        def.collides_with = &allowed;
        def.collides_with_count = 1;
    }
    int32_t index = -1;
    REQUIRE_OK(perp_model_add_body(w.model, &def, &index));
    REQUIRE_EQ_INT(index, w.count);
    w.pose[w.count] = pose;
    w.margin[w.count] = margin;
    ++w.count;
}

static perpi_pose at(double x, double y, double z)
{
    return pose_at(v3(x, y, z), q4_identity());
}

/* ---- the broad phase ------------------------------------------------------------------------------ */

static int by_key(const void* a, const void* b)
{
    return memcmp(a, b, sizeof(perpi_broad_pair)); /* any fixed order will do */
}

TEST(the_tree_finds_the_pairs_that_comparing_all_finds)
{
    enum { N = 2000 };
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perpi_broad broad = {.context = context};
    random_state = 21;
    const int sizes[] = {0, 1, 2, 12, 13, 14, 100, N};
    for (int k = 0; k < 8; ++k) {
        for (int flavour = 0; flavour < 4; ++flavour) {
            const size_t n = (size_t)sizes[k];
            REQUIRE_OK(
                perpi_grow(context, &broad.item, &broad.item_capacity, n, sizeof *broad.item));
            broad.item_count = n;
            broad.pair_count = 0;
            for (size_t i = 0; i < n; ++i) {
                vec3 x = random_vec(5), h = v3_add(random_vec(0.3), v3(0.35, 0.35, 0.35));
                if (flavour == 1) { /* flat, as in a planar scene */
                    x.z = h.z = 0;
                } else if (flavour == 2) { /* a lattice: many equal coordinates, touching faces */
                    x = v3((double)(i % 12), (double)(i / 12 % 12), (double)(i / 144));
                    h = v3(0.5, 0.5, 0.5);
                } else if (flavour == 3) { /* all in one place */
                    x = v3(0, 0, (double)(i % 200));
                    h = v3(1, 1, 0.25);
                }
                broad.item[i] = (perpi_broad_item){{v3_sub(x, h), v3_add(x, h)},
                                                   (int32_t)i,
                                                   (int32_t)(i / (flavour == 0 ? 3 : 1)),
                                                   random_below(3) > 0};
            }
            /* all with all */
            perpi_broad_pair* all = NULL;
            size_t all_count = 0, all_capacity = 0;
            for (size_t i = 0; i < n; ++i) {
                for (size_t j = i + 1; j < n; ++j) {
                    const perpi_broad_item *a = &broad.item[i], *b = &broad.item[j];
                    bool meets = a->body != b->body && (a->dynamic || b->dynamic);
                    for (int axis = 0; axis < 3; ++axis) {
                        meets = meets && v3_get(a->bounds.lo, axis) <= v3_get(b->bounds.hi, axis) &&
                                v3_get(b->bounds.lo, axis) <= v3_get(a->bounds.hi, axis);
                    }
                    if (meets) {
                        REQUIRE_OK(
                            perpi_grow(context, &all, &all_capacity, all_count + 1, sizeof *all));
                        all[all_count++] = (perpi_broad_pair){a->body, b->body, a->shape, b->shape};
                    }
                }
            }
            REQUIRE_OK(perpi_broad_find(&broad));
            REQUIRE_OK(perpi_broad_sort(&broad, N, N));
            REQUIRE_EQ_INT(broad.pair_count, all_count);
            /* sorted by (body_a, body_b, shape_a, shape_b), without repetition */
            for (size_t i = 1; i < broad.pair_count; ++i) {
                const perpi_broad_pair *p = &broad.pair[i - 1], *q = &broad.pair[i];
                const bool less = p->body_a != q->body_a     ? p->body_a < q->body_a
                                  : p->body_b != q->body_b   ? p->body_b < q->body_b
                                  : p->shape_a != q->shape_a ? p->shape_a < q->shape_a
                                                             : p->shape_b < q->shape_b;
                CHECK(less);
            }
            if (all_count > 0) {
                qsort(all, all_count, sizeof *all, by_key);
                qsort(broad.pair, broad.pair_count, sizeof *all, by_key);
                CHECK(memcmp(all, broad.pair, all_count * sizeof *all) == 0);
            } else {
                CHECK_EQ_INT(broad.pair_count, 0);
            }
            if (n == N) {
                TEST_PRINT("%zu pairs", all_count);
            }
            perpi_free(context, all);
        }
    }
    perpi_broad_free(&broad);
    perp_context_destroy(context);
}

/* ---- the collider ---------------------------------------------------------------------------------- */

static const perpi_candidate* collide(perpi_collider* c, size_t* count)
{
    const perpi_candidate* candidate = NULL;
    *count = 0;
    CHECK_OK(perpi_collide(c, w.pose, w.margin, &candidate, count));
    return candidate;
}

TEST(only_pairs_that_may_and_can_collide_are_reported)
{
    world_begin(3);
    const perp_shape_def ball = ball_def(1), ground = ground_def();
    add_body(PERP_BODY_STATIC, &ground, 1, at(0, 0, 0), 0, NULL);     /* 0 */
    add_body(PERP_BODY_STATIC, &ball, 1, at(0, 0, 0), 0, NULL);       /* 1 */
    add_body(PERP_BODY_KINEMATIC, &ball, 1, at(0, 0, 0.5), 0, NULL);  /* 2 */
    add_body(PERP_BODY_DYNAMIC, &ball, 1, at(0, 0, 0.75), 0, NULL);   /* 3 */
    add_body(PERP_BODY_DYNAMIC, &ball, 1, at(0.5, 0, 0.75), 0, "b0"); /* 4: only b0 */
    perpi_collider* c = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    size_t count;
    const perpi_candidate* t = collide(c, &count);
    REQUIRE_EQ_INT(count, 4);
    const int expected[4][2] = {{0, 3}, {0, 4}, {1, 3}, {2, 3}};
    for (int i = 0; i < 4; ++i) {
        CHECK_EQ_INT(t[i].body_a, expected[i][0]);
        CHECK_EQ_INT(t[i].body_b, expected[i][1]);
        CHECK_EQ_INT(t[i].shape_a, expected[i][0]);
        CHECK_EQ_INT(t[i].shape_b, expected[i][1]);
    }
    CHECK_NEAR(t[0].gap, -0.25, 1e-15);
    CHECK_NEAR(t[0].normal.z, 1, 0);
    perpi_collider_destroy(c);
    world_end();
}

TEST(the_margin_of_a_pair_is_the_sum_of_the_bodies_margins)
{
    world_begin(3);
    const perp_shape_def ball = ball_def(1), ground = ground_def();
    add_body(PERP_BODY_STATIC, &ground, 1, at(0, 0, 0), 0.1, NULL);
    add_body(PERP_BODY_DYNAMIC, &ball, 1, at(0, 0, 1.29), 0.2, NULL);
    add_body(PERP_BODY_DYNAMIC, &ball, 1, at(2.39, 0, 1.31), 0.2, NULL);
    perpi_collider* c = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    size_t count;
    const perpi_candidate* t = collide(c, &count);
    REQUIRE_EQ_INT(count, 2);
    CHECK_NEAR(t[0].gap, 0.29, 1e-14);
    CHECK_EQ_INT(t[1].body_a, 1);
    CHECK_EQ_INT(t[1].body_b, 2);
    w.margin[0] = 0.05;
    (void)collide(c, &count);
    CHECK_EQ_INT(count, 1);
    perpi_collider_destroy(c);
    world_end();
}

TEST(shapes_move_with_their_bodies_and_do_not_meet_their_own_body)
{
    world_begin(3);
    perp_shape_def two[2] = {ball_def(1), ball_def(1)};
    two[0].position[0] = -0.5; /* they overlap */
    two[1].position[0] = 0.5;
    const perp_shape_def ground = ground_def();
    const double quarter = 1.57079632679489661923;
    add_body(PERP_BODY_DYNAMIC, two, 2, pose_at(v3(0, 0, 1.75), q4_exp(v3(0, quarter, 0))), 0.5,
             NULL);
    add_body(PERP_BODY_STATIC, &ground, 1, at(0, 0, 0), 0.5, NULL);
    perpi_collider* c = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    size_t count;
    const perpi_candidate* t = collide(c, &count);
    REQUIRE_EQ_INT(count, 1); /* the one at +x went down; the other is 1.25 up, margin 1 */
    CHECK_EQ_INT(t[0].shape_a, 1);
    CHECK_NEAR(t[0].gap, 0.25, 1e-14);
    CHECK_NEAR(t[0].normal.z, -1, 1e-15); /* from A, the balls, onto B, the ground */
    CHECK_NEAR(t[0].point_b.z, 0, 1e-14);
    perpi_collider_destroy(c);
    world_end();
}

static void build_pile(int32_t n)
{
    world_begin(3);
    const perp_shape_def ground = ground_def();
    add_body(PERP_BODY_STATIC, &ground, 1, at(0, 0, 0), 0.05, NULL);
    random_state = 22;
    while (w.count < n) {
        perp_shape_def d = ball_def(random_in(0.2, 0.5));
        const int kind = random_below(4);
        if (kind == 0) {
            d = box_def(random_in(0.3, 1), random_in(0.3, 1), random_in(0.3, 1));
        } else if (kind == 1) {
            d.type = PERP_SHAPE_CAPSULE;
            d.length = random_in(0.2, 1);
        } else if (kind == 2) {
            d.type = PERP_SHAPE_PARTICLE;
        }
        const perpi_pose pose = pose_at(v3_add(random_vec(3), v3(0, 0, 3)), random_turn(3));
        const char* allowed = w.count % 7 == 0 ? "b0" : NULL;
        add_body(w.count % 5 == 0 ? PERP_BODY_STATIC : PERP_BODY_DYNAMIC, &d, 1, pose, 0.05,
                 allowed);
    }
}

TEST(two_runs_give_the_same_bytes_and_a_warm_one_allocates_nothing)
{
    build_pile(400);
    perpi_collider *c = NULL, *d = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &d));
    size_t n, m;
    (void)collide(c, &n);
    const uint64_t before = perp_context_allocations(w.context);
    const perpi_candidate* t = collide(c, &n);
    CHECK_EQ_U64(perp_context_allocations(w.context), before);
    /* the other collider was called with other poses before */
    const perpi_pose kept = w.pose[5];
    w.pose[5] = w.pose[9];
    (void)collide(d, &m);
    w.pose[5] = kept;
    const perpi_candidate* u = collide(d, &m);
    REQUIRE_EQ_INT(n, m);
    CHECK_AT_LEAST((double)n, 400.0);
    bool same = true;
    for (size_t i = 0; i < n; ++i) {
        /* member by member: padding may differ */
        same = same && t[i].body_a == u[i].body_a && t[i].body_b == u[i].body_b &&
               t[i].shape_a == u[i].shape_a && t[i].shape_b == u[i].shape_b &&
               t[i].feature == u[i].feature &&
               memcmp(&t[i].point_a, &u[i].point_a, sizeof(vec3)) == 0 &&
               memcmp(&t[i].point_b, &u[i].point_b, sizeof(vec3)) == 0 &&
               memcmp(&t[i].normal, &u[i].normal, sizeof(vec3)) == 0 &&
               memcmp(&t[i].gap, &u[i].gap, sizeof(double)) == 0;
    }
    CHECK(same);
    TEST_PRINT("%zu contacts from %zu candidates", n, perpi_collider_candidates(c));
    perpi_collider_destroy(c);
    perpi_collider_destroy(d);
    world_end();
}

TEST(the_collider_reports_what_comparing_every_pair_reports)
{
    build_pile(250);
    perpi_collider* c = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    size_t n, k = 0;
    const perpi_candidate* t = collide(c, &n);
    candidates one = touches_create();
    for (int32_t a = 0; a < w.count; ++a) {
        for (int32_t b = a + 1; b < w.count; ++b) {
            const perpi_body *A = &w.model->body[a], *B = &w.model->body[b];
            if ((A->type != PERP_BODY_DYNAMIC && B->type != PERP_BODY_DYNAMIC) ||
                !perp_model_pair_collides(w.model, a, b)) {
                continue;
            }
            const size_t count = meet(&one, &w.model->shape[a], &w.pose[a], &w.model->shape[b],
                                      &w.pose[b], w.margin[a] + w.margin[b]);
            for (size_t i = 0; i < count; ++i, ++k) {
                REQUIRE(k < n);
                CHECK(t[k].body_a == a && t[k].body_b == b);
                CHECK(t[k].feature == one.list.item[i].feature && t[k].gap == one.list.item[i].gap);
            }
        }
    }
    CHECK_EQ_INT(k, n);
    touches_destroy(&one);
    perpi_collider_destroy(c);
    world_end();
}

TEST(a_pose_that_is_not_finite_is_an_error_that_names_the_body)
{
    world_begin(3);
    const perp_shape_def ball = ball_def(1);
    add_body(PERP_BODY_DYNAMIC, &ball, 1, at(0, 0, 0), 0, NULL);
    add_body(PERP_BODY_DYNAMIC, &ball, 1, at(0, NAN, 0), 0, NULL);
    perpi_collider* c = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    const perpi_candidate* candidate = NULL;
    size_t count = 77;
    CHECK_EQ_INT(perpi_collide(c, w.pose, w.margin, &candidate, &count), PERP_ERROR_NUMERIC);
    CHECK_CONTAINS(perp_context_error(w.context), "body 'b1'");
    CHECK_EQ_INT(count, 77);
    perpi_collider_destroy(c);
    world_end();
}

TEST(an_empty_model_has_no_contacts)
{
    world_begin(2);
    perpi_collider* c = NULL;
    REQUIRE_OK(perpi_collider_create(w.context, w.model, &c));
    size_t count = 77;
    (void)collide(c, &count);
    CHECK_EQ_INT(count, 0);
    perpi_collider_destroy(c);
    world_end();
}

/* ---- running out of memory -------------------------------------------------------------------------- */

typedef struct purse {
    long left; /* requests that still succeed; negative: all do */
} purse;

static void* spend(void* user, void* p, size_t size)
{
    purse* u = user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (u->left == 0) {
        return NULL;
    }
    u->left -= u->left > 0;
    return realloc(p, size);
}

TEST(running_out_of_memory_at_any_request_is_reported_and_the_next_call_works)
{
    build_pile(60);
    purse limited = {-1};
    perp_context_def def = perp_context_def_default();
    def.allocator = (perp_allocator){spend, &limited};
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(&def, &context));
    size_t expected = 0, failures = 0;
    const perpi_candidate* candidate = NULL;
    for (long allowed = 0;; ++allowed) {
        perpi_collider* c = NULL;
        size_t count = 0;
        limited.left = allowed;
        perp_status status = perpi_collider_create(context, w.model, &c);
        if (status == PERP_OK) {
            status = perpi_collide(c, w.pose, w.margin, &candidate, &count);
        }
        limited.left = -1;
        const bool enough = status == PERP_OK;
        if (!enough) {
            ++failures;
            CHECK_EQ_INT(status, PERP_ERROR_MEMORY);
            CHECK(candidate == NULL);
            if (c != NULL) {
                CHECK_OK(perpi_collide(c, w.pose, w.margin, &candidate, &count));
                CHECK(expected == 0 || count == expected);
                expected = count;
                candidate = NULL;
            }
        }
        perpi_collider_destroy(c);
        if (enough) {
            CHECK_EQ_INT(count, expected);
            break;
        }
    }
    CHECK_AT_LEAST((double)failures, 5.0);
    TEST_PRINT("%zu requests failed one after the other", failures);
    perp_context_destroy(context);
    world_end();
}

/* ---- pairs that do not turn ------------------------------------------------------------------------ */

static void shake(double by)
{
    for (int32_t i = 0; i < w.count; ++i) {
        w.pose[i].x = v3_add(w.pose[i].x, random_vec(by));
        w.pose[i] = pose_at(w.pose[i].x, q4_unit(q4_mul(q4_exp(random_vec(by)), w.pose[i].q)));
        w.margin[i] *= 1.0 + 1e-3 * by;
    }
}

/* A continued run and one that begins at its state must find the same, to the bit. */
TEST(what_a_collider_remembers_of_a_pair_does_not_change_what_it_finds)
{
    enum { STEPS = 40, BOXES = 5 };
    static const double amplitude[] = {0.0, 1e-16, 1e-14, 1e-12, 1e-10, 1e-7, 1e-3};
    const perp_shape_def box = box_def(1, 1, 1), wide = box_def(2, 1, 1);
    random_state = 5;
    for (size_t k = 0; k < sizeof amplitude / sizeof amplitude[0]; ++k) {
        world_begin(3);
        for (int32_t i = 0; i < BOXES; ++i) { /* aligned, staggered, turned */
            const vec3 x = v3(i == 2 ? 0.3 : 0.0, i == 3 ? 0.21 : 0.0, (double)i);
            add_body(PERP_BODY_DYNAMIC, i == 3 ? &wide : &box, 1,
                     pose_at(x, q4_exp(v3(0, 0, i == 4 ? 0.4 : 0.0))), 2e-3, NULL);
        }
        perpi_collider* old = NULL;
        perpi_turn turn[BOXES] = {{.slack = 1e-3}, {.slack = 1e-3}, {.slack = 1e-3}};
        REQUIRE_OK(perpi_collider_create(w.context, w.model, &old));
        int32_t found = 0;
        for (int32_t step = 0; step < STEPS; ++step) {
            perpi_collider* fresh = NULL;
            const perpi_candidate *a = NULL, *b = NULL;
            size_t count_a = 0, count_b = 0;
            REQUIRE_OK(perpi_collider_create(w.context, w.model, &fresh));
            perpi_collider* both[2] = {old, fresh};
            for (int i = 0; i < 2; ++i) {
                perpi_collider_set_rule(both[i], &perpi_rule_peg, NULL, 0);
                perpi_collider_set_turn(both[i], turn, 1);
            }
            REQUIRE_OK(perpi_collide(old, w.pose, w.margin, &a, &count_a));
            REQUIRE_OK(perpi_collide(fresh, w.pose, w.margin, &b, &count_b));
            REQUIRE_EQ_INT((int)count_a, (int)count_b);
            CHECK(perpi_collider_deepest(old) == perpi_collider_deepest(fresh));
            for (size_t i = 0; i < count_a; ++i) {
                CHECK(a[i].feature == b[i].feature && a[i].group == b[i].group);
                CHECK(memcmp(&a[i].point_a, &b[i].point_a, sizeof(vec3)) == 0 &&
                      memcmp(&a[i].point_b, &b[i].point_b, sizeof(vec3)) == 0 &&
                      memcmp(&a[i].normal, &b[i].normal, sizeof(vec3)) == 0 &&
                      memcmp(&a[i].gap, &b[i].gap, sizeof(double)) == 0);
                /* and they are what they say */
                CHECK_NEAR(v3_dot(a[i].normal, v3_sub(a[i].point_b, a[i].point_a)), a[i].gap,
                           1e-14);
            }
            found += (int32_t)count_a;
            perpi_collider_destroy(fresh);
            shake(amplitude[k]);
        }
        CHECK_AT_LEAST(found, STEPS * 4);
        perpi_collider_destroy(old);
        world_end();
    }
}

/* ---- motions of pairs --------------------------------------------------------------------------------- */

static perp_shape_def pebble_def(double* x, int32_t count, double radius)
{
    for (int32_t i = 0; i < count; ++i) {
        const vec3 u = v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)));
        v3_to(v3_scale(radius, v3(u.x, 0.8 * u.y, 0.5 * u.z)), x + 3 * (ptrdiff_t)i);
    }
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    d.vertices = x;
    d.vertex_count = count;
    return d;
}

static perpi_pose moved(perpi_pose pose, const perpi_body_motion* by)
{
    return pose_at(v3_add(pose.x, by->shift), q4_mul(q4_exp(by->turn), pose.q));
}

/* Bodies that move together, and a little against each other. What is found within their relative motion must
 * include all that they can reach: a pair without candidates has no candidates after the motion either. */
TEST(a_pair_of_fine_polyhedra_is_searched_within_its_relative_motion)
{
    static double x[2][3 * 120];
    int32_t fewer = 0, reached = 0;
    random_state = 5;
    const int trials = perp_test_full() ? 200 : 80;
    for (int trial = 0; trial < trials; ++trial) {
        world_begin(3);
        const vec3 between = v3_scale(random_in(0.6, 1.1), v3_unit(random_vec(1)));
        const perpi_pose at[2] = {pose_at(v3(0, 0, 0), random_turn(3)),
                                  pose_at(between, random_turn(3))};
        /* a common motion about a far point, and a relative one */
        const vec3 spin = random_vec(0.1), far = random_vec(3);
        perpi_body_motion motion[2];
        for (int i = 0; i < 2; ++i) {
            const perp_shape_def d = pebble_def(x[i], 120, 0.5);
            add_body(PERP_BODY_DYNAMIC, &d, 1, at[i], 0, NULL);
            motion[i] = (perpi_body_motion){
                v3_madd(v3_cross(spin, v3_sub(at[i].x, far)), i == 0 ? 0.04 : -0.04, between),
                v3_add(spin, random_vec(0.02)), 0.5};
            w.margin[i] = v3_norm(motion[i].shift) + 0.5 * v3_norm(motion[i].turn);
        }
        perpi_collider* c = NULL;
        const perpi_candidate* candidate = NULL;
        size_t all = 0, some = 0, after = 0;
        size_t before = 0;
        const double none[2] = {0, 0};
        CHECK_OK(perpi_collider_create(w.context, w.model, &c));
        CHECK_OK(perpi_collide(c, w.pose, none, &candidate, &before));
        CHECK_OK(perpi_collide(c, w.pose, w.margin, &candidate, &all));
        perpi_collider_set_motion(c, motion, false);
        CHECK_OK(perpi_collide(c, w.pose, w.margin, &candidate, &some));
        CHECK(!perpi_collider_moved_further(c, motion));
        fewer += some < all;
        /* a faster approach than expected */
        perpi_body_motion fast[2] = {motion[0], motion[1]};
        fast[1].shift = v3_madd(fast[1].shift, -1.0, between);
        CHECK(some == all || perpi_collider_moved_further(c, fast));
        /* after the motion itself */
        perpi_collider_set_motion(c, NULL, false);
        const perpi_pose then[2] = {moved(w.pose[0], &motion[0]), moved(w.pose[1], &motion[1])};
        CHECK_OK(perpi_collide(c, then, none, &candidate, &after));
        CHECK(before > 0 || after == 0 || some > 0);
        reached += before == 0 && after > 0;
        perpi_collider_destroy(c);
        world_end();
    }
    CHECK(fewer > trials / 4 && reached > (perp_test_full() ? 5 : 0));
}
