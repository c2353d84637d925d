/* perp/linalg.h - the sparse matrix type of problems. */
#ifndef PERP_LINALG_H
#define PERP_LINALG_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compressed columns; rows ascending within a column, no duplicates. */
typedef struct perp_sparse {
    int32_t rows, cols;
    const int32_t* start; /* cols + 1 */
    const int32_t* row;   /* start[cols] */
    const double* value;  /* start[cols] */
} perp_sparse;

#ifdef __cplusplus
}
#endif
#endif
