/* cli/init.h - the parts of `perp init`. */
#ifndef PERP_CLI_INIT_H
#define PERP_CLI_INIT_H

#include "cli.h"

/* Writes a file that is not there yet; text: ended by NULL. */
int init_create_file(const cli_args* args, const char* path, const char* const* text);
/* FILE.json, FILE-scene.json and FILE-data.csv of a first estimate. */
int init_write_estimate(const cli_args* args, const char* path);

#endif
