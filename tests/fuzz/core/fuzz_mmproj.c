/*
 * fuzz_mmproj.c - any bytes as a projector file: read, and where it is whole
 * and small, a picture encoded with it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/vision.h"

enum { PIXELS_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const cf_vision *v, const cf_dense *d, const cf_vision_block *b)
{
    cf_error err;
    size_t n = (size_t)b->cols * b->rows * cf_vision_row_width(v);
    float *rows = cf_calloc(n + 1, sizeof *rows);
    if (rows != NULL) {
        cf_ignore(cf_vision_encode(v, d, rows, b, &err)); /* any outcome */
    }
    cf_free(rows);
}

static void try_picture(const cf_vision *v)
{
    cf_error err;
    cf_pixels p;
    cf_vision_blocks blocks = {.v = NULL};
    cf_dense d = {.k = cf_kernels_ref(), .stop = NULL};
    if (v->width > 256 || v->n_ff > 1024 || v->n_layer > 4 || v->image_size > 256 ||
        v->max_pixels > PIXELS_MAX || v->longest > 256 || v->patch < 4 || v->n_out > 1024 ||
        cf_pixels_init(&p, 24, 20, &err) != CF_OK) {
        return;
    }
    memset(p.rgb, 100, 24 * 20 * 3);
    if (cf_pool_new(&d.pool, 1, &err) == CF_OK && cf_vision_cut(v, &p, &blocks, &err) == CF_OK &&
        blocks.n > 0 && (size_t)blocks.v[0].picture.w * blocks.v[0].picture.h <= PIXELS_MAX) {
        encode(v, &d, &blocks.v[0]);
    }
    cf_vision_blocks_deinit(&blocks);
    cf_pixels_deinit(&p);
    cf_pool_free(d.pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_error err;
    cf_mmproj m;
    unsigned char *copy = cf_alloc_aligned(64, size + 64);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    if (cf_mmproj_open_memory(&m, copy, size, &err) == CF_OK) {
        cf_vision v;
        if (cf_vision_init(&v, &m, &err) == CF_OK) {
            try_picture(&v);
        }
        cf_mmproj_close(&m);
    }
    cf_free_aligned(copy);
    return 0;
}
