/* cli/help.h - help, man page and completion scripts, generated from the tables of verbs and
 * options. */
#ifndef PERP_CLI_HELP_H
#define PERP_CLI_HELP_H

#include "cli.h"

/* perp(1) in man(7) macros on standard output. */
void cli_print_man(void);

/* The completion script of a shell on standard output; false: no such shell. */
bool cli_print_completion(const char* shell);
extern const char* const cli_shells[]; /* NULL-terminated */

#endif
