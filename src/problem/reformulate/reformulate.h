/* src/problem/reformulate/reformulate.h - what the reformulations share: arrays that only grow, the
 * numbering of the unknowns, the rows of groups, and how a contact's or group's unknowns relate to
 * (v, p).
 *
 * A contact's unknowns are p_n, beta_0 .. beta_{nd-1}, sigma (cone NONE: p_n alone); in the NCP
 * p_n, p_1 .. p_{rows-1}, sigma. A contact that
 * is a member of groups but primary in none ("silent") has no unknowns, and p = 0.
 * A group's unknowns are c_2 .. c_count, then d_1 .. d_primary (several primaries only), then y
 * (unless its single primary is primary in no other group).
 */
#ifndef PERPI_REFORMULATE_H
#define PERPI_REFORMULATE_H

#include "problem/reformulate/triplets.h"

typedef struct perpi_sizes {
    size_t* at;
    size_t capacity;
} perpi_sizes;

enum { PERPI_SILENT = -1 };

/* Where the unknowns of a contact problem sit in z. */
typedef struct perpi_layout {
    int32_t n;
    perpi_ints first;       /* per constraint: first unknown; -1: it has none */
    perpi_ints owned;       /* per constraint: in how many groups it is primary; PERPI_SILENT */
    perpi_ints row_unknown; /* per row: unknown of a bounded or equality row, -1: none */
    perpi_ints row_slack;   /* per row: slack of a row with two finite bounds, -1: none */
    perpi_ints group_first; /* per group */
} perpi_layout;

/* Contact -> MLCP. */
typedef struct perpi_to_mlcp {
    perpi_layout layout;
    perpi_triplets triplets;
    perpi_doubles value; /* of the triplets */
    perpi_doubles csc_value, q, lower, upper;
} perpi_to_mlcp;

/* MLCP -> LCP. */
typedef struct perpi_to_lcp {
    int32_t n, n_free, n_box, n_lcp;
    perpi_ints place;   /* per unknown: position among the free (stored as -1 - i) or the others */
    perpi_ints slack;   /* per unknown: its slack in the LCP, -1: none */
    perpi_doubles sign; /* per unknown: z = base + sign x */
    perpi_doubles base;
    perpi_doubles A; /* n_free x n_free */
    perpi_doubles X; /* n_free x (n_box + 1): z_free = X (x, 1) */
    perpi_doubles LU, dr, dc, K, G, column, work;
    perpi_ints lu_row, lu_col;
    perpi_doubles M, q;
} perpi_to_lcp;

/* d_j of one number of directions, split by component. */
typedef struct perpi_direction_table {
    int32_t nd;
    size_t offset; /* into direction: nd x, then nd y */
} perpi_direction_table;

/* The Delassus factor Y = L^-1 J' with M = L L' per block: J M^-1 J' = Y' Y, symmetric to the
 * bit. */
typedef struct perpi_delassus {
    const double* L;                    /* the problem's factors, else made in: */
    perpi_doubles made;                 /* 6 dof_count */
    perpi_doubles y;                    /* dof_count: L^-1 k */
    perpi_doubles Y;                    /* as J: L^-1 J', row by row; see perpi_delassus_side */
    perpi_doubles g;                    /* row_count: b + J M^-1 k */
    perpi_ints block_start, block_item; /* per block: constraint * 2 + side, ascending */
} perpi_delassus;

/* Contact -> friction problem. */
typedef struct perpi_to_friction {
    perpi_delassus delassus;
    perpi_ints start, column;
    perpi_sizes at;
    perpi_doubles value;
} perpi_to_friction;

/* Contact -> LCP. */
typedef struct perpi_direct {
    perpi_layout layout;
    int32_t n_free; /* rows that are eliminated */
    perpi_delassus delassus;
    perpi_doubles A;    /* row_count^2: u = A p + delassus.g; after elimination without free rows */
    perpi_doubles base; /* row_count: p = base + sign x on bounded rows */
    perpi_doubles sign;
    perpi_direction_table* table;
    size_t table_count, table_capacity;
    perpi_doubles direction;
    size_t direction_count;
    perpi_ints free_row, order;
    perpi_doubles free_A, R, scale, H, h, K, G, work; /* H: rank x row_count, h: rank */
    int32_t rank;
    perpi_doubles M, q;
} perpi_direct;

/* Contact -> NCP. */
typedef struct perpi_to_ncp {
    perp_contact_problem problem; /* borrowed; the callbacks read it */
    perpi_layout layout;          /* first, owned and group_first only */
    perpi_triplets triplets;      /* entries in the order in which they are computed */
    perpi_doubles lower, upper;
} perpi_to_ncp;

struct perp_reformulation {
    perp_context* context;
    perpi_to_ncp ncp;
    perpi_to_mlcp mlcp;
    perpi_to_lcp lcp;
    perpi_direct direct;
    perpi_to_friction friction;
};

/* Factors the blocks, lists the constraints of each block, computes Y and g. PERP_ERROR_INPUT: a
 * block is not positive definite. */
PERP_NODISCARD perp_status perpi_delassus_fill(perp_context* context,
                                               const perp_contact_problem* problem,
                                               perpi_delassus* delassus);
/* Y of constraint c on one side: rows x 6, zeros after the block's velocities. */
double* perpi_delassus_side(const perpi_delassus* delassus, const perp_constraint* c, int side);
void perpi_delassus_free(perp_context* context, perpi_delassus* delassus);

/* Numbers everything but bounded and equality rows: contacts from `first` on in constraint order
 * (their rows given an unknown each if rows_too, in place), then returns with n = the next free
 * number; the groups are numbered by perpi_layout_groups. PERP_ERROR_UNSUPPORTED: a cone that has
 * no linear form. */
PERP_NODISCARD perp_status perpi_layout_constraints(perp_context* context,
                                                    const perp_contact_problem* problem,
                                                    int32_t first, bool rows_too,
                                                    perpi_layout* layout);
/* Fills owned: part of perpi_layout_constraints, for reformulations with another numbering of the
 * contacts. */
PERP_NODISCARD perp_status perpi_layout_roles(perp_context* context,
                                              const perp_contact_problem* problem,
                                              perpi_layout* layout);
PERP_NODISCARD perp_status perpi_layout_groups(perp_context* context,
                                               const perp_contact_problem* problem,
                                               perpi_layout* layout);

/* Offsets of a group's unknowns; -1: it has no such. */
typedef struct perpi_group_slots {
    int32_t c, d, y; /* c: of c_2 */
} perpi_group_slots;
perpi_group_slots perpi_layout_group(const perpi_layout* layout,
                                     const perp_contact_problem* problem, int32_t g);
/* Receives the rows of a group, which are linear, term by term: to build a matrix or its product
 * with z. */
typedef struct perpi_group_rows {
    void* user;
    void (*normal)(void* user, int32_t row, int32_t ci, double factor); /* w[row] += factor u_n */
    void (*one)(void* user, int32_t row, int32_t col);                  /* w[row] += z[col] */
} perpi_group_rows;
/* The rows of c, d, y and of the primaries' p_n, as at the head of contact_to_mlcp.c. */
void perpi_layout_group_rows(const perpi_layout* layout, const perp_contact_problem* problem,
                             int32_t g, const perpi_group_rows* to);

/* Fills the contacts' and the groups' entries of z from (v, p). */
void perpi_layout_guess(const perpi_layout* layout, const perp_contact_problem* problem,
                        const double* v, const double* p, double* z);
/* The groups' entries alone: c and d that go with v, y = 0. */
void perpi_layout_guess_groups(const perpi_layout* layout, const perp_contact_problem* problem,
                               const double* v, double* z);
/* Fills the contacts' rows of p from z. */
void perpi_layout_reconstruct(const perpi_layout* layout, const perp_contact_problem* problem,
                              const double* z, double* p);

/* For reformulate.c: free the arrays. */
void perpi_to_ncp_free(perp_context* context, perpi_to_ncp* t);
void perpi_to_mlcp_free(perp_context* context, perpi_to_mlcp* t);
void perpi_to_lcp_free(perp_context* context, perpi_to_lcp* t);
void perpi_direct_free(perp_context* context, perpi_direct* t);
void perpi_to_friction_free(perp_context* context, perpi_to_friction* t);
void perpi_layout_free(perp_context* context, perpi_layout* layout);

#endif
