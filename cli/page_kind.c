/* cli/page_kind.c - whether --page would replace a file that is no such page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

int page_check_kind(const cli_args* args, const char* format, size_t head, const char* what)
{
    const char* path = cli_value(args, "--page");
    FILE* file = path != NULL ? fopen(path, "rb") : NULL;
    if (file == NULL) {
        return CLI_DONE;
    }
    char* text = calloc(1, head + 64);
    const size_t size = text != NULL ? fread(text, 1, head + 63, file) : 0;
    (void)fclose(file);
    const bool is = size > 0 && strstr(text, format) != NULL;
    free(text);
    return is ? CLI_DONE
              : cli_fail(args->json, CLI_BAD_INPUT,
                         "--page: %s: there is a file of that name that is no page of %s: give "
                         "another name",
                         path, what);
}
