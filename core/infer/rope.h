/*
 * rope.h - rotary position embeddings: positions to angles, angles applied.
 *
 * A head's dimensions are taken in pairs; pair i turns by position * freq[i]
 * (Su et al. 2021).  What stretches a model beyond its training length only
 * changes the frequencies, and the length of sine and cosine.
 *
 * M-RoPE (Wang et al. 2024, Qwen2-VL): a position has several numbers, and each
 * pair turns by one of them: the first section of pairs by the first, and so
 * on; or interleaved (Qwen3-VL), where pairs 3 i + 1 turn by the second and
 * 3 i + 2 by the third while their sections last, and the rest by the first.
 * Text has the same number everywhere, which makes it plain RoPE.
 *
 * Threads:  a cf_rope is constant after init.
 * Memory:   a cf_rope owns its frequencies.
 */
#ifndef CF_CORE_INFER_ROPE_H
#define CF_CORE_INFER_ROPE_H

#include "core/model/hparams.h"

typedef struct cf_rope {
    uint32_t n_rot; /* dimensions that turn; 0: not initialised */
    double *freq;   /* [n_rot / 2], radians a position */
    uint8_t *axis;  /* [n_rot / 2], which number of the position turns it */
    double scale;   /* multiplies sine and cosine */
} cf_rope;

/* factors [n_rot / 2] divide the frequencies; NULL: none.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_rope_init(cf_rope *out, const cf_rope_params *p, const float *factors,
                                   cf_error *err);
void cf_rope_deinit(cf_rope *rope);

/* out[n_rot]: cosine and sine of pair 0, of pair 1 ... at position `at`, which
 * has CF_ROPE_AXES numbers. */
void cf_rope_angles(float *out, const cf_rope *rope, const uint32_t *at);

/* Rotates the first n_rot numbers of `head` by the angles of
 * cf_rope_angles(). */
void cf_rope_apply(float *head, const float *angles, uint32_t n_rot, cf_rope_style style);

#endif
