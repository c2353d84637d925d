/* tests/unit/harness_test.c - the harness itself: what must fail does fail.
 *
 * Each specimen below is a test that is run in a child process, so that its failures are the
 * child's; the parent reads the child's exit status and output.
 */
#include "perp_test.h"

#include <sys/wait.h>

typedef struct child_result {
    int exit_status; /* -1 if killed by a signal */
    char output[65536];
} child_result;

static child_result run_in_child(perp_test_case* first, int argc, char** argv)
{
    child_result result = {.exit_status = -2};
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0) {
        return result;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        _exit(perp_test_run_list(first, "child", argc, argv));
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < sizeof result.output &&
           (got = read(ends[0], result.output + used, sizeof result.output - 1 - used)) > 0) {
        used += (size_t)got;
    }
    result.output[used] = '\0';
    close(ends[0]);
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child) {
        result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return result;
}

static child_result run_specimen(void (*run)(void))
{
    perp_test_case specimen = {.name = "specimen", .run = run};
    return run_in_child(&specimen, 0, NULL);
}

static void check_fails(void (*run)(void), const char* message)
{
    const child_result r = run_specimen(run);
    CHECK_EQ_INT(r.exit_status, 1);
    CHECK_CONTAINS(r.output, "FAIL specimen\n");
    CHECK_CONTAINS(r.output, "child: 0 passed, 1 failed\n");
    CHECK_CONTAINS(r.output, "harness_test.c:");
    CHECK_CONTAINS(r.output, message);
}

static void check_passes(void (*run)(void))
{
    const child_result r = run_specimen(run);
    CHECK_EQ_INT(r.exit_status, 0);
    CHECK_EQ_STR(r.output, "ok specimen\nchild: 1 passed, 0 failed\n");
}

static void nan_near_number(void)
{
    CHECK_NEAR(NAN, 1.0, 1.0);
}
static void number_near_nan(void)
{
    CHECK_NEAR(1.0, NAN, 1.0);
}
static void nan_near_nan(void)
{
    CHECK_NEAR(NAN, NAN, 1.0);
}
static void near_with_nan_tolerance(void)
{
    CHECK_NEAR(1.0, 1.0, NAN);
}
static void nan_near_with_infinite_tolerance(void)
{
    CHECK_NEAR(NAN, 1.0, INFINITY);
}
static void nan_at_most(void)
{
    CHECK_AT_MOST(NAN, 1.0);
}
static void at_most_nan(void)
{
    CHECK_AT_MOST(1.0, NAN);
}
static void nan_at_least(void)
{
    CHECK_AT_LEAST(NAN, 1.0);
}
static void at_least_nan(void)
{
    CHECK_AT_LEAST(1.0, NAN);
}
static void nan_required_near(void)
{
    REQUIRE_NEAR(NAN, 0.0, 1.0);
}
static void nan_required_at_most(void)
{
    REQUIRE_AT_MOST(NAN, 0.0);
}
static void nan_required_at_least(void)
{
    REQUIRE_AT_LEAST(NAN, 0.0);
}

TEST(nan_fails_every_comparison_of_doubles)
{
    check_fails(nan_near_number, "nan");
    check_fails(number_near_nan, "nan");
    check_fails(nan_near_nan, "nan");
    check_fails(near_with_nan_tolerance, "nan");
    check_fails(nan_near_with_infinite_tolerance, "nan");
    check_fails(nan_at_most, "nan");
    check_fails(at_most_nan, "nan");
    check_fails(nan_at_least, "nan");
    check_fails(at_least_nan, "nan");
    check_fails(nan_required_near, "nan");
    check_fails(nan_required_at_most, "nan");
    check_fails(nan_required_at_least, "nan");
}

static void true_statements(void)
{
    CHECK(1 < 2);
    CHECK_OK(0);
    CHECK_EQ_INT(-3, -3);
    CHECK_EQ_U64(UINT64_MAX, UINT64_MAX);
    CHECK_EQ_STR("cone", "cone");
    CHECK_CONTAINS("friction cone", "cone");
    CHECK_NEAR(1.0, 1.25, 0.25);
    CHECK_AT_MOST(1.0, 1.0);
    CHECK_AT_LEAST(1.0, 1.0);
    CHECK_AT_MOST(1.0, INFINITY);
    REQUIRE(1 < 2);
    REQUIRE_OK(0);
    REQUIRE_EQ_INT(1, 1);
    REQUIRE_EQ_STR("a", "a");
}
static void false_condition(void)
{
    CHECK(1 > 2);
}
static void bad_status(void)
{
    CHECK_OK(7);
}
static void other_integer(void)
{
    CHECK_EQ_INT(3, 4);
}
static void other_hash(void)
{
    CHECK_EQ_U64(UINT64_MAX, 1);
}
static void other_string(void)
{
    CHECK_EQ_STR("cone", "pyramid");
}
static void no_string(void)
{
    CHECK_EQ_STR(NULL, "pyramid");
}
static void missing_part(void)
{
    CHECK_CONTAINS("friction cone", "pyramid");
}
static void too_far(void)
{
    CHECK_NEAR(1.0, 1.5, 0.25);
}
static void infinity_near_itself(void)
{
    CHECK_NEAR(INFINITY, INFINITY, 1.0);
}
static void too_large(void)
{
    CHECK_AT_MOST(1.5, 1.0);
}
static void too_small(void)
{
    CHECK_AT_LEAST(0.5, 1.0);
}

TEST(true_statements_pass_and_false_ones_fail_with_their_values)
{
    check_passes(true_statements);
    check_fails(false_condition, "1 > 2 does not hold");
    check_fails(bad_status, "7 gave status 7");
    check_fails(other_integer, "3 is not 4");
    check_fails(other_hash, "0xffffffffffffffff is not 0x0000000000000001");
    check_fails(other_string, "\"cone\" is not \"pyramid\"");
    check_fails(no_string, "\"(null)\" is not \"pyramid\"");
    check_fails(missing_part, "does not contain \"pyramid\"");
    check_fails(too_far, "1 and 1.5 differ by 0.5, allowed 0.25");
    check_fails(infinity_near_itself, "nan");
    check_fails(too_large, "1.5 is not at most 1");
    check_fails(too_small, "0.5 is not at least 1");
}

static void two_failed_checks(void)
{
    CHECK(1 > 2);
    CHECK(3 > 4);
}
static void failed_requirement(void)
{
    REQUIRE(1 > 2);
    CHECK(3 > 4);
}
static void failed_status_requirement(void)
{
    REQUIRE_OK(1);
    CHECK(3 > 4);
}

TEST(a_failed_check_goes_on_and_a_failed_requirement_leaves_the_test)
{
    check_fails(two_failed_checks, "3 > 4 does not hold");
    const child_result r = run_specimen(failed_requirement);
    CHECK_EQ_INT(r.exit_status, 1);
    CHECK(strstr(r.output, "3 > 4") == NULL);
    const child_result s = run_specimen(failed_status_requirement);
    CHECK_EQ_INT(s.exit_status, 1);
    CHECK(strstr(s.output, "3 > 4") == NULL);
}

static void skipped(void)
{
    SKIP("no such device");
}
static void failed_then_skipped(void)
{
    CHECK(1 > 2);
    SKIP("no such device");
}
static void without_any_check(void) {}

TEST(a_skipped_test_is_counted_apart)
{
    const child_result r = run_specimen(skipped);
    CHECK_EQ_INT(r.exit_status, 0);
    CHECK_EQ_STR(r.output, "skip specimen: no such device\nchild: 0 passed, 0 failed, 1 skipped\n");
    check_fails(failed_then_skipped, "1 > 2 does not hold");
}

TEST(a_test_without_any_check_fails)
{
    const child_result r = run_specimen(without_any_check);
    CHECK_EQ_INT(r.exit_status, 1);
    CHECK_CONTAINS(r.output, "FAIL specimen: made no check\n");
}

TEST(a_run_of_zero_tests_fails)
{
    const child_result r = run_in_child(NULL, 0, NULL);
    CHECK_EQ_INT(r.exit_status, 1);
    CHECK_CONTAINS(r.output, "child: 0 passed, 1 failed\n");

    char program[] = "child", filter[] = "no test has this name";
    char* argv[] = {program, filter};
    perp_test_case specimen = {.name = "specimen", .run = true_statements};
    const child_result s = run_in_child(&specimen, 2, argv);
    CHECK_EQ_INT(s.exit_status, 1);
}

TEST(failures_in_multiples_of_256_still_fail)
{
    enum { COUNT = 256 };
    perp_test_case cases[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        cases[i] =
            (perp_test_case){"specimen", false_condition, i, i + 1 < COUNT ? &cases[i + 1] : NULL};
    }
    const child_result r = run_in_child(cases, 0, NULL);
    CHECK_EQ_INT(r.exit_status, 1);
    CHECK_CONTAINS(r.output, "child: 0 passed, 256 failed\n");
}

TEST(a_filter_picks_by_substring)
{
    char program[] = "child", filter[] = "eco";
    char* argv[] = {program, filter};
    perp_test_case second = {.name = "second", .run = true_statements};
    perp_test_case first = {.name = "first", .run = false_condition, .next = &second};
    const child_result r = run_in_child(&first, 2, argv);
    CHECK_EQ_INT(r.exit_status, 0);
    CHECK_EQ_STR(r.output, "ok second\nchild: 1 passed, 0 failed\n");
}

TEST(tests_run_in_the_order_of_their_definition)
{
    CHECK_EQ_STR(perp_test_first->name, "nan_fails_every_comparison_of_doubles");
    int last = -1;
    for (const perp_test_case* c = perp_test_first; c != NULL; c = c->next) {
        CHECK(c->order > last);
        last = c->order;
    }
}
