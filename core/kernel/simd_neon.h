/*
 * simd_neon.h - the vector operations of simd.h with 128 bits.
 *
 * ARMv8.0; with CF_HAS_DOT also the dot product instructions, with
 * CF_DOT_MATRICES also I8MM.
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SIMD_NEON_H
#define CF_CORE_KERNEL_SIMD_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "core/kernel/simd.h"

#define CF_SIGNED_CODES

enum { LANES = 4 };
typedef float32x4_t VF;
typedef int32x4_t VI;
typedef uint8x16_t VB;

#include "core/kernel/simd_any.h"

enum { BYTE_CODES = 255 };

/* ---- floats -------------------------------------------------------------- */

INLINE VF vf_set1(float x)
{
    return vdupq_n_f32(x);
}
INLINE VF vf_load_half(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
INLINE void vf_store_half(uint16_t *p, VF v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
INLINE VF vf_fma(VF a, VF b, VF c)
{
    return vfmaq_f32(c, a, b);
}
INLINE VF vf_max(VF a, VF b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
INLINE VF vf_min(VF a, VF b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
INLINE VF vf_abs(VF a)
{
    return vabsq_f32(a);
}
INLINE float vf_top(VF a)
{
    return vmaxvq_f32(a);
}
INLINE VF vf_round(VF a)
{
    return vrndnq_f32(a);
}

/* ---- 32-bit integers ------------------------------------------------------ */

INLINE VI vi_set1(int32_t x)
{
    return vdupq_n_s32(x);
}
INLINE VI vi_load_bytes(const void *p)
{
    int8_t four[8] = {0};
    memcpy(four, p, LANES);
    return vmovl_s16(vget_low_s16(vmovl_s8(vld1_s8(four))));
}
INLINE VI vi_fold(const VI a[4])
{
    return vpaddq_s32(vpaddq_s32(a[0], a[1]), vpaddq_s32(a[2], a[3]));
}
INLINE int32_t vi_total(VI a)
{
    return vaddvq_s32(a);
}
INLINE VI vf_to_vi(VF v)
{
    return vcvtnq_s32_f32(v);
}
INLINE VF vi_half_to_vf(VI v)
{
    uint16x4_t h = vmovn_u32(vreinterpretq_u32_s32(v));
    return vcvt_f32_f16(vreinterpret_f16_u16(h));
}
INLINE void vi_pair_to_vf(VF out[2], VI v)
{
    out[0] = vi_half_to_vf(v);
    out[1] = vi_half_to_vf(vi_shr(v, 16));
}
INLINE VF vf_scale2(VF p, VF n)
{
    VI i = vcvtnq_s32_f32(n), half = vshrq_n_s32(i, 1);
    VI one = vdupq_n_s32(127);
    VI a = vshlq_n_s32(vaddq_s32(half, one), 23);
    VI b = vshlq_n_s32(vaddq_s32(vsubq_s32(i, half), one), 23);
    return vmulq_f32(vmulq_f32(p, vi_as_vf(a)), vi_as_vf(b));
}

/* ---- bytes ---------------------------------------------------------------- */

INLINE VB vb_quads(const unsigned char *const *row, size_t off)
{
    return vld1q_u8(row[0] + off);
}
INLINE VB vb_dup(const void *p)
{
    return vld1q_u8((const uint8_t *)p);
}
INLINE VB vb_set1(int x)
{
    return vdupq_n_u8((uint8_t)x);
}
INLINE VB vb_sub(VB a, VB b)
{
    return vsubq_u8(a, b);
}
INLINE VB vb_shl(VB a, int n)
{
    return vshlq_u8(a, vdupq_n_s8((int8_t)n));
}
INLINE VB vb_shr(VB a, int n)
{
    return vshlq_u8(a, vdupq_n_s8((int8_t)-n));
}
INLINE VB vb_equal(VB a, VB b)
{
    return vceqq_u8(a, b);
}
INLINE VB vb_lookup(VB table, VB i)
{
    return vqtbl1q_u8(table, i);
}
INLINE void vb_turn(VI out[4], const VB a[4])
{
    VI b0 = vzip1q_s32(vb_as_vi(a[0]), vb_as_vi(a[2]));
    VI b1 = vzip2q_s32(vb_as_vi(a[0]), vb_as_vi(a[2]));
    VI b2 = vzip1q_s32(vb_as_vi(a[1]), vb_as_vi(a[3]));
    VI b3 = vzip2q_s32(vb_as_vi(a[1]), vb_as_vi(a[3]));
    out[0] = vzip1q_s32(b0, b2);
    out[1] = vzip2q_s32(b0, b2);
    out[2] = vzip1q_s32(b1, b3);
    out[3] = vzip2q_s32(b1, b3);
}

/* ---- products ------------------------------------------------------------- */

#if CF_PLANES != 0

/* acc + w . v, four bytes a lane */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    int8x16_t a = vreinterpretq_s8_s32(w), b = vreinterpretq_s8_s32(v);
#ifdef CF_HAS_DOT
    return vdotq_s32(acc, a, b);
#else
    /* Two products stay within 16 bits, since those of v are not -128. */
    int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    int16x8_t high = vmull_high_s8(a, b);
    return vpadalq_s16(acc, vpaddq_s16(low, high));
#endif
}
INLINE VI vi_whole(VI acc)
{
    return acc;
}

#ifdef CF_DOT_MATRICES
INLINE VI vi_zip_low(VI a, VI b)
{
    return vzip1q_s32(a, b);
}
INLINE VI vi_zip_high(VI a, VI b)
{
    return vzip2q_s32(a, b);
}
INLINE VI vi_even(VI a, VI b)
{
    return vuzp1q_s32(a, b);
}
INLINE VI vi_odd(VI a, VI b)
{
    return vuzp2q_s32(a, b);
}
INLINE VI vi_load_two(const void *p, const void *q)
{
    int8x8_t a = vld1_s8((const int8_t *)p), b = vld1_s8((const int8_t *)q);
    return vreinterpretq_s32_s8(vcombine_s8(a, b));
}
INLINE VI vi_mac_two(VI acc, VI w, VI v)
{
    return vmmlaq_s32(acc, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(v));
}
#endif

#endif

#if CF_PLANES == 2

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    VI hi = vshrq_n_s32(vaddq_s32(t, vdupq_n_s32(128)), 8);
    int16x8_t both = vcombine_s16(vmovn_s32(hi), vmovn_s32(t));
    int32x2_t bytes = vreinterpret_s32_s8(vmovn_s16(both));
    int32_t up = vget_lane_s32(bytes, 0), down = vget_lane_s32(bytes, 1);
    memcpy(row + c, &up, sizeof up);
    memcpy(row + lo + c, &down, sizeof down);
}

#elif CF_PLANES == 1

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    int16x4_t h = vmovn_s32(t);
    int8x8_t v = vmovn_s16(vcombine_s16(h, h));
    (void)lo;
    memcpy(row + c, &v, LANES);
}

#else

/* w: one column of four rows, then the next one; v: those two of x. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    int16x8_t a = vreinterpretq_s16_s32(w);
    int16x4_t b = vget_low_s16(vreinterpretq_s16_s32(v));
    acc = vmlal_lane_s16(acc, vget_low_s16(a), b, 0);
    return vmlal_lane_s16(acc, vget_high_s16(a), b, 1);
}

INLINE VI dot_8(VI acc, int16x8_t a, int16x8_t b)
{
    acc = vmlal_s16(acc, vget_low_s16(a), vget_low_s16(b));
    return vmlal_s16(acc, vget_high_s16(a), vget_high_s16(b));
}
INLINE VI vi_dot_16(VI acc, VB w, VB a, VB b)
{
    int8x16_t v = vreinterpretq_s8_u8(w);
    acc = dot_8(acc, vmovl_s8(vget_low_s8(v)), vreinterpretq_s16_u8(a));
    return dot_8(acc, vmovl_s8(vget_high_s8(v)), vreinterpretq_s16_u8(b));
}

/* The bias is off already. */
INLINE void vi_widen(VI out[2], VI codes, int bias)
{
    static const uint8_t by_column[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    VB v = vqtbl1q_u8(vi_as_vb(codes), vld1q_u8(by_column));
    int8x16_t s = vreinterpretq_s8_u8(v);
    (void)bias;
    out[0] = vreinterpretq_s32_s16(vmovl_s8(vget_low_s8(s)));
    out[1] = vreinterpretq_s32_s16(vmovl_s8(vget_high_s8(s)));
}

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    int16x4_t v = vqmovn_s32(t);
    (void)lo;
    memcpy(row + 2 * c, &v, sizeof v);
}

#endif

enum { GROUPS = 4, STEP = 4, SCORE_Q = 6, SCORE_V = 4, MIX_Q = 6, MIX_D = 4, MIX_WIDE = 8 };

#endif
