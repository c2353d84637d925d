/* Context, arena, names: the ground everything stands on. */
#include "base/arena.h"
#include "perp_test.h"

static perp_context* fresh(void)
{
    perp_context* context = NULL;
    return perp_context_create(NULL, &context) == PERP_OK ? context : NULL;
}

TEST(an_error_message_is_kept_until_the_next_one_and_can_be_prefixed)
{
    perp_context* c = fresh();
    REQUIRE(c != NULL);
    CHECK_EQ_STR(perp_context_error(c), "");
    CHECK_EQ_INT(perpi_fail(c, PERP_ERROR_INPUT, "mass: must be > 0, got %g", -1.0),
                 PERP_ERROR_INPUT);
    CHECK_EQ_INT(perpi_fail_prefix(c, PERP_ERROR_INPUT, "/bodies/1"), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(c), "/bodies/1: mass: must be > 0, got -1");
    char longer[5000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_EQ_INT(perpi_fail(c, PERP_ERROR_IO, "%s", longer), PERP_ERROR_IO);
    CHECK_EQ_INT(perpi_fail_prefix(c, PERP_ERROR_IO, longer), PERP_ERROR_IO);
    CHECK(strlen(perp_context_error(c)) < 2048); /* cut, never overrun */
    perp_context_destroy(c);
}

TEST(memory_grows_zeroed_and_sizes_that_overflow_are_refused)
{
    perp_context* c = fresh();
    REQUIRE(c != NULL);
    double* a = NULL;
    size_t capacity = 0;
    REQUIRE_OK(perpi_grow(c, &a, &capacity, 3, sizeof *a));
    a[2] = 7.0;
    REQUIRE_OK(perpi_grow(c, &a, &capacity, 1000, sizeof *a));
    CHECK(a[2] == 7.0 && a[3] == 0.0 && a[999] == 0.0);
    const uint64_t before = perp_context_allocations(c);
    REQUIRE_OK(perpi_grow(c, &a, &capacity, 900, sizeof *a));
    CHECK_EQ_U64(perp_context_allocations(c), before);
    double* same = a;
    CHECK_EQ_INT(perpi_grow(c, &a, &capacity, SIZE_MAX / 4, sizeof *a), PERP_ERROR_MEMORY);
    CHECK(a == same);
    void* p = &c;
    CHECK_EQ_INT(perpi_alloc(c, SIZE_MAX / 2, 16, &p), PERP_ERROR_MEMORY);
    CHECK(p == (void*)&c); /* untouched */
    perpi_free(c, a);
    perp_context_destroy(c);
}

TEST(an_arena_that_has_seen_its_peak_asks_for_no_more)
{
    perp_context* c = fresh();
    REQUIRE(c != NULL);
    perpi_arena arena;
    perpi_arena_init(&arena, c);
    uint64_t warm = 0;
    for (int round = 0; round < 4; ++round) {
        if (round == 2) {
            warm = perp_context_allocations(c);
        }
        REQUIRE_OK(perpi_arena_reset(&arena));
        for (int i = 0; i < 100; ++i) {
            double* p = NULL;
            REQUIRE_OK(perpi_arena_take(&arena, 1000, sizeof *p, &p));
            CHECK(((uintptr_t)p & 15) == 0);
            p[0] = p[999] = i;
        }
    }
    CHECK_EQ_U64(perp_context_allocations(c), warm);
    const perpi_arena_mark mark = perpi_arena_get_mark(&arena);
    char *a = NULL, *b = NULL;
    REQUIRE_OK(perpi_arena_take(&arena, 64, 1, &a));
    perpi_arena_rewind(&arena, mark);
    REQUIRE_OK(perpi_arena_take(&arena, 64, 1, &b));
    CHECK(a == b);
    perpi_arena_free(&arena);
    perp_context_destroy(c);
}

TEST(a_slip_of_the_fingers_finds_the_nearest_name)
{
    static const char* const names[] = {"lemke", "pgs", "interior-point", NULL};
    CHECK_EQ_STR(perpi_nearest("lemk", names), "lemke");
    CHECK_EQ_STR(perpi_nearest("elmke", names), "lemke");
    CHECK_EQ_STR(perpi_nearest("interior_point", names), "interior-point");
    CHECK(perpi_nearest("dantzig", names) == NULL);
    perp_context* c = fresh();
    REQUIRE(c != NULL);
    CHECK_EQ_INT(perpi_fail_unknown(c, "solver", "lemk", names), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(c), "unknown solver 'lemk': did you mean 'lemke'?");
    CHECK_EQ_INT(perpi_fail_unknown(c, "solver", "zzzzzz", names), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(c), "known are lemke, pgs, interior-point");
    perp_context_destroy(c);
}

TEST(every_status_and_outcome_has_a_name)
{
    for (int i = PERP_OK; i <= PERP_ERROR_CANCELLED; ++i) {
        CHECK(strlen(perp_status_name((perp_status)i)) > 1);
    }
    CHECK_EQ_STR(perp_outcome_name(PERP_OUTCOME_RAY), "ray");
    CHECK_EQ_STR(perp_outcome_name(PERP_OUTCOME_SOLVED), "solved");
}
