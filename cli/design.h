/* cli/design.h - the parts of `perp design`. */
#ifndef PERP_CLI_DESIGN_H
#define PERP_CLI_DESIGN_H

#include "sweep.h"

/* "R.best.json" beside R.db; of a later case (1, 2, ...) "R.best.2.json". */
void design_file(const char* database, const char* what, int32_t design_case, const char* suffix,
                 char* path, size_t size);

/* Whether --page can be written: nothing is there, or such a page. Asked before the search. */
int design_check_page(const cli_args* args);
/* History of objective and unknowns, and the best run beside the start on one clock. */
int design_write_page(const cli_args* args, perp_context* context, perp_study* study,
                      const perp_design_report* report, const char* database);

#endif
