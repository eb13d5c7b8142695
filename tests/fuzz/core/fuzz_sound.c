/*
 * fuzz_sound.c - any bytes as a sound: decoded, at another rate, as the
 * spectrograms of both kinds.
 */
#include "core/media/mel.h"
#include "core/media/sound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void spectrograms(const cf_sound *s)
{
    cf_error err;
    cf_mel mel;
    cf_dense d = {.k = cf_kernels_ref(), .stop = NULL};
    size_t n = s->n < 4000 ? s->n : 4000;
    if (cf_pool_new(&d.pool, 1, &err) != CF_OK) {
        return;
    }
    if (n >= 320 && cf_mel_whisper(&mel, &d, s->v, n, (n + 159) / 160 * 160,
                                   &err) == CF_OK) {
        cf_mel_deinit(&mel);
    }
    if (cf_mel_gemma(&mel, &d, s->v, n, &err) == CF_OK) {
        cf_mel_deinit(&mel);
    }
    cf_pool_free(d.pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_error err;
    cf_sound s;
    if (cf_sound_read(&s, cf_str_make((const char *)data, size), NULL, &err) ==
        CF_OK) {
        spectrograms(&s);
        cf_sound_deinit(&s);
    }
    return 0;
}
