/* src/base/arena.h - scratch memory with mark and rewind.
 *
 * A step allocates from it and rewinds at its end. When a block runs out, another is chained; at
 * the next full rewind the chain is replaced by one block that would have held everything, so that
 * a warm step allocates nothing.
 */
#ifndef PERPI_ARENA_H
#define PERPI_ARENA_H

#include <string.h>

#include "base/context.h"

typedef struct perpi_arena_block {
    struct perpi_arena_block* previous;
    size_t capacity;
    _Alignas(16) unsigned char data[];
} perpi_arena_block;

typedef struct perpi_arena {
    perp_context* context;
    perpi_arena_block* last; /* newest block; they are chained backwards */
    size_t used;             /* in the newest block */
    size_t total;            /* taken since the last full rewind, all blocks */
    size_t peak;             /* largest total before a rewind */
} perpi_arena;

typedef struct perpi_arena_mark {
    perpi_arena_block* block;
    size_t used, total;
} perpi_arena_mark;

void perpi_arena_init(perpi_arena* arena, perp_context* context);
void perpi_arena_free(perpi_arena* arena);
perpi_arena_mark perpi_arena_get_mark(const perpi_arena* arena);
void perpi_arena_rewind(perpi_arena* arena, perpi_arena_mark mark);
/* Empties the arena; merges a chain into one block (the only function that may free memory). */
PERP_NODISCARD perp_status perpi_arena_reset(perpi_arena* arena);
/* perpi_arena_take where the newest block may be too small. */
PERP_NODISCARD perp_status perpi_arena_take_now(perpi_arena* arena, size_t count, size_t size,
                                                void* p);

/* count items of size bytes, 16-byte aligned, not zeroed. p: address of the pointer to set. */
PERP_NODISCARD static inline perp_status perpi_arena_take(perpi_arena* arena, size_t count,
                                                          size_t size, void* p)
{
    if (size == 0 || count > (SIZE_MAX - 64) / size || arena->last == NULL) {
        return perpi_arena_take_now(arena, count, size, p);
    }
    const size_t bytes = (count * size + 15) & ~(size_t)15;
    if (arena->last->capacity - arena->used < bytes) {
        return perpi_arena_take_now(arena, count, size, p);
    }
    void* taken = arena->last->data + arena->used;
    memcpy(p, &taken, sizeof taken);
    arena->used += bytes;
    arena->total += bytes;
    return PERP_OK;
}

#endif
