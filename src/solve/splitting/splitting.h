/* src/solve/splitting/splitting.h - projected splitting methods: pgs, psor and jacobi on every form.
 *
 * Source     [W14 2.5, (2.45), (2.46)]: M = B + C, z <- P(z - relax (M z + q)_i / d_i)
 * Notation   d_i the divisor of row i, P the projection onto the bounds or the friction set
 * The three  pgs: one row after another, each from the newest unknowns, d_i = M_ii, relax 1;
 *            psor: the same with relax > 1 by default; jacobi: all rows from the old unknowns.
 * Departure  jacobi by default divides by a larger d_i, with which it converges for every symmetric
 *            positive semidefinite M; the textbook's d_i = M_ii diverges as soon as three
 *            contacts share a body. On an LCP or MLCP d_i = sum_j |M_ij| sqrt(M_ii / M_jj); on a
 *            contact problem it is a sum over the blocks of the row: the part of W_rr that comes
 *            from the block, times the number of rows that act on the block. Both choices are
 *            independent of units.
 *
 * One loop (perpi_splitting_run) serves all forms: it applies limits, writes the log and decides
 * when to compute the residual; a form adds its sweep.
 */
#ifndef PERPI_SPLITTING_H
#define PERPI_SPLITTING_H

#include "base/context.h"
#include "perp/solve.h"

typedef struct perpi_splitting_settings {
    double relax;
    double change;       /* LCP, MLCP */
    int32_t check_every; /* contact; 0 elsewhere */
    bool safe;           /* jacobi */
    bool simultaneous;   /* true for jacobi; not a user setting */
} perpi_splitting_settings;

/* Entries of the settings tables. */
#define PERPI_SPLITTING_RELAX                                                                      \
    {                                                                                              \
        "relax", PERP_SETTING_DOUBLE, offsetof(perpi_splitting_settings, relax), 0.01, 1.99,       \
            "relaxation of each update; 1: plain Gauss-Seidel or Jacobi"                           \
    }
#define PERPI_SPLITTING_CHANGE                                                                     \
    {                                                                                              \
        "change", PERP_SETTING_DOUBLE, offsetof(perpi_splitting_settings, change), 0.0, 1.0,       \
            "largest change of a sweep, relative to the largest unknown, at which the residual "   \
            "is looked at"                                                                         \
    }
#define PERPI_SPLITTING_CHECK                                                                      \
    {                                                                                              \
        "judge-every", PERP_SETTING_INT, offsetof(perpi_splitting_settings, check_every), 1,       \
            1000000, "sweeps between two checks of the residual"                                   \
    }
#define PERPI_SPLITTING_SAFE                                                                       \
    {                                                                                              \
        "safe", PERP_SETTING_BOOL, offsetof(perpi_splitting_settings, safe), 0, 1,                 \
            "divide by a bound on the row instead of its diagonal: converges for every symmetric " \
            "positive semidefinite matrix"                                                         \
    }

/* ---- the loop ------------------------------------------------------------------------------------*/

typedef struct perpi_sweeper {
    void* self;
    /* One sweep. change, largest: of the scaled unknowns; 1 and 0 if not measured. */
    void (*sweep)(void* self, double* change, double* largest);
    double (*check_residual)(void* self);
} perpi_sweeper;

/* The residual is computed every check_every sweeps; with 0, when a sweep changes no unknown by
 * more than `change` of the largest. At most options->max_iter sweeps; by default 10000, for jacobi
 * 100000. */
void perpi_splitting_run(const perpi_sweeper* sweeper, const perpi_splitting_settings* set,
                         const perp_solve_options* options, perp_report* report);

/* ---- the methods: what the tables point to ---------------------------------------------------------*/

/* Sweeps over the rows of an LCP or MLCP. */
typedef struct perpi_splitting_rows {
    perp_context* context;
    perpi_splitting_settings set;
    /* of the running solve */
    const perp_lcp* lcp; /* one of the two */
    const perp_mlcp* mlcp;
    int32_t n;
    double* z;
    /* owned */
    double* vector; /* divisor, root of M_ii, next z, scratch of the residual check 2 n: 5 n */
    size_t vector_capacity;
    int32_t* start; /* an MLCP's M by rows */
    size_t start_capacity;
    int32_t* column;
    size_t column_capacity;
    double* value;
    size_t value_capacity;
} perpi_splitting_rows;

/* Sweeps over the rows of a contact problem. */
typedef struct perpi_splitting_sweeps {
    perp_context* context;
    perpi_splitting_settings set;
    /* of the running solve */
    const perp_contact_problem* P;
    double *v, *p;
    /* owned */
    const double* L; /* the problem's factors of the mass blocks, else made in: */
    double* room;
    size_t room_capacity;
    double* Y; /* M^-1 J', laid out like J: row r holds (M^-1 J_r')' */
    size_t Y_capacity;
    double* W; /* row_count: the divisors */
    size_t W_capacity;
    double* next; /* row_count: the impulses of the next sweep (jacobi) */
    size_t next_capacity;
    int32_t* touching; /* block_count: number of rows that act on the block */
    size_t touching_capacity;
    double* work; /* scratch of the residual check */
    size_t work_capacity;
} perpi_splitting_sweeps;

typedef struct perpi_splitting {
    perpi_splitting_rows rows;
    perpi_splitting_sweeps contact;
} perpi_splitting;

perp_status perpi_splitting_create(perp_context* context, const void* settings, void** self);
void perpi_splitting_destroy(void* self);
perp_status perpi_splitting_lcp(void* self, const perp_lcp* problem,
                                const perp_solve_options* options, bool warm, double* z,
                                perp_report* report);
perp_status perpi_splitting_mlcp(void* self, const perp_mlcp* problem,
                                 const perp_solve_options* options, bool warm, double* z,
                                 perp_report* report);
perp_status perpi_splitting_contact(void* self, const perp_contact_problem* problem,
                                    const perp_solve_options* options, bool warm, double* v,
                                    double* p, perp_report* report);

#endif
