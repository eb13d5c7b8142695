/*
 * mmproj.h - a multimodal projector file: GGUF of architecture "clip" with an
 * encoder and what maps its output to the text model's width.
 *
 * Keys and tensors are checked before use, as core/model does with models:
 * kinds, ranges, shapes, types.
 *
 * Private to core/media.
 * Memory: names are borrowed from the file; vectors are float32 copies in the
 *         arena; matrices stay in the mapped file.
 */
#ifndef CF_CORE_MEDIA_MMPROJ_H
#define CF_CORE_MEDIA_MMPROJ_H

#include "core/base/arena.h"
#include "core/kernel/kernel.h"
#include "core/model/gguf.h"

typedef struct cf_mmproj {
    cf_gguf *g;
    cf_arena arena;
} cf_mmproj;

/* y = clamp(w clamp(x) + bias). */
typedef struct cf_linear {
    cf_mat w;
    const float *bias; /* [n_row] or NULL */
    bool is_clamped;
    float in_min, in_max, out_min, out_max;
} cf_linear;

CF_MUST_USE cf_status cf_mmproj_open(cf_mmproj *out, const char *path, cf_error *err);
/* From 32-byte aligned bytes, which must outlive it. */
CF_MUST_USE cf_status cf_mmproj_open_memory(cf_mmproj *out, const void *bytes, size_t n,
                                            cf_error *err);
void cf_mmproj_close(cf_mmproj *m);

/* Reads an integer in lo..hi, or a number; leaves *out unchanged if it is absent. */
CF_MUST_USE cf_status cf_mmproj_u32(const cf_mmproj *m, const char *key, uint32_t lo, uint32_t hi,
                                    uint32_t *out, cf_error *err);
/* CF_EFORMAT where the key is missing. */
CF_MUST_USE cf_status cf_mmproj_need_u32(const cf_mmproj *m, const char *key, uint32_t lo,
                                         uint32_t hi, uint32_t *out, cf_error *err);
CF_MUST_USE cf_status cf_mmproj_f32(const cf_mmproj *m, const char *key, float *out, cf_error *err);
/* Reads n numbers from an array of at least n; leaves them unchanged if it is absent. */
CF_MUST_USE cf_status cf_mmproj_floats(const cf_mmproj *m, const char *key, float *out, size_t n,
                                       cf_error *err);

bool cf_mmproj_has(const cf_mmproj *m, const char *name);

/* The tensor `name` as n_row rows of n_col (first dimensions joined).
 * n_row 0: as many rows as the file has. */
CF_MUST_USE cf_status cf_mmproj_matrix(const cf_mmproj *m, cf_mat *out, const char *name,
                                       uint32_t n_row, uint32_t n_col, cf_error *err);

/* The tensor NAME.weight as n_row rows of n_col (first dimensions joined),
 * with NAME.bias and the four limits where there are any.  n_row 0: as many
 * rows as the file has. */
CF_MUST_USE cf_status cf_mmproj_linear(cf_mmproj *m, cf_linear *out, const char *name,
                                       uint32_t n_row, uint32_t n_col, cf_error *err);
/* Rows row0..row0+n-1 of it; limits are not divided. */
cf_linear cf_linear_slice(const cf_linear *l, uint32_t row0, uint32_t n);

/* n numbers; opt leaves NULL where the tensor is absent. */
CF_MUST_USE cf_status cf_mmproj_vec(cf_mmproj *m, const float **out, const char *name, size_t n,
                                    cf_error *err);
CF_MUST_USE cf_status cf_mmproj_opt_vec(cf_mmproj *m, const float **out, const char *name, size_t n,
                                        cf_error *err);

#endif
