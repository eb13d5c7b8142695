/*
 * mmproj.c - keys and tensors of a projector file, checked.
 */
#include "core/media/mmproj.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128, ROWS_MAX = 1 << 20 };

/* Takes ownership of the file, even on failure. */
static cf_status start(cf_mmproj *out, cf_gguf *g, cf_error *err)
{
    cf_str arch;
    if (!cf_gguf_get_str(g, "general.architecture", &arch) || !cf_str_is(arch, "clip")) {
        cf_gguf_close(g);
        return cf_fail(err, CF_EUNSUPPORTED, "not a multimodal projector (architecture \"clip\")");
    }
    out->g = g;
    cf_arena_init(&out->arena, 0);
    return CF_OK;
}

cf_status cf_mmproj_open(cf_mmproj *out, const char *path, cf_error *err)
{
    cf_gguf *g = NULL;
    CF_TRY(cf_gguf_open(&g, path, err));
    return start(out, g, err);
}

cf_status cf_mmproj_open_memory(cf_mmproj *out, const void *bytes, size_t n, cf_error *err)
{
    cf_gguf *g = NULL;
    CF_TRY(cf_gguf_open_memory(&g, bytes, n, err));
    return start(out, g, err);
}

void cf_mmproj_close(cf_mmproj *m)
{
    cf_arena_deinit(&m->arena);
    cf_gguf_close(m->g);
    m->g = NULL;
}

/* ---- keys --------------------------------------------------------------- */

cf_status cf_mmproj_u32(const cf_mmproj *m, const char *key, uint32_t lo, uint32_t hi,
                        uint32_t *out, cf_error *err)
{
    const cf_gguf_value *v = cf_gguf_find(m->g, key);
    uint64_t n = 0;
    if (v == NULL) {
        return CF_OK;
    }
    if (!cf_gguf_get_u64(m->g, key, &n) || n < lo || n > hi) {
        return cf_fail_at(err, CF_EFORMAT, v->off, "%s is not a number from %u to %u", key,
                          (unsigned)lo, (unsigned)hi);
    }
    *out = (uint32_t)n;
    return CF_OK;
}

cf_status cf_mmproj_need_u32(const cf_mmproj *m, const char *key, uint32_t lo, uint32_t hi,
                             uint32_t *out, cf_error *err)
{
    if (cf_gguf_find(m->g, key) == NULL) {
        return cf_fail(err, CF_EFORMAT, "the key %s is missing", key);
    }
    return cf_mmproj_u32(m, key, lo, hi, out, err);
}

cf_status cf_mmproj_f32(const cf_mmproj *m, const char *key, float *out, cf_error *err)
{
    const cf_gguf_value *v = cf_gguf_find(m->g, key);
    double d = 0;
    if (v == NULL) {
        return CF_OK;
    }
    if (!cf_gguf_get_f64(m->g, key, &d) || !isfinite(d) || d < 0 || d > 1e9) {
        return cf_fail_at(err, CF_EFORMAT, v->off, "%s is out of range", key);
    }
    *out = (float)d;
    return CF_OK;
}

cf_status cf_mmproj_floats(const cf_mmproj *m, const char *key, float *out, size_t n, cf_error *err)
{
    const cf_gguf_value *v = cf_gguf_find(m->g, key);
    if (v == NULL) {
        return CF_OK;
    }
    if (v->type != CF_GGUF_ARRAY || v->item == CF_GGUF_STRING || v->n < n) {
        return cf_fail_at(err, CF_EFORMAT, v->off, "%s is not %zu numbers", key, n);
    }
    for (size_t i = 0; i < n; i++) {
        double d = cf_gguf_item_f64(v, i);
        if (!isfinite(d) || fabs(d) > 1e9) {
            return cf_fail_at(err, CF_EFORMAT, v->off, "%s is out of range", key);
        }
        out[i] = (float)d;
    }
    return CF_OK;
}

/* ---- tensors ------------------------------------------------------------ */

bool cf_mmproj_has(const cf_mmproj *m, const char *name)
{
    return cf_gguf_find_tensor(m->g, name) != NULL;
}

static cf_status wrong_shape(const cf_gguf_tensor *t, cf_error *err)
{
    return cf_fail_at(err, CF_EFORMAT, t->file_off,
                      "tensor %.*s: unexpected shape %llu x %llu x %llu x %llu", (int)t->name.n,
                      t->name.p, (unsigned long long)t->dim[0], (unsigned long long)t->dim[1],
                      (unsigned long long)t->dim[2], (unsigned long long)t->dim[3]);
}

static bool is_float(uint32_t type)
{
    return type == CF_F32 || type == CF_F16 || type == CF_BF16;
}

static cf_status find(const cf_mmproj *m, const char *name, const cf_gguf_tensor **out,
                      cf_error *err)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(m->g, name);
    if (t == NULL) {
        return cf_fail(err, CF_EFORMAT, "the tensor %s is missing", name);
    }
    if (t->p == NULL || cf_dtype_get(t->type).name == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "tensor %s: confab does not compute its type", name);
    }
    *out = t;
    return CF_OK;
}

cf_status cf_mmproj_matrix(const cf_mmproj *m, cf_mat *out, const char *name, uint32_t n_row,
                           uint32_t n_col, cf_error *err)
{
    const cf_gguf_tensor *t = NULL;
    CF_TRY(find(m, name, &t, err));
    cf_dtype_info type = cf_dtype_get(t->type);
    uint64_t cols = 1;
    uint32_t i = 0;
    while (i < t->n_dim && cols < n_col) {
        cols *= t->dim[i++]; /* dimensions were checked against the file */
    }
    uint64_t rows = 1;
    for (; i < t->n_dim; i++) {
        rows *= t->dim[i];
    }
    bool is_joined = cols != t->dim[0];
    if (cols != n_col || rows == 0 || rows > ROWS_MAX || (n_row != 0 && rows != n_row) ||
        (is_joined && !is_float(t->type)) || n_col % type.n_block != 0) {
        return wrong_shape(t, err);
    }
    *out = (cf_mat){.p = t->p,
                    .type = (cf_dtype)t->type,
                    .n_row = (uint32_t)rows,
                    .n_col = n_col,
                    .row_bytes = cf_dtype_row_bytes((cf_dtype)t->type, n_col)};
    return CF_OK;
}

cf_status cf_mmproj_vec(cf_mmproj *m, const float **out, const char *name, size_t n, cf_error *err)
{
    const cf_gguf_tensor *t = NULL;
    CF_TRY(find(m, name, &t, err));
    uint64_t have = 1;
    for (uint32_t i = 0; i < t->n_dim; i++) {
        have *= t->dim[i];
    }
    if (have != n || !is_float(t->type)) {
        return wrong_shape(t, err);
    }
    float *v = cf_arena_calloc(&m->arena, n, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "a projector's tensors");
    }
    cf_dtype_to_f32((cf_dtype)t->type, v, t->p, n);
    *out = v;
    return CF_OK;
}

cf_status cf_mmproj_opt_vec(cf_mmproj *m, const float **out, const char *name, size_t n,
                            cf_error *err)
{
    return cf_mmproj_has(m, name) ? cf_mmproj_vec(m, out, name, n, err) : CF_OK;
}

static cf_status limits(cf_mmproj *m, cf_linear *l, const char *name, cf_error *err)
{
    const char *suffix[4] = {"input_min", "input_max", "output_min", "output_max"};
    float *to[4] = {&l->in_min, &l->in_max, &l->out_min, &l->out_max};
    l->in_min = l->out_min = -INFINITY;
    l->in_max = l->out_max = INFINITY;
    for (int i = 0; i < 4; i++) {
        char full[NAME_MAX_BYTES];
        const float *v = NULL;
        snprintf(full, sizeof full, "%s.%s", name, suffix[i]);
        CF_TRY(cf_mmproj_opt_vec(m, &v, full, 1, err));
        if (v != NULL) {
            *to[i] = *v;
            l->is_clamped = true;
        }
    }
    return CF_OK;
}

cf_status cf_mmproj_linear(cf_mmproj *m, cf_linear *out, const char *name, uint32_t n_row,
                           uint32_t n_col, cf_error *err)
{
    char full[NAME_MAX_BYTES];
    cf_linear l = {.bias = NULL};
    snprintf(full, sizeof full, "%s.weight", name);
    CF_TRY(cf_mmproj_matrix(m, &l.w, full, n_row, n_col, err));
    snprintf(full, sizeof full, "%s.bias", name);
    CF_TRY(cf_mmproj_opt_vec(m, &l.bias, full, l.w.n_row, err));
    CF_TRY(limits(m, &l, name, err));
    *out = l;
    return CF_OK;
}

cf_linear cf_linear_slice(const cf_linear *l, uint32_t row0, uint32_t n)
{
    cf_linear s = *l;
    s.w.p = (const unsigned char *)l->w.p + row0 * l->w.row_bytes;
    s.w.n_row = n;
    s.bias = l->bias != NULL ? l->bias + row0 : NULL;
    return s;
}
