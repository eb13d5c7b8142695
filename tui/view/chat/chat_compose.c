/*
 * chat_compose.c - the text that the user writes, and sending it.
 *
 * A sent message leaves the composer ready for the next one; an edit is over
 * when it is sent.  Esc stops what runs, and leaves the composer when nothing
 * does; Tab always leaves it and stops nothing.
 */
#include "tui/app/command_system.h"
#include "tui/app/editor.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/view/chat/chat.h"
#include "tui/view/kit/pane.h"

/* What the prompt takes of the context, at the right of the box's upper line,
 * after a title of `used` cells; its beginning where there is little room. */
static void draw_gauge(cf_app *app, cf_grid *g, cf_rect r, int used)
{
    const cf_chat_gauge *gauge = cf_chat__gauge(app);
    if (gauge == NULL) {
        return;
    }
    cf_buf text = CF_BUF_INIT;
    cf_buf_addc(&text, ' ');
    cf_chat__gauge_text(gauge, &text);
    cf_buf_addc(&text, ' ');
    int room = r.w - used - 8;
    int w = (int)text.n < room ? (int)text.n : room;
    if (w > 8) {
        cf_grid_put(g, r.x + r.w - w - 2, r.y, w, cf_buf_str(&text), cf_chat__gauge_style(gauge));
    }
    cf_buf_deinit(&text);
}

void cf_chat__draw_composer(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_chat *s = cf_chat__state(app);
    bool is_on = app->mode == CF_MODE_INSERT || app->mode == CF_MODE_PREFILL;
    const cf_turn *edited = cf_chat__edited(app);
    const char *title = s->edits_system           ? "System prompt: a branch"
                        : edited == NULL          ? "Composer"
                        : cf_chat__continues(app) ? "Continue this reply"
                                                  : "Edit: sends a sibling";
    cf_buf head = CF_BUF_INIT;
    cf_buf_adds(&head, title);
    for (size_t i = 0; i < s->attached.n; i++) {
        cf_buf_addf(&head, "  + %s", s->attached.v[i].name);
    }
    cf_pane(g, r, cf_buf_cstr(&head), is_on);
    draw_gauge(app, g, r, (int)cf_text_width(cf_buf_cstr(&head), head.n));
    cf_buf_deinit(&head);
    int w = r.w - 3 < CF_CHAT_TEXT_W ? r.w - 3 : CF_CHAT_TEXT_W;
    s->composer_w = w;
    cf_edit_draw(&s->composer, g, (cf_rect){r.x + 2, r.y + 1, w, r.h - 2}, is_on);
}

const cf_turn *cf_chat__edited(cf_app *app)
{
    cf_uuid id = cf_chat__state(app)->edits;
    size_t n = 0;
    const cf_turn *const *turns = !cf_uuid_is_nil(id) ? cf_lab_turns(app->lab, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (cf_uuid_eq(turns[i]->id, id)) {
            return turns[i];
        }
    }
    return NULL;
}

bool cf_chat__continues(cf_app *app)
{
    const cf_turn *t = cf_chat__edited(app);
    return t != NULL && cf_str_is(cf_json_get_str(t->message, "role"), "assistant");
}

static cf_status send_message(cf_app *app, cf_str text, cf_uuid parent, cf_error *err)
{
    const cf_attachments *a = &cf_chat__state(app)->attached;
    if (a->n == 0) {
        return cf_lab_send(app->lab, text, parent, err);
    }
    json_t *content = cf_attachments_content(a, text);
    json_t *messages =
        content != NULL ? json_pack("[{s:s,s:o}]", "role", "user", "content", content) : NULL;
    if (messages == NULL) {
        return cf_fail(err, CF_EFORMAT, "the message is not UTF-8, or memory ran out");
    }
    cf_status st = cf_lab_add(app->lab, messages, parent, true, err);
    json_decref(messages);
    return st;
}

/* The text in the composer as the system prompt of a branch. */
static void set_system(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    cf_error err;
    size_t n_copied;
    cf_status st = cf_lab_set_system(app->lab, cf_edit_text(&s->composer), &n_copied, &err);
    cf_chat__report(app, st, &err);
    if (st == CF_OK) {
        cf_edit_commit(&s->composer);
        s->edits_system = false;
        s->follows = true;
        app->mode = n_copied > 0 ? CF_MODE_NORMAL : CF_MODE_INSERT;
        cf_app_say_system(app, n_copied);
    }
}

static void send_text(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    if (s->edits_system) {
        set_system(app);
        return;
    }
    cf_error err;
    cf_status st;
    cf_str text = cf_edit_text(&s->composer);
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    cf_uuid parent = n > 0 ? path[n - 1]->id : (cf_uuid){{0}};
    const cf_turn *edited = cf_chat__edited(app);
    if (cf_chat__continues(app)) {
        st = cf_lab_continue(app->lab, s->edits, text, &err);
    } else {
        if (edited != NULL) {
            parent = edited->parent;
        }
        if (text.n == 0 && s->attached.n == 0) {
            return;
        }
        st = send_message(app, text, parent, &err);
    }
    cf_chat__report(app, st, &err);
    if (st == CF_OK) {
        cf_edit_commit(&s->composer);
        cf_attachments_clear(&s->attached);
        cf_lab_set_unsent(app->lab, cf_str_make("", 0));
        s->edits = (cf_uuid){{0}};
        s->follows = true;
        app->mode = edited != NULL ? CF_MODE_NORMAL : CF_MODE_INSERT;
        cf_lab_path(app->lab, &n);
        s->cursor = n > 0 ? n - 1 : 0;
    }
}

/* The unsent text in the user's own editor. */
void cf_chat__edit_outside(cf_app *app)
{
    cf_chat *s = cf_chat__state(app);
    cf_str now = cf_edit_text(&s->composer);
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    cf_buf_add(&text, now.p, now.n);
    if (cf_editor_run(app, ".md", &text, &err) != CF_OK) {
        cf_app_error(app, &err);
    } else {
        cf_edit_set(&s->composer, cf_buf_str(&text));
        if (!s->edits_system) {
            cf_lab_set_unsent(app->lab, cf_edit_text(&s->composer));
        }
    }
    cf_buf_deinit(&text);
}

/* The keys that leave the composer, stop what runs, or scroll above it; false
 * for others. */
static bool leaving_key(cf_app *app, cf_key key)
{
    cf_chat *s = cf_chat__state(app);
    bool is_busy = cf_app_is_busy(app);
    switch (key) {
    case CF_KEY_ESC:
        if (is_busy) {
            cf_app_command(app, "stop");
            cf_app_say(app, CF_STYLE_WARNING, "stopped; Esc again leaves the composer");
            return true;
        }
        if (!cf_uuid_is_nil(s->edits) || s->edits_system) {
            /* Leaves the edit, keeps nothing. */
            s->edits = (cf_uuid){{0}};
            s->edits_system = false;
            cf_attachments_clear(&s->attached);
            cf_edit_set(&s->composer, cf_str_make("", 0));
            cf_lab_set_unsent(app->lab, cf_str_make("", 0));
        }
        app->mode = CF_MODE_NORMAL;
        return true;
    case CF_CTRL('C'):
        if (is_busy) {
            cf_app_command(app, "interrupt");
        }
        return is_busy;
    case CF_KEY_TAB:
    case CF_KEY_BACK_TAB:
        app->mode = CF_MODE_NORMAL;
        return true;
    case CF_KEY_PAGE_UP:
    case CF_KEY_PAGE_DOWN:
        cf_app_command(app, key == CF_KEY_PAGE_UP ? "page-up" : "page-down");
        return true;
    default:
        return false;
    }
}

bool cf_chat__key(cf_app *app, cf_key key)
{
    cf_chat *s = cf_chat__state(app);
    if (app->mode == CF_MODE_VISUAL) {
        return cf_chat__select_key(app, key);
    }
    bool had_x = s->had_x;
    s->had_x = key == CF_CTRL('X');
    if (key == CF_CTRL('G') || (had_x && key == CF_CTRL('E'))) {
        cf_chat__edit_outside(app);
        return true;
    }
    if (s->had_x) {
        return true;
    }
    if (key == CF_CTRL('Y')) {
        cf_chat__paste(app, cf_buf_str(&app->copied));
        return true;
    }
    bool sends = key == CF_KEY_ENTER && app->config.enter_sends;
    bool breaks = key == CF_KEY_ENTER && !sends;
    if (sends || key == CF_CTRL('S')) {
        send_text(app);
        return true;
    }
    if (leaving_key(app, key)) {
        return true;
    }
    bool done = cf_edit_key(&s->composer, breaks ? CF_KEY_NEWLINE : key,
                            s->composer_w > 0 ? s->composer_w : 80);
    if (cf_edit_failed(&s->composer)) {
        cf_app_say(app, CF_STYLE_ERROR, "out of memory: the text is as it was");
    }
    if (!s->edits_system) {
        cf_lab_set_unsent(app->lab, cf_edit_text(&s->composer));
    }
    return done || cf_key_is_text(key);
}

void cf_chat__paste(cf_app *app, cf_str text)
{
    if (app->mode == CF_MODE_NORMAL || app->mode == CF_MODE_VISUAL) {
        app->mode = CF_MODE_INSERT;
    }
    cf_chat *s = cf_chat__state(app);
    if (cf_chat__attach_pasted(app, text)) {
        return;
    }
    cf_edit_insert(&s->composer, text);
    if (!s->edits_system) {
        cf_lab_set_unsent(app->lab, cf_edit_text(&s->composer));
    }
}
