/* src/collide/collider.h - what a collider holds: for collider.c, which creates and sets it, and collide.c, which
 * searches. */
#ifndef PERPI_COLLIDER_H
#define PERPI_COLLIDER_H

#include "collide/broad.h"
#include "collide/collide.h"
#include "collide/polytope/polyhedron.h"
#include "collide/reach.h"

/* A shape without bounds, at its world pose. */
typedef struct endless {
    int32_t shape, body;
    vec3 n;
    double offset;
} endless;

/* Cached answer of the model for a pair of bodies of which one is restricted; the model compares
 * names, which is slow. An entry is overwritten when another pair needs its place: only speed
 * depends on the cache. */
typedef struct answer {
    int32_t a, b; /* a < b; equal: empty */
    bool collides;
} answer;

/* The routine of two types of shapes, looked up once: the list of pairs is long. */
typedef struct routine {
    perpi_pair_fn find;
    bool flipped;
} routine;

/* What the candidates of a pair depend on, beside the poses, and where they are. */
typedef struct pair_record {
    perpi_broad_pair pair;
    const perpi_candidate_rule* rule;
    double reach, patch, turn, turn_most;
    int32_t owner, spins;
    vec3 spin[PERPI_SPINS];
    bool relative;      /* reach may be less than the margins */
    bool turn_bound;    /* turn_most is less than that of the margins */
    bool sided, always; /* the side of the pair is known; side_always */
    vec3 side;
    size_t first, count; /* candidates */
    double deepest;
    int32_t overflow;
    perpi_still_pair* still; /* its memory, or NULL */
    perpi_separation separation;
} pair_record;

struct perpi_collider {
    perp_context* context;
    routine plain[PERP_SHAPE_TYPE_COUNT][PERP_SHAPE_TYPE_COUNT];
    routine grouped[PERP_SHAPE_TYPE_COUNT][PERP_SHAPE_TYPE_COUNT];
    const perp_model* model;
    perpi_broad broad;
    perpi_pose* pose; /* of each shape, world */
    bool* placed;     /* of each shape: it has the frame of its body */
    endless* plane;
    size_t plane_count;
    answer* cache;
    size_t cache_mask;
    size_t candidates;
    const perpi_candidate_rule* rule;
    const perpi_candidate_exception* exception;
    size_t exception_count;
    const perpi_turn* turn; /* per body, or NULL */
    int32_t spins;
    const double* turn_most;          /* per body, or NULL */
    const perpi_body_motion* motion;  /* likewise */
    bool again;                       /* the last call was for the same step */
    const perpi_candidate_side* side; /* of pairs, or NULL */
    size_t side_count;
    bool side_always;
    perpi_candidate_list list;
    perpi_still_pair* still; /* by the hash of the pair's shapes */
    size_t still_count;      /* a power of two, or 0 */
    bool polyhedra;          /* the model has some */
    bool leaves;             /* and one with many faces */
    bool many_vertices;      /* and one with many vertices */
    uint32_t pass;
    /* the last call */
    pair_record *record, *last;
    size_t record_capacity, last_capacity, last_count;
    perpi_candidate* last_item; /* its candidates */
    size_t last_item_capacity;
    perpi_pose* last_pose; /* of each body */
    bool* moved;           /* bodies whose pose has changed since */
    double last_length;
    perpi_candidate_list* lane; /* of other threads */
    perpi_reach* reach;         /* pairs that joints keep apart, or NULL */
};

#endif
