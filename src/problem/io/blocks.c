/* src/problem/io/blocks.c - W from its entries, block column by block column; see problem_file.h. */
#include <string.h>

#include "base/context.h"
#include "problem/io/problem_file.h"

perp_status perpi_blocks_begin(perp_context* context, int32_t nc, int32_t dim, perpi_blocks* blocks)
{
    *blocks = (perpi_blocks){.context = context, .nc = nc, .dim = dim, .column = -1};
    const perp_status status =
        perpi_alloc(context, (size_t)nc, sizeof *blocks->place, &blocks->place);
    for (int32_t i = 0; status == PERP_OK && i < nc; ++i) {
        blocks->place[i] = -1;
    }
    return status;
}

void perpi_blocks_free(perpi_blocks* b)
{
    if (b->context == NULL) {
        return;
    }
    void* const owned[] = {b->place, b->i, b->j, b->value, b->start, b->sorted, b->at};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(b->context, owned[i]);
    }
}

static perp_status add_block(perpi_blocks* b, int32_t i, int32_t j)
{
    const size_t need = (size_t)b->count + 1, area = (size_t)b->dim * (size_t)b->dim;
    if (need > INT32_MAX / 16) {
        return perpi_fail(b->context, PERP_ERROR_MEMORY, "friction problem: too many blocks");
    }
    perp_status status = perpi_grow(b->context, &b->i, &b->i_capacity, need, sizeof *b->i);
    if (status == PERP_OK) {
        status = perpi_grow(b->context, &b->j, &b->j_capacity, need, sizeof *b->j);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(b->context, &b->value, &b->value_capacity, need * area, sizeof *b->value);
    }
    if (status != PERP_OK) {
        return status;
    }
    memset(b->value + (size_t)b->count * area, 0, area * sizeof *b->value);
    b->i[b->count] = i;
    b->j[b->count] = j;
    b->place[i] = b->count++;
    return PERP_OK;
}

/* Diagonal blocks first, for all block columns up to j. */
static perp_status open_block_columns(perpi_blocks* b, int32_t j)
{
    perp_status status = PERP_OK;
    while (status == PERP_OK && b->column < j) {
        b->column += 1;
        status = add_block(b, b->column, b->column);
    }
    return status;
}

perp_status perpi_blocks_put(perpi_blocks* b, int32_t row, int32_t col, double value)
{
    const int32_t i = row / b->dim, j = col / b->dim;
    perp_status status = open_block_columns(b, j);
    if (status != PERP_OK || value == 0.0) {
        return status;
    }
    if (b->place[i] < 0 || b->j[b->place[i]] != j) {
        status = add_block(b, i, j);
    }
    if (status == PERP_OK) {
        const size_t area = (size_t)b->dim * (size_t)b->dim;
        b->value[(size_t)b->place[i] * area + (size_t)((row % b->dim) * b->dim + col % b->dim)] +=
            value;
    }
    return status;
}

perp_status perpi_blocks_end(perpi_blocks* b, perp_block_rows* W)
{
    perp_status status = open_block_columns(b, b->nc - 1);
    const size_t nc = (size_t)b->nc, count = (size_t)b->count;
    if (status == PERP_OK) {
        status = perpi_alloc(b->context, nc + 1, sizeof *b->start, &b->start);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(b->context, count, sizeof *b->sorted, &b->sorted);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(b->context, count, sizeof *b->at, &b->at);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t e = 0; e < count; ++e) {
        b->start[b->i[e] + 1] += 1;
    }
    for (size_t i = 0; i < nc; ++i) {
        b->start[i + 1] += b->start[i];
        b->place[i] = b->start[i];
    }
    for (size_t e = 0; e < count; ++e) { /* made with ascending j, so each row comes out sorted */
        const int32_t to = b->place[b->i[e]]++;
        b->sorted[to] = b->j[e];
        b->at[to] = e * (size_t)b->dim * (size_t)b->dim;
    }
    *W = (perp_block_rows){b->start, b->sorted, b->at, b->value};
    return PERP_OK;
}
