/*
 * picture.c - which library reads an image, and how its pixels are turned.
 *
 * Exif (JEITA CP-3451): a TIFF file; tag 0x0112 of its first directory, a
 * number of 16 bits, says which way up the picture is.
 */
#include "core/media/picture.h"

#include <string.h>

#include "core/base/alloc.h"

cf_status cf_pixels_init(cf_pixels *out, size_t w, size_t h, cf_error *err)
{
    if (w == 0 || h == 0) {
        return cf_fail(err, CF_EFORMAT, "an image without pixels");
    }
    if (w > CF_PIXELS_SIDE_MAX || h > CF_PIXELS_SIDE_MAX || w * h > CF_PIXELS_MAX) {
        return cf_fail(err, CF_ELIMIT, "%zu x %zu pixels are too many", w, h);
    }
    out->rgb = cf_alloc(w * h * 3);
    if (out->rgb == NULL) {
        return cf_oom_for(err, "an image");
    }
    out->w = (uint32_t)w;
    out->h = (uint32_t)h;
    return CF_OK;
}

cf_status cf_pixels__begin(cf_pixels *out, size_t w, size_t h, size_t file_bytes, cf_error *err)
{
    if (w <= CF_PIXELS_SIDE_MAX && h <= CF_PIXELS_SIDE_MAX && w * h > CF_PIXELS_SMALL &&
        w * h / CF_PIXELS_A_BYTE > file_bytes) {
        return cf_fail(err, CF_ELIMIT, "%zu x %zu pixels are too many for %zu bytes", w, h,
                       file_bytes);
    }
    return cf_pixels_init(out, w, h, err);
}

void cf_pixels_deinit(cf_pixels *p)
{
    cf_free(p->rgb);
    *p = (cf_pixels){0, 0, NULL};
}

/* ---- orientation -------------------------------------------------------- */

static uint32_t number(const unsigned char *p, unsigned n, bool is_big)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        v = v << 8 | p[is_big ? i : n - 1 - i];
    }
    return v;
}

int cf_pixels__exif(cf_str tiff)
{
    const unsigned char *p = (const unsigned char *)tiff.p;
    if (tiff.n < 8 || (memcmp(p, "II*", 4) != 0 && memcmp(p, "MM\0*", 4) != 0)) {
        return 1;
    }
    bool is_big = p[0] == 'M';
    size_t at = number(p + 4, 4, is_big);
    if (at > tiff.n || tiff.n - at < 2) {
        return 1;
    }
    size_t n = number(p + at, 2, is_big);
    at += 2;
    for (size_t i = 0; i < n && tiff.n - at >= 12; i++, at += 12) {
        if (number(p + at, 2, is_big) == 0x0112 && number(p + at + 2, 2, is_big) == 3) {
            uint32_t v = number(p + at + 8, 2, is_big);
            return v >= 1 && v <= 8 ? (int)v : 1;
        }
    }
    return 1;
}

/* Orientations 5 to 8 exchange width and height; then 2, 3, 6 and 7 mirror
 * left and right, and 3, 4, 7 and 8 top and bottom. */
static cf_status turn(cf_pixels *p, int orientation, const cf_stop *stop, cf_error *err)
{
    static const struct {
        bool swap, flip_x, flip_y;
    } rule[9] = {[2] = {false, true, false}, [3] = {false, true, true}, [4] = {false, false, true},
                 [5] = {true, false, false}, [6] = {true, true, false}, [7] = {true, true, true},
                 [8] = {true, false, true}};
    if (orientation <= 1) {
        return CF_OK;
    }
    bool swap = rule[orientation].swap;
    cf_pixels to;
    CF_TRY(cf_pixels_init(&to, swap ? p->h : p->w, swap ? p->w : p->h, err));
    for (size_t y = 0; y < to.h && !cf_stop_now(stop); y++) {
        size_t v = rule[orientation].flip_y ? to.h - 1 - y : y;
        for (size_t x = 0; x < to.w; x++) {
            size_t u = rule[orientation].flip_x ? to.w - 1 - x : x;
            size_t from = swap ? u * p->w + v : v * p->w + u;
            memcpy(to.rgb + (y * to.w + x) * 3, p->rgb + from * 3, 3);
        }
    }
    cf_pixels_deinit(p);
    *p = to;
    return cf_stop_check(stop, err);
}

/* ---- formats ------------------------------------------------------------ */

static bool is_png(cf_str s)
{
    return s.n >= 8 && memcmp(s.p, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static bool is_jpeg(cf_str s)
{
    return s.n >= 3 && memcmp(s.p, "\xff\xd8\xff", 3) == 0;
}

static bool is_webp(cf_str s)
{
    return s.n >= 12 && memcmp(s.p, "RIFF", 4) == 0 && memcmp(s.p + 8, "WEBP", 4) == 0;
}

cf_status cf_pixels_read(cf_pixels *out, cf_str bytes, const cf_stop *stop, cf_error *err)
{
    static const struct {
        bool (*is)(cf_str bytes);
        cf_status (*read)(cf_pixels *out, int *orientation, cf_str bytes, const cf_stop *stop,
                          cf_error *err);
    } format[] = {{is_png, cf_pixels__png}, {is_jpeg, cf_pixels__jpeg}, {is_webp, cf_pixels__webp}};
    for (size_t i = 0; i < sizeof format / sizeof format[0]; i++) {
        if (!format[i].is(bytes)) {
            continue;
        }
        cf_pixels p = {0, 0, NULL};
        int orientation = 1;
        cf_status st = format[i].read(&p, &orientation, bytes, stop, err);
        CF_THEN(st, turn(&p, orientation, stop, err));
        if (st == CF_OK) {
            *out = p;
        } else {
            cf_pixels_deinit(&p);
        }
        return st;
    }
    return cf_fail(err, CF_EUNSUPPORTED, "not a PNG, JPEG or WebP image");
}
