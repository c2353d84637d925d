/* src/solve/newton/restart.c - see restart.h. */
#include "solve/newton/restart.h"

#include <string.h>

#include "solve/newton/minmap.h"

perp_status perpi_newton_restarts(const perpi_restarts* r, double* z, int32_t* attempts)
{
    perpi_box* box = r->box;
    perpi_restart_end end = PERPI_RESTART_STUCK;
    perp_status status = PERP_OK;
    perpi_box_to_y(box, z, r->first);
    perpi_box_project(box, r->first, r->first);
    memcpy(r->best, r->first, (size_t)box->n * sizeof *r->best);
    *attempts = 0;
    do {
        status = r->attempt(r->run, *attempts, &end);
        *attempts += 1;
    } while (status == PERP_OK && end == PERPI_RESTART_STUCK && *attempts <= r->restarts);
    if (status == PERP_OK && end == PERPI_RESTART_SOLVED) {
        status = perpi_newton_finish(r->linear, box, r->best, r->best_residual, r->work);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* The residual is relative to the size of the point and is meaningless at a diverging one. */
    perpi_box_to_z(box, r->best, box->z);
    const bool far =
        end != PERPI_RESTART_SOLVED &&
        box->form->check_residual(box->form->problem, box->z, box->work) <= r->tolerance;
    perpi_box_give(box, far ? r->first : r->best, z);
    return PERP_OK;
}
