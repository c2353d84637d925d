/* src/solve/splitting/psor.c - projected successive over-relaxation: Gauss-Seidel with
 * over-relaxation (splitting.h). */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting psor_setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_CHANGE,
    PERPI_SPLITTING_CHECK,
};

static void psor_settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings =
        (perpi_splitting_settings){.relax = 1.3, .change = 1e-9, .check_every = 10};
}

const perp_method perpi_method_psor = {
    .name = "psor",
    .summary =
        "projected successive over-relaxation, matrix-free on contact problems; iterations: sweeps",
    .needs = PERP_NEEDS_POSITIVE_DIAGONAL,
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = psor_setting,
    .settings_count = sizeof psor_setting / sizeof psor_setting[0],
    .settings_default = psor_settings_default,
    .create = perpi_splitting_create,
    .destroy = perpi_splitting_destroy,
    .lcp = perpi_splitting_lcp,
    .mlcp = perpi_splitting_mlcp,
    .contact = perpi_splitting_contact,
};
