/*
 * fuzz_mmproj_audio.c - any bytes as a projector file for sounds: read, and
 * where it is whole and small, a sound encoded with it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/audio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_sound(const cf_audio *a)
{
    cf_error err;
    float x[800];
    cf_sound s = {.rate = CF_SOUND_RATE, .n_sample = 800, .v = x, .n = 800};
    cf_audio_blocks blocks = {.v = NULL};
    cf_dense d = {.k = cf_kernels_ref(), .stop = NULL};
    if (a->width > 64 || a->n_ff > 256 || a->n_layer > 4 || a->n_out > 1024 ||
        a->fc1.w.n_row > 1024 || a->conv1.w.n_row > 256 || a->conv2.w.n_row > 256 ||
        a->family->is_filled) {
        return;
    }
    for (size_t i = 0; i < 800; i++) {
        x[i] = (float)(i % 50) / 50 - 0.5f;
    }
    if (cf_pool_new(&d.pool, 1, &err) == CF_OK && cf_audio_cut(a, &d, &s, &blocks, &err) == CF_OK) {
        const cf_audio_block *b = &blocks.v[0];
        float *rows = cf_calloc((size_t)b->n_row * a->n_out + 1, sizeof *rows);
        if (rows != NULL) {
            cf_ignore(cf_audio_encode(a, &d, rows, b, &err)); /* any outcome */
        }
        cf_free(rows);
    }
    cf_audio_blocks_deinit(&blocks);
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
        cf_audio a;
        if (cf_audio_init(&a, &m, &err) == CF_OK) {
            try_sound(&a);
        }
        cf_mmproj_close(&m);
    }
    cf_free_aligned(copy);
    return 0;
}
