/*
 * kernel_neoni8mm_8.c - the products of set neon-i8mm with activations of 8
 * bits.
 */
#if defined(__aarch64__)

#define CF_EIGHT
#define CF_HAS_DOT
#define CF_DOT_MATRICES
#define CF_SET_8(part) cf_neoni8mm_8__##part
#include "core/kernel/simd_neon.h"

#include "core/kernel/eight.inc"

#else
typedef int cf_not_this_processor;
#endif
