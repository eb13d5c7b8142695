/*
 * test_inside.c - laws of looking into a model, for every architecture: where
 * nothing is changed the bits are the plain ones, shares add up, the cache and
 * the number of threads change nothing.
 */
#include <math.h>

#include "core/api/batch.h"
#include "core/api/inside.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320, N = 40, LAYER_MAX = 8 };

typedef struct model {
    void *bytes;
    size_t n_bytes;
    cf_engine *engine;
    cf_session *session;
    const char *arch;
} model;

static cf_token ids[N];

static cf_engine *open_engine(const model *m, unsigned n_threads)
{
    cf_error err;
    cf_engine *e = NULL;
    const cf_engine_options o = {.n_threads = n_threads, .arithmetic = CF_ARITHMETIC_EXACT};
    T_OK(cf_engine_open_memory(&e, m->bytes, m->n_bytes, &o, &err), err);
    return e;
}

static cf_session *new_session(cf_engine *e, uint32_t n_batch)
{
    cf_error err;
    cf_session *s = NULL;
    T_OK(cf_session_new(&s, e, &(cf_session_options){.n_ctx = 64, .n_batch = n_batch}, &err), err);
    return s;
}

static model open_model(const char *arch, unsigned n_threads)
{
    model m = {.arch = arch};
    cf_rand r = {11};
    for (size_t i = 0; i < N; i++) {
        ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
    bool has_bias = strcmp(arch, "qwen3") != 0;
    m.bytes =
        cf_tiny_gguf(&(cf_tiny_options){.arch = arch, .seed = 5, .has_bias = has_bias}, &m.n_bytes);
    m.engine = open_engine(&m, n_threads);
    m.session = new_session(m.engine, 8);
    return m;
}

static void close_model(model *m)
{
    cf_session_free(m->session);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

/* Two threads for one in eight: waking the second costs more than these models do. */
static void each_arch(void (*fn)(const model *m))
{
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        model m = open_model(cf_tiny_archs[i], i % 8 == 0 ? 2 : 1);
        fn(&m);
        close_model(&m);
    }
}

static cf_inside_ask ask_at(uint32_t at, const cf_changes *c)
{
    return (cf_inside_ask){.ids = ids, .n = N, .at = at, .changes = c};
}

static void run(cf_session *s, uint32_t at, const cf_changes *c, float *logits)
{
    cf_error err;
    cf_inside_ask ask = ask_at(at, c);
    T_OK(cf_inside_run(s, &ask, logits, &err), err);
}

/* The logits of a session that nobody looks into. */
static void plain(const model *m, uint32_t at, float *logits)
{
    cf_error err;
    cf_session *s = new_session(m->engine, 16);
    T_OK(cf_session_sync(s, ids, at + 1, NULL, NULL, &err), err);
    memcpy(logits, cf_session_logits(s), N_VOCAB * sizeof *logits);
    cf_session_free(s);
}

static void assert_same(const model *m, const float *a, const float *b)
{
    if (memcmp(a, b, N_VOCAB * sizeof *a) != 0) {
        fail_msg("%s: other bits", m->arch);
    }
}

static void assert_other(const model *m, const float *a, const float *b)
{
    if (memcmp(a, b, N_VOCAB * sizeof *a) == 0) {
        fail_msg("%s: the change changed nothing", m->arch);
    }
}

/* ---- nothing changed ---------------------------------------------------- */

static void check_plain(const model *m)
{
    float want[N_VOCAB], got[N_VOCAB];
    float zero[512] = {0};
    const cf_inside_change empty[] = {
        {.kind = CF_CHANGE_LOOK, .at = {7, 7}, .from = 7, .last_layer = 0},
        {.kind = CF_CHANGE_LOOK, .at = {3, 9}, .from = N, .last_layer = 1},
        {.kind = CF_CHANGE_LAYER, .at = {5, 5}},
    };
    const cf_push push = {.layer = 1, .scale = 0, .v = zero, .at = {0, N}};
    const cf_changes c = {.v = empty, .n = 3, .push = &push, .n_push = 1};
    plain(m, 30, want);
    run(m->session, 30, NULL, got);
    assert_same(m, got, want);
    run(m->session, 30, &c, got);
    assert_same(m, got, want);
}

static void test_inside__nothing_changed_is_the_plain_pass(void **state)
{
    (void)state;
    each_arch(check_plain);
}

static void patch_all(const model *m, uint32_t layer, float *got)
{
    cf_error err;
    uint32_t pos[N];
    cf_patch patch[N];
    size_t width = cf_inside_width(m->engine);
    float *x = calloc(N * width, sizeof *x);
    assert_non_null(x);
    for (uint32_t i = 0; i < N; i++) {
        pos[i] = i;
        patch[i] = (cf_patch){layer, i, x + i * width};
    }
    cf_inside_ask ask = ask_at(N - 1, NULL);
    T_OK(cf_inside_stream(m->session, &ask, layer, pos, N, x, &err), err);
    run(m->session, N - 1, &(cf_changes){.patch = patch, .n_patch = N}, got);
    free(x);
}

static void check_patch(const model *m)
{
    float want[N_VOCAB], got[N_VOCAB];
    uint32_t n_layer = cf_engine_get_info(m->engine).n_layer;
    plain(m, N - 1, want);
    for (uint32_t l = 0; l <= n_layer; l++) {
        patch_all(m, l, got);
        assert_same(m, got, want);
    }
}

static void test_inside__its_own_streams_change_nothing(void **state)
{
    (void)state;
    each_arch(check_patch);
}

/* ---- lens --------------------------------------------------------------- */

typedef struct rows {
    float v[LAYER_MAX + 1][N_VOCAB];
    uint32_t n;
} rows;

static void on_layer(void *ud, uint32_t l, const float *logits)
{
    rows *r = ud;
    assert_int_equal(l, r->n);
    memcpy(r->v[r->n++], logits, N_VOCAB * sizeof *logits);
}

static void check_lens(const model *m)
{
    cf_error err;
    static rows r;
    float want[N_VOCAB];
    cf_inside_change out[LAYER_MAX];
    uint32_t n_layer = cf_engine_get_info(m->engine).n_layer;
    cf_inside_ask ask = ask_at(30, NULL);
    r.n = 0;
    T_OK(cf_inside_lens(m->session, &ask, on_layer, &r, &err), err);
    assert_int_equal(r.n, n_layer + 1);
    plain(m, 30, want);
    assert_same(m, r.v[n_layer], want);
    if (strncmp(m->arch, "gemma3n", 7) == 0 || strncmp(m->arch, "gemma4", 6) == 0) {
        return; /* their layers also scale or mix what is there */
    }
    for (uint32_t l = n_layer; l-- > 0;) { /* the layers after l add nothing */
        out[n_layer - 1 - l] =
            (cf_inside_change){.kind = CF_CHANGE_LAYER, .layer = l, .at = {0, N}};
        run(m->session, 30, &(cf_changes){.v = out, .n = n_layer - l}, want);
        assert_same(m, r.v[l], want);
    }
}

static void test_inside__lens(void **state)
{
    (void)state;
    each_arch(check_lens);
}

/* ---- attention ---------------------------------------------------------- */

static void check_attention(const model *m)
{
    cf_error err;
    cf_arena arena;
    cf_inside_looks *looks = NULL;
    cf_inside_ask ask = ask_at(30, NULL);
    bool has_sinks = strcmp(m->arch, "gpt-oss") == 0;
    size_t n_attention = 0;
    cf_arena_init(&arena, 0);
    T_OK(cf_inside_attention(m->session, &ask, &looks, &arena, &err), err);
    for (uint32_t i = 0; i < cf_engine_get_info(m->engine).n_layer; i++) {
        n_attention += looks[i].n_head != 0;
        for (uint32_t h = 0; h < looks[i].n_head; h++) {
            double sum = 0;
            for (size_t k = 0; k <= 30; k++) {
                double w = (double)looks[i].w[h * 31 + k];
                assert_true(w >= 0 && w <= 1);
                sum += w;
            }
            assert_true(has_sinks ? sum < 1 : fabs(sum - 1) < 1e-6);
        }
    }
    assert_true(n_attention > 0);
    cf_arena_deinit(&arena);
}

static void test_inside__attention_adds_up(void **state)
{
    (void)state;
    each_arch(check_attention);
}

/* Hidden positions have no weight; where nothing is left, a query looks at
 * itself, and a head with a sink at nothing. */
static void check_hidden(const model *m)
{
    cf_error err;
    cf_arena arena;
    cf_inside_looks *looks = NULL;
    uint32_t n_layer = cf_engine_get_info(m->engine).n_layer;
    bool has_sinks = strcmp(m->arch, "gpt-oss") == 0;
    const cf_inside_change some[] = {
        {.kind = CF_CHANGE_LOOK, .at = {20, 28}, .last_layer = n_layer - 1},
        {.kind = CF_CHANGE_LOOK, .at = {0, 5}, .last_layer = n_layer - 1}};
    const cf_inside_change all = {.kind = CF_CHANGE_LOOK, .at = {0, 31}, .last_layer = n_layer - 1};
    cf_inside_ask ask = ask_at(30, &(cf_changes){.v = some, .n = 2});
    cf_arena_init(&arena, 0);
    T_OK(cf_inside_attention(m->session, &ask, &looks, &arena, &err), err);
    for (uint32_t i = 0; i < n_layer; i++) {
        for (uint32_t h = 0; h < looks[i].n_head; h++) {
            for (size_t k = 0; k <= 30; k++) {
                assert_true(!(k < 5 || (k >= 20 && k < 28)) || looks[i].w[h * 31 + k] == 0);
            }
        }
    }
    ask.changes = &(cf_changes){.v = &all, .n = 1};
    T_OK(cf_inside_attention(m->session, &ask, &looks, &arena, &err), err);
    for (uint32_t i = 0; i < n_layer; i++) {
        for (uint32_t h = 0; h < looks[i].n_head; h++) {
            assert_true(looks[i].w[h * 31 + 30] == (has_sinks ? 0.0f : 1.0f));
        }
    }
    cf_arena_deinit(&arena);
}

static void test_inside__hidden_positions_have_no_weight(void **state)
{
    (void)state;
    each_arch(check_hidden);
}

/* ---- margin ------------------------------------------------------------- */

static double largest_of(const cf_margin *m)
{
    double v = fmax(fabs(m->margin), fabs(m->embedding));
    for (uint32_t i = 0; i < m->n_layer; i++) {
        const cf_layer_share *l = &m->layer[i];
        v = fmax(v, fmax(fmax(fabs(l->attention), fabs(l->mlp)),
                         fmax(fabs(l->recurrent), fabs(l->other))));
    }
    return v;
}

/* Heads add up to attention, but for a bias; experts to the mlp where they are
 * all of it. */
static void check_layer_share(const model *m, const cf_layer_share *l, double largest)
{
    double heads = 0;
    for (uint32_t h = 0; h < l->n_head; h++) {
        heads += l->head[h];
    }
    if (strcmp(m->arch, "qwen3") == 0) { /* no output bias, no shared expert */
        assert_true(fabs(heads - l->attention) <= 5e-5 * largest);
    }
    double experts = 0;
    for (uint32_t e = 0; e < l->n_expert; e++) {
        experts += l->expert[e].v;
    }
    if (strcmp(m->arch, "qwen3moe") == 0) {
        assert_int_equal(l->n_expert, 2);
        assert_true(fabs(experts - l->mlp) <= 5e-5 * largest);
    }
}

static void check_margin_of(const model *m, cf_token a, cf_token b)
{
    cf_error err;
    cf_arena arena;
    cf_margin g;
    float logits[N_VOCAB];
    cf_inside_ask ask = ask_at(30, NULL);
    cf_arena_init(&arena, 0);
    T_OK(cf_inside_margin(m->session, &ask, a, b, &g, &arena, &err), err);
    double sum = g.embedding + g.bias;
    double largest = largest_of(&g);
    for (uint32_t i = 0; i < g.n_layer; i++) {
        const cf_layer_share *l = &g.layer[i];
        sum += l->attention + l->recurrent + l->mlp + l->other;
        check_layer_share(m, l, largest);
    }
    plain(m, 30, logits);
    bool has_cap = strncmp(m->arch, "gemma", 5) == 0 && strcmp(m->arch, "gemma") != 0 &&
                   strcmp(m->arch, "gemma3") != 0;
    double want = (double)logits[a] - (b != CF_TOKEN_NONE ? (double)logits[b] : 0);
    if (fabs(sum - g.margin) > 5e-5 * largest ||
        (!has_cap && fabs(want - g.margin) > 5e-5 * fmax(largest, fabs(want)))) {
        fail_msg("%s: margin %g, sum %g, logits %g, largest %g", m->arch, g.margin, sum, want,
                 largest);
    }
    cf_arena_deinit(&arena);
}

static void check_margin(const model *m)
{
    check_margin_of(m, 17, 200);
    check_margin_of(m, 3, CF_TOKEN_NONE);
}

static void test_inside__margins_add_up(void **state)
{
    (void)state;
    each_arch(check_margin);
}

/* ---- cache and threads -------------------------------------------------- */

static void check_cache(const model *m)
{
    cf_error err;
    float want[N_VOCAB], got[N_VOCAB];
    uint32_t n_layer = cf_engine_get_info(m->engine).n_layer;
    const cf_inside_change v[] = {
        {.kind = CF_CHANGE_LOOK, .at = {6, 14}, .from = 16, .last_layer = n_layer - 1},
        {.kind = CF_CHANGE_LAYER, .layer = n_layer - 1, .at = {20, 35}}};
    const cf_changes c = {.v = v, .n = 2};
    for (unsigned n_threads = 1; n_threads <= 3; n_threads += 2) {
        cf_engine *e = open_engine(m, n_threads);
        cf_session *s = new_session(e, 5);
        run(s, 34, &c, n_threads == 1 ? want : got); /* nothing is cached */
        if (n_threads > 1) {
            assert_same(m, got, want);
        } else {
            run(s, 34, &c, got); /* the prefix is */
            assert_same(m, got, want);
            T_OK(cf_session_sync(s, ids, N, NULL, NULL, &err), err);
            run(s, 34, &c, got); /* more is */
            assert_same(m, got, want);
        }
        T_OK(cf_session_sync(s, ids + 3, N - 3, NULL, NULL, &err), err);
        run(s, 34, &c, got); /* something else is */
        assert_same(m, got, want);
        cf_session_free(s);
        cf_engine_close(e);
    }
    plain(m, 34, got);
    assert_other(m, got, want);
    run(m->session, 34, NULL, want); /* and nothing of it stays */
    assert_same(m, got, want);
}

static void test_inside__cache_and_threads_change_no_bit(void **state)
{
    (void)state;
    each_arch(check_cache);
}

/* ---- logits of several positions ---------------------------------------- */

typedef struct scores {
    float log_p[10];
    size_t n;
} scores;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    scores *s = ud;
    if (pos >= 19) {
        assert_int_equal(pos, 19 + s->n);
        s->log_p[s->n++] = cf_logits_log_p(logits, N_VOCAB, ids[pos + 1]);
    }
}

/* Logits under changes are those that a run gives position by position; without
 * any, the session's own. */
static void check_logits(const model *m)
{
    cf_error err;
    float want[10], logits[N_VOCAB];
    scores got = {.n = 0};
    uint32_t n_layer = cf_engine_get_info(m->engine).n_layer;
    const cf_inside_change v = {
        .kind = CF_CHANGE_LOOK, .at = {4, 11}, .from = 11, .last_layer = n_layer - 1};
    const cf_changes c = {.v = &v, .n = 1};
    cf_inside_ask ask = ask_at(29, NULL);
    T_OK(cf_inside_logits(m->session, &ask, 20, on_logits, &got, &err), err);
    assert_int_equal(got.n, 10);
    cf_session *s = new_session(m->engine, 16);
    T_OK(cf_session_score(s, ids, 30, 20, NULL, want, &err), err);
    assert_memory_equal(got.log_p, want, sizeof want);
    cf_session_free(s);
    ask.changes = &c;
    got.n = 0;
    T_OK(cf_inside_logits(m->session, &ask, 20, on_logits, &got, &err), err);
    for (uint32_t i = 0; i < 10; i += 3) {
        run(m->session, 19 + i, &c, logits);
        assert_true(got.log_p[i] == cf_logits_log_p(logits, N_VOCAB, ids[20 + i]));
    }
    T_FAILS(cf_inside_logits(m->session, &ask, 0, on_logits, &got, &err), CF_EINVAL);
    T_FAILS(cf_inside_logits(m->session, &ask, 30, on_logits, &got, &err), CF_EINVAL);
}

static void test_inside__logits(void **state)
{
    (void)state;
    each_arch(check_logits);
}

/* ---- errors ------------------------------------------------------------- */

static void refuse(const model *m, cf_inside_change c)
{
    cf_error err;
    float logits[N_VOCAB];
    cf_inside_ask ask = ask_at(30, &(cf_changes){.v = &c, .n = 1});
    T_FAILS(cf_inside_run(m->session, &ask, logits, &err), CF_EINVAL);
}

static void test_inside__refuses(void **state)
{
    cf_error err;
    float logits[N_VOCAB];
    model m = open_model("qwen35", 1); /* layers 0 and 2 are recurrent, 1 and 3 not */
    (void)state;
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_HEAD, .layer = 4});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_HEAD, .layer = 0});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_HEAD, .layer = 1, .index = 99});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_ATTENTION, .layer = 2});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_RECURRENT, .layer = 1});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_EXPERT, .layer = 1});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_LOOK, .at = {5, 4}});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_LOOK, .at = {0, N + 1}});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_LOOK, .from = N + 1});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_LOOK, .layer = 2, .last_layer = 1});
    refuse(&m, (cf_inside_change){.kind = CF_CHANGE_LOOK, .last_layer = 4});
    cf_inside_ask ask = ask_at(N, NULL);
    T_FAILS(cf_inside_run(m.session, &ask, logits, &err), CF_EINVAL);
    const cf_token outside[2] = {1, N_VOCAB};
    ask = (cf_inside_ask){.ids = outside, .n = 2};
    T_FAILS(cf_inside_run(m.session, &ask, logits, &err), CF_EINVAL);
    close_model(&m);
}

/* ---- faults ------------------------------------------------------------- */

static void on_row(void *ud, uint32_t l, const float *logits)
{
    (void)ud, (void)l, (void)logits;
}

/* All questions at once, on a session of their own. */
static cf_status ask_everything(void *ud)
{
    const model *m = ud;
    cf_error err;
    cf_arena arena;
    cf_session *s = NULL;
    float logits[N_VOCAB];
    cf_inside_looks *looks;
    cf_margin margin;
    const cf_inside_change look = {
        .kind = CF_CHANGE_LOOK, .at = {1, 4}, .from = 4, .last_layer = 1};
    cf_inside_ask ask = {.ids = ids, .n = 8, .at = 7};
    ask.changes = &(cf_changes){.v = &look, .n = 1};
    cf_arena_init(&arena, 0);
    cf_status st = cf_session_new(&s, m->engine, &(cf_session_options){.n_ctx = 16}, &err);
    CF_THEN(st, cf_inside_run(s, &ask, logits, &err));
    CF_THEN(st, cf_inside_lens(s, &ask, on_row, NULL, &err));
    CF_THEN(st, cf_inside_attention(s, &ask, &looks, &arena, &err));
    CF_THEN(st, cf_inside_margin(s, &ask, 1, 2, &margin, &arena, &err));
    cf_session_free(s);
    cf_arena_deinit(&arena);
    return st;
}

static void test_inside__every_allocation(void **state)
{
    (void)state;
    cf_fault_install();
    model m = open_model("qwen3moe", 2);
    assert_int_equal(ask_everything(&m), CF_OK); /* the workspace has its size now */
    cf_fault_every_alloc(ask_everything, &m, false);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside__nothing_changed_is_the_plain_pass),
        cmocka_unit_test(test_inside__its_own_streams_change_nothing),
        cmocka_unit_test(test_inside__lens),
        cmocka_unit_test(test_inside__attention_adds_up),
        cmocka_unit_test(test_inside__hidden_positions_have_no_weight),
        cmocka_unit_test(test_inside__margins_add_up),
        cmocka_unit_test(test_inside__cache_and_threads_change_no_bit),
        cmocka_unit_test(test_inside__logits),
        cmocka_unit_test(test_inside__refuses),
        cmocka_unit_test(test_inside__every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
