/* src/solve/splitting/contact_psor.c - projected successive over-relaxation for the contact problem itself, matrix-free: Gauss-Seidel with over-relaxation (splitting.h). */
#include "solve/builtin.h"
#include "solve/splitting/splitting.h"

static const perp_setting setting[] = {
    PERPI_SPLITTING_RELAX,
    PERPI_SPLITTING_JUDGE,
};

static void settings_default(void* settings)
{
    *(perpi_splitting_settings*)settings =
        (perpi_splitting_settings){.relax = 1.3, .judge_every = 10};
}

const perp_contact_solver_ops perpi_contact_psor = {
    .name = "psor",
    .summary =
        "projected successive over-relaxation, matrix-free on contact problems; iterations: sweeps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(perpi_splitting_settings),
    .settings = setting,
    .settings_count = sizeof setting / sizeof setting[0],
    .settings_default = settings_default,
    .create = perpi_splitting_contact_create,
    .destroy = perpi_splitting_contact_destroy,
    .solve = perpi_splitting_contact_solve,
};
