/* src/solve/splitting/pgs.c - projected Gauss-Seidel: rows in order, each from the newest unknowns
 * (splitting.h). */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting pgs_setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_CHANGE,
    PERPI_SPLITTING_CHECK,
};

static void pgs_settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings =
        (perpi_splitting_settings){.relax = 1.0, .change = 1e-9, .check_every = 10};
}

const perp_method perpi_method_pgs = {
    .name = "pgs",
    .summary = "projected Gauss-Seidel, matrix-free on contact problems; iterations: sweeps",
    .needs = PERP_NEEDS_POSITIVE_DIAGONAL,
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = pgs_setting,
    .settings_count = sizeof pgs_setting / sizeof pgs_setting[0],
    .settings_default = pgs_settings_default,
    .create = perpi_splitting_create,
    .destroy = perpi_splitting_destroy,
    .lcp = perpi_splitting_lcp,
    .mlcp = perpi_splitting_mlcp,
    .contact = perpi_splitting_contact,
};
