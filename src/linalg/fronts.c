/* src/linalg/fronts.c - the analysis: tree, fronts, where everything lies. See fronts.h. */
#include "linalg/fronts.h"

#include <string.h>

enum { ROWS_MOST = 64 }; /* of a front, by merging */

/* How many parts of the whole work a subtree may hold, so that several threads get equal shares; and the
 * work below which nothing is divided. */
#define SHARES 16.0
#define SMALL_WORK 2e6

void perpi_fronts_free(perpi_fronts* t)
{
    void* const owned[] = {t->front,     t->part,  t->front_of, t->row_of,       t->later_node,
                           t->later_row, t->run,   t->pivot,    t->contribution, t->vector,
                           t->x,         t->index, t->live};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(t->context, owned[i]);
    }
    *t = (perpi_fronts){.context = t->context};
}

/* ---- the tree ------------------------------------------------------------------------------------------*/

/* The nodes and their tree, while fronts are made of them. post: the numbering in which children come
 * before parents and subtrees are contiguous. */
typedef struct node_tree {
    int32_t nodes;
    const int32_t *n, *s_start, *s;
    int32_t *parent, *child, *next, *order, *post, *rows; /* rows: of later nodes */
} node_tree;

static perp_status grow_nodes(perpi_fronts* t, node_tree* a)
{
    const size_t nodes = (size_t)a->nodes;
    perp_status status =
        perpi_grow(t->context, &t->index, &t->index_capacity, 6 * nodes + 1, sizeof *t->index);
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->front, &t->front_capacity, nodes, sizeof *t->front);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(t->context, &t->front_of, &t->front_of_capacity, nodes, sizeof *t->front_of);
    }
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->row_of, &t->row_of_capacity, nodes, sizeof *t->row_of);
    }
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->live, &t->live_capacity, 2 * nodes, sizeof *t->live);
    }
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->part, &t->part_capacity, nodes, sizeof *t->part);
    }
    int32_t** const list[] = {&a->parent, &a->child, &a->next, &a->order, &a->post, &a->rows};
    for (size_t i = 0; i < 6; ++i) {
        *list[i] = t->index + i * nodes;
    }
    return status;
}

/* The parent of a node is the first later node that it meets. */
static void number_nodes(node_tree* a)
{
    for (int32_t k = 0; k < a->nodes; ++k) {
        a->child[k] = -1;
        a->rows[k] = 0;
        for (int32_t e = a->s_start[k]; e < a->s_start[k + 1]; ++e) {
            a->rows[k] += a->n[a->s[e]];
        }
    }
    int32_t root = -1;
    for (int32_t k = a->nodes - 1; k >= 0; --k) {
        const bool has = a->s_start[k] < a->s_start[k + 1];
        int32_t* head = has ? &a->child[a->s[a->s_start[k]]] : &root;
        a->parent[k] = has ? a->s[a->s_start[k]] : -1;
        a->next[k] = *head;
        *head = k;
    }
    int32_t placed = 0;
    while (root >= 0) {
        int32_t k = root;
        root = a->next[root];
        a->next[k] = -1; /* roots are no siblings: the walk ends here */
        for (;;) {
            while (a->child[k] >= 0) { /* down to a leaf; a visited child is taken off its list */
                const int32_t c = a->child[k];
                a->child[k] = a->next[c];
                k = c;
            }
            a->post[k] = placed;
            a->order[placed++] = k;
            if (a->parent[k] < 0) {
                break;
            }
            k = a->parent[k];
        }
    }
}

/* Of the entries of a front, the part that may be zeros because of merging. */
static double zeros_allowed(int32_t rows)
{
    return rows <= 24 ? 0.2 : 0.08;
}

/* Nodes that follow each other in the tree and meet nearly the same later rows become one front. */
static void merge_nodes(perpi_fronts* t, const node_tree* a)
{
    t->count = 0;
    t->rows = 0;
    int32_t rows = 0;
    double zeros = 0.0;
    for (int32_t i = 0; i < a->nodes; ++i) {
        const int32_t k = a->order[i], n = a->n[k];
        t->front_of[k] = t->count;
        t->row_of[k] = rows;
        rows += n;
        const int32_t up = i + 1 < a->nodes ? a->order[i + 1] : -1;
        if (up >= 0 && a->parent[k] == up && rows + a->n[up] <= ROWS_MOST) {
            const double all = rows + a->n[up], later = a->rows[up];
            const double more = zeros + 2.0 * rows * (a->n[up] + later - a->rows[k]);
            if (more <= zeros_allowed(rows + a->n[up]) * all * (all + 2.0 * later)) {
                zeros = more;
                continue;
            }
        }
        t->front[t->count] = (perpi_front){.n = rows,
                                           .m = a->rows[k],
                                           .first = t->rows,
                                           .parent = k, /* its last node, until all are known */
                                           .child = -1,
                                           .next = -1};
        t->count += 1;
        t->rows += rows;
        rows = 0;
        zeros = 0.0;
    }
}

/* ---- later rows ----------------------------------------------------------------------------------------*/

static void sort_by_post(const node_tree* a, int32_t* list, int32_t count)
{
    for (int32_t i = 1; i < count; ++i) {
        const int32_t k = list[i];
        int32_t j = i;
        for (; j > 0 && a->post[list[j - 1]] > a->post[k]; --j) {
            list[j] = list[j - 1];
        }
        list[j] = k;
    }
}

static perp_status list_later(perpi_fronts* t, const node_tree* a)
{
    size_t entries = 0;
    for (int32_t j = 0; j < t->count; ++j) {
        const int32_t k = t->front[j].parent;
        entries += (size_t)(a->s_start[k + 1] - a->s_start[k]);
    }
    perp_status status = perpi_grow(t->context, &t->later_node, &t->later_node_capacity, entries,
                                    sizeof *t->later_node);
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->later_row, &t->later_row_capacity, entries,
                            sizeof *t->later_row);
    }
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->run, &t->run_capacity, 2 * entries, sizeof *t->run);
    }
    if (status != PERP_OK) {
        return status;
    }
    int32_t at = 0;
    for (int32_t j = 0; j < t->count; ++j) {
        perpi_front* f = &t->front[j];
        const int32_t k = f->parent, count = a->s_start[k + 1] - a->s_start[k];
        f->parent = a->parent[k] >= 0 ? t->front_of[a->parent[k]] : -1;
        f->later = at;
        f->later_end = at + count;
        if (count > 0) {
            memcpy(t->later_node + at, a->s + a->s_start[k], (size_t)count * sizeof *a->s);
        }
        sort_by_post(a, t->later_node + at, count);
        int32_t row = 0;
        for (int32_t e = 0; e < count; ++e) {
            t->later_row[at + e] = row;
            row += a->n[t->later_node[at + e]];
        }
        at += count;
    }
    return PERP_OK;
}

/* Appends rows to the runs, to the last one if they follow it. A run ends where the parent's n rows do. */
static int32_t add_run(perpi_fronts* t, int32_t first, int32_t end, perpi_row_run rows,
                       int32_t border)
{
    perpi_row_run* last = end > first ? &t->run[end - 1] : NULL;
    if (last != NULL && last->from + last->length == rows.from &&
        last->to + last->length == rows.to && rows.to != border) {
        last->length += rows.length;
        return end;
    }
    t->run[end] = rows;
    return end + 1;
}

static void list_runs(perpi_fronts* t, const int32_t* n)
{
    int32_t end = 0;
    for (int32_t j = 0; j < t->count; ++j) {
        perpi_front* f = &t->front[j];
        f->run = end;
        const perpi_front* up = f->parent >= 0 ? &t->front[f->parent] : NULL;
        int32_t walk = up != NULL ? up->later : 0;
        for (int32_t e = f->later; e < f->later_end; ++e) {
            const int32_t b = t->later_node[e];
            int32_t to = t->row_of[b];
            if (t->front_of[b] != f->parent) {
                while (t->later_node[walk] != b) {
                    ++walk;
                }
                to = up->n + t->later_row[walk];
            }
            end = add_run(t, f->run, end, (perpi_row_run){t->later_row[e], to, n[b]}, up->n);
        }
        f->run_end = end;
        f->row = end;
        for (int32_t e = f->later; e < f->later_end; ++e) {
            const int32_t b = t->later_node[e];
            end = add_run(t, f->row, end,
                          (perpi_row_run){t->later_row[e], perpi_fronts_row(t, b), n[b]}, -1);
        }
        f->row_end = end;
    }
}

/* ---- where the numbers lie -----------------------------------------------------------------------------*/

static void link_children(perpi_fronts* t)
{
    t->work = 0.0;
    for (int32_t j = 0; j < t->count; ++j) {
        t->front[j].work = 0.0;
    }
    for (int32_t j = 0; j < t->count; ++j) { /* children come before parents */
        perpi_front* f = &t->front[j];
        const double n = f->n, m = f->m;
        f->work += n * (n * n / 3.0 + n * m + m * m);
        if (f->parent >= 0) {
            t->front[f->parent].work += f->work;
        } else {
            t->work += f->work;
        }
    }
    for (int32_t j = t->count - 1; j >= 0; --j) { /* so the lists ascend */
        perpi_front* f = &t->front[j];
        if (f->parent >= 0) {
            f->next = t->front[f->parent].child;
            t->front[f->parent].child = j;
        }
    }
}

/* The largest subtrees with at most their share of the work; what is above them is `top`. */
static void divide_tree(perpi_fronts* t)
{
    const double share = t->work / SHARES > SMALL_WORK ? t->work / SHARES : SMALL_WORK;
    int32_t* first =
        t->index; /* fronts: the first of its subtree; the nodes are no longer needed */
    t->parts = 0;
    for (int32_t j = 0; j < t->count; ++j) {
        perpi_front* f = &t->front[j];
        first[j] = f->child >= 0 ? first[f->child] : j;
        f->top = f->work > share;
    }
    for (int32_t j = 0; j < t->count; ++j) {
        const perpi_front* f = &t->front[j];
        if (!f->top && (f->parent < 0 || t->front[f->parent].top)) {
            t->part[t->parts++] = (perpi_front_part){first[j], j + 1, f->work};
        }
    }
    for (int32_t i = 1; i < t->parts; ++i) { /* the largest first */
        const perpi_front_part p = t->part[i];
        int32_t k = i;
        for (; k > 0 && t->part[k - 1].work < p.work; --k) {
            t->part[k] = t->part[k - 1];
        }
        t->part[k] = p;
    }
}

/* Contributions live from their front to its parent. Each gets the first place where it fits between those
 * that live at the same time, in a region of its subtree. */
typedef struct region {
    size_t *at, *size; /* those that live, ascending */
    size_t count, base, most;
} region;

static size_t take_place(region* r, size_t size)
{
    size_t at = 0, i = 0;
    while (i < r->count && r->at[i] < at + size) {
        at = r->at[i] + r->size[i];
        ++i;
    }
    memmove(r->at + i + 1, r->at + i, (r->count - i) * sizeof *r->at);
    memmove(r->size + i + 1, r->size + i, (r->count - i) * sizeof *r->size);
    r->at[i] = at;
    r->size[i] = size;
    r->count += 1;
    r->most = at + size > r->most ? at + size : r->most;
    return r->base + at;
}

static void release_place(region* r, size_t at)
{
    size_t i = 0;
    while (i < r->count && r->base + r->at[i] != at) {
        ++i;
    }
    if (i < r->count) { /* else in the region of a subtree */
        r->count -= 1;
        memmove(r->at + i, r->at + i + 1, (r->count - i) * sizeof *r->at);
        memmove(r->size + i, r->size + i + 1, (r->count - i) * sizeof *r->size);
    }
}

static void place_contribution(perpi_fronts* t, region* r, int32_t j)
{
    perpi_front* f = &t->front[j];
    f->C = f->m > 0 ? take_place(r, (size_t)f->m * (size_t)f->m) : 0;
    for (int32_t c = f->child; c >= 0; c = t->front[c].next) {
        if (t->front[c].m > 0) {
            release_place(r, t->front[c].C);
        }
    }
}

static void place_contributions(perpi_fronts* t)
{
    size_t base = 0;
    for (int32_t p = 0; p < t->parts; ++p) {
        region r = {.at = t->live, .size = t->live + t->live_capacity / 2, .base = base};
        for (int32_t j = t->part[p].begin; j < t->part[p].end; ++j) {
            place_contribution(t, &r, j);
        }
        base += r.most;
    }
    region r = {.at = t->live, .size = t->live + t->live_capacity / 2, .base = base};
    for (int32_t j = 0; j < t->count; ++j) {
        if (t->front[j].top) {
            place_contribution(t, &r, j);
        }
    }
    t->contribution_count = base + r.most;
}

static perp_status place_numbers(perpi_fronts* t)
{
    size_t value = 0, vector = 0;
    for (int32_t j = 0; j < t->count; ++j) {
        perpi_front* f = &t->front[j];
        const size_t n = (size_t)f->n, m = (size_t)f->m;
        f->D = value;
        f->L = value + n * n;
        value += n * n + n * m;
        f->w = vector;
        vector += m;
    }
    for (int32_t j = t->count - 1; j >= 0; --j) { /* the order in which a solve reads them */
        perpi_front* f = &t->front[j];
        f->U = value;
        value += (size_t)f->n * (size_t)f->m;
    }
    t->value_count = value;
    t->vector_count = vector;
    place_contributions(t);
    perp_status status = perpi_grow(t->context, &t->contribution, &t->contribution_capacity,
                                    t->contribution_count, sizeof *t->contribution);
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->vector, &t->vector_capacity, vector, sizeof *t->vector);
    }
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->pivot, &t->pivot_capacity, (size_t)t->rows,
                            sizeof *t->pivot);
    }
    return status;
}

perp_status perpi_fronts_analyse(perpi_fronts* t, int32_t nodes, const int32_t* n,
                                 const int32_t* s_start, const int32_t* s)
{
    node_tree a = {.nodes = nodes, .n = n, .s_start = s_start, .s = s};
    perp_status status = grow_nodes(t, &a);
    if (status != PERP_OK) {
        return status;
    }
    number_nodes(&a);
    merge_nodes(t, &a);
    status = list_later(t, &a);
    if (status != PERP_OK) {
        return status;
    }
    list_runs(t, n);
    link_children(t);
    divide_tree(t);
    return place_numbers(t);
}

/* The first of the front's m rows that belongs to a later node. */
static int32_t find_later(const perpi_fronts* t, const perpi_front* f, int32_t node)
{
    const int32_t row = perpi_fronts_row(t, node);
    int32_t low = f->later, high = f->later_end - 1;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        if (perpi_fronts_row(t, t->later_node[mid]) < row) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    PERP_ASSERT(low < f->later_end && t->later_node[low] == node);
    return t->later_row[low];
}

size_t perpi_fronts_place(const perpi_fronts* t, int32_t a, int32_t i, int32_t b, int32_t j,
                          int32_t* stride)
{
    const int32_t front_a = t->front_of[a], front_b = t->front_of[b];
    const perpi_front* f = &t->front[front_a < front_b ? front_a : front_b];
    if (front_a == front_b) {
        *stride = f->n;
        return f->D + (size_t)(t->row_of[a] + i) * (size_t)f->n + (size_t)(t->row_of[b] + j);
    }
    if (front_a < front_b) {
        *stride = f->m;
        return f->U + (size_t)(t->row_of[a] + i) * (size_t)f->m + (size_t)(find_later(t, f, b) + j);
    }
    *stride = f->n;
    return f->L + (size_t)(find_later(t, f, a) + i) * (size_t)f->n + (size_t)(t->row_of[b] + j);
}
