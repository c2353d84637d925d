/* src/contact/peg_polygons.c - the groups of PEG, of two convex polygons.
 *
 * Source     [W14 4.3], algorithms 8 to 11; feature pairs: src/collide/polytope/polygon.c
 *
 * The constraints of PEG. Restated as "the origin against B - A" (the difference of the two
 * sets, a convex polygon), every edge of the difference is a vertex of one polygon with an edge of
 * the other: exactly the pairs with applicability (3.3), and psi is the distance of the origin from
 * that edge's line. The polygons are apart exactly if one of these psi is >= 0: one group,
 * of the edges that the origin can reach within the step. When the polygons rotate against each other,
 * edges that are nearly parallel change their order and other vertices become applicable; for each
 * order that a rotation of at most theta can produce there is one group, and all of them must hold.
 * Two corners that meet give the constraints of (4.17) this way: I of either corner or X of both,
 * according to the angles, where (4.17) states all four; where the order is certain three of those
 * follow from the fourth. A vertex over the middle of an edge gives the U-constraint (4.16).
 *
 * Departure  (4.17) pairs vertices, so that a vertex near two corners of a short edge would have to
 *            satisfy both I-constraints at once, which again traps it; here all edges within the margin
 *            are members of one group. Feasibility (3.3) means that the origin can reach that edge of
 *            the difference.
 *            Edges of the far side of B - A are not members, however near they are: the origin could
 *            reach them only through B - A. Where one is left out, the two tangent lines from the origin to
 *            B - A take its place (docs/notation.md, "Facets of the far side").
 */
#include <math.h>

#include "collide/polytope/polygon_pair.h"
#include "collide/narrow/round.h"
#include "contact/rules.h"
#include "shape/builtin.h"

/* Of the size: gaps are equal if they differ by less than this after every motion within the
 * margin. */
#define SAME_GAP 1e-12

enum { ORDERS = 7 /* orders of the edges, so groups of a pair: 3 bits of the feature's number */ };

/* ---- the far side ---------------------------------------------------------------------------------- */

/* The direction (from a to b) of separation: that of the closest points; where the polygons touch
 * or overlap, the mean of the normals of least depth. */
static vec3 parting_direction(const perpi_polygon_meeting* m, const perpi_feature_pair* best)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    const perpi_feature_pair* closest = NULL;
    if (m->list->sided) {
        return m->list->side;
    }
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_feature_pair* f = &m->pair[i];
        if (perpi_feature_present(f) && (closest == NULL || f->distance < closest->distance)) {
            closest = f;
        }
    }
    if (best->psi > tiny && closest != NULL && closest->distance > tiny) {
        const perpi_outline* owner = m->o[closest->side];
        const vec3 p = perpi_outline_vertex(owner, closest->edge);
        const vec3 d = v3_sub(perpi_outline_vertex(owner, closest->edge + 1), p);
        const double t = perpi_clamp(v3_dot(v3_sub(closest->p, p), d) / v3_dot(d, d), 0.0, 1.0);
        const vec3 from = v3_sub(closest->p, v3_madd(p, t, d));
        return v3_scale((closest->side == 0 ? 1.0 : -1.0) / v3_norm(from), from);
    }
    const double floor = perpi_polygon_least_gap(m, best);
    vec3 sum = perpi_feature_normal(best);
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_feature_pair* f = &m->pair[i];
        const bool other = f->side != best->side || f->edge != best->edge;
        if (other && perpi_feature_present(f) && f->psi >= floor && f->distance <= tiny - floor) {
            sum = v3_add(sum, perpi_feature_normal(f));
        }
    }
    const double length = v3_norm(sum);
    return length > PERPI_POLYGON_FACING ? v3_scale(1.0 / length, sum) : perpi_feature_normal(best);
}

/* Distance of the polygons, negative where they overlap. */
static double closest_distance(const perpi_polygon_meeting* m, const perpi_feature_pair* best)
{
    double least = INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const bool nearer = perpi_feature_present(&m->pair[i]) && m->pair[i].distance < least;
        least = nearer ? m->pair[i].distance : least;
    }
    return best->psi < 0.0 || least == INFINITY ? best->psi : least;
}

/* A far-side pair: closed, and facing away from the direction of separation. */
static bool is_far_side(const perpi_feature_pair* f, vec3 apart, double floor)
{
    return f->psi < floor && v3_dot(perpi_feature_normal(f), apart) < -PERPI_POLYGON_FACING;
}

static uint64_t find_far_side(const perpi_polygon_meeting* m, vec3 apart, double floor)
{
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        mask |= is_far_side(&m->pair[i], apart, floor) ? (uint64_t)1 << i : 0;
    }
    return mask;
}

/* A tangent line from the origin to B - A at one of its vertices, which is a pair of vertices. */
typedef struct tangent_line {
    int32_t vertex[2]; /* of a and of b */
    vec3 n;            /* from a to b */
    double angle;      /* height of the vertex of B - A along the direction of separation */
    double distance;   /* of the two vertices */
} tangent_line;

/* At the vertices of B - A that are farthest to either side as seen from the origin, moved out by
 * `out`; those that the origin can reach. Returns their number. */
static int32_t find_tangents(const perpi_polygon_meeting* m, vec3 apart, double out,
                             tangent_line t[2])
{
    t[0].angle = INFINITY;
    t[1].angle = -INFINITY;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline *owner = m->o[side], *other = m->o[1 - side];
        for (int32_t i = 0; i < owner->count; ++i) {
            const int32_t v =
                perpi_outline_farthest(other, owner->turn[i] + owner->angle + PERPI_PI);
            for (int32_t end = 0; end < 2; ++end) {
                const int32_t e = (i + end) % owner->count;
                const int32_t at[2] = {side == 0 ? e : v, side == 0 ? v : e};
                const vec3 w = v3_madd(v3_sub(perpi_outline_vertex(m->o[1], at[1]),
                                              perpi_outline_vertex(m->o[0], at[0])),
                                       out, apart);
                const double angle =
                    atan2(apart.x * w.y - apart.y * w.x, apart.x * w.x + apart.y * w.y);
                const double length = hypot(w.x, w.y);
                if (angle < t[0].angle) {
                    const vec3 n = v3(-w.y / length, w.x / length, 0);
                    t[0] = (tangent_line){{at[0], at[1]}, n, angle, length};
                }
                if (angle > t[1].angle) {
                    const vec3 n = v3(w.y / length, -w.x / length, 0);
                    t[1] = (tangent_line){{at[0], at[1]}, n, angle, length};
                }
            }
        }
    }
    int32_t count = 0;
    for (int k = 0; k < 2; ++k) {
        if (t[k].distance <= m->near) {
            t[count++] = t[k];
        }
    }
    return count;
}

static perp_status add_tangent(perpi_polygon_meeting* m, const tangent_line* t, uint32_t group)
{
    const vec3 a = perpi_outline_vertex(m->o[0], t->vertex[0]);
    const vec3 b = perpi_outline_vertex(m->o[1], t->vertex[1]);
    const uint32_t name =
        perpi_polygon_feature(0, (uint32_t)t->vertex[1], (uint32_t)t->vertex[0], group);
    const double gap = v3_dot(t->n, v3_sub(b, a));
    return perpi_candidate_add(m->list, perpi_candidate_unused(m->list, name), v3_add(m->origin, a),
                               v3_add(m->origin, b), t->n, gap);
}

/* ---- PEG: one group for each order of the edges ---------------------------------------------------- */

/* The rotations at which the order changes, ascending; at most 2 PAIRS. */
static int32_t find_changes(const perpi_polygon_meeting* m, double* change)
{
    int32_t n = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        const double both[2] = {m->pair[i].from, m->pair[i].to};
        for (int k = 0; k < 2; ++k) {
            if (both[k] > -m->theta && both[k] < m->theta) {
                int32_t at = n++;
                for (; at > 0 && change[at - 1] > both[k]; --at) {
                    change[at] = change[at - 1];
                }
                change[at] = both[k];
            }
        }
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < n; ++i) {
        if (kept == 0 || change[i] - change[kept - 1] > PERPI_POLYGON_SAME_ANGLE) {
            change[kept++] = change[i];
        }
    }
    return kept;
}

static uint64_t members_at(const perpi_polygon_meeting* m, double turn)
{
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        if (m->pair[i].from <= turn && turn <= m->pair[i].to) {
            mask |= (uint64_t)1 << i;
        }
    }
    return mask;
}

/* Keeps only the most open members of a large group: the others are farther from becoming
 * active. */
static uint64_t keep_most_open_members(const perpi_polygon_meeting* m, uint64_t mask)
{
    for (;;) {
        int32_t count = 0, worst = -1;
        for (int32_t i = 0; i < m->count; ++i) {
            if (mask >> i & 1U) {
                count += 1;
                worst = worst < 0 || m->pair[i].psi < m->pair[worst].psi ? i : worst;
            }
        }
        if (count <= PERPI_POLYGON_MEMBERS) {
            return mask;
        }
        mask &= ~((uint64_t)1 << worst);
    }
}

/* Position of the pair's vertex along the edge (counter-clockwise on a). */
static double place_along(const perpi_feature_pair* f, vec3 along)
{
    return v3_dot(along, f->p);
}

/* For a group of two parallel edges, one of each polygon: the pair whose vertex lies over the other
 * edge. On the side `way` (+1 or -1 along a's edge) of the middle it is the one farther back. -1:
 * the group is not one or two such pairs. */
static int32_t inner_pair(const perpi_polygon_meeting* m, uint64_t mask, vec3 along, double way)
{
    int32_t inner = -1, count = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        if (!(mask >> i & 1U)) {
            continue;
        }
        const perpi_feature_pair* f = &m->pair[i];
        if (count == 0 || way * (place_along(f, along) - place_along(&m->pair[inner], along)) <
                              -PERPI_CANDIDATE_TIE * m->size) {
            inner = i;
        }
        count += 1;
    }
    return count <= 2 ? inner : -1;
}

/* Two edges in flat contact. The groups of the orders before and after they are parallel then only
 * require that the vertex at either end of the overlap does not penetrate the other edge
 * (docs/notation.md, "Flat on flat"): these members are kept. */
static void reduce_flat(const perpi_polygon_meeting* m, uint64_t group[2])
{
    int32_t edge[2] = {-1, -1};
    vec3 n[2];
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_feature_pair* f = &m->pair[i];
        if (!((group[0] | group[1]) >> i & 1U)) {
            continue;
        }
        if (edge[f->side] >= 0 && edge[f->side] != f->edge) {
            return;
        }
        edge[f->side] = f->edge;
        n[f->side] = f->n;
    }
    if (edge[0] < 0 || edge[1] < 0 || (group[0] & group[1]) != 0 ||
        !(v3_norm(v3_add(n[0], n[1])) * m->margin <= SAME_GAP * m->size)) {
        return;
    }
    /* before the edges are parallel (a rotated clockwise) their ends along a's edge are near each
     * other */
    const vec3 along = v3(-n[0].y, n[0].x, 0);
    const int32_t first = inner_pair(m, group[0], along, 1.0);
    const int32_t second = inner_pair(m, group[1], along, -1.0);
    if (first < 0 || second < 0 ||
        !(place_along(&m->pair[first], along) - place_along(&m->pair[second], along) >
          PERPI_CANDIDATE_TIE * m->size)) {
        return;
    }
    group[0] = (uint64_t)1 << first;
    group[1] = (uint64_t)1 << second;
}

static double most_open(const perpi_polygon_meeting* m, uint64_t mask)
{
    double most = -INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        if ((mask >> i & 1U) && m->pair[i].psi > most) {
            most = m->pair[i].psi;
        }
    }
    return most;
}

/* The path group: the origin stays in front of the near side, or passes beside B - A. Its members
 * have PATH in their feature numbers. */
static perp_status add_path_group(perpi_polygon_meeting* m, uint64_t near,
                                  const tangent_line* tangent, int32_t tangents)
{
    perp_status status = PERP_OK;
    m->list->group = PERPI_POLYGON_PATH + 1;
    for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
        if (near >> i & 1U) {
            status = perpi_polygon_add(m, &m->pair[i], PERPI_POLYGON_PATH, false);
        }
    }
    for (int32_t k = 0; k < tangents && status == PERP_OK; ++k) {
        status = add_tangent(m, &tangent[k], PERPI_POLYGON_PATH);
    }
    m->list->group = 0;
    return status;
}

perp_status perpi_peg_polygons(perpi_polygon_meeting* m, const perpi_feature_pair* best)
{
    double change[2 * PERPI_POLYGON_PAIRS + 2];
    uint64_t group[ORDERS];
    int32_t groups = 0;
    const int32_t changes = find_changes(m, change + 1);
    const int32_t orders = changes + 1;
    change[0] = -m->theta;
    change[orders] = m->theta;
    /* far-side members only if there is a path past the near side */
    const double floor = perpi_polygon_least_gap(m, best);
    const vec3 apart = parting_direction(m, best);
    const uint64_t far = find_far_side(m, apart, floor);
    tangent_line tangent[2];
    const double out = perpi_candidate_step_out(closest_distance(m, best), m->margin);
    const int32_t tangents = far != 0 ? find_tangents(m, apart, out, tangent) : 0;
    for (int32_t k = 0; k < ORDERS && k < orders; ++k) {
        /* all orders, or an even selection */
        const int32_t at = orders <= ORDERS ? k : k * (orders - 1) / (ORDERS - 1);
        const uint64_t all = members_at(m, 0.5 * (change[at] + change[at + 1]));
        const uint64_t mask = tangents > 0 ? all : all & ~far;
        const double open = most_open(m, mask);
        /* A group that cannot be violated within the step is redundant. One that is violated deeper
         * than the polygons overlap is incomplete. */
        if (mask != 0 && !(open > m->margin) && !(far != 0 && open < floor)) {
            group[groups++] = keep_most_open_members(m, mask);
        }
    }
    if (orders == 2 && groups == 2) {
        reduce_flat(m, group);
    }
    perp_status status = PERP_OK;
    for (int32_t g = 0; status == PERP_OK && g < groups; ++g) {
        /* a group that contains another follows from it; of equal ones the first is kept */
        bool follows = false;
        for (int32_t k = 0; k < groups && !follows; ++k) {
            follows = k != g && (group[k] & ~group[g]) == 0 && (group[k] != group[g] || k < g);
        }
        if (follows) {
            continue;
        }
        const bool alone = (group[g] & (group[g] - 1)) == 0;
        m->list->group = alone ? 0 : g + 1;
        for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
            if (group[g] >> i & 1U) {
                status = perpi_polygon_add(m, &m->pair[i], alone ? 0 : (uint32_t)g, false);
            }
        }
    }
    m->list->group = 0;
    const uint64_t near = keep_most_open_members(m, members_at(m, 0.0) & ~far);
    return status == PERP_OK && tangents > 0 && near != 0
               ? add_path_group(m, near, tangent, tangents)
               : status;
}
