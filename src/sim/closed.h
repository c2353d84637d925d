/* src/sim/closed.h - closed contacts, and what closes those that are not. */
#ifndef PERPI_CLOSED_H
#define PERPI_CLOSED_H

#include "sim/internal.h"

/* How the points of a contact come nearer. */
typedef struct perpi_approach {
    double u;     /* normal velocity, negative: nearer */
    double slow;  /* up to this it is none */
    double stays; /* T: the time of a fall through `error` */
} perpi_approach;

/* What a contact counts as: by itself, or by its group. */
typedef struct perpi_standing {
    double gap;        /* of its most open member */
    perpi_approach by; /* of the closed member that opens fastest */
    bool closed;       /* see closed.c */
    bool member;       /* the contact itself is not deeper in than `error`, or all are */
} perpi_standing;

struct perpi_standing_list {
    perpi_standing* item;
    size_t capacity;
};
typedef struct perpi_standing_list perpi_standing_list;

/* Lengths below this are none, for a contact: `error`, but no more than a part of how thick the two are.
 * Otherwise a gap that counts as closed could lie on the other side of a thin plate. */
double perpi_closed_tolerance(const perpi_step* step, uint64_t key);
PERP_NODISCARD perp_status perpi_approach_of(const perpi_step* step, const perp_contact* c,
                                             perpi_approach* out);
/* Of all contacts in step->to. */
PERP_NODISCARD perp_status perpi_stand_all(perpi_step* step, perpi_standing_list* list);

#endif
