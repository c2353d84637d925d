/* cli/estimate.h - the parts of `perp estimate`. */
#ifndef PERP_CLI_ESTIMATE_H
#define PERP_CLI_ESTIMATE_H

#include "sweep.h"

/* Whether --page can be written: nothing is there, or such a page. Asked before the work. */
int estimate_check_page(const cli_args* args);
/* Data and fit over time, residuals, estimates with intervals, correlations. */
int estimate_write_page(const cli_args* args, perp_context* context, perp_estimate* estimate);

#endif
