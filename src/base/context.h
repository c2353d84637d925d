/* src/base/context.h - memory, errors and user registrations, for all modules.
 *
 * Memory comes from the context's allocator only. Arrays that live as long as a simulation are
 * grown with perpi_grow (doubling, never shrinking); per-call scratch comes from an arena.
 */
#ifndef PERPI_CONTEXT_H
#define PERPI_CONTEXT_H

#include <stdarg.h>

#include "perp/base.h"

/* A programmer's mistake. On in debug, in sanitised and in CI's optimised builds. */
#if defined(PERP_ASSERTS) || !defined(NDEBUG)
#define PERP_ASSERT(condition)                                                                     \
    ((condition) ? (void)0 : perpi_assert_failed(#condition, __FILE__, __LINE__))
#else
#define PERP_ASSERT(condition) ((void)sizeof(condition))
#endif
_Noreturn void perpi_assert_failed(const char* condition, const char* file, int line);

/* Records the message (printf style, truncated at 2047 bytes) and returns status. */
perp_status perpi_fail(perp_context* context, perp_status status, const char* format, ...)
    PERP_PRINTF(3, 4);
/* The same status with "prefix: " put before the message already recorded. */
perp_status perpi_fail_prefix(perp_context* context, perp_status status, const char* prefix);
void perpi_log(perp_context* context, perp_log_level level, const char* format, ...)
    PERP_PRINTF(3, 4);

/* The struct_size of a def called `name`: PERP_ERROR_INPUT unless it is 0 or that of this library. */
PERP_NODISCARD perp_status perpi_check_struct(perp_context* context, const char* name, size_t given,
                                              size_t size);

/* Zeroed memory for count items of size bytes. *p is set only on success; count 0 gives NULL.
 * Overflow of the product is PERP_ERROR_MEMORY. */
PERP_NODISCARD perp_status perpi_alloc(perp_context* context, size_t count, size_t size, void* p);
/* Grows *array (a pointer to a pointer, passed as void*) to hold at least need items; old items
 * are kept, new ones zeroed. capacity is in items. */
PERP_NODISCARD perp_status perpi_grow_now(perp_context* context, void* array, size_t* capacity,
                                          size_t need, size_t size);
PERP_NODISCARD static inline perp_status perpi_grow(perp_context* context, void* array,
                                                    size_t* capacity, size_t need, size_t size)
{
    return need <= *capacity ? PERP_OK : perpi_grow_now(context, array, capacity, need, size);
}
void perpi_free(perp_context* context, void* p);
/* A copy of the first length bytes, zero-terminated. */
PERP_NODISCARD perp_status perpi_strndup(perp_context* context, const char* text, size_t length,
                                         char** copy);

/* Pieces that a user registered, by kind. The tables are borrowed. */
typedef enum perpi_piece {
    PERPI_PIECE_METHOD,
    PERPI_PIECE_OWNED, /* memory that the context frees at its end */
    PERPI_PIECE_STEPPER,
    PERPI_PIECE_CONTACT_MODEL,
    PERPI_PIECE_COUNT
} perpi_piece;
PERP_NODISCARD perp_status perpi_register(perp_context* context, perpi_piece kind, const void* ops);
const void* perpi_registered(const perp_context* context, perpi_piece kind, int32_t index);

/* The candidate nearest to `word` by edit distance if it is near enough to be a typing error, else
 * NULL. candidates: NULL-terminated. */
const char* perpi_nearest(const char* word, const char* const* candidates);
/* PERP_ERROR_INPUT: "unknown KIND 'WORD': did you mean 'X'?", or the list of candidates. */
perp_status perpi_fail_unknown(perp_context* context, const char* kind, const char* word,
                               const char* const* candidates);

#endif
