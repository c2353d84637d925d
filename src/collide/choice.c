/* src/collide/choice.c - see choice.h.
 *
 * Departure  a direction beside that of the rows has one row, at the point that will be lowest along it after the
 *            expected turn. If the body turns otherwise, another point of the same flat may come lower: what that
 *            misses is of the order of the error of the turn times the size, and only in the step in which the
 *            pair changes over; in the next one the direction has all its rows.
 */
#include "collide/choice.h"

#include "collide/round.h"

#define SAME_WAY 1e-12 /* of 1 - cosine: directions so near are one */
#define FACING 1e-9    /* cosine: directions at a right angle do not face away from each other */

void perpi_choices_take(perpi_choices* choices, vec3 n, double margin, perpi_choice c)
{
    if (!(c.s >= -margin) || !(v3_dot(c.n, n) >= -FACING) ||
        v3_dot(v3_sub(c.n, n), v3_sub(c.n, n)) < SAME_WAY) {
        return;
    }
    int32_t worst = 0;
    for (int32_t i = 0; i < choices->count; ++i) {
        const vec3 d = v3_sub(choices->item[i].n, c.n);
        if (v3_dot(d, d) < SAME_WAY) {
            return;
        }
        worst = choices->item[i].s < choices->item[worst].s ? i : worst;
    }
    if (choices->count < PERPI_CHOICES) {
        choices->item[choices->count++] = c;
    } else if (c.s > choices->item[worst].s) {
        choices->item[worst] = c;
    }
}

perp_status perpi_touch_choose(perpi_touch_list* list, size_t first, const perpi_choices* choices)
{
    const size_t rows = list->count;
    perp_status status = PERP_OK;
    for (size_t i = first; i < rows && choices->count > 0 && status == PERP_OK; ++i) {
        list->item[i].group = 1 + (int32_t)(i - first);
        list->group = list->item[i].group;
        const uint32_t row = list->item[i].feature & 0xFF;
        for (int32_t k = 0; k < choices->count && status == PERP_OK; ++k) {
            const perpi_choice* c = &choices->item[k];
            const uint32_t name = 1U << 23 | (c->id & 0x3FFF) << 8 | row;
            status = perpi_touch_add(list, perpi_touch_unused(list, name),
                                     v3_madd(c->p_b, -c->s, c->n), c->p_b, c->n, c->s);
        }
    }
    list->group = 0;
    return status;
}
