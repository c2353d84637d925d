/* src/base/turn.h - the derivative of the exponential map of rotation vectors. */
#ifndef PERPI_TURN_H
#define PERPI_TURN_H

#include <math.h>

#include "base/vec.h"

/* J with exp(x + d) = exp(J d) exp(x) to first order in d. */
static inline mat3 perpi_turn_derivative(vec3 x)
{
    const double a = v3_norm(x), q = a * a;
    const double s = a < 1e-3 ? 1.0 - q / 6.0 + q * q / 120.0 : sin(a) / a;
    const double c = a < 1e-3 ? 0.5 - q / 24.0 + q * q / 720.0 : (1.0 - cos(a)) / q;
    const double d = a < 1e-3 ? 1.0 / 6.0 - q / 120.0 : (1.0 - s) / q;
    const double v[3] = {x.x, x.y, x.z};
    mat3 J = {{{s, -c * x.z, c * x.y}, {c * x.z, s, -c * x.x}, {-c * x.y, c * x.x, s}}};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            J.m[i][j] += d * v[i] * v[j];
        }
    }
    return J;
}

/* d with perpi_turn_derivative(x) d = e: the change of log q where q changes to exp(e) q, x = log q. */
static inline vec3 perpi_turn_back(vec3 x, vec3 e)
{
    const double a = v3_norm(x), q = a * a;
    /* J^-1 = 1 - [x]/2 + k [x]^2, k = 1/|x|^2 - (1 + cos|x|) / (2 |x| sin|x|) */
    const double k = a < 1e-2 ? 1.0 / 12.0 + q / 720.0 + q * q / 30240.0
                              : 1.0 / q - (1.0 + cos(a)) / (2.0 * a * sin(a));
    const vec3 xe = v3_cross(x, e);
    return v3_madd(v3_madd(e, -0.5, xe), k, v3_cross(x, xe));
}

#endif
