/* The pool of threads: lanes, barriers, errors, memory, forks. */
#include <pthread.h>
#include <sys/wait.h>

#include "base/threads.h"
#include "perp_test.h"

static perp_context* context_with(int32_t threads)
{
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK ||
        perp_context_set_threads(context, threads) != PERP_OK) {
        return NULL;
    }
    return context;
}

enum { ITEMS = 1000, ROUNDS = 2000 };

typedef struct sums {
    double in[ITEMS], out[ITEMS];
    pthread_t thread[PERPI_LANES_MOST];
    int32_t lanes;
} sums;

/* Writes its part; after the barrier reads what other lanes wrote. */
static perp_status add_neighbours(perpi_lane* lane, void* data)
{
    sums* s = data;
    size_t begin, end;
    s->thread[lane->index] = pthread_self();
    perpi_lane_part(lane, ITEMS, &begin, &end);
    for (size_t i = begin; i < end; ++i) {
        s->in[i] = 1.0 / (double)(i + 1);
    }
    perpi_lane_wait(lane);
    for (size_t i = begin; i < end; ++i) {
        s->out[i] = s->in[i] + s->in[ITEMS - 1 - i];
    }
    if (lane->index == 0) {
        s->lanes = lane->count;
    }
    return PERP_OK;
}

TEST(lanes_are_threads_that_split_the_items_and_meet_at_barriers)
{
    static sums one, many;
    perp_context* c = context_with(4);
    REQUIRE(c != NULL);
    CHECK_EQ_INT(perpi_lanes_for(c, 7, 4), 1); /* too few to gain */
    CHECK_EQ_INT(perpi_lanes_for(c, 12, 4), 3);
    CHECK_EQ_INT(perpi_lanes_for(c, 1000, 4), 4);
    REQUIRE_OK(perpi_run_lanes(c, 1, add_neighbours, &one));
    for (int round = 0; round < ROUNDS; ++round) {
        memset(&many, 0, sizeof many);
        REQUIRE_OK(perpi_run_lanes(c, 1 + round % 4, add_neighbours, &many));
        CHECK_EQ_INT(many.lanes, 1 + round % 4);
        CHECK(memcmp(one.out, many.out, sizeof one.out) == 0);
    }
    REQUIRE_OK(perpi_run_lanes(c, 4, add_neighbours, &many));
    CHECK(pthread_equal(many.thread[0], pthread_self()));
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < i; ++k) {
            CHECK(!pthread_equal(many.thread[i], many.thread[k]));
        }
    }
    perp_context_destroy(c);
}

TEST(a_pool_that_sleeps_is_woken)
{
    static sums s;
    perp_context* c = context_with(2);
    REQUIRE(c != NULL);
    perpi_threads_always(c); /* on a busy machine too */
    for (int round = 0; round < 20; ++round) {
        const int32_t lanes = perpi_lanes_for(c, ITEMS, 1);
        REQUIRE_OK(perpi_run_lanes(c, lanes, add_neighbours, &s));
        CHECK_EQ_INT(s.lanes, 2);
        usleep(2000); /* longer than a thread spins */
    }
    perp_context_destroy(c);
}

static perp_status fail_some(perpi_lane* lane, void* data)
{
    size_t begin, end;
    const int32_t* bad = data; /* two items */
    perpi_lane_part(lane, ITEMS, &begin, &end);
    for (size_t i = begin; i < end; ++i) {
        if ((int32_t)i == bad[0] || (int32_t)i == bad[1]) {
            lane->at = (int64_t)i;
            return perpi_fail(lane->context, PERP_ERROR_NUMERIC, "item %d", (int)i);
        }
    }
    return PERP_OK;
}

TEST(of_several_errors_the_one_of_the_first_item_is_reported)
{
    int32_t bad[2] = {900, 300};
    for (int32_t threads = 1; threads <= 8; ++threads) {
        perp_context* c = context_with(threads);
        REQUIRE(c != NULL);
        CHECK_EQ_INT(perpi_run_lanes(c, perpi_lanes_for(c, ITEMS, 1), fail_some, bad),
                     PERP_ERROR_NUMERIC);
        CHECK_EQ_STR(perp_context_error(c), "item 300");
        perp_context_destroy(c);
    }
}

typedef struct growing {
    double* array[PERPI_LANES_MOST];
    size_t capacity[PERPI_LANES_MOST];
} growing;

static perp_status grow_own(perpi_lane* lane, void* data)
{
    growing* g = data;
    perp_status status = PERP_OK;
    for (size_t n = 1; n <= ITEMS && status == PERP_OK; ++n) {
        status = perpi_grow(lane->context, &g->array[lane->index], &g->capacity[lane->index], n,
                            sizeof(double));
    }
    /* a region inside a region has one lane */
    return perpi_lanes_for(lane->context, ITEMS, 1) == 1 ? status : PERP_ERROR_INPUT;
}

TEST(lanes_have_memory_of_their_own_and_a_warm_region_requests_none)
{
    growing g = {0};
    perp_context* c = context_with(3);
    REQUIRE(c != NULL);
    const int32_t lanes = perpi_lanes_for(c, ITEMS, 1);
    const uint64_t before = perp_context_allocations(c);
    REQUIRE_OK(perpi_run_lanes(c, lanes, grow_own, &g));
    const uint64_t warm = perp_context_allocations(c);
    CHECK(warm >= before + 3 * 7); /* 8, 16, ..., 1024 items, three times */
    REQUIRE_OK(perpi_run_lanes(c, lanes, grow_own, &g));
    CHECK_EQ_U64(perp_context_allocations(c), warm);
    for (int i = 0; i < lanes; ++i) {
        perpi_free(c, g.array[i]);
    }
    perp_context_destroy(c);
}

TEST(the_child_of_a_fork_starts_a_pool_of_its_own)
{
#ifdef __SANITIZE_THREAD__
    SKIP("the thread sanitizer starts no threads in the child of a fork");
#endif
    static sums s;
    perp_context* c = context_with(2);
    REQUIRE(c != NULL);
    REQUIRE_OK(perpi_run_lanes(c, perpi_lanes_for(c, ITEMS, 1), add_neighbours, &s));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const int32_t lanes = perpi_lanes_for(c, ITEMS, 1);
        const bool good =
            lanes == 2 && perpi_run_lanes(c, lanes, add_neighbours, &s) == PERP_OK && s.lanes == 2;
        perp_context_destroy(c);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    REQUIRE_OK(perpi_run_lanes(c, perpi_lanes_for(c, ITEMS, 1), add_neighbours, &s));
    perp_context_destroy(c);
}

TEST(the_number_of_threads_comes_from_the_program_or_the_environment)
{
    perp_context* c = context_with(0);
    REQUIRE(c != NULL);
    setenv("PERP_THREADS", "3", 1);
    CHECK_EQ_INT(perpi_lanes_for(c, ITEMS, 1), 3);
    REQUIRE_OK(perp_context_set_threads(c, 1)); /* goes before the environment */
    CHECK_EQ_INT(perpi_lanes_for(c, ITEMS, 1), 1);
    REQUIRE_OK(perp_context_set_threads(c, 2));
    CHECK_EQ_INT(perpi_lanes_for(c, ITEMS, 1), 2);
    CHECK_EQ_INT(perp_context_set_threads(c, -1), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_context_set_threads(c, 1000), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_context_threads(c), 2);
    setenv("PERP_THREADS", "1", 1);
    REQUIRE_OK(perp_context_set_threads(c, 0));
    CHECK_EQ_INT(perpi_lanes_for(c, ITEMS, 1), 1);
    unsetenv("PERP_THREADS");
    perp_context_destroy(c);
}
