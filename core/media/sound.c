/*
 * sound.c - sound files through libsndfile and soxr.
 *
 *   bytes -> frames -> mean of the channels -> 16 kHz, a piece at a time
 */
#include "core/media/sound.h"

#include <math.h>
#include <sndfile.h>
#include <soxr.h>
#include <string.h>

#include "core/base/alloc.h"

/* Values decoded at once, of all channels. */
enum { PIECE = 1 << 16 };

/* ---- bytes as a file ---------------------------------------------------- */

typedef struct memory {
    cf_str bytes;
    size_t at;
} memory;

static sf_count_t mem_length(void *ud)
{
    const memory *m = ud;
    return (sf_count_t)m->bytes.n;
}

static sf_count_t mem_seek(sf_count_t off, int whence, void *ud)
{
    memory *m = ud;
    sf_count_t base = whence == SEEK_CUR   ? (sf_count_t)m->at
                      : whence == SEEK_END ? (sf_count_t)m->bytes.n
                                           : 0;
    /* Both are bounded by the size of the file or by the library's own values. */
    if (off < -base || off > (sf_count_t)m->bytes.n - base) {
        return -1;
    }
    m->at = (size_t)(base + off);
    return (sf_count_t)m->at;
}

static sf_count_t mem_read(void *to, sf_count_t n, void *ud)
{
    memory *m = ud;
    size_t left = m->bytes.n - m->at;
    size_t take = n < 0 ? 0 : (uint64_t)n < left ? (size_t)n : left;
    memcpy(to, m->bytes.p + m->at, take);
    m->at += take;
    return (sf_count_t)take;
}

static sf_count_t mem_write(const void *from, sf_count_t n, void *ud)
{
    (void)from;
    (void)n;
    (void)ud;
    return 0;
}

static sf_count_t mem_tell(void *ud)
{
    const memory *m = ud;
    return (sf_count_t)m->at;
}

/* ---- samples ------------------------------------------------------------ */

typedef struct reading {
    SNDFILE *file;
    SF_INFO info;
    soxr_t resampler; /* NULL where the rate is right */
    float *piece;     /* [PIECE] */
    float *mono;      /* [PIECE] */
    cf_sound *to;
    const cf_stop *stop;
} reading;

static cf_status check_info(const SF_INFO *i, cf_error *err)
{
    if (i->channels < 1 || i->channels > CF_SOUND_CHANNELS_MAX) {
        return cf_fail(err, CF_ELIMIT, "%d channels are too many (limit %d)", i->channels,
                       CF_SOUND_CHANNELS_MAX);
    }
    if (i->samplerate < CF_SOUND_RATE_MIN || i->samplerate > CF_SOUND_RATE_MAX) {
        return cf_fail(err, CF_ELIMIT, "a rate of %d samples a second is outside %d to %d",
                       i->samplerate, CF_SOUND_RATE_MIN, CF_SOUND_RATE_MAX);
    }
    return CF_OK;
}

/* Also called while reading: the stated length may be wrong. */
static cf_status check_length(const SF_INFO *i, uint64_t n, cf_error *err)
{
    uint64_t rate = (uint64_t)i->samplerate;
    if (n / rate >= CF_SOUND_SECONDS_MAX && n > rate * CF_SOUND_SECONDS_MAX) {
        return cf_fail(err, CF_ELIMIT, "the sound is longer than %d minutes",
                       CF_SOUND_SECONDS_MAX / 60);
    }
    if (n > CF_SOUND_VALUES_MAX / (uint64_t)i->channels) {
        return cf_fail(err, CF_ELIMIT, "the sound has more than %d samples in its channels",
                       CF_SOUND_VALUES_MAX);
    }
    return CF_OK;
}

static cf_status keep(cf_sound *to, const float *v, size_t n, cf_error *err)
{
    if (!cf_grow(&to->v, &to->cap, to->n + n + 1, sizeof *to->v)) {
        return cf_oom_for(err, "a sound");
    }
    memcpy(to->v + to->n, v, n * sizeof *v);
    to->n += n;
    return CF_OK;
}

/* Passes n samples through the filter; n = 0 flushes it. */
static cf_status convert(reading *r, const float *v, size_t n, cf_error *err)
{
    if (r->resampler == NULL) {
        return keep(r->to, v, n, err);
    }
    size_t done, got;
    do {
        size_t used = 0;
        CF_TRY(cf_stop_check(r->stop, err));
        done = 0;
        soxr_error_t why =
            soxr_process(r->resampler, n > 0 ? v : NULL, n, &used, r->piece, PIECE, &done);
        if (why != NULL) {
            return cf_fail(err, CF_ENOMEM, "the rate is not converted: %s", why);
        }
        CF_TRY(keep(r->to, r->piece, done, err));
        v += used;
        n -= used;
        got = used + done;
    } while (n > 0 ? got > 0 : done == PIECE);
    return CF_OK;
}

/* The mean of the channels. */
static cf_status mix(reading *r, size_t n, cf_error *err)
{
    size_t channels = (size_t)r->info.channels;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < channels; c++) {
            sum += (double)r->piece[i * channels + c];
        }
        r->mono[i] = (float)(sum / (double)channels);
        if (!isfinite(r->mono[i])) {
            return cf_fail(err, CF_EFORMAT, "the sound has samples that are not numbers");
        }
    }
    return CF_OK;
}

static cf_status read_all(reading *r, cf_error *err)
{
    uint64_t n_frame = (uint64_t)r->info.frames;
    sf_count_t n, most = PIECE / r->info.channels;
    while ((n = sf_readf_float(r->file, r->piece, most)) > 0) {
        CF_TRY(cf_stop_check(r->stop, err));
        r->to->n_sample += (uint64_t)n;
        CF_TRY(check_length(&r->info, r->to->n_sample, err));
        CF_TRY(mix(r, (size_t)n, err));
        CF_TRY(convert(r, r->mono, (size_t)n, err));
    }
    if (sf_error(r->file) != SF_ERR_NO_ERROR) {
        return cf_fail(err, CF_EFORMAT, "the sound is damaged: %s", sf_strerror(r->file));
    }
    if (r->to->n_sample == 0) {
        return cf_fail(err, CF_EFORMAT, "the sound has no samples");
    }
    /* An MP3 file without a table of contents only estimates its length. */
    if (r->to->n_sample < n_frame && r->info.frames != SF_COUNT_MAX &&
        (r->info.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG) {
        return cf_fail(err, CF_EFORMAT,
                       "the sound is truncated: %llu samples are stated and %llu "
                       "are there",
                       (unsigned long long)n_frame, (unsigned long long)r->to->n_sample);
    }
    return r->resampler != NULL ? convert(r, r->mono, 0, err) : CF_OK;
}

static cf_status start(reading *r, cf_error *err)
{
    CF_TRY(check_info(&r->info, err));
    if (r->info.frames != SF_COUNT_MAX && r->info.frames > 0) {
        CF_TRY(check_length(&r->info, (uint64_t)r->info.frames, err));
    }
    r->to->rate = (uint32_t)r->info.samplerate;
    r->to->channels = (uint32_t)r->info.channels;
    r->piece = cf_calloc(PIECE, sizeof *r->piece);
    r->mono = cf_calloc(PIECE, sizeof *r->mono);
    if (r->piece == NULL || r->mono == NULL) {
        return cf_oom_for(err, "a sound");
    }
    if (r->to->rate == CF_SOUND_RATE) {
        return CF_OK;
    }
    soxr_error_t why = NULL;
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
    r->resampler = soxr_create(r->to->rate, CF_SOUND_RATE, 1, &why, NULL, &quality, &one_thread);
    return r->resampler != NULL ? CF_OK : cf_oom_for(err, "a sound's filter");
}

cf_status cf_sound_read(cf_sound *out, cf_str bytes, const cf_stop *stop, cf_error *err)
{
    CF_TRY(cf_sound_check(&bytes, err));
    SF_VIRTUAL_IO io = {mem_length, mem_seek, mem_read, mem_write, mem_tell};
    memory m = {.bytes = bytes};
    cf_sound s = {.v = NULL};
    reading r = {.to = &s, .stop = stop};
    r.file = sf_open_virtual(&io, SFM_READ, &r.info, &m);
    cf_status st = r.file != NULL
                       ? CF_OK
                       : cf_fail(err, CF_EFORMAT, "the sound is damaged: %s", sf_strerror(NULL));
    CF_THEN(st, start(&r, err));
    CF_THEN(st, read_all(&r, err));
    if (r.file != NULL) {
        sf_close(r.file);
    }
    soxr_delete(r.resampler);
    cf_free(r.piece);
    cf_free(r.mono);
    if (st == CF_OK) {
        *out = s;
    } else {
        cf_sound_deinit(&s);
    }
    return st;
}

void cf_sound_deinit(cf_sound *s)
{
    cf_free(s->v);
    *s = (cf_sound){.v = NULL};
}
