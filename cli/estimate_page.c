/* cli/estimate_page.c - the page of an estimate: viewer/study/estimate.html with its report and curves. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "estimate.h"
#include "page.h"

#define MARKER "/*PERP-ESTIMATE*/"
#define FORMAT "{\"format\":\"perp-estimate-page\""
enum { TRAJECTORIES = 60, ROWS = 1500 };

extern const char cli_estimate_template[], cli_estimate_template_end[];

int estimate_check_page(const cli_args* args)
{
    return page_check_kind(
        args, FORMAT, (size_t)(cli_estimate_template_end - cli_estimate_template), "an estimate");
}

/* JSON inside a script element: a text in it must not end the element. */
static void put_json(FILE* file, const char* text)
{
    for (const char* c = text; *c != '\0'; ++c) {
        if (*c == '<') {
            (void)fputs("\\u003c", file);
        } else {
            (void)fputc(*c, file);
        }
    }
}

int estimate_write_page(const cli_args* args, perp_context* context, perp_estimate* estimate)
{
    const char *path = cli_value(args, "--page"), *curves = NULL;
    char part[4300];
    if (path == NULL) {
        return CLI_DONE;
    }
    if (perp_estimate_curves(estimate, TRAJECTORIES, ROWS, &curves) != PERP_OK) {
        return cli_fail(args->json, CLI_FAILED, "--page: %s", perp_context_error(context));
    }
    (void)snprintf(part, sizeof part, "%.4096s.part%ld", path, (long)getpid());
    FILE* file = fopen(part, "wb");
    if (file == NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT, "--page: %s: %s", path, strerror(errno));
    }
    const char* marker = strstr(cli_estimate_template, MARKER);
    (void)fwrite(cli_estimate_template, 1, (size_t)(marker - cli_estimate_template), file);
    fprintf(file, "%s,\"version\":", FORMAT);
    sweep_put_string(file, perp_version_string());
    (void)fputs(",\"report\":", file);
    put_json(file, perp_estimate_json(estimate));
    (void)fputs(",\"curves\":", file);
    put_json(file, curves);
    (void)fputs("}", file);
    marker += strlen(MARKER);
    (void)fwrite(marker, 1, (size_t)(cli_estimate_template_end - marker), file);
    const bool good = ferror(file) == 0;
    if (fclose(file) == 0 && good && rename(part, path) == 0) {
        return CLI_DONE;
    }
    (void)unlink(part);
    return cli_fail(args->json, CLI_FAILED, "--page: cannot write %s: %s", path, strerror(errno));
}
