/*
 * test_session_state.c - timelines with a costly past: states with checkpoints,
 * and positions that are more than a token.
 */
#include <math.h>

#include "core/api/batch.h"
#include "core/infer/engine_impl.h"
#include "core/infer/recurrent_state.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320, N_CTX = 2048, N = 1000, N_EMBD = 64 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_token ids[N_CTX];
} model;

static void open_model(model *m, const char *arch)
{
    cf_error err;
    size_t n = 0;
    cf_rand r = {7};
    cf_engine_options o = {.n_threads = 2};
    m->bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = arch, .n_ctx = N_CTX}, &n);
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &o, &err), err);
    for (size_t i = 0; i < N_CTX; i++) {
        m->ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
}

static void close_model(model *m)
{
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

static cf_session *new_session(const model *m, uint32_t n_batch)
{
    cf_error err;
    cf_session *s = NULL;
    cf_session_options o = {.n_ctx = N_CTX, .n_batch = n_batch};
    T_OK(cf_session_new(&s, m->engine, &o, &err), err);
    return s;
}

static cf_sync_result sync(cf_session *s, const cf_token *ids, size_t n)
{
    cf_sync_result got;
    cf_error err;
    T_OK(cf_session_sync(s, ids, n, NULL, &got, &err), err);
    return got;
}

/* s has the logits of a session that computed ids[0..n) and nothing else. */
static void assert_fresh(const model *m, const cf_session *s, const cf_token *ids, size_t n)
{
    cf_session *fresh = new_session(m, 0);
    sync(fresh, ids, n);
    assert_memory_equal(cf_session_logits(s), cf_session_logits(fresh), N_VOCAB * sizeof(float));
    cf_session_free(fresh);
}

static const char *const recurrent[] = {"qwen35", "lfm2", "granitehybrid"};

/* ---- checkpoints -------------------------------------------------------- */

static void check_edit(const char *arch)
{
    model m;
    uint32_t pos[8];
    open_model(&m, arch);
    cf_session *s = new_session(&m, 300);
    assert_true(cf_session_is_recurrent(s));
    sync(s, m.ids, N);
    assert_int_equal(cf_session_checkpoints(s, pos, 8), 4);
    assert_int_equal(pos[1], CF_STATE_STEP);
    assert_int_equal(pos[2], 2 * CF_STATE_STEP);
    assert_int_equal(pos[3], N - 1);
    /* An edit at 980: kept at 960. */
    assert_int_equal(cf_session_would_keep(s, 980), 960);
    m.ids[980] = (m.ids[980] + 1) % N_VOCAB;
    cf_sync_result got = sync(s, m.ids, N);
    assert_int_equal(got.n_common, 980);
    assert_int_equal(got.n_kept, 960);
    assert_int_equal(got.n_new, 40);
    assert_int_equal(got.n_dropped, 20);
    assert_fresh(&m, s, m.ids, N);
    /* The same again costs one token. */
    assert_int_equal(sync(s, m.ids, N).n_new, 1);
    /* Rewound and gone on: the tokens before are there, and come first. */
    cf_error err;
    size_t n = 0;
    cf_session_rewind(s, 700);
    cf_session_tokens(s, &n);
    assert_int_equal(n, 700);
    assert_null(cf_session_logits(s));
    T_OK(cf_session_step(s, m.ids[700], NULL, &err), err);
    assert_fresh(&m, s, m.ids, 701);
    cf_session_free(s);
    close_model(&m);
}

static void test_state__edit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof recurrent / sizeof *recurrent; i++) {
        check_edit(recurrent[i]);
    }
}

/* Where the caller wants one. */
static void test_state__keep_at(void **state)
{
    model m;
    cf_error err;
    (void)state;
    open_model(&m, "lfm2");
    cf_session *s = new_session(&m, 64);
    cf_run run = {.keep_at = 333};
    T_OK(cf_session_sync(s, m.ids, 400, &run, NULL, &err), err);
    assert_int_equal(cf_session_would_keep(s, 340), 333);
    m.ids[340] = (m.ids[340] + 1) % N_VOCAB;
    assert_int_equal(sync(s, m.ids, 400).n_kept, 333);
    assert_fresh(&m, s, m.ids, 400);
    cf_session_free(s);
    close_model(&m);
}

/* A fork refers to the same states, and each goes its own way. */
static void test_state__fork(void **state)
{
    model m;
    cf_session *f = NULL;
    cf_error err;
    uint64_t all = 0;
    uint64_t shared = 0;
    (void)state;
    open_model(&m, "qwen35");
    cf_session *s = new_session(&m, 0);
    sync(s, m.ids, N);
    size_t before = cf_fault_live();
    T_OK(cf_session_fork(&f, s, &err), err);
    assert_true(cf_fault_live() - before < 8); /* lists, no states */
    cf_session_memory(f, &all, &shared);
    assert_true(all > 0);
    assert_int_equal(all, shared);
    T_OK(cf_session_step(f, 5, NULL, &err), err);
    T_OK(cf_session_step(s, m.ids[N], NULL, &err), err);
    assert_fresh(&m, s, m.ids, N + 1);
    cf_session_free(s);
    cf_session_memory(f, &all, &shared);
    assert_int_equal(shared, 0);
    assert_int_equal(sync(f, m.ids, 600).n_kept, CF_STATE_STEP);
    assert_fresh(&m, f, m.ids, 600);
    cf_session_free(f);
    close_model(&m);
}

/* Checkpoints at ends of prompts replace each other, those at fixed places
 * stay, and all of them are in the plan. */
static void test_state__bound(void **state)
{
    model m;
    uint32_t pos[64];
    cf_plan plan;
    cf_error err;
    uint64_t all = 0;
    uint64_t shared = 0;
    (void)state;
    open_model(&m, "lfm2");
    cf_session *s = new_session(&m, 0);
    for (size_t n = 20; n <= N_CTX; n += 20) {
        sync(s, m.ids, n);
    }
    size_t n = cf_session_checkpoints(s, pos, 64);
    assert_int_equal(n, 1 + N_CTX / CF_STATE_STEP + CF_STATE_TURNS);
    for (size_t i = 1; i < n; i++) {
        assert_true(pos[i] > pos[i - 1]);
        assert_true(pos[i] - pos[i - 1] <= CF_STATE_STEP);
    }
    T_OK(cf_engine_plan(m.engine, N_CTX, CF_CACHE_DEFAULT, &plan, &err), err);
    cf_session_memory(s, &all, &shared);
    uint64_t planned = 0;
    for (size_t i = 0; i < plan.n; i++) {
        if (strcmp(plan.item[i].name, "recurrent states") == 0 ||
            strcmp(plan.item[i].name, "key/value cache") == 0) {
            planned += plan.item[i].bytes;
        }
    }
    assert_true(all <= planned);
    cf_session_free(s);
    close_model(&m);
    /* Far apart where they would take too much. */
    assert_int_equal(cf_states_step(1, 1 << 20), CF_STATE_STEP);
    uint32_t step = cf_states_step(16 << 20, 1 << 20);
    assert_true(step > CF_STATE_STEP && step % CF_STATE_STEP == 0);
    assert_true((uint64_t)(1 << 20) / step * (64 << 20) <= CF_STATE_BYTES_MAX);
}

/* A pass that was stopped has changed no state. */
static void stop(void *ud, size_t done, size_t total)
{
    (void)total;
    if (done >= 600) {
        atomic_store((cf_cancel *)ud, true);
    }
}

static void test_state__cancel(void **state)
{
    model m;
    cf_cancel cancel = false;
    cf_error err;
    size_t n = 0;
    (void)state;
    open_model(&m, "granitehybrid");
    cf_session *s = new_session(&m, 200);
    cf_run run = {.cancel = &cancel, .progress = stop, .ud = &cancel};
    T_FAILS(cf_session_sync(s, m.ids, N, &run, NULL, &err), CF_ECANCELLED);
    cf_session_tokens(s, &n);
    assert_int_equal(n, 600);
    T_FAILS(cf_session_step(s, 1, &run, &err), CF_ECANCELLED);
    T_FAILS(cf_session_step_many(&s, m.ids, 1, &run, &err), CF_ECANCELLED);
    atomic_store(&cancel, false);
    T_OK(cf_session_step(s, m.ids[600], NULL, &err), err);
    assert_fresh(&m, s, m.ids, 601);
    cf_session_free(s);
    close_model(&m);
}

/* ---- positions that are more than a token ------------------------------- */

static void text_inputs(const model *m, cf_input *in, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        in[i] = (cf_input){.id = m->ids[i], .at = {i, i, i, i}};
    }
}

static cf_sync_result sync_inputs(cf_session *s, const cf_input *in, size_t n)
{
    cf_sync_result got;
    cf_error err;
    T_OK(cf_session_sync_inputs(s, in, n, NULL, &got, &err), err);
    return got;
}

/* Tokens given as their embeddings are the tokens. */
static void check_embeddings(const char *arch)
{
    enum { ROWS = 40 };
    static float rows[ROWS][N_EMBD];
    cf_input in[ROWS];
    cf_error err;
    model m;
    open_model(&m, arch);
    const cf_mat *embd = &m.engine->w.embd;
    text_inputs(&m, in, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        cf_dtype_to_f32(embd->type, rows[i],
                        (const unsigned char *)embd->p + (size_t)m.ids[i] * embd->row_bytes,
                        N_EMBD);
        for (size_t c = 0; c < N_EMBD; c++) {
            rows[i][c] *= m.engine->hp.embd_scale;
        }
        if (i >= 5 && i < 20) {
            in[i].embd = rows[i];
            in[i].key = 100 + i;
        }
    }
    cf_session *s = new_session(&m, 7);
    sync_inputs(s, in, ROWS);
    assert_fresh(&m, s, m.ids, ROWS);
    T_OK(cf_session_step(s, m.ids[ROWS], NULL, &err), err);
    assert_fresh(&m, s, m.ids, ROWS + 1);
    /* The same rows are known again by their keys, other keys are not. */
    assert_int_equal(sync_inputs(s, in, ROWS).n_common, ROWS);
    in[10].key++;
    assert_int_equal(sync_inputs(s, in, ROWS).n_common, 10);
    assert_int_equal(sync(s, m.ids, ROWS).n_common, 5);
    assert_fresh(&m, s, m.ids, ROWS);
    /* After a rewind into them they must be given again. */
    sync_inputs(s, in, ROWS);
    cf_session_rewind(s, 15);
    if (cf_session_is_recurrent(s)) {
        T_FAILS(cf_session_step(s, 1, NULL, &err), CF_EINVAL);
    }
    sync_inputs(s, in, ROWS);
    assert_fresh(&m, s, m.ids, ROWS);
    cf_session_free(s);
    close_model(&m);
}

static void test_inputs__embeddings(void **state)
{
    (void)state;
    check_embeddings("qwen35");
    check_embeddings("gemma3");
}

/* The effect of a change at one position on the logits at another. */
static float logit_after(const model *m, const cf_input *in, size_t n, uint32_t n_batch)
{
    cf_session *s = new_session(m, n_batch);
    sync_inputs(s, in, n);
    float y = cf_session_logits(s)[3];
    cf_session_free(s);
    return y;
}

/* Rows of embeddings add parts of their own to outputs of the first layers, in
 * every cut alike. */
static void test_inputs__deepstack(void **state)
{
    enum { ROWS = 40, WIDE = (1 + CF_TINY_DEEPSTACK) * N_EMBD };
    static float rows[ROWS][WIDE];
    cf_input in[ROWS];
    model m;
    (void)state;
    open_model(&m, "qwen3vl");
    assert_int_equal(cf_engine_get_info(m.engine).n_deepstack, CF_TINY_DEEPSTACK);
    cf_engine *glance = NULL; /* the metadata alone recognises a projector */
    cf_error err;
    const cf_engine_options vocab_only = {.vocab_only = true};
    size_t n_byte;
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = "qwen3vl", .n_ctx = N_CTX}, &n_byte);
    T_OK(cf_engine_open_memory(&glance, bytes, n_byte, &vocab_only, &err), err);
    assert_int_equal(cf_engine_get_info(glance).n_deepstack, CF_TINY_DEEPSTACK);
    cf_engine_close(glance);
    cf_tiny_free(bytes);
    const cf_mat *embd = &m.engine->w.embd;
    text_inputs(&m, in, ROWS);
    for (uint32_t i = 5; i < 20; i++) {
        cf_dtype_to_f32(embd->type, rows[i],
                        (const unsigned char *)embd->p + (size_t)m.ids[i] * embd->row_bytes,
                        N_EMBD);
        in[i].embd = rows[i];
        in[i].key = 100 + i;
    }
    cf_session *s = new_session(&m, 7);
    sync_inputs(s, in, ROWS);
    assert_fresh(&m, s, m.ids, ROWS);
    cf_session_free(s);
    float plain = logit_after(&m, in, ROWS, 0);
    rows[7][N_EMBD] = 0.5f;
    float with = logit_after(&m, in, ROWS, 0);
    assert_true(with != plain);
    assert_true(logit_after(&m, in, ROWS, 3) == with);
    close_model(&m);
}

/* Height and width count, and every cut gives the same bits. */
static void test_inputs__axes(void **state)
{
    cf_input in[40];
    model m;
    (void)state;
    open_model(&m, "qwen35");
    text_inputs(&m, in, 40);
    float plain = logit_after(&m, in, 40, 0);
    for (uint32_t i = 10; i < 26; i++) { /* an image of four by four */
        uint32_t at[4] = {10, 10 + (i - 10) / 4, 10 + (i - 10) % 4, 0};
        memcpy(in[i].at, at, sizeof at);
    }
    for (uint32_t i = 26; i < 40; i++) {
        uint32_t t = i - 12;
        memcpy(in[i].at, (uint32_t[]){t, t, t, t}, sizeof in[i].at);
    }
    float image = logit_after(&m, in, 40, 0);
    assert_true(image != plain);
    assert_true(logit_after(&m, in, 40, 3) == image);
    /* A step goes on at the number after the last. */
    cf_session *s = new_session(&m, 0);
    cf_error err;
    sync_inputs(s, in, 39);
    T_OK(cf_session_step(s, in[39].id, NULL, &err), err);
    assert_true(cf_session_logits(s)[3] == image);
    cf_session_free(s);
    close_model(&m);
}

/* A block sees itself whole, whatever the batches. */
static void test_inputs__blocks(void **state)
{
    cf_input in[40];
    cf_error err;
    model m;
    (void)state;
    open_model(&m, "gemma3");
    text_inputs(&m, in, 40);
    float causal = logit_after(&m, in, 40, 0);
    for (uint32_t i = 12; i < 30; i++) {
        in[i].see_end = 30;
    }
    float both = logit_after(&m, in, 40, 0);
    assert_true(both != causal);
    assert_true(logit_after(&m, in, 40, 18) == both);
    assert_true(logit_after(&m, in, 40, 25) == both);
    cf_session *s = new_session(&m, 17);
    T_FAILS(cf_session_sync_inputs(s, in, 40, NULL, NULL, &err), CF_ELIMIT);
    T_FAILS(cf_session_sync_inputs(s, in, 29, NULL, NULL, &err), CF_EINVAL);
    in[20].see_end = 0;
    T_FAILS(cf_session_sync_inputs(s, in, 40, NULL, NULL, &err), CF_EINVAL);
    cf_session_free(s);
    close_model(&m);
}

/* Gemma 4 with embeddings by layer attends to what is before only. */
static void test_inputs__causal_family(void **state)
{
    cf_input in[40];
    model m;
    (void)state;
    open_model(&m, "gemma4");
    text_inputs(&m, in, 40);
    float causal = logit_after(&m, in, 40, 0);
    for (uint32_t i = 12; i < 30; i++) {
        in[i].see_end = 30;
    }
    assert_true(logit_after(&m, in, 40, 0) == causal);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state__edit),       cmocka_unit_test(test_state__keep_at),
        cmocka_unit_test(test_state__fork),       cmocka_unit_test(test_state__bound),
        cmocka_unit_test(test_state__cancel),     cmocka_unit_test(test_inputs__embeddings),
        cmocka_unit_test(test_inputs__deepstack), cmocka_unit_test(test_inputs__axes),
        cmocka_unit_test(test_inputs__blocks),    cmocka_unit_test(test_inputs__causal_family),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
