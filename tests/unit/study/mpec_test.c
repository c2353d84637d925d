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

/* The run of a scene as it is, and a program that starts from other parameters. free_start: with a prior of `noise`. */
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
            for (int32_t k = 0; model->body[b].dofs > 0 && k < model->dimension; ++k) {
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
    if (getenv("PERP_MPEC_PRINT") != NULL) {
        printf("n %d m %d rounds %d iterations %d objective %.9g infeasible %.2g compl %.2g: %s:",
               f->mpec->n, f->mpec->m, report.rounds, (int)report.iterations, report.objective,
               report.infeasibility, report.complementarity, report.message);
        for (int32_t i = 0; i < f->mpec->parameter_count; ++i) {
            printf(" %.9g", f->mpec->z[i]);
        }
        printf("\n");
    }
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
