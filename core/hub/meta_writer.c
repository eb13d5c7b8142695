/*
 * meta_writer.c - writes GGUF's header and values, version 3.
 */
#include "core/hub/meta_writer.h"

#include <string.h>

enum { COUNT_AT = 16 }; /* magic, version, count of tensors */

static void put_uint(cf_buf *b, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(b, (char)(unsigned char)(v >> (8 * i) & 0xFF));
    }
}

static void put_str(cf_buf *b, cf_str s)
{
    put_uint(b, s.n, 8);
    cf_buf_add(b, s.p, s.n);
}

static void begin(cf_meta_writer *w, const char *key, cf_gguf_type type)
{
    put_str(&w->bytes, cf_str_from(key));
    put_uint(&w->bytes, (uint64_t)type, 4);
    w->n++;
}

void cf_meta_writer_init(cf_meta_writer *w)
{
    cf_buf_init(&w->bytes);
    w->n = 0;
    cf_buf_adds(&w->bytes, "GGUF");
    put_uint(&w->bytes, 3, 4);
    put_uint(&w->bytes, 0, 8);
    put_uint(&w->bytes, 0, 8);
}

void cf_meta_put_str(cf_meta_writer *w, const char *key, cf_str value)
{
    begin(w, key, CF_GGUF_STRING);
    put_str(&w->bytes, value);
}

void cf_meta_add_u32(cf_meta_writer *w, uint32_t value)
{
    put_uint(&w->bytes, value, 4);
}

void cf_meta_add_f32(cf_meta_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_uint(&w->bytes, bits, 4);
}

void cf_meta_add_bool(cf_meta_writer *w, bool value)
{
    put_uint(&w->bytes, value, 1);
}

void cf_meta_put_u32(cf_meta_writer *w, const char *key, uint32_t value)
{
    begin(w, key, CF_GGUF_U32);
    cf_meta_add_u32(w, value);
}

void cf_meta_put_f32(cf_meta_writer *w, const char *key, float value)
{
    begin(w, key, CF_GGUF_F32);
    cf_meta_add_f32(w, value);
}

void cf_meta_put_bool(cf_meta_writer *w, const char *key, bool value)
{
    begin(w, key, CF_GGUF_BOOL);
    cf_meta_add_bool(w, value);
}

void cf_meta_put_array(cf_meta_writer *w, const char *key, cf_gguf_type item, uint64_t n)
{
    begin(w, key, CF_GGUF_ARRAY);
    put_uint(&w->bytes, (uint64_t)item, 4);
    put_uint(&w->bytes, n, 8);
}

cf_status cf_meta_writer_open(cf_meta_writer *w, cf_gguf **out, cf_error *err)
{
    CF_TRY(cf_buf_check(&w->bytes, err));
    for (size_t i = 0; i < 8; i++) {
        w->bytes.p[COUNT_AT + i] = (char)(unsigned char)(w->n >> (8 * i));
    }
    return cf_gguf_open_memory(out, w->bytes.p, w->bytes.n, err);
}
