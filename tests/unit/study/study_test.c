/* A study through the C interface: values of runs, rows as bytes, a sweep with its database. */
#include "perp/perp.h"
#include "perp_test.h"

static const char scene[] =
    "{\"dimension\": 2, \"gravity\": [0, -9.81], \"step\": 0.05, \"duration\": 0.5,"
    "\"parameters\": {\"mu\": 0.3, \"v\": 2}, \"friction\": {\"default\": \"mu\"}, \"bodies\": ["
    "{\"name\": \"ground\", \"type\": \"static\", \"shapes\": [{\"type\": \"halfplane\", "
    "\"normal\": [0, 1]}]},"
    "{\"name\": \"box\", \"mass\": 1, \"position\": [0, 0.1], \"velocity\": [\"v\", 0],"
    " \"shapes\": [{\"type\": \"box\", \"size\": [0.3, 0.2]}]}],"
    "\"measures\": {\"x\": \"box.position.x\", \"never\": {\"first_time\": \"box.position.x > "
    "100\"}}}";
static const char text[] =
    "{\"scene\": \"scene.json\", \"vary\": {\"v\": {\"grid\": [0.1, 0.7, 4]}, \"/name\": "
    "{\"values\": [\"a\", \"b\"]},"
    "\"mu\": {\"uniform\": [0.2, 0.4]}, \"/bodies/1/mass\": {\"normal\": [3, 0.5]}},"
    "\"sample\": {\"method\": \"sobol\", \"trials\": 3, \"seed\": 5}}";

static perp_context* context;

static perp_study* make_study(const char* study_text)
{
    perp_study* study = NULL;
    FILE* file = fopen("scene.json", "w");
    if (file == NULL || fputs(scene, file) < 0 || fclose(file) != 0) {
        return NULL;
    }
    if (context == NULL && perp_context_create(NULL, &context) != PERP_OK) {
        return NULL;
    }
    return perp_study_parse(context, study_text, strlen(study_text), "study.json", &study) ==
                   PERP_OK
               ? study
               : NULL;
}

static void clean_up(perp_study* study)
{
    perp_study_destroy(study);
    perp_context_destroy(context);
    context = NULL;
}

TEST(runs_are_numbered_grid_first_then_trials_and_the_ends_are_exact)
{
    perp_study* study = make_study(text);
    REQUIRE(study != NULL);
    CHECK_EQ_INT(perp_study_run_count(study), 4 * 2 * 3);
    for (int64_t id = 1; id <= 24; ++id) {
        const int64_t block = (id - 1) / 3;
        const double v[] = {0.1, 0.1 + 0.6 * (1.0 / 3.0), 0.1 + 0.6 * (2.0 / 3.0), 0.7};
        CHECK_NEAR(perp_study_value(study, id, 0).number, v[block / 2], 1e-16);
        CHECK_EQ_STR(perp_study_value(study, id, 1).text, block % 2 == 0 ? "a" : "b");
        const double mu = perp_study_value(study, id, 2).number;
        CHECK(mu > 0.2 && mu < 0.4);
    }
    CHECK(perp_study_value(study, 1, 0).number == 0.1 &&
          perp_study_value(study, 24, 0).number == 0.7);
    clean_up(study);
}

/* A stratum of a digital shift of the first two points in base 2: one in each half. */
TEST(the_shifted_sobol_points_stay_stratified)
{
    perp_study* study =
        make_study("{\"scene\": \"scene.json\", \"vary\": {\"mu\": {\"uniform\": [0, 1]}, \"v\": "
                   "{\"uniform\": [0, 1]}},"
                   "\"sample\": {\"method\": \"sobol\", \"trials\": 64, \"seed\": 9}}");
    REQUIRE(study != NULL);
    for (int32_t k = 0; k < 2; ++k) {
        bool seen[64] = {false};
        int distinct = 0;
        for (int64_t id = 1; id <= 64; ++id) {
            const int cell = (int)(64.0 * perp_study_value(study, id, k).number);
            REQUIRE(cell >= 0 && cell < 64);
            distinct += !seen[cell];
            seen[cell] = true;
        }
        CHECK_EQ_INT(distinct, 64);
    }
    clean_up(study);
}

TEST(a_row_survives_packing_whatever_its_length)
{
    const double measure[] = {1.5, NAN, -0.0};
    double buffer[64];
    for (int32_t count = 0; count <= 3; ++count) {
        const perp_run_row row = {.id = 1LL << 40,
                                  .status = PERP_RUN_TIMEOUT,
                                  .outcome = "far",
                                  .measure = measure,
                                  .measure_count = count,
                                  .certificate = 1e-300,
                                  .energy_error = NAN,
                                  .steps = 7,
                                  .seconds = 0.25,
                                  .recording = "",
                                  .message = "a longer message"};
        const size_t size = perp_run_row_pack(&row, buffer, sizeof buffer);
        REQUIRE(size <= sizeof buffer && size % 8 == 0);
        perp_run_row again;
        for (size_t part = 0; part < size; ++part) {
            CHECK_EQ_INT(perp_run_row_unpack(buffer, part, &again), 0); /* not whole */
        }
        REQUIRE_EQ_INT(perp_run_row_unpack(buffer, sizeof buffer, &again), size);
        CHECK_EQ_INT(again.id, row.id);
        CHECK_EQ_INT(again.measure_count, count);
        CHECK_EQ_INT(memcmp(again.measure, measure, (size_t)count * sizeof(double)), 0);
        CHECK_EQ_STR(again.outcome, "far");
        CHECK_EQ_STR(again.message, "a longer message");
        CHECK_EQ_STR(again.recording, "");
    }
}

static bool count_rows(void* user, const perp_run_row* row)
{
    int64_t* sum = user;
    *sum += row->id;
    return true;
}

TEST(a_sweep_writes_a_database_that_can_be_read_and_merged)
{
    perp_study* study = make_study(text);
    REQUIRE(study != NULL);
    perp_sweep_def def = perp_sweep_def_default();
    perp_sweep_report report;
    (void)remove("a.db");
    (void)remove("m.db");
    def.out = "a.db";
    def.jobs = 2;
    REQUIRE_OK(perp_sweep_run(context, study, &def, &report));
    CHECK_EQ_INT(report.done, 24);
    CHECK_EQ_INT(report.status[PERP_RUN_OK], 24);
    CHECK_EQ_INT(perp_sweep_run(context, study, &def, &report), PERP_ERROR_INPUT); /* it exists */
    const char* const paths[] = {"a.db", "a.db"};
    int64_t rows = 0;
    REQUIRE_OK(perp_results_merge(context, paths, 2, "m.db", &rows));
    CHECK_EQ_INT(rows, 24);
    perp_results* results = NULL;
    REQUIRE_OK(perp_results_open(context, "m.db", &results));
    int64_t sum = 0;
    CHECK_OK(perp_results_each(results, count_rows, &sum));
    CHECK_EQ_INT(sum, 24 * 25 / 2);
    perp_runner* runner = NULL;
    REQUIRE_OK(perp_runner_create(context, &runner));
    for (int64_t id = 1; id <= 24; id += 5) {
        perp_run_row row, old;
        REQUIRE_OK(perp_results_row(results, id, &old));
        REQUIRE_OK(perp_study_run(study, runner, id, NULL, &row));
        CHECK(row.measure[0] == old.measure[0]); /* all bits */
        CHECK(isnan(row.measure[1]) && isnan(old.measure[1]));
        CHECK_EQ_INT(row.steps, old.steps);
    }
    perp_run_row row;
    CHECK_EQ_INT(perp_study_run(study, runner, 25, NULL, &row), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_results_row(results, 25, &row), PERP_ERROR_INPUT);
    perp_runner_destroy(runner);
    perp_results_close(results);
    clean_up(study);
}

TEST(a_bad_study_leaves_its_place_in_the_message)
{
    CHECK(make_study("{\"scene\": \"scene.json\", \"vary\": {\"mu\": {\"grid\": [0, 1, 1]}}}") ==
          NULL);
    CHECK_CONTAINS(perp_context_error(context), "study.json: /vary/mu/grid: one point");
    CHECK(make_study("{\"scene\": \"scene.json\", \"vary\": {\"my\": {\"uniform\": [0, 1]}}}") ==
          NULL);
    CHECK_CONTAINS(perp_context_error(context), "study.json: /vary/my: ");
    CHECK_CONTAINS(perp_context_error(context), "'mu'");
    clean_up(NULL);
}
