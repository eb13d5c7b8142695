/*
 * test_scripted.c - answers from a script read back, in every interface, whole
 * and streamed; requests held at a breakpoint, edited and dropped.
 */
#include <pthread.h>
#include <sched.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "core/wire/wire.h"
#include "tests/support/http_ask.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/lab/watch/breakpoint.h"
#include "tui/serve/proxy/proxy.h"
#include "tui/serve/proxy/scripted.h"

static const char script[] =
    "{\"replies\":["
    "{\"text\":\"one \xc3\xa4\xc3\xb6\xc3\xbc and some more words\",\"calls\":["
    "{\"name\":\"add\",\"arguments\":{\"a\":1}}],\"when\":\"call\","
    "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}},"
    "{\"error\":\"slow down\",\"status\":429,\"retry_after\":7,"
    "\"when\":\"fail\"},"
    "{\"text\":\"hello\",\"thinking\":\"hm\",\"when\":\"hi\"}]}";

typedef struct fixture {
    cf_scripted *scripted;
    cf_http_server *server;
    const char *url;
} fixture;

static void setup(fixture *f)
{
    cf_error err;
    json_t *v = json_loads(script, 0, NULL);
    assert_non_null(v);
    T_OK(cf_scripted_new(&f->scripted, v, NULL, &err), err);
    json_decref(v);
    const cf_http_handler handler = cf_scripted_handler(f->scripted);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&f->server, &any, &handler, &err), err);
    f->url = cf_http_server_url(f->server);
}

static void teardown(fixture *f)
{
    cf_http_server_free(f->server, 1000);
    cf_scripted_free(f->scripted);
}

/* The message and the end of an answer. */
static void describe(cf_buf *out, const cf_buf *answer, cf_api api)
{
    cf_wire_reader r;
    cf_error err;
    cf_wire_reader_init(&r, api);
    T_OK(cf_wire_reader_feed(&r, cf_buf_str(answer), &err), err);
    T_OK(cf_wire_reader_finish(&r, &err), err);
    assert_true(r.is_ended);
    json_t *m = cf_wire_reply_message(&r.reply, 0);
    json_t *call = json_array_get(json_object_get(m, "tool_calls"), 0);
    json_t *function = json_object_get(call, "function");
    cf_buf_reset(out);
    cf_json_write(out, json_object_get(m, "content"));
    cf_json_write(out, json_object_get(function, "name"));
    cf_json_write(out, json_object_get(function, "arguments"));
    cf_buf_addf(out, " %d/%d", (int)r.reply.usage.n_prompt, (int)r.reply.usage.n_reply);
    json_decref(m);
    cf_wire_reader_deinit(&r);
}

static void test_scripted__each_interface(void **state)
{
    (void)state;
    static const struct {
        cf_api api;
        const char *path, *whole, *stream;
    } asks[] = {
        {CF_API_OPENAI_CHAT, "/v1/chat/completions",
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
         "\"call\"}]}",
         "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\","
         "\"content\":\"call\"}]}"},
        {CF_API_OPENAI_RESPONSES, "/v1/responses", "{\"model\":\"m\",\"input\":\"call\"}",
         "{\"model\":\"m\",\"stream\":true,\"input\":\"call\"}"},
        {CF_API_ANTHROPIC_MESSAGES, "/v1/messages",
         "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\","
         "\"content\":\"call\"}]}",
         "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"messages\":[{"
         "\"role\":\"user\",\"content\":\"call\"}]}"},
        {CF_API_OLLAMA_CHAT, "/api/chat",
         "{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\","
         "\"content\":\"call\"}]}",
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
         "\"call\"}]}"},
    };
    fixture f;
    cf_buf answer = CF_BUF_INIT, first = CF_BUF_INIT, now = CF_BUF_INIT;
    setup(&f);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        const char *bodies[] = {asks[i].whole, asks[i].stream};
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(http_ask(f.url, asks[i].path, NULL, bodies[k], &answer), 200);
            describe(&now, &answer, asks[i].api);
            if (first.n == 0) {
                cf_buf_add(&first, now.p, now.n);
            }
            assert_string_equal(cf_buf_cstr(&first), cf_buf_cstr(&now));
        }
    }
    assert_non_null(strstr(cf_buf_cstr(&first), "some more words"));
    assert_non_null(strstr(cf_buf_cstr(&first), " 7/3"));
    cf_buf_deinit(&answer);
    cf_buf_deinit(&first);
    cf_buf_deinit(&now);
    teardown(&f);
}

static void test_scripted__errors(void **state)
{
    (void)state;
    fixture f;
    cf_buf answer = CF_BUF_INIT;
    cf_error err;
    cf_scripted *s;
    setup(&f);
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL,
                              "{\"messages\":[{\"role\":\"user\",\"content\":"
                              "\"fail\"}]}",
                              &answer),
                     429);
    assert_non_null(strstr(cf_buf_cstr(&answer), "slow down"));
    assert_int_equal(http_ask(f.url, "/v1/chat/completions", NULL,
                              "{\"messages\":[{\"role\":\"user\",\"content\":"
                              "\"other\"}]}",
                              &answer),
                     404);
    assert_int_equal(http_ask(f.url, "/v1/embeddings", NULL, "{}", &answer), 404);
    json_t *v = json_loads("{\"replies\":[{\"text\":\"a\"},{}]}", 0, NULL);
    assert_int_equal(cf_scripted_new(&s, v, NULL, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "reply 2"));
    json_decref(v);
    cf_buf_deinit(&answer);
    teardown(&f);
}

/* ---- the breakpoint ----------------------------------------------------- */

typedef struct client {
    const char *url, *body;
    cf_buf answer;
    long status;
    pthread_t thread;
} client;

static void *ask_one(void *ud)
{
    client *c = ud;
    c->status = http_ask(c->url, "/v1/chat/completions", NULL, c->body, &c->answer);
    return NULL;
}

/* Waits until a request is held, and gives its id. */
static void first_held(const char *folder, cf_buf *ids)
{
    cf_error err;
    do {
        cf_buf_reset(ids);
        T_OK(cf_break_held(folder, ids, &err), err);
        sched_yield();
    } while (ids->n == 0);
}

static void test_breakpoint__edit_send_and_drop(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    cf_proxy proxy;
    cf_http_server *server;
    cf_buf folder = CF_BUF_INIT, ids = CF_BUF_INIT, body = CF_BUF_INIT;
    setup(&f);
    cf_break_folder(&folder, store_dir_file("b.db"));
    const char *at = cf_buf_cstr(&folder);
    const cf_upstream up = {.url = f.url};
    T_OK(cf_proxy_init(&proxy, &up, NULL, &err), err);
    proxy.breaks = at;
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    static const char held[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"stop fail\"}]}";
    static const char edited[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    client c = {.url = cf_http_server_url(server), .body = held};
    ask_one(&c); /* no breakpoint is set */
    assert_int_equal(c.status, 429);
    T_OK(cf_break_set(at, "stop", &err), err);
    client other = {.url = c.url, .body = edited};
    ask_one(&other); /* it is set for other requests */
    assert_int_equal(other.status, 200);
    cf_buf_deinit(&other.answer);

    T_OK(cf_os_thread(&c.thread, ask_one, &c, &err), err);
    first_held(at, &ids);
    T_OK(cf_break_read(at, ids.p, &body, &err), err);
    assert_string_equal(cf_buf_cstr(&body), held);
    T_OK(cf_break_send(at, ids.p, cf_str_from(edited), &err), err);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, 200); /* the script's answer to "hi" */
    assert_non_null(strstr(cf_buf_cstr(&c.answer), "hello"));

    T_OK(cf_os_thread(&c.thread, ask_one, &c, &err), err);
    first_held(at, &ids);
    T_OK(cf_break_drop(at, ids.p, &err), err);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, 502);

    T_OK(cf_os_thread(&c.thread, ask_one, &c, &err), err);
    first_held(at, &ids);
    cf_break_clear(at); /* lets it go as it is */
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, 429);
    cf_buf_reset(&ids);
    T_OK(cf_break_held(at, &ids, &err), err);
    assert_int_equal(ids.n, 0);
    assert_int_equal(cf_break_send(at, "../x", cf_str_from(""), &err), CF_ENOTFOUND);
    cf_http_server_free(server, 1000);
    cf_proxy_deinit(&proxy);
    teardown(&f);
    cf_buf_deinit(&c.answer);
    cf_buf_deinit(&ids);
    cf_buf_deinit(&body);
    cf_buf_deinit(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripted__each_interface),
        cmocka_unit_test(test_scripted__errors),
        cmocka_unit_test(test_breakpoint__edit_send_and_drop),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
