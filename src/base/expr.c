/* src/base/expr.c - compile an expression in t to postfix, and run it with its derivative.
 *
 * A recursive descent over eight levels, loosest first:
 *     disjunction  conjunction {or conjunction}
 *     conjunction  negation {and negation}
 *     negation     {not} comparison
 *     comparison   sum [< <= > >= == != sum]     (no chains: 0 < t < 1 would compare 0 or 1 with 1)
 *     sum          term {+ - term}
 *     term         unary {* / unary}
 *     unary        {+ -} power
 *     power        primary [^ unary]             (right associative; -2^2 = -4)
 * Every instruction comes from at least one character of its own, so that the program is never
 * longer than the text and one block of memory holds both.
 *
 * NaN: an operation on a NaN gives a NaN. C's fmin, pow(1, NaN) and comparisons would hide it. Only
 * if() drops the branch that it does not take, which is its purpose: if(t > 0, log(t), 0). And `0 and x`
 * is 0, `1 or x` is 1 for every x, NaN included: the answer does not depend on it.
 */
#include "base/expr_parts.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_LIMIT = 65536,
    DIGIT_LIMIT = 1024, /* of one number */
    NAME_LIMIT = 512,
};

typedef struct function {
    const char* name;
    perpi_opcode op;
    int arity; /* FOLDED: two or more, taken together one after the other */
} function;
enum { FOLDED = -1 };

static const function functions[] = {
    {"sin", OP_SIN, 1},      {"cos", OP_COS, 1},       {"tan", OP_TAN, 1},
    {"asin", OP_ASIN, 1},    {"acos", OP_ACOS, 1},     {"atan", OP_ATAN, 1},
    {"sinh", OP_SINH, 1},    {"cosh", OP_COSH, 1},     {"tanh", OP_TANH, 1},
    {"exp", OP_EXP, 1},      {"log", OP_LOG, 1},       {"log10", OP_LOG10, 1},
    {"sqrt", OP_SQRT, 1},    {"abs", OP_ABS, 1},       {"floor", OP_FLOOR, 1},
    {"ceil", OP_CEIL, 1},    {"sign", OP_SIGN, 1},     {"min", OP_MIN, FOLDED},
    {"max", OP_MAX, FOLDED}, {"atan2", OP_ATAN2, 2},   {"mod", OP_MOD, 2},
    {"pow", OP_POW, 2},      {"if", OP_IF, 3},         {"linear", OP_CURVE, 0},
    {"cubic", OP_CURVE, 0},  {"quintic", OP_CURVE, 0}, {"hypot", OP_HYPOT, FOLDED},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static const double ln_10 = 2.302585092994045684;
static const double pi = 3.141592653589793238;
static const double euler = 2.718281828459045235;

/* ---- compiling ---------------------------------------------------------------------------------*/

typedef struct parser {
    perp_context* context;
    const char* text;
    size_t at;
    int nesting;
    int depth;                     /* operands on the stack at this point of the program */
    const perpi_expr_names* names; /* of the caller; NULL: none */
    perpi_expr* expr;
} parser;

/* "expression '...': message at column N". A long text is cut: the column says where to look. */
static perp_status fail_at(parser* p, size_t at, const char* message)
{
    enum { SHOWN = 80 };
    char shown[SHOWN + 4];
    size_t n = 0;
    for (; n < SHOWN && p->text[n] != '\0'; ++n) {
        const unsigned char c = (unsigned char)p->text[n];
        shown[n] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
    }
    strcpy(shown + n, p->text[n] != '\0' ? "..." : "");
    return perpi_fail(p->context, PERP_ERROR_INPUT, "expression '%s': %s at column %zu", shown,
                      message, at + 1);
}

static void skip_space(parser* p)
{
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n' ||
           p->text[p->at] == '\r') {
        ++p->at;
    }
}

static bool accept(parser* p, char c)
{
    skip_space(p);
    if (p->text[p->at] != c) {
        return false;
    }
    ++p->at;
    return true;
}

static void emit(parser* p, perpi_opcode op, double constant, int taken)
{
    p->expr->program[p->expr->count++] = (perpi_instruction){op, constant};
    p->depth += 1 - taken;
    PERP_ASSERT(p->depth >= 1 && p->depth <= PERPI_EXPR_STACK);
}

static perp_status parse_disjunction(parser* p);
static perp_status parse_unary(parser* p);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* strtod obeys the locale, our grammar does not: the point is exchanged for the locale's. */
static perp_status parse_number(parser* p)
{
    const size_t start = p->at;
    char buffer[DIGIT_LIMIT + 32];
    size_t n = 0;
    bool digits = false;
    if (strspn(p->text + p->at, "0123456789.eE") > DIGIT_LIMIT) {
        return fail_at(p, start, "number of more than 1024 digits");
    }
    for (; is_digit(p->text[p->at]); ++p->at) {
        buffer[n++] = p->text[p->at];
        digits = true;
    }
    if (p->text[p->at] == '.') {
        ++p->at;
        const char* point = localeconv()->decimal_point;
        const size_t length = strlen(point);
        memcpy(buffer + n, point, length < 8 ? length : 8);
        n += length < 8 ? length : 8;
        for (; is_digit(p->text[p->at]); ++p->at) {
            buffer[n++] = p->text[p->at];
            digits = true;
        }
    }
    if (!digits) {
        return fail_at(p, start, "expected a digit beside '.'");
    }
    /* An exponent only if digits follow, so that "2*e" stays what it is. */
    if (p->text[p->at] == 'e' || p->text[p->at] == 'E') {
        const size_t sign = p->text[p->at + 1] == '+' || p->text[p->at + 1] == '-' ? 1 : 0;
        if (is_digit(p->text[p->at + 1 + sign])) {
            buffer[n++] = 'e';
            if (sign == 1) {
                buffer[n++] = p->text[p->at + 1];
            }
            for (p->at += 1 + sign; is_digit(p->text[p->at]) && n < DIGIT_LIMIT + 24; ++p->at) {
                buffer[n++] = p->text[p->at];
            }
        }
    }
    buffer[n] = '\0';
    const double value = strtod(buffer, NULL);
    if (!isfinite(value)) {
        return fail_at(p, start, "number too large for a double");
    }
    emit(p, OP_CONSTANT, value, 0);
    return PERP_OK;
}

static perp_status unknown_name(parser* p, size_t start, const char* name)
{
    const char* known[FUNCTION_COUNT + 4];
    for (int i = 0; i < FUNCTION_COUNT; ++i) {
        known[i] = functions[i].name;
    }
    known[FUNCTION_COUNT] = "t";
    known[FUNCTION_COUNT + 1] = "pi";
    known[FUNCTION_COUNT + 2] = "e";
    known[FUNCTION_COUNT + 3] = NULL;
    const char* nearest = perpi_nearest(name, known);
    char message[192];
    if (nearest != NULL) {
        snprintf(message, sizeof message, "unknown name '%.80s' (did you mean '%s'?)", name,
                 nearest);
    } else {
        snprintf(message, sizeof message, "unknown name '%.80s' (%s)", name,
                 p->names == NULL ? "the only variable is the time, t"
                 : p->names->no_time != NULL
                     ? "the scene has no such parameter"
                     : "the only variable is the time, t; the scene has no such parameter");
    }
    return fail_at(p, start, message);
}

/* A name of the caller. */
static perp_status parse_symbol(parser* p, size_t start, const char* name)
{
    if (p->names == NULL || p->names->find == NULL) {
        return unknown_name(p, start, name);
    }
    const perpi_expr_name found = {name, start, p->at};
    perpi_symbol symbol = {0};
    const perp_status status = p->names->find(p->names->user, &found, &symbol);
    if (status == PERP_ERROR_INPUT) {
        char message[1024];
        snprintf(message, sizeof message, "%.1000s", perp_context_error(p->context));
        return fail_at(p, start, message);
    }
    if (status == PERP_OK && symbol.failed) {
        return PERP_ERROR_INPUT;
    }
    if (status == PERP_OK && symbol.unknown) {
        return unknown_name(p, start, name);
    }
    if (status == PERP_OK) {
        emit(p, symbol.varies ? OP_SLOT : OP_CONSTANT,
             symbol.varies ? (double)symbol.slot : symbol.value, 0);
    }
    return status;
}

/* A number with signs before it, taken off the program again. */
static perp_status parse_constant(parser* p, double* value)
{
    const int32_t before = p->expr->count;
    skip_space(p);
    const size_t start = p->at;
    const perp_status status = parse_unary(p);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_instruction* at = p->expr->program + before;
    const int32_t made = p->expr->count - before;
    if (at[0].op != OP_CONSTANT || made > 2 || (made == 2 && at[1].op != OP_NEG)) {
        return fail_at(p, start, "the points of a curve must be numbers, not expressions,");
    }
    *value = made == 2 ? -at[0].constant : at[0].constant;
    p->expr->count = before;
    p->depth -= 1;
    return PERP_OK;
}

/* The points of a curve, `,` before each number, and its ')'. */
static perp_status parse_points(parser* p, perpi_curve_kind kind, size_t start)
{
    double* point = NULL;
    size_t count = 0, capacity = 0;
    perp_status status = PERP_OK;
    while (status == PERP_OK && accept(p, ',')) {
        status = perpi_grow(p->context, &point, &capacity, count + 1, sizeof *point);
        if (status == PERP_OK) {
            status = parse_constant(p, &point[count++]);
        }
    }
    if (status == PERP_OK && !accept(p, ')')) {
        status = fail_at(p, p->at, "expected ',' or ')'");
    }
    if (status == PERP_OK && (count < 2 || count % 2 != 0)) {
        status = fail_at(p, start, "a curve takes x, then pairs of time and value:");
    }
    perpi_expr* expr = p->expr;
    if (status == PERP_OK) {
        status = perpi_grow(p->context, &expr->curve, &expr->curve_capacity, expr->curve_count + 1,
                            sizeof *expr->curve);
    }
    for (size_t i = 2; status == PERP_OK && i < count; i += 2) {
        if (!(point[i] > point[i - 2])) {
            status = fail_at(p, start, "the times of a curve's points must ascend:");
        }
    }
    if (status == PERP_OK) {
        status = perpi_curve_create(p->context, kind, (int32_t)(count / 2), point, 2, 1,
                                    &expr->curve[expr->curve_count]);
    }
    perpi_free(p->context, point);
    if (status == PERP_OK) {
        emit(p, OP_CURVE, (double)expr->curve_count++, 1);
    }
    return status;
}

/* The arguments of a function, its name already read. */
static perp_status parse_call(parser* p, const function* f)
{
    char message[96];
    if (!accept(p, '(')) {
        snprintf(message, sizeof message, "expected '(' after '%s'", f->name);
        return fail_at(p, p->at, message);
    }
    if (f->op == OP_CURVE) {
        const size_t start = p->at;
        perpi_curve_kind kind = PERPI_CURVE_LINEAR;
        while (strcmp(f->name, perpi_curve_names[kind]) != 0) {
            ++kind;
        }
        const perp_status status = parse_disjunction(p);
        return status == PERP_OK ? parse_points(p, kind, start) : status;
    }
    const int least = f->arity == FOLDED ? 2 : f->arity;
    for (int i = 0; i < least || (f->arity == FOLDED && accept(p, ',')); ++i) {
        if (i > 0 && i < least && !accept(p, ',')) {
            snprintf(message, sizeof message, "expected ',': '%s' takes %d arguments%s,", f->name,
                     least, f->arity == FOLDED ? " or more" : "");
            return fail_at(p, p->at, message);
        }
        const perp_status status = parse_disjunction(p);
        if (status != PERP_OK) {
            return status;
        }
        if (f->arity == FOLDED && i > 0) {
            emit(p, f->op, 0.0, 2);
        }
    }
    if (!accept(p, ')')) {
        if (p->text[p->at] == ',') {
            snprintf(message, sizeof message, "expected ')': '%s' takes %d argument%s,", f->name,
                     f->arity, f->arity == 1 ? "" : "s");
            return fail_at(p, p->at, message);
        }
        return fail_at(p, p->at, "expected ')'");
    }
    if (f->arity != FOLDED) {
        emit(p, f->op, 0.0, f->arity);
    }
    return PERP_OK;
}

/* One part of a name: in brackets, or letters, digits and _. */
static perp_status lex_part(parser* p, char* name, size_t* length)
{
    const bool bracket = p->text[p->at] == '[';
    const size_t start = p->at;
    p->at += bracket ? 1 : 0;
    for (;; ++p->at) {
        const char c = p->text[p->at];
        if (bracket ? c == ']' || c == '\0' : !is_name(c)) {
            break;
        }
        if (*length + 2 >= NAME_LIMIT) {
            return fail_at(p, start, "name too long");
        }
        name[(*length)++] = bracket && c == '.' ? PERPI_NAME_DOT : c;
    }
    if (bracket && p->text[p->at] != ']') {
        return fail_at(p, start, "expected ']' after the name that begins");
    }
    p->at += bracket ? 1 : 0;
    return PERP_OK;
}

/* Parts joined by dots. */
static perp_status lex_name(parser* p, char name[NAME_LIMIT])
{
    size_t length = 0;
    perp_status status = lex_part(p, name, &length);
    while (status == PERP_OK && p->text[p->at] == '.' &&
           (is_name(p->text[p->at + 1]) || p->text[p->at + 1] == '[')) {
        name[length++] = '.';
        ++p->at;
        status = lex_part(p, name, &length);
    }
    name[length] = '\0';
    return status;
}

static perp_status parse_name(parser* p)
{
    char name[NAME_LIMIT];
    const size_t start = p->at;
    const perp_status status = lex_name(p, name);
    if (status != PERP_OK) {
        return status;
    }
    if (p->text[start] == '[') {
        return parse_symbol(p, start, name);
    }
    if (strcmp(name, "t") == 0) {
        if (p->names != NULL && p->names->no_time != NULL) {
            return fail_at(p, start, p->names->no_time);
        }
        emit(p, OP_TIME, 0.0, 0);
        return PERP_OK;
    }
    if (strcmp(name, "pi") == 0 || strcmp(name, "e") == 0) {
        emit(p, OP_CONSTANT, name[0] == 'p' ? pi : euler, 0);
        return PERP_OK;
    }
    for (int i = 0; i < FUNCTION_COUNT; ++i) {
        if (strcmp(name, functions[i].name) == 0) {
            return parse_call(p, &functions[i]);
        }
    }
    return parse_symbol(p, start, name);
}

static perp_status parse_primary(parser* p)
{
    skip_space(p);
    const char c = p->text[p->at];
    if (is_digit(c) || c == '.') {
        return parse_number(p);
    }
    if (is_name(c) || c == '[') {
        return parse_name(p);
    }
    if (!accept(p, '(')) {
        return fail_at(p, p->at, "expected a number, a name or '('");
    }
    const perp_status status = parse_disjunction(p);
    if (status != PERP_OK) {
        return status;
    }
    return accept(p, ')') ? PERP_OK : fail_at(p, p->at, "expected ')'");
}

static perp_status parse_power(parser* p)
{
    const perp_status status = parse_primary(p);
    if (status != PERP_OK || !accept(p, '^')) {
        return status;
    }
    /* A tower of powers nests too. */
    if (p->nesting >= PERPI_EXPR_NESTING) {
        return fail_at(p, p->at, "nested deeper than 64 levels");
    }
    ++p->nesting;
    const perp_status inner = parse_unary(p);
    --p->nesting;
    if (inner == PERP_OK) {
        emit(p, OP_POW, 0.0, 2);
    }
    return inner;
}

static perp_status parse_unary(parser* p)
{
    bool negative = false;
    for (;;) {
        if (accept(p, '-')) {
            negative = !negative;
        } else if (!accept(p, '+')) {
            break;
        }
    }
    const perp_status status = parse_power(p);
    if (status == PERP_OK && negative) {
        emit(p, OP_NEG, 0.0, 1);
    }
    return status;
}

static perp_status parse_term(parser* p)
{
    perp_status status = parse_unary(p);
    while (status == PERP_OK) {
        const perpi_opcode op = accept(p, '*') ? OP_MUL : accept(p, '/') ? OP_DIV : OP_TIME;
        if (op == OP_TIME) {
            break;
        }
        status = parse_unary(p);
        if (status == PERP_OK) {
            emit(p, op, 0.0, 2);
        }
    }
    return status;
}

static perp_status parse_sum(parser* p)
{
    perp_status status = parse_term(p);
    while (status == PERP_OK) {
        const perpi_opcode op = accept(p, '+') ? OP_ADD : accept(p, '-') ? OP_SUB : OP_TIME;
        if (op == OP_TIME) {
            break;
        }
        status = parse_term(p);
        if (status == PERP_OK) {
            emit(p, op, 0.0, 2);
        }
    }
    return status;
}

static bool accept_comparison(parser* p, perpi_opcode* op)
{
    skip_space(p);
    const char* s = p->text + p->at;
    const bool equal = s[0] != '\0' && s[1] == '=';
    if (s[0] == '<') {
        *op = equal ? OP_LESS_EQUAL : OP_LESS;
    } else if (s[0] == '>') {
        *op = equal ? OP_GREATER_EQUAL : OP_GREATER;
    } else if (equal && s[0] == '=') {
        *op = OP_EQUAL;
    } else if (equal && s[0] == '!') {
        *op = OP_NOT_EQUAL;
    } else {
        return false;
    }
    p->at += equal ? 2 : 1;
    return true;
}

static perp_status parse_comparison(parser* p)
{
    perp_status status = parse_sum(p);
    perpi_opcode op;
    if (status == PERP_OK && accept_comparison(p, &op)) {
        status = parse_sum(p);
        if (status == PERP_OK) {
            emit(p, op, 0.0, 2);
            const size_t again = p->at;
            if (accept_comparison(p, &op)) {
                status = fail_at(p, again, "comparisons do not chain: use parentheses,");
            }
        }
    }
    return status;
}

/* A word of the logic, or its sign. */
static bool accept_logic(parser* p, const char* word, const char* sign)
{
    skip_space(p);
    const char* s = p->text + p->at;
    const size_t length = strlen(word), signs = strlen(sign);
    if (strncmp(s, word, length) == 0 && !is_name(s[length]) && s[length] != '.') {
        p->at += length;
        return true;
    }
    if (strncmp(s, sign, signs) == 0 && !(signs == 1 && s[1] == '=')) {
        p->at += signs;
        return true;
    }
    return false;
}

static perp_status parse_negation(parser* p)
{
    bool any = false, odd = false;
    while (accept_logic(p, "not", "!")) {
        any = true;
        odd = !odd;
    }
    const perp_status status = parse_comparison(p);
    if (status == PERP_OK && any) {
        emit(p, OP_NOT, 0.0, 1);
        if (!odd) { /* twice: 0 or 1 */
            emit(p, OP_NOT, 0.0, 1);
        }
    }
    return status;
}

static perp_status parse_conjunction(parser* p)
{
    perp_status status = parse_negation(p);
    while (status == PERP_OK && accept_logic(p, "and", "&&")) {
        status = parse_negation(p);
        if (status == PERP_OK) {
            emit(p, OP_AND, 0.0, 2);
        }
    }
    return status;
}

/* The only entry that recursion goes through beside powers, so that nesting is counted here. */
static perp_status parse_disjunction(parser* p)
{
    if (p->nesting >= PERPI_EXPR_NESTING) {
        return fail_at(p, p->at, "nested deeper than 64 levels");
    }
    ++p->nesting;
    perp_status status = parse_conjunction(p);
    while (status == PERP_OK && accept_logic(p, "or", "||")) {
        status = parse_conjunction(p);
        if (status == PERP_OK) {
            emit(p, OP_OR, 0.0, 2);
        }
    }
    --p->nesting;
    return status;
}

perp_status perpi_expr_compile(perp_context* context, const char* text, perpi_expr** expr)
{
    return perpi_expr_compile_names(context, text, NULL, expr);
}

perp_status perpi_expr_compile_names(perp_context* context, const char* text,
                                     const perpi_expr_names* names, perpi_expr** expr)
{
    const size_t length = strlen(text);
    if (length > LENGTH_LIMIT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "expression of %zu characters: limit %d",
                          length, LENGTH_LIMIT);
    }
    parser p = {.context = context, .text = text, .names = names};
    const size_t head = sizeof *p.expr + (length + 1) * sizeof p.expr->program[0];
    perp_status status = perpi_alloc(context, head + length + 1, 1, &p.expr);
    if (status != PERP_OK) {
        return status;
    }
    p.expr->text = (char*)p.expr + head;
    memcpy(p.expr->text, text, length + 1);
    status = parse_disjunction(&p);
    skip_space(&p);
    if (status == PERP_OK && p.text[p.at] != '\0') {
        status = fail_at(&p, p.at, p.text[p.at] == ')' ? "unmatched ')'" : "expected an operator");
    }
    if (status != PERP_OK) {
        perpi_expr_destroy(context, p.expr);
        return status;
    }
    *expr = p.expr;
    return PERP_OK;
}

void perpi_expr_destroy(perp_context* context, perpi_expr* expr)
{
    if (expr == NULL) {
        return;
    }
    for (size_t i = 0; i < expr->curve_count; ++i) {
        perpi_curve_destroy(context, expr->curve[i]);
    }
    perpi_free(context, expr->curve);
    perpi_free(context, expr);
}

const char* perpi_expr_text(const perpi_expr* expr)
{
    return expr->text;
}

/* ---- evaluating --------------------------------------------------------------------------------*/

/* f'(a) a': a constant stays one even where f' is infinite, as in sqrt(0). */
static double chain(double slope, double d)
{
    return d == 0.0 ? 0.0 : slope * d;
}

static double sign_of(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; /* keeps 0 and NaN */
}

static perpi_dual power(perpi_dual a, perpi_dual b)
{
    if (isnan(a.x) || isnan(b.x)) {
        return (perpi_dual){NAN, NAN};
    }
    const double x = pow(a.x, b.x);
    double d = b.x == 0.0 ? 0.0 : chain(b.x * pow(a.x, b.x - 1.0), a.d);
    if (b.d != 0.0 && !(a.x == 0.0 && b.x > 0.0)) {
        d += x * log(a.x) * b.d;
    }
    return (perpi_dual){x, d};
}

/* a - b floor(a/b): the sign of b, so that mod(t, T) repeats over negative times too. */
static perpi_dual modulo(perpi_dual a, perpi_dual b)
{
    double r = fmod(a.x, b.x);
    if (r != 0.0 && (r < 0.0) != (b.x < 0.0)) {
        r += b.x;
    }
    const double turns = isinf(b.x) ? 0.0 : round((a.x - r) / b.x);
    return (perpi_dual){r, a.d - chain(turns, b.d)};
}

static perpi_dual hypotenuse(perpi_dual a, perpi_dual b)
{
    if (isnan(a.x) || isnan(b.x)) {
        return (perpi_dual){NAN, NAN}; /* C's hypot(inf, NaN) is inf */
    }
    const double x = hypot(a.x, b.x);
    return (perpi_dual){x, chain(a.x / x, a.d) + chain(b.x / x, b.d)};
}

/* 0 and x is 0, whatever x is. */
static double conjunction(double a, double b)
{
    return a == 0.0 || b == 0.0 ? 0.0 : isnan(a) || isnan(b) ? NAN : 1.0;
}

static double negation(double a)
{
    return isnan(a) ? NAN : a == 0.0 ? 1.0 : 0.0;
}

perpi_dual perpi_expr_unary(perpi_opcode op, perpi_dual a)
{
    const double x = a.x, d = a.d;
    switch (op) {
    case OP_NEG: return (perpi_dual){-x, -d};
    case OP_NOT: return (perpi_dual){negation(x), 0.0};
    case OP_SIN: return (perpi_dual){sin(x), chain(cos(x), d)};
    case OP_COS: return (perpi_dual){cos(x), chain(-sin(x), d)};
    case OP_TAN: return (perpi_dual){tan(x), chain(1.0 + tan(x) * tan(x), d)};
    case OP_ASIN: return (perpi_dual){asin(x), chain(1.0 / sqrt((1.0 - x) * (1.0 + x)), d)};
    case OP_ACOS: return (perpi_dual){acos(x), chain(-1.0 / sqrt((1.0 - x) * (1.0 + x)), d)};
    case OP_ATAN: return (perpi_dual){atan(x), chain(1.0 / (1.0 + x * x), d)};
    case OP_SINH: return (perpi_dual){sinh(x), chain(cosh(x), d)};
    case OP_COSH: return (perpi_dual){cosh(x), chain(sinh(x), d)};
    case OP_TANH: return (perpi_dual){tanh(x), chain(1.0 - tanh(x) * tanh(x), d)};
    case OP_EXP: return (perpi_dual){exp(x), chain(exp(x), d)};
    case OP_LOG: return (perpi_dual){log(x), chain(1.0 / x, d)};
    case OP_LOG10: return (perpi_dual){log10(x), chain(1.0 / (x * ln_10), d)};
    case OP_SQRT: return (perpi_dual){sqrt(x), chain(0.5 / sqrt(x), d)};
    case OP_ABS: return (perpi_dual){fabs(x), chain(sign_of(x), d)};
    case OP_FLOOR: return (perpi_dual){floor(x), 0.0};
    case OP_CEIL: return (perpi_dual){ceil(x), 0.0};
    case OP_SIGN: return (perpi_dual){sign_of(x), 0.0};
    default: return (perpi_dual){NAN, NAN};
    }
}

static perpi_dual compare(perpi_opcode op, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (perpi_dual){NAN, 0.0};
    }
    bool holds = false;
    switch (op) {
    case OP_LESS: holds = a < b; break;
    case OP_LESS_EQUAL: holds = a <= b; break;
    case OP_GREATER: holds = a > b; break;
    case OP_GREATER_EQUAL: holds = a >= b; break;
    case OP_EQUAL: holds = a == b; break;
    default: holds = a != b; break;
    }
    return (perpi_dual){holds ? 1.0 : 0.0, 0.0};
}

static perpi_dual apply_binary(perpi_opcode op, perpi_dual a, perpi_dual b)
{
    switch (op) {
    case OP_ADD: return (perpi_dual){a.x + b.x, a.d + b.d};
    case OP_SUB: return (perpi_dual){a.x - b.x, a.d - b.d};
    case OP_MUL: return (perpi_dual){a.x * b.x, chain(b.x, a.d) + chain(a.x, b.d)};
    case OP_DIV: {
        const double x = a.x / b.x;
        return (perpi_dual){x, chain(1.0 / b.x, a.d) - chain(x / b.x, b.d)};
    }
    case OP_POW: return power(a, b);
    case OP_MIN: return isnan(a.x) || a.x <= b.x ? a : b;
    case OP_MAX: return isnan(a.x) || a.x >= b.x ? a : b;
    case OP_ATAN2: {
        const double r2 = a.x * a.x + b.x * b.x;
        return (perpi_dual){atan2(a.x, b.x), chain(b.x / r2, a.d) - chain(a.x / r2, b.d)};
    }
    case OP_MOD: return modulo(a, b);
    case OP_HYPOT: return hypotenuse(a, b);
    case OP_AND: return (perpi_dual){conjunction(a.x, b.x), 0.0};
    case OP_OR: return (perpi_dual){negation(conjunction(negation(a.x), negation(b.x))), 0.0};
    default: return compare(op, a.x, b.x);
    }
}

static perpi_dual choose(perpi_dual condition, perpi_dual a, perpi_dual b)
{
    if (isnan(condition.x)) {
        return (perpi_dual){NAN, NAN};
    }
    return condition.x != 0.0 ? a : b;
}

int perpi_expr_run(const perpi_expr* expr, int32_t first, int32_t end, double t, const double* slot,
                   int32_t by, perpi_dual stack[PERPI_EXPR_STACK])
{
    int n = 0;
    for (int32_t i = first; i < end; ++i) {
        const perpi_opcode op = expr->program[i].op;
        if (op == OP_CONSTANT) {
            stack[n++] = (perpi_dual){expr->program[i].constant, 0.0};
        } else if (op == OP_TIME) {
            stack[n++] = (perpi_dual){t, by < 0 ? 1.0 : 0.0};
        } else if (op == OP_SLOT) {
            const int32_t which = (int32_t)expr->program[i].constant;
            stack[n++] = (perpi_dual){slot[which], which == by ? 1.0 : 0.0};
        } else if (op == OP_CURVE) {
            const perpi_curve* curve = expr->curve[(size_t)expr->program[i].constant];
            perpi_dual* a = &stack[n - 1];
            double slope;
            a->x = perpi_curve_at(curve, a->x, &slope);
            a->d = chain(slope, a->d);
        } else if (op == OP_IF) {
            n -= 2;
            stack[n - 1] = choose(stack[n - 1], stack[n], stack[n + 1]);
        } else if (op == OP_NEG || op == OP_NOT || (op >= OP_SIN && op <= OP_SIGN)) {
            stack[n - 1] = perpi_expr_unary(op, stack[n - 1]);
        } else {
            n -= 1;
            stack[n - 1] = apply_binary(op, stack[n - 1], stack[n]);
        }
    }
    return n;
}

double perpi_expr_eval(const perpi_expr* expr, double t, double* derivative)
{
    perpi_dual stack[PERPI_EXPR_STACK];
    (void)perpi_expr_run(expr, 0, expr->count, t, NULL, -1, stack);
    if (derivative != NULL) {
        *derivative = stack[0].d;
    }
    return stack[0].x;
}

double perpi_expr_eval_names(const perpi_expr* expr, double t, const double* slot)
{
    perpi_dual stack[PERPI_EXPR_STACK];
    (void)perpi_expr_run(expr, 0, expr->count, t, slot, -1, stack);
    return stack[0].x;
}

double perpi_expr_slot_derivative(const perpi_expr* expr, double t, const double* slot, int32_t by)
{
    perpi_dual stack[PERPI_EXPR_STACK];
    (void)perpi_expr_run(expr, 0, expr->count, t, slot, by, stack);
    return stack[0].d;
}

bool perpi_expr_margin_derivative(const perpi_expr* expr, double t, const double* slot, int32_t by,
                                  double* margin, double* derivative)
{
    const perpi_opcode last = expr->program[expr->count - 1].op;
    if (last < OP_LESS || last > OP_GREATER_EQUAL) {
        return false;
    }
    perpi_dual stack[PERPI_EXPR_STACK];
    const int n = perpi_expr_run(expr, 0, expr->count - 1, t, slot, by, stack);
    PERP_ASSERT(n == 2);
    const bool less = last == OP_LESS || last == OP_LESS_EQUAL;
    const double difference = stack[1].x - stack[0].x, slope = stack[1].d - stack[0].d;
    *margin = less ? difference : -difference;
    *derivative = less ? slope : -slope;
    return true;
}

bool perpi_expr_margin(const perpi_expr* expr, double t, const double* slot, double* margin)
{
    double derivative;
    return perpi_expr_margin_derivative(expr, t, slot, -1, margin, &derivative);
}

bool perpi_expr_has_slot(const perpi_expr* expr, int32_t slot)
{
    for (int32_t i = 0; i < expr->count; ++i) {
        if (expr->program[i].op == OP_SLOT && (int32_t)expr->program[i].constant == slot) {
            return true;
        }
    }
    return false;
}

bool perpi_expr_uses_time(const perpi_expr* expr)
{
    for (int32_t i = 0; i < expr->count; ++i) {
        if (expr->program[i].op == OP_TIME) {
            return true;
        }
    }
    return false;
}

bool perpi_expr_is_reserved(const char* name)
{
    static const char* const words[] = {"t", "pi", "e", "and", "or", "not"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        if (strcmp(name, words[i]) == 0) {
            return true;
        }
    }
    for (int i = 0; i < FUNCTION_COUNT; ++i) {
        if (strcmp(name, functions[i].name) == 0) {
            return true;
        }
    }
    return false;
}

bool perpi_expr_is_identifier(const char* name)
{
    if (name[0] == '\0' || is_digit(name[0])) {
        return false;
    }
    while (is_name(*name)) {
        ++name;
    }
    return *name == '\0';
}
