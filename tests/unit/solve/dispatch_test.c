/* tests/unit/solve/dispatch_test.c - names, settings, and a check that is not lied to. */
#include "perp_test.h"

#include "conform/problems.h"
#include "perp/solve.h"

/* ---- a method that lies ----------------------------------------------------------------------------*/

static int liar_made, liar_destroyed;
static double liar_value;

static perp_status liar_create(perp_context* context, const void* settings, void** self)
{
    (void)context;
    (void)settings;
    *self = &liar_made;
    ++liar_made;
    return PERP_OK;
}

static void liar_destroy(void* self)
{
    (void)self;
    ++liar_destroyed;
}

static perp_status liar_lcp(void* self, const perp_lcp* problem, const perp_solve_options* options,
                            bool warm, double* z, perp_report* report)
{
    (void)self;
    (void)options;
    (void)warm;
    for (int32_t i = 0; i < problem->n; ++i) {
        z[i] = liar_value;
    }
    report->outcome = PERP_OUTCOME_SOLVED;
    report->residual = 0.0;
    report->iterations = 3;
    return PERP_OK;
}

static perp_status liar_contact(void* self, const perp_contact_problem* problem,
                                const perp_solve_options* options, bool warm, double* v, double* p,
                                perp_report* report)
{
    (void)self;
    (void)options;
    (void)warm;
    for (int32_t i = 0; i < problem->dof_count; ++i) {
        v[i] = liar_value;
    }
    for (int32_t i = 0; i < problem->row_count; ++i) {
        p[i] = liar_value;
    }
    report->outcome = PERP_OUTCOME_SOLVED;
    return PERP_OK;
}

static perp_status broken_lcp(void* self, const perp_lcp* problem,
                              const perp_solve_options* options, bool warm, double* z,
                              perp_report* report)
{
    (void)self;
    (void)problem;
    (void)options;
    (void)warm;
    (void)report;
    z[0] = 99.0;
    return PERP_ERROR_MEMORY;
}

static const perp_lcp_solver_ops liar_lcp_ops = {.name = "liar",
                                                 .summary = "says yes",
                                                 .create = liar_create,
                                                 .destroy = liar_destroy,
                                                 .solve = liar_lcp};
static const perp_lcp_solver_ops broken_ops = {.name = "broken",
                                               .summary = "fails",
                                               .create = liar_create,
                                               .destroy = liar_destroy,
                                               .solve = broken_lcp};
static const perp_contact_solver_ops liar_contact_ops = {.name = "liar",
                                                         .summary = "says yes",
                                                         .takes =
                                                             PERP_TAKES_NONE | PERP_TAKES_POLYGON,
                                                         .create = liar_create,
                                                         .destroy = liar_destroy,
                                                         .solve = liar_contact};

static const double M2[] = {2, 1, 1, 2}, q2[] = {-4, 1};
static const perp_lcp lcp2 = {2, M2, q2};

TEST(a_method_that_lies_is_caught_by_the_judge)
{
    perp_context* context = NULL;
    perp_lcp_solver* lcp = NULL;
    perp_contact_solver* contact = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_register_lcp_solver(context, &liar_lcp_ops));
    REQUIRE_OK(perp_register_contact_solver(context, &liar_contact_ops));
    REQUIRE_OK(perp_lcp_solver_create(context, "liar", NULL, 0, &lcp));
    REQUIRE_OK(perp_contact_solver_create(context, "liar", NULL, 0, &contact));
    liar_value = 1.0;
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(lcp, &lcp2, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_BREAKDOWN);
    CHECK_CONTAINS(report.detail, "method reports solved, residual check gives ");
    CHECK(report.residual > 0.1);

    test_contact t = test_particle("particle", 4, 1.0);
    double v[3], p[3];
    perp_contact_residual r;
    REQUIRE_OK(perp_contact_solve(contact, test_contact_view(&t), NULL, false, v, p, &r, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_BREAKDOWN);
    CHECK_CONTAINS(report.detail, "residual check gives ");
    CHECK(r.worst > 1e-3);
    CHECK_AT_MOST(fabs(r.worst - report.residual), 0.0);
    CHECK_EQ_STR(report.solver, "liar");

    /* Not a number: the caller gets the motion without impulses, and still no success. */
    liar_value = NAN;
    REQUIRE_OK(perp_contact_solve(contact, test_contact_view(&t), NULL, false, v, p, &r, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_BREAKDOWN);
    for (int i = 0; i < 3; ++i) {
        CHECK(isfinite(v[i]) && p[i] == 0.0);
    }
    perp_lcp_solver_destroy(lcp);
    perp_contact_solver_destroy(contact);
    CHECK_EQ_INT(liar_made, liar_destroyed);
    perp_context_destroy(context);
}

TEST(a_failing_method_leaves_the_outputs_alone)
{
    perp_context* context = NULL;
    perp_lcp_solver* lcp = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_register_lcp_solver(context, &broken_ops));
    REQUIRE_OK(perp_lcp_solver_create(context, "broken", NULL, 0, &lcp));
    double z[2] = {1, 2};
    perp_report report = {.iterations = 5};
    CHECK_EQ_INT(perp_lcp_solve(lcp, &lcp2, NULL, false, z, &report), PERP_ERROR_MEMORY);
    CHECK_AT_MOST(fabs(z[0] - 1.0) + fabs(z[1] - 2.0), 0.0);
    CHECK_EQ_INT(report.iterations, 5);
    perp_lcp_solver_destroy(lcp);
    perp_context_destroy(context);
}

/* ---- names -----------------------------------------------------------------------------------------*/

TEST(an_unknown_name_gets_a_suggestion_or_the_list)
{
    perp_context* context = NULL;
    perp_lcp_solver* lcp = NULL;
    perp_contact_solver* contact = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    CHECK_EQ_INT(perp_lcp_solver_create(context, "lemk", NULL, 0, &lcp), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context), "unknown solver 'lemk': did you mean 'lemke'?");
    CHECK_EQ_INT(perp_contact_solver_create(context, "quantum-annealer", NULL, 0, &contact),
                 PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context),
                   "unknown solver 'quantum-annealer': known are auto, lemke, pgs");
    CHECK(lcp == NULL && contact == NULL);
    perp_context_destroy(context);
}

static bool listed(const perp_context* context, const char* name)
{
    perp_solver_info info;
    for (int32_t i = 0; perp_solver_list(context, i, &info); ++i) {
        if (strcmp(info.name, name) == 0) {
            return true;
        }
    }
    return false;
}

TEST(a_reserved_name_exists_or_is_said_not_to_exist_yet)
{
    static const char* const names[] = {"lemke",
                                        "pgs",
                                        "psor",
                                        "jacobi",
                                        "fixed-point",
                                        "interior-point",
                                        "fischer-newton",
                                        "minmap-newton",
                                        "pivot",
                                        "path",
                                        "nsgs",
                                        "newton",
                                        "admm"};
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char expected[64];
        perp_lcp_solver* lcp = NULL;
        const perp_status status = perp_lcp_solver_create(context, names[i], NULL, 0, &lcp);
        CHECK(status == PERP_OK || status == PERP_ERROR_UNSUPPORTED);
        if (status != PERP_OK) {
            snprintf(expected, sizeof expected, "solver '%s' does not %s", names[i],
                     listed(context, names[i]) ? "take an LCP" : "exist yet");
            CHECK_EQ_STR(perp_context_error(context), expected);
        }
        perp_lcp_solver_destroy(lcp);
    }
    perp_context_destroy(context);
}

TEST(the_list_names_auto_first_then_built_in_then_registered)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_register_lcp_solver(context, &liar_lcp_ops));
    REQUIRE_OK(perp_register_contact_solver(context, &liar_contact_ops));
    static const char* const first[] = {"auto", "lemke", "pgs"};
    perp_solver_info info, last = {0};
    int32_t count = 0;
    for (; perp_solver_list(context, count, &info); ++count) {
        if (count < 3) {
            CHECK_EQ_STR(info.name, first[count]);
        }
        CHECK(info.summary != NULL && info.summary[0] != '\0');
        CHECK(info.settings_default != NULL);
        CHECK(info.takes_lcp || info.takes_mlcp || info.takes_ncp || info.takes_friction ||
              info.takes_contact);
        for (int32_t i = 0; i < count; ++i) {
            perp_solver_info earlier;
            CHECK(perp_solver_list(context, i, &earlier) && strcmp(earlier.name, info.name) != 0);
        }
        last = info;
    }
    REQUIRE(count >= 4);
    CHECK_EQ_STR(last.name, "liar");
    CHECK(last.takes_lcp && last.takes_contact && !last.takes_mlcp && !last.takes_ncp);
    CHECK(!perp_solver_list(context, -1, &info));
    perp_context_destroy(context);
}

TEST(auto_is_lemke_and_the_report_says_so)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "auto", NULL, 0, &solver));
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(solver, &lcp2, NULL, false, z, &report));
    CHECK_EQ_STR(report.solver, "lemke");
    CHECK(report.seconds >= 0.0);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* w = z - 1 in one row, w = -1 in the other whatever z is: no method can solve it. */
TEST(auto_lists_what_it_tried_in_order_and_no_more_than_there_is_room_for)
{
    const double M[] = {1, 0, 0, 0}, q[] = {-1, -1};
    const perp_lcp lcp = {2, M, q};
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE(perp_context_create(NULL, &context) == PERP_OK);
    REQUIRE(perp_lcp_solver_create(context, "auto", NULL, 0, &solver) == PERP_OK);
    perp_attempt attempt[8] = {{0}};
    perp_attempt_list list = {.attempt = attempt, .capacity = 8, .count = 77};
    perp_solve_options options = perp_solve_options_default();
    options.attempts = &list;
    double z[2] = {0.0, 0.0};
    perp_report report;
    REQUIRE(perp_lcp_solve(solver, &lcp, &options, false, z, &report) == PERP_OK);
    CHECK(report.outcome != PERP_OUTCOME_SOLVED);
    REQUIRE(list.count >= 3 && list.count <= 8);
    CHECK_EQ_STR(attempt[0].solver, "lemke");
    CHECK_EQ_STR(attempt[1].solver, "pivot");
    int32_t iterations = 0;
    double least = INFINITY, seconds = 0.0;
    for (int32_t i = 0; i < list.count; ++i) {
        CHECK(attempt[i].outcome != PERP_OUTCOME_SOLVED);
        CHECK(attempt[i].seconds >= 0.0);
        iterations += attempt[i].iterations;
        seconds += attempt[i].seconds;
        least = attempt[i].residual < least ? attempt[i].residual : least;
    }
    CHECK_EQ_INT(iterations, report.iterations);
    CHECK_AT_MOST(seconds, report.seconds);
    CHECK(least == report.residual);

    const int32_t all = list.count;
    attempt[1].solver = NULL;
    list.capacity = 1;
    REQUIRE(perp_lcp_solve(solver, &lcp, &options, false, z, &report) == PERP_OK);
    CHECK_EQ_INT(list.count, all);
    CHECK(attempt[1].solver == NULL);
    perp_lcp_solver_destroy(solver);

    REQUIRE(perp_lcp_solver_create(context, "lemke", NULL, 0, &solver) == PERP_OK);
    REQUIRE(perp_lcp_solve(solver, &lcp, &options, false, z, &report) == PERP_OK);
    CHECK_EQ_INT(list.count, 1);
    CHECK_EQ_STR(attempt[0].solver, "lemke");
    CHECK(attempt[0].outcome == report.outcome && attempt[0].seconds == report.seconds);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

TEST(a_taken_or_incomplete_registration_is_refused)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_lcp_solver_ops ops = liar_lcp_ops;
    ops.name = "lemke";
    CHECK_EQ_INT(perp_register_lcp_solver(context, &ops), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "taken");
    ops.name = "auto";
    CHECK_EQ_INT(perp_register_lcp_solver(context, &ops), PERP_ERROR_INPUT);
    ops.name = NULL;
    CHECK_EQ_INT(perp_register_lcp_solver(context, &ops), PERP_ERROR_INPUT);
    ops.name = "half";
    ops.solve = NULL;
    CHECK_EQ_INT(perp_register_lcp_solver(context, &ops), PERP_ERROR_INPUT);
    /* The same name for another form is fine; then an LCP solver of that name is not found. */
    perp_contact_solver_ops contact = liar_contact_ops;
    contact.name = "only-contact";
    CHECK_OK(perp_register_contact_solver(context, &contact));
    perp_lcp_solver* solver = NULL;
    CHECK_EQ_INT(perp_lcp_solver_create(context, "only-contact", NULL, 0, &solver),
                 PERP_ERROR_UNSUPPORTED);
    CHECK_EQ_STR(perp_context_error(context), "solver 'only-contact' does not take an LCP");
    perp_context_destroy(context);
}

/* A user may bring the real thing under a name that we keep free for it. */
TEST(a_registered_method_may_take_a_name_that_is_not_built_yet)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_lcp_solver_ops ops = liar_lcp_ops;
    ops.name = "path";
    CHECK_OK(perp_register_lcp_solver(context, &ops));
    CHECK_OK(perp_lcp_solver_create(context, "path", NULL, 0, &solver));
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* ---- settings --------------------------------------------------------------------------------------*/

TEST(settings_are_checked_by_name_type_and_range)
{
    perp_context* context = NULL;
    perp_contact_solver* s = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const struct {
        const char* solver;
        perp_option option;
        const char* message;
    } bad[] = {
        {"pgs", {"relax", 3.0}, "solver 'pgs': relax must be in [0.01, 1.99], got 3"},
        {"pgs", {"relax", NAN}, "solver 'pgs': relax must be in [0.01, 1.99], got nan"},
        {"pgs", {"relx", 1.0}, "solver 'pgs': unknown setting 'relx': did you mean 'relax'?"},
        {"pgs",
         {"temperature", 1.0},
         "solver 'pgs': unknown setting 'temperature': known are relax, change, judge-every"},
        {"pgs", {"judge-every", 1.5}, "solver 'pgs': judge-every must be a whole number, got 1.5"},
        {"auto", {"relax", 1.0}, "solver 'auto' has no settings, got 'relax'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        CHECK_EQ_INT(perp_contact_solver_create(context, bad[i].solver, &bad[i].option, 1, &s),
                     PERP_ERROR_INPUT);
        CHECK_EQ_STR(perp_context_error(context), bad[i].message);
    }
    const perp_option good[] = {{"relax", 1.2}, {"judge-every", 4}};
    CHECK_OK(perp_contact_solver_create(context, "pgs", good, 2, &s));
    perp_contact_solver_destroy(s);
    perp_context_destroy(context);
}

TEST(a_bool_setting_takes_zero_and_one_only)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    struct {
        int32_t count;
        bool flag;
    } set = {0};
    const perp_setting table[] = {
        {"flag", PERP_SETTING_BOOL, (size_t)((char*)&set.flag - (char*)&set), 0, 0, "a flag"}};
    CHECK_OK(perp_setting_assign(context, table, 1, "thing", "flag", 1.0, &set));
    CHECK(set.flag);
    CHECK_EQ_INT(perp_setting_assign(context, table, 1, "thing", "flag", 0.5, &set),
                 PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context), "thing: flag must be true or false, got 0.5");
    CHECK(set.flag);
    perp_context_destroy(context);
}

/* ---- solving ---------------------------------------------------------------------------------------*/

TEST(bad_options_are_refused)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "lemke", NULL, 0, &solver));
    double z[2];
    perp_report report;
    perp_solve_options options = perp_solve_options_default();
    CHECK_AT_MOST(fabs(options.tolerance - 1e-10), 0.0);
    options.tolerance = NAN;
    CHECK_EQ_INT(perp_lcp_solve(solver, &lcp2, &options, false, z, &report), PERP_ERROR_INPUT);
    options = perp_solve_options_default();
    options.max_iter = -1;
    CHECK_EQ_INT(perp_lcp_solve(solver, &lcp2, &options, false, z, &report), PERP_ERROR_INPUT);
    options = perp_solve_options_default();
    options.time_limit = NAN;
    CHECK_EQ_INT(perp_lcp_solve(solver, &lcp2, &options, false, z, &report), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "time_limit");
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* Free flight: v = M^-1 k, exact in binary. */
TEST(a_problem_without_constraints_is_solved_directly)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    static const char* const names[] = {"auto", "lemke", "pgs"};
    test_contact t = {.name = "free"};
    const double m[3] = {2, 4, 8}, v0[3] = {1, -2, 0.5}, f[3] = {0, 0, 0};
    test_add_block(&t, 3, m, v0, f);
    for (int i = 0; i < 3; ++i) {
        perp_contact_solver* solver = NULL;
        double v[3] = {9, 9, 9};
        perp_report report;
        REQUIRE_OK(perp_contact_solver_create(context, names[i], NULL, 0, &solver));
        REQUIRE_OK(
            perp_contact_solve(solver, test_contact_view(&t), NULL, false, v, NULL, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_EQ_INT(report.iterations, 0);
        for (int j = 0; j < 3; ++j) {
            CHECK_NEAR(v[j], v0[j], 1e-15);
        }
        perp_contact_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

TEST(lemke_refuses_a_round_cone_by_name)
{
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "lemke", NULL, 0, &solver));
    test_contact t = test_particle("particle", 4, 1.0);
    t.constraint[0].cone = PERP_CONE_QUADRATIC;
    t.constraint[0].directions = 0;
    double v[3] = {7, 7, 7}, p[3] = {7, 7, 7};
    perp_report report;
    CHECK_EQ_INT(
        perp_contact_solve(solver, test_contact_view(&t), NULL, false, v, p, NULL, &report),
        PERP_ERROR_UNSUPPORTED);
    CHECK_EQ_STR(perp_context_error(context),
                 "solver 'lemke' does not take the friction cone 'quadratic' (constraint 0)");
    CHECK_AT_MOST(fabs(v[0] - 7.0) + fabs(p[0] - 7.0), 0.0);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

TEST(a_broken_problem_or_guess_is_refused)
{
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "lemke", NULL, 0, &solver));
    test_contact t = test_particle("particle", 4, 1.0);
    double v[3] = {0, NAN, 0}, p[3] = {0};
    perp_report report;
    CHECK_EQ_INT(perp_contact_solve(solver, test_contact_view(&t), NULL, true, v, p, NULL, &report),
                 PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "v[1]");
    t.constraint[0].mu = -1.0;
    CHECK_EQ_INT(
        perp_contact_solve(solver, test_contact_view(&t), NULL, false, v, p, NULL, &report),
        PERP_ERROR_INPUT);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

/* The n-th allocation fails, for every n: a status, no leak (the sanitiser looks), then success. */
typedef struct failing {
    int64_t left;
} failing;

static void* failing_resize(void* user, void* p, size_t size)
{
    failing* f = user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return f->left-- > 0 ? realloc(p, size) : NULL;
}

TEST(every_failed_allocation_is_reported)
{
    static const char* const names[] = {"lemke", "pgs"};
    test_contact* t = malloc(sizeof *t);
    for (int i = 0; i < 2; ++i) {
        bool done = false;
        for (int64_t allowed = 1; allowed < 500 && !done; ++allowed) {
            failing f = {allowed};
            const perp_context_def def = {.allocator = {failing_resize, &f}};
            perp_context* context = NULL;
            perp_contact_solver* solver = NULL;
            REQUIRE_OK(perp_context_create(&def, &context));
            test_contact_make(6, t);
            double v[TEST_BLOCKS * 6], p[TEST_ROWS];
            perp_report report;
            perp_status status = perp_contact_solver_create(context, names[i], NULL, 0, &solver);
            if (status == PERP_OK) {
                status = perp_contact_solve(solver, test_contact_view(t), NULL, false, v, p, NULL,
                                            &report);
            }
            CHECK(status == PERP_OK || status == PERP_ERROR_MEMORY);
            done = status == PERP_OK;
            perp_contact_solver_destroy(solver);
            perp_context_destroy(context);
        }
        CHECK(done);
    }
    free(t);
}
