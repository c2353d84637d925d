/* src/collide/polyhedron.c - what near features of two convex polyhedra mean to a contact model.
 *
 * Source     [W14 3.6, 4.4 to 4.7], algorithms 12 to 17
 * Notation   psi: the gap of a pair of features along its normal; theta: how far the bodies can turn
 *            against each other in the step, margin / size
 *
 * What the groups of PEG say: as in the plane (src/collide/polygon.c), with B - A a polyhedron. Its
 * facets are vertex-face and edge-edge pairs, the bodies are apart exactly if one of them has psi >= 0,
 * and one group holds those that the origin can come to within the step. A turn d of b against a makes
 * other pairs facets: each order of the products of edges with normals that some |d| <= theta brings
 * about (src/collide/polyhedron_cells.c) has a group, and all of them must hold.
 *   No order that is not the actual one can forbid what is allowed: a facet of another order, at the
 * actual pose, has its corners in B - A, and these facets close around it; a ray from an origin outside
 * to a point inside enters through one of them, which has psi >= 0.
 *   A box on a wide box is turned by some axis: which vertex is lowest is told by a sector round the
 * normal; one vertex-face pair each, so four constraints. Staggered boxes: crossing edges take the
 * places of the vertices that hang over.
 *
 *   Facets of the far side of B - A are no members: src/collide/polyhedron_far.c.
 *
 * Departure  algorithms 12 to 17 go from vertex to vertex and edge to edge, and state I- and
 *            X-constraints for each combination of adjacent faces; here one notion covers them, and
 *            what follows from another group is left out. The statement is exact to first order in
 *            the motion, as everything in a linearised step; the constant grows as 1/sine of the angle
 *            between two edges that cross.
 */
#include "collide/polyhedron.h"

#include "collide/round.h"

#define DEPTH 1.01    /* times the least depth: plain features down to here count */
#define SAME_ROW 1e-9 /* in a normal, and in a point times the size */

#define TURN_MAX 0.35 /* radians: as far as orders of features are told */

enum { GROUPS = 24, MEMBERS = 8, INNER = 200 };

typedef struct answer {
    perpi_meeting* m;
    const perpi_pose* pose; /* of a */
    perpi_touch_list* list;
    size_t first; /* the pair's first touch */
    uint64_t name[(GROUPS + 1) * MEMBERS + PERPI_PLANES + PERPI_FACETS];
    int32_t names;
    int32_t same[PERPI_FACETS]; /* the first facet with the same row */
} answer;

/* ---- names ------------------------------------------------------------------------------------------ */

/* Which features, and the how manieth time this is. */
static uint64_t name_of(const perpi_facet* f, int32_t again)
{
    return (((uint64_t)f->kind << 20 | (uint64_t)f->one) << 20 | (uint64_t)f->other) << 8 |
           (uint64_t)again;
}

/* 24 bits of it: all there is for small bodies, else scattered. */
static uint32_t fold(uint64_t name)
{
    const uint64_t again = name & 255, other = name >> 8 & 0xFFFFF, one = name >> 28 & 0xFFFFF;
    if (one < 256 && other < 512 && again < 32) {
        return (uint32_t)(((name >> 48) << 8 | one) << 14 | other << 5 | again);
    }
    return (uint32_t)(name * 0x9E3779B97F4A7C15ULL >> 40);
}

/* The touches' numbers: unique, and the same from step to step as long as the names are. */
static void number_touches(answer* a)
{
    perpi_touch* touch = a->list->item + a->first;
    for (int32_t i = 1; i < a->names; ++i) { /* by name */
        const uint64_t name = a->name[i];
        const perpi_touch t = touch[i];
        int32_t k = i;
        for (; k > 0 && a->name[k - 1] > name; --k) {
            a->name[k] = a->name[k - 1];
            touch[k] = touch[k - 1];
        }
        a->name[k] = name;
        touch[k] = t;
    }
    for (int32_t i = 0; i < a->names; ++i) {
        uint32_t number = fold(a->name[i]);
        for (int32_t k = 0; k < i; ++k) {
            if (touch[k].feature == number) {
                number = (number + 1) & 0xFFFFFF;
                k = -1;
            }
        }
        touch[i].feature = number;
    }
}

static perp_status add(answer* a, const perpi_facet* f, int32_t group, bool secondary)
{
    const perpi_pose* pose = a->pose;
    if (a->names == (int32_t)(sizeof a->name / sizeof a->name[0])) {
        return PERP_OK;
    }
    int32_t again = 0;
    while (again < 255) {
        bool taken = false;
        for (int32_t i = 0; i < a->names && !taken; ++i) {
            taken = a->name[i] == name_of(f, again);
        }
        if (!taken) {
            break;
        }
        again += 1;
    }
    a->name[a->names++] = name_of(f, again);
    a->list->group = group;
    a->list->secondary = secondary;
    const perp_status status =
        perpi_touch_add(a->list, 0, perpi_pose_point(pose, f->p_a), perpi_pose_point(pose, f->p_b),
                        m3_mul(pose->R, f->n), f->psi);
    a->list->group = 0;
    a->list->secondary = false;
    return status;
}

/* ---- rows that are the same ---------------------------------------------------------------------------- */

static bool same_row(const answer* a, const perpi_facet* f, const perpi_facet* g)
{
    const double tiny = SAME_ROW * a->m->size;
    const vec3 dn = v3_sub(f->n, g->n), d = v3_sub(f->p_a, g->p_a);
    const vec3 off = v3_madd(d, -v3_dot(d, f->n), f->n);
    return fabs(f->psi - g->psi) <= tiny && v3_dot(dn, dn) <= SAME_ROW * SAME_ROW &&
           v3_dot(off, off) <= tiny * tiny;
}

static void find_same(answer* a)
{
    for (int32_t i = 0; i < a->m->count; ++i) {
        int32_t k = 0;
        while (k < i && (a->same[k] != k || !same_row(a, &a->m->facet[i], &a->m->facet[k]))) {
            k += 1;
        }
        a->same[i] = k;
    }
}

/* ---- plain: every pair within the margin ------------------------------------------------------------- */

/* Pairs with a gap below that of the direction of least depth do not count: a body that rests on
 * another, some rounding deep, would also be pushed out sideways. */
static double least_gap(const perpi_meeting* m)
{
    const double least = m->best < 0.0 ? m->best : 0.0;
    return DEPTH * least - PERPI_TOUCH_TIE * m->size;
}

/* How far apart the bodies are along the pair's normal. */
static double separation(const perpi_meeting* m, const perpi_facet* f)
{
    const int32_t a = perpi_polyhedron_support(m->p[0], f->n, 0);
    const vec3 n_b = m3_tmul(m->R, f->n);
    const int32_t b = perpi_polyhedron_support(m->p[1], v3_neg(n_b), 0);
    return v3_dot(f->n, v3_sub(m->x, m->p[0]->vertex[a])) + v3_dot(n_b, m->p[1]->vertex[b]);
}

/* Where the bodies overlap, a pair counts only if they can be parted along its normal at about the
 * least depth: a vertex that has come near the far side is not to be pushed out there. */
static bool counts(const perpi_meeting* m, const perpi_facet* f, double floor)
{
    return f->psi >= floor && f->psi <= m->margin &&
           (f->present || floor > -2.0 * PERPI_TOUCH_TIE * m->size || separation(m, f) >= floor);
}

static perp_status add_plain(answer* a)
{
    const perpi_meeting* m = a->m;
    const double floor = least_gap(m);
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        if (a->same[i] == i && counts(m, f, floor)) {
            status = add(a, f, 0, false);
        }
    }
    return status;
}

/* ---- LNC: a group for each vertex, edges for themselves -------------------------------------------------- */

/* The faces near a vertex, without those of the far side; primary those that the turn can make a facet
 * with it. */
static perp_status add_vertex(answer* a, int32_t first, double floor, uint64_t far, int32_t group)
{
    const perpi_meeting* m = a->m;
    const perpi_facet* f = m->facet;
    int32_t member[MEMBERS], count = 0, primaries = 0;
    for (int32_t i = first; i < m->count && count < MEMBERS; ++i) {
        if (f[i].kind != f[first].kind || f[i].one != f[first].one) {
            continue;
        }
        if (f[i].psi > m->margin) {
            return PERP_OK; /* cannot come inside */
        }
        if (far >> i & 1U) {
            continue;
        }
        member[count++] = i;
        primaries += f[i].possible != 0;
    }
    if (primaries == 0 || (count == 1 && f[member[0]].psi < floor)) {
        return PERP_OK;
    }
    perp_status status = PERP_OK;
    for (int32_t k = 0; status == PERP_OK && k < count; ++k) {
        status = add(a, &f[member[k]], count > 1 ? group : 0, f[member[k]].possible == 0);
    }
    return status;
}

static perp_status add_lnc(answer* a)
{
    perpi_meeting* m = a->m;
    const double floor = least_gap(m);
    const uint64_t far = perpi_meeting_far_side(m, floor);
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        bool seen = false;
        if (f->kind == PERPI_EDGE_EDGE) {
            if (a->same[i] == i && counts(m, f, floor)) {
                status = add(a, f, 0, false);
            }
            continue;
        }
        for (int32_t k = 0; k < i && !seen; ++k) {
            seen = m->facet[k].kind == f->kind && m->facet[k].one == f->one;
        }
        if (!seen) {
            status = add_vertex(a, i, floor, far, i + 1);
        }
    }
    return status;
}

/* ---- PEG: one group for each order ------------------------------------------------------------------------ */

/* The pairs that are facets where the products have these signs; equal rows once. */
static uint64_t members_of(const answer* a, uint64_t signs, int32_t end)
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
static double widest(const perpi_meeting* m, uint64_t mask, int32_t* worst, int32_t* count)
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

/* What contains another group follows from it. A group that cannot be violated within the step says
 * nothing. One that is violated as things stand, deeper than the bodies are in each other, is not
 * complete: of an order with more members than there is room for, or with edges left out as parallel. */
static void add_group(const answer* a, uint64_t mask, double floor, group_set* set)
{
    perpi_meeting* m = a->m;
    int32_t worst, count;
    const double open = widest(m, mask, &worst, &count);
    if (count == 0 || open > m->margin || open < floor || set->count == PERPI_TURN_CELLS) {
        return;
    }
    /* what cannot open within the step is no way out, unless there is none at all */
    while (count > MEMBERS || (count > 1 && m->facet[worst].psi < -m->margin)) {
        mask &= ~((uint64_t)1 << worst);
        (void)widest(m, mask, &worst, &count);
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

/* without: facets that are no members. */
static void find_groups(const answer* a, uint64_t without, group_set* set)
{
    const perpi_meeting* m = a->m;
    uint64_t cell[PERPI_TURN_CELLS];
    const double floor = least_gap(m);
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
    /* too many: those that are nearest to being violated stay */
    while (set->count > GROUPS) {
        int32_t most = 0;
        for (int32_t k = 1; k < set->count; ++k) {
            most = set->open[k] > set->open[most] ? k : most;
        }
        set->count -= 1;
        set->mask[most] = set->mask[set->count];
        set->open[most] = set->open[set->count];
    }
}

/* The facets of the far side; equal rows as one. */
static uint64_t far_rows(const answer* a)
{
    const uint64_t far = perpi_meeting_far_side(a->m, least_gap(a->m));
    uint64_t rows = 0;
    for (int32_t i = 0; i < a->m->count; ++i) {
        rows |= (far >> i & 1U) ? (uint64_t)1 << a->same[i] | (uint64_t)1 << i : 0;
    }
    return rows;
}

/* What the path must not do: the origin stays in front of the near side, or passes beside B - A. */
static perp_status add_path_group(answer* a, uint64_t far, const perpi_facet* plane, int32_t planes)
{
    const perpi_meeting* m = a->m;
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        mask |= m->facet[i].present && (far >> i & 1U) == 0 ? (uint64_t)1 << a->same[i] : 0;
    }
    int32_t worst, count;
    (void)widest(m, mask, &worst, &count);
    while (count > MEMBERS) {
        mask &= ~((uint64_t)1 << worst);
        (void)widest(m, mask, &worst, &count);
    }
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && count > 0 && i < m->count; ++i) {
        if (mask >> i & 1U) {
            status = add(a, &m->facet[i], GROUPS + 1, false);
        }
    }
    for (int32_t i = 0; status == PERP_OK && count > 0 && i < planes; ++i) {
        status = add(a, &plane[i], GROUPS + 1, false);
    }
    return status;
}

static perp_status add_groups(answer* a)
{
    group_set set;
    perpi_facet plane[PERPI_PLANES];
    /* the far side counts only if there is a way past the near one */
    const uint64_t far = far_rows(a);
    const int32_t planes = far != 0 ? perpi_meeting_planes(a->m, plane) : 0;
    find_groups(a, planes > 0 ? 0 : far, &set);
    perp_status status = PERP_OK;
    for (int32_t g = 0; g < set.count; ++g) {
        const uint64_t mask = set.mask[g];
        const bool alone = (mask & (mask - 1)) == 0;
        for (int32_t i = 0; status == PERP_OK && i < a->m->count; ++i) {
            if (mask >> i & 1U) {
                status = add(a, &a->m->facet[i], alone ? 0 : g + 1, false);
            }
        }
    }
    return status == PERP_OK && planes > 0 ? add_path_group(a, far, plane, planes) : status;
}

/* ---- fast turns -------------------------------------------------------------------------------------------- */

/* Where a body may turn further than theta, vertices come down that no pair tells of. A ball in each of the
 * two stays off the other one however they turn. */
static perp_status add_inner_balls(const perpi_meeting* m, const perpi_pose* pose_a,
                                   const perpi_pose* pose_b, double margin, perpi_touch_list* list)
{
    const bool flipped = list->flipped;
    const vec3 side = list->side;
    perp_status status =
        perpi_polyhedron_inner(m->p[0], pose_a, m->p[1], pose_b, margin, INNER, list);
    list->flipped = !flipped;
    list->side = v3_neg(side);
    if (status == PERP_OK) {
        status = perpi_polyhedron_inner(m->p[1], pose_b, m->p[0], pose_a, margin, INNER + 1, list);
    }
    list->flipped = flipped;
    list->side = side;
    return status;
}

/* ---- the pair ---------------------------------------------------------------------------------------------- */

perp_status perpi_polyhedron_polyhedron(const perpi_shape* shape_a, const perpi_pose* pose_a,
                                        const perpi_shape* shape_b, const perpi_pose* pose_b,
                                        double margin, perpi_touch_list* list)
{
    perpi_meeting m;
    answer a;
    a.m = &m;
    a.pose = pose_a;
    a.list = list;
    a.first = list->count;
    a.names = 0;
    bool peg = list->rule == PERPI_TOUCH_PEG;
    perpi_meeting_begin(&m, shape_a->polyhedron, pose_a, shape_b->polyhedron, pose_b, margin,
                        peg ? 2.0 * margin : margin, list);
    if (perpi_meeting_parted(&m)) {
        return PERP_OK;
    }
    perpi_meeting_collect(&m, !peg);
    if (peg && m.crowded && !m.apart) {
        /* Groups of which pairs were left out forbid nothing, or the wrong thing: a prism with a hundred
         * sides fell through the floor. Then every pair that is near holds for itself. */
        peg = false;
        list->crowded += 1;
        perpi_meeting_begin(&m, shape_a->polyhedron, pose_a, shape_b->polyhedron, pose_b, margin,
                            margin, list);
        if (perpi_meeting_parted(&m)) {
            return PERP_OK;
        }
        m.orders = false;
        perpi_meeting_collect(&m, true);
    }
    if (m.apart || (m.least > margin && m.least < INFINITY)) {
        return PERP_OK;
    }
    perp_status status;
    if (m.least == INFINITY) {
        /* apart, or deep inside each other, where no feature is near another */
        const perpi_facet deepest = perpi_meeting_deepest(&m);
        if (deepest.psi > 0.0) {
            return PERP_OK;
        }
        list->deepest = -deepest.psi > list->deepest ? -deepest.psi : list->deepest;
        status = add(&a, &deepest, 0, false);
    } else {
        list->deepest = -m.best > list->deepest ? -m.best : list->deepest;
        find_same(&a);
        status = peg ? add_groups(&a) : list->rule == PERPI_TOUCH_LNC ? add_lnc(&a) : add_plain(&a);
    }
    if (status == PERP_OK) {
        number_touches(&a);
    }
    return status == PERP_OK && margin > TURN_MAX * m.size
               ? add_inner_balls(&m, pose_a, pose_b, margin, list)
               : status;
}
