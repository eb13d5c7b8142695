/*
 * recurrent_avx2.c - the template recurrent.inc, compiled for AVX2.
 */
#include "core/kernel/recurrent.h"

#if defined(__x86_64__)

#include "core/kernel/recurrent.inc"

const cf_recurrent_kernels cf_recurrent_avx2 = CF_RECURRENT_SET;

#endif
