/* src/problem/cone.c - see cone.h. */
#include "problem/cone.h"

#define PI 3.14159265358979323846

void perpi_polygon_direction(int32_t nd, int32_t j, double d[2])
{
    /* angle = pi/4 (octant + rest/nd); odd octants count backwards from their far end */
    const int64_t eighths = 8 * (int64_t)j;
    const int64_t octant = eighths / nd, rest = eighths % nd;
    const int64_t t = octant % 2 == 0 ? rest : nd - rest;
    double c, s;
    if (t == 0) {
        c = 1.0;
        s = 0.0;
    } else if (t == nd) {
        c = s = sqrt(0.5);
    } else {
        const double angle = 0.25 * PI * (double)t / (double)nd;
        c = cos(angle);
        s = 3 * t == 2 * (int64_t)nd ? 0.5 : sin(angle);
    }
    double x = 0.0, y = 0.0;
    switch (octant) {
    case 0: x = c, y = s; break;
    case 1: x = s, y = c; break;
    case 2: x = -s, y = c; break;
    case 3: x = -c, y = s; break;
    case 4: x = -c, y = -s; break;
    case 5: x = -s, y = -c; break;
    case 6: x = s, y = -c; break;
    default: x = c, y = -s; break;
    }
    d[0] = x + 0.0; /* -0 becomes 0 */
    d[1] = y + 0.0;
}

int32_t perpi_polygon_sector(int32_t nd, const double x[2])
{
    const double turn = atan2(x[1], x[0]) / (2.0 * PI);
    int32_t k = (int32_t)floor(turn * (double)nd);
    k %= nd;
    return k < 0 ? k + nd : k;
}

void perpi_project_ball(int32_t n, double r, const double* x, double* out)
{
    if (n == 2) {
        perpi_project_disc(r, x, out);
        return;
    }
    if (n == 1) { /* exact at the ends, which r x / |x| is not */
        out[0] = perpi_project_interval(r, x[0]);
        return;
    }
    if (!(r > 0.0)) {
        for (int32_t i = 0; i < n; ++i) {
            out[i] = 0.0;
        }
        return;
    }
    double length = perpi_length(x[0], x[1]);
    for (int32_t i = 2; i < n; ++i) {
        length = perpi_length(length, x[i]);
    }
    const double t = length > r ? r / length : 1.0;
    for (int32_t i = 0; i < n; ++i) {
        out[i] = x[i] * t;
    }
}

void perpi_project_polygon(int32_t nd, double r, const double x[2], double out[2])
{
    if (!(r > 0.0)) {
        out[0] = out[1] = 0.0;
        return;
    }
    /* By reflection in the rays through the corners, the nearest point lies in x's own sector. */
    const int32_t k = perpi_polygon_sector(nd, x);
    double a[2], b[2];
    perpi_polygon_direction(nd, k, a);
    perpi_polygon_direction(nd, k + 1 == nd ? 0 : k + 1, b);
    const double e[2] = {b[0] - a[0], b[1] - a[1]};
    const double y[2] = {x[0] - r * a[0], x[1] - r * a[1]};
    if (e[0] * y[1] - e[1] * y[0] >= 0.0) { /* left of the edge: inside */
        out[0] = x[0];
        out[1] = x[1];
        return;
    }
    const double t = (e[0] * y[0] + e[1] * y[1]) / (e[0] * e[0] + e[1] * e[1]);
    if (t <= 0.0) {
        out[0] = r * a[0];
        out[1] = r * a[1];
    } else if (t >= r) {
        out[0] = r * b[0];
        out[1] = r * b[1];
    } else {
        out[0] = r * a[0] + t * e[0];
        out[1] = r * a[1] + t * e[1];
    }
}

void perpi_project_friction(const perp_constraint* c, double r, const double* x, double* out)
{
    const int32_t n = c->rows - 1;
    if (c->cone == PERP_CONE_NONE) {
        perpi_project_ball(n, 0.0, x, out);
    } else if (c->cone == PERP_CONE_POLYGON && n == 2) {
        perpi_project_polygon(c->directions, r, x, out);
    } else {
        perpi_project_ball(n, r, x, out);
    }
}

double perpi_polygon_weights(int32_t rows, int32_t nd, const double* x, double* beta)
{
    for (int32_t j = 0; j < nd; ++j) {
        beta[j] = 0.0;
    }
    if (rows == 1) {
        beta[x[0] >= 0.0 ? 0 : 1] = fabs(x[0]);
        return fabs(x[0]);
    }
    if (x[0] == 0.0 && x[1] == 0.0) {
        return 0.0;
    }
    const int32_t k = perpi_polygon_sector(nd, x), l = k + 1 == nd ? 0 : k + 1;
    double a[2], b[2];
    perpi_polygon_direction(nd, k, a);
    perpi_polygon_direction(nd, l, b);
    const double det = a[0] * b[1] - a[1] * b[0];
    double alpha = (x[0] * b[1] - x[1] * b[0]) / det;
    double gamma = (a[0] * x[1] - a[1] * x[0]) / det;
    const double least = 1e-12 * (fabs(alpha) + fabs(gamma));
    if (!(alpha > least)) {
        alpha = 0.0;
        gamma = hypot(x[0], x[1]);
    } else if (!(gamma > least)) {
        gamma = 0.0;
        alpha = hypot(x[0], x[1]);
    }
    beta[k] = alpha;
    beta[l] = gamma;
    return alpha + gamma;
}
