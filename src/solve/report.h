/* src/solve/report.h - an empty report. */
#ifndef PERPI_SOLVE_REPORT_H
#define PERPI_SOLVE_REPORT_H

#include "perp/solve.h"

/* Not by a compound literal, which clears all of the text: that is longer than the rest. */
static inline void perpi_report_begin(perp_report* report, const char* solver)
{
    report->outcome = PERP_OUTCOME_UNSET;
    report->iterations = 0;
    report->residual = report->seconds = 0.0;
    report->solver = solver;
    report->detail[0] = '\0';
}

#endif
