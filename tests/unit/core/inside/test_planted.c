/*
 * test_planted.c - models whose weights were written by hand, so that it is
 * known which head, which layer and which position decides: each question has
 * to find them, a hundred times.
 *
 * The residual stream has five fields: the token at hand, the one before it, the
 * answer, a mark, and a 1.  Everything else is 0.
 */
#include <math.h>

#include "core/api/inside.h"
#include "core/model/gguf.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum {
    SYMBOLS = 16,
    TOKEN = 0,
    BEFORE = 16,
    ANSWER = 32,
    MARK = 48,
    ONE = 49,
    N_EMBD = 64,
    N_HEAD = 4,
    HEAD = 32, /* size */
    N_ROT = 8, /* its first dimensions */
    PLAIN = 8, /* where the others begin */
    N_LAYER = 4,
    N_FF = 32,
    N_VOCAB = 320,
    N = 24,
    TRIALS = 100
};

typedef struct planted {
    void *bytes;
    size_t n_bytes;
    cf_gguf *gguf;
    cf_engine *engine;
    cf_session *session;
    cf_token ids[N];
} planted;

/* ---- weights ------------------------------------------------------------ */

/* The floats of a tensor, all 0. */
static float *tensor(const planted *m, const char *name)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(m->gguf, name);
    assert_non_null(t);
    float *p = (float *)((unsigned char *)m->bytes + t->file_off);
    return p;
}

static float *layer_tensor(const planted *m, unsigned layer, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "blk.%u.%s.weight", layer, name);
    return tensor(m, full);
}

/* All matrices 0, all norms 1. */
static void clear(const planted *m)
{
    for (size_t i = 0; i < cf_gguf_n_tensors(m->gguf); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(m->gguf, i);
        float *p = (float *)((unsigned char *)m->bytes + t->file_off);
        for (size_t c = 0; c < t->bytes / sizeof *p; c++) {
            p[c] = t->n_dim == 1 ? 1 : 0;
        }
    }
}

static planted make(void)
{
    planted m = {0};
    cf_error err;
    m.bytes = cf_tiny_gguf(&(cf_tiny_options){.n_layer = N_LAYER,
                                              .n_embd = N_EMBD,
                                              .n_head = N_HEAD,
                                              .n_head_kv = N_HEAD,
                                              .head_size = HEAD,
                                              .n_rot = N_ROT,
                                              .n_ff = N_FF,
                                              .has_output = true},
                           &m.n_bytes);
    T_OK(cf_gguf_open_memory(&m.gguf, m.bytes, m.n_bytes, &err), err);
    clear(&m);
    float *embd = tensor(&m, "token_embd.weight"), *out = tensor(&m, "output.weight");
    for (size_t t = 0; t < SYMBOLS; t++) {
        embd[t * N_EMBD + TOKEN + t] = 1;
        embd[t * N_EMBD + ONE] = 1;
        out[t * N_EMBD + ANSWER + t] = 1;
    }
    return m;
}

static void open_planted(planted *m)
{
    cf_error err;
    const cf_engine_options o = {.n_threads = 1, .arithmetic = CF_ARITHMETIC_EXACT};
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, m->n_bytes, &o, &err), err);
    T_OK(cf_session_new(&m->session, m->engine, &(cf_session_options){.n_ctx = 32}, &err), err);
}

static void drop(planted *m)
{
    cf_session_free(m->session);
    cf_engine_close(m->engine);
    cf_gguf_close(m->gguf);
    cf_tiny_free(m->bytes);
}

/* A head that looks at the position before its own: the rotation makes the
 * score largest at a distance of 1.  It copies the token there. */
static void plant_previous(const planted *m, unsigned layer, unsigned head)
{
    float *q = layer_tensor(m, layer, "attn_q") + (size_t)head * HEAD * N_EMBD;
    float *k = layer_tensor(m, layer, "attn_k") + (size_t)head * HEAD * N_EMBD;
    float *v = layer_tensor(m, layer, "attn_v") + (size_t)head * HEAD * N_EMBD;
    float *o = layer_tensor(m, layer, "attn_output") + (size_t)head * HEAD;
    for (size_t i = 0; i < N_ROT / 2; i++) {
        double angle = pow(10000, -2.0 * (double)i / N_ROT);
        q[2 * i * N_EMBD + ONE] = (float)(4 * cos(angle));
        q[(2 * i + 1) * N_EMBD + ONE] = (float)(-4 * sin(angle));
        k[2 * i * N_EMBD + ONE] = 4;
    }
    for (size_t t = 0; t < SYMBOLS; t++) {
        v[(PLAIN + t) * N_EMBD + TOKEN + t] = 1;
        o[(BEFORE + t) * N_HEAD * HEAD + PLAIN + t] = 0.18f; /* about 1 / the norm's factor */
    }
}

/* A head that looks where the token before was the token at hand, and answers
 * with the token there. */
static void plant_induction(const planted *m, unsigned layer, unsigned head)
{
    float *q = layer_tensor(m, layer, "attn_q") + (size_t)head * HEAD * N_EMBD;
    float *k = layer_tensor(m, layer, "attn_k") + (size_t)head * HEAD * N_EMBD;
    float *v = layer_tensor(m, layer, "attn_v") + (size_t)head * HEAD * N_EMBD;
    float *o = layer_tensor(m, layer, "attn_output") + (size_t)head * HEAD;
    for (size_t t = 0; t < SYMBOLS; t++) {
        q[(PLAIN + t) * N_EMBD + TOKEN + t] = 5;
        k[(PLAIN + t) * N_EMBD + BEFORE + t] = 5;
        v[(PLAIN + t) * N_EMBD + TOKEN + t] = 1;
        o[(ANSWER + t) * N_HEAD * HEAD + PLAIN + t] = 1;
    }
}

/* A feed-forward part that marks a position with this token. */
static void plant_trigger(const planted *m, unsigned layer, unsigned trigger)
{
    layer_tensor(m, layer, "ffn_gate")[TOKEN + trigger] = 4;
    layer_tensor(m, layer, "ffn_up")[ONE] = 1;
    layer_tensor(m, layer, "ffn_down")[(size_t)MARK * N_FF] = 0.01f;
}

/* A head that looks at the mark and gives an answer. */
static void plant_reader(const planted *m, unsigned layer, unsigned head, unsigned answer)
{
    layer_tensor(m, layer, "attn_q")[((size_t)head * HEAD + PLAIN) * N_EMBD + ONE] = 5;
    layer_tensor(m, layer, "attn_k")[((size_t)head * HEAD + PLAIN) * N_EMBD + MARK] = 5;
    layer_tensor(m, layer, "attn_v")[((size_t)head * HEAD + PLAIN) * N_EMBD + MARK] = 1;
    layer_tensor(m, layer,
                 "attn_output")[(ANSWER + answer) * (size_t)(N_HEAD * HEAD) + head * HEAD + PLAIN] =
        1;
}

/* ---- questions ---------------------------------------------------------- */

static cf_inside_ask ask_of(const planted *m, const cf_changes *c)
{
    return (cf_inside_ask){.ids = m->ids, .n = N, .at = N - 1, .changes = c};
}

/* The best token under one change; NULL: none. */
static cf_token best(const planted *m, const cf_inside_change *change)
{
    cf_error err;
    float logits[N_VOCAB];
    const cf_changes c = {.v = change, .n = change != NULL};
    const cf_inside_ask ask = ask_of(m, &c);
    cf_token top = 0;
    T_OK(cf_inside_run(m->session, &ask, logits, &err), err);
    for (cf_token t = 1; t < N_VOCAB; t++) {
        top = logits[t] > logits[top] ? t : top;
    }
    return top;
}

static float logit_without(const planted *m, cf_inside_change change, cf_token id)
{
    cf_error err;
    float logits[N_VOCAB];
    const cf_inside_ask ask = ask_of(m, &(cf_changes){.v = &change, .n = 1});
    T_OK(cf_inside_run(m->session, &ask, logits, &err), err);
    return logits[id];
}

static bool flips(const planted *m, cf_token plain, cf_inside_change c)
{
    return best(m, &c) != plain;
}

/* The head with the largest share of a token's logit. */
static void largest_head(const planted *m, cf_token id, uint32_t *layer, uint32_t *head)
{
    cf_error err;
    cf_arena arena;
    cf_margin g;
    double most = -1;
    const cf_inside_ask ask = ask_of(m, NULL);
    cf_arena_init(&arena, 0);
    T_OK(cf_inside_margin(m->session, &ask, id, CF_TOKEN_NONE, &g, &arena, &err), err);
    for (uint32_t l = 0; l < g.n_layer; l++) {
        for (uint32_t h = 0; h < g.layer[l].n_head; h++) {
            if (g.layer[l].head[h] > most) {
                most = g.layer[l].head[h];
                *layer = l;
                *head = h;
            }
        }
    }
    cf_arena_deinit(&arena);
}

/* Where a head looked most. */
static uint32_t looked_at(const planted *m, uint32_t layer, uint32_t head)
{
    cf_error err;
    cf_arena arena;
    cf_inside_looks *looks;
    uint32_t at = 0;
    const cf_inside_ask ask = ask_of(m, NULL);
    cf_arena_init(&arena, 0);
    T_OK(cf_inside_attention(m->session, &ask, &looks, &arena, &err), err);
    const float *w = looks[layer].w + (size_t)head * N;
    for (uint32_t k = 1; k < N; k++) {
        at = w[k] > w[at] ? k : at;
    }
    cf_arena_deinit(&arena);
    return at;
}

static cf_inside_change hide(uint32_t pos)
{
    return (cf_inside_change){
        .kind = CF_CHANGE_LOOK, .at = {pos, pos + 1}, .from = pos + 1, .last_layer = N_LAYER - 1};
}

/* ---- an induction head -------------------------------------------------- */

static void find_induction(cf_rand *r)
{
    planted m = make();
    unsigned early = (unsigned)cf_rand_below(r, 2);
    unsigned late = early + 1 + (unsigned)cf_rand_below(r, N_LAYER - early - 1);
    unsigned head = (unsigned)cf_rand_below(r, N_HEAD);
    cf_token t = (cf_token)cf_rand_below(r, SYMBOLS);
    uint32_t j = 1 + (uint32_t)cf_rand_below(r, N - 4); /* where t was before */
    plant_previous(&m, early, (unsigned)cf_rand_below(r, N_HEAD));
    plant_induction(&m, late, head);
    open_planted(&m);
    for (size_t i = 0; i < N; i++) { /* neither t nor the answer */
        m.ids[i] = (cf_token)((t + 2 + (cf_token)cf_rand_below(r, SYMBOLS - 2)) % SYMBOLS);
    }
    cf_token answer = (t + 1) % SYMBOLS;
    m.ids[j] = m.ids[N - 1] = t;
    m.ids[j + 1] = answer;
    float plain = logit_without(&m, hide(0), answer); /* nobody looks there */
    uint32_t layer = 0, found = 0;
    assert_int_equal(best(&m, NULL), answer);
    largest_head(&m, answer, &layer, &found);
    assert_int_equal(layer, late);
    assert_int_equal(found, head);
    assert_int_equal(looked_at(&m, layer, found), j + 1);
    /* Without it there is no answer; no other head of its layer does that. */
    for (uint32_t h = 0; h < N_HEAD; h++) {
        cf_inside_change out = {.kind = CF_CHANGE_HEAD, .layer = late, .index = h, .at = {0, N}};
        assert_int_equal(logit_without(&m, out, answer) < 1e-3f, h == head);
    }
    /* Hiding is causal at the place that is copied, and where the head before
     * found the token. */
    for (uint32_t p = 1; p + 1 < N; p++) {
        bool is_hidden = logit_without(&m, hide(p), answer) < plain / 2;
        assert_int_equal(is_hidden, p == j || p == j + 1);
    }
    drop(&m);
}

static void test_planted__induction_head(void **state)
{
    cf_rand r = {1};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        find_induction(&r);
    }
}

/* ---- a trigger ---------------------------------------------------------- */

static void find_trigger(cf_rand *r)
{
    planted m = make();
    unsigned writer = (unsigned)cf_rand_below(r, N_LAYER - 1);
    unsigned reader = writer + 1 + (unsigned)cf_rand_below(r, N_LAYER - writer - 1);
    unsigned head = (unsigned)cf_rand_below(r, N_HEAD);
    unsigned trigger = 1 + (unsigned)cf_rand_below(r, SYMBOLS - 1);
    unsigned answer = 2 + (unsigned)cf_rand_below(r, SYMBOLS - 2);
    uint32_t pos = (uint32_t)cf_rand_below(r, N - 1);
    plant_trigger(&m, writer, trigger);
    plant_reader(&m, reader, head, answer);
    tensor(&m, "output.weight")[1 * N_EMBD + ONE] = 0.01f; /* else token 1 */
    open_planted(&m);
    for (size_t i = 0; i < N; i++) {
        m.ids[i] = (cf_token)((trigger + 1 + cf_rand_below(r, SYMBOLS - 1)) % SYMBOLS);
    }
    m.ids[pos] = (cf_token)trigger;
    cf_token top = best(&m, NULL);
    uint32_t layer = 0, found = 0;
    assert_int_equal(top, answer);
    largest_head(&m, top, &layer, &found);
    assert_int_equal(layer, reader);
    assert_int_equal(found, head);
    assert_int_equal(looked_at(&m, reader, head), pos);
    for (uint32_t l = 0; l < N_LAYER; l++) { /* the layer that writes */
        cf_inside_change c = {.kind = CF_CHANGE_MLP, .layer = l, .at = {0, N}};
        assert_int_equal(flips(&m, top, c), l == writer);
    }
    for (uint32_t p = 0; p < N; p++) { /* and the position, in two ways */
        cf_inside_change c = {.kind = CF_CHANGE_MLP, .layer = writer, .at = {p, p + 1}};
        assert_int_equal(flips(&m, top, c), p == pos);
        assert_int_equal(p + 1 < N && flips(&m, top, hide(p)), p == pos);
    }
    drop(&m);
}

static void test_planted__trigger(void **state)
{
    cf_rand r = {2};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        find_trigger(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted__induction_head),
        cmocka_unit_test(test_planted__trigger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
