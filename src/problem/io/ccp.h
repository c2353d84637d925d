/* src/problem/io/ccp.h - the content of a problem file before it takes a form: named matrices and
 * vectors. `.ccp` text and FCLIB's HDF5 files are both read into it. */
#ifndef PERPI_PROBLEM_CCP_H
#define PERPI_PROBLEM_CCP_H

#include "perp/problem.h"

typedef enum perpi_ccp_matrix_name {
    PERPI_CCP_M,
    PERPI_CCP_W,
    PERPI_CCP_H,
    PERPI_CCP_MATRICES
} perpi_ccp_matrix_name;

typedef enum perpi_ccp_vector_name {
    PERPI_CCP_q,
    PERPI_CCP_b,
    PERPI_CCP_lb,
    PERPI_CCP_ub,
    PERPI_CCP_mu,
    PERPI_CCP_z, /* solutions: z, r, v */
    PERPI_CCP_r,
    PERPI_CCP_v,
    PERPI_CCP_VECTORS
} perpi_ccp_vector_name;

typedef struct perpi_ccp_matrix { /* compressed columns, as perp_sparse */
    bool given;
    int32_t rows, cols;
    int32_t *start, *row;
    double* value;
} perpi_ccp_matrix;

typedef struct perpi_ccp_vector {
    bool given;
    int32_t count;
    double* at;
} perpi_ccp_vector;

typedef struct perpi_ccp {
    char name[128];
    bool solution; /* a .sol file */
    perp_problem_kind kind;
    int32_t n, n_eq, n_comp, dim, nc; /* -1: not given */
    perpi_ccp_matrix matrix[PERPI_CCP_MATRICES];
    perpi_ccp_vector vector[PERPI_CCP_VECTORS];
} perpi_ccp;

enum {
    PERPI_CCP_SIZE_MAX = 10000000, /* rows, columns, lengths */
    PERPI_CCP_TEXT_MAX = 1 << 30,  /* bytes of text, after unpacking */
};

/* Reads text of `size` bytes (text[size] is 0); where: named in messages as WHERE:LINE. On failure
 * nothing is left to free. */
PERP_NODISCARD perp_status perpi_ccp_parse(perp_context* context, const char* text, size_t size,
                                           const char* where, perpi_ccp* ccp);
/* The whole file, unpacked if it is gzip'ed, with a 0 after it. */
PERP_NODISCARD perp_status perpi_ccp_load(perp_context* context, const char* path, char** text,
                                          size_t* size);
/* Both in one; for solutions too. */
PERP_NODISCARD perp_status perpi_ccp_read(perp_context* context, const char* path, perpi_ccp* ccp);
/* What a problem of its kind must have: sizes that fit each other, finite numbers, bounds in order. */
PERP_NODISCARD perp_status perpi_ccp_check(perp_context* context, const char* where,
                                           const perpi_ccp* ccp);
void perpi_ccp_free(perp_context* context, perpi_ccp* ccp);

/* /fclib_local or /fclib_global of an HDF5 file. */
PERP_NODISCARD perp_status perpi_fclib_read(perp_context* context, const char* path,
                                            perpi_ccp* ccp);

#endif
