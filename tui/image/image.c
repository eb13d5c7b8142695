/*
 * image.c - what kind of image, how large, and averaging it.
 */
#include "tui/image/image.h"

#include <string.h>

#include "core/base/alloc.h"

enum { PICTURE_MAX = 256 };

const char *cf_image_name(cf_image_kind kind)
{
    static const char *const names[] = {"", "png", "jpeg", "gif", "webp"};
    return names[kind];
}

const char *cf_image_mime(cf_image_kind kind)
{
    static const char *const names[] = {"", "image/png", "image/jpeg",
                                        "image/gif", "image/webp"};
    return names[kind];
}

static unsigned be16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

/* The sizes of a JPEG are in its frame header; what comes before has lengths
 * and is skipped. */
static void probe_jpeg(cf_image_info *info, const unsigned char *p, size_t n)
{
    size_t at = 2;
    while (at + 9 <= n && p[at] == 0xFF) {
        unsigned mark = p[at + 1];
        if (mark == 0xFF) {
            at++;
            continue;
        }
        bool is_frame = mark >= 0xC0 && mark <= 0xCF && mark != 0xC4 &&
                        mark != 0xC8 && mark != 0xCC;
        if (is_frame) {
            info->h = (int)be16(p + at + 5);
            info->w = (int)be16(p + at + 7);
            return;
        }
        bool is_bare = mark == 0x01 || (mark >= 0xD0 && mark <= 0xD8);
        unsigned len = is_bare ? 0 : be16(p + at + 2);
        if (!is_bare && len < 2) {
            return;
        }
        at += 2 + len;
    }
}

cf_image_info cf_image_probe(cf_str bytes)
{
    static const unsigned char png[8] = {0x89, 'P',  'N',  'G',
                                         '\r', '\n', 0x1A, '\n'};
    const unsigned char *p = (const unsigned char *)bytes.p;
    cf_image_info info = {CF_IMAGE_NONE, 0, 0};
    if (bytes.n >= 24 && memcmp(p, png, sizeof png) == 0) {
        info.kind = CF_IMAGE_PNG;
        uint32_t w = be32(p + 16), h = be32(p + 20);
        bool has_size =
            memcmp(p + 12, "IHDR", 4) == 0 && w <= INT32_MAX && h <= INT32_MAX;
        info.w = has_size ? (int)w : 0;
        info.h = has_size ? (int)h : 0;
    } else if (bytes.n >= 4 && p[0] == 0xFF && p[1] == 0xD8 && p[2] == 0xFF) {
        info.kind = CF_IMAGE_JPEG;
        probe_jpeg(&info, p, bytes.n);
    } else if (bytes.n >= 10 && memcmp(p, "GIF8", 4) == 0) {
        info.kind = CF_IMAGE_GIF;
        info.w = p[6] | p[7] << 8;
        info.h = p[8] | p[9] << 8;
    } else if (bytes.n >= 12 && memcmp(p, "RIFF", 4) == 0 &&
               memcmp(p + 8, "WEBP", 4) == 0) {
        info.kind = CF_IMAGE_WEBP;
    }
    return info;
}

void cf_picture_deinit(cf_picture *p)
{
    cf_free(p->rgb);
    *p = (cf_picture){0};
}

void cf_image_fit(int w, int h, int max_w, int max_h, int *to_w, int *to_h)
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

/* ---- averaging ---------------------------------------------------------- */

cf_status cf_shrinker_begin(cf_shrinker *s, int w, int h, cf_error *err)
{
    cf_picture *to = s->to;
    if (w < 1 || h < 1) {
        return cf_fail(err, CF_EFORMAT, "an image of %d x %d", w, h);
    }
    if (w > CF_IMAGE_SIDE_MAX || h > CF_IMAGE_SIDE_MAX ||
        (int64_t)w * h > CF_IMAGE_PIXELS_MAX) {
        return cf_fail(err, CF_ELIMIT, "%d x %d pixels are too many to show", w,
                       h);
    }
    cf_image_fit(w, h, to->w, to->h, &to->w, &to->h);
    s->w = w;
    s->h = h;
    s->y = 0;
    to->rgb = cf_calloc((size_t)to->w * (size_t)to->h, 3);
    s->sum = cf_calloc((size_t)to->w, 3 * sizeof *s->sum);
    s->n = cf_calloc((size_t)to->w, sizeof *s->n);
    return to->rgb != NULL && s->sum != NULL && s->n != NULL
               ? CF_OK
               : cf_oom_for(err, "a picture");
}

static void put_row(cf_shrinker *s, int to_y)
{
    unsigned char *rgb = s->to->rgb + (size_t)to_y * (size_t)s->to->w * 3;
    for (int x = 0; x < s->to->w; x++) {
        for (int c = 0; c < 3; c++) {
            uint32_t n = s->n[x] != 0 ? s->n[x] : 1;
            rgb[3 * x + c] = (unsigned char)(s->sum[3 * x + c] / n);
        }
    }
    memset(s->sum, 0, (size_t)s->to->w * 3 * sizeof *s->sum);
    memset(s->n, 0, (size_t)s->to->w * sizeof *s->n);
}

/* A sum holds at most 16384 x 16384 / to->w pixels of a column of at least one
 * row; with the limit on pixels it stays below 2^32: 64 M x 255 would not, so
 * a sum that is nearly full is halved. */
static void add_pixel(cf_shrinker *s, int to_x, const unsigned char *p)
{
    uint32_t *sum = s->sum + (size_t)3 * (size_t)to_x;
    if (s->n[to_x] >= 1U << 23) {
        for (int c = 0; c < 3; c++) {
            sum[c] /= 2;
        }
        s->n[to_x] /= 2;
    }
    for (int c = 0; c < 3; c++) {
        sum[c] += p[c];
    }
    s->n[to_x]++;
}

bool cf_shrinker_row(cf_shrinker *s, const unsigned char *row)
{
    if (s->y >= s->h ||
        (s->cancel != NULL &&
         atomic_load_explicit(s->cancel, memory_order_relaxed))) {
        return false;
    }
    int to_y = (int)((int64_t)s->y * s->to->h / s->h);
    for (int x = 0; x < s->w; x++) {
        add_pixel(s, (int)((int64_t)x * s->to->w / s->w),
                  row + (size_t)3 * (size_t)x);
    }
    s->y++;
    if (s->y == s->h || (int)((int64_t)s->y * s->to->h / s->h) != to_y) {
        put_row(s, to_y);
    }
    return true;
}

cf_status cf_image_shrink(cf_picture *out, cf_str bytes, int max_w, int max_h,
                          cf_cancel *cancel, cf_error *err)
{
    cf_shrinker s = {.to = out, .cancel = cancel};
    cf_image_info info = cf_image_probe(bytes);
    *out = (cf_picture){
        .w = max_w < PICTURE_MAX ? max_w : PICTURE_MAX,
        .h = max_h < PICTURE_MAX ? max_h : PICTURE_MAX,
    };
    cf_status st;
    switch (info.kind) {
    case CF_IMAGE_PNG:
        st = cf_png_shrink(&s, bytes, err);
        break;
    case CF_IMAGE_JPEG:
        st = cf_jpeg_shrink(&s, bytes, err);
        break;
    case CF_IMAGE_GIF:
    case CF_IMAGE_WEBP:
        st = cf_fail(err, CF_EUNSUPPORTED, "no picture of %s files here",
                     cf_image_name(info.kind));
        break;
    case CF_IMAGE_NONE:
    default:
        st = cf_fail(err, CF_EFORMAT, "not an image that is known here");
        break;
    }
    cf_free(s.sum);
    cf_free(s.n);
    if (st != CF_OK) {
        cf_picture_deinit(out);
    }
    return st;
}
