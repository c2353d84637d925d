/* src/collide/collide.h - which features of which bodies are within reach of each other.
 *
 * Broad phase (bounding boxes in a tree, n log n), then one routine per pair of shape types. The
 * answer is a list of feature contacts, in an order that depends only on the model and the poses:
 * sorted by key. What becomes of them is the contact model's business (src/contact).
 */
#ifndef PERPI_COLLIDE_H
#define PERPI_COLLIDE_H

#include "model/model.h"

struct perpi_polygon_meeting;   /* polygon_pair.h */
struct perpi_feature_pair;      /* the same */
struct perpi_polyhedron_answer; /* polyhedron.h */

/* What a contact model asks of the collider; NULL: each pair of features within reach for itself. Shapes
 * without corners or rims have no choice among themselves and with planes. */
typedef struct perpi_candidate_rule {
    bool overlap_only; /* only pairs of features with a negative gap, and no groups */
    /* Groups, of which one member must hold: */
    double near; /* features of polytopes matter within so many margins of each other */
    bool orders; /* which orders of features a turn can bring about is told */
    /* The touches that the near features of two polytopes give; best: the most open pair. */
    perp_status (*polygons)(struct perpi_polygon_meeting* m, const struct perpi_feature_pair* best);
    perp_status (*polyhedra)(struct perpi_polyhedron_answer* a);
} perpi_candidate_rule;

/* Two features within reach. normal points from A onto B, gap = normal . (point_b - point_a). */
typedef struct perpi_candidate {
    int32_t body_a, body_b;   /* body_a < body_b */
    int32_t shape_a, shape_b; /* indices into model->shape */
    uint32_t feature;         /* names the pair of features, unique within the pair of shapes */
    vec3 point_a, point_b;    /* world */
    vec3 normal;              /* unit, world */
    double gap;
    int32_t group;  /* of this pair of shapes; 0: stands alone */
    bool secondary; /* lends its geometry to the group, but never pushes */
} perpi_candidate;

/* The pair of features by one number, the same from step to step; touches are sorted by it. Holds
 * 2^20 shapes and 2^24 features a pair. */
static inline uint64_t perpi_key_of(int32_t shape_a, int32_t shape_b, uint32_t feature)
{
    return (uint64_t)shape_a << 44 | (uint64_t)shape_b << 24 | feature;
}

static inline uint64_t perpi_candidate_key(const perpi_candidate* candidate)
{
    return perpi_key_of(candidate->shape_a, candidate->shape_b, candidate->feature);
}

/* The shapes that a key was made of; and whether two keys are of the same two shapes. */
static inline int32_t perpi_key_shape_a(uint64_t key)
{
    return (int32_t)(key >> 44);
}

static inline int32_t perpi_key_shape_b(uint64_t key)
{
    return (int32_t)(key >> 24 & 0xFFFFF);
}

static inline bool perpi_key_same_shapes(uint64_t key, uint64_t other)
{
    return key >> 24 == other >> 24;
}

enum { PERPI_SPINS = 6 };

/* Where a pair routine puts what it finds. */
typedef struct perpi_candidate_list {
    perp_context* context;
    perpi_candidate* item;
    size_t count, capacity;
    /* set by the caller for the pair at hand; perpi_candidate_add copies them in */
    int32_t body_a, body_b, shape_a, shape_b;
    const perpi_candidate_rule* rule; /* with groups, or NULL */
    /* how the second may have turned against the first at the end of the step (world; none: not at
     * all), and by how much each of these can be wrong (INFINITY: not known) */
    vec3 spin[PERPI_SPINS];
    int32_t spins;
    double turn;
    int32_t group; /* of the touch that comes next; the routine sets it */
    bool secondary;
    /* features whose normal (from the first to the second) faces away from `side` do not exist: the pair is
     * known to belong on that side. For the routines that perpi_pair_sided names. */
    bool sided;
    vec3 side;
    double
        deepest; /* overlap of polyhedra so far: touches tell of the end of the step, this does not */
    int32_t overflow; /* pairs so far that PEG had no room for, and that have plain rows instead */
    bool flipped;     /* the routine sees the shapes in the other order: swap on the way in */
} perpi_candidate_list;

/* point_a, point_b, normal as the routine sees its first and second shape. */
PERP_NODISCARD perp_status perpi_candidate_add(perpi_candidate_list* list, uint32_t feature,
                                               vec3 point_a, vec3 point_b, vec3 normal, double gap);

/* The first number from `feature` on that no touch of the pair at hand has yet. */
uint32_t perpi_candidate_unused(const perpi_candidate_list* list, uint32_t feature);

/* Finds the feature pairs of shapes a and b (world poses) with gap <= margin. A pair that overlaps
 * is found at any depth, with a negative gap along the direction of least penetration. */
typedef perp_status (*perpi_pair_fn)(const perpi_shape* a, const perpi_pose* pose_a,
                                     const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                     perpi_candidate_list* list);

/* A pair of shapes for which the collider's rule does not hold in the next call. */
typedef struct perpi_candidate_exception {
    int32_t shape_a, shape_b; /* shape_a < shape_b or as the touches of the pair have them */
    const perpi_candidate_rule* rule;
} perpi_candidate_exception;

/* On which side of each other a pair of shapes was when last seen apart: the normal from A onto B. Sorted as
 * the pairs are: by bodies, then by shapes. */
typedef struct perpi_candidate_side {
    int32_t body_a, body_b, shape_a, shape_b;
    vec3 normal;
} perpi_candidate_side;

/* The routine for a pair whose side is known; NULL: there is none. */
perpi_pair_fn perpi_pair_sided(perp_shape_type a, perp_shape_type b, bool* flipped);

/* Whether features of such a pair can form groups. */
bool perpi_pair_groups(perp_shape_type a, perp_shape_type b);

/* groups: features are told apart that may belong together. NULL if shapes of these types never meet (plane-plane, particle-particle). *flipped tells that
 * the routine wants (b, a). */
perpi_pair_fn perpi_pair_find(bool groups, perp_shape_type a, perp_shape_type b, bool* flipped);

typedef struct perpi_collider perpi_collider;
PERP_NODISCARD perp_status perpi_collider_create(perp_context* context, const perp_model* model,
                                                 perpi_collider** collider);
void perpi_collider_destroy(perpi_collider* collider);
/* NULL unless set. exceptions are read during perpi_collide; NULL: none. */
void perpi_collider_set_rule(perpi_collider* collider, const perpi_candidate_rule* rule,
                             const perpi_candidate_exception* exception, size_t count);

/* Read during perpi_collide; NULL, as at first: nothing is known. A pair that overlaps is parted towards its
 * side; with `always` a pair is also found if it has come out behind. */
void perpi_collider_set_sides(perpi_collider* collider, const perpi_candidate_side* side,
                              size_t count, bool always);

/* How a body may turn in the step: rotation vectors, of which it is one, and by how much it can be off. */
typedef struct perpi_turn {
    vec3 spin[PERPI_SPINS];
    double slack;
} perpi_turn;
/* One per body, each with `count` spins, read during perpi_collide. NULL, as at first: as far as its
 * margin carries it, any way. */
void perpi_collider_set_turn(perpi_collider* collider, const perpi_turn* turn, int32_t count);

/* pose: one per body (centre of mass, world). margin: one per body; a pair's margin is the sum.
 * Pairs that may not collide (model) and pairs of bodies that cannot move each other (both not
 * dynamic) are skipped. *touch stays valid until the next call. No allocation once warm. */
PERP_NODISCARD perp_status perpi_collide(perpi_collider* collider, const perpi_pose* pose,
                                         const double* margin, const perpi_candidate** candidate,
                                         size_t* count);

/* Whether contacts of the two bodies (a < b) are looked for at all. */
bool perpi_collider_allows(perpi_collider* collider, int32_t a, int32_t b);

/* The deepest overlap of two polyhedra in the last call, 0 if none do. */
double perpi_collider_deepest(const perpi_collider* collider);
/* Pairs of the last call that should have groups and have plain rows: too many features. */
int32_t perpi_collider_overflow(const perpi_collider* collider);

/* Candidate pairs of the last call, before the narrow phase (for the bench of the broad phase). */
size_t perpi_collider_candidates(const perpi_collider* collider);

#endif
