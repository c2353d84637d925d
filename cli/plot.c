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

typedef struct plot_frame {
    const perp_frame* frame;
    bool planar;
    double step;
    double momentum[6];
    perp_ledger ledger; /* summed since the first frame */
} plot_frame;

typedef enum plot_axis {
    AXIS_POSITION,
    AXIS_ANGLE,
    AXIS_ORIENTATION,
    AXIS_VELOCITY,
    AXIS_SPIN,
    AXIS_FORCE,
    AXIS_COORDINATE,
    AXIS_JOINT_ERROR,
    AXIS_ENERGY,
    AXIS_LEDGER,
    AXIS_MOMENTUM,
    AXIS_ANGULAR,
    AXIS_CERTIFICATE,
    AXIS_ITERATIONS,
    AXIS_RESIDUAL,
    AXIS_CONTACTS,
    AXIS_PENETRATION,
    AXIS_CROSSINGS,
    AXIS_MOMENTUM_ERROR,
    AXIS_COUNT,
} plot_axis;

static const struct {
    const char* label;
    bool log; /* where the numbers allow it */
} axes[AXIS_COUNT] = {
    [AXIS_POSITION] = {"position", false},
    [AXIS_ANGLE] = {"angle", false},
    [AXIS_ORIENTATION] = {"orientation", false},
    [AXIS_VELOCITY] = {"velocity", false},
    [AXIS_SPIN] = {"angular velocity", false},
    [AXIS_FORCE] = {"contact force", false},
    [AXIS_COORDINATE] = {"joint coordinate", false},
    [AXIS_JOINT_ERROR] = {"joint error", true},
    [AXIS_ENERGY] = {"energy", false},
    [AXIS_LEDGER] = {"energy since the start", false},
    [AXIS_MOMENTUM] = {"momentum", false},
    [AXIS_ANGULAR] = {"angular momentum", false},
    [AXIS_CERTIFICATE] = {"certificate", true},
    [AXIS_ITERATIONS] = {"solver iterations", false},
    [AXIS_RESIDUAL] = {"solver residual", true},
    [AXIS_CONTACTS] = {"contacts", false},
    [AXIS_PENETRATION] = {"penetration", false},
    [AXIS_CROSSINGS] = {"crossings", false},
    [AXIS_MOMENTUM_ERROR] = {"momentum error", true},
};

typedef struct quantity {
    const char* name; /* of a body's or joint's: what follows "BODY." */
    plot_axis axis;
    int dimension; /* 2, 3, or 0 for both */
    double (*value)(const plot_frame* f, int32_t body, int component);
    int component;
} quantity;

static double of_q(const plot_frame* f, int32_t body, int i)
{
    return f->frame->q[(f->planar ? 3 : 7) * body + i];
}

static double of_v(const plot_frame* f, int32_t body, int i)
{
    return f->frame->v[(f->planar ? 3 : 6) * body + i];
}

static double speed(const plot_frame* f, int32_t body, int i)
{
    (void)i;
    const double xy = hypot(of_v(f, body, 0), of_v(f, body, 1));
    return f->planar ? xy : hypot(xy, of_v(f, body, 2));
}

/* Sum of the contact forces on the body: mean over the step that led to the frame. */
static double force(const plot_frame* f, int32_t body, int i)
{
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    double sum = 0.0;
    for (int32_t n = 0; n < f->frame->contact_count; ++n) {
        const perp_contact* c = &f->frame->contacts[n];
        if (c->body_a != body && c->body_b != body) {
            continue;
        }
        const double o = c->normal[j] * c->tangent[k] - c->normal[k] * c->tangent[j];
        const double p =
            c->impulse[0] * c->normal[i] + c->impulse[1] * c->tangent[i] + c->impulse[2] * o;
        sum += c->body_b == body ? p : -p;
    }
    return sum / f->step;
}

static double energy(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    const perp_energy e = f->frame->energy;
    return i == 0 ? e.kinetic : i == 1 ? e.potential : e.total;
}

static double ledger(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    return perp_ledger_entry(&f->ledger, i);
}

static double momentum_error(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    return f->frame->info.momentum_error[i];
}

static double crossings(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    (void)i;
    return f->frame->info.crossings;
}

static double momentum(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    return f->momentum[i];
}

static double certificate(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    const perp_contact_residual c = f->frame->info.certificate;
    return i == 0 ? c.dynamics : i == 1 ? c.normal : i == 2 ? c.friction : c.joints;
}

static double solver(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    const perp_step_info* info = &f->frame->info;
    return i == 0   ? info->report.iterations
           : i == 1 ? info->report.residual
           : i == 2 ? info->contacts
                    : info->penetration;
}

static double joint_error(const plot_frame* f, int32_t body, int i)
{
    (void)body;
    return f->frame->info.joint_error[i];
}

static double of_joint_coordinate(const plot_frame* f, int32_t joint, int i)
{
    return f->frame->joints[joint].coordinate[i];
}

static double of_joint_error(const plot_frame* f, int32_t joint, int i)
{
    return f->frame->joints[joint].error[i];
}

static const quantity of_joint[] = {
    {"coordinate.1", AXIS_COORDINATE, 0, of_joint_coordinate, 0},
    {"coordinate.2", AXIS_COORDINATE, 0, of_joint_coordinate, 1},
    {"coordinate.3", AXIS_COORDINATE, 0, of_joint_coordinate, 2},
    {"error.length", AXIS_JOINT_ERROR, 0, of_joint_error, 0},
    {"error.angle", AXIS_JOINT_ERROR, 0, of_joint_error, 1},
    {0},
};

static const quantity of_body[] = {
    {"position.x", AXIS_POSITION, 0, of_q, 0},
    {"position.y", AXIS_POSITION, 0, of_q, 1},
    {"position.z", AXIS_POSITION, 3, of_q, 2},
    {"angle", AXIS_ANGLE, 2, of_q, 2},
    {"orientation.w", AXIS_ORIENTATION, 3, of_q, 3},
    {"orientation.x", AXIS_ORIENTATION, 3, of_q, 4},
    {"orientation.y", AXIS_ORIENTATION, 3, of_q, 5},
    {"orientation.z", AXIS_ORIENTATION, 3, of_q, 6},
    {"velocity.x", AXIS_VELOCITY, 0, of_v, 0},
    {"velocity.y", AXIS_VELOCITY, 0, of_v, 1},
    {"velocity.z", AXIS_VELOCITY, 3, of_v, 2},
    {"speed", AXIS_VELOCITY, 0, speed, 0},
    {"angular_velocity", AXIS_SPIN, 2, of_v, 2},
    {"angular_velocity.x", AXIS_SPIN, 3, of_v, 3},
    {"angular_velocity.y", AXIS_SPIN, 3, of_v, 4},
    {"angular_velocity.z", AXIS_SPIN, 3, of_v, 5},
    {"force.x", AXIS_FORCE, 0, force, 0},
    {"force.y", AXIS_FORCE, 0, force, 1},
    {"force.z", AXIS_FORCE, 3, force, 2},
    {0},
};

static const quantity of_all[] = {
    {"energy.kinetic", AXIS_ENERGY, 0, energy, 0},
    {"energy.potential", AXIS_ENERGY, 0, energy, 1},
    {"energy.total", AXIS_ENERGY, 0, energy, 2},
    {"ledger.change", AXIS_LEDGER, 0, ledger, 0},
    {"ledger.forces", AXIS_LEDGER, 0, ledger, 1},
    {"ledger.drag", AXIS_LEDGER, 0, ledger, 2},
    {"ledger.springs", AXIS_LEDGER, 0, ledger, 3},
    {"ledger.motors", AXIS_LEDGER, 0, ledger, 4},
    {"ledger.prescribed", AXIS_LEDGER, 0, ledger, 5},
    {"ledger.friction", AXIS_LEDGER, 0, ledger, 6},
    {"ledger.impacts", AXIS_LEDGER, 0, ledger, 7},
    {"ledger.joints", AXIS_LEDGER, 0, ledger, 8},
    {"ledger.scheme.gap", AXIS_LEDGER, 0, ledger, 9},
    {"ledger.scheme.joints", AXIS_LEDGER, 0, ledger, 10},
    {"ledger.scheme.gyroscopic", AXIS_LEDGER, 0, ledger, 11},
    {"ledger.scheme.springs", AXIS_LEDGER, 0, ledger, 12},
    {"ledger.scheme.step_loss", AXIS_LEDGER, 0, ledger, 13},
    {"ledger.scheme.projection", AXIS_LEDGER, 0, ledger, 14},
    {"ledger.scheme.extrapolation", AXIS_LEDGER, 0, ledger, 15},
    {"ledger.unexplained", AXIS_LEDGER, 0, ledger, 16},
    {"momentum.x", AXIS_MOMENTUM, 0, momentum, 0},
    {"momentum.y", AXIS_MOMENTUM, 0, momentum, 1},
    {"momentum.z", AXIS_MOMENTUM, 3, momentum, 2},
    {"angular", AXIS_ANGULAR, 2, momentum, 5},
    {"angular.x", AXIS_ANGULAR, 3, momentum, 3},
    {"angular.y", AXIS_ANGULAR, 3, momentum, 4},
    {"angular.z", AXIS_ANGULAR, 3, momentum, 5},
    {"certificate.dynamics", AXIS_CERTIFICATE, 0, certificate, 0},
    {"certificate.normal", AXIS_CERTIFICATE, 0, certificate, 1},
    {"certificate.friction", AXIS_CERTIFICATE, 0, certificate, 2},
    {"certificate.joints", AXIS_CERTIFICATE, 0, certificate, 3},
    {"solver.iterations", AXIS_ITERATIONS, 0, solver, 0},
    {"solver.residual", AXIS_RESIDUAL, 0, solver, 1},
    {"solver.contacts", AXIS_CONTACTS, 0, solver, 2},
    {"solver.penetration", AXIS_PENETRATION, 0, solver, 3},
    {"solver.crossings", AXIS_CROSSINGS, 0, crossings, 0},
    {"momentum_error.linear", AXIS_MOMENTUM_ERROR, 0, momentum_error, 0},
    {"momentum_error.angular", AXIS_MOMENTUM_ERROR, 0, momentum_error, 1},
    {"joint_error.length", AXIS_JOINT_ERROR, 0, joint_error, 0},
    {"joint_error.angle", AXIS_JOINT_ERROR, 0, joint_error, 1},
    {0},
};

/* ---- what was asked for ---------------------------------------------------------------------------*/

typedef struct curve {
    const quantity* quantity;
    int32_t body;  /* or joint; -1: none */
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
    int dimension;
    curve* curve;
    int count, capacity;
    char folder[512];
} plot;

static bool add_curve(plot* p, const quantity* q, int32_t body, bool in_group)
{
    if (p->count == p->capacity) {
        const int wide = p->capacity == 0 ? 16 : 2 * p->capacity;
        curve* more = realloc(p->curve, (size_t)wide * sizeof *more);
        if (more == NULL) {
            return false;
        }
        p->curve = more;
        p->capacity = wide;
    }
    p->curve[p->count++] =
        (curve){.quantity = q, .body = body, .high = -INFINITY, .in_group = in_group, .zero = true};
    return true;
}

/* The type of a joint determines its number of coordinates; others are not offered. */
static bool joint_lacks(const plot* p, const quantity* q, int32_t joint)
{
    return q->axis == AXIS_COORDINATE &&
           q->component >= perp_model_joint_info(p->model, joint).coordinates;
}

/* What recordings of format version 2 do not have. */
static bool is_account(const quantity* q)
{
    return q->axis == AXIS_LEDGER || q->axis == AXIS_MOMENTUM_ERROR || q->axis == AXIS_CROSSINGS;
}

static bool matches(const quantity* q, const char* name)
{
    const size_t length = strlen(name);
    return strcmp(q->name, name) == 0 ||
           (strncmp(q->name, name, length) == 0 && q->name[length] == '.');
}

/* `position` names all of position.x, position.y, ... */
static int add_matches(plot* p, const quantity* table, const char* name, int32_t body)
{
    int found = 0;
    for (const quantity* q = table; q->name != NULL; ++q) {
        const bool there = perp_recording_has_ledger(p->recording) || !is_account(q);
        if (there && matches(q, name) && (q->dimension == 0 || q->dimension == p->dimension) &&
            !(table == of_joint && joint_lacks(p, q, body))) {
            found += add_curve(p, q, body, strcmp(q->name, name) != 0) ? 1 : 0;
        }
    }
    return found;
}

/* The own name of a body or joint may hold dots: every dot may be where it ends. */
static int add_of_one(plot* p, const char* name, const quantity* table,
                      int32_t (*find)(const perp_model* model, const char* name))
{
    char* owner = strdup(name);
    int found = 0;
    for (char* dot = owner; found == 0 && dot != NULL && (dot = strchr(dot, '.')) != NULL; ++dot) {
        *dot = '\0';
        const int32_t index = find(p->model, owner);
        *dot = '.';
        if (index >= 0) {
            found = add_matches(p, table, dot + 1, index);
        }
    }
    free(owner);
    return found;
}

/* All names, for the suggestion after a misspelt one. */
static int fail_unknown_name(const plot* p, const char* name)
{
    for (const quantity* q = of_all; q->name != NULL; ++q) {
        if (is_account(q) && matches(q, name)) {
            return cli_fail(
                p->args->json, CLI_BAD_INPUT,
                "%.400s: no '%.200s': recorded in format version 2, which has no energy "
                "ledger, momentum errors or crossings: run its scene again",
                p->args->word[0], name);
        }
    }
    const int32_t bodies = perp_model_body_count(p->model);
    const size_t most = 2 * sizeof of_all / sizeof of_all[0] +
                        (size_t)bodies * (sizeof of_body / sizeof of_body[0]) + 1;
    char** list = calloc(most, sizeof *list);
    size_t count = 0;
    for (const quantity* q = of_all; list != NULL && q->name != NULL; ++q) {
        list[count++] = strdup(q->name);
        if (strchr(q->name, '.') != NULL) { /* "energy" stands for all of it */
            list[count++] = strndup(q->name, strcspn(q->name, "."));
        }
    }
    for (int32_t b = 0; list != NULL && b < bodies; ++b) {
        const char* body = perp_model_body_name(p->model, b);
        if (strlen(body) > 24) {
            continue; /* too long for the edit distance */
        }
        for (const quantity* q = of_body; q->name != NULL; ++q) {
            char full[64];
            (void)snprintf(full, sizeof full, "%s.%s", body, q->name);
            if (q->dimension == 0 || q->dimension == p->dimension) {
                list[count++] = strdup(full);
            }
        }
    }
    const char* nearest = list != NULL ? cli_nearest(name, (const char* const*)list) : NULL;
    const int exit_status =
        nearest != NULL
            ? cli_fail(p->args->json, CLI_BAD_INPUT,
                       "%.400s: no quantity '%.200s': did you mean '%s'?", p->args->word[0], name,
                       nearest)
            : cli_fail(p->args->json, CLI_BAD_INPUT,
                       "%.400s: no quantity '%.200s': expected BODY.position.x, energy.total, ...; "
                       "see 'perp help plot'",
                       p->args->word[0], name);
    for (size_t i = 0; list != NULL && i < count; ++i) {
        free(list[i]);
    }
    free(list);
    return exit_status;
}

static int find_curves(plot* p)
{
    for (int i = 1; i < p->args->word_count; ++i) {
        const char* name = p->args->word[i];
        if (add_of_one(p, name, of_body, perp_model_body_find) == 0 &&
            add_of_one(p, name, of_joint, perp_model_joint_find) == 0 &&
            add_matches(p, of_all, name, -1) == 0) {
            return fail_unknown_name(p, name);
        }
    }
    return CLI_DONE;
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
    perp_ledger sum = {0};
    for (int64_t k = 0; k < perp_recording_frame_count(p->recording); ++k) {
        perp_frame frame;
        status = perp_recording_frame(p->recording, k, &frame);
        if (status != PERP_OK) {
            break;
        }
        plot_frame f = {.frame = &frame,
                        .planar = p->dimension == 2,
                        .step = frame.adaptive_step > 0.0 ? 0.5 * frame.adaptive_step
                                                          : perp_scene_run_settings(p->scene).step};
        page_momentum(p->model, &frame, f.momentum);
        perp_ledger_add(&sum, &frame.info.ledger);
        f.ledger = sum;
        fprintf(file, "%.17g", frame.time);
        for (int i = 0; i < p->count; ++i) {
            const curve* c = &p->curve[i];
            const double x = c->quantity->value(&f, c->body, c->quantity->component);
            p->curve[i].high = x > c->high ? x : c->high;
            p->curve[i].zero = c->zero && x == 0.0;
            fprintf(file, " %.17g", x);
        }
        (void)fputc('\n', file);
    }
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

static void put_title(FILE* file, const plot* p, const curve* c)
{
    if (c->body < 0) {
        put_quoted(file, c->quantity->name);
        return;
    }
    /* the quantity must stay readable behind a long name */
    const bool of =
        c->quantity >= of_joint && c->quantity < of_joint + sizeof of_joint / sizeof of_joint[0];
    json_t* clean = page_text(of ? perp_model_joint_name(p->model, c->body)
                                 : perp_model_body_name(p->model, c->body));
    const char* body = json_string_value(clean);
    size_t bytes = 0;
    int letters = 0;
    for (; body[bytes] != '\0' && letters < 24; ++bytes) {
        letters += ((unsigned char)body[bytes + 1] & 0xc0) != 0x80;
    }
    char title[256];
    (void)snprintf(title, sizeof title, "%.*s%s.%s", (int)(bytes < 120 ? bytes : 120), body,
                   body[bytes] != '\0' ? "..." : "", c->quantity->name);
    put_quoted(file, title);
    json_decref(clean);
}

/* Most terms of a ledger are 0 in most scenes; all of them are drawn only if nothing else would be. */
static bool is_left_out(const curve* c)
{
    return c->quantity->axis == AXIS_LEDGER && c->in_group && c->zero;
}

static void put_panel(FILE* file, const plot* p, plot_axis axis, int panel, int panels)
{
    bool positive = false, first = true, all = true;
    for (int i = 0; i < p->count; ++i) {
        const bool own = p->curve[i].quantity->axis == axis;
        positive = positive || (own && p->curve[i].high > 0.0);
        all = all && !(own && !is_left_out(&p->curve[i]));
    }
    fprintf(file, "set ylabel '%s'\n", axes[axis].label);
    if (p->out == NULL) {
        (void)fputs("unset ylabel\n", file); /* there is no room */
    }
    (void)fputs(axes[axis].log && positive ? "set logscale y\nset format y '%.0e'\n"
                                           : "unset logscale y\nset format y '%g'\n",
                file);
    (void)fputs(panel + 1 == panels ? "set xlabel 'time'\n" : "unset xlabel\n", file);
    (void)fputs("plot ", file);
    for (int i = 0, colour = 1; i < p->count; ++i) {
        if (p->curve[i].quantity->axis != axis || (!all && is_left_out(&p->curve[i]))) {
            continue;
        }
        fprintf(file, "%s'data' using 1:%d with lines linetype %d linewidth 1.5 title ",
                first ? "" : ", ", i + 2, colour++);
        put_title(file, p, &p->curve[i]);
        (void)fputs(" noenhanced", file);
        first = false;
    }
    (void)fputc('\n', file);
}

static int count_panels(const plot* p, bool used[AXIS_COUNT])
{
    int panels = 0;
    memset(used, 0, AXIS_COUNT * sizeof *used);
    for (int i = 0; i < p->count; ++i) {
        panels += used[p->curve[i].quantity->axis] ? 0 : 1;
        used[p->curve[i].quantity->axis] = true;
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
    bool used[AXIS_COUNT];
    const int panels = count_panels(p, used);
    (void)fputs("set encoding utf8\n", file);
    put_terminal(file, p, panels);
    (void)fputs("set output 'figure'\nset key outside top center horizontal\nset grid\n"
                "set autoscale xfix\nset lmargin 11\n",
                file);
    if (panels > 1) {
        fprintf(file, "set multiplot layout %d,1\n", panels);
    }
    for (int axis = 0, panel = 0; axis < AXIS_COUNT; ++axis) {
        if (used[axis]) {
            put_panel(file, p, (plot_axis)axis, panel++, panels);
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
    p->dimension = perp_model_dimension(p->model);
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
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "FIG.svg", "the figure (-o), .svg, .png or .pdf; without it, on the terminal", NULL},
    {"--size", "WxH", "pixels (pdf: 120 to the inch; terminal: letters)", NULL},
    {"--json", NULL, "print the result as one JSON object", NULL},
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
        "JOINT.coordinate.1|2|3, JOINT.error.length|angle, or of the scene, "
        "joint_error.length|angle\n"
        "(the largest), energy.kinetic|potential|total, momentum.x|y|z, angular.x|y|z (planar: "
        "angular),\n"
        "certificate.dynamics|normal|friction|joints, solver.iterations|residual|contacts|\n"
        "penetration|crossings, momentum_error.linear|angular, and of the energy ledger, summed "
        "since the\nstart, ledger.change|forces|drag|springs|motors|prescribed|friction|impacts|"
        "joints|unexplained,\nledger.scheme.gap|joints|gyroscopic|springs|step_loss|projection|"
        "extrapolation. Without the last\npart all of them (of the ledger, those that are not 0): "
        "ball.position, energy, ledger. Quantities\nof one kind share a panel.",
    .words_min = 2,
    .words_max = 1000,
    .option = options,
    .run = verb_plot,
};
