/* src/contact/polyhedra_far.c - the far side of B - A, and the planes beside it.
 *
 * The origin is outside B - A, or inside by the residual of a step. A facet behind which it lies,
 * and which faces away from the direction of separation, can be reached only through B - A or past
 * its silhouette. As seen from the origin, B - A together with its shadow is convex; its facets are
 * those of B - A that the origin is in front of, and planes through the origin and an edge of the
 * silhouette. A straight path past B - A stays in front of one of these (docs/notation.md).
 */
#include <math.h>

#include "collide/narrow/gjk.h"
#include "contact/polyhedra.h"
#include "collide/narrow/round.h"

#define FACING 1e-9 /* cosine: normals at a right angle do not face away from each other */

/* ---- the direction of separation ---------------------------------------------------------------------- */

static vec3 support_a(const void* body, vec3 direction)
{
    const perpi_meeting* m = body;
    return m->p[0]->vertex[perpi_polyhedron_support(m->p[0], direction, 0)];
}

static vec3 support_b(const void* body, vec3 direction)
{
    const perpi_meeting* m = body;
    const vec3 d = m3_tmul(m->R, direction);
    return v3_add(m->x, m3_mul(m->R, m->p[1]->vertex[perpi_polyhedron_support(m->p[1], d, 0)]));
}

/* The mean normal of several facets that are open or about the least deep. */
static vec3 mean_normal(const perpi_meeting* m, double floor)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    vec3 sum = {0, 0, 0}, best = {0, 0, 0};
    double most = -INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        if (!f->present) {
            continue;
        }
        if (f->psi > most) {
            most = f->psi;
            best = f->n;
        }
        if (f->psi >= floor && f->distance <= tiny - floor) {
            sum = v3_add(sum, f->n);
        }
    }
    const double length = v3_norm(sum);
    return length > FACING ? v3_scale(1.0 / length, sum) : best;
}

/* *distance: between the bodies, negative where they overlap. */
static vec3 apart_direction(const perpi_meeting* m, double floor, double* distance)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    if (m->sided) {
        *distance = m->best;
        return m->side;
    }
    if (m->best > tiny) {
        const perpi_gjk closest = perpi_gjk_closest(m, support_a, m, support_b, m->axis, tiny);
        if (closest.distance > tiny) {
            *distance = closest.distance;
            return v3_scale(1.0 / closest.distance, v3_sub(closest.b, closest.a));
        }
    }
    *distance = m->best < tiny ? m->best : tiny;
    return mean_normal(m, floor);
}

uint64_t perpi_meeting_far_side(perpi_meeting* m, double floor)
{
    uint64_t closed = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        closed |= m->facet[i].psi < floor ? (uint64_t)1 << i : 0;
    }
    if (closed == 0) {
        return 0;
    }
    double distance;
    const vec3 apart = apart_direction(m, floor, &distance);
    m->out = v3_scale(perpi_candidate_step_out(distance, m->margin), apart);
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        const bool away = v3_dot(m->facet[i].n, apart) < -FACING;
        mask |= away ? closed & (uint64_t)1 << i : 0;
    }
    return mask;
}

/* ---- planes through the origin and the silhouette ----------------------------------------------------- */

static vec3 vertex_at(const perpi_meeting* m, int side, int32_t i)
{
    return side == 0 ? m->p[0]->vertex[i] : v3_add(m->x, m3_mul(m->R, m->p[1]->vertex[i]));
}

typedef struct plane_list {
    perpi_facet* item;
    int32_t count;
} plane_list;

/* On overflow the farthest plane is replaced. */
static void keep_plane(plane_list* list, const perpi_facet* f)
{
    int32_t worst = 0;
    for (int32_t i = 0; i < list->count; ++i) {
        if (v3_dot(list->item[i].n, f->n) > 1.0 - 1e-12) {
            return;
        }
        worst = list->item[i].distance > list->item[worst].distance ? i : worst;
    }
    if (list->count < PERPI_PLANES) {
        list->item[list->count++] = *f;
    } else if (f->distance < list->item[worst].distance) {
        list->item[worst] = *f;
    }
}

/* The edge of B - A given by an edge of body `side` and a vertex of the other: a plane if it is
 * tangent to B - A and the edge can be reached. */
static void try_plane(const perpi_meeting* m, int side, int32_t edge, int32_t vertex,
                      plane_list* list)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    const perpi_edge* e = &m->p[side]->edge[edge];
    const vec3 v = vertex_at(m, 1 - side, vertex);
    const double way = side == 0 ? 1.0 : -1.0;
    const vec3 w = v3_madd(m->out, way, v3_sub(v, vertex_at(m, side, e->vertex[0])));
    const vec3 u = v3_madd(m->out, way, v3_sub(v, vertex_at(m, side, e->vertex[1])));
    const vec3 d = v3_sub(u, w), cross = v3_cross(w, u);
    const double t = perpi_clamp(-v3_dot(w, d) / v3_dot(d, d), 0.0, 1.0);
    const vec3 at = v3_madd(w, t, d);
    const double length = v3_norm(cross), distance = v3_norm(at);
    if (!(distance <= m->near) || !(distance > tiny) || !(length > tiny * v3_norm(d))) {
        return;
    }
    /* B - A lies in front of it */
    vec3 n = v3_scale(1.0 / length, cross);
    const vec3 inside =
        v3_sub(v3_add(m->x, m3_mul(m->R, m->p[1]->mass.center)), m->p[0]->mass.center);
    n = v3_dot(n, v3_add(inside, m->out)) < 0.0 ? v3_neg(n) : n;
    const vec3 low = support_b(m, v3_neg(n)), high = support_a(m, n);
    if (!(v3_dot(n, v3_add(m->out, v3_sub(low, high))) >= -tiny)) {
        return;
    }
    const vec3 p = v3_madd(v, -way, v3_sub(at, m->out));
    const perpi_facet f = {.kind = PERPI_SILHOUETTE,
                           .one = vertex,
                           .other = 2 * edge + side,
                           .p_a = side == 0 ? p : v,
                           .p_b = side == 0 ? v : p,
                           .n = n,
                           .psi = v3_dot(n, v3_sub(at, m->out)),
                           .distance = distance};
    keep_plane(list, &f);
}

int32_t perpi_meeting_planes(const perpi_meeting* m, perpi_facet* out)
{
    plane_list list = {out, 0};

    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        if (!f->present || f->psi + v3_dot(f->n, m->out) < 0.0) {
            continue;
        }
        if (f->kind == PERPI_EDGE_EDGE) {
            const perpi_edge *a = &m->p[0]->edge[f->one], *b = &m->p[1]->edge[f->other];
            for (int k = 0; k < 2; ++k) {
                try_plane(m, 0, f->one, b->vertex[k], &list);
                try_plane(m, 1, f->other, a->vertex[k], &list);
            }
            continue;
        }
        const int side = f->kind == PERPI_VERTEX_B_FACE_A ? 0 : 1;
        const perpi_polyhedron* p = m->p[side];
        for (int32_t k = p->face_start[f->other]; k < p->face_start[f->other + 1]; ++k) {
            try_plane(m, side, p->side[k], f->one, &list);
        }
    }
    return list.count;
}
