/* src/contact/contact.h - contact models: gap constraints from contact candidates.
 *
 * A model implements one function: candidates in, contacts out, sorted by key, so that the order depends on
 * the candidates alone. The model's rule says which features of polytopes the collider finds. A contact
 * belongs to at most one disjunctive group (perp_contact.group); where a feature pair is a member of two,
 * it is two contacts, each with its own impulse, so that the groups are independent [W14 4.2.3].
 */
#ifndef PERPI_CONTACT_H
#define PERPI_CONTACT_H

#include "collide/collide.h"
#include "perp/contact.h"

/* Data of a contact besides geometry. */
typedef struct perpi_contact_rules {
    perp_cone cone;
    int32_t directions;  /* of a polygon cone, spatial */
    double e[3];         /* of an ellipsoid */
    bool single_primary; /* only the most open member of a group has an impulse [W14 (4.14)] */
    double align; /* radians: normals of one pair that differ by less are made equal; 0: none */
} perpi_contact_rules;

typedef struct perpi_contact_list {
    perp_context* context;
    perp_contact* item;
    size_t count, capacity;
    int32_t groups; /* the highest number of a group */
} perpi_contact_list;

/* The order of a list: that of the candidates, by bodies, then by key. Keys alone are not ascending
 * where a body has several shapes. */
static inline bool perpi_contact_before(const perp_contact* a, const perp_contact* b)
{
    return a->body_a != b->body_a   ? a->body_a < b->body_a
           : a->body_b != b->body_b ? a->body_b < b->body_b
                                    : a->key < b->key;
}

typedef struct perpi_contact_model_ops {
    const char* name;
    const char* summary;
    const perpi_candidate_rule* rule; /* which feature pairs the collider finds, and which form
                                       * groups */
    /* replaces this model for a pair of shapes and one step where it has no solution; NULL: none */
    const struct perpi_contact_model_ops* simpler;
    bool planar;         /* not for spatial scenes */
    bool groups;         /* has disjunctive groups: chooses among their members by their gaps */
    bool overlap_only;   /* no contacts before bodies overlap */
    bool single_primary; /* accepts the setting of that name */
    /* Appends to list. pose: one per body, at the start of the step; t for moving surfaces. */
    perp_status (*build)(const perp_model* model, const perpi_contact_rules* rules, double t,
                         const perpi_pose* pose, const perpi_candidate* candidate, size_t count,
                         perpi_contact_list* list);
} perpi_contact_model_ops;

/* The function of all present models: every candidate is a contact, groups as those of the
 * candidates. */
PERP_NODISCARD perp_status perpi_contact_build(const perp_model* model,
                                               const perpi_contact_rules* rules, double t,
                                               const perpi_pose* pose,
                                               const perpi_candidate* candidate, size_t count,
                                               perpi_contact_list* list);

/* NULL: there is none of that name. */
const perpi_contact_model_ops* perpi_contact_model_named(const char* name);
/* By name. Unknown: PERP_ERROR_INPUT with the most similar name. */
PERP_NODISCARD perp_status perpi_contact_model_find(perp_context* context, const char* name,
                                                    const perpi_contact_model_ops** ops);
/* The i-th; false past the end. */
bool perpi_contact_model_at(int32_t index, const char** name,
                            const perpi_contact_model_ops** built);

#endif
