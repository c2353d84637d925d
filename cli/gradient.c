/* cli/gradient.c - `perp gradient`: the derivative of a measure by parameters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* The names of --by, separated by commas; text is changed. */
static int32_t split_names(char* text, const char** name)
{
    int32_t count = 0;
    for (char* at = text; at != NULL;) {
        char* comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (*at != '\0') {
            name[count++] = at;
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return count;
}

/* Relative difference between a derivative and what it is checked against. */
static double disagreement(double a, double b)
{
    const double size = fmax(fabs(a), fabs(b));
    return size > 0.0 ? fabs(a - b) / size : 0.0;
}

static json_t* flags_json(const perp_gradient_flags* f)
{
    json_t* o = json_object();
    json_object_set_new(o, "steps", json_integer((json_int_t)f->flagged));
    json_object_set_new(o, "of", json_integer((json_int_t)f->steps));
    json_object_set_new(o, "weak", json_integer((json_int_t)f->weak));
    json_object_set_new(o, "undetermined", json_integer((json_int_t)f->undetermined));
    json_object_set_new(o, "immaterial", json_integer((json_int_t)f->immaterial));
    json_object_set_new(o, "one_sided", json_integer((json_int_t)f->one_sided));
    json_object_set_new(o, "choice", json_integer((json_int_t)f->choice));
    json_object_set_new(o, "fallback", json_integer((json_int_t)f->fallback));
    json_object_set_new(o, "margin", cli_number(f->margin));
    json_object_set_new(o, "margin_time", cli_number(f->margin_time));
    json_object_set_new(o, "first_time", cli_number(f->first_time));
    return o;
}

/* What smoothing changed: of the measure, and of the derivatives where the run itself has any. */
static json_t* smoothed_json(const perp_gradient_def* def, const perp_gradient* g)
{
    const perp_gradient_smoothed s = perp_gradient_smoothed_of(g);
    json_t *o = json_object(), *exact = json_object(), *bias = json_object();
    for (int32_t i = 0; i < def->parameter_count; ++i) {
        const double own = perp_gradient_exact_of(g, i);
        json_object_set_new(exact, def->parameter[i], cli_number(own));
        json_object_set_new(bias, def->parameter[i],
                            s.compared ? cli_number(perp_gradient_of(g, i) - own) : json_null());
    }
    json_object_set_new(o, "kappa", cli_number(s.kappa));
    json_object_set_new(o, "value", cli_number(perp_gradient_value(g)));
    json_object_set_new(o, "exact_value", cli_number(s.exact));
    json_object_set_new(o, "bias", cli_number(s.bias));
    json_object_set_new(o, "exact_gradient", exact);
    json_object_set_new(o, "exact_flagged", flags_json(&s.flags));
    json_object_set_new(o, "gradient_bias", bias);
    return o;
}

static void print_json(const perp_scene* scene, const perp_gradient_def* def,
                       const perp_gradient* g, const double* difference, const double* spread)
{
    const perp_gradient_flags flags = perp_gradient_flags_of(g);
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(CLI_DONE)));
    json_object_set_new(o, "scene", cli_text(perp_scene_name(scene)));
    json_object_set_new(o, "measure", cli_text(def->measure));
    json_object_set_new(o, "value", cli_number(perp_gradient_value(g)));
    json_t* gradient = json_object();
    for (int32_t i = 0; i < def->parameter_count; ++i) {
        json_object_set_new(gradient, def->parameter[i], cli_number(perp_gradient_of(g, i)));
    }
    json_object_set_new(o, "gradient", gradient);
    json_object_set_new(o, "flagged", flags_json(&flags));
    if (def->smooth > 0.0) {
        json_object_set_new(o, "smoothed", smoothed_json(def, g));
    }
    if (difference != NULL) {
        json_t* check = json_object();
        for (int32_t i = 0; i < def->parameter_count; ++i) {
            json_t* one = json_object();
            json_object_set_new(one, "difference", cli_number(difference[i]));
            json_object_set_new(one, "spread", cli_number(spread[i]));
            json_object_set_new(one, "disagreement",
                                cli_number(disagreement(perp_gradient_of(g, i), difference[i])));
            json_object_set_new(check, def->parameter[i], one);
        }
        json_object_set_new(o, "check", check);
    }
    cli_print_json(o);
}

static void print_flags(const perp_gradient_flags* f, bool smoothed)
{
    if (f->flagged == 0) {
        printf("%sno step of %lld is flagged%s: the derivative is that of the %srun", cli_green(),
               (long long)f->steps, cli_plain(), smoothed ? "smoothed " : "");
    } else {
        printf("%s%lld of %lld steps are flagged%s, the first at t = %.6g: the derivative may be "
               "one-sided\nor that of other impulses (at the border of a state %lld, not unique "
               "%lld, rule of the scheme %lld,\nother laws %lld)",
               cli_red(), (long long)f->flagged, (long long)f->steps, cli_plain(), f->first_time,
               (long long)f->weak, (long long)f->undetermined, (long long)f->choice,
               (long long)f->fallback);
    }
    if (f->one_sided > 0) {
        printf("\nat %lld steps at the border of a state, the one to which the direction leads was "
               "taken",
               (long long)f->one_sided);
    }
    if (isfinite(f->margin)) {
        printf("\nsmallest margin %.3g at t = %.6g", f->margin, f->margin_time);
    }
    printf("\n");
}

static void print_bias(const perp_gradient_def* def, const perp_gradient* g)
{
    const perp_gradient_smoothed s = perp_gradient_smoothed_of(g);
    printf("smoothed: products of complementarity %.6g m (g h)^2. The run itself gives %.15g: bias "
           "%.6g\n",
           s.kappa, s.exact, s.bias);
    if (!s.compared) {
        printf("its own gradient is flagged at %lld steps, so that of the smoothed run has nothing "
               "to be\ncompared with\n",
               (long long)s.flags.flagged);
        return;
    }
    printf("%s  %-24s %-24s %s%s\n", cli_bold(), "by", "derivative of the run", "bias",
           cli_plain());
    for (int32_t i = 0; i < def->parameter_count; ++i) {
        const double own = perp_gradient_exact_of(g, i);
        printf("  ");
        cli_put_name(def->parameter[i], 24);
        printf(" %-24.15g %.6g\n", own, perp_gradient_of(g, i) - own);
    }
}

static void print_text(const perp_gradient_def* def, const perp_gradient* g,
                       const double* difference, const double* spread)
{
    const perp_gradient_flags flags = perp_gradient_flags_of(g);
    printf("%s", cli_bold());
    cli_put_name(def->measure, 0);
    printf("%s = %.15g\n", cli_plain(), perp_gradient_value(g));
    printf("%s  %-24s %-24s%s%s\n", cli_bold(), "by", "derivative",
           difference != NULL ? " difference               off       uncertain" : "", cli_plain());
    for (int32_t i = 0; i < def->parameter_count; ++i) {
        printf("  ");
        cli_put_name(def->parameter[i], 24);
        printf(" %-24.15g", perp_gradient_of(g, i));
        if (difference != NULL) {
            printf(" %-24.15g %-9.1e %.1e", difference[i],
                   disagreement(perp_gradient_of(g, i), difference[i]), spread[i]);
        }
        printf("\n");
    }
    if (def->smooth > 0.0) {
        print_bias(def, g);
    }
    print_flags(&flags, def->smooth > 0.0);
}

static int show_gradient(const cli_args* args, const char* path, perp_context* context,
                         perp_scene* scene, perp_gradient_def* def)
{
    perp_gradient* g = NULL;
    double *difference = NULL, *spread = NULL;
    perp_status status = perp_gradient_create(context, scene, def, &g);
    if (status == PERP_OK && cli_flag(args, "--check")) {
        const size_t n = (size_t)def->parameter_count + 1;
        difference = calloc(n, sizeof *difference);
        spread = calloc(n, sizeof *spread);
        if (difference == NULL || spread == NULL) {
            free(difference);
            free(spread);
            perp_gradient_destroy(g);
            return cli_fail(args->json, CLI_FAILED, "out of memory");
        }
        status = perp_gradient_difference(context, scene, def, difference, spread);
    }
    if (status != PERP_OK) {
        free(difference);
        free(spread);
        perp_gradient_destroy(g);
        const char* text = perp_context_error(context);
        const bool named = strncmp(text, path, strlen(path)) == 0; /* by the reader of the scene */
        return cli_fail(args->json, cli_exit_of(status), "%s%s%s", named ? "" : path,
                        named ? "" : ": ", text);
    }
    if (args->json) {
        print_json(scene, def, g, difference, spread);
    } else {
        print_text(def, g, difference, spread);
    }
    free(difference);
    free(spread);
    perp_gradient_destroy(g);
    return CLI_DONE;
}

/* ---- along a direction ---------------------------------------------------------------------------*/

/* "mu=1,v=-0.5": names as of --by, and the part of each. False: one has no number. */
static bool split_direction(char* text, const char** name, double* part, int32_t* count)
{
    *count = split_names(text, name);
    for (int32_t i = 0; i < *count; ++i) {
        char *equals = strrchr(name[i], '='), *end = NULL;
        if (equals == NULL || equals == name[i]) {
            return false;
        }
        *equals = '\0';
        part[i] = strtod(equals + 1, &end);
        if (end == equals + 1 || *end != '\0' || !isfinite(part[i])) {
            return false;
        }
    }
    return *count > 0;
}

static void print_direction_json(const perp_scene* scene, const perp_gradient_def* def,
                                 const double* part, double value, double derivative,
                                 const perp_gradient_flags* flags)
{
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(CLI_DONE)));
    json_object_set_new(o, "scene", cli_text(perp_scene_name(scene)));
    json_object_set_new(o, "measure", cli_text(def->measure));
    json_object_set_new(o, "value", cli_number(value));
    json_t* direction = json_object();
    for (int32_t i = 0; i < def->parameter_count; ++i) {
        json_object_set_new(direction, def->parameter[i], cli_number(part[i]));
    }
    json_object_set_new(o, "direction", direction);
    json_object_set_new(o, "derivative", cli_number(derivative));
    json_object_set_new(o, "flagged", flags_json(flags));
    cli_print_json(o);
}

static int show_direction(const cli_args* args, const char* path, perp_context* context,
                          perp_scene* scene, const perp_gradient_def* def, const double* part)
{
    double value, derivative;
    perp_gradient_flags flags;
    const perp_status status =
        perp_gradient_direction(context, scene, def, part, &value, &derivative, &flags);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s: %s", path,
                        perp_context_error(context));
    }
    if (args->json) {
        print_direction_json(scene, def, part, value, derivative, &flags);
        return CLI_DONE;
    }
    printf("%s", cli_bold());
    cli_put_name(def->measure, 0);
    printf("%s = %.15g\none-sided derivative along the direction %.15g\n", cli_plain(), value,
           derivative);
    print_flags(&flags, false);
    return CLI_DONE;
}

static int read_direction(const cli_args* args, const char* path, perp_context* context,
                          perp_scene* scene, perp_gradient_def* def, const char* direction)
{
    const size_t size = strlen(direction) + 1;
    char* text = malloc(size);
    const char** name = calloc(size, sizeof *name);
    double* part = calloc(size, sizeof *part);
    int exit_status = CLI_FAILED;
    if (text == NULL || name == NULL || part == NULL) {
        exit_status = cli_fail(args->json, CLI_FAILED, "out of memory");
    } else {
        memcpy(text, direction, size);
        def->parameter = name;
        exit_status = split_direction(text, name, part, &def->parameter_count)
                          ? show_direction(args, path, context, scene, def, part)
                          : cli_fail(args->json, CLI_BAD_INPUT,
                                     "--direction: expected NAME=NUMBER,..., got '%s'", direction);
    }
    free(part);
    free(name);
    free(text);
    return exit_status;
}

static int find_gradient(const cli_args* args, const char* path, const cli_overrides* overrides,
                         perp_context* context, perp_scene** scene, perp_sim** sim)
{
    (void)sim;
    const char *of = cli_value(args, "--of"), *by = cli_value(args, "--by");
    const char* threshold = cli_value(args, "--threshold");
    const char* direction = cli_value(args, "--direction");
    const char* smooth = cli_value(args, "--smooth");
    if (of == NULL || (by == NULL && direction == NULL)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "gradient: --of MEASURE and --by PARAM,... (or --direction) are needed");
    }
    if (direction != NULL &&
        (by != NULL || cli_flag(args, "--check") || cli_flag(args, "--adjoint") ||
         cli_flag(args, "--checkpoints") || smooth != NULL)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "gradient: --direction goes forward along one direction; leave out --by, "
                        "--check, --adjoint, --checkpoints and --smooth");
    }
    if (cli_flag(args, "--forward") && cli_flag(args, "--adjoint")) {
        return cli_fail(args->json, CLI_BAD_INPUT, "gradient: --forward or --adjoint, not both");
    }
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = of;
    def.mode = cli_flag(args, "--forward") ? PERP_GRADIENT_FORWARD : PERP_GRADIENT_ADJOINT;
    def.checkpoints = cli_flag(args, "--checkpoints");
    if (threshold != NULL) {
        char* end;
        def.threshold = strtod(threshold, &end);
        if (end == threshold || *end != '\0' || !(def.threshold >= 0.0)) {
            return cli_fail(args->json, CLI_BAD_INPUT,
                            "--threshold: expected a number >= 0, got '%s'", threshold);
        }
    }
    if (smooth != NULL) {
        char* end;
        def.smooth = strtod(smooth, &end);
        if (end == smooth || *end != '\0' || !(def.smooth >= 1e-8 && def.smooth <= 1.0)) {
            return cli_fail(args->json, CLI_BAD_INPUT,
                            "--smooth: expected a barrier parameter from 1e-8 to 1, got '%s'",
                            smooth);
        }
    }
    const int loaded = cli_scene_load(args, context, path, overrides, scene);
    if (loaded != CLI_DONE) {
        return loaded;
    }
    if (direction != NULL) {
        return read_direction(args, path, context, *scene, &def, direction);
    }
    char* text = malloc(strlen(by) + 1);
    const char** name = calloc(strlen(by) + 1, sizeof *name);
    int exit_status = CLI_FAILED;
    if (text != NULL && name != NULL) {
        memcpy(text, by, strlen(by) + 1);
        def.parameter = name;
        def.parameter_count = split_names(text, name);
        exit_status = def.parameter_count > 0
                          ? show_gradient(args, path, context, *scene, &def)
                          : cli_fail(args->json, CLI_BAD_INPUT, "--by: no parameter is named");
    } else {
        exit_status = cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    free(name);
    free(text);
    return exit_status;
}

static int verb_gradient(const cli_args* args)
{
    return cli_scene_with(args, find_gradient);
}

static const cli_option options[] = {
    {"--of", "MEASURE", "measure of the scene"},
    {"--by", "PARAM,...", "parameters, or JSON pointers of numbers of the scene"},
    {"--direction", "PARAM=X,...",
     "one-sided derivative along a direction, through steps at the border of a state"},
    {"--check", NULL, "compare with central differences of whole runs"},
    {"--forward", NULL, "carry derivatives along with the run (few parameters)"},
    {"--adjoint", NULL, "carry derivatives back (many parameters; the default)"},
    {"--checkpoints", NULL, "adjoint: keep sqrt(steps) states and repeat the steps between"},
    {"--smooth", "KAPPA",
     "derivative of a run with smoothed laws, whose products are KAPPA m (g h)^2; prints its bias"},
    {"--threshold", "X", "margin below which a step is flagged; default 1e-6"},
    {"--step", "H", "override the step"},
    {"--duration", "T", "override the duration"},
    {"--tolerance", "X", "largest residual that is accepted"},
    {"--set", "POINTER=VALUE", "override any place of the scene"},
    {"--param", "NAME=VALUE", "set a parameter of the scene"},
    CLI_URDF_OPTIONS,
    {"--json", NULL, "print one JSON object"},
    {0},
};

const cli_verb cli_verb_gradient = {
    .name = "gradient",
    .usage = "SCENE --of MEASURE --by PARAM,... [--check] [--json]",
    .summary = "derivatives of a measure of a run by parameters",
    .text =
        "The derivative of the computed run: every step is differentiated at its solution, with "
        "its active set\nand its features as they are. Steps at which a contact is at the border "
        "between two states have no\nderivative, only one-sided ones: they are flagged and "
        "counted. Tight tolerances (1e-10) give more digits.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_gradient,
};
