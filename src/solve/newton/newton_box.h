/* src/solve/newton/newton_box.h - one view of LCP, MLCP and NCP for the Newton methods, with units removed.
 *
 *     find y in [l, u] with G(y) = R F(s C y) / s complementary to it,   z = s C y
 *
 * R, C: diagonal, from the Jacobian at the start (Ruiz: rows and columns to a largest entry of 1);
 * s: the size of R F there, so that y and G are numbers around 1. All are powers of two: scaling
 * rounds nothing, and y on its bound is z on its bound to the bit.
 */
#ifndef PERPI_SOLVE_NEWTON_BOX_H
#define PERPI_SOLVE_NEWTON_BOX_H

#include "base/context.h"
#include "perp/problem.h"
#include "problem/reformulate/affine.h"

/* What a form gives: bounds, function and Jacobian as an NCP, and its check. */
typedef struct perpi_box_form {
    perp_ncp ncp;
    bool affine;         /* the Jacobian is the same everywhere */
    size_t room;         /* entries of the Jacobian to hold room for, >= those of the pattern */
    const void* problem; /* for the residual check */
    double (*check_residual)(const void* problem, const double* z, double* work);
} perpi_box_form;

/* Arrays behind a form; an LCP needs its matrix in columns and its bounds written out. */
typedef struct perpi_box_store {
    perp_context* context;
    perp_mlcp mlcp; /* of an LCP */
    perpi_lcp_columns columns;
} perpi_box_store;

void perpi_box_store_init(perpi_box_store* store, perp_context* context);
void perpi_box_store_free(perpi_box_store* store);

/* The form borrows the problem and the store until their next change. */
PERP_NODISCARD perp_status perpi_box_from_lcp(perpi_box_store* store, const perp_lcp* problem,
                                              perpi_box_form* form);
void perpi_box_from_mlcp(const perp_mlcp* problem, perpi_box_form* form);
void perpi_box_from_ncp(const perp_ncp* problem, perpi_box_form* form);

typedef struct perpi_box {
    perp_context* context;
    const perpi_box_form* form;
    int32_t n, nnz;
    const int32_t *start, *row; /* of the Jacobian */
    double s;
    double *R, *C, *l, *u; /* n each; l, u scaled */
    double* value;         /* nnz: the scaled Jacobian at the point of perpi_box_jacobian */
    double *z, *work;      /* n, and the residual check's scratch 2 n + nnz */
    double* memory;
    size_t memory_capacity;
} perpi_box;

void perpi_box_init(perpi_box* box, perp_context* context);
void perpi_box_free(perpi_box* box);
/* Scales around z (n values of the caller's, not changed); the Jacobian there is left in value. */
PERP_NODISCARD perp_status perpi_box_setup(perpi_box* box, const perpi_box_form* form,
                                           const double* z);

void perpi_box_to_y(const perpi_box* box, const double* z, double* y);
/* y projected onto the box; the result is stored in the box until the next call. */
void perpi_box_to_z(const perpi_box* box, const double* y, double* z);
/* The answer: y to z; if that overflows, z as it is, projected onto its bounds. */
void perpi_box_give(perpi_box* box, const double* y, double* z);
void perpi_box_project(const perpi_box* box, const double* y, double* p);
/* Non-OK only if the user's callback says so; numbers that are not finite pass through. */
PERP_NODISCARD perp_status perpi_box_function(perpi_box* box, const double* y, double* G);
PERP_NODISCARD perp_status perpi_box_jacobian(perpi_box* box, const double* y);
/* The residual of y projected; the norm of the scaled natural map where that is far larger (see
 * NATURAL in newton_box.c). */
double perpi_box_residual(perpi_box* box, const double* y);

/* A further starting point: in the box, at random distances from its bounds; determined by the
 * seed. */
void perpi_box_random(const perpi_box* box, uint64_t seed, double* y);

/* The pattern of the Jacobian with its whole diagonal. start: n + 1, row: at most nnz + n. */
void perpi_box_pattern(const perpi_box* box, int32_t* start, int32_t* row);
/* r += J x, r += J' x with the Jacobian in value. */
void perpi_box_multiply_add(const perpi_box* box, const double* x, double* r);
void perpi_box_multiply_transposed_add(const perpi_box* box, const double* x, double* r);

#endif
