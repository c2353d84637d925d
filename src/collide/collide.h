/* src/collide/collide.h - feature pairs of bodies within the margin of each other.
 *
 * Broad phase (bounding boxes in a tree, n log n), then one routine per pair of shape types. The
 * result is a list of contact candidates, sorted by key, so that its order depends only on the model
 * and the poses. The contact model (src/contact) makes contacts of them.
 */
#ifndef PERPI_COLLIDE_H
#define PERPI_COLLIDE_H

#include "model/model.h"

struct perpi_polygon_meeting;   /* polygon_pair.h */
struct perpi_feature_pair;      /* the same */
struct perpi_polyhedron_answer; /* polyhedron.h */
struct perpi_still_pair;        /* the same */
struct perpi_leaf_memory;       /* the same */
struct perpi_separation;        /* the same */

/* Which candidates a contact model needs; NULL: every feature pair within the margin, without
 * groups. Pairs of shapes without corners or rims, and of these with planes, have no groups under
 * any rule. */
typedef struct perpi_candidate_rule {
    bool overlap_only; /* only pairs of features with a negative gap, and no groups */
    /* Disjunctive groups, of which one member must hold: */
    double near; /* features of polytopes are tested within this many margins of each other */
    bool orders; /* whether groups are made for each order of features that a rotation can
                  * produce */
    /* Adds the candidates of the near features of two polytopes; best: the most open pair. */
    perp_status (*polygons)(struct perpi_polygon_meeting* m, const struct perpi_feature_pair* best);
    perp_status (*polyhedra)(struct perpi_polyhedron_answer* a);
    /* Adds the facets of a pair that needs no search for near features; false: it does. NULL: none */
    bool (*flat)(struct perpi_polyhedron_answer* a);
} perpi_candidate_rule;

/* A contact candidate: two features within the margin. normal points from A to B, gap = normal .
 * (point_b - point_a). */
typedef struct perpi_candidate {
    int32_t body_a, body_b;   /* body_a < body_b */
    int32_t shape_a, shape_b; /* indices into model->shape */
    uint32_t feature;         /* number of the feature pair, unique within the pair of shapes */
    vec3 point_a, point_b;    /* world */
    vec3 normal;              /* unit, world */
    double gap;
    int32_t group;  /* disjunctive group within this pair of shapes; 0: none */
    bool secondary; /* secondary member: its gap counts in the group, but it has no impulse */
} perpi_candidate;

/* The feature pair as one number, the same from step to step; candidates are sorted by it. Holds
 * 2^20 shapes and 2^24 features per pair. */
static inline uint64_t perpi_key_of(int32_t shape_a, int32_t shape_b, uint32_t feature)
{
    return (uint64_t)shape_a << 44 | (uint64_t)shape_b << 24 | feature;
}

static inline uint64_t perpi_candidate_key(const perpi_candidate* candidate)
{
    return perpi_key_of(candidate->shape_a, candidate->shape_b, candidate->feature);
}

/* The shapes of a key, and whether two keys belong to the same two shapes. */
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

/* Vertices of a polyhedron from which on those that cannot touch first are left out. */
enum { PERPI_MANY_VERTICES = 25 };

/* Faces of a polyhedron from which on its pairs are searched within the expected motion alone. */
enum { PERPI_MANY_FACES = 100 };

/* The output of a pair routine. */
typedef struct perpi_candidate_list {
    perp_context* context;
    perpi_candidate* item;
    size_t count, capacity;
    /* set by the caller for the current pair; perpi_candidate_add copies them */
    int32_t body_a, body_b, shape_a, shape_b;
    const perpi_candidate_rule* rule; /* with groups, or NULL */
    /* expected rotations of the second shape against the first over the step (world; none: no
     * rotation), and the error bound of each (INFINITY: unknown) */
    vec3 spin[PERPI_SPINS];
    int32_t spins;
    double turn;
    /* bound of any rotation of the second shape against the first over the step; features of which the
     * gap then follows from those of others may be left out. INFINITY: none may */
    double turn_most;
    int32_t group; /* of the next candidate; set by the pair routine */
    bool secondary;
    /* the known side of the pair: features whose normal (from the first to the second) faces away
     * from `side` are ignored. For the routines that perpi_pair_sided names. */
    bool sided;
    vec3 side;
    double deepest;   /* deepest overlap of polyhedra so far, at the start of the step */
    int32_t overflow; /* pairs so far with too many features for PEG, which have plain rows
                       * instead */
    bool soft;        /* a soft layer is between the bodies */
    bool flipped;     /* the routine takes the shapes in the other order: swap when adding */
    struct perpi_still_pair* still;      /* memory of the pair, or NULL: see polyhedron_still.c */
    struct perpi_leaf_memory* leaves;    /* for polyhedra with many faces, or NULL */
    struct perpi_separation* separation; /* memory of the pair, or NULL: see polyhedron_apart.c */
} perpi_candidate_list;

/* point_a, point_b, normal in the routine's order of the shapes. */
PERP_NODISCARD perp_status perpi_candidate_add(perpi_candidate_list* list, uint32_t feature,
                                               vec3 point_a, vec3 point_b, vec3 normal, double gap);

/* The first number from `feature` on that no candidate of the current pair has. */
uint32_t perpi_candidate_unused(const perpi_candidate_list* list, uint32_t feature);

/* Finds the feature pairs of shapes a and b (world poses) with gap <= margin. A pair that overlaps
 * is found at any depth, with a negative gap along the direction of least penetration. */
typedef perp_status (*perpi_pair_fn)(const perpi_shape* a, const perpi_pose* pose_a,
                                     const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                     perpi_candidate_list* list);

/* A pair of shapes for which the collider's rule does not hold in the next call. */
typedef struct perpi_candidate_exception {
    int32_t shape_a, shape_b; /* in the order of the candidates of the pair */
    const perpi_candidate_rule* rule;
} perpi_candidate_exception;

/* The side on which a pair of shapes was when last separated: the normal from A to B. Sorted as the
 * pairs are: by bodies, then by shapes. */
typedef struct perpi_candidate_side {
    int32_t body_a, body_b, shape_a, shape_b;
    vec3 normal;
} perpi_candidate_side;

/* The routine for a pair whose side is known; NULL: there is none. */
perpi_pair_fn perpi_pair_sided(perp_shape_type a, perp_shape_type b, bool* flipped);

/* Whether features of such a pair can form groups. */
bool perpi_pair_groups(perp_shape_type a, perp_shape_type b);

/* The routine of a pair of shape types. groups: one that forms groups of features. NULL if shapes
 * of these types never collide (plane-plane, particle-particle). *flipped: the routine takes (b,
 * a). */
perpi_pair_fn perpi_pair_find(bool groups, perp_shape_type a, perp_shape_type b, bool* flipped);

typedef struct perpi_collider perpi_collider;
PERP_NODISCARD perp_status perpi_collider_create(perp_context* context, const perp_model* model,
                                                 perpi_collider** collider);
void perpi_collider_destroy(perpi_collider* collider);
/* NULL unless set. exceptions are read during perpi_collide; NULL: none. */
void perpi_collider_set_rule(perpi_collider* collider, const perpi_candidate_rule* rule,
                             const perpi_candidate_exception* exception, size_t count);

/* Read during perpi_collide; NULL (the default): no side is known. An overlapping pair is
 * separated towards its side; with `always` a pair that has already left on the other side is
 * found as well. */
void perpi_collider_set_sides(perpi_collider* collider, const perpi_candidate_side* side,
                              size_t count, bool always);

/* Expected rotations of a body over the step: rotation vectors, one of which applies, and their
 * error bound. */
typedef struct perpi_turn {
    vec3 spin[PERPI_SPINS];
    double slack;
} perpi_turn;
/* One per body, each with `count` spins, read during perpi_collide. NULL (the default): any
 * rotation that the margin allows. */
void perpi_collider_set_turn(perpi_collider* collider, const perpi_turn* turn, int32_t count);
/* A bound of the rotation of each body over the step, read during perpi_collide: the caller promises to
 * repeat the search with larger ones if a body rotates further. NULL (the default): none. */
void perpi_collider_set_turn_most(perpi_collider* collider, const double* most);

/* How a body is expected to move in the step: displacement of its centre, rotation, and the distance of its
 * farthest point from its centre. */
typedef struct perpi_body_motion {
    vec3 shift, turn;
    double reach;
} perpi_body_motion;
/* One per body, read during perpi_collide: polyhedra with many faces are then searched within what
 * they move against each other, and over planes for what they turn, if that is less than their
 * margins. The caller promises to repeat the search if perpi_collider_moved_further says so. again:
 * the last call was for the same step, and pairs of it that move no further than it searched them
 * keep their candidates. NULL (the default): margins alone. */
void perpi_collider_set_motion(perpi_collider* collider, const perpi_body_motion* motion,
                               bool again);
/* Whether two bodies of such a pair of the last call move further against each other than was expected. */
bool perpi_collider_moved_further(const perpi_collider* collider, const perpi_body_motion* motion);

/* pose: one per body (centre of mass, world). margin: one per body; a pair's margin is the sum.
 * Pairs that may not collide (model) and pairs without a dynamic body are skipped. *candidate stays
 * valid until the next call. No allocation once warm. */
PERP_NODISCARD perp_status perpi_collide(perpi_collider* collider, const perpi_pose* pose,
                                         const double* margin, const perpi_candidate** candidate,
                                         size_t* count);

/* Finds the pairs of links that cannot meet within the limits of their joints (reach.h), or copies
 * those of another collider for the same model. Candidates are the same without them. */
PERP_NODISCARD perp_status perpi_collider_find_reach(perpi_collider* collider,
                                                     const perpi_collider* like);
/* Their number. */
int32_t perpi_collider_out_of_reach(const perpi_collider* collider);

/* Whether the two bodies (a < b) can collide at all. */
bool perpi_collider_allows(perpi_collider* collider, int32_t a, int32_t b);

/* Whether a polyhedron has more vertices than the bound of the rotation pays for. */
bool perpi_collider_has_many_vertices(const perpi_collider* collider);

/* The deepest overlap of two polyhedra in the last call, 0 if none overlap. */
double perpi_collider_deepest(const perpi_collider* collider);
/* Overflow: pairs of the last call that have plain rows instead of groups because of too many
 * features. */
int32_t perpi_collider_overflow(const perpi_collider* collider);

/* Pairs of the last call that the broad phase passed to the narrow phase (for its bench). */
size_t perpi_collider_candidates(const perpi_collider* collider);

#endif
