/*
 * picture_shrink.c - the mean of all pixels that a pixel of a small picture
 * stands for.
 */
#include <string.h>

#include "core/api/thumbnail.h"
#include "core/base/alloc.h"
#include "core/media/picture.h"

void cf_picture_deinit(cf_picture *p)
{
    cf_free(p->rgb);
    *p = (cf_picture){0};
}

void cf_picture_fit(int w, int h, int max_w, int max_h, int *to_w, int *to_h)
{
    int64_t fw = w, fh = h;
    if (fw > max_w) {
        fh = fh * max_w / fw;
        fw = max_w;
    }
    if (fh > max_h) {
        fw = fw * max_h / (fh > 0 ? fh : 1);
        fh = max_h;
    }
    *to_w = fw > 0 ? (int)fw : 1;
    *to_h = fh > 0 ? (int)fh : 1;
}

/* The mean of the columns x0 .. x1 and rows y0 .. y1 of `p`. */
static void average(unsigned char to[3], const cf_pixels *p, size_t x0, size_t x1, size_t y0,
                    size_t y1)
{
    uint64_t sum[3] = {0};
    for (size_t y = y0; y < y1; y++) {
        const unsigned char *from = p->rgb + (y * p->w + x0) * 3;
        for (size_t x = x0; x < x1; x++, from += 3) {
            for (int c = 0; c < 3; c++) {
                sum[c] += from[c];
            }
        }
    }
    uint64_t n = (uint64_t)(x1 - x0) * (y1 - y0);
    for (int c = 0; c < 3; c++) {
        to[c] = (unsigned char)(sum[c] / n);
    }
}

static cf_status shrink(cf_picture *to, const cf_pixels *p, const cf_stop *stop, cf_error *err)
{
    size_t w = (size_t)to->w, h = (size_t)to->h;
    to->rgb = cf_alloc(w * h * 3);
    if (to->rgb == NULL) {
        return cf_oom_for(err, "a picture");
    }
    for (size_t y = 0; y < h; y++) {
        CF_TRY(cf_stop_check(stop, err));
        for (size_t x = 0; x < w; x++) {
            average(to->rgb + (y * w + x) * 3, p, x * p->w / w, (x + 1) * p->w / w, y * p->h / h,
                    (y + 1) * p->h / h);
        }
    }
    return CF_OK;
}

cf_status cf_picture_shrink(cf_picture *out, cf_str bytes, int max_w, int max_h,
                            const cf_cancel *cancel, cf_error *err)
{
    cf_pixels p;
    const cf_stop stop = {.cancel = cancel};
    CF_ASSERT(max_w > 0 && max_w <= CF_PICTURE_SIDE_MAX);
    CF_ASSERT(max_h > 0 && max_h <= CF_PICTURE_SIDE_MAX);
    *out = (cf_picture){0};
    CF_TRY(cf_pixels_read(&p, bytes, &stop, err));
    cf_picture_fit((int)p.w, (int)p.h, max_w, max_h, &out->w, &out->h);
    cf_status st = shrink(out, &p, &stop, err);
    cf_pixels_deinit(&p);
    if (st != CF_OK) {
        cf_picture_deinit(out);
    }
    return st;
}
