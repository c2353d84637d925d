/* cli/plot.c - `perp plot`: quantities of a recording over time, drawn by gnuplot.
 *
 * No user input reaches gnuplot as code: numbers go through a file, names as quoted text with
 * enhanced mode off, and it works in a folder of its own where all file names are ours.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "child.h"
#include "page.h"

/* ---- quantities ---------------------------------------------------------------------------------*/

/* One panel for each kind, and of joints one for lengths and one for angles. */
static const struct {
    const char* label;
    bool log;            /* where the numbers allow it */
    const char* turning; /* label of what turns; NULL: the same */
} axes[PERP_QUANTITY_KIND_COUNT] = {
    [PERP_QUANTITY_POSITION] = {"position", false, NULL},
    [PERP_QUANTITY_ANGLE] = {"angle", false, NULL},
    [PERP_QUANTITY_ORIENTATION] = {"orientation", false, NULL},
    [PERP_QUANTITY_VELOCITY] = {"velocity", false, NULL},
    [PERP_QUANTITY_SPIN] = {"angular velocity", false, NULL},
    [PERP_QUANTITY_FORCE] = {"contact force", false, NULL},
    [PERP_QUANTITY_DISTANCE] = {"distance", false, NULL},
    [PERP_QUANTITY_SLIP] = {"slip", false, NULL},
    [PERP_QUANTITY_COORDINATE] = {"joint coordinate (length)", false, "joint coordinate (angle)"},
    [PERP_QUANTITY_RATE] = {"joint rate (length)", false, "joint rate (angle)"},
    [PERP_QUANTITY_EFFORT] = {"effort (force)", false, "effort (torque)"},
    [PERP_QUANTITY_JOINT_ERROR] = {"joint error (length)", true, "joint error (angle)"},
    [PERP_QUANTITY_INTEGRAL] = {"integral of the error", false, NULL},
    [PERP_QUANTITY_ENERGY] = {"energy", false, NULL},
    [PERP_QUANTITY_LEDGER] = {"energy since the start", false, NULL},
    [PERP_QUANTITY_MOMENTUM] = {"momentum", false, NULL},
    [PERP_QUANTITY_ANGULAR_MOMENTUM] = {"angular momentum", false, NULL},
    [PERP_QUANTITY_CERTIFICATE] = {"certificate", true, NULL},
    [PERP_QUANTITY_ITERATIONS] = {"solver iterations", false, NULL},
    [PERP_QUANTITY_RESIDUAL] = {"solver residual", true, NULL},
    [PERP_QUANTITY_CONTACTS] = {"contacts", false, NULL},
    [PERP_QUANTITY_PENETRATION] = {"penetration", false, NULL},
    [PERP_QUANTITY_CROSSINGS] = {"crossings", false, NULL},
    [PERP_QUANTITY_MOMENTUM_ERROR] = {"momentum error", true, NULL},
};

/* ---- what was asked for ---------------------------------------------------------------------------*/

typedef struct curve {
    double high;   /* largest value */
    bool in_group; /* it was not asked for by its own name */
    bool zero;     /* throughout */
} curve;

typedef struct plot {
    const cli_args* args;
    const char* out; /* NULL: the terminal */
    const char* format;
    int width, height; /* 0: chosen here */
    perp_context* context;
    perp_recording* recording;
    perp_scene* scene;
    const perp_model* model;
    perp_quantity* quantity;
    curve* curve; /* one for each */
    int count;
    char folder[512];
} plot;

/* What recordings of format version 2 do not have. */
static bool is_account(const perp_quantity* q)
{
    return q->kind == PERP_QUANTITY_LEDGER || q->kind == PERP_QUANTITY_MOMENTUM_ERROR ||
           q->kind == PERP_QUANTITY_CROSSINGS;
}

/* One curve for each quantity of that name that the recording has. */
static int add_curves(plot* p, const char* name)
{
    int32_t found = 0;
    const perp_status status = perp_quantity_find(p->context, p->model, name, NULL, 0, &found);
    if (status != PERP_OK) {
        return cli_fail(p->args->json, cli_exit_of(status), "%.400s: %s", p->args->word[0],
                        perp_context_error(p->context));
    }
    const size_t room = (size_t)p->count + (size_t)found;
    perp_quantity* quantity = realloc(p->quantity, room * sizeof *quantity);
    p->quantity = quantity != NULL ? quantity : p->quantity;
    curve* curves = realloc(p->curve, room * sizeof *curves);
    p->curve = curves != NULL ? curves : p->curve;
    if (quantity == NULL || curves == NULL ||
        perp_quantity_find(p->context, p->model, name, quantity + p->count, found, &found) !=
            PERP_OK) {
        return cli_fail(p->args->json, CLI_FAILED, "out of memory");
    }
    int kept = 0;
    for (int i = 0; i < found; ++i) {
        const perp_quantity q = quantity[p->count + i];
        if (is_account(&q) && !perp_recording_has_ledger(p->recording)) {
            continue;
        }
        quantity[p->count + kept] = q;
        curves[p->count + kept++] = (curve){.high = -INFINITY, .in_group = found > 1, .zero = true};
    }
    p->count += kept;
    return kept > 0 ? CLI_DONE
                    : cli_fail(p->args->json, CLI_BAD_INPUT,
                               "%.400s: no '%.200s': recorded in format version 2, which has no "
                               "energy ledger, momentum errors or crossings: run its scene again",
                               p->args->word[0], name);
}

static int find_curves(plot* p)
{
    int exit_status = CLI_DONE;
    for (int i = 1; exit_status == CLI_DONE && i < p->args->word_count; ++i) {
        exit_status = add_curves(p, p->args->word[i]);
    }
    return exit_status;
}

/* ---- numbers ------------------------------------------------------------------------------------*/

static int write_numbers(plot* p)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/data", p->folder);
    FILE* file = fopen(path, "w");
    if (file == NULL) {
        return cli_fail(p->args->json, CLI_FAILED, "%s: cannot write: %s", path, strerror(errno));
    }
    perp_status status = PERP_OK;
    double* value = calloc((size_t)p->count + 1, sizeof *value);
    for (int64_t k = 0; value != NULL && k < perp_recording_frame_count(p->recording); ++k) {
        perp_frame frame;
        status = perp_recording_frame(p->recording, k, &frame);
        if (status == PERP_OK) {
            fprintf(file, "%.17g", frame.time);
            status = perp_recording_quantities(p->recording, k, p->quantity, p->count, value);
        }
        if (status != PERP_OK) {
            break;
        }
        for (int i = 0; i < p->count; ++i) {
            curve* c = &p->curve[i];
            c->high = value[i] > c->high ? value[i] : c->high;
            c->zero = c->zero && value[i] == 0.0;
            fprintf(file, " %.17g", value[i]);
        }
        (void)fputc('\n', file);
    }
    free(value);
    const bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        return cli_fail(p->args->json, CLI_FAILED, "%s: cannot write: %s", path, strerror(errno));
    }
    if (status != PERP_OK) {
        cli_leave_quickly();
        return cli_fail(p->args->json, cli_exit_of(status), "%s", perp_context_error(p->context));
    }
    return CLI_DONE;
}

/* ---- the script ---------------------------------------------------------------------------------*/

#define TITLE_LETTERS 48

/* Text between double quotes, with everything that could mean something there as an octal escape:
 * quotes of either kind, backslash, and the backquote, which would run a command. (Single quotes will
 * not do: a doubled one at the beginning is taken for an empty string.) What is no UTF-8 has become
 * U+FFFD before. */
static void put_quoted(FILE* file, const char* text)
{
    json_t* clean = page_text(text);
    int letters = 0;
    (void)fputc('"', file);
    for (const char* c = json_string_value(clean); *c != '\0'; ++c) {
        const unsigned char u = (unsigned char)*c;
        letters += (u & 0xc0) != 0x80;
        if (letters > TITLE_LETTERS) {
            (void)fputs("...", file);
            break;
        }
        if (u < 0x20 || u == 0x7f) {
            (void)fputc(' ', file);
        } else if (u >= 0x80 || isalnum(u) || strchr(" .,_-", u) != NULL) {
            (void)fputc(u, file);
        } else {
            fprintf(file, "\\%03o", (unsigned)u);
        }
    }
    (void)fputc('"', file);
    json_decref(clean);
}

/* Without the brackets of names that are not identifiers: here nothing has to be read again. */
static void strip_brackets(char* name)
{
    char* to = name;
    for (const char* c = name; *c != '\0'; ++c) {
        const bool opens = *c == '[' && (c == name || c[-1] == '.');
        const bool closes = *c == ']' && (c[1] == '.' || c[1] == '\0');
        if (!opens && !closes) {
            *to++ = *c;
        }
    }
    *to = '\0';
}

/* The end of a long name, which says what of the body it is, must stay readable. */
static void put_title(FILE* file, const plot* p, int i)
{
    enum { LETTERS = 24 };
    const size_t size = perp_quantity_name(p->model, &p->quantity[i], NULL, 0) + 1;
    char* full = malloc(size);
    if (full == NULL) {
        put_quoted(file, "?");
        return;
    }
    (void)perp_quantity_name(p->model, &p->quantity[i], full, size);
    strip_brackets(full);
    json_t* clean = page_text(full);
    free(full);
    const char* name = json_string_value(clean);
    int letters = 0, at = 0;
    for (const char* c = name; *c != '\0'; ++c) {
        letters += ((unsigned char)*c & 0xc0) != 0x80;
    }
    char title[4 * TITLE_LETTERS + 8];
    size_t n = 0;
    int cut = letters > TITLE_LETTERS ? letters - (TITLE_LETTERS - LETTERS - 4) : LETTERS;
    for (const char* c = name; cut > LETTERS && *c != '\0';
         ++c) { /* from a dot on, if there is one */
        at += ((unsigned char)*c & 0xc0) != 0x80;
        if (at >= cut && *c == '.') {
            cut = at;
            break;
        }
    }
    at = 0;
    for (const char* c = name; *c != '\0' && n + 4 < sizeof title; ++c) {
        const bool begins = ((unsigned char)*c & 0xc0) != 0x80;
        at += begins;
        if (begins && at == LETTERS && cut > LETTERS) {
            memcpy(title + n, "...", 3);
            n += 3;
        }
        if (at < LETTERS || at >= cut) {
            title[n++] = *c;
        }
    }
    title[n] = '\0';
    put_quoted(file, title);
    json_decref(clean);
}

/* Most terms of a ledger are 0 in most scenes; all of them are drawn only if nothing else would be. */
static bool is_left_out(const plot* p, int i)
{
    return p->quantity[i].kind == PERP_QUANTITY_LEDGER && p->curve[i].in_group && p->curve[i].zero;
}

/* Which panel a quantity belongs to: two for each kind. */
enum { AXES = 2 * PERP_QUANTITY_KIND_COUNT };

static int axis_of(const perp_quantity* q)
{
    return 2 * (int)q->kind + (q->turns && axes[q->kind].turning != NULL ? 1 : 0);
}

static void put_panel(FILE* file, const plot* p, int axis, int panel, int panels)
{
    bool positive = false, first = true, all = true;
    const int kind = axis / 2;
    for (int i = 0; i < p->count; ++i) {
        const bool own = axis_of(&p->quantity[i]) == axis;
        positive = positive || (own && p->curve[i].high > 0.0);
        all = all && !(own && !is_left_out(p, i));
    }
    fprintf(file, "set ylabel '%s'\n", axis % 2 == 1 ? axes[kind].turning : axes[kind].label);
    if (p->out == NULL) {
        (void)fputs("unset ylabel\n", file); /* there is no room */
    }
    (void)fputs(axes[kind].log && positive ? "set logscale y\nset format y '%.0e'\n"
                                           : "unset logscale y\nset format y '%g'\n",
                file);
    (void)fputs(panel + 1 == panels ? "set xlabel 'time'\n" : "unset xlabel\n", file);
    (void)fputs("plot ", file);
    for (int i = 0, colour = 1; i < p->count; ++i) {
        if (axis_of(&p->quantity[i]) != axis || (!all && is_left_out(p, i))) {
            continue;
        }
        fprintf(file, "%s'data' using 1:%d with lines linetype %d linewidth 1.5 title ",
                first ? "" : ", ", i + 2, colour++);
        put_title(file, p, i);
        (void)fputs(" noenhanced", file);
        first = false;
    }
    (void)fputc('\n', file);
}

static int count_panels(const plot* p, bool used[AXES])
{
    int panels = 0;
    memset(used, 0, AXES * sizeof *used);
    for (int i = 0; i < p->count; ++i) {
        panels += used[axis_of(&p->quantity[i])] ? 0 : 1;
        used[axis_of(&p->quantity[i])] = true;
    }
    return panels;
}

static void put_terminal(FILE* file, const plot* p, int panels)
{
    const int width = p->width > 0 ? p->width : p->out == NULL ? 79 : 900;
    const int height = p->height > 0    ? p->height
                       : p->out == NULL ? (panels == 1 ? 24 : 16 * panels)
                                        : 160 + 240 * panels;
    if (p->out == NULL) {
        fprintf(file, "set terminal dumb noenhanced size %d,%d\n", width, height);
    } else if (strcmp(p->format, "pdf") == 0) {
        fprintf(file, "set terminal pdfcairo noenhanced size %.3fin,%.3fin\n", width / 120.0,
                height / 120.0);
    } else {
        fprintf(file, "set terminal %s noenhanced size %d,%d%s\n",
                strcmp(p->format, "png") == 0 ? "pngcairo" : "svg", width, height,
                strcmp(p->format, "svg") == 0 ? " background rgb 'white'" : "");
    }
}

static int write_script(plot* p)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/script", p->folder);
    FILE* file = fopen(path, "w");
    if (file == NULL) {
        return cli_fail(p->args->json, CLI_FAILED, "%s: cannot write: %s", path, strerror(errno));
    }
    bool used[AXES];
    const int panels = count_panels(p, used);
    (void)fputs("set encoding utf8\n", file);
    put_terminal(file, p, panels);
    (void)fputs("set output 'figure'\nset key outside top center horizontal\nset grid\n"
                "set autoscale xfix\nset lmargin 11\n",
                file);
    if (panels > 1) {
        fprintf(file, "set multiplot layout %d,1\n", panels);
    }
    for (int axis = 0, panel = 0; axis < AXES; ++axis) {
        if (used[axis]) {
            put_panel(file, p, axis, panel++, panels);
        }
    }
    if (panels > 1) {
        (void)fputs("unset multiplot\n", file);
    }
    (void)fputs("set output\n", file);
    const bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        return cli_fail(p->args->json, CLI_FAILED, "%s: cannot write", path);
    }
    return CLI_DONE;
}

/* ---- drawing ------------------------------------------------------------------------------------*/

static int draw(plot* p, const char* gnuplot)
{
    char log[600], words[400];
    (void)snprintf(log, sizeof log, "%s/log", p->folder);
    const char* const argv[] = {gnuplot, "script", NULL};
    child c;
    const child_def def = {
        .argv = argv, .folder = p->folder, .log = log, .to_fd = -1, .from_fd = -1};
    if (!child_start(&def, &c)) {
        return cli_fail(p->args->json, CLI_FAILED, "cannot start gnuplot: %s", strerror(errno));
    }
    if (child_wait(&c) != 0) {
        child_last_words(log, words, sizeof words);
        return cli_fail(p->args->json, CLI_FAILED, "gnuplot could not draw it: %s", words);
    }
    return CLI_DONE;
}

/* The figure to its place, or to the terminal. */
static int write_figure(plot* p)
{
    char path[600], part[4200];
    (void)snprintf(path, sizeof path, "%s/figure", p->folder);
    FILE* from = fopen(path, "rb");
    if (from == NULL) {
        return cli_fail(p->args->json, CLI_FAILED, "gnuplot made no figure");
    }
    FILE* to = stdout;
    if (p->out != NULL) {
        (void)snprintf(part, sizeof part, "%.4000s.part%ld", p->out, (long)getpid());
        to = fopen(part, "wb");
    }
    if (to == NULL) {
        const int error = errno;
        (void)fclose(from);
        return cli_fail(p->args->json, CLI_BAD_INPUT, "%s: cannot write: %s", p->out,
                        strerror(error));
    }
    char block[16384];
    size_t size;
    while ((size = fread(block, 1, sizeof block, from)) > 0) {
        (void)fwrite(block, 1, size, to);
    }
    (void)fclose(from);
    if (p->out == NULL) {
        return CLI_DONE;
    }
    const bool bad = ferror(to) != 0;
    if (fclose(to) != 0 || bad || rename(part, p->out) != 0) {
        const int error = errno;
        (void)unlink(part);
        return cli_fail(p->args->json, CLI_FAILED, "%s: cannot write: %s", p->out, strerror(error));
    }
    if (p->args->json) {
        json_t* o = json_object();
        json_object_set_new(o, "status", json_string("ok"));
        json_object_set_new(o, "figure", cli_text(p->out));
        json_object_set_new(o, "curves", json_integer(p->count));
        cli_print_json(o);
    } else {
        printf("figure: ");
        cli_put(p->out);
        printf("\n");
    }
    return CLI_DONE;
}

static int open_recording(plot* p)
{
    const char* path = p->args->word[0];
    perp_status status = perp_recording_open(p->context, path, &p->recording);
    if (status == PERP_OK) {
        const char* text = perp_recording_scene_text(p->recording);
        status = perp_scene_parse(p->context, text, strlen(text), path, NULL, 0, &p->scene);
    }
    if (status != PERP_OK) {
        cli_leave_quickly();
        return cli_fail(p->args->json, cli_exit_of(status), "%s", perp_context_error(p->context));
    }
    p->model = perp_scene_model(p->scene);
    return CLI_DONE;
}

static int check_options(plot* p)
{
    static const char* const formats[] = {"svg", "png", "pdf", NULL};
    p->out = cli_value(p->args, "--out");
    const char* dot = p->out != NULL ? strrchr(p->out, '.') : NULL;
    for (int i = 0; p->out != NULL && formats[i] != NULL; ++i) {
        if (dot != NULL && strcasecmp(dot + 1, formats[i]) == 0) {
            p->format = formats[i];
        }
    }
    if (p->out != NULL && p->format == NULL) {
        return cli_fail(p->args->json, CLI_BAD_INPUT,
                        "--out: the name must end in .svg, .png or .pdf, got '%s'", p->out);
    }
    if (p->args->json && p->out == NULL) {
        return cli_fail(true, CLI_BAD_INPUT, "plot: --json needs --out");
    }
    return cli_read_size(p->args, 40, 10000, &p->width, &p->height);
}

/* A recording given after the quantities is a common mistake. */
static int check_order(const plot* p)
{
    const cli_args* args = p->args;
    if (access(args->word[0], F_OK) == 0) {
        return CLI_DONE;
    }
    for (int i = 1; i < args->word_count; ++i) {
        if (access(args->word[i], F_OK) == 0) {
            return cli_fail(args->json, CLI_BAD_INPUT,
                            "plot: the recording comes first: perp plot %.200s %.200s...",
                            args->word[i], args->word[0]);
        }
    }
    return CLI_DONE;
}

static int plot_all(plot* p)
{
    static const char* const names[] = {"gnuplot", NULL};
    int exit_status = check_options(p);
    if (exit_status == CLI_DONE) {
        exit_status = check_order(p);
    }
    if (exit_status == CLI_DONE) {
        exit_status = open_recording(p);
    }
    if (exit_status == CLI_DONE) {
        exit_status = find_curves(p);
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    char* gnuplot = child_find(names);
    if (gnuplot == NULL) {
        return cli_fail(
            p->args->json, CLI_BAD_INPUT,
            "perp plot draws with gnuplot, which is not installed (Debian: gnuplot-nox)");
    }
    if (!folder_make(p->folder, sizeof p->folder)) {
        free(gnuplot);
        return cli_fail(p->args->json, CLI_FAILED, "no place for temporary files: %s",
                        strerror(errno));
    }
    exit_status = write_numbers(p);
    if (exit_status == CLI_DONE) {
        exit_status = write_script(p);
    }
    if (exit_status == CLI_DONE) {
        exit_status = draw(p, gnuplot);
    }
    if (exit_status == CLI_DONE) {
        exit_status = write_figure(p);
    }
    folder_remove(p->folder);
    free(gnuplot);
    return exit_status;
}

static int verb_plot(const cli_args* args)
{
    plot p = {.args = args, .context = cli_context(args->json)};
    if (p.context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = plot_all(&p);
    perp_recording_close(p.recording);
    perp_scene_destroy(p.scene);
    perp_context_destroy(p.context);
    free(p.curve);
    free(p.quantity);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "FIG.svg", "the figure (-o), .svg, .png or .pdf; without it, on the terminal"},
    {"--size", "WxH", "pixels (pdf: 120 to the inch; terminal: letters)"},
    {"--json", NULL, "print the result as one JSON object"},
    {0},
};

const cli_verb cli_verb_plot = {
    .name = "plot",
    .usage = "R.h5 QUANTITY... [-o FIG.svg] [--size WxH]",
    .summary = "quantities of a recording over time, drawn by gnuplot",
    .text =
        "A QUANTITY is one of a body, BODY.position.x|y|z, BODY.angle (planar),\n"
        "BODY.orientation.w|x|y|z, BODY.velocity.x|y|z, BODY.speed, BODY.angular_velocity.x|y|z\n"
        "(planar: BODY.angular_velocity), BODY.force.x|y|z (sum of its contact forces), of a "
        "joint,\n"
        "JOINT.coordinate.1|2|3, JOINT.rate.1|2|3, JOINT.effort, JOINT.error.length|angle, of a "
        "controller,\ncontroller.NAME.effort|integral, of two bodies, distance.A.B, "
        "contact.A.B.force.x|y|z (of A on B),\ncontact.A.B.normal|friction|count|slip, or of the "
        "scene, joint_error.length|angle\n"
        "(the largest), energy.kinetic|potential|total, momentum.x|y|z, angular.x|y|z (planar: "
        "angular),\n"
        "certificate.dynamics|normal|friction|joints, solver.iterations|residual|contacts|\n"
        "penetration|crossings, momentum_error.linear|angular, and of the energy ledger, summed "
        "since the\nstart, ledger.change|forces|drag|springs|motors|prescribed|friction|impacts|"
        "joints|unexplained,\nledger.scheme.gap|joints|gyroscopic|springs|step_loss|projection|"
        "extrapolation. Without the last\npart all of them (of the ledger, those that are not 0): "
        "ball.position, energy, ledger. Quantities\nof one kind share a panel; angles and lengths "
        "of joints have one each.",
    .words_min = 2,
    .words_max = 1000,
    .option = options,
    .run = verb_plot,
};
