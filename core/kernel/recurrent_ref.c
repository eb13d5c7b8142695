/*
 * recurrent_ref.c - compiles the template recurrent.inc for any machine.
 */
#include "core/kernel/recurrent.h"

#include "core/kernel/recurrent.inc"

const cf_recurrent_kernels cf_recurrent_ref = CF_RECURRENT_SET;
