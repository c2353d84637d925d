/* src/sim/gradient_quantity.h - derivatives of quantities by the state. */
#ifndef PERPI_GRADIENT_QUANTITY_H
#define PERPI_GRADIENT_QUANTITY_H

#include "sim/quantity.h"

/* Whether it has a derivative by the state; else PERP_ERROR_UNSUPPORTED with its name. */
PERP_NODISCARD perp_status perpi_quantity_differentiable(perp_context* context,
                                                         const perp_model* model,
                                                         const perp_quantity* quantity);
/* Its value at a view. energy: room. */
double perpi_quantity_at(const perpi_view* view, const perp_quantity* quantity);
/* y += weight d quantity / d state; y laid out as perpi_linear_size_of. q, v: scratch for a copy of the state. */
void perpi_quantity_differentiate(const perpi_view* view, const perp_quantity* quantity,
                                  double weight, double* q, double* v, double* y);

#endif
