/* src/contact/peg_polyhedra.c - the groups of PEG, of two convex polyhedra.
 *
 * Source     [W14 3.6, 4.4 to 4.7], algorithms 12 to 17; feature pairs: src/collide/polytope/polyhedron.c
 *
 * The constraints of PEG: as in the plane (peg_polygons.c), with B - A a polyhedron. Its
 * facets are vertex-face and edge-edge pairs, the bodies are apart exactly if one of them has psi >= 0,
 * and one group holds those that the origin can reach within the step. A rotation d of b against a makes
 * other pairs facets: each order of the products of edges with normals that some |d| <= theta produces
 * (turn_cells.c) has a group, and all of them must hold.
 *   An order other than the actual one cannot forbid an admissible motion: a facet of another order, at the
 * actual pose, has its corners in B - A, and these facets close around it; a ray from an origin outside
 * to a point inside enters through one of them, which has psi >= 0.
 *   For a box on a wide box the axis of the rotation decides which vertex is lowest: one sector round the
 * normal and one vertex-face pair for each vertex, so four constraints. Staggered boxes: crossing edges
 * replace the overhanging vertices.
 *
 *   Facets of the far side of B - A are not members: polyhedra_far.c.
 *
 * Departure  algorithms 12 to 17 go from vertex to vertex and edge to edge, and state I- and
 *            X-constraints for each combination of adjacent faces; here one rule covers them, and
 *            groups that follow from others are left out. The constraints are exact to first order in
 *            the motion, as everything in a linearised step; the constant grows as 1/sine of the angle
 *            between two edges that cross.
 */
#include <math.h>

#include "collide/narrow/round.h"
#include "contact/polyhedra.h"
#include "contact/rules.h"

/* ---- PEG: one group for each order ------------------------------------------------------------------------ */

/* The pairs that are facets where the products have these signs, without equal rows. */
static uint64_t members_of(const perpi_polyhedron_answer* a, uint64_t signs, int32_t end)
{
    uint64_t mask = 0;
    for (int32_t i = 0; i < a->m->count; ++i) {
        const perpi_facet* f = &a->m->facet[i];
        if ((f->possible >> end & 1U) && (signs & f->plus) == f->plus && (signs & f->minus) == 0) {
            mask |= (uint64_t)1 << a->same[i];
        }
    }
    return mask;
}

/* The largest gap of a group; which member is the least open. */
static double largest_gap(const perpi_meeting* m, uint64_t mask, int32_t* worst, int32_t* count)
{
    double most = -INFINITY;
    *worst = -1;
    *count = 0;
    for (int32_t i = 0; mask != 0; ++i, mask >>= 1) {
        if (mask & 1U) {
            const double psi = m->facet[i].psi;
            most = psi > most ? psi : most;
            *worst = *worst < 0 || psi < m->facet[*worst].psi ? i : *worst;
            *count += 1;
        }
    }
    return most;
}

typedef struct group_set {
    uint64_t mask[PERPI_TURN_CELLS];
    double open[PERPI_TURN_CELLS];
    int32_t count;
} group_set;

/* A group that contains another follows from it. A group that cannot be violated within the step is
 * redundant. One that is violated at the current pose, deeper than the bodies overlap, is
 * incomplete: by overflow of its members, or because edges were left out as parallel. */
static void add_group(const perpi_polyhedron_answer* a, uint64_t mask, double floor, group_set* set)
{
    perpi_meeting* m = a->m;
    int32_t worst, count;
    const double open = largest_gap(m, mask, &worst, &count);
    if (count == 0 || open > m->margin || open < floor || set->count == PERPI_TURN_CELLS) {
        return;
    }
    /* a member that cannot open within the step is discarded, unless all are such */
    while (count > PERPI_ANSWER_MEMBERS || (count > 1 && m->facet[worst].psi < -m->margin)) {
        mask &= ~((uint64_t)1 << worst);
        (void)largest_gap(m, mask, &worst, &count);
    }
    int32_t kept = 0;
    for (int32_t k = 0; k < set->count; ++k) {
        if ((set->mask[k] & ~mask) == 0) {
            return;
        }
    }
    for (int32_t k = 0; k < set->count; ++k) {
        if ((mask & ~set->mask[k]) != 0) {
            set->mask[kept] = set->mask[k];
            set->open[kept++] = set->open[k];
        }
    }
    set->mask[kept] = mask;
    set->open[kept] = open;
    set->count = kept + 1;
}

/* without: facets that are not members. */
static void find_groups(const perpi_polyhedron_answer* a, uint64_t without, group_set* set)
{
    const perpi_meeting* m = a->m;
    uint64_t cell[PERPI_TURN_CELLS];
    const double floor = perpi_meeting_least_gap(m);
    set->count = 0;
    for (int32_t k = 0; k < m->ends; ++k) {
        const int32_t cells = perpi_turn_cells(m->product, m->products, k, m->theta, cell);
        int32_t different = 0;
        for (int32_t c = 0; c < cells; ++c) { /* many cells have the same members */
            const uint64_t mask = members_of(a, cell[c], k) & ~without;
            int32_t i = 0;
            while (i < different && cell[i] != mask) {
                i += 1;
            }
            if (i == different) {
                cell[different++] = mask;
                add_group(a, mask, floor, set);
            }
        }
    }
    /* overflow: those nearest to a violation are kept */
    while (set->count > PERPI_ANSWER_GROUPS) {
        int32_t most = 0;
        for (int32_t k = 1; k < set->count; ++k) {
            most = set->open[k] > set->open[most] ? k : most;
        }
        set->count -= 1;
        set->mask[most] = set->mask[set->count];
        set->open[most] = set->open[set->count];
    }
}

/* The facets of the far side, without equal rows. */
static uint64_t far_rows(const perpi_polyhedron_answer* a)
{
    const uint64_t far = perpi_meeting_far_side(a->m, perpi_meeting_least_gap(a->m));
    uint64_t rows = 0;
    for (int32_t i = 0; i < a->m->count; ++i) {
        rows |= (far >> i & 1U) ? (uint64_t)1 << a->same[i] | (uint64_t)1 << i : 0;
    }
    return rows;
}

/* The path group: the origin stays in front of the near side, or passes beside B - A. */
static perp_status add_path_group(perpi_polyhedron_answer* a, uint64_t far,
                                  const perpi_facet* plane, int32_t planes)
{
    const perpi_meeting* m = a->m;
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        mask |= m->facet[i].present && (far >> i & 1U) == 0 ? (uint64_t)1 << a->same[i] : 0;
    }
    int32_t worst, count;
    (void)largest_gap(m, mask, &worst, &count);
    while (count > PERPI_ANSWER_MEMBERS) {
        mask &= ~((uint64_t)1 << worst);
        (void)largest_gap(m, mask, &worst, &count);
    }
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && count > 0 && i < m->count; ++i) {
        if (mask >> i & 1U) {
            status = perpi_answer_add(a, &m->facet[i], PERPI_ANSWER_GROUPS + 1, false);
        }
    }
    for (int32_t i = 0; status == PERP_OK && count > 0 && i < planes; ++i) {
        status = perpi_answer_add(a, &plane[i], PERPI_ANSWER_GROUPS + 1, false);
    }
    return status;
}

/* The rows of two faces that lie flat on each other, if groups could have no other members. */
static int32_t find_flat_rows(perpi_polyhedron_answer* a, uint64_t far, int32_t* row)
{
    const perpi_meeting* m = a->m;
    uint64_t members = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        const bool member = f->possible != 0 && f->psi >= -m->margin && (far >> i & 1U) == 0;
        members |= member ? (uint64_t)1 << i : 0;
    }
    return perpi_flat_rows(a, members, row);
}

perp_status perpi_peg_polyhedra(perpi_polyhedron_answer* a)
{
    group_set set;
    perpi_facet plane[PERPI_PLANES];
    /* far-side members only if there is a path past the near side */
    const uint64_t far = far_rows(a);
    const int32_t planes = far != 0 ? perpi_meeting_planes(a->m, plane) : 0;
    perp_status status = PERP_OK;
    int32_t row[PERPI_FLAT_ROWS];
    const int32_t rows = planes == 0 ? find_flat_rows(a, far, row) : 0;
    for (int32_t i = 0; status == PERP_OK && i < rows; ++i) {
        status = perpi_answer_add(a, &a->m->facet[row[i]], 0, false);
    }
    if (rows > 0) {
        return status;
    }
    find_groups(a, planes > 0 ? 0 : far, &set);
    for (int32_t g = 0; g < set.count; ++g) {
        const uint64_t mask = set.mask[g];
        const bool alone = (mask & (mask - 1)) == 0;
        for (int32_t i = 0; status == PERP_OK && i < a->m->count; ++i) {
            if (mask >> i & 1U) {
                status = perpi_answer_add(a, &a->m->facet[i], alone ? 0 : g + 1, false);
            }
        }
    }
    return status == PERP_OK && planes > 0 ? add_path_group(a, far, plane, planes) : status;
}
