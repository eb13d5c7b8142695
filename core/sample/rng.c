/*
 * rng.c - implements Philox4x32-10.
 */
#include "core/sample/rng.h"

void cf_rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)UINT32_C(0xD2511F53) * c0;
        uint64_t b = (uint64_t)UINT32_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += UINT32_C(0x9E3779B9); /* golden ratio */
        k1 += UINT32_C(0xBB67AE85); /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

double cf_rng_uniform(uint64_t seed, uint64_t n)
{
    const uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), 0, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t r[4];
    cf_rng_philox(r, counter, key);
    uint64_t bits = (uint64_t)r[1] << 32 | r[0];
    return (double)(bits >> 11) * 0x1p-53;
}
