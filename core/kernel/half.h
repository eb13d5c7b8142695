/*
 * half.h - 16-bit floats in plain C: IEEE 754 binary16 and bfloat16.
 *
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_HALF_H
#define CF_CORE_KERNEL_HALF_H

#include <stdint.h>
#include <string.h>

/* The sixteen values of IQ4_NL and IQ4_XS. */
extern const int8_t cf_iq4_values[16];

static inline float cf_bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t cf_float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float cf_bf16_to_float(uint16_t h)
{
    return cf_bits_float((uint32_t)h << 16);
}

static inline float cf_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t rest = h & 0x7FFF;
    if (rest >= 0x7C00) { /* infinity and NaN (made quiet) */
        uint32_t quiet = rest > 0x7C00 ? 0x400000 : 0;
        return cf_bits_float(sign | 0x7F800000 | (rest & 0x3FF) << 13 | quiet);
    }
    if (rest < 0x0400) { /* subnormal: rest * 2^-24 is exact */
        float f = (float)rest * 0x1p-24f;
        return cf_bits_float(sign | cf_float_bits(f));
    }
    return cf_bits_float(sign | ((rest << 13) + (112u << 23)));
}

/* Round to nearest, ties to even; too large becomes infinity. */
static inline uint16_t cf_float_to_half(float f)
{
    uint32_t u = cf_float_bits(f);
    uint32_t sign = u >> 16 & 0x8000, rest = u & 0x7FFFFFFF;
    if (rest > 0x7F800000) {
        return (uint16_t)(sign | 0x7E00 | (rest >> 13 & 0x3FF));
    }
    if (rest >= 0x477FF000) { /* 65520 and up */
        return (uint16_t)(sign | 0x7C00);
    }
    if (rest < 0x38800000) { /* below 2^-14: adding 0.5 leaves the rounded
                                multiple of 2^-24 in the low bits */
        float r = cf_bits_float(rest) + 0.5f;
        return (uint16_t)(sign | (cf_float_bits(r) - 0x3F000000));
    }
    uint32_t odd = rest >> 13 & 1;
    return (uint16_t)(sign | (rest - (112u << 23) + 0xFFF + odd) >> 13);
}

#endif
