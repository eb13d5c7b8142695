/*
 * recurrent_avx512.c - the template recurrent.inc, compiled for AVX-512.
 */
#include "core/kernel/recurrent.h"

#if defined(__x86_64__)

#include "core/kernel/recurrent.inc"

const cf_recurrent_kernels cf_recurrent_avx512 = CF_RECURRENT_SET;

#endif
