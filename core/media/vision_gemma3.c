/*
 * vision_gemma3.c - Gemma 3: squares of one size, means of 4 x 4 patches.
 *
 * Sources: the model code and the image processor of Hugging Face transformers;
 * keys and tensors as in converted files (gguf-py, "clip").
 */
#include "core/base/alloc.h"
#include "core/media/vision_cut.h"
#include "core/media/vision_parts.h"

/* The matrix as float32, rows and columns exchanged. */
static cf_status transpose(cf_mmproj *m, cf_linear *l, cf_error *err)
{
    uint32_t n_row = l->w.n_col, n_col = l->w.n_row;
    float *to = cf_arena_calloc(&m->arena, (size_t)n_row * n_col, sizeof *to);
    float *row = cf_calloc(n_row, sizeof *row);
    if (to == NULL || row == NULL) {
        cf_free(row);
        return cf_oom_for(err, "a projector's tensors");
    }
    for (size_t c = 0; c < n_col; c++) {
        cf_dtype_to_f32(l->w.type, row, (const unsigned char *)l->w.p + c * l->w.row_bytes, n_row);
        for (size_t r = 0; r < n_row; r++) {
            to[r * n_col + c] = row[r];
        }
    }
    cf_free(row);
    l->w = (cf_mat){.p = to,
                    .type = CF_F32,
                    .n_row = n_row,
                    .n_col = n_col,
                    .row_bytes = n_col * sizeof(float)};
    return CF_OK;
}

static cf_status load(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    uint32_t n_out = 0;
    CF_TRY(cf_vision__need_whole(v, err));
    CF_TRY(cf_mmproj_need_u32(m, "clip.vision.projection_dim", 1, 1 << 16, &n_out, err));
    CF_TRY(cf_mmproj_vec(m, &v->out_norm.w, "mm.soft_emb_norm.weight", v->width, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.input_projection", v->width, n_out, err));
    CF_TRY(transpose(m, &v->fc1, err));
    v->n_out = n_out;
    return CF_OK;
}

static cf_status cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to, cf_error *err)
{
    return cf_cut__resized(v, to, p, v->image_size, v->image_size, CF_FILTER_BILINEAR, err);
}

static cf_status project(const cf_vision *v, const cf_dense *d, float *out, float *x,
                         const cf_vision_block *b, cf_error *err)
{
    size_t n = (size_t)b->cols * b->rows;
    cf_vision__post_norm(v, d, x, b);
    cf_vision__pool(v, d, x, b);
    cf_dense_rms_norm(d, x, x, v->out_norm.w, n, v->width, v->eps);
    return cf_dense_linear(d, out, x, n, &v->fc1, err);
}

const cf_vision_family cf_vision_gemma3 = {
    .projector = "gemma3",
    .marks = {.before = "\n\n<start_of_image>",
              .after = "<end_of_image>\n\n",
              .row = "<image_soft_token>",
              .written = {"<start_of_image>"}},
    .sees_both_ways = true,
    .merge = 4,
    .load = load,
    .cut = cut,
    .place = cf_vision__place_each,
    .project = project,
};
