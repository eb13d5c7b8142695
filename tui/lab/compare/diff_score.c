/*
 * diff_score.c - prompts before replies, tokens of both, and their scores.
 *
 * Each side keeps a timeline of its own: the prompt of a later reply mostly
 * begins with what is cached already.
 */
#include "tui/lab/compare/diff_score.h"

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

cf_status cf_scorer_init(cf_scorer *s, const cf_diff_pair *pair, cf_backend *backend,
                         cf_cancel *cancel, cf_error *err)
{
    const cf_session *from = cf_backend_core_session(backend);
    memset(s, 0, sizeof *s);
    s->pair = pair;
    s->cancel = cancel;
    if (strcmp(cf_backend_get_info(backend).kind, "openai") == 0) {
        return cf_backend_clone(&s->server, backend, err);
    }
    if (from == NULL || pair->tok == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "this engine gives no likelihoods: they need a model "
                       "file or a server (-m)");
    }
    CF_TRY(cf_session_fork(&s->session[0], from, err));
    return cf_session_fork(&s->session[1], from, err);
}

void cf_scorer_deinit(cf_scorer *s)
{
    cf_session_free(s->session[0]);
    cf_session_free(s->session[1]);
    cf_backend_free(s->server);
    memset(s, 0, sizeof *s);
}

/* ---- replies of a path -------------------------------------------------- */

typedef struct replies {
    cf_arena arena;
    const cf_turn **path;
    size_t *place; /* [n] of replies on the path */
    size_t n;
} replies;

static cf_status find_replies(replies *r, const cf_conversation *conv, cf_error *err)
{
    size_t n_path = 0;
    CF_TRY(
        cf_conversation_path(conv, cf_conversation_head(conv), &r->arena, &r->path, &n_path, err));
    r->place = cf_arena_calloc(&r->arena, n_path + 1, sizeof *r->place);
    if (r->place == NULL) {
        return cf_oom_for(err, "the replies");
    }
    for (size_t i = 0; i < n_path; i++) {
        cf_role role = cf_role_parse(cf_json_get_str(r->path[i]->message, "role"));
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

cf_status cf_scorer_count(const cf_conversation *conv, size_t *n, cf_error *err)
{
    replies r = {.n = 0};
    cf_arena_init(&r.arena, 0);
    cf_status st = find_replies(&r, conv, err);
    *n = r.n;
    cf_arena_deinit(&r.arena);
    return st;
}

/* ---- one reply ---------------------------------------------------------- */

/* A side's prompt and reply, and for an engine of this program the tokens of
 * both, the reply's from `first` on. */
typedef struct input {
    cf_str reply;
    cf_prompt prompt;
    cf_token *id;
    size_t n, first;
} input;

/* What one side's template writes before a reply. */
static cf_status render_before(const cf_diff_pair *pair, int side, cf_conversation *conv,
                               const cf_turn *turn, const json_t *vars, cf_arena *arena, input *out,
                               cf_error *err)
{
    const cf_turn_options options = {.extra_context = vars};
    const cf_send send = {.options = &options, .has_parent = true, .parent = turn->parent};
    cf_diff_renders r = {.status = {CF_OK, CF_OK}};
    out->reply = reply_text(turn);
    if (out->reply.n == 0) {
        return cf_fail(err, CF_ENOTFOUND, "the reply's own text was not kept");
    }
    CF_TRY(cf_diff_pair_one(pair, side, conv, &send, &r, arena, err));
    if (r.status[side] != CF_OK) {
        return cf_fail(err, r.status[side], "%s", r.err[side].text);
    }
    out->prompt = r.prompt[side];
    return CF_OK;
}

static cf_status make_tokens(const cf_scorer *s, cf_arena *arena, input *in, cf_error *err)
{
    cf_token_list list = {NULL, 0};
    CF_TRY(cf_prompt_tokenise(&list, &in->prompt, in->reply, s->pair->tok, arena, err));
    in->n = list.n;
    in->id = cf_arena_calloc(arena, list.n + 1, sizeof *in->id);
    if (in->id == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < list.n; i++) {
        in->id[i] = list.v[i].id;
    }
    /* The first token that holds a byte of the reply. */
    while (in->first < list.n &&
           (size_t)list.v[in->first].off + list.v[in->first].len <= in->prompt.text.n) {
        in->first++;
    }
    in->first = in->first == 0 ? 1 : in->first;
    return CF_OK;
}

/* Where both sides have the same, the first one's tokens are the other's. */
static bool are_same(const input *v)
{
    return cf_str_eq(v[0].prompt.text, v[1].prompt.text) && cf_str_eq(v[0].reply, v[1].reply) &&
           v[0].n == v[1].n && v[0].first == v[1].first &&
           (v[0].n == 0 || memcmp(v[0].id, v[1].id, v[0].n * sizeof *v[0].id) == 0);
}

static cf_status score(const cf_scorer *s, int side, const input *in, cf_arena *arena, size_t *n,
                       double *sum, cf_error *err)
{
    if (s->server != NULL) {
        cf_score answer;
        CF_TRY(cf_backend_score(s->server, in->prompt.text, in->reply, s->cancel, arena, &answer,
                                err));
        *n = answer.n;
        *sum = answer.sum;
        return CF_OK;
    }
    *n = in->n > in->first ? in->n - in->first : 0;
    *sum = 0;
    float *log_p = cf_arena_calloc(arena, *n + 1, sizeof *log_p);
    if (log_p == NULL) {
        return cf_oom_for(err, "the scores");
    }
    CF_TRY(cf_session_score(s->session[side], in->id, in->n, in->first, s->cancel, log_p, err));
    for (size_t i = 0; i < *n; i++) {
        *sum += (double)log_p[i];
    }
    return CF_OK;
}

/* The i-th reply of a path, ready to be scored. */
static cf_status make_input(const cf_diff_pair *pair, int side, cf_conversation *conv,
                            const replies *r, size_t i, const json_t *vars, cf_arena *arena,
                            input *out, cf_error *err)
{
    if (i >= r->n) {
        return cf_fail(err, CF_ENOTFOUND, "no such reply");
    }
    return render_before(pair, side, conv, r->path[r->place[i]], vars, arena, out, err);
}

cf_status cf_scorer_text(const cf_diff_pair *pair, int side, cf_conversation *conv, size_t i,
                         const json_t *vars, cf_arena *arena, cf_score_text *out, cf_error *err)
{
    replies r = {.n = 0};
    input in = {.n = 0};
    cf_arena_init(&r.arena, 0);
    cf_status st = find_replies(&r, conv, err);
    CF_THEN(st, make_input(pair, side, conv, &r, i, vars, arena, &in, err));
    if (st == CF_OK) {
        *out = (cf_score_text){in.prompt.text, in.reply, r.path[r.place[i]]->id};
    }
    cf_arena_deinit(&r.arena);
    return st;
}

cf_status cf_scorer_one(cf_scorer *s, int side, cf_conversation *conv, size_t i, const json_t *vars,
                        size_t *n, double *sum, cf_error *err)
{
    replies r = {.n = 0};
    input in = {.n = 0};
    cf_arena_init(&r.arena, 0);
    cf_status st = find_replies(&r, conv, err);
    CF_THEN(st, make_input(s->pair, side, conv, &r, i, vars, &r.arena, &in, err));
    if (st == CF_OK && s->server == NULL) {
        st = make_tokens(s, &r.arena, &in, err);
    }
    CF_THEN(st, score(s, side, &in, &r.arena, n, sum, err));
    cf_arena_deinit(&r.arena);
    return st;
}

/* ---- all replies of a conversation -------------------------------------- */

/* The state of one call. */
typedef struct scoring {
    cf_scorer *s;
    cf_conversation *const *conv;
    const json_t *vars;
    cf_arena arena;
} scoring;

static bool ends_all(cf_status st)
{
    return st == CF_ENOMEM || st == CF_ECANCELLED;
}

/* The i-th reply on one side, into *out; v[0 .. side) are ready. */
static cf_status score_side(scoring *c, int side, const replies *r, size_t i, input *v,
                            cf_reply_score *out, cf_error *err)
{
    const cf_scorer *s = c->s;
    out->place[side] = i < r[side].n ? r[side].place[i] : 0;
    CF_TRY(
        make_input(s->pair, side, c->conv[side], &r[side], i, c->vars, &c->arena, &v[side], err));
    if (s->server == NULL) {
        CF_TRY(make_tokens(s, &c->arena, &v[side], err));
    }
    if (side == 1 && out->has[0] && are_same(v)) {
        out->has[1] = out->is_once = true;
        out->n[1] = out->n[0];
        out->sum[1] = out->sum[0];
        return CF_OK;
    }
    CF_TRY(score(s, side, &v[side], &c->arena, &out->n[side], &out->sum[side], err));
    out->has[side] = true;
    return CF_OK;
}

/* The i-th reply of each side. */
static cf_status score_reply(scoring *c, const replies *r, size_t i, cf_reply_score *out,
                             cf_error *err)
{
    input v[2] = {{.n = 0}, {.n = 0}};
    for (int side = 0; side < 2; side++) {
        cf_error why = {0};
        cf_status st = score_side(c, side, r, i, v, out, &why);
        if (ends_all(st)) {
            *err = why;
            return st;
        }
        if (st != CF_OK && out->why[0] == '\0') {
            snprintf(out->why, sizeof out->why, "%c: %.90s", 'A' + side, why.text);
        }
    }
    return CF_OK;
}

cf_status cf_scorer_run(cf_scorer *s, cf_conversation *const conv[2], const json_t *vars,
                        cf_scored_fn fn, void *ud, cf_error *err)
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
