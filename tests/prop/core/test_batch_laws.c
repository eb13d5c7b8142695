/*
 * test_batch_laws.c - many sessions in one pass: each has the bits it has
 * alone, whatever the company, whoever joins or leaves, and whatever is taken
 * back.
 *
 * Tiny random models of every architecture.
 */
#include "core/api/batch.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_TOKENS = 70, N_VOCAB = 320, N_TEXT = 4, N_SESSION = 5 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_token ids[N_TEXT][N_TOKENS];
    float *want[N_TEXT]; /* [N_TOKENS, N_VOCAB]: alone, token by token */
} model;

static cf_session *new_session(cf_engine *e, uint32_t n_batch)
{
    cf_error err;
    cf_session *s = NULL;
    cf_session_options o = {.n_ctx = 96, .n_batch = n_batch};
    T_OK(cf_session_new(&s, e, &o, &err), err);
    return s;
}

static void compute_alone(model *m, size_t text)
{
    cf_error err;
    cf_session *s = new_session(m->engine, 24);
    m->want[text] = calloc((size_t)N_TOKENS * N_VOCAB, sizeof(float));
    for (size_t i = 0; i < N_TOKENS; i++) {
        T_OK(cf_session_step(s, m->ids[text][i], NULL, &err), err);
        memcpy(m->want[text] + i * N_VOCAB, cf_session_logits(s), N_VOCAB * sizeof(float));
    }
    cf_session_free(s);
}

/* Texts 0 and 1 begin alike. */
static void open_model(model *m, const char *arch, uint64_t seed)
{
    cf_error err;
    size_t n = 0;
    cf_rand r = {seed};
    /* Threads change no bits (test_same_bits), and wait for each other on a
     * busy machine. */
    cf_engine_options eo = {.n_threads = seed % 4 == 3 ? 2 : 1};
    m->bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = arch, .seed = seed, .type = 8}, &n);
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &eo, &err), err);
    for (size_t t = 0; t < N_TEXT; t++) {
        for (size_t i = 0; i < N_TOKENS; i++) {
            m->ids[t][i] = (cf_token)cf_rand_below(&r, N_VOCAB);
        }
    }
    memcpy(m->ids[1], m->ids[0], 40 * sizeof(cf_token));
    for (size_t t = 0; t < N_TEXT; t++) {
        compute_alone(m, t);
    }
}

static void close_model(model *m)
{
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
    for (size_t t = 0; t < N_TEXT; t++) {
        free(m->want[t]);
    }
}

/* `logits` are those of a text after its token n - 1. */
static void assert_logits(const model *m, size_t text, size_t n, const float *logits)
{
    assert_non_null(logits);
    assert_memory_equal(logits, m->want[text] + (n - 1) * N_VOCAB, N_VOCAB * sizeof(float));
}

/* ---- random company ----------------------------------------------------- */

typedef struct guest {
    cf_session *s; /* NULL: not there */
    size_t text, n;
} guest;

typedef struct heard {
    const model *m;
    size_t text, n_calls;
} heard;

static void hear(void *ud, uint32_t pos, const float *logits)
{
    heard *h = ud;
    assert_logits(h->m, h->text, pos + 1, logits);
    h->n_calls++;
}

static void check_guest(const model *m, const guest *g, bool is_whole)
{
    size_t n = 0;
    cf_session_tokens(g->s, &n);
    assert_int_equal(n, g->n);
    if (is_whole) {
        assert_logits(m, g->text, g->n, cf_session_logits(g->s));
    }
}

/* One pass of everybody who is there, each with a random number of tokens. */
static void pass(const model *m, guest *guests, cf_rand *r)
{
    cf_error err;
    cf_advance part[N_SESSION];
    heard ear[N_SESSION];
    guest *who[N_SESSION];
    size_t n = 0;
    size_t n_row = 0;
    for (size_t i = 0; i < N_SESSION; i++) {
        guest *g = &guests[i];
        if (g->s == NULL) {
            continue;
        }
        bool keeps = cf_rand_below(r, 3) == 0;
        size_t most = cf_rand_below(r, 2) == 0 ? 1 : keeps ? 9 : 40;
        most = most < N_TOKENS - g->n ? most : N_TOKENS - g->n;
        ear[n] = (heard){m, g->text, 0};
        part[n] = (cf_advance){.session = g->s,
                               .ids = m->ids[g->text] + g->n,
                               .n = cf_rand_below(r, most + 1),
                               .n_max = cf_rand_below(r, 4) * 5,
                               .keeps_rows = keeps,
                               .logits = cf_rand_below(r, 2) ? hear : NULL,
                               .ud = &ear[n]};
        who[n++] = g;
    }
    size_t cap = n > 0 ? cf_batch_rows(who[0]->s) : 0;
    T_OK(cf_batch_pass(part, n, NULL, &err), err);
    for (size_t i = 0; i < n; i++) {
        const cf_advance *a = &part[i];
        n_row += a->n_done;
        assert_true(a->n_done <= a->n);
        assert_int_equal(ear[i].n_calls, a->logits != NULL ? a->n_done : 0);
        who[i]->n += a->n_done;
        check_guest(m, who[i], a->n > 0 && a->n_done == a->n);
        if (!a->keeps_rows || a->n_done == 0) {
            continue;
        }
        for (size_t k = who[i]->n - a->n_done; k < who[i]->n; k++) {
            assert_logits(m, a->n_done ? who[i]->text : 0, k + 1,
                          cf_session_logits_at(who[i]->s, (uint32_t)k));
        }
        /* Taken back into the rows that are kept: nothing is lost. */
        size_t back = cf_rand_below(r, a->n_done);
        cf_session_rewind(who[i]->s, who[i]->n - back);
        who[i]->n -= back;
        assert_int_equal(cf_session_would_keep(who[i]->s, who[i]->n), who[i]->n);
        check_guest(m, who[i], true);
    }
    assert_true(n_row <= cap);
}

/* Somebody joins, leaves, rewinds, or goes over to the other text. */
static void change(const model *m, guest *guests, cf_rand *r)
{
    cf_error err;
    guest *g = &guests[cf_rand_below(r, N_SESSION)];
    const guest *from = &guests[cf_rand_below(r, N_SESSION)];
    if (g->s != NULL && (g->n == N_TOKENS || cf_rand_below(r, 3) == 0)) {
        cf_session_free(g->s);
        *g = (guest){NULL, 0, 0};
    } else if (g->s != NULL && cf_rand_below(r, 2) == 0) {
        cf_sync_result got;
        size_t text = cf_rand_below(r, N_TEXT);
        size_t n = 1 + cf_rand_below(r, N_TOKENS);
        T_OK(cf_session_match(g->s, m->ids[text], n, &got, &err), err);
        assert_true(got.n_kept <= got.n_common && got.n_kept < n);
        assert_int_equal(got.n_new, n - got.n_kept);
        g->text = text;
        g->n = got.n_kept;
        check_guest(m, g, false);
    } else if (g->s != NULL) {
        g->n = cf_rand_below(r, g->n + 1);
        cf_session_rewind(g->s, g->n);
    } else if (from->s != NULL && cf_rand_below(r, 2) == 0) {
        *g = *from;
        T_OK(cf_session_fork(&g->s, from->s, &err), err);
    } else {
        *g = (guest){new_session(m->engine, 24), cf_rand_below(r, N_TEXT), 0};
    }
}

static void test_batch__random_company(void **state)
{
    (void)state;
    for (size_t a = 0; cf_tiny_archs[a] != NULL; a++) {
        model m;
        guest guests[N_SESSION] = {{0}};
        cf_rand r = {77 + a};
        open_model(&m, cf_tiny_archs[a], 500 + a);
        for (size_t i = 0; i < (T_IS_SLOW ? 12 : 40); i++) {
            change(&m, guests, &r);
            pass(&m, guests, &r);
        }
        for (size_t i = 0; i < N_SESSION; i++) {
            cf_session_free(guests[i].s);
        }
        close_model(&m);
    }
}

/* ---- drafts ------------------------------------------------------------- */

/* Tokens are proposed, some of them wrong, and taken back from the first wrong
 * one on; across checkpoints of recurrent models, and past a fork. */
static void check_drafts(const char *arch)
{
    enum { N_DRAFT = 5 };
    model m;
    cf_error err;
    cf_rand r = {5};
    open_model(&m, arch, 9);
    cf_session *s = new_session(m.engine, 24);
    for (size_t n = 0; n < N_TOKENS;) {
        cf_token ids[1 + N_DRAFT];
        size_t k = cf_rand_below(&r, N_DRAFT + 1);
        k = k < N_TOKENS - n - 1 ? k : N_TOKENS - n - 1;
        size_t good = cf_rand_below(&r, k + 1);
        memcpy(ids, m.ids[2] + n, (k + 1) * sizeof *ids);
        if (good < k) {
            ids[1 + good] = (ids[1 + good] + 1) % N_VOCAB;
        }
        cf_advance a = {.session = s, .ids = ids, .n = k + 1, .keeps_rows = true};
        T_OK(cf_batch_pass(&a, 1, NULL, &err), err);
        cf_session *fork = NULL;
        T_OK(cf_session_fork(&fork, s, &err), err);
        n += 1 + good;
        cf_session_rewind(s, n);
        assert_logits(&m, 2, n, cf_session_logits(s));
        assert_null(cf_session_logits_at(s, (uint32_t)n));
        cf_session_free(fork);
    }
    cf_session_free(s);
    close_model(&m);
}

static void test_batch__drafts(void **state)
{
    (void)state;
    check_drafts("qwen3");
    check_drafts("qwen35");
    check_drafts("lfm2");
    check_drafts("granitehybrid");
    check_drafts("gemma3");
}

/* ---- failures ----------------------------------------------------------- */

/* Whatever fails, every session is as it was, and goes on with its bits. */
static void test_batch__all_or_nothing(void **state)
{
    model m;
    cf_error err;
    cf_cancel cancel = true;
    (void)state;
    open_model(&m, "qwen35", 3);
    cf_session *a = new_session(m.engine, 24);
    cf_session *b = new_session(m.engine, 24);
    cf_token bad[2] = {1, N_VOCAB};
    cf_advance part[2] = {{.session = a, .ids = m.ids[0], .n = 10},
                          {.session = b, .ids = m.ids[1], .n = 5, .keeps_rows = true}};
    T_OK(cf_batch_pass(part, 2, NULL, &err), err);
    assert_int_equal(part[1].n_done, 5);
    part[0].ids += 10;
    part[1] = (cf_advance){.session = b, .ids = bad, .n = 2};
    T_FAILS(cf_batch_pass(part, 2, NULL, &err), CF_EINVAL);
    part[1].ids = m.ids[1] + 5;
    T_FAILS(cf_batch_pass(part, 2, &cancel, &err), CF_ECANCELLED);
    assert_int_equal(part[0].n_done, 0);
    part[1].n = 92;
    T_FAILS(cf_batch_pass(part, 2, NULL, &err), CF_ELIMIT);
    part[1].n = CF_KEPT_ROWS_MAX + 1;
    part[1].keeps_rows = true;
    T_FAILS(cf_batch_pass(part, 2, NULL, &err), CF_ELIMIT);
    assert_logits(&m, 0, 10, cf_session_logits(a));
    assert_logits(&m, 1, 5, cf_session_logits(b));
    part[1].n = 3;
    T_OK(cf_batch_pass(part, 2, NULL, &err), err);
    assert_logits(&m, 0, 20, cf_session_logits(a));
    assert_logits(&m, 1, 8, cf_session_logits(b));
    T_OK(cf_batch_pass(part, 0, NULL, &err), err);
    cf_session_free(a);
    cf_session_free(b);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch__random_company),
        cmocka_unit_test(test_batch__drafts),
        cmocka_unit_test(test_batch__all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
