/*
 * vision_lfm2.c - LFM2-VL: sizes near the picture's own, and tiles of a large one.
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
    uint32_t joined = v->width * v->merge * v->merge;
    uint32_t square = v->patch * v->merge * v->patch * v->merge;
    CF_TRY(cf_vision__need_post_ln(v, err));
    CF_TRY(cf_vision__need_square(v, err));
    v->min_pixels = 64 * square;
    v->max_pixels = 256 * square;
    v->min_tiles = 2;
    v->max_tiles = 10;
    CF_TRY(cf_mmproj_u32(m, "clip.vision.preproc_min_tiles", 1, 64, &v->min_tiles, err));
    CF_TRY(cf_mmproj_u32(m, "clip.vision.preproc_max_tiles", 1, 64, &v->max_tiles, err));
    CF_TRY(cf_mmproj_vec(m, &v->out_norm.w, "mm.input_norm.weight", joined, err));
    CF_TRY(cf_mmproj_vec(m, &v->out_norm.b, "mm.input_norm.bias", joined, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc1, "mm.1", 0, joined, err));
    CF_TRY(cf_mmproj_linear(m, &v->fc2, "mm.2", 0, v->fc1.w.n_row, err));
    v->n_out = v->fc2.w.n_row;
    return CF_OK;
}

/* ---- tiles of a grid near the picture's shape ---------------------------- */

enum { LFM2_TILE = 512 };

/* Whether a picture has, in whole merged patches, more than twice the pixels
 * that one picture may have. */
static bool is_large(const cf_vision *v, const cf_pixels *p)
{
    double f = v->patch * v->merge;
    double w = fmax(v->patch, nearbyint(p->w / f) * f);
    double h = fmax(v->patch, nearbyint(p->h / f) * f);
    return w * h > 2.0 * v->max_pixels;
}

/* The grid whose shape is nearest to the picture's; of equally near ones the
 * larger where the picture has more than half of its pixels. */
static void find_grid(const cf_vision *v, const cf_pixels *p, uint32_t *cols, uint32_t *rows)
{
    double ratio = (double)p->w / p->h, best = INFINITY;
    double tile = (double)LFM2_TILE * LFM2_TILE;
    *cols = *rows = 1;
    for (uint32_t n = v->min_tiles; n <= v->max_tiles; n++) {
        for (uint32_t c = 1; c <= n; c++) {
            if (n % c != 0) {
                continue;
            }
            double far = fabs(ratio - (double)c / (n / c));
            bool is_nearer = far < best || (far == best && (double)p->w * p->h > 0.5 * tile * n);
            if (is_nearer) {
                best = far;
                *cols = c;
                *rows = n / c;
            }
        }
    }
}

/* A picture of more than twice the pixels of one becomes 2 to 10 tiles, and the whole
 * as the last. */
static cf_status cut(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to, cf_error *err)
{
    uint32_t cols = 1, rows = 1;
    /* Tiles are for models whose largest picture is as large as a tile. */
    if (v->max_pixels == LFM2_TILE * LFM2_TILE && is_large(v, p)) {
        find_grid(v, p, &cols, &rows);
    }
    if (cols * rows > 1) {
        cf_pixels whole;
        CF_TRY(cf_pixels_resize(&whole, p, cols * LFM2_TILE, rows * LFM2_TILE, CF_FILTER_BILINEAR,
                                to->stop, err));
        cf_status st = cf_cut__tiles(v, to, &whole, LFM2_TILE, err);
        cf_pixels_deinit(&whole);
        CF_TRY(st);
    }
    return cf_cut__near(v, to, p, CF_FILTER_BILINEAR, err);
}

/* ---- positions and projector --------------------------------------------- */

/* The weight of place j of a side for patch i of n: a triangle around the centre of the
 * patch, widened when shrinking. */
static double triangle_weight(uint32_t i, uint32_t n, uint32_t side, uint32_t j)
{
    double scale = (double)side / n, widen = fmax(scale, 1);
    return fmax(0, 1 - fabs((j + 0.5 - (i + 0.5) * scale) / widen));
}

/* The places *first to *end that the triangle covers, and the sum of their weights. */
static void triangle_span(uint32_t i, uint32_t n, uint32_t side, uint32_t *first, uint32_t *end,
                          double *sum)
{
    double scale = (double)side / n, widen = fmax(scale, 1);
    double centre = (i + 0.5) * scale;
    *first = (uint32_t)fmax(0, centre - widen + 0.5);
    *end = (uint32_t)fmin(side, centre + widen + 0.5);
    *sum = 0;
    for (uint32_t j = *first; j < *end; j++) {
        *sum += triangle_weight(i, n, side, j);
    }
}

static void place(const cf_vision *v, float *x, size_t i, uint32_t cols, uint32_t rows)
{
    uint32_t side = v->pos_side, x0, x1, y0, y1;
    uint32_t col = (uint32_t)(i % cols), row = (uint32_t)(i / cols);
    double sum_x, sum_y;
    triangle_span(col, cols, side, &x0, &x1, &sum_x);
    triangle_span(row, rows, side, &y0, &y1, &sum_y);
    for (uint32_t t = y0; t < y1; t++) {
        double by = triangle_weight(row, rows, side, t) / sum_y / sum_x;
        for (uint32_t s = x0; s < x1; s++) {
            cf_vision__add_scaled(x, v->pos + ((size_t)t * side + s) * v->width, v->width,
                                  by * triangle_weight(col, cols, side, s));
        }
    }
}

static cf_status project(const cf_vision *v, const cf_dense *d, float *out, float *x,
                         const cf_vision_block *b, cf_error *err)
{
    size_t n = (size_t)b->cols * b->rows;
    cf_vision__post_norm(v, d, x, b);
    float *squares = cf_vision__joined(v, d, x, b);
    if (squares == NULL) {
        return cf_oom_for(err, "a projector's activations");
    }
    cf_dense_layer_norm(d, squares, squares, v->out_norm.w, v->out_norm.b, n,
                        (size_t)v->width * v->merge * v->merge, 1e-5f);
    cf_status st =
        cf_vision__merge(v, d, out, squares, n * v->merge * v->merge, &v->fc1, &v->fc2, err);
    cf_free(squares);
    return st;
}

static const cf_tile_marks tiles = {
    .begin = "<|img_row_", .end = "|>", .whole = "<|img_thumbnail|>", .alone = ""};

const cf_vision_family cf_vision_lfm2 = {
    .projector = "lfm2",
    .marks = {.before = "<|image_start|>",
              .after = "<|image_end|>",
              .tiles = &tiles,
              .row = "<image>",
              .written = {"<image>"}},
    .load = load,
    .cut = cut,
    .place = place,
    .project = project,
};
