/* src/solve/newton/ncp_minmap_newton.c - minmap-newton for NCPs with bounds; the method: newton_ncp.c. */
#include "solve/builtin.h"
#include "solve/newton/newton_ncp.h"

const perp_ncp_solver_ops perpi_ncp_minmap_newton = {
    .name = "minmap-newton",
    .summary =
        "Newton on the min map (active sets), Fischer-Burmeister merit; iterations: Newton steps",
    .settings_size = sizeof(perpi_newton_settings),
    .settings = perpi_newton_setting,
    .settings_count = PERPI_NEWTON_SETTINGS,
    .settings_default = perpi_minmap_settings_default,
    .create = perpi_minmap_create,
    .destroy = perpi_newton_destroy,
    .solve = perpi_newton_solve_ncp,
};
