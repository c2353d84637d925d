/* Derivatives of many outputs along one run, by parameters and by the start state, against
 * differences of whole runs. */
#include <string.h>

#include "perp/perp.h"
#include "perp_test.h"
#include "scene/gradient.h"
#include "sim/gradient_quantity.h"
#include "support/scene_sim.h"

enum { UNKNOWNS = 20, OUTPUTS = 6, ROWS = 8 };

/* The scene's first body is the floor, its second the one that is thrown. */
typedef struct asked {
    const char* text; /* of a scene with a parameter %s of each name */
    const char* name[4];
    double value[4];
    double until;
} asked;

/* Rows of outputs: those of every stride-th state; derivatives follow. */
typedef struct record {
    double time[ROWS], value[ROWS][OUTPUTS], by[ROWS][OUTPUTS][UNKNOWNS];
    int rows, seen, stride;
    const perp_quantity* quantity;
    int quantities;
    double last;
} record;

static bool keep(void* user, const perpi_along_state* s)
{
    record* r = user;
    if (r->seen++ % r->stride == 0 && r->rows < ROWS) {
        r->time[r->rows] = s->time;
        for (int i = 0; i < r->quantities; ++i) {
            perpi_along_quantity(s, &r->quantity[i], &r->value[r->rows][i],
                                 s->tangent != NULL ? r->by[r->rows][i] : NULL);
        }
        r->rows += 1;
    }
    r->last = s->time;
    return true;
}

static perp_status scene_at(perp_context* context, const asked* a, const double* value,
                            perp_scene** scene)
{
    char text[4096];
    int used = snprintf(text, sizeof text, "{'parameters': {");
    for (int i = 0; i < 4 && a->name[i] != NULL; ++i) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s'%s': %.17g",
                         i > 0 ? ", " : "", a->name[i], value[i]);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "}, %s", a->text);
    return scene_parse(context, text, "along", scene);
}

/* One run with the unknowns displaced by delta along `which` (-1: none). */
static perp_status run_at(perp_context* context, const asked* a, int which, double delta,
                          record* out, perp_gradient_flags* flags, int* unknowns)
{
    const int32_t body = 1;
    perp_scene* scene = NULL;
    perpi_scene_along* along = NULL;
    double value[4], q[14], v[12];
    int names = 0;
    while (names < 4 && a->name[names] != NULL) {
        value[names] = a->value[names];
        names += 1;
    }
    if (which >= 0 && which < names) {
        value[which] += delta;
    }
    perp_status status = scene_at(context, a, value, &scene);
    if (status == PERP_OK) {
        const perpi_scene_along_def def = {
            .parameter = a->name, .parameter_count = names, .body = &body, .body_count = 1};
        status = perpi_scene_along_create(context, scene, &def, &along);
    }
    if (status == PERP_OK) {
        perp_sim* sim = perpi_scene_along_sim(along);
        static const char* const name[] = {"b.position.x", "b.position.y", "b.velocity.x",
                                           "b.velocity.y", "energy.total"};
        perp_quantity quantity[OUTPUTS];
        int32_t count = 0;
        for (int i = 0; i < 5 && status == PERP_OK; ++i) {
            status =
                perp_quantity_find(context, perp_sim_model(sim), name[i], &quantity[i], 1, &count);
        }
        const bool planar = perp_model_dimension(perp_sim_model(sim)) == 2;
        const int q_stride = planar ? 3 : 7, n = planar ? 3 : 6;
        memcpy(q, perp_sim_q(sim), 2 * (size_t)q_stride * sizeof *q);
        memcpy(v, perp_sim_v(sim), 2 * (size_t)n * sizeof *v);
        const int k = which - names;
        if (k >= n) {
            v[n + k - n] += delta;
        } else if (k >= 0 && (planar || k < 3)) {
            q[q_stride + k] += delta;
        } else if (k >= 0) { /* exp(delta e / 2) q */
            double* e = q + 7 + 3;
            const double w[3] = {k == 3, k == 4, k == 5};
            const double c = cos(0.5 * delta), s = sin(0.5 * delta);
            const double o[4] = {e[0], e[1], e[2], e[3]};
            e[0] = c * o[0] - s * (w[0] * o[1] + w[1] * o[2] + w[2] * o[3]);
            e[1] = c * o[1] + s * (w[0] * o[0] + w[1] * o[3] - w[2] * o[2]);
            e[2] = c * o[2] + s * (w[1] * o[0] + w[2] * o[1] - w[0] * o[3]);
            e[3] = c * o[3] + s * (w[2] * o[0] + w[0] * o[2] - w[1] * o[1]);
        }
        *unknowns = perpi_scene_along_unknowns(along);
        *out = (record){.stride = 17, .quantity = quantity, .quantities = 5};
        if (status == PERP_OK) {
            status = perpi_scene_along_run(along, q, v, a->until, which < 0, keep, out, flags);
        }
    }
    perpi_scene_along_destroy(along);
    perp_scene_destroy(scene);
    return status;
}

/* Largest difference of derivatives from central differences, relative to the largest derivative of
 * that output. */
static void compare(const asked* a, double within)
{
    perp_context* context = NULL;
    static record here, at[4];
    perp_gradient_flags flags;
    int unknowns = 0;
    CHECK_EQ_INT(perp_context_create(NULL, &context), PERP_OK);
    CHECK_EQ_INT(run_at(context, a, -1, 0.0, &here, &flags, &unknowns), PERP_OK);
    CHECK_EQ_INT(flags.flagged, 0);
    CHECK(here.rows >= 5);
    CHECK(here.last >= a->until - 1e-12);
    double off = 0.0;
    for (int i = 0; i < unknowns; ++i) {
        static const double place[4] = {-2.0, -1.0, 1.0, 2.0};
        const double delta = 1e-6;
        int same;
        for (int k = 0; k < 4; ++k) {
            CHECK_EQ_INT(run_at(context, a, i, place[k] * delta, &at[k], NULL, &same), PERP_OK);
        }
        for (int r = 0; r < here.rows; ++r) {
            for (int o = 0; o < 5; ++o) {
                double most = 1.0;
                for (int j = 0; j < unknowns; ++j) {
                    most = fmax(most, fabs(here.by[r][o][j]));
                }
                const double difference = (8.0 * (at[2].value[r][o] - at[1].value[r][o]) -
                                           (at[3].value[r][o] - at[0].value[r][o])) /
                                          (12.0 * delta);
                off = fmax(off, fabs(difference - here.by[r][o][i]) / most);
            }
        }
    }
    CHECK_AT_MOST(off, within);
    perp_context_destroy(context);
}

TEST(a_thrown_cube_that_bounces_agrees_with_differences_along_its_run)
{
    compare(&(asked){.text = "'dimension': 3, 'gravity': [0, -9.81, 0], 'step': 0.005,"
                             " 'duration': 2, 'tolerance': 1e-12, 'friction': {'default': 'mu'},"
                             " 'restitution': 'en', 'bodies': [{'name': 'floor', 'type': 'static',"
                             " 'shapes': [{'type': 'plane', 'normal': [0, 1, 0]}]},"
                             " {'name': 'b', 'mass': 'm', 'shapes': [{'type': 'box',"
                             " 'size': ['a', 0.12, 0.15]}], 'position': [0, 0.5, 0],"
                             " 'axis_angle': [1, 0.3, 0.2, 0.3], 'velocity': [1.3, 0, 0.2],"
                             " 'angular_velocity': [1.5, 2, 1]}]}",
                     .name = {"en", "mu", "m", "a"},
                     .value = {0.5, 0.2, 0.6, 0.1},
                     .until = 0.6},
            1e-6);
}

TEST(a_planar_box_that_bounces_and_slides_agrees_with_differences_along_its_run)
{
    compare(&(asked){.text = "'dimension': 2, 'gravity': [0, -9.81], 'step': 0.005,"
                             " 'duration': 2, 'tolerance': 1e-12, 'friction': {'default': 'mu'},"
                             " 'restitution': 'en', 'bodies': [{'name': 'floor', 'type': 'static',"
                             " 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]},"
                             " {'name': 'b', 'mass': 'm', 'inertia': 0.002, 'shapes': [{'type':"
                             " 'box', 'size': [0.2, 0.1]}], 'position': [0, 0.3],"
                             " 'angle': 0.4, 'velocity': [0.7, 0], 'angular_velocity': 2}]}",
                     .name = {"en", "mu", "m"},
                     .value = {0.4, 0.3, 0.7},
                     .until = 0.55},
            1e-6);
}

TEST(a_ball_without_restitution_agrees_with_differences_along_its_run)
{
    compare(&(asked){.text = "'dimension': 3, 'gravity': [0, -9.81, 0], 'step': 0.005,"
                             " 'duration': 2, 'tolerance': 1e-12, 'friction': {'default': 'mu'},"
                             " 'bodies': [{'name': 'floor', 'type': 'static',"
                             " 'shapes': [{'type': 'plane', 'normal': [0, 1, 0]}]},"
                             " {'name': 'b', 'mass': 'm',"
                             " 'shapes': [{'type': 'sphere', 'radius': 'r'}],"
                             " 'position': [0, 0.3, 0], 'velocity': [1.3, 0, 0.2],"
                             " 'angular_velocity': [1.5, 2, 1]}], 'forces': [{'type': 'drag',"
                             " 'body': 'b', 'linear': 0.1, 'angular': 0.001}]}",
                     .name = {"mu", "m", "r"},
                     .value = {0.2, 0.6, 0.1},
                     .until = 0.55},
            1e-6);
}
