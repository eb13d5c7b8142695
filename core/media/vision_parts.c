/*
 * vision_parts.c - common parts of the families of picture encoders.
 */
#include "core/media/vision_parts.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

cf_status cf_vision__load_norm(cf_mmproj *m, cf_norm *to, const char *prefix, const char *name,
                               size_t n, cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    CF_TRY(cf_mmproj_vec(m, &to->w, full, n, err));
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return cf_mmproj_opt_vec(m, &to->b, full, n, err);
}

cf_status cf_vision__load_linear(cf_mmproj *m, cf_linear *to, const char *prefix, const char *name,
                                 uint32_t n_row, uint32_t n_col, cf_error *err)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return cf_mmproj_linear(m, to, full, n_row, n_col, err);
}

cf_status cf_vision__need_post_ln(const cf_vision *v, cf_error *err)
{
    return v->post_ln.w != NULL
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "the tensor v.post_ln.weight is missing");
}

cf_status cf_vision__need_square(const cf_vision *v, cf_error *err)
{
    return (uint64_t)v->pos_side * v->pos_side == v->n_pos
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "%u positions are not a square", (unsigned)v->n_pos);
}

cf_status cf_vision__need_whole(const cf_vision *v, cf_error *err)
{
    uint32_t side = v->image_size / v->patch;
    if (v->image_size % (v->patch * v->merge) != 0 || v->n_pos != side * side) {
        return cf_fail(err, CF_EFORMAT,
                       "an image of %u is not %u positions of patches of %u "
                       "joined by %u",
                       (unsigned)v->image_size, (unsigned)v->n_pos, (unsigned)v->patch,
                       (unsigned)v->merge);
    }
    return cf_vision__need_post_ln(v, err);
}

void cf_vision__add_scaled(float *x, const float *p, size_t n, double by)
{
    for (size_t c = 0; c < n; c++) {
        x[c] += (float)by * p[c];
    }
}

void cf_vision__place_each(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    (void)cols;
    (void)rows;
    cf_vision__add_scaled(x, v->pos + i * v->width, v->width, 1);
}

void cf_vision__post_norm(const cf_vision *v, const cf_dense *d, float *x, const cf_vision_block *b)
{
    cf_dense_layer_norm(d, x, x, v->post_ln.w, v->post_ln.b,
                        (size_t)b->cols * b->rows * v->merge * v->merge, v->width, v->eps);
}

void cf_vision__pool(const cf_vision *v, const cf_dense *d, float *x, const cf_vision_block *b)
{
    size_t k = v->merge, width = v->width, cols = b->cols * k;
    float *row = x; /* the first patch of a square never precedes the row that is written */
    for (size_t i = 0; i < (size_t)b->cols * b->rows && !cf_stop_now(d->stop); i++, row += width) {
        size_t x0 = i % b->cols * k, y0 = i / b->cols * k;
        for (size_t c = 0; c < width; c++) {
            double sum = 0;
            for (size_t j = 0; j < k * k; j++) {
                size_t at = (y0 + j / k) * cols + x0 + j % k;
                sum += (double)x[at * width + c];
            }
            row[c] = (float)(sum / (double)(k * k));
        }
    }
}

float *cf_vision__joined(const cf_vision *v, const cf_dense *d, const float *x,
                         const cf_vision_block *b)
{
    size_t k = v->merge, width = v->width, cols = b->cols * k;
    float *to = cf_calloc((size_t)b->cols * b->rows * k * k * width, sizeof *to);
    float *at = to;
    size_t n = (size_t)b->cols * b->rows;
    for (size_t i = 0; to != NULL && i < n && !cf_stop_now(d->stop); i++) {
        for (size_t j = 0; j < k * k; j++, at += width) {
            size_t col = i % b->cols * k + j % k, row = i / b->cols * k + j / k;
            memcpy(at, x + (row * cols + col) * width, width * sizeof *to);
        }
    }
    return to;
}

cf_status cf_vision__merge(const cf_vision *v, const cf_dense *d, float *out, const float *x,
                           size_t n_patch, const cf_linear *fc1, const cf_linear *fc2,
                           cf_error *err)
{
    size_t n = n_patch / (v->merge * v->merge);
    float *mid = cf_calloc(n * fc1->w.n_row, sizeof *mid);
    if (mid == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = cf_dense_linear(d, mid, x, n, fc1, err);
    cf_dense_act(d, mid, n * fc1->w.n_row, CF_ACT_GELU_ERF);
    CF_THEN(st, cf_dense_linear(d, out, mid, n, fc2, err));
    cf_free(mid);
    return st;
}
