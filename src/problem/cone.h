/* src/problem/cone.h - the friction sets F(r), r = mu p_n, and projections onto them.
 *
 * One definition for the residual check, the reformulations and the contact solvers. Projections are Euclidean;
 * a radius that is not > 0 gives the set {0}.
 */
#ifndef PERPI_CONE_H
#define PERPI_CONE_H

#include <math.h>

#include "perp/problem.h"

/* d_j = (cos, sin)(2 pi j / nd), nd >= 2. Built from the first octant by symmetry: 0, 1/2 and 1 are
 * exact, and where nd is even d_j and d_{j + nd/2} are opposite to the bit. */
void perpi_polygon_direction(int32_t nd, int32_t j, double d[2]);

/* The j with x in the cone spanned by d_j and d_{j+1} (up to rounding at its sides); 0 for x = 0. */
int32_t perpi_polygon_sector(int32_t nd, const double x[2]);

/* sqrt(a^2 + b^2); hypot only where a square may overflow or lose digits. */
static inline double perpi_length(double a, double b)
{
    const double square = a * a + b * b;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(a, b);
}

/* The nearest point of the disc of radius r. */
static inline void perpi_project_disc(double r, const double x[2], double out[2])
{
    if (!(r > 0.0)) {
        out[0] = out[1] = 0.0;
        return;
    }
    const double length = perpi_length(x[0], x[1]);
    const double t = length > r ? r / length : 1.0;
    out[0] = x[0] * t;
    out[1] = x[1] * t;
}

/* The nearest number of [-r, r], exact at the ends. */
static inline double perpi_project_interval(double r, double x)
{
    if (!(r > 0.0)) {
        return 0.0;
    }
    return x > r ? r : (x < -r ? -r : x);
}

/* [-r, r], the disc and the ball of radius r (n components), the regular polygon inscribed in the
 * disc with a corner at (r, 0). out may be x. */
void perpi_project_ball(int32_t n, double r, const double* x, double* out);
void perpi_project_polygon(int32_t nd, double r, const double x[2], double out[2]);

/* Projection onto F(r) of a contact's cone, tangential rows only. ELLIPSOID: in the scaled
 * coordinates x' = x / e, in which the set is a ball; x and out are scaled. */
void perpi_project_friction(const perp_constraint* c, double r, const double* x, double* out);

/* x = sum beta_j d_j with at most two neighbouring beta > 0 (one where x is aligned with a d_j to
 * 1e-12, none for x = 0): beta has nd entries. rows: 1 (planar, nd = 2) or 2. Returns the sum. */
double perpi_polygon_weights(int32_t rows, int32_t nd, const double* x, double* beta);

#endif
