/*
 * reply_plan.c - follows the recorded constraint along a reply.
 */
#include "tui/study/ask/reply_plan.h"

cf_status cf_reply_walk_init(cf_reply_walk *w, const cf_study_case *c, const cf_tokenizer *tok,
                             cf_arena *arena, cf_error *err)
{
    *w = (cf_reply_walk){.c = c, .arena = arena};
    CF_TRY(cf_text_pieces_init(&w->pieces, tok, err));
    cf_status st = cf_recorded_constraint(&w->constraint, &c->was, err);
    if (st != CF_OK) {
        cf_reply_walk_deinit(w);
    }
    return st;
}

void cf_reply_walk_deinit(cf_reply_walk *w)
{
    cf_constraint_free(w->constraint);
    cf_text_pieces_deinit(&w->pieces);
    *w = (cf_reply_walk){.c = NULL};
}

static bool is_listed(const uint32_t *v, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] == at) {
            return true;
        }
    }
    return false;
}

/* Whether the constraint took the token, by stretches from, to, from, to ...;
 * tokens that are not the run's own all count as taken. */
static bool is_held(const cf_reply_walk *w, size_t at)
{
    const cf_run_options *o = &w->c->was.options;
    bool is_own = w->c->n_ids > 0;
    for (size_t i = 0; is_own && i + 1 < o->n_held; i += 2) {
        if (at >= o->held[i] && at < o->held[i + 1]) {
            return true;
        }
    }
    return !is_own;
}

/* Whether the run put the token there, or was given it as a beginning. */
static bool is_given(const cf_reply_walk *w, size_t at)
{
    const cf_run_options *o = &w->c->was.options;
    return w->c->n_ids > 0 && (at < o->n_start || is_listed(o->forced, o->n_forced, at));
}

cf_status cf_reply_walk_take(cf_reply_walk *w, const cf_reply_token *v, size_t to,
                             cf_text_plan *plan, cf_error *err)
{
    for (; w->at < to; w->at++) {
        cf_constraint *c = w->constraint != NULL && is_held(w, w->at) ? w->constraint : NULL;
        if (plan != NULL) {
            CF_TRY(cf_text_plan_add(plan, &w->pieces, c, v[w->at].id, is_given(w, w->at), w->arena,
                                    err));
        } else if (c != NULL) {
            CF_TRY(cf_constraint_token(c, v[w->at].id, err));
        }
    }
    return plan != NULL ? cf_text_plan_finish(plan, &w->pieces, err) : CF_OK;
}

cf_status cf_reply_walk_other(const cf_reply_walk *w, cf_str text, cf_text_plan *plan,
                              cf_token **ids, cf_error *err)
{
    cf_token_list list;
    size_t n_before = w->constraint != NULL ? cf_constraint_n_steps(w->constraint) : 0;
    CF_TRY(cf_tokenizer_encode(&list, w->pieces.tok, text, true, false, w->arena, err));
    *ids = cf_arena_calloc(w->arena, list.n + 1, sizeof **ids);
    cf_status st = *ids != NULL ? CF_OK : cf_oom_for(err, "the tokens");
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        (*ids)[i] = list.v[i].id;
        st = cf_text_plan_add(plan, &w->pieces, w->constraint, list.v[i].id, false, w->arena, err);
    }
    if (w->constraint != NULL) {
        cf_constraint_rollback(w->constraint, cf_constraint_n_steps(w->constraint) - n_before);
    }
    CF_THEN(st, cf_text_plan_finish(plan, &w->pieces, err));
    return st;
}

cf_status cf_reply_walk_end(const cf_reply_walk *w, cf_text_plan *plan, cf_error *err)
{
    CF_TRY(cf_text_plan_add_end(plan, &w->pieces, w->constraint, w->arena, err));
    return cf_text_plan_finish(plan, &w->pieces, err);
}
