/* src/base/arena.c - see arena.h. */
#include "base/arena.h"

enum { FIRST_BLOCK = 16384 };

void perpi_arena_init(perpi_arena* arena, perp_context* context)
{
    *arena = (perpi_arena){.context = context};
}

/* What was taken until now counts for the size of the block that replaces a chain. */
static void note_peak(perpi_arena* arena)
{
    arena->peak = arena->total > arena->peak ? arena->total : arena->peak;
}

void perpi_arena_free(perpi_arena* arena)
{
    perpi_arena_block* block = arena->last;
    while (block != NULL) {
        perpi_arena_block* previous = block->previous;
        perpi_free(arena->context, block);
        block = previous;
    }
    *arena = (perpi_arena){.context = arena->context};
}

perpi_arena_mark perpi_arena_get_mark(const perpi_arena* arena)
{
    return (perpi_arena_mark){arena->last, arena->used, arena->total};
}

void perpi_arena_rewind(perpi_arena* arena, perpi_arena_mark mark)
{
    note_peak(arena);
    /* Blocks chained after the mark are freed; the peak remembers that they were needed. */
    while (arena->last != mark.block) {
        perpi_arena_block* previous = arena->last->previous;
        perpi_free(arena->context, arena->last);
        arena->last = previous;
    }
    arena->used = mark.used;
    arena->total = mark.total;
}

static perp_status push_block(perpi_arena* arena, size_t capacity)
{
    void* p = NULL;
    const perp_status status =
        perpi_alloc(arena->context, sizeof(perpi_arena_block) + capacity, 1, &p);
    if (status != PERP_OK) {
        return status;
    }
    perpi_arena_block* block = p;
    block->previous = arena->last;
    block->capacity = capacity;
    arena->last = block;
    arena->used = 0;
    return PERP_OK;
}

perp_status perpi_arena_reset(perpi_arena* arena)
{
    note_peak(arena);
    const bool chained = arena->last != NULL && arena->last->previous != NULL;
    const bool small = arena->last != NULL && arena->last->capacity < arena->peak;
    if (chained || small) {
        const size_t peak = arena->peak;
        perpi_arena_free(arena);
        arena->peak = peak;
        return push_block(arena, peak + peak / 2);
    }
    arena->used = 0;
    arena->total = 0;
    return PERP_OK;
}

perp_status perpi_arena_take_now(perpi_arena* arena, size_t count, size_t size, void* p)
{
    if (size != 0 && count > (SIZE_MAX - 64) / size) {
        return perpi_fail(arena->context, PERP_ERROR_MEMORY, "out of memory: size overflow");
    }
    const size_t bytes = (count * size + 15) & ~(size_t)15;
    if (arena->last == NULL || arena->last->capacity - arena->used < bytes) {
        size_t capacity = arena->last == NULL ? (size_t)FIRST_BLOCK : 2 * arena->last->capacity;
        if (capacity < bytes) {
            capacity = bytes;
        }
        const perp_status status = push_block(arena, capacity);
        if (status != PERP_OK) {
            return status;
        }
    }
    void* taken = arena->last->data + arena->used;
    memcpy(p, &taken, sizeof taken);
    arena->used += bytes;
    arena->total += bytes;
    return PERP_OK;
}
