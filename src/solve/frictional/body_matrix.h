/* src/solve/frictional/body_matrix.h - the matrix I + Y D Y' in the space of the bodies' velocities.
 *
 * Y has a column of at most 6 numbers for each row of a constraint and each of its two bodies
 * (perpi_delassus_side gives the layout), D a small dense block for each constraint. The matrix has a block
 * for each body and for each pair of bodies that share a constraint, however many constraints they share.
 */
#ifndef PERPI_BODY_MATRIX_H
#define PERPI_BODY_MATRIX_H

#include "linalg/block_lu.h"
#include "problem/reformulate/reformulate.h"

enum { PERPI_BODY_ROWS_MAX = 6, PERPI_BODY_SIDE = 6 };

/* A constraint of a body: where the rows of Y of this side begin, and of the other; its own rows; its number;
 * the other body (-1: the world), and the block with it (-1: the pattern has none). */
typedef struct perpi_body_item {
    size_t Y, X;
    int32_t row, rows;
    int32_t constraint, other, pair;
} perpi_body_item;

typedef struct perpi_body_matrix {
    perp_context* context;
    perpi_block_lu* lu;
    int32_t* index;
    size_t index_capacity;
    /* views into index */
    int32_t *size, *start, *column, *mark;
    int32_t* own;  /* a body: its own block */
    int32_t* pair; /* a constraint: the block of its first and its second body; -1: none */
    bool* acts;    /* a constraint: its D is not zero */
    size_t acts_capacity;
    perpi_body_item* item; /* as delassus.block_item */
    size_t item_capacity;
    const perpi_delassus* delassus; /* of the solve */
    int32_t analysed;   /* constraints between bodies in the pattern; -1: there is none */
    perp_status status; /* of the last analysis of a pattern */
} perpi_body_matrix;

PERP_NODISCARD perp_status perpi_body_matrix_create(perp_context* context, perpi_body_matrix* m);
void perpi_body_matrix_free(perpi_body_matrix* m);

/* Begins a solve. Patterns are those of the constraints that act, and found by perpi_body_matrix_factor: of
 * the contacts within the margin of a heap most are open. delassus stays until the end of the solve. */
PERP_NODISCARD perp_status perpi_body_matrix_analyse(perpi_body_matrix* m,
                                                     const perp_contact_problem* P,
                                                     const perpi_delassus* delassus);

/* Fills the matrix and factors it. Y: 12 numbers a row, laid out as delassus.Y; D: block of constraint c at
 * PERPI_BODY_ROWS_MAX * c.row, rows x rows. False: a pivot is zero or not finite; or
 * there was no memory for a pattern (m->status). */
bool perpi_body_matrix_factor(perpi_body_matrix* m, const perp_contact_problem* P, const double* Y,
                              const double* D);
/* Of the determinant of the matrix factored last: 1 or -1. */
int perpi_body_matrix_sign(const perpi_body_matrix* m);
/* x: in: right-hand side, out: solution. */
void perpi_body_matrix_solve(perpi_body_matrix* m, double* x);

/* Between perpi_body_matrix_analyse and the end of the solve: */
/* u = base + Y' x; base NULL: 0 */
void perpi_body_velocities(const perpi_body_matrix* m, const perp_contact_problem* P,
                           const double* Y, const double* base, const double* x, double* u);
/* f = x + sign Y p */
void perpi_body_add_impulses(const perpi_body_matrix* m, const perp_contact_problem* P,
                             const double* Y, const double* x, double sign, const double* p,
                             double* f);

#endif
