/* src/solve/splitting/fixed_point.h - the proximal fixed point on LCPs and NCPs.
 *
 * Source     Korpelevich 1976 (extragradient); the rule for the step: Khobotov 1987, Marcotte 1991
 * Notation   P the projection onto the bounds, d_i > 0 the scale of row i, tau the step
 *                y = P(z - tau d F(z)),   z <- P(z - tau d F(y))
 *            tau is small enough if tau |F(z) - F(y)| <= NU |z - y| in the norms that d gives; it
 *            is reduced until this holds, and increased where the left side is much smaller
 * Converges  for monotone F; for other F convergence is not guaranteed. d_i = 1 / |dF_i/dz_i| at
 *            the start makes the method independent of units; where dF_i/dz_i is 0, d_i is 1 over
 *            the largest entry of the row.
 */
#ifndef PERPI_FIXED_POINT_H
#define PERPI_FIXED_POINT_H

#include "base/context.h"
#include "perp/solve.h"

typedef struct perpi_fixed_point_settings {
    double step;
    int32_t check_every;
} perpi_fixed_point_settings;

enum { PERPI_FIXED_POINT_SETTINGS = 2 };
extern const perp_setting perpi_fixed_point_setting[PERPI_FIXED_POINT_SETTINGS];
void perpi_fixed_point_settings_default(void* settings);

perp_status perpi_fixed_point_create(perp_context* context, const void* settings, void** self);
void perpi_fixed_point_destroy(void* self);
perp_status perpi_fixed_point_solve_lcp(void* self, const perp_lcp* problem,
                                        const perp_solve_options* options, bool warm, double* z,
                                        perp_report* report);
perp_status perpi_fixed_point_solve_ncp(void* self, const perp_ncp* problem,
                                        const perp_solve_options* options, bool warm, double* z,
                                        perp_report* report);

#endif
