/* src/sim/closed.h - closed contacts, and closing accelerations of the others. */
#ifndef PERPI_CLOSED_H
#define PERPI_CLOSED_H

#include "sim/internal.h"

/* Relative motion of the points of a contact. */
typedef struct perpi_approach {
    double u;     /* normal velocity, negative: approaching */
    double slow;  /* speeds up to this count as zero */
    double stays; /* T: the time of a fall through `error` */
} perpi_approach;

/* State of a contact, by itself or by its group. */
typedef struct perpi_standing {
    double gap;        /* of its most open member */
    perpi_approach by; /* of the closed member that opens fastest */
    bool closed;       /* see closed.c */
    bool member;       /* the contact does not penetrate deeper than `error`, or all members do */
} perpi_standing;

struct perpi_standing_list {
    perpi_standing* item;
    size_t capacity;
};
typedef struct perpi_standing_list perpi_standing_list;

/* Lengths below this count as zero for a contact: `error`, bounded by a part of the thickness of
 * the two bodies. Otherwise a gap that counts as closed could lie on the other side of a thin
 * plate. */
double perpi_closed_tolerance(const perpi_step* step, uint64_t key);
PERP_NODISCARD perp_status perpi_approach_of(const perpi_step* step, const perp_contact* c,
                                             perpi_approach* out);
/* Of all contacts in step->to. */
PERP_NODISCARD perp_status perpi_stand_all(perpi_step* step, perpi_standing_list* list);

#endif
