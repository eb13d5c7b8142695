/*
 * tensor_finder.c - finds tensors by name and checks their shapes.
 */
#include "core/model/tensor_finder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cf_tensor__name(cf_tensor_finder *f, const char *name)
{
    snprintf(f->name, sizeof f->name, "%s", name);
}

void cf_tensor__name_in(cf_tensor_finder *f, uint32_t i, const char *name)
{
    snprintf(f->name, sizeof f->name, "blk.%u.%s", f->hp->first_block + i, name);
}

static const cf_gguf_tensor *look_up(cf_tensor_finder *f)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(f->g, f->name);
    if (t != NULL) {
        f->used[t - cf_gguf_tensor_at(f->g, 0)] = true;
    }
    return t;
}

bool cf_tensor__is_there(const cf_tensor_finder *f)
{
    return cf_gguf_find_tensor(f->g, f->name) != NULL;
}

void cf_tensor__ignore(cf_tensor_finder *f)
{
    look_up(f);
}

cf_status cf_tensor__missing(cf_tensor_finder *f)
{
    return cf_fail(f->err, CF_EFORMAT, "tensor %s is missing", f->name);
}

static cf_status check_type(cf_tensor_finder *f, const cf_gguf_tensor *t)
{
    const char *name = cf_dtype_name(t->type);
    if (cf_dtype_get(t->type).name != NULL) {
        return CF_OK;
    }
    return name != NULL ? cf_fail(f->err, CF_EUNSUPPORTED, "tensor %s: type %s is not supported",
                                  f->name, name)
                        : cf_fail(f->err, CF_EUNSUPPORTED, "tensor %s: type %u is not supported",
                                  f->name, t->type);
}

cf_status cf_tensor__opt_mat(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col, cf_mat *out)
{
    return cf_tensor__is_there(f) ? cf_tensor__mat(f, n_row, n_col, out) : CF_OK;
}

/* The numbers beside a matrix that its outputs are multiplied by, [n]: weights
 * of NVFP4 have them.  Those of inputs are for engines that round activations. */
static cf_status find_scale(cf_tensor_finder *f, uint32_t n, const float **out)
{
    static const char *const ends[] = {"input_scale", "scale"};
    char name[sizeof f->name];
    size_t stem = strlen(f->name) - strlen("weight");
    *out = NULL;
    memcpy(name, f->name, sizeof name);
    if (strlen(f->name) < strlen(".weight") || strcmp(f->name + stem, "weight") != 0) {
        return CF_OK;
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(f->name + stem, sizeof f->name - stem, "%s", ends[i]);
        const cf_gguf_tensor *t = cf_gguf_find_tensor(f->g, f->name);
        if (t != NULL && t->n_dim == 1 && t->dim[0] == n) { /* others are a family's own */
            CF_TRY(cf_tensor__vec(f, n, out));
        } else {
            *out = NULL;
        }
    }
    memcpy(f->name, name, sizeof name);
    return CF_OK;
}

cf_status cf_tensor__mat(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col, cf_mat *out)
{
    const cf_gguf_tensor *t = look_up(f);
    if (t == NULL) {
        return cf_tensor__missing(f);
    }
    CF_TRY(check_type(f, t));
    if (t->dim[0] != n_col || t->dim[1] != n_row || t->dim[2] != 1 || t->dim[3] != 1) {
        return cf_fail_at(f->err, CF_EFORMAT, t->file_off,
                          "tensor %s is [%" PRIu64 ", %" PRIu64 "], must be [%u, %u]", f->name,
                          t->dim[0], t->dim[1], n_col, n_row);
    }
    cf_dtype type = (cf_dtype)t->type;
    const float *by = NULL;
    CF_TRY(find_scale(f, 1, &by));
    *out = (cf_mat){t->p, type, n_row, n_col, cf_dtype_row_bytes(type, n_col), by ? *by : 0};
    return CF_OK;
}

cf_status cf_tensor__stack(cf_tensor_finder *f, uint32_t n, uint32_t n_row, uint32_t n_col,
                           cf_mat_stack *out)
{
    const cf_gguf_tensor *t = look_up(f);
    if (t == NULL) {
        return cf_tensor__missing(f);
    }
    CF_TRY(check_type(f, t));
    if (t->dim[0] != n_col || t->dim[1] != n_row || t->dim[2] != n || t->dim[3] != 1) {
        return cf_fail_at(f->err, CF_EFORMAT, t->file_off,
                          "tensor %s is [%" PRIu64 ", %" PRIu64 ", %" PRIu64
                          "], must be [%u, %u, %u]",
                          f->name, t->dim[0], t->dim[1], t->dim[2], n_col, n_row, n);
    }
    cf_dtype type = (cf_dtype)t->type;
    size_t row = cf_dtype_row_bytes(type, n_col);
    *out = (cf_mat_stack){{t->p, type, n_row, n_col, row, 0}, row * n_row, NULL, NULL};
    return find_scale(f, n, &out->by);
}

cf_mat cf_tensor__slice(const cf_mat *m, uint32_t row0, uint32_t n)
{
    cf_mat out = *m;
    CF_ASSERT(row0 <= m->n_row && n <= m->n_row - row0);
    out.p = (const unsigned char *)m->p + (size_t)row0 * m->row_bytes;
    out.n_row = n;
    return out;
}

/* t's numbers, where they are or as a float32 copy. */
static cf_status as_floats(cf_tensor_finder *f, const cf_gguf_tensor *t, size_t n,
                           const float **out)
{
    if (t->type == CF_F32) {
        *out = (const float *)(const void *)t->p;
        return CF_OK;
    }
    float *copy = cf_arena_alloc(&f->w->owned, n * sizeof *copy);
    if (copy == NULL) {
        return cf_oom_for(f->err, "a tensor's numbers");
    }
    cf_dtype_to_f32((cf_dtype)t->type, copy, t->p, n);
    *out = copy;
    return CF_OK;
}

cf_status cf_tensor__opt_floats(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col,
                                const float **out)
{
    const cf_gguf_tensor *t = look_up(f);
    *out = NULL;
    if (t == NULL) {
        return CF_OK;
    }
    CF_TRY(check_type(f, t));
    uint64_t n = (uint64_t)n_row * n_col;
    uint64_t all = t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    if (all != n || (t->dim[0] != n_col && t->dim[0] != n)) {
        return cf_fail_at(f->err, CF_EFORMAT, t->file_off,
                          "tensor %s is [%" PRIu64 ", %" PRIu64
                          "] with %u dimensions, must be [%u, %u]",
                          f->name, t->dim[0], t->dim[1], t->n_dim, n_col, n_row);
    }
    return as_floats(f, t, (size_t)n, out);
}

cf_status cf_tensor__floats(cf_tensor_finder *f, uint32_t n_row, uint32_t n_col, const float **out)
{
    CF_TRY(cf_tensor__opt_floats(f, n_row, n_col, out));
    return *out != NULL ? CF_OK : cf_tensor__missing(f);
}

cf_status cf_tensor__opt_vec(cf_tensor_finder *f, uint32_t n, const float **out)
{
    const cf_gguf_tensor *t = look_up(f);
    *out = NULL;
    if (t == NULL) {
        return CF_OK;
    }
    CF_TRY(check_type(f, t));
    if (t->n_dim != 1 || t->dim[0] != n) {
        return cf_fail_at(f->err, CF_EFORMAT, t->file_off,
                          "tensor %s has %u dimensions, %" PRIu64 " first, must be [%u]", f->name,
                          t->n_dim, t->dim[0], n);
    }
    return as_floats(f, t, n, out);
}

cf_status cf_tensor__vec(cf_tensor_finder *f, uint32_t n, const float **out)
{
    CF_TRY(cf_tensor__opt_vec(f, n, out));
    return *out != NULL ? CF_OK : cf_tensor__missing(f);
}

cf_status cf_tensor__norm(cf_tensor_finder *f, uint32_t n, const float **out)
{
    const float *bias = NULL;
    size_t stem = strlen(f->name) - strlen("weight");
    CF_TRY(cf_tensor__vec(f, n, out));
    if (!f->hp->arch->has_norm_bias) {
        return CF_OK;
    }
    snprintf(f->name + stem, sizeof f->name - stem, "bias");
    CF_TRY(cf_tensor__opt_vec(f, n, &bias));
    float *both = cf_arena_calloc(&f->w->owned, 2UL * n, sizeof *both);
    if (both == NULL) {
        return cf_oom_for(f->err, "a norm");
    }
    memcpy(both, *out, n * sizeof *both);
    if (bias != NULL) {
        memcpy(both + n, bias, n * sizeof *both);
    }
    *out = both;
    return CF_OK;
}
