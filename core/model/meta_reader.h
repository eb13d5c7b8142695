/*
 * meta_reader.h - metadata keys "ARCH.name" to checked numbers.
 *
 * A key that is absent leaves its default; one that is there must be of the
 * right kind and in range, or the call fails with CF_EFORMAT, naming the key
 * and its place in the file.
 *
 * Private to core/model.
 */
#ifndef CF_CORE_MODEL_META_READER_H
#define CF_CORE_MODEL_META_READER_H

#include "core/base/status.h"
#include "core/model/gguf.h"

typedef struct cf_meta_reader {
    const cf_gguf *g;
    const char *arch;
    cf_error *err;
    char key[160]; /* the one looked up last */
} cf_meta_reader;

/* NULL where the file does not have ARCH.name. */
const cf_gguf_value *cf_meta__find(cf_meta_reader *r, const char *name);

/* CF_EFORMAT: the key looked up last is missing. */
CF_MUST_USE cf_status cf_meta__missing(cf_meta_reader *r);

/* An integer in lo..hi; absent leaves *out (opt) or fails (need). */
CF_MUST_USE cf_status cf_meta__opt_u32(cf_meta_reader *r, const char *name, uint32_t lo,
                                       uint32_t hi, uint32_t *out);
CF_MUST_USE cf_status cf_meta__need_u32(cf_meta_reader *r, const char *name, uint32_t lo,
                                        uint32_t hi, uint32_t *out);

/* A finite number in lo..hi; absent leaves *out. */
CF_MUST_USE cf_status cf_meta__opt_f64(cf_meta_reader *r, const char *name, double lo, double hi,
                                       double *out);
CF_MUST_USE cf_status cf_meta__opt_f32(cf_meta_reader *r, const char *name, double lo, double hi,
                                       float *out);

/* True or false; absent, or of another kind, leaves *out. */
void cf_meta__opt_bool(cf_meta_reader *r, const char *name, bool *out);

/* A count in lo..hi for layer `i`: one number for all layers or an array.
 * Absent leaves *out. */
CF_MUST_USE cf_status cf_meta__layer_u32(cf_meta_reader *r, const char *name, uint32_t i,
                                         uint32_t lo, uint32_t hi, uint32_t *out);

/* Item `i` of an array of flags; *is_there says whether there is one. */
CF_MUST_USE cf_status cf_meta__layer_flag(cf_meta_reader *r, const char *name, uint32_t i,
                                          bool *is_there, bool *out);

/* Item `i` of an array of numbers in lo..hi; absent leaves *out. */
CF_MUST_USE cf_status cf_meta__layer_f32(cf_meta_reader *r, const char *name, uint32_t i, double lo,
                                         double hi, float *out);

#endif
