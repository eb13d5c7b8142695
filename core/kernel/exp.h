/*
 * exp.h - exp(x) in plain C that compilers turn into vectors.
 *
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_EXP_H
#define CF_CORE_KERNEL_EXP_H

#include <math.h>

#include "core/kernel/half.h"

/* exp(x) to about one unit in the last place: x = n ln 2 + r with ln 2 in two
 * parts, and a polynomial for exp(r), |r| <= ln 2 / 2 (coefficients from
 * Moshier's Cephes library).  2^n is put together from two factors, so that
 * results below the normal range come out too. */
static inline float exp_one(float x)
{
    x = x > -104.0f ? x : -104.0f;
    x = x < 89.0f ? x : 89.0f;
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = fmaf(n, -0.693359375f, x);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = fmaf(p, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r) + 1.0f;
    int32_t i = (int32_t)n, half = i / 2;
    float a = cf_bits_float((uint32_t)(half + 127) << 23);
    float b = cf_bits_float((uint32_t)(i - half + 127) << 23);
    return p * a * b;
}

#endif
