/* src/linalg/wide.h - functions compiled for wider registers as well.
 *
 * PERPI_WIDE before a function: the version is chosen when the program is loaded. Each entry is computed
 * alone, without fused operations, so the bits are the same. Not with sanitizers that are not ready
 * when the choice is made.
 */
#ifndef PERPI_WIDE_H
#define PERPI_WIDE_H

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&                 \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define PERPI_WIDE __attribute__((target_clones("avx2", "default")))
/* Of a function for registers of eight numbers, which is called where PERPI_HAS_WIDER. */
#define PERPI_WIDER __attribute__((target("avx512f")))
#define PERPI_HAS_WIDER __builtin_cpu_supports("avx512f")
#else
#define PERPI_WIDE
#endif

/* What such a function calls must become part of it. */
#define PERPI_INLINE static inline __attribute__((always_inline))

/* f(rows, ...) of an inline function, compiled for the two rows of a planar contact, for the three of a
 * spatial one and for any number: loops over a known number of rows are unrolled. */
#define PERPI_BY_ROWS(f, rows, ...)                                                                \
    ((rows) == 2 ? f(2, __VA_ARGS__) : (rows) == 3 ? f(3, __VA_ARGS__) : f(rows, __VA_ARGS__))

#endif
