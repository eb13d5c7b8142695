/*
 * vision_gemma4.c - Gemma 4: gated blocks with RMS norms, the largest sides within a
 * budget of patches, one table of positions for columns and one for rows.
 *
 * Sources: the model code and the image processor of Hugging Face transformers;
 * keys and tensors as in converted files (gguf-py, "clip").
 */
#include <math.h>

#include "core/media/vision_cut.h"
#include "core/media/vision_parts.h"

enum { BUDGET = 280 }; /* merged patches of a picture */

static cf_status load_layer(const cf_vision *v, cf_mmproj *m, cf_vision_layer *l,
                            const char *prefix, cf_error *err)
{
    size_t size = v->width / v->n_head;
    cf_norm n[4] = {{NULL, NULL}};
    CF_TRY(cf_vision__load_linear(m, &l->gate, prefix, "ffn_gate", v->n_ff, v->width, err));
    CF_TRY(cf_vision__load_norm(m, &n[0], prefix, "attn_q_norm", size, err));
    CF_TRY(cf_vision__load_norm(m, &n[1], prefix, "attn_k_norm", size, err));
    CF_TRY(cf_vision__load_norm(m, &n[2], prefix, "attn_post_norm", v->width, err));
    CF_TRY(cf_vision__load_norm(m, &n[3], prefix, "ffn_post_norm", v->width, err));
    l->q_norm = n[0].w;
    l->k_norm = n[1].w;
    l->post_norm = n[2].w;
    l->ffn_post_norm = n[3].w;
    return CF_OK;
}

static cf_status load(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    if (v->n_pos % 2 != 0 || v->width / v->n_head % 4 != 0) {
        return cf_fail(err, CF_EFORMAT,
                       "the table of positions is not two, or heads cannot be "
                       "turned by quarters");
    }
    v->n_pos /= 2;
    v->max_pixels = BUDGET * v->merge * v->merge * v->patch * v->patch;
    CF_TRY(cf_mmproj_opt_vec(m, &v->out_bias, "v.std_bias", v->width, err));
    CF_TRY(cf_mmproj_opt_vec(m, &v->out_scale, "v.std_scale", v->width, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.input_projection", 0, v->width, err));
    v->n_out = v->fc1.w.n_row;
    return CF_OK;
}

/* The largest sides within the budget. */
static cf_status cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to, cf_error *err)
{
    double side = v->patch * v->merge, w = p->w, h = p->h;
    double by = sqrt(BUDGET * side * side / (w * h));
    double cols = floor(w * by / side), rows = floor(h * by / side);
    if (cols < 1) {
        cols = 1;
        rows = fmin(BUDGET, floor(h / w));
    } else if (rows < 1) {
        rows = 1;
        cols = fmin(BUDGET, floor(w / h));
    }
    return cf_cut__resized(v, to, p, (uint32_t)(cols * side), (uint32_t)(rows * side),
                           CF_FILTER_BICUBIC, err);
}

/* A row for the column from the first table, one for the row from the
 * second. */
static void place(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    (void)rows;
    size_t col = i % cols, row = i / cols;
    col = col < v->n_pos ? col : v->n_pos - 1;
    row = row < v->n_pos ? row : v->n_pos - 1;
    cf_vision__add_scaled(x, v->pos + col * v->width, v->width, 1);
    cf_vision__add_scaled(x, v->pos + (v->n_pos + row) * v->width, v->width, 1);
}

static cf_status project(const cf_vision *v, const cf_dense *d, float *out, float *x,
                         const cf_vision_block *b, cf_error *err)
{
    size_t n = (size_t)b->cols * b->rows;
    float by = (float)sqrt((double)v->width);
    cf_vision__pool(v, d, x, b);
    for (size_t i = 0; i < n * v->width; i++) {
        size_t c = i % v->width;
        x[i] = (x[i] * by - (v->out_bias != NULL ? v->out_bias[c] : 0)) *
               (v->out_scale != NULL ? v->out_scale[c] : 1);
    }
    cf_dense_rms_norm(d, x, x, NULL, n, v->width, v->eps);
    return cf_dense_linear(d, out, x, n, &v->fc1, err);
}

const cf_vision_family cf_vision_gemma4 = {
    .projector = "gemma4v",
    .marks = {.before = "<|image>",
              .after = "<image|>",
              .row = "<|image|>",
              .written = {"<|image|>"}},
    .sees_both_ways = true,
    .has_rms_norm = true,
    .doubles_pixels = true,
    .turn = CF_VISION_QUARTERS,
    .turn_base = 100,
    .attention_scale = 1,
    .load_layer = load_layer,
    .load = load,
    .cut = cut,
    .place = place,
    .project = project,
};
