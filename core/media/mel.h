/*
 * mel.h - a sound as a spectrogram: frames of 128 bands on the mel scale.
 *
 * Whisper's: windows of 400 samples every 160, power, bands of Slaney's scale
 * with equal areas, log10, at most 8 below the loudest.  Gemma's: windows of
 * 320, magnitude, bands of the HTK scale, natural log.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_MEL_H
#define CF_CORE_MEDIA_MEL_H

#include "core/media/dense.h"

enum { CF_MEL_BANDS = 128, CF_MEL_STEP = 160 };

typedef struct cf_mel {
    float *v;      /* [CF_MEL_BANDS, n], owned */
    size_t n;      /* frames */
    size_t n_held; /* the first of them that have sound */
} cf_mel;

/* The n samples of x, followed by silence up to `total`: total / 160 frames.
 * total is a multiple of 160, at least 320.  CF_ENOMEM, CF_ECANCELLED. */
CF_MUST_USE cf_status cf_mel_whisper(cf_mel *out, const cf_dense *d, const float *x, size_t n,
                                     size_t total, cf_error *err);
/* Frames that are not all within the sound and 160 zeros before it are 0.
 * May have no frames. */
CF_MUST_USE cf_status cf_mel_gemma(cf_mel *out, const cf_dense *d, const float *x, size_t n,
                                   cf_error *err);
void cf_mel_deinit(cf_mel *m);

#endif
