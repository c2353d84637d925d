/* src/contact/turn_cells.c - the orders that a small rotation can produce.
 *
 * Each product of an edge with a normal vanishes on a surface in the space of rotations d, to first order a
 * plane; a cell of the arrangement of these within the ball |d| <= theta is one order. A cell that
 * touches the line of two planes is reached from the middle of a stretch of that line, into one of the
 * four quadrants: along the bisector, so that of several planes through one line any two neighbours
 * enclose a sample. A cell that touches no such line lies on a plane that no other cuts, and is reached
 * from that plane's foot.
 *   The planes only give sample points. The signs are those of the products themselves after the rotation: three
 * surfaces with a common line can have linearised planes that do not meet in one, and enclose cells that do not
 * exist.
 */
#include <math.h>

#include "contact/polyhedra.h"

#define THROUGH 1e-7 /* times theta: a plane this near to a point contains it */

typedef struct arrangement {
    const perpi_product* product;
    int32_t end; /* index of the expected rotation */
    int32_t active[PERPI_TURN_ACTIVE];
    int32_t count;
    double theta, through;
    uint64_t base; /* signs of the planes that are not followed */
    uint64_t* cell;
    int32_t cells;
} arrangement;

static void add_cell(arrangement* a, uint64_t signs)
{
    signs |= a->base;
    for (int32_t i = 0; i < a->cells; ++i) {
        if (a->cell[i] == signs) {
            return;
        }
    }
    if (a->cells < PERPI_TURN_CELLS) {
        a->cell[a->cells++] = signs;
    }
}

static vec3 slope_of(const arrangement* a, int32_t k)
{
    return a->product[a->active[k]].g[a->end];
}

static double value_at(const arrangement* a, int32_t k, vec3 d)
{
    const perpi_product* p = &a->product[a->active[k]];
    return p->s[a->end] + v3_dot(p->g[a->end], d);
}

/* The signs at the rotation d: Q is its Cayley map. */
static void add_at(arrangement* a, vec3 d)
{
    const double d2 = 0.25 * v3_dot(d, d), scale = 1.0 / (1.0 + d2);
    uint64_t signs = 0;
    for (int32_t k = 0; k < a->count; ++k) {
        const perpi_product* p = &a->product[a->active[k]];
        const vec3 before = p->turning[a->end];
        const vec3 once = v3_cross(d, before), twice = v3_cross(d, once);
        const vec3 turned = v3_madd(before, scale, v3_madd(once, 0.5, twice));
        signs |= v3_dot(p->still, turned) > 0.0 ? (uint64_t)1 << a->active[k] : 0;
    }
    add_cell(a, signs);
}

/* The distance from d to the nearest plane that does not contain it. */
static double plane_distance_at(const arrangement* a, vec3 d)
{
    double room = a->theta;
    for (int32_t k = 0; k < a->count; ++k) {
        const double s = fabs(value_at(a, k, d));
        room = s > a->through && s < room ? s : room;
    }
    return 0.5 * room;
}

/* From the middle of a stretch of the line of planes i and j into its four quadrants: g and g' have
 * length 1, so that their sum and difference bisect these. */
static void add_quadrants(arrangement* a, vec3 d, vec3 gi, vec3 gj)
{
    const vec3 bisector[2] = {v3_add(gi, gj), v3_sub(gi, gj)};
    const double room = plane_distance_at(a, d);
    for (int way = 0; way < 2; ++way) {
        const double step = room / v3_norm(bisector[way]);
        add_at(a, v3_madd(d, step, bisector[way]));
        add_at(a, v3_madd(d, -step, bisector[way]));
    }
}

static void add_line(arrangement* a, int32_t i, int32_t j)
{
    const vec3 g = slope_of(a, i), k_g = slope_of(a, j), zero = v3(0, 0, 0);
    const double s = value_at(a, i, zero), k_s = value_at(a, j, zero);
    const double c = v3_dot(g, k_g), sine2 = 1.0 - c * c;
    if (!(sine2 > 1e-12)) {
        return;
    }
    /* the point of the line nearest to 0 */
    const double alpha = (-s + c * k_s) / sine2, beta = (-k_s + c * s) / sine2;
    const vec3 foot = v3_add(v3_scale(alpha, g), v3_scale(beta, k_g));
    const double half2 = a->theta * a->theta - v3_dot(foot, foot);
    if (!(half2 > 0.0)) {
        return;
    }
    const double half = sqrt(half2);
    const vec3 u = v3_unit(v3_cross(g, k_g));
    double t[PERPI_TURN_ACTIVE + 2];
    int32_t n = 0;
    t[n++] = -half;
    for (int32_t k = 0; k < a->count; ++k) {
        const double slope = v3_dot(slope_of(a, k), u);
        if (k == i || k == j || !(fabs(slope) > 1e-9)) {
            continue;
        }
        const double at = -value_at(a, k, foot) / slope;
        if (fabs(at) < half) {
            int32_t place = n++;
            for (; place > 1 && t[place - 1] > at; --place) {
                t[place] = t[place - 1];
            }
            t[place] = at;
        }
    }
    t[n] = half;
    for (int32_t k = 0; k < n; ++k) {
        if (t[k + 1] - t[k] > 2.0 * a->through) {
            add_quadrants(a, v3_madd(foot, 0.5 * (t[k] + t[k + 1]), u), g, k_g);
        }
    }
}

/* Of the products that can change sign the nearest to it are followed; the others keep the sign at
 * d = 0. */
static void choose_active(arrangement* a, int32_t count)
{
    bool taken[PERPI_PRODUCTS] = {false};
    for (a->count = 0; a->count < PERPI_TURN_ACTIVE; ++a->count) {
        int32_t best = -1;
        double least = a->theta;
        for (int32_t i = 0; i < count; ++i) {
            if (!taken[i] && fabs(a->product[i].s[a->end]) < least) {
                least = fabs(a->product[i].s[a->end]);
                best = i;
            }
        }
        if (best < 0) {
            break;
        }
        taken[best] = true;
        a->active[a->count] = best;
    }
    for (int32_t i = 0; i < count; ++i) {
        a->base |= !taken[i] && a->product[i].s[a->end] > 0.0 ? (uint64_t)1 << i : 0;
    }
}

int32_t perpi_turn_cells(const perpi_product* product, int32_t count, int32_t end, double theta,
                         uint64_t* cell)
{
    arrangement a = {
        .product = product, .end = end, .theta = theta, .through = THROUGH * theta, .cell = cell};
    const vec3 aside = v3(5.37e-4, 1.83e-4, 8.26e-4);
    choose_active(&a, count);
    if (a.count == 0) {
        add_cell(&a, 0);
    }
    for (int32_t i = 0; i < a.count; ++i) {
        const vec3 g = slope_of(&a, i);
        const vec3 foot = v3_scale(-value_at(&a, i, v3(0, 0, 0)), g);
        const double room = plane_distance_at(&a, foot);
        /* offset, so that no other plane through the foot contains the sample */
        add_at(&a, v3_madd(foot, room, v3_add(g, aside)));
        add_at(&a, v3_madd(foot, room, v3_sub(aside, g)));
    }
    for (int32_t i = 0; i < a.count; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            add_line(&a, i, j);
        }
    }
    return a.cells;
}
