/* src/collide/choice.h - directions in which a pair may keep apart instead of the one that it has rows for.
 *
 * Two convex bodies are apart exactly if one direction n has s(n) >= 0 (slab.h). The rows of a pair say so for the
 * direction in which it is farthest apart. Where bodies have faces, flat ends or sides, the motion of one step can
 * lead past an edge or a rim, to where another direction separates them: the rows then stop what is allowed. Under
 * `lnc` and `peg` each row becomes a group with one row for each such direction: one of them must hold.
 */
#ifndef PERPI_COLLIDE_CHOICE_H
#define PERPI_COLLIDE_CHOICE_H

#include "collide/collide.h"

enum { PERPI_CHOICES = 6 };

typedef struct perpi_choice {
    vec3 n,
        p_b; /* world, n from the routine's first shape to its second; the point of the second that is
                    lowest along n at the end of the step */
    double s;    /* of that point */
    uint32_t id; /* names the direction within the pair, < 2^14 */
} perpi_choice;

typedef struct perpi_choices {
    perpi_choice item[PERPI_CHOICES];
    int32_t count;
} perpi_choices;

static inline bool perpi_touch_groups(const perpi_touch_list* list)
{
    return list->rule == PERPI_TOUCH_LNC || list->rule == PERPI_TOUCH_PEG;
}

/* Takes a direction that the motion can bring to separate the bodies (s >= -margin) and that does not face away
 * from n, the direction of the rows. One that differs from n or another by less than rounding is left out; of
 * too many the most open stay. */
void perpi_choices_take(perpi_choices* choices, vec3 n, double margin, perpi_choice c);

/* The touches from the first on get their groups, if there are choices. */
PERP_NODISCARD perp_status perpi_touch_choose(perpi_touch_list* list, size_t first,
                                              const perpi_choices* choices);

#endif
