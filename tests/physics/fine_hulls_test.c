/* tests/physics/fine_hulls_test.c - a limp creature of hulls with many faces that falls onto a
 * floor, and stones on it: what the search for contacts remembers (directions that separate pairs,
 * links that joints keep apart, rounds of a step) does not change the motion, and what it leaves
 * out does not let bodies sink in. */
#include <math.h>
#include <string.h>

#include "perp/set.h"
#include "perp_test.h"
#include "sim/internal.h"

enum { POINTS = 90, LEGS = 4, STONES = 3, BODIES = 2 + 2 * LEGS + STONES };

typedef struct creature {
    perp_context* context;
    perp_model* model;
    perp_sim* sim;
} creature;

/* Points on an ellipsoid, evenly spread. */
static perp_shape_def ellipsoid_hull(double* x, double a, double b, double c)
{
    for (int i = 0; i < POINTS; ++i) {
        const double z = (2.0 * i + 1.0) / POINTS - 1.0, r = sqrt(1.0 - z * z),
                     angle = 2.399963 * i;
        x[3 * i] = a * r * cos(angle);
        x[3 * i + 1] = b * r * sin(angle);
        x[3 * i + 2] = c * z;
    }
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    d.vertices = x;
    d.vertex_count = POINTS;
    return d;
}

static void add_part(creature* c, const char* name, double mass, double x, double y, double z,
                     const double half[3])
{
    double vertex[3 * POINTS];
    const perp_shape_def shape = ellipsoid_hull(vertex, half[0], half[1], half[2]);
    perp_body_def body = perp_body_def_default();
    body.name = name;
    body.type = PERP_BODY_DYNAMIC;
    body.mass = mass;
    body.has_inertia = true;
    for (int i = 0; i < 3; ++i) {
        const double u = half[(i + 1) % 3], v = half[(i + 2) % 3];
        body.inertia[4 * i] = 0.2 * mass * (u * u + v * v);
    }
    body.position[0] = x;
    body.position[1] = y;
    body.position[2] = z;
    body.shapes = &shape;
    body.shape_count = 1;
    REQUIRE_OK(perp_model_add_body(c->model, &body, NULL));
}

static void add_hinge(creature* c, const char* a, const char* b, double x, double y, double z,
                      double low, double high)
{
    perp_joint_def joint = perp_joint_def_default();
    joint.name = b;
    joint.type = PERP_JOINT_REVOLUTE;
    joint.a = a;
    joint.b = b;
    joint.has_at = true;
    joint.at[0] = x;
    joint.at[1] = y;
    joint.at[2] = z;
    joint.axis[1] = 1;
    joint.has_limits = true;
    joint.limits[0] = low;
    joint.limits[1] = high;
    REQUIRE_OK(perp_model_add_joint(c->model, &joint, NULL));
}

static void creature_begin(creature* c, const char* contact)
{
    static const char* const upper[LEGS] = {"u1", "u2", "u3", "u4"};
    static const char* const lower[LEGS] = {"l1", "l2", "l3", "l4"};
    perp_model_def model = perp_model_def_default();
    model.gravity[2] = -9.81;
    CHECK_OK(perp_context_create(NULL, &c->context));
    CHECK_OK(perp_model_create(c->context, &model, &c->model));
    add_part(c, "trunk", 5, 0, 0, 0.55, (double[]){0.25, 0.08, 0.06});
    for (int i = 0; i < LEGS; ++i) {
        const double x = i < 2 ? 0.22 : -0.22, y = i % 2 == 0 ? 0.13 : -0.13;
        add_part(c, upper[i], 0.8, x, y, 0.45, (double[]){0.03, 0.03, 0.1});
        add_part(c, lower[i], 0.4, x, y, 0.25, (double[]){0.02, 0.02, 0.1});
    }
    for (int i = 0; i < STONES; ++i) { /* fall on it */
        const char* const name[STONES] = {"s1", "s2", "s3"};
        add_part(c, name[i], 0.5, 0.15 * (i - 1), 0.02, 0.7 + 0.1 * i,
                 (double[]){0.08, 0.06, 0.05});
    }
    for (int i = 0; i < LEGS; ++i) {
        const double x = i < 2 ? 0.22 : -0.22, y = i % 2 == 0 ? 0.13 : -0.13;
        add_hinge(c, "trunk", upper[i], x, y, 0.53, -0.9, 0.9);
        add_hinge(c, upper[i], lower[i], x, y, 0.35, i % 3 == 0 ? -0.1 : -2.2,
                  i % 3 == 0 ? 2.2 : 0.1);
    }
    perp_body_def floor = perp_body_def_default();
    perp_shape_def plane = perp_shape_def_default(PERP_SHAPE_PLANE);
    plane.normal[2] = 1;
    floor.name = "floor";
    floor.type = PERP_BODY_STATIC;
    floor.shapes = &plane;
    floor.shape_count = 1;
    REQUIRE_OK(perp_model_add_body(c->model, &floor, NULL));
    perp_sim_def def = perp_sim_def_default();
    def.step = 0.005;
    def.duration = 10;
    def.contact = contact;
    REQUIRE_OK(perp_sim_create(c->context, c->model, &def, &c->sim));
    /* not upright: it rolls over */
    CHECK_OK(perp_sim_set_joint(c->sim, 0, 0.4, 0));
    CHECK_OK(perp_sim_set_joint(c->sim, 3, -0.9, 0));
}

static void creature_end(creature* c)
{
    perp_sim_destroy(c->sim);
    perp_model_destroy(c->model);
    perp_context_destroy(c->context);
}

static void check_same_state(const perp_sim* a, const perp_sim* b)
{
    const size_t q = (size_t)a->work.q_size, v = 6 * (size_t)(BODIES - 1);
    CHECK(memcmp(perp_sim_q(a), perp_sim_q(b), q * sizeof(double)) == 0);
    CHECK(memcmp(perp_sim_v(a), perp_sim_v(b), v * sizeof(double)) == 0);
}

/* A clone has no memory of the calls before it. */
TEST(what_the_search_remembers_does_not_change_the_motion)
{
    static const char* const contact[2] = {"peg", "standard"};
    for (int k = 0; k < 2; ++k) {
        creature c;
        creature_begin(&c, contact[k]);
        for (int step = 0; step < 130; ++step) {
            perp_sim* fresh = NULL;
            if (step % 5 == 0) {
                REQUIRE_OK(perp_sim_clone(c.sim, NULL, &fresh));
                REQUIRE_OK(perp_sim_step(fresh));
            }
            REQUIRE_OK(perp_sim_step(c.sim));
            if (fresh != NULL) {
                check_same_state(c.sim, fresh);
            }
            perp_sim_destroy(fresh);
        }
        creature_end(&c);
    }
}

TEST(links_that_joints_keep_apart_move_as_if_they_were_searched)
{
    creature with, without;
    creature_begin(&with, "standard");
    creature_begin(&without, "standard");
    perpi_collider* none = NULL;
    CHECK_OK(perpi_collider_create(without.context, without.model, &none));
    CHECK_OK(perpi_collider_find_reach(without.sim->work.collider, none));
    perpi_collider_destroy(none);
    CHECK(perp_sim_pairs_out_of_reach(with.sim) >= 4); /* front legs and hind legs */
    CHECK_EQ_INT(perp_sim_pairs_out_of_reach(without.sim), 0);
    for (int step = 0; step < 130; ++step) {
        REQUIRE_OK(perp_sim_step(with.sim));
        REQUIRE_OK(perp_sim_step(without.sim));
        check_same_state(with.sim, without.sim);
    }
    creature_end(&with);
    creature_end(&without);
}

/* Every overlap is that of the step before, by its linearised gaps; features that were missing
 * would show as more. */
TEST(fine_hulls_do_not_sink_into_each_other)
{
    static const char* const contact[2] = {"peg", "standard"};
    for (int k = 0; k < 2; ++k) {
        creature c;
        double deepest = 0.0;
        int32_t most = 0, between = 0;
        creature_begin(&c, contact[k]);
        for (int step = 0; step < 200; ++step) {
            REQUIRE_OK(perp_sim_step(c.sim));
            const perp_step_info info = perp_sim_step_info(c.sim);
            deepest = info.penetration > deepest ? info.penetration : deepest;
            most = info.candidates > most ? info.candidates : most;
            for (size_t i = 0; i < c.sim->state.contacts.count; ++i) {
                const perp_contact* p = &c.sim->state.contacts.item[i];
                between += p->body_b < BODIES - 1 && p->impulse[0] > 0.0;
            }
        }
        printf("%s: deepest %g, candidates %d, between hulls %d\n", contact[k], deepest, (int)most,
               (int)between);
        CHECK(between > 20);
        /* groups hold to first order in the rotation, up to 0.3 in a step here */
        CHECK_AT_MOST(deepest, k == 0 ? 5e-3 : 1e-5);
        creature_end(&c);
    }
}
