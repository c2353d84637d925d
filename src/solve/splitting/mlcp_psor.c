/* src/solve/splitting/mlcp_psor.c - projected successive over-relaxation for MLCPs with bounds, diag(M) > 0: Gauss-Seidel with over-relaxation (splitting.h). */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_CHANGE,
};

static void settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings = (perpi_splitting_settings){.relax = 1.3, .change = 1e-9};
}

const perp_mlcp_solver_ops perpi_mlcp_psor = {
    .name = "psor",
    .summary =
        "projected successive over-relaxation, matrix-free on contact problems; iterations: sweeps",
    .needs = PERP_NEEDS_POSITIVE_DIAGONAL,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = setting,
    .settings_count = sizeof setting / sizeof setting[0],
    .settings_default = settings_default,
    .create = perpi_splitting_rows_create,
    .destroy = perpi_splitting_rows_destroy,
    .solve = perpi_splitting_mlcp_solve,
};
