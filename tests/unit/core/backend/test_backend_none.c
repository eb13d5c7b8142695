/*
 * test_backend_none.c - without a model: prompts are shown, sends are refused
 * in words, and the message stays in the tree.
 */
#include "core/api/conversation.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

static void count_stops(const cf_chat_event *event, void *ud)
{
    *(int *)ud += event->kind == CF_CHAT_STOP;
}

static void test_none__renders_and_refuses(void **state)
{
    (void)state;
    cf_backend *backend;
    cf_conversation *conv;
    cf_error err;
    cf_sent sent;
    cf_arena arena;
    cf_prompt prompt;
    int n_stops = 0;
    T_OK(cf_backend_none_new(&backend, (cf_prompt_renderer){0}, NULL, &err), err);
    T_OK(cf_conversation_new(&conv, NULL, &err), err);
    json_t *message = json_pack("{s:s,s:s}", "role", "user", "content", "Hi");
    cf_send send = {.message = message, .fn = count_stops, .ud = &n_stops};
    cf_arena_init(&arena, 0);
    T_OK(cf_conversation_preview(conv, backend, &send, &arena, &prompt, NULL, &err), err);
    assert_true(prompt.text.n > 2);
    cf_sent_init(&sent);
    T_FAILS(cf_conversation_send(conv, backend, &send, &sent, &err), CF_ENOTFOUND);
    assert_int_equal(n_stops, 1);
    assert_int_equal(sent.response.stop.fault, CF_FAULT_MODEL_NOT_FOUND);
    assert_true(cf_uuid_is_nil(sent.reply));
    assert_int_equal(cf_conversation_n_turns(conv), 1);
    cf_sent_deinit(&sent);
    cf_arena_deinit(&arena);
    json_decref(message);
    cf_conversation_free(conv);
    cf_backend_free(backend);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none__renders_and_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
