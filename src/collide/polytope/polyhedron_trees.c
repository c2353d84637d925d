/* src/collide/polytope/polyhedron_trees.c - near features of two convex polyhedra that have many:
 * both trees over the faces are descended at once.
 *
 * Notation   pose 0: the current one; pose k: after the k-th expected rotation. Bodies that do not turn have
 *            pose 0 alone. tau: the sine by which the small rotation can change a product
 *
 * Where a step moves the bodies by as much as their size, nearly every face of one is near every face of the
 * other, while few feature pairs are facets of B - A. What two leaves hold is therefore transformed
 * once, and each pair is tested by its products before it is passed to polyhedron_near.c, which
 * makes the exact decision.
 *
 * Two edges, of directions u and w: some normal y between those of the faces of w has |y . u| <=
 * tau |u|. With all normals of a leaf within the angle beta of an axis c this needs |c . u| <=
 * sin(beta + asin tau) |u|, a test of an edge with a whole leaf. Every test here holds for each
 * pair that polyhedron_near.c accepts, and pairs are passed in the order of the descent, so that
 * the tests change the cost alone.
 */
#include <math.h>

#include "collide/polytope/polyhedron_boxes.h"

#define NOW 2e-12 /* sine: more than the error that polyhedron_near.c allows at the current pose */
#define ALONG_SINE                                                                                 \
    0.021 /* more than the sine of edges that polyhedron_near.c takes as nearly parallel ... */
#define ALONG_COS2 0.9995 /* ... and less than the square of the cosine */
#define WITHIN 0.9 /* of the margin: nearer beyond the error of normals of nearly parallel edges */
#define ROUNDING 1e-9 /* relative, and in sines of cones */

enum {
    LEAF_FACES = 4, /* capacities of a leaf; one with more features is tested without lists */
    LEAF_EDGES = 12,
    LEAF_VERTICES = 6,
    LEAF_FAN = 4, /* edges of a vertex that are tested; the others only by polyhedron_near.c */
    LEAF_POSES = 4,
    LEAVES_KEPT = 128, /* of a body, by their nodes: powers of two */
    LEAVES_OWN = 4,
};

typedef struct leaf_edge {
    int32_t edge;
    uint32_t poses; /* in which the normals of the other leaf allow a facet */
    box b;
    double length;
    vec3 u[LEAF_POSES], n[LEAF_POSES][2];
} leaf_edge;

typedef struct leaf_vertex {
    int32_t vertex, fan;
    vec3 at;
    double length[LEAF_FAN];
    vec3 u[LEAF_POSES][LEAF_FAN]; /* away from the vertex */
} leaf_vertex;

/* What the faces of a leaf own: an edge belongs to its left face, a vertex to one of its faces. */
typedef struct leaf {
    int32_t node; /* -1: none */
    bool listed;  /* false: too many features */
    int32_t faces, face[LEAF_FACES];
    int32_t edge_start[LEAF_FACES + 1], vertex_start[LEAF_FACES + 1];
    box near[LEAF_FACES]; /* of the faces, wider by `near` */
    box b[LEAF_FACES];
    vec3 n[LEAF_POSES][LEAF_FACES];
    double offset[LEAF_FACES]; /* of the planes at the current pose */
    leaf_edge edge[LEAF_EDGES];
    leaf_vertex vertex[LEAF_VERTICES];
    vec3 axis[LEAF_POSES]; /* of the cone of normals */
    double band;           /* sin(beta + asin tau) */
} leaf;

/* The leaves of both bodies that were filled last. */
struct perpi_leaf_memory {
    leaf kept[2][LEAVES_KEPT];
};

size_t perpi_leaf_memory_size(void)
{
    return sizeof(struct perpi_leaf_memory);
}

typedef struct descent {
    perpi_meeting* m;
    bool all_vertices;
    mat3 spread;            /* |R| */
    int32_t poses;          /* 1, or 1 + ends */
    double tau[LEAF_POSES]; /* of a product */
    double tau_band;        /* of the cones */
    bool along;             /* nearly parallel edges are passed on in any case */
    bool cones;             /* nodes are tested by their normals */
    leaf* side[2];          /* the current ones */
    leaf* kept[2];
    int32_t slots; /* of each: a power of two */
} descent;

/* ---- features without lists ------------------------------------------------------------------------------ */

/* A vertex is tested with this one of its faces, an edge with its left one: each once. */
static bool owns_vertex(const perpi_polyhedron* p, int32_t face, int32_t vertex)
{
    return p->edge[p->around[p->around_start[vertex]]].face[0] == face;
}

static box box_of_face(const perpi_meeting* m, int side, int32_t face)
{
    const perpi_polyhedron* p = m->p[side];
    box b = box_around(vertex_at(m, side, p->corner[p->face_start[face]]));
    for (int32_t k = p->face_start[face] + 1; k < p->face_start[face + 1]; ++k) {
        cover(&b, vertex_at(m, side, p->corner[k]));
    }
    return b;
}

static box box_of_edge(const perpi_meeting* m, int side, int32_t edge)
{
    const perpi_edge* e = &m->p[side]->edge[edge];
    box b = box_around(vertex_at(m, side, e->vertex[0]));
    cover(&b, vertex_at(m, side, e->vertex[1]));
    return b;
}

/* The vertices of a face of one body that lie near a face of the other. */
static void try_vertices(perpi_meeting* m, int side, int32_t face, const box* near_face,
                         int32_t other_face, bool all_vertices)
{
    const perpi_polyhedron* q = m->p[1 - side];
    for (int32_t k = q->face_start[other_face]; k < q->face_start[other_face + 1]; ++k) {
        const box at = box_around(vertex_at(m, 1 - side, q->corner[k]));
        if (owns_vertex(q, other_face, q->corner[k]) && boxes_meet(&at, near_face)) {
            perpi_meeting_vertex(m, side, face, q->corner[k], all_vertices);
        }
    }
}

/* The same tests by boxes as for lists: a face may have a thousand edges, of which few are near. */
static void try_faces(perpi_meeting* m, int32_t face_a, int32_t face_b, bool all_vertices)
{
    const perpi_polyhedron *a = m->p[0], *b = m->p[1];
    const box near_a = widened(box_of_face(m, 0, face_a), m->near),
              b_box = box_of_face(m, 1, face_b);
    if (!boxes_meet(&near_a, &b_box)) {
        return;
    }
    const box near_b = widened(b_box, m->near);
    try_vertices(m, 0, face_a, &near_a, face_b, all_vertices);
    try_vertices(m, 1, face_b, &near_b, face_a, all_vertices);
    for (int32_t k = a->face_start[face_a]; k < a->face_start[face_a + 1]; ++k) {
        const int32_t edge_a = a->side[k];
        const box e = widened(box_of_edge(m, 0, edge_a), m->near);
        if (a->edge[edge_a].face[0] != face_a || !boxes_meet(&e, &b_box)) {
            continue;
        }
        for (int32_t l = b->face_start[face_b]; l < b->face_start[face_b + 1]; ++l) {
            const int32_t edge_b = b->side[l];
            if (b->edge[edge_b].face[0] == face_b) {
                const box g = box_of_edge(m, 1, edge_b);
                if (boxes_meet(&e, &g)) {
                    perpi_meeting_edges(m, edge_a, edge_b);
                }
            }
        }
    }
}

/* ---- the features of a leaf -------------------------------------------------------------------------------- */

static vec3 normal_at(const descent* d, int side, int32_t face, int32_t pose)
{
    const perpi_meeting* m = d->m;
    const vec3 n = m->p[side]->normal[face];
    return side == 0             ? n
           : pose > 0            ? m3_mul(m->R_end[pose - 1], n)
           : face < PERPI_PLACED ? m->normal_b[face]
                                 : m3_mul(m->R, n);
}

/* As edge_of() and edge_at_end() of polyhedron_near.c. */
static vec3 edge_at(const descent* d, int side, int32_t edge, int32_t pose)
{
    const perpi_meeting* m = d->m;
    const perpi_polyhedron* p = m->p[side];
    const perpi_edge* e = &p->edge[edge];
    if (side == 1 && pose > 0) {
        return m3_mul(m->R_end[pose - 1], v3_sub(p->vertex[e->vertex[1]], p->vertex[e->vertex[0]]));
    }
    return m->edges_placed[side]
               ? m->edge[side][edge]
               : v3_sub(vertex_at(m, side, e->vertex[1]), vertex_at(m, side, e->vertex[0]));
}

static void fill_edge(const descent* d, int side, int32_t edge, leaf_edge* l)
{
    const perpi_edge* e = &d->m->p[side]->edge[edge];
    const box b = box_of_edge(d->m, side, edge);
    l->edge = edge;
    l->b = side == 0 ? widened(b, d->m->near) : b;
    for (int32_t k = 0; k < (side == 0 ? 1 : d->poses); ++k) {
        l->u[k] = edge_at(d, side, edge, k);
        l->n[k][0] = normal_at(d, side, e->face[0], k);
        l->n[k][1] = normal_at(d, side, e->face[1], k);
    }
    l->length = v3_norm(l->u[0]);
}

static void fill_vertex(const descent* d, int side, int32_t vertex, leaf_vertex* l)
{
    const perpi_polyhedron* p = d->m->p[side];
    const int32_t first = p->around_start[vertex], count = p->around_start[vertex + 1] - first;
    l->vertex = vertex;
    l->at = vertex_at(d->m, side, vertex);
    l->fan = count < LEAF_FAN ? count : LEAF_FAN;
    for (int32_t i = 0; i < l->fan; ++i) {
        const int32_t e = p->around[first + i];
        for (int32_t k = 0; k < (side == 0 ? 1 : d->poses); ++k) {
            const vec3 u = edge_at(d, side, e, k);
            l->u[k][i] = p->edge[e].vertex[0] == vertex ? u : v3_neg(u);
        }
        l->length[i] = v3_norm(l->u[0][i]);
    }
}

/* Of the normals of the leaf's faces and those beyond its edges. */
static void fill_cone(const descent* d, int side, leaf* l)
{
    const int32_t edges = l->edge_start[l->faces];
    double least = 1.0;
    for (int32_t k = 0; k < (side == 0 ? 1 : d->poses); ++k) {
        vec3 sum = v3(0, 0, 0);
        for (int32_t i = 0; i < edges; ++i) {
            sum = v3_add(sum, v3_add(l->edge[i].n[k][0], l->edge[i].n[k][1]));
        }
        const double length = v3_norm(sum);
        l->axis[k] = length > 0.0 ? v3_scale(1.0 / length, sum) : v3(0, 0, 0);
    }
    for (int32_t i = 0; i < edges; ++i) {
        for (int side_of = 0; side_of < 2; ++side_of) {
            const double c = v3_dot(l->axis[0], l->edge[i].n[0][side_of]);
            least = c < least ? c : least;
        }
    }
    /* beta + asin tau from a right angle on: every edge passes */
    const double sine = sqrt(1.0 - least * least), cosine = sqrt(1.0 - d->tau_band * d->tau_band);
    l->band = least > d->tau_band + ROUNDING ? sine * cosine + least * d->tau_band + ROUNDING
                                             : 1.0 + ROUNDING;
}

/* The features that a face owns; false: overflow. */
static bool fill_face(const descent* d, int side, int32_t face, leaf* l)
{
    const perpi_polyhedron* p = d->m->p[side];
    const int32_t i = l->faces;
    int32_t edges = l->edge_start[i], vertices = l->vertex_start[i];
    l->face[i] = face;
    l->b[i] = box_of_face(d->m, side, face);
    l->near[i] = widened(l->b[i], d->m->near);
    for (int32_t k = 0; k < (side == 0 ? 1 : d->poses); ++k) {
        l->n[k][i] = normal_at(d, side, face, k);
    }
    l->offset[i] = p->offset[face] + (side == 0 ? 0.0 : v3_dot(l->n[0][i], d->m->x));
    for (int32_t k = p->face_start[face]; k < p->face_start[face + 1]; ++k) {
        if (p->edge[p->side[k]].face[0] == face) {
            if (edges == LEAF_EDGES) {
                return false;
            }
            fill_edge(d, side, p->side[k], &l->edge[edges++]);
        }
        if (owns_vertex(p, face, p->corner[k])) {
            if (vertices == LEAF_VERTICES) {
                return false;
            }
            fill_vertex(d, side, p->corner[k], &l->vertex[vertices++]);
        }
    }
    l->faces += 1;
    l->edge_start[l->faces] = edges;
    l->vertex_start[l->faces] = vertices;
    return true;
}

static void fill_leaf(const descent* d, int side, int32_t node, leaf* l)
{
    const perpi_face_node* n = &d->m->p[side]->node[node];
    l->node = node;
    l->faces = l->edge_start[0] = l->vertex_start[0] = 0;
    l->listed = n->count <= LEAF_FACES && d->poses <= LEAF_POSES;
    for (int32_t i = 0; l->listed && i < n->count; ++i) {
        l->listed = fill_face(d, side, d->m->p[side]->order[n->first + i], l);
    }
    if (l->listed) {
        fill_cone(d, side, l);
    }
}

static leaf* leaf_of(descent* d, int side, int32_t node)
{
    /* the leaves of a part of the tree have successive numbers, with gaps */
    leaf* l = &d->kept[side][(node ^ node >> 7) & (d->slots - 1)];
    if (l->node != node) {
        fill_leaf(d, side, node, l);
    }
    d->side[side] = l;
    return l;
}

/* ---- two leaves ------------------------------------------------------------------------------------------ */

/* Once groups cannot be made of the facets, only whether a present one is open by more than the margin matters:
 * see perpi_polyhedron_search. */
static int32_t poses_left(const descent* d)
{
    return d->m->orders && d->m->overflow ? 1 : d->poses;
}

static double tau_of(const descent* d, int32_t pose)
{
    return d->m->orders && d->m->overflow ? NOW : d->tau[pose];
}

/* In which poses the edges can cross one of the other leaf, by its cone. */
static void mark_edges(const descent* d, int side, leaf* l, const leaf* other)
{
    const int32_t poses = poses_left(d);
    for (int32_t i = 0; i < l->edge_start[l->faces]; ++i) {
        leaf_edge* e = &l->edge[i];
        const double limit = other->band * e->length;
        e->poses = 0;
        for (int32_t k = 0; k < poses; ++k) {
            const double c =
                v3_dot(side == 0 ? other->axis[k] : other->axis[0], side == 0 ? e->u[0] : e->u[k]);
            e->poses |= fabs(c) <= limit ? 1U << k : 0U;
        }
    }
}

static bool edges_can_meet(const descent* d, const leaf_edge* e, const leaf_edge* g)
{
    const uint32_t poses = e->poses & g->poses;
    if (d->along && (poses & 1U) != 0 && !d->m->overflow) {
        const double uw = v3_dot(e->u[0], g->u[0]), lengths = e->length * g->length;
        if (uw * uw >= ALONG_COS2 * lengths * lengths) {
            return true;
        }
    }
    for (int32_t k = 0; poses >> k != 0; ++k) {
        const double tau = tau_of(d, k);
        if ((poses >> k & 1U) != 0 &&
            can_cross(e->n[0], e->u[0], tau * e->length, g->n[k], g->u[k], tau * g->length)) {
            return true;
        }
    }
    return false;
}

/* A vertex of the other body over the face i of a body's leaf. */
static bool vertex_can_meet(const descent* d, int side, const leaf* owner, int32_t i,
                            const leaf_vertex* v)
{
    const int32_t poses = poses_left(d);
    for (int32_t k = 0; k < poses; ++k) {
        const vec3 n = owner->n[side == 0 ? 0 : k][i];
        const vec3* u = v->u[side == 0 ? k : 0];
        const double tau = tau_of(d, k);
        int32_t at = 0;
        while (at < v->fan && v3_dot(n, u[at]) >= -tau * v->length[at]) {
            at += 1;
        }
        if (at == v->fan) {
            return true;
        }
    }
    return false;
}

static void try_leaf_vertices(const descent* d, int side, int32_t i, int32_t k)
{
    const leaf *owner = d->side[side], *other = d->side[1 - side];
    const double reach = (1.0 + ROUNDING) * d->m->near;
    for (int32_t at = other->vertex_start[k]; at < other->vertex_start[k + 1]; ++at) {
        const leaf_vertex* v = &other->vertex[at];
        const box b = box_around(v->at);
        const double psi = v3_dot(owner->n[0][i], v->at) - owner->offset[i];
        if (boxes_meet(&b, &owner->near[i]) && fabs(psi) <= reach &&
            (d->all_vertices || vertex_can_meet(d, side, owner, i, v))) {
            perpi_meeting_vertex(d->m, side, owner->face[i], v->vertex, d->all_vertices);
        }
    }
}

static void try_leaf_edges(const descent* d, int32_t i, int32_t k)
{
    const leaf *a = d->side[0], *b = d->side[1];
    for (int32_t at = a->edge_start[i]; at < a->edge_start[i + 1]; ++at) {
        const leaf_edge* e = &a->edge[at];
        if (e->poses == 0) {
            continue;
        }
        for (int32_t l = b->edge_start[k]; l < b->edge_start[k + 1]; ++l) {
            const leaf_edge* g = &b->edge[l];
            if ((e->poses & g->poses) != 0 && boxes_meet(&e->b, &g->b) && edges_can_meet(d, e, g)) {
                perpi_meeting_edges(d->m, e->edge, g->edge);
            }
        }
    }
}

static void try_leaves(descent* d, int32_t node_a, int32_t node_b)
{
    leaf *a = leaf_of(d, 0, node_a), *b = leaf_of(d, 1, node_b);
    if (!a->listed || !b->listed) {
        const perpi_polyhedron *p = d->m->p[0], *q = d->m->p[1];
        const perpi_face_node *l = &p->node[node_a], *o = &q->node[node_b];
        for (int32_t i = 0; i < l->count; ++i) {
            for (int32_t k = 0; k < o->count; ++k) {
                try_faces(d->m, p->order[l->first + i], q->order[o->first + k], d->all_vertices);
            }
        }
        return;
    }
    mark_edges(d, 0, a, b);
    mark_edges(d, 1, b, a);
    for (int32_t i = 0; i < a->faces; ++i) {
        for (int32_t k = 0; k < b->faces; ++k) {
            if (boxes_meet(&a->near[i], &b->b[k])) {
                try_leaf_vertices(d, 0, i, k);
                try_leaf_vertices(d, 1, k, i);
                try_leaf_edges(d, i, k);
            }
        }
    }
}

/* ---- the descent --------------------------------------------------------------------------------------------- */

static bool boxes_near(const descent* d, const perpi_face_node* a, const perpi_face_node* b)
{
    const vec3 c = into_a(d->m, v3_scale(0.5, v3_add(b->lo, b->hi)));
    const vec3 h = m3_mul(d->spread, v3_scale(0.5, v3_sub(b->hi, b->lo)));
    const double by = d->m->near;
    return c.x - h.x <= a->hi.x + by && c.x + h.x >= a->lo.x - by && c.y - h.y <= a->hi.y + by &&
           c.y + h.y >= a->lo.y - by && c.z - h.z <= a->hi.z + by && c.z + h.z >= a->lo.z - by;
}

/* Facets without room for groups, of bodies that are nearer than the margin: the separation along
 * the normal of a present pair is at most their distance, so that none is open by more than the
 * margin, and the facets are searched again without groups. */
static bool nothing_left(const perpi_meeting* m)
{
    return m->apart || (m->orders && m->overflow && m->least <= WITHIN * m->margin);
}

/* A facet's normal is one of a's features and, reversed, one of b's, up to the rotations that are
 * followed: its two nodes have cones of normals that meet so. For bodies with many faces, of which
 * few are opposite each other. */
static bool cones_meet(const descent* d, const perpi_face_node* a, const perpi_face_node* b)
{
    const double along = d->along ? ALONG_SINE : 0.0;
    const int32_t poses = poses_left(d);
    for (int32_t k = 0; k < poses; ++k) {
        const mat3* R = k == 0 ? &d->m->R : &d->m->R_end[k - 1];
        const double angle = a->cone + b->cone + tau_of(d, k < LEAF_POSES ? k : 1) + along;
        if (!(angle < 3.1) || -v3_dot(a->axis, m3_mul(*R, b->axis)) >= cos(angle)) {
            return true;
        }
    }
    return false;
}

static double extent(const perpi_face_node* n)
{
    const vec3 d = v3_sub(n->hi, n->lo);
    return v3_dot(d, d);
}

static void descend_trees(descent* d, int32_t node_a, int32_t node_b)
{
    const perpi_polyhedron *p = d->m->p[0], *q = d->m->p[1];
    const perpi_face_node *a = &p->node[node_a], *b = &q->node[node_b];
    if (nothing_left(d->m) || !boxes_near(d, a, b) || (d->cones && !cones_meet(d, a, b))) {
        return;
    }
    if (a->count > 0 && b->count > 0) {
        try_leaves(d, node_a, node_b);
        return;
    }
    if (b->count > 0 || (a->count == 0 && extent(a) >= extent(b))) {
        descend_trees(d, node_a + 1, node_b);
        descend_trees(d, a->first, node_b);
    } else {
        descend_trees(d, node_a, node_b + 1);
        descend_trees(d, node_a, b->first);
    }
}

void perpi_meeting_descend(perpi_meeting* m, bool all_vertices)
{
    const double tau = m->theta + NOW;
    descent d;
    d.m = m;
    d.all_vertices = all_vertices;
    d.poses = m->still ? 1 : 1 + m->ends;
    d.along = m->orders && !m->still;
    d.cones = !all_vertices && m->p[0]->face_count > PERPI_MANY_FACES &&
              m->p[1]->face_count > PERPI_MANY_FACES;
    d.tau_band = d.along && tau < ALONG_SINE ? ALONG_SINE : tau;
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            d.spread.m[i][k] = fabs(m->R.m[i][k]);
        }
    }
    for (int32_t k = 0; k < LEAF_POSES; ++k) {
        d.tau[k] = k == 0 && !m->still ? NOW : tau;
    }
    leaf own[2][LEAVES_OWN];
    d.slots = m->leaves != NULL ? LEAVES_KEPT : LEAVES_OWN;
    for (int side = 0; side < 2; ++side) {
        d.kept[side] = m->leaves != NULL ? m->leaves->kept[side] : own[side];
        for (int32_t i = 0; i < d.slots; ++i) {
            d.kept[side][i].node = -1;
        }
    }
    descend_trees(&d, 0, 0);
}
