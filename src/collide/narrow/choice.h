/* src/collide/narrow/choice.h - alternative directions of separation of a pair.
 *
 * Two convex bodies are apart exactly if one direction n has s(n) >= 0 (slab.h). The rows of a pair
 * require it for the direction of largest separation. Where bodies have faces, flat ends or sides,
 * the motion of one step can lead past an edge or a rim, to where another direction separates them:
 * the rows then forbid an admissible motion. Under `lnc` and `peg` each row becomes a disjunctive
 * group with one row for each such direction: one of them must hold. A direction that needs several
 * rows at once gives a group for each of them, as (a and b) or c is (a or c) and (b or c).
 */
#ifndef PERPI_COLLIDE_CHOICE_H
#define PERPI_COLLIDE_CHOICE_H

#include "collide/collide.h"

enum { PERPI_CHOICES = 6, PERPI_CHOICE_ROWS = 1 + PERPI_SPINS };

typedef struct perpi_choice {
    vec3 n;      /* world, from the routine's first shape to its second */
    uint32_t id; /* number of the direction within the pair, < 2^14 */
    /* points of the second that are lowest along n, or over the highest of the first, now and after
     * each expected rotation; all of them must stay apart. Without duplicates. */
    vec3 p_b[PERPI_CHOICE_ROWS];
    double s[PERPI_CHOICE_ROWS];
    int32_t rows;
    double least; /* of s */
} perpi_choice;

/* near: closer points are equal. */
void perpi_choice_row(perpi_choice* choice, vec3 p_b, double s, double near);

typedef struct perpi_choices {
    perpi_choice item[PERPI_CHOICES];
    int32_t count;
    bool flat; /* the pair has several rows: a line or a face */
} perpi_choices;

/* None yet, for the rows of the list from the first on. */
perpi_choices perpi_choices_for(const perpi_candidate_list* list, size_t first);

static inline bool perpi_candidate_groups(const perpi_candidate_list* list)
{
    return list->rule != NULL;
}

/* Adds a direction that can separate the bodies within the step (s >= -margin) and that does not
 * face away from n, the direction of the rows. One that equals n or another up to rounding is
 * discarded; if there are too many, the most open stay. */
void perpi_choices_take(perpi_choices* choices, vec3 n, double margin, const perpi_choice* c);

/* Forms the groups of the candidates from the first on, if there are alternative directions. On
 * overflow directions are discarded, the least open first: that can restrict the motion, but lets
 * no body through. */
PERP_NODISCARD perp_status perpi_candidate_choose(perpi_candidate_list* list, size_t first,
                                                  perpi_choices* choices);

#endif
