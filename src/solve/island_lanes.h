/* src/solve/island_lanes.h - the islands of one problem in several threads.
 *
 * Islands are independent, so each is solved by one thread with a solver of its own, and the answer does
 * not depend on which. An island that is larger than a thread's share is solved by itself, before the
 * others: its method divides its own work.
 */
#ifndef PERPI_ISLAND_LANES_H
#define PERPI_ISLAND_LANES_H

#include "base/threads.h"
#include "solve/solve.h"

/* How many threads the islands of the solver's last split should have; 1: one after the other. */
int32_t perpi_island_lanes(perpi_solver* s, int32_t islands, const perp_solve_options* options);

/* The solver of a lane, ready for islands of the last split of s; lane 0: s itself. */
PERP_NODISCARD perp_status perpi_lane_solver(perpi_solver* s, int32_t lane, perpi_solver** own);

/* Solves island i with the call of a lane. */
typedef perp_status (*perpi_island_fn)(void* call, int32_t i);

/* Each island by one of the calls, call[lane]; those of a lane in ascending order, after the large ones,
 * which call[0] takes alone. On failure the status and message of the first island that failed. */
PERP_NODISCARD perp_status perpi_solve_in_lanes(perpi_solver* s, int32_t islands, int32_t lanes,
                                                perpi_island_fn solve, void* const* call);

#endif
