/* src/study/philox.c - see philox.h. */
#include "study/philox.h"

enum { ROUNDS = 10 };

perpi_philox perpi_philox4x32(const uint32_t counter[4], const uint32_t key[2])
{
    perpi_philox c = {{counter[0], counter[1], counter[2], counter[3]}};
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < ROUNDS; ++i) {
        const uint64_t p = (uint64_t)0xD2511F53u * c.v[0];
        const uint64_t q = (uint64_t)0xCD9E8D57u * c.v[2];
        c = (perpi_philox){{(uint32_t)(q >> 32) ^ c.v[1] ^ k0, (uint32_t)q,
                            (uint32_t)(p >> 32) ^ c.v[3] ^ k1, (uint32_t)p}};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}
