/*
 * easy_chat.c - a message to a confab handle, its tools, and the reply.
 */
#include <stdatomic.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/json/json_writer.h"
#include "templates/easy/easy.h"

struct cf_tool_result {
    cf_buf text;
    bool is_there, has_failed;
};

static void put(cf_tool_result *result, const char *text, bool has_failed)
{
    if (result == NULL || text == NULL) {
        return;
    }
    cf_buf_deinit(&result->text);
    cf_buf_adds(&result->text, text);
    result->is_there = true;
    result->has_failed = has_failed;
}

void cf_tool_return(cf_tool_result *result, const char *text)
{
    put(result, text, false);
}

void cf_tool_fail(cf_tool_result *result, const char *why)
{
    put(result, why, true);
}

/* ---- what the caller hears ---------------------------------------------- */

static void tell(const confab *c, cf_heard kind, cf_str text)
{
    if (c->heard != NULL && text.n > 0) {
        c->heard(c->heard_user, kind, text.p, text.n);
    }
}

static void tell_call(const confab *c, const cf_tool_call *call)
{
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_error ignored;
    cf_jw_init(&w, &b);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "name", call->name);
    cf_jw_raw(&w, "arguments", call->arguments);
    cf_jw_str(&w, "id", call->id);
    cf_jw_end(&w);
    if (cf_jw_finish(&w, &ignored) == CF_OK) {
        tell(c, CF_HEARD_CALL, cf_buf_str(&b));
    }
    cf_buf_deinit(&b);
}

static void tell_token(confab *c, const cf_chat_event *event)
{
    cf_str json;
    const cf_tokenizer *tok =
        c->opened.engine != NULL ? cf_engine_tokenizer(c->opened.engine) : NULL;
    if (cf_easy__keep_token(&c->kept, tok, event, &json) == CF_OK && c->chat.n_top != 0) {
        tell(c, CF_HEARD_TOKEN, json);
    }
}

static void on_event(const cf_chat_event *event, void *ud)
{
    confab *c = ud;
    switch (event->kind) {
    case CF_CHAT_PROMPT:
        cf_easy__begin_reply(c, event);
        break;
    case CF_CHAT_TOKEN:
        tell_token(c, event);
        break;
    case CF_CHAT_TEXT:
        tell(c, CF_HEARD_TEXT, event->text);
        break;
    case CF_CHAT_THINKING:
        tell(c, CF_HEARD_THINKING, event->text);
        break;
    case CF_CHAT_CALL:
        tell_call(c, event->call);
        break;
    case CF_CHAT_NOTE:
        tell(c, CF_HEARD_NOTE, event->text);
        break;
    default:
        break; /* cf_last_reply() has the rest */
    }
}

void cf_on_reply(confab *c, cf_heard_fn fn, void *user)
{
    cf_error ignored;
    if (cf_easy__may(c, &ignored) == CF_OK) {
        c->heard = fn;
        c->heard_user = user;
    }
}

/* ---- the tool loop ------------------------------------------------------ */

static cf_call_verdict decide(void *ud, const cf_pending_call *call, cf_buf *reason)
{
    (void)ud;
    (void)call;
    (void)reason;
    return CF_CALL_RUN; /* the program added the tool so that confab runs it */
}

/* The text as the model gets it. */
static cf_status read_result(const cf_buf *text, json_t **out, cf_error *err)
{
    *out = json_stringn(cf_buf_cstr(text), text->n);
    if (*out != NULL) {
        return CF_OK;
    }
    return cf_utf8_valid_prefix(cf_buf_cstr(text), text->n) == text->n
               ? cf_oom(err)
               : cf_fail(err, CF_EFORMAT, "the result is not UTF-8");
}

static const cf_easy_tool *find_tool(const confab *c, cf_str name)
{
    for (size_t i = 0; i < c->n_tool; i++) {
        if (cf_str_is(name, c->tool[i].name)) {
            return &c->tool[i];
        }
    }
    return NULL;
}

static cf_status run_call(void *ud, const cf_pending_call *call, json_t **out, cf_error *err)
{
    const cf_easy_tool *tool = find_tool(ud, call->name);
    cf_tool_result result = {.text = CF_BUF_INIT};
    cf_buf arguments = CF_BUF_INIT;
    cf_json_write(&arguments, call->arguments);
    cf_status st = cf_buf_check(&arguments, err);
    if (st == CF_OK && (tool == NULL || tool->fn == NULL)) {
        st = cf_fail(err, CF_ENOTFOUND, "this tool cannot be run");
    }
    if (st == CF_OK) {
        tool->fn(tool->user, cf_buf_cstr(&arguments), &result);
        st = cf_buf_check(&result.text, err);
    }
    if (st == CF_OK && !result.is_there) {
        st = cf_fail(err, CF_EIO, "the tool gave no result");
    } else if (st == CF_OK && result.has_failed) {
        st = cf_fail(err, CF_EIO, "%s", cf_buf_cstr(&result.text));
    }
    CF_THEN(st, read_result(&result.text, out, err));
    cf_buf_deinit(&arguments);
    cf_buf_deinit(&result.text);
    return st;
}

static void done_call(void *ud, const cf_pending_call *call, const json_t *result)
{
    const confab *c = ud;
    cf_buf b = CF_BUF_INIT;
    (void)call;
    cf_json_write(&b, result);
    if (!b.failed) {
        tell(c, CF_HEARD_RESULT, cf_buf_str(&b));
    }
    cf_buf_deinit(&b);
}

/* ---- one message -------------------------------------------------------- */

static cf_status send(confab *c, const json_t *message, cf_error *err)
{
    cf_turn_options options = {.chat = c->chat};
    options.chat.grammar = c->grammar;
    options.chat.vocab = c->grammar != NULL ? c->vocab : NULL;
    cf_send s = {
        .message = message, .options = &options, .fn = on_event, .ud = c, .cancel = &c->cancel};
    cf_tool_loop loop = {.decide = decide, .run = run_call, .done = done_call, .ud = c};
    cf_sent_deinit(&c->last);
    cf_sent_init(&c->last);
    if (c->n_tool > 0) {
        return cf_conversation_run(c->conv, c->opened.backend, &s, &loop, &c->last, err);
    }
    CF_TRY(cf_conversation_send(c->conv, c->opened.backend, &s, &c->last, err));
    c->last.usage = c->last.response.usage; /* of the only round */
    return CF_OK;
}

const char *cf_chat(confab *c, const char *message, cf_error *err)
{
    json_t *m = NULL;
    cf_status st = cf_easy__may(c, err);
    if (st != CF_OK) {
        return NULL;
    }
    if (message != NULL) {
        st = cf_easy__message(&m, "user", message, err);
    }
    cf_easy__begin(c);
    CF_THEN(st, send(c, m, err));
    cf_easy__end(c);
    json_decref(m);
    if (st == CF_OK || st == CF_ECANCELLED) {
        c->kept.at = cf_conversation_head(c->conv);
    }
    if (st != CF_OK) {
        return NULL;
    }
    cf_str text = cf_json_get_str(c->last.response.message, "content");
    cf_buf_deinit(&c->reply);
    cf_buf_add(&c->reply, text.p, text.n);
    return cf_buf_check(&c->reply, err) == CF_OK ? cf_buf_cstr(&c->reply) : NULL;
}

void cf_interrupt(confab *c)
{
    if (c != NULL) {
        atomic_store(&c->cancel, true);
    }
}
