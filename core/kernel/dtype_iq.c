/*
 * dtype_iq.c - weights from codebooks, and ternary weights.
 *
 * Eight (or four) weights at a time are an entry of a grid, each with a sign;
 * a signs byte has one bit a weight, and where only seven are stored, the
 * eighth makes the number of minus signs even.
 */
#include "core/kernel/dtype_iq.h"

#include <stdbool.h>

#include "core/kernel/half.h"

static uint32_t u16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const unsigned char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static float half_at(const unsigned char *p)
{
    return cf_half_to_float((uint16_t)u16(p));
}

/* The nibble i of bytes. */
static int nibble(const unsigned char *p, int i)
{
    return p[i / 2] >> (4 * (i % 2)) & 15;
}

/* Seven signs and the one that makes them even. */
static unsigned even_signs(unsigned seven)
{
    unsigned odd = seven ^ seven >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return seven | (odd & 1) << 7;
}

/* out[8] = d * the entry's magnitudes, with signs. */
static void put_eight(float *out, float d, unsigned entry, unsigned signs)
{
    static const float size[4] = {8, 25, 43, 0};
    for (int i = 0; i < 8; i++) {
        float v = d * size[entry >> (2 * i) & 3];
        out[i] = (signs >> i & 1) != 0 ? -v : v;
    }
}

/* For each 32 weights: four indices; then signs and a scale in 32 bits. */
void cf_from_iq2_xxs(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int g = 0; g < 8; g++) {
        const unsigned char *p = b + 2 + 8 * g;
        uint32_t word = u32(p + 4);
        float by = d * (0.5f + (float)(word >> 28)) * 0.25f;
        for (int i = 0; i < 4; i++) {
            put_eight(out + 32 * g + 8 * i, by, cf_grid_iq2_xxs[p[i]],
                      even_signs(word >> (7 * i) & 127));
        }
    }
}

/* 32 numbers of 9 bits of index and 7 of signs; 16 scales. */
void cf_from_iq2_xs(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        uint32_t q = u16(b + 2 + 2 * i);
        float by = d * (0.5f + (float)nibble(b + 66, i / 2)) * 0.25f;
        put_eight(out + 8 * i, by, cf_grid_iq2_xs[q & 511], even_signs(q >> 9));
    }
}

/* 32 low bytes of indices, 32 bytes of signs, two high bits each; 16 scales. */
void cf_from_iq2_s(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        unsigned high = b[66 + i / 4] >> (2 * (i % 4)) & 3u;
        float by = d * (0.5f + (float)nibble(b + 74, i / 2)) * 0.25f;
        put_eight(out + 8 * i, by, cf_grid_iq2_s[b[2 + i] | high << 8], b[34 + i]);
    }
}

static void put_four(float *out, float d, const float size[8], unsigned entry, unsigned signs)
{
    for (int i = 0; i < 4; i++) {
        float v = d * size[entry >> (3 * i) & 7];
        out[i] = (signs >> i & 1) != 0 ? -v : v;
    }
}

/* 64 indices; then for each 32 weights signs and a scale in 32 bits. */
void cf_from_iq3_xxs(float *out, const unsigned char *b)
{
    static const float size[8] = {4, 12, 20, 28, 36, 44, 52, 62};
    float d = half_at(b);
    for (int i = 0; i < 64; i++) {
        uint32_t word = u32(b + 66 + i / 8 * 4);
        float by = d * (0.5f + (float)(word >> 28)) * 0.5f;
        unsigned signs = even_signs(word >> (7 * (i % 8 / 2)) & 127);
        put_four(out + 4 * i, by, size, cf_grid_iq3_xxs[b[2 + i]], signs >> (4 * (i % 2)));
    }
}

/* 64 low bytes of indices, a high bit each, 32 bytes of signs, 8 scales. */
void cf_from_iq3_s(float *out, const unsigned char *b)
{
    static const float size[8] = {1, 3, 5, 7, 9, 11, 13, 15};
    float d = half_at(b);
    for (int i = 0; i < 64; i++) {
        unsigned high = b[66 + i / 8] >> (i % 8) & 1u;
        float by = d * (float)(1 + 2 * nibble(b + 106, i / 8));
        put_four(out + 4 * i, by, size, cf_grid_iq3_s[b[2 + i] | high << 8],
                 b[74 + i / 2] >> (4 * (i % 2)));
    }
}

/* out[8] = d * (-1, 0 or 1, moved by an eighth). */
static void put_ternary(float *out, float d, unsigned entry, bool is_down)
{
    for (int i = 0; i < 8; i++) {
        int v = (int)(entry >> (2 * i) & 3) - 1;
        out[i] = d * ((float)v + (is_down ? -0.125f : 0.125f));
    }
}

/* 32 low bytes of indices; for each 32 weights 16 bits: three high bits of
 * four indices, a scale, which way the values are moved. */
void cf_from_iq1_s(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        uint32_t word = u16(b + 34 + i / 4 * 2);
        float by = d * (float)(2 * (word >> 12 & 7) + 1);
        uint32_t high = word >> (3 * (i % 4)) & 7;
        put_ternary(out + 8 * i, by, cf_grid_iq1[b[2 + i] | high << 8], word >> 15 != 0);
    }
}

/* 32 low bytes of indices; a nibble each with three high bits and the way the
 * values are moved; four words of four scales of three bits, whose top nibbles
 * are the scale of the block. */
void cf_from_iq1_m(float *out, const unsigned char *b)
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) {
        bits |= u16(b + 48 + 2 * i) >> 12 << (4 * i);
    }
    float d = cf_half_to_float((uint16_t)bits);
    for (int i = 0; i < 32; i++) {
        uint32_t scale = u16(b + 48 + i / 8 * 2) >> (3 * (i / 2 % 4)) & 7;
        uint32_t high = (uint32_t)nibble(b + 32, i);
        put_ternary(out + 8 * i, d * (float)(2 * scale + 1), cf_grid_iq1[b[i] | (high & 7) << 8],
                    (high & 8) != 0);
    }
}

/* The digit n of base 3, from the top, of a byte that holds v / 243 * 256. */
static int digit(unsigned char byte, int n)
{
    static const unsigned char power[5] = {1, 3, 9, 27, 81};
    unsigned char q = (unsigned char)(byte * power[n]);
    return q * 3 >> 8;
}

/* 32 bytes of five digits, 16 of five, 4 of four: digit n of all bytes of a
 * part, then digit n + 1. */
void cf_from_tq1_0(float *out, const unsigned char *b)
{
    static const struct {
        int at, n_byte, n_digit;
    } part[3] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
    float d = half_at(b + 52);
    for (int p = 0; p < 3; p++) {
        for (int n = 0; n < part[p].n_digit; n++) {
            for (int i = 0; i < part[p].n_byte; i++) {
                *out++ = d * (float)(digit(b[part[p].at + i], n) - 1);
            }
        }
    }
}

/* Two bits a weight: of 32 bytes the lowest pairs first. */
void cf_from_tq2_0(float *out, const unsigned char *b)
{
    float d = half_at(b + 64);
    for (int i = 0; i < 256; i++) {
        int q = b[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
        out[i] = d * (float)(q - 1);
    }
}
