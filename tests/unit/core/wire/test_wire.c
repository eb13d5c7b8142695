/*
 * test_wire.c - requests and answers of every interface as messages, and
 * answers cut anywhere give the same.
 */
#include "core/wire/wire.h"
#include "tests/support/t.h"

static void check_request(cf_api api, const char *body, const char *want)
{
    cf_wire_request r;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    T_OK(cf_wire_request_read(&r, api, cf_str_from(body), &err), err);
    cf_json_write(&out, r.messages);
    if (r.tools != NULL) {
        cf_json_write(&out, r.tools);
    }
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    cf_wire_request_deinit(&r);
}

static void test_wire_request__openai(void **state)
{
    (void)state;
    check_request(CF_API_OPENAI_CHAT,
                  "{\"model\":\"m\",\"messages\":[{\"role\":\"user\","
                  "\"content\":\"hi\",\"x\":1}],\"tools\":[{\"type\":"
                  "\"function\",\"function\":{\"name\":\"f\"}}]}",
                  "[{\"role\":\"user\",\"content\":\"hi\",\"x\":1}]"
                  "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]");
    check_request(CF_API_OPENAI_COMPLETIONS, "{\"prompt\":[\"once\"]}",
                  "[{\"role\":\"user\",\"content\":\"once\"}]");
    check_request(CF_API_OPENAI_RESPONSES,
                  "{\"instructions\":\"be brief\",\"input\":[{\"role\":\"user\","
                  "\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]},{\"type\":"
                  "\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":"
                  "\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c\","
                  "\"output\":\"4\"}],\"tools\":[{\"type\":\"function\",\"name\":\"f\","
                  "\"parameters\":{}}]}",
                  "[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\","
                  "\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":null,"
                  "\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                  "\"arguments\":\"{}\"},\"id\":\"c\"}]},{\"role\":\"tool\","
                  "\"content\":\"4\",\"tool_call_id\":\"c\"}]"
                  "[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                  "\"parameters\":{}}}]");
}

/* Calls of custom tools, and of tools that are the server's own. */
static void test_wire_request__other_calls(void **state)
{
    (void)state;
    check_request(CF_API_OPENAI_RESPONSES,
                  "{\"input\":[{\"type\":\"custom_tool_call\",\"call_id\":\"a\","
                  "\"name\":\"patch\",\"input\":\"*** Begin\"},{\"type\":"
                  "\"custom_tool_call_output\",\"call_id\":\"a\",\"output\":\"Done\"},"
                  "{\"type\":\"local_shell_call\",\"id\":\"b\",\"action\":{\"command\":"
                  "[\"ls\"]}},{\"type\":\"local_shell_call_output\",\"id\":\"b\","
                  "\"output\":\"a.txt\"}]}",
                  "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"type\":"
                  "\"function\",\"function\":{\"name\":\"patch\",\"arguments\":\"{"
                  "\\\"input\\\":\\\"*** "
                  "Begin\\\"}\"},\"id\":\"a\"}]},{\"role\":\"tool\","
                  "\"content\":\"Done\",\"tool_call_id\":\"a\"},{\"role\":"
                  "\"assistant\",\"content\":null,\"tool_calls\":[{\"type\":"
                  "\"function\",\"function\":{\"name\":\"local_shell\",\"arguments\":\"{"
                  "\\\"command\\\":[\\\"ls\\\"]}\"},\"id\":\"b\"}]},{\"role\":\"tool\","
                  "\"content\":\"a.txt\",\"tool_call_id\":\"b\"}]");
}

static void test_wire_request__anthropic(void **state)
{
    (void)state;
    check_request(CF_API_ANTHROPIC_MESSAGES,
                  "{\"system\":[{\"type\":\"text\",\"text\":\"be brief\","
                  "\"cache_control\":{}}],\"messages\":[{\"role\":\"user\","
                  "\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[{\"type\":"
                  "\"text\",\"text\":\"so\"},{\"type\":\"tool_use\",\"id\":\"t\","
                  "\"name\":\"f\",\"input\":{\"x\":1}}]},{\"role\":\"user\",\"content\":"
                  "[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"4\"},"
                  "{\"type\":\"text\",\"text\":\"on\"}]}],\"tools\":[{\"name\":\"f\","
                  "\"input_schema\":{\"type\":\"object\"}}]}",
                  "[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\","
                  "\"content\":\"hi\"},{\"role\":\"assistant\",\"tool_calls\":[{"
                  "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
                  "\"{\\\"x\\\":1}\"},\"id\":\"t\"}],\"content\":\"so\"},{\"role\":"
                  "\"tool\",\"content\":\"4\",\"tool_call_id\":\"t\"},{\"role\":"
                  "\"user\",\"content\":\"on\"}]"
                  "[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                  "\"parameters\":{\"type\":\"object\"}}}]");
}

static void test_wire_request__ollama(void **state)
{
    (void)state;
    check_request(CF_API_OLLAMA_CHAT,
                  "{\"messages\":[{\"role\":\"assistant\",\"content\":\"\","
                  "\"tool_calls\":[{\"function\":{\"name\":\"f\","
                  "\"arguments\":{\"x\":1}}}]}]}",
                  "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{"
                  "\"type\":\"function\",\"function\":{\"name\":\"f\","
                  "\"arguments\":\"{\\\"x\\\":1}\"}}]}]");
    check_request(CF_API_OLLAMA_GENERATE, "{\"system\":\"s\",\"prompt\":\"p\"}",
                  "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":"
                  "\"user\",\"content\":\"p\"}]");
}

static void test_wire_request__bad(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "", "[]", "{", "{\"messages\":7}", "{\"messages\":[{}]}", "\"x\""};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        cf_wire_request r;
        cf_error err;
        T_FAILS(cf_wire_request_read(&r, CF_API_OPENAI_CHAT, cf_str_from(bodies[i]), &err),
                CF_EFORMAT);
        assert_true(err.text[0] != '\0');
    }
    cf_wire_request r;
    cf_error err;
    T_FAILS(
        cf_wire_request_read(&r, CF_API_GEMINI_GENERATE, cf_str_from("{\"contents\":[5]}"), &err),
        CF_EFORMAT);
    assert_string_equal(err.text, "contents[0] is not an object");
}

static void test_wire_api__of_paths(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path;
        cf_api api;
    } rows[] = {
        {"POST", "/v1/chat/completions", CF_API_OPENAI_CHAT},
        {"POST", "/x/chat/completions?a=/api/chat", CF_API_OPENAI_CHAT},
        {"POST", "/v1/completions", CF_API_OPENAI_COMPLETIONS},
        {"POST", "/v1/messages", CF_API_ANTHROPIC_MESSAGES},
        {"POST", "/v1/threads/7/messages", CF_API_NONE},
        {"POST", "/v1/messages/count_tokens", CF_API_NONE},
        {"POST", "/api/chat", CF_API_OLLAMA_CHAT},
        {"GET", "/v1/models", CF_API_OPENAI_MODELS},
        {"GET", "/v1/chat/completions", CF_API_NONE},
        {"DELETE", "/v1/responses", CF_API_NONE},
        {"POST", "", CF_API_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(cf_api_of(cf_str_from(rows[i].method), cf_str_from(rows[i].path)),
                         rows[i].api);
    }
}

/* ---- answers ------------------------------------------------------------ */

static void describe(cf_buf *out, const cf_wire_reader *r)
{
    for (size_t i = 0; i < r->reply.n_choices; i++) {
        json_t *m = cf_wire_reply_message(&r->reply, i);
        cf_json_write(out, m);
        cf_buf_addf(out, " %s;", r->reply.choice[i].end);
        json_decref(m);
    }
    cf_buf_addf(out, " %d/%d/%d %s %s %s", (int)r->reply.usage.n_prompt,
                (int)r->reply.usage.n_cached, (int)r->reply.usage.n_reply, r->reply.model,
                r->reply.id, r->error);
}

/* Reads it whole, in single bytes, and cut in two anywhere. */
static void check_answer(cf_api api, const char *body, const char *want)
{
    size_t n = strlen(body);
    for (size_t cut = 0; cut <= n + 1; cut++) {
        cf_wire_reader r;
        cf_error err;
        cf_buf out = CF_BUF_INIT;
        cf_wire_reader_init(&r, api);
        size_t step = cut > n ? 1 : cut;
        for (size_t at = 0; at < n;) {
            size_t k = cut > n ? 1 : at == 0 && step > 0 ? step : n - at;
            T_OK(cf_wire_reader_feed(&r, cf_str_make(body + at, k), &err), err);
            at += k;
        }
        T_OK(cf_wire_reader_finish(&r, &err), err);
        describe(&out, &r);
        assert_string_equal(cf_buf_cstr(&out), want);
        cf_buf_deinit(&out);
        cf_wire_reader_deinit(&r);
    }
}

/* A message without content is one whose content is null. */
static void test_wire_request__no_content(void **state)
{
    (void)state;
    static const cf_api apis[] = {CF_API_OPENAI_RESPONSES, CF_API_ANTHROPIC_MESSAGES,
                                  CF_API_GEMINI_GENERATE};
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++) {
        json_t *written[2] = {NULL, NULL};
        for (size_t k = 0; k < 2; k++) {
            cf_error err;
            cf_wire_request r = {.messages =
                                     json_pack("[{s:s, s:[{s:s, s:s, s:{s:s, s:s}}]}]", "role",
                                               "assistant", "tool_calls", "type", "function", "id",
                                               "c", "function", "name", "f", "arguments", "{}")};
            if (k == 1) {
                json_object_set_new(json_array_get(r.messages, 0), "content", json_null());
            }
            T_OK(cf_wire_request_write(&written[k], apis[i], &r, &err), err);
            cf_wire_request_deinit(&r);
        }
        assert_true(json_equal(written[0], written[1]));
        json_decref(written[0]);
        json_decref(written[1]);
    }
}

/* Calls and choices beyond the limits are left out, which the reply says. */
static void test_wire_answer__too_many(void **state)
{
    (void)state;
    static const struct {
        int choice, call;
        bool fits;
    } rows[] = {{0, 0, true},   {0, CF_WIRE_CALLS_MAX - 1, true},   {0, CF_WIRE_CALLS_MAX, false},
                {0, -1, false}, {CF_WIRE_CHOICES_MAX - 1, 0, true}, {CF_WIRE_CHOICES_MAX, 0, false},
                {-1, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_wire_reader r;
        cf_error err;
        cf_buf body = CF_BUF_INIT;
        cf_buf_addf(&body,
                    "{\"choices\":[{\"index\":%d,\"message\":{\"tool_calls\":[{\"index\":%d,"
                    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}",
                    rows[i].choice, rows[i].call);
        cf_wire_reader_init(&r, CF_API_OPENAI_CHAT);
        T_OK(cf_wire_reader_feed(&r, cf_buf_str(&body), &err), err);
        T_OK(cf_wire_reader_finish(&r, &err), err);
        assert_int_equal(r.has_too_many, !rows[i].fits);
        size_t n = 0;
        for (size_t k = 0; k < r.reply.n_choices; k++) {
            n += r.reply.choice[k].n_calls;
        }
        assert_int_equal(n, rows[i].fits);
        cf_wire_reader_deinit(&r);
        cf_buf_deinit(&body);
    }
}

static void test_wire_answer__openai_stream(void **state)
{
    (void)state;
    check_answer(CF_API_OPENAI_CHAT,
                 ": hello\n\ndata: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{"
                 "\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
                 "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":"
                 "\"hm\"}}]}\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{"
                 "\"content\":\"h\xc3\xa9\"}}]}\n\ndata: {\"choices\":[{\"index\":0,"
                 "\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{"
                 "\"name\":\"f\",\"arguments\":\"{\\\"x\"}}]}}]}\n\ndata: {\"choices\":"
                 "[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
                 "\"arguments\":\"\\\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n"
                 "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
                 "\"completion_tokens\":3,\"prompt_tokens_details\":{"
                 "\"cached_tokens\":4}}}\n\ndata: [DONE]\n\n",
                 "{\"role\":\"assistant\",\"content\":\"h\xc3\xa9\","
                 "\"reasoning_content\":\"hm\",\"tool_calls\":[{\"type\":\"function\","
                 "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"},"
                 "\"id\":\"t\"}]} tool_calls; 9/4/3 m c1 ");
}

static void test_wire_answer__openai_whole(void **state)
{
    (void)state;
    check_answer(CF_API_OPENAI_CHAT,
                 "\n{\"id\":\"c\",\"choices\":[{\"index\":0,\"message\":{"
                 "\"role\":\"assistant\",\"content\":\"a\"},\"finish_reason\":"
                 "\"stop\"},{\"index\":1,\"message\":{\"content\":\"b\"},"
                 "\"finish_reason\":\"length\"}],\"timings\":{\"cache_n\":3,"
                 "\"prompt_n\":4,\"predicted_n\":2}}",
                 "{\"role\":\"assistant\",\"content\":\"a\"} stop;"
                 "{\"role\":\"assistant\",\"content\":\"b\"} length;"
                 " 7/3/2  c ");
    check_answer(CF_API_OPENAI_CHAT, "{\"error\":{\"message\":\"no way\",\"code\":400}}",
                 " -1/-1/-1   no way");
    check_answer(CF_API_OPENAI_CHAT,
                 "{\"choices\":[{\"message\":{\"content\":\"a\",\"refusal\":\"b\"}}]}",
                 "{\"role\":\"assistant\",\"content\":\"ab\"} ; -1/-1/-1   ");
    check_answer(CF_API_OPENAI_COMPLETIONS,
                 "data: {\"choices\":[{\"index\":0,\"text\":\"up\"}]}\n\n",
                 "{\"role\":\"assistant\",\"content\":\"up\"} ; -1/-1/-1   ");
}

static void test_wire_answer__responses(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\","
        "\"model\":\"m\",\"output\":[{\"type\":\"reasoning\",\"summary\":[{"
        "\"type\":\"summary_text\",\"text\":\"hm\"}]},{\"type\":\"message\","
        "\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
        "\"text\":\"hi\"}]},{\"type\":\"function_call\",\"call_id\":\"c\","
        "\"name\":\"f\",\"arguments\":\"{}\"}],\"usage\":{\"input_tokens\":5,"
        "\"output_tokens\":2,\"input_tokens_details\":{\"cached_tokens\":1}}}";
    static const char want[] =
        "{\"role\":\"assistant\",\"content\":\"hi\",\"reasoning_content\":"
        "\"hm\",\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":"
        "\"f\",\"arguments\":\"{}\"},\"id\":\"c\"}]} completed; 5/1/2 m r ";
    cf_buf stream = CF_BUF_INIT;
    check_answer(CF_API_OPENAI_RESPONSES, whole, want);
    cf_buf_addf(&stream,
                "event: response.created\ndata: {\"type\":"
                "\"response.created\",\"response\":{\"id\":\"r\",\"status\":"
                "\"in_progress\",\"output\":[]}}\n\ndata: {\"type\":"
                "\"response.output_text.delta\",\"output_index\":1,"
                "\"delta\":\"h\"}\n\ndata: {\"type\":"
                "\"response.output_item.added\",\"output_index\":2,\"item\":{"
                "\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\"}}"
                "\n\ndata: {\"type\":\"response.completed\",\"response\":%s}"
                "\n\n",
                whole);
    check_answer(CF_API_OPENAI_RESPONSES, cf_buf_cstr(&stream), want);
    cf_buf_deinit(&stream);
}

static void test_wire_answer__anthropic(void **state)
{
    (void)state;
    static const char want[] =
        "{\"role\":\"assistant\",\"content\":\"hi\",\"tool_calls\":[{\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
        "\"{\\\"x\\\":1}\"},\"id\":\"t\"}]} tool_use; 12/4/6 m i ";
    check_answer(CF_API_ANTHROPIC_MESSAGES,
                 "{\"type\":\"message\",\"id\":\"i\",\"model\":\"m\",\"content\":[{"
                 "\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"tool_use\",\"id\":"
                 "\"t\",\"name\":\"f\",\"input\":{\"x\":1}}],\"stop_reason\":"
                 "\"tool_use\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\""
                 ":4,\"cache_creation_input_tokens\":3,\"output_tokens\":6}}",
                 want);
    check_answer(CF_API_ANTHROPIC_MESSAGES,
                 "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{"
                 "\"id\":\"i\",\"model\":\"m\",\"content\":[],\"usage\":{"
                 "\"input_tokens\":5,\"cache_read_input_tokens\":4,"
                 "\"cache_creation_input_tokens\":3,\"output_tokens\":1}}}\n\n"
                 "event: ping\ndata: {\"type\":\"ping\"}\n\n"
                 "data: {\"type\":\"content_block_start\",\"index\":0,"
                 "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
                 "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{"
                 "\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
                 "data: {\"type\":\"content_block_start\",\"index\":1,"
                 "\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\","
                 "\"input\":{}}}\n\n"
                 "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{"
                 "\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"x\\\":1}\"}}\n\n"
                 "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                 "\"tool_use\"},\"usage\":{\"output_tokens\":6}}\n\n"
                 "data: {\"type\":\"message_stop\"}\n\n",
                 want);
}

/* Two signatures are not one: the message keeps the first. */
static void test_wire_answer__gemini_signatures(void **state)
{
    (void)state;
    check_answer(
        CF_API_GEMINI_GENERATE,
        "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\"},"
        "\"thoughtSignature\":\"one\"},{\"text\":\"hi\",\"thoughtSignature\":\"two\"}]},"
        "\"finishReason\":\"STOP\"}]}",
        "{\"role\":\"assistant\",\"content\":\"hi\",\"reasoning_signature\":\"one\","
        "\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
        "\"\"}}]} STOP; -1/-1/-1   ");
}

static void test_wire_answer__ollama(void **state)
{
    (void)state;
    check_answer(CF_API_OLLAMA_CHAT,
                 "{\"model\":\"m\",\"message\":{\"role\":\"assistant\","
                 "\"content\":\"h\"},\"done\":false}\n{\"message\":{"
                 "\"content\":\"i\"},\"done\":false}\n{\"message\":{"
                 "\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\","
                 "\"prompt_eval_count\":8,\"eval_count\":2}",
                 "{\"role\":\"assistant\",\"content\":\"hi\"} stop; 8/-1/2 m  ");
    check_answer(CF_API_OLLAMA_GENERATE, "{\"response\":\"hi\",\"done\":true}\n",
                 "{\"role\":\"assistant\",\"content\":\"hi\"} stop; -1/-1/-1 "
                 "  ");
}

/* ---- answers with text after a call ---------------------------------------- */

static cf_wire_event say(cf_wire_event_kind kind, const char *text)
{
    return (cf_wire_event){.kind = kind, .text = cf_str_from(text)};
}

static void write_answer(cf_buf *out, cf_api api, bool is_stream)
{
    const cf_wire_event events[] = {say(CF_WIRE_THINKING, "hm"),
                                    say(CF_WIRE_SIGNATURE, "s1"),
                                    say(CF_WIRE_TEXT, "one"),
                                    {.kind = CF_WIRE_CALL,
                                     .id = cf_str_from("c"),
                                     .name = cf_str_from("f"),
                                     .text = cf_str_from("{}")},
                                    say(CF_WIRE_THINKING, "so"),
                                    say(CF_WIRE_TEXT, "two"),
                                    say(CF_WIRE_END, "")};
    cf_wire_writer w;
    cf_wire_writer_init(
        &w, &(cf_wire_writer_options){.api = api, .is_stream = is_stream, .id = "7", .model = "m"});
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        cf_wire_write(&w, &events[i], out);
    }
    cf_wire_write_finish(&w, NULL, out);
    assert_false(out->failed);
    cf_wire_writer_deinit(&w);
}

/* The ids, types and texts of the items of a response. */
static void describe_items(cf_buf *out, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const json_t *part = json_array_get(json_object_get(item, "content"), 0);
        const char *text = json_string_value(json_object_get(part, "text"));
        const char *sign = json_string_value(json_object_get(item, "encrypted_content"));
        cf_buf_addf(out, "%s %s %s\n", json_string_value(json_object_get(item, "id")),
                    text != NULL ? text : "-", sign != NULL ? sign : "-");
    }
}

/* Collects the items of a stream by their output_index.  A content part is closed before
 * another opens, and before its item ends; a call has none. */
static cf_status on_response(cf_str data, void *ud, cf_error *err)
{
    json_t **items = ud;
    json_t *v = NULL;
    T_OK(cf_json_read(&v, data.p, data.n, err), *err);
    const cf_str type = cf_json_get_str(v, "type");
    const bool is_added = cf_str_is(type, "response.content_part.added");
    if (is_added || cf_str_is(type, "response.content_part.done")) {
        assert_int_equal(json_object_get(items[3], "open") == NULL, is_added);
        if (is_added) {
            json_object_set(items[3], "open", json_object_get(v, "item_id"));
        } else {
            assert_true(
                json_equal(json_object_get(items[3], "open"), json_object_get(v, "item_id")));
            json_object_del(items[3], "open");
        }
    } else if (cf_str_is(type, "response.output_item.done")) {
        assert_int_equal(json_object_size(items[3]), 0);
        const json_t *at = json_object_get(v, "output_index");
        assert_int_equal(json_integer_value(at), json_array_size(items[0]));
        json_array_append(items[0], json_object_get(v, "item"));
    } else if (cf_str_is(type, "response.completed")) {
        items[1] = json_incref(json_object_get(json_object_get(v, "response"), "output"));
    }
    json_decref(v);
    return CF_OK;
}

static void test_wire_writer__responses_keep_the_order(void **state)
{
    (void)state;
    static const char want[] = "rs_7 hm s1\nmsg_7 one -\nfc_7_0 - -\nrs_7_1 so -\n"
                               "msg_7_1 two -\n";
    json_t *items[4] = {json_array(), NULL, NULL, json_object()};
    json_t *whole = NULL;
    cf_sse sse;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    write_answer(&text, CF_API_OPENAI_RESPONSES, true);
    cf_sse_init(&sse);
    T_OK(cf_sse_feed(&sse, text.p, text.n, on_response, items, &err), err);
    cf_sse_deinit(&sse);
    cf_buf_reset(&text);
    write_answer(&text, CF_API_OPENAI_RESPONSES, false);
    T_OK(cf_json_read(&whole, text.p, text.n, &err), err);
    items[2] = json_incref(json_object_get(whole, "output"));
    for (size_t i = 0; i < 3; i++) {
        cf_buf got = CF_BUF_INIT;
        describe_items(&got, items[i]);
        assert_string_equal(cf_buf_cstr(&got), want);
        cf_buf_deinit(&got);
        json_decref(items[i]);
    }
    json_decref(items[3]);
    json_decref(whole);
    cf_buf_deinit(&text);
}

static void test_wire_writer__anthropic_keeps_the_order(void **state)
{
    (void)state;
    static const char want[] = "[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s1\"},"
                               "{\"type\":\"text\",\"text\":\"one\"},"
                               "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}},"
                               "{\"type\":\"thinking\",\"thinking\":\"so\",\"signature\":\"\"},"
                               "{\"type\":\"text\",\"text\":\"two\"}]";
    json_t *v = NULL;
    cf_error err;
    cf_buf text = CF_BUF_INIT, got = CF_BUF_INIT;
    write_answer(&text, CF_API_ANTHROPIC_MESSAGES, false);
    T_OK(cf_json_read(&v, text.p, text.n, &err), err);
    cf_json_write(&got, json_object_get(v, "content"));
    assert_string_equal(cf_buf_cstr(&got), want);
    json_decref(v);
    cf_buf_deinit(&text);
    cf_buf_deinit(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_request__openai),
        cmocka_unit_test(test_wire_request__other_calls),
        cmocka_unit_test(test_wire_request__anthropic),
        cmocka_unit_test(test_wire_request__ollama),
        cmocka_unit_test(test_wire_request__bad),
        cmocka_unit_test(test_wire_api__of_paths),
        cmocka_unit_test(test_wire_answer__openai_stream),
        cmocka_unit_test(test_wire_answer__openai_whole),
        cmocka_unit_test(test_wire_request__no_content),
        cmocka_unit_test(test_wire_answer__too_many),
        cmocka_unit_test(test_wire_answer__responses),
        cmocka_unit_test(test_wire_answer__anthropic),
        cmocka_unit_test(test_wire_answer__ollama),
        cmocka_unit_test(test_wire_answer__gemini_signatures),
        cmocka_unit_test(test_wire_writer__responses_keep_the_order),
        cmocka_unit_test(test_wire_writer__anthropic_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
