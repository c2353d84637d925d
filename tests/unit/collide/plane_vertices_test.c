/* tests/unit/collide/plane_vertices_test.c - of a polyhedron with many vertices over a plane those
 * are left out whose gaps follow from those of others, whatever the rotation within its bound. */
#include "collide/narrow/round.h"
#include "geometry.h"
#include "perp_test.h"
#include "shape/polyhedron.h"

enum { POINTS = 200, BODIES = 30, TURNS = 60 };

static perpi_shape random_body(perp_context* context)
{
    double x[3 * POINTS];
    const vec3 r = v3(random_in(0.2, 1), random_in(0.2, 1), random_in(0.1, 1));
    for (int i = 0; i < POINTS; ++i) {
        const vec3 u = v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)));
        v3_to(v3(r.x * u.x, r.y * u.y, r.z * u.z), x + 3 * (ptrdiff_t)i);
    }
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    perpi_shape s = {0};
    d.vertices = x;
    d.vertex_count = POINTS;
    CHECK_OK(perpi_shape_make(context, &d, 3, &s));
    return s;
}

static vec3 random_within(double angle)
{
    return v3_scale(random_in(0, angle), v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0))));
}

typedef struct trial {
    perpi_shape plane, body;
    perpi_pose ground, pose;
    bool kept[POINTS];
    int32_t all, few;
} trial;

static void find_vertices(perp_context* context, trial* t, perpi_candidate_list* list)
{
    list->context = context;
    list->count = 0;
    CHECK_OK(perpi_plane_polyhedron(&t->plane, &t->ground, &t->body, &t->pose, 0.2, list));
}

/* Rotated by w and moved until the first of the kept vertices touches: how far the others are above. */
static double least_of_others(const trial* t, vec3 w)
{
    const perpi_polyhedron* p = t->body.polyhedron;
    const mat3 R = m3_mm(q4_matrix(q4_exp(w)), t->pose.R);
    const vec3 n = t->plane.normal;
    double touch = INFINITY, others = INFINITY;
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        const double height = v3_dot(n, m3_mul(R, p->vertex[i]));
        touch = t->kept[i] && height < touch ? height : touch;
        others = !t->kept[i] && height < others ? height : others;
    }
    return others - touch;
}

static trial random_trial(perp_context* context)
{
    trial t = {.ground = pose_at(v3(0, 0, 0), (quat){1, 0, 0, 0})};
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_PLANE);
    d.normal[2] = 1.0;
    CHECK_OK(perpi_shape_make(context, &d, 3, &t.plane));
    t.body = random_body(context);
    t.pose = pose_at(v3(0, 0, 0), random_turn(3));
    const vec3 down = v3_neg(m3_tmul(t.pose.R, v3(0, 0, 1)));
    const perpi_polyhedron* p = t.body.polyhedron;
    const vec3 lowest = p->vertex[perpi_polyhedron_support(p, down, 0)];
    t.pose.x =
        v3(random_in(-5, 5), random_in(-5, 5), v3_dot(down, lowest) + random_in(-0.01, 0.05));
    return t;
}

TEST(vertices_left_out_stay_above_the_others_in_every_rotation_within_the_bound)
{
    perp_context* context = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    perpi_candidate_list list = {0};
    int32_t all = 0, few = 0;
    random_state = 11;
    for (int b = 0; b < BODIES; ++b) {
        trial t = random_trial(context);
        /* a bound of any rotation alone, or with rotations that are expected up to an error */
        const double most = random_in(0.01, 0.3), error = 0.2 * most;
        list.turn_most = list.turn = INFINITY;
        list.spins = 0;
        find_vertices(context, &t, &list);
        all += (int32_t)list.count;
        list.turn_most = most;
        if (b % 2 == 1) {
            list.turn = error;
            list.spins = 2;
            list.spin[0] = random_within(most - error);
            list.spin[1] = random_within(most - error);
        }
        find_vertices(context, &t, &list);
        few += (int32_t)list.count;
        for (size_t i = 0; i < list.count; ++i) {
            t.kept[list.item[i].feature] = true;
        }
        for (int k = 0; k < TURNS; ++k) {
            const vec3 w =
                b % 2 == 1 ? v3_add(list.spin[k % 2], random_within(error)) : random_within(most);
            CHECK(least_of_others(&t, w) >= 0.0);
        }
        perpi_shape_free(context, &t.body);
        perpi_shape_free(context, &t.plane);
    }
    CHECK_AT_MOST(few, 0.5 * all);
    CHECK(few >= BODIES);
    perpi_free(context, list.item);
    perp_context_destroy(context);
}
