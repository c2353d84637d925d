/* Designs through the C interface, and the search by covariance matrix adaptation on its own. */
#include "perp/perp.h"
#include "perp_test.h"
#include "study/design.h"

/* ---- the search -------------------------------------------------------------------------------*/

typedef struct ellipsoid {
    int32_t n, calls;
    double low, high, decades;
    bool outside;
    double best, last[8];
} ellipsoid;

/* sum 10^(decades i / (n - 1)) (z_i - 0.3)^2 */
static bool evaluate(void* user, int32_t count, const double* z, double* value)
{
    ellipsoid* e = user;
    for (int32_t k = 0; k < count; ++k) {
        value[k] = 0.0;
        for (int32_t i = 0; i < e->n; ++i) {
            const double x = z[k * e->n + i], d = x - 0.3;
            e->outside = e->outside || !(x >= e->low && x <= e->high);
            value[k] += pow(10.0, e->decades * i / (e->n - 1)) * d * d;
        }
        if (value[k] < e->best) {
            e->best = value[k];
            memcpy(e->last, z + k * e->n, (size_t)e->n * sizeof *z);
        }
        e->calls += 1;
    }
    return true;
}

static ellipsoid search(double low, double high, double decades, uint64_t seed)
{
    double l[4], h[4], step[4];
    ellipsoid e = {.n = 4, .low = low, .high = high, .decades = decades, .best = INFINITY};
    for (int i = 0; i < 4; ++i) {
        l[i] = low;
        h[i] = high;
        step[i] = 0.5;
    }
    const perpi_search s = {.n = 4,
                            .low = l,
                            .high = h,
                            .step = step,
                            .tolerance = 1e-8,
                            .budget = 20000,
                            .seed = seed,
                            .evaluate = evaluate,
                            .user = &e};
    perp_context* context = NULL;
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    CHECK(perpi_search_cma(context, &s) == PERPI_SEARCH_CONVERGED);
    perp_context_destroy(context);
    return e;
}

TEST(cma_learns_the_scales_of_an_ellipsoid)
{
    const ellipsoid e = search(-5.0, 5.0, 6.0, 1);
    CHECK(!e.outside && e.calls < 8000);
    CHECK_AT_MOST(e.best, 1e-10);
}

TEST(cma_finds_a_minimum_at_the_bounds_and_never_leaves_them)
{
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        const ellipsoid e = search(-1.0, 0.1, 2.0, seed);
        CHECK(!e.outside);
        for (int i = 0; i < 4; ++i) {
            CHECK_NEAR(e.last[i], 0.1, 1e-6);
        }
    }
}

TEST(cma_is_a_function_of_its_seed)
{
    const ellipsoid a = search(-5.0, 5.0, 2.0, 3), b = search(-5.0, 5.0, 2.0, 3),
                    c = search(-5.0, 5.0, 2.0, 4);
    CHECK(a.calls == b.calls && memcmp(a.last, b.last, sizeof a.last) == 0);
    CHECK(memcmp(a.last, c.last, sizeof a.last) != 0);
}

/* ---- the interface ----------------------------------------------------------------------------*/

static const char scene_text[] =
    "{\"dimension\": 2, \"gravity\": [0, 0], \"step\": 0.1, \"duration\": 1, \"parameters\": "
    "{\"v\": 2, \"x0\": 0},"
    "\"bodies\": [{\"name\": \"p\", \"mass\": 1, \"position\": [\"x0\", 0], \"velocity\": [\"v\", "
    "0], \"shapes\": [{\"type\": \"particle\"}]}], \"measures\": {\"x\": \"p.position.x\"}}";
static const char study_text[] =
    "{\"scene\": \"design-scene.json\", \"unknown\": {\"v\": {\"start\": 2, \"bounds\": [0, 8]}},"
    "\"cases\": [{\"x0\": 0}, {\"x0\": 1}], \"minimise\": \"(x - 4)^2\", \"method\": \"cma-es\"}";

static bool count_evaluation(void* user, const perp_evaluation* row)
{
    int64_t* count = user;
    *count += 1;
    CHECK_EQ_INT(row->id, *count);
    CHECK(row->objective >= 0.4999 && row->unknown[0] >= 0.0 && row->unknown[0] <= 8.0);
    return true;
}

/* x = x0 + v: the sum of (v - 4)^2 and (v - 3)^2 is least at v = 3.5, where it is 0.5. */
TEST(a_design_runs_and_its_rows_and_best_scene_are_read)
{
    perp_context* context = NULL;
    perp_study* study = NULL;
    perp_results* results = NULL;
    perp_scene* best = NULL;
    FILE* file = fopen("design-scene.json", "w");
    REQUIRE(file != NULL && fputs(scene_text, file) >= 0 && fclose(file) == 0);
    REQUIRE(perp_context_create(NULL, &context) == PERP_OK);
    REQUIRE(perp_study_parse(context, study_text, sizeof study_text - 1, "design.json", &study) ==
            PERP_OK);
    CHECK(perp_study_is_design(study));
    const perp_design_info info = perp_study_design(study);
    CHECK(info.unknown_count == 1 && info.case_count == 2 && info.draws == 1 &&
          info.method == PERP_DESIGN_CMA_ES);
    perp_design_def def = perp_design_def_default();
    perp_design_report report;
    (void)remove("design.db");
    def.out = "design.db";
    def.jobs = 2;
    REQUIRE(perp_design_run(context, study, &def, &report) == PERP_OK);
    CHECK(report.end == PERP_DESIGN_CONVERGED && report.best > 0 && report.feasible);
    CHECK_NEAR(report.best_value, 0.5, 1e-9);
    CHECK_NEAR(perp_design_candidate(study, report.best)[0], 3.5, 1e-4);
    CHECK_EQ_INT(report.simulations, 2 * (report.evaluations + 1));
    CHECK(report.half_step && fabs(report.half_value - report.best_value) < 1e-9);
    REQUIRE(perp_design_scene(study, report.best, 1, &best) == PERP_OK);
    CHECK_NEAR(perp_scene_parameter(best, perp_scene_parameter_find(best, "x0")).value, 1.0, 0.0);
    perp_scene_destroy(best);
    CHECK(perp_design_scene(study, report.best, 2, &best) == PERP_ERROR_INPUT);
    int64_t count = 0;
    REQUIRE(perp_results_open(context, "design.db", &results) == PERP_OK);
    REQUIRE(perp_results_evaluations(results, count_evaluation, &count) == PERP_OK);
    CHECK_EQ_INT(count, report.evaluations + 1);
    perp_results_close(results);
    perp_sweep_def sweep = perp_sweep_def_default();
    perp_sweep_report ignored;
    sweep.out = "sweep.db";
    CHECK(perp_sweep_run(context, study, &sweep, &ignored) == PERP_ERROR_INPUT);
    perp_study_destroy(study);
    perp_context_destroy(context);
}
