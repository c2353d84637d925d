/* src/step/support_rows.h - 2.5-D: the friction under bodies that lie on the plane of the scene.
 *
 * Memory: three impulses (n, t, o) for each point of each body, in order; they come first in s
 * (force_rows.h).
 */
#ifndef PERPI_SUPPORT_ROWS_H
#define PERPI_SUPPORT_ROWS_H

#include "step/formulate.h"

enum { PERPI_SUPPORT_ROWS = 3 }; /* a point's: normal, and the two directions of the plane */

static inline int32_t perpi_support_row_count(const perp_model* model)
{
    return PERPI_SUPPORT_ROWS * model->support_points;
}

/* Appends the rows, and one block for each point; f->support_row becomes the first. Nothing if
 * the cone is NONE: then f->supported is false. */
PERP_NODISCARD perp_status perpi_formulate_supports(perpi_formulation* f,
                                                    const perpi_step_input* in);

#endif
