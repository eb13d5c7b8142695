/*
 * simd.h - the vector operations that a kernel set is made of.
 *
 * Each set includes simd_avx2.h, simd_avx512.h or simd_neon.h, which define
 * the operations below for their width, and then set.inc, which is written
 * once.  A vector has LANES lanes of 32 bits, in "quads" of 128 bits.
 *
 * VF, floats:
 *   vf_zero, vf_set1, vf_load, vf_store, vf_add, vf_sub, vf_mul, vf_div,
 *   vf_abs, vf_round (to even)
 *   vf_fma(a, b, c)            a * b + c, rounded once
 *   vf_max(a, b), vf_min       a > b ? a : b, so that a NaN in a gives b
 *   vf_scale2(p, n)            p * 2^n, n a whole number from -160 to 130
 *   vf_load_half, vf_store_half   LANES binary16 numbers
 *   vf_top(v)                  the largest of the lanes, none of them NaN
 * VI, 32-bit integers:
 *   vi_zero, vi_set1, vi_load, vi_store, vi_add, vi_sub, vi_and, vi_or,
 *   vi_shl, vi_shr (zeros enter), vi_sar (the sign enters)
 *   vi_load_bytes(p)           LANES signed bytes
 *   vi_to_vf, vf_to_vi         to the nearest, ties to even
 *   vi_as_vf                   the same bits
 *   vi_total(v)                the sum of the lanes
 *   vi_fold(a)                 lane 4 q + j: the sum of quad q of a[j], j < 4
 *   vi_half_to_vf(v)           the binary16 in each lane's low 16 bits
 *   vi_pair_to_vf(out, v)      those in the low and in the high 16 bits
 * VB, bytes:
 *   vb_quads(row, off)         16 bytes of rows 0, 4, 8 .. at `off`
 *   vb_dup(p)                  the same 16 bytes in each quad
 *   vb_set1, vb_and, vb_or, vb_xor
 *   vb_shl, vb_shr             by 0..7 bits; what crosses a byte is masked
 *                              off by the caller
 *   vb_equal                   0xFF where equal
 *   vb_lookup(table, i)        table[i] within a quad, i < 16
 *   vb_as_vi, vi_as_vb         the same bits
 *   vb_turn(out, in)           from 16 bytes of four rows in each quad to
 *                              four bytes of every row in each lane
 * Products of codes and activations, by how the activations are prepared
 * (prepared.h).  CF_HAS_DOT says that the machine multiplies four bytes by four
 * and adds them up.  A set is compiled twice: for activations of 16 bits, and
 * with CF_EIGHT for those of 8 bits.
 *   CF_PLANES 2 or 1           planes of bytes: 16 bits with CF_HAS_DOT, or
 *                              8 bits
 *     vi_mac(acc, w, v)        acc + four codes times four bytes
 *     vi_whole(acc)            acc with a number a lane
 *     CF_SHORT_SUMS            acc is two sums of 16 bits a lane until then
 *     CF_DOT_MATRICES          also products of small matrices of bytes
 *       vi_mac_two(acc, w, v)  two rows of eight codes (w), two of eight bytes
 *                              (v): acc + w0 v0, w0 v1, w1 v0, w1 v1
 *       vi_load_two(p, q)      eight bytes from each
 *       vi_zip_low, vi_zip_high   a0 b0 a1 b1; a2 b2 a3 b3
 *       vi_even, vi_odd        a0 a2 b0 b2; a1 a3 b1 b3
 *     CF_SIGNED_CODES          codes are signed: their bias is off already
 *   CF_PLANES 0                16-bit numbers
 *     vi_mac(acc, w, v)        acc + two codes times two numbers
 *     vi_widen(out, codes, bias)   four 8-bit codes a lane, less the bias, as
 *                              two vectors for vi_mac
 *     vi_dot_16(acc, w, a, b)  acc + 16 codes of a quad times eight numbers in
 *                              a and eight in b
 *   put_t(row, lo, c, t)       writes LANES numbers from column c on; the
 *                              plane of low bytes is `lo` after the high one
 *   BYTE_CODES                 with 8 bits, larger codes than this meet 16-bit
 *                              numbers
 * Sizes:
 *   GROUPS, STEP               vectors of weight rows and rows of x whose sums
 *                              are in registers at once
 *   SCORE_Q, MIX_Q, MIX_D      likewise in attention: queries that meet the
 *                              keys of a block; queries and vectors of
 *                              dimensions that meet the values
 *
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SIMD_H
#define CF_CORE_KERNEL_SIMD_H

#define INLINE static inline __attribute__((always_inline))

#ifdef CF_EIGHT
#define CF_PLANES 1
#else
#define CF_HAS_FLOATS
#ifdef CF_HAS_DOT
#define CF_PLANES 2
#else
#define CF_PLANES 0
#endif
#endif

enum { T_BYTES = CF_PLANES == 1 ? 1 : 2 }; /* of an activation */

#endif
