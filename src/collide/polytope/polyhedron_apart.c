/* src/collide/polytope/polyhedron_apart.c - convex polyhedra that are farther apart than the
 * margin, found before their features are searched; the direction that separates them is
 * remembered.
 *
 * Two polyhedra whose distance exceeds the margin have no candidates: the features of a pair are no
 * nearer to each other than the bodies, and perpi_polyhedron_search returns nothing for bodies that
 * are apart and have no features within the margin. It decides so by the features themselves, where
 * a few support points are enough. The slack below is larger than the rounding of both, and than
 * what polyhedron_still.c adds to the margin, so that this test changes the cost alone, and so does
 * its memory.
 *
 * With the gap g along n (in the frame of a) at the pose R, x of b in a, the gap along n at R', x' is at least
 *     g + n . (x' - x) - |(R' - R)^T n| r_b,
 * r_b the distance of b's farthest vertex from its origin.
 */
#include <math.h>

#include "collide/narrow/gjk.h"
#include "collide/polytope/polyhedron.h"

static const double RELATIVE_SLACK = 1e-5, SIZE_SLACK = 1e-9;

enum {
    FINE_FACES = 24 /* of both together: the cost of a search by features exceeds that of gjk */
};

/* A polyhedron in the frame of a, and where its last farthest vertex was. */
typedef struct placed_body {
    const perpi_polyhedron* p;
    const mat3* R; /* NULL: a itself */
    vec3 x;
    int32_t* farthest;
} placed_body;

static vec3 farthest_point(const void* body, vec3 direction)
{
    const placed_body* s = body;
    const vec3 d = s->R != NULL ? m3_tmul(*s->R, direction) : direction;
    *s->farthest = perpi_polyhedron_support(s->p, d, *s->farthest);
    const vec3 y = s->p->vertex[*s->farthest];
    return s->R != NULL ? v3_add(s->x, m3_mul(*s->R, y)) : y;
}

static double remembered_gap(const perpi_separation* s, const mat3* R, vec3 x, double reach)
{
    mat3 change;
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            change.m[i][k] = R->m[i][k] - s->R.m[i][k];
        }
    }
    return s->gap + v3_dot(s->axis, v3_sub(x, s->x)) - v3_norm(m3_tmul(change, s->axis)) * reach;
}

bool perpi_polyhedron_apart(const perpi_polyhedron* p, const perpi_pose* pose_a,
                            const perpi_polyhedron* q, const perpi_pose* pose_b, double margin,
                            perpi_separation* memory)
{
    const mat3 R = m3_mm(m3_transpose(pose_a->R), pose_b->R);
    const vec3 x = m3_tmul(pose_a->R, v3_sub(pose_b->x, pose_a->x));
    const double limit = (1.0 + RELATIVE_SLACK) * margin + SIZE_SLACK * (p->size + q->size);
    if (!(limit >= 0.0) || !isfinite(limit)) {
        return false;
    }
    if (memory->known && remembered_gap(memory, &R, x, q->size) > limit) {
        return true;
    }
    const placed_body a = {.p = p, .R = NULL, .farthest = &memory->farthest[0]};
    const placed_body b = {.p = q, .R = &R, .x = x, .farthest = &memory->farthest[1]};
    double gap;
    bool apart = false;
    vec3 axis = memory->axis;
    if (memory->known) {
        gap = v3_dot(axis, v3_sub(farthest_point(&b, v3_neg(axis)), farthest_point(&a, axis)));
        apart = gap > limit;
    } else {
        axis = v3_sub(v3_add(x, m3_mul(R, q->mass.center)), p->mass.center);
    }
    if (!apart && p->face_count + q->face_count >= FINE_FACES) {
        apart = perpi_gjk_farther(&a, farthest_point, &b, farthest_point, limit, &axis, &gap);
    }
    if (apart) {
        memory->known = true;
        memory->axis = axis;
        memory->gap = gap;
        memory->R = R;
        memory->x = x;
    }
    return apart;
}
