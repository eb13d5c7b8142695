/*
 * test_session.c - a timeline: limits, errors, cancelling, reports, and that a
 * step allocates nothing.
 */
#include <math.h>

#include "core/api/batch.h"
#include "core/infer/plan.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320 };

static void *bytes;
static size_t n_bytes;
static cf_engine *engine;

static int open_engine(void **state)
{
    cf_error err;
    (void)state;
    cf_fault_install();
    bytes = cf_tiny_gguf(&(cf_tiny_options){.n_layer = 3}, &n_bytes);
    cf_engine_options o = {.n_threads = 2};
    return cf_engine_open_memory(&engine, bytes, n_bytes, &o, &err) == CF_OK ? 0 : -1;
}

static int close_engine(void **state)
{
    (void)state;
    cf_engine_close(engine);
    cf_tiny_free(bytes);
    return 0;
}

static cf_session *new_session(uint32_t n_ctx, uint32_t n_batch)
{
    cf_error err;
    cf_session *s = NULL;
    cf_session_options o = {.n_ctx = n_ctx, .n_batch = n_batch};
    T_OK(cf_session_new(&s, engine, &o, &err), err);
    return s;
}

static size_t length(const cf_session *s)
{
    size_t n = 0;
    cf_session_tokens(s, &n);
    return n;
}

static const cf_token ids[12] = {1, 5, 9, 200, 3, 319, 0, 7, 8, 9, 10, 11};

static void test_session__sync_counts(void **state)
{
    cf_session *s = new_session(16, 4);
    cf_sync_result r;
    cf_error err;
    (void)state;
    assert_null(cf_session_logits(s));
    T_OK(cf_session_sync(s, ids, 12, NULL, &r, &err), err);
    assert_int_equal(r.n_kept, 0);
    assert_int_equal(r.n_dropped, 0);
    assert_int_equal(r.n_new, 12);
    /* The same again: the last token is computed again, nothing is lost. */
    T_OK(cf_session_sync(s, ids, 12, NULL, &r, &err), err);
    assert_int_equal(r.n_kept, 11);
    assert_int_equal(r.n_dropped, 0);
    assert_int_equal(r.n_new, 1);
    assert_non_null(cf_session_logits(s));
    /* A prefix. */
    T_OK(cf_session_sync(s, ids, 5, NULL, &r, &err), err);
    assert_int_equal(r.n_kept, 4);
    assert_int_equal(r.n_dropped, 7);
    assert_int_equal(r.n_new, 1);
    /* Nothing. */
    T_OK(cf_session_sync(s, ids, 0, NULL, &r, &err), err);
    assert_int_equal(r.n_dropped, 5);
    assert_int_equal(r.n_new, 0);
    assert_null(cf_session_logits(s));
    assert_int_equal(length(s), 0);
    cf_session_free(s);
}

static void test_session__limits(void **state)
{
    cf_session *s = new_session(8, 0);
    cf_token bad[2] = {1, N_VOCAB};
    cf_error err;
    (void)state;
    T_OK(cf_session_sync(s, ids, 3, NULL, NULL, &err), err);
    T_FAILS(cf_session_sync(s, ids, 9, NULL, NULL, &err), CF_ELIMIT);
    T_FAILS(cf_session_sync(s, bad, 2, NULL, NULL, &err), CF_EINVAL);
    T_FAILS(cf_session_step(s, -1, NULL, &err), CF_EINVAL);
    assert_int_equal(length(s), 3);
    assert_non_null(cf_session_logits(s));
    T_OK(cf_session_sync(s, ids, 8, NULL, NULL, &err), err);
    T_FAILS(cf_session_step(s, 1, NULL, &err), CF_ELIMIT);
    cf_session *both[2] = {s, new_session(8, 0)};
    T_FAILS(cf_session_step_many(both, ids, 2, NULL, &err), CF_ELIMIT);
    assert_int_equal(length(both[1]), 0);
    cf_session_free(both[1]);
    cf_session_free(s);
    T_FAILS(cf_session_new(&s, engine, &(cf_session_options){.n_ctx = CF_CTX_MAX + 1}, &err),
            CF_EINVAL);
}

/* ---- reports ------------------------------------------------------------ */

typedef struct report {
    size_t n_logits, n_progress, done, total;
    uint32_t next_pos;
    cf_cancel *cancel;
    size_t cancel_at; /* calls of progress */
} report;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    report *r = ud;
    assert_int_equal(pos, r->next_pos++);
    assert_true(logits[0] - logits[0] == 0.0f);
    r->n_logits++;
}

static void on_progress(void *ud, size_t done, size_t total)
{
    report *r = ud;
    r->done = done;
    r->total = total;
    if (++r->n_progress == r->cancel_at) {
        atomic_store(r->cancel, true);
    }
}

static void test_session__reports(void **state)
{
    cf_session *s = new_session(16, 5);
    report r = {.next_pos = 2};
    cf_run run = {.logits = on_logits, .progress = on_progress, .ud = &r};
    cf_error err;
    (void)state;
    T_OK(cf_session_sync(s, ids, 2, NULL, NULL, &err), err);
    T_OK(cf_session_sync(s, ids, 12, &run, NULL, &err), err);
    assert_int_equal(r.n_logits, 10); /* the kept ones are not reported */
    assert_int_equal(r.n_progress, 2);
    assert_int_equal(r.done, 10);
    assert_int_equal(r.total, 10);
    T_OK(cf_session_step(s, 4, &run, &err), err);
    assert_int_equal(r.n_logits, 11);
    assert_int_equal(r.n_progress, 2); /* of a prefill only */
    cf_session_free(s);
}

static void test_session__cancel(void **state)
{
    cf_session *s = new_session(16, 4);
    cf_session *fresh = new_session(16, 0);
    cf_cancel cancel = false;
    report r = {.cancel = &cancel, .cancel_at = 2};
    cf_run run = {.cancel = &cancel, .progress = on_progress, .ud = &r};
    cf_error err;
    (void)state;
    /* Two batches are done when the third is cancelled. */
    T_FAILS(cf_session_sync(s, ids, 12, &run, NULL, &err), CF_ECANCELLED);
    assert_int_equal(length(s), 8);
    assert_null(cf_session_logits(s));
    T_FAILS(cf_session_step(s, 1, &run, &err), CF_ECANCELLED);
    T_FAILS(cf_session_step_many(&s, ids, 1, &run, &err), CF_ECANCELLED);
    assert_int_equal(length(s), 8);
    /* And it goes on as if nothing had been. */
    atomic_store(&cancel, false);
    r.cancel_at = 0;
    T_OK(cf_session_sync(s, ids, 12, &run, NULL, &err), err);
    T_OK(cf_session_sync(fresh, ids, 12, NULL, NULL, &err), err);
    assert_memory_equal(cf_session_logits(s), cf_session_logits(fresh), N_VOCAB * sizeof(float));
    /* A cancelled step keeps the logits that were there. */
    atomic_store(&cancel, true);
    T_FAILS(cf_session_step(s, 1, &run, &err), CF_ECANCELLED);
    assert_memory_equal(cf_session_logits(s), cf_session_logits(fresh), N_VOCAB * sizeof(float));
    cf_session_free(s);
    cf_session_free(fresh);
}

typedef struct stopping {
    cf_cancel cancel;
    size_t n;
} stopping;

static void on_logits_stop(void *ud, uint32_t pos, const float *logits)
{
    stopping *s = ud;
    (void)pos;
    (void)logits;
    s->n++;
    atomic_store(&s->cancel, true);
}

/* Logits of many rows are as much work as layers: no more of them are computed
 * than one chunk. */
static void test_session__cancel_within_logits(void **state)
{
    enum { N = 100 };
    cf_session *s = new_session(128, N);
    cf_token many[N];
    cf_error err;
    stopping stop = {.n = 0};
    cf_run run = {.cancel = &stop.cancel, .logits = on_logits_stop};
    (void)state;
    run.ud = &stop;
    for (size_t i = 0; i < N; i++) {
        many[i] = (cf_token)(i % N_VOCAB);
    }
    T_FAILS(cf_session_sync(s, many, N, &run, NULL, &err), CF_ECANCELLED);
    assert_in_range(stop.n, 1, CF_LOGIT_ROWS_MAX);
    assert_int_equal(length(s), 0);
    cf_session_free(s);
}

/* Between two cache blocks a step allocates nothing. */
static void test_session__no_allocation(void **state)
{
    cf_session *s = new_session(100, 0);
    cf_session *t = new_session(100, 0);
    cf_session *both[2] = {s, t};
    cf_token two[2] = {3, 4};
    cf_error err;
    (void)state;
    T_OK(cf_session_step(s, 1, NULL, &err), err);
    T_OK(cf_session_step(t, 1, NULL, &err), err);
    size_t before = cf_fault_total();
    for (size_t i = 1; i < 16; i++) {
        T_OK(cf_session_step(s, 2, NULL, &err), err);
    }
    for (size_t i = 16; i < 31; i++) {
        T_OK(cf_session_step_many(both, two, 2, NULL, &err), err);
    }
    T_OK(cf_session_step(s, 2, NULL, &err), err);
    assert_int_equal(cf_fault_total(), before);
    T_OK(cf_session_step(s, 2, NULL, &err), err); /* position 32 */
    assert_int_equal(cf_fault_total(), before + 1);
    cf_session_free(s);
    cf_session_free(t);
}

static void test_session__memory(void **state)
{
    cf_session *s = new_session(100, 0);
    cf_session *f = NULL;
    cf_error err;
    uint64_t all = 0;
    uint64_t shared = 0;
    (void)state;
    cf_session_memory(s, &all, &shared);
    assert_int_equal(all, 0);
    T_OK(cf_session_sync(s, ids, 12, NULL, NULL, &err), err);
    cf_session_memory(s, &all, &shared);
    assert_int_equal(all, 3 * 32 * 2 * 2 * 16 * sizeof(float));
    assert_int_equal(shared, 0);
    T_OK(cf_session_fork(&f, s, &err), err);
    cf_session_memory(f, &all, &shared);
    assert_int_equal(shared, all);
    cf_session_free(s);
    cf_session_memory(f, &all, &shared);
    assert_int_equal(shared, 0);
    cf_session_free(f);
}

/* ---- the engine --------------------------------------------------------- */

static void test_engine__plan(void **state)
{
    cf_plan plan;
    cf_error err;
    uint64_t own = 0;
    (void)state;
    T_OK(cf_engine_plan(engine, 64, CF_CACHE_F16, &plan, &err), err);
    assert_true(plan.n >= 3 && plan.item[0].is_mapped);
    for (size_t i = 1; i < plan.n; i++) {
        uint64_t n = 1;
        for (size_t j = 0; j < 4 && plan.item[i].shape[j] != 0; j++) {
            n *= plan.item[i].shape[j];
        }
        assert_true(n != 0 && plan.item[i].bytes % n == 0);
        own += plan.item[i].bytes;
    }
    /* The parts are the whole, but for padding between them. */
    assert_true(own <= plan.session_bytes + plan.shared_bytes);
    assert_true(own + 4096 > plan.session_bytes + plan.shared_bytes);
    assert_int_equal(plan.item[1].bytes, 2 * 32 * 3 * 2 * 2 * 16 * 2);
    T_FAILS(cf_engine_plan(engine, CF_CTX_MAX + 1, CF_CACHE_F16, &plan, &err), CF_EINVAL);
}

/* A full session has what the plan says, in every type of cache, also where
 * the latent alone is cached. */
static void test_engine__plan_is_measured(void **state)
{
    static const char *const archs[] = {"llama", "deepseek2", "gemma3n"};
    static const uint32_t n_ctx = 64;
    (void)state;
    for (size_t i = 0; i < 3 * (CF_CACHE_COUNT - 1); i++) {
        cf_error err;
        cf_plan plan;
        cf_engine *e = NULL;
        cf_session *s = NULL;
        size_t n = 0;
        uint64_t all, shared;
        cf_cache_type cache = (cf_cache_type)(1 + i / 3);
        cf_token text[64] = {0};
        const cf_tiny_options o = {.arch = archs[i % 3]};
        const cf_engine_options eo = {.n_threads = 1, .cache = cache};
        const cf_session_options so = {.n_ctx = n_ctx};
        void *file = cf_tiny_gguf(&o, &n);
        T_OK(cf_engine_open_memory(&e, file, n, &eo, &err), err);
        T_OK(cf_session_new(&s, e, &so, &err), err);
        assert_int_equal(cf_session_cache(s), cache);
        T_OK(cf_session_sync(s, text, n_ctx, NULL, NULL, &err), err);
        T_OK(cf_engine_plan(e, n_ctx, CF_CACHE_DEFAULT, &plan, &err), err);
        cf_session_memory(s, &all, &shared);
        assert_string_equal(plan.item[1].name, "key/value cache");
        assert_int_equal(plan.item[1].bytes, all);
        cf_session_free(s);
        cf_engine_close(e);
        cf_tiny_free(file);
    }
}

/* A context whose cache no machine holds is refused with figures. */
static void test_engine__refuses_huge_context(void **state)
{
    size_t n = 0;
    cf_error err;
    cf_engine *e = NULL;
    cf_session *s = NULL;
    (void)state;
    void *p = cf_tiny_gguf(&(cf_tiny_options){.n_layer = 8, .head_size = 512}, &n);
    T_OK(cf_engine_open_memory(&e, p, n, NULL, &err), err);
    T_FAILS(cf_session_new(&s, e, &(cf_session_options){.n_ctx = CF_CTX_MAX}, &err), CF_ENOMEM);
    assert_non_null(strstr(err.text, "MiB"));
    cf_engine_close(e);
    cf_tiny_free(p);
}

static void test_engine__info(void **state)
{
    cf_engine_info info = cf_engine_get_info(engine);
    cf_tensor_info t;
    cf_buf value = CF_BUF_INIT;
    cf_str key;
    const char *type = NULL;
    char hash[65];
    char other[65];
    size_t n = 0;
    cf_error err;
    (void)state;
    assert_string_equal(info.arch, "llama");
    assert_string_equal(info.name, "tiny");
    assert_string_equal(info.file_type, "F32");
    assert_int_equal(info.n_layer, 3);
    assert_int_equal(info.n_vocab, N_VOCAB);
    assert_int_equal(info.n_ff, 128);
    assert_true(info.has_weights);
    while (cf_engine_tensor(engine, n, &t)) {
        n++;
    }
    assert_int_equal(n, 2 + 3 * 9);
    assert_true(cf_engine_meta(engine, 1, &key, &type, &value));
    T_TEXT(key.p, key.n, "general.name");
    assert_string_equal(type, "string");
    T_TEXT(value.p, value.n, "tiny");
    for (size_t i = 0; cf_engine_meta(engine, i, &key, &type, &value); i++) {
        if (cf_str_is(key, "tokenizer.ggml.token_type")) {
            cf_buf_reset(&value);
            cf_engine_meta(engine, i, &key, &type, &value);
            T_TEXT(value.p, value.n, "[2, 3, 3, 6, 6, 6, 6, 6, ... 320 in all]");
        }
    }
    cf_buf_deinit(&value);
    assert_null(cf_engine_chat_template(engine, NULL).p);

    /* Another weight is another model. */
    cf_engine_hash(engine, hash);
    assert_int_equal(strlen(hash), 64);
    unsigned char *copy = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    memcpy(copy, bytes, n_bytes);
    copy[n_bytes - 1] ^= 1;
    cf_engine *e = NULL;
    cf_engine_options o = {.vocab_only = true};
    T_OK(cf_engine_open_memory(&e, copy, n_bytes, &o, &err), err);
    cf_engine_hash(e, other);
    assert_string_not_equal(hash, other);
    cf_session *s = NULL;
    T_FAILS(cf_session_new(&s, e, NULL, &err), CF_EINVAL);
    cf_engine_close(e);
    free(copy);
}

static void test_engine__unsupported(void **state)
{
    size_t n = 0;
    cf_error err;
    cf_engine *e = NULL;
    (void)state;
    void *p = cf_tiny_gguf(&(cf_tiny_options){.arch = "rwkv6", .vocab_only = true}, &n);
    T_FAILS(cf_engine_open_memory(&e, p, n, NULL, &err), CF_EUNSUPPORTED);
    assert_string_equal(err.text, "architecture rwkv6 is not supported");
    /* Its vocabulary serves all the same. */
    cf_engine_options o = {.vocab_only = true};
    T_OK(cf_engine_open_memory(&e, p, n, &o, &err), err);
    assert_string_equal(cf_engine_get_info(e).arch, "rwkv6");
    assert_int_equal(cf_engine_get_info(e).n_layer, 2);
    cf_engine_close(e);
    cf_engine_options set = {.kernel_set = "abacus"};
    T_FAILS(cf_engine_open_memory(&e, bytes, n_bytes, &set, &err), CF_EINVAL);
    cf_engine_options many = {.n_threads = 100000};
    T_FAILS(cf_engine_open_memory(&e, bytes, n_bytes, &many, &err), CF_EINVAL);
    cf_tiny_free(p);
    p = cf_tiny_gguf(&(cf_tiny_options){.vocab_only = true}, &n);
    T_FAILS(cf_engine_open_memory(&e, p, n, NULL, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "only a vocabulary"));
    cf_tiny_free(p);
}

/* ---- scoring ------------------------------------------------------------ */

/* The softmax of the logits after each prefix, worked out one by one. */
static double slow_log_p(size_t n_before, cf_token next)
{
    cf_session *s = new_session(16, 0);
    cf_error err;
    double sum = 0;
    T_OK(cf_session_sync(s, ids, n_before, NULL, NULL, &err), err);
    const float *logits = cf_session_logits(s);
    for (size_t i = 0; i < N_VOCAB; i++) {
        sum += exp((double)logits[i]);
    }
    double p = (double)logits[next] - log(sum);
    cf_session_free(s);
    return p;
}

static void test_session__score_is_the_softmax(void **state)
{
    (void)state;
    cf_session *s = new_session(16, 4);
    cf_error err;
    float log_p[12];
    T_OK(cf_session_sync(s, ids, 12, NULL, NULL, &err), err);
    /* On an empty timeline, on one that has it all, and from elsewhere. */
    for (size_t first = 1; first < 12; first += 5) {
        T_OK(cf_session_score(s, ids, 12, first, NULL, log_p, &err), err);
        assert_int_equal(length(s), 12);
        for (size_t i = first; i < 12; i++) {
            assert_true(fabs((double)log_p[i - first] - slow_log_p(i, ids[i])) < 1e-4);
        }
    }
    cf_session_free(s);
}

static void test_session__score_refuses(void **state)
{
    (void)state;
    cf_session *s = new_session(8, 0);
    cf_error err;
    float log_p[12];
    cf_cancel cancel;
    atomic_init(&cancel, true);
    T_FAILS(cf_session_score(s, ids, 4, 0, NULL, log_p, &err), CF_EINVAL);
    T_OK(cf_session_score(s, ids, 4, 4, NULL, log_p, &err), err);
    assert_int_equal(length(s), 0);
    T_FAILS(cf_session_score(s, ids, 12, 3, NULL, log_p, &err), CF_ELIMIT);
    T_FAILS(cf_session_score(s, ids, 4, 1, &cancel, log_p, &err), CF_ECANCELLED);
    T_OK(cf_session_score(s, ids, 4, 1, NULL, log_p, &err), err);
    cf_session_free(s);
}

/* Of the experts a token reads those that it uses, and of what the heads have as
 * many of, all. */
static void test_info__step_bytes_of_a_mixture(void **state)
{
    (void)state;
    cf_error err;
    cf_engine *e = NULL;
    size_t n = 0;
    uint64_t want = 0;
    cf_tensor_info t;
    void *p = cf_tiny_gguf(&(cf_tiny_options){.arch = "deepseek2", .n_head = 6}, &n);
    T_OK(cf_engine_open_memory(&e, p, n, NULL, &err), err);
    cf_engine_info info = cf_engine_get_info(e);
    for (size_t i = 0; cf_engine_tensor(e, i, &t); i++) {
        bool is_expert = cf_str_find(t.name, cf_str_from("_exps."), NULL);
        want += is_expert ? t.bytes / info.n_expert * info.n_expert_used : t.bytes;
    }
    assert_int_equal(info.n_expert, info.n_head);
    assert_int_equal(info.step_bytes, want);
    cf_engine_close(e);
    cf_tiny_free(p);
    /* A tensor for each expert is as much, but for what rounding takes. */
    p = cf_tiny_gguf(
        &(cf_tiny_options){.arch = "deepseek2", .n_head = 6, .has_split_experts = true}, &n);
    T_OK(cf_engine_open_memory(&e, p, n, NULL, &err), err);
    info = cf_engine_get_info(e);
    assert_true(info.step_bytes <= want && want - info.step_bytes < info.n_layer * 3 * 6);
    cf_engine_close(e);
    cf_tiny_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info__step_bytes_of_a_mixture),
        cmocka_unit_test(test_session__sync_counts),
        cmocka_unit_test(test_session__limits),
        cmocka_unit_test(test_session__reports),
        cmocka_unit_test(test_session__cancel),
        cmocka_unit_test(test_session__cancel_within_logits),
        cmocka_unit_test(test_session__no_allocation),
        cmocka_unit_test(test_session__memory),
        cmocka_unit_test(test_engine__plan),
        cmocka_unit_test(test_engine__plan_is_measured),
        cmocka_unit_test(test_engine__refuses_huge_context),
        cmocka_unit_test(test_engine__info),
        cmocka_unit_test(test_engine__unsupported),
        cmocka_unit_test(test_session__score_is_the_softmax),
        cmocka_unit_test(test_session__score_refuses),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
