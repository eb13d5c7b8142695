/*
 * test_clients.c - real clients through the proxy receive what they receive
 * without it.
 *
 * They are not in this repository: $CONFAB_CLIENTS names a folder in which
 * "npm install openai @anthropic-ai/sdk ollama ai @ai-sdk/openai-compatible
 * @langchain/openai opencode-ai" was run; agents.mjs also runs
 * @anthropic-ai/claude-code, @openai/codex, @qwen-code/qwen-code and
 * @mariozechner/pi-coding-agent where they are there.
 */
#define _DEFAULT_SOURCE 1
#include <sched.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/traffic.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/serve/proxy/proxy.h"
#include "tui/serve/proxy/scripted.h"
#include "tui/serve/server/serve.h"

#define CHUNK(delta, end)                                                                  \
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,"              \
    "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" end \
    "}]}\n\n"

/* What the server says, by path and by a word of the request. */
static const struct {
    const char *path, *word, *type, *body;
    unsigned status;
} says[] = {
    {"/v1/chat/completions", "fail", "application/json",
     "{\"error\":{\"message\":\"slow down\",\"type\":\"rate\"}}", 429},
    {"/v1/chat/completions", "endless", "text/event-stream", CHUNK("{\"content\":\"on\"}", "null"),
     200},
    {"/v1/chat/completions", "\"stream\":true", "text/event-stream",
     CHUNK("{\"role\":\"assistant\",\"content\":\"h\"}", "null")
         CHUNK("{\"content\":\"\xc3\xa9\"}", "null") CHUNK("{}", "\"stop\"") "data: [DONE]\n\n",
     200},
    {"/v1/chat/completions", "\"call\"", "application/json",
     "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":"
     "\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
     "\"content\":null,\"tool_calls\":[{\"id\":\"t\",\"type\":\"function\","
     "\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"}}]},"
     "\"finish_reason\":\"tool_calls\"}]}",
     200},
    {"/v1/chat/completions", "", "application/json",
     "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":"
     "\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
     "\"content\":\"h\xc3\xa9\"},\"finish_reason\":\"stop\"}]}",
     200},
    {"/v1/messages", "\"stream\":true", "text/event-stream",
     "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{"
     "\"id\":\"i\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
     "\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":3,"
     "\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":"
     "\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
     "\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":"
     "\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
     "\"text\":\"hi\"}}\n\nevent: content_block_stop\ndata: {\"type\":"
     "\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {"
     "\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
     "\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {"
     "\"type\":\"message_stop\"}\n\n",
     200},
    {"/v1/messages", "", "application/json",
     "{\"id\":\"i\",\"type\":\"message\",\"role\":\"assistant\",\"model\":"
     "\"m\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],"
     "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,"
     "\"output_tokens\":2}}",
     200},
    {"/api/chat", "", "application/x-ndjson",
     "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"h\"},"
     "\"done\":false}\n{\"model\":\"m\",\"message\":{\"role\":\"assistant\","
     "\"content\":\"i\"},\"done\":true,\"done_reason\":\"stop\"}\n",
     200},
};

typedef struct sending {
    const char *body;
    const atomic_bool *stopping;
    size_t at;
    bool is_endless;
} sending;

/* In pieces of nine bytes; an endless answer begins again. */
static ssize_t send_piece(void *ud, char *to, size_t n)
{
    sending *s = ud;
    size_t have = strlen(s->body) - s->at;
    if (have == 0 && s->is_endless && !atomic_load(s->stopping)) {
        s->at = 0;
        have = strlen(s->body);
    }
    n = have < 9 ? have : 9;
    memcpy(to, s->body + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

static void send_done(void *ud, bool is_sent)
{
    (void)is_sent;
    cf_free(ud);
}

static void on_fake(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    (void)ud;
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        if (!cf_str_is(r->path, says[i].path) || strstr(r->body.p, says[i].word) == NULL) {
            continue;
        }
        cf_http_header *h = cf_arena_calloc(r->arena, 1, sizeof *h);
        sending *s = cf_calloc(1, sizeof *s);
        *s = (sending){.body = says[i].body,
                       .stopping = r->stopping,
                       .is_endless = strcmp(says[i].word, "endless") == 0};
        h[0] = (cf_http_header){cf_str_from("Content-Type"), cf_str_from(says[i].type)};
        *a = (cf_http_answer){.status = says[i].status,
                              .headers = h,
                              .n_headers = 1,
                              .size = -1,
                              .read = send_piece,
                              .done = send_done,
                              .ud = s};
        return;
    }
    cf_http_fail(r, a, 404, "not_found", "unknown");
}

/* Everything that the clients of a script print. */
static void run(cf_buf *out, const char *script, const char *url, const char *folder)
{
    char command[600];
    char block[4096];
    size_t n;
    snprintf(command, sizeof command, "node tests/data/clients/%s %s '%s' 2>&1", script, url,
             folder);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while ((n = fread(block, 1, sizeof block, f)) > 0) {
        cf_buf_add(out, block, n);
    }
    assert_int_equal(pclose(f), 0);
}

static void on_stored(void *ud, const cf_exchange *x)
{
    atomic_int *n_aborted = ud;
    if (cf_str_is(x->end, "aborted")) {
        (*n_aborted)++;
    }
}

static void test_clients__same_with_and_without(void **state)
{
    (void)state;
    const char *folder = getenv("CONFAB_CLIENTS");
    cf_http_server *fake, *server;
    cf_recorder *recorder;
    cf_store *store;
    cf_proxy proxy;
    cf_error err;
    atomic_int n_aborted = 0;
    cf_buf direct = CF_BUF_INIT, through = CF_BUF_INIT;
    if (folder == NULL) {
        T_SKIP("CONFAB_CLIENTS names no folder with the clients of npm");
    }
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler fake_handler = {.answer = on_fake};
    T_OK(cf_http_server_new(&fake, &any, &fake_handler, &err), err);
    T_OK(cf_store_open(&store, store_dir_file("c.db"),
                       &(cf_store_options){.flags = CF_STORE_CREATE}, &err),
         err);
    const cf_recorder_options ro = {.store = store, .stored = on_stored, .ud = &n_aborted};
    T_OK(cf_recorder_new(&recorder, &ro, &err), err);
    const cf_upstream up = {.url = cf_http_server_url(fake)};
    T_OK(cf_proxy_init(&proxy, &up, recorder, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    run(&direct, "clients.mjs", cf_http_server_url(fake), folder);
    run(&through, "clients.mjs", cf_http_server_url(server), folder);
    assert_string_equal(cf_buf_cstr(&direct), cf_buf_cstr(&through));
    assert_non_null(strstr(cf_buf_cstr(&direct), "\"ai stream\" \"h\xc3\xa9\""));
    assert_non_null(strstr(cf_buf_cstr(&direct), "RateLimitError"));
    while (n_aborted == 0) {
        sched_yield();
    }
    cf_http_server_free(server, 1000);
    cf_http_server_free(fake, 0);
    cf_recorder_free(recorder);
    cf_proxy_deinit(&proxy);
    cf_store_close(store);
    cf_buf_deinit(&direct);
    cf_buf_deinit(&through);
}

/* The built-in engine answers the same clients, through the proxy. */
static void test_clients__work_with_serve(void **state)
{
    (void)state;
    static const char *const lines[] = {"\"openai whole\" {\"id\":\"chatcmpl-",
                                        "\"openai stream\" [{\"id\":",
                                        "\"openai tools\" {\"id\":",
                                        "\"openai abort\" {\"id\":",
                                        "\"ai stream\" \"",
                                        "ok models\n",
                                        "ok messages\n",
                                        "ok usage of a stream\n",
                                        "ok logprobs\n",
                                        "ok schema\n",
                                        "ok tools\n",
                                        "ok seed, n and stop\n",
                                        "ok errors\n",
                                        "ok abort\n",
                                        "ok responses tools\n",
                                        "ok messages with tools\n",
                                        "ok Ollama tools and formats\n",
                                        "ok arguments streamed\n",
                                        "ok bindTools\n"};
    const char *folder = getenv("CONFAB_CLIENTS");
    cf_opened opened;
    cf_serve *serve;
    cf_http_server *engine, *server;
    cf_proxy proxy;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    if (folder == NULL) {
        T_SKIP("CONFAB_CLIENTS names no folder with the clients of npm");
    }
    const cf_open_options o = {.model = "bundled", .n_threads = 1};
    if (!cf_open_is_bundled(&o)) {
        T_SKIP("this build has no bundled model");
    }
    T_OK(cf_open_backend(&opened, &o, NULL, &err), err);
    const cf_serve_options so = {.opened = &opened, .model = "m", .n_slots = 2};
    T_OK(cf_serve_new(&serve, &so, &err), err);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler answers = cf_serve_handler(serve);
    T_OK(cf_http_server_new(&engine, &any, &answers, &err), err);
    const cf_upstream up = {.url = cf_http_server_url(engine)};
    T_OK(cf_proxy_init(&proxy, &up, NULL, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    run(&out, "clients.mjs", cf_http_server_url(server), folder);
    run(&out, "serve.mjs", cf_http_server_url(server), folder);
    run(&out, "serve_apis.mjs", cf_http_server_url(server), folder);
    run(&out, "langchain.mjs", cf_http_server_url(server), folder);
    if (strstr(cf_buf_cstr(&out), "\nnot ") != NULL) {
        fail_msg("%s", strstr(cf_buf_cstr(&out), "\nnot "));
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(cf_buf_cstr(&out), lines[i]) == NULL) {
            fail_msg("no %s in:\n%s", lines[i], cf_buf_cstr(&out));
        }
    }
    cf_http_server_free(server, 1000);
    cf_http_server_free(engine, 1000);
    cf_proxy_deinit(&proxy);
    cf_serve_free(serve);
    cf_opened_close(&opened);
    cf_buf_deinit(&out);
}

/* ---- a coding agent ----------------------------------------------------- */

enum {
    AGENT_REQUESTS = 10,
    AGENT_RUNS_MAX = 11,
    AGENT_CTX = 32768 /* its prompt has 13,000 of confab-tiny's tokens */
};

static void count_one(void *ud, const cf_exchange *x)
{
    if (x->status == 200) {
        atomic_fetch_add((atomic_int *)ud, 1);
    }
}

/* The project of the agent: its settings name the proxy as the provider. */
static void make_project(const char *dir, const char *url)
{
    char path[700], text[900];
    cf_error err;
    snprintf(text, sizeof text,
             "{\"provider\":{\"local\":{\"npm\":\"@ai-sdk/openai-compatible\","
             "\"name\":\"local\",\"options\":{\"baseURL\":\"%s/v1\","
             "\"apiKey\":\"sk-agent\"},\"models\":{\"m\":{\"name\":\"m\",\"limit\":{"
             "\"context\":32768,\"output\":64}}}}},"
             "\"model\":\"local/m\",\"autoupdate\":false,\"share\":"
             "\"disabled\"}",
             url);
    snprintf(path, sizeof path, "%s/opencode.json", dir);
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
}

/* The path of opencode; false: it is not there. */
static bool find_agent(char out[600])
{
    const char *folder = getenv("CONFAB_CLIENTS");
    snprintf(out, 600, "%s/node_modules/.bin/opencode", folder != NULL ? folder : "");
    return folder != NULL && access(out, X_OK) == 0;
}

/* All but requests for titles go on from each other, and are one
 * conversation. */
static void check_session(cf_store *store)
{
    const cf_exchange *rows;
    size_t n, n_same = 0;
    cf_error err;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    const cf_exchange_query q = {.has_ended = true, .limit = 100};
    T_OK(cf_store_exchanges(store, &q, &arena, &rows, &n, &err), err);
    for (size_t i = 0; i < n; i++) {
        n_same += cf_uuid_eq(rows[i].conversation, rows[n - 1].conversation);
    }
    assert_true(n_same + 2 >= AGENT_REQUESTS);
    cf_arena_deinit(&arena);
}

/* A session of opencode with the server at `to`, through the proxy. */
static void agent_session(const char *agent, const char *to, const char *name)
{
    char dir[600], db[300], command[2600];
    cf_http_server *server;
    cf_recorder *recorder;
    cf_store *store;
    cf_proxy proxy;
    cf_error err;
    atomic_int n_stored = 0;
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    snprintf(db, sizeof db, "%s.db", store_dir_file(name));
    T_OK(cf_store_open(&store, db, &(cf_store_options){.flags = CF_STORE_CREATE}, &err), err);
    const cf_recorder_options ro = {.store = store, .stored = count_one, .ud = &n_stored};
    T_OK(cf_recorder_new(&recorder, &ro, &err), err);
    const cf_upstream up = {.url = to};
    T_OK(cf_proxy_init(&proxy, &up, recorder, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    snprintf(dir, sizeof dir, "%s", store_dir_file(name));
    T_OK(cf_os_make_dirs(dir, &err), err);
    make_project(dir, cf_http_server_url(server));
    for (int i = 0; i < AGENT_RUNS_MAX && n_stored < AGENT_REQUESTS; i++) {
        snprintf(command, sizeof command,
                 "cd '%s' && HOME='%s' '%s' run %s 'list the files' "
                 ">/dev/null 2>&1",
                 dir, dir, agent, i > 0 ? "-c" : "");
        assert_int_equal(system(command), 0); /* NOLINT */
    }
    cf_http_server_free(server, 1000);
    cf_recorder_free(recorder);
    assert_true(n_stored >= AGENT_REQUESTS);
    cf_proxy_deinit(&proxy);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0); /* NOLINT */
    check_session(store);
    cf_store_close(store);
}

/* Against a script the agent runs a tool. */
static void test_clients__coding_agent(void **state)
{
    (void)state;
    static const char script[] =
        "{\"replies\":[{\"text\":\"I look.\",\"calls\":[{\"name\":\"bash\","
        "\"arguments\":{\"command\":\"ls\",\"description\":\"list\"}}],"
        "\"when\":\"\\\"bash\\\"\"},{\"text\":\"There is one file.\"}]}";
    char agent[600];
    cf_http_server *scripted;
    cf_scripted *replies;
    cf_error err;
    if (!find_agent(agent)) {
        T_SKIP("CONFAB_CLIENTS names no folder with opencode-ai of npm");
    }
    json_t *v = json_loads(script, 0, NULL);
    T_OK(cf_scripted_new(&replies, v, NULL, &err), err);
    json_decref(v);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler answers = cf_scripted_handler(replies);
    T_OK(cf_http_server_new(&scripted, &any, &answers, &err), err);
    agent_session(agent, cf_http_server_url(scripted), "agent");
    cf_http_server_free(scripted, 0);
    cf_scripted_free(replies);
}

/* Against the built-in engine, whose prefix cache the session shares. */
static void test_clients__coding_agent_with_serve(void **state)
{
    (void)state;
    char agent[600];
    cf_opened opened;
    cf_serve *serve;
    cf_http_server *engine;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    const cf_open_options o = {.model = "bundled", .n_threads = 2, .n_ctx = AGENT_CTX};
    if (!find_agent(agent)) {
        T_SKIP("CONFAB_CLIENTS names no folder with opencode-ai of npm");
    }
    if (!cf_open_is_bundled(&o)) {
        T_SKIP("this build has no bundled model");
    }
    T_OK(cf_open_backend(&opened, &o, NULL, &err), err);
    const cf_serve_options so = {.opened = &opened, .model = "m", .n_slots = 2, .n_ctx = AGENT_CTX};
    T_OK(cf_serve_new(&serve, &so, &err), err);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler answers = cf_serve_handler(serve);
    T_OK(cf_http_server_new(&engine, &any, &answers, &err), err);
    agent_session(agent, cf_http_server_url(engine), "agent-serve");
    run(&out, "agents.mjs", cf_http_server_url(engine), getenv("CONFAB_CLIENTS"));
    assert_null(strstr(cf_buf_cstr(&out), "not "));
    cf_buf_deinit(&out);
    cf_http_server_free(engine, 1000);
    cf_serve_free(serve);
    cf_opened_close(&opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients__same_with_and_without),
        cmocka_unit_test(test_clients__work_with_serve),
        cmocka_unit_test(test_clients__coding_agent),
        cmocka_unit_test(test_clients__coding_agent_with_serve),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
