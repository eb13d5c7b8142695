/*
 * influence_server.c - influence by a server that scores texts: it gets each
 * prompt as text and says how likely the reply is after it.
 *
 * Where a prompt ends differently, the server may cut the reply into other
 * tokens.  The tokens of the target are those after the whole prompt; scores of
 * another cut are added up by where their bytes begin.
 *
 * The whole prompt is scored each time, and what it gave is part of the keys
 * of the others: after another model was loaded at the address, nothing of the
 * first one is reused.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "tui/study/influence/influence_impl.h"

typedef struct asking {
    cf_influence *out;
    const cf_study_case *c;
    const cf_study_engine *engine;
    cf_study_scorer *scorer;
    const cf_influence_options *o;
    cf_part_context context;
    size_t from, to; /* bytes of the reply that the target's tokens cover */
} asking;

/* ---- the whole prompt --------------------------------------------------- */

/* Words of the prompt take the place of tokens, which the server may not
 * show. */
static cf_status cut_prompt(cf_influence *out, cf_error *err)
{
    cf_str text = out->prompt.text;
    out->tokens.v = cf_arena_calloc(&out->arena, text.n + 1, sizeof *out->tokens.v);
    if (out->tokens.v == NULL) {
        return cf_oom_for(err, "the influence");
    }
    for (size_t at = 0; at < text.n;) {
        size_t end = at + 1;
        while (end < text.n && strchr(" \n<", text.p[end]) == NULL) {
            end++;
        }
        out->tokens.v[out->tokens.n++] =
            (cf_token_span){CF_TOKEN_NONE, (uint32_t)at, (uint32_t)(end - at)};
        at = end;
    }
    return CF_OK;
}

static bool is_target(const asking *a, size_t off, size_t len)
{
    return !a->o->has_span || (off < a->o->span_to && off + len > a->o->span_from);
}

static cf_status take_target(asking *a, const cf_score *s, cf_error *err)
{
    cf_influence *out = a->out;
    out->target = cf_arena_calloc(&out->arena, s->n + 1, sizeof *out->target);
    if (out->target == NULL) {
        return cf_oom_for(err, "the influence");
    }
    for (size_t i = 0; i < s->n; i++) {
        const cf_token_span *t = &s->v[i];
        if (is_target(a, t->off, t->len)) {
            out->target[out->n_target++] = (cf_influence_token){t->id, t->off, t->len, s->log_p[i]};
            out->with += (double)s->log_p[i];
        }
    }
    if (out->n_target == 0) {
        return cf_fail(err, CF_EINVAL, "the span %zu..%zu is not in the reply of %zu bytes",
                       a->o->span_from, a->o->span_to, a->c->reply.n);
    }
    const cf_influence_token *last = &out->target[out->n_target - 1];
    a->from = out->target[0].off;
    a->to = last->off + last->len;
    return CF_OK;
}

/* ---- without a part ----------------------------------------------------- */

static cf_status key_of(const asking *a, cf_str prompt, char key[CF_HASH_TEXT + 1], cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, a->scorer->model);
    cf_buf_addf(&b, "%.2f %zu %zu %zu\n", a->out->with, a->from, a->to, prompt.n);
    cf_buf_add(&b, prompt.p, prompt.n);
    cf_buf_add(&b, a->c->reply.p, a->c->reply.n);
    cf_status st = cf_buf_check(&b, err);
    cf_hash_hex(key, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return st;
}

/* Adds each score to the target's token in which its bytes begin. */
static void add_up(const asking *a, const cf_score *s, float *log_p)
{
    const cf_influence *out = a->out;
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t off = s->v[i].off;
        if (off + s->v[i].len <= a->from || off >= a->to) {
            continue;
        }
        while (at + 1 < out->n_target && out->target[at + 1].off <= off) {
            at++;
        }
        log_p[at] += s->log_p[i];
    }
}

static cf_status score_row(asking *a, cf_influence_row *row, cf_str prompt, cf_error *err)
{
    cf_influence *out = a->out;
    char key[CF_HASH_TEXT + 1];
    cf_score s;
    cf_error ignored;
    float *log_p = cf_arena_calloc(&out->arena, out->n_target, sizeof *log_p);
    if (log_p == NULL) {
        return cf_oom_for(err, "the influence");
    }
    row->log_p = log_p;
    CF_TRY(key_of(a, prompt, key, err));
    cf_store *store = a->scorer->store;
    cf_str k = cf_str_make(key, CF_HASH_TEXT);
    if (store != NULL && cf_store_get_scores(store, k, log_p, out->n_target, &ignored) == CF_OK) {
        row->was_known = true;
        return CF_OK;
    }
    CF_TRY(cf_study_score_text(a->scorer, prompt, a->c->reply, &out->arena, &s, err));
    add_up(a, &s, log_p);
    const cf_store_score v = {k, log_p, out->n_target};
    if (store != NULL && cf_store_put_scores(store, &v, 1, &ignored) != CF_OK) {
        out->has_failed_store = true;
    }
    return CF_OK;
}

/* What fails for one part alone is its row's. */
static cf_status do_row(asking *a, cf_influence_row *row, cf_error *err)
{
    cf_influence *out = a->out;
    cf_prompt prompt;
    cf_error why = {0};
    const size_t at = (size_t)(row - out->row);
    const cf_influence_set set = {&at, 1};
    cf_status st = cf_influence__prompt(out, a->engine, &a->context, a->o, set, &row->is_emptied,
                                        &prompt, &why);
    CF_THEN(st, score_row(a, row, prompt.text, &why));
    if (cf_influence__is_of_part(st) && st != CF_EIO) {
        row->why = cf_arena_strndup(&out->arena, why.text, strlen(why.text));
        return row->why != NULL ? CF_OK : cf_oom_for(err, "the influence");
    }
    if (st != CF_OK) {
        return cf_fail(err, st, "%s", why.text);
    }
    row->has_delta = true;
    row->without = cf_influence__sum(row->log_p, out->n_target);
    row->delta = row->without - out->with;
    out->n_scored++;
    out->n_known += row->was_known;
    return CF_OK;
}

cf_status cf_influence__by_server(cf_influence *out, const cf_study_case *c,
                                  const cf_study_engine *engine, cf_study_scorer *scorer,
                                  const cf_influence_options *o, cf_influence_fn fn, void *ud,
                                  cf_error *err)
{
    asking a = {.out = out,
                .c = c,
                .engine = engine,
                .scorer = scorer,
                .o = o,
                .context = cf_study_context_of(c)};
    cf_score whole;
    CF_TRY(cf_influence__check(o, err));
    if (o->budget > 0 || o->instead != NULL || o->asks_end) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a budget, another text and the end of a reply need a model that runs "
                       "here");
    }
    if (o->change == CF_CHANGE_NEUTRAL || o->change == CF_CHANGE_HIDE || o->keeps_positions) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a server is given texts: neutral tokens and kept "
                       "positions need a local model");
    }
    CF_TRY(
        cf_part_context_render(engine->backend, &a.context, NULL, &out->arena, &out->prompt, err));
    CF_TRY(cf_influence__match(out, c, NULL, err));
    CF_TRY(cut_prompt(out, err));
    CF_TRY(cf_study_score_text(scorer, out->prompt.text, c->reply, &out->arena, &whole, err));
    CF_TRY(take_target(&a, &whole, err));
    CF_TRY(cf_influence__list(out, &a.context, o, err));
    for (size_t i = 0; i < out->n_row; i++) {
        if (scorer->cancel != NULL && atomic_load(scorer->cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        CF_TRY(do_row(&a, &out->row[i], err));
        if (fn != NULL) {
            fn(ud, i + 1, out->n_row);
        }
    }
    return CF_OK;
}
