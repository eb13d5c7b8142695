/*
 * divergence.c - finds where a prompt leaves the cache, and says why.
 */
#include <stdio.h>
#include <string.h>

#include "core/backend/backend_impl.h"
#include "core/base/safe_text.h"

static void spell(cf_buf *out, const cf_tokenizer *tok, cf_token id)
{
    cf_buf raw = CF_BUF_INIT;
    if (id == CF_TOKEN_NONE) {
        cf_buf_adds(out, "the end");
        return;
    }
    if (cf_token_is_row(id)) {
        cf_buf_adds(out, "a row of an image or sound");
        return;
    }
    cf_tokenizer_piece(&raw, tok, id, true);
    cf_buf_addc(out, '\'');
    cf_safe_line(out, cf_buf_cstr(&raw), raw.n);
    cf_buf_addf(out, "' (%d)", (int)id);
    cf_buf_deinit(&raw);
}

static void describe_source(cf_divergence *d, const cf_prompt_cause *cause, cf_buf *out)
{
    switch (d->source) {
    case CF_SPAN_TEMPLATE:
        cf_buf_addf(out, "line %u of the template", d->line);
        if (cause != NULL) {
            cf_buf_addc(out, ' ');
            cf_prompt_cause_text(out, cause);
        }
        break;
    case CF_SPAN_MESSAGE:
        cf_buf_addf(out, "message %u%s", d->index + 1, d->path);
        break;
    case CF_SPAN_TOOL:
        cf_buf_addf(out, "tool %u", d->index + 1);
        break;
    case CF_SPAN_VARIABLE:
        cf_buf_addf(out, "variable %s", d->path);
        break;
    case CF_SPAN_COMPUTED:
        cf_buf_addf(out, "a computed value, line %u of the template", d->line);
        break;
    }
}

void cf_chat__find_divergence(cf_chat__run *run, const cf_session *session, const cf_prompt *prompt,
                              const cf_token_list *list, const cf_token *ids, size_t n_ids)
{
    size_t n_old;
    const cf_token *old = cf_session_tokens(session, &n_old);
    size_t at = 0;
    while (at < n_old && at < n_ids && old[at] == ids[at]) {
        at++;
    }
    cf_divergence *d = &run->out->divergence;
    if (at == n_old) {
        return; /* the prompt only goes on from what is there */
    }
    size_t keep = cf_session_would_keep(session, at);
    if (at == n_ids && keep + 1 >= at) {
        return; /* a retry: what follows the prompt was the last reply */
    }
    d->has = true;
    d->token = at;
    d->cached = old[at];
    d->wanted = at < n_ids ? ids[at] : CF_TOKEN_NONE;
    d->prompt_off = at < list->n ? list->v[at].off : (uint32_t)prompt->text.n;
    bool is_reply = at >= list->n; /* among the tokens it has to begin with */
    const cf_prompt_span *s = is_reply ? NULL : cf_prompt_span_at(prompt, d->prompt_off);
    if (s != NULL) {
        d->source = s->source;
        d->index = s->index;
        d->line = s->line;
        d->col = s->col;
        snprintf(d->path, sizeof d->path, "%.*s", (int)s->path.n, s->path.p);
    }
    const cf_tokenizer *tok = cf_engine_tokenizer(cf_session_engine(session));
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, "cached ");
    spell(&text, tok, d->cached);
    cf_buf_adds(&text, ", now ");
    spell(&text, tok, d->wanted);
    if (d->wanted != CF_TOKEN_NONE && is_reply) {
        cf_buf_adds(&text, ", chosen for this reply");
    } else if (d->wanted != CF_TOKEN_NONE) {
        cf_buf_adds(&text, " from ");
        describe_source(d, s != NULL ? s->cause : NULL, &text);
    }
    if (keep < at) { /* a recurrent model cannot stop just there */
        cf_buf_addf(&text, "; edit at %zu, state kept at %zu: %zu token%s again", at, keep,
                    at - keep, at - keep == 1 ? "" : "s");
    }
    snprintf(d->cause, sizeof d->cause, "%s", cf_buf_cstr(&text));
    cf_buf_deinit(&text);
}
