/* Estimates with all steps as unknowns: derivatives against differences, and parameters of simulated motion. */
#include "perp/perp.h"
#include "perp_test.h"
#include "sim/candidates.h"
#include "study/mpec.h"

/* ---- a run with noise, as a program ------------------------------------------------------------*/

enum { MOST = 8 };

typedef struct fixture {
    perp_context* context;
    perp_scene* scene; /* whose parameters are varied */
    const char* name[MOST];
    int32_t count;
    double *q, *v, *time; /* states of the run, positions with noise */
    int32_t steps;
    perpi_mpec* mpec;
} fixture;

static perp_status model_at(void* user, const double* parameter, const perp_model** model)
{
    fixture* f = user;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < f->count; ++i) {
        status = perp_scene_set_number(f->scene, f->name[i], parameter[i]);
    }
    status = status == PERP_OK ? perp_scene_rebuild(f->scene) : status;
    *model = perp_scene_model(f->scene);
    return status;
}

static uint32_t noise_state;

static double uniform(void) /* -1 .. 1 */
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (double)(noise_state >> 8) / 8388608.0 - 1.0;
}

/* Adds noise to positions; velocities are their differences. */
static void record(fixture* f, perp_sim* sim, double noise)
{
    const perp_model* model = perp_sim_model(sim);
    const int32_t qs = perpi_q_stride(model), vs = perpi_v_stride(model);
    const int32_t bodies = (int32_t)model->body_count;
    const int32_t total = (int32_t)perp_sim_step_total(sim);
    f->steps = total;
    f->q = calloc((size_t)((total + 1) * qs * bodies), sizeof *f->q);
    f->v = calloc((size_t)((total + 1) * vs * bodies), sizeof *f->v);
    f->time = calloc((size_t)total + 1, sizeof *f->time);
    for (int32_t i = 0; i <= total; ++i) {
        double *q = f->q + i * qs * bodies, *v = f->v + i * vs * bodies;
        f->time[i] = perp_sim_time(sim);
        memcpy(q, perp_sim_q(sim), (size_t)(qs * bodies) * sizeof *q);
        memcpy(v, perp_sim_v(sim), (size_t)(vs * bodies) * sizeof *v);
        for (int32_t b = 0; b < bodies; ++b) {
            for (int32_t k = 0; i > 0 && model->body[b].dofs > 0 && k < model->dimension; ++k) {
                q[qs * b + k] += noise * uniform();
                v[vs * b + k] =
                    (q[qs * b + k] - (q - qs * bodies)[qs * b + k]) / (f->time[i] - f->time[i - 1]);
            }
        }
        if (i < total) {
            REQUIRE_OK(perp_sim_step(sim));
        }
    }
}

/* The run of a scene as it is, and a program that starts from other parameters. free_start: with a
 * prior of `noise`. */
static void make(fixture* f, const char* text, int32_t count, const char* const* name,
                 const perpi_mpec_parameter* parameter, double noise, bool free_start)
{
    *f = (fixture){.count = count};
    perp_scene* truth = NULL;
    perp_sim* sim = NULL;
    noise_state = 4711u;
    REQUIRE_OK(perp_context_create(NULL, &f->context));
    if (perp_scene_parse(f->context, text, strlen(text), "scene", NULL, 0, &truth) != PERP_OK ||
        perp_scene_parse(f->context, text, strlen(text), "scene", NULL, 0, &f->scene) != PERP_OK ||
        perp_sim_create_from_scene(f->context, truth, &sim) != PERP_OK) {
        CHECK_EQ_STR(perp_context_error(f->context), "");
        return;
    }
    memcpy(f->name, name, (size_t)count * sizeof *name);
    record(f, sim, noise);
    const perp_model* model = perp_sim_model(sim);
    const int32_t qs = perpi_q_stride(model), bodies = (int32_t)model->body_count;
    const perpi_mpec_model of = {model_at, f};
    perpi_mpec* m = NULL;
    perp_status status = perpi_mpec_create(f->context, sim, of, parameter, count, 12.0, &m);
    perpi_contact_list list = {.context = f->context}, all = {.context = f->context};
    int32_t* first = calloc((size_t)f->steps + 1, sizeof *first);
    for (int32_t i = 0; status == PERP_OK && i < f->steps; ++i) {
        status = perpi_sim_candidates(sim, f->time[i], f->q + i * qs * bodies, 0.1, 100.0, &list);
        if (status == PERP_OK) {
            status = perpi_grow(f->context, &all.item, &all.capacity, all.count + list.count,
                                sizeof *all.item);
        }
        if (status == PERP_OK && list.count > 0) {
            memcpy(all.item + all.count, list.item, list.count * sizeof *list.item);
        }
        all.count += list.count;
        first[i + 1] = (int32_t)all.count;
    }
    perpi_mpec_observation* o = calloc((size_t)(f->steps * bodies * 3 + 1), sizeof *o);
    int32_t observations = 0;
    for (int32_t i = 1; status == PERP_OK && i <= f->steps; ++i) {
        for (int32_t b = 0; b < bodies; ++b) {
            for (int32_t k = 0;
                 model->body[b].dofs > 0 && k < (model->dimension == 2 ? model->body[b].dofs : 3);
                 ++k) {
                const double x = f->q[(i * bodies + b) * qs + k];
                o[observations++] =
                    (perpi_mpec_observation){.state = i,
                                             .place = perpi_mpec_place(m, b, k, false),
                                             .value = x,
                                             .base = x,
                                             .noise = noise > 0.0 ? noise : 1e-3,
                                             .scale = 1.0,
                                             .scale_parameter = -1,
                                             .offset_parameter = -1};
            }
        }
    }
    perpi_mpec_start* start = calloc((size_t)(m != NULL ? m->stride : 0) + 1, sizeof *start);
    for (int32_t i = 0; m != NULL && i < m->stride; ++i) {
        start[i] = (perpi_mpec_start){free_start, noise};
    }
    if (status == PERP_OK) {
        status = perpi_mpec_add_trajectory(m, &(perpi_mpec_run){.steps = f->steps,
                                                                .time = f->time,
                                                                .q = f->q,
                                                                .v = f->v,
                                                                .start = start,
                                                                .contact = all.item,
                                                                .contact_start = first,
                                                                .observation = o,
                                                                .observation_count = observations});
    }
    status = status == PERP_OK ? perpi_mpec_build(m) : status;
    CHECK_OK(status);
    if (status != PERP_OK) {
        CHECK_EQ_STR(perp_context_error(f->context), "");
    }
    f->mpec = m;
    perpi_free(f->context, list.item);
    perpi_free(f->context, all.item);
    free(first);
    free(o);
    free(start);
    perp_sim_destroy(sim);
    perp_scene_destroy(truth);
}

static void release(fixture* f)
{
    perpi_mpec_destroy(f->mpec);
    perp_scene_destroy(f->scene);
    perp_context_destroy(f->context);
    free(f->q);
    free(f->v);
    free(f->time);
}

static perpi_mpec_report solve(fixture* f)
{
    perpi_mpec_report report = {.rounds = 0};
    const perpi_mpec_options options = {.iterations = 443};
    CHECK(perpi_mpec_solve(f->mpec, &options, &report) == PERP_OK);
    CHECK(report.solved);
    return report;
}

/* ---- tests -------------------------------------------------------------------------------------*/

static const char* const PARTICLE =
    "{ \"dimension\": 2, \"gravity\": [0,-9.81], \"step\": 0.05, \"duration\": 5,"
    "  \"parameters\": { \"mu\": 0.2 }, \"friction\": { \"default\": \"mu\" },"
    "  \"bodies\": [ { \"name\": \"ground\", \"type\": \"static\", \"shapes\": [ { \"type\": "
    "\"halfplane\", \"normal\": [0,1] } ] },"
    "    { \"name\": \"p\", \"mass\": 1, \"position\": [0,3], \"shapes\": [ { \"type\": "
    "\"particle\" } ] } ],"
    "  \"forces\": [ { \"type\": \"wrench\", \"body\": \"p\", \"force\": [5,0] } ] }";

static const perpi_mpec_parameter MU = {
    .start = 1.0, .low = 0.0, .high = 1.0, .prior = NAN, .of_scene = true};

/* ---- derivatives -------------------------------------------------------------------------------*/

/* A point off the first guess, with impulses: nothing vanishes by accident. */
static void disturb(fixture* f)
{
    perpi_mpec* m = f->mpec;
    m->tau = 0.05 * m->speed;
    for (int32_t i = 0; i < m->n; ++i) {
        m->z[i] += (i < m->parameter_count ? -0.05 : 0.2) * m->unit[i] * (1.0 + 0.3 * uniform());
    }
}

/* The largest difference of a derivative from differences of the values, in units. */
static double jacobian_error(perpi_mpec* m)
{
    const size_t n = (size_t)m->n, rows = (size_t)m->m;
    double* J = calloc(n * rows, sizeof *J);
    double* up = calloc(rows, sizeof *up);
    double* z = calloc(n, sizeof *z);
    double worst = INFINITY;
    const perp_status status = perpi_mpec_jacobian(m, m->z);
    CHECK_EQ_STR(status == PERP_OK ? "" : perp_context_error(m->context), "");
    if (status == PERP_OK) {
        worst = 0.0;
        for (size_t k = 0; k < m->jacobian_count; ++k) {
            J[(size_t)m->jacobian_row[k] * n + (size_t)m->jacobian_column[k]] += m->jacobian[k];
        }
        for (size_t j = 0; j < n; ++j) {
            const double by = 1e-6 * m->unit[j];
            memcpy(z, m->z, n * sizeof *z);
            z[j] += by;
            CHECK_OK(perpi_mpec_values(m, z));
            memcpy(up, m->value, rows * sizeof *up);
            z[j] -= 2.0 * by;
            CHECK_OK(perpi_mpec_values(m, z));
            for (size_t i = 0; i < rows; ++i) {
                const double d = (up[i] - m->value[i]) / (2.0 * by);
                const double e = fabs(d - J[i * n + j]) * m->unit[j] / m->row_unit[i];
                worst = !(e <= worst) ? e : worst;
            }
        }
    }
    free(J);
    free(up);
    free(z);
    return worst;
}

/* The same of the second derivatives of objective and equations. */
static double hessian_error(perpi_mpec* m)
{
    const size_t n = (size_t)m->n, rows = (size_t)m->m;
    double* H = calloc(n * n, sizeof *H);
    double* value = calloc(m->hessian_count + 1, sizeof *value);
    double* lambda = calloc(rows, sizeof *lambda);
    double *g = calloc(2 * n, sizeof *g), *z = calloc(n, sizeof *z), worst = 0.0;
    for (size_t i = 0; i < rows; ++i) {
        lambda[i] = uniform() / m->row_unit[i];
    }
    CHECK_OK(perpi_mpec_hessian(m, m->z, 1e-6, lambda, value));
    for (size_t k = 0; k < m->hessian_count; ++k) {
        const size_t i = (size_t)m->hessian_row[k], j = (size_t)m->hessian_column[k];
        H[i * n + j] += value[k];
        H[j * n + i] += i != j ? value[k] : 0.0;
    }
    for (size_t j = 0; j < n; ++j) {
        for (int side = 0; side < 2; ++side) {
            double* to = g + (size_t)side * n;
            memcpy(z, m->z, n * sizeof *z);
            z[j] += (side == 0 ? 1e-6 : -1e-6) * m->unit[j];
            perpi_mpec_gradient(m, z, to);
            CHECK_OK(perpi_mpec_jacobian(m, z));
            for (size_t i = 0; i < n; ++i) {
                to[i] *= 1e-6;
            }
            for (size_t k = 0; k < m->jacobian_count; ++k) {
                to[m->jacobian_column[k]] += lambda[m->jacobian_row[k]] * m->jacobian[k];
            }
        }
        for (size_t i = 0; i < n; ++i) {
            const double d = (g[i] - g[n + i]) / (2e-6 * m->unit[j]);
            const double e = fabs(d - H[i * n + j]) * m->unit[i] * m->unit[j];
            worst = !(e <= worst) ? e : worst;
        }
    }
    free(H);
    free(value);
    free(lambda);
    free(g);
    free(z);
    return worst;
}

#define SPACE                                                                                      \
    "{ \"gravity\": [0,0,-9.81], \"step\": 0.02, \"parameters\": { \"mu\": 0.3, \"m\": 1 }, "
#define PLANE                                                                                      \
    "\"bodies\": [ { \"name\": \"ground\", \"type\": \"static\", \"shapes\": [ { \"type\": "       \
    "\"plane\", \"normal\": [0,0,1] } ] }, "
#define PUSH " ], \"forces\": [ { \"type\": \"wrench\", \"body\": \"p\", \"force\": [4,3,0] } ] }"
#define POINT                                                                                      \
    "{ \"name\": \"p\", \"mass\": \"m\", \"position\": [0,0,0.5], \"shapes\": [ { \"type\": "      \
    "\"particle\" } ] }"

static const char* const ROUND = SPACE
    "\"duration\": 1.2, \"friction\": { \"default\": \"mu\", \"cone\": \"quadratic\" }, " PLANE
        POINT PUSH;
static const char* const POLYGON =
    SPACE "\"duration\": 1.2, \"friction\": { \"default\": \"mu\", \"cone\": \"polygon\", "
          "\"directions\": 8 }, " PLANE POINT PUSH;
static const char* const BALL = SPACE
    "\"duration\": 0.1, \"friction\": { \"default\": \"mu\", \"cone\": \"quadratic\" }, " PLANE
    "{ \"name\": \"p\", \"mass\": \"m\", \"position\": [0,0,0.1], \"velocity\": [2,1,0], "
    "\"angular_velocity\": [1,2,3],"
    " \"shapes\": [ { \"type\": \"sphere\", \"radius\": 0.1 } ] }" PUSH;
static const char* const BRICK = SPACE
    "\"duration\": 0.1, \"friction\": { \"default\": \"mu\", \"cone\": \"quadratic\" }, " PLANE
    "{ \"name\": \"p\", \"mass\": \"m\", \"position\": [0,0,0.11], \"velocity\": [2,1,0], "
    "\"angular_velocity\": [0.3,0.2,1],"
    " \"shapes\": [ { \"type\": \"box\", \"size\": [0.4,0.3,0.2] } ] }" PUSH;
static const char* const TRIPOD =
    "{ \"dimension\": 2, \"gravity\": [0,0], \"step\": 0.0333333333333, \"duration\": 0.5, "
    "\"parameters\": { \"mu\": 0.3, \"m\": 1 },"
    "  \"bodies\": [ { \"name\": \"p\", \"mass\": \"m\", \"position\": [0,0], \"velocity\": "
    "[0.5,0.1], \"angular_velocity\": 1,"
    "    \"support\": { \"tripod\": [[0.1,0],[-0.05,0.08],[-0.05,-0.08]], \"mu\": \"mu\" }, "
    "\"shapes\": [ { \"type\": \"box\", \"size\": [0.2,0.2] } ] } ],"
    "  \"forces\": [ { \"type\": \"wrench\", \"body\": \"p\", \"force\": [4,0], \"at\": [0,0.03] } "
    "] }";

static const perpi_mpec_parameter TWO[2] = {
    {.start = 0.8, .low = 0.0, .high = 1.0, .prior = NAN, .of_scene = true},
    {.start = 1.2, .low = 0.2, .high = 5.0, .prior = NAN, .of_scene = true}};
static const char* const NAMES[2] = {"mu", "m"};

TEST(derivatives_of_the_equations_are_those_of_differences)
{
    const char* const scene[] = {BALL, BRICK, TRIPOD};
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        fixture f;
        make(&f, scene[i], 2, NAMES, TWO, 1e-3, true);
        disturb(&f);
        CHECK(!f.mpec->general[0]); /* mu enters linearly, the mass by differences */
        CHECK(f.mpec->general[1]);
        CHECK_AT_MOST(jacobian_error(f.mpec), 2e-6);
        release(&f);
    }
}

TEST(second_derivatives_are_exact_for_particles_on_planes)
{
    const char* const scene[] = {ROUND, POLYGON};
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        char text[2000];
        (void)snprintf(text, sizeof text, "%s", scene[i]);
        char* duration = strstr(text, "1.2");
        memcpy(duration, "0.1", 3);
        fixture f;
        make(&f, text, 1, NAMES, TWO, 1e-3, true);
        disturb(&f);
        CHECK_AT_MOST(jacobian_error(f.mpec), 2e-6);
        CHECK_AT_MOST(hessian_error(f.mpec), 2e-4);
        release(&f);
    }
}

/* ---- estimates ---------------------------------------------------------------------------------*/

TEST(friction_and_mass_are_found_with_round_and_polygonal_cones)
{
    if (!perpi_mpec_available()) {
        SKIP("built without Ipopt");
    }
    const char* const scene[] = {ROUND, POLYGON, TRIPOD};
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        fixture f;
        make(&f, scene[i], i == 0 ? 2 : 1, NAMES, TWO, 1e-5, false);
        const perpi_mpec_report report = solve(&f);
        CHECK_AT_MOST(report.complementarity, 1e-6);
        CHECK_AT_MOST(fabs(f.mpec->z[0] - 0.3), 2e-3);
        CHECK(i > 0 || fabs(f.mpec->z[1] - 1.0) <= 2e-3);
        release(&f);
    }
}

TEST(friction_of_a_particle_is_found_at_every_level_of_noise)
{
    if (!perpi_mpec_available()) {
        SKIP("built without Ipopt");
    }
    for (int k = 0; k < 5; ++k) {
        const double noise = 5e-5 * pow(10.0, k);
        fixture f;
        make(&f, PARTICLE, 1, (const char* const[]){"mu"}, &MU, noise, false);
        const perpi_mpec_report report = solve(&f);
        CHECK_AT_MOST(report.iterations, 443);
        CHECK_AT_MOST(fabs(f.mpec->z[0] - 0.2), 4.0 * 5.3e-6 * noise / 5e-3);
        release(&f);
    }
}
