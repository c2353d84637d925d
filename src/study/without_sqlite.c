/* src/study/without_sqlite.c - stands in for results_*.c where perp is built without SQLite:
 * studies can be read and single runs be made, but there is no database. */
#include "study/results.h"

static perp_status refuse(perp_context* context)
{
    return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                      "this perp was built without SQLite, which results of studies need: install "
                      "libsqlite3-dev and build with -DPERP_STUDY=ON");
}

perp_status perpi_writer_open(perp_context* context, const perp_study* study, const char* path,
                              const char* user_code, bool resume, perpi_writer** writer)
{
    (void)study, (void)path, (void)user_code, (void)resume, (void)writer;
    return refuse(context);
}

/* Nothing below can be reached: there is neither a writer nor a database. */

perp_status perpi_writer_each(perpi_writer* writer,
                              void (*fn)(void* user, int64_t id, perp_run_status status,
                                         const char* outcome),
                              void* user)
{
    (void)writer, (void)fn, (void)user;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perpi_writer_add(perpi_writer* writer, const perp_run_row* row)
{
    (void)writer, (void)row;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perpi_writer_remove(perpi_writer* writer, int64_t id)
{
    (void)writer, (void)id;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perpi_writer_commit(perpi_writer* writer, double seconds)
{
    (void)writer, (void)seconds;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perpi_writer_find(perpi_writer* writer, int64_t first, int64_t last,
                              perp_status (*fn)(void* user, const perp_run_row* row,
                                                const double* unknown),
                              void* user)
{
    (void)writer, (void)first, (void)last, (void)fn, (void)user;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perpi_writer_evaluation(perpi_writer* writer, const perp_evaluation* row)
{
    (void)writer, (void)row;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perpi_writer_evaluations(perpi_writer* writer, int64_t* count)
{
    (void)writer, (void)count;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perp_results_evaluations(perp_results* results,
                                     bool (*fn)(void* user, const perp_evaluation* row), void* user)
{
    (void)results, (void)fn, (void)user;
    return PERP_ERROR_UNSUPPORTED;
}

void perpi_writer_close(perpi_writer* writer)
{
    (void)writer;
}

perp_status perp_results_open(perp_context* context, const char* path, perp_results** results)
{
    (void)path, (void)results;
    return refuse(context);
}

void perp_results_close(perp_results* results)
{
    (void)results;
}

perp_study* perp_results_study(perp_results* results)
{
    (void)results;
    return NULL;
}

const char* perp_results_user_code(const perp_results* results)
{
    (void)results;
    return "";
}

perp_status perp_results_each(perp_results* results,
                              bool (*fn)(void* user, const perp_run_row* row), void* user)
{
    (void)results, (void)fn, (void)user;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perp_results_row(perp_results* results, int64_t id, perp_run_row* row)
{
    (void)results, (void)id, (void)row;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perp_results_merge(perp_context* context, const char* const* path, int32_t count,
                               const char* out, int64_t* rows)
{
    (void)path, (void)count, (void)out, (void)rows;
    return refuse(context);
}
