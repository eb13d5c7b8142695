/*
 * kernel_avx512vbmi_8.c - the products of set avx512-vbmi with activations of 8
 * bits.
 */
#if defined(__x86_64__)

#define CF_EIGHT
#define CF_HAS_DOT
#define CF_HAS_VBMI
#define CF_SET_8(part) cf_avx512vbmi_8__##part
#include "core/kernel/simd_avx512.h"

#include "core/kernel/eight.inc"

#else
typedef int cf_not_this_processor;
#endif
