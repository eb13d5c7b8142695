/*
 * test_audio.c - projector files with encoders of sounds, made here: what is
 * refused, how sounds become blocks, and that rows do not depend on threads.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/media/audio.h"
#include "tests/support/t.h"
#include "tests/support/tiny_audio.h"

typedef struct opened {
    void *copy;
    cf_mmproj m;
    cf_audio a;
} opened;

static cf_status load(opened *o, const char *projector, const char *skip, cf_error *err)
{
    cf_tiny_buf b = cf_tiny_audio(projector, skip);
    o->copy = cf_alloc_aligned(64, b.n + 64);
    memcpy(o->copy, b.p, b.n);
    size_t n = b.n;
    cf_tiny_free(b.p);
    cf_status st = cf_mmproj_open_memory(&o->m, o->copy, n, err);
    assert_int_equal(st, CF_OK);
    st = cf_audio_init(&o->a, &o->m, err);
    if (st != CF_OK) {
        cf_mmproj_close(&o->m);
        cf_free_aligned(o->copy);
    }
    return st;
}

static void release(opened *o)
{
    cf_mmproj_close(&o->m);
    cf_free_aligned(o->copy);
}

static void test_audio__refused(void **state)
{
    (void)state;
    const char *missing[][2] = {{"ultravox", "a.conv1d.1.weight"},
                                {"ultravox", "mm.a.norm_mid.weight"},
                                {"ultravox", "a.post_ln.weight"},
                                {"ultravox", "a.blk.0.attn_k.weight"},
                                {"qwen2a", "mm.a.fc.weight"},
                                {"voxtral", "mm.a.mlp.2.weight"},
                                {"gemma4a", "a.conv1d.0.weight"},
                                {"gemma4a", "a.blk.0.conv_dw.weight"},
                                {"gemma4a", "a.blk.0.per_dim_scale.weight"},
                                {"gemma4a", "a.pre_encode.out.weight"}};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        opened o;
        cf_error err;
        T_FAILS(load(&o, missing[i][0], missing[i][1], &err), CF_EFORMAT);
        assert_non_null(strstr(err.text, missing[i][1]));
    }
    opened o;
    cf_error err;
    T_FAILS(load(&o, "nobody", NULL, &err), CF_EUNSUPPORTED);
}

/* Rows of `n` samples, and their number of blocks. */
static float *rows_of(const opened *o, size_t n, unsigned n_thread, size_t *n_row, size_t *n_block)
{
    cf_error err;
    cf_dense d = {.k = cf_kernels_pick(NULL), .stop = NULL};
    cf_sound s = {.rate = CF_SOUND_RATE, .n_sample = n, .n = n};
    cf_audio_blocks blocks = {.v = NULL};
    s.v = cf_calloc(n, sizeof *s.v);
    for (size_t i = 0; i < n; i++) {
        s.v[i] = (float)sin((double)i * 0.05 + (double)i * (double)i * 1e-7);
    }
    T_OK(cf_pool_new(&d.pool, n_thread, &err), err);
    T_OK(cf_audio_cut(&o->a, &d, &s, &blocks, &err), err);
    *n_block = blocks.n;
    *n_row = 0;
    for (size_t i = 0; i < blocks.n; i++) {
        *n_row += blocks.v[i].n_row;
    }
    float *rows = cf_calloc(*n_row * o->a.n_out + 1, sizeof *rows);
    float *at = rows;
    for (size_t i = 0; i < blocks.n; i++) {
        T_OK(cf_audio_encode(&o->a, &d, at, &blocks.v[i], &err), err);
        at += (size_t)blocks.v[i].n_row * o->a.n_out;
    }
    cf_audio_blocks_deinit(&blocks);
    cf_sound_deinit(&s);
    cf_pool_free(d.pool);
    return rows;
}

static void test_audio__rows(void **state)
{
    (void)state;
    const struct {
        const char *projector;
        size_t n, n_row, n_block;
    } cases[] = {
        {"ultravox", 192, 1, 1},      {"ultravox", 16000, 7, 1},   {"ultravox", 480000, 188, 1},
        {"ultravox", 480160, 189, 2}, {"qwen2a", 16000, 25, 1},    {"qwen2a", 160, 0, 1},
        {"qwen2a", 600000, 750, 1},   {"voxtral", 16000, 375, 1},  {"voxtral", 480001, 750, 2},
        {"gemma4a", 16000, 25, 1},    {"gemma4a", 600000, 750, 1}, /* 30 s are heard */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        opened o;
        cf_error err;
        size_t n_row, n_block;
        T_OK(load(&o, cases[i].projector, NULL, &err), err);
        float *one = rows_of(&o, cases[i].n, 1, &n_row, &n_block);
        assert_int_equal(n_row, cases[i].n_row);
        assert_int_equal(n_block, cases[i].n_block);
        float *three = rows_of(&o, cases[i].n, 3, &n_row, &n_block);
        assert_memory_equal(one, three, n_row * o.a.n_out * sizeof *one);
        for (size_t k = 0; k < n_row * o.a.n_out; k++) {
            assert_true(isfinite(one[k]));
        }
        cf_free(one);
        cf_free(three);
        release(&o);
    }
}

static void test_audio__cancelled(void **state)
{
    (void)state;
    opened o;
    cf_error err;
    cf_cancel raised = true;
    const cf_stop stop = {.cancel = &raised};
    cf_dense d = {.k = cf_kernels_ref(), .stop = &stop};
    float x[3200] = {0};
    cf_sound s = {.rate = CF_SOUND_RATE, .n_sample = 3200, .v = x, .n = 3200};
    cf_audio_blocks blocks = {.v = NULL};
    T_OK(load(&o, "voxtral", NULL, &err), err);
    T_OK(cf_pool_new(&d.pool, 1, &err), err);
    T_FAILS(cf_audio_cut(&o.a, &d, &s, &blocks, &err), CF_ECANCELLED);
    cf_audio_blocks_deinit(&blocks);
    cf_pool_free(d.pool);
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_audio__refused),
        cmocka_unit_test(test_audio__rows),
        cmocka_unit_test(test_audio__cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
