/*
 * proposer.c - follows a timeline with a small model and lets it go ahead.
 *
 * What was proposed stays in the small model's timeline: where it was right,
 * the next question finds it computed.  A recurrent model cannot go back, so
 * it goes ahead in a fork.
 */
#include "core/infer/proposer.h"

#include "core/base/alloc.h"
#include "core/infer/nextn.h"

struct cf_proposer {
    cf_engine *engine; /* a small model's; or NULL */
    cf_session *session;
    cf_nextn *nextn; /* the layer, or NULL */
    const cf_engine *of;
    uint32_t n_ctx;
};

cf_status cf_proposer_new(cf_proposer **out, cf_engine *engine, const cf_engine *of, uint32_t n_ctx,
                          cf_error *err)
{
    const cf_session_options o = {.n_ctx = n_ctx};
    *out = NULL;
    if (engine == NULL && of->nextn == NULL) {
        return CF_OK;
    }
    cf_proposer *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom_for(err, "a draft model");
    }
    p->engine = engine;
    p->of = of;
    p->n_ctx = n_ctx;
    cf_status st = engine != NULL ? cf_session_new(&p->session, engine, &o, err)
                                  : cf_nextn_new(&p->nextn, of, n_ctx, err);
    if (st != CF_OK) {
        cf_free(p);
        return st;
    }
    *out = p;
    return CF_OK;
}

void cf_proposer_free(cf_proposer *p)
{
    if (p != NULL) {
        cf_session_free(p->session);
        cf_nextn_free(p->nextn);
        cf_free(p);
    }
}

bool cf_proposer_suits(cf_proposer *p, const cf_engine *of, uint32_t n_ctx)
{
    if (p->nextn != NULL) {
        cf_nextn_forget(p->nextn);
    }
    return p->of == of && p->n_ctx == n_ctx;
}

/* By bytes: a layer beside all, with the output matrix that both have. */
double cf_proposer_step_price(const cf_proposer *p, const cf_engine *of)
{
    double all = (double)cf_engine_get_info(of).step_bytes + 1;
    const cf_mat *out = &of->w.output;
    double layer = 1 / (double)(of->hp.n_layer + 1);
    double head = (double)out->row_bytes * out->n_row / all;
    return p->nextn == NULL ? (double)cf_engine_get_info(p->engine).step_bytes / all : layer + head;
}

bool cf_proposer_wants_hidden(const cf_proposer *p)
{
    return p->nextn != NULL;
}

void cf_proposer_hidden(cf_proposer *p, uint32_t pos, const float *hidden)
{
    cf_nextn_hidden(p->nextn, pos, hidden);
}

size_t cf_proposer_n_behind(const cf_proposer *p, const cf_token *ids, size_t n)
{
    return p->nextn != NULL ? 1 : n - cf_session_would_sync(p->session, ids, n);
}

cf_status cf_proposer_follow(cf_proposer *p, const cf_token *ids, size_t n, cf_cancel *cancel,
                             cf_error *err)
{
    const cf_run run = {.cancel = cancel};
    return p->nextn != NULL ? CF_OK : cf_session_sync(p->session, ids, n, &run, NULL, err);
}

cf_token cf_proposer__top(const float *logits, size_t n)
{
    size_t top = 0;
    for (size_t i = 1; i < n; i++) {
        top = logits[i] > logits[top] ? i : top;
    }
    return (cf_token)top;
}

/* Tokens that follow the session's, each added to it but the last. */
static size_t go_ahead(cf_session *s, cf_token *out, size_t cap)
{
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(cf_session_engine(s)));
    size_t n = 0;
    cf_error ignored;
    while (n < cap) {
        const float *logits = cf_session_logits(s);
        if (logits == NULL) {
            break;
        }
        out[n++] = cf_proposer__top(logits, n_vocab);
        if (n < cap && cf_session_step(s, out[n - 1], NULL, &ignored) != CF_OK) {
            break;
        }
    }
    return n;
}

size_t cf_proposer_ask(cf_proposer *p, const cf_token *ids, size_t n, cf_token *out, size_t cap)
{
    cf_error ignored;
    cf_session *fork = NULL;
    if (p->nextn != NULL) {
        return cf_nextn_ask(p->nextn, ids, n, out, cap);
    }
    if (cf_proposer_follow(p, ids, n, NULL, &ignored) != CF_OK) {
        return 0;
    }
    if (!cf_session_is_recurrent(p->session)) {
        return go_ahead(p->session, out, cap);
    }
    if (cf_session_fork(&fork, p->session, &ignored) != CF_OK) {
        return 0;
    }
    cap = go_ahead(fork, out, cap);
    cf_session_free(fork);
    return cap;
}

cf_status cf_proposer_check(const cf_engine *small, const cf_engine *large, cf_error *err)
{
    const cf_tokenizer *a = cf_engine_tokenizer(small), *b = cf_engine_tokenizer(large);
    size_t n_a = cf_tokenizer_n_vocab(a), n_b = cf_tokenizer_n_vocab(b);
    cf_buf of_a = CF_BUF_INIT, of_b = CF_BUF_INIT;
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n_a && i < n_b; i++) {
        cf_buf_reset(&of_a);
        cf_buf_reset(&of_b);
        cf_tokenizer_piece(&of_a, a, (cf_token)i, true);
        cf_tokenizer_piece(&of_b, b, (cf_token)i, true);
        st = cf_buf_check(&of_a, err);
        CF_THEN(st, cf_buf_check(&of_b, err));
        if (st == CF_OK && !cf_str_eq(cf_buf_str(&of_a), cf_buf_str(&of_b))) {
            st = cf_fail(err, CF_EINVAL,
                         "the draft model has a different vocabulary: token %zu differs", i);
        }
    }
    cf_buf_deinit(&of_a);
    cf_buf_deinit(&of_b);
    return st;
}
