/* src/solve/newton/ncp_path.c - path for NCPs with bounds; the method: path.c. */
#include "solve/builtin.h"
#include "solve/newton/path.h"

const perp_ncp_solver_ops perpi_ncp_path = {
    .name = "path",
    .summary = "Newton on the normal map, linearisations by pivot; iterations: Newton steps",
    .settings_size = sizeof(perpi_path_settings),
    .settings = perpi_path_setting,
    .settings_count = PERPI_PATH_SETTINGS,
    .settings_default = perpi_path_settings_default,
    .create = perpi_path_create,
    .destroy = perpi_path_destroy,
    .solve = perpi_path_solve_ncp,
};
