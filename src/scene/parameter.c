/* src/scene/parameter.c - see parameter.h. */
#include "scene/parameter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/expr.h"

enum { NOT_BEGUN, BEGUN, DONE };
enum { PARAMETER_LIMIT = 1000, NUMBER_SIZE = 40 };

/* A place of an expression where a parameter stands. */
typedef struct use {
    size_t begin, end;
    int32_t parameter;
} use;

typedef struct finder {
    perpi_reader* r;
    use* item;
    size_t count, capacity;
} finder;

static perp_status evaluate_parameter(perpi_reader* r, int32_t i);

/* "unknown parameter 'mm': did you mean 'mu'?" is the parser's message if no parameter is near. */
static perp_status unknown_parameter(const perpi_reader* r, const char* name, perpi_symbol* symbol)
{
    const perpi_parameters* p = r->parameters;
    const char* best = NULL;
    for (int32_t i = 0; i < p->count; ++i) {
        const char* const both[] = {best != NULL ? best : p->item[i].name, p->item[i].name, NULL};
        best = perpi_nearest(name, both);
    }
    if (best == NULL) {
        symbol->unknown = true;
        return PERP_OK;
    }
    return perpi_fail(r->context, PERP_ERROR_INPUT,
                      "unknown parameter '%.80s' (did you mean '%.80s'?)", name, best);
}

static perp_status find_parameter(void* user, const perpi_expr_name* name, perpi_symbol* symbol)
{
    finder* f = user;
    perpi_reader* r = f->r;
    perpi_parameters* p = r->parameters;
    int32_t i = 0;
    while (p != NULL && i < p->count && strcmp(p->item[i].name, name->text) != 0) {
        ++i;
    }
    if (p == NULL) {
        symbol->unknown = true;
        return PERP_OK;
    }
    if (i == p->count) {
        return unknown_parameter(r, name->text, symbol);
    }
    if (p->evaluating >= 0) {
        p->needs[p->evaluating * p->count + i] = true;
    } else {
        p->used[i] = true;
    }
    const perp_status status = evaluate_parameter(r, i);
    symbol->failed = status == PERP_ERROR_INPUT;
    if (status != PERP_OK) {
        return symbol->failed ? PERP_OK : status;
    }
    PERPI_TRY(perpi_grow(r->context, &f->item, &f->capacity, f->count + 1, sizeof *f->item));
    f->item[f->count++] = (use){name->begin, name->end, i};
    symbol->value = p->item[i].value;
    return PERP_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------*/

/* The expression with numbers, in parentheses, for the parameters. */
static perp_status expand(perpi_reader* r, const char* given, const finder* f, const char** text)
{
    const size_t length = strlen(given);
    char* out = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, length + f->count * (NUMBER_SIZE + 2) + 1, 1, &out));
    size_t at = 0, n = 0;
    for (size_t i = 0; i < f->count; ++i) {
        const use* u = &f->item[i];
        char number[NUMBER_SIZE];
        const size_t digits =
            perpi_number_write(r->parameters->item[u->parameter].value, number, sizeof number - 1);
        if (digits == 0) {
            return perpi_reader_fail(r, PERP_ERROR_MEMORY, "out of memory");
        }
        memcpy(out + n, given + at, u->begin - at);
        n += u->begin - at;
        out[n++] = '(';
        memcpy(out + n, number, digits);
        n += digits;
        out[n++] = ')';
        at = u->end;
    }
    strcpy(out + n, given + at);
    *text = out;
    return PERP_OK;
}

perp_status perpi_read_expression(perpi_reader* r, const char* given, bool constant, double* number,
                                  const char** text)
{
    finder f = {.r = r};
    const perpi_expr_names names = {
        .find = find_parameter,
        .user = &f,
        .no_time =
            constant ? "this number is the same at all times, but the time, t, stands" : NULL};
    perpi_expr* expr = NULL;
    perp_status status = perpi_expr_compile_names(r->context, given, &names, &expr);
    if (status == PERP_OK && (constant || (f.count > 0 && !perpi_expr_uses_time(expr)))) {
        *number = perpi_expr_eval_names(expr, 0.0, NULL);
        *text = NULL;
    } else if (status == PERP_OK) {
        *text = given;
        status = f.count > 0 ? expand(r, given, &f, text) : PERP_OK;
    }
    perpi_expr_destroy(r->context, expr);
    perpi_free(r->context, f.item);
    return status;
}

/* ---- the parameters --------------------------------------------------------------------------------*/

/* Also from within the expression of another one. */
static perp_status evaluate_parameter(perpi_reader* r, int32_t i)
{
    perpi_parameters* p = r->parameters;
    if (p->state[i] == DONE) {
        return PERP_OK;
    }
    if (p->state[i] == BEGUN) {
        p->failed = p->evaluating;
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "depends on itself: '%.80s' is an expression of it, too",
                          p->item[i].name);
    }
    const char* text = json_string_value(p->value[i]);
    double number = json_number_value(p->value[i]);
    if (text != NULL) {
        const int32_t before = p->evaluating;
        const char* none = NULL;
        p->state[i] = BEGUN;
        p->evaluating = i;
        const perp_status status = perpi_read_expression(r, text, true, &number, &none);
        p->evaluating = before;
        p->failed = status != PERP_OK && p->failed < 0 ? i : p->failed;
        PERPI_TRY(status);
    }
    p->item[i].value = number;
    p->state[i] = DONE;
    return PERP_OK;
}

static perp_status check_name(perpi_reader* r, const char* name)
{
    if (!perpi_expr_is_identifier(name)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be called by letters, digits and _, not beginning with a "
                                 "digit, got '%.80s'",
                                 name);
    }
    if (perpi_expr_is_reserved(name)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "expressions use the name '%.80s' themselves: choose another one",
                                 name);
    }
    return PERP_OK;
}

static perp_status allocate_parameters(perpi_reader* r, size_t count, perpi_parameters* p)
{
    PERPI_TRY(perpi_alloc(r->context, count, sizeof *p->item, &p->item));
    PERPI_TRY(perpi_alloc(r->context, count, sizeof *p->value, &p->value));
    PERPI_TRY(perpi_alloc(r->context, count, sizeof *p->state, &p->state));
    PERPI_TRY(perpi_alloc(r->context, count, sizeof *p->used, &p->used));
    return perpi_alloc(r->context, count * count, sizeof *p->needs, &p->needs);
}

perp_status perpi_read_parameters(perpi_reader* r, const json_t* root, perpi_parameters* p)
{
    json_t* object = json_object_get(root, "parameters");
    p->evaluating = p->failed = -1;
    r->parameters = p;
    if (object == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "parameters");
    if (!json_is_object(object)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be an object of names and numbers, got %s",
                                 perpi_json_kind(object));
    }
    const size_t count = json_object_size(object);
    if (count > PARAMETER_LIMIT) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be at most %d, got %zu",
                                 PARAMETER_LIMIT, count);
    }
    PERPI_TRY(allocate_parameters(r, count, p));
    for (void* i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        const json_t* value = json_object_iter_value(i);
        const char* name = json_object_iter_key(i);
        const size_t item = perpi_reader_enter(r, name);
        PERPI_TRY(check_name(r, name));
        if (!json_is_number(value) && !json_is_string(value)) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "must be a number, or an expression of other parameters, "
                                     "got %s",
                                     perpi_json_kind(value));
        }
        p->item[p->count].name = name;
        p->value[p->count++] = value;
        perpi_reader_leave(r, item);
    }
    for (int32_t i = 0; i < p->count; ++i) {
        const perp_status status = evaluate_parameter(r, i);
        const size_t item = perpi_reader_enter(r, p->item[p->failed >= 0 ? p->failed : i].name);
        if (status != PERP_OK) {
            return perpi_reader_fail_member(r, status);
        }
        if (!isfinite(p->item[i].value)) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a finite number, got %g",
                                     p->item[i].value);
        }
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

void perpi_parameters_free(perp_context* context, perpi_parameters* p)
{
    perpi_free(context, p->item);
    perpi_free(context, p->value);
    perpi_free(context, p->state);
    perpi_free(context, p->used);
    perpi_free(context, p->needs);
    *p = (perpi_parameters){.evaluating = -1};
}

void perpi_parameters_spread_use(perpi_parameters* p)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < p->count; ++i) {
            for (int32_t k = 0; p->used[i] && k < p->count; ++k) {
                if (p->needs[i * p->count + k] && !p->used[k]) {
                    p->used[k] = changed = true;
                }
            }
        }
    }
}
