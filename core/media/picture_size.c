/*
 * picture_size.c - how large an image is, by its headers.
 *
 * PNG: the chunk IHDR comes first, eXIf at any place (W3C, "PNG
 * Specification").  JPEG: segments of a mark, a length and data; the frame
 * header has the size, APP1 the Exif data (ITU T.81; JEITA CP-3451).  GIF: the
 * size follows the signature (CompuServe, "GIF89a").  WebP: libwebp.
 */
#include <string.h>
#include <webp/decode.h>

#include "core/api/thumbnail.h"
#include "core/media/picture.h"

typedef struct size {
    uint32_t w, h; /* 0: not found */
    int orientation;
} size;

static uint32_t be16(const unsigned char *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const unsigned char *p)
{
    return be16(p) << 16 | be16(p + 2);
}

static void of_png(size *s, cf_str head)
{
    const unsigned char *p = (const unsigned char *)head.p;
    if (head.n < 24 || memcmp(p + 12, "IHDR", 4) != 0) {
        return;
    }
    s->w = be32(p + 16);
    s->h = be32(p + 20);
    for (size_t at = 8; head.n - at >= 12;) {
        size_t n = be32(p + at);
        if (n > head.n - at - 12) {
            return;
        }
        if (memcmp(p + at + 4, "eXIf", 4) == 0) {
            s->orientation = cf_pixels__exif(cf_str_make(head.p + at + 8, n));
            return;
        }
        at += 12 + n;
    }
}

static bool is_frame(unsigned mark)
{
    return mark >= 0xC0 && mark <= 0xCF && mark != 0xC4 && mark != 0xC8 && mark != 0xCC;
}

static void of_jpeg(size *s, cf_str head)
{
    const unsigned char *p = (const unsigned char *)head.p;
    size_t at = 2;
    while (head.n - at >= 9 && p[at] == 0xFF) {
        unsigned mark = p[at + 1];
        size_t n = be16(p + at + 2);
        if (mark == 0xFF) {
            at++;
            continue;
        }
        if (mark == 0x01 || (mark >= 0xD0 && mark <= 0xD8)) {
            at += 2; /* a mark alone */
            continue;
        }
        if (is_frame(mark)) {
            s->h = be16(p + at + 5);
            s->w = be16(p + at + 7);
            return;
        }
        if (n < 2 || n > head.n - at - 2) {
            return;
        }
        if (mark == 0xE1 && n > 8 && memcmp(p + at + 4, "Exif\0", 6) == 0) {
            s->orientation = cf_pixels__exif(cf_str_make(head.p + at + 10, n - 8));
        }
        at += 2 + n;
    }
}

static void of_webp(size *s, cf_str head)
{
    WebPBitstreamFeatures f;
    if (WebPGetFeatures((const uint8_t *)head.p, head.n, &f) == VP8_STATUS_OK) {
        s->w = (uint32_t)f.width;
        s->h = (uint32_t)f.height;
        s->orientation = cf_pixels__webp_orientation(head);
    }
}

static void of_gif(size *s, cf_str head)
{
    const unsigned char *p = (const unsigned char *)head.p;
    if (head.n >= 10) {
        s->w = p[6] | (uint32_t)p[7] << 8;
        s->h = p[8] | (uint32_t)p[9] << 8;
    }
}

bool cf_picture_size(cf_str head, int *w, int *h)
{
    static const struct {
        const char *start;
        void (*of)(size *s, cf_str head);
    } format[] = {{"\x89PNG\r\n\x1a\n", of_png},
                  {"\xff\xd8\xff", of_jpeg},
                  {"RIFF", of_webp},
                  {"GIF8", of_gif}};
    size s = {0, 0, 1};
    for (size_t i = 0; i < sizeof format / sizeof format[0]; i++) {
        if (cf_str_starts(head, cf_str_from(format[i].start))) {
            format[i].of(&s, head);
            break;
        }
    }
    bool is_known = s.w > 0 && s.h > 0 && s.w <= INT32_MAX && s.h <= INT32_MAX;
    bool is_turned = s.orientation >= 5;
    *w = is_known ? (int)(is_turned ? s.h : s.w) : 0;
    *h = is_known ? (int)(is_turned ? s.w : s.h) : 0;
    return is_known;
}
