/*
 * png_write.c - libpng's simplified interface, which does not longjmp.
 */
#include "tui/image/png_write.h"

#include <png.h>

#include <string.h>

#include "core/base/alloc.h"

cf_status cf_png_write(cf_buf *out, const unsigned char *rgb, int w, int h, cf_error *err)
{
    png_image image;
    png_alloc_size_t n = 0;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)w;
    image.height = (png_uint_32)h;
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_memory(&image, NULL, &n, 0, rgb, 0, NULL)) {
        return cf_fail(err, CF_EINVAL, "the picture cannot be written: %s", image.message);
    }
    char *bytes = cf_alloc(n);
    if (bytes == NULL) {
        return cf_oom_for(err, "the picture");
    }
    cf_status st = CF_OK;
    if (!png_image_write_to_memory(&image, bytes, &n, 0, rgb, 0, NULL)) {
        st = cf_fail(err, CF_EINVAL, "the picture cannot be written: %s", image.message);
    } else {
        cf_buf_add(out, bytes, n);
        st = cf_buf_check(out, err);
    }
    cf_free(bytes);
    return st;
}
