/* The start of a trajectory from its rows before the first contact; the horizon of a fit; sensors that name a
 * parameter of the scene. */
#include "perp/perp.h"
#include "perp/set.h"
#include "perp_test.h"
#include "study/estimate_predict.h"
#include "support/estimate_case.h"

#include <stdio.h>
#include <string.h>

static perp_context* context;

/* A brick of three different inertias, whose tracked point is off the centre of mass. UNIT: of lengths. */
#define SCENE(step, unit)                                                                          \
    "{\"parameters\": {\"unit\": " unit ", \"cz\": 0.01}, \"gravity\": [0, 0, \"-9.81*unit\"],"    \
    " \"step\": " step                                                                             \
    ", \"duration\": 1, \"restitution\": 0.3, \"friction\": {\"default\": 0.2},"                   \
    " \"bodies\": [{\"name\": \"floor\", \"type\": \"static\","                                    \
    "   \"shapes\": [{\"type\": \"plane\", \"normal\": [0, 0, 1]}]},"                              \
    "  {\"name\": \"brick\", \"mass\": 1, \"position\": [0, 0, \"0.3*unit\"],"                     \
    "   \"inertia\": [\"0.001*unit^2\", \"0.0013*unit^2\", \"0.0008*unit^2\"],"                    \
    "   \"shapes\": [{\"type\": \"box\", \"size\": [\"0.1*unit\", \"0.08*unit\", "                 \
    "\"0.12*unit\"]}]}]}"

#define STUDY(start, more)                                                                         \
    "{\"scene\": \"flight-scene.json\", \"data\": \"flight-data.csv\", \"rate\": 100,"             \
    " \"trajectory\": \"k\", \"noise\": 0.001, \"start\": " start ","                              \
    " \"observe\": {\"p\": {\"position\": \"brick\", \"columns\": [\"x\", \"y\", \"z\"],"          \
    "     \"sensor\": {\"at\": [0, 0, \"cz\"]}},"                                                  \
    "   \"q\": {\"orientation\": \"brick\", \"columns\": [\"a\", \"b\", \"c\", \"d\"]}}" more "}"

static const perp_body_state truth = {.position = {0.1, -0.2, 0.35},
                                      .orientation = {0.5, 0.5, 0.5, 0.5},
                                      .velocity = {0.7, -0.4, 0.3},
                                      .angular_velocity = {3.0, -4.0, 2.0}};

/* Two trajectories of 60 rows by simulation; `noise` alternates in sign; rows from `spoilt` on are nonsense. */
static void write_data(const char* scene_text, double unit, double noise, int spoilt)
{
    FILE* f = fopen("flight-data.csv", "w");
    REQUIRE(f != NULL);
    fprintf(f, "k,x,y,z,a,b,c,d\n");
    for (int k = 1; k <= 2; ++k) {
        perp_scene* scene = NULL;
        perp_sim* sim = NULL;
        perp_body_state s = truth;
        REQUIRE_OK(
            perp_scene_parse(context, scene_text, strlen(scene_text), "scene", NULL, 0, &scene));
        REQUIRE_OK(perp_sim_create_from_scene(context, scene, &sim));
        for (int i = 0; i < 3; ++i) {
            s.position[i] *= unit;
            s.velocity[i] *= unit;
        }
        REQUIRE_OK(perp_sim_set_body(sim, 1, &s));
        for (int row = 0; row < 60; ++row) {
            while (perp_sim_time(sim) < 0.01 * row - 1e-9) {
                REQUIRE_OK(perp_sim_step(sim));
            }
            s = perp_sim_body(sim, 1);
            const double* q = s.orientation;
            const double n = row >= spoilt ? 5.0 : row % 2 == 0 ? noise : -noise;
            fprintf(f, "%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", k,
                    s.position[0] + 0.01 * 2.0 * (q[1] * q[3] + q[0] * q[2]) + n * unit,
                    s.position[1] + 0.01 * 2.0 * (q[2] * q[3] - q[0] * q[1]),
                    s.position[2] + 0.01 * (1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])), q[0], q[1],
                    q[2], q[3]);
        }
        perp_sim_destroy(sim);
        perp_scene_destroy(scene);
    }
    REQUIRE(fclose(f) == 0);
}

static perp_study* open_study(const char* scene, const char* study)
{
    perp_study* s = NULL;
    write_file("flight-scene.json", scene);
    CHECK(PERP_OK == perp_study_parse(context, study, strlen(study), "study.json", &s));
    return s;
}

/* The start of the first trajectory; returns how many rows it was fitted to. */
static int32_t start_of(const char* scene, const char* study, perp_body_state* start)
{
    perp_study* s = open_study(scene, study);
    perpi_predictor* p = NULL;
    perp_body_state state[2];
    CHECK(PERP_OK == perpi_predictor_create(context, s, &p));
    CHECK(PERP_OK == perpi_predictor_nominal(p, &s->estimate->data.trajectory[0], 0, NULL, state));
    const int32_t rows = p->flight_rows;
    *start = state[1];
    perpi_predictor_destroy(p);
    perp_study_destroy(s);
    return rows;
}

static double largest_error(const perp_body_state* s, double unit)
{
    double worst = 0.0;
    for (int i = 0; i < 3; ++i) {
        worst = fmax(worst, fabs(s->position[i] / unit - truth.position[i]));
        worst = fmax(worst, fabs(s->velocity[i] / unit - truth.velocity[i]));
        worst = fmax(worst, fabs(s->angular_velocity[i] - truth.angular_velocity[i]));
        worst = fmax(worst, fabs(s->orientation[i] - truth.orientation[i]));
    }
    return worst;
}

#define FLIGHT "{\"rows\": 50, \"flight\": true}"

TEST(a_start_fitted_to_a_flight_is_the_true_one)
{
    static const char scene[] = SCENE("0.005", "1");
    perp_body_state start;
    REQUIRE_OK(perp_context_create(NULL, &context));
    write_data(scene, 1.0, 0.0, 1000);
    const int32_t rows = start_of(scene, STUDY(FLIGHT, ""), &start);
    CHECK_AT_MOST(largest_error(&start, 1.0), 1e-7);
    CHECK(rows > 15 && rows < 40); /* it falls from 0.35 m */
    perp_context_destroy(context);
}

TEST(rows_after_the_first_contact_say_nothing_of_the_start)
{
    static const char scene[] = SCENE("0.005", "1");
    perp_body_state clean, start;
    REQUIRE_OK(perp_context_create(NULL, &context));
    write_data(scene, 1.0, 0.0, 1000);
    const int32_t rows = start_of(scene, STUDY(FLIGHT, ""), &clean);
    write_data(scene, 1.0, 0.0, rows + 1);
    CHECK_EQ_INT(start_of(scene, STUDY(FLIGHT, ""), &start), rows);
    CHECK(memcmp(&clean, &start, sizeof start) == 0);
    perp_context_destroy(context);
}

/* Noise of 0.1 mm in x: two rows give vx to 0.02 m/s; a line through n rows, sqrt(12/n^3) of noise/h at most. */
TEST(all_rows_of_a_flight_give_velocities_better_than_two)
{
    static const char scene[] = SCENE("0.005", "1");
    perp_body_state two, all;
    REQUIRE_OK(perp_context_create(NULL, &context));
    write_data(scene, 1.0, 1e-4, 1000);
    (void)start_of(scene, STUDY("{\"rows\": 2}", ""), &two);
    (void)start_of(scene, STUDY(FLIGHT, ""), &all);
    CHECK(fabs(two.velocity[0] - truth.velocity[0]) > 0.015);
    CHECK_AT_MOST(fabs(all.velocity[0] - truth.velocity[0]), 0.0015);
    perp_context_destroy(context);
}

/* Adaptive steps do not end at the times of rows, where the data have the state of the end of the step. */
TEST(millimetres_and_adaptive_steps_give_the_same_start)
{
    static const char large[] = SCENE("0.005", "1000");
    static const char adaptive[] = SCENE("{\"error\": 1e-7, \"max\": 0.01}", "1");
    static const char* const scene[] = {large, adaptive};
    static const double unit[] = {1000.0, 1.0};
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (int i = 0; i < 2; ++i) {
        perp_body_state start;
        write_data(scene[i], unit[i], 0.0, 1000);
        CHECK(start_of(scene[i], STUDY(FLIGHT, ""), &start) > 15);
        CHECK_AT_MOST(largest_error(&start, unit[i]), i == 0 ? 1e-7 : 1e-3);
    }
    perp_context_destroy(context);
}

TEST(a_horizon_ends_what_is_fitted_and_not_what_is_held_out)
{
    static const char scene[] = SCENE("0.005", "1");
    REQUIRE_OK(perp_context_create(NULL, &context));
    write_data(scene, 1.0, 0.0, 1000);
    perp_study* s =
        open_study(scene, STUDY(FLIGHT, ", \"horizon\": 0.2, \"hold_out\": 0.5, \"seed\": 3"));
    const perpi_trajectory* t = s->estimate->data.trajectory;
    const int held = t[0].held_out ? 0 : 1;
    CHECK_EQ_INT(t[held].rows, 60);
    CHECK_EQ_INT(t[1 - held].rows, 21);
    perp_study_destroy(s);
    perp_context_destroy(context);
}

/* One number is the place of the sensor and a size of the scene: unknown, it moves both; else it
 * has the scene's value. */
TEST(a_sensor_may_name_a_parameter_of_the_scene)
{
    static const char scene[] = SCENE("0.005", "1");
    REQUIRE_OK(perp_context_create(NULL, &context));
    write_data(scene, 1.0, 0.0, 1000);
    perp_study* s = open_study(scene, STUDY(FLIGHT, ", \"unknown\": {\"cz\": {}}"));
    CHECK(s->estimate->parameter[0].kind == PERPI_PARAMETER_SCENE);
    CHECK(s->estimate->channel[0].at[2].parameter == 0);
    CHECK(s->estimate->parameter[0].info.start == 0.01);
    perp_study_destroy(s);
    s = open_study(scene, STUDY(FLIGHT, ""));
    CHECK(s->estimate->channel[0].at[2].parameter == -1);
    CHECK(s->estimate->channel[0].at[2].value == 0.01);
    perp_study_destroy(s);
    perp_context_destroy(context);
}

TEST(a_flight_without_rows_is_refused)
{
    static const char study[] = STUDY("{\"flight\": true}", "");
    perp_study* s = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    write_file("flight-scene.json", SCENE("0.005", "1"));
    CHECK(perp_study_parse(context, study, strlen(study), "study.json", &s) == PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "/start/flight");
    perp_context_destroy(context);
}
