/* src/solve/work.c - see work.h. */
#include "solve/work.h"

#include <math.h>
#include <string.h>

double perpi_attempt_work(const char* method, const perp_contact_problem* problem,
                          int32_t shared_dofs, int32_t iterations)
{
    enum { ROW_COST = 100, PIVOT_COST = 10 };
    const double rows = problem->row_count, dofs = shared_dofs;
    double once = rows * rows; /* a sweep, with the matrix of few bodies */
    if (strcmp(method, "newton-bodies") == 0) {
        once = dofs * dofs * dofs / 6.0 + ROW_COST * rows;
    } else if (strcmp(method, "newton") == 0) {
        once = rows * rows * rows / 6.0 + ROW_COST * rows; /* its kernels are faster */
    } else if (strcmp(method, "lemke") == 0 || strcmp(method, "pivot") == 0 ||
               strcmp(method, "path") == 0) {
        once = PIVOT_COST * rows * rows;
    } else if (strcmp(method, "switching") == 0) {
        once = rows; /* its solves are counted on their own */
    }
    return floor(once * iterations); /* whole numbers: sums do not depend on their order */
}
