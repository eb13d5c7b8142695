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

/* The rest is for weight j of the 16 of scale g. */

/* Two bits in four planes of 32 bytes for each half of a block. */
static int plane2(const unsigned char *p, int g, int j)
{
    return p[g / 8 * 32 + g % 2 * 16 + j] >> (g / 2 % 4 * 2) & 3;
}

/* A bit in eight planes of 32 bytes. */
static int plane1(const unsigned char *p, int g, int j)
{
    return p[g % 2 * 16 + j] >> (g / 2) & 1;
}

/* Nibbles of 32 bytes for each 64 weights: low ones first. */
static int nibble_of_64(const unsigned char *p, int g, int j)
{
    return p[g / 4 * 32 + g % 2 * 16 + j] >> (g / 2 % 2 * 4) & 15;
}

/* The same of 16 bytes for each 32. */
static int nibble_of_32(const unsigned char *p, int g, int j)
{
    return p[g / 2 * 16 + j] >> (g % 2 * 4) & 15;
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

/* One loop for each type: much of the time to load such a file. */
#define EACH_VALUE(value)                   \
    for (int j = 0; j < 16; j++) {          \
        code[j] = (int8_t)((value) + more); \
    }                                       \
    break

static void put_values(cf_dtype type, const unsigned char *b, int g, int8_t code[16])
{
    int more = b[2 + g / 8] >> (g % 8) & 1;
    switch ((unsigned)type) {
    case CF_IQ2_K:
        more *= 5;
        EACH_VALUE(values2[plane2(b + 12, g, j)]);
    case CF_IQ3_K:
        more *= 4;
        EACH_VALUE(values3[plane2(b + 14, g, j) | plane1(b + 78, g, j) << 2]);
    case CF_IQ4_K:
        more *= 4;
        EACH_VALUE(cf_iq4_values[nibble_of_32(b + 16, g, j)]);
    case CF_IQ5_K:
        more *= 2;
        EACH_VALUE(values5[nibble_of_64(b + 16, g, j) | plane1(b + 144, g, j) << 4]);
    default:
        EACH_VALUE(values6[nibble_of_64(b + 20, g, j) | plane2(b + 148, g, j) << 4]);
    }
}

void cf_iqk_split(cf_dtype type, const unsigned char *b, int8_t code[CF_IQK_WEIGHTS],
                  float scale[CF_IQK_SCALES])
{
    float d = cf_half_to_float((uint16_t)(b[0] | b[1] << 8));
    for (int g = 0; g < CF_IQK_SCALES; g++) {
        scale[g] = d * (float)scale_at(type, b, g);
        put_values(type, b, g, code + 16 * (size_t)g);
    }
}
