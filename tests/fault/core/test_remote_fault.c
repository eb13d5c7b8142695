/*
 * test_remote_fault.c - a reply of a model server whose n-th allocation fails,
 * for each n: either memory is said to have run out, or the request and the
 * reply are those of enough memory.
 */
#include "tests/support/t.h"
#include "core/api/conversation.h"
#include "core/api/reply_options.h"
#include "tests/support/fault.h"
#include "tests/support/path_server.h"

static const cf_path_answer answers[] = {
    {.path = "/v1/models", .body = "{\"data\":[{\"id\":\"m\"}]}"},
    {.path = "/v1/chat/completions",
     .body = "data: {\"id\":\"c1\",\"model\":\"m\",\"system_fingerprint\":\"f\",\"choices\":[{"
             "\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n"
             "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
             "\"id\":\"t\",\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"}}]}}]}"
             "\n\n"
             "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}],"
             "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n"
             "data: [DONE]\n\n"},
    {.path = NULL}};

static const char messages[] =
    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
    "\"text\":\"b\"}]},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\","
    "\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":{\"sum\":3}}]";

typedef struct setting {
    json_t *messages;
    char request[CF_PATH_TEXT_MAX]; /* with enough memory; "": not known yet */
    char reply[CF_PATH_TEXT_MAX];
} setting;

static cf_path_server server;

static cf_status generate(const setting *s, cf_buf *reply)
{
    const cf_remote_options o = {.n_retries = UINT32_MAX};
    const cf_str stop = cf_str_from("never");
    const cf_chat_options options = {.max_tokens = 9, .stop = &stop, .n_stop = 1, .n_top = 2};
    const cf_chat_request q = {.messages = s->messages, .options = &options};
    cf_backend *b = NULL;
    cf_chat_response out;
    cf_error err;
    CF_TRY(cf_backend_remote_new(&b, server.url, &o, &err));
    cf_chat_response_init(&out);
    cf_status st = cf_backend_generate(b, &q, &out, &err);
    if (st == CF_OK) {
        cf_json_write(reply, out.message);
        cf_json_write(reply, out.vendor);
        st = cf_buf_check(reply, &err);
    }
    cf_chat_response_deinit(&out);
    cf_backend_free(b);
    return st;
}

static cf_status ask(void *ud)
{
    setting *s = ud;
    cf_buf reply = CF_BUF_INIT;
    cf_path_server_start(&server, answers);
    cf_status st = generate(s, &reply);
    cf_path_server_stop(&server);
    if (st == CF_OK) {
        const char *request = cf_path_server_last(&server, "/v1/chat/completions");
        assert_non_null(request);
        if (s->request[0] == '\0') {
            snprintf(s->request, sizeof s->request, "%s", request);
            snprintf(s->reply, sizeof s->reply, "%s", cf_buf_cstr(&reply));
        }
        assert_string_equal(request, s->request);
        assert_string_equal(cf_buf_cstr(&reply), s->reply);
    }
    cf_buf_deinit(&reply);
    return st;
}

static void test_remote_fault__every_allocation(void **state)
{
    (void)state;
    static setting s;
    cf_error err;
    T_OK(cf_json_read(&s.messages, messages, sizeof messages - 1, &err), err);
    assert_int_equal(ask(&s), CF_OK);
    assert_non_null(strstr(s.request, "\"content\":\"ab\""));
    assert_non_null(strstr(s.reply, "\"system_fingerprint\":\"f\""));
    cf_fault_every_alloc(ask, &s, false);
    cf_fault_every_alloc(ask, &s, true);
    json_decref(s.messages);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_remote_fault__every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
