/*
 * demo_serve.c - replies that call are found, answered and sent on.
 */
#include "tui/demo/demo_serve.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/demo/demo_impl.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_undo.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_model.h"

/* A step of the tools: who works on what, and what is said about it. */
typedef struct step {
    cf_demo *demo;
    cf_lab *lab;
    cf_demo_said *said;
} step;

void cf_demo_switch(cf_demo *demo, bool is_on)
{
    if (demo != NULL) {
        demo->is_on = is_on;
    }
}

void cf_demo_said_deinit(cf_demo_said *said)
{
    cf_buf_deinit(&said->notice);
    cf_buf_deinit(&said->log);
}

static void notice(cf_demo_said *said, bool is_error, const char *text)
{
    cf_buf_restart(&said->notice);
    cf_buf_adds(&said->notice, text);
    said->is_error = is_error;
}

json_t *cf_demo_content(const json_t *result)
{
    if (json_is_string(result)) {
        return json_incref(cf_json_ref(result));
    }
    /* 15 digits: what was written with two decimals comes out with two. */
    char *text = json_dumps(result, JSON_REAL_PRECISION(15));
    json_t *content = text != NULL ? json_string(text) : NULL;
    cf_free(text);
    return content;
}

/* ---- which reply -------------------------------------------------------- */

static bool is_assistant(const cf_turn *turn)
{
    return cf_str_is(cf_json_get_str(turn->message, "role"), "assistant");
}

/* Whether every call of a message is declared and one of ours, and the user
 * has set nothing else for it. */
static bool is_ours(const step *p, const json_t *calls)
{
    const cf_tool_set *declared = cf_lab_tools(p->lab);
    const cf_tool_desk *desk = cf_lab_desk(p->lab);
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *f = json_object_get(json_array_get(calls, i), "function");
        cf_str name = cf_json_get_str(f, "name");
        if (!cf_demo_has(name) || declared == NULL || cf_tool_set_find(declared, name) == NULL ||
            cf_tool_desk_mock(desk, name) != NULL ||
            cf_tool_desk_policy(desk, name) == CF_POLICY_NEVER) {
            return false;
        }
    }
    return json_array_size(calls) > 0;
}

/* The reply at the end of the path when it waits for us, else NULL. */
static const cf_turn *waiting(const step *p)
{
    size_t n, n_rounds = 0;
    const cf_turn *const *path = cf_lab_path(p->lab, &n);
    const cf_turn *last = n > 0 ? path[n - 1] : NULL;
    if (last == NULL || last->status != CF_TURN_OK || !is_assistant(last) ||
        cf_uuid_eq(last->id, p->demo->served) ||
        !is_ours(p, json_object_get(last->message, "tool_calls"))) {
        return NULL;
    }
    const cf_reply *known = cf_lab_reply(p->lab, last->id);
    if (known == NULL || known->stop.reason == CF_STOP_NONE) {
        return NULL; /* of another session */
    }
    for (size_t i = n; i > 0 && !cf_str_is(cf_json_get_str(path[i - 1]->message, "role"), "user");
         i--) {
        n_rounds += is_assistant(path[i - 1]);
    }
    p->demo->served = last->id;
    if (n_rounds > CF_DEMO_ROUNDS) {
        cf_buf_restart(&p->said->notice);
        cf_buf_addf(&p->said->notice, "stopped after %d rounds of calls; 4 shows them",
                    CF_DEMO_ROUNDS);
        return NULL;
    }
    return last;
}

/* ---- its answer --------------------------------------------------------- */

/* A call that was answered. */
typedef struct answered {
    cf_uuid reply;
    size_t i; /* of the reply's calls */
    cf_str name;
    const json_t *arguments, *content;
    int64_t started_ms;
    uint64_t us;
} answered;

/* Notes it for the Tools view and the history. */
static void note_call(const step *p, const answered *a)
{
    cf_buf args = CF_BUF_INIT;
    cf_store_call call = cf_store_call_none();
    const cf_call_note note = {.reply = a->reply,
                               .n = a->i,
                               .state = "ran",
                               .started_ms = a->started_ms,
                               .duration_us = (int64_t)a->us,
                               .exit_code = -1};
    if (a->arguments != NULL) {
        cf_json_write(&args, a->arguments);
    }
    call.name = a->name;
    call.arguments = cf_buf_str(&args);
    call.status = cf_str_from(cf_tool_status_name(CF_TOOL_VALID));
    cf_lab_note_call(p->lab, &note, &call,
                     cf_str_make(json_string_value(a->content), json_string_length(a->content)));
    cf_buf_deinit(&args);
}

static void log_call(const step *p, cf_str name, const json_t *arguments, const char *result)
{
    cf_buf_addf(&p->said->log, "%.*s(", (int)name.n, name.p);
    if (arguments != NULL) {
        cf_json_write(&p->said->log, arguments);
    }
    cf_buf_addf(&p->said->log, ") gives %s\n", result);
}

/* The message that answers call `i`; NULL: memory ran out. */
static json_t *answer_call(const step *p, const cf_turn *turn, size_t i)
{
    const json_t *call = json_array_get(json_object_get(turn->message, "tool_calls"), i);
    const json_t *f = json_object_get(call, "function");
    cf_str name = cf_json_get_str(f, "name");
    json_t *args = json_object_get(f, "arguments"), *result = NULL;
    cf_error err;
    json_incref(args);
    if (json_is_string(args)) { /* as OpenAI writes them */
        json_t *read =
            json_loadb(json_string_value(args), json_string_length(args), JSON_ALLOW_NUL, NULL);
        json_decref(args);
        args = read;
    }
    int64_t started_ms = cf_os_now_ms();
    uint64_t t0 = cf_os_monotonic_us();
    cf_status st = cf_demo_run(p->demo, cf_lab_conv_id(p->lab), name, args, &result, &err);
    json_t *content = st == CF_OK ? cf_demo_content(result) : NULL;
    json_t *message = NULL;
    if (content != NULL) {
        log_call(p, name, args, json_string_value(content));
        note_call(p, &(answered){.reply = turn->id,
                                 .i = i,
                                 .name = name,
                                 .arguments = args,
                                 .content = content,
                                 .started_ms = started_ms,
                                 .us = cf_os_monotonic_us() - t0});
        message = cf_tool_result_message(
            name, cf_turn_call_id(turn, i),
            cf_str_make(json_string_value(content), json_string_length(content)));
    }
    json_decref(args);
    json_decref(result);
    json_decref(content);
    return message;
}

static void serve(const step *p)
{
    const cf_turn *turn = waiting(p);
    if (turn == NULL) {
        return;
    }
    size_t n = json_array_size(json_object_get(turn->message, "tool_calls"));
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = json_array_append_new(list, answer_call(p, turn, i)) == 0;
    }
    cf_error err;
    cf_uuid reply = turn->id;
    if (!ok) {
        notice(p->said, true, "out of memory for the results");
    } else if (cf_lab_add(p->lab, list, reply, true, &err) != CF_OK) {
        notice(p->said, true, err.text);
    } else {
        cf_lab_join_undo(p->lab);
    }
    p->said->has_served = true;
    json_decref(list);
}

void cf_demo_step(cf_demo *demo, cf_lab *lab, cf_demo_said *said)
{
    cf_buf line = CF_BUF_INIT;
    while (cf_demo_ring(demo, &line)) {
        notice(said, false, cf_buf_cstr(&line));
        cf_buf_addf(&said->log, "%s\n", cf_buf_cstr(&line));
        cf_buf_reset(&line);
    }
    cf_buf_deinit(&line);
    if (demo->is_on && lab != NULL && !cf_lab_is_busy(lab) && cf_lab_task_name(lab) == NULL) {
        serve(&(step){demo, lab, said});
    }
}

bool cf_demo_is_declared(const json_t *declarations)
{
    json_t *own = cf_demo_declarations();
    bool is = own != NULL && declarations != NULL && json_equal(own, declarations) == 1;
    if (own != NULL && !is && cf_demo_declare_help(own, NULL) == CF_OK) {
        is = json_equal(own, declarations) == 1;
    }
    json_decref(own);
    return is;
}
