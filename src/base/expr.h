/* src/base/expr.h - expressions in t, and in names that the caller knows: "0.5 + 0.4*sin(t)".
 *
 * Grammar: + - * / ^ (right associative, binds tighter than unary minus), parentheses, numbers,
 * t, pi, e; sin cos tan asin acos atan sinh cosh tanh exp log log10 sqrt abs floor ceil sign
 * min(a,b,...) max(a,b,...) hypot(a,b,...) atan2(y,x) mod(a,b) pow(a,b); comparisons < <= > >= == !=
 * giving 0 or 1; not, and, or (also ! && ||), which bind more loosely in this order; if(cond, a, b);
 * linear(x, t0,x0, t1,x1, ...), cubic(...), quintic(...): curves through points (curve.h), whose points
 * are constants.
 * Names: letters, digits and _, joined by dots, as ball.position.x; a part that has other characters
 * stands in brackets, [left-link].position.x.
 *
 * Compiled once to a postfix program; evaluation allocates nothing and carries the derivative with
 * respect to t along (forward mode), so that a prescribed position has its exact velocity.
 * Written here rather than taken from muParser: no C++ runtime, an error column, derivatives.
 */
#ifndef PERPI_EXPR_H
#define PERPI_EXPR_H

#include "base/context.h"

typedef struct perpi_expr perpi_expr;

/* PERP_ERROR_INPUT: "expression 'sin(t': expected ')' at column 6". Length limit 65536, nesting 64. */
PERP_NODISCARD perp_status perpi_expr_compile(perp_context* context, const char* text,
                                              perpi_expr** expr);
void perpi_expr_destroy(perp_context* context, perpi_expr* expr);
/* derivative may be NULL. May yield NaN or infinity: the caller checks. */
double perpi_expr_eval(const perpi_expr* expr, double t, double* derivative);

/* ---- names of the caller -------------------------------------------------------------------------*/

/* A dot within brackets, so that it does not separate parts of a name. */
#define PERPI_NAME_DOT '\x1f'

typedef struct perpi_expr_name {
    const char* text;  /* without brackets; their dots are PERPI_NAME_DOT */
    size_t begin, end; /* where it stands in the expression */
} perpi_expr_name;

/* What a name stands for: a constant, or one of the numbers that are given when the expression is
 * evaluated. */
typedef struct perpi_symbol {
    bool unknown; /* the name is not known, and the parser says so */
    bool failed;  /* there is no value; the context has the message */
    bool varies;
    double value;
    int32_t slot;
} perpi_symbol;

typedef struct perpi_expr_names {
    /* PERP_ERROR_INPUT: there is no such name, and the context's message says so; another error ends
     * the compilation. */
    perp_status (*find)(void* user, const perpi_expr_name* name, perpi_symbol* symbol);
    void* user;
    const char* no_time; /* why t is not known here; NULL: it is */
} perpi_expr_names;

PERP_NODISCARD perp_status perpi_expr_compile_names(perp_context* context, const char* text,
                                                    const perpi_expr_names* names,
                                                    perpi_expr** expr);
/* slot: the numbers that names stand for. */
double perpi_expr_eval_names(const perpi_expr* expr, double t, const double* slot);
/* d value / d slot[by] (by -1: d t). */
double perpi_expr_slot_derivative(const perpi_expr* expr, double t, const double* slot, int32_t by);
bool perpi_expr_has_slot(const perpi_expr* expr, int32_t slot);
bool perpi_expr_uses_time(const perpi_expr* expr);
/* Of an expression that is a comparison by < <= > >=: how far it holds, the difference of its sides; it is
 * negative where the comparison does not hold. False: it is something else. */
bool perpi_expr_margin(const perpi_expr* expr, double t, const double* slot, double* margin);
/* With its derivative by slot[by]. */
bool perpi_expr_margin_derivative(const perpi_expr* expr, double t, const double* slot, int32_t by,
                                  double* margin, double* derivative);
/* The curvature of Gauss and Newton: the second derivatives of the outermost functions of the
 * expression, with what stands in them linearised. Of w1 a^2 + w2 b^2 it is 2 w1 a' a'^T + 2 w2 b'
 * b'^T, whatever functions a and b are. fn is called for each term weight x x^T, weight > 0, x the
 * derivatives by the slots that are listed (at most PERPI_EXPR_SQUARE_SLOTS). */
enum { PERPI_EXPR_SQUARE_SLOTS = 64 };
typedef void (*perpi_expr_square_fn)(void* user, double weight, const double* x);
void perpi_expr_squares(const perpi_expr* expr, double t, const double* slot, const int32_t* slots,
                        int32_t count, perpi_expr_square_fn fn, void* user);
/* Whether the grammar knows the name: t, pi, e, a function, and, or, not. */
bool perpi_expr_is_reserved(const char* name);
/* Whether it is an identifier: letters, digits and _, not beginning with a digit. */
bool perpi_expr_is_identifier(const char* name);
const char* perpi_expr_text(const perpi_expr* expr);

#endif
