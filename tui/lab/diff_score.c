/*
 * diff_score.c - prompts before replies, tokens of both, and their scores.
 *
 * Each side keeps a timeline of its own: the prompt of a later reply mostly
 * begins with what is cached already.
 */
#include "tui/lab/diff_score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

/* ---- sums --------------------------------------------------------------- */

void cf_score_sum_add(cf_score_sum *to, const cf_reply_score *score)
{
    if (!score->has[0] || !score->has[1]) {
        to->n_left_out++;
        return;
    }
    to->n_replies++;
    for (int i = 0; i < 2; i++) {
        to->n[i] += score->n[i];
        to->sum[i] += score->sum[i];
    }
}

double cf_score_mean(double sum, size_t n)
{
    return n != 0 ? -sum / (double)n : (double)NAN;
}

/* ---- the scorer --------------------------------------------------------- */

cf_status cf_scorer_init(cf_scorer *s, const cf_diff_pair *pair,
                         cf_backend *backend, cf_cancel *cancel, cf_error *err)
{
    const cf_session *from = cf_backend_core_session(backend);
    memset(s, 0, sizeof *s);
    s->pair = pair;
    s->cancel = cancel;
    if (from == NULL || pair->tok == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "this engine gives no likelihoods: they need a model "
                       "that runs here (-m FILE.gguf)");
    }
    CF_TRY(cf_session_fork(&s->session[0], from, err));
    return cf_session_fork(&s->session[1], from, err);
}

void cf_scorer_deinit(cf_scorer *s)
{
    cf_session_free(s->session[0]);
    cf_session_free(s->session[1]);
    memset(s, 0, sizeof *s);
}

/* ---- replies of a path -------------------------------------------------- */

typedef struct replies {
    cf_arena arena;
    const cf_turn **path;
    size_t *place; /* [n] of replies on the path */
    size_t n;
} replies;

static cf_status find_replies(replies *r, const cf_conversation *conv,
                              cf_error *err)
{
    size_t n_path = 0;
    CF_TRY(cf_conversation_path(conv, cf_conversation_head(conv), &r->arena,
                                &r->path, &n_path, err));
    r->place = cf_arena_calloc(&r->arena, n_path + 1, sizeof *r->place);
    if (r->place == NULL) {
        return cf_oom_for(err, "the replies");
    }
    for (size_t i = 0; i < n_path; i++) {
        cf_role role =
            cf_role_parse(cf_json_get_str(r->path[i]->message, "role"));
        if (role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT) {
            r->place[r->n++] = i;
        }
    }
    return CF_OK;
}

/* The text that the model wrote; empty when it is not known. */
static cf_str reply_text(const cf_turn *turn)
{
    if (turn->raw.n != 0) {
        return turn->raw;
    }
    return json_object_get(turn->message, "tool_calls") == NULL
               ? cf_json_get_str(turn->message, "content")
               : cf_str_make(NULL, 0);
}

/* ---- one reply ---------------------------------------------------------- */

/* A side's tokens: prompt, then reply from `first` on. */
typedef struct tokens {
    cf_token *id;
    size_t n, first;
} tokens;

/* The state of one call. */
typedef struct scoring {
    cf_scorer *s;
    cf_conversation *const *conv;
    const json_t *vars;
    cf_arena arena;
} scoring;

static cf_status make_tokens(scoring *c, int side, const cf_turn *turn,
                             tokens *out, cf_error *err)
{
    const cf_turn_options options = {.extra_context = c->vars};
    const cf_send send = {
        .options = &options, .has_parent = true, .parent = turn->parent};
    cf_str text = reply_text(turn);
    cf_diff_renders r = {.status = {CF_OK, CF_OK}};
    cf_token_list list = {NULL, 0};
    if (text.n == 0) {
        return cf_fail(err, CF_ENOTFOUND, "the reply's own text was not kept");
    }
    CF_TRY(cf_diff_pair_one(c->s->pair, side, c->conv[side], &send, &r,
                            &c->arena, err));
    if (r.status[side] != CF_OK) {
        return cf_fail(err, r.status[side], "%s", r.err[side].text);
    }
    CF_TRY(cf_prompt_tokenise(&list, &r.prompt[side], text, c->s->pair->tok,
                              &c->arena, err));
    out->n = list.n;
    out->id = cf_arena_calloc(&c->arena, list.n + 1, sizeof *out->id);
    if (out->id == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < list.n; i++) {
        out->id[i] = list.v[i].id;
    }
    /* The first token that holds a byte of the reply. */
    while (out->first < list.n &&
           (size_t)list.v[out->first].off + list.v[out->first].len <=
               r.prompt[side].text.n) {
        out->first++;
    }
    out->first = out->first == 0 ? 1 : out->first;
    return CF_OK;
}

static cf_status score(scoring *c, int side, const tokens *t,
                       cf_reply_score *out, cf_error *err)
{
    size_t n = t->n > t->first ? t->n - t->first : 0;
    float *log_p = cf_arena_calloc(&c->arena, n + 1, sizeof *log_p);
    if (log_p == NULL) {
        return cf_oom_for(err, "the scores");
    }
    CF_TRY(cf_session_score(c->s->session[side], t->id, t->n, t->first,
                            c->s->cancel, log_p, err));
    out->has[side] = true;
    out->n[side] = n;
    for (size_t i = 0; i < n; i++) {
        out->sum[side] += (double)log_p[i];
    }
    return CF_OK;
}

static bool ends_all(cf_status st)
{
    return st == CF_ENOMEM || st == CF_ECANCELLED;
}

static bool are_same(const tokens *t)
{
    return t[0].n == t[1].n && t[0].first == t[1].first &&
           (t[0].n == 0 ||
            memcmp(t[0].id, t[1].id, t[0].n * sizeof *t[0].id) == 0);
}

/* The i-th reply of each side. */
static cf_status score_reply(scoring *c, const replies *r, size_t i,
                             cf_reply_score *out, cf_error *err)
{
    tokens t[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    for (int side = 0; side < 2; side++) {
        cf_error why = {0};
        cf_status st = CF_OK;
        if (i >= r[side].n) {
            st = cf_fail(&why, CF_ENOTFOUND, "no such reply");
        } else {
            out->place[side] = r[side].place[i];
            st = make_tokens(c, side, r[side].path[out->place[side]], &t[side],
                             &why);
        }
        if (st == CF_OK && side == 1 && out->has[0] && are_same(t)) {
            out->has[1] = out->is_once = true;
            out->n[1] = out->n[0];
            out->sum[1] = out->sum[0];
        } else if (st == CF_OK) {
            st = score(c, side, &t[side], out, &why);
        }
        if (ends_all(st)) {
            *err = why;
            return st;
        }
        if (st != CF_OK && out->why[0] == '\0') {
            snprintf(out->why, sizeof out->why, "%c: %.90s", 'A' + side,
                     why.text);
        }
    }
    return CF_OK;
}

cf_status cf_scorer_run(cf_scorer *s, cf_conversation *const conv[2],
                        const json_t *vars, cf_scored_fn fn, void *ud,
                        cf_error *err)
{
    scoring c = {.s = s, .conv = conv, .vars = vars};
    replies r[2] = {{.n = 0}, {.n = 0}};
    cf_status st = CF_OK;
    cf_arena_init(&c.arena, 0);
    for (int i = 0; i < 2; i++) {
        cf_arena_init(&r[i].arena, 0);
        st = st == CF_OK ? find_replies(&r[i], conv[i], err) : st;
    }
    size_t n = r[0].n > r[1].n ? r[0].n : r[1].n;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        cf_reply_score one = {.is_once = false};
        cf_arena_reset(&c.arena);
        if (s->cancel != NULL && atomic_load(s->cancel)) {
            st = cf_fail(err, CF_ECANCELLED, "stopped");
            break;
        }
        st = score_reply(&c, r, i, &one, err);
        if (st == CF_OK) {
            fn(ud, &one, i, n);
        }
    }
    cf_arena_deinit(&r[0].arena);
    cf_arena_deinit(&r[1].arena);
    cf_arena_deinit(&c.arena);
    return st;
}
