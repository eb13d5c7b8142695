/*
 * dtype.c - converts the bytes of each weight type to numbers.
 *
 * One function a type, straight from the block's layout (see
 * docs/models/quantisation.md).  All numbers in a block are little-endian and
 * unaligned; scales are binary16 unless said.  This is the definition that
 * every fast kernel is held against, so it is plain and unoptimised.
 */
#include "core/kernel/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/kernel/dtype_iq.h"
#include "core/kernel/dtype_iqk.h"
#include "core/kernel/half.h"

static const cf_dtype_info infos[CF_DTYPE_COUNT] = {
    [CF_F32] = {"F32", 1, 4},           [CF_F16] = {"F16", 1, 2},
    [CF_BF16] = {"BF16", 1, 2},         [CF_Q4_0] = {"Q4_0", 32, 18},
    [CF_Q4_1] = {"Q4_1", 32, 20},       [CF_Q5_0] = {"Q5_0", 32, 22},
    [CF_Q5_1] = {"Q5_1", 32, 24},       [CF_Q8_0] = {"Q8_0", 32, 34},
    [CF_Q2_K] = {"Q2_K", 256, 84},      [CF_Q3_K] = {"Q3_K", 256, 110},
    [CF_Q4_K] = {"Q4_K", 256, 144},     [CF_Q5_K] = {"Q5_K", 256, 176},
    [CF_Q6_K] = {"Q6_K", 256, 210},     [CF_IQ4_NL] = {"IQ4_NL", 32, 18},
    [CF_IQ4_XS] = {"IQ4_XS", 256, 136}, [CF_MXFP4] = {"MXFP4", 32, 17},
    [CF_NVFP4] = {"NVFP4", 64, 36},     [CF_Q1_0] = {"Q1_0", 128, 18},
    [CF_Q2_0] = {"Q2_0", 64, 18},       [CF_IQ1_S] = {"IQ1_S", 256, 50},
    [CF_IQ1_M] = {"IQ1_M", 256, 56},    [CF_IQ2_XXS] = {"IQ2_XXS", 256, 66},
    [CF_IQ2_XS] = {"IQ2_XS", 256, 74},  [CF_IQ2_S] = {"IQ2_S", 256, 82},
    [CF_IQ3_S] = {"IQ3_S", 256, 110},   [CF_IQ3_XXS] = {"IQ3_XXS", 256, 98},
    [CF_TQ1_0] = {"TQ1_0", 256, 54},    [CF_TQ2_0] = {"TQ2_0", 256, 66},
    [CF_IQ2_K] = {"IQ2_K", 256, 76},    [CF_IQ3_K] = {"IQ3_K", 256, 110},
    [CF_IQ4_K] = {"IQ4_K", 256, 144},   [CF_IQ5_K] = {"IQ5_K", 256, 176},
    [CF_IQ6_K] = {"IQ6_K", 256, 212},
};

/* Types that confab does not read: they do not hold weights. */
static const char *const other_names[CF_DTYPE_COUNT] = {
    [9] = "Q8_1", [15] = "Q8_K", [24] = "I8",  [25] = "I16",
    [26] = "I32", [27] = "I64",  [28] = "F64",
};

const int8_t cf_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

cf_dtype_info cf_dtype_get(uint32_t type)
{
    static const cf_dtype_info none;
    return type < CF_DTYPE_COUNT ? infos[type] : none;
}

const char *cf_dtype_name(uint32_t type)
{
    if (type >= CF_DTYPE_COUNT) {
        return NULL;
    }
    return infos[type].name != NULL ? infos[type].name : other_names[type];
}

size_t cf_dtype_row_bytes(cf_dtype type, size_t n)
{
    cf_dtype_info info = cf_dtype_get(type);
    assert(info.name && n % info.n_block == 0);
    return n / info.n_block * info.blk_bytes;
}

static float half_at(const unsigned char *p)
{
    return cf_half_to_float((uint16_t)(p[0] | p[1] << 8));
}

/* w = d * (q - 8); the low nibbles are weights 0..15, the high ones 16..31. */
static void from_q4_0(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((b[2 + i] & 15) - 8);
        out[i + 16] = d * (float)((b[2 + i] >> 4) - 8);
    }
}

/* w = d * q + m */
static void from_q4_1(float *out, const unsigned char *b)
{
    float d = half_at(b), m = half_at(b + 2);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)(b[4 + i] & 15) + m;
        out[i + 16] = d * (float)(b[4 + i] >> 4) + m;
    }
}

/* The fifth bits of weights 0..31, weight 0 in the lowest bit. */
static uint32_t fifth_bits(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* w = d * (q - 16) */
static void from_q5_0(float *out, const unsigned char *b)
{
    float d = half_at(b);
    uint32_t h = fifth_bits(b + 2);
    for (int i = 0; i < 16; i++) {
        int lo = (b[6 + i] & 15) | (int)(h >> i & 1) << 4;
        int hi = b[6 + i] >> 4 | (int)(h >> (i + 16) & 1) << 4;
        out[i] = d * (float)(lo - 16);
        out[i + 16] = d * (float)(hi - 16);
    }
}

/* w = d * q + m */
static void from_q5_1(float *out, const unsigned char *b)
{
    float d = half_at(b), m = half_at(b + 2);
    uint32_t h = fifth_bits(b + 4);
    for (int i = 0; i < 16; i++) {
        int lo = (b[8 + i] & 15) | (int)(h >> i & 1) << 4;
        int hi = b[8 + i] >> 4 | (int)(h >> (i + 16) & 1) << 4;
        out[i] = d * (float)lo + m;
        out[i + 16] = d * (float)hi + m;
    }
}

/* w = d * q */
static void from_q8_0(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++) {
        out[i] = d * (float)(int8_t)b[2 + i];
    }
}

/* scales[16] (low nibble scale, high nibble minimum), q[64] of four 2-bit
 * planes a half, d, dmin:  w = d * scale * q - dmin * minimum, 16 weights a
 * scale. */
static void from_q2_k(float *out, const unsigned char *b)
{
    const unsigned char *q = b + 16;
    float d = half_at(b + 80), dmin = half_at(b + 82);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, plane = i / 32 % 4, sc = b[i / 16];
        int v = q[half * 32 + i % 32] >> (2 * plane) & 3;
        out[i] = d * (float)(sc & 15) * (float)v - dmin * (float)(sc >> 4);
    }
}

/* Scale i of 16 in the 12 packed bytes of Q3_K: 4 low bits, then 2 high. */
static int q3_k_scale(const unsigned char *s, int i)
{
    int lo = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
    return (lo | (s[8 + i % 4] >> (2 * (i / 4)) & 3) << 4) - 32;
}

/* high[32], q[64], scales[12], d:  w = d * scale * (q - 4 where the high bit
 * is clear). */
static void from_q3_k(float *out, const unsigned char *b)
{
    const unsigned char *q = b + 32, *s = b + 96;
    float d = half_at(b + 108);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, plane = i / 32 % 4;
        int v = q[half * 32 + i % 32] >> (2 * plane) & 3;
        v -= b[i % 32] >> (4 * half + plane) & 1 ? 0 : 4;
        out[i] = d * (float)q3_k_scale(s, i / 16) * (float)v;
    }
}

/* Scale and minimum i of 8 in the 12 packed bytes of Q4_K and Q5_K: six bits
 * each; the first four lie whole, the last four in nibbles and top bits. */
static void q4_k_scale(const unsigned char *s, int i, int *scale, int *min)
{
    if (i < 4) {
        *scale = s[i] & 63;
        *min = s[i + 4] & 63;
    } else {
        *scale = (s[i + 4] & 15) | (s[i - 4] >> 6) << 4;
        *min = s[i + 4] >> 4 | (s[i] >> 6) << 4;
    }
}

/* d, dmin, scales[12], q[128]:  w = d * scale * q - dmin * minimum, 32
 * weights a scale. */
static void from_q4_k(float *out, const unsigned char *b)
{
    const unsigned char *q = b + 16;
    float d = half_at(b), dmin = half_at(b + 2);
    for (int i = 0; i < 256; i++) {
        int sub = i / 32, scale, min;
        int v = q[sub / 2 * 32 + i % 32] >> (4 * (sub % 2)) & 15;
        q4_k_scale(b + 4, sub, &scale, &min);
        out[i] = d * (float)scale * (float)v - dmin * (float)min;
    }
}

/* As Q4_K, with the fifth bits high[32] before q. */
static void from_q5_k(float *out, const unsigned char *b)
{
    const unsigned char *h = b + 16, *q = b + 48;
    float d = half_at(b), dmin = half_at(b + 2);
    for (int i = 0; i < 256; i++) {
        int sub = i / 32, scale, min;
        int v = q[sub / 2 * 32 + i % 32] >> (4 * (sub % 2)) & 15;
        v |= (h[i % 32] >> sub & 1) << 4;
        q4_k_scale(b + 4, sub, &scale, &min);
        out[i] = d * (float)scale * (float)v - dmin * (float)min;
    }
}

/* low[128], high[64], scales[16] signed, d:  w = d * scale * (q - 32). */
static void from_q6_k(float *out, const unsigned char *b)
{
    float d = half_at(b + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i / 32 % 4, l = i % 32;
        int lo = b[half * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
        int hi = b[128 + half * 32 + l] >> (2 * quarter) & 3;
        int scale = (int8_t)b[192 + i / 16];
        out[i] = d * (float)scale * (float)((lo | hi << 4) - 32);
    }
}

/* w = d * value[q] */
static void from_iq4_nl(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)cf_iq4_values[b[2 + i] & 15];
        out[i + 16] = d * (float)cf_iq4_values[b[2 + i] >> 4];
    }
}

/* d, high scale bits (16), low scale nibbles[4], q[128]:
 * w = d * (scale - 32) * value[q], 32 weights a scale. */
static void from_iq4_xs(float *out, const unsigned char *b)
{
    float d = half_at(b);
    int high = b[2] | b[3] << 8;
    for (int s = 0; s < 8; s++) {
        int lo = b[4 + s / 2] >> (4 * (s % 2)) & 15;
        float ds = d * (float)((lo | (high >> (2 * s) & 3) << 4) - 32);
        const unsigned char *q = b + 8 + 16 * s;
        for (int i = 0; i < 16; i++) {
            out[32 * s + i] = ds * (float)cf_iq4_values[q[i] & 15];
            out[32 * s + i + 16] = ds * (float)cf_iq4_values[q[i] >> 4];
        }
    }
}

/* E2M1: sign, two bits of exponent, one of mantissa (OCP Microscaling Formats
 * 1.0). */
static float e2m1(int code)
{
    static const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return code < 8 ? values[code] : -values[code - 8];
}

/* One byte s, then nibbles:  w = 2^(s - 127) * e2m1[q] */
static void from_mxfp4(float *out, const unsigned char *b)
{
    for (int i = 0; i < 16; i++) {
        out[i] = ldexpf(e2m1(b[1 + i] & 15), b[0] - 127);
        out[i + 16] = ldexpf(e2m1(b[1 + i] >> 4), b[0] - 127);
    }
}

float cf_half_e8m0(int code)
{
    return cf_bits_float(code > 1 ? (uint32_t)(code - 1) << 23 : 1U << (21 + code));
}

float cf_ue4m3(int code)
{
    int exponent = code >> 3 & 15, mantissa = code & 7;
    if ((code & 127) == 127) {
        return 0;
    }
    return exponent == 0 ? ldexpf((float)mantissa, -9)
                         : ldexpf((float)(8 + mantissa), exponent - 10);
}

/* scales[4], q[32]: each scale has 16 weights in 8 bytes of nibbles, low ones
 * first:  w = scale * e2m1[q] */
static void from_nvfp4(float *out, const unsigned char *b)
{
    for (int s = 0; s < 4; s++) {
        const unsigned char *q = b + 4 + 8 * s;
        float d = cf_ue4m3(b[s]);
        for (int i = 0; i < 8; i++) {
            out[16 * s + i] = d * e2m1(q[i] & 15);
            out[16 * s + i + 8] = d * e2m1(q[i] >> 4);
        }
    }
}

/* d, a bit a weight:  w = d where it is set, else -d */
static void from_q1_0(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 128; i++) {
        out[i] = b[2 + i / 8] >> (i % 8) & 1 ? d : -d;
    }
}

/* d, two bits a weight:  w = d * (q - 1) */
static void from_q2_0(float *out, const unsigned char *b)
{
    float d = half_at(b);
    for (int i = 0; i < 64; i++) {
        out[i] = d * (float)((b[2 + i / 4] >> (2 * (i % 4)) & 3) - 1);
    }
}

static void from_iqk(cf_dtype type, float *out, const unsigned char *b)
{
    int8_t code[CF_IQK_WEIGHTS];
    float scale[CF_IQK_SCALES];
    cf_iqk_split(type, b, code, scale);
    for (int i = 0; i < CF_IQK_WEIGHTS; i++) {
        out[i] = scale[i / 16] * (float)code[i];
    }
}

static void block_to_f32(cf_dtype type, float *out, const unsigned char *b)
{
    switch (type) {
    case CF_F32: {
        uint32_t u = fifth_bits(b);
        memcpy(out, &u, sizeof u);
        break;
    }
    case CF_F16:
        *out = half_at(b);
        break;
    case CF_BF16:
        *out = cf_bf16_to_float((uint16_t)(b[0] | b[1] << 8));
        break;
    case CF_Q4_0:
        from_q4_0(out, b);
        break;
    case CF_Q4_1:
        from_q4_1(out, b);
        break;
    case CF_Q5_0:
        from_q5_0(out, b);
        break;
    case CF_Q5_1:
        from_q5_1(out, b);
        break;
    case CF_Q8_0:
        from_q8_0(out, b);
        break;
    case CF_Q2_K:
        from_q2_k(out, b);
        break;
    case CF_Q3_K:
        from_q3_k(out, b);
        break;
    case CF_Q4_K:
        from_q4_k(out, b);
        break;
    case CF_Q5_K:
        from_q5_k(out, b);
        break;
    case CF_Q6_K:
        from_q6_k(out, b);
        break;
    case CF_IQ4_NL:
        from_iq4_nl(out, b);
        break;
    case CF_IQ4_XS:
        from_iq4_xs(out, b);
        break;
    case CF_MXFP4:
        from_mxfp4(out, b);
        break;
    case CF_NVFP4:
        from_nvfp4(out, b);
        break;
    case CF_Q1_0:
        from_q1_0(out, b);
        break;
    case CF_Q2_0:
        from_q2_0(out, b);
        break;
    case CF_IQ1_S:
        cf_from_iq1_s(out, b);
        break;
    case CF_IQ1_M:
        cf_from_iq1_m(out, b);
        break;
    case CF_IQ2_XXS:
        cf_from_iq2_xxs(out, b);
        break;
    case CF_IQ2_XS:
        cf_from_iq2_xs(out, b);
        break;
    case CF_IQ2_S:
        cf_from_iq2_s(out, b);
        break;
    case CF_IQ3_XXS:
        cf_from_iq3_xxs(out, b);
        break;
    case CF_IQ3_S:
        cf_from_iq3_s(out, b);
        break;
    case CF_TQ1_0:
        cf_from_tq1_0(out, b);
        break;
    case CF_TQ2_0:
        cf_from_tq2_0(out, b);
        break;
    case CF_IQ2_K:
    case CF_IQ3_K:
    case CF_IQ4_K:
    case CF_IQ5_K:
    case CF_IQ6_K:
        from_iqk(type, out, b);
        break;
    }
}

void cf_dtype_to_f32(cf_dtype type, float *restrict out, const void *restrict in, size_t n)
{
    cf_dtype_info info = cf_dtype_get(type);
    const unsigned char *b = in;
    assert(info.name && n % info.n_block == 0);
    for (size_t i = 0; i < n; i += info.n_block, b += info.blk_bytes) {
        block_to_f32(type, out + i, b);
    }
}
