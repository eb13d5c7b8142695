/*
 * wave.h - a sound file's length and outline, without a model.
 *
 * Place in the flow:  a sound's bytes --> [wave] --> the screen.
 * Knows: the sound formats that media.h reads.  Does not know: models,
 * screens.
 *
 * Threads:  no state.
 * Memory:   the caller's struct.
 */
#ifndef CF_CORE_API_WAVE_H
#define CF_CORE_API_WAVE_H

#include "core/api/session.h"
#include "core/base/decls.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

enum { CF_WAVE_POINTS_MAX = 512 };

typedef struct cf_wave {
    uint32_t rate, channels;
    uint64_t n_sample; /* of one channel */
    size_t n;
    float peak[CF_WAVE_POINTS_MAX]; /* [n]: the farthest from 0 in equal parts
                                       of the sound, channels averaged, as a
                                       share of the farthest of all */
} cf_wave;

/* Decodes the sound into n parts, 1 to CF_WAVE_POINTS_MAX.  CF_EUNSUPPORTED
 * for other files, CF_EFORMAT for damage, CF_ELIMIT for a sound that
 * cf_media_read() refuses as too long, CF_ECANCELLED (cancel may be NULL),
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_wave_read(cf_wave *out, cf_str bytes, size_t n, const cf_cancel *cancel,
                                   cf_error *err);

CF_END_DECLS

#endif
