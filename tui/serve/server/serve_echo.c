/*
 * serve_echo.c - prompts that are repeated before their replies, with how likely
 * each of their tokens is.
 */
#include <math.h>
#include <string.h>

#include "tui/serve/server/serve_impl.h"

enum { ECHO_TOP_MAX = 20 };

typedef struct scored {
    float log_p; /* NaN: nothing is before it */
    cf_candidate top[ECHO_TOP_MAX];
    size_t n_top;
} scored;

struct cf_serve__echo {
    const cf_tokenizer *tok;
    cf_str text;
    const cf_token_span *tokens; /* [n] */
    size_t n, n_added;           /* the first of them are the server's, not the text's */
    scored *scores;              /* [n]; NULL: they are not wanted */
    size_t n_top;
    cf_sampler *sampler; /* while the scores are computed */
    cf_status st;        /* likewise */
    cf_error err;
};

/* The logits after a token are about the next one. */
static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    cf_serve__echo *e = ud;
    cf_draw draw;
    cf_token ignored;
    const size_t next = (size_t)pos + 1;
    if (next >= e->n || e->st != CF_OK) {
        return;
    }
    scored *to = &e->scores[next];
    e->st = cf_sampler_draw(e->sampler, logits, NULL, 0, NULL, e->n_top, &ignored, &draw, &e->err);
    if (e->st == CF_OK) {
        to->log_p = logits[e->tokens[next].id] - draw.log_z;
        to->n_top = draw.n_top;
        memcpy(to->top, draw.top, draw.n_top * sizeof *to->top);
    }
}

/* All of the prompt, on a timeline of its own: what a cache has gives no
 * logits. */
static cf_status compute(cf_serve__echo *e, const cf_serve *s, cf_session *session,
                         cf_cancel *cancel, cf_arena *arena, cf_error *err)
{
    cf_token *ids = cf_arena_calloc(arena, e->n + 1, sizeof *ids);
    if (ids == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < e->n; i++) {
        ids[i] = e->tokens[i].id;
    }
    cf_advance part = {.session = session, .ids = ids, .n = e->n, .logits = on_logits, .ud = e};
    while (part.n > 0) {
        CF_TRY(cf_serve__pass(s->slots, &part, cancel, err));
        part.ids += part.n_done;
        part.n -= part.n_done;
    }
    if (e->st != CF_OK) {
        *err = e->err;
    }
    return e->st;
}

static cf_status score(cf_serve__echo *e, const cf_serve *s, const cf_serve__slot *slot,
                       cf_cancel *cancel, cf_arena *arena, cf_error *err)
{
    const cf_sampling greedy = {.temperature = 0};
    cf_session *session = NULL;
    e->scores = cf_arena_calloc(arena, e->n + 1, sizeof *e->scores);
    if (e->scores == NULL) {
        return cf_oom_for(err, "the scores");
    }
    e->scores[0].log_p = NAN;
    cf_status st = cf_sampler_new(&e->sampler, &greedy, cf_tokenizer_n_vocab(e->tok), err);
    CF_THEN(st, cf_serve__session(s->slots, slot, &session, err));
    if (st == CF_OK && e->n > cf_session_n_ctx(session)) {
        st = cf_fail(err, CF_ELIMIT, "%zu tokens do not fit the context of %u", e->n,
                     cf_session_n_ctx(session));
    }
    CF_THEN(st, compute(e, s, session, cancel, arena, err));
    if (session != NULL) {
        cf_serve__session_free(s->slots, session);
    }
    cf_sampler_free(e->sampler);
    e->sampler = NULL;
    return st;
}

cf_status cf_serve__echo_new(cf_serve__echo **out, const cf_serve *s, const cf_serve__slot *slot,
                             const cf_prompt *prompt, const cf_token_list *tokens, size_t n_top,
                             cf_cancel *cancel, cf_arena *arena, cf_error *err)
{
    cf_serve__echo *e = cf_arena_calloc(arena, 1, sizeof *e);
    if (e == NULL) {
        return cf_oom(err);
    }
    *e = (cf_serve__echo){.tok = s->tok,
                          .text = prompt->text,
                          .tokens = tokens->v,
                          .n = tokens->n,
                          .n_top = n_top < ECHO_TOP_MAX ? n_top : ECHO_TOP_MAX};
    while (e->n_added < e->n && e->tokens[e->n_added].len == 0) {
        e->n_added++;
    }
    if (n_top > 0 && e->n > 0) {
        CF_TRY(score(e, s, slot, cancel, arena, err));
    }
    *out = e;
    return CF_OK;
}

void cf_serve__echo_write(const cf_serve__echo *e, cf_wire_writer *w, uint32_t i, cf_buf *out)
{
    for (size_t k = e->n_added; e->scores != NULL && k < e->n; k++) {
        const cf_token_span *t = &e->tokens[k];
        const scored *s = &e->scores[k];
        const cf_wire_token token = {
            .text = cf_str_make(e->text.p + t->off, t->len), .id = t->id, .log_p = s->log_p};
        cf_serve__write_token(w, i, &token, s->top, s->n_top, e->tok, out);
    }
    cf_wire_write(w, &(cf_wire_event){.kind = CF_WIRE_TEXT, .choice = i, .text = e->text}, out);
}
