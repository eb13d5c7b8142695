/*
 * influence_aim.c - what is asked about: the target's tokens, the constraint
 * that they were drawn under, and what they are compared with.
 */
#include <stdio.h>
#include <string.h>

#include "tui/study/influence/influence_impl.h"

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the influence");
}

/* ---- the place of another text ------------------------------------------ */

/* How far a value goes that begins at `at`: to the quotation mark that closes
 * its string, else to the end. */
static size_t value_end(cf_str reply, size_t at)
{
    size_t end = at;
    if (at == 0 || reply.p[at - 1] != '"') {
        return reply.n;
    }
    while (end < reply.n && reply.p[end] != '"') {
        end += reply.p[end] == '\\' && end + 1 < reply.n ? 2 : 1;
    }
    return end;
}

/* Whether the text may stand at the constraint's place. */
static cf_status is_allowed(cf_constraint *c, cf_str text, bool *out, cf_error *err)
{
    size_t before = cf_constraint_n_steps(c), n_taken = 0;
    cf_status st = cf_constraint_bytes(c, text.p, text.n, &n_taken, err);
    cf_constraint_rollback(c, cf_constraint_n_steps(c) - before);
    *out = n_taken == text.n;
    return st;
}

/* The first place of the reply where the constraint lets the other text stand
 * in place of what was written. */
static cf_status find_place(const cf_influence_work *w, cf_str other, size_t *from, size_t *to,
                            cf_error *err)
{
    cf_str reply = w->c->reply;
    cf_constraint *c = NULL;
    bool found = false;
    CF_TRY(cf_recorded_constraint(&c, &w->c->was, err));
    cf_status st = CF_OK;
    size_t at = w->c->was.options.start_bytes, n_taken = 1;
    while (st == CF_OK && !found && at < reply.n && n_taken == 1) {
        bool is_same = other.n <= reply.n - at && memcmp(other.p, reply.p + at, other.n) == 0;
        bool allowed = false;
        st = is_allowed(c, other, &allowed, err);
        found = allowed && !is_same;
        if (st == CF_OK && !found) {
            st = cf_constraint_bytes(c, reply.p + at, 1, &n_taken, err);
            at++;
        }
    }
    cf_constraint_free(c);
    CF_TRY(st);
    *from = at;
    *to = found ? value_end(reply, at) : 0;
    return found ? CF_OK
                 : cf_fail(err, CF_EINVAL,
                           "the constraint allows '%.40s' nowhere in the reply: name the place "
                           "with --span or --argument",
                           other.p);
}

/* ---- the target --------------------------------------------------------- */

/* Which tokens of the reply have bytes of a span. */
static cf_status find_span(cf_influence_work *w, size_t from, size_t to, cf_error *err)
{
    size_t end = 0;
    w->from = SIZE_MAX;
    for (size_t i = 0; i < w->n_reply; i++) {
        const cf_influence_token *t = &w->all[i];
        if (t->off < to && t->off + t->len > from) {
            w->from = w->from == SIZE_MAX ? i : w->from;
            end = i + 1;
        }
    }
    if (w->from == SIZE_MAX) {
        return cf_fail(err, CF_EINVAL, "the span %zu..%zu is not in the reply of %zu bytes", from,
                       to, w->c->reply.n);
    }
    w->n_target = end - w->from;
    w->n_reply = end; /* what follows the target is not needed */
    w->span_from = from;
    end = w->all[end - 1].off +
          w->all[end - 1].len; /* a token that ends the reply is not asked about */
    w->span_to = to < end ? to : end;
    return CF_OK;
}

/* The token that ends a reply: the reply's own, or the vocabulary's first. */
static cf_token end_token(const cf_influence_work *w)
{
    const cf_tokenizer *tok = w->engine->tok;
    cf_token last = w->c->n_ids > 0 ? w->c->ids[w->c->n_ids - 1] : CF_TOKEN_NONE;
    if (last != CF_TOKEN_NONE && cf_tokenizer_is_end(tok, last)) {
        return last;
    }
    for (size_t id = 0; id < cf_tokenizer_n_vocab(tok); id++) {
        if (cf_tokenizer_is_end(tok, (cf_token)id)) {
            return (cf_token)id;
        }
    }
    return CF_TOKEN_NONE;
}

/* The target is the end after the reply's text; w->all has room for it. */
static cf_status aim_at_end(cf_influence_work *w, cf_error *err)
{
    cf_token id = end_token(w);
    if (id == CF_TOKEN_NONE) {
        return cf_fail(err, CF_EUNSUPPORTED, "the vocabulary has no token that ends a reply");
    }
    w->all[w->n_reply] = (cf_influence_token){id, w->c->reply.n, 0, 0};
    w->from = w->n_reply++;
    w->n_target = 1;
    return CF_OK;
}

/* Where the family's mark before a call is, in the reply before byte `at`. */
static cf_status find_fence(const cf_influence_work *w, size_t *at, cf_error *err)
{
    const cf_tool_call call = {.name = cf_str_from("f"), .arguments = cf_str_from("{}")};
    cf_buf text = CF_BUF_INIT;
    cf_str reply = w->c->reply;
    cf_status st = cf_tool_format_calls(&text, w->engine->family, &call, 1, err);
    size_t n = st == CF_OK ? strcspn(cf_buf_cstr(&text), " \n\"f{[") : 0;
    for (size_t i = *at + 1; n > 0 && i-- > 0;) {
        if (n <= reply.n - i && memcmp(reply.p + i, text.p, n) == 0) {
            *at = i;
            break;
        }
    }
    cf_buf_deinit(&text);
    return st;
}

/* The first token of the reply's first call. */
static cf_status aim_at_call(cf_influence_work *w, cf_error *err)
{
    size_t from, to;
    CF_TRY(cf_influence_argument(w->c, w->engine, "0", &from, &to, err));
    CF_TRY(find_fence(w, &from, err));
    CF_TRY(find_span(w, from, from + 1, err));
    w->is_odds = true;
    return CF_OK;
}

static bool is_word(const char *instead, const char *word)
{
    return instead != NULL && strcmp(instead, word) == 0;
}

static const char literal[] = "text:";

/* The text that is asked for: "text:end" is the word. */
static cf_str other_text(const char *instead)
{
    size_t n = sizeof literal - 1;
    return cf_str_from(strncmp(instead, literal, n) == 0 ? instead + n : instead);
}

static cf_status find_target(cf_influence_work *w, cf_error *err)
{
    const cf_influence_options *o = w->o;
    size_t from = o->span_from, to = o->span_to;
    if (o->asks_end) {
        return aim_at_end(w, err);
    }
    if (is_word(o->instead, "no call")) {
        return aim_at_call(w, err);
    }
    if (o->has_span) {
        bool unquotes = o->instead != NULL && o->instead[0] != '"' && to <= w->c->reply.n &&
                        to >= from + 2 && w->c->reply.p[from] == '"' &&
                        w->c->reply.p[to - 1] == '"';
        return find_span(w, from + unquotes, to - unquotes, err); /* a string's text */
    }
    if (o->instead != NULL && !is_word(o->instead, "end") && w->c->was.constraint != NULL) {
        CF_TRY(find_place(w, other_text(o->instead), &from, &to, err));
        return find_span(w, from, to, err);
    }
    return find_span(w, 0, SIZE_MAX, err);
}

/* ---- plans -------------------------------------------------------------- */

static cf_status plan_target(cf_influence_work *w, cf_reply_walk *walk, const cf_reply_token *v,
                             cf_error *err)
{
    if (w->o->asks_end) {
        return cf_reply_walk_end(walk, &w->plan, err);
    }
    return cf_reply_walk_take(walk, v, w->n_reply, &w->plan, err);
}

/* The bytes of the target's tokens that the span does not have go with the
 * other text, too. */
static cf_status plan_other(cf_influence_work *w, const cf_reply_walk *walk, cf_error *err)
{
    size_t from = w->span_from, to = w->span_to;
    cf_str reply = w->c->reply, text = other_text(w->o->instead);
    const cf_influence_token *first = &w->all[w->from], *last = &w->all[w->n_reply - 1];
    cf_buf b = CF_BUF_INIT;
    if (from > first->off) {
        cf_buf_add(&b, reply.p + first->off, from - first->off);
    }
    cf_buf_add(&b, text.p, text.n);
    if (to < last->off + last->len) {
        cf_buf_add(&b, reply.p + to, last->off + last->len - to);
    }
    cf_status st = cf_buf_check(&b, err);
    CF_THEN(st, cf_reply_walk_other(walk, cf_buf_str(&b), &w->other, &w->other_ids, err));
    cf_buf_deinit(&b);
    if (st == CF_OK && w->other.n == 0) {
        st = cf_fail(err, CF_EINVAL, "the other text is empty");
    }
    return st;
}

static cf_status plan_compared(cf_influence_work *w, const cf_reply_walk *walk, cf_error *err)
{
    if (w->o->instead == NULL || w->is_odds) {
        return CF_OK;
    }
    w->has_other = true;
    if (is_word(w->o->instead, "end")) {
        w->other_ids = cf_arena_calloc(&w->out->arena, 1, sizeof *w->other_ids);
        if (w->other_ids == NULL) {
            return no_memory(err);
        }
        w->other_ids[0] = end_token(w);
        return cf_reply_walk_end(walk, &w->other, err);
    }
    return plan_other(w, walk, err);
}

/* The reply's tokens up to the target, then the target. */
static cf_status make_plans(cf_influence_work *w, const cf_reply_token *v, cf_error *err)
{
    cf_reply_walk walk;
    CF_TRY(cf_reply_walk_init(&walk, w->c, w->engine->tok, &w->out->arena, err));
    cf_status st = cf_reply_walk_take(&walk, v, w->from, NULL, err);
    CF_THEN(st, plan_compared(w, &walk, err));
    CF_THEN(st, plan_target(w, &walk, v, err));
    cf_reply_walk_deinit(&walk);
    return st;
}

static cf_status name_texts(cf_influence_work *w, cf_error *err)
{
    cf_influence *out = w->out;
    out->target_text = w->o->asks_end ? cf_str_from("end")
                       : w->is_odds
                           ? cf_str_from("call")
                           : cf_str_make(w->c->reply.p + w->span_from, w->span_to - w->span_from);
    if (w->o->instead != NULL) {
        cf_str text = other_text(w->o->instead);
        char *copy = cf_arena_strndup(&out->arena, text.p, text.n);
        out->instead = cf_str_make(copy, text.n);
        if (copy == NULL) {
            return no_memory(err);
        }
    }
    return CF_OK;
}

cf_status cf_influence__aim(cf_influence_work *w, cf_error *err)
{
    cf_influence *out = w->out;
    cf_reply_token *v;
    CF_TRY(cf_study_reply_tokens(w->c, w->engine, &out->prompt, &out->tokens, &v, &w->n_reply,
                                 &out->arena, err));
    w->all = cf_arena_calloc(&out->arena, w->n_reply + 2, sizeof *w->all);
    if (w->all == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < w->n_reply; i++) {
        w->all[i] = (cf_influence_token){v[i].id, v[i].off, v[i].len, 0};
    }
    CF_TRY(find_target(w, err));
    CF_TRY(make_plans(w, v, err));
    out->target = w->all + w->from;
    out->n_target = w->n_target;
    out->is_constrained = w->c->was.constraint != NULL;
    out->n_forced = w->plan.n_forced;
    return name_texts(w, err);
}
