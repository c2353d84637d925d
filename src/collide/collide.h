/* src/collide/collide.h - which features of which bodies are within reach of each other.
 *
 * Broad phase (bounding boxes in a tree, n log n), then one routine per pair of shape types. The
 * answer is a list of feature contacts, in an order that depends only on the model and the poses:
 * sorted by key. What becomes of them is the contact model's business (src/contact).
 */
#ifndef PERPI_COLLIDE_H
#define PERPI_COLLIDE_H

#include "model/model.h"

/* Two features within reach. normal points from A onto B, gap = normal . (point_b - point_a). */
typedef struct perpi_touch {
    int32_t body_a, body_b;   /* body_a < body_b */
    int32_t shape_a, shape_b; /* indices into model->shape */
    uint32_t feature;         /* names the pair of features, unique within the pair of shapes */
    vec3 point_a, point_b;    /* world */
    vec3 normal;              /* unit, world */
    double gap;
} perpi_touch;

/* The pair of features by one number, the same from step to step; touches are sorted by it. Holds
 * 2^20 shapes and 2^24 features a pair. */
static inline uint64_t perpi_touch_key(const perpi_touch* touch)
{
    return (uint64_t)touch->shape_a << 44 | (uint64_t)touch->shape_b << 24 | touch->feature;
}

/* Where a pair routine puts what it finds. */
typedef struct perpi_touch_list {
    perp_context* context;
    perpi_touch* item;
    size_t count, capacity;
    /* set by the caller for the pair at hand; perpi_touch_add copies them in */
    int32_t body_a, body_b, shape_a, shape_b;
    bool flipped; /* the routine sees the shapes in the other order: swap on the way in */
} perpi_touch_list;

/* point_a, point_b, normal as the routine sees its first and second shape. */
PERP_NODISCARD perp_status perpi_touch_add(perpi_touch_list* list, uint32_t feature, vec3 point_a,
                                           vec3 point_b, vec3 normal, double gap);

/* Finds the feature pairs of shapes a and b (world poses) with gap <= margin. A pair that overlaps
 * is found at any depth, with a negative gap along the direction of least penetration. */
typedef perp_status (*perpi_pair_fn)(const perpi_shape* a, const perpi_pose* pose_a,
                                     const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                     perpi_touch_list* list);

typedef struct perpi_pair_ops {
    perp_shape_type a, b;
    perpi_pair_fn find;
} perpi_pair_ops;

/* NULL if shapes of these types never meet (plane-plane, particle-particle). *flipped tells that
 * the routine wants (b, a). */
perpi_pair_fn perpi_pair_find(perp_shape_type a, perp_shape_type b, bool* flipped);

typedef struct perpi_collider perpi_collider;
/* PERP_ERROR_UNSUPPORTED, with the two bodies: a pair that may collide has no routine yet. */
PERP_NODISCARD perp_status perpi_collider_create(perp_context* context, const perp_model* model,
                                                 perpi_collider** collider);
void perpi_collider_destroy(perpi_collider* collider);

/* pose: one per body (centre of mass, world). margin: one per body; a pair's margin is the sum.
 * Pairs that may not collide (model) and pairs of bodies that cannot move each other (both not
 * dynamic) are skipped. *touch stays valid until the next call. No allocation once warm. */
PERP_NODISCARD perp_status perpi_collide(perpi_collider* collider, const perpi_pose* pose,
                                         const double* margin, const perpi_touch** touch,
                                         size_t* count);

/* Candidate pairs of the last call, before the narrow phase (for the bench of the broad phase). */
size_t perpi_collider_candidates(const perpi_collider* collider);

#endif
