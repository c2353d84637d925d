/* src/solve/splitting/ncp_fixed_point.c - fixed-point for NCPs; the method: fixed_point.h. */
#include "solve/builtin.h"
#include "solve/splitting/fixed_point.h"

const perp_ncp_solver_ops perpi_ncp_fixed_point = {
    .name = "fixed-point",
    .summary = "proximal fixed point with an adaptive step; iterations: proximal steps",
    .settings_size = sizeof(perpi_fixed_point_settings),
    .settings = perpi_fixed_point_setting,
    .settings_count = PERPI_FIXED_POINT_SETTINGS,
    .settings_default = perpi_fixed_point_settings_default,
    .create = perpi_fixed_point_create,
    .destroy = perpi_fixed_point_destroy,
    .solve = perpi_fixed_point_solve_ncp,
};
