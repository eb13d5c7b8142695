/*
 * test_serve_asked.c - a request is answered as it asks, or refused with the
 * field that is wrong, in the form that its client reads.
 */
#include "core/json/json.h"
#include "tests/support/http_ask.h"
#include "tests/support/served.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}]"
#define TOOL                                                                     \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","            \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{\"enum\":[1]}}," \
    "\"required\":[\"x\"],\"additionalProperties\":false}}}]"

static json_t *post(const served *f, const char *path, const char *body, long status)
{
    cf_buf answer = CF_BUF_INIT;
    cf_error err;
    json_t *v = NULL;
    const long got = http_ask(f->url, path, NULL, body, &answer);
    if (got != status) {
        fail_msg("%ld and not %ld: %s: %s", got, status, body, cf_buf_cstr(&answer));
    }
    T_OK(cf_json_read(&v, cf_buf_cstr(&answer), answer.n, &err), err);
    cf_buf_deinit(&answer);
    return v;
}

/* Each field that would change the reply is named in the error. */
static void test_asked__refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body, *field;
    } rows[] = {
        {"/v1/chat/completions", "{" USER ",\"foo\":1}", "foo"},
        {"/v1/chat/completions", "{" USER ",\"a.b\":1}", "a.b"},
        {"/v1/chat/completions", "{" USER ",\"verbosity\":\"high\"}", "verbosity"},
        {"/v1/chat/completions", "{" USER ",\"tool_choice\":\"required\"}", "tool_choice"},
        {"/v1/chat/completions", "{" USER "," TOOL ",\"tool_choice\":\"some\"}", "tool_choice"},
        {"/v1/chat/completions", "{" USER ",\"reasoning_effort\":\"huge\"}", "reasoning_effort"},
        {"/v1/chat/completions", "{" USER ",\"max_completion_tokens\":-3}",
         "max_completion_tokens"},
        {"/v1/chat/completions", "{" USER ",\"temperature\":\"hot\"}", "temperature"},
        {"/v1/chat/completions", "{" USER ",\"tools\":[{\"type\":\"web_search\"}]}", "tools[0]"},
        {"/v1/chat/completions", "{" USER "," TOOL ",\"guided_regex\":\"a\"}", "tools"},
        {"/v1/chat/completions", "{\"messages\":[{\"role\":\"wizard\",\"content\":\"x\"}]}",
         "messages[0].role"},
        {"/v1/chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"document\"}]}]}",
         "messages[0].content[0]"},
        {"/v1/chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
         "\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
         "\"arguments\":\"{}\"}}]}]}",
         "messages[1]"},
        {"/v1/chat/completions", "{\"messages\":5}", "messages"},
        {"/v1/chat/completions", "{\"messages\":[5]}", "messages[0].role"},
        {"/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":5}]}",
         "messages[0].content"},
        {"/v1/chat/completions", "{" USER ",\"stream\":\"yes\"}", "stream"},
        {"/v1/chat/completions", "{" USER ",\"tools\":{}}", "tools"},
        {"/v1/chat/completions", "{" USER ",\"logprobs\":\"yes\"}", "logprobs"},
        {"/v1/chat/completions", "{" USER ",\"top_logprobs\":3}", "top_logprobs"},
        {"/v1/chat/completions", "{" USER ",\"logit_bias\":[]}", "logit_bias"},
        {"/v1/chat/completions", "{" USER ",\"logit_bias\":{\"\":1}}", "logit_bias"},
        {"/v1/chat/completions", "{" USER ",\"logit_bias\":{\"1\":1e300}}", "logit_bias"},
        {"/v1/chat/completions", "{" USER ",\"logit_bias\":{\"99999999\":1}}", "logit_bias"},
        {"/v1/chat/completions",
         "{" USER ",\"response_format\":{\"type\":\"json_object\"},\"guided_regex\":\"a\"}",
         "guided_regex"},
        {"/v1/chat/completions",
         "{" USER ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":5}}}",
         "response_format"},
        {"/v1/completions", "{\"prompt\":[-1]}", "prompt"},
        {"/v1/completions", "{\"prompt\":null}", "prompt"},
        {"/v1/completions", "{\"prompt\":\"a\",\"echo\":1}", "echo"},
        {"/v1/responses", "{\"input\":5}", "input"},
        {"/v1/responses",
         "{\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":\"item_reference\",\"id\":"
         "\"x\"}]}",
         "input[1]"},
        {"/v1/responses", "{\"input\":\"a\",\"text\":5}", "text"},
        {"/v1/responses", "{\"input\":\"a\",\"previous_response_id\":5}", "previous_response_id"},
        {"/tokenize", "{\"content\":5}", "content"},
        {"/detokenize", "{\"tokens\":[-1]}", "tokens"},
        {"/v1/completions", "{\"prompt\":\"a\",\"suffix\":\"b\"}", "suffix"},
        {"/v1/completions", "{\"prompt\":\"a\",\"best_of\":3}", "best_of"},
        {"/v1/completions", "{\"prompt\":[\"a\",\"b\",\"c\"],\"n\":9}", "prompt"},
        {"/v1/responses", "{\"input\":\"a\",\"background\":true}", "background"},
        {"/v1/responses", "{\"input\":\"a\",\"max_output_tokens\":\"x\"}", "max_output_tokens"},
        {"/v1/responses", "{\"input\":\"a\",\"text\":{\"format\":{\"type\":\"x\"}}}",
         "text.format"},
    };
    served f;
    served_setup(&f, "llama");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *v = post(&f, rows[i].path, rows[i].body, 400);
        const json_t *e = json_object_get(v, "error");
        assert_string_equal(cf_json_get_str(e, "param").p, rows[i].field);
        assert_string_equal(cf_json_get_str(e, "type").p, "invalid_request_error");
        assert_true(json_is_null(json_object_get(e, "code")));
        assert_non_null(strstr(cf_json_get_str(e, "message").p, rows[i].field));
        json_decref(v);
    }
    served_teardown(&f);
}

static void test_asked__refuses_long_texts(void **state)
{
    (void)state;
    served f;
    cf_buf body = CF_BUF_INIT;
    served_setup(&f, "llama");
    cf_buf_addf(&body, "{\"content\":\"%0*d\"}", (4 << 20) + 1, 0);
    json_decref(post(&f, "/tokenize", cf_buf_cstr(&body), 400));
    cf_buf_deinit(&body);
    served_teardown(&f);
}

/* Anthropic's clients read a message, Ollama's a text. */
static void test_asked__errors_of_each_client(void **state)
{
    (void)state;
    served f;
    served_setup(&f, "llama");
    json_t *v = post(&f, "/v1/messages", "{" USER ",\"container\":\"x\"}", 400);
    assert_string_equal(cf_json_get_str(v, "type").p, "error");
    const json_t *e = json_object_get(v, "error");
    assert_string_equal(cf_json_get_str(e, "type").p, "invalid_request_error");
    assert_non_null(strstr(cf_json_get_str(e, "message").p, "'container'"));
    json_decref(v);
    v = post(&f, "/api/chat", "{" USER ",\"options\":{\"mirostat\":2}}", 400);
    assert_non_null(strstr(cf_json_get_str(v, "error").p, "'options.mirostat'"));
    json_decref(v);
    v = post(&f, "/v1/messages/nothing", "{}", 404);
    assert_string_equal(cf_json_get_str(json_object_get(v, "error"), "type").p, "not_found_error");
    json_decref(v);
    served_teardown(&f);
}

static void test_asked__too_long_is_a_code(void **state)
{
    (void)state;
    served f;
    cf_buf body = CF_BUF_INIT;
    served_setup(&f, "llama");
    cf_buf_adds(&body, "{\"input\":\"");
    for (int i = 0; i < 4000; i++) {
        cf_buf_adds(&body, "x y ");
    }
    cf_buf_adds(&body, "\"}");
    json_t *v = post(&f, "/v1/responses", cf_buf_cstr(&body), 400);
    const json_t *e = json_object_get(v, "error");
    assert_string_equal(cf_json_get_str(e, "code").p, "context_length_exceeded");
    assert_string_equal(cf_json_get_str(e, "type").p, "invalid_request_error");
    json_decref(v);
    body.n -= strlen("\"}");
    cf_buf_adds(&body, "\"}],\"max_tokens\":5}");
    cf_buf asked = CF_BUF_INIT;
    cf_buf_addf(&asked, "{\"messages\":[{\"role\":\"user\",\"content\":%s",
                cf_buf_cstr(&body) + strlen("{\"input\":"));
    v = post(&f, "/v1/messages", cf_buf_cstr(&asked), 400);
    /* What agents look for, to compact, and what a person can do. */
    unsigned n, n_ctx, n_enough;
    assert_int_equal(sscanf(cf_json_get_str(json_object_get(v, "error"), "message").p,
                            "prompt is too long: %u tokens > %u %*[^-]--ctx %u", &n, &n_ctx,
                            &n_enough),
                     3);
    assert_true(n > n_ctx && n_enough > n);
    cf_buf_deinit(&asked);
    json_decref(v);
    cf_buf_deinit(&body);
    served_teardown(&f);
}

/* What cannot change a reply is taken, whatever it is, and so is null. */
static void test_asked__accepted(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body;
    } rows[] = {
        {"/v1/chat/completions",
         "{" USER ",\"max_tokens\":1,\"metadata\":{\"a\":\"b\"},\"store\":true,\"user\":\"u\","
         "\"prediction\":{\"type\":\"content\",\"content\":\"x\"},\"verbosity\":null,"
         "\"functions\":null,\"foo\":null,\"stream_options\":{\"include_obfuscation\":true}}"},
        {"/v1/chat/completions", "{" USER ",\"max_tokens\":1,\"reasoning_effort\":\"high\"}"},
        {"/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":1,\"best_of\":1,\"suffix\":\"\"}"},
        {"/v1/responses",
         "{\"input\":\"a\",\"max_output_tokens\":1,\"include\":[\"reasoning.encrypted_content\"],"
         "\"reasoning\":{\"effort\":\"low\",\"summary\":\"auto\"},\"truncation\":\"auto\"}"},
        {"/v1/messages", "{" USER ",\"max_tokens\":1,\"metadata\":{\"user_id\":\"u\"},"
                         "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}}"},
        {"/api/chat",
         "{" USER ",\"stream\":false,\"keep_alive\":\"5m\",\"think\":false,"
         "\"options\":{\"num_predict\":1,\"num_ctx\":4096,\"mirostat\":0,\"num_gpu\":1}}"},
    };
    served f;
    served_setup(&f, "llama");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_decref(post(&f, rows[i].path, rows[i].body, 200));
    }
    served_teardown(&f);
}

static const json_t *choice(const json_t *v, size_t i)
{
    return json_array_get(json_object_get(v, "choices"), i);
}

static cf_str said(const json_t *v, size_t i)
{
    const json_t *m = json_object_get(choice(v, i), "message");
    return m != NULL ? cf_json_get_str(m, "content") : cf_json_get_str(choice(v, i), "text");
}

static json_int_t usage(const json_t *v, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(v, "usage"), key));
}

/* No token is none, of a conversation and of a prompt. */
static void test_asked__no_tokens(void **state)
{
    (void)state;
    served f;
    served_setup(&f, "llama");
    json_t *v = post(&f, "/v1/chat/completions", "{" USER ",\"max_tokens\":0}", 200);
    assert_int_equal(said(v, 0).n, 0);
    assert_int_equal(usage(v, "completion_tokens"), 0);
    assert_string_equal(cf_json_get_str(choice(v, 0), "finish_reason").p, "length");
    json_decref(v);
    v = post(&f, "/v1/completions", "{\"prompt\":\"abc\",\"echo\":true,\"max_tokens\":0}", 200);
    assert_string_equal(said(v, 0).p, "abc");
    json_decref(v);
    served_teardown(&f);
}

/* A reply that is begun goes on: both parts are what one reply would be. */
static void test_asked__goes_on_with_a_reply(void **state)
{
    (void)state;
    static const char *const paths[] = {"/v1/chat/completions", "/v1/completions"};
    served f;
    served_setup(&f, "llama");
    json_t *a = post(&f, paths[0],
                     "{\"messages\":[{\"role\":\"user\",\"content\":\"abc\"},"
                     "{\"role\":\"assistant\",\"content\":\"Begun\"}],"
                     "\"temperature\":0,\"max_tokens\":6}",
                     200);
    json_t *b = post(&f, paths[1],
                     "{\"prompt\":\"<|user|>abc<|assistant|>Begun\",\"temperature\":0,"
                     "\"max_tokens\":6}",
                     200);
    assert_true(said(a, 0).n > 0);
    assert_string_equal(said(a, 0).p, said(b, 0).p);
    assert_int_equal(usage(a, "completion_tokens"), 6);
    json_decref(a);
    json_decref(b);
    served_teardown(&f);
}

/* A text, its tokens, and either in a list are the same prompt. */
static void test_asked__prompts(void **state)
{
    (void)state;
    served f;
    char body[400], ids[120] = "";
    served_setup(&f, "llama");
    json_t *tokens = post(&f, "/tokenize", "{\"content\":\"abcdefgh\",\"add_special\":true}", 200);
    const json_t *list = json_object_get(tokens, "tokens");
    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%d", i > 0 ? "," : "",
                 (int)json_integer_value(json_array_get(list, i)));
    }
#define SAME "\"temperature\":0,\"max_tokens\":6"
    json_t *one = post(&f, "/v1/completions", "{\"prompt\":\"abcdefgh\"," SAME "}", 200);
    snprintf(body, sizeof body, "{\"prompt\":[%s]," SAME "}", ids);
    json_t *as_ids = post(&f, "/v1/completions", body, 200);
    snprintf(body, sizeof body, "{\"prompt\":[\"abcdefgh\",[%s],\"zz\"]," SAME "}", ids);
    json_t *all = post(&f, "/v1/completions", body, 200);
    assert_string_equal(said(one, 0).p, said(as_ids, 0).p);
    assert_int_equal(json_array_size(json_object_get(all, "choices")), 3);
    assert_string_equal(said(all, 0).p, said(one, 0).p);
    assert_string_equal(said(all, 1).p, said(one, 0).p);
    assert_int_equal(usage(as_ids, "prompt_tokens"), json_array_size(list));
    json_decref(tokens);
    json_decref(one);
    json_decref(as_ids);
    json_decref(all);
    served_teardown(&f);
}

/* Repeating a prompt of two parts gives the second one's likelihood as the
 * reply to the first has it. */
static void test_asked__echo(void **state)
{
    (void)state;
    served f;
    char body[500];
    served_setup(&f, "llama");
    json_t *v = post(&f, "/v1/completions",
                     "{\"prompt\":\"abcd\",\"temperature\":0,\"max_tokens\":1,\"logprobs\":2,"
                     "\"echo\":true}",
                     200);
    const json_t *lists = json_object_get(choice(v, 0), "logprobs");
    const json_t *log_p = json_object_get(lists, "token_logprobs");
    const json_t *tokens = json_object_get(lists, "tokens");
    const size_t n = json_array_size(tokens);
    assert_true(n > 1);
    assert_int_equal(json_array_size(json_object_get(lists, "top_logprobs")), n);
    assert_true(cf_str_begins(said(v, 0), "abcd"));
    cf_buf all = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&all, json_string_value(json_array_get(tokens, i)));
    }
    assert_string_equal(cf_buf_cstr(&all), said(v, 0).p);
    /* The same text as a prompt: the generated token now is one of its own. */
    cf_buf_reset(&all);
    cf_json_write_str(&all, said(v, 0));
    snprintf(body, sizeof body, "{\"prompt\":%s,\"max_tokens\":0,\"logprobs\":2,\"echo\":true}",
             cf_buf_cstr(&all));
    json_t *again = post(&f, "/v1/completions", body, 200);
    const json_t *second =
        json_object_get(json_object_get(choice(again, 0), "logprobs"), "token_logprobs");
    if (json_array_size(second) == n) { /* the tokens are the same ones */
        for (size_t i = 1; i < n; i++) {
            assert_float_equal(json_number_value(json_array_get(log_p, i)),
                               json_number_value(json_array_get(second, i)), 1e-3);
        }
    }
    json_decref(v);
    json_decref(again);
    cf_buf_deinit(&all);
    served_teardown(&f);
}

static size_t n_calls(const json_t *v)
{
    return json_array_size(json_object_get(json_object_get(choice(v, 0), "message"), "tool_calls"));
}

/* A random model that has to call calls on and on; with one call allowed it
 * stops after that. */
static void test_asked__one_call(void **state)
{
    (void)state;
#define CALLS "{" USER "," TOOL ",\"tool_choice\":\"required\",\"max_tokens\":300,\"seed\":2"
    served f;
    served_setup(&f, "llama");
    json_t *many = post(&f, "/v1/chat/completions", CALLS "}", 200);
    json_t *one = post(&f, "/v1/chat/completions", CALLS ",\"parallel_tool_calls\":false}", 200);
    assert_true(n_calls(many) >= 1);
    assert_int_equal(n_calls(one), 1);
    assert_true(usage(one, "completion_tokens") <= usage(many, "completion_tokens"));
    json_decref(many);
    json_decref(one);
    served_teardown(&f);
}

/* With tools and a schema the reply is calls, or a value of the schema. */
static void test_asked__schema_with_tools(void **state)
{
    (void)state;
    served f;
    char body[900];
    size_t n_values = 0;
    served_setup(&f, "llama");
    for (int seed = 0; seed < 8; seed++) {
        snprintf(body, sizeof body,
                 "{" USER "," TOOL ",\"max_tokens\":200,\"seed\":%d,\"response_format\":{"
                 "\"type\":\"json_schema\",\"json_schema\":{\"schema\":{\"enum\":[\"yes\"]}}}}",
                 seed);
        json_t *v = post(&f, "/v1/chat/completions", body, 200);
        const bool is_value = cf_str_is(said(v, 0), "\"yes\"");
        assert_true(is_value || n_calls(v) > 0 ||
                    cf_str_is(cf_json_get_str(choice(v, 0), "finish_reason"), "length"));
        n_values += is_value;
        json_decref(v);
    }
    assert_true(n_values > 0);
    served_teardown(&f);
}

/* The arguments of a long call come in pieces, and are those of a whole
 * answer. */
static void test_asked__arguments_as_they_come(void **state)
{
    (void)state;
    static const char calls[] =
        "{" USER ",\"tool_choice\":\"required\",\"max_tokens\":300,\"seed\":%d,"
        "\"parallel_tool_calls\":false,\"tools\":[{\"type\":\"function\",\"function\":{"
        "\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{"
        "\"type\":\"string\",\"pattern\":\"^[a-z]{40}$\"}},\"required\":[\"x\"],"
        "\"additionalProperties\":false}}}]%s}";
    served f;
    char body[900];
    size_t n_pieces = 0;
    cf_buf answer = CF_BUF_INIT, whole = CF_BUF_INIT, stream = CF_BUF_INIT;
    served_setup(&f, "llama");
    for (int seed = 0; seed < 20 && n_pieces == 0; seed++) {
        snprintf(body, sizeof body, calls, seed, "");
        assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, body, &answer), 200);
        served_describe(&whole, &answer, CF_API_OPENAI_CHAT);
        if (strstr(cf_buf_cstr(&whole), "tool_calls;") == NULL) {
            continue; /* a random model that wrote blanks to the end */
        }
        snprintf(body, sizeof body, calls, seed,
                 ",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
        assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, body, &answer), 200);
        served_describe(&stream, &answer, CF_API_OPENAI_CHAT);
        assert_string_equal(cf_buf_cstr(&whole), cf_buf_cstr(&stream));
        const char *p = cf_buf_cstr(&answer);
        while ((p = strstr(p, "\"arguments\":")) != NULL) {
            n_pieces++;
            p++;
        }
    }
    assert_true(n_pieces > 5);
    cf_buf_deinit(&answer);
    cf_buf_deinit(&whole);
    cf_buf_deinit(&stream);
    served_teardown(&f);
}

/* As Codex asks: groups of tools, and tools of the server's own, beside functions.
 * A named tool leaves the prompt as it is. */
static void test_asked__named_tool_keeps_the_prompt(void **state)
{
    (void)state;
    static const char *const choices[] = {"\"auto\"", "\"required\"",
                                          "{\"type\":\"function\",\"name\":\"f\"}"};
    served f;
    json_int_t n[3];
    served_setup(&f, "llama");
    for (size_t i = 0; i < 3; i++) {
        cf_buf body = CF_BUF_INIT;
        cf_buf_addf(&body,
                    "{\"input\":\"a\",\"max_output_tokens\":1,\"tool_choice\":%s,\"tools\":["
                    "{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\"}},"
                    "{\"type\":\"function\",\"name\":\"g\",\"parameters\":{\"type\":\"object\"}},"
                    "{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[]},"
                    "{\"type\":\"web_search\"}]}",
                    choices[i]);
        json_t *v = post(&f, "/v1/responses", cf_buf_cstr(&body), 200);
        n[i] = json_integer_value(json_object_get(json_object_get(v, "usage"), "input_tokens"));
        json_decref(v);
        cf_buf_deinit(&body);
    }
    assert_true(n[0] > 0 && n[1] == n[0] && n[2] == n[0]);
    served_teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked__refused_by_name),
        cmocka_unit_test(test_asked__refuses_long_texts),
        cmocka_unit_test(test_asked__errors_of_each_client),
        cmocka_unit_test(test_asked__too_long_is_a_code),
        cmocka_unit_test(test_asked__accepted),
        cmocka_unit_test(test_asked__no_tokens),
        cmocka_unit_test(test_asked__goes_on_with_a_reply),
        cmocka_unit_test(test_asked__prompts),
        cmocka_unit_test(test_asked__echo),
        cmocka_unit_test(test_asked__one_call),
        cmocka_unit_test(test_asked__schema_with_tools),
        cmocka_unit_test(test_asked__arguments_as_they_come),
        cmocka_unit_test(test_asked__named_tool_keeps_the_prompt),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
