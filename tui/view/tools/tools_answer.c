/*
 * tools_answer.c - how a call gets its result: typed, from a mock, from a
 * command that the user approved, or as a failure reported to the model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/app/built_in.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tools/tools.h"

/* ---- messages ----------------------------------------------------------- */

/* The results of the reply's calls as messages: `text` for the row's call,
 * for the others what the path has.  Those before the first new one stay in
 * the tree: *parent is the last of them.  *is_whole: every call has one. */
static json_t *answers(cf_app *app, const cf_call_row *row, cf_str text, cf_uuid *parent,
                       bool *is_whole)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_turn *turn = cf_tools__turn_of(app, row);
    json_t *list = json_array();
    bool ok = list != NULL;
    size_t next = m->reply[row->reply].turn + 1;
    *parent = turn->id;
    *is_whole = true;
    for (size_t i = 0; ok && i < m->n_row; i++) {
        const cf_call_row *other = &m->row[i];
        bool is_failed = other->call == CF_TOOL_NO_CALL;
        if (other->reply != row->reply || (is_failed && other != row)) {
            continue;
        }
        const cf_turn *known = cf_tools__result_of(app, other);
        if (other == row) {
            const cf_str none = {NULL, 0};
            json_t *v =
                cf_tool_result_message(is_failed ? none : cf_tool_model_call(m, row)->name,
                                       is_failed ? none : cf_turn_call_id(turn, row->call), text);
            ok = v != NULL && json_array_append_new(list, v) == 0;
        } else if (known == NULL) {
            *is_whole = false;
        } else if (json_array_size(list) == 0 && other->result == next) {
            *parent = known->id;
            next++;
        } else {
            json_t *copy = cf_json_deep_copy(known->message);
            ok = copy != NULL && json_array_append_new(list, copy) == 0;
        }
    }
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* Remembers what came of the row's call. */
static void note(cf_app *app, const cf_call_row *row, const cf_call_note *what, cf_str result)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    cf_call_note n = *what;
    cf_store_call call = cf_store_call_none();
    n.reply = cf_tools__turn_of(app, row)->id;
    n.n = cf_tool_model_nth(m, row);
    if (c != NULL) {
        call.name = c->name;
        call.arguments = c->arguments;
        call.status = cf_str_from(cf_tool_status_name(c->status));
    }
    cf_lab_note_call(app->lab, &n, &call, result);
}

/* Adds the answer of a row (`what` says where it comes from) and lets the
 * model go on when no other call waits. */
static void answer(cf_app *app, const cf_call_row *row, cf_str text, const cf_call_note *what)
{
    cf_error err;
    cf_uuid parent;
    bool is_whole;
    if (cf_app_is_busy(app)) {
        cf_app_say(app, CF_STYLE_WARNING, "something runs; Esc stops it");
        return;
    }
    json_t *list = answers(app, row, text, &parent, &is_whole);
    if (list == NULL) {
        cf_app_say(app, CF_STYLE_ERROR, "the result is not UTF-8, or memory ran out");
        return;
    }
    note(app, row, what, text);
    if (cf_lab_add(app->lab, list, parent, is_whole, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else if (!is_whole) {
        cf_app_say(app, CF_STYLE_OK, "kept; other calls of this reply are waiting");
    } else {
        cf_app_say(app, CF_STYLE_OK, "sent; the model goes on (1 shows it)");
    }
    json_decref(list);
}

static cf_call_note made_by(const char *state)
{
    cf_call_note n = {.duration_us = -1, .exit_code = -1, .started_ms = -1};
    snprintf(n.state, sizeof n.state, "%s", state);
    return n;
}

/* The call under the cursor, when it can be answered. */
static const cf_call_row *answerable(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    if (row == NULL || row->call == CF_TOOL_NO_CALL || cf_tools__turn_of(app, row) == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "no call here that could be answered");
        return NULL;
    }
    return row;
}

void cf_tools__cmd_result(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        cf_tools__ask_line(app, "result ");
        return;
    }
    const cf_call_row *row = answerable(app);
    if (row != NULL) {
        const cf_call_note typed = made_by("typed");
        answer(app, row, cf_str_from(arg), &typed);
    }
}

/* ---- mocks -------------------------------------------------------------- */

/* Puts what went wrong with a setting on the screen; true when it did. */
static bool complain(cf_app *app, cf_status st, const cf_error *err)
{
    if (st != CF_OK) {
        cf_app_error(app, err);
    }
    return st != CF_OK;
}

static void begin_mock(cf_app *app, cf_str name)
{
    char start[300];
    snprintf(start, sizeof start, "mock %.*s=", (int)(name.n < 250 ? name.n : 250),
             name.n != 0 ? name.p : "");
    cf_tools__ask_line(app, start);
}

/* "NAME=TEXT" keeps a mock, "NAME=" removes it; alone it sends the one of
 * this call's tool. */
void cf_tools__cmd_mock(cf_app *app, const char *arg)
{
    cf_tool_desk *desk = cf_lab_desk(app->lab);
    const cf_call_row *row = cf_tools__current(app);
    cf_str called = row != NULL ? cf_tools__name_of(app, row) : cf_str_from("");
    const char *eq = strchr(arg, '=');
    cf_error err;
    if (arg[0] != '\0' && (eq == NULL || eq == arg)) {
        cf_app_say(app, CF_STYLE_ERROR, "a mock is written NAME=RESULT");
        return;
    }
    if (arg[0] != '\0') {
        cf_str name = cf_str_make(arg, (size_t)(eq - arg));
        const char *text = eq[1] != '\0' ? eq + 1 : NULL;
        if (complain(app, cf_tool_desk_set_mock(desk, name, text, &err), &err)) {
            return;
        }
        if (text == NULL) {
            cf_app_say(app, CF_STYLE_OK, "%.*s has no mock any more",
                       (int)(name.n < 60 ? name.n : 60), name.p);
            return;
        }
        if (row == NULL || !cf_str_eq(name, called) || row->result != SIZE_MAX) {
            cf_app_say(app, CF_STYLE_OK, "kept; m sends it for a call of %.*s",
                       (int)(name.n < 60 ? name.n : 60), name.p);
            return;
        }
    }
    const char *text = cf_tool_desk_mock(desk, called);
    if (text == NULL) {
        begin_mock(app, called);
        return;
    }
    row = answerable(app);
    if (row != NULL) {
        cf_call_note mocked = made_by("mock");
        mocked.is_mocked = true;
        answer(app, row, cf_str_from(text), &mocked);
    }
}

void cf_tools__cmd_unmock(cf_app *app, const char *arg)
{
    const cf_call_row *row = cf_tools__current(app);
    cf_str name = arg[0] != '\0' ? cf_str_from(arg)
                  : row != NULL  ? cf_tools__name_of(app, row)
                                 : cf_str_from("");
    cf_error err;
    if (cf_tool_desk_mock(cf_lab_desk(app->lab), name) == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "no mock answers this tool; m writes one");
        return;
    }
    if (!complain(app, cf_tool_desk_set_mock(cf_lab_desk(app->lab), name, NULL, &err), &err)) {
        cf_app_say(app, CF_STYLE_OK, "%.*s has no mock any more", (int)(name.n < 60 ? name.n : 60),
                   name.p);
    }
}

/* ---- commands ----------------------------------------------------------- */

static void take_result(void *ud, cf_status status, const cf_error *why);

static void set_command(cf_app *app, cf_str name, const char *arg)
{
    cf_error err;
    const char *command = strcmp(arg, "-") != 0 ? arg : NULL;
    if (complain(app, cf_tool_desk_set_command(cf_lab_desk(app->lab), name, command, true, &err),
                 &err)) {
        return;
    }
    bool is_all = cf_str_is(name, "*");
    cf_app_say(app, CF_STYLE_OK,
               command == NULL ? "no command for %.*s any more" : "! runs it for %.*s",
               is_all ? 9 : (int)(name.n < 60 ? name.n : 60), is_all ? "any tool" : name.p);
}

void cf_tools__cmd_exec(cf_app *app, const char *arg)
{
    const cf_call_row *row = cf_tools__current(app);
    cf_str name = row != NULL && row->call != CF_TOOL_NO_CALL ? cf_tools__name_of(app, row)
                                                              : cf_str_from("*");
    if (arg[0] != '\0') {
        set_command(app, name, arg);
        return;
    }
    const char *now = cf_tool_desk_command(cf_lab_desk(app->lab), name);
    cf_buf line = CF_BUF_INIT;
    cf_buf_addf(&line, "exec %s", now != NULL ? now : "");
    cf_tools__ask_line(app, cf_buf_cstr(&line));
    cf_buf_deinit(&line);
}

void cf_tools__cmd_exec_all(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        cf_tools__ask_line(app, "exec-all ");
        return;
    }
    set_command(app, cf_str_from("*"), arg);
}

void cf_tools__cmd_timeout(cf_app *app, const char *arg)
{
    cf_tool_desk *desk = cf_lab_desk(app->lab);
    char *end;
    cf_error err;
    unsigned long v = strtoul(arg, &end, 10);
    if (arg[0] == '\0') {
        cf_tools__ask_line(app, "timeout ");
        return;
    }
    if (arg[0] < '0' || arg[0] > '9' || *end != '\0' || v > 86400) {
        v = 0; /* refused below */
    }
    if (!complain(app, cf_tool_desk_set_timeout(desk, (uint32_t)v, &err), &err)) {
        cf_app_say(app, CF_STYLE_OK, "a command is ended after %lu s", v);
    }
}

/* Without an argument: the next of the three. */
void cf_tools__cmd_approval(cf_app *app, const char *arg)
{
    cf_tool_desk *desk = cf_lab_desk(app->lab);
    const cf_call_row *row = answerable(app);
    cf_error err;
    if (row == NULL) {
        return;
    }
    cf_str name = cf_tools__name_of(app, row);
    cf_tool_policy policy =
        (cf_tool_policy)((cf_tool_desk_policy(desk, name) + 1) % (CF_POLICY_NEVER + 1));
    if (arg[0] != '\0' && !cf_tool_policy_parse(&policy, cf_str_from(arg))) {
        cf_app_say(app, CF_STYLE_ERROR, "approval is ask, always or never");
        return;
    }
    if (complain(app, cf_tool_desk_set_policy(desk, name, policy, &err), &err)) {
        return;
    }
    cf_app_say(app, CF_STYLE_OK, "%.*s: %s", (int)(name.n < 60 ? name.n : 60), name.p,
               policy == CF_POLICY_ASK      ? "ask before each run"
               : policy == CF_POLICY_ALWAYS ? "always run, until confab ends or "
                                              "the command changes"
                                            : "never run");
}

void cf_tools__clear_run(cf_tools_run *run)
{
    cf_buf_deinit(&run->text);
    cf_free(run->command);
    cf_free(run->tool);
    cf_free(run->name);
    cf_free(run->id);
    json_decref(run->arguments);
    *run = (cf_tools_run){0};
}

/* On the worker's thread.  What goes wrong is a result like another. */
static cf_status run_command(void *ud, cf_runner *runner, cf_error *err)
{
    cf_tools_run *t = ud;
    json_t *result = NULL;
    const cf_tool_exec exec = {.command = t->command,
                               .timeout_ms = t->timeout_ms,
                               .cancel = cf_runner_cancel_flag(runner),
                               .exit_code = &t->exit_code};
    const cf_pending_call call = {.name = cf_str_from(t->name),
                                  .id = cf_str_from(t->id),
                                  .arguments = t->arguments,
                                  .round = 1};
    (void)err;
    t->status =
        t->is_server
            ? cf_tool_servers_call(t->servers, t->server, cf_str_from(t->tool), t->arguments,
                                   t->timeout_ms, cf_runner_cancel_flag(runner), &t->text, &t->err)
            : cf_tool_exec_run(&exec, &call, &result, &t->err);
    t->duration_ms = cf_os_now_ms() - t->started_ms;
    if (t->status == CF_OK && result == NULL) {
        return CF_OK; /* a server's, in t->text */
    }
    if (t->status == CF_OK && json_is_string(result)) {
        cf_buf_add(&t->text, json_string_value(result), json_string_length(result));
    } else if (t->status == CF_OK) {
        cf_json_write(&t->text, result);
    }
    json_decref(result);
    if (t->status == CF_OK) {
        t->status = cf_buf_check(&t->text, &t->err);
    }
    return CF_OK;
}

static bool fill_run(cf_tools_run *t, cf_app *app, const cf_call_row *row, const char *command)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    const cf_turn *turn = cf_tools__turn_of(app, row);
    cf_str id = cf_turn_call_id(turn, row->call);
    *t = (cf_tools_run){.app = app,
                        .is_on = true,
                        .reply = turn->id,
                        .n = cf_tool_model_nth(m, row),
                        .timeout_ms = cf_lab_desk(app->lab)->timeout_s * 1000,
                        .exit_code = -1,
                        .started_ms = cf_os_now_ms()};
    t->command = cf_strndup(command != NULL ? command : "", command != NULL ? strlen(command) : 0);
    t->name = cf_strndup(c->name.n != 0 ? c->name.p : "", c->name.n);
    t->id = cf_strndup(id.n != 0 ? id.p : "", id.n);
    t->arguments = cf_json_deep_copy(c->json);
    return t->command != NULL && t->name != NULL && t->id != NULL &&
           cf_tools__fill_server(t, app, c->name) && (t->arguments != NULL || c->json == NULL);
}

void cf_tools__start(cf_app *app, const cf_call_row *row)
{
    cf_tools_run *t = &cf_tools__state(app)->run;
    const char *command = cf_tool_desk_command(cf_lab_desk(app->lab), cf_tools__name_of(app, row));
    const cf_task task = {
        .name = "running a tool", .run = run_command, .end = take_result, .ud = t};
    cf_error err;
    bool is_server = cf_tools__has_server(app, cf_tools__name_of(app, row));
    if ((command == NULL && !is_server) || t->is_on) {
        return;
    }
    cf_tools__clear_run(t);
    cf_status st =
        fill_run(t, app, row, command) ? cf_lab_start_task(app->lab, &task, &err) : cf_oom(&err);
    if (complain(app, st, &err)) {
        cf_tools__clear_run(t);
    } else {
        cf_app_say_while_busy(app, "running; Esc stops it");
    }
}

/* Runs it here: these take no time. */
static void run_built_in(cf_app *app, const cf_call_row *row)
{
    cf_tools_run *t = &cf_tools__state(app)->run;
    const cf_error none = {0};
    if (t->is_on) {
        return;
    }
    cf_tools__clear_run(t);
    if (!fill_run(t, app, row, "")) {
        cf_tools__clear_run(t);
        cf_app_say(app, CF_STYLE_ERROR, "out of memory for the call");
        return;
    }
    t->status = cf_built_in_run(app, cf_str_from(t->name), t->arguments, &t->text, &t->err);
    t->duration_ms = cf_os_now_ms() - t->started_ms;
    take_result(t, CF_OK, &none);
}

/* "yes" answers the question beforehand. */
void cf_tools__cmd_run(cf_app *app, const char *arg)
{
    cf_tools *s = cf_tools__state(app);
    cf_tool_desk *desk = cf_lab_desk(app->lab);
    const cf_call_row *row = answerable(app);
    cf_error err;
    if (row == NULL || complain(app, cf_app_may(app, &err), &err)) {
        return;
    }
    cf_str name = cf_tools__name_of(app, row);
    cf_tool_policy policy = cf_tool_desk_policy(desk, name);
    if (cf_app_is_busy(app)) {
        cf_app_say(app, CF_STYLE_WARNING, "something runs; Esc stops it");
    } else if (policy == CF_POLICY_NEVER) {
        cf_app_say(app, CF_STYLE_WARNING, "%.*s never runs (ga changes it)",
                   (int)(name.n < 60 ? name.n : 60), name.p);
    } else if (cf_tool_desk_command(desk, name) == NULL && !cf_tools__has_server(app, name)) {
        if (cf_built_in_has(app, name)) {
            run_built_in(app, row);
            return;
        }
        cf_tools__ask_line(app, "exec ");
    } else if (policy == CF_POLICY_ALWAYS || strcmp(arg, "yes") == 0 ||
               cf_tools__may_call(app, name)) {
        cf_tools__start(app, row);
    } else {
        s->asks = true;
        s->ask_scroll = 0;
        app->mode = CF_MODE_ASK;
    }
}

/* ---- the question ------------------------------------------------------- */

void cf_tools__draw_question(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_tools *s = cf_tools__state(app);
    const cf_call_row *row = cf_tools__current(app);
    const cf_tool_desk *desk = cf_lab_desk(app->lab);
    const cf_tool_call *c = row != NULL ? cf_tool_model_call(cf_tools__model(app), row) : NULL;
    if (c != NULL && cf_tools__has_server(app, c->name)) {
        cf_tools__draw_server_question(app, g, r, c);
        return;
    }
    cf_rect in = cf_question(g, r, "Run this command?",
                             "y run   a always for this tool   n no   j k scroll");
    if (c == NULL || in.h < 1) {
        return;
    }
    cf_tools_pen p = {.g = g, .r = in, .skip = s->ask_scroll, .mark = SIZE_MAX};
    cf_buf b = CF_BUF_INIT;
    const char *command = cf_tool_desk_command(desk, c->name);
    cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("the command, for /bin/sh:"));
    cf_tools__say(&p, CF_STYLE_NORMAL, cf_str_from(command != NULL ? command : ""));
    cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("it reads on standard input, for the tool:"));
    cf_tools__say(&p, CF_STYLE_TOOL, c->name);
    cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("with the arguments:"));
    cf_tools__say(&p, CF_STYLE_NORMAL, c->arguments);
    if (c->status != CF_TOOL_VALID) {
        cf_buf_adds(&b, "The call is not valid: ");
        cf_tool_model_failure(cf_tools__model(app), row, &b);
        cf_tools__say(&p, CF_STYLE_ERROR, cf_buf_str(&b));
    }
    cf_buf_deinit(&b);
    cf_tools__sayf(&p, CF_STYLE_DIM,
                   "It may take %u s and write 1 MiB; it has no terminal, and "
                   "all that you may do.",
                   (unsigned)desk->timeout_s);
    if (s->ask_scroll + 1 > p.line) {
        s->ask_scroll = p.line > 0 ? p.line - 1 : 0;
    }
}

bool cf_tools__answer_key(cf_app *app, cf_key key)
{
    cf_tools *s = cf_tools__state(app);
    const cf_call_row *row = cf_tools__current(app);
    cf_answer answer = cf_answer_of(key);
    bool is_no = answer == CF_ANSWER_NO || row == NULL || row->call == CF_TOOL_NO_CALL;
    bool may;
    if (!is_no && cf_tools__server_key(app, key, cf_tools__name_of(app, row), &may)) {
        if (may) {
            s->asks = false;
            app->mode = CF_MODE_NORMAL;
            cf_tools__start(app, row);
        }
    } else if (key == 'j' || key == CF_KEY_DOWN) {
        s->ask_scroll++;
    } else if (key == 'k' || key == CF_KEY_UP) {
        s->ask_scroll -= s->ask_scroll > 0;
    } else if (is_no || answer == CF_ANSWER_YES || key == 'a') {
        s->asks = false;
        app->mode = CF_MODE_NORMAL;
        if (is_no) {
            cf_app_say(app, CF_STYLE_DIM, "not run");
            return true;
        }
        if (key == 'a') {
            cf_tools__cmd_approval(app, "always");
        }
        cf_tools__start(app, row);
    }
    return true;
}

/* ---- the end of a command ----------------------------------------------- */

/* The row of a call by its reply's UUID; NULL when it is not on the path. */
static const cf_call_row *find_row(cf_app *app, cf_uuid reply, size_t n)
{
    const cf_tool_model *m = cf_tools__model(app);
    for (size_t i = 0; i < m->n_row; i++) {
        const cf_turn *t = cf_tools__turn_of(app, &m->row[i]);
        if (t != NULL && cf_uuid_eq(t->id, reply) && cf_tool_model_nth(m, &m->row[i]) == n) {
            return &m->row[i];
        }
    }
    return NULL;
}

static cf_buf error_text(cf_str why)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, "{\"error\":");
    cf_json_write_str(&b, why);
    cf_buf_addc(&b, '}');
    return b;
}

json_t *cf_tools__failure_message(cf_app *app, const cf_call_row *row, cf_uuid *parent)
{
    cf_buf why = CF_BUF_INIT;
    bool is_whole;
    cf_tool_model_failure(cf_tools__model(app), row, &why);
    cf_buf text = error_text(cf_buf_str(&why));
    cf_buf_deinit(&why);
    json_t *list = NULL;
    if (cf_tools__turn_of(app, row) != NULL && !text.failed) {
        list = answers(app, row, cf_str_make(text.p, text.n), parent, &is_whole);
    }
    cf_buf_deinit(&text);
    return list;
}

static void drop(cf_app *app, const cf_call_row *row)
{
    const cf_turn *turn = cf_tools__turn_of(app, row);
    json_t *message;
    cf_buf raw = CF_BUF_INIT;
    cf_error err;
    cf_status st = cf_tool_model_drop(cf_tools__model(app), row, turn, &message, &raw, &err);
    if (st == CF_OK) {
        st = cf_lab_add_reply(app->lab, turn->id, message, cf_str_make(raw.p, raw.n), &err);
        json_decref(message);
    }
    cf_buf_deinit(&raw);
    if (!complain(app, st, &err)) {
        cf_app_say(app, CF_STYLE_OK, "a sibling without the calls is the reply now");
    }
}

/* The policy for a call that failed for this reason. */
static void give_up(cf_app *app, const cf_call_row *row, cf_str why, const cf_call_note *what)
{
    cf_error err;
    const cf_turn *turn = cf_tools__turn_of(app, row);
    switch (cf_lab_desk(app->lab)->on_failure) {
    case CF_FAILURE_SEND: {
        cf_buf text = error_text(why);
        answer(app, row, cf_buf_str(&text), what);
        cf_buf_deinit(&text);
        break;
    }
    case CF_FAILURE_RETRY:
        note(app, row, what, why);
        if (!complain(app, cf_lab_retry_calls(app->lab, turn->id, &err), &err)) {
            cf_app_say(app, CF_STYLE_OK, "asking for another reply");
        }
        break;
    case CF_FAILURE_STOP:
    case CF_FAILURE_COUNT:
        note(app, row, what, why);
        cf_app_say(app, CF_STYLE_ERROR, "%.*s", (int)(why.n < 400 ? why.n : 400), why.p);
        break;
    case CF_FAILURE_DROP:
        note(app, row, what, why);
        drop(app, row);
        break;
    }
}

/* The end of a command's task. */
static void take_result(void *ud, cf_status status, const cf_error *why)
{
    cf_tools_run run = *(cf_tools_run *)ud;
    cf_app *app = run.app;
    (void)status;
    (void)why;
    *(cf_tools_run *)ud = (cf_tools_run){0};
    cf_call_note what = made_by(run.status == CF_OK ? "ran" : "failed");
    what.duration_us = run.duration_ms * 1000;
    what.started_ms = run.started_ms;
    what.exit_code = run.exit_code;
    if (run.status == CF_ECANCELLED || cf_tools__state(app)->is_closing) {
        cf_tools__state(app)->stopped = run.reply;
        cf_app_say(app, CF_STYLE_WARNING, "the call was stopped");
        cf_tools__clear_run(&run);
        return;
    }
    const cf_call_row *row = find_row(app, run.reply, run.n);
    if (row == NULL) { /* another path is shown: back to the call's */
        cf_error no_head;
        if (cf_lab_set_head(app->lab, run.reply, &no_head) == CF_OK) {
            row = find_row(app, run.reply, run.n);
        }
    }
    if (row == NULL) {
        cf_app_say(app, CF_STYLE_ERROR, "the call of this result is gone");
    } else if (run.status != CF_OK) {
        cf_str text = cf_str_from(run.err.text);
        give_up(app, row, run.is_server && run.text.n > 0 ? cf_buf_str(&run.text) : text, &what);
    } else {
        answer(app, row, cf_buf_str(&run.text), &what);
    }
    cf_tools__clear_run(&run);
}

/* ---- failures ----------------------------------------------------------- */

/* Without an argument: the next of the four. */
void cf_tools__cmd_on_failure(cf_app *app, const char *arg)
{
    cf_tool_desk *desk = cf_lab_desk(app->lab);
    cf_on_failure what = (cf_on_failure)((desk->on_failure + 1) % CF_FAILURE_COUNT);
    cf_error err;
    if (arg[0] != '\0' && !cf_on_failure_parse(&what, cf_str_from(arg))) {
        cf_app_say(app, CF_STYLE_ERROR, "on failure: send, retry, stop or drop");
        return;
    }
    if (!complain(app, cf_tool_desk_set_on_failure(desk, what, &err), &err)) {
        cf_app_say(app, CF_STYLE_OK, "on failure: %s, %s", cf_on_failure_name(what),
                   cf_on_failure_help(what));
    }
}

void cf_tools__cmd_fail(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    cf_buf why = CF_BUF_INIT;
    if (row == NULL || cf_tools__turn_of(app, row) == NULL ||
        !cf_tool_model_failure(cf_tools__model(app), row, &why)) {
        cf_app_say(app, CF_STYLE_WARNING, "there is nothing wrong here");
        cf_buf_deinit(&why);
        return;
    }
    if (cf_lab_desk(app->lab)->on_failure == CF_FAILURE_STOP) {
        cf_app_say(app, CF_STYLE_DIM, "on failure: stop, nothing is sent (gf changes it)");
    } else {
        const cf_call_note refused = made_by("refused");
        give_up(app, row, cf_buf_str(&why), &refused);
    }
    cf_buf_deinit(&why);
}
