/*
 * meta_writer.h - metadata in the form of a GGUF file, in memory.
 *
 * A folder of another format is described by the keys that a converter would
 * write for it, so that the readers of a model know one kind of metadata.
 *
 * Threads:  one thread at a time.
 */
#ifndef CF_CORE_HUB_META_WRITER_H
#define CF_CORE_HUB_META_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/model/gguf.h"

typedef struct cf_meta_writer {
    cf_buf bytes; /* failed when memory ran out */
    uint64_t n;   /* values */
} cf_meta_writer;

void cf_meta_writer_init(cf_meta_writer *w);
void cf_meta_put_str(cf_meta_writer *w, const char *key, cf_str value);
void cf_meta_put_u32(cf_meta_writer *w, const char *key, uint32_t value);
void cf_meta_put_f32(cf_meta_writer *w, const char *key, float value);
void cf_meta_put_bool(cf_meta_writer *w, const char *key, bool value);

/* Begins an array; `n` items of that type must follow. */
void cf_meta_put_array(cf_meta_writer *w, const char *key, cf_gguf_type item, uint64_t n);
void cf_meta_add_u32(cf_meta_writer *w, uint32_t value);
void cf_meta_add_f32(cf_meta_writer *w, float value);
void cf_meta_add_bool(cf_meta_writer *w, bool value);

/* Opens the finished metadata; its bytes must outlive *out and stay unchanged. */
CF_MUST_USE cf_status cf_meta_writer_open(cf_meta_writer *w, cf_gguf **out, cf_error *err);

#endif
