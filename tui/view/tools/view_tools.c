/*
 * view_tools.c - the calls of the conversation and how far each one came.
 *
 * Above: the calls with their five stages.  Below: what the stages of the
 * call under the cursor hold - the raw bytes, the parse, the validation, the
 * result, and the result as the prompt has it.  Narrow screens, and a zoom,
 * show one stage at a time.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_messages.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/kit/moves.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tools/tools.h"
#include "tui/widget/note.h"

cf_tools *cf_tools__state(cf_app *app)
{
    return app->state[CF_VIEW_TOOLS];
}

static void tools_open(void *state)
{
    cf_tools *s = state;
    cf_edit_init(&s->edit, false);
    cf_arena_init(&s->back.arena, 0);
    s->finds_call = true;
}

static void tools_close(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->is_closing = true;
    if (s->run.is_on) {
        cf_lab_end_task(app->lab, &s->run);
    }
    cf_tools__clear_run(&s->run);
    cf_tool_model_deinit(&s->model);
    cf_edit_deinit(&s->edit);
    cf_buf_deinit(&s->findings);
    cf_arena_deinit(&s->back.arena);
}

const cf_tool_model *cf_tools__model(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    uint64_t now = cf_lab_generation(app->lab);
    if (s->is_made && s->generation == now) {
        return &s->model;
    }
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    size_t n, before = s->model.n_row;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    cf_error err;
    cf_tool_model_deinit(&s->model);
    s->back.is_made = false;
    s->finds_call = true;
    s->is_made = true;
    s->generation = now;
    if (cf_tool_model_build(&s->model, path, n, e->family, cf_lab_tools(app->lab),
                            e->template_source, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    cf_list_set(&s->list, s->model.n_row, s->list.height);
    if (s->model.n_row > before) {
        cf_list_go(&s->list, s->model.n_row - 1);
    }
    return &s->model;
}

static void tools_enter(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->asks = s->is_editing = false; /* left open by going away */
    cf_tools__model(app);
}

const cf_call_row *cf_tools__current(cf_app *app)
{
    const cf_tool_model *m = cf_tools__model(app);
    size_t i = cf_tools__state(app)->list.cursor;
    return i < m->n_row ? &m->row[i] : NULL;
}

const cf_turn *cf_tools__turn_of(cf_app *app, const cf_call_row *row)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    size_t i = cf_tools__model(app)->reply[row->reply].turn;
    return i < n ? path[i] : NULL;
}

const cf_turn *cf_tools__result_of(cf_app *app, const cf_call_row *row)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    return row->result < n ? path[row->result] : NULL;
}

cf_str cf_tools__name_of(cf_app *app, const cf_call_row *row)
{
    const cf_tool_call *c = cf_tool_model_call(cf_tools__model(app), row);
    return c != NULL ? c->name : cf_str_from("?");
}

const cf_call_note *cf_tools__note_of(cf_app *app, const cf_call_row *row)
{
    const cf_turn *turn = cf_tools__turn_of(app, row);
    return turn != NULL
               ? cf_lab_call_note(app->lab, turn->id, cf_tool_model_nth(cf_tools__model(app), row))
               : NULL;
}

bool cf_tools__runs(cf_app *app, const cf_call_row *row)
{
    const cf_tools_run *run = &cf_tools__state(app)->run;
    const cf_turn *turn = cf_tools__turn_of(app, row);
    return run->is_on && turn != NULL && cf_uuid_eq(run->reply, turn->id) &&
           run->n == cf_tool_model_nth(cf_tools__model(app), row);
}

/* ---- the list ----------------------------------------------------------- */

static void draw_outcome(cf_grid *g, int x, int y, uint8_t outcome, cf_style row_style)
{
    static const char *const names[] = {"-", "ok", "FAIL", "WAITS"};
    static const cf_style styles[] = {CF_STYLE_DIM, CF_STYLE_OK, CF_STYLE_ERROR, CF_STYLE_WARNING};
    cf_grid_puts(g, x, y, 6, names[outcome],
                 row_style == CF_STYLE_NORMAL ? styles[outcome] : row_style);
}

/* How a call was answered, where that is known: "mock", "typed", "ran". */
static void draw_run(cf_app *app, cf_grid *g, int x, int y, const cf_call_row *row, cf_style style)
{
    const cf_call_note *note = cf_tools__note_of(app, row);
    uint8_t outcome = row->outcome[CF_STAGE_RUN];
    bool is_known = note != NULL && outcome == CF_OUTCOME_OK &&
                    (strcmp(note->state, "mock") == 0 || strcmp(note->state, "typed") == 0 ||
                     strcmp(note->state, "ran") == 0);
    if (cf_tools__runs(app, row)) {
        cf_grid_puts(g, x, y, 6, "RUNS", style == CF_STYLE_NORMAL ? CF_STYLE_WARNING : style);
    } else if (is_known) {
        cf_grid_puts(g, x, y, 6, note->state, style == CF_STYLE_NORMAL ? CF_STYLE_OK : style);
    } else if (note != NULL && row->call != CF_TOOL_NO_CALL &&
               (strcmp(note->state, "failed") == 0 || strcmp(note->state, "refused") == 0)) {
        draw_outcome(g, x, y, CF_OUTCOME_FAIL, style);
    } else {
        draw_outcome(g, x, y, outcome, style);
    }
}

/* Whether the prompt lacks the declaration of a call's tool, the call, or its
 * result. */
static bool is_gone(cf_app *app, const cf_call_row *row)
{
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    const json_t *tools = cf_lab_engine_of(app->lab)->tools;
    cf_str name = cf_tools__name_of(app, row);
    size_t reply = cf_tools__model(app)->reply[row->reply].turn;
    const cf_turn *result = cf_tools__result_of(app, row);
    if (m == NULL || m->prompt.n_spans == 0 || result == NULL) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *function = json_object_get(json_array_get(tools, i), "function");
        if (cf_str_eq(cf_json_get_str(function, "name"), name) &&
            !cf_prompt_shows(&m->prompt, CF_SPAN_TOOL, i, cf_str_from(""))) {
            return true;
        }
    }
    char path[40];
    snprintf(path, sizeof path, ".tool_calls[%zu]", (size_t)row->call);
    bool has_call = row->call == CF_TOOL_NO_CALL ||
                    cf_prompt_shows(&m->prompt, CF_SPAN_MESSAGE, cf_lab_message_of(app->lab, reply),
                                    cf_str_from(path));
    return !has_call ||
           !cf_prompt_shows(&m->prompt, CF_SPAN_MESSAGE, cf_lab_message_of(app->lab, row->result),
                            cf_str_from(".content"));
}

static void draw_back(cf_app *app, cf_grid *g, int x, int y, const cf_call_row *row, cf_style style)
{
    uint8_t outcome = row->outcome[CF_STAGE_BACK];
    if (outcome == CF_OUTCOME_OK && is_gone(app, row)) {
        cf_grid_puts(g, x, y, 6, "GONE", style == CF_STYLE_NORMAL ? CF_STYLE_ERROR : style);
    } else {
        draw_outcome(g, x, y, outcome, style);
    }
}

enum { MS_W = 7, MS_ROOM = 76 };

static bool has_ms(int width)
{
    return width >= MS_ROOM;
}

/* How long the tool took, where it was run and that is known. */
static void draw_ms(cf_app *app, cf_grid *g, int x, int y, const cf_call_row *row, cf_style style)
{
    const cf_call_note *note = cf_tools__note_of(app, row);
    uint8_t outcome = row->outcome[CF_STAGE_RUN];
    bool has_run = outcome == CF_OUTCOME_OK || outcome == CF_OUTCOME_FAIL;
    if (has_run && note != NULL && note->duration_us >= 0) {
        cf_grid_putf(g, x, y, MS_W - 1, style, "%*lld", MS_W - 1,
                     (long long)(note->duration_us / 1000));
    } else {
        cf_grid_putf(g, x, y, MS_W - 1, style, "%*s", MS_W - 1, "-");
    }
}

static void draw_row(cf_app *app, cf_grid *g, cf_rect r, size_t i)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_call_row *row = &m->row[i];
    bool is_on = i == cf_tools__state(app)->list.cursor;
    cf_style style = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    cf_grid_fill(g, r, ' ', style);
    cf_grid_putf(g, r.x + 1, r.y, 4, style, "%3zu", i + 1);
    cf_grid_putf(g, r.x + 6, r.y, 4, style, "%02zu", m->reply[row->reply].turn + 1);
    for (int s = 0; s < CF_STAGE_COUNT; s++) {
        if (s == CF_STAGE_RUN) {
            draw_run(app, g, r.x + 10 + 6 * s, r.y, row, style);
        } else if (s == CF_STAGE_BACK) {
            draw_back(app, g, r.x + 10 + 6 * s, r.y, row, style);
        } else {
            draw_outcome(g, r.x + 10 + 6 * s, r.y, row->outcome[s], style);
        }
    }
    int x = r.x + 41;
    if (has_ms(r.w)) {
        draw_ms(app, g, x - 1, r.y, row, style);
        x += MS_W;
    }
    x += 1 + cf_grid_put(g, x, r.y, 24, cf_tools__name_of(app, row), style);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    cf_grid_put(g, x, r.y, r.x + r.w - x, c != NULL ? c->arguments : cf_str_make("", 0),
                is_on ? style : CF_STYLE_DIM);
}

static void draw_list(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_tools *s = cf_tools__state(app);
    const cf_tool_model *m = cf_tools__model(app);
    cf_grid_putf(g, r.x + 1, r.y, r.w - 1, CF_STYLE_DIM,
                 "  # turn raw   parse valid run   back  %stool", has_ms(r.w) ? "   ms  " : "");
    cf_rows rows =
        cf_rows_begin(g, (cf_rect){r.x, r.y + 1, r.w, r.h - 1}, &s->list, m->n_row, true);
    while (cf_rows_next(&rows, CF_TOOLS_SPOT_CALL)) {
        draw_row(app, g, rows.at, rows.i);
    }
}

/* Another call is under the cursor: its panes are shown from their tops, and
 * the raw reply from the call. */
static void begin_call(cf_tools *s)
{
    memset(s->scroll, 0, sizeof s->scroll);
    s->finds_call = true;
}

static void tools_click(cf_app *app, int what, size_t value)
{
    cf_tools *s = cf_tools__state(app);
    if (s->is_editing || s->asks) {
        return;
    }
    if (what == CF_TOOLS_SPOT_STAGE) {
        s->stage = (cf_stage)value;
    } else if (value != s->list.cursor) {
        cf_list_go(&s->list, value);
        begin_call(s);
    }
}

/* The calls of the turn under Chat's cursor, or the one that it answers. */
static void tools_follow(cf_app *app, const cf_turn *turn)
{
    cf_tools *s = cf_tools__state(app);
    const cf_tool_model *m = cf_tools__model(app);
    for (size_t i = 0; i < m->n_row; i++) {
        const cf_turn *calls = cf_tools__turn_of(app, &m->row[i]);
        const cf_turn *result = cf_tools__result_of(app, &m->row[i]);
        if ((calls != NULL && cf_uuid_eq(calls->id, turn->id)) ||
            (result != NULL && cf_uuid_eq(result->id, turn->id))) {
            if (i != s->list.cursor) {
                cf_list_go(&s->list, i);
                begin_call(s);
            }
            return;
        }
    }
}

/* ---- the screen --------------------------------------------------------- */

static void tools_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_tools *s = cf_tools__state(app);
    const cf_tool_model *m = cf_tools__model(app);
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    if (m->n_row == 0) {
        cf_rect in = {r.x + 2, r.y + 1, r.w - 4, r.h - 1};
        char text[160] = "Its template has no way to write calls that is known here.";
        if (e->family != CF_TOOLS_NONE) {
            snprintf(text, sizeof text,
                     "Read as %s writes them; :tools FILE declares tools, "
                     ":mcp starts a server.",
                     cf_tool_family_name(e->family));
        }
        in.y += cf_note_puts(g, in, "No reply on this path calls a tool.", CF_STYLE_DIM);
        in.y += cf_note_puts(g, in, text, CF_STYLE_DIM);
        cf_note_puts(g, in, "gh says why, for each declared tool, and what flips it.",
                     CF_STYLE_DIM);
        return;
    }
    int room = r.h >= 30 ? 8 : 4;
    int list_h = (int)(m->n_row < (size_t)room ? m->n_row : (size_t)room) + 3;
    char title[96];
    snprintf(title, sizeof title, "Calls  %zu on this path  (parser: %s)", m->n_row,
             cf_tool_family_name(e->family));
    draw_list(app, g, cf_pane(g, (cf_rect){r.x, r.y, r.w, list_h}, title, true));
    cf_rect below = {r.x, r.y + list_h, r.w, r.h - list_h};
    const cf_call_row *row = cf_tools__current(app);
    if (row == NULL) {
        return;
    }
    if (s->is_editing) {
        cf_tools__draw_edit(app, g, below);
    } else if (s->asks) {
        cf_tools__draw_question(app, g, below);
    } else if (s->is_zoomed || cf_app_is_narrow(app) || app->is_maximized || below.h < 15) {
        cf_tools__draw_pane(app, g, below, s->stage, row);
    } else {
        cf_tools__draw_panes(app, g, below, row);
    }
}

static void tools_status(cf_app *app, cf_buf *out)
{
    const cf_tools *s = cf_tools__state(app);
    const cf_call_row *row = cf_tools__current(app);
    if (s->run.is_on && s->run.is_server) {
        cf_buf_adds(out, "progress: ");
        cf_tool_servers_progress(app->servers, out);
        cf_buf_adds(out, "  ");
    }
    if (row != NULL) {
        cf_buf_addf(out, "approval: %s  call %zu of %zu  %s",
                    cf_tool_policy_name(
                        cf_tool_desk_policy(cf_lab_desk(app->lab), cf_tools__name_of(app, row))),
                    s->list.cursor + 1, s->model.n_row, cf_stage_titles[s->stage]);
    }
}

/* ---- moving ------------------------------------------------------------- */

static void tools_move(cf_app *app, int move)
{
    cf_tools *s = cf_tools__state(app);
    cf_tools__model(app);
    cf_list_move(&s->list, move);
    memset(s->scroll, 0, sizeof s->scroll);
    s->finds_call = true;
}

static void cmd_next_stage(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->stage = (cf_stage)((s->stage + 1) % CF_STAGE_COUNT);
}

static void cmd_previous_stage(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->stage = (cf_stage)((s->stage + CF_STAGE_COUNT - 1) % CF_STAGE_COUNT);
}

/* To the next (1) or previous (-1) call that failed. */
static void go_failed(cf_app *app, int by)
{
    cf_tools *s = cf_tools__state(app);
    const cf_tool_model *m = cf_tools__model(app);
    for (size_t k = 1; k <= m->n_row; k++) {
        size_t i = (s->list.cursor + (by > 0 ? k : m->n_row - k)) % m->n_row;
        cf_buf why = CF_BUF_INIT;
        bool is_failed = cf_tool_model_failure(m, &m->row[i], &why);
        cf_buf_deinit(&why);
        if (is_failed) {
            cf_list_go(&s->list, i);
            begin_call(s);
            return;
        }
    }
    cf_app_say(app, CF_STYLE_OK, "no call of this path failed");
}

static void cmd_hex(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->shows_hex = !s->shows_hex;
    memset(s->scroll, 0, sizeof s->scroll);
    s->finds_call = true;
}

static void cmd_chunks(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->shows_chunks = !s->shows_chunks;
}

static void cmd_zoom(cf_app *app)
{
    cf_tools__state(app)->is_zoomed = !cf_tools__state(app)->is_zoomed;
}

static void cmd_scroll_down(cf_app *app)
{
    cf_tools__state(app)->scroll[cf_tools__state(app)->stage]++;
}

static void cmd_scroll_up(cf_app *app)
{
    size_t *at = &cf_tools__state(app)->scroll[cf_tools__state(app)->stage];
    *at -= *at > 0;
}

/* The wheel scrolls the stage it is over. */
static bool tools_wheel(cf_app *app, int what, size_t value, int by)
{
    cf_tools *s = cf_tools__state(app);
    if (what != CF_TOOLS_SPOT_STAGE) {
        return false;
    }
    s->stage = (cf_stage)value;
    if (by > 0) {
        cmd_scroll_down(app);
    } else {
        cmd_scroll_up(app);
    }
    return true;
}

/* ---- acting ------------------------------------------------------------- */

void cf_tools__ask_line(cf_app *app, const char *start)
{
    cf_edit_set(&app->command_line, cf_str_from(start));
    app->mode = CF_MODE_COMMAND;
}

static void cmd_retry(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    const cf_turn *turn = row != NULL ? cf_tools__turn_of(app, row) : NULL;
    cf_error err;
    if (turn == NULL) {
        return;
    }
    if (cf_lab_retry_calls(app->lab, turn->id, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_app_say(app, CF_STYLE_DIM, "another reply beside this one; u goes back to this one");
    }
}

/* %(tool), %(arguments) and %(result) of the call under the cursor. */
static bool tools_value(cf_app *app, const char *name, cf_buf *out)
{
    const cf_call_row *row = cf_tools__current(app);
    const cf_tool_call *call = row != NULL ? cf_tool_model_call(cf_tools__model(app), row) : NULL;
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    if (row != NULL && strcmp(name, "result") == 0 && row->result < n) {
        cf_lab_message_text(out, path[row->result]->message);
        return true;
    }
    if (call == NULL) {
        return false;
    }
    bool is_name = strcmp(name, "tool") == 0;
    if (is_name || strcmp(name, "arguments") == 0) {
        cf_str text = is_name ? call->name : call->arguments;
        cf_buf_add(out, text.p, text.n);
        return true;
    }
    return false;
}

static void cmd_yank(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    if (row != NULL) {
        const cf_tool_model *m = cf_tools__model(app);
        const cf_tool_segment *s = cf_tool_model_segment(m, row);
        cf_app_copy(app, cf_str_make(m->reply[row->reply].parse->raw.p + s->off, s->len));
    }
}

static void cmd_yank_reply(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    const cf_turn *turn = row != NULL ? cf_tools__turn_of(app, row) : NULL;
    if (turn != NULL) {
        cf_app_copy(app, turn->raw);
    }
}

/* The call under the cursor; NULL when it was not parsed. */
static const cf_tool_call *current_call(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    return row != NULL ? cf_tool_model_call(cf_tools__model(app), row) : NULL;
}

static void cmd_yank_arguments(cf_app *app)
{
    const cf_tool_call *c = current_call(app);
    if (c != NULL) {
        cf_app_copy(app, c->arguments);
    }
}

static bool tools_text(cf_app *app, cf_buf *out)
{
    const cf_tool_call *c = current_call(app);
    if (c != NULL) {
        cf_buf_add(out, c->arguments.p, c->arguments.n);
        cf_buf_addc(out, '\n');
    }
    return c != NULL;
}

static bool tools_key(cf_app *app, cf_key key)
{
    cf_tools *s = cf_tools__state(app);
    return app->mode == CF_MODE_ASK ? s->asks && cf_tools__answer_key(app, key)
                                    : cf_tools__edit_key(app, key);
}

/* What made the call under the cursor so. */
static void cmd_influence(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    const cf_turn *turn = row != NULL ? cf_tools__turn_of(app, row) : NULL;
    if (turn == NULL) {
        cf_app_say(app, CF_STYLE_DIM, "no call here");
        return;
    }
    const cf_tool_model *m = cf_tools__model(app);
    const cf_call_reply *r = &m->reply[row->reply];
    const cf_tool_call *call = cf_tool_model_call(m, row);
    bool has_bytes = call != NULL && !r->is_rewritten;
    size_t from = has_bytes ? r->skip + call->off : 0;
    cf_app_show(app, CF_VIEW_INFLUENCE,
                &(cf_target){.kind = CF_TARGET_REPLY,
                             .id = turn->id,
                             .from = from,
                             .to = has_bytes ? from + call->len : 0,
                             .name = has_bytes ? "the call" : ""});
}

/* Why this tool. */
static void cmd_inside(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    const cf_turn *turn = row != NULL ? cf_tools__turn_of(app, row) : NULL;
    cf_app_show(
        app, CF_VIEW_INSIDE,
        &(cf_target){.kind = CF_TARGET_REPLY, .id = turn != NULL ? turn->id : (cf_uuid){{0}}});
}

#define HERE CF_IN(CF_VIEW_TOOLS)

static const cf_command tools_commands[] = {
    {"next-stage", HERE, "<Tab> l <Right>", "", "next stage", CF_RUN(cmd_next_stage)},
    {"previous-stage", HERE, "<S-Tab> h <Left>", "", "previous stage", CF_RUN(cmd_previous_stage)},
    {"zoom", HERE, "<Enter>", "", "show this stage alone, or all", CF_RUN(cmd_zoom)},
    {"scroll-down", HERE, "J", "", "scroll the stage down", CF_RUN(cmd_scroll_down)},
    {"scroll-up", HERE, "K", "", "scroll the stage up", CF_RUN(cmd_scroll_up)},
    {"next-failed", HERE, "]e", "", "next call that failed", CF_BY(go_failed, 1)},
    {"previous-failed", HERE, "[e", "", "previous failed call", CF_BY(go_failed, -1)},
    {"hex", HERE, "x", "", "bytes as hexadecimal numbers, or as text", CF_RUN(cmd_hex)},
    {"chunks", HERE, "|", "", "show the pieces in which the reply arrived", CF_RUN(cmd_chunks)},
    {"result", HERE, "i", "TEXT", "answer the call by hand; the model goes on",
     CF_WITH(cf_tools__cmd_result)},
    {"mock", HERE, "m", "[NAME=TEXT]", "answer with the mock of this tool, or make one; it is kept",
     CF_WITH(cf_tools__cmd_mock)},
    {"unmock", HERE, "M", "[NAME]", "forget the mock of this tool", CF_WITH(cf_tools__cmd_unmock)},
    {"run", HERE, "!", "[yes]", "run the tool's command for this call; asks first unless approved",
     CF_WITH(cf_tools__cmd_run)},
    {"approval", HERE, "ga", "[ask|always|never]",
     "whether this tool's command may run; always ends with the program",
     CF_WITH(cf_tools__cmd_approval)},
    {"exec", HERE, "gX", "COMMAND|-", "set the shell command that runs this tool; - removes it",
     CF_WITH(cf_tools__cmd_exec)},
    {"exec-all", HERE, "g!", "COMMAND|-", "set the command for tools without one of their own",
     CF_WITH(cf_tools__cmd_exec_all)},
    {"timeout", HERE, "", "SECONDS", "set how long a command may take",
     CF_WITH(cf_tools__cmd_timeout)},
    {"edit", HERE, "e", "[JSON]", "other arguments for this call, as a sibling reply; then run it",
     CF_WITH(cf_tools__cmd_edit)},
    {"edit-outside", HERE, "E", "", "the same in $EDITOR", CF_RUN(cf_tools__cmd_edit_outside)},
    {"on-failure", HERE, "gf", "[send|retry|stop|drop]", "choose what happens to a failed call",
     CF_WITH(cf_tools__cmd_on_failure)},
    {"fail", HERE, "P", "", "do that to this call", CF_RUN(cf_tools__cmd_fail)},
    {"retry", HERE, "r", "",
     "another reply, as a sibling; constrained to calls of the tools if "
     "possible",
     CF_RUN(cmd_retry)},
    {"fix", HERE, "F", "", "a sibling reply with the offered fix", CF_RUN(cf_tools__cmd_fix)},
    {"influence", HERE, "gi", "", "which parts of the prompt led to this call",
     CF_RUN(cmd_influence)},
    {"inside", HERE, "gh", "", "why this tool: what was looked at, layers, what flips it",
     CF_RUN(cmd_inside)},
    {"yank", HERE, "yy", "", "copy the raw call", CF_RUN(cmd_yank)},
    {"yank-reply", HERE, "yr", "", "copy the raw reply", CF_RUN(cmd_yank_reply)},
    {"yank-arguments", HERE, "ya", "", "copy the arguments", CF_RUN(cmd_yank_arguments)},
    CF_MOVE_ROWS(tools_move, HERE),
    {0},
};

static const cf_turn *tools_turn(cf_app *app)
{
    const cf_call_row *row = cf_tools__current(app);
    return row != NULL ? cf_tools__turn_of(app, row) : NULL;
}

const cf_view_ops cf_view_tools = {
    .name = "tools",
    .title = "Tools",
    .commands = tools_commands,
    .footer = "next-stage zoom result mock run edit fix retry on-failure hex "
              "chunks",
    .state_size = sizeof(cf_tools),
    .open = tools_open,
    .close = tools_close,
    .enter = tools_enter,
    .draw = tools_draw,
    .key = tools_key,
    .paste = cf_tools__edit_paste,
    .text = tools_text,
    .click = tools_click,
    .wheel = tools_wheel,
    .turn = tools_turn,
    .follow = tools_follow,
    .status = tools_status,
    .value = tools_value,
    .step = cf_tools__step,
};
