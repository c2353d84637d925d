/* src/contact/lnc_polygons.c - the groups of LNC, of two convex polygons: one for each vertex.
 *
 * Source     [W14 (4.2)-(4.5)]; feature pairs: src/collide/polytope/polygon.c
 */
#include <math.h>

#include "collide/polytope/polygon_pair.h"
#include "collide/narrow/round.h"
#include "contact/rules.h"

/* Applicable for some rotation within theta. */
static bool applicable(const perpi_polygon_meeting* m, const perpi_feature_pair* f)
{
    return f->from <= m->theta && f->to >= -m->theta;
}

static void keep_most_open(perpi_feature_pair* member, int32_t* count, const perpi_feature_pair* f)
{
    if (*count < PERPI_POLYGON_MEMBERS) {
        member[(*count)++] = *f;
        return;
    }
    int32_t worst = 0;
    for (int32_t k = 1; k < PERPI_POLYGON_MEMBERS; ++k) {
        worst = member[k].psi < member[worst].psi ? k : worst;
    }
    if (f->psi > member[worst].psi) {
        member[worst] = *f;
    }
}

/* Direction and distance of a point from the polygon: to the nearest edge or corner; from inside,
 * through the nearest edge. */
static vec3 direction_from_polygon(const perpi_outline* o, vec3 c, double* gap)
{
    vec3 n_best = {0, 0, 0}, from = {0, 0, 0}, n_from = {0, 0, 0};
    double best = -INFINITY, closest = INFINITY;
    vec3 p = perpi_outline_vertex(o, 0);
    for (int32_t i = 0; i < o->count; ++i) {
        const vec3 q = perpi_outline_vertex(o, i + 1), n = perpi_outline_normal(o, i);
        const vec3 d = v3_sub(q, p), w = v3_sub(c, p);
        const vec3 off = v3_madd(w, -perpi_clamp(v3_dot(w, d) / v3_dot(d, d), 0.0, 1.0), d);
        const double height = v3_dot(n, w), distance = v3_norm(off);
        if (height > best) {
            best = height;
            n_best = n;
        }
        if (height > 0.0 && distance < closest) {
            closest = distance;
            from = off;
            n_from = n;
        }
        p = q;
    }
    *gap = closest < INFINITY ? closest : best;
    return closest == INFINITY                           ? n_best
           : closest <= PERPI_CANDIDATE_VANISH * o->size ? n_from
                                                         : v3_scale(1.0 / closest, from);
}

/* A vertex of the other polygon over a corner of the owner: a line through it. */
static perp_status add_corner_line(perpi_polygon_meeting* m, uint32_t side, int32_t vertex,
                                   const perpi_corner_line* t)
{
    const vec3 corner = v3_add(m->origin, perpi_outline_vertex(m->o[side], t->corner));
    const vec3 v = v3_add(m->origin, perpi_outline_vertex(m->o[1 - side], vertex));
    const uint32_t name = perpi_candidate_unused(
        m->list,
        perpi_polygon_feature(side, (uint32_t)vertex, (uint32_t)t->corner, PERPI_POLYGON_PATH));
    const double gap = v3_dot(t->n, v3_sub(v, corner));
    return side == 0 ? perpi_candidate_add(m->list, name, corner, v, t->n, gap)
                     : perpi_candidate_add(m->list, name, v, corner, v3_neg(t->n), gap);
}

static perp_status add_vertex_members(perpi_polygon_meeting* m, const perpi_feature_pair* member,
                                      int32_t count, uint32_t group)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = perpi_polygon_add(m, &member[i], group, !applicable(m, &member[i]));
    }
    m->list->secondary = false;
    return status;
}

/* The edges within the margin of one vertex of the other polygon. Those of the far side, behind
 * which the vertex lies and which face away from it, count only if there is a path past the near
 * ones. */
static perp_status add_vertex_group(perpi_polygon_meeting* m, uint32_t side, int32_t vertex,
                                    double depth)
{
    const perpi_outline* owner = m->o[side];
    const vec3 v = perpi_outline_vertex(m->o[1 - side], vertex);
    perpi_feature_pair member[PERPI_POLYGON_MEMBERS], near[PERPI_POLYGON_MEMBERS];
    int32_t count = 0, primaries = 0, nears = 0, near_primaries = 0;
    vec3 p = perpi_outline_vertex(owner, 0);
    for (int32_t i = 0; i < owner->count; ++i) {
        const vec3 q = perpi_outline_vertex(owner, i + 1);
        const bool there = p.x - m->margin <= v.x || q.x - m->margin <= v.x;
        if (there && perpi_polygon_edge_exists(m, side, i)) {
            const perpi_feature_pair f = perpi_polygon_make_pair(m, side, i, p, q, vertex);
            if (f.psi > m->margin) {
                return PERP_OK; /* cannot penetrate within the step */
            }
            if (f.distance <= m->margin) {
                keep_most_open(member, &count, &f);
            }
        }
        p = q;
    }
    double gap;
    vec3 apart = direction_from_polygon(owner, v, &gap);
    if (m->list->sided) {
        apart = v3_scale(side == 0 ? 1.0 : -1.0, m->list->side);
        gap = gap < depth ? gap : depth;
    }
    const double floor =
        (gap < depth ? PERPI_POLYGON_DEPTH * gap : depth) - PERPI_CANDIDATE_TIE * m->size;
    for (int32_t i = 0; i < count; ++i) {
        const bool primary = applicable(m, &member[i]);
        primaries += primary;
        if (member[i].psi >= floor || v3_dot(member[i].n, apart) >= -PERPI_POLYGON_FACING) {
            near_primaries += primary;
            near[nears++] = member[i];
        }
    }
    if (primaries == 0) {
        return PERP_OK;
    }
    perpi_corner_line line[2];
    const vec3 outside = v3_madd(v, perpi_candidate_step_out(gap, m->margin), apart);
    const int32_t lines =
        nears < count ? perpi_outline_touching_lines(owner, outside, 0.0, apart, m->margin, line)
                      : 0;
    const int32_t number = 1 + 2 * ((int32_t)side + 2 * vertex);
    perp_status status = PERP_OK;
    if (nears == count || lines > 0) {
        m->list->group = count > 1 ? number : 0;
        status = add_vertex_members(m, member, count, 0);
    }
    if (status == PERP_OK && nears < count && near_primaries > 0) {
        m->list->group = nears + lines > 1 ? number + 1 : 0;
        status = add_vertex_members(m, near, nears, PERPI_POLYGON_PATH);
        for (int32_t k = 0; k < lines && status == PERP_OK; ++k) {
            status = add_corner_line(m, side, vertex, &line[k]);
        }
    }
    m->list->group = 0;
    return status;
}

perp_status perpi_lnc_polygons(perpi_polygon_meeting* m, const perpi_feature_pair* best)
{
    const double depth = best->psi < 0.0 ? PERPI_POLYGON_DEPTH * best->psi : 0.0;
    perp_status status = PERP_OK;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline_range reach = perpi_outline_range_of(m->o[side], m->margin);
        const perpi_outline* other = m->o[1 - side];
        for (int32_t i = 0; status == PERP_OK && i < other->count; ++i) {
            const vec3 p = perpi_outline_vertex(other, i);
            if (perpi_outline_edge_in_range(&reach, p, p)) {
                status = add_vertex_group(m, side, i, depth);
            }
        }
    }
    return status;
}
