/* src/study/results.h - writing the database of a study: one writer, transactions of about a second.
 *
 * The rollback journal (not WAL, which does not work on network file systems) and full
 * synchronisation make every committed row survive the end of the process or of the machine; what
 * is lost is the present transaction.
 */
#ifndef PERPI_RESULTS_H
#define PERPI_RESULTS_H

#include "study/study.h"

typedef struct perpi_writer perpi_writer;

/* A new database, or with resume one that is there. Nothing is left behind on failure.
 * PERP_ERROR_INPUT: the file exists (and not resume), belongs to another study, or cannot be
 * created. */
PERP_NODISCARD perp_status perpi_writer_open(perp_context* context, const perp_study* study,
                                             const char* path, const char* user_code, bool resume,
                                             perpi_writer** writer);
/* Calls fn with id, status and outcome of each row that is there. */
PERP_NODISCARD perp_status perpi_writer_each(
    perpi_writer* writer,
    void (*fn)(void* user, int64_t id, perp_run_status status, const char* outcome), void* user);
/* A row of an id that is there already is ignored: it has the same bits. */
PERP_NODISCARD perp_status perpi_writer_add(perpi_writer* writer, const perp_run_row* row);
/* Removes a row, if it is there. */
PERP_NODISCARD perp_status perpi_writer_remove(perpi_writer* writer, int64_t id);
/* Its connection, which sees the rows of the present transaction. */
struct sqlite3* perpi_writer_db(perpi_writer* writer);
/* Ends the present transaction if it is older than the seconds given. */
PERP_NODISCARD perp_status perpi_writer_commit(perpi_writer* writer, double seconds);
/* Of a design: calls fn with the rows of runs first to last that are there, and the unknowns and
 * the factor of the step (behind them) of each. */
PERP_NODISCARD perp_status perpi_writer_find(perpi_writer* writer, int64_t first, int64_t last,
                                             perp_status (*fn)(void* user, const perp_run_row* row,
                                                               const double* unknown),
                                             void* user);
/* Adds or replaces a row of evaluations. */
PERP_NODISCARD perp_status perpi_writer_evaluation(perpi_writer* writer,
                                                   const perp_evaluation* row);
/* The number of evaluations that have a run in the database, without those with half the step. */
PERP_NODISCARD perp_status perpi_writer_evaluations(perpi_writer* writer, int64_t* count);
/* NULL is allowed. What was not committed is lost. */
void perpi_writer_close(perpi_writer* writer);

#endif
