/*
 * test_serve_apis.c - the server in each of its interfaces: a request in the
 * form of one is answered in that form, whole and streamed, and what programs
 * ask beside is there.
 */
#include "core/base/version.h"
#include "core/json/json.h"
#include "tests/support/http_ask.h"
#include "tests/support/served.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/serve/server/serve_impl.h"

static const struct {
    cf_api api;
    const char *path;
    unsigned bit;
} talks[] = {
    {CF_API_OPENAI_CHAT, "/v1/chat/completions", CF_SERVE_OPENAI},
    {CF_API_OPENAI_COMPLETIONS, "/v1/completions", CF_SERVE_OPENAI},
    {CF_API_OPENAI_RESPONSES, "/v1/responses", CF_SERVE_RESPONSES},
    {CF_API_ANTHROPIC_MESSAGES, "/v1/messages", CF_SERVE_ANTHROPIC},
    {CF_API_OLLAMA_CHAT, "/api/chat", CF_SERVE_OLLAMA},
    {CF_API_OLLAMA_GENERATE, "/api/generate", CF_SERVE_OLLAMA},
};

enum { N_TALKS = sizeof talks / sizeof talks[0] };

/* A question in the form of an interface; no sampling leaves a choice. */
static void ask(const served *f, size_t i, bool is_stream, cf_buf *answer)
{
    cf_error err;
    json_t *body;
    cf_buf text = CF_BUF_INIT;
    cf_wire_request r = {.is_stream = is_stream, .has_usage = true, .model = "any"};
    r.messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "abc");
    r.settings = json_pack("{s:i, s:i}", "max_tokens", 9, "temperature", 0);
    T_OK(cf_wire_request_write(&body, talks[i].api, &r, &err), err);
    cf_json_write(&text, body);
    assert_int_equal(http_ask(f->url, talks[i].path, NULL, cf_buf_cstr(&text), answer), 200);
    json_decref(body);
    cf_wire_request_deinit(&r);
    cf_buf_deinit(&text);
}

static void test_apis__streams_say_the_same(void **state)
{
    (void)state;
    served f;
    cf_buf answer = CF_BUF_INIT, whole = CF_BUF_INIT, stream = CF_BUF_INIT;
    served_setup(&f, "llama");
    for (size_t i = 0; i < N_TALKS; i++) {
        ask(&f, i, false, &answer);
        assert_non_null(strstr(cf_buf_cstr(&answer), "\"model\":\"tiny\""));
        served_describe(&whole, &answer, talks[i].api);
        ask(&f, i, true, &answer);
        served_describe(&stream, &answer, talks[i].api);
        assert_string_equal(cf_buf_cstr(&whole), cf_buf_cstr(&stream));
        assert_non_null(strstr(cf_buf_cstr(&whole), "/9"));
    }
    served_teardown(&f);
    cf_buf_deinit(&answer);
    cf_buf_deinit(&whole);
    cf_buf_deinit(&stream);
}

static json_t *post(const served *f, const char *path, const char *body, long status)
{
    cf_buf answer = CF_BUF_INIT;
    cf_error err;
    json_t *v = NULL;
    assert_int_equal(http_ask(f->url, path, NULL, body, &answer), status);
    T_OK(cf_json_read(&v, cf_buf_cstr(&answer), answer.n, &err), err);
    cf_buf_deinit(&answer);
    return v;
}

static json_int_t n_input(const json_t *v)
{
    return json_integer_value(json_object_get(json_object_get(v, "usage"), "input_tokens"));
}

/* A response that goes on from another has its messages and reply, and not its
 * instructions. */
static void test_apis__responses_go_on(void **state)
{
    (void)state;
    served f;
    char body[900];
    served_setup(&f, "llama");
    json_t *first = post(&f, "/v1/responses",
                         "{\"input\":\"abc\",\"instructions\":\"x\",\"temperature\":0,"
                         "\"max_output_tokens\":3}",
                         200);
    const json_t *item = json_array_get(json_object_get(first, "output"), 0);
    const json_t *part = json_array_get(json_object_get(item, "content"), 0);
    cf_buf said = CF_BUF_INIT;
    cf_json_write_str(&said, cf_json_get_str(part, "text"));
    snprintf(body, sizeof body,
             "{\"input\":\"de\",\"instructions\":\"yz\",\"max_output_tokens\":3,"
             "\"previous_response_id\":\"%s\"}",
             cf_json_get_str(first, "id").p);
    json_t *on = post(&f, "/v1/responses", body, 200);
    snprintf(body, sizeof body,
             "{\"input\":[{\"role\":\"user\",\"content\":\"abc\"},{\"role\":\"assistant\","
             "\"content\":%s},{\"role\":\"user\",\"content\":\"de\"}],"
             "\"instructions\":\"yz\",\"max_output_tokens\":3}",
             cf_buf_cstr(&said));
    json_t *all = post(&f, "/v1/responses", body, 200);
    assert_int_equal(n_input(on), n_input(all));
    assert_true(n_input(all) > n_input(first));
    json_t *none =
        post(&f, "/v1/responses", "{\"input\":\"a\",\"previous_response_id\":\"resp_no\"}", 400);
    assert_string_equal(cf_json_get_str(json_object_get(none, "error"), "param").p,
                        "previous_response_id");
    json_decref(first);
    json_decref(on);
    json_decref(all);
    json_decref(none);
    cf_buf_deinit(&said);
    served_teardown(&f);
}

/* A response that is not to be stored is not there for the next. */
static void test_apis__responses_not_stored(void **state)
{
    (void)state;
    served f;
    char body[300];
    served_setup(&f, "llama");
    json_t *first = post(&f, "/v1/responses",
                         "{\"input\":\"abc\",\"store\":false,\"max_output_tokens\":3}", 200);
    snprintf(body, sizeof body, "{\"input\":\"de\",\"previous_response_id\":\"%s\"}",
             cf_json_get_str(first, "id").p);
    json_decref(post(&f, "/v1/responses", body, 400));
    json_decref(first);
    served_teardown(&f);
}

/* A long response does not take the place of a short one. */
static void test_apis__responses_are_kept(void **state)
{
    (void)state;
    cf_serve__past *past;
    cf_error err;
    json_t *got, *brief = json_pack("[s]", "a"), *wordy = json_pack("[s]", "a longer text");
    T_OK(cf_serve__past_new(&past, &err), err);
    cf_serve__past_put(past, "resp_1", brief);
    cf_serve__past_put(past, "resp_2", wordy);
    T_OK(cf_serve__past_get(past, "resp_1", &got, &err), err);
    assert_true(json_equal(got, brief));
    json_decref(got);
    T_FAILS(cf_serve__past_get(past, "resp_3", &got, &err), CF_ENOTFOUND);
    cf_serve__past_free(past);
    json_decref(brief);
    json_decref(wordy);
}

static void test_apis__counts_tokens(void **state)
{
    (void)state;
#define MESSAGES "\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}]"
    served f;
    served_setup(&f, "llama");
    json_t *count = post(&f, "/v1/messages/count_tokens", "{" MESSAGES "}", 200);
    json_t *reply = post(&f, "/v1/messages", "{" MESSAGES ",\"max_tokens\":2}", 200);
    assert_int_equal(json_integer_value(json_object_get(count, "input_tokens")), n_input(reply));
    assert_true(n_input(reply) > 0);
    json_decref(count);
    json_decref(reply);
    served_teardown(&f);
}

/* Tokens of a prompt, and the text of these, are the prompt. */
static void test_apis__prompt_and_tokens(void **state)
{
    (void)state;
    served f;
    cf_buf body = CF_BUF_INIT;
    served_setup(&f, "llama");
    json_t *prompt = post(&f, "/apply-template",
                          "{\"messages\":[{\"role\":\"user\",\"content\":\"ab\xc3\xa9\"}]}", 200);
    assert_string_equal(cf_json_get_str(prompt, "prompt").p, "<|user|>ab\xc3\xa9<|assistant|>");
    json_t *ask = json_pack("{s:O}", "content", json_object_get(prompt, "prompt"));
    cf_json_write(&body, ask);
    json_t *tokens = post(&f, "/tokenize", cf_buf_cstr(&body), 200);
    cf_buf_reset(&body);
    cf_json_write(&body, tokens);
    json_t *text = post(&f, "/detokenize", cf_buf_cstr(&body), 200);
    assert_string_equal(cf_json_get_str(text, "content").p, cf_json_get_str(prompt, "prompt").p);
    json_decref(post(&f, "/detokenize", "{\"tokens\":[-1]}", 400));
    json_decref(ask);
    json_decref(prompt);
    json_decref(tokens);
    json_decref(text);
    cf_buf_deinit(&body);
    served_teardown(&f);
}

static void test_apis__says_what_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body, *has;
    } rows[] = {
        {"/props", NULL, "\"confab\":\"" CF_VERSION "\""},
        {"/props", NULL, "\"default_generation_settings\":{\"n_ctx\":2048"},
        {"/props", NULL, "\"total_slots\":3"},
        {"/api/version", NULL, "{\"version\":\""},
        {"/api/tags", NULL, "\"name\":\"tiny\""},
        {"/api/ps", NULL, "\"context_length\":2048"},
        {"/api/show", "{\"model\":\"tiny\"}", "\"capabilities\":[\"completion\",\"tools\""},
        {"/v1/models", NULL, "\"display_name\":\"tiny\""},
    };
    served f;
    cf_buf answer = CF_BUF_INIT;
    served_setup(&f, "llama");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(http_ask(f.url, rows[i].path, NULL, rows[i].body, &answer), 200);
        assert_non_null(strstr(cf_buf_cstr(&answer), rows[i].has));
    }
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

static void test_apis__only_those_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        unsigned apis;
    } lists[] = {{"openai", CF_SERVE_OPENAI},
                 {"responses,anthropic", CF_SERVE_RESPONSES | CF_SERVE_ANTHROPIC},
                 {"ollama,llama", CF_SERVE_OLLAMA | CF_SERVE_LLAMA}};
    static const char *const wrong[] = {"", "openai,", ",openai", "chat", "openai llama"};
    served f;
    cf_error err;
    cf_buf answer = CF_BUF_INIT;
    unsigned apis = 0;
    served_setup(&f, "llama");
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        T_OK(cf_serve_apis(&apis, lists[k].list, &err), err);
        assert_int_equal(apis, lists[k].apis);
        cf_http_server_free(f.server, 1000);
        cf_serve_free(f.serve);
        served_open_apis(&f, apis);
        for (size_t i = 0; i < N_TALKS; i++) {
            const long status = http_ask(f.url, talks[i].path, NULL, "{}", &answer);
            assert_int_equal(status, (talks[i].bit & apis) != 0 ? 400 : 404);
        }
        assert_int_equal(http_ask(f.url, "/props", NULL, NULL, &answer),
                         (apis & CF_SERVE_LLAMA) != 0 ? 200 : 404);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        assert_int_equal(cf_serve_apis(&apis, wrong[k], &err), CF_EINVAL);
    }
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

/* Documents in the order of their scores, each as it is scored alone. */
static void test_apis__ranks_documents(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{}", "{\"query\":\"a\",\"documents\":[]}",
                                        "{\"query\":\"a\",\"documents\":[3]}",
                                        "{\"query\":\"\",\"documents\":[\"b\"]}",
                                        "{\"query\":\"a\",\"documents\":[\"b\"],\"top_n\":0}"};
    static const char *const texts[] = {"bc", "xyz", "a"};
    served f;
    char body[200];
    served_with(&f, "qwen3", CF_POOLING_RANK);
    json_t *all = post(&f, "/v1/rerank",
                       "{\"query\":\"abc\",\"documents\":[\"bc\",{\"text\":\"xyz\"},\"a\"],"
                       "\"return_documents\":true}",
                       200);
    const json_t *results = json_object_get(all, "results");
    assert_int_equal(json_array_size(results), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *r = json_array_get(results, i);
        const size_t at = (size_t)json_integer_value(json_object_get(r, "index"));
        const double score = json_number_value(json_object_get(r, "relevance_score"));
        const json_t *next = json_array_get(results, i + 1);
        assert_true(at < 3);
        assert_string_equal(cf_json_get_str(json_object_get(r, "document"), "text").p, texts[at]);
        assert_true(next == NULL ||
                    score >= json_number_value(json_object_get(next, "relevance_score")));
        snprintf(body, sizeof body, "{\"query\":\"abc\",\"documents\":[\"%s\"]}", texts[at]);
        json_t *alone = post(&f, "/rerank", body, 200);
        assert_float_equal(
            json_number_value(json_object_get(json_array_get(json_object_get(alone, "results"), 0),
                                              "relevance_score")),
            score, 1e-6);
        json_decref(alone);
    }
    json_decref(all);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_decref(post(&f, "/v1/rerank", wrong[i], 400));
    }
    served_teardown(&f);
    served_setup(&f, "qwen3");
    json_decref(post(&f, "/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"]}", 501));
    served_teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apis__streams_say_the_same),
        cmocka_unit_test(test_apis__responses_go_on),
        cmocka_unit_test(test_apis__responses_not_stored),
        cmocka_unit_test(test_apis__responses_are_kept),
        cmocka_unit_test(test_apis__counts_tokens),
        cmocka_unit_test(test_apis__prompt_and_tokens),
        cmocka_unit_test(test_apis__says_what_it_is),
        cmocka_unit_test(test_apis__only_those_asked_for),
        cmocka_unit_test(test_apis__ranks_documents),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
