/*
 * dtype_iq.h - the weight types whose weights come from codebooks, and the
 * ternary ones: a block of 256 weights as floats.
 *
 * Layouts: docs/models/quantisation.md.
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_DTYPE_IQ_H
#define CF_CORE_KERNEL_DTYPE_IQ_H

#include <stdint.h>

/* Entries of eight numbers of two bits each, the first in the lowest. */
extern const uint16_t cf_grid_iq1[2048];
extern const uint16_t cf_grid_iq2_xxs[256];
extern const uint16_t cf_grid_iq2_xs[512];
extern const uint16_t cf_grid_iq2_s[1024];
/* Entries of four numbers of three bits each. */
extern const uint16_t cf_grid_iq3_xxs[256];
extern const uint16_t cf_grid_iq3_s[512];

/* Scales of small floats: 2^(code - 128), half of E8M0's; and E4M3 without a sign, bias 7, whose
 * NaN counts as 0. */
float cf_half_e8m0(int code);
float cf_ue4m3(int code);

/* out[256] from the block b. */
void cf_from_iq1_s(float *out, const unsigned char *b);
void cf_from_iq1_m(float *out, const unsigned char *b);
void cf_from_iq2_xxs(float *out, const unsigned char *b);
void cf_from_iq2_xs(float *out, const unsigned char *b);
void cf_from_iq2_s(float *out, const unsigned char *b);
void cf_from_iq3_xxs(float *out, const unsigned char *b);
void cf_from_iq3_s(float *out, const unsigned char *b);
void cf_from_tq1_0(float *out, const unsigned char *b);
void cf_from_tq2_0(float *out, const unsigned char *b);

#endif
