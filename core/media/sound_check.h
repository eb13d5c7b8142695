/*
 * sound_check.h - which kind of sound file bytes are, and whether it is whole.
 *
 * Decoders play a cut file up to its end without a word.  The lengths that
 * the formats state are compared with the bytes here, before decoding.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_SOUND_CHECK_H
#define CF_CORE_MEDIA_SOUND_CHECK_H

#include "core/base/status.h"
#include "core/base/str.h"

/* Whether the bytes start like a sound file. */
bool cf_sound_is(cf_str bytes);

/* Removes from *bytes the tags that follow the sound. CF_EUNSUPPORTED for other formats,
 * CF_EFORMAT for a truncated or damaged file. */
CF_MUST_USE cf_status cf_sound_check(cf_str *bytes, cf_error *err);

/* The checksum of an Ogg page, computed with zeros in the checksum field. */
uint32_t cf_sound__ogg_sum(cf_str page);

#endif
