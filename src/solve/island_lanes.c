/* src/solve/island_lanes.c - the islands of one problem in several threads. See solve.h. */

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "solve/solve.h"

enum {
    GRAIN = 60, /* rows for a thread to gain: some 100 microseconds of a small method */
    EMPTY = 1,  /* counted as rows: an island without any */
};

int32_t perpi_island_lanes(perpi_solver* s, int32_t islands, const perp_solve_options* options)
{
    /* a list of attempts is in the order of islands; a method of the user may have state of its own */
    if (islands < 2 || options->attempts != NULL || !s->planned) {
        return 1;
    }
    int64_t rows = 0;
    int32_t largest = 0;
    for (int32_t i = 0; i < islands; ++i) {
        const int32_t n = perpi_islands_rows(s->islands, i) + EMPTY;
        rows += n;
        largest = n > largest ? n : largest;
    }
    return perpi_lanes_for(s->context, rows - largest, GRAIN);
}

perp_status perpi_lane_solver(perpi_solver* s, int32_t lane, perpi_solver** own)
{
    *own = s;
    if (lane == 0) {
        return PERP_OK;
    }
    perp_status status = PERP_OK;
    if (s->lane == NULL) {
        status = perpi_alloc(s->context, PERPI_LANES_MOST, sizeof *s->lane, &s->lane);
    }
    if (status == PERP_OK && s->lane[lane] == NULL) {
        perp_context* context;
        status = perpi_lane_context(s->context, lane, &context);
        if (status == PERP_OK) {
            status = perpi_solver_create(context, s->form, PERPI_AUTO, NULL, 0, &s->lane[lane]);
            if (status != PERP_OK) {
                return perpi_fail(s->context, status, "%s", perp_context_error(context));
            }
        }
    }
    if (status == PERP_OK) {
        *own = s->lane[lane];
        (*own)->part = s->part;
        perpi_islands_view((*own)->islands, s->islands);
        status = perpi_arena_reset(&(*own)->arena);
    }
    return status;
}

typedef struct island_job {
    int32_t islands;
    int32_t* lane_of; /* per island; -1: done */
    perpi_island_fn solve;
    void* const* call;
} island_job;

/* Cost grows a little faster than the rows. */
static double cost_of(const perpi_solver* s, int32_t i)
{
    const double rows = perpi_islands_rows(s->islands, i) + EMPTY;
    return rows * sqrt(rows);
}

/* Large islands get the lane -1; the others in order, each to the lane with the least so far. Of the
 * islands that are left, the largest must not exceed a lane's share. */
static void share_islands(const perpi_solver* s, int32_t lanes, island_job* job, double* cost)
{
    double all = 0.0, load[PERPI_LANES_MOST] = {0.0};
    for (int32_t i = 0; i < job->islands; ++i) {
        cost[i] = cost_of(s, i);
        job->lane_of[i] = 0;
        all += cost[i];
    }
    for (bool found = true; found;) {
        const double share = all / lanes;
        found = false;
        for (int32_t i = 0; i < job->islands; ++i) {
            if (job->lane_of[i] == 0 && cost[i] > share) {
                job->lane_of[i] = -1;
                all -= cost[i];
                found = true;
            }
        }
    }
    for (int32_t i = 0; i < job->islands; ++i) {
        if (job->lane_of[i] == 0) {
            int32_t least = 0;
            for (int32_t k = 1; k < lanes; ++k) {
                least = load[k] < load[least] ? k : least;
            }
            load[least] += cost[i];
            job->lane_of[i] = least;
        }
    }
}

static perp_status solve_lane(perpi_lane* lane, void* data)
{
    const island_job* job = data;
    for (int32_t i = 0; i < job->islands; ++i) {
        if (job->lane_of[i] == lane->index) {
            lane->at = i;
            const perp_status status = job->solve(job->call[lane->index], i);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

perp_status perpi_solve_in_lanes(perpi_solver* s, int32_t islands, int32_t lanes,
                                 perpi_island_fn solve, void* const* call)
{
    island_job job = {.islands = islands, .solve = solve, .call = call};
    double* cost = NULL;
    perp_status status =
        perpi_arena_take(&s->arena, (size_t)islands, sizeof *job.lane_of, &job.lane_of);
    if (status == PERP_OK) {
        status = perpi_arena_take(&s->arena, (size_t)islands, sizeof *cost, &cost);
    }
    if (status != PERP_OK) {
        return status;
    }
    share_islands(s, lanes, &job, cost);
    int32_t failed = islands; /* the first large island that failed */
    perp_status large = PERP_OK;
    for (int32_t i = 0; i < islands && large == PERP_OK; ++i) {
        if (job.lane_of[i] < 0) {
            large = solve(call[0], i);
            failed = large != PERP_OK ? i : failed;
        }
    }
    if (large != PERP_OK) { /* those before it may fail as well */
        for (int32_t i = failed; i < islands; ++i) {
            job.lane_of[i] = -1;
        }
        char why[512];
        strncpy(why, perp_context_error(s->context), sizeof why - 1);
        why[sizeof why - 1] = '\0';
        status = perpi_run_lanes(s->context, lanes, solve_lane, &job);
        return status != PERP_OK ? status : perpi_fail(s->context, large, "%s", why);
    }
    return perpi_run_lanes(s->context, lanes, solve_lane, &job);
}
