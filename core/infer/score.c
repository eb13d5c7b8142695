/*
 * score.c - computes how likely given tokens are, from the logits of a pass.
 */
#include <float.h>
#include <math.h>

#include "core/api/batch.h"
#include "core/api/tokenizer.h"

float cf_logits_log_p(const float *logits, size_t n, cf_token id)
{
    float top = -FLT_MAX;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        top = logits[i] > top ? logits[i] : top;
    }
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)logits[i] - (double)top);
    }
    return (float)((double)logits[id] - (double)top - log(sum));
}

/* Tokens whose scores come with the logits of the position before each. */
typedef struct scoring {
    const cf_token *ids; /* [n] */
    size_t n, first;     /* their position */
    size_t n_vocab;
    float *log_p; /* [n] */
} scoring;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    const scoring *s = ud;
    size_t next = (size_t)pos + 1;
    if (next >= s->first && next - s->first < s->n) {
        size_t i = next - s->first;
        s->log_p[i] = cf_logits_log_p(logits, s->n_vocab, s->ids[i]);
    }
}

static size_t n_vocab_of(const cf_session *session)
{
    const cf_engine *e = cf_session_engine(session);
    return cf_tokenizer_n_vocab(cf_engine_tokenizer(e));
}

cf_status cf_session_score(cf_session *session, const cf_token *ids, size_t n, size_t first,
                           cf_cancel *cancel, float *out, cf_error *err)
{
    if (first == 0) {
        return cf_fail(err, CF_EINVAL, "the first token has no token before it to predict it");
    }
    if (first >= n) {
        return CF_OK;
    }
    scoring s = {ids + first, n - first, first, n_vocab_of(session), NULL};
    s.log_p = out;
    /* Kept positions report no logits: the one before `first` must be new. */
    size_t n_cached;
    cf_session_tokens(session, &n_cached);
    if (n_cached > first - 1) {
        cf_session_rewind(session, first - 1);
    }
    const cf_run run = {.cancel = cancel, .logits = on_logits, .ud = &s};
    cf_sync_result unused;
    return cf_session_sync(session, ids, n, &run, &unused, err);
}

/* ---- several texts after one prefix ------------------------------------- */

enum { SIDE_BY_SIDE = 32 }; /* forks that are open at once */

typedef struct forks {
    cf_advance part[SIDE_BY_SIDE];
    scoring scoring[SIDE_BY_SIDE];
    size_t n;
} forks;

/* A fork for a text; its last token predicts nothing and is not computed. */
static cf_status join(forks *all, cf_session *session, size_t n_prefix, const cf_scored *text,
                      cf_error *err)
{
    if (text->n == 0) {
        return CF_OK;
    }
    const float *logits = cf_session_logits(session);
    size_t n_vocab = n_vocab_of(session);
    for (size_t i = 0; i < text->n; i++) {
        if (text->ids[i] < 0 || (size_t)text->ids[i] >= n_vocab) {
            return cf_fail(err, CF_EINVAL, "token %d is outside the vocabulary of %zu",
                           (int)text->ids[i], n_vocab);
        }
    }
    text->log_p[0] = cf_logits_log_p(logits, n_vocab, text->ids[0]);
    if (text->n == 1) {
        return CF_OK;
    }
    size_t i = all->n;
    all->scoring[i] = (scoring){text->ids, text->n, n_prefix, n_vocab, text->log_p};
    all->part[i] = (cf_advance){
        .ids = text->ids, .n = text->n - 1, .logits = on_logits, .ud = &all->scoring[i]};
    CF_TRY(cf_session_fork(&all->part[i].session, session, err));
    all->n++;
    return CF_OK;
}

/* Frees the fork of part i; the last one takes its place. */
static void leave(forks *all, size_t i)
{
    cf_session_free(all->part[i].session);
    all->n--;
    all->part[i] = all->part[all->n];
    all->scoring[i] = all->scoring[all->n];
    all->part[i].ud = &all->scoring[i];
}

/* One pass; texts that are computed leave. */
static cf_status advance(forks *all, cf_cancel *cancel, cf_error *err)
{
    CF_TRY(cf_batch_pass(all->part, all->n, cancel, err));
    for (size_t i = all->n; i-- > 0;) {
        cf_advance *a = &all->part[i];
        a->ids += a->n_done;
        a->n -= a->n_done;
        if (a->n == 0) {
            leave(all, i);
        }
    }
    return CF_OK;
}

cf_status cf_session_score_many(cf_session *session, const cf_token *prefix, size_t n_prefix,
                                cf_scored *texts, size_t n, cf_cancel *cancel, cf_error *err)
{
    const cf_run run = {.cancel = cancel};
    forks all = {.n = 0};
    if (n_prefix == 0) {
        return cf_fail(err, CF_EINVAL, "the first token has no token before it to predict it");
    }
    CF_TRY(cf_session_sync(session, prefix, n_prefix, &run, NULL, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && (i < n || all.n > 0);) {
        if (i < n && all.n < SIDE_BY_SIDE) {
            st = join(&all, session, n_prefix, &texts[i++], err);
        } else {
            st = advance(&all, cancel, err);
        }
    }
    while (all.n > 0) {
        leave(&all, all.n - 1);
    }
    return st;
}
