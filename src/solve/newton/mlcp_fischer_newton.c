/* src/solve/newton/mlcp_fischer_newton.c - fischer-newton for MLCPs with bounds; the method: newton_ncp.c. */
#include "solve/builtin.h"
#include "solve/newton/newton_ncp.h"

const perp_mlcp_solver_ops perpi_mlcp_fischer_newton = {
    .name = "fischer-newton",
    .summary =
        "semismooth Newton on the penalised Fischer-Burmeister function; iterations: Newton steps",
    .settings_size = sizeof(perpi_newton_settings),
    .settings = perpi_newton_setting,
    .settings_count = PERPI_NEWTON_SETTINGS,
    .settings_default = perpi_fischer_settings_default,
    .create = perpi_fischer_create,
    .destroy = perpi_newton_destroy,
    .solve = perpi_newton_solve_mlcp,
};
