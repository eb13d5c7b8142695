/*
 * media_png.c - blocks to files.
 */
#include "tui/cli/inspect/media_png.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/image/png_write.h"

static void name_of(cf_buf *out, const char *path, size_t number)
{
    const char *dot = strrchr(path, '.');
    const char *slash = strrchr(path, '/');
    bool has_dot = dot != NULL && (slash == NULL || dot > slash);
    size_t n = has_dot ? (size_t)(dot - path) : strlen(path);
    cf_buf_add(out, path, n);
    if (number > 1) {
        cf_buf_addf(out, "-%zu", number);
    }
    cf_buf_adds(out, path + n);
}

static cf_status one(const cf_media_input *in, uint32_t i, const char *path, size_t number,
                     cf_error *err)
{
    const cf_media_block *b = &in->block[i];
    unsigned char *rgb = cf_calloc((size_t)b->width * b->height, 3);
    if (rgb == NULL) {
        return cf_oom_for(err, "a picture");
    }
    cf_buf png = CF_BUF_INIT, name = CF_BUF_INIT;
    cf_media_draw(in, i, rgb);
    name_of(&name, path, number);
    cf_status st = cf_png_write(&png, rgb, (int)b->width, (int)b->height, err);
    CF_THEN(st, cf_buf_check(&name, err));
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&name), png.p, png.n, 0644, err));
    cf_buf_deinit(&name);
    cf_buf_deinit(&png);
    cf_free(rgb);
    return st;
}

cf_status cf_media_png(const cf_media_input *in, const char *path, size_t *n, cf_error *err)
{
    for (size_t i = 0; i < in->n_block; i++) {
        CF_TRY(one(in, (uint32_t)i, path, ++*n, err));
    }
    return CF_OK;
}
