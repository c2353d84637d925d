/* src/solve/interior/mlcp_interior_point.c - the interior-point method for MLCPs (interior_point.h). */
#include "solve/builtin.h"
#include "solve/interior/interior_point.h"

const perp_mlcp_solver_ops perpi_mlcp_interior_point = {
    .name = "interior-point",
    .summary = "predictor-corrector for monotone problems; iterations: Newton steps",
    .settings_size = sizeof(perpi_interior_settings),
    .settings = perpi_interior_setting,
    .settings_count = PERPI_INTERIOR_SETTINGS,
    .settings_default = perpi_interior_settings_default,
    .create = perpi_interior_create,
    .destroy = perpi_interior_destroy,
    .solve = perpi_interior_solve,
};
