/*
 * gguf.h - the container format of model files: metadata and tensors by name.
 *
 * Reads GGUF versions 2 and 3, one file or split in parts, without copying
 * tensor data.  Everything in the file is checked before it is believed:
 * counts, lengths, offsets, dimensions, types, alignment, duplicates.
 * Format: the GGUF specification (ggml, docs/gguf.md), restated in
 * docs/models/gguf.md.
 *
 * Threads:  constant after open.
 * Memory:   names, strings and arrays are borrowed from the mapped file and
 *           live as long as the cf_gguf.
 */
#ifndef CF_CORE_MODEL_GGUF_H
#define CF_CORE_MODEL_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/str.h"

typedef struct cf_gguf cf_gguf;

/* Value types, numbered as in the file. */
typedef enum cf_gguf_type {
    CF_GGUF_U8 = 0,
    CF_GGUF_I8 = 1,
    CF_GGUF_U16 = 2,
    CF_GGUF_I16 = 3,
    CF_GGUF_U32 = 4,
    CF_GGUF_I32 = 5,
    CF_GGUF_F32 = 6,
    CF_GGUF_BOOL = 7,
    CF_GGUF_STRING = 8,
    CF_GGUF_ARRAY = 9,
    CF_GGUF_U64 = 10,
    CF_GGUF_I64 = 11,
    CF_GGUF_F64 = 12
} cf_gguf_type;

/* One metadata entry. */
typedef struct cf_gguf_value {
    cf_str key;
    cf_gguf_type type;
    cf_gguf_type item;      /* of an array; never an array itself */
    uint64_t n;             /* items of an array, else 1 */
    uint64_t off;           /* byte offset of the value in its file */
    const unsigned char *p; /* the value's (or first item's) bytes, unaligned,
                               little-endian; strings: u64 length, bytes */
} cf_gguf_value;

typedef struct cf_gguf_tensor {
    cf_str name;
    uint32_t type;          /* as in the file; may be one confab cannot compute */
    uint32_t n_dim;         /* 1 to 4 */
    uint64_t dim[4];        /* fastest first; 1 past n_dim */
    uint64_t bytes;         /* 0 when the type is unknown */
    uint64_t file_off;      /* from the start of its file */
    uint32_t part;          /* 0-based part of a split model */
    const unsigned char *p; /* the data; NULL when the type is unknown */
} cf_gguf_tensor;

/* Opens a file, or all of split parts "NAME-0000I-of-0000N.gguf" by any one.
 * CF_ENOTFOUND, CF_EIO, CF_ENOMEM, CF_EFORMAT with the offset. */
CF_MUST_USE cf_status cf_gguf_open(cf_gguf **out, const char *path, cf_error *err);
/* From bytes that outlive the cf_gguf; 32-byte aligned. */
CF_MUST_USE cf_status cf_gguf_open_memory(cf_gguf **out, const void *bytes, size_t n,
                                          cf_error *err);
void cf_gguf_close(cf_gguf *g);

/* Adds tensors whose names and data lie elsewhere, checked by the caller, and
 * outlive the cf_gguf.  CF_EFORMAT for a name that is given twice,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_gguf_add_tensors(cf_gguf *g, const cf_gguf_tensor *t, size_t n,
                                          cf_error *err);

/* Tensor i has other data of the same shape from now on; borrowed. */
void cf_gguf_point_tensor(cf_gguf *g, size_t i, uint32_t type, const unsigned char *p,
                          uint64_t bytes);

/* CF_EIO, with the file's name, if a part was cut or written to since it was
 * opened.  Cheap: one system call a part.  `g` may be NULL. */
CF_MUST_USE cf_status cf_gguf_check(const cf_gguf *g, cf_error *err);

const char *cf_gguf_path(const cf_gguf *g);    /* "" for memory */
uint64_t cf_gguf_file_bytes(const cf_gguf *g); /* of all parts */
uint32_t cf_gguf_n_parts(const cf_gguf *g);
/* Bytes of part i and, in *header_bytes, where its tensor data starts. */
cf_str cf_gguf_part(const cf_gguf *g, uint32_t i, uint64_t *header_bytes);

/* Asks the system to read the tensor data ahead where it fits in free memory;
 * a hint. */
void cf_gguf_prefetch(const cf_gguf *g);

size_t cf_gguf_n_values(const cf_gguf *g);
const cf_gguf_value *cf_gguf_value_at(const cf_gguf *g, size_t i);
/* NULL when absent. */
const cf_gguf_value *cf_gguf_find(const cf_gguf *g, const char *key);

size_t cf_gguf_n_tensors(const cf_gguf *g);
const cf_gguf_tensor *cf_gguf_tensor_at(const cf_gguf *g, size_t i);
const cf_gguf_tensor *cf_gguf_find_tensor(const cf_gguf *g, const char *name);

/* Scalars: false when the key is absent, or of another kind (any integer type
 * serves for u64/i64 when the number fits; any number for f64). */
bool cf_gguf_get_u64(const cf_gguf *g, const char *key, uint64_t *out);
bool cf_gguf_get_i64(const cf_gguf *g, const char *key, int64_t *out);
bool cf_gguf_get_f64(const cf_gguf *g, const char *key, double *out);
bool cf_gguf_get_bool(const cf_gguf *g, const char *key, bool *out);
bool cf_gguf_get_str(const cf_gguf *g, const char *key, cf_str *out);

/* Item i of a numeric or bool array as a number; i < v->n is asserted. */
double cf_gguf_item_f64(const cf_gguf_value *v, uint64_t i);
int64_t cf_gguf_item_i64(const cf_gguf_value *v, uint64_t i);

/* Walks a string array: start with *at = 0 and *i = 0; each call gives the
 * next item.  False past the end.  Lengths were checked when opened. */
bool cf_gguf_next_str(const cf_gguf_value *v, uint64_t *at, uint64_t *i, cf_str *out);

/* "string", "uint32" ...; arrays: by item. */
const char *cf_gguf_type_name(cf_gguf_type type);

#endif
