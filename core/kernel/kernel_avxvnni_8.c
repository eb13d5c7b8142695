/*
 * kernel_avxvnni_8.c - the products of set avx2-vnni with activations of 8
 * bits.
 */
#if defined(__x86_64__)

#define CF_EIGHT
#define CF_HAS_DOT
#define CF_SET_8(part) cf_avxvnni_8__##part
#include "core/kernel/simd_avx2.h"

#include "core/kernel/eight.inc"

#else
typedef int cf_not_this_processor;
#endif
