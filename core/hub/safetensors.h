/*
 * safetensors.h - tensors of one .safetensors file, or of several that an
 * index joins.
 *
 * Place in the flow:  the files --> here --> hf_weights.h, adapters.
 * Knows: the container: a length of 8 bytes, a JSON header, data.
 * Does not know: what a tensor is for.
 * Source: the format section of the safetensors README.
 *
 * Everything in a header is checked before it is believed: its length, types,
 * shapes, places, overlaps, names given twice.
 *
 * Threads:  constant after open.
 * Memory:   tensors point into the mapped files and live as long as this.
 */
#ifndef CF_CORE_HUB_SAFETENSORS_H
#define CF_CORE_HUB_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/str.h"

typedef struct cf_safetensors cf_safetensors;

typedef enum cf_st_type {
    CF_ST_OTHER, /* its numbers are not read; only its position was checked */
    CF_ST_F32,
    CF_ST_F16,
    CF_ST_BF16,
    CF_ST_U8
} cf_st_type;

enum { CF_ST_DIMS = 8 };

typedef struct cf_safetensor {
    cf_str name;
    cf_st_type type;
    cf_str type_name;         /* as in the file */
    uint32_t n_dim;           /* 0 for a single number */
    uint64_t dim[CF_ST_DIMS]; /* slowest first, as in the file */
    uint64_t n;               /* numbers */
    uint64_t off, bytes;      /* in the data of its file */
    uint32_t file;
    const unsigned char *p; /* of any alignment */
} cf_safetensor;

/* Bytes of a number; 0 for CF_ST_OTHER. */
size_t cf_st_type_bytes(cf_st_type type);

/* Opens one file.  CF_ENOTFOUND, CF_EIO, CF_EFORMAT, CF_ELIMIT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_safetensors_open(cf_safetensors **out, const char *path, cf_error *err);

/* Opens model.safetensors of a folder, or the files that its
 * model.safetensors.index.json names.  CF_ENOTFOUND without either. */
CF_MUST_USE cf_status cf_safetensors_open_folder(cf_safetensors **out, const char *folder,
                                                 cf_error *err);

/* The same from bytes in memory, which must outlive it. */
CF_MUST_USE cf_status cf_safetensors_open_memory(cf_safetensors **out, const void *bytes, size_t n,
                                                 cf_error *err);
void cf_safetensors_close(cf_safetensors *s);

/* Whether a folder has weights in this format. */
bool cf_safetensors_is_in(const char *folder);

size_t cf_safetensors_n(const cf_safetensors *s);
const cf_safetensor *cf_safetensors_at(const cf_safetensors *s, size_t i);
/* NULL when absent. */
const cf_safetensor *cf_safetensors_find(const cf_safetensors *s, cf_str name);

/* CF_EIO if a file has been truncated or modified since it was opened; `s` may be NULL. */
CF_MUST_USE cf_status cf_safetensors_check(const cf_safetensors *s, cf_error *err);

/* Bytes of file i and, in *header_bytes, where its data starts. */
size_t cf_safetensors_n_files(const cf_safetensors *s);
cf_str cf_safetensors_file(const cf_safetensors *s, size_t i, uint64_t *header_bytes);

/* The name of the type that most bytes have, "BF16"; "" without files. */
const char *cf_safetensors_main_type(const cf_safetensors *s);

/* Asks the system to read the files ahead where they fit; a hint. */
void cf_safetensors_prefetch(const cf_safetensors *s);

#endif
