/*
 * test_serve.c - the built-in engine over HTTP: streams say what whole answers
 * say, company changes nothing, wrong requests get errors.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/os.h"
#include "core/json/json.h"
#include "core/wire/wire.h"
#include "tests/support/http_ask.h"
#include "tests/support/served.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/lab/watch/slots_file.h"
#include "tui/serve/server/serve.h"

#define ASK(more)                                              \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}]," \
    "\"max_tokens\":12,\"seed\":7" more "}"

static void test_serve__streams_say_the_same(void **state)
{
    (void)state;
    served f;
    cf_buf answer = CF_BUF_INIT, whole = CF_BUF_INIT, stream = CF_BUF_INIT;
    served_setup(&f, "llama");
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, ASK(",\"n\":2"), &answer), 200);
    served_describe(&whole, &answer, CF_API_OPENAI_CHAT);
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL,
                              ASK(",\"n\":2,\"stream\":true,\"stream_options\":{"
                                  "\"include_usage\":true}"),
                              &answer),
                     200);
    served_describe(&stream, &answer, CF_API_OPENAI_CHAT);
    assert_string_equal(cf_buf_cstr(&whole), cf_buf_cstr(&stream));
    static const char raw[] = "{\"prompt\":\"abc\",\"max_tokens\":5,\"seed\":1}";
    assert_int_equal(http_ask(f.url, "/v1/completions", NULL, raw, &answer), 200);
    served_describe(&whole, &answer, CF_API_OPENAI_COMPLETIONS);
    assert_non_null(strstr(cf_buf_cstr(&whole), "length;"));
    cf_buf_deinit(&answer);
    cf_buf_deinit(&whole);
    cf_buf_deinit(&stream);
    served_teardown(&f);
}

/* Replies side by side are those that their seeds give alone. */
static void test_serve__several_replies_are_those_of_their_seeds(void **state)
{
    (void)state;
    served f;
    cf_buf answer = CF_BUF_INIT, one = CF_BUF_INIT, alone = CF_BUF_INIT;
    cf_buf together = CF_BUF_INIT;
    char request[200];
    served_setup(&f, "llama");
    for (int i = 0; i < 5; i++) {
        snprintf(request, sizeof request,
                 "{\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}],"
                 "\"max_tokens\":12,\"temperature\":1,\"seed\":%d}",
                 7 + i);
        assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, request, &answer), 200);
        served_describe(&one, &answer, CF_API_OPENAI_CHAT);
        cf_buf_add(&alone, one.p, strcspn(cf_buf_cstr(&one), ";") + 1);
    }
    assert_int_equal(
        http_ask(f.url, "/v1/chat/completions", NULL, ASK(",\"n\":5,\"temperature\":1"), &answer),
        200);
    served_describe(&together, &answer, CF_API_OPENAI_CHAT);
    assert_true(cf_str_starts(cf_buf_str(&together), cf_buf_str(&alone)));
    cf_buf_deinit(&answer);
    cf_buf_deinit(&one);
    cf_buf_deinit(&alone);
    cf_buf_deinit(&together);
    served_teardown(&f);
}

/* ---- company ------------------------------------------------------------ */

enum { CLIENTS = 6 };

typedef struct client {
    const char *url;
    char request[800];
    cf_buf alone, together;
    cf_buf *out;
    pthread_t thread;
} client;

static void *ask_one(void *arg)
{
    client *c = arg;
    cf_buf answer = CF_BUF_INIT;
    long status = http_ask(c->url, "/v1/chat/completions", NULL, c->request, &answer);
    if (status == 200) {
        served_describe(c->out, &answer, CF_API_OPENAI_CHAT);
    }
    cf_buf_deinit(&answer);
    return NULL;
}

/* A content that most of the clients have the beginning of in common. */
#define TEXT "\"one long beginning that all of them have in common %d\""
/* One picture or another, of one pixel. */
#define PICTURE                                                         \
    "[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;" \
    "base64,%s\"}},{\"type\":\"text\",\"text\":\"see\"}]"
#define RED                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAA" \
    "MBAQDJ/pLvAAAAAElFTkSuQmCC"
#define BLUE                                                             \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAA" \
    "EDAQAIicLsAAAAAElFTkSuQmCC"

static void check_company(served *f, bool sees)
{
    client c[CLIENTS];
    cf_error err;
    char content[400];
    memset(c, 0, sizeof c);
    for (int i = 0; i < CLIENTS; i++) {
        c[i].url = f->url;
        if (sees && i % 3 != 2) {
            snprintf(content, sizeof content, PICTURE, i % 3 ? RED : BLUE);
        } else {
            snprintf(content, sizeof content, TEXT, i / 2);
        }
        snprintf(c[i].request, sizeof c[i].request,
                 "{\"messages\":[{\"role\":\"user\",\"content\":%s}],"
                 "\"max_tokens\":%d,\"seed\":%d,\"stream\":%s}",
                 content, 10 + i, i, i % 2 == 0 ? "true" : "false");
        c[i].out = &c[i].alone;
        ask_one(&c[i]);
        c[i].out = &c[i].together;
    }
    for (int i = 0; i < CLIENTS; i++) {
        T_OK(cf_os_thread(&c[i].thread, ask_one, &c[i], &err), err);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(c[i].thread, NULL);
        assert_true(c[i].alone.n > 0);
        assert_string_equal(cf_buf_cstr(&c[i].alone), cf_buf_cstr(&c[i].together));
        cf_buf_deinit(&c[i].alone);
        cf_buf_deinit(&c[i].together);
    }
    served_teardown(f);
}

static void test_serve__company_changes_nothing(void **state)
{
    served f;
    (void)state;
    served_setup(&f, "llama");
    check_company(&f, false);
}

static void test_serve__company_of_recurrent_models(void **state)
{
    served f;
    (void)state;
    served_setup(&f, "lfm2");
    check_company(&f, false);
}

/* Pictures of some requests, while others have none. */
/* Alone a reply has drafts, in company it has none. */
static void test_serve__drafts_change_nothing(void **state)
{
    served f;
    cf_buf answer = CF_BUF_INIT, with = CF_BUF_INIT, without = CF_BUF_INIT;
    (void)state;
    served_setup(&f, "llama");
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, ASK(""), &answer), 200);
    served_describe(&without, &answer, CF_API_OPENAI_CHAT);
    served_teardown(&f);
    served_drafting(&f, "llama");
    assert_non_null(f.opened.draft);
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, ASK(""), &answer), 200);
    served_describe(&with, &answer, CF_API_OPENAI_CHAT);
    assert_string_equal(cf_buf_cstr(&with), cf_buf_cstr(&without));
    cf_buf_deinit(&answer);
    cf_buf_deinit(&with);
    cf_buf_deinit(&without);
    check_company(&f, false);
}

static void test_serve__company_with_pictures(void **state)
{
    served f;
    (void)state;
    served_seeing(&f);
    check_company(&f, true);
}

/* Only bytes in the request are taken, and only by a model that reads them. */
static void test_serve__pictures_refused(void **state)
{
    (void)state;
#define PART(part) "{\"messages\":[{\"role\":\"user\",\"content\":[" part "]}]}"
#define URL(url)   PART("{\"type\":\"image_url\",\"image_url\":{\"url\":" url "}}")
    static const char *const requests[] = {
        URL("\"https://example.com/a.png\""), URL("\"/etc/hostname\""),
        URL("\"file:///etc/hostname\""), PART("{\"type\":\"image\",\"path\":\"/etc/hostname\"}"),
        URL("\"data:image/png;base64,AAAA\"")};
    for (int sees = 0; sees < 2; sees++) {
        served f;
        cf_buf answer = CF_BUF_INIT;
        if (sees) {
            served_seeing(&f);
        } else {
            served_setup(&f, "llama");
        }
        for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
            assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, requests[i], &answer),
                             400);
        }
        cf_buf_deinit(&answer);
        served_teardown(&f);
    }
#undef URL
#undef PART
}

/* ---- the rest ----------------------------------------------------------- */

static void test_serve__form_and_tools(void **state)
{
    (void)state;
    served f;
    cf_buf answer = CF_BUF_INIT, said = CF_BUF_INIT;
    served_setup(&f, "llama");
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL,
                              ASK(",\"response_format\":{\"type\":\"json_schema\","
                                  "\"json_schema\":{\"schema\":{\"enum\":[\"yes\",\"no\"]"
                                  "}}},\"logprobs\":true,\"top_logprobs\":3"),
                              &answer),
                     200);
    served_describe(&said, &answer, CF_API_OPENAI_CHAT);
    assert_true(strstr(cf_buf_cstr(&said), "\\\"yes\\\"") != NULL ||
                strstr(cf_buf_cstr(&said), "\\\"no\\\"") != NULL);
    assert_non_null(strstr(cf_buf_cstr(&answer), "\"top_logprobs\":[{"));
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL,
                              "{\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}],"
                              "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
                              "\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"
                              "\"x\":{\"enum\":[1]}},\"required\":[\"x\"],"
                              "\"additionalProperties\":false}}}],\"tool_choice\":"
                              "\"required\",\"max_tokens\":200,\"seed\":2}",
                              &answer),
                     200);
    served_describe(&said, &answer, CF_API_OPENAI_CHAT);
    assert_non_null(strstr(cf_buf_cstr(&said), "\"name\":\"f\""));
    assert_non_null(strstr(cf_buf_cstr(&said), "tool_calls;"));
    cf_buf_deinit(&answer);
    cf_buf_deinit(&said);
    served_teardown(&f);
}

/* A prompt that one session computed is there for another, also after the
 * file of prompts brought it; and the reply is the same. */
static void test_serve__shares_prompts(void **state)
{
    (void)state;
    served f;
    cf_error err;
    cf_buf answer = CF_BUF_INIT, first = CF_BUF_INIT, again = CF_BUF_INIT;
    char body[700], text[500];
    const char *file = store_dir_file("serve.prefixes");
    memset(text, 'q', sizeof text);
    text[sizeof text - 1] = '\0';
    snprintf(body, sizeof body,
             "{\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}],"
             "\"max_tokens\":12,\"seed\":7}",
             text);
    served_setup(&f, "llama");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, body, &answer), 200);
        served_describe(i == 0 ? &first : &again, &answer, CF_API_OPENAI_CHAT);
        assert_int_equal(strstr(cf_buf_cstr(&answer), "\"cached_tokens\":0}") != NULL, i == 0);
        if (i > 0) {
            assert_string_equal(cf_buf_cstr(&first), cf_buf_cstr(&again));
        }
        if (i == 0) { /* sessions of their own */
            cf_http_server_free(f.server, 1000);
            cf_serve_free(f.serve);
            served_open(&f);
        } else if (i == 1) { /* and another start */
            T_OK(cf_prefix_cache_write(f.opened.prefixes, file, &err), err);
            served_teardown(&f);
            served_setup(&f, "llama");
            T_OK(cf_prefix_cache_read(f.opened.prefixes, file, &err), err);
        }
    }
    served_teardown(&f);
    cf_buf_deinit(&answer);
    cf_buf_deinit(&first);
    cf_buf_deinit(&again);
}

/* Completions have a list each of texts, likelihoods, alternatives, places. */
static void test_serve__logprobs_of_completions(void **state)
{
    (void)state;
    served f;
    cf_error err;
    cf_buf answer = CF_BUF_INIT, text = CF_BUF_INIT;
    json_t *v = NULL;
    served_setup(&f, "llama");
    assert_int_equal(http_ask(f.url, "/v1/completions", NULL,
                              "{\"prompt\":\"abc\",\"max_tokens\":5,\"seed\":1,"
                              "\"logprobs\":2}",
                              &answer),
                     200);
    T_OK(cf_json_read(&v, cf_buf_cstr(&answer), answer.n, &err), err);
    const json_t *choice = json_array_get(json_object_get(v, "choices"), 0);
    const json_t *lists = json_object_get(choice, "logprobs");
    const json_t *tokens = json_object_get(lists, "tokens");
    const json_t *places = json_object_get(lists, "text_offset");
    const size_t n = json_array_size(tokens);
    assert_in_range(n, 1, 5);
    assert_int_equal(json_array_size(places), n);
    assert_int_equal(json_array_size(json_object_get(lists, "token_logprobs")), n);
    assert_int_equal(json_array_size(json_object_get(lists, "top_logprobs")), n);
    for (size_t i = 0; i < n; i++) {
        assert_true(
            json_number_value(json_array_get(json_object_get(lists, "token_logprobs"), i)) <= 0);
        if (i == 0) {
            assert_int_equal(json_integer_value(json_array_get(places, i)), 0);
        }
        cf_buf_adds(&text, json_string_value(json_array_get(tokens, i)));
    }
    assert_string_equal(cf_buf_cstr(&text), cf_json_get_str(choice, "text").p);
    json_decref(v);
    cf_buf_deinit(&text);
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

static void test_serve__wrong_requests(void **state)
{
    (void)state;
    static const struct {
        const char *path, *body;
        long status;
    } rows[] = {
        {"/v1/chat/completions", "", 400},
        {"/v1/chat/completions", "[]", 400},
        {"/v1/chat/completions", "{\"messages\":[]}", 400},
        {"/v1/chat/completions", "{\"messages\":[{\"content\":\"x\"}]}", 400},
        {"/v1/chat/completions", ASK(",\"temperature\":9"), 400},
        {"/v1/chat/completions", ASK(",\"n\":0"), 400},
        {"/v1/chat/completions", ASK(",\"n\":1000"), 400},
        {"/v1/chat/completions", ASK(",\"response_format\":{\"type\":\"x\"}"), 400},
        {"/v1/chat/completions", ASK(",\"tools\":[{\"type\":\"function\"}]"), 400},
        {"/v1/chat/completions",
         ASK(",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
             "\"f\"}}],\"tool_choice\":{\"type\":\"function\",\"function\":{"
             "\"name\":\"g\"}}"),
         400},
        {"/v1/completions", "{\"prompt\":[1,-2]}", 400},
        {"/v1/completions", "{\"prompt\":{}}", 400},
        {"/v1/embeddings", "{}", 501},
        {"/tokenize", "{}", 400},
        {"/v1/nothing", "{}", 404},
        {"/v1/models", "{}", 405},
    };
    served f;
    cf_buf answer = CF_BUF_INIT;
    served_setup(&f, "llama");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(http_ask(f.url, rows[i].path, NULL, rows[i].body, &answer),
                         rows[i].status);
        assert_true(strncmp(cf_buf_cstr(&answer), "{\"error\":{\"message\":", 20) == 0);
    }
    /* More than the context holds. */
    cf_buf longer = CF_BUF_INIT;
    cf_buf_adds(&longer, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (int i = 0; i < 4000; i++) {
        cf_buf_adds(&longer, "x y ");
    }
    cf_buf_adds(&longer, "\"}]}");
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, cf_buf_cstr(&longer), &answer),
                     400);
    assert_non_null(strstr(cf_buf_cstr(&answer), "context_length_exceeded"));
    /* As a stream, too: nothing of it was sent before. */
    longer.n -= 1;
    cf_buf_adds(&longer, ",\"stream\":true}");
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL, cf_buf_cstr(&longer), &answer),
                     400);
    assert_non_null(strstr(cf_buf_cstr(&answer), "context_length_exceeded"));
    cf_buf_deinit(&longer);
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

/* Every error of the server's own is in the form of the interface that the path
 * belongs to, whatever was wrong. */
static void test_serve__errors_in_the_clients_form(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool is_text, has_type; /* "error" is a text; "type":"error" beside it */
    } paths[] = {
        {"/v1/chat/completions", false, false},
        {"/v1/completions", false, false},
        {"/v1/responses", false, false},
        {"/v1/messages", false, true},
        {"/api/chat", true, false},
        {"/api/generate", true, false},
    };
    static const struct {
        const char *headers, *body;
        long status;
    } wrong[] = {
        {NULL, "{]", 400},
        {NULL, "[]", 400},
        {"Host: evil.example", "{}", 403},
        {"Origin: http://evil.example", "{}", 403},
        {"Origin: http://127.0.0.1\nOrigin: http://127.0.0.1", "{}", 400},
    };
    served f;
    cf_buf answer = CF_BUF_INIT, many = CF_BUF_INIT;
    served_setup(&f, "llama");
    for (int i = 0; i < 300; i++) {
        cf_buf_addf(&many, "%sX-%d: 1", i > 0 ? "\n" : "", i);
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t k = 0; k <= sizeof wrong / sizeof wrong[0]; k++) {
            bool is_last = k == sizeof wrong / sizeof wrong[0];
            long status =
                http_ask(f.url, paths[i].path, is_last ? cf_buf_cstr(&many) : wrong[k].headers,
                         is_last ? "{}" : wrong[k].body, &answer);
            cf_error err;
            json_t *v = NULL;
            assert_int_equal(status, is_last ? 431 : wrong[k].status);
            T_OK(cf_json_read(&v, cf_buf_cstr(&answer), answer.n, &err), err);
            const json_t *e = json_object_get(v, "error");
            assert_int_equal(json_is_string(e), paths[i].is_text);
            assert_int_equal(cf_str_is(cf_json_get_str(v, "type"), "error"), paths[i].has_type);
            cf_str text =
                paths[i].is_text ? cf_json_get_str(v, "error") : cf_json_get_str(e, "message");
            assert_true(text.n > 0);
            json_decref(v);
        }
    }
    cf_buf_deinit(&answer);
    cf_buf_deinit(&many);
    served_teardown(&f);
}

static void test_serve__models_and_tokens(void **state)
{
    (void)state;
    served f;
    cf_buf answer = CF_BUF_INIT;
    served_setup(&f, "llama");
    assert_int_equal(http_ask(f.url, "/v1/models", NULL, NULL, &answer), 200);
    assert_non_null(strstr(cf_buf_cstr(&answer), "\"id\":\"tiny\""));
    assert_int_equal(http_ask(f.url, "/v1/models/tiny", NULL, NULL, &answer), 200);
    assert_true(strncmp(cf_buf_cstr(&answer), "{\"id\":\"tiny\"", 12) == 0);
    assert_int_equal(http_ask(f.url, "/v1/models/other", NULL, NULL, &answer), 404);
    assert_int_equal(http_ask(f.url, "/tokenize", NULL, "{\"content\":\"abc\"}", &answer), 200);
    assert_true(strncmp(cf_buf_cstr(&answer), "{\"tokens\":[", 11) == 0);
    assert_int_equal(http_ask(f.url, "/slots", NULL, NULL, &answer), 200);
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

/* The answer's vector number i, as text or as base64. */
static void read_vector(const cf_buf *answer, size_t i, float *to, size_t n)
{
    cf_error err;
    json_t *v = NULL;
    T_OK(cf_json_read(&v, cf_buf_cstr(answer), answer->n, &err), err);
    const json_t *e = json_object_get(json_array_get(json_object_get(v, "data"), i), "embedding");
    if (json_is_string(e)) {
        cf_buf bytes = CF_BUF_INIT;
        assert_true(
            cf_base64_get(&bytes, cf_str_make(json_string_value(e), json_string_length(e))));
        assert_int_equal(bytes.n, n * sizeof *to);
        memcpy(to, bytes.p, bytes.n);
        cf_buf_deinit(&bytes);
    } else {
        assert_int_equal(json_array_size(e), n);
        for (size_t k = 0; k < n; k++) {
            to[k] = (float)json_number_value(json_array_get(e, k));
        }
    }
    json_decref(v);
}

static void test_serve__embeddings(void **state)
{
    (void)state;
    enum { N = 64 };
    float one[N], other[N], ids[N], coded[N];
    served f;
    cf_buf answer = CF_BUF_INIT;
    char tokens[80], request[200];
    static const char path[] = "/v1/embeddings";
    served_with(&f, "qwen3", CF_POOLING_MEAN);
    assert_int_equal(http_ask(f.url, path, NULL, "{\"input\":[\"abc\",\"xy\"]}", &answer), 200);
    read_vector(&answer, 0, one, N);
    read_vector(&answer, 1, other, N);
    assert_true(memcmp(one, other, sizeof one) != 0);
    assert_int_equal(http_ask(f.url, path, NULL,
                              "{\"input\":\"abc\",\"encoding_format\":"
                              "\"base64\"}",
                              &answer),
                     200);
    read_vector(&answer, 0, coded, N);
    assert_memory_equal(one, coded, sizeof one);
    /* A list of numbers is a text's tokens. */
    assert_int_equal(
        http_ask(f.url, "/tokenize", NULL, "{\"content\":\"abc\",\"add_special\":true}", &answer),
        200);
    assert_int_equal(sscanf(cf_buf_cstr(&answer), "{\"tokens\":[%79[0-9,]", tokens), 1);
    snprintf(request, sizeof request, "{\"input\":[%s]}", tokens);
    assert_int_equal(http_ask(f.url, path, NULL, request, &answer), 200);
    read_vector(&answer, 0, ids, N);
    assert_memory_equal(one, ids, sizeof one);
    static const char *const wrong[] = {"{}",
                                        "{\"input\":[]}",
                                        "{\"input\":\"a\",\"dimensions\":3}",
                                        "{\"input\":[-1]}",
                                        "{\"input\":\"a\",\"encoding_format\":\"x\"}",
                                        "{\"input\":[99999]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(http_ask(f.url, path, NULL, wrong[i], &answer), 400);
    }
    served_teardown(&f);
    served_setup(&f, "qwen3");
    assert_int_equal(http_ask(f.url, path, NULL, "{\"input\":\"abc\"}", &answer), 501);
    assert_non_null(strstr(cf_buf_cstr(&answer), "qwen3.pooling_type"));
    served_teardown(&f);
    /* An encoder has no timelines, and answers nothing else. */
    served_setup(&f, "bert");
    assert_int_equal(http_ask(f.url, path, NULL, "{\"input\":\"abc\"}", &answer), 200);
    read_vector(&answer, 0, one, N);
    assert_int_equal(http_ask(f.url, "/v1/completions", NULL, "{\"prompt\":\"abc\"}", &answer),
                     501);
    assert_int_equal(http_ask(f.url, "/slots", NULL, NULL, &answer), 200);
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

/* Asks until it is stopped. */
typedef struct asking {
    const char *url;
    atomic_bool ends;
} asking;

static void *ask_on(void *ud)
{
    asking *a = ud;
    cf_buf answer = CF_BUF_INIT;
    while (!atomic_load(&a->ends)) {
        http_ask(a->url, "/v1/completions", NULL, "{\"prompt\":\"abcdefgh\",\"max_tokens\":300}",
                 &answer);
    }
    cf_buf_deinit(&answer);
    return NULL;
}

/* What a slot does is seen while it does it, and in the file beside the
 * history, which another program reads. */
static void test_serve__slots(void **state)
{
    (void)state;
    served f;
    pthread_t thread;
    cf_buf answer = CF_BUF_INIT, json = CF_BUF_INIT;
    cf_error err;
    json_t *v = NULL;
    bool was_busy = false;
    served_setup(&f, "llama");
    asking a = {.url = f.url};
    assert_int_equal(pthread_create(&thread, NULL, ask_on, &a), 0);
    while (!was_busy) {
        assert_int_equal(http_ask(f.url, "/slots", NULL, NULL, &answer), 200);
        T_OK(cf_json_read(&v, cf_buf_cstr(&answer), answer.n, &err), err);
        assert_int_equal(json_array_size(v), 3);
        for (size_t i = 0; i < 3; i++) {
            const json_t *slot = json_array_get(v, i);
            const json_t *next = json_object_get(slot, "next_token");
            if (cf_str_is(cf_json_get_str(slot, "state"), "decode")) {
                was_busy = true;
                assert_true(json_is_true(json_object_get(slot, "is_processing")));
                assert_true(json_is_true(json_object_get(slot, "speculative")));
                assert_in_range(json_integer_value(json_object_get(next, "n_decoded")), 1, 300);
                assert_true(json_integer_value(json_object_get(slot, "n_prompt_tokens")) > 0);
            }
        }
        json_decref(v);
    }
    atomic_store(&a.ends, true);
    pthread_join(thread, NULL);
    cf_serve_slots(f.serve, &json);
    const char *db = store_dir_file("slots.db");
    cf_slots_write(db, "here", cf_buf_str(&json));
    v = cf_slots_read(db);
    const json_t *slots = json_object_get(v, "slots");
    assert_int_equal(json_array_size(slots), 3);
    assert_true(cf_str_is(cf_json_get_str(json_array_get(slots, 0), "state"), "idle"));
    assert_string_equal(cf_json_get_str(v, "server").p, "here");
    json_decref(v);
    cf_slots_remove(db);
    assert_null(cf_slots_read(db));
    /* That of a server that has ended, and one that is not a list. */
    static const char gone[] = "{\"pid\":2147483647,\"slots\":[]}";
    snprintf(answer.p, answer.cap, "%s-slots", db);
    T_OK(cf_os_write_file(answer.p, gone, sizeof gone - 1, 0600, &err), err);
    assert_null(cf_slots_read(db));
    cf_buf_deinit(&answer);
    cf_buf_deinit(&json);
    served_teardown(&f);
}

/* Sends a request, ends its own side, and reads the answer, for longer than the
 * server needs to notice. */
static void test_serve__answers_a_client_that_has_ended_its_side(void **state)
{
    (void)state;
    static const char request[] = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\nContent-Length: 49\r\n\r\n"
                                  "{\"prompt\":\"abc\",\"max_tokens\":240,\"n\":16,\"seed\":1}";
    served f;
    cf_buf answer = CF_BUF_INIT;
    char some[4096];
    ssize_t n;
    served_setup(&f, "llama");
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(f.url, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while ((n = read(fd, some, sizeof some)) > 0) {
        cf_buf_add(&answer, some, (size_t)n);
    }
    close(fd);
    assert_non_null(strstr(cf_buf_cstr(&answer), "HTTP/1.1 200"));
    assert_non_null(strstr(cf_buf_cstr(&answer), "\"completion_tokens\""));
    cf_buf_deinit(&answer);
    served_teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serve__streams_say_the_same),
        cmocka_unit_test(test_serve__several_replies_are_those_of_their_seeds),
        cmocka_unit_test(test_serve__company_changes_nothing),
        cmocka_unit_test(test_serve__company_of_recurrent_models),
        cmocka_unit_test(test_serve__company_with_pictures),
        cmocka_unit_test(test_serve__drafts_change_nothing),
        cmocka_unit_test(test_serve__pictures_refused),
        cmocka_unit_test(test_serve__form_and_tools),
        cmocka_unit_test(test_serve__shares_prompts),
        cmocka_unit_test(test_serve__logprobs_of_completions),
        cmocka_unit_test(test_serve__wrong_requests),
        cmocka_unit_test(test_serve__errors_in_the_clients_form),
        cmocka_unit_test(test_serve__models_and_tokens),
        cmocka_unit_test(test_serve__embeddings),
        cmocka_unit_test(test_serve__slots),
        cmocka_unit_test(test_serve__answers_a_client_that_has_ended_its_side),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
