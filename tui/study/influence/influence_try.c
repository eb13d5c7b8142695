/*
 * influence_try.c - prompts without some parts as tokens, and how likely the
 * target is after each.
 */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "templates/prompt_part.h"
#include "tui/study/influence/influence_impl.h"

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the influence");
}

/* The prompt's tokens and the reply's in one list, in the arena. */
static cf_status join(const cf_influence_work *w, const cf_token_list *list,
                      cf_influence_variant *out, cf_error *err)
{
    out->n = list->n + w->n_reply;
    out->first = list->n;
    out->ids = cf_arena_calloc(&w->out->arena, out->n + 1, sizeof *out->ids);
    if (out->ids == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < list->n; i++) {
        out->ids[i] = list->v[i].id;
    }
    for (size_t i = 0; i < w->n_reply; i++) {
        out->ids[list->n + i] = w->all[i].id;
    }
    return CF_OK;
}

static bool shows(const cf_influence *inf, cf_influence_set set, size_t byte)
{
    for (size_t i = 0; i < set.n; i++) {
        if (cf_parts_has_byte(&inf->prompt, &inf->row[set.row[i]].part, byte)) {
            return true;
        }
    }
    return false;
}

/* ---- neutral tokens ----------------------------------------------------- */

/* A token of plain text that says nothing: a full stop, or a space. */
static cf_status find_neutral(cf_influence_work *w, cf_error *err)
{
    static const char *const texts[] = {" .", ".", " ", "\n", "_"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cf_token_list list;
        CF_TRY(cf_tokenizer_encode(&list, w->engine->tok, cf_str_from(texts[i]), false, false,
                                   &w->out->arena, err));
        if (list.n == 1) {
            w->neutral = list.v[0].id;
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED, "the vocabulary has no token for neutral text");
}

/* Tokens wholly in the part become neutral ones. */
static cf_status make_neutral(cf_influence_work *w, cf_influence_trial *t,
                              cf_influence_variant *out, cf_error *err)
{
    const cf_influence *inf = w->out;
    CF_TRY(join(w, &inf->tokens, out, err));
    for (size_t i = 0; i < inf->tokens.n; i++) {
        const cf_token_span *token = &inf->tokens.v[i];
        bool is_in = token->len > 0;
        for (size_t b = 0; is_in && b < token->len; b++) {
            is_in = shows(inf, t->set, token->off + b);
        }
        if (is_in) {
            out->ids[i] = w->neutral;
            out->n_lost++;
        }
    }
    if (out->n_lost == 0) {
        t->why = "no token of the prompt shows this part alone";
    }
    return CF_OK;
}

/* ---- hidden tokens ------------------------------------------------------ */

/* The prompt's tokens that begin in the parts, as looks that hide them from the
 * positions that the reply's tokens are read from. */
static cf_status make_hidden(cf_influence_work *w, cf_influence_trial *t, cf_influence_variant *out,
                             cf_error *err)
{
    const cf_influence *inf = w->out;
    uint32_t n_layer = cf_engine_get_info(w->engine->engine).n_layer;
    out->hidden = cf_arena_calloc(&w->out->arena, inf->tokens.n + 1, sizeof *out->hidden);
    CF_TRY(join(w, &inf->tokens, out, err));
    if (out->hidden == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i + 1 < inf->tokens.n; i++) {
        const cf_token_span *token = &inf->tokens.v[i];
        uint32_t end = (uint32_t)i + 1;
        if (token->len == 0 || !shows(inf, t->set, token->off)) {
            continue;
        }
        out->n_lost++;
        if (out->n_hidden > 0 && out->hidden[out->n_hidden - 1].at.end == i) {
            out->hidden[out->n_hidden - 1].at.end++;
        } else {
            out->hidden[out->n_hidden++] = (cf_inside_change){.kind = CF_CHANGE_LOOK,
                                                              .last_layer = n_layer - 1,
                                                              .from = (uint32_t)out->first - 1,
                                                              .at = {end - 1, end}};
        }
    }
    if (out->n_lost == 0) {
        t->why = "no token of the prompt begins in this part";
    }
    return CF_OK;
}

/* ---- other prompts ------------------------------------------------------ */

/* Tokens after the part keep their positions.  What is left of the prompt must
 * be its beginning and its end with at most as much between them. */
static cf_status keep_positions(cf_influence_work *w, cf_influence_trial *t,
                                cf_influence_variant *v, cf_error *err)
{
    const cf_influence_variant *all = &w->whole.v;
    size_t head = 0, tail = 0;
    size_t max = v->n < all->n ? v->n : all->n;
    if (v->n > all->n) {
        t->why = "without it the prompt is longer: positions cannot be kept";
        return CF_OK;
    }
    while (head < max && v->ids[head] == all->ids[head]) {
        head++;
    }
    while (tail < max - head && v->ids[v->n - 1 - tail] == all->ids[all->n - 1 - tail]) {
        tail++;
    }
    v->at = cf_arena_calloc(&w->out->arena, v->n + 1, sizeof *v->at);
    if (v->at == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < v->n; i++) {
        v->at[i] = (uint32_t)(i < v->n - tail ? i : i + (all->n - v->n));
    }
    return CF_OK;
}

static cf_status make_variant(cf_influence_work *w, cf_influence_trial *t, cf_error *err)
{
    cf_influence_variant *out = &t->v;
    cf_prompt prompt;
    cf_token_list list;
    if (w->o->change == CF_CHANGE_HIDE) {
        return make_hidden(w, t, out, err);
    }
    if (w->o->change == CF_CHANGE_NEUTRAL) {
        return make_neutral(w, t, out, err);
    }
    CF_TRY(cf_influence__prompt(w->out, w->engine, &w->context, w->o, t->set, &t->is_emptied,
                                &prompt, err));
    CF_TRY(cf_prompt_tokenise(&list, &prompt, cf_str_make("", 0), w->engine->tok, &w->out->arena,
                              err));
    CF_TRY(join(w, &list, out, err));
    out->n_lost = w->whole.v.first > out->first ? w->whole.v.first - out->first : 0;
    if (out->first == 0) {
        t->why = "nothing of the prompt is left";
        return CF_OK;
    }
    return w->o->keeps_positions ? keep_positions(w, t, out, err) : CF_OK;
}

/* What fails for one trial alone is its own. */
static cf_status make_own(cf_influence_work *w, cf_influence_trial *t, cf_error *err)
{
    cf_error why = {0};
    cf_status st = make_variant(w, t, &why);
    if (cf_influence__is_of_part(st)) {
        t->why = cf_arena_strndup(&w->out->arena, why.text, strlen(why.text));
        st = t->why != NULL ? CF_OK : CF_ENOMEM;
    }
    t->n_lost = t->v.n_lost;
    if (st == CF_OK && t->why == NULL &&
        t->v.n + w->other.n > cf_session_n_ctx(w->scorer->session)) {
        t->why = "the prompt with this change does not fit the context";
    }
    return st == CF_OK       ? CF_OK
           : st == CF_ENOMEM ? no_memory(err)
                             : cf_fail(err, st, "%s", why.text);
}

/* ---- jobs --------------------------------------------------------------- */

typedef struct jobs {
    cf_influence_work *w;
    cf_score_job *job; /* [n]; the first two are of the whole prompt */
    size_t *trial;     /* [n] */
    size_t n;
} jobs;

/* The variant's tokens up to the target, then those of a plan. */
static cf_status add_job(jobs *all, const cf_influence_variant *v, size_t trial, bool is_other,
                         float *given, cf_error *err)
{
    const cf_influence_work *w = all->w;
    const cf_text_plan *plan = is_other ? &w->other : &w->plan;
    size_t first = v->first + w->from;
    cf_score_job *j = &all->job[all->n];
    cf_token *ids = v->ids;
    if (is_other) {
        ids = cf_arena_calloc(&w->out->arena, first + plan->n, sizeof *ids);
        if (ids == NULL) {
            return no_memory(err);
        }
        memcpy(ids, v->ids, first * sizeof *ids);
        memcpy(ids + first, w->other_ids, plan->n * sizeof *ids);
    }
    *j =
        (cf_score_job){.ids = ids, .at = v->at, .n = first + plan->n, .first = first, .plan = plan};
    j->is_given = given != NULL;
    j->log_p =
        given != NULL ? given : cf_arena_calloc(&w->out->arena, plan->n_way + 1, sizeof *j->log_p);
    all->trial[all->n++] = trial;
    return j->log_p != NULL ? CF_OK : no_memory(err);
}

static cf_status add_both(jobs *all, const cf_influence_variant *v, size_t trial,
                          float *const *given, cf_error *err)
{
    CF_TRY(add_job(all, v, trial, false, given != NULL ? given[0] : NULL, err));
    return all->w->has_other ? add_job(all, v, trial, true, given != NULL ? given[1] : NULL, err)
                             : CF_OK;
}

static void tell(cf_influence_work *w)
{
    if (w->fn != NULL) {
        w->n_all = w->n_done > w->n_all ? w->n_done : w->n_all;
        w->fn(w->ud, w->n_done, w->n_all);
    }
}

static void on_scored(void *ud, size_t job)
{
    const jobs *all = ud;
    bool is_last = job + 1 == all->n || all->trial[job + 1] != all->trial[job];
    all->w->n_done += is_last;
    tell(all->w);
}

/* ---- hidden ------------------------------------------------------------- */

typedef struct reader {
    const cf_score_job *j;
    size_t n_vocab;
} reader;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    const reader *r = ud;
    size_t next = (size_t)pos + 1;
    if (next >= r->j->first && next < r->j->n) {
        cf_text_plan_read(r->j->plan, next - r->j->first, logits, r->n_vocab, r->j->log_p);
    }
}

/* Computed one by one, and not kept: what the history has is of other runs. */
static cf_status run_hidden(jobs *all, size_t from, const cf_influence_trial *t, cf_error *err)
{
    const cf_influence_work *w = all->w;
    for (size_t i = from; i < all->n; i++) {
        cf_score_job *j = &all->job[i];
        const cf_influence_variant *v = &t[all->trial[i]].v;
        const cf_changes changes = {.v = v->hidden, .n = v->n_hidden};
        reader r = {j, cf_tokenizer_n_vocab(w->engine->tok)};
        const cf_inside_ask ask = {.ids = j->ids,
                                   .n = j->n,
                                   .at = (uint32_t)(j->n - 1),
                                   .changes = &changes,
                                   .cancel = w->scorer->cancel};
        CF_TRY(cf_inside_logits(w->scorer->session, &ask, j->first, on_logits, &r, err));
        on_scored(all, i);
    }
    return CF_OK;
}

/* ---- scores ------------------------------------------------------------- */

/* log p - log (1 - p). */
static double log_odds(double log_p)
{
    return log_p < 0 ? log_p - log1p(-exp(log_p)) : INFINITY;
}

static cf_status take_score(cf_influence_work *w, cf_influence_trial *t, const cf_score_job *j,
                            cf_error *err)
{
    float *log_p = cf_arena_calloc(&w->out->arena, j->plan->n + 1, sizeof *log_p);
    if (log_p == NULL) {
        return no_memory(err);
    }
    CF_TRY(cf_text_plan_sum(j->plan, j->log_p, log_p, err));
    double sum = cf_influence__sum(log_p, j->plan->n);
    if (j->plan == &w->other) {
        t->score -= sum;
    } else {
        t->score += w->is_odds ? log_odds(sum) : sum;
        t->log_p = log_p;
        t->was_known = j->was_known;
    }
    t->is_scored = true;
    return CF_OK;
}

static cf_status run_jobs(jobs *all, cf_influence_trial *t, bool is_hidden, cf_error *err)
{
    size_t n_given = all->job[0].is_given ? 1 + all->w->has_other : 0;
    if (is_hidden) {
        CF_TRY(run_hidden(all, n_given, t, err));
    } else {
        CF_TRY(cf_study_score(all->w->scorer, all->job, all->n, on_scored, all, err));
    }
    for (size_t i = n_given; i < all->n; i++) {
        CF_TRY(take_score(all->w, &t[all->trial[i]], &all->job[i], err));
    }
    all->w->out->has_failed_store = all->w->scorer->has_failed_store;
    return CF_OK;
}

static cf_status make_jobs(jobs *all, cf_influence_trial *v, size_t n, cf_error *err)
{
    cf_influence_work *w = all->w;
    for (size_t i = 0; i < n; i++) {
        if (w->scorer->cancel != NULL && atomic_load(w->scorer->cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        CF_TRY(make_own(w, &v[i], err));
        if (v[i].why == NULL) {
            CF_TRY(add_both(all, &v[i].v, i, NULL, err));
        }
    }
    return CF_OK;
}

static cf_status open_jobs(jobs *all, cf_influence_work *w, size_t n, cf_error *err)
{
    *all = (jobs){.w = w};
    all->job = cf_calloc(2 * n + 3, sizeof *all->job);
    all->trial = cf_calloc(2 * n + 3, sizeof *all->trial);
    return all->job != NULL && all->trial != NULL ? CF_OK : no_memory(err);
}

static void close_jobs(jobs *all)
{
    cf_free(all->job);
    cf_free(all->trial);
}

cf_status cf_influence__try(cf_influence_work *w, cf_influence_trial *v, size_t n, cf_error *err)
{
    jobs all;
    cf_status st = open_jobs(&all, w, n, err);
    CF_THEN(st, add_both(&all, &w->whole.v, SIZE_MAX, w->base, err));
    CF_THEN(st, make_jobs(&all, v, n, err));
    CF_THEN(st, run_jobs(&all, v, w->o->change == CF_CHANGE_HIDE, err));
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        w->out->n_pass += v[i].is_scored;
    }
    close_jobs(&all);
    return st;
}

cf_status cf_influence__whole(cf_influence_work *w, cf_error *err)
{
    jobs all;
    cf_influence *out = w->out;
    if (w->o->change == CF_CHANGE_NEUTRAL) {
        CF_TRY(find_neutral(w, err));
    }
    CF_TRY(join(w, &out->tokens, &w->whole.v, err));
    if (w->whole.v.first == 0) {
        return cf_fail(err, CF_EINVAL, "there is no prompt before the reply");
    }
    tell(w);
    cf_status st = open_jobs(&all, w, 1, err);
    CF_THEN(st, add_both(&all, &w->whole.v, 0, NULL, err));
    CF_THEN(st, run_jobs(&all, &w->whole, false, err));
    if (st == CF_OK) {
        w->base[0] = all.job[0].log_p;
        w->base[1] = w->has_other ? all.job[1].log_p : NULL;
        out->with = w->whole.score;
        for (size_t i = 0; i < w->n_target; i++) {
            out->target[i].log_p = w->whole.log_p[i];
        }
    }
    out->n_pass = 1;
    close_jobs(&all);
    return st;
}
