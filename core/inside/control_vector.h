/*
 * control_vector.h - control vectors in llama.cpp's GGUF form.
 *
 * Private to core/inside.
 */
#ifndef CF_CORE_INSIDE_CONTROL_VECTOR_H
#define CF_CORE_INSIDE_CONTROL_VECTOR_H

#include "core/base/hash.h"
#include "core/model/gguf.h"

/* direction.N of a file. */
typedef struct cf_direction {
    uint32_t n;     /* >= 1 */
    const float *p; /* [n_embd] */
} cf_direction;

typedef struct cf_control_vector {
    cf_direction *v; /* [n], in the file's order */
    size_t n;
    float *numbers;
    char hash[CF_HASH_TEXT + 1];
} cf_control_vector;

/* CF_ENOTFOUND, CF_EIO, CF_ENOMEM; CF_EFORMAT for a GGUF whose tensors are not
 * all direction.N of n_embd numbers, or that has none; errors name the file. */
CF_MUST_USE cf_status cf_control_vector_read(cf_control_vector *out, const char *path,
                                             uint32_t n_embd, cf_error *err);
void cf_control_vector_close(cf_control_vector *f);

typedef struct cf_control_vector_out {
    const char *path, *arch;
    uint32_t n_embd, n_layer;
    float *const *v; /* [n_layer + 1]: v[l] is direction.(l - 1), NULL is left
                        out, and so are v[0] and v[1] */
} cf_control_vector_out;

CF_MUST_USE cf_status cf_control_vector_write(const cf_control_vector_out *out, cf_error *err);

#endif
