/*
 * wave.c - the outline of a sound.
 */
#include "core/api/wave.h"

#include <math.h>

#include "core/media/sound.h"

cf_status cf_wave_read(cf_wave *out, cf_str bytes, size_t n, const cf_cancel *cancel, cf_error *err)
{
    cf_sound s;
    CF_ASSERT(n > 0 && n <= CF_WAVE_POINTS_MAX);
    const cf_stop stop = {.cancel = cancel};
    CF_TRY(cf_sound_read(&s, bytes, &stop, err));
    *out = (cf_wave){.rate = s.rate, .channels = s.channels, .n_sample = s.n_sample, .n = n};
    float top = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = s.n * i / n; k < s.n * (i + 1) / n; k++) {
            out->peak[i] = fmaxf(out->peak[i], fabsf(s.v[k]));
        }
        top = fmaxf(top, out->peak[i]);
    }
    for (size_t i = 0; top > 0 && i < n; i++) {
        out->peak[i] /= top;
    }
    cf_sound_deinit(&s);
    return CF_OK;
}
