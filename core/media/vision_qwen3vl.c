/*
 * vision_qwen3vl.c - Qwen3-VL: sizes near the picture's own, positions by row and
 * column, and parts that also enter the first layers of the text model (deepstack).
 *
 * Sources: the model code and the image processor of Hugging Face transformers;
 * keys and tensors as in converted files (gguf-py, "clip").
 */
#include <math.h>
#include <stdio.h>

#include "core/media/vision_cut.h"
#include "core/media/vision_parts.h"

static cf_status load_merger(cf_vision *v, cf_mmproj *m, uint32_t layer, cf_error *err)
{
    uint32_t joined = v->width * v->merge * v->merge;
    char name[64];
    if (v->n_merger == CF_DEEPSTACK_MAX) {
        return cf_fail(err, CF_EUNSUPPORTED, "more than %d deepstack layers", CF_DEEPSTACK_MAX);
    }
    cf_merger *to = &v->merger[v->n_merger];
    to->layer = layer;
    snprintf(name, sizeof name, "v.deepstack.%u.norm.weight", (unsigned)layer);
    CF_TRY(cf_mmproj_vec(m, &to->norm.w, name, joined, err));
    snprintf(name, sizeof name, "v.deepstack.%u.norm.bias", (unsigned)layer);
    CF_TRY(cf_mmproj_vec(m, &to->norm.b, name, joined, err));
    snprintf(name, sizeof name, "v.deepstack.%u.fc1", (unsigned)layer);
    CF_TRY(cf_mmproj_linear(m, &to->fc1, name, 0, joined, err));
    snprintf(name, sizeof name, "v.deepstack.%u.fc2", (unsigned)layer);
    CF_TRY(cf_mmproj_linear(m, &to->fc2, name, v->n_out, to->fc1.w.n_row, err));
    v->n_merger++;
    return CF_OK;
}

static cf_status load(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    CF_TRY(cf_vision__need_post_ln(v, err));
    CF_TRY(cf_vision__need_square(v, err));
    v->merge = 2;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.spatial_merge_size", 1, 8, &v->merge, err));
    v->min_pixels = 65536;
    v->max_pixels = 16777216;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.image_min_pixels", 1, 1 << 26, &v->min_pixels, err));
    CF_TRY(cf_mmproj_u32(m, "clip.vision.image_max_pixels", v->min_pixels, 1 << 26, &v->max_pixels,
                         err));
    CF_TRY(cf_mmproj_matrix(m, &v->patch_embd_2.w, "v.patch_embd.weight.1", v->width,
                            v->patch * v->patch * 3, err));
    uint32_t joined = v->width * v->merge * v->merge;
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.0", 0, joined, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc2, "mm.2", 0, v->fc1.w.n_row, err));
    v->n_out = v->fc2.w.n_row;
    const cf_gguf_value *flags = cf_gguf_find(m->g, "clip.vision.is_deepstack_layers");
    for (uint32_t i = 0; flags != NULL && i < v->n_layer; i++) {
        if (flags->type != CF_GGUF_ARRAY || flags->item != CF_GGUF_BOOL || flags->n != v->n_layer) {
            return cf_fail_at(err, CF_EFORMAT, flags->off,
                              "clip.vision.is_deepstack_layers is not a flag "
                              "for each layer");
        }
        if (cf_gguf_item_i64(flags, i) != 0) {
            CF_TRY(load_merger(v, m, i, err));
        }
    }
    return CF_OK;
}

/* Sides to multiples of a merged patch, within the limits of pixels. */
static cf_status cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to, cf_error *err)
{
    return cf_cut__near(v, to, p, CF_FILTER_BICUBIC, err);
}

/* Bilinear on the square of learned positions, corners on corners. */
static void place(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    uint32_t last = v->pos_side - 1, col, row;
    cf_vision__patch_at(v, cols, i, &col, &row);
    double at[2] = {cols > 1 ? (double)col * last / (cols - 1) : 0,
                    rows > 1 ? (double)row * last / (rows - 1) : 0};
    for (int corner = 0; corner < 4; corner++) {
        size_t cell[2];
        double by = 1;
        for (int axis = 0; axis < 2; axis++) {
            double low = floor(at[axis]), part = at[axis] - low;
            bool is_high = (corner >> axis & 1) != 0;
            uint32_t c = (uint32_t)low + (is_high ? 1 : 0);
            cell[axis] = c < last ? c : last;
            by *= is_high ? part : 1 - part;
        }
        cf_vision__add_scaled(x, v->pos + (cell[1] * v->pos_side + cell[0]) * v->width, v->width,
                              by);
    }
}

static cf_status project(const cf_vision *v, const cf_dense *d, float *out, float *x,
                         const cf_vision_block *b, cf_error *err)
{
    cf_vision__post_norm(v, d, x, b);
    return cf_vision__merge(v, d, out, x, (size_t)b->cols * b->rows * v->merge * v->merge, &v->fc1,
                            &v->fc2, err);
}

const cf_vision_family cf_vision_qwen3vl = {
    .projector = "qwen3vl_merger",
    .marks = {.before = "<|vision_start|>",
              .after = "<|vision_end|>",
              .row = "<|image_pad|>",
              .written = {"<|vision_start|><|image_pad|><|vision_end|>", "<|image_pad|>"}},
    .has_mrope = true,
    .turn = CF_VISION_HALVES,
    .load = load,
    .cut = cut,
    .place = place,
    .project = project,
};
