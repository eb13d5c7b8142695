/*
 * run_json.c - writes the events of a reply as lines of JSON.
 */
#include "tui/cli/talk/run_json.h"

#include <stddef.h>

#include "tui/cli/answers/facts.h"

#define TIMING(name, kind)                                \
    {                                                     \
#name, CF_FACT_##kind, offsetof(cf_timings, name) \
    }
static const cf_fact timings[] = {
    TIMING(render_us, U64),  TIMING(tokenise_us, U64), TIMING(prefill_us, U64),
    TIMING(first_us, U64),   TIMING(decode_us, U64),   TIMING(total_us, U64),
    TIMING(n_prefill, U32),  TIMING(n_decode, U32),    TIMING(n_passes, U32),
    TIMING(n_drafted, U32),  TIMING(n_accepted, U32),  TIMING(n_retries, U32),
    {NULL, CF_FACT_TEXT, 0},
};

static const cf_fact usage[] = {
    {"prompt_tokens", CF_FACT_U64, offsetof(cf_usage, n_prompt)},
    {"completion_tokens", CF_FACT_U64, offsetof(cf_usage, n_reply)},
    {"total_tokens", CF_FACT_U64, offsetof(cf_usage, n_total)},
    {"cached_tokens", CF_FACT_U64, offsetof(cf_usage, n_cached)},
    {NULL, CF_FACT_TEXT, 0},
};

/* A server's candidates have texts, the built-in engine's have ids. */
static void json_top(cf_jw *w, const cf_chat_token *t)
{
    if (t->n_top == 0 && t->draw == NULL) {
        return;
    }
    cf_jw_array(w, "top");
    for (size_t i = 0; i < t->n_top; i++) {
        cf_jw_array(w, NULL);
        cf_jw_str(w, NULL, t->top[i].text);
        cf_jw_float(w, NULL, t->top[i].p);
        cf_jw_end(w);
    }
    for (size_t i = 0; t->draw != NULL && i < t->draw->n_top; i++) {
        cf_jw_array(w, NULL);
        cf_jw_int(w, NULL, t->draw->top[i].id);
        cf_jw_float(w, NULL, t->draw->top[i].p_raw);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void json_token(cf_jw *w, const cf_chat_token *t)
{
    if (t->id != CF_TOKEN_NONE) {
        cf_jw_int(w, "id", t->id);
    }
    if (t->p >= 0) {
        cf_jw_float(w, "p", t->p);
    }
    if (t->n_allowed > 0) {
        cf_jw_uint(w, "allowed", t->n_allowed);
        cf_jw_float(w, "allowed_mass", t->draw != NULL ? t->draw->allowed_mass : 1);
    }
    if (t->is_forced) {
        cf_jw_bool(w, "forced", true);
    }
    if (t->is_drafted) {
        cf_jw_bool(w, "drafted", true);
    }
    json_top(w, t);
}

void cf_run_json_stop(cf_jw *w, const cf_stop *s)
{
    cf_jw_text(w, "reason", cf_stop_reason_name(s->reason));
    if (s->what[0] != '\0') {
        cf_jw_text(w, "what", s->what);
    }
    if (s->reason == CF_STOP_ERROR) {
        cf_jw_text(w, "fault", cf_fault_name(s->fault));
        cf_jw_text(w, "message", s->err.text);
    }
}

static void json_call(cf_jw *w, const cf_chat_event *ev)
{
    const cf_tool_call *c = ev->call;
    cf_jw_uint(w, "index", ev->index);
    cf_jw_str(w, "name", c->name);
    cf_jw_raw(w, "arguments", c->arguments);
    if (c->id.n > 0) {
        cf_jw_str(w, "id", c->id);
    }
    cf_jw_text(w, "status", cf_tool_status_name(c->status));
}

void cf_run_json_usage(cf_jw *w, const char *key, const cf_usage *u)
{
    cf_jw_object(w, key);
    cf_facts_json(w, usage, u);
    cf_jw_end(w);
}

void cf_run_json_begin(cf_jw *w, cf_buf *out, const char *event)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "event", event);
}

void cf_run_json_end(cf_jw *w)
{
    cf_jw_end(w);
    w->out->failed = w->out->failed || cf_jw_finish(w, NULL) != CF_OK;
    cf_buf_addc(w->out, '\n');
}

void cf_run_json_event(cf_buf *out, const cf_chat_event *ev, int candidate)
{
    cf_jw w;
    cf_run_json_begin(&w, out, cf_chat_event_name(ev->kind));
    if (candidate >= 0) {
        cf_jw_int(&w, "candidate", candidate);
    }
    if (ev->text.n > 0 && ev->kind != CF_CHAT_CALL) {
        cf_jw_bytes(&w, "text", ev->text);
    }
    switch (ev->kind) {
    case CF_CHAT_ENCODE:
        cf_jw_uint(&w, "index", ev->index);
        /* fall through */
    case CF_CHAT_PREFILL:
        cf_jw_uint(&w, "done", ev->n_done);
        cf_jw_uint(&w, "total", ev->n_total);
        break;
    case CF_CHAT_TOKEN:
        json_token(&w, &ev->token);
        break;
    case CF_CHAT_THINKING:
        cf_jw_str(&w, "channel", ev->channel);
        break;
    case CF_CHAT_CALL:
        json_call(&w, ev);
        break;
    case CF_CHAT_CALL_FAILED:
        cf_jw_text(&w, "message", ev->stop.err.text);
        break;
    case CF_CHAT_USAGE:
        cf_facts_json(&w, usage, &ev->usage);
        break;
    case CF_CHAT_TIMINGS:
        cf_facts_json(&w, timings, &ev->timings);
        if (ev->timings.engine != NULL) {
            cf_jw_text(&w, "engine", ev->timings.engine);
        }
        break;
    case CF_CHAT_PROMPT: /* --show-prompt is the way to see it */
    case CF_CHAT_STOP:   /* the caller writes the rest, with what it adds */
    case CF_CHAT_RAW:
    case CF_CHAT_TEXT:
    case CF_CHAT_CALL_DELTA:
    case CF_CHAT_CALL_PART:
    case CF_CHAT_NOTE:
        break;
    }
    cf_run_json_end(&w);
}
