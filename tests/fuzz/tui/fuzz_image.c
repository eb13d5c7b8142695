/*
 * fuzz_image.c - any bytes as an image: decoded within the limits, or refused
 * with a reason.
 */
#include <stdint.h>
#include <string.h>

#include "tui/image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_str bytes = {(const char *)data, size};
    cf_picture p;
    cf_error err = {0};
    cf_image_info info = cf_image_probe(bytes);
    /* A small file that claims millions of pixels costs time only. */
    if ((int64_t)info.w * info.h > 1 << 20) {
        return 0;
    }
    if (cf_image_shrink(&p, bytes, 40, 20, NULL, &err) == CF_OK) {
        volatile unsigned sum = 0;
        if (p.w < 1 || p.w > 40 || p.h < 1 || p.h > 20) {
            __builtin_trap();
        }
        for (int i = 0; i < p.w * p.h * 3; i++) {
            sum += p.rgb[i];
        }
    } else if (p.rgb != NULL || err.text[0] == '\0') {
        __builtin_trap();
    }
    cf_picture_deinit(&p);
    return 0;
}
