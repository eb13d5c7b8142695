/*
 * test_same_bits.c - the logits after a list of tokens do not depend on how
 * the list got into the cache: not by one bit.
 *
 * Every architecture and weight type in tiny random models, with every kernel
 * set of this machine and every arithmetic.
 */
#include "core/api/batch.h"
#include "core/kernel/kernel.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_TOKENS = 45, N_VOCAB = 320 }; /* more than a cache block, a window */

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_token ids[N_TOKENS];
    float *want; /* [N_TOKENS, N_VOCAB]: all logits, computed in one piece */
} model;

static cf_session *new_session(cf_engine *e, uint32_t n_batch, cf_cache_type cache)
{
    cf_error err;
    cf_session *s = NULL;
    cf_session_options o = {.n_ctx = 64, .n_batch = n_batch, .cache = cache};
    T_OK(cf_session_new(&s, e, &o, &err), err);
    return s;
}

static void keep_logits(void *ud, uint32_t pos, const float *logits)
{
    float *all = ud;
    memcpy(all + (size_t)pos * N_VOCAB, logits, N_VOCAB * sizeof *logits);
}

static void sync(cf_session *s, const cf_token *ids, size_t n, float *logits)
{
    cf_error err;
    cf_run run = {.logits = logits != NULL ? keep_logits : NULL, .ud = logits};
    T_OK(cf_session_sync(s, ids, n, &run, NULL, &err), err);
}

/* The session's logits are those after token n - 1. */
static void assert_logits(const model *m, const cf_session *s, size_t n)
{
    const float *have = cf_session_logits(s);
    assert_non_null(have);
    assert_memory_equal(have, m->want + (n - 1) * N_VOCAB, N_VOCAB * sizeof *have);
}

/* A kernel set and an arithmetic. */
typedef struct way {
    const char *set; /* NULL: the best */
    cf_arithmetic arithmetic;
} way;

static void open_model(model *m, const cf_tiny_options *o, way w, unsigned n_threads,
                       cf_cache_type cache)
{
    cf_error err;
    size_t n = 0;
    cf_rand r = {o->seed + 1};
    cf_engine_options eo = {
        .n_threads = n_threads, .kernel_set = w.set, .arithmetic = w.arithmetic};
    m->bytes = cf_tiny_gguf(o, &n);
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &eo, &err), err);
    for (size_t i = 0; i < N_TOKENS; i++) {
        m->ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
    m->want = calloc(N_TOKENS * N_VOCAB, sizeof *m->want);
    cf_session *s = new_session(m->engine, 0, cache);
    sync(s, m->ids, N_TOKENS, m->want);
    assert_logits(m, s, N_TOKENS);
    for (size_t i = 0; i < N_TOKENS * N_VOCAB; i++) {
        assert_true(m->want[i] - m->want[i] == 0.0f); /* finite */
    }
    cf_session_free(s);
}

static void close_model(model *m)
{
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
    free(m->want);
}

/* ---- the laws ----------------------------------------------------------- */

/* Many small pieces, which take most of the time, only where `is_whole`. */
static void check_chunks(const model *m, cf_cache_type cache, bool is_whole)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 16, 44};
    float *have = calloc(N_TOKENS * N_VOCAB, sizeof *have);
    for (size_t i = is_whole ? 0 : 2; i < sizeof sizes / sizeof *sizes; i++) {
        cf_session *s = new_session(m->engine, sizes[i], cache);
        sync(s, m->ids, N_TOKENS, have);
        assert_memory_equal(have, m->want, N_TOKENS * N_VOCAB * sizeof *have);
        /* The last pieces again; now only the last row is computed. */
        size_t again = 2 * (size_t)sizes[i] + 1;
        cf_session_rewind(s, again < N_TOKENS ? N_TOKENS - again : 0);
        sync(s, m->ids, N_TOKENS, NULL);
        assert_logits(m, s, N_TOKENS);
        cf_session_free(s);
    }
    free(have);
}

static void check_steps(const model *m, cf_cache_type cache)
{
    cf_error err;
    cf_session *s = new_session(m->engine, 0, cache);
    for (size_t i = 0; i < N_TOKENS; i++) {
        T_OK(cf_session_step(s, m->ids[i], NULL, &err), err);
        assert_logits(m, s, i + 1);
    }
    cf_session_free(s);
}

static void check_rewind(const model *m, cf_cache_type cache)
{
    cf_session *s = new_session(m->engine, 8, cache);
    cf_token other[N_TOKENS];
    cf_sync_result got;
    cf_error err;
    static const size_t kept[] = {0, 1, 31, 32, 33, 44};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        /* Another text after the first `kept`, then back to ours. */
        memcpy(other, m->ids, sizeof other);
        for (size_t j = kept[i]; j < N_TOKENS; j++) {
            other[j] = (m->ids[j] + 1) % N_VOCAB;
        }
        sync(s, other, N_TOKENS, NULL);
        size_t keep = cf_session_would_keep(s, kept[i]);
        if (!cf_session_is_recurrent(s)) {
            assert_int_equal(keep, kept[i]);
        }
        T_OK(cf_session_sync(s, m->ids, N_TOKENS, NULL, &got, &err), err);
        assert_int_equal(got.n_common, kept[i]);
        assert_int_equal(got.n_kept, keep);
        assert_int_equal(got.n_dropped, N_TOKENS - kept[i]);
        assert_int_equal(got.n_new, N_TOKENS - keep);
        assert_logits(m, s, N_TOKENS);
        cf_session_rewind(s, kept[i]);
        assert_null(cf_session_logits(s));
        if (kept[i] > 0) {
            sync(s, m->ids, kept[i], NULL); /* the last one again */
            assert_logits(m, s, kept[i]);
        }
    }
    cf_session_free(s);
}

static void check_fork(const model *m, cf_cache_type cache)
{
    cf_error err;
    cf_session *a = new_session(m->engine, 0, cache);
    cf_session *b = NULL;
    size_t n = 0;
    sync(a, m->ids, 40, NULL);
    T_OK(cf_session_fork(&b, a, &err), err);
    assert_logits(m, b, 40);
    /* The fork goes elsewhere; the original must not notice. */
    for (size_t i = 0; i < 5; i++) {
        T_OK(cf_session_step(b, 3, NULL, &err), err);
    }
    for (size_t i = 40; i < N_TOKENS; i++) {
        T_OK(cf_session_step(a, m->ids[i], NULL, &err), err);
        assert_logits(m, a, i + 1);
    }
    sync(b, m->ids, N_TOKENS, NULL);
    assert_logits(m, b, N_TOKENS);
    cf_session_free(a); /* the fork outlives it */
    cf_session_rewind(b, 20);
    sync(b, m->ids, N_TOKENS, NULL);
    assert_logits(m, b, N_TOKENS);
    cf_session_tokens(b, &n);
    assert_int_equal(n, N_TOKENS);
    cf_session_free(b);
}

/* Three timelines of different lengths step together. */
static void check_company(const model *m, cf_cache_type cache)
{
    cf_error err;
    cf_session *s[3];
    static const size_t start[] = {0, 13, 31};
    for (size_t i = 0; i < 3; i++) {
        s[i] = new_session(m->engine, 0, cache);
        sync(s[i], m->ids, start[i], NULL);
    }
    for (size_t step = 0; step < 10; step++) {
        cf_token ids[3];
        for (size_t i = 0; i < 3; i++) {
            ids[i] = m->ids[start[i] + step];
        }
        T_OK(cf_session_step_many(s, ids, 3, NULL, &err), err);
        for (size_t i = 0; i < 3; i++) {
            assert_logits(m, s[i], start[i] + step + 1);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        cf_session_free(s[i]);
    }
}

/* What depends on the kernels; `is_whole`: and what the session and the division
 * among threads do without them. */
static void check_laws(const cf_tiny_options *o, way w, cf_cache_type cache, bool is_whole)
{
    model m;
    open_model(&m, o, w, 1, cache);
    check_chunks(&m, cache, is_whole);
    check_steps(&m, cache);
    check_company(&m, cache);
    if (is_whole) {
        model threads;
        check_rewind(&m, cache);
        check_fork(&m, cache);
        open_model(&threads, o, w, 3, cache);
        assert_memory_equal(threads.want, m.want, N_TOKENS * N_VOCAB * sizeof *m.want);
        check_company(&threads, cache);
        close_model(&threads);
    }
    close_model(&m);
}

static void check_all(const cf_tiny_options *o, way w, cf_cache_type cache)
{
    check_laws(o, w, cache, true);
}

/* ---- over models -------------------------------------------------------- */

static const char *const sets[] = {"ref",         "avx2", "avx2-vnni", "avx512",   "avx512-vnni",
                                   "avx512-vbmi", "neon", "neon-dot",  "neon-i8mm"};

/* Every set with 16 bits, and one way of all, another for the next model, with all laws. */
static void check_some(const cf_tiny_options *o, bool is_every)
{
    static size_t n_models;
    size_t n = 0, turn = n_models++;
    way can[2 * sizeof sets / sizeof *sets];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const cf_kernels *k = cf_kernels_pick(sets[i]);
        if (k != NULL) {
            can[n++] = (way){sets[i], CF_ARITHMETIC_16};
        }
        if (k != NULL && k->eight != NULL) {
            can[n++] = (way){sets[i], CF_ARITHMETIC_8};
        }
    }
    for (size_t i = 0; i < n; i++) {
        if ((is_every && can[i].arithmetic == CF_ARITHMETIC_16) || i == turn % n) {
            check_laws(o, can[i], CF_CACHE_F16, i == turn % n);
        }
    }
    if (is_every || turn % 4 == 0) {
        check_all(o, (way){.set = NULL}, CF_CACHE_F32);
    }
    if (is_every || turn % 2 == 0) {
        check_all(o, (way){.set = NULL}, turn / 2 % 2 == 0 ? CF_CACHE_Q8_0 : CF_CACHE_Q4_0);
    }
}

/* Every set, in a slow build one of them. */
static void check_sets(const cf_tiny_options *o)
{
    check_some(o, !T_IS_SLOW);
}

/* A family of plain attention and one block runs on every set; what the others
 * add is the same code on each. */
static bool is_plain(const char *arch)
{
    size_t i = 0;
    while (cf_tiny_plain_archs[i] != NULL && strcmp(cf_tiny_plain_archs[i], arch) != 0) {
        i++;
    }
    return cf_tiny_plain_archs[i] != NULL;
}

static void test_same_bits__architectures(void **state)
{
    (void)state;
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        const cf_tiny_options o = {.arch = cf_tiny_archs[i], .seed = 100 + i, .type = CF_Q8_0};
        check_some(&o, !T_IS_SLOW && is_plain(cf_tiny_archs[i]));
    }
}

static void test_same_bits__types(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < CF_DTYPE_COUNT; type++) {
        if (cf_dtype_get(type).name != NULL) {
            check_sets(&(cf_tiny_options){
                .type = (cf_dtype)type, .seed = type, .n_layer = 1, .has_output = true});
        }
    }
}

static void test_same_bits__rope_scalings(void **state)
{
    static const char *const kinds[] = {"linear", "yarn", "longrope"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        cf_tiny_options o = {.arch = i == 2 ? "phi3" : "qwen3",
                             .rope_scaling = kinds[i],
                             .n_rot = 12,
                             .has_bias = true};
        check_all(&o, (way){.set = NULL}, CF_CACHE_F16);
    }
    check_all(&(cf_tiny_options){.has_rope_freqs = true}, (way){.set = NULL}, CF_CACHE_F16);
}

/* Odd shapes: one shared key/value head, a head for each query, widths that
 * are no multiple of any vector. */
static void test_same_bits__odd_shapes(void **state)
{
    (void)state;
    check_sets(&(cf_tiny_options){.n_head_kv = 1, .n_head = 5, .n_embd = 40});
    check_sets(
        &(cf_tiny_options){.n_head_kv = 3, .n_head = 3, .head_size = 10, .n_ff = 37, .n_embd = 33});
    check_sets(&(cf_tiny_options){.arch = "phi3", .head_size_v = 24});
    check_sets(
        &(cf_tiny_options){.arch = "gemma2", .n_layer = 3, .by_layer = true, .head_size_v = 8});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits__architectures),
        cmocka_unit_test(test_same_bits__types),
        cmocka_unit_test(test_same_bits__rope_scalings),
        cmocka_unit_test(test_same_bits__odd_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
