/* src/collide/narrow/choice.h - directions in which a pair may keep apart instead of the one that it has rows for.
 *
 * Two convex bodies are apart exactly if one direction n has s(n) >= 0 (slab.h). The rows of a pair say so for the
 * direction in which it is farthest apart. Where bodies have faces, flat ends or sides, the motion of one step can
 * lead past an edge or a rim, to where another direction separates them: the rows then stop what is allowed. Under
 * `lnc` and `peg` each row becomes a group with one row for each such direction: one of them must hold.
 * A direction that needs several rows at once gives a group for each of them, as (a and b) or c is (a or c) and
 * (b or c).
 */
#ifndef PERPI_COLLIDE_CHOICE_H
#define PERPI_COLLIDE_CHOICE_H

#include "collide/collide.h"

enum { PERPI_CHOICES = 6, PERPI_CHOICE_ROWS = 1 + PERPI_SPINS };

typedef struct perpi_choice {
    vec3 n;      /* world, from the routine's first shape to its second */
    uint32_t id; /* names the direction within the pair, < 2^14 */
    /* points of the second that are lowest along n, or over the first's highest, now and after each expected
     * turn: all of them stay apart. Each once. */
    vec3 p_b[PERPI_CHOICE_ROWS];
    double s[PERPI_CHOICE_ROWS];
    int32_t rows;
    double least; /* of s */
} perpi_choice;

/* near: points so close to each other are one. */
void perpi_choice_row(perpi_choice* choice, vec3 p_b, double s, double near);

typedef struct perpi_choices {
    perpi_choice item[PERPI_CHOICES];
    int32_t count;
} perpi_choices;

static inline bool perpi_candidate_groups(const perpi_candidate_list* list)
{
    return list->rule != NULL;
}

/* Takes a direction that the motion can bring to separate the bodies (s >= -margin) and that does not face away
 * from n, the direction of the rows. One that differs from n or another by less than rounding is left out; of
 * too many the most open stay. */
void perpi_choices_take(perpi_choices* choices, vec3 n, double margin, const perpi_choice* c);

/* The touches from the first on get their groups, if there are choices. Where that makes too many, directions are left
 * out, the least open first: bodies may be held back then, but nothing is let through. */
PERP_NODISCARD perp_status perpi_candidate_choose(perpi_candidate_list* list, size_t first,
                                                  perpi_choices* choices);

#endif
