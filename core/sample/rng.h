/*
 * rng.h - random numbers by counter: the n-th one is a function of (seed, n),
 * so going back to any draw costs nothing.
 *
 * Source: Philox4x32-10, J. K. Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", 2011.
 *
 * Threads:  no state.
 */
#ifndef CF_CORE_SAMPLE_RNG_H
#define CF_CORE_SAMPLE_RNG_H

#include <stdint.h>

/* Ten rounds over a 128-bit counter with a 64-bit key. */
void cf_rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* The n-th number of the stream `seed`: uniform in [0, 1), 53 bits. */
double cf_rng_uniform(uint64_t seed, uint64_t n);

#endif
