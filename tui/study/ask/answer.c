/*
 * answer.c - a context as a request, and as a prompt.
 */
#include "tui/study/ask/answer.h"

#include "core/json/json_builder.h"
#include "templates/chat_template.h"

cf_status cf_answer(cf_backend *backend, const cf_question *q, cf_chat_response *r, cf_error *err)
{
    json_t *variables = cf_json_copy(q->context);
    const cf_chat_request request = {.messages = json_object_get(q->context, "messages"),
                                     .tools = q->tools,
                                     .extra_context = variables,
                                     .options = q->options,
                                     .reply_prefix = q->prefix,
                                     .cancel = q->cancel};
    if (variables == NULL) {
        return cf_oom_for(err, "the context");
    }
    (void)json_object_del(variables, "messages"); /* what is not there stays so */
    (void)json_object_del(variables, "tools");
    if (q->forces_reply) {
        (void)json_object_del(variables, "add_generation_prompt");
    }
    cf_status st = cf_backend_generate(backend, &request, r, err);
    json_decref(variables);
    return st;
}

/* A copy with the first n messages. */
static cf_status first_messages(json_t **out, const json_t *context, size_t n, cf_error *err)
{
    const json_t *all = json_object_get(context, "messages");
    json_t *copy = cf_json_copy(context);
    cf_jb list = CF_JB_INIT;
    cf_jb_array(&list, NULL);
    for (size_t i = 0; i < n && i < json_array_size(all); i++) {
        cf_jb_add(&list, NULL, json_array_get(all, i));
    }
    cf_jb_end(&list);
    if (n < json_array_size(all)) {
        cf_jb_set(&list, copy, "messages", cf_jb_done(&list));
    }
    cf_status st = copy != NULL ? cf_jb_check(&list, err) : cf_oom_for(err, "the context");
    cf_jb_deinit(&list);
    if (st != CF_OK) {
        json_decref(copy);
        return st;
    }
    *out = copy;
    return CF_OK;
}

cf_status cf_answer_prompt(cf_prompt *out, const cf_prompt_renderer *renderer,
                           const cf_tokenizer *tok, const json_t *context, size_t n,
                           cf_arena *arena, cf_error *err)
{
    json_t *copy = NULL;
    cf_status st = first_messages(&copy, context, n, err);
    if (st == CF_OK && tok != NULL) {
        st = cf_prompt_add_special(copy, tok, err);
    }
    CF_THEN(st, renderer->render(renderer->ud, copy, arena, out, err));
    json_decref(copy);
    return st;
}
