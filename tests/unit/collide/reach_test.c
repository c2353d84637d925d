/* tests/unit/collide/reach_test.c - links that joint limits keep apart: at random coordinates
 * within the limits, of random mechanisms, a pair that is left out has no candidates; outside the
 * limits it is not left out. */
#include <string.h>

#include "collide/reach.h"
#include "geometry.h"
#include "perp_test.h"

enum { LINKS = 5, POINTS = 30 };

/* A base, and two chains of two links each on it; in the world's frame at the start. */
typedef struct mechanism {
    perp_context* context;
    perp_model* model;
    perpi_pose start[LINKS];
    int32_t parent[LINKS];
    bool slides[LINKS];
    vec3 axis[LINKS], point[LINKS];
    double low[LINKS], high[LINKS], coordinate[LINKS]; /* limits and start */
} mechanism;

static perp_shape_def link_shape(int kind, double* x)
{
    static const perp_shape_type type[4] = {PERP_SHAPE_BOX, PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE,
                                            PERP_SHAPE_POLYHEDRON};
    perp_shape_def d = perp_shape_def_default(type[kind]);
    d.size[0] = 0.4;
    d.size[1] = 0.1;
    d.size[2] = 0.15;
    d.radius = 0.1;
    d.length = 0.2;
    for (int i = 0; i < POINTS && kind == 3; ++i) {
        const vec3 u = v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)));
        v3_to(v3(0.3 * u.x, 0.1 * u.y, 0.1 * u.z), x + 3 * (ptrdiff_t)i);
    }
    d.vertices = x;
    d.vertex_count = kind == 3 ? POINTS : 0;
    return d;
}

static void add_link(mechanism* m, int i)
{
    static const char* const name[LINKS] = {"base", "a1", "a2", "b1", "b2"};
    double x[3 * POINTS];
    const perp_shape_def shape = link_shape(random_below(4), x);
    perp_body_def body = perp_body_def_default();
    body.name = name[i];
    body.type = i == 0 && random_below(2) == 0 ? PERP_BODY_STATIC : PERP_BODY_DYNAMIC;
    body.shapes = &shape;
    body.shape_count = 1;
    body.mass = 1;
    body.has_inertia = true;
    body.inertia[0] = body.inertia[4] = body.inertia[8] = 1;
    m->parent[i] = i == 0 ? -1 : i % 2 == 1 ? 0 : i - 1;
    const vec3 off = i == 0 ? random_vec(1) : v3_scale(random_in(0.3, 0.8), v3_unit(random_vec(1)));
    const vec3 at = i == 0 ? off : v3_add(m->start[m->parent[i]].x, off);
    m->start[i] = pose_at(at, random_turn(3));
    v3_to(at, body.position);
    body.orientation[0] = m->start[i].q.w;
    body.orientation[1] = m->start[i].q.x;
    body.orientation[2] = m->start[i].q.y;
    body.orientation[3] = m->start[i].q.z;
    REQUIRE_OK(perp_model_add_body(m->model, &body, NULL));
    if (i == 0) {
        return;
    }
    m->slides[i] = random_below(4) == 0;
    m->axis[i] = v3_unit(random_vec(1));
    m->point[i] = v3_add(m->start[m->parent[i]].x, v3_scale(random_in(0.3, 0.7), off));
    const double half = m->slides[i] ? random_in(0.05, 0.3) : random_in(0.1, 1.2);
    m->coordinate[i] = random_in(-1, 1);
    m->low[i] = m->coordinate[i] - random_in(0, 2) * half;
    m->high[i] = m->low[i] + 2 * half;
    m->high[i] = m->high[i] > m->coordinate[i] ? m->high[i] : m->coordinate[i];
    perp_joint_def joint = perp_joint_def_default();
    joint.name = name[i];
    joint.type = m->slides[i] ? PERP_JOINT_PRISMATIC : PERP_JOINT_REVOLUTE;
    /* either way round: the coordinate is that of b against a */
    const bool reversed = random_below(2) == 0;
    joint.a = name[reversed ? i : m->parent[i]];
    joint.b = name[reversed ? m->parent[i] : i];
    joint.has_at = true;
    v3_to(m->point[i], joint.at);
    v3_to(reversed ? v3_neg(m->axis[i]) : m->axis[i], joint.axis);
    joint.has_limits = true;
    joint.limits[0] = m->low[i];
    joint.limits[1] = m->high[i];
    joint.start = m->coordinate[i];
    REQUIRE_OK(perp_model_add_joint(m->model, &joint, NULL));
}

static void mechanism_begin(mechanism* m)
{
    memset(m, 0, sizeof *m);
    perp_model_def def = perp_model_def_default();
    CHECK_OK(perp_context_create(NULL, &m->context));
    CHECK_OK(perp_model_create(m->context, &def, &m->model));
    for (int i = 0; i < LINKS; ++i) {
        add_link(m, i);
    }
}

static void mechanism_end(mechanism* m)
{
    perp_model_destroy(m->model);
    perp_context_destroy(m->context);
}

/* Poses at coordinates u, by the product of the joints' motions of the world (a mechanism at the start). */
static void place_links(const mechanism* m, const double* u, perpi_pose* pose)
{
    perpi_pose motion[LINKS];
    const perpi_pose none = pose_at(v3(0, 0, 0), q4_identity());
    for (int i = 0; i < LINKS; ++i) {
        perpi_pose own = none;
        const double by = i == 0 ? 0.0 : u[i] - m->coordinate[i];
        if (i > 0 && m->slides[i]) {
            own.x = v3_scale(by, m->axis[i]);
        } else if (i > 0) {
            own = pose_at(v3(0, 0, 0), q4_exp(v3_scale(by, m->axis[i])));
            own.x = v3_sub(m->point[i], m3_mul(own.R, m->point[i]));
        }
        motion[i] = i == 0 ? none : perpi_pose_mul(&motion[m->parent[i]], &own);
        pose[i] = perpi_pose_mul(&motion[i], &m->start[i]);
    }
}

static bool always(void* user, int32_t a, int32_t b)
{
    (void)user;
    (void)a;
    (void)b;
    return true;
}

static bool has_candidates(const perpi_candidate* candidate, size_t count, int32_t a, int32_t b)
{
    for (size_t i = 0; i < count; ++i) {
        if (candidate[i].body_a == a && candidate[i].body_b == b) {
            return true;
        }
    }
    return false;
}

typedef struct tally {
    int pairs, left_out, near, outside;
} tally;

/* margin: of the pair. */
static void check_sample(const mechanism* m, const perpi_reach* reach, perpi_collider* c,
                         const double* u, bool within, tally* sum)
{
    perpi_pose pose[LINKS];
    const perpi_candidate* candidate = NULL;
    size_t count = 0;
    place_links(m, u, pose);
    for (int32_t a = 0; a < LINKS; ++a) {
        for (int32_t b = a + 1; b < LINKS; ++b) {
            const double margin =
                random_in(0, 0.12) * (m->model->body[a].reach + m->model->body[b].reach);
            const double half[LINKS] = {0.5 * margin, 0.5 * margin, 0.5 * margin, 0.5 * margin,
                                        0.5 * margin};
            const bool apart = perpi_reach_apart(reach, pose, a, b, margin);
            sum->left_out += apart;
            if (apart && within) {
                CHECK_OK(perpi_collide(c, pose, half, &candidate, &count));
                CHECK(!has_candidates(candidate, count, a, b));
            }
            sum->outside += apart && !within;
        }
    }
}

TEST(links_that_are_left_out_within_the_limits_have_no_candidates)
{
    tally sum = {0};
    random_state = 21;
    for (int trial = 0; trial < 120; ++trial) {
        mechanism m;
        perpi_reach* reach = NULL;
        perpi_collider* c = NULL;
        mechanism_begin(&m);
        CHECK_OK(perpi_reach_find(m.context, m.model, always, NULL, &reach));
        CHECK_OK(perpi_collider_create(m.context, m.model, &c));
        sum.pairs += perpi_reach_count(reach);
        for (int sample = 0; sample < 40; ++sample) {
            double u[LINKS];
            for (int i = 1; i < LINKS; ++i) { /* corners of the ranges too */
                const double t = random_below(3) == 0 ? random_below(2) : random_unit();
                u[i] = m.low[i] + t * (m.high[i] - m.low[i]);
            }
            check_sample(&m, reach, c, u, true, &sum);
        }
        perpi_collider_destroy(c);
        perpi_reach_free(m.context, reach);
        mechanism_end(&m);
    }
    printf("pairs %d, left out %d\n", sum.pairs, sum.left_out);
    CHECK(sum.pairs > 50 && sum.left_out > 1000);
}

/* A chain whose first joint is beyond its limit, or open: every pair across it is searched again. */
TEST(a_joint_beyond_its_limits_or_open_brings_its_pairs_back)
{
    int pairs = 0;
    random_state = 22;
    for (int trial = 0; trial < 60; ++trial) {
        mechanism m;
        perpi_reach* reach = NULL;
        perpi_pose pose[LINKS];
        double u[LINKS] = {0};
        mechanism_begin(&m);
        CHECK_OK(perpi_reach_find(m.context, m.model, always, NULL, &reach));
        for (int i = 1; i < LINKS; ++i) {
            u[i] = m.coordinate[i];
        }
        for (int32_t a = 1; a < 3 && reach != NULL; ++a) {
            for (int32_t b = 3; b < LINKS; ++b) {
                place_links(&m, u, pose);
                if (!perpi_reach_apart(reach, pose, a, b, 0.0)) {
                    continue;
                }
                pairs += 1;
                double beyond[LINKS];
                memcpy(beyond, u, sizeof u);
                beyond[3] = m.high[3] + 0.1 * (m.high[3] - m.low[3]) + 0.1;
                place_links(&m, beyond, pose);
                CHECK(!perpi_reach_apart(reach, pose, a, b, 0.0));
                place_links(&m, u, pose);
                for (int32_t i = 3; i < LINKS; ++i) { /* its joint with the base is open by 0.3 */
                    pose[i].x =
                        v3_madd(pose[i].x, 0.3, v3_unit(v3_cross(m.axis[3], v3(0.3, 0.5, 0.8))));
                }
                CHECK(!perpi_reach_apart(reach, pose, a, b, 0.0));
                place_links(&m, u, pose);
                CHECK(!perpi_reach_apart(reach, pose, a, b,
                                         10.0)); /* a margin beyond what was proved */
                CHECK(perpi_reach_apart(reach, pose, a, b, 0.0));
            }
        }
        perpi_reach_free(m.context, reach);
        mechanism_end(&m);
    }
    CHECK(pairs > 10);
}

TEST(a_copy_has_the_same_pairs)
{
    random_state = 23;
    for (int trial = 0; trial < 20; ++trial) {
        mechanism m;
        perpi_reach *reach = NULL, *copy = NULL;
        mechanism_begin(&m);
        CHECK_OK(perpi_reach_find(m.context, m.model, always, NULL, &reach));
        CHECK_OK(perpi_reach_copy(m.context, m.model, reach, &copy));
        CHECK_EQ_INT(perpi_reach_count(reach), perpi_reach_count(copy));
        for (int32_t a = 0; a < LINKS; ++a) {
            for (int32_t b = a + 1; b < LINKS; ++b) {
                CHECK_EQ_INT(perpi_reach_apart(reach, m.start, a, b, 0.0),
                             perpi_reach_apart(copy, m.start, a, b, 0.0));
            }
        }
        perpi_reach_free(m.context, copy);
        perpi_reach_free(m.context, reach);
        mechanism_end(&m);
    }
}
