/* src/problem/reformulate/triplets.c - see triplets.h. */
#include "problem/reformulate/triplets.h"

#include <string.h>

#include "base/context.h"

void perpi_triplets_free(perp_context* context, perpi_triplets* t)
{
    perpi_ints* const ints[] = {&t->row, &t->col, &t->slot, &t->start, &t->csc_row, &t->sums};
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; ++i) {
        perpi_free(context, ints[i]->at);
    }
}

perp_status perpi_triplets_put(perp_context* context, perpi_triplets* t, const char* text,
                               int32_t row, int32_t col)
{
    const size_t need = (size_t)t->count + 1;
    if (need > INT32_MAX) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: too many matrix entries", text);
    }
    perp_status status = perpi_need_ints(context, &t->row, need);
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->col, need);
    }
    if (status == PERP_OK) {
        t->row.at[t->count] = row;
        t->col.at[t->count++] = col;
    }
    return status;
}

/* Two counting sorts, by row into slot and then by column into order; both keep the order of equals. */
static void sort_entries(const perpi_triplets* t, size_t n, int32_t* slot, int32_t* order)
{
    const size_t m = (size_t)t->count;
    int32_t* sums = t->sums.at;
    for (int pass = 0; pass < 2; ++pass) {
        const int32_t* key = pass == 0 ? t->row.at : t->col.at;
        memset(sums, 0, (n + 1) * sizeof *sums);
        for (size_t e = 0; e < m; ++e) {
            sums[key[e] + 1] += 1;
        }
        for (size_t j = 0; j < n; ++j) {
            sums[j + 1] += sums[j];
        }
        for (size_t k = 0; k < m; ++k) {
            const int32_t e = pass == 0 ? (int32_t)k : slot[k];
            (pass == 0 ? slot : order)[sums[key[e]]++] = e;
        }
    }
}

perp_status perpi_triplets_compress(perp_context* context, perpi_triplets* t, int32_t n)
{
    const size_t m = (size_t)t->count;
    perp_status status = perpi_need_ints(context, &t->slot, 2 * m + 1);
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->sums, (size_t)n + 1);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->start, (size_t)n + 1);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->csc_row, m + 1);
    }
    if (status != PERP_OK) {
        return status;
    }
    int32_t *slot = t->slot.at, *order = slot + m, *start = t->start.at;
    sort_entries(t, (size_t)n, slot, order);
    int32_t used = 0, last_col = -1, last_row = -1;
    for (size_t k = 0; k < m; ++k) {
        const int32_t e = order[k], col = t->col.at[e], row = t->row.at[e];
        if (col != last_col || row != last_row) {
            while (last_col < col) {
                start[++last_col] = used;
            }
            last_row = row;
            t->csc_row.at[used++] = row;
        }
        slot[e] = used - 1;
    }
    while (last_col < n) {
        start[++last_col] = used;
    }
    return PERP_OK;
}
