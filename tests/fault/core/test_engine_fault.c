/*
 * test_engine_fault.c - every allocation of opening a model and of using a
 * session fails once: nothing leaks, nothing is half done.
 */
#include "tests/support/t.h"
#include "core/api/draft.h"
#include "core/api/embed.h"
#include "core/api/prefix.h"
#include "tests/support/fault.h"
#include "tests/support/slow.h"
#include "tests/support/tiny_gguf.h"
#include "tests/support/vocab_file.h"

typedef struct input {
    const void *bytes;
    size_t n;
    const char *path; /* or a file */
    bool vocab_only;
} input;

static cf_status open_engine(cf_engine **e, const input *in)
{
    cf_engine_options o = {.n_threads = 2, .vocab_only = in->vocab_only};
    cf_error err = {.code = CF_OK};
    cf_status st = in->path != NULL ? cf_engine_open(e, in->path, &o, &err)
                                    : cf_engine_open_memory(e, in->bytes, in->n, &o, &err);
    assert_true(st == CF_OK || err.text[0] != '\0');
    return st;
}

static cf_status body_open(void *ud)
{
    cf_engine *e = NULL;
    CF_TRY(open_engine(&e, ud));
    cf_engine_close(e);
    return CF_OK;
}

static const cf_token ids[40] = {1, 2, 3, 4, 5, 6, 7, 8};

/* The end of the timeline repeats itself, so that tokens are guessed. */
static cf_status draft(cf_session *s, cf_error *err)
{
    cf_draft *d;
    cf_engine *e = (cf_engine *)(uintptr_t)cf_session_engine(s); /* its own draft model */
    CF_TRY(cf_draft_new(&d, CF_DRAFT_DEFAULT, err));
    cf_status st = cf_draft_use_model(d, e, e, err);
    CF_THEN(st, cf_draft_begin(d, s, NULL, err));
    for (size_t i = 0; st == CF_OK && i < 8; i++) {
        st = cf_draft_step(d, &ids[20 + i], 1, NULL, err);
    }
    cf_draft_free(d);
    return st;
}

/* A second session that begins like the first. */
static cf_status share(cf_engine *e, const cf_session_options *o, cf_error *err)
{
    cf_session *s = NULL;
    CF_TRY(cf_session_new(&s, e, o, err));
    cf_status st = cf_session_sync(s, ids, 40, NULL, NULL, err);
    cf_session_free(s);
    return st;
}

static cf_status use_cache(cf_engine *e, cf_prefix_cache *cache);

static cf_status use(cf_engine *e)
{
    cf_prefix_cache *cache;
    cf_error err;
    CF_TRY(cf_prefix_cache_new(&cache, e, 1 << 20, &err));
    cf_status st = use_cache(e, cache);
    cf_prefix_cache_free(cache);
    return st;
}

/* Whatever fails, the timeline stays usable: it is synced again at the end of
 * each run with allocations allowed. */
static cf_status use_cache(cf_engine *e, cf_prefix_cache *cache)
{
    cf_session *a = NULL;
    cf_session *b = NULL;
    cf_error err;
    cf_session_options o = {.n_ctx = 64, .n_batch = 16, .prefixes = cache};
    cf_status st = cf_session_new(&a, e, &o, &err);
    CF_THEN(st, cf_session_sync(a, ids, 36, NULL, NULL, &err));
    CF_THEN(st, cf_session_fork(&b, a, &err));
    if (st == CF_OK) {
        cf_session *both[2] = {a, b};
        st = cf_session_step_many(both, ids, 2, NULL, &err);
        size_t n = 0;
        cf_session_tokens(a, &n);
        assert_int_equal(n, st == CF_OK ? 37 : 36);
        CF_THEN(st, draft(a, &err));
        CF_THEN(st, share(e, &o, &err));
    }
    if (a != NULL && cf_fault_disarm()) { /* the failure has happened */
        T_OK(cf_session_sync(a, ids, 40, NULL, NULL, &err), err);
        assert_non_null(cf_session_logits(a));
        cf_fault_arm(1 << 30, false);
        cf_session_free(b);
        cf_session_free(a);
        return CF_ENOMEM;
    }
    cf_session_free(b);
    cf_session_free(a);
    return st;
}

static cf_status body_use(void *ud)
{
    cf_engine *e = NULL;
    CF_TRY(open_engine(&e, ud));
    cf_status st = use(e);
    cf_engine_close(e);
    return st;
}

static void test_fault__open(void **state)
{
    (void)state;
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        input in = {0};
        in.bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = cf_tiny_archs[i]}, &in.n);
        cf_fault_every_alloc(body_open, &in, false);
        cf_fault_every_alloc(body_open, &in, true);
        union {
            const void *in;
            void *out;
        } p = {in.bytes};
        cf_tiny_free(p.out);
    }
}

/* Each allocation of opening and using fails in turn; use() reports a failure
 * that fired from the end of the run by itself. */
static void sweep_use(const char *arch)
{
    input in = {0};
    void *p = cf_tiny_gguf(&(cf_tiny_options){.arch = arch}, &in.n);
    in.bytes = p;
    size_t before = cf_fault_live();
    for (size_t nth = 1;; nth += T_SWEEP_STEP(nth)) {
        cf_fault_arm(nth, false);
        cf_status st = body_use(&in);
        bool fired = cf_fault_disarm();
        assert_int_equal(cf_fault_live(), before);
        if (st == CF_OK && !fired) {
            break;
        }
        assert_true(st == CF_ENOMEM || st == CF_OK);
        assert_true(nth < 10000);
    }
    cf_tiny_free(p);
}

static void test_fault__use(void **state)
{
    (void)state;
    sweep_use("gemma3");
    sweep_use("qwen35moe"); /* experts, and states with keys and values */
}

/* ---- vectors and scores -------------------------------------------------- */

/* A vector of a short text, of a longer one, and of the first again. */
static cf_status embed(cf_embedder *m, float *pooled, cf_error *err)
{
    float score;
    CF_TRY(cf_embedder_run(m, ids, 8, NULL, pooled, &score, err));
    CF_TRY(cf_embedder_run(m, ids, 40, NULL, pooled, &score, err));
    return cf_embedder_run(m, ids, 8, NULL, pooled, &score, err);
}

static cf_status body_embed(void *ud)
{
    cf_engine *e = NULL;
    cf_embedder *m = NULL;
    cf_error err = {.code = CF_OK};
    float pooled[64];
    CF_TRY(open_engine(&e, ud));
    cf_status st = cf_embedder_new(&m, e, 0, &err);
    CF_THEN(st, embed(m, pooled, &err));
    assert_true(st == CF_OK || err.text[0] != '\0');
    cf_embedder_free(m);
    cf_engine_close(e);
    return st;
}

static void test_fault__embed(void **state)
{
    (void)state;
    for (size_t i = 0; i <= 5; i++) {
        const char *arch = cf_tiny_encoder_archs[i] != NULL ? cf_tiny_encoder_archs[i] : "qwen3";
        const cf_tiny_options o = {
            .arch = arch, .n_layer = 1, .pooling = CF_POOLING_RANK, .has_bias = true};
        input in = {0};
        void *bytes = cf_tiny_gguf(&o, &in.n);
        in.bytes = bytes;
        cf_fault_every_alloc(body_embed, &in, i % 2 != 0);
        cf_tiny_free(bytes);
    }
}

/* An embedder that lacked memory once gives the same vector after it. */
static void test_fault__embed_again(void **state)
{
    (void)state;
    const cf_tiny_options o = {.arch = "bert", .n_layer = 1};
    input in = {0};
    void *bytes = cf_tiny_gguf(&o, &in.n);
    float want[64], got[64];
    cf_engine *e = NULL;
    cf_embedder *m = NULL;
    cf_error err;
    in.bytes = bytes;
    bool has_failed = true;
    for (size_t nth = 1; has_failed; nth++) {
        T_OK(open_engine(&e, &in), err);
        T_OK(cf_embedder_new(&m, e, 0, &err), err);
        cf_fault_arm(nth, false);
        cf_status st = embed(m, got, &err);
        has_failed = cf_fault_disarm();
        assert_true(st == CF_OK || (has_failed && st == CF_ENOMEM));
        T_OK(embed(m, got, &err), err);
        if (nth == 1) {
            memcpy(want, got, sizeof want);
        }
        assert_memory_equal(got, want, sizeof want);
        cf_embedder_free(m);
        cf_engine_close(e);
        assert_true(nth < 1000);
    }
    cf_tiny_free(bytes);
}

/* A pair by the template of a file, and by the tokens around any text. */
static cf_status body_pair(void *ud)
{
    cf_arena arena;
    cf_engine *e = NULL;
    cf_token *pair;
    size_t n;
    cf_error err = {.code = CF_OK};
    CF_TRY(open_engine(&e, ud));
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_rank_ids(&pair, &n, e, cf_str_from("hello"), cf_str_from("world </s>"), &arena, &err);
    assert_true(st == CF_OK || err.text[0] != '\0');
    cf_arena_deinit(&arena);
    cf_engine_close(e);
    return st;
}

static void test_fault__pair(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        cf_vocab_file file = {0};
        cf_vocab_file_small_spm(&file, false);
        if (i == 0) {
            cf_vocab_file_str(&file, "tokenizer.chat_template.rerank",
                              "<|user|>{query}</s>{document}</s>");
        }
        assert_true(cf_vocab_file_finish(&file, true));
        input in = {.bytes = file.bytes, .n = file.n, .vocab_only = true};
        cf_fault_every_alloc(body_pair, &in, i != 0);
        cf_vocab_file_deinit(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault__open),  cmocka_unit_test(test_fault__use),
        cmocka_unit_test(test_fault__embed), cmocka_unit_test(test_fault__embed_again),
        cmocka_unit_test(test_fault__pair),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
