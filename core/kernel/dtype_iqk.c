/*
 * dtype_iqk.c - takes the blocks of IQ2_K to IQ6_K apart.
 *
 * Each 16 weights have a scale, and a bit of "extra" that says whether their
 * values are those of the list or all a little larger.
 */
#include "core/kernel/dtype_iqk.h"

#include "core/kernel/half.h"

static const int8_t values2[4] = {-31, -13, 1, 17};
static const int8_t values3[8] = {-63, -40, -23, -10, 1, 13, 28, 47};
static const int8_t values5[32] = {-126, -114, -103, -92, -83, -74, -65, -57, -50, -43, -36,
                                   -30,  -24,  -18,  -12, -6,  -1,  5,   11,  17,  23,  29,
                                   36,   43,   51,   59,  68,  77,  87,  97,  109, 121};
static const int8_t values6[64] = {
    -127, -121, -115, -109, -104, -98, -93, -88, -84, -79, -74, -70, -66, -62, -58, -54,
    -51,  -47,  -44,  -40,  -37,  -34, -31, -28, -25, -22, -19, -16, -13, -11, -8,  -5,
    -2,   0,    3,    6,    9,    12,  14,  17,  20,  23,  27,  30,  33,  36,  40,  44,
    47,   51,   55,   59,   63,   68,  72,  77,  82,  87,  92,  98,  103, 109, 115, 121};

/* The n bits (2 or 4) number i of bytes, from the lowest up. */
static int bits(const unsigned char *p, int i, int n)
{
    return p[i * n / 8] >> (i * n % 8) & ((1 << n) - 1);
}

/* Two bits in four planes of 32 bytes for each half of a block. */
static int plane2(const unsigned char *p, int i)
{
    return p[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

/* A bit in eight planes of 32 bytes. */
static int plane1(const unsigned char *p, int i)
{
    return p[i % 32] >> (i / 32) & 1;
}

/* Nibbles of 32 bytes for each 64 weights: low ones first. */
static int nibble_of_64(const unsigned char *p, int i)
{
    return p[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
}

/* The same of 16 bytes for each 32. */
static int nibble_of_32(const unsigned char *p, int i)
{
    return p[i / 32 * 16 + i % 16] >> (i / 16 % 2 * 4) & 15;
}

/* The scale of 16 weights, without d. */
static int scale_at(cf_dtype type, const unsigned char *b, int g)
{
    switch ((unsigned)type) {
    case CF_IQ2_K:
        return bits(b + 4, g, 4) - 8;
    case CF_IQ3_K: /* signs are apart */
        return (2 * bits(b + 6, g, 4) + 1) * ((b[4 + g / 8] >> (g % 8) & 1) != 0 ? -1 : 1);
    case CF_IQ6_K:
        return (int8_t)b[4 + g];
    default: /* high bits, then low ones */
        return (bits(b + 8, g, 4) | bits(b + 4, g, 2) << 4) - 32;
    }
}

static int value_at(cf_dtype type, const unsigned char *b, int i, int is_larger)
{
    switch ((unsigned)type) {
    case CF_IQ2_K:
        return values2[plane2(b + 12, i)] + 5 * is_larger;
    case CF_IQ3_K:
        return values3[plane2(b + 14, i) | plane1(b + 78, i) << 2] + 4 * is_larger;
    case CF_IQ4_K:
        return cf_iq4_values[nibble_of_32(b + 16, i)] + 4 * is_larger;
    case CF_IQ5_K:
        return values5[nibble_of_64(b + 16, i) | plane1(b + 144, i) << 4] + 2 * is_larger;
    default:
        return values6[nibble_of_64(b + 20, i) | plane2(b + 148, i) << 4] + is_larger;
    }
}

void cf_iqk_split(cf_dtype type, const unsigned char *b, int8_t code[CF_IQK_WEIGHTS],
                  float scale[CF_IQK_SCALES])
{
    float d = cf_half_to_float((uint16_t)(b[0] | b[1] << 8));
    for (int g = 0; g < CF_IQK_SCALES; g++) {
        int is_larger = b[2 + g / 8] >> (g % 8) & 1;
        scale[g] = d * (float)scale_at(type, b, g);
        for (int i = 16 * g; i < 16 * (g + 1); i++) {
            code[i] = (int8_t)value_at(type, b, i, is_larger);
        }
    }
}
