/* src/base/arena.h - scratch memory with mark and rewind.
 *
 * A step allocates from it and rewinds at its end. When a block runs out, another is chained; at
 * the next full rewind the chain is replaced by one block that would have held everything, so that
 * a warm step allocates nothing.
 */
#ifndef PERPI_ARENA_H
#define PERPI_ARENA_H

#include "base/context.h"

typedef struct perpi_arena_block perpi_arena_block;

typedef struct perpi_arena {
    perp_context* context;
    perpi_arena_block* last; /* newest block; they are chained backwards */
    size_t used;             /* in the newest block */
    size_t total;            /* taken since the last full rewind, all blocks */
    size_t peak;             /* largest total seen */
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
/* count items of size bytes, 16-byte aligned, not zeroed. p: address of the pointer to set. */
PERP_NODISCARD perp_status perpi_arena_take(perpi_arena* arena, size_t count, size_t size, void* p);

#endif
