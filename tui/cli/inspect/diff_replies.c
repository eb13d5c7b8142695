/*
 * diff_replies.c - draws both replies token by token.
 */
#include "tui/cli/inspect/diff_replies.h"

#include <string.h>

#include "core/api/batch.h"
#include "core/api/sampling.h"
#include "core/api/session.h"

/* A reply while it is written. */
typedef struct side {
    cf_session *session;
    cf_sampler *sampler;
    cf_token *ids; /* [n_prompt + n]: prompt and reply */
    size_t n_prompt, n;
    size_t n_max; /* of the reply */
    bool is_done, is_cut;
} side;

/* ---- opening ------------------------------------------------------------ */

static cf_status open_side(cf_diff_replies *r, int i, cf_error *err)
{
    const cf_session_options o = {.n_ctx = r->o.n_ctx};
    cf_open_options adapters = {.lora = r->o.lora[i], .n_lora = r->o.n_lora[i]};
    CF_TRY(cf_session_new(&r->session[i], r->engine, &o, err));
    return cf_open_use_adapters(&r->adapters[i], r->engine, &adapters, &r->session[i], 1, err);
}

cf_status cf_diff_replies_open(cf_diff_replies *r, cf_engine *engine,
                               const cf_diff_replies_options *o, cf_error *err)
{
    *r = (cf_diff_replies){.o = *o, .engine = engine};
    CF_TRY(open_side(r, 0, err));
    return open_side(r, 1, err);
}

void cf_diff_replies_close(cf_diff_replies *r)
{
    for (int i = 0; i < 2; i++) {
        cf_session_free(r->session[i]);
        cf_opened_adapters_close(&r->adapters[i]);
    }
    *r = (cf_diff_replies){.engine = NULL};
}

/* ---- writing ------------------------------------------------------------ */

/* Computes a prompt, and prepares to draw after it. */
static cf_status begin(side *s, const cf_diff_replies *r, int i, const cf_prompt *prompt,
                       cf_cancel *cancel, cf_arena *arena, cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(r->engine);
    const cf_run run = {.cancel = cancel};
    cf_token_list list;
    s->session = r->session[i];
    CF_TRY(cf_prompt_tokenise(&list, prompt, cf_str_make(NULL, 0), tok, arena, err));
    if (list.n == 0) {
        return cf_fail(err, CF_EINVAL, "the prompt is empty");
    }
    size_t n_ctx = cf_session_n_ctx(s->session);
    size_t room = list.n < n_ctx ? n_ctx - list.n : 0;
    s->n_prompt = list.n;
    s->n_max = r->o.max_tokens < room ? r->o.max_tokens : room;
    s->ids = cf_arena_calloc(arena, s->n_prompt + s->n_max, sizeof *s->ids);
    if (s->ids == NULL) {
        return cf_oom_for(err, "the replies");
    }
    for (size_t k = 0; k < list.n; k++) {
        s->ids[k] = list.v[k].id;
    }
    const cf_sampling sampling = {.temperature = r->o.temperature, .top_p = 1, .seed = r->o.seed};
    CF_TRY(cf_sampler_new(&s->sampler, &sampling, cf_tokenizer_n_vocab(tok), err));
    return cf_session_sync(s->session, s->ids, s->n_prompt, &run, NULL, err);
}

/* Draws the next token of a side; is_done is set where the reply ends. */
static cf_status draw(side *s, const cf_tokenizer *tok, cf_error *err)
{
    cf_token id;
    if (s->n == s->n_max) {
        s->is_done = s->is_cut = true;
        return CF_OK;
    }
    CF_TRY(cf_sampler_draw(s->sampler, cf_session_logits(s->session), s->ids, s->n_prompt + s->n,
                           NULL, 0, &id, NULL, err));
    if (cf_tokenizer_is_end(tok, id)) {
        s->is_done = true;
        return CF_OK;
    }
    s->ids[s->n_prompt + s->n++] = id;
    return CF_OK;
}

/* One token for each side that has not ended, in one pass. */
static cf_status step(side v[2], const cf_tokenizer *tok, cf_cancel *cancel, cf_error *err)
{
    const cf_run run = {.cancel = cancel};
    cf_session *live[2];
    cf_token ids[2];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        side *s = &v[i];
        if (!s->is_done) {
            CF_TRY(draw(s, tok, err));
        }
        if (!s->is_done && s->n < s->n_max) {
            live[n] = s->session;
            ids[n++] = s->ids[s->n_prompt + s->n - 1];
        }
    }
    return n != 0 ? cf_session_step_many(live, ids, n, &run, err) : CF_OK;
}

/* The reply's bytes, and where each token's are. */
static cf_status finish(const side *s, const cf_tokenizer *tok, cf_arena *arena, cf_diff_reply *out,
                        cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_token_span *v = cf_arena_calloc(arena, s->n + 1, sizeof *v);
    for (size_t i = 0; v != NULL && i < s->n; i++) {
        v[i].id = s->ids[s->n_prompt + i];
        v[i].off = (uint32_t)text.n;
        cf_tokenizer_piece(&text, tok, v[i].id, true);
        v[i].len = (uint32_t)text.n - v[i].off;
    }
    char *copy = text.failed ? NULL : cf_arena_strndup(arena, cf_buf_cstr(&text), text.n);
    *out = (cf_diff_reply){.tokens = {.v = v, .n = s->n}, .is_cut = s->is_cut};
    out->text.text = cf_str_make(copy, copy != NULL ? text.n : 0);
    cf_buf_deinit(&text);
    return v != NULL && copy != NULL ? CF_OK : cf_oom_for(err, "the replies");
}

cf_status cf_diff_replies_write(cf_diff_replies *r, const cf_prompt prompt[2], cf_cancel *cancel,
                                cf_arena *arena, cf_diff_reply out[2], cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(r->engine);
    side v[2] = {{.session = NULL}, {.session = NULL}};
    cf_status st = CF_OK;
    for (int i = 0; st == CF_OK && i < 2; i++) {
        st = begin(&v[i], r, i, &prompt[i], cancel, arena, err);
    }
    while (st == CF_OK && !(v[0].is_done && v[1].is_done)) {
        st = step(v, tok, cancel, err);
    }
    for (int i = 0; i < 2; i++) {
        CF_THEN(st, finish(&v[i], tok, arena, &out[i], err));
        cf_sampler_free(v[i].sampler);
    }
    return st;
}
