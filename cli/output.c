/* cli/output.c - messages, JSON, colours, the clock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static bool colourful(int fd)
{
    const char* no = getenv("NO_COLOR");
    const char* term = getenv("TERM");
    return (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 &&
           isatty(fd) == 1;
}

int cli_columns(int fd)
{
    struct winsize size;
    if (isatty(fd) != 1) {
        return 0;
    }
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Bytes of the UTF-8 character at s, 0 if there is none. */
static size_t utf8_length(const unsigned char* s)
{
    const size_t n = s[0] < 0x80                   ? 1
                     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                     : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                     : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                   : 0;
    for (size_t i = 1; i < n; ++i) {
        if ((s[i] & 0xc0u) != 0x80u) {
            return 0;
        }
    }
    return n;
}

/* One character of a text from outside as it may go to a terminal; returns how many bytes of s it
 * took. Control characters (also those above 0x7f) and bytes that are not UTF-8 become escapes. */
static size_t printable(const char* s, char out[8])
{
    const unsigned char* u = (const unsigned char*)s;
    const size_t n = utf8_length(u);
    if (*s == '\n' || *s == '\t' || *s == '\r') {
        (void)snprintf(out, 8, "\\%c", *s == '\n' ? 'n' : *s == '\t' ? 't' : 'r');
    } else if (n == 0 || u[0] < 0x20 || u[0] == 0x7f) {
        (void)snprintf(out, 8, "\\x%02x", (unsigned)u[0]);
        return 1;
    } else if (n == 2 && u[0] == 0xc2 && u[1] < 0xa0) {
        (void)snprintf(out, 8, "\\x%02x", (unsigned)u[1]);
    } else {
        memcpy(out, s, n);
        out[n] = '\0';
    }
    return n;
}

static void put_printable(FILE* file, const char* text)
{
    char c[8];
    while (*text != '\0') {
        text += printable(text, c);
        (void)fputs(c, file);
    }
}

void cli_put(const char* text)
{
    put_printable(stdout, text);
}

/* Characters, not bytes. */
static int letters(const char* text)
{
    int count = 0;
    for (; *text != '\0'; ++text) {
        count += ((unsigned char)*text & 0xc0u) != 0x80u;
    }
    return count;
}

int cli_width(const char* name)
{
    char c[8];
    int width = 0;
    while (*name != '\0') {
        name += printable(name, c);
        width += letters(c);
    }
    return width < CLI_NAME_LETTERS ? width : CLI_NAME_LETTERS;
}

int cli_put_at_most(const char* text, int limit)
{
    char c[8];
    int column = 0;
    while (*text != '\0') {
        const char* next = text + printable(text, c);
        /* the last place is for the ellipsis, unless the text just fits */
        if (column + letters(c) > limit - (*next != '\0')) {
            (void)fputs("…", stdout);
            return column + 1;
        }
        (void)fputs(c, stdout);
        column += letters(c);
        text = next;
    }
    return column;
}

void cli_put_name(const char* name, int width)
{
    const int column = cli_put_at_most(name, CLI_NAME_LETTERS);
    printf("%*s", width > column ? width - column : 0, "");
}

static bool line_shown;

void cli_line_shown(bool shown)
{
    line_shown = shown;
}

static void complain(const char* message)
{
    const bool colour = colourful(STDERR_FILENO);
    (void)fflush(stdout);
    fprintf(stderr, "%s%sperp:%s ", line_shown ? "\r\033[K" : "", colour ? "\033[31m" : "",
            colour ? "\033[0m" : "");
    /* the items of a list stand on lines of their own; other line breaks are shown as such */
    char part[2560];
    static const char item[] = "\n  - ";
    for (const char* next; (next = strstr(message, item)) != NULL;
         message = next + sizeof item - 1) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(next - message), message);
        put_printable(stderr, part);
        (void)fputs(item, stderr);
    }
    put_printable(stderr, message);
    (void)fputc('\n', stderr);
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

double cli_cpu_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void log_line(void* user, perp_log_level level, const char* message)
{
    static _Thread_local char
        last[1024]; /* a robot that is included many times is complained about once */
    (void)user;
    if (level == PERP_LOG_WARNING && strncmp(last, message, sizeof last - 1) != 0) {
        (void)snprintf(last, sizeof last, "%s", message);
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

int cli_use_threads(const cli_args* args, perp_context* context)
{
    const char* text = cli_value(args, "--threads");
    if (text == NULL) {
        return CLI_DONE;
    }
    char* end;
    const long threads = strtol(text, &end, 10);
    if (end == text || *end != '\0' || threads < 1 || threads > 1000 ||
        perp_context_set_threads(context, (int32_t)threads) != PERP_OK) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--threads: expected a number from 1 to 64, got '%s'", text);
    }
    return CLI_DONE;
}
