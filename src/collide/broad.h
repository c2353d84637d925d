/* src/collide/broad.h - the broad phase: which bounded shapes' boxes overlap.
 *
 * A tree over the boxes, rebuilt at each call by splitting at the median of the longest side:
 * O(n log n). No state is kept between calls, so the result depends on the boxes alone. The tree is
 * tested against itself, each pair of subtrees once.
 */
#ifndef PERPI_BROAD_H
#define PERPI_BROAD_H

#include "shape/shape.h"

typedef struct perpi_broad_item {
    perpi_bounds bounds;
    int32_t shape, body;
    bool dynamic; /* a pair needs at least one dynamic item */
} perpi_broad_item;

typedef struct perpi_broad_pair {
    int32_t body_a, body_b, shape_a, shape_b; /* body_a < body_b */
} perpi_broad_pair;

typedef struct perpi_broad_node perpi_broad_node;
typedef struct perpi_broad_seed perpi_broad_seed;

typedef struct perpi_broad {
    perp_context* context;
    perpi_broad_item* item; /* the caller fills these */
    size_t item_count, item_capacity;
    perpi_broad_pair* pair;
    size_t pair_count, pair_capacity;
    perpi_broad_node* node;
    size_t node_count, node_capacity;
    perpi_broad_seed* seed;
    size_t seed_capacity;
    perpi_broad_item* placed; /* the items in the order of the leaves */
    size_t placed_capacity;
    perpi_broad_pair* spare; /* for sorting */
    size_t spare_capacity;
    uint32_t* histogram;
    size_t histogram_capacity;
} perpi_broad;

void perpi_broad_free(perpi_broad* broad);

/* Adds to broad->pair every two items of different bodies, one of them dynamic, whose boxes
 * overlap (touching counts). The order is the tree's. */
PERP_NODISCARD perp_status perpi_broad_find(perpi_broad* broad);
/* Appends one pair, in either order of its bodies. */
PERP_NODISCARD perp_status perpi_broad_add(perpi_broad* broad, int32_t body_a, int32_t shape_a,
                                           int32_t body_b, int32_t shape_b);
/* Sorts the pairs by (body_a, body_b, shape_a, shape_b), in linear time. */
PERP_NODISCARD perp_status perpi_broad_sort(perpi_broad* broad, size_t body_count,
                                            size_t shape_count);

#endif
