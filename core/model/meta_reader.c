/*
 * meta_reader.c - turns metadata keys into checked numbers.
 */
#include "core/model/meta_reader.h"

#include <inttypes.h>
#include <stdio.h>

const cf_gguf_value *cf_meta__find(cf_meta_reader *r, const char *name)
{
    snprintf(r->key, sizeof r->key, "%s.%s", r->arch, name);
    return cf_gguf_find(r->g, r->key);
}

cf_status cf_meta__missing(cf_meta_reader *r)
{
    return cf_fail(r->err, CF_EFORMAT, "%s is missing", r->key);
}

cf_status cf_meta__opt_u32(cf_meta_reader *r, const char *name, uint32_t lo, uint32_t hi,
                           uint32_t *out)
{
    const cf_gguf_value *v = cf_meta__find(r, name);
    uint64_t n = 0;
    if (v == NULL) {
        return CF_OK;
    }
    if (!cf_gguf_get_u64(r->g, r->key, &n)) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off, "%s at byte %" PRIu64 " is %s, not a count",
                          r->key, v->off, cf_gguf_type_name(v->type));
    }
    if (n < lo || n > hi) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 " is %" PRIu64 ", must be %u to %u", r->key, v->off,
                          n, lo, hi);
    }
    *out = (uint32_t)n;
    return CF_OK;
}

cf_status cf_meta__need_u32(cf_meta_reader *r, const char *name, uint32_t lo, uint32_t hi,
                            uint32_t *out)
{
    if (cf_meta__find(r, name) == NULL) {
        return cf_meta__missing(r);
    }
    return cf_meta__opt_u32(r, name, lo, hi, out);
}

static cf_status not_a_number(cf_meta_reader *r, const cf_gguf_value *v, double lo, double hi)
{
    return cf_fail_at(r->err, CF_EFORMAT, v->off,
                      "%s at byte %" PRIu64 " must be a number from %g to %g", r->key, v->off, lo,
                      hi);
}

cf_status cf_meta__opt_f64(cf_meta_reader *r, const char *name, double lo, double hi, double *out)
{
    const cf_gguf_value *v = cf_meta__find(r, name);
    double d = 0;
    if (v == NULL) {
        return CF_OK;
    }
    if (!cf_gguf_get_f64(r->g, r->key, &d) || !(d >= lo && d <= hi)) {
        return not_a_number(r, v, lo, hi);
    }
    *out = d;
    return CF_OK;
}

cf_status cf_meta__opt_f32(cf_meta_reader *r, const char *name, double lo, double hi, float *out)
{
    double d = (double)*out;
    CF_TRY(cf_meta__opt_f64(r, name, lo, hi, &d));
    *out = (float)d;
    return CF_OK;
}

void cf_meta__opt_bool(cf_meta_reader *r, const char *name, bool *out)
{
    bool b = false;
    cf_meta__find(r, name);
    if (cf_gguf_get_bool(r->g, r->key, &b)) {
        *out = b;
    }
}

/* Whether `v` is an array of whole numbers or flags with an item `i`. */
static bool has_count(const cf_gguf_value *v, uint32_t i)
{
    return v->type == CF_GGUF_ARRAY && i < v->n && v->item != CF_GGUF_STRING &&
           v->item != CF_GGUF_F32 && v->item != CF_GGUF_F64;
}

cf_status cf_meta__layer_u32(cf_meta_reader *r, const char *name, uint32_t i, uint32_t lo,
                             uint32_t hi, uint32_t *out)
{
    const cf_gguf_value *v = cf_meta__find(r, name);
    if (v == NULL) {
        return CF_OK;
    }
    if (v->type != CF_GGUF_ARRAY) {
        return cf_meta__opt_u32(r, name, lo, hi, out);
    }
    if (!has_count(v, i)) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 " must be counts, one for each layer", r->key,
                          v->off);
    }
    int64_t n = cf_gguf_item_i64(v, i);
    if (n < (int64_t)lo || n > (int64_t)hi) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 ": item %u is %" PRId64 ", must be %u to %u",
                          r->key, v->off, i, n, lo, hi);
    }
    *out = (uint32_t)n;
    return CF_OK;
}

cf_status cf_meta__layer_flag(cf_meta_reader *r, const char *name, uint32_t i, bool *is_there,
                              bool *out)
{
    const cf_gguf_value *v = cf_meta__find(r, name);
    *is_there = v != NULL && v->type == CF_GGUF_ARRAY;
    if (!*is_there) {
        return CF_OK;
    }
    if (!has_count(v, i)) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 " must be flags, one for each layer", r->key,
                          v->off);
    }
    *out = cf_gguf_item_i64(v, i) != 0;
    return CF_OK;
}

cf_status cf_meta__layer_f32(cf_meta_reader *r, const char *name, uint32_t i, double lo, double hi,
                             float *out)
{
    const cf_gguf_value *v = cf_meta__find(r, name);
    if (v == NULL) {
        return CF_OK;
    }
    if (v->type != CF_GGUF_ARRAY || i >= v->n ||
        (v->item != CF_GGUF_F32 && v->item != CF_GGUF_F64)) {
        return cf_fail_at(r->err, CF_EFORMAT, v->off,
                          "%s at byte %" PRIu64 " must be numbers, one for each layer", r->key,
                          v->off);
    }
    double d = cf_gguf_item_f64(v, i);
    if (!(d >= lo && d <= hi)) {
        return not_a_number(r, v, lo, hi);
    }
    *out = (float)d;
    return CF_OK;
}
