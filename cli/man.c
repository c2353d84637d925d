/* cli/man.c - the man page perp(1), made from the tables of verbs and options.
 *
 * Only the classic man(7) macros, so that any man program shows it.
 */
#include <stdio.h>
#include <string.h>

#include "help.h"

/* Text as roff shows it unchanged: no escapes, no hyphen made of a minus, no macro at the start of a
 * line. */
static void put_roff(const char* text)
{
    bool start = true;
    for (const char* c = text; *c != '\0'; ++c) {
        if (start && (*c == '.' || *c == '\'')) {
            (void)fputs("\\&", stdout);
        }
        start = *c == '\n';
        switch (*c) {
        case '\\': (void)fputs("\\e", stdout); break;
        case '-': (void)fputs("\\-", stdout); break;
        case '\'': (void)fputs("\\(aq", stdout); break;
        case '`': (void)fputs("\\(ga", stdout); break;
        default: (void)putchar(*c);
        }
    }
}

static void put_option(const cli_option* o)
{
    printf(".TP\n\\fB");
    put_roff(o->name);
    printf("\\fR");
    if (o->value != NULL) {
        printf(" \\fI");
        put_roff(o->value);
        printf("\\fR");
    }
    printf("\n");
    put_roff(o->text);
    printf("\n");
}

static void put_verb(const cli_verb* verb)
{
    printf(".SS \"perp %s\"\n\\fBperp %s\\fR ", verb->name, verb->name);
    put_roff(verb->usage);
    printf("\n.PP\n");
    put_roff(verb->summary);
    printf(".\n");
    if (verb->text != NULL) {
        put_roff(verb->text);
        printf("\n");
    }
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        put_option(o);
    }
}

void cli_print_man(void)
{
    printf(".\\\" Made by 'perp help --man'.\n"
           ".TH PERP 1 \"\" \"perp %s\" \"User Commands\"\n"
           ".SH NAME\n"
           "perp \\- a laboratory for rigid bodies in contact\n"
           ".SH SYNOPSIS\n"
           ".B perp\n\\fIVERB\\fR [\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n"
           ".SH DESCRIPTION\n"
           "perp simulates rigid bodies with intermittent contact and dry friction. A scene is a "
           "JSON file; a run\nis recorded in an HDF5 file, and every step of it carries a "
           "certificate: how far the answer is from\neach law.\n"
           ".SH VERBS\n",
           PERP_VERSION_STRING);
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        put_verb(cli_verbs[i]);
    }
    printf(".SH EXIT STATUS\n"
           ".TP\n0\ndone\n"
           ".TP\n2\nbad usage or bad input; the message says what would be right\n"
           ".TP\n3\nthe work could not go on, or its result is bad\n"
           ".SH ENVIRONMENT\n"
           ".TP\n.B PERP_SCENES\na folder of scenes that are found by their bare name\n"
           ".TP\n.B NO_COLOR\nif set and not empty: no colours, also on a terminal\n"
           ".SH EXAMPLES\n"
           ".TP\n\\fBperp init my.json\\fR\nwrite a first scene, with comments\n"
           ".TP\n\\fBperp run my.json \\-\\-out my.h5\\fR\nsimulate and record it\n"
           ".TP\n\\fBperp run my.json \\-\\-set /friction/default=0.1 \\-\\-out slippery.h5\\fR\n"
           "the same with less friction\n"
           ".TP\n\\fBperp compare my.h5 slippery.h5\\fR\nhow far the two runs are apart\n");
}
