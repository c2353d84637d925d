/* src/base/expr.h - expressions in t: "0.5 + 0.4*sin(t)".
 *
 * Grammar: + - * / ^ (right associative, binds tighter than unary minus), parentheses, numbers,
 * t, pi, e; sin cos tan asin acos atan sinh cosh tanh exp log log10 sqrt abs floor ceil sign
 * min(a,b) max(a,b) atan2(y,x) mod(a,b) pow(a,b); comparisons < <= > >= == != giving 0 or 1;
 * if(cond, a, b); linear(x, t0,x0, t1,x1, ...), cubic(...), quintic(...): curves through points
 * (curve.h), whose points are constants.
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
const char* perpi_expr_text(const perpi_expr* expr);

#endif
