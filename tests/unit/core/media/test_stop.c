/*
 * test_stop.c - every stage of reading a picture or a sound can be cancelled:
 * the flag is raised at each of its looks in turn, and each time it ends with
 * CF_ECANCELLED and without a leak.  How often it looks grows with the work.
 */
#include <math.h>
#include <webp/encode.h>

#include "core/base/alloc.h"
#include "core/media/audio.h"
#include "core/media/vision.h"
#include "tests/support/picture_file.h"
#include "tests/support/t.h"
#include "tests/support/tiny_audio.h"
#include "tests/support/tiny_vision.h"

enum { W = 61, H = 47, N_OUT = 8, SAMPLES = 24000, RUNS_MAX = 150 };

/* A look counts down; at zero the user cancels. */
typedef struct looks {
    cf_cancel raised;
    size_t n, at; /* so far; 0: never */
} looks;

static void on_look(void *ud)
{
    looks *l = ud;
    l->n++;
    if (l->n == l->at) {
        atomic_store(&l->raised, true);
    }
}

/* What a stage works on. */
typedef struct world {
    cf_buf file;
    cf_pixels pixels;
    cf_filter filter;
    const cf_vision *vision;
    const cf_audio *audio;
    cf_sound sound;
    const cf_kernels *kernels;
} world;

typedef cf_status (*stage)(const world *w, const cf_stop *stop, cf_error *err);

static cf_status run_once(stage fn, const world *w, size_t at, size_t *n)
{
    cf_error err;
    looks l = {.raised = false, .n = 0, .at = at};
    const cf_stop stop = {.cancel = &l.raised, .look = on_look, .ud = &l};
    cf_status st = fn(w, &stop, &err);
    *n = l.n;
    return st;
}

/* Returns the number of looks. */
static size_t at_every_look(stage fn, const world *w)
{
    size_t n, again;
    assert_int_equal(run_once(fn, w, 0, &n), CF_OK);
    assert_true(n > 0);
    size_t step = n / RUNS_MAX + 1;
    for (size_t at = 1; at <= n; at += step) {
        if (run_once(fn, w, at, &again) != CF_ECANCELLED) {
            fail_msg("the look %zu of %zu has no effect", at, n);
        }
        assert_true(again >= at && again < at + 200);
    }
    assert_int_equal(run_once(fn, w, n, &again), CF_ECANCELLED);
    return n;
}

/* ---- decoding ----------------------------------------------------------- */

static cf_status decode(const world *w, const cf_stop *stop, cf_error *err)
{
    cf_pixels p;
    cf_status st = cf_pixels_read(&p, cf_buf_str(&w->file), stop, err);
    if (st == CF_OK) {
        cf_pixels_deinit(&p);
    }
    return st;
}

static void fill(unsigned char *rgb, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rgb[i] = (unsigned char)(i * i / 7);
    }
}

static void write_webp(cf_buf *to, const unsigned char *rgb, uint32_t w, uint32_t h,
                       bool is_lossless)
{
    uint8_t *bytes = NULL;
    size_t n = is_lossless ? WebPEncodeLosslessRGB(rgb, (int)w, (int)h, (int)w * 3, &bytes)
                           : WebPEncodeRGB(rgb, (int)w, (int)h, (int)w * 3, 80, &bytes);
    assert_true(n > 0);
    cf_buf_add(to, (const char *)bytes, n);
    WebPFree(bytes);
}

static void write_kind(cf_buf *to, size_t kind, uint32_t w, uint32_t h)
{
    unsigned char *rgb = cf_alloc((size_t)w * h * 3);
    fill(rgb, (size_t)w * h * 3);
    switch (kind) {
    case 0:
        cf_picture_png(to, rgb, w, h);
        break;
    case 1:
    case 2:
        cf_picture_jpeg(to, rgb, &(cf_jpeg_file){.w = w, .h = h, .is_progressive = kind == 2});
        break;
    default:
        write_webp(to, rgb, w, h, kind == 4);
        break;
    }
    cf_free(rgb);
}

static void test_stop__decode(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 5; kind++) {
        world w = {.file = CF_BUF_INIT};
        write_kind(&w.file, kind, W, H);
        size_t n = at_every_look(decode, &w);
        assert_true(kind >= 3 || n >= H); /* a row at a time */
        cf_buf_deinit(&w.file);
    }
}

/* A WebP file is given to its decoder in pieces: a large one in many. */
static void test_stop__decode_large(void **state)
{
    (void)state;
    enum { SIDE = 2048 };
    world w = {.file = CF_BUF_INIT};
    write_kind(&w.file, 4, SIDE, SIDE);
    size_t n;
    assert_int_equal(run_once(decode, &w, 0, &n), CF_OK);
    assert_true(n >= SIDE * SIDE >> 20);
    assert_int_equal(run_once(decode, &w, n / 2, &n), CF_ECANCELLED);
    cf_buf_deinit(&w.file);
}

/* ---- sizes -------------------------------------------------------------- */

static cf_status resize(const world *w, const cf_stop *stop, cf_error *err)
{
    cf_pixels p;
    cf_status st = cf_pixels_resize(&p, &w->pixels, 30, 90, w->filter, stop, err);
    if (st == CF_OK) {
        cf_pixels_deinit(&p);
    }
    return st;
}

static void make_pixels(cf_pixels *p)
{
    cf_error err;
    T_OK(cf_pixels_init(p, W, H, &err), err);
    fill(p->rgb, (size_t)W * H * 3);
}

static void test_stop__resize(void **state)
{
    (void)state;
    world w = {.filter = CF_FILTER_LANCZOS};
    make_pixels(&w.pixels);
    assert_true(at_every_look(resize, &w) >= H + 90);
    cf_pixels_deinit(&w.pixels);
}

/* ---- encoders ----------------------------------------------------------- */

static cf_status see(const world *w, const cf_stop *stop, cf_error *err)
{
    cf_dense d = {.k = w->kernels, .stop = stop};
    cf_vision_blocks blocks = {.stop = stop};
    float rows[CF_TINY_VISION_ROWS * N_OUT];
    CF_TRY(cf_pool_new(&d.pool, 1, err));
    cf_status st = cf_vision_cut(w->vision, &w->pixels, &blocks, err);
    CF_THEN(st, cf_vision_encode(w->vision, &d, rows, &blocks.v[0], err));
    cf_vision_blocks_deinit(&blocks);
    cf_pool_free(d.pool);
    return st;
}

static void test_stop__see(void **state)
{
    (void)state;
    cf_tiny_buf b = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, N_OUT);
    void *copy = cf_alloc_aligned(64, b.n + 64);
    memcpy(copy, b.p, b.n);
    cf_mmproj m;
    cf_vision v;
    cf_error err;
    T_OK(cf_mmproj_open_memory(&m, copy, b.n, &err), err);
    T_OK(cf_vision_init(&v, &m, &err), err);
    world w = {.vision = &v};
    make_pixels(&w.pixels);
    w.kernels = cf_kernels_pick(NULL);
    size_t n = at_every_look(see, &w);
    w.kernels = cf_kernels_ref();
    assert_true(at_every_look(see, &w) > v.n_layer * 16 && n > v.n_layer * 16);
    cf_pixels_deinit(&w.pixels);
    cf_mmproj_close(&m);
    cf_free_aligned(copy);
    cf_tiny_free(b.p);
}

static cf_status hear(const world *w, const cf_stop *stop, cf_error *err)
{
    cf_dense d = {.k = w->kernels, .stop = stop};
    cf_audio_blocks blocks = {.v = NULL};
    CF_TRY(cf_pool_new(&d.pool, 1, err));
    cf_status st = cf_audio_cut(w->audio, &d, &w->sound, &blocks, err);
    for (size_t i = 0; st == CF_OK && i < blocks.n; i++) {
        float *rows = cf_calloc((size_t)blocks.v[i].n_row * w->audio->n_out + 1, sizeof *rows);
        st = cf_audio_encode(w->audio, &d, rows, &blocks.v[i], err);
        cf_free(rows);
    }
    cf_audio_blocks_deinit(&blocks);
    cf_pool_free(d.pool);
    return st;
}

static void test_stop__hear(void **state)
{
    (void)state;
    static const char *const projectors[] = {"ultravox", "qwen2a", "gemma4a"};
    for (size_t i = 0; i < sizeof projectors / sizeof projectors[0]; i++) {
        cf_tiny_buf b = cf_tiny_audio(projectors[i], NULL);
        void *copy = cf_alloc_aligned(64, b.n + 64);
        memcpy(copy, b.p, b.n);
        cf_mmproj m;
        cf_audio a;
        cf_error err;
        T_OK(cf_mmproj_open_memory(&m, copy, b.n, &err), err);
        T_OK(cf_audio_init(&a, &m, &err), err);
        world w = {.audio = &a, .kernels = cf_kernels_pick(NULL)};
        w.sound = (cf_sound){.rate = CF_SOUND_RATE, .n_sample = SAMPLES, .n = SAMPLES};
        w.sound.v = cf_calloc(SAMPLES, sizeof *w.sound.v);
        for (size_t k = 0; k < SAMPLES; k++) {
            w.sound.v[k] = (float)sin((double)k * 0.05);
        }
        at_every_look(hear, &w);
        cf_sound_deinit(&w.sound);
        cf_mmproj_close(&m);
        cf_free_aligned(copy);
        cf_tiny_free(b.p);
    }
}

static cf_status listen(const world *w, const cf_stop *stop, cf_error *err)
{
    cf_sound s;
    cf_status st = cf_sound_read(&s, cf_buf_str(&w->file), stop, err);
    if (st == CF_OK) {
        cf_sound_deinit(&s);
    }
    return st;
}

static void put_number(cf_buf *b, uint32_t v, int n)
{
    for (int i = 0; i < n; i++) {
        cf_buf_addc(b, (char)(v >> (8 * i)));
    }
}

/* 8 bits a sample, at a rate that has to be converted. */
static void test_stop__listen(void **state)
{
    (void)state;
    enum { N = 400000, RATE = 44100 };
    world w = {.file = CF_BUF_INIT};
    cf_buf_adds(&w.file, "RIFF");
    put_number(&w.file, 36 + N, 4);
    cf_buf_adds(&w.file, "WAVEfmt ");
    put_number(&w.file, 16, 4);
    put_number(&w.file, 1, 2);
    put_number(&w.file, 1, 2);
    put_number(&w.file, RATE, 4);
    put_number(&w.file, RATE, 4);
    put_number(&w.file, 1, 2);
    put_number(&w.file, 8, 2);
    cf_buf_adds(&w.file, "data");
    put_number(&w.file, N, 4);
    for (size_t i = 0; i < N; i++) {
        cf_buf_addc(&w.file, (char)(128 + (int)(i % 50)));
    }
    assert_true(at_every_look(listen, &w) > N >> 16);
    cf_buf_deinit(&w.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop__decode), cmocka_unit_test(test_stop__decode_large),
        cmocka_unit_test(test_stop__resize), cmocka_unit_test(test_stop__see),
        cmocka_unit_test(test_stop__hear),   cmocka_unit_test(test_stop__listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
