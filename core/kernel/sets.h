/*
 * sets.h - the kernel sets that kernel_pick.c chooses from.
 *
 * Private to core/kernel.  Each is defined on its own processor family only,
 * and may be called only where the machine has the instructions.
 */
#ifndef CF_CORE_KERNEL_SETS_H
#define CF_CORE_KERNEL_SETS_H

#include "core/kernel/kernel.h"

/* x86-64 */
const cf_kernels *cf_kernels__avx512vbmi(void);
const cf_kernels *cf_kernels__avx512vnni(void);
const cf_kernels *cf_kernels__avx512(void);
const cf_kernels *cf_kernels__avx2vnni(void);
const cf_kernels *cf_kernels__avx2(void);
/* ARM64 */
const cf_kernels *cf_kernels__neoni8mm(void);
const cf_kernels *cf_kernels__neondot(void);
const cf_kernels *cf_kernels__neon(void);

#endif
