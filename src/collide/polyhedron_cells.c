/* src/collide/polyhedron_cells.c - the orders that a small turn can bring about.
 *
 * Each product of an edge with a normal vanishes on a plane in the space of turns d; a cell of the
 * arrangement of these planes within the ball |d| <= theta is one order. A cell that touches the line of
 * two planes is reached from the middle of a stretch of that line, into one of the four quadrants: along
 * the bisector, so that of several planes through one line any two neighbours enclose a sample. A cell
 * that touches no such line lies on a plane that no other cuts, and is reached from that plane's foot.
 */
#include <math.h>

#include "collide/polyhedron.h"

#define THROUGH 1e-7 /* times theta: a plane this near to a point contains it */

typedef struct arrangement {
    const perpi_turn_plane* plane;
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

static double value_at(const perpi_turn_plane* p, vec3 d)
{
    return p->s + v3_dot(p->g, d);
}

/* The cell that one comes into from point d along step; planes through d are told by the step. */
static void add_from(arrangement* a, vec3 d, vec3 step)
{
    uint64_t signs = 0;
    for (int32_t k = 0; k < a->count; ++k) {
        const perpi_turn_plane* p = &a->plane[a->active[k]];
        const double s = value_at(p, d);
        const double tell = fabs(s) > a->through ? s : v3_dot(p->g, step);
        signs |= tell > 0.0 ? (uint64_t)1 << a->active[k] : 0;
    }
    add_cell(a, signs);
}

/* From the middle of a stretch of the line of planes i and j into its four quadrants. */
static void add_quadrants(arrangement* a, vec3 d, vec3 gi, vec3 gj)
{
    uint64_t fixed = 0;
    int32_t through[PERPI_TURN_ACTIVE], n = 0;
    for (int32_t k = 0; k < a->count; ++k) {
        const double s = value_at(&a->plane[a->active[k]], d);
        if (!(fabs(s) > a->through)) {
            through[n++] = a->active[k];
        } else if (s > 0.0) {
            fixed |= (uint64_t)1 << a->active[k];
        }
    }
    /* g and g' of length 1: their sum and difference bisect the quadrants */
    const vec3 sum = v3_add(gi, gj), difference = v3_sub(gi, gj);
    for (int way = 0; way < 4; ++way) {
        const vec3 step = v3_scale(way & 1 ? -1.0 : 1.0, way & 2 ? difference : sum);
        uint64_t signs = fixed;
        for (int32_t k = 0; k < n; ++k) {
            signs |=
                v3_dot(a->plane[through[k]].g, step) > 0.0 ? (uint64_t)1 << through[k] : 0;
        }
        add_cell(a, signs);
    }
}

static void add_line(arrangement* a, int32_t i, int32_t j)
{
    const perpi_turn_plane *p = &a->plane[a->active[i]], *q = &a->plane[a->active[j]];
    const double c = v3_dot(p->g, q->g), sine2 = 1.0 - c * c;
    if (!(sine2 > 1e-12)) {
        return;
    }
    /* the point of the line nearest to 0 */
    const double alpha = (-p->s + c * q->s) / sine2, beta = (-q->s + c * p->s) / sine2;
    const vec3 foot = v3_add(v3_scale(alpha, p->g), v3_scale(beta, q->g));
    const double half2 = a->theta * a->theta - v3_dot(foot, foot);
    if (!(half2 > 0.0)) {
        return;
    }
    const double half = sqrt(half2);
    const vec3 u = v3_unit(v3_cross(p->g, q->g));
    double t[PERPI_TURN_ACTIVE + 2];
    int32_t n = 0;
    t[n++] = -half;
    for (int32_t k = 0; k < a->count; ++k) {
        const perpi_turn_plane* r = &a->plane[a->active[k]];
        const double slope = v3_dot(r->g, u);
        if (k == i || k == j || !(fabs(slope) > 1e-9)) {
            continue;
        }
        const double at = -value_at(r, foot) / slope;
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
            add_quadrants(a, v3_madd(foot, 0.5 * (t[k] + t[k + 1]), u), p->g, q->g);
        }
    }
}

/* The planes nearest to 0 are followed; of the others their sign there is kept. */
static void choose_active(arrangement* a, int32_t count)
{
    bool taken[PERPI_TURN_PLANES] = {false};
    for (a->count = 0; a->count < count && a->count < PERPI_TURN_ACTIVE; ++a->count) {
        int32_t best = -1;
        for (int32_t i = 0; i < count; ++i) {
            if (!taken[i] && (best < 0 || fabs(a->plane[i].s) < fabs(a->plane[best].s))) {
                best = i;
            }
        }
        taken[best] = true;
        a->active[a->count] = best;
    }
    for (int32_t i = 0; i < count; ++i) {
        a->base |= !taken[i] && a->plane[i].s > 0.0 ? (uint64_t)1 << i : 0;
    }
}

int32_t perpi_turn_cells(const perpi_turn_plane* plane, int32_t count, double theta, uint64_t* cell)
{
    arrangement a = {.plane = plane, .theta = theta, .through = THROUGH * theta, .cell = cell};
    const vec3 aside = v3(5.37e-4, 1.83e-4, 8.26e-4);
    choose_active(&a, count);
    if (a.count == 0) {
        add_cell(&a, 0);
    }
    for (int32_t i = 0; i < a.count; ++i) {
        const perpi_turn_plane* p = &a.plane[a.active[i]];
        const vec3 foot = v3_scale(-p->s, p->g);
        /* a little aside, so that of other planes through the foot none contains the step */
        add_from(&a, foot, v3_add(p->g, aside));
        add_from(&a, foot, v3_sub(aside, p->g));
    }
    for (int32_t i = 0; i < a.count; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            add_line(&a, i, j);
        }
    }
    return a.cells;
}
