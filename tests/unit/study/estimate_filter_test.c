/* Methods particle-filter and moving-window on perp's own steps, against closed forms and least squares. */
#include "perp/perp.h"
#include "perp_test.h"
#include "study/estimate_fit.h"
#include "study/particle.h"
#include "support/estimate_case.h"

#include <stdio.h>
#include <string.h>

static perp_context* context;

static void make_data(int first, int rows, double noise)
{
    FILE* f = fopen("filter-data.csv", "w");
    REQUIRE(f != NULL);
    const perpi_stream s = {.seed = 17};
    fprintf(f, "t,x,y\n");
    for (int i = 0; i < rows; ++i) {
        double x, y;
        particle_path(first + i, 0.2, 9.81, &x, &y);
        fprintf(f, "%.17g,%.17g,%.17g\n", (first + i) * PARTICLE_STEP,
                x + noise * perpi_stream_normal(&s, i, 0),
                y + noise * perpi_stream_normal(&s, i, 1));
    }
    REQUIRE(fclose(f) == 0);
}

typedef struct case_run {
    perp_study* study;
    perpi_estimate_run run;
    perpi_answer* answer;
    perp_status status;
} case_run;

static case_run estimate(const char* more, int32_t jobs)
{
    case_run c = {0};
    char text[2000];
    (void)snprintf(text, sizeof text,
                   "{\"scene\": \"filter-scene.json\", \"data\": \"filter-data.csv\", \"time\": "
                   "\"t\", \"observe\": {\"x\": \"p.position.x\", \"y\": \"p.position.y\"}, %s}",
                   more);
    write_file("filter-scene.json", PARTICLE_SCENE);
    c.status = perp_context_create(NULL, &context);
    CHECK_EQ_INT(c.status, PERP_OK);
    c.status = perp_study_parse(context, text, strlen(text), "study.json", &c.study);
    if (c.status == PERP_OK) {
        c.run = (perpi_estimate_run){
            .context = context, .study = c.study, .e = c.study->estimate, .jobs = jobs};
        c.status = perpi_predictor_create(context, c.study, &c.run.predictor);
    }
    if (c.status == PERP_OK) {
        c.status = perpi_answer_create(context, c.run.e, &c.answer);
    }
    if (c.status == PERP_OK) {
        c.status = c.run.e->method == PERPI_ESTIMATE_MOVING_WINDOW
                       ? perpi_estimate_window(&c.run, c.answer)
                       : perpi_estimate_filter(&c.run, c.answer);
    }
    return c;
}

static void clean_up(case_run* c)
{
    perpi_answer_destroy(context, c->answer);
    perpi_predictor_destroy(c->run.predictor);
    perp_study_destroy(c->study);
    perp_context_destroy(context);
}

/* ---- particle-filter ----------------------------------------------------------------------------*/

#define FILTER "\"method\": \"particle-filter\", \"seed\": 4, "

/* y = 3 - g t (t + h) / 2 at the steps: least squares give the posterior of g. */
TEST(the_posterior_of_gravity_in_free_fall_is_that_of_least_squares_for_any_number_of_jobs)
{
    enum { ROWS = 12, N = 600 };
    const double noise = 0.02;
    make_data(0, ROWS, noise);
    double value[3] = {0};
    for (int i = 0; i < 3; ++i) {
        static const int32_t jobs[3] = {1, 2, 8};
        case_run c = estimate(FILTER "\"particles\": 600, \"noise\": 0.02, \"start\": \"scene\", "
                                     "\"unknown\": {\"g\": {\"start\": 5, \"bounds\": [0, 40]}}",
                              jobs[i]);
        CHECK_EQ_INT(c.status, PERP_OK);
        if (c.status != PERP_OK) {
            printf("  %s\n", perp_context_error(context));
            clean_up(&c);
            return;
        }
        const perpi_trajectory* t = &c.run.e->data.trajectory[0];
        double top = 0.0, bottom = 0.0;
        for (int k = 0; k < ROWS; ++k) {
            const double a = 0.5 * t->time[k] * (t->time[k] + PARTICLE_STEP);
            top += a * (3.0 - t->value[2 * k + 1]);
            bottom += a * a;
        }
        const double mean = top / bottom, s = noise / sqrt(bottom);
        CHECK_AT_MOST(fabs(c.answer->value[0] - mean), 5.0 * s / sqrt(N));
        CHECK_NEAR(c.answer->covariance[0] / (s * s), 1.0, 0.35);
        CHECK_NEAR((c.answer->high[0] - c.answer->low[0]) / (2.0 * 1.96 * s), 1.0, 0.25);
        CHECK(c.answer->identifiable[0]);
        REQUIRE_EQ_INT(c.answer->series_count, 1);
        CHECK_EQ_INT(c.answer->series[0].rows, ROWS);
        CHECK_NEAR(c.answer->series[0].value[ROWS - 1], c.answer->value[0], 0.0);
        value[i] = c.answer->value[0];
        clean_up(&c);
    }
    CHECK(value[0] == value[1] && value[0] == value[2]);
}

/* Two trajectories, the second with an unknown start of its own: the posterior of g is that of both. */
TEST(trajectories_share_the_parameters_and_have_their_own_starts)
{
    enum { ROWS = 8, N = 400 };
    FILE* f = fopen("filter-data.csv", "w");
    REQUIRE(f != NULL);
    const perpi_stream noise = {.seed = 23};
    fprintf(f, "k,t,x,y\n");
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < ROWS; ++i) {
            double x, y;
            particle_path(i, 0.2, 9.81, &x, &y);
            fprintf(f, "%d,%.17g,%.17g,%.17g\n", k, i * PARTICLE_STEP,
                    x + 0.02 * perpi_stream_normal(&noise, i, 2 * k),
                    y + 0.02 * perpi_stream_normal(&noise, i, 2 * k + 1));
        }
    }
    REQUIRE(fclose(f) == 0);
    case_run c = estimate(FILTER "\"trajectory\": \"k\", \"particles\": 400, \"noise\": 0.02, "
                                 "\"start\": \"scene\", \"unknown\": {\"g\": {\"start\": 5, "
                                 "\"bounds\": [0, 40]}, \"initial\": {\"p\": {\"position\": 0.01, "
                                 "\"velocity\": 0}}}",
                          2);
    CHECK_EQ_INT(c.status, PERP_OK);
    if (c.status == PERP_OK) {
        /* y = y0 - g t (t + h) / 2 with y0 = 3 +- 0.01 in each: y0 eliminated, information and mean of g */
        double information = 0.0, sum = 0.0;
        for (int k = 0; k < 2; ++k) {
            const perpi_trajectory* t = &c.run.e->data.trajectory[k];
            double one = 1.0 / 1e-4, a1 = 0.0, aa = 0.0, y1 = 0.0, ay = 0.0; /* prior of y0 - 3 */
            for (int i = 0; i < ROWS; ++i) {
                const double a = -0.5 * t->time[i] * (t->time[i] + PARTICLE_STEP);
                const double y = t->value[2 * i + 1] - 3.0;
                one += 1.0 / 4e-4;
                a1 += a / 4e-4;
                aa += a * a / 4e-4;
                y1 += y / 4e-4;
                ay += a * y / 4e-4;
            }
            information += aa - a1 * a1 / one;
            sum += ay - a1 * y1 / one;
        }
        const double mean = sum / information, s = 1.0 / sqrt(information);
        CHECK_AT_MOST(fabs(c.answer->value[0] - mean), 5.0 * s / sqrt(N));
        CHECK_NEAR(c.answer->covariance[0] / (s * s), 1.0, 0.35);
        CHECK_EQ_INT(c.answer->series_count, 2);
        CHECK_EQ_INT(c.answer->series[1].rows, ROWS);
    } else {
        printf("  %s\n", perp_context_error(context));
    }
    clean_up(&c);
}

TEST(friction_that_the_data_never_show_is_not_identifiable)
{
    make_data(0, 12, 0.01);
    case_run c =
        estimate(FILTER "\"particles\": 200, \"noise\": 0.01, \"start\": \"scene\", "
                        "\"unknown\": {\"mu\": {\"start\": 0.5, \"bounds\": [0, 1]}, \"g\": "
                        "{\"start\": 5, \"bounds\": [0, 40]}}",
                 1);
    CHECK_EQ_INT(c.status, PERP_OK);
    CHECK(!c.answer->identifiable[0] && c.answer->identifiable[1]);
    CHECK(c.answer->low[0] == -INFINITY && c.answer->high[0] == INFINITY);
    CHECK_EQ_INT(c.answer->combination_count, 1);
    clean_up(&c);
}

/* No prior limits the start: its particles are drawn around a fit to two rows, which must leave no trace. */
TEST(with_an_unknown_start_the_posterior_is_that_of_a_fit_to_all_rows)
{
    enum { ROWS = 28, N = 160 };
    make_data(0, ROWS, 0.01);
    double value[2], width[2];
    static const char* const method[2] = {FILTER "\"particles\": 160, ",
                                          "\"method\": \"moving-window\", \"window\": 28, "};
    for (int i = 0; i < 2; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "%s\"noise\": 0.01, \"unknown\": {\"mu\": {\"start\": 0.8, \"bounds\": [0, "
                       "1]}, \"initial\": [\"p\"]}",
                       method[i]);
        case_run c = estimate(text, 2);
        CHECK_EQ_INT(c.status, PERP_OK);
        if (c.status != PERP_OK) {
            printf("  %s\n", perp_context_error(context));
            clean_up(&c);
            return;
        }
        value[i] = c.answer->value[0];
        width[i] = c.answer->high[0] - c.answer->low[0];
        clean_up(&c);
    }
    CHECK_NEAR((value[0] - value[1]) / width[1], 0.0, 6.0 / 3.92 / sqrt(N));
    CHECK_NEAR(width[0] / width[1], 1.0, 0.3);
    CHECK_AT_MOST(fabs(value[1] - 0.2), width[1]);
}

TEST(with_process_noise_friction_stays_in_its_bounds_and_jobs_change_no_bit)
{
    make_data(0, 40, 0.01);
    double value[2] = {0}, lowest = INFINITY, highest = -INFINITY;
    for (int i = 0; i < 2; ++i) {
        case_run c =
            estimate(FILTER "\"particles\": 400, \"noise\": 0.02, \"start\": \"scene\", "
                            "\"process_noise\": {\"mu\": 0.1, \"p.velocity\": 0.02}, \"unknown\": "
                            "{\"mu\": {\"start\": 0.05, \"bounds\": [0, 0.5]}}",
                     i == 0 ? 1 : 8);
        CHECK_EQ_INT(c.status, PERP_OK);
        if (c.status != PERP_OK) {
            printf("  %s\n", perp_context_error(context));
            clean_up(&c);
            return;
        }
        const perpi_answer_series* s = &c.answer->series[0];
        CHECK_EQ_INT(s->rows, 40);
        for (int k = 0; k < s->rows; ++k) {
            lowest = s->low[k] < lowest ? s->low[k] : lowest;
            highest = s->high[k] > highest ? s->high[k] : highest;
        }
        CHECK_NEAR(s->value[5], 0.25, 0.03); /* in flight: the prior */
        CHECK_AT_MOST(fabs(c.answer->value[0] - 0.2), 0.05);
        value[i] = c.answer->value[0];
        clean_up(&c);
    }
    CHECK(value[0] == value[1]);
    CHECK(lowest > 0.0 && highest < 0.5);
}

TEST(what_particles_cannot_be_drawn_from_is_refused)
{
    static const struct {
        const char *study, *message;
    } bad[] = {
        {FILTER "\"noise\": 0.01, \"unknown\": {\"mu\": {}}", "/unknown/mu: particles need"},
        {FILTER "\"noise\": 0.01, \"process_noise\": {\"nu\": 1}, \"unknown\": {\"mu\": "
                "{\"bounds\": [0, 1]}}",
         "/process_noise/nu: is neither"},
        {FILTER "\"noise\": 0.01, \"process_noise\": {\"mu\": -1}, \"unknown\": {\"mu\": "
                "{\"bounds\": [0, 1]}}",
         "/process_noise/mu: must be"},
        {FILTER "\"noise\": 0.01, \"options\": {\"threshold\": 2}, \"unknown\": {\"mu\": "
                "{\"bounds\": [0, 1]}}",
         "/options/threshold"},
        {"\"method\": \"moving-window\", \"window\": 5, \"noise\": 0.01, \"unknown\": {\"mu\": {}}",
         "/unknown/initial"},
        {"\"method\": \"moving-window\", \"window\": 2, \"noise\": 0.01, \"unknown\": {\"mu\": {}, "
         "\"initial\": [\"p\"]}",
         "/window"},
    };
    make_data(0, 12, 0.01);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        case_run c = estimate(bad[i].study, 1);
        CHECK_EQ_INT(c.status, PERP_ERROR_INPUT);
        CHECK_CONTAINS(perp_context_error(context), bad[i].message);
        clean_up(&c);
    }
}

/* ---- moving-window ------------------------------------------------------------------------------*/

#define WINDOW "\"method\": \"moving-window\", "

TEST(windows_on_exact_data_find_friction_where_it_acts_and_say_where_it_does_not)
{
    make_data(0, 40, 0.0);
    case_run c =
        estimate(WINDOW "\"window\": 6, \"noise\": 0.001, \"unknown\": {\"mu\": {\"start\": "
                        "0.5, \"bounds\": [0, 1]}, \"initial\": [\"p\"]}",
                 1);
    CHECK_EQ_INT(c.status, PERP_OK);
    if (c.status == PERP_OK) {
        const perpi_answer_series* s = &c.answer->series[0];
        int flight = 0, slide = 0;
        for (int k = 0; k < s->rows; ++k) {
            if (s->time[k] < 0.7) {
                CHECK(s->low[k] == -INFINITY && s->high[k] == INFINITY);
                ++flight;
            } else if (s->time[k] > 0.9) {
                CHECK_NEAR(s->value[k], 0.2, 1e-6);
                CHECK(s->low[k] > 0.0 && s->high[k] < 0.5);
                ++slide;
            }
        }
        CHECK(flight > 5 && slide > 15);
    } else {
        printf("  %s\n", perp_context_error(context));
    }
    clean_up(&c);
}

/* In free flight the motion is linear in g and the start, so the information of the rows that have
 * left the window is exact: the last window knows as much as a fit to all rows. */
TEST(with_arrival_the_last_window_is_the_fit_to_all_rows)
{
    enum { ROWS = 14 };
    make_data(0, ROWS, 0.01);
    double value[3], width[3];
    static const char* const more[3] = {"\"window\": 5, \"options\": {\"arrival\": true}",
                                        "\"window\": 14", "\"window\": 5"};
    for (int i = 0; i < 3; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       WINDOW "%s, \"noise\": 0.01, \"stop\": {\"tolerance\": 1e-9}, \"unknown\": "
                              "{\"g\": {\"start\": 5, \"bounds\": [0, 40]}, \"initial\": [\"p\"]}",
                       more[i]);
        case_run c = estimate(text, 1);
        CHECK_EQ_INT(c.status, PERP_OK);
        if (c.status != PERP_OK) {
            printf("  %s\n", perp_context_error(context));
            clean_up(&c);
            return;
        }
        value[i] = c.answer->value[0];
        width[i] = c.answer->high[0] - c.answer->low[0];
        clean_up(&c);
    }
    CHECK_NEAR(value[0], value[1], 1e-6 * width[1]);
    CHECK_NEAR(width[0] / width[1], 1.0, 1e-6);
    CHECK(width[2] > 5.0 * width[1]);
}
