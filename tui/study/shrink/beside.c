/*
 * beside.c - both sessions step along the same tokens, then each goes its own way.
 */
#include "tui/study/shrink/beside.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

void cf_beside_deinit(cf_beside *b)
{
    for (int i = 0; i < 2; i++) {
        cf_buf_deinit(&b->reply[i]);
        cf_buf_deinit(&b->calls[i]);
    }
    *b = (cf_beside){.n = 0};
}

static size_t largest(const float *v, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = v[i] > v[best] ? i : best;
    }
    return best;
}

/* The logarithm of the sum of exponentials. */
static double log_sum(const float *v, size_t n)
{
    double most = (double)v[largest(v, n)], sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)v[i] - most);
    }
    return most + log(sum);
}

static double divergence(const float *a, const float *b, size_t n)
{
    double all_a = log_sum(a, n), all_b = log_sum(b, n), sum = 0;
    for (size_t i = 0; i < n; i++) {
        double log_a = (double)a[i] - all_a, log_b = (double)b[i] - all_b;
        sum += isfinite(log_a) && isfinite(log_b) ? exp(log_a) * (log_a - log_b) : 0;
    }
    return fmax(0, sum);
}

static cf_status begin(const cf_beside_side *side, const cf_beside_text *t, cf_error *err)
{
    const cf_run run = {.cancel = t->cancel};
    cf_sync_result ignored;
    return cf_session_sync(side->session, t->prompt, t->n_prompt, &run, &ignored, err);
}

static cf_status check_going(const cf_beside_text *t, cf_error *err)
{
    return t->cancel != NULL && atomic_load(t->cancel) ? cf_fail(err, CF_ECANCELLED, "stopped")
                                                       : CF_OK;
}

/* What both would say in place of token i of the saved reply. */
static cf_status compare_at(cf_beside *out, const cf_beside_side side[2], size_t i, cf_error *err)
{
    const float *a = cf_session_logits(side[0].session), *b = cf_session_logits(side[1].session);
    if (a == NULL || b == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "this model gives no logits");
    }
    size_t n = side[0].n_vocab, x = largest(a, n), y = largest(b, n);
    double kl = divergence(a, b, n);
    out->kl_sum += kl;
    if (kl > out->kl_max) {
        out->kl_max = kl;
        out->kl_at = i;
    }
    if (x != y && out->n_other++ == 0) {
        out->other_at = i;
        out->choice[0] = (cf_token)x;
        out->choice[1] = (cf_token)y;
    }
    out->n++;
    return CF_OK;
}

static cf_status walk(cf_beside *out, const cf_beside_side side[2], const cf_beside_text *t,
                      cf_error *err)
{
    CF_TRY(begin(&side[0], t, err));
    CF_TRY(begin(&side[1], t, err));
    for (size_t i = 0; i < t->n_reply; i++) {
        CF_TRY(check_going(t, err));
        CF_TRY(compare_at(out, side, i, err));
        for (int k = 0; k < 2 && i + 1 < t->n_reply; k++) {
            CF_TRY(cf_session_step(side[k].session, t->reply[i], NULL, err));
        }
    }
    return CF_OK;
}

/* A greedy reply into ids[0..*n). */
static cf_status write_reply(const cf_beside_side *side, const cf_beside_text *t, cf_token *ids,
                             size_t *n, cf_buf *text, cf_error *err)
{
    CF_TRY(begin(side, t, err));
    for (*n = 0; *n < t->max_tokens;) {
        const float *logits = cf_session_logits(side->session);
        if (logits == NULL) {
            return cf_fail(err, CF_EUNSUPPORTED, "this model gives no logits");
        }
        cf_token id = (cf_token)largest(logits, side->n_vocab);
        ids[(*n)++] = id;
        if (cf_tokenizer_is_end(side->tok, id)) {
            return cf_buf_check(text, err);
        }
        cf_tokenizer_piece(text, side->tok, id, true);
        CF_TRY(check_going(t, err));
        cf_status st = cf_session_step(side->session, id, NULL, err);
        if (st == CF_ELIMIT) {
            break; /* the context is full */
        }
        CF_TRY(st);
    }
    return cf_buf_check(text, err);
}

/* The calls in a reply as "name(arguments)", a line each. */
static cf_status put_calls(const cf_beside_side *side, cf_str reply, cf_buf *out, cf_error *err)
{
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *parse = NULL;
    CF_TRY(cf_tool_parser_new(&parser, side->family, NULL, NULL, NULL, err));
    cf_status st = cf_tool_parser_feed(parser, reply.p, reply.n, err);
    CF_THEN(st, cf_tool_parser_finish(parser, &parse, err));
    for (size_t i = 0; st == CF_OK && i < parse->n_calls; i++) {
        const cf_tool_call *c = &parse->calls[i];
        cf_buf_adds(out, i > 0 ? "\n" : "");
        cf_buf_add(out, c->name.p, c->name.n);
        cf_buf_addc(out, '(');
        cf_buf_add(out, c->arguments.p, c->arguments.n);
        cf_buf_addc(out, ')');
    }
    cf_tool_parser_free(parser);
    CF_THEN(st, cf_buf_check(out, err));
    return st;
}

cf_status cf_beside_run(cf_beside *out, const cf_beside_side side[2], const cf_beside_text *t,
                        cf_error *err)
{
    size_t n[2] = {0, 0};
    cf_token *ids[2] = {cf_calloc(t->max_tokens + 1, sizeof **ids),
                        cf_calloc(t->max_tokens + 1, sizeof **ids)};
    *out = (cf_beside){.n = 0};
    cf_status st = ids[0] != NULL && ids[1] != NULL ? CF_OK : cf_oom_for(err, "the replies");
    CF_THEN(st, walk(out, side, t, err));
    for (int i = 0; i < 2; i++) {
        CF_THEN(st, write_reply(&side[i], t, ids[i], &n[i], &out->reply[i], err));
        CF_THEN(st, put_calls(&side[i], cf_buf_str(&out->reply[i]), &out->calls[i], err));
    }
    if (st == CF_OK) {
        while (out->n_same < n[0] && out->n_same < n[1] &&
               ids[0][out->n_same] == ids[1][out->n_same]) {
            out->n_same++;
        }
        out->parts = out->n_same < n[0] || out->n_same < n[1];
    }
    cf_free(ids[0]);
    cf_free(ids[1]);
    if (st != CF_OK) {
        cf_beside_deinit(out);
    }
    return st;
}
