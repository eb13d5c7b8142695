/*
 * sound.h - a sound file's samples: one channel at 16 kHz.
 *
 * WAV, FLAC, Ogg, MP3, AIFF, AU and CAF through libsndfile, told apart by
 * content; channels are averaged, and other rates are converted by soxr with a
 * band-limited filter.  Files that end before the length they state are
 * refused, not heard in part.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_SOUND_H
#define CF_CORE_MEDIA_SOUND_H

#include "core/media/sound_check.h"
#include "core/media/stop.h"

enum {
    CF_SOUND_RATE = 16000, /* what encoders hear */
    CF_SOUND_SECONDS_MAX = 1800,
    CF_SOUND_CHANNELS_MAX = 64,
    CF_SOUND_RATE_MIN = 1000,
    CF_SOUND_RATE_MAX = 768000,
    CF_SOUND_VALUES_MAX = 256 << 20 /* samples of all channels */
};

typedef struct cf_sound {
    uint32_t rate, channels; /* as in the file */
    uint64_t n_sample;       /* of one channel, at `rate` */
    float *v;                /* [n], one channel at CF_SOUND_RATE; owned */
    size_t n, cap;
} cf_sound;

/* CF_EUNSUPPORTED for other formats, CF_EFORMAT for damage, CF_ELIMIT for
 * sounds beyond the limits above, CF_ECANCELLED (stop may be NULL),
 * CF_ENOMEM.  *out is set on success only. */
CF_MUST_USE cf_status cf_sound_read(cf_sound *out, cf_str bytes, const cf_stop *stop,
                                    cf_error *err);
void cf_sound_deinit(cf_sound *s);

#endif
