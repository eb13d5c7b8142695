/*
 * tiny_bytes.c - writes the pieces that GGUF files consist of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernel/half.h"
#include "core/model/gguf.h"
#include "tests/support/tiny_gguf.h"

static void grow(cf_tiny_buf *b, size_t n)
{
    if (b->n + n <= b->cap) {
        return;
    }
    size_t cap = (b->n + n) * 2;
    cap = (cap + 63) / 64 * 64;
    unsigned char *p = aligned_alloc(64, cap);
    if (p == NULL) {
        fprintf(stderr, "tiny_gguf: out of memory\n");
        exit(1);
    }
    if (b->n != 0) {
        memcpy(p, b->p, b->n);
    }
    free(b->p);
    b->p = p;
    b->cap = cap;
}

void cf_tiny_free(void *p)
{
    free(p);
}

void cf_tiny_bytes(cf_tiny_buf *b, const void *p, size_t n)
{
    grow(b, n);
    if (n != 0) {
        memcpy(b->p + b->n, p, n);
    }
    b->n += n;
}

void cf_tiny_uint(cf_tiny_buf *b, uint64_t v, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        unsigned char c = (unsigned char)(v >> (8 * i));
        cf_tiny_bytes(b, &c, 1);
    }
}

void cf_tiny_f32(cf_tiny_buf *b, float v)
{
    cf_tiny_uint(b, cf_float_bits(v), 4);
}

void cf_tiny_str(cf_tiny_buf *b, const char *s)
{
    cf_tiny_uint(b, strlen(s), 8);
    cf_tiny_bytes(b, s, strlen(s));
}

void cf_tiny_head(cf_tiny_buf *b, uint32_t version, uint64_t n_tensors, uint64_t n_values)
{
    cf_tiny_bytes(b, "GGUF", 4);
    cf_tiny_uint(b, version, 4);
    cf_tiny_uint(b, n_tensors, 8);
    cf_tiny_uint(b, n_values, 8);
}

void cf_tiny_kv_str(cf_tiny_buf *b, const char *key, const char *v)
{
    cf_tiny_str(b, key);
    cf_tiny_uint(b, CF_GGUF_STRING, 4);
    cf_tiny_str(b, v);
}

void cf_tiny_kv_u32(cf_tiny_buf *b, const char *key, uint32_t v)
{
    cf_tiny_str(b, key);
    cf_tiny_uint(b, CF_GGUF_U32, 4);
    cf_tiny_uint(b, v, 4);
}

void cf_tiny_kv_f32(cf_tiny_buf *b, const char *key, float v)
{
    cf_tiny_str(b, key);
    cf_tiny_uint(b, CF_GGUF_F32, 4);
    cf_tiny_f32(b, v);
}

void cf_tiny_tensor(cf_tiny_buf *b, const char *name, uint32_t n_dim, const uint64_t *dim,
                    uint32_t type, uint64_t off)
{
    cf_tiny_str(b, name);
    cf_tiny_uint(b, n_dim, 4);
    for (uint32_t i = 0; i < n_dim; i++) {
        cf_tiny_uint(b, dim[i], 8);
    }
    cf_tiny_uint(b, type, 4);
    cf_tiny_uint(b, off, 8);
}

void cf_tiny_pad(cf_tiny_buf *b, size_t align)
{
    while (b->n % align != 0) {
        cf_tiny_uint(b, 0, 1);
    }
}
