/*
 * simd_any.h - the vector operations of simd.h that are the same for every width.
 *
 * VF, VI, VB and LANES are there.  Written in the compilers' vectors; an integer
 * wraps round.  Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SIMD_ANY_H
#define CF_CORE_KERNEL_SIMD_ANY_H

typedef int32_t V32 __attribute__((vector_size(4 * LANES)));
typedef uint32_t VU32 __attribute__((vector_size(4 * LANES)));

INLINE VF vf_zero(void)
{
    return (VF){0};
}
INLINE VF vf_load(const float *p)
{
    VF v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vf_store(float *p, VF v)
{
    memcpy(p, &v, sizeof v);
}
INLINE VF vf_add(VF a, VF b)
{
    return a + b;
}
INLINE VF vf_sub(VF a, VF b)
{
    return a - b;
}
INLINE VF vf_mul(VF a, VF b)
{
    return a * b;
}
INLINE VF vf_div(VF a, VF b)
{
    return a / b;
}
INLINE VI vi_zero(void)
{
    return (VI){0};
}
INLINE VI vi_load(const void *p)
{
    VI v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vi_store(void *p, VI v)
{
    memcpy(p, &v, sizeof v);
}
INLINE VI vi_add(VI a, VI b)
{
    return (VI)((VU32)a + (VU32)b);
}
INLINE VI vi_sub(VI a, VI b)
{
    return (VI)((VU32)a - (VU32)b);
}
INLINE VI vi_and(VI a, VI b)
{
    return a & b;
}
INLINE VI vi_or(VI a, VI b)
{
    return a | b;
}
INLINE VI vi_shl(VI a, int n)
{
    return (VI)((VU32)a << n);
}
INLINE VI vi_shr(VI a, int n)
{
    return (VI)((VU32)a >> n);
}
INLINE VI vi_sar(VI a, int n)
{
    return (VI)((V32)a >> n);
}
INLINE VF vi_to_vf(VI v)
{
    return __builtin_convertvector((V32)v, VF);
}
INLINE VF vi_as_vf(VI v)
{
    return (VF)v;
}
INLINE VI vb_as_vi(VB v)
{
    return (VI)v;
}
INLINE VB vi_as_vb(VI v)
{
    return (VB)v;
}
INLINE VB vb_and(VB a, VB b)
{
    return a & b;
}
INLINE VB vb_or(VB a, VB b)
{
    return a | b;
}
INLINE VB vb_xor(VB a, VB b)
{
    return a ^ b;
}

#endif
