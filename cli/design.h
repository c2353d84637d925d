/* cli/design.h - the parts of `perp design`. */
#ifndef PERP_CLI_DESIGN_H
#define PERP_CLI_DESIGN_H

#include "sweep.h"

/* "R.best.json" beside R.db; of a later case (1, 2, ...) "R.best.2.json". */
void design_file(const char* database, const char* what, int32_t design_case, const char* suffix,
                 char* path, size_t size);

/* Whether --page can be written: nothing is there, or such a page. Asked before the search. */
int design_check_page(const cli_args* args);
/* Whether what is written beside the database would replace the study, its scene or the page. Asked
 * before the search. */
int design_check_files(const cli_args* args, const perp_study* study, const char* database);
/* History of objective and unknowns, and the best run beside the start on one clock. options: user
 * code of the runs. */
int design_write_page(const cli_args* args, perp_context* context, perp_study* study,
                      const perp_run_options* options, const perp_design_report* report,
                      const char* database);
/* How the search ended, as a part of a sentence. */
const char* design_end_text(perp_design_end end);

#endif
