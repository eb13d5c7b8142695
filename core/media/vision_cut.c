/*
 * vision_cut.c - the sizes and tiles that image processors give a picture.
 *
 * Sources: the image processors of Hugging Face transformers for Gemma 3,
 * SmolVLM (Idefics3), Qwen3-VL, LFM2-VL and Gemma 4; docs/models/media.md.
 */
#include "core/media/vision_cut.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

enum { BUDGET = 280 };

/* Takes the picture over, also on failure. */
static cf_status add(const cf_vision *v, cf_vision_blocks *to, cf_pixels p, cf_error *err)
{
    uint32_t side = v->patch * v->merge;
    if (!cf_grow(&to->v, &to->cap, to->n + 1, sizeof *to->v)) {
        cf_pixels_deinit(&p);
        return cf_oom_for(err, "an image");
    }
    to->v[to->n++] = (cf_vision_block){p, p.w / side, p.h / side};
    return CF_OK;
}

static cf_status add_resized(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
                             uint32_t w, uint32_t h, cf_filter filter, cf_error *err)
{
    cf_pixels q;
    CF_TRY(cf_pixels_resize(&q, p, w, h, filter, to->stop, err));
    return add(v, to, q, err);
}

cf_status cf_cut_square(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err)
{
    return add_resized(v, to, p, v->image_size, v->image_size, CF_FILTER_BILINEAR, err);
}

/* ---- tiles -------------------------------------------------------------- */

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

/* Steps 1 and 2: the longest side to `longest`, then both to whole tiles. */
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

static cf_status add_tile(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
                          uint32_t side, uint32_t x, uint32_t y, cf_error *err)
{
    cf_pixels q;
    CF_TRY(cf_pixels_init(&q, side, side, err));
    for (size_t i = 0; i < side; i++) {
        memcpy(q.rgb + i * side * 3, p->rgb + ((y + i) * p->w + x) * 3, (size_t)side * 3);
    }
    return add(v, to, q, err);
}

/* All squares of a picture, row by row. */
static cf_status add_tiles(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
                           uint32_t side, cf_error *err)
{
    uint32_t cols = p->w / side, rows = p->h / side;
    to->tile_cols = cols;
    to->tile_rows = rows;
    for (uint32_t i = 0; i < cols * rows; i++) {
        CF_TRY(add_tile(v, to, p, side, i % cols * side, i / cols * side, err));
    }
    return CF_OK;
}

cf_status cf_cut_tiles(const cf_vision *v, const cf_pixels *p, void *ud, cf_error *err)
{
    cf_vision_blocks *to = ud;
    cf_pixels whole;
    CF_TRY(to_tiles(v, p, &whole, to->stop, err));
    uint32_t side = v->image_size;
    cf_status st = CF_OK;
    if (whole.w > side || whole.h > side) {
        st = add_tiles(v, to, &whole, side, err);
    }
    CF_THEN(st, add_resized(v, to, &whole, side, side, CF_FILTER_LANCZOS, err));
    cf_pixels_deinit(&whole);
    return st;
}

/* ---- sizes near the picture's own --------------------------------------- */

static cf_status cut_near(const cf_vision *v, const cf_pixels *p, cf_vision_blocks *to,
                          cf_filter filter, cf_error *err)
{
    double f = v->patch * v->merge, w = p->w, h = p->h;
    double low = v->min_pixels, high = v->max_pixels;
    /* nearbyint rounds halves to even. */
    double to_w = fmax(f, nearbyint(w / f) * f);
    double to_h = fmax(f, nearbyint(h / f) * f);
    if (to_w * to_h > high) {
        double by = sqrt(w * h / high);
        to_w = fmax(f, floor(w / by / f) * f);
        to_h = fmax(f, floor(h / by / f) * f);
    } else if (to_w * to_h < low) {
        double by = sqrt(low / (w * h));
        to_w = ceil(w * by / f) * f;
        to_h = ceil(h * by / f) * f;
    }
    if (fmax(to_w, to_h) > 200 * fmin(to_w, to_h)) {
        return cf_fail(err, CF_ELIMIT,
                       "an image of %u x %u is too narrow: one side is over "
                       "200 times the other",
                       (unsigned)p->w, (unsigned)p->h);
    }
    return add_resized(v, to, p, (uint32_t)to_w, (uint32_t)to_h, filter, err);
}

cf_status cf_cut_cubic(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err)
{
    return cut_near(v, p, to, CF_FILTER_BICUBIC, err);
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

cf_status cf_cut_linear(const cf_vision *v, const cf_pixels *p, void *ud, cf_error *err)
{
    cf_vision_blocks *to = ud;
    uint32_t cols = 1, rows = 1;
    /* Tiles are for models whose largest picture is as large as a tile. */
    if (v->max_pixels == LFM2_TILE * LFM2_TILE && is_large(v, p)) {
        find_grid(v, p, &cols, &rows);
    }
    if (cols * rows > 1) {
        cf_pixels whole;
        CF_TRY(cf_pixels_resize(&whole, p, cols * LFM2_TILE, rows * LFM2_TILE, CF_FILTER_BILINEAR,
                                to->stop, err));
        cf_status st = add_tiles(v, to, &whole, LFM2_TILE, err);
        cf_pixels_deinit(&whole);
        CF_TRY(st);
    }
    return cut_near(v, p, to, CF_FILTER_BILINEAR, err);
}

cf_status cf_cut_budget(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err)
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
    return add_resized(v, to, p, (uint32_t)(cols * side), (uint32_t)(rows * side),
                       CF_FILTER_BICUBIC, err);
}

uint32_t cf_vision_most_patches(const cf_vision *v)
{
    uint32_t side = v->patch != 0 ? v->image_size / v->patch : 0;
    return v->max_pixels > 0 && v->patch != 0 ? v->max_pixels / (v->patch * v->patch)
           : v->family->is_gemma4             ? BUDGET * v->merge * v->merge
                                              : side * side;
}
