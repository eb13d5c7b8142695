/*
 * test_prefix.c - beginnings of prompts that sessions share, and the file they
 * are kept in: same bits, bounded, and no trust in the file.
 */
#include "core/api/prefix.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N = 150, N_VOCAB = 320, BLOCK = 32 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_prefix_cache *cache;
    cf_token ids[N];
} model;

static void open_as(model *m, const char *arch, uint64_t seed, uint64_t max_bytes,
                    cf_arithmetic arithmetic)
{
    cf_error err;
    size_t n = 0;
    cf_rand r = {1};
    cf_engine_options o = {.n_threads = 2, .arithmetic = arithmetic};
    m->bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = arch, .seed = seed}, &n);
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &o, &err), err);
    T_OK(cf_prefix_cache_new(&m->cache, m->engine, max_bytes, &err), err);
    for (size_t i = 0; i < N; i++) {
        m->ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
}

static void open_model(model *m, const char *arch, uint64_t seed, uint64_t max_bytes)
{
    open_as(m, arch, seed, max_bytes, CF_ARITHMETIC_16);
}

static void close_model(model *m)
{
    cf_prefix_cache_free(m->cache);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

static cf_session *new_session(const model *m, cf_prefix_cache *cache)
{
    cf_error err;
    cf_session *s = NULL;
    cf_session_options o = {.n_ctx = 256, .prefixes = cache};
    T_OK(cf_session_new(&s, m->engine, &o, &err), err);
    return s;
}

/* A new session is synced to ids[0..n): returns the tokens that it did not
 * compute.  With `compares` it has the bits of one without a cache. */
static size_t sync_one(const model *m, size_t n, bool compares)
{
    cf_error err;
    cf_sync_result got;
    cf_session *s = new_session(m, m->cache);
    cf_session *plain = new_session(m, NULL);
    size_t want = cf_session_would_sync(s, m->ids, n);
    T_OK(cf_session_sync(s, m->ids, n, NULL, &got, &err), err);
    T_OK(cf_session_sync(plain, m->ids, n, NULL, NULL, &err), err);
    for (int i = 0; compares && i < 3; i++) {
        assert_memory_equal(cf_session_logits(s), cf_session_logits(plain),
                            N_VOCAB * sizeof(float));
        T_OK(cf_session_step(s, 5, NULL, &err), err);
        T_OK(cf_session_step(plain, 5, NULL, &err), err);
    }
    assert_int_equal(got.n_kept + got.n_new, n);
    assert_true(compares ? got.n_kept == want : got.n_kept <= want);
    assert_int_equal(cf_session_would_sync(plain, m->ids, n), cf_session_would_keep(plain, n - 1));
    cf_session_free(s);
    cf_session_free(plain);
    return got.n_kept;
}

static size_t sync_fresh(const model *m, size_t n)
{
    return sync_one(m, n, true);
}

static void check_shares(const char *arch)
{
    model m;
    cf_error err;
    uint64_t bytes;
    open_model(&m, arch, 3, CF_PREFIX_BYTES_MAX);
    assert_int_equal(sync_fresh(&m, 100), 0);
    cf_session *s = new_session(&m, NULL);
    bool is_recurrent = cf_session_is_recurrent(s);
    cf_session_free(s);
    /* The same beginning, in whole blocks; recurrent: at a state. */
    size_t kept = sync_fresh(&m, 120);
    assert_int_equal(kept, is_recurrent ? 0 : 96);
    assert_int_equal(sync_fresh(&m, 97), is_recurrent ? 0 : 96);
    m.ids[40] = (m.ids[40] + 1) % N_VOCAB;
    assert_int_equal(sync_fresh(&m, 120), is_recurrent ? 0 : 32);
    assert_int_equal(sync_fresh(&m, 33), is_recurrent ? 0 : 32);
    assert_int_equal(sync_fresh(&m, 32), 0);
    /* Prompts that begin alike are one entry; these are two. */
    assert_int_equal(cf_prefix_cache_count(m.cache, &bytes), 2);
    /* match takes what needs no check, too */
    cf_sync_result got;
    s = new_session(&m, m.cache);
    T_OK(cf_session_match(s, m.ids, 120, &got, &err), err);
    assert_int_equal(got.n_kept, is_recurrent ? 0 : 96);
    cf_session_free(s);
    close_model(&m);
}

static void test_prefix__shares(void **state)
{
    (void)state;
    check_shares("qwen3");
    check_shares("gemma3");
    check_shares("qwen35");
}

/* A recurrent model takes a state that was kept in the prompt. */
static void test_prefix__states(void **state)
{
    model m;
    cf_error err;
    cf_sync_result got;
    (void)state;
    open_model(&m, "qwen35", 3, CF_PREFIX_BYTES_MAX);
    cf_session *s = new_session(&m, m.cache);
    cf_run run = {.keep_at = 70};
    T_OK(cf_session_sync(s, m.ids, 110, &run, NULL, &err), err);
    cf_session_free(s);
    s = new_session(&m, m.cache);
    T_OK(cf_session_sync(s, m.ids, 90, NULL, &got, &err), err);
    assert_int_equal(got.n_kept, 0); /* whole blocks end at 64, before it */
    cf_session_free(s);
    assert_true(sync_fresh(&m, 105) >= 70);
    T_FAILS(cf_prefix_cache_write(m.cache, "unused", &err), CF_EUNSUPPORTED);
    close_model(&m);
}

static void test_prefix__bounded(void **state)
{
    model m;
    uint64_t bytes;
    uint64_t page = 2 * 2 * 2 * 16 * BLOCK * sizeof(float);
    (void)state;
    open_model(&m, "llama", 3, 5 * page + 4096);
    for (size_t i = 0; i < 20; i++) {
        m.ids[0] = (cf_token)i;
        sync_fresh(&m, 70);
        assert_in_range(cf_prefix_cache_count(m.cache, &bytes), 1, 2);
        assert_true(bytes <= 5 * page + 4096);
    }
    assert_int_equal(sync_fresh(&m, 140), 64); /* the newest is still there */
    m.ids[0] = 0;
    assert_int_equal(sync_fresh(&m, 70), 0);
    close_model(&m);
}

/* ---- the file ----------------------------------------------------------- */

static cf_buf file_bytes(const char *path)
{
    cf_error err;
    cf_buf b = CF_BUF_INIT;
    T_OK(cf_os_read_file(&b, path, 1 << 24, &err), err);
    return b;
}

/* A cache with what the bytes say; they get a right checksum with `sums`. */
static cf_status read_bytes(model *m, cf_buf *b, bool sums, cf_error *err)
{
    const char *path = store_dir_file("hostile");
    if (sums) {
        char sum[CF_HASH_TEXT + 1];
        cf_hash_hex(sum, b->p, b->n - CF_HASH_TEXT);
        memcpy(b->p + b->n - CF_HASH_TEXT, sum, CF_HASH_TEXT);
    }
    cf_prefix_cache_free(m->cache);
    T_OK(cf_prefix_cache_new(&m->cache, m->engine, CF_PREFIX_BYTES_MAX, err), *err);
    T_OK(cf_os_write_file(path, b->p, b->n, 0600, err), *err);
    return cf_prefix_cache_read(m->cache, path, err);
}

static void test_prefix__survives(void **state)
{
    model m;
    cf_error err;
    uint64_t bytes;
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", store_dir_file("prefixes"));
    open_model(&m, "qwen3", 3, CF_PREFIX_BYTES_MAX);
    T_FAILS(cf_prefix_cache_read(m.cache, path, &err), CF_ENOTFOUND);
    sync_fresh(&m, 130);
    T_OK(cf_prefix_cache_write(m.cache, path, &err), err);
    cf_buf b = file_bytes(path);
    T_OK(read_bytes(&m, &b, false, &err), err);
    assert_int_equal(cf_prefix_cache_count(m.cache, &bytes), 1);
    assert_int_equal(sync_fresh(&m, 130), 128);
    assert_int_equal(sync_fresh(&m, 100), 96);
    cf_buf_deinit(&b);
    close_model(&m);
    /* Another arithmetic's: its keys and values have other bits. */
    open_as(&m, "qwen3", 3, CF_PREFIX_BYTES_MAX, CF_ARITHMETIC_8);
    T_FAILS(cf_prefix_cache_read(m.cache, path, &err), CF_EFORMAT);
    assert_int_equal(sync_fresh(&m, 130), 0);
    close_model(&m);
    /* Another model's. */
    open_model(&m, "qwen3", 4, CF_PREFIX_BYTES_MAX);
    T_FAILS(cf_prefix_cache_read(m.cache, path, &err), CF_EFORMAT);
    assert_int_equal(sync_fresh(&m, 130), 0);
    close_model(&m);
}

/* Cut anywhere and changed anywhere: refused.  Forged, with a right checksum:
 * refused, or mostly found out when it is used, and never a crash. */
static void test_prefix__hostile(void **state)
{
    model m;
    cf_error err;
    cf_rand r = {9};
    size_t n_kept = 0, n_read = 0;
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", store_dir_file("prefixes"));
    open_model(&m, "llama", 3, CF_PREFIX_BYTES_MAX);
    sync_fresh(&m, 70);
    T_OK(cf_prefix_cache_write(m.cache, path, &err), err);
    cf_buf whole = file_bytes(path);
    for (size_t n = 0; n < whole.n; n += n < 600 ? 7 : 997) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_add(&b, whole.p, n);
        assert_int_equal(read_bytes(&m, &b, n > CF_HASH_TEXT, &err), CF_EFORMAT);
        cf_buf_deinit(&b);
    }
    for (size_t i = 0; i < 300; i++) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_add(&b, whole.p, whole.n);
        size_t at = i < 150 ? i : cf_rand_below(&r, b.n - CF_HASH_TEXT);
        b.p[at] = (char)(b.p[at] ^ (1 << cf_rand_below(&r, 8)));
        assert_int_equal(read_bytes(&m, &b, false, &err), CF_EFORMAT);
        if (read_bytes(&m, &b, true, &err) == CF_OK) {
            n_kept += sync_one(&m, 70, false);
            n_read++;
        }
        cf_buf_deinit(&b);
    }
    /* Keys and values of the last layer are used for logits alone. */
    assert_true(n_read > 100 && n_kept < 64 * n_read);
    cf_buf_deinit(&whole);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix__shares),  cmocka_unit_test(test_prefix__states),
        cmocka_unit_test(test_prefix__bounded), cmocka_unit_test(test_prefix__survives),
        cmocka_unit_test(test_prefix__hostile),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
