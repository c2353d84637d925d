/* src/base/curve.h - a function of t through given points.
 *
 *     linear    straight lines
 *     cubic     the cubic spline with continuous curvature, at rest at both ends
 *     quintic   at rest in every point (velocity and acceleration 0): least jerk in between
 *
 * Before the first point and after the last it keeps their value.
 */
#ifndef PERPI_CURVE_H
#define PERPI_CURVE_H

#include "base/context.h"

typedef enum perpi_curve_kind {
    PERPI_CURVE_LINEAR = 0,
    PERPI_CURVE_CUBIC,
    PERPI_CURVE_QUINTIC,
    PERPI_CURVE_KIND_COUNT,
} perpi_curve_kind;

typedef struct perpi_curve perpi_curve;

/* "linear", ...; NULL-terminated. */
extern const char* const perpi_curve_names[PERPI_CURVE_KIND_COUNT + 1];

/* point: count rows of t, x with `stride` doubles from row to row; x stands `at` behind t. Times must
 * ascend; the message starts with the row at fault ("3: ..."). */
PERP_NODISCARD perp_status perpi_curve_create(perp_context* context, perpi_curve_kind kind,
                                              int32_t count, const double* point, int32_t stride,
                                              int32_t at, perpi_curve** curve);
/* Cubics with given slopes: rows of t, x and dx/dt. */
PERP_NODISCARD perp_status perpi_curve_create_slopes(perp_context* context, int32_t count,
                                                     const double* point, perpi_curve** curve);
void perpi_curve_destroy(perp_context* context, perpi_curve* curve);
/* Whether two curves have the same points and kind. */
bool perpi_curve_equal(const perpi_curve* a, const perpi_curve* b);
/* NaN in gives NaN out. slope: not NULL. */
double perpi_curve_at(const perpi_curve* curve, double t, double* slope);

#endif
