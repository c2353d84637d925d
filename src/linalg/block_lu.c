/* src/linalg/block_lu.c - see block_lu.h.
 *
 * Layout     node k (in elimination order, n_k rows) has a list s(k) of later nodes it meets. With m_k
 *            their rows together: D_k is n_k x n_k, U_k is n_k x m_k, L_k is m_k x n_k, row-major.
 * Method     right-looking: factor D_k, U_k <- D_k^-1 U_k, then subtract L_k U_k from the blocks of the
 *            later nodes. For a < b in s(k), b is in s(a): one traversal of s(k) and s(a) locates
 *            all (a, b) and (b, a).
 */
#include "linalg/block_lu.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "linalg/dense.h"
#include "linalg/fronts.h"
#include "linalg/wide.h"

enum {
    NODE_ROWS_MAX = 48, /* nodes grow no larger by merging */
    MANY_NODES = 64,    /* from here on the tree of fronts is faster */
    CLEAR = 100000,     /* numbers for a thread to gain */
};

typedef struct ints {
    int32_t* at;
    size_t capacity;
} ints;

typedef struct sizes {
    size_t* at;
    size_t capacity;
} sizes;

struct perpi_block_lu {
    perp_context* context;
    /* the pattern analysed last */
    int32_t groups, blocks;
    bool ready;
    ints size, start, column;
    /* nodes in elimination order */
    int32_t nodes, rows;
    ints node_of, place;    /* groups: their node, their first row inside it */
    ints row;               /* groups: their first row in the caller's order */
    ints n, m;              /* nodes: rows, rows of the later nodes it meets */
    ints first;             /* nodes + 1: first row in elimination order */
    ints s_start, s, s_row; /* nodes + 1; entries: node, its first row within L_k */
    sizes D, L, U;          /* nodes: offsets into value */
    sizes dest;             /* blocks */
    ints stride;            /* blocks */
    ints pivot;             /* rows */
    double* value;
    size_t value_capacity, value_count;
    double* x; /* rows */
    size_t x_capacity;
    bool large; /* factored on the tree of fronts, which then owns order and places */
    perpi_fronts fronts;
    /* scratch of the analysis */
    ints pool, list_at, list_len, list_cap, next, prev, head, degree, merged, mark, scratch;
};

perp_status perpi_block_lu_create(perp_context* context, perpi_block_lu** lu)
{
    perpi_block_lu* f = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *f, &f);
    if (status == PERP_OK) {
        f->context = f->fronts.context = context;
        *lu = f;
    }
    return status;
}

void perpi_block_lu_destroy(perpi_block_lu* f)
{
    if (f == NULL) {
        return;
    }
    ints* const all[] = {&f->size,    &f->start,    &f->column,   &f->node_of, &f->place,
                         &f->row,     &f->n,        &f->m,        &f->first,   &f->s_start,
                         &f->s,       &f->s_row,    &f->stride,   &f->pivot,   &f->pool,
                         &f->list_at, &f->list_len, &f->list_cap, &f->next,    &f->prev,
                         &f->head,    &f->degree,   &f->merged,   &f->mark,    &f->scratch};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        perpi_free(f->context, all[i]->at);
    }
    perpi_fronts_free(&f->fronts);
    perpi_free(f->context, f->D.at);
    perpi_free(f->context, f->L.at);
    perpi_free(f->context, f->U.at);
    perpi_free(f->context, f->dest.at);
    perpi_free(f->context, f->value);
    perpi_free(f->context, f->x);
    perpi_free(f->context, f);
}

static perp_status grow_ints(perpi_block_lu* f, ints* a, size_t count)
{
    return perpi_grow(f->context, &a->at, &a->capacity, count, sizeof *a->at);
}

static perp_status need_all(perpi_block_lu* f, ints* const* list, size_t lists, size_t count)
{
    for (size_t i = 0; i < lists; ++i) {
        const perp_status status = grow_ints(f, list[i], count);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* ---- analysis ----------------------------------------------------------------------------------------*/

static bool same_pattern(const perpi_block_lu* f, int32_t groups, const int32_t* size,
                         const int32_t* start, const int32_t* column)
{
    return f->ready && f->groups == groups && f->blocks == start[groups] &&
           memcmp(f->size.at, size, (size_t)groups * sizeof *size) == 0 &&
           memcmp(f->start.at, start, ((size_t)groups + 1) * sizeof *start) == 0 &&
           memcmp(f->column.at, column, (size_t)start[groups] * sizeof *column) == 0;
}

static void sort_ascending(int32_t* a, int32_t n)
{
    if (n > 64) { /* heap sort: no recursion, no worst case */
        for (int32_t end = n, root = n / 2; end > 1;) {
            int32_t value;
            if (root > 0) {
                value = a[--root];
            } else {
                value = a[--end];
                a[end] = a[0];
            }
            int32_t i = root, child = 2 * i + 1;
            while (child < end) {
                child += child + 1 < end && a[child + 1] > a[child];
                if (a[child] <= value) {
                    break;
                }
                a[i] = a[child];
                i = child;
                child = 2 * i + 1;
            }
            a[i] = value;
        }
        return;
    }
    for (int32_t i = 1; i < n; ++i) {
        const int32_t t = a[i];
        int32_t j = i;
        for (; j > 0 && a[j - 1] > t; --j) {
            a[j] = a[j - 1];
        }
        a[j] = t;
    }
}

/* Neighbour lists of the groups (both (i, j) and (j, i) count, no diagonal), ascending, in pool. */
static perp_status list_neighbours(perpi_block_lu* f)
{
    const int32_t g = f->groups;
    perp_status status = grow_ints(f, &f->pool, 4 * (size_t)f->blocks + 16);
    if (status != PERP_OK) {
        return status;
    }
    memset(f->list_len.at, 0, (size_t)g * sizeof(int32_t));
    for (int32_t i = 0; i < g; ++i) {
        for (int32_t k = f->start.at[i]; k < f->start.at[i + 1]; ++k) {
            if (f->column.at[k] != i) {
                ++f->list_len.at[i];
                ++f->list_len.at[f->column.at[k]];
            }
        }
    }
    int32_t at = 0;
    for (int32_t i = 0; i < g; ++i) {
        f->list_at.at[i] = at;
        f->list_cap.at[i] = f->list_len.at[i];
        at += f->list_len.at[i];
        f->list_len.at[i] = 0;
    }
    for (int32_t i = 0; i < g; ++i) {
        for (int32_t k = f->start.at[i]; k < f->start.at[i + 1]; ++k) {
            const int32_t j = f->column.at[k];
            if (j != i) {
                f->pool.at[f->list_at.at[i] + f->list_len.at[i]++] = j;
                f->pool.at[f->list_at.at[j] + f->list_len.at[j]++] = i;
            }
        }
    }
    for (int32_t i = 0; i < g; ++i) {
        int32_t* a = f->pool.at + f->list_at.at[i];
        sort_ascending(a, f->list_len.at[i]);
        int32_t kept = 0;
        for (int32_t k = 0; k < f->list_len.at[i]; ++k) {
            if (kept == 0 || a[kept - 1] != a[k]) {
                a[kept++] = a[k];
            }
        }
        f->list_len.at[i] = kept;
    }
    return PERP_OK;
}

/* Do i < j, neighbours of each other, have the same neighbours apart from themselves? */
static bool have_same_neighbours(const perpi_block_lu* f, int32_t i, int32_t j)
{
    const int32_t* a = f->pool.at + f->list_at.at[i];
    const int32_t* b = f->pool.at + f->list_at.at[j];
    const int32_t n = f->list_len.at[i];
    if (n != f->list_len.at[j]) {
        return false;
    }
    int32_t x = 0, y = 0;
    for (;;) {
        x += x < n && a[x] == j;
        y += y < n && b[y] == i;
        if (x >= n || y >= n) {
            return x >= n && y >= n;
        }
        if (a[x++] != b[y++]) {
            return false;
        }
    }
}

/* merged[i]: the first group of i's node; degree[first] gathers the node's rows. */
static void merge_alike(perpi_block_lu* f)
{
    for (int32_t i = 0; i < f->groups; ++i) {
        f->merged.at[i] = -1;
    }
    for (int32_t i = 0; i < f->groups; ++i) {
        if (f->merged.at[i] >= 0) {
            continue;
        }
        f->merged.at[i] = i;
        int32_t rows = f->size.at[i];
        const int32_t* a = f->pool.at + f->list_at.at[i];
        for (int32_t k = 0; k < f->list_len.at[i]; ++k) {
            const int32_t j = a[k];
            if (j > i && f->merged.at[j] < 0 && rows + f->size.at[j] <= NODE_ROWS_MAX &&
                have_same_neighbours(f, i, j)) {
                f->merged.at[j] = i;
                rows += f->size.at[j];
            }
        }
        f->n.at[i] = rows; /* by first group, for the time being */
    }
    /* lists of the nodes: first groups only */
    for (int32_t i = 0; i < f->groups; ++i) {
        if (f->merged.at[i] != i) {
            continue;
        }
        int32_t* a = f->pool.at + f->list_at.at[i];
        int32_t kept = 0;
        for (int32_t k = 0; k < f->list_len.at[i]; ++k) {
            const int32_t j = f->merged.at[a[k]];
            if (j == a[k] && j != i) {
                a[kept++] = j;
            }
        }
        f->list_len.at[i] = kept;
    }
}

static void bucket_remove(perpi_block_lu* f, int32_t i)
{
    const int32_t p = f->prev.at[i], q = f->next.at[i];
    if (p >= 0) {
        f->next.at[p] = q;
    } else {
        f->head.at[f->degree.at[i]] = q;
    }
    if (q >= 0) {
        f->prev.at[q] = p;
    }
}

static void bucket_insert(perpi_block_lu* f, int32_t i)
{
    int32_t degree = 0;
    const int32_t* a = f->pool.at + f->list_at.at[i];
    for (int32_t k = 0; k < f->list_len.at[i]; ++k) {
        degree += f->n.at[a[k]];
    }
    f->degree.at[i] = degree;
    const int32_t q = f->head.at[degree];
    f->head.at[degree] = i;
    f->prev.at[i] = -1;
    f->next.at[i] = q;
    if (q >= 0) {
        f->prev.at[q] = i;
    }
}

/* list(w) <- list(w) and list(v), without v and w. */
static perp_status merge_neighbours(perpi_block_lu* f, int32_t v, int32_t w, size_t* used)
{
    const int32_t *a = f->pool.at + f->list_at.at[w], *b = f->pool.at + f->list_at.at[v];
    const int32_t na = f->list_len.at[w], nb = f->list_len.at[v];
    int32_t* out = f->scratch.at;
    int32_t n = 0, x = 0, y = 0;
    while (x < na || y < nb) {
        int32_t t;
        if (y >= nb || (x < na && a[x] < b[y])) {
            t = a[x++];
        } else {
            t = b[y];
            x += x < na && a[x] == t;
            ++y;
        }
        if (t != v && t != w) {
            out[n++] = t;
        }
    }
    if (n > f->list_cap.at[w]) {
        const size_t room = 2 * (size_t)n;
        const perp_status status = grow_ints(f, &f->pool, *used + room);
        if (status != PERP_OK) {
            return status;
        }
        f->list_at.at[w] = (int32_t)*used;
        f->list_cap.at[w] = (int32_t)room;
        *used += room;
        if (*used > INT32_MAX / 2) {
            return perpi_fail(f->context, PERP_ERROR_MEMORY, "a factorisation fills in too much");
        }
    }
    memcpy(f->pool.at + f->list_at.at[w], out, (size_t)n * sizeof *out);
    f->list_len.at[w] = n;
    return PERP_OK;
}

/* Eliminates the nodes; mark[i] becomes the position of the node whose first group is i. */
static perp_status order_nodes(perpi_block_lu* f)
{
    const int32_t g = f->groups;
    int32_t nodes = 0, left = 0, rows = 0;
    size_t used = 0;
    for (int32_t i = 0; i < g; ++i) {
        rows += f->size.at[i];
        left += f->merged.at[i] == i;
        const size_t end = (size_t)f->list_at.at[i] + (size_t)f->list_cap.at[i];
        used = end > used ? end : used;
    }
    perp_status status = grow_ints(f, &f->head, (size_t)rows + 1);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t d = 0; d <= rows; ++d) {
        f->head.at[d] = -1;
    }
    for (int32_t i = g - 1; i >= 0; --i) {
        f->mark.at[i] = -1;
        if (f->merged.at[i] == i) {
            bucket_insert(f, i);
        }
    }
    int32_t least = 0;
    while (left > 0) {
        while (f->head.at[least] < 0) {
            ++least;
        }
        const int32_t v = f->head.at[least];
        bucket_remove(f, v);
        f->mark.at[v] = nodes++;
        --left;
        for (int32_t k = 0; k < f->list_len.at[v]; ++k) { /* v's list itself stays where it is */
            const int32_t w = f->pool.at[f->list_at.at[v] + k];
            bucket_remove(f, w);
            status = merge_neighbours(f, v, w, &used);
            if (status != PERP_OK) {
                return status;
            }
            bucket_insert(f, w);
            least = f->degree.at[w] < least ? f->degree.at[w] : least;
        }
    }
    f->nodes = nodes;
    f->rows = rows;
    return PERP_OK;
}

/* From the eliminated lists to the arrays of the factors. */
static perp_status lay_out_factors(perpi_block_lu* f)
{
    const int32_t g = f->groups;
    const size_t nodes = (size_t)f->nodes;
    size_t entries = 0;
    for (int32_t i = 0; i < g; ++i) {
        entries += f->merged.at[i] == i ? (size_t)f->list_len.at[i] : 0;
    }
    ints* const per_node[] = {&f->first, &f->s_start};
    perp_status status = need_all(f, per_node, 2, nodes + 1);
    ints* const per_entry[] = {&f->s, &f->s_row};
    if (status == PERP_OK) {
        status = need_all(f, per_entry, 2, entries + 1);
    }
    if (status == PERP_OK) {
        status = grow_ints(f, &f->m, nodes + 1);
    }
    if (status == PERP_OK) {
        status = grow_ints(f, &f->pivot, (size_t)f->rows + 1);
    }
    sizes* const offset[] = {&f->D, &f->L, &f->U};
    for (int i = 0; i < 3 && status == PERP_OK; ++i) {
        status =
            perpi_grow(f->context, &offset[i]->at, &offset[i]->capacity, nodes + 1, sizeof(size_t));
    }
    if (status == PERP_OK) {
        status = perpi_grow(f->context, &f->x, &f->x_capacity, (size_t)f->rows + 1, sizeof *f->x);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* node sizes move from first groups to positions; degree stores the inverse map */
    for (int32_t i = 0; i < g; ++i) {
        if (f->merged.at[i] == i) {
            f->degree.at[f->mark.at[i]] = i;
        }
    }
    for (int32_t k = 0; k < f->nodes; ++k) {
        f->scratch.at[k] = f->n.at[f->degree.at[k]];
    }
    memcpy(f->n.at, f->scratch.at, nodes * sizeof(int32_t));
    int32_t at = 0, first = 0;
    size_t value = 0;
    for (int32_t k = 0; k < f->nodes; ++k) {
        const int32_t i = f->degree.at[k];
        const int32_t* a = f->pool.at + f->list_at.at[i];
        f->s_start.at[k] = at;
        f->first.at[k] = first;
        first += f->n.at[k];
        for (int32_t e = 0; e < f->list_len.at[i]; ++e) {
            f->s.at[at + e] = f->mark.at[a[e]];
        }
        sort_ascending(f->s.at + at, f->list_len.at[i]);
        int32_t m = 0;
        for (int32_t e = 0; e < f->list_len.at[i]; ++e) {
            f->s_row.at[at + e] = m;
            m += f->n.at[f->s.at[at + e]];
        }
        at += f->list_len.at[i];
        f->m.at[k] = m;
        const size_t n = (size_t)f->n.at[k];
        f->D.at[k] = value;
        f->U.at[k] = value + n * n;
        f->L.at[k] = value + n * n + n * (size_t)m;
        value += n * n + 2 * n * (size_t)m;
    }
    f->s_start.at[f->nodes] = at;
    f->first.at[f->nodes] = first;
    f->value_count = value;
    return PERP_OK;
}

/* The same for the tree of fronts, where it is used; then room for the values. */
static perp_status lay_out_values(perpi_block_lu* f)
{
    perp_status status = PERP_OK;
    f->large = f->nodes >= MANY_NODES;
    if (f->large) {
        status = perpi_fronts_analyse(&f->fronts, f->nodes, f->n.at, f->s_start.at, f->s.at);
        f->value_count = f->fronts.value_count;
        for (int32_t k = 0; status == PERP_OK && k < f->nodes; ++k) {
            f->first.at[k] = perpi_fronts_row(&f->fronts, k);
        }
    }
    return status == PERP_OK ? perpi_grow(f->context, &f->value, &f->value_capacity, f->value_count,
                                          sizeof *f->value)
                             : status;
}

/* The first row, within L_a, of the later node b. */
static int32_t find_row(const perpi_block_lu* f, int32_t a, int32_t b)
{
    int32_t low = f->s_start.at[a], high = f->s_start.at[a + 1] - 1;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        if (f->s.at[mid] < b) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    PERP_ASSERT(low < f->s_start.at[a + 1] && f->s.at[low] == b);
    return f->s_row.at[low];
}

/* Where the caller's blocks go. */
static perp_status place_blocks(perpi_block_lu* f)
{
    perp_status status =
        perpi_grow(f->context, &f->dest.at, &f->dest.capacity, (size_t)f->blocks, sizeof(size_t));
    if (status == PERP_OK) {
        status = grow_ints(f, &f->stride, (size_t)f->blocks);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t k = 0; k < f->nodes; ++k) {
        f->scratch.at[k] = 0; /* rows placed so far */
    }
    int32_t row = 0;
    for (int32_t i = 0; i < f->groups; ++i) {
        const int32_t k = f->mark.at[f->merged.at[i]];
        f->node_of.at[i] = k;
        f->place.at[i] = f->scratch.at[k];
        f->scratch.at[k] += f->size.at[i];
        f->row.at[i] = row;
        row += f->size.at[i];
    }
    for (int32_t i = 0; i < f->groups; ++i) {
        const int32_t a = f->node_of.at[i];
        for (int32_t e = f->start.at[i]; e < f->start.at[i + 1]; ++e) {
            const int32_t j = f->column.at[e], b = f->node_of.at[j];
            size_t at, ld;
            if (f->large) {
                f->dest.at[e] = perpi_fronts_place(&f->fronts, a, f->place.at[i], b, f->place.at[j],
                                                   &f->stride.at[e]);
                continue;
            }
            if (a == b) {
                ld = (size_t)f->n.at[a];
                at = f->D.at[a] + (size_t)f->place.at[i] * ld + (size_t)f->place.at[j];
            } else if (a < b) { /* U_a */
                ld = (size_t)f->m.at[a];
                at = f->U.at[a] + (size_t)f->place.at[i] * ld +
                     (size_t)(find_row(f, a, b) + f->place.at[j]);
            } else { /* L_b */
                ld = (size_t)f->n.at[b];
                at = f->L.at[b] + (size_t)(find_row(f, b, a) + f->place.at[i]) * ld +
                     (size_t)f->place.at[j];
            }
            f->dest.at[e] = at;
            f->stride.at[e] = (int32_t)ld;
        }
    }
    return PERP_OK;
}

perp_status perpi_block_lu_analyse(perpi_block_lu* f, int32_t groups, const int32_t* size,
                                   const int32_t* start, const int32_t* column)
{
    if (same_pattern(f, groups, size, start, column)) {
        return PERP_OK;
    }
    f->ready = false;
    const size_t g = (size_t)groups, blocks = (size_t)start[groups];
    ints* const per_group[] = {&f->size,     &f->node_of,  &f->place,   &f->row,  &f->list_at,
                               &f->list_len, &f->list_cap, &f->next,    &f->prev, &f->degree,
                               &f->merged,   &f->mark,     &f->scratch, &f->n};
    perp_status status = need_all(f, per_group, sizeof per_group / sizeof per_group[0], g + 1);
    if (status == PERP_OK) {
        status = grow_ints(f, &f->start, g + 1);
    }
    if (status == PERP_OK) {
        status = grow_ints(f, &f->column, blocks);
    }
    if (status != PERP_OK) {
        return status;
    }
    f->groups = groups;
    f->blocks = start[groups];
    memcpy(f->size.at, size, g * sizeof *size);
    memcpy(f->start.at, start, (g + 1) * sizeof *start);
    memcpy(f->column.at, column, blocks * sizeof *column);
    status = list_neighbours(f);
    if (status == PERP_OK) {
        merge_alike(f);
        status = order_nodes(f);
    }
    if (status == PERP_OK) {
        status = lay_out_factors(f);
    }
    if (status == PERP_OK) {
        status = lay_out_values(f);
    }
    if (status == PERP_OK) {
        status = place_blocks(f);
    }
    f->ready = status == PERP_OK;
    return status;
}

/* ---- numbers -----------------------------------------------------------------------------------------*/

/* Parts of CLEAR numbers. */
static void clear_part(int32_t begin, int32_t end, void* data)
{
    const perpi_block_lu* f = data;
    const size_t from = (size_t)begin * CLEAR, to = (size_t)end * CLEAR;
    memset(f->value + from, 0,
           ((to < f->value_count ? to : f->value_count) - from) * sizeof *f->value);
}

void perpi_block_lu_clear(perpi_block_lu* f)
{
    if (f->value_count < 2 * CLEAR) {
        memset(f->value, 0, f->value_count * sizeof *f->value);
        return;
    }
    perpi_for_parts(f->context, (int32_t)((f->value_count + CLEAR - 1) / CLEAR), 1, clear_part, f);
}

double* perpi_block_lu_block(perpi_block_lu* f, int32_t k, int32_t* stride)
{
    *stride = f->stride.at[k];
    return f->value + f->dest.at[k];
}

size_t perpi_block_lu_fill(const perpi_block_lu* f)
{
    return f->value_count;
}

/* y -= a x */
static inline void subtract(int32_t n, double a, const double* restrict x, double* restrict y)
{
    for (int32_t i = 0; i < n; ++i) {
        y[i] -= a * x[i];
    }
}

/* c (n) -= a (4) B (4 x n), the four products added in pairs */
#define FOUR(c, j) (c) -= (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j])

/* C (m x n, ldc) -= A (m x k, lda) B (k x n, ldb). Every entry of C takes its k products in the same order
 * whatever the blocking and the width of the registers, so the bits depend on neither. */
PERPI_WIDE static void subtract_product(int32_t m, int32_t n, int32_t k, const double* restrict A,
                                        size_t lda, const double* restrict B, size_t ldb,
                                        double* restrict C, size_t ldc)
{
    for (int32_t i = 0; i < m; ++i) {
        const double* restrict a = A + (size_t)i * lda;
        double* restrict c = C + (size_t)i * ldc;
        int32_t p = 0;
        for (; p + 6 == k; p += 6) { /* a body's six in one pass */
            const double a0 = a[p], a1 = a[p + 1], a2 = a[p + 2], a3 = a[p + 3];
            const double a4 = a[p + 4], a5 = a[p + 5];
            const double* restrict b0 = B + (size_t)p * ldb;
            const double* restrict b1 = b0 + ldb;
            const double* restrict b2 = b1 + ldb;
            const double* restrict b3 = b2 + ldb;
            const double* restrict b4 = b3 + ldb;
            const double* restrict b5 = b4 + ldb;
            for (int32_t j = 0; j < n; ++j) {
                double t = c[j];
                FOUR(t, j);
                t -= a4 * b4[j];
                t -= a5 * b5[j];
                c[j] = t;
            }
        }
        for (; p + 4 <= k; p += 4) {
            const double a0 = a[p], a1 = a[p + 1], a2 = a[p + 2], a3 = a[p + 3];
            const double* restrict b0 = B + (size_t)p * ldb;
            const double* restrict b1 = b0 + ldb;
            const double* restrict b2 = b1 + ldb;
            const double* restrict b3 = b2 + ldb;
            for (int32_t j = 0; j < n; ++j) {
                FOUR(c[j], j);
            }
        }
        for (; p < k; ++p) {
            subtract(n, a[p], B + (size_t)p * ldb, c);
        }
    }
}

/* U (n x m) <- D^-1 U */
PERPI_WIDE static void solve_rows(int32_t n, const double* D, const int32_t* pivot, int32_t m,
                                  double* U)
{
    const size_t ld = (size_t)m;
    for (int32_t i = 0; i < n; ++i) {
        if (pivot[i] != i) {
            double* restrict a = U + (size_t)i * ld;
            double* restrict b = U + (size_t)pivot[i] * ld;
            for (int32_t j = 0; j < m; ++j) {
                const double t = a[j];
                a[j] = b[j];
                b[j] = t;
            }
        }
    }
    for (int32_t i = 1; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            const double l = D[(size_t)i * (size_t)n + (size_t)j];
            if (l != 0.0) {
                subtract(m, l, U + (size_t)j * ld, U + (size_t)i * ld);
            }
        }
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* D_i = D + (size_t)i * (size_t)n;
        double* restrict U_i = U + (size_t)i * ld;
        for (int32_t j = i + 1; j < n; ++j) {
            if (D_i[j] != 0.0) {
                subtract(m, D_i[j], U + (size_t)j * ld, U_i);
            }
        }
        const double inverse = 1.0 / D_i[i];
        for (int32_t j = 0; j < m; ++j) {
            U_i[j] *= inverse;
        }
    }
}

bool perpi_block_lu_factor(perpi_block_lu* f)
{
    if (f->large) {
        return perpi_fronts_factor(&f->fronts, f->value);
    }
    for (int32_t k = 0; k < f->nodes; ++k) {
        const int32_t n = f->n.at[k], m = f->m.at[k];
        double* D = f->value + f->D.at[k];
        double* U = f->value + f->U.at[k];
        double* L = f->value + f->L.at[k];
        int32_t* pivot = f->pivot.at + f->first.at[k];
        if (!perpi_lu_factor(n, D, pivot, NULL)) {
            return false;
        }
        if (m == 0) {
            continue;
        }
        solve_rows(n, D, pivot, m, U);
        const int32_t from = f->s_start.at[k], to = f->s_start.at[k + 1];
        for (int32_t e = from; e < to; ++e) {
            const int32_t a = f->s.at[e], na = f->n.at[a], ra = f->s_row.at[e];
            const double* L_a = L + (size_t)ra * (size_t)n;
            const double* U_a = U + ra;
            subtract_product(na, na, n, L_a, (size_t)n, U_a, (size_t)m, f->value + f->D.at[a],
                             (size_t)na);
            const size_t ma = (size_t)f->m.at[a];
            int32_t walk = f->s_start.at[a];
            for (int32_t d = e + 1; d < to;) {
                const int32_t b = f->s.at[d];
                while (f->s.at[walk] != b) {
                    ++walk;
                }
                /* neighbours in s(k) that are neighbours in s(a) too are taken in one go */
                const int32_t rb = f->s_row.at[d], place = f->s_row.at[walk];
                int32_t nb = f->n.at[b];
                ++d;
                ++walk;
                while (d < to && walk < f->s_start.at[a + 1] && f->s.at[d] == f->s.at[walk]) {
                    nb += f->n.at[f->s.at[d]];
                    ++d;
                    ++walk;
                }
                subtract_product(na, nb, n, L_a, (size_t)n, U + rb, (size_t)m,
                                 f->value + f->U.at[a] + place, ma);
                subtract_product(nb, na, n, L + (size_t)rb * (size_t)n, (size_t)n, U_a, (size_t)m,
                                 f->value + f->L.at[a] + (size_t)place * (size_t)na, (size_t)na);
            }
        }
    }
    return true;
}

/* y <- x; mostly the six of a body, or the three of one in the plane */
static inline void copy_few(int32_t n, const double* restrict x, double* restrict y)
{
    if (n == 6) {
        memcpy(y, x, 6 * sizeof *y);
        return;
    }
    if (n == 3) {
        memcpy(y, x, 3 * sizeof *y);
        return;
    }
    for (int32_t i = 0; i < n; ++i) {
        y[i] = x[i];
    }
}

/* The solution in the caller's order. */
static void put_back(const perpi_block_lu* f, double* x)
{
    for (int32_t i = 0; i < f->groups; ++i) {
        copy_few(f->size.at[i], f->x + f->first.at[f->node_of.at[i]] + f->place.at[i],
                 x + f->row.at[i]);
    }
}

int perpi_block_lu_sign(const perpi_block_lu* f)
{
    if (f->large) {
        return perpi_fronts_sign(&f->fronts, f->value);
    }
    int sign = 1;
    for (int32_t k = 0; k < f->nodes; ++k) {
        sign *= perpi_lu_sign(f->n.at[k], f->value + f->D.at[k], f->pivot.at + f->first.at[k]);
    }
    return sign;
}

void perpi_block_lu_solve(perpi_block_lu* f, double* x)
{
    double* y = f->x;
    for (int32_t i = 0; i < f->groups; ++i) {
        copy_few(f->size.at[i], x + f->row.at[i],
                 y + f->first.at[f->node_of.at[i]] + f->place.at[i]);
    }
    if (f->large) {
        perpi_fronts_solve(&f->fronts, f->value, y);
        put_back(f, x);
        return;
    }
    /* A = (L_k below D_k) (I beside U_k): y_k <- D_k^-1 y_k, then out of the later rows */
    for (int32_t k = 0; k < f->nodes; ++k) {
        const int32_t n = f->n.at[k];
        double* y_k = y + f->first.at[k];
        perpi_lu_solve(n, f->value + f->D.at[k], f->pivot.at + f->first.at[k], y_k);
        const double* L = f->value + f->L.at[k];
        for (int32_t e = f->s_start.at[k]; e < f->s_start.at[k + 1]; ++e) {
            const int32_t a = f->s.at[e];
            double* y_a = y + f->first.at[a];
            for (int32_t i = 0; i < f->n.at[a]; ++i, L += n) {
                y_a[i] -= perpi_dot(n, L, y_k);
            }
        }
    }
    for (int32_t k = f->nodes - 1; k >= 0; --k) {
        const int32_t n = f->n.at[k];
        const size_t m = (size_t)f->m.at[k];
        double* y_k = y + f->first.at[k];
        for (int32_t e = f->s_start.at[k]; e < f->s_start.at[k + 1]; ++e) {
            const int32_t a = f->s.at[e];
            const double* y_a = y + f->first.at[a];
            const double* U = f->value + f->U.at[k] + f->s_row.at[e];
            for (int32_t i = 0; i < n; ++i) {
                y_k[i] -= perpi_dot(f->n.at[a], U + (size_t)i * m, y_a);
            }
        }
    }
    put_back(f, x);
}
