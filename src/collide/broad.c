/* src/collide/broad.c - see broad.h. */
#include "collide/broad.h"

#include <string.h>

enum {
    LEAF = 4, /* items in a leaf, at most */
    FEW = 12, /* up to this count all pairs are compared directly */
};

/* Placed items first .. first + count - 1. An inner node's children are the next node and `right`. */
struct perpi_broad_node {
    perpi_bounds bounds;
    int32_t first, count;
    int32_t right; /* 0: a leaf */
    bool dynamic;  /* some item is */
};

void perpi_broad_free(perpi_broad* broad)
{
    perpi_free(broad->context, broad->item);
    perpi_free(broad->context, broad->pair);
    perpi_free(broad->context, broad->node);
    perpi_free(broad->context, broad->seed);
    perpi_free(broad->context, broad->placed);
    perpi_free(broad->context, broad->spare);
    perpi_free(broad->context, broad->histogram);
}

static bool boxes_overlap(const perpi_bounds* a, const perpi_bounds* b)
{
    return a->lo.x <= b->hi.x && b->lo.x <= a->hi.x && a->lo.y <= b->hi.y && b->lo.y <= a->hi.y &&
           a->lo.z <= b->hi.z && b->lo.z <= a->hi.z;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static void enclose_boxes(perpi_bounds* a, const perpi_bounds* b)
{
    a->lo = v3(lesser(a->lo.x, b->lo.x), lesser(a->lo.y, b->lo.y), lesser(a->lo.z, b->lo.z));
    a->hi = v3(greater(a->hi.x, b->hi.x), greater(a->hi.y, b->hi.y), greater(a->hi.z, b->hi.z));
}

perp_status perpi_broad_add(perpi_broad* broad, int32_t body_a, int32_t shape_a, int32_t body_b,
                            int32_t shape_b)
{
    const perp_status status = perpi_grow(broad->context, &broad->pair, &broad->pair_capacity,
                                          broad->pair_count + 1, sizeof *broad->pair);
    if (status != PERP_OK) {
        return status;
    }
    broad->pair[broad->pair_count++] = body_a < body_b
                                           ? (perpi_broad_pair){body_a, body_b, shape_a, shape_b}
                                           : (perpi_broad_pair){body_b, body_a, shape_b, shape_a};
    return PERP_OK;
}

static perp_status compare_directly(perpi_broad* broad, const perpi_broad_item* a,
                                    const perpi_broad_item* b)
{
    if (a->body == b->body || !(a->dynamic || b->dynamic) ||
        !boxes_overlap(&a->bounds, &b->bounds)) {
        return PERP_OK;
    }
    return perpi_broad_add(broad, a->body, a->shape, b->body, b->shape);
}

/* ---- the tree ---------------------------------------------------------------------------------- */

/* What the splitting reads, kept small because it is moved about log n times. */
struct perpi_broad_seed {
    double x[3]; /* twice the middle of the item's box */
    int32_t item;
};

/* A strict order: ties between equal middles are broken by the item index. */
static bool seed_before(const perpi_broad_seed* a, const perpi_broad_seed* b, int axis)
{
    return a->x[axis] < b->x[axis] || (a->x[axis] == b->x[axis] && a->item < b->item);
}

static void swap_seeds(perpi_broad_seed* a, perpi_broad_seed* b)
{
    const perpi_broad_seed t = *a;
    *a = *b;
    *b = t;
}

/* Hoare's selection with the median of three as pivot: afterwards seed k is where sorting would put
 * it, with smaller ones before it. */
static void select_seed(perpi_broad_seed* seed, ptrdiff_t count, ptrdiff_t k, int axis)
{
    ptrdiff_t lo = 0, hi = count - 1;
    while (lo < hi) {
        const ptrdiff_t mid = lo + (hi - lo) / 2;
        if (seed_before(&seed[mid], &seed[lo], axis)) {
            swap_seeds(&seed[mid], &seed[lo]);
        }
        if (seed_before(&seed[hi], &seed[lo], axis)) {
            swap_seeds(&seed[hi], &seed[lo]);
        }
        if (seed_before(&seed[hi], &seed[mid], axis)) {
            swap_seeds(&seed[hi], &seed[mid]);
        }
        const perpi_broad_seed pivot = seed[mid];
        ptrdiff_t i = lo, j = hi;
        while (i <= j) {
            while (seed_before(&seed[i], &pivot, axis)) {
                ++i;
            }
            while (seed_before(&pivot, &seed[j], axis)) {
                --j;
            }
            if (i <= j) {
                swap_seeds(&seed[i++], &seed[j--]);
            }
        }
        if (k <= j) {
            hi = j;
        } else if (k >= i) {
            lo = i;
        } else {
            return;
        }
    }
}

/* The axis of largest spread of the middles. */
static int widest_axis(const perpi_broad_seed* seed, int32_t count)
{
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < count; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            lo[axis] = lesser(lo[axis], seed[i].x[axis]);
            hi[axis] = greater(hi[axis], seed[i].x[axis]);
        }
    }
    const double x = hi[0] - lo[0], y = hi[1] - lo[1], z = hi[2] - lo[2];
    return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

/* Builds the subtree of `count` seeds; its root is the next free node. Boxes are merged on the way
 * back. Depth: log2(n / LEAF). */
static int32_t build_subtree(perpi_broad* broad, int32_t first, int32_t count)
{
    const int32_t self = (int32_t)broad->node_count++;
    perpi_broad_node node = {.first = first, .count = count};
    perpi_broad_seed* seed = broad->seed + first;
    if (count > LEAF) {
        const int32_t half = count / 2;
        select_seed(seed, count, half, widest_axis(seed, count));
        const perpi_broad_node* left = &broad->node[build_subtree(broad, first, half)];
        node.right = build_subtree(broad, first + half, count - half);
        node.bounds = left->bounds;
        enclose_boxes(&node.bounds, &broad->node[node.right].bounds);
        node.dynamic = left->dynamic || broad->node[node.right].dynamic;
    } else {
        node.bounds = broad->item[seed[0].item].bounds;
        for (int32_t i = 0; i < count; ++i) {
            const perpi_broad_item* item = &broad->item[seed[i].item];
            broad->placed[first + i] = *item;
            enclose_boxes(&node.bounds, &item->bounds);
            node.dynamic = node.dynamic || item->dynamic;
        }
    }
    broad->node[self] = node;
    return self;
}

static perp_status pair_subtrees(perpi_broad* broad, int32_t a, int32_t b)
{
    const perpi_broad_node* A = &broad->node[a];
    const perpi_broad_node* B = &broad->node[b];
    if (!(A->dynamic || B->dynamic) || !boxes_overlap(&A->bounds, &B->bounds)) {
        return PERP_OK;
    }
    perp_status status = PERP_OK;
    if (A->right == 0 && B->right == 0) {
        for (int32_t i = A->first; i < A->first + A->count && status == PERP_OK; ++i) {
            for (int32_t k = B->first; k < B->first + B->count && status == PERP_OK; ++k) {
                status = compare_directly(broad, &broad->placed[i], &broad->placed[k]);
            }
        }
        return status;
    }
    /* descend into the node with more items */
    if (B->right == 0 || (A->right != 0 && A->count >= B->count)) {
        const int32_t right = A->right;
        status = pair_subtrees(broad, a + 1, b);
        return status != PERP_OK ? status : pair_subtrees(broad, right, b);
    }
    const int32_t right = B->right;
    status = pair_subtrees(broad, a, b + 1);
    return status != PERP_OK ? status : pair_subtrees(broad, a, right);
}

static perp_status pair_subtree_with_itself(perpi_broad* broad, int32_t a)
{
    const perpi_broad_node* A = &broad->node[a];
    perp_status status = PERP_OK;
    if (!A->dynamic) {
        return PERP_OK;
    }
    if (A->right == 0) {
        for (int32_t i = A->first; i < A->first + A->count && status == PERP_OK; ++i) {
            for (int32_t k = i + 1; k < A->first + A->count && status == PERP_OK; ++k) {
                status = compare_directly(broad, &broad->placed[i], &broad->placed[k]);
            }
        }
        return status;
    }
    status = pair_subtree_with_itself(broad, a + 1);
    if (status == PERP_OK) {
        status = pair_subtree_with_itself(broad, A->right);
    }
    return status != PERP_OK ? status : pair_subtrees(broad, a + 1, A->right);
}

perp_status perpi_broad_find(perpi_broad* broad)
{
    const size_t n = broad->item_count;
    perp_status status = PERP_OK;
    if (n <= FEW) {
        for (size_t i = 0; i < n && status == PERP_OK; ++i) {
            for (size_t k = i + 1; k < n && status == PERP_OK; ++k) {
                status = compare_directly(broad, &broad->item[i], &broad->item[k]);
            }
        }
        return status;
    }
    status =
        perpi_grow(broad->context, &broad->node, &broad->node_capacity, n, sizeof *broad->node);
    if (status == PERP_OK) {
        status =
            perpi_grow(broad->context, &broad->seed, &broad->seed_capacity, n, sizeof *broad->seed);
    }
    if (status == PERP_OK) {
        status = perpi_grow(broad->context, &broad->placed, &broad->placed_capacity, n,
                            sizeof *broad->placed);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        v3_to(v3_add(broad->item[i].bounds.lo, broad->item[i].bounds.hi), broad->seed[i].x);
        broad->seed[i].item = (int32_t)i;
    }
    broad->node_count = 0;
    (void)build_subtree(broad, 0, (int32_t)n);
    return pair_subtree_with_itself(broad, 0);
}

/* ---- sorting ------------------------------------------------------------------------------------ */

enum { KEY_SHAPE_B, KEY_SHAPE_A, KEY_BODY_B, KEY_BODY_A };

static int32_t key_of(const perpi_broad_pair* pair, int key)
{
    switch (key) {
    case KEY_SHAPE_B: return pair->shape_b;
    case KEY_SHAPE_A: return pair->shape_a;
    case KEY_BODY_B: return pair->body_b;
    default: return pair->body_a;
    }
}

/* One stable counting pass from pair to spare; the two buffers are then swapped. */
static void counting_pass(perpi_broad* broad, int key, size_t range)
{
    uint32_t* start = broad->histogram;
    memset(start, 0, (range + 1) * sizeof *start);
    for (size_t i = 0; i < broad->pair_count; ++i) {
        ++start[key_of(&broad->pair[i], key) + 1];
    }
    for (size_t i = 0; i < range; ++i) {
        start[i + 1] += start[i];
    }
    for (size_t i = 0; i < broad->pair_count; ++i) {
        broad->spare[start[key_of(&broad->pair[i], key)]++] = broad->pair[i];
    }
    perpi_broad_pair* t = broad->pair;
    broad->pair = broad->spare;
    broad->spare = t;
    const size_t c = broad->pair_capacity;
    broad->pair_capacity = broad->spare_capacity;
    broad->spare_capacity = c;
}

perp_status perpi_broad_sort(perpi_broad* broad, size_t body_count, size_t shape_count)
{
    if (broad->pair_count < 2) {
        return PERP_OK;
    }
    /* Both buffers have one capacity: they are swapped, and a warm call must not grow either. */
    perp_status status = perpi_grow(broad->context, &broad->spare, &broad->spare_capacity,
                                    broad->pair_capacity, sizeof *broad->spare);
    if (status == PERP_OK) {
        const size_t range = body_count > shape_count ? body_count : shape_count;
        status = perpi_grow(broad->context, &broad->histogram, &broad->histogram_capacity,
                            range + 1, sizeof *broad->histogram);
    }
    if (status != PERP_OK) {
        return status;
    }
    counting_pass(broad, KEY_SHAPE_B, shape_count);
    counting_pass(broad, KEY_SHAPE_A, shape_count);
    counting_pass(broad, KEY_BODY_B, body_count);
    counting_pass(broad, KEY_BODY_A, body_count);
    return PERP_OK;
}
