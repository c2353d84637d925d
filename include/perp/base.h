/* perp/base.h - status, context, log and version, which every other header uses.
 *
 * Three kinds of errors are kept separate:
 *   1. a programmer's mistake            -> an assertion inside the library
 *   2. bad input or missing resources    -> perp_status; the context holds the message
 *   3. how a computation ended           -> perp_outcome inside a perp_report; not an error
 * The library never exits, prints, or keeps mutable global state.
 */
#ifndef PERP_BASE_H
#define PERP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perp/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PERP_API __attribute__((visibility("default")))
#define PERP_NODISCARD __attribute__((warn_unused_result))
#define PERP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PERP_DEPRECATED(instead) __attribute__((deprecated(instead)))
#else
#define PERP_API
#define PERP_NODISCARD
#define PERP_PRINTF(fmt, args)
#define PERP_DEPRECATED(instead)
#endif

/* The version of the library that runs, as major * 10000 + minor * 100 + patch, and as text, "0.2.0".
 * PERP_VERSION_NUMBER and PERP_VERSION_STRING are those of the header that was compiled; while the
 * major version is 0, a program must run with the minor version that it was compiled for. */
PERP_API int32_t perp_version(void);
PERP_API const char* perp_version_string(void);

/* The result of a call. Anything but PERP_OK leaves the outputs untouched and a message in the
 * context. The numbers are part of the ABI. */
typedef enum perp_status {
    PERP_OK = 0,
    PERP_ERROR_INPUT = 1,       /* the caller's data violate a stated rule */
    PERP_ERROR_MEMORY = 2,      /* the allocator returned NULL */
    PERP_ERROR_IO = 3,          /* a file could not be read or written (disk full, ...) */
    PERP_ERROR_UNSUPPORTED = 4, /* a known name that is not implemented yet */
    PERP_ERROR_NUMERIC = 5,     /* a value that must be finite is not, while running */
    PERP_ERROR_SOLVE = 6,       /* a step's problem was not solved to its tolerance */
    PERP_ERROR_CANCELLED = 7,   /* a callback asked to stop */
} perp_status;

/* "bad input", "out of memory", ... never NULL. */
PERP_API const char* perp_status_name(perp_status status);

/* How an iteration ended. Not an error: the call itself succeeded. */
typedef enum perp_outcome {
    PERP_OUTCOME_UNSET = 0,
    PERP_OUTCOME_SOLVED,
    PERP_OUTCOME_MAX_ITER,
    PERP_OUTCOME_TIME_LIMIT,
    PERP_OUTCOME_RAY,         /* Lemke's secondary ray: no solution found, possibly none exists */
    PERP_OUTCOME_NO_SOLUTION, /* proved infeasible */
    PERP_OUTCOME_BREAKDOWN,   /* numerical breakdown: singular basis, overflow */
    PERP_OUTCOME_CANCELLED,
} perp_outcome;

/* "solved", "max-iter", ... never NULL. */
PERP_API const char* perp_outcome_name(perp_outcome outcome);

/* The allocator. resize(user, NULL, n) allocates, resize(user, p, 0) frees and returns NULL. */
typedef struct perp_allocator {
    void* (*resize)(void* user, void* p, size_t size);
    void* user;
} perp_allocator;

typedef enum perp_log_level { PERP_LOG_INFO = 0, PERP_LOG_WARNING = 1 } perp_log_level;
typedef void (*perp_log_fn)(void* user, perp_log_level level, const char* message);

typedef struct perp_context_def {
    perp_allocator allocator; /* resize NULL: the C library's */
    perp_log_fn log;          /* NULL: silent */
    void* log_user;
} perp_context_def;

PERP_API perp_context_def perp_context_def_default(void);

/* Owns the allocator, the log, the last error and registered extensions. A context may be used
 * by one thread at a time; different contexts are independent. */
typedef struct perp_context perp_context;

/* def: NULL for the defaults; copied. */
PERP_API PERP_NODISCARD perp_status perp_context_create(const perp_context_def* def,
                                                        perp_context** context);
/* Everything created with the context must be destroyed before it. NULL is allowed. */
PERP_API void perp_context_destroy(perp_context* context);

/* The message of the last call that failed; "" if none did. Valid until the next failure. */
PERP_API const char* perp_context_error(const perp_context* context);

/* How many threads the functions that are called with the context may use; results do not depend on
 * it, to the bit. 0, the default: the number in the environment variable PERP_THREADS, or without
 * one all processors. The threads start with the first problem that is large enough to gain from
 * them. Callbacks are called from the caller's thread alone, except for the allocator: calls of it
 * come from several threads, one at a time. */
PERP_API PERP_NODISCARD perp_status perp_context_set_threads(perp_context* context,
                                                             int32_t threads);
/* The number that was set. */
PERP_API int32_t perp_context_threads(const perp_context* context);

/* How many times the context has requested memory from its allocator (new or larger blocks). A
 * test reads it before and after a step to show that a warm step allocates nothing. */
PERP_API uint64_t perp_context_allocations(const perp_context* context);

#ifdef __cplusplus
}
#endif
#endif
