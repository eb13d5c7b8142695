/*
 * picture_webp.c - WebP through libwebp; of an animation, nothing is taken.
 *
 * The container is RIFF: chunks of a name, a length and data padded to an even
 * number of bytes; the chunk "EXIF" has the orientation (Google, "WebP
 * Container Specification").
 */
#include <string.h>
#include <webp/decode.h>

#include "core/media/picture.h"

static int find_orientation(cf_str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t at = 12;
    while (at <= bytes.n && bytes.n - at >= 8) {
        size_t n = p[at + 4] | (size_t)p[at + 5] << 8 |
                   (size_t)p[at + 6] << 16 | (size_t)p[at + 7] << 24;
        const char *name = bytes.p + at;
        at += 8;
        if (n > bytes.n - at) {
            return 1;
        }
        if (memcmp(name, "EXIF", 4) == 0) {
            cf_str exif = cf_str_make(bytes.p + at, n);
            if (n > 6 && memcmp(exif.p, "Exif\0", 6) == 0) {
                exif = cf_str_make(exif.p + 6, n - 6);
            }
            return cf_pixels__exif(exif);
        }
        at += n + n % 2;
    }
    return 1;
}

cf_status cf_pixels__webp(cf_pixels *out, int *orientation, cf_str bytes,
                          cf_error *err)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    WebPBitstreamFeatures f;
    if (WebPGetFeatures(p, bytes.n, &f) != VP8_STATUS_OK) {
        return cf_fail(err, CF_EFORMAT, "damaged WebP");
    }
    if (f.has_animation) {
        return cf_fail(err, CF_EUNSUPPORTED, "an animated WebP");
    }
    CF_TRY(cf_pixels_init(out, (size_t)f.width, (size_t)f.height, err));
    size_t row = (size_t)f.width * 3;
    if (WebPDecodeRGBInto(p, bytes.n, out->rgb, row * (size_t)f.height,
                          (int)row) == NULL) {
        return cf_fail(err, CF_EFORMAT, "damaged WebP");
    }
    *orientation = find_orientation(bytes);
    return CF_OK;
}
