/*
 * command.c - what works in every view.
 */
#include <stdio.h>
#include <string.h>

#include "tui/app/app.h"
#include "tui/app/command_file.h"
#include "tui/app/command_model.h"
#include "tui/app/command_servers.h"
#include "tui/app/command_study.h"
#include "tui/app/command_system.h"
#include "tui/app/command_truncate.h"
#include "tui/app/command_try.h"
#include "tui/app/command_undo.h"
#include "tui/demo/demo_serve.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/reply_settings.h"
#include "tui/lab/talk/lab_constraint.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/sys/paths.h"

/* Leaving while a reply or another task runs takes a second Q. */
static void cmd_quit(cf_app *app)
{
    if (cf_app_is_busy(app) && !app->wants_quit) {
        app->wants_quit = true;
        cf_app_say(app, CF_STYLE_WARNING, "still working: Q again stops it and leaves");
        return;
    }
    app->is_done = true;
}

static void cmd_quit_now(cf_app *app)
{
    app->is_done = true;
}

static void cmd_stop(cf_app *app)
{
    if (cf_app_is_busy(app)) {
        cf_lab_stop(app->lab);
        cf_app_say_while_busy(app, "stopping");
    }
}

/* ^C stops what runs, and the third leaves if it runs on; idle, the first asks
 * for a second one. */
static void cmd_interrupt(cf_app *app)
{
    if (cf_app_is_busy(app)) {
        cmd_stop(app);
        if (++app->n_stop == 2) {
            cf_app_say_while_busy(app, "stopping; ^C again quits");
        }
        app->is_done = app->is_done || app->n_stop > 2;
        return;
    }
    app->n_stop = 0;
    if (app->wants_quit) {
        app->is_done = true;
        return;
    }
    app->wants_quit = true;
    cf_app_say(app, CF_STYLE_WARNING, "^C again to quit");
}

static void cmd_sweep(cf_app *app, const char *arg)
{
    cf_buf path = CF_BUF_INIT;
    cf_paths_expand(&path, arg);
    cf_app_show(app, CF_VIEW_SWEEP,
                &(cf_target){.kind = CF_TARGET_PLAN, .text = cf_buf_str(&path)});
    cf_buf_deinit(&path);
}

static void cmd_sessions(cf_app *app, const char *arg)
{
    cf_buf path = CF_BUF_INIT;
    if (arg[0] == '\0') {
        cf_app_open_view(app, CF_VIEW_STEPS);
        return;
    }
    cf_paths_expand(&path, arg);
    cf_app_show(app, CF_VIEW_STEPS,
                &(cf_target){.kind = CF_TARGET_SESSION, .text = cf_buf_str(&path)});
    cf_buf_deinit(&path);
}

static void open_view(cf_app *app, int view)
{
    cf_app_open_view(app, (cf_view_id)view);
}

static void cmd_help(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        cf_app_open_view(app, CF_VIEW_HELP);
        return;
    }
    cf_app_show(app, CF_VIEW_HELP, &(cf_target){.kind = CF_TARGET_TOPIC, .text = cf_str_from(arg)});
}

static void cmd_redraw(cf_app *app)
{
    if (app->term != NULL) {
        app->term->ops->redraw(app->term);
    }
    app->is_dirty = true;
}

static void cmd_suspend(cf_app *app)
{
    if (app->term != NULL) {
        app->term->ops->suspend(app->term);
        int w, h;
        app->term->ops->size(app->term, &w, &h);
        cf_app_event(app, &(cf_event){.kind = CF_EVENT_RESIZE, .w = w, .h = h});
    }
}

static void cmd_command_line(cf_app *app)
{
    app->mode = CF_MODE_COMMAND;
}

static void cmd_search_line(cf_app *app, const char *arg)
{
    if (arg[0] == '\0') {
        app->mode = CF_MODE_SEARCH;
        return;
    }
    snprintf(app->search, sizeof app->search, "%s", arg);
    if (cf_views[cf_app_view(app)]->search != NULL) {
        cf_views[cf_app_view(app)]->search(app, app->search, 0);
    }
}

static void search_again(cf_app *app, int direction)
{
    if (app->search[0] == '\0') {
        cf_app_say(app, CF_STYLE_DIM, "nothing has been searched for yet; / starts a search");
    } else if (cf_views[cf_app_view(app)]->search != NULL) {
        cf_views[cf_app_view(app)]->search(app, app->search, direction);
    }
}

/* "set NAME=VALUE" as it is now; false: it has no value that could be set. */
static bool put_setting(const cf_config *c, const char *name, cf_buf *out)
{
    cf_buf_adds(out, "set ");
    if (!cf_config_show(c, name, out)) {
        return false;
    }
    const char *end = strstr(cf_buf_cstr(out), "  (");
    cf_buf_rewind(out, end != NULL ? (size_t)(end - cf_buf_cstr(out)) : out->n);
    return strstr(cf_buf_cstr(out), "=(") == NULL;
}

/* The second of "NAME=VALUE NAME=VALUE"; NULL: there is one. */
static const char *second_setting(const cf_config *c, const char *arg)
{
    for (const char *at = strchr(arg, ' '); at != NULL; at = strchr(at + 1, ' ')) {
        cf_buf name = CF_BUF_INIT, line = CF_BUF_INIT;
        size_t n = strcspn(at + 1, "= ");
        cf_buf_add(&name, at + 1, n);
        bool is = at[1 + n] == '=' && cf_config_show(c, cf_buf_cstr(&name), &line);
        cf_buf_deinit(&name);
        cf_buf_deinit(&line);
        if (is) {
            return at + 1;
        }
    }
    return NULL;
}

static void cmd_set(cf_app *app, const char *arg)
{
    cf_config *c = cf_app_config(app);
    const char *rest = NULL;
    cf_error err;
    cf_buf line = CF_BUF_INIT, was = CF_BUF_INIT;
    if (arg[0] == '\0') {
        cf_app_show(app, CF_VIEW_HELP, &(cf_target){.kind = CF_TARGET_SETTINGS});
        return;
    }
    char name[64], extra[CF_EXTRA_MAX];
    if (strncmp(arg, "extra ", 6) == 0) { /* extra KEY=JSON, as --extra has it */
        snprintf(extra, sizeof extra, "extra=%s", arg + 6);
        arg = extra;
    } else if ((rest = second_setting(c, arg)) != NULL) {
        snprintf(extra, sizeof extra, "%.*s", (int)(rest - 1 - arg), arg);
        cmd_set(app, extra);
        cmd_set(app, rest);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg, "="), arg);
    bool asks = name[strlen(name)] == arg[strlen(name)] && c->reply != NULL &&
                cf_reply_setting_find(name, strlen(name)) < CF_REPLY_SETTINGS;
    bool has_old = !asks && put_setting(c, name, &was);
    if (!asks && cf_config_set(c, arg, "set", &err) != CF_OK) {
        cf_app_error(app, &err);
        cf_buf_deinit(&was);
        return;
    }
    if (has_old && put_setting(c, name, &line) && app->lab != NULL &&
        strcmp(cf_buf_cstr(&was), cf_buf_cstr(&line)) != 0) {
        cf_cmd_did_line(app, cf_buf_cstr(&was), cf_buf_cstr(&line));
    }
    cf_buf_deinit(&was);
    cf_buf_reset(&line);
    cf_app_use_theme(app);
    if (app->term != NULL) {
        app->term->ops->mouse(app->term, c->mouse);
        app->term->ops->graphics(app->term, (cf_graphics_kind)c->graphics);
        app->term->ops->redraw(app->term);
    }
    if (app->lab != NULL) {
        cf_lab_prompt_stale(app->lab);
    }
    if (cf_config_show(c, name, &line)) {
        cf_app_say(app, CF_STYLE_DIM, "%s", cf_buf_cstr(&line));
    } else {
        cf_app_say(app, CF_STYLE_DIM, "%s", arg);
    }
    cf_buf_deinit(&line);
}

/* Alone: the view.  "off", "demo", or a file of declarations. */
static void cmd_tools(cf_app *app, const char *arg)
{
    json_t *tools = NULL;
    cf_error err;
    cf_status st = CF_OK;
    if (arg[0] == '\0') {
        cf_app_open_view(app, CF_VIEW_TOOLS);
        return;
    }
    bool is_demo = strcmp(arg, "demo") == 0;
    if (is_demo) {
        tools = cf_demo_declarations();
        st = tools != NULL ? CF_OK : cf_oom(&err);
    } else if (strcmp(arg, "off") != 0) {
        st = cf_json_read_small(&tools, arg, CF_JSON_SMALL_MAX, &err);
    }
    CF_THEN(st, cf_lab_set_tools(app->lab, tools, &err));
    if (st == CF_OK) {
        cf_demo_switch(app->demo, is_demo);
    }
    if (st == CF_OK && app->servers != NULL) {
        cf_tool_servers_set_others(app->servers, tools);
    }
    json_decref(tools);
    if (st != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    size_t n = 0;
    cf_tool_set_items(cf_lab_tools(app->lab), &n);
    cf_app_say(app, CF_STYLE_OK, "%zu tool%s declared; 2 shows the prompt", n,
               n == 1 ? " is" : "s are");
}

static void cmd_constrain(cf_app *app, const char *arg)
{
    cf_error err;
    char was[512], now[512];
    const char *is = cf_lab_constraint(app->lab);
    snprintf(was, sizeof was, "constrain %s", is[0] != '\0' ? is : "off");
    snprintf(now, sizeof now, "constrain %s", arg);
    if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("constrain "));
        app->mode = CF_MODE_COMMAND;
        cf_app_say(app, CF_STYLE_DIM,
                   "constrained to: %s   (schema FILE, regex R, grammar FILE, "
                   "choice A|B, json, tools, off)",
                   is[0] != '\0' ? is : "nothing");
    } else if (cf_lab_constrain(app->lab, arg, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        is = cf_lab_constraint(app->lab);
        cf_cmd_did_line(app, was, now);
        cf_app_say(app, CF_STYLE_OK, "the next replies are %s%s",
                   is[0] != '\0' ? "constrained to: " : "free", is);
    }
}

/* The object that ":w" writes. */
static void cmd_yank(cf_app *app)
{
    cf_buf text = CF_BUF_INIT;
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    if (view->text != NULL && view->text(app, &text)) {
        cf_app_copy(app, cf_buf_str(&text));
    } else {
        cf_app_say(app, CF_STYLE_DIM, "nothing to copy here");
    }
    cf_buf_deinit(&text);
}

static void cmd_maximize(cf_app *app)
{
    app->is_maximized = !app->is_maximized;
}

/* A key of a view is not also one of all views: these have an Esc, a text to
 * copy and an "n" of their own. */
#define STOPS_ITSELF \
    (CF_IN(CF_VIEW_TOKENS) | CF_IN(CF_VIEW_DIFF) | CF_IN(CF_VIEW_INFLUENCE) | CF_IN(CF_VIEW_INSIDE))
#define LEAVES_BY_ESC \
    (CF_IN(CF_VIEW_LIBRARY) | CF_IN(CF_VIEW_HELP) | CF_IN(CF_VIEW_REPLIES) | CF_IN(CF_VIEW_MEDIA))
#define COPIES_ITSELF (CF_IN(CF_VIEW_CHAT) | CF_IN(CF_VIEW_TOKENS) | CF_IN(CF_VIEW_TOOLS))

const cf_command cf_global_commands[] = {
    {"chat", CF_IN_ALL, "1 gc", "", "the conversation: its turns, and the composer",
     CF_BY(open_view, CF_VIEW_CHAT)},
    {"prompt", CF_IN_ALL, "2 gp", "", "the rendered prompt and its tokens",
     CF_BY(open_view, CF_VIEW_PROMPT)},
    {"tokens", CF_IN_ALL, "3 gt", "", "a reply's tokens and alternatives",
     CF_BY(open_view, CF_VIEW_TOKENS)},
    {"tools", CF_IN_ALL, "4 go", "[FILE|demo|off]",
     "tool calls, stage by stage; FILE declares tools, off removes them", CF_WITH(cmd_tools)},
    {"mcp", CF_IN_ALL, "gS", "[COMMAND|FILE]",
     "start a tool server, or those listed in a file; without argument, show them",
     CF_WITH(cf_cmd_start_servers)},
    {"diff", CF_IN_ALL, "5 gd", "", "compare two templates, or two conversations",
     CF_BY(open_view, CF_VIEW_DIFF)},
    {"library", CF_IN_ALL, "6 gl", "", "saved conversations", CF_BY(open_view, CF_VIEW_LIBRARY)},
    {"templates", CF_IN_ALL, "7 gj", "", "chat templates and their source",
     CF_BY(open_view, CF_VIEW_TEMPLATES)},
    {"template", CF_IN_ALL, "gT", "[NAME|FILE]",
     "render with this template; 'model' restores the first one; without argument, show what the "
     "current one can do",
     CF_WITH(cf_cmd_template)},
    {"model", CF_IN_ALL, "", "[NAME|FILE]",
     "switch to another model and keep the conversation; without argument, list the models on this "
     "machine",
     CF_WITH(cf_cmd_use_model)},
    {"lora", CF_IN_ALL, "", "[FILE[=SCALE] ...]",
     "use these LoRA adapters; off removes them, start restores the first ones; without argument, "
     "show them",
     CF_WITH(cf_cmd_lora)},
    {"help", CF_IN_ALL, "? <F1>", "[TOPIC]",
     "keys and commands of this view; with TOPIC, those of all views that its words find",
     CF_WITH(cmd_help)},
    {"log", CF_IN_ALL, "@", "", "messages of the engine and libraries",
     CF_BY(open_view, CF_VIEW_LOG)},
    {"traffic", CF_IN_ALL, "gx", "", "requests recorded by the proxy and the server",
     CF_BY(open_view, CF_VIEW_TRAFFIC)},
    {"sessions", CF_IN_ALL, "gA", "[FILE]",
     "a coding agent's session, request by request; without argument, those on this machine",
     CF_WITH(cmd_sessions)},
    {"sweep", CF_IN_ALL, "", "[PLAN|CHECK]",
     "answer the questions here, or the ticked conversations, with every combination of what is "
     "ticked, and compare; CHECK (contains TEXT, regex R, calls-valid ...) says what is good",
     CF_WITH(cmd_sweep)},
    {"try", CF_IN_ALL, "", "KIND VALUE",
     "tick a system, template, model or sampler (NAME temperature=1 ...) for :sweep; off unticks "
     "all",
     CF_WITH(cf_cmd_try)},
    {"shrink", CF_IN_ALL, "", "[FAILURE|-o DIR]",
     "the smallest conversation with which the reply under the cursor still fails so: its invalid "
     "call, else this call or answer; -o writes a report of the last one",
     CF_WITH(cf_cmd_shrink_here)},
    {"bisect", CF_IN_ALL, "", "[FAILURE]",
     "what turned the conversation marked A in the Library into the failure under the cursor",
     CF_WITH(cf_cmd_bisect_here)},
    {"guard", CF_IN_ALL, "", "",
     "whether you or a tool's result drove the calls of the reply under the cursor",
     CF_WITH(cf_cmd_guard_here)},
    {"output", CF_IN_ALL, "g@", "", "the output of the last @COMMAND",
     CF_BY(open_view, CF_VIEW_OUTPUT)},
    {"media", CF_IN_ALL, "gm", "", "pictures and sounds of the prompt, as the model receives them",
     CF_BY(open_view, CF_VIEW_MEDIA)},
    {"back", CF_IN_ALL, "q", "", "close this view", CF_RUN(cf_app_back)},
    {"quit", CF_IN_ALL, "Q", "", "leave confab; press twice while it works", CF_RUN(cmd_quit)},
    {"quit!", CF_IN_ALL, "", "", "leave confab, even while something runs", CF_RUN(cmd_quit_now)},
    {"stop", CF_IN_ALL & ~STOPS_ITSELF & ~LEAVES_BY_ESC, "<Esc>", "",
     "stop the reply or other work; what has arrived is kept", CF_RUN(cmd_stop)},
    {"stop", LEAVES_BY_ESC, "", "", "stop the reply or other work, in views where Esc goes back",
     CF_RUN(cmd_stop)},
    {"interrupt", CF_IN_ALL, "<C-c>", "", "stop; pressed repeatedly, leave", CF_RUN(cmd_interrupt)},
    {"command", CF_IN_ALL, ":", "", "write a command", CF_RUN(cmd_command_line)},
    {"search", CF_IN_ALL, "/", "[TEXT]", "find text in this view", CF_WITH(cmd_search_line)},
    {"next", CF_IN_ALL & ~CF_IN(CF_VIEW_REPLIES), "n", "", "next match", CF_BY(search_again, 1)},
    {"previous", CF_IN_ALL, "N", "", "previous match", CF_BY(search_again, -1)},
    {"set", CF_IN_ALL, "gs", "NAME=VALUE", "change a setting; without argument, list them",
     CF_WITH(cmd_set)},
    {"system", CF_IN_ALL, "", "TEXT|FILE",
     "use another system prompt, on a branch; without argument, edit it", CF_WITH(cf_cmd_system)},
    {"systems", CF_IN_ALL, "", "",
     "all system prompts of the conversation: texts, replies, ticks for :sweep",
     CF_BY(open_view, CF_VIEW_SYSTEMS)},
    {"again", CF_IN(CF_VIEW_CHAT), "gr", "",
     "ask everything on this branch again, from its first question, calls and all",
     CF_RUN(cf_cmd_again)},
    {"w", CF_IN_ALL, "", "[FILE]",
     "write the template, prompt, reply ... to a file, or back to its own",
     CF_WITH(cf_cmd_write_file)},
    {"w!", CF_IN_ALL, "", "FILE", "the same, overwriting an existing file",
     CF_WITH(cf_cmd_overwrite_file)},
    {"screen", CF_IN_ALL, "", "FILE",
     "write the screen to a file: text, or a picture if FILE ends in .svg or "
     ".png",
     CF_WITH(cf_cmd_screen)},
    {"screen!", CF_IN_ALL, "", "FILE", "the same, overwriting an existing file",
     CF_WITH(cf_cmd_screen_over)},
    {"report", CF_IN_ALL, "", "FILE",
     "write the reply and everything that made it as a page for a bug report: "
     ".html, .md, or .svg with the part that this view shows",
     CF_WITH(cf_cmd_report_file)},
    {"report!", CF_IN_ALL, "", "FILE", "the same, overwriting an existing file",
     CF_WITH(cf_cmd_report_over)},
    {"export", CF_IN(CF_VIEW_CHAT), "X", "FILE [FORMAT]",
     "this conversation, or the ticked ones, with all branches; .md is "
     "Markdown; confab, openai, sharegpt, converse, litert, llama-app",
     CF_WITH(cf_cmd_export)},
    {"export!", CF_IN(CF_VIEW_CHAT) | CF_IN(CF_VIEW_LIBRARY), "", "FILE [FORMAT]",
     "the same, overwriting an existing file", CF_WITH(cf_cmd_export_over)},
    {"import", CF_IN(CF_VIEW_CHAT) | CF_IN(CF_VIEW_LIBRARY), "I", "FILE [FORMAT]",
     "conversations from a file; 6 lists them", CF_WITH(cf_cmd_import)},
    {"truncate", CF_IN_ALL, "", "N [turns|tokens]",
     "make a branch without the oldest turns, so that it fits into N; shows them first",
     CF_WITH(cf_cmd_truncate)},
    {"truncate!", CF_IN_ALL, "", "N [turns|tokens]", "the same without showing them",
     CF_WITH(cf_cmd_truncate_now)},
    {"yank", CF_IN_ALL & ~COPIES_ITSELF, "yy", "",
     "copy to the clipboard and to the register that ^Y inserts", CF_RUN(cmd_yank)},
    {"undo", CF_IN_ALL & ~CF_IN(CF_VIEW_TEMPLATES), "u", "",
     "undo the last branch, template, setting, tag, rating, note, import ...",
     CF_BY(cf_cmd_undo, 0)},
    {"redo", CF_IN_ALL, "U <C-r>", "", "do again what was undone last", CF_BY(cf_cmd_undo, 1)},
    {"undo-list", CF_IN_ALL, "", "", "what was done, and what was undone",
     CF_RUN(cf_cmd_undo_list)},
    {"constrain", CF_IN_ALL, "gC", "KIND [ARG]|off",
     "constrain replies to schema FILE, regex R, grammar FILE, choice A|B, json or tools",
     CF_WITH(cmd_constrain)},
    {"maximize", CF_IN_ALL, "O", "", "show one pane, or all of them", CF_RUN(cmd_maximize)},
    {"redraw", CF_IN_ALL, "<C-l>", "", "redraw the screen", CF_RUN(cmd_redraw)},
    {"suspend", CF_IN_ALL, "<C-z>", "", "back to the shell for a while", CF_RUN(cmd_suspend)},
    {0},
};
