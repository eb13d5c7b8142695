/*
 * recurrent_ref.c - the template recurrent.inc, compiled for any machine.
 */
#include "core/kernel/recurrent.h"

#include "core/kernel/recurrent.inc"

const cf_recurrent_kernels cf_recurrent_ref = CF_RECURRENT_SET;
