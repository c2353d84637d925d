/* cli/design.h - the parts of `perp design`. */
#ifndef PERP_CLI_DESIGN_H
#define PERP_CLI_DESIGN_H

#include "sweep.h"

/* "R.best.json" beside R.db; of a later case (1, 2, ...) "R.best.2.json". */
void design_file(const char* database, const char* what, int32_t design_case, const char* suffix,
                 char* path, size_t size);

#endif
