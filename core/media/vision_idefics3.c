/*
 * vision_idefics3.c - SmolVLM (Idefics3): tiles, and the whole picture as the last.
 *
 * Sources: the model code and the image processor of Hugging Face transformers;
 * keys and tensors as in converted files (gguf-py, "clip").
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/media/vision_cut.h"
#include "core/media/vision_parts.h"

static cf_status load(cf_vision *v, cf_mmproj *m, cf_error *err)
{
    CF_TRY(cf_vision__need_whole(v, err));
    v->longest = v->image_size;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.preproc_image_size", 16, 1 << 14, &v->longest, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.model.fc", 0, v->width * v->merge * v->merge, err));
    v->n_out = v->fc1.w.n_row;
    return CF_OK;
}

static uint32_t even(uint32_t n)
{
    n += n % 2;
    return n > 0 ? n : 2;
}

static uint32_t multiple(double n, uint32_t of)
{
    uint32_t units = (uint32_t)ceil(n / of);
    return (units > 0 ? units : 1) * of;
}

/* Scales the longest side to `longest`, then both sides to whole tiles. */
static cf_status to_tiles(const cf_vision *v, const cf_pixels *p, cf_pixels *out,
                          const cf_stop *stop, cf_error *err)
{
    double ratio = (double)p->w / p->h;
    uint32_t w = v->longest, h = v->longest, tile = v->image_size;
    if (p->w >= p->h) {
        h = even((uint32_t)(w / ratio));
    } else {
        w = even((uint32_t)(h * ratio));
    }
    cf_pixels first;
    CF_TRY(cf_pixels_resize(&first, p, w, h, CF_FILTER_LANCZOS, stop, err));
    ratio = (double)w / h;
    if (w >= h) {
        w = multiple(w, tile);
        h = multiple(floor(w / ratio), tile);
    } else {
        h = multiple(h, tile);
        w = multiple(floor(h * ratio), tile);
    }
    cf_status st = cf_pixels_resize(out, &first, w, h, CF_FILTER_LANCZOS, stop, err);
    cf_pixels_deinit(&first);
    return st;
}

static cf_status cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to, cf_error *err)
{
    cf_pixels whole;
    CF_TRY(to_tiles(v, p, &whole, to->stop, err));
    uint32_t side = v->image_size;
    cf_status st = CF_OK;
    if (whole.w > side || whole.h > side) {
        st = cf_cut__tiles(v, to, &whole, side, err);
    }
    CF_THEN(st, cf_cut__resized(v, to, &whole, side, side, CF_FILTER_LANCZOS, err));
    cf_pixels_deinit(&whole);
    return st;
}

static cf_status project(const cf_vision *v, const cf_dense *d, float *out, float *x,
                         const cf_vision_block *b, cf_error *err)
{
    cf_vision__post_norm(v, d, x, b);
    float *squares = cf_vision__joined(v, d, x, b);
    if (squares == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_status st = cf_dense_linear(d, out, squares, (size_t)b->cols * b->rows, &v->fc1, err);
    cf_free(squares);
    return st;
}

static const cf_tile_marks tiles = {.begin = "<fake_token_around_image><row_",
                                    .end = ">",
                                    .whole = "<fake_token_around_image><global-img>",
                                    .alone = "<fake_token_around_image><global-img>",
                                    .has_lines = true};

const cf_vision_family cf_vision_idefics3 = {
    .projector = "idefics3",
    .marks = {.before = "",
              .after = "<fake_token_around_image>",
              .tiles = &tiles,
              .row = "<image>",
              .written = {"<image>"}},
    .load = load,
    .cut = cut,
    .place = cf_vision__place_each,
    .project = project,
};
