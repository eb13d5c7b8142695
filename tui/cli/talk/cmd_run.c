/*
 * cmd_run.c - confab run: sends one message and streams the reply, with its
 * tool rounds.
 *
 * The reply's text goes to standard output; thinking, calls and results to
 * standard error.  With --json every event is a line of JSON on standard
 * output, and so are the results that go back to the model.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/api/attachment.h"
#include "core/api/conversation.h"
#include "core/api/draft.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "templates/open.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/answers/loss_lines.h"
#include "tui/cli/shell/attach_options.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/keep_prefix.h"
#include "tui/cli/shell/progress.h"
#include "tui/cli/shell/sampler_options.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/cli/talk/keep.h"
#include "tui/cli/talk/mcp_open.h"
#include "tui/cli/talk/run_candidates.h"
#include "tui/cli/talk/run_json.h"
#include "tui/cli/talk/run_limit.h"
#include "tui/cli/talk/run_open.h"
#include "tui/demo/demo_serve.h"
#include "tui/lab/talk/saved.h"
#include "tui/sys/out.h"

enum { PROMPT_MAX = 64 << 20 };

/* Where the reply stops. */
typedef struct run_stops {
    cf_opt_list texts, id_texts; /* options */
    cf_str v[CF_OPT_LIST_MAX];
    cf_token ids[CF_OPT_LIST_MAX];
    cf_stop seen; /* of the last round */
    bool fails_on_length, at_loop;
} run_stops;

/* How long reply, thinking and drafts may be. */
typedef struct run_length {
    uint32_t n_max, budget, n_draft;
    bool has_n_max, has_budget, has_draft;
} run_length;

typedef struct run {
    cf_cli *cli;
    /* options */
    const char *system, *tools_path, *results_path, *exec, *family, *thinking;
    const char *continue_id;
    uint32_t max_rounds, n_top, timeout_s, n_candidates;
    bool is_approved, is_kept_out, show_prompt, sends_thinking, as_is, stops_at_call;
    cf_opt_list call_results; /* --result */
    cf_opt_list extra_list;
    run_length length;
    cf_run_limit limit;
    run_stops stops;
    cf_keep_prefix prefix;
    char last; /* byte of the reply on standard output; 0: none */
    cf_sampler_options sampling;
    cf_attach_options attached;
    /* the run */
    cf_conversation *conv;
    cf_keep *keep;     /* NULL: nothing is stored */
    cf_demo *demo;     /* NULL: no --tools demo, and no help */
    cf_mcp_opened mcp; /* .path NULL: no --mcp */
    json_t *canned, *tools, *system_list;
    json_t *vendor; /* --extra, and what the options come to for a server */
    bool is_terminal, in_thinking;
    bool has_prompt;      /* as an argument */
    cf_progress encoding; /* of pictures and sounds */
    bool has_fault;       /* the engine failed, not an input */
    size_t n_prompt;      /* tokens of the prompt that a server may cut; 0 */
} run;

/* ---- showing ------------------------------------------------------------ */

static void show(FILE *to, cf_str text)
{
    cf_out(to, text, CF_OUT_TEXT);
    fflush(to);
}

/* Writes a line of JSON; a line that memory ran out for fails the run. */
static void show_json(run *r, const cf_buf *line)
{
    r->has_fault = r->has_fault || line->failed;
    if (!line->failed) {
        cf_out(stdout, cf_buf_str(line), CF_OUT_JSON);
        fflush(stdout);
    }
}

static void end_thinking(run *r)
{
    if (r->in_thinking) {
        show(stderr, cf_str_from("\n[end of thinking]\n"));
        r->in_thinking = false;
    }
}

static void show_call(const cf_tool_call *call)
{
    cf_buf line = CF_BUF_INIT;
    cf_buf_addf(&line, "%.*s(%.*s)  %s", (int)call->name.n, call->name.p, (int)call->arguments.n,
                call->arguments.p,
                call->status == CF_TOOL_VALID ? "" : cf_tool_status_name(call->status));
    cf_note_text("[tool] ", cf_buf_str(&line));
    cf_buf_deinit(&line);
}

/* One line on a terminal while a picture or sound is encoded. */
static void show_encoding(run *r, const cf_chat_event *ev)
{
    if (r->encoding.what == NULL) {
        cf_progress_start(&r->encoding, "encoding");
    }
    char text[64];
    cf_chat_encode_text(text, sizeof text, ev);
    cf_progress_say(&r->encoding, text);
}

static void show_event(run *r, const cf_chat_event *ev)
{
    switch (ev->kind) {
    case CF_CHAT_TEXT:
        end_thinking(r);
        show(stdout, ev->text);
        r->last = ev->text.n > 0 ? ev->text.p[ev->text.n - 1] : r->last;
        break;
    case CF_CHAT_THINKING:
        if (!r->in_thinking) {
            cf_note("[thinking]");
            r->in_thinking = true;
        }
        show(stderr, ev->text);
        break;
    case CF_CHAT_CALL:
        end_thinking(r);
        show_call(ev->call);
        break;
    case CF_CHAT_CALL_FAILED:
        end_thinking(r);
        cf_note_text("[tool call that cannot be parsed] ", ev->text);
        cf_note("  %s", ev->stop.err.text);
        break;
    case CF_CHAT_NOTE:
        cf_note_text(r->cli->opened.engine != NULL ? "[note] " : "[server] ", ev->text);
        break;
    case CF_CHAT_STOP:
        cf_progress_end(&r->encoding);
        end_thinking(r);
        if (ev->stop.reason == CF_STOP_LENGTH || ev->stop.reason == CF_STOP_CONTEXT ||
            ev->stop.reason == CF_STOP_LOOP || ev->stop.reason == CF_STOP_FILTERED) {
            show(stderr, cf_str_from("\n"));
            cf_note("[stopped: %s]", cf_stop_reason_name(ev->stop.reason));
        } else if (strcmp(ev->stop.what, "refusal") == 0) {
            show(stderr, cf_str_from("\n[the model refused]\n"));
        }
        break;
    case CF_CHAT_ENCODE:
        show_encoding(r, ev);
        break;
    case CF_CHAT_PREFILL:
        cf_progress_end(&r->encoding);
        break;
    case CF_CHAT_PROMPT:
    case CF_CHAT_RAW:
    case CF_CHAT_TOKEN:
    case CF_CHAT_CALL_DELTA:
    case CF_CHAT_CALL_PART:
    case CF_CHAT_USAGE:
    case CF_CHAT_TIMINGS:
        break;
    }
}

/* ---- events as JSON ----------------------------------------------------- */

static void on_event(const cf_chat_event *ev, void *ud)
{
    run *r = ud;
    if (r->keep != NULL) {
        cf_keep_event(r->keep, ev);
    }
    r->has_fault = r->has_fault || (ev->kind == CF_CHAT_STOP && ev->stop.reason == CF_STOP_ERROR);
    if (ev->kind == CF_CHAT_PROMPT || ev->kind == CF_CHAT_RAW) {
        return; /* --show-prompt shows the one; tokens and texts are the other */
    }
    if (ev->kind == CF_CHAT_STOP) {
        r->stops.seen = ev->stop;
        if (r->cli->is_json) {
            return; /* one for the whole run: tell_end() */
        }
    }
    if (ev->kind == CF_CHAT_USAGE && r->n_prompt > 0) {
        const cf_loss_lines lines = {.as_json = r->cli->is_json};
        cf_loss_of_server(&lines, ev->usage.n_prompt, r->n_prompt);
        r->n_prompt = 0; /* of the first round */
    }
    if (ev->kind == CF_CHAT_NOTE && r->cli->is_json) {
        cf_note_text("[server] ", ev->text);
    }
    if (r->cli->is_json) {
        cf_buf b = CF_BUF_INIT;
        cf_run_json_event(&b, ev, -1);
        show_json(r, &b);
        cf_buf_deinit(&b);
    } else {
        show_event(r, ev);
    }
}

/* The last event: how the run ended, with the sums of its rounds and
 * the facts that a server reported about its answer. */
static void tell_end(run *r, const cf_sent *sent, cf_status st, const cf_error *err)
{
    cf_jw w;
    cf_buf b = CF_BUF_INIT;
    cf_run_json_begin(&w, &b, "stop");
    if (st == CF_ELIMIT && r->stops.seen.reason != CF_STOP_ERROR &&
        json_array_size(json_object_get(sent->response.message, "tool_calls")) > 0) {
        cf_jw_text(&w, "reason", "rounds");
        cf_jw_text(&w, "message", err->text);
    } else {
        cf_run_json_stop(&w, &r->stops.seen);
    }
    cf_jw_uint(&w, "rounds", sent->n_rounds);
    if (sent->usage.is_known) {
        cf_run_json_usage(&w, "usage", &sent->usage);
    }
    if (sent->response.vendor != NULL) {
        cf_jw_json(&w, "server", sent->response.vendor);
    }
    cf_run_json_end(&w);
    show_json(r, &b);
    cf_buf_deinit(&b);
}

/* ---- tools -------------------------------------------------------------- */

static bool can_ask(const run *r)
{
    return !r->cli->is_quiet && isatty(STDIN_FILENO) != 0;
}

static bool wants_demo(const run *r)
{
    return r->tools_path != NULL && strcmp(r->tools_path, "demo") == 0;
}

/* The bundled model asks the help, where nothing else says which tools there
 * are or what the reply must be. */
static bool wants_help(const run *r)
{
    const bool as_is = r->as_is || (r->cli->reply != NULL && r->cli->reply->chat.as_is);
    return cf_open_is_bundled(&r->cli->open) && r->tools_path == NULL && r->mcp.path == NULL &&
           !as_is && r->n_candidates == 0 && !cf_run_limit_is_asked(&r->limit);
}

/* Whether --results has one for this tool; nothing is run then. */
static bool is_canned(const run *r, cf_str name)
{
    json_t *result = NULL;
    cf_error none;
    const bool is_there =
        r->canned != NULL && cf_tool_canned(r->canned, name, &result, &none) == CF_OK;
    json_decref(result);
    return is_there;
}

/* The help, and the tools of --tools demo, change nothing but the history.  A
 * continued conversation may have tools of the user's own with these names. */
static bool is_demo(const run *r, cf_str name)
{
    const bool is_own = wants_demo(r) ? cf_demo_has(name) : cf_str_is(name, "confab_help");
    return r->demo != NULL && is_own && !is_canned(r, name);
}

static cf_call_verdict decide(void *ud, const cf_pending_call *call, cf_buf *reason)
{
    run *r = ud;
    size_t server;
    cf_str tool;
    if (is_demo(r, call->name)) {
        return CF_CALL_RUN;
    }
    if (r->canned == NULL && cf_mcp_opened_find(&r->mcp, call->name, &server, &tool)) {
        if (cf_mcp_opened_may_call(&r->mcp, server, tool, call->arguments)) {
            return CF_CALL_RUN;
        }
        cf_buf_adds(reason, "the user refused the call");
        return CF_CALL_REFUSE;
    }
    if (r->canned != NULL || r->is_approved) {
        return CF_CALL_RUN; /* nothing is executed, or it was allowed */
    }
    if (!can_ask(r)) {
        cf_buf_adds(reason,
                    r->exec != NULL ? "the call was not approved" : "no tool can be run here");
        return CF_CALL_REFUSE;
    }
    if (r->exec == NULL) {
        return CF_CALL_RUN; /* the result is typed */
    }
    cf_buf answer = CF_BUF_INIT;
    bool yes = cf_run_ask("run it? [y/N] ", &answer) && answer.n > 0 &&
               (answer.p[0] == 'y' || answer.p[0] == 'Y');
    cf_buf_deinit(&answer);
    if (!yes) {
        cf_buf_adds(reason, "the user refused the call");
    }
    return yes ? CF_CALL_RUN : CF_CALL_REFUSE;
}

static cf_status run_demo(run *r, const cf_pending_call *call, json_t **result, cf_error *err)
{
    json_t *v;
    CF_TRY(cf_demo_run(r->demo, (cf_uuid){{0}}, call->name, call->arguments, &v, err));
    *result = cf_demo_content(v);
    json_decref(v);
    return *result != NULL ? CF_OK : cf_oom(err);
}

static cf_status run_call(void *ud, const cf_pending_call *call, json_t **result, cf_error *err)
{
    run *r = ud;
    if (is_demo(r, call->name)) {
        return run_demo(r, call, result, err);
    }
    if (r->canned != NULL) {
        return cf_tool_canned(r->canned, call->name, result, err);
    }
    size_t server;
    cf_str tool;
    if (cf_mcp_opened_find(&r->mcp, call->name, &server, &tool)) {
        return cf_mcp_opened_call(&r->mcp, server, tool, call->arguments, result, err);
    }
    if (r->exec != NULL) {
        cf_tool_exec e = {
            .command = r->exec, .timeout_ms = r->timeout_s * 1000, .cancel = cf_cli_cancel()};
        return cf_tool_exec_run(&e, call, result, err);
    }
    return cf_run_typed_result(result, err);
}

/* A result as JSON; ours is JSON text already. */
static void put_result(const run *r, cf_buf *out, cf_str name, const json_t *result)
{
    if (wants_demo(r) && is_demo(r, name) && json_is_string(result)) {
        cf_buf_add(out, json_string_value(result), json_string_length(result));
    } else {
        cf_json_write(out, result);
    }
}

static void done_call(void *ud, const cf_pending_call *call, const json_t *result)
{
    run *r = ud;
    cf_buf b = CF_BUF_INIT;
    if (r->cli->is_json) {
        cf_jw w;
        cf_buf value = CF_BUF_INIT;
        put_result(r, &value, call->name, result);
        cf_run_json_begin(&w, &b, "tool_result");
        cf_jw_uint(&w, "round", call->round);
        cf_jw_uint(&w, "index", call->index);
        cf_jw_str(&w, "name", call->name);
        cf_jw_raw(&w, "result", cf_buf_str(&value));
        cf_run_json_end(&w);
        b.failed = b.failed || value.failed;
        cf_buf_deinit(&value);
        show_json(r, &b);
    } else {
        const json_t *text = json_object_get(json_array_get(result, 0), "text");
        if (text != NULL && cf_attachment_is_content(result)) {
            result = text; /* without the bytes of its pictures */
        }
        put_result(r, &b, call->name, result);
        cf_note_text("[result] ", cf_buf_str(&b));
    }
    cf_buf_deinit(&b);
}

static cf_status on_sending(void *ud, cf_send *send, cf_error *err)
{
    run *r = ud;
    if (r->keep == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_keep_sending(r->keep, r->conv, &r->cli->opened, cf_buf_str(&r->limit.constraint),
                           send, err));
    if (r->mcp.servers != NULL && !cf_uuid_is_nil(cf_keep_conversation(r->keep))) {
        cf_tool_links_keep(r->mcp.servers, cf_keep_conversation(r->keep));
    }
    return CF_OK;
}

static void on_sent(void *ud, const cf_sent *sent)
{
    run *r = ud;
    if (r->keep != NULL) {
        cf_keep_sent(r->keep, r->conv, sent);
    }
}

/* ---- the command -------------------------------------------------------- */

static cf_status read_files(run *r, cf_error *err)
{
    if (wants_demo(r)) {
        r->tools = cf_demo_declarations();
        if (r->tools == NULL) {
            return cf_oom(err);
        }
    } else if (wants_help(r) && r->continue_id == NULL) {
        r->tools = json_array();
        CF_TRY(cf_demo_declare_help(r->tools, err));
    } else if (r->tools_path != NULL && strcmp(r->tools_path, "off") != 0) {
        CF_TRY(cf_json_read_file(&r->tools, r->tools_path, err));
    }
    if (r->results_path != NULL) {
        CF_TRY(cf_json_read_file(&r->canned, r->results_path, err));
        if (!json_is_object(r->canned)) {
            return cf_fail(err, CF_EFORMAT, "%s: results are an object by tool name",
                           r->results_path);
        }
    }
    return CF_OK;
}

static void on_branched(void *ud, const cf_turn *turn, cf_uuid from)
{
    run *r = ud;
    if (r->keep != NULL && !r->show_prompt) {
        cf_keep_branch(r->keep, turn, from);
    }
}

/* A new conversation has its system prompt before every turn; a saved one gets
 * a branch with it. */
static cf_status make_conversation(run *r, cf_error *err)
{
    const bool is_branch = r->system != NULL && r->continue_id != NULL;
    const bool is_later = r->mcp.path != NULL && r->mcp.with_instructions;
    if (r->system != NULL && !is_branch && !is_later) {
        r->system_list = json_pack("[{s:s, s:s}]", "role", "system", "content", r->system);
        if (r->system_list == NULL) {
            return cf_fail(err, CF_EINVAL, "--system: the text is not UTF-8");
        }
    }
    cf_preface preface = {.messages = r->system_list, .tools = r->tools};
    CF_TRY(cf_keep_open(&r->keep, r->cli, r->is_kept_out, r->continue_id, &preface, &r->conv, err));
    if (is_branch) {
        CF_TRY(cf_conversation_set_system(r->conv, cf_str_from(r->system), on_branched, r, err));
    }
    cf_conversation_set_roles(r->conv, &r->cli->opened.roles);
    cf_store *store = r->keep != NULL ? cf_keep_store(r->keep) : NULL;
    cf_saved_thinking(r->cli->opened.backend, r->cli->opened.engine, store);
    if (r->continue_id != NULL) {
        cf_saved_drafts(r->cli->opened.backend, r->cli->opened.engine, store, r->conv);
    }
    if (wants_demo(r) || wants_help(r)) {
        CF_TRY(cf_demo_new(&r->demo, store, false, err));
        cf_demo_set_help(r->demo, cf_cli_answer, r->cli);
    }
    return CF_OK;
}

/* --instructions: what the servers say about themselves follows the system
 * prompt, as a branch where there was one. */
static cf_status add_instructions(run *r, cf_error *err)
{
    cf_mcp *all = cf_tool_links_mcp(r->mcp.servers);
    cf_buf text = CF_BUF_INIT;
    size_t n_added = 0;
    cf_buf_adds(&text, r->system != NULL ? r->system : "");
    for (size_t i = 0; i < cf_mcp_n(all); i++) {
        cf_mcp_server s = cf_mcp_server_at(all, i);
        if (s.state == CF_MCP_READY && s.instructions.n > 0) {
            cf_buf_adds(&text, text.n > 0 ? "\n\n" : "");
            cf_buf_add(&text, s.instructions.p, s.instructions.n);
            n_added++;
        }
    }
    cf_status st = cf_buf_check(&text, err);
    if (st == CF_OK && n_added > 0) {
        st = cf_conversation_set_system(r->conv, cf_buf_str(&text), on_branched, r, err);
    }
    cf_buf_deinit(&text);
    return st;
}

/* --mcp: starts the servers; their tools follow those of --tools. */
static cf_status open_servers(run *r, cf_error *err)
{
    if (r->mcp.path == NULL) {
        return CF_OK;
    }
    r->mcp.cli = r->cli;
    r->mcp.is_approved = r->is_approved;
    r->mcp.call_s = r->timeout_s;
    CF_TRY(cf_mcp_open(&r->mcp, r->keep != NULL ? cf_keep_store(r->keep) : NULL, NULL, err));
    cf_mcp_opened_tell_failed(&r->mcp);
    CF_TRY(cf_mcp_opened_declare(&r->mcp, r->tools, err));
    if (r->mcp.with_instructions) {
        CF_TRY(add_instructions(r, err));
    }
    json_decref(r->tools);
    r->tools = json_incref(r->mcp.declared);
    return cf_conversation_set_tools(r->conv, r->tools, err);
}

static bool is_server(const run *r)
{
    return strcmp(cf_backend_get_info(r->cli->opened.backend).kind, "openai") == 0;
}

/* --extra, and what confabrc has, into the request of a server. */
static cf_status read_extra(run *r, cf_error *err)
{
    const cf_reply_settings *from = r->cli->reply;
    if (from != NULL && from->extra[0] != '\0' && is_server(r)) {
        json_t *v;
        CF_TRY(cf_json_read(&v, from->extra, strlen(from->extra), err));
        json_object_update(r->vendor, v);
        json_decref(v);
    }
    for (size_t i = 0; i < r->extra_list.n; i++) {
        cf_error why;
        if (cf_extra_put(r->vendor, r->extra_list.v[i], &why) != CF_OK) {
            return cf_fail(err, CF_EINVAL, "--extra: %s", why.text);
        }
    }
    if (r->extra_list.n > 0 && !is_server(r)) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "--extra is for servers; this engine takes no other "
                       "arguments");
    }
    return CF_OK;
}

/* From confabrc, where no option says otherwise. */
static void take_settings(cf_chat_options *o, const run *r)
{
    const cf_reply_settings *from = r->cli->reply;
    if (from == NULL) {
        return;
    }
    if (!r->length.has_n_max) {
        o->max_tokens = from->chat.max_tokens;
    }
    o->thinking = from->chat.thinking;
    o->as_is = from->chat.as_is;
    o->stops_on_loop = from->chat.stops_on_loop;
    o->has_thinking_budget = from->chat.has_thinking_budget;
    o->thinking_budget = from->chat.thinking_budget;
}

static cf_status read_stop_ids(run *r, cf_chat_options *o, cf_error *err)
{
    for (size_t i = 0; i < r->stops.id_texts.n; i++) {
        const char *text = r->stops.id_texts.v[i];
        char *end;
        long id = strtol(text, &end, 10);
        if (end == text || *end != '\0' || id < 0 || id > INT32_MAX) {
            return cf_fail(err, CF_EINVAL, "--stop-id: '%.40s' is not a token id", text);
        }
        r->stops.ids[i] = (cf_token)id;
    }
    o->stop_ids = r->stops.ids;
    o->n_stop_ids = r->stops.id_texts.n;
    return CF_OK;
}

static cf_status fill_options(run *r, cf_turn_options *o, cf_error *err)
{
    CF_TRY(cf_sampler_options_finish(&r->sampling, r->cli, &o->chat, err));
    if (json_object_size(r->vendor) > 0) {
        o->chat.vendor = r->vendor;
    }
    o->chat.sends_thinking = r->sends_thinking;
    o->chat.constraint = r->limit.spec;
    o->chat.grammar = r->limit.grammar;
    o->chat.vocab = r->limit.vocab;
    o->chat.max_tokens = r->length.n_max;
    take_settings(&o->chat, r);
    o->chat.as_is = o->chat.as_is || r->as_is;
    o->chat.stops_on_loop = o->chat.stops_on_loop || r->stops.at_loop;
    o->chat.n_top = r->n_top;
    for (size_t i = 0; i < r->stops.texts.n; i++) {
        r->stops.v[i] = cf_str_from(r->stops.texts.v[i]);
    }
    o->chat.stop = r->stops.v;
    o->chat.n_stop = r->stops.texts.n;
    o->fail_on_length = r->stops.fails_on_length;
    CF_TRY(read_stop_ids(r, &o->chat, err));
    if (r->length.has_budget) {
        o->chat.has_thinking_budget = true;
        o->chat.thinking_budget =
            (int32_t)(r->length.budget < INT32_MAX ? r->length.budget : INT32_MAX);
    }
    if (r->thinking != NULL && strcmp(r->thinking, "on") == 0) {
        o->chat.thinking = CF_THINKING_ON;
    } else if (r->thinking != NULL && strcmp(r->thinking, "off") == 0) {
        o->chat.thinking = CF_THINKING_OFF;
    } else if (r->thinking != NULL) {
        return cf_fail(err, CF_EINVAL, "--thinking takes on or off");
    }
    return cf_chat_options_check(&o->chat, err);
}

/* On standard error, and with --json among the events, too. */
static void tell_loss(void *ud, const cf_loss *loss)
{
    run *r = ud;
    cf_loss_lines lines = {.as_json = r->cli->is_json};
    cf_loss_note(&lines, loss);
    if (r->cli->is_json && !r->show_prompt) {
        cf_buf b = CF_BUF_INIT;
        cf_loss_json(&b, loss, NULL);
        show_json(r, &b);
        cf_buf_deinit(&b);
    }
}

/* Lists what is not in the prompt, a line each, on standard error. */
static cf_status tell_losses(run *r, const cf_send *send, const cf_prompt *prompt, cf_error *err)
{
    return cf_conversation_losses(r->conv, send, prompt, tell_loss, r, err);
}

/* The tokens of a prompt that may be too long for a server, which cuts such
 * prompts silently; 0 for any other. */
static size_t count_tokens(const run *r, const cf_send *send, size_t prompt_bytes, cf_arena *arena)
{
    cf_backend *backend = r->cli->opened.backend;
    const cf_backend_info info = cf_backend_get_info(backend);
    cf_prompt again;
    cf_token_list tokens = {NULL, 0};
    cf_error ignored;
    const bool may_be_cut = info.asks_tokens && info.n_ctx > 0 && prompt_bytes / 2 > info.n_ctx;
    return may_be_cut && cf_conversation_preview(r->conv, backend, send, arena, &again, &tokens,
                                                 &ignored) == CF_OK
               ? tokens.n
               : 0;
}

/* Lists what will not be in the prompt of a send that is about to be made.
 * That reports why a prompt cannot be made; here only want of memory is an
 * error. */
static cf_status look_for_losses(run *r, const cf_send *send, cf_error *err)
{
    cf_arena arena;
    cf_prompt prompt;
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_conversation_preview(r->conv, r->cli->opened.backend, send, &arena, &prompt, NULL, err);
    CF_THEN(st, tell_losses(r, send, &prompt, err));
    r->n_prompt = st == CF_OK ? count_tokens(r, send, prompt.text.n, &arena) : 0;
    cf_arena_deinit(&arena);
    return st == CF_ENOMEM ? st : CF_OK;
}

static cf_status show_prompt(run *r, const cf_send *send, cf_error *err)
{
    cf_arena arena;
    cf_prompt prompt;
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_conversation_preview(r->conv, r->cli->opened.backend, send, &arena, &prompt, NULL, err);
    if (st == CF_OK) {
        show(stdout, prompt.text);
        st = tell_losses(r, send, &prompt, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

/* Whether a valid call gets more than the answer that nothing can run it. */
static bool can_run_tools(const run *r)
{
    return r->demo != NULL || r->canned != NULL || r->mcp.path != NULL || r->exec != NULL ||
           can_ask(r);
}

/* The message to be sent, NULL where a turn that is there is answered, and the
 * turn that the reply or the message follows. */
static cf_status make_message(run *r, const cf_buf *prompt, cf_send *send, cf_error *err)
{
    json_t *message = NULL;
    size_t n_open = 0;
    if (r->call_results.n > 0) {
        send->has_parent = true;
        CF_TRY(cf_run_results(&message, &send->parent, &n_open, r->conv, &r->call_results, err));
        if (n_open > 0) {
            cf_note("[note] %zu of the calls still have no result", n_open);
        }
    } else if (r->continue_id != NULL && prompt->n == 0 && !r->has_prompt &&
               !cf_attach_options_any(&r->attached)) {
        send->has_parent = true;
        return cf_run_open_turn(&send->parent, r->conv, err);
    } else {
        json_t *content;
        const cf_backend_info info = cf_backend_get_info(r->cli->opened.backend);
        CF_TRY(cf_attach_options_content(&content, &r->attached, cf_buf_str(prompt), &info, err));
        message = json_pack("{s:s, s:o}", "role", "user", "content", content);
        const cf_uuid head = cf_conversation_head(r->conv);
        if (!cf_uuid_eq(cf_conversation_resume(r->conv, head), head)) {
            cf_note("[note] the message before is left out: its reply failed");
        }
    }
    send->message = message;
    return message != NULL ? CF_OK : cf_oom_for(err, "the message");
}

static cf_status send_candidates(run *r, const cf_send *send, cf_error *err)
{
    const cf_candidates all = {.cli = r->cli,
                               .conv = r->conv,
                               .engine = &r->cli->opened,
                               .keep = r->keep,
                               .constraint = cf_buf_str(&r->limit.constraint),
                               .send = send,
                               .n = r->n_candidates,
                               .n_draft = r->length.n_draft};
    return cf_run_candidates(&all, &r->has_fault, err);
}

/* Sends and answers calls, or only shows the prompt. */
static cf_status send_one(run *r, const cf_send *send, cf_error *err)
{
    const cf_tool_loop loop = {.max_rounds = r->max_rounds,
                               .stops_at_call = r->stops_at_call || !can_run_tools(r),
                               .decide = decide,
                               .run = run_call,
                               .done = done_call,
                               .sending = on_sending,
                               .sent = on_sent,
                               .ud = r};
    cf_backend_core_set_draft(r->cli->opened.backend, r->length.n_draft);
    cf_sent sent;
    cf_sent_init(&sent);
    cf_status st = r->show_prompt ? CF_OK : look_for_losses(r, send, err);
    CF_THEN(st, r->show_prompt ? show_prompt(r, send, err)
                               : cf_conversation_run(r->conv, r->cli->opened.backend, send, &loop,
                                                     &sent, err));
    if (st == CF_OK && loop.stops_at_call && !r->stops_at_call &&
        json_array_size(json_object_get(sent.response.message, "tool_calls")) > 0) {
        cf_note("[note] nothing here can run a call: see --results, --exec, --mcp, --result");
    }
    if (r->cli->is_json && !r->show_prompt) {
        tell_end(r, &sent, st, err);
    }
    if (st == CF_OK && r->limit.choices.n > 0 && !r->show_prompt &&
        cf_json_get_str(sent.response.message, "content").n == 0) {
        st = cf_fail(err, CF_ELIMIT,
                     "--choice: the reply has no text, so no choice was made; "
                     "--thinking off keeps a model from thinking");
    }
    cf_sent_deinit(&sent);
    return st;
}

static cf_status answer(run *r, const cf_buf *prompt, cf_error *err)
{
    cf_turn_options options = {.is_pending = false};
    r->vendor = json_object();
    if (r->vendor == NULL) {
        return cf_oom(err);
    }
    CF_TRY(read_extra(r, err));
    CF_TRY(cf_run_limit_make(&r->limit, r->cli, r->conv, err));
    CF_TRY(fill_options(r, &options, err));
    cf_send send = {.options = &options, .fn = on_event, .ud = r, .cancel = cf_cli_cancel()};
    CF_TRY(make_message(r, prompt, &send, err));
    const bool is_one = r->n_candidates == 0 || r->show_prompt;
    cf_status st = is_one ? send_one(r, &send, err) : send_candidates(r, &send, err);
    json_decref(cf_json_ref(send.message));
    bool ends_open = r->last != '\0' && r->last != '\n';
    if (is_one && (ends_open || (r->show_prompt && r->is_terminal))) {
        show(stdout, cf_str_from("\n"));
    }
    return st;
}

/* The prompt of the command line or of standard input; none with --result, or
 * where a saved conversation is continued at a terminal. */
static cf_status read_prompt(run *r, const char *text, cf_buf *prompt, cf_error *err)
{
    if (r->call_results.n > 0 || (text == NULL && isatty(STDIN_FILENO) != 0)) {
        return CF_OK;
    }
    r->has_prompt = text != NULL && strcmp(text, "-") != 0;
    if (r->has_prompt) {
        cf_buf_adds(prompt, text);
        CF_TRY(cf_buf_check(prompt, err));
    } else {
        CF_TRY(cf_os_read_file(prompt, "-", PROMPT_MAX, err));
    }
    const bool may_be_empty =
        cf_attach_options_any(&r->attached) || (r->continue_id != NULL && !r->has_prompt);
    const cf_str said = cf_str_trim(cf_buf_str(prompt));
    return said.n > 0 || may_be_empty ? CF_OK : cf_fail(err, CF_EINVAL, "the message is empty");
}

static cf_status run_all(run *r, const char *text, cf_error *err)
{
    cf_buf prompt = CF_BUF_INIT;
    cf_status st = read_prompt(r, text, &prompt, err);
    CF_THEN(st, read_files(r, err));
    cf_open_options open = r->cli->open;
    open.has_tools = r->tools != NULL || r->mcp.path != NULL;
    open.allows_no_weights = r->show_prompt;
    CF_THEN(st, cf_open_backend(&r->cli->opened, &open, r->family, err));
    if (st == CF_OK) {
        cf_cli_note_template(r->cli, r->cli->opened.engine);
    }
    CF_THEN(st, make_conversation(r, err));
    CF_THEN(st, open_servers(r, err));
    if (st == CF_OK && r->tools != NULL && !wants_help(r) && !r->cli->is_json && !is_server(r)) {
        cf_note("[tool family %s: %s]", cf_tool_family_name(r->cli->opened.family),
                r->cli->opened.family_why);
    }
    if (st == CF_OK) {
        cf_keep_prefix_read(&r->prefix, r->cli, r->cli->opened.prefixes, NULL);
        st = answer(r, &prompt, err);
        cf_keep_prefix_write(&r->prefix, r->cli);
    }
    cf_buf_deinit(&prompt);
    return st;
}

/* A failure of the engine, not of an input, ends with its own status. */
static int exit_status(const run *r, const cf_error *err)
{
    int status = cf_cli_fail(r->cli, err);
    return r->has_fault ? CF_EXIT_ENGINE : status;
}

static const run initial = {.length.n_draft = CF_DRAFT_DEFAULT};

static const cf_opt_row options[] = {
    {"--system", 0, CF_OPT_STR, offsetof(run, system), "TEXT", "system message", 0},
    {"--tools", 0, CF_OPT_STR, offsetof(run, tools_path), "FILE|demo|off",
     "tools the model may call, as JSON declarations; demo: eight built-in "
     "tools; off: none, not even the help of the bundled model",
     0},
    CF_ROW_MCP(offsetof(run, mcp.path)),
    {"--instructions", 0, CF_OPT_FLAG, offsetof(run, mcp.with_instructions), NULL,
     "add the instructions of the MCP servers to the system prompt", 0},
    CF_ROW_NO_BROWSER(offsetof(run, mcp.no_browser)),
    CF_ROW_FAMILY(offsetof(run, family)),
    {"--results", 0, CF_OPT_STR, offsetof(run, results_path), "FILE",
     "canned results: a JSON object keyed by tool name, \"*\" for all others", 0},
    {"--exec", 0, CF_OPT_STR, offsetof(run, exec), "COMMAND",
     "run calls with a command that reads the call as JSON; asks before "
     "each call",
     0},
    CF_ROW_YES(offsetof(run, is_approved)),
    {"--tool-timeout", 0, CF_OPT_U32, offsetof(run, timeout_s), "SECONDS",
     "time limit for a call by --exec (default: 30) or --mcp (default: 60)", 0},
    {"--max-rounds", 0, CF_OPT_U32, offsetof(run, max_rounds), "N",
     "stop after N rounds of tool calls (default: 25)", 0},
    {"--stop-at-call", 0, CF_OPT_FLAG, offsetof(run, stops_at_call), NULL,
     "stop after the first reply with calls; they get no results", 0},
    CF_ROW_TOKENS(offsetof(run, length.n_max), offsetof(run, length.has_n_max)),
    CF_ROW_STOP(offsetof(run, stops.texts)),
    {"--stop-id", 0, CF_OPT_LIST, offsetof(run, stops.id_texts), "ID",
     "stop generating before this token; may be repeated", 0},
    {"--fail-on-length", 0, CF_OPT_FLAG, offsetof(run, stops.fails_on_length), NULL,
     "fail if the reply reaches the limit of --tokens", 0},
    {"--thinking", 0, CF_OPT_STR, offsetof(run, thinking), "on|off",
     "turn thinking on or off in the template", 0},
    {"--budget", 0, CF_OPT_U32, offsetof(run, length.budget), "N",
     "force the end of thinking after N tokens", offsetof(run, length.has_budget)},
    {"--schema", 0, CF_OPT_STR, offsetof(run, limit.schema), "FILE",
     "constrain the reply to a JSON Schema", 0},
    {"--regex", 0, CF_OPT_STR, offsetof(run, limit.regex), "R",
     "constrain the reply to a regular expression", 0},
    {"--choice", 0, CF_OPT_LIST, offsetof(run, limit.choices), "TEXT",
     "constrain the reply to one of the texts given; may be repeated", 0},
    {"--grammar", 0, CF_OPT_STR, offsetof(run, limit.grammar_path), "FILE",
     "constrain the reply to a grammar", 0},
    {"--constrain-tools", 0, CF_OPT_STR, offsetof(run, limit.tool_mode),
     "calls|text-and|text-until", "constrain calls to --tools: calls, text-and, text-until", 0},
    {"--extra", 0, CF_OPT_LIST, offsetof(run, extra_list), "KEY=JSON",
     "add an argument to requests to a server; may be repeated", 0},
    {"--send-thinking", 0, CF_OPT_FLAG, offsetof(run, sends_thinking), NULL,
     "include the thinking of earlier replies in requests to a server", 0},
    CF_ROW_AS_IS(offsetof(run, as_is)),
    CF_ROW_STOP_ON_LOOP(offsetof(run, stops.at_loop)),
    {"--candidates", 0, CF_OPT_U32, offsetof(run, n_candidates), "N",
     "generate N replies in parallel, each with its own seed; tool calls are "
     "not answered",
     0},
    CF_ROW_DRAFT(offsetof(run, length.n_draft), offsetof(run, length.has_draft)),
    {"--top", 0, CF_OPT_U32, offsetof(run, n_top), "N",
     "report N candidates for each token (with --json)", 0},
    {"--show-prompt", 0, CF_OPT_FLAG, offsetof(run, show_prompt), NULL,
     "print the rendered prompt and send nothing", 0},
    {"--continue", 0, CF_OPT_STR, offsetof(run, continue_id), "UUID",
     "continue a saved conversation, from its end or from one of its turns", 0},
    {"--result", 0, CF_OPT_LIST, offsetof(run, call_results), "ID=JSON",
     "with --continue: send the result of an open call; may be repeated", 0},
    CF_ROW_KEEP_PREFIX(offsetof(run, prefix.is_wanted)),
    CF_ROW_NO_STORE(offsetof(run, is_kept_out)),
    CF_OPT_ROWS_END,
};

static size_t more(void *state, cf_opt *out)
{
    run *r = state;
    cf_attach_options_table(&r->attached, out);
    cf_sampler_options_table(&r->sampling, out + CF_ATTACH_OPTIONS);
    enum { N = CF_ATTACH_OPTIONS + CF_SAMPLER_OPTIONS };
    out[N] = (cf_opt){.name = NULL};
    return N;
}

static int run_run(cf_cli *cli, void *state)
{
    run *r = state;
    r->cli = cli;
    r->is_terminal = isatty(STDOUT_FILENO) != 0;
    if (!r->length.has_draft && cli->reply != NULL) {
        r->length.n_draft = cli->reply->draft;
    }
    if (r->length.n_draft > CF_DRAFT_MAX) {
        return cf_cli_usage(cli, "--draft: at most 15 tokens");
    }
    if (r->n_candidates > CF_CANDIDATES_MAX) {
        return cf_cli_usage(cli, "--candidates: at most 32");
    }
    bool has_text = cli->n_args == 1 && strcmp(cli->args[0], "-") != 0;
    if (!has_text && cf_attach_options_use_stdin(&r->attached)) {
        return cf_cli_usage(cli, "standard input is a file: give the PROMPT "
                                 "as an argument");
    }
    if (r->call_results.n > 0 &&
        (r->continue_id == NULL || cli->n_args > 0 || cf_attach_options_any(&r->attached))) {
        return cf_cli_usage(cli, "--result goes with --continue UUID, without a PROMPT");
    }
    if (cli->n_args == 0 && r->continue_id == NULL && isatty(STDIN_FILENO)) {
        return cf_cli_usage(cli, "no prompt: PROMPT, or text on standard input");
    }
    cf_error err = {0};
    cf_status st = run_all(r, cli->n_args == 1 ? cli->args[0] : NULL, &err);
    int status = st == CF_OK ? CF_EXIT_OK : exit_status(r, &err);
    cf_mcp_opened_close(&r->mcp);
    if (!cf_keep_close(r->keep) && status == CF_EXIT_OK) {
        status = CF_EXIT_UNSAVED;
    }
    cf_conversation_free(r->conv);
    cf_run_limit_deinit(&r->limit);
    json_decref(r->tools);
    cf_demo_free(r->demo);
    json_decref(r->canned);
    json_decref(r->system_list);
    json_decref(r->vendor);
    return status;
}

const cf_cli_command cf_cmd_run = {
    .name = "run",
    .arguments = "[PROMPT]",
    .summary = "send one message and stream the reply",
    .options = options,
    .more = more,
    .state_bytes = sizeof(run),
    .initial = &initial,
    .n_max = 1,
    .want = "takes one PROMPT; put it in quotes",
    .run = run_run,
};
