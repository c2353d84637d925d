/* cli/sweep_page.c - the page of a study's results. */
#include "sweep.h"

int sweep_write_page(const cli_args* args, perp_context* context, perp_results* results,
                     const char* database, const char* path)
{
    (void)context, (void)results, (void)database, (void)path;
    return cli_fail(args->json, CLI_BAD_INPUT, "--page does not exist yet");
}
