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
        return cf_fail(err, CF_EINVAL, "no token before the first one predicts it");
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
