/* src/base/expr_squares.c - the curvature of Gauss and Newton of an expression: see expr.h.
 *
 * From the end of the program sums, differences and factors that have no slot are followed; the
 * first other function on each way is an outermost one.
 */
#include <math.h>
#include <string.h>

#include "base/expr_parts.h"

typedef struct walk {
    const perpi_expr* expr;
    double t;
    const double* slot;
    const int32_t* slots;
    int32_t count;
    perpi_expr_square_fn fn;
    void* user;
} walk;

/* A part of the program that leaves one operand. */
typedef struct range {
    int32_t first, end;
} range;

static int operands_of(perpi_opcode op)
{
    return op == OP_CONSTANT || op == OP_TIME || op == OP_SLOT                                 ? 0
           : op == OP_IF                                                                       ? 3
           : op == OP_CURVE || op == OP_NEG || op == OP_NOT || (op >= OP_SIN && op <= OP_SIGN) ? 1
                                                                                               : 2;
}

/* The range that ends before `end`. */
static range range_before(const perpi_expr* expr, int32_t end)
{
    int32_t first = end, missing = 1;
    while (missing > 0) {
        first -= 1;
        missing += operands_of(expr->program[first].op) - 1;
    }
    return (range){first, end};
}

static bool varies(const walk* w, range r)
{
    for (int32_t i = r.first; i < r.end; ++i) {
        if (w->expr->program[i].op == OP_SLOT) {
            return true;
        }
    }
    return false;
}

static perpi_dual value_of(const walk* w, range r, int32_t by)
{
    perpi_dual stack[PERPI_EXPR_STACK];
    (void)perpi_expr_run(w->expr, r.first, r.end, w->t, w->slot, by, stack);
    return stack[0];
}

static bool same_program(const walk* w, range a, range b)
{
    bool same = a.end - a.first == b.end - b.first;
    for (int32_t i = 0; same && i < a.end - a.first; ++i) {
        const perpi_instruction *x = &w->expr->program[a.first + i],
                                *y = &w->expr->program[b.first + i];
        same = x->op == y->op && x->constant == y->constant;
    }
    return same;
}

/* weight times the second derivative of a function of one operand, if it is positive. */
static void take_square(const walk* w, range inner, double weight)
{
    double x[PERPI_EXPR_SQUARE_SLOTS];
    if (!(weight > 0.0) || !isfinite(weight)) {
        return;
    }
    for (int32_t i = 0; i < w->count; ++i) {
        x[i] = value_of(w, inner, w->slots[i]).d;
    }
    w->fn(w->user, weight, x);
}

/* hypot(a, b) = h: (a db - b da)^2 / h^3 */
static void take_hypot(const walk* w, range a, range b, double weight)
{
    double x[PERPI_EXPR_SQUARE_SLOTS];
    const double va = value_of(w, a, -1).x, vb = value_of(w, b, -1).x, h = hypot(va, vb);
    if (!(weight > 0.0 && h > 0.0) || !isfinite(h)) {
        return;
    }
    for (int32_t i = 0; i < w->count; ++i) {
        x[i] = (va * value_of(w, b, w->slots[i]).d - vb * value_of(w, a, w->slots[i]).d) / h;
    }
    w->fn(w->user, weight / h, x);
}

static double second_of_unary(const walk* w, perpi_opcode op, range inner)
{
    const double x = value_of(w, inner, -1).x, delta = 1e-5 * (fabs(x) > 1.0 ? fabs(x) : 1.0);
    return (perpi_expr_unary(op, (perpi_dual){x + delta, 1.0}).d -
            perpi_expr_unary(op, (perpi_dual){x - delta, 1.0}).d) /
           (2.0 * delta);
}

static void follow(const walk* w, range r, double weight);

static void follow_binary(const walk* w, perpi_opcode op, range a, range b, double weight)
{
    const bool first = varies(w, a), second = varies(w, b);
    switch (op) {
    case OP_ADD:
    case OP_SUB:
        follow(w, a, weight);
        follow(w, b, op == OP_ADD ? weight : -weight);
        break;
    case OP_MUL:
        if (first && second && same_program(w, a, b)) {
            take_square(w, a, 2.0 * weight);
        } else if (!first || !second) {
            follow(w, first ? a : b, weight * value_of(w, first ? b : a, -1).x);
        }
        break;
    case OP_DIV:
        if (!second) {
            follow(w, a, weight / value_of(w, b, -1).x);
        }
        break;
    case OP_POW:
        if (!second) {
            const double x = value_of(w, a, -1).x, p = value_of(w, b, -1).x;
            if (p == 1.0) {
                follow(w, a, weight);
            } else {
                take_square(w, a, weight * p * (p - 1.0) * (p == 2.0 ? 1.0 : pow(x, p - 2.0)));
            }
        }
        break;
    case OP_MIN:
    case OP_MAX: {
        const double x = value_of(w, a, -1).x, y = value_of(w, b, -1).x;
        follow(w, (op == OP_MIN ? x <= y : x >= y) ? a : b, weight);
        break;
    }
    case OP_HYPOT: take_hypot(w, a, b, weight); break;
    default: break; /* of both signs */
    }
}

static void follow(const walk* w, range r, double weight)
{
    const perpi_opcode op = w->expr->program[r.end - 1].op;
    const int operands = operands_of(op);
    if (operands == 0 || !varies(w, r)) {
        return;
    }
    const range last = range_before(w->expr, r.end - 1);
    if (operands == 1) {
        if (op == OP_NEG || op == OP_ABS) {
            const double sign = op == OP_NEG || value_of(w, last, -1).x < 0.0 ? -1.0 : 1.0;
            follow(w, last, sign * weight);
        } else if (op != OP_CURVE && op != OP_NOT) {
            take_square(w, last, weight * second_of_unary(w, op, last));
        }
        return;
    }
    const range middle = range_before(w->expr, last.first);
    if (operands == 2) {
        follow_binary(w, op, middle, last, weight);
        return;
    }
    const range condition = range_before(w->expr, middle.first);
    follow(w, value_of(w, condition, -1).x != 0.0 ? middle : last, weight);
}

void perpi_expr_squares(const perpi_expr* expr, double t, const double* slot, const int32_t* slots,
                        int32_t count, perpi_expr_square_fn fn, void* user)
{
    const walk w = {expr, t, slot, slots, count, fn, user};
    PERP_ASSERT(count <= PERPI_EXPR_SQUARE_SLOTS);
    follow(&w, (range){0, expr->count}, 1.0);
}
