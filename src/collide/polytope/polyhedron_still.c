/* src/collide/polytope/polyhedron_still.c - feature pairs of convex polyhedra that do not turn against each
 * other: which they are is decided at a rounded pose, and remembered.
 *
 * Which pairs of features are rows, and in which groups, depends on the relative pose by comparisons alone.
 * Here these are made at the pose rounded to 2^-40 of the size, with a margin and a turn rounded up, and
 * points, normals and gaps are computed at the pose itself. So the choice depends on the state alone,
 * whatever was computed before, and bodies at rest, whose poses change by rounding only, repeat it: a memory
 * of the last rounded pose of each pair and what was chosen there then replaces the search. An error of
 * 2^-40 is far below the margin, and that of the angles below the rounding that the search allows for.
 *
 * Only where every row is a vertex over a face or two edges that cross: else *done stays false, and the pair
 * is searched at its own pose. So does a pair that turns.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "collide/polytope/polyhedron.h"

#define TURNS_BY 1e-13 /* radians in a step: no rotation; as in perpi_meeting_begin */

enum { POSE_BITS = 40, MARGIN_BITS = 20 };

/* To the nearest multiple of a power of two. */
static double rounded_to(double a, double step)
{
    const double shift = 0x1.8p52 * step;
    return (a + shift) - shift;
}

/* To MARGIN_BITS bits, upwards. */
static double rounded_up(double a)
{
    if (!(a > DBL_MIN) || !(a < DBL_MAX)) {
        return a;
    }
    const double step = ldexp(1.0, ilogb(a) - MARGIN_BITS);
    return rounded_to(a, step) + step;
}

/* ---- the rows at the pose itself ---------------------------------------------------------------------- */

/* A pair of polyhedra at its own relative pose. */
typedef struct still_pose {
    const perpi_polyhedron *a, *b;
    const perpi_pose* world; /* of a */
    mat3 R;
    vec3 x;
} still_pose;

typedef struct still_row {
    vec3 p_a, p_b, n;
    double psi;
} still_row;

static vec3 place(const still_pose* s, vec3 y)
{
    return v3_add(s->x, m3_mul(s->R, y));
}

/* As vertex_face() and edge_edge() of polyhedron_near.c. */
static still_row evaluate(const still_pose* s, const perpi_still_item* item)
{
    still_row row;
    if (item->kind == PERPI_VERTEX_B_FACE_A) {
        const vec3 n = s->a->normal[item->other], v = place(s, s->b->vertex[item->one]);
        row.psi = v3_dot(n, v) - s->a->offset[item->other];
        row.p_a = v3_madd(v, -row.psi, n);
        row.p_b = v;
        row.n = n;
    } else if (item->kind == PERPI_VERTEX_A_FACE_B) {
        const vec3 n = m3_mul(s->R, s->b->normal[item->other]), v = s->a->vertex[item->one];
        row.psi = v3_dot(n, v) - (s->b->offset[item->other] + v3_dot(n, s->x));
        row.p_a = v;
        row.p_b = v3_madd(v, -row.psi, n);
        row.n = v3_neg(n);
    } else {
        const perpi_edge *e = &s->a->edge[item->one], *g = &s->b->edge[item->other];
        const vec3 p = s->a->vertex[e->vertex[0]], q = place(s, s->b->vertex[g->vertex[0]]);
        const vec3 u = v3_sub(s->a->vertex[e->vertex[1]], p);
        const vec3 w = v3_sub(place(s, s->b->vertex[g->vertex[1]]), q), d = v3_sub(q, p);
        if (item->flat >= 0) {
            row.n = s->a->normal[item->flat];
            row.psi = v3_dot(row.n, v3_madd(v3_madd(d, item->t, w), -item->s, u));
            row.p_a = v3_madd(p, item->s, u);
            row.p_b = v3_madd(row.p_a, row.psi, row.n);
            return row;
        }
        const double ww = v3_dot(w, w), uw = v3_dot(u, w);
        const vec3 cross = v3_scale(item->sigma, v3_cross(u, w));
        const double c2 = v3_dot(cross, cross);
        row.n = v3_scale(1.0 / sqrt(c2), cross);
        row.psi = v3_dot(row.n, d);
        row.p_a = v3_madd(p, (v3_dot(d, u) * ww - v3_dot(d, w) * uw) / c2, u);
        row.p_b = v3_madd(row.p_a, row.psi, row.n);
    }
    return row;
}

static perp_status add_rows(const still_pose* s, const perpi_still_pair* memory,
                            perpi_candidate_list* list)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < memory->count; ++i) {
        const perpi_still_item* item = &memory->item[i];
        const still_row row = evaluate(s, item);
        list->group = item->group;
        list->secondary = item->secondary;
        status = perpi_candidate_add(list, item->feature, perpi_pose_point(s->world, row.p_a),
                                     perpi_pose_point(s->world, row.p_b),
                                     m3_mul(s->world->R, row.n), row.psi);
    }
    list->group = 0;
    list->secondary = false;
    if (memory->has_best) {
        const double deepest = -evaluate(s, &memory->best).psi;
        list->deepest = deepest > list->deepest ? deepest : list->deepest;
    }
    return status;
}

/* ---- the choice at the rounded pose ---------------------------------------------------------------------- */

static perpi_still_key key_of(const still_pose* s, double margin, const perpi_candidate_list* list)
{
    perpi_still_key key;
    memset(&key, 0, sizeof key); /* padding too: keys are compared as bytes */
    const double size = s->a->size < s->b->size ? s->a->size : s->b->size;
    const double step = ldexp(1.0, ilogb(size) - POSE_BITS);
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            key.R[3 * i + k] = rounded_to(s->R.m[i][k], ldexp(1.0, -POSE_BITS)) + 0.0;
        }
        key.x[i] = rounded_to(v3_get(s->x, i), step) + 0.0;
    }
    key.margin = rounded_up(margin);
    key.turn = rounded_up(list->turn);
    key.rule = list->rule;
    key.shape_a = list->shape_a;
    key.shape_b = list->shape_b;
    key.flipped = list->flipped;
    return key;
}

/* The facet of a candidate's name; false: not one of those that evaluate() knows. */
static bool item_of(const perpi_meeting* m, uint64_t name, perpi_still_item* item)
{
    const int32_t kind = (int32_t)(name >> 48);
    item->kind = (perpi_facet_kind)kind;
    item->one = (int32_t)(name >> 28 & 0xFFFFF);
    item->other = (int32_t)(name >> 8 & 0xFFFFF);
    item->sigma = kind == PERPI_EDGE_EDGE ? perpi_meeting_sign(m, item->one, item->other) : 1.0;
    return kind != PERPI_SILHOUETTE && item->sigma != 0.0;
}

/* Where edges cross in the plane of faces that lie flat on each other: at a small angle the place
 * depends on the last bits of the pose, and with it the moments of the impulses. Any other point of
 * the edges has the same gap, so that the one at the rounded pose is used. */
static void place_crossing(const perpi_meeting* m, int32_t flat, perpi_still_item* item)
{
    item->flat = item->kind == PERPI_EDGE_EDGE ? flat : -1;
    if (item->flat < 0) {
        return;
    }
    const perpi_edge *e = &m->p[0]->edge[item->one], *g = &m->p[1]->edge[item->other];
    const vec3 p = m->p[0]->vertex[e->vertex[0]], y = m->p[1]->vertex[g->vertex[0]];
    const vec3 u = v3_sub(m->p[0]->vertex[e->vertex[1]], p);
    const vec3 w = m3_mul(m->R, v3_sub(m->p[1]->vertex[g->vertex[1]], y));
    const vec3 d = v3_sub(v3_add(m->x, m3_mul(m->R, y)), p);
    perpi_cross_in_plane(m->p[0]->normal[flat], u, d, w, &item->s, &item->t);
}

/* The most open of the pairs that are facets at the pose. */
static bool find_best(const perpi_meeting* m, perpi_still_item* item)
{
    int32_t best = -1;
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        best = f->present && (best < 0 || f->psi > m->facet[best].psi) ? i : best;
    }
    if (best < 0) {
        return false;
    }
    const perpi_facet* f = &m->facet[best];
    *item = (perpi_still_item){
        .kind = f->kind, .one = f->one, .other = f->other, .sigma = 1.0, .flat = -1};
    item->sigma = f->kind == PERPI_EDGE_EDGE ? perpi_meeting_sign(m, f->one, f->other) : 1.0;
    return item->sigma != 0.0;
}

/* Searches at the rounded pose, in a's frame; memory->known: every row can be evaluated. */
static perp_status choose(const perpi_shape* shape_a, const perpi_shape* shape_b,
                          perpi_candidate_list* list, perpi_still_pair* memory)
{
    const perpi_candidate_list before = *list;
    const perpi_still_key* key = &memory->key;
    const perpi_pose pose_a = {v3(0, 0, 0), q4_identity(), m3_identity()};
    perpi_pose pose_b = pose_a;
    perpi_meeting m;
    perpi_polyhedron_answer a;
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            pose_b.R.m[i][k] = key->R[3 * i + k];
        }
    }
    pose_b.x = v3(key->x[0], key->x[1], key->x[2]);
    list->turn = key->turn;
    list->spins = 0;
    a.m = &m;
    m.count = 0;
    memory->known = false;
    const perp_status status = perpi_polyhedron_search(
        shape_a->polyhedron, &pose_a, shape_b->polyhedron, &pose_b, key->margin, list, &a);
    const size_t count = list->count - before.count;
    bool fits = status == PERP_OK && count <= PERPI_STILL_ITEMS && count == (size_t)a.names &&
                list->overflow == before.overflow;
    memory->count = (int32_t)count;
    memory->has_best = fits && count > 0 && find_best(&m, &memory->best);
    for (size_t i = 0; fits && i < count; ++i) {
        const perpi_candidate* c = &list->item[before.count + i];
        perpi_still_item* item = &memory->item[i];
        fits = item_of(&m, a.name[i], item);
        place_crossing(&m, a.flat, item);
        item->feature = c->feature;
        item->group = c->group;
        item->secondary = c->secondary;
    }
    memory->known = fits && (count == 0 || memory->has_best);
    list->count = before.count;
    list->deepest = before.deepest;
    list->overflow = before.overflow;
    list->turn = before.turn;
    list->spins = before.spins;
    return status;
}

perp_status perpi_polyhedron_still(const perpi_shape* shape_a, const perpi_pose* pose_a,
                                   const perpi_shape* shape_b, const perpi_pose* pose_b,
                                   double margin, perpi_candidate_list* list, bool* done)
{
    perpi_still_pair own = {.searched = false};
    perpi_still_pair* memory = list->still != NULL ? list->still : &own;
    *done = false;
    if (list->rule == NULL || list->sided || list->spins > 1 ||
        (list->spins == 1 && !(v3_dot(list->spin[0], list->spin[0]) <= TURNS_BY * TURNS_BY))) {
        return PERP_OK;
    }
    const still_pose s = {.a = shape_a->polyhedron,
                          .b = shape_b->polyhedron,
                          .world = pose_a,
                          .R = m3_mm(m3_transpose(pose_a->R), pose_b->R),
                          .x = m3_tmul(pose_a->R, v3_sub(pose_b->x, pose_a->x))};
    const perpi_still_key key = key_of(&s, margin, list);
    if (!memory->searched || memcmp(&memory->key, &key, sizeof key) != 0) {
        memory->key = key;
        memory->searched = false;
        const perp_status status = choose(shape_a, shape_b, list, memory);
        if (status != PERP_OK) {
            return status;
        }
        memory->searched = true;
    }
    *done = memory->known;
    return memory->known ? add_rows(&s, memory, list) : PERP_OK;
}
