/*
 * test_mcp.c - the client against a scripted server (tests/data/mcp), one
 * mode for each thing that servers do: over standard input and output.
 */
#include <signal.h>
#include <unistd.h>

#include "core/api/attachment.h"
#include "core/api/mcp.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/process.h"
#include "tests/support/t.h"

/* What happened, as text: a letter for the kind, then what it says. */
typedef struct seen {
    cf_buf text;
    size_t n_asked;
    json_t *answer; /* to the question of a server */
} seen;

static void on_event(void *ud, const cf_mcp_event *ev)
{
    seen *s = ud;
    static const char letters[] = "><?!*=#%";
    cf_buf_addf(&s->text, "%c %.*s", letters[ev->kind],
                (int)(ev->text.n < 2000 ? ev->text.n : 2000), ev->text.p);
    if (ev->kind == CF_MCP_PROGRESS) {
        cf_buf_addf(&s->text, " %g/%g call %d", ev->progress, ev->total, (int)ev->call);
    }
    cf_buf_addc(&s->text, '\n');
}

static void on_ask(void *ud, size_t server, const json_t *params, json_t **answer)
{
    seen *s = ud;
    (void)server;
    assert_string_equal(cf_json_get_str(params, "message").p, "Who?");
    s->n_asked++;
    *answer = json_incref(s->answer);
}

typedef struct world {
    cf_mcp *mcp;
    seen seen;
    cf_error err;
    size_t server;
} world;

static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", NULL};

static json_t *config_of(const char *mode)
{
    json_t *c = json_pack("{s:s, s:[s,s,s]}", "name", mode, "command", "python3",
                          "tests/data/mcp/scripted.py", mode);
    assert_non_null(c);
    return c;
}

static void open_with(world *w, const char *mode, cf_mcp_options o)
{
    memset(w, 0, sizeof *w);
    o.env = env;
    o.event = on_event;
    o.ud = &w->seen;
    o.grace_ms = o.grace_ms != 0 ? o.grace_ms : 300;
    T_OK(cf_mcp_new(&w->mcp, &o, &w->err), w->err);
    json_t *c = config_of(mode);
    T_OK(cf_mcp_add(w->mcp, c, &w->server, &w->err), w->err);
    json_decref(c);
    T_OK(cf_mcp_settle(w->mcp, NULL, &w->err), w->err);
}

static void open_mode(world *w, const char *mode)
{
    open_with(w, mode, (cf_mcp_options){.call_ms = 100000});
}

static void close_world(world *w)
{
    cf_mcp_free(w->mcp);
    cf_buf_deinit(&w->seen.text);
    json_decref(w->seen.answer);
}

static cf_status call_with(world *w, const json_t *arguments, cf_mcp_result *r)
{
    return cf_mcp_call(w->mcp, w->server, cf_str_from("echo"), arguments, NULL, r, &w->err);
}

/* Calls echo with the text; the result's text for the model is `want`. */
static void check_call(world *w, const char *text, const char *want)
{
    cf_mcp_result r;
    cf_buf out = CF_BUF_INIT;
    json_t *arguments = json_pack("{s:s}", "text", text);
    T_OK(call_with(w, arguments, &r), w->err);
    cf_mcp_result_text(&r, &out);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
    cf_mcp_result_deinit(&r);
    json_decref(arguments);
}

static cf_status failing_call(world *w)
{
    cf_mcp_result r;
    json_t *arguments = json_pack("{s:s}", "text", "x");
    cf_status st = call_with(w, arguments, &r);
    json_decref(arguments);
    if (st == CF_OK) {
        cf_mcp_result_deinit(&r);
    }
    return st;
}

static bool saw(const world *w, const char *text)
{
    return strstr(cf_buf_cstr(&w->seen.text), text) != NULL;
}

static void must_see(const world *w, const char *text)
{
    if (!saw(w, text)) {
        fail_msg("no '%s' in:\n%s", text, cf_buf_cstr(&w->seen.text));
    }
}

static void is_ready(const world *w, const char *protocol, size_t n_tools)
{
    cf_mcp_server s = cf_mcp_server_at(w->mcp, w->server);
    if (s.state != CF_MCP_READY) {
        fail_msg("%s: %s\n%s", cf_mcp_state_name(s.state), s.error, cf_buf_cstr(&w->seen.text));
    }
    assert_string_equal(s.protocol, protocol);
    assert_int_equal(json_array_size(s.tools), n_tools);
}

static void has_failed(const world *w, const char *why)
{
    cf_mcp_server s = cf_mcp_server_at(w->mcp, w->server);
    assert_int_equal(s.state, CF_MCP_FAILED);
    if (strstr(s.error, why) == NULL) {
        fail_msg("'%s' does not say '%s'", s.error, why);
    }
}

/* ---- eras --------------------------------------------------------------- */

static void test_mcp__old_era(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "plain");
    is_ready(&w, "2025-11-25", 1);
    check_call(&w, "hello", "echo: hello");
    must_see(&w, "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"");
    must_see(&w, "\"progressToken\":");
    close_world(&w);
}

static void test_mcp__new_era(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "new");
    is_ready(&w, "2026-07-28", 1);
    check_call(&w, "hello", "new: hello");
    assert_false(saw(&w, "\"method\":\"initialize\""));
    must_see(&w, "\"progressToken\":");
    cf_mcp_server s = cf_mcp_server_at(w.mcp, 0);
    T_TEXT(s.title.p, s.title.n, "new");
    close_world(&w);
}

static void test_mcp__older_revision(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "oldversion");
    is_ready(&w, "2024-11-05", 1);
    close_world(&w);
}

static void test_mcp__unknown_revision(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "unknown");
    has_failed(&w, "1999-01-01");
    close_world(&w);
}

static void test_mcp__silence_gets_initialize(void **state)
{
    (void)state;
    world w;
    open_with(&w, "silent", (cf_mcp_options){.probe_ms = 300});
    is_ready(&w, "2025-11-25", 1);
    must_see(&w, "* no answer to server/discover: trying initialize");
    assert_null(strstr(cf_buf_cstr(&w.seen.text), "started again"));
    check_call(&w, "a", "echo: a");
    close_world(&w);
}

static void test_mcp__end_in_the_probe_is_started_again(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "picky");
    is_ready(&w, "2025-11-25", 1);
    close_world(&w);
}

static void test_mcp__slow_server_of_the_new_era(void **state)
{
    (void)state;
    world w;
    open_with(&w, "slow", (cf_mcp_options){.probe_ms = 300});
    is_ready(&w, "2026-07-28", 1);
    close_world(&w);
}

static void test_mcp__never_answers_the_start(void **state)
{
    (void)state;
    world w;
    open_with(&w, "mute", (cf_mcp_options){.probe_ms = 200, .start_ms = 300});
    has_failed(&w, "in time");
    close_world(&w);
}

/* ---- faults ------------------------------------------------------------- */

static void test_mcp__notifications_before_the_first_answer(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "earlynotice");
    is_ready(&w, "2025-11-25", 1);
    check_call(&w, "a", "echo: a");
    close_world(&w);
}

static void test_mcp__answers_out_of_order(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "shuffled");
    check_call(&w, "a", "right");
    check_call(&w, "a", "right");
    close_world(&w);
}

static void test_mcp__cursor_again_and_again(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "cursor");
    is_ready(&w, "2025-11-25", 1);
    must_see(&w, "* a cursor of tools/list came again");
    close_world(&w);
}

static void test_mcp__pages_without_end(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "endless");
    is_ready(&w, "2025-11-25", 1000);
    must_see(&w, "* more than 1000 pages");
    close_world(&w);
}

static void test_mcp__empty_cursor_counts(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "pages");
    is_ready(&w, "2025-11-25", 3);
    close_world(&w);
}

static void test_mcp__text_that_is_no_protocol(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "chatty");
    is_ready(&w, "2025-11-25", 1);
    must_see(&w, "? Listening");
    must_see(&w, "? {not json");
    must_see(&w, "? 42");
    check_call(&w, "a", "echo: a");
    must_see(&w, "? debug: called");
    close_world(&w);
}

static void test_mcp__null_for_lists(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "null");
    is_ready(&w, "2025-11-25", 0);
    close_world(&w);
    open_mode(&w, "nullcontent");
    check_call(&w, "a", "");
    close_world(&w);
}

static void test_mcp__line_without_end(void **state)
{
    (void)state;
    world w;
    open_with(&w, "huge", (cf_mcp_options){.message_max = 4 << 20});
    T_FAILS(failing_call(&w), CF_ELIMIT);
    has_failed(&w, "a line of more than 4194304 bytes");
    close_world(&w);
}

static void test_mcp__flood(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "flood");
    T_FAILS(failing_call(&w), CF_ELIMIT);
    has_failed(&w, "more than 64 MiB");
    close_world(&w);
}

static void test_mcp__dies_in_a_call(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "dies");
    T_FAILS(failing_call(&w), CF_EIO);
    has_failed(&w, "ended with status 3: Error: out of luck");
    T_FAILS(failing_call(&w), CF_ENOTFOUND);
    /* It can be started again. */
    T_OK(cf_mcp_restart(w.mcp, 0, &w.err), w.err);
    T_OK(cf_mcp_settle(w.mcp, NULL, &w.err), w.err);
    is_ready(&w, "2025-11-25", 1);
    close_world(&w);
}

static void test_mcp__dies_at_once(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "diesatonce");
    has_failed(&w, "status 1: cannot open the file");
    close_world(&w);
}

static void test_mcp__no_such_program(void **state)
{
    (void)state;
    world w;
    cf_mcp_options o = {.env = env};
    memset(&w, 0, sizeof w);
    T_OK(cf_mcp_new(&w.mcp, &o, &w.err), w.err);
    json_t *c = json_pack("{s:s, s:[s]}", "name", "x", "command", "no-such-program-here");
    T_OK(cf_mcp_add(w.mcp, c, &w.server, &w.err), w.err);
    has_failed(&w, "there is no such program");
    json_decref(c);
    close_world(&w);
}

static void test_mcp__never_answers_a_call(void **state)
{
    (void)state;
    world w;
    open_with(&w, "hangs", (cf_mcp_options){.call_ms = 200});
    T_FAILS(failing_call(&w), CF_ELIMIT);
    must_see(&w, "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                 "\"params\":{\"requestId\":4,");
    is_ready(&w, "2025-11-25", 1); /* the server is still there */
    close_world(&w);
}

static void test_mcp__cancel(void **state)
{
    (void)state;
    world w;
    cf_cancel cancel = true;
    cf_mcp_result r;
    open_mode(&w, "hangs");
    json_t *arguments = json_pack("{s:s}", "text", "x");
    const cf_mcp_call_options o = {.cancel = &cancel};
    T_FAILS(cf_mcp_call(w.mcp, 0, cf_str_from("echo"), arguments, &o, &r, &w.err), CF_ECANCELLED);
    must_see(&w, "notifications/cancelled");
    json_decref(arguments);
    close_world(&w);
}

/* The scripted server ignores a closed input and SIGTERM, so only SIGKILL ends
 * it, and it must have ended. */
static void test_mcp__ignores_a_closed_input(void **state)
{
    (void)state;
    world w;
    open_with(&w, "stubborn", (cf_mcp_options){.grace_ms = 100});
    is_ready(&w, "2025-11-25", 1);
    close_world(&w);
    const char *const argv[] = {"sh", "-c", "ps axww | grep -c 'scripted.* [s]tubborn'", NULL};
    const cf_process_spec spec = {.argv = argv, .env = env};
    cf_process p;
    char block[16] = {0};
    T_OK(cf_process_start(&p, &spec, &w.err), w.err);
    while (!cf_process_has_ended(&p)) {
    }
    size_t n = cf_process_read(&p.out, block, sizeof block - 1);
    cf_process_end(&p, 0);
    if (n == 0) {
        T_SKIP("there is no ps");
    }
    assert_int_equal(block[0], '0');
}

static void test_mcp__bad_tools_are_left_out(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "badtools");
    is_ready(&w, "2025-11-25", 4); /* echo, bare, null, and the odd name */
    check_call(&w, "a", "echo: a");
    close_world(&w);
}

static void test_mcp__text_that_json_cannot_hold(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "surrogate");
    check_call(&w, "a", "a\xEF\xBF\xBD b\xEF\xBF\xBD c\\ud83d \xF0\x9F\x98\x80");
    close_world(&w);
}

static void test_mcp__batch(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "batch");
    check_call(&w, "a", "one");
    close_world(&w);
}

/* ---- what servers ask --------------------------------------------------- */

static const char old_questions[] =
    "[{\"action\": \"%s\"%s}, "
    "{\"code\": -32601, \"message\": \"sampling is not offered\"}, "
    "{\"code\": -32601, \"message\": \"roots are not offered\"}, {}, "
    "{\"code\": -32601, \"message\": \"method not found\"}]";

static void test_mcp__question_without_a_user(void **state)
{
    (void)state;
    world w;
    char want[500];
    open_mode(&w, "elicits");
    snprintf(want, sizeof want, old_questions, "decline", "");
    check_call(&w, "a", want);
    close_world(&w);
}

static void test_mcp__question_answered(void **state)
{
    (void)state;
    world w;
    char want[500];
    open_with(&w, "elicits", (cf_mcp_options){.ask = on_ask});
    w.seen.answer = json_pack("{s:s, s:{s:s}}", "action", "accept", "content", "name", "Ada");
    snprintf(want, sizeof want, old_questions, "accept", ", \"content\": {\"name\": \"Ada\"}");
    check_call(&w, "a", want);
    assert_int_equal(w.seen.n_asked, 1);
    close_world(&w);
}

static cf_cancel is_stopped;

static void on_ask_stop(void *ud, size_t server, const json_t *params, json_t **answer)
{
    (void)ud;
    (void)server;
    (void)params;
    atomic_store(&is_stopped, true);
    *answer = json_pack("{s:s}", "action", "cancel");
}

/* A call that is stopped at a question has no result, also when the server's
 * answer is there already. */
static void test_mcp__question_stopped(void **state)
{
    (void)state;
    world w;
    cf_mcp_result r;
    open_with(&w, "hasty", (cf_mcp_options){.ask = on_ask_stop});
    json_t *arguments = json_pack("{s:s}", "text", "x");
    const cf_mcp_call_options o = {.cancel = &is_stopped};
    T_FAILS(cf_mcp_call(w.mcp, 0, cf_str_from("echo"), arguments, &o, &r, &w.err), CF_ECANCELLED);
    json_decref(arguments);
    close_world(&w);
}

static void test_mcp__input_required(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "newelicits");
    check_call(&w, "a",
               "[{\"who\": {\"action\": \"decline\"}, \"say\": {\"error\": "
               "{\"code\": -32601, \"message\": \"sampling is not "
               "offered\"}}}, \"s-1\", 4]");
    close_world(&w);
}

static void test_mcp__input_required_for_ever(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "forever");
    T_FAILS(failing_call(&w), CF_ELIMIT);
    close_world(&w);
}

static void test_mcp__progress(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "progress");
    check_call(&w, "a", "done");
    must_see(&w, "% step 1 1/2 call 1\n");
    must_see(&w, "% step 2 2/2 call 1\n");
    close_world(&w);
}

/* ---- results ------------------------------------------------------------ */

static void test_mcp__error_of_the_tool(void **state)
{
    (void)state;
    world w;
    cf_mcp_result r;
    open_mode(&w, "iserror");
    json_t *arguments = json_pack("{s:s}", "text", "x");
    T_OK(call_with(&w, arguments, &r), w.err);
    assert_true(r.is_error);
    assert_true(r.is_sent);
    cf_mcp_result_deinit(&r);
    json_decref(arguments);
    close_world(&w);
}

static void test_mcp__error_of_the_protocol(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "protocolerror");
    T_FAILS(failing_call(&w), CF_EFORMAT);
    assert_string_equal(w.err.text, "the server answered with error -32602: Unknown tool");
    close_world(&w);
    open_mode(&w, "strangetype");
    T_FAILS(failing_call(&w), CF_EFORMAT);
    close_world(&w);
}

static void check_structured(world *w, const char *text, bool is_bad, const char *finding)
{
    cf_mcp_result r;
    json_t *arguments = json_pack("{s:s}", "text", text);
    T_OK(call_with(w, arguments, &r), w->err);
    assert_int_equal(r.is_bad, is_bad);
    if (finding != NULL) {
        const json_t *f = json_array_get(r.findings, 0);
        assert_string_equal(cf_json_get_str(f, "path").p, finding);
    } else {
        assert_int_equal(json_array_size(r.findings), 0);
    }
    cf_mcp_result_deinit(&r);
    json_decref(arguments);
}

static void test_mcp__structured_content(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "structured");
    check_structured(&w, "good", false, NULL);
    check_structured(&w, "bad", true, "structuredContent.n");
    check_structured(&w, "none", true, "structuredContent");
    close_world(&w);
}

static void test_mcp__arguments_that_do_not_fit(void **state)
{
    (void)state;
    world w;
    cf_mcp_result r;
    open_mode(&w, "plain");
    cf_buf_reset(&w.seen.text);
    json_t *bad = json_pack("{s:i}", "text", 3);
    T_OK(call_with(&w, bad, &r), w.err);
    assert_false(r.is_sent);
    assert_string_equal(cf_json_get_str(json_array_get(r.findings, 0), "path").p, "arguments.text");
    cf_mcp_result_deinit(&r);
    json_decref(bad);
    T_OK(call_with(&w, NULL, &r), w.err);
    assert_false(r.is_sent);
    cf_mcp_result_deinit(&r);
    assert_string_equal(cf_buf_cstr(&w.seen.text), ""); /* nothing was sent */
    T_FAILS(cf_mcp_call(w.mcp, 0, cf_str_from("none"), NULL, NULL, &r, &w.err), CF_ENOTFOUND);
    close_world(&w);
}

static void test_mcp__blocks(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "blocks");
    check_call(&w, "a",
               "first\n[image image/png, 5 bytes]\n[audio audio/wav, 5 "
               "bytes]\n[resource file:///a]\nA\n[resource file:///b] [data, 5 "
               "bytes]\n[link file:///c] c");
    close_world(&w);
}

/* A picture is a part of the result; what only says that it is one is text. */
static void test_mcp__pictures(void **state)
{
    static const char *const modes[] = {"picture", "blocks"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        world w;
        cf_mcp_result r;
        json_t *arguments = json_pack("{s:s}", "text", "a");
        open_mode(&w, modes[i]);
        T_OK(call_with(&w, arguments, &r), w.err);
        json_t *content = cf_mcp_result_content(&r);
        assert_int_equal(cf_attachment_is_content(content), i == 0);
        if (i == 0) {
            cf_str text = cf_json_get_str(json_array_get(content, 0), "text");
            assert_int_equal(json_array_size(content), 2);
            T_TEXT(text.p, text.n, "a screen\n[image image/png, 69 bytes]");
        } else {
            assert_true(json_is_string(content));
        }
        json_decref(content);
        json_decref(arguments);
        cf_mcp_result_deinit(&r);
        close_world(&w);
    }
}

/* ---- lists -------------------------------------------------------------- */

static void test_mcp__list_changes(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "changes");
    json_t *before = json_deep_copy(cf_json_ref(cf_mcp_server_at(w.mcp, 0).tools));
    check_call(&w, "a", "echo: a");
    for (int i = 0; i < 100 && json_array_size(cf_mcp_server_at(w.mcp, 0).tools) < 2; i++) {
        T_OK(cf_mcp_step(w.mcp, 100, &w.err), w.err);
    }
    cf_buf diff = CF_BUF_INIT;
    cf_mcp_tools_diff(&diff, before, cf_mcp_server_at(w.mcp, 0).tools);
    assert_string_equal(cf_buf_cstr(&diff), "~ echo\n  - description \"Says it again\"\n  + "
                                            "description \"Says it twice\"\n+ more\n");
    cf_buf_deinit(&diff);
    json_decref(before);
    close_world(&w);
}

static void test_mcp__subscription(void **state)
{
    (void)state;
    world w;
    open_with(&w, "newchanges", (cf_mcp_options){.listens = true});
    check_call(&w, "a", "new: a");
    for (int i = 0; i < 100 && json_array_size(cf_mcp_server_at(w.mcp, 0).tools) < 2; i++) {
        T_OK(cf_mcp_step(w.mcp, 100, &w.err), w.err);
    }
    is_ready(&w, "2026-07-28", 2);
    close_world(&w);
}

/* ---- the program -------------------------------------------------------- */

static void test_mcp__clean_environment(void **state)
{
    (void)state;
    world w;
    cf_mcp_options o = {.env = env};
    cf_mcp_result r;
    memset(&w, 0, sizeof w);
    T_OK(cf_mcp_new(&w.mcp, &o, &w.err), w.err);
    json_t *c = config_of("env");
    json_object_set_new(c, "env", json_pack("{s:s, s:s}", "LANG", "C", "KEY", "a=b"));
    T_OK(cf_mcp_add(w.mcp, c, &w.server, &w.err), w.err);
    T_OK(cf_mcp_settle(w.mcp, NULL, &w.err), w.err);
    json_t *arguments = json_pack("{s:s}", "text", "x");
    T_OK(call_with(&w, arguments, &r), w.err);
    const json_t *block = json_array_get(r.content, 0);
    cf_str text = cf_json_get_str(block, "text");
    json_t *v = NULL;
    T_OK(cf_json_read(&v, text.p, text.n, &w.err), w.err);
    const json_t *vars = json_object_get(v, "env");
    assert_string_equal(cf_json_get_str(vars, "LANG").p, "C");
    assert_string_equal(cf_json_get_str(vars, "KEY").p, "a=b");
    assert_null(json_object_get(vars, "HOME"));
    assert_true(json_is_true(json_object_get(v, "own_group")));
    assert_true(json_is_false(json_object_get(v, "tty")));
    /* Its three streams, and the folder being read. */
    assert_int_equal(json_integer_value(json_object_get(v, "fds")), 4);
    json_decref(v);
    json_decref(arguments);
    json_decref(c);
    cf_mcp_result_deinit(&r);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp__old_era),
        cmocka_unit_test(test_mcp__new_era),
        cmocka_unit_test(test_mcp__older_revision),
        cmocka_unit_test(test_mcp__unknown_revision),
        cmocka_unit_test(test_mcp__silence_gets_initialize),
        cmocka_unit_test(test_mcp__end_in_the_probe_is_started_again),
        cmocka_unit_test(test_mcp__slow_server_of_the_new_era),
        cmocka_unit_test(test_mcp__never_answers_the_start),
        cmocka_unit_test(test_mcp__notifications_before_the_first_answer),
        cmocka_unit_test(test_mcp__answers_out_of_order),
        cmocka_unit_test(test_mcp__cursor_again_and_again),
        cmocka_unit_test(test_mcp__pages_without_end),
        cmocka_unit_test(test_mcp__empty_cursor_counts),
        cmocka_unit_test(test_mcp__text_that_is_no_protocol),
        cmocka_unit_test(test_mcp__null_for_lists),
        cmocka_unit_test(test_mcp__line_without_end),
        cmocka_unit_test(test_mcp__flood),
        cmocka_unit_test(test_mcp__dies_in_a_call),
        cmocka_unit_test(test_mcp__dies_at_once),
        cmocka_unit_test(test_mcp__no_such_program),
        cmocka_unit_test(test_mcp__never_answers_a_call),
        cmocka_unit_test(test_mcp__cancel),
        cmocka_unit_test(test_mcp__ignores_a_closed_input),
        cmocka_unit_test(test_mcp__bad_tools_are_left_out),
        cmocka_unit_test(test_mcp__text_that_json_cannot_hold),
        cmocka_unit_test(test_mcp__batch),
        cmocka_unit_test(test_mcp__question_without_a_user),
        cmocka_unit_test(test_mcp__question_answered),
        cmocka_unit_test(test_mcp__question_stopped),
        cmocka_unit_test(test_mcp__input_required),
        cmocka_unit_test(test_mcp__input_required_for_ever),
        cmocka_unit_test(test_mcp__progress),
        cmocka_unit_test(test_mcp__error_of_the_tool),
        cmocka_unit_test(test_mcp__error_of_the_protocol),
        cmocka_unit_test(test_mcp__structured_content),
        cmocka_unit_test(test_mcp__arguments_that_do_not_fit),
        cmocka_unit_test(test_mcp__blocks),
        cmocka_unit_test(test_mcp__pictures),
        cmocka_unit_test(test_mcp__list_changes),
        cmocka_unit_test(test_mcp__subscription),
        cmocka_unit_test(test_mcp__clean_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
