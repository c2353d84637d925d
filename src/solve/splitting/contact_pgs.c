/* src/solve/splitting/contact_pgs.c - projected Gauss-Seidel for the contact problem itself, matrix-free: rows in order, each from the newest unknowns (splitting.h). */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_JUDGE,
};

static void settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings =
        (perpi_splitting_settings){.relax = 1.0, .judge_every = 10};
}

const perp_contact_solver_ops perpi_contact_pgs = {
    .name = "pgs",
    .summary = "projected Gauss-Seidel, matrix-free on contact problems; iterations: sweeps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = setting,
    .settings_count = sizeof setting / sizeof setting[0],
    .settings_default = settings_default,
    .create = perpi_splitting_contact_create,
    .destroy = perpi_splitting_contact_destroy,
    .solve = perpi_splitting_contact_solve,
};
