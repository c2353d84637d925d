/* src/collide/polytope/polyhedron.c - feature pairs of convex polyhedra within the margin.
 *
 * Source     [W14 3.6]
 * Notation   psi: the gap of a pair of features along its normal; theta: how far the bodies can turn
 *            against each other in the step, margin / size
 *
 * The groups that contact models form of feature pairs are in src/contact.
 */
#include "collide/polytope/polyhedron.h"

#include "collide/narrow/round.h"

#define DEPTH 1.01    /* times the least depth: plain features up to this depth count */
#define SAME_ROW 1e-9 /* in a normal, and in a point times the size */

#define TURN_MAX                                                                                   \
    0.35 /* radians: the largest rotation for which orders of features are
                       * distinguished */

enum { INNER = 200 };

/* ---- feature numbers -------------------------------------------------------------------------------- */

/* The name of a feature pair and its repetition count. */
static uint64_t name_of(const perpi_facet* f, int32_t again)
{
    return (((uint64_t)f->kind << 20 | (uint64_t)f->one) << 20 | (uint64_t)f->other) << 8 |
           (uint64_t)again;
}

/* Reduced to 24 bits: exact for small bodies, else a hash. */
static uint32_t fold(uint64_t name)
{
    const uint64_t again = name & 255, other = name >> 8 & 0xFFFFF, one = name >> 28 & 0xFFFFF;
    if (one < 256 && other < 512 && again < 32) {
        return (uint32_t)(((name >> 48) << 8 | one) << 14 | other << 5 | again);
    }
    return (uint32_t)(name * 0x9E3779B97F4A7C15ULL >> 40);
}

uint32_t perpi_facet_number(perpi_facet_kind kind, int32_t one, int32_t other, int32_t again)
{
    const perpi_facet f = {.kind = kind, .one = one, .other = other};
    return fold(name_of(&f, again));
}

/* Numbers the candidates: unique, and the same from step to step as long as their names are. */
static void number_candidates(perpi_polyhedron_answer* a)
{
    perpi_candidate* candidate = a->list->item + a->first;
    for (int32_t i = 1; i < a->names; ++i) { /* by name */
        const uint64_t name = a->name[i];
        const perpi_candidate t = candidate[i];
        int32_t k = i;
        for (; k > 0 && a->name[k - 1] > name; --k) {
            a->name[k] = a->name[k - 1];
            candidate[k] = candidate[k - 1];
        }
        a->name[k] = name;
        candidate[k] = t;
    }
    for (int32_t i = 0; i < a->names; ++i) {
        uint32_t number = fold(a->name[i]);
        for (int32_t k = 0; k < i; ++k) {
            if (candidate[k].feature == number) {
                number = (number + 1) & 0xFFFFFF;
                k = -1;
            }
        }
        candidate[i].feature = number;
    }
}

perp_status perpi_answer_add(perpi_polyhedron_answer* a, const perpi_facet* f, int32_t group,
                             bool secondary)
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
        perpi_candidate_add(a->list, 0, perpi_pose_point(pose, f->p_a),
                            perpi_pose_point(pose, f->p_b), m3_mul(pose->R, f->n), f->psi);
    a->list->group = 0;
    a->list->secondary = false;
    return status;
}

/* ---- equal rows ---------------------------------------------------------------------------------------- */

static bool same_row(const perpi_polyhedron_answer* a, const perpi_facet* f, const perpi_facet* g)
{
    const double tiny = SAME_ROW * a->m->size;
    const vec3 dn = v3_sub(f->n, g->n), d = v3_sub(f->p_a, g->p_a);
    const vec3 off = v3_madd(d, -v3_dot(d, f->n), f->n);
    return fabs(f->psi - g->psi) <= tiny && v3_dot(dn, dn) <= SAME_ROW * SAME_ROW &&
           v3_dot(off, off) <= tiny * tiny;
}

static void find_same(perpi_polyhedron_answer* a)
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

/* Pairs with a gap below that of the direction of least depth are discarded: else a body that rests
 * on another, with an overlap of rounding, would also be pushed sideways. */
double perpi_meeting_least_gap(const perpi_meeting* m)
{
    const double least = m->best < 0.0 ? m->best : 0.0;
    return DEPTH * least - PERPI_CANDIDATE_TIE * m->size;
}

/* The separation of the bodies along the pair's normal. */
static double separation(const perpi_meeting* m, const perpi_facet* f)
{
    const int32_t a = perpi_polyhedron_support(m->p[0], f->n, 0);
    const vec3 n_b = m3_tmul(m->R, f->n);
    const int32_t b = perpi_polyhedron_support(m->p[1], v3_neg(n_b), 0);
    return v3_dot(f->n, v3_sub(m->x, m->p[0]->vertex[a])) + v3_dot(n_b, m->p[1]->vertex[b]);
}

/* Where the bodies overlap, a pair counts only if its normal separates them at about the least
 * depth, so that a vertex near the far side is not pushed out there. */
bool perpi_meeting_counts(const perpi_meeting* m, const perpi_facet* f, double floor)
{
    return f->psi >= floor && f->psi <= m->margin &&
           (f->present || floor > -2.0 * PERPI_CANDIDATE_TIE * m->size ||
            separation(m, f) >= floor);
}

/* Where more pairs are near than are kept, the nearest are: of bodies that overlap deeply these may
 * be vertices near faces through which they do not leave, all nearer than the pair of least depth.
 * That one takes the farthest's place. */
static void keep_least_depth(perpi_meeting* m)
{
    int32_t farthest = 0;
    if (!m->overflow || !(m->best < 0.0)) {
        return;
    }
    for (int32_t i = 0; i < m->count; ++i) {
        if (m->facet[i].present && m->facet[i].psi == m->best) {
            return;
        }
        farthest = m->facet[i].distance > m->facet[farthest].distance ? i : farthest;
    }
    m->facet[farthest] = m->most_open;
}

static perp_status add_plain(perpi_polyhedron_answer* a)
{
    const perpi_meeting* m = a->m;
    const double floor = perpi_meeting_least_gap(m);
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        const bool soft =
            a->list->soft && m->best < 0.0 && v3_dot(f->n, m->most_open.n) >= PERPI_SOFT_ALONG;
        if (a->same[i] == i &&
            perpi_meeting_counts(m, f, soft ? PERPI_SOFT_DEPTH * m->best : floor)) {
            status = perpi_answer_add(a, f, 0, false);
        }
    }
    return status;
}

/* Rows of all facets; they need no search for others. */
static perp_status add_flat(perpi_polyhedron_answer* a)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < a->m->count; ++i) {
        const double depth = -a->m->facet[i].psi;
        a->list->deepest = depth > a->list->deepest ? depth : a->list->deepest;
        status = perpi_answer_add(a, &a->m->facet[i], 0, false);
    }
    if (status == PERP_OK) {
        number_candidates(a);
    }
    return status;
}

/* ---- fast rotations ---------------------------------------------------------------------------------------- */

/* Where a body may rotate by more than theta, vertices can come into contact that are in no pair.
 * An inscribed ball of each body must not penetrate the other, for any rotation. */
static perp_status add_inner_balls(const perpi_meeting* m, const perpi_pose* pose_a,
                                   const perpi_pose* pose_b, double margin,
                                   perpi_candidate_list* list)
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

/* Fine polyhedra have far more vertices over faces within the margin than can touch. Only pairs
 * that are a facet of B - A now, or after a rotation within the bound, can be the first to touch:
 * where bodies overlap in the end, every facet does. */
static bool leaves_out(const perpi_polyhedron* p, const perpi_polyhedron* q,
                       const perpi_candidate_list* list)
{
    return list->turn_most <= PERPI_THETA_MAX && p->face_count > PERPI_MANY_FACES &&
           q->face_count > PERPI_MANY_FACES;
}

/* For rows without groups: no expected rotation. */
static void begin_plain(perpi_meeting* m, const perpi_polyhedron* p, const perpi_pose* pose_a,
                        const perpi_polyhedron* q, const perpi_pose* pose_b, double margin,
                        perpi_candidate_list* list)
{
    const double turn = list->turn;
    const int32_t spins = list->spins;
    const bool lean = leaves_out(p, q, list);
    if (lean) {
        list->turn = list->turn_most;
        list->spins = 0;
    }
    perpi_meeting_begin(m, p, pose_a, q, pose_b, margin, margin, list);
    if (lean) {
        m->theta = list->turn_most;
    }
    list->turn = turn;
    list->spins = spins;
}

/* An overlap deeper than the margin has all pairs of about its depth: the deepest alone would be
 * pushed out by turning the others in. */
static void collect_deep(perpi_meeting* m, const perpi_pose* pose_a, const perpi_pose* pose_b,
                         double reach, double margin, perpi_candidate_list* list)
{
    const perpi_polyhedron *p = m->p[0], *q = m->p[1];
    begin_plain(m, p, pose_a, q, pose_b, reach + PERPI_CANDIDATE_TIE * m->size, list);
    (void)perpi_meeting_parted(m);
    m->orders = false;
    perpi_meeting_collect(m, !leaves_out(p, q, list));
    m->margin = margin; /* open ones only within that */
}

perp_status perpi_polyhedron_search(const perpi_polyhedron* p, const perpi_pose* pose_a,
                                    const perpi_polyhedron* q, const perpi_pose* pose_b,
                                    double margin, perpi_candidate_list* list,
                                    perpi_polyhedron_answer* a)
{
    perpi_meeting* m = a->m;
    a->pose = pose_a;
    a->list = list;
    a->first = list->count;
    a->names = 0;
    a->flat = -1;
    bool grouped = list->rule != NULL, orders = grouped && list->rule->orders;
    const bool lean = leaves_out(p, q, list);
    if (grouped) {
        perpi_meeting_begin(m, p, pose_a, q, pose_b, margin, list->rule->near * margin, list);
    } else {
        begin_plain(m, p, pose_a, q, pose_b, margin, list);
    }
    if (perpi_meeting_parted(m)) {
        return PERP_OK;
    }
    if (orders && list->rule->flat != NULL) {
        m->orders = false;
        if (list->rule->flat(a)) {
            return add_flat(a);
        }
        if (m->count > 0) {
            perpi_meeting_begin(m, p, pose_a, q, pose_b, margin, list->rule->near * margin, list);
            (void)perpi_meeting_parted(m);
        }
        m->orders = true;
    }
    perpi_meeting_collect(m, !orders && !(lean && !grouped));
    if (orders && m->overflow && !m->apart) {
        /* On overflow the groups are incomplete: they then forbid nothing, or the wrong motion (a
         * prism with a hundred sides fell through the floor). Instead every near pair becomes a row
         * without a group. */
        grouped = false;
        list->overflow += 1;
        begin_plain(m, p, pose_a, q, pose_b, margin, list);
        if (perpi_meeting_parted(m)) {
            return PERP_OK;
        }
        m->orders = false;
        perpi_meeting_collect(m, !lean);
    }
    if (m->apart) {
        return PERP_OK;
    }
    perp_status status;
    perpi_facet deepest = {.psi = -INFINITY};
    if (m->least > margin) { /* apart, or an overlap deeper than the margin */
        deepest = perpi_meeting_deepest(m);
        if (deepest.psi > 0.0) {
            return PERP_OK;
        }
    }
    const double depth = m->least > margin ? -deepest.psi : -m->best;
    const double reach = (list->soft ? PERPI_SOFT_DEPTH : DEPTH) * depth;
    if (!grouped && (list->soft ? reach : depth) > margin) {
        collect_deep(m, pose_a, pose_b, reach, margin, list);
    }
    if (m->least == INFINITY) { /* so deep that no features are near each other */
        list->deepest = -deepest.psi > list->deepest ? -deepest.psi : list->deepest;
        status = perpi_answer_add(a, &deepest, 0, false);
    } else {
        list->deepest = -m->best > list->deepest ? -m->best : list->deepest;
        if (!grouped) {
            keep_least_depth(m);
        }
        find_same(a);
        status = grouped ? list->rule->polyhedra(a) : add_plain(a);
    }
    if (status == PERP_OK) {
        number_candidates(a);
    }
    return status == PERP_OK && margin > TURN_MAX * m->size
               ? add_inner_balls(m, pose_a, pose_b, margin, list)
               : status;
}

perp_status perpi_polyhedron_polyhedron(const perpi_shape* shape_a, const perpi_pose* pose_a,
                                        const perpi_shape* shape_b, const perpi_pose* pose_b,
                                        double margin, perpi_candidate_list* list)
{
    bool done = false;
    perpi_separation own = {.known = false};
    perpi_separation* memory = list->separation != NULL ? list->separation : &own;
    if (!list->sided && perpi_polyhedron_apart(shape_a->polyhedron, pose_a, shape_b->polyhedron,
                                               pose_b, margin, memory)) {
        return PERP_OK;
    }
    const perp_status status =
        perpi_polyhedron_still(shape_a, pose_a, shape_b, pose_b, margin, list, &done);
    if (status != PERP_OK || done) {
        return status;
    }
    perpi_meeting m;
    perpi_polyhedron_answer a;
    a.m = &m;
    return perpi_polyhedron_search(shape_a->polyhedron, pose_a, shape_b->polyhedron, pose_b, margin,
                                   list, &a);
}
