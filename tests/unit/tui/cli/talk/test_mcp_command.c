/*
 * test_mcp_command.c - confab mcp and run --mcp, with the scripted server, and
 * with the servers of npm where they are installed.
 *
 * CONFAB_MCP_NPM names a folder whose node_modules has the official servers
 * (docs/mcp.md says how to make it); without it their tests are skipped.
 */
#include <unistd.h>

#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

/* A file of servers: pairs of name and mode, NULL at the end. */
static const char *servers(const char *const *pairs)
{
    static const char *path;
    char here[512];
    cf_buf text = CF_BUF_INIT;
    path = store_dir_file("servers.json");
    assert_non_null(getcwd(here, sizeof here));
    cf_buf_adds(&text, "{\"mcpServers\":{");
    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        cf_buf_addf(&text,
                    "%s\"%s\":{\"command\":\"python3\",\"args\":[\"%s/tests/"
                    "data/mcp/scripted.py\",\"%s\"]}",
                    i > 0 ? "," : "", pairs[i], here, pairs[i + 1]);
    }
    cf_buf_adds(&text, "}}");
    store_dir_write(path, cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    return path;
}

#define SERVERS(...) servers((const char *const[]){__VA_ARGS__, NULL})

/* Line `n` of an output as JSON; n < 0: the last one. */
static json_t *line_of(const cf_buf *out, int n)
{
    json_t *v = NULL;
    cf_error err;
    const char *p = cf_buf_cstr(out), *end;
    for (int i = 0; (end = strchr(p, '\n')) != NULL; i++) {
        if (i == n || (n < 0 && end[1] == '\0')) {
            T_OK(cf_json_read(&v, p, (size_t)(end - p), &err), err);
            return v;
        }
        p = end + 1;
    }
    fail_msg("no line %d in: %s", n, cf_buf_cstr(out));
    return NULL;
}

static void same_text(const json_t *v, const char *key, const char *want)
{
    const char *is = json_string_value(json_object_get(v, key));
    if (is == NULL || strcmp(is, want) != 0) {
        fail_msg("%s is %s, expected %s", key, is != NULL ? is : "(none)", want);
    }
}

/* ---- list --------------------------------------------------------------- */

static void test_mcp_command__list(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *db = store_dir_file("list.db");
    CF_PROGRAM(&p, "mcp", "list", "--db", db, "--mcp",
               SERVERS("old", "pages", "new", "new", "gone", "diesatonce"), "--yes", "--json");
    assert_int_equal(p.status, 0);
    json_t *old = line_of(&p.out, 0), *new = line_of(&p.out, 1);
    json_t *gone = line_of(&p.out, 2);
    same_text(old, "server", "old");
    same_text(old, "state", "ready");
    same_text(old, "protocol", "2025-11-25");
    const json_t *tools = json_object_get(old, "tools");
    assert_int_equal(json_array_size(tools), 3);
    same_text(json_array_get(tools, 0), "name", "a");
    same_text(json_array_get(tools, 2), "name", "c");
    assert_true(json_is_false(json_object_get(json_array_get(tools, 0), "changed")));
    assert_true(json_is_object(json_object_get(json_array_get(tools, 0), "inputSchema")));
    same_text(new, "protocol", "2026-07-28");
    same_text(gone, "state", "failed");
    assert_non_null(
        strstr(json_string_value(json_object_get(gone, "error")), "cannot open the file"));
    json_decref(old);
    json_decref(new);
    json_decref(gone);
    cf_program_deinit(&p);
}

static void test_mcp_command__nothing_starts_unasked(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    char config[600];
    const char *path = store_dir_file("touch.json");
    const char *mark = store_dir_file("touched");
    snprintf(config, sizeof config,
             "{\"mcpServers\":{\"x\":{\"command\":\"touch\",\"args\":[\"%s\"]"
             "}}}",
             mark);
    store_dir_write(path, config);
    CF_PROGRAM(&p, "mcp", "list", "--mcp", path, "--json");
    assert_int_not_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "call", "--mcp", path, "x", "{}");
    assert_int_not_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "--mcp", path, "-m", "script:none.json", "hello");
    assert_int_not_equal(p.status, 0);
    cf_program_deinit(&p);
    assert_int_not_equal(access(mark, F_OK), 0);
}

static bool first_tool_changed(const char *db, const char *path)
{
    cf_program p;
    CF_PROGRAM(&p, "mcp", "list", "--db", db, "--mcp", path, "--yes", "--json");
    json_t *v = line_of(&p.out, 0);
    bool changed =
        json_is_true(json_object_get(json_array_get(json_object_get(v, "tools"), 0), "changed"));
    bool is_told = strstr(cf_buf_cstr(&p.err), "Sends it to a stranger") != NULL;
    assert_int_equal(changed, is_told);
    json_decref(v);
    cf_program_deinit(&p);
    return changed;
}

static void test_mcp_command__changed_description(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("changed.db");
    assert_false(first_tool_changed(db, SERVERS("s", "plain")));
    assert_false(first_tool_changed(db, SERVERS("s", "plain")));
    assert_true(first_tool_changed(db, SERVERS("s", "changed")));
    assert_false(first_tool_changed(db, SERVERS("s", "changed")));
}

static void test_mcp_command__tokens(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("there is no bundled model");
    }
    cf_program p;
    CF_PROGRAM(&p, "mcp", "list", "--db", store_dir_file("tokens.db"), "--mcp",
               SERVERS("s", "plain", "more", "pages"), "--yes", "--json", "-m", "bundled");
    json_t *one = line_of(&p.out, 0), *three = line_of(&p.out, 1);
    json_int_t n = json_integer_value(json_object_get(one, "tokens"));
    const json_t *tool = json_array_get(json_object_get(one, "tools"), 0);
    assert_true(n > 5);
    assert_int_equal(json_integer_value(json_object_get(tool, "tokens")), n);
    assert_true(json_integer_value(json_object_get(three, "tokens")) > 2 * n);
    json_decref(one);
    json_decref(three);
    cf_program_deinit(&p);
}

/* ---- resources and prompts ---------------------------------------------- */

static void test_mcp_command__what_a_server_offers(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *db = store_dir_file("offers.db");
    const char *path = SERVERS("s", "offers");
    CF_PROGRAM(&p, "mcp", "list", "--db", db, "--mcp", path, "--yes", "--json");
    assert_int_equal(p.status, 0);
    json_t *s = line_of(&p.out, 0);
    const json_t *tools = json_object_get(s, "tools"), *prompts = json_object_get(s, "prompts");
    const json_t *resources = json_object_get(s, "resources");
    assert_true(json_is_false(json_object_get(json_array_get(tools, 0), "needsTask")));
    assert_true(json_is_true(json_object_get(json_array_get(tools, 1), "needsTask")));
    assert_int_equal(json_array_size(prompts), 2);
    same_text(json_array_get(prompts, 1), "name", "greet");
    assert_int_equal(json_array_size(resources), 1);
    same_text(json_array_get(resources, 0), "uri", "file:///a");
    assert_int_equal(json_array_size(json_object_get(s, "resourceTemplates")), 0);
    same_text(s, "instructions", "Say please.\nAlways.");
    json_decref(s);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "list", "--db", db, "--mcp", path, "--yes");
    cf_program_expect(&p, 0,
                      "s  ready  revision 2025-11-25\n  echo  Says it again\n"
                      "  long  TASKS ONLY  Says it again\n  prompt first  \n  prompt greet  \n"
                      "  resource file:///a  5 bytes  A\n  instructions  Say please.\n");
    CF_PROGRAM(&p, "mcp", "call", "--db", db, "--mcp", path, "--yes", "long", "{\"text\":\"a\"}");
    assert_int_not_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "long runs as a task only, which is not offered"));
    cf_program_deinit(&p);
}

static void test_mcp_command__read_and_prompt(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *db = store_dir_file("read.db");
    const char *path = SERVERS("s", "offers", "t", "plain");
    CF_PROGRAM(&p, "mcp", "read", "--db", db, "--mcp", path, "--yes", "file:///a");
    cf_program_expect(&p, 0, "it is file:///a\n");
    CF_PROGRAM(&p, "mcp", "read", "--db", db, "--mcp", path, "--yes", "--server", "s", "file:///b");
    cf_program_expect(&p, 0, "[resource file:///b] [data x/y, 3 bytes]\n");
    CF_PROGRAM(&p, "mcp", "read", "--db", db, "--mcp", path, "--yes", "file:///c");
    assert_int_not_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "no server lists file:///c"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "prompt", "--db", db, "--mcp", path, "--yes", "greet",
               "{\"who\":\"Ada\"}");
    cf_program_expect(&p, 0, "user: Greet Ada\n");
    CF_PROGRAM(&p, "mcp", "prompt", "--db", db, "--mcp", path, "--yes", "--json", "greet");
    json_t *v = line_of(&p.out, 0);
    assert_int_equal(json_array_size(json_object_get(v, "messages")), 1);
    assert_true(json_is_null(json_object_get(v, "tokens")));
    json_decref(v);
    cf_program_deinit(&p);
}

/* The instructions are in the prompt where that is asked for, after --system. */
static void test_mcp_command__instructions(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("there is no bundled model");
    }
    cf_program p;
    const char *path = SERVERS("s", "offers");
    CF_PROGRAM(&p, "run", "--no-store", "--mcp", path, "--yes", "--show-prompt", "-m", "bundled",
               "hello");
    assert_int_equal(p.status, 0);
    assert_null(strstr(cf_buf_cstr(&p.out), "Say please."));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"echo\""));
    assert_null(strstr(cf_buf_cstr(&p.out), "\"long\"")); /* runs as a task only */
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "--mcp", path, "--yes", "--show-prompt", "-m", "bundled",
               "--instructions", "--system", "Be short.", "hello");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "Be short.\n\nSay please.\nAlways."));
    cf_program_deinit(&p);
}

static void test_mcp_command__tokens_of_texts(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("there is no bundled model");
    }
    cf_program p;
    const char *db = store_dir_file("texts.db");
    const char *path = SERVERS("s", "offers");
    CF_PROGRAM(&p, "mcp", "read", "--db", db, "--mcp", path, "--yes", "--json", "-m", "bundled",
               "file:///a");
    json_t *v = line_of(&p.out, 0);
    assert_true(json_integer_value(json_object_get(v, "tokens")) > 3);
    json_decref(v);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "list", "--db", db, "--mcp", path, "--yes", "--json", "-m", "bundled");
    v = line_of(&p.out, 0);
    assert_true(json_integer_value(json_object_get(v, "instructionsTokens")) > 3);
    json_decref(v);
    cf_program_deinit(&p);
}

/* ---- call --------------------------------------------------------------- */

/* Runs a call of echo; the result is line -1 of *out where there is one. */
static int call(cf_program *p, const char *path, const char *arguments)
{
    CF_PROGRAM(p, "mcp", "call", "--db", store_dir_file("call.db"), "--mcp", path, "--yes",
               "--json", "--tool-timeout", "1", "--log", "echo", arguments);
    return p->status;
}

static void check_status(const char *mode, const char *arguments, int want)
{
    cf_program p;
    int is = call(&p, SERVERS("s", mode), arguments);
    if (is != want) {
        fail_msg("%s: status %d, expected %d\n%s", mode, is, want, cf_buf_cstr(&p.err));
    }
    cf_program_deinit(&p);
}

static void test_mcp_command__call_statuses(void **state)
{
    (void)state;
    NEED_PROGRAM();
    check_status("plain", "{\"text\":\"a\"}", 0);
    check_status("iserror", "{\"text\":\"a\"}", 1);
    check_status("structured", "{\"text\":\"good\"}", 0);
    check_status("structured", "{\"text\":\"bad\"}", 1);
    check_status("plain", "{\"text\":1}", 1);
    check_status("dies", "{\"text\":\"a\"}", 3);
    check_status("hangs", "{\"text\":\"a\"}", 4);
    check_status("huge", "{\"text\":\"a\"}", 4);
    check_status("elicits", "{\"text\":\"a\"}", 0);
    check_status("newelicits", "{\"text\":\"a\"}", 0);
}

static void test_mcp_command__result(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    call(&p, SERVERS("s", "structured"), "{\"text\":\"bad\"}");
    json_t *v = line_of(&p.out, -1);
    assert_int_equal(json_array_size(json_object_get(v, "content")), 1);
    assert_int_equal(json_array_size(json_object_get(v, "findings")), 1);
    assert_true(json_is_false(json_object_get(v, "isError")));
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(v, "structuredContent"), "n")), 30);
    json_decref(v);
    cf_program_deinit(&p);
    call(&p, SERVERS("s", "plain"), "{\"text\":1}");
    assert_null(strstr(cf_buf_cstr(&p.out), "tools/call")); /* not sent */
    cf_program_deinit(&p);
    call(&p, SERVERS("s", "hangs"), "{\"text\":\"a\"}");
    assert_non_null(strstr(cf_buf_cstr(&p.out), "notifications/cancelled"));
    cf_program_deinit(&p);
}

static void test_mcp_command__which_server(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *path = SERVERS("one", "plain", "two", "new");
    const char *db = store_dir_file("which.db");
    CF_PROGRAM(&p, "mcp", "call", "--db", db, "--mcp", path, "--yes", "echo", "{\"text\":\"a\"}");
    assert_int_equal(p.status, 2); /* both have it */
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "call", "--db", db, "--mcp", path, "--yes", "--server", "two", "echo",
               "{\"text\":\"a\"}");
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), "new: a\n");
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "call", "--db", db, "--mcp", path, "--yes", "two_echo",
               "{\"text\":\"a\"}");
    assert_string_equal(cf_buf_cstr(&p.out), "new: a\n");
    cf_program_deinit(&p);
}

/* ---- run and log -------------------------------------------------------- */

static const char calls_both[] =
    "{\"replies\":[{\"text\":\"<tool_call>\\n{\\\"name\\\": \\\"one_echo\\\", "
    "\\\"arguments\\\": {\\\"text\\\": "
    "\\\"hi\\\"}}\\n</tool_call>\\n<tool_call>\\n{\\\"name\\\": "
    "\\\"two_echo\\\", \\\"arguments\\\": {\\\"text\\\": "
    "\\\"there\\\"}}\\n</tool_call>\"},{\"text\":\"Done.\"}]}";

/* Counts messages of a direction with a method. */
static int count_messages(const cf_buf *out, const char *direction, const char *method)
{
    int n = 0;
    const char *p = cf_buf_cstr(out);
    for (const char *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        json_t *v = NULL;
        cf_error err;
        T_OK(cf_json_read(&v, p, (size_t)(end - p), &err), err);
        const char *is =
            json_string_value(json_object_get(json_object_get(v, "message"), "method"));
        assert_true(json_is_object(json_object_get(v, "message")));
        n += cf_str_is(cf_json_get_str(v, "direction"), direction) && is != NULL &&
             strcmp(is, method) == 0;
        json_decref(v);
    }
    return n;
}

static void test_mcp_command__run_and_log(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *db = store_dir_file("run.db");
    const char *script = store_dir_file("run.json");
    char model[300], id[64] = {0};
    store_dir_write(script, calls_both);
    snprintf(model, sizeof model, "script:%s", script);
    CF_PROGRAM(&p, "run", "--db", db, "-m", model, "--family", "hermes", "--mcp",
               SERVERS("one", "plain", "two", "new"), "--yes", "--json", "say it");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"result\":\"echo: hi\""));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"result\":\"new: there\""));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "list", "--db", db, "--json");
    json_t *v = line_of(&p.out, 0);
    snprintf(id, sizeof id, "%s", json_string_value(json_object_get(v, "conversation")));
    json_decref(v);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "log", "--db", db, id, "--json");
    assert_int_equal(p.status, 0);
    assert_int_equal(count_messages(&p.out, "out", "tools/call"), 2);
    assert_int_equal(count_messages(&p.out, "out", "initialize"), 1);
    assert_int_equal(count_messages(&p.out, "out", "server/discover"), 2);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "echo: hi"));
    cf_program_deinit(&p);
}

/* ---- the servers of npm ------------------------------------------------- */

static const char *npm_folder(void)
{
    return getenv("CONFAB_MCP_NPM");
}

#define NEED_NPM()                                                       \
    do {                                                                 \
        NEED_PROGRAM();                                                  \
        if (npm_folder() == NULL) {                                      \
            T_SKIP("CONFAB_MCP_NPM names no folder with npm's servers"); \
        }                                                                \
    } while (0)

/* A file with the four official servers and one of the new era. */
static const char *npm_servers(void)
{
    char here[512];
    const char *path = store_dir_file("npm.json"), *n = npm_folder();
    cf_buf t = CF_BUF_INIT;
    assert_non_null(getcwd(here, sizeof here));
    cf_buf_addf(&t,
                "{\"mcpServers\":{"
                "\"everything\":{\"command\":\"%s/node_modules/.bin/"
                "mcp-server-everything\"},"
                "\"files\":{\"command\":\"%s/node_modules/.bin/"
                "mcp-server-filesystem\",\"args\":[\"%s/tests/data\"]},"
                "\"memory\":{\"command\":\"%s/node_modules/.bin/"
                "mcp-server-memory\",\"env\":{\"MEMORY_FILE_PATH\":\"%s\"}},",
                n, n, here, n, store_dir_file("memory.jsonl"));
    cf_buf_addf(&t,
                "\"thinking\":{\"command\":\"%s/node_modules/.bin/"
                "mcp-server-sequential-thinking\"},"
                "\"newera\":{\"command\":\"node\",\"args\":[\"%s/tests/data/"
                "mcp/newera.mjs\"],\"cwd\":\"%s\"}}}",
                n, here, n);
    store_dir_write(path, cf_buf_cstr(&t));
    cf_buf_deinit(&t);
    return path;
}

static void test_mcp_command__npm_list(void **state)
{
    (void)state;
    NEED_NPM();
    static const char *const protocols[] = {"2025-11-25", "2025-11-25", "2025-11-25", "2025-11-25",
                                            "2026-07-28"};
    cf_program p;
    CF_PROGRAM(&p, "mcp", "list", "--db", store_dir_file("npm.db"), "--mcp", npm_servers(), "--yes",
               "--json");
    assert_int_equal(p.status, 0);
    for (int i = 0; i < 5; i++) {
        json_t *v = line_of(&p.out, i);
        same_text(v, "state", "ready");
        same_text(v, "protocol", protocols[i]);
        assert_true(json_array_size(json_object_get(v, "tools")) > 0);
        json_decref(v);
    }
    cf_program_deinit(&p);
}

static void npm_call(const char *server, const char *tool, const char *arguments, const char *want)
{
    cf_program p;
    CF_PROGRAM(&p, "mcp", "call", "--db", store_dir_file("npm.db"), "--mcp", npm_servers(),
               "--server", server, "--yes", tool, arguments);
    if (p.status != 0 || strstr(cf_buf_cstr(&p.out), want) == NULL) {
        fail_msg("%s: status %d, %s %s", tool, p.status, cf_buf_cstr(&p.out), cf_buf_cstr(&p.err));
    }
    cf_program_deinit(&p);
}

static void test_mcp_command__npm_calls(void **state)
{
    (void)state;
    NEED_NPM();
    char here[512], arguments[700];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(arguments, sizeof arguments, "{\"path\":\"%s/tests/data/mcp/scripted.py\"}", here);
    npm_call("files", "read_text_file", arguments, "A tool server with one");
    npm_call("everything", "get-sum", "{\"a\":20,\"b\":22}", "42");
    npm_call("everything", "get-structured-content", "{\"location\":\"Chicago\"}", "temperature");
    npm_call("everything", "get-tiny-image", "{}", "[image image/png, ");
    npm_call("everything", "trigger-elicitation-request", "{}", "declined");
    npm_call("memory", "create_entities",
             "{\"entities\":[{\"name\":\"Ada\",\"entityType\":\"person\","
             "\"observations\":[]}]}",
             "Ada");
    npm_call("thinking", "sequentialthinking",
             "{\"thought\":\"t\",\"nextThoughtNeeded\":false,"
             "\"thoughtNumber\":1,\"totalThoughts\":1}",
             "thoughtNumber");
    npm_call("newera", "length", "{\"text\":\"four\"}", "{\"n\":4}");
}

/* Waits until something listens at the port; false: nothing does. */
static bool wait_for_port(int port)
{
    char command[200];
    snprintf(command, sizeof command,
             "for i in $(seq 100); do python3 -c 'import socket;"
             "socket.create_connection((\"127.0.0.1\",%d)).close()' "
             "2>/dev/null && exit 0; sleep 0.1; done; exit 1",
             port);
    return system(command) == 0;
}

/* The same two over HTTP. */
static void npm_http(const char *command, int port, const char *tool, const char *arguments,
                     const char *want)
{
    char line[700], config[200];
    cf_program p;
    const char *path = store_dir_file("http.json");
    const char *pid = store_dir_file("pid");
    snprintf(line, sizeof line, "cd '%s' && { %s >/dev/null 2>&1 & echo $! >%s; }", npm_folder(),
             command, pid);
    assert_int_equal(system(line), 0);
    assert_true(wait_for_port(port));
    snprintf(config, sizeof config,
             "{\"mcpServers\":{\"h\":{\"url\":\"http://127.0.0.1:%d/mcp\"}}}", port);
    store_dir_write(path, config);
    CF_PROGRAM(&p, "mcp", "call", "--db", store_dir_file("npm.db"), "--mcp", path, "--yes", tool,
               arguments);
    snprintf(line, sizeof line, "kill $(cat %s)", pid);
    assert_int_equal(system(line), 0);
    if (p.status != 0 || strstr(cf_buf_cstr(&p.out), want) == NULL) {
        fail_msg("%s: status %d, %s %s", tool, p.status, cf_buf_cstr(&p.out), cf_buf_cstr(&p.err));
    }
    cf_program_deinit(&p);
}

static void test_mcp_command__npm_over_http(void **state)
{
    (void)state;
    NEED_NPM();
    char here[512], command[700];
    int port = 20000 + (int)(getpid() % 20000);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(command, sizeof command,
             "PORT=%d exec node node_modules/@modelcontextprotocol/"
             "server-everything/dist/index.js streamableHttp",
             port);
    npm_http(command, port, "get-sum", "{\"a\":20,\"b\":22}", "42");
    snprintf(command, sizeof command, "exec node %s/tests/data/mcp/newera.mjs %d", here, port + 1);
    npm_http(command, port + 1, "echo", "{\"text\":\"over http\"}", "over http");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_command__list),
        cmocka_unit_test(test_mcp_command__nothing_starts_unasked),
        cmocka_unit_test(test_mcp_command__changed_description),
        cmocka_unit_test(test_mcp_command__tokens),
        cmocka_unit_test(test_mcp_command__what_a_server_offers),
        cmocka_unit_test(test_mcp_command__read_and_prompt),
        cmocka_unit_test(test_mcp_command__instructions),
        cmocka_unit_test(test_mcp_command__tokens_of_texts),
        cmocka_unit_test(test_mcp_command__call_statuses),
        cmocka_unit_test(test_mcp_command__result),
        cmocka_unit_test(test_mcp_command__which_server),
        cmocka_unit_test(test_mcp_command__run_and_log),
        cmocka_unit_test(test_mcp_command__npm_list),
        cmocka_unit_test(test_mcp_command__npm_calls),
        cmocka_unit_test(test_mcp_command__npm_over_http),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
