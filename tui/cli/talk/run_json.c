/*
 * run_json.c - writes the events of a reply as lines of JSON.
 */
#include "tui/cli/talk/run_json.h"

#include "core/base/json.h"
#include "tui/cli/answers/json_text.h"

static void json_token(cf_buf *b, const cf_chat_token *t)
{
    if (t->id != CF_TOKEN_NONE) {
        cf_buf_addf(b, ",\"id\":%d", (int)t->id);
    }
    if (t->p >= 0) {
        cf_buf_adds(b, ",\"p\":");
        cf_json_text_float(b, t->p);
    }
    if (t->n_allowed > 0) {
        cf_buf_addf(b, ",\"allowed\":%u,\"allowed_mass\":", (unsigned)t->n_allowed);
        cf_json_text_float(b, t->draw != NULL ? t->draw->allowed_mass : 1);
    }
    if (t->is_forced) {
        cf_buf_adds(b, ",\"forced\":true");
    }
    if (t->is_drafted) {
        cf_buf_adds(b, ",\"drafted\":true");
    }
    for (size_t i = 0; i < t->n_top; i++) {
        cf_buf_adds(b, i == 0 ? ",\"top\":[[" : ",[");
        cf_json_write_str(b, t->top[i].text);
        cf_buf_addc(b, ',');
        cf_json_text_float(b, t->top[i].p);
        cf_buf_adds(b, i + 1 == t->n_top ? "]]" : "]");
    }
    if (t->draw != NULL) {
        cf_buf_adds(b, ",\"top\":[");
        for (size_t i = 0; i < t->draw->n_top; i++) {
            cf_buf_addf(b, "%s[%d,", i > 0 ? "," : "", (int)t->draw->top[i].id);
            cf_json_text_float(b, t->draw->top[i].p_raw);
            cf_buf_addc(b, ']');
        }
        cf_buf_addc(b, ']');
    }
}

static void json_timings(cf_buf *b, const cf_timings *t)
{
    cf_buf_addf(b,
                ",\"render_us\":%llu,\"tokenise_us\":%llu,\"prefill_us\":%llu,"
                "\"first_us\":%llu,\"decode_us\":%llu,\"total_us\":%llu,"
                "\"n_prefill\":%u,\"n_decode\":%u,\"n_passes\":%u,\"n_accepted\":%u,"
                "\"n_retries\":%u",
                (unsigned long long)t->render_us, (unsigned long long)t->tokenise_us,
                (unsigned long long)t->prefill_us, (unsigned long long)t->first_us,
                (unsigned long long)t->decode_us, (unsigned long long)t->total_us,
                (unsigned)t->n_prefill, (unsigned)t->n_decode, (unsigned)t->n_passes,
                (unsigned)t->n_accepted, (unsigned)t->n_retries);
}

void cf_run_json_stop(cf_buf *b, const cf_stop *s)
{
    cf_buf_addf(b, ",\"reason\":\"%s\"", cf_stop_reason_name(s->reason));
    if (s->what[0] != '\0') {
        cf_buf_adds(b, ",\"what\":");
        cf_json_write_str(b, cf_str_from(s->what));
    }
    if (s->reason == CF_STOP_ERROR) {
        cf_buf_addf(b, ",\"fault\":\"%s\",\"message\":", cf_fault_name(s->fault));
        cf_json_write_str(b, cf_str_from(s->err.text));
    }
}

static void json_call(cf_buf *b, const cf_chat_event *ev)
{
    const cf_tool_call *c = ev->call;
    cf_buf_addf(b, ",\"index\":%zu,\"name\":", ev->index);
    cf_json_write_str(b, c->name);
    cf_buf_adds(b, ",\"arguments\":");
    cf_buf_add(b, c->arguments.p, c->arguments.n);
    if (c->id.n > 0) {
        cf_buf_adds(b, ",\"id\":");
        cf_json_write_str(b, c->id);
    }
    cf_buf_addf(b, ",\"status\":\"%s\"", cf_tool_status_name(c->status));
}

void cf_run_json_usage(cf_buf *b, const cf_usage *u)
{
    cf_buf_addf(b,
                "\"prompt_tokens\":%llu,\"completion_tokens\":%llu,"
                "\"total_tokens\":%llu,\"cached_tokens\":%llu",
                (unsigned long long)u->n_prompt, (unsigned long long)u->n_reply,
                (unsigned long long)u->n_total, (unsigned long long)u->n_cached);
}

void cf_run_json_event(cf_buf *b, const cf_chat_event *ev, int candidate)
{
    cf_buf_addf(b, "{\"event\":\"%s\"", cf_chat_event_name(ev->kind));
    if (candidate >= 0) {
        cf_buf_addf(b, ",\"candidate\":%d", candidate);
    }
    if (ev->text.n > 0 && ev->kind != CF_CHAT_CALL) {
        cf_buf_addc(b, ',');
        cf_json_text_bytes(b, "text", ev->text);
    }
    switch (ev->kind) {
    case CF_CHAT_PROMPT:
        break; /* --show-prompt is the way to see it */
    case CF_CHAT_ENCODE:
        cf_buf_addf(b, ",\"index\":%zu", ev->index);
        /* fall through */
    case CF_CHAT_PREFILL:
        cf_buf_addf(b, ",\"done\":%llu,\"total\":%llu", (unsigned long long)ev->n_done,
                    (unsigned long long)ev->n_total);
        break;
    case CF_CHAT_TOKEN:
        json_token(b, &ev->token);
        break;
    case CF_CHAT_CALL:
        json_call(b, ev);
        break;
    case CF_CHAT_CALL_FAILED:
        cf_buf_adds(b, ",\"message\":");
        cf_json_write_str(b, cf_str_from(ev->stop.err.text));
        break;
    case CF_CHAT_USAGE:
        cf_buf_addc(b, ',');
        cf_run_json_usage(b, &ev->usage);
        break;
    case CF_CHAT_TIMINGS:
        json_timings(b, &ev->timings);
        break;
    case CF_CHAT_STOP: /* the caller writes the rest, with what it adds */
    case CF_CHAT_TEXT:
    case CF_CHAT_THINKING:
    case CF_CHAT_CALL_DELTA:
    case CF_CHAT_NOTE:
        break;
    }
    cf_buf_adds(b, "}\n");
}
