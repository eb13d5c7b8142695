/*
 * tools_server.c - calls that a tool server answers: asked about, or made
 * unasked where the user has said so.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tools/tools.h"

enum { ROUNDS_MAX = 25 };

static bool find(const cf_app *app, cf_str name, size_t *server, cf_str *tool)
{
    return app->servers != NULL && cf_tool_servers_find(app->servers, name, server, tool);
}

bool cf_tools__has_server(const cf_app *app, cf_str name)
{
    size_t server;
    cf_str tool;
    return find(app, name, &server, &tool);
}

bool cf_tools__may_call(cf_app *app, cf_str name)
{
    size_t server;
    cf_str tool;
    return find(app, name, &server, &tool) && cf_tool_servers_may_call(app->servers, server, tool);
}

bool cf_tools__fill_server(cf_tools_run *t, cf_app *app, cf_str name)
{
    size_t server;
    cf_str tool;
    if (!find(app, name, &server, &tool)) {
        return true;
    }
    t->is_server = true;
    t->servers = app->servers;
    t->server = cf_tool_servers_at(app->servers, server).index;
    t->tool = cf_strndup(tool.p, tool.n);
    return t->tool != NULL;
}

/* ---- the question ------------------------------------------------------- */

void cf_tools__draw_server_question(cf_app *app, cf_grid *g, cf_rect r, const cf_tool_call *call)
{
    size_t server;
    cf_str tool;
    cf_buf failure = CF_BUF_INIT;
    cf_rect in = cf_question(g, r, "Make this call?",
                             "y call   c always in this conversation   s all of this "
                             "server here   a always   n no");
    if (in.h < 1 || !find(app, call->name, &server, &tool)) {
        return;
    }
    cf_tool_server v = cf_tool_servers_at(app->servers, server);
    cf_tools_pen p = {.g = g, .r = in, .skip = cf_tools__state(app)->ask_scroll, .mark = SIZE_MAX};
    cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("the tool:"));
    cf_tools__say(&p, CF_STYLE_TOOL, tool);
    cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("of the server:"));
    cf_tools__say(&p, CF_STYLE_NORMAL, v.name);
    cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("with the arguments:"));
    cf_tools__say(&p, CF_STYLE_NORMAL, call->arguments);
    if (call->status != CF_TOOL_VALID) {
        cf_buf_adds(&failure, "The call is not valid: ");
        cf_tool_model_failure(cf_tools__model(app), cf_tools__current(app), &failure);
        cf_tools__say(&p, CF_STYLE_ERROR, cf_buf_str(&failure));
    }
    cf_buf_deinit(&failure);
}

bool cf_tools__server_key(cf_app *app, cf_key key, cf_str name, bool *may)
{
    static const struct {
        cf_key key;
        cf_approval scope;
    } keys[] = {{'y', CF_APPROVE_ONCE},
                {'c', CF_APPROVE_CONVERSATION},
                {'s', CF_APPROVE_SERVER},
                {'a', CF_APPROVE_FOR_GOOD}};
    size_t server;
    cf_str tool;
    *may = false;
    if (!find(app, name, &server, &tool)) {
        return false;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (key == keys[i].key) {
            cf_error err;
            if (cf_tool_servers_approve(app->servers, server, tool, keys[i].scope, &err) != CF_OK) {
                cf_app_say(app, CF_STYLE_WARNING, "not approved for good: %s", err.text);
            }
            *may = true;
            return true;
        }
    }
    return false;
}

/* ---- unasked ------------------------------------------------------------ */

/* Replies since the last message of the user. */
static size_t count_rounds(const cf_turn *const *path, size_t n)
{
    size_t rounds = 0;
    while (n-- > 0) {
        cf_str role = cf_json_get_str(path[n]->message, "role");
        if (cf_str_is(role, "user")) {
            break;
        }
        rounds += cf_str_is(role, "assistant");
    }
    return rounds;
}

/* Whether the reply was written in this session, and not opened from the
 * history (stored results are used there), nor stopped by the user. */
static bool is_of_now(cf_app *app, const cf_turn *turn)
{
    const cf_reply *known = cf_lab_reply(app->lab, turn->id);
    return known != NULL && known->stop.reason != CF_STOP_NONE &&
           !cf_uuid_eq(cf_tools__state(app)->stopped, turn->id);
}

bool cf_tools__step(cf_app *app)
{
    size_t n;
    cf_tools *s = cf_tools__state(app);
    if (app->servers == NULL || cf_app_is_busy(app) || s->run.is_on || s->asks || s->is_editing) {
        return false;
    }
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    const cf_tool_model *m = cf_tools__model(app);
    if (n == 0 || m->n_row == 0 || count_rounds(path, n) > ROUNDS_MAX) {
        return false;
    }
    for (size_t i = 0; i < m->n_row; i++) {
        const cf_call_row *row = &m->row[i];
        const cf_turn *turn = cf_tools__turn_of(app, row);
        const cf_tool_call *c = cf_tool_model_call(m, row);
        if (c == NULL || turn == NULL || row->result != SIZE_MAX || c->status != CF_TOOL_VALID ||
            m->reply[row->reply].turn + 1 != n || !is_of_now(app, turn) ||
            cf_tool_desk_mock(cf_lab_desk(app->lab), c->name) != NULL ||
            cf_tool_desk_policy(cf_lab_desk(app->lab), c->name) == CF_POLICY_NEVER ||
            !cf_tools__has_server(app, c->name)) {
            continue;
        }
        const cf_call_note *note = cf_tools__note_of(app, row);
        bool is_new = note == NULL || note->state[0] == '\0' || strcmp(note->state, "parsed") == 0;
        if (is_new && cf_tools__may_call(app, c->name)) {
            cf_tools__start(app, row);
            return false;
        }
        if (is_new && !cf_uuid_eq(s->told, turn->id)) {
            s->told = turn->id;
            cf_app_say(app, CF_STYLE_WARNING, "%.*s is waiting: 4 shows the call, ! makes it",
                       (int)(c->name.n < 60 ? c->name.n : 60), c->name.p);
        }
    }
    return false;
}
