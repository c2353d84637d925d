/* cli/output.c - complaints, JSON, colours, the clock. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static bool colourful(int fd)
{
    const char* no = getenv("NO_COLOR");
    const char* term = getenv("TERM");
    return (no == NULL || no[0] == '\0') && term != NULL && isatty(fd) == 1;
}

static void complain(const char* message)
{
    const bool colour = colourful(STDERR_FILENO);
    (void)fflush(stdout);
    fprintf(stderr, "%sperp:%s %s\n", colour ? "\033[31m" : "", colour ? "\033[0m" : "", message);
}

void cli_complain(const char* format, ...)
{
    char message[2560];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    complain(message);
}

const char* cli_status_word(int exit_status)
{
    return exit_status == CLI_DONE ? "ok" : exit_status == CLI_BAD_INPUT ? "bad-input" : "failed";
}

json_t* cli_text(const char* s)
{
    json_t* string = json_string(s);
    if (string != NULL) {
        return string;
    }
    char clean[2560];
    size_t n = 0;
    for (; s[n] != '\0' && n + 1 < sizeof clean; ++n) {
        clean[n] = (unsigned char)s[n] < 0x80 ? s[n] : '?';
    }
    clean[n] = '\0';
    return json_string(clean);
}

int cli_fail(bool json, int exit_status, const char* format, ...)
{
    char message[2560];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    complain(message);
    if (json) {
        json_t* object = json_object();
        json_object_set_new(object, "status", json_string(cli_status_word(exit_status)));
        json_object_set_new(object, "message", cli_text(message));
        cli_print_json(object);
    }
    return exit_status;
}

int cli_exit_of(perp_status status)
{
    switch (status) {
    case PERP_OK: return CLI_DONE;
    case PERP_ERROR_INPUT:
    case PERP_ERROR_UNSUPPORTED:
    case PERP_ERROR_IO: return CLI_BAD_INPUT;
    case PERP_ERROR_MEMORY:
    case PERP_ERROR_NUMERIC:
    case PERP_ERROR_SOLVE:
    case PERP_ERROR_CANCELLED: break;
    }
    return CLI_FAILED;
}

void cli_print_json(json_t* object)
{
    if (json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) != 0) {
        complain("cannot write JSON to standard output");
    }
    (void)fputc('\n', stdout);
    json_decref(object);
}

json_t* cli_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t* cli_numbers(const double* x, int count)
{
    json_t* array = json_array();
    for (int i = 0; i < count; ++i) {
        json_array_append_new(array, cli_number(x[i]));
    }
    return array;
}

static const char* if_colourful(const char* sequence)
{
    return colourful(STDOUT_FILENO) ? sequence : "";
}

const char* cli_bold(void)
{
    return if_colourful("\033[1m");
}

const char* cli_dim(void)
{
    return if_colourful("\033[2m");
}

const char* cli_green(void)
{
    return if_colourful("\033[32m");
}

const char* cli_red(void)
{
    return if_colourful("\033[31m");
}

const char* cli_plain(void)
{
    return if_colourful("\033[0m");
}

static bool quickly;

void cli_leave_quickly(void)
{
    quickly = true;
}

bool cli_leaving_quickly(void)
{
    return quickly;
}

double cli_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void log_line(void* user, perp_log_level level, const char* message)
{
    (void)user;
    if (level == PERP_LOG_WARNING) {
        cli_complain("warning: %s", message);
    }
}

perp_context* cli_context(bool json)
{
    perp_context_def def = perp_context_def_default();
    def.log = log_line;
    perp_context* context = NULL;
    if (perp_context_create(&def, &context) != PERP_OK) {
        (void)cli_fail(json, CLI_FAILED, "out of memory");
        return NULL;
    }
    return context;
}
