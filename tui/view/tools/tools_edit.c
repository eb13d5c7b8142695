/*
 * tools_edit.c - other arguments for a call: written below the list and
 * checked while they are written.  What is accepted is a sibling reply, with
 * the call as it would be; the reply of the model stays as it was.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/app/editor.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/view/kit/pane.h"
#include "tui/view/tools/tools.h"

/* The text that is edited: the arguments, a member a line, or the bytes of a
 * failed block, mended where that can be. */
static void first_text(cf_app *app, const cf_call_row *row, cf_buf *out)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_tool_call *c = cf_tool_model_call(m, row);
    const cf_tool_segment *s = cf_tool_model_segment(m, row);
    if (c == NULL) {
        cf_str block = cf_str_make(m->reply[row->reply].parse->raw.p + s->off, s->len);
        cf_str text = s->repair.n != 0 ? s->repair : block;
        cf_buf_add(out, text.p, text.n);
        return;
    }
    const char *key;
    json_t *v;
    size_t i = 0, n = json_object_size(c->json);
    cf_buf_adds(out, n > 0 ? "{\n" : "{}");
    json_object_foreach(cf_json_ref(c->json), key, v)
    {
        cf_buf_adds(out, "  ");
        cf_json_write_str(out, cf_str_from(key));
        cf_buf_adds(out, ": ");
        cf_json_write(out, v);
        cf_buf_adds(out, ++i < n ? ",\n" : "\n}");
    }
}

/* Says what is wrong with the text as it is now. */
static void check(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    const cf_call_row *row = cf_tools__current(app);
    cf_error err;
    cf_buf_restart(&s->findings);
    s->is_valid = true;
    if (row == NULL || s->edits_bytes) {
        return;
    }
    cf_status st =
        cf_tool_check_arguments(cf_lab_tools(app->lab), cf_tools__name_of(app, row),
                                cf_edit_text(&s->edit), &s->findings, &s->is_valid, &err);
    if (st != CF_OK) {
        cf_buf_adds(&s->findings, err.text);
    }
}

/* True when the call under the cursor can be edited; the text is set. */
static bool begin(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    const cf_call_row *row = cf_tools__current(app);
    if (row == NULL || cf_tools__turn_of(app, row) == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "there is no call to edit");
        return false;
    }
    bool is_failed = row->call == CF_TOOL_NO_CALL;
    if (is_failed && cf_tools__model(app)->reply[row->reply].is_rewritten) {
        cf_app_say(app, CF_STYLE_WARNING, "the bytes of this reply are not known");
        return false;
    }
    cf_buf text = CF_BUF_INIT;
    first_text(app, row, &text);
    s->edits_bytes = is_failed;
    cf_edit_set(&s->edit, cf_buf_str(&text));
    cf_buf_deinit(&text);
    return true;
}

static void leave(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    s->is_editing = false;
    cf_edit_commit(&s->edit);
    app->mode = CF_MODE_NORMAL;
}

/* A reply that begins as this one did, with other bytes for the block. */
static cf_status continue_with(cf_app *app, const cf_call_row *row, cf_str text, cf_error *err)
{
    const cf_tool_model *m = cf_tools__model(app);
    const cf_turn *turn = cf_tools__turn_of(app, row);
    cf_buf all = CF_BUF_INIT;
    cf_buf_add(&all, turn->raw.p, m->reply[row->reply].skip + cf_tool_model_segment(m, row)->off);
    cf_buf_add(&all, text.p, text.n);
    cf_status st = cf_buf_check(&all, err);
    CF_THEN(st, cf_lab_continue(app->lab, turn->id, cf_str_make(all.p, all.n), err));
    cf_buf_deinit(&all);
    return st;
}

static cf_status add_edited(cf_app *app, const cf_call_row *row, cf_str text, cf_error *err)
{
    const cf_turn *turn = cf_tools__turn_of(app, row);
    json_t *message;
    cf_buf raw = CF_BUF_INIT;
    cf_status st = cf_tool_model_edit(
        cf_tools__model(app), &(cf_call_edit){row, turn, cf_lab_engine_of(app->lab)->family, text},
        &message, &raw, err);
    if (st == CF_OK) {
        st = cf_lab_add_reply(app->lab, turn->id, message, cf_str_make(raw.p, raw.n), err);
        json_decref(message);
    }
    cf_buf_deinit(&raw);
    return st;
}

/* Takes the text over; a text that is no JSON stays to be mended. */
static void accept(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    const cf_call_row *row = cf_tools__current(app);
    cf_error err;
    if (row == NULL) {
        leave(app);
        return;
    }
    bool edits_bytes = s->edits_bytes;
    cf_str text = cf_edit_text(&s->edit);
    cf_status st =
        edits_bytes ? continue_with(app, row, text, &err) : add_edited(app, row, text, &err);
    if (st != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    leave(app);
    row = cf_tools__current(app);
    if (edits_bytes) {
        cf_app_say(app, CF_STYLE_OK, "a sibling reply with this beginning");
    } else if (row != NULL && row->call != CF_TOOL_NO_CALL &&
               cf_tool_desk_command(cf_lab_desk(app->lab), cf_tools__name_of(app, row)) != NULL) {
        cf_tools__cmd_run(app, "");
    } else {
        cf_app_say(app, CF_STYLE_OK, "a sibling reply with this call; i, m or ! answers it");
    }
}

void cf_tools__cmd_edit(cf_app *app, const char *arg)
{
    cf_tools *s = cf_tools__state(app);
    if (!begin(app)) {
        return;
    }
    if (arg[0] != '\0') {
        cf_edit_set(&s->edit, cf_str_from(arg));
        check(app);
        accept(app);
        return;
    }
    s->is_editing = true;
    app->mode = CF_MODE_INSERT;
    check(app);
}

/* The text in the user's own editor. */
static bool edit_outside(cf_app *app)
{
    cf_tools *s = cf_tools__state(app);
    cf_str now = cf_edit_text(&s->edit);
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_buf_add(&text, now.p, now.n);
    cf_status st = cf_editor_run(app, s->edits_bytes ? ".txt" : ".json", &text, &err);
    if (st != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_edit_set(&s->edit, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
    return st == CF_OK;
}

/* The edited text waits below the list to be checked. */
void cf_tools__cmd_edit_outside(cf_app *app)
{
    if (begin(app) && edit_outside(app)) {
        cf_tools__state(app)->is_editing = true;
        app->mode = CF_MODE_INSERT;
        check(app);
    }
}

bool cf_tools__edit_key(cf_app *app, cf_key key)
{
    cf_tools *s = cf_tools__state(app);
    if (!s->is_editing) {
        return false;
    }
    if (key == CF_KEY_ESC || key == CF_CTRL('C')) {
        leave(app);
        cf_app_say(app, CF_STYLE_DIM, "nothing changed");
    } else if (key == CF_CTRL('S') || (key == CF_KEY_ENTER && app->config.enter_sends)) {
        accept(app);
    } else if (key == CF_CTRL('G')) {
        (void)edit_outside(app); /* it has said what went wrong */
        check(app);
    } else {
        (void)cf_edit_key(&s->edit, key == CF_KEY_ENTER ? CF_KEY_NEWLINE : key,
                          cf_app_width(app) - 4);
        check(app);
    }
    return true;
}

void cf_tools__edit_paste(cf_app *app, cf_str text)
{
    cf_tools *s = cf_tools__state(app);
    if (app->mode == CF_MODE_INSERT && s->is_editing) {
        cf_edit_insert(&s->edit, text);
        check(app);
    } else {
        cf_app_say(app, CF_STYLE_DIM, "e edits the arguments first");
    }
}

void cf_tools__draw_edit(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_tools *s = cf_tools__state(app);
    int below = r.h >= 12 ? 6 : 4;
    cf_rect top = {r.x, r.y, r.w, r.h - below};
    cf_rect box = {r.x, r.y + top.h, r.w, below};
    cf_pane(g, top,
            s->edits_bytes ? "The block's bytes  (Enter: a sibling reply with this beginning)"
                           : "Arguments  (Enter: a sibling reply with this call)",
            true);
    cf_grid_box(g, box, s->is_valid ? "Check" : "Check: not valid", CF_STYLE_BORDER,
                s->is_valid ? CF_STYLE_TITLE : CF_STYLE_WARNING);
    cf_tools_pen p = {.g = g, .r = {box.x + 2, box.y + 1, box.w - 4, box.h - 2}, .mark = SIZE_MAX};
    if (s->edits_bytes) {
        cf_tools__say(&p, CF_STYLE_DIM, cf_str_from("parsed again once it is sent"));
    } else if (s->findings.n == 0) {
        cf_tools__say(&p, CF_STYLE_OK, cf_str_from("valid"));
    } else {
        cf_tools__say(&p, s->is_valid ? CF_STYLE_DIM : CF_STYLE_ERROR, cf_buf_str(&s->findings));
    }
    cf_edit_draw(&s->edit, g, (cf_rect){top.x + 2, top.y + 1, top.w - 3, top.h - 2},
                 app->mode == CF_MODE_INSERT);
}
