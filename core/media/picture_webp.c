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

int cf_pixels__webp_orientation(cf_str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t at = 12;
    while (at <= bytes.n && bytes.n - at >= 8) {
        size_t n =
            p[at + 4] | (size_t)p[at + 5] << 8 | (size_t)p[at + 6] << 16 | (size_t)p[at + 7] << 24;
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

/* Bytes given to the decoder at once, which is about a million pixels. */
static size_t piece_of(const WebPBitstreamFeatures *f, size_t n)
{
    uint64_t pixels = (uint64_t)f->width * (uint64_t)f->height;
    uint64_t piece = (uint64_t)n * (1 << 20) / (pixels + 1);
    return piece < 64 ? 64 : piece < n ? (size_t)piece : n;
}

static cf_status decode(WebPIDecoder *decoder, cf_str bytes, size_t piece, const cf_stop *stop,
                        cf_error *err)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    VP8StatusCode code = VP8_STATUS_SUSPENDED;
    for (size_t at = 0; code == VP8_STATUS_SUSPENDED && at < bytes.n;) {
        CF_TRY(cf_stop_check(stop, err));
        at = bytes.n - at < piece ? bytes.n : at + piece;
        code = WebPIUpdate(decoder, p, at);
    }
    if (code == VP8_STATUS_OUT_OF_MEMORY) {
        return cf_oom_for(err, "an image");
    }
    return code == VP8_STATUS_OK ? CF_OK : cf_fail(err, CF_EFORMAT, "damaged WebP");
}

cf_status cf_pixels__webp(cf_pixels *out, int *orientation, cf_str bytes, const cf_stop *stop,
                          cf_error *err)
{
    WebPBitstreamFeatures f;
    if (WebPGetFeatures((const uint8_t *)bytes.p, bytes.n, &f) != VP8_STATUS_OK) {
        return cf_fail(err, CF_EFORMAT, "damaged WebP");
    }
    if (f.has_animation) {
        return cf_fail(err, CF_EUNSUPPORTED, "an animated WebP: confab reads still pictures");
    }
    CF_TRY(cf_pixels__begin(out, (size_t)f.width, (size_t)f.height, bytes.n, err));
    size_t row = (size_t)f.width * 3;
    WebPIDecoder *decoder = WebPINewRGB(MODE_RGB, out->rgb, row * (size_t)f.height, (int)row);
    if (decoder == NULL) {
        return cf_oom_for(err, "an image");
    }
    cf_status st = decode(decoder, bytes, piece_of(&f, bytes.n), stop, err);
    WebPIDelete(decoder);
    *orientation = cf_pixels__webp_orientation(bytes);
    return st;
}
