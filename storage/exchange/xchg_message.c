/*
 * xchg_message.c - messages of Gemini and Xaibo as turns of OpenAI's form.
 *
 * core/api/message_form.h takes such a message apart; one that holds several
 * results becomes several turns.  A result that is not text is kept as JSON
 * text, as a tool message of OpenAI's has it.
 */
#include "core/api/message_form.h"
#include "storage/exchange/xchg.h"

static cf_status content_as_text(json_t *m, cf_error *err)
{
    const json_t *content = json_object_get(m, "content");
    if (!cf_str_is(cf_json_get_str(m, "role"), "tool") || json_is_string(content) ||
        json_is_array(content)) {
        return CF_OK;
    }
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, content);
    bool ok = json_object_set_new(m, "content", cf_json_buf(&text)) == 0;
    cf_buf_deinit(&text);
    return ok ? CF_OK : cf_sql__oom(err);
}

static cf_status say_form(cf_build *b, const json_t *m, cf_error *err)
{
    cf_formed formed;
    CF_TRY(cf_messages_form(&formed, m, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < json_array_size(formed.messages); i++) {
        json_t *message = json_array_get(formed.messages, i);
        CF_THEN(st, content_as_text(message, err));
        CF_THEN(st, cf_build__say(b, json_incref(message), NULL, err));
    }
    cf_formed_deinit(&formed);
    return st;
}

cf_status cf_build__say_any(cf_build *b, const json_t *m, cf_error *err)
{
    cf_message_form form = cf_message_form_of(m);
    return form == CF_MESSAGE_GEMINI || form == CF_MESSAGE_XAIBO
               ? say_form(b, m, err)
               : cf_build__say(b, json_incref(cf_json_ref(m)), NULL, err);
}
