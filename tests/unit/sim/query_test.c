/* Rays, distances and sums of contact forces, against what does not share their code. */
#include <math.h>
#include <string.h>

#include "perp_test.h"

#include "collide/crossing.h"
#include "model/model.h"
#include "perp/perp.h"
#include "step/formulate.h"
#include "support/scene_sim.h"

static uint64_t seed = 1;
static double draw(double lo, double hi)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return lo + (hi - lo) * (double)(seed >> 11) * 0x1p-53;
}

static const char* const SPATIAL[] = {
    "'type': 'sphere', 'radius': 0.7",
    "'type': 'box', 'size': [1,1.5,0.4]",
    "'type': 'capsule', 'radius': 0.4, 'length': 1.1",
    "'type': 'cylinder', 'radius': 0.5, 'length': 0.9",
    "'type': 'ellipsoid', 'radii': [0.4,0.8,1.1]",
    "'type': 'superquadric', 'radii': [0.6,0.8,0.5], 'exponents': [3,1.5]",
    "'type': 'superquadric', 'radii': [0.6,0.8,0.5], 'exponents': [1.3,8]",
    "'type': 'polyhedron', 'solid': 'icosahedron', 'radius': 0.8",
    "'type': 'polyhedron', 'solid': 'prism', 'radius': 0.5, 'sides': 7, 'length': 1.2",
};
static const char* const PLANAR[] = {
    "'type': 'circle', 'radius': 0.7",
    "'type': 'box', 'size': [1,1.5]",
    "'type': 'polygon', 'vertices': [[-0.5,-0.4],[0.9,-0.2],[0.3,0.8]]",
    "'type': 'polygon', 'vertices': [[0,0],[1,-0.8],[0.3,0],[1,0.8]]", /* an inward corner */
    "'type': 'superellipse', 'radii': [0.7,0.5], 'exponent': 3",
};
enum {
    SPATIAL_COUNT = sizeof SPATIAL / sizeof SPATIAL[0],
    PLANAR_COUNT = sizeof PLANAR / sizeof PLANAR[0]
};

static scene_sim one_shape(const char* shape, bool planar)
{
    return planar ? scene_sim_quoted(
                        "{'dimension': 2, 'bodies': [{'name': 'it', 'mass': 1, 'inertia': 1,"
                        " 'position': [0.3,-0.2], 'angle': 0.4, 'shapes': [{%s, 'position':"
                        " [0.1,0.2], 'angle': 0.3}]}]}",
                        shape)
                  : scene_sim_quoted(
                        "{'bodies': [{'name': 'it', 'mass': 1, 'inertia': [1,1,1], 'position':"
                        " [0.3,-0.2,0.1], 'axis_angle': [1,2,3,0.8], 'shapes': [{%s,"
                        " 'position': [0.1,0.2,-0.1], 'axis_angle': [3,1,-1,0.5]}]}]}",
                        shape);
}

/* Whether a point is in the body, or not farther out than this. */
static bool holds(const perp_sim* sim, int32_t body, vec3 point, double tolerance)
{
    const perp_model* model = perp_sim_model(sim);
    const perpi_pose pose = perpi_state_pose(model, perp_sim_q(sim), body);
    bool in = false;
    for (int32_t i = 0; i < model->body[body].shape_count; ++i) {
        const perpi_shape* shape = &model->shape[model->body[body].shape + i];
        in = in || (!shape->intangible && perpi_shape_holds(shape, &pose, point, tolerance));
    }
    return in;
}

static void check_ray(const perp_sim* sim, bool planar, int* hits)
{
    vec3 o = v3(draw(-3, 3), draw(-3, 3), planar ? 0.0 : draw(-3, 3));
    const vec3 to = v3(draw(-0.8, 1.2), draw(-0.8, 1.0), planar ? 0.0 : draw(-0.8, 0.8));
    vec3 d = v3_scale(draw(0.1, 10), v3_sub(to, o));
    double origin[3], direction[3];
    v3_to(o, origin);
    v3_to(d, direction);
    d = v3_unit(d);
    perp_ray_hit hit;
    CHECK_OK(perp_sim_ray(sim, origin, direction, INFINITY, -1, &hit));
    if (hit.body < 0) {
        for (int i = 0; i < 200; ++i) { /* no point of it is inside */
            CHECK(!holds(sim, 0, v3_madd(o, 0.04 * i, d), -1e-6));
        }
        return;
    }
    const vec3 n = v3_from(hit.normal);
    *hits += 1;
    CHECK_EQ_INT(hit.shape, 0);
    if (hit.distance == 0.0) {
        CHECK(holds(sim, 0, o, 1e-7));
        return;
    }
    /* on the surface: nothing before it is in the body, and a little behind it along -n is */
    CHECK(holds(sim, 0, v3_from(hit.point), 1e-7));
    CHECK(!holds(sim, 0, v3_madd(v3_from(hit.point), 1e-4, n), 1e-6));
    CHECK_NEAR(v3_norm(n), 1.0, 1e-12);
    CHECK_AT_MOST(v3_dot(n, d), 1e-9);
    for (int i = 0; i < 20; ++i) {
        CHECK(!holds(sim, 0, v3_madd(o, hit.distance * i / 20.0, d), -1e-7));
    }
    /* shorter than the way there: nothing */
    CHECK_OK(perp_sim_ray(sim, origin, direction, 0.999 * hit.distance, -1, &hit));
    CHECK_EQ_INT(hit.body, -1);
    CHECK_OK(perp_sim_ray(sim, origin, direction, INFINITY, 0, &hit));
    CHECK_EQ_INT(hit.body, -1);
}

TEST(rays_meet_every_shape_on_its_surface)
{
    for (int k = 0; k < SPATIAL_COUNT + PLANAR_COUNT; ++k) {
        const bool planar = k >= SPATIAL_COUNT;
        scene_sim s = one_shape(planar ? PLANAR[k - SPATIAL_COUNT] : SPATIAL[k], planar);
        int hits = 0;
        for (int i = 0; i < 60; ++i) {
            check_ray(s.sim, planar, &hits);
        }
        if (hits < 15) {
            TEST_PRINT("shape %d: %d hits", k, hits);
        }
        CHECK(hits >= 15);
        scene_sim_close(&s);
    }
}

static const char ROOM[] =
    "{'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': "
    "[0,0,1]}]},"
    "{'name': 'ghost', 'mass': 1, 'inertia': [1,1,1], 'position': [0,0,5], 'shapes': [{'type': "
    "'box',"
    " 'size': [1,1,1], 'visual': true}, {'type': 'box', 'size': [1,1,1], 'collides': false}]},"
    "{'name': 'two', 'mass': 1, 'position': [0,0,2], 'shapes': [{'type': 'sphere', 'radius': 0.1,"
    " 'position': [4,0,0]}, {'type': 'box', 'size': [2,2,1]}]}]}";

TEST(a_ray_names_body_and_shape_and_passes_through_what_is_not_there)
{
    scene_sim s = scene_sim_quoted("%s", ROOM);
    const double o[3] = {0.2, 0.1, 9}, down[3] = {0, 0, -3}, nan[3] = {0, NAN, 0}, none[3] = {0};
    perp_ray_hit hit;
    CHECK_OK(perp_sim_ray(s.sim, o, down, INFINITY, -1, &hit));
    CHECK(hit.body == 2 && hit.shape == 1);
    CHECK_NEAR(hit.distance, 6.5, 1e-14);
    CHECK_NEAR(hit.normal[2], 1.0, 1e-14);
    CHECK_OK(perp_sim_ray(s.sim, o, down, INFINITY, 2, &hit));
    CHECK(hit.body == 0);
    CHECK_NEAR(hit.distance, 9.0, 1e-14);
    CHECK_OK(perp_sim_ray(s.sim, o, down, 8.9, 2, &hit));
    CHECK(hit.body == -1 && hit.distance == INFINITY);
    CHECK_EQ_INT(perp_sim_ray(s.sim, nan, down, 1, -1, &hit), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_ray(s.sim, o, none, 1, -1, &hit), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_ray(s.sim, o, down, NAN, -1, &hit), PERP_ERROR_INPUT);
    scene_sim_close(&s);
}

/* ---- distances -------------------------------------------------------------------------------------*/

/* The largest n . x over a body whose shapes are bounded. */
static double extent(const perp_sim* sim, int32_t body, vec3 n)
{
    const perp_model* model = perp_sim_model(sim);
    const perpi_pose pose = perpi_state_pose(model, perp_sim_q(sim), body);
    double most = -INFINITY;
    for (int32_t i = 0; i < model->body[body].shape_count; ++i) {
        const perpi_shape* shape = &model->shape[model->body[body].shape + i];
        if (shape->intangible) {
            continue;
        }
        const perpi_pose at = perpi_pose_mul(&pose, &shape->local);
        const vec3 x = perpi_pose_point(&at, perpi_shape_core(shape, m3_tmul(at.R, n)));
        most = fmax(most, v3_dot(n, x) + perpi_shape_rounding(shape));
    }
    return most;
}

/* Two points of the bodies are that far apart, and a slab of that width separates them: no distance but this. */
TEST(the_distance_of_every_pair_of_convex_shapes_is_certified_by_a_slab)
{
    double worst[2] = {0, 0};
    for (int k = 0; k < SPATIAL_COUNT; ++k) {
        for (int m = 0; m <= k; ++m) {
            scene_sim s = scene_sim_quoted(
                "{'bodies': [{'name': 'a', 'mass': 1, 'inertia': [1,1,1], 'axis_angle': [1,2,3,%g],"
                " 'shapes': [{%s}]}, {'name': 'b', 'mass': 1, 'inertia': [1,1,1], 'position': "
                "[%g,%g,%g],"
                " 'axis_angle': [%g,2,-1,%g], 'shapes': [{%s}]}]}",
                draw(-3, 3), SPATIAL[k], draw(2, 4), draw(-1, 1), draw(-1, 1), draw(-1, 1),
                draw(-3, 3), SPATIAL[m]);
            perp_distance d, back;
            CHECK_OK(perp_sim_distance(s.sim, 0, 1, &d));
            CHECK_OK(perp_sim_distance(s.sim, 1, 0, &back));
            const vec3 a = v3_from(d.point_a), b = v3_from(d.point_b), n = v3_from(d.normal);
            const bool smooth =
                strstr(SPATIAL[k], "ellips") != NULL || strstr(SPATIAL[m], "ellips") != NULL ||
                strstr(SPATIAL[k], "superq") != NULL || strstr(SPATIAL[m], "superq") != NULL ||
                strstr(SPATIAL[k], "cyl") != NULL || strstr(SPATIAL[m], "cyl") != NULL;
            const double slab = -extent(s.sim, 1, v3_neg(n)) - extent(s.sim, 0, n);
            const double tolerance = smooth ? 1e-7 : 1e-13;
            CHECK_AT_LEAST(d.distance, 0.05);
            CHECK_NEAR(v3_norm(v3_sub(b, a)), d.distance, 1e-13);
            CHECK_NEAR(slab, d.distance, tolerance);
            CHECK_NEAR(back.distance, d.distance, tolerance);
            CHECK(holds(s.sim, 0, a, tolerance) && holds(s.sim, 1, b, tolerance));
            worst[smooth] = fmax(worst[smooth], fabs(slab - d.distance));
            scene_sim_close(&s);
        }
    }
    TEST_PRINT("worst difference: polytopes and round shapes %.1e, others %.1e", worst[0],
               worst[1]);
}

TEST(planes_and_overlaps_have_distances_too)
{
    scene_sim s = scene_sim_quoted(
        "{'allow_overlap': true, 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
        "{'name': 'wall', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [1,0,0], "
        "'offset': -9}]},"
        "{'name': 'box', 'mass': 1, 'position': [0,0,2], 'shapes': [{'type': 'box', 'size': "
        "[1,1,1]}]},"
        "{'name': 'ball', 'mass': 1, 'position': [3,0,2], 'shapes': [{'type': 'sphere', 'radius': "
        "1}]},"
        "{'name': 'bare', 'mass': 1, 'inertia': [1,1,1], 'position': [0,0,9]}]}");
    perp_distance d;
    CHECK_OK(perp_sim_distance(s.sim, 2, 0, &d));
    CHECK_NEAR(d.distance, 1.5, 1e-15);
    CHECK(d.normal[2] == -1.0 && d.point_b[2] == 0.0);
    CHECK_OK(perp_sim_distance(s.sim, 0, 1, &d));
    CHECK(d.distance == INFINITY);
    CHECK_OK(perp_sim_distance(s.sim, 0, 4, &d));
    CHECK(d.distance == INFINITY && d.shape_a == -1);
    CHECK_OK(perp_sim_distance(s.sim, 2, 3, &d));
    CHECK_NEAR(d.distance, 1.5, 1e-14);
    const double in[3] = {0, 0, 3.2};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 3, in, NULL)); /* 0.3 into the top */
    CHECK_OK(perp_sim_distance(s.sim, 2, 3, &d));
    double depth = 0.0;
    CHECK_OK(perp_sim_penetration(s.sim, &depth));
    CHECK_NEAR(d.distance, -0.3, 1e-12);
    CHECK_NEAR(depth, 0.3, 1e-12);
    CHECK_NEAR(d.normal[2], 1.0, 1e-12);
    const double inside[3] = {0.1, 0, 2}; /* its centre is in the box */
    CHECK_OK(perp_sim_set_body_pose(s.sim, 3, inside, NULL));
    CHECK_OK(perp_sim_distance(s.sim, 3, 2, &d));
    CHECK_OK(perp_sim_penetration(s.sim, &depth));
    CHECK_NEAR(d.distance, -depth, 1e-12);
    CHECK_NEAR(depth, 1.4, 1e-12);
    CHECK_EQ_INT(perp_sim_distance(s.sim, 2, 2, &d), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_distance(s.sim, 2, 5, &d), PERP_ERROR_INPUT);
    scene_sim_close(&s);
}

/* Far from the origin, where coordinates have 1e-8 left: distances keep their digits. */
TEST(distances_far_from_the_origin_keep_their_digits)
{
    scene_sim s = scene_sim_quoted("{'bodies': [{'name': 'a', 'mass': 1, 'position': [1e8,0,0], "
                                   "'shapes': [{'type': 'box', 'size':"
                                   " [1,1,1]}]}, {'name': 'b', 'mass': 1, 'position': "
                                   "[100000002,0,0], 'shapes': [{'type': 'sphere',"
                                   " 'radius': 0.5}]}]}");
    perp_distance d;
    CHECK_OK(perp_sim_distance(s.sim, 0, 1, &d));
    CHECK_NEAR(d.distance, 1.0, 1e-14);
    scene_sim_close(&s);
}

TEST(questions_change_no_bit)
{
    scene_sim s = scene_sim_load("scenes/stack.json"), t = scene_sim_load("scenes/stack.json");
    const double o[3] = {0, 0, 50}, down[3] = {0.01, 0, -1};
    for (int i = 0; i < 20; ++i) {
        perp_ray_hit hit;
        perp_distance d;
        perp_contact_sum sum;
        CHECK_OK(perp_sim_ray(s.sim, o, down, INFINITY, -1, &hit));
        CHECK_OK(perp_sim_distance(s.sim, 1, 2, &d));
        CHECK_OK(perp_sim_contact_sum(s.sim, 1, -1, NULL, &sum));
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_sim_step(t.sim));
    }
    CHECK(memcmp(perp_sim_q(s.sim), perp_sim_q(t.sim),
                 (size_t)perp_sim_q_size(s.sim) * sizeof(double)) == 0);
    scene_sim_close(&t);
    scene_sim_close(&s);
}

/* ---- contact forces --------------------------------------------------------------------------------*/

TEST(a_stack_at_rest_weighs_what_it_weighs)
{
    scene_sim s = scene_sim_load("scenes/stack.json");
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
    }
    const perp_model* model = perp_sim_model(s.sim);
    double weight = 0.0;
    for (int32_t i = perp_model_body_count(model) - 1; i > 0; --i) {
        perp_contact_sum below, all;
        weight += 9.81 * perp_model_body_info(model, i).mass;
        CHECK_OK(perp_sim_contact_sum(s.sim, i, i - 1, NULL, &below));
        CHECK_OK(perp_sim_contact_sum(s.sim, i, -1, NULL, &all));
        CHECK_NEAR(below.force[2], weight, 1e-4 * weight);
        CHECK_NEAR(all.force[2], 9.81 * perp_model_body_info(model, i).mass, 1e-4 * weight);
        CHECK(below.contacts > 0 && below.time > 0.0);
    }
    perp_contact_sum none;
    CHECK_OK(perp_sim_contact_sum(s.sim, 3, 1, NULL, &none));
    CHECK(none.contacts == 0 && none.force[2] == 0.0);
    CHECK_EQ_INT(perp_sim_contact_sum(s.sim, 99, 1, NULL, &none), PERP_ERROR_INPUT);
    scene_sim_close(&s);
}

/* The sum over a step is what momentum changes by, but for gravity: a block thrown onto the floor, sliding and
 * tipping, in steps and impacts. */
TEST(sums_of_impulses_are_the_change_of_momentum)
{
    static const char* const EXTRA[] = {"'contact': 'standard'", "'restitution': 0.4",
                                        "'stepper': 'anitescu-potra'"};
    for (int k = 0; k < 3; ++k) {
        scene_sim s = scene_sim_quoted(
            "{'step': 0.01, 'gravity': [0,0,-10], 'friction': {'default': 0.4}, %s, 'bodies': ["
            "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
            "{'name': 'block', 'mass': 2, 'inertia': [0.2,0.2,0.2], 'position': [0,0,0.6], "
            "'axis_angle':"
            " [1,0,0,0.3], 'velocity': [3,0,-1], 'angular_velocity': [0,1,0], 'shapes': [{'type': "
            "'box',"
            " 'size': [0.6,0.6,0.6]}]}]}",
            EXTRA[k]);
        int touched = 0;
        for (int i = 0; i < 60; ++i) {
            const perp_body_state before = perp_sim_body(s.sim, 1);
            CHECK_OK(perp_sim_step(s.sim));
            const perp_body_state after = perp_sim_body(s.sim, 1);
            perp_contact_sum sum;
            CHECK_OK(perp_sim_contact_sum(s.sim, 1, 0, before.position, &sum));
            const bool impact = perp_sim_step_info(s.sim).kind != PERP_STEP_TIME;
            for (int j = 0; j < 3; ++j) {
                const double g = j == 2 && !impact ? 2 * 10 * 0.01 : 0.0;
                CHECK_NEAR(2 * (after.velocity[j] - before.velocity[j]) + g, sum.impulse[j], 1e-7);
                if (k != 1) { /* after an impact the step starts from displaced poses */
                    CHECK_NEAR(0.2 * (after.angular_velocity[j] - before.angular_velocity[j]),
                               sum.angular_impulse[j], 1e-7);
                }
            }
            CHECK(sum.time == (impact ? 0.0 : 0.01));
            touched += sum.contacts > 0;
        }
        CHECK(touched > 10);
        scene_sim_close(&s);
    }
}
