/*
 * simd_x86.h - the vector operations of simd.h whose instructions differ in their
 * width alone on x86-64.
 *
 * MM(op) is the intrinsic of this width.  Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SIMD_X86_H
#define CF_CORE_KERNEL_SIMD_X86_H

#include "core/kernel/simd_any.h"

#ifdef CF_HAS_DOT
enum { BYTE_CODES = 255 };
#else
/* Two products of two columns stay within 16 bits. */
enum { BYTE_CODES = 63 };
#ifdef CF_EIGHT
#define CF_SHORT_SUMS
#endif
#endif

INLINE VF vf_set1(float x)
{
    return MM(set1_ps)(x);
}
INLINE VI vi_set1(int32_t x)
{
    return MM(set1_epi32)(x);
}
INLINE VB vb_set1(int x)
{
    return MM(set1_epi8)((char)x);
}
INLINE VF vf_fma(VF a, VF b, VF c)
{
    return MM(fmadd_ps)(a, b, c);
}
INLINE VF vf_max(VF a, VF b)
{
    return MM(max_ps)(a, b);
}
INLINE VF vf_min(VF a, VF b)
{
    return MM(min_ps)(a, b);
}
INLINE VI vf_to_vi(VF v)
{
    return MM(cvtps_epi32)(v);
}
INLINE VI vi_fold(const VI a[4])
{
    VI b = vi_add(MM(unpacklo_epi32)(a[0], a[1]), MM(unpackhi_epi32)(a[0], a[1]));
    VI c = vi_add(MM(unpacklo_epi32)(a[2], a[3]), MM(unpackhi_epi32)(a[2], a[3]));
    return vi_add(MM(unpacklo_epi64)(b, c), MM(unpackhi_epi64)(b, c));
}
INLINE VB vb_shl(VB a, int n)
{
    return MM(sll_epi16)(a, _mm_cvtsi32_si128(n));
}
INLINE VB vb_shr(VB a, int n)
{
    return MM(srl_epi16)(a, _mm_cvtsi32_si128(n));
}
INLINE VB vb_lookup(VB table, VB i)
{
    return MM(shuffle_epi8)(table, i);
}
INLINE void vb_turn(VI out[4], const VB a[4])
{
    VI b0 = MM(unpacklo_epi32)(a[0], a[1]);
    VI b1 = MM(unpackhi_epi32)(a[0], a[1]);
    VI b2 = MM(unpacklo_epi32)(a[2], a[3]);
    VI b3 = MM(unpackhi_epi32)(a[2], a[3]);
    out[0] = MM(unpacklo_epi64)(b0, b2);
    out[1] = MM(unpackhi_epi64)(b0, b2);
    out[2] = MM(unpacklo_epi64)(b1, b3);
    out[3] = MM(unpackhi_epi64)(b1, b3);
}

/* ---- products ------------------------------------------------------------- */

#if CF_PLANES != 0

INLINE VI vi_whole(VI acc)
{
#ifdef CF_SHORT_SUMS
    return MM(madd_epi16)(acc, MM(set1_epi16)(1));
#else
    return acc;
#endif
}

#ifdef CF_HAS_DOT

/* acc + w . v, four bytes a lane.  Written out because gcc 12 copies the sum
 * before almost every such intrinsic in an unrolled loop. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    __asm__(VEX "vpdpbusd %2, %1, %0" : "+" REG(acc) : REG(w), REG(v));
    return acc;
}

#else

/* The same with two sums of 16 bits a lane, of two columns each; written out
 * as below. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    VI product;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
            : "+" REG(acc), "=&" REG(product)
            : REG(w), REG(v));
    return acc;
}

#endif

#else

/* Written out because gcc 12 otherwise puts off all sums of an unrolled loop,
 * and has no registers left for the products. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    VI product;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
            : "+" REG(acc), "=&" REG(product)
            : REG(v), REG_OR_MEMORY(w));
    return acc;
}

INLINE VI vi_dot_16(VI acc, VB w, VB a, VB b)
{
    acc = vi_mac(acc, MM(unpacklo_epi8)(w, vi_zero()), a);
    return vi_mac(acc, MM(unpackhi_epi8)(w, vi_zero()), b);
}

INLINE void vi_widen(VI out[2], VI codes, int bias)
{
    static const signed char columns[16] = {0, -1, 1, -1, 4,  -1, 5,  -1,
                                            8, -1, 9, -1, 12, -1, 13, -1};
    VI low = vb_dup(columns), b = MM(set1_epi16)((short)bias);
    out[0] = MM(sub_epi16)(MM(shuffle_epi8)(codes, low), b);
    out[1] = MM(sub_epi16)(MM(shuffle_epi8)(vi_shr(codes, 16), low), b);
}

#endif

#endif
