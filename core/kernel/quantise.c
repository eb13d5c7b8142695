/*
 * quantise.c - rounds blocks of 32 weights to 8 or 4 bits and a scale.
 */
#include "core/kernel/quantise.h"

#include <math.h>
#include <string.h>

#include "core/kernel/half.h"

enum { BLOCK = 32, Q8_BYTES = 34, Q4_BYTES = 18 };

bool cf_quantise_can(cf_dtype type)
{
    return type == CF_Q8_0 || type == CF_Q4_0;
}

static void put_scale(unsigned char *out, float d)
{
    uint16_t h = cf_float_to_half(d);
    out[0] = (unsigned char)h;
    out[1] = (unsigned char)(h >> 8);
}

/* The weight of the largest size, with its sign. */
static float largest(const float *x)
{
    float m = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        m = fabsf(x[i]) > fabsf(m) ? x[i] : m;
    }
    return m;
}

/* The nearest whole number, halves away from zero; 0 for what is not a number
 * or past a code, as only an infinite block has. */
static signed char nearest(float x)
{
    if (!(fabsf(x) < 127.5f)) {
        return 0;
    }
    int whole = (int)x;
    float rest = x - (float)whole;
    return (signed char)(whole + (rest >= 0.5f) - (rest <= -0.5f));
}

static void to_q8_0(unsigned char *out, const float *x)
{
    float d = fabsf(largest(x)) / 127;
    float inverse = d != 0 ? 1 / d : 0;
    put_scale(out, d);
    for (size_t i = 0; i < BLOCK; i++) {
        out[2 + i] = (unsigned char)nearest(x[i] * inverse);
    }
}

/* The largest weight becomes -8. */
static void to_q4_0(unsigned char *out, const float *x)
{
    float d = largest(x) / -8;
    float inverse = d != 0 ? 1 / d : 0;
    unsigned q[BLOCK];
    put_scale(out, d);
    for (size_t i = 0; i < BLOCK; i++) {
        float v = x[i] * inverse + 8.5f;
        q[i] = v >= 15 ? 15 : v > 0 ? (unsigned)v : 0;
    }
    for (size_t i = 0; i < BLOCK / 2; i++) {
        out[2 + i] = (unsigned char)(q[i] | q[i + BLOCK / 2] << 4);
    }
}

void cf_quantise(cf_dtype type, void *restrict out, const float *restrict x, size_t n)
{
    unsigned char *p = out;
    size_t bytes = type == CF_Q8_0 ? Q8_BYTES : Q4_BYTES;
    for (size_t i = 0; i < n; i += BLOCK, p += bytes) {
        if (type == CF_Q8_0) {
            to_q8_0(p, x + i);
        } else {
            to_q4_0(p, x + i);
        }
    }
}
