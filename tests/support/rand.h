/*
 * rand.h - repeatable random numbers for property tests (SplitMix64).
 */
#ifndef CF_TESTS_SUPPORT_RAND_H
#define CF_TESTS_SUPPORT_RAND_H

#include <stddef.h>
#include <stdint.h>

typedef struct cf_rand {
    uint64_t s;
} cf_rand;

static inline uint64_t cf_rand_u64(cf_rand *r)
{
    uint64_t z = r->s += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* 0 .. n-1 */
static inline size_t cf_rand_below(cf_rand *r, size_t n)
{
    return (size_t)(cf_rand_u64(r) % n);
}

/* -1 .. 1 */
static inline float cf_rand_float(cf_rand *r)
{
    return (float)(cf_rand_u64(r) >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

#endif
