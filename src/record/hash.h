/* src/record/hash.h - the hash of a recording.
 *
 *     h <- (rotl(h, 29) xor word) * odd constant,    one 64-bit word after another
 *
 * A step is a bijection of h for a fixed word and of the word for a fixed h. So two inputs of equal
 * length that differ in one word only always differ in the hash: every single flipped bit is
 * detected. The hash detects accidental damage, not forgery.
 */
#ifndef PERPI_RECORD_HASH_H
#define PERPI_RECORD_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PERPI_HASH_SEED UINT64_C(0x706572702d726563) /* "perp-rec" */

static inline uint64_t perpi_hash_word(uint64_t h, uint64_t word)
{
    return (((h << 29) | (h >> 35)) ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Bytes as little-endian words, the last one padded with zeros, then the number of bytes. */
static inline uint64_t perpi_hash_bytes(uint64_t h, const void* data, size_t size)
{
    const unsigned char* byte = data;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8 && at + i < size; ++i) {
            word |= (uint64_t)byte[at + i] << (8 * i);
        }
        h = perpi_hash_word(h, word);
    }
    return perpi_hash_word(h, (uint64_t)size);
}

static inline uint64_t perpi_hash_double(uint64_t h, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return perpi_hash_word(h, word);
}

#endif
