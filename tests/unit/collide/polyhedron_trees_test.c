/* tests/unit/collide/polyhedron_trees_test.c - the search for many near features against one that
 * passes every pair of features to the exact decision, in the order of the descent: the same
 * facets, and in the same places. */
#include <stdlib.h>
#include <string.h>

#include "collide/polytope/polyhedron.h"
#include "contact/rules.h"
#include "geometry.h"
#include "perp_test.h"

/* ---- the reference ---------------------------------------------------------------------------------- */

static bool owns_vertex(const perpi_polyhedron* p, int32_t face, int32_t vertex)
{
    return p->edge[p->around[p->around_start[vertex]]].face[0] == face;
}

static void pass_faces(perpi_meeting* m, int32_t face_a, int32_t face_b, bool all)
{
    const int32_t face[2] = {face_a, face_b};
    for (int side = 0; side < 2; ++side) {
        const perpi_polyhedron* q = m->p[1 - side];
        const int32_t other = face[1 - side];
        for (int32_t k = q->face_start[other]; k < q->face_start[other + 1]; ++k) {
            if (owns_vertex(q, other, q->corner[k])) {
                perpi_meeting_vertex(m, side, face[side], q->corner[k], all);
            }
        }
    }
    const perpi_polyhedron *a = m->p[0], *b = m->p[1];
    for (int32_t k = a->face_start[face_a]; k < a->face_start[face_a + 1]; ++k) {
        for (int32_t l = b->face_start[face_b]; l < b->face_start[face_b + 1]; ++l) {
            if (a->edge[a->side[k]].face[0] == face_a && b->edge[b->side[l]].face[0] == face_b) {
                perpi_meeting_edges(m, a->side[k], b->side[l]);
            }
        }
    }
}

static double extent(const perpi_face_node* n)
{
    const vec3 d = v3_sub(n->hi, n->lo);
    return v3_dot(d, d);
}

static void pass_all(perpi_meeting* m, int32_t node_a, int32_t node_b, bool all)
{
    const perpi_face_node *a = &m->p[0]->node[node_a], *b = &m->p[1]->node[node_b];
    if (a->count > 0 && b->count > 0) {
        for (int32_t i = 0; i < a->count; ++i) {
            for (int32_t k = 0; k < b->count; ++k) {
                pass_faces(m, m->p[0]->order[a->first + i], m->p[1]->order[b->first + k], all);
            }
        }
    } else if (b->count > 0 || (a->count == 0 && extent(a) >= extent(b))) {
        pass_all(m, node_a + 1, node_b, all);
        pass_all(m, a->first, node_b, all);
    } else {
        pass_all(m, node_a, node_b + 1, all);
        pass_all(m, node_a, b->first, all);
    }
}

static bool same_bits(const void* a, const void* b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

static void check_same(const perpi_meeting* m, const perpi_meeting* r)
{
    CHECK_EQ_INT(m->apart, r->apart);
    if (r->apart || (m->orders && r->overflow)) {
        CHECK_EQ_INT(m->apart || m->overflow, r->apart || r->overflow);
        return; /* neither has a use for the facets */
    }
    CHECK_EQ_INT(m->overflow, r->overflow);
    CHECK_EQ_INT(m->count, r->count);
    CHECK_EQ_INT(m->products, r->products);
    CHECK(same_bits(&m->least, &r->least, sizeof m->least));
    CHECK(same_bits(&m->best, &r->best, sizeof m->best));
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet *f = &m->facet[i], *g = &r->facet[i];
        CHECK(f->kind == g->kind && f->one == g->one && f->other == g->other);
        CHECK(f->plus == g->plus && f->minus == g->minus && f->possible == g->possible);
        CHECK(f->present == g->present && same_bits(&f->psi, &g->psi, sizeof f->psi));
        CHECK(same_bits(&f->n, &g->n, sizeof f->n) && same_bits(&f->p_a, &g->p_a, sizeof f->p_a));
    }
    for (int32_t i = 0; i < m->products; ++i) {
        CHECK(
            same_bits(m->product[i].s, r->product[i].s, (size_t)m->ends * sizeof *m->product[i].s));
    }
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

enum { POINTS = 160 };

/* An ellipsoid, a tube with a long axis x (nearly parallel edges), or a prism with large end faces. */
static perpi_shape body_of(perp_context* context, int kind)
{
    double x[3 * POINTS];
    const int n = 24 + random_below(POINTS - 24);
    const vec3 r = v3(random_in(0.5, 1), random_in(0.2, 1), random_in(0.2, 1));
    for (int i = 0; i < n; ++i) {
        const double angle = 2 * M_PI * i / n, ring = kind == 1 ? i % 4 - 1.5 : i % 2 - 0.5;
        const vec3 u =
            kind == 0 ? v3_unit(v3_add(random_vec(1), v3(1e-3, 0, 0)))
                      : v3((kind == 1 ? 1.0 : 0.4) * ring, (1 - 0.05 * ring * ring) * cos(angle),
                           (1 - 0.05 * ring * ring) * sin(angle));
        x[3 * i] = r.x * u.x;
        x[3 * i + 1] = r.y * u.y;
        x[3 * i + 2] = r.z * u.z;
    }
    perp_shape_def d = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    perpi_shape s = {0};
    d.vertices = x;
    d.vertex_count = n;
    CHECK_OK(perpi_shape_make(context, &d, 3, &s));
    return s;
}

typedef struct tally {
    int facets, grouped, overflow, apart;
} tally;

static void compare_searches(const perpi_shape* a, const perpi_shape* b, const perpi_pose* pose_b,
                             double margin, perpi_candidate_list* list, tally* sum)
{
    static perpi_meeting m, r;
    const perpi_pose pose_a = pose_at(v3(0, 0, 0), (quat){1, 0, 0, 0});
    const bool orders = list->rule != NULL && list->rule->orders;
    const double near = list->rule != NULL ? list->rule->near * margin : margin;
    perpi_meeting_begin(&m, a->polyhedron, &pose_a, b->polyhedron, pose_b, margin, near, list);
    perpi_meeting_begin(&r, a->polyhedron, &pose_a, b->polyhedron, pose_b, margin, near, list);
    perpi_meeting_descend(&m, !orders);
    pass_all(&r, 0, 0, !orders);
    check_same(&m, &r);
    sum->facets += m.count;
    sum->grouped += m.products > 0;
    sum->overflow += m.overflow;
    sum->apart += m.apart;
}

TEST(the_search_by_leaves_finds_the_facets_of_all_pairs_in_the_same_order)
{
    static const perpi_candidate_rule* const rules[3] = {NULL, &perpi_rule_lnc, &perpi_rule_peg};
    candidates t = touches_create();
    struct perpi_leaf_memory* leaves = malloc(perpi_leaf_memory_size());
    tally sum = {0};
    random_state = 5;
    for (int i = 0; i < 90; ++i) {
        perpi_shape A = body_of(t.context, i % 3), B = body_of(t.context, i / 3 % 3);
        /* turned by any angle, by a small one, or not at all */
        const quat turn = i % 4 == 0   ? (quat){1, 0, 0, 0}
                          : i % 4 == 1 ? q4_exp(random_vec(0.03))
                                       : random_turn(3);
        const perpi_pose pose =
            pose_at(v3(random_in(-0.4, 0.4), random_in(-0.3, 0.3), random_in(0.3, 2.2)), turn);
        const double reach = random_unit();
        t.list.rule = rules[i / 2 % 3];
        t.list.turn = i % 5 == 0 ? INFINITY : random_in(0.0, 0.1);
        t.list.spins = random_below(PERPI_SPINS + 1);
        for (int k = 0; k < t.list.spins; ++k) {
            t.list.spin[k] = random_vec(i % 2 == 0 ? 0.05 : 0.3);
        }
        t.list.leaves = i % 2 == 0 ? leaves : NULL;
        compare_searches(&A, &B, &pose, 0.01 + 0.6 * reach * reach * reach, &t.list, &sum);
        perpi_shape_free(t.context, &A);
        perpi_shape_free(t.context, &B);
    }
    printf("facets %d, meetings with products %d, overflow %d, apart %d\n", sum.facets, sum.grouped,
           sum.overflow, sum.apart);
    CHECK(sum.facets > 1000 && sum.grouped > 10 && sum.overflow > 10 && sum.apart > 2);
    free(leaves);
    touches_destroy(&t);
}
