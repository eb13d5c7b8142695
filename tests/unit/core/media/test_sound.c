/*
 * test_sound.c - sound files made here: formats, channels, rates, cuts at any
 * place, and what spectrograms must show of a tone.
 */
#include <math.h>
#include <sndfile.h>

#include "core/base/alloc.h"
#include "core/media/mel.h"
#include "core/media/sound.h"
#include "tests/support/t.h"

enum { FILE_MAX = 1 << 20 };

static const double pi = 3.14159265358979323846;

/* ---- files in memory ---------------------------------------------------- */

typedef struct memory {
    unsigned char *p; /* [FILE_MAX] */
    sf_count_t at, n;
} memory;

static sf_count_t length(void *ud)
{
    return ((memory *)ud)->n;
}

static sf_count_t seek(sf_count_t off, int whence, void *ud)
{
    memory *m = ud;
    m->at = whence == SEEK_SET ? off : whence == SEEK_CUR ? m->at + off : m->n + off;
    return m->at;
}

static sf_count_t get(void *to, sf_count_t n, void *ud)
{
    memory *m = ud;
    sf_count_t left = m->n - m->at;
    n = n < left ? n : left;
    memcpy(to, m->p + m->at, (size_t)n);
    m->at += n;
    return n;
}

static sf_count_t put(const void *from, sf_count_t n, void *ud)
{
    memory *m = ud;
    assert_true(m->at + n <= FILE_MAX);
    memcpy(m->p + m->at, from, (size_t)n);
    m->at += n;
    m->n = m->at > m->n ? m->at : m->n;
    return n;
}

static sf_count_t tell(void *ud)
{
    return ((memory *)ud)->at;
}

/* Two channels: a tone of 500 Hz, and the same at a third of its height.
 * False where the library cannot write the format. */
static bool make_file(memory *m, int format, int rate, size_t n)
{
    SF_VIRTUAL_IO io = {length, seek, get, put, tell};
    SF_INFO info = {.samplerate = rate, .channels = 2, .format = format};
    *m = (memory){.p = cf_calloc(1, FILE_MAX)};
    SNDFILE *f = sf_open_virtual(&io, SFM_WRITE, &info, m);
    if (f == NULL) {
        cf_free(m->p);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        double v = 0.6 * sin(2 * pi * 500 * (double)i / rate);
        float frame[2] = {(float)v, (float)(v / 3)};
        assert_int_equal(sf_writef_float(f, frame, 1), 1);
    }
    sf_close(f);
    return true;
}

static cf_str bytes_of(const memory *m)
{
    return cf_str_make((const char *)m->p, (size_t)m->n);
}

/* ---- decoding ----------------------------------------------------------- */

static const int formats[] = {
    SF_FORMAT_WAV | SF_FORMAT_PCM_16,          SF_FORMAT_WAV | SF_FORMAT_PCM_24,
    SF_FORMAT_WAV | SF_FORMAT_PCM_U8,          SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    SF_FORMAT_FLAC | SF_FORMAT_PCM_16,         SF_FORMAT_OGG | SF_FORMAT_VORBIS,
    SF_FORMAT_AIFF | SF_FORMAT_PCM_16,         SF_FORMAT_AU | SF_FORMAT_PCM_16,
    SF_FORMAT_CAF | SF_FORMAT_PCM_16,
#ifdef SF_FORMAT_MPEG_LAYER_III
    SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III,
#endif
};

enum { N_FORMAT = sizeof formats / sizeof formats[0] };

/* The tone at two thirds of its height, at 16 kHz, from any rate. */
static void test_sound__formats(void **state)
{
    (void)state;
    const int rates[] = {16000, 44100, 48000, 8000};
    for (size_t i = 0; i < N_FORMAT; i++) {
        int rate = rates[i % 4];
        memory m;
        if (!make_file(&m, formats[i], rate, (size_t)rate)) {
            printf("not written by this library: %#x\n", (unsigned)formats[i]);
            continue;
        }
        cf_sound s;
        cf_error err;
        T_OK(cf_sound_read(&s, bytes_of(&m), NULL, &err), err);
        assert_int_equal(s.rate, rate);
        assert_int_equal(s.channels, 2);
        assert_true(s.n_sample >= (uint64_t)rate);
        assert_in_range(s.n, 16000, 18500); /* coders add their delay */
        double square = 0;
        for (size_t k = 4000; k < 12000; k++) {
            square += (double)s.v[k] * (double)s.v[k];
        }
        assert_true(fabs(sqrt(square / 8000 * 2) - 0.4) < 0.02);
        cf_sound_deinit(&s);
        cf_free(m.p);
    }
}

/* No beginning of a file is taken for the whole. */
static void test_sound__cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMAT; i++) {
        memory m;
        if (!make_file(&m, formats[i], 16000, 4000)) {
            continue;
        }
        cf_str whole = bytes_of(&m);
        size_t step = 1 + whole.n / 97;
        for (size_t n = 0; n + 1 < whole.n; n += step) {
            unsigned char *copy = cf_alloc(n + 1);
            memcpy(copy, whole.p, n);
            cf_sound s;
            cf_error err;
            cf_status st = cf_sound_read(&s, cf_str_make((const char *)copy, n), NULL, &err);
            if (st == CF_OK) {
                fail_msg("format %#x, %zu of %zu bytes", (unsigned)formats[i], n, whole.n);
            }
            assert_true(st == CF_EFORMAT || st == CF_EUNSUPPORTED);
            assert_true(err.text[0] != '\0');
            cf_free(copy);
        }
        cf_free(m.p);
    }
}

static void assert_damaged(const memory *m, sf_count_t n)
{
    cf_sound s;
    cf_error err;
    T_FAILS(cf_sound_read(&s, cf_str_make((const char *)m->p, (size_t)n), NULL, &err), CF_EFORMAT);
}

/* Nor where a frame ends, or where the header states more than is there. */
static void test_sound__fewer_than_stated(void **state)
{
    (void)state;
    memory m;
    assert_true(make_file(&m, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 4000));
    m.p[24] = (unsigned char)(m.p[24] + 1); /* 256 samples more, in STREAMINFO */
    assert_damaged(&m, m.n);
    cf_free(m.p);
#ifdef SF_FORMAT_MPEG_LAYER_III
    if (make_file(&m, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 16000, 4000)) {
        for (sf_count_t n = 1; n + 1 < m.n; n++) {
            if (m.p[n] == 0xFF && (m.p[n + 1] & 0xE0) == 0xE0) {
                assert_damaged(&m, n);
            }
        }
        cf_free(m.p);
    }
#endif
}

/* Frames of silence, the first with the encoder's count of the others. */
static cf_str put_frames(unsigned char *p, bool is_version_1, bool is_mono, size_t n)
{
    const size_t size = is_version_1 ? 417 : 288;
    const size_t side = is_version_1 ? (is_mono ? 17 : 32) : (is_mono ? 9 : 17);
    memset(p, 0, size * (n + 1));
    for (size_t i = 0; i <= n; i++) {
        p[size * i] = 0xFF;
        p[size * i + 1] = is_version_1 ? 0xFB : 0xF3; /* layer 3, no checksum */
        p[size * i + 2] = is_version_1 ? 0x90 : 0x88; /* 44.1 kHz, or 16 */
        p[size * i + 3] = is_mono ? 0xC0 : 0;
    }
    memcpy(p + 4 + side, "Info\0\0\0\1\0\0\0", 11);
    p[4 + side + 11] = (unsigned char)n;
    return cf_str_make((const char *)p, size * (n + 1));
}

static void test_sound__fewer_frames_than_stated(void **state)
{
    (void)state;
    enum { N = 6 };
    unsigned char *p = cf_alloc(417 * (N + 1));
    for (int i = 0; i < 4; i++) {
        cf_str all = put_frames(p, (i & 1) != 0, (i & 2) != 0, N);
        for (size_t n = N; n > 1; n--) {
            cf_sound s;
            cf_error err;
            cf_str cut = cf_str_make(all.p, all.n / (N + 1) * (n + 1));
            cf_status st = cf_sound_read(&s, cut, NULL, &err);
            if (st == CF_EUNSUPPORTED) {
                break; /* a library without MP3 */
            }
            assert_int_equal(st, n == N ? CF_OK : CF_EFORMAT);
            if (st == CF_OK) {
                cf_sound_deinit(&s);
            }
        }
    }
    cf_free(p);
}

static void test_sound__limits(void **state)
{
    (void)state;
    memory m;
    cf_sound s;
    cf_error err;
    /* 31 minutes of silence at the lowest rate */
    assert_true(make_file(&m, SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 1000, 10));
    size_t n = (size_t)m.n - 20, seconds = CF_SOUND_SECONDS_MAX + 60;
    unsigned char *big = cf_calloc(1, n + seconds * 2000);
    memcpy(big, m.p, n);
    uint32_t data = (uint32_t)(seconds * 2000);
    for (int i = 0; i < 4; i++) {
        big[n - 4 + (size_t)i] = (unsigned char)(data >> 8 * i);
    }
    T_FAILS(cf_sound_read(&s, cf_str_make((const char *)big, n + seconds * 2000), NULL, &err),
            CF_ELIMIT);
    cf_free(big);
    cf_free(m.p);
    cf_cancel raised = true;
    const cf_stop stop = {.cancel = &raised};
    assert_true(make_file(&m, formats[0], 16000, 4000));
    T_FAILS(cf_sound_read(&s, bytes_of(&m), &stop, &err), CF_ECANCELLED);
    cf_free(m.p);
    T_FAILS(cf_sound_read(&s, cf_str_from("\x89PNG\r\n"), NULL, &err), CF_EUNSUPPORTED);
}

/* An hour of silence in a small file. */
static void test_sound__hour(void **state)
{
    const int hour[] = {SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        enum { RATE = 8000 };
        SF_VIRTUAL_IO io = {length, seek, get, put, tell};
        SF_INFO info = {.samplerate = RATE, .channels = 1, .format = hour[k]};
        memory m = {.p = cf_calloc(1, FILE_MAX)};
        SNDFILE *f = sf_open_virtual(&io, SFM_WRITE, &info, &m);
        assert_non_null(f);
        static const short second[RATE];
        for (int i = 0; i < 3600; i++) {
            assert_int_equal(sf_writef_short(f, second, RATE), RATE);
        }
        sf_close(f);
        cf_sound s;
        cf_error err;
        T_FAILS(cf_sound_read(&s, bytes_of(&m), NULL, &err), CF_ELIMIT);
        assert_non_null(strstr(err.text, "minutes"));
        cf_free(m.p);
    }
}

/* The decoder passes over a page that was changed; the file is refused. */
static void test_sound__changed_page(void **state)
{
    memory m;
    cf_sound s;
    cf_error err;
    (void)state;
    assert_true(make_file(&m, SF_FORMAT_OGG | SF_FORMAT_VORBIS, 16000, 16000));
    T_OK(cf_sound_read(&s, bytes_of(&m), NULL, &err), err);
    cf_sound_deinit(&s);
    m.p[m.n - 20] ^= 1;
    T_FAILS(cf_sound_read(&s, bytes_of(&m), NULL, &err), CF_EFORMAT);
    cf_free(m.p);
}

/* ---- spectrograms ------------------------------------------------------- */

static void mel_of(cf_mel *out, bool is_gemma, const float *x, size_t n, unsigned n_thread)
{
    cf_error err;
    cf_dense d = {.k = cf_kernels_ref(), .stop = NULL};
    T_OK(cf_pool_new(&d.pool, n_thread, &err), err);
    T_OK(is_gemma ? cf_mel_gemma(out, &d, x, n, &err)
                  : cf_mel_whisper(out, &d, x, n, (n + 159) / 160 * 160, &err),
         err);
    cf_pool_free(d.pool);
}

static void test_mel__tone(void **state)
{
    (void)state;
    /* bands that 1,000 and 4,000 Hz are in: both scales by their formulas */
    const struct {
        bool is_gemma;
        double hertz;
        size_t band;
    } cases[] = {{false, 1000, 42}, {false, 4000, 99}, {true, 1000, 44}, {true, 4000, 96}};
    enum { N = 8000 };
    for (size_t c = 0; c < 4; c++) {
        float x[N];
        for (size_t i = 0; i < N; i++) {
            x[i] = (float)sin(2 * pi * cases[c].hertz * (double)i / 16000);
        }
        cf_mel one, three;
        mel_of(&one, cases[c].is_gemma, x, N, 1);
        mel_of(&three, cases[c].is_gemma, x, N, 3);
        assert_int_equal(one.n, 50);
        assert_memory_equal(one.v, three.v, CF_MEL_BANDS * one.n * sizeof *one.v);
        size_t best = 0;
        for (size_t b = 1; b < CF_MEL_BANDS; b++) {
            if (one.v[b * one.n + 20] > one.v[best * one.n + 20]) {
                best = b;
            }
        }
        assert_in_range(best, cases[c].band - 1, cases[c].band + 1);
        cf_mel_deinit(&one);
        cf_mel_deinit(&three);
    }
}

/* Silence is at the floor, and never more than 2 below the loudest. */
static void test_mel__floor(void **state)
{
    (void)state;
    float x[1600] = {0};
    cf_mel m;
    mel_of(&m, false, x, 1600, 1);
    for (size_t i = 0; i < CF_MEL_BANDS * m.n; i++) {
        assert_true(m.v[i] == -1.5f);
    }
    cf_mel_deinit(&m);
    x[700] = 1;
    mel_of(&m, false, x, 1600, 1);
    float low = 9, top = -9;
    for (size_t i = 0; i < CF_MEL_BANDS * m.n; i++) {
        low = fminf(low, m.v[i]);
        top = fmaxf(top, m.v[i]);
    }
    assert_true(fabsf(top - low - 2) < 1e-6f);
    cf_mel_deinit(&m);
    mel_of(&m, true, x, 100, 1); /* shorter than a window */
    assert_int_equal(m.n_held, 0);
    cf_mel_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound__formats),
        cmocka_unit_test(test_sound__cut_anywhere),
        cmocka_unit_test(test_sound__fewer_than_stated),
        cmocka_unit_test(test_sound__fewer_frames_than_stated),
        cmocka_unit_test(test_sound__limits),
        cmocka_unit_test(test_sound__hour),
        cmocka_unit_test(test_sound__changed_page),
        cmocka_unit_test(test_mel__tone),
        cmocka_unit_test(test_mel__floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
