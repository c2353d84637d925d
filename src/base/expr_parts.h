/* src/base/expr_parts.h - the program of an expression, for the files of expr.h. */
#ifndef PERPI_EXPR_PARTS_H
#define PERPI_EXPR_PARTS_H

#include "base/curve.h"
#include "base/expr.h"

enum {
    PERPI_EXPR_NESTING = 64,
    /* A level of nesting leaves at most seven operands waiting: the left sides of a disjunction, a
     * conjunction, a comparison, a sum and a term, and two arguments of if(). */
    PERPI_EXPR_STACK = 7 * (PERPI_EXPR_NESTING + 1) + 1,
};

typedef enum perpi_opcode {
    OP_CONSTANT,
    OP_TIME,
    OP_SLOT, /* constant: which one */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_POW,
    OP_NEG,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_AND,
    OP_OR,
    OP_NOT,
    OP_SIN,
    OP_COS,
    OP_TAN,
    OP_ASIN,
    OP_ACOS,
    OP_ATAN,
    OP_SINH,
    OP_COSH,
    OP_TANH,
    OP_EXP,
    OP_LOG,
    OP_LOG10,
    OP_SQRT,
    OP_ABS,
    OP_FLOOR,
    OP_CEIL,
    OP_SIGN,
    OP_MIN,
    OP_MAX,
    OP_ATAN2,
    OP_MOD,
    OP_HYPOT,
    OP_IF,
    OP_CURVE, /* constant: which of the expression's curves */
} perpi_opcode;

typedef struct perpi_instruction {
    perpi_opcode op;
    double constant;
} perpi_instruction;

struct perpi_expr {
    int32_t count;
    char* text; /* behind the program, in the same block */
    perpi_curve** curve;
    size_t curve_count, curve_capacity;
    perpi_instruction program[];
};

/* A value and its derivative. */
typedef struct perpi_dual {
    double x, d;
} perpi_dual;

perpi_dual perpi_expr_unary(perpi_opcode op, perpi_dual a);
/* Runs the instructions from `first` to before `end`; returns the number of operands that they
 * leave. by: the slot that derivatives are taken by; -1: t. */
int perpi_expr_run(const perpi_expr* expr, int32_t first, int32_t end, double t, const double* slot,
                   int32_t by, perpi_dual stack[PERPI_EXPR_STACK]);

#endif
