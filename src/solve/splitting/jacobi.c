/* src/solve/splitting/jacobi.c - projected Jacobi: all rows from the old unknowns (splitting.h).
 *
 * Two tables, because the default relaxation differs: it is larger on contact problems, whose
 * divisors are larger. */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting rows_setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_CHANGE,
    PERPI_SPLITTING_SAFE,
};

static const perp_setting contact_setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_CHECK,
    PERPI_SPLITTING_SAFE,
};

static void rows_settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings = (perpi_splitting_settings){
        .relax = 1.5, .change = 1e-9, .safe = true, .simultaneous = true};
}

static void contact_settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings = (perpi_splitting_settings){
        .relax = 1.9, .check_every = 10, .safe = true, .simultaneous = true};
}

const perp_method perpi_method_jacobi = {
    .name = "jacobi",
    .summary = "projected Jacobi, matrix-free on contact problems; iterations: sweeps",
    .needs = PERP_NEEDS_POSITIVE_DIAGONAL,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = rows_setting,
    .settings_count = sizeof rows_setting / sizeof rows_setting[0],
    .settings_default = rows_settings_default,
    .create = perpi_splitting_create,
    .destroy = perpi_splitting_destroy,
    .lcp = perpi_splitting_lcp,
    .mlcp = perpi_splitting_mlcp,
};

const perp_method perpi_method_jacobi_contact = {
    .name = "jacobi",
    .summary = "projected Jacobi, matrix-free on contact problems; iterations: sweeps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = contact_setting,
    .settings_count = sizeof contact_setting / sizeof contact_setting[0],
    .settings_default = contact_settings_default,
    .create = perpi_splitting_create,
    .destroy = perpi_splitting_destroy,
    .contact = perpi_splitting_contact,
};
