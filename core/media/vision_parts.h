/*
 * vision_parts.h - what several families of picture encoders have in common: checks
 * of their files, positions, and steps of their projectors.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_VISION_PARTS_H
#define CF_CORE_MEDIA_VISION_PARTS_H

#include "core/media/vision.h"

/* The tensors PREFIX NAME ".weight" and, where there is one, ".bias". */
CF_MUST_USE cf_status cf_vision__load_norm(cf_mmproj *m, cf_norm *to, const char *prefix,
                                           const char *name, size_t n, cf_error *err);
CF_MUST_USE cf_status cf_vision__load_linear(cf_mmproj *m, cf_linear *to, const char *prefix,
                                             const char *name, uint32_t n_row, uint32_t n_col,
                                             cf_error *err);

/* CF_EFORMAT without the norm after the last block. */
CF_MUST_USE cf_status cf_vision__need_post_ln(const cf_vision *v, cf_error *err);
/* The same where the table of positions is not for a square of patches. */
CF_MUST_USE cf_status cf_vision__need_square(const cf_vision *v, cf_error *err);
/* The same where blocks do not have the trained size. */
CF_MUST_USE cf_status cf_vision__need_whole(const cf_vision *v, cf_error *err);

/* x [n] += by * p. */
void cf_vision__add_scaled(float *x, const float *p, size_t n, double by);
/* One row of the table for each patch, in the order of patches. */
void cf_vision__place_each(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows);

/* The norm after the last block. */
void cf_vision__post_norm(const cf_vision *v, const cf_dense *d, float *x,
                          const cf_vision_block *b);
/* The mean over squares of merge x merge patches, at the start of x. */
void cf_vision__pool(const cf_vision *v, const cf_dense *d, float *x, const cf_vision_block *b);
/* Squares of merge x merge patches side by side; yours, NULL when memory runs out. */
float *cf_vision__joined(const cf_vision *v, const cf_dense *d, const float *x,
                         const cf_vision_block *b);
/* out = fc2(gelu(fc1(x))), where each row of x joins merge x merge patches. */
CF_MUST_USE cf_status cf_vision__merge(const cf_vision *v, const cf_dense *d, float *out,
                                       const float *x, size_t n_patch, const cf_linear *fc1,
                                       const cf_linear *fc2, cf_error *err);

#endif
