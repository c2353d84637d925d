/* src/contact/contact.h - contact models: which gap constraints the features within reach give.
 *
 * An implementer owes one function: touches in, contacts out, in an order that depends on nothing
 * but the touches: sorted by key. Which features of polytopes the collider looks for is the model's
 * rule. A contact belongs to at most one group (perp_contact.group); where the same features take
 * part in two, they are two contacts, each with an impulse of its own: what one group needs is then
 * no business of the other [W14 4.2.3].
 */
#ifndef PERPI_CONTACT_H
#define PERPI_CONTACT_H

#include "collide/collide.h"
#include "perp/contact.h"

/* What a contact needs to know besides geometry. */
typedef struct perpi_contact_rules {
    perp_cone cone;
    int32_t directions;  /* of a polygon cone, spatial */
    double e[3];         /* of an ellipsoid */
    bool single_primary; /* of a group only the most open member pushes [W14 (4.14)] */
} perpi_contact_rules;

typedef struct perpi_contact_list {
    perp_context* context;
    perp_contact* item;
    size_t count, capacity;
    int32_t groups; /* the highest number of a group */
} perpi_contact_list;

/* The order of a list: that of the touches, by bodies, then by key. Keys alone do not ascend where a
 * body has several shapes. */
static inline bool perpi_contact_before(const perp_contact* a, const perp_contact* b)
{
    return a->body_a != b->body_a   ? a->body_a < b->body_a
           : a->body_b != b->body_b ? a->body_b < b->body_b
                                    : a->key < b->key;
}

typedef struct perpi_contact_model_ops {
    const char* name;
    const char* summary;
    const perpi_candidate_rule* rule; /* which feature pairs it wants, and which belong together */
    /* takes over, for a pair of shapes and one step, where this has no answer; NULL: nothing does */
    const struct perpi_contact_model_ops* simpler;
    bool planar;         /* not for spatial scenes */
    bool groups;         /* of some contacts one must hold: it chooses by their gaps */
    bool overlap_only;   /* no contacts before bodies overlap */
    bool single_primary; /* has the setting of that name */
    /* Appends to list. pose: one per body, at the start of the step; t for moving surfaces. */
    perp_status (*build)(const perp_model* model, const perpi_contact_rules* rules, double t,
                         const perpi_pose* pose, const perpi_candidate* candidate, size_t count,
                         perpi_contact_list* list);
} perpi_contact_model_ops;

/* What all models so far do: every touch is a contact, groups as the touches have them. */
PERP_NODISCARD perp_status perpi_contact_build(const perp_model* model,
                                               const perpi_contact_rules* rules, double t,
                                               const perpi_pose* pose,
                                               const perpi_candidate* candidate, size_t count,
                                               perpi_contact_list* list);

/* NULL: there is none of that name. */
const perpi_contact_model_ops* perpi_contact_model_named(const char* name);
/* By name. Unknown: PERP_ERROR_INPUT with the nearest. */
PERP_NODISCARD perp_status perpi_contact_model_find(perp_context* context, const char* name,
                                                    const perpi_contact_model_ops** ops);
/* The i-th; false past the end. */
bool perpi_contact_model_at(int32_t index, const char** name,
                            const perpi_contact_model_ops** built);

#endif
