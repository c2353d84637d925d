/* src/step/weak_law.c - see weak_law.h. */
#include "step/weak_law.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "problem/cone.h"

static double extent(const perp_constraint* c, int32_t i)
{
    return c->cone == PERP_CONE_ELLIPSOID ? c->e[i] : 1.0;
}

int32_t perpi_weak_pairs_most(const perp_constraint* c)
{
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        return c->rows;
    }
    const int32_t round = 2 * (c->rows - 1);
    return 2 + (c->cone == PERP_CONE_POLYGON && c->rows == 3 ? c->directions : round);
}

static perpi_weak_pair* add_pair(perpi_weak_pair* pair, int32_t* count, int32_t constraint,
                                 double scale)
{
    perpi_weak_pair* x = &pair[(*count)++];
    *x = (perpi_weak_pair){.constraint = constraint, .slip = -1, .part = -1, .scale = scale};
    return x;
}

static void clear_law(perpi_law* law)
{
    memset(law->A, 0, sizeof law->A);
    memset(law->B, 0, sizeof law->B);
    memset(law->g, 0, sizeof law->g);
    law->acts = law->slides = false;
}

/* ---- a contact that just touches -----------------------------------------------------------------*/

/* Friction of a contact that slips while its normal impulse is 0: dp_t = direction dp_n. */
static bool slip_direction(const perp_constraint* c, const double* u, double threshold,
                           double* direction)
{
    const int32_t n = c->rows - 1;
    if (c->cone != PERP_CONE_POLYGON || n == 1) {
        double speed = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            speed += extent(c, i) * u[i] * extent(c, i) * u[i];
        }
        speed = sqrt(speed);
        for (int32_t i = 0; i < n; ++i) {
            direction[i] = -c->mu * extent(c, i) * extent(c, i) * u[i] / speed;
        }
        return true;
    }
    const double z[2] = {-u[0], -u[1]};
    const int32_t j = perpi_polygon_sector(c->directions, z);
    double d[2][2], along[2];
    for (int k = 0; k < 2; ++k) {
        perpi_polygon_direction(c->directions, (j + k) % c->directions, d[k]);
        along[k] = d[k][0] * z[0] + d[k][1] * z[1];
    }
    const int best = along[1] > along[0] ? 1 : 0;
    for (int i = 0; i < 2; ++i) {
        direction[i] = c->mu * d[best][i];
    }
    return fabs(along[1] - along[0]) > threshold * perpi_length(u[0], u[1]);
}

void perpi_weak_align(const perp_constraint* c, const double* d, perpi_weak_pair* pair,
                      int32_t count)
{
    const int32_t n = c->rows - 1;
    /* reflection of the first axis onto d; its columns are the frame */
    double r[3] = {0}, square = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        r[i] = d[i] + (i == 0 ? (d[0] >= 0.0 ? 1.0 : -1.0) : 0.0);
        square += r[i] * r[i];
    }
    for (int32_t k = 0; k < count; ++k) {
        perpi_weak_pair* x = &pair[k];
        if (x->part < 0) {
            continue;
        }
        for (int32_t i = 0; i < n; ++i) {
            const double axis = (i == x->part ? 1.0 : 0.0) - 2.0 * r[i] * r[x->part] / square;
            x->push[1 + i] = x->sign * axis * extent(c, i);
            x->u[1 + i] = x->push[1 + i];
        }
    }
}

/* Stewart and Trinkle's form of friction in the changes: dp_t = sum of b_j d_j, b_j >= 0 perp slip
 * + d_j . du_t >= 0, slip >= 0 perp mu dp_n - sum of b_j >= 0. */
static void add_friction(const perpi_law_input* in, const perp_constraint* c, int32_t constraint,
                         int32_t first, perpi_weak_pair* pair, int32_t* count)
{
    const bool polygon = c->cone == PERP_CONE_POLYGON && c->rows == 3;
    const int32_t n = c->rows - 1, directions = polygon ? c->directions : 2 * n;
    const double unit = 1.0 / sqrt(in->w[c->row + 1]);
    perpi_weak_pair* slip = add_pair(pair, count, constraint, 1.0 / unit);
    const int32_t at = first + *count - 1;
    slip->p[0] = c->mu;
    for (int32_t j = 0; j < directions; ++j) {
        perpi_weak_pair* x = add_pair(pair, count, constraint, unit);
        x->slip = at;
        if (polygon) {
            double d[2];
            perpi_polygon_direction(c->directions, j, d);
            for (int i = 0; i < 2; ++i) {
                x->push[1 + i] = x->u[1 + i] = d[i];
            }
        } else {
            x->part = j / 2;
            x->sign = j % 2 == 0 ? 1.0 : -1.0;
        }
    }
    const double axis[3] = {1.0, 0.0, 0.0};
    perpi_weak_align(c, axis, pair, *count);
}

static bool touch(const perpi_law_input* in, int32_t constraint, int32_t first, perpi_law* law,
                  perpi_weak_pair* pair, int32_t* count)
{
    const perp_constraint* c = &in->problem->constraint[constraint];
    const double* u = in->u + c->row;
    double speed = 0.0, size = in->floor;
    clear_law(law);
    for (int32_t i = 0; i < c->rows; ++i) {
        law->B[i * law->rows + i] = 1.0;
        speed = i > 0 ? perpi_larger(speed, fabs(u[i])) : speed;
        size = i > 0 ? perpi_larger(size, in->size[c->row + i]) : size;
    }
    perpi_weak_pair* normal = add_pair(pair, count, constraint, 1.0 / sqrt(in->w[c->row]));
    normal->push[0] = normal->u[0] = 1.0;
    if (c->rows == 1 || !(c->mu > 0.0)) {
        return true;
    }
    if (speed > in->threshold * size) {
        return slip_direction(c, u + 1, in->threshold, normal->push + 1);
    }
    add_friction(in, c, constraint, first, pair, count);
    return true;
}

/* ---- a contact that is about to slide ------------------------------------------------------------*/

static bool brink_round(const perpi_law_input* in, const perp_constraint* c, int32_t constraint,
                        perpi_law* law, perpi_weak_pair* pair, int32_t* count)
{
    const int32_t n = c->rows - 1;
    const double* p = in->p + c->row;
    double e[3] = {1, 1, 1}, s[3] = {0}, push = 0.0, mean = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        e[i] = extent(c, i);
        push += p[1 + i] / e[i] * p[1 + i] / e[i];
        mean += e[i] * e[i] * in->w[c->row + 1 + i] / n;
    }
    push = sqrt(push);
    if (!(push > 0.0)) {
        return false;
    }
    perpi_weak_pair* x = add_pair(pair, count, constraint, 1.0 / sqrt(mean));
    for (int32_t i = 0; i < n; ++i) {
        s[i] = -p[1 + i] / e[i] / push;
        x->push[1 + i] = s[i];
        x->u[1 + i] = s[i] * e[i];
    }
    perpi_law_slide_round(law, e, c->mu, p[0], s, 0.0, mean);
    return true;
}

/* The polygon in the plane of p_t: at an edge, at a corner, or sliding between the two. */
static void brink_polygon(const perpi_law_input* in, const perp_constraint* c, int32_t constraint,
                          perpi_law* law, perpi_weak_pair* pair, int32_t* count)
{
    const double *p = in->p + c->row, *u = in->u + c->row, *w = in->w + c->row;
    const double mean = 0.5 * (w[1] + w[2]), r = c->mu * p[0], unit = 1.0 / sqrt(mean);
    const double z[2] = {p[1] - u[1] / mean, p[2] - u[2] / mean};
    const double size = perpi_larger(r + perpi_length(u[1], u[2]) / mean, in->floor / mean);
    const int32_t nd = c->directions, m = law->rows, j = perpi_polygon_sector(nd, z);
    double d[2][2];
    perpi_polygon_direction(nd, j, d[0]);
    perpi_polygon_direction(nd, (j + 1) % nd, d[1]);
    double normal[2] = {d[0][0] + d[1][0], d[0][1] + d[1][1]};
    const double length = perpi_length(normal[0], normal[1]), apothem = 0.5 * length;
    normal[0] /= length;
    normal[1] /= length;
    const double along[2] = {-normal[1], normal[0]};
    const double half = r * perpi_length(0.5 * (d[1][0] - d[0][0]), 0.5 * (d[1][1] - d[0][1]));
    const double out = normal[0] * z[0] + normal[1] * z[1] - r * apothem;
    const double side = along[0] * z[0] + along[1] * z[1];
    const bool slips = out > in->threshold * size;
    const bool corner = fabs(fabs(side) - half) <= in->threshold * size || fabs(side) > half;
    if (!corner) {
        perpi_weak_pair* x = add_pair(pair, count, constraint, unit);
        x->push[1] = -1.0;
        law->B[m] = -c->mu * apothem;
        law->g[1] = p[0] * apothem;
        for (int i = 0; i < 2; ++i) {
            x->u[1 + i] = -normal[i];
            law->B[m + i + 1] = normal[i];
            law->A[2 * m + i + 1] = along[i];
        }
        return;
    }
    const int32_t at = (j + (side > 0.0 ? 1 : 0)) % nd;
    const double* here = d[side > 0.0 ? 1 : 0];
    for (int i = 0; i < 2; ++i) {
        law->B[(i + 1) * m] = -c->mu * here[i];
        law->B[(i + 1) * m + i + 1] = 1.0;
        law->g[i + 1] = p[0] * here[i];
    }
    for (int k = 0; k < 2; ++k) { /* the two edges that meet there */
        double next[2];
        perpi_polygon_direction(nd, (at + (k == 0 ? 1 : nd - 1)) % nd, next);
        const double edge[2] = {next[0] - here[0], next[1] - here[1]};
        const double l = perpi_length(edge[0], edge[1]);
        const bool own = (k == 0) == !(side > 0.0); /* the edge of this sector */
        if (slips && !own) {
            continue;
        }
        perpi_weak_pair* x = add_pair(pair, count, constraint, unit);
        for (int i = 0; i < 2; ++i) {
            x->push[1 + i] = x->u[1 + i] = edge[i] / l;
        }
    }
}

static bool brink(const perpi_law_input* in, int32_t constraint, perpi_law* law,
                  perpi_weak_pair* pair, int32_t* count)
{
    const perp_constraint* c = &in->problem->constraint[constraint];
    const double *p = in->p + c->row, *u = in->u + c->row;
    clear_law(law);
    law->A[0] = 1.0;
    law->acts = true;
    if (!(c->mu > 0.0)) { /* p_t = 0 whatever the slip; what mu adds has no direction */
        for (int32_t i = 1; i < c->rows; ++i) {
            law->B[i * law->rows + i] = 1.0;
        }
        return true;
    }
    if (c->cone != PERP_CONE_POLYGON) {
        return brink_round(in, c, constraint, law, pair, count);
    }
    if (c->rows == 3) {
        brink_polygon(in, c, constraint, law, pair, count);
        return true;
    }
    const double w = in->w[c->row + 1], side = p[1] - u[1] / w >= 0.0 ? 1.0 : -1.0;
    perpi_weak_pair* x = add_pair(pair, count, constraint, 1.0 / sqrt(w));
    x->push[1] = x->u[1] = -side;
    law->B[2] = -side * c->mu;
    law->B[3] = 1.0;
    law->g[1] = side * p[0];
    return true;
}

/* ---- bounds --------------------------------------------------------------------------------------*/

static void at_bounds(const perpi_law_input* in, int32_t constraint, perpi_law* law,
                      perpi_weak_pair* pair, int32_t* count)
{
    const perp_contact_problem* P = in->problem;
    const perp_constraint* c = &P->constraint[constraint];
    const int32_t n = law->rows;
    law->acts = false;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t row = c->row + i;
        const double compliance = P->compliance != NULL ? P->compliance[row] : 0.0;
        const double w = in->w[row] + compliance, z = in->p[row] - in->u[row] / w;
        const double below = fabs(P->lower[row] - z), above = fabs(z - P->upper[row]);
        const double nearest = below < above ? below : above;
        const double size = perpi_larger(fabs(in->p[row]) + in->size[row] / w, in->floor / w);
        if (size > 0.0 && nearest >= in->threshold * size) {
            law->acts = law->acts || law->bound[i] == 0;
            continue;
        }
        const double side = below < above ? 1.0 : -1.0;
        law->bound[i] = below < above ? -1 : 1;
        for (int32_t k = 0; k < n; ++k) {
            law->A[i * n + k] = 0.0;
            law->B[i * n + k] = i == k ? 1.0 : 0.0;
        }
        law->g[i] = 1.0;
        perpi_weak_pair* x = add_pair(pair, count, constraint, 1.0 / sqrt(w));
        x->push[i] = x->u[i] = side;
        x->p[i] = side * compliance;
    }
}

bool perpi_weak_law(const perpi_law_input* in, int32_t constraint, int32_t first, perpi_law* law,
                    perpi_weak_pair* pair, int32_t* count)
{
    const perp_constraint* c = &in->problem->constraint[constraint];
    bool found = true;
    *count = 0;
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        at_bounds(in, constraint, law, pair, count);
    } else {
        const double p = in->w[c->row] * in->p[c->row], u = in->u[c->row];
        const double size = perpi_larger(fabs(p) + in->size[c->row], in->floor);
        const bool touches = !(size > 0.0) || fabs(p - u) < in->threshold * size;
        found = touches ? touch(in, constraint, first, law, pair, count)
                        : brink(in, constraint, law, pair, count);
    }
    return perpi_law_invert(in, constraint, law) && found;
}
