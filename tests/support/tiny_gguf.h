/*
 * tiny_gguf.h - small random models as GGUF bytes, made from a seed.
 *
 * Every architecture and weight type that confab computes, with a vocabulary
 * of single bytes and a few longer pieces.  The answers are noise; the cost
 * is some hundred kilobytes.  The same options give the same bytes.
 *
 * Memory: from the C library, not from cf_alloc(), so that fault tests count
 * the code under test only.
 */
#ifndef CF_TESTS_SUPPORT_TINY_GGUF_H
#define CF_TESTS_SUPPORT_TINY_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel/dtype.h"

/* Layers of a family with deepstack that read parts of rows. */
enum { CF_TINY_DEEPSTACK = 1 };

/* Zero everywhere gives a llama of two layers in F32. */
typedef struct cf_tiny_options {
    const char *arch; /* NULL: "llama" */
    cf_dtype type;    /* of matrices; where their rows are no multiple of its
                         block, Q8_0 or F32 instead */
    uint64_t seed;
    uint32_t n_layer;          /* 2, 4 with recurrent layers (each second is
                                  attention), 6 where windows have a pattern */
    uint32_t n_embd;           /* 64; 256 for types with blocks of 256 */
    uint32_t n_head;           /* 4 */
    uint32_t n_head_kv;        /* 2 */
    uint32_t head_size;        /* 16 */
    uint32_t head_size_v;      /* head_size; of values */
    uint32_t n_rot;            /* head_size */
    uint32_t n_ff;             /* 2 * n_embd */
    uint32_t n_vocab;          /* 320; at least 260 */
    uint32_t n_ctx;            /* 512 */
    uint32_t window;           /* 12, for architectures that have windows */
    const char *rope_scaling;  /* NULL, "linear", "yarn", "longrope" */
    bool has_rope_freqs;       /* rope_freqs.weight, as Llama 3 has */
    bool has_output;           /* a matrix of its own; else tied */
    bool has_bias;             /* on all projections; qwen2 always has qkv's */
    bool has_scales;           /* a number beside each of a layer's matrices */
    bool has_experts;          /* llama, too */
    bool has_split_experts;    /* likewise, a tensor for each */
    bool by_layer;             /* odd layers have half the heads and a narrower
                                  feed-forward; sizes are arrays */
    uint32_t pooling;          /* pooling_type; 0: not there */
    uint32_t n_nextn;          /* draft layers after the others: 0 or 1 */
    bool vocab_only;           /* no tensors */
    const char *chat_template; /* NULL: none */
} cf_tiny_options;

/* The architectures, and those whose layers are plain attention and one
 * feed-forward block; NULL at the end. */
extern const char *const cf_tiny_archs[];
extern const char *const cf_tiny_plain_archs[];
/* Encoders, on which no session runs; they and qwen3 are rankers with
 * pooling 4. */
extern const char *const cf_tiny_encoder_archs[];

/* The model's bytes, 64-byte aligned, and their number; the caller frees them
 * with cf_tiny_free().  Never NULL: out of memory ends the program. */
void *cf_tiny_gguf(const cf_tiny_options *options, size_t *n);
void cf_tiny_free(void *p);

/* ---- pieces of a file, for tests that write broken ones ----------------- */

typedef struct cf_tiny_buf {
    unsigned char *p; /* [n], cf_tiny_free() */
    size_t n, cap;
} cf_tiny_buf;

void cf_tiny_bytes(cf_tiny_buf *b, const void *p, size_t n);
void cf_tiny_uint(cf_tiny_buf *b, uint64_t v, size_t n_bytes); /* little-endian */
void cf_tiny_f32(cf_tiny_buf *b, float v);
void cf_tiny_str(cf_tiny_buf *b, const char *s); /* length and bytes */
/* Magic, version and counts. */
void cf_tiny_head(cf_tiny_buf *b, uint32_t version, uint64_t n_tensors, uint64_t n_values);
void cf_tiny_kv_str(cf_tiny_buf *b, const char *key, const char *v);
void cf_tiny_kv_u32(cf_tiny_buf *b, const char *key, uint32_t v);
void cf_tiny_kv_f32(cf_tiny_buf *b, const char *key, float v);
/* A tensor's declaration. */
void cf_tiny_tensor(cf_tiny_buf *b, const char *name, uint32_t n_dim, const uint64_t *dim,
                    uint32_t type, uint64_t off);
/* Zeros up to a multiple of `align`. */
void cf_tiny_pad(cf_tiny_buf *b, size_t align);

#endif
