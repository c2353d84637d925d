/* src/collide/narrow/choice.c - see choice.h.
 *
 * Departure  an alternative direction has a row for the point that is lowest along it now, and after each expected
 *            rotation (src/sim/margin.c repeats the step if the rotation differs), not for all points of a
 *            flat face.
 */
#include "collide/narrow/choice.h"

#include "collide/narrow/round.h"

#define SAME_WAY 1e-12 /* of 1 - cosine: closer directions are equal */
#define FACING 1e-9    /* cosine: directions at a right angle do not face away from each other */

enum { MOST_GROUPS = 48 };

void perpi_choice_row(perpi_choice* choice, vec3 p_b, double s, double near)
{
    for (int32_t i = 0; i < choice->rows; ++i) {
        const vec3 d = v3_sub(p_b, choice->p_b[i]);
        if (v3_dot(d, d) <= near * near) {
            return;
        }
    }
    if (choice->rows < PERPI_CHOICE_ROWS) {
        choice->p_b[choice->rows] = p_b;
        choice->s[choice->rows++] = s;
        choice->least = choice->rows == 1 || s < choice->least ? s : choice->least;
    }
}

/* Several rows along one direction are those of a line or a flat face. A direction that differs
 * from it by less than counts as parallel has rows for fewer points: as an alternative it would let
 * one end of a line contact open into the other body, while it frees the motion by that angle
 * only. */
perpi_choices perpi_choices_for(const perpi_candidate_list* list, size_t first)
{
    return (perpi_choices){.count = 0, .flat = list->count > first + 1};
}

void perpi_choices_take(perpi_choices* choices, vec3 n, double margin, const perpi_choice* c)
{
    const double same =
        choices->flat ? PERPI_CANDIDATE_PARALLEL * PERPI_CANDIDATE_PARALLEL : SAME_WAY;
    if (c->rows == 0 || !(c->least >= -margin) || !(v3_dot(c->n, n) >= -FACING) ||
        v3_dot(v3_sub(c->n, n), v3_sub(c->n, n)) < same) {
        return;
    }
    int32_t worst = 0;
    for (int32_t i = 0; i < choices->count; ++i) {
        const vec3 d = v3_sub(choices->item[i].n, c->n);
        if (v3_dot(d, d) < SAME_WAY) {
            return;
        }
        worst = choices->item[i].least < choices->item[worst].least ? i : worst;
    }
    if (choices->count < PERPI_CHOICES) {
        choices->item[choices->count++] = *c;
    } else if (c->least > choices->item[worst].least) {
        choices->item[worst] = *c;
    }
}

/* Discards directions until the number of groups fits. Returns the number of groups of each row. */
static int32_t groups_of_row(perpi_choices* choices, size_t rows)
{
    for (;;) {
        int32_t groups = 1, worst = 0;
        for (int32_t i = 0; i < choices->count; ++i) {
            groups = groups < MOST_GROUPS ? groups * choices->item[i].rows : groups;
            worst = choices->item[i].least < choices->item[worst].least ? i : worst;
        }
        if (choices->count == 0 || (size_t)groups * rows <= MOST_GROUPS) {
            return groups;
        }
        choices->item[worst] = choices->item[--choices->count];
    }
}

perp_status perpi_candidate_choose(perpi_candidate_list* list, size_t first, perpi_choices* choices)
{
    const size_t rows = list->count - first;
    const int32_t groups = groups_of_row(choices, rows);
    perp_status status = PERP_OK;
    for (size_t i = 0; i < rows * (size_t)groups && choices->count > 0 && status == PERP_OK; ++i) {
        const size_t row = first + i / (size_t)groups;
        const uint32_t name = list->item[row].feature & 0xFF;
        list->group = 1 + (int32_t)i;
        if (i % (size_t)groups == 0) {
            list->item[row].group = list->group;
        } else { /* a copy of the row in the list */
            const perpi_candidate t = list->item[row];
            const bool flipped = list->flipped;
            list->flipped = false;
            status = perpi_candidate_add(list, perpi_candidate_unused(list, 1U << 22 | t.feature),
                                         t.point_a, t.point_b, t.normal, t.gap);
            list->flipped = flipped;
        }
        size_t which = i % (size_t)groups;
        for (int32_t k = 0; k < choices->count && status == PERP_OK; ++k) {
            const perpi_choice* c = &choices->item[k];
            const size_t r = which % (size_t)c->rows;
            which /= (size_t)c->rows;
            status = perpi_candidate_add(
                list, perpi_candidate_unused(list, 1U << 23 | (c->id & 0x3FFF) << 8 | name),
                v3_madd(c->p_b[r], -c->s[r], c->n), c->p_b[r], c->n, c->s[r]);
        }
    }
    list->group = 0;
    return status;
}
