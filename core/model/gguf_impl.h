/*
 * gguf_impl.h - an open model file, for the files that read GGUF.
 *
 * gguf.c reads the bytes, gguf_value.c turns values into numbers, and
 * gguf_index.c finds keys and tensors by name.
 *
 * Threads:  constant after open.
 */
#ifndef CF_CORE_MODEL_GGUF_IMPL_H
#define CF_CORE_MODEL_GGUF_IMPL_H

#include "core/base/os.h"
#include "core/model/gguf.h"

/* One file of a model. */
typedef struct cf_gguf_file {
    cf_os_map map; /* unused for memory */
    const unsigned char *p;
    size_t n;
    uint64_t data_off; /* where tensor data starts */
} cf_gguf_file;

struct cf_gguf {
    char *path; /* NULL for memory */
    cf_gguf_file *parts;
    uint32_t n_parts;
    cf_gguf_value *values; /* of part 0, in file order */
    size_t n_values;
    uint32_t *value_order;   /* indices of values, sorted by key */
    cf_gguf_tensor *tensors; /* of all parts, in file order */
    size_t n_tensors;
    uint32_t *tensor_order; /* indices of tensors, sorted by name */
};

/* The length to print of a name from the file, so that a message stays one
 * line. */
static inline int cf_gguf__shown(cf_str s)
{
    return s.n < 64 ? (int)s.n : 64;
}

/* An unsigned little-endian number of n <= 8 bytes. */
uint64_t cf_gguf__load_uint(const unsigned char *p, size_t n);

/* Bytes of a scalar; 0 for strings, arrays and unknown types. */
size_t cf_gguf__scalar_bytes(uint32_t type);

/* The integer that v is; false for other types and values that do not fit. */
bool cf_gguf__value_i64(const cf_gguf_value *v, int64_t *out);

/* Makes the index of keys, or of tensor names; CF_EFORMAT for one that is
 * given twice, CF_ENOMEM. */
CF_MUST_USE cf_status cf_gguf__order_values(cf_gguf *g, cf_error *err);
CF_MUST_USE cf_status cf_gguf__order_tensors(cf_gguf *g, cf_error *err);

/* CF_EFORMAT when two tensors share a byte (rule 2 of gguf.c). */
CF_MUST_USE cf_status cf_gguf__check_overlap(const cf_gguf *g, cf_error *err);

#endif
