/* cli/compare_print.c - the result of `perp compare`: aligned text, markdown, JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "scene_diff.h"

#define BODIES_SHOWN 20
#define CELL 24
#define DIFFERENCES_SHOWN 20
#define VALUE_SIZE 48 /* bytes of a value that are shown */

/* ---- tables -----------------------------------------------------------------------------------*/

/* A table of numbers with a name in front: as wide as its names need. */
typedef struct table {
    bool markdown;
    int name_width;
} table;

/* The name of a row; '|' is escaped in markdown. */
static void put_first(const table* t, const char* name)
{
    if (!t->markdown) {
        printf("  ");
        cli_put_name(name, t->name_width);
        return;
    }
    char* escaped = malloc(2 * strlen(name) + 1);
    char* to = escaped;
    for (const char* c = name; escaped != NULL; ++c) {
        if (*c == '|' || *c == '\\' || *c == '`' || *c == '*' || *c == '_' || *c == '<') {
            *to++ = '\\';
        }
        *to++ = *c;
        if (*c == '\0') {
            break;
        }
    }
    printf("| ");
    cli_put_name(escaped != NULL ? escaped : "?", 0);
    free(escaped);
    printf(" |");
}

static void put_cell(const table* t, const char* text)
{
    printf(t->markdown ? " %s |" : " %12s", text);
}

static void put_number(const table* t, double x)
{
    char text[CELL];
    (void)snprintf(text, sizeof text, "%.6g", x);
    put_cell(t, text);
}

static void put_small(const table* t, double x)
{
    char text[CELL];
    (void)snprintf(text, sizeof text, x == 0.0 ? "0" : "%.3e", x);
    put_cell(t, text);
}

static void put_heads(const table* t, const char* first, const char* const* head, int count)
{
    if (!t->markdown) {
        printf("%s", cli_bold());
    }
    put_first(t, first);
    for (int i = 0; i < count; ++i) {
        put_cell(t, head[i]);
    }
    printf("%s\n", t->markdown ? "" : cli_plain());
    if (t->markdown) {
        printf("| --- |");
        for (int i = 0; i < count; ++i) {
            printf(" ---: |");
        }
        printf("\n");
    }
}

/* ---- text -------------------------------------------------------------------------------------*/

static void put_side(char letter, const compare_side* s, bool markdown)
{
    const perp_scene_run run = perp_scene_run_settings(s->scene);
    printf(markdown ? "- **%c** " : "%c  ", letter);
    cli_put(s->path);
    printf(": ");
    cli_put_name(perp_scene_name(s->scene), 0);
    printf(", %s, %s, %s friction, solver %s, %s %.6g; %lld frames, t = %.6g to %.6g%s\n",
           run.stepper, cli_contact(s->scene).name, run.cone, run.solver,
           run.error > 0.0 ? "adaptive step of error" : "step",
           run.error > 0.0 ? run.error : run.step, (long long)s->frames, s->begin, s->end,
           perp_recording_finished(s->recording) ? "" : " (ended early)");
}

/* The bodies of `of` that the other has not. */
static void put_lonely(const compare_side* of, const compare_side* other, char letter,
                       bool markdown)
{
    const perp_model* model = perp_scene_model(of->scene);
    int count = 0;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const char* name = perp_model_body_name(model, i);
        if (perp_model_body_find(perp_scene_model(other->scene), name) >= 0) {
            continue;
        }
        if (count == 0) {
            printf("%sonly in %c, not compared:", markdown ? "- " : "   ", letter);
        }
        if (count < BODIES_SHOWN) {
            printf("%s", count > 0 ? ", " : " ");
            cli_put_name(name, 0);
        }
        ++count;
    }
    if (count > BODIES_SHOWN) {
        printf(", and %d more", count - BODIES_SHOWN);
    }
    printf(count > 0 ? "\n" : "");
}

/* What was changed between the two scenes: one line for each value. */
static void put_differences(const compare_result* r, bool markdown)
{
    json_t* found = scene_diff(perp_scene_text(r->a.scene), perp_scene_text(r->b.scene));
    const size_t count = json_array_size(found);
    const char *begin = markdown ? "- " : "   ", *mark = markdown ? "`" : "";
    if (count == 0) {
        printf("%sthe two scenes are the same\n", begin);
    } else {
        printf("%sthe scenes differ in %zu value%s:\n", begin, count, count > 1 ? "s" : "");
    }
    for (size_t i = 0; i < count && i < DIFFERENCES_SHOWN; ++i) {
        const json_t* d = json_array_get(found, i);
        const char* name = json_string_value(json_object_get(d, "name"));
        char a[VALUE_SIZE], b[VALUE_SIZE];
        scene_diff_text(json_object_get(d, "a"), a, sizeof a);
        scene_diff_text(json_object_get(d, "b"), b, sizeof b);
        printf("  %s%s", begin, mark);
        cli_put(json_string_value(json_object_get(d, "path")));
        printf("%s", mark);
        if (name != NULL) {
            printf(" (");
            cli_put_name(name, 0);
            printf(")");
        }
        printf(": %s", mark);
        cli_put(a);
        printf("%s in A, %s", mark, mark);
        cli_put(b);
        printf("%s in B\n", mark);
    }
    if (count > DIFFERENCES_SHOWN) {
        printf("  %s%zu more; --json lists all\n", begin, count - DIFFERENCES_SHOWN);
    }
    json_decref(found);
}

static void put_how(const compare_result* r, bool markdown)
{
    if (r->identical) {
        printf("%sthe same bits in every frame\n", markdown ? "- " : "   ");
        return;
    }
    printf("%scompared at %lld times from %.6g to %.6g", markdown ? "- " : "   ",
           (long long)r->times, r->from, r->to);
    if (r->between_a > 0 || r->between_b > 0) {
        printf("; interpolated at %lld of them in A, %lld in B", (long long)r->between_a,
               (long long)r->between_b);
    }
    printf("\n");
}

static int by_distance(const void* x, const void* y)
{
    const compare_body* const* a = x;
    const compare_body* const* b = y;
    const double p = (*a)->distance.max, q = (*b)->distance.max;
    const int order = isnan(p) || isnan(q) ? isnan(q) - isnan(p) : (p < q) - (p > q);
    return order != 0 ? order : ((*a)->a > (*b)->a) - ((*a)->a < (*b)->a);
}

/* All bodies in the order of A, or, if there are many, those that are furthest apart. */
static void put_bodies(const compare_result* r, bool markdown)
{
    static const char* const head[] = {"distance", "at t", "at the end",
                                       "turned",   "at t", "at the end"};
    const perp_model* model = perp_scene_model(r->a.scene);
    const compare_body** shown = calloc((size_t)r->body_count + 1, sizeof *shown);
    int32_t count = 0;
    table t = {markdown, 10};
    for (int32_t i = 0; shown != NULL && i < r->body_count; ++i) {
        if (!r->body[i].fixed || r->body[i].distance.max != 0.0) {
            shown[count++] = &r->body[i];
        }
    }
    if (count > BODIES_SHOWN) {
        qsort(shown, (size_t)count, sizeof *shown, by_distance);
    }
    const int32_t rows = count < BODIES_SHOWN ? count : BODIES_SHOWN;
    for (int32_t i = 0; i < rows; ++i) {
        const int width = cli_width(perp_model_body_name(model, shown[i]->a));
        t.name_width = width > t.name_width ? width : t.name_width;
    }
    put_heads(&t, "body", head, 6);
    for (int32_t i = 0; i < rows; ++i) {
        put_first(&t, perp_model_body_name(model, shown[i]->a));
        put_small(&t, shown[i]->distance.max);
        put_number(&t, shown[i]->distance.time);
        put_small(&t, shown[i]->distance.final);
        put_small(&t, shown[i]->turn.max);
        put_number(&t, shown[i]->turn.time);
        put_small(&t, shown[i]->turn.final);
        printf("\n");
    }
    if (count > rows) {
        printf("\n%s%d more are nearer to each other; --json lists all\n", markdown ? "" : "  ",
               (int)(count - rows));
    }
    free(shown);
}

static void put_row(const table* t, const char* name, double a, double b, bool small)
{
    put_first(t, name);
    const double value[] = {a, b, b - a};
    for (int i = 0; i < 3; ++i) {
        if (small) {
            put_small(t, value[i]);
        } else {
            put_number(t, value[i]);
        }
    }
    printf("\n");
}

static double mean_iterations(const compare_side* s)
{
    return s->frames > 1 ? s->iterations_sum / (double)(s->frames - 1) : 0.0;
}

static void put_quantities(const compare_result* r, bool markdown)
{
    static const char* const head[] = {"A", "B", "B - A"};
    const compare_side *a = &r->a, *b = &r->b;
    const table t = {markdown, 24};
    char apart[48], end[48];
    (void)snprintf(apart, sizeof apart, "energy, t = %.4g", r->energy.time);
    (void)snprintf(end, sizeof end, "energy, t = %.4g", r->to);
    put_heads(&t, "", head, 3);
    put_row(&t, "energy at the start", a->energy_begin, b->energy_begin, false);
    if (r->energy.max > 0.0 && r->energy.time < r->to) {
        put_row(&t, apart, r->energy_furthest[0], r->energy_furthest[1], false);
    }
    put_row(&t, end, r->energy_final[0], r->energy_final[1], false);
    put_row(&t, "certificate: dynamics", a->certificate.dynamics, b->certificate.dynamics, true);
    put_row(&t, "certificate: normal", a->certificate.normal, b->certificate.normal, true);
    put_row(&t, "certificate: friction", a->certificate.friction, b->certificate.friction, true);
    put_row(&t, "certificate: joints", a->certificate.joints, b->certificate.joints, true);
    put_row(&t, "contacts, at most", a->contacts_max, b->contacts_max, false);
    put_row(&t, "contacts, in the end", a->contacts_final, b->contacts_final, false);
    put_row(&t, "penetration, at most", a->penetration_max, b->penetration_max, true);
    put_row(&t, "iterations, mean", mean_iterations(a), mean_iterations(b), false);
    put_row(&t, "iterations, at most", a->iterations_max, b->iterations_max, false);
    put_row(&t, "unsolved steps", (double)a->unsolved, (double)b->unsolved, false);
}

void compare_print_text(const compare_result* r, bool markdown)
{
    put_side('A', &r->a, markdown);
    put_side('B', &r->b, markdown);
    put_lonely(&r->a, &r->b, 'A', markdown);
    put_lonely(&r->b, &r->a, 'B', markdown);
    put_differences(r, markdown);
    put_how(r, markdown);
    printf("\n");
    put_bodies(r, markdown);
    printf("\n");
    put_quantities(r, markdown);
}

/* ---- JSON -------------------------------------------------------------------------------------*/

static json_t* side_json(const compare_side* s)
{
    const perp_scene_run run = perp_scene_run_settings(s->scene);
    const perp_contact_residual* c = &s->certificate;
    json_t* o = json_object();
    json_object_set_new(o, "file", cli_text(s->path));
    json_object_set_new(o, "scene", cli_text(perp_scene_name(s->scene)));
    json_object_set_new(o, "stepper", json_string(run.stepper));
    json_object_set_new(o, "contact", json_string(cli_contact(s->scene).name));
    json_object_set_new(o, "friction", json_string(run.cone));
    json_object_set_new(o, "solver", json_string(run.solver));
    json_object_set_new(o, "step",
                        run.error > 0.0 ? json_pack("{s:o}", "error", cli_number(run.error))
                                        : cli_number(run.step));
    json_object_set_new(o, "finished", json_boolean(perp_recording_finished(s->recording)));
    json_object_set_new(o, "frames", json_integer(s->frames));
    json_object_set_new(o, "steps", json_integer(s->steps));
    json_object_set_new(
        o, "time",
        json_pack("{s:o, s:o}", "begin", cli_number(s->begin), "end", cli_number(s->end)));
    json_object_set_new(o, "energy",
                        json_pack("{s:o, s:o}", "initial", cli_number(s->energy_begin), "final",
                                  cli_number(s->energy_end)));
    json_object_set_new(o, "certificate",
                        json_pack("{s:o, s:o, s:o, s:o}", "dynamics", cli_number(c->dynamics),
                                  "normal", cli_number(c->normal), "friction",
                                  cli_number(c->friction), "joints", cli_number(c->joints)));
    json_object_set_new(
        o, "contacts",
        json_pack("{s:i, s:i}", "max", (int)s->contacts_max, "final", (int)s->contacts_final));
    json_object_set_new(o, "penetration",
                        json_pack("{s:o}", "max", cli_number(s->penetration_max)));
    json_object_set_new(o, "solver_iterations",
                        json_pack("{s:o, s:i}", "mean", cli_number(mean_iterations(s)), "max",
                                  (int)s->iterations_max));
    json_object_set_new(o, "unsolved", json_integer(s->unsolved));
    return o;
}

static json_t* gap_json(const compare_gap* gap)
{
    return json_pack("{s:o, s:o, s:o}", "max", cli_number(gap->max), "time", cli_number(gap->time),
                     "final", cli_number(gap->final));
}

static json_t* lonely_json(const compare_side* of, const compare_side* other)
{
    json_t* names = json_array();
    const perp_model* model = perp_scene_model(of->scene);
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const char* name = perp_model_body_name(model, i);
        if (perp_model_body_find(perp_scene_model(other->scene), name) < 0) {
            json_array_append_new(names, cli_text(name));
        }
    }
    return names;
}

void compare_print_json(const compare_result* r)
{
    const perp_model* model = perp_scene_model(r->a.scene);
    json_t* o = json_object();
    json_t* bodies = json_object();
    json_object_set_new(o, "status", json_string("ok"));
    json_object_set_new(o, "a", side_json(&r->a));
    json_object_set_new(o, "b", side_json(&r->b));
    json_object_set_new(o, "only_in_a", lonely_json(&r->a, &r->b));
    json_object_set_new(o, "only_in_b", lonely_json(&r->b, &r->a));
    json_object_set_new(o, "scene_differences",
                        scene_diff(perp_scene_text(r->a.scene), perp_scene_text(r->b.scene)));
    json_object_set_new(o, "from", cli_number(r->from));
    json_object_set_new(o, "to", cli_number(r->to));
    json_object_set_new(o, "times", json_integer(r->times));
    json_object_set_new(
        o, "interpolated",
        json_pack("{s:I, s:I}", "a", (json_int_t)r->between_a, "b", (json_int_t)r->between_b));
    json_object_set_new(o, "identical", json_boolean(r->identical));
    json_object_set_new(o, "furthest",
                        r->furthest < 0
                            ? json_null()
                            : cli_text(perp_model_body_name(model, r->body[r->furthest].a)));
    json_object_set_new(o, "energy_difference", gap_json(&r->energy));
    for (int32_t i = 0; i < r->body_count; ++i) {
        json_object_set_new(bodies, perp_model_body_name(model, r->body[i].a),
                            json_pack("{s:o, s:o}", "distance", gap_json(&r->body[i].distance),
                                      "rotation", gap_json(&r->body[i].turn)));
    }
    json_object_set_new(o, "bodies", bodies);
    cli_print_json(o);
}
