/*
 * recode.c - takes the blocks of each type apart into bytes and scales.
 *
 * Layouts: dtype.c and dtype_iq.c, whose weights these are worth.  Eight weights
 * are one 64-bit number: a byte each, in the order of memory on the machines
 * that confab runs on, which are little-endian.
 */
#include "core/kernel/recode.h"

#include <string.h>

#include "core/kernel/dtype_iq.h"
#include "core/kernel/dtype_iqk.h"
#include "core/kernel/half.h"

#define EACH_BYTE UINT64_C(0x0101010101010101)

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

static unsigned nibble(const unsigned char *p, int i)
{
    return p[i / 2] >> (4 * (i % 2)) & 15u;
}

/* Eight weights from number 8 i on, of a block that begins at out. */
static void put_eight(unsigned char *out, int i, uint64_t codes)
{
    memcpy(out + i / 4 * CF_RECODED_BYTES + 8 + i % 4 * 8, &codes, sizeof codes);
}

/* The scale of 16 weights from number 16 i on. */
static void put_scale(unsigned char *out, int i, float scale)
{
    memcpy(out + i / 2 * CF_RECODED_BYTES + i % 2 * 4, &scale, sizeof scale);
}

/* ---- grids -------------------------------------------------------------- */

/* Eight fields of two bits, a byte each: their bits are moved apart by halves. */
static uint64_t spread_twos(uint64_t v)
{
    v = (v | v << 24) & UINT64_C(0x000000FF000000FF);
    v = (v | v << 12) & UINT64_C(0x000F000F000F000F);
    return (v | v << 6) & UINT64_C(0x0303030303030303);
}

/* Bit i of `bits` in byte i: 255 where it is set. */
static uint64_t spread_signs(unsigned bits)
{
    uint64_t own = (bits * EACH_BYTE) & UINT64_C(0x8040201008040201);
    own = (own + UINT64_C(0x7F7F7F7F7F7F7F7F)) | own; /* the top bit where any is set */
    return (own >> 7 & EACH_BYTE) * 255;
}

/* Seven signs and the one that makes them even. */
static unsigned even_signs(unsigned seven)
{
    return seven | (unsigned)(__builtin_parity(seven) << 7);
}

/* Magnitudes from 1 to 127 with signs. */
static uint64_t with_signs(uint64_t size, unsigned signs)
{
    uint64_t minus = spread_signs(signs);
    return (size ^ minus) + (minus & EACH_BYTE);
}

/* IQ2's 8, 25 and 43 of fields 0, 1 and 2: 8 + 17 f + (f > 1). */
static uint64_t iq2_sizes(unsigned entry)
{
    uint64_t f = spread_twos(entry);
    return 8 * EACH_BYTE + 17 * f + (f >> 1 & EACH_BYTE);
}

static void from_iq2_xxs(unsigned char *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int g = 0; g < 8; g++) {
        const unsigned char *p = b + 2 + 8 * g;
        uint32_t word = u32(p + 4);
        float by = d * (0.5f + (float)(word >> 28)) * 0.25f;
        put_scale(out, 2 * g, by);
        put_scale(out, 2 * g + 1, by);
        for (int i = 0; i < 4; i++) {
            put_eight(
                out, 4 * g + i,
                with_signs(iq2_sizes(cf_grid_iq2_xxs[p[i]]), even_signs(word >> (7 * i) & 127)));
        }
    }
}

static void from_iq2_xs(unsigned char *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        uint32_t q = u16(b + 2 + 2 * i);
        put_eight(out, i, with_signs(iq2_sizes(cf_grid_iq2_xs[q & 511]), even_signs(q >> 9)));
    }
    for (int i = 0; i < 16; i++) {
        put_scale(out, i, d * (0.5f + (float)nibble(b + 66, i)) * 0.25f);
    }
}

static void from_iq2_s(unsigned char *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        unsigned high = b[66 + i / 4] >> (2 * (i % 4)) & 3u;
        put_eight(out, i, with_signs(iq2_sizes(cf_grid_iq2_s[b[2 + i] | high << 8]), b[34 + i]));
    }
    for (int i = 0; i < 16; i++) {
        put_scale(out, i, d * (0.5f + (float)nibble(b + 74, i)) * 0.25f);
    }
}

/* Two entries of four fields of three bits, a byte each. */
static uint64_t spread_threes(unsigned first, unsigned next)
{
    uint64_t v = first | (uint64_t)next << 32;
    v = (v | v << 10) & UINT64_C(0x003F003F003F003F);
    return (v | v << 5) & UINT64_C(0x0707070707070707);
}

/* IQ3_XXS: 4, 12 .. 52 and 62: 4 + 8 f + 2 (f = 7). */
static void from_iq3_xxs(unsigned char *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        uint32_t word = u32(b + 66 + i / 4 * 4);
        const unsigned char *q = b + 2 + 2 * i;
        uint64_t f = spread_threes(cf_grid_iq3_xxs[q[0]], cf_grid_iq3_xxs[q[1]]);
        uint64_t is_seven = f & f >> 1 & f >> 2 & EACH_BYTE;
        put_eight(out, i,
                  with_signs(4 * EACH_BYTE + 8 * f + 2 * is_seven,
                             even_signs(word >> (7 * (i % 4)) & 127)));
        if (i % 2 == 0) {
            put_scale(out, i / 2, d * (0.5f + (float)(word >> 28)) * 0.5f);
        }
    }
}

/* 1, 3 .. 15: 1 + 2 f. */
static void from_iq3_s(unsigned char *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        unsigned high = b[66 + i / 4] >> (2 * (i % 4));
        const unsigned char *q = b + 2 + 2 * i;
        uint64_t f = spread_threes(cf_grid_iq3_s[q[0] | (high & 1) << 8],
                                   cf_grid_iq3_s[q[1] | (high & 2) << 7]);
        put_eight(out, i, with_signs(EACH_BYTE + 2 * f, b[74 + i]));
        if (i % 2 == 0) {
            put_scale(out, i / 2, d * (float)(1 + 2 * nibble(b + 106, i / 4)));
        }
    }
}

/* -1, 0 and 1 moved by an eighth, in eighths: 8 (f - 1) + 1 or - 1.  Eight is
 * added to stay above 0, and taken away from each byte by itself. */
static uint64_t ternary(unsigned entry, bool is_down)
{
    uint64_t v = 8 * spread_twos(entry) + (is_down ? 7 : 9) * EACH_BYTE;
    return ((v | 128 * EACH_BYTE) - 16 * EACH_BYTE) ^ 128 * EACH_BYTE;
}

static void from_iq1_s(unsigned char *out, const unsigned char *b)
{
    float d = half_at(b) * 0.125f;
    for (int i = 0; i < 32; i++) {
        uint32_t word = u16(b + 34 + i / 4 * 2);
        uint32_t high = word >> (3 * (i % 4)) & 7;
        put_eight(out, i, ternary(cf_grid_iq1[b[2 + i] | high << 8], word >> 15 != 0));
        if (i % 2 == 0) {
            put_scale(out, i / 2, d * (float)(2 * (word >> 12 & 7) + 1));
        }
    }
}

static void from_iq1_m(unsigned char *out, const unsigned char *b)
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) {
        bits |= u16(b + 48 + 2 * i) >> 12 << (4 * i);
    }
    float d = cf_half_to_float((uint16_t)bits) * 0.125f;
    for (int i = 0; i < 32; i++) {
        unsigned high = nibble(b + 32, i);
        put_eight(out, i, ternary(cf_grid_iq1[b[i] | (high & 7) << 8], (high & 8) != 0));
    }
    for (int i = 0; i < 16; i++) {
        uint32_t scale = u16(b + 48 + i / 4 * 2) >> (3 * (i % 4)) & 7;
        put_scale(out, i, d * (float)(2 * scale + 1));
    }
}

static void from_q1_0(unsigned char *out, const unsigned char *b)
{
    for (int i = 0; i < 16; i++) {
        put_eight(out, i, with_signs(EACH_BYTE, ~(unsigned)b[2 + i] & 255));
        if (i % 2 == 0) {
            put_scale(out, i / 2, half_at(b));
        }
    }
}

static void from_q2_0(unsigned char *out, const unsigned char *b)
{
    for (int i = 0; i < 8; i++) {
        uint64_t v = spread_twos(u16(b + 2 + 2 * i));
        put_eight(out, i, ((v | 128 * EACH_BYTE) - EACH_BYTE) ^ 128 * EACH_BYTE);
        if (i % 2 == 0) {
            put_scale(out, i / 2, half_at(b));
        }
    }
}

/* ---- bytes one by one --------------------------------------------------- */

/* Scales of n weights, and their bytes. */
static void put_bytes(unsigned char *out, const int8_t *codes, int n, const float *scale,
                      int per_scale)
{
    for (int i = 0; i < n / 8; i++) {
        uint64_t eight;
        memcpy(&eight, codes + 8 * i, sizeof eight);
        put_eight(out, i, eight);
    }
    for (int i = 0; i < n / 16; i++) {
        put_scale(out, i, scale[16 * i / per_scale]);
    }
}

static void from_tq1_0(unsigned char *out, const unsigned char *b)
{
    static const struct {
        int at, n_byte, n_digit;
    } part[3] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
    static const unsigned char power[5] = {1, 3, 9, 27, 81};
    int8_t codes[256], *to = codes;
    float d = half_at(b + 52);
    for (int p = 0; p < 3; p++) {
        for (int n = 0; n < part[p].n_digit; n++) {
            for (int i = 0; i < part[p].n_byte; i++) {
                unsigned char q = (unsigned char)(b[part[p].at + i] * power[n]);
                *to++ = (int8_t)((q * 3 >> 8) - 1);
            }
        }
    }
    put_bytes(out, codes, 256, &d, 256);
}

static void from_tq2_0(unsigned char *out, const unsigned char *b)
{
    int8_t codes[256];
    float d = half_at(b + 64);
    for (int part = 0; part < 8; part++) {
        for (int i = 0; i < 32; i++) {
            int q = b[part / 4 * 32 + i] >> (part % 4 * 2) & 3;
            codes[32 * part + i] = (int8_t)(q - 1);
        }
    }
    put_bytes(out, codes, 256, &d, 256);
}

/* Twice what a four-bit float is worth. */
static const int8_t twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void from_mxfp4(unsigned char *out, const unsigned char *b)
{
    int8_t codes[32];
    float d = cf_half_e8m0(b[0]);
    for (int i = 0; i < 16; i++) {
        codes[i] = twice[b[1 + i] & 15];
        codes[i + 16] = twice[b[1 + i] >> 4];
    }
    put_bytes(out, codes, 32, &d, 32);
}

static void from_nvfp4(unsigned char *out, const unsigned char *b)
{
    int8_t codes[64];
    float d[4];
    for (int k = 0; k < 4; k++) {
        d[k] = cf_ue4m3(b[k]) * 0.5f;
        for (int i = 0; i < 8; i++) {
            codes[16 * k + i] = twice[b[4 + 8 * k + i] & 15];
            codes[16 * k + 8 + i] = twice[b[4 + 8 * k + i] >> 4];
        }
    }
    put_bytes(out, codes, 64, d, 16);
}

#define FROM_IQK(name, type)                                     \
    static void name(unsigned char *out, const unsigned char *b) \
    {                                                            \
        int8_t codes[CF_IQK_WEIGHTS];                            \
        float scale[CF_IQK_SCALES];                              \
        cf_iqk_split(type, b, codes, scale);                     \
        put_bytes(out, codes, CF_IQK_WEIGHTS, scale, 16);        \
    }

FROM_IQK(from_iq2_k, CF_IQ2_K)
FROM_IQK(from_iq3_k, CF_IQ3_K)
FROM_IQK(from_iq4_k, CF_IQ4_K)
FROM_IQK(from_iq5_k, CF_IQ5_K)
FROM_IQK(from_iq6_k, CF_IQ6_K)

/* ---- all of them -------------------------------------------------------- */

typedef void (*recode_fn)(unsigned char *out, const unsigned char *b);

static const recode_fn fns[CF_DTYPE_COUNT] = {
    [CF_IQ2_XXS] = from_iq2_xxs, [CF_IQ2_XS] = from_iq2_xs, [CF_IQ2_S] = from_iq2_s,
    [CF_IQ3_XXS] = from_iq3_xxs, [CF_IQ3_S] = from_iq3_s,   [CF_IQ1_S] = from_iq1_s,
    [CF_IQ1_M] = from_iq1_m,     [CF_TQ1_0] = from_tq1_0,   [CF_TQ2_0] = from_tq2_0,
    [CF_MXFP4] = from_mxfp4,     [CF_NVFP4] = from_nvfp4,   [CF_Q1_0] = from_q1_0,
    [CF_Q2_0] = from_q2_0,       [CF_IQ2_K] = from_iq2_k,   [CF_IQ3_K] = from_iq3_k,
    [CF_IQ4_K] = from_iq4_k,     [CF_IQ5_K] = from_iq5_k,   [CF_IQ6_K] = from_iq6_k,
};

bool cf_recode_can(cf_dtype type)
{
    return (unsigned)type < CF_DTYPE_COUNT && fns[type] != NULL;
}

void cf_recode(cf_dtype type, unsigned char *out, const unsigned char *in, size_t n)
{
    cf_dtype_info info = cf_dtype_get(type);
    for (size_t i = 0; i < n / info.n_block; i++) {
        fns[type](out, in + i * info.blk_bytes);
        out += info.n_block / CF_RECODED_COLS * CF_RECODED_BYTES;
    }
}
