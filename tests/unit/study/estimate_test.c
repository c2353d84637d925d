/* Estimates: data, channels, predictions and their derivatives, workers. */
#include "base/vec.h"
#include "perp/perp.h"
#include "perp_test.h"
#include "study/estimate_predict.h"
#include "support/estimate_case.h"

#include <stdio.h>
#include <string.h>

static perp_context* context;

static perp_study* make(const char* study, const char* data)
{
    perp_study* s = NULL;
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    write_file("estimate-scene.json", PARTICLE_SCENE);
    if (data != NULL) {
        write_file("estimate-data.csv", data);
    }
    if (perp_study_parse(context, study, strlen(study), "study.json", &s) != PERP_OK) {
        s = NULL;
    }
    return s;
}

static void clean_up(perp_study* s)
{
    perp_study_destroy(s);
    perp_context_destroy(context);
}

#define STUDY(more)                                                                                \
    "{\"scene\": \"estimate-scene.json\", \"data\": \"estimate-data.csv\", \"time\": \"t\","       \
    " \"observe\": {\"x\": \"p.position.x\", \"y\": \"p.position.y\"}, \"noise\": 0.01" more "}"

/* ---- data ---------------------------------------------------------------------------------------*/

TEST(rows_gaps_and_trajectories_are_read)
{
    perp_study* s = make(STUDY(", \"trajectory\": \"k\""),
                         "# a comment\nk, t,y,unused,\"x\"\r\n7,1,,z,0.5\n7,1.5,2,z,0.25\n7,2,,,1\n"
                         "3,0,1,,2\n");
    REQUIRE(s != NULL);
    const perpi_data* d = &s->estimate->data;
    REQUIRE_EQ_INT(d->count, 2);
    CHECK_EQ_INT(d->trajectory[0].number, 7);
    CHECK_EQ_INT(d->trajectory[1].number, 3);
    REQUIRE_EQ_INT(d->trajectory[0].rows, 2); /* the first has no start */
    CHECK(d->trajectory[0].time[0] == 0.0 && d->trajectory[0].time[1] == 0.5);
    CHECK(d->trajectory[0].value[0] == 0.25 && d->trajectory[0].value[1] == 2.0);
    CHECK(d->trajectory[0].value[2] == 1.0 && isnan(d->trajectory[0].value[3]));
    clean_up(s);
}

TEST(bad_data_is_refused_with_its_place)
{
    static const struct {
        const char *data, *message;
    } bad[] = {
        {"t,x,y\n0,1,nan\n", "estimate-data.csv:2: column 3: must be a finite number, got 'nan'"},
        {"t,x,y\n0,1,1e999\n", "estimate-data.csv:2: column 3"},
        {"t,x,y\n0,1,2\n0.1,2\n", "estimate-data.csv:3: has 2 fields, the first line has 3"},
        {"t,x,y\n0,1,2\n0.1,2,3\n0.05,1,1\n", "estimate-data.csv:4: time does not go forward"},
        {"t,x,y\n0,1,2\n0,2,3\n", "time does not go forward"},
        {"t,x,z\n0,1,2\n", "no column 'y'"},
        {"t,x,y\n", "has no rows"},
        {"t,x,x,y\n0,1,2,3\n", "two columns are named 'x'"},
        {"t,x,y\n,1,2\n", "the time (column 't') is missing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        perp_study* s = make(STUDY(""), bad[i].data);
        CHECK(s == NULL);
        CHECK_CONTAINS(perp_context_error(context), bad[i].message);
        clean_up(s);
    }
}

TEST(bad_keys_are_refused_with_their_place)
{
    static const struct {
        const char *study, *message;
    } bad[] = {
        {STUDY(", \"unknown\": {\"nu\": {\"start\": 1}}"), "/unknown/nu"},
        {STUDY(", \"unknown\": {\"mu\": {\"start\": 2, \"bounds\": [0, 1]}}"),
         "/unknown/mu/start: must be within the bounds"},
        {STUDY(", \"unknown\": {\"initial\": [\"floor\"]}"), "is not dynamic"},
        {STUDY(", \"unknown\": {\"initial\": [\"q\"]}"), "no body 'q' (did you mean 'p'?)"},
        {STUDY(", \"loss\": \"hubr\""), "did you mean 'huber'"},
        {STUDY(", \"vary\": {}"), "/vary: is not a key of an estimate"},
        {STUDY(", \"rate\": 100"), "not both"},
        {STUDY(", \"hold_out\": 0.5"), "at least one must be held out"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        perp_study* s = make(bad[i].study, "t,x,y\n0,0,3\n0.1,0,3\n");
        CHECK(s == NULL);
        CHECK_CONTAINS(perp_context_error(context), bad[i].message);
        clean_up(s);
    }
}

/* ---- predictions --------------------------------------------------------------------------------*/

/* In free flight the scheme gives x = 5 t (t + h) / 2, y = 3 - g t (t + h) / 2 at the steps, linear between. */
TEST(a_prediction_is_the_simulation_at_the_times_of_the_data)
{
    perp_study* s = make(STUDY(", \"start\": \"scene\", \"unknown\": {\"g\": {}}"),
                         "t,x,y\n0,0,3\n0.1,0,\n0.125,0.1,3\n0.2,0,0\n");
    REQUIRE(s != NULL);
    perpi_predictor* p = NULL;
    double column[8], residual[8], g = 9.81;
    REQUIRE_OK(perpi_predictor_create(context, s, &p));
    REQUIRE_OK(perpi_predictor_run(p, 0, &g, NULL, column, residual, NULL, NULL));
    const double x1 = 2.5 * 0.1 * 0.15, x2 = 2.5 * 0.15 * 0.2;
    CHECK_NEAR(column[2], x1, 1e-14);
    CHECK_NEAR(column[3], 3.0 - 0.5 * 9.81 * 0.1 * 0.15, 1e-14);
    CHECK_NEAR(column[4], 0.5 * (x1 + x2), 1e-14);
    CHECK_NEAR(residual[4], (0.1 - 0.5 * (x1 + x2)) / 0.01, 1e-10);
    CHECK(isnan(residual[3]) && !isnan(residual[2]));
    perpi_predictor_destroy(p);
    clean_up(s);
}

TEST(derivatives_are_those_of_the_closed_form)
{
    perp_study* s =
        make(STUDY(", \"start\": \"scene\", \"unknown\": {\"g\": {}, \"initial\": [\"p\"]}"),
             "t,x,y\n0,0,3\n0.1,0,\n0.2,0,0\n");
    REQUIRE(s != NULL);
    perpi_predictor* p = NULL;
    double J[6 * 5], start[4] = {0}, g = 9.81;
    REQUIRE_EQ_INT(s->estimate->start_count, 4);
    REQUIRE_OK(perpi_predictor_create(context, s, &p));
    REQUIRE_OK(perpi_predictor_run(p, 0, &g, start, NULL, NULL, J, NULL));
    /* the residual of y at 0.2, by g, x, y, vx, vy */
    const double expected[5] = {0.5 * 0.2 * 0.25 / 0.01, 0.0, -100.0, 0.0, -0.2 / 0.01};
    for (int i = 0; i < 5; ++i) {
        CHECK_NEAR(J[5 * 5 + i], expected[i], 1e-6);
    }
    CHECK(J[3 * 5] == 0.0); /* a gap */
    perpi_predictor_destroy(p);
    clean_up(s);
}

/* Two parts of a trajectory, the second from where the first ended, are the whole. */
TEST(a_part_of_a_trajectory_continues_the_one_before)
{
    perp_study* s = make(STUDY(", \"start\": \"scene\", \"unknown\": {\"mu\": {}}"),
                         "t,x,y\n0,0,3\n0.5,0,0\n1,0,0\n1.5,0,0\n2,0,0\n");
    REQUIRE(s != NULL);
    perpi_predictor* p = NULL;
    double all[10], first[6], second[6], mu = 0.2;
    perp_body_state end[2];
    REQUIRE_OK(perpi_predictor_create(context, s, &p));
    const perpi_trajectory* t = &s->estimate->data.trajectory[0];
    REQUIRE_OK(perpi_predictor_run(p, 0, &mu, NULL, all, NULL, NULL, NULL));
    perpi_prediction x = {
        .trajectory = t, .rows = 3, .parameter = &mu, .prediction = first, .end = end};
    REQUIRE_OK(perpi_predictor_predict(p, &x));
    perpi_prediction y = {
        .trajectory = t, .first = 2, .parameter = &mu, .state = end, .prediction = second};
    REQUIRE_OK(perpi_predictor_predict(p, &y));
    for (int i = 0; i < 6; ++i) {
        CHECK_NEAR(first[i], all[i], 1e-14);
        CHECK_NEAR(second[i], all[4 + i], 1e-12);
    }
    perpi_predictor_destroy(p);
    clean_up(s);
}

/* A cube is thrown and bounces; sensors and inertia have unknowns. */
static const char cube[] =
    "{\"gravity\": [0, 0, -9.81], \"step\": 0.005, \"duration\": 0.4,"
    " \"parameters\": {\"mu\": 0.2, \"bounce\": 0.3, \"size\": 0.1}, \"restitution\": \"bounce\","
    " \"friction\": {\"default\": \"mu\"},"
    " \"bodies\": [{\"name\": \"table\", \"type\": \"static\","
    "   \"shapes\": [{\"type\": \"plane\", \"normal\": [0, 0, 1]}]},"
    "  {\"name\": \"cube\", \"mass\": 0.4, \"inertia\": [7e-4, 8e-4, 9e-4], \"position\": [0, 0, "
    "0.2],"
    "   \"velocity\": [1, 0.2, 0], \"angular_velocity\": [1, 4, 2], \"axis_angle\": [1, 0.3, 0.2, "
    "0.4],"
    "   \"shapes\": [{\"type\": \"box\", \"size\": [\"size\", \"size\", \"size\"]}]}]}";

#define CUBE_STUDY(start)                                                                          \
    "{\"scene\": \"estimate-scene.json\", \"data\": \"estimate-data.csv\", \"time\": \"t\","       \
    " \"start\": \"" start                                                                         \
    "\", \"observe\": {\"p\": {\"position\": \"cube\", \"columns\": [\"x\", \"y\", \"z\"],"        \
    "     \"sensor\": {\"at\": [\"ax\", 0, 0.01], \"offset\": [0, \"oy\", 0], \"scale\": \"k\"}}," \
    "   \"q\": {\"orientation\": \"cube\", \"columns\": [\"qw\", \"qx\", \"qy\", \"qz\"],"         \
    "     \"sensor\": {\"rotation\": [0, 0, \"turn\"]}},"                                          \
    "   \"v\": {\"velocity\": \"cube\", \"frame\": \"body\", \"columns\": [\"vx\", \"vy\", "       \
    "\"vz\"]},"                                                                                    \
    "   \"w\": {\"angular_velocity\": \"cube\", \"frame\": \"body\","                              \
    "     \"columns\": [\"wx\", \"wy\", \"wz\"]},"                                                 \
    "   \"wz0\": {\"quantity\": \"cube.angular_velocity.z\", \"column\": \"w0\"}},"                \
    " \"noise\": 0.01,"                                                                            \
    " \"unknown\": {\"mu\": {}, \"bounce\": {}, \"size\": {}, \"ax\": {\"start\": 0.02}, \"oy\": " \
    "{\"start\": 0.01},"                                                                           \
    "   \"k\": {\"start\": 1.01}, \"turn\": {\"start\": 0.1},"                                     \
    "   \"I\": {\"inertia\": \"cube\", \"centre\": true}, \"initial\": [\"cube\"]}}"

/* Rows of some numbers near a motion. */
static void write_cube_data(double until)
{
    FILE* f = fopen("estimate-data.csv", "w");
    REQUIRE(f != NULL);
    fprintf(f, "t,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz,w0\n");
    for (int k = 0; k <= 8 * (int)(until / 0.01 + 0.5); ++k) { /* also between the steps */
        const double t = k == 3 ? 0.0041 : 0.00125 * k;
        const double a = 0.2 + 2.0 * t;
        fprintf(f, "%.9g,%.9g,%.9g,%.9g,%.9g,0.02,%.9g,0.05,1,0.2,%.9g,1,4,2,2\n", t, t, 0.2 * t,
                0.2 - 4.9 * t * t, cos(a), sin(a), -9.81 * t);
    }
    REQUIRE(fclose(f) == 0);
}

static void compare_derivatives(perp_study* s, double tolerance)
{
    enum { ROOM = 200 * 13 * 60 };
    static double forward[ROOM], differences[ROOM], end[2][24 * 60];
    const perpi_estimate* e = s->estimate;
    const perpi_trajectory* t = &e->data.trajectory[0];
    const int32_t n = e->parameter_count + e->start_count, rows = t->rows;
    double parameter[60], start[12];
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        parameter[i] = e->parameter[i].info.start + (e->parameter[i].kind == PERPI_PARAMETER_INERTIA
                                                         ? 0.1 * e->parameter[i].info.scale
                                                         : 0.0);
    }
    for (int32_t i = 0; i < 12; ++i) {
        start[i] = 0.003 * (i % 5);
    }
    perpi_predictor* p = NULL;
    REQUIRE(rows * e->width * n <= ROOM);
    REQUIRE_OK(perpi_predictor_create(context, s, &p));
    /* data near the prediction: rotations by nearly half a turn have no derivative */
    perpi_prediction near = {
        .trajectory = t, .parameter = parameter, .start = start, .prediction = forward};
    REQUIRE_OK(perpi_predictor_predict(p, &near));
    for (int32_t i = e->columns; i < rows * e->columns; ++i) { /* the first row is the start */
        ((double*)(uintptr_t)t->value)[i] = forward[i] + 0.01 * sin(i);
    }
    perpi_prediction x = {.trajectory = t,
                          .parameter = parameter,
                          .start = start,
                          .jacobian = forward,
                          .end_jacobian = end[0]};
    REQUIRE_OK(perpi_predictor_predict(p, &x));
    CHECK_EQ_INT(x.info.derivative, PERPI_DERIVATIVE_FORWARD);
    p->derivative = PERPI_DERIVATIVE_DIFFERENCES;
    x.jacobian = differences;
    x.end_jacobian = end[1];
    REQUIRE_OK(perpi_predictor_predict(p, &x));
    CHECK_EQ_INT(x.info.derivative, PERPI_DERIVATIVE_DIFFERENCES);
    for (int32_t j = 0; j < n; ++j) {
        double worst = 0.0, size = 0.0;
        for (int32_t i = 0; i < rows * e->width; ++i) {
            worst = perpi_larger(worst, fabs(forward[i * n + j] - differences[i * n + j]));
            size = perpi_larger(size, fabs(differences[i * n + j]));
        }
        if (!(worst <= tolerance * size)) {
            printf("unknown %d %s: %.3g of %.3g\n", j,
                   j < e->parameter_count ? e->parameter[j].info.name : "start", worst, size);
        }
        CHECK(worst <= tolerance * size);
        CHECK(size > 0.0 || j < e->parameter_count);
    }
    for (int32_t i = 12 * n; i < 24 * n; ++i) { /* of the cube */
        CHECK_NEAR(end[0][i], end[1][i], tolerance * (1.0 + fabs(end[1][i])) * 10.0);
    }
    perpi_predictor_destroy(p);
}

TEST(forward_derivatives_agree_with_differences_in_flight_and_through_a_bounce)
{
    static const char* const study[] = {CUBE_STUDY("data"), CUBE_STUDY("scene")};
    for (int i = 0; i < 4; ++i) {
        perp_study* s = NULL;
        const char* text = study[i / 2];
        REQUIRE(perp_context_create(NULL, &context) == PERP_OK);
        write_file("estimate-scene.json", cube);
        write_cube_data(i % 2 == 0 ? 0.1 : 0.3);
        CHECK_OK(perp_study_parse(context, text, strlen(text), "study.json", &s));
        if (s == NULL) {
            printf("%s\n", perp_context_error(context));
        } else {
            compare_derivatives(s, i % 2 == 0 ? 1e-6 : 1e-4);
        }
        clean_up(s);
    }
}

/* ---- workers ------------------------------------------------------------------------------------*/

static size_t square(void* user, const void* request, size_t size, void* reply, size_t room)
{
    const double x = *(const double*)request;
    const double y = x * x + *(double*)user;
    CHECK(size == sizeof x && room >= sizeof y);
    memcpy(reply, &y, sizeof y);
    return sizeof y;
}

typedef struct collected {
    int64_t next;
    double sum;
    bool in_order;
} collected;

static size_t fill(void* user, int64_t task, void* request)
{
    (void)user;
    const double x = (double)task;
    memcpy(request, &x, sizeof x);
    return sizeof x;
}

static perp_status take(void* user, int64_t task, const void* reply, size_t size)
{
    collected* c = user;
    double y;
    CHECK(size == sizeof y);
    memcpy(&y, reply, sizeof y);
    c->in_order = c->in_order && task == c->next++;
    c->sum += y / (double)(task + 1);
    return PERP_OK;
}

TEST(replies_come_in_the_order_of_the_tasks_for_any_number_of_workers)
{
    double offset = 0.125, sum[3];
    static const int32_t jobs[] = {1, 2, 8};
    REQUIRE(perp_context_create(NULL, &context) == PERP_OK);
    for (int i = 0; i < 3; ++i) {
        perpi_workers* w = NULL;
        collected c = {.in_order = true};
        REQUIRE_OK(perpi_workers_create(context, jobs[i], 8, 8, square, &offset, &w));
        REQUIRE_OK(perpi_workers_map(
            w, &(perpi_map){.count = 100, .fill = fill, .take = take, .user = &c}));
        perpi_workers_destroy(w);
        CHECK(c.in_order && c.next == 100);
        sum[i] = c.sum;
    }
    CHECK(sum[0] == sum[1] && sum[0] == sum[2]);
    perp_context_destroy(context);
}
