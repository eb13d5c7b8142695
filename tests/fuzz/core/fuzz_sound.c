/*
 * fuzz_sound.c - any bytes as a sound: decoded, at another rate, as the
 * spectrograms of both kinds.  Checksums of Ogg pages are set right, so that
 * the coders in them see damage, too.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/mel.h"
#include "core/media/sound.h"
#include "core/media/sound_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libsndfile forgets a Vorbis header after a damaged second one. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:vorbis_info_init\n";
}

static void mend_sums(unsigned char *p, size_t size)
{
    for (size_t at = 0; size - at >= 27 && memcmp(p + at, "OggS", 4) == 0;) {
        size_t n = 27u + p[at + 26];
        for (size_t i = 0; n <= size - at && i < p[at + 26]; i++) {
            n += p[at + 27 + i];
        }
        if (n > size - at) {
            return;
        }
        uint32_t sum = cf_sound__ogg_sum(cf_str_make((const char *)p + at, n));
        for (size_t i = 0; i < 4; i++) {
            p[at + 22 + i] = (unsigned char)(sum >> 8 * i);
        }
        at += n;
    }
}

static void spectrograms(const cf_sound *s)
{
    cf_error err;
    cf_mel mel;
    cf_dense d = {.k = cf_kernels_ref(), .stop = NULL};
    size_t n = s->n < 4000 ? s->n : 4000;
    if (cf_pool_new(&d.pool, 1, &err) != CF_OK) {
        return;
    }
    if (n >= 320 && cf_mel_whisper(&mel, &d, s->v, n, (n + 159) / 160 * 160, &err) == CF_OK) {
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
    unsigned char *copy = cf_alloc(size + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    mend_sums(copy, size);
    if (cf_sound_read(&s, cf_str_make((const char *)copy, size), NULL, &err) == CF_OK) {
        spectrograms(&s);
        cf_sound_deinit(&s);
    }
    cf_free(copy);
    return 0;
}
