/*
 * test_draft_laws.c - a reply with drafts is the reply without them: the same
 * tokens, the same logits to the bit, fewer passes, and a bounded loss.
 *
 * Tiny random models; the "reply" is drawn, or copies its prompt.
 */
#include "core/api/bundled.h"
#include "core/api/draft.h"
#include "core/api/sampling.h"
#include "core/infer/recall.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320, N_PROMPT = 24, N_REPLY = 120, N_CTX = 160 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_session *session;
    cf_engine *draft; /* NULL: guesses by look-up alone */
    cf_token prompt[N_PROMPT];
} model;

/* The prompt is made of few tokens, so that parts of it stand there twice. */
static void open_model(model *m, const char *arch, uint64_t seed, cf_dtype type,
                       cf_arithmetic arithmetic)
{
    cf_error err;
    size_t n = 0;
    cf_rand r = {seed};
    /* Threads change no bits (test_same_bits), and wait for each other on a
     * busy machine. */
    cf_engine_options eo = {.n_threads = seed % 4 == 3 ? 2 : 1, .arithmetic = arithmetic};
    const cf_tiny_options o = {.arch = arch, .seed = seed, .type = type};
    cf_session_options so = {.n_ctx = N_CTX};
    m->draft = NULL;
    m->bytes = cf_tiny_gguf(&o, &n);
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &eo, &err), err);
    T_OK(cf_session_new(&m->session, m->engine, &so, &err), err);
    for (size_t i = 0; i < N_PROMPT; i++) {
        m->prompt[i] = (cf_token)cf_rand_below(&r, 4);
    }
}

/* The same with a draft layer. */
static void open_nextn(model *m, const char *arch, uint64_t seed)
{
    cf_error err;
    size_t n = 0;
    const cf_tiny_options o = {.arch = arch, .seed = seed, .n_layer = 3, .n_nextn = 1};
    const cf_session_options so = {.n_ctx = N_CTX};
    open_model(m, arch, seed, CF_F32, CF_ARITHMETIC_16);
    cf_session_free(m->session);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
    m->bytes = cf_tiny_gguf(&o, &n);
    const cf_engine_options eo = {.n_threads = 1};
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &eo, &err), err);
    T_OK(cf_session_new(&m->session, m->engine, &so, &err), err);
}

static void close_model(model *m)
{
    cf_session_free(m->session);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

typedef struct reply {
    cf_token ids[N_PROMPT + N_REPLY]; /* with the prompt */
    float *logits;                    /* [N_REPLY, N_VOCAB] */
    cf_draft_counts counts;
} reply;

/* Draws a reply as the commands do.  `few` bounds the tokens that may be
 * drawn (as a constraint does), so that the reply repeats itself. */
static void generate(model *m, reply *out, size_t n_draft, float temperature, uint32_t few)
{
    cf_error err;
    cf_draft *draft;
    cf_sampler *sampler;
    uint32_t mask[(N_VOCAB + 31) / 32] = {few < 32 ? (1U << few) - 1 : 0};
    cf_sampling s = {
        .temperature = temperature, .seed = 5, .repetition_penalty = temperature > 1 ? 1.1f : 0};
    size_t n = N_PROMPT;
    memcpy(out->ids, m->prompt, sizeof m->prompt);
    out->logits = calloc((size_t)N_REPLY * N_VOCAB, sizeof *out->logits);
    T_OK(cf_draft_new(&draft, n_draft, &err), err);
    if (m->draft != NULL) {
        T_OK(cf_draft_use_model(draft, m->draft, m->engine, &err), err);
    }
    T_OK(cf_sampler_new(&sampler, &s, N_VOCAB, &err), err);
    T_OK(cf_draft_prepare(draft, m->session, &err), err);
    const cf_run run = {.hidden = cf_draft_wants_hidden(draft) ? cf_draft_hidden : NULL,
                        .ud = draft};
    T_OK(cf_session_sync(m->session, out->ids, n, &run, NULL, &err), err);
    T_OK(cf_draft_begin(draft, m->session, NULL, &err), err);
    for (size_t i = 0; i < N_REPLY; i++) {
        const float *logits = cf_draft_logits(draft);
        assert_non_null(logits);
        memcpy(out->logits + i * N_VOCAB, logits, N_VOCAB * sizeof *logits);
        T_OK(cf_sampler_draw(sampler, logits, out->ids, n, few < 32 ? mask : NULL, 0, &out->ids[n],
                             NULL, &err),
             err);
        n++;
        T_OK(cf_draft_step(draft, &out->ids[n - 1], 1, NULL, &err), err);
    }
    out->counts = cf_draft_get_counts(draft);
    cf_draft_end(draft);
    size_t n_have;
    const cf_token *have = cf_session_tokens(m->session, &n_have);
    assert_int_equal(n_have, n);
    assert_memory_equal(have, out->ids, n * sizeof *have);
    assert_non_null(cf_session_logits(m->session));
    cf_draft_free(draft);
    cf_sampler_free(sampler);
}

/* Up to `from` guesses in a pass, and up to the most. */
static size_t check_from(model *m, size_t from, float temperature, uint32_t few)
{
    reply plain, drafted;
    generate(m, &plain, 0, temperature, few);
    size_t n_accepted = 0;
    for (size_t n_draft = from; n_draft <= CF_DRAFT_MAX; n_draft += 14) {
        generate(m, &drafted, n_draft, temperature, few);
        assert_memory_equal(drafted.ids, plain.ids, sizeof plain.ids);
        assert_memory_equal(drafted.logits, plain.logits,
                            (size_t)N_REPLY * N_VOCAB * sizeof(float));
        assert_int_equal(drafted.counts.n_passes + drafted.counts.n_accepted, N_REPLY);
        n_accepted += drafted.counts.n_accepted;
        free(drafted.logits);
    }
    assert_int_equal(plain.counts.n_passes, N_REPLY);
    assert_int_equal(plain.counts.n_guessed, 0);
    free(plain.logits);
    return n_accepted;
}

static size_t check_same(model *m, float temperature, uint32_t few)
{
    return check_from(m, 1, temperature, few);
}

static void test_draft__same_reply(void **state)
{
    (void)state;
    size_t n_accepted = 0;
    for (size_t a = 0; cf_tiny_archs[a] != NULL; a++) {
        model m;
        if (T_IS_SLOW && a % 4 != 0) {
            continue;
        }
        open_model(&m, cf_tiny_archs[a], 40 + a, CF_F32, CF_ARITHMETIC_16);
        n_accepted += check_same(&m, 0, 32);
        n_accepted += check_same(&m, 0.7f, 3);
        check_same(&m, 1.5f, 32);
        close_model(&m);
    }
    assert_true(n_accepted > (T_IS_SLOW ? 100 : 500));
}

/* Weights in blocks, which meet activations of either size. */
static void test_draft__same_reply_in_every_arithmetic(void **state)
{
    static const char *const archs[] = {"llama", "qwen3moe", "qwen35"};
    static const cf_dtype types[] = {CF_Q8_0, CF_Q4_0, CF_Q5_1};
    size_t n_accepted = 0;
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        model m;
        open_model(&m, archs[i / 2], 90 + i, types[i / 2],
                   i % 2 ? CF_ARITHMETIC_8 : CF_ARITHMETIC_16);
        n_accepted += check_same(&m, 0.7f, 3);
        check_same(&m, 1.5f, 32);
        close_model(&m);
    }
    assert_true(n_accepted > 50);
}

/* A draft model of the same weights is always right where the most likely token
 * is drawn; one of another architecture, whatever it says, changes nothing. */
static void test_draft__model_of_every_architecture(void **state)
{
    (void)state;
    size_t n_right = 0;
    for (size_t a = 0; cf_tiny_archs[a] != NULL; a++) {
        cf_error err;
        model m, other;
        cf_engine *twin = NULL;
        size_t n = 0;
        if (T_IS_SLOW && a % 4 != 0) {
            continue;
        }
        const cf_tiny_options o = {.arch = cf_tiny_archs[a], .seed = 140 + a};
        const cf_engine_options eo = {.n_threads = 1};
        void *bytes = cf_tiny_gguf(&o, &n);
        open_model(&m, cf_tiny_archs[a], 140 + a, CF_F32, CF_ARITHMETIC_16);
        open_model(&other, a % 2 ? "llama" : "qwen35", 8, CF_F32, CF_ARITHMETIC_16);
        T_OK(cf_engine_open_memory(&twin, bytes, n, &eo, &err), err);
        m.draft = twin;
        n_right += check_from(&m, CF_DRAFT_MAX, a % 2 ? 0 : 0.7f, a % 2 ? 32 : 3);
        m.draft = other.engine;
        check_from(&m, CF_DRAFT_MAX, a % 2 ? 1.5f : 0, 32);
        close_model(&m);
        close_model(&other);
        cf_engine_close(twin);
        cf_tiny_free(bytes);
    }
    assert_true(n_right > (T_IS_SLOW ? 200 : 1000));
}

/* The draft layer of a file changes nothing but the number of passes. */
static void test_draft__layer_of_the_file(void **state)
{
    static const char *const archs[] = {"glm4moe", "deepseek2", "bailingmoe2", "qwen35", "llama"};
    (void)state;
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
        model m;
        reply r;
        open_nextn(&m, archs[a], 170 + a);
        check_from(&m, CF_DRAFT_MAX, a % 2 ? 0 : 0.7f, a % 2 ? 32 : 3);
        generate(&m, &r, CF_DRAFT_DEFAULT, 1.5f, 32);
        assert_true(r.counts.n_guessed > 2);
        free(r.logits);
        close_model(&m);
    }
}

enum { N_SIDE = 3 };

/* Replies side by side, each with its own draft of one draft model, in passes
 * together: the tokens of each alone. */
static void test_draft__side_by_side(void **state)
{
    (void)state;
    for (size_t a = 0; a < 4; a++) {
        static const char *const archs[] = {"llama", "glm4moe", "qwen35", "deepseek2"};
        cf_error err;
        model m, small;
        reply alone[N_SIDE];
        cf_session *s[N_SIDE] = {NULL};
        cf_draft *draft[N_SIDE];
        cf_sampler *sampler[N_SIDE];
        cf_advance part[N_SIDE];
        bool needs[N_SIDE];
        cf_token ids[N_SIDE][N_PROMPT + N_REPLY];
        open_nextn(&m, archs[a], 180 + a);
        open_nextn(&small, "llama", 180);
        m.draft = a % 2 ? NULL : small.engine; /* or the file's layer */
        for (size_t i = 0; i < N_SIDE; i++) {
            const cf_sampling how = {.temperature = i > 0 ? 0.9f : 0, .seed = 5};
            const cf_session_options so = {.n_ctx = N_CTX};
            m.prompt[0] = (cf_token)i;
            generate(&m, &alone[i], 0, how.temperature, 32);
            memcpy(ids[i], m.prompt, sizeof m.prompt);
            T_OK(cf_session_new(&s[i], m.engine, &so, &err), err);
            T_OK(cf_sampler_new(&sampler[i], &how, N_VOCAB, &err), err);
            T_OK(cf_draft_new(&draft[i], CF_DRAFT_DEFAULT, &err), err);
            if (m.draft != NULL) {
                T_OK(cf_draft_use_model(draft[i], m.draft, m.engine, &err), err);
            }
            T_OK(cf_session_sync(s[i], ids[i], N_PROMPT, NULL, NULL, &err), err);
            T_OK(cf_draft_begin(draft[i], s[i], NULL, &err), err);
        }
        for (size_t n = N_PROMPT; n < N_PROMPT + N_REPLY; n++) {
            size_t n_wait = 0;
            for (size_t i = 0; i < N_SIDE; i++) {
                T_OK(cf_sampler_draw(sampler[i], cf_draft_logits(draft[i]), ids[i], n, NULL, 0,
                                     &ids[i][n], NULL, &err),
                     err);
                T_OK(cf_draft_next(draft[i], &ids[i][n], 1, &part[n_wait], &needs[i], &err), err);
                n_wait += needs[i];
            }
            while (n_wait > 0) {
                T_OK(cf_batch_pass(part, n_wait, NULL, &err), err);
                cf_advance left[N_SIDE];
                size_t n_left = 0;
                for (size_t i = 0, k = 0; i < N_SIDE; i++) {
                    if (needs[i]) {
                        needs[i] = !cf_draft_took(draft[i], &part[k]);
                        left[n_left] = part[k++];
                        n_left += needs[i];
                    }
                }
                memcpy(part, left, n_left * sizeof *part);
                n_wait = n_left;
            }
        }
        for (size_t i = 0; i < N_SIDE; i++) {
            assert_memory_equal(ids[i], alone[i].ids, sizeof ids[i]);
            assert_true(cf_draft_get_counts(draft[i]).n_guessed > 0);
            cf_draft_free(draft[i]);
            cf_sampler_free(sampler[i]);
            cf_session_free(s[i]);
            free(alone[i].logits);
        }
        close_model(&m);
        close_model(&small);
    }
}

/* When the draft model is always wrong, what is lost stays small; it is asked
 * again now and then. */
static void test_draft__bounded_loss_of_a_model(void **state)
{
    model m, other;
    cf_error err;
    cf_draft *draft;
    cf_rand r = {8};
    (void)state;
    open_model(&m, "llama", 2, CF_F32, CF_ARITHMETIC_16);
    open_model(&other, "llama", 4, CF_Q4_0, CF_ARITHMETIC_16);
    T_OK(cf_draft_new(&draft, CF_DRAFT_MAX, &err), err);
    T_OK(cf_draft_use_model(draft, other.engine, m.engine, &err), err);
    T_OK(cf_session_sync(m.session, m.prompt, 3, NULL, NULL, &err), err);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    for (size_t i = 3; i < N_REPLY; i++) {
        cf_token id = (cf_token)cf_rand_below(&r, 300);
        T_OK(cf_draft_step(draft, &id, 1, NULL, &err), err);
    }
    cf_draft_counts c = cf_draft_get_counts(draft);
    assert_true(c.n_accepted <= 2);
    assert_true(c.n_guessed > 2 && c.n_guessed < N_REPLY / 3);
    cf_draft_free(draft);
    close_model(&m);
    close_model(&other);
}

/* A vocabulary in which a token is another one is refused, one that is shorter
 * is not. */
static void test_draft__vocabularies(void **state)
{
    model m;
    cf_error err;
    cf_draft *draft;
    cf_engine *bundled = NULL;
    (void)state;
    open_model(&m, "llama", 2, CF_F32, CF_ARITHMETIC_16);
    T_OK(cf_draft_new(&draft, 4, &err), err);
    T_OK(cf_draft_use_model(draft, m.engine, m.engine, &err), err);
    const void *bytes = NULL;
    size_t n = 0;
    if (cf_bundled_model(&bytes, &n)) {
        T_OK(cf_engine_open_memory(&bundled, bytes, n, NULL, &err), err);
        T_FAILS(cf_draft_use_model(draft, bundled, m.engine, &err), CF_EINVAL);
        assert_non_null(strstr(err.text, "different vocabulary"));
        cf_engine_close(bundled);
    }
    cf_draft_free(draft);
    close_model(&m);
}

/* A reply that copies takes a third of the passes at most. */
static void test_draft__copies(void **state)
{
    model m;
    cf_error err;
    cf_draft *draft;
    cf_token text[64];
    cf_rand r = {3};
    (void)state;
    open_model(&m, "qwen3", 1, CF_F32, CF_ARITHMETIC_16);
    for (size_t i = 0; i < 64; i++) {
        text[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
    T_OK(cf_session_sync(m.session, text, 64, NULL, NULL, &err), err);
    T_OK(cf_draft_new(&draft, CF_DRAFT_DEFAULT, &err), err);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    for (size_t i = 0; i < 64; i++) {
        bool guessed = cf_draft_is_guessed(draft, &text[i], 1);
        size_t before = cf_draft_get_counts(draft).n_passes;
        T_OK(cf_draft_step(draft, &text[i], 1, NULL, &err), err);
        assert_int_equal(cf_draft_get_counts(draft).n_passes, before + !guessed);
    }
    assert_true(cf_draft_get_counts(draft).n_passes < 64 / 3);
    /* From a source, which another model wrote, at once. */
    cf_draft_end(draft);
    text[63] = 1 << 20;
    T_OK(cf_draft_source(draft, text, 64, &err), err);
    T_OK(cf_session_sync(m.session, text, 4, NULL, NULL, &err), err);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    /* Several tokens at once, as forced text comes. */
    for (size_t i = 4; i < 60; i += 4) {
        T_OK(cf_draft_step(draft, &text[i], 4, NULL, &err), err);
        assert_non_null(cf_draft_logits(draft));
    }
    assert_true(cf_draft_get_counts(draft).n_passes < 10);
    cf_draft_free(draft);
    close_model(&m);
}

/* When every guess is wrong, what is lost stays small. */
static void test_draft__bounded_loss(void **state)
{
    model m;
    cf_error err;
    cf_draft *draft;
    cf_rand r = {8};
    (void)state;
    open_model(&m, "llama", 2, CF_F32, CF_ARITHMETIC_16);
    T_OK(cf_draft_new(&draft, CF_DRAFT_MAX, &err), err);
    cf_token ids[N_REPLY + 8];
    for (size_t i = 0; i < N_REPLY + 8; i++) {
        ids[i] = (cf_token)cf_rand_below(&r, 300);
    }
    for (size_t i = 0; i < N_REPLY; i++) {
        cf_token lie[4] = {ids[i], ids[i + 1], ids[i + 2], (ids[i + 3] + 1) % 300};
        T_OK(cf_draft_source(draft, lie, 4, &err), err);
    }
    T_OK(cf_session_sync(m.session, ids, 3, NULL, NULL, &err), err);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    for (size_t i = 3; i < N_REPLY; i++) {
        T_OK(cf_draft_step(draft, &ids[i], 1, NULL, &err), err);
    }
    cf_draft_counts c = cf_draft_get_counts(draft);
    assert_int_equal(c.n_accepted, 0);
    assert_true(c.n_guessed > 0 && c.n_guessed < N_REPLY / 20);
    cf_draft_free(draft);
    close_model(&m);
}

/* The context's end, ids that are none, and a pass that is stopped. */
static void test_draft__limits(void **state)
{
    model m;
    cf_error err;
    cf_draft *draft;
    cf_cancel cancel = true;
    cf_token bad = N_VOCAB;
    (void)state;
    open_model(&m, "qwen35", 2, CF_F32, CF_ARITHMETIC_16);
    T_OK(cf_draft_new(&draft, 100, &err), err);
    T_OK(cf_session_sync(m.session, m.prompt, N_PROMPT, NULL, NULL, &err), err);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    for (size_t i = N_PROMPT; i < N_CTX; i++) {
        T_OK(cf_draft_step(draft, &m.prompt[i % 3], 1, NULL, &err), err);
    }
    T_FAILS(cf_draft_step(draft, m.prompt, 1, NULL, &err), CF_ELIMIT);
    cf_draft_end(draft);
    cf_draft_end(draft);
    T_OK(cf_session_sync(m.session, m.prompt, N_PROMPT, NULL, NULL, &err), err);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    T_FAILS(cf_draft_step(draft, &bad, 1, NULL, &err), CF_EINVAL);
    cf_draft_end(draft);
    T_OK(cf_draft_begin(draft, m.session, NULL, &err), err);
    T_FAILS(cf_draft_step(draft, m.prompt, 1, &cancel, &err), CF_ECANCELLED);
    cf_draft_end(draft);
    size_t n;
    cf_session_tokens(m.session, &n);
    assert_int_equal(n, N_PROMPT);
    cf_draft_free(draft);
    close_model(&m);
}

/* ---- the look-up -------------------------------------------------------- */

/* Against a search of the whole text, with tokens taken off again. */
static void test_recall__oracle(void **state)
{
    cf_recall l;
    cf_error err;
    cf_rand r = {4};
    cf_token text[400];
    size_t n = 0;
    (void)state;
    T_OK(cf_recall_init(&l, &err), err);
    for (size_t step = 0; step < 600; step++) {
        if (n == 400 || (n > 50 && cf_rand_below(&r, 20) == 0)) {
            n -= cf_rand_below(&r, 40);
            cf_recall_truncate(&l, n);
        }
        cf_token id = (cf_token)cf_rand_below(&r, 6) - 1; /* NONE at times */
        text[n++] = id;
        T_OK(cf_recall_add(&l, &id, 1, &err), err);
        size_t best = 0;
        for (size_t end = n - 1; end >= 3; end--) {
            size_t m = 0;
            while (m < end && m < 32 && text[end - 1 - m] >= 0 &&
                   text[end - 1 - m] == text[n - 1 - m]) {
                m++;
            }
            best = m >= 3 && m > best ? m : best;
        }
        cf_token out[8];
        size_t match;
        size_t k = cf_recall_find(&l, out, 8, &match);
        assert_true(match <= best && (best == 0 || match >= 3));
        assert_true(match > 0 || k == 0);
        for (size_t i = 0; i < k; i++) {
            assert_true(out[i] >= 0);
        }
    }
    cf_recall_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draft__same_reply),
        cmocka_unit_test(test_draft__model_of_every_architecture),
        cmocka_unit_test(test_draft__layer_of_the_file),
        cmocka_unit_test(test_draft__side_by_side),
        cmocka_unit_test(test_draft__bounded_loss_of_a_model),
        cmocka_unit_test(test_draft__vocabularies),
        cmocka_unit_test(test_draft__same_reply_in_every_arithmetic),
        cmocka_unit_test(test_draft__copies),
        cmocka_unit_test(test_draft__bounded_loss),
        cmocka_unit_test(test_draft__limits),
        cmocka_unit_test(test_recall__oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
