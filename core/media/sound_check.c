/*
 * sound_check.c - one row a format: its first bytes, and its lengths.
 *
 * Sources: Microsoft and IBM, "Multimedia Programming Interface" (RIFF); RFC
 * 3533 (Ogg); ISO 11172-3 and 13818-3 (MPEG audio); Apple, "Audio Interchange
 * File Format" and "Core Audio Format"; the au(5) manual.  FLAC states its
 * length in samples, which are counted while decoding.
 */
#include "core/media/sound_check.h"

#include <string.h>

/* Programs that write WAV to a pipe set the length to nearly 2 or 4 GiB. */
#define OPEN_LENGTH 0x7ffff000u

static bool has(cf_str bytes, size_t at, const char *magic)
{
    size_t n = strlen(magic);
    return bytes.n >= n && at <= bytes.n - n && memcmp(bytes.p + at, magic, n) == 0;
}

static uint32_t be32(cf_str bytes, size_t at)
{
    const unsigned char *p = (const unsigned char *)bytes.p + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t le32(cf_str bytes, size_t at)
{
    uint32_t v = be32(bytes, at);
    return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
}

static cf_status cut(cf_str bytes, size_t at, cf_error *err)
{
    return cf_fail_at(err, CF_EFORMAT, at, "the sound is truncated: its file ends after %zu bytes",
                      bytes.n);
}

static cf_status damaged(size_t at, cf_error *err)
{
    return cf_fail_at(err, CF_EFORMAT, at, "the sound is damaged at byte %zu", at);
}

/* ---- chunks ------------------------------------------------------------- */

static bool is_wave(cf_str b)
{
    return (has(b, 0, "RIFF") || has(b, 0, "RIFX") || has(b, 0, "RF64")) && has(b, 8, "WAVE");
}

static bool is_aiff(cf_str b)
{
    return has(b, 0, "FORM") && has(b, 8, "AIF");
}

/* Chunks from byte 12 on, of 4 bytes of name and 4 of length each, up to the
 * one that holds the samples. */
static cf_status check_chunks(cf_str *b, cf_error *err)
{
    bool is_little = has(*b, 0, "RIFF") || has(*b, 0, "RF64");
    const char *samples = is_wave(*b) ? "data" : "SSND";
    for (size_t at = 12; at + 8 <= b->n;) {
        uint32_t n = is_little ? le32(*b, at + 4) : be32(*b, at + 4);
        size_t left = b->n - at - 8;
        bool is_open = is_wave(*b) && n >= OPEN_LENGTH;
        if (has(*b, at, samples) && (n <= left || is_open)) {
            return CF_OK;
        }
        if (n > left) {
            return cut(*b, at, err);
        }
        at += 8 + (size_t)n + (n & 1);
    }
    return cut(*b, b->n, err);
}

static bool is_au(cf_str b)
{
    return has(b, 0, ".snd");
}

static cf_status check_au(cf_str *b, cf_error *err)
{
    if (b->n < 24) {
        return cut(*b, b->n, err);
    }
    uint64_t start = be32(*b, 4), n = be32(*b, 8);
    bool fits = start <= b->n && (n == UINT32_MAX || n <= b->n - start);
    return fits ? CF_OK : cut(*b, b->n, err);
}

static bool is_caf(cf_str b)
{
    return has(b, 0, "caff");
}

static cf_status check_caf(cf_str *b, cf_error *err)
{
    for (size_t at = 8; at + 12 <= b->n;) {
        uint64_t n = (uint64_t)be32(*b, at + 4) << 32 | be32(*b, at + 8);
        size_t left = b->n - at - 12;
        if (has(*b, at, "data") && (n <= left || n == UINT64_MAX)) {
            return CF_OK;
        }
        if (n > left) {
            return cut(*b, at, err);
        }
        at += 12 + (size_t)n;
    }
    return cut(*b, b->n, err);
}

static bool is_flac(cf_str b)
{
    return has(b, 0, "fLaC");
}

static cf_status check_nothing(cf_str *b, cf_error *err)
{
    (void)b;
    (void)err;
    return CF_OK;
}

/* ---- Ogg ---------------------------------------------------------------- */

static bool is_ogg(cf_str b)
{
    return has(b, 0, "OggS");
}

enum { OGG_SUM = 22 }; /* where a page has its checksum */

uint32_t cf_sound__ogg_sum(cf_str page)
{
    /* The polynomial 0x04c11db7, from the highest bit on, four bits a step. */
    static const uint32_t step[16] = {0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9,
                                      0x130476dc, 0x17c56b6b, 0x1a864db2, 0x1e475005,
                                      0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
                                      0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};
    uint32_t sum = 0;
    for (size_t i = 0; i < page.n; i++) {
        bool is_sum = i >= OGG_SUM && i < OGG_SUM + 4;
        unsigned byte = is_sum ? 0 : (unsigned char)page.p[i];
        sum = sum << 4 ^ step[(sum >> 28 ^ byte >> 4) & 15];
        sum = sum << 4 ^ step[(sum >> 28 ^ byte) & 15];
    }
    return sum;
}

/* Whole pages, the last of which ends its stream.  The decoder passes over a
 * page with another checksum, so the sound would have a gap. */
static cf_status check_ogg(cf_str *b, cf_error *err)
{
    bool is_last = false;
    size_t at = 0;
    while (at < b->n) {
        const unsigned char *p = (const unsigned char *)b->p + at;
        size_t left = b->n - at, n = 27;
        if (left >= 4 && !has(*b, at, "OggS")) {
            return damaged(at, err);
        }
        if (left < n || left < n + p[26]) {
            return cut(*b, at, err);
        }
        for (size_t i = 0; i < p[26]; i++) {
            n += p[27 + i];
        }
        n += p[26];
        if (left < n) {
            return cut(*b, at, err);
        }
        if (cf_sound__ogg_sum(cf_str_make(b->p + at, n)) != le32(*b, at + OGG_SUM)) {
            return damaged(at, err);
        }
        is_last = (p[5] & 4) != 0;
        at += n;
    }
    return is_last ? CF_OK : cut(*b, at, err);
}

/* ---- MPEG audio --------------------------------------------------------- */

/* The frame at a place, from the four bytes of its header. */
typedef struct mpeg {
    unsigned version, layer; /* 3: MPEG-1, 2: MPEG-2, 0: 2.5; 1 to 3 */
    bool is_mono;
    size_t n; /* bytes, the header included */
} mpeg;

/* Kilobits a second, by MPEG-1 or not and layer. */
static const uint16_t bit_rates[2][3][14] = {
    {{32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
     {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
     {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}},
    {{32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
     {32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
     {32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}}};

static bool read_frame(mpeg *out, cf_str b, size_t at)
{
    static const uint32_t rates[3] = {44100, 48000, 32000};
    if (b.n < 4 || at > b.n - 4) {
        return false;
    }
    uint32_t h = be32(b, at);
    uint32_t bits = h >> 12 & 15, rate = h >> 10 & 3, layer = h >> 17 & 3;
    out->version = h >> 19 & 3;
    if (h >> 21 != 0x7ff || out->version == 1 || layer == 0 || bits == 0 || bits == 15 ||
        rate == 3) {
        return false; /* bits 0: a free bit rate */
    }
    out->layer = 4 - layer;
    out->is_mono = (h >> 6 & 3) == 3;
    uint32_t padding = h >> 9 & 1;
    uint32_t hertz = rates[rate] / (out->version == 3 ? 1 : out->version == 2 ? 2 : 4);
    uint32_t per_second = 1000u * bit_rates[out->version == 3][out->layer - 1][bits - 1];
    if (out->layer == 1) {
        out->n = (12 * per_second / hertz + padding) * 4;
    } else {
        bool is_half = out->layer == 3 && out->version != 3;
        out->n = (is_half ? 72 : 144) * per_second / hertz + padding;
    }
    return out->n > 4;
}

/* The end of a leading ID3 tag; 0 if there is none. */
static size_t id3_end(cf_str b)
{
    if (!has(b, 0, "ID3") || b.n < 10) {
        return 0;
    }
    const unsigned char *p = (const unsigned char *)b.p;
    size_t n = (size_t)(p[6] & 0x7f) << 21 | (size_t)(p[7] & 0x7f) << 14 |
               (size_t)(p[8] & 0x7f) << 7 | (p[9] & 0x7f);
    return 10 + n + ((p[5] & 0x10) != 0 ? 10 : 0); /* a footer */
}

static bool is_mpeg(cf_str b)
{
    mpeg f;
    return has(b, 0, "ID3") || read_frame(&f, b, 0);
}

/* Frame count from the encoder's header; 0 if absent. */
static uint32_t stated_frames(cf_str b, size_t at, const mpeg *f)
{
    size_t side = f->version == 3 ? (f->is_mono ? 17 : 32) : (f->is_mono ? 9 : 17);
    size_t tag = at + 4 + side;
    if (f->layer != 3 || f->n < side + 16 || !(has(b, tag, "Xing") || has(b, tag, "Info")) ||
        (be32(b, tag + 4) & 1) == 0) {
        return 0;
    }
    return be32(b, tag + 8);
}

/* Walks the frames; only tags or zeros may follow them. */
static cf_status check_mpeg(cf_str *b, cf_error *err)
{
    size_t at = id3_end(*b);
    uint32_t n_frame = 0, stated = 0;
    mpeg f;
    for (; read_frame(&f, *b, at); at += f.n, n_frame++) {
        if (f.n > b->n - at) {
            return cut(*b, at, err);
        }
        if (n_frame == 0) {
            stated = stated_frames(*b, at, &f);
        }
    }
    if (n_frame == 0) {
        return at < b->n ? damaged(at, err) : cut(*b, b->n, err);
    }
    if (stated >= n_frame) { /* its own frame is not counted */
        return cut(*b, at, err);
    }
    bool is_tag = at >= b->n || has(*b, at, "TAG") || has(*b, at, "ID3") ||
                  has(*b, at, "APETAGEX") || has(*b, at, "LYRICSBEGIN");
    for (size_t i = at; !is_tag && i < b->n; i++) {
        if (b->p[i] != 0) {
            return damaged(i, err);
        }
    }
    b->n = at;
    return CF_OK;
}

/* ---- all ---------------------------------------------------------------- */

static const struct {
    bool (*is)(cf_str bytes);
    cf_status (*check)(cf_str *bytes, cf_error *err);
} formats[] = {{is_wave, check_chunks}, {is_aiff, check_chunks}, {is_flac, check_nothing},
               {is_ogg, check_ogg},     {is_au, check_au},       {is_caf, check_caf},
               {is_mpeg, check_mpeg}};

enum { N_FORMAT = sizeof formats / sizeof formats[0] };

static size_t find(cf_str bytes)
{
    size_t i = 0;
    while (i < N_FORMAT && !formats[i].is(bytes)) {
        i++;
    }
    return i;
}

bool cf_sound_is(cf_str bytes)
{
    return find(bytes) < N_FORMAT;
}

cf_status cf_sound_check(cf_str *bytes, cf_error *err)
{
    size_t i = find(*bytes);
    return i < N_FORMAT ? formats[i].check(bytes, err)
                        : cf_fail(err, CF_EUNSUPPORTED,
                                  "not a sound that confab reads (WAV, FLAC, Ogg, MP3, "
                                  "AIFF, AU, CAF)");
}
