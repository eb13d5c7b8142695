/*
 * token_walk.c - the constraint along a reply.
 */
#include "tui/lab/tokens/token_walk.h"
#include "tui/lab/reply/lab_reply.h"

#include "core/base/alloc.h"
#include "tui/lab/talk/lab_constraint.h"

/* Which of the candidates the constraint left, and which it took away. */
static void copy_candidates(cf_walk_token *to, const cf_draw *d)
{
    to->refused = CF_TOKEN_NONE;
    for (size_t i = 0; d != NULL && i < d->n_top; i++) {
        const cf_candidate *c = &d->top[i];
        if (c->removed_by != CF_REMOVED_CONSTRAINT) {
            if (to->n_likely < sizeof to->likely / sizeof to->likely[0] &&
                c->removed_by != CF_REMOVED_SUPPRESS) {
                to->likely[to->n_likely++] = c->id;
            }
        } else if (to->refused == CF_TOKEN_NONE) {
            to->refused = c->id;
            to->p_refused = c->p_raw;
        }
    }
}

/* The given tokens as bytes; the last `start_content` of them are content. */
static cf_status copy_start(cf_walk *w, const cf_lab *lab, const cf_reply *r, cf_error *err)
{
    size_t n = 0, off = 0;
    for (; n < r->n_start && n < r->n_token; n++) {
        cf_tokenizer_piece(&w->start, cf_lab_engine_of(lab)->tokenizer, r->token[n].id, true);
    }
    CF_TRY(cf_buf_check(&w->start, err));
    size_t thinking = w->start.n > r->start_content ? w->start.n - r->start_content : 0;
    for (size_t i = 0; i < n && i < w->n; i++) {
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, cf_lab_engine_of(lab)->tokenizer, r->token[i].id, true);
        size_t end = off + piece.n;
        size_t from = off > thinking ? off : thinking;
        cf_buf_deinit(&piece);
        w->token[i].is_start = true;
        w->token[i].is_held = from < end;
        if (from < end && end <= w->start.n) {
            w->token[i].content = cf_str_make(w->start.p + from, end - from);
        }
        off = end;
    }
    return CF_OK;
}

cf_status cf_walk_init(cf_walk *w, cf_lab *lab, const cf_reply *reply, size_t n, cf_error *err)
{
    *w = (cf_walk){.lab = lab, .turn = reply->turn, .n = n};
    w->token = cf_calloc(n + 1, sizeof *w->token);
    if (w->token == NULL) {
        return cf_oom_for(err, "the tokens");
    }
    for (size_t i = 0; i < n; i++) {
        w->token[i].id = reply->token[i].id;
        w->token[i].is_held = reply->token[i].is_held;
        copy_candidates(&w->token[i], reply->token[i].draw);
    }
    cf_status st = copy_start(w, lab, reply, err);
    if (st != CF_OK) {
        cf_walk_deinit(w);
        return st;
    }
    w->rule = cf_lab_rule_hold(reply->rule);
    return CF_OK;
}

void cf_walk_deinit(cf_walk *w)
{
    cf_constraint_free(w->c);
    cf_lab_rule_drop(w->rule);
    cf_free(w->token);
    cf_buf_deinit(&w->start);
    *w = (cf_walk){.n = 0};
}

cf_status cf_walk_begin(cf_walk *w, cf_error *err)
{
    if (w->rule == NULL) {
        return CF_OK;
    }
    cf_constraint_vocab *vocab = NULL;
    CF_TRY(cf_lab_vocab(w->lab, &vocab, err));
    CF_TRY(cf_lab_rule_compile(w->rule, err));
    return cf_constraint_new(&w->c, w->rule->grammar, vocab, err);
}

cf_status cf_walk_step(cf_walk *w, size_t i, cf_error *err)
{
    const cf_walk_token *t = &w->token[i];
    if (w->c == NULL || !t->is_held) {
        return CF_OK;
    }
    if (!t->is_start) {
        return cf_constraint_token(w->c, t->id, err);
    }
    size_t n_taken = 0;
    CF_TRY(cf_constraint_bytes(w->c, t->content.p, t->content.n, &n_taken, err));
    return n_taken == t->content.n ? CF_OK
                                   : cf_fail(err, CF_EINVAL,
                                             "the constraint refuses token %zu, which the reply "
                                             "was given",
                                             i + 1);
}
