/*
 * fuzz_picture.c - any bytes as an image: its size by headers, decoded, turned,
 * resized.
 */
#include <string.h>

#include "core/api/thumbnail.h"
#include "core/media/resample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_error err;
    cf_pixels p, q;
    int w, h;
    bool has_size = cf_picture_size(cf_str_make((const char *)data, size), &w, &h);
    if (has_size != (w > 0 && h > 0)) {
        __builtin_trap();
    }
    if (cf_pixels_read(&p, cf_str_make((const char *)data, size), NULL, &err) != CF_OK) {
        return 0;
    }
    if (p.w <= 4096 && p.h <= 4096 &&
        cf_pixels_resize(&q, &p, 33, 17, CF_FILTER_LANCZOS, NULL, &err) == CF_OK) {
        cf_pixels_deinit(&q);
    }
    cf_pixels_deinit(&p);
    return 0;
}
