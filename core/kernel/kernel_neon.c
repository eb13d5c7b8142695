/*
 * kernel_neon.c - ARM64: the operations that the templates rows.inc and
 * vectors.inc are filled with.
 */
#include "core/kernel/sets.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "core/kernel/half.h"

enum { VF_LANES = 4 };
typedef float32x4_t VF;
typedef int32x4_t VI;

static inline VF vf_zero(void)
{
    return vdupq_n_f32(0);
}

static inline VF vf_set1(float x)
{
    return vdupq_n_f32(x);
}

static inline VF vf_load(const float *p)
{
    return vld1q_f32(p);
}

static inline void vf_store(float *p, VF v)
{
    vst1q_f32(p, v);
}

static inline VF vf_load_half(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

static inline VF vf_add(VF a, VF b)
{
    return vaddq_f32(a, b);
}

static inline VF vf_mul(VF a, VF b)
{
    return vmulq_f32(a, b);
}

static inline VF vf_fma(VF a, VF b, VF c)
{
    return vfmaq_f32(c, a, b);
}

static inline float vf_sum(VF v)
{
    return vaddvq_f32(v);
}

static inline VI vi_zero(void)
{
    return vdupq_n_s32(0);
}

static inline VF vi_to_vf(VI v)
{
    return vcvtq_f32_s32(v);
}

static inline VI vi_dot(VI acc, const int16_t *w, const int16_t *t)
{
    for (int i = 0; i < 16; i += 8) {
        int16x8_t a = vld1q_s16(w + i), b = vld1q_s16(t + i);
        acc = vmlal_s16(acc, vget_low_s16(a), vget_low_s16(b));
        acc = vmlal_s16(acc, vget_high_s16(a), vget_high_s16(b));
    }
    return acc;
}

static inline float half_at(const unsigned char *p)
{
    return cf_half_to_float((uint16_t)(p[0] | p[1] << 8));
}

/* 16 signed bytes widened into q. */
static inline void put_codes(int16_t *q, int8x16_t v)
{
    vst1q_s16(q, vmovl_s8(vget_low_s8(v)));
    vst1q_s16(q + 8, vmovl_s8(vget_high_s8(v)));
}

static inline void put_bytes(int16_t *q, const unsigned char *p)
{
    put_codes(q, vreinterpretq_s8_u8(vld1q_u8(p)));
    put_codes(q + 16, vreinterpretq_s8_u8(vld1q_u8(p + 16)));
}

static inline void put_nibbles(int16_t *q, const unsigned char *p, int bias)
{
    uint8x16_t v = vld1q_u8(p);
    int8x16_t b = vdupq_n_s8((int8_t)bias);
    uint8x16_t low = vandq_u8(v, vdupq_n_u8(15)), high = vshrq_n_u8(v, 4);
    put_codes(q, vsubq_s8(vreinterpretq_s8_u8(low), b));
    put_codes(q + 16, vsubq_s8(vreinterpretq_s8_u8(high), b));
}

static inline void put_iq4(int16_t *q, const unsigned char *p)
{
    int8x16_t table = vld1q_s8(cf_iq4_values);
    uint8x16_t v = vld1q_u8(p);
    put_codes(q, vqtbl1q_s8(table, vandq_u8(v, vdupq_n_u8(15))));
    put_codes(q + 16, vqtbl1q_s8(table, vshrq_n_u8(v, 4)));
}

static inline void iq4_bytes(int8_t *v, const unsigned char *p)
{
    int8x16_t table = vld1q_s8(cf_iq4_values);
    uint8x16_t q = vld1q_u8(p);
    vst1q_s8(v, vqtbl1q_s8(table, vandq_u8(q, vdupq_n_u8(15))));
    vst1q_s8(v + 16, vqtbl1q_s8(table, vshrq_n_u8(q, 4)));
}

static inline void put_scaled(int16_t *q, const int8_t *v, const int8_t s[2])
{
    for (int i = 0; i < 32; i += 8) {
        int16x8_t w = vmovl_s8(vld1_s8(v + i));
        vst1q_s16(q + i, vmulq_n_s16(w, s[i / 16]));
    }
}

/* Eight bits go to every lane, and each lane keeps its own. */
static inline void put_fifth_bits(int16_t *q, const unsigned char *p)
{
    static const int16_t own_bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    int16x8_t own = vld1q_s16(own_bit);
    for (int i = 0; i < 4; i++) {
        uint16x8_t b = vtstq_s16(vdupq_n_s16(p[i]), own);
        b = vandq_u16(b, vdupq_n_u16(16));
        int16x8_t v = vld1q_s16(q + 8 * i);
        vst1q_s16(q + 8 * i, vaddq_s16(v, vreinterpretq_s16_u16(b)));
    }
}

static void vec_f32_to_f16(uint16_t *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
    }
    for (; i < n; i++) {
        out[i] = cf_float_to_half(x[i]);
    }
}

static void vec_f16_to_f32(float *out, const uint16_t *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        vst1q_f32(out + i, vf_load_half(x + i));
    }
    for (; i < n; i++) {
        out[i] = cf_half_to_float(x[i]);
    }
}

#include "core/kernel/rows.inc"
#include "core/kernel/vectors.inc"

const cf_kernels *cf_kernels__neon(void)
{
    static const cf_kernels set = CF_KERNEL_SET("neon", &cf_recurrent_ref);
    return &set;
}

#endif
