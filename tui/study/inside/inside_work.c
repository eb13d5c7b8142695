/*
 * inside_work.c - the questions about one choice, one after the other.
 */
#include "tui/study/inside/inside_work.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/study/influence/influence_task.h"

enum { WHOLE = 1u << CF_PART_MESSAGE | 1u << CF_PART_TOOL };

cf_status cf_inside_work_new(cf_inside_work **out, const cf_inside_question *q, cf_error *err)
{
    cf_inside_work *w = cf_calloc(1, sizeof *w);
    if (w == NULL) {
        return cf_oom_for(err, "looking inside");
    }
    cf_inside_case_init(&w->c);
    cf_inside_case_init(&w->from);
    w->q = *q;
    w->q.kinds = q->kinds != 0 ? q->kinds : WHOLE;
    if (q->instead != NULL) {
        w->q.instead = cf_arena_strndup(&w->c.arena, q->instead, strlen(q->instead));
    }
    *out = w;
    return q->instead == NULL || w->q.instead != NULL ? CF_OK : cf_oom_for(err, "looking inside");
}

void cf_inside_work_free(cf_inside_work *w)
{
    if (w != NULL) {
        cf_inside_case_deinit(&w->from);
        cf_inside_case_deinit(&w->c);
        cf_free(w);
    }
}

/* ---- shares ------------------------------------------------------------- */

void cf_inside_work_look(cf_inside_work *w, const cf_inside_heads *heads)
{
    const cf_inside_case *c = &w->c;
    double most = 0;
    w->heads = *heads;
    for (size_t i = 0; i < c->tokens.n; i++) {
        w->given[i] = cf_inside_given(&w->look, c, heads, i);
    }
    /* Shades are against the token of a part that was looked at most: what the
     * template's first tokens get would hide all others. */
    for (size_t i = 0; i < c->n_part; i++) {
        w->share[i] = 0;
        for (size_t k = 0; k < c->part[i].n; k++) {
            double v = w->given[c->part[i].pos[k]];
            w->share[i] += v;
            most = v > most ? v : most;
        }
    }
    for (size_t i = 0; i < c->tokens.n; i++) {
        w->shade[i] = (uint8_t)cf_influence_shade(-w->given[i], -most);
    }
}

double cf_inside_work_wrote(const cf_inside_work *w, uint32_t l, size_t a, size_t b)
{
    const cf_margin *x = &w->margin[a], *y = &w->margin[b];
    if (l == 0) {
        return x->embedding - y->embedding;
    }
    const cf_layer_share *s = &x->layer[l - 1], *t = &y->layer[l - 1];
    return s->attention + s->recurrent + s->mlp + s->other -
           (t->attention + t->recurrent + t->mlp + t->other);
}

/* ---- the questions ------------------------------------------------------ */

/* The position and the two tokens. */
static cf_status set_question(cf_inside_work *w, cf_error *err)
{
    cf_inside_case *c = &w->c;
    const cf_inside_question *q = &w->q;
    if (q->tool < c->n_tool) {
        const cf_inside_tool *t = &c->tool[q->tool];
        c->at = t->at;
        return cf_inside_case_compare(c, t->called_id, t->is_called ? CF_TOKEN_NONE : t->id, err);
    }
    if (q->off != CF_INSIDE_FROM_CALL) {
        CF_TRY(cf_inside_case_set_byte(c, (size_t)q->off, err));
    }
    if (q->instead != NULL) {
        return cf_inside_case_choose(c, NULL, q->instead, err);
    }
    return cf_inside_case_compare(c, CF_TOKEN_NONE, q->has_other ? q->other : CF_TOKEN_NONE, err);
}

/* Both tokens, then the best ones there. */
static cf_status set_watched(cf_inside_work *w, cf_error *err)
{
    cf_inside_case *c = &w->c;
    CF_TRY(cf_inside_study_answer(&w->plain, c, NULL, err));
    c->watch[0] = c->a;
    c->watch[1] = c->against;
    c->n_watch = 2;
    for (size_t i = 0; i < sizeof w->plain.top / sizeof *w->plain.top; i++) {
        cf_token id = w->plain.top[i];
        if (id != CF_TOKEN_NONE && id != c->a && id != c->against) {
            c->watch[c->n_watch++] = id;
        }
    }
    return cf_inside_study_answer(&w->plain, c, NULL, err); /* with their logits */
}

static cf_status make_margins(cf_inside_work *w, cf_error *err)
{
    cf_inside_case *c = &w->c;
    const cf_inside_ask ask = cf_inside_case_ask(c, NULL);
    w->margin = cf_arena_calloc(&c->arena, c->n_watch, sizeof *w->margin);
    w->given = cf_arena_calloc(&c->arena, c->tokens.n + 1, sizeof *w->given);
    w->share = cf_arena_calloc(&c->arena, c->n_part + 1, sizeof *w->share);
    w->shade = cf_arena_calloc(&c->arena, c->tokens.n + 1, sizeof *w->shade);
    if (c->arena.failed) {
        return cf_oom_for(err, "looking inside");
    }
    for (size_t i = 0; i < c->n_watch; i++) {
        CF_TRY(cf_inside_margin(c->session, &ask, c->watch[i], CF_TOKEN_NONE, &w->margin[i],
                                &c->arena, err));
    }
    return CF_OK;
}

/* Whether a tool is chosen at the place that is asked about. */
static bool is_at_tool(const cf_inside_case *c)
{
    size_t i = 0;
    while (i < c->n_tool && c->tool[i].at != c->at) {
        i++;
    }
    return i < c->n_tool;
}

/* The other prompt, and after it what the reply has up to the position. */
static cf_status make_from(cf_inside_work *w, cf_error *err)
{
    cf_inside_case *c = &w->c, *from = &w->from;
    size_t n = c->at + (size_t)1 > c->n_prompt ? c->at + (size_t)1 - c->n_prompt : 0;
    from->c.reply = cf_str_make("", 0);
    from->c.n_ids = 0;
    CF_TRY(cf_inside_case_make(from, err));
    cf_token *ids = cf_arena_calloc(&from->arena, from->n_prompt + n + 1, sizeof *ids);
    if (ids == NULL || from->n_prompt == 0) {
        return cf_oom_for(err, "the other prompt");
    }
    memcpy(ids, from->ids, from->n_prompt * sizeof *ids);
    memcpy(ids + from->n_prompt, c->ids + c->n_prompt, n * sizeof *ids);
    from->ids = ids;
    from->n = from->n_prompt + n;
    return cf_inside_case_set_at(from, from->n - 1, err);
}

static cf_status make_map(cf_inside_work *w, cf_inside_fn fn, void *ud, cf_error *err)
{
    CF_TRY(make_from(w, err));
    CF_TRY(cf_inside_case_parts(&w->from, w->q.kinds, err));
    CF_TRY(cf_inside_study_patch(&w->map, &w->c, &w->from, UINT32_MAX, fn, ud, err));
    w->has_map = true;
    return CF_OK;
}

cf_status cf_inside_work_make(cf_inside_work *w, cf_inside_fn fn, void *ud, cf_error *err)
{
    static const cf_inside_heads all = {.is_some = false};
    cf_inside_case *c = &w->c;
    CF_TRY(cf_inside_case_make(c, err));
    CF_TRY(set_question(w, err));
    CF_TRY(cf_inside_case_parts(c, w->q.kinds, err));
    CF_TRY(set_watched(w, err));
    CF_TRY(cf_inside_study_lens(&w->layers, c, err));
    CF_TRY(cf_inside_study_look(&w->look, c, err));
    CF_TRY(make_margins(w, err));
    cf_inside_work_look(w, &all);
    CF_TRY(is_at_tool(c)
               ? cf_inside_study_choices(&w->choice, &w->without, c, w->q.tool, fn, ud, err)
               : cf_inside_study_without(&w->without, c, fn, ud, err));
    return cf_uuid_is_nil(w->q.with) ? CF_OK : make_map(w, fn, ud, err);
}
