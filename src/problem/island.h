/* src/problem/island.h - decomposition of a contact problem into independent islands.
 *
 * Two blocks belong together if a constraint touches both, or if a group holds constraints of
 * both; the fixed world connects nothing. Each island is a contact problem of its own, so the cost
 * of a dense method depends on the largest island, not on the whole scene. Order: by the first
 * block, and inside an island as in the whole, so that the answer does not depend on the algorithm
 * that finds the islands.
 */
#ifndef PERPI_ISLAND_H
#define PERPI_ISLAND_H

#include "base/context.h"
#include "perp/problem.h"

typedef struct perpi_islands perpi_islands;

PERP_NODISCARD perp_status perpi_islands_create(perp_context* context, perpi_islands** islands);
void perpi_islands_destroy(perpi_islands* islands);

/* Finds the islands; the problem must pass perp_contact_check and stay until the last use. */
PERP_NODISCARD perp_status perpi_islands_split(perpi_islands* islands,
                                               const perp_contact_problem* problem, int32_t* count);
/* The islands of those constraints alone for which `acts` holds (constraint_count; of all members of a group
 * or of none). Blocks without any are islands of their own. */
PERP_NODISCARD perp_status perpi_islands_split_acting(perpi_islands* islands,
                                                      const perp_contact_problem* problem,
                                                      const bool* acts, int32_t* count);
/* Whether one of the constraints of island i is marked. */
bool perpi_islands_any(const perpi_islands* islands, int32_t i, const bool* marked);
/* Rows of island i. */
int32_t perpi_islands_rows(const perpi_islands* islands, int32_t i);
/* From now on the islands that `of` has found last: two threads then take islands of one problem. */
void perpi_islands_view(perpi_islands* islands, const perpi_islands* of);
/* Island i as a problem; valid until the next call. J is borrowed from the whole. */
PERP_NODISCARD perp_status perpi_islands_take(perpi_islands* islands, int32_t i,
                                              perp_contact_problem* piece);
/* Converts between a point of the whole problem and one of the current island. */
void perpi_islands_gather(const perpi_islands* islands, const double* v, const double* p,
                          double* v_piece, double* p_piece);
void perpi_islands_scatter(const perpi_islands* islands, const double* v_piece,
                           const double* p_piece, double* v, double* p);

#endif
