/* src/contact/lnc_polyhedra.c - the groups of LNC, of two convex polyhedra: one for each vertex, and edge pairs
 * without a group.
 *
 * Source     [W14 (4.2)-(4.5)]; feature pairs: src/collide/polytope/polyhedron.c
 */
#include "contact/polyhedra.h"
#include "contact/rules.h"

/* The faces near a vertex, without those of the far side; primary are those that the rotation can
 * make a facet with it. */
static perp_status add_vertex(perpi_polyhedron_answer* a, int32_t first, double floor, uint64_t far,
                              int32_t group)
{
    const perpi_meeting* m = a->m;
    const perpi_facet* f = m->facet;
    int32_t member[PERPI_ANSWER_MEMBERS], count = 0, primaries = 0;
    for (int32_t i = first; i < m->count && count < PERPI_ANSWER_MEMBERS; ++i) {
        if (f[i].kind != f[first].kind || f[i].one != f[first].one) {
            continue;
        }
        if (f[i].psi > m->margin) {
            return PERP_OK; /* cannot penetrate within the step */
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
        status =
            perpi_answer_add(a, &f[member[k]], count > 1 ? group : 0, f[member[k]].possible == 0);
    }
    return status;
}

perp_status perpi_lnc_polyhedra(perpi_polyhedron_answer* a)
{
    perpi_meeting* m = a->m;
    const double floor = perpi_meeting_least_gap(m);
    const uint64_t far = perpi_meeting_far_side(m, floor);
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        bool seen = false;
        if (f->kind == PERPI_EDGE_EDGE) {
            if (a->same[i] == i && perpi_meeting_counts(m, f, floor)) {
                status = perpi_answer_add(a, f, 0, false);
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
