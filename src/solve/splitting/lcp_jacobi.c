/* src/solve/splitting/lcp_jacobi.c - projected Jacobi for LCP(M, q), diag(M) > 0: all rows from the old unknowns (splitting.h). */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_CHANGE,
    PERPI_SPLITTING_SAFE,
};

static void settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings = (perpi_splitting_settings){
        .relax = 1.5, .change = 1e-9, .safe = true, .simultaneous = true};
}

const perp_lcp_solver_ops perpi_lcp_jacobi = {
    .name = "jacobi",
    .summary = "projected Jacobi, matrix-free on contact problems; iterations: sweeps",
    .needs = PERP_NEEDS_POSITIVE_DIAGONAL,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = setting,
    .settings_count = sizeof setting / sizeof setting[0],
    .settings_default = settings_default,
    .create = perpi_splitting_rows_create,
    .destroy = perpi_splitting_rows_destroy,
    .solve = perpi_splitting_lcp_solve,
};
