/* src/problem/island.c - see island.h. Union-find over blocks, then counting sorts: linear. */
#include "problem/island.h"

#include <string.h>

struct perpi_islands {
    perp_context* context;
    const perpi_islands* index; /* whose lists below are used: its own, or those of another */
    const perp_contact_problem* whole;
    const bool* acts;           /* per constraint of the whole; NULL: all */
    perp_contact_problem piece; /* the current island */
    int32_t count;

    int32_t* parent;           /* per block of the whole: union-find, later its island */
    int32_t* island_of;        /* per block */
    int32_t* place;            /* per block and per constraint: index inside its island */
    int32_t* block_start;      /* count + 1 */
    int32_t* block;            /* blocks sorted by island */
    int32_t* constraint_start; /* count + 1 */
    int32_t* constraint;       /* constraints sorted by island */
    int32_t* constraint_place; /* per constraint of the whole: index inside its island */
    int32_t* group_start;      /* count + 1 */
    int32_t* grouped;          /* groups sorted by island */
    size_t* M_at;              /* per block: where its mass block starts */
    size_t parent_capacity, island_of_capacity, place_capacity, block_start_capacity,
        block_capacity, constraint_start_capacity, constraint_capacity, constraint_place_capacity,
        group_start_capacity, grouped_capacity, M_at_capacity;

    /* the arrays of the island's problem */
    int32_t* dof;
    double* M; /* and the factors of its blocks */
    double *k, *b, *lower, *upper, *compliance;
    perp_constraint* row;
    perp_group* group;
    int32_t* member;
    size_t dof_capacity, M_capacity, k_capacity, b_capacity, lower_capacity, upper_capacity,
        compliance_capacity, row_capacity, group_capacity, member_capacity;
    int32_t first_block, blocks, first_constraint,
        constraints; /* of the island, in the sorted lists */
};

perp_status perpi_islands_create(perp_context* context, perpi_islands** islands)
{
    perpi_islands* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->index = s;
        *islands = s;
    }
    return status;
}

void perpi_islands_destroy(perpi_islands* s)
{
    if (s == NULL) {
        return;
    }
    void* const owned[] = {s->parent,      s->island_of,
                           s->place,       s->block_start,
                           s->block,       s->constraint_start,
                           s->constraint,  s->constraint_place,
                           s->group_start, s->grouped,
                           s->M_at,        s->dof,
                           s->M,           s->k,
                           s->b,           s->lower,
                           s->upper,       s->compliance,
                           s->row,         s->group,
                           s->member};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(s->context, owned[i]);
    }
    perpi_free(s->context, s);
}

static int32_t root(int32_t* parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]]; /* halving keeps the paths short */
        i = parent[i];
    }
    return i;
}

/* The smaller root stays root: an island's root is its first block. */
static void join(int32_t* parent, int32_t a, int32_t b)
{
    a = root(parent, a);
    b = root(parent, b);
    if (a < b) {
        parent[b] = a;
    } else {
        parent[a] = b;
    }
}

static int32_t some_block(const perp_constraint* c)
{
    return c->block[0] >= 0 ? c->block[0] : c->block[1];
}

static bool is_in(const perpi_islands* s, int32_t constraint)
{
    return s->acts == NULL || s->acts[constraint];
}

static perp_status grow_index(perpi_islands* s)
{
    const size_t blocks = (size_t)s->whole->block_count;
    const size_t constraints = (size_t)s->whole->constraint_count;
    const struct {
        int32_t** array;
        size_t* capacity;
        size_t need;
    } lists[] = {
        {&s->parent, &s->parent_capacity, blocks},
        {&s->island_of, &s->island_of_capacity, blocks},
        {&s->place, &s->place_capacity, blocks},
        {&s->block_start, &s->block_start_capacity, blocks + 1},
        {&s->block, &s->block_capacity, blocks},
        {&s->constraint_start, &s->constraint_start_capacity, blocks + 1},
        {&s->constraint, &s->constraint_capacity, constraints},
        {&s->constraint_place, &s->constraint_place_capacity, constraints},
        {&s->group_start, &s->group_start_capacity, blocks + 1},
        {&s->grouped, &s->grouped_capacity, (size_t)s->whole->group_count},
    };
    perp_status status =
        perpi_grow(s->context, &s->M_at, &s->M_at_capacity, blocks + 1, sizeof *s->M_at);
    for (size_t i = 0; status == PERP_OK && i < sizeof lists / sizeof lists[0]; ++i) {
        status = perpi_grow(s->context, lists[i].array, lists[i].capacity, lists[i].need,
                            sizeof(int32_t));
    }
    return status;
}

static void find_components(perpi_islands* s)
{
    const perp_contact_problem* P = s->whole;
    for (int32_t i = 0; i < P->block_count; ++i) {
        s->parent[i] = i;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->block[0] >= 0 && c->block[1] >= 0 && is_in(s, i)) {
            join(s->parent, c->block[0], c->block[1]);
        }
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        for (int32_t m = 1; m < group->count && is_in(s, group->member[0]); ++m) {
            join(s->parent, some_block(&P->constraint[group->member[0]]),
                 some_block(&P->constraint[group->member[m]]));
        }
    }
    s->count = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t r = root(s->parent, i);
        s->island_of[i] = r == i ? s->count++ : s->island_of[r];
    }
}

/* Blocks and constraints in order of island, keeping their order inside. */
static void sort_by_island(perpi_islands* s)
{
    const perp_contact_problem* P = s->whole;
    memset(s->block_start, 0, (size_t)(s->count + 1) * sizeof *s->block_start);
    memset(s->constraint_start, 0, (size_t)(s->count + 1) * sizeof *s->constraint_start);
    s->M_at[0] = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const size_t nv = (size_t)(P->dof[i + 1] - P->dof[i]);
        s->M_at[i + 1] = s->M_at[i] + nv * nv;
        s->place[i] = s->block_start[s->island_of[i] + 1]++;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t island = s->island_of[some_block(&P->constraint[i])];
        if (is_in(s, i)) {
            s->constraint_place[i] = s->constraint_start[island + 1]++;
        }
    }
    for (int32_t k = 0; k < s->count; ++k) {
        s->block_start[k + 1] += s->block_start[k];
        s->constraint_start[k + 1] += s->constraint_start[k];
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        s->block[s->block_start[s->island_of[i]] + s->place[i]] = i;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t island = s->island_of[some_block(&P->constraint[i])];
        if (is_in(s, i)) {
            s->constraint[s->constraint_start[island] + s->constraint_place[i]] = i;
        }
    }
}

static int32_t island_of_group(const perpi_islands* s, int32_t g)
{
    const perp_contact_problem* P = s->whole;
    return s->island_of[some_block(&P->constraint[P->group[g].member[0]])];
}

/* A stable counting sort. */
static void sort_groups(perpi_islands* s)
{
    const int32_t groups = s->whole->group_count;
    memset(s->group_start, 0, (size_t)(s->count + 1) * sizeof *s->group_start);
    for (int32_t g = 0; g < groups; ++g) {
        s->group_start[island_of_group(s, g)] += is_in(s, s->whole->group[g].member[0]);
    }
    int32_t end = 0;
    for (int32_t k = 0; k <= s->count; ++k) { /* the end of each island's part, then its start */
        end += k < s->count ? s->group_start[k] : 0;
        s->group_start[k] = end;
    }
    for (int32_t g = groups - 1; g >= 0; --g) {
        if (is_in(s, s->whole->group[g].member[0])) {
            s->grouped[--s->group_start[island_of_group(s, g)]] = g;
        }
    }
}

int32_t perpi_islands_rows(const perpi_islands* s, int32_t i)
{
    const perp_contact_problem* P = s->whole;
    int32_t rows = 0;
    for (int32_t j = s->index->constraint_start[i]; j < s->index->constraint_start[i + 1]; ++j) {
        rows += P->constraint[s->index->constraint[j]].rows;
    }
    return rows;
}

void perpi_islands_view(perpi_islands* s, const perpi_islands* of)
{
    s->index = of;
    s->whole = of->whole;
}

bool perpi_islands_any(const perpi_islands* s, int32_t i, const bool* marked)
{
    for (int32_t j = s->index->constraint_start[i]; j < s->index->constraint_start[i + 1]; ++j) {
        if (marked[s->index->constraint[j]]) {
            return true;
        }
    }
    return false;
}

perp_status perpi_islands_split(perpi_islands* s, const perp_contact_problem* problem,
                                int32_t* count)
{
    if (problem->block_count == 1) { /* nothing to split */
        s->whole = problem;
        *count = s->count = 1;
        return PERP_OK;
    }
    return perpi_islands_split_acting(s, problem, NULL, count);
}

perp_status perpi_islands_split_acting(perpi_islands* s, const perp_contact_problem* problem,
                                       const bool* acts, int32_t* count)
{
    s->whole = problem;
    s->acts = acts;
    const perp_status status = grow_index(s);
    if (status != PERP_OK) {
        return status;
    }
    s->index = s;
    find_components(s);
    sort_by_island(s);
    sort_groups(s);
    *count = s->count;
    return PERP_OK;
}

static perp_status grow_piece(perpi_islands* s, size_t rows)
{
    perp_context* c = s->context;
    const size_t blocks = (size_t)s->blocks;
    perp_status status = perpi_grow(c, &s->dof, &s->dof_capacity, blocks + 1, sizeof *s->dof);
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->M, &s->M_capacity, 72 * blocks, sizeof *s->M);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->k, &s->k_capacity, 6 * blocks, sizeof *s->k);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->b, &s->b_capacity, rows, sizeof *s->b);
    }
    if (status == PERP_OK && s->whole->lower != NULL) {
        status = perpi_grow(c, &s->lower, &s->lower_capacity, rows, sizeof *s->lower);
    }
    if (status == PERP_OK && s->whole->upper != NULL) {
        status = perpi_grow(c, &s->upper, &s->upper_capacity, rows, sizeof *s->upper);
    }
    if (status == PERP_OK && s->whole->compliance != NULL) {
        status =
            perpi_grow(c, &s->compliance, &s->compliance_capacity, rows, sizeof *s->compliance);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->row, &s->row_capacity, (size_t)s->constraints, sizeof *s->row);
    }
    return status;
}

/* The groups whose members are in island i, with members renumbered. */
static perp_status take_groups(perpi_islands* s, int32_t i)
{
    const perp_contact_problem* P = s->whole;
    const perpi_islands* x = s->index;
    const int32_t first = x->group_start[i], groups = x->group_start[i + 1] - first;
    size_t members = 0;
    for (int32_t k = 0; k < groups; ++k) {
        members += (size_t)P->group[x->grouped[first + k]].count;
    }
    perp_status status =
        perpi_grow(s->context, &s->group, &s->group_capacity, (size_t)groups, sizeof *s->group);
    if (status == PERP_OK) {
        status =
            perpi_grow(s->context, &s->member, &s->member_capacity, members, sizeof *s->member);
    }
    if (status != PERP_OK) {
        return status;
    }
    int32_t* out = s->member;
    for (int32_t k = 0; k < groups; ++k) {
        const perp_group* group = &P->group[x->grouped[first + k]];
        s->group[k] = (perp_group){.member = out, .count = group->count, .primary = group->primary};
        for (int32_t m = 0; m < group->count; ++m) {
            *out++ = x->constraint_place[group->member[m]];
        }
    }
    s->piece.group = s->group;
    s->piece.group_count = groups;
    return PERP_OK;
}

perp_status perpi_islands_take(perpi_islands* s, int32_t i, perp_contact_problem* piece)
{
    const perp_contact_problem* P = s->whole;
    const perpi_islands* x = s->index;
    s->first_block = x->block_start[i];
    s->blocks = x->block_start[i + 1] - s->first_block;
    s->first_constraint = x->constraint_start[i];
    s->constraints = x->constraint_start[i + 1] - s->first_constraint;
    size_t rows = 0;
    for (int32_t j = 0; j < s->constraints; ++j) {
        rows += (size_t)P->constraint[x->constraint[s->first_constraint + j]].rows;
    }
    perp_status status = grow_piece(s, rows);
    if (status != PERP_OK) {
        return status;
    }
    double *M = s->M, *L = s->M + 36 * (size_t)s->blocks;
    s->dof[0] = 0;
    for (int32_t j = 0; j < s->blocks; ++j) {
        const int32_t block = x->block[s->first_block + j];
        const int32_t nv = P->dof[block + 1] - P->dof[block];
        memcpy(M, P->M + x->M_at[block], (size_t)(nv * nv) * sizeof *M);
        memcpy(s->k + s->dof[j], P->k + P->dof[block], (size_t)nv * sizeof *M);
        M += nv * nv;
        if (P->M_factor != NULL) {
            memcpy(L + 6 * (size_t)s->dof[j], P->M_factor + 6 * (size_t)P->dof[block],
                   6 * (size_t)nv * sizeof *L);
        }
        s->dof[j + 1] = s->dof[j] + nv;
    }
    int32_t row = 0;
    for (int32_t j = 0; j < s->constraints; ++j) {
        const perp_constraint* c = &P->constraint[x->constraint[s->first_constraint + j]];
        s->row[j] = *c;
        s->row[j].row = row;
        for (int side = 0; side < 2; ++side) {
            s->row[j].block[side] = c->block[side] >= 0 ? x->place[c->block[side]] : -1;
        }
        memcpy(s->b + row, P->b + c->row, (size_t)c->rows * sizeof *s->b);
        if (P->lower != NULL) {
            memcpy(s->lower + row, P->lower + c->row, (size_t)c->rows * sizeof *s->lower);
        }
        if (P->upper != NULL) {
            memcpy(s->upper + row, P->upper + c->row, (size_t)c->rows * sizeof *s->upper);
        }
        if (P->compliance != NULL) {
            memcpy(s->compliance + row, P->compliance + c->row,
                   (size_t)c->rows * sizeof *s->compliance);
        }
        row += c->rows;
    }
    s->piece = (perp_contact_problem){.block_count = s->blocks,
                                      .constraint_count = s->constraints,
                                      .dof_count = s->dof[s->blocks],
                                      .row_count = row,
                                      .dof = s->dof,
                                      .M = s->M,
                                      .k = s->k,
                                      .J = P->J,
                                      .b = s->b,
                                      .lower = P->lower != NULL ? s->lower : NULL,
                                      .upper = P->upper != NULL ? s->upper : NULL,
                                      .compliance = P->compliance != NULL ? s->compliance : NULL,
                                      .constraint = s->row,
                                      .M_factor = P->M_factor != NULL ? L : NULL};
    if (P->group_count > 0) {
        status = take_groups(s, i);
    }
    *piece = s->piece;
    return status;
}

void perpi_islands_gather(const perpi_islands* s, const double* v, const double* p, double* v_piece,
                          double* p_piece)
{
    const perp_contact_problem* P = s->whole;
    const perpi_islands* x = s->index;
    for (int32_t j = 0; j < s->blocks; ++j) {
        memcpy(v_piece + s->dof[j], v + P->dof[x->block[s->first_block + j]],
               (size_t)(s->dof[j + 1] - s->dof[j]) * sizeof *v);
    }
    for (int32_t j = 0; j < s->constraints; ++j) {
        const perp_constraint* c = &s->row[j];
        memcpy(p_piece + c->row, p + P->constraint[x->constraint[s->first_constraint + j]].row,
               (size_t)c->rows * sizeof *p);
    }
}

void perpi_islands_scatter(const perpi_islands* s, const double* v_piece, const double* p_piece,
                           double* v, double* p)
{
    const perp_contact_problem* P = s->whole;
    const perpi_islands* x = s->index;
    for (int32_t j = 0; j < s->blocks; ++j) {
        memcpy(v + P->dof[x->block[s->first_block + j]], v_piece + s->dof[j],
               (size_t)(s->dof[j + 1] - s->dof[j]) * sizeof *v);
    }
    for (int32_t j = 0; j < s->constraints; ++j) {
        const perp_constraint* c = &s->row[j];
        memcpy(p + P->constraint[x->constraint[s->first_constraint + j]].row, p_piece + c->row,
               (size_t)c->rows * sizeof *p);
    }
}
