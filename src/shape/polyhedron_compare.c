/* src/shape/polyhedron_compare.c - distance and overlap of two convex polyhedra.
 *
 * The difference of the two is convex; its faces are those of a with vertices of b, those of b with
 * vertices of a, and edges of both whose arcs on the sphere of normals cross (one reversed). The
 * least deep of them is the depth. The overlap is a cut down by the faces of b. All coordinates are
 * in a's frame, so that those of a are exact.
 */
#include "shape/cell.h"

/* Sine of the angle below which two edges are parallel: the faces then cover that direction. */
static const double PARALLEL = 1e-12;

typedef struct relative {
    const perpi_polyhedron *a, *b;
    mat3 R; /* b's axes in a's frame */
    vec3 x; /* b's origin there */
} relative;

static relative relate(const perpi_polyhedron* a, const perpi_pose* pose_a,
                       const perpi_polyhedron* b, const perpi_pose* pose_b)
{
    return (relative){a, b, m3_mm(m3_transpose(pose_a->R), pose_b->R),
                      m3_tmul(pose_a->R, v3_sub(pose_b->x, pose_a->x))};
}

static double face_separation(const relative* r)
{
    double best = -INFINITY;
    int32_t at = 0;
    for (int32_t f = 0; f < r->a->face_count; ++f) {
        const vec3 n = r->a->normal[f];
        at = perpi_polyhedron_support(r->b, v3_neg(m3_tmul(r->R, n)), at);
        const vec3 d = v3_sub(v3_add(r->x, m3_mul(r->R, r->b->vertex[at])),
                              r->a->vertex[r->a->corner[r->a->face_start[f]]]);
        best = fmax(best, v3_dot(n, d));
    }
    at = 0;
    for (int32_t f = 0; f < r->b->face_count; ++f) {
        const vec3 n = m3_mul(r->R, r->b->normal[f]);
        at = perpi_polyhedron_support(r->a, v3_neg(n), at);
        const vec3 on = r->b->vertex[r->b->corner[r->b->face_start[f]]];
        const vec3 d = v3_sub(v3_sub(r->a->vertex[at], r->x), m3_mul(r->R, on));
        best = fmax(best, v3_dot(n, d));
    }
    return best;
}

/* Whether the arc from a0 to a1 crosses the one from b0 to b1 on the unit sphere. */
static bool arcs_cross(vec3 a0, vec3 a1, vec3 b0, vec3 b1)
{
    const vec3 a = v3_cross(a1, a0), b = v3_cross(b1, b0);
    const double b0a = v3_dot(b0, a), b1a = v3_dot(b1, a);
    const double a0b = v3_dot(a0, b), a1b = v3_dot(a1, b);
    return b0a * b1a < 0.0 && a0b * a1b < 0.0 && b0a * a1b > 0.0;
}

static double edge_separation(const relative* r, double best)
{
    for (int32_t k = 0; k < r->b->edge_count; ++k) {
        const perpi_edge* g = &r->b->edge[k];
        const vec3 q = v3_add(r->x, m3_mul(r->R, r->b->vertex[g->vertex[0]]));
        const vec3 w = m3_mul(r->R, v3_sub(r->b->vertex[g->vertex[1]], r->b->vertex[g->vertex[0]]));
        const vec3 b0 = v3_neg(m3_mul(r->R, r->b->normal[g->face[0]]));
        const vec3 b1 = v3_neg(m3_mul(r->R, r->b->normal[g->face[1]]));
        for (int32_t i = 0; i < r->a->edge_count; ++i) {
            const perpi_edge* e = &r->a->edge[i];
            const vec3 a0 = r->a->normal[e->face[0]], a1 = r->a->normal[e->face[1]];
            if (!arcs_cross(a0, a1, b0, b1)) {
                continue;
            }
            const vec3 p = r->a->vertex[e->vertex[0]];
            const vec3 u = v3_sub(r->a->vertex[e->vertex[1]], p);
            vec3 n = v3_cross(u, w);
            const double length = v3_norm(n);
            if (!(length > PARALLEL * v3_norm(u) * v3_norm(w))) {
                continue;
            }
            n = v3_scale((v3_dot(n, v3_add(a0, a1)) < 0.0 ? -1.0 : 1.0) / length, n);
            best = fmax(best, v3_dot(n, v3_sub(q, p)));
        }
    }
    return best;
}

/* The overlap in coordinates relative to o. False: it is empty. */
static bool intersect(const relative* r, vec3 o, perpi_knife* knife)
{
    const perpi_pose moved = {v3_neg(o), q4_identity(), m3_identity()};
    perpi_cell_set_polyhedron(knife, r->a, &moved);
    const vec3 x = v3_sub(r->x, o);
    for (int32_t f = 0; f < r->b->face_count; ++f) {
        const vec3 on = r->b->vertex[r->b->corner[r->b->face_start[f]]];
        if (perpi_cell_cut(knife, m3_mul(r->R, r->b->normal[f]), v3_add(x, m3_mul(r->R, on)), 0.0,
                           r->a->face_count + f) == PERPI_CUT_ALL) {
            return false;
        }
    }
    return true;
}

perp_status perpi_polyhedron_compare(perpi_arena* arena, const perpi_polyhedron* a,
                                     const perpi_pose* pose_a, const perpi_polyhedron* b,
                                     const perpi_pose* pose_b, perp_polyhedron_measure* measure)
{
    const relative r = relate(a, pose_a, b, pose_b);
    perp_polyhedron_measure m = {.separation = face_separation(&r)};
    m.separation = edge_separation(&r, m.separation);
    if (m.separation < 0.0) {
        const perpi_arena_mark mark = perpi_arena_get_mark(arena);
        perpi_knife knife;
        const perp_status status = perpi_knife_take(arena, a->face_count + b->face_count, &knife);
        if (status != PERP_OK) {
            return status;
        }
        /* twice: the second time relative to a vertex of the overlap, which avoids cancellation in
         * its small differences */
        bool any = intersect(&r, v3(0, 0, 0), &knife);
        if (any) {
            any = intersect(&r, knife.cell.vertex[0], &knife);
        }
        if (any) {
            m.volume = fmax(perpi_cell_volume(&knife.cell), 0.0);
        }
        perpi_arena_rewind(arena, mark);
    }
    *measure = m;
    return PERP_OK;
}

perp_status perpi_polyhedron_below(perpi_arena* arena, const perpi_polyhedron* p,
                                   const perpi_pose* pose, vec3 n, double offset, double* volume)
{
    const perpi_arena_mark mark = perpi_arena_get_mark(arena);
    perpi_knife knife;
    const perp_status status = perpi_knife_take(arena, p->face_count + 1, &knife);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_pose turned = {v3(0, 0, 0), pose->q, pose->R};
    perpi_cell_set_polyhedron(&knife, p, &turned);
    const vec3 on = v3_scale(offset - v3_dot(n, pose->x), n);
    *volume = perpi_cell_cut(&knife, n, on, 0.0, -1) == PERPI_CUT_ALL
                  ? 0.0
                  : perpi_cell_volume(&knife.cell);
    perpi_arena_rewind(arena, mark);
    return PERP_OK;
}

perp_status perp_polyhedron_compare(perp_context* context, const double* a, int32_t a_count,
                                    const double* b, int32_t b_count,
                                    perp_polyhedron_measure* measure)
{
    perpi_polyhedron *p = NULL, *q = NULL;
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    perp_status status = perpi_polyhedron_hull(context, a, a_count, &p, NULL);
    if (status == PERP_OK) {
        status = perpi_polyhedron_hull(context, b, b_count, &q, NULL);
    }
    if (status == PERP_OK) {
        const perpi_pose world = {v3(0, 0, 0), q4_identity(), m3_identity()};
        status = perpi_polyhedron_compare(&arena, p, &world, q, &world, measure);
    }
    perpi_polyhedron_free(context, p);
    perpi_polyhedron_free(context, q);
    perpi_arena_free(&arena);
    return status;
}
