/*
 * vision_cut.c - common steps of cutting pictures into blocks of pixels.
 *
 * Sources: the image processors of Hugging Face transformers; docs/models/media.md.
 */
#include "core/media/vision_cut.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

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

cf_status cf_cut__resized(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p, uint32_t w,
                          uint32_t h, cf_filter filter, cf_error *err)
{
    cf_pixels q;
    CF_TRY(cf_pixels_resize(&q, p, w, h, filter, to->stop, err));
    return add(v, to, q, err);
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

cf_status cf_cut__tiles(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p, uint32_t side,
                        cf_error *err)
{
    uint32_t cols = p->w / side, rows = p->h / side;
    to->tile_cols = cols;
    to->tile_rows = rows;
    for (uint32_t i = 0; i < cols * rows; i++) {
        CF_TRY(add_tile(v, to, p, side, i % cols * side, i / cols * side, err));
    }
    return CF_OK;
}

cf_status cf_cut__near(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
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
    return cf_cut__resized(v, to, p, (uint32_t)to_w, (uint32_t)to_h, filter, err);
}

uint32_t cf_vision_most_patches(const cf_vision *v)
{
    uint32_t side = v->patch != 0 ? v->image_size / v->patch : 0;
    return v->max_pixels > 0 && v->patch != 0 ? v->max_pixels / (v->patch * v->patch) : side * side;
}
